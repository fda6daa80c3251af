"""In merged models, what is a sum stays a sum, what is an average stays an average, and learning goes on."""

import copy
import itertools
import math
import os
import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss

from sklearn_nag import (
    NAGClassifier,
    NAGRegressor,
    ScaleInvariantClassifier,
    ScaleInvariantRegressor,
    config_context,
    kernels,
    merge,
)
from sklearn_nag.estimators._online import Divergence

from ..kernels.helpers import on_both
from .helpers import bits

RULES = [
    {"normalization": normalization, "adaptive": adaptive, "centering": centering}
    for normalization, adaptive, centering in itertools.product(["max", "rms"], [True, False], [True, False])
]
NAG = [
    *RULES,
    {"normalization": None, "centering": False},
    {"average": False},
    {"penalty": "l2"},
    {"penalty": "elasticnet", "average": True},
    {"eta0": "auto"},
]
INVARIANT = [
    {"update": "potential"},
    {"update": "scinol1"},
    {"update": "scinol2"},
    {"update": "scinol2", "centering": False},
    {"update": "scinol2", "average": False},
    {"update": "potential", "average": False},
    {"invariance": "full", "update": "potential"},
    {"invariance": "full", "update": "potential", "average": False},
    {"invariance": "full", "update": "potential", "fit_intercept": False},
]
CLASSIFIERS = [NAGClassifier(**p) for p in NAG] + [ScaleInvariantClassifier(**p) for p in INVARIANT]
REGRESSORS = [NAGRegressor(**p) for p in NAG] + [ScaleInvariantRegressor(**p) for p in INVARIANT]
REGRESSORS += [ScaleInvariantRegressor(invariance="full", fit_intercept=i) for i in (True, False)]  # least squares
# Each kind of rule once, because what classes and outputs have in common is merged in the same way.
EACH = CLASSIFIERS[::2] + REGRESSORS[1::2] + REGRESSORS[-2:-1]
SIZES = (60, 20, 120)


def data(rng, n=400, d=4, classes=2, origin=10.0):
    X = (rng.normal(size=(n, d)) + origin * rng.normal(size=d)) * 10.0 ** rng.integers(-3, 4, d)
    z = (X - X.mean(axis=0)) / X.std(axis=0) @ rng.normal(size=(d, classes)) + rng.gumbel(size=(n, classes))
    return X, z.argmax(axis=1), 50.0 + 3.0 * z[:, 0]


def begin(estimator, X, y, base=None, **options):
    if base is not None:
        return copy.deepcopy(base).partial_fit(X, y, **options)
    if hasattr(estimator, "decision_function"):
        options["classes"] = np.arange(3)
    return copy.deepcopy(estimator).partial_fit(X, y, **options)


def pieces(estimator, X, y, sizes=SIZES, base=None, weight=None):
    stops, models = np.cumsum([0, *sizes]), []
    for start, stop in itertools.pairwise(stops):
        weights = {} if weight is None else {"sample_weight": weight[start:stop]}
        models.append(begin(estimator, X[start:stop], y[start:stop], base, **weights))
    return models


def target(estimator, y, values):
    return y if hasattr(estimator, "decision_function") else values


@pytest.mark.parametrize("estimator", EACH, ids=str)
def test_one_model_is_that_model(estimator, rng):
    X, y, values = data(rng, n=100, classes=3)
    y = target(estimator, y, values)
    base = begin(estimator, X[:50], y[:50])
    model = begin(estimator, X[50:80], y[50:80], base)
    for merged in (merge([model]), merge([model], base), merge([base, model], base), merge([base, base, model], base)):
        np.testing.assert_array_equal(bits(merged), bits(model))
        np.testing.assert_array_equal(merged._decision(X), model._decision(X))
    np.testing.assert_array_equal(*(bits(each.partial_fit(X[80:], y[80:])) for each in (merged, model)))
    assert merge([base, base], base).t_ == 50


