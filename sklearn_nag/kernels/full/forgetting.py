"""Least squares of the rows of late: a row counts half after rows of the weight of a half-life.

``S`` and ``h`` are sums over rows. So is the sum of squares that their solution minimises, as in recursive least
squares with a forgetting factor, which fades in steps here; see `state.fading`. The potential does not forget, as its
weights are no ratio of sums.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..state.fading import fade_rows, learn_and_fade

FAINT = 1e-140  # what is left of a direction that no row has shown for a thousand half-lives; its weight is given up


def fading(learn_rows, multiply, rule, compiled):
    """As `sklearn_nag.kernels.state.rule.Family` has it; compiled loops fade on their way."""
    return learn_rows if compiled else partial(learn_and_fade, learn_rows, fade)


def fade(state, factor):
    """Multiply by ``factor``, at most 1, whatever is a sum over rows; the factor is the root of one, as is ``q``."""
    state.factor *= np.sqrt(factor)
    state.columns.weight *= np.sqrt(factor)
    faint = np.abs(state.factor).max(axis=1) < FAINT
    state.factor[faint] = 0.0
    state.columns.weight[:, faint] = 0.0
    fade_rows(state, factor)
