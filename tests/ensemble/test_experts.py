"""Experts of a mixture learn in place: where a call fails, or is looked at from within, they are what they were."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import MaxAbsScaler

from sklearn_nag import FTRLClassifier, HedgeClassifier, NAGCellsClassifier, NAGClassifier
from sklearn_nag.ensemble._experts import Before, Expert
from sklearn_nag.preprocessing import make_online_pipeline

N_FEATURES = 3000


class Interrupting(SGDClassifier):
    """Calls what it is given before it learns its batches."""

    call = None

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        if Interrupting.call is not None:
            Interrupting.call()
        return super().partial_fit(X, y, classes=classes, sample_weight=sample_weight)


@pytest.fixture
def mixture():
    """Of experts of all kinds, which have learnt some rows, and play ten at a time."""
    Interrupting.call = None
    experts = [
        ("nag", NAGClassifier()),
        ("forgets", NAGClassifier(half_life="auto")),
        ("scaled", make_online_pipeline(MaxAbsScaler(), NAGClassifier())),
        ("penalised", FTRLClassifier()),
        ("mixed", HedgeClassifier([("nag", NAGClassifier()), ("rms", NAGClassifier(normalization="rms"))])),
        ("other", Interrupting(loss="log_loss", random_state=0)),
    ]
    yield HedgeClassifier(experts, batch_size=10).partial_fit(*rows(100, 0), classes=[0, 1])
    Interrupting.call = None


def rows(n, seed, density=0.003):
    return sparse.random(n, N_FEATURES, density=density, format="csr", random_state=seed), np.arange(n) % 2


def bits(model):
    return pickle.dumps(vars(copy.deepcopy(model)))


class Stopped(Exception):
    pass


def stopping_at(place):
    """A call that raises `Stopped` when it is made for this time."""
    left = [place]

    def call():
        left[0] -= 1
        if not left[0]:
            raise Stopped

    return call


@pytest.mark.parametrize("density", [0.003, 0.3])  # some columns are kept, or all
@pytest.mark.parametrize("place", [1, 4])
def test_a_call_that_fails_in_any_batch_is_undone(mixture, place, density):
    X, y = rows(60, 1, density)
    mixture.partial_fit(*rows(10, 2))
    twin, estimators = copy.deepcopy(mixture), mixture.estimators_
    before = bits(mixture)
    Interrupting.call = stopping_at(place)
    with pytest.raises(Stopped):
        mixture.partial_fit(X, y)
    Interrupting.call = None
    assert bits(mixture) == before
    assert all(a is b for a, b in zip(mixture.estimators_, estimators))
    for model in (mixture, twin):
        model.partial_fit(X, y)
    assert bits(mixture) == bits(twin) != before


def test_it_is_read_as_before_the_call_from_within(mixture):
    X, y = rows(60, 1)
    expected, read = (mixture.predict_proba(X).tobytes(), mixture.t_), []

    def look():
        for model in (mixture, pickle.loads(pickle.dumps(mixture))):
            read.append((model.predict_proba(X).tobytes(), model.t_))

    Interrupting.call = look
    mixture.partial_fit(X, y)
    assert len(read) == 12
    assert set(read) == {expected}
    assert mixture.predict_proba(X).tobytes() != expected[0]


def test_cells_are_undone(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(2, size=300)
    model = NAGCellsClassifier(n_trees=20, depth=4, first_rows=50, focus_rows=120, random_state=0)
    model.partial_fit(X[:100], y[:100], classes=[0, 1])
    before, play, calls = bits(model), Expert.play, []

    def stops(expert, *args):
        calls.append(expert.name)
        if len(calls) == 6:  # the second generation has joined
            raise Stopped
        return play(expert, *args)

    monkeypatch.setattr(Expert, "play", stops)
    with pytest.raises(Stopped):
        model.partial_fit(X[100:], y[100:])
    assert "focused" in calls
    assert bits(model) == before


def test_what_is_kept_is_no_more_than_the_model():
    """However many batches there are: once as many columns are kept as there are, all are."""
    model = NAGClassifier().partial_fit(*rows(10, 0), classes=[0, 1])
    expert, was = Expert("nag", model), bits(model)
    expert.resume(model)
    before = Before([expert])
    for seed in range(200):
        model._play(*rows(20, seed), undo_by=before.undo_by)
    kept = [np.size(undo.columns if undo.named is not None else undo.columns.table) for undo in before.undos]
    assert 1 < len(kept) < 100
    assert sum(kept) <= 3 * model._state.columns.table.size
    before.restore()
    assert bits(model) == was


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda experts: experts[1].estimator._begun_with.update(loss=None), "begun with the loss None"),
        (lambda experts: experts[2].estimator.steps.pop(), "ends with a MaxAbsScaler, which cannot predict"),
    ],
)
def test_damaged_experts_are_refused(mixture, change, message):
    experts = [("nag", NAGClassifier()), ("mixed", HedgeClassifier()), ("scaled", mixture.estimators[2][1])]
    model = HedgeClassifier(experts).partial_fit(*rows(20, 0), classes=[0, 1])
    change(model._experts)
    with pytest.raises(ValueError, match=message):
        pickle.loads(pickle.dumps(model))
