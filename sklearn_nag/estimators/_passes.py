"""The passes of a `fit`: what they go through, in which order, and when they no longer help."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state

from .. import kernels


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
    """

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
        return rows, held_out

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
        before, t, lift = state.loss.copy(), state.t, state.targets.lift
        state.loss[:] = 0.0
        try:
            model._learn(self.X, self.targets, self.effective_weight, order)
            return state.mean_loss(state.t - t)
        finally:  # also when the model diverges, as a sweep goes on from there
            with np.errstate(over="ignore"):
                before = state.in_unit_of_loss(before, state.targets.lift / lift)
                state.loss[:] = np.minimum(before + state.loss, np.finfo(float).max)

    def score(self, model):
        """Score of ``model`` on the rows held out."""
        predicted = model._interpret(kernels.predict(model._state, self.X[self.held_out]))
        weight = None if self.weight is None else self.weight[self.held_out]
        return model._metric(self.y[self.held_out], predicted, sample_weight=weight)

    def warn_about(self, loss, settled):
        """Warn if, by the mean loss of the last pass, nothing useful was learnt, or if passes ended too soon."""
        estimator, stacklevel = self.estimator, 6  # the caller of `fit`, past its decorators
        constant_loss = estimator._constant_loss(self.targets, self.effective_weight, self.rows)
        if loss > 2.0 * constant_loss:
            warnings.warn(
                f"{type(estimator).__name__} has learnt nothing useful: the mean loss of its last pass is {loss:.4g}, "
                f"that of predicting the mean is {constant_loss:.4g}. {estimator._why_useless}",
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