@pytest.mark.parametrize(
    ("estimator", "with_base"),
    itertools.product(CLASSIFIERS + REGRESSORS, [False, True])
    if os.environ.get("EVERY_RULE")
    else zip(CLASSIFIERS + REGRESSORS, itertools.cycle([False, True, True, False])),
    ids=str,
)
def test_what_is_learnt_of_inputs_is_that_of_one_model(estimator, with_base, rng):
    """Sums, means, scales and units agree with their definitions over all rows."""
    X, y, values = data(rng, classes=3)
    y, weight = target(estimator, y, values), rng.uniform(0.5, 2.0, 400)
    if estimator.get_params().get("update", "auto") != "auto" or "invariance" in estimator.get_params():
        weight = np.ones(400)
    base = begin(estimator, X[:100], y[:100], sample_weight=weight[:100]) if with_base else None
    start = 100 if with_base else 0
    models = pieces(estimator, X[start:], y[start:], (100, 50, 250 - start), base, weight[start:])
    merged, c = merge(models, base), weight
    assert merged.t_ == pytest.approx(math.fsum(c), rel=1e-14)
    np.testing.assert_array_equal(merged._state.columns.largest[:4], np.abs(X).max(axis=0))
    mean = np.average(X, axis=0, weights=c)
    deviation = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=c))
    params = estimator.get_params()
    if merged._state.rule.centred or (params.get("invariance") == "full" and estimator.fit_intercept):
        np.testing.assert_allclose(merged.mean_, mean, rtol=1e-11)
    if merged._state.rule.normalization == "rms":
        origin = mean if np.any(merged.mean_) else 0.0
        expected = deviation if np.any(merged.mean_) else np.sqrt(np.average((X - origin) ** 2, axis=0, weights=c))
        np.testing.assert_allclose(merged.scale_, expected, rtol=1e-9)
        one = begin(estimator, X, y, sample_weight=c)
        np.testing.assert_allclose(merged.scale_, one.scale_, rtol=1e-9)
    if merged._state.rule.target_unit and estimator.fit_intercept:
        y_mean = np.average(y, weights=c)
        y_unit = np.sqrt(np.average((y - y_mean) ** 2, weights=c))
        assert merged._state.unit()[0] == pytest.approx(y_unit, rel=1e-11)
        targets = merged._state.targets
        assert targets.origin[0] + targets.mean(merged.t_)[0] == pytest.approx(y_mean, rel=1e-12)
        assert targets.origin + targets.low == pytest.approx(y.min(), rel=1e-12)
        assert targets.origin + targets.high == pytest.approx(y.max(), rel=1e-12)
    start = 0.0 if base is None else base._state.loss
    expected = start + sum(model._state.loss - start for model in models)
    np.testing.assert_allclose(merged._state.loss, expected, rtol=1e-12)


