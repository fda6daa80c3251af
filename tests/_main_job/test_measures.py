"""Measures compared with scikit-learn's, and tests of differences compared with closed forms."""

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from sklearn_nag._main_job.measures import OF_CLASSES, Predictions, difference, has_heavy_tails, holm, is_rare


def test_measures_are_those_of_scikit_learn(rng):
    y = (rng.random(50) < 0.3).astype(int)
    p = rng.uniform(0.05, 0.95, 50)
    predicted = Predictions((p > 0.5).astype(int), np.column_stack([1 - p, p]), p)
    for name, expected in [
        ("log_loss", metrics.log_loss(y, p)),
        ("accuracy", metrics.accuracy_score(y, p > 0.5)),
        ("roc_auc", metrics.roc_auc_score(y, p)),
        ("average_precision", metrics.average_precision_score(y, p)),
    ]:
        assert OF_CLASSES[name].score(y, predicted) == pytest.approx(expected)


def test_what_predictions_do_not_tell_is_nan():
    ones, hinge = np.ones(3, int), Predictions(np.ones(3, int), None, np.zeros(3))
    assert np.isnan(OF_CLASSES["log_loss"].score(ones, hinge))
    assert np.isnan(OF_CLASSES["roc_auc"].score(ones, hinge))  # only one class


def test_the_corrected_resampled_t_test(rng):
    one, other = rng.normal(size=10), rng.normal(size=10)
    found = difference(one, other, 80, 20)
    # With n_test / n_train -> 0 it is the paired t-test; the correction divides t by sqrt((1/J + q) / (1/J)).
    plain = stats.ttest_rel(one, other)
    uncorrected = difference(one, other, 1e300, 1.0)
    assert uncorrected.p == pytest.approx(plain.pvalue)
    low, high = plain.confidence_interval()
    np.testing.assert_allclose([uncorrected.low, uncorrected.high], [low, high])
    t = plain.statistic / np.sqrt((0.1 + 0.25) / 0.1)
    assert found.p == pytest.approx(2 * stats.t.sf(abs(t), 9))
    assert found.mean == pytest.approx((one - other).mean())


def test_differences_without_a_spread_and_of_failures():
    ones = np.ones(3)
    assert difference(ones, ones, 8, 2).p == 1.0
    assert difference(ones, ones - 0.5, 8, 2).p == 0.0
    for one in (np.array([1.0, np.nan, 1.0]), np.array([1.0, np.inf, 1.0])):
        assert np.isnan(difference(one, ones, 8, 2)).all()
    assert np.isnan(difference(ones[:1], ones[:1], 8, 2).p)


def test_holm_by_hand():
    # Sorted: 0.01 * 4, 0.02 * 3, 0.03 * 2, which may not be less than its predecessor, and 0.9.
    np.testing.assert_allclose(holm([0.03, 0.01, np.nan, 0.9, 0.02]), [0.06, 0.04, np.nan, 0.9, 0.06])
    assert holm([0.6, 0.7]).max() == 1.0


def test_heavy_tails(rng):
    normal = rng.normal(50, 10, 1000)
    wrong = np.where(np.arange(1000) < 10, 1000 * normal, normal)
    assert [has_heavy_tails(y) for y in (normal, rng.exponential(size=1000), wrong, 1e300 * wrong)] == [0, 0, 1, 1]
    assert not has_heavy_tails(np.where(np.arange(100) < 3, 5.0, 0.0))  # most values are equal
    assert not has_heavy_tails(np.zeros(5))


def test_rare_classes():
    y = np.arange(100)
    assert is_rare(y < 10)
    assert not is_rare(y < 40)
    assert not is_rare(y % 3)
