"""What a row does to the columns of a table, as compiled loops.

A row is learnt on a table of columns: for dense rows a copy of the whole table of the model, for sparse ones a copy of
the columns that the row names. ``f`` has the place of each field in the table. Below the fields, ``x``, ``z`` and
``inverse`` are rows for intermediate results.
"""

from __future__ import annotations

import numpy as np

from ..state.frequent import BEGINS, ENDS
from ..state.lifts import HIGHEST, LARGEST, LARGEST_LIFT, LIFT_STEP, LOWEST, TINY
from .arithmetic import inverse_sqrt, inverse_sqrt_of_any
from .constants import NORM, RMS
from .handover import T
from .jit import fast, slow, strict
from .transposing import SIDE, fetch_block, put_block

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
def fill_inverse_sizes(table, f, t, rare, n):
    """Fill the row ``inverse`` with ``1 / s'`` for "auto", or 1 for columns that have been 0.

    By the roots of the processor, several of which in a vector take less time than guesses by the bits. Columns from
    ``rare`` on, of which none is frequent, are more: half by these and half by those, as it does both at the same time.
    """
    fourth_of_t = np.sqrt(np.sqrt(t))
    eighth_of_t = np.sqrt(fourth_of_t)
    for i in range(rare):
        squares, root = table[f.squares, i], np.sqrt(table[f.tally, i])
        rows = t if table[f.frequent, i] > 0.0 else root * np.sqrt(root) * fourth_of_t
        table[f.inverse, i] = np.sqrt(rows / squares) if squares > 0 else 1.0
    for i in range(np.uint64(rare), np.uint64(n)):
        squares, fourth = table[f.squares, i], np.sqrt(np.sqrt(table[f.tally, i]))
        root = fourth * (fourth * inverse_sqrt(fourth)) * eighth_of_t
        table[f.inverse, i] = root * inverse_sqrt_of_any(squares) if squares > 0 else 1.0


@strict
def centre_frequent(table, f, clock, before, c, rare, n, bias):
    """As `centre`, of frequent columns; the others are lifted alone. From ``rare`` on there are only others.

    Adds to ``squares``, where these are kept.
    """
    inverse, kept = 1.0 / max(before, TINY), before / clock[T]
    for i in range(rare):  # in several loops, as those over too many rows of a table do not become vector instructions
        table[f.x, i] = table[f.x, i] * table[f.lift, i] - table[f.origin, i]
    for i in range(rare):
        x, total = table[f.x, i], table[f.sum, i]
        table[f.z, i] = x - (total * inverse if table[f.frequent, i] > 0.0 else 0.0)
        table[f.sum, i] = total + c * x
    for i in range(rare):
        table[f.x, i] = table[f.z, i] * (kept if table[f.frequent, i] > 0.0 else 1.0)
    for i in range(np.uint64(rare), np.uint64(n)):
        x = table[f.x, i] * table[f.lift, i]
        table[f.x, i] = x
        table[f.sum, i] += c * x
    if NORM >= RMS:  # or "auto"
        factor = c * kept
        for i in range(rare):
            deviation = table[f.z, i]
            table[f.squares, i] += (factor if table[f.frequent, i] > 0.0 else c) * (deviation * deviation)
        for i in range(np.uint64(rare), np.uint64(n)):
            table[f.squares, i] = with_square(table[f.squares, i], table[f.x, i], c)
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
def whole_vectors(n):
    """``n`` rounded up to whole vectors."""
    return (n + PADDING - 1) // PADDING * PADDING


@strict
def padded(n):
    """As `whole_vectors`, one at least, so that loops over columns have no scalar rest."""
    return whole_vectors(max(n, 1))


@strict
def all_finite(subset, first, fields, n):
    """Whether fields ``first`` to ``fields - 1`` are finite; nothing leaves the loop early, so it is vectorised."""
    wrong = 0
    for field in range(first, fields):
        for i in range(n):
            wrong |= not abs(subset[field, i]) <= LARGEST
    return wrong == 0


