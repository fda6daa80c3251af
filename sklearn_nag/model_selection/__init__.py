"""Progressive validation of any learner, and whole ranges of learning rates for the price of a pass."""

from ._coefficients import CoefficientsDisplay
from ._displays import EtaSweepDisplay, FeatureScalesDisplay, ProgressiveLossDisplay, ValidationLossDisplay
from ._eta_sweep import EtaSweep, eta_sweep
from ._progressive import ProgressiveValidation, progressive_validation
from ._score import ProgressiveSplit, progressive_score
from ._search import NAGClassifierCV, NAGRegressorCV

__all__ = [
    "CoefficientsDisplay",
    "EtaSweep",
    "EtaSweepDisplay",
    "FeatureScalesDisplay",
    "NAGClassifierCV",
    "NAGRegressorCV",
    "ProgressiveLossDisplay",
    "ProgressiveSplit",
    "ProgressiveValidation",
    "ValidationLossDisplay",
    "eta_sweep",
    "progressive_score",
    "progressive_validation",
]
