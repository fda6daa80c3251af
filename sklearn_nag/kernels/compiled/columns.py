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
from .vectors import WIDTH, anywhere, everywhere, load, maximum, nowhere, sqrt, store, where

PADDING = WIDTH  # columns are padded to full vectors, so that loops have no scalar rest


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
    for i in range(0, n, WIDTH):
        x = load(table, f.x, i) * load(table, f.lift, i)
        store(table, f.x, i, x)
        store(table, f.squares, i, with_square(load(table, f.squares, i), x, c))


@fast
def inverse_size(largest, lift):
    """``1 / s'`` for "max"."""
    size = largest * lift
    return where(size > 0.0, 1.0 / size, 1.0)


@strict
def needs_lift(table, f, n):
    """As `state.lifts.needs_lift`, for the row ``x``, of lifts that can change."""
    needs = nowhere()
    for i in range(0, n, WIDTH):
        size, lift = abs(load(table, f.x, i)), load(table, f.lift, i)
        lifted = size * lift
        needs |= (lifted >= HIGHEST) & (lift > 1.0 / LARGEST_LIFT)
        is_new = (size > 0.0) & (load(table, f.largest, i) == 0.0)
        needs |= (lifted < LOWEST) & (lift < LARGEST_LIFT) & is_new
    return anywhere(needs)


@fast
def update_maxima(table, f, n, keeps_inverse):
    """Update the largest values, and the row ``inverse`` if asked to."""
    for i in range(0, n, WIDTH):
        largest = maximum(abs(load(table, f.x, i)), load(table, f.largest, i))
        store(table, f.largest, i, largest)
        if keeps_inverse:
            store(table, f.inverse, i, inverse_size(largest, load(table, f.lift, i)))


@strict
def centre(table, f, clock, before, c, n, bias):
    """Lift the row; leave in ``z`` its deviation from the mean before it, in ``x`` that from the mean with it.

    Adds to ``squares``, where these are kept.
    """
    inverse, kept = 1.0 / max(before, TINY), before / clock[T]
    for i in range(0, n, WIDTH):
        x, total = load(table, f.x, i) * load(table, f.lift, i) - load(table, f.origin, i), load(table, f.sum, i)
        deviation = x - total * inverse
        store(table, f.sum, i, total + c * x)
        store(table, f.z, i, deviation)
        store(table, f.x, i, deviation * kept)
        if NORM >= RMS:
            store(table, f.squares, i, with_square(load(table, f.squares, i), deviation, c * kept))
    if bias >= 0:
        table[f.x, bias] = 1.0
        table[f.sum, bias] = 0.0
        if NORM >= RMS:
            table[f.squares, bias] = clock[T]


@strict
def is_unusual(table, f, n):
    """Whether the row ``x`` is 0 in a frequent column, or not 0 in another."""
    unusual = nowhere()
    for i in range(0, n, WIDTH):
        unusual |= (load(table, f.x, i) == 0.0) ^ ~(load(table, f.frequent, i) > 0.0)
    return anywhere(unusual)


@strict
def switches(table, f, before, c, n):
    """Whether the row ``x`` makes any column begin or stop to be frequent."""
    found, t = nowhere(), before + c
    for i in range(0, n, WIDTH):
        frequent = load(table, f.frequent, i) > 0.0
        found |= with_entry(table, f, c, frequent, i) > where(frequent, ENDS * t, BEGINS * t)
    return anywhere(found)


@strict
def with_entry(table, f, c, frequent, i):
    """Tallies with the row ``x``."""
    counts = (load(table, f.x, i) == 0.0) ^ ~frequent
    return load(table, f.tally, i) + where(counts, 0.0, c)


@strict
def count_entries(table, f, c, n):
    """Add the row ``x`` to the tallies."""
    for i in range(0, n, WIDTH):
        store(table, f.tally, i, with_entry(table, f, c, load(table, f.frequent, i) > 0.0, i))


@fast
def fill_inverse_sizes(table, f, t, rare, n):
    """Fill the row ``inverse`` with ``1 / s'`` for "auto", or 1 for columns that have been 0.

    By the roots of the processor, several of which in a vector take less time than guesses by the bits. Columns from
    ``rare`` on, of which none is frequent, are more: half by these and half by those, as it does both at the same time.
    """
    fourth_of_t = np.sqrt(np.sqrt(t))
    eighth_of_t = np.sqrt(fourth_of_t)
    for i in range(0, rare, WIDTH):
        squares, root = load(table, f.squares, i), sqrt(load(table, f.tally, i))
        rows = where(load(table, f.frequent, i) > 0.0, t, root * sqrt(root) * fourth_of_t)
        store(table, f.inverse, i, where(squares > 0.0, sqrt(rows / squares), 1.0))
    for i in range(rare, n, WIDTH):
        squares, fourth = load(table, f.squares, i), sqrt(sqrt(load(table, f.tally, i)))
        root = fourth * (fourth * inverse_sqrt(fourth)) * eighth_of_t
        store(table, f.inverse, i, where(squares > 0.0, root * inverse_sqrt_of_any(squares), 1.0))


@strict
def centre_frequent(table, f, clock, before, c, rare, n, bias):
    """As `centre`, of frequent columns; the others are lifted alone. From ``rare`` on there are only others."""
    inverse, kept = 1.0 / max(before, TINY), before / clock[T]
    for i in range(0, rare, WIDTH):
        x, total = load(table, f.x, i) * load(table, f.lift, i) - load(table, f.origin, i), load(table, f.sum, i)
        frequent = load(table, f.frequent, i) > 0.0
        deviation = x - where(frequent, total * inverse, 0.0)
        store(table, f.z, i, deviation)
        store(table, f.sum, i, total + c * x)
        own = where(frequent, kept, 1.0)
        store(table, f.x, i, deviation * own)
        if NORM >= RMS:  # or "auto"
            squares = load(table, f.squares, i)
            store(table, f.squares, i, squares + own * c * (deviation * deviation))
    for i in range(rare, n, WIDTH):
        x = load(table, f.x, i) * load(table, f.lift, i)
        store(table, f.x, i, x)
        store(table, f.sum, i, load(table, f.sum, i) + c * x)
        if NORM >= RMS:
            store(table, f.squares, i, with_square(load(table, f.squares, i), x, c))
    if bias >= 0:
        table[f.x, bias] = 1.0
        table[f.sum, bias] = 0.0
        if NORM >= RMS:
            table[f.squares, bias] = clock[T]


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
    """Whether fields ``first`` to ``fields - 1`` are finite."""
    right = everywhere()
    for field in range(first, fields):
        for i in range(0, n, WIDTH):
            right &= abs(load(subset, field, i)) <= LARGEST
    return not anywhere(~right)


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
