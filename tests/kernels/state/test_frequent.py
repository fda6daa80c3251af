"""Frequent columns: which columns are frequent, what happens to their weights, and that storage does not matter."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sklearn_nag import (
    FTRLClassifier,
    NAGClassifier,
    NAGRegressor,
    ScaleInvariantClassifier,
    ScaleInvariantRegressor,
    merge,
    set_config,
)
from sklearn_nag.kernels import predict
from sklearn_nag.kernels.state.frequent import switch

from ...estimators.helpers import bits
from ..helpers import KERNELS, on_both

pytestmark = pytest.mark.compiled

MODELS = {
    "nag": (NAGClassifier, {}),
    "sNG": (NAGClassifier, {"adaptive": False, "eta0": 0.1}),
    "no centring": (NAGClassifier, {"centering": False}),
    "l2": (NAGClassifier, {"penalty": "l2", "alpha": 1e-3}),
    "l2, average": (NAGClassifier, {"penalty": "l2", "alpha": 1e-3, "average": True}),
    "l1": (NAGClassifier, {"penalty": "l1", "alpha": 1e-3}),
    "elastic net": (NAGClassifier, {"penalty": "elasticnet", "alpha": 1e-3}),
    "experts": (NAGClassifier, {"eta0": "auto", "loss": "hinge"}),
    "regression": (NAGRegressor, {}),
    "scinol1": (ScaleInvariantClassifier, {"update": "scinol1"}),
    "scinol2": (ScaleInvariantRegressor, {}),
    "potential": (ScaleInvariantClassifier, {"update": "potential"}),
    "ftrl": (FTRLClassifier, {"normalization": "auto", "l1": 1.0}),
    "ftrl l2": (FTRLClassifier, {"normalization": "auto", "regularizer": "l2"}),
    "ftrl entropy": (FTRLClassifier, {"normalization": "auto", "regularizer": "entropy"}),
}

BY_KERNEL = pytest.mark.parametrize(("name", "kernel"), on_both(((name,) for name in MODELS), 4), indirect=["kernel"])


@pytest.fixture(autouse=True, params=KERNELS)
def kernel(request):
    set_config(kernel=request.param)
    yield request.param
    set_config(kernel="auto")


def mixed_rows(n=240, seed=0):
    """Rows of numbers far from 0, a one-hot category and flags that are 1 about as often as 0, targets, and weights."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal([2000.0, -300.0, 0.0], [10.0, 5.0, 1e-4], (n, 3))
    gaps = np.where(rng.random(n) < np.linspace(0.1, 0.9, n), 0.0, rng.normal(5e3, 100.0, n))
    flags = rng.random((n, 4)) < [0.4, 0.5, 0.55, 0.62]
    X = np.column_stack([numbers, gaps, np.eye(6)[rng.integers(6, size=n)], flags])
    z = (X[:, 0] - 2000) / 10 + X[:, 2] * 1e4 + X[:, 4] - X[:, 10] + 0.5 * rng.normal(size=n)
    return X, z, rng.integers(1, 4, n).astype(float)


def learn(name, X, z, weight, size=None):
    make, parameters = MODELS[name]
    model = make(**parameters)
    is_regressor = "Regressor" in make.__name__
    y = z if is_regressor else (z > 0).astype(int)
    for start in range(0, len(y), size or len(y)):
        rows = slice(start, start + (size or len(y)))
        options = {} if is_regressor else {"classes": [0, 1]}
        model.partial_fit(X[rows], y[rows], sample_weight=weight[rows], **options)
    return model


def decide(model, X):
    return getattr(model, "decision_function", model.predict)(X)


