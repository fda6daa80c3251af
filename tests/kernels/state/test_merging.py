"""What merged models know about columns and targets, against one model that has learnt all rows."""

from functools import partial

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_nag import NAGClassifier, NAGRegressor, ScaleInvariantRegressor, merge

FULL = partial(ScaleInvariantRegressor, invariance="full")


def shards(new, X, y, base=None, **options):
    """Return models of a third and of the rest of the rows, which go on from a base or begin with nothing."""
    parts, n = [], len(X) // 3
    for rows in (slice(n), slice(n, None)):
        model = clone(new) if base is None else merge([base])
        parts.append(model.partial_fit(X[rows], y[rows], **options))
    return parts


@pytest.mark.parametrize("with_base", [False, True])
@pytest.mark.parametrize("normalization", ["auto", "rms"])
def test_columns_that_few_rows_name_are_those_of_one_model(normalization, with_base, rng):
    X = rng.normal(5.0, 1.0, (360, 6)) * (rng.random((360, 6)) < [1.0, 1.0, 0.2, 0.1, 0.05, 0.01])
    X[:100, 1], X[:70, 2], X[70:, 2] = (
        0.0,
        5.0,
        X[70:, 2] * (rng.random(290) < 0.1),
    )  # rare, or frequent, in one of the models only
    y, new = np.arange(360) % 2, NAGClassifier(normalization=normalization)
    base = clone(new).partial_fit(X[:60], y[:60], classes=[0, 1]) if with_base else None
    start = 60 if with_base else 0
    models = shards(new, X[start:], y[start:], base, classes=[0, 1])
    columns, one = (m._state.columns for m in (merge(models, base), clone(new).partial_fit(X, y, classes=[0, 1])))
    if one.frequent is not None:
        np.testing.assert_array_equal(columns.frequent, one.frequent)
        np.testing.assert_array_equal(columns.tally, one.tally)
        assert (models[0]._state.columns.frequent != columns.frequent).any()
    totals = [own.sum + 360.0 * own.origin for own in (columns, one)]  # whatever the origins
    np.testing.assert_allclose(*totals, rtol=1e-9)
    np.testing.assert_allclose(columns.squares, one.squares, rtol=1e-9)


@pytest.mark.parametrize("with_base", [False, True])
@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_targets_are_those_of_one_model(loss, with_base, rng):
    """Only the growth differs: it is the mean of that of the models, by rows and relative to the same mean."""
    X, y = rng.normal(size=(300, 2)), 3.0 + rng.poisson(np.linspace(0.5, 8.0, 300))
    base = NAGRegressor(loss).partial_fit(X[:30], y[:30]) if with_base else None
    start = 30 if with_base else 0
    models = shards(NAGRegressor(loss), X[start:], y[start:], base)
    states = [model._state for model in (*models, merge(models, base), NAGRegressor(loss).partial_fit(X, y))]
    *parts, merged, one = states
    means = [state.target_mean() + state.targets.origin for state in (merged, one)]
    np.testing.assert_allclose(*means, rtol=1e-9)
    np.testing.assert_allclose(merged.targets.spread, one.targets.spread, rtol=1e-9)
    for end in ("low", "high"):
        values = [state.targets.origin + getattr(state.targets, end) for state in (merged, one)]
        np.testing.assert_allclose(*values, rtol=1e-12)
    growth = 0.0
    for part in parts:
        share = (part.t - start) / (300 - start)
        over = np.exp(part.target_mean() - merged.target_mean()) if loss == "poisson" else 1.0
        growth += share * part.targets.growth * over
    np.testing.assert_allclose(merged.targets.growth, growth, rtol=1e-9)


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
@pytest.mark.parametrize("make", [NAGRegressor, partial(NAGRegressor, eta0="auto"), ScaleInvariantRegressor, FULL])
def test_outputs_are_merged_as_each_alone(make, loss, rng):
    X = rng.normal(size=(120, 2))
    y = np.column_stack([1.0 + np.arange(120) % 5, rng.gamma(2.0, 100.0, 120)])
    both = merge(shards(make(loss), X, y)).predict(X)
    for k in range(2):
        np.testing.assert_allclose(both[:, k], merge(shards(make(loss), X, y[:, k])).predict(X), rtol=1e-9)


@pytest.mark.parametrize("loss", ["poisson", "tweedie"])
@pytest.mark.parametrize("make", [NAGRegressor, ScaleInvariantRegressor, FULL])
def test_models_in_which_nothing_happened_go_on_as_one(make, loss, rng):
    X, y = rng.normal(size=(600, 2)), np.append(np.zeros(400), rng.poisson(0.5, 200))
    quiet, one = merge(shards(make(loss), X[:400], y[:400])), make(loss).partial_fit(X[:400], y[:400])
    for model in (quiet, one):
        assert not model.predict(X).any()
        model.partial_fit(X[400:], y[400:])
    assert quiet.predict(X).mean() == pytest.approx(one.predict(X).mean(), rel=1e-2)
