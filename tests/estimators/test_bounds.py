"""Bounds on single weights, in raw units: they agree with textbooks and least squares, and are kept to the bit."""

import copy
import os
import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from sklearn_nag import FTRLClassifier, FTRLRegressor, NAGClassifier, NAGRegressor, config_context, merge
from sklearn_nag.constraints import Box

from ..kernels.helpers import KERNELS
from .helpers import bits
from .test_constrained import LAZY, OGD, rows, textbook

UNITS = np.array([1.0, 1e3, 1e-3, 1.0, 5.0])
TRUTH = np.array([1.0, -2.0, 3.0, -0.5, 2.0]) / UNITS
LOW, HIGH = np.array([0.0, -1.0, -np.inf, 0.0, 0.0]) / UNITS, np.array([0.7, 1.0, 0.0, np.inf, 1.5]) / UNITS


def table(rng, n=300):
    X = rng.normal(size=(n, 5)) * UNITS
    return X, X @ TRUTH + 0.3 * rng.normal(size=n) + 7.0


@pytest.mark.parametrize(
    ("make", "lazy"), [(partial(NAGRegressor, **OGD), False), (partial(FTRLRegressor, **LAZY), True)]
)
def test_gradient_descent_is_the_textbooks(rng, make, lazy):
    X, y = rows(rng)
    box = Box([-0.1, -np.inf, 0.0, -0.2, 0.0], [0.2, 0.3, 0.1, np.inf, 0.0])
    played, w = textbook(X, y, lambda w: np.minimum(np.maximum(w, box.low), box.high), 0.2, lazy, np.zeros(5))
    for container in (np.asarray, sparse.csr_array):
        model = make(loss="absolute_error", eta0=0.2, constraint=box)
        np.testing.assert_allclose(model._play(container(X), y)[:, 0], played, rtol=0, atol=1e-9)
        np.testing.assert_allclose(model.coef_, w, rtol=0, atol=1e-9)


def proximal_by_its_statement(X, y, low, high, eta, beta, l1):
    """FTRL-Proximal for the absolute error: each weight minimises, within its bounds, what all rows so far add up to.

    The minimum is found by evaluating this function of one weight at its breakpoints and where its slope is 0.
    """
    n, l1s = np.zeros(X.shape[1]), np.array([l1, -l1])
    slopes, pulls, centres, played = np.zeros(X.shape[1]), np.zeros(X.shape[1]), np.zeros(X.shape[1]), []
    for x, target in zip(X, y):
        w = np.zeros(X.shape[1])
        strength = pulls + beta / eta  # sum sigma, plus the term that keeps the first steps short
        for i, total in enumerate(centres - slopes):
            candidates = np.array([low[i], high[i], 0.0, *(total - l1s) / strength[i]])
            candidates = candidates[(candidates >= low[i]) & (candidates <= high[i])]
            values = strength[i] * candidates**2 / 2 - total * candidates + l1 * np.abs(candidates)
            w[i] = candidates[np.argmin(values)]
        played.append(w @ x)
        g = np.sign(played[-1] - target) * x
        sigma = (np.sqrt(n + g * g) - np.sqrt(n)) / eta
        n, slopes, pulls, centres = n + g * g, slopes + g, pulls + sigma, centres + sigma * w
    return np.array(played)


def test_ftrl_proximal_with_l1_is_its_statement(rng):
    X, y = rows(rng)
    low, high = np.array([-0.1, 0.0, 0.0, -0.2, -9.0]), np.array([0.2, 0.3, 9.0, 0.0, 9.0])
    options = {"normalization": None, "fit_intercept": False, "target_normalization": None, "clip": None}
    model = FTRLRegressor("absolute_error", eta0=0.5, beta=1.0, l1=0.3, constraint=Box(low, high), **options)
    expected = proximal_by_its_statement(X, y, low, high, 0.5, 1.0, 0.3)
    np.testing.assert_allclose(model._play(X, y)[:, 0], expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "estimator",
    [NAGRegressor(), NAGRegressor(adaptive=False), FTRLRegressor(), FTRLRegressor(regularizer="l2")],
    ids=str,
)
def test_a_long_stream_comes_near_the_best_there_is(rng, estimator):
    X, y = table(rng, 3000)
    best = LinearRegression(positive=True).fit(X, y)
    by_scipy = nnls(X - X.mean(axis=0), y - y.mean())[0]
    np.testing.assert_allclose(best.coef_ * UNITS, by_scipy * UNITS, atol=1e-9)
    reg = copy.deepcopy(estimator).set_params(constraint="nonnegative").partial_fit(X, y)
    assert (reg.coef_ >= 0).all()
    least = np.mean((best.predict(X) - y) ** 2)
    assert np.mean((reg.predict(X) - y) ** 2) < least + 0.03 * np.var(y)
    free = copy.deepcopy(estimator).partial_fit(X, y)
    assert np.mean((free.predict(X) - y) ** 2) < 0.5 * least  # so the bounds matter


