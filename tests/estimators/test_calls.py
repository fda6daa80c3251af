"""Calls within calls: from functions that a call itself runs, and from signal handlers."""

import copy
import itertools
import os
import pickle
import signal
import sys
import threading
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_diabetes, load_wine

from sklearn_nag import (
    FTRLRegressor,
    HedgeClassifier,
    HedgeRegressor,
    NAGCellsRegressor,
    NAGClassifier,
    NAGRegressor,
    OnlineBootstrap,
    ScaleInvariantRegressor,
    kernels,
    report_progress,
)
from sklearn_nag.model_selection import ProgressiveSearch

DIABETES, WINE = load_diabetes(return_X_y=True), load_wine(return_X_y=True)
LEARN = kernels.learn
# A mixture of two learners is pickled and read faster than one of all.
HEDGE = HedgeRegressor([("nag", NAGRegressor()), ("free", ScaleInvariantRegressor())], random_state=0)
HEDGE_OF_CLASSES = HedgeClassifier([("nag", NAGClassifier()), ("auto", NAGClassifier(eta0="auto"))], random_state=0)


def interrupted(monkeypatch, handler):
    """Make a signal handler run after each half of the rows that a call of the kernel learns."""

    def learn(state, loss, X, y, sample_weight=None, *, order=None, predictions=None, **options):
        order = np.arange(X.shape[0]) if order is None else order
        half = len(order) // 2
        for part in (slice(0, half), slice(half, None)):
            played = None if predictions is None else predictions[part]
            LEARN(state, loss, X, y, sample_weight, order=order[part], predictions=played, **options)
            signal.raise_signal(signal.SIGUSR1)

    monkeypatch.setattr(kernels, "learn", learn)

    @contextmanager
    def handled():
        before = signal.signal(signal.SIGUSR1, lambda *_: handler())
        try:
            yield
        finally:
            signal.signal(signal.SIGUSR1, before)

    return handled()


@pytest.mark.parametrize("estimator", [NAGRegressor(), ScaleInvariantRegressor(), HEDGE], ids=str)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("again", ["fit", "partial_fit"])
def test_a_model_is_not_entered_again(estimator, method, again):
    X, y = (rows[:80] for rows in DIABETES)
    model, twin, told = clone(estimator).partial_fit(X, y), clone(estimator).partial_fit(X, y), []
    for some in (model, twin):
        some.set_params(random_state=0) if hasattr(some, "random_state") else None

    def enter(now):
        for rows in (X, np.ones((3, 40))):
            with pytest.raises(RuntimeError, match=f"this {type(model).__name__} is in the middle of a call"):
                getattr(now.estimator, again)(rows, y[: len(rows)])
        told.append(now.estimator.predict(X[:3]))

    with report_progress(enter):
        getattr(model, method)(X, y)
    getattr(twin, method)(X, y)
    assert len(told) > 3
    assert np.isfinite(told).all()
    assert np.array_equal(model.predict(X), twin.predict(X))
    getattr(model, again)(X, y)  # once the call has ended, it learns


def test_what_a_function_reads_is_the_model_so_far():
    X, y = DIABETES
    model, whole = NAGRegressor().partial_fit(X[:100], y[:100]), NAGRegressor().partial_fit(X[:100], y[:100])

    def read(now):
        if now.estimator is not model:  # because the other one also reports
            return
        saved = pickle.loads(pickle.dumps(now.estimator))
        assert saved.t_ == now.estimator.t_ == 100 + now.rows
        assert np.array_equal(saved.coef_, now.estimator.coef_)
        whole.partial_fit(X[whole_rows[0] : now.rows], y[whole_rows[0] : now.rows])
        whole_rows[0] = now.rows
        assert np.array_equal(now.estimator.coef_, whole.coef_)

    whole_rows = [0]
    with report_progress(read):
        model.partial_fit(X, y)
    assert whole_rows[0] == 256


