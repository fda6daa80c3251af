"""Make a case that breaks a promise as small as possible."""

from __future__ import annotations

import re
import time
from dataclasses import replace

import numpy as np

from .cases import DENSE


def kind(message):
    """Return a message without its numbers, to tell one defect from another."""
    return re.sub(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", "#", message)


def shrunk(case, first_broken, seconds=20.0):
    """Return the smallest case found that is broken in the same way.

    Parameters
    ----------
    case : Case
        A case that breaks a promise.
    first_broken : callable
        Takes cases, and returns the first that breaks the promise in the same way; None if there is none.
    seconds : float, default=20.0
        Time after which to stop.

    Returns
    -------
    Case
        A case that no step of `smaller` makes smaller, unless time ran out.
    """
    stop = time.monotonic() + seconds
    while time.monotonic() < stop and (found := first_broken(smaller(case))) is not None:
        case = found
    return case


def smaller(case):
    """Yield cases that are simpler by one step, the boldest steps first."""
    n, d = case.X.shape
    for size in sorted({n // 2, n // 4, 1} - {0}, reverse=True):
        for start in range(0, n, size) if n > size else ():
            kept = np.delete(np.arange(n), slice(start, start + size))
            cuts = tuple(sorted({int(np.searchsorted(kept, cut)) for cut in case.cuts} - {0, len(kept)}))
            yield replace(case.take(kept), cuts=cuts)
    for size in sorted({d // 2, d // 4, 1} - {0}, reverse=True):
        for start in range(0, d, size) if d > size else ():
            yield replace(case, X=np.delete(case.X, slice(start, start + size), axis=1))
    for name in case.parameters:
        yield replace(case, parameters={key: value for key, value in case.parameters.items() if key != name})
    if case.weight is not None:
        yield replace(case, weight=None)
    simplest = ("C",) if case.storage in DENSE else ("C", "csr")
    if case.storage not in simplest:
        for storage in simplest:
            yield replace(case, storage=storage)
    elif case.storage == "csr":
        yield replace(case, storage="C")
    for i in range(len(case.cuts)):
        yield replace(case, cuts=case.cuts[:i] + case.cuts[i + 1 :])
    if case.classes is None and case.y.ndim == 2:
        yield replace(case, y=case.y[:, 0])
    if case.kernel == "numba":
        yield replace(case, kernel="numpy")
    yield from (replace(case, X=X) for X in simpler(case.X))
    if case.classes is None:
        yield from (replace(case, y=y) for y in simpler(case.y))
    if case.weight is not None:
        yield from (replace(case, weight=weight) for weight in simpler(case.weight))


def simpler(array):
    """Yield the array with simpler numbers: first all of them, then one at a time."""
    for change in (to_power, to_digit):
        changed = change(array)
        if not np.array_equal(changed, array):
            yield changed
    for i in range(array.size) if array.size <= 60 else ():
        for value in (0.0, 1.0, to_power(array.flat[i]), to_digit(array.flat[i])):
            if rank(value) < rank(array.flat[i]):
                changed = array.copy()
                changed.flat[i] = value
                yield changed


def rank(value):
    """Return how simple a number is: first 0 and 1, then others by the length of their representation."""
    if value in (0.0, 1.0):
        return (0, value + 0.5 * np.signbit(value))
    return (1, len(repr(float(value))) + (value < 0))


def to_power(array):
    """Return the power of ten at or below each size; 0 stays."""
    with np.errstate(divide="ignore"):
        exponent = np.floor(np.log10(np.abs(array)))
    exponent = np.where(np.isfinite(exponent), exponent, 0)
    powers = np.array([float(f"1e{int(e)}") for e in np.ravel(exponent)]).reshape(np.shape(array))
    return np.where(array == 0, 0.0, np.copysign(np.where(powers == 0, np.abs(array), powers), array))


def to_digit(array):
    """Return numbers rounded to one digit."""
    return np.array([float(f"{x:.0e}") if np.isfinite(float(f"{x:.0e}")) else x for x in np.ravel(array)]).reshape(
        np.shape(array)
    )
