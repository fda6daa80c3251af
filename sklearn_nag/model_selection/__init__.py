"""Progressive validation of any learner, and whole ranges of learning rates in one pass."""

from ._alarm import LossAlarm
from ._coefficients import CoefficientsDisplay
from ._displays import (
    EtaSweepDisplay,
    FeatureScalesDisplay,
    HalfLivesDisplay,
    IntervalDisplay,
    ProgressiveLossDisplay,
    ValidationLossDisplay,
)
from ._effects import EffectsDisplay
from ._eta_sweep import EtaSweep, eta_sweep
from ._progressive import ProgressiveValidation, progressive_validation
from ._progressive_search import ProgressiveSearch
from ._score import ProgressiveSplit, progressive_score
from ._search import NAGClassifierCV, NAGRegressorCV

__all__ = [
    "CoefficientsDisplay",
    "EffectsDisplay",
    "EtaSweep",
    "EtaSweepDisplay",
    "FeatureScalesDisplay",
    "HalfLivesDisplay",
    "IntervalDisplay",
    "LossAlarm",
    "NAGClassifierCV",
    "NAGRegressorCV",
    "ProgressiveLossDisplay",
    "ProgressiveSearch",
    "ProgressiveSplit",
    "ProgressiveValidation",
    "ValidationLossDisplay",
    "eta_sweep",
    "progressive_score",
    "progressive_validation",
]
