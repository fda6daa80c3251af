"""Learners without a learning rate, invariant under scaling each feature (Kotłowski, 2017; Kempka et al., 2019)."""

from ..state.rule import Family
from .merging import merge
from .rule import Rule, State

__all__ = ["Rule", "State"]

Rule.family = Family(__name__, merge)
