"""What rows become, in NumPy: the definition, to which the compiled loops of `_numba_rows` are equal bit for bit."""

from __future__ import annotations

import numpy as np

LARGEST = np.finfo(np.float64).max
MIX, WORD = 0x9E3779B1, 2**32  # odd, and near the golden section of 2**32 (Knuth, volume 3, section 6.4)
MIXERS = 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53
MISSING = -1  # instead of the number of a gap, where the value is missing
ONCE = 2**18  # numbers that are worked on at a time, to bound memory


def hats(X, knots, n_hats):
    """Values of piecewise linear functions of ranks, ``n_hats`` for each column and then one for missing values.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        NaN is missing.
    knots : Knots
        Of these columns.
    n_hats : int
        For each column; fewer are used where there are fewer knots, and none with fewer than three.

    Returns
    -------
    tuple of ndarray
        Data, indices and row pointers of CSR rows; zeros are left out.
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


def gaps(X, knots):
    """Number of the gap between knots that each value is in, from 0; `MISSING` for NaN."""
    found = np.empty(X.shape, np.int32)
    for j, x in enumerate(X.T):
        own = knots.values[knots.starts[j] : knots.starts[j + 1]]
        found[:, j] = np.where(np.isnan(x), MISSING, np.maximum(np.searchsorted(own, x, side="right") - 1, 0))
    return found


def cells(X, knots, trees, width):
    """The cell of each row in each tree, as a column.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        NaN is missing.
    knots : Knots
        Of these columns.
    trees : Trees
        Grown over their gaps.
    width : int
        How many columns each tree has. Where these are fewer than its nodes, nodes are hashed.

    Returns
    -------
    ndarray of int32 of shape (n_rows, n_trees)
        Columns, ascending in each row.
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


def cells_beside(left, X, knots, trees, width, n_columns):
    """CSR rows with a 1 in the column of each of their cells beside them.

    Parameters
    ----------
    left : tuple of ndarray
        Data, indices and row pointers.
    X : ndarray of shape (n_later, n_columns)
        What the cells of the last rows are made of; the rows before them have none.
    knots, trees, width
        As for `cells`.
    n_columns : int
        How many columns the rows have.

    Returns
    -------
    tuple of ndarray
        Data, indices and row pointers.
    """
    found = cells(X, knots, trees, width)
    n_cells = np.arange(len(left[2])) - (len(left[2]) - 1 - len(X))  # rows that have cells, up to each
    ends = np.maximum(n_cells, 0) * found.shape[1]
    kind = np.int32 if found.size < 2**31 else np.int64
    return beside(left, (np.ones(found.size), found.ravel(), ends.astype(kind)), n_columns)


def room(left, right):
    """Empty data and indices, and row pointers of zeros, for the CSR rows of `beside`."""
    n = len(left[0]) + len(right[0])
    kind = np.result_type(left[1], right[1]) if n < 2**31 else np.int64
    return np.empty(n), np.empty(n, kind), np.zeros(len(left[2]), kind)


def beside(left, right, n_columns):
    """CSR rows with others beside them.

    Parameters
    ----------
    left, right : tuple of ndarray
        Data, indices and row pointers of as many rows each.
    n_columns : int
        How many columns the left ones have.

    Returns
    -------
    tuple of ndarray
        Data, indices and row pointers.
    """
    data, indices, indptr = room(left, right)
    np.add(left[2], right[2], out=indptr, casting="same_kind")
    for (values, places, ends), before, move in ((left, right[2][:-1], 0), (right, left[2][1:], n_columns)):
        at = np.arange(len(values)) + np.repeat(before, np.diff(ends))
        data[at], indices[at] = values, places + move
    return data, indices, indptr


def products(data, indices, indptr, tables, again, n_columns):
    """Products of the entries of CSR rows, one of each of a few groups of columns.

    Parameters
    ----------
    data, indices, indptr : ndarray
        CSR rows, indices ascending.
    tables : list of ndarray of int64
        For each term an array of shape (n_groups, n_features). The entries of the columns of a product sum to its
        number; they are -1 where a column is not in the group.
    again : list of ndarray of int64
        For each term an array of shape (n_groups,): -1 for a group that is not the one before, else how many entries
        after the last one taken the next may be, 0 or 1.
    n_columns : int
        To how many columns products are hashed; 0 where their number is their column.

    Returns
    -------
    tuple of ndarray
        Data, indices and row pointers.
    """
    n_rows = len(indptr) - 1
    row_of = np.repeat(np.arange(n_rows), np.diff(indptr))
    found = []
    for table, repeats in zip(tables, again):
        row, value, number = np.arange(n_rows), np.ones(n_rows), np.zeros(n_rows, np.int64)
        last = np.zeros(n_rows, np.int64)
        for own, repeat in zip(table, repeats):
            there = np.flatnonzero(own[indices] >= 0)
            starts = np.searchsorted(row_of[there], np.arange(n_rows + 1))
            begin = starts[row] if repeat < 0 else last + repeat
            counts = np.maximum(starts[row + 1] - begin, 0)
            before = np.repeat(np.arange(len(row)), counts)
            last = np.arange(len(before)) + np.repeat(begin - np.add.accumulate(counts) + counts, counts)
            with np.errstate(all="ignore"):
                value = np.clip(value[before] * data[there[last]], -LARGEST, LARGEST)
            row, number = row[before], number[before] + own[indices[there[last]]]
        found.append((row, number, value))
    row, number, value = (np.concatenate(parts) for parts in zip(*found))
    if n_columns:
        number = hashed(number, n_columns)
    order = np.lexsort((number, row))
    row, number, value = row[order], number[order], value[order]
    if n_columns and len(row):
        new = np.concatenate([[True], (row[1:] != row[:-1]) | (number[1:] != number[:-1])])
        value = np.clip(np.bincount(np.cumsum(new) - 1, weights=value), -LARGEST, LARGEST)
        row, number = row[new], number[new]
    kind = np.int32 if len(row) < 2**31 else np.int64
    return value, number.astype(kind), np.searchsorted(row, np.arange(n_rows + 1)).astype(kind)


def dense_products(X, factors, out):
    """Fill ``out`` with products of columns of ``X``.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        Rows.
    factors : ndarray of shape (n_factors, n_products) of int
        The columns of each product.
    out : ndarray of shape (n_rows, n_products)
        To be filled.
    """
    step = max(ONCE // max(factors.shape[1], 1), 1)
    for start in range(0, len(X), step):
        rows = X[start : start + step]
        value = rows[:, factors[0]]
        for columns in factors[1:]:
            with np.errstate(all="ignore"):
                value = np.clip(value * rows[:, columns], -LARGEST, LARGEST)
        out[start : start + step] = value


def hashed(number, n_columns):
    """Columns for numbers, as if at random (the last steps of MurmurHash3 by Appleby)."""
    mixed = number.astype(np.uint64)
    for factor in MIXERS:
        mixed = (mixed ^ (mixed >> np.uint64(33))) * np.uint64(factor)
    return ((mixed >> np.uint64(32)) * np.uint64(n_columns) >> np.uint64(32)).astype(np.int64)
