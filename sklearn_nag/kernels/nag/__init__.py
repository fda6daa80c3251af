"""NG, NAG, sNAG, AdaGrad and OGD (Ross, Mineiro and Langford, "Normalized online learning", UAI 2013)."""

from .given import forget_gradients, set_linear, take_gradients
from .rule import Rule, State

__all__ = ["Rule", "State", "forget_gradients", "set_linear", "take_gradients"]