def test_passes_find_nnls(rng):
    X, y = table(rng, 100)
    best = LinearRegression(positive=True).fit(X, y)
    fixed = {"max_iter": 60, "tol": None, "early_stopping": False, "random_state": 0}
    reg = NAGRegressor(constraint="nonnegative", learning_rate="invscaling", **fixed).fit(X, y)
    np.testing.assert_allclose(reg.coef_ * UNITS, best.coef_ * UNITS, atol=0.03)


KINDS = [
    NAGRegressor(),
    NAGRegressor(normalization="max", adaptive=False),
    NAGRegressor(normalization="rms", eta0="auto", average=False),
    NAGRegressor(normalization=None, eta0=0.1),
    NAGRegressor(half_life=20.0),
    NAGRegressor(half_life="auto"),
    NAGRegressor(penalty="l2", average=True),
    NAGRegressor(scales="online", importance_aware=False),
    FTRLRegressor(l1=0.1),
    FTRLRegressor(regularizer="l2", normalization="auto"),
]


def drifting(rng, n=120):
    """Rows with gaps, whose units shrink and grow, so that scales do, too."""
    X, y = table(rng, n)
    return X * 10.0 ** np.sin(np.arange(n) / 9.0)[:, None] * (rng.random(X.shape) < 0.7), y


@settings(max_examples=25, deadline=None)
@given(cuts=st.sets(st.integers(1, 59)), which=st.integers(0, len(KINDS) - 1), storage=st.booleans())
def test_bounds_hold_to_the_bit_after_every_cut(cuts, which, storage):
    X, y = drifting(np.random.default_rng(0), 60)
    X, Y = sparse.csr_array(X) if storage else X, np.column_stack([y, 3.0 - 20.0 * y])
    make = lambda: copy.deepcopy(KINDS[which]).set_params(constraint=Box(LOW, HIGH))  # noqa: E731
    whole, model = make().partial_fit(X, Y), make()
    for part in np.split(np.arange(60), sorted(cuts)):
        model = pickle.loads(pickle.dumps(model.partial_fit(X[part], Y[part])))
        assert ((model.coef_ >= LOW) & (model.coef_ <= HIGH)).all()
        assert not np.signbit(model.coef_[model.coef_ == 0]).any()
    assert np.array_equal(bits(model), bits(whole))


@pytest.mark.parametrize("kernel", KERNELS[1:])
@pytest.mark.parametrize(
    ("estimator", "compiled"), [(KINDS[0], np.asarray), (FTRLRegressor(), sparse.csr_array)], ids=["nag", "ftrl"]
)
def test_kernels_and_containers_agree(rng, estimator, compiled, kernel):
    """Compiled code learns dense rows of one family and sparse ones of the other; with ``EVERY_RULE``, all."""
    X, y = drifting(rng)
    played, coefs = [], []
    model = copy.deepcopy(estimator).set_params(constraint=Box(LOW, HIGH), centering=False)
    every = [np.asarray, sparse.csr_array]
    for used, containers in (("numpy", every), (kernel, every if os.environ.get("EVERY_RULE") else [compiled])):
        for container in containers:
            with config_context(kernel=used):
                learnt = copy.deepcopy(model)
                played.append(learnt._play(container(X), y))
            coefs.append(learnt.coef_ * UNITS)
    for p, coef in zip(played, coefs):
        np.testing.assert_allclose(p, played[0], rtol=1e-7, atol=1e-8 * np.abs(played[0]).max())
        np.testing.assert_allclose(coef, coefs[0], rtol=1e-6, atol=1e-9)


def test_what_predicts_is_what_coef_says(rng):
    """Predictions agree with ``coef_`` if few columns are looked up, and if the average had bounds at other scales."""
    X, y = table(rng, 120)
    X[60:, 0] = 0.0  # so that its root mean square falls
    X = sparse.csr_array(sparse.hstack([X, sparse.csr_array((120, 5000))]))
    reg = NAGRegressor(constraint=Box(low=-0.01, high=0.5), normalization="rms", clip=None).partial_fit(X, y)
    p = reg.predict(X[:3])
    np.testing.assert_allclose(p, X[:3] @ reg.coef_ + reg.intercept_, rtol=1e-12)
    assert reg.coef_[0] == 0.5
    played = copy.deepcopy(reg)._play(X[:1] * 0.0, y[:1])  # a row of zeros changes no scale before it is predicted
    np.testing.assert_allclose(played[0, 0], reg.intercept_[0], rtol=1e-9)


