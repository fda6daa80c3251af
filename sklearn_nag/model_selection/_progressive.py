"""Progressive validation: every row is a test before it is training."""

from __future__ import annotations

import copy
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_classifier

from ..estimators._parameters import check_number, shown
from ..estimators._validation import Rows, as_floats, check_coverage
from ._alarm import LossAlarm, shares_of_spread
from ._judge import Judge, count_silent, count_unscored
from ._streams import StreamPipeline, check_stream, cut_batches, flat, known_classes, slice_batch

_KERNEL_ROWS = 2**17  # most rows in one call of a kernel that predicts each row before it learns it


@dataclass
class ProgressiveValidation:
    """Result of `progressive_validation`.

    Parameters
    ----------
    score : float or dict of float
        Score over all scored rows; by name, if several were requested. It is NaN, with a warning, if a scorer raises a
        ValueError, as that of the log loss does for a class that never came.
    loss : float or None
        Progressive loss; None for learners of other packages, and whenever there is a ``delay``.
    curve : dict of ndarray
        ``"n_rows"`` contains the requested numbers of rows that the stream has reached. ``"score"``, or the name of
        each score, contains the scores over all rows up to each of these. For learners of this package without a
        ``delay``, there is also ``"loss"``.
    n_rows : int
        Number of rows learnt.
    n_scored : int
        Number of rows scored, which are those predicted after something had been learnt.
    fit_time : float
        Seconds spent in predicting and learning, without reading and scoring.
    estimator : estimator
        The estimator after the last row.
    coverage, width : ndarray of shape (n_coverages,), or None
        For regressors, the share of targets inside their intervals, and the mean width of the intervals. For
        classifiers, the share of rows whose class is in its prediction set, and the mean size of the sets. Intervals
        and sets are those from before a row is learnt. None if not requested. If requested, the curve also has
        ``"coverage"`` and ``"width"``, of shape (n_points, n_coverages). Rows do not count while intervals are
        infinite, or sets contain all classes, for lack of rows.
    predictions : dict of ndarray
        The targets of the scored rows, as ``"y"``, and the predictions of each method that the scores use, such as
        ``"predict_proba"``, made before each row. Displays of scikit-learn accept them.
    alarms : ndarray of int of shape (n_alarms,), or None
        Numbers of rows after which there was an alarm; None if alarms were not requested.
    """

    score: float | Any  # Any: a dict, but only for several scores
    loss: float | None
    curve: dict[str, np.ndarray]
    n_rows: int
    n_scored: int
    fit_time: float
    estimator: Any
    coverage: np.ndarray | Any
    width: np.ndarray | Any
    predictions: dict[str, np.ndarray]
    alarms: np.ndarray | Any


