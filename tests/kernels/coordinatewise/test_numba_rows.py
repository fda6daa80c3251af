"""The compiled coordinate-wise updates against those in NumPy."""

import itertools
import os

import pytest

from ..bounded_helpers import KINDS, LOSSES, assert_backends_agree
from ..helpers import needs_numba


@needs_numba
@pytest.mark.parametrize(
    ("kind", "loss"),
    itertools.product(KINDS[1:], LOSSES)
    if os.environ.get("EVERY_RULE")
    else [
        (KINDS[1], "huber"),
        (KINDS[2], "hinge"),
        (KINDS[3], "quantile"),
        (KINDS[3], "softmax"),
    ],
)
def test_the_compiled_kernel_agrees(rng, kind, loss):
    assert_backends_agree(rng, kind, loss)
