"""The update kernel: a state and rows go in, a changed state and progressive predictions come out.

Kernels know arrays and nothing else. `_numpy` defines the rules, `_numba` compiles the same ones where Numba is
installed; `sklearn_nag.set_config` chooses.
"""

from __future__ import annotations

import numpy as np

from ._backend import backend
from ._invariant import FullState, InvariantRule, InvariantState
from ._numpy import Diverged, predict, predict_unit_free
from ._state import Rule, State, positive

__all__ = ["Diverged", "InvariantRule", "Rule", "State", "learn", "new_state", "positive", "predict"]


def new_state(rule, n_features):
    """State before the first row, for a `Rule` or an `InvariantRule`."""
    if isinstance(rule, Rule):
        return State.new(rule, n_features)
    return (FullState if rule.full else InvariantState).new(rule, n_features)


def learn(state, loss, X, y, sample_weight=None, *, order=None, predictions=None):
    """One pass: for each row, update the scales, predict, suffer the loss, update the weights.

    Parameters
    ----------
    state : State
        Changed in place. When `Diverged` is raised it is left half-way.
    loss : object
        With ``value(p, y)`` and ``gradient(p, y)``, a ``name`` and the names of its ``parameters``.
    X : ndarray or CSR array of shape (n_rows, n_features)
        Finite float32 or float64, dense in any order; CSR in canonical form, with int32 or int64 indices.
    y : ndarray of shape (n_rows, n_targets), or of shape (n_rows,) with integers
        Targets; or classes, from which targets are made: 1 for the class of a head, else -1 (with a single target: 1
        for class 1, else -1).
    sample_weight : ndarray of shape (n_rows,), optional
        Not negative; 1 by default. A row of weight 0 changes nothing, not even the scales.
    order : ndarray of shape (n,) of int, optional
        Rows to go through, in this order; all by default.
    predictions : ndarray of shape (n, n_played), optional
        Filled with the progressive predictions.

    Raises
    ------
    Diverged
        When a weight or a sum overflows.
    """
    state.cached = None
    learn_rows = backend(state.kernel).learn_rows
    if sample_weight is None or sample_weight.all():
        return learn_rows(state, loss, X, y, sample_weight, order, predictions)
    order = np.arange(X.shape[0]) if order is None else order
    named = sample_weight[order] > 0
    if predictions is None:
        if named.any():
            learn_rows(state, loss, X, y, sample_weight, order[named], None)
        return
    for run in np.split(np.arange(len(order)), np.flatnonzero(np.diff(named)) + 1):
        rows = order[run]
        if named[run[0]]:
            learn_rows(state, loss, X, y, sample_weight, rows, predictions[run[0] : run[-1] + 1])
        else:
            predictions[run] = predict_unit_free(state, X[rows])
