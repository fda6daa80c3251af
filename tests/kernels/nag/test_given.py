"""Models that are set to given weights in raw units."""

import functools

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes, load_digits, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.preprocessing import StandardScaler

from sklearn_nag import (
    NAGClassifier,
    NAGRegressor,
    ScaleInvariantClassifier,
    ScaleInvariantRegressor,
    config_context,
)
from sklearn_nag.constraints import L2Ball, Simplex, WeightedL1Ball

from ...estimators.helpers import bits
from ..helpers import flat, on_both

DIABETES = load_diabetes(return_X_y=True, scaled=False)
SOLVED = LinearRegression().fit(*DIABETES)
RULES = [
    {},
    {"normalization": "max"},
    {"adaptive": False},
    {"adaptive": False, "normalization": "max"},
    {"normalization": None},
    {"normalization": None, "adaptive": False, "eta0": 1e-6},
    {"centering": False},
    {"eta0": "auto"},
    {"penalty": "l1", "alpha": 0.01},
    {"penalty": "l2", "alpha": 0.01, "average": True},
    {"target_normalization": None, "clip": None},
    {"loss": "huber", "average": 1000},
]


def logistic(X, y):
    """Return the weights and intercepts of a solver, in raw units."""
    scaler = StandardScaler().fit(X)
    solved = LogisticRegression(C=0.1).fit(scaler.transform(X), y)
    coef = solved.coef_ / scaler.scale_
    return coef, solved.intercept_ - coef @ scaler.mean_


@functools.cache
def digits():
    """Return rows, classes, and a solver's weights and intercepts."""
    X, y = (a[:200] for a in load_digits(return_X_y=True))
    return X, y, *logistic(X, y)


@pytest.mark.parametrize(("options", "kernel"), on_both(zip(RULES), 2))
def test_a_model_becomes_what_is_given(options, kernel):
    X, y = DIABETES
    with config_context(kernel=kernel):
        reg = NAGRegressor(**options).partial_fit(X, y)
        t, scale = reg.t_, reg.scale_
        assert reg.set_coef(SOLVED.coef_, SOLVED.intercept_) is reg
        np.testing.assert_allclose(reg.coef_, SOLVED.coef_, rtol=1e-13)
        np.testing.assert_allclose(reg.intercept_, SOLVED.intercept_, rtol=1e-11)
        np.testing.assert_allclose(reg.predict(X), SOLVED.predict(X), rtol=1e-11)
        assert reg.t_ == t
        assert np.array_equal(reg.scale_, scale)
        reg.partial_fit(X, y)
        assert reg.score(X, y) > 0.9 * SOLVED.score(X, y)
        assert not np.allclose(reg.coef_, SOLVED.coef_)


@pytest.mark.parametrize(("options", "kernel"), on_both(zip(RULES), 2))
def test_a_fit_begins_at_what_is_given(options, kernel):
    """Without steps it stays there; with them, one pass does not lose what was given."""
    X, y = DIABETES
    given = {"coef_init": SOLVED.coef_, "intercept_init": SOLVED.intercept_}
    eta0 = options.get("eta0", 1.0)
    still = {**options, "eta0": 1e-200 if eta0 != "auto" else eta0, "max_iter": 1, "penalty": None, "alpha": 1e-4}
    with config_context(kernel=kernel):
        if eta0 != "auto":
            reg = NAGRegressor(**still).fit(X, y, **given)
            np.testing.assert_allclose(reg.predict(X), SOLVED.predict(X), rtol=0.05)
            assert reg.t_ == 2 * len(y)
        one_pass = NAGRegressor(**options, max_iter=1, random_state=0).fit(X, y, **given)
        assert one_pass.score(X, y) > 0.8 * SOLVED.score(X, y)
        assert one_pass.n_iter_ == 1


def test_plain_steps_need_no_pass_for_scales():
    X, y = DIABETES
    options = {"normalization": None, "adaptive": False, "target_normalization": None, "clip": None}
    reg = NAGRegressor(**options, eta0=1e-300, max_iter=1)
    reg.fit(X, y, coef_init=SOLVED.coef_, intercept_init=SOLVED.intercept_)
    assert reg.t_ == len(y)
    np.testing.assert_allclose(reg.coef_, SOLVED.coef_, rtol=1e-13)


