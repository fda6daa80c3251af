"""What all estimators share: attributes, streams, copies and pickles, and what is left when learning fails."""

import copy
import io
import itertools
import pickle
import warnings
from contextlib import nullcontext

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from sklearn_nag import (
    FTRLClassifier,
    FTRLRegressor,
    HedgeClassifier,
    NAGClassifier,
    NAGRegressor,
    ScaleInvariantClassifier,
    ScaleInvariantRegressor,
    config_context,
    merge,
    report_progress,
)
from sklearn_nag.constraints import Box

from ..kernels.helpers import flat, on_both
from ..pairs import every_pair
from ..processes import run_code
from .helpers import PLAIN, RNG, X, Y, bits, first_call

ONE_PASS = {"max_iter": 1, "shuffle": False}

# -- attributes


def test_attributes():
    X, y = load_breast_cancer(return_X_y=True)
    clf = NAGClassifier(max_iter=3, tol=None).fit(X, y)
    assert clf.coef_.shape == (1, 30)
    assert clf.intercept_.shape == (1,)
    assert clf.t_ == 3 * len(y)
    assert clf.n_iter_ == 3
    assert clf.n_features_in_ == 30
    assert not hasattr(clf, "feature_names_in_")
    np.testing.assert_allclose(clf.mean_, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(clf.scale_, X.std(axis=0), rtol=1e-12)
    largest = NAGClassifier(normalization="max", centering=False).partial_fit(X, y, [0, 1])
    assert np.array_equal(largest.scale_, np.abs(X).max(axis=0))
    assert np.array_equal(largest.mean_, np.zeros(30))
    assert 0 < clf.progressive_loss_ < 0.5
    centred = NAGClassifier(normalization="rms").partial_fit(np.eye(2, 3), [0, 1], [0, 1])
    assert np.array_equal(centred.scale_, [0.5, 0.5, 1])
    for name in ("coef_", "feature_importances_"):
        with pytest.raises(AttributeError, match="not fitted"):
            getattr(NAGClassifier(), name)
    with pytest.raises(NotFittedError):
        NAGClassifier().predict(X)
    with pytest.raises(ValueError, match="read-only"):
        clf.coef_[0, 0] = 1.0


def test_importances_are_of_any_class_and_finite():
    X, y = load_wine(return_X_y=True)
    clf = NAGClassifier().partial_fit(np.c_[X, np.zeros(len(y))], y, [0, 1, 2])
    expected = np.abs(clf.coef_ * clf.scale_).mean(axis=0)
    np.testing.assert_allclose(clf.feature_importances_, expected, rtol=1e-12)
    assert clf.feature_importances_[-1] == 0.0
    assert np.array_equal(clf.sparsify().feature_importances_, pickle.loads(pickle.dumps(clf)).feature_importances_)
    plain = NAGClassifier(normalization=None).partial_fit(X, y > 0, [False, True])
    assert np.array_equal(plain.feature_importances_, np.abs(plain.coef_[0]))
    rows = np.array([[1.0, 0.0], [-1.0, 1.0], [0.5, -1.0], [2.0, 3.0]]) * [1e-300, 1e300]
    for output in ([1e300, -1e300, 5e299, 1.5e300], [1e-300, 0.0, 2e-300, 1e-300]):
        assert np.isfinite(NAGRegressor().partial_fit(rows, output).feature_importances_).all()


@pytest.mark.parametrize(
    ("how", "penalty", "normalization"),
    every_pair(
        itertools.product([np.asarray, sparse.csr_array], [False, True]),
        [None, "l1", "l2", "elasticnet"],
        ["max", "rms"],
    ),
)
def test_coef_and_intercept_give_the_decisions(how, penalty, normalization):
    (container, average), (X, y) = how, (rows[::4] for rows in load_wine(return_X_y=True))
    clf = NAGClassifier(normalization=normalization, penalty=penalty, average=average, max_iter=2, random_state=0)
    clf.fit(container(X), y)
    np.testing.assert_allclose(clf.decision_function(X), X @ clf.coef_.T + clf.intercept_, rtol=1e-12)
    np.testing.assert_allclose(clf.decision_function(sparse.csr_matrix(X)), clf.decision_function(X), rtol=1e-10)


def test_without_intercept():
    X, y = (part[:150] for part in load_breast_cancer(return_X_y=True))
    clf = NAGClassifier(fit_intercept=False, max_iter=2, random_state=0).fit(X, y)
    assert np.array_equal(clf.intercept_, [0.0])
    assert np.array_equal(clf.decision_function(np.zeros((1, 30))), [0.0])


def test_sparsify_and_densify():
    X, y = (part[::12] for part in load_digits(return_X_y=True))
    clf = NAGClassifier(penalty="l1", alpha=1e-3, random_state=0, max_iter=3).fit(X, y)
    dense, decision = clf.coef_, clf.decision_function(X)
    assert sparse.issparse(clf.sparsify().coef_)
    assert clf.coef_.nnz < dense.size
    assert np.array_equal(clf.coef_.toarray(), dense)
    assert np.array_equal(clf.decision_function(X), decision)
    assert np.array_equal(clf.densify().coef_, dense)
    reg = NAGRegressor(max_iter=2).fit(X, y).sparsify()
    assert reg.coef_.shape == (1, 64)
    for method in (NAGRegressor().sparsify, NAGRegressor().densify):
        with pytest.raises(NotFittedError):
            method()


def test_the_number_of_passes():
    clf = NAGClassifier(max_iter=3, tol=None).fit(X, Y)
    assert clf.n_iter_ == 3
    assert clf.partial_fit(X, Y).n_iter_ == 1
    assert NAGRegressor().partial_fit(X, Y).n_iter_ == 1


# -- streams, copies and pickles


@pytest.mark.parametrize("make", [NAGRegressor, FTRLRegressor, ScaleInvariantRegressor])
def test_fit_says_of_rows_that_no_longer_count(make):
    model = make(warm_start=True, max_iter=2, tol=None).fit(X, Y, sample_weight=np.full(30, 2.0**53))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, Y, sample_weight=np.full(30, 2.0**30))
    with pytest.warns(UserWarning, match=r"some rows did not count: .* of a total weight of 5.404e\+17"):
        model.fit(X, Y)


