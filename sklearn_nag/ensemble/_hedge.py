"""Hedge and Weighted Majority over online learners of any kind."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, column_or_1d

from .. import kernels, losses
from .._decorators import available_if, share
from ..estimators._calls import between_calls, unchanged_on_error
from ..estimators._labels import ScoresLabels, check_one_class_a_row
from ..estimators._nag import NAGClassifier, NAGRegressor
from ..estimators._online import OnlineLinear
from ..estimators._parameters import check_parameters
from ..estimators._rates import common_deviance, score_by_common
from ..estimators._regressor import TakesNumbers
from ..estimators._saved import check_known_classes, check_outputs
from ..estimators._scale_invariant import ScaleInvariantClassifier, ScaleInvariantRegressor
from ..estimators._shared_docs import ALL, entries
from ..estimators._validation import (
    Rows,
    as_floats,
    as_labels,
    check_coverage,
    check_labels,
    class_codes,
    classes_as_before,
    classes_of,
    two_or_more,
)
from ..uncertainty import quantiles
from ._experts import Expert
from ._mixture import LARGEST, Mixture

_LEAST_PROBABILITY = np.finfo(np.float64).eps  # as in sklearn.metrics.log_loss
_ROUNDING = 1e-13  # of forecasts, relative to the sizes of the terms added up
_LAST_DIGITS = 8.0 * np.finfo(np.float64).eps  # of forecasts, relative to themselves, in the last addition
_NO_LOSS = 1e-6  # of the probability of the right class: smaller differences leave the log loss the same
_LATE = 64  # rows after which the largest of recent forecasts halves
_LEAST_EXPONENT = -1100.0  # of 0, below that of every double

DOCS = ALL | entries("""
eta0 : float, default=1.0
    Learning rate of ``"hedge"`` and ``"weighted_majority"``, in the inverse unit of the loss. With ``"hedge"``, the log
    loss and rate 1, the mixture is Bayesian. If no row weighs more than 1, its total loss then exceeds that of the best
    forecast by at most the logarithm of the number of forecasts.
blend : bool, default=True
    With ``update="adahedge"``, whether an additional expert blends the forecasts of the others, by AdaHedge on the
    slopes of the loss. It does nearly as well as the best fixed blend of them, which can be better than each of them,
    and gets no weight if others do better. No effect if classes are votes.
max_iter : int, default=1
    Number of passes of `fit` over the rows. Estimators are judged in the first pass, when rows are new to them.
batch_size : int, default=100
    Number of rows that estimators of other packages, and pipelines, predict before they learn the first of them. Larger
    batches, in `partial_fit` as well, are cut to this size. No effect if all estimators are learners of this package or
    mixtures of them, which predict each row just before they learn it.
weights_ : ndarray of shape (n_estimators,)
    Share of each estimator in predictions, including its share in the blend, averaged over outputs. The shares sum to
    1.
expert_losses_ : ndarray of shape (n_estimators,)
    Mean progressive loss of each estimator over the rows on which it was judged; NaN before the first. For learners of
    this package, it is that of the latest weights.
progressive_loss_ : float
    Mean progressive loss of the mixture.
regret_ : float
    Total progressive loss of the mixture minus that of the best estimator; negative if the mixture beats all of them.
t_ : float
    Total weight of the rows that were judged.
estimators_ : list of estimators
    The fitted estimators.
named_estimators_ : `sklearn.utils.Bunch`
    The fitted estimators by name.
""")

_NOTES = {
    "notes": """
Rows are not judged before anything has been learnt: the first row, or the first batch if there are estimators of other
packages, which cannot predict earlier.

A linear learner of this package whose ``predict`` averages the weights of all rows counts as two experts. One predicts
each row with the latest weights, just before learning it. The other predicts as ``predict`` does, from a snapshot that
is renewed whenever the number of rows has grown by a quarter.

