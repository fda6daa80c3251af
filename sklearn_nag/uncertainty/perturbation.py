"""Random weights of rows that depend on nothing but a seed, a shard, a model and the number of the row.

So no cut of a stream changes them, and shards and models draw independently of one another. Numbers come from counters
by a mixer of 64 bits (SplitMix64: Steele, Lea and Flood 2014), not from a generator with a state.
"""

from __future__ import annotations

import numpy as np

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden section
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def mixed(x: np.ndarray) -> np.ndarray:
    """Integers of 64 bits, of which a change of any bit changes about half."""
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    return x ^ (x >> np.uint64(31))


def uniforms(keys: tuple[int, ...], start: int, stop: int) -> np.ndarray:
    """Numbers in [0, 1) for the rows from ``start`` to ``stop``; ``keys`` are not negative."""
    with np.errstate(over="ignore"):
        state = np.zeros(1, np.uint64)
        for key in keys:
            state = mixed(state + np.uint64(key + 1) * GOLDEN)
        x = mixed(state + np.arange(start + 1, stop + 1, dtype=np.uint64) * GOLDEN)
    return (x >> np.uint64(11)) * 2.0**-53


def exponential_weights(keys: tuple[int, ...], start: int, stop: int) -> np.ndarray:
    """Exponential weights, of mean 1 and variance 1, for the rows from ``start`` to ``stop``."""
    return -np.log1p(-uniforms(keys, start, stop))
