"""Base of all estimators: `fit`, `partial_fit`, what is kept of a model, and what is shown of it."""

from __future__ import annotations

import copy
import functools
import inspect
import warnings
from contextlib import nullcontext
from functools import partial
from numbers import Integral, Real
from operator import attrgetter, is_, methodcaller
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator

from .. import kernels, losses
from .._beside import Beside
from ._calls import between_calls, named_publicly, renewed, turn_of, unchanged_on_error, undo_of, view_of
from ._exporting import ExportableMixin
from ._growing_table import learn_and_report, printed_table, tables_of
from ._parameters import (
    InvalidParameterError,
    as_they_are,
    check_as_begun,
    check_flag,
    check_number,
    check_option,
    check_parameters,
    check_seed,
    unchanging,
)
from ._passes import LEARNT_ANEW, CallbackSupportMixin, Passes, with_callbacks
from ._reading import ReadableMixin
from ._saved import STATE_VERSION, check_attributes, check_begun_with, check_features, damaged, of_this_version
from ._validation import (
    Rows,
    Targets,
    as_floats,
    check_finite,
    check_fitted,
    check_repeated,
    check_sparse,
    check_weights,
    converted,
    is_plain,
    values_of,
)

ENTRIES = 8  # per feature; with fewer, finding the features that they name is faster than copying all
_SILENCE = nullcontext()
_told_of_rows_that_do_not_count = Beside()  # models whose user has been warned


class Divergence(ValueError):
    """Raised for rows that make a model leave the range of float64."""


@functools.cache
def defaults_of(estimator_class):
    """Defaults of all parameters of a class by name, including those of the learner it derives from."""
    learners = [kind for kind in reversed(estimator_class.__mro__) if issubclass(kind, OnlineLinear)]
    parameters = [p for kind in learners for p in inspect.signature(kind).parameters.values()]
    return {p.name: p.default for p in parameters if p.kind is not inspect.Parameter.VAR_KEYWORD}


@functools.cache
def _reader_of_parameters(estimator_class):
    """Function that returns all parameter values of an estimator as a tuple."""
    return attrgetter(*defaults_of(estimator_class))


class Made(NamedTuple):
    """What is built from the parameters; kept until one changes, because building takes longer than learning a row."""

    values: tuple
    copies: dict[int, Any]  # of values that may change in place, by index
    rule: kernels.LinearRule
    loss: losses.Loss


def _differ(made, values):
    """Whether parameter values, or their types (True == 1), differ from those that ``made`` was built from.

    Values that cannot be compared differ.
    """
    old = made.values
    try:
        if made.copies and not all(_is_as_it_was(values[i], was) for i, was in made.copies.items()):
            return True
        return not all(map(is_, old, values)) and (old != values or [*map(type, old)] != [*map(type, values)])
    except ValueError:
        return True


def _is_as_it_was(value, was):
    return np.array_equal(value, was) if isinstance(was, np.ndarray) else value == was


