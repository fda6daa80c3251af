import os
from contextlib import nullcontext

import pytest

from sklearn_nag import config_context


@pytest.fixture(autouse=True)
def in_numpy(request):
    """Run tests of kernels in NumPy, the definition, unless they choose the kernel or are marked as ``compiled``.

    Marked tests use the same kernel as tests of other folders, and so do all tests if ``EVERY_RULE`` is set.
    """
    by_default = os.environ.get("EVERY_RULE") or request.node.get_closest_marker("compiled")
    with nullcontext() if by_default else config_context(kernel="numpy"):
        yield