def progressive_validation(
    estimator: BaseEstimator,
    X: Rows | Iterable[tuple],
    y: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    scoring: str | Callable | Sequence[str] | dict[str, str | Callable] | None = None,
    batch_size: int = 1,
    delay: int = 0,
    curve_at: ArrayLike | None = None,
    coverage: float | ArrayLike | None = None,
    false_alarm_rate: float | None = None,
    callback: Callable[[int, BaseEstimator], Any] | None = None,
) -> ProgressiveValidation:
    """Score a learner on its predictions for each row, made before it learns that row.

    One pass over the rows is both training and test, because every row is new when it is predicted.

    Parameters
    ----------
    estimator : estimator
        Classifier or regressor with ``partial_fit``, or a Pipeline that ends with one. It is cloned, and the clone
        learns from scratch. Steps of a Pipeline work as follows:

        - Transformers of `sklearn_nag.preprocessing` transform each row with what they have learnt from the rows up to
          and including it.
        - Other steps with ``partial_fit`` learn each batch before they transform it.
        - The remaining steps only transform. They must have nothing to learn, according to their tag ``requires_fit``,
          or be wrapped in a `sklearn.frozen.FrozenEstimator`.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or iterable of tuples
        Rows. Without ``y``, an iterable of batches ``(X, y)`` or ``(X, y, sample_weight)`` of any lengths, read one at
        a time.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
        Targets.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows, for learning and for the scores that support them.
    classes : array-like of shape (n_classes,), optional
        All classes, for classifiers; by default those in ``y``.
    scoring : str, callable, list, tuple or dict, optional
        Scores as in `sklearn.model_selection.cross_validate`; by default the accuracy or R². A callable gets three
        arguments: an object whose ``predict`` and similar methods return the predictions made, None instead of ``X``,
        and ``y``.
    batch_size : int, default=1
        Number of rows that are predicted before the first of them is learnt. It has no effect on linear learners of
        this package and mixtures of them without ``delay``, which predict each row just before they learn it. It has an
        effect on `OnlineBootstrap`, and on steps that learn each batch before they transform it, which see this many
        rows ahead. Larger batches in ``X`` are split to this size; smaller ones are never joined.
    delay : int, default=0
        Number of further rows that arrive, and are predicted, before the label of a row arrives.
    curve_at : array-like of int, optional
        Increasing numbers of rows at which to add a point to the curve.
    coverage : float or array-like of shape (n_coverages,), optional
        Coverages to evaluate, between 0 and 1: of the intervals of regressors, or of the prediction sets of classifiers
        with ``calibration="progressive"``. Only for linear learners of this package without ``delay``, not for
        mixtures. See `NAGRegressor.predict_interval` and `NAGClassifier.predict_set`.
    false_alarm_rate : float, optional
        Rate of a `LossAlarm` to run on the errors. Its losses are whether the predicted label is wrong or, with several
        labels, the share that is wrong. For regression they are errors divided by twice the standard deviation of the
        targets, and at most 1.
    callback : callable, optional
        Called after each batch with the number of rows so far and the estimator. A true result ends the stream. If
        ``batch_size`` has no effect and is not above 1, arrays are split only at ``curve_at`` and into batches of at
        most 131,072 rows.

    Returns
    -------
    ProgressiveValidation
        Scores, their curve, the time taken, and the fitted estimator.

    Raises
    ------
    TypeError
        If the estimator has no ``partial_fit``, or a step cannot learn from a stream.
    ValueError
        If parameters are invalid, or there is no row to score.

    See Also
    --------
    eta_sweep : Many learning rates in one pass.
    progressive_score : Progressive loss as a score for searches.
    LossAlarm : The same alarm for any losses, while a stream continues.

    Notes
    -----
    Rows that are predicted before anything has been learnt are not scored. The first row is always one of them.

    Without ``delay``, learners of this package and mixtures of them are scored on the predictions that their kernel
    makes while it learns, which ``progressive_loss_`` also uses. These take the weights of ``predict``, with scales and
    means that already include the features of the row, but not its label. Otherwise, the results of ``predict`` and
    similar methods before ``partial_fit`` are scored.

    Predictions are kept until the end because scores need all of them: a number for each row, or one for each class.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_nag import NAGClassifier
    >>> from sklearn_nag.model_selection import progressive_validation
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> result = progressive_validation(NAGClassifier(), X, y, scoring=["accuracy", "roc_auc"], curve_at=[100, 300])
    >>> result.n_scored, result.score["roc_auc"] > 0.95
    (568, True)
    >>> result.curve["accuracy"].shape
    (2,)
    >>> result.predictions["y"].shape, result.predictions["predict"].shape
    ((568,), (568,))
    """
    check_number("batch_size", batch_size, Integral, min_val=1)
    check_number("delay", delay, Integral, min_val=0)
    points = _curve_points(curve_at)
    coverages = None if coverage is None else check_coverage(coverage)
    check_stream(X, y, sample_weight)
    pipeline = StreamPipeline(estimator)
    all_classes = known_classes(pipeline.learner, y, classes)
    judge = Judge(pipeline.learner, all_classes, scoring)
    alarm = None if false_alarm_rate is None else LossAlarm(false_alarm_rate)
    if alarm is not None:
        judge.kept.setdefault("predict", [])
    in_kernel = pipeline.plays and delay == 0
    intervals: list[tuple[np.ndarray, np.ndarray]] = []
    if coverages is not None and not (in_kernel and _has_coverage(pipeline.learner)):
        raise ValueError(
            "coverage needs a linear regressor of this package, or a classifier with calibration='progressive', and "
            f"delay=0; got {type(pipeline.learner).__name__} and delay={delay}."
        )
    as_asked = not (in_kernel and pipeline.by_row) or (callback is not None and batch_size > 1)
    cut = cut_batches(X, y, sample_weight, batch_size if as_asked else _KERNEL_ROWS)
    batches = ((rows, flat(targets, pipeline.learner), weight) for rows, targets, weight in cut)
    if in_kernel:
        steps = _learn_in_kernel(pipeline, batches, all_classes, judge, points, coverages, intervals)
    else:
        steps = _test_then_train(pipeline, batches, all_classes, judge, delay, copies=y is None)
    n_rows, n_scored, seconds = 0, 0, 0.0
    losses: list[float] = []
    for n_rows, n_scored, seconds in steps:  # noqa: B007
        if in_kernel and n_rows in points:
            losses.append(pipeline.learner.progressive_loss_)
        if callback is not None and callback(n_rows, pipeline.estimator):
            break
    if n_scored == 0:
        raise ValueError(f"there is nothing to score: all {n_rows} rows came before anything was learnt.")
    reached = points[points <= n_rows]
    n_unscored = n_rows - n_scored  # the first ones
    values = judge.scores([*(reached - n_unscored), n_scored])
    curve = {"n_rows": reached, **{name: value[:-1] for name, value in values.items()}}
    if in_kernel:
        curve["loss"] = np.array(losses)
    covered = None
    if coverages is not None:
        stops = [*reached, n_rows]
        covered = {name: _means_up_to(values, stops) for name, values in zip(("coverage", "width"), _joined(intervals))}
        curve |= {name: values[:-1] for name, values in covered.items()}
    final = {name: float(value[-1]) for name, value in values.items()}
    return ProgressiveValidation(
        score=final["score"] if judge.is_single else final,
        loss=pipeline.learner.progressive_loss_ if in_kernel else None,
        curve=curve,
        n_rows=n_rows,
        n_scored=n_scored,
        fit_time=seconds,
        estimator=pipeline.estimator,
        predictions=judge.joined(),
        **{name: None if covered is None else covered[name][-1] for name in ("coverage", "width")},
        alarms=None if alarm is None else n_unscored + alarm.update(_errors(judge, all_classes)),
    )