class Transcription:
    """sNAG by the printed formulas, with scales from all rows so far at once, and without lifts."""

    def __init__(self, d, eta):
        self.eta, self.rows, self.weights, self.N = eta, np.empty((0, d)), np.empty(0), 0.0
        self.frequent = np.zeros(d, dtype=bool)
        self.begins = 0.5  # a feature becomes frequent if it is nonzero in more than this share of the rows
        self.u, self.G = np.zeros(d + 1), np.zeros(d + 1)
        self.switched = 0

    def scales(self, frequent):
        """Return means and scales, from sums over all rows."""
        c, X = self.weights, self.rows
        mean = np.where(frequent, c @ X / c.sum(), 0.0)
        squares = c @ (X - mean) ** 2
        rows = np.where(frequent, c.sum(), c.sum() ** 0.25 * np.maximum(c @ (X != 0), 1e-300) ** 0.75)
        return mean, np.sqrt(squares / rows)

    def learn(self, x, y, c):
        share = np.append(self.weights, c) @ (np.vstack([self.rows, x]) != 0) / (self.weights.sum() + c)
        now = np.where(self.frequent, share >= 0.375, share > self.begins)
        if len(self.rows):
            (mean, old), (new_mean, new) = self.scales(self.frequent), self.scales(now)
            w = np.divide(self.u[:-1], old, out=np.zeros(len(old)), where=old > 0)
            changed = now != self.frequent
            self.u[:-1] = np.where(changed & (old > 0) & (new > 0), w * new, self.u[:-1])
            self.u[-1] += (w * (new_mean - mean))[changed].sum()
            self.switched += changed.sum()
        self.frequent = now
        self.rows, self.weights = np.vstack([self.rows, x]), np.append(self.weights, c)
        mean, s = self.scales(now)
        x = np.append(x - mean, 1.0)
        z = x / np.append(np.where(s > 0, s, 1.0), 1.0)
        self.N += c * z @ z
        g = -y / (1.0 + np.exp(y * (self.u @ z)))
        self.G += (c * g * x) ** 2
        damping = np.append(np.where(now, 0.0, 0.1 * s**2), 0.0)
        root = np.sqrt(np.where(self.G > 0, self.G + damping, 1.0))
        self.u -= self.eta * np.sqrt(self.weights.sum() / self.N) * c * g * x / root

    def decide(self, X):
        mean, s = self.scales(self.frequent)
        return (X - mean) / np.where(s > 0, s, 1.0) @ self.u[:-1] + self.u[-1]


