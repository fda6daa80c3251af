"""Conversion of fitted models to scikit-learn's, which need no installation of this package."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import (
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    SGDClassifier,
    TweedieRegressor,
)

from ._calls import between_calls
from ._parameters import check_flag
from ._reading import names_of_features
from ._validation import check_fitted

Classifier: TypeAlias = LogisticRegression | SGDClassifier
OfRates: TypeAlias = PoissonRegressor | GammaRegressor | TweedieRegressor
Regressor: TypeAlias = LinearRegression | OfRates | TransformedTargetRegressor


class ExportableMixin:
    """Mixin for conversion to scikit-learn's models."""

    @between_calls
    def to_sklearn(self: Any, *, linear: bool = False) -> Classifier | Regressor:
        """Convert to a fitted scikit-learn estimator that makes the same predictions, up to rounding.

        With ``calibration``, it is the probabilities that are the same, not always the predicted class. Use it for
        prediction only: its other parameters have their default values, and training would not continue from this
        model.

        Parameters
        ----------
        linear : bool, default=False
            Whether to return only the linear model, with its ``coef_``, for regressors that clip predictions, too.

        Returns
        -------
        LogisticRegression, SGDClassifier, LinearRegression or TransformedTargetRegressor
            Or PoissonRegressor, GammaRegressor or TweedieRegressor, as listed in :ref:`after_training`.
            TransformedTargetRegressor clips predictions in its ``inverse_func``. With ``calibration``, the estimator
            predicts the most probable class. For the log loss of every class against the rest, SGDClassifier returns
            NaN where every class has a probability of 0.

        Raises
        ------
        NotFittedError
            Before fitting.
        ValueError
            If there is no equivalent estimator: for ``calibration`` of the log loss of every class against the rest,
            for several labels, and for several outputs with a log link. Also if weights in raw units would lose digits,
            because the mean of a feature is too far from 0 or a weight is too large or small; the error names it.

        Warns
        -----
        UserWarning
            With ``linear=True``, for a regressor that clips: the range to which the linear model does not clip.
            Otherwise, with ``half_life="auto"``: predictions differ if some half-lives reach the ends of the range,
            because this model clips each half-life's prediction and the exported model clips the mixture.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from sklearn_nag import NAGClassifier
        >>> X, y = load_wine(return_X_y=True)
        >>> clf = NAGClassifier(random_state=0).fit(X, y)
        >>> exported = clf.to_sklearn()
        >>> exported
        LogisticRegression()
        >>> bool(abs(exported.predict_proba(X) - clf.predict_proba(X)).max() < 1e-12)
        True
        """
        check_flag("linear", linear)
        check_fitted(self)
        if is_classifier(self) and self._has_labels:
            raise ValueError(
                "no linear model of scikit-learn has several labels; make one for each label, with coef_[k] and "
                "intercept_[k]."
            )
        coef, intercept, reach = self._state.linear()
        if not reach:
            raise ValueError(
                f"no model with weights in raw units predicts the same as this {type(self).__name__}: "
                f"{self._why_not_exact()}"
            )
        coef, intercept = coef.copy(), intercept.copy()
        calibrated = is_classifier(self) and self.calibration is not None
        if calibrated:
            coef, intercept = self._calibrated_line(coef, intercept)
        if not is_classifier(self):
            model = (
                self._of_rates() if self._predicts_logarithms else LinearRegression(fit_intercept=self.fit_intercept)
            )
            flat = self._flat_coef
            model.coef_, model.intercept_ = (coef[0], intercept[0]) if flat else (coef, intercept)
        else:
            if calibrated or (self.loss == "log_loss" and (len(coef) == 1 or self._state.rule.coupled)):
                model = LogisticRegression(fit_intercept=self.fit_intercept)
                model.n_iter_ = np.array([self._n_passes()], dtype=np.int32)
            else:
                model = SGDClassifier(loss=self.loss, fit_intercept=self.fit_intercept)
                model.n_iter_, model.t_ = self._n_passes(), 1.0 + self.t_
            model.classes_, model.coef_, model.intercept_ = self.classes_.copy(), coef, intercept
        model.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = self.feature_names_in_.copy()
        ends = self._state.clip_range()
        if ends is None:
            return model
        if not is_classifier(self):
            ends = tuple(map(self._mean, ends))
        if not linear:
            warn_of_clipping_apart(self)
            return _within(model, *ends)
        low, high = (np.ravel(end) for end in ends)
        warnings.warn(
            f"the {type(model).__name__} does not clip its predictions, whereas this {type(self).__name__} clips them "
            f"to the range from {few_numbers(low)} to {few_numbers(high)}.",
            UserWarning,
            stacklevel=3,
        )
        return model

    def _of_rates(self):
        """A scikit-learn model with a log link, ready to get weights and intercept."""
        if not self._flat_coef:
            raise ValueError(
                f"scikit-learn has no regressor with loss={self.loss!r} for several outputs: learn each by a model of "
                "its own, or use sklearn_nag.io.to_onnx."
            )
        options = {"alpha": 0.0, "max_iter": 1, "fit_intercept": self.fit_intercept}
        if self.loss == "tweedie":
            model = TweedieRegressor(power=float(self.power), link="log", **options)
        else:
            model = {"gamma": GammaRegressor}.get(self.loss, PoissonRegressor)(**options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(np.zeros((1, self.n_features_in_)), np.ones(1))  # fitting sets its link

    def _n_passes(self):
        return getattr(self, "n_iter_", 1)

    def _why_not_exact(self):
        """Why weights in raw units do not reproduce predictions, and what helps."""
        state, n_features = self._state, self.n_features_in_
        u, names = state.unit_free_weight()[:, :n_features], names_of_features(self)
        far = state.far()[:n_features] & (u != 0).any(axis=0)
        if far.any():
            first = int(np.argmax(far))
            others = f" (one of {int(far.sum())} such features)" if far.sum() > 1 else ""
            return (
                f"the mean of feature {names[first]!r}, {self.mean_[first]:.6g}, is too far from 0 for its scale, "
                f"{self.scale_[first]:.3g}{others}, so digits would be lost; subtract a number near the mean from the "
                "rows before they are learnt, or use sklearn_nag.io.to_onnx, which subtracts the mean in its graph."
            )
        size = np.abs(state.linear()[0])
        bad = ((u != 0) & ((size < np.finfo(float).tiny) | (size >= np.finfo(float).max))).any(axis=0)
        which = f"a weight, that of feature {names[int(np.argmax(bad))]!r}," if bad.any() else "the intercept"
        return f"{which} is beyond the normal range of float64; use another unit for it or for the target."


def warn_of_clipping_apart(estimator):
    """Warn if a fitted estimator clips several models and then mixes them: the export clips the mixture."""
    if estimator._state.others:
        warnings.warn(
            f"this {type(estimator).__name__} clips what each half-life predicts before mixing it, whereas the "
            "exported model clips the mixture: predictions differ if some reach the ends of the range of the targets.",
            UserWarning,
            stacklevel=4,
        )


def few_numbers(numbers):
    """Numbers as text: at most the first three."""
    numbers = np.where(np.abs(numbers) < np.finfo(np.float64).max, numbers, np.copysign(np.inf, numbers))
    return ", ".join(f"{number:.6g}" for number in numbers[:3]) + ", ..." * (len(numbers) > 3)


def _within(model, low, high):
    """A fitted estimator with the predictions of a regressor, clipped to between ``low`` and ``high``."""
    clip = partial(np.clip, a_min=low, a_max=high)
    clipped = TransformedTargetRegressor(clone(model), func=np.positive, inverse_func=clip, check_inverse=False)
    y = np.ones((1, *np.shape(model.intercept_)))
    clipped.fit(np.zeros((1, model.n_features_in_)), y)  # fitting sets the shape of targets
    clipped.regressor_ = model
    clipped.transformer_.set_params(validate=False)  # because a rate may be infinite before it is clipped
    clipped.regressor.set_params(**model.get_params())
    if hasattr(model, "feature_names_in_"):
        clipped.feature_names_in_ = model.feature_names_in_
    return clipped
