"""What is followed is the leader of the losses of late: each counts half after rows of the weight of a half-life.

All that is kept is sums over rows, of gradients among others, so it is the definition itself that fades: the weights
minimise the sum of faded losses, as linear functions of the weights, and the regulariser. See `state.fading`.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..state.fading import fade_rows, learn_and_fade


def fading(learn_rows, multiply, rule, compiled):
    """As `sklearn_nag.kernels.state.rule.Family` has it."""
    return partial(learn_and_fade, learn_rows, partial(fade, multiply))


def fade(multiply, state, factor):
    """Multiply by ``factor``, at most 1, whatever is a sum over rows; ``root`` is the root of one."""
    columns, rule = state.columns, state.rule
    factors = {field.name: factor for field in rule.FIELDS if field.fades} | {"weight": factor, "root": np.sqrt(factor)}
    multiply(columns, {name: by for name, by in factors.items() if name in columns.names})
    fade_rows(state, factor)
    state.N *= factor
