"""Undoing, scales of models, and promises of all learners without a learning rate."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from sklearn_nag import NAGRegressor, ScaleInvariantRegressor, config_context
from sklearn_nag.kernels import Diverged, learn
from sklearn_nag.kernels.vectorized.prediction import predict_unit_free

from ..bounded_helpers import KINDS
from ..bounded_helpers import flat as bits
from ..bounded_helpers import make_state as new
from ..bounded_helpers import progressive as play
from ..helpers import LOSSES, flat, make_data, make_state, progressive


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_divergence_is_said_and_can_be_undone(rng, container):
    X, y = make_data(rng)
    state = make_state(6, None, False, eta=[0.1])
    progressive(state, container(X[:10] * 1e-6), y[:10], loss="squared_error")
    before = flat(state)
    undo = state.undo()
    with pytest.raises(Diverged):
        progressive(state, container(X * 1e6), y, loss="squared_error")
    assert np.array_equal(flat(undo.model()), before)
    undo.restore()
    assert np.array_equal(flat(state), before)
    undo = state.undo(np.array([0, 6]))
    with pytest.raises(Diverged):
        learn(state, LOSSES["squared_error"](), sparse.csr_array(np.eye(1, 6) * 1e300), np.array([[1e300]]))
    assert np.array_equal(flat(undo.model()), before)
    undo.restore()
    assert np.array_equal(flat(state), before)


def test_scales(rng):
    X, y = make_data(rng)
    weights = rng.random(300)
    for container in (np.asarray, sparse.csr_array):
        largest, rms, none = make_state(6), make_state(6, "rms"), make_state(6, None)
        for state in (largest, rms, none):
            progressive(state, container(X), y, weights)
        assert np.array_equal(largest.scale()[:6], np.abs(X).max(axis=0))
        np.testing.assert_allclose(rms.scale()[:6] ** 2, np.average(X**2, axis=0, weights=weights))
        assert np.array_equal(none.scale(), np.ones(7))


@pytest.mark.parametrize("kind", KINDS[1:], ids="-".join)  # full invariance has a test of its own
def test_the_average_is_that_of_the_weights_played(rng, kind):
    X, y = make_data(rng, n=60, d=3, density=1.0)
    state = new(3, kind)
    total = counts = 0.0
    for t in range(1, 61):
        row = slice(t - 1, t)
        before = pickle.loads(pickle.dumps(state))
        play(state, X[row], y[row])
        played, size = played_weights(before, state, X[t - 1])
        total = total + t * size**2 * played
        counts = counts + t * size**2
    average = total / counts
    coef, intercept, _ = state.linear()
    np.testing.assert_allclose([*coef[0], *intercept], average, rtol=1e-9)


def played_weights(before, after, x):
    """Return ``w`` and scales of the coordinate-wise updates by formula; sums exclude the row, scales include it."""
    x, t, columns = np.append(x, 1.0), after.t, after.columns
    h, alpha = before.columns.weight[0], after.rule.alpha
    if after.rule.update == "potential":
        s2 = columns.squares
        w = np.exp((h**2 + x**2) / (2 * alpha * s2)) * h / s2 / (alpha * t * len(x))
        return w, np.sqrt(s2 / t)
    M = columns.largest
    D = before.columns.G[0] + M**2
    theta = h / np.sqrt(D)
    if after.rule.update == "scinol1":
        return columns.beta[0] * np.sign(theta) * np.expm1(np.abs(theta) / 2) / (2 * np.sqrt(D)), M
    return before.columns.beta[0] * np.sign(theta) * np.minimum(np.abs(theta), 1) / (2 * np.sqrt(D)), M


@settings(max_examples=20, deadline=None)
@given(a=st.floats(1e-100, 1e100), c=st.floats(-1e3, 1e3), kind=st.sampled_from(KINDS), loss=st.sampled_from(
    ["squared_error", "absolute_error", "huber", "epsilon_insensitive", "quantile"]))  # fmt: skip
def test_the_unit_and_origin_of_the_target_do_not_matter(a, c, kind, loss):
    rng = np.random.default_rng(0)
    X, y = make_data(rng, n=80, d=3, loss=loss)
    y = y + 0.3 * rng.normal(size=80)
    c *= a
    one, two = (play(new(3, kind, target_unit=True, loss=LOSSES[loss]), X, t, loss=loss) for t in (y, a * y + c))
    near = abs(c) / a * 1e-9
    np.testing.assert_allclose((two[1:] - c) / a, one[1:], rtol=1e-6, atol=1e-8 + near)


@pytest.mark.parametrize(
    ("kind", "kernel"),
    [*((kind, "numpy") for kind in KINDS), *((kind, "auto") for kind in (KINDS[0], KINDS[3]))],
)
@settings(max_examples=10, deadline=None)
@given(cuts=st.lists(st.integers(0, 80), max_size=4), as_csr=st.booleans())
def test_cuts_and_pickles_change_no_bit(kind, kernel, cuts, as_csr):
    with config_context(kernel=kernel):
        assert_cuts_change_no_bit(cuts, kind, as_csr)


def assert_cuts_change_no_bit(cuts, kind, as_csr):
    rng = np.random.default_rng(2)
    X, y = make_data(rng, n=80, d=4, density=0.5)
    weights = rng.integers(0, 3, 80) * rng.random(80)
    centred = kind[1] == "scinol2" and not as_csr
    X = sparse.csr_array(X) if as_csr and kind[0] != "full" else X
    options = {} if kind[0] == "full" else {"centred": centred}
    whole = new(4, kind, **options)
    played = play(whole, X, y, weights)
    state, parts = new(4, kind, **options), []
    edges = [0, *sorted(cuts), 80]
    for start, stop in itertools.pairwise(edges):
        state = pickle.loads(pickle.dumps(state))
        parts.append(play(state, X[start:stop], y[start:stop], weights[start:stop]))
    assert np.array_equal(np.concatenate(parts), played)
    assert np.array_equal(bits(state), bits(whole))


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_dense_and_sparse_rows_agree_bit_for_bit(rng, kind):
    if kind[0] == "full":
        pytest.skip("dense rows only")
    X, y = make_data(rng, n=100, density=0.5)
    one, two = new(6, kind), new(6, kind)
    np.testing.assert_allclose(play(one, X, y), play(two, sparse.csr_array(X), y), rtol=1e-12)
    np.testing.assert_allclose(one.linear()[0], two.linear()[0], rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_all_weights_times_a_number_change_nothing(rng, kind):
    X, y = make_data(rng, n=100)
    weights = rng.exponential(size=100)
    one, two = (play(new(6, kind), X, y, c * weights) for c in (1.0, 1e-3))
    np.testing.assert_allclose(one, two, rtol=1e-8, atol=1e-12)
    equal = play(new(6, kind), X, y, np.full(100, 7.0))
    np.testing.assert_allclose(equal, play(new(6, kind), X, y), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_heads_do_not_know_of_one_another(rng, kind):
    X, y = make_data(rng, n=100)
    several = np.column_stack([y, -y, np.roll(y, 1)])
    together = play(new(6, kind, 3), X, several)
    for k in range(3):
        assert np.array_equal(together[:, [k]], play(new(6, kind), X, several[:, k]))


@pytest.mark.parametrize(("of_columns", "of_targets"), [(605, 300), (590, 280), (-900, -300)])
@pytest.mark.parametrize(
    "model", [NAGRegressor(normalization="max"), NAGRegressor(half_life=20.0), ScaleInvariantRegressor()]
)
def test_weights_are_in_range_where_lifted_ones_are_not(rng, in_numpy, model, of_columns, of_targets):
    X = rng.normal(size=(50, 2))
    y = 2.0 * X[:, 0] - X[:, 1]
    rows, targets = np.ldexp(X, of_columns), np.ldexp(y, of_targets)
    here, there = clone(model).partial_fit(X, y), clone(model).partial_fit(rows, targets)
    np.testing.assert_allclose(there.coef_, np.ldexp(here.coef_, of_targets - of_columns), rtol=1e-12)
    np.testing.assert_allclose(there.predict(rows), np.ldexp(here.predict(X), of_targets), rtol=1e-12)
    if isinstance(model, NAGRegressor) and model.half_life is None:
        given = 3.0 * there.coef_
        np.testing.assert_allclose(there.set_coef(given, there.intercept_).coef_, given, rtol=1e-12)


@pytest.mark.parametrize(
    ("case", "is_exact"),
    [("plain", True), ("subnormal", False), ("huge", False), ("far", False), ("far, no weight", True), ("zeros", True)],
)
def test_whether_raw_weights_predict_exactly(rng, case, is_exact):
    """They do unless a weight in raw units loses digits, or the mean of a column with a weight is far from 0."""
    X, y = rng.normal(size=(50, 3)), rng.normal(size=(50, 1))
    X[:, 1] *= {"subnormal": 1e307, "huge": 1e-307, "zeros": 0.0}.get(case, 1.0)
    if case.startswith("far"):
        X[:, 1] = 1e9 if "no weight" in case else X[:, 1] + 1e9
    y *= {"subnormal": 1e-3, "huge": 1e6}.get(case, 1.0)
    model = NAGRegressor(eta0=1e3 if case == "huge" else 1.0, target_normalization=None).partial_fit(X, y[:, 0])
    weight = model._state.unit_free_weight()[0, 1]
    assert (weight != 0) == (case not in ("far, no weight", "zeros"))
    assert model._state.is_exact() == is_exact
    tripled = 3.0 * X[:5] - 2.0 * X[5:10]  # still within the range of float64
    np.testing.assert_allclose(model.predict(tripled), predict_unit_free(model._state, tripled)[:, 0], rtol=1e-8)