def test_rows_that_a_row_of_the_same_call_outweighs_are_said():
    weight = np.ones(30)
    weight[-1] = 1e17
    for learn, given in itertools.product((NAGRegressor.partial_fit, NAGRegressor.fit), (weight, weight[::-1])):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            warnings.simplefilter("ignore", ConvergenceWarning)
            learn(NAGRegressor(**ONE_PASS), X, Y, sample_weight=given)
        assert [warning.filename for warning in told] == ([] if given is weight else [__file__])
        assert all("some rows did not count" in str(warning.message) for warning in told)


def test_rows_that_no_longer_count_are_said():
    model = NAGRegressor().partial_fit(X, Y, sample_weight=2.0**48)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X, Y)
        model.partial_fit(X, Y, sample_weight=np.zeros(30))
        model.partial_fit(X[:1], Y[:1], sample_weight=[2.0**58])
        first_call(NAGClassifier()).partial_fit(X, Y, sample_weight=np.zeros(30))
    with pytest.warns(UserWarning, match=r"some rows did not count: .* of a total weight of 2.967e"):
        model.partial_fit(X[:20], Y[:20])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            model.partial_fit(X[:20], Y[:20])


def test_float32_rows():
    X, y = load_breast_cancer(return_X_y=True)
    X = X.astype(np.float32)
    a, b = (NAGClassifier(max_iter=1, shuffle=False).fit(rows, y) for rows in (X, X.astype(float)))
    assert np.array_equal(bits(a), bits(b))
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X.astype(float)))


SOME_RULES = [
    NAGClassifier(),
    NAGClassifier("hinge", normalization="rms", penalty="l2", average=50),
    NAGClassifier(adaptive=False, learning_rate="invscaling", penalty="l1"),
    NAGClassifier(normalization="rms", adaptive=False),
    NAGClassifier(eta0="auto"),
    NAGRegressor(eta0="auto", loss="huber"),
    NAGRegressor(normalization="max", penalty="l1", average=True),
]


