"""Lines, products, curves and generations of cells side by side, with no choice to make."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np

from .. import kernels
from .._decorators import share
from ..estimators import merge as merge_learners
from ..estimators._classifier import WeighsClasses, with_numbers
from ..estimators._growing_table import in_silence
from ..estimators._merging import check_went_on, merged_counts, merged_evidence
from ..estimators._nag import NAGClassifier, NAGRegressor
from ..estimators._parameters import as_they_are, check_as_begun, check_number, parameter_names
from ..estimators._passes import SEARCHED_FROM, Stopping, are_held_out
from ..estimators._scale_invariant import ScaleInvariantRegressor
from ..estimators._shared_docs import entries
from ..estimators._validation import check_alike, class_codes, named_models
from ..model_selection._effects import rows_and_weights
from ..model_selection._streams import take_rows
from ..preprocessing import OnlineCells, OnlineCurves, OnlineProducts, make_online_pipeline
from ..preprocessing._base import as_numbers, dense
from ..preprocessing._base import merged as merged_transformers
from ..preprocessing._cells import MOST_CUTS
from ..preprocessing._knots import KnotTransformer
from ..preprocessing._places import Columns, ToldNumbers
from . import _late
from ._experts import Expert
from ._hedge import DOCS as HEDGE
from ._hedge import HedgeClassifier, HedgeRegressor
from ._mixture import LARGEST, added_up

_DOCS = HEDGE | entries("""
columns : "auto" or list, default="auto"
    Columns that get curves and cells and that are multiplied: a list of positions, of names or name patterns, or of
    booleans for each column. Each of the others has a line only. ``"auto"`` takes all columns of arrays and data
    frames. Of sparse rows, it takes those named by `set_numeric_columns`, which an `OnlinePipeline` on a data frame
    calls, or else none, with a warning: then there are only lines.
n_knots : int, default=21
    Number of knots of each column's curve; see `sklearn_nag.preprocessing.OnlineCurves`.
n_trees : int, default=300
    Number of random partitions; time is in proportion to it. See `sklearn_nag.preprocessing.OnlineCells`.
depth : int, default=7
    Depth of these partitions, until finer ones join.
max_columns : int, default=2**20
    Maximum number of columns for all cells; beyond it, cells are hashed.
first_rows : int, default=300
    Number of rows from which the quantiles for knots and cuts are taken. Until then, there are only lines and products.
focus_rows : int or None, default=1000
    Number of rows after which a second generation of as many trees joins; twice ``first_rows`` if it is not larger than
    ``first_rows``. The second generation cuts the columns that have mattered most in the first one more often, at
    quantiles of all of these rows, which are kept until then. A third generation joins after five times as many rows.
    From 40 times as many on, finer ones join if losses keep falling. None: no generation joins, which halves the time.
half_life : float, "auto", tuple of float or None, default=None
    Half-life of all learners, for streams that change: see `NAGClassifier`. With ``"auto"``, cells mix only two
    half-lives besides infinity: about as many rows as a tree has cells, and eight times as many. This takes almost
    three times as long as None. Regressors mix learners by losses whose influence halves after four half-lives; with
    several, after four times the middle one (with ``"auto"``, 1,280 rows).
half_life_ : ndarray of shape (n_half_lives,) or (n_targets, n_half_lives)
    Share of each half-life in predictions, with ``half_life="auto"``: the mean of its shares in all learners, weighted
    by ``weights_``.
half_lives_ : ndarray of shape (n_half_lives,)
    The half-lives that are mixed, the longest first.
max_iter : int or "auto", default="auto"
    Number of passes of `fit` over the rows. ``"auto"`` uses the loss on held-out rows to find how many passes help, up
    to 8, and then learns all rows in as many. The search visits at most 65,536 rows in all its passes, so with more
    than half as many rows it makes a single pass.
weights_ : ndarray of shape (n_estimators,)
    Share of each of ``estimators_`` in predictions, averaged over outputs. The shares sum to 1.
expert_losses_ : ndarray of shape (n_estimators,)
    Mean progressive loss of each of ``estimators_``, over all rows but the first; NaN before. While an estimator is
    asleep (see Notes), it is assigned the loss of another.
t_ : float
    Total weight of all rows but the first.
estimators_ : list of OnlinePipeline
    The fitted estimators: ``"lines"``, ``"products"``, ``"curves"``, ``"cells"`` and, once they have joined,
    ``"focused"`` and ``"refocused"``. ``"finer"`` cells replace these, and ``"late"`` ones may join for columns that
    begin to vary later. There are no ``"products"`` for more than 90 columns. Regressors also have ``"exact_lines"``
    and ``"exact_curves"``, if these have at most 192 columns, the loss is the squared error and there is no
    ``half_life``.
""")

_NOTES = {
    "notes": """
Several learners see each row, and their predictions are mixed:

- Lines: one for each column. They learn fastest.
- Products: lines, plus squares and products of all pairs of columns (`OnlineProducts`).
- Curves: lines, plus a spline of the ranks of each column.
- Cells: lines, plus the cells of random partitions, which learn how columns act together. They catch up later.
- For squared errors, exact least squares (`ScaleInvariantRegressor` with ``invariance="full"``): of lines, and of lines
  with bounded deviations from the means and, for up to 17 columns, their products. These two predict as lines do until
  they have learnt two rows for each of their columns.

