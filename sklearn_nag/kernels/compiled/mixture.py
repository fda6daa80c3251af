"""AdaHedge as compiled functions; see `state.mixture`."""

from __future__ import annotations

import numpy as np

from ..state.lifts import LARGEST
from .heads import CLIPPED, EXPERT_LOSS, GRADIENT, PLAYED, SHARE, TARGET, UNIT
from .jit import slow
from .losses import SOFTMAX, loss_and_gradient, margins


@slow
def expert_shares(heads, excess, gap, group):
    """As `Mixture.weights`, for one group."""
    total = 0.0
    n_experts = excess.shape[1]
    for k in range(n_experts):
        if gap[group] > 0:
            heads[SHARE, k] = np.exp(-np.log(n_experts) * (excess[group, k] / gap[group]))
        else:
            heads[SHARE, k] = 1.0 if excess[group, k] == 0 else 0.0
        total += heads[SHARE, k]
    for k in range(n_experts):
        heads[SHARE, k] /= total


@slow
def suffer(heads, excess, gap, group):
    """As `Mixture.suffer`, for one group."""
    n_experts = excess.shape[1]
    rate = np.log(n_experts) / gap[group] if gap[group] > 0 else 1.0
    mean = mixed = 0.0
    least = leader = ahead = LARGEST
    for k in range(n_experts):
        least = min(least, heads[EXPERT_LOSS, k])
        if heads[SHARE, k] > 0:
            leader = min(leader, heads[EXPERT_LOSS, k])
    for k in range(n_experts):
        if heads[SHARE, k] > 0:
            behind = heads[EXPERT_LOSS, k] - leader
            mean += heads[SHARE, k] * behind
            mixed += heads[SHARE, k] * np.exp(-rate * behind)
        excess[group, k] = min(excess[group, k] + (heads[EXPERT_LOSS, k] - least), LARGEST)
        ahead = min(ahead, excess[group, k])
    for k in range(n_experts):
        excess[group, k] -= ahead
    gap[group] = min(gap[group] + max(0.0, mean - (-np.log(mixed) / rate if gap[group] > 0 else 0.0)), LARGEST)


@slow
def mix(heads, loss, c, mixture, n_heads, n_targets):
    """As `_mix` of `nag.numpy_rows`."""
    excess, gap = mixture
    n_groups, n_experts = excess.shape
    for k in range(n_heads):
        heads[GRADIENT, k] = heads[CLIPPED, k]
    if loss.code == SOFTMAX:
        for k in range(0, n_heads, n_targets):
            margins(heads, GRADIENT, k, k + n_targets)
    for group in range(n_groups):
        expert_shares(heads, excess, gap, group)
        for k in range(n_experts):
            heads[EXPERT_LOSS, k] = 0.0
            for j in range(group, n_targets, n_groups):
                head = k * n_targets + j
                unit = heads[UNIT, head] if heads[UNIT, head] > 0 else 1.0
                p, y = heads[GRADIENT, head] / unit, heads[TARGET, j] / unit
                value, _ = loss_and_gradient(loss.code, loss.parameter, p, y)
                heads[EXPERT_LOSS, k] += value * c
                share = heads[SHARE, k] * heads[CLIPPED, head]
                heads[PLAYED, j] = share if k == 0 else heads[PLAYED, j] + share
            heads[EXPERT_LOSS, k] = min(heads[EXPERT_LOSS, k], LARGEST)
        suffer(heads, excess, gap, group)
