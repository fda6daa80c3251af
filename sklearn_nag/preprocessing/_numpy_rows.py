"""Transformations of rows in NumPy: the definition, which the compiled loops of `_numba_rows` equal bit for bit."""

import numpy as np
from scipy import sparse

LARGEST, LEAST = np.finfo(np.float64).max, np.finfo(np.float64).tiny  # the latter with full precision
MIX, WORD = 0x9E3779B1, 2**32  # odd, and near 2**32 over the golden ratio (Knuth, volume 3, section 6.4)
MIXERS = 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53
MISSING = -1  # in place of a gap's number, if the value is missing
ONCE = 2**18  # numbers processed at a time, to bound memory
HUGE = 2.0**900  # sums of numbers up to here stay in range for 2**123 rows
LIFT = 2.0**-120  # factor of larger ones, which are summed separately
HOUR = 3_600_000_000  # microseconds
DAY = 24 * HOUR
DAYS, MONTH, DAY_OF_MONTH, WEEKDAY, HOUR_OF_DAY = range(5)  # parts of a date


def hats(X, knots, n_hats):
    """Values of piecewise linear functions of ranks: data, indices and row pointers of CSR rows without zeros.

    Each column of ``X`` has ``n_hats``, of which it uses fewer with fewer knots, and none with fewer than three. One
    more is for missing values, NaN.
    """
    n_rows, n_columns = X.shape
    place = np.zeros((n_rows, n_columns, 2), np.int64)
    value = np.zeros((n_rows, n_columns, 2))
    for j in range(n_columns):
        own, x = knots.values[knots.starts[j] : knots.starts[j + 1]], X[:, j]
        missing = np.isnan(x)
        begin = j * (n_hats + 1)
        if n_hats and len(own) > 2:
            steps = min(n_hats, len(own)) - 1
            at = np.minimum(np.maximum(np.where(missing, own[0], x), own[0]), own[-1])
            gap = np.minimum(np.searchsorted(own, at, side="right") - 1, len(own) - 2)
            with np.errstate(all="ignore"):
                length, walked = own[gap + 1] - own[gap], at - own[gap]
                halves = (0.5 * at - 0.5 * own[gap]) / (0.5 * own[gap + 1] - 0.5 * own[gap])
                part = np.where(np.isinf(length), halves, walked / length)
            t = (gap + part) * (steps / (len(own) - 1))
            left = np.minimum(t.astype(np.int64), steps - 1)
            right_value = np.minimum(t - left, 1.0)
            place[:, j] = begin + np.stack([left, left + 1], axis=1)
            value[:, j] = np.where(missing[:, None], 0.0, np.stack([1.0 - right_value, right_value], axis=1))
        place[missing, j, 1] = begin + n_hats
        value[missing, j, 1] = 1.0
    there = value != 0
    indptr = np.zeros(n_rows + 1, np.int32)
    np.add.accumulate(there.sum(axis=(1, 2)), out=indptr[1:])
    return value[there], place[there].astype(np.int32), indptr


def hats_beside(left, X, knots, n_hats):
    """Rows, dense or CSR, with `hats` added, in the form of `joined`.

    Hats of the last rows are made from ``X``; earlier rows have none.
    """
    n_early = left.shape[0] - len(X)
    data, indices, ends = hats(X, knots, n_hats)
    parts = data, indices, np.concatenate([np.zeros(n_early, ends.dtype), ends])
    return joined([left, sparse.csr_array(parts, shape=(left.shape[0], X.shape[1] * (n_hats + 1)))])


def gaps(X, knots):
    """Number of the gap between knots for each value, from 0 on; `MISSING` for NaN."""
    found = np.empty(X.shape, np.int32)
    for j, x in enumerate(X.T):
        own = knots.values[knots.starts[j] : knots.starts[j + 1]]
        found[:, j] = np.where(np.isnan(x), MISSING, np.maximum(np.searchsorted(own, x, side="right") - 1, 0))
    return found


