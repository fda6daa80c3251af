"""The update kernel: a state and rows go in, a changed state and progressive predictions come out.

Kernels know arrays and nothing else. `_numpy` defines the rules, `_numba` compiles the same ones where Numba is
installed; `sklearn_nag.set_config` chooses.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from joblib import effective_n_jobs

from . import _numpy
from ._backend import backend
from ._invariant import FullState, InvariantRule, InvariantState
from ._numpy import Diverged, predict, predict_unit_free
from ._state import Rule, State, positive

_WORTH_THREADS = 2**23  # entries times heads from which on starting threads takes less time than they save
_WORTH_COPIES = 64  # entries over columns, likewise for the copies of these

__all__ = ["Diverged", "InvariantRule", "Rule", "State", "learn", "new_state", "positive", "predict"]


def new_state(rule, n_features):
    """State before the first row, for a `Rule` or an `InvariantRule`."""
    if isinstance(rule, Rule):
        return State.new(rule, n_features)
    return (FullState if rule.full else InvariantState).new(rule, n_features)


def learn(state, loss, X, y, sample_weight=None, *, order=None, predictions=None, n_jobs=1):
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
    n_jobs : int or None, default=1
        Threads over which targets are spread, as joblib counts them, where that can help; no result depends on it.

    Raises
    ------
    Diverged
        When a weight or a sum overflows.
    """
    state.cached = None
    learn_rows = backend(state.kernel).learn_rows
    spread = learn_rows is not _numpy.learn_rows and _can_be_spread(state, X)
    n_threads = effective_n_jobs(n_jobs) if spread else 1
    if n_threads > 1:
        learn_rows = partial(_learn_in_threads, learn_rows, n_threads)
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


def _can_be_spread(state, X):
    """Whether targets do not know of one another, and rows are work enough to be worth a copy of the columns."""
    if not isinstance(state.rule, Rule) or state.rule.n_groups == 1:
        return False
    entries = X.size if isinstance(X, np.ndarray) else X.nnz
    return entries * state.rule.n_heads > _WORTH_THREADS and entries > _WORTH_COPIES * state.columns.lift.size


def _learn_in_threads(learn_rows, n_jobs, state, loss, X, y, sample_weight, order, predictions):
    """As ``learn_rows``, by threads that learn some of the targets each."""
    n_targets = state.rule.n_targets

    def learn_some(which):
        part, own = state.for_targets(which), None
        if predictions is not None:
            own = np.empty((len(predictions), part.rule.n_played))
        if y.ndim == 2:
            some = y[:, which]
        else:  # a single target is that of class 1
            some = y - which[0] if len(which) > 1 else (y == which[0]).astype(y.dtype)
        learn_rows(part, loss, X, some, sample_weight, order, own)
        return which, part, own

    parts = np.array_split(np.arange(n_targets), min(n_jobs, n_targets))
    with ThreadPoolExecutor(len(parts)) as threads:
        for which, part, own in list(threads.map(learn_some, parts)):
            state.put_targets(which, part)
            if own is not None:
                played = which if state.rule.mixed else state.rule.heads(np.arange(state.rule.experts), which)
                predictions[:, played] = own
