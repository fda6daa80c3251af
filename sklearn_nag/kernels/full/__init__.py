"""The learner without a learning rate that is invariant under every linear map of the features (Kotłowski, 2017)."""

from .rule import Rule, State

__all__ = ["Rule", "State"]
