"""The compiled updates of the NAG family against those in NumPy."""

import gc
import itertools
import os
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sklearn_nag import config_context, kernels, losses

from ...shared_rules import NAG_RULES
from ..helpers import (
    BY_ITSELF,
    EXTENSIONS,
    KERNELS,
    LOSSES,
    PENALTIES,
    RULES,
    flat,
    make_data,
    make_state,
    needs_numba,
    progressive,
    some,
)

CONTAINERS = {
    "float64": np.asarray,
    "float32": lambda X: X.astype(np.float32),
    "Fortran": np.asfortranarray,
    "csr": sparse.csr_array,
    "csr float32": lambda X: sparse.csr_array(X.astype(np.float32)),
}


ROWS = ["float64", "csr", "Fortran"]
AUTO = [("auto", True), ("auto", False)]
SHARED = NAG_RULES
if os.environ.get("EVERY_RULE"):
    SHARED = list(itertools.product([*RULES, *AUTO], PENALTIES, [(), *EXTENSIONS]))
WITH_SCALES = [case for case in SHARED if case[0][0]]
SOME_LOSSES = ["log_loss", "hinge", "squared_error", "quantile", "softmax"]


def loss_of(case):
    return "squared_error" if "target_unit" in case[-1] else "log_loss"


def has_several(case, container):
    """Whether a case is also tested with several outputs.

    These are compiled separately for dense rows, so for one rule only. Rules of `SHARED` with an L1 penalty learn
    sparse rows as dense ones.
    """
    as_sparse = container == "csr" and "l1" not in case[1]
    return as_sparse or case[0] == ("auto", True) or bool(os.environ.get("EVERY_RULE"))


def options_of(case):
    (normalization, adaptive), penalty, extension = case
    return {"normalization": normalization, "adaptive": adaptive, **penalty, **dict.fromkeys(extension, True)}


def run(kernel, X, y, weights, loss, order=None, **options):
    with config_context(kernel=kernel):
        state = make_state(X.shape[1], **options)
        return progressive(state, X, y, weights, loss, order), state


