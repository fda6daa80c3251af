"""Probabilities and sets of classes, from predictions made before the rows were learnt."""

import pickle

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.utils import shuffle

from sklearn_nag import FTRLClassifier, NAGClassifier, ScaleInvariantClassifier, merge
from sklearn_nag.model_selection import progressive_validation

X, Y = shuffle(*load_digits(return_X_y=True), random_state=0)
BINARY = (Y > 4).astype(int)
CLASSES = np.arange(10)
SURE = {"calibration": "progressive"}


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


@pytest.mark.parametrize("multi_class", ["multinomial", "ovr"])
@pytest.mark.parametrize("class_weight", ["balanced", {0: 0.5, 1: 30.0, 2: 4.0}])
@pytest.mark.parametrize("slopes", [[[0, 0], [1.5, -1.0]], [[0, 0], [1.5, -1.0], [-1.0, 1.0]]], ids=len)
def test_weights_of_classes_do_not_move_probabilities(slopes, class_weight, multi_class, rng):
    """Despite class weights, probabilities are those of the rows without weights, in streams and after `fit`."""
    rows = rng.normal(size=(6000, 2))
    p = softmax(rows @ np.transpose(slopes) - 3.0 * (np.arange(len(slopes)) > 0), axis=1)
    y = (rng.random((6000, 1)) > p.cumsum(axis=1)).sum(axis=1)
    truth = log_loss(y[3000:], p[3000:])
    clf = NAGClassifier(class_weight=class_weight, multi_class=multi_class, random_state=0, **SURE)
    stream = clone(clf)
    for part in np.array_split(np.arange(3000), 4):
        stream = pickle.loads(pickle.dumps(stream.partial_fit(rows[part], y[part], classes=range(len(slopes)))))
    for model in (stream, clf.fit(rows[:3000], y[:3000])):
        q = model.predict_proba(rows[3000:])
        assert log_loss(y[3000:], q) < truth + 0.04
        np.testing.assert_allclose(q.mean(axis=0), p[3000:].mean(axis=0), atol=0.02)
        assert log_loss(y[3000:], model.set_params(calibration=None).predict_proba(rows[3000:])) > truth + 0.15


@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
def test_rows_left_out_and_weighed_for_that_are_as_if_all_had_come(loss, rng):
    X = rng.normal(size=(30_000, 3))
    rate = expit(X @ [1.0, -1.0, 0.5] - 3.0)
    y = (rng.random(30_000) < rate).astype(int)
    kept = (y == 1) | (rng.random(30_000) < 0.1)
    clf = NAGClassifier(loss, calibration="progressive")
    clf.partial_fit(X[kept], y[kept], classes=[0, 1], sample_weight=np.where(y, 1.0, 10.0)[kept])
    assert clf.predict_proba(X)[:, 1].mean() == pytest.approx(rate.mean(), rel=0.15)
    cut = NAGClassifier(loss, calibration="progressive")
    for some in np.array_split(np.flatnonzero(kept), 7):
        cut.partial_fit(X[some], y[some], classes=[0, 1], sample_weight=np.where(y, 1.0, 10.0)[some])
    assert cut.predict_proba(X).tobytes() == clf.predict_proba(X).tobytes()


def rare_class(rng, n):
    """Rows of which 9 % belong to one class, with the probability of that class."""
    rows = rng.normal(size=(n, 5))
    p = expit(rows @ [1.5, -1.0, 0.5, 0.0, 0.0] - 3.5)
    return rows, (rng.random(n) < p).astype(int), p


@pytest.mark.parametrize("loss", ["hinge", "modified_huber", "perceptron"])
def test_fit_goes_by_the_scores_of_all_passes_of_many_rows(loss):
    """Scores of the first pass do not mean the same as those of the last, so `fit` goes by the scores of all passes."""
    found = []
    for seed in range(4):
        rows, y, p = rare_class(np.random.default_rng(seed), 6000)
        clf = NAGClassifier(loss, random_state=0, **SURE).fit(rows[:2000], y[:2000])
        found.append(log_loss(y[2000:], clf.predict_proba(rows[2000:])) - log_loss(y[2000:], p[2000:]))
    assert np.mean(found) < {"modified_huber": 0.005}.get(loss, 0.04)  # with the first pass alone .009, .044 and .109


@pytest.mark.parametrize(("loss", "n"), [("log_loss", 2000), ("hinge", 199)])
def test_fit_goes_by_the_first_pass_where_that_tells_more(loss, n, rng):
    rows, y, _ = rare_class(rng, n)
    clf = NAGClassifier(loss, random_state=0, **SURE).fit(rows, y)
    assert clf.n_iter_ > 1
    assert clf._evidence.rows + clf._evidence.waiting == n - 1