@pytest.mark.parametrize(
    ("estimator", "container", "kernel"), on_both(itertools.product(SOME_RULES, [np.asarray, sparse.csr_array]), 3)
)
def test_batches_and_pickles_between_them_change_no_bit(estimator, container, kernel):
    X, y = (rows[::2] for rows in load_wine(return_X_y=True))
    X = container(X)
    extra = {"classes": [0, 1, 2]} if isinstance(estimator, NAGClassifier) else {}
    with config_context(kernel=kernel):
        whole, parts = clone(estimator).partial_fit(X, y, **extra), clone(estimator)
        for i, rows in enumerate(np.split(np.arange(len(y)), [1, 2, 3, 50, 51, 60, 88])):
            parts.partial_fit(X[rows], y[rows], **(extra if i == 0 else {}))
            if i % 3 == 0:
                parts = pickle.loads(pickle.dumps(parts))
            elif i % 3 == 1:
                parts = copy.deepcopy(parts)
            else:
                file = io.BytesIO()
                joblib.dump(parts, file)
                file.seek(0)
                parts = joblib.load(file)
    assert np.array_equal(bits(whole), bits(parts))
    assert np.array_equal(whole.coef_, parts.coef_)


def test_a_copy_is_independent():
    X, y = load_wine(return_X_y=True)
    one = NAGClassifier().partial_fit(X, y, classes=[0, 1, 2])
    two = copy.deepcopy(one)
    before = bits(one).copy()
    two.partial_fit(X, y)
    assert np.array_equal(bits(one), before)
    assert not hasattr(clone(one), "_state")


def test_a_pickle_goes_on_in_another_process(tmp_path):
    X, y = load_wine(return_X_y=True)
    clf = NAGClassifier().partial_fit(X[:90], y[:90], classes=[0, 1, 2])
    path = tmp_path / "model.joblib"
    joblib.dump(clf, path)
    code = (
        "import joblib; from sklearn.datasets import load_wine; X, y = load_wine(return_X_y=True);"
        f"clf = joblib.load({str(path)!r}).partial_fit(X[90:], y[90:]); joblib.dump(clf, {str(path)!r})"
    )
    run_code(code)
    assert np.array_equal(bits(joblib.load(path)), bits(clf.partial_fit(X[90:], y[90:])))


@pytest.mark.parametrize(
    "options", [{}, {"class_weight": "balanced"}, {"constraint": {0: 1, 3: -1}}, {"constraint": Box(low=-np.ones(13))}]
)
def test_a_memory_mapped_model_goes_on(options, tmp_path):
    X, y = load_wine(return_X_y=True)
    clf = NAGClassifier(**options).partial_fit(X[:90], y[:90], classes=[0, 1, 2])
    joblib.dump(clf, tmp_path / "model.joblib")
    mapped = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    assert np.array_equal(bits(mapped.partial_fit(X[90:], y[90:])), bits(clf.partial_fit(X[90:], y[90:])))


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("make", [NAGClassifier, ScaleInvariantClassifier, FTRLClassifier, HedgeClassifier])
def test_a_file_that_is_mapped_for_writing_stays_as_it_is(make, storage, tmp_path):
    X, y = load_wine(return_X_y=True)
    X = storage(X)
    clf, path = make().partial_fit(X[:60], y[:60], classes=[0, 1, 2]), tmp_path / "model.joblib"
    joblib.dump(clf, path)
    before = path.read_bytes()
    mapped = joblib.load(path, mmap_mode="r+")
    for rows in (slice(60, 90), slice(90, None)):
        mapped.partial_fit(X[rows], y[rows])
        clf.partial_fit(X[rows], y[rows])
        assert np.array_equal(mapped.predict_proba(X), clf.predict_proba(X))
        assert path.read_bytes() == before
    if make is not HedgeClassifier:
        state = mapped._state
        assert mapped.partial_fit(X, y)._state is state  # it is copied only once


def test_a_pickle_of_a_newer_version():
    state = first_call(NAGClassifier()).__getstate__()
    state["_state_version"] += 1
    with pytest.raises(ValueError, match="saved by another version of sklearn_nag"):
        NAGClassifier().__setstate__(state)
    assert pickle.loads(pickle.dumps(first_call(NAGClassifier()))).t_ == 30


@pytest.mark.parametrize(
    "change",
    [
        {"normalization": "max"},
        {"adaptive": False},
        {"fit_intercept": False},
        {"centering": False},
        {"target_normalization": None},
        {"eta0": "auto"},
    ],
)
def test_what_cannot_change_on_the_way(change):
    model = first_call(NAGRegressor())
    before = flat(model._state)
    model.set_params(**change, warm_start=True)
    for method in (model.partial_fit, model.fit):
        with pytest.raises(ValueError, match="when this model was new"):
            method(X, Y)
    assert np.array_equal(flat(model._state), before)


