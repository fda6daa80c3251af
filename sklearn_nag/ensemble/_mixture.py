"""Base of mixtures of online learners, judged row by row and mixed by how well they have predicted."""

from __future__ import annotations

import itertools
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import check_random_state, get_tags

from .. import kernels
from ..estimators._calls import between_calls, part_of, turn_of, unchanged_on_error
from ..estimators._growing_table import in_silence, learn_and_report, tables_of
from ..estimators._online import OnlineLinear
from ..estimators._parameters import (
    check_as_begun,
    check_as_made,
    check_flag,
    check_number,
    check_option,
    check_parameters,
    check_seed,
    parameter_names,
)
from ..estimators._saved import CheckedWhenLoaded, check_attributes, check_begun_with, check_features
from ..estimators._validation import (
    Rows,
    check_fitted,
    check_sparse,
    check_weights,
    classes_as_before,
    converted,
    is_plain,
    takes_by_name,
    unconverted,
)
from ..losses import between
from ..model_selection._before import LearnsInPlace, Thrown
from ..model_selection._streams import count_rows, take_rows
from ._experts import Expert, NamedEstimators

LARGEST = np.finfo(np.float64).max
_MOST_ROWS = 2**14  # played at a time, if this makes no difference
_MOST_TRANSFORMED = 2**10  # the same, if transformers may make many columns of each row
_MOST_NARROW, _NARROW = 2**12, 64  # the same, for rows of at most `_NARROW` columns


