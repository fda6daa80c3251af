"""A learner and copies that learn the same rows with random weights, to show how much depends on these rows."""

from __future__ import annotations

from contextvars import copy_context
from numbers import Integral
from threading import Event, Lock
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score
from sklearn.utils import Bunch
from sklearn.utils.parallel import Parallel, delayed

from .. import kernels
from .._decorators import available_if
from ..estimators._calls import between_calls, part_of, turn_of, unchanged_on_error
from ..estimators._labels import check_one_class_a_row, dense
from ..estimators._online import OnlineLinear
from ..estimators._parameters import (
    check_as_made,
    check_number,
    check_parameters,
    learner_of,
    pipelines_of,
    steps_before_learner,
)
from ..estimators._rates import score_by_common
from ..estimators._validation import (
    Rows,
    as_labels,
    check_alike,
    check_coverage,
    check_fitted,
    check_weights,
    named_models,
)
from ..merging import merge
from ..model_selection._before import LearnsInPlace, tags_of_inner
from ..model_selection._displays import _learner_and_names
from ..model_selection._streams import StreamPipeline
from ..preprocessing._steps import refuses_weights, transformed


def _is_classifier(ensemble):
    if is_classifier(ensemble._learner):
        return True
    raise AttributeError("predict_proba is for classifiers")


def _is_regressor(ensemble):
    if not is_classifier(ensemble._learner):
        return True
    raise AttributeError("confidence_interval is for regressors; for classifiers, see predict_proba")


def _named_weights(estimator, method, weight):
    """Row weights for ``method`` of the estimator, named for the last step of a scikit-learn Pipeline."""
    if weight is None:
        return {}
    is_named = method == "fit" and not get_config()["enable_metadata_routing"]
    names = [pipeline.steps[-1][0] for pipeline in pipelines_of(estimator)] if is_named else []
    return {"__".join([*names, "sample_weight"]): weight}


def _decisions(model, X):
    """A regressor's predictions without clipping to its targets, or their logarithms with a log link."""
    learner = learner_of(model)
    if not isinstance(learner, OnlineLinear):
        return model.predict(X)
    X = transformed(steps_before_learner(model), X)
    state = learner._state.unclipped() if isinstance(learner.clip, str) else learner._state
    return learner._in_shape(kernels.predict(state, learner._rows_to_predict(X)))


