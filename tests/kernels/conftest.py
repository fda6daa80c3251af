import os
from contextlib import nullcontext

import pytest

from sklearn_nag import config_context


@pytest.fixture(autouse=True)
def in_numpy(request):
    """Tests of kernels are of the definition in NumPy, but where they choose the kernel, or are marked as ``compiled``.

    These learn by the kernel in use, and so do all where the environment has ``EVERY_RULE``.
    """
    by_default = os.environ.get("EVERY_RULE") or request.node.get_closest_marker("compiled")
    with nullcontext() if by_default else config_context(kernel="numpy"):
        yield
