"""Learners without a learning rate, invariant under scaling each feature (Kotłowski, 2017; Kempka et al., 2019)."""

from .rule import Rule, State

__all__ = ["Rule", "State"]