def with_few_passes(estimator):
    """A copy whose `fit` ends soon. That of single models ends by its own search, and then learns the rows held out."""
    parameters = estimator.get_params()
    is_single = "n_iter_no_change" in parameters and parameters.get("half_life") != "auto"
    return clone(estimator).set_params(**({"max_iter": 8, "n_iter_no_change": 1} if is_single else {"max_iter": 2}))


@pytest.mark.parametrize(
    "estimator",
    [
        NAGRegressor(),
        NAGRegressor(half_life="auto"),
        ScaleInvariantRegressor(),
        HEDGE,
        NAGClassifier(),
        NAGClassifier(half_life="auto"),
        HEDGE_OF_CLASSES,
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_signal_handler_reads_the_model_before_the_call(monkeypatch, estimator, method):
    X, y = (rows[::8] for rows in (WINE if is_classifier(estimator) else DIABETES))
    model = with_few_passes(estimator)
    model.partial_fit(X, y, **({"classes": np.unique(y)} if is_classifier(estimator) else {}))
    twin, read, saved = pickle.loads(pickle.dumps(model)), [], {}

    def handler():
        read.append((model.predict(X), model.t_))
        if (blob := pickle.dumps(model)) not in saved:  # most are the same
            saved[blob] = pickle.loads(blob)
        with pytest.raises(RuntimeError, match="in the middle of a call"):
            model.partial_fit(X, y)

    with interrupted(monkeypatch, handler):
        getattr(model, method)(X, y)
    monkeypatch.undo()
    assert len(read) >= 2
    expected = twin.predict(X)
    for predicted, t in read:
        assert np.array_equal(predicted, expected)
        assert t == twin.t_
    twin.partial_fit(X, y)
    for other in saved.values():
        assert np.array_equal(other.predict(X), expected)
        assert np.array_equal(other.partial_fit(X, y).predict(X), twin.predict(X))
        assert other.t_ == twin.t_


def test_a_callback_is_handed_the_model_so_far_and_a_handler_that_comes_meanwhile_reads_the_one_before():
    pytest.importorskip("sklearn.callback", reason="scikit-learn has no callbacks before 1.9")
    X, y = DIABETES
    read, so_far = [], []

    class Reader:
        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            if context.task_name == "pass":
                signal.raise_signal(signal.SIGUSR1)
                so_far.append(estimator.predict(X))
                with pytest.raises(RuntimeError, match="in the middle of a call"):
                    estimator.partial_fit(X, y)

        def teardown(self, estimator, context):
            pass

    model = NAGRegressor(max_iter=3, tol=None, random_state=0).partial_fit(X[:50], y[:50]).set_callbacks(Reader())
    expected = model.predict(X)
    before = signal.signal(signal.SIGUSR1, lambda *_: read.append(model.predict(X)))
    try:
        model.fit(X, y)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert len(read) == 3
    assert all(np.array_equal(predicted, expected) for predicted in read)
    for n, predicted in enumerate(so_far, 1):
        assert np.array_equal(predicted, NAGRegressor(max_iter=n, tol=None, random_state=0).fit(X, y).predict(X))


def test_a_signal_handler_finds_no_model_in_the_first_call(monkeypatch):
    model, read = NAGRegressor(), []

    def handler():
        read.append(pickle.loads(pickle.dumps(model)).__sklearn_is_fitted__())
        with pytest.raises(AttributeError, match="not fitted yet"):
            _ = model.coef_

    with interrupted(monkeypatch, handler):
        model.partial_fit(*DIABETES)
    assert read == [False, False]
    assert model.t_ == 442


def test_sparse_rows_are_undone_for_a_handler(monkeypatch):
    from scipy import sparse

    X = sparse.random(40, 5_000, density=2e-3, format="csr", random_state=np.random.default_rng(0))
    y = np.arange(40.0)
    model = NAGRegressor().partial_fit(X, y)
    before, read = model.coef_.copy(), []
    with interrupted(monkeypatch, lambda: read.append(model.coef_.copy())):
        model.partial_fit(X[:3] * 1e3, y[:3])
    assert len(read) == 2
    assert all(np.array_equal(coef, before) for coef in read)
    assert not np.array_equal(model.coef_, before)


@pytest.mark.parametrize(
    ("estimator", "method"),
    [
        (NAGRegressor(random_state=0), "partial_fit"),
        (NAGRegressor(random_state=0), "fit"),
        (ScaleInvariantRegressor(random_state=0), "partial_fit"),
        (HEDGE, "partial_fit"),
        (HEDGE, "fit"),
    ],
    ids=str,
)
def test_at_every_line_of_a_call_the_model_is_whole(estimator, method):
    """A tracer reads the model before every line of the library that runs, as a signal handler would.

    The members of a mixture are traced by themselves; in the mixture, only some of their lines are traced.
    """
    X, y = (rows[:30] for rows in DIABETES)
    model = with_few_passes(estimator).partial_fit(X[:20], y[:20])
    after = getattr(copy.deepcopy(model), method)(X, y)
    whole = [model.predict(X).tobytes(), after.predict(X).tobytes()]
    read, blobs = [], set()  # most of these are the same

    def trace(frame, event, arg):
        if "sklearn_nag" not in frame.f_code.co_filename:
            return None
        some = every or "ensemble" in frame.f_code.co_filename or frame.f_lineno % 8 == 0
        if some and event == "line" and frame.f_lineno not in done.setdefault(frame.f_code, set()):
            done[frame.f_code].add(frame.f_lineno)
            sys.settrace(None)
            if (blob := pickle.dumps(model)) not in blobs:
                blobs.add(blob)
                read.append(pickle.loads(blob).predict(X).tobytes())
            read.append(model.predict(X).tobytes())
            sys.settrace(trace)
        return trace

    every = estimator is not HEDGE or bool(os.environ.get("EVERY_RULE"))
    done, before = {}, sys.gettrace()
    sys.settrace(trace)
    try:
        getattr(model, method)(X, y)
    finally:
        sys.settrace(before)
    assert len(read) > 100
    assert set(read) <= set(whole)
    assert model.predict(X).tobytes() == whole[1]


# -- forks


def forks(test):
    """Mark a test that forks; skip it where there are no forks."""
    test = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")(test)
    return pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")(test)


def in_a_fork(function):
    """What a function returns in a process that is forked here."""
    ours, theirs = os.pipe()
    process = os.fork()
    if process == 0:
        signal.alarm(60)  # because it could wait for a lock that nobody holds
        try:
            answer = function()
        except BaseException as error:
            answer = repr(error)
        with os.fdopen(theirs, "wb") as file:
            pickle.dump(answer, file)
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as file:
        answer = file.read()
    os.waitpid(process, 0)
    return pickle.loads(answer) if answer else "it ended, or waited in vain"


def what_it_does(model, X, y):
    """What a model predicts, as it is and after it was saved, and what it predicts once it has learnt rows."""
    saved = pickle.loads(pickle.dumps(model))
    return [some.predict(X).tobytes() for some in (model, saved, model.partial_fit(X, y))]


FORKED = {
    "nag": NAGRegressor(random_state=0),
    "forgets": NAGRegressor(half_life=20, random_state=0),
    "half-lives": NAGRegressor(half_life="auto", random_state=0),
    "free": ScaleInvariantRegressor(random_state=0),
    "ftrl": FTRLRegressor(random_state=0),
    "classes": NAGClassifier(random_state=0),
    "mixture": HEDGE,
    "mixture of classes": HEDGE_OF_CLASSES,
    "cells": NAGCellsRegressor(n_trees=4, random_state=0),
    "search": ProgressiveSearch(HEDGE, {"eta0": [0.5, 1.0]}),
    "bootstrap": OnlineBootstrap(HEDGE, n_models=2, random_state=0),
}


SINGLE = list(FORKED)[:6]  # these learn by one call; others make several calls, some of which may be over


@forks
@pytest.mark.parametrize(
    ("name", "share"),
    [(name, share) for name in FORKED for share in ((0.0, 1.0) if name in SINGLE else (0.5, 1.0))]
    if os.environ.get("EVERY_RULE")
    else [*zip(SINGLE, itertools.cycle([0.0, 1.0])), *zip([*FORKED][6:], itertools.cycle([0.5, 1.0]))],
)
def test_a_process_forked_while_a_thread_learns_has_the_model_before_the_call(monkeypatch, name, share):
    estimator = clone(FORKED[name])
    X, y = (rows[::8] for rows in (WINE if is_classifier(estimator) else DIABETES))
    model = estimator.partial_fit(X, y, **({"classes": np.unique(y)} if is_classifier(estimator) else {}))
    blob = pickle.dumps(model)
    expected = what_it_does(pickle.loads(blob), X, y)
    n_calls, stops_at, stopped, go_on = 0, None, threading.Event(), threading.Event()

    def learn(state, loss, X, y, sample_weight=None, *, order=None, predictions=None, **options):
        nonlocal n_calls
        order = np.arange(X.shape[0]) if order is None else order
        half = len(order) // 2
        for part in (slice(0, half), slice(half, None)):
            played = None if predictions is None else predictions[part]
            LEARN(state, loss, X, y, sample_weight, order=order[part], predictions=played, **options)
            if n_calls == stops_at and threading.current_thread() is thread:
                stopped.set()
                assert go_on.wait(60)
            n_calls += 1

    monkeypatch.setattr(kernels, "learn", learn)
    pickle.loads(blob).partial_fit(X, y)
    n_calls, stops_at = 0, int(share * (n_calls - 1))
    thread = threading.Thread(target=model.partial_fit, args=(X, y))
    thread.start()
    assert stopped.wait(60)
    answer = in_a_fork(lambda: what_it_does(model, X, y))
    go_on.set()
    thread.join()
    assert answer == expected
    assert model.predict(X).tobytes() == expected[2]


@forks
@pytest.mark.parametrize(("name", "n"), [("nag", 3000), ("free", 3000), ("forgets", 100), ("half-lives", 50)])
def test_a_fork_may_come_at_any_moment(name, n):
    """For learners that the tests compile, the fork may come in the middle of compiled code."""
    from scipy import sparse

    X = sparse.random(n, 5_000, density=2e-3, format="csr", random_state=np.random.default_rng(0))
    y, few = np.asarray(X.sum(axis=1)).ravel(), X[:20]
    model = clone(FORKED[name]).partial_fit(few, y[:20])
    blob = pickle.dumps(model)
    before, after = (what_it_does(some, few, y[:20]) for some in (model, pickle.loads(blob).partial_fit(X, y)))
    for milliseconds in (0, 3, 7):
        model = pickle.loads(blob)
        thread = threading.Thread(target=model.partial_fit, args=(X, y))
        thread.start()
        thread.join(1e-3 * milliseconds)
        assert in_a_fork(lambda model=model: what_it_does(model, few, y[:20])) in (before, after)
        thread.join()


@forks
@pytest.mark.parametrize("name", ["nag", "half-lives", "mixture"])
@pytest.mark.parametrize("fails", [False, True])
def test_a_call_that_forks_goes_on_in_both_processes(name, fails):
    X, y = DIABETES
    model = clone(FORKED[name]).partial_fit(X[:50], y[:50])
    before = model.predict(X)
    after = copy.deepcopy(model).partial_fit(X, y).predict(X)
    processes = []

    def fork(now):
        if now.rows == 128:
            processes.append(os.fork())
            if processes == [0]:
                signal.alarm(60)
        if fails and now.rows == 256:
            raise ZeroDivisionError

    with report_progress(fork):
        try:
            model.partial_fit(X, y)
        except ZeroDivisionError:
            pass
        finally:
            is_right = np.array_equal(model.predict(X), before if fails else after)
            if processes == [0]:
                os._exit(0 if is_right else 1)
    assert is_right
    assert os.waitpid(processes[0], 0)[1] == 0
