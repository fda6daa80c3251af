"""Base of the regressors: one numeric target per row, or several."""

from __future__ import annotations

import warnings
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import check_consistent_length, column_or_1d

from .. import kernels, losses
from ..uncertainty import quantiles
from ._calls import between_calls, named_publicly, unchanged_on_error
from ._exporting import few_numbers
from ._online import OnlineLinear
from ._parameters import InvalidParameterError, as_float, check_number, check_option, is_finite, shown
from ._rates import check_has_mean, d2_score, has_mean
from ._saved import check_outputs
from ._validation import Rows, as_floats, check_coverage, check_finite

FEW_HELD, SHARE_HELD = 5, 0.1  # clipped predictions that are no reason to warn
FAR = 0.25  # of the range: how far beyond it predictions would be
AT_ENDS = 0.7  # of `share_at_ends`: from here on, targets are taken to be like 0 and 1


class ClippingWarning(UserWarning):
    """Warns that many predictions are clipped to the range of the targets and would otherwise be far beyond it.

    If the rows are outliers, this is intended: filter the warning with
    ``warnings.simplefilter("ignore", ClippingWarning)``. If the targets have a trend that should continue, see
    :ref:`clipping`.
    """


def _check_clip(clip):
    """Raise unless ``clip`` is an allowed value."""
    if isinstance(clip, tuple | list) or (isinstance(clip, np.ndarray) and clip.ndim == 1):
        if (
            len(clip) == 2
            and all(isinstance(end, Real) and (is_finite(end) or abs(end) == np.inf) for end in clip)
            and as_float(clip[0]) < as_float(clip[1])
        ):
            return
    elif clip is None or (isinstance(clip, str) and clip == "targets"):
        return
    allowed = "None, 'targets' or two numbers (low, high) with low < high, either of which may be infinite"
    raise InvalidParameterError("clip", allowed, shown(clip))


def _most_true(*sides):
    """Largest number of true entries in a column of these arrays."""
    return max(np.count_nonzero(side, axis=0).max() for side in sides)


class TakesNumbers(RegressorMixin):
    """Base of estimators of one or several numbers per row, which ``_check_means`` accepts."""

    _target_options: ClassVar[dict[str, Any]] = {"y_numeric": True, "multi_output": True}
    _n_outputs: int | None  # None for one-dimensional targets

    def _check_targets(self, y, first):
        """``y`` as a validated array; a new model (``first``) takes its shape."""
        y = as_floats(y, "y")
        check_finite(y, "y", type(self).__name__)  # objects, too
        if y.ndim == 2 and y.shape[1] == 1 and (first or self._n_outputs != 1):  # 1 in older models
            y = column_or_1d(y, warn=True)
        n_outputs = y.shape[1] if y.ndim == 2 else None
        if first:
            self._n_outputs = n_outputs
        elif n_outputs != self._n_outputs:
            made_for = "(n_samples,)" if self._n_outputs is None else f"(n_samples, {self._n_outputs})"
            raise ValueError(f"y has shape {y.shape}; this model was made for targets of shape {made_for}.")
        self._check_means(y)
        return y

    def _see_all_targets(self, y, weight=None, first=True):
        """Do nothing: the shape of the targets tells all that matters."""

    def _in_shape(self, values):
        """Values per row and output, in the shape of the targets."""
        return values[:, 0] if self._n_outputs is None else values


