"""The fields that may be stored for a column, each declared once, for tables, merging, fading and checks.

A family lists the fields that its models may have, in the order of the table, as ``FIELDS`` of its `LinearRule`: those
of `INPUTS`, which depend on features alone, and its own. Below, ``x'`` is ``x * lift``.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from .lifts import LARGEST, TINY

ROUNDING = 2.0**-44  # of a value: its distance from a mean may be rounding up to this
SMALLEST = np.nextafter(0.0, 1.0)


def always(rule: Any) -> bool:
    """True, for a field that every rule of a family has."""
    return True


class Field(NamedTuple):
    """Declaration of a field.

    Attributes
    ----------
    name : str
        An attribute of `Columns`.
    needed : callable
        Tells whether models of a rule have the field.
    per_head : bool
        Whether each head has its own; for ``G``, each group of heads that share it.
    initial : float
        Value before the first row; for fields that stay positive, also the least value of products.
    least, most : float
        Range of all values.
    lift_power : callable
        Power of the lift by which models of a rule have the field multiplied.
    merged : {"sum", "max"} or None
        What the field is of the rows, and so of merged models; None if merging has a function for it.
    fades : bool
        Whether it is a sum that fades with a half-life.
    seldom : bool
        Whether selective rules have it 0 for all but frequent columns. Such fields come first, in the order of
        `INPUTS`, and may be stored apart.
    """

    name: str
    needed: Callable[[Any], bool] = always
    per_head: bool = False
    initial: float = 0.0
    least: float = -LARGEST
    most: float = LARGEST
    lift_power: Callable[[Any], int] = lambda rule: 0
    merged: Literal["sum", "max"] | None = None
    fades: bool = False
    seldom: bool = False


def once(rule):
    """Power of the lift in multiples of ``x'``."""
    return 1


def twice(rule):
    """Power of the lift in multiples of the square of ``x'``."""
    return 2


# -- fields of features

# 1 for a column that selective rules centre, and for their intercept, else 0.
FREQUENT = Field("frequent", lambda rule: rule.counts_entries, least=0.0, most=1.0, seldom=True)
# ``x'`` of the first row, for centred rules; 0 for a column that is not frequent, or was not always.
ORIGIN = Field("origin", lambda rule: rule.centred, lift_power=once, seldom=True)
# Lower bound of the mean of ``x'^2`` while a model forgets, for rules that have one; see `nag.forgetting`.
LEAST_SQUARE = Field("least_square", lambda rule: rule.holds_scales, least=0.0, lift_power=twice, seldom=True)
# Largest deviation of an ``x'`` from the mean at its time, for centred rules with "max".
DEVIATION = Field(
    "deviation",
    lambda rule: rule.centred and rule.normalization == "max",
    least=0.0,
    lift_power=once,
    merged="max",
    seldom=True,
)
# Bounds of the weight in raw units, for bounded rules; the largest doubles stand for no bound.
LOW = Field("low", lambda rule: rule.bounded, least=-LARGEST, most=0.0)
HIGH = Field("high", lambda rule: rule.bounded, least=0.0, most=LARGEST)
# Powers of two that keep squares in range; see `lifts`.
LIFT = Field("lift", initial=1.0, least=SMALLEST)
# Largest ``|x|``, or largest deviation while a column was frequent.
LARGEST_SEEN = Field("largest", least=0.0, merged="max")
# ``sum c x'^2``; of deviations from the mean, if centred.
SQUARES = Field("squares", lambda rule: rule.normalization in ("rms", "auto"), least=0.0, lift_power=twice, fades=True)
# Total weight of the rows in which a frequent column is 0, or in which any other column is not.
TALLY = Field("tally", lambda rule: rule.counts_entries, least=0.0, fades=True)
# ``sum c (x' - origin)``, for centred rules.
SUM = Field("sum", lambda rule: rule.centred, lift_power=once, merged="sum", fades=True)

INPUTS = (FREQUENT, ORIGIN, LEAST_SQUARE, DEVIATION, LIFT, LOW, HIGH, LARGEST_SEEN, SQUARES, TALLY, SUM)

# -- fields of a column and a head

WEIGHT = Field("weight", per_head=True)
# Sum of squared gradients. It stays positive, because it is a divisor.
G = Field("G", per_head=True, initial=TINY, least=SMALLEST, lift_power=twice, fades=True)
PAST = Field("past", per_head=True)
