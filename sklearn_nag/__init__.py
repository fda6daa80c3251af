"""Online linear learners for scikit-learn that take data in whatever units it comes."""

from ._nag import NAGClassifier, NAGRegressor

__version__ = "0.1.0"

__all__ = ["NAGClassifier", "NAGRegressor", "__version__"]
