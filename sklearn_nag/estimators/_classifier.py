"""What classifiers share: class targets, and what decision values say of them."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from scipy.special import expit, softmax
from scipy.stats import entropy
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from .. import losses
from .._typing import available_if
from ._locks import between_calls
from ._online import OnlineLinear
from ._saved import check_known_classes
from ._validation import (
    InvalidParameterError,
    Rows,
    as_given,
    as_labels,
    check_classes,
    check_option,
    class_codes,
    is_finite,
    named_publicly,
    shown,
    two_or_more,
    unchanged_on_error,
)


def _has_probabilities(estimator):
    if estimator.loss in ("log_loss", "modified_huber"):
        return True
    raise AttributeError(
        f"probability estimates are not available for loss={estimator.loss!r}: use loss='log_loss' or "
        "'modified_huber', or wrap the estimator in sklearn.calibration.CalibratedClassifierCV."
    )


def _mean_of_two(loss, share, p):
    """Mean loss of ``p`` where 1 has a share of the targets, else -1."""
    return share * loss.value(p, 1.0) + (1.0 - share) * loss.value(p, -1.0)


class OnlineClassifier(ClassifierMixin, OnlineLinear):
    """Base of the classifiers: one decision value for two classes, else one for each class."""

    # Regression losses as SGDClassifier's, for targets of -1 and 1; the others would tell no more than the hinge does.
    _losses: ClassVar[dict[str, type[losses.Loss]]] = losses.CLASSIFICATION | {
        name: losses.REGRESSION[name]
        for name in ("squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive")
    }
    _metric = staticmethod(accuracy_score)
    _target_options: ClassVar[dict[str, Any]] = {}
    _target_unit = False
    _tol_is_relative = False
    _useless_from = np.inf  # no loss is so large that classes must be told apart badly
    _stratified = True
    _flat_coef = False

    # -- parameters

    @property
    def _fixed(self):
        return (*super()._fixed, "loss", "multi_class")

    def _breaks(self, name, old, new):
        if name in ("loss", "multi_class"):  # they may change, but not between classes learnt together and apart
            return self._loss().coupled != self._state.rule.coupled
        return super()._breaks(name, old, new)

    def _check_parameters(self):
        super()._check_parameters()
        check_option("multi_class", self.multi_class, ("multinomial", "ovr"))
        if not isinstance(self.class_weight, dict):
            check_option("class_weight", self.class_weight, ("balanced", None))
            return
        for label, weight in self.class_weight.items():
            if not (is_finite(weight) and weight >= 0):
                allowed = "a dict of finite numbers that are not negative"
                raise InvalidParameterError("class_weight", allowed, f"{shown(weight)} for class {as_given(label)}")

    def _loss(self):
        if self.loss == "log_loss" and self.multi_class == "multinomial" and len(self.classes_) > 2:
            return losses.Softmax()
        return super()._loss()

    # -- learning

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
        self._check_no_early_stopping()
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight {self.class_weight!r} is not supported for partial_fit. In order to use 'balanced' "
                "weights, use compute_class_weight('balanced', classes=classes, y=y). In place of y you can use a "
                "large enough sample of the full training set target to properly estimate the class frequency "
                "distributions. Pass the resulting weights as the class_weight parameter. It takes them as a dict, "
                "dict(zip(classes, weights))."
            )
        known = self.__sklearn_is_fitted__()
        if classes is None and not known:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        if classes is not None and not (known and np.array_equal(classes, self.classes_)):
            classes = check_classes(classes)
            if known and not np.array_equal(classes, self.classes_):
                raise ValueError(f"classes is {classes} but was {self.classes_} at the first call.")
            self.classes_ = classes

    @property
    def _n_targets(self):
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _check_targets_of_model(self):
        check_known_classes(getattr(self, "classes_", None))

    def _check_targets(self, y, first):
        """``y`` as a validated array; ``first`` for a new model."""
        y = as_labels(y, "y")
        if y.dtype == object:
            try:
                check_classification_targets(y)
            except TypeError:
                raise ValueError(f"y has labels of another kind than its first one, {as_given(y[0])}.") from None
        return y

    def _see_all_targets(self, y, first):
        """Check the targets of a whole `fit`, and find the classes of a new model."""
        check_classification_targets(y)
        if first:
            self.classes_ = two_or_more(np.unique(y))

    def _plain_targets(self, y, n_rows):
        """Whether the array ``y`` needs no validation."""
        return y.shape == (n_rows,) and y.dtype.kind == self.classes_.dtype.kind in "biuSU"

    def _encode(self, y):
        """Targets as the kernel takes them: the place of each class."""
        return class_codes(y, self.classes_)

    def _weigh(self, y, weight):
        """Weights of the rows, multiplied by those of their classes; None where all are 1."""
        if self.class_weight is None:
            return weight
        of_class = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        return of_class[self._encode(y)] * (1.0 if weight is None else weight)

    # -- predicting

    @named_publicly
    @between_calls
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
        """What ``method`` makes of decision values."""
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
        ndarray of shape (n_samples,)
            Entries of ``classes_``.
        """
        return self._interpret(self._decision(X))

    def _interpret(self, decision):
        """The predictions that decision values stand for."""
        codes = (decision[:, 0] > 0).astype(int) if decision.shape[1] == 1 else decision.argmax(axis=1)
        return self.classes_[codes]

    def _targets_of_heads(self, encoded):
        """1 for the class of each head, -1 for others."""
        return np.where(encoded[:, None] == (np.arange(self._n_targets) if self._n_targets > 1 else [1]), 1.0, -1.0)

    def _constant_loss(self, encoded, weight, rows):
        """Mean loss, over rows and heads, of the best decision values that do not depend on the features."""
        rows = slice(None) if rows is None else rows
        weight = None if weight is None else weight[rows]
        shares = np.bincount(encoded[rows], weight, len(self.classes_))
        shares = shares / shares.sum()
        loss = self._loss()
        if loss.coupled:
            return float(entropy(shares))

        def of_head(share):
            """The smallest mean loss where 1 has this share of the targets, else -1."""
            mean = partial(_mean_of_two, loss, share)
            return minimize_scalar(mean, bounds=(-40.0, 40.0), method="bounded").fun

        return float(np.mean([of_head(share) for share in (shares if len(shares) > 2 else shares[1:])]))

    @available_if(_has_probabilities)
    @named_publicly
    @between_calls
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
    @named_publicly
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
