"""Follow the regularised leader: FTRL-Proximal, lazy online gradient descent, exponentiated gradient."""

from .rule import Rule, State

__all__ = ["Rule", "State"]
