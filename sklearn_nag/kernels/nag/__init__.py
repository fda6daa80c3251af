"""NG, NAG, sNAG, AdaGrad and OGD (Ross, Mineiro and Langford, "Normalized online learning", UAI 2013)."""

from ..state.rule import Family
from .forgetting import fading
from .given import forget_gradients, set_linear, take_gradients
from .half_lives import MixedRule, MixedState, learn_and_mix
from .merging import lead, merge
from .rule import Rule, State

__all__ = [
    "MixedRule",
    "MixedState",
    "Rule",
    "State",
    "forget_gradients",
    "learn_and_mix",
    "set_linear",
    "take_gradients",
]

Rule.family = Family(__name__, merge, lead, learns_apart=True, fading=fading)
