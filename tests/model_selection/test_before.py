"""Estimators made of others learn in place; after a failed call, or seen from within one, they are as before."""

import copy
import functools
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler

from sklearn_nag import FTRLClassifier, HedgeClassifier, NAGClassifier, OnlineBootstrap
from sklearn_nag.estimators._calls import part_of
from sklearn_nag.model_selection import ProgressiveSearch
from sklearn_nag.model_selection._before import Before, Thrown
from sklearn_nag.preprocessing import make_online_pipeline

N_FEATURES = 1100  # more columns than are looked up one by one
BUILT = {
    "nag": NAGClassifier(),
    "forgets": NAGClassifier(half_life="auto"),
    "scaled": make_online_pipeline(MaxAbsScaler(), NAGClassifier()),
    "penalised": FTRLClassifier(),
    "mixed": HedgeClassifier([("nag", NAGClassifier()), ("rms", NAGClassifier(normalization="rms"))]),
}


class Interrupting(SGDClassifier):
    """Calls the function that it is given before it learns its batches."""

    call = None

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        if Interrupting.call is not None:
            Interrupting.call()
        return super().partial_fit(X, y, classes=classes, sample_weight=sample_weight)


def calling(X):
    """Call the function as `Interrupting` does, and return the rows unchanged."""
    if Interrupting.call is not None:
        Interrupting.call()
    return X


@functools.cache
def learnt(kind):
    """An estimator made of learners of all kinds, which has learnt some rows; most play ten at a time."""
    caller = FunctionTransformer(calling)
    other = Interrupting(loss="log_loss", random_state=0)
    called = [make_online_pipeline(caller, learner) for learner in BUILT.values()]
    made = {
        "mixture": HedgeClassifier([*BUILT.items(), ("other", other)], batch_size=10),
        "search": ProgressiveSearch([*called, other], batch_size=10, min_rows=125),
        "bootstrap": OnlineBootstrap(make_online_pipeline(MaxAbsScaler(), caller, NAGClassifier()), n_models=5),
        "bootstrap of a pipeline in one": OnlineBootstrap(make_online_pipeline(MaxAbsScaler(), called[2]), n_models=5),
        "bootstrap of a mixture": OnlineBootstrap(make_online_pipeline(caller, BUILT["mixed"]), n_models=5),
        "threads": OnlineBootstrap(make_online_pipeline(caller, NAGClassifier()), n_models=10, n_jobs=2),
    }[kind]
    return made.partial_fit(*rows(100, 0), classes=[0, 1])


KINDS = ["mixture", "search", "bootstrap", "bootstrap of a pipeline in one", "bootstrap of a mixture", "threads"]


@pytest.fixture(params=KINDS)
def model(request):
    Interrupting.call = None
    yield copy.deepcopy(learnt(request.param))
    Interrupting.call = None


def rows(n, seed, density=0.008):
    return sparse.random(n, N_FEATURES, density=density, format="csr", random_state=seed), np.arange(n) % 2


def bits(model):
    state = vars(copy.deepcopy(model))
    for candidate in state.get("_candidates", ()):
        candidate.__dict__ = {**dict(sorted(vars(candidate).items())), "seconds": 0.0}
    return pickle.dumps(state)


def parts(model):
    """The estimators that a model is made of."""
    if isinstance(model, ProgressiveSearch):
        return [candidate.estimator for candidate in model._candidates if hasattr(candidate, "estimator")]
    return list(model.estimators_)


class Stopped(BaseException):
    """Like an interrupt, it is not taken by estimators for a failure of one of their parts."""


def stopping_after(n):
    """A function that raises `Stopped` after it was called so many times."""
    left = [n]

    def call():
        if not left[0]:
            raise Stopped
        left[0] -= 1

    return call


def count_calls(model, X, y):
    """How often a model calls the function when it learns rows. Some candidates leave a search on the way."""
    calls = []
    Interrupting.call = lambda: calls.append(None)
    model.partial_fit(X, y)
    Interrupting.call = None
    return len(calls)


