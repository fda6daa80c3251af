"""Compiled `_numpy_rows`, equal bit for bit: no sum reordered, no product contracted."""

import numpy as np

from ..kernels import csr_rows
from ..kernels.compiled.handover import constant
from ..kernels.compiled.jit import strict, strict_entry, strict_slow
from ._numpy_rows import (
    DAY,
    DAY_OF_MONTH,
    DAYS,
    HOUR,
    HOUR_OF_DAY,
    HUGE,
    LARGEST,
    LEAST,
    LIFT,
    MISSING,
    MIX,
    MIXERS,
    WEEKDAY,
    WORD,
    index_type,
)

NO_GAP = np.int32(MISSING)
TOGETHER = 64  # rows that are looked up together
NEAR = 256
FIRST_MIXER, SECOND_MIXER = map(np.uint64, MIXERS)
NO_TIME = np.iinfo(np.int64).min
BEFORE_1970 = 719_468 + 146_097 * 1000  # days since the March 400,000 years before that of the year 0
LOW = np.uint64(2**32 - 1)


@strict_slow
def fill_gaps(X, start, values, starts, gap, x, has_missing):
    """Find the gaps of some rows from ``start`` on, and which have missing values; return the number of these.

    All rows take each step of the search before the next one: a processor that guesses where a single search goes on is
    wrong half of the time.
    """
    n = min(TOGETHER, len(X) - start)
    has_missing[:n] = False
    for j in range(X.shape[1]):
        own, begin, n_knots = gap[j], np.uint64(starts[j]), np.uint64(starts[j + 1] - starts[j])
        for i in range(n):
            own[i], x[i] = 0, X[start + i, j]
        while n_knots > np.uint64(1):
            half = n_knots >> np.uint64(1)
            n_knots -= half
            for i in range(n):
                above = np.uint64(own[i]) + half
                own[i] = np.int32(above) if values[begin + above] <= x[i] else own[i]
        for i in range(n):
            if np.isnan(x[i]):
                own[i], has_missing[i] = NO_GAP, True
    n_missing = 0
    for i in range(n):
        n_missing += has_missing[i]
    return n_missing


@strict
def step_of(x, gap, values, begin, end, steps):
    """Position of ``x`` on a scale of ranks from 0 to ``steps``."""
    x = min(max(x, values[begin]), values[end - 1])
    k = begin + min(gap, end - begin - 2)
    length, walked = values[k + 1] - values[k], x - values[k]
    if np.isinf(length):
        part = (0.5 * x - 0.5 * values[k]) / (0.5 * values[k + 1] - 0.5 * values[k])
    else:
        part = walked / length
    return (k - begin + part) * (steps / (end - begin - 1))


@strict
def put_hats(X, i, gap, g, values, starts, n_hats, first, data, indices, n):
    """Write the hats of a row, in columns from ``first`` on, as entries from ``n`` on; return where they end.

    The gaps of its values are in column ``g`` of ``gap``.
    """
    for j in range(X.shape[1]):
        x, begin, end, column = X[i, j], starts[j], starts[j + 1], first + j * (n_hats + 1)
        if np.isnan(x):
            data[n], indices[n] = 1.0, column + n_hats
            n += 1
        elif n_hats > 0 and end - begin > 2:
            steps = min(n_hats, end - begin) - 1
            t = step_of(x, gap[j, g], values, begin, end, steps)
            left = min(np.int64(t), steps - 1)
            above = min(t - left, 1.0)
            below = 1.0 - above
            if below != 0.0:
                data[n], indices[n] = below, column + left
                n += 1
            if above != 0.0:
                data[n], indices[n] = above, column + left + 1
                n += 1
    return n


@strict
def put_nonzeros(X, i, first, data, indices, n):
    """Write a dense row's nonzeros in columns from ``first`` on, as entries from ``n`` on; return where they end."""
    for j in range(X.shape[1]):
        x = X[i, j]
        if x != 0.0:
            data[n], indices[n] = x, first + j
            n += 1
    return n