class OnlineRegressor(TakesNumbers, OnlineLinear):
    """Base of the regressors: one decision value per output, the prediction or its logarithm."""

    _losses: ClassVar[dict[str, type[losses.Loss]]] = losses.REGRESSION | losses.LOG_LINK
    _added_parameters: ClassVar[dict[str, Any]] = {"power": 1.5}
    _kind_of_target = "output"
    _tol_is_relative = True
    _useless_from = 2.0  # times the loss of predicting the mean
    _stratified = False

    # -- parameters

    @property
    def _fixed(self):
        return (*super()._fixed, "loss", "target_normalization", "clip")

    def _breaks(self, name, old, new):
        if name == "loss":  # may change, but not the meaning of a prediction
            return self._loss().log_link != self._state.rule.log_link
        if name == "clip":  # the range of the targets is not kept if nothing needs it
            return isinstance(old, str) != isinstance(new, str) and not self._target_unit
        return super()._breaks(name, old, new)

    @property
    def _target_unit(self):
        if self._log_link and not self.fit_intercept:
            return False
        return self.target_normalization == "standard"

    @property
    def _log_link(self):
        """Whether decision values are logarithms of predictions."""
        return self._loss_name in losses.LOG_LINK

    @property
    def _predicts_logarithms(self):
        """Like `_log_link`, but for the fitted model, whatever ``loss`` is now."""
        return self._state.rule.log_link if self.__sklearn_is_fitted__() else self._log_link

    @property
    def _clips_to_numbers(self):
        return not (self.clip is None or isinstance(self.clip, str))

    @property
    def _clip(self):
        if not self._clips_to_numbers:
            return self.clip
        largest = np.finfo(np.float64).max  # as wide as infinity, but no difference is NaN
        ends = tuple(min(max(as_float(end), -largest), largest) for end in self.clip)
        return tuple(float(np.log(end)) if end > 0 else losses.ZERO for end in ends) if self._log_link else ends

    @property
    def _metric(self):
        return partial(d2_score, self._loss()) if self._log_link else r2_score

    def _check_parameters(self):
        super()._check_parameters()
        _check_clip(self.clip)
        check_option("target_normalization", self.target_normalization, ("standard", None))
        check_number("quantile", self.quantile, min_val=0, max_val=1, include_boundaries="neither")
        check_number("power", self.power, min_val=1, max_val=2)
        if self._log_link and self._clips_to_numbers and not self.clip[1] > 0:
            raise ValueError(f"loss={self.loss!r} predicts above 0, so clip needs high > 0; got {self.clip!r}.")

    # -- learning

    @unchanged_on_error
    def partial_fit(self, X: Rows, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn each row once, in the order given.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, in any units.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Nonnegative weights of the rows; 1 by default. A row of weight 0 is ignored.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        ValueError
            For invalid input or parameters, and for rows that make the model leave the range of float64. The estimator
            is then unchanged.
        """
        self._check_partial_fit()
        self._partial_fit(X, y, sample_weight)
        return self

    def _check_partial_fit(self, classes=None, y=None):
        self._check_changed_parameters()
        self._check_no_early_stopping()

    @property
    def _n_targets(self):
        return self._n_outputs or 1

    @property
    def _names_of_targets(self):
        return np.arange(self._n_targets)

    def _check_targets_of_model(self):
        check_outputs(getattr(self, "_n_outputs", 0))

    def _check_means(self, y):
        if self._log_link:
            check_has_mean(self._loss(), y)

    def _plain_targets(self, y, n_rows):
        """Whether the array ``y`` needs no validation."""
        shape = (n_rows,) if self._n_outputs is None else (n_rows, self._n_outputs)
        plain = y.shape == shape and y.dtype == np.float64 and np.isfinite(y).all()
        return plain and not (self._log_link and not has_mean(self._loss(), y).all())

    def _encode(self, y):
        """Targets for the kernel: one column per output."""
        return y if y.ndim == 2 else y[:, None]

    def _weigh(self, y, weight):
        """Row weights, which do not depend on targets."""
        return weight

    def _see_order(self, y, weight):
        """Take the growth of targets from rows in the given order; they were learnt in another, or repeatedly."""
        self._state.see_growth(self._encode(y), np.ones(len(y)) if weight is None else weight)

    def _judged(self, evidence, played, encoded, weight):
        """Quantiles of the sizes of errors."""
        evidence = quantiles.new(self._n_targets) if evidence is None else evidence
        return quantiles.learn(evidence, self._mean(played), encoded, self._memory)

    def _played_coverage(self, played, y, weight, before, coverages):
        """Whether intervals from before each row was learnt contained its targets, and their widths.

        ``played`` comes from `_play`; ``before`` is the evidence before these rows, None for a new model. Results have
        an axis of coverages, and NaN for rows of weight 0 and the first row of a new model.
        """
        y, played = self._encode(np.asarray(y, dtype=np.float64)), self._mean(played)
        told = np.ones(len(y), dtype=bool) if weight is None else np.asarray(weight) > 0
        if before is None and told.any():
            told[np.argmax(told)] = False
        before = quantiles.new(y.shape[1]) if before is None else before
        held, width = np.full((2, *y.shape, len(coverages)), np.nan)
        half = quantiles.play(before, played[told], y[told], coverages, self._memory)[1]
        low, high = np.moveaxis(self._interval(played[told], half), 2, 0)
        held[told] = (low <= y[told][:, :, None]) & (y[told][:, :, None] <= high)
        with np.errstate(over="ignore"):
            width[told] = high - low
        return held, width

    def _interval(self, middle, width):
        """Intervals of these half-widths, cut to where targets may be."""
        interval = quantiles.about(middle, width)
        if isinstance(self._clip, tuple):
            np.clip(interval, *map(float, self.clip), out=interval)
        return np.maximum(interval, 0.0, out=interval) if self._predicts_logarithms else interval

    def _check_evidence(self):
        quantiles.check("what is known of errors", self._evidence, self._n_targets)

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
            Predictions, with the shape of the targets.
        """
        X, decision = self._decided(X)
        self._warn_if_held(X, decision)
        return self._interpret(decision)

    def _warn_if_held(self, X, decision):
        """Warn if many predictions are clipped to an end of the targets' range, and would be far beyond it.

        A few, such as outliers, are no reason to warn, nor is clipping that is right, as for targets of 0 and 1.
        """
        few = max(FEW_HELD, SHARE_HELD * len(decision))
        ends = self._state.clip_range() if isinstance(self.clip, str) and len(decision) > few else None
        if ends is None or _most_true(decision <= ends[0], decision >= ends[1]) <= few:
            return
        low, high, free = map(self._mean, (*ends, kernels.predict(self._state.unclipped(), X)))
        with np.errstate(over="ignore"):
            far = FAR * (high - low)
            held = _most_true(low - free > far, free - high > far)
        if held > few and not (self._state.share_at_ends() > AT_ENDS).all():
            warnings.warn(
                f"{held} of {len(free)} predictions of this {type(self).__name__} would be far beyond the targets that "
                f"it has learnt, and are clipped to their range, {few_numbers(low)} to {few_numbers(high)}. If that "
                "hides a trend, set clip=None or clip=(low, high); if the rows are outliers, filter ClippingWarning.",
                ClippingWarning,
                stacklevel=5,  # the caller of `predict`, past its decorators
            )

    @named_publicly
    @between_calls
    def predict_interval(
        self, X: Rows, coverage: float | ArrayLike = 0.9, *, method: Literal["progressive", "gaussian"] = "progressive"
    ) -> np.ndarray:
        """Interval for the target of each row that contains it with the given probability.

        Half the width is a quantile of the absolute errors that the model made on rows just before it learnt them. The
        quantile is updated with each row so that, in the long run, intervals contain targets at least as often as
        requested, in whatever order rows come and however they change; see :doc:`/how_sure`.

        Intervals are centred at the output of `predict`, and most have the same width. Rows more than three scales of a
        feature from its mean get intervals that are wider by a factor of ``sqrt(1 + h)``, where ``h`` is the leverage
        of the excess.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        coverage : float or array-like of shape (n_coverages,), default=0.9
            Probability that an interval contains the target, between 0 and 1; or several such probabilities.
        method : {"progressive", "gaussian"}, default="progressive"
            ``"progressive"`` is described above. ``"gaussian"``, for ``update="least_squares"`` of
            :class:`ScaleInvariantRegressor`, uses Student's t distribution, for errors that are independent and normal
            with a common variance. Its intervals are wider for rows far from the others and centred at what `predict`
            would return with ``clip=None``.

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, n_outputs, 2)
            Lower and upper ends in units of the target; for several coverages, of shape (..., 2, n_coverages). Ends are
            infinite before the model has seen ``1 / (1 - coverage)`` errors, and for coverages above 0.999. If ``clip``
            is two numbers, intervals are clipped to them. They are not clipped to the range of the targets so far,
            because the next target may leave it.

        Raises
        ------
        NotFittedError
            Before fitting.
        ValueError
            For invalid rows, coverages out of range, and ``method="gaussian"`` with other updates. Also if no errors
            are known: after weights were set, or for a model saved by a version that did not keep errors.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn_nag import NAGRegressor
        >>> X, y = load_diabetes(return_X_y=True, scaled=False)
        >>> reg = NAGRegressor().partial_fit(X[:300], y[:300])
        >>> low, high = reg.predict_interval(X[300:], coverage=0.9).T
        >>> bool(0.8 < ((low <= y[300:]) & (y[300:] <= high)).mean() < 1.0)
        True
        >>> reg.predict_interval(X[300:], coverage=[0.8, 0.9, 0.95]).shape
        (142, 2, 3)
        """
        coverages = check_coverage(coverage)
        check_option("method", method, ("progressive", "gaussian"))
        X, decision = self._decided(X)  # the same bits as for `predict`
        if method == "gaussian":
            width, decision = self._gaussian_widths(X, coverages), kernels.predict(self._state.unclipped(), X)
        else:
            width = self._widths(X, coverages)
        interval = self._in_shape(self._interval(self._mean(decision), width))
        return interval if np.ndim(coverage) else interval[..., 0]

    def _widths(self, X, coverages):
        """Half-widths of intervals per row, output and coverage."""
        evidence = self._evidence
        if evidence is None and self._state.seen == 0:  # all rows had weight 0
            evidence = quantiles.new(self._n_targets)
        if evidence is None:
            raise ValueError(
                f"this {type(self).__name__} has no record of its errors: it was saved by a version that kept none, or "
                "its weights were set, and it has learnt nothing since. Call partial_fit with some rows first."
            )
        unusual = kernels.excess_leverage(self._state, X)[:, :, None]
        with np.errstate(over="ignore"):
            return quantiles.widths(evidence, coverages) * np.sqrt(1.0 + unusual)

    def _gaussian_widths(self, X, coverages):
        """Like `_widths`, for normal errors."""
        raise ValueError(
            "method='gaussian' is for update='least_squares' of ScaleInvariantRegressor, with "
            "target_normalization='standard' and without half_life."
        )

    @property
    def _flat_coef(self):
        return self._n_outputs is None

    def _interpret(self, decision):
        """Predictions for decision values, in the shape of the targets."""
        return self._in_shape(self._mean(decision))

    def _mean(self, decision):
        """Predictions: decision values, or what they are logarithms of."""
        if not self._predicts_logarithms:
            return decision
        mean = np.exp(np.minimum(decision, losses.MOST_LOG))
        return np.clip(mean, *map(float, self.clip)) if self._clips_to_numbers else mean

    @named_publicly
    def score(self, X: Rows, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Proportion of the variation of the targets that predictions explain; 1 at best, 0 for predicting their mean.

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
        float
            R² of squared errors. For the losses ``"poisson"``, ``"gamma"`` and ``"tweedie"``, D² of the deviance, as
            ``score`` of :class:`sklearn.linear_model.PoissonRegressor`.
        """
        if not (self._log_link and self._predicts_logarithms):
            return super().score(X, y, sample_weight)
        predicted, y = self.predict(X), as_floats(y, "y")
        check_consistent_length(y, predicted, sample_weight)
        return d2_score(self._loss(), self._check_targets(y, False), predicted, sample_weight)

    def _targets_of_heads(self, encoded):
        """The targets themselves."""
        return encoded

    @property
    def _predicts_mean(self):
        """Whether the mean is predicted if features tell nothing, instead of 0."""
        return self.fit_intercept or self._log_link

    def _constant_loss(self, encoded, weight, rows, of_zero=False):
        """Mean loss over rows, per output, of predicting its mean, or 0."""
        rows = slice(None) if rows is None else rows
        weight = None if weight is None else weight[rows]
        with np.errstate(all="ignore"):
            mean = np.average(encoded[rows], axis=0, weights=weight)
            if self._log_link:
                p = np.maximum(np.log(mean), losses.LEAST_LOG) + np.zeros(encoded[rows].shape)
                return np.average(self._loss().value(p, encoded[rows]), axis=0, weights=weight)
            mean = 0.0 * mean if of_zero else mean
            spread = np.sqrt(np.average((encoded[rows] - mean) ** 2, axis=0, weights=weight))
            unit = spread if self._target_unit else 1.0
            return np.average(self._loss().value(mean, encoded[rows], unit), axis=0, weights=weight)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.positive_only = self._log_link
        return tags
