"""Learners without a learning rate, after Kotłowski (2017) and Kempka, Kotłowski and Warmuth (2019)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from .. import kernels
from ._online import OnlineClassifier, OnlineRegressor, check_flag, check_number, check_option

LEAST_ALPHA = 9.0 / 8.0


class _InvariantRule:
    """The parameters by which the scale-invariant estimators learn."""

    def _check_parameters(self):
        super()._check_parameters()
        check_option("invariance", self.invariance, ("coordinatewise", "full"))
        check_option("update", self.update, ("auto", "potential", "scinol1", "scinol2"))
        if self.invariance == "full" and self.update not in ("auto", "potential"):
            raise ValueError(f"invariance='full' needs update='potential' or 'auto'; got {self.update!r}.")
        if self.invariance == "full" and self.fit_intercept and not self.centering:
            raise ValueError(
                "centering=False cannot be with invariance='full': moving the origins of features is one of the maps "
                "under which predictions do not change. Use centering='auto'."
            )
        check_number("alpha", self.alpha)
        if self._update == "potential":
            check_number("alpha", self.alpha, min_val=LEAST_ALPHA, include_boundaries="neither")
        check_flag("average", self.average)

    @property
    def _update(self):
        """The update that the parameters stand for."""
        if self.update != "auto":
            return self.update
        return "potential" if self.invariance == "full" else "scinol2"

    @property
    def _fixed(self):
        return (*super()._fixed, "invariance", "update")

    def _is_another(self, name, old, new):
        if name == "update":
            return self._state.rule.update != self._update
        return super()._is_another(name, old, new)

    def _centred(self, is_sparse):
        if self.invariance == "full" and is_sparse:
            raise ValueError("invariance='full' needs dense X; invariance='coordinatewise' takes sparse rows as well.")
        return super()._centred(is_sparse)

    def _rule(self, centred):
        loss = self._loss()
        shared = {
            "n_targets": self._n_targets,
            "alpha": float(self.alpha),
            "intercept": bool(self.fit_intercept),
            "averaged": bool(self.average),
            "centred": centred,
            "target_unit": self._target_unit,
            "degree": loss.degree,
            "coupled": loss.coupled,
        }
        if self.invariance == "full":
            return kernels.full.Rule(**shared)
        return kernels.coordinatewise.Rule(update=self._update, **shared)

    _why_useless = "There may be nothing to learn from these features, or too few rows so far."
    _why_diverged = ""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.invariance != "full"
        return tags


class ScaleInvariantClassifier(_InvariantRule, OnlineClassifier):
    """Linear classifier learnt online without a learning rate, from features in any units.

    The weights are a function of the sums of past gradients, not the end of a path of steps, so there is no rate to
    choose, and regret is bounded against every comparator, however large. ``partial_fit`` is one pass in the order
    given; ``fit`` makes passes until the loss settles. Read more in the :ref:`user guide <scale_invariant>`.

    Parameters
    ----------
    loss : {"log_loss", "hinge", "squared_hinge", "modified_huber", "perceptron"}, default="log_loss"
        Loss of each head. Probabilities need ``"log_loss"`` or ``"modified_huber"``. The theorems need a bound on the
        gradient; ``"squared_hinge"`` has none: its gradient is divided by the largest so far.
    invariance : {"coordinatewise", "full"}, default="coordinatewise"
        Under which maps of the features predictions do not change: scaling each (time in proportion to the nonzeros of
        a row), or every invertible linear map and move of the origin (time and memory in proportion to the square of
        ``n_features``, dense rows only).
    update : {"auto", "potential", "scinol1", "scinol2"}, default="auto"
        ``"potential"`` is [1]_, ``"scinol1"`` and ``"scinol2"`` are the algorithms of [2]_, which are invariant
        coordinate by coordinate. ``"auto"``: ``"scinol2"`` where it can be, else ``"potential"``.
    alpha : float, default=1.5
        Constant of the potential, above 9/8; ScInOL has none. The theorem's additive constant is
        ``exp(1 / (2 * (alpha - 9/8)))``; larger values start more slowly.
    centering : bool or "auto", default="auto"
        Whether to subtract from each feature its running mean, with ``invariance="coordinatewise"``. ``"auto"``: where
        the first rows are dense, with ``fit_intercept``. On sparse rows it cannot be.
    multi_class : {"multinomial", "ovr"}, default="multinomial"
        How more than two classes are learnt with ``loss="log_loss"``: by the softmax of one decision value for each, or
        each against the rest. Other losses learn each class against the rest.
    fit_intercept : bool, default=True
        Whether a constant feature 1 is added.
    max_iter : int, default=1000
        Most passes over the rows in `fit`.
    tol : float or None, default=1e-3
        `fit` stops when the mean loss of a pass (or the validation score, with ``early_stopping``) has not been better
        than the best one by ``tol`` for ``n_iter_no_change`` passes. None: after ``max_iter`` passes.
    shuffle : bool, default=True
        Whether `fit` goes through the rows in a new random order in each pass.
    verbose : int, default=0
        Above 0, `fit` prints a line for each pass.
    n_jobs : int or None, default=None
        Accepted as by SGDClassifier. All classes are learnt in one pass on one core, whatever it is.
    random_state : int, RandomState instance or None, default=None
        Order of the rows, and which are held out.
    early_stopping : bool, default=False
        Whether to hold out rows and stop by the score on them.
    validation_fraction : float, default=0.1
        Share of the rows that is held out for ``early_stopping``, between 0 and 1.
    n_iter_no_change : int, default=5
        Passes without improvement before `fit` stops.
    class_weight : dict, "balanced" or None, default=None
        Factor on the weights of the rows of each class, 1 for classes that a dict does not name; ``"balanced"`` makes
        them inversely proportional to the number of rows (`fit` only).
    warm_start : bool, default=False
        Whether `fit` goes on from the present model.
    average : bool, default=True
        Whether to predict with the average of the weights played, in which later rows count more, or with the last
        ones.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights in raw units; read-only, made when asked for.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Decision value where every feature is 0.
    scale_ : ndarray of shape (n_features,)
        The size of each feature: root mean square (``"potential"``) or largest, of deviations from the mean where these
        are taken; 1 for a feature that has been 0 so far.
    mean_ : ndarray of shape (n_features,)
        Mean of each feature; 0 where features are not centred.
    progressive_loss_ : float
        Mean over all rows since the model was new, and over classes learnt one against the rest, of the loss of the
        prediction made before the row was learnt. After one pass it is an honest estimate of the loss on new rows.
    t_ : float
        Total weight of the rows learnt.
    n_iter_ : int
        Passes made by `fit`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where the input had them.

    See Also
    --------
    ScaleInvariantRegressor : The same for regression.
    NAGClassifier : Normalized adaptive gradients; faster, with a learning rate.

    Notes
    -----
    A row of weight ``c`` counts as if its features and its gradient were multiplied by ``sqrt(c / C)``, ``C`` being the
    largest weight so far, so that heavy rows cannot break the bounds; equal weights change nothing.

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
        loss: Literal["log_loss", "hinge", "squared_hinge", "modified_huber", "perceptron"] = "log_loss",
        *,
        invariance: Literal["coordinatewise", "full"] = "coordinatewise",
        update: Literal["auto", "potential", "scinol1", "scinol2"] = "auto",
        alpha: float = 1.5,
        centering: bool | Literal["auto"] = "auto",
        multi_class: Literal["multinomial", "ovr"] = "multinomial",
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: dict | Literal["balanced"] | None = None,
        warm_start: bool = False,
        average: bool = True,
    ):
        self.loss = loss
        self.invariance = invariance
        self.update = update
        self.alpha = alpha
        self.centering = centering
        self.multi_class = multi_class
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
        self.warm_start = warm_start
        self.average = average


