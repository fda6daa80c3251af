"""Names that stand, in compiled code, for what a rule can never change: `jit.for_rule` gives them their values.

They are plain numbers and booleans in the copies of functions that it makes, so that what a rule does not do is left
out before types are inferred, where the condition stands in the ``if`` itself: ``if IS_CENTRED and not HAS_L1``, or
``if NORM == MAX``. A constant shapes what is done to a *column*. What is done once a row, as by a loss or by a clip, is
a value, and one function does it for all rules.
"""

from __future__ import annotations

from collections import namedtuple
from functools import cache


class Unbound:
    """Stands where there is no rule yet."""

    def __repr__(self):
        return "a constant of rules; see `for_rule`"


UNBOUND = Unbound()
NORMALIZATIONS = (None, "max", "rms", "auto")
NONE, MAX, RMS, AUTO = range(4)  # values of ``NORM``, in the order of the names above
NORM = UNBOUND
IS_ADAPTIVE = IS_AVERAGED = IS_CENTRED = IS_IMPORTANCE_AWARE = IS_LAZY = IS_LIFTED = IS_SELECTIVE = UNBOUND
HAS_L1 = HAS_L2 = UNBOUND
COUNTS_ENTRIES = UNBOUND  # whether rows in which a column is 0, or is not, are counted
HAS_TARGETS = UNBOUND  # whether anything is learnt of targets: their unit, or their range
HAS_RARE = UNBOUND  # whether not all columns are frequent; without rare ones "auto" is "rms"
ARE_MIXED = UNBOUND  # whether rare ones lie among the frequent ones, as in dense rows
HAS_ONE_HEAD = UNBOUND  # whether there is one head, and one target
SHARES_G = UNBOUND  # whether several heads have one ``G`` for each column
HAS_TARGET_UNIT = UNBOUND
IS_DAMPED = UNBOUND  # whether first steps of rare columns are smaller where gradients are
HOLDS_SCALES = UNBOUND  # whether scales of centred columns fall slowly while a model forgets
DROPS_ROUNDING = UNBOUND  # whether deviations that may be rounding count as 0
FADES_ON_THE_WAY = UNBOUND  # whether compiled loops let what was learnt fade
OF_MARGIN = UNBOUND  # whether the loss is a function of ``y p``, not of ``p - y``
OF_RATE = UNBOUND  # whether predictions are logarithms of what is predicted
UPDATE = REGULARIZER = HAS_CONSTRAINT = UNBOUND  # of single families
HAS_BOUNDS = UNBOUND  # whether each weight has bounds of its own
PLAYS_EIGHT = UNBOUND  # whether rows are played eight at a time
IS_COUPLED = UNBOUND  # whether the loss compares the heads of a row


@cache
def _named(names):
    return namedtuple("Constants", names)


def constants_of(**values):
    """Constants by their names in lower case, as `jit.for_rule` takes."""
    return _named(tuple(values))(**values)


def column_constants(rule):
    """What code is compiled for, of what any rule that knows columns one by one does to them."""
    return {
        "norm": NORMALIZATIONS.index(rule.normalization),
        "is_centred": rule.centred,
        "is_selective": rule.selective,
        "is_lifted": rule.lifted,
        "has_rare": rule.counts_entries,
        "are_mixed": rule.counts_entries,
        "counts_entries": rule.counts_entries,
        "has_target_unit": rule.target_unit,
        "drops_rounding": rule.drops_rounding,
    }
