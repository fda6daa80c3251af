"""Sets of weights, and the point of a set that is nearest to a point outside.

The sets are of unit-free weights, ``u = coef_ * scale_``; see the parameter ``constraint`` of the estimators. A `Box`
contains ``coef_`` itself. Distances are ``sum metric_i (u_i - v_i)^2``; without a metric, its entries are 1.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["Box", "L2Ball", "Simplex", "WeightedL1Ball"]

STEPS = 100  # of Newton's method or of projections; twenty are already many
SHOWN = 100  # with more bounds, only their number is shown
FLATTEST = 2.0**-500  # least entry of a metric, relative to its largest
ROUNDING = 1e-15  # of a sum, per term


@dataclass(frozen=True)
class _Set:
    radius: float

    def __post_init__(self):
        if isinstance(self.radius, Real):
            with suppress(OverflowError):  # `project` and the estimators refuse it by name
                object.__setattr__(self, "radius", float(self.radius))

    def project(self, point: ArrayLike, metric: ArrayLike | None = None) -> np.ndarray:
        """Return the point of the set that is nearest to a given one.

        Parameters
        ----------
        point : array-like of shape (n,)
            Finite numbers.
        metric : array-like of shape (n,), optional
            Positive weights of the squared differences; 1 by default.

        Returns
        -------
        ndarray of shape (n,)
            The nearest point; the given point itself if it is in the set.

        Raises
        ------
        TypeError
            For a point or metric that is not an array of real numbers.
        ValueError
            For a radius that is not positive and finite, and for a point or metric of the wrong shape or with invalid
            entries.
        """
        radius = self.radius
        if not (isinstance(radius, float) and 0 < radius < np.inf):
            got = repr(radius) if isinstance(radius, float) else f"one of type {type(radius).__name__}"
            raise ValueError(f"radius must be positive and within the range of float64; got {got}.")
        return self.nearest(*_checked(point, metric))

    def nearest(self, v, a=None):
        """Like `project`, for the finite float64 that kernels have, without checks."""
        if not v.size:
            return v.copy()
        a = np.ones(v.size) if a is None else a
        power = int(np.frexp(max(np.abs(v).max(), self.radius))[1])
        with np.errstate(all="ignore"):
            a = np.maximum(a / a.max(), FLATTEST)
            scaled = np.ldexp(v, -power)
            nearest = self._nearest(scaled, a, float(np.ldexp(self.radius, -power)))
            return v.copy() if nearest is scaled else np.ldexp(nearest, power)

    def scaled(self, factor):
        """The set whose points are those of this one times ``factor``."""
        return replace(self, radius=self.radius * factor)

    def _nearest(self, v, a, radius):
        """Like `nearest`, for a point and a radius of size about 1, or below, and a metric whose largest entry is 1."""
        raise NotImplementedError


def _checked(point, metric):
    """Point and metric as vectors, None without a metric; raise if they are not."""
    v = _vector("point", point)
    a = None if metric is None else _vector("metric", metric)
    if a is not None and a.shape != v.shape:
        raise ValueError(f"metric has shape {a.shape}; point has shape {v.shape}, and they must be the same.")
    if a is not None and not (a > 0).all():
        raise ValueError(f"metric must be positive; it is {a[np.argmin(a)]} at {np.argmin(a)}.")
    return v, a


def _vector(name, values):
    """``values`` as a vector of finite float64; raise if they are not."""
    if np.ma.is_masked(values):
        raise ValueError(f"{name} has masked entries, which have no values.")
    try:
        found = np.asarray(values)
        vector = np.array(found, dtype=np.float64) if found.dtype.kind in "biufO" else None
    except (OverflowError, TypeError, ValueError):
        vector = None
    if vector is None:
        raise TypeError(f"{name} must be an array of real numbers within the range of float64.")
    if vector.ndim != 1:
        raise ValueError(f"{name} has shape {vector.shape}; it must be a vector.")
    if not np.isfinite(vector).all():
        place = int(np.argmin(np.isfinite(vector)))
        raise ValueError(f"{name} must be finite; it is {vector[place]} at {place}.")
    return vector


@dataclass(frozen=True)
class L2Ball(_Set):
    """L2 ball, ``sum u_i^2 <= radius^2``, for the unit-free weights ``u = coef_ * scale_``.

    A projection takes time in proportion to the number of weights. It divides all of them by one number or, with
    adaptive steps, each by ``1 + lambda / sqrt(H_i)``, with ``lambda`` found by Newton's method.

    Parameters
    ----------
    radius : float
        Radius, positive. It is in the unit of the target or, for a regressor that learns this unit, in standard
        deviations of the target.

    See Also
    --------
    WeightedL1Ball : The set in the theorems of normalized online learning.

    Examples
    --------
    >>> from sklearn_nag.constraints import L2Ball
    >>> L2Ball(1.0).project([3.0, 4.0])
    array([0.6, 0.8])
    """

    code: ClassVar[int] = 0

    def _nearest(self, v, a, radius):
        pulled = a * v
        strength = np.sqrt(np.add.reduce(pulled * pulled))
        if strength > 1e20 * radius:  # lambda is beyond all of the metric
            return radius * (pulled / strength)
        shrink, u = 0.0, v
        for _ in range(STEPS):
            squares = u * u
            length = np.sqrt(np.add.reduce(squares))
            if shrink == 0.0 and length <= radius:
                return v
            further = shrink + (length - radius) / radius * length**2 / np.add.reduce(squares / (a + shrink))
            if not further > shrink:  # from the left, steps go right until rounding stops them
                break
            shrink = further
            u = v * (a / (a + shrink))
        return u * min(radius / length, 1.0)


@dataclass(frozen=True)
class WeightedL1Ball(_Set):
    """L1 ball, ``sum |u_i| <= radius``, which in raw units is ``sum scale_i |w_i| <= radius``.

    This is the set in the theorems of Ross, Mineiro and Langford [1]_. It bounds predictions if scales are the largest
    values. A projection moves weights towards 0 by ``lambda / metric_i`` and makes some of them exactly 0; it sorts the
    others [2]_.

    Parameters
    ----------
    radius : float
        Radius, positive. It is in the unit of the target or, for a regressor that learns this unit, in standard
        deviations of the target.

    See Also
    --------
    Simplex : The same sum for nonnegative weights.

    References
    ----------
    .. [1] Ross, Mineiro and Langford, "Normalized online learning", UAI 2013, Theorems 1 and 2.
    .. [2] Duchi, Shalev-Shwartz, Singer and Chandra, "Efficient projections onto the l1-ball for learning in high
       dimensions", ICML 2008.

    Examples
    --------
    >>> from sklearn_nag.constraints import WeightedL1Ball
    >>> WeightedL1Ball(1.0).project([1.5, -1.0, 0.1])
    array([ 0.75, -0.25,  0.  ])
    """

    code: ClassVar[int] = 1

    def _nearest(self, v, a, radius):
        size = np.abs(v)
        if np.add.reduce(size) <= radius:
            return v
        return np.copysign(_on_simplex(size, a, radius), v) + 0.0  # avoids -0


@dataclass(frozen=True)
class Simplex(_Set):
    """Simplex, ``u_i >= 0`` and ``sum u_i = radius``: the weights of a mixture, times ``radius``.

    Parameters
    ----------
    radius : float, default=1.0
        Sum of the weights, positive. It is in the unit of the target or, for a regressor that learns this unit, in
        standard deviations of the target.

    See Also
    --------
    WeightedL1Ball : Weights of any sign, with absolute values that sum to at most ``radius``.

    References
    ----------
    .. [1] Held, Wolfe and Crowder, "Validation of subgradient optimization", Mathematical Programming 6, 1974.

    Examples
    --------
    >>> from sklearn_nag.constraints import Simplex
    >>> Simplex().project([0.9, 0.7, -2.0])
    array([0.6, 0.4, 0. ])
    """

    radius: float = 1.0
    code: ClassVar[int] = 2

    def _nearest(self, v, a, radius):
        return _on_simplex(v, a, radius)


@dataclass(frozen=True, eq=False)
class Box:
    """Bounds on each weight, ``low <= w_i <= high``, for the entries of ``coef_`` in the units of their columns.

    A projection clips each weight to its bounds, whatever the metric, so a sparse row affects only its own columns.

    Parameters
    ----------
    low : float or array-like of shape (n_features,), default=-inf
        Lower bound of each weight; ``-inf`` for no bound. For estimators, it must not be above 0.
    high : float or array-like of shape (n_features,), default=inf
        Upper bound of each weight; ``inf`` for no bound. For estimators, it must not be below 0.

    See Also
    --------
    WeightedL1Ball : A bound on the sum of the absolute values of all weights.

    Examples
    --------
    >>> from sklearn_nag.constraints import Box
    >>> Box(low=0.0).project([1.5, -1.0, 0.1])
    array([1.5, 0. , 0.1])
    >>> Box([-1.0, 0.0], [1.0, 0.0]).project([3.0, 4.0])
    array([1., 0.])
    """

    low: float | ArrayLike = -np.inf
    high: float | ArrayLike = np.inf

    def __post_init__(self):
        for name in ("low", "high"):
            with suppress(OverflowError, TypeError, ValueError):  # `check` refuses it by name
                object.__setattr__(self, name, _bound(getattr(self, name)))

    def check(self, n: int | None = None) -> None:
        """Raise an error unless the bounds are valid.

        Parameters
        ----------
        n : int, optional
            Number of weights; any by default.

        Raises
        ------
        ValueError
            For bounds that are not real numbers or are NaN, for a lower bound above the upper bound, and for arrays of
            the wrong length.
        """
        ends: dict[str, Any] = {"low": self.low, "high": self.high}
        for name, end in ends.items():
            if not (isinstance(end, float) or (type(end) in (np.ndarray, np.memmap) and end.dtype == np.float64)):
                raise ValueError(f"{name} must be a real number or a vector of these; got {type(end).__name__}.")
            if np.ndim(end) > 1 or np.isnan(end).any():
                got = "NaN among them" if np.ndim(end) < 2 else f"an array of shape {np.shape(end)}"
                raise ValueError(f"{name} must be a number, or a vector of numbers, that are not NaN; got {got}.")
            n = np.size(end) if n is None and np.ndim(end) else n
            if np.ndim(end) and np.size(end) != n:
                raise ValueError(f"{name} has {np.size(end)} entries; it must have {n}, one for each weight.")
        crossed = np.atleast_1d(np.greater(self.low, self.high))
        if crossed.any():
            place = int(np.argmax(crossed))
            low, high = (float(np.resize(end, place + 1)[place]) for end in ends.values())
            raise ValueError(f"low must not be above high; at index {place} they are {low} and {high}.")

    def project(self, point: ArrayLike, metric: ArrayLike | None = None) -> np.ndarray:
        """Return the point of the set that is nearest to a given one.

        Parameters
        ----------
        point : array-like of shape (n,)
            Finite numbers.
        metric : array-like of shape (n,), optional
            Positive weights of the squared differences; they do not affect the nearest point of a box.

        Returns
        -------
        ndarray of shape (n,)
            The nearest point; the given point itself if it is in the set.

        Raises
        ------
        TypeError
            For a point or metric that is not an array of real numbers.
        ValueError
            For a lower bound above the upper bound, and for a point, metric or bounds of the wrong shape or with
            invalid entries.
        """
        v, _ = _checked(point, metric)
        self.check(v.size)
        return np.clip(v, self.low, self.high) + 0.0  # avoids -0

    def __repr__(self):
        low, high = (
            np.asarray(end).tolist() if np.size(end) <= SHOWN else f"<{np.size(end)} bounds>"
            for end in (self.low, self.high)
        )
        return f"Box(low={low}, high={high})"

    def __eq__(self, other):
        if not isinstance(other, Box):
            return NotImplemented
        return np.array_equal(self.low, other.low) and np.array_equal(self.high, other.high)

    def __hash__(self):  # of little of long bounds, because rules are looked up in each call
        return hash(tuple(float(np.ravel(end)[0]) if np.size(end) else 0.0 for end in (self.low, self.high)))


def _bound(values):
    """A bound as a float, or bounds as a read-only vector of float64."""
    if isinstance(values, Real):
        return float(values)
    found = np.asarray(values)
    if found.dtype.kind not in "biufO" or np.ma.is_masked(values):
        return values
    bounds = np.array(found, dtype=np.float64)
    bounds.flags.writeable = False
    return bounds if bounds.ndim else float(bounds)


def _on_simplex(v, a, radius):
    """Nearest nonnegative point to ``v`` with the sum ``radius``: ``max(v - lambda / a, 0)``.

    Only coordinates with ``a v > lambda`` are positive: those that give the largest ``lambda``. If ``v`` is so far away
    that rounding loses ``radius``, ``v - lambda / a`` has the same nearest point and is near, so the step is repeated.
    """
    a = a / FLATTEST  # so that no ``lambda`` is too small for a double
    for _ in range(STEPS):
        order = np.argsort(-a * v, kind="stable")
        sums = np.add.accumulate(np.append(-radius, v[order]))[1:]
        v = v - (sums / np.add.accumulate(1.0 / a[order])).max() / a
        u = np.maximum(v, 0.0)
        if not abs(np.add.reduce(u) - radius) > ROUNDING * np.count_nonzero(u) * radius:
            break
    return u