class ScaleInvariantRegressor(_InvariantRule, OnlineRegressor):
    """Linear regression learnt online without a learning rate, from features and targets in any units.

    The weights are a function of the sums of past gradients, not the end of a path of steps, so there is no rate to
    choose, and regret is bounded against every comparator, however large. With several outputs all of them are learnt
    in one pass. Read more in the :ref:`user guide <scale_invariant>`.

    Parameters
    ----------
    loss : {"huber", "squared_error", "absolute_error", "epsilon_insensitive", "squared_epsilon_insensitive", \
"quantile"}, default="huber"
        Loss of each output. The theorems need a bound on the gradient. ``"huber"`` has one and, at two standard
        deviations, predicts the mean nearly as the squared error does; the two squared losses have none: their gradient
        is divided by the largest so far, which no theorem covers, and which one early outlier can stall.
    invariance : {"coordinatewise", "full"}, default="coordinatewise"
        Under which maps of the features predictions do not change: scaling each (time in proportion to the nonzeros of
        a row), or every invertible linear map and move of the origin (time and memory in proportion to the square of
        ``n_features``, dense rows only).
    update : {"auto", "potential", "scinol1", "scinol2"}, default="auto"
        ``"potential"`` is [1]_, ``"scinol1"`` and ``"scinol2"`` are the algorithms of [2]_, which are invariant
        coordinate by coordinate. ``"auto"``: ``"scinol2"`` where it can be, else ``"potential"``.
    alpha : float, default=1.5
        Constant of the potential, above 9/8; ScInOL has none. The theorem's additive constant is
        ``exp(1 / (2 * (alpha - 9/8)))``; larger values start more slowly.
    centering : bool or "auto", default="auto"
        Whether to subtract from each feature its running mean, with ``invariance="coordinatewise"``. ``"auto"``: where
        the first rows are dense, with ``fit_intercept``. On sparse rows it cannot be.
    target_normalization : {"standard", None}, default="standard"
        ``"standard"`` counts predictions from the running mean of the target and in units of its running standard
        deviation, so that ``y -> a y + c`` maps predictions to ``a * prediction + c``. Without ``fit_intercept`` it is
        the root mean square, and the origin stays at 0.
    epsilon : float or "auto", default="auto"
        Where ``"huber"`` turns linear, and what the epsilon-insensitive losses ignore; in standard deviations of the
        target so far or, with ``target_normalization=None``, in its unit. ``"auto"``: 2 for ``"huber"``, else 0.1.
    quantile : float, default=0.5
        The quantile that ``loss="quantile"`` predicts, between 0 and 1.
    fit_intercept : bool, default=True
        Whether a constant feature 1 is added.
    max_iter : int, default=1000
        Most passes over the rows in `fit`.
    tol : float or None, default=1e-3
        `fit` stops when the mean loss of a pass has not been better than the best one by ``tol`` times that (or the
        validation score by ``tol``, with ``early_stopping``) for ``n_iter_no_change`` passes. None: after ``max_iter``
        passes.
    shuffle : bool, default=True
        Whether `fit` goes through the rows in a new random order in each pass.
    verbose : int, default=0
        Above 0, `fit` prints a line for each pass.
    n_jobs : int or None, default=None
        Accepted as by NAGClassifier. All outputs are learnt in one pass on one core, whatever it is.
    random_state : int, RandomState instance or None, default=None
        Order of the rows, and which are held out.
    early_stopping : bool, default=False
        Whether to hold out rows and stop by the score on them.
    validation_fraction : float, default=0.1
        Share of the rows that is held out for ``early_stopping``, between 0 and 1.
    n_iter_no_change : int, default=5
        Passes without improvement before `fit` stops.
    warm_start : bool, default=False
        Whether `fit` goes on from the present model.
    average : bool, default=True
        Whether to predict with the average of the weights played, in which later rows count more, or with the last
        ones.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_outputs, n_features)
        Weights in raw units; read-only, made when asked for.
    intercept_ : ndarray of shape (1,) or (n_outputs,)
        Prediction where every feature is 0.
    scale_ : ndarray of shape (n_features,)
        The size of each feature: root mean square (``"potential"``) or largest, of deviations from the mean where these
        are taken; 1 for a feature that has been 0 so far.
    mean_ : ndarray of shape (n_features,)
        Mean of each feature; 0 where features are not centred.
    progressive_loss_ : float
        Mean over all rows since the model was new, and over outputs, of the loss of the prediction made before the row
        was learnt, held within the range of the targets before, widened by its own width. After one pass it is an
        honest estimate of the loss on new rows. The first row, with ``target_normalization`` and ``fit_intercept``,
        only sets the origin: its loss is 0.
    t_ : float
        Total weight of the rows learnt.
    n_iter_ : int
        Passes made by `fit`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where the input had them.

    See Also
    --------
    ScaleInvariantClassifier : The same for classification.
    NAGRegressor : Normalized adaptive gradients; faster, with a learning rate.

    Notes
    -----
    With ``invariance="full"`` a feature that depends linearly on those before it has the weight 0.

    References
    ----------
    .. [1] Kotłowski, "Scale-invariant unconstrained online learning", ALT 2017, Algorithms 1 (coordinatewise) and 2
       (full). https://arxiv.org/abs/1708.07042
    .. [2] Kempka, Kotłowski and Warmuth, "Adaptive scale-invariant online algorithms for learning linear models",
       ICML 2019, Algorithms 1 and 2. https://arxiv.org/abs/1902.07528

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_nag import ScaleInvariantRegressor
    >>> X, y = load_diabetes(return_X_y=True, scaled=False)
    >>> reg = ScaleInvariantRegressor(invariance="full", random_state=0).fit(X, y)
    >>> reg.score(X, y) > 0.5
    True
    """

    def __init__(
        self,
        loss: Literal[
            "huber", "squared_error", "absolute_error", "epsilon_insensitive", "squared_epsilon_insensitive", "quantile"
        ] = "huber",
        *,
        invariance: Literal["coordinatewise", "full"] = "coordinatewise",
        update: Literal["auto", "potential", "scinol1", "scinol2"] = "auto",
        alpha: float = 1.5,
        centering: bool | Literal["auto"] = "auto",
        target_normalization: Literal["standard"] | None = "standard",
        epsilon: float | Literal["auto"] = "auto",
        quantile: float = 0.5,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        warm_start: bool = False,
        average: bool = True,
    ):
        self.loss = loss
        self.invariance = invariance
        self.update = update
        self.alpha = alpha
        self.centering = centering
        self.target_normalization = target_normalization
        self.epsilon = epsilon
        self.quantile = quantile
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

    def _check_parameters(self):
        super()._check_parameters()
        if not isinstance(self.epsilon, str):
            check_number("epsilon", self.epsilon, min_val=0)
        elif self.epsilon != "auto":
            raise ValueError(f"epsilon must be a number that is not negative or 'auto'; got {self.epsilon!r}.")

    def _loss(self):
        if self.epsilon == "auto" and "epsilon" in self._losses[self.loss].parameters:
            return self._losses[self.loss](2.0 if self.loss == "huber" else 0.1)
        return super()._loss()