@pytest.mark.parametrize("learner", [NAGClassifier, FTRLClassifier, ScaleInvariantClassifier])
def test_rows_held_out_by_a_search_count_by_their_weight(learner, rng):
    rows, y = rng.normal(size=(200, 100)), np.arange(200) % 2
    clf = learner("hinge", random_state=0, **SURE).fit(rows, y, sample_weight=np.where(y, 50.0, 1.0))
    assert len(clf.validation_losses_)  # it has searched for the number of passes
    assert clf.predict_proba(rng.normal(size=(500, 100)))[:, 1].mean() > 0.8  # .98 by weight, one half by number


def test_offsets_go_on_when_weights_of_classes_are_taken_away(rng):
    rows = rng.normal(size=(12000, 2))
    p = expit(rows @ [1.5, -1.0] - 3.0)
    y = (rng.random(12000) < p).astype(int)
    model = NAGClassifier(class_weight={1: 9.0}, **SURE).partial_fit(rows[:3000], y[:3000], classes=[0, 1])
    model.set_params(class_weight=None).partial_fit(rows[3000:6000], y[3000:6000])
    assert log_loss(y[6000:], model.predict_proba(rows[6000:])) < log_loss(y[6000:], p[6000:]) + 0.02
    assert not learnt(y=BINARY, **SURE)._evidence.table[0, 1:].any()  # without class weights, there are no offsets


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
    clf = learnt(loss, y, class_weight={1: 9.0}, **SURE)
    np.testing.assert_allclose(clf.to_sklearn().predict_proba(X), clf.predict_proba(X), atol=1e-12)


def test_what_scikit_learn_has_not():
    with pytest.raises(ValueError, match="no linear model of scikit-learn has the probabilities"):
        learnt(multi_class="ovr", **SURE).to_sklearn()


@pytest.mark.parametrize("options", [{"loss": "hinge"}, {}, {"multi_class": "ovr"}, {"class_weight": "balanced"}])
@pytest.mark.parametrize("y", [Y, BINARY], ids=["ten classes", "two classes"])
def test_onnx(options, y):
    pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    from sklearn_nag.io import to_onnx

    clf = learnt(y=y, **options, **SURE)
    labels, p = runtime.InferenceSession(to_onnx(clf).SerializeToString()).run(None, {"X": X[:50]})
    np.testing.assert_allclose(p, clf.predict_proba(X[:50]), atol=1e-12)
    np.testing.assert_array_equal(labels, clf.predict(X[:50]))


@pytest.mark.parametrize("y", [Y, BINARY], ids=["ten classes", "two classes"])
def test_sets_before_each_row(y):
    """Row by row, `predict_set` returns what `progressive_validation` counts in one pass.

    There is no normalization, because predictions on the way already know the units of their row's features.
    """
    n, coverages, options = 60, [0.5, 0.9], {"loss": "hinge", "normalization": None, **SURE}
    clf = NAGClassifier(**options)
    weight = np.where(np.arange(n) % 7 == 3, 0.0, 1.0)
    held, size = [], []
    for i in range(n):
        if i > 0 and weight[i] > 0:
            sets = clf.predict_set(X[i : i + 1], coverages)[0]
            held.append(sets[np.searchsorted(np.unique(y), y[i])])
            size.append(sets.sum(axis=0))
        clf.partial_fit(X[i : i + 1], y[i : i + 1], classes=np.unique(y), sample_weight=weight[i : i + 1])
    result = progressive_validation(
        NAGClassifier(**options), X[:n], y[:n], sample_weight=weight, classes=np.unique(y), coverage=coverages
    )
    for column, unknown in ((0, 2), (1, 10)):  # rows whose sets contain all classes for lack of rows
        told = slice(unknown, None)
        assert result.coverage[column] == pytest.approx(np.array(held)[told, column].mean())
        assert result.width[column] == pytest.approx(np.array(size)[told, column].mean())


def test_sets_hold_in_the_long_run():
    result = progressive_validation(NAGClassifier(**SURE), X, BINARY, coverage=[0.9, 0.99], curve_at=[900])
    assert (result.coverage > [0.89, 0.975]).all()
    assert ((result.width >= 1.0) & (result.width <= 2.0)).all()
    assert result.curve["width"].shape == (1, 2)


def test_displays_of_scikit_learn_take_what_was_predicted():
    result = progressive_validation(NAGClassifier(**SURE), X, BINARY, scoring="neg_log_loss")
    p, y = result.predictions["predict_proba"], result.predictions["y"]
    assert -log_loss(y, p) == pytest.approx(result.score)
    np.testing.assert_array_equal(y, BINARY[1:])
    pytest.importorskip("matplotlib")
    assert 1 < len(CalibrationDisplay.from_predictions(y, p[:, 1]).prob_true) <= 5
