"""Learners without a learning rate, after Kotłowski (2017) and Kempka, Kotłowski and Warmuth (2019)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from .. import kernels
from .._decorators import share
from ..losses import ClassificationLoss, RegressionLoss
from . import _shared_docs
from ._classifier import OnlineClassifier
from ._online import OnlineLinear
from ._parameters import check_half_life, check_number, check_option
from ._regressor import OnlineRegressor

LEAST_ALPHA = 9.0 / 8.0  # the theorem needs more


class _InvariantRule(OnlineLinear):
    """Base of the scale-invariant learners: translates parameters into a rule of the kernel."""

    _updates: tuple[str, ...] = ("auto", "potential", "scinol1", "scinol2")

    def _check_parameters(self):
        check_option("invariance", self.invariance, ("coordinatewise", "full"))
        check_option("update", self.update, self._updates)
        average = bool(self.average) if isinstance(self.average, np.bool_) else self.average
        check_option("average", average, (True, False, "auto"))
        super()._check_parameters()  # after the others, on which the loss depends
        allowed = tuple(name for name in self._updates if name not in ("scinol1", "scinol2"))
        if self.invariance == "full" and self.update not in allowed:
            raise ValueError(f"invariance='full' needs update={' or '.join(map(repr, allowed))}; got {self.update!r}.")
        if self.invariance == "full" and self.fit_intercept and not self.centering:
            raise ValueError(
                "centering=False does not go with invariance='full' and fit_intercept, for which predictions do not "
                "change when the origins of features move. Use centering='auto'."
            )
        check_number("potential_alpha", self.potential_alpha, min_val=LEAST_ALPHA, include_boundaries="neither")
        check_number("epsilon", self.epsilon, min_val=0, options=self._epsilon_options)

    @property
    def _update(self):
        """The update that the parameters select."""
        if self.update != "auto":
            return self.update
        if self.invariance != "full":
            return "scinol2"
        exact = "least_squares" in self._updates and self._loss_name == "squared_error"
        return "least_squares" if exact else "potential"

    @property
    def _fixed(self):
        return (*super()._fixed, "invariance", "update")

    def _breaks(self, name, old, new):
        if name == "update":  # "auto" may be replaced by the update that it stands for
            return self._state.rule.update != self._update
        return super()._breaks(name, old, new)

    _selective = True

    def _centred(self, is_sparse):
        if self.invariance == "full" and is_sparse:
            raise ValueError(
                "invariance='full' needs dense X, but text, hashed words, curves and cells make sparse rows; "
                "invariance='coordinatewise' takes these as well."
            )
        return super()._centred(is_sparse)

    def _rule(self, centred):
        shared = {
            "n_targets": self._n_targets,
            "alpha": float(self.potential_alpha),
            "averaged": bool(self.average) and self._update != "least_squares",
            **self._of_all_rules(centred),
        }
        if self.invariance == "full":
            return kernels.full.Rule(update=self._update, half_life=self._half_life, **shared)
        judged = isinstance(self.average, str) and self._update != "potential"
        return kernels.coordinatewise.Rule(update=self._update, judged=judged, **shared)

    _epsilon_options: ClassVar[tuple[str, ...]] = ()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.invariance != "full"
        return tags


@share(**_shared_docs.ALL, **_shared_docs.CLASSIFIER, **_shared_docs.SCALE_INVARIANT)
class ScaleInvariantClassifier(_InvariantRule, OnlineClassifier):
    """Online linear classifier without a learning rate, for features in any units.

    The weights are a function of the sums of past gradients rather than the result of a sequence of steps, so there is
    no learning rate to choose. Except for ``"scinol2"``, the default, regret is bounded against every comparator,
    however large. ``partial_fit`` makes one pass in the order given; ``fit`` makes passes until the loss settles. Read
    more in the :ref:`user guide <scale_invariant>`.

    Parameters
    ----------
    loss : {"log_loss", "hinge", "squared_hinge", "modified_huber", "perceptron", "squared_error", "huber", \
"epsilon_insensitive", "squared_epsilon_insensitive"}, default="log_loss"
        Loss to minimise. Probabilities need ``"log_loss"`` or ``"modified_huber"``, or ``calibration``. The last four
        are those of :class:`ScaleInvariantRegressor`, with targets -1 and 1. The theorems need a bound on the gradient.
        The squared losses have none, so their gradient is divided by the largest so far.
    {invariance}
    {update}
    {potential_alpha}
    {centering}
    {multi_class}
    epsilon : float, default=0.1
        Error above which ``"huber"`` becomes linear, and below which the epsilon-insensitive losses are 0.
    {fit_intercept}
    {max_iter}
    {tol}
    {shuffle}
    {verbose}
    {n_jobs}
    {random_state}
    {early_stopping}
    {validation_fraction}
    {n_iter_no_change}
    {class_weight}
    {calibration}
    {warm_start}
    {average}

    Attributes
    ----------
    {classes_}
    {coef_}
    {intercept_}
    {feature_importances_}
    {scale_}
    {mean_}
    {progressive_loss_}
    {t_}
    {n_iter_}
    {validation_losses_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    ScaleInvariantRegressor : The same for regression.
    NAGClassifier : Normalized adaptive gradients; faster, with a learning rate.

    Notes
    -----
    With ``invariance="full"``, a feature that has depended linearly on earlier columns in all rows so far has weight 0.
    For rows in the span of the rows learnt (with ``fit_intercept``, sums of multiples of them whose coefficients add up
    to 1), this changes no decision value. For other rows, nothing has been learnt about some direction, and decision
    values depend on the order of the columns.

    A row of weight ``c`` counts as if its features and its gradient were multiplied by ``sqrt(c / C)``, where ``C`` is
    the largest weight so far. Heavy rows therefore cannot break the bounds; equal weights change nothing.

    References
    ----------
    .. [1] Kotłowski, "Scale-invariant unconstrained online learning", ALT 2017, Algorithms 1 (coordinatewise) and 2
       (full). https://arxiv.org/abs/1708.07042
    .. [2] Kempka, Kotłowski and Warmuth, "Adaptive scale-invariant online algorithms for learning linear models",
       ICML 2019, Algorithms 1 and 2. https://arxiv.org/abs/1902.07528

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn_nag import ScaleInvariantClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> clf = ScaleInvariantClassifier(random_state=0).fit(X_train, y_train)
    >>> clf.score(X_test, y_test) > 0.95
    True
    """

    def __init__(
        self,
        loss: ClassificationLoss = "log_loss",
        *,
        invariance: Literal["coordinatewise", "full"] = "coordinatewise",
        update: Literal["auto", "potential", "scinol1", "scinol2"] = "auto",
        potential_alpha: float = 1.5,
        centering: bool | Literal["auto"] = "auto",
        multi_class: Literal["multinomial", "ovr"] = "multinomial",
        epsilon: float = 0.1,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        early_stopping: bool | Literal["auto"] = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: dict | Literal["balanced"] | None = None,
        calibration: Literal["progressive"] | None = None,
        warm_start: bool = False,
        average: bool | Literal["auto"] = "auto",
    ):
        self.loss = loss
        self.invariance = invariance
        self.update = update
        self.potential_alpha = potential_alpha
        self.centering = centering
        self.multi_class = multi_class
        self.epsilon = epsilon
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.calibration = calibration
        self.warm_start = warm_start
        self.average = average


@share(**_shared_docs.ALL, **_shared_docs.REGRESSOR, **_shared_docs.SCALE_INVARIANT)
class ScaleInvariantRegressor(_InvariantRule, OnlineRegressor):
    """Online linear regression without a learning rate, for features and targets in any units.

    The weights are a function of the sums of past gradients rather than the result of a sequence of steps, so there is
    no learning rate to choose. Except for ``"scinol2"``, the default, regret is bounded against every comparator,
    however large. Several outputs are learnt together in one pass. Read more in the :ref:`user guide
    <scale_invariant>`.

    Parameters
    ----------
    loss : {"auto", "huber", "squared_error", "absolute_error", "epsilon_insensitive", \
"squared_epsilon_insensitive", "quantile", "poisson", "gamma", "tweedie"}, default="auto"
        Loss of each output. ``"auto"``: ``"squared_error"`` if ``update`` can solve it exactly, otherwise ``"huber"``.

        The theorems of the other updates need a bound on the gradient. ``"huber"`` has one and, at two standard
        deviations, predicts the mean nearly as the squared error does. The two squared losses and the last three, which
        are deviances, have none. Their gradient is divided by the largest so far, which no theorem covers and which one
        early outlier can stall. For the deviances, `predict` returns the mean, and one pass of ``"potential"`` learns
        hardly anything; see :ref:`counts`.
    {invariance}
    update : {"auto", "potential", "scinol1", "scinol2", "least_squares"}, default="auto"
        Update rule. ``"potential"`` is the algorithm of [1]_. ``"scinol1"`` and ``"scinol2"`` are the algorithms of
        [2]_, for ``invariance="coordinatewise"`` only. ``"least_squares"``, for ``invariance="full"`` and the squared
        error, maintains the least-squares solution of all rows so far. ``"auto"``: ``"scinol2"`` with
        ``invariance="coordinatewise"``; with ``"full"``, ``"least_squares"`` for the squared error and ``"potential"``
        for other losses.
    {potential_alpha}
    {centering}
    target_normalization : {"standard", None}, default="standard"
        ``"standard"`` measures predictions from the running mean of the target, in units of its running standard
        deviation, so that ``y -> a y + c`` maps predictions to ``a * prediction + c``. Without ``fit_intercept``, the
        root mean square replaces the standard deviation, and the origin stays at 0.
    {clip}
    epsilon : float or "auto", default="auto"
        Error above which ``"huber"`` becomes linear, and below which the epsilon-insensitive losses are 0. It is in
        standard deviations of the target so far or, with ``target_normalization=None``, in the unit of the target.
        ``"auto"``: 2 for ``"huber"``, otherwise 0.1.
    {quantile}
    {power}
    {fit_intercept}
    {max_iter}
    {tol}
    {shuffle}
    {verbose}
    {n_jobs}
    {random_state}
    {early_stopping}
    {validation_fraction}
    {n_iter_no_change}
    {warm_start}
    {average}
    half_life : float or None, default=None
        Total weight of rows, at least 1, after which the influence of a row halves, for ``update="least_squares"``:
        recursive least squares with a forgetting factor, applied in four steps for each half-life. None never forgets.
        A row that weighs as much as ``2 ** k`` half-lives counts for about ``k`` of them. Intervals are then available
        by progressive errors only. See :ref:`forgetting`.

    Attributes
    ----------
    {coef_}
    {intercept_}
    {feature_importances_}
    {scale_}
    {mean_}
    {progressive_loss_}
    {t_}
    {n_iter_}
    {validation_losses_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    ScaleInvariantClassifier : The same for classification.
    NAGRegressor : Normalized adaptive gradients; faster, with a learning rate.

    Notes
    -----
    With ``invariance="full"``, a feature that has depended linearly on earlier columns in all rows so far has weight 0.
    For rows in the span of the rows learnt (with ``fit_intercept``, sums of multiples of them whose coefficients add up
    to 1), this changes no prediction. For other rows, nothing has been learnt about some direction, and predictions
    depend on the order of the columns.

    With ``update="least_squares"``, `fit` makes a single pass, and ``potential_alpha`` and ``average`` have no effect.
    :func:`~sklearn_nag.regret.record` records the forecaster of Vovk, Azoury and Warmuth [3]_ without its regulariser:
    before a row is learnt, its target is taken to be the mean of the earlier ones. Its regret against every linear
    predictor is at most ``d B^2 log T`` plus a term that does not grow, with ``B`` the largest target [4]_.

    References
    ----------
    .. [1] Kotłowski, "Scale-invariant unconstrained online learning", ALT 2017, Algorithms 1 (coordinatewise) and 2
       (full). https://arxiv.org/abs/1708.07042
    .. [2] Kempka, Kotłowski and Warmuth, "Adaptive scale-invariant online algorithms for learning linear models",
       ICML 2019, Algorithms 1 and 2. https://arxiv.org/abs/1902.07528
    .. [3] Azoury and Warmuth, "Relative loss bounds for on-line density estimation with the exponential family of
       distributions", Machine Learning 43, 2001.
    .. [4] Gaillard, Gerchinovitz, Huard and Stoltz, "Uniform regret bounds over R^d for the sequential linear
       regression problem with the square loss", ALT 2019. https://arxiv.org/abs/1805.11386

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_nag import ScaleInvariantRegressor
    >>> X, y = load_diabetes(return_X_y=True, scaled=False)
    >>> reg = ScaleInvariantRegressor(invariance="full", random_state=0).fit(X, y)
    >>> reg.score(X, y) > 0.5
    True
    """

    _epsilon_options = ("auto",)

    def __init__(
        self,
        loss: RegressionLoss | Literal["auto"] = "auto",
        *,
        invariance: Literal["coordinatewise", "full"] = "coordinatewise",
        update: Literal["auto", "potential", "scinol1", "scinol2", "least_squares"] = "auto",
        potential_alpha: float = 1.5,
        centering: bool | Literal["auto"] = "auto",
        target_normalization: Literal["standard"] | None = "standard",
        clip: Literal["targets"] | tuple[float, float] | None = "targets",
        epsilon: float | Literal["auto"] = "auto",
        quantile: float = 0.5,
        power: float = 1.5,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        early_stopping: bool | Literal["auto"] = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        warm_start: bool = False,
        average: bool | Literal["auto"] = "auto",
        half_life: float | None = None,
    ):
        self.loss = loss
        self.invariance = invariance
        self.update = update
        self.potential_alpha = potential_alpha
        self.centering = centering
        self.target_normalization = target_normalization
        self.clip = clip
        self.epsilon = epsilon
        self.quantile = quantile
        self.power = power
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.average = average
        self.half_life = half_life

    _updates = (*_InvariantRule._updates, "least_squares")
    _added_parameters: ClassVar[dict[str, Any]] = {**OnlineRegressor._added_parameters, "half_life": None}

    def _check_parameters(self):
        check_option("loss", self.loss, ("auto", *self._losses))
        super()._check_parameters()
        if self.update == "least_squares" and (self.invariance, self._loss_name) != ("full", "squared_error"):
            raise ValueError(
                "update='least_squares' needs invariance='full' and loss='squared_error' or 'auto'; got "
                f"invariance={self.invariance!r}, loss={self.loss!r}."
            )
        check_half_life(self.half_life)
        if self.half_life is not None and not self._solved:
            raise ValueError(
                "half_life needs invariance='full' with update='least_squares'; "
                f"got half_life={self.half_life!r} with the update {self._update!r}."
            )

    @property
    def _fixed(self):
        return (*super()._fixed, "half_life")

    @property
    def _loss_name(self):
        if self.loss != "auto":
            return self.loss
        exact = self.invariance == "full" and self.update in ("auto", "least_squares")
        return "squared_error" if exact else "huber"

    @property
    def _solved(self):
        return self._update == "least_squares"

    @property
    def _knows_variance(self):
        """Whether least squares know the variance of errors; this needs a target unit."""
        return self._solved and self._target_unit and self.half_life is None

    def _gaussian_widths(self, X, coverages):
        if not self._knows_variance:
            return super()._gaussian_widths(X, coverages)
        return kernels.full.interval_widths(self._state, X, coverages)

    def _standard_errors(self):
        return kernels.full.standard_errors(self._state, self.n_features_in_) if self._knows_variance else None

    def _loss(self):
        name = self._loss_name
        if self.epsilon == "auto" and "epsilon" in self._losses[name].parameters:
            return self._losses[name](2.0 if name == "huber" else 0.1)
        return super()._loss()
