"""Cross-validation over learning rates as by GridSearchCV, with the rates as heads of one model per fold."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from .._decorators import available_if, share
from ..estimators._calls import between_calls, named_publicly
from ..estimators._labels import check_one_class_a_row
from ..estimators._nag import ETA0S, NAGClassifier, NAGRegressor
from ..estimators._parameters import InvalidParameterError, shown
from ..estimators._validation import Rows, check_weights, converted, takes_sparse
from ..kernels._backend import chosen, run_by
from ._judge import score_by
from ._sweep import Sweep, check_sweep

_shared = share(
    equivalence="""\
Results and scores are those of ``GridSearchCV(estimator, {"eta0": eta0s}, cv=cv, scoring=scoring)``. The search is
faster, because in each fold the learning rates are heads of one model and share the passes over the rows.""",
    eta0s="""\
eta0s : array-like of shape (n_eta0s,), default=(1/16, 1/4, 1, 4, 16)
    Learning rates.""",
    n_jobs="""\
n_jobs : int or None, default=None
    Number of folds to process at the same time.""",
    results="""\
eta0_ : float
    The best learning rate.
best_params_ : dict
    ``{"eta0": eta0_}``.
best_score_ : float
    Mean score over the folds with the best learning rate.
best_index_ : int
    Index of the best learning rate in ``eta0s``.
cv_results_ : dict of ndarray
    As for GridSearchCV with one score. The learning rates are fitted together, and the time is divided equally among
    them.
n_splits_ : int
    Number of folds.
refit_time_ : float
    Seconds of the fit on all rows.
scorer_ : callable
    The scorer.""",
    features="""\
n_features_in_ : int
    Number of features.
