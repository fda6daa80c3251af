"""Merging models that are scale invariant in each coordinate, without a learning rate.

Weights are a function of ``h``, but that of the summed ``h`` is no predictor: an exponential potential would have an
exponent too large by a factor of the number of models. The functions that models play are averaged instead, and ``h``
becomes what plays the average, by the sums and sizes of the merged model.
"""

import numpy as np

from ..state.lifts import LARGEST_POWER, TINY, positive
from ..state.merging import finish, invert_growth, prepare
from .rule import LARGEST_WEALTH, scinol_root


def merge(states, base):
    """Merge models with the same rule; see `sklearn_nag.kernels.merge`."""
    with np.errstate(all="ignore"):
        parts = prepare(states, base)
        return None if parts is None else finish(_merge(parts))


def _merge(parts):
    merged = parts.merged
    rule, columns = merged.rule, merged.columns
    merged.merge_judged(parts)
    if columns.G is not None:
        columns.G[:] = np.maximum(parts.total(lambda state: state.columns.G), TINY)
    unit = positive(merged.unit())[:, None]

    ratios = [state.unit()[:, None] / positive(state.size()) for state in parts.states]
    weights = [state.latest_weight() * ratio for state, ratio in zip(parts.states, ratios)]
    mean = sum(share * weight for share, weight in zip(parts.share, weights))
    if rule.intercept:
        mean[:, -1] = parts.intercept(weights, parts.share)
    _solve(parts, mean * merged.size() / unit)

    base = parts.base
    credits = [np.maximum(state.columns.credit - base.columns.credit, 0.0) for state in parts.states]
    own = [(state.columns.past - base.columns.past) * state.unit()[:, None] for state in parts.states]
    if rule.intercept:
        counts = np.array([credit[-1] for credit in credits])
        averages = [total / positive(credit) for total, credit in zip(own, credits)]
        level = parts.intercept(averages, counts / positive(counts.sum()))
        for total, count in zip(own, counts):
            total[:, -1] = count * level
    columns.past[:] = base.columns.past + sum(own) / unit
    columns.credit[:] = base.columns.credit + sum(credits)
    return merged


def _solve(parts, u):
    """Set the ``h`` and the wealth with which the merged model plays ``u``."""
    merged = parts.merged
    rule, columns, size, largest_weight = merged.rule, merged.columns, merged.size(), merged.largest_weight
    if rule.update == "potential":
        rate = 1.0 / (2.0 * rule.alpha * merged.t * largest_weight)
        log_factor = np.log(rule.alpha * merged.n_columns * merged.t / largest_weight)
        h = invert_growth(np.log(np.abs(u)) + np.log(merged.t), rate, log_factor) * size
    else:
        root = scinol_root(columns.G, size, largest_weight)
        needed = np.abs(u) * 2.0 * root / positive(largest_weight * size)  # what wealth times the bet has to be
        if rule.update == "scinol1":
            beta = np.min([state.columns.beta for state in parts.states], axis=0)
            theta = 2.0 * np.log1p(needed / beta)
        else:  # what models have won or lost of their wealth adds up, but leaves enough for the bet
            share = sum(share * state.columns.beta for share, state in zip(parts.share, parts.states))
            beta = np.maximum(np.maximum(parts.total(lambda state: state.columns.beta), share), needed)
            beta = np.minimum(beta, LARGEST_WEALTH)
            theta = needed / beta
        columns.beta[:] = beta
        h = np.minimum(theta, 2.0 * LARGEST_POWER) * root
    columns.weight[:] = np.copysign(np.where(u == 0, 0.0, h), u)