@pytest.mark.parametrize("estimator", EACH, ids=str)
def test_functions_are_averaged(estimator, rng):
    """If models began with nothing, the merged decision is the mean of theirs by rows, up to changes of scale."""
    X, y, values = data(rng, n=sum(SIZES), classes=3)
    y = target(estimator, y, values)
    if (
        estimator.get_params().get("average", "auto") in ("auto", True)
        and estimator.get_params().get("penalty") is None
    ):
        estimator = copy.deepcopy(estimator).set_params(average=False)  # its averages are weighted by more than rows
    if estimator.get_params().get("eta0") == "auto":
        pytest.skip("experts are averaged, not their mixtures")
    if "clip" in estimator.get_params():
        estimator = copy.deepcopy(estimator).set_params(clip=None)
    models = pieces(estimator, X, y)
    if estimator.get_params().get("penalty") == "elasticnet":
        pytest.skip("an average of averages is weighted by more than rows")
    if getattr(estimator, "_update", None) == "least_squares":
        pytest.skip("it is the solution for all rows, not a mean of solutions")
    expected = np.average([model._decision(X) for model in models], axis=0, weights=SIZES)
    merged = merge(models)
    if isinstance(models[0]._state, kernels.nag.State):  # by default, columns also count by gradients
        merged._state = kernels.merge([model._state for model in models], power=0)
    np.testing.assert_allclose(merged._decision(X), expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("estimator", EACH, ids=str)
def test_order_changes_rounding_alone(estimator, rng):
    X, y, values = data(rng, n=120, classes=3)
    y = target(estimator, y, values)
    base = begin(estimator, X[:30], y[:30])
    for start in (None, base):
        models = pieces(estimator, X[30:], y[30:], (25, 15, 45), start)
        decisions = [merge(order, start)._decision(X) for order in itertools.permutations(models)]
        state = models[0]._state
        if type(state) in (kernels.full.State, kernels.coordinatewise.State) and not state.rule.averaged:
            decisions.append(merge([merge(models[:2], start), models[2]], start)._decision(X))
        for other in decisions:
            np.testing.assert_allclose(other, decisions[0], rtol=1e-7, atol=1e-8 * np.abs(other).max())


@pytest.mark.parametrize("far", [1e8, 1e14, 1e20, 1e100])
@pytest.mark.parametrize("estimator", [REGRESSORS[0], *REGRESSORS[-7:]], ids=str)
def test_order_of_columns_in_units_that_are_far_apart(estimator, far, rng):
    """Values are counted from the nearest origin; from a far one, nothing of other models' rows would be left."""
    X = rng.normal(size=(400, 3))
    y = X.sum(axis=1) + 0.1 * rng.normal(size=400)
    models = [clone(estimator).partial_fit(some, y[:200]) for some in (X[:200] * [far, 1.0, 1.0], X[200:])]
    merged, other = merge(models), merge(models[::-1])
    np.testing.assert_allclose(merged.coef_, other.coef_, rtol=1e-9)
    # The potential extrapolates from near rows to far ones. It predicts so much there that anything less is rounding.
    rounding = 1e-15 * np.abs(merged.coef_[0]) * far
    np.testing.assert_allclose(merged.predict(X), other.predict(X), rtol=1e-9, atol=1e-9 + rounding)


@pytest.mark.parametrize("average", [False, True])
def test_levels_of_parts_with_more_and_less_noise(average, rng):
    X = rng.normal(size=(2000, 2))
    y = np.append(10.0 + rng.normal(size=1000), 10.0 * rng.normal(size=1000))
    parts = [NAGRegressor(average=average).partial_fit(X[rows], y[rows]) for rows in (slice(1000), slice(1000, 2000))]
    expected = np.mean([part.predict(np.zeros((1, 2))) for part in parts])
    assert abs(merge(parts).predict(np.zeros((1, 2))) - expected) < 0.3


@pytest.mark.parametrize("loss", ["poisson", "tweedie"])
@pytest.mark.parametrize(
    "make",
    [NAGRegressor, ScaleInvariantRegressor, partial(ScaleInvariantRegressor, invariance="full")],
)
def test_parts_in_which_nothing_happened(make, loss, rng):
    """Such parts have no mean of targets above 0 to count from, so they count only by their number of rows."""
    X = rng.normal(size=(1200, 2))
    y = 1.0 * rng.poisson(np.exp(X @ [0.5, -0.3] - 1.0))
    y[900:] = 0.0
    merged = merge([make(loss).partial_fit(X[rows], y[rows]) for rows in (slice(900), slice(900, 1200))])
    assert 0.6 * y.mean() < merged.predict(X).mean() < 1.7 * y.mean()
    merged.partial_fit(X[:300], y[:300])
    assert 0.6 * y.mean() < merged.predict(X).mean() < 1.7 * y.mean()


@pytest.mark.parametrize("loss", ["poisson", "gamma", "tweedie"])
@pytest.mark.parametrize(
    "make",
    [NAGRegressor, ScaleInvariantRegressor, partial(ScaleInvariantRegressor, invariance="full")],
)
def test_parts_of_different_rates_have_the_mean_of_their_predictions(make, loss, rng):
    """The merged prediction is the mean of the predictions, not of their logarithms, which is .75 of it here."""
    X = rng.normal(size=(2000, 2))
    y = np.repeat([1.0, 2.0, 4.0, 8.0], 500) * rng.gamma(4.0, 0.25, size=2000)
    parts = [make(loss).partial_fit(X[i : i + 500], y[i : i + 500]) for i in range(0, 2000, 500)]
    assert merge(parts).predict(X).mean() == pytest.approx(y.mean(), rel=0.06)


@pytest.mark.parametrize(("estimator", "kernel"), on_both(zip(EACH), 2), ids=str)
def test_it_goes_on_learning(estimator, kernel, rng):
    X, y, values = data(rng, n=800, classes=3)
    y = target(estimator, y, values)
    with config_context(kernel=kernel):
        base = begin(estimator, X[:100], y[:100])
        merged = merge(pieces(estimator, X[100:], y[100:], (200, 200, 200), base), base)
        before = merged.progressive_loss_
        merged.partial_fit(X[700:], y[700:])
    assert np.isfinite(bits(merged)).all()
    assert merged.t_ == 800
    if merged._state.rule.normalization is None:
        return  # it depends on units
    assert merged.progressive_loss_ < before
    constant = np.log(3) if merged._state.rule.coupled else np.log(2) if y.dtype.kind == "i" else np.inf
    assert merged.progressive_loss_ < constant


def test_merging_is_worth_it(rng):
    """Each of sixteen models is worse than their merger, which is nearly as good as one model of all rows."""
    X, _, _ = data(rng, n=20000, d=8)
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    y = (z @ rng.normal(size=8) + rng.logistic(size=len(z)) > 0).astype(int)
    base = NAGClassifier().partial_fit(X[:500], y[:500], classes=[0, 1])
    models = [copy.deepcopy(base).partial_fit(X[i:8500:16], y[i:8500:16]) for i in range(500, 516)]
    one = copy.deepcopy(base).partial_fit(X[500:8500], y[500:8500])
    ours, best, *losses = [log_loss(y[8500:], m.predict_proba(X[8500:])) for m in [merge(models, base), one, *models]]
    assert ours < min(losses)
    assert ours - best < 0.5 * (np.mean(losses) - best)
    assert ours < 1.01 * best


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), powers=st.lists(st.integers(-60, 60), min_size=4, max_size=4), which=st.data())
def test_powers_of_two_change_no_bit(seed, powers, which):
    rng = np.random.default_rng(seed)
    X, y, values = data(rng, n=90, classes=3)
    estimators = [e for e in CLASSIFIERS + REGRESSORS if getattr(e, "normalization", "max") is not None]
    estimator = which.draw(st.sampled_from(estimators))
    y, factor = target(estimator, y, values), 2.0 ** np.array(powers)
    sizes, decisions = (20, 30, 10), []
    for features in (X, X * factor):
        base = begin(estimator, features[:30], y[:30])
        merged = merge(pieces(estimator, features[30:], y[30:], sizes, base), base)
        state = copy.deepcopy(merged)._state
        decisions.append((state.unit_free_weight(), merged.scale_ if features is X else merged.scale_ / factor))
    for one, other in zip(*decisions):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "estimator",
    [NAGClassifier(), NAGClassifier(normalization="max"), NAGRegressor(penalty="l2"), ScaleInvariantClassifier()],
    ids=str,
)
def test_models_of_other_lifts_are_merged_as_without_any(estimator, rng):
    X, y, values = data(rng, n=40, classes=2)
    X[:20] *= 16.0
    y, parts, decisions = target(estimator, y, values), (slice(0, 20), slice(20, 40)), []
    for features in (X, X * 2.0**62):
        models = [begin(estimator, features[part], y[part]) for part in parts]
        decisions.append(merge(models)._state.unit_free_weight())
    first, second = (model._state.columns.lift for model in models)
    assert (first[: X.shape[1]] < second[: X.shape[1]]).any()
    np.testing.assert_array_equal(*decisions)


