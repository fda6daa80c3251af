"""What merging shares between all families: lifts, origins, means, squared deviations, shares of models.

Models that went on from a common one, the ``base``, each contain its rows, so what they learnt themselves is the
difference from it. A sum becomes ``base + sum(model - base)``. Squared deviations follow from means and squares of the
parts (Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import wrightomega

from ...losses import FARTHEST, NOTHING
from .lifts import LARGEST, LARGEST_POWER, TINY, positive
from .model import TARGET_LIFT, BoundedState, Diverged


@dataclass
class Parts:
    """Models made comparable, and the model to be made of them.

    Attributes
    ----------
    merged : LinearState
        The new model. Its clocks and targets are set, and what its columns store of inputs.
    states : list of LinearState
        Copies with the lifts and origins of ``merged``; only those that learnt something after ``base``.
    base : LinearState
        Such a copy, too; without rows if the models have no common start.
    rows : ndarray of shape (n_states,)
        Total weight of the rows that each learnt itself.
    """

    merged: Any
    states: list
    base: Any
    rows: np.ndarray

    @property
    def share(self):
        """Share of each model in an average."""
        return self.rows / self.rows.sum()

    def total(self, read):
        """Sum over all rows of what ``read(state)`` sums over the rows of a state."""
        start = read(self.base)
        return start + sum(read(state) - start for state in self.states)

    def intercept(self, weights, shares):
        """Mean of intercepts, moved to the means of columns and targets of the merged model.

        Where predictions are logarithms, that is what predicts the mean of what models predict where columns are at
        their means. A model that has had no target above 0 predicts 0.

        Parameters
        ----------
        weights : list of ndarray of shape (n_heads, n_columns)
            For each state, weights by lifted columns, in units of the target.
        shares : sequence of ndarray of shape (n_heads,) or (1,), or of float
            Of each state; they add up to 1.

        Returns
        -------
        ndarray of shape (n_heads,)
        """
        pairs = zip(self.states, weights, strict=True)
        levels = np.array([weight[:, -1] + intercept_move(state, self.merged, weight) for state, weight in pairs])
        shares = np.array([np.broadcast_to(share, levels.shape[1:]) for share in shares])
        mean = np.add.reduce(shares * levels)
        if not self.merged.rule.log_link:
            return mean
        known = [np.resize(state.target_mean() > NOTHING, len(mean)) for state in self.states]
        highest = np.max(np.where(known, levels, -LARGEST), axis=0)
        total = np.add.reduce(np.where(known, shares * np.exp(levels - highest), 0.0))
        return np.where(total > 0.0, highest + np.log(positive(total)), mean)


def mean_move(state, other):
    """How much higher the target mean that a model counts from is than another's, for each target.

    A model of logarithms that has had no target above 0 has no mean, and predicts nothing. It goes on from the other's
    mean, which includes its zeros.
    """
    mean = state.target_mean()
    move = mean - other.target_mean()
    return np.where(mean == NOTHING, 0.0, move) if state.rule.log_link else move


def intercept_move(state, other, weight):
    """What the constant column gains when means of columns and targets become those of another model.

    Both have the same lifts and origins. ``weight`` is that of ``state``, for lifted columns, in units of the target.
    """
    rule = state.rule
    move = np.tile(mean_move(state, other), rule.n_heads // rule.n_targets)
    return move - weight @ (state.mean_from_origin() - other.mean_from_origin())


def move_columns(state, move):
    """Count columns from an origin that is lower by ``move``."""
    state.columns.sum += state.t * move


def move_targets(state, origin):
    """Count targets from another origin."""
    targets = state.targets
    if state.t > 0:
        move = targets.origin - origin
        targets.sum += state.t * move * state.rule.intercept
        targets.low += move
        targets.high += move
    targets.origin[:] = origin


def prepare(states, base, move_origin=move_columns, move_targets=move_targets):
    """`Parts`, with copies of models of one rule; None if at most one has learnt anything after ``base``.

    The callables are what a family does to a copy when the origins of columns and targets change.
    """
    rule, n_features = states[0].rule, states[0].n_features
    empty = rule.State.new(rule, n_features)
    start = 0.0 if base is None else base.t
    states = [state.copy() for state in states if state.t > start]
    if len(states) < 2:
        return None
    base = empty if base is None else base.copy()
    everyone = [*states, base]
    target_lift = min(state.targets.lift for state in everyone)
    for state in everyone:
        while state.targets.lift != target_lift:  # in steps, because the factor may be out of range
            state.relift_targets(max(target_lift / state.targets.lift, TARGET_LIFT))
    lift = _common_lift(everyone)
    first = [base] if base.t > 0 else states
    if rule.lifted:
        for state in everyone:
            index = np.flatnonzero(state.columns.lift != lift)
            if index.size:
                state.relift(index, lift[index])
    origin, target_origin = None, _least([state.targets.origin for state in first])
    if base.columns.origin is not None:
        origin = _least([state.columns.origin for state in first])
        for state in everyone:
            move_origin(state, (state.columns.origin - origin) * (state.t > 0))
            state.columns.origin[:] = origin
    for state in everyone:
        move_targets(state, target_origin)
    rows = np.array([state.t - base.t for state in states])
    merged = rule.State.new(rule, n_features)
    merged.targets.lift, merged.of_columns = target_lift, states[0].of_columns
    parts = Parts(merged, states, base, rows)
    _merge_inputs(parts, lift, origin)
    _merge_targets(parts, target_origin)
    return parts


def _least(origins):
    """Nearest origin of each column; with distant ones, digits are lost."""
    return np.take_along_axis(np.array(origins), np.argmin(np.abs(origins), axis=0)[None], axis=0)[0]


def _common_lift(states):
    """Least lift of each column among the models that have seen it; 1 if none has."""
    seen = [np.where(state.columns.largest > 0, state.columns.lift, np.inf) for state in states]
    least = np.min(seen, axis=0)
    return np.where(least < np.inf, least, 1.0)


def _merge_inputs(parts, lift, origin):
    """Set the clocks of the merged model, and what its columns store of their inputs."""
    merged, columns, everyone = parts.merged, parts.merged.columns, [*parts.states, parts.base]
    for name in merged.clocks():
        setattr(merged, name, float(parts.total(lambda state, name=name: getattr(state, name))))
    merged.loss[:] = np.minimum(parts.total(lambda state: state.loss), LARGEST)
    if isinstance(merged, BoundedState):
        merged.largest_gradient[:] = np.max([state.largest_gradient for state in everyone], axis=0)
        merged.largest_weight = max(state.largest_weight for state in everyone)
    columns.lift[:] = lift
    if origin is not None:
        columns.origin[:] = origin
    for field in columns.declared(merged.rule):

        def read(state, name=field.name):
            return getattr(state.columns, name)

        if field.merged == "max":
            read(merged)[...] = np.max([read(state) for state in everyone], axis=0)
        elif field.merged == "sum":
            read(merged)[...] = parts.total(read)
    if columns.squares is not None and columns.sum is None:
        columns.squares[:] = parts.total(lambda state: state.columns.squares)
    elif columns.squares is not None:
        columns.squares[:] = _squares(parts, lambda state: (state.columns.sum, _squared_deviations(state)))
    if columns.frequent is not None:
        _merge_frequent(parts)


def _squared_deviations(state):
    """Squared deviations from the mean, also of rare columns, which store squares of ``x``."""
    columns = state.columns
    if columns.frequent is None:
        return columns.squares
    total = columns.sum + state.t * columns.origin
    apart = total * (total / max(state.t, TINY))
    return np.where(columns.frequent, columns.squares, np.maximum(columns.squares - apart, 0.0))


def _merge_frequent(parts):
    """Tell frequent columns from rare ones by all rows; see `frequent`."""
    merged, columns = parts.merged, parts.merged.columns
    named = parts.total(lambda state: state.rows_of_each())
    if not merged.rule.selective:
        columns.tally[:] = named
        return
    columns.frequent[:] = named > merged.rule.begins * merged.t
    columns.tally[:] = np.where(columns.frequent, merged.t - named, named)
    columns.fold_deviations()
    if columns.squares is not None:
        total = columns.sum + merged.t * columns.origin
        columns.squares[:] += np.where(columns.frequent, 0.0, total * (total / merged.t))


def _merge_targets(parts, origin):
    merged, targets, everyone = parts.merged, parts.merged.targets, [*parts.states, parts.base]
    with_rows = [state for state in everyone if state.t > 0]
    targets.low[:] = np.min([state.targets.low for state in with_rows], axis=0)
    targets.high[:] = np.max([state.targets.high for state in with_rows], axis=0)
    if not merged.rule.target_unit:
        return
    targets.origin[:] = origin
    growths = [state.targets.growth for state in parts.states]
    if merged.rule.log_link:
        targets.sum[:] = _merge_logarithms(parts)
        mean = merged.target_mean()
        growths = [growth * over(state, mean) for growth, state in zip(growths, parts.states)]
        squares = parts.total(
            lambda state: (state.targets.spread * over(state, mean)) ** 2 + state.t * (over(state, mean) - 1.0) ** 2
        )
        targets.spread[:] = np.sqrt(np.maximum(squares, 0.0))
    # The order in time of the models' rows is unknown; this is their growth if all saw the same time.
    targets.growth[:] = sum(share * growth for share, growth in zip(parts.share, growths))
    if merged.rule.log_link:
        return
    targets.sum[:] = parts.total(lambda state: state.targets.sum)
    sizes = [np.maximum(state.targets.spread, np.abs(state.targets.sum)) for state in everyone]
    unit = np.ldexp(1.0, np.frexp(positive(np.max(sizes, axis=0)))[1] - 1)  # because squares of targets overflow
    targets.spread[:] = unit * np.sqrt(
        _squares(parts, lambda state: (state.targets.sum / unit, (state.targets.spread / unit) ** 2))
    )


def over(state, mean):
    """Target mean of a model over another mean, whose logarithm is ``mean``; 1 if there is none."""
    return np.exp(np.minimum(state.target_mean() - mean, FARTHEST)) if state.t > 0 else np.ones_like(mean)


def _merge_logarithms(parts):
    """Logarithm of the sum of the targets of all rows, from those of the models."""
    sums = [state.targets.sum if state.t > 0 else np.full_like(state.targets.sum, NOTHING) for state in parts.states]
    base = parts.base.targets.sum if parts.base.t > 0 else np.full_like(sums[0], NOTHING)
    most = np.max([base, *sums], axis=0)
    start = np.exp(base - most)
    total = start + sum(np.maximum(np.exp(own - most) - start, 0.0) for own in sums)
    return np.where(most > NOTHING / 2.0, most + np.log(np.maximum(total, TINY)), NOTHING)


def _squares(parts, read):
    """Sum of squared deviations from the mean over all rows; ``read(state)`` returns a sum and such squares."""
    base, merged = parts.base, parts.merged
    base_sum, base_squares = read(base)
    base_mean = base_sum / max(base.t, TINY)
    mean = parts.total(lambda state: read(state)[0]) / merged.t
    squares = base_squares + base.t * (base_mean - mean) ** 2
    for state, rows in zip(parts.states, parts.rows, strict=True):
        own_sum, own_squares = read(state)
        own_mean = (own_sum - base_sum) / rows
        apart = base.t * rows / state.t * (own_mean - base_mean) ** 2
        squares = squares + np.maximum(own_squares - base_squares - apart, 0.0) + rows * (own_mean - mean) ** 2
    return squares


def invert_growth(log_size, rate, log_factor):
    """Solve ``log r + min(rate r^2 - log_factor, 700) = log_size`` for ``r``.

    The left side is the logarithm of a potential's weight, which grows with ``r``. Without the cut-off,
    ``x = 2 rate r^2`` solves ``x + log x = 2 (log_size + log_factor) + log(2 rate)``: Wright's omega function.
    """
    log_r = log_size + log_factor
    argument = 2.0 * log_r + np.log(2.0 * rate)
    r = np.where(argument < -700.0, np.exp(log_r), np.sqrt(wrightomega(argument) / (2.0 * rate)))
    cut_off = rate * r * r - log_factor > LARGEST_POWER
    return np.where(cut_off, np.exp(log_size - LARGEST_POWER), r)


def finish(state):
    """Return the merged model; raise `Diverged` if a number has left the range of float64."""
    columns = state.columns
    if state.rule.selective:  # rare columns are counted from 0
        rare = columns.frequent == 0
        columns.sum[rare] += state.t * columns.origin[rare]
        columns.origin[rare] = 0.0
    numbers = [state.targets.table, state.loss, np.array(list(state.clocks().values()))]
    if not (columns.finite() and all(np.isfinite(values).all() for values in numbers)):
        raise Diverged
    return state
