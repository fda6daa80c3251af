"""Exponential weights as compiled functions; see `state.mixture`.

Differences of losses are taken as they are written: rearranged, a loss that all experts share would swallow them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..state.lifts import LARGEST
from ..state.mixture import SLOPES, STEEPEST
from .constants import IS_COUPLED
from .heads import AVERAGE, CLIPPED, EXPERT_LOSS, LATEST, N_ROWS, PLAYED, SHARE, TARGET, UNIT
from .jit import entry, strict_slow
from .losses import loss_and_gradient, margin


@strict_slow
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


@strict_slow
def suffer(heads, excess, gap, group):
    """As `Mixture.suffer`, for one group."""
    n_experts = excess.shape[1]
    rate = min(np.log(n_experts) / gap[group], LARGEST) if gap[group] > 0 else 1.0
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


@strict_slow
def mix(heads, mixture, n_targets):
    """Make one prediction of those of all experts: of ``PLAYED``, ``LATEST`` and ``AVERAGE``, in their places."""
    excess, gap = mixture
    n_groups, n_experts = excess.shape
    for group in range(n_groups):
        expert_shares(heads, excess, gap, group)
        for j in range(group, n_targets, n_groups):
            for row in (PLAYED, LATEST, AVERAGE):
                total = 0.0
                for k in range(n_experts):
                    share = heads[SHARE, k] * heads[row, k * n_targets + j]
                    total = share if k == 0 else total + share
                heads[row, j] = total


@strict_slow
def loss_in_units(heads, row, loss, k, n_targets):
    """As `losses.loss_of`, with predictions and targets in units; strict, as one over the least units is infinite."""
    unit = heads[UNIT, k] if heads[UNIT, k] > 0 else 1.0
    p, y = heads[row, k], heads[TARGET, k % n_targets] / unit
    if IS_COUPLED:
        if y < 0.0:
            return 0.0
        p = margin(heads, row, k, n_targets)
    value, _ = loss_and_gradient(loss.code, loss.parameter, p / unit, y)
    return value


@strict_slow
def judge(heads, loss, c, mixture, n_targets):
    """Count the losses of the experts, by their clipped predictions."""
    excess, gap = mixture
    n_groups, n_experts = excess.shape
    for group in range(n_groups):
        expert_shares(heads, excess, gap, group)
        for k in range(n_experts):
            heads[EXPERT_LOSS, k] = 0.0
            for j in range(group, n_targets, n_groups):
                head = k * n_targets + j
                heads[EXPERT_LOSS, k] += loss_in_units(heads, CLIPPED, loss, head, n_targets) * c
            heads[EXPERT_LOSS, k] = min(heads[EXPERT_LOSS, k], LARGEST)
        suffer(heads, excess, gap, group)


@strict_slow
def judge_average(heads, loss, c, trust, latest, average, k, n_targets):
    """Count the losses of predictions by the latest weights and by their average; negative if not known yet."""
    due, group = trust.due, trust.groups[k]
    if latest < 0.0:
        latest = loss_in_units(heads, LATEST, loss, k, n_targets)
    if average < 0.0:
        average = loss_in_units(heads, AVERAGE, loss, k, n_targets)
    due[group, 0] = min(due[group, 0] + min(latest * c, LARGEST), LARGEST)
    due[group, 1] = min(due[group, 1] + min(average * c, LARGEST), LARGEST)


@strict_slow
def end_round(heads, trust):
    """Let AdaHedge suffer the losses of a round, as `State.judge` of `nag.rule`."""
    for group in range(trust.gap.size):
        expert_shares(heads, trust.excess, trust.gap, group)
        for k in range(2):
            heads[EXPERT_LOSS, k] = trust.due[group, k]
            trust.due[group, k] = 0.0
        suffer(heads, trust.excess, trust.gap, group)


@strict_slow
def share_average(heads, trust):
    """Note the share that the average has in what predicts."""
    for group in range(trust.gap.size):
        expert_shares(heads, trust.excess, trust.gap, group)
        trust.share[group] = heads[SHARE, 1]


class Trust(NamedTuple):
    """What is known of the latest weights and their average, the share of the latter, and the group of each head."""

    excess: np.ndarray
    gap: np.ndarray
    due: np.ndarray
    share: np.ndarray
    groups: np.ndarray


def compiled_trust(state):
    """`Trust` of a model of the NAG family; compiled code fills shares that change."""
    rule = state.rule
    groups = rule.groups(np.arange(rule.n_heads))
    share = np.full(groups.max() + 1, 1.0 - rule.last)
    return Trust(state.trust.excess, state.trust.gap, state.due, share, groups)


@entry
def play(excess, gap, grows, losses, shares, heads):
    """As `Mixture.play`; ``shares`` is filled."""
    for i in range(losses.shape[0]):
        before = gap[0]
        expert_shares(heads, excess, gap, 0)
        for k in range(excess.shape[1]):
            shares[i, k] = heads[SHARE, k]
            heads[EXPERT_LOSS, k] = losses[i, k]
        suffer(heads, excess, gap, 0)
        if not grows:
            gap[0] = before


PLACES = {name: np.int64(place) for place, name in enumerate(SLOPES)}
LOG, SQUARE = PLACES["log_loss"], PLACES["squared_error"]


@entry
def blend(excess, gap, loss, forecasts, row_weight, shares, heads):
    """As `Mixture.blend`; ``shares`` is filled."""
    n_rows, n_experts, n_values = forecasts.shape
    for i in range(n_rows):
        expert_shares(heads, excess, gap, 0)
        for k in range(n_experts):
            shares[i, k] = heads[SHARE, k]
            heads[EXPERT_LOSS, k] = 0.0
        for j in range(n_values):
            blended = 0.0
            for k in range(n_experts):
                blended += shares[i, k] * forecasts[i, k, j]
            slope = -1.0 / blended if loss == LOG else blended if loss == SQUARE else np.sign(blended)
            for k in range(n_experts):
                heads[EXPERT_LOSS, k] += slope * (forecasts[i, k, j] - blended)
        for k in range(n_experts):
            value = heads[EXPERT_LOSS, k] * (row_weight[i] / n_values)
            heads[EXPERT_LOSS, k] = 0.0 if np.isnan(value) else min(max(value, -STEEPEST), STEEPEST)
        suffer(heads, excess, gap, 0)


def play_blend(mixture, forecasts, loss, row_weight):
    """As `Mixture.blend`."""
    shares = np.empty(forecasts.shape[:2])
    heads = np.zeros((N_ROWS, shares.shape[1]))
    blend(mixture.excess, mixture.gap, PLACES[loss], forecasts, row_weight, shares, heads)
    return shares


def play_mixture(mixture, losses):
    """As `Mixture.play`."""
    shares = np.empty_like(losses)
    play(mixture.excess, mixture.gap, mixture.grows, losses, shares, np.zeros((N_ROWS, losses.shape[1])))
    return shares
