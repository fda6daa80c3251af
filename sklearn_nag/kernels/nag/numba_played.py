"""Playing what rows have predicted: shares of experts, of the latest weights and of their average, and losses.

This changes nothing that is learnt, because slopes are those of the latest weights. Compiled loops therefore only note
what it needs, and `play_rows`, of which most rules and all kinds of rows share one compiled copy, plays what they
noted. It takes eight rows at a time unless these wait for one another, as they do if experts are mixed.
"""

import functools
from typing import NamedTuple

import numpy as np

from ..compiled.constants import (
    FADES_ON_THE_WAY,
    HAS_ONE_HEAD,
    HAS_TARGET_UNIT,
    OF_MARGIN,
    OF_RATE,
    PLAYS_EIGHT,
    constants_of,
)
from ..compiled.fading import factor_due
from ..compiled.handover import NOTHING_KEPT, plain
from ..compiled.heads import (
    AVERAGE,
    CLIPPED,
    HIGH,
    LATEST,
    LOSS,
    LOW,
    MEAN_BEFORE,
    PLAYED,
    PLAYED_LEAST,
    PLAYED_MOST,
    TARGET,
    UNIT,
    held,
)
from ..compiled.jit import entry_by_eight, fast, for_rule, strict, strict_slow
from ..compiled.losses import (
    LOG,
    SQUARED,
    CompiledLoss,
    compiled_loss,
    inverse_power,
    log_loss,
    loss_and_gradient,
    loss_constants,
    loss_of,
    total_loss,
)
from ..compiled.mixture import fade, judge, mix
from ..compiled.targets import ORIGIN
from ..compiled.trust import Trust, end_round, share_average
from ..compiled.vectors import WIDTH, anywhere, eight, load, maximum, minimum, store, where
from ..state.fading import fades_per_weight
from ..state.judged import ROUND
from ..state.lifts import LARGEST

AT_ONCE = 2**17  # numbers noted before rows are played, when they are still in a cache
PER_HEAD, PER_TARGET = 3, 5  # numbers noted after the weight of the row
# Lines of results: two for a loss that is taken number by number; then, for each head, the played prediction, and the
# losses of that, of the latest weights and of their average.
PREDICTED, CAME_TRUE, FIRST = range(3)
P, OF_PLAYED, OF_LATEST, OF_AVERAGE = range(FIRST, FIRST + 4)
PER_RESULT = 4
ALMOST_NONE = 1e-15  # a share that changes no digit: the other part is played alone, and its loss is known


@fast
def sizes_of(rule):
    """Numbers of heads and of targets."""
    return (1, 1) if HAS_ONE_HEAD else (rule.n_heads, rule.n_targets)


@fast
def put(noted, place, value):
    """Write at a place; unsigned, because signed ones may count from the end."""
    noted[np.uint64(place)] = value


@fast
def note(noted, row, heads, rule, c):
    """Note what playing a row needs: its weight, `PER_HEAD` numbers for each head, `PER_TARGET` for each target.

    For rows played at once, the values of each number are contiguous; the next rows come after all of them.
    """
    n_heads, n_targets = sizes_of(rule)
    n, apart = 1 + PER_HEAD * n_heads + PER_TARGET * n_targets, WIDTH if HAS_ONE_HEAD or rule.plays_eight else 1
    place = row // WIDTH * WIDTH * n + row % WIDTH if apart == WIDTH else row * n
    put(noted, place, c)
    for k in range(n_heads):
        for i, told in enumerate((LATEST, AVERAGE, LOSS)):
            put(noted, place + apart * (1 + PER_HEAD * k + i), heads[told, k])
    place += apart * (1 + PER_HEAD * n_heads)
    for j in range(n_targets):
        for i, told in enumerate((TARGET, MEAN_BEFORE, PLAYED_LEAST, PLAYED_MOST, UNIT)):
            put(noted, place + apart * (PER_TARGET * j + i), heads[told, j])


