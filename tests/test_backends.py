"""The compiled kernel against NumPy, and the choice between them."""

import itertools
import multiprocessing
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine

import sklearn_nag
from sklearn_nag import NAGClassifier, NAGRegressor, config_context, get_config, kernels, losses, set_config
from sklearn_nag.kernels import _backend, _threads

from .kernels.helpers import BY_ITSELF, EXTENSIONS, LOSSES, RULES, flat, make_data, make_state, progressive

HAVE_NUMBA = _backend._has_numba()
needs_numba = pytest.mark.skipif(not HAVE_NUMBA, reason="Numba is not installed")

PENALTIES = [{}, {"l1": 0.01}, {"l2": 0.01}, {"l1": 0.01, "l2": 0.02}, {"average_from": 20.0}]
PENALTIES += [{"average_from": 0.0, "l1": 0.01, "l2": 0.01}, {"power_t": 0.5}]
CONTAINERS = {
    "float64": np.asarray,
    "float32": lambda X: X.astype(np.float32),
    "Fortran": np.asfortranarray,
    "csr": sparse.csr_array,
    "csr float32": lambda X: sparse.csr_array(X.astype(np.float32)),
}


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
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("loss", BY_ITSELF)
@pytest.mark.parametrize(("normalization", "adaptive"), RULES)
def test_every_rule_and_loss(rng, normalization, adaptive, loss, container):
    X, y = make_data(rng, n=150, d=5, loss=loss)
    if normalization is None:
        X /= np.abs(X).max(axis=0)
    X = CONTAINERS[container](X)
    weights = rng.integers(0, 3, 150) * rng.random(150)
    rule = {"normalization": normalization, "adaptive": adaptive}
    for heads, intercept, c in [(1, True, None), (1, False, weights), (3, True, weights)]:
        targets = y if heads == 1 else np.column_stack([y, -y, np.roll(y, 1)])
        assert_same(X, targets, c, loss, eta=np.linspace(0.1, 0.05, heads), intercept=intercept, **rule)


