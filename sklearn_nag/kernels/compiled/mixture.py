"""Exponential weights as compiled functions; see `state.mixture`.

Functions are strict: if differences of losses were rearranged, a loss that all experts share would swallow them.
"""

import numpy as np

from ..state.lifts import LARGEST, LARGEST_POWER
from ..state.mixture import FAINT, OUTLYING, ROUNDING, SLOPES, STEEPEST, FixedShare
from .arithmetic import exp
from .heads import AVERAGE, CLIPPED, EXPERT_LOSS, LATEST, N_ROWS, PLAYED, SHARE, UNIT
from .jit import entry, strict, strict_slow
from .losses import loss_of


@strict
def exp_or_0(x):
    """Exponential of ``x <= 0``; 0 if it would have lost digits."""
    return exp(max(x, -LARGEST_POWER)) if x >= -LARGEST_POWER else 0.0


@strict_slow
def expert_shares(heads, excess, gap, group):
    """Fill ``SHARE`` with `Mixture.weights` of one group."""
    total = 0.0
    n_experts = excess.shape[1]
    rate = -np.log(n_experts)
    for k in range(n_experts):
        if gap[group] > 0:
            heads[SHARE, k] = exp_or_0(rate * (excess[group, k] / gap[group]))
        else:
            heads[SHARE, k] = 1.0 if excess[group, k] == 0 else 0.0
        total += heads[SHARE, k]
    for k in range(n_experts):
        heads[SHARE, k] /= total


@strict_slow
def beyond(loss, least):
    """How much a loss exceeds another; 0 if rounding may have done it."""
    return loss - least if abs(loss - least) > ROUNDING * abs(loss) else 0.0


@strict
def count_from_best(excess, group):
    """Subtract the least loss of a group from all."""
    least = LARGEST
    for k in range(excess.shape[1]):
        least = min(least, excess[group, k])
    for k in range(excess.shape[1]):
        excess[group, k] -= least


@strict_slow
def suffer(heads, excess, gap, group):
    """Count the losses of one group's experts; see `Mixture.suffer`."""
    n_experts = excess.shape[1]
    rate = min(np.log(n_experts) / gap[group], LARGEST) if gap[group] > 0 else 1.0
    is_unplayed = False
    mean = mixed = 0.0
    least = leader = lead = LARGEST
    for k in range(n_experts):
        least = min(least, heads[EXPERT_LOSS, k])
        if heads[SHARE, k] > 0:
            leader = min(leader, heads[EXPERT_LOSS, k])
    for k in range(n_experts):
        behind = beyond(heads[EXPERT_LOSS, k], leader)
        lead = min(lead, excess[group, k] + behind)
        is_unplayed |= behind < 0.0
        if heads[SHARE, k] > 0:
            mean += heads[SHARE, k] * behind
            mixed += heads[SHARE, k] * exp_or_0(-rate * behind)
    if gap[group] == 0.0:
        of_mixture = lead
    elif is_unplayed or mixed <= FAINT:
        of_mixture = lead + change_of_weights(heads, excess, group, rate, leader, lead) / rate
    else:
        of_mixture = -np.log(mixed) / rate
    for k in range(n_experts):
        excess[group, k] = min(excess[group, k] + beyond(heads[EXPERT_LOSS, k], least), LARGEST)
    count_from_best(excess, group)
    gap[group] = min(gap[group] + max(0.0, mean - of_mixture), LARGEST)


@strict_slow
def fade(excess, gap, group, factor):
    """Fade the losses of one group; see `Mixture.fade`."""
    gap[group] *= factor
    for k in range(excess.shape[1]):
        excess[group, k] *= factor


@strict_slow
def change_of_weights(heads, excess, group, rate, leader, lead):
    """Logarithm of the total weight before a row over that after it, each relative to the leader's."""
    before = after = 0.0
    for k in range(excess.shape[1]):
        before += exp_or_0(-rate * excess[group, k])
        after += exp_or_0(-rate * (excess[group, k] + beyond(heads[EXPERT_LOSS, k], leader) - lead))
    return np.log(before) - np.log(after)


@strict_slow
def share_out(heads, excess, gap, rounds, unit, noise, c, t):
    """Count the losses of one group's experts, and mix their weights with equal ones; see `FixedShare.suffer`."""
    n_experts = excess.shape[1]
    before = rounds[0]
    rounds[0] += 1.0
    counted = min(c, OUTLYING * ((t - c) / before)) if before > 0.0 else c
    counting = counted / c
    mean, least = 0.0, LARGEST
    for k in range(n_experts):
        heads[EXPERT_LOSS, k] *= counting
        mean += heads[SHARE, k] * heads[EXPERT_LOSS, k]
        least = min(least, heads[EXPERT_LOSS, k])
    if unit > 0.0:
        most = min(OUTLYING * gap[0], LARGEST) if gap[0] > 0.0 else LARGEST
        size = min(np.log(n_experts) * unit * max(mean, noise * counting), most)
    else:
        size = np.log(n_experts) * counted
    gap[0] = min(gap[0] + (size - gap[0]) * (counted / t), LARGEST)
    for k in range(n_experts):
        excess[0, k] = min(excess[0, k] + (heads[EXPERT_LOSS, k] - least), LARGEST)
    count_from_best(excess, 0)
    expert_shares(heads, excess, gap, 0)
    part = 1.0 / (rounds[0] + 1.0)
    for k in range(n_experts):
        weight = (1.0 - part) * heads[SHARE, k] + part / n_experts
        excess[0, k] = -np.log(weight) * (gap[0] / np.log(n_experts))
    count_from_best(excess, 0)