@fast
def read_note(noted, at, own, heads, trust, n_heads, n_targets, is_mixed):
    """Fill the table of heads from the note of a row; clip predictions that are not to be mixed."""
    of_targets = at + 1 + PER_HEAD * n_heads
    for k in range(n_heads):
        line, place = at + 1 + PER_HEAD * k, of_targets + PER_TARGET * (k % n_targets)
        for i, told in enumerate((TARGET, MEAN_BEFORE, PLAYED_LEAST, PLAYED_MOST, UNIT)):
            heads[told, k] = noted[place + i, own]
        latest, behind = noted[line, own], noted[line + 1, own]
        heads[LATEST, k], heads[AVERAGE, k], heads[LOSS, k] = latest, latest - behind, noted[line + 2, own]
        heads[PLAYED, k] = latest - trust.share[trust.groups[k]] * behind
        heads[CLIPPED, k] = held(heads, PLAYED, k, k)
        if not is_mixed:
            hold(heads, k)


@strict_slow
def mix_and_hold(heads, c, loss, mixture, n_targets):
    """Mix the experts' predictions into one, clip it to its range, and count their losses."""
    mix(heads, mixture, n_targets)
    for j in range(n_targets):
        hold(heads, j)
    judge(heads, loss, c, mixture, n_targets)


@strict
def hold(heads, k):
    """Clip the predictions of a head to their range."""
    for row in (LATEST, AVERAGE, PLAYED):
        heads[row, k] = held(heads, row, k, k)


@strict
def play_one(heads, rule, loss, trust, k):
    """What a head plays for a row, and the losses of that, of the latest weights and of the average."""
    row, n_targets, share = LATEST if rule.plays_latest else PLAYED, rule.n_targets, trust.share[trust.groups[k]]
    of_target = heads[UNIT, k]
    if rule.told and (share <= ALMOST_NONE or rule.plays_latest):
        of_played = heads[LOSS, k]
    else:
        of_played = loss_of(heads, row, loss, of_target, 1.0, k, n_targets)
    of_latest = of_average = of_played
    if rule.judged:
        unit = of_target if of_target > 0.0 else 1.0
        if rule.told:
            of_latest = heads[LOSS, k]
        else:
            of_latest = loss_of(heads, LATEST, loss, unit, unit, k, n_targets)
        if not (rule.told and share >= 1.0 - ALMOST_NONE and not rule.plays_latest):
            of_average = loss_of(heads, AVERAGE, loss, unit, unit, k, n_targets)
    return heads[row, k], of_played, of_latest, of_average


@fast
def play_eight(noted, at, rule, loss, trust, results):
    """Fill ``results`` as `play_one`, for eight rows, the last of which may not have been noted yet."""
    n_heads, n_targets = sizes_of(rule)
    of_targets = at + 1 + PER_HEAD * n_heads
    for k in range(n_heads):
        line, place, own = at + 1 + PER_HEAD * k, of_targets + PER_TARGET * (k % n_targets), PER_RESULT * k
        share = trust.share[trust.groups[k]]
        latest, behind, told = load(noted, line, 0), load(noted, line + 1, 0), load(noted, line + 2, 0)
        y, mean, of_target = load(noted, place, 0), load(noted, place + 1, 0), load(noted, place + 4, 0)
        least, most = load(noted, place + 2, 0), load(noted, place + 3, 0)
        played = minimum(maximum(latest - share * behind + mean, least), most)
        average = minimum(maximum(latest - behind + mean, least), most)
        latest = minimum(maximum(latest + mean, least), most)
        played = latest if rule.plays_latest else played
        unit = where(of_target > 0.0, of_target, 1.0)
        store(results, own + P, 0, played)
        if rule.told and (share <= ALMOST_NONE or rule.plays_latest):
            store(results, own + OF_PLAYED, 0, told)
        else:
            lose(results, own + OF_PLAYED, loss, played, y, of_target, eight(1.0))
        if rule.judged:
            if rule.told:
                store(results, own + OF_LATEST, 0, told)
            else:
                lose(results, own + OF_LATEST, loss, latest, y, unit, unit)
            if rule.told and share >= 1.0 - ALMOST_NONE and not rule.plays_latest:
                store(results, own + OF_AVERAGE, 0, load(results, own + OF_PLAYED, 0))
            else:
                lose(results, own + OF_AVERAGE, loss, average, y, unit, unit)


