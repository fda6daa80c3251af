"""The same as `_numpy_rows`, compiled, bit for bit: no sum is reordered and no product contracted."""

from __future__ import annotations

import numpy as np

from ..kernels.compiled.jit import entry, strict
from ._numpy_rows import MISSING, MIX, WORD, room

NO_GAP = np.int32(MISSING)


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
            elif end - begin > 2:
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
def fill_cells(X, values, starts, tree_column, tree_cut, depth, width, gap, node, found):
    """As `cells`; ``gap`` has room for a number for each column, ``node`` for each tree.

    All trees go down a level before any goes down another, as a processor then need not wait for each node.
    """
    n_trees = len(node)
    hashed = width < 2 * tree_column.shape[1] + 1
    for i in range(X.shape[0]):
        with_gaps = False
        for j in range(X.shape[1]):
            x, begin = X[i, j], starts[j]
            gap[j] = NO_GAP if np.isnan(x) else last_not_above(x, values, begin, starts[j + 1]) - begin
            with_gaps |= np.isnan(x)
        if with_gaps:
            for t in range(n_trees):
                node[t] = stop_of(gap, tree_column, tree_cut, t)
        else:
            node[:] = 0
            for _ in range(depth):
                for t in range(n_trees):
                    k = node[t]
                    node[t] = 2 * k + 1 + (gap[tree_column[t, k]] > tree_cut[t, k])
        for t in range(n_trees):
            k = np.int64(node[t])
            found[i, t] = (k * MIX % WORD * width // WORD if hashed else k) + t * width


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


def hats(X, knots, n_hats):
    """As `_numpy_rows.hats`."""
    data, indices = np.empty(2 * X.size), np.empty(2 * X.size, np.int32)
    indptr = np.zeros(len(X) + 1, np.int32)
    n = fill_hats(X, knots.values, knots.starts, n_hats, data, indices, indptr)
    return data[:n], indices[:n], indptr


def cells(X, knots, trees, width):
    """As `_numpy_rows.cells`."""
    n_trees, n_nodes = trees.column.shape
    found = np.empty((len(X), n_trees), np.int32)
    room_of_a_row = np.empty(X.shape[1], np.int32), np.empty(n_trees, np.int32)
    depth = n_nodes.bit_length()
    fill_cells(X, knots.values, knots.starts, trees.column, trees.cut, depth, width, *room_of_a_row, found)
    return found


def beside(left, right, n_columns):
    """As `_numpy_rows.beside`."""
    data, indices, indptr = room(left, right)
    fill_beside(*left, *right, n_columns, data, indices, indptr)
    return data, indices, indptr
