"""Follow the regularised leader: FTRL-Proximal, lazy online gradient descent, exponentiated gradient."""

from ..state.rule import Family
from .rule import Rule, State, fading

__all__ = ["Rule", "State"]

Rule.family = Family(__name__, fading=fading)
