"""What a row does to the columns of a table, as compiled loops.

The table is a copy: for dense rows of the model's whole table, for sparse ones of the columns that the row names. ``f``
has the place of each field. Below the fields, rows ``x``, ``z`` and ``inverse`` hold intermediate results.
"""

import numpy as np

from ..state.fields import ROUNDING
from ..state.frequent import ENDS
from ..state.lifts import HIGHEST, LARGEST, LARGEST_LIFT, LEAST_PLAIN, LIFT_STEP, LOWEST, TINY
from .arithmetic import inverse_sqrt, inverse_sqrt_of_any
from .constants import (
    ARE_MIXED,
    AUTO,
    COUNTS_ENTRIES,
    DROPS_ROUNDING,
    HAS_RARE,
    IS_CENTRED,
    IS_LIFTED,
    IS_SELECTIVE,
    NORM,
    RMS,
    UNBOUND,
)
from .jit import fast, slow, strict
from .vectors import (
    WIDTH,
    anywhere,
    eight,
    fetch_4,
    fetch_8,
    lane,
    load,
    load_first,
    maximum,
    nowhere,
    put_4,
    put_8,
    store,
    total,
    where,
)


@strict
def lift_of(largest):
    """Lift of a column with this largest value; see `state.lifts.lift`."""
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
def stops(table, f, rule, before, c, n):
    """Whether the row ``x`` needs other lifts, of those that can change, or makes columns frequent or rare.

    See `state.lifts.needs_lift` and `state.frequent.changes`.
    """
    found, t = nowhere(), before + c
    for i in range(0, n, WIDTH):
        if IS_LIFTED:
            size, lift = abs(load(table, f.x, i)), load(table, f.lift, i)
            lifted = size * lift
            found |= (lifted >= HIGHEST) & (lift > 1.0 / LARGEST_LIFT)
            is_new = (size > 0.0) & (load(table, f.largest, i) == 0.0)
            found |= (lifted < LOWEST) & (lift < LARGEST_LIFT) & is_new
        if IS_SELECTIVE:
            frequent = load(table, f.frequent, i) > 0.0
            found |= with_entry(table, f, c, frequent, i) > where(frequent, ENDS * t, rule.begins * t)
    return anywhere(found)


@fast
def update_maxima(table, f, n, keeps_inverse):
    """Update ``largest`` and, if asked to, ``inverse``."""
    for i in range(0, n, WIDTH):
        largest = maximum(abs(load(table, f.x, i)), load(table, f.largest, i))
        store(table, f.largest, i, largest)
        if keeps_inverse:
            store(table, f.inverse, i, inverse_size(largest, load(table, f.lift, i)))


@strict
def times_of(before, c):
    """What `relative` reads of the weight ``before`` the row, and of its own weight ``c``."""
    t = before + c
    return 1.0 / max(before, TINY), before / t, t, c


@strict
def relative(table, f, i, times, bias):
    """Lift eight columns of ``x`` and, in centred rules, subtract the mean including it; return ``x`` and ``squares``.

    ``squares``, if stored, grow by deviations from the mean before the row. Rare columns are only lifted. The intercept
    is 1, as are its squares in each row; whether it may be among the eight is known at compile time.
    """
    inverse, kept, t, c = times
    x = load(table, f.x, i) * load(table, f.lift, i)
    squares = load(table, f.squares, i) if NORM >= RMS else x
    if IS_CENTRED:
        own, sums = lane(bias - i), load(table, f.sum, i)
        x = x - load(table, f.origin, i)
        mean, share = sums * inverse, kept
        if IS_SELECTIVE and ARE_MIXED:
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
    """`relative` for eight rare columns."""
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
    """Square root and eighth root of the total weight, for `fill_roots` and `inverse_scale`."""
    root = np.sqrt(t)
    return root, np.sqrt(np.sqrt(root))