AdaHedge mixes their predictions by how well each has predicted rows before learning them, with a blend of all as one
more expert, and separately for each output. The classifier forgets early losses (fixed share), because cells catch up
later. See :doc:`/beyond_straight_lines`.

Cells that join (see ``focus_rows``) are asleep at first: they learn, but predict as the generation before them does and
are assigned its losses. They wake after 32 rows on which the mean of the two would have lost no more. Of three
generations, the first or the third, whichever has less weight, leaves when the number of rows has doubled, unless its
weight is a quarter or more. Finer cells have two more cuts. See :ref:`generations`.

Missing values are supported: each column has an indicator of them, and they get cells of their own. Results do not
depend on how a stream is cut into batches, to the last bit.
""".strip()
}

_LINES, _PRODUCTS = "lines", "products"
_GENERATIONS = _CELLS, _FOCUSED, _REFOCUSED, _FINER, _OF_LATE = "cells", "focused", "refocused", "finer", "late"
_EXACT = _EXACT_LINES, _EXACT_CURVES = "exact_lines", "exact_curves"
_MOST_PRODUCTS = 2**12  # a row takes one or two nanoseconds for each
_MOST_EXACT = 192  # columns of exact least squares; a row takes their square in nanoseconds
_ROWS_A_COLUMN = 2  # that exact learners learn before they are judged: with fewer, they fit what comes by chance
_FIRST_LOOK, _FINER_FROM = 5, 40  # times ``focus_rows``: when looks begin, and when finer cells may join
_TRUSTED = 0.25  # least share with which the first of three generations, or the last one, stays
_FALLS = 0.9  # share of the mean loss: if doubling the rows leaves less, cells are too coarse
_CUTS_MORE = 2  # additional cuts of finer trees
_TO_WAKE = 32  # rows after which it is judged whether a newcomer wakes
_MOST_PASSES, _MOST_VISITS = 8, 2**16  # of a search: passes, and rows in all of them
_SHARE_HELD_OUT, _TOL = 0.1, 1e-3  # of the rows; share of a loss by which a better one is lower
_LASTING, _MIDDLE = 4.0, 320.0  # half-lives after which losses count half; the middle half-life of "auto"
_SHORTEST, _SHORTEST_UP_TO, _APART = 20.0, 5, 8.0  # shortest half-life of cells, up to which depth; ratio to the next
_PATIENCE = 3  # passes without gain that end a search: the second often brings none, because its rows are not new


def _given(value, what):
    """A parameter of mixtures with the same value for all estimators of a class, and a docstring that says ``what``."""

    def given(self):
        return value

    return property(given, doc=what)


class _LinesCurvesCells(ToldNumbers):
    """Base of the cells estimators: fixed parameters of a mixture, and experts that join and leave."""

    _learner: Any
    _row_options = {"ensure_all_finite": "allow-nan"}
    _apart = False
    _pass_options = ("auto",)
    _added: ClassVar[dict[str, Any]]  # parameters that older saved models lack, with their values
    _changeable = ("max_iter", "shuffle", "random_state")  # while a model goes on
    columns: Any
    n_knots: int
    n_trees: int
    depth: int
    max_columns: int
    first_rows: int
    focus_rows: int | None
    half_life: Any
    random_state: Any
    _experts: list
    # While a newcomer sleeps: losses of the mean of it and the generation before, and of that generation alone, both
    # since it could last wake.
    _asleep: np.ndarray | None = None
    # Mean loss of the mixture between the last two looks, 0 after the first look; then the total weight of rows and all
    # total losses at the last look. None before.
    _looked: np.ndarray | None = None
    _again = 0  # rows learnt in later passes
    _refocused = False  # whether a third generation has joined; in models saved before there was one, none does
    # The columns with knots, for the rows so far, until the second generation has taken its knots from them.
    _early: np.ndarray | None = None
    # Values of columns that did not vary at first, see `_late`; empty until there are as many rows as the second
    # generation takes its knots from. None in older saved models, which go on as they did.
    _late: list | None = None
    _fades_by_tuple = True  # whether losses fade by a tuple of half-lives; in older saved models, as with "auto"
    _tried = 0  # number of rows after which it could not join, because nothing was learnt that it could cut by

    estimators = _given(None, "None, which stands for the default learners.")
    update = _given("adahedge", "AdaHedge; for probabilities, with a fixed share.")
    eta0 = _given(1.0, "No effect: rates are learnt, or fixed for log losses.")
    blend = _given(True, "Whether there is a blend of all forecasts.")
    batch_size = _given(1, "No effect: all learners predict each row just before they learn it.")

    def _default_estimators(self):
        ranks = {"columns": self.columns, "first_rows": self.first_rows}
        trees = {name: getattr(self, name) for name in ("n_trees", "depth", "max_columns", "random_state")}
        learner, exact, of_cells = self._learner(self.half_life), self._exact(), self.half_life
        if isinstance(of_cells, str):  # the shortest is about the number of cells in a tree
            shortest = _SHORTEST * 2.0 ** min(max(0, self.depth - _SHORTEST_UP_TO), MOST_CUTS)
            of_cells = _APART * shortest, shortest
        parts = [
            (_LINES, OnlineCurves(**ranks, n_knots=0), learner),
            (_EXACT_LINES, OnlineProducts(self.columns, products=False), exact),
            (_PRODUCTS, OnlineProducts(self.columns), learner),
            (_EXACT_CURVES, OnlineProducts(self.columns, bounded=True), exact),
            ("curves", OnlineCurves(**ranks, n_knots=self.n_knots), learner),
            (_CELLS, OnlineCells(**ranks, **trees), self._learner(of_cells)),
        ]
        # Pipelines may share a learner, because experts are clones of them.
        return [(name, make_online_pipeline(step, own)) for name, step, own in parts if own is not None]

    def _exact(self):
        """A learner whose weights minimise the loss of all rows so far; None if there is none."""
        return None

    def _choose_experts(self, places):
        """Leave out experts with too many columns, or all but lines; tell the others their columns."""
        n_features = self.n_features_in_
        n_numbers = n_features if isinstance(places, str) else len(places)
        n_products = n_numbers * (n_numbers + 1) // 2
        n_curved = n_features + n_numbers
        kept = {name for name in self._names if n_numbers > 0 or name == _LINES}
        for name, n_columns, most in (
            (_PRODUCTS, n_products, _MOST_PRODUCTS),
            (_EXACT_LINES, n_features, _MOST_EXACT),
            (_EXACT_CURVES, n_curved, _MOST_EXACT),
        ):
            kept -= {name} if n_columns > most else set()
        self._experts = [expert for expert in self._experts if expert.name in kept]
        self._totals = np.zeros(len(self._experts) + 1)
        for expert in self._experts:  # they get arrays without names
            step = expert.transformers[0][1].set_params(columns=places)
            if expert.name == _EXACT_CURVES:
                step.set_params(products=n_curved + n_products <= _MOST_EXACT)

    def _with_tags(self):
        return [self._learner(None)]  # building all of them in each call would take as long as many rows

    def _check_parameters(self):
        super()._check_parameters()
        self._check_columns()
        check_number("first_rows", self.first_rows, Integral, min_val=1)
        check_number("depth", self.depth, Integral, min_val=1, max_val=MOST_CUTS)
        if self.focus_rows is not None:
            check_number("focus_rows", self.focus_rows, Integral, min_val=1, options=(None,))

    def _make_passes(self, X, y, weight, rows, random_state):
        """As for any mixture, but with knots from the first row on: all rows are there."""
        order = self._order(rows, random_state)
        for expert in self._experts:
            step = expert.transformers[0][1]
            if isinstance(step, KnotTransformer):
                n = min(step.first_rows, len(order))
                with expert.saying():
                    step.fit(take_rows(X, order[np.arange(n) * len(order) // n]))
        n_passes = self._passes_that_help(X, y, weight, rows, random_state)
        for i in range(n_passes):
            self._learn(X, y, weight, self._order(rows, random_state), judge=i == 0)
        return n_passes

    def _passes_that_help(self, X, y, weight, rows, random_state):
        """Number of passes: if it is to be found, as many as bring the held-out rows to a low loss."""
        most = min(_MOST_PASSES, _MOST_VISITS // len(rows))
        if not isinstance(self.max_iter, str):
            return int(self.max_iter)
        if most < 2 or len(rows) < SEARCHED_FROM:
            return 1
        are_apart = are_held_out(self._groups(y[rows]), _SHARE_HELD_OUT)
        if not are_apart.any():  # no class has rows to spare
            are_apart = are_held_out(np.zeros(len(rows), int), _SHARE_HELD_OUT)
        learnt, held_out = rows[~are_apart], rows[are_apart]
        trial, stopping = object.__new__(type(self)), Stopping(_TOL, _PATIENCE, relative=True)
        vars(trial).update(copy.deepcopy(vars(self)))  # because a copy of an estimator is what it was before this call
        for i in range(most):
            with in_silence():
                trial._learn(X, y, weight, trial._order(learnt, random_state), judge=i == 0)
            losses = trial._losses_in_units(trial._mixed_of(take_rows(X, held_out)), y[held_out], y[rows])
            with np.errstate(over="ignore"):
                losses = (losses / losses.shape[1]).sum(axis=1)
                loss = np.average(losses, weights=None if weight is None else weight[held_out])
            if stopping.settled(min(loss, LARGEST)):
                break
        self.validation_losses_ = np.array(stopping.objectives)
        return stopping.best_pass

    def _losses_in_units(self, advice, y, of_all):
        """Loss of each row's advice, in units of the targets ``of_all``, so that outputs count alike."""
        return self._loss_of(advice, self._what_came(y))

    def _groups(self, y):
        """Groups of targets; a share of each is held out."""
        return np.zeros(len(y), int)

    def _learn(self, X, y, weight, order, judge=True, played=None):
        while judge and 0 < (n_left := self._next_change() - self._n_new) <= len(order):
            rows, order = order[:n_left], order[n_left:]
            last = rows[-1:]
            row = X[last], y[last], None if weight is None else weight[last]
            super()._learn(X, y, weight, rows, judge, played, partial(self._change, *row))
        if len(order):
            super()._learn(X, y, weight, order, judge, played)

    def _focus_at(self):  # no property, because `dir` would ask for it also if focus_rows=None
        """Number of rows after which the second generation joins; the first must have learnt by then."""
        return self.focus_rows if self.focus_rows > self.first_rows else 2 * self.first_rows

    def _change(self, *row):
        """Let generations wake, join or leave after the present number of rows, the last being ``row``."""
        n_rows = self._n_new
        if self._asleep is not None and self._rows_to_wake() == _TO_WAKE:
            self._wake()
        if n_rows == self._focus_at() or (self._early is not None and n_rows > self._focus_at()):
            self._tried = n_rows
            hashes = self._expert(_CELLS).transformers[0][1]._hashes
            if self._focus(_FOCUSED, self.depth, *row) or hashes:
                self._early = None
            if hashes:
                self._late = None
        elif n_rows == self._next_look(n_rows - 1):
            self._look(*row)

    def _see(self, X, y, judge):
        super()._see(X, y, judge)
        if not judge:
            self._again += len(y)
            return
        n_seen = 0
        if self._early is not None:  # the second generation takes its knots from these rows
            n_left = max(0, self._focus_at() - len(self._early))
            self._early = np.concatenate([self._early, dense(X[:n_left], self._cut_columns())])
            if self._late == [] and len(self._early) >= self._focus_at():
                self._late, n_seen = _late.begun(self._early, self._still_for), n_left
        if self._late and len(places := _late.waiting(self._late, self._focus_at())):
            values = dense(X[n_seen:], self._cut_columns()[places])
            self._late = _late.gone_on(self._late, places, values, self._focus_at())

    def _cut_columns(self):
        """Places of the columns that get curves and cells."""
        columns = self._experts[-1].transformers[0][1].columns
        return np.arange(self.n_features_in_) if isinstance(columns, str) else np.asarray(columns)

    @property
    def _still_for(self):
        """Number of rows in which late columns have one value: the first cells could cut next to nothing."""
        return (self.first_rows + 1) // 2

    def _next_change(self):
        """Number of rows after which generations may next join, wake or leave; 0 for never."""
        n_rows, generations = self._n_new, self._generations()
        if self.focus_rows is None or not generations:
            return 0
        changes = [] if self._asleep is None else [n_rows + self._rows_to_wake()]
        if generations == [_CELLS] and (n_rows < self._focus_at() or self._early is not None):
            changes.append(max(self._focus_at(), 2 * self._tried, n_rows + 1))  # shards may have passed it together
        elif generations != [_FINER] or any(map(len, self._late or ())):
            changes.append(self._next_look(n_rows))
        return min(changes, default=0)

    def _generations(self):
        """Names of the experts with cells, the oldest first."""
        return [name for name in self._names if name in _GENERATIONS]

    @property
    def _n_new(self):
        """Number of rows learnt, each counted once."""
        return self._experts[0].n_rows - self._again

    def _next_look(self, n_rows):
        """Number of rows, above ``n_rows``, at which losses are next looked at."""
        look = _FIRST_LOOK * self._focus_at()
        while look <= n_rows:
            look *= 2
        return look

    def _rows_to_wake(self):
        """Number of rows until the newcomer may next wake; it has learnt one more than came since it joined."""
        return _TO_WAKE - (self._experts[-1].n_rows - 1) % _TO_WAKE

    def _wake(self):
        """Judge the newcomer by itself, if at its weight it would have done no harm since the last try."""
        of_both, before = self._asleep
        self._asleep = None if _holds(of_both <= before) else self._zeros(2)

    def _judge(self, responses, y, c, n_unjudged):
        """As for any mixture, but sleeping exact experts agree with lines, newcomers with the generation before."""
        lines, *_ = responses = list(responses)
        for expert, place in zip(self._experts, self._first_forecasts()):
            n_asleep = _rows_asleep(expert) - (self._n_new - len(lines))
            if n_asleep > 0:
                responses[place] = np.concatenate([lines[:n_asleep], responses[place][n_asleep:]])
        if self._asleep is not None:
            before, own = self._advice(responses[-2:], y)
            losses = self._weighted_loss(np.stack([0.5 * before + 0.5 * own, before]), y, c)
            self._asleep = added_up(self._asleep, losses.transpose(1, 2, 0))
            responses = [*responses[:-1], responses[-2]]
        return super()._judge(responses, y, c, n_unjudged)

    def _shares(self):
        shares = super()._shares().copy()
        if self._asleep is not None:
            shares[-2], shares[-1] = shares[-2] + shares[-1], 0.0
        for expert, place in zip(self._experts, self._first_forecasts()):
            if self._n_new < _rows_asleep(expert):
                shares[0] += shares[place]  # of lines
                shares[place] = 0.0
        return shares

    def _focus(self, name, depth, *row):
        """Let another generation of cells learn the latest row and join; return whether there is one."""
        before = self._experts[-1]
        first = before.transformers[0][1]
        importance = first._importance(*rows_and_weights(before.learner, self.n_features_in_))
        if importance is None:
            return False
        focused = Expert(name, before.estimator, before.apart)
        rows = self._early if name == _FOCUSED else None
        focused.transformers[0][1].set_params(depth=depth)._focus(first, importance, rows, self._late or ())
        focused.play(self._method, *row, getattr(self, "classes_", None))
        self._join(focused, before)
        self._asleep = self._zeros(2)
        return True

    def _look(self, *row):
        """Look at losses when rows have doubled since the last look: a generation may join or leave."""
        t = np.full_like(self._totals[:1], self._t)
        now, mean, falls = np.concatenate([t, self._totals]), np.zeros_like(t), False
        since = now if self._looked is None else now - self._looked[1:]
        if self._looked is not None:
            mean = since[-1:] / kernels.positive(since[:1])
            falls = _holds(mean < _FALLS * self._looked[:1])
        self._looked = np.concatenate([mean, now])
        generations, n_rows = self._generations(), self._n_new
        if self._asleep is not None:
            if len(generations) > 2:  # a generation still asleep is not worth its time
                self._asleep = None
                self._leave(generations[-1])
            return
        lost, trust = (dict(zip(self._names, of_each)) for of_each in (since[1:-1], self._shares().mean(axis=1)))
        some = _CELLS, _REFOCUSED, _OF_LATE  # not the second, which shards share
        least = min(some, key=lambda name: trust.get(name, 1.0))
        if generations == [_CELLS, _FOCUSED] and not self._refocused:
            self._refocused = self._focus(_REFOCUSED, self.depth, *row)
        elif len(generations) == 3 and trust[least] < _TRUSTED:
            self._leave(least)
        elif len(generations) < 3 and _OF_LATE not in generations and (late := self._not_yet_cut(generations[-1])):
            depth = self._expert(generations[-1]).transformers[0][1].depth
            if self._focus(_OF_LATE, depth, *row):
                self._late = [np.empty(0) if i in late else values for i, values in enumerate(self._late)]
        elif falls and n_rows >= _FINER_FROM * self._focus_at():
            depth = self._finer_depth()
            if _FINER not in generations and depth > self.depth and self._focus(_FINER, depth, *row):
                for name in generations[:-1]:
                    self._leave(name)
            elif _FINER in generations and _holds(lost[_FINER] < lost[generations[0]]):
                self._leave(generations[0])

    def _not_yet_cut(self, name):
        """Late columns, by place, that can be cut by now, but not yet by this generation."""
        enough = [values if len(values) > self.first_rows else values[:0] for values in self._late or ()]
        return self._expert(name).transformers[0][1]._news(enough)

    def _finer_depth(self):
        """Depth of finer cells that all fit into the columns allowed."""
        of_a_tree = self.max_columns // self.n_trees  # columns, into which 2 ** (depth + 1) - 1 cells must fit
        return min(self.depth + _CUTS_MORE, MOST_CUTS, (of_a_tree + 1).bit_length() - 2)

    def _rearrange(self, forecasts):
        super()._rearrange(forecasts)
        if self._looked is not None:
            self._looked = self._looked[[0, 1, *(2 + i for i in forecasts), -1]]

    def _begin(self, first):
        if first:
            self._heed()
        now = as_they_are(self, (name for name in parameter_names(type(self)) if name not in self._changeable))
        now["set_numeric_columns"] = self._numeric
        if not first:
            check_as_begun(self._made_with, now)
        super()._begin(first)
        self._made_with = now
        if first:
            self._looked = self._asleep = self._early = self._late = None
            self._again, self._tried, self._refocused, self.validation_losses_ = 0, 0, False, np.empty(0)
            self._fades_by_tuple = True

    def _merged(self, models, base):
        """One model from several that went on from ``base``, the first being this; see `sklearn_nag.merge`."""
        check_alike(models, base, "classes_", "_n_outputs", "_made_with")
        named = named_models(models)
        if base is not None and base._mixture is None:
            base = None
        before = 0 if base is None else base._experts[0].n_rows
        n_learnt = sum(model._mixture is not None and model._experts[0].n_rows > before for model in models)
        if self.half_life is not None and n_learnt > 1:
            raise ValueError(kernels.HAVE_FADED)
        for name, model in named if before else ():
            if model._mixture is None:
                raise ValueError(f"{name} did not go on from base: it has not learnt a row.")
            check_went_on(base._experts[0].learner, name, model._experts[0].learner)
        named = [(n, m) for n, m in named if m._mixture is not None and m._experts[0].n_rows > before] or named[:1]
        models = [model for _, model in named]
        whole = copy.deepcopy(models[0])
        if len(models) == 1:
            return whole
        for name, model in [*named, *named_models([], base)]:
            whole._check_names(named[0][0], name, model._names)
        names = _shared_names(models)
        whole._experts = [_merged_expert(name, models, base) for name in names]
        whole._looked = whole._asleep = None
        whole._early, whole._tried = _joined_early(models, base), 0
        whole._late = _joined_late(models, base)
        if all(model._asleep is not None and model._names[-1] == names[-1] for model in models):
            whole._asleep = whole._zeros(2)
        first, *others = models = [model._with_experts(names, models) for model in models]
        base = None if base is None else base._with_experts(names, models)
        for name in ("_mixture", "_blend"):
            own, start = getattr(first, name), None if base is None else getattr(base, name)
            if own is not None:
                setattr(whole, name, own.merged([getattr(model, name) for model in others], start))
        whole._refocused = _REFOCUSED in names or all(model._refocused for model in models)
        for name in ("_totals", "_t", "_again"):
            start = 0 if base is None else getattr(base, name)
            setattr(whole, name, getattr(first, name) + sum(getattr(model, name) - start for model in others))
        whole._merge_targets(others, base)
        return whole

    def _with_experts(self, names, models):
        """The model, or a copy with the experts of these names, which all ``models`` have."""
        if self._names == names:
            return self
        model = copy.deepcopy(self)
        for name in names:
            if name not in model._names:  # cells that joined after the base
                model._join(models[0]._expert(name), model._expert(model._generations()[-1]))
        for name in model._names:
            if name not in names:
                model._leave(name)
        return model

    def _expert(self, name):
        return self._experts[self._names.index(name)]

    def _merge_targets(self, others, base):
        """Take over what ``others`` know of targets and errors."""

    def _check_names(self, first, name, others):
        """Raise unless a model with the experts ``others`` can be merged with this."""
        if others != self._names and not {*_GENERATIONS[1:]} & {*others} & {*self._names}:
            raise ValueError(
                f"{name} has the estimators {others}, {first} {self._names}: let one model learn focus_rows "
                "rows, by which its second generation of cells joins (where targets differ), or better five times as "
                "many, give copies of it to all shards, and let these learn about as many rows each."
            )

    @property
    def half_life_(self: Any) -> np.ndarray:
        """Share of each half-life in predictions, with ``half_life="auto"``."""
        half_lives, trusted = self.half_lives_, []
        for weight, pipeline in zip(self.weights_, self.estimators_):
            is_own = pipeline[-1].half_lives_[:, None] == half_lives
            trusted.append(weight * (pipeline[-1].half_life_ @ is_own))
        return np.sum(trusted, axis=0)

    @property
    def half_lives_(self: Any) -> np.ndarray:
        """The half-lives that ``half_life="auto"`` mixes, the longest first."""
        return np.unique([half_life for pipeline in self.estimators_ for half_life in pipeline[-1].half_lives_])[::-1]

    def _takes_anything(self):
        return False

    def _in_form(self, X):
        with self._experts[0].saying():  # whose step, as the first, would find that sums of entries are infinite
            return as_numbers(X)

    def _validate(self, X, y, sample_weight, first):
        rows = super()._validate(X, y, sample_weight, first)
        if first:
            places = self._chosen_places(rows[0], "only lines are learnt")
            places = "auto" if places is None else places.tolist()
            self._choose_experts(places)
            if places != [] and self.focus_rows is not None:
                self._early = np.empty((0, self.n_features_in_ if isinstance(places, str) else len(places)))
                self._late = []
        return rows

    def _check_whole(self):
        super()._check_whole()
        if not self.__sklearn_is_fitted__():
            return
        if self._early is not None:
            early, shape = self._early, self._cut_columns().shape
            kept = isinstance(early, np.ndarray) and early.dtype == np.float64 and early.shape[1:] == shape
            if not kept or len(early) > self._n_new or np.isinf(early).any():
                raise ValueError("_early is not the first rows")
        if self._late is not None:
            _late.check(self._late, len(self._cut_columns()))
        for name, n in (("_looked", 2 + len(self._totals)), ("_asleep", 2)):
            if (known := getattr(self, name)) is not None:
                kernels.check_array(name, known, self._zeros(n).shape)
                kernels.check_finite(name, known)
        if self._asleep is not None and self._names[-1] not in _GENERATIONS[1:]:
            raise ValueError("_asleep is about a generation of cells that is not there")

    def __setstate__(self, state):
        before = {"focus_rows": None, **self._added}
        state = {**before, **state}
        if "_made_with" in state:
            state["_made_with"] = {**before, "set_numeric_columns": None, **state["_made_with"]}
            missing = {*parameter_names(type(self))} - {*self._changeable, *state["_made_with"]}
            if missing:
                raise ValueError(f"_made_with does not say with which {min(missing)} this model was begun")
        if "_experts" in state:
            state = {"_refocused": True, "_fades_by_tuple": False, "validation_losses_": np.empty(0), **state}
            state["_again"] = int(state.get("_again", 0))  # a float in older merged models
        super().__setstate__(state)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _holds(of_outputs):
    """Whether something holds for at least half of the outputs, so that no unit matters."""
    return 2 * np.count_nonzero(of_outputs) >= of_outputs.size


