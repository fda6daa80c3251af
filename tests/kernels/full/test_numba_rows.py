"""The compiled rows of full invariance against those in NumPy."""

import pytest

from ..bounded_helpers import KINDS, LOSSES, assert_backends_agree
from ..helpers import needs_numba


@needs_numba
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", KINDS[:1], ids="-".join)
def test_the_compiled_kernel_agrees(rng, kind, loss):
    assert_backends_agree(rng, kind, loss)
