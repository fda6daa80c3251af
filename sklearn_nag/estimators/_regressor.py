"""What regressors share: one numeric target for each row, or several."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import column_or_1d

from .. import losses
from ._locks import between_calls
from ._online import OnlineLinear
from ._saved import check_outputs
from ._validation import (
    InvalidParameterError,
    Rows,
    as_float,
    as_floats,
    check_finite,
    check_number,
    check_option,
    is_finite,
    named_publicly,
    shown,
    unchanged_on_error,
)


def _check_clip(clip):
    """Raise unless ``clip`` is one of the values that it may have."""
    if isinstance(clip, tuple | list):
        if len(clip) == 2 and all(map(is_finite, clip)) and as_float(clip[0]) < as_float(clip[1]):
            return
    elif clip is None or (isinstance(clip, str) and clip == "targets"):
        return
    allowed = "None, 'targets' or two finite numbers (low, high) with low < high"
    raise InvalidParameterError("clip", allowed, shown(clip))


class OnlineRegressor(RegressorMixin, OnlineLinear):
    """Base of the regressors: one decision value, which is the prediction, for each output."""

    _losses = losses.REGRESSION
    _metric = staticmethod(r2_score)
    _target_options: ClassVar[dict[str, Any]] = {"y_numeric": True, "multi_output": True}
    _tol_is_relative = True
    _useless_from = 2.0  # times the loss of predicting the mean
    _stratified = False

    # -- parameters

    @property
    def _fixed(self):
        return (*super()._fixed, "target_normalization", "clip")

    def _breaks(self, name, old, new):
        if name == "clip":  # the range of the targets is not kept where nothing needs it
            return old != new and "targets" in (old, new) and not self._target_unit
        return super()._breaks(name, old, new)

    @property
    def _target_unit(self):
        return self.target_normalization == "standard"

    @property
    def _clip(self):
        return tuple(map(float, self.clip)) if isinstance(self.clip, tuple | list) else self.clip

    def _check_parameters(self):
        super()._check_parameters()
        _check_clip(self.clip)
        check_option("target_normalization", self.target_normalization, ("standard", None))
        check_number("quantile", self.quantile, min_val=0, max_val=1, include_boundaries="neither")

    # -- learning

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
        self._check_no_early_stopping()

    @property
    def _n_targets(self):
        return self._n_outputs or 1

    def _check_targets_of_model(self):
        check_outputs(getattr(self, "_n_outputs", 0))

    def _check_targets(self, y, first):
        """``y`` as a validated array; ``first`` for a new model, which is made for targets of this shape."""
        y = as_floats(y, "y")
        check_finite(y, "y", type(self).__name__)  # objects and whole numbers, too
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        n_outputs = y.shape[1] if y.ndim == 2 else None
        if first:
            self._n_outputs = n_outputs
        elif n_outputs != self._n_outputs:
            made_for = "(n_samples,)" if self._n_outputs is None else f"(n_samples, {self._n_outputs})"
            raise ValueError(f"y has shape {y.shape}; this model was made for targets of shape {made_for}.")
        return y

    def _see_all_targets(self, y, first):
        """All that matters is known from the shape of the targets."""

    def _plain_targets(self, y, n_rows):
        """Whether the array ``y`` needs no validation."""
        shape = (n_rows,) if self._n_outputs is None else (n_rows, self._n_outputs)
        return y.shape == shape and y.dtype == np.float64 and np.isfinite(y).all()

    def _encode(self, y):
        """Targets as the kernel takes them: one column for each output."""
        return y if y.ndim == 2 else y[:, None]

    def _weigh(self, y, weight):
        """Weights of the rows, which do not depend on targets."""
        return weight

    # -- predicting

    @named_publicly
    @between_calls
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

    @property
    def _flat_coef(self):
        return self._n_outputs is None

    def _interpret(self, decision):
        """The predictions that decision values stand for, in the shape of the targets."""
        return decision[:, 0] if self._n_outputs is None else decision

    def _targets_of_heads(self, encoded):
        """The targets themselves."""
        return encoded

    def _constant_loss(self, encoded, weight, rows):
        """Mean loss over rows and outputs of predicting the mean of each output."""
        rows = slice(None) if rows is None else rows
        weight = None if weight is None else weight[rows]
        with np.errstate(all="ignore"):
            mean = np.average(encoded[rows], axis=0, weights=weight)
            spread = np.sqrt(np.average((encoded[rows] - mean) ** 2, axis=0, weights=weight))
            unit = spread if self._target_unit else 1.0
            return float(np.average(self._loss().value(mean, encoded[rows], unit).mean(axis=1), weights=weight))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
