"""The same as `_numpy_rows`, compiled, bit for bit: no sum is reordered and no product contracted."""

from __future__ import annotations

import numpy as np

from ..kernels.compiled.handover import constant
from ..kernels.compiled.jit import entry, strict, strict_slow
from ._numpy_rows import LARGEST, MISSING, MIX, MIXERS, WORD, room

NO_GAP = np.int32(MISSING)
TOGETHER = 64  # rows that go down a tree together
FIRST_MIXER, SECOND_MIXER = map(np.uint64, MIXERS)


@strict
def last_not_above(x, values, begin, end):
    """Place of the last of the ascending values that is at most ``x``; ``begin`` where none is."""
    low, high = begin, end
    while low < high:
        middle = (low + high) >> 1
        if values[middle] <= x:
            low = middle + 1
        else:
            high = middle
    return max(low - 1, begin)


@strict
def step_of(x, values, begin, end, steps):
    """Place of ``x`` on a scale from 0 to ``steps`` that goes by ranks."""
    x = min(max(x, values[begin]), values[end - 1])
    k = min(last_not_above(x, values, begin, end), end - 2)
    length, walked = values[k + 1] - values[k], x - values[k]
    if np.isinf(length):
        part = (0.5 * x - 0.5 * values[k]) / (0.5 * values[k + 1] - 0.5 * values[k])
    else:
        part = walked / length
    return (k - begin + part) * (steps / (end - begin - 1))


@strict
def remainder(t, left):
    """How far ``t`` is above ``left``, at most 1, and what is left to 1."""
    above = min(t - left, 1.0)
    return above, 1.0 - above


@entry
def fill_hats(X, values, starts, n_hats, data, indices, indptr):
    """As `hats`, to arrays that have room for two entries for each value; return how many there are."""
    n = 0
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            x, begin, end, column = X[i, j], starts[j], starts[j + 1], j * (n_hats + 1)
            if np.isnan(x):
                data[n], indices[n] = 1.0, column + n_hats
                n += 1
            elif n_hats > 0 and end - begin > 2:
                steps = min(n_hats, end - begin) - 1
                t = step_of(x, values, begin, end, steps)
                left = min(np.int64(t), steps - 1)
                above, below = remainder(t, left)
                if below != 0.0:
                    data[n], indices[n] = below, column + left
                    n += 1
                if above != 0.0:
                    data[n], indices[n] = above, column + left + 1
                    n += 1
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


