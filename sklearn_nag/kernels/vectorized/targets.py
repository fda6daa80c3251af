"""What rows teach about the targets, and what is computed from these: numbers for classes, units, losses."""

import math
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from ...losses import FARTHEST, NOTHING, ZERO, between
from ..state.lifts import LARGEST, TINY, positive
from ..state.targets import LARGEST_GROWTH, PER_ROW, SELDOM, widened, widened_rates, with_room
from .columns import running


def read_classes(y, n_heads):
    """Targets as given or, for classes, 1 for the class of a head, else -1; a single head is for class 1."""
    if y.ndim == 2:
        return y
    classes = np.arange(n_heads) if n_heads > 1 else np.ones(1, dtype=int)
    return np.where(y[:, None] == classes, 1.0, -1.0)


class TargetRows(NamedTuple):
    """What depends on the targets alone, for each row of a segment, relative to their origin.

    Attributes
    ----------
    y : ndarray of shape (n_rows, n_targets)
        The targets.
    mean_before, mean : ndarray of shape (n_rows, n_targets)
        Their mean without the row, and with it.
    unit, unit_before : ndarray of shape (n_rows, n_targets)
        Their unit with the row, and without it.
    least, most : ndarray of shape (n_rows, n_targets)
        Range to which predictions are clipped, with the margin for targets that grow.
    floor, ceiling : ndarray of shape (n_rows, n_targets)
        Range of the prediction at which the derivative is taken, once the target is known.
    compared : ndarray of shape (n_rows, n_targets)
        What derivatives compare predictions with: the targets or, if predictions are logarithms, targets over means.
    lowest : ndarray of shape (n_rows, n_targets)
        While a model forgets, a target of 0 moves no weight up to this prediction: the mean, or the floor if above it,
        if the model hardly remembers other targets, else -inf.
    spread : ndarray of shape (n_rows + 1, n_targets) or None
        `Targets.spread` before each row and after the last; None if it is not learnt.
    """

    y: np.ndarray
    mean_before: np.ndarray
    mean: np.ndarray
    unit: np.ndarray
    unit_before: np.ndarray
    least: np.ndarray
    most: np.ndarray
    floor: np.ndarray
    ceiling: np.ndarray
    compared: np.ndarray
    lowest: np.ndarray
    spread: np.ndarray | None = None

    def for_heads(self, n):
        """The same for ``n`` heads of each target, side by side; its spread must not be used."""
        return self if n == 1 else self.each(lambda values: np.tile(values, n))

    def each(self, change):
        """The same with ``change`` applied to each array; without the spread."""
        return TargetRows(*map(change, self[:-1]))


def read_targets(state, y, c, t):
    """Make the `TargetRows` of targets and weights; what the state knows of targets then includes these rows."""
    targets, rule = state.targets, state.rule
    if rule.log_link:
        return read_rates(state, y, c, t)
    if not rule.target_unit:
        nothing, one = np.zeros(y.shape), np.ones(y.shape)
        return TargetRows(y, nothing, nothing, one, one, *_ranges(state, y, t, nothing, nothing), y, nothing)
    y, counts_as, means, spread, unit = read_units(state, y, c, t)
    growth = _growths(targets, c, t, counts_as - means[:-1]) if rule.intercept else np.zeros(y.shape)
    ranges = _ranges(state, y, t, growth, spread[:-1])
    return TargetRows(y, means[:-1], means[1:], unit[1:], unit[:-1], *ranges, y, 0.0 * y, spread)


def read_units(state, y, c, t):
    """Units of targets alone; what the state knows of these then includes these rows.

    Returns
    -------
    y, counts_as : ndarray of shape (n_rows, n_targets)
        Targets relative to their origin, and what they count as: for robust rules, no outliers.
    means, spread, unit : ndarray of shape (n_rows + 1, n_targets)
        Their mean, `Targets.spread` and unit, before each row and after the last.
    """
    targets, intercept = state.targets, state.rule.intercept
    if state.t == 0 and intercept:
        targets.origin[:] = y[0]
    y = y - targets.origin
    counts_as, moments, start = y.copy(), _moments(targets, y, c, t, intercept), 0
    while state.rule.robust and start < len(y):
        _, means, spread, unit = moments
        far = np.where(spread[:-1] > 0.0, state.rule.outlying * unit[:-1], np.inf)
        within = np.clip(counts_as, means[:-1] - far, means[:-1] + far)
        outlying = np.flatnonzero((within[start:] != counts_as[start:]).any(axis=1))
        if not len(outlying):
            break
        start += outlying[0] + 1  # later rows must be checked again, with other moments
        counts_as[start - 1] = within[start - 1]
        moments = _moments(targets, counts_as, c, t, intercept)
    sums, *moments = moments
    targets.sum[:], targets.spread[:] = sums[-1], moments[1][-1]
    return y, counts_as, *moments