def _middle(half_lives):
    """Median of several half-lives; of an even number, the geometric mean of the middle two."""
    ordered = sorted(map(float, half_lives))
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return low * (high / low) ** 0.5


def _rows_asleep(expert):
    """Number of rows that an expert learns before it is judged by itself."""
    return _ROWS_A_COLUMN * (1 + expert.learner.n_features_in_) if expert.name in _EXACT and expert.n_rows > 0 else 0


def _joined_early(models, base):
    """All models' rows from which a second generation takes its knots; None if a model no longer has them."""
    before = [] if base is None else [base]
    if any(model._early is None for model in [*models, *before]):
        return None
    n_before = len(base._early) if before else 0
    parts = [model._early for model in before] + [model._early[n_before:] for model in models]
    return np.concatenate(parts)


def _joined_late(models, base):
    """What all models know of late columns; None if an older saved one does not look for them."""
    known = [model._late for model in [*models, *([] if base is None else [base])]]
    if any(of_one is None for of_one in known):
        return None
    if not any(known):
        return []
    parts = [of_one or _late.begun(m._early, m._still_for) for of_one, m in zip(known, [*models, base])]
    return _late.joined(parts[: len(models)], None if base is None else parts[-1])


def _shared_names(models):
    """Names of the experts that all models have.

    Cells that joined after models parted have other trees in each; they are left out if others remain.
    """
    names = [name for name in models[0]._names if all(name in model._names for model in models)]
    for name in reversed(_GENERATIONS):
        if name in names and len({*_GENERATIONS} & {*names}) > 1:
            ours, *theirs = (model._expert(name).transformers[0][1]._state.made for model in models)
            if any(not np.array_equal(own, other) for trees in theirs for own, other in zip(trees, ours)):
                names.remove(name)
    return names