def _has_coverage(learner):
    """Whether a learner has intervals or sets of classes that are judged row by row."""
    return hasattr(learner, "_played_coverage") and (hasattr(learner, "predict_set") or not is_classifier(learner))


def _errors(judge, classes):
    """Losses between 0 and 1 of the scored rows."""
    y, predicted = np.concatenate(judge.y), np.concatenate(judge.kept["predict"])
    if classes is None:
        return shares_of_spread(y, predicted)
    wrong = predicted != y
    return wrong if wrong.ndim == 1 else wrong.mean(axis=1)


def _joined(intervals):
    """Whether intervals or sets contained the targets, and their widths; NaN for infinite widths."""
    held, width = (np.concatenate(parts) for parts in zip(*intervals))
    finite = np.isfinite(width)
    return np.where(finite, held, np.nan), np.where(finite, width, np.nan)


def _means_up_to(values, stops):
    """Means over the rows up to each stop, and over outputs, without NaN; NaN if none are left."""
    there = ~np.isnan(values)
    sums, counts = (np.add.accumulate(a.sum(axis=1)) for a in (np.where(there, values, 0.0), there))
    last = np.asarray(stops) - 1
    with np.errstate(invalid="ignore"):
        return sums[last] / counts[last]


def _curve_points(curve_at):
    if curve_at is None:
        return np.empty(0, np.int64)
    points = np.atleast_1d(as_floats(curve_at, "curve_at"))
    if points.size and not (
        points.ndim == 1
        and np.all(points == np.floor(points))
        and 1 <= points[0]
        and points[-1] < 2.0**63
        and (np.diff(points) > 0).all()
    ):
        allowed = "increasing whole numbers of rows, each at least 1"
        raise ValueError(f"curve_at must hold {allowed}; got {shown(curve_at)}.")
    return points.astype(np.int64)