def _moments(targets, y, c, t, intercept):
    """Sums of targets, relative to their origin, and the moments that `read_units` returns."""
    sums = running(np.add, targets.sum, c[:, None] * y * intercept)
    means = sums / np.maximum(t, TINY)[:, None]
    deviations = np.sqrt(c * (t[:-1] / t[1:]) if intercept else c)[:, None] * np.abs(y - means[:-1])
    spread = running(np.hypot, targets.spread, deviations)
    return sums, means, spread, spread / np.sqrt(np.maximum(t, TINY))[:, None]


def _growths(targets, c, t, differences, kept=1.0):
    """`state.targets.grown` before each row; ``targets`` then stores that after the last.

    ``differences`` are from the mean of the targets before. ``kept`` is the factor of the growth as its unit changes.
    """
    share = (t[:-1] / t[1:])[:, None]
    kept = kept * share * share + 0.0 * differences
    gained = PER_ROW * share * (c / t[1:])[:, None] * differences
    return _one_after_another(_grow, targets.growth, kept, gained)


def _grow(growth, kept, gained):
    growth = min(max(growth * kept, -LARGEST_GROWTH), LARGEST_GROWTH) + gained
    return min(max(growth, -LARGEST_GROWTH), LARGEST_GROWTH)


def _spreads(targets, c, t, differences, kept):
    """Like `_growths`, for spreads."""
    deviations = np.sqrt(c * (t[:-1] / t[1:]))[:, None] * np.abs(differences)
    return _one_after_another(_spread, targets.spread, kept, deviations)


def _spread(spread, kept, deviation):
    return min(math.hypot(spread * kept, deviation), LARGEST_GROWTH)


def _one_after_another(step, known, *rows):
    """What is known of each target before each row; ``step(known, *row)`` is what is known with it. Updates ``known``.

    Numbers of Python are used because an operation on a small array takes as long as twenty of these.
    """
    found = np.empty((len(known), len(rows[0]) + 1))
    for j, first in enumerate(known.tolist()):
        columns = (values[:, j].tolist() for values in rows)
        found[j] = [*accumulate(zip(*columns), lambda before, row: step(before, *row), initial=first)]
    known[:] = found[:, -1]
    return found[:, :-1].T


def read_rates(state, y, c, t):
    """Like `read_targets`, if predictions are logarithms of what is predicted.

    They are counted from the logarithm of the mean of the targets, so a factor of these changes nothing else.
    Derivatives compare with ratios of targets to the mean with the row. Sums are stored as logarithms, so no target
    makes them overflow. Before the first target above 0, `NOTHING` is played, whose loss is 0.
    """
    rule, targets = state.rule, state.targets
    nothing, free = np.zeros(y.shape), np.full(y.shape, LARGEST)
    with np.errstate(divide="ignore"):
        log_y = np.where(y > 0, np.log(y), ZERO)
    before, mean, compared, is_known = nothing, nothing, y, np.ones(y.shape, dtype=bool)
    growth = spread = nothing
    if rule.target_unit:
        means = read_mean_rates(state, y, c, t)
        before, is_known = means[:-1], means[1:] > NOTHING
        mean, compared, fallen = _over_means(log_y, means)
        with np.errstate(over="ignore"):
            growth, spread = (of(targets, c, t, compared - fallen, fallen) for of in (_growths, _spreads))
        if state.t == 0:
            targets.low[:] = targets.high[:] = log_y[0]
    low = running(np.minimum, targets.low, log_y)
    high = running(np.maximum, targets.high, log_y)
    targets.low[:], targets.high[:] = low[-1], high[-1]
    least, most = floor, ceiling = -free, 0.0 * free + FARTHEST
    if rule.clip == "targets":
        told = (t[:-1, None] > 0) | (not rule.target_unit)
        ends = low[:-1], high[:-1]
        if rule.target_unit:  # then growth is known
            ends = widened_rates(*ends, growth, spread, before, np.maximum(t[:-1, None], TINY))
        least, most = np.where(told, ends[0], least), np.where(told, ends[1], most)
        floor, ceiling = np.where(is_known, low[1:], floor), np.where(is_known, high[1:], ceiling)
    elif rule.clip is not None:
        least, most = floor, ceiling = tuple(end + nothing for end in rule.clip)
    unknown = before == NOTHING
    least, most = np.where(unknown, NOTHING, least), np.where(unknown, NOTHING, most)
    floor, ceiling, one = floor - mean, ceiling - mean, np.ones(y.shape)
    stays = (y == 0.0) & (spread > SELDOM * t[:-1, None])
    lowest = np.where(stays, np.maximum(floor, 0.0), -np.inf)
    return TargetRows(y, before, nothing, one, one, least, most, floor, ceiling, compared, lowest)


