"""What is played of what rows have predicted: shares of experts, of the latest weights and their average, and losses.

None of it changes what is learnt, as slopes are those of the latest weights. So compiled loops over rows note what each
row needs for it, and one function plays them all: it is compiled once, whatever rules learn, and whatever rows they
read.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from ..compiled.constants import FADES_ON_THE_WAY, HAS_TARGET_UNIT, OF_RATE
from ..compiled.fading import factor_due
from ..compiled.handover import NOTHING_KEPT, plain
from ..compiled.heads import (
    AVERAGE,
    CLIPPED,
    EXPERT_LOSS,
    HIGH,
    LATEST,
    LOSS,
    LOW,
    MEAN_BEFORE,
    PLAYED,
    PLAYED_LEAST,
    PLAYED_MOST,
    SHARE,
    TARGET,
    UNIT,
)
from ..compiled.jit import entry, fast, for_rule, strict, strict_slow
from ..compiled.losses import CompiledLoss, compiled_loss, loss_constants, loss_of
from ..compiled.mixture import expert_shares, judge, mix, suffer
from ..compiled.targets import ORIGIN
from ..state.fading import fades_per_weight
from ..state.lifts import LARGEST
from .rule import ROUND

AT_ONCE = 2**17  # numbers that are noted before rows are played, which then are in a cache still
PER_HEAD, PER_TARGET = 3, 5  # numbers that are noted, after the weight of the row
ALMOST_NONE = 1e-15  # a share that changes no digit: what is played alone has been judged then


@fast
def note(noted, row, heads, rule, c):
    """Note the weight of a row; predictions by the latest weights and how much less the average predicts; targets."""
    noted[row, 0], place = c, 1
    for k in range(rule.n_heads):
        noted[row, place], noted[row, place + 1] = heads[LATEST, k], heads[AVERAGE, k]
        noted[row, place + 2] = heads[LOSS, k]
        place += PER_HEAD
    for j in range(rule.n_targets):
        noted[row, place], noted[row, place + 1] = heads[TARGET, j], heads[MEAN_BEFORE, j]
        noted[row, place + 2], noted[row, place + 3] = heads[PLAYED_LEAST, j], heads[PLAYED_MOST, j]
        noted[row, place + 4] = heads[UNIT, j]
        place += PER_TARGET


@fast
def read_note(noted, step, heads, trust, n_heads, n_targets, is_mixed):
    """Fill the table of heads from what has been noted."""
    of_targets = 1 + PER_HEAD * n_heads
    place = of_targets
    for k in range(n_heads):
        own = 1 + PER_HEAD * k
        latest, behind = noted[step, own], noted[step, own + 1]
        heads[LOSS, k] = noted[step, own + 2]
        mean, least, most = noted[step, place + 1], noted[step, place + 2], noted[step, place + 3]
        average, played = latest - behind, latest - trust.share[trust.groups[k]] * behind
        heads[TARGET, k], heads[UNIT, k] = noted[step, place], noted[step, place + 4]
        held = min(max(played + mean, least), most)
        if is_mixed:
            heads[LATEST, k], heads[AVERAGE, k], heads[PLAYED, k], heads[CLIPPED, k] = latest, average, played, held
        else:
            heads[LATEST, k], heads[PLAYED, k] = min(max(latest + mean, least), most), held
            heads[AVERAGE, k] = min(max(average + mean, least), most)
        place += PER_TARGET
        place = of_targets if place == noted.shape[1] else place


@strict_slow
def mix_and_hold(noted, step, heads, c, loss, mixture, n_heads, n_targets):
    """Make one prediction of those of all experts, and hold it within its range; count the losses of the experts."""
    mix(heads, mixture, n_targets)
    for j in range(n_targets):
        place = 1 + PER_HEAD * n_heads + PER_TARGET * j
        for row in (LATEST, AVERAGE, PLAYED):
            value = heads[row, j] + noted[step, place + 1]
            heads[row, j] = min(max(value, noted[step, place + 2]), noted[step, place + 3])
    judge(heads, loss, c, mixture, n_targets)


@strict
def judge_average(heads, rule, loss, c, trust, of_played, of_target, k, n_targets):
    """Count the losses of predictions by the latest weights and by their average, in units of the target."""
    group, unit = trust.groups[k], of_target if of_target > 0.0 else 1.0
    if rule.told:
        of_latest = heads[LOSS, k]
    else:
        of_latest = loss_of(heads, LATEST, loss, unit, unit, k, n_targets)
    if rule.told and trust.share[group] >= 1.0 - ALMOST_NONE and not rule.plays_latest:
        of_average = of_played
    else:
        of_average = loss_of(heads, AVERAGE, loss, unit, unit, k, n_targets)
    trust.due[group, 0] = min(trust.due[group, 0] + min(of_latest * c, LARGEST), LARGEST)
    trust.due[group, 1] = min(trust.due[group, 1] + min(of_average * c, LARGEST), LARGEST)


@strict_slow
def end_round(heads, trust):
    """Let AdaHedge suffer the losses of a round, as `State.judge`."""
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
    """Note the share that the average has in what predicts."""
    for group in range(trust.gap.size):
        expert_shares(heads, trust.excess, trust.gap, group)
        trust.share[group] = heads[SHARE, 1]


@strict_slow
def fade_played(heads, rule, mixture, trust, factor):
    """As `forgetting.fade`, of what is played alone."""
    if mixture is not None:
        for group in range(mixture[1].size):
            mixture[1][group] *= factor
            for k in range(mixture[0].shape[1]):
                mixture[0][group, k] *= factor
    if rule.judged:
        for group in range(trust.gap.size):
            trust.gap[group] *= factor
            for k in range(2):
                trust.excess[group, k] *= factor
                trust.due[group, k] *= factor
        share_average(heads, trust)


class Trust(NamedTuple):
    """What is known of the latest weights and their average, the share of the latter, and the group of each head."""

    excess: np.ndarray
    gap: np.ndarray
    due: np.ndarray
    waiting: np.ndarray
    share: np.ndarray
    groups: np.ndarray


class PlayedRule(NamedTuple):
    """What is read of a `Rule` to play."""

    n_targets: int
    n_heads: int
    judged: bool
    plays_latest: bool
    told: bool  # whether the loss that has been noted is that of the latest weights
    fades: float  # how often all fades for a weight of 1


@entry
def play_rows(noted, heads, rule, loss, losses, mixture, trust, target, ages, begins, played, of_rows):
    """Play the rows that were noted; ``begins`` tells whether the first of them is the first of all.

    Predictions go to ``played``, and what they lose to ``of_rows``, where these have room.

    ``ages`` is the total weight of the rows before, and by how many parts of a half-life what was learnt has faded.

    ``mixture`` is None for models that mix no experts, so that nothing is compiled for it. Returns whether all
    predictions are finite. ``rule``, ``loss`` and ``trust`` are plain tuples, which are handed over sooner.
    """
    rule, loss, trust = PlayedRule(*rule), CompiledLoss(*loss), Trust(*trust)
    n_targets, n_heads, wrong = rule.n_targets, rule.n_heads, 0
    if rule.judged:
        share_average(heads, trust)
    for step in range(noted.shape[0]):
        c = noted[step, 0]
        read_note(noted, step, heads, trust, n_heads, n_targets, mixture is not None)
        if mixture is not None:
            mix_and_hold(noted, step, heads, c, loss, mixture, n_heads, n_targets)
        row = LATEST if rule.plays_latest else PLAYED
        for k in range(losses.size):
            of_target = heads[UNIT, k]
            share = trust.share[trust.groups[k]]
            if rule.told and (share <= ALMOST_NONE or rule.plays_latest):
                of_played = heads[LOSS, k]
            else:
                of_played = loss_of(heads, row, loss, of_target, 1.0, k, n_targets)
            losses[k] = min(losses[k] + min(of_played * c, LARGEST), LARGEST)
            if of_rows.size > 0:
                of_rows[step, k] = of_played
            if rule.judged:
                judge_average(heads, rule, loss, c, trust, of_played, of_target, k, n_targets)
            p = heads[row, k]
            if OF_RATE:
                p = min(max(p, heads[LOW, k]), heads[HIGH, k])
            elif HAS_TARGET_UNIT:
                p += target[ORIGIN, k % n_targets]
                if begins and step == 0:  # before the first target there is nothing to predict by
                    p = min(max(0.0, heads[LOW, k]), heads[HIGH, k])
            wrong |= not abs(p) <= LARGEST
            if played.size > 0:
                played[step, k] = p
        if rule.judged:
            trust.waiting[0] += 1.0
            if trust.waiting[0] >= ROUND:
                end_round(heads, trust)
        if FADES_ON_THE_WAY:
            factor = factor_due(ages, 0, rule.fades, c)
            if factor != 1.0:
                fade_played(heads, rule, mixture, trust, factor)
    return wrong == 0


class Constants(NamedTuple):
    """What code is compiled for; see `compiled.constants`."""

    has_target_unit: bool
    of_margin: bool
    of_rate: bool
    is_coupled: bool
    fades_on_the_way: bool


class Player:
    """Plays the rows that a model learns, from `begin` on, call by call.

    Parameters
    ----------
    state : State
        The model.
    loss : object
        The loss.
    losses : ndarray
        Where losses are added up.
    target : ndarray
        The table of the targets.
    heads : ndarray
        The table of the heads.
    """

    def __init__(self, state, loss, losses, target, heads):
        rule = state.rule
        self.width = 1 + PER_HEAD * rule.n_heads + PER_TARGET * rule.n_targets
        self.most_rows = max(1, AT_ONCE // self.width)
        self.begins, self.waiting, self.ages = False, np.zeros(1), np.zeros(2)
        self.of_rows, self.done = NOTHING_KEPT, 0
        self.function, played_rule, groups, share = compiled(rule, type(loss))
        self.model = (
            heads,
            plain(played_rule),
            plain(compiled_loss(loss)),
            losses,
            (state.mixture.excess, state.mixture.gap) if rule.n_played < rule.n_heads else None,
            plain(Trust(state.trust.excess, state.trust.gap, state.due, self.waiting, share.copy(), groups)),
            target,
            self.ages,
        )

    def begin(self, state, of_rows=None):
        """Take the model as it is before the first row to come, and an array for what predictions lose, by row."""
        self.of_rows, self.done = NOTHING_KEPT if of_rows is None else of_rows, 0
        self.begins, self.waiting[0], self.ages[:] = state.t == 0, state.waiting, (state.age, state.faded)

    def room(self, n_rows):
        """Array for what rows note."""
        return np.empty((n_rows, self.width))

    def play(self, noted, kept):
        """Play rows; fill ``kept`` with the predictions, if it has room; tell whether they are finite."""
        rows = slice(self.done, self.done + len(noted))
        ok = self.function(noted, *self.model, self.begins, kept, self.of_rows[rows])
        self.begins, self.done = False, rows.stop
        return ok


@functools.lru_cache
def compiled(rule, loss):
    """The function for a rule and a class of losses, what it reads of the rule, groups of heads, and fixed shares."""
    constants = Constants(rule.target_unit, fades_on_the_way=rule.fades_on_the_way, **loss_constants(loss))
    function = for_rule(play_rows, constants)
    told = not rule.target_unit and rule.clip is None and rule.n_played == rule.n_heads
    groups = rule.groups(np.arange(rule.n_heads))
    shares = np.full(groups.max() + 1, 1.0 - rule.last if rule.averaged else 0.0)
    values = rule.n_targets, rule.n_heads, rule.judged, rule.plays_latest, told, fades_per_weight(rule)
    return function, PlayedRule(*values), groups, shares
