"""The definition of the NAG family's updates, in NumPy.

What depends on inputs alone (scales, ``z``, ``N``) is computed for a block of rows at once; what depends on targets,
row by row, vectorised over columns and heads. A sparse row is a dense one on the columns that it names. No sum is left
to BLAS, whose order depends on the numbers of rows and threads: no cut of a stream, and no number of heads or threads,
changes a bit.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from ...losses import between
from ..state.lifts import HIGHEST, TINY, all_finite, lift, positive
from ..state.model import Diverged
from ..vectorized.blocks import learn_by_segments, learn_in_blocks, learn_row_by_row, learn_segment
from ..vectorized.columns import running, squared_lengths, write_back
from ..vectorized.targets import by_set, group_losses
from .rule import constrain, damping, ends_of, pace, settle


def learn_rows(state, loss, X, y, sample_weight, order, predictions):
    """Learn rows of positive weight; see `sklearn_nag.kernels.learn`."""
    rows = X, y, sample_weight, order, predictions
    if state.rule.penalised:  # the penalty is applied at rows that name a column, and rounds there
        learn = partial(learn_segment, _play_and_learn)
        learn_in_blocks(partial(learn_by_segments, learn, settle=_settle), state, loss, *rows)
    else:
        learn_row_by_row(_play_and_learn, state, loss, *rows)


class _Rates(NamedTuple):
    """Factors of the learning rates of all heads, for each row of a segment.

    Attributes
    ----------
    rate : ndarray of shape (n_rows,)
        ``sqrt(t / N)``, or ``t / N`` for rules that are not adaptive, times `pace`.
    N : ndarray of shape (n_rows + 1,)
        ``sum c z^2`` before each row, and after the last.
    shrinkage : ndarray of shape (n_rows + 1,)
        Clock of the L2 penalty, if there is one, at the same times.
    """

    rate: np.ndarray
    N: np.ndarray
    shrinkage: np.ndarray


def _read_rates(state, inputs, c):
    """`_Rates` of the rows of a segment."""
    rule, t = state.rule, inputs.t
    rate = pace(rule, t[1:])
    N = np.full(len(c) + 1, state.N)
    if rule.normalization is not None:
        N = running(np.add, state.N, c * squared_lengths(inputs))
        per_row = t[1:] / positive(N[1:])
        rate = rate * (rule.radius or np.sqrt(per_row) if rule.adaptive else per_row)
    shrinkage = np.full(len(c) + 1, state.shrinkage)
    if rule.l2 > 0:
        growth = c * rate / rule.time_factor(t[1:]) if rule.adaptive else c * rate
        shrinkage = running(np.add, state.shrinkage, growth)
    return _Rates(rate, N, shrinkage)


def _play_and_learn(state, columns, loss, inputs, target_rows, c, played):
    """Learn the rows of a segment, then play their predictions."""
    rates = _read_rates(state, inputs, c)
    of_heads = target_rows.for_heads(state.rule.experts)
    heads = _Heads(state, columns, loss, inputs, rates, of_heads, c)
    latest, behind = _descend(state, columns, heads, inputs, rates, target_rows.spread, c)
    latest += of_heads.mean_before
    state.N, state.shrinkage = float(rates.N[-1]), float(rates.shrinkage[-1])
    if not all_finite(latest - behind):
        raise Diverged
    play_rows(state, loss, of_heads, c, latest, behind, played)


def _descend(state, columns, heads, inputs, rates, spread, c):
    """Make one step for each row.

    Returns
    -------
    latest, behind : ndarray of shape (n_rows, n_heads)
        Predictions by the latest weights, from the mean of the targets, and how much lower those by the average are.
    """
    rule, t = state.rule, inputs.t[1:]
    latest, behind = np.zeros((2, len(c), len(rule.eta)))
    counts = np.where(t >= rule.average_from, c * t, 0.0)
    sums = running(np.add, state.averaged, counts).tolist()
    penalised, projected = rule.penalised, rule.projected
    for i in range(len(c)):
        if penalised:
            _settle_penalty(state, columns, i, inputs, rates, spread)
        averaged, state.averaged = sums[i : i + 2]
        heads.visit(i)
        if heads.bounded:
            heads.hold(averaged)
        latest[i] = p = heads.predict()
        if averaged > 0:
            behind[i] = heads.predict_behind(averaged)
        p, g = heads.slope(p)
        if heads.any(g):
            heads.move(p, g, *heads.direction(g))
        heads.leave()
        if projected:
            heads.project(g)
    return latest, behind


class _Heads:
    """The heads of a model while they learn a segment, one row at a time.

    A single head uses vectors and plain numbers, which cost less than arrays of one row.
    """

    def __init__(self, state, columns, loss, inputs, rates, rows, c):
        rule = state.rule
        step = np.multiply.outer(rates.rate, rule.eta) * rows.unit ** (1 if rule.adaptive else 2 - rule.degree)
        single = len(rule.eta) == 1
        if single:
            rows, step = rows.each(lambda values: values[:, 0]), step[:, 0]
        self.state, self.rule, self.columns, self.loss, self.inputs = state, rule, columns, loss, inputs
        self.any = bool if single else np.count_nonzero
        self.importance_aware = rule.importance_aware and loss.move is not None
        if self.importance_aware:  # ``G`` counts ``c`` squares, and a step has duration ``c``
            c, step = np.sqrt(c), step * (c if single else c[:, None])
        self.rows, self.step, self.c, self.single, self.bounded = rows, step, c, single, rule.bounded
        self.sharing, self.averaged, self.clipped = rule.sharing, rule.averaged, rule.clip is not None or rule.log_link
        self.may_stay = rule.log_link and rule.forgets
        # A prediction multiplies weights by ``z`` or, if they are stored as theta, by ``z`` over the scale.
        self.keeps_u = rule.adaptive or rule.normalization is None
        self.table, self.places = columns.table[len(columns.shared) :], _places_of_heads(columns, single)
        self._take(self.table)
        self._read_gradient_lift()

    def _read_gradient_lift(self):
        self.gradient_lift = self.state.gradient_lift[0] if self.single else self.state.gradient_lift
        self.highest = HIGHEST / self.gradient_lift

    def _take(self, table):
        """Make ``weight``, ``G`` and ``past`` views of a table; None if a field is absent."""
        self.weight, self.G, self.past = [None if place is None else table[place] for place in self.places]
        self.scratch = np.empty_like(self.weight), np.empty_like(self.weight)

    def _by_head(self, values):
        """One number per head, shaped to be multiplied with rows."""
        return values if self.single else values[:, None]

    def _of_each(self, values):
        """Expand one value per ``G`` to one per head."""
        return values if self.sharing == 1 else values.repeat(self.sharing, axis=0)

    def visit(self, i):
        """Go on to row ``i``, and to the columns that it visits."""
        self.i, inputs = i, self.inputs
        self.x, z = inputs.x[i], inputs.z[i]
        self.features = z if self.keeps_u else z / positive(inputs.sizes[i])
        if inputs.visited is not None:
            self.of_row = self.table.take(inputs.visited[i], axis=1)
            self._take(self.of_row)
        if self.bounded:
            self.ends = _ends_of_row(self.state, self.columns, inputs, i)

    def leave(self):
        """Write back the columns that the row visits."""
        if self.inputs.visited is not None:
            self.table[:, self.inputs.visited[self.i]] = self.of_row

    def hold(self, averaged):
        """Clip weights to their bounds; the average of those played stays."""
        held = np.clip(self.weight, *self.ends)
        if self.averaged:
            self.past += averaged * (held - self.weight)
        self.weight[...] = held

    def predict(self):
        """Predictions by the latest weights."""
        return np.add.reduce(np.multiply(self.weight, self.features, out=self.scratch[0]), axis=-1)

    def predict_behind(self, averaged):
        """How much lower the predictions by the average are."""
        product = self.scratch[0]
        if self.bounded:  # the average is clipped, too: its weights were clipped by other scales
            average = np.clip(self.weight - self.past / averaged, *self.ends)
            return np.add.reduce(np.multiply(self.weight - average, self.features, out=product), axis=-1)
        return np.add.reduce(np.multiply(self.past, self.features, out=product), axis=-1) / averaged

    def slope(self, p):
        """Predictions once the target is known, and the derivatives of the losses there."""
        i, rows, rule = self.i, self.rows, self.rule
        p = p + rows.mean[i]
        if self.clipped:
            p = between(p, rows.floor[i], rows.ceiling[i])
        if self.loss.coupled:
            p = self.loss.margins(p.reshape(rule.experts, -1)).reshape(-1)
        g = self.loss.gradient(p, rows.compared[i], rows.unit[i])
        return p, np.where(p <= rows.lowest[i], 0.0, g) if self.may_stay else g

    def direction(self, g):
        """Direction of a step, and its length for each head; `move` scales importance-aware steps."""
        weighted, step = g * self.c[self.i], self.step[self.i]
        if self.rule.adaptive:
            return self._adaptive_direction(weighted, step)
        return np.multiply(1.0 if self.importance_aware else self._by_head(weighted), self.x, out=self.scratch[0]), step

    def _adaptive_direction(self, weighted, step):
        """`direction` of adaptive rules, after adding the gradient to ``G``.

        Heads that share a ``G`` have one direction, from their root mean square.
        """
        is_shared = self.sharing > 1
        slope = root_mean_square(weighted, self.sharing) if is_shared else weighted
        if self.any(abs(slope) >= self.highest):
            self.leave()
            raise_gradient_lift(self.state, self.columns, abs(slope))
            self.visit(self.i)
            self._read_gradient_lift()
        lift = self.gradient_lift
        scaled, root = np.empty((2, *self.G.shape)) if is_shared else self.scratch
        np.multiply(self._by_head(slope * lift), self.x, out=scaled)
        self.G += np.multiply(scaled, scaled, out=root)
        np.sqrt(self.G if self.inputs.rare is None else self._damped(), out=root)
        if self.importance_aware:
            np.divide(self.x, root, out=scaled)
            scaled[self.G <= TINY] = 0.0
            return self._of_each(scaled), step * self._of_each(lift)
        scaled /= root
        if not is_shared:
            return scaled, step
        own = weighted / self._of_each(np.where(slope == 0, 1.0, slope))
        return self._of_each(scaled) * self._by_head(own), step

    def _damped(self):
        """``G``, with the damping of rare columns."""
        unit = self.rows.unit[self.i]
        least = damping(self.rule, self.gradient_lift, unit if self.single else unit[:: self.sharing])
        return self.G + self._by_head(least) * self.inputs.rare[self.i]

    def move(self, p, g, direction, step):
        """Change the weights, and ``past``."""
        if self.importance_aware:
            i, rows = self.i, self.rows
            # Change of the prediction for a step of size 1.
            gain = np.add.reduce(np.multiply(direction, self.features, out=self.scratch[1]), axis=-1)
            move = self.loss.move(p, rows.compared[i], step * gain, rows.unit[i])
            if not self.single:
                move[g == 0] = 0.0  # as for a single head, which skips such a row
            if self.loss.coupled:
                by_expert = [a.reshape(self.rule.experts, -1) for a in (p, move, rows.compared[i])]
                move = (by_expert[1] * self.loss.share(*by_expert)).ravel()
            direction *= self._by_head(move / positive(gain))
        else:
            direction *= self._by_head(-step)
        self.weight += direction
        if self.averaged:
            direction *= self.state.averaged
            self.past += direction
        if self.bounded:
            self.hold(self.state.averaged)

    def project(self, g):
        """Project the weights of the heads that have moved onto their set."""
        rule, columns = self.rule, self.columns
        before, unit = columns.weight.copy(), np.ones(len(rule.eta))
        if rule.target_unit:
            unit *= self.rows.unit[self.i]
        constrain(rule, columns, self.inputs.sizes[self.i], unit, np.flatnonzero(g))
        if rule.averaged:
            columns.past += self.state.averaged * (columns.weight - before)


def _ends_of_row(state, columns, inputs, i):
    """Bounds of the weights that row ``i`` visits; infinite in columns where it is 0."""
    places = slice(None) if inputs.visited is None else inputs.visited[i]
    least, most = ends_of(state.rule, columns, inputs.sizes[i], state.targets.lift, places)
    apart = inputs.z[i] == 0
    return np.where(apart, -np.inf, least), np.where(apart, np.inf, most)


def _places_of_heads(columns, single):
    """Indices (of a single head) or slices of ``weight``, ``G`` and ``past`` among fields of heads, or None."""
    rows, above = columns.ranges(), len(columns.shared)
    kept = [rows.get(name) for name in ("weight", "G", "past")]
    return [some and (some.start - above if single else slice(some.start - above, some.stop - above)) for some in kept]


def root_mean_square(gradients, sharing):
    """Root mean square of each group of adjacent heads."""
    if sharing == 1:
        return np.abs(gradients)
    groups = np.abs(gradients.reshape(-1, sharing))
    most = groups.max(axis=1)  # so that no square leaves the range
    groups /= positive(most)[:, None]
    return most * np.sqrt(np.add.reduce(groups * groups, axis=1) / sharing)


def _settle_penalty(state, columns, i, inputs, rates, spread):
    """Apply the penalty due before row ``i``, by scales and units before it."""
    write_back(columns, inputs.before, i)
    state.t, state.N, state.shrinkage = float(inputs.t[i]), float(rates.N[i]), rates.shrinkage[i]
    if spread is not None:
        last, state.targets.spread[:] = state.targets.spread.copy(), spread[i]
    _settle(state, columns, None if inputs.named is None else inputs.named[i])
    if spread is not None:
        state.targets.spread[:] = last


def _settle(state, columns, named):
    """`settle`; the average of the weights played stays."""
    before = columns.weight.copy()
    settle(state, columns, named)
    if state.rule.averaged:
        columns.past += state.averaged * (columns.weight - before)


def raise_gradient_lift(state, columns, largest):
    """Adapt the lifts of gradients to current ones, of sizes ``largest``."""
    largest = np.reshape(largest, -1)
    new = np.where(largest == 0, state.gradient_lift, np.minimum(state.gradient_lift, lift(largest)))
    ratio = (new / state.gradient_lift)[:, None]
    state.gradient_lift[:] = new
    if state.G_before is None:
        state.G_before = state.columns.kept("G").copy()
    state.columns.multiply({"G": ratio**2})
    if columns.table is not state.columns.table:
        columns.multiply({"G": ratio**2})


# -- playing what rows have predicted; `numba_played` has it as compiled loops


def play_rows(state, loss, rows, c, latest, behind, played):
    """Fill ``played`` for the rows of a segment; count the losses of experts, latest weights and their average.

    This changes ``mixture``, ``trust`` and ``due`` of the state, but nothing that is learnt, because slopes are those
    of the latest weights. ``latest``, with the mean of the targets, and ``behind`` come from `_descend`.
    """
    start = 0
    while start < len(c):
        some = slice(start, start + state.rest_of_round() if state.rule.judged else len(c))
        of_some = [values[some] for values in (c, latest, behind)]
        played[some] = _play_round(state, loss, rows.each(lambda values, some=some: values[some]), *of_some)
        start = some.stop


def _play_round(state, loss, rows, c, latest, behind):
    """Play rows with the same share of the average; see `play_rows`."""
    rule = state.rule
    sets = latest, latest - behind, latest - (1.0 - state.share_of_latest()) * behind
    if rule.n_played < rule.n_heads:
        losses = group_losses(rule, loss, _held(sets[2], rows, rule), rows.y, rows.unit, c)
        shares = np.swapaxes(state.mixture.play(losses), 1, 2)
        sets = (np.add.reduce(shares * by_set(rule, values), axis=1) for values in sets)
    latest, average, mixed = (_held(values, rows, rule) for values in sets)
    if rule.judged:
        losses = group_losses(rule, loss, np.hstack([latest, average]), rows.y, rows.unit, c)
        state.judge(losses.reshape(len(c), rule.n_groups, 2, -1).transpose(0, 3, 1, 2).reshape(len(c), -1, 2))
    return latest if rule.plays_latest else mixed


def _held(p, rows, rule):
    """Predictions clipped to their range, if any; NaN if not finite."""
    if rule.clip is None and not (rule.target_unit or rule.log_link):
        return p
    n = p.shape[1]
    return between(p, rows.least[:, :n], rows.most[:, :n]) + 0.0 * p
