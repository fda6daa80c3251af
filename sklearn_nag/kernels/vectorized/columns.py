"""What rows do to columns in all families: lifts, means, scales and ``z``."""

import itertools
from functools import partial
from typing import NamedTuple

import numpy as np

from ..state.fields import ROUNDING
from ..state.frequent import changes, switch
from ..state.lifts import HIGHEST, TINY, lift, needs_lift, positive

ALMOST = 1.0 + 1e-9  # margin for sums that are added up in another order


def raise_lifts(rule, columns, absolute, start, before=None):
    """Adapt the lifts to row ``start``; call ``before()`` first if one changes.

    Returns the index of the next row that needs other lifts, or the number of rows.
    """
    if not rule.lifted:
        return len(absolute)
    peak = absolute[start:].max(axis=0)
    suspects = np.flatnonzero((peak * columns.lift >= HIGHEST) | ((columns.largest == 0) & (peak > 0)))
    if suspects.size == 0:
        return len(absolute)
    raise_lifts_for(columns, absolute[start], partial(columns.relift, rule), before)
    values = absolute[start:, suspects]
    lifted = values * columns.lift[suspects]
    seen = np.logical_or.accumulate(np.vstack([columns.largest[suspects] > 0, values > 0]))[:-1]
    later = np.flatnonzero(needs_lift(values[1:], lifted[1:], seen[1:]).any(axis=1))
    return start + 1 + later[0] if later.size else len(absolute)


def raise_lifts_for(columns, absolute, relift, before=None):
    """Adapt the lifts to a row, as `raise_lifts`; ``relift`` is that of the columns or of the model."""
    needs = np.flatnonzero(needs_lift(absolute, absolute * columns.lift, columns.largest > 0))
    if needs.size:
        if before is not None:
            before()
        relift(needs, lift(absolute[needs]))


def switch_frequent(state, columns, x, c, start, before=None):
    """Make columns frequent or rare if row ``start`` does so; call ``before()`` first if any is.

    Returns the index of the next row that does, or the number of rows.
    """
    if not state.rule.selective:
        return len(x)
    peak = columns.tally + np.add.reduce(c[start:])  # an upper bound except for rounding
    suspects = np.flatnonzero(changes(columns.frequent > 0, peak * ALMOST, state.t + c[start], state.rule.begins))
    if suspects.size == 0:
        return len(x)
    _switch_frequent_for(state, columns, x[start], c[start], before)
    frequent = columns.frequent[suspects] > 0
    counts = np.where((x[start:, suspects] == 0) == frequent, c[start:, None], 0.0)
    tallies, t = running(np.add, columns.tally[suspects], counts), running(np.add, state.t, c[start:])
    later = np.flatnonzero(changes(frequent, tallies[2:], t[2:, None], state.rule.begins).any(axis=1))
    return start + 1 + later[0] if later.size else len(x)


def _switch_frequent_for(state, columns, x, c, before=None):
    """Make columns frequent or rare for a row, as `switch_frequent`."""
    frequent = columns.frequent > 0
    tally = columns.tally + np.where((x == 0) == frequent, c, 0.0)
    index = np.flatnonzero(changes(frequent, tally, state.t + c, state.rule.begins))
    if index.size:
        if before is not None:
            before()
        switch(state.rule, columns, index, state.t)


def prepare_row(state, columns, x, c):
    """Do what a row of weight ``c`` needs before it is learnt: other lifts, and columns made frequent or rare.

    ``columns`` are all, or those that the row visits. The penalty that is due must have been applied.
    """
    with np.errstate(all="ignore"):
        if state.rule.selective:
            _switch_frequent_for(state, columns, x, c)
        if state.rule.lifted:
            raise_lifts_for(columns, np.abs(x), partial(columns.relift, state.rule))
        if state.t == 0 and state.rule.centred:
            begin_at(state.rule, columns, x * columns.lift)


def begin_at(rule, columns, lifted):
    """Make the first row, lifted, the origin, except for the intercept."""
    columns.origin[:] = lifted
    if rule.intercept:
        columns.origin[-1] = 0.0


def running(combine, first, rows):
    """Accumulate ``first`` and the rows one by one by ``combine``, a ufunc, with the same bits for any width.

    Returns the values before each row and after the last.
    """
    values = np.empty((len(rows) + 1, *rows.shape[1:]))
    values[0], values[1:] = first, rows
    if rows.ndim == 1 or len(rows) > rows.shape[1]:
        return combine.accumulate(values, out=values)
    for before, row in itertools.pairwise(values):  # faster for wide rows, because NumPy accumulates column by column
        combine(before, row, out=row)
    return values


class Inputs(NamedTuple):
    """What depends on the inputs alone, for each row of a segment.

    Attributes
    ----------
    t : ndarray of shape (n_rows + 1,)
        Total weight of the rows before the segment, and up to each of its rows.
    before : dict of str to ndarray of shape (n_rows + 1, n_columns)
        Fields of the columns before each row and after the last, by name.
    x : ndarray of shape (n_rows, n_columns), or list of ndarray
        The rows, lifted and, if the rule says so, centred. With ``visited``, an array for each row with only the
        columns that it visits.
    z : as ``x``
        ``x`` over its scale.
    sizes : as ``x``
        Scales after each row has been counted, times the lifts.
    named : ndarray of bool of shape (n_rows, n_columns), or None
        Whether each row visits each column; None if no column can wait for a row that names it.
    visited : list of ndarray or None
        Places of the columns that each row visits.
    rare : as ``x``, or None
        Squared sizes of rare columns, 0 for others; None if nothing is damped.
    """

    t: np.ndarray
    before: dict
    x: np.ndarray | list
    z: np.ndarray | list
    sizes: np.ndarray | list
    named: np.ndarray | None
    visited: list | None = None
    rare: np.ndarray | list | None = None


