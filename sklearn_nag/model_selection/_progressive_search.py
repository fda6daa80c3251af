"""Search over any parameters in one pass; the worse half of the candidates leaves repeatedly."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import ParameterGrid
from sklearn.utils import column_or_1d, get_tags
from sklearn.utils.validation import check_is_fitted

from ..estimators._calls import between_calls, part_of, turn_of, unchanged_on_error
from ..estimators._growing_table import is_of_hearer
from ..estimators._labels import check_one_class_a_row
from ..estimators._parameters import (
    check_as_begun,
    check_as_made,
    check_number,
    check_option,
    check_parameters,
    shown,
)
from ..estimators._rates import check_has_mean, common_deviance
from ..estimators._validation import (
    Rows,
    as_floats,
    as_labels,
    check_classes,
    check_finite,
    check_labels,
    check_sparse,
    check_weights,
    class_codes,
    classes_as_before,
    classes_of,
    converted,
    takes_by_name,
    two_or_more,
    unconverted,
)
from ..losses import LEAST_LOG
from ._before import LearnsInPlace, tags_of_inner
from ._judge import count_silent, count_unscored
from ._search import AnswersOfTheBest
from ._streams import StreamPipeline, count_rows, cut_batches, flat, take_rows

LOSSES = ("auto", "log_loss", "zero_one", "squared_error", "absolute_error")
_LEAST_PROBABILITY = np.finfo(np.float64).tiny
_LARGEST = np.finfo(np.float64).max
_MOST_ROWS = 2**14  # most rows predicted at once, if cuts do not matter


class Candidate(StreamPipeline):
    """A setting of parameters, and how well its estimator predicts rows before it learns them.

    The estimator is part of the setting if it is one of ``several``.

    Attributes
    ----------
    lost, weight : list of float
        Total loss, and weight of the rows judged, from the last cut but one to the last cut, and since then.
    n_cuts : int
        Cuts survived.
    """

    def __init__(self, estimator, parameters, several=False):
        own = clone(estimator)
        own.set_params(**{name: clone(v, safe=False) for name, v in parameters.items()})
        super().__init__(own)
        self.parameters = {"estimator": estimator, **parameters} if several else parameters
        self.lost, self.weight = [0.0, 0.0], [0.0, 0.0]
        self.n_rows, self.n_cuts, self.seconds = 0, 0, 0.0

    @property
    def is_judged(self):
        """Whether a row has been judged."""
        return sum(self.weight) > 0

    @property
    def mean_loss(self):
        """Mean loss since the last cut but one; infinite before any row."""
        weight = sum(self.weight)
        return sum(self.lost) / weight if weight > 0 else np.inf

    def play(self, method, X, y, weight, options):
        """Learn a batch; return what ``method`` predicted before, or None if nothing had been learnt."""
        start = time.perf_counter()
        rows, learner, learns = self.transform(X, weight), self.learner, weight is None or weight.any()
        weight = self.heard(weight)
        if self.plays:
            before = learner._evidence
            played = learner._play(rows, y, sample_weight=weight, **options)
            response = learner._responded(method, played, y, weight, before)
        else:
            response = getattr(learner, method)(rows) if self.n_rows > 0 else None
            weights = {} if weight is None else {"sample_weight": weight}
            if learns:  # some learners refuse a batch without weight
                learner.partial_fit(rows, y, **(options if self.n_rows == 0 else {}), **weights)
        self.n_rows += len(y) if learns else 0
        self.seconds += time.perf_counter() - start
        return response

    def suffer(self, losses, weight):
        """Add the losses of rows."""
        with np.errstate(over="ignore"):
            lost = np.minimum(
                np.add.accumulate(np.append(self.lost[-1], np.minimum(losses * weight, _LARGEST))), _LARGEST
            )
        self.lost = [*self.lost[:-1], float(lost[-1])]
        self.weight = [*self.weight[:-1], float(np.add.accumulate(np.append(self.weight[-1], weight))[-1])]

    def leave(self):
        """Discard what was learnt."""
        del self.estimator, self.learner, self.transformers

    def survive(self):
        """Start new counts; keep those since the last cut."""
        self.lost, self.weight = [self.lost[-1], 0.0], [self.weight[-1], 0.0]
        self.n_cuts += 1


class ProgressiveSearch(LearnsInPlace, AnswersOfTheBest, MetaEstimatorMixin, BaseEstimator):
    """Search over parameters in one pass over a stream, by progressive loss and successive halving.

    All candidates see each batch once, and predict each row before they learn it. After ``min_rows`` rows, and whenever
    the number of rows has doubled, the worse half of the remaining candidates is dropped. Predictions are those of the
    candidate that is currently best. `sklearn_nag.streams.fit_stream` can train the search from files, show its
    progress, and resume it from a checkpoint.

    Parameters
    ----------
    estimator : estimator or list of estimator
        Classifier or regressor with ``partial_fit``, or a Pipeline that ends with one, as for `progressive_validation`.
        In a list of several of one kind, each is tried with all of ``param_grid``, and is the parameter ``"estimator"``
        of its candidates. With scikit-learn's metadata routing, learners that were told
        ``set_partial_fit_request(sample_weight=False)`` get no weights.
    param_grid : dict, list of dict or None, default=None
        Values to try, by parameter name, as for `sklearn.model_selection.ParameterGrid`; None to use the estimators
        unchanged.
    loss : {"auto", "log_loss", "zero_one", "squared_error", "absolute_error"}, default="auto"
        Loss that ranks the candidates. For classifiers, ``"auto"`` is the log loss, or the share of errors if a
        candidate has no ``predict_proba``. For regressors it is the squared error or, if all candidates minimise the
        same deviance (``"poisson"``, ``"gamma"``, ``"tweedie"`` with one power), that deviance.
    min_rows : int, default=1000
        Number of rows after which the first half is dropped.
    batch_size : int, default=100
        Number of rows that learners of other packages predict before they learn the first. Those of this package
        predict each row just before they learn it.

    Attributes
    ----------
    best_estimator_ : estimator
        The best candidate, which has learnt all rows.
    best_params_ : dict
        Parameters of the best candidate.
    best_index_ : int
        Index of the best candidate.
    best_score_ : float
        Minus the mean loss of the best candidate, over the rows since the last cut but one. Cuts come after
        ``min_rows`` rows and whenever the number of rows has doubled, even if only one candidate is left.
    cv_results_ : dict of ndarray
        A row for each candidate, as in `sklearn.model_selection.HalvingGridSearchCV`: ``"params"`` and ``"param_*"``;
        ``"iter"``, the number of cuts it survived; ``"n_resources"``, the number of rows it has learnt;
        ``"mean_test_score"``, minus its mean loss when it was dropped, or now; ``"rank_test_score"``, in which
        candidates that stayed longer come first; ``"fit_time"``, the seconds of predicting and learning.
    n_candidates_ : int
        Number of candidates left.
    n_rows_ : int
        Number of rows of the stream.
    classes_ : ndarray of shape (n_classes,)
        The classes, of classifiers.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    eta_sweep : Learning rates only; all of them see every row, for the price of one pass.
    progressive_validation : One learner, with any scores and their curve.
    sklearn.model_selection.HalvingGridSearchCV : Successive halving by cross-validation, which needs all rows at once.

    Notes
    -----
    This is successive halving (Karnin, Koren and Somekh, "Almost optimal exploration in multi-armed bandits", ICML
    2013; Jamieson and Talwalkar, AISTATS 2016) with rows as the budget. Candidates are compared on the rows since the
    last cut but one, about the last three quarters, because early losses only show how fast they learn.

    Rows that come before anything has been learnt do not count: the first row, or the first batch for learners of other
    packages; with a deviance, also the rows up to and including the first target above 0. If a candidate raises an
    error and others do not, it is dropped with a warning. A call that fails is undone.

    With learners of this package only, the result does not depend, to the last bit, on how the stream is divided into
    batches. The exceptions are candidates that are searches or an `OnlineBootstrap`, which are judged batch by batch,
    and ``"n_resources"`` and ``"mean_test_score"`` of candidates dropped with an error, which count up to the batch
    that raises it.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_nag import NAGClassifier
    >>> from sklearn_nag.model_selection import ProgressiveSearch
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> grid = {"loss": ["log_loss", "hinge"], "eta0": [0.1, 1.0, 10.0]}
    >>> search = ProgressiveSearch(NAGClassifier(), grid, min_rows=100, loss="zero_one").fit(X, y)
    >>> search.n_candidates_
    1
    >>> search.score(X, y) > 0.95
    True
    """

    _in_place = ("_candidates",)
    _candidates: list[Candidate]

    def __init__(
        self,
        estimator: BaseEstimator | Sequence[BaseEstimator],
        param_grid: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        *,
        loss: Literal["auto", "log_loss", "zero_one", "squared_error", "absolute_error"] = "auto",
        min_rows: int = 1000,
        batch_size: int = 100,
    ):
        self.estimator = estimator
        self.param_grid = param_grid
        self.loss = loss
        self.min_rows = min_rows
        self.batch_size = batch_size

    # -- learning

    @unchanged_on_error
    def fit(self, X: Rows, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Search from scratch, in one pass over the rows in their order.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, as the candidates take them.
        y : array-like of shape (n_samples,) or, for regression, (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, in learning and in losses; 1 by default.

        Returns
        -------
        self : object
            The fitted search.

        Raises
        ------
        ValueError
            If parameters are invalid, or every candidate refuses the rows.
        """
        self._begin()
        X, targets, weight = self._validate(X, y, sample_weight, first=True)
        if self._classifies():
            self.classes_ = two_or_more(classes_of(targets))
        if weight is not None and not weight.any():
            raise ValueError("sample_weight is zero for all rows: there is nothing to learn from.")
        return self._learn(X, targets, weight)

    @unchanged_on_error
    def partial_fit(
        self, X: Rows, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Let each remaining candidate predict and then learn each row, in the given order.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, as the candidates take them.
        y : array-like of shape (n_samples,) or, for regression, (n_samples, n_outputs)
            Targets.
        classes : array-like of shape (n_classes,), optional
            All classes that will ever occur. Required for classifiers in the first call.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, for learning and for losses; 1 by default.

        Returns
        -------
        self : object
            The search.

        Raises
        ------
        ValueError
            If parameters are invalid or have changed, or every candidate refuses the rows.
        """
        first = not self.__sklearn_is_fitted__()
        if first:
            self._begin()
        else:
            check_parameters(self)
            check_as_begun(self._begun_with, self._settings())
            estimators, grid = self._tried()
            check_as_made(len(self._candidates), len(estimators) * len(grid), "the number of candidates")
            alive = [self._candidates[i] for i in self._alive]
            for i, own in zip(self._alive, alive):
                one, setting = estimators[i // len(grid)], grid[i % len(grid)]
                for name, value in setting.items():
                    check_as_made(own.parameters.get(name), value, name)
                check_as_made(own.estimator, one, "estimator", [f"estimator__{name}" for name in setting])
            self._begin_in_place([candidate.estimator for candidate in alive], alive)
        if classes is not None:
            self.classes_ = check_classes(classes) if first else classes_as_before(self, classes)
        elif first and self._classifies():
            raise ValueError("classes must be passed on the first call to partial_fit.")
        return self._learn(*self._validate(X, y, sample_weight, first))

    def _estimators(self):
        """Estimators to search; raise unless all are of one kind."""
        several = isinstance(self.estimator, list | tuple)
        found = list(self.estimator) if several else [self.estimator]
        if not found or not all(hasattr(one, "get_params") and hasattr(one, "set_params") for one in found):
            raise TypeError(
                "estimator must be a classifier or regressor with partial_fit, or a list of such; got "
                f"{shown(self.estimator)}."
            )
        if len({get_tags(one).estimator_type for one in found}) > 1:
            raise ValueError("estimator has both classifiers and regressors, whose losses cannot be compared.")
        return found

    def _classifies(self):
        return is_classifier(self._estimators()[0])

    def _settings(self):
        return {"loss": self.loss, "min_rows": int(self.min_rows), "batch_size": int(self.batch_size)}

    def _check_parameters(self):
        check_option("loss", self.loss, LOSSES)
        check_number("min_rows", self.min_rows, Integral, min_val=1)
        check_number("batch_size", self.batch_size, Integral, min_val=1)

    def _tried(self):
        """Estimators and settings that candidates are made of."""
        grid = ParameterGrid({} if self.param_grid is None else self.param_grid)
        if not len(grid):
            raise ValueError(
                "param_grid is an empty list; it must hold a setting to try, or be None for that of the estimator."
            )
        return self._estimators(), grid

    @property
    def _learns_by_row(self):
        """As for `StreamPipeline`, over all candidates; those that do not play are judged by batch."""
        estimators, grid = self._tried()
        return all(Candidate(one, setting).by_row for one in estimators for setting in grid)

    def _begin(self):
        """Check the parameters and make the candidates."""
        check_parameters(self)
        (estimators, grid), several = self._tried(), isinstance(self.estimator, list | tuple)
        self._candidates = [Candidate(one, setting, several) for one in estimators for setting in grid]
        self._alive = list(range(len(self._candidates)))
        learners = [candidate.learner for candidate in self._candidates]
        self._judged_by = self._loss_for(learners)
        self._n_rows, self._next_cut, self._is_new = 0, int(self.min_rows), True
        self._begun_with = self._settings()

    def _validate(self, X, y, sample_weight, first):
        """Rows, targets and weights, checked as far as candidate pipelines allow."""
        if self._classifies():
            check_one_class_a_row(y, type(self).__name__)
        check_sparse(X)
        if self._takes_tables():
            X, y = unconverted(self, X, y, reset=first, by_name=not first and self._takes_by_name())
        else:
            options = {} if self._classifies() else {"y_numeric": True, "multi_output": True}
            X, y = converted(self, X, y, reset=first, **options)
        weight = check_weights(sample_weight, count_rows(X))
        if self._classifies():
            y = check_labels(as_labels(column_or_1d(y, warn=True), "y"))
        else:
            y = flat(as_floats(y, "y"), self._estimators()[0])
            check_finite(y, "y", type(self).__name__)
            if self._judged_by == "deviance":
                check_has_mean(common_deviance([self._candidates[self._alive[0]].learner]), y)
        return X, y, weight

    def _takes_tables(self):
        """Whether candidates get rows unconverted: some are pipelines, or had pipelines beside them."""
        return any(
            getattr(candidate, "transformers", None)
            or hasattr(getattr(candidate, "learner", None), "feature_names_in_")
            for candidate in self._candidates
        )

    def _takes_by_name(self):
        """Whether all candidates left find columns by name; then they check these."""
        return all(takes_by_name(self._candidates[i].estimator) for i in self._alive)

    def _rows_for_best(self, X):
        self._found()
        check_sparse(X)
        if self._takes_tables():
            return unconverted(self, X, reset=False, by_name=self._takes_by_name())
        return converted(self, X, reset=False)

    def _loss_for(self, learners):
        """The loss that judges candidates; raise if it does not suit them."""
        has = all(hasattr(learner, "predict_proba") for learner in learners)
        allowed = ("log_loss", "zero_one") if self._classifies() else ("squared_error", "absolute_error")
        if self.loss == "auto" and not self._classifies():
            return "squared_error" if common_deviance(learners) is None else "deviance"
        if self.loss == "auto":
            return "log_loss" if has else "zero_one"
        if self.loss not in allowed:
            kind = "classifiers" if self._classifies() else "regressors"
            raise ValueError(
                f"loss={self.loss!r} does not suit {kind}; it must be 'auto', {' or '.join(map(repr, allowed))}."
            )
        if self.loss == "log_loss" and not has:
            raise ValueError("loss='log_loss' needs predict_proba in all candidates; use 'zero_one'.")
        return self.loss

    def _learn(self, X, y, weight):
        """Play and learn rows, with the cuts among them. Rows of weight 0 count as absent."""
        if weight is not None and not weight.all():
            if self._classifies():
                class_codes(y, self.classes_)  # raises for an unknown class even at weight 0
            if weight.any():
                rows = np.flatnonzero(weight)
                X, y, weight = take_rows(X, rows), y[rows], weight[rows]
            elif self._takes_tables():  # transformers would learn these rows
                return self
        alive = [self._candidates[i] for i in self._alive]
        by_row = all(candidate.by_row for candidate in alive)
        n, n_before = count_rows(X), self._n_rows
        stops = [self._next_cut * 2**k - n_before for k in range(64) if self._next_cut * 2**k - n_before < n]
        for rows, targets, weights in cut_batches(X, y, weight, _MOST_ROWS if by_row else int(self.batch_size), stops):
            with part_of(turn_of(self).in_place):
                self._play(rows, targets, weights)
            if weights is None or weights.any():
                self._n_rows += len(targets)
            if self._n_rows == self._next_cut:
                self._cut()
        return self

    def _play(self, X, y, weight):
        """Let the remaining candidates predict a batch and learn it."""
        options = {"classes": self.classes_} if self._classifies() else {}
        method = "predict_proba" if self._judged_by == "log_loss" else "predict"
        left, errors, responses = [], [], []
        for i in self._alive:
            try:
                responses.append(self._candidates[i].play(method, X, y, weight, options))
                left.append(i)
            except Exception as error:
                if is_of_hearer(error):
                    raise
                errors.append((i, error))
        if not left:
            raise errors[0][1]
        for i, failure in errors:
            warnings.warn(
                f"the candidate {self._candidates[i].parameters} failed after {self._candidates[i].n_rows} rows and "
                f"left the search: {failure}",
                FitFailedWarning,
                stacklevel=6,
            )
        self._alive = left
        skip, self._is_new = count_unscored(weight, len(y), self._is_new)
        if any(response is None for response in responses):
            return
        candidates = [self._candidates[i] for i in left]
        if self._judged_by == "deviance" and not any(candidate.is_judged for candidate in candidates):
            silent = [count_silent(own.learner, {"predict": said}) for own, said in zip(candidates, responses)]
            skip = max(skip, *silent)
        if skip == len(y):
            return
        c = np.ones(len(y)) if weight is None else weight
        for candidate, response in zip(candidates, responses):
            candidate.suffer(self._losses(response[skip:], y[skip:]), c[skip:])

    def _losses(self, response, y):
        """Loss of each row."""
        if self._judged_by == "zero_one":
            return (response != y).astype(np.float64)
        if self._judged_by == "log_loss":
            codes = class_codes(y, self.classes_).astype(np.intp)
            right = np.take_along_axis(np.asarray(response), codes[:, None], axis=1)[:, 0]
            return -np.log(np.maximum(np.where(right >= 0, right, 0.0), _LEAST_PROBABILITY))
        predicted = np.asarray(response, dtype=np.float64)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            if self._judged_by == "deviance":
                deviance = common_deviance([self._candidates[self._alive[0]].learner])
                losses = deviance.value(np.maximum(np.log(predicted), LEAST_LOG), y)
            else:
                away = np.abs(predicted - y)
                losses = away if self._judged_by == "absolute_error" else away**2
            return np.nan_to_num(losses.reshape(len(y), -1), nan=np.inf).clip(max=_LARGEST).mean(axis=1)

    def _cut(self):
        """Drop the worse half of the candidates, and schedule the next cut."""
        self._next_cut *= 2
        if all(np.isinf(self._candidates[i].mean_loss) for i in self._alive):
            return  # none has been judged
        order = sorted(self._alive, key=lambda i: self._candidates[i].mean_loss)
        self._alive = sorted(order[: (len(order) + 1) // 2])
        for i in order:
            candidate = self._candidates[i]
            if i in self._alive:
                candidate.survive()
            else:
                candidate.leave()

    # -- what was found

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_candidates")

    def _found(self):
        """Return the search; raise before the first row."""
        check_is_fitted(self)
        return self

    def _best(self):
        return self._found()._candidates[self.best_index_].estimator

    def _speaker(self):
        return self._best() if self.__sklearn_is_fitted__() else self._estimators()[0]

    @property
    def best_index_(self) -> int:
        """Index of the best candidate."""
        candidates = self._found()._candidates
        return min(self._alive, key=lambda i: candidates[i].mean_loss)

    @property
    def best_estimator_(self) -> Any:
        """The best candidate, which has learnt all rows."""
        return self._best()

    @property
    def best_params_(self) -> dict:
        """Parameters of the best candidate."""
        return self._found()._candidates[self.best_index_].parameters

    @property
    def best_score_(self) -> float:
        """Minus the mean loss of the best candidate."""
        return -self._found()._candidates[self.best_index_].mean_loss

    @property
    def n_candidates_(self) -> int:
        """Number of candidates left."""
        return len(self._found()._alive)

    @property
    def n_rows_(self) -> int:
        """Number of rows of the stream."""
        return self._found()._n_rows

    @property
    def cv_results_(self) -> dict[str, Any]:
        """Results, with a row for each candidate."""
        candidates = self._found()._candidates
        names = sorted({name for candidate in candidates for name in candidate.parameters})
        results: dict[str, Any] = {"params": [candidate.parameters for candidate in candidates]}
        for name in names:
            column = np.ma.masked_all(len(candidates), dtype=object)
            for i, candidate in enumerate(candidates):
                if name in candidate.parameters:
                    column[i] = candidate.parameters[name]
            results[f"param_{name}"] = column
        losses = np.array([candidate.mean_loss for candidate in candidates])
        stayed = np.array([candidate.n_rows for candidate in candidates])
        results["iter"] = np.array([candidate.n_cuts for candidate in candidates])
        results["n_resources"] = stayed
        results["mean_test_score"] = -losses
        order = np.lexsort([losses, -stayed])
        steps = (losses[order[1:]] != losses[order[:-1]]) | (np.diff(stayed[order]) != 0)
        ranks = np.empty(len(candidates), np.int32)
        ranks[order] = 1 + np.maximum.accumulate(np.append(0, np.arange(1, len(order)) * steps))
        results["rank_test_score"] = ranks
        results["fit_time"] = np.array([candidate.seconds for candidate in candidates])
        return results

    @between_calls
    def score(self, X: Rows, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Score the best candidate, as its own ``score`` does: accuracy, R² or D².

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        float
            Greater is better.
        """
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return self._best().score(self._rows_for_best(X), y, **weights)

    def __sklearn_tags__(self):
        tags = tags_of_inner(super().__sklearn_tags__(), self._estimators()[0])
        tags.target_tags.required = True  # pipelines do not say so
        return tags
