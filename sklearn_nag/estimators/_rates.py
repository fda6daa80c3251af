"""Losses with a log link (deviances of counts and amounts) for regressors."""

import numpy as np
from sklearn.metrics import r2_score
from sklearn.utils import check_consistent_length

from .. import losses
from ._parameters import learner_of
from ._validation import as_floats


def has_mean(loss, y):
    """Which targets a loss with a log link takes: those above 0 and, if its power is below 2, 0."""
    return (y >= 0) if loss.power < 2.0 else (y > 0)


def check_has_mean(loss, y):
    """Raise for targets that a loss with a log link does not take."""
    fits = has_mean(loss, y).reshape(len(y), -1).all(axis=1)
    if not fits.all():
        row, allowed = int(np.argmin(fits)), "not be negative" if loss.power < 2.0 else "be above 0"
        raise ValueError(f"with loss={loss.name!r} targets must {allowed}; y is {y[row]} in row {row}.")


def common_deviance(learners):
    """The loss with a log link that ``learners``, or Pipelines of such, share; None if they differ."""
    last = map(learner_of, learners)
    found = [learner._loss() if getattr(learner, "_log_link", False) else None for learner in last]
    return found[0] if len({loss and loss.power for loss in found}) == 1 else None


def score_by_common(learners, y, predicted, sample_weight=None):
    """Score of predictions made from those of ``learners``: D² for a common deviance, otherwise R²."""
    deviance = common_deviance(learners)
    if deviance is None:
        return r2_score(y, predicted, sample_weight=sample_weight)
    y = as_floats(y, "y")
    check_consistent_length(y, predicted, sample_weight)
    check_has_mean(deviance, y)
    return d2_score(deviance, y, np.maximum(predicted, 0.0), sample_weight)  # because a blend may be negative


def d2_score(loss, y, predicted, sample_weight=None):
    """Share of deviance explained, as in PoissonRegressor; mean over outputs."""
    y, predicted = (np.reshape(values, (len(values), -1)) for values in (y, predicted))
    with np.errstate(divide="ignore", over="ignore"):
        mean = np.log(np.average(y, axis=0, weights=sample_weight))
        own = loss.value(np.maximum(np.log(predicted), losses.LEAST_LOG), y)
        constant = loss.value(np.maximum(mean, losses.LEAST_LOG) + np.zeros(y.shape), y)
        own, constant = (np.average(values, axis=0, weights=sample_weight) for values in (own, constant))
        ratio = own / np.where(constant > 0, constant, 1.0)
        explained = 1.0 - np.minimum(ratio, np.finfo(float).max / len(ratio))
    return float(np.mean(np.where(constant > 0, explained, 1.0 * (own == 0))))