def read_inputs(state, columns, x, absolute, c, by_column=False):
    """Make the `Inputs` of rows that need no new lift; with ``by_column``, of visited columns alone.

    Sums over rows go over whole columns. Scales, whose roots take longer, are computed for visited entries alone.
    """
    rule = state.rule
    named = are_there(rule, columns, x) if rule.lazy else None
    t = running(np.add, state.t, c)
    before = {"largest": running(np.maximum, columns.largest, absolute)}
    lifted = x * columns.lift if rule.lifted else x
    deviation, lift, is_frequent = lifted, columns.lift, None
    frequent = slice(None)  # index of the frequent columns
    if columns.frequent is not None:
        is_frequent = columns.frequent > 0
        before["tally"] = running(np.add, columns.tally, np.where((x == 0) == is_frequent, c[:, None], 0.0))
        if not is_frequent.all() and (rule.selective or rule.normalization == "auto"):
            frequent = np.flatnonzero(is_frequent)
    if rule.centred:
        bias = slice(-1, None) if rule.intercept else slice(0, 0)
        if state.t == 0:
            begin_at(rule, columns, lifted[0])
        deviation = lifted - columns.origin
        before["sum"] = sums = running(np.add, columns.sum, c[:, None] * deviation)
        sums[:, bias] = 0.0
        kept = (t[:-1] / t[1:])[:, None]
        deviation[:, frequent] -= sums[:-1, frequent] * (1.0 / np.maximum(t[:-1, None], TINY))
        if rule.drops_rounding:
            deviation[np.abs(deviation) <= ROUNDING * np.abs(lifted - columns.origin)] = 0.0
        lifted = deviation.copy()
        lifted[:, frequent] *= kept
        lifted[:, bias] = 1.0
    if columns.squares is not None:
        squares = deviation * deviation
        squares *= c[:, None]
        if rule.centred:
            squares[:, frequent] = c[:, None] * kept * deviation[:, frequent] ** 2
            squares[:, bias] = c[:, None]
        before["squares"] = running(np.add, columns.squares, squares)
    if rule.normalization == "max" and rule.centred:
        shown = np.where(is_frequent, np.abs(lifted), 0.0) if rule.selective else np.abs(lifted)
        before["deviation"] = running(np.maximum, columns.deviation, shown)
    time = t[1:, None]
    if by_column:  # from here on all is flat: the entries of one row after another
        entries = np.flatnonzero(named)
        rows, places = np.divmod(entries, x.shape[1])
        time, x, lifted, lift = t[1:].take(rows), x.take(entries), lifted.take(entries), lift.take(places)
        is_frequent = None if is_frequent is None else is_frequent.take(places)

    def after(name):
        """A field with each row."""
        return before[name][1:].take(entries) if by_column else before[name][1:]

    sizes = _sizes(rule, after, time, lift, is_frequent, x.shape)
    z = x if rule.normalization is None and not rule.centred else lifted / positive(sizes)
    rare = np.where(is_frequent, 0.0, sizes) ** 2 if rule.damps and not is_frequent.all() else None
    if not by_column:
        return Inputs(t, before, lifted, z, sizes, named, None, rare)
    ends = np.searchsorted(rows, np.arange(len(c) + 1)).tolist()
    of_rows = [slice(*pair) for pair in itertools.pairwise(ends)]
    of_entries = [lifted, z, sizes, places] if rare is None else [lifted, z, sizes, places, rare]
    lifted, z, sizes, *others = ([values[some] for some in of_rows] for values in of_entries)
    return Inputs(t, before, lifted, z, sizes, named, *others)


def _sizes(rule, after, time, lift, is_frequent, shape):
    """Lifted scales with each row, of all columns or of visited entries; ``after(name)`` returns their fields."""
    if rule.normalization in ("rms", "auto"):
        seen = time
        if rule.normalization == "auto" and not is_frequent.all():
            tally = after("tally")
            seen = np.where(is_frequent, time, np.sqrt(tally * np.sqrt(tally * time)))
        return np.sqrt(after("squares") / positive(seen))
    if rule.normalization is None:
        return np.broadcast_to(lift, shape)
    if not rule.centred:
        return after("largest") * lift
    deviation = after("deviation")
    if not rule.selective:
        return deviation
    return np.where(is_frequent, deviation, after("largest") * lift)


def visits(columns, inputs):
    """Yield the number of each row of a segment, and the columns that it visits; changes to these are kept."""
    if inputs.visited is None:
        yield from ((i, columns) for i in range(len(inputs.x)))
        return
    for i, places in enumerate(inputs.visited):
        of_row = columns.with_table(columns.table.take(places, axis=1))
        yield i, of_row
        columns.table[:, places] = of_row.table


def squared_lengths(inputs):
    """``sum z^2`` of each row."""
    if inputs.visited is None:
        return np.add.reduce(inputs.z * inputs.z, axis=1)
    return np.array([np.add.reduce(z * z) for z in inputs.z])


def are_there(rule, columns, x):
    """Mask of what rows visit: nonzero entries and, for selective rules, all entries of frequent columns."""
    return (x != 0) | (columns.frequent > 0) if rule.selective else x != 0


def write_back(columns, before, row):
    """Set fields of the columns to their values before a row of the segment, or after the last if ``row`` is -1."""
    for name, values in before.items():
        getattr(columns, name)[:] = values[row]
