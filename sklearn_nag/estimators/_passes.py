"""The passes of a `fit`: rows, order, callbacks, and when to stop."""

import functools
import warnings
from copy import copy

import numpy as np
from sklearn.base import is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state

from .. import kernels

try:  # scikit-learn has callbacks since version 1.9; before, stand-ins do nothing
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class _NoContext:
        def subcontext(self, **options):
            return self

        def call_on_fit_task_begin(self, **arguments):
            return self

        def call_on_fit_task_end(self, **arguments):
            return False

    class CallbackSupportMixin:  # type: ignore[no-redef]
        def _init_callback_context(self, **options):
            return _NoContext()

    def with_callbacks(method):
        @functools.wraps(method)
        def followed(*args, **kwargs):  # so that warnings have the same stack levels as with callbacks
            return method(*args, **kwargs)

        return followed


FEW_ROWS = 10  # per column; with fewer, further passes may learn what holds for these rows alone
SEARCHED_FROM, OF_CLASSES_FROM = 40, 10  # rows: with fewer, or fewer with classes, too few are held out
SURELY_FROM, VERY_FEW_ROWS = 200, 5  # with fewer rows, few are held out; this many per column are then few
MANY_ROWS = 40  # per column: rows learnt in earlier passes are then predicted hardly better than new ones
LEAST_HELD_OUT, MOST_HELD_OUT = 20, 5000  # rows: fewer tell little, unless they are a third; more tell hardly more
PATIENCE = 2  # passes without gain that end a search
LEARNT_ANEW = 5  # passes: up to this many, learning all rows anew is cheap
_GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0  # its multiples modulo 1 fill the unit interval evenly

NEAR = 0.9  # a loss above this share of that of a constant prediction is near it
STRETCHES = 4.0 ** np.arange(1, 21)
SOME = 4096  # rows, at most


class Stopping:
    """Tells when passes no longer help: after ``n_iter_no_change`` without a better one, as in SGDClassifier.

    Better means below the best objective by ``tol`` or, if ``relative``, by this share of it; None ends no passes.
    ``best`` is the smallest of ``objectives``, one per pass. ``since_best`` counts passes since the last better one.
    """

    def __init__(self, tol, n_iter_no_change, relative):
        self.tol, self.n_iter_no_change, self.relative = tol, n_iter_no_change, relative
        self.objectives, self.best, self.since_best = [], np.inf, 0

    @property
    def best_pass(self):
        """Number of passes up to the last better objective."""
        return len(self.objectives) - self.since_best

    def settled(self, objective):
        """Whether to stop after a pass with this objective."""
        self.objectives.append(objective)
        if self.tol is None:
            return False
        step = self.tol * abs(self.best) if self.relative and self.best < np.inf else self.tol
        self.since_best = 0 if objective < self.best - step else self.since_best + 1
        self.best = min(self.best, objective)
        return self.since_best >= self.n_iter_no_change


