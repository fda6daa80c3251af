"""What every estimator shares: validation, heads, one pass or many, and the linear model that comes of it."""

from __future__ import annotations

import functools
import inspect
import warnings
from numbers import Integral, Real
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import train_test_split
from sklearn.utils import check_array, check_random_state, check_scalar
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import kernels, losses
from ._callbacks import CallbackSupportMixin, with_callbacks

Rows: TypeAlias = Any  # arrays, data frames, sparse matrices: more than a checker can tell apart

_STATE_VERSION = 3
_MOST_NONZEROS = 2**31 - 1
_CHUNK = 2**16
_ROWS = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}


def unchanged_on_error(method):
    """Make ``method`` leave the attributes of its object as they were when it raises."""

    @functools.wraps(method)
    def wrapped(self, *args, **kwargs):
        before = vars(self).copy()
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return wrapped


def check_option(name, value, allowed):
    """Raise unless ``value``, given for the parameter ``name``, is one of those allowed."""
    if not any(value is option or (isinstance(value, str) and value == option) for option in allowed):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")


def check_number(name, value, kind=Real, **bounds):
    """Raise unless ``value`` is a finite number of the kind, within the bounds of `sklearn.utils.check_scalar`."""
    check_scalar(value, name, kind, **bounds)
    if not np.isfinite(value):
        raise ValueError(f"{name} must be finite; got {value!r}.")


