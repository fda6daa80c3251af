"""Sets that hold weights: which point of one is nearest to a point outside.

The weights are those without units, ``u = coef_ * scale_``; see the parameter ``constraint`` of the estimators.
Distances are ``sum metric_i (u_i - v_i)^2``, the plain one where no metric is given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["L2Ball", "Simplex", "WeightedL1Ball"]

STEPS = 100  # of Newton's method, which takes about ten
FLATTEST = 1e-150  # the least weight of a squared difference, in proportion to the largest


@dataclass(frozen=True)
class _Set:
    radius: float

    def project(self, point: ArrayLike, metric: ArrayLike | None = None) -> np.ndarray:
        """Find the point of the set that is nearest to a given one.

        Parameters
        ----------
        point : array-like of shape (n,)
            Finite numbers.
        metric : array-like of shape (n,), optional
            Positive weights of the squared differences; 1 by default.

        Returns
        -------
        ndarray of shape (n,)
            The nearest point; that which was given, where it is in the set.
        """
        v = np.array(point, dtype=np.float64)
        a = np.ones(v.size) if metric is None else np.asarray(metric, dtype=np.float64)
        if not v.size:
            return v
        power = int(np.frexp(max(np.abs(v).max(), self.radius))[1])
        with np.errstate(all="ignore"):
            a = np.maximum(a / a.max(), FLATTEST)
            return np.ldexp(self._nearest(np.ldexp(v, -power), a, float(np.ldexp(self.radius, -power))), power)

    def scaled(self, factor):
        """The set whose points are those of this one times ``factor``."""
        return replace(self, radius=self.radius * factor)

    def _nearest(self, v, a, radius):
        """As `project`, for a point and a radius near 1 in size, or below, and a metric whose largest entry is 1."""
        raise NotImplementedError


@dataclass(frozen=True)
class L2Ball(_Set):
    """``sum u_i^2 <= radius^2``.

    A projection takes time in proportion to the number of weights: it divides all of them by one number or, where steps
    are adaptive, each by ``1 + lambda / sqrt(H_i)``, with ``lambda`` by Newton's method.

    Parameters
    ----------
    radius : float
        Positive, in the unit of the target or, where a regressor learns that, in standard deviations of it.

    See Also
    --------
    WeightedL1Ball : The set of the theorems of normalized online learning.

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
        if strength > 1e20 * radius and np.add.reduce(v * v) > radius * radius:  # lambda is beyond all of the metric
            return radius * (pulled / strength)
        shrink, u = 0.0, v
        for _ in range(STEPS):
            squares = u * u
            length = np.sqrt(np.add.reduce(squares))
            if shrink == 0.0 and length <= radius:
                return v
            further = shrink + (length - radius) / radius * length**2 / np.add.reduce(squares / (a + shrink))
            if not further > shrink:  # from the left, each step goes right until rounding stops it
                break
            shrink = further
            u = v * (a / (a + shrink))
        return u * min(radius / length, 1.0)


@dataclass(frozen=True)
class WeightedL1Ball(_Set):
    """``sum |u_i| <= radius``, which in raw units is ``sum scale_i |w_i| <= radius``.

    It is the set of the theorems of Ross, Mineiro and Langford [1]_: a bound on predictions where scales are the
    largest values. A projection moves weights towards 0 by ``lambda / metric_i`` and leaves zeros; it sorts those that
    stay [2]_.

    Parameters
    ----------
    radius : float
        Positive, in the unit of the target or, where a regressor learns that, in standard deviations of it.

    See Also
    --------
    Simplex : The same for weights that are not negative.

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
        return np.copysign(_on_simplex(size, a, radius), v) + 0.0  # which has no -0


@dataclass(frozen=True)
class Simplex(_Set):
    """``u_i >= 0`` and ``sum u_i = radius``: weights of a mixture, times ``radius``.

    Parameters
    ----------
    radius : float, default=1.0
        Positive, in the unit of the target or, where a regressor learns that, in standard deviations of it.

    See Also
    --------
    WeightedL1Ball : The same for weights of any sign, and sums up to ``radius``.

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


def _on_simplex(v, a, radius):
    """Nearest point to ``v`` that is not negative, and whose sum is ``radius``: ``max(v - lambda / a, 0)``.

    Only coordinates with ``a v > lambda`` are positive. ``lambda`` falls with each that is added in falling order of
    ``a v`` as long as that holds.
    """
    key = a * v
    order = np.argsort(-key, kind="stable")
    sums = np.add.accumulate(np.append(-radius, v[order]))[1:]
    candidates = sums / np.add.accumulate(1.0 / a[order])
    positive = np.flatnonzero(key[order] > candidates)
    return np.maximum(v - candidates[positive[-1] if positive.size else 0] / a, 0.0)