@pytest.mark.parametrize("small", [-1000, -600])
def test_targets_of_the_smallest_units_and_of_the_largest(rng, small):
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + rng.normal(size=60)
    merged = merge([NAGRegressor().partial_fit(X, np.ldexp(y, power)) for power in (small, 600)])
    assert np.isfinite(merged.predict(X)).all()
    assert np.corrcoef(np.ldexp(merged.predict(X), -600), y)[0, 1] > 0.5


@settings(max_examples=30, deadline=None)
@given(
    rows=st.lists(
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=2), min_size=6, max_size=12
    ),
    which=st.sampled_from([e for e in CLASSIFIERS + REGRESSORS if getattr(e, "normalization", "max") is not None]),
)
def test_any_doubles_leave_a_finite_model(rows, which):
    X = np.array(rows)
    y = np.arange(len(X)) % 3
    y = y if hasattr(which, "decision_function") else y * 1e3
    try:
        base = begin(which, X[:2], y[:2])
        models = [begin(which, X[part], y[part], base) for part in (slice(2, 4), slice(4, None))]
        merged = merge(models, base)
    except Divergence:
        return
    assert np.isfinite(bits(merged)).all()
    merged.partial_fit(X, y)
    assert np.isfinite(merged._decision(X)).all()


def test_columns_that_others_have_not_seen(rng):
    X = sparse.random(300, 40, 0.05, "csr", random_state=0)
    X = sparse.csr_array(X * 1e200) + sparse.csr_array(sparse.random(300, 40, 0.05, "csr", random_state=1)) * 1e-200
    y = np.arange(300) % 2
    models = [NAGClassifier().partial_fit(X[i::3], y[i::3], classes=[0, 1]) for i in range(3)]
    merged = merge(models)
    one = NAGClassifier().partial_fit(X, y, classes=[0, 1])
    np.testing.assert_allclose(merged.scale_, one.scale_, rtol=1e-12)
    assert np.isfinite(bits(merged)).all()


