"""How certain a model may be, from its errors on rows before it learnt them: arrays in, arrays out.

Nothing here knows estimators, kernel states or features. What is known is a named tuple of small arrays, never changed
in place: learning makes a new one.
"""

from . import alarm, probabilities, quantiles
from .probabilities import Probabilities
from .quantiles import Quantiles

__all__ = ["Probabilities", "Quantiles", "alarm", "merge", "probabilities", "quantiles"]


def merge(parts, base=None):
    """What several models know of their errors, as one; what their common ``base`` knew counts once."""
    of_one_kind = quantiles if isinstance(parts[0], Quantiles) else probabilities
    return of_one_kind.merge(parts, base)