def test_losses_and_sizes_of_gradients_are_those_of_the_weights_given():
    """Losses and sums of squared gradients are as in a plain pass over the rows with the given weights."""
    X, y = DIABETES
    reg = NAGRegressor(max_iter=1, eta0=1e-200, target_normalization=None)
    reg.fit(X, y, coef_init=SOLVED.coef_, intercept_init=SOLVED.intercept_)
    residuals = SOLVED.predict(X) - y
    np.testing.assert_allclose(reg.progressive_loss_, np.mean(residuals**2) / 2, rtol=1e-2)
    state = reg._state
    once = np.add.reduce((residuals[:, None] * np.column_stack([X - X.mean(axis=0), np.ones(len(y))])) ** 2)
    G = state.columns.G[0] / (state.gradient_lift[0] * state.columns.lift) ** 2
    np.testing.assert_allclose(G, 2 * once, rtol=0.02)


@pytest.mark.parametrize(
    ("options", "container", "kernel"),
    on_both(
        [
            ({}, np.asarray),
            ({}, sparse.csr_array),
            ({"multi_class": "ovr"}, sparse.csr_array),
            ({"loss": "hinge"}, np.asarray),
            ({"adaptive": False}, sparse.csr_array),
        ],
        1,
    ),
)
def test_classes(options, kernel, container):
    X, y, coef, intercept = digits()
    with config_context(kernel=kernel):
        clf = NAGClassifier(**options, centering=False, max_iter=1, random_state=0)
        clf.fit(container(X), y, coef_init=coef, intercept_init=intercept)
        assert clf.score(X, y) > 0.95
        clf.set_coef(coef, intercept)
        np.testing.assert_allclose(clf.decision_function(X), X @ coef.T + intercept, rtol=1e-9, atol=1e-9)
        clf.partial_fit(container(X[:100]), y[:100])
        assert clf.score(X, y) > 0.95


def test_warm_start_and_streams():
    X, y = DIABETES
    reg = NAGRegressor(warm_start=True, max_iter=1, shuffle=False).fit(X, y)
    twin = NAGRegressor().partial_fit(X, y).set_coef(SOLVED.coef_, SOLVED.intercept_).partial_fit(X, y)
    reg.fit(X, y, coef_init=SOLVED.coef_, intercept_init=SOLVED.intercept_)
    assert np.array_equal(reg.coef_, twin.coef_)
    assert np.array_equal(reg.intercept_, twin.intercept_)
    cut = NAGRegressor().partial_fit(X, y).set_coef(SOLVED.coef_, SOLVED.intercept_)
    for rows in np.split(np.arange(len(y)), [1, 100, 101]):
        cut.partial_fit(X[rows], y[rows])
    assert np.array_equal(bits(cut), bits(twin))


def test_federated_averaging():
    """Clients that go on from the average of their weights end up better than any of them alone."""
    X, y = load_wine(return_X_y=True)
    parts = np.array_split(np.random.default_rng(0).permutation(len(y)), 4)
    clients = [NAGClassifier().partial_fit(X[rows], y[rows], classes=[0, 1, 2]) for rows in parts]
    alone = [client.score(X, y) for client in clients]
    for _ in range(3):
        coef, intercept = (np.mean([getattr(c, name) for c in clients], axis=0) for name in ("coef_", "intercept_"))
        for client, rows in zip(clients, parts):
            client.set_coef(coef, intercept).partial_fit(X[rows], y[rows])
    assert clients[0].set_coef(coef, intercept).score(X, y) > max(alone)


def test_targets_near_the_end_of_the_range():
    X, y = DIABETES
    reg = NAGRegressor().fit(X, y * 1e300).set_coef(SOLVED.coef_ * 1e300, SOLVED.intercept_ * 1e300)
    np.testing.assert_allclose(reg.predict(X) / 1e300, SOLVED.predict(X), rtol=1e-10)


@pytest.mark.compiled
def test_two_classes_and_outputs():
    X, y = DIABETES
    for coef, intercept in ((np.ones(10), 2.0), (np.ones((1, 10)), [2.0])):
        clf = NAGClassifier().fit(X, y > 100, coef_init=coef, intercept_init=intercept).set_coef(coef, intercept)
        np.testing.assert_allclose(clf.coef_, np.ones((1, 10)), rtol=1e-13)
        np.testing.assert_allclose(clf.intercept_, [2.0], rtol=1e-9)
    several = NAGRegressor().fit(X, np.column_stack([y, 2 * y]))
    several.set_coef([SOLVED.coef_, 2 * SOLVED.coef_], [SOLVED.intercept_, 2 * SOLVED.intercept_])
    np.testing.assert_allclose(several.predict(X)[:, 1], 2 * SOLVED.predict(X), rtol=1e-10)


