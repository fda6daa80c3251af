"""The choice between NumPy and Numba, and models that switch between them."""

import itertools
import pickle
import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_wine

import sklearn_nag
from sklearn_nag import NAGClassifier, config_context, get_config, set_config
from sklearn_nag._extras import how_to_install
from sklearn_nag.kernels import _backend

from .helpers import HAVE_NUMBA, LOSSES, fresh, make_state, needs_numba

pytestmark = pytest.mark.compiled


@needs_numba
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_estimators_agree(container):
    X, y = (rows[:400] for rows in load_digits(return_X_y=True))
    fitted = []
    for kernel in ("numpy", "numba"):
        with config_context(kernel=kernel):
            fitted.append(NAGClassifier(max_iter=3, tol=None, random_state=0).fit(container(X), y))
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


@pytest.fixture
def restored():
    before = dict(_backend._chosen)
    yield
    _backend._chosen.update(before)


@pytest.mark.usefixtures("restored")
def test_choice(monkeypatch):
    monkeypatch.delenv(_backend.ENVIRONMENT, raising=False)
    loss = LOSSES["log_loss"]()
    set_config(kernel="auto")
    assert get_config() == {"kernel": "auto"}
    set_config(kernel="numpy")
    set_config()
    assert get_config() == {"kernel": "numpy"}
    assert _backend.backend(make_state(1).rule, _backend.runs_compiled(loss)).__name__.endswith(".numpy_rows")
    with config_context(kernel="auto"):
        assert get_config() == {"kernel": "auto"}
        rows = _backend.backend(make_state(1).rule, _backend.runs_compiled(loss))
        assert rows.__name__.endswith("numba_rows" if HAVE_NUMBA else "numpy_rows")
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
    with pytest.raises(ImportError, match=re.escape(how_to_install("fast"))):
        set_config(kernel="numba")


def test_importing_does_not_import_numba_whose_compiling_may_be_disabled():
    """With `NUMBA_DISABLE_JIT`, functions stay plain Python, which cannot be compiled in parts."""
    parts = ("dask", "datasets", "distributed", "io", "regret", "streams")  # nor modules that are loaded on first use
    unasked = ("numba", *(f"sklearn_nag.{part}" for part in parts))
    code = (
        "import os, sys\n"
        "from sklearn_nag import NAGClassifier, set_config\n"
        f"print(sys.modules.keys() & {unasked})\n"
        "os.environ['NUMBA_DISABLE_JIT'] = '1'\n"
        "print(NAGClassifier().partial_fit([[0.0], [1.0]], [0, 1], [0, 1]).t_)\n"
        "try: set_config(kernel='numba')\n"
        "except ImportError as error: print('NUMBA_DISABLE_JIT' in str(error))\n"
    )
    assert fresh(code).split() == ["set()", "2.0", "True"]


def test_public_names():
    assert {"set_config", "get_config", "config_context"} <= set(sklearn_nag.__all__)


@pytest.mark.usefixtures("restored")
def test_a_long_run_without_numba_says_once_how_to_be_faster(monkeypatch, caplog):
    monkeypatch.delenv(_backend.ENVIRONMENT, raising=False)
    monkeypatch.setattr(_backend, "_has_numba", lambda: False)
    monkeypatch.setattr(_backend, "_spent", {"seconds": 0.0, "told": False})
    ticks = itertools.count()
    monkeypatch.setattr(_backend.time, "perf_counter", lambda: next(ticks) * 0.9 * _backend.LONG)
    set_config(kernel="numpy")  # users who ask for NumPy need no hint
    make = lambda: NAGClassifier().partial_fit([[0.0], [1.0]], [0, 1], classes=[0, 1])  # noqa: E731
    for _ in range(3):
        make()
    set_config(kernel="auto")
    make()
    assert not caplog.records
    for _ in range(3):
        make()
    (record,) = caplog.records
    assert record.name == "sklearn_nag"
    assert how_to_install("fast") in record.message


@pytest.mark.usefixtures("restored")
def test_a_long_call_without_numba_says_so_before_it_ends(monkeypatch, rng):
    monkeypatch.delenv(_backend.ENVIRONMENT, raising=False)
    monkeypatch.setattr(_backend, "_has_numba", lambda: False)
    monkeypatch.setattr(_backend, "_spent", {"seconds": 0.0, "told": False})
    monkeypatch.setattr(_backend, "LONG", 0.0)
    monkeypatch.setattr(_backend, "TOLD_AFTER", 7)
    X, y, played, told_after = rng.normal(size=(30, 3)), rng.integers(2, size=30), [], []
    for kernel in ("numpy", "auto"):
        set_config(kernel="numpy")
        clf = NAGClassifier().partial_fit(X, y, classes=[0, 1])
        monkeypatch.setattr(_backend.logger, "warning", lambda *_, clf=clf: told_after.append(clf._state.t))
        set_config(kernel=kernel)
        played.append(clf._play(X, y))
    assert told_after == [37.0]
    np.testing.assert_array_equal(*played)
