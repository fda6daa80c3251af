"""The learners without a learning rate: against the papers in extended precision, their theorems, and ugly input."""

import functools
import itertools
import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.linear_model import LinearRegression, LogisticRegression

from sklearn_nag import ScaleInvariantClassifier, ScaleInvariantRegressor, config_context, losses
from sklearn_nag.kernels import _backend, coordinatewise, full, learn, new_state

from . import invariant_reference as reference
from .kernels.helpers import flat as flat_columns
from .kernels.helpers import make_data

UPDATES = ("potential", "scinol1", "scinol2")
KINDS = [("full", "potential"), *(("coordinatewise", update) for update in UPDATES)]
KERNELS = ["numpy", pytest.param("numba", marks=pytest.mark.skipif(not _backend._has_numba(), reason="no Numba"))]
LOSSES = {**losses.CLASSIFICATION, **losses.REGRESSION, "softmax": losses.Softmax}
BOUNDED = ("log_loss", "hinge", "absolute_error")


def make_state(d, kind=KINDS[0], n_targets=1, loss=losses.Log, **options):
    is_full = kind[0] == "full"
    options = {"alpha": 1.5, "intercept": True, "averaged": True, "target_unit": False, **options}
    options.setdefault("centred", is_full and options["intercept"])
    Rule = partial(full.Rule if is_full else coordinatewise.Rule, kind[1])
    return new_state(Rule(n_targets=n_targets, degree=loss.degree, coupled=loss.coupled, **options), d)


def progressive(state, X, y, weights=None, loss="log_loss", **options):
    y = y[:, None] if y.ndim == 1 and y.dtype.kind == "f" else y
    out = np.full((X.shape[0], len(state.loss)), np.nan)
    learn(state, LOSSES[loss](**options), X, y, weights, predictions=out)
    return out


def flat(state):
    """Every number of a state, for comparison bit by bit."""
    rest = [np.ravel(getattr(state, name, 0.0)) for name in ("largest_gradient", "largest_weight", "factor", "Gamma")]
    return np.concatenate([flat_columns(state), *rest])


@functools.cache
def full_reference(X, y, d, loss):
    """As `reference.full`, once for both kernels."""
    return reference.full(np.frombuffer(X).reshape(-1, d), np.frombuffer(y), loss, 1.5)


def with_constant(X):
    return np.column_stack([X, np.ones(len(X))])