@pytest.mark.parametrize("verbose", [0, 2])
def test_what_is_told_on_the_way_changes_nothing_of_what_is_known_of_errors(verbose, capsys):
    model, twin = NAGRegressor(verbose=verbose), NAGRegressor()
    with nullcontext() if verbose else report_progress(lambda now: None, every=7):
        assert np.array_equal(model._play(X, X[:, 0]), twin._play(X, X[:, 0]))
        model.partial_fit(X, X[:, 1])
    assert np.array_equal(model.predict_interval(X), twin.partial_fit(X, X[:, 1]).predict_interval(X))


# -- learning that fails


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_divergence_is_an_error(container):
    model = NAGRegressor(normalization=None, adaptive=False, eta0=1e-3, **PLAIN).partial_fit(container(X), Y)
    before = flat(model._state)
    for method in (model.partial_fit, model.fit):
        with pytest.raises(ValueError, match=r"leave the range of float64: .* or eta0=0.001 is too large"):
            method(container(np.tile(X, (100, 1)) * 1e6), np.tile(Y, 100))
    assert np.array_equal(flat(model._state), before)


@pytest.mark.parametrize("kernel", ["numpy", "auto"])
@pytest.mark.parametrize(
    "options", [{}, {"penalty": "l2", "average": True}, {"penalty": "l1", "normalization": "rms", "adaptive": False}]
)
def test_a_sparse_batch_that_fails_late_changes_no_column(kernel, options):
    rows = sparse.random(50, 40, density=0.2, random_state=0, format="csr")
    with config_context(kernel=kernel):
        model = NAGRegressor(**options).partial_fit(rows, RNG.normal(size=50))
        before = flat(model._state).copy()
        bad = sparse.csr_array(np.eye(3, 40))
        bad.data[2] = np.nan
        with pytest.raises(ValueError, match="NaN in row 2, column 2"):
            model.partial_fit(bad, [1e30, 1, 1])
        assert np.array_equal(flat(model._state), before)
        model.partial_fit(rows, RNG.normal(size=50))
        assert np.isfinite(flat(model._state)).all()


def test_an_interrupt_leaves_the_model_as_it_was(monkeypatch):
    model = first_call(NAGRegressor(centering=False))
    before = flat(model._state)
    calls = []

    def gradient(self, p, y, unit):
        calls.append(p)
        if len(calls) == 20:
            raise KeyboardInterrupt
        return p - y

    monkeypatch.setattr("sklearn_nag.losses.SquaredError.gradient", gradient)
    for rows in (X, sparse.csr_array(X)):
        calls.clear()
        with pytest.raises(KeyboardInterrupt), config_context(kernel="numpy"):
            model.partial_fit(rows, Y)
        assert np.array_equal(flat(model._state), before)


class OfOne(NAGRegressor):
    def __init__(self, loss="huber"):
        super().__init__(loss, **ONE_PASS)


class OfNone(NAGClassifier):
    def __init__(self):
        super().__init__("hinge", **ONE_PASS)


class OfMore(FTRLClassifier):
    def __init__(self, l1=0.5, **options):
        super().__init__(l1=l1, **ONE_PASS, **options)


class OfTwo(ScaleInvariantRegressor):
    def __init__(self, max_iter=1, shuffle=False):
        super().__init__(max_iter=max_iter, shuffle=shuffle)


@pytest.mark.parametrize(
    ("derived", "learner"),
    [
        (OfOne(), NAGRegressor("huber")),
        (OfNone(), NAGClassifier("hinge")),
        (OfMore(), FTRLClassifier(l1=0.5)),
        (OfTwo(), ScaleInvariantRegressor()),
    ],
)
def test_classes_may_leave_parameters_to_what_they_derive_from(derived, learner):
    """scikit-learn allows such classes. They learn, are saved and copied, and parameters set later count."""
    learner.set_params(**ONE_PASS).fit(X, Y)
    derived = clone(derived).fit(X, Y)
    loaded = pickle.loads(pickle.dumps(derived))
    for model in (derived, loaded, copy.copy(loaded), learner):
        model.partial_fit(X, Y).partial_fit(X, Y)
        assert np.array_equal(bits(model), bits(derived))
    if not isinstance(learner, FTRLClassifier):  # these cannot be merged
        assert np.array_equal(merge([derived, loaded]).coef_, merge([learner, learner]).coef_)
    derived.verbose = -1
    with pytest.raises(ValueError, match="'verbose' parameter of Of"):
        derived.partial_fit(X, Y)
