"""NG, NAG, sNAG, AdaGrad and OGD (Ross, Mineiro and Langford, "Normalized online learning", UAI 2013)."""

from .rule import Rule, State

__all__ = ["Rule", "State"]
