"""The tables on which compiled code learns."""

import numpy as np

from ..helpers import make_state, needs_numba


@needs_numba
def test_room_for_the_longest_row():
    from sklearn_nag.kernels.compiled.handover import workspace

    state = make_state(5_000)
    for place in [0, 2**14 - 1, 2**14, 39_999]:
        entries = np.ones(max(place + 1, 3), int)
        entries[place] = 3_000
        _, table, index, _, _ = workspace(state, 4, np.append(0, entries.cumsum()))
        assert table.shape[1] == index.size > 3_000
        assert table.ctypes.data % 64 == 0
