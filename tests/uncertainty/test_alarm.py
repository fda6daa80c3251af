"""An alarm sounds after a change, and before one only as rarely as it is set for."""

import math

import numpy as np
import pytest

from sklearn_nag import NAGClassifier, NAGRegressor, config_context
from sklearn_nag.model_selection import LossAlarm, progressive_validation
from sklearn_nag.uncertainty import alarm


def alarms_by_definition(losses, rate):
    """Rows after which a recent mean is too large, and its half-life, from weights of all rows since the last alarm."""
    rows, half_lives, start = [], [], 0
    for stop in range(2, len(losses) + 1):
        n = stop - start
        for half_life in alarm.HALF_LIVES if n > 1 else ():
            late = 0.5 ** (np.arange(n)[::-1] / half_life)
            w = late / late.sum() - 1.0 / n
            if w @ losses[start:stop] > math.sqrt((w @ w) * math.log(len(alarm.HALF_LIVES) / rate) / 2.0):
                rows.append(stop)
                half_lives.append(half_life)
                start = stop
                break
    return rows, half_lives


@pytest.mark.parametrize("kernel", ["numpy", "numba"])
def test_sounds_where_the_weights_of_all_rows_say(kernel):
    """Of the means that are too large, the one with the shortest half-life counts. Then everything starts anew."""
    pytest.importorskip("numba") if kernel == "numba" else None
    losses = np.concatenate([np.zeros(400), np.full(200, 0.12), np.zeros(400), np.full(134, 0.12), np.ones(4)])
    with config_context(kernel=kernel):
        sounded = LossAlarm(0.9)
        sounded.update(losses)
        rows, half_lives = alarms_by_definition(losses, 0.9)
        assert half_lives == [80.0, 20.0]
        assert (sounded.alarms_, sounded.half_lives_) == (rows, half_lives)
        parts = LossAlarm(0.9)
        for start in range(0, len(losses), 7):
            parts.update(losses[start : start + 7])
    assert (parts.alarms_, parts.half_lives_) == (sounded.alarms_, sounded.half_lives_)
    np.testing.assert_array_equal(parts._table, sounded._table)


def test_weights_of_late_rise_over_those_of_all():
    """Weights that rise and add up to 0 make the statistic at most 0 for falling losses."""
    falling = np.sort(np.random.default_rng(0).random(3000))[::-1]
    assert LossAlarm(1.0 - 1e-9).update(falling).size == 0


def test_false_alarms_are_as_few_as_promised():
    """False alarms are rare for dependent losses, too, as long as the expectation of the next loss does not rise."""
    rate, n, seeds, found = 0.2, 500, 20, 0
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        spread = np.where(np.arange(n) // 100 % 2, 0.5, 0.05)  # the mean stays the same, everything else changes
        found += len(LossAlarm(rate).update(0.5 + spread * rng.choice([-1.0, 1.0], n)))
    assert 0 < found <= rate * n * seeds


@pytest.mark.parametrize("learner", [NAGClassifier, NAGRegressor])
def test_progressive_validation_tells_of_a_change(learner, rng):
    """The classifier's labels flip. A regressor learns that in few rows, so its targets get noise instead."""
    X, is_new = rng.normal(size=(3000, 3)), np.arange(3000) >= 2000
    z = X @ [1.0, 2.0, -1.0]
    y = (z > 0) ^ is_new if learner is NAGClassifier else z + is_new * rng.normal(size=3000, scale=5.0)
    result = progressive_validation(learner(), X, y, false_alarm_rate=1e-4)
    assert 2000 < result.alarms[0] < 2100
    assert progressive_validation(learner(), X[:50], y[:50]).alarms is None


@pytest.mark.parametrize("rate", [0.0, 1.0, "much"])
def test_refuses_other_rates(rate):
    with pytest.raises(ValueError, match="'false_alarm_rate' parameter"):
        LossAlarm(rate)


@pytest.mark.parametrize("losses", [[1.5], [np.nan], [[0.5]], [-0.1]])
def test_refuses_other_losses_and_stays_what_it_was(losses):
    sounding = LossAlarm()
    sounding.update([0.5])
    with pytest.raises(ValueError, match="losses must be numbers between 0 and 1"):
        sounding.update(losses)
    assert sounding.n_rows_ == 1


def test_what_earlier_versions_saved_goes_on(rng):
    losses = rng.random(500) < 0.3
    sounding, saved = LossAlarm(), LossAlarm()
    sounding.update(losses)
    state = vars(sounding).copy()
    state["_known"] = alarm.Alarm(state.pop("_table"))
    saved.__setstate__(state)
    for of_each in (sounding, saved):
        of_each.update(np.ones(100))
    assert len(sounding.alarms_) > 0
    assert vars(saved).keys() == vars(sounding).keys()
    assert saved.alarms_ == sounding.alarms_
