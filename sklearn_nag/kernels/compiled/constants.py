"""Compile-time constants of rules, to which `jit.for_rule` gives values.

In the copies of functions that it makes, they are plain numbers and booleans. What a rule does not do is left out
before types are inferred, if the condition is in the ``if`` itself: ``if NORM == MAX``, or ``if IS_CENTRED and not
HAS_L1``.

Constants are for what is done to a *column*. What is done once per row, as by a loss, is a value, so that one function
serves all rules.
"""

from collections import namedtuple
from functools import cache


class Unbound:
    """Placeholder while there is no rule."""

    def __repr__(self):
        return "a constant of rules; see `for_rule`"


UNBOUND = Unbound()
NORMALIZATIONS = (None, "max", "rms", "auto")
NONE, MAX, RMS, AUTO = range(4)  # values of ``NORM``, in the order of these names
NORM = UNBOUND
IS_ADAPTIVE = IS_AVERAGED = IS_CENTRED = IS_IMPORTANCE_AWARE = IS_LAZY = IS_LIFTED = IS_SELECTIVE = UNBOUND
HAS_L1 = HAS_L2 = UNBOUND
COUNTS_ENTRIES = UNBOUND  # whether rows are counted in which a column is 0, or is not
HAS_TARGETS = UNBOUND  # whether the unit or the range of targets is learnt
HAS_RARE = UNBOUND  # whether not all columns are frequent; without rare ones "auto" is "rms"
ARE_MIXED = UNBOUND  # whether rare ones lie among the frequent ones, as in dense rows
HAS_ONE_HEAD = UNBOUND  # whether there is one head, and one target
SHARES_G = UNBOUND  # whether several heads have one ``G`` for each column
HAS_TARGET_UNIT = UNBOUND
IS_DAMPED = UNBOUND  # whether steps of rare columns are damped, so that small gradients do not make long first steps
HOLDS_SCALES = UNBOUND  # whether scales of centred columns fall slowly while a model forgets
DROPS_ROUNDING = UNBOUND  # whether deviations that may be rounding count as 0
FADES_ON_THE_WAY = UNBOUND  # whether compiled loops fade what was learnt
OF_MARGIN = UNBOUND  # whether the loss is a function of ``y p``, not of ``p - y``
OF_RATE = UNBOUND  # whether predictions are logarithms of what is predicted
UPDATE = REGULARIZER = HAS_CONSTRAINT = UNBOUND  # of one family each
HAS_BOUNDS = UNBOUND  # whether each weight has bounds of its own
PLAYS_EIGHT = UNBOUND  # whether rows are played eight at a time
IS_COUPLED = UNBOUND  # whether the loss compares the heads of a row


@cache
def _named(names):
    return namedtuple("Constants", names)


def constants_of(**values):
    """Constants by name in lower case, for `jit.for_rule`."""
    return _named(tuple(values))(**values)


def column_constants(rule):
    """Constants for what is done to columns by rules that know columns one by one."""
    return {
        "norm": NORMALIZATIONS.index(rule.normalization),
        "is_centred": rule.centred,
        "is_selective": rule.selective,
        "is_lifted": rule.lifted,
        "has_rare": rule.counts_entries,
        "are_mixed": rule.counts_entries,
        "counts_entries": rule.counts_entries,
        "has_target_unit": rule.target_unit,
        "has_constraint": rule.projected,
        "has_bounds": rule.bounded,
        "drops_rounding": rule.drops_rounding,
    }