def test_models_that_are_merged_or_moved_stay_within(rng):
    X, y = table(rng)
    parts = [NAGRegressor(constraint=Box(LOW, HIGH)).partial_fit(X[i::2], y[i::2]) for i in (0, 1)]
    merged = merge(parts)
    assert ((merged.coef_ >= LOW) & (merged.coef_ <= HIGH)).all()
    with pytest.raises(ValueError, match="constraint"):
        merge([parts[0], NAGRegressor().partial_fit(X, y)])
    places, reg = np.array([4, -1, 0, 1, 2]), NAGRegressor(constraint="nonnegative").partial_fit(X, y)
    moved = reg._state.moved(places).linear()[0]
    assert np.array_equal(moved[0], [reg.coef_[2], reg.coef_[3], reg.coef_[4], 0.0, reg.coef_[0]])
    with pytest.raises(NotImplementedError, match="each has bounds of its own"):
        parts[0]._state.moved(places)


def test_bounds_may_change_while_a_model_goes_on(rng):
    X, y = table(rng)
    for estimator in (NAGRegressor(), FTRLRegressor()):
        reg = estimator.partial_fit(X, y)
        assert (reg.coef_ < 0).any()
        reg = pickle.loads(pickle.dumps(reg.set_params(constraint="nonnegative").partial_fit(X, y)))
        assert (reg.coef_ >= 0).all()
        reg.set_params(constraint={0: -1}).partial_fit(X, y)
        assert reg.coef_[0] <= 0
        assert (reg.coef_ < 0).sum() > 1
        assert reg.set_params(constraint=None).partial_fit(X, y).coef_[0] > 0


def test_signs_by_name(rng):
    pd = pytest.importorskip("pandas")
    X, y = table(rng)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d", "price"])
    signs = {"price": -1, "a": 1, "b": 0}
    reg = NAGRegressor(constraint=signs).partial_fit(frame, y)
    assert reg.coef_[0] > 0 > reg.coef_[1]
    assert reg.coef_[4] <= 0
    by_number = NAGRegressor(constraint={4: -1, 0: 1}).partial_fit(X, y)
    assert np.array_equal(by_number.coef_, reg.coef_)
    with pytest.raises(ValueError, match="a sign for the column 'cost', which is not a name of X's; these are"):
        NAGRegressor(constraint={"cost": -1}).fit(frame, y)


def test_classes_have_bounds_each(rng):
    X, _ = rows(rng, 300)
    y = np.digitize(X[:, 0], [-0.4, 0.4])
    for clf in (NAGClassifier(constraint={0: 1}), FTRLClassifier(constraint={0: 1})):
        clf.partial_fit(X, y, classes=[0, 1, 2])
        assert (clf.coef_[:, 0] >= 0).all()
        assert (clf.coef_[:, 1:] < 0).any()
        wide, free = (clone(clf).set_params(constraint=box) for box in (Box(-1e9, 1e9), None))
        with config_context(kernel="numpy"):
            intercepts = [each.partial_fit(X[:60], y[:60], classes=[0, 1, 2]).intercept_ for each in (wide, free)]
        np.testing.assert_allclose(*intercepts, rtol=1e-9)  # the intercept has no bounds
    with pytest.raises(ValueError, match="the given weights are outside the bounds"):
        NAGClassifier(constraint="nonnegative").fit(X, y > 0, coef_init=np.full((1, 5), -1.0))


@pytest.mark.parametrize(
    ("estimator", "error"),
    [
        (NAGRegressor(constraint="positive"), "must be None, 'nonnegative', a dict of signs by column, or Box"),
        (NAGRegressor(constraint=Box(1.0, 0.0)), "low must not be above high; at index 0 they are 1.0 and 0.0"),
        (NAGRegressor(constraint=Box(np.nan)), "low must be a number, or a vector of numbers, that are not NaN"),
        (NAGRegressor(constraint=Box("a")), "low must be a real number or a vector of these; got str"),
        (NAGRegressor(constraint=Box([[0.0]])), "got an array of shape"),
        (NAGRegressor(constraint=Box(0.5, 1.0)), "needs low <= 0 <= high for each column"),
        (NAGRegressor(constraint=Box([0.0, 0.0])), "low has 2 entries; it must have 1, one for each weight"),
        (NAGRegressor(constraint={"a": 1}), "a sign for the column 'a', which is not a name of X's; X has none"),
        (NAGRegressor(constraint={3: 1}), "constraint has a sign for column 3; X has 1 columns"),
        (NAGRegressor(constraint={0: 2}), "constraint has 2 for column 0; signs are 1"),
        (NAGRegressor(constraint={0.5: 1}), "constraint has the column 0.5; columns are names, or numbers"),
        (NAGRegressor(constraint="nonnegative", penalty="l1"), "bounds on single weights and penalty='l1' do not go"),
        (FTRLRegressor(constraint="nonnegative", regularizer="entropy"), "'entropy' limits its weights by radius"),
    ],
)
def test_what_has_no_meaning_is_refused(estimator, error):
    with pytest.raises(ValueError, match=error):
        estimator.fit([[1.0], [2.0]], [1.0, 2.0])
    assert not hasattr(estimator, "coef_")