@slow
def enter(subset, f, columns, index, places, followed, intercept, copies):
    """Copy the columns that every row visits to the first ones of ``subset``, for as long as a call lasts.

    They are the frequent columns, which ``followed`` lists, and with ``intercept`` the last one of all. ``places`` then
    has 1 more than the place of each frequent one. Without ``copies`` the columns are there already.

    Returns
    -------
    int
        How many they are.
    """
    fields, n = columns.shape[1], followed[0] if followed.size > 0 else 0
    for i in range(n):
        index[i] = followed[1 + i]
        places[index[i]] = i + 1
    if intercept:
        index[n] = columns.shape[0] - 1
        n += 1
    if not copies:
        return n
    for field in range(fields):
        for i in range(n):
            subset[field, i] = columns[index[i], field]
    for field in range(fields):  # what comes before the lift is the same for all others, and is not fetched
        for i in range(n, subset.shape[1] if field < f.lift else whole_vectors(n)):
            subset[field, i] = 0.0
    for i in range(n, whole_vectors(n)):
        subset[f.lift, i] = 1.0
    return n


@slow
def leave(subset, columns, index, places, n, intercept, copies):
    """Copy back what `enter` has fetched, and clear ``places``."""
    for i in range(n - intercept):
        places[index[i]] = 0
    if copies:
        for field in range(columns.shape[1]):
            for i in range(n):
                columns[index[i], field] = subset[field, i]


@fast
def read_entries(subset, f, index, places, data, indices, start, stop, first, seeks):
    """Copy a CSR row to the row ``x`` of ``subset``; return the place after its last column.

    Columns that have a place stay there. The others come from ``first`` on, and are listed in ``index``. They may come
    in any order, and be named more than once: their values are added up.
    """
    n, offset = np.uint64(stop - start), np.uint64(start)  # unsigned, as signed places may count from the end
    unordered, previous = 0, np.int64(-1)
    for i in range(n):
        column = np.int64(indices[offset + i])
        unordered |= column <= previous
        previous = column
    for i in range(first + stop - start if unordered else first):
        subset[f.x, i] = 0.0
    width = first
    if unordered:
        for i in range(n):
            column = np.uint64(indices[offset + i])
            known = np.int64(places[column])
            place = np.uint64(known - 1 if known > 0 else width)
            index[width], places[column] = column, place + np.uint64(1)
            subset[f.x, place] += data[offset + i]
            width += known == 0
        for i in range(np.uint64(first), np.uint64(width)):
            places[index[i]] = 0
    elif seeks:
        for i in range(n):
            column = np.uint64(indices[offset + i])
            known = np.int64(places[column])
            subset[f.x, np.uint64(known - 1 if known > 0 else width)], index[width] = data[offset + i], column
            width += known == 0
    else:
        for i in range(n):
            subset[f.x, np.uint64(width)], index[width] = data[offset + i], np.uint64(indices[offset + i])
            width += 1
    return width


@fast
def gather(subset, f, columns, index, first, width, n):
    """Copy the columns of a row, from the place ``first`` on, to ``subset``; clear what is above ``width``.

    Of the columns of a row that are not frequent, those fields alone that can differ. The last columns, up to ``n``,
    become those of features that are always 0: loops take them along and change nothing.
    """
    fields, begin = columns.shape[1], f.lift if f.high == 0 else f.low
    if n == first:
        return
    for i in range(width, n):
        subset[f.x, i] = 0.0
    for field in range(begin, fields):
        for i in range(n - PADDING, n):
            subset[field, i] = 0.0
    for i in range(n - PADDING, n):
        subset[f.lift, i] = 1.0
    if width - first >= SIDE and fields - begin >= SIDE:
        for a in range(begin, fields, SIDE):
            field = min(a, fields - SIDE)  # the last block may overlap the one before
            for i in range(first, width, SIDE):
                fetch_block(subset, field, min(i, width - SIDE), columns, field, index)
    else:
        for i in range(first, width):
            for field in range(begin, fields):
                subset[field, i] = columns[index[i], field]


@fast
def scatter(subset, f, columns, index, first, width):
    """Copy what `gather` has copied back."""
    fields, begin = columns.shape[1], f.lift
    if width - first >= SIDE and fields - begin >= SIDE:
        for a in range(begin, fields, SIDE):
            field = min(a, fields - SIDE)
            for i in range(first, width, SIDE):
                put_block(subset, field, min(i, width - SIDE), columns, field, index)
    else:
        for i in range(first, width):
            for field in range(begin, fields):
                columns[index[i], field] = subset[field, i]
