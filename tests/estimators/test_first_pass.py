"""Scales that are learnt in a separate pass."""

import numpy as np
import pytest
from scipy import sparse

from sklearn_nag import NAGClassifier, NAGRegressor, config_context
from sklearn_nag.constraints import WeightedL1Ball
from sklearn_nag.model_selection import NAGRegressorCV, progressive_validation

from ..kernels.helpers import KERNELS

ONE_PASS = {"max_iter": 1, "tol": None, "shuffle": False}
PRINTED = {"normalization": "max", "centering": False, "importance_aware": False, "average": False}


def rows(rng, n=150):
    X = rng.normal(size=(n, 4)) * [1.0, 1e4, 1e-4, 1.0]
    X[n // 2 :] *= 30.0  # scales that grow late
    return X, X @ [1.0, 1e-4, 0.0, 2.0] + rng.normal(size=n)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("constraint", [None, WeightedL1Ball(0.5)])
def test_it_is_learning_by_scales_that_were_known(rng, constraint, kernel, container):
    X, y = rows(rng)
    options = {**PRINTED, "fit_intercept": False, "constraint": constraint, "eta0": 0.3, "clip": None}
    options["target_normalization"] = None
    with config_context(kernel=kernel):
        own = NAGRegressor("absolute_error", scales="first-pass", **options, **ONE_PASS).fit(container(X), y)
        # Rows with one feature each teach only scales, because their target is 0, which is what is predicted.
        scale = np.abs(X).max(axis=0)
        other = NAGRegressor("absolute_error", **options).partial_fit(container(np.diag(scale)), np.zeros(4))
        if constraint is None:  # such rows count in sqrt(t / N), as the first pass does
            other._state.t, other._state.N = first_pass_clocks(X)
        other.partial_fit(container(X), y)
        online = NAGRegressor("absolute_error", **options).partial_fit(container(X), y)
    np.testing.assert_allclose(own.coef_, other.coef_, rtol=1e-9)
    assert np.array_equal(own.scale_, scale)
    assert not np.allclose(own.coef_, online.coef_, rtol=0.01)
    assert own.t_ == 300.0
    assert own.n_iter_ == 1


def first_pass_clocks(X):
    """The number of rows, and the sum of squares over the scales of their time."""
    return float(len(X)), ((X / np.maximum.accumulate(np.abs(X))) ** 2).sum()


@pytest.mark.parametrize("estimator", [NAGRegressor, NAGClassifier])
def test_all_that_fit_can_do(rng, estimator):
    X, y = rows(rng, 100)
    y = y if estimator is NAGRegressor else y > 0
    options = {"scales": "first-pass", "random_state": 0, "max_iter": 4}
    model = estimator(**options).fit(X, y)
    assert model.score(X, y) > 0.7
    more = estimator(**{**options, "warm_start": True, "max_iter": 1, "tol": None}).fit(X, y).fit(X, y)
    assert more.t_ == 3 * 100  # a model that goes on already knows the scales
    for further in ({"early_stopping": True}, {"eta0": "auto"}, {"penalty": "l2"}, {"adaptive": False}):
        assert estimator(**options, **further).fit(sparse.csr_array(X), y).score(X, y) > 0.5
    begun = estimator(**{**options, "max_iter": 1, "tol": None}).fit(
        X, y, coef_init=model.coef_, intercept_init=model.intercept_
    )
    without = estimator(max_iter=1, tol=None, random_state=0).fit(
        X, y, coef_init=model.coef_, intercept_init=model.intercept_
    )
    np.testing.assert_allclose(begun.coef_, without.coef_, rtol=1e-12)  # given weights need such a pass anyway
    assert begun.t_ == without.t_


def test_searches_make_the_pass_as_well(rng):
    X, y = rows(rng, 300)
    learner = NAGRegressor(scales="first-pass", random_state=0, max_iter=3, tol=None)
    search = NAGRegressorCV(learner, [0.1, 1.0], cv=3).fit(X, y)
    alone = learner.set_params(eta0=search.best_params_["eta0"]).fit(X, y)
    assert np.array_equal(search.best_estimator_.coef_, alone.coef_)


def test_partial_fit_says_why_it_cannot(rng):
    X, y = rows(rng)
    model = NAGRegressor(scales="first-pass")
    with pytest.raises(ValueError, match="scales='first-pass' needs fit, which goes through the rows once"):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match="partial_fit sees each row once"):
        progressive_validation(model, X, y)
    with pytest.raises(ValueError, match="'scales' parameter of NAGRegressor must be"):
        NAGRegressor(scales="offline").fit(X, y)
