"""What a row does to the columns of a table, as compiled loops.

A row is learnt on a table of columns: for dense rows a copy of the whole table of the model, for sparse ones a copy of
the columns that the row names. ``f`` has the place of each field in the table. Below the fields, ``x``, ``z`` and
``inverse`` are rows for intermediate results.
"""

from __future__ import annotations

import numpy as np

from ..state.lifts import HIGHEST, LARGEST, LARGEST_LIFT, LIFT_STEP, LOWEST, TINY
from .jit import fast, slow, strict

T = 0  # entry of ``clock``, in every family: the total weight of the rows
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
def add_squares(table, f, n, c):
    """Lift ``x``; ``squares += c x'^2``."""
    for i in range(n):
        x = table[f.x, i] * table[f.lift, i]
        table[f.x, i] = x
        table[f.squares, i] += c * (x * x)


@fast
def inverse_size(largest, lift):
    """``1 / s'`` for "max"."""
    size = largest * lift
    return 1.0 / size if size > 0 else 1.0


@fast
def update_maxima(table, f, n, keeps_inverse):
    """Update the largest values, and the row ``inverse`` if asked to; tell whether any column needs another lift."""
    needs_lift = 0
    for i in range(n):
        size, before, lift = abs(table[f.x, i]), table[f.largest, i], table[f.lift, i]
        lifted, largest = size * lift, max(size, before)
        table[f.largest, i] = largest
        needs_lift |= (lifted >= HIGHEST) | ((before == 0.0) & (size > 0.0) & (lifted < LOWEST))
        table[f.z, i] = before
        if keeps_inverse:
            table[f.inverse, i] = inverse_size(largest, lift)
    return needs_lift != 0


@slow
def raise_lifts(table, f, powers, n_heads, n):
    """Adapt the lifts, as `Columns.relift`; to be called after `update_maxima`, which leaves the old maxima in ``z``.

    ``powers`` tells for each row of the table by which power of the lifts it is multiplied.
    """
    for i in range(n):
        size, before = abs(table[f.x, i]), table[f.z, i]
        lifted = size * table[f.lift, i]
        if not (lifted >= HIGHEST or (before == 0.0 and size > 0.0 and lifted < LOWEST)):
            continue
        largest = table[f.largest, i]
        new = lift_of(largest)
        ratio = min(new / table[f.lift, i], 1.0)  # a lift that rises finds only zeros in its column
        table[f.lift, i] = new
        table[f.inverse, i] = inverse_size(largest, new)
        for row in range(powers.size):
            if powers[row] == 1:
                table[row, i] *= ratio
            elif powers[row] == 2:
                table[row, i] *= ratio * ratio
        if f.G > 0:
            for k in range(n_heads):
                table[f.G + k, i] = max(table[f.G + k, i] * (ratio * ratio), TINY)


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
    if before == 0:
        for i in range(n):
            table[f.origin, i] = table[f.x, i] * table[f.lift, i] if i != bias else 0.0
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
def read_entries(subset, x, index, places, data, indices, start, stop, n_columns, intercept):
    """Copy a CSR row to the row ``x`` of ``subset`` and to ``index``; return the number of columns that it names.

    Columns may come in any order, and be named more than once: their values are added up. With ``intercept`` the last
    one of all is named as well.
    """
    unordered, previous = 0, np.int64(-1)
    for i in range(stop - start):
        j = np.uint64(start) + np.uint64(i)  # unsigned, as Numba checks whether a signed index is negative
        column = np.int64(indices[j])
        index[i], subset[x, i] = column, data[j]
        unordered |= column <= previous
        previous = column
    width = add_up_repeated(subset, x, index, places, stop - start) if unordered else stop - start
    if intercept:
        index[width], subset[x, width] = n_columns - 1, 1.0
    return width + intercept


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
    """Copy the columns of a row to ``subset``, above its row ``x``, four fields at a time; clear it up to ``n``.

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
    for a in range(four, fields):
        for i in range(width):
            subset[a, i] = columns[index[i], a]


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
