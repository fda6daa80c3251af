"""The compiled rows of the coordinate-wise updates against those in NumPy."""

import itertools

import pytest

from ..bounded_helpers import KINDS, LOSSES, assert_backends_agree
from ..helpers import needs_numba, some


@needs_numba
@pytest.mark.parametrize(("kind", "loss"), some(itertools.product(KINDS[1:], LOSSES), 2))
def test_the_compiled_kernel_agrees(rng, kind, loss):
    assert_backends_agree(rng, kind, loss)