@strict_slow
def mix(heads, mixture, n_targets):
    """Mix ``PLAYED``, ``LATEST`` and ``AVERAGE`` of all experts into one prediction each, in place."""
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
def judge(heads, loss, c, mixture, n_targets):
    """Count the losses of the experts' clipped predictions, after `mix`, which leaves the last shares."""
    excess, gap = mixture
    n_groups, n_experts = excess.shape
    for group in range(n_groups):
        if n_groups > 1:
            expert_shares(heads, excess, gap, group)
        for k in range(n_experts):
            heads[EXPERT_LOSS, k] = 0.0
            for j in range(group, n_targets, n_groups):
                head = k * n_targets + j
                unit = heads[UNIT, head] if heads[UNIT, head] > 0.0 else 1.0
                heads[EXPERT_LOSS, k] += loss_of(heads, CLIPPED, loss, unit, unit, head, n_targets) * c
            heads[EXPERT_LOSS, k] = min(heads[EXPERT_LOSS, k], LARGEST)
        suffer(heads, excess, gap, group)


@entry
def play(excess, gap, grows, rounds, unit, losses, noise, row_weights, kept, shares, heads):
    """Play rows, and fill ``shares``; see `Mixture.play`.

    ``rounds`` is empty except for a `FixedShare`; so are arguments not given.
    """
    n_groups, n_experts = excess.shape
    for i in range(losses.shape[0]):
        for group in range(n_groups):
            before = gap[group]
            expert_shares(heads, excess, gap, group)
            for k in range(n_experts):
                shares[i, group, k] = heads[SHARE, k]
                heads[EXPERT_LOSS, k] = losses[i, group, k]
            if rounds.size > 0:
                c, t = (row_weights[i, 0], row_weights[i, 1]) if row_weights.size > 0 else (1.0, rounds[0] + 1.0)
                share_out(heads, excess, gap, rounds, unit, noise[i] if noise.size > 0 else 0.0, c, t)
                continue
            fade(excess, gap, group, kept[i])
            suffer(heads, excess, gap, group)
            if not grows:
                gap[group] = before


PLACES = {name: np.int64(place) for place, name in enumerate(SLOPES)}
NONE = np.empty(0)
LOG, SQUARE = PLACES["log_loss"], PLACES["squared_error"]


@entry
def blend(excess, gap, loss, forecasts, row_weight, kept, shares, heads):
    """Blend forecasts of rows, and fill ``shares``; see `Mixture.blend`."""
    n_rows, n_groups, n_experts = forecasts.shape
    for i in range(n_rows):
        for group in range(n_groups):
            expert_shares(heads, excess, gap, group)
            blended = 0.0
            for k in range(n_experts):
                shares[i, group, k] = heads[SHARE, k]
                blended += heads[SHARE, k] * forecasts[i, group, k]
            slope = -1.0 / blended if loss == LOG else blended if loss == SQUARE else np.sign(blended)
            for k in range(n_experts):
                value = slope * (forecasts[i, group, k] - blended) * row_weight[i]
                heads[EXPERT_LOSS, k] = 0.0 if np.isnan(value) else min(max(value, -STEEPEST), STEEPEST)
            fade(excess, gap, group, kept[i])
            suffer(heads, excess, gap, group)


def blend_mixture(mixture, forecasts, loss, row_weight, kept=None):
    """Let a mixture blend forecasts; see `Mixture.blend`."""
    by_row, kept, shares, heads = _arrays(mixture, forecasts, kept)
    blend(mixture.excess, mixture.gap, PLACES[loss], by_row, row_weight, kept, shares, heads)
    return shares.reshape(forecasts.shape)


def play_mixture(mixture, losses, noise=None, row_weights=None, kept=None):
    """Let a mixture play rows; see `Mixture.play`."""
    by_row, kept, shares, heads = _arrays(mixture, losses, kept)
    rounds, unit = (mixture.rounds, mixture.unit) if isinstance(mixture, FixedShare) else (NONE, 0.0)
    noise = NONE if noise is None else noise
    row_weights = np.empty((0, 2)) if row_weights is None else row_weights
    own = mixture.excess, mixture.gap, mixture.grows, rounds, float(unit)
    play(*own, by_row, noise, row_weights, kept, shares, heads)
    return shares.reshape(losses.shape)


def _arrays(mixture, values, kept):
    """Values by row, group and expert; factors of fading before each row; and room for shares and heads."""
    by_row = values.reshape(-1, *mixture.excess.shape)
    kept = np.ones(len(by_row)) if kept is None else kept
    return by_row, kept, np.empty(by_row.shape), np.zeros((N_ROWS, by_row.shape[2]))
