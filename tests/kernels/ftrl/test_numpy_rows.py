"""Follow the regularised leader: against plain Python, in any units, on both backends, in any range."""

import itertools
import os
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize

from sklearn_nag import FTRLRegressor, config_context, losses
from sklearn_nag.constraints import Simplex
from sklearn_nag.kernels import ftrl, learn, new_state, predict

from ..helpers import HAVE_NUMBA, KERNELS, LOSSES, flat, make_data, needs_numba, on_both
from . import reference

REGULARIZERS = ["proximal", "l2", "entropy"]
NORMALIZATIONS = ["max", "rms", None]
CONTAINERS = [np.asarray, sparse.csr_array]
# Cases of compiled tests, all with shared rules: loss, regularizer, normalization, container, penalised, target_unit,
# centred, positive.
KINDS = [
    ("squared_hinge", "proximal", "max", sparse.csr_array, True, False, False, False),
    ("squared_error", "l2", "auto", np.asarray, True, True, True, False),
    ("absolute_error", "entropy", "max", np.asarray, False, True, True, True),
    ("hinge", "proximal", None, sparse.csr_array, True, False, False, False),
]
IN_NUMPY = [*KINDS, ("huber", "l2", None, sparse.csr_array, True, False, False, False)]
if os.environ.get("EVERY_RULE"):
    every_loss = [*losses.CLASSIFICATION, "softmax", "squared_error", "absolute_error", "huber"]
    KINDS = list(itertools.product(every_loss, REGULARIZERS, NORMALIZATIONS, CONTAINERS, *[[True, False]] * 4))
    IN_NUMPY = KINDS


def make_state(d, regularizer="proximal", normalization="max", n_targets=1, loss="log_loss", **options):
    defaults = {"eta": 0.5, "beta": 0.1, "power_t": 0.5, "l1": 0.0, "l2": 0.0, "radius": 2.0, "positive": False}
    defaults |= {"intercept": True, "centred": False, "target_unit": False}
    rule = ftrl.Rule(
        regularizer=regularizer,
        n_targets=n_targets,
        normalization=normalization,
        degree=LOSSES[loss].degree,
        coupled=LOSSES[loss].coupled,
        **{**defaults, **options},
    )
    return new_state(rule, d)


def progressive(state, X, y, weights=None, loss="log_loss"):
    y = y[:, None] if y.ndim == 1 and y.dtype.kind == "f" else y
    out = np.full((X.shape[0], len(state.loss)), np.nan)
    learn(state, LOSSES[loss](), X, y, weights, predictions=out)
    return out


def penalties(regularizer):
    return {} if regularizer == "entropy" else {"l1": 0.7, "l2": 0.3}


def state_of(kind, d, **options):
    loss, regularizer, normalization, container, penalised, unit, centred, positive = kind
    options = {"n_targets": 3 if loss == "softmax" else 1, **options, **(penalties(regularizer) if penalised else {})}
    options["target_unit"] = loss in losses.REGRESSION and unit
    options["centred"] = container is np.asarray and centred
    options["intercept"] = options["centred"] or options.get("intercept", True)
    options["positive"] = regularizer == "entropy" and positive
    return make_state(d, regularizer, normalization, loss=loss, **options)


