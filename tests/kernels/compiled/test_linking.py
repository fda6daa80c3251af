"""Changes to how Numba compiles and links affect only the time."""

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
    before = gc.get_threshold()
    yield before
    gc.set_threshold(*before)


@needs_numba
def test_max_and_min_are_those_of_python(compiled):
    @compiled
    def largest_and_smallest(numbers, integers, i, j, found):
        found[0], found[1] = max(numbers[i], numbers[j]), min(numbers[i], numbers[j])
        found[2], found[3] = max(integers[i], integers[j]), min(integers[i], integers[j])
        found[4], found[5] = max(numbers[i], 1), min(2, numbers[i])  # of two types

    numbers = np.array([-np.inf, -1.5, -0.0, 0.0, 3.0, np.inf, np.nan])
    integers, found = np.array([-(2**62), -1, 0, 0, 3, 2**62, 5]), np.zeros(6)
    for i, j in product(range(numbers.size), repeat=2):
        largest_and_smallest(numbers, integers, i, j, found)
        (a, b), (m, n) = numbers[[i, j]].tolist(), integers[[i, j]].tolist()
        expected = max(a, b), min(a, b), max(m, n), min(m, n), max(a, 1), min(2, a)
        assert found.tobytes() == struct.pack("6d", *expected), (i, j)


@needs_numba
def test_garbage_is_looked_for_less_often_meanwhile(compiled, thresholds, monkeypatch):
    """Afterwards, thresholds are as before, even if compiling fails. If garbage collection is off, it stays off."""
    from sklearn_nag.kernels.compiled import linking

    seen, define = [], linking.EntryCompiler.define_pipelines

    def look(compiler):
        seen.append(gc.get_threshold())
        return define(compiler)

    monkeypatch.setattr(linking.EntryCompiler, "define_pipelines", look)
    more = 2 * linking.OBJECTS
    for before, meanwhile in ((10, linking.OBJECTS), (more, more), (0, 0)):
        gc.set_threshold(before, *thresholds[1:])
        compiled(lambda x: x + 1)(1)
        with pytest.raises(Exception, match="no_such"):
            compiled(lambda x: x.no_such)(1)
        assert gc.get_threshold() == (before, *thresholds[1:])
        assert seen[-2:] == [(meanwhile, *thresholds[1:])] * 2
