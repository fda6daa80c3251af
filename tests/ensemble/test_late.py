"""The values of columns that vary only late in a stream."""

import numpy as np
import pytest

from sklearn_nag.ensemble import _late

NAN = np.nan


def listed(known):
    return [values.tolist() for values in known]


def test_late_is_what_had_one_value_or_none_at_first():
    rows = np.array([[1, 0, NAN, NAN, 0, 5], [2, 0, NAN, 7, 0, 6], [3, 0, NAN, NAN, 4, 6], [4, 9, NAN, 7, NAN, 6.0]])
    known = _late.begun(rows, 2)
    assert listed(known[:2]) == [[], [0.0, 9.0]]
    assert str(listed(known[2:])) == "[[nan], [7.0], [0.0, 4.0, nan], []]"
    assert listed(_late.begun(rows, 3))[4] == []
    assert str(listed(_late.begun(rows[:1], 3))) == "[[1.0], [0.0], [nan], [nan], [0.0], [5.0]]"


@pytest.mark.parametrize("size", [1, 2, 3, 50])
def test_values_are_kept_from_the_first_other_one_on(size):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 4))
    rows[:20, 0], rows[:30, 1], rows[:, 2], rows[:9, 3] = 0.0, NAN, 3.0, 1.0
    known = _late.begun(rows[:10], 5)
    for start in range(10, 50, size):
        places = _late.waiting(known, 12)
        known = _late.gone_on(known, places, rows[start : start + size][:, places], 12)
    assert listed(known) == [[0.0, *rows[20:32, 0]], [*rows[30:43, 1]], [3.0], [1.0, *rows[9:21, 3]]]
    assert _late.waiting(known, 12).tolist() == [2]


def test_first_values_that_come_again_are_kept_and_what_was_known_stays():
    known = [np.array([0.0, 5.0]), np.array([0.0])]
    more = _late.gone_on(known, np.arange(2), np.array([[0.0, 0.0], [NAN, 7.0], [0.0, 0.0]]), 9)
    assert str(listed(more)) == "[[0.0, 5.0, 0.0, nan, 0.0], [0.0, 7.0, 0.0]]"
    assert listed(known) == [[0.0, 5.0], [0.0]]


def test_what_shards_know_is_joined():
    start = [np.array([0.0]), np.array([1.0, 2.0]), np.array([NAN]), np.empty(0), np.array([4.0])]
    one = [np.array([0.0, 5.0]), np.array([1.0, 2.0, 3.0]), np.array([7.0, 8.0]), np.empty(0), np.array([4.0])]
    two = [np.array([0.0]), np.array([1.0, 2.0, 4.0]), np.array([NAN]), np.empty(0), np.array([4.0])]
    assert listed(_late.joined([one, two], start)) == [[0.0, 5.0], [1.0, 2.0, 3.0, 4.0], [7.0, 8.0], [], [4.0]]
    assert listed(_late.joined([one, [np.empty(0)] * 5], None)) == [[]] * 5
    others = [np.array([1.0]), np.array([NAN])]
    assert str(listed(_late.joined([others, [np.array([0.0]), np.array([NAN])]], None))) == "[[0.0, 1.0], [nan]]"


def test_what_is_none_of_this_is_refused():
    _late.check([], 2)
    _late.check([np.empty(0), np.array([1.0, NAN])], 2)
    inf = np.array([np.inf])
    for damaged in ([np.empty(0)], [np.empty(0), inf], [np.empty(0), [1.0]], (np.empty(0),) * 2, 3):
        with pytest.raises(ValueError, match="_late is not what late columns have had"):
            _late.check(damaged, 2)
