"""How sure a model may be, from the errors that it made on rows before it learnt them: arrays in, arrays out.

Nothing here knows an estimator, a kernel's state or a feature. What is kept is a named tuple of small arrays that is
never changed in place: whoever learns makes another one.
"""

from . import alarm, probabilities, quantiles
from .probabilities import Probabilities
from .quantiles import Quantiles

__all__ = ["Probabilities", "Quantiles", "alarm", "merge", "probabilities", "quantiles"]


def merge(parts, base=None):
    """What several models know of their errors, as one; those of ``base``, which all went on from, count once."""
    of_one_kind = quantiles if isinstance(parts[0], Quantiles) else probabilities
    return of_one_kind.merge(parts, base)
