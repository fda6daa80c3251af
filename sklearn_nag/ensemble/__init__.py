"""Many learners: mixed online by how well they have predicted so far, or beside one another with random weights."""

from ._bootstrap import OnlineBootstrap
from ._cells import NAGCellsClassifier, NAGCellsRegressor
from ._hedge import HedgeClassifier, HedgeRegressor

__all__ = ["HedgeClassifier", "HedgeRegressor", "NAGCellsClassifier", "NAGCellsRegressor", "OnlineBootstrap"]
