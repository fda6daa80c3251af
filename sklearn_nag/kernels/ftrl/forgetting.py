"""What is followed is the leader of the losses of late: each counts half after rows of the weight of a half-life.

All that is kept is sums over rows, of gradients among others, so it is the definition itself that fades: the weights
minimise the sum of faded losses, as linear functions of the weights, and the regulariser. See `state.fading`.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..state.fading import fade_rows, learn_and_fade


def fading(learn_rows, multiply, rule, compiled):
    """As `sklearn_nag.kernels.state.rule.Family` has it; compiled loops for dense rows fade on their way."""
    stopping = partial(learn_and_fade, learn_rows, partial(fade, multiply))
    if not compiled:
        return stopping

    def learn_fading_rows(state, loss, X, *args):
        on_the_way = isinstance(X, np.ndarray) or not state.rule.lazy
        (learn_rows if on_the_way else stopping)(state, loss, X, *args)

    return learn_fading_rows


def fading_powers(rule):
    """By which powers of what sums over rows are multiplied by fields are, by name; ``root`` is the root of a sum."""
    return {field.name: 1.0 for field in rule.FIELDS if field.fades} | {"weight": 1.0, "root": 0.5}


def fade(multiply, state, factor):
    """Multiply by ``factor``, at most 1, whatever is a sum over rows."""
    columns, rule = state.columns, state.rule
    multiply(columns, {name: factor**by for name, by in fading_powers(rule).items() if name in columns.names})
    fade_rows(state, factor)
    state.N *= factor
