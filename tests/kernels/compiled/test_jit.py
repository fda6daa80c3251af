"""Compiled code on disk, where there can be any."""

import pytest

from sklearn_nag.kernels import _backend

from ..helpers import fresh, needs_numba

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
    assert list(tmp_path.rglob("*.nbi"))
