"""Models that store only columns that rows have named: the same bits as with all columns, in less memory."""

import copy
import gc
import itertools
import pickle
import tracemalloc
import warnings

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from sklearn_nag import (
    FTRLClassifier,
    NAGCellsClassifier,
    NAGClassifier,
    NAGRegressor,
    ScaleInvariantClassifier,
    config_context,
    kernels,
    merge,
)
from sklearn_nag.constraints import Box
from sklearn_nag.distributed import shard_fit
from sklearn_nag.estimators._calls import turn_of
from sklearn_nag.io import trusted_types
from sklearn_nag.kernels import PlacedState
from sklearn_nag.kernels.state import memory, placed
from sklearn_nag.model_selection import EffectsDisplay

pytestmark = pytest.mark.compiled

N_CLASSES = 5
PENALISED = NAGClassifier(loss="hinge", penalty="l1", alpha=0.01)
MODELS = [
    NAGClassifier(),
    NAGClassifier(multi_class="ovr"),
    PENALISED,
    NAGClassifier(penalty="l2", average=False),
    NAGClassifier(normalization="max", centering=False),
    NAGClassifier(eta0="auto"),
    NAGClassifier(constraint="nonnegative"),
    NAGClassifier(calibration="progressive"),
    FTRLClassifier(),
    FTRLClassifier(l1=0.1),
    ScaleInvariantClassifier(),
    ScaleInvariantClassifier(average=False),
    ScaleInvariantClassifier(update="scinol2"),
]


def text(rng, n=56, d=4500):
    """Return rows of hashed words, some of them in most rows, and classes that a few of the words reveal."""
    y = rng.integers(0, N_CLASSES, n)
    X = sparse.random_array((n, d), density=0.004, rng=rng, format="lil")
    X[:, 200:230] = sparse.random_array((n, 30), density=0.7, rng=rng, format="lil")
    X[np.arange(n), y + d - N_CLASSES] = 1.0
    return sparse.csr_array(X), y


@pytest.fixture
def place(monkeypatch):
    """Return a function that makes new models store only named columns or, with a high ``large``, all columns."""

    def choose(at_once=placed.AT_ONCE, large=0):
        monkeypatch.setattr(placed, "LARGE", large)
        monkeypatch.setattr(placed, "AT_ONCE", at_once)

    return choose


def stream(model, X, y, ends=(), weight=None):
    """Return a clone that has learnt the rows in parts, and its progressive decision values."""
    model, played, rows = clone(model), [], [0, *ends, X.shape[0]]
    options = {} if y.ndim > 1 else {"classes": np.arange(N_CLASSES)}
    for start, stop in itertools.pairwise(rows):
        own = None if weight is None else weight[start:stop]
        played.append(model._play(X[start:stop], y[start:stop], own, **options))
        options = {}
    return model, np.concatenate(played)


def told(model, X):
    """Return all that a model reports."""
    coef = model.coef_.toarray() if sparse.issparse(model.coef_) else model.coef_
    parts = [model.decision_function(X), model.predict(X), coef, model.intercept_, model.scale_, model.mean_]
    contributions = [part.toarray() for part in model.contributions(X[:5])]
    return [*parts, *contributions, model.progressive_loss_, model.t_]


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("model", "targets"),
    [(model, "classes") for model in MODELS if model is not PENALISED]
    + list(itertools.product([MODELS[i] for i in (0, 5, 8, 10)], ["weights", "labels"])),
    ids=str,
)
def test_bit_for_bit_the_model_of_all_columns(rng, place, model, targets):
    X, y = text(rng)
    weight = None
    if targets == "weights":
        weight = rng.choice([0.0, 1.0, 2.5], len(y))
        weight[50:] = 2.0**160  # so that gradients need a lift
    if targets == "labels":
        y = (np.arange(6) == y[:, None]).astype(int) | (rng.random((len(y), 6)) < 0.2)
    assert_bit_for_bit(place, model, X, y, weight)


def test_bit_for_bit_the_model_of_all_columns_with_l1(rng, place, in_numpy):
    """In NumPy, because rows with places would have to be compiled separately for this rule."""
    assert_bit_for_bit(place, PENALISED, *text(rng))


