"""The estimators: parameters, validation, passes over the rows, and attributes."""

from ._merging import merge
from ._nag import NAGClassifier, NAGRegressor
from ._scale_invariant import ScaleInvariantClassifier, ScaleInvariantRegressor

__all__ = ["NAGClassifier", "NAGRegressor", "ScaleInvariantClassifier", "ScaleInvariantRegressor", "merge"]
