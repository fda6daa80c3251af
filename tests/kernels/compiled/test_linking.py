"""What Numba is told to do otherwise than by itself changes nothing but the time."""

import gc
import struct
from itertools import product

import numpy as np
import pytest

from ..helpers import needs_numba


@pytest.fixture
def compiled():
    from numba import njit

    from sklearn_nag.kernels.compiled.jit import ALL
    from sklearn_nag.kernels.compiled.linking import EntryCompiler

    return njit(pipeline_class=EntryCompiler, **ALL)


@pytest.fixture
def thresholds():
    before, is_on = gc.get_threshold(), gc.isenabled()
    gc.enable()
    yield before
    gc.set_threshold(*before)
    if not is_on:
        gc.disable()


@needs_numba
def test_max_and_min_are_those_of_python(compiled):
    @compiled
    def largest_and_smallest(numbers, integers, i, j, found):
        found[0], found[1] = max(numbers[i], numbers[j]), min(numbers[i], numbers[j])
        found[2], found[3] = max(integers[i], integers[j]), min(integers[i], integers[j])
        found[4], found[5] = max(numbers[i], 1), min(2, numbers[i])  # of two kinds

    numbers = np.array([-np.inf, -1.5, -0.0, 0.0, 3.0, np.inf, np.nan])
    integers, found = np.array([-(2**62), -1, 0, 0, 3, 2**62, 5]), np.zeros(6)
    for i, j in product(range(numbers.size), repeat=2):
        largest_and_smallest(numbers, integers, i, j, found)
        (a, b), (m, n) = numbers[[i, j]].tolist(), integers[[i, j]].tolist()
        expected = max(a, b), min(a, b), max(m, n), min(m, n), max(a, 1), min(2, a)
        assert found.tobytes() == struct.pack("6d", *expected), (i, j)


@needs_numba
def test_garbage_is_looked_for_as_before(compiled, thresholds):
    seen = []

    def look(phase, info):
        seen.append(gc.get_threshold()[0])

    gc.set_threshold(10, *thresholds[1:])
    gc.callbacks.append(look)
    try:
        compiled(lambda x: x + 1)(1)
        assert gc.get_threshold() == (10, *thresholds[1:])
        with pytest.raises(Exception, match="no_such"):
            compiled(lambda x: x.no_such)(1)
        assert gc.get_threshold() == (10, *thresholds[1:])
        seen.clear()
        gc.set_threshold(0, *thresholds[1:])  # off
        compiled(lambda x: x + 2)(1)
        assert gc.get_threshold()[0] == 0
        assert seen == []
    finally:
        gc.callbacks.remove(look)


@needs_numba
def test_it_is_looked_for_while_something_is_compiled(compiled, monkeypatch, thresholds):
    """Seldom, but what others make meanwhile is not kept for all that time."""
    from sklearn_nag.kernels.compiled import linking

    found = []
    monkeypatch.setattr(linking, "OBJECTS", 500)
    gc.set_threshold(20, *thresholds[1:])
    gc.callbacks.append(lambda phase, info: found.append(gc.get_threshold()[0]))
    try:
        compiled(lambda x: x + 3)(1)
    finally:
        gc.callbacks.pop()
    assert 500 in found
