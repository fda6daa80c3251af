"""The family of Ross, Mineiro and Langford, "Normalized online learning" (UAI 2013): NG, NAG, sNAG, AdaGrad, OGD."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Literal

import numpy as np

from .. import kernels
from .._decorators import share
from ..constraints import Simplex
from ..losses import NOTHING, ClassificationLoss, RegressionLoss
from . import _shared_docs
from ._bounds import Constraint, check_constraint, check_within, has_bounds, set_of
from ._classifier import OnlineClassifier
from ._online import OnlineLinear, defaults_of
from ._parameters import check_flag, check_half_life, check_number, check_option
from ._regressor import OnlineRegressor
from ._validation import as_given

INSTEAD_OF_SCHEDULES = {
    "optimal": "The default, 'constant', needs no schedule; eta0='auto' mixes five rates.",
    "adaptive": "adaptive=True, the default, gives each weight a rate of its own, with learning_rate='constant'.",
    "pa1": (
        "A constant rate with importance_aware=True, normalization=None and adaptive=False makes passive-aggressive "
        "steps of at most eta0, the C of PA-I, for the losses 'hinge' and 'epsilon_insensitive'."
    ),
    "pa2": (
        "There are no steps of PA-II here; those of PA-I are learning_rate='constant' with importance_aware=True, "
        "normalization=None and adaptive=False, eta0 being its C."
    ),
}
ETA0S = tuple(4.0 ** np.arange(-2, 3))  # learning rates that eta0="auto" mixes
HALF_LIVES = tuple(20.0 * 4.0 ** np.arange(4, -1, -1))  # half-lives that half_life="auto" mixes, besides infinity
MOST_NATS = 2.3  # cap on a log loss on a row, above that of the frequency of its class: 3 for one of two equal classes


@cache
def say_alpha_has_no_effect(name):
    """Warn once per process that ``alpha`` has no effect on the class ``name`` without a penalty.

    A search over ``alpha`` makes hundreds of fits, each with its own warning filters.
    """
    warnings.warn(
        f"alpha has no effect on {name} with penalty=None, the default: set penalty='l2', 'l1' or 'elasticnet'.",
        UserWarning,
        stacklevel=2,
    )


class _NAGRule(OnlineLinear):
    """Base of the NAG estimators: translates parameters into a rule of the kernel."""

    def _check_parameters(self):
        super()._check_parameters()
        check_flag("importance_aware", self.importance_aware)
        check_option("normalization", self.normalization, ("auto", "max", "rms", None))
        check_flag("adaptive", self.adaptive)
        check_option("scales", self.scales, ("online", "first-pass"))
        check_option("learning_rate", self.learning_rate, ("constant", "invscaling"), INSTEAD_OF_SCHEDULES)
        check_option("penalty", self.penalty, ("l2", "l1", "elasticnet", None))
        check_number("eta0", self.eta0, min_val=0, include_boundaries="neither", options=("auto",))
        check_number("power_t", self.power_t, min_val=0)
        check_number("alpha", self.alpha, min_val=0)
        check_number("epsilon", self.epsilon, min_val=0)
        check_number("l1_ratio", self.l1_ratio, min_val=0, max_val=1, options=(None,))
        check_half_life(self.half_life, ("auto", None), self.normalization)
        if self._mixes and vars(self).get("_eta0s"):
            raise ValueError(
                f"half_life={self.half_life!r} mixes models, and a sweep over learning rates keeps them apart: give "
                "the estimator one half_life, or eta0='auto', which mixes both."
            )
        if self.half_life is not None and type(self.average) is int:
            raise ValueError(f"half_life needs average='auto', True or False; got {self.average!r}.")
        if self.penalty == "elasticnet" and self.l1_ratio is None:
            raise ValueError("l1_ratio must be set when penalty is 'elasticnet'; it is None.")
        check_constraint(self.constraint)
        if self.constraint is not None:
            self._check_constrained()
        if self.penalty is None and self.alpha != defaults_of(type(self))["alpha"]:
            say_alpha_has_no_effect(type(self).__name__)

    def _check_constrained(self):
        """Raise for parameters incompatible with the constraint."""
        if has_bounds(self.constraint):
            if self.penalty in ("l1", "elasticnet"):
                raise ValueError(
                    f"constraint with bounds on single weights and penalty={self.penalty!r} do not go together; use "
                    "penalty='l2', or FTRLClassifier or FTRLRegressor, which take both bounds and l1."
                )
            return
        if self.penalty is not None:
            raise ValueError(f"constraint and penalty={self.penalty!r} do not go together: set one of them to None.")
        if not isinstance(self.constraint, Simplex):
            return
        if self.normalization is not None or self.adaptive:
            raise ValueError(
                "constraint=Simplex(...) needs normalization=None and adaptive=False: a fixed sum of weights is kept "
                "only if all have the same unit and the same steps. WeightedL1Ball goes with all rules."
            )
        if self._target_unit:
            raise ValueError(
                "constraint=Simplex(...) needs target_normalization=None: its weights do not start at 0, so they need "
                "a unit from the start; FTRLRegressor(regularizer='l2') learns one."
            )

    @property
    def _fixed(self):
        return (*super()._fixed, "normalization", "adaptive", "eta0", "half_life")

    def _breaks(self, name, old, new):
        if name == "eta0":  # one number may replace another
            return (old == "auto") != (new == "auto")
        return super()._breaks(name, old, new)

    @property
    def _why_useless(self):
        of_steps = "normalization", "adaptive", "importance_aware", "learning_rate", "target_normalization"
        if (self.eta0 == "auto" or self._has_defaults("eta0")) and self._has_defaults(*of_steps):
            return super()._why_useless
        return (
            f"eta0={self.eta0!r} is too large, or too small for the unit of the target; "
            "the defaults are safe from both."
        )

    @property
    def _why_too_little(self):
        if self.eta0 == "auto" or self.eta0 >= 1.0 or self.penalty is not None:
            return None
        return (
            f"eta0={self.eta0!r} may be too small: unlike that of SGD it has no unit, and 1 suits most data. More "
            "passes (max_iter, tol) help as well."
        )

    @property
    def _why_diverged(self):
        return f", or eta0={self.eta0!r} is too large"

    def _rule(self, centred):
        swept = vars(self).get("_eta0s")  # learning rates that a sweep keeps apart
        etas = swept or (ETA0S if self.eta0 == "auto" else (float(self.eta0),))
        loss = self._loss()
        l1_ratio = {"l1": 1.0, "l2": 0.0, "elasticnet": self.l1_ratio, None: 0.0}[self.penalty]
        alpha = 0.0 if self.penalty is None else float(self.alpha)
        average = self.penalty is None if isinstance(self.average, str) else self.average
        if isinstance(average, bool | np.bool_):
            average_from = 0.0 if average else np.inf
        else:
            average_from = float(average) or np.inf
        in_nats, several = self.loss == "log_loss", {}
        if self._mixes:
            if isinstance(self.half_life, str):  # those with at least two rows on the rare side of a quantile
                half_lives = tuple(h for h in HALF_LIVES if h * loss.slowed**2 > 7.0) or HALF_LIVES[:1]
            else:
                half_lives = tuple(map(float, self.half_life))
            several = {"half_lives": half_lives, "in_nats": in_nats, **({"most_nats": MOST_NATS} if in_nats else {})}
        return (kernels.nag.MixedRule if self._mixes else kernels.nag.Rule)(
            **several,
            normalization=self.normalization,
            adaptive=bool(self.adaptive),
            eta=tuple(eta for eta in etas for _ in range(self._n_targets)),
            power_t=float(self.power_t) if self.learning_rate == "invscaling" else 0.0,
            slowed=loss.slowed if self.adaptive else 1.0,
            l1=alpha * float(l1_ratio),
            l2=alpha * (1.0 - float(l1_ratio)),
            average_from=average_from,
            judged=isinstance(self.average, str) and average_from == 0.0,
            importance_aware=bool(self.importance_aware),
            experts=len(etas),
            mixed=swept is None,
            half_life=self._half_life,
            fades_average=self.half_life is not None,
            slow_scales=self.half_life is not None,
            named_clearly=self.half_life is not None,
            damped=True,
            constraint=set_of(self.constraint, self),
            **self._of_all_rules(centred),
        )

    # -- scales in a separate pass

    def _check_no_early_stopping(self):
        super()._check_no_early_stopping()
        if self.scales == "first-pass":
            raise ValueError(
                "scales='first-pass' needs fit, which goes through the rows once for their scales and then again; "
                "partial_fit sees each row once. Use scales='online'."
            )

    def _begin_fit(self, X, y, sample_weight, goes_on=False):
        passes = super()._begin_fit(X, y, sample_weight, goes_on)
        if self.scales == "first-pass" and self._state.t == 0:
            self._learn_scales(passes)
            if self._state.rule.adaptive:
                self._state.change(partial(kernels.nag.forget_gradients, losses=False))
        return passes

    def _learn_scales(self, passes):
        """Learn scales, means and target units in a pass that moves no weight."""
        self._learn_still(passes)
        passes.knows_scales = True

    def _learn_still(self, passes):
        """Pass over all rows that will ever be learnt, without moving a weight."""
        made = self._made
        rule = replace(made.rule, eta=(0.0,) * len(made.rule.eta), l1=0.0, l2=0.0, average_from=np.inf, constraint=None)
        self._made = made._replace(rule=rule)
        self._learn(passes.X, passes.targets, passes.effective_weight, None if passes.searches else passes.rows)
        self._made = made

    # -- given weights

    def _begin_with(self, passes, coef, intercept):
        state, rule = self._state, self._made.rule
        if not passes.knows_scales and state.t == 0:
            if not (rule.normalization is not None or rule.adaptive or rule.centred or rule.target_unit):
                self._set_linear(coef, intercept)
                return
            self._learn_scales(passes)
        self._set_linear(coef, intercept)
        if passes.knows_scales:
            self._state = state.copy()
            kernels.nag.forget_gradients(self._state)
            self._learn_still(passes)  # for losses and gradients at the given weights
            kernels.nag.take_gradients(state, self._state)
            self._state = state

    def _set_linear(self, coef, intercept):
        state = self._state
        rule = (vars(self).get("_made") or state).rule
        check_within(rule.constraint, coef)
        if rule.log_link and any((model.target_mean() == NOTHING).any() for model in (state, *state.others)):
            raise ValueError(
                f"weights cannot be set, because all targets so far are 0 and loss={self.loss!r} measures predictions "
                "from the logarithm of their mean: first learn rows with targets above 0, for each output."
            )
        lost = (state.scale()[: self.n_features_in_] == 0) & coef.any(axis=0)
        try:
            kernels.nag.set_linear(state, coef, intercept, rule.constraint if rule.projected else None)
        except kernels.Diverged:
            raise ValueError("the given weights, multiplied by the scales, leave the range of float64.") from None
        if lost.any():
            first = int(np.argmax(lost))
            name = getattr(self, "feature_names_in_", [None] * (first + 1))[first]
            named = "" if name is None else f" ({as_given(name)})"
            warnings.warn(
                f"the weights of {lost.sum()} features are left out, because these have not varied so far, such as "
                f"column {first}{named}.",
                UserWarning,
                stacklevel=4,
            )

    @property
    def _mixes(self):
        """Whether predictions mix several half-lives."""
        return isinstance(self.half_life, str | tuple | list)

    @property
    def half_lives_(self) -> np.ndarray:
        """Half-lives that ``half_life="auto"`` mixes; infinity is that of the model that never forgets."""
        return self._attribute(lambda state: np.array([np.inf, *self._mixed(state).rule.half_lives]))

    @property
    def half_life_(self) -> np.ndarray:
        """Share of each half-life in predictions, with ``half_life="auto"``."""
        weights = self._attribute(lambda state: self._mixed(state).trusted.weights())
        return weights if len(weights) > 1 or getattr(self, "_n_outputs", None) else weights[0]

    def _mixed(self, state):
        if not state.others:
            raise AttributeError(
                f'half_life_ and half_lives_ need half_life="auto" or several numbers; half_life is {self.half_life!r}'
            )
        return state

    @property
    def eta0_weights_(self) -> np.ndarray:
        """Share of each learning rate in predictions, with ``eta0="auto"``."""
        weights = self._attribute(lambda state: state.eta0_weights())
        if self._state.rule.experts == 1:
            raise AttributeError(f'eta0_weights_ needs eta0="auto"; eta0 is {self.eta0!r}')
        return weights if len(weights) > 1 or getattr(self, "_n_outputs", None) else weights[0]


@share(**_shared_docs.ALL, **_shared_docs.CLASSIFIER, **_shared_docs.NAG)
class NAGClassifier(_NAGRule, OnlineClassifier):
    """Online linear classifier trained by normalized adaptive gradients, for features in any units.

    Each feature is divided by its own scale and, if it is not 0 in most rows, centred. Scales and means are learnt
    along the way, so neither the unit nor the origin of a feature matters: no scaler is needed, and one learning rate
    suits data of all kinds. ``partial_fit`` makes one pass in the order given; ``fit`` makes passes until the loss
    settles. ``normalization`` and ``adaptive`` select the rule:

    ================= ================= ==================
    ``normalization`` ``adaptive=True`` ``adaptive=False``
    ================= ================= ==================
    ``"max"``         NAG               NG
    ``"rms"``         sNAG              sNG
    ``None``          AdaGrad           OGD (plain SGD)
    ================= ================= ==================

    ``"auto"``, the default, is ``"rms"`` for features that are not 0 in most rows, and between ``"rms"`` and ``"max"``
    for the others. The paper's Algorithm 2 [1]_ as printed is ``normalization="max", centering=False,
    importance_aware=False, multi_class="ovr", average=False``, with ``eta0`` found by search. AdaGrad is the diagonal
    version of [2]_. Read more in the :doc:`user guide </user_guide>`.

    Parameters
    ----------
    loss : {"log_loss", "hinge", "squared_hinge", "modified_huber", "perceptron", "squared_error", "huber", \
"epsilon_insensitive", "squared_epsilon_insensitive"}, default="log_loss"
        Loss to minimise. Probabilities need ``"log_loss"`` or ``"modified_huber"``, or ``calibration``. The last four
        are those of :class:`NAGRegressor`, with targets -1 and 1.
    {normalization}
    {adaptive}
    {centering}
    {scales}
    importance_aware : bool, default=True
        Whether to make the step that infinitely many small steps would add up to [3]_. It never overshoots the target,
        however large ``eta0`` and ``sample_weight`` are. The perceptron loss has no such step and makes explicit ones.
    {multi_class}
    eta0 : float or "auto", default=1.0
        Learning rate, positive; it has no unit if ``normalization`` is used. ``"auto"`` learns with powers of 4 from
        1/16 to 16 side by side and mixes their predictions by AdaHedge [4]_: several times the work, but no rate has to
        be chosen.
    {learning_rate}
    {power_t}
    penalty : {"l2", "l1", "elasticnet", None}, default=None
        Penalty on the unit-free weights, ``u = coef_ * scale_``, so it does not depend on units; the intercept is not
        penalised. L1 makes weights exactly 0: a weight is 0 as long as the mean of its gradients stays within the
        penalty [5]_. An average of weights (``average=True``) has no exact zeros.
    {alpha}
    {l1_ratio}
    {constraint}
    epsilon : float, default=0.1
        Error above which ``"huber"`` becomes linear, and below which the epsilon-insensitive losses are 0.
    {fit_intercept}
    {max_iter}
    {tol}
    {shuffle}
    {verbose}
    n_jobs : int or None, default=None
        Number of threads for classes learnt one against the rest, if Numba runs and a call has enough rows to be worth
        it; -1 for all cores. Results do not depend on it. A softmax is learnt by one thread.
    {random_state}
    {early_stopping}
    {validation_fraction}
    {n_iter_no_change}
    {class_weight}
    {calibration}
    {warm_start}
    {average}
    {half_life}

    Attributes
    ----------
    {classes_}
    {coef_}
    {intercept_}
    {feature_importances_}
    {scale_}
    {mean_}
    eta0_weights_ : ndarray of shape (5,) or (n_classes, 5)
        Share of each learning rate in predictions, with ``eta0="auto"``; for each class if learnt one against the rest.
    {half_life_}
    {half_lives_}
    {progressive_loss_}
    {t_}
    {n_iter_}
    {validation_losses_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    NAGRegressor : The same for regression.
    sklearn.linear_model.SGDClassifier : Stochastic gradient descent, which needs scaled features.

    Notes
    -----
    All classes share the scales and are learnt in the same passes, so they stop together.

    Results do not depend on how a stream is cut into calls of `partial_fit`. On sparse input, a row takes time in
    proportion to its nonzeros; with both a penalty and ``average``, in proportion to all features.

    References
    ----------
    .. [1] Ross, Mineiro and Langford, "Normalized online learning", UAI 2013, Algorithms 1 (NG) and 2 (NAG), section 5
       (sNAG). https://arxiv.org/abs/1305.6646
    .. [2] Duchi, Hazan and Singer, "Adaptive subgradient methods for online learning and stochastic optimization",
       JMLR 12, 2011 (AdaGrad).
    .. [3] Karampatziakis and Langford, "Online importance weight aware updates", UAI 2011.
    .. [4] de Rooij, van Erven, Grünwald and Koolen, "Follow the leader if you can, hedge if you must", JMLR 15, 2014.
    .. [5] McMahan, "Follow-the-regularized-leader and mirror descent: equivalence theorems and L1 regularization",
       AISTATS 2011 (FTRL-Proximal).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn_nag import NAGClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> clf = NAGClassifier(random_state=0).fit(X_train, y_train)
    >>> clf.score(X_test, y_test) > 0.95
    True
    """

    def __init__(
        self,
        loss: ClassificationLoss = "log_loss",
        *,
        normalization: Literal["auto", "max", "rms"] | None = "auto",
        adaptive: bool = True,
        centering: bool | Literal["auto"] = "auto",
        scales: Literal["online", "first-pass"] = "online",
        importance_aware: bool = True,
        multi_class: Literal["multinomial", "ovr"] = "multinomial",
        eta0: float | Literal["auto"] = 1.0,
        learning_rate: Literal["constant", "invscaling"] = "constant",
        power_t: float = 0.5,
        penalty: Literal["l2", "l1", "elasticnet"] | None = None,
        alpha: float = 0.0001,
        l1_ratio: float | None = 0.15,
        constraint: Constraint = None,
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
        average: bool | int | Literal["auto"] = "auto",
        half_life: float | Literal["auto"] | Sequence[float] | None = None,
    ):
        self.loss = loss
        self.normalization = normalization
        self.adaptive = adaptive
        self.centering = centering
        self.scales = scales
        self.importance_aware = importance_aware
        self.multi_class = multi_class
        self.eta0 = eta0
        self.learning_rate = learning_rate
        self.power_t = power_t
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.constraint = constraint
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
        self.half_life = half_life


@share(**_shared_docs.ALL, **_shared_docs.REGRESSOR, **_shared_docs.NAG)
class NAGRegressor(_NAGRule, OnlineRegressor):
    """Online linear regression trained by normalized adaptive gradients, for features and targets in any units.

    Each feature is divided by its own scale and, if it is not 0 in most rows, centred; so is the target. Scales and
    means are learnt along the way, so neither units nor origins matter. ``normalization`` and ``adaptive`` select the
    rule, as for :class:`NAGClassifier`. Several outputs are learnt together in one pass.

    The paper's Algorithm 2 [1]_ as printed is ``normalization="max", centering=False, importance_aware=False,
    target_normalization=None, clip=None, average=False``, with ``eta0`` found by search. Read more in the :doc:`user
    guide </user_guide>`.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive", \
"quantile", "poisson", "gamma", "tweedie"}, default="squared_error"
        Loss of each output; ``"squared_error"`` is half the square. The last three are deviances for counts, for
        amounts above 0, and for sums of such amounts (``power``). With them, `predict` returns the mean, whose
        logarithm is ``X @ coef_ + intercept_``, and ``score`` returns D²; see :ref:`counts`.
    {normalization}
    {adaptive}
    {centering}
    {scales}
    importance_aware : bool, default=True
        Whether to make the step that infinitely many small steps would add up to [3]_. It never overshoots the target,
        however large ``eta0`` and ``sample_weight`` are.
    target_normalization : {"standard", None}, default="standard"
        ``"standard"`` measures predictions from the running mean of the target and multiplies steps by its running
        standard deviation. Neither its origin nor its unit then matters: ``y -> a y + c`` maps predictions to
        ``a * prediction + c``. Without ``fit_intercept``, the root mean square replaces the standard deviation, and the
        origin stays at 0.
    {clip}
    eta0 : float or "auto", default=1.0
        Learning rate, positive; it has no unit if ``normalization`` and ``target_normalization`` are used. With
        ``adaptive`` and without ``target_normalization``, it has the unit of the target, because a step changes a
        prediction by about this much. ``"auto"`` learns with powers of 4 from 1/16 to 16 side by side and mixes their
        predictions by AdaHedge [4]_: several times the work, but no rate has to be chosen.
    {learning_rate}
    {power_t}
    penalty : {"l2", "l1", "elasticnet", None}, default=None
        Penalty on the unit-free weights, ``u = coef_ * scale_``; the intercept is not penalised. With
        ``target_normalization``, they are in standard deviations of the target at the time when the penalty is applied:
        on sparse rows, when a feature is next seen. L1 makes weights exactly 0: a weight is 0 as long as the mean of
        its gradients stays within the penalty [5]_. An average of weights (``average=True``) has no exact zeros.
    {alpha}
    {l1_ratio}
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
    n_jobs : int or None, default=None
        Number of threads for several outputs, if Numba runs and a call has enough rows to be worth it; -1 for all
        cores. Results do not depend on it.
    {random_state}
    {early_stopping}
    {validation_fraction}
    {n_iter_no_change}
    {warm_start}
    {average}
    {half_life}

    Attributes
    ----------
    {coef_}
    {intercept_}
    {feature_importances_}
    {scale_}
    {mean_}
    eta0_weights_ : ndarray of shape (5,) or (n_outputs, 5)
        Share of each learning rate in predictions, with ``eta0="auto"``.
    {half_life_}
    {half_lives_}
    {progressive_loss_}
    {t_}
    {n_iter_}
    {validation_losses_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    NAGClassifier : The same for classification.
    sklearn.linear_model.SGDRegressor : Stochastic gradient descent, which needs scaled features.

    References
    ----------
    .. [1] Ross, Mineiro and Langford, "Normalized online learning", UAI 2013, Algorithms 1 (NG) and 2 (NAG), section 5
       (sNAG). https://arxiv.org/abs/1305.6646
    .. [3] Karampatziakis and Langford, "Online importance weight aware updates", UAI 2011.
    .. [4] de Rooij, van Erven, Grünwald and Koolen, "Follow the leader if you can, hedge if you must", JMLR 15, 2014.
    .. [5] McMahan, "Follow-the-regularized-leader and mirror descent: equivalence theorems and L1 regularization",
       AISTATS 2011 (FTRL-Proximal).

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_nag import NAGRegressor
    >>> X, y = load_diabetes(return_X_y=True, scaled=False)
    >>> reg = NAGRegressor(random_state=0).fit(X, y)
    >>> reg.score(X, y) > 0.5
    True
    """

    def __init__(
        self,
        loss: RegressionLoss = "squared_error",
        *,
        normalization: Literal["auto", "max", "rms"] | None = "auto",
        adaptive: bool = True,
        centering: bool | Literal["auto"] = "auto",
        scales: Literal["online", "first-pass"] = "online",
        importance_aware: bool = True,
        target_normalization: Literal["standard"] | None = "standard",
        clip: Literal["targets"] | tuple[float, float] | None = "targets",
        eta0: float | Literal["auto"] = 1.0,
        learning_rate: Literal["constant", "invscaling"] = "constant",
        power_t: float = 0.5,
        penalty: Literal["l2", "l1", "elasticnet"] | None = None,
        alpha: float = 0.0001,
        l1_ratio: float | None = 0.15,
        constraint: Constraint = None,
        epsilon: float = 0.1,
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
        average: bool | int | Literal["auto"] = "auto",
        half_life: float | Literal["auto"] | Sequence[float] | None = None,
    ):
        self.loss = loss
        self.normalization = normalization
        self.adaptive = adaptive
        self.centering = centering
        self.scales = scales
        self.importance_aware = importance_aware
        self.target_normalization = target_normalization
        self.clip = clip
        self.eta0 = eta0
        self.learning_rate = learning_rate
        self.power_t = power_t
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.constraint = constraint
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