def _learn_in_kernel(pipeline, batches, classes, judge, points, coverages, intervals):
    """Learn each batch with a kernel that predicts each row before it learns it.

    After each batch, yield the numbers of rows and of scored rows so far, and the seconds spent. Steps transform whole
    batches; the learner stops at each of ``points``, increasing numbers of rows. Results for ``coverages``, unless
    None, are appended to ``intervals``.
    """
    learner, options = pipeline.learner, {} if classes is None else {"classes": classes}
    n_rows, n_scored, seconds, is_new = 0, 0, 0.0, True

    def transformed():
        """Yield the batches, transformed by the steps."""
        nonlocal seconds
        for X, y, weight in batches:
            start = time.perf_counter()
            rows = pipeline.transform(X, weight)
            seconds += time.perf_counter() - start
            yield rows, y, weight

    for X, y, weight in cut_batches(transformed(), None, None, _KERNEL_ROWS, points):
        start = time.perf_counter()
        before = learner._evidence
        decision = learner._play(X, y, sample_weight=weight, **options)
        skip, is_new = count_unscored(weight, len(y), is_new)
        predictions = {method: learner._responded(method, decision, y, weight, before) for method in judge.methods}
        if n_scored == 0:
            skip = max(skip, count_silent(learner, predictions))
        judge.keep(predictions, y, weight, skip)
        seconds += time.perf_counter() - start
        if coverages is not None:
            intervals.append(learner._played_coverage(decision, y, weight, before, coverages))
        n_rows, n_scored = n_rows + len(y), n_scored + len(y) - skip
        yield n_rows, n_scored, seconds


def _test_then_train(pipeline, batches, classes, judge, delay, copies):
    """Predict each batch and learn it ``delay`` rows later, copied if ``copies``; yield as `_learn_in_kernel`."""
    learner, waiting, n_waiting, has_learnt = pipeline.learner, deque(), 0, False
    options = {} if classes is None else {"classes": classes}
    n_rows, n_scored, seconds = 0, 0, 0.0

    def learn_but(n_last):
        """Learn the waiting rows except the last ``n_last``."""
        nonlocal n_waiting, has_learnt, options
        while n_waiting > n_last:
            X, y, weight = waiting.popleft()
            n = min(len(y), n_waiting - n_last)
            if n < len(y):
                waiting.appendleft(slice_batch((X, y, weight), n))
                X, y, weight = slice_batch((X, y, weight), 0, n)
            n_waiting -= n
            if weight is None or (weight > 0).any():  # some learners refuse a batch without weight
                weights = {} if weight is None else {"sample_weight": weight}
                learner.partial_fit(X, y, **options, **weights)
                has_learnt, options = True, {}

    for X, y, weight in batches:
        start = time.perf_counter()
        X = pipeline.transform(X, weight)
        if has_learnt:
            predictions = {method: getattr(learner, method)(X) for method in judge.methods}
            skip = count_silent(learner, predictions) if n_scored == 0 else 0
            judge.keep(predictions, y, weight, skip)
            n_scored += len(y) - skip
        waiting.append(copy.deepcopy((X, y, weight)) if copies and delay else (X, y, weight))
        n_rows, n_waiting = n_rows + len(y), n_waiting + len(y)
        learn_but(delay)
        seconds += time.perf_counter() - start
        yield n_rows, n_scored, seconds
    learn_but(0)