@strict_slow
def lose(results, line, loss, p, y, of_target, unit):
    """Fill a line with the losses (`loss_of`) of eight predictions, if losses do not compare heads."""
    is_log = OF_MARGIN and not HAS_TARGET_UNIT and loss.code == LOG
    if is_log:
        store(results, line, 0, log_loss(y * p, inverse_power(y * p)))
        if not anywhere(abs(y) < 1.0):
            return
    elif not OF_MARGIN and not OF_RATE and loss.code == SQUARED:
        residual = (p - y) / unit
        store(results, line, 0, 0.5 * residual * residual)
        return
    else:
        p, y = p / unit, y / unit
        store(results, line, 0, loss.parameter * (of_target / unit) if loss.scaled else eight(loss.parameter))
    store(results, PREDICTED, 0, p)
    store(results, CAME_TRUE, 0, y)
    for i in range(WIDTH):
        y_i = results[CAME_TRUE, i]
        if not is_log or abs(y_i) < 1.0:  # a soft label
            results[line, i], _ = loss_and_gradient(loss.code, results[line, i], results[PREDICTED, i], y_i)


@strict_slow
def fade_played(heads, rule, mixture, trust, factor):
    """Fade what concerns played predictions alone; see `forgetting.fade`."""
    if mixture is not None:
        for group in range(mixture[1].size):
            fade(mixture[0], mixture[1], group, factor)
    if rule.judged:
        for group in range(trust.gap.size):
            fade(trust.excess, trust.gap, group, factor)
            for k in range(2):
                trust.due[group, k] *= factor
        share_average(heads, trust)


class PlayedRule(NamedTuple):
    """What `play_rows` reads of a `Rule`."""

    n_targets: int
    n_heads: int
    judged: bool
    plays_latest: bool
    told: bool  # whether the noted loss is that of the latest weights
    fades: float  # fadings per unit of weight