def assert_bit_for_bit(place, model, X, y, weight=None):
    model_of_all, expected = stream(model, X, y, weight=weight)
    assert not isinstance(model_of_all._state, PlacedState)
    of_all = told(model_of_all, X)
    for at_once, ends in ((placed.AT_ONCE, (1, 2, 3, 48)), (300, ())):
        place(at_once)
        found, played = stream(model, X, y, ends, weight)
        assert isinstance(found._state, PlacedState)
        np.testing.assert_array_equal(played, expected)
        assert_same(told(found, X), of_all)


@pytest.mark.parametrize("kernel", ["numpy", "auto"])
@pytest.mark.parametrize("model", [NAGClassifier(), FTRLClassifier(l1=0.1), ScaleInvariantClassifier()], ids=str)
def test_so_it_is_compiled(rng, place, model, kernel):
    X, y = text(rng, n=80)
    X.data *= 10.0 ** rng.integers(-200, 200, len(X.data))  # so that lifts are needed
    with config_context(kernel=kernel):
        expected, of_all = stream(model, X, y)
        place(2**10)
        found, played = stream(model, X, y, (20, 70))
        np.testing.assert_array_equal(played, of_all)
        np.testing.assert_array_equal(found.decision_function(X), expected.decision_function(X))
        np.testing.assert_array_equal(found.coef_.toarray(), expected.coef_)


@pytest.mark.parametrize(
    "model",
    [
        NAGClassifier(max_iter=3, tol=None),
        NAGClassifier(scales="first-pass", max_iter=3, tol=None),
        NAGClassifier(early_stopping=True),
        NAGClassifier(class_weight="balanced", max_iter=2, tol=None),
        FTRLClassifier(l1=0.1, max_iter=3, tol=None),
    ],
    ids=str,
)
def test_fit_too(rng, place, model):
    X, y = text(rng, n=60)
    model = clone(model).set_params(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = clone(model).fit(X, y)
        for at_once in (placed.AT_ONCE, 300):
            place(at_once)
            found = clone(model).fit(sparse.csr_matrix(X), y)
            assert isinstance(found._state, PlacedState)
            assert found.n_iter_ == expected.n_iter_
            assert_same(told(found, X), told(expected, X))


def test_only_what_rows_name_has_a_place(rng, place):
    place()
    X, y = text(rng)
    clf, _ = stream(NAGClassifier(), X, y, range(1, len(y)))
    named = np.unique(X.indices)
    np.testing.assert_array_equal(clf._state.features(), named)
    clf.predict(text(rng)[0])  # these rows name others
    np.testing.assert_array_equal(clf._state.features(), named)
    assert clf._state.store.table.shape[1] < 2 * len(named)


def test_cuts_change_no_bit_of_what_is_saved(rng, place):
    place()
    X, y = text(rng)
    X = sparse.vstack([sparse.csr_array((1, X.shape[1])), X[1:]], format="csr")  # with an empty row
    cuts = (), (1, 6, 40), range(1, len(y))
    saved = [stream(NAGClassifier(), X, y, ends)[0]._state.__getstate__() for ends in cuts]
    for parts in saved[1:]:
        np.testing.assert_array_equal(parts["features"], saved[0]["features"])
        assert parts["store"].table.tobytes() == saved[0]["store"].table.tobytes()
        assert parts["common"].columns.table.tobytes() == saved[0]["common"].columns.table.tobytes()


def test_it_is_taken_only_where_it_is_needed(rng, place, monkeypatch):
    X, y = text(rng)
    assert isinstance(stream(NAGClassifier(), X, y)[0].coef_, np.ndarray)
    for large in (10**6, 10**5):
        place(large=large)
        clf, _ = stream(NAGClassifier(), X, y)
        assert isinstance(clf._state, PlacedState) == (clf._state.n_columns * 2 * N_CLASSES > large)
    place()
    assert not isinstance(stream(NAGClassifier(), X.toarray(), y)[0]._state, PlacedState)
    in_all_columns = [
        NAGClassifier(half_life=100.0),
        NAGClassifier(half_life="auto"),
        NAGClassifier(penalty="l2", average=True),
        NAGClassifier(constraint=Box(low=np.full(X.shape[1], -1.0))),
        FTRLClassifier(regularizer="entropy"),
    ]
    for model in in_all_columns:
        assert not isinstance(stream(model, X, y)[0]._state, PlacedState)
    assert not isinstance(NAGRegressor().partial_fit(X, y)._state, PlacedState)
    place(large=placed.LARGE + 2**60)
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "free_memory", lambda: 2.0**20)
    assert isinstance(stream(NAGClassifier(), X[:, :50], y)[0].coef_, np.ndarray)
    assert isinstance(stream(NAGClassifier(), X, y)[0]._state, PlacedState)


