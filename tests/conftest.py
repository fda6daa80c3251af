import gc

import numpy as np
import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

from sklearn_nag import config_context

from . import shared_rules

shared_rules.share()  # before any test imports `learn`
collect_ignore = ["typing"]  # scripts for type checkers, which would train models wherever doctests are looked for

threadpool_limits(1)  # there is a worker for each processor, and threads of BLAS would wait for one another
settings.register_profile("deterministic", derandomize=True, database=None)
settings.load_profile("deterministic")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Have no garbage looked for meanwhile, and less often later, and then not among what lasts to the end.

    Otherwise a tenth of the time goes into it, most of it while functions are compiled. And processes that are forked
    do not copy what is not looked through.
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
    """Let tests that are marked so compile the rules that they ask for."""
    shared_rules.any_rule = request.node.get_closest_marker("any_rule") is not None


@pytest.fixture(autouse=True)
def seeded():
    """What is shuffled without a ``random_state`` is so in the same way in each run."""
    np.random.seed(20130711)  # noqa: NPY002


@pytest.fixture
def in_numpy():
    """Tests that compare bits of rules of which not all are shared learn all of them in NumPy."""
    with config_context(kernel="numpy"):
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(20130711)
