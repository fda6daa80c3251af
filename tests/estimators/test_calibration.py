"""Probabilities and sets of classes from predictions made before rows were learnt."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.utils import shuffle

from sklearn_nag import FTRLClassifier, NAGClassifier, ScaleInvariantClassifier, config_context, merge
from sklearn_nag.model_selection import progressive_validation

X, Y = shuffle(*load_digits(return_X_y=True), random_state=0)
BINARY = (Y > 4).astype(int)
CLASSES = np.arange(10)
SURE = {"calibration": "progressive"}


@pytest.fixture(autouse=True)
def in_numpy():
    with config_context(kernel="numpy"):
        yield


def learnt(loss="log_loss", y=Y, rows=slice(900), **options):
    return NAGClassifier(loss, **options).partial_fit(X[rows], y[rows], classes=np.unique(y))


@pytest.mark.parametrize("y", [Y, BINARY], ids=["ten classes", "two classes"])
@pytest.mark.parametrize("loss", ["log_loss", "hinge", "modified_huber"])
def test_probabilities_are_better(loss, y):
    p = learnt(loss, y, **SURE).predict_proba(X[900:])
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    loss_of_shares = log_loss(y[900:], np.tile(np.bincount(y) / len(y), (len(p), 1)))
    before = log_loss(y[900:], learnt(loss, y).predict_proba(X[900:])) if loss != "hinge" else 0.8 * loss_of_shares
    assert log_loss(y[900:], p) < before


def test_nothing_else_changes():
    sure, plain = learnt(**SURE), learnt()
    np.testing.assert_array_equal(sure.decision_function(X), plain.decision_function(X))
    np.testing.assert_array_equal(sure.predict_proba(X).argmax(axis=1), plain.predict(X))
    assert plain._evidence is None


@pytest.mark.parametrize("estimator", [FTRLClassifier("hinge", **SURE), ScaleInvariantClassifier("hinge", **SURE)])
def test_every_family(estimator):
    p = estimator.partial_fit(X[:300], BINARY[:300], classes=[0, 1]).predict_proba(X[300:])
    assert log_loss(BINARY[300:], p) < 0.6


def test_sets():
    clf = learnt(**SURE)
    sets = clf.predict_set(X[900:], [0.5, 0.95, 0.99])
    assert sets.shape == (len(X) - 900, 10, 3)
    assert (sets.sum(axis=1) >= 1).all()
    assert (sets[:, :, 1:] >= sets[:, :, :-1]).all()
    np.testing.assert_array_equal(sets[:, :, 1], clf.predict_set(X[900:], 0.95))
    covered = sets[np.arange(len(sets)), Y[900:]].mean(axis=0)
    assert (covered > [0.5, 0.92, 0.96]).all()
    assert clf.predict_set(X[:1], 0.9999).all()
    with pytest.raises(AttributeError, match="predict_set"):
        learnt().predict_set(X)
    with pytest.raises(ValueError, match="coverage must be"):
        clf.predict_set(X, 1.0)


def test_cuts_pickles_and_merging():
    weight = np.arange(900) % 4 / 2.0
    whole = NAGClassifier(**SURE).partial_fit(X[:900], Y[:900], CLASSES, weight)
    parts = NAGClassifier(**SURE)
    for rows in np.array_split(np.arange(900), 30):
        parts = pickle.loads(pickle.dumps(parts.partial_fit(X[rows], Y[rows], CLASSES, weight[rows])))
    np.testing.assert_array_equal(parts._evidence.table, whole._evidence.table)
    np.testing.assert_array_equal(parts.predict_proba(X), whole.predict_proba(X))
    a, b = learnt(rows=slice(600), **SURE), learnt(rows=slice(600, 1200), **SURE)
    assert merge([a, b])._evidence.rows == a._evidence.rows + b._evidence.rows
    with pytest.raises(ValueError, match="calibration is None"):
        merge([a, learnt()])


def test_models_saved_before_go_on():
    saved = learnt("hinge").__getstate__()
    del saved["calibration"], saved["_evidence"]
    clf = NAGClassifier.__new__(NAGClassifier)
    clf.__setstate__(saved)
    assert clf.calibration is None
    clf.set_params(**SURE).partial_fit(X[900:], Y[900:])
    assert log_loss(Y, clf.predict_proba(X)) < 1.0


def test_progressive_validation_scores_what_was_played():
    for y in (Y, BINARY):
        results = [
            progressive_validation(NAGClassifier(**options), X, y, scoring="neg_log_loss").score
            for options in (SURE, {})
        ]
        assert results[0] > results[1]
    batches = ((X[rows], Y[rows]) for rows in np.array_split(np.arange(len(Y)), 40))
    cut = progressive_validation(NAGClassifier(**SURE), batches, classes=CLASSES, scoring="neg_log_loss").score
    whole = progressive_validation(NAGClassifier(**SURE), X, Y, scoring="neg_log_loss").score
    assert cut == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
@pytest.mark.parametrize("y", [Y, BINARY], ids=["ten classes", "two classes"])
def test_exported(loss, y):
    clf = learnt(loss, y, **SURE)
    np.testing.assert_allclose(clf.to_sklearn().predict_proba(X), clf.predict_proba(X), atol=1e-12)


def test_what_scikit_learn_has_not():
    with pytest.raises(ValueError, match="no linear model of scikit-learn has the probabilities"):
        learnt(multi_class="ovr", **SURE).to_sklearn()


@pytest.mark.parametrize("options", [{"loss": "hinge"}, {}, {"multi_class": "ovr"}])
@pytest.mark.parametrize("y", [Y, BINARY], ids=["ten classes", "two classes"])
def test_onnx(options, y):
    pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    from sklearn_nag.io import to_onnx

    clf = learnt(y=y, **options, **SURE)
    labels, p = runtime.InferenceSession(to_onnx(clf).SerializeToString()).run(None, {"X": X[:50]})
    np.testing.assert_allclose(p, clf.predict_proba(X[:50]), atol=1e-12)
    np.testing.assert_array_equal(labels, clf.predict(X[:50]))
