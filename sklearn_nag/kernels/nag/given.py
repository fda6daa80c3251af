"""Setting models to a linear function in raw units, such as a batch solver's."""

from dataclasses import replace

import numpy as np

from ..state.lifts import LARGEST_LIFT, TINY, positive, times_scales
from ..state.model import Diverged
from .rule import constrain, penalty_clock


def set_linear(state, coef, intercept, constraint=None):
    """Make a model that has seen rows predict with the given weights, and keep all else that it has learnt.

    It stores ``u = w s``, which is exact for the current scales and means. A column whose scale is still 0 gets no
    weight. An average of weights restarts, and a penalty that is due is waived.

    All experts take the same ``coef``, finite and in raw units, and ``intercept``, 0 for rules without one. Weights
    outside ``constraint``, a set for all of them together, become the nearest ones in it. If a weight times its scale
    leaves the range of float64, `Diverged` is raised. The state is unchanged then, except that the first models of a
    `MixedState` may have changed: the caller restores it.
    """
    rule, columns = state.rule, state.columns
    columns.settle()
    n_features, size = coef.shape[1], positive(state.size())
    u = np.zeros((rule.n_targets, columns.lift.size))
    with np.errstate(all="ignore"):
        u[:, :n_features] = times_scales(coef, state.scale()[:n_features], state.targets.lift)
        if rule.intercept:
            constant = intercept * state.targets.lift - state.targets.origin - state.target_mean()
            if rule.centred:
                constant = constant + (u * (state.lifted_mean() / size)).sum(axis=1)
            u[:, -1] = constant
        weight = u if rule.adaptive else u * size
    if not np.isfinite(weight).all():
        raise Diverged
    columns.weight[:] = np.tile(weight, (rule.experts, 1))
    if constraint is not None:
        constrain(replace(rule, constraint=constraint), columns, size, state.unit(), range(rule.n_heads))
    if columns.past is not None:
        columns.past[:] = 0.0
    if rule.l2 > 0:
        columns.shrunk[:] = penalty_clock(state, rule)
    if rule.l1 > 0:
        columns.received[:] = state.t * np.sign(columns.weight)
    state.averaged, state.cached = 0.0, None
    for other in state.others:
        set_linear(other, coef, intercept, constraint)


def forget_gradients(state, losses=True):
    """Reset sums of squared gradients and, by default, losses, but not scales."""
    if losses:
        state.loss[:] = 0.0
    if state.columns.G is not None:
        state.columns.settle()
        state.columns.G[:] = TINY
        state.gradient_lift[:] = LARGEST_LIFT
    for other in state.others:
        forget_gradients(other, losses)


def take_gradients(state, other):
    """Take over losses and squared gradients of a copy whose columns have the same lifts."""
    state.loss[:] = other.loss
    if state.columns.G is not None:
        state.columns.settle()
        state.columns.G[:] = other.columns.G
        state.gradient_lift[:] = other.gradient_lift
    for mine, theirs in zip(state.others, other.others):
        take_gradients(mine, theirs)
