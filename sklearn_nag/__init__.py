"""Online linear learners for scikit-learn that take data in whatever units it comes."""

from ._nag import NAGClassifier, NAGRegressor
from ._version import __version__

__all__ = ["NAGClassifier", "NAGRegressor", "__version__"]