@pytest.mark.parametrize("save", ["pickle", "joblib", "deepcopy", "skops"])
def test_what_was_saved_goes_on_with_the_same_bits(rng, place, tmp_path, save):
    X, y = text(rng)
    place()
    for model in (MODELS[0], MODELS[9], MODELS[10]):
        expected, _ = stream(model, X, y)
        half, _ = stream(model, X[:48], y[:48])
        before = told(half, X)
        if save == "pickle":
            saved = pickle.loads(pickle.dumps(half))
        elif save == "deepcopy":
            saved = copy.deepcopy(half)
        elif save == "joblib":
            joblib.dump(half, tmp_path / "model")
            saved = joblib.load(tmp_path / "model", mmap_mode="r")
        else:
            skops = pytest.importorskip("skops.io")
            saved = skops.loads(skops.dumps(half), trusted=trusted_types())
        assert_same(told(saved, X), before)
        saved.partial_fit(X[48:], y[48:])
        assert_same(told(saved, X), told(expected, X))
        assert_same(told(half, X), before)


@pytest.mark.parametrize("wrong", ["twice", "beyond", "type", "missing", "layout", "apart", "nan", "frequent"])
def test_what_was_damaged_is_refused(rng, place, wrong):
    place()
    X, y = text(rng)
    clf, _ = stream(NAGClassifier(), X, y)
    state = clf._state = clf._state.copy()
    first, second = state.features()[:2]
    if wrong == "twice":
        state.place[first] = state.place[second]
    elif wrong == "beyond":
        state.place[first] = state.n
    elif wrong == "type":
        state.place = state.place.astype(float)
    elif wrong == "missing":
        state.place[first] = -1
    elif wrong == "layout":
        state.store = FTRLClassifier().fit(X, y)._state.store
    elif wrong == "apart":
        state.store.arrange("F")
    else:
        name, value = ("weight", np.nan) if wrong == "nan" else ("frequent", 0.5)
        getattr(state.store, name)[..., 3] = value
    with pytest.raises(ValueError, match="cannot be used, as its parts do not make a model"):
        clf._check_whole()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("features", None),
        ("features", lambda features: np.append(features[1:], features[1])),
        ("features", lambda features: features + 10**6),
        ("features", lambda features: -1 - features),
        ("features", lambda features: features.astype(np.int32)),
        ("features", lambda features: features[1:]),
        ("features", lambda features: features[None]),
        ("features", list),
        ("n_features", lambda n: n / 1.0),
        ("n_features", lambda n: 2**60),
        ("store", lambda store: store.with_table(np.ascontiguousarray(store.table))),
        ("store", lambda store: store.take(np.arange(3))),
        ("common", lambda common: NAGClassifier().fit([[0.0], [1.0]], [0, 1])._state),
    ],
)
def test_no_model_is_made_of_a_damaged_file(rng, place, name, value):
    place()
    X, y = text(rng)
    state = stream(NAGClassifier(), X, y)[0]._state
    parts = state.__getstate__()
    object.__new__(PlacedState).__setstate__(parts)
    parts = {**parts, name: value(parts[name])} if value else {k: v for k, v in parts.items() if k != name}
    with pytest.raises(ValueError, match=r"place|kept"):
        object.__new__(PlacedState).__setstate__(parts)