def test_rates_of_which_nothing_is_known():
    X, y = DIABETES
    for zeros in (np.zeros(len(y)), np.column_stack([y, 0 * y])):
        reg = NAGRegressor("poisson").partial_fit(X, zeros)
        before, coef = reg.coef_, np.zeros(reg.coef_.shape)
        with pytest.raises(ValueError, match="all targets so far are 0 and loss='poisson'"):
            reg.set_coef(coef, np.zeros(len(reg.intercept_)))
        assert np.array_equal(reg.coef_, before)
        with pytest.raises(ValueError, match="all targets so far are 0"):
            NAGRegressor("poisson").fit(X, zeros, coef_init=coef)
    coef = np.full(10, 1e-3)
    for options in ({"target_normalization": None}, {"half_life": "auto"}):
        reg = NAGRegressor("poisson", clip=None, **options).partial_fit(X, zeros[:, 0])
        np.testing.assert_allclose(reg.set_coef(coef, 0.5).predict(X), np.exp(X @ coef + 0.5))


def test_columns_that_have_not_varied():
    X, y = DIABETES
    rows = np.column_stack([X, np.zeros(len(y)), np.full(len(y), 3.0)])
    coef = np.append(SOLVED.coef_, [7.0, 5.0])
    reg = NAGRegressor().fit(rows, y)
    with pytest.warns(UserWarning, match="weights of 2 features are left out, .* such as column 10"):
        reg.set_coef(coef, SOLVED.intercept_ - 15.0)
    assert np.array_equal(reg.coef_[10:], [0.0, 0.0])


@pytest.mark.parametrize("kind", [L2Ball, WeightedL1Ball])
@pytest.mark.parametrize("options", [{}, {"adaptive": False}, {"half_life": (50, 200)}, {"target_normalization": None}])
def test_weights_outside_a_ball_become_the_nearest_within_it(kind, options):
    X, y = DIABETES
    reg = NAGRegressor(constraint=kind(0.3), max_iter=1, **options).fit(X, y)
    u = reg.set_coef(SOLVED.coef_, 5.0).coef_ * reg.scale_ / reg._state.unit()[0]
    rel = 0.01 if "half_life" in options else 1e-9  # each half-life has its own scales
    assert np.linalg.norm(u, 2 if kind is L2Ball else 1) == pytest.approx(0.3, rel=rel)
    assert (u * SOLVED.coef_ >= 0).all()
    within = reg.coef_ / 2
    np.testing.assert_allclose(reg.set_coef(within, 5.0).coef_, within, rtol=1e-12)


def test_weights_outside_a_simplex_become_the_nearest_within_it():
    X, y = DIABETES
    options = {"normalization": None, "adaptive": False, "target_normalization": None, "clip": None, "eta0": 1e-9}
    reg = NAGRegressor(constraint=Simplex(), **options).partial_fit(X, y).set_coef(SOLVED.coef_, 0.0)
    np.testing.assert_allclose(reg.coef_, Simplex().project(SOLVED.coef_), rtol=1e-12)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"coef_init": np.ones(3)}, r"does not match .*: its shape is \(3,\); it must be \(10,\)"),
        ({"intercept_init": np.ones(3)}, r"does not match .*: its shape is \(3,\); it must be \(1,\)"),
        ({"coef_init": np.full(10, np.nan)}, r"Input coef(_init)? contains NaN in row 0"),
        ({"coef_init": np.full(10, 1.7e308)}, "leave the range of float64"),
    ],
)
def test_what_cannot_be_given(given, message):
    X, y = DIABETES
    reg = NAGRegressor(max_iter=1).fit(X, y)
    before = flat(reg._state).copy()
    with pytest.raises(ValueError, match=message):
        reg.fit(X, y, **given)
    with pytest.raises(ValueError, match=message):
        reg.set_coef(given.get("coef_init", SOLVED.coef_), given.get("intercept_init", 0.0))
    assert np.array_equal(flat(reg._state), before)


def test_models_that_cannot_be_set():
    X, y = DIABETES
    for make in (ScaleInvariantClassifier, ScaleInvariantRegressor):
        model = make(max_iter=1).fit(X, y > 100)
        before = flat(model._state).copy()
        with pytest.raises(ValueError, match=f"{make.__name__} cannot be set to given weights"):
            model.set_coef(SOLVED.coef_, 0.0)
        with pytest.raises(ValueError, match=f"{make.__name__} cannot be set to given weights"):
            model.fit(X, y > 100, intercept_init=1)
        assert np.array_equal(flat(model._state), before)
    with pytest.raises(NotFittedError):
        NAGRegressor().set_coef(SOLVED.coef_, 0.0)
    with pytest.raises(ValueError, match="has learnt no row"):
        NAGRegressor().partial_fit(X, y, sample_weight=np.zeros(len(y))).set_coef(SOLVED.coef_, 0.0)
    with pytest.raises(ValueError, match="fit_intercept=False leaves none"):
        NAGRegressor(fit_intercept=False).fit(X, y, intercept_init=2.0)