def check_flag(name, value):
    """Raise unless ``value``, given for the parameter ``name``, is a boolean."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False; got {value!r}.")


def check_weights(sample_weight, n_rows):
    """Weights of the rows as float64, or None where all are 1; a single number stands for all rows."""
    if sample_weight is None:
        return None
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"sample_weight must hold numbers; got {sample_weight!r:.60}.") from None
    weight = np.full(n_rows, weight) if weight.ndim == 0 else weight
    weight = check_array(weight, ensure_2d=False, ensure_min_samples=0, allow_nd=True, input_name="sample_weight")
    if weight.shape != (n_rows,):
        raise ValueError(f"sample_weight has shape {weight.shape}; X has {n_rows} rows, so it must be ({n_rows},).")
    if n_rows and weight.min() < 0:
        row = int(np.argmin(weight))
        raise ValueError(f"sample_weight must not be negative; it is {weight[row]} at row {row}.")
    return weight


def as_given(label):
    """``label`` as one would write it: ``7``, not ``np.int64(7)``."""
    return repr(label.item() if isinstance(label, np.generic) else label)


def two_or_more(classes):
    """``classes``, unless there is only one."""
    if len(classes) < 2:
        got = f"1 class, {as_given(classes[0])}" if len(classes) else "no class"
        raise ValueError(f"a classifier needs at least two classes; got {got}.")
    return classes


def class_codes(y, classes):
    """Place of each label in the sorted ``classes``, as int32; raise for labels that are not there."""
    codes = np.empty(len(y), np.int32)
    for start in range(0, len(y), _CHUNK):
        part = y[start : start + _CHUNK]
        if len(classes) == 2 and part.dtype.kind == classes.dtype.kind != "O":
            found = part == classes[1]
            known = found | (part == classes[0])
        else:
            try:
                found = np.searchsorted(classes, part)
            except TypeError:
                raise ValueError(f"y has labels of another kind than the classes {classes}.") from None
            found[found == len(classes)] = 0
            known = classes[found] == part
        if not np.all(known):
            check_classification_targets(y)
            raise ValueError(f"y contains {as_given(part[np.argmin(known)])}, which is not one of classes {classes}.")
        codes[start : start + _CHUNK] = found
    return codes


@functools.cache
def parameter_names(estimator_class):
    """Names of the parameters of an estimator class."""
    return tuple(name for name in inspect.signature(estimator_class).parameters)


def is_plain(X, n_features, finite):
    """Whether ``X`` is beyond doubt what `validate_data` would return as it is, which is far cheaper to tell.

    With ``finite`` it also has to have neither NaN nor infinity.
    """
    if type(X) is np.ndarray:
        data, fits = X, X.ndim == 2
    elif sparse.issparse(X) and X.format == "csr":
        data, fits = X.data, X.has_canonical_format and X.indices.dtype.kind == "i"
    else:
        return False
    if not (fits and data.dtype in (np.float64, np.float32) and X.shape[0] > 0 and X.shape[1] == n_features):
        return False
    if not finite:
        return True
    with np.errstate(all="ignore"):
        return bool(np.isfinite(data.sum()))


def canonical(X):
    """``X`` as the kernel takes it: dense, or CSR with sorted columns, each at most once in a row."""
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
        if not np.isfinite(X.data).all():
            raise ValueError("X has entries for the same place whose sum is infinite.")
    return X


class Divergence(ValueError):
    """Raised for rows that make a model leave the range of float64."""


class Stopping:
    """Tells when passes no longer help, as SGDClassifier does.

    Parameters
    ----------
    tol : float or None
        By how much an objective has to fall below the best one to count as better; None for never stopping.
    n_iter_no_change : int
        Passes in a row without a better one after which to stop.
    relative : bool
        Whether ``tol`` is a share of the best objective.
    """

    def __init__(self, tol, n_iter_no_change, relative):
        self.tol, self.n_iter_no_change, self.relative = tol, n_iter_no_change, relative
        self.best, self.since_best = np.inf, 0

    def settled(self, objective):
        """Whether to stop after a pass with this objective."""
        if self.tol is None:
            return False
        step = self.tol * abs(self.best) if self.relative and self.best < np.inf else self.tol
        self.since_best = 0 if objective < self.best - step else self.since_best + 1
        self.best = min(self.best, objective)
        return self.since_best >= self.n_iter_no_change


class OnlineLinear(CallbackSupportMixin, BaseEstimator):
    """Base of the online linear learners.

    A subclass has the parameters that are read here. It says how it learns by ``_rule`` and ``_loss``, what may be the
    cause when that fails by ``_why_useless`` and ``_why_diverged``, and what its targets are by the methods that
    `OnlineClassifier` and `OnlineRegressor` define.
    """

    # -- parameters

    def _rule(self, centred):
        """The `kernels` rule that the parameters stand for, for features that are centred or not."""
        raise NotImplementedError

    def _centred(self, is_sparse):
        """Whether features are to be centred, by the parameters, for rows of this kind."""
        if self.centering == "auto":
            return not is_sparse and self.fit_intercept
        if self.centering and is_sparse:
            raise ValueError(
                "centering=True needs dense X: subtracting means would leave no zeros. Use centering='auto' or False."
            )
        return bool(self.centering)

    def _check_changed_parameters(self):
        """`_check_parameters`, unless all are as they were when it last passed."""
        values = [getattr(self, name) for name in parameter_names(type(self))]
        values.append([type(value) for value in values])  # True == 1, but only one of them is a boolean
        if vars(self).get("_checked") != values:
            self._check_parameters()
            self._checked = values
            vars(self).pop("_made", None)

    def _check_parameters(self):
        """Raise for parameters that are out of range or unknown."""
        for name in ("fit_intercept", "shuffle", "early_stopping", "warm_start"):
            check_flag(name, getattr(self, name))
        check_option("loss", self.loss, tuple(self._losses))
        centering = bool(self.centering) if isinstance(self.centering, np.bool_) else self.centering
        check_option("centering", centering, (True, False, "auto"))
        if centering is True and not self.fit_intercept:
            raise ValueError("centering=True needs fit_intercept=True: the means have to go somewhere.")
        check_number("max_iter", self.max_iter, Integral, min_val=1)
        if self.tol is not None:
            check_number("tol", self.tol, min_val=0)
        check_number("n_iter_no_change", self.n_iter_no_change, Integral, min_val=1)
        check_number(
            "validation_fraction", self.validation_fraction, min_val=0, max_val=1, include_boundaries="neither"
        )
        if isinstance(self.average, str):
            check_option("average", self.average, ("auto",))
        elif not isinstance(self.average, np.bool_):
            check_number("average", self.average, Integral, min_val=0)
        check_number("verbose", self.verbose, Integral, min_val=0)
        if self.n_jobs is not None:
            check_number("n_jobs", self.n_jobs, Integral)

    def _loss(self):
        """The loss that the parameters name, with the parameters it takes."""
        loss = self._losses[self.loss]
        return loss(**{name: getattr(self, name) for name in loss.parameters})

    # -- learning

    @unchanged_on_error
    @with_callbacks
    def fit(self, X: Rows, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from scratch (or go on, with ``warm_start``), by passes over the rows until the loss settles.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows in whatever units they come; dense or sparse, float32 or float64 (others are converted).
        y : array-like of shape (n_samples,) or, for regression, (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, not negative; 1 by default. From a row of weight 0 nothing is learnt.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            For input or parameters that cannot be used, and when rows make the model leave the range of float64. The
            estimator is then as it was before.
        """
        self._check_changed_parameters()
        first = not (self.warm_start and self.__sklearn_is_fitted__())
        given = X
        X, y, weight = self._validate(X, y, sample_weight, first)
        self._see_all_targets(y, first)
        self._state = self._new_state(X) if first else self._continued_state(self._state.copy(), X)
        self._sparse_coef = False
        context = self._init_callback_context(max_subtasks=int(self.max_iter))
        context.call_on_fit_task_begin(estimator=self, X=given, y=y)
        self.n_iter_ = 0
        self._learn_passes(X, y, weight, context, given)
        context.call_on_fit_task_end(estimator=self, X=given, y=y, reconstruction_attributes={})
        return self

    def _learn_passes(self, X, y, weight, context, given):
        rows, others = self._split(y)
        encoded, row_weight = self._encode_all(y, weight)
        stopping = Stopping(self.tol, self.n_iter_no_change, self._tol_is_relative and not self.early_stopping)
        random_state = check_random_state(self.random_state)
        stop = False
        while self.n_iter_ < self.max_iter and not stop:
            task = context.subcontext(task_name="pass").call_on_fit_task_begin(estimator=self, X=given, y=y)
            order = rows if not self.shuffle else random_state.permutation(len(y) if rows is None else rows)
            loss = self._learn_pass(X, encoded, row_weight, order)
            self.n_iter_ += 1
            if self.verbose:
                print(f"Pass {self.n_iter_}: mean progressive loss {loss:.6g}")
            objective = -self._score_rows(X, y, weight, others) if self.early_stopping else loss
            settled = stopping.settled(objective)
            stop = task.call_on_fit_task_end(
                estimator=self, X=given, y=y, reconstruction_attributes=lambda: {"_state": self._state.copy()}
            )
            stop = stop or settled
        self._warn_about(loss, self._constant_loss(encoded, row_weight, rows), settled or stop)

    def _encode_all(self, y, weight):
        encoded, row_weight = self._encode(y), self._weigh(y, weight)
        if row_weight is not None and not row_weight.any():
            raise ValueError("sample_weight, with class_weight, is zero for all rows: fit has nothing to learn from.")
        return encoded, row_weight

    def _learn_pass(self, X, encoded, weight, order):
        """One pass of `fit`; return its mean progressive loss over rows and heads, summed afresh to keep its digits."""
        state = self._state
        loss, t = state.loss.copy(), state.t
        state.loss[:] = 0.0
        self._learn(X, encoded, weight, order)
        mean = state.mean_loss(state.t - t)
        with np.errstate(over="ignore"):
            state.loss[:] = np.minimum(loss + state.loss, np.finfo(float).max)
        return mean

    def _score_rows(self, X, y, weight, rows):
        """Score on held out rows, without validating them again."""
        predicted = self._interpret(kernels.predict(self._state, X[rows]))
        return self._metric(y[rows], predicted, sample_weight=None if weight is None else weight[rows])

    def _warn_about(self, loss, constant_loss, settled):
        if loss > 2.0 * constant_loss:
            warnings.warn(
                f"{type(self).__name__} has learnt nothing useful: the mean loss of its last pass is {loss:.4g}, that "
                f"of predicting the mean is {constant_loss:.4g}. {self._why_useless}",
                ConvergenceWarning,
                stacklevel=6,
            )
        elif self.tol is not None and not settled and self.max_iter > self.n_iter_no_change:
            warnings.warn(
                f"{type(self).__name__} made max_iter={self.max_iter} passes and has not settled; "
                "raise max_iter to go on, or tol to stop sooner.",
                ConvergenceWarning,
                stacklevel=6,
            )

    @unchanged_on_error
    def _play(self, X, y, sample_weight=None, classes=None):
        """As `partial_fit`; return the decision values, of shape (n_samples, n_played), that rows were predicted by."""
        self._check_partial_fit(classes)
        return self._partial_fit(X, y, sample_weight, play=True)

    def _respond(self, method, decision):
        """What ``method`` ("predict" and the like) makes of decision values."""
        return self._interpret(decision)

    def _partial_fit(self, X, y, sample_weight, play=False):
        first = not self.__sklearn_is_fitted__()
        # A row that is learnt shows NaN and infinity by itself; one that may be skipped has to be looked at.
        every_row_learnt = sample_weight is None and getattr(self, "class_weight", None) is None
        X, y, weight = self._validate(X, y, sample_weight, first, finite=not every_row_learnt)
        if first:
            self._state = self._new_state(X)
        else:
            state = self._continued_state(self._state, X)
            if not state.columns.weight.flags.writeable:  # loaded with mmap_mode="r"
                self._state = state.copy()
        played = np.empty((X.shape[0], self._state.rule.n_played)) if play else None
        self._learn(X, self._encode(y), self._weigh(y, weight), predictions=played)
        return played

    def _validate(self, X, y, sample_weight, first, finite=True):
        if sparse.issparse(X) and X.nnz > _MOST_NONZEROS:
            raise ValueError(
                f"X has {X.nnz} nonzeros; one call takes at most {_MOST_NONZEROS}: "
                "give the rows to partial_fit in batches."
            )
        if first or not (self._takes_as_is(X, finite) and type(y) is np.ndarray and self._plain_targets(y, X.shape[0])):
            X, y = validate_data(self, X, y, reset=first, ensure_all_finite=finite, **self._target_options, **_ROWS)
            y = self._check_targets(y, first)
        return canonical(X), y, check_weights(sample_weight, X.shape[0])

    def _takes_as_is(self, X, finite=True):
        """Whether ``X`` needs no validation; with names of features to compare it does."""
        return not hasattr(self, "feature_names_in_") and is_plain(X, self.n_features_in_, finite)

    def _new_state(self, X):
        self._begun_with = {name: getattr(self, name) for name in self._fixed}
        vars(self).pop("_made", None)
        return kernels.new_state(self._rule(self._centred(sparse.issparse(X))), self.n_features_in_)

    def _continued_state(self, state, X):
        """``state``, once it is known that the parameters and the kind of rows can go on with it."""
        for name, old in self._begun_with.items() if "_made" not in vars(self) else ():
            new = getattr(self, name)
            if self._is_another(name, old, new):
                raise ValueError(
                    f"{name} was {old!r} when this model was new and is {new!r} now; "
                    "a model cannot go on with another: call fit without warm_start, or clone it."
                )
        if state.rule.centred and sparse.issparse(X):
            raise ValueError(
                "X is sparse, but this model centres its features, as it began with dense rows; "
                "centering=False makes a model that takes both."
            )
        return state

    _fixed = ("fit_intercept", "centering")  # parameters that a model cannot go on with when they change

    def _is_another(self, name, old, new):
        """Whether a model cannot go on with the value ``new`` of a parameter that is fixed."""
        return old != new

    def _split(self, y):
        """Rows to learn, and for early stopping the others; None and None where all are learnt."""
        if not self.early_stopping:
            return None, None
        rows, others = train_test_split(
            np.arange(len(y)),
            test_size=self.validation_fraction,
            random_state=self.random_state,
            stratify=y if self._stratified else None,
        )
        if len(others) < 2:
            raise ValueError(
                f"early_stopping holds out validation_fraction={self.validation_fraction!r} of {len(y)} rows, which is "
                "one row; a score needs at least two."
            )
        return rows, others

    def _learn(self, X, encoded, weight, order=None, predictions=None):
        """One pass, which leaves the model as it was when it raises."""
        state = self._state
        if "_made" not in vars(self):  # kept until a parameter changes, as single rows come faster than these are made
            self._made = self._rule(state.rule.centred), self._loss()
        rule, loss = self._made
        named = None
        if sparse.issparse(X) and X.nnz < self.n_features_in_ and rule == state.rule:
            named = np.append(np.unique(X.indices), np.arange(self.n_features_in_, state.columns.largest.size))
        with state.unchanged_on_error(named):
            state.adopt(rule)
            try:
                kernels.learn(state, loss, X, encoded, weight, order=order, predictions=predictions, n_jobs=self.n_jobs)
            except kernels.Diverged:
                check_array(X, estimator=self, input_name="X", **_ROWS)  # raises for NaN and infinity
                raise Divergence(
                    "these rows made the model leave the range of float64: their targets or weights are too large or "
                    f"too small for it{self._why_diverged}."
                ) from None

    # -- the model

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_state")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __getstate__(self):
        state = {**super().__getstate__(), "_state_version": _STATE_VERSION}
        for name in ("_checked", "_made"):
            state.pop(name, None)
        return state

    def __setstate__(self, state):
        version = state.get("_state_version", _STATE_VERSION)
        if version != _STATE_VERSION:
            raise ValueError(
                f"this {type(self).__name__} was saved by another version of sklearn_nag (model format {version}; this "
                f"one reads {_STATE_VERSION}): load it with that version, or fit it again."
            )
        super().__setstate__({name: value for name, value in state.items() if name != "_state_version"})

    def _attribute(self, read):
        """What ``read`` finds in the state; before fitting there is no such attribute."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"this {type(self).__name__} is not fitted yet: call fit or partial_fit first")
        return read(self._state)

    def _decision(self, X):
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)
        if not self._takes_as_is(X):
            X = validate_data(self, X, reset=False, **_ROWS)
        return kernels.predict(self._state, X)

    @property
    def coef_(self) -> np.ndarray | sparse.csr_matrix:
        """Weights in raw units: an array, or a CSR matrix after `sparsify`."""
        coef = self._attribute(kernels.LinearState.linear)[0]
        coef = coef[0] if self._flat_coef else coef
        return sparse.csr_matrix(coef) if vars(self).get("_sparse_coef") else coef

    @property
    def intercept_(self) -> np.ndarray:
        """Value where every feature is 0; zeros without ``fit_intercept``."""
        return self._attribute(kernels.LinearState.linear)[1]

    @property
    def scale_(self) -> np.ndarray:
        """What each feature was divided by; 1 for a feature that has been 0 so far."""
        return kernels.positive(self._attribute(kernels.LinearState.scale)[: self.n_features_in_])

    @property
    def mean_(self) -> np.ndarray:
        """What was subtracted from each feature; 0 where features are not centred."""
        return self._attribute(kernels.LinearState.mean)[: self.n_features_in_]

    @property
    def t_(self) -> float:
        """Total weight of the rows learnt, over every pass and every call."""
        return self._attribute(lambda state: state.t)

    @property
    def progressive_loss_(self) -> float:
        """Mean loss of the predictions made before each row was learnt, over rows and targets; NaN before the first."""
        return self._attribute(lambda state: state.mean_loss(state.t))

    def sparsify(self) -> Self:
        """Give `coef_` as a CSR matrix, until the next `fit`; what is learnt and predicted stays as it is.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_is_fitted(self)
        self._sparse_coef = True
        return self

    def densify(self) -> Self:
        """Give `coef_` as an array again.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_is_fitted(self)
        self._sparse_coef = False
        return self


def _has_probabilities(estimator):
    if estimator.loss in ("log_loss", "modified_huber"):
        return True
    raise AttributeError(
        f"loss={estimator.loss!r} gives no probabilities: use loss='log_loss' or 'modified_huber', "
        "or wrap the estimator in sklearn.calibration.CalibratedClassifierCV."
    )


class OnlineClassifier(ClassifierMixin, OnlineLinear):
    """Base of the classifiers: one head for two classes, else one for each class."""

    _losses = losses.CLASSIFICATION
    _target_options = {}
    _tol_is_relative = False
    _stratified = True
    _flat_coef = False

    _fixed = (*OnlineLinear._fixed, "loss", "multi_class")
    _target_unit = False

    def _is_another(self, name, old, new):
        if name in ("loss", "multi_class"):  # only one that learns classes together where they were learnt apart
            return self._loss().coupled != self._state.rule.coupled
        return super()._is_another(name, old, new)

    @property
    def _n_targets(self):
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _loss(self):
        if self.loss == "log_loss" and self.multi_class == "multinomial" and len(self.classes_) > 2:
            return losses.Softmax()
        return super()._loss()

    @unchanged_on_error
    def partial_fit(
        self, X: Rows, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn each row once, in the order given.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows in whatever units they come.
        y : array-like of shape (n_samples,)
            Class of each row.
        classes : array-like of shape (n_classes,), optional
            All classes that will ever come; needed at the first call only.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, not negative; 1 by default. A row of weight 0 is as if it were not there.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        ValueError
            For input or parameters that cannot be used; for a class that ``classes`` did not name; when ``classes`` is
            missing at the first call or differs later. The estimator is then as it was before.
        """
        self._check_partial_fit(classes)
        self._partial_fit(X, y, sample_weight)
        return self

    def _check_partial_fit(self, classes):
        self._check_changed_parameters()
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight={self.class_weight!r} needs all rows at once: with partial_fit give a dict, such as "
                "dict(zip(classes, compute_class_weight('balanced', classes=classes, y=y))), or sample_weight."
            )
        known = self.__sklearn_is_fitted__()
        if classes is None and not known:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        if classes is not None and not (known and np.array_equal(classes, self.classes_)):
            classes = two_or_more(unique_labels(classes))
            if known and not np.array_equal(classes, self.classes_):
                raise ValueError(f"classes is {classes} but was {self.classes_} at the first call.")
            self.classes_ = classes

    _metric = staticmethod(accuracy_score)

    def _check_parameters(self):
        super()._check_parameters()
        check_option("multi_class", self.multi_class, ("multinomial", "ovr"))
        if not isinstance(self.class_weight, dict):
            check_option("class_weight", self.class_weight, ("balanced", None))
            return
        for label, weight in self.class_weight.items():
            if not (isinstance(weight, Real) and 0 <= weight < np.inf):
                raise ValueError(f"class_weight must be finite and not negative; it is {weight!r} for class {label!r}.")

    def _check_targets(self, y, first):
        return y

    def _see_all_targets(self, y, first):
        check_classification_targets(y)
        if first:
            self.classes_ = two_or_more(np.unique(y))

    def _plain_targets(self, y, n_rows):
        return y.shape == (n_rows,) and y.dtype.kind == self.classes_.dtype.kind in "biuSU"

    def _encode(self, y):
        return class_codes(y, self.classes_)

    def _weigh(self, y, weight):
        if self.class_weight is None:
            return weight
        of_class = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        return of_class[self._encode(y)] * (1.0 if weight is None else weight)

    def decision_function(self, X: Rows) -> np.ndarray:
        """Confidence of each class, in units of the loss's argument.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes: positive for the second one.
        """
        return self._respond("decision_function", self._decision(X))

    def _respond(self, method, decision):
        if method == "predict":
            return self._interpret(decision)
        if method == "decision_function":
            return decision[:, 0] if decision.shape[1] == 1 else decision
        return self._probabilities(decision)

    def predict(self, X: Rows) -> np.ndarray:
        """Class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Entries of ``classes_``.
        """
        return self._interpret(self._decision(X))

    def _interpret(self, decision):
        codes = (decision[:, 0] > 0).astype(int) if decision.shape[1] == 1 else decision.argmax(axis=1)
        return self.classes_[codes]

    def _constant_loss(self, encoded, weight, rows):
        return np.inf  # a large loss does not mean that classes are told apart badly

    @available_if(_has_probabilities)
    def predict_proba(self, X: Rows) -> np.ndarray:
        """Probability of each class, for the losses ``"log_loss"`` and ``"modified_huber"``.

        With more than two classes these are the shares of ``exp(decision_function(X))`` or, where classes were learnt
        one against the rest, the probabilities of each against the rest divided by their sum (all equal where each is
        0).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return self._respond("predict_proba", self._decision(X))

    def _probabilities(self, decision):
        if decision.shape[1] == 1:
            decision = np.hstack([-decision, decision])
        elif self._state.rule.coupled:
            return softmax(decision, axis=1)
        if self.loss == "log_loss":
            probability = expit(decision)
        else:
            probability = (np.clip(decision, -1.0, 1.0) + 1.0) / 2.0
        if len(self.classes_) == 2:
            return probability
        total = probability.sum(axis=1, keepdims=True)
        return np.where(total > 0, probability / np.where(total > 0, total, 1.0), 1.0 / len(self.classes_))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Rows) -> np.ndarray:
        """Logarithm of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``; ``-inf`` where the probability is 0.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