def test_cells_of_rows_that_are_kept_by_what_they_name(rng, place):
    X = sparse.csr_array(np.round(rng.normal(size=(300, 3)), 2))
    y = ((X.toarray()[:, 0] > 0) ^ (X.toarray()[:, 1] > 0)).astype(int)
    model = NAGCellsClassifier(columns=[0, 1, 2], n_trees=4, depth=2, first_rows=50, focus_rows=100, random_state=0)
    expected = clone(model).partial_fit(X, y, classes=[0, 1])
    place()
    found = clone(model).partial_fit(X, y, classes=[0, 1])
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), rtol=1e-12)
    pytest.importorskip("matplotlib")
    effects = [EffectsDisplay.from_estimator(each, [0, (0, 1)]).effects for each in (found, expected)]
    for key, values in effects[1].items():
        for one, other in zip(effects[0][key], values, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize(
    ("model", "at_once"),
    [(MODELS[0], placed.AT_ONCE), (MODELS[1], 300), (MODELS[9], 300), (MODELS[10], placed.AT_ONCE), (MODELS[10], 300)],
    ids=str,
)
def test_a_call_that_fails_leaves_the_model_as_it_was(rng, place, model, at_once):
    place(at_once)
    X, y = text(rng)
    clf, _ = stream(model, X[:40], y[:40])
    before, n, features = told(clf, X), clf._state.n, clf._state.features()
    bad = X[40:].copy()
    bad.data[-1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        clf.partial_fit(bad, y[40:])
    assert clf._state.n == n
    np.testing.assert_array_equal(clf._state.features(), features)
    assert_same(told(clf, X), before)
    clf.partial_fit(X[40:], y[40:])
    assert_same(told(clf, X), told(stream(model, X, y)[0], X))


def test_whoever_reads_meanwhile_sees_the_model_before_the_call(rng, place, monkeypatch):
    place(300)
    X, y = text(rng)
    clf, _ = stream(NAGClassifier(), X[:40], y[:40])
    before, seen, put = told(clf, X), [], PlacedState.put

    def put_and_look(state, features, part):
        put(state, features, part)
        if len(seen) < 2:
            assert turn_of(clf).in_place.restore.__self__.state is state
            seen.append(told(turn_of(clf).seen(clf), X))

    monkeypatch.setattr(PlacedState, "put", put_and_look)
    clf.partial_fit(X[40:], y[40:])
    assert len(seen) == 2
    for values in seen:
        assert_same(values, before)


def test_what_was_before_each_call_can_be_made_again(rng, place, in_numpy):
    """It can be made even if gradients are lifted, which changes the whole store, or if later calls follow."""
    place()
    X, y = text(rng)
    clf, _ = stream(NAGClassifier(), X[:40], y[:40])
    state, loss, undos, saved = clf._state, clf._loss(), [], []
    for start, weight in zip(range(40, 49), (*[1.0] * 7, 2.0**160, 1.0)):
        rows = slice(start, start + 1)
        saved.append(pickle.dumps(state.copy()))
        undos.append(kernels.undo(state, loss, X[rows].indices))
        kernels.learn(state, loss, X[rows], y[rows].astype(np.int32), np.full(1, weight))
    assert state.common.gradient_lift[0] < 1.0
    for i, (undo, before) in enumerate(zip(undos, saved)):
        assert pickle.dumps(undo.model(undos[i + 1 :])) == before
    for undo, before in zip(undos[::-1], saved[::-1]):
        undo.restore()
        assert pickle.dumps(state.copy()) == before


@pytest.mark.parametrize("model", [MODELS[0], MODELS[3], MODELS[10], MODELS[11]], ids=str)
def test_models_are_merged(rng, place, model):
    X, y = text(rng, n=100)
    parts = [stream(model, X[i::3], y[i::3])[0] for i in range(3)]
    base, _ = stream(model, X[:40], y[:40])
    later = [copy.deepcopy(base).partial_fit(X[i::2][20:], y[i::2][20:]) for i in range(2)]
    expected = [merge(parts), merge(later, base=base)]
    place()
    own = [stream(model, X[i::3], y[i::3])[0] for i in range(3)]
    base, _ = stream(model, X[:40], y[:40])
    own_later = [copy.deepcopy(base).partial_fit(X[i::2][20:], y[i::2][20:]) for i in range(2)]
    mixed = merge([own[0], parts[1], own[2]])
    for found, other in zip((merge(own), mixed, merge(own_later, base=base)), (expected[0], *expected)):
        assert isinstance(found._state, PlacedState)
        for one, two in zip(told(found, X), told(other, X), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)
        found.partial_fit(X[:9], y[:9])


def test_shards_are_learnt(rng, place):
    X, y = text(rng, n=240)
    expected = shard_fit(NAGClassifier(), X, y, n_shards=2, n_jobs=1)
    place()
    found = shard_fit(NAGClassifier(), X, y, n_shards=2, n_jobs=1)
    assert isinstance(found._state, PlacedState)
    np.testing.assert_allclose(found.coef_.toarray(), expected.coef_, rtol=1e-9, atol=1e-12)


def test_weights_are_sparse_and_what_needs_all_of_them_says_so(rng, place):
    place()
    X, y = text(rng)
    clf, _ = stream(NAGClassifier(), X, y)
    assert isinstance(clf.coef_, sparse.csr_matrix)
    assert clf.coef_.shape == (N_CLASSES, X.shape[1])
    expected = np.abs(clf.coef_.toarray() * clf.scale_).mean(axis=0)
    np.testing.assert_allclose(clf.feature_importances_, expected, rtol=1e-12)
    assert clf.sparsify() is clf
    p = clf.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    sentence = r"5 weight vectors of 4,500 columns keeps those alone .*, [\d,]+ so far: .* coef_ is a sparse matrix"
    for call in (
        clf.densify,
        clf.coefficients,
        clf.to_sklearn,
        lambda: clf.set_coef(np.zeros((5, 4500)), np.zeros(5)),
        lambda: NAGClassifier().fit(X, y, coef_init=np.zeros((5, 4500))),
    ):
        with pytest.raises(memory.TooLarge, match=sentence):
            call()
    with pytest.raises(ValueError, match="with these parameters each row changes all of them"):
        clf.set_params(penalty="l2", average=True).partial_fit(X, y)
    np.testing.assert_array_equal(clf.predict_proba(X), p)
    with pytest.raises(AttributeError):
        clf._state.nothing_like_it  # noqa: B018


@pytest.mark.parametrize("changed", [{"average": False}, {"average": False, "penalty": "l2"}, {"eta0": 0.1}], ids=str)
def test_parameters_change_on_the_way(rng, place, changed):
    X, y = text(rng)

    def learnt():
        clf, _ = stream(NAGClassifier(), X[:48], y[:48])
        return clf.set_params(**changed).partial_fit(X[48:], y[48:])

    expected = learnt()
    place()
    assert_same(told(learnt(), X), told(expected, X))


def test_features_move(rng, place):
    X, y = text(rng)
    places = rng.permutation(X.shape[1])
    places[X.indices[:7]] = -1
    expected = stream(NAGClassifier(), X, y)[0]._state.moved(places)
    place()
    found = stream(NAGClassifier(), X, y)[0]._state.moved(places)
    np.testing.assert_array_equal(found.sparse_weights().toarray(), expected.linear()[0])


def test_a_model_that_outgrows_memory_is_refused_and_stays(rng, place, monkeypatch):
    place()
    X, y = text(rng)
    clf, _ = stream(NAGClassifier(), X[:40], y[:40])
    before = told(clf, X)
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "free_memory", lambda: 1000.0)
    with pytest.raises(memory.TooLarge, match="columns that rows have named takes"):
        clf.partial_fit(X[40:], y[40:])
    monkeypatch.undo()
    assert_same(told(clf, X), before)


def test_memory_is_for_what_rows_name():
    rng, classes = np.random.default_rng(0), np.arange(1000)
    rows = [np.sort(rng.choice(150, 20, replace=False)) * 6991 for _ in range(40)]
    X = sparse.csr_array((np.ones(800), np.concatenate(rows), np.arange(0, 801, 20)), shape=(40, 2**20))
    gc.collect()
    tracemalloc.start()
    clf = NAGClassifier().partial_fit(X, np.arange(40), classes=classes)
    clf.predict_proba(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(clf._state, PlacedState)
    assert clf.coef_.shape == (1000, 2**20)
    assert 130_000 < clf.coef_.nnz <= 150_000
    assert peak < 2.0**26