A call is undone if one of the estimators fails, so what it changes is saved first: for learners of this package, the
columns that the rows use; for others, the whole model. Pass rows in batches rather than one by one.

A Pipeline step with ``partial_fit`` learns each batch before it transforms it, as in
`sklearn_nag.model_selection.progressive_validation`.
""".strip()
}


def _gives_probabilities(estimator):
    try:
        if hasattr(estimator, "_experts"):
            return estimator._method == "predict_proba"
        learners = [Expert(*pair).learner for pair in estimator._named()]
        return estimator._judged_by(learners) == "log_loss"
    except (TypeError, ValueError):
        return False  # these estimators will be refused


@share(**DOCS, **_NOTES)
class HedgeClassifier(ScoresLabels, Mixture):
    """Mixture of online classifiers, each weighted by how well it has predicted rows before learning them.

    On every sequence of rows, the loss of the mixture exceeds that of the best estimator by at most a bound that holds
    whatever the rows and parameters are. So there is no need to choose between learners. The default estimators are
    sNAG, NAG and ScInOL 2, for which a single pass over the rows is enough.

    Parameters
    ----------
    estimators : list of (str, estimator), optional
        Names and classifiers with ``partial_fit``, from this package or others, or Pipelines that end with one. The
        default is ``NAGClassifier()``, ``NAGClassifier(normalization="max")`` and ``ScaleInvariantClassifier()``, named
        ``"snag"``, ``"nag"`` and ``"scinol2"``. With scikit-learn's metadata routing, learners that were told
        ``set_partial_fit_request(sample_weight=False)`` get no weights; judging them uses the weights all the same.
    update : {"adahedge", "hedge", "weighted_majority"}, default="adahedge"
        How weights depend on total losses ``L``: by ``exp(-rate * L)``, with a rate learnt by AdaHedge [1]_ or with the
        fixed rate ``eta0`` [2]_. ``"weighted_majority"`` uses the fixed rate, counts mistakes, and predicts the class
        with the largest total weight of votes [3]_.
    {eta0}
    loss : {"auto", "log_loss", "zero_one"}, default="auto"
        Loss by which estimators are judged. ``"log_loss"``: the log loss of their probabilities, which are then mixed.
        ``"zero_one"``: their mistakes; classes are then votes, and the loss of a mixture of votes is the share of wrong
        ones. ``"auto"``: ``"log_loss"`` if all estimators have ``predict_proba`` and ``update`` is not
        ``"weighted_majority"``, otherwise ``"zero_one"``.
    {blend}
    {max_iter}
    {batch_size}
    {shuffle}
    random_state : int, RandomState instance or None, default=None
        Controls the order of the rows.

    Attributes
    ----------
    {weights_}
    {expert_losses_}
    {progressive_loss_}
    {regret_}
    {t_}
    {estimators_}
    {named_estimators_}
    classes_ : ndarray of shape (n_classes,)
        The classes.
    {n_iter_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    HedgeRegressor : The same for regression.
    sklearn_nag.regret : Bounds on regret.
    sklearn.ensemble.VotingClassifier : Fixed weights.

    Notes
    -----
    {notes}

    Probabilities are kept above 2e-16, so that no log loss is infinite.

    References
    ----------
    .. [1] de Rooij, van Erven, Grünwald and Koolen, "Follow the leader if you can, hedge if you must", JMLR 15, 2014,
       section 2.
    .. [2] Freund and Schapire, "A decision-theoretic generalization of on-line learning and an application to
       boosting", JCSS 55, 1997, section 2.
    .. [3] Littlestone and Warmuth, "The weighted majority algorithm", Information and Computation 108, 1994.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_nag import HedgeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = HedgeClassifier(random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.95
    True
    >>> clf.regret_ < 2.0  # in 568 rows, in units of the log loss
    True
    """

    classes_: np.ndarray

    _updates = ("adahedge", "hedge", "weighted_majority")
    _losses = ("auto", "log_loss", "zero_one")
    _target_options: dict[str, Any] = {}
    _multi_output = False
    _default_kinds = NAGClassifier, ScaleInvariantClassifier

    def __init__(
        self,
        estimators: list[tuple[str, BaseEstimator]] | None = None,
        *,
        update: Literal["adahedge", "hedge", "weighted_majority"] = "adahedge",
        eta0: float = 1.0,
        loss: Literal["auto", "log_loss", "zero_one"] = "auto",
        blend: bool = True,
        max_iter: int = 1,
        batch_size: int = 100,
        shuffle: bool = True,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.estimators = estimators
        self.update = update
        self.eta0 = eta0
        self.loss = loss
        self.blend = blend
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.random_state = random_state

    def _judged_by(self, learners):
        """Name of the loss by which these learners are judged."""
        without = [type(learner).__name__ for learner in learners if not hasattr(learner, "predict_proba")]
        if self.update == "weighted_majority":
            if self.loss == "log_loss":
                raise ValueError("update='weighted_majority' counts mistakes: it needs loss='zero_one' or 'auto'.")
            return "zero_one"
        if self.loss == "log_loss" and without:
            raise ValueError(f"loss='log_loss' needs estimators with predict_proba, which {without[0]} lacks.")
        return ("zero_one" if without else "log_loss") if self.loss == "auto" else self.loss

    @unchanged_on_error
    def partial_fit(
        self, X: Rows, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Let each estimator predict each row and then learn it, once, in the order given.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, in a form that the estimators accept.
        y : array-like of shape (n_samples,)
            Class of each row.
        classes : array-like of shape (n_classes,), optional
            All classes that can ever occur; required at the first call only.
        sample_weight : array-like of shape (n_samples,), optional
            Nonnegative weights of the rows; 1 by default. A row of weight 0 is ignored.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        ValueError
            For input or parameters that are invalid or that one of the estimators refuses; for a class that ``classes``
            did not name; if ``classes`` is missing at the first call or differs later. The estimator is then unchanged.
        """
        check_parameters(self)
        if classes is not None:
            self.classes_ = classes_as_before(self, classes)
        elif not self.__sklearn_is_fitted__():
            raise ValueError("classes must be passed on the first call to partial_fit.")
        return self._partial_fit(X, y, sample_weight)

    def _validate(self, X, y, sample_weight, first):
        check_one_class_a_row(y, type(self).__name__)
        return super()._validate(X, y, sample_weight, first)

    def _go_on(self, X, y, sample_weight):
        X, y, weight = super()._go_on(X, y, sample_weight)
        if weight is not None:
            class_codes(y, self.classes_)  # raises for an unknown class, whatever its row weighs
        return X, y, weight

    def _check_targets_alone(self, y):
        return column_or_1d(y, warn=True)

    def _plain_targets(self, y, n_rows):
        return type(y) is np.ndarray and y.shape == (n_rows,) and y.dtype.kind in "biuU"

    def _check_targets(self, y, first):
        return check_labels(as_labels(y, "y"))

    def _see_all_targets(self, y):
        self.classes_ = two_or_more(classes_of(y))

    def _check_targets_of_model(self):
        check_known_classes(getattr(self, "classes_", None))
        for expert in self._experts:
            if isinstance(expert.learner, OnlineLinear):
                known = getattr(expert.learner, "classes_", self.classes_)
                if not np.array_equal(known, self.classes_):
                    raise ValueError(f"{expert.name!r} has learnt other classes: {known}")

    def _advice_before_rows(self, n_rows):
        """Advice for ``n_rows`` rows before anything is learnt: all classes alike."""
        return np.full((n_rows, len(self.classes_)), 1.0 / len(self.classes_))

    @property
    def _method(self):
        return "predict_proba" if self._begun_with["loss"] == "log_loss" else "predict"

    def _as_advice(self, response):
        """Probabilities, or votes, of shape (n_rows, n_classes)."""
        n_classes = len(self.classes_)
        if self._method == "predict":
            return np.eye(n_classes)[class_codes(response, self.classes_)]
        response = np.where(np.isfinite(response), response, 0.0)
        probability = np.maximum(np.asarray(response, dtype=np.float64), _LEAST_PROBABILITY)
        return probability / np.add.reduce(probability, axis=1, keepdims=True)

    def _advice(self, played, y):
        """Advice of each expert, of shape (n_experts, n_rows, n)."""
        return np.stack([self._as_advice(response) for response in played])

    def _rounding(self, first, y, n_unjudged):
        """How far the advice of others may differ from the first expert's through rounding alone."""
        rounding = _ROUNDING * first + _LAST_DIGITS  # second term: 1 minus a large probability has few digits
        came = np.arange(first.shape[1]) == y[n_unjudged:, None]
        return np.where(came, np.minimum(rounding, _NO_LOSS * first), rounding)

    def _loss_of(self, advice, y):
        """Loss of each row's advice, also mixed advice, as a column; advice is of shape (..., n_rows, n_classes)."""
        if self.update == "weighted_majority":
            return (advice.argmax(axis=-1) != y).astype(np.float64)[..., None]
        right = self._right(advice, y)
        return -np.log(right) if self._method == "predict_proba" else 1.0 - right

    def _against(self, advice, y):
        """What blends are made of, of shape (n_experts, n_rows, n_groups): probabilities of the right classes."""
        return self._right(advice, y)

    def _right(self, advice, y):
        """Advice on the classes that came, of shape (..., n_rows, 1)."""
        return np.ascontiguousarray(advice[..., np.arange(len(y)), y])[..., None]

    def _what_came(self, y):
        return class_codes(y, self.classes_).astype(np.intp)

    @between_calls
    def predict(self, X: Rows) -> np.ndarray:
        """Class of each row: the most probable one or, if classes are votes, the one with the most votes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Entries of ``classes_``.
        """
        return self._respond("predict", self._mixed_response(X))

    def _respond(self, method, mixed):
        """Result of ``method`` for mixed votes or probabilities."""
        if method == "predict":
            return self.classes_[mixed.argmax(axis=1)]
        return np.log(mixed) if method == "predict_log_proba" else mixed

    @available_if(_gives_probabilities)
    @between_calls
    def predict_proba(self, X: Rows) -> np.ndarray:
        """Probability of each class: the estimators' probabilities, mixed by their weights.

        Available if the estimators are judged by the log loss.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return self._mixed_response(X)

    @available_if(_gives_probabilities)
    def predict_log_proba(self, X: Rows) -> np.ndarray:
        """Logarithm of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return np.log(self.predict_proba(X))


@share(**DOCS, **_NOTES)
class HedgeRegressor(TakesNumbers, Mixture):
    """Mixture of online regressors, each weighted by how well it has predicted rows before learning them.

    On every sequence of rows, the loss of the mixture exceeds that of the best estimator by at most a bound that holds
    whatever the rows and parameters are. So there is no need to choose between learners. The default estimators are
    sNAG, NAG and ScInOL 2, for which a single pass over the rows is enough.

    Parameters
    ----------
    estimators : list of (str, estimator), optional
        Names and regressors with ``partial_fit``, from this package or others, or Pipelines that end with one. The
        default is ``NAGRegressor()``, ``NAGRegressor(normalization="max")`` and ``ScaleInvariantRegressor()``, named
        ``"snag"``, ``"nag"`` and ``"scinol2"``. With scikit-learn's metadata routing, learners that were told
        ``set_partial_fit_request(sample_weight=False)`` get no weights; judging them uses the weights all the same.
    update : {"adahedge", "hedge"}, default="adahedge"
        How weights depend on total losses ``L``: by ``exp(-rate * L)``, with a rate learnt by AdaHedge, whatever the
        unit of the target [1]_, or with the fixed rate ``eta0`` [2]_.
    {eta0}
    loss : {"squared_error", "absolute_error"}, default="squared_error"
        Loss by which estimators are judged: half the squared error, or the absolute error, in units of the target. Each
        output has its own mixture, so the units of outputs do not affect each other; the losses below are means over
        outputs.
    {blend}
    {max_iter}
    {batch_size}
    {shuffle}
    random_state : int, RandomState instance or None, default=None
        Controls the order of the rows.

    Attributes
    ----------
    {weights_}
    {expert_losses_}
    {progressive_loss_}
    {regret_}
    {t_}
    {estimators_}
    {named_estimators_}
    {n_iter_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    HedgeClassifier : The same for classification.
    sklearn_nag.regret : Bounds on regret.
    sklearn.ensemble.VotingRegressor : Fixed weights.

    Notes
    -----
    {notes}

    Predictions of the estimators, both while learning and in `predict`, are clipped to the range of the targets so far,
    widened on either side by its own width. An estimator that diverges therefore does not ruin the mixture.

    Losses are in units of the target. Squared errors do not distinguish estimators whose errors are above 1e154 or
    below 1e-154, because the squares are beyond the range of float64. Rescale such targets.

    References
    ----------
    .. [1] de Rooij, van Erven, Grünwald and Koolen, "Follow the leader if you can, hedge if you must", JMLR 15, 2014,
       section 2.
    .. [2] Freund and Schapire, "A decision-theoretic generalization of on-line learning and an application to
       boosting", JCSS 55, 1997, section 2.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import SGDRegressor
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn_nag import HedgeRegressor, NAGRegressor
    >>> X, y = load_diabetes(return_X_y=True, scaled=False)
    >>> experts = [("nag", NAGRegressor()), ("sgd", make_pipeline(StandardScaler(), SGDRegressor(random_state=0)))]
    >>> reg = HedgeRegressor(experts, max_iter=5, random_state=0).fit(X, y)
    >>> reg.score(X, y) > 0.4
    True
    """

    _updates = ("adahedge", "hedge")
    _losses: tuple[str, ...] = ("squared_error", "absolute_error")
    _multi_output = True
    _default_kinds = NAGRegressor, ScaleInvariantRegressor
    _method = "predict"
    _exponents: Any = None  # of the largest recent forecasts; not in older saved models

    @property
    def _n_groups(self):  # type: ignore[override]
        return self._n_outputs or 1

    def __init__(
        self,
        estimators: list[tuple[str, BaseEstimator]] | None = None,
        *,
        update: Literal["adahedge", "hedge"] = "adahedge",
        eta0: float = 1.0,
        loss: Literal["squared_error", "absolute_error"] = "squared_error",
        blend: bool = True,
        max_iter: int = 1,
        batch_size: int = 100,
        shuffle: bool = True,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.estimators = estimators
        self.update = update
        self.eta0 = eta0
        self.loss = loss
        self.blend = blend
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.random_state = random_state

    def _judged_by(self, learners):
        """Name of the loss by which learners are judged."""
        return self.loss

    @unchanged_on_error
    def partial_fit(self, X: Rows, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Let each estimator predict each row and then learn it, once, in the order given.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, in a form that the estimators accept.
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
            For input or parameters that are invalid or that one of the estimators refuses. The estimator is then
            unchanged.
        """
        return self._partial_fit(X, y, sample_weight)

    def _check_targets_alone(self, y):
        return check_array(as_floats(y, "y"), ensure_2d=False, input_name="y")

    def _plain_targets(self, y, n_rows):
        fits = type(y) is np.ndarray and y.ndim in (1, 2) and len(y) == n_rows and y.size > 0
        return fits and (y.dtype.kind in "iu" or (y.dtype == np.float64 and kernels.all_finite(y)))

    def _check_targets(self, y, first):
        if first:
            self._range = None  # least and largest targets
            self._exponents = None
        return super()._check_targets(y, first)

    def _check_means(self, y):  # here, because errors of estimators would name rows of a batch
        for expert in vars(self).get("_experts") or [Expert(*named) for named in self._named()]:
            if hasattr(expert.learner, "_check_means"):
                with expert.saying():
                    expert.learner._check_means(y)

    def _check_targets_of_model(self):
        check_outputs(getattr(self, "_n_outputs", 0))
        ends = getattr(self, "_range", None)
        if ends is not None:
            kernels.check_array("_range", ends, (2, self._n_outputs or 1))
            kernels.check_finite("_range", ends)
        if (ends is None) != (self._mixture is None):
            raise ValueError("it has no range of the targets that it has seen")
        if self._exponents is not None:
            kernels.check_array("_exponents", self._exponents, (self._n_outputs or 1,))
            if not (np.abs(self._exponents) <= -_LEAST_EXPONENT).all():
                raise ValueError("_exponents has entries that no double has")
        if self._evidence is not None:
            quantiles.check("what is known of errors", self._evidence, self._n_outputs or 1)

    def _advice_before_rows(self, n_rows):
        """Advice for ``n_rows`` rows before anything is learnt: 0."""
        return np.zeros((n_rows, self._n_outputs or 1))

    def _see(self, X, y, judge):
        super()._see(X, y, judge)
        self._range = self._ranges(y)[:, -1]

    def _ranges(self, y):
        """Smallest and largest targets before each row and after the last, of shape (2, n_rows + 1, n_outputs)."""
        y = y.reshape(len(y), -1)
        low, high = np.full((2, y.shape[1]), [[np.inf], [-np.inf]]) if self._range is None else self._range
        lows, highs = np.concatenate([low[None], y]), np.concatenate([high[None], y])
        return np.array([np.minimum.accumulate(lows), np.maximum.accumulate(highs)])

    def _judge(self, responses, y, c, n_unjudged):
        mixed = super()._judge(responses, y, c, n_unjudged)
        known = quantiles.new(mixed.shape[1]) if self._evidence is None else self._evidence
        self._evidence = quantiles.learn(known, mixed, y[n_unjudged:], self._memory)
        return mixed

    @property
    def _memory(self):
        return np.inf

    def _as_advice(self, response):
        """Predictions of shape (n_rows, n_outputs), clipped to the range of all targets, widened by its width."""
        return self._held(_by_output(response), *self._range)

    def _held(self, response, low, high):
        with np.errstate(over="ignore", invalid="ignore"):  # before the first row, there is no range
            least, most = np.maximum(2.0 * low - high, -LARGEST), np.minimum(2.0 * high - low, LARGEST)
        return np.minimum(np.maximum(np.where(np.isnan(response), low, response), least), most)

    def _advice(self, played, y):
        """As for classes, clipped as in `_as_advice` by the range of the targets before each row."""
        low, high = self._ranges(y)[:, :-1]
        return self._held(np.stack([_by_output(response) for response in played]), low, high)

    def _rounding(self, first, y, n_unjudged):
        """As for classes, from the range of targets including the row's own, about which rounding tells nothing.

        Learners that know where targets are round what they add to that. This is at most as large as the spread of
        targets, and as recent forecasts: one far-off target widens the spread for good.
        """
        with np.errstate(over="ignore"):
            low, high = self._ranges(y)[:, n_unjudged + 1 :]
            size = np.minimum(np.minimum(self._largest_of_late(first), high - low), LARGEST)
        return _ROUNDING * size + _LAST_DIGITS * np.abs(first)

    def _largest_of_late(self, forecasts):
        """Largest recent forecasts up to each row, rounded up to powers of two; they halve every `_LATE` rows.

        Exponents are whole numbers, so that no cut of a stream changes a bit.
        """
        n_rows = self._experts[0].n_rows
        halved = (np.arange(n_rows - len(forecasts), n_rows + 1) // _LATE)[:, None]
        exponents = np.where(forecasts == 0.0, _LEAST_EXPONENT, np.frexp(forecasts)[1])
        before = np.full(forecasts.shape[1], _LEAST_EXPONENT) if self._exponents is None else self._exponents
        raised = np.maximum.accumulate(np.concatenate([(before + halved[0])[None], exponents + halved[:-1]]))
        self._exponents = np.maximum(raised[-1] - halved[-1], _LEAST_EXPONENT)
        return np.ldexp(1.0, np.maximum(raised[1:] - halved[:-1], _LEAST_EXPONENT).astype(int))

    def _loss_of(self, advice, y):
        """Loss of each row's advice, also mixed advice, per output: of shape (n_rows, n_outputs)."""
        with np.errstate(over="ignore"):
            loss = losses.REGRESSION[self._begun_with["loss"]]()
            return np.minimum(loss.value(advice, y), LARGEST)

    def _against(self, advice, y):
        """What blends are made of, as for classes: predictions minus targets."""
        with np.errstate(over="ignore"):
            return advice - y

    def _what_came(self, y):
        return y.reshape(len(y), -1)

    @between_calls
    def predict(self, X: Rows) -> np.ndarray:
        """Prediction for each row, in units of the target: the estimators' predictions, mixed by their weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predictions, with the shape of the targets.
        """
        return self._respond("predict", self._mixed_response(X))

    def _respond(self, method, mixed):
        """Result of ``predict`` for mixed predictions."""
        return self._in_shape(mixed)

    def score(self, X: Rows, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Proportion of the variation of the targets that predictions explain; 1 at best.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, in a form that the estimators accept.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Nonnegative weights of the rows; 1 by default.

        Returns
        -------
        float
            R² of squared errors. If all estimators learn with the same deviance, such as ``loss="poisson"`` of
            :class:`NAGRegressor`, D², as their own score.
        """
        predicted = self.predict(X)
        return score_by_common([expert for _, expert in self._named()], y, predicted, sample_weight)

    @between_calls
    def predict_interval(self, X: Rows, coverage: float | ArrayLike = 0.9) -> np.ndarray:
        """Interval for the target of each row that contains it with the given probability.

        Like `NAGRegressor.predict_interval`, from the errors that the mixture made on rows just before it learnt them,
        but with the same width for all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        coverage : float or array-like of shape (n_coverages,), default=0.9
            Probability that an interval contains the target, between 0 and 1; or several such probabilities.

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, n_outputs, 2)
            Lower and upper ends in units of the target; for several coverages, of shape (..., 2, n_coverages). Ends are
            infinite before the model has seen ``1 / (1 - coverage)`` errors, and for coverages above 0.999.

        Raises
        ------
        NotFittedError
            Before fitting.
        ValueError
            For invalid rows, for coverages out of range, and for a model that was saved by a version that did not keep
            errors and has learnt nothing since.
        """
        coverages = check_coverage(coverage)
        mixed = self._mixed_response(X)
        if self._evidence is None and self._mixture is not None and self._t > 0:
            raise ValueError(
                f"this {type(self).__name__} has no record of its errors, because it was saved by a version that kept "
                "none. Call partial_fit with some rows first."
            )
        known = quantiles.new(mixed.shape[1]) if self._evidence is None else self._evidence
        interval = quantiles.about(mixed, quantiles.widths(known, coverages))
        if common_deviance([expert for _, expert in self._named()]) is not None:
            interval = np.maximum(interval, 0.0)
        interval = self._in_shape(interval)
        return interval if np.ndim(coverage) else interval[..., 0]


def _by_output(response):
    """Predictions as float64, of shape (n_rows, n_outputs)."""
    response = np.asarray(response, dtype=np.float64)
    return response.reshape(len(response), -1)
