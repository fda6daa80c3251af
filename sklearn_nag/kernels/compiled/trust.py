"""Trust in the latest weights and in their average, as compiled functions; see `state.judged`."""

from typing import NamedTuple

import numpy as np

from ..state.judged import ROUND
from .heads import AVERAGE, CLIPPED, EXPERT_LOSS, LATEST, LOSS, SHARE, UNIT
from .jit import strict, strict_slow
from .losses import loss_of, total_loss
from .mixture import expert_shares, suffer


class Trust(NamedTuple):
    """What is known of the latest weights and their average, the share of the latter, and the group of each head."""

    excess: np.ndarray
    gap: np.ndarray
    due: np.ndarray
    waiting: np.ndarray
    share: np.ndarray
    groups: np.ndarray


@strict_slow
def end_round(heads, trust):
    """Let AdaHedge suffer the losses of a round; see `JudgedState.judge`."""
    trust.waiting[0] = 0.0
    for group in range(trust.gap.size):
        expert_shares(heads, trust.excess, trust.gap, group)
        for k in range(2):
            heads[EXPERT_LOSS, k] = trust.due[group, k]
            trust.due[group, k] = 0.0
        suffer(heads, trust.excess, trust.gap, group)
    share_average(heads, trust)


@strict_slow
def share_average(heads, trust):
    """Update the share of the average in predictions."""
    for group in range(trust.gap.size):
        expert_shares(heads, trust.excess, trust.gap, group)
        trust.share[group] = heads[SHARE, 1]


NOT_KNOWN = -1.0  # a share, before the first row of a call


def trust_of(state):
    """`Trust` of a model, whose shares the first row fills; the caller must copy ``waiting`` back."""
    rule = state.rule
    groups, shares = rule.groups(np.arange(rule.n_heads)), np.full(max(rule.n_judged, 1), NOT_KNOWN)
    return Trust(state.trust.excess, state.trust.gap, state.due, np.array([state.waiting]), shares, groups)


@strict
def blend(heads, trust, n_heads):
    """Fill ``CLIPPED`` with the blend of predictions by the latest weights and by their average."""
    if trust.share[0] == NOT_KNOWN:
        share_average(heads, trust)
    for k in range(n_heads):
        behind = heads[LATEST, k] - heads[AVERAGE, k]
        heads[CLIPPED, k] = heads[LATEST, k] - trust.share[trust.groups[k]] * behind


@strict_slow
def judge_row(heads, loss, c, trust, n_targets, told):
    """Count the losses of clipped predictions by the latest weights and by their average.

    ``told`` is whether ``LOSS`` holds those of the latest weights.
    """
    for j in range(n_targets):
        unit, group = heads[UNIT, j] if heads[UNIT, j] > 0.0 else 1.0, trust.groups[j]
        of_latest = heads[LOSS, j] if told else loss_of(heads, LATEST, loss, unit, unit, j, n_targets)
        of_average = loss_of(heads, AVERAGE, loss, unit, unit, j, n_targets)
        trust.due[group, 0] = total_loss(trust.due[group, 0], of_latest, c)
        trust.due[group, 1] = total_loss(trust.due[group, 1], of_average, c)
    trust.waiting[0] += 1.0
    if trust.waiting[0] >= ROUND:
        end_round(heads, trust)