def test_full_factor_is_that_of_all_rows(rng):
    X, _, values = data(rng, d=5)
    X[:, 3] = X[:, 0] - 2 * X[:, 1]  # dependent on two other columns
    X[:100, 4] = 1.0  # dependent on the intercept at first
    for with_base in (False, True):
        base = (
            ScaleInvariantRegressor(invariance="full", update="potential").partial_fit(X[:60], values[:60])
            if with_base
            else None
        )
        start = 60 if with_base else 0
        models = pieces(
            ScaleInvariantRegressor(invariance="full", update="potential"),
            X[start:],
            values[start:],
            (30, 110, 260 - start),
            base,
        )
        state = merge(models, base)._state
        rows = np.hstack([X - state.columns.origin[:-1], np.ones((400, 1))])
        expected = rows.T @ rows
        scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
        np.testing.assert_allclose(state.factor.T @ state.factor / scale, expected / scale, atol=1e-11)
        assert (np.diag(state.factor) != 0).sum() == 5


@pytest.mark.usefixtures("in_numpy")  # in NumPy, rounding stays within the bound for these rows, though not for all
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("condition", [1e2, 1e10])
@pytest.mark.parametrize("target_normalization", ["standard", None])
def test_least_squares_of_parts_are_those_of_all_rows(rng, condition, fit_intercept, target_normalization):
    """Merged least squares agree with a batch solver, and with one model that learnt all rows."""
    left, _ = np.linalg.qr(rng.normal(size=(300, 6)))
    right, _ = np.linalg.qr(rng.normal(size=(6, 6)))
    X = 20.0 * (left * np.logspace(0, -np.log10(condition), 6)) @ right + (7.0 if fit_intercept else 0.0)
    Y = np.column_stack([X @ rng.normal(size=6) + 5.0, 1e6 * rng.normal(size=300)])
    weight = rng.uniform(0.1, 4.0, 300)
    options = {"invariance": "full", "fit_intercept": fit_intercept, "target_normalization": target_normalization}
    estimator = ScaleInvariantRegressor(update="least_squares", loss="squared_error", clip=None, **options)
    merged = merge(pieces(estimator, X, Y, (40, 160, 100), None, weight))
    one = clone(estimator).partial_fit(X, Y, weight)
    root = np.sqrt(weight)[:, None]
    rows = np.column_stack([X - X.mean(axis=0), np.ones(300)]) if fit_intercept else X
    expected = rows @ np.linalg.lstsq(rows * root, Y * root, rcond=1e-15)[0]
    size, rounding = Y.std(axis=0), max(1e-9, 1e-15 * condition)  # weights are as large as the condition number
    assert np.abs((merged.predict(X) - expected) / size).max() < rounding
    assert np.abs((merged.predict(X) - one.predict(X)) / size).max() < rounding
    explained = [np.sum(model._state.columns.weight**2, axis=1) for model in (merged, one)]
    if target_normalization is None and not fit_intercept:  # about the same origins
        np.testing.assert_allclose(*explained, rtol=rounding)
    more = X[:50] + 0.1 * X[:50].std(axis=0) * rng.normal(size=(50, 6)), Y[:50]
    assert np.abs((merged.partial_fit(*more).predict(X) - one.partial_fit(*more).predict(X)) / size).max() < rounding


