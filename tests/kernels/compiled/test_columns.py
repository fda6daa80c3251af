"""Copying the columns of a sparse row to compiled loops and back."""

import itertools
from collections import namedtuple

import numpy as np
import pytest
from scipy import sparse

from sklearn_nag import config_context

from ..helpers import flat, make_state, needs_numba, progressive

pytestmark = pytest.mark.compiled
Fields = namedtuple("Fields", "x lift largest")


@needs_numba
def test_what_is_copied_comes_back(rng):
    """Any number of fields and columns comes back, and nothing else is touched.

    Of fields stored apart, only lifts are copied.
    """
    from numba import njit

    from sklearn_nag.kernels.compiled.columns import copy_columns, gather, padded

    @njit
    def fetch(subset, f, columns, apart, index, first, width):
        gather(subset, f, columns, apart, index, first, width, padded(width))

    @njit
    def put(subset, columns, above, index, first, width):
        copy_columns(subset, columns, above, index, first, width, False)

    for fields, (above, lift) in itertools.product((*range(1, 14), 16), ((0, 0), (2, 2), (2, 1))):
        f = Fields(above + fields, lift, largest=above + fields - 1)
        for width in (0, 1, 3, 4, 5, 7, 8, 9, 22):
            for first in (0, 8):
                columns, apart, index = rng.random((50, fields)), rng.random((above, 50)), np.zeros(40, np.uint64)
                columns[rng.random(50) < 0.1, -1] = rng.choice([0.0, 2.0**-70, 2.0**64, 2.0**300])
                are_small = (columns[:, -1] > 0.0) & (columns[:, -1] < 2.0**-64)
                apart[:, ~are_small & (columns[:, -1] < 2.0**64)] = 1.0
                named = index[first : first + width] = rng.permutation(50)[:width]
                subset = np.full((f.x + 1, 40), -1.0)
                fetch(subset, f, columns, apart, index, first, first + width)
                fetched = subset[above : f.x, first : first + width]
                np.testing.assert_array_equal(fetched, columns[named.astype(int)].T)
                assert (subset[: f.x, :first] == -1.0).all()
                n = first + -(-width // 8) * 8
                others = np.delete(subset, lift, axis=0)
                if lift < above:
                    lifts = apart[lift, named.astype(int)]
                    np.testing.assert_array_equal(subset[lift, first : first + width], lifts)
                    assert (others[: above - 1] == -1.0).all()
                else:
                    assert (subset[:above] == -1.0).all()
                assert (subset[lift, first + width : n] == 1.0).all()
                assert (others[lift:, first + width : n] == 0.0).all()
                fetched += 1.0
                expected = columns.copy()
                expected[named.astype(int)] += 1.0
                put(subset, columns, above, index, first, first + width)
                np.testing.assert_array_equal(columns, expected)


PLAIN = {"normalization": "max", "centred": False, "average_from": np.inf, "importance_aware": False}


@needs_numba
@pytest.mark.parametrize("options", [{}, PLAIN, {**PLAIN, "intercept": False}])
def test_rows_in_any_order_and_columns_named_twice(rng, options):
    """Some columns are frequent, some rows name no column or all of them, and lifts change."""
    n, d = 200, 60
    X = rng.lognormal(size=(n, d)) * (rng.random((n, d)) < np.linspace(0.9, 0.02, d))
    X[::50], X[1::50] = 0.0, 1.0
    X[60:, 3] *= 1e30
    X[100, 50] = 1e200
    y = rng.choice([-1.0, 1.0], n)
    rows = [np.flatnonzero(row) for row in X]
    named = [rng.permutation(np.append(row, row[: len(row) // 3])) for row in rows]  # a third is named twice
    data = [X[i, own] / (1 + np.isin(own, rows[i][: len(rows[i]) // 3])) for i, own in enumerate(named)]
    ends = np.append(0, np.add.accumulate([len(own) for own in named]))
    named, ends = np.concatenate(named).astype(np.int32), ends.astype(np.int32)  # types as in the sorted rows
    shuffled = sparse.csr_array((np.concatenate(data), named, ends), shape=(n, d))
    np.testing.assert_allclose(shuffled.toarray(), X)
    made = {"normalization": "auto", "centred": True, "average_from": 0.0, "importance_aware": True, "damped": True}
    made |= options
    found = []
    in_order = sparse.csr_array(X)
    for kernel, given in (("numpy", in_order), ("numba", in_order), ("numba", shuffled), ("numba", X)):
        state = make_state(d, **made)
        with config_context(kernel=kernel):
            played = progressive(state, given, y)
        found.append((played, flat(state)))
        assert not state.columns.places().any()
    for played, numbers in found[1:]:
        np.testing.assert_allclose(played, found[0][0], rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(numbers, found[0][1], rtol=1e-9, atol=1e-11)


def test_tables_begin_with_a_line_of_the_cache(rng):
    for n in (10, 5_000):
        state = make_state(n, "auto", centred=True)
        X = sparse.csr_array((rng.random(20), (np.arange(20) // 4, rng.choice(10, 20))), shape=(5, n))
        for model in (state, state.copy()):
            progressive(model, X, rng.choice([-1.0, 1.0], 5))
            assert model.columns.table.flags.f_contiguous
        assert state.columns.table.ctypes.data % 64 == 0 or n < 4096
