"""What a row does to the columns of a table, as compiled loops.

A row is learnt on a table of columns: for dense rows a copy of the whole table of the model, for sparse ones a copy of
the columns that the row names. ``f`` has the place of each field in the table. Below the fields, ``x``, ``z`` and
``inverse`` are rows for intermediate results.
"""

from __future__ import annotations

import numpy as np

from ..state.fields import ROUNDING
from ..state.frequent import ENDS
from ..state.lifts import HIGHEST, LARGEST, LARGEST_LIFT, LIFT_STEP, LOWEST, TINY
from .arithmetic import inverse_sqrt, inverse_sqrt_of_any
from .constants import AUTO, COUNTS_ENTRIES, DROPS_ROUNDING, HAS_RARE, IS_CENTRED, IS_SELECTIVE, NORM, RMS
from .jit import fast, slow, strict
from .transposing import SIDE, fetch_block, put_block
from .vectors import WIDTH, anywhere, lane, load, load_first, maximum, nowhere, sqrt, store, where


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
def times_of(before, c):
    """What `relative` reads of weights: of the rows ``before``, of one of weight ``c``, and of both."""
    t = before + c
    return 1.0 / max(before, TINY), before / t, t, c


@strict
def relative(table, f, i, times, bias, may_be_bias=True):
    """Lift eight columns of the row ``x``, and centre those that are: by the mean with the row, which is counted first.

    Adds to ``squares``, where these are kept, by the mean before the row. Where some columns are rare, these are lifted
    alone. The intercept is 1, as are its squares in each row; whether it may be among the eight is known when code is
    compiled. Returns what are ``x`` and ``squares`` now.
    """
    inverse, kept, t, c = times
    x = load(table, f.x, i) * load(table, f.lift, i)
    squares = load(table, f.squares, i) if NORM >= RMS else x
    if IS_CENTRED:
        own, sums = lane(bias - i) if may_be_bias else nowhere(), load(table, f.sum, i)
        x = x - load(table, f.origin, i)
        mean, share = sums * inverse, kept
        if IS_SELECTIVE and HAS_RARE:
            frequent = load(table, f.frequent, i) > 0.0
            mean, share = where(frequent, mean, 0.0), where(frequent, kept, 1.0)
        deviation = x - mean
        if DROPS_ROUNDING:
            deviation = where(abs(deviation) > ROUNDING * abs(x), deviation, 0.0)
        store(table, f.sum, i, where(own, 0.0, sums + c * x))
        x = where(own, 1.0, deviation * share)
        if NORM >= RMS:  # or "auto"
            squares = where(own, t, squares + c * share * (deviation * deviation))
    elif NORM >= RMS:
        squares = with_square(squares, x, c)
    if NORM >= RMS:
        store(table, f.squares, i, squares)
    store(table, f.x, i, x)
    return x, squares


@strict
def relative_of_rare(table, f, i, c):
    """As `relative`, of columns all of which are rare."""
    x = load(table, f.x, i) * load(table, f.lift, i)
    squares = with_square(load(table, f.squares, i), x, c) if NORM >= RMS else x
    if IS_CENTRED:
        store(table, f.sum, i, load(table, f.sum, i) + c * x)
    if NORM >= RMS:
        store(table, f.squares, i, squares)
    store(table, f.x, i, x)
    return x, squares


@fast
def roots_of(t):
    """What `inverse_scale` reads of the weight of all rows: its square root, and its eighth one."""
    root = np.sqrt(t)
    return root, np.sqrt(np.sqrt(root))


@fast
def inverse_scale(table, f, i, squares, roots, are_rare):
    """``1 / s'`` of eight columns for "rms" or "auto"; 1 for those that have been 0."""
    root, of_rare = roots
    if NORM == AUTO and HAS_RARE:
        of_tally = sqrt(load(table, f.tally, i))
        of_rare = of_tally * inverse_sqrt(maximum(sqrt(of_tally), TINY)) * of_rare  # 0 where all is forgotten
        root = of_rare if are_rare else where(load(table, f.frequent, i) > 0.0, root, of_rare)
    return where(squares > 0.0, root * inverse_sqrt_of_any(squares), 1.0)


@strict
def switches(table, f, begins, before, c, n):
    """Whether the row ``x`` makes any column begin or stop to be frequent."""
    found, t = nowhere(), before + c
    for i in range(0, n, WIDTH):
        frequent = load(table, f.frequent, i) > 0.0
        found |= with_entry(table, f, c, frequent, i) > where(frequent, ENDS * t, begins * t)
    return anywhere(found)


@strict
def with_entry(table, f, c, frequent, i):
    """Tallies with the row ``x``."""
    counts = (load(table, f.x, i) == 0.0) ^ ~frequent
    return load(table, f.tally, i) + where(counts, c, 0.0)


@strict
def count_entries(table, f, c, n):
    """Add the row ``x`` to the tallies."""
    for i in range(0, n, WIDTH):
        store(table, f.tally, i, with_entry(table, f, c, load(table, f.frequent, i) > 0.0, i))


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
    return (n + WIDTH - 1) // WIDTH * WIDTH


@strict
def padded(n):
    """As `whole_vectors`, one at least, so that loops over columns have no scalar rest."""
    return whole_vectors(max(n, 1))


@strict
def all_finite(subset, first, fields, n):
    """Whether fields ``first`` to ``fields - 1`` are finite."""
    wrong = nowhere()
    for field in range(first, fields):
        for i in range(0, n, WIDTH):
            wrong |= ~(abs(load(subset, field, i)) <= LARGEST)
    return not anywhere(wrong)


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
def read_dense(X, row, table, f, bias, n):
    """Copy a dense row to ``x``; tell whether one is the largest of its column, and whether one is unusual.

    It is unusual to be 0 in a frequent column, or not to be 0 in another.
    """
    d, larger, unusual = X.shape[1], nowhere(), nowhere()
    for i in range(0, n, WIDTH):
        x = load(X, row, i) if i + WIDTH <= d else where(lane(bias - i), 1.0, load_first(X, row, i, d - i))
        store(table, f.x, i, x)
        larger |= abs(x) > load(table, f.largest, i)
        if COUNTS_ENTRIES:
            unusual |= (x == 0.0) ^ ~(load(table, f.frequent, i) > 0.0)
    return anywhere(larger), anywhere(unusual)


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
        for i in range(n - WIDTH, n):
            subset[field, i] = 0.0
    for i in range(n - WIDTH, n):
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