@entry_by_eight
def play_rows(noted, n_rows, heads, rule, loss, losses, mixture, trust, target, ages, results, begins, played, of_rows):
    """Play the rows that were noted; return whether all predictions are finite.

    Predictions go to ``played``, and their losses to ``of_rows``, if these have room; ``results`` is scratch.
    ``begins`` tells whether the model begins with the first row. ``ages`` has the total weight of earlier rows, and the
    parts of a half-life that have faded. ``mixture`` is None if no experts are mixed, so that nothing is compiled for
    it. ``rule``, ``loss`` and ``trust`` are plain tuples, which are passed faster.
    """
    rule, loss, trust = PlayedRule(*rule), CompiledLoss(*loss), Trust(*trust)
    n_heads, n_targets = sizes_of(rule)
    n_played, width, wrong = 1 if HAS_ONE_HEAD else losses.size, 1 + PER_HEAD * n_heads + PER_TARGET * n_targets, 0
    if rule.judged:
        share_average(heads, trust)
    is_played = False  # whether results of the current eight rows are by the current shares
    for step in range(n_rows):
        at, own = (step // WIDTH * width, step % WIDTH) if PLAYS_EIGHT else (step * width, 0)
        c = noted[at, own]
        if PLAYS_EIGHT:
            if own == 0 or not is_played:
                play_eight(noted, at, rule, loss, trust, results)
                is_played = True
        else:
            read_note(noted, at, own, heads, trust, n_heads, n_targets, mixture is not None)
            if mixture is not None:
                mix_and_hold(heads, c, loss, mixture, n_targets)
        for k in range(n_played):
            if PLAYS_EIGHT:
                line = PER_RESULT * k
                p, of_played = results[line + P, own], results[line + OF_PLAYED, own]
                of_latest, of_average = results[line + OF_LATEST, own], results[line + OF_AVERAGE, own]
            else:
                p, of_played, of_latest, of_average = play_one(heads, rule, loss, trust, k)
            losses[k] = total_loss(losses[k], of_played, c)
            if of_rows.size > 0:
                of_rows[step, k] = of_played
            if rule.judged:
                group = trust.groups[k]
                trust.due[group, 0] = total_loss(trust.due[group, 0], of_latest, c)
                trust.due[group, 1] = total_loss(trust.due[group, 1], of_average, c)
            if OF_RATE:
                p = min(max(p, heads[LOW, k]), heads[HIGH, k])
            elif HAS_TARGET_UNIT:
                p += target[ORIGIN, k % n_targets]
                if begins and step == 0:  # before the first target there is nothing to predict from
                    p = min(max(0.0, heads[LOW, k]), heads[HIGH, k])
            wrong |= not abs(p) <= LARGEST
            if played.size > 0:
                played[step, k] = p
        if rule.judged:
            trust.waiting[0] += 1.0
            if trust.waiting[0] >= ROUND:
                end_round(heads, trust)
                is_played = False
        if FADES_ON_THE_WAY:
            factor = factor_due(ages, 0, rule.fades, c)
            if factor != 1.0:
                fade_played(heads, rule, mixture, trust, factor)
                is_played = False
    return wrong == 0


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
        self.width, self.at_once = 1 + PER_HEAD * rule.n_heads + PER_TARGET * rule.n_targets, at_once(rule, loss)
        self.most_rows = max(1, AT_ONCE // (self.width * WIDTH)) * WIDTH
        self.table = np.zeros((self.width, self.at_once))
        self.small = self.table.ravel()  # a view of the same numbers
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
            np.zeros((FIRST + PER_RESULT * rule.n_heads, WIDTH)),
        )

    def begin(self, state, of_rows=None):
        """Start before the model's next row; losses of rows go to ``of_rows``, if given."""
        self.of_rows, self.done = NOTHING_KEPT if of_rows is None else of_rows, 0
        self.begins, self.waiting[0], self.ages[:] = state.t == 0, state.waiting, (state.age, state.faded)

    def room(self, n_rows):
        """Array for notes of rows, always the same for few: single rows come faster than one is made."""
        if n_rows <= self.at_once:
            return self.small
        return np.empty(-(-n_rows // self.at_once) * self.width * self.at_once)

    def play(self, noted, n_rows, kept):
        """Play rows; fill ``kept`` with predictions, if it has room; return whether they are finite."""
        rows = slice(self.done, self.done + n_rows)
        table = self.table if noted is self.small else noted.reshape(-1, self.at_once)
        ok = self.function(table, n_rows, *self.model, self.begins, kept, self.of_rows[rows])
        self.begins, self.done = False, rows.stop
        return ok


def at_once(rule, loss):
    """Number of rows played at once."""
    return WIDTH if rule.n_played == rule.n_heads and not loss.coupled else 1


def has_one_head(rule, loss):
    """Whether loops are compiled for one head; not for rates, which would round unlike those of more heads."""
    return rule.n_heads == 1 and not loss.log_link


@functools.lru_cache
def compiled(rule, loss):
    """Function for a rule and a class of losses, its `PlayedRule`, groups of heads, and fixed shares."""
    constants = constants_of(
        plays_eight=at_once(rule, loss) > 1,
        has_one_head=has_one_head(rule, loss),
        has_target_unit=rule.target_unit,
        fades_on_the_way=rule.fades_on_the_way,
        **loss_constants(loss),
    )
    function = for_rule(play_rows, constants)
    told = not rule.target_unit and rule.clip is None and rule.n_played == rule.n_heads
    groups = rule.groups(np.arange(rule.n_heads))
    shares = np.full(groups.max() + 1, 1.0 - rule.last if rule.averaged else 0.0)
    values = rule.n_targets, rule.n_heads, rule.judged, rule.plays_latest, told, fades_per_weight(rule)
    return function, PlayedRule(*values), groups, shares