@fast
def fill_roots(table, f, rare, n, roots):
    """Fill ``inverse`` with what `inverse_scale` reads of the tallies of rare columns; 0 if all is forgotten.

    Two loops, because the roots wait for one another, and a processor looks ahead only so far.
    """
    if NORM == AUTO and HAS_RARE:
        first = 0 if ARE_MIXED else rare
        for i in range(first, n, WIDTH):
            tally = load(table, f.tally, i)
            store(table, f.inverse, i, tally * inverse_sqrt_of_any(maximum(tally, TINY)))
        _, of_time = roots
        for i in range(first, n, WIDTH):
            root = load(table, f.inverse, i)
            fourth = root * inverse_sqrt(maximum(root, TINY))
            store(table, f.inverse, i, root * inverse_sqrt(maximum(fourth, TINY)) * of_time)


@fast
def inverse_scale(table, f, i, squares, roots, are_rare):
    """``1 / s'`` of eight columns for "rms" or "auto", after `fill_roots`; 1 for columns that were always 0."""
    root, _ = roots
    if NORM == AUTO and HAS_RARE:
        is_rare = are_rare if not ARE_MIXED else load(table, f.frequent, i) == 0.0
        root = where(is_rare, load(table, f.inverse, i), eight(root))
    return where(squares > 0.0, root * inverse_sqrt_of_any(squares), 1.0)


normalise = UNBOUND  # of families: ``normalise(table, f, i, moved, roots, are_rare)``, with what `relative` returns


@fast
def normalise_columns(table, f, before, t, c, bias, rare, n):
    """Lift, centre and ``normalise`` the row ``x``, eight columns at a time; return the sum of what that returns."""
    times, roots, squared = times_of(before, c), roots_of(t), eight(0.0)
    fill_roots(table, f, rare, n, roots)
    for i in range(0, rare if HAS_RARE else n, WIDTH):
        squared += normalise(table, f, i, relative(table, f, i, times, bias), roots, False)
    if HAS_RARE:
        for i in range(rare, n, WIDTH):
            squared += normalise(table, f, i, relative_of_rare(table, f, i, c), roots, True)
    return total(squared)


@strict
def with_entry(table, f, c, frequent, i):
    """Tallies of eight columns, including the row ``x``."""
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
    """`whole_vectors`, at least one, so that loops over columns have no scalar remainder."""
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
def enter(subset, f, columns, apart, index, places, followed, intercept, copies):
    """Copy the columns that every row visits to the start of ``subset``; return their number.

    They are the frequent columns, listed in ``followed``, and with ``intercept`` the last column. ``places`` gets 1
    more than the place of each frequent one. Without ``copies``, the columns are there already.
    """
    begin, n = apart.shape[0], followed[0] if followed.size > 0 else 0
    for i in range(n):
        index[i] = followed[1 + i]
        places[index[i]] = i + 1
    if intercept:
        index[n] = columns.shape[0] - 1
        n += 1
    if not copies:
        return n
    for field in range(begin):  # 0 in all other columns
        for i in range(n):
            subset[field, i] = apart[field, index[i]]
        for i in range(n, subset.shape[1]):
            subset[field, i] = 0.0
    for field in range(columns.shape[1]):
        for i in range(n):
            subset[begin + field, i] = columns[index[i], field]
        for i in range(n, whole_vectors(n)):
            subset[begin + field, i] = 0.0
    for i in range(n, whole_vectors(n)):
        subset[f.lift, i] = 1.0
    return n


@slow
def leave(subset, columns, apart, index, places, n, intercept, copies):
    """Copy back the columns of `enter`, and clear ``places``."""
    for i in range(n - intercept):
        places[index[i]] = 0
    if copies:
        for field in range(apart.shape[0]):
            for i in range(n):
                apart[field, index[i]] = subset[field, i]
        for field in range(columns.shape[1]):
            for i in range(n):
                columns[index[i], field] = subset[apart.shape[0] + field, i]


