"""Progressive validation of any learner, and whole ranges of learning rates for the price of a pass."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import get_scorer
from sklearn.model_selection import BaseCrossValidator
from sklearn.pipeline import Pipeline
from sklearn.utils import check_consistent_length, get_tags
from sklearn.utils.validation import check_is_fitted

from ..estimators._nag import ETA0S
from ..estimators._online import OnlineLinear
from ..estimators._validation import Rows, check_number
from ._displays import EtaSweepDisplay, FeatureScalesDisplay, ProgressiveLossDisplay
from ._search import NAGClassifierCV, NAGRegressorCV
from ._sweep import Sweep, check_sweep

__all__ = [
    "EtaSweep",
    "EtaSweepDisplay",
    "FeatureScalesDisplay",
    "NAGClassifierCV",
    "NAGRegressorCV",
    "ProgressiveLossDisplay",
    "ProgressiveSplit",
    "ProgressiveValidation",
    "eta_sweep",
    "progressive_score",
    "progressive_validation",
]

_AT_ONCE = 2**17  # rows for a call that predicts each before it learns it
_PLAYED = 2**20  # predictions that a sweep keeps at once
_RESPONSES = ("predict", "predict_proba", "decision_function")


# -- streams


def _cut(X, start, stop):
    return X.iloc[start:stop] if hasattr(X, "iloc") else X[start:stop]


def _n_rows(X):
    return X.shape[0] if hasattr(X, "shape") else len(X)


def _check_rows(X, y, sample_weight):
    """Raise unless there are arrays, or without ``y`` an iterable of batches."""
    if y is not None:
        return
    if sparse.issparse(X) or hasattr(X, "shape"):
        raise ValueError("y is missing: without it X must be an iterable of (X, y) or (X, y, sample_weight).")
    if sample_weight is not None:
        raise ValueError("sample_weight goes with arrays; an iterable of batches yields (X, y, sample_weight).")


def _given_batches(X, y, sample_weight):
    """The rows as ``(X, y, sample_weight)``: arrays are one batch."""
    if y is not None:
        yield X, y, sample_weight
        return
    for batch in X:
        if not (isinstance(batch, tuple) and len(batch) in (2, 3)):
            raise ValueError(
                "without y, X must be an iterable of tuples (X, y) or (X, y, sample_weight); "
                f"it yields {type(batch).__name__}."
            )
        yield (*batch, None) if len(batch) == 2 else batch


def _batches(X, y, sample_weight, size, stops=()):
    """Batches of at most ``size`` rows, cut also once as many rows as each of ``stops`` have been given."""
    stops, done = deque(stops), 0
    for rows, targets, weight in _given_batches(X, y, sample_weight):
        check_consistent_length(rows, targets, weight)
        rows = rows.tocsr() if sparse.issparse(rows) else rows
        targets, weight = np.asarray(targets), None if weight is None else np.asarray(weight)
        n, start = len(targets), 0
        while start < n:
            while stops and stops[0] <= done:
                stops.popleft()
            stop = min(n, start + size, start + stops[0] - done if stops else n)
            part = rows if stop - start == n else _cut(rows, start, stop)
            yield part, targets[start:stop], None if weight is None else weight[start:stop]
            start, done = stop, done + stop - start


def _known_classes(estimator, y, classes):
    """All classes that will ever come, for a classifier; None for others."""
    if not is_classifier(estimator):
        return None
    if classes is None and y is None:
        raise ValueError("classes must be given for an iterable of batches: all of them, before the first row.")
    return np.unique(y if classes is None else classes)


class _Stages:
    """A learner, and the steps before it that make its rows.

    Parameters
    ----------
    estimator : estimator
        With ``partial_fit``, or a `sklearn.pipeline.Pipeline` of such steps; it is cloned.
    """

    def __init__(self, estimator):
        self.whole = clone(estimator)
        steps = self.whole.steps if isinstance(self.whole, Pipeline) else [("estimator", self.whole)]
        *before, (name, self.learner) = steps
        if not hasattr(self.learner, "partial_fit"):
            raise TypeError(f"{type(self.learner).__name__} cannot learn from a stream: it has no partial_fit.")
        self.before = [(name, step) for name, step in before if step is not None and step != "passthrough"]
        for name, step in self.before:
            if not (self._learns(step) or self._is_ready(step)):
                raise TypeError(
                    f"the step {name!r}, {type(step).__name__}, has to see all rows before it can transform one: a "
                    "stream needs steps that have partial_fit or learn nothing. Fit it on other rows and wrap it in "
                    "sklearn.frozen.FrozenEstimator."
                )

    @staticmethod
    def _learns(step):
        return hasattr(step, "partial_fit") and not isinstance(step, FrozenEstimator)

    @staticmethod
    def _is_ready(step):
        try:
            check_is_fitted(step)
        except NotFittedError:
            return False
        return True

    def rows(self, X):
        """What the learner gets for rows ``X``, from which the steps before it learn first."""
        for _, step in self.before:
            X = (step.partial_fit(X) if self._learns(step) else step).transform(X)
        return X

    def with_learner(self, learner):
        """The whole with another learner at its end."""
        if not isinstance(self.whole, Pipeline):
            return learner
        return Pipeline([*self.whole.steps[:-1], (self.whole.steps[-1][0], learner)])


# -- scores of predictions that have been made


class _Asked(Exception):
    """A scorer has asked for predictions that were not kept."""


class _Played:
    """Stands for an estimator whose predictions have been made already."""

    def __init__(self, learner, classes, responses):
        self._learner, self._responses = learner, responses
        if classes is not None:
            self.classes_ = classes

    def __sklearn_tags__(self):
        return get_tags(self._learner)

    def __sklearn_is_fitted__(self):
        return True

    def __getattr__(self, name):
        if name not in _RESPONSES or not hasattr(self._learner, name):
            raise AttributeError(f"predictions made progressively have no {name!r}")

        def respond(X):
            if name not in self._responses:
                raise _Asked(name)
            return self._responses[name]

        respond.__name__ = name
        return respond


def _accuracy(estimator, X, y, sample_weight=None):
    """What "accuracy" is, without its checks, which take longer than learning does."""
    return np.average(estimator.predict(X) == y, weights=sample_weight)


class _Judge:
    """Keeps what scorers need of the predictions made, and scores them."""

    def __init__(self, learner, classes, scoring):
        self.learner, self.classes = learner, classes
        if scoring is None:
            scoring = _accuracy if classes is not None else "r2"
        self.single = isinstance(scoring, str) or callable(scoring)
        named = {"score": scoring} if self.single else scoring
        named = named if isinstance(named, dict) else {name: name for name in named}
        self.scorers = {name: get_scorer(scorer) for name, scorer in named.items()}
        self.kept = {name: [] for scorer in self.scorers.values() for name in self._needs(scorer)}
        self.y, self.weight = [], []

    def _needs(self, scorer):
        """Names of the methods that a scorer calls, found out by letting it call them."""
        labels = np.arange(10.0) if self.classes is None else self.classes
        y = np.resize(labels, max(10, 2 * len(labels)))
        shares = np.full((len(y), len(labels)), 1.0 / len(labels))
        plausible = {"predict": y, "decision_function": shares[:, 0], "predict_proba": shares}
        needed = []
        while True:
            try:
                scorer(_Played(self.learner, self.classes, {name: plausible[name] for name in needed}), None, y)
            except _Asked as asked:
                needed.append(asked.args[0])
                continue
            except Exception:  # made-up predictions need not make sense to it; the real ones will have to
                return needed
            return needed

    def keep(self, respond, y, weight):
        """Keep what ``respond(method)`` predicted of rows with these targets."""
        for method, parts in self.kept.items():
            parts.append(respond(method))
        self.y.append(y)
        if weight is not None:
            self.weight.append(weight)

    def scores(self, ends):
        """Each score, over all rows up to each of ``ends``, which count rows that were kept."""
        y = np.concatenate(self.y) if self.y else np.empty(0)
        responses = {method: np.concatenate(parts) for method, parts in self.kept.items() if parts}
        weight = np.concatenate(self.weight) if self.weight else None
        return {name: np.array([self._score(scorer, y, responses, weight, end) for end in ends])
                for name, scorer in self.scorers.items()}  # fmt: skip

    def _score(self, scorer, y, responses, weight, end):
        if end <= 0:
            return np.nan
        played = _Played(self.learner, self.classes, {method: values[:end] for method, values in responses.items()})
        options = {} if weight is None else {"sample_weight": weight[:end]}
        try:
            return scorer(played, None, y[:end], **options)
        except _Asked as asked:
            raise ValueError(
                f"the scorer {scorer!r} asked for {asked.args[0]}, but not when it was tried before the first row."
            ) from None
        except ValueError:
            if end == len(y):
                raise
            return np.nan  # not defined yet: a class that has not come, say


@dataclass
class ProgressiveValidation:
    """What `progressive_validation` found.

    Parameters
    ----------
    score : float or dict of float
        Score of all predictions; by name, for several.
    loss : float or None
        Progressive loss, for learners of this package.
    curve : dict of ndarray
        ``"n_rows"``, the numbers of rows asked for; for each score its values over all rows up to there, under
        ``"score"`` or its name; and for learners of this package ``"loss"``.
    n_rows : int
        Rows learnt.
    n_scored : int
        Rows that were predicted after something had been learnt.
    fit_time : float
        Seconds spent in predicting and learning, without reading and scoring.
    estimator : estimator
        As it is after the last row.
    """

    score: float | dict[str, float]
    loss: float | None
    curve: dict[str, np.ndarray]
    n_rows: int
    n_scored: int
    fit_time: float
    estimator: Any


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
    callback: Callable[[int, BaseEstimator], Any] | None = None,
) -> ProgressiveValidation:
    """Score a learner by the predictions it makes for each row before it learns that row.

    One pass over the rows is training and test at once, as every row is new when it is predicted.

    Parameters
    ----------
    estimator : estimator
        Classifier or regressor with ``partial_fit``, or a Pipeline that ends with one. A clone of it begins anew. Steps
        before it learn from each batch, where they have ``partial_fit``, before they transform it; those that learn
        nothing, by their tag ``requires_fit``, or are in a `sklearn.frozen.FrozenEstimator` only transform.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or iterable of tuples
        Rows; or, without ``y``, batches ``(X, y)`` or ``(X, y, sample_weight)`` of any lengths, read one at a time.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
        Targets.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows, in learning and in scores.
    classes : array-like of shape (n_classes,), optional
        All classes, for classifiers; by default those in ``y``.
    scoring : str, callable, list, tuple or dict, optional
        Scores as in `sklearn.model_selection.cross_validate`; a callable gets an estimator with the predictions made,
        None in place of ``X``, and ``y``. By default the accuracy or R².
    batch_size : int, default=1
        Rows that are predicted before the first of them is learnt. Learners of this package predict each row while they
        learn it, so without ``delay`` it makes no difference to them. Each given batch is cut by itself.
    delay : int, default=0
        Rows that come, and are predicted, between a row and its label.
    curve_at : array-like of int, optional
        Numbers of rows, increasing, after which to take a point of the curve.
    callback : callable, optional
        Called with the number of rows and the estimator after each batch, however many rows it had; a result that is
        true ends the stream.

    Returns
    -------
    ProgressiveValidation
        Scores, curve, time and the fitted estimator.

    Raises
    ------
    TypeError
        For an estimator without ``partial_fit``, and for a step that cannot learn from a stream.
    ValueError
        For parameters that cannot be used, and when no row was left to score.

    See Also
    --------
    eta_sweep : Many learning rates in one pass.
    progressive_score : Progressive loss as a score for searches.

    Notes
    -----
    Rows that come before anything is learnt, the first one at least, are not scored.

    Learners of this package are played as by their kernel (without ``delay``): a row's features have been seen, its
    label has not, when the last weights, not their average, predict it; this is what ``progressive_loss_`` is the loss
    of. For others, and with ``delay``, it is ``predict`` and the like, then ``partial_fit``.

    Predictions are kept until the end, as scores need them all: a number for each row, or one for each class.

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
    """
    check_number("batch_size", batch_size, Integral, min_val=1)
    check_number("delay", delay, Integral, min_val=0)
    points = _curve_points(curve_at)
    _check_rows(X, y, sample_weight)
    stages = _Stages(estimator)
    classes = _known_classes(stages.learner, y, classes)
    judge = _Judge(stages.learner, classes, scoring)
    own = isinstance(stages.learner, OnlineLinear) and delay == 0
    play = _play_own if own else _play
    batches = _batches(X, y, sample_weight, *((_AT_ONCE, points) if own else (batch_size,)))
    progress, losses = (0, 0, 0.0), []
    for progress in play(stages, batches, classes, judge, delay):
        if own and progress[0] in points:
            losses.append(stages.learner.progressive_loss_)
        if callback is not None and callback(progress[0], stages.whole):
            break
    n_rows, n_scored, seconds = progress
    if n_scored == 0:
        raise ValueError(f"nothing to score: all {n_rows} rows came before anything was learnt.")
    reached = points[points <= n_rows]
    unscored = n_rows - n_scored  # the first ones
    values = judge.scores([*(reached - unscored), n_scored])
    curve = {"n_rows": reached, **{name: value[:-1] for name, value in values.items()}}
    if own:
        curve["loss"] = np.array(losses)
    final = {name: float(value[-1]) for name, value in values.items()}
    return ProgressiveValidation(
        score=final["score"] if judge.single else final,
        loss=stages.learner.progressive_loss_ if isinstance(stages.learner, OnlineLinear) else None,
        curve=curve,
        n_rows=n_rows,
        n_scored=n_scored,
        fit_time=seconds,
        estimator=stages.whole,
    )


def _curve_points(curve_at):
    points = np.atleast_1d(np.asarray([] if curve_at is None else curve_at))
    if points.size and not (
        points.ndim == 1 and np.all(points == np.floor(points)) and points[0] >= 1 and (np.diff(points) > 0).all()
    ):
        raise ValueError(f"curve_at must hold whole numbers of rows, increasing from 1 at least; got {curve_at!r:.60}.")
    return points.astype(np.int64)


def _fresh_rows(weight, n):
    """How many of the rows of a batch a new model predicts before it has learnt any, and whether it is new after it."""
    if weight is None:
        return min(n, 1), n == 0
    return (1 + int(np.argmax(weight > 0)), False) if (weight > 0).any() else (n, True)


def _play_own(stages, batches, classes, judge, delay):
    """Learn each batch by a kernel that predicts each row first; yield rows so far, those scored, and seconds."""
    learner, options = stages.learner, {} if classes is None else {"classes": classes}
    n_rows, n_scored, seconds, fresh = 0, 0, 0.0, True
    for X, y, weight in batches:
        start = time.perf_counter()
        decision = learner._play(stages.rows(X), y, sample_weight=weight, **options)
        skip, fresh = _fresh_rows(weight, len(y)) if fresh else (0, False)
        judge.keep(lambda method: learner._respond(method, decision[skip:]), y[skip:], _tail(weight, skip))  # noqa: B023
        seconds += time.perf_counter() - start
        n_rows, n_scored = n_rows + len(y), n_scored + len(y) - skip
        yield n_rows, n_scored, seconds


def _play(stages, batches, classes, judge, delay):
    """Predict each batch, then learn what was predicted ``delay`` rows ago; yields as `_play_own`."""
    learner, pending, n_pending, learnt = stages.learner, deque(), 0, False
    options = {} if classes is None else {"classes": classes}
    n_rows, n_scored, seconds = 0, 0, 0.0

    def learn(most):
        """Learn what is pending but for the last ``most`` rows."""
        nonlocal n_pending, learnt, options
        while n_pending > most:
            X, y, weight = pending.popleft()
            n = min(len(y), n_pending - most)
            if n < len(y):
                pending.appendleft((_cut(X, n, len(y)), y[n:], _tail(weight, n)))
                X, y, weight = _cut(X, 0, n), y[:n], None if weight is None else weight[:n]
            n_pending -= n
            if weight is None or (weight > 0).any():  # some learners want no batch without weight
                extra = {} if weight is None else {"sample_weight": weight}
                learner.partial_fit(X, y, **options, **extra)
                learnt, options = True, {}

    for X, y, weight in batches:
        start = time.perf_counter()
        X = stages.rows(X)
        if learnt:
            judge.keep(lambda method: getattr(learner, method)(X), y, weight)  # noqa: B023
            n_scored += len(y)
        pending.append((X, y, weight))
        n_rows, n_pending = n_rows + len(y), n_pending + len(y)
        learn(delay)
        seconds += time.perf_counter() - start
        yield n_rows, n_scored, seconds
    learn(0)


def _tail(weight, start):
    return None if weight is None else weight[start:]


# -- progressive loss in searches


class ProgressiveSplit(BaseCrossValidator):
    """A split for searches by progressive loss: every row is there to learn from, and every row to score.

    With `progressive_score` a search makes one pass for each candidate, and no fold is held out: each row was new when
    it was predicted.

    See Also
    --------
    progressive_score : The score that goes with it.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn_nag import NAGClassifier
    >>> from sklearn_nag.model_selection import ProgressiveSplit, progressive_score
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> one_pass = NAGClassifier(max_iter=1, shuffle=False)
    >>> grid = {"eta0": [0.25, 1.0, 4.0], "normalization": ["max", "rms"]}
    >>> search = GridSearchCV(one_pass, grid, cv=ProgressiveSplit(), scoring=progressive_score).fit(X, y)
    >>> bool(-search.best_score_ == search.best_estimator_.progressive_loss_)
    True
    """

    def split(
        self, X: Rows, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Give the one split there is.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, for their number.
        y : array-like of shape (n_samples,), optional
            Not used.
        groups : array-like of shape (n_samples,), optional
            Not used.

        Yields
        ------
        train : ndarray of shape (n_samples,)
            All rows.
        test : ndarray of shape (n_samples,)
            All rows.
        """
        rows = np.arange(_n_rows(X))
        yield rows, rows

    def get_n_splits(self, X: Rows | None = None, y: ArrayLike | None = None, groups: ArrayLike | None = None) -> int:
        """Number of splits: 1.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), optional
            Not used.
        y : array-like of shape (n_samples,), optional
            Not used.
        groups : array-like of shape (n_samples,), optional
            Not used.

        Returns
        -------
        int
            1.
        """
        return 1

    def __repr__(self) -> str:
        return "ProgressiveSplit()"