def test_least_squares_from_a_common_start(rng):
    X, _, values = data(rng, d=5)
    X[:, 3] = X[:, 0] - 2 * X[:, 1]  # dependent on two other columns
    X[:100, 4] = 1.0  # dependent on the intercept at first
    estimator = ScaleInvariantRegressor(invariance="full")
    base = clone(estimator).partial_fit(X[:60], values[:60])
    for sizes in ((30, 110, 200), (1, 338, 1)):  # parts with fewer rows than columns
        merged = merge(pieces(estimator, X[60:], values[60:], sizes, base), base)
        one = clone(estimator).partial_fit(X, values)
        np.testing.assert_allclose(merged.predict(X), one.predict(X), rtol=1e-9, atol=1e-9 * values.std())
        assert merged.progressive_loss_ >= one.progressive_loss_


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda a: [], ValueError, "models is empty"),
        (lambda a: [a, 3], TypeError, r"models\[1\] is a int"),
        (lambda a: [a, NAGRegressor()], TypeError, r"models\[1\] is a NAGRegressor, models\[0\] a NAGClassifier"),
        (lambda a: [a, NAGClassifier()], NotFittedError, r"models\[1\] is not fitted"),
        (lambda a: [a, learnt(d=2)], ValueError, "n_features_in_ is 2, there 3"),
        (lambda a: [a, learnt(classes=[0, 1, 2])], ValueError, r"classes_ is \[0 1 2\], there \[0 1\]"),
        (lambda a: [a, learnt(eta0=3.0)], ValueError, "eta0 is 3.0, there 1.0"),
        (
            lambda a: [a, learnt(alpha=0.2, penalty="l2", max_iter=3)],
            ValueError,
            "penalty is 'l2', there None, alpha is 0.2, there 0.0001.$",
        ),
        (lambda a: [a, learnt(learning_rate="invscaling")], ValueError, "learning_rate is 'invscaling', there 'con"),
        (lambda a: [a, learnt(average=True)], ValueError, "average is True, there 'auto'.$"),
        (
            lambda a: [
                ScaleInvariantRegressor(invariance=i).partial_fit([[1.0]], [1.0]) for i in ("coordinatewise", "full")
            ],
            ValueError,
            "invariance is 'full', there 'coordinatewise'",
        ),
        (lambda a: [a, learnt(loss="hinge")], ValueError, "loss is 'hinge', there 'log_loss'"),
        (lambda a: [a, learnt(class_weight={0: 2.0})], ValueError, r"class_weight is \{0: 2.0\}, there None"),
        (
            lambda a: [learnt(normalization="max"), learnt(normalization="max", make=sparse.csr_array)],
            ValueError,
            "began with sparse rows",
        ),
    ],
)
def test_models_that_do_not_fit(make, error, message):
    with pytest.raises(error, match=message):
        merge(make(learnt()))


