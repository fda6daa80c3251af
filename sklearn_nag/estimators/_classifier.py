"""Base of the classifiers: class targets, and the meaning of decision values."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit, softmax
from scipy.stats import entropy
from sklearn.metrics import accuracy_score

from .. import losses
from .._decorators import available_if
from ..uncertainty import probabilities, quantiles
from . import _labels
from ._calls import between_calls, named_publicly, unchanged_on_error
from ._online import OnlineLinear
from ._parameters import InvalidParameterError, check_option, is_finite, shown
from ._saved import check_known_classes
from ._validation import (
    Rows,
    Targets,
    as_given,
    as_labels,
    check_classes,
    check_coverage,
    check_labels,
    class_codes,
    classes_of,
    two_or_more,
)


def _has_probabilities(estimator):
    if estimator.loss in ("log_loss", "modified_huber") or estimator.calibration is not None:
        return True
    raise AttributeError(
        f"probability estimates are not available for loss={estimator.loss!r}: use calibration='progressive', or "
        "loss='log_loss' or 'modified_huber', or wrap the estimator in sklearn.calibration.CalibratedClassifierCV."
    )


def _has_sets(estimator):
    if estimator.calibration is not None:
        return True
    raise AttributeError("sets of classes need calibration='progressive'; calibration is None.")


def _balanced(total, n_classes, own):
    """Factor that makes a class of total weight ``own`` weigh as much as others; finite for unseen classes."""
    return total / np.where(own > 0, n_classes * own, 1.0)


def with_numbers(parameters):
    """``parameters``, with 0 and 1 for the equal booleans among the keys of ``class_weight``.

    skops turns both booleans into True in keys.
    """
    weights = parameters.get("class_weight")
    if not isinstance(weights, dict) or not any(isinstance(label, bool | np.bool_) for label in weights):
        return parameters
    numbers = {int(label) if isinstance(label, bool | np.bool_) else label: own for label, own in weights.items()}
    return {**parameters, "class_weight": numbers}


class WeighsClasses:
    """Mixin for ``class_weight``, a factor on row weights by class."""

    _class_counts: np.ndarray | None = None  # weight of each class so far, if balanced; never changed in place

    def _check_parameters(self):
        super()._check_parameters()
        given = self.class_weight
        if given is None or (isinstance(given, str) and given == "balanced"):
            return
        if not isinstance(given, dict):
            raise InvalidParameterError("class_weight", "'balanced', None or a dict of weights by class", shown(given))
        for label, weight in given.items():
            if not (is_finite(weight) and weight >= 0):
                allowed = "a dict of finite numbers that are not negative"
                raise InvalidParameterError("class_weight", allowed, f"{shown(weight)} for class {as_given(label)}")

    def __getstate__(self):
        return with_numbers(super().__getstate__())

    def _check_targets_of_model(self):
        super()._check_targets_of_model()
        counts = self._class_counts
        if counts is not None and not (
            type(counts) in (np.ndarray, np.memmap)
            and counts.dtype == np.float64
            and counts.shape == self.classes_.shape
            and ((counts >= 0) & (counts < np.inf)).all()
        ):
            raise ValueError("it has no counts of its classes")

    def _weigh(self, y, weight):
        """Row weights multiplied by class weights; None if all are 1."""
        if self.class_weight is None:
            return weight
        codes = self._encode(y)
        if isinstance(self.class_weight, str):
            counts = np.bincount(codes, weight, len(self.classes_))
            of_class = _balanced(counts.sum(), np.count_nonzero(counts), counts)
        else:
            of_class = self._given_weights()
        return of_class[codes] * (1.0 if weight is None else weight)

    def _given_weights(self):
        """The weight of each class by a dict; 1 for classes that it leaves out, if it names no others."""
        given, classes = self.class_weight, self.classes_.tolist()
        known = {*classes}
        others = [label for label in given if label not in known]
        left_out = [label for label in classes if label not in given]
        if others and left_out:
            raise ValueError(
                f"class_weight has a weight for {as_given(others[0])}, which is not one of classes {self.classes_}, "
                f"and none for {as_given(left_out[0])}: give weights for these classes."
            )
        return np.array([given.get(label, 1.0) for label in classes], dtype=np.float64)

    def _weigh_next(self, y, weight):
        """Like `_weigh` for the next rows of a stream, balanced by the rows up to each; counts them."""
        if not isinstance(self.class_weight, str):
            return self._weigh(y, weight)
        codes, n_classes = self._encode(y), len(self.classes_)
        weight = np.ones(len(y)) if weight is None else weight
        counts = np.zeros(n_classes) if self._class_counts is None else self._class_counts
        factors, length = [], 1 + 2**15 // n_classes  # rows whose table fits in the cache
        for start in range(0, len(y), length):  # the sums of a row are the same however rows are cut
            own = codes[start : start + length]
            table = np.zeros((n_classes, len(own) + 1))
            at = own, np.arange(1, len(own) + 1)
            table[:, 0], table[at] = counts, weight[start : start + length]
            table = np.add.accumulate(table, axis=1)
            factors.append(_balanced(table.sum(axis=0)[1:], (table > 0).sum(axis=0)[1:], table[at]))
            counts = table[:, -1].copy()
        self._class_counts = counts
        return np.concatenate(factors) * weight


class OnlineClassifier(_labels.ScoresLabels, WeighsClasses, OnlineLinear):
    """Base of the classifiers: one decision value for two classes, otherwise one per class."""

    classes_: np.ndarray

    # The regression losses of SGDClassifier, for targets -1 and 1; the others would tell no more than the hinge does.
    _losses: ClassVar[dict[str, type[losses.Loss]]] = losses.CLASSIFICATION | {
        name: losses.REGRESSION[name]
        for name in ("squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive")
    }
    _metric = staticmethod(accuracy_score)
    _target_unit = False
    _tol_is_relative = False
    _useless_from = np.inf  # no loss is large enough to prove that classes are told apart badly
    _stratified = True
    _flat_coef = False
    _added_parameters: ClassVar[dict[str, Any]] = {"calibration": None}

    # -- parameters

    @property
    def _fixed(self):
        return (*super()._fixed, "loss", "multi_class")

    def _breaks(self, name, old, new):
        if name in ("loss", "multi_class"):  # may change, but not between coupled and separate classes
            return self._loss().coupled != self._state.rule.coupled
        return super()._breaks(name, old, new)

    def _check_parameters(self):
        super()._check_parameters()
        check_option("multi_class", self.multi_class, ("multinomial", "ovr"))
        check_option("calibration", self.calibration, ("progressive", None))

    def _loss(self):
        together = self.multi_class == "multinomial" and len(self.classes_) > 2 and not self._has_labels
        return losses.Softmax() if self.loss == "log_loss" and together else super()._loss()

    # -- learning

    @unchanged_on_error
    def partial_fit(
        self, X: Rows, y: Targets, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn each row once, in the order given.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, in any units.
        y : array-like of shape (n_samples,), or {array-like, sparse matrix} of shape (n_samples, n_columns)
            Class of each row, its class probabilities, or several labels, depending on the ``classes`` with which the
            model began.
        classes : array-like of shape (n_classes,) or (n_labels, 2), optional
            All classes that can ever occur; required at the first call only. For several labels, pass ``[0, 1]`` for
            each label, or a ``y`` of zeros and ones in several columns without ``classes``.
        sample_weight : array-like of shape (n_samples,), optional
            Nonnegative weights of the rows; 1 by default. A row of weight 0 is ignored.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        ValueError
            For invalid input or parameters; for a class that ``classes`` did not name; if ``classes`` is missing at the
            first call or differs later; for class probabilities with a loss other than the log loss, with
            ``class_weight`` or with ``calibration``. The estimator is then unchanged.
        """
        self._check_partial_fit(classes, y)
        self._partial_fit(X, y, sample_weight)
        return self

    def _check_partial_fit(self, classes, y):
        self._check_changed_parameters()
        self._check_no_early_stopping()
        known = self.__sklearn_is_fitted__()
        if classes is None and not known:
            classes = _labels.classes_of_stream(y)
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
        if classes is not None and not (known and np.array_equal(classes, self.classes_)):
            of_labels = _labels.classes_named(classes)
            classes = check_classes(classes) if of_labels is None else of_labels
            if known and not np.array_equal(classes, self.classes_):
                raise ValueError(f"classes is {classes} but was {self.classes_} at the first call.")
            self.classes_ = classes

    @property
    def _has_labels(self):
        """Whether each row has several labels instead of one class."""
        return _labels.are_labels(self.classes_)

    @property
    def _n_targets(self):
        return 1 if len(self.classes_) == 2 and not self._has_labels else len(self.classes_)

    @property
    def _names_of_targets(self):
        return np.arange(len(self.classes_)) if self._has_labels else self.classes_

    @property
    def _kind_of_target(self):
        return "label" if self._has_labels else "class"

    def _check_targets_of_model(self):
        check_known_classes(getattr(self, "classes_", None))
        super()._check_targets_of_model()

    def _options_for(self, y):
        return {"multi_output": True} if _labels.has_columns(y) else {}

    def _check_targets(self, y, first):
        """``y`` as a validated array; ``first`` for a new model."""
        if y.ndim == 2:
            return _labels.as_matrix(y)
        y = as_labels(y, "y")
        return check_labels(y) if y.dtype == object else y

    def _see_all_targets(self, y, weight, first):
        """Check all targets of a `fit`; find the classes of a new model."""
        if first:
            self.classes_ = self._found(y)
            self._class_counts = None
        elif not (y.ndim == 2 or _labels.are_shares(y)):
            check_labels(y)
        if isinstance(self.class_weight, str):  # count the classes, for rows that may come later
            self._weigh_next(y, weight)

    def _found(self, y):
        """``classes_`` of a new model, from all of its targets."""
        if y.ndim == 2:
            return _labels.classes_of_matrix(y)
        if _labels.are_shares(y):
            return np.arange(2)
        return two_or_more(classes_of(check_labels(y)))

    def _plain_targets(self, y, n_rows):
        """Whether the array ``y`` needs no validation."""
        if y.ndim == 2:
            return len(y) == n_rows and y.shape[1] > 1 and y.dtype == np.float64
        return y.shape == (n_rows,) and y.dtype.kind == self.classes_.dtype.kind in "biuSU"

    def _encode(self, y):
        """Targets for the kernel: the index of each class or, without single classes, a number per head."""
        if self._has_labels:
            self._check_not_weighed("several labels")
            targets = _labels.targets_of_labels(y, len(self.classes_))
            if not (np.abs(targets) == 1.0).all():
                self._check_soft()
            return targets
        if y.ndim == 1 and not _labels.are_shares(y):
            return class_codes(y, self.classes_)
        if y.ndim == 2:
            targets = _labels.targets_of_probabilities(y, len(self.classes_))
        else:
            targets = _labels.targets_of_shares(y, self.classes_)
        self._check_soft()
        return targets

    def _check_soft(self):
        """Raise for parameters that do not apply to probabilities."""
        if self.loss != "log_loss":
            raise ValueError(f"y has class probabilities, which only loss='log_loss' accepts; loss is {self.loss!r}.")
        self._check_not_weighed("probabilities")
        if self._stops_by_score:
            raise ValueError("y has probabilities, for which early_stopping=True has no score: use 'auto' or False.")

    def _check_not_weighed(self, what):
        """Raise for set parameters that need classes, because ``y`` has ``what`` instead."""
        for name in ("class_weight", "calibration"):
            value = getattr(self, name)
            if value is not None:
                raise ValueError(
                    f"{name} is {value!r:.60}, which needs one class per row; y has {what}: use {name}=None."
                )

    # -- evidence

    @property
    def _keeps_evidence(self):
        return self.calibration is not None

    @property
    def _judged_in_each_pass(self):
        # Decision values that are not probabilities by themselves change their meaning from pass to pass.
        return self.calibration is not None and self._calibrated["has_offsets"]

    @property
    def _calibrated(self):
        """Options for `probabilities`: the log loss needs no unit and, without class weights, no offsets."""
        has_unit = self.loss != "log_loss"
        return {"has_unit": has_unit, "has_offsets": has_unit or self.class_weight is not None, "memory": self._memory}

    def _logits(self, decision):
        """Logits of each class; without calibration, probabilities are their softmax."""
        if decision.shape[1] == 1:
            return np.concatenate([-0.5 * decision, 0.5 * decision], axis=1)
        return log_expit(decision) if self.loss == "log_loss" and not self._state.rule.coupled else decision

    def _judged(self, evidence, played, encoded, weight):
        """The learnt temperature, offsets and quantiles of surprise."""
        weight = self._counted(weight)
        return probabilities.learn(self._known(evidence), self._logits(played), encoded, weight, **self._calibrated)

    def _counted(self, weight):
        """Row weights for calibration: each row counts once if classes have weights."""
        return weight if self.class_weight is None else None

    def _known(self, evidence):
        """``evidence``, or the initial evidence if it is None."""
        if evidence is None:
            return probabilities.new(len(self.classes_), self._calibrated["has_unit"])
        return evidence

    def _check_evidence(self):
        probabilities.check("what is known of probabilities", self._evidence, len(self.classes_))

    def _responded(self, method, decision, y, weight, before):
        if method != "predict_proba" or self.calibration is None:
            return self._respond(method, decision)
        return self._played_probabilities(decision, y, weight, before)[0]

    def _played_probabilities(self, decision, y, weight, before):
        """Probabilities from before rows were learnt, ``-log p`` of their classes, and which rows count."""
        y, weight = np.asarray(y), self._weigh(y, None if weight is None else np.asarray(weight))
        told = np.ones(len(y), bool) if weight is None else weight > 0
        if before is None and told.any():
            told[np.argmax(told)] = False
        codes, weight = np.where(told, self._encode(y), -1), self._counted(weight)
        return *probabilities.play(self._known(before), self._logits(decision), codes, weight, **self._calibrated), told

    def _played_coverage(self, decision, y, weight, before, coverages):
        """As for regressors. Sets of classes have sizes for widths, infinite while too few rows are known."""
        p, surprise, told = self._played_probabilities(decision, y, weight, before)
        bound = np.full((len(p), len(coverages)), np.nan)
        sizes, known = surprise[told], self._known(before).surprise
        bound[told] = quantiles.play(known, sizes, np.zeros_like(sizes), coverages, self._memory)[1][:, 0]
        with np.errstate(divide="ignore"):
            least = -np.log(p)[:, :, None]
        is_top = np.arange(p.shape[1]) == p.argmax(axis=1)[:, None]
        sets = is_top[:, :, None] | (least <= bound[:, None])
        held = sets[np.arange(len(p)), self._encode(np.asarray(y))]
        size = np.where(np.isfinite(bound), sets.sum(axis=1), bound)
        return np.where(told[:, None], held, np.nan)[:, None], size[:, None]

    # -- predicting

    @named_publicly
    @between_calls
    def decision_function(self, X: Rows) -> np.ndarray:
        """Decision values: the confidence for each class, in units of the loss's argument.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_labels)
            With two classes, positive values mean the second class. With several labels, positive values mean that the
            row has the label.
        """
        return self._respond("decision_function", self._decision(X))

    def _respond(self, method, decision):
        """Result of ``method`` for the given decision values."""
        if method == "predict":
            return self._interpret(decision)
        if method == "decision_function":
            return decision[:, 0] if decision.shape[1] == 1 else decision
        return self._probabilities(decision)

    @named_publicly
    @between_calls
    def predict(self, X: Rows) -> np.ndarray:
        """Class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            Entries of ``classes_``; with several labels, 1 for the labels that the row has and 0 for the others.
        """
        return self._interpret(self._decision(X))

    def _interpret(self, decision):
        """Predictions for the given decision values."""
        if self._has_labels:
            return (decision > 0).astype(self.classes_.dtype)
        codes = (decision > 0).ravel().astype(int) if decision.shape[1] == 1 else decision.argmax(axis=1)
        return self.classes_[codes]

    def _targets_of_heads(self, encoded):
        """1 for the class of each head, -1 for others."""
        if encoded.ndim == 2:
            return encoded
        return np.where(encoded[:, None] == (np.arange(self._n_targets) if self._n_targets > 1 else [1]), 1.0, -1.0)

    def _constant_loss(self, encoded, weight, rows):
        """Mean loss, over rows and heads, of the best constant decision values."""
        rows = slice(None) if rows is None else rows
        weight = None if weight is None else weight[rows]
        if encoded.ndim == 2:
            shares = 0.5 + 0.5 * np.average(encoded[rows], axis=0, weights=weight)
        else:
            shares = np.bincount(encoded[rows], weight, len(self.classes_))
            shares = shares / shares.sum()
            shares = shares if len(shares) > 2 else shares[1:]
        loss = self._loss()
        if loss.coupled:
            return float(entropy(shares))

        def mean(p, share):
            """Mean loss of ``p`` if this share of the targets is 1, the rest -1."""
            return share * loss.value(p, 1.0) + (1.0 - share) * loss.value(p, -1.0)

        options = {"bounds": (-40.0, 40.0), "method": "bounded"}
        return float(np.mean([minimize_scalar(mean, args=(share,), **options).fun for share in shares]))

    @available_if(_has_probabilities)
    @named_publicly
    @between_calls
    def predict_proba(self, X: Rows) -> np.ndarray:
        """Probability of each class, for the losses ``"log_loss"`` and ``"modified_huber"`` or with ``calibration``.

        With several labels, this is the probability that each label is 1.

        With ``calibration="progressive"``, probabilities are ``softmax(a z + b)`` of the decision values ``z``, with
        ``a`` and ``b`` learnt along the way. `predict` uses ``z`` alone, so it may name a class other than the most
        probable one; this does not happen with the log loss without ``class_weight``.

        Without ``calibration`` and with more than two classes, probabilities are in proportion to
        ``exp(decision_function(X))``. For classes learnt one against the rest, they are the probabilities of each class
        divided by their sum, or all equal if each is 0.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples, n_labels)
            In the order of ``classes_``.
        """
        return self._respond("predict_proba", self._decision(X))

    def _calibrated_line(self, coef, intercept):
        """Weights and intercepts whose softmax or logistic function is the calibrated probability."""
        if len(coef) > 1 and self.loss == "log_loss" and not self._state.rule.coupled:
            raise ValueError(
                f"no linear model of scikit-learn has the probabilities of this {type(self).__name__}, as calibration="
                "'progressive' multiplies logarithms of those of each class against the rest: use multi_class="
                "'multinomial', or sklearn_nag.io.to_onnx."
            )
        factor, offset = probabilities.line(self._known(self._evidence), self._calibrated["has_unit"])
        offset = np.diff(offset) if len(coef) == 1 else offset
        return factor * coef, factor * intercept + offset

    def _log_calibrated(self, decision):
        known, has_unit = self._known(self._evidence), self._calibrated["has_unit"]
        return probabilities.log_probability(known, self._logits(decision), has_unit)

    def _probabilities(self, decision):
        if self.calibration is not None:
            return np.exp(self._log_calibrated(decision))
        if decision.shape[1] == 1:
            decision = np.concatenate([-decision, decision], axis=1)
        elif self._state.rule.coupled:
            with np.errstate(over="ignore"):  # in differences of decision values near the ends of the range
                return softmax(decision, axis=1)
        if self.loss == "log_loss":
            probability = expit(decision)
        else:
            probability = (np.clip(decision, -1.0, 1.0) + 1.0) / 2.0
        if len(self.classes_) == 2 or self._has_labels:
            return probability
        total = probability.sum(axis=1, keepdims=True)
        return np.where(total > 0, probability / np.where(total > 0, total, 1.0), 1.0 / len(self.classes_))

    @available_if(_has_sets)
    @named_publicly
    @between_calls
    def predict_set(self, X: Rows, coverage: float | ArrayLike = 0.9) -> np.ndarray:
        """For each row, a set of classes that contains the true class with the given probability.

        For ``calibration="progressive"`` only. A class is in the set if its probability is above a threshold. The
        threshold is a quantile of the probabilities that past rows' classes had before the rows were learnt. It is
        updated with each row so that, in the long run, sets contain the class at least as often as requested, as for
        `NAGRegressor.predict_interval`. The most probable class is always in the set. If that class alone is correct
        more often than requested, so are the sets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        coverage : float or array-like of shape (n_coverages,), default=0.9
            Probability that a set contains the class, between 0 and 1; or several such probabilities.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_classes) or (n_samples, n_classes, n_coverages)
            Which classes are in the set, in the order of ``classes_``; larger coverages give larger sets. All classes
            are in it before the model has seen ``1 / (1 - coverage)`` rows, and for coverages above 0.999.

        Raises
        ------
        NotFittedError
            Before fitting.
        ValueError
            For invalid rows, and for coverages out of range.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from sklearn.utils import shuffle
        >>> from sklearn_nag import NAGClassifier
        >>> X, y = shuffle(*load_digits(return_X_y=True), random_state=0)
        >>> clf = NAGClassifier(calibration="progressive").partial_fit(X[:1500], y[:1500], classes=range(10))
        >>> sets = clf.predict_set(X[1500:], coverage=0.95)
        >>> sets.shape
        (297, 10)
        >>> bool(sets[range(297), y[1500:]].mean() > 0.9)
        True
        """
        coverages = check_coverage(coverage)
        known, log_p = self._known(self._evidence), self._log_calibrated(self._decision(X))
        is_top = np.arange(log_p.shape[1]) == log_p.argmax(axis=1)[:, None]
        sets = is_top[:, :, None] | (-log_p[:, :, None] <= quantiles.widths(known.surprise, coverages)[0])
        return sets if np.ndim(coverage) else sets[..., 0]

    @available_if(_has_probabilities)
    @named_publicly
    def predict_log_proba(self, X: Rows) -> np.ndarray:
        """Logarithm of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples, n_labels)
            In the order of ``classes_``; ``-inf`` if the probability is 0.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self.class_weight is None and self.calibration is None
        return tags
