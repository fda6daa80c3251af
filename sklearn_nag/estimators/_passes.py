"""The passes of a `fit`: what they go through, in which order, and when they no longer help."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state

from .. import kernels

NEAR = 0.9  # a loss above this share of that of a constant prediction is near it
STRETCHES = 4.0 ** np.arange(1, 11)
SOME = 4096  # rows, at most


class Stopping:
    """Tells when passes no longer help, as SGDClassifier does.

    Parameters
    ----------
    tol : float or None
        By how much an objective has to fall below the best one to count as better; None for never stopping.
    n_iter_no_change : int
        Passes in a row without a better one after which to stop.
    relative : bool
        Whether ``tol`` is a share of the best objective.
    """

    def __init__(self, tol, n_iter_no_change, relative):
        self.tol, self.n_iter_no_change, self.relative = tol, n_iter_no_change, relative
        self.best, self.since_best = np.inf, 0

    def settled(self, objective):
        """Whether to stop after a pass with this objective."""
        if self.tol is None:
            return False
        step = self.tol * abs(self.best) if self.relative and self.best < np.inf else self.tol
        self.since_best = 0 if objective < self.best - step else self.since_best + 1
        self.best = min(self.best, objective)
        return self.since_best >= self.n_iter_no_change


class Passes:
    """What a `fit` goes through, pass by pass.

    Iteration yields the order of the rows for each pass, at most ``max_iter`` times. `OnlineLinear.fit` iterates with
    one model, and a sweep of learning rates with several, which see the same order.

    Parameters
    ----------
    estimator : OnlineLinear
        Its parameters say how passes are made.
    X, y, weight : ndarray or CSR array, ndarray, ndarray or None
        Rows, targets and weights of the rows, validated.

    Attributes
    ----------
    rows, held_out : ndarray of int, or None
        The rows to learn and, with ``early_stopping``, those to score; None and None where all are learnt.
    targets, effective_weight : ndarray, ndarray or None
        ``y`` as the kernel takes it, and the weights of the rows with those of their classes.
    knows_scales : bool
        Whether a pass over the rows, which is none of these, has taught the model their scales.
    """

    knows_scales = False

    def __init__(self, estimator, X, y, weight):
        self.estimator, self.X, self.y, self.weight = estimator, X, y, weight
        self.rows, self.held_out = self._split() if estimator.early_stopping else (None, None)
        self.targets, self.effective_weight = estimator._encode(y), estimator._weigh(y, weight)
        if self.effective_weight is not None and not self.effective_weight.any():
            raise ValueError("sample_weight, with class_weight, is zero for all rows: fit has nothing to learn from.")

    def _split(self):
        share, n_rows = self.estimator.validation_fraction, len(self.y)
        rows, held_out = train_test_split(
            np.arange(n_rows),
            test_size=share,
            random_state=self.estimator.random_state,
            stratify=self.y if self.estimator._stratified else None,
        )
        if len(held_out) < 2:
            raise ValueError(
                f"early_stopping holds out validation_fraction={share!r} of {n_rows} rows, which is "
                "one row; a score needs at least two."
            )
        if self.weight is not None and not self.weight[held_out].any():
            raise ValueError(
                "the sample weights of the rows that early_stopping holds out are all 0, so there is no score to stop "
                "by: try another random_state or a larger validation_fraction."
            )
        return np.sort(rows), held_out  # the order in which they are learnt without shuffle

    def __iter__(self):
        random_state = check_random_state(self.estimator.random_state)
        for _ in range(self.estimator.max_iter):
            if self.estimator.shuffle:
                yield random_state.permutation(len(self.y) if self.rows is None else self.rows)
            else:
                yield self.rows

    def stopping(self):
        """A new `Stopping` by the parameters."""
        estimator = self.estimator
        relative = estimator._tol_is_relative and not estimator.early_stopping
        return Stopping(estimator.tol, estimator.n_iter_no_change, relative)

    def learn(self, model, order):
        """Let ``model`` learn one pass; return its mean progressive loss over rows and heads.

        The loss of the pass is summed by itself: a difference of running sums would lose its digits.
        """
        state = model._state
        before, seen, lift = state.loss.copy(), state.seen, state.targets.lift
        state.loss[:] = 0.0
        try:
            model._learn(self.X, self.targets, self.effective_weight, order)
            return state.mean_loss(state.seen - seen)
        finally:  # also when the model diverges, as a sweep goes on from there
            with np.errstate(over="ignore"):
                before = state.in_unit_of_loss(before, state.targets.lift / lift)
                state.loss[:] = np.minimum(before + state.loss, np.finfo(float).max)

    def score(self, model):
        """Score of ``model`` on the rows held out."""
        predicted = model._interpret(kernels.predict(model._state, self.X[self.held_out]))
        weight = None if self.weight is None else self.weight[self.held_out]
        return model._metric(self.y[self.held_out], predicted, sample_weight=weight)

    def could_go_further(self, model, loss):
        """Whether ``model``, with this mean loss of its last pass, is near where it began and has far to go from there.

        That is so if its loss falls by a tenth or more when its decision values are stretched, away from where they
        began, over some of the rows. A model that ended because there is nothing to learn does not gain from that; one
        whose steps were too short for its way does.
        """
        rows = np.arange(len(self.y)) if self.rows is None else self.rows
        rows = rows[:: -(-len(rows) // SOME)]
        weight = None if self.effective_weight is None else self.effective_weight[rows]
        if weight is not None and not weight.any():
            return False
        rule, loss_function = model._state.rule, model._loss()
        p = kernels.predict(model._state, self.X[rows])
        targets, unit = (
            model._targets_of_heads(self.targets[rows]),
            np.resize(model._state.unit() / model._state.targets.lift, p.shape[1]),
        )

        def mean_loss(p):
            values = loss_function.value(loss_function.margins(p) if loss_function.coupled else p, targets, unit)
            total = np.minimum(values, np.finfo(float).max).sum(axis=1)
            return np.average(total, weights=weight) / rule.n_groups

        with np.errstate(all="ignore"):
            start = np.average(p, axis=0, weights=weight) if rule.target_unit else 0.0
            if not loss <= 1.05 * mean_loss(start + 0.0 * p):
                return False
            return min(mean_loss(start + a * (p - start)) for a in STRETCHES) < 0.9 * mean_loss(p)

    def warn_about(self, model, loss, settled):
        """Warn if, by the mean loss of its last pass, ``model`` learnt nothing useful, or if passes ended too soon."""
        estimator, stacklevel = self.estimator, 6  # the caller of `fit`, past its decorators
        constant_loss = estimator._constant_loss(self.targets, self.effective_weight, self.rows)
        if loss > estimator._useless_from * constant_loss:
            warnings.warn(
                f"{type(estimator).__name__} has learnt nothing useful: the mean loss of its last pass is {loss:.4g}, "
                f"that of predicting the mean is {constant_loss:.4g}. {estimator._why_useless}",
                ConvergenceWarning,
                stacklevel=stacklevel,
            )
        elif loss > NEAR * constant_loss and estimator._why_too_little and self.could_go_further(model, loss):
            warnings.warn(
                f"{type(estimator).__name__} has learnt little, and there is more to learn: the mean loss of its last "
                f"pass is {loss:.4g}, that of a constant prediction {constant_loss:.4g}. {estimator._why_too_little}",
                ConvergenceWarning,
                stacklevel=stacklevel,
            )
        elif estimator.tol is not None and not settled and estimator.max_iter > estimator.n_iter_no_change:
            warnings.warn(
                f"{type(estimator).__name__} made max_iter={estimator.max_iter} passes and has not settled; "
                "raise max_iter to go on, or tol to stop sooner.",
                ConvergenceWarning,
                stacklevel=stacklevel,
            )
