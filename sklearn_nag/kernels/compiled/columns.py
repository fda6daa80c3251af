"""What a row does to the columns of a table, as compiled loops.

A row is learnt on a table of columns: for dense rows a copy of the whole table of the model, for sparse ones a copy of
the columns that the row names. ``f`` has the place of each field in the table. Below the fields, ``x``, ``z`` and
``inverse`` are rows for intermediate results.
"""

from __future__ import annotations

import numpy as np

from ..state.frequent import BEGINS, ENDS
from ..state.lifts import HIGHEST, LARGEST, LARGEST_LIFT, LIFT_STEP, LOWEST, TINY
from .constants import NORM, RMS
from .handover import T
from .jit import fast, slow, strict

PADDING = 8  # columns are padded to full vectors, so that loops have no scalar rest


@strict
def lift_of(largest):
    """As `state.lifts.lift`."""
    power = 1.0
    while largest * power >= HIGHEST and power > 1.0 / LARGEST_LIFT:
        power /= LIFT_STEP
    while largest * power < LOWEST and power < LARGEST_LIFT:
        power *= LIFT_STEP
    return power


@strict
def with_square(squares, x, c):
    """``squares + c x^2``."""
    return squares + c * (x * x)


@strict
def add_squares(table, f, n, c):
    """Lift ``x``; ``squares += c x'^2``."""
    for i in range(n):  # in two loops, as one does not become vector instructions everywhere
        table[f.x, i] *= table[f.lift, i]
    for i in range(n):
        table[f.squares, i] = with_square(table[f.squares, i], table[f.x, i], c)


@fast
def inverse_size(largest, lift):
    """``1 / s'`` for "max"."""
    size = largest * lift
    return 1.0 / size if size > 0 else 1.0


@strict
def needs_lift(table, f, n):
    """As `state.lifts.needs_lift`, for the row ``x``, of lifts that can change."""
    needs = 0
    for i in range(n):
        size, lift = abs(table[f.x, i]), table[f.lift, i]
        lifted = size * lift
        falls = (lifted >= HIGHEST) & (lift > 1.0 / LARGEST_LIFT)
        rises = (lifted < LOWEST) & (lift < LARGEST_LIFT) & (size > 0.0) & (table[f.largest, i] == 0.0)
        needs |= falls | rises
    return needs != 0


@fast
def update_maxima(table, f, n, keeps_inverse):
    """Update the largest values, and the row ``inverse`` if asked to."""
    for i in range(n):
        largest = max(abs(table[f.x, i]), table[f.largest, i])
        table[f.largest, i] = largest
        if keeps_inverse:
            table[f.inverse, i] = inverse_size(largest, table[f.lift, i])


@strict
def add_deviations(table, f, n, c, kept):
    """``squares += c kept z^2``, with the deviations that `centre` left in ``z``; ``x`` is lifted already."""
    factor = c * kept
    for i in range(n):
        deviation = table[f.z, i]
        table[f.squares, i] += factor * (deviation * deviation)


@strict
def centre(table, f, clock, before, c, n, bias):
    """Lift the row; leave in ``z`` its deviation from the mean before it, in ``x`` that from the mean with it."""
    inverse, kept = 1.0 / max(before, TINY), before / clock[T]
    for i in range(n):
        x = table[f.x, i] * table[f.lift, i] - table[f.origin, i]
        deviation = x - table[f.sum, i] * inverse
        table[f.sum, i] += c * x
        table[f.z, i] = deviation
        table[f.x, i] = deviation * kept
    if bias >= 0:
        table[f.x, bias] = 1.0
        table[f.sum, bias] = 0.0


@strict
def is_unusual(table, f, n):
    """Whether the row ``x`` is 0 in a frequent column, or not 0 in another."""
    unusual = 0
    for i in range(n):
        unusual |= (table[f.x, i] == 0.0) == (table[f.frequent, i] > 0.0)
    return unusual != 0


@strict
def switches(table, f, before, c, n):
    """Whether the row ``x`` makes any column begin or stop to be frequent."""
    found, t = 0, before + c
    for i in range(n):
        frequent, tally = table[f.frequent, i] > 0.0, table[f.tally, i]
        tally += c if (table[f.x, i] == 0.0) == frequent else 0.0
        found |= tally > (ENDS if frequent else BEGINS) * t
    return found != 0


@strict
def count_entries(table, f, c, n):
    """Add the row ``x`` to the tallies."""
    for i in range(n):
        table[f.tally, i] += c if (table[f.x, i] == 0.0) == (table[f.frequent, i] > 0.0) else 0.0


@fast
def fill_inverse_sizes(table, f, t, n):
    """Fill the row ``inverse`` with ``1 / s'`` for "auto", or 1 for columns that have been 0.

    By the roots of the processor: several of them in a vector take less time than guesses by the bits.
    """
    fourth = np.sqrt(np.sqrt(t))
    for i in range(n):
        squares, root = table[f.squares, i], np.sqrt(table[f.tally, i])
        rows = t if table[f.frequent, i] > 0.0 else root * np.sqrt(root) * fourth
        table[f.inverse, i] = np.sqrt(rows / squares) if squares > 0 else 1.0