feature_names_in_ : ndarray of shape (`n_features_in_`,)
    Names of the features, if the input had names.""",
)


def _best_has(method):
    """Check for `available_if`: whether the best estimator, or before fitting the one searched, has ``method``."""

    def check(search):
        getattr(search._speaker(), method)
        return True

    return check


class AnswersOfTheBest:
    """Base of searches whose best estimator predicts.

    Subclasses define ``_best()``, which raises before fitting, and ``_speaker()``, which before fitting is the
    estimator searched.
    """

    def _best(self) -> Any:
        raise NotImplementedError

    def _speaker(self) -> Any:
        raise NotImplementedError

    def _rows_for_best(self, X):
        """Rows in the form that the best estimator takes."""
        return X

    @between_calls
    def predict(self, X: Rows) -> np.ndarray:
        """Predict with the best estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Its predictions.
        """
        return self._best().predict(self._rows_for_best(X))

    @available_if(_best_has("decision_function"))
    @between_calls
    def decision_function(self, X: Rows) -> np.ndarray:
        """Decision values of the best estimator for each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Its decision values.
        """
        return self._best().decision_function(self._rows_for_best(X))

    @available_if(_best_has("predict_proba"))
    @between_calls
    def predict_proba(self, X: Rows) -> np.ndarray:
        """Probability of each class, from the best estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return self._best().predict_proba(self._rows_for_best(X))

    @available_if(_best_has("predict_log_proba"))
    @between_calls
    def predict_log_proba(self, X: Rows) -> np.ndarray:
        """Logarithm of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return self._best().predict_log_proba(self._rows_for_best(X))


def _score_fold(estimator, eta0s, X, y, weight, train, test, scorer):
    """Scores of the learning rates in one fold, NaN for diverged ones; seconds to fit, and to score each."""
    train_weight, test_weight = (None if weight is None else weight[indices] for indices in (train, test))
    start = time.perf_counter()
    fitted = Sweep(estimator, eta0s).fit(X[train], y[train], train_weight)
    fit_time = (time.perf_counter() - start) / len(eta0s)
    X, y, scores, score_times = X[test], y[test], [], []
    for learner in fitted:
        start = time.perf_counter()
        scores.append(np.nan if learner is None else score_by(scorer, learner, X, y, test_weight))
        score_times.append(time.perf_counter() - start)
    return scores, [fit_time] * len(eta0s), score_times


class _EtaSearch(AnswersOfTheBest):
    """Base of both searches.

    Subclasses set ``_default``, the class searched, and ``_target_options`` for the validation of targets.
    """

    _default: ClassVar[type[NAGClassifier] | type[NAGRegressor]]
    _target_options: ClassVar[dict[str, bool]] = {}

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        eta0s: ArrayLike = ETA0S,
        *,
        cv: int | Iterable | None = None,
        scoring: str | Callable | None = None,
        n_jobs: int | None = None,
    ):
        self.estimator = estimator
        self.eta0s = eta0s
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs

    def _learner(self):
        return self._default() if self.estimator is None else self.estimator

    @named_publicly
    def fit(
        self, X: Rows, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Self:
        """Score every learning rate by cross-validation, then fit with the best one on all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or, for regression, (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, in learning and in scores, as far as ``scoring`` takes any.
        groups : array-like of shape (n_samples,), optional
            Groups of the rows, for a ``cv`` that keeps these together.

        Returns
        -------
        self : object
            The fitted search.

        Raises
        ------
        ValueError
            For input or parameters that cannot be used, and when every learning rate makes the model diverge.
        """
        learner = self._learner()
        if not isinstance(learner, self._default):
            raise TypeError(
                f"{type(self).__name__} searches the eta0 of {self._default.__name__}; got {type(learner).__name__}."
            )
        eta0s = check_sweep(learner, self.eta0s)
        if is_classifier(learner):
            check_one_class_a_row(y, type(self).__name__)
        rows, targets = converted(self, X, y, **self._target_options)
        probe = clone(learner)
        probe._check_changed_parameters()
        targets = probe._check_targets(targets, first=True)  # in folds, errors would name other rows
        weight = check_weights(sample_weight, rows.shape[0])
        cv = check_cv(self.cv, targets, classifier=is_classifier(learner))
        if isinstance(self.scoring, list | tuple | dict | set):
            raise InvalidParameterError("scoring", "one score: a name, a callable, or None", shown(self.scoring))
        self.scorer_ = check_scoring(learner, self.scoring)
        kernel = chosen()
        folds = Parallel(n_jobs=self.n_jobs)(
            delayed(run_by)(kernel, _score_fold, clone(learner), eta0s, rows, targets, weight, *parts, self.scorer_)
            for parts in cv.split(rows, targets, groups)
        )
        if not folds:
            raise ValueError("cv yields no folds.")
        self.n_splits_ = len(folds)
        self._collect(eta0s, folds)
        self.best_estimator_ = clone(learner).set_params(**self.best_params_)
        start = time.perf_counter()
        self.best_estimator_.fit(X, y, sample_weight)
        self.refit_time_ = time.perf_counter() - start
        if is_classifier(learner):
            self.classes_ = self.best_estimator_.classes_
        return self

    def _collect(self, eta0s, folds):
        """Set the result attributes, named as in GridSearchCV."""
        scores, fit_times, score_times = np.array(folds, np.float64).transpose(1, 2, 0)  # by learning rate and fold
        failed = np.isnan(scores)
        if failed.all():
            raise ValueError(
                "in every fold, the model left the range of float64 or had no score for every one of eta0s; R² needs "
                "two rows."
            )
        if failed.any():
            named = ", ".join(f"{eta0:g}" for eta0, has_failed in zip(eta0s, failed.any(axis=1)) if has_failed)
            warnings.warn(
                f"in some folds, the model left the range of float64 or had no score for eta0 in ({named}).",
                FitFailedWarning,
                stacklevel=3,
            )
        results = {}
        for name, times in {"fit_time": fit_times, "score_time": score_times}.items():
            results[f"mean_{name}"], results[f"std_{name}"] = times.mean(axis=1), times.std(axis=1)
        results["param_eta0"] = np.ma.MaskedArray(eta0s, mask=False)
        results["params"] = [{"eta0": eta0} for eta0 in eta0s]
        for i, fold_scores in enumerate(scores.T):
            results[f"split{i}_test_score"] = fold_scores
        mean = np.average(scores, axis=1)
        results["mean_test_score"] = mean
        results["std_test_score"] = np.sqrt(np.average((scores - mean[:, None]) ** 2, axis=1))
        ranks = rankdata(-mean, method="min", nan_policy="omit")
        ranks = np.nan_to_num(ranks, nan=1 + np.count_nonzero(~np.isnan(mean)))
        results["rank_test_score"] = ranks.astype(np.int32)
        self.cv_results_ = results
        self.best_index_ = int(ranks.argmin())
        self.best_score_ = mean[self.best_index_]
        self.best_params_ = results["params"][self.best_index_]
        self.eta0_ = eta0s[self.best_index_]

    def score(self, X: Rows, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Score the best estimator by ``scoring``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, for a ``scoring`` that takes them.

        Returns
        -------
        float
            Greater is better.
        """
        best = self._best()
        return score_by(self.scorer_, best, X, y, sample_weight)

    def _best(self):
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def _speaker(self):
        return self.best_estimator_ if hasattr(self, "best_estimator_") else self._learner()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = takes_sparse(self._learner())
        return tags


@_shared
class NAGClassifierCV(_EtaSearch, ClassifierMixin, BaseEstimator):
    """NAGClassifier whose learning rate is chosen by cross-validation.

    {equivalence}

    Parameters
    ----------
    estimator : NAGClassifier, optional
        Estimator whose other parameters apply to every learning rate; NAGClassifier() by default. For the scores of
        GridSearchCV, its ``random_state`` must be an integer, or ``shuffle=False``.
    {eta0s}
    cv : int, cross-validation generator or iterable, optional
        As for `sklearn.model_selection.GridSearchCV`; 5 stratified folds by default.
    scoring : str or callable, optional
        A single score; the accuracy by default.
    {n_jobs}

    Attributes
    ----------
    best_estimator_ : NAGClassifier
        Fitted on all rows with the best learning rate.
    {results}
    classes_ : ndarray of shape (n_classes,)
        The classes.
    {features}

    See Also
    --------
    eta_sweep : Progressive losses of learning rates, in one pass without folds.
    sklearn.model_selection.GridSearchCV : Search over any parameters.

    Notes
    -----
    A learning rate whose loss has settled, according to ``tol``, takes no part in further passes, so each makes as many
    passes as it would alone. A learning rate for which the model diverges scores NaN. There is no warning about
    learning rates that have not settled in a fold.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_nag import NAGClassifier
    >>> from sklearn_nag.model_selection import NAGClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = NAGClassifierCV(NAGClassifier(random_state=0), [0.01, 1.0, 100.0], cv=3).fit(X, y)
    >>> search.eta0_
    1.0
    """

    _default = NAGClassifier


@_shared
class NAGRegressorCV(_EtaSearch, RegressorMixin, BaseEstimator):
    """NAGRegressor whose learning rate is chosen by cross-validation.

    {equivalence}

    Parameters
    ----------
    estimator : NAGRegressor, optional
        Estimator whose other parameters apply to every learning rate; NAGRegressor() by default. For the scores of
        GridSearchCV, its ``random_state`` must be an integer, or ``shuffle=False``.
    {eta0s}
    cv : int, cross-validation generator or iterable, optional
        As for `sklearn.model_selection.GridSearchCV`; 5 folds by default.
    scoring : str or callable, optional
        A single score; R² by default.
    {n_jobs}

    Attributes
    ----------
    best_estimator_ : NAGRegressor
        Fitted on all rows with the best learning rate.
    {results}
    {features}

    See Also
    --------
    NAGClassifierCV : The same for classification, with notes that also apply here.
    eta_sweep : Progressive losses of learning rates, in one pass without folds.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_nag import NAGRegressor
    >>> from sklearn_nag.model_selection import NAGRegressorCV
    >>> X, y = load_diabetes(return_X_y=True, scaled=False)
    >>> search = NAGRegressorCV(NAGRegressor(random_state=0), [0.001, 0.1], cv=3).fit(X, y)
    >>> search.best_params_
    {'eta0': 0.1}
    """

    _default = NAGRegressor
    _target_options = {"y_numeric": True, "multi_output": True}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