def cells(X, knots, trees, width):
    """The cell of each row in each tree, as a column, ascending in each row: int32 of shape (n_rows, n_trees).

    NaN is missing. ``trees`` are grown over the gaps of ``knots``; each has ``width`` columns. If it has more nodes,
    they are hashed.
    """
    n_trees, n_nodes = trees.column.shape
    found = np.empty((len(X), n_trees), np.int32)
    tree = np.arange(n_trees)
    step = max(ONCE // max(n_trees, 1), 1)
    for start in range(0, len(X), step):
        here = gaps(X[start : start + step], knots)
        row = np.arange(len(here))[:, None]
        node = np.zeros((len(here), n_trees), np.int64)
        for _ in range(n_nodes.bit_length()):
            inner = np.minimum(node, n_nodes - 1)
            gap = here[row, trees.column[tree, inner]]
            goes_on = (node < n_nodes) & (gap != MISSING)
            node = np.where(goes_on, 2 * node + 1 + (gap > trees.cut[tree, inner]), node)
        if width < 2 * n_nodes + 1:
            node = (node * MIX % WORD) * width // WORD
        found[start : start + step] = node + tree * width
    return found


def cells_beside(left, X, knots, trees, width):
    """Rows, dense or CSR, with a 1 added in the column of each of their cells, in the form of `joined`.

    Cells of the last rows are made from ``X``; earlier rows have none.
    """
    n_rows, found = left.shape[0], cells(X, knots, trees, width)
    ends = np.maximum(np.arange(n_rows + 1) - (n_rows - len(X)), 0) * found.shape[1]
    of_cells = np.ones(found.size), found.ravel(), ends
    return joined([left, sparse.csr_array(of_cells, shape=(n_rows, found.shape[1] * width))])


def joined(blocks):
    """Blocks of columns side by side, as data, indices and row pointers, without zeros of dense blocks."""
    blocks = [sparse.csr_array(block if sparse.issparse(block) else np.asarray(block, np.float64)) for block in blocks]
    rows = sparse.hstack(blocks, format="csr", dtype=np.float64)
    kind = index_type(rows.nnz, rows.shape[1])
    return rows.data, rows.indices.astype(kind, copy=False), rows.indptr.astype(kind, copy=False)


def index_type(n_entries, n_columns):
    """Type of CSR indices for so many entries and columns."""
    return np.int32 if max(n_entries, n_columns) < 2**31 else np.int64


def means(n_values, total, huge, origin):
    """Means of columns, from sums of distances from ``origin``; huge distances are times `LIFT`."""
    n = np.maximum(n_values, 1)
    with np.errstate(over="ignore"):
        found = np.where(n_values > 0, origin, 0.0) + total / n
        if not huge.any():
            return found
        far = 2.0 * np.clip(0.5 * (huge / n) / LIFT + 0.5 * found, -LARGEST / 2, LARGEST / 2)
    return np.where(huge == 0, found, far)


def filled_by_means(X, n_values, total, huge, origin, marked):
    """Rows with missing values (NaN) replaced by the mean of the rows up to each, and the state after them.

    The given state is as for `means`, and does not change. Distances are from the first value of a column, so that
    equal values have exactly this mean. With ``marked``, a column per input column follows, with 1 for missing values.
    """
    missing = np.isnan(X)
    first = X[missing.argmin(axis=0), np.arange(X.shape[1])]
    origin = np.where((n_values > 0) | np.isnan(first), origin, first)
    present = np.where(missing, origin, X)
    with np.errstate(over="ignore"):
        apart = present - origin
    is_huge = np.abs(apart) > HUGE
    lifted = np.where(is_huge, present * LIFT - origin * LIFT, 0.0)
    apart[is_huge] = 0.0
    # Row by row, so that cuts of a stream change no bit.
    total, huge = (np.add.accumulate(np.vstack(both), axis=0)[1:] for both in ((total, apart), (huge, lifted)))
    n_values = np.add.accumulate(~missing, axis=0, dtype=np.int64) + n_values
    filled = np.where(missing, means(n_values, total, huge, origin), X)
    last = n_values[-1].copy(), total[-1].copy(), huge[-1].copy(), origin
    return np.hstack([filled, missing]) if marked else filled, *last


def parts_of_dates(times, parts, widths):
    """Parts of dates: for each, the place of its column, int32, and the value there.

    Times are microseconds since 1970; the smallest integer is a missing date. `DAYS` is one number, days since 1970,
    NaN for missing dates. Other parts have ``widths`` columns, one per value, with a 1, or 0 for missing dates. Places
    for one input column are adjacent and ascending.
    """
    missing = times == np.iinfo(np.int64).min
    times = np.where(missing, 0, times)
    n_rows, n_columns = times.shape
    columns = np.empty((n_rows, n_columns, len(parts)), np.int32)
    values = np.ones(columns.shape)
    first = np.add.accumulate(np.tile(widths, n_columns)).reshape(n_columns, -1) - widths
    days = times // DAY
    for place, part in enumerate(parts.tolist()):
        if part == DAYS:
            columns[:, :, place] = first[:, place]
            values[:, :, place] = np.where(missing, np.nan, times / DAY)
            continue
        if part == HOUR_OF_DAY:
            found = times // HOUR % 24
        elif part == WEEKDAY:
            found = (days + 3) % 7  # 1970 began on a Thursday
        else:
            months = days.astype("datetime64[D]").astype("datetime64[M]")
            found = months.astype(np.int64) % 12
            if part == DAY_OF_MONTH:
                found = days - months.astype("datetime64[D]").astype(np.int64)
        columns[:, :, place] = found + first[:, place]
        values[missing, place] = 0.0
    return columns.reshape(n_rows, -1), values.reshape(n_rows, -1)


def products_beside(left, tables, again, n_products, n_columns):
    """CSR rows with ascending indices, and products of their entries, in the form of `joined`.

    A product has one entry from each of a few groups. For each term, ``tables`` has an int64 array of shape (n_groups,
    n_features), with -1 for columns outside the group. The entries for a product's columns sum to its number. ``again``
    has for each group -1 if it differs from the one before, otherwise how many entries after the last one taken the
    next may be, 0 or 1. There may be ``n_products``, which are hashed to ``n_columns``; with 0, the number is the
    column.
    """
    n_rows, data, indices, indptr = left.shape[0], left.data, left.indices, left.indptr
    row_of = np.repeat(np.arange(n_rows), np.diff(indptr))
    found = []
    for table, repeats in zip(tables, again):
        row, number, last, values = np.arange(n_rows), np.zeros(n_rows, np.int64), np.zeros(n_rows, np.int64), []
        for own, repeat in zip(table, repeats):
            there = np.flatnonzero(own[indices] >= 0)
            starts = np.searchsorted(row_of[there], np.arange(n_rows + 1))
            begin = starts[row] if repeat < 0 else last + repeat
            counts = np.maximum(starts[row + 1] - begin, 0)
            before = np.repeat(np.arange(len(row)), counts)
            last = np.arange(len(before)) + np.repeat(begin - np.add.accumulate(counts) + counts, counts)
            values = [*(value[before] for value in values), data[there[last]]]
            row, number = row[before], number[before] + own[indices[there[last]]]
        found.append((row, number, product_of(*values)))
    row, number, value = (np.concatenate(parts) for parts in zip(*found))
    if n_columns:
        number = hashed(number, n_columns)
    order = np.lexsort((number, row))
    row, number, value = row[order], number[order], value[order]
    if n_columns and len(row):
        new = np.concatenate([[True], (row[1:] != row[:-1]) | (number[1:] != number[:-1])])
        value = np.clip(np.bincount(np.cumsum(new) - 1, weights=value), -LARGEST, LARGEST)
        row, number = row[new], number[new]
    block = value, number, np.searchsorted(row, np.arange(n_rows + 1))
    return joined([left, sparse.csr_array(block, shape=(n_rows, n_columns or n_products))])


def dense_products(X, factors, out):
    """Fill ``out`` with products of columns of ``X``, given by ``factors``, of shape (n_factors, n_products)."""
    step = max(ONCE // max(factors.shape[1], 1), 1)
    for start in range(0, len(X), step):
        rows = X[start : start + step]
        out[start : start + step] = product_of(*(rows[:, columns] for columns in factors))


def product_of(x, y, *third):
    """Products of two or three numbers, clipped to the range of float64; of three, also if two leave it."""
    with np.errstate(all="ignore"):
        value = np.clip(x * y, -LARGEST, LARGEST)
        for z in third:
            in_order = (np.abs(value) >= LEAST) & (np.abs(value) < LARGEST)
            value = np.where(in_order, value, np.clip(x * z, -LARGEST, LARGEST)) * np.where(in_order, z, y)
        return np.clip(value, -LARGEST, LARGEST)


def hashed(number, n_columns):
    """Pseudo-random columns for numbers (the last steps of Appleby's MurmurHash3)."""
    mixed = number.astype(np.uint64)
    for factor in MIXERS:
        mixed = (mixed ^ (mixed >> np.uint64(33))) * np.uint64(factor)
    return ((mixed >> np.uint64(32)) * np.uint64(n_columns) >> np.uint64(32)).astype(np.int64)