def learnt(d=3, classes=(0, 1), make=np.asarray, shift=0.0, **options):
    X = np.random.default_rng(0).normal(size=(20, d)) + shift
    return NAGClassifier(**options).partial_fit(make(X), np.arange(20) % 2, classes=list(classes))


def test_models_that_did_not_go_on_from_base():
    base = learnt(shift=1.0)
    with pytest.raises(ValueError, match=r"models\[1\] did not go on from base"):
        merge([base, learnt()], base)
    with pytest.raises(ValueError, match=r"models\[0\] did not go on from base"):
        merge([learnt()], copy.deepcopy(learnt()).partial_fit(np.ones((1, 3)), [1]))


def test_sums_that_leave_the_range():
    X, y = np.ones((2, 1)), np.array([0.0, 1.0])
    models = [NAGRegressor().partial_fit(X, y) for _ in range(2)]
    for model in models:
        model._state.N = 1.7e308
    before = [bits(model) for model in models]
    with pytest.raises(ValueError, match="leave the range of float64"):
        merge(models)
    for model, numbers in zip(models, before):
        np.testing.assert_array_equal(bits(model), numbers)


def test_models_that_forget_cannot_be_merged(rng):
    X, y = rng.normal(size=(100, 3)), rng.normal(size=100)
    models = [NAGRegressor(half_life=50).partial_fit(X[i::2], y[i::2]) for i in range(2)]
    with pytest.raises(ValueError, match="models with half_life cannot be merged"):
        merge(models)
    for learner in (NAGRegressor(half_life=50), ScaleInvariantRegressor(invariance="full", half_life=20)):
        base = clone(learner).partial_fit(X[:59], y[:59])
        shards = [copy.deepcopy(base).partial_fit(X[i::2], y[i::2]) for i in (59, 60)]
        with pytest.raises(ValueError, match="models with half_life cannot be merged"):
            merge(shards, base)


def test_models_of_earlier_versions_are_merged_with_new_ones():
    """Earlier versions saved no parameters that matter only to robust losses and to steps of rare columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=60)
    for make, target, options in (
        (NAGClassifier(), y > 0, {"classes": [False, True]}),
        (NAGRegressor(), y, {}),
        (NAGRegressor("huber"), y, {}),
        (NAGRegressor("quantile", quantile=0.3), y, {}),
    ):
        earlier, new = (clone(make).partial_fit(X[i::2], target[i::2], **options) for i in (0, 1))
        for name in ("outlying", "named_clearly", "damped", "slowed"):
            del vars(earlier._state.rule)[name]
        earlier = pickle.loads(pickle.dumps(earlier))
        assert earlier._state.rule.outlying == 32.0
        assert not earlier._state.rule.damped
        assert earlier._state.rule.slowed == 1.0
        if earlier._loss().robust and earlier._state.rule.target_unit:
            with pytest.raises(ValueError, match="outlying is .*, there 32.0"):
                merge([earlier, new])
            assert earlier.partial_fit(X, target)._state.rule.outlying == 32.0
            assert earlier._state.rule.slowed == 1.0
        else:
            for models in ([earlier, new], [new, earlier]):
                merged = merge(models)
                assert merged.score(X, target) > 0.8
                assert not merged._state.rule.damped


def test_mixtures_of_half_lives_are_not_merged_with_others():
    rows = [[0.0], [1.0]], [0.0, 1.0]
    one, mixed = (NAGRegressor(half_life=half_life).partial_fit(*rows) for half_life in (None, "auto"))
    for models in ([one, mixed], [mixed, one]):
        with pytest.raises(
            ValueError, match=r"models\[1\] was learnt with other parameters than models\[0\]: half_life is"
        ):
            merge(models)
