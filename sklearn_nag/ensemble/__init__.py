"""Many learners: mixed online by past predictions, or side by side with random weights."""

from ._bootstrap import OnlineBootstrap
from ._cells import NAGCellsClassifier, NAGCellsRegressor
from ._hedge import HedgeClassifier, HedgeRegressor

__all__ = ["HedgeClassifier", "HedgeRegressor", "NAGCellsClassifier", "NAGCellsRegressor", "OnlineBootstrap"]