@pytest.mark.parametrize(
    ("model", "share", "density"),
    [(kind, 0.7, 0.008) for kind in KINDS]
    + [("mixture", 0.0, 0.008), ("search", 0.0, 0.008)]  # before anything is learnt
    + [(kind, 0.7, 0.3) for kind in KINDS[:3]],  # rows that name all columns
    indirect=["model"],
)
def test_a_call_that_fails_in_any_batch_is_undone(model, share, density):
    X, y = rows(30, 1, density)
    model.partial_fit(*rows(10, 2))
    twin, estimators = copy.deepcopy(model), parts(model)
    before = bits(model)
    Interrupting.call = stopping_after(int(share * count_calls(copy.deepcopy(model), X, y)))
    with pytest.raises(Stopped):
        model.partial_fit(X, y)
    Interrupting.call = None
    assert bits(model) == before
    assert all(a is b for a, b in zip(parts(model), estimators, strict=True))
    for learns in (model, twin):
        learns.partial_fit(X, y)
    assert bits(model) == bits(twin) != before


def test_it_is_read_as_before_the_call_from_within(model):
    if getattr(model, "n_jobs", None):
        pytest.skip("threads of the call would wait for its end, and it for theirs")
    X, y = rows(30, 1)
    expected, read = model.predict(X).tobytes(), []
    proba = model.predict_proba(X).tobytes() if hasattr(model, "predict_proba") else b""

    def look():
        Interrupting.call = None
        for seen in (model, pickle.loads(pickle.dumps(model))):
            read.append(seen.predict(X).tobytes())
            if proba:
                read.append(seen.predict_proba(X).tobytes())
        Interrupting.call = look

    Interrupting.call = look
    model.partial_fit(X, y)
    Interrupting.call = None
    assert len(read) >= 12
    assert set(read) == {expected, proba} - {b""}
    assert not proba or model.predict_proba(X).tobytes() != proba


def test_what_is_kept_is_no_more_than_the_model():
    """However many batches there are: once about half of the columns are kept, all are."""
    model = NAGClassifier().partial_fit(*rows(10, 0), classes=[0, 1])
    was, before = bits(model), Before({}, [model])
    for seed in range(200):
        with part_of(before):
            model.partial_fit(*rows(20, seed))
    kept = [(undo.columns.table if undo.named is None else undo.columns[0]).size for undo in before.undos]
    assert 1 < len(kept) < 100
    assert sum(kept) <= 3 * model._state.columns.table.size
    before.restore()
    assert bits(model) == was


def test_columns_that_rows_name_often_are_kept_once():
    """Cells are named often: hundreds of entries per row, and more in a batch than there are columns."""
    model = NAGClassifier().partial_fit(*rows(10, 0), classes=[0, 1])
    few = sparse.csr_array((np.ones(2 * N_FEATURES), (np.arange(2 * N_FEATURES) // 8, np.arange(2 * N_FEATURES) % 8)))
    few.resize(few.shape[0], N_FEATURES)
    was, before = bits(model), Before({}, [model])
    with part_of(before):
        model.partial_fit(few, np.arange(few.shape[0]) % 2)
    assert {*range(8)} <= {*before.undos[0].named.tolist()}
    assert len(before.undos[0].named) < N_FEATURES / 2
    before.restore()
    assert bits(model) == was


def test_only_parts_are_undone_by_the_whole():
    """Others may learn meanwhile, for example in a signal handler."""
    part, other = (NAGClassifier().partial_fit(*rows(10, 0), classes=[0, 1]) for _ in range(2))
    before = Before({}, [part])
    with part_of(before):
        other.partial_fit(*rows(10, 1))
        assert not before.undos
        part.partial_fit(*rows(10, 1))
        assert len(before.undos) == 1
    with part_of(Thrown([part])):
        was = bits(other)
        with pytest.raises(ValueError, match="infinity"):
            other.partial_fit(np.vstack([np.ones((5, N_FEATURES)), np.full((1, N_FEATURES), np.inf)]), [0, 1] * 3)
        assert bits(other) == was
