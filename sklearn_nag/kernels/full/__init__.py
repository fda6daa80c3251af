"""The learner without a learning rate that is invariant under every linear map of the features (Kotłowski, 2017)."""

from ..state.rule import Family
from .inference import excess_leverage, interval_widths, standard_errors
from .merging import merge
from .rule import Rule, State, fading

__all__ = ["Rule", "State", "excess_leverage", "interval_widths", "standard_errors"]

Rule.family = Family(__name__, merge, fading=fading)
