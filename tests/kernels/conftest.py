import os
from contextlib import nullcontext

import pytest

from sklearn_nag import config_context


@pytest.fixture(autouse=True)
def in_numpy(request):
    """Tests of kernels use NumPy, the definition, unless they choose the kernel or are marked as ``compiled``.

    Those marked use the kernel of other tests, as do all if the environment has ``EVERY_RULE``.
    """
    by_default = os.environ.get("EVERY_RULE") or request.node.get_closest_marker("compiled")
    with nullcontext() if by_default else config_context(kernel="numpy"):
        yield