def test_equals_the_formulas():
    X, z, weight = mixed_rows()
    expected = Transcription(X.shape[1], 0.5)
    for x, y, c in zip(X, np.sign(z), weight):
        expected.learn(x, y, c)
    assert expected.switched > 10
    MODELS["printed"] = NAGClassifier, {"importance_aware": False, "average": False, "eta0": 0.5}
    for rows in (X, sparse.csr_array(X)):
        model = learn("printed", rows, z, weight)
        np.testing.assert_allclose(model.decision_function(X), expected.decide(X), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(model.mean_, expected.scales(expected.frequent)[0], rtol=1e-9)
        np.testing.assert_allclose(model.scale_, expected.scales(expected.frequent)[1], rtol=1e-7)


@BY_KERNEL
def test_sparse_rows_predict_what_dense_ones_do(name):
    X, z, weight = mixed_rows(150)
    dense, csr = (learn(name, rows, z, weight) for rows in (X, sparse.csr_array(X)))
    expected = decide(dense, X)
    np.testing.assert_allclose(decide(csr, X), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_allclose(
        decide(csr, sparse.csr_array(X)), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max()
    )


@BY_KERNEL
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_batches_change_no_bit(name, make):
    X, z, weight = mixed_rows(60)
    whole, parts = (learn(name, make(X), z, weight, size) for size in (None, 7))
    np.testing.assert_array_equal(bits(parts), bits(whole))


def test_dense_and_sparse_rows_may_take_turns():
    X, z, weight = mixed_rows()
    expected = learn("nag", X, z, weight)
    model, y = NAGClassifier(), (z > 0).astype(int)
    for i in range(0, len(y), 20):
        rows = X[i : i + 20] if i % 40 else sparse.csr_array(X[i : i + 20])
        model.partial_fit(rows, y[i : i + 20], classes=[0, 1], sample_weight=weight[i : i + 20])
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["nag", "l1", "scinol2"])
@given(seed=st.integers(0, 2**16))
@settings(max_examples=2, deadline=None)
def test_powers_of_two_change_no_bit(name, seed):
    X, z, weight = mixed_rows(60, seed)
    units = np.exp2(np.random.default_rng(seed).integers(-300, 300, X.shape[1]))
    for make in (np.asarray, sparse.csr_array):
        expected, scaled = learn(name, make(X), z, weight), learn(name, make(X * units), z, weight)
        np.testing.assert_array_equal(scaled._state.unit_free_weight(), expected._state.unit_free_weight(), strict=True)


@pytest.mark.parametrize("name", ["nag", "sNG", "regression", "experts"])
def test_a_switch_changes_no_prediction(name):
    X, z, weight = mixed_rows()
    model = learn(name, X, z, weight)
    state = model._state
    expected = state.unit_free_weight(), predict(state, X)
    switch(state.rule, state.columns, np.array([1, 4, 11]), state.t)
    state.cached = None
    assert (state.unit_free_weight() != expected[0])[:, [1, 4, 11, -1]].all()
    np.testing.assert_allclose(predict(state, X), expected[1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kernel", ["numpy"], indirect=True)
def test_largest_deviations_do_not_fall_where_columns_are_rare_for_a_while():
    """Values of rare columns are measured from 0, which may be far from them."""
    X, z, weight = mixed_rows(60)
    state = learn("scinol2", X, z, weight)._state
    assert state.scale()[1] < 30.0
    for _ in range(2):
        switch(state.rule, state.columns, np.array([1]), state.t)
        assert state.scale()[1] >= np.abs(X[:, 1]).max() > 300.0


def test_frequent_features_are_followed_after_a_failed_call():
    X, z, weight = mixed_rows()
    csr = sparse.csr_array(X)
    model = learn("nag", csr, z, weight)
    before, features = bits(model), model._state.followed().copy()
    wrong = sparse.csr_array(np.where(X == 0, 1.0, 0.0))
    wrong.data[-1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(wrong, (z > 0).astype(int))
    np.testing.assert_array_equal(bits(model), before)
    np.testing.assert_array_equal(model._state.followed(), features)


@pytest.mark.parametrize("kernel", ["numpy"], indirect=True)
@pytest.mark.parametrize("name", ["nag", "regression", "scinol2", "potential"])
def test_merged_models_count_all_rows(name):
    X, z, weight = mixed_rows(600)
    models = [
        learn(name, make(X[i::3]), z[i::3], weight[i::3]) for i, make in enumerate([np.asarray, sparse.csr_array] * 2)
    ][:3]
    merged, together = merge(models), learn(name, X, z, weight)
    share = weight @ (X != 0) / weight.sum()
    np.testing.assert_array_equal(merged.mean_ != 0, share > 0.5)
    same = (together.mean_ != 0) == (merged.mean_ != 0)
    np.testing.assert_allclose(merged.mean_[same], together.mean_[same], rtol=1e-9)
    if name != "scinol2":  # its scale is the largest deviation from the mean at the time
        np.testing.assert_allclose(merged.scale_[same], together.scale_[same], rtol=1e-6)
    assert np.corrcoef(decide(merged, X), decide(together, X))[0, 1] > 0.9


def test_a_row_costs_its_entries_and_no_more():
    """Frequent columns are few, however many columns there are."""
    rng = np.random.default_rng(0)
    indices = np.sort(rng.integers(1, 2**20, (50, 8)), axis=1)
    indices[:, 0] = 0
    X = sparse.csr_array((np.ones(400), indices.ravel(), np.arange(0, 401, 8)), shape=(50, 2**20))
    model = NAGClassifier().partial_fit(X, np.arange(50) % 2, classes=[0, 1])
    assert 0 in model._state.followed()
    assert len(model._state.followed()) <= model._state.most_followed() <= 8 / 0.375 + 1


@BY_KERNEL
def test_few_sparse_rows_are_predicted_by_the_columns_that_they_name(name):
    """Predictions have the same bits as with all weights, which are not computed for this."""
    X, z, weight = mixed_rows(120)
    wide = sparse.hstack([sparse.csr_array((120, 2000)), sparse.csr_array(X), sparse.csr_array((120, 2000))], "csr")
    model = learn(name, wide, z, weight)
    few = wide[:20]
    predicted = decide(model, few)
    assert (model._state.cached is None) == ("entropy" not in name)
    _ = model.coef_
    np.testing.assert_array_equal(decide(model, few), predicted)


def test_all_weights_are_made_once_looking_some_up_has_taken_as_long():
    rng = np.random.default_rng(0)
    X = sparse.random(50, 2000, density=0.1, format="csr", random_state=0)
    model = NAGClassifier().partial_fit(X, rng.random(50) < 0.5, classes=[False, True])
    few, found = X[:5], []
    while model._state.cached is None:
        found.append(model.decision_function(few))
    assert len(found) == -(-2001 // few.nnz)  # the intercept is a column, too
    assert all(np.array_equal(p, found[0]) for p in found)
    model.partial_fit(few, [True] * 5)
    assert model._state.cached is None
    assert model._state.looked_up == 0


def test_features_are_counted_whatever_the_weight_of_the_rows(rng):
    """Weights of rows do not add up to 1e308, but a saved model may have been changed."""
    X = sparse.csr_array((np.arange(40).reshape(4, 10) % 3 > 0).astype(float))
    model = ScaleInvariantRegressor().partial_fit(X, np.arange(4.0))
    model._state.t, model._state.frequent = 1e308, None
    assert len(model._state.followed()) == 10
    assert model._state.frequent[1] <= 10
