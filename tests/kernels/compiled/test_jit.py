"""Compiled code on disk, where there can be any."""

import pytest

from sklearn_nag.kernels import _backend

from ..helpers import fresh, needs_numba

# The smallest function that Python calls, as each process compiles it.
FIT = "import numpy as np; from sklearn_nag.kernels import Mixture, mix; print(mix(Mixture.new(3), np.eye(3))[2, 0]);"


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
