"""Threads of the kernel or of its caller, and other processes, learn what a single thread does."""

import multiprocessing
import pickle
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_wine

from sklearn_nag import NAGClassifier, NAGRegressor, config_context
from sklearn_nag.kernels import _threads

from ..pairs import every_pair
from .helpers import make_data, needs_numba

pytestmark = pytest.mark.compiled


@needs_numba
@pytest.mark.parametrize(
    ("n_jobs", "eta0", "container"), every_pair([2, -1], [1.0, "auto"], [np.asarray, sparse.csr_array])
)
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


@needs_numba
def test_threads_learn_as_one_does():
    """Many models that learn at once, without the GIL, have the bits of one that learns alone, dense and sparse."""
    X, y = make_data(np.random.default_rng(0), n=2000, d=20)
    y = (y > 0).astype(int)
    containers = [X, sparse.csr_array(X)] * 4

    def coef(rows):
        return NAGClassifier().partial_fit(rows, y, classes=[0, 1]).coef_

    expected = [coef(rows) for rows in containers]
    with ThreadPoolExecutor(4) as threads:
        assert all(map(np.array_equal, threads.map(coef, containers), expected))


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
    """Processes forked after the kernel has run, even in two threads, learn what their parent does."""
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
