"""Prediction with expert advice: learners of any kind, mixed online by how well they have predicted so far."""

from ._cells import NAGCellsClassifier, NAGCellsRegressor
from ._hedge import HedgeClassifier, HedgeRegressor

__all__ = ["HedgeClassifier", "HedgeRegressor", "NAGCellsClassifier", "NAGCellsRegressor"]