def progressive_score(
    estimator: BaseEstimator, X: Rows, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> float:
    """Negative progressive loss of a fitted estimator: a scorer for searches, which predicts nothing.

    Parameters
    ----------
    estimator : estimator
        A learner of this package, or a Pipeline that ends with one, fitted in a single pass.
    X : array-like of shape (n_samples, n_features)
        Not used: the rows were scored while they were learnt.
    y : array-like of shape (n_samples,), optional
        Not used.
    sample_weight : array-like of shape (n_samples,), optional
        Not used: the loss has the weights in it.

    Returns
    -------
    float
        ``-estimator.progressive_loss_``; greater is better.

    Raises
    ------
    TypeError
        For an estimator that has no ``progressive_loss_``.
    ValueError
        For one that made several passes: from the second on, rows are no longer new.

    See Also
    --------
    ProgressiveSplit : The split that goes with it.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_nag import NAGRegressor
    >>> from sklearn_nag.model_selection import progressive_score
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = NAGRegressor(max_iter=1, shuffle=False).fit(X, y)
    >>> progressive_score(reg, X, y) == -reg.progressive_loss_
    True
    """
    learner = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not hasattr(learner, "progressive_loss_"):
        name = type(learner).__name__
        raise TypeError(f"progressive_score needs a fitted learner of sklearn_nag; {name} has no progressive_loss_.")
    if getattr(learner, "n_iter_", 1) > 1:
        raise ValueError(
            f"progressive_score needs a single pass, max_iter=1; this {type(learner).__name__} made {learner.n_iter_}, "
            "and from the second on rows are no longer new."
        )
    return -learner.progressive_loss_


# -- learning rates


@dataclass
class EtaSweep:
    """What `eta_sweep` found.

    Parameters
    ----------
    eta0s : ndarray of shape (n_eta0s,)
        The learning rates, as given.
    losses : ndarray of shape (n_eta0s,)
        Progressive loss of each; inf where it made the model diverge.
    errors : ndarray of shape (n_eta0s,) or None
        For classifiers, the weighted share of rows that were predicted wrongly before they were learnt, without the
        first row; inf where it made the model diverge.
    best_index : int
        Place of the least loss.
    best_eta0 : float
        Learning rate of the least loss.
    estimators : list of estimator
        Fitted, one for each learning rate; None where it made the model diverge.
    n_rows : int
        Rows learnt.
    """

    eta0s: np.ndarray
    losses: np.ndarray
    errors: np.ndarray | None
    best_index: int
    best_eta0: float
    estimators: list
    n_rows: int


def eta_sweep(
    estimator: BaseEstimator,
    X: Rows | Iterable[tuple],
    y: ArrayLike | None = None,
    eta0s: ArrayLike = ETA0S,
    *,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
) -> EtaSweep:
    """Learn with many learning rates in one pass over the rows, in the order given.

    All are heads of one model, which share what depends on the features alone; each learns what it would have learnt
    by itself.

    Parameters
    ----------
    estimator : NAGClassifier, NAGRegressor or Pipeline
        The learner, whose ``eta0`` is set, alone or at the end of a Pipeline as `progressive_validation` takes.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or iterable of tuples
        Rows; or, without ``y``, batches ``(X, y)`` or ``(X, y, sample_weight)`` of any lengths, read one at a time.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
        Targets.
    eta0s : array-like of shape (n_eta0s,), default=(1/16, 1/4, 1, 4, 16)
        Learning rates.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows.
    classes : array-like of shape (n_classes,), optional
        All classes, for classifiers; by default those in ``y``.

    Returns
    -------
    EtaSweep
        Losses, errors, the best learning rate, and fitted estimators: bit for bit those that ``partial_fit`` with each
        learning rate gives.

    Raises
    ------
    TypeError
        For another estimator.
    ValueError
        For ``eta0="auto"``, for input that cannot be used, and when every learning rate makes the model diverge. One
        that does is left out from there on, and changes nothing for the others.

    See Also
    --------
    progressive_validation : Progressive scores of any learner.
    NAGClassifierCV : Cross-validation over learning rates.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_nag import NAGClassifier
    >>> from sklearn_nag.model_selection import eta_sweep
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> sweep = eta_sweep(NAGClassifier(), X, y, [0.1, 1.0, 10.0, 100.0])
    >>> sweep.best_eta0
    10.0
    >>> bool(sweep.estimators[2].progressive_loss_ == sweep.losses[2])
    True
    """
    _check_rows(X, y, sample_weight)
    stages = _Stages(estimator)
    eta0s = check_sweep(stages.learner, eta0s)
    classes = _known_classes(stages.learner, y, classes)
    sweep = Sweep(stages.learner, eta0s)
    wrong, total, n_rows, fresh = np.zeros(len(eta0s)), 0.0, 0, True
    heads = len(eta0s) * (1 if classes is None or len(classes) == 2 else len(classes))
    for X_part, y_part, weight in _batches(X, y, sample_weight, max(1, _PLAYED // heads)):
        played = sweep.play(stages.rows(X_part), y_part, weight, classes)
        n_rows += len(y_part)
        if classes is None:
            continue
        skip, fresh = _fresh_rows(weight, len(y_part)) if fresh else (0, False)
        share = np.ones(len(y_part) - skip) if weight is None else weight[skip:]
        total += share.sum()
        for place, decision in played:
            wrong[place] += share[sweep.models[0]._respond("predict", decision[skip:]) != y_part[skip:]].sum()
    if n_rows == 0:
        raise ValueError("there are no rows to learn from.")
    estimators = sweep.estimators()
    losses = np.array([np.inf if one is None else one.progressive_loss_ for one in estimators])
    if not np.isfinite(losses).any():
        raise ValueError("every one of eta0s made the model leave the range of float64.")
    best = int(np.argmin(losses))
    return EtaSweep(
        eta0s=np.array(eta0s),
        losses=losses,
        errors=None if classes is None else np.where(losses < np.inf, wrong / (total or np.nan), np.inf),
        best_index=best,
        best_eta0=eta0s[best],
        estimators=[None if one is None else stages.with_learner(one) for one in estimators],
        n_rows=n_rows,
    )