class OnlineLinear(ReadableMixin, ExportableMixin, CallbackSupportMixin, BaseEstimator):
    """Base of the online linear learners.

    The public classes have the parameters that are read here. Their ``__init__`` repeats and only stores them, as
    scikit-learn's `clone` and `get_params` require.

    A family defines how it learns in ``_rule``, and explains failures in ``_why_useless``, ``_why_too_little`` and
    ``_why_diverged``. `OnlineClassifier` and `OnlineRegressor` define the targets.
    """

    _state: kernels.LinearState
    _evidence: Any = None  # of errors on rows before they are learnt; never changed in place
    _keeps_evidence = True
    _judged_in_each_pass = False  # of a `fit` of many rows, not only in its first
    _plays = True  # each row is predicted by `_play` just before it is learnt
    _added_parameters: ClassVar[dict[str, Any]] = {}  # missing from older saved models, with their meaning then
    _predicts_mean = True  # of the targets or their shares, if features tell nothing
    _why_too_little: str | None = None  # why too little may have been learnt; None if parameters give no reason
    _why_diverged = ""  # another reason than the rows, added to the error
    _solved = False  # whether another pass over the same rows would change nothing

    # -- parameters

    def _rule(self, centred):
        """The rule of the kernel for these parameters and centred features or not."""
        raise NotImplementedError

    def _of_all_rules(self, centred):
        """Fields of the rules of all families, by name, except ``n_targets``."""
        loss = self._loss()
        return {
            "intercept": bool(self.fit_intercept),
            "centred": centred,
            "target_unit": self._target_unit,
            "degree": loss.degree,
            "robust": loss.robust,
            "outlying": self._outlying(loss),
            "coupled": loss.coupled,
            "log_link": loss.log_link,
            "clip": self._clip,
        }

    @property
    def _loss_name(self):
        """Name of the loss that the parameters select."""
        return self.loss

    @property
    def _clip(self):
        """Range to which predictions are clipped, as in rules; None for classifiers."""
        return None

    def _loss(self):
        """The loss that the parameters select, with its own parameters."""
        loss = self._losses[self._loss_name]
        return loss(**{name: float(getattr(self, name)) for name in loss.parameters})

    @property
    def _selective(self):
        """Whether only frequent features are centred, so rows may be sparse."""
        return self.normalization == "auto"

    def _centred(self, is_sparse):
        """Whether features are to be centred, given whether rows are sparse."""
        is_sparse = is_sparse and not self._selective
        if self.centering == "auto":
            return not is_sparse and self.fit_intercept and getattr(self, "normalization", "rms") is not None
        if self.centering and is_sparse:
            raise ValueError(
                f"centering=True needs dense X with normalization={self.normalization!r}: subtracting means would "
                "leave no zeros. Use normalization='auto', or centering='auto' or False."
            )
        return bool(self.centering)

    @property
    def _fixed(self) -> tuple[str, ...]:
        """Parameters that may not change while a model goes on."""
        return ("fit_intercept", "centering")

    def _breaks(self, name, old, new):
        """Whether a model cannot go on if the fixed parameter ``name`` changes from ``old`` to ``new``."""
        return old != new

    @property
    def _why_useless(self):
        """Why passes may have learnt nothing useful."""
        return "There may be nothing to learn from these features, or too few rows so far."

    def _has_defaults(self, *names):
        """Whether these parameters have their defaults, except for those that a family lacks."""
        defaults = defaults_of(type(self))
        return all(getattr(self, name) == defaults[name] for name in names if name in defaults)

    def _values(self):
        """Values of all parameters."""
        return _reader_of_parameters(type(self))(self)

    def _check_changed_parameters(self):
        """Call `_check_parameters` unless nothing has changed since `_made` was built."""
        made = vars(self).get("_made")
        if made is None or _differ(made, self._values()):
            check_parameters(self)
            vars(self).pop("_made", None)

    def _make(self, centred):
        """Build and keep a rule and a loss."""
        values = self._values()
        copies = {i: kept for i, value in enumerate(values) if (kept := unchanging(value)) is not value}
        self._made = Made(values, copies, self._rule(centred), self._loss())
        return self._made

    def _check_parameters(self):
        """Raise for parameters that are out of range or unknown."""
        for name in ("fit_intercept", "shuffle", "warm_start"):
            check_flag(name, getattr(self, name))
        if not isinstance(self.early_stopping, np.bool_):
            check_option("early_stopping", self.early_stopping, (True, False, "auto"))
        check_option("loss", self._loss_name, tuple(self._losses))
        centering = bool(self.centering) if isinstance(self.centering, np.bool_) else self.centering
        check_option("centering", centering, (True, False, "auto"))
        if centering is True and not self.fit_intercept:
            raise ValueError("centering=True needs fit_intercept=True, because the intercept takes up the means.")
        check_number("max_iter", self.max_iter, Integral, min_val=1)
        if self.tol is not None:
            check_number("tol", self.tol, min_val=0)
        check_number("n_iter_no_change", self.n_iter_no_change, Integral, min_val=1)
        check_number(
            "validation_fraction", self.validation_fraction, min_val=0, max_val=1, include_boundaries="neither"
        )
        names = defaults_of(type(self))  # not all families have all parameters
        if "average" in names and not isinstance(self.average, np.bool_):
            check_number("average", self.average, Integral, min_val=0, options=(True, False, "auto"))
        check_number("verbose", self.verbose, Integral, min_val=0)
        check_seed(self.random_state)
        if "n_jobs" in names and self.n_jobs is not None:
            check_number("n_jobs", self.n_jobs, Integral, hint="-1 is for all cores.")
            if self.n_jobs == 0:
                allowed = "None, the number of threads or, below 0, -1 for all cores and -2 for all but one"
                raise InvalidParameterError("n_jobs", allowed, "0")

    @property
    def _stops_by_score(self):
        """Whether rows are held out for a score, never to be learnt."""
        return not isinstance(self.early_stopping, str) and bool(self.early_stopping)

    def _check_no_early_stopping(self):
        """Raise if rows are to be held out: `partial_fit` sees too few."""
        if self._stops_by_score:
            raise ValueError(
                "early_stopping should be False with partial_fit, or 'auto': it learns all the rows it is given; "
                "progressive_loss_ tells how well new rows are predicted."
            )

    # -- learning

    @unchanged_on_error
    def fit(
        self,
        X: Rows,
        y: Targets,
        sample_weight: ArrayLike | None = None,
        *,
        coef_init: ArrayLike | None = None,
        intercept_init: ArrayLike | None = None,
    ) -> Self:
        """Learn from scratch (or continue, with ``warm_start``), in passes over the rows until the loss settles.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows, in any units; dense or sparse, float32 or float64 (other types are converted).
        y : array-like of shape (n_samples,) or {array-like, sparse matrix} of shape (n_samples, n_columns)
            Targets. For regression, each column is an output. For classification, columns of zeros and ones are several
            labels, and other columns are class probabilities, which sum to 1 in each row. Numbers between 0 and 1 in a
            single column are probabilities of class 1 against class 0.
        sample_weight : array-like of shape (n_samples,), optional
            Nonnegative weights of the rows; 1 by default. Nothing is learnt from a row of weight 0.
        coef_init : array-like of the shape of ``coef_``, optional
            Initial weights in raw units, for `NAGClassifier` and `NAGRegressor`; zeros if only the intercept is given.
            A new model first makes a pass over the rows to learn their scales and the sizes of gradients at these
            weights; ``t_`` counts this pass.
        intercept_init : float or array-like of the shape of ``intercept_``, optional
            Initial intercepts; zeros if only the weights are given.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            For invalid input or parameters, and for rows that make the model leave the range of float64. The estimator
            is then unchanged.
        """
        given = coef_init is not None or intercept_init is not None
        passes = self._begin_fit(X, y, sample_weight, goes_on=given)
        if given:
            self._begin_with(passes, *self._given(coef_init, intercept_init, "_init"))
        _make_followed_passes(view_of(self), self, X, passes)
        return self

    @unchanged_on_error
    def set_coef(self, coef: ArrayLike, intercept: ArrayLike) -> Self:
        """Continue from the weights of another linear model: of a batch solver, an average of clients, an older model.

        For `NAGClassifier` and `NAGRegressor` that have learnt at least one row, so that scales and units are known.
        These and the step sizes are kept. Averages of weights, intervals and ``calibration`` start again; the
        probabilities of a calibrated hinge loss are all equal until more rows have been learnt.

        A feature that has not varied so far has no scale and thus no weight: a warning says how many weights are left
        out. Weights outside a ball or simplex given by ``constraint`` are replaced by the nearest ones inside; weights
        beyond bounds are refused.

        Parameters
        ----------
        coef : array-like of the shape of ``coef_``
            Weights in raw units.
        intercept : float or array-like of the shape of ``intercept_``
            Values when every feature is 0.

        Returns
        -------
        self : object
            The estimator; its ``coef_`` and ``intercept_`` equal those given, up to rounding.

        Raises
        ------
        ValueError
            For wrong shapes, NaN and infinity, and estimators whose weights cannot be set; for weights beyond bounds,
            or that leave the range of float64 when multiplied by scales; for losses with a log link, if all targets so
            far are 0. The estimator is then unchanged.
        """
        check_fitted(self)
        coef, intercept = self._given(coef, intercept)
        if self._state.t == 0:
            raise ValueError(
                f"this {type(self).__name__} has learnt no row, so scales are not known: give rows to partial_fit "
                "first, or begin by fit(X, y, coef_init=..., intercept_init=...)."
            )
        self._state = self._continued_state(self._state).copy()
        self._set_linear(coef, intercept)
        self._evidence = None
        return self

    def _given(self, coef, intercept, ending=""):
        """Given weights and intercepts, or zeros, one row per target; raise unless they fit the model.

        ``ending`` completes their names.
        """
        n, n_features = self._n_targets, self.n_features_in_
        if isinstance(self._state, kernels.PlacedState):
            raise self._state.refusal()

        def checked(name, values, shape, flat):
            name += ending
            values = np.zeros(shape) if values is None else as_floats(values, name)
            check_finite(values, name, type(self).__name__)
            fits = values.shape == shape or (n == 1 and values.shape in (flat, (1, *flat)))
            if not fits:
                expected = flat if self._flat_coef and flat else shape
                problem = f"Provided {name} does not match dataset" if ending else f"{name} does not match this model"
                raise ValueError(f"{problem}: its shape is {values.shape}; it must be {expected}.")
            return values.reshape(shape)

        coef = checked("coef", coef, (n, n_features), (n_features,))
        intercept = checked("intercept", intercept, (n,), ())
        if not self.fit_intercept and intercept.any():
            raise ValueError("the given intercept is not 0, but fit_intercept=False leaves none.")
        return coef, intercept

    def _begin_with(self, passes, coef, intercept):
        """Set the state to given weights before the ``passes`` of a `fit`."""
        self._set_linear(coef, intercept)

    def _set_linear(self, coef, intercept):
        """Set the state, which has seen rows, to given weights."""
        raise ValueError(
            f"{type(self).__name__} cannot be set to given weights: its weights are a function of all gradients so "
            "far, not the result of a sequence of steps. NAGClassifier and NAGRegressor can."
        )

    def _begin_fit(self, X, y, sample_weight, goes_on=False):
        """Check the arguments of `fit` and set up the state; return the `Passes` to make.

        With ``goes_on``, the model is about to be given weights.
        """
        self._check_changed_parameters()
        first = not (self.warm_start and self.__sklearn_is_fitted__())
        X, y, weight = self._validate(X, y, sample_weight, first)
        self._see_all_targets(y, weight, first)
        self._state = self._new_state(X) if first else self._continued_state(self._state.copy(), X)
        self._sparse_coef, self.n_iter_, self.validation_losses_ = False, 0, np.empty(0)
        vars(self).pop("_table", None)
        return Passes(self, X, y, weight, goes_on or not first, are_new=first)

    def _make_passes(self, passes, make_pass):
        """Learn pass by pass until the objective settles, then apply the result of a search, if any.

        ``make_pass`` is `_make_pass`, for the passes and an order.
        """
        stopping = passes.stopping()
        begin = self._state.copy() if passes.searches else None
        for order in passes:
            loss, objective, stopped = make_pass(passes, order)
            settled = stopping.settled(objective) or stopped or self._solved
            if passes.searches and stopping.since_best == 0:
                best = self._state.copy()
            if settled:
                break
        if passes.searches:
            n, self.validation_losses_ = stopping.best_pass, passes.shown(self, np.array(stopping.objectives))
            passes.judge(self, best)
            if stopped or n > LEARNT_ANEW:
                self._state, self.n_iter_ = best, n
                passes.learn_held_out(self)
            else:
                self._state, self.n_iter_ = begin, 0
                for order in (passes := passes.over_all(n)):
                    loss, _, stopped = make_pass(passes, order)
                    if stopped:
                        break
        passes.warn_about(self, loss, settled)

    def _make_pass(self, context, view, X, passes, order):
        """Learn one pass, a task of the callbacks' ``context``, which follow it through ``view``.

        ``X`` is the argument of `fit`. Return the mean progressive loss, the objective to minimise, and whether a
        callback asks to stop.
        """
        task = context.subcontext(task_name="pass")
        task.call_on_fit_task_begin(estimator=renewed(view, self), X=X, y=passes.y)
        before, weight = self._state.seen, passes.effective_weight
        loss = passes.learn(self, order)
        self._warn_if_lost(before, weight if weight is None or order is None else weight[order], stacklevel=9)
        self.n_iter_ += 1
        objective = passes.objective(self, loss)
        if self.verbose:
            shown = passes.shown(self, np.array([loss, objective]))
            held_out = f", loss of the rows held out {shown[1]:.6g}" if passes.searches else ""
            print(f"Pass {self.n_iter_}: mean progressive loss {shown[0]:.6g}{held_out}")
        stopped = task.call_on_fit_task_end(
            estimator=renewed(view, self),
            X=X,
            y=passes.y,
            reconstruction_attributes=lambda: {"_state": self._state.copy()},
        )
        return loss, objective, bool(stopped)

    @unchanged_on_error
    def _play(self, X, y, sample_weight=None, classes=None, latest=False, checked=False):
        """Like `partial_fit`, but return decision values from before each row was learnt, as in `_learn`.

        ``checked`` is as for `_rows_to_predict`, and then targets and weights are as from `_validate`.
        """
        self._check_partial_fit(classes, y)
        return self._partial_fit(X, y, sample_weight, play=True, checked=checked, latest=latest)

    @between_calls
    def _answer(self, method, X):
        """Result of ``method`` ("predict" and the like) for rows that are checked; see `_rows_to_predict`."""
        X, decision = self._decided(X, checked=True)
        if method == "predict":
            self._warn_if_held(X, decision)
        return self._respond(method, decision)

    def _warn_if_held(self, X, decision):
        """Warn of predictions that clipping may have spoilt."""

    def _respond(self, method, decision):
        """Result of ``method`` ("predict" and the like) for decision values."""
        return self._interpret(decision)

    def _responded(self, method, decision, y, weight, before):
        """Result of ``method`` for decision values from `_play`.

        ``before`` is the evidence before these rows, None for a new model.
        """
        return self._respond(method, decision)

    def _partial_fit(self, X, y, sample_weight, play=False, checked=False, **how):
        """Learn each row once, with options ``how`` of `_learn`; with ``play``, return what `_play` does."""
        first = not self.__sklearn_is_fitted__()
        # Learning a row with NaN or infinity fails by itself. Rows of weight 0 are not learnt, so X is checked for
        # them.
        every_row_learnt = sample_weight is None and getattr(self, "class_weight", None) is None
        if first or not (checked and self._fits(X)) or not (every_row_learnt or kernels.all_finite(values_of(X))):
            X, y, weight = self._validate(X, y, sample_weight, first, finite=not every_row_learnt)
        else:
            weight = sample_weight
        if first:
            self._state = self._new_state(X)
        else:
            state = self._continued_state(self._state, X)
            if not state.can_be_written:
                self._state = state.copy()
        played = np.empty((X.shape[0], self._state.rule.n_played)) if play else None
        encoded, before = self._encode(y), self._state.seen
        weight = self._weigh_next(y, weight)
        self._learn(X, encoded, weight, predictions=played, are_new=True, **how)
        self.n_iter_ = 1
        self._warn_if_lost(before, weight, stacklevel=6)
        return played

    def _weigh_next(self, y, weight):
        """Like ``_weigh``, for the next rows of a stream."""
        return self._weigh(y, weight)

    def _warn_if_lost(self, before, weight, stacklevel):
        """Warn, once per model, if rows with weight left its total weight as ``before``."""
        if weight is None:
            did_not_count = self._state.seen == before > 0
        else:
            totals = np.add.accumulate(np.append(before, weight))
            did_not_count = ((weight > 0) & (totals[1:] == totals[:-1])).any()
        if did_not_count and self not in _told_of_rows_that_do_not_count:
            _told_of_rows_that_do_not_count[self] = True
            in_what = " in half_life, and let nothing fade" if self._state.rule.forgets else ""
            warnings.warn(
                f"some rows did not count{in_what}: the model has learnt rows of a total weight of "
                f"{self._state.seen:.4g}, against which theirs is lost in rounding (beyond 2**53 times their weight). "
                "Give recent rows more weight, or begin a new model.",
                UserWarning,
                stacklevel=stacklevel,
            )

    def _validate(self, X, y, sample_weight, first, finite=True):
        """Rows, targets and weights as checked arrays; a new model (``first``) records what later ones must match."""
        check_sparse(X)
        if first or not (self._takes_as_is(X, finite) and type(y) is np.ndarray and self._plain_targets(y, X.shape[0])):
            X, y = converted(self, X, y, reset=first, ensure_all_finite=False, **self._options_for(y))
            if finite:
                self._check_finite(X)
            y = self._check_targets(y, first)
        return X, y, check_weights(sample_weight, X.shape[0])

    def _options_for(self, y):
        """Validation options for the targets."""
        return self._target_options

    def _check_finite(self, X):
        """Raise for NaN or infinity in ``X``."""
        check_finite(X, "X", type(self).__name__, getattr(self, "feature_names_in_", None))

    def _takes_as_is(self, X, finite=True):
        """Whether ``X`` needs no validation, in particular of feature names."""
        return not hasattr(self, "feature_names_in_") and is_plain(X, self.n_features_in_, finite)

    def _new_state(self, X):
        """State before the first row, for rows like ``X``: dense or sparse."""
        self._begun_with = as_they_are(self, self._fixed)
        self._evidence = None
        is_sparse = sparse.issparse(X)
        return kernels.new_state(self._make(self._centred(is_sparse)).rule, self.n_features_in_, is_sparse)

    def _continued_state(self, state, X=None):
        """Return ``state``; raise if it cannot go on with the parameters, or with rows like ``X``: dense or sparse."""
        if "_made" not in vars(self):
            now = {name: getattr(self, name) for name in self._begun_with}
            broken = [name for name, old in self._begun_with.items() if self._breaks(name, old, now[name])]
            if broken:  # if another parameter has changed their meaning, name that one
                names = [*broken, *now]
                check_as_begun(self._begun_with, {n: now[n] for n in names}, instead="call fit without warm_start")
                raise damaged(self, "its parameters are not those of its rule")
        self._check_fits(state)
        if state.rule.centred and not state.rule.selective and sparse.issparse(X):
            raise ValueError(
                "X is sparse, but this model centres its features, as it began with dense rows; "
                "centering=False makes a model that takes both."
            )
        return state

    def _learn(self, X, encoded, weight, order=None, predictions=None, latest=False, are_new=False):
        """Learn the rows once, in the form that the kernel takes; on failure, leave the state as it was.

        ``predictions`` are filled with decision values from before each row was learnt: with ``latest``, by the latest
        weights, whatever `predict` uses. For rows that ``are_new`` to the model, they are evidence of its errors.
        """
        state = self._state
        tell = (
            are_new
            and not latest
            and self._keeps_evidence
            and (weight is None or (weight if order is None else weight[order]).any())
        )
        if tell and predictions is None:
            if weight is not None and not weight.all():
                order = np.flatnonzero(weight) if order is None else order[weight[order] > 0]
            predictions = np.empty((X.shape[0] if order is None else len(order), state.rule.n_played))
        is_first = state.seen == 0
        made = vars(self).get("_made") or self._make(state.rule.centred)
        rule, loss = made.rule, made.loss
        rule = rule if rule is state.rule else state.goes_on_by(rule)
        few = sparse.issparse(X) and X.nnz < ENTRIES * self.n_features_in_ and rule == state.rule
        named = X.indices[: X.nnz] if few else None  # features that may change
        tells = kernels.told_of_compiling(print) if self.verbose else _SILENCE
        undo, turn = undo_of(self, state, loss, named), turn_of(self)
        if turn.before.get("_state") is state:
            turn.in_place = SimpleNamespace(restore=undo.restore, attributes=lambda: {"_state": undo.model()})
        try:
            with tells:
                kernels.adopt(state, rule)
                n_jobs = getattr(self, "n_jobs", None)  # not in all families
                tables, learn = tables_of(self), partial(kernels.learn, n_jobs=n_jobs, latest=latest)
                if self.verbose > 1 or tables:
                    self._learn_and_report(tables, learn, state, loss, X, encoded, weight, order, predictions)
                else:
                    learn(state, loss, X, encoded, weight, order=order, predictions=predictions)
                if tell:
                    self._judge(predictions, encoded, weight, order, is_first)
        except kernels.Diverged:
            undo.restore()
            self._check_finite(X)
            check_repeated(X)
            raise Divergence(
                "these rows made the model leave the range of float64: their targets or weights are too large or "
                f"too small for it{self._why_diverged}."
            ) from None
        except BaseException:
            undo.restore()
            raise
        undo.end()

    @property
    def _memory(self):
        """About how many of the last rows count as evidence of errors."""
        return self._half_life / np.log(2.0)

    def _outlying(self, loss):
        """Value of `LinearRule.outlying`: that of the loss if the unit of targets is learnt."""
        return loss.outlying if self._target_unit else losses.MOST_OUTLYING

    @property
    def _half_life(self):
        """Number of rows after which old ones count half; infinite for never, and for several half-lives."""
        half_life = getattr(self, "half_life", None)  # not in all families
        return float(half_life) if isinstance(half_life, Real) else np.inf

    def _judge(self, played, encoded, weight, order=None, is_first=False):
        """Learn from the errors of predictions made before rows were learnt; other arguments are as for `_learn`.

        Rows of weight 0 do not count, nor does the first row of all (``is_first``), before which nothing was known.
        """
        if order is not None:
            encoded, weight = encoded[order], None if weight is None else weight[order]
        if weight is not None and not weight.all():
            played, encoded, weight = played[weight > 0], encoded[weight > 0], weight[weight > 0]
        if is_first:
            played, encoded, weight = played[1:], encoded[1:], None if weight is None else weight[1:]
        n_apart = played.shape[1] // self._n_targets  # rates that a sweep keeps apart
        if n_apart == 1:
            self._evidence = self._judged(self._evidence, played, encoded, weight)
        else:
            parts = zip(self._evidence or (None,) * n_apart, np.split(played, n_apart, axis=1))
            self._evidence = tuple(self._judged(evidence, part, encoded, weight) for evidence, part in parts)

    def _judged(self, evidence, played, encoded, weight):
        """``evidence``, None without any yet, updated with predictions of these targets."""
        raise NotImplementedError

    def _learn_and_report(self, tables, learn_rows, state, loss, X, encoded, weight, order, predictions):
        """Like ``learn_rows``, in parts that end where a report is due."""
        order = np.arange(X.shape[0]) if order is None else order
        if self.verbose > 1:
            if "_table" not in vars(self):
                self._table = printed_table()
            tables = [*tables, self._table]

        def learn(start, stop):
            played = None if predictions is None else predictions[start:stop]
            learn_rows(state, loss, X, encoded, weight, order=order[start:stop], predictions=played)

        def totals():
            return np.atleast_1d(state.mean_loss(1.0)), state.seen

        learn_and_report(tables, self, totals, len(order), learn)

    # -- the model

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_state")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._selective or self.centering in (False, "auto")
        return tags

    def __getstate__(self):
        turn = turn_of(self)
        with turn.lock:
            state = {**super(OnlineLinear, turn.seen(self)).__getstate__(), "_state_version": STATE_VERSION}
            if "_state" in state:  # a copy, because another thread may go on learning before it is written
                state["_state"] = state["_state"].copy()
        for name in ("_made", "_table"):
            state.pop(name, None)
        return state

    def __deepcopy__(self, memo):
        """A copy as by pickling, without the checks of files."""
        turn, copied = turn_of(self), object.__new__(type(self))
        memo[id(self)] = copied
        with turn.lock:
            own = dict(vars(turn.seen(self)))
            state = own.pop("_state", None)
            kept = {} if state is None else {"_state": state.copy()}
        own.pop("_table", None)
        if "_made" in own:  # which never changes in place
            kept["_made"] = own.pop("_made")
        vars(copied).update(copy.deepcopy(own, memo), **kept)
        return copied

    def __setstate__(self, state):
        super().__setstate__({**self._added_parameters, **of_this_version(state, type(self).__name__)})
        for name in ("_made", "_table"):  # built anew
            vars(self).pop(name, None)
        self._check_whole()

    def _check_whole(self):
        """Raise for attributes that do not form a model, as from a changed or damaged file."""
        try:
            names = defaults_of(type(self))
            check_attributes(self, names)
            if self.__sklearn_is_fitted__():
                kernels.check(self._state)
                check_begun_with(vars(self).get("_begun_with"), names)
                check_features(self)
                self._check_targets_of_model()
                self._check_fits(self._state)
                if self._evidence is not None:
                    self._check_evidence()
        except ValueError as error:
            raise damaged(self, error) from None

    def _check_targets_of_model(self):
        """Raise for impossible classes or numbers of outputs."""

    def _check_evidence(self):
        """Raise for evidence that is impossible for these targets."""
        raise NotImplementedError

    def _check_fits(self, state):
        """Raise if changed attributes do not fit the model; a few comparisons, in each call."""
        rule = state.rule
        if state.n_features != self.n_features_in_:
            raise ValueError(
                f"n_features_in_ is {self.n_features_in_!r:.60}, but the model has {state.n_features} features."
            )
        if rule.n_targets != self._n_targets:
            what = "classes_ or the number of outputs"
            raise ValueError(f"{what} makes {self._n_targets!r:.60} targets, but the model has {rule.n_targets}.")

    @between_calls
    def _attribute(self, read):
        """Return ``read(state)``; raise AttributeError before fitting."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"this {type(self).__name__} is not fitted yet: call fit or partial_fit first")
        return read(self._state)

    def _decision(self, X):
        """Decision values of each row, by the weights used to predict; see `between_calls`."""
        return self._decided(X)[1]

    def _decided(self, X, checked=False):
        """``X`` in the form that the kernel takes, and its decision values; ``checked`` as for `_rows_to_predict`."""
        are_few = type(X) is np.ndarray and X.size <= kernels.FEW and self.__sklearn_is_fitted__()
        if are_few and ((checked and self._fits(X)) or self._takes_as_is(X, finite=False)):
            self._check_fits(self._state)
            decision = kernels.predict_few(self._state, X)
            if decision is not None:
                return X, decision
        X = self._rows_to_predict(X, checked)
        return X, kernels.predict(self._state, X)

    def _fits(self, X):
        """Whether rows have the model's number of columns."""
        return X.shape[1] == self.n_features_in_

    def _rows_to_predict(self, X, checked=False):
        """``X`` in the form that the kernel takes; raise before fitting.

        ``checked`` rows have this form, unless they are not finite or an attribute was changed: they come from an
        estimator that has checked them, or from its transformers, which make as many columns for each call.
        """
        check_fitted(self)
        self._check_fits(self._state)
        if checked and self._fits(X) and kernels.all_finite(values_of(X)):
            return X
        check_sparse(X)
        if not self._takes_as_is(X):
            X = converted(self, X, reset=False, ensure_all_finite=False)
            self._check_finite(X)
        return X

    @property
    def coef_(self) -> np.ndarray | sparse.csr_matrix:
        """Weights in raw units: an array, or a CSR matrix after `sparsify` and for very many classes and columns."""
        if vars(self).get("_sparse_coef"):
            return self._attribute(methodcaller("sparse_weights"))
        coef = self._attribute(methodcaller("coef"))
        return coef[0] if self._flat_coef else coef

    @property
    def intercept_(self) -> np.ndarray:
        """Value when every feature is 0; zeros without ``fit_intercept``."""
        return self._attribute(methodcaller("intercept"))

    @property
    def scale_(self) -> np.ndarray:
        """Divisor of each feature; 1 for a feature that has been 0 so far."""
        return kernels.positive(self._attribute(methodcaller("scale"))[: self.n_features_in_])

    @property
    def mean_(self) -> np.ndarray:
        """Value subtracted from each feature; 0 for features that are not centred."""
        return self._attribute(methodcaller("mean"))[: self.n_features_in_]

    @property
    def feature_importances_(self) -> np.ndarray:
        """Mean absolute value of ``coef_ * scale_`` over classes or outputs; it can be compared between features."""
        return self._attribute(_importances)

    @property
    def t_(self) -> float:
        """Total weight of the rows learnt, over every pass and every call."""
        return self._attribute(lambda state: state.seen)

    @property
    def progressive_loss_(self) -> float:
        """Mean loss of the predictions made before each row was learnt, over rows and targets; NaN before the first."""
        return self._attribute(lambda state: state.mean_loss(state.seen))

    @named_publicly
    def sparsify(self) -> Self:
        """Represent `coef_` as a CSR matrix until the next `fit`; learning and predictions do not change.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_fitted(self)
        self._sparse_coef = True
        return self

    @named_publicly
    def densify(self) -> Self:
        """Represent `coef_` as an array again.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        MemoryError
            For a model with so many classes and columns that `coef_` is always sparse.
        """
        check_fitted(self)
        if isinstance(self._state, kernels.PlacedState):
            raise self._state.refusal()
        self._sparse_coef = False
        return self


def _importances(state):
    """Mean absolute weight times scale of each feature, at most the largest double."""
    sizes = abs(state.coef())  # sparse for very many classes and columns
    with np.errstate(over="ignore"):
        means = np.ravel((sizes / sizes.shape[0]).sum(axis=0))
        return np.minimum(means * kernels.positive(state.scale()[: len(means)]), np.finfo(np.float64).max)


@with_callbacks
def _make_followed_passes(view, estimator, X, passes):
    """Make the passes of a `fit`. Callbacks get the same ``view`` throughout: some look it up."""
    context = view._init_callback_context(max_subtasks=int(estimator.max_iter) * (1 + passes.searches))
    context.call_on_fit_task_begin(estimator=view, X=X, y=passes.y)
    estimator._make_passes(passes, partial(estimator._make_pass, context, view, X))
    context.call_on_fit_task_end(estimator=renewed(view, estimator), X=X, y=passes.y, reconstruction_attributes={})