# -- the algorithms


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize(("l1", "l2", "beta"), [(0.0, 1.0, 1.0), (1.0, 0.5, 1.0), (0.3, 0.0, 0.0)])
def test_without_normalization_it_is_the_printed_algorithm(rng, container, kernel, l1, l2, beta):
    X = rng.normal(size=(500, 8)) * (rng.random((500, 8)) < 0.5)
    y = np.where(X.sum(axis=1) + rng.normal(size=500) > 0, 1.0, -1.0)
    weights = rng.random(500) + 0.1
    expected, w = reference.proximal(X, y, "log_loss", 0.2, beta, l1, l2, weights)
    with config_context(kernel=kernel):
        state = make_state(8, normalization=None, intercept=False, eta=0.2, beta=beta, l1=l1, l2=l2)
        played = progressive(state, container(X), y, weights)[:, 0]
    np.testing.assert_allclose(played, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(state.linear()[0][0], w, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("regularizer", "normalization", "loss", "container", "kernel"),
    on_both(
        itertools.product(REGULARIZERS, NORMALIZATIONS, ["log_loss", "squared_error", "absolute_error"], CONTAINERS),
        1,
    ),
)
def test_agrees_with_sums_made_anew(rng, regularizer, normalization, loss, container, kernel):
    X, y = make_data(rng, n=70, d=4, loss=loss)
    X = X if normalization is not None else X / np.abs(X).max(axis=0)
    y = y if loss == "log_loss" else y + 0.3 * rng.normal(size=70) + 2.0
    weights = rng.integers(1, 3, 70) * rng.random(70)
    for target_unit in (False, True) if loss != "log_loss" else (False,):
        options = {**penalties(regularizer), "eta": 0.5, "beta": 0.1, "power_t": 0.3, "radius": 2.0}
        expected = reference.run(
            X, y, loss=loss, regularizer=regularizer, normalization=normalization, weights=weights,
            target_unit=target_unit, **options,
        )  # fmt: skip
        with config_context(kernel=kernel):
            state = make_state(4, regularizer, normalization, loss=loss, target_unit=target_unit, **options)
            played = progressive(state, container(X), y, weights, loss)[:, 0]
        np.testing.assert_allclose(played[1:], expected[1:], rtol=1e-8, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("container", CONTAINERS)
def test_losses_of_before_fade(rng, container, kernel):
    """Results match the printed algorithm with fading sums, and sums recomputed over rows that count less with age."""
    X, y = make_data(rng, n=90, d=4)
    weights, options = rng.integers(1, 3, 90) * rng.random(90), {"eta": 0.5, "beta": 0.1, "l1": 0.2, "l2": 0.3}
    X /= np.abs(X).max(axis=0)
    expected, _ = reference.proximal(X, y, "log_loss", 0.5, 0.1, 0.2, 0.3, weights, half_life=12.0)
    never, _ = reference.proximal(X, y, "log_loss", 0.5, 0.1, 0.2, 0.3, weights)
    assert np.abs(np.subtract(expected, never)).max() > 0.1
    with config_context(kernel=kernel):
        state = make_state(4, normalization=None, intercept=False, half_life=12.0, **options)
        played = progressive(state, container(X), y, weights)[:, 0]
        np.testing.assert_allclose(played, expected, rtol=1e-10, atol=1e-12)
        for regularizer, normalization in (("l2", "rms"), ("l2", None), ("entropy", "rms")):
            own = {"power_t": 0.3, **penalties(regularizer)}
            state = make_state(
                4, regularizer, normalization, half_life=12.0, loss="squared_error", target_unit=True, **own
            )
            played = progressive(state, container(X), y + 3.0, weights, "squared_error")[:, 0]
            expected = reference.run(
                X, y + 3.0, loss="squared_error", regularizer=regularizer, normalization=normalization, eta=0.5,
                radius=2.0, weights=weights, target_unit=True, half_life=12.0, **own,
            )  # fmt: skip
            np.testing.assert_allclose(played[1:], expected[1:], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
def test_weights_on_the_simplex(rng, kernel):
    X, y = make_data(rng, n=60, d=4, loss="squared_error")
    X = X / np.abs(X).max(axis=0)
    expected = reference.run(
        X, y, loss="squared_error", regularizer="entropy", normalization="max", eta=0.5, radius=2.0, positive=True
    )
    with config_context(kernel=kernel):
        state = make_state(4, "entropy", loss="squared_error", power_t=0.0, positive=True)
        played = progressive(state, X, y, loss="squared_error")[:, 0]
    np.testing.assert_allclose(played, expected, rtol=1e-9)
    u = state.unit_free_weight()[0, :-1]
    assert (u > 0).all()
    assert u.sum() == pytest.approx(2.0, rel=1e-12)


@pytest.mark.parametrize("regularizer", REGULARIZERS)
def test_the_weights_are_the_leader(rng, regularizer):
    """The weights minimise the sum of the regulariser and the losses, as SciPy's solvers find."""
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    options = {"normalization": None, "intercept": False, "loss": "squared_error", "power_t": 0.0, "eta": 0.3}
    state = make_state(2, regularizer, **options, positive=regularizer == "entropy", **penalties(regularizer))
    G, centre, sigmas = np.zeros(2), [], []
    gradients = np.zeros(2)
    for i in range(40):
        w = state.unit_free_weight()[0]
        p = progressive(state, X[i : i + 1], y[i : i + 1], loss="squared_error")[0, 0]
        g = (p - y[i]) * X[i]
        sigmas.append((np.sqrt(G + g * g) - np.sqrt(G)) / 0.3)
        centre.append(w)
        G, gradients = G + g * g, gradients + g
    sigmas, centre = np.array(sigmas), np.array(centre)

    def objective(w):
        if regularizer == "entropy":
            share = w / 2.0
            return gradients @ w + 2.0 / 0.3 * (share * np.log(share)).sum()
        value = gradients @ w + 0.7 * np.abs(w).sum() + 0.15 * (w @ w)
        if regularizer == "l2":
            return value + (w @ w) / 0.6
        return value + 0.5 * 0.1 / 0.3 * (w @ w) + 0.5 * (sigmas * (w - centre) ** 2).sum()

    found = state.unit_free_weight()[0]
    for _ in range(200):
        other = found + 10.0 ** rng.uniform(-4, 0) * rng.normal(size=2)
        if regularizer == "entropy":
            other = np.abs(other) / np.abs(other).sum() * 2.0
        assert objective(other) >= objective(found)
    start = np.ones(2)
    if regularizer == "entropy":
        best = minimize(lambda w: objective(np.array([w[0], 2.0 - w[0]])), [1.0], bounds=[(1e-9, 2 - 1e-9)], tol=1e-12)
        assert best.x[0] == pytest.approx(found[0], rel=1e-4)
    else:
        best = minimize(objective, start, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-14})
        np.testing.assert_allclose(best.x, found, atol=1e-6)


def test_penalties_leave_true_zeros_and_the_intercept(rng):
    X, y = make_data(rng, n=300, d=6)
    y[:200] = 1.0
    for container in CONTAINERS:
        state = make_state(6, l1=1e6)
        progressive(state, container(X), y)
        coef, intercept, _ = state.linear()
        assert np.array_equal(coef, np.zeros((1, 6)))
        assert not np.signbit(coef).any()
        assert intercept[0] > 0.3
        counts = []
        for l1 in (0.0, 1.0, 10.0):
            state = make_state(6, l1=l1)
            progressive(state, container(X), y)
            counts.append(np.count_nonzero(state.linear()[0]))
        assert counts[0] == 6 > counts[2]


# -- units


@pytest.mark.compiled
@settings(max_examples=30, deadline=None)
@given(
    exponents=st.lists(st.integers(-900, 900), min_size=6, max_size=6),
    kind=st.sampled_from([kind for kind in KINDS if kind[2]]),
)
def test_powers_of_two_change_no_bit(exponents, kind):
    rng = np.random.default_rng(1)
    loss, container = kind[0], kind[3]
    X, y = make_data(rng, n=60, loss="log_loss" if loss == "softmax" else loss)
    y = rng.integers(0, 3, 60) if loss == "softmax" else y
    powers = np.ldexp(1.0, exponents)
    states = [state_of(kind, 6) for _ in range(2)]
    before = progressive(states[0], container(X), y, loss=loss)
    after = progressive(states[1], container(X * powers), y, loss=loss)
    assert np.array_equal(before, after)
    assert np.array_equal(states[0].unit_free_weight(), states[1].unit_free_weight())


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_column_without_a_scale_has_no_weight(kernel):
    X = np.array([[3.0, 0.0], [6.0, 5.0], [6.0, 5.0 * 2.0**-843]])
    for options in ({"regularizer": "entropy", "positive": True}, {"regularizer": "l2", "constraint": Simplex()}):
        reg = FTRLRegressor(centering=False, target_normalization=None, **options)
        with config_context(kernel=kernel):
            played = reg._play(X, [1.0, 2.0, 2.0], sample_weight=[1.0, 0.0, 0.0])
            assert played[1] == played[2]
            assert reg.coef_[0] != 0.0
            assert reg.coef_[1] == 0.0


@settings(max_examples=20, deadline=None)
@given(
    a=st.floats(1e-100, 1e100),
    c=st.floats(-1e3, 1e3),
    regularizer=st.sampled_from(REGULARIZERS),
    loss=st.sampled_from(["squared_error", "absolute_error", "huber"]),
)
def test_the_unit_and_origin_of_the_target_do_not_matter(a, c, regularizer, loss):
    rng = np.random.default_rng(0)
    X, y = make_data(rng, n=80, d=3, loss=loss)
    y = y + 0.3 * rng.normal(size=80)
    options = {"loss": loss, "target_unit": True, **penalties(regularizer)}
    one, two = (progressive(make_state(3, regularizer, **options), X, t, loss=loss) for t in (y, a * y + c * a))
    np.testing.assert_allclose((two[1:] - c * a) / a, one[1:], rtol=1e-6, atol=1e-8 + abs(c) * 1e-9)


# -- batches, backends, range


@pytest.mark.compiled
@settings(max_examples=30, deadline=None)
@given(
    cuts=st.lists(st.integers(0, 80), max_size=4),
    kind=st.sampled_from(IN_NUMPY),
)
def test_cuts_and_pickles_change_no_bit(cuts, kind):
    rng = np.random.default_rng(2)
    loss, container = kind[0], kind[3]
    X, y = make_data(rng, n=80, d=4, density=0.5)
    X = container(X / np.abs(X).max(axis=0))
    y = rng.integers(0, 3, 80) if loss == "softmax" else y
    weights = rng.integers(0, 3, 80) * rng.random(80)
    whole = state_of(kind, 4)
    played = progressive(whole, X, y, weights, loss)
    state, parts = state_of(kind, 4), []
    for start, stop in itertools.pairwise([0, *sorted(cuts), 80]):
        state = pickle.loads(pickle.dumps(state))
        predict(state, X[:3])
        parts.append(progressive(state, X[start:stop], y[start:stop], weights[start:stop], loss))
    assert np.array_equal(np.concatenate(parts), played)
    assert np.array_equal(flat(state), flat(whole))


@needs_numba
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_both_kernels_agree(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    kind = data.draw(st.sampled_from(KINDS))
    loss, _, normalization, container, *_ = kind
    d, n_targets = data.draw(st.integers(1, 11)), 3 if loss == "softmax" else data.draw(st.integers(1, 2))
    X, y = make_data(rng, n=60, d=d, loss="log_loss" if loss in losses.CLASSIFICATION else "squared_error")
    if normalization is None:
        X = X / np.maximum(np.abs(X).max(axis=0), 1e-300)
    else:
        X = X * 10.0 ** rng.integers(-100, 100, d)
    y = rng.integers(0, 3, 60) if loss == "softmax" else np.column_stack([y, -y])[:, :n_targets]
    weights = data.draw(st.sampled_from([None, rng.integers(0, 3, 60) * rng.random(60)]))
    options, out = {"n_targets": n_targets, "intercept": data.draw(st.booleans())}, []
    for kernel in ("numpy", "numba"):
        with config_context(kernel=kernel):
            state = state_of(kind, d, **options)
            out.append([progressive(state, container(X), y, weights, loss), state.unit_free_weight(), state.loss])
    for one, two in zip(*out):
        np.testing.assert_allclose(two, one, rtol=1e-7, atol=1e-8 * max(1.0, np.abs(one).max()))


@pytest.mark.parametrize("regularizer", REGULARIZERS)
def test_dense_and_sparse_rows_agree(rng, regularizer):
    X, y = make_data(rng, n=200, d=7, density=0.4)
    for normalization in ("max", "rms"):
        played = [
            progressive(make_state(7, regularizer, normalization, **penalties(regularizer)), container(X), y)
            for container in CONTAINERS
        ]
        np.testing.assert_allclose(played[1], played[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("loss", "regularizer", "normalization", "kernel"),
    on_both(
        itertools.product(
            ["squared_error", "absolute_error", "squared_epsilon_insensitive"], REGULARIZERS, ["max", "rms"]
        ),
        1,
    ),
)
def test_any_double_will_do(rng, loss, regularizer, normalization, kernel):
    for unit in (1e-200, 1e150):
        for container in CONTAINERS:
            X = rng.normal(size=(40, 3)) * [1e-300, 1e300, 1.0]
            X[:20, 1] = 0.0
            X[20:30, 0] *= 1e-15
            y = unit * rng.normal(size=40)
            y[:5] = y[0]
            with config_context(kernel=kernel):
                state = make_state(3, regularizer, normalization, loss=loss, target_unit=True)
                played = progressive(state, container(X), y, loss=loss)
            assert np.isfinite(played).all()
            assert np.isfinite(flat(state)).all()
            assert np.isfinite(state.unit_free_weight()).all()


def test_memory_of_a_column_is_what_the_documentation_says():
    for options, numbers in [
        ({"normalization": "max"}, 4),
        ({"normalization": None}, 4),
        ({"normalization": "rms"}, 5),
        ({"normalization": "max", "centred": True}, 7),
        ({"normalization": "max", "regularizer": "l2"}, 3),
        ({"normalization": "max", "n_targets": 3}, 8),
    ]:
        assert make_state(1000, **options).columns.table.nbytes == 8 * numbers * 1001


def test_a_sparse_row_touches_the_columns_that_it_names(rng):
    indices = np.array([3, 77, 2**20 - 1, 5], np.int32)
    X = sparse.csr_array((np.ones(4), indices, np.array([0, 3, 4], np.int32)), shape=(2, 2**20))
    for kernel in ["numpy"] + ["numba"] * HAVE_NUMBA:
        with config_context(kernel=kernel):
            state = make_state(2**20, l1=0.01)
            progressive(state, X, np.array([1.0, -1.0]))
        assert np.array_equal(np.flatnonzero(state.columns.weight[0]), [3, 5, 77, 2**20 - 1, 2**20])