@entry
def fill_cells(X, values, starts, tree_column, tree_cut, depth, width, first, gap, node, begins, found):
    """Put the columns of cells, of which 0 is ``first``, where those of each row begin among ``found``.

    ``gap`` has room for the gaps of a few rows, which go down one tree together, level by level: its nodes then stay
    near the processor, which need not wait for each of them.
    """
    n_trees, once = tree_column.shape[0], gap.shape[1]
    hashed = width < 2 * tree_column.shape[1] + 1
    for start in range(0, len(X), once):
        n, with_gaps = min(once, len(X) - start), False
        for i in range(n):
            for j in range(X.shape[1]):
                x, begin = X[start + i, j], starts[j]
                gap[j, i] = NO_GAP if np.isnan(x) else last_not_above(x, values, begin, starts[j + 1]) - begin
                with_gaps |= np.isnan(x)
        for t in range(n_trees):
            if with_gaps:
                for i in range(n):
                    node[i] = stop_of(gap[:, i], tree_column, tree_cut, t)
            else:
                node[:n] = 0
                for _ in range(depth):
                    for i in range(n):
                        k = node[i]
                        node[i] = 2 * k + 1 + (gap[tree_column[t, k], i] > tree_cut[t, k])
            for i in range(n):
                k = np.int64(node[i])
                found[begins[start + i] + t] = first + (k * MIX % WORD * width // WORD if hashed else k) + t * width


@entry
def fill_left(data, indices, indptr, added, all_data, all_indices, all_indptr, begins):
    """Put CSR rows where there is room for as many entries after each as are ``added``; note where these begin."""
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


@entry
def fill_beside(data, indices, indptr, added, places, ends, n_columns, all_data, all_indices, all_indptr):
    """As `beside`, to arrays that have room for all entries."""
    n = 0
    for i in range(len(indptr) - 1):
        for k in range(indptr[i], indptr[i + 1]):
            all_data[n], all_indices[n] = data[k], indices[k]
            n += 1
        for k in range(ends[i], ends[i + 1]):
            all_data[n], all_indices[n] = added[k], places[k] + n_columns
            n += 1
        all_indptr[i + 1] = n


@strict
def within(value):
    """``value``, or the end of the range that it is beyond."""
    return min(max(value, -LARGEST), LARGEST)


@strict
def product_of(x, y):
    """Their product, or the end of the range that it is beyond."""
    return within(x * y)


@strict
def sum_of(x, y):
    """Their sum."""
    return x + y


@strict
def column_of(number, n_columns):
    """As `hashed`, for one number; the number itself where nothing is hashed."""
    if n_columns == 0:
        return number
    mixed = np.uint64(number)
    mixed = (mixed ^ (mixed >> np.uint64(33))) * FIRST_MIXER
    mixed = (mixed ^ (mixed >> np.uint64(33))) * SECOND_MIXER
    return np.int64((mixed >> np.uint64(32)) * np.uint64(n_columns) >> np.uint64(32))


@strict_slow
def sort(columns, values, begin, end, bits, other_columns, other_values, counts):
    """Order pairs by column, those of one column as they are, by eight bits at a time; use the others as room."""
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
    """How many pairs ``n`` entries have: with themselves if ``repeat`` is 0, without if it is 1."""
    return n * (n + 1 - 2 * repeat) // 2


@entry
def count_products(indices, indptr, table, repeats, counts):
    """Add how many products of a term each row has."""
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


@entry
def gather(data, indices, begin, end, table, numbers, values, sizes):
    """The entries of a row that are in each group of a term, with their parts of numbers."""
    for s in range(len(table)):
        n = 0
        for k in range(begin, end):
            number = table[s, indices[k]]
            if number >= 0:
                numbers[s, n], values[s, n] = number, data[k]
                n += 1
        sizes[s] = n


@entry
def fill_products(data, indices, indptr, table, repeats, first, n_columns, numbers, values, sizes, columns, found):
    """Put the products of a term where each row's begin, by ``first``, which is moved to their ends."""
    for i in range(len(indptr) - 1):
        gather(data, indices, indptr[i], indptr[i + 1], table, numbers, values, sizes)
        n = first[i]
        for a in range(sizes[0]):
            for b in range(0 if repeats[1] < 0 else a + repeats[1], sizes[1]):
                number, value = numbers[0, a] + numbers[1, b], product_of(values[0, a], values[1, b])
                if len(table) == 2:
                    columns[n], found[n] = column_of(number, n_columns), value
                    n += 1
                    continue
                for c in range(0 if repeats[2] < 0 else b + repeats[2], sizes[2]):
                    columns[n] = column_of(number + numbers[2, c], n_columns)
                    found[n] = product_of(value, values[2, c])
                    n += 1
        first[i] = n


@entry
def add_up(columns, values, starts, bits, other_columns, other_values, counts):
    """Order the products of each row by column, add up those of one, and close the gaps; ``starts`` is moved."""
    n = 0
    begin = starts[0]
    for i in range(len(starts) - 1):
        end = starts[i + 1]
        sort(columns, values, begin, end, bits, other_columns, other_values, counts)
        first = n
        for k in range(begin, end):
            if n > first and columns[n - 1] == columns[k]:
                values[n - 1] = sum_of(values[n - 1], values[k])
            else:
                columns[n], values[n] = columns[k], sum_of(0.0, values[k])
                n += 1
        for k in range(first, n):
            values[k] = within(values[k])
        begin, starts[i + 1] = end, n
    return n


@entry
def fill_dense_products(X, factors, out):
    """As `dense_products`."""
    for i in range(X.shape[0]):
        for k in range(factors.shape[1]):
            value = X[i, factors[0, k]]
            for s in range(1, factors.shape[0]):
                value = product_of(value, X[i, factors[s, k]])
            out[i, k] = value


# -- what is called, with arrays as views of one kind, so that functions are compiled once


def hats(X, knots, n_hats):
    """As `_numpy_rows.hats`."""
    data, indices = np.empty(2 * X.size), np.empty(2 * X.size, np.int32)
    indptr = np.zeros(len(X) + 1, np.int32)
    n = fill_hats(constant(X), constant(knots.values), constant(knots.starts), n_hats, data, indices, indptr)
    return data[:n], indices[:n], indptr


def cells_beside(left, X, knots, trees, width, n_columns):
    """As `_numpy_rows.cells_beside`."""
    n_trees, n_nodes = trees.column.shape
    n = len(left[0]) + len(X) * n_trees
    data, indices = np.ones(n), np.empty(n, left[1].dtype if n < 2**31 else np.int64)
    indptr, begins = np.zeros(len(left[2]), indices.dtype), np.empty(len(X), np.int64)
    fill_left(*map(constant, left), n_trees, data, indices, indptr, begins)
    given = map(constant, (X, knots.values, knots.starts, trees.column, trees.cut))
    room_of_rows = np.empty((X.shape[1], TOGETHER), np.int32), np.empty(TOGETHER, np.int32)
    fill_cells(*given, n_nodes.bit_length(), width, n_columns, *room_of_rows, begins, indices)
    return data, indices, indptr


def beside(left, right, n_columns):
    """As `_numpy_rows.beside`."""
    data, indices, indptr = room(left, right)
    fill_beside(*map(constant, (*left, *right)), n_columns, data, indices, indptr)
    return data, indices, indptr


def products(data, indices, indptr, tables, again, n_columns):
    """As `_numpy_rows.products`."""
    n_rows, longest = len(indptr) - 1, int(np.diff(indptr).max(initial=0))
    data, indices, indptr = constant(data), constant(indices), constant(indptr)
    terms = [(constant(table), constant(repeats)) for table, repeats in zip(tables, again)]
    counts = np.zeros(n_rows, np.int64)
    for term in terms:
        count_products(indices, indptr, *term, counts)
    starts = np.zeros(n_rows + 1, np.int64)
    np.add.accumulate(counts, out=starts[1:])
    kind = np.int32 if starts[-1] < 2**31 else np.int64
    columns, found, first = np.empty(starts[-1], kind), np.empty(starts[-1]), starts[:-1].copy()
    gathered = np.empty((3, longest), np.int64), np.empty((3, longest)), np.empty(3, np.int64)
    for term in terms:
        fill_products(data, indices, indptr, *term, first, n_columns, *gathered, columns, found)
    if n_columns:
        most = int(counts.max(initial=0))
        room_of_a_row = np.empty(most, kind), np.empty(most), np.empty(257, np.int64)
        n = add_up(columns, found, starts, int(n_columns - 1).bit_length(), *room_of_a_row)
        columns, found = columns[:n], found[:n]
    return found, columns, starts.astype(kind)


def dense_products(X, factors, out):
    """As `_numpy_rows.dense_products`."""
    fill_dense_products(constant(X), constant(factors), out)
