"""The estimators: parameters, validation, passes over the rows, and attributes."""

from ._ftrl import FTRLClassifier, FTRLRegressor
from ._growing_table import report_progress
from ._merging import merge
from ._nag import NAGClassifier, NAGRegressor
from ._regressor import ClippingWarning
from ._scale_invariant import ScaleInvariantClassifier, ScaleInvariantRegressor

__all__ = [
    "ClippingWarning",
    "FTRLClassifier",
    "FTRLRegressor",
    "NAGClassifier",
    "NAGRegressor",
    "ScaleInvariantClassifier",
    "ScaleInvariantRegressor",
    "merge",
    "report_progress",
]