@strict
def centre_frequent(table, f, clock, before, c, n, bias):
    """As `centre`, of frequent columns; the others are lifted alone. Adds to ``squares``, where these are kept."""
    inverse, kept = 1.0 / max(before, TINY), before / clock[T]
    for i in range(n):  # in several loops, as those over too many rows of a table do not become vector instructions
        table[f.x, i] = table[f.x, i] * table[f.lift, i] - table[f.origin, i]
    for i in range(n):
        x, total = table[f.x, i], table[f.sum, i]
        table[f.z, i] = x - (total * inverse if table[f.frequent, i] > 0.0 else 0.0)
        table[f.sum, i] = total + c * x
    for i in range(n):
        table[f.x, i] = table[f.z, i] * (kept if table[f.frequent, i] > 0.0 else 1.0)
    if NORM >= RMS:  # or "auto"
        factor = c * kept
        for i in range(n):
            deviation = table[f.z, i]
            table[f.squares, i] += (factor if table[f.frequent, i] > 0.0 else c) * (deviation * deviation)
        if bias >= 0:
            table[f.squares, bias] = clock[T]
    if bias >= 0:
        table[f.x, bias] = 1.0
        table[f.sum, bias] = 0.0


@strict
def finite(table, row, n):
    """Whether no entry of the row is NaN or infinite."""
    for i in range(n):  # noqa: SIM110 (a generator does not compile)
        if not abs(table[row, i]) <= LARGEST:
            return False
    return True


@strict
def padded(n):
    """``n`` rounded up to whole vectors, one at least, so that loops over columns have no scalar rest."""
    return max(n + PADDING - 1, PADDING) // PADDING * PADDING


@strict
def all_finite(subset, first, fields, n):
    """Whether fields ``first`` to ``fields - 1`` are finite; nothing leaves the loop early, so it is vectorised."""
    wrong = 0
    for field in range(first, fields):
        for i in range(n):
            wrong |= not abs(subset[field, i]) <= LARGEST
    return wrong == 0


@fast
def read_entries(subset, f, index, places, data, indices, start, stop, columns, followed, intercept):
    """Copy a CSR row to the row ``x`` of ``subset`` and to ``index``; return the number of columns that it visits.

    Columns may come in any order, and be named more than once: their values are added up. Frequent columns, which
    ``followed`` lists, are visited in any case, and with ``intercept`` so is the last one of all.
    """
    unordered, previous = 0, np.int64(-1)
    for i in range(stop - start):
        j = np.uint64(start) + np.uint64(i)  # unsigned, as Numba checks whether a signed index is negative
        column = np.int64(indices[j])
        index[i], subset[f.x, i] = column, data[j]
        unordered |= column <= previous
        previous = column
    width = stop - start
    if unordered and names_any_twice(index, width, columns, f.lift):
        width = add_up_repeated(subset, f.x, index, places, width)
    if followed.size > 0:
        width = add_followed(subset, f, index, width, columns, followed)
    if intercept:
        index[width], subset[f.x, width] = columns.shape[0] - 1, 1.0
    return width + intercept


@slow
def add_followed(subset, f, index, width, columns, followed):
    """Add the frequent columns that a row does not name, with 0; return the number of columns."""
    for i in range(width):  # without branches, which would be foretold wrongly too often
        columns[index[i], f.frequent] *= 2.0  # a mark, until the next loop
    for place in range(1, followed[0] + 1):
        column = np.uint64(followed[place])
        index[width], subset[f.x, width] = column, 0.0
        width += columns[column, f.frequent] == 1.0
        columns[column, f.frequent] = 1.0
    return width


@fast
def names_any_twice(index, n, columns, lift):
    """Whether any of the first ``n`` columns of ``index`` is named twice.

    Lifts, which are positive, are turned negative where they were met, and back.
    """
    met = 0
    while met < n and columns[index[met], lift] > 0.0:
        columns[index[met], lift] *= -1.0
        met += 1
    for i in range(met):
        columns[index[i], lift] *= -1.0
    return met < n


@slow
def add_up_repeated(subset, x, index, places, n):
    """Make each column of a row appear once; ``places`` is room for a hash table of its columns.

    The table has as many places as is a power of two at least twice the number of columns.
    """
    size = 4
    while size < 2 * n:
        size *= 2
    for i in range(size):
        places[i] = 0
    width = 0
    for i in range(n):
        place = (np.int64(index[i]) * 0x9E3779B1 >> 7) & (size - 1)
        while places[place] != 0 and index[places[place] - 1] != index[i]:
            place = (place + 1) & (size - 1)
        if places[place] == 0:
            index[width], subset[x, width] = index[i], subset[x, i]
            width += 1
            places[place] = width
        else:
            subset[x, places[place] - 1] += subset[x, i]
    return width


@fast
def gather(subset, f, columns, index, width, n):
    """Copy the columns of a row to ``subset``, above its row ``x``, some fields at a time; clear it up to ``n``.

    The last columns become those of features that are always 0: loops take them along and change nothing.
    """
    fields = columns.shape[1]
    for field in range(subset.shape[0]):
        for i in range(width, n):
            subset[field, i] = 0.0
    for i in range(width, n):
        subset[f.lift, i] = 1.0
    four = fields // 4 * 4
    for a in range(0, four, 4):
        for i in range(width):
            column = index[i]
            subset[a, i], subset[a + 1, i] = columns[column, a], columns[column, a + 1]
            subset[a + 2, i], subset[a + 3, i] = columns[column, a + 2], columns[column, a + 3]
    if fields - four >= 2:
        for i in range(width):
            column = index[i]
            subset[four, i], subset[four + 1, i] = columns[column, four], columns[column, four + 1]
    if fields % 2 == 1:
        for i in range(width):
            subset[fields - 1, i] = columns[index[i], fields - 1]


@fast
def scatter(subset, columns, index, width, first, fields):
    """Copy the rows of ``subset`` from the ``first`` on back, three fields at a time."""
    three = first + (fields - first) // 3 * 3
    for a in range(first, three, 3):
        for i in range(width):
            column = index[i]
            columns[column, a], columns[column, a + 1] = subset[a, i], subset[a + 1, i]
            columns[column, a + 2] = subset[a + 2, i]
    for a in range(three, fields):
        for i in range(width):
            columns[index[i], a] = subset[a, i]
