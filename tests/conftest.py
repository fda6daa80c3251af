import gc

import numpy as np
import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

from sklearn_nag import config_context

from . import shared_rules

shared_rules.share()  # before any test imports `learn`
collect_ignore = ["typing"]  # scripts for type checkers; a search for doctests would run them and train models

threadpool_limits(1)  # there is one worker per processor, and threads of BLAS would wait for one another
settings.register_profile("deterministic", derandomize=True, database=None)
settings.load_profile("deterministic")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Pause garbage collection during test collection; afterwards, collect less often and skip what lasts to the end.

    Otherwise it takes a tenth of the time, mostly while functions are compiled. Besides, forked processes do not copy
    memory that the collector does not visit.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 20, 10)
        gc.enable()


@pytest.fixture(autouse=True)
def any_rule(request):
    """Let tests that are marked as ``any_rule`` compile the rules that they ask for."""
    shared_rules.any_rule = request.node.get_closest_marker("any_rule") is not None


@pytest.fixture(autouse=True)
def seeded():
    """Seed NumPy's global generator, so that shuffling without a ``random_state`` is the same in each run."""
    np.random.seed(20130711)  # noqa: NPY002


@pytest.fixture
def in_numpy():
    """Run a test in NumPy. It is for tests that compare bits between rules of which not all are shared."""
    with config_context(kernel="numpy"):
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(20130711)
