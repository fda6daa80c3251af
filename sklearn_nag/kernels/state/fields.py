"""What can be kept for a column: each field is declared once, and tables, merging, fading and checks read it here.

A family lists the fields that its models may have, in the order of the table, as ``FIELDS`` of its `LinearRule`: those
of `INPUTS`, which know of features alone, and its own. ``x'`` below is ``x * lift``.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from .lifts import LARGEST, TINY

ROUNDING = 2.0**-44  # of a value: by so much rounding may have put a mean apart from it
SMALLEST = np.nextafter(0.0, 1.0)


def always(rule: Any) -> bool:
    """Whether a rule needs a field that every rule of its family has."""
    return True


class Field(NamedTuple):
    """Declaration of a field.

    Attributes
    ----------
    name : str
        An attribute of `Columns`.
    needed : callable
        Tells for a rule whether its models have the field.
    per_head : bool
        Whether each head has one of its own; of ``G``, each group of heads that share it.
    initial : float
        Value of a column before the first row; of a field that stays positive, also the least that products become.
    least, most : float
        Between which all values are.
    lift_power : callable
        By which power of a lift a rule has the field multiplied.
    merged : {"sum", "max"} or None
        What it is of the rows, so that models are merged by that; None where merging has a function for it.
    fades : bool
        Whether it is a sum that fades with a half-life.
    seldom : bool
        Whether selective rules have it 0 for all columns but frequent ones. These come first, in the order of `INPUTS`,
        and may be kept apart.
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
    """Power of the lift of what is a multiple of ``x'``."""
    return 1


def twice(rule):
    """Power of the lift of what is a multiple of its square."""
    return 2


# -- what is kept of features

# 1 for a column that is centred by selective rules, where the intercept is, else 0.
FREQUENT = Field("frequent", lambda rule: rule.counts_entries, least=0.0, most=1.0, seldom=True)
# ``x'`` of the first row, for centred rules; 0 for a column that is not frequent, or was not always.
ORIGIN = Field("origin", lambda rule: rule.centred, lift_power=once, seldom=True)
# What the mean of ``x'^2`` is held above while a model forgets, by rules that do so; see `nag.forgetting`.
LEAST_SQUARE = Field("least_square", lambda rule: rule.holds_scales, least=0.0, lift_power=twice, seldom=True)
# The largest deviation of an ``x'`` from the mean of its time, for centred rules with "max".
DEVIATION = Field(
    "deviation",
    lambda rule: rule.centred and rule.normalization == "max",
    least=0.0,
    lift_power=once,
    merged="max",
    seldom=True,
)
# Between which the weight in raw units is held, by rules that are bounded; the largest doubles stand for no bound.
LOW = Field("low", lambda rule: rule.bounded, least=-LARGEST, most=0.0)
HIGH = Field("high", lambda rule: rule.bounded, least=0.0, most=LARGEST)
# Powers of two that keep squares in range; see `lifts`.
LIFT = Field("lift", initial=1.0, least=SMALLEST)
# The largest ``|x|``, or deviation while a column was frequent.
LARGEST_SEEN = Field("largest", least=0.0, merged="max")
# ``sum c x'^2``; of deviations from the mean, where centred.
SQUARES = Field("squares", lambda rule: rule.normalization in ("rms", "auto"), least=0.0, lift_power=twice, fades=True)
# Total weight of the rows in which a frequent column is 0; of those in which any other column is not.
TALLY = Field("tally", lambda rule: rule.counts_entries, least=0.0, fades=True)
# ``sum c (x' - origin)``, for centred rules.
SUM = Field("sum", lambda rule: rule.centred, lift_power=once, merged="sum", fades=True)

INPUTS = (FREQUENT, ORIGIN, LEAST_SQUARE, DEVIATION, LIFT, LOW, HIGH, LARGEST_SEEN, SQUARES, TALLY, SUM)

# -- what families keep for a column and a head

WEIGHT = Field("weight", per_head=True)
# A sum of squared gradients, which stays positive: it is divided by.
G = Field("G", per_head=True, initial=TINY, least=SMALLEST, lift_power=twice, fades=True)
PAST = Field("past", per_head=True)
