import os
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import settings

from sklearn_nag import config_context

settings.register_profile("deterministic", derandomize=True, database=None)
settings.load_profile("deterministic")


@pytest.fixture
def rng():
    return np.random.default_rng(20130711)


@pytest.fixture
def in_numpy():
    """For tests of many rules, each of which would be compiled by itself; a test of the compiled kernel has some.

    Where the environment has ``EVERY_RULE``, by the kernel in use.
    """
    with nullcontext() if os.environ.get("EVERY_RULE") else config_context(kernel="numpy"):
        yield