@fast
def read_dense(X, row, table, f, bias, n):
    """Copy a dense row to ``x``; return whether any value is the largest of its column, and whether any is unusual.

    Unusual are 0 in a frequent column, and anything else in a rare one.
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

    Columns with a place stay there; others come from ``first`` on, and are listed in ``index``. Entries may be in any
    order and repeated; repeated ones are added up.
    """
    n, offset = np.uint64(stop - start), np.uint64(start)  # unsigned, because signed places may count from the end
    unordered, previous = 0, np.int64(-1)
    for i in range(n):
        column = np.int64(indices[offset + i])
        unordered |= column <= previous
        previous = column
    for i in range(first + stop - start if unordered else first):
        subset[f.x, i] = 0.0
    width = np.uint64(first)
    if unordered:
        for i in range(n):
            column = np.uint64(indices[offset + i])
            known = np.int64(places[column])
            place = np.uint64(known - 1) if known > 0 else width
            index[width], places[column] = column, place + np.uint64(1)
            subset[f.x, place] += data[offset + i]
            width += np.uint64(known == 0)
        for i in range(np.uint64(first), width):
            places[index[i]] = 0
    elif seeks:
        for i in range(n):
            column = np.uint64(indices[offset + i])
            known = np.int64(places[column])
            subset[f.x, np.uint64(known - 1) if known > 0 else width] = data[offset + i]
            index[width] = column
            width += np.uint64(known == 0)
    else:
        for i in range(n):
            subset[f.x, width], index[width] = data[offset + i], np.uint64(indices[offset + i])
            width += np.uint64(1)
    return np.int64(width)


@fast
def gather(subset, f, columns, apart, index, first, width, n):
    """Copy the columns of a row, from the place ``first`` on, to ``subset``.

    Padding columns, up to ``n``, become features that are always 0, which loops leave unchanged.
    """
    if n == first:
        return
    above = apart.shape[0]
    for i in range(width, n):
        subset[f.x, i] = 0.0
    for field in range(above, above + columns.shape[1]):
        for i in range(n - WIDTH, n):
            subset[field, i] = 0.0
    for i in range(n - WIDTH, n):
        subset[f.lift, i] = 1.0
    copy_columns(subset, columns, above, index, first, width, True)
    if f.lift < above:
        fill_lifts(subset, f, apart, index, first, width, n)


@strict
def fill_lifts(subset, f, apart, index, first, width, n):
    """Fill the lifts of a row's columns, which are 1 unless present or earlier values are small or large."""
    for i in range(first, n, WIDTH):
        size, largest = abs(load(subset, f.x, i)), load(subset, f.largest, i)
        first_one = where(largest > 0.0, largest, size)
        are_small, are_large = (first_one > 0.0) & (first_one < LEAST_PLAIN), maximum(largest, size) >= HIGHEST
        store(subset, f.lift, i, eight(1.0))
        if anywhere(are_small | are_large):
            for j in range(i, min(i + WIDTH, width)):
                subset[f.lift, j] = apart[f.lift, index[j]]


@fast
def copy_columns(subset, columns, above, index, first, width, fetches):
    """Copy columns to ``subset``, as `gather` does, or back, in blocks.

    Blocks are 8 by 8 if columns are whole cache lines, else 4 by 4.
    """
    fields, n = columns.shape[1], width - first
    if fields % 8 == 0 and n >= 8:
        for i in range(first, width, 8):
            place = min(i, width - 8)  # the last block may overlap the one before
            for field in range(0, fields, 8):
                if fetches:
                    fetch_8(subset, above + field, place, columns, field, index)
                else:
                    put_8(subset, above + field, place, columns, field, index)
    elif fields >= 4 and n >= 4:
        for i in range(first, width, 4):
            place = min(i, width - 4)
            for a in range(0, fields, 4):
                field = min(a, fields - 4)
                if fetches:
                    fetch_4(subset, above + field, place, columns, field, index)
                else:
                    put_4(subset, above + field, place, columns, field, index)
    else:
        for i in range(first, width):
            for field in range(fields):
                if fetches:
                    subset[above + field, i] = columns[index[i], field]
                else:
                    columns[index[i], field] = subset[above + field, i]