@strict_entry
def fill_hats_beside(left, X, values, starts, n_hats, gap, x, has_missing, data, indices, indptr):
    """Like `hats_beside` for dense rows, into buffers with room for all numbers and two hats per value.

    Return the number of entries.
    """
    n, n_early = 0, len(left) - len(X)
    for i in range(len(left)):
        n = put_nonzeros(left, i, 0, data, indices, n)
        late = i - n_early
        if late >= 0:
            if n_hats > 0 and late % TOGETHER == 0:
                fill_gaps(X, late, values, starts, gap, x, has_missing)
            n = put_hats(X, late, gap, late % TOGETHER, values, starts, n_hats, left.shape[1], data, indices, n)
        indptr[i + 1] = n
    return n


@strict
def stop_of(gap, tree_column, tree_cut, t):
    """The node of a tree where a row with missing values stops."""
    node = 0
    while node < tree_column.shape[1]:
        here = gap[tree_column[t, node]]
        if here == NO_GAP:
            return node
        node = 2 * node + 1 + (here > tree_cut[t, node])
    return node


@strict
def go_down_three(gap, column, cut, n, node):
    """Write the nodes of rows three cuts below the root.

    All of these cuts are made for all rows, so that nothing is looked up by row, and many rows are processed at a time.
    Written out, because a function of booleans is not vectorised.
    """
    gap0, gap1, gap2 = gap[np.uint64(column[0])], gap[np.uint64(column[1])], gap[np.uint64(column[2])]
    gap3, gap4 = gap[np.uint64(column[3])], gap[np.uint64(column[4])]
    gap5, gap6 = gap[np.uint64(column[5])], gap[np.uint64(column[6])]
    cut0, cut1, cut2, cut3, cut4, cut5, cut6 = cut[0], cut[1], cut[2], cut[3], cut[4], cut[5], cut[6]
    for i in range(n):
        a = gap0[i] > cut0
        b = ((gap1[i] > cut1) & (not a)) | ((gap2[i] > cut2) & a)
        low = ((gap3[i] > cut3) & (not b)) | ((gap4[i] > cut4) & b)
        high = ((gap5[i] > cut5) & (not b)) | ((gap6[i] > cut6) & b)
        node[i] = np.int32(7 + 4 * a + 2 * b + ((low & (not a)) | (high & a)))


