"""Measures of predictions, and whether a difference between two learners is more than chance."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import stats
from sklearn import metrics

RARE = 0.2  # a class of two is rare if fewer rows than this share have it
HEAVY = 0.5  # tails are heavy if the farthest hundredth of the targets makes up more than this share of squares
LEAST_PROBABILITY = 1e-6  # so that a class that was not there to learn does not outweigh all other rows


class Metric(NamedTuple):
    """A measure of predictions.

    Attributes
    ----------
    name : str
        Name in words.
    error : str
        Name of its error: the measure itself or, if its best value is 1, 1 minus the measure.
    missing_to_one : bool
        Whether the error is 1 minus the measure.
    score : callable
        Value for targets and `Predictions`, or for targets and predicted quantities.
    needs_both : bool
        Whether it has no value for targets of a single class.
    """

    name: str
    error: str
    missing_to_one: bool
    score: Callable
    needs_both: bool = False

    def errors(self, values):
        """Errors for values of the measure; less is better."""
        return 1.0 - values if self.missing_to_one else values


class Predictions(NamedTuple):
    """Predicted classes as numbers from 0, probabilities or None, and what ranks the rarer of two classes."""

    classes: np.ndarray
    probabilities: np.ndarray | None
    ranking: np.ndarray | None


def _log_loss(y, predicted):
    if predicted.probabilities is None:
        return np.nan
    return -np.log(np.maximum(predicted.probabilities[np.arange(len(y)), y], LEAST_PROBABILITY)).mean()


def _of_ranking(score):
    def value(y, predicted):
        is_rare = y == 1  # of two classes, the rarer one is 1
        return score(is_rare, predicted.ranking) if 0 < is_rare.sum() < len(y) else np.nan

    return value


OF_CLASSES = {
    "log_loss": Metric("log loss", "log loss", False, _log_loss),
    "accuracy": Metric("accuracy", "error rate", True, lambda y, predicted: (y == predicted.classes).mean()),
    "roc_auc": Metric("ROC-AUC", "1 - ROC-AUC", True, _of_ranking(metrics.roc_auc_score), True),
    "average_precision": Metric(
        "average precision", "1 - average precision", True, _of_ranking(metrics.average_precision_score), True
    ),
}
OF_QUANTITIES = {
    "root_mean_squared_error": Metric("RMSE", "RMSE", False, metrics.root_mean_squared_error),
    "mean_absolute_error": Metric("mean abs. error", "mean absolute error", False, metrics.mean_absolute_error),
    "median_absolute_error": Metric(
        "median abs. error", "median absolute error", False, metrics.median_absolute_error
    ),
    "r2": Metric("R²", "1 - R²", True, metrics.r2_score),
}  # fmt: skip


def is_rare(y):
    """Whether one of two classes is rare."""
    counts = np.unique(y, return_counts=True)[1]
    return len(counts) == 2 and counts.min() < RARE * len(y)


def has_heavy_tails(y):
    """Whether the hundredth of the targets farthest from the median makes up most of the squared deviations."""
    sizes = np.sort(np.abs(y - np.median(y)))
    if not np.median(sizes) > 0:
        return False  # most targets are equal, which is another matter
    squares = (sizes / sizes[-1]) ** 2
    return bool(squares[-max(1, round(0.01 * len(y))) :].sum() > HEAVY * squares.sum())


class Difference(NamedTuple):
    """Mean difference between two learners over splits, its 95 % interval, and the p value of no difference."""

    mean: float
    low: float
    high: float
    p: float


def difference(one, other, n_train, n_test):
    """Compare two learners by their errors on the same splits, with the corrected resampled t-test.

    The splits share rows, so their differences are not independent: the variance of the mean of ``J`` of them is taken
    as ``(1 / J + n_test / n_train)`` times their sample variance, with ``J - 1`` degrees of freedom (Nadeau and Bengio,
    "Inference for the generalization error", Machine Learning 52, 2003). ``n_train`` and ``n_test`` are means.

    Return the `Difference` of ``one - other``; all NaN if either has failed, or for a single split.
    """
    differences = np.asarray(one) - np.asarray(other)
    n = len(differences)
    if n < 2 or not np.isfinite(differences).all():
        return Difference(np.nan, np.nan, np.nan, np.nan)
    mean = differences.mean()
    spread = np.sqrt((1.0 / n + n_test / n_train) * differences.var(ddof=1))
    if spread == 0.0:
        return Difference(mean, mean, mean, float(mean == 0.0))
    half = stats.t.ppf(0.975, n - 1) * spread
    return Difference(mean, mean - half, mean + half, float(2.0 * stats.t.sf(abs(mean) / spread, n - 1)))


def holm(p_values):
    """P values adjusted for several comparisons (Holm, Scandinavian Journal of Statistics 6, 1979); NaN stays NaN."""
    p_values = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(len(p_values), np.nan)
    order = [i for i in np.argsort(p_values) if not np.isnan(p_values[i])]
    so_far = 0.0
    for rank, i in enumerate(order):
        so_far = max(so_far, min(1.0, (len(order) - rank) * p_values[i]))
        adjusted[i] = so_far
    return adjusted
