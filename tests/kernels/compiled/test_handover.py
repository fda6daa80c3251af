"""The tables that compiled code works on."""

import numpy as np
import pytest
from scipy import sparse

from sklearn_nag import config_context

from ..helpers import flat, make_data, make_state, needs_numba, progressive

pytestmark = pytest.mark.compiled


@needs_numba
def test_room_for_the_longest_row():
    from sklearn_nag.kernels.compiled.handover import workspace

    state = make_state(5_000)
    for place in [0, 2**14 - 1, 2**14, 39_999]:
        entries = np.ones(max(place + 1, 3), int)
        entries[place] = 3_000
        _, _, table, index, _, _ = workspace(state, 4, np.append(0, entries.cumsum()))
        assert table.shape[1] == index.size > 3_000
        assert table.ctypes.data % 64 == 0


@needs_numba
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_few_rows_leave_the_compiled_loop_whatever_they_are(rng, monkeypatch, container):
    from sklearn_nag.kernels.compiled import handover

    prepared = []
    prepare_row = handover.prepare_row
    monkeypatch.setattr(handover, "prepare_row", lambda *args: prepared.append(1) or prepare_row(*args))
    X = rng.choice([5e-324, -5e-324, 1e-300, 1.0, 1e300, np.finfo(float).max], (500, 3))
    with config_context(kernel="numba"):
        progressive(make_state(3), container(X), rng.choice([-1.0, 1.0], 500))
    assert 0 < len(prepared) <= 14 * 3


@needs_numba
@pytest.mark.parametrize("soft", [slice(0), slice(None, None, 5)], ids=["hard", "some soft"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_long_streams_are_learnt_call_by_call(rng, monkeypatch, container, soft):
    """The bits are those of one call, with and without an order of rows, and with soft labels among hard ones."""
    from sklearn_nag.kernels.compiled import handover

    X, y = make_data(rng, n=60)
    y[soft] *= 0.4
    order, weights = rng.permutation(60), rng.random(60) + 0.5
    found = []
    for at_once in (2**22, 40):
        monkeypatch.setattr(handover, "AT_ONCE", at_once)
        with config_context(kernel="numba"):
            for rows in (None, order):
                options = {"average_from": 0.0, "judged": True, "importance_aware": True, "damped": True}
                state = make_state(6, "auto", centred=True, **options)
                found.append((progressive(state, container(X), y, weights, order=rows), flat(state)))
    for whole, parts in zip(found[:2], found[2:]):
        assert np.array_equal(parts[0], whole[0])
        assert np.array_equal(parts[1], whole[1])