@strict_entry
def fill_cells(X, values, starts, tree_column, tree_cut, depth, width, first, gap, x, has_missing, node, begins, found):
    """Write the cell columns, which start at ``first``, to ``found``, where those of each row begin.

    ``gap`` is a buffer for a few rows, which go down one tree together, level by level: its nodes stay in the cache,
    and the processor need not wait for each.
    """
    n_trees = tree_column.shape[0]
    hashed = width < 2 * tree_column.shape[1] + 1
    for start in range(0, len(X), TOGETHER):
        n = min(TOGETHER, len(X) - start)
        n_missing = fill_gaps(X, start, values, starts, gap, x, has_missing)
        for t in range(n_trees):
            n_steps = depth if n_missing < n else 0
            if n_steps >= 3:
                go_down_three(gap, tree_column[t], tree_cut[t], n, node)
                n_steps -= 3
            else:
                node[:n] = 0
            for _ in range(n_steps):
                for i in range(n):
                    k = np.uint64(node[i])  # unsigned, because signed places may count from the end
                    right = gap[np.uint64(tree_column[t, k]), i] > tree_cut[t, k]
                    node[i] = np.uint64(2) * k + np.uint64(1 + right)
            if n_missing > 0:
                for i in range(n):
                    if has_missing[i]:
                        node[i] = stop_of(gap[:, i], tree_column, tree_cut, t)
            for i in range(n):
                k, place = np.int64(node[i]), np.uint64(begins[start + i] + t)
                found[place] = first + (k * MIX % WORD * width // WORD if hashed else k) + t * width


@strict_entry
def fill_left(data, indices, indptr, added, all_data, all_indices, all_indptr, begins):
    """Write CSR rows with room for ``added`` entries after each; record where it begins."""
    n_rows = len(indptr) - 1
    n_early = n_rows - len(begins)
    n = 0
    for i in range(n_rows):
        for k in range(indptr[i], indptr[i + 1]):
            all_data[n], all_indices[n] = data[k], indices[k]
            n += 1
        if i >= n_early:
            begins[i - n_early] = n
            n += added
        all_indptr[i + 1] = n


@strict_entry
def fill_left_dense(X, added, all_data, all_indices, all_indptr, begins):
    """Like `fill_left` for dense rows; return the number of all entries."""
    n, n_early = 0, len(X) - len(begins)
    for i in range(len(X)):
        n = put_nonzeros(X, i, 0, all_data, all_indices, n)
        if i >= n_early:
            begins[i - n_early] = n
            n += added
        all_indptr[i + 1] = n
    return n


@strict_entry
def count_dense(X, ends):
    """Add the number of nonzeros of each row."""
    for i in range(X.shape[0]):
        n = 0
        for j in range(X.shape[1]):
            n += X[i, j] != 0.0
        ends[i + 1] += n


@strict_entry
def put_dense(X, first_column, begin, data, indices):
    """Write nonzeros from where each row begins, and move its beginning."""
    for i in range(X.shape[0]):
        begin[i] = put_nonzeros(X, i, first_column, data, indices, begin[i])


@strict_entry
def put_sparse(values, columns, ends, first_column, begin, data, indices):
    """Write CSR entries from where each row begins, and move its beginning."""
    for i in range(len(ends) - 1):
        n = np.uint64(begin[i])  # unsigned, because signed places may count from the end
        for k in range(np.uint64(ends[i]), np.uint64(ends[i + 1])):
            data[n], indices[n] = values[k], first_column + columns[k]
            n += np.uint64(1)
        begin[i] = n


@strict
def mean_of(n, total, huge, origin):
    """Like `means`, for one column."""
    n = max(n, 1)
    found = origin + total / n
    if huge == 0.0:
        return found
    return 2.0 * min(max(0.5 * (huge / n) / LIFT + 0.5 * found, -LARGEST / 2), LARGEST / 2)


@strict_entry
def fill_by_means(X, marked, n_values, total, huge, origin, out):
    """Like `filled_by_means`, into a buffer; the state changes in place."""
    width = X.shape[1]
    for start in range(0, X.shape[0], NEAR):  # they stay in the cache while columns are processed
        stop = min(start + NEAR, X.shape[0])
        for j in range(width):
            n, ordinary, lifted, first = n_values[j], total[j], huge[j], origin[j]
            for i in range(start, stop):
                x = X[i, j]
                missing = np.isnan(x)
                if missing:
                    x = mean_of(n, ordinary, lifted, first)
                else:
                    if n == 0:
                        first = x
                    n += 1
                    apart = x - first
                    if abs(apart) <= HUGE:
                        ordinary += apart
                    else:
                        lifted += x * LIFT - first * LIFT
                out[i, j] = x
                if marked:
                    out[i, width + j] = missing
            n_values[j], total[j], huge[j], origin[j] = n, ordinary, lifted, first


@strict
def month_and_day(days):
    """Month, and day in the month, of days since 1970; both from 0 on.

    Years here begin in March, so that a leap day is the last (Neri and Schneider, "Euclidean affine functions and their
    application to calendar algorithms", 2023).
    """
    of_century = (np.uint64(4) * np.uint64(days + BEFORE_1970) + np.uint64(3)) % np.uint64(146_097) // np.uint64(4)
    of_year = ((np.uint64(4) * of_century + np.uint64(3)) * np.uint64(2_939_745) & LOW) // np.uint64(4 * 2_939_745)
    month = np.uint64(2141) * of_year + np.uint64(197_913)
    number = np.int64(month >> np.uint64(16)) - 1
    return number - (12 if number > 11 else 0), np.int64((month & np.uint64(65_535)) // np.uint64(2141))


@strict
def part_of(time, part):
    """Number of a date's column with a 1, among those of a part other than `DAYS`."""
    days = time // DAY
    if part == HOUR_OF_DAY:
        return (time - days * DAY) // HOUR
    if part == WEEKDAY:
        return (days + 3) % 7
    month, day = month_and_day(days)
    return day if part == DAY_OF_MONTH else month


@strict_entry
def fill_part(times, place, part, first, columns, values):
    """One part of one column of dates, like `parts_of_dates`, into buffers."""
    if part == DAYS:
        for i in range(len(times)):
            columns[i, place] = first
            values[i, place] = np.nan if times[i] == NO_TIME else times[i] / DAY
    else:
        for i in range(len(times)):
            missing = times[i] == NO_TIME
            columns[i, place] = first + part_of(np.int64(0) if missing else times[i], part)
            values[i, place] = 0.0 if missing else 1.0


@strict
def within(value):
    """``value``, clipped to the range of finite float64."""
    return min(max(value, -LARGEST), LARGEST)


@strict
def product_of(x, y):
    """Product, clipped to the range of finite float64."""
    return within(x * y)


@strict
def product_of_three(x, y, z):
    """Like `_numpy_rows.product_of`."""
    if not LEAST <= abs(x * y) < LARGEST:
        y, z = z, y
    return product_of(product_of(x, y), z)


@strict
def column_of(number, n_columns):
    """Like `hashed`, for one number; the number itself if nothing is hashed."""
    if n_columns == 0:
        return number
    mixed = np.uint64(number)
    mixed = (mixed ^ (mixed >> np.uint64(33))) * FIRST_MIXER
    mixed = (mixed ^ (mixed >> np.uint64(33))) * SECOND_MIXER
    return np.int64((mixed >> np.uint64(32)) * np.uint64(n_columns) >> np.uint64(32))


@strict_slow
def sort(columns, values, begin, end, bits, other_columns, other_values, counts):
    """Sort pairs by column, stably, eight bits at a time; other arrays are buffers."""
    for shift in range(0, bits, 8):
        for digit in range(257):
            counts[digit] = 0
        for k in range(begin, end):
            counts[((columns[k] >> shift) & 255) + 1] += 1
        for digit in range(256):
            counts[digit + 1] += counts[digit]
        for k in range(begin, end):
            digit = (columns[k] >> shift) & 255
            place = counts[digit]
            other_columns[place], other_values[place] = columns[k], values[k]
            counts[digit] = place + 1
        for k in range(begin, end):
            columns[k], values[k] = other_columns[k - begin], other_values[k - begin]


@strict
def pairs(n, repeat):
    """Number of pairs of ``n`` entries: with themselves if ``repeat`` is 0, not if it is 1."""
    return n * (n + 1 - 2 * repeat) // 2


@strict_entry
def count_products(indices, indptr, table, repeats, counts):
    """Add the number of products of a term in each row."""
    for i in range(len(indptr) - 1):
        n_first = n_second = n_third = 0
        for k in range(indptr[i], indptr[i + 1]):
            column = indices[k]
            n_first += table[0, column] >= 0
            n_second += table[1, column] >= 0
            n_third += len(table) > 2 and table[2, column] >= 0
        if len(table) == 2:
            counts[i] += n_first * n_second if repeats[1] < 0 else pairs(n_first, repeats[1])
        elif repeats[2] < 0:
            counts[i] += n_third * (n_first * n_second if repeats[1] < 0 else pairs(n_first, repeats[1]))
        elif repeats[1] < 0:
            counts[i] += n_first * pairs(n_second, repeats[2])
        else:
            n = n_first - 2 * repeats[1]
            counts[i] += n * (n + 1) * (n + 2) // 6


@strict_entry
def gather(data, indices, begin, end, table, numbers, values, sizes):
    """Entries of a row that are in each group of a term, with their parts of numbers."""
    for s in range(len(table)):
        n = 0
        for k in range(begin, end):
            number = table[s, indices[k]]
            if number >= 0:
                numbers[s, n], values[s, n] = number, data[k]
                n += 1
        sizes[s] = n


@strict_entry
def fill_products(
    data, indices, indptr, table, repeats, first, n_columns, first_column, numbers, values, sizes, columns, found
):  # fmt: skip
    """Write the products of a term from ``first`` of each row, and move ``first`` to their ends.

    Their columns come from ``first_column`` on.
    """
    for i in range(len(indptr) - 1):
        gather(data, indices, indptr[i], indptr[i + 1], table, numbers, values, sizes)
        n = first[i]
        for a in range(sizes[0]):
            for b in range(0 if repeats[1] < 0 else a + repeats[1], sizes[1]):
                number = numbers[0, a] + numbers[1, b]
                if len(table) == 2:
                    columns[n] = first_column + column_of(number, n_columns)
                    found[n] = product_of(values[0, a], values[1, b])
                    n += 1
                    continue
                for c in range(0 if repeats[2] < 0 else b + repeats[2], sizes[2]):
                    columns[n] = first_column + column_of(number + numbers[2, c], n_columns)
                    found[n] = product_of_three(values[0, a], values[1, b], values[2, c])
                    n += 1
        first[i] = n


@strict_entry
def add_up(columns, values, starts, bits, other_columns, other_values, counts):
    """Sort each row's products by column, add those of one column, close the gaps, and move ``starts``."""
    n = 0
    begin = starts[0]
    for i in range(len(starts) - 1):
        end = starts[i + 1]
        sort(columns, values, begin, end, bits, other_columns, other_values, counts)
        first = n
        for k in range(begin, end):
            if n > first and columns[n - 1] == columns[k]:
                values[n - 1] += values[k]
            else:
                columns[n], values[n] = columns[k], 0.0 + values[k]
                n += 1
        for k in range(first, n):
            values[k] = within(values[k])
        begin, starts[i + 1] = end, n
    return n


@strict_entry
def fill_dense_products(X, factors, out):
    """Like `dense_products`."""
    for i in range(X.shape[0]):
        for k in range(factors.shape[1]):
            x, y = X[i, factors[0, k]], X[i, factors[1, k]]
            out[i, k] = product_of_three(x, y, X[i, factors[2, k]]) if len(factors) > 2 else product_of(x, y)


# -- entry points, with arrays as views of one type, so that functions are compiled once


def room_of_rows(X):
    """Buffers for rows that are processed together: gaps, values of a column, and whether any is missing."""
    return np.empty((X.shape[1], TOGETHER), np.int32), np.empty(TOGETHER), np.empty(TOGETHER, np.bool_)


def hats_beside(left, X, knots, n_hats):
    """Like `_numpy_rows.hats_beside`."""
    (n_rows, n_columns), width = left.shape, X.shape[1] * (n_hats + 1)
    if not isinstance(left, np.ndarray):
        alone = hats_beside(np.empty((n_rows, 0)), X, knots, n_hats)
        return joined([left, csr_rows(*alone, (n_rows, width))])
    most = left.size + 2 * X.size
    data, indices = np.empty(most), np.empty(most, index_type(most, n_columns + width))
    indptr = np.zeros(n_rows + 1, indices.dtype)
    given = constant(left, np.float64), *map(constant, (X, knots.values, knots.starts))
    n = fill_hats_beside(*given, n_hats, *room_of_rows(X), data, indices, indptr)
    return data[:n], indices[:n], indptr


def cells_beside(left, X, knots, trees, width):
    """Like `_numpy_rows.cells_beside`."""
    (n_rows, n_columns), (n_trees, n_nodes) = left.shape, trees.column.shape
    most = left.size + len(X) * n_trees  # of CSR rows, the size is the number of entries
    data, indices = np.ones(most), np.empty(most, index_type(most, n_columns + n_trees * width))
    indptr, begins = np.zeros(n_rows + 1, indices.dtype), np.empty(len(X), np.int64)
    filled = n_trees, data, indices, indptr, begins
    if isinstance(left, np.ndarray):
        n = fill_left_dense(constant(left, np.float64), *filled)
        data, indices = data[:n], indices[:n]
    else:
        fill_left(*map(constant, (left.data, left.indices, left.indptr)), *filled)
    given = map(constant, (X, knots.values, knots.starts, trees.column, trees.cut))
    node = np.empty(TOGETHER, np.int32)
    fill_cells(*given, n_nodes.bit_length(), width, n_columns, *room_of_rows(X), node, begins, indices)
    return data, indices, indptr


def joined(blocks):
    """Like `_numpy_rows.joined`."""
    blocks = [constant(block, np.float64) if isinstance(block, np.ndarray) else block for block in blocks]
    ends = np.zeros(blocks[0].shape[0] + 1, np.int64)
    for block in blocks:
        if isinstance(block, np.ndarray):
            count_dense(block, ends)
    np.add.accumulate(ends, out=ends)
    for block in blocks:
        if not isinstance(block, np.ndarray):
            ends += block.indptr
    width = sum(block.shape[1] for block in blocks)
    data, indices = np.empty(ends[-1]), np.empty(ends[-1], index_type(ends[-1], width))
    begin, first_column = ends[:-1].copy(), 0
    for block in blocks:
        if isinstance(block, np.ndarray):
            put_dense(block, first_column, begin, data, indices)
        else:
            places = (constant(part, indices.dtype) for part in (block.indices, block.indptr))
            put_sparse(constant(block.data, np.float64), *places, first_column, begin, data, indices)
        first_column += block.shape[1]
    return data, indices, ends.astype(indices.dtype)


def filled_by_means(X, n_values, total, huge, origin, marked):
    """Like `_numpy_rows.filled_by_means`."""
    known = n_values.copy(), total.copy(), huge.copy(), origin.copy()
    out = np.empty((len(X), X.shape[1] * (2 if marked else 1)))
    fill_by_means(constant(X), marked, *known, out)
    return out, *known


def parts_of_dates(times, parts, widths):
    """Like `_numpy_rows.parts_of_dates`."""
    columns = np.empty((len(times), times.shape[1] * len(parts)), np.int32)
    values = np.empty(columns.shape)
    place = first = 0
    for dates in map(constant, times.T):
        for part, width in zip(parts.tolist(), widths.tolist()):
            fill_part(dates, place, part, first, columns, values)
            place, first = place + 1, first + width
    return columns, values


def products_beside(left, tables, again, n_products, n_columns):
    """Like `_numpy_rows.products_beside`."""
    (n_rows, n_features), longest = left.shape, int(np.diff(left.indptr).max(initial=0))
    rows = data, indices, indptr = tuple(map(constant, (left.data, left.indices, left.indptr)))
    terms = [(constant(table), constant(repeats)) for table, repeats in zip(tables, again)]
    counts = np.zeros(n_rows, np.int64) if n_columns else np.diff(indptr).astype(np.int64)
    for term in terms:
        count_products(indices, indptr, *term, counts)
    starts = np.zeros(n_rows + 1, np.int64)
    np.add.accumulate(counts, out=starts[1:])
    kind = index_type(starts[-1], n_features + (n_columns or n_products))
    columns, found, first = np.empty(starts[-1], kind), np.empty(starts[-1]), starts[:-1].copy()
    if not n_columns:  # hashed products are sorted first
        put_sparse(data, constant(indices, kind), constant(indptr, kind), 0, first, found, columns)
    gathered = np.empty((3, longest), np.int64), np.empty((3, longest)), np.empty(3, np.int64)
    for term in terms:
        fill_products(*rows, *term, first, n_columns, 0 if n_columns else n_features, *gathered, columns, found)
    if n_columns:
        most = int(counts.max(initial=0))
        room_of_a_row = np.empty(most, kind), np.empty(most), np.empty(257, np.int64)
        n = add_up(columns, found, starts, int(n_columns - 1).bit_length(), *room_of_a_row)
        return joined([left, csr_rows(found[:n], columns[:n], starts.astype(kind), (n_rows, n_columns))])
    return found, columns, starts.astype(kind)


def dense_products(X, factors, out):
    """Like `_numpy_rows.dense_products`."""
    fill_dense_products(constant(X), constant(factors), out)
