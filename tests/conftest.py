import os
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

from sklearn_nag import config_context

collect_ignore = ["typing"]  # scripts for type checkers, which would train models wherever doctests are looked for

threadpool_limits(1)  # there is a worker for each processor, and threads of BLAS would wait for one another
settings.register_profile("deterministic", derandomize=True, database=None)
settings.load_profile("deterministic")


@pytest.fixture
def rng():
    return np.random.default_rng(20130711)


@pytest.fixture(autouse=True)
def in_numpy(request):
    """Tests learn in NumPy, as each rule would be compiled by itself, which takes a second or two.

    Tests of compiled code choose the kernel, or are marked as ``compiled``: these learn by the kernel in use. So do all
    where the environment has ``EVERY_RULE``.
    """
    by_default = os.environ.get("EVERY_RULE") or request.node.get_closest_marker("compiled")
    with nullcontext() if by_default else config_context(kernel="numpy"):
        yield