# -- the papers' statements


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    ("d", "n", "loss"), [(1, 300, "log_loss"), (3, 300, "hinge"), (4, 300, "absolute_error"), (20, 26, "log_loss")]
)
def test_full_agrees_with_the_paper_in_forty_digits(rng, d, n, loss, kernel):
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d)
    X[: n // 3, : d // 2] = 0.0  # these start late
    if d > 2:
        X[:, 2] = 3 * X[:, 0]  # for ever dependent
    y = np.where(X.sum(axis=1) + rng.normal(size=n) > 0, 1.0, -1.0) * (rng.exponential(size=n) if "abs" in loss else 1)
    expected, surprise = full_reference(with_constant(X).tobytes(), y.tobytes(), d + 1, loss)
    with config_context(kernel=kernel):
        state = make_state(d)
        played = progressive(state, X, y, loss=loss)[:, 0]
    np.testing.assert_allclose(played, expected, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(state.Gamma[0], surprise, rtol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("loss", BOUNDED)
@pytest.mark.parametrize("update", UPDATES)
def test_coordinatewise_agrees_with_the_papers(rng, update, loss, centred, kernel):
    n, d = (300, 5) if not centred else (120, 3)
    X, y = make_data(rng, n=n, d=d, loss="log_loss" if loss != "absolute_error" else "squared_error")
    where = [centred] * d + [False]
    expected = reference.coordinatewise(with_constant(X), y, loss, update, centred=where)
    with config_context(kernel=kernel):
        for rows in (X,) if centred else (X, sparse.csr_array(X)):
            state = make_state(d, ("coordinatewise", update), centred=centred)
            played = progressive(state, rows, y, loss=loss)[:, 0]
            np.testing.assert_allclose(played, expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_the_average_is_that_of_the_weights_played(rng, kind):
    X, y = make_data(rng, n=60, d=3, density=1.0)
    state = make_state(3, kind)
    total = counts = 0.0
    for t in range(1, 61):
        row = slice(t - 1, t)
        before = pickle.loads(pickle.dumps(state))
        progressive(state, X[row], y[row])
        if kind[0] == "full":
            played = played_weights_full(before, state)
            size = np.ones_like(played)
        else:
            played, size = played_weights(before, state, X[t - 1])
        total = total + t * size**2 * played
        counts = counts + t * size**2
    average = total / counts
    coef, intercept, _ = state.linear()
    np.testing.assert_allclose([*coef[0], *intercept], average, rtol=1e-9)


def played_weights(before, after, x):
    """``w`` of the coordinatewise updates by their formulas, from the sums before the row and sizes with it."""
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


def played_weights_full(before, after):
    """``w`` of full invariance, in raw units: ``h`` before the row and ``S`` with it."""
    origin = after.columns.origin
    h, factor, w = before.factor.T @ before.columns.weight[0], after.factor, np.zeros(len(after.factor))
    free = np.flatnonzero(np.diag(factor))  # columns that do not depend on those before
    w[free] = np.linalg.solve((factor.T @ factor)[np.ix_(free, free)], h[free])
    power = h @ w - before.Gamma[0]
    w *= np.exp(power / (2 * after.rule.alpha)) / after.rule.alpha
    w[-1] -= w[:-1] @ origin[:-1]
    return w


# -- invariance


@settings(max_examples=30, deadline=None)
@given(
    exponents=st.lists(st.integers(-900, 900), min_size=6, max_size=6),
    update=st.sampled_from(UPDATES),
    centred=st.booleans(),
    loss=st.sampled_from(["log_loss", "squared_error", "huber"]),
)
def test_powers_of_two_change_no_bit(exponents, update, centred, loss):
    rng = np.random.default_rng(1)
    X, y = make_data(rng, n=60, loss=loss)
    powers = np.ldexp(1.0, exponents)
    for container in (np.asarray,) if centred else (np.asarray, sparse.csr_array):
        states = [make_state(6, ("coordinatewise", update), centred=centred, target_unit=True) for _ in range(2)]
        before = progressive(states[0], container(X), y, loss=loss)
        after = progressive(states[1], container(X * powers), y, loss=loss)
        assert np.array_equal(before, after)


@pytest.mark.parametrize("condition", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("loss", ["log_loss", "huber"])
def test_linear_maps_and_moves_change_nothing(rng, loss, condition):
    n, d = 2000, 5
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    X[:50, 1] = X[:50, 2]  # dependent for a while, but for the rounding of what is mapped and moved
    y = X @ rng.normal(size=d) + y
    y = np.sign(y) if loss == "log_loss" else y
    left, right = (np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(2))
    map_ = left @ np.diag(np.geomspace(1, condition, d)) @ right
    options = {} if loss == "log_loss" else {"epsilon": 1.0}

    def play(rows, y=y):
        state = make_state(d, target_unit=loss == "huber", loss=LOSSES[loss])
        return progressive(state, rows, y, loss=loss, **options)

    mapped, move = X @ map_, 100 * rng.normal(size=d)
    pairs = [(X, mapped), (X, X + move), (X[50:], mapped[50:] + mapped.std(axis=0) * move)]
    for rows, others in pairs:
        one, two = play(rows, y[-len(rows) :]), play(others, y[-len(rows) :])
        np.testing.assert_allclose(two, one, rtol=1e-6, atol=1e-6 * np.abs(one).mean())


@settings(max_examples=20, deadline=None)
@given(a=st.floats(1e-100, 1e100), c=st.floats(-1e3, 1e3), kind=st.sampled_from(KINDS), loss=st.sampled_from(
    ["squared_error", "absolute_error", "huber", "epsilon_insensitive", "quantile"]))  # fmt: skip
def test_the_unit_and_origin_of_the_target_do_not_matter(a, c, kind, loss):
    rng = np.random.default_rng(0)
    X, y = make_data(rng, n=80, d=3, loss=loss)
    y = y + 0.3 * rng.normal(size=80)
    c *= a
    one, two = (
        progressive(make_state(3, kind, target_unit=True, loss=LOSSES[loss]), X, t, loss=loss) for t in (y, a * y + c)
    )
    near = abs(c) / a * 1e-9
    np.testing.assert_allclose((two[1:] - c) / a, one[1:], rtol=1e-6, atol=1e-8 + near)


# -- the theorems


def random_rows(rng):
    X = rng.normal(size=(400, 4)) * [1e-3, 1.0, 50.0, 1e4]
    return X, np.sign(X @ [1e3, -1.0, 0.02, 1e-4] + rng.normal(size=400))


def real_rows(rng):
    X, y = load_breast_cancer(return_X_y=True)
    order = rng.permutation(len(X))
    return X[order][:, :6], 2.0 * y[order] - 1.0


def growing_rows(rng):
    """The adversary of Ross et al., section 4: every value dwarfs all before."""
    t = np.arange(60)
    X = np.column_stack([2.0**t, rng.normal(size=60) * 3.0**t])
    return X, np.where(rng.random(60) < 0.7, 1.0, -1.0)


def contrary_rows(rng):
    """Coins: nothing can be learnt, and any learner loses against the best in hindsight (2017, Theorem 6)."""
    X = rng.choice([-1.0, 1.0], size=(300, 3)) * [1.0, 1e-6, 1e6]
    return X, rng.choice([-1.0, 1.0], size=300)


SEQUENCES = [random_rows, real_rows, growing_rows, contrary_rows]


def comparators(X, y, loss, rng):
    """Zero, random directions of many lengths, and what is best in hindsight as far as solvers tell."""
    scale = 1.0 / np.maximum(np.abs(X).max(axis=0), 1e-300)
    yield np.zeros(X.shape[1])
    for length in 10.0 ** np.arange(-3, 4):
        for _ in range(10):
            yield length * scale * rng.normal(size=X.shape[1])
    for strength in (0.01, 1.0, 100.0):
        best = LogisticRegression(C=strength, fit_intercept=False, max_iter=2000).fit(X * scale, y > 0).coef_[0]
        for factor in (0.3, 1.0, 3.0):
            yield factor * best * scale
    yield LinearRegression(fit_intercept=False).fit(X * scale, y).coef_ * scale


def regrets(X, y, loss, kind, rng, alpha=1.5):
    state = make_state(X.shape[1], kind, alpha=alpha, intercept=False)
    played = progressive(state, X, y, loss=loss)[:, 0]
    value = LOSSES[loss]().value
    own = value(played, y).sum()
    for u in comparators(X, y, loss, rng):
        yield u, own - value(X @ u, y).sum(), played, state


@pytest.mark.parametrize("loss", BOUNDED)
@pytest.mark.parametrize("rows", SEQUENCES, ids=lambda rows: rows.__name__)
def test_regret_of_the_potential_is_within_theorem_4(rng, rows, loss):
    X, y = rows(rng)
    (T, d), alpha, s = X.shape, 1.5, np.sqrt((X**2).sum(axis=0))
    kappa = np.exp(1 / (2 * (alpha - 9 / 8)))
    for u, regret, _, _ in regrets(X, y, loss, ("coordinatewise", "potential"), rng, alpha):
        size = np.abs(u) * s
        bound = (size * np.sqrt(alpha * np.log1p(alpha * (d * T * size) ** 2))).sum() + kappa * (1 + np.log(T))
        assert regret <= bound


@pytest.mark.parametrize("loss", BOUNDED)
@pytest.mark.parametrize("rows", SEQUENCES, ids=lambda rows: rows.__name__)
def test_regret_of_full_invariance_is_within_theorem_9(rng, rows, loss):
    X, y = rows(rng)
    alpha = 1.5
    for u, regret, _, state in regrets(X, y, loss, KINDS[0], rng, alpha):
        size = np.linalg.norm(X @ u)
        inner = alpha * size**2 * np.exp(state.Gamma[0] / alpha)
        assert regret <= size * np.sqrt(alpha * np.log1p(inner)) + 1


@pytest.mark.parametrize("loss", BOUNDED)
@pytest.mark.parametrize("rows", SEQUENCES, ids=lambda rows: rows.__name__)
def test_regret_of_scinol1_is_within_its_bound(rng, rows, loss):
    """With ``S`` of the paper: ``sum 2 |u| S log(1 + 2 |u| S T) + 1 + log T``, summed over coordinates."""
    X, y = rows(rng)
    T, d = X.shape
    for u, regret, played, _ in regrets(X, y, loss, ("coordinatewise", "scinol1"), rng):
        g = LOSSES[loss]().gradient(played, y)
        S = np.sqrt(((g[:, None] * X) ** 2).sum(axis=0) + np.abs(X).max(axis=0) ** 2)
        size = 2 * np.abs(u) * S
        assert regret <= (size * np.log1p(size * T)).sum() + d * (1 + np.log(T))


def test_regret_of_scinol2_is_within_that_of_its_wealth(rng):
    """The wealth of a coordinate is what it has not lost: 1 less the sum of its ``g x w``, and never negative."""
    for rows in SEQUENCES:
        X, y = rows(rng)
        state = make_state(X.shape[1], ("coordinatewise", "scinol2"), intercept=False)
        played = progressive(state, X, y)[:, 0]
        g = losses.Log().gradient(played, y)
        assert (state.columns.beta > 0).all()
        np.testing.assert_allclose(X.shape[1] - (g * played).sum(), state.columns.beta.sum(), rtol=1e-9)


# -- batches, weights, backends


@settings(max_examples=20, deadline=None)
@given(cuts=st.lists(st.integers(0, 80), max_size=4), kind=st.sampled_from(KINDS), as_csr=st.booleans())
def test_cuts_and_pickles_change_no_bit(cuts, kind, as_csr):
    rng = np.random.default_rng(2)
    X, y = make_data(rng, n=80, d=4, density=0.5)
    weights = rng.integers(0, 3, 80) * rng.random(80)
    centred = kind[0] != "full" and not as_csr
    X = sparse.csr_array(X) if as_csr and kind[0] != "full" else X
    options = {} if kind[0] == "full" else {"centred": centred}
    whole = make_state(4, kind, **options)
    played = progressive(whole, X, y, weights)
    state, parts = make_state(4, kind, **options), []
    edges = [0, *sorted(cuts), 80]
    for start, stop in itertools.pairwise(edges):
        state = pickle.loads(pickle.dumps(state))
        parts.append(progressive(state, X[start:stop], y[start:stop], weights[start:stop]))
    assert np.array_equal(np.concatenate(parts), played)
    assert np.array_equal(flat(state), flat(whole))


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_dense_and_sparse_rows_agree_bit_for_bit(rng, kind):
    if kind[0] == "full":
        pytest.skip("dense rows only")
    X, y = make_data(rng, n=100, density=0.5)
    one, two = make_state(6, kind), make_state(6, kind)
    np.testing.assert_allclose(progressive(one, X, y), progressive(two, sparse.csr_array(X), y), rtol=1e-12)
    np.testing.assert_allclose(one.linear()[0], two.linear()[0], rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_all_weights_times_a_number_change_nothing(rng, kind):
    X, y = make_data(rng, n=100)
    weights = rng.exponential(size=100)
    one, two = (progressive(make_state(6, kind), X, y, c * weights) for c in (1.0, 1e-3))
    np.testing.assert_allclose(one, two, rtol=1e-8, atol=1e-12)
    equal = progressive(make_state(6, kind), X, y, np.full(100, 7.0))
    np.testing.assert_allclose(equal, progressive(make_state(6, kind), X, y), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_heads_do_not_know_of_one_another(rng, kind):
    X, y = make_data(rng, n=100)
    several = np.column_stack([y, -y, np.roll(y, 1)])
    together = progressive(make_state(6, kind, 3), X, several)
    for k in range(3):
        assert np.array_equal(together[:, [k]], progressive(make_state(6, kind), X, several[:, k]))


@pytest.mark.skipif(not _backend._has_numba(), reason="Numba is not installed")
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_the_compiled_kernel_agrees(rng, kind, loss):
    X, y = make_data(rng, n=120, d=5, density=0.6, loss=loss)
    X[:, 3] = 2 * X[:, 1]
    weights = rng.integers(0, 3, 120) * rng.random(120)
    several = np.column_stack([y, -y, np.roll(y, 1)])
    if loss == "softmax":
        several = np.where(np.arange(3) == rng.integers(0, 3, (120, 1)), 1.0, -1.0)
    containers = [np.asarray, np.asfortranarray, lambda X: X.astype(np.float32)]
    containers += [sparse.csr_array] if kind[0] != "full" else []
    for container in containers:
        for options in ({}, {"intercept": False}, {"target_unit": True}, {"centred": True}):
            if options.get("centred") and container is sparse.csr_array:
                continue
            played, states = [], []
            for kernel in ("numpy", "numba"):
                with config_context(kernel=kernel):
                    state = make_state(5, kind, 3, LOSSES[loss], **options)
                    played.append(progressive(state, container(X), several, weights, loss))
                    states.append(state)
            size = np.abs(played[0]).max()
            np.testing.assert_allclose(played[1], played[0], rtol=1e-8, atol=1e-9 * size)
            assert np.array_equal(states[0].columns.largest, states[1].columns.largest)
            assert states[0].t == states[1].t
            for a, b in zip(states[0].linear()[:2], states[1].linear()[:2]):
                np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8 * np.abs(a).max())


# -- ugly input


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
@pytest.mark.parametrize("loss", losses.REGRESSION)
@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
@pytest.mark.parametrize("normalization", ["standard", None])
def test_no_overflow_whatever_the_targets(rng, kind, loss, size, normalization):
    X, y = rng.normal(size=(300, 4)) * [1e-150, 1.0, 0.0, 1e150], size * rng.normal(size=300)
    X[:, 1] = 3.0
    reg = ScaleInvariantRegressor(loss, invariance=kind[0], update=kind[1], target_normalization=normalization)
    reg.partial_fit(X, y)
    assert np.isfinite(reg.predict(X)).all()
    assert np.isfinite(flat(reg._state)).all()
    assert np.isfinite(reg.progressive_loss_)


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
@pytest.mark.parametrize("loss", losses.CLASSIFICATION)
def test_one_class_equal_rows_and_zeros(kind, loss):
    n = 20_000 if _backend._has_numba() else 500
    for X in (np.ones((n, 2)), np.zeros((n, 2)), np.tile([1e-3, 1e5], (n, 1))):
        clf = ScaleInvariantClassifier(loss, invariance=kind[0], update=kind[1])
        clf.partial_fit(X, np.ones(n, dtype=int), classes=[0, 1])
        assert np.isfinite(flat(clf._state)).all()
        assert (clf.predict(X) == 1).all()


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_columns_of_all_scales_constant_and_double(rng, kind):
    X = rng.normal(size=(200, 6)) * [1e-150, 1e150, 1.0, 1.0, 0.0, 1.0]
    X[:, 3], X[:, 5] = 2 * X[:, 2], 1e9
    y = X[:, 2] + 1e150 * X[:, 0] + 1e-150 * X[:, 1] + 0.1 * rng.normal(size=200)
    reg = ScaleInvariantRegressor(invariance=kind[0], update=kind[1]).fit(X, y)
    assert reg.score(X, y) > 0.9
    if kind[0] == "full":
        assert np.linalg.matrix_rank(reg._state.factor / np.abs(reg._state.factor).max(axis=0).clip(1e-300)) == 4
        np.testing.assert_allclose(reg.predict(X), X @ reg.coef_ + reg.intercept_, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS[1:], ids="-".join)
def test_a_scale_that_grows_late_does_not_spoil_predictions(rng, kind):
    X = rng.normal(size=(2000, 3))
    X[:200, 0] *= 1e-6
    y = X @ [1.0, 1.0, 0.0] + 0.1 * rng.normal(size=2000)
    reg = ScaleInvariantRegressor(invariance=kind[0], update=kind[1], target_normalization=None, epsilon=1.0)
    assert reg.partial_fit(X, y).score(X[200:], y[200:]) > 0.9


def test_fewer_rows_than_columns(rng):
    X, y = rng.normal(size=(10, 30)), rng.normal(size=10)
    reg = ScaleInvariantRegressor(invariance="full").fit(X, y)
    assert np.isfinite(reg.predict(rng.normal(size=(5, 30)))).all()
    assert reg.score(X, y) > 0.5


# -- the estimators


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_batch_quality_on_bundled_data(kind):
    X, y = load_diabetes(return_X_y=True, scaled=False)
    reg = ScaleInvariantRegressor(invariance=kind[0], update=kind[1], random_state=0).fit(X, y)
    best = LinearRegression().fit(X, y).score(X, y)
    assert reg.score(X, y) > best - (0.02 if kind[0] == "full" else 0.1)
    X, y = load_wine(return_X_y=True)
    clf = ScaleInvariantClassifier(invariance=kind[0], update=kind[1], random_state=0).fit(X, y)
    assert clf.score(X, y) > 0.95
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1.0)


def test_scales_and_means_of_full_invariance(rng):
    X = rng.normal(size=(500, 3)) * [1e-5, 1.0, 1e5] + [3.0, -1e3, 1e6]
    weights = rng.exponential(size=500)
    reg = ScaleInvariantRegressor(invariance="full").partial_fit(X, X[:, 1], weights)
    mean = np.average(X, axis=0, weights=weights)
    np.testing.assert_allclose(reg.mean_, mean, rtol=1e-12)
    np.testing.assert_allclose(reg.scale_, np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights)), rtol=1e-8)


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_average_can_be_changed_on_the_way(rng, kind):
    X, y = make_data(rng, loss="squared_error")
    one = ScaleInvariantRegressor(invariance=kind[0], update=kind[1]).partial_fit(X, y)
    two = ScaleInvariantRegressor(invariance=kind[0], update=kind[1], average=False).partial_fit(X, y)
    assert not np.array_equal(one.coef_, two.coef_)
    for reg, average in ((one, False), (two, True)):
        reg.set_params(average=average).partial_fit(X[:1], y[:1])
    three = ScaleInvariantRegressor(invariance=kind[0], update=kind[1]).partial_fit(X, y).partial_fit(X[:1], y[:1])
    np.testing.assert_allclose(two.coef_, three.coef_, rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"update": "potential", "alpha": 1.125}, "alpha"),
        ({"invariance": "full", "alpha": np.nan}, "alpha"),
        ({"invariance": "partial"}, "invariance must be one of 'coordinatewise', 'full'"),
        ({"update": "nag"}, "update must be one of"),
        ({"invariance": "full", "update": "scinol1"}, "invariance='full' needs update='auto' or 'potential'"),
        ({"invariance": "full", "centering": False}, "centering=False"),
        ({"epsilon": "large"}, "epsilon must be"),
        ({"epsilon": -1.0}, "epsilon"),
    ],
)
def test_parameters_out_of_range(options, message):
    with pytest.raises(ValueError, match=message):
        ScaleInvariantRegressor(**options).fit([[0.0], [1.0]], [0.0, 1.0])