def _over_means(log_y, means):
    """Logarithm of the mean with each row, 0 if unknown; over that mean, the target and the mean before.

    If there was no mean before, nothing grows.
    """
    before, is_known = means[:-1], means[1:] > NOTHING
    mean = np.where(is_known, means[1:], 0.0)
    over = np.where(log_y > ZERO, np.exp(np.clip(log_y - mean, -FARTHEST, FARTHEST)), 0.0)
    over = np.where(is_known, over, 1.0)
    return mean, over, np.where(before > NOTHING, np.exp(np.minimum(before - mean, FARTHEST)), over)


def read_variations(state, y, c, t):
    """Like `read_mean_rates`, with the squared coefficient of variation of the targets before each row."""
    targets = state.targets
    means = read_mean_rates(state, y, c, t)
    with np.errstate(divide="ignore", over="ignore"):
        log_y = np.where(y > 0, np.log(y), ZERO)
        _, over, fallen = _over_means(log_y, means)
        spread = _spreads(targets, c, t, over - fallen, fallen)
    return means, spread**2 / np.maximum(t[:-1, None], TINY)


def read_mean_rates(state, y, c, t):
    """Logarithms of the mean of targets before each row and after the last, of shape (n_rows + 1, n_targets).

    `NOTHING` before the first target above 0. What the state knows of the mean then includes these rows.
    """
    targets = state.targets
    with np.errstate(divide="ignore"):
        more = np.log(c)[:, None] + np.log(y)
    start = targets.sum if state.t > 0 else np.full_like(targets.sum, NOTHING)
    sums = running(np.logaddexp, start, more)
    targets.sum[:] = sums[-1]
    return np.where(sums > NOTHING / 2.0, sums - np.log(np.maximum(t, TINY))[:, None], NOTHING)


def _ranges(state, y, t, growth, spread):
    """``least``, ``most``, ``floor`` and ``ceiling`` of `TargetRows`; the range of the targets then includes ``y``.

    ``growth`` and ``spread`` are those of the targets before each row.
    """
    rule, targets, known = state.rule, state.targets, t[:-1, None] > 0
    free = np.full(y.shape, LARGEST)
    if rule.target_unit or rule.clip == "targets":
        if state.t == 0 and rule.intercept:
            targets.low[:] = targets.high[:] = y[0]
        low = running(np.minimum, targets.low, y)
        high = running(np.maximum, targets.high, y)
        targets.low[:], targets.high[:] = low[-1], high[-1]
    if rule.clip == "targets":
        least, most = widened(low[:-1], high[:-1], growth, spread, np.maximum(t[:-1, None], TINY))
        return np.where(known, least, -free), np.where(known, most, free), *with_room(low[1:], high[1:], t[:-1, None])
    if rule.clip is not None:
        low, high = (end * targets.lift - targets.origin + np.zeros(y.shape) for end in rule.clip)
        known = known | (not (rule.target_unit and rule.intercept))  # else the first row sets the origin, without loss
        return np.where(known, low, -free), np.where(known, high, free), low, high
    if rule.target_unit:
        width = high - low
        return (low - width)[:-1], (high + width)[:-1], -free, free
    return free - np.inf, free + np.inf, -free, free