class Passes:
    """What a `fit` goes through, pass by pass.

    Iteration yields the order of the rows for each pass, at most ``max_iter`` times.

    With ``early_stopping="auto"`` and few rows for the columns these are passes of a *search*: the loss on rows held
    out tells how many help. Then as many are made over all rows or, if many, the best model learns those held out.

    Parameters
    ----------
    estimator : OnlineLinear
        Its parameters say how passes are made.
    X, y, weight : ndarray or CSR array, ndarray, ndarray or None
        Rows, targets and weights of the rows, validated.
    goes_on : bool
        Whether the model has learnt before, perhaps these very rows, which are then no witness.
    are_new : bool
        Whether the first pass shows rows that it has not learnt.

    Attributes
    ----------
    searches : bool
        Whether these are passes of a search.
    rows, held_out : ndarray of int, or None
        The rows to learn and those held out; both None where all are learnt.
    targets, effective_weight : ndarray, ndarray or None
        ``y`` as the kernel takes it, and the weights of the rows with those of their classes.
    knows_scales : bool
        Whether a pass over the rows, which is none of these, has taught the model their scales.
    """

    knows_scales = False

    def __init__(self, estimator, X, y, weight, goes_on, are_new):
        self.estimator, self.X, self.y, self.weight = estimator, X, y, weight
        self.targets, self.effective_weight = estimator._encode(y), estimator._weigh(y, weight)
        self._have_units = is_regressor(estimator) and self.targets.shape[1] > 1
        if self.effective_weight is not None and not self.effective_weight.any():
            raise ValueError(
                "sample_weight, or its product with class_weight, is zero for all rows: fit has nothing to learn from."
            )
        rule, weight = estimator._state.rule, self.effective_weight
        if rule.target_unit and not rule.log_link:
            estimator._state.lift_small(self.targets if weight is None else self.targets[weight > 0])
        self.rows = self.held_out = None
        self._most, self._random_state = estimator.max_iter, estimator.random_state
        split = self._split_by_number() if self._is_worth_a_search() and not goes_on else (None, ())
        self.searches = len(split[1]) > 0  # a class's only row is never held out
        self.are_new = are_new and not self.searches
        if self.searches:
            self.rows, self.held_out = split
            # The passes after a search do not depend on it, so that a sweep can share them.
            self._random_state, self._next_random_state = check_random_state(self._random_state).randint(2**31, size=2)
        elif estimator._stops_by_score:
            self.rows, self.held_out = self._split_by_chance()

    def _is_worth_a_search(self):
        """Whether the number of passes is open, and rows so few that further passes may harm."""
        estimator, n_rows = self.estimator, self._n_rows
        if not isinstance(estimator.early_stopping, str) or estimator.tol is None:
            return False
        if estimator.max_iter == 1 or estimator._solved:
            return False
        rule = estimator._state.rule
        # Classes of a softmax have weights of their own; the factor is empirical.
        n_classes = max(rule.n_targets // rule.n_groups, 2)
        few = (FEW_ROWS if n_rows >= SURELY_FROM else VERY_FEW_ROWS) * np.sqrt(np.log2(n_classes))
        if n_rows < (OF_CLASSES_FROM if estimator._stratified else SEARCHED_FROM):
            return False
        if n_rows >= SURELY_FROM and rule.experts > 1 and rule.mixed:
            few = max(few, 4 * n_classes)  # rates that are too fast win on rows learnt before
        return self._has_fewer_than(few)

    @property
    def _n_rows(self):
        """Number of rows that count."""
        return len(self.y) if self.effective_weight is None else np.count_nonzero(self.effective_weight)

    def _has_fewer_than(self, few):
        """Whether there are fewer than ``few`` rows per column in use."""
        n_rows, weight = self._n_rows, self.effective_weight
        return n_rows < few * self.X.shape[1] and n_rows < few * _columns_in_use(self.X, weight)

    @functools.cached_property
    def _has_many(self):
        n_classes = max(self.estimator._state.rule.n_targets, 2)  # each has fewer rows
        return not self._has_fewer_than(MANY_ROWS * n_classes / 2)

    @property
    def _stratified(self):
        """Whether rows have classes, so that a share of each is held out."""
        return self.estimator._stratified and self.targets.ndim == 1

    def _split_by_number(self):
        """Rows to learn and rows to hold out: by position in their class, evenly, never the first.

        Rows of weight 0 are learnt, to no effect.
        """
        counted = np.arange(len(self.y))
        if self.effective_weight is not None:
            counted = counted[self.effective_weight > 0]
        groups = self.targets[counted] if self._stratified else np.zeros(len(counted), int)
        held_out = counted[are_held_out(groups, self.estimator.validation_fraction)]
        return np.setdiff1d(np.arange(len(self.y)), held_out, assume_unique=True), held_out

    def _split_by_chance(self):
        share, n_rows = self.estimator.validation_fraction, len(self.y)
        try:
            rows, held_out = train_test_split(
                np.arange(n_rows),
                test_size=share,
                random_state=self.estimator.random_state,
                stratify=self.y if self._stratified else None,
            )
        except ValueError as error:  # such as classes with too few rows
            raise ValueError(f"early_stopping=True cannot hold out a share of {share!r} of the rows: {error}") from None
        if len(held_out) < 2:
            raise ValueError(
                f"early_stopping holds out validation_fraction={share!r} of {n_rows} rows, which is "
                "one row; a score needs at least two."
            )
        for name, of_set, weight, change in (
            ("validation", held_out, self.weight, "larger"),
            ("training", rows, self.effective_weight, "smaller"),
        ):
            if weight is not None and not weight[of_set].any():
                raise ValueError(
                    f"The sample weights for {name} set are all zero, consider using a different random state. A "
                    f"{change} validation_fraction helps as well."
                )
        return np.sort(rows), held_out  # the order of learning without shuffle

    def over_all(self, n):
        """``n`` passes over all rows, for use after a search."""
        passes = copy(self)
        passes.searches, passes.rows, passes.held_out = False, None, None
        passes._most, passes._random_state = n, self._next_random_state
        return passes

    def __iter__(self):
        random_state = check_random_state(self._random_state)
        for _ in range(self._most):
            if self.estimator.shuffle:
                yield random_state.permutation(len(self.y) if self.rows is None else self.rows)
            else:
                yield self.rows

    def stopping(self):
        """A new `Stopping` for the parameters."""
        estimator = self.estimator
        relative = estimator._tol_is_relative and not estimator._stops_by_score
        patience = min(PATIENCE, estimator.n_iter_no_change) if self.searches else estimator.n_iter_no_change
        return Stopping(estimator.tol, patience, relative)

    def learn(self, model, order):
        """Let ``model`` learn one pass; return its mean progressive loss over rows and heads, lifted.

        The loss is summed separately: a difference of running sums would lose its digits.
        """
        state = model._state
        before, seen, lift = state.loss.copy(), state.seen, state.targets.lift
        state.loss[:] = 0.0
        try:
            model._learn(self.X, self.targets, self.effective_weight, order, are_new=self._tells(model))
            if self.estimator.shuffle or (model.n_iter_ > 0 and not state.rule.forgets):
                self._tell_growth(state)
            return state.mean_loss(state.seen - seen, lifted=True, counting=self._counting(model))
        finally:  # also if the model diverges, because a sweep goes on from there
            with np.errstate(over="ignore"):
                before = state.in_unit_of_loss(before, state.targets.lift / lift)
                state.loss[:] = np.minimum(before + state.loss, np.finfo(float).max)

    def _tells(self, model):
        """Whether predictions of the next pass are evidence of the errors of ``model``."""
        if not self.are_new or model.n_iter_ == 0:
            return self.are_new
        return model._judged_in_each_pass and self._has_many

    def _tell_growth(self, state):
        """Tell the state how targets grow in the given order of rows, not that of passes."""
        rows = slice(None) if self.rows is None or self.searches else self.rows
        weight = np.ones(len(self.y)) if self.effective_weight is None else self.effective_weight
        state.see_growth(self.targets[rows], weight[rows])

    def _counting(self, model):
        """Factors of lifted losses: with several numeric targets, one over the loss of predicting the mean of each."""
        if not self._have_units:
            return 1.0
        constant = self._constant_loss(model)
        return np.divide(1.0, constant, out=np.zeros_like(constant), where=constant > np.finfo(float).tiny)

    def _constant_loss(self, model, **of):
        """Mean lifted loss of the best constant prediction; one per numeric target."""
        return self.estimator._constant_loss(_lifted(self.targets, model), self.effective_weight, self.rows, **of)

    def shown(self, model, losses):
        """Lifted losses in the unit of the targets, or as they are without one."""
        return losses if self._have_units else model._state.in_unit_of_loss(losses, 1.0 / model._state.targets.lift)

    def objective(self, model, loss):
        """The (lifted) objective to minimise, after a pass with this mean loss."""
        if self.held_out is None:
            return loss
        if not self.searches:
            return -self._score(model)
        with np.errstate(all="ignore"):
            p = kernels.predict(model._state, self.X[self.held_out])
            return min(self._mean_loss(model, p, self.held_out), np.finfo(float).max)

    def _score(self, model):
        """Score of ``model`` on the held-out rows."""
        predicted = model._interpret(kernels.predict(model._state, self.X[self.held_out]))
        weight = None if self.weight is None else self.weight[self.held_out]
        y = self.y[self.held_out]
        return model._metric(_lifted(y, model), _lifted(predicted, model), sample_weight=weight)

    def judge(self, model, state):
        """Let ``model`` learn how far predictions of ``state`` are off on the held-out rows."""
        if not model._keeps_evidence:
            return
        rows = self.held_out
        weight = None if self.effective_weight is None else self.effective_weight[rows]
        with np.errstate(all="ignore"):
            model._judge(kernels.predict(state, self.X[rows]), self.targets[rows], weight)

    def learn_held_out(self, model):
        """Let ``model`` learn the held-out rows."""
        model._learn(self.X, self.targets, self.effective_weight, self.held_out)
        if self.estimator.shuffle or not model._state.rule.forgets:
            self._tell_growth(model._state)

    def could_go_further(self, model, loss):
        """Whether ``model``, with this mean loss in its last pass, is near its start and has far to go.

        It has if its loss falls by a tenth when decision values are stretched away from their start. With nothing to
        learn, that gains nothing.
        """
        rows = np.arange(len(self.y)) if self.rows is None else self.rows
        rows = rows[:: -(-len(rows) // SOME)]
        weight = None if self.effective_weight is None else self.effective_weight[rows]
        if weight is not None and not weight.any():
            return False
        p = kernels.predict(model._state, self.X[rows])
        with np.errstate(all="ignore"):
            start = np.average(p, axis=0, weights=weight) if model._state.rule.target_unit else 0.0
            if not loss <= 1.05 * self._mean_loss(model, start + 0.0 * p, rows):
                return False
            stretched = min(self._mean_loss(model, start + a * (p - start), rows) for a in STRETCHES)
            return stretched < 0.9 * self._mean_loss(model, p, rows)

    def _mean_loss(self, model, p, rows):
        """Mean lifted loss of decision values ``p`` over these rows, by weight, and heads."""
        rule, loss = model._state.rule, model._loss()
        weight = None if self.effective_weight is None else self.effective_weight[rows]
        p, targets = _lifted(p, model), _lifted(model._targets_of_heads(self.targets[rows]), model)
        unit = np.resize(model._state.unit(), p.shape[1])
        values = loss.value(loss.margins(p) if loss.coupled else p, targets, unit)
        total = (np.minimum(values, np.finfo(float).max) * self._counting(model)).sum(axis=1)
        return float(np.average(total, weights=weight) / rule.n_groups)

    def warn_about(self, model, loss, settled):
        """Warn if, by the mean loss of its last pass, ``model`` learnt nothing useful, or passes ended too soon."""
        estimator = self.estimator
        what, of = ("the mean", {}) if estimator._predicts_mean else ("0", {"of_zero": True})
        constant_loss = float(np.mean(self._constant_loss(model, **of) * self._counting(model)))
        here, constant = self.shown(model, np.array([loss, constant_loss]))
        if loss > estimator._useless_from * constant_loss:
            found = (
                f"has learnt nothing useful: the mean loss of its last pass is {here:.4g}, that of predicting {what} "
                f"is {constant:.4g}. {estimator._why_useless}"
            )
        elif loss > NEAR * constant_loss and estimator._why_too_little and self.could_go_further(model, loss):
            found = (
                f"has learnt little, and there is more to learn: the mean loss of its last pass is {here:.4g}, that of "
                f"a constant prediction {constant:.4g}. {estimator._why_too_little}"
            )
        elif (
            estimator.tol is not None
            and not settled
            and estimator.max_iter > estimator.n_iter_no_change
            and loss > estimator.tol**2 * constant_loss  # with two rows, it may fall forever, to no use
        ):
            found = (
                f"made max_iter={estimator.max_iter} passes and has not settled; increase max_iter to continue, or tol "
                "to stop earlier."
            )
        else:
            return
        # The caller of `fit`, past its decorators.
        warnings.warn(f"{type(estimator).__name__} {found}", ConvergenceWarning, stacklevel=8)


def _lifted(targets, model):
    """Targets, or predictions of them, in the model's unit."""
    lift = model._state.targets.lift
    return targets if lift == 1.0 else targets * lift


def are_held_out(groups, share):
    """Mask of rows to hold out of a search: about a ``share`` of each group, evenly, never its first row.

    ``groups`` has the group of each row, such as its class.
    """
    n_rows, chosen = len(groups), np.zeros(len(groups), bool)
    share = min(max(share, min(LEAST_HELD_OUT / n_rows, 1.0 / 3.0)), MOST_HELD_OUT / n_rows)
    order, sizes = np.argsort(groups, kind="stable"), np.bincount(groups)
    place = np.arange(n_rows) - np.repeat(np.cumsum(sizes) - sizes, sizes)  # of each of ``order`` in its group
    chosen[order] = ((place + 1) * _GOLDEN % 1.0 < share) & (place > 0)
    return chosen


def _columns_in_use(X, weight):
    """Number of columns that are not 0 in every row that counts."""
    if weight is not None:
        X = X[weight > 0]
    if isinstance(X, np.ndarray):
        return np.count_nonzero(X.any(axis=0))
    return len(np.unique(X.indices[: X.nnz][X.data[: X.nnz] != 0]))