def test_average_is_a_flag():
    with pytest.raises(TypeError, match="average must be True or False; got 10"):
        ScaleInvariantRegressor(average=10).fit([[0.0], [1.0]], [0.0, 1.0])


def test_full_invariance_is_for_dense_rows():
    with pytest.raises(ValueError, match="invariance='full' needs dense X"):
        ScaleInvariantRegressor(invariance="full").fit(sparse.eye_array(3).tocsr(), [0.0, 1.0, 2.0])


def test_a_model_cannot_go_on_with_another_update():
    clf = ScaleInvariantClassifier().partial_fit([[0.0], [1.0]], [0, 1], classes=[0, 1])
    with pytest.raises(ValueError, match="update was 'auto' when this model was new and is 'potential' now"):
        clf.set_params(update="potential").partial_fit([[0.0]], [0])
    with pytest.raises(ValueError, match="invariance was"):
        clf.set_params(update="auto", invariance="full").partial_fit([[0.0]], [0])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("distance", [0.0, 1e3, 1e6])
def test_dependence_is_told_from_rounding(rng, distance, kernel):
    """A small difference of large columns, and sums of distant ones, are no new directions."""
    a = 1e3 * rng.normal(size=200)
    b = a + rng.normal(size=200)
    X = np.column_stack([a, b, b - a, a + distance, a + b + 2 * distance, rng.normal(size=200)])
    y = b - a + 0.1 * rng.normal(size=200)
    with config_context(kernel=kernel):
        reg = ScaleInvariantRegressor(invariance="full").partial_fit(X, y)
    assert np.count_nonzero(np.diag(reg._state.factor)) == 4  # a, b, the last column and the constant
    disturbed = X + np.array([0, 0, 0.01, 0.01, 0.01, 0]) * rng.normal(size=(200, 1))
    assert reg.score(disturbed, y) > 0.8


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_light_first_row_far_away(rng, kernel):
    X = rng.normal(size=(300, 3))
    y = X @ [1.0, 2.0, 3.0]
    X[1:] += 1e9
    weights = np.ones(300)
    weights[0] = 1e-20
    with config_context(kernel=kernel):
        reg = ScaleInvariantRegressor(invariance="full").partial_fit(X, y, weights)
    np.testing.assert_allclose(reg.scale_, 1.0, rtol=0.2)
    assert reg.score(X[1:], y[1:]) > 0.9


def test_centering_as_a_boolean_of_numpy():
    with pytest.raises(ValueError, match="centering=False cannot be with invariance='full'"):
        ScaleInvariantRegressor(invariance="full", centering=np.bool_(False)).fit([[0.0], [1.0]], [0.0, 1.0])


def test_alpha_is_a_number_also_where_it_has_no_use():
    with pytest.raises(TypeError, match="alpha must be an instance of"):
        ScaleInvariantRegressor(alpha="1.5").fit([[0.0], [1.0]], [0.0, 1.0])