class Mixture(CheckedWhenLoaded, LearnsInPlace, NamedEstimators):
    """Base of mixtures of estimators, weighted by how well each has predicted rows new to it."""

    _in_place = "_experts", "_mixture", "_blend"
    _row_options: dict[str, Any] = {}  # of `converted`
    _apart = True  # as for `Expert`
    _half_life_of_losses = np.inf  # of the losses by which forecasts are mixed
    _n_groups = 1  # groups of values with the same shares; for numbers, one per output
    _pass_options: tuple[str, ...] = ()  # values of ``max_iter`` that are not numbers

    # -- parameters

    def _check_parameters(self):
        check_option("update", self.update, self._updates)
        check_number("eta0", self.eta0, min_val=0, include_boundaries="neither")
        check_number("max_iter", self.max_iter, Integral, min_val=1, options=self._pass_options)
        check_number("batch_size", self.batch_size, Integral, min_val=1)
        check_flag("blend", self.blend)
        check_flag("shuffle", self.shuffle)
        check_seed(self.random_state)
        check_option("loss", self.loss, self._losses)

    def _begin(self, first):
        """Check the parameters; make new experts and a mixture for a new model, otherwise copy the present ones."""
        check_parameters(self)
        if first:
            self._experts = [Expert(name, estimator, self._apart) for name, estimator in self._named()]
            is_other, kind = (is_regressor, "regressor") if is_classifier(self) else (is_classifier, "classifier")
            for expert in self._experts:
                if is_other(expert.learner):
                    raise ValueError(
                        f"{expert.name!r}, one of estimators, is a {kind}; {type(self).__name__} takes none."
                    )
            self._mixture, self._blend, self._t, self._is_new = None, None, 0.0, True
            self._evidence = None
            self._totals = np.zeros(len(self._experts) + 1)  # losses of the forecasts, and of the mixture
        else:
            if "estimators" in vars(self):
                n = 1 if self.estimators is None else 2  # versions may have other defaults with the same names
                known = [(expert.name, expert.estimator)[:n] for expert in self._experts]
                check_as_made(known, [pair[:n] for pair in self._named()], "estimators")
            self._begin_in_place([expert.estimator for expert in self._experts], self._experts)
            self._experts = list(self._experts)
            self._mixture = None if self._mixture is None else self._mixture.copy()
            self._blend = None if self._blend is None else self._blend.copy()
        judged_by = self._judged_by([expert.learner for expert in self._experts])
        now = {"loss": judged_by, "update": self.update, "eta0": float(self.eta0), "blend": bool(self.blend)}
        if not first:
            check_as_begun(self._begun_with, now)
        self._begun_with = now

    def _default_estimators(self):
        """Names and estimators for ``estimators=None``."""
        nag, scale_invariant = self._default_kinds
        return [("snag", nag()), ("nag", nag(normalization="max")), ("scinol2", scale_invariant())]

    @property
    def _names(self):
        return [expert.name for expert in self._experts]

    # -- learning

    @unchanged_on_error
    def fit(self, X: Rows, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from scratch, in ``max_iter`` passes over the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows, in a form that the estimators accept.
        y : array-like of shape (n_samples,) or, for regression, (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Nonnegative weights of the rows; 1 by default. A row of weight 0 is ignored.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            For input or parameters that are invalid or that one of the estimators refuses. The estimator is then
            unchanged.
        """
        self._begin(first=True)
        X, targets, weight = self._validate(X, y, sample_weight, first=True)
        self._see_all_targets(targets)
        weight = self._weigh_all(targets, weight)
        rows = _rows_with_weight(weight, len(targets))
        if not len(rows):
            raise ValueError("sample_weight or class_weight is zero for all rows: nothing to learn from.")
        self.n_iter_ = self._make_passes(X, targets, weight, rows, check_random_state(self.random_state))
        if self.shuffle or self.n_iter_ > 1:
            self._see_order(targets[rows], None if weight is None else weight[rows])
        for expert in self._experts:
            if isinstance(expert.learner, OnlineLinear) and expert.learner._state.seen == 0:
                with expert.saying():
                    raise ValueError("class_weight is zero for all rows: there is nothing to learn from.")
        return self

    def _weigh_all(self, y, weight):
        """Weights of all rows of a `fit`."""
        return weight

    def _make_passes(self, X, y, weight, rows, random_state):
        """Learn the rows pass by pass; return the number of passes."""
        for i in range(self.max_iter):
            self._learn(X, y, weight, self._order(rows, random_state), judge=i == 0)
        return int(self.max_iter)

    def _order(self, rows, random_state):
        return random_state.permutation(rows) if self.shuffle else rows

    def _see_order(self, y, weight):
        """Tell estimators that use it the given order of the rows, which were learnt in another."""
        for expert in self._experts:
            if hasattr(expert.learner, "_see_order"):
                expert.learner._see_order(y, expert.heard(weight))

    def _partial_fit(self, X, y, sample_weight):
        X, y, weight = self._go_on(X, y, sample_weight)
        self._learn(X, y, weight, _rows_with_weight(weight, len(y)))
        return self

    def _go_on(self, X, y, sample_weight):
        """Begin a new model, or go on with this one; return what `_validate` does."""
        first = not self.__sklearn_is_fitted__()
        self._begin(first)
        self.n_iter_ = 1
        return self._validate(X, y, sample_weight, first)

    # -- what is played, for `progressive_validation`

    _evidence: Any = None  # of errors on rows before they are learnt; never changed in place

    @property
    def _plays(self):
        """Whether each row is predicted just before it is learnt, so that cuts do not change the result."""
        if self.__sklearn_is_fitted__():
            return all(expert.by_row for expert in self._experts)
        try:
            return all(Expert(*named, self._apart).by_row for named in self._named())
        except (TypeError, ValueError):
            return False  # these estimators will be refused

    @unchanged_on_error
    def _play(self, X, y, sample_weight=None, classes=None):
        """Like ``partial_fit``, but return the mixed advice for each row from before it was learnt."""
        if classes is not None:
            self.classes_ = classes_as_before(self, classes)
        X, y, weight = self._go_on(X, y, sample_weight)
        played = []
        counts = np.ones(len(y), bool) if weight is None else weight > 0
        for run in np.split(np.arange(len(y)), np.flatnonzero(np.diff(counts)) + 1):
            if counts[run[0]]:
                self._learn(X, y, weight, run, played=played)
            else:  # one by one, because the last bit of products may depend on the number of rows
                played.extend(self._mixed_response(take_rows(X, run[i : i + 1])) for i in range(len(run)))
        return np.concatenate(played)

    def _responded(self, method, mixed, y, weight, before):
        """Result of ``method`` for what `_play` has returned."""
        return self._respond(method, mixed)

    def _validate(self, X, y, sample_weight, first):
        """Rows, targets and weights, checked as far as pipelines allow."""
        check_sparse(X)
        if self._takes_anything():
            X, y = unconverted(self, X, y, reset=first, by_name=not first and self._takes_by_name())
            X = X.tocsr() if sparse.issparse(X) else X
            y = self._check_targets_alone(y)
        elif first or not (self._takes_as_is(X) and self._plain_targets(y, X.shape[0])):
            X, y = converted(self, X, y, reset=first, **self._row_options, **self._target_options)
        y = self._check_targets(y, first)
        weight = check_weights(sample_weight, count_rows(X))
        if weight is not None:
            for expert in self._experts:
                if not expert.takes_weights:
                    raise ValueError(f"sample_weight cannot be used: {expert.name!r}, one of estimators, takes none.")
        return X, y, weight

    def _takes_anything(self):
        """Whether rows go to the estimators unchanged: pipelines may take more than arrays of numbers."""
        return any(expert.transformers for expert in self._experts)

    def _takes_by_name(self):
        """Whether all estimators find columns by name; then they check these."""
        return all(takes_by_name(expert.estimator) for expert in self._experts)

    def _takes_as_is(self, X):
        """Whether `converted` would surely return ``X`` as it is, without a warning."""
        finite = self._row_options.get("ensure_all_finite", True)
        return not hasattr(self, "feature_names_in_") and is_plain(X, self.n_features_in_, finite)

    def _plain_targets(self, y, n_rows):
        """Whether `converted` would surely return the targets ``y`` as they are."""
        raise NotImplementedError

    def _in_form(self, X):
        """Checked rows in the form that the first steps of experts take, or learners without steps."""
        return X

    def _learn(self, X, y, weight, order, judge=True, played=None, at_end=None):
        """Play and learn the rows in this order; add the mixed advice to the list ``played``, if any.

        ``at_end``, if given, is called after the last row, before progress is reported.
        """
        by_row = all(expert.by_row for expert in self._experts)
        size = self._most_rows(X) if by_row else int(self.batch_size)
        method, classes, checked = self._method, getattr(self, "classes_", None), not self._takes_anything()
        before = turn_of(self).in_place or Thrown([expert.estimator for expert in self._experts])

        def learn(first, last):
            for start in range(first, last, size):
                rows = order[start : min(start + size, last)]
                batch, targets = take_rows(X, rows), y[rows]
                c = None if weight is None else weight[rows]
                with in_silence(), part_of(before):
                    args = self._in_form(batch) if checked else batch, targets, c, classes, judge, checked
                    of_experts = [expert.play(method, *args) for expert in self._experts]
                if self._mixture is None:
                    self._begin_mixture(sum(expert.n_forecasts for expert in self._experts))
                n_unjudged = int(self._is_new)
                if played is not None and n_unjudged:
                    played.append(self._advice_before_rows(n_unjudged))
                if judge and n_unjudged < len(rows) and all(p is not None for p in of_experts):
                    responses = [response for of_expert in of_experts for response in of_expert]
                    came = self._what_came(targets)
                    mixed = self._judge(responses, came, np.ones(len(rows)) if c is None else c, n_unjudged)
                    if played is not None:
                        played.append(mixed)
                self._see(batch, targets, judge)
                self._is_new = False
            if at_end is not None and last == len(order):
                with in_silence():
                    at_end()

        def totals():
            return self._mean_totals()[-1:], self._t

        learn_and_report(tables_of(self), self, totals, len(order), learn, step=1 if by_row else size)

    def _most_rows(self, X):
        """Number of rows to play at a time, to bound memory."""
        if not any(expert.transformers for expert in self._experts):
            return _MOST_ROWS
        shape = getattr(X, "shape", ())
        return _MOST_NARROW if len(shape) == 2 and shape[1] <= _NARROW else _MOST_TRANSFORMED

    def _join(self, expert, like):
        """Let an expert that has learnt a row join, with the weight and losses of the expert ``like``."""
        first = self._first_forecasts()[self._experts.index(like)]
        self._rearrange([*range(len(self._totals) - 1), *range(first, first + like.n_forecasts)])
        self._experts.append(expert)

    def _leave(self, name):
        """Let the expert of this name, with one forecast, leave the mixture."""
        place = self._names.index(name)
        first = self._first_forecasts()[place]
        self._rearrange([i for i in range(len(self._totals) - 1) if i != first])
        del self._experts[place]

    def _rearrange(self, forecasts):
        """Keep the forecasts at these places, in this order."""
        n = len(self._totals) - 1
        self._totals = self._totals[[*forecasts, n]]
        self._mixture = self._mixture.rearranged([*forecasts, *range(n, self._mixture.excess.shape[1])])
        self._blend = None if self._blend is None else self._blend.rearranged(forecasts)

    def _see(self, X, y, judge):
        """Remember what matters about learnt rows and their targets."""

    def _begin_mixture(self, n_forecasts):
        """Make a new mixture of ``n_forecasts`` forecasts."""
        self._totals = self._zeros(n_forecasts + 1)
        adapts = self.update == "adahedge"
        if adapts and self.blend and n_forecasts > 1 and self._begun_with["loss"] != "zero_one":
            self._blend, n_forecasts = kernels.Mixture.new(n_forecasts).repeated(self._n_groups), n_forecasts + 1
        self._mixture = self._new_mixture(n_forecasts).repeated(self._n_groups)

    def _zeros(self, n):
        """Array of ``n`` zeros, for each group if there are several."""
        return np.zeros((n, self._n_groups) if self._n_groups > 1 else n)

    def _mean_totals(self):
        """Total losses of the estimators and the mixture: means over groups."""
        totals = self._totals.reshape(len(self._totals), -1)[[*self._first_forecasts(), -1]]
        return np.add.reduce(totals / totals.shape[1], axis=1)

    def _new_mixture(self, n_forecasts):
        """A mixture of ``n_forecasts`` forecasts, including the blend's."""
        if self.update == "adahedge":
            return kernels.Mixture.new(n_forecasts)
        return kernels.FixedRate.new(n_forecasts, float(self.eta0))

    def _judge(self, responses, y, c, n_unjudged):
        """Count the losses of the forecasts, except for first rows; return the mixed advice.

        ``y`` is what came true, as from `_what_came`.
        """
        advice = self._advice(responses, y)[:, n_unjudged:]
        rounding = self._rounding(advice[0], y, n_unjudged)
        y, c = y[n_unjudged:], c[n_unjudged:]
        losses = np.ascontiguousarray(self._weighted_loss(advice, y, c).transpose(1, 2, 0))
        with np.errstate(over="ignore"):  # if they differ only by rounding, last digits would decide
            are_near = np.abs(advice - advice[:1]) <= rounding
        played, some_are_near = losses, are_near[1:].any()  # the first is near itself
        if some_are_near:
            are_one = are_near.reshape(*advice.shape[:2], self._n_groups, -1).all(axis=-1)
            advice = np.where(are_one, advice[:1], advice)
            played = np.where(are_one.transpose(1, 2, 0), losses[..., :1], losses)
        kept = 0.5 ** (c / self._half_life_of_losses)
        if self._blend is not None:
            against = np.ascontiguousarray(self._against(advice, y).transpose(1, 2, 0))
            blended = kernels.blend(self._blend, against, self._begun_with["loss"], c, kept)
            of_blend = self._weighted_loss(self._mixed(blended.transpose(2, 0, 1), advice), y, c)
            if some_are_near:
                of_blend = np.where(are_one.all(axis=0), losses[..., 0], of_blend)
            played = np.concatenate([played, of_blend[..., None]], axis=-1)
        with np.errstate(over="ignore"):
            t = np.add.accumulate(np.concatenate([[self._t], c]))
        row_weights = np.concatenate([c[:, None], t[1:, None]], axis=1)
        shares = kernels.mix(self._mixture, played, row_weights=row_weights, kept=kept)
        if self._blend is not None:
            shares = shares[..., :-1] + shares[..., -1:] * blended
        mixed = self._mixed(shares.transpose(2, 0, 1), advice)
        of_all = self._weighted_loss(mixed, y, c)
        self._totals = added_up(self._totals, np.concatenate([losses, of_all[:, :, None]], axis=2))
        self._t = float(t[-1])
        return mixed

    def _weighted_loss(self, advice, y, c):
        """Loss of each row's advice times its weight, at most the largest double: of shape (..., n_rows, n_groups)."""
        with np.errstate(over="ignore"):
            return np.minimum(self._loss_of(advice, y) * c[:, None], LARGEST)

    @staticmethod
    def _mixed(weights, advice):
        """Sum of advice, of shape (n_experts, n_rows, n), by weights that broadcast with it."""
        total = np.zeros(advice.shape[1:])
        with np.errstate(over="ignore"):  # shares add up to 1, except for rounding
            for weight, given in zip(weights, advice):
                total += weight * given
        return between(total, -LARGEST, LARGEST)

    def _what_came(self, y):
        """What checked targets are compared with: the place of each row's class, or numbers by row and output."""
        raise NotImplementedError

    # -- predicting

    def _mixed_response(self, X):
        """Advice of the estimators, mixed by the present weights; see `between_calls`."""
        check_fitted(self)
        check_sparse(X)
        if self._takes_anything():
            X = unconverted(self, X, reset=False, by_name=self._takes_by_name())
        elif not self._takes_as_is(X):
            X = converted(self, X, reset=False, **self._row_options)
        return self._mixed_of(X)

    def _mixed_of(self, X):
        """Like `_mixed_response`, for checked rows."""
        if self._mixture is None:  # all rows had weight 0
            return self._advice_before_rows(count_rows(X))
        total, checked = 0.0, not self._takes_anything()
        X = self._in_form(X) if checked else X
        with np.errstate(over="ignore"):
            shares = iter(self._shares())
            for expert in self._experts:
                for which in range(expert.n_forecasts):
                    share = next(shares)
                    if (share > 0).any():
                        total = total + share * self._as_advice(expert.forecast(which, self._method, X, checked))
        return between(total, -LARGEST, LARGEST)

    def _shares(self):
        """Present share of each forecast in the mixture, of shape (n_forecasts, n_groups)."""
        if self._mixture is None:
            return np.full((len(self._experts), 1), 1.0 / len(self._experts))
        shares = self._mixture.weights().T
        return shares if self._blend is None else shares[:-1] + shares[-1] * self._blend.weights().T

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_experts")

    def _check_whole(self):
        check_attributes(self, parameter_names(type(self)))
        if not self.__sklearn_is_fitted__():
            return
        own = vars(self)
        lacks = [name for name in ("_mixture", "_blend", "_t", "_is_new", "_totals", "_begun_with") if name not in own]
        if lacks:
            raise ValueError(f"it has no {', '.join(lacks)}")
        check_features(self)
        check_begun_with(self._begun_with, ("loss", "update", "eta0", "blend"))
        if len(self._begun_with) < 4:
            raise ValueError("it lacks parameters that it was begun with")
        if self._begun_with["loss"] not in set(self._losses) - {"auto"}:
            raise ValueError(f"it was begun with the loss {self._begun_with['loss']!r:.60}, which it cannot have")
        if not (isinstance(self._experts, list) and self._experts and all(type(e) is Expert for e in self._experts)):
            raise ValueError("its estimators are no list of experts")
        for expert in self._experts:
            expert.check()
        self._check_targets_of_model()
        if not isinstance(self._is_new, bool | np.bool_) or self._is_new != (self._mixture is None):
            raise ValueError(f"_is_new is {self._is_new!r:.60}, which does not go with its mixture")
        n_forecasts = sum(expert.n_forecasts for expert in self._experts)
        n_groups = 1 if self._mixture is None else self._n_groups
        were_one = n_groups > 1 and np.shape(getattr(self._mixture, "gap", None)) == (1,)  # in older saved models
        for name, n in (("_mixture", n_forecasts + (self._blend is not None)), ("_blend", n_forecasts)):
            if (mixture := getattr(self, name)) is not None:
                kernels.check_mixture(name, mixture, 1 if were_one else n_groups, n)
                kernels.check_shares(name, mixture)
                setattr(self, name, mixture.repeated(n_groups) if were_one else mixture)
        for name in ("_totals", "_looked", "_asleep"):
            if were_one and (known := getattr(self, name, None)) is not None:
                setattr(self, name, np.repeat(np.reshape(known, (-1, 1)), n_groups, axis=1))
        kernels.check_array("_totals", self._totals, (n_forecasts + 1, n_groups)[: 1 + (n_groups > 1)])
        kernels.check_finite("_totals", self._totals)
        kernels.check_number("_t", self._t)

    def _check_targets_of_model(self):
        """Raise for impossible classes, or outputs and their ranges."""
        raise NotImplementedError

    def _with_tags(self):
        """The estimators that determine the tags of the mixture."""
        return [estimator for _, estimator in self._named()]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        try:
            of_experts = [get_tags(estimator) for estimator in self._with_tags()]
        except (TypeError, ValueError, AttributeError):
            return tags  # these estimators will be refused
        tags.input_tags.sparse = all(t.input_tags.sparse for t in of_experts)
        tags.target_tags.multi_output = self._multi_output and all(t.target_tags.multi_output for t in of_experts)
        tags.target_tags.positive_only = any(t.target_tags.positive_only for t in of_experts)
        return tags

    # -- attributes

    @between_calls
    def _attribute(self, read):
        """Return ``read(model)``; raise AttributeError before fitting."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"this {type(self).__name__} is not fitted yet: call fit or partial_fit first")
        return read(self)

    @property
    def estimators_(self) -> list:
        """The estimators, fitted."""
        return self._attribute(lambda model: [expert.estimator for expert in model._experts])

    @property
    def weights_(self) -> np.ndarray:
        """Share of each estimator in predictions; the shares sum to 1."""
        return self._weights_by_group().mean(axis=1)

    def _weights_by_group(self):
        """Like `weights_`, for each group: of shape (n_estimators, n_groups)."""
        return self._attribute(lambda model: np.add.reduceat(model._shares(), model._first_forecasts()))

    def _first_forecasts(self):
        """Place of each expert's first forecast: by its latest weights, if there are two."""
        return [*itertools.accumulate((expert.n_forecasts for expert in self._experts), initial=0)][:-1]

    @property
    def expert_losses_(self) -> np.ndarray:
        """Mean progressive loss of each estimator; NaN before the first row that is judged."""
        totals, t = self._attribute(lambda model: (model._mean_totals(), model._t))
        return totals[:-1] / (t or np.nan)

    @property
    def progressive_loss_(self) -> float:
        """Mean progressive loss of the mixture; NaN before the first row that is judged."""
        totals, t = self._attribute(lambda model: (model._mean_totals(), model._t))
        return float(totals[-1] / (t or np.nan))

    @property
    def regret_(self) -> float:
        """Total progressive loss of the mixture minus that of the best estimator."""
        *totals, total = self._attribute(lambda model: model._mean_totals())
        return float(total - min(totals))

    @property
    def t_(self) -> float:
        """Total weight of the rows that were judged."""
        return self._attribute(lambda model: model._t)


def added_up(totals, losses):
    """Totals plus losses of more rows, added row by row; at most the largest double.

    ``losses`` are of shape (n_rows, n_groups, n_totals).
    """
    rows = losses.transpose(0, 2, 1).reshape(-1, *totals.shape)
    with np.errstate(over="ignore"):
        return np.minimum(np.add.accumulate(np.concatenate([totals[None], rows]))[-1], LARGEST)


def _rows_with_weight(weight, n_rows):
    """Places of the rows to learn."""
    return np.arange(n_rows) if weight is None else np.flatnonzero(weight)
