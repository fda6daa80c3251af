"""Scores of past predictions: which rows count, what is kept, and how scorers are applied."""

import inspect
import warnings
from collections.abc import Iterable

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer
from sklearn.utils import get_tags

from ..estimators._labels import check_one_class_a_row
from ..estimators._parameters import InvalidParameterError, learner_of, shown
from ..estimators._rates import common_deviance
from ._streams import slice_weights

_RESPONSE_METHODS = ("predict", "predict_proba", "decision_function")


def count_unscored(weight, n_rows, is_new):
    """Count the first rows of a batch that are not scored, because nothing was learnt before them.

    Rows of weight 0 teach nothing. ``is_new`` says whether nothing was learnt before the batch; the second value
    returned says so for after it.
    """
    if not is_new:
        return 0, False
    if weight is None:
        return min(n_rows, 1), n_rows == 0
    return (1 + int(np.argmax(weight > 0)), False) if (weight > 0).any() else (n_rows, True)


def count_silent(learner, predictions):
    """Count the first rows of a batch for which a learner of rates predicts 0, because no target was above 0 yet.

    They are not scored: their deviance would be infinite. Call this only until a row has been scored, because
    predictions too small for float64 are 0, too.
    """
    if "predict" not in predictions or common_deviance(_learners_in(learner)) is None:
        return 0
    speaks = (predictions["predict"] != 0).reshape(len(predictions["predict"]), -1).any(axis=1)
    return int(np.argmax(np.append(speaks, True)))


def _learners_in(learner):
    """Learners in a mixture, a bootstrap or a search; otherwise the learner itself."""
    learner = learner_of(learner)
    if hasattr(learner, "_experts"):
        parts = [expert.learner for expert in learner._experts]
    elif hasattr(learner, "estimator"):
        parts = learner.estimator if isinstance(learner.estimator, list | tuple) else [learner.estimator]
    else:
        return [learner]
    return [found for part in parts for found in _learners_in(part)]


class _NotKept(Exception):
    """A scorer called a method without kept predictions, named by the argument."""


class _KeptPredictions:
    """Stands in for an estimator in scorers: its methods return earlier predictions."""

    def __init__(self, learner, classes, predictions):
        self._learner, self._predictions = learner, predictions
        if classes is not None:
            self.classes_ = classes

    def __sklearn_tags__(self):
        return get_tags(self._learner)

    def __sklearn_is_fitted__(self):
        return True

    def __getattr__(self, name):
        if name not in _RESPONSE_METHODS or not hasattr(self._learner, name):
            raise AttributeError(f"predictions made progressively have no {name!r}")

        def respond(X):
            if name not in self._predictions:
                raise _NotKept(name)
            return self._predictions[name]

        respond.__name__ = name
        return respond


def are_wrong(predicted, y):
    """Whether each prediction misses the row's class, or any of its labels."""
    wrong = predicted != y
    return wrong if wrong.ndim == 1 else wrong.any(axis=1)


def _accuracy(estimator, X, y, sample_weight=None):
    """The scorer "accuracy" without its checks, which take longer than learning."""
    if sample_weight is not None and not sample_weight.any():
        return np.nan
    return np.average(~are_wrong(estimator.predict(X), y), weights=sample_weight)


def score_by(scorer, estimator, X, y, weight):
    """Score of a scorer, with weights if given and supported; no public API tells the latter."""
    if weight is not None:
        try:
            return scorer(estimator, X, y, sample_weight=weight)
        except TypeError as error:
            # Scorers of scikit-learn are objects whose signature names weights even if their metric takes none.
            is_its_own = inspect.isroutine(scorer) and "sample_weight" in inspect.signature(scorer).parameters
            if is_its_own or "unexpected keyword argument 'sample_weight'" not in str(error):
                raise
    return scorer(estimator, X, y)


