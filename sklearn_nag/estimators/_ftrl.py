"""Follow the regularised leader: FTRL-Proximal, lazy online gradient descent, exponentiated gradient."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from .. import kernels, losses
from .._decorators import share
from ..constraints import Simplex
from ..losses import RegressionLoss
from . import _shared_docs
from ._bounds import Constraint, check_constraint, has_bounds, set_of
from ._classifier import OnlineClassifier
from ._online import OnlineLinear
from ._parameters import check_flag, check_half_life, check_number, check_option
from ._regressor import OnlineRegressor


class _FTRLRule(OnlineLinear):
    """Base of the FTRL estimators: translates parameters into a rule of the kernel."""

    def _check_parameters(self):
        super()._check_parameters()
        check_option("regularizer", self.regularizer, ("proximal", "l2", "entropy"))
        check_option("normalization", self.normalization, ("auto", "max", "rms", None))
        check_number("eta0", self.eta0, min_val=0, include_boundaries="neither")
        check_number("radius", self.radius, min_val=0, include_boundaries="neither")
        for name in ("beta", "power_t", "l1", "l2"):
            check_number(name, getattr(self, name), min_val=0)
        check_flag("positive", self.positive)
        check_half_life(self.half_life, normalization=self.normalization)
        if self.regularizer == "entropy" and (self.l1 or self.l2):
            raise ValueError(
                f"regularizer='entropy' takes no l1 and l2, as radius bounds its weights; got l1={self.l1!r}, "
                f"l2={self.l2!r}."
            )
        check_constraint(self.constraint)
        if self.constraint is not None and self.regularizer == "entropy":
            raise ValueError("constraint needs regularizer='l2'; 'entropy' limits its weights by radius and positive.")
        if self.constraint is not None and self.regularizer == "proximal" and not has_bounds(self.constraint):
            raise ValueError(
                "constraint needs regularizer='l2'; with 'proximal' each weight has a rate of its own, so there is no "
                "common nearest point. Bounds on single weights (Box) go with both."
            )
        if isinstance(self.constraint, Simplex) and self.l1:
            raise ValueError(
                "l1 has no effect with constraint=Simplex(...), because the sum of the weights is fixed; got "
                f"l1={self.l1!r}."
            )
        if self.positive and self.regularizer != "entropy":
            raise ValueError(f"positive=True needs regularizer='entropy'; got {self.regularizer!r}.")

    @property
    def _fixed(self):
        # Weights are a function of sums over rows and of these parameters, so a change would alter all weights at once.
        return (*super()._fixed, "normalization", "regularizer", "half_life", "eta0", "beta", "power_t")

    @property
    def _why_useless(self):
        if self._has_defaults("eta0", "beta", "power_t", "normalization", "target_normalization"):
            return super()._why_useless
        return f"eta0={self.eta0!r} may be too large, or too small for the unit of the target; the defaults are safe."

    @property
    def _why_diverged(self):
        return f", or eta0={self.eta0!r} is too large"

    def _rule(self, centred):
        return kernels.ftrl.Rule(
            regularizer=self.regularizer,
            n_targets=self._n_targets,
            normalization=self.normalization,
            eta=float(self.eta0),
            beta=float(self.beta),
            power_t=float(self.power_t),
            l1=float(self.l1),
            l2=float(self.l2),
            radius=float(self.radius),
            positive=bool(self.positive),
            half_life=self._half_life,
            named_clearly=self.half_life is not None,
            constraint=set_of(self.constraint, self),
            **self._of_all_rules(centred),
        )


@share(**_shared_docs.ALL, **_shared_docs.CLASSIFIER, **(_shared_docs.NAG | _shared_docs.FTRL))
class FTRLClassifier(_FTRLRule, OnlineClassifier):
    """Online linear classifier that follows the regularised leader, for features in any units.

    Each row is predicted with the weights that minimise the linearised losses of all earlier rows plus a regulariser.
    ``regularizer="proximal"`` is the FTRL-Proximal of advertising systems [1]_. It has a learning rate for each weight
    and an L1 penalty that makes weights exactly 0, so most of many sparse features cost nothing when a model is used.
    Features are divided by scales that are learnt along the way, so one ``eta0`` and one ``l1`` suit data in any units.
    Read more in the :ref:`documentation <ftrl>`.

    Parameters
    ----------
    loss : {"log_loss", "hinge", "squared_hinge", "modified_huber", "perceptron"}, default="log_loss"
        Loss to minimise. Probabilities need ``"log_loss"`` or ``"modified_huber"``, or ``calibration``.
    {regularizer}
    {normalization}
    {centering}
    {multi_class}
    eta0 : float, default=2.0
        Learning rate, positive; called ``alpha`` in FTRL-Proximal. It has no unit if ``normalization`` is used.
    {beta}
    {power_t}
    {l1}
    {l2}
    {radius}
    {positive}
    {constraint}
    {fit_intercept}
    {max_iter}
    {tol}
    {shuffle}
    {verbose}
    {random_state}
    {early_stopping}
    {validation_fraction}
    {n_iter_no_change}
    {class_weight}
    {calibration}
    {warm_start}
    {half_life}

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
    FTRLRegressor : The same for regression.
    NAGClassifier : Normalized adaptive gradients, averaging the weights of all rows.
    sklearn.linear_model.SGDClassifier : Stochastic gradient descent, which needs scaled features.

    Notes
    -----
    Memory: 16 bytes for each feature, 8 more with ``normalization="rms"`` or 24 more with ``"auto"``, and 16 more if
    features are centred (24 with ``"max"``). For each class, a feature takes another 16 bytes (8 unless ``regularizer``
    is ``"proximal"``). A sparse row takes time in proportion to its nonzeros, except with ``regularizer="entropy"``,
    where each row changes all weights.

    Results do not depend on how a stream is cut into calls of `partial_fit`.

    References
    ----------
    .. [1] McMahan et al., "Ad click prediction: a view from the trenches", KDD 2013, Algorithm 1.
    .. [2] Xiao, "Dual averaging methods for regularized stochastic learning and online optimization", JMLR 11, 2010.
    .. [3] Kivinen and Warmuth, "Exponentiated gradient versus gradient descent for linear predictors", Information and
       Computation 132, 1997.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn_nag import FTRLClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> clf = FTRLClassifier(l1=1.0, random_state=0).fit(X_train, y_train)
    >>> clf.score(X_test, y_test) > 0.95
    True
    """

    _losses = losses.CLASSIFICATION

    _added_parameters: ClassVar[dict[str, Any]] = {**OnlineClassifier._added_parameters, "half_life": None}

    def __init__(
        self,
        loss: Literal["log_loss", "hinge", "squared_hinge", "modified_huber", "perceptron"] = "log_loss",
        *,
        regularizer: Literal["proximal", "l2", "entropy"] = "proximal",
        normalization: Literal["auto", "max", "rms"] | None = "max",
        centering: bool | Literal["auto"] = "auto",
        multi_class: Literal["multinomial", "ovr"] = "multinomial",
        eta0: float = 2.0,
        beta: float = 0.1,
        power_t: float = 0.5,
        l1: float = 0.0,
        l2: float = 0.0,
        radius: float = 10.0,
        positive: bool = False,
        constraint: Constraint = None,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
        early_stopping: bool | Literal["auto"] = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: dict | Literal["balanced"] | None = None,
        calibration: Literal["progressive"] | None = None,
        warm_start: bool = False,
        half_life: float | None = None,
    ):
        self.loss = loss
        self.regularizer = regularizer
        self.normalization = normalization
        self.centering = centering
        self.multi_class = multi_class
        self.eta0 = eta0
        self.beta = beta
        self.power_t = power_t
        self.l1 = l1
        self.l2 = l2
        self.radius = radius
        self.positive = positive
        self.constraint = constraint
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.random_state = random_state
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.calibration = calibration
        self.warm_start = warm_start
        self.half_life = half_life


@share(**_shared_docs.ALL, **_shared_docs.REGRESSOR, **(_shared_docs.NAG | _shared_docs.FTRL))
class FTRLRegressor(_FTRLRule, OnlineRegressor):
    """Online linear regression that follows the regularised leader, for features and targets in any units.

    It works like :class:`FTRLClassifier`. Predictions are measured from the running mean of the target, in units of its
    running standard deviation. Several outputs are learnt together in one pass. Read more in the :ref:`documentation
    <ftrl>`.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive", \
"quantile", "poisson", "gamma", "tweedie"}, default="squared_error"
        Loss of each output; ``"squared_error"`` is half the square. The last three are deviances for counts, for
        amounts above 0, and for sums of such amounts (``power``). With them, `predict` returns the mean, whose
        logarithm is ``X @ coef_ + intercept_``, and ``score`` returns D²; see :ref:`counts`.
    {regularizer}
    {normalization}
    {centering}
    target_normalization : {"standard", None}, default="standard"
        ``"standard"`` measures predictions from the running mean of the target, in units of its running standard
        deviation, so that ``y -> a y + c`` maps predictions to ``a * prediction + c``. Without ``fit_intercept``, the
        root mean square replaces the standard deviation, and the origin stays at 0.
    {clip}
    eta0 : float, default=1.0
        Learning rate, positive; called ``alpha`` in FTRL-Proximal. It has no unit if ``normalization`` and
        ``target_normalization`` are used.
    {beta}
    {power_t}
    {l1}
    {l2}
    {radius}
    {positive}
    {constraint}
    epsilon : float, default=0.1
        Error above which ``"huber"`` becomes linear, and below which the epsilon-insensitive losses are 0. It is in
        standard deviations of the target so far or, with ``target_normalization=None``, in the unit of the target.
    {quantile}
    {power}
    {fit_intercept}
    {max_iter}
    {tol}
    {shuffle}
    {verbose}
    {random_state}
    {early_stopping}
    {validation_fraction}
    {n_iter_no_change}
    {warm_start}
    {half_life}

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
    FTRLClassifier : The same for classification; its notes state memory and time.
    NAGRegressor : Normalized adaptive gradients, averaging the weights of all rows.
    sklearn.linear_model.SGDRegressor : Stochastic gradient descent, which needs scaled features.

    References
    ----------
    .. [1] McMahan et al., "Ad click prediction: a view from the trenches", KDD 2013, Algorithm 1.
    .. [2] Xiao, "Dual averaging methods for regularized stochastic learning and online optimization", JMLR 11, 2010.
    .. [3] Kivinen and Warmuth, "Exponentiated gradient versus gradient descent for linear predictors", Information and
       Computation 132, 1997.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_nag import FTRLRegressor
    >>> X, y = load_diabetes(return_X_y=True, scaled=False)
    >>> reg = FTRLRegressor(random_state=0).fit(X, y)
    >>> reg.score(X, y) > 0.45
    True
    """

    _added_parameters: ClassVar[dict[str, Any]] = {**OnlineRegressor._added_parameters, "half_life": None}

    def __init__(
        self,
        loss: RegressionLoss = "squared_error",
        *,
        regularizer: Literal["proximal", "l2", "entropy"] = "proximal",
        normalization: Literal["auto", "max", "rms"] | None = "max",
        centering: bool | Literal["auto"] = "auto",
        target_normalization: Literal["standard"] | None = "standard",
        clip: Literal["targets"] | tuple[float, float] | None = "targets",
        eta0: float = 1.0,
        beta: float = 0.1,
        power_t: float = 0.5,
        l1: float = 0.0,
        l2: float = 0.0,
        radius: float = 10.0,
        positive: bool = False,
        constraint: Constraint = None,
        epsilon: float = 0.1,
        quantile: float = 0.5,
        power: float = 1.5,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
        early_stopping: bool | Literal["auto"] = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        warm_start: bool = False,
        half_life: float | None = None,
    ):
        self.loss = loss
        self.regularizer = regularizer
        self.normalization = normalization
        self.centering = centering
        self.target_normalization = target_normalization
        self.clip = clip
        self.eta0 = eta0
        self.beta = beta
        self.power_t = power_t
        self.l1 = l1
        self.l2 = l2
        self.radius = radius
        self.positive = positive
        self.constraint = constraint
        self.epsilon = epsilon
        self.quantile = quantile
        self.power = power
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.random_state = random_state
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.half_life = half_life

    def _check_parameters(self):
        super()._check_parameters()
        check_number("epsilon", self.epsilon, min_val=0)