def assert_same(X, y, weights, loss, order=None, **options):
    a, one = run("numpy", X, y, weights, loss, order, **options)
    b, two = run("numba", X, y, weights, loss, order, **options)
    tolerance = 1e-10 if not one.rule.centred else 1e-8  # first deviations from a mean are small differences
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * np.abs(a).max() + 1e-300)
    assert two.t == one.t
    assert np.array_equal(one.scale(), two.scale())
    for name in one.columns.names:
        u, v = getattr(one.columns, name), getattr(two.columns, name)
        np.testing.assert_allclose(u, v, rtol=10 * tolerance, atol=tolerance * np.abs(u).max(), err_msg=name)
    for name in ("N", "loss", "shrinkage", "averaged", "gradient_lift"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=tolerance, err_msg=name)
    np.testing.assert_allclose(one.targets.table, two.targets.table, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(one.shares(), two.shares(), rtol=1e-6, atol=1e-9)


@needs_numba
@pytest.mark.any_rule
@pytest.mark.parametrize(
    ("normalization", "adaptive", "loss", "container"),
    [
        *(("max", True, loss, "float64") for loss in BY_ITSELF),
        ("max", True, "huber", "Fortran"),
        ("max", True, "log_loss", "csr"),
        *some(((*rule, loss, kind) for rule in RULES for loss in BY_ITSELF for kind in ("float32", "csr float32")), 0),
    ],
)
def test_every_rule_and_loss(rng, normalization, adaptive, loss, container):
    X, y = make_data(rng, n=150, d=5, loss=loss)
    if normalization is None:
        X /= np.abs(X).max(axis=0)
    X = CONTAINERS[container](X)
    weights = rng.integers(0, 3, 150) * rng.random(150)
    rule = {"normalization": normalization, "adaptive": adaptive}
    several = [(3, True, weights)] * (loss in losses.CLASSIFICATION or bool(os.environ.get("EVERY_RULE")))
    for heads, intercept, c in [(1, True, None), (1, False, weights), *several]:  # else see `test_every_extension`
        targets = y if heads == 1 else np.column_stack([y, -y, np.roll(y, 1)])
        assert_same(X, targets, c, loss, eta=np.linspace(0.1, 0.05, heads), intercept=intercept, **rule)


@needs_numba
@pytest.mark.any_rule
@pytest.mark.parametrize(
    ("normalization", "adaptive", "loss", "extension", "container"),
    [
        *some(
            (
                (*rule, loss, extension, container)
                for rule in [*RULES, *AUTO]
                for loss in SOME_LOSSES
                for extension in EXTENSIONS
                for container in ("float64", "csr")
            ),
            0,
        ),
        # With the rules of `NAGClassifier` and `NAGRegressor`, which are compiled in any run.
        *(("auto", True, loss, EXTENSIONS[-1], "float64") for loss in BY_ITSELF if loss != "perceptron"),
    ],
)
def test_every_extension(rng, normalization, adaptive, extension, loss, container):
    X, y = make_data(rng, n=80, d=5, loss=loss)
    if normalization is None:
        X /= np.abs(X).max(axis=0)
    X = CONTAINERS[container](X)
    if loss not in losses.REGRESSION:  # classes have no unit
        extension = [name for name in extension if name != "target_unit"]
    options = {"normalization": normalization, "adaptive": adaptive, **dict.fromkeys(extension, True)}
    options |= {"degree": LOSSES[loss].degree, "coupled": LOSSES[loss].coupled, "damped": True}
    several = np.column_stack([y, -y, np.roll(y, 1)])
    weights = rng.integers(0, 3, 80) * rng.random(80)
    options |= NAG_RULES[-1][1] if normalization == "auto" else {}
    if loss != "softmax":
        assert_same(X, y, weights, loss, eta=[0.1], **options)
        assert_same(X, several, None, loss, eta=np.repeat([0.03, 0.1], 3), intercept=False, experts=2, **options)
        if loss in losses.REGRESSION:
            for clip in ("targets", (-0.4, 0.3)):
                assert_same(X, y, weights, loss, eta=[1.0], clip=clip, **options)
                assert_same(X, several, None, loss, eta=np.repeat([0.1, 1.0], 3), experts=2, clip=clip, **options)
    else:
        several = np.where(np.arange(3) == rng.integers(0, 3, (80, 1)), 1.0, -1.0)
    assert_same(X, several, weights, loss, eta=np.repeat([0.03, 0.1], 3), experts=2, **options)


@needs_numba
@pytest.mark.parametrize("container", ["float64", "csr"])
@pytest.mark.parametrize("case", SHARED, ids=str)
def test_every_penalty(rng, case, container):
    X, y = make_data(rng, n=150, d=5, density=0.4)
    if case[0][0] is None:
        X /= np.abs(X).max(axis=0)
    X = CONTAINERS[container](X)
    weights = rng.integers(0, 3, 150) * rng.random(150)
    order = rng.permutation(150)[:120]
    assert_same(X, y, weights, loss_of(case), order, eta=[0.1], **options_of(case))
    if has_several(case, container):
        assert_same(X, np.column_stack([y, -y]), weights, loss_of(case), order, eta=[0.1, 0.1], **options_of(case))


@needs_numba
@pytest.mark.any_rule
@pytest.mark.parametrize("heads", [1, 3])
def test_classes(rng, heads):
    X, _ = make_data(rng, n=100)
    assert_same(X, rng.integers(0, max(2, heads), 100), None, "log_loss", eta=[0.5] * heads)


@needs_numba
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_cutting_of_a_stream_gives_the_same_bits(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    n, d, container = data.draw(st.integers(2, 60)), data.draw(st.integers(1, 40)), data.draw(st.sampled_from(ROWS))
    case = data.draw(st.sampled_from(SHARED))
    heads = data.draw(st.sampled_from([1, 3])) if has_several(case, container) else 1
    options, loss = {"eta": [0.1] * heads, **options_of(case)}, loss_of(case)
    X, _ = make_data(rng, n, d)
    X *= 10.0 ** rng.choice([0, 0, 60, -60], size=(n, 1))
    if options["normalization"] is None:
        X /= np.abs(X).max() + 1e-300
    y = rng.choice([-1.0, 1.0], (n, heads))
    weights = data.draw(st.sampled_from([None, rng.integers(0, 3, n) * 0.3]))
    rows = CONTAINERS[container](X)
    cuts = sorted(data.draw(st.sets(st.integers(1, n - 1), max_size=6)))
    with config_context(kernel="numba"):
        whole, parts = make_state(d, **options), make_state(d, **options)
        a = progressive(whole, rows, y, weights, loss)
        b = [
            progressive(parts, rows[i:j], y[i:j], None if weights is None else weights[i:j], loss)
            for i, j in itertools.pairwise([0, *cuts, n])
        ]
    assert np.array_equal(a, np.concatenate(b))
    assert np.array_equal(flat(whole), flat(parts))


@needs_numba
@pytest.mark.parametrize("case", WITH_SCALES, ids=str)
@settings(max_examples=20, deadline=None)
@given(factors=st.lists(st.integers(-900, 900), min_size=5, max_size=5))
def test_powers_of_two_change_no_bit(case, factors):
    X, y = make_data(np.random.default_rng(0), n=60, d=5)
    X = np.sign(X) * np.abs(X).clip(1e-3, 1e3) * (X != 0)
    for container in (np.asarray, sparse.csr_array):
        a, _ = run("numba", container(X), y, None, loss_of(case), **options_of(case))
        b, _ = run("numba", container(X * 2.0 ** np.array(factors)), y, None, loss_of(case), **options_of(case))
        assert np.array_equal(a, b)


@needs_numba
@pytest.mark.any_rule
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_every_finite_double_and_targets_of_any_size(rng, container):
    values = np.array([0.0, 5e-324, -5e-324, 1e-308, 1.0, -1e154, 1e300, np.finfo(float).max, -np.finfo(float).max])
    X = container(rng.choice(values, (400, 5)))
    y = rng.choice([-1.0, 1.0], 400)
    for case in WITH_SCALES:
        played, state = run("numba", X, y, None, loss_of(case), **options_of(case))
        assert np.isfinite(played).all()
        assert np.isfinite(flat(state)).all()
    X, y = make_data(rng, loss="squared_error")
    for size in (1e-200, 1e-100, 1e100, 1e200):
        assert_same(container(X), y * size, None, "squared_error", eta=[0.5 * size])


@needs_numba
@pytest.mark.any_rule
def test_an_empty_row_with_a_gradient_that_calls_for_another_lift():
    """The row stops the compiled loop, but has no columns whose number could show this."""
    X, y = sparse.csr_array([[1.0], [0.0], [0.0], [2.0]]), np.array([1.0, -1e30, 1e60, 3.0])
    assert_same(X, y, None, "squared_error", eta=[1e-70], intercept=False)


@needs_numba
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_divergence(rng, container):
    X, y = make_data(rng)
    with config_context(kernel="numba"):
        state = make_state(6, **{**options_of(NAG_RULES[2]), "eta": [1e300]})
        before = flat(state)
        undo = state.undo()
        with pytest.raises(kernels.Diverged):
            progressive(state, container(X), y, loss="squared_error")
        undo.restore()
    assert np.array_equal(flat(state), before)


@needs_numba
def test_dense_and_sparse_rows_in_turn(rng):
    X, y = make_data(rng, n=90)
    with config_context(kernel="numba"):
        turns, dense = (make_state(6, **options_of(NAG_RULES[1])) for _ in range(2))
        progressive(dense, X, y)
        for i, container in zip(range(0, 90, 30), (np.asarray, sparse.csr_array, np.asarray)):
            progressive(turns, container(X[i : i + 30]), y[i : i + 30])
    np.testing.assert_allclose(flat(turns), flat(dense), rtol=1e-9, atol=1e-12)


@needs_numba
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("d", [1, 7, 8, 72, 73, 200, 201])
def test_rows_of_any_width(rng, d, container):
    X, y = make_data(rng, n=30, d=d)
    for intercept in (False, True):
        assert_same(container(X), y, None, "log_loss", eta=[0.1, 0.3], experts=2, intercept=intercept)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_row_of_huge_weight_that_moves_no_weight(kernel):
    """A step times the weight of the averaged rows overflows, but the feature is 0."""
    with config_context(kernel=kernel):
        state = make_state(
            1, adaptive=False, intercept=False, average_from=0.0, importance_aware=True, l1=0.01, l2=0.01
        )
        progressive(state, np.zeros((1, 1)), np.ones((1, 1)), np.array([1e86]))
    assert not state.columns.weight.any()
    assert not state.columns.past.any()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    ("X", "y", "options"),
    [
        ([[0.0], [0.0]], [5e-324, 0.0], {"eta": [4.0**k for k in range(-2, 3)], "experts": 5}),
        ([[-1e308], [1e154]], [1e8, 1.0], {"eta": [1.0], "intercept": False}),
    ],
)
def test_products_that_leave_the_range_in_another_order(kernel, X, y, options):
    """A step is a product of factors far above and far below 1."""
    options |= {"normalization": "auto", "centred": True, "average_from": 0.0, "importance_aware": True}
    with config_context(kernel=kernel):
        state = make_state(1, target_unit=True, clip="targets", **options)
        played = progressive(state, np.array(X), np.array(y), loss="squared_error")
    assert np.isfinite(played).all()
    assert np.isfinite(flat(state)).all()


@needs_numba
@pytest.mark.any_rule
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_what_a_model_is_learnt_on_is_kept_while_it_serves(rng, container):
    from sklearn_nag.kernels.nag.numba_rows import _benches, bench_of

    X, y = make_data(rng)
    X[:5, 2:] = 0.0  # so that the longest row comes later
    by_row = container is not np.asarray
    loss = losses.REGRESSION["squared_error"]()
    with config_context(kernel="numba"):
        state = make_state(6)
        kernels.learn(state, loss, container(X[:5]), y[:5])
        bench = _benches[by_row][state]
        kernels.learn(state, loss, container(X[5:10]), y[5:10])
        assert _benches[by_row][state] is bench is bench_of(state, loss, by_row)
        copy = state.copy()
        assert copy not in _benches[by_row]
        undo = state.undo()
        with pytest.raises(kernels.Diverged):
            kernels.learn(state, loss, container(np.full((5, 6), np.nan)), y[:5])
        undo.restore()
        for model in (state, copy):
            kernels.learn(model, loss, container(X[10:]), y[10:])
    assert np.array_equal(flat(state), flat(copy))
    assert _benches[by_row][state] is not bench
    assert _benches[by_row][copy] is not _benches[by_row][state]


@needs_numba
@pytest.mark.any_rule
def test_what_a_model_is_learnt_on_is_for_dense_rows_or_for_sparse_ones(rng):
    X, y = make_data(rng)
    loss = losses.REGRESSION["squared_error"]()
    with config_context(kernel="numba"):
        state, others = make_state(6), make_state(6)
        for i, row in enumerate(X):
            container = sparse.csr_array if i % 4 > 1 else np.asarray
            kernels.learn(state, loss, container(row[None]), y[i : i + 1])
            others = others.copy()  # for which nothing has been kept
            kernels.learn(others, loss, container(row[None]), y[i : i + 1])
    assert np.array_equal(flat(state), flat(others))


@needs_numba
@pytest.mark.any_rule
def test_what_is_kept_for_dense_and_for_sparse_rows_does_not_keep_columns(rng):
    from sklearn_nag.kernels.nag.numba_rows import _benches

    X, y = make_data(rng)
    loss = losses.REGRESSION["squared_error"]()
    with config_context(kernel="numba"):
        state, benches = make_state(6), []
        for container in 2 * (np.asarray, sparse.csr_array):
            kernels.learn(state, loss, container(X), y)
            benches.append(_benches[container is not np.asarray][state])
    assert benches[:2] == benches[2:]
    columns = weakref.ref(state.columns)
    state.columns = None
    gc.collect()
    assert columns() is None


@needs_numba
def test_of_a_large_model_nothing_is_kept(rng):
    from sklearn_nag.kernels.nag.numba_rows import SMALL, _benches

    state = make_state(SMALL // 4)
    with config_context(kernel="numba"):
        progressive(state, rng.normal(size=(2, SMALL // 4)), rng.normal(size=(2, state.rule.n_targets)))
    assert not any(state in kept for kept in _benches)


@pytest.mark.parametrize("penalty", [{}, {"l1": 0.01}, {"l2": 0.01}, {"l1": 0.01, "l2": 0.01}], ids=str)
def test_rates_that_are_slowed_agree(rng, penalty):
    X, y = make_data(rng, n=300, d=4, loss="absolute_error")
    found = []
    for kernel in ("numpy", "numba"):
        with config_context(kernel=kernel):
            state = make_state(4, slowed=0.8, target_unit=True, robust=True, degree=1, **penalty)
            progressive(state, X, y, loss="absolute_error")
        found.append(state.unit_free_weight())
    np.testing.assert_allclose(*found, rtol=1e-9, atol=1e-12)
