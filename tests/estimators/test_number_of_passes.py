"""`early_stopping="auto"`: `fit` finds out how many passes help, and learns all rows."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.preprocessing import KBinsDiscretizer, PolynomialFeatures

from sklearn_nag import (
    FTRLClassifier,
    FTRLRegressor,
    NAGClassifier,
    NAGRegressor,
    ScaleInvariantClassifier,
)
from sklearn_nag.estimators._passes import Passes, are_held_out
from sklearn_nag.model_selection._sweep import Sweep

from .helpers import bits

GOLDEN = (5**0.5 - 1) / 2


def held_out(y, share, weight=None, regression=False):
    """Indices of the rows held out, found row by row."""
    counted, places = {}, []
    for i, target in enumerate(y):
        if weight is not None and weight[i] == 0:
            continue
        group = None if regression else target
        number = counted[group] = counted.get(group, 0) + 1
        if number > 1 and (number * GOLDEN) % 1 < share:
            places.append(i)
    return places


@pytest.fixture(scope="module")
def words():
    """Short texts, as counts of 2,000 words, few of which are informative: passes after the first learn noise."""
    rng = np.random.default_rng(0)
    y = np.arange(900) % 3
    dense = rng.poisson(0.004, size=(900, 2000)).astype(float)
    dense[np.arange(900), 7 * y] += rng.random(900) < 0.5
    return sparse.csr_array(dense), y


@pytest.fixture(scope="module")
def pairs():
    """Pairs of bins of ten columns: a regression that is harmed by more passes."""
    X, y = load_diabetes(return_X_y=True)
    bins = KBinsDiscretizer(6, encode="onehot", strategy="uniform").fit_transform(X)
    products = PolynomialFeatures(2, interaction_only=True, include_bias=False).fit_transform(bins.tocsr())
    return sparse.csr_array(sparse.hstack([X, products])), y


def search(model, X, y, rows, out, loss):
    """Losses on the rows held out, pass by pass, until two passes were not better by ``tol``; and the best pass."""
    losses, best = [], (np.inf, 0)
    options = {"classes": np.unique(y)} if hasattr(model, "predict_proba") else {}
    while len(losses) < best[1] + 2:
        model.partial_fit(X[rows], y[rows], **options)
        losses.append(loss(y[out], model))
        if losses[-1] < best[0] - 1e-3 * (1 if options or best[0] == np.inf else best[0]):
            best = losses[-1], len(losses)
    return losses, best[1]


@pytest.mark.parametrize("make", [NAGClassifier, FTRLClassifier, ScaleInvariantClassifier])
def test_as_many_passes_as_help_on_rows_held_out(make, words):
    X, y = words
    model = make(shuffle=False).fit(X, y)
    out = held_out(y, 0.1)
    rows = np.setdiff1d(np.arange(900), out)
    coupled = make is NAGClassifier or (hasattr(model, "multi_class") and model.multi_class == "multinomial")

    def loss(target, model):
        if coupled:
            return log_loss(target, model.predict_proba(X[out]))
        signs = np.where(target[:, None] == model.classes_, 1.0, -1.0)
        return np.log1p(np.exp(-signs * model.decision_function(X[out]))).mean()

    losses, best = search(make(), X, y, rows, out, loss)
    np.testing.assert_allclose(model.validation_losses_, losses, rtol=1e-9)
    assert best < 6
    assert model.n_iter_ == best
    assert model.t_ == best * 900
    whole = make(shuffle=False, early_stopping=False, tol=None, max_iter=best).fit(X, y)
    assert np.array_equal(bits(model), bits(whole))
    assert whole.validation_losses_.size == 0


@pytest.mark.parametrize("make", [NAGRegressor, FTRLRegressor])
def test_regressors_search_too(make, pairs):
    X, y = pairs
    model = make(shuffle=False).fit(X, y)
    out = held_out(y, 0.1, regression=True)
    rows = np.setdiff1d(np.arange(len(y)), out)
    losses, best = search(
        make(), X, y, rows, out, lambda target, model: 0.5 * mean_squared_error(target, model.predict(X[out]))
    )
    np.testing.assert_allclose(model.validation_losses_, losses, rtol=1e-9)
    assert model.n_iter_ == best


def test_many_passes_are_not_made_twice(words):
    """The best model then learns the rows that were held out."""
    X, y = words
    model = NAGClassifier(shuffle=False, eta0=0.01).fit(X, y)
    assert model.n_iter_ > 5
    assert len(model.validation_losses_) == model.n_iter_ + 2
    out = held_out(y, 0.1)
    rows = np.setdiff1d(np.arange(900), out)
    expected = NAGClassifier(eta0=0.01)
    for _ in range(model.n_iter_):
        expected.partial_fit(X[rows], y[rows], classes=range(3))
    expected.partial_fit(X[out], y[out])
    assert np.array_equal(model.coef_, expected.coef_)
    assert model.t_ == expected.t_


def test_callbacks_end_a_search_and_the_passes_after_it(words):
    pytest.importorskip("sklearn.callback", reason="scikit-learn has no callbacks before 1.9")
    (X, y), make = words, partial(NAGClassifier, shuffle=False, eta0=0.2)
    whole = make().fit(X, y)
    assert 1 < whole.n_iter_ <= 5
    n_searched, out = len(whole.validation_losses_), held_out(y, 0.1)

    class Ends:
        def __init__(self, n):
            self.left = n

        def setup(self, estimator, context):
            pass

        on_fit_task_begin = teardown = setup

        def on_fit_task_end(self, estimator, context):
            self.left -= context.task_name == "pass"
            return self.left == 0

    model = make().set_callbacks(Ends(1)).fit(X, y)
    rows = np.setdiff1d(np.arange(900), out)
    expected = make().partial_fit(X[rows], y[rows], classes=range(3)).partial_fit(X[out], y[out])
    assert np.array_equal(model.coef_, expected.coef_)
    assert (model.n_iter_, len(model.validation_losses_)) == (1, 1)
    model = make().set_callbacks(Ends(n_searched + 1)).fit(X, y)
    assert np.array_equal(bits(model), bits(make().partial_fit(X, y, classes=range(3))))
    assert (model.n_iter_, len(model.validation_losses_)) == (1, n_searched)


def test_passes_that_fit_noise_are_not_made(words, pairs):
    for (X, y), make, far in ((words, NAGClassifier, 0.02), (pairs, NAGRegressor, 0.1)):
        some, rest = np.arange(len(y)) % 4 > 0, np.arange(len(y)) % 4 == 0
        auto, settled = (make(random_state=0, early_stopping=stop).fit(X[some], y[some]) for stop in ("auto", False))
        assert auto.n_iter_ <= 3 < settled.n_iter_
        assert auto.score(X[rest], y[rest]) > settled.score(X[rest], y[rest]) + far


@pytest.mark.parametrize(
    ("n_rows", "n_out"), [(9, 0), (10, 3), (12, 4), (39, 13), (40, 13), (45, 15), (100, 20), (190, 20)]
)
def test_of_few_rows_enough_are_held_out(n_rows, n_out, rng):
    X, y = rng.normal(size=(n_rows, 100)), np.arange(n_rows) % 2
    passes = Passes(NAGClassifier().partial_fit(X, y, classes=[0, 1]), X, y, None, False, True)
    assert passes.searches == (n_out > 0)
    assert abs((0 if passes.held_out is None else len(passes.held_out)) - n_out) <= 2
    passes = Passes(NAGRegressor().partial_fit(X, y), X, y, None, False, True)
    assert passes.searches == (n_rows > 39)


@pytest.mark.parametrize("share", [0.1, 0.7, 0.95])
def test_the_first_row_of_a_class_is_never_held_out(share):
    groups = np.array([1, 0, 1, 2, *[0, 1, 2] * 20])
    chosen = are_held_out(groups, share)
    assert not chosen[[0, 1, 3]].any()
    assert chosen.mean() == pytest.approx(max(share, 20 / 64), abs=0.08)


def test_where_rows_are_few_and_columns_many_no_harm_is_done(rng):
    X = rng.normal(size=(500, 100))
    y = (X[:, 0] + rng.logistic(size=500) > 0).astype(int)
    for n in (15, 25, 39, 50, 80, 150):
        p = NAGClassifier(random_state=0).fit(X[:n], y[:n]).predict_proba(X[200:])
        assert log_loss(y[200:], p) < (0.9 if n > 40 else 1.1)  # it was 1.3 to 1.6 when all passes were made


def test_mixed_rates_of_several_classes_search_whatever_the_number_of_rows(rng):
    """Later passes do not judge shares by new rows. Without a search, rates that are too fast for new rows won."""
    X, W = rng.normal(size=(4000, 20)), 0.9 * rng.normal(size=(20, 20))
    y = (X @ W + rng.gumbel(size=(4000, 20))).argmax(axis=1)
    auto, settled = (
        NAGClassifier(random_state=0, eta0="auto", early_stopping=stop).fit(X[:1000], y[:1000])
        for stop in ("auto", False)
    )
    assert auto.validation_losses_.size > 0
    one, other = (log_loss(y[1000:], model.predict_proba(X[1000:])) for model in (auto, settled))
    assert one < other - 0.03
    for targets in (y < 10, X[:, :3]):  # two classes, and three outputs
        make = NAGClassifier if targets.ndim == 1 else NAGRegressor
        assert make(eta0="auto", max_iter=20).fit(X[:1000], targets[:1000]).validation_losses_.size == 0


@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_of_classes_that_come_once_no_row_is_held_out(rng):
    assert len(NAGClassifier(random_state=0).fit(rng.normal(size=(45, 100)), np.arange(45)).validation_losses_) == 0


def test_where_rows_are_many_for_the_columns_nothing_is_held_out():
    X, y = load_digits(return_X_y=True)
    auto, settled = (NAGClassifier(random_state=0, early_stopping=stop).fit(X, y) for stop in ("auto", False))
    assert np.array_equal(bits(auto), bits(settled))
    assert auto.validation_losses_.size == 0


def test_columns_count_that_are_in_use(words):
    X, y = load_breast_cancer(return_X_y=True)
    wide = sparse.hstack([sparse.csr_array(X), sparse.csr_array((len(y), 10**6))], format="csr")
    assert NAGClassifier(random_state=0).fit(wide, y).validation_losses_.size == 0
    X, y = words
    dense, csr = (NAGClassifier(random_state=0).fit(rows, y) for rows in (X.toarray(), X))
    assert dense.n_iter_ == csr.n_iter_
    np.testing.assert_allclose(dense.validation_losses_, csr.validation_losses_)
    stored = X.copy()
    stored.data[:] = 0.0
    assert NAGClassifier(random_state=0, max_iter=2).fit(stored, y).validation_losses_.size == 0


@pytest.mark.parametrize("options", [{"max_iter": 1}, {"tol": None, "max_iter": 3}, {"early_stopping": np.False_}])
def test_nothing_is_searched_where_passes_are_given(options, words):
    X, y = words
    model = NAGClassifier(random_state=0, **options).fit(X, y)
    expected = NAGClassifier(random_state=0, **(options | {"early_stopping": False})).fit(X, y)
    assert np.array_equal(bits(model), bits(expected))
    assert model.validation_losses_.size == 0


def test_rows_that_were_perhaps_learnt_are_no_witness(words):
    X, y = words
    first = NAGClassifier(random_state=0, warm_start=True).fit(X, y)
    assert first.validation_losses_.size > 0
    again = clone(first).set_params(early_stopping=False, max_iter=first.n_iter_, tol=None)
    assert first.fit(X, y).validation_losses_.size == 0
    assert again.fit(X, y).validation_losses_.size == 0
    given = NAGClassifier(random_state=0).fit(X, y, coef_init=first.coef_, intercept_init=first.intercept_)
    assert given.validation_losses_.size == 0


def test_weights_of_the_rows_held_out_count(words):
    X, y = words
    weight = np.where(np.arange(900) % 5 < 2, 0.0, 1.0 + np.arange(900) % 7)
    model = NAGClassifier(shuffle=False, class_weight={0: 2.0}).fit(X, y, sample_weight=weight)
    out = held_out(y, 0.1, weight)
    assert weight[out].all()
    learner, rows = NAGClassifier(class_weight={0: 2.0}), np.setdiff1d(np.arange(900), out)
    for found in model.validation_losses_:
        learner.partial_fit(X[rows], y[rows], classes=range(3), sample_weight=weight[rows])
        of_row = weight[out] * np.where(y[out] == 0, 2.0, 1.0)
        assert found == pytest.approx(log_loss(y[out], learner.predict_proba(X[out]), sample_weight=of_row))


def test_rows_without_weight_are_not_among_those_that_a_search_needs(rng):
    X, y = rng.normal(size=(60, 100)), rng.normal(size=60)
    model = NAGRegressor().partial_fit(X, y)
    for n_counted, searches in (39, False), (40, True):
        weight = (np.arange(60) < n_counted).astype(float)
        assert Passes(model, X, y, weight, False, True).searches == searches


def test_columns_of_rows_without_weight_do_not_count(rng):
    """Columns of rows without weight would look like columns that rows tell little about, and reduce the passes."""
    X = rng.normal(size=(210, 20))
    y = X[:, 0] + rng.normal(size=210) > 0
    more = np.block([[X, np.zeros((210, 10))], [rng.normal(size=(30, 30))]])
    weight = np.repeat([1.0, 0.0], [210, 30])
    model = NAGClassifier(shuffle=False).fit(more, np.append(y, y[:30]), sample_weight=weight)
    assert model.n_iter_ == NAGClassifier(shuffle=False).fit(X, y).n_iter_ > 1


@pytest.mark.parametrize("size", [1e-100, 1e150, 1e300])
def test_losses_beyond_float64_do_not_end_a_search(size, pairs):
    X, y = pairs
    targets = np.column_stack([y, -y]) / 400.0 * size
    one, other = (NAGRegressor(random_state=0).fit(X, targets), NAGRegressor(random_state=0).fit(X, targets / size))
    assert one.n_iter_ >= 1
    assert np.isfinite(one.validation_losses_).all()
    np.testing.assert_allclose(one.predict(X[:50]) / size, other.predict(X[:50]), rtol=0.2, atol=0.2)


def test_the_only_row_of_a_class_is_learnt(words):
    X, y = words
    y = y.copy()
    y[450] = 3
    model = NAGClassifier(shuffle=False, validation_fraction=0.9).fit(X, y)
    assert 450 not in held_out(y, 0.9)
    assert model.validation_losses_.size > 0
    assert np.isfinite(model.validation_losses_).all()


def test_each_rate_of_a_sweep_has_its_own_number_of_passes(words):
    X, y = words
    eta0s, learner = (0.01, 0.25, 1.0, 4.0), NAGClassifier(random_state=0)
    swept = Sweep(learner, eta0s).fit(X, y)
    passes = set()
    for eta0, found in zip(eta0s, swept):
        alone = clone(learner).set_params(eta0=eta0).fit(X, y)
        assert np.array_equal(bits(found), bits(alone))
        assert np.array_equal(found.validation_losses_, alone.validation_losses_)
        assert (found.n_iter_, found.t_) == (alone.n_iter_, alone.t_)
        passes.add(found.n_iter_)
    assert min(passes) < 5 < max(passes)


def test_a_search_is_told(words, capsys):
    X, y = words
    model = NAGClassifier(random_state=0, verbose=1).fit(X, y)
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Pass")]
    assert len(lines) == len(model.validation_losses_) + model.n_iter_
    told = [float(line.rsplit(" ", 1)[1]) for line in lines if "held out" in line]
    np.testing.assert_allclose(told, model.validation_losses_, rtol=1e-5)


def test_mixed_rates_search_together(words):
    X, y = words
    model = NAGClassifier(random_state=0, eta0="auto").fit(X, y)
    assert 0 < model.n_iter_ <= len(model.validation_losses_)
    assert model.t_ == model.n_iter_ * 900