class OnlineBootstrap(LearnsInPlace, MetaEstimatorMixin, BaseEstimator):
    """Copies of a learner, trained on randomly weighted rows, for standard errors, intervals and averaged predictions.

    In addition to the learner itself, ``n_models`` copies learn each row with a weight drawn from the exponential
    distribution, which has mean 1 and variance 1. For a learner that averages stochastic gradient descent, the copies
    differ from it as it differs from the truth, in the limit of many rows [1]_. A weight depends only on the seed, the
    shard, the copy and the number of the row. Results therefore do not depend on how a stream is cut, and shards are
    independent.

    Parameters
    ----------
    estimator : estimator
        Classifier or regressor whose `fit` or `partial_fit` takes ``sample_weight``, or a Pipeline that ends with one.
        With metadata routing, the steps of a Pipeline must request the weights, and no learner may refuse them.
    n_models : int, default=20
        Number of copies. The relative error of standard errors is about ``1 / sqrt(2 * n_models)``.
    random_state : int, default=0
        Seed of the weights. It is also the seed of the learner, if the learner has none, so that all copies shuffle
        alike.
    shard : int, default=0
        Number of the shard, if several shards are learnt separately.
    n_jobs : int or None, default=None
        Number of threads for the copies, as in joblib. Results do not depend on it.

    Attributes
    ----------
    estimator_ : estimator
        The learner itself, trained with the original weights of the rows.
    estimators_ : list of estimator
        The copies.
    n_rows_ : int
        Number of rows learnt.
    classes_ : ndarray of shape (n_classes,)
        The classes, for classifiers.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if the input had them.

    See Also
    --------
    NAGRegressor.predict_interval : Intervals for targets, from a single model.

    Notes
    -----
    Standard errors show the uncertainty of weights due to a limited number of rows, not whether a linear model is
    right. They are reliable with many rows for the number of features (thousands and more) and a learner that has
    nearly converged. See :doc:`/how_sure` for measurements and for cases in which not to use them.

    References
    ----------
    .. [1] Fang, Xu and Yang, "Online bootstrap confidence intervals for the stochastic gradient descent estimator",
       JMLR 19, 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_nag import NAGRegressor, OnlineBootstrap
    >>> X, y = load_diabetes(return_X_y=True, scaled=False)
    >>> boot = OnlineBootstrap(NAGRegressor(), n_models=10).partial_fit(X, y)
    >>> boot.coefficients(as_frame=False).standard_error.shape
    (10,)
    >>> boot.confidence_interval(X, coverage=0.8).shape
    (442, 2)
    """

    _in_place = "estimator_", "estimators_"

    def __init__(
        self,
        estimator: Any,
        n_models: int = 20,
        *,
        random_state: int = 0,
        shard: int = 0,
        n_jobs: int | None = None,
    ):
        self.estimator = estimator
        self.n_models = n_models
        self.random_state = random_state
        self.shard = shard
        self.n_jobs = n_jobs

    def _check_parameters(self):
        check_number("n_models", self.n_models, Integral, min_val=2)
        check_number("random_state", self.random_state, Integral, min_val=0, max_val=2**32 - 1)
        check_number("shard", self.shard, Integral, min_val=0, max_val=2**32 - 1)
        if self.n_jobs is not None:
            check_number("n_jobs", self.n_jobs, Integral, hint="-1 is for all cores.")

    @unchanged_on_error
    def fit(self, X: Rows, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from scratch.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Nonnegative weights of the rows; 1 by default.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_parameters(self)
        models = self._new_models()
        self._learn("fit", models, X, y, sample_weight, {}, begin=0)
        return self

    @available_if(lambda ensemble: hasattr(ensemble.estimator, "partial_fit"))
    @unchanged_on_error
    def partial_fit(
        self, X: Rows, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn each row once, in the order given.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        classes : array-like of shape (n_classes,), optional
            All classes that can ever occur; for classifiers, at the first call.
        sample_weight : array-like of shape (n_samples,), optional
            Nonnegative weights of the rows; 1 by default.

        Returns
        -------
        self : object
            The estimator.
        """
        check_parameters(self)
        if not hasattr(self, "estimators_"):
            models, begin = self._new_models(), 0
        elif len(self.estimators_) != self.n_models:
            raise ValueError(
                f"n_models was {len(self.estimators_)} when this model was new and is {self.n_models} now."
            )
        else:
            check_as_made(self.estimator_, self.estimator, "estimator")
            models, begin = self._models, self.n_rows_
            self._begin_in_place(models)
        options = {} if classes is None else {"classes": classes}
        with part_of(turn_of(self).in_place):
            self._learn("partial_fit", models, X, y, sample_weight, options, begin)
        return self

    @property
    def _learns_by_row(self):
        """As in `StreamPipeline`, for the estimator."""
        return StreamPipeline(self.estimator).learns_by_row

    def _new_models(self):
        """The learner and its copies. Those that shuffle do so alike, also in the next `fit`."""
        if isinstance(learner_of(self.estimator), FrozenEstimator):
            raise TypeError("estimator is a FrozenEstimator, which does not learn.")
        models = [clone(self.estimator) for _ in range(int(self.n_models) + 1)]
        seeds = {
            name: int(self.random_state)
            for name, value in models[0].get_params().items()
            if value is None and name.rpartition("__")[2] == "random_state"
        }
        return [model.set_params(**seeds) for model in models]

    def _learn(self, method, models, X, y, sample_weight, options, begin):
        """Let the learner, the first model, and its copies learn rows, numbered from ``begin``."""
        first, copies = models[0], models[1:]
        if refuses_weights(learner_of(first), method):
            raise ValueError(
                f"estimator has set_{method}_request(sample_weight=False), but its copies learn with random weights: "
                "it must be True."
            )
        if is_classifier(first):
            check_one_class_a_row(y, type(self).__name__)
        given = _named_weights(first, method, sample_weight)
        getattr(first, method)(X, y, **options, **given)  # checks its arguments
        n_rows = len(y) if hasattr(y, "__len__") else np.asarray(y).shape[0]
        weight = check_weights(sample_weight, n_rows)

        at_work, has_failed = [Lock() for _ in copies], Event()

        def learn(number, model):
            keys = (int(self.random_state), int(self.shard), number)
            drawn = exponential_weights(keys, begin, begin + n_rows)
            weights = _named_weights(model, method, drawn if weight is None else drawn * weight)
            with at_work[number]:
                if not has_failed.is_set():
                    getattr(model, method)(X, y, **options, **weights)

        # Each in a copy of this context, because threads begin without what `config_context` and `part_of` have set.
        calls = [delayed(copy_context().run)(learn, i, model) for i, model in enumerate(copies)]
        try:
            Parallel(n_jobs=self.n_jobs, prefer="threads")(calls)
        except BaseException:  # what other threads are learning can be undone only once they are done
            has_failed.set()
            for lock in at_work:
                with lock:
                    pass
            raise
        self.estimator_, self.estimators_, self.n_rows_ = first, copies, begin + n_rows

    def _merged(self, models, base):
        """One model from several that learnt shards: learners are merged, and each copy with its counterparts."""
        check_alike(models, base)
        for name, model in named_models(models, base):
            if len(model.estimators_) != len(self.estimators_):
                raise ValueError(f"{name} has {len(model.estimators_)} copies, models[0] {len(self.estimators_)}.")
        drawn = [(model.random_state, model.shard) for model in models]
        if len(set(drawn)) < len(drawn):
            raise ValueError(
                "shard must differ between models whose random_state is the same, as their copies drew the same "
                f"weights; got {[shard for _, shard in drawn]}."
            )
        begun = 0 if base is None else base.n_rows_
        of_base = [None] * len(self._models) if base is None else base._models
        learnt = [model for model in models if model.n_rows_ > begun] or models
        merged = clone(min(learnt, key=lambda model: (model.random_state, model.shard)))
        merged.estimator_, *merged.estimators_ = map(merge, zip(*(model._models for model in models)), of_base)
        merged.n_rows_ = begun + sum(model.n_rows_ - begun for model in models)
        return merged

    @property
    def _learner(self):
        """The fitted learner or, before, the given one."""
        return getattr(self, "estimator_", self.estimator)

    @property
    def _models(self):
        return [self.estimator_, *self.estimators_]

    # -- predicting

    def _each(self, method, X):
        """Results of a method of each copy, stacked."""
        return np.stack([getattr(model, method)(X) for model in self.estimators_])

    @between_calls
    def predict(self, X: Rows) -> np.ndarray:
        """Mean of the predictions of the copies or, for classifiers, the most probable class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predictions, with the shape of the targets.
        """
        check_fitted(self)
        if is_classifier(self._learner):
            return self.classes_[self.predict_proba(X).argmax(axis=1)]
        return self._each("predict", X).mean(axis=0)

    @available_if(_is_classifier)
    @between_calls
    def predict_proba(self, X: Rows) -> np.ndarray:
        """Mean of the probabilities of the copies, or the shares of their votes if they have no probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        check_fitted(self)
        if hasattr(self.estimator_, "predict_proba"):
            return self._each("predict_proba", X).mean(axis=0)
        return (self._each("predict", X)[:, :, None] == self.classes_).mean(axis=0)

    @available_if(_is_regressor)
    @between_calls
    def confidence_interval(self, X: Rows, coverage: float | ArrayLike = 0.9) -> np.ndarray:
        """Interval for the best linear prediction of each row, from the spread of the copies' predictions.

        It shrinks as rows are added. It is not an interval for the target, which varies more: see
        `NAGRegressor.predict_interval`. With ``loss="poisson"``, ``"gamma"`` and ``"tweedie"`` of linear learners, it
        is the interval of the logarithm, exponentiated.

        Unlike `predict`, these intervals are not clipped to the range of the targets, so a row far from all others has
        a wide interval. Exceptions are mixtures, whose members clip, and learners wrapped in a
        TransformedTargetRegressor or MultiOutputRegressor.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        coverage : float or array-like of shape (n_coverages,), default=0.9
            Probability that an interval contains the best linear prediction, between 0 and 1; or several such
            probabilities.

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, n_outputs, 2)
            Lower and upper ends; for several coverages, of shape (..., 2, n_coverages). Ends are infinite until two
            rows, of any weight, have been learnt.
        """
        coverages = check_coverage(coverage)
        check_fitted(self)
        learner = learner_of(self.estimator_)
        spread = np.stack([_decisions(model, X) for model in self.estimators_]).std(axis=0, ddof=1)[..., None]
        if self.n_rows_ < 2 or (not spread.any() and getattr(learner, "t_", 1) == 0):  # all rows had weight 0
            spread += np.inf
        width = spread * stdtrit(len(self.estimators_) - 1, 0.5 + 0.5 * coverages)
        middle = _decisions(self.estimator_, X)[..., None]
        low, high = middle - width, middle + width
        if getattr(learner, "_predicts_logarithms", False):
            with np.errstate(over="ignore"):
                low, high = np.nan_to_num(np.exp(low)), np.exp(high)
        interval = np.stack([low, high], axis=-2)
        return interval if np.ndim(coverage) else interval[..., 0]

    @between_calls
    def coefficients(self, feature_names: ArrayLike | None = None, *, as_frame: bool | Literal["auto"] = "auto") -> Any:
        """Return the table of `NAGRegressor.coefficients` with standard errors of the weights.

        Parameters
        ----------
        feature_names : array-like of str of shape (n_features,), optional
            Names of the features.
        as_frame : bool or "auto", default="auto"
            Whether to return a pandas DataFrame; ``"auto"``: if pandas is installed.

        Returns
        -------
        DataFrame or Bunch
            The columns of the learner's table and ``standard_error``, in the unit of ``weight``.

        Raises
        ------
        AttributeError
            For a learner from another package, which has no such table.
        """
        check_fitted(self)
        names = _learner_and_names(self.estimator_)[1] if feature_names is None else feature_names
        table = learner_of(self.estimator_).coefficients(names, as_frame=as_frame)
        errors = np.stack([np.ravel(learner_of(model).coef_) for model in self.estimators_]).std(axis=0, ddof=1)
        if isinstance(table, Bunch):
            table.standard_error = errors
            return table
        table = table.drop(columns="standard_error", errors="ignore")
        table.insert(table.columns.get_loc("scale"), "standard_error", errors)
        return table

    # -- what is read of the learner

    def __sklearn_is_fitted__(self):
        return hasattr(self, "estimators_")

    def _of_learner(self, name):
        if "estimator_" not in vars(self):
            raise AttributeError(f"this OnlineBootstrap is not fitted yet, so it has no {name}")
        return getattr(self.estimator_, name)

    @property
    def classes_(self) -> np.ndarray:
        """The classes, for classifiers."""
        return self._of_learner("classes_")

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return self._of_learner("n_features_in_")

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features, if the input had them."""
        return self._of_learner("feature_names_in_")

    def score(self, X: Rows, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy or, for regression, R² of `predict`; D² for a learner whose own score is D².

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
            The score.
        """
        predicted = self.predict(X)
        if is_classifier(self._learner):
            return accuracy_score(as_labels(dense(y), "y"), predicted, sample_weight=sample_weight)
        return score_by_common([self._learner], y, predicted, sample_weight)

    def __sklearn_tags__(self):
        return tags_of_inner(super().__sklearn_tags__(), self.estimator)


# Random row weights depend only on a seed, a shard, a model and the number of the row, so that no cut of a stream
# changes them. They come from counters, by a 64-bit mixer (SplitMix64: Steele, Lea and Flood 2014).
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def _mixed(x: np.ndarray) -> np.ndarray:
    """Mix 64-bit integers: a change of any bit changes about half of the result's bits."""
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    return x ^ (x >> np.uint64(31))


def _uniforms(keys: tuple[int, ...], start: int, stop: int) -> np.ndarray:
    """Numbers in [0, 1) for rows from ``start`` to ``stop``; ``keys`` must not be negative."""
    with np.errstate(over="ignore"):
        state = np.zeros(1, np.uint64)
        for key in keys:
            state = _mixed(state + np.uint64(key + 1) * _GOLDEN)
        x = _mixed(state + np.arange(start + 1, stop + 1, dtype=np.uint64) * _GOLDEN)
    return (x >> np.uint64(11)) * 2.0**-53


def exponential_weights(keys: tuple[int, ...], start: int, stop: int) -> np.ndarray:
    """Exponential weights, of mean 1 and variance 1, for rows from ``start`` to ``stop``."""
    return -np.log1p(-_uniforms(keys, start, stop))
