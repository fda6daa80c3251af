"""Models with more weights than memory are refused before allocation, or read and used by their nonzero weights."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from sklearn_nag import FTRLClassifier, NAGClassifier, NAGRegressor, ScaleInvariantClassifier
from sklearn_nag.kernels.state import memory, model
from sklearn_nag.kernels.vectorized import prediction


def text(rng, n=60, d=5000, n_classes=5):
    """Return rows of hashed words, and classes that a few of the words reveal."""
    X = sparse.random_array((n, d), density=0.004, rng=rng, format="csr")
    y = rng.integers(0, n_classes, n)
    return sparse.csr_array(X + sparse.csr_array((np.ones(n), (np.arange(n), y)), shape=(n, d))), y


@pytest.fixture
def little(monkeypatch):
    """Pretend that the machine has little memory."""
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "free_memory", lambda: 2.0**21)


@pytest.mark.usefixtures("little")
@pytest.mark.parametrize(
    "estimator",
    [NAGClassifier(penalty="l2", average=True), NAGClassifier(half_life=100.0), FTRLClassifier(regularizer="entropy")],
    ids=str,
)
def test_a_model_without_room_is_refused_before_it_is_made(estimator):
    X, y = sparse.csr_array(([1.0, 1.0], ([0, 1], [0, 1])), shape=(3, 2**20)), [0, 1, 2]
    tracemalloc.start()
    for classes in (4, 1000):
        message = rf"a model of {classes:,} weight vectors, .* of 1,048,577 columns takes .* GiB, and 2 times as much"
        with pytest.raises(memory.TooLarge, match=message) as error:
            clone(estimator).partial_fit(X, y, classes=np.arange(classes))
        assert isinstance(error.value, ValueError)
        assert isinstance(error.value, MemoryError)
    assert tracemalloc.get_traced_memory()[1] < 2.0**25
    tracemalloc.stop()


@pytest.mark.parametrize(
    "estimator",
    [NAGClassifier(), NAGClassifier(penalty="l1", alpha=0.01), FTRLClassifier(l1=0.1), ScaleInvariantClassifier()],
    ids=str,
)
def test_many_weights_are_never_in_one_array(rng, estimator, monkeypatch):
    X, y = text(rng)
    clf = estimator.partial_fit(X, y, classes=np.arange(5))
    expected = {name: getattr(clf, name)(X) for name in ("predict", "decision_function")}
    coef, intercept = clf.coef_, clf.intercept_
    by_row = clf._state
    clf._state.cached = None
    monkeypatch.setattr(model, "MANY", 100)
    monkeypatch.setattr(model, "AT_ONCE", 300)
    monkeypatch.setattr(prediction, "AT_ONCE", 2**12)
    monkeypatch.setattr(type(by_row), "_linear_of_met", None)  # this would make the array
    for rows in (X, X.toarray()):
        np.testing.assert_array_equal(clf.predict(rows), expected["predict"])
        np.testing.assert_allclose(clf.decision_function(rows), expected["decision_function"], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(prediction.predict_by_row(clf._state, X), expected["decision_function"], atol=1e-12)
    np.testing.assert_array_equal(clf.intercept_, intercept)
    found = clf.sparsify().coef_
    assert isinstance(found, sparse.csr_matrix)
    assert found.nnz == np.count_nonzero(coef) < coef.size / 3
    np.testing.assert_array_equal(found.toarray(), coef)
    assert clf._state.cached is None


def test_an_array_of_weights_without_room_is_refused(rng, monkeypatch):
    X, y = text(rng)
    clf = NAGClassifier().partial_fit(X, y, classes=np.arange(5))
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "free_memory", lambda: 1000.0)
    with pytest.raises(memory.TooLarge, match=r"weights of 5 decision values for 5,001 columns takes 0.0 GiB, and 4"):
        clf.coef_  # noqa: B018
    monkeypatch.setattr(model, "MANY", 100)
    assert clf.sparsify().coef_.shape == (5, 5000)
    with pytest.raises(memory.TooLarge):
        clf.densify().coef_  # noqa: B018


def test_what_is_free_is_known_or_infinite(monkeypatch):
    assert 2.0**20 < memory.free_memory() < 2.0**60
    monkeypatch.setattr("builtins.open", lambda *args, **options: (_ for _ in ()).throw(OSError))
    assert memory.free_memory() > 2.0**20
    monkeypatch.setattr(memory.os, "sysconf", lambda name: (_ for _ in ()).throw(ValueError), raising=False)
    assert memory.free_memory() == np.inf


def test_one_target_too(rng, monkeypatch):
    X, _ = text(rng)
    reg = NAGRegressor().partial_fit(X, X.sum(axis=1))
    expected, coef = reg.predict(X), reg.coef_
    reg._state.cached = None
    monkeypatch.setattr(model, "MANY", 100)
    np.testing.assert_allclose(reg.predict(X), expected, rtol=1e-12)
    np.testing.assert_array_equal(reg.sparsify().coef_.toarray(), coef[None])