class Judge:
    """Keeps predictions that scorers need, and scores them; ``scoring`` is as for `progressive_validation`.

    ``methods`` names the methods whose predictions must be kept, such as ``"predict"``; ``is_single`` tells a single
    score from several by name.
    """

    def __init__(self, learner, classes, scoring):
        self.learner, self.classes = learner, classes
        if scoring is None:
            scoring = _accuracy if classes is not None else "r2"
        self.is_single = isinstance(scoring, str) or callable(scoring)
        if not (self.is_single or isinstance(scoring, Iterable)):
            allowed = "a str, a callable, a list or dict of such, or None"
            raise InvalidParameterError("scoring", allowed, shown(scoring), owner="progressive_validation")
        named = {"score": scoring} if self.is_single else scoring
        named = named if isinstance(named, dict) else {name: name for name in named}
        self.scorers = {name: get_scorer(scorer) for name, scorer in named.items()}
        self.kept = {method: [] for scorer in self.scorers.values() for method in self._methods_called(scorer)}
        self.y, self.weight = [], []

    @property
    def methods(self):
        return list(self.kept)

    def _methods_called(self, scorer):
        """Names of the methods that a scorer calls, found with made-up predictions."""
        labels = np.arange(10.0) if self.classes is None else self.classes
        if labels.ndim == 2:
            y = np.add.outer(np.arange(10), np.arange(len(labels))) % 2
            decision = probability = np.full(y.shape, 0.5)
        else:
            y = np.resize(labels, max(10, 2 * len(labels)))
            probability = np.full((len(y), len(labels)), 1.0 / len(labels))
            decision = probability[:, 0]
        plausible = {"predict": y, "decision_function": decision, "predict_proba": probability}
        called = []
        while True:
            predictions = {method: plausible[method] for method in called}
            try:
                scorer(_KeptPredictions(self.learner, self.classes, predictions), None, y)
            except _NotKept as missing:
                called.append(missing.args[0])
                continue
            except AttributeError as error:
                said = str(error).replace(_KeptPredictions.__name__, type(self.learner).__name__)
                raise AttributeError(f"the scorer {scorer!r} cannot be used: {said}") from None
            except Exception:  # made-up predictions may make no sense to the scorer; real ones must
                return called
            return called

    def keep(self, predictions, y, weight, skip):
        """Keep predictions (an array for each of ``methods``), targets and weights, without the first ``skip`` rows."""
        y, weight = y[skip:], slice_weights(weight, skip)
        if self.classes is not None and self.classes.ndim == 1:
            check_one_class_a_row(y, "a score")
        for method, batches in self.kept.items():
            batches.append(predictions[method][skip:])
        self.y.append(y.copy())  # the next batch may be read into the same memory
        self.weight.append((len(y), None if weight is None else weight.copy()))

    def joined(self):
        """Targets of all rows kept, as ``"y"``, and their predictions by method."""
        for batches in (self.y, *self.kept.values()):
            batches[:] = [np.concatenate(batches)] if batches else []
        kept = {method: batches[0] for method, batches in self.kept.items() if batches}
        return {"y": self.y[0] if self.y else np.empty(0), **kept}

    def scores(self, stops):
        """Compute each score over the first kept rows, up to each of ``stops``.

        Return arrays by name of the score, NaN before the first row and where a score is not defined; warn if that is
        over all rows.
        """
        predictions = self.joined()
        y = predictions.pop("y")
        weight = None
        if any(own is not None for _, own in self.weight):  # some batches may have no weights
            weight = np.concatenate([np.ones(n) if own is None else own for n, own in self.weight])
        scores = {}
        for name, scorer in self.scorers.items():
            up_to = {}
            for stop in dict.fromkeys(stops):  # in order, for scorers that warn or fail
                up_to[stop] = self._score(name, scorer, y, predictions, weight, stop)
            scores[name] = np.array([up_to[stop] for stop in stops])
        return scores

    def _score(self, name, scorer, y, predictions, weight, stop):
        if stop <= 0:
            return np.nan
        until = {method: values[:stop] for method, values in predictions.items()}
        kept = _KeptPredictions(self.learner, self.classes, until)
        try:
            return score_by(scorer, kept, None, y[:stop], slice_weights(weight, 0, stop))
        except _NotKept as missing:
            raise ValueError(
                f"the scorer {scorer!r} asked for {missing.args[0]}, but not when it was tried before the first row."
            ) from None
        except ValueError as error:  # a class may not have occurred
            if stop == len(y):
                what = "score" if self.is_single else f"score {name!r}"
                warnings.warn(
                    f"the {what} of all {stop} rows scored is NaN, as its scorer failed: {error}",
                    UndefinedMetricWarning,
                    stacklevel=4,
                )
            return np.nan