def _merged_expert(name, models, base):
    """One expert from those of a name in several models; the base may lack it."""
    experts = [model._expert(name) for model in models]
    start = None if base is None or name not in base._names else base._expert(name)
    merged = copy.copy(experts[0])
    ((step_name, _),) = merged.transformers
    steps = [e.transformers[0][1] for e in experts]
    step = merged_transformers(steps, None if start is None else start.transformers[0][1])
    learner = merge_learners([e.learner for e in experts], None if start is None else start.learner)
    merged.resume(type(merged.estimator)([(step_name, step), (merged.estimator.steps[-1][0], learner)]))
    before = 0 if start is None else start.n_rows
    merged.n_rows = before + sum(e.n_rows - before for e in experts)
    merged.next_look = max(merged.n_rows, merged.next_look)
    return merged


@share(**_DOCS, **_NOTES)
class NAGCellsClassifier(_LinesCurvesCells, WeighsClasses, HedgeClassifier):  # type: ignore[override, misc]
    """Online classifier for nonlinear relations: a mixture of lines, products, curves and cells.

    No parameter needs to be tuned, and one pass over a stream is enough. Units of columns do not matter, and neither do
    origins, except for columns that are 0 in many rows. Other increasing maps of a column, such as logarithms, do not
    change the cells, and change the curves only between quantiles.

    Parameters
    ----------
    {columns}
    {n_knots}
    {n_trees}
    {depth}
    {max_columns}
    {first_rows}
    {focus_rows}
    {half_life}
    class_weight : dict, "balanced" or None, default=None
        As for `NAGClassifier`. It also weighs rows for mixing learners, choosing the number of passes and averaging
        losses.
    {max_iter}
    {shuffle}
    random_state : int, RandomState instance or None, default=None
        Controls the order of the rows and the partitions.

    Attributes
    ----------
    {weights_}
    {expert_losses_}
    {progressive_loss_}
    {regret_}
    {t_}
    {estimators_}
    {named_estimators_}
    {half_life_}
    {half_lives_}
    classes_ : ndarray of shape (n_classes,)
        The classes.
    {n_iter_}
    {validation_losses_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    NAGCellsRegressor : The same for regression.
    NAGClassifier : Lines only.
    HedgeClassifier : Mixtures of other learners.
    sklearn.ensemble.HistGradientBoostingClassifier : Boosted trees, which need all rows at once.

    Notes
    -----
    {notes}

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn_nag import NAGCellsClassifier
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> clf = NAGCellsClassifier(random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.98
    True
    """

    _added = {"half_life": None, "class_weight": None}

    def __init__(
        self,
        columns: Columns | Literal["auto"] = "auto",
        *,
        n_knots: int = 21,
        n_trees: int = 300,
        depth: int = 7,
        max_columns: int = 2**20,
        first_rows: int = 300,
        focus_rows: int | None = 1000,
        half_life: float | Literal["auto"] | Sequence[float] | None = None,
        class_weight: dict | Literal["balanced"] | None = None,
        max_iter: int | Literal["auto"] = "auto",
        shuffle: bool = True,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.columns = columns
        self.n_knots = n_knots
        self.n_trees = n_trees
        self.depth = depth
        self.max_columns = max_columns
        self.first_rows = first_rows
        self.focus_rows = focus_rows
        self.half_life = half_life
        self.class_weight = class_weight
        self.max_iter = max_iter  # type: ignore[assignment]
        self.shuffle = shuffle
        self.random_state = random_state

    loss = _given("log_loss", "Loss by which forecasts are judged.")  # type: ignore[assignment]

    def _learner(self, half_life):
        return NAGClassifier(half_life=half_life)

    def __getstate__(self):
        state = super().__getstate__()
        return {**state, "_made_with": with_numbers(state["_made_with"])} if "_made_with" in state else state

    def _groups(self, y):
        return class_codes(y, self.classes_)

    _encode = _groups

    def _weigh_all(self, y, weight):
        self._class_counts = None
        if isinstance(self.class_weight, str):
            self._weigh_next(y, weight)  # counts classes
        return self._weigh(y, weight)

    def _go_on(self, X, y, sample_weight):
        X, y, weight = super()._go_on(X, y, sample_weight)
        if self._experts[0].learner.class_weight is None:  # true except for older saved models
            weight = self._weigh_next(y, weight)
        return X, y, weight

    def _merge_targets(self, others, base):
        self._class_counts = merged_counts([self, *others], base)

    def _new_mixture(self, n_forecasts):
        # At the rate 1 of log losses. Not for regressors: one large squared error in the last rows would move all of
        # the weight.
        return kernels.FixedShare.new(1, n_forecasts, unit=0.0)


@share(**_DOCS, **_NOTES)
class NAGCellsRegressor(_LinesCurvesCells, HedgeRegressor):  # type: ignore[override, misc]
    """Online regressor for nonlinear relations: a mixture of lines, products, curves and cells.

    No parameter needs to be tuned, and one pass over a stream is enough. Units of columns do not matter, and neither do
    origins, except for columns that are 0 in many rows. Other increasing maps of a column, such as logarithms, do not
    change the cells, and change the curves only between quantiles.

    Parameters
    ----------
    {columns}
    {n_knots}
    {n_trees}
    {depth}
    {max_columns}
    {first_rows}
    {focus_rows}
    {half_life}
    loss : {"squared_error", "absolute_error", "huber", "poisson", "gamma"}, default="squared_error"
        Loss of all learners: see `NAGRegressor`. ``"poisson"`` is for counts and ``"gamma"`` for amounts above 0.
        Learners are mixed by absolute errors for ``"absolute_error"`` and ``"huber"``, otherwise by squared errors.
    {max_iter}
    {shuffle}
    random_state : int, RandomState instance or None, default=None
        Controls the order of the rows and the partitions.

    Attributes
    ----------
    {weights_}
    {expert_losses_}
    {progressive_loss_}
    {regret_}
    {t_}
    {estimators_}
    {named_estimators_}
    {half_life_}
    {half_lives_}
    {n_iter_}
    {validation_losses_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    NAGCellsClassifier : The same for classification.
    NAGRegressor : Lines only.
    HedgeRegressor : Mixtures of other learners.
    sklearn.ensemble.HistGradientBoostingRegressor : Boosted trees, which need all rows at once.

    Notes
    -----
    {notes}

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn_nag import NAGCellsRegressor, NAGRegressor
    >>> X, y = make_friedman1(3000, noise=1.0, random_state=0)
    >>> reg = NAGCellsRegressor(random_state=0).fit(X[:2000], y[:2000])
    >>> reg.score(X[2000:], y[2000:]) > 0.8 > NAGRegressor().fit(X[:2000], y[:2000]).score(X[2000:], y[2000:])
    True
    """

    _added = {"half_life": None, "loss": "squared_error"}
    _losses = ("squared_error", "absolute_error", "huber", "poisson", "gamma")

    def __init__(
        self,
        columns: Columns | Literal["auto"] = "auto",
        *,
        n_knots: int = 21,
        n_trees: int = 300,
        depth: int = 7,
        max_columns: int = 2**20,
        first_rows: int = 300,
        focus_rows: int | None = 1000,
        half_life: float | Literal["auto"] | Sequence[float] | None = None,
        loss: Literal["squared_error", "absolute_error", "huber", "poisson", "gamma"] = "squared_error",
        max_iter: int | Literal["auto"] = "auto",
        shuffle: bool = True,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.columns = columns
        self.n_knots = n_knots
        self.n_trees = n_trees
        self.depth = depth
        self.max_columns = max_columns
        self.first_rows = first_rows
        self.focus_rows = focus_rows
        self.half_life = half_life
        self.loss = loss  # type: ignore[assignment]
        self.max_iter = max_iter  # type: ignore[assignment]
        self.shuffle = shuffle
        self.random_state = random_state

    def _learner(self, half_life):
        return NAGRegressor(self.loss, half_life=half_life)

    def _exact(self):
        plain = self.loss == "squared_error" and self.half_life is None
        return ScaleInvariantRegressor(invariance="full") if plain else None

    def _losses_in_units(self, advice, y, of_all):
        halves = 0.5 * of_all.reshape(len(of_all), -1)
        unit = halves.max(axis=0) - halves.min(axis=0)
        unit[unit == 0.0] = 1.0
        with np.errstate(over="ignore"):
            return self._loss_of(np.clip(advice / unit, -LARGEST, LARGEST), y.reshape(advice.shape) / unit)

    def _judged_by(self, learners):
        return "absolute_error" if self.loss in ("absolute_error", "huber") else "squared_error"

    @property
    def _half_life_of_losses(self):
        if self.half_life is None:
            return np.inf
        if isinstance(self.half_life, Real):
            return _LASTING * float(self.half_life)
        is_auto = isinstance(self.half_life, str) or not self._fades_by_tuple
        return _LASTING * (_MIDDLE if is_auto else _middle(self.half_life))

    @property
    def _memory(self):
        return self.half_life / np.log(2.0) if isinstance(self.half_life, Real) else np.inf

    def _merge_targets(self, others, base):
        self._evidence = merged_evidence([self, *others], base)
        lows, highs = zip(self._range, *(model._range for model in others))
        self._range = np.array([np.min(lows, axis=0), np.max(highs, axis=0)])
        exponents = [model._exponents for model in (self, *others) if model._exponents is not None]
        self._exponents = np.max(exponents, axis=0) if exponents else None
