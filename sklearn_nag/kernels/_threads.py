"""Threads that learn independent targets."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from joblib import effective_n_jobs

from .compiled.handover import entries_of_row

_WORTH_THREADS = 2**23  # entries times heads above which threads save more time than it takes to start them
_AT_ONCE = 2**24  # entries times heads that a thread learns before it checks whether to stop
_WORTH_COPIES = 64  # entries per column above which threads save more time than it takes to copy the columns


def over_threads(learn_rows, state, X, n_jobs):
    """Return ``learn_rows``, or a function that does the same in threads if that can help."""
    n_threads = effective_n_jobs(n_jobs) if _can_be_spread(state, X) else 1
    return partial(_learn_in_threads, learn_rows, n_threads) if n_threads > 1 else learn_rows


def _can_be_spread(state, X):
    """Whether targets are independent, with enough work to be worth threads and copies."""
    if not state.rule.family.learns_apart or state.rule.n_groups == 1:
        return False
    entries = entries_of_row(X) * X.shape[0]
    return entries * state.rule.n_heads > _WORTH_THREADS and entries > _WORTH_COPIES * state.columns.lift.size


def _learn_in_threads(learn_rows, n_jobs, state, loss, X, y, sample_weight, order, predictions):
    """``learn_rows`` in threads that each learn some of the targets."""
    n_targets = state.rule.n_targets

    rows = np.arange(X.shape[0]) if order is None else order
    at_once = max(_WORTH_COPIES, int(_AT_ONCE / (entries_of_row(X) * state.rule.n_heads)))
    stop = threading.Event()

    def learn_some(which):
        subset, own = state.for_targets(which), None
        if predictions is not None:
            own = np.empty((len(predictions), subset.rule.n_played))
        if y.ndim == 2:
            some = y[:, which]
        else:  # a single target is 1 for class 1
            some = y - which[0] if len(which) > 1 else (y == which[0]).astype(y.dtype)
        for start in range(0, len(rows), at_once):
            if stop.is_set():
                break
            part = slice(start, start + at_once)
            learn_rows(subset, loss, X, some, sample_weight, rows[part], None if own is None else own[part])
        return which, subset, own

    parts = np.array_split(np.arange(n_targets), min(n_jobs, n_targets))
    with ThreadPoolExecutor(len(parts)) as threads:
        try:
            learnt = list(threads.map(learn_some, parts))
        except BaseException:  # such as an interrupt, after which the other threads should stop
            stop.set()
            raise
        for which, subset, own in learnt:
            state.put_targets(which, subset)
            if own is not None:
                played = which if state.rule.mixed else state.rule.heads(np.arange(state.rule.experts), which)
                predictions[:, played] = own