def suffer(loss, rows, i, p):
    """Derivative for row ``i`` at ``p``, its ``sum u z`` by the latest weights, in units of the target."""
    p = between(rows.mean[i] + rows.unit[i] * p, rows.floor[i], rows.ceiling[i])
    return loss.gradient(loss.margins(p) if loss.coupled else p, rows.compared[i], rows.unit[i])


def clip_played(rows, played):
    """Turn ``sum u z`` into clipped predictions relative to the origin of the targets, in place."""
    np.clip(rows.mean_before + rows.unit_before * played, rows.least, rows.most, out=played)


def count_losses(state, loss, target_rows, c, played, first):
    """Add the losses of the predictions ``played``, and make these absolute, not relative to the first target.

    ``first`` is whether the state had seen no target before.
    """
    n_targets, n_rivals = state.rule.n_targets, state.rule.n_played // state.rule.n_targets
    rows = target_rows.for_heads(n_rivals)
    margins = loss.margins(played.reshape(-1, n_rivals, n_targets)).reshape(played.shape) if loss.coupled else played
    losses = loss.value(margins, rows.y, rows.unit)
    losses = np.minimum(losses * c[:, None], LARGEST)
    state.loss[:] = np.minimum(running(np.add, state.loss, losses)[-1], LARGEST)
    if state.rule.log_link:
        if state.rule.clip not in (None, "targets"):
            np.clip(played, *state.rule.clip, out=played)
    elif state.rule.target_unit:
        played += np.tile(state.targets.origin, n_rivals)
        if first:  # before the first target, there is nothing to predict from
            played[0] *= 0.0
            if state.rule.clip not in (None, "targets"):
                played[0] = np.clip(played[0], *(end * state.targets.lift for end in state.rule.clip))


def suffer_bounded(state, loss, target_rows, i, p):
    """Like `suffer`, for learners without a learning rate: the derivative over its bound, between -1 and 1.

    Their ``state`` is a `BoundedState`, whose largest derivatives are updated.
    """
    g = suffer(loss, target_rows, i, p)
    unit = target_rows.unit[i]
    bound = loss.lipschitz(unit)
    if isinstance(bound, float) and bound == 1.0:
        return g
    if bound is None:
        bound = np.maximum(state.largest_gradient, np.abs(g), out=state.largest_gradient)
    return between(g / np.where(bound > 0, bound, 1.0), -1.0, 1.0)


def play(state, loss, target_rows, i, c, latest, average):
    """Prediction played for row ``i`` of weight ``c``, from ``sum u z`` by the latest weights and by their average.

    The model is a `JudgedState`. If its rule is ``judged``, it counts the losses of both.
    """
    rule, rows = state.rule, target_rows
    if rule.judged:
        behind = (1.0 - state.share_of_latest()) * (latest - average)
        both = rows.mean_before[i] + rows.unit_before[i] * np.stack([latest, average])
        held = between(both, rows.least[i], rows.most[i]).reshape(1, -1)
        state.judge(group_losses(rule, loss, held, rows.y[i : i + 1], rows.unit[i : i + 1], np.array([c])))
    if rule.plays_latest or not rule.averaged:
        return latest
    return latest - behind if rule.judged else average


def by_set(rule, values):
    """Predictions or the like of each row, as sets with one for every target."""
    return values.reshape(len(values), -1, rule.n_targets)


def group_losses(rule, loss, p, y, unit, c):
    """Losses of sets of predictions for the targets, both in this unit, of shape (n_rows, n_groups, n_sets)."""
    p, y, unit = by_set(rule, p), by_set(rule, y)[:, :1], positive(by_set(rule, unit)[:, :1])
    values = loss.value((loss.margins(p) if loss.coupled else p) / unit, y / unit) * c[:, None, None]
    totals = np.add.reduce(values.reshape(*values.shape[:2], rule.n_groups, -1), axis=3)
    return np.minimum(np.swapaxes(totals, 1, 2), LARGEST)