@needs_numba
@pytest.mark.parametrize("container", ["float64", "float32", "csr"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("extension", EXTENSIONS, ids="+".join)
@pytest.mark.parametrize(("normalization", "adaptive"), RULES)
def test_every_extension(rng, normalization, adaptive, extension, loss, container):
    X, y = make_data(rng, n=80, d=5, loss=loss)
    if normalization is None:
        X /= np.abs(X).max(axis=0)
    X = CONTAINERS[container](X)
    options = {"normalization": normalization, "adaptive": adaptive, **dict.fromkeys(extension, True)}
    options |= {"degree": LOSSES[loss].degree, "coupled": LOSSES[loss].coupled}
    several = np.column_stack([y, -y, np.roll(y, 1)])
    weights = rng.integers(0, 3, 80) * rng.random(80)
    penalty = PENALTIES[rng.integers(len(PENALTIES))]
    if loss != "softmax":
        assert_same(X, y, weights, loss, eta=[0.1], **options, **penalty)
        assert_same(X, several, None, loss, eta=np.repeat([0.03, 0.1], 3), intercept=False, experts=2, **options)
    else:
        several = np.where(np.arange(3) == rng.integers(0, 3, (80, 1)), 1.0, -1.0)
    assert_same(X, several, weights, loss, eta=np.repeat([0.03, 0.1], 3), experts=2, **options, **penalty)


@needs_numba
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
@pytest.mark.parametrize(("normalization", "adaptive"), RULES)
def test_every_penalty(rng, normalization, adaptive, penalty, container):
    X, y = make_data(rng, n=150, d=5, density=0.4)
    if normalization is None:
        X /= np.abs(X).max(axis=0)
    X = CONTAINERS[container](X)
    weights = rng.integers(0, 3, 150) * rng.random(150)
    rule = {"normalization": normalization, "adaptive": adaptive, **penalty}
    order = rng.permutation(150)[:120]
    for targets, c in [(y, None), (np.column_stack([y, -y]), weights)]:
        assert_same(X, targets, c, "log_loss", order, eta=[0.1] * (targets.size // 150), **rule)


@needs_numba
@pytest.mark.parametrize("heads", [1, 3])
def test_classes(rng, heads):
    X, _ = make_data(rng, n=100)
    assert_same(X, rng.integers(0, max(2, heads), 100), None, "log_loss", eta=[0.5] * heads)


@needs_numba
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_cutting_of_a_stream_gives_the_same_bits(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    n, d, heads = data.draw(st.integers(2, 60)), data.draw(st.integers(1, 40)), data.draw(st.sampled_from([1, 3]))
    normalization, adaptive = data.draw(st.sampled_from(RULES))
    options = {"normalization": normalization, "adaptive": adaptive, "eta": [0.1] * heads}
    options |= data.draw(st.sampled_from(PENALTIES))
    options |= dict.fromkeys(data.draw(st.sampled_from([(), *EXTENSIONS])), True)
    X, _ = make_data(rng, n, d)
    X *= 10.0 ** rng.choice([0, 0, 60, -60], size=(n, 1))
    if normalization is None:
        X /= np.abs(X).max() + 1e-300
    y = rng.choice([-1.0, 1.0], (n, heads))
    weights = data.draw(st.sampled_from([None, rng.integers(0, 3, n) * 0.3]))
    rows = data.draw(st.sampled_from([np.asarray, sparse.csr_array, np.asfortranarray]))(X)
    cuts = sorted(data.draw(st.sets(st.integers(1, n - 1), max_size=6)))
    with config_context(kernel="numba"):
        whole, parts = make_state(d, **options), make_state(d, **options)
        a = progressive(whole, rows, y, weights)
        b = [
            progressive(parts, rows[i:j], y[i:j], None if weights is None else weights[i:j])
            for i, j in itertools.pairwise([0, *cuts, n])
        ]
    assert np.array_equal(a, np.concatenate(b))
    assert np.array_equal(flat(whole), flat(parts))


@pytest.mark.parametrize("kernel", ["numpy", pytest.param("numba", marks=needs_numba)])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_experts_that_are_kept_apart_learn_what_each_would_alone(kernel, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    n, d, experts = data.draw(st.integers(2, 60)), data.draw(st.integers(1, 40)), data.draw(st.integers(1, 6))
    loss, (normalization, adaptive) = data.draw(st.sampled_from(sorted(LOSSES))), data.draw(st.sampled_from(RULES))
    heads = data.draw(st.sampled_from([3, 9] if loss == "softmax" else [1, 3]))
    options = {"normalization": normalization, "adaptive": adaptive, "intercept": data.draw(st.booleans())}
    options |= {"degree": LOSSES[loss].degree, "coupled": LOSSES[loss].coupled, **data.draw(st.sampled_from(PENALTIES))}
    options |= dict.fromkeys(data.draw(st.sampled_from([(), *EXTENSIONS])), True)
    X, y = make_data(rng, n, d, loss="log_loss" if loss == "softmax" else loss)
    if normalization is None:
        X /= np.abs(X).max() + 1e-300
    rows = data.draw(st.sampled_from([np.asarray, sparse.csr_array, np.asfortranarray]))(X)
    several = np.where(np.arange(heads) == rng.integers(0, heads, (n, 1)), 1.0, -1.0)
    targets = several if loss in losses.CLASSIFICATION or loss == "softmax" else np.outer(y, np.arange(1.0, heads + 1))
    weights = data.draw(st.sampled_from([None, rng.integers(0, 3, n) * 0.3]))
    etas = 10.0 ** rng.uniform(-3, 0, experts)
    with config_context(kernel=kernel):
        together = make_state(d, eta=np.repeat(etas, heads), experts=experts, mixed=False, **options)
        played = progressive(together, rows, targets, weights, loss)
        means = together.mean_loss(together.t) if together.t else []
        for k, eta in enumerate(etas):
            alone = make_state(d, eta=[eta] * heads, **options)
            assert np.array_equal(
                progressive(alone, rows, targets, weights, loss), played[:, k * heads : (k + 1) * heads]
            )
            part = together.select_experts(np.array([k]), alone.rule)
            assert np.array_equal(flat(part), flat(alone))
            assert together.t == 0 or means[k] == alone.mean_loss(alone.t)


@pytest.mark.parametrize("kernel", ["numpy", pytest.param("numba", marks=needs_numba)])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_heads_do_not_know_of_one_another(rng, kernel, container):
    X, y = make_data(rng, n=100, d=50)
    with config_context(kernel=kernel):
        alone, among = make_state(50), make_state(50, eta=[0.5, 0.5, 0.5])
        one = progressive(alone, container(X), y)
        three = progressive(among, container(X), np.column_stack([y, -y, np.roll(y, 1)]))
    assert np.array_equal(one[:, 0], three[:, 0])
    assert np.array_equal(alone.columns.weight[0], among.columns.weight[0])


@needs_numba
@pytest.mark.parametrize(("normalization", "adaptive"), [rule for rule in RULES if rule[0]])
@settings(max_examples=20, deadline=None)
@given(
    factors=st.lists(st.integers(-900, 900), min_size=5, max_size=5),
    penalty=st.sampled_from(PENALTIES),
    extension=st.sampled_from([(), *EXTENSIONS]),
)
def test_powers_of_two_change_no_bit(normalization, adaptive, factors, penalty, extension):
    X, y = make_data(np.random.default_rng(0), n=60, d=5)
    X = np.sign(X) * np.abs(X).clip(1e-3, 1e3) * (X != 0)
    options = {"normalization": normalization, "adaptive": adaptive, **penalty, **dict.fromkeys(extension, True)}
    for container in (np.asarray, sparse.csr_array):
        a, _ = run("numba", container(X), y, None, "log_loss", **options)
        b, _ = run("numba", container(X * 2.0 ** np.array(factors)), y, None, "log_loss", **options)
        assert np.array_equal(a, b)


@needs_numba
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_every_finite_double_and_targets_of_any_size(rng, container):
    values = np.array([0.0, 5e-324, -5e-324, 1e-308, 1.0, -1e154, 1e300, np.finfo(float).max, -np.finfo(float).max])
    X = container(rng.choice(values, (400, 5)))
    y = rng.choice([-1.0, 1.0], 400)
    for normalization, adaptive in RULES:
        if normalization is not None:
            options = {"normalization": normalization, "adaptive": adaptive, "l1": 1e-3, "l2": 1e-3}
            played, state = run("numba", X, y, None, "log_loss", **options)
            assert np.isfinite(played).all()
            assert np.isfinite(flat(state)).all()
    X, y = make_data(rng, loss="squared_error")
    for size in (1e-200, 1e-100, 1e100, 1e200):
        assert_same(container(X), y * size, None, "squared_error", eta=[0.5 * size])


@needs_numba
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_divergence(rng, container):
    X, y = make_data(rng)
    with config_context(kernel="numba"):
        state = make_state(6, None, False, eta=[0.1])
        before = flat(state)
        with pytest.raises(kernels.Diverged), state.unchanged_on_error():
            progressive(state, container(X * 1e6), y, loss="squared_error")
    assert np.array_equal(flat(state), before)


@needs_numba
def test_dense_and_sparse_rows_in_turn(rng):
    X, y = make_data(rng, n=90)
    with config_context(kernel="numba"):
        turns, dense = make_state(6, l2=0.01), make_state(6, l2=0.01)
        progressive(dense, X, y)
        for i, container in zip(range(0, 90, 30), (np.asarray, sparse.csr_array, np.asarray)):
            progressive(turns, container(X[i : i + 30]), y[i : i + 30])
    np.testing.assert_allclose(flat(turns), flat(dense), rtol=1e-9, atol=1e-12)


@needs_numba
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_estimators_agree(container):
    X, y = load_digits(return_X_y=True)
    fitted = []
    for kernel in ("numpy", "numba"):
        with config_context(kernel=kernel):
            fitted.append(
                NAGClassifier(penalty="l1", alpha=1e-3, max_iter=3, tol=None, random_state=0).fit(container(X), y)
            )
    np.testing.assert_allclose(fitted[0].coef_, fitted[1].coef_, rtol=1e-8, atol=1e-10)
    assert fitted[0].progressive_loss_ == pytest.approx(fitted[1].progressive_loss_, rel=1e-12)


@needs_numba
def test_a_model_goes_from_one_backend_to_the_other():
    X, y = load_wine(return_X_y=True)
    clf = NAGClassifier()
    for i, kernel in zip(range(0, 178, 60), itertools.cycle(["numba", "numpy"])):
        with config_context(kernel=kernel):
            clf.partial_fit(X[i : i + 60], y[i : i + 60], classes=[0, 1, 2])
        clf = pickle.loads(pickle.dumps(clf))
    with config_context(kernel="numpy"):
        alone = NAGClassifier().partial_fit(X, y, classes=[0, 1, 2])
    np.testing.assert_allclose(clf.coef_, alone.coef_, rtol=1e-9)


# -- the choice


@pytest.fixture
def restored():
    before = dict(_backend._chosen)
    yield
    _backend._chosen.update(before)


@pytest.mark.usefixtures("restored")
def test_choice(monkeypatch):
    monkeypatch.delenv(_backend.ENVIRONMENT, raising=False)
    set_config(kernel="auto")
    assert get_config() == {"kernel": "auto"}
    set_config(kernel="numpy")
    set_config()
    assert get_config() == {"kernel": "numpy"}
    assert _backend.backend(make_state(1).rule).__name__.endswith(".numpy_rows")
    with config_context(kernel="auto"):
        assert get_config() == {"kernel": "auto"}
        assert _backend.backend(make_state(1).rule).__name__.endswith("numba_rows" if HAVE_NUMBA else "numpy_rows")
        with config_context():
            assert get_config() == {"kernel": "auto"}
    assert get_config() == {"kernel": "numpy"}
    for choose in (set_config, lambda **o: config_context(**o).__enter__()):
        with pytest.raises(ValueError, match="kernel must be one of 'auto', 'numpy', 'numba'; got 'cython'"):
            choose(kernel="cython")
    _backend._chosen["kernel"] = None
    monkeypatch.setenv(_backend.ENVIRONMENT, "numpy")
    assert get_config() == {"kernel": "numpy"}
    monkeypatch.setenv(_backend.ENVIRONMENT, "fast")
    with pytest.raises(ValueError, match="SKLEARN_NAG_KERNEL must be one of"):
        NAGClassifier().fit([[0.0], [1.0]], [0, 1])


@pytest.mark.skipif(HAVE_NUMBA, reason="Numba is installed")
def test_numba_that_is_not_there():
    with pytest.raises(ImportError, match=r'pip install "sklearn-nag\[fast\]"'):
        set_config(kernel="numba")


def fresh(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, check=True, capture_output=True, text=True
    ).stdout.strip()


@needs_numba
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("d", [1, 7, 8, 71, 72, 73, 199, 200, 201])
def test_rows_of_any_width(rng, d, container):
    X, y = make_data(rng, n=30, d=d)
    for intercept in (False, True):
        assert_same(container(X), y, None, "log_loss", eta=[0.1, 0.3], experts=2, intercept=intercept)


@needs_numba
def test_room_for_the_longest_row():
    from sklearn_nag.kernels.compiled.handover import workspace

    columns = make_state(5_000).columns
    for place in [0, 2**14 - 1, 2**14, 39_999]:
        entries = np.ones(max(place + 1, 3), int)
        entries[place] = 3_000
        _, table, index, _ = workspace(columns, 4, np.append(0, entries.cumsum()))
        assert table.shape[1] == index.size > 3_000
        assert table.ctypes.data % 64 == 0


@needs_numba
def test_inverse_square_roots():
    from numba import njit

    from sklearn_nag.kernels.compiled.arithmetic import inverse_sqrt, inverse_sqrt_of_any

    @njit
    def roots(x, normal):
        found = np.empty(x.size)
        for i in range(x.size):
            found[i] = inverse_sqrt(x[i]) if normal else inverse_sqrt_of_any(x[i])
        return found

    least, most = np.finfo(float).tiny, np.finfo(float).max
    some = np.concatenate([[5e-324, 1e-310, least, most], np.geomspace(1e-307, 1e308, 10_007)])
    np.testing.assert_allclose(roots(some[2:], True), some[2:] ** -0.5, rtol=4e-16)
    np.testing.assert_allclose(roots(some, False), some**-0.5, rtol=4e-16)


def test_importing_does_not_import_numba():
    assert fresh("import sys, sklearn_nag; print('numba' in sys.modules)") == "False"


FIT = (
    "from sklearn.datasets import load_wine; import sklearn_nag; X, y = load_wine(return_X_y=True);"
    "print(sklearn_nag.NAGClassifier(max_iter=2, tol=None, random_state=0).fit(X, y).progressive_loss_)"
)


@needs_numba
def test_where_nothing_can_be_cached():
    """No home and no folder for a cache: slower at first, never an error."""
    nowhere = {
        _backend.ENVIRONMENT: "numba",
        "HOME": "/nonexistent",
        "NUMBA_CACHE_DIR": "/proc/nonexistent",
        "XDG_CACHE_HOME": "/nonexistent",
    }
    assert float(fresh(FIT, **nowhere)) == pytest.approx(float(fresh(FIT)))


@needs_numba
def test_a_cache_on_disk(tmp_path):
    environment = {_backend.ENVIRONMENT: "numba", "NUMBA_CACHE_DIR": str(tmp_path)}
    assert fresh(FIT, **environment) == fresh(FIT, **environment)
    assert list(tmp_path.rglob("*.nbc"))


@needs_numba
@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_workers(backend):
    import joblib

    X, y = load_wine(return_X_y=True)
    clf = NAGClassifier(max_iter=3, tol=None, random_state=0)
    expected = clf.fit(X, y).coef_
    with joblib.parallel_config(backend=backend, n_jobs=2):
        fitted = joblib.Parallel()(joblib.delayed(clf.__class__(**clf.get_params()).fit)(X, y) for _ in range(4))
    assert all(np.array_equal(one.coef_, expected) for one in fitted)


@needs_numba
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_fork_after_use():
    """Processes forked once the kernel has run, in two threads at that, learn as their parent does."""
    X, y = load_wine(return_X_y=True)

    def coef(rows):
        return NAGClassifier(max_iter=3, tol=None, random_state=0).fit(rows, y).coef_

    containers = [X, sparse.csr_matrix(X)]
    with ThreadPoolExecutor(2) as threads:
        expected = list(threads.map(coef, containers))
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    for rows in containers:
        child = context.Process(target=lambda rows=rows: results.put(coef(rows)))
        child.start()
        child.join(60)
        assert child.exitcode == 0
    assert all(np.array_equal(results.get(), one) for one in expected)


@needs_numba
def test_threads_learn_as_one_does():
    """Without the GIL: many models at a time give the bits of one, dense and sparse."""
    X, y = make_data(np.random.default_rng(0), n=2000, d=20)
    y = (y > 0).astype(int)
    containers = [X, sparse.csr_array(X)] * 4

    def coef(rows):
        return NAGClassifier().partial_fit(rows, y, classes=[0, 1]).coef_

    expected = [coef(rows) for rows in containers]
    with ThreadPoolExecutor(4) as threads:
        assert all(map(np.array_equal, threads.map(coef, containers), expected))


@needs_numba
@pytest.mark.parametrize("n_jobs", [2, 3, -1])
@pytest.mark.parametrize("eta0", [1.0, "auto"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_targets_spread_over_threads_learn_the_same(rng, monkeypatch, n_jobs, eta0, container):
    monkeypatch.setattr(_threads, "effective_n_jobs", lambda n_jobs: {None: 1, -1: 9}.get(n_jobs, n_jobs))
    monkeypatch.setattr(_threads, "_WORTH_THREADS", 0)
    spread = []
    in_threads = _threads._learn_in_threads
    monkeypatch.setattr(_threads, "_learn_in_threads", lambda *given: spread.append(1) or in_threads(*given))
    X = container(rng.normal(size=(300, 6)) * (rng.random((300, 6)) < 0.5) * 10.0 ** np.arange(-3, 3))
    classes, outputs = rng.integers(4, size=300), rng.normal(size=(300, 3))
    weight = rng.integers(3, size=300).astype(float)
    for make, y in [(partial(NAGClassifier, multi_class="ovr"), classes), (NAGRegressor, outputs)]:
        options = {"sample_weight": weight} | ({"classes": range(4)} if y is classes else {})
        alone = make(eta0=eta0, loss="hinge") if y is classes else make(eta0=eta0)
        with config_context(kernel="numba"):
            spread.clear()
            expected = alone._play(X, y, **options)
            assert not spread
            together = clone(alone).set_params(n_jobs=n_jobs)
            np.testing.assert_array_equal(together._play(X, y, **options), expected)
            assert spread
            for _ in range(2):
                np.testing.assert_array_equal(together.coef_, alone.coef_)
                np.testing.assert_array_equal(together.intercept_, alone.intercept_)
                assert together.progressive_loss_ == alone.progressive_loss_
                alone.partial_fit(X, y), together.partial_fit(X, y)


@needs_numba
def test_threads_that_fail_leave_the_model_as_it_was(rng, monkeypatch):
    monkeypatch.setattr(_threads, "_WORTH_THREADS", 0)
    X, y = rng.normal(size=(300, 3)), rng.normal(size=(300, 4))
    model = NAGRegressor(n_jobs=2).partial_fit(X, y)
    before = pickle.dumps(model._state)
    with config_context(kernel="numba"), pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.where(np.arange(300)[:, None] == 299, np.nan, X), y)
    assert pickle.dumps(model._state) == before


def test_public_names():
    assert {"set_config", "get_config", "config_context"} <= set(sklearn_nag.__all__)