class OnlineRegressor(RegressorMixin, OnlineLinear):
    """Base of the regressors: one head for each output."""

    _losses = losses.REGRESSION
    _target_options = {"y_numeric": True, "multi_output": True}
    _tol_is_relative = True
    _stratified = False

    _fixed = (*OnlineLinear._fixed, "target_normalization")

    @property
    def _n_targets(self):
        return self._n_outputs or 1

    @property
    def _target_unit(self):
        return self.target_normalization == "standard"

    def _check_parameters(self):
        super()._check_parameters()
        check_option("target_normalization", self.target_normalization, ("standard", None))
        check_number("quantile", self.quantile, min_val=0, max_val=1, include_boundaries="neither")

    @property
    def _flat_coef(self):
        return self._n_outputs is None

    @unchanged_on_error
    def partial_fit(self, X: Rows, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn each row once, in the order given.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows in whatever units they come.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, not negative; 1 by default. A row of weight 0 is as if it were not there.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        ValueError
            For input or parameters that cannot be used, and when rows make the model leave the range of float64. The
            estimator is then as it was before.
        """
        self._check_partial_fit()
        self._partial_fit(X, y, sample_weight)
        return self

    def _check_partial_fit(self, classes=None):
        self._check_changed_parameters()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    _metric = staticmethod(r2_score)

    def _check_targets(self, y, first):
        y = np.asarray(y, dtype=np.float64)
        n_outputs = y.shape[1] if y.ndim == 2 else None
        if first:
            self._n_outputs = n_outputs
        elif n_outputs != self._n_outputs:
            made_for = "(n_samples,)" if self._n_outputs is None else f"(n_samples, {self._n_outputs})"
            raise ValueError(f"y has shape {y.shape}; this model was made for targets of shape {made_for}.")
        return y

    def _see_all_targets(self, y, first):
        pass

    def _plain_targets(self, y, n_rows):
        shape = (n_rows,) if self._n_outputs is None else (n_rows, self._n_outputs)
        return y.shape == shape and y.dtype == np.float64 and np.isfinite(y).all()

    def _encode(self, y):
        return y if y.ndim == 2 else y[:, None]

    def _weigh(self, y, weight):
        return weight

    def predict(self, X: Rows) -> np.ndarray:
        """Prediction for each row, in units of the target.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            As the targets were.
        """
        return self._interpret(self._decision(X))

    def _interpret(self, decision):
        return decision[:, 0] if self._n_outputs is None else decision

    def _constant_loss(self, encoded, weight, rows):
        """Mean loss over rows and outputs of predicting the mean of each output."""
        rows = slice(None) if rows is None else rows
        weight = None if weight is None else weight[rows]
        with np.errstate(all="ignore"):
            mean = np.average(encoded[rows], axis=0, weights=weight)
            spread = np.sqrt(np.average((encoded[rows] - mean) ** 2, axis=0, weights=weight))
            unit = spread if self._target_unit else 1.0
            return float(np.average(self._loss().value(mean, encoded[rows], unit).mean(axis=1), weights=weight))
