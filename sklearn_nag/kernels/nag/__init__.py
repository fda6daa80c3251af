"""NG, NAG, sNAG, AdaGrad and OGD (Ross, Mineiro and Langford, "Normalized online learning", UAI 2013)."""

from .forgetting import learn_and_fade
from .given import forget_gradients, set_linear, take_gradients
from .rule import Rule, State

__all__ = ["Rule", "State", "forget_gradients", "learn_and_fade", "set_linear", "take_gradients"]
