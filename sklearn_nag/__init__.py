"""Online linear learners for scikit-learn that take data in any units."""

from ._version import __version__
from .ensemble import HedgeClassifier, HedgeRegressor, NAGCellsClassifier, NAGCellsRegressor, OnlineBootstrap
from .estimators import (
    ClippingWarning,
    FTRLClassifier,
    FTRLRegressor,
    NAGClassifier,
    NAGRegressor,
    ScaleInvariantClassifier,
    ScaleInvariantRegressor,
    report_progress,
)
from .kernels._backend import config_context, get_config, set_config
from .merging import merge

__all__ = [
    "ClippingWarning",
    "FTRLClassifier",
    "FTRLRegressor",
    "HedgeClassifier",
    "HedgeRegressor",
    "NAGCellsClassifier",
    "NAGCellsRegressor",
    "NAGClassifier",
    "NAGRegressor",
    "OnlineBootstrap",
    "ScaleInvariantClassifier",
    "ScaleInvariantRegressor",
    "__version__",
    "config_context",
    "get_config",
    "merge",
    "report_progress",
    "set_config",
]
