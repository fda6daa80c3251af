"""Classifiers whose targets are no single classes: probabilities of classes, and several labels at once."""

import copy
import enum
import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import cross_val_score
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, MultiOutputRegressor, RegressorChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from sklearn_nag import (
    FTRLClassifier,
    FTRLRegressor,
    HedgeClassifier,
    NAGCellsClassifier,
    NAGClassifier,
    NAGRegressor,
    OnlineBootstrap,
    ScaleInvariantClassifier,
    ScaleInvariantRegressor,
    config_context,
    merge,
)
from sklearn_nag.distributed import shard_fit
from sklearn_nag.io import to_onnx
from sklearn_nag.losses import soft_move
from sklearn_nag.model_selection import (
    CoefficientsDisplay,
    NAGClassifierCV,
    ProgressiveSearch,
    eta_sweep,
    progressive_validation,
)
from sklearn_nag.regret import record

from ..kernels.helpers import KERNELS, needs_numba
from .helpers import bits

CLASSIFIERS = [NAGClassifier, FTRLClassifier, ScaleInvariantClassifier]
REGRESSORS = [NAGRegressor, FTRLRegressor, ScaleInvariantRegressor]
X, LABELS = make_multilabel_classification(120, 6, n_classes=3, random_state=0)
RNG = np.random.default_rng(0)
SHARES = RNG.dirichlet(np.ones(3), len(X))
PLAIN = {"normalization": None, "adaptive": False, "centering": False, "average": False}

# -- probabilities


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_probabilities_of_zero_and_one_are_classes(classifier, kernel):
    with config_context(kernel=kernel):
        for n in (2, 3):
            classes = np.arange(n)
            codes = RNG.integers(0, n, len(X))
            one = classifier().partial_fit(X, codes, classes)
            other = classifier().partial_fit(X, np.eye(n)[codes], classes)
            assert np.array_equal(bits(one), bits(other))
            assert one.progressive_loss_ == other.progressive_loss_


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_a_share_is_the_probability_of_class_1(classifier):
    share = SHARES[:, 0]
    both = np.column_stack([1.0 - share, share])
    one = classifier().partial_fit(X, share, [0, 1])
    np.testing.assert_allclose(one.coef_, classifier().partial_fit(X, both, [0, 1]).coef_, rtol=1e-9)
    assert np.array_equal(classifier(max_iter=1).fit(X, share).classes_, [0, 1])
    named = classifier().partial_fit(X, both, ["no", "yes"])
    assert set(named.predict(X)) <= {"no", "yes"}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_no_cut_of_a_stream_changes_what_is_learnt(classifier, kernel):
    """No cut changes what is learnt, even if rows have classes, shares, and shares that are 0 or 1, in turn."""
    share = np.where(np.arange(len(X)) % 3 == 0, np.round(SHARES[:, 0]), SHARES[:, 0])
    with config_context(kernel=kernel):
        for y, classes in ((share, [0, 1]), (SHARES, [0, 1, 2]), (LABELS, None)):
            whole, cut = classifier().partial_fit(X, y, classes), classifier()
            for start, stop in ((0, 1), (1, 2), (2, 3), (3, 50), (50, 120)):
                if start:
                    cut = pickle.loads(pickle.dumps(cut))
                cut.partial_fit(X[start:stop], y[start:stop], classes)
            assert np.array_equal(bits(whole), bits(cut))


@needs_numba
@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_kernels_agree(classifier):
    for y, classes in ((SHARES, [0, 1, 2]), (SHARES[:, 0], [0, 1]), (LABELS, None)):
        found = []
        for kernel in ("numpy", "numba"):
            with config_context(kernel=kernel):
                found.append(classifier().partial_fit(X, y, classes))
        np.testing.assert_allclose(found[0].decision_function(X), found[1].decision_function(X), rtol=1e-8, atol=1e-9)
        assert found[0].progressive_loss_ == pytest.approx(found[1].progressive_loss_, rel=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_explicit_step_is_the_sum_of_those_of_rows_weighted_by_class(n_classes):
    """For plain gradient descent from the same weights, a soft label's step is the sum of the classes' steps."""
    shares = SHARES[:9, :n_classes] / SHARES[:9, :n_classes].sum(axis=1, keepdims=True)
    begun = NAGClassifier(eta0=0.1, importance_aware=False, **PLAIN)
    begun.partial_fit(X[1:9], shares[1:], np.arange(n_classes))
    step = 0.0
    for k, share in enumerate(shares[0]):
        step += copy.deepcopy(begun).partial_fit(X[:1], [k], sample_weight=[share]).coef_ - begun.coef_
    soft = copy.deepcopy(begun).partial_fit(X[:1], shares[:1])
    np.testing.assert_allclose(soft.coef_ - begun.coef_, step, rtol=1e-9)


@pytest.mark.parametrize("share", [0.1, 0.8])
def test_careful_step_is_the_limit_of_rows_weighted_by_class(share):
    """The step is the limit of rows of both classes in turn, whose weights are cut into ever smaller parts."""
    x, n = np.array([[1.0, -2.0]]), 400
    options = {"eta0": 0.5, "fit_intercept": False, **PLAIN}
    soft = NAGClassifier(**options).partial_fit(x, [share], [0, 1], [3.0])
    errors = []
    for parts in (n, 2 * n):
        weights = np.tile([share, 1.0 - share], parts) * 3.0 / parts
        hard = NAGClassifier(**options).partial_fit(np.tile(x, (2 * parts, 1)), np.tile([1, 0], parts), [0, 1], weights)
        errors.append(np.abs(hard.coef_ - soft.coef_).max())
    assert errors[0] < 3e-3
    assert errors[1] == pytest.approx(errors[0] / 2, rel=0.05)
    moved = soft_move(0.0, 2 * share - 1, 0.5 * 3.0 * (x @ x.T).item())
    assert soft.decision_function(x)[0] == pytest.approx(moved, rel=1e-12)


def test_careful_step_never_passes_the_share():
    for weight in (1.0, 1e10, 1e100):
        clf = NAGClassifier(eta0=1e3, average=False, fit_intercept=False)
        clf.partial_fit([[1.0], [1.0]], [[0.7, 0.3]] * 2, [0, 1], [1.0, weight])
        assert clf.predict_proba([[1.0]])[0, 1] == pytest.approx(0.3, rel=1e-9)


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize("kernel", KERNELS)
def test_no_row_of_a_softmax_makes_its_own_loss_larger(kernel, adaptive):
    """All heads step together, each as far as it would by itself; of three rivals, of which two are alike, two are."""
    clf = NAGClassifier(eta0=16.0, average=False, adaptive=adaptive)
    with config_context(kernel=kernel):
        clf.partial_fit(X[:3], SHARES[:3], [0, 1, 2])
        for x, share in zip(X[3:60, None], SHARES[3:60]):
            before = -share @ np.log(clf.predict_proba(x)[0])
            clf.partial_fit(x, [share], sample_weight=[5.0])
            assert -share @ np.log(clf.predict_proba(x)[0]) < before + 1e-12
        clf = NAGClassifier(eta0=1e3, average=False, adaptive=adaptive, fit_intercept=False)
        for share in ([0.998, 0.001, 0.001], [0.5, 0.25, 0.25]):
            clf.partial_fit([[1.0]], [share], [0, 1, 2], [1e6])
            np.testing.assert_allclose(clf.predict_proba([[1.0]])[0], share, rtol=1e-9)


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_fit_finds_what_is_best_for_rows_weighted_by_class(classifier):
    p = expit(0.3 * (X[:, :1] - X[:, 1:2]) - 0.5)
    shares = np.hstack([1 - p, p])
    best = LogisticRegression(C=np.inf).fit(np.vstack([X, X]), np.repeat([0, 1], len(X)), shares.T.ravel())
    np.testing.assert_allclose(best.predict_proba(X), shares, atol=1e-3)
    clf = classifier(early_stopping=False, max_iter=6, tol=None, random_state=0).fit(X, shares)
    assert np.abs(clf.predict_proba(X) - shares).max() < 0.1
    assert clf.progressive_loss_ < 1.05 * -np.mean((shares * np.log(shares)).sum(axis=1))


def test_softmax_of_probabilities_has_their_loss():
    clf = NAGClassifier(average=False)
    first = clf.partial_fit(X[:1], SHARES[:1], [0, 1, 2]).progressive_loss_
    assert first == pytest.approx(np.log(3.0))  # of any probabilities, if all are predicted alike
    clf = NAGClassifier(random_state=0).fit(X * 0.0, SHARES)
    np.testing.assert_allclose(clf.predict_proba(X[:1])[0], SHARES.mean(axis=0), atol=0.02)


@pytest.mark.parametrize(
    ("options", "y", "classes", "message"),
    [
        ({"loss": "hinge"}, SHARES, [0, 1, 2], "which only loss='log_loss' accepts; loss is 'hinge'"),
        ({"loss": "modified_huber"}, SHARES[:, 0], [0, 1], "only loss='log_loss' accepts"),
        ({"class_weight": "balanced"}, SHARES, [0, 1, 2], "class_weight is 'balanced', which needs one class per row"),
        (
            {"calibration": "progressive"},
            SHARES,
            [0, 1, 2],
            "calibration is 'progressive', which needs one class per row",
        ),
        ({}, SHARES, None, "classes must be passed on the first call"),
        ({}, SHARES[:, 0], None, "classes must be passed on the first call"),
        ({}, SHARES, [0, 1], r"y has shape \(120, 3\); probabilities of 2 classes need 2 columns"),
        ({"loss": "hinge"}, LABELS, [1, 2], r"y has shape \(120, 3\); probabilities of 2 classes need 2 columns"),
        ({}, SHARES * 0.9, [0, 1, 2], "row 0 of y adds up to 0.9"),
        ({}, SHARES - 1.0, [0, 1, 2], "y has -0.6.* in row 0, column 0"),
        ({}, 2 * LABELS, None, "y has 2.0 in row 0, column [012]; several labels must be zeros"),
        ({}, sparse.csr_array(2 * LABELS), None, "y has 2.0 in row 0, column [012]; several labels must be zeros"),
        ({}, SHARES * 0.9, None, "row 0 of y adds up to 0.9"),
        ({}, SHARES.astype(str), [0, 1, 2], "values that are not numbers"),
        ({}, np.where(SHARES > 0.9, np.nan, SHARES), [0, 1, 2], "y has a missing label, nan, in row"),
        ({}, SHARES[:, 0], [0, 2], r"probabilities of class 1 against class 0, but the classes are \[0 2\]"),
        ({}, SHARES[:, 0], ["a", "b"], "probabilities of class 1 against class 0"),
        ({}, 2.0 * SHARES[:, 0], [0, 1], "Unknown label type: continuous"),
        ({}, LABELS, [0, 1, 2], r"partial_fit begins a model of several labels with classes=\[\[0, 1\]\] \* 3"),
    ],
)
def test_probabilities_that_cannot_be(options, y, classes, message):
    clf = NAGClassifier(**options)
    with pytest.raises(ValueError, match=message):
        clf.partial_fit(X, y, classes)
    assert vars(clf) == vars(NAGClassifier(**options))


def test_early_stopping_has_no_score_of_probabilities():
    with pytest.raises(ValueError, match="early_stopping=True has no score"):
        NAGClassifier(early_stopping=True).fit(X, SHARES)
    wide = RNG.normal(size=(250, 60))
    clf = NAGClassifier(random_state=0).fit(wide, expit(wide[:, 0]))
    assert len(clf.validation_losses_) > 0


# -- several labels


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_each_label_is_learnt_as_alone(classifier, kernel):
    with config_context(kernel=kernel):
        clf = classifier().partial_fit(X, LABELS)
        for k in range(3):
            alone = classifier().partial_fit(X, LABELS[:, k], [0, 1])
            assert np.array_equal(alone.coef_[0], clf.coef_[k])
            np.testing.assert_allclose(clf.predict_proba(X)[:, k], alone.predict_proba(X)[:, 1], rtol=1e-12)
            assert np.array_equal(clf.predict(X)[:, k], alone.predict(X))
    assert clf.classes_.tolist() == [[0, 1]] * 3
    assert clf.decision_function(X).shape == clf.predict_log_proba(X).shape == LABELS.shape
    assert clf.score(X, LABELS) == accuracy_score(LABELS, clf.predict(X)) > 0.3
    assert get_tags(clf).classifier_tags.multi_label
    for option in ({"class_weight": "balanced"}, {"calibration": "progressive"}):  # these refuse several labels
        assert not get_tags(classifier(**option)).classifier_tags.multi_label


def test_labels_of_any_kind():
    expected = bits(NAGClassifier().partial_fit(X, LABELS))
    for y in (sparse.csr_array(LABELS), sparse.csc_matrix(LABELS), LABELS.tolist(), LABELS > 0, LABELS.astype("f4")):
        assert np.array_equal(bits(NAGClassifier().partial_fit(X, y)), expected)
    for classes in ([[0, 1]] * 3, [np.array([0, 1])] * 3):
        clf = NAGClassifier().partial_fit(X[:1], LABELS[:1], classes)
        assert np.array_equal(bits(clf.partial_fit(X[1:], sparse.csr_array(LABELS[1:]), classes)), expected)


def test_labels_on_the_way_through_everything():
    options = {"max_iter": 3, "random_state": 0}
    clf = NAGClassifier(**options).fit(X, LABELS)
    chances = NAGClassifier(**options).fit(X, sparse.csr_array(LABELS))
    assert np.array_equal(clf.coef_, chances.coef_)
    assert NAGClassifier(early_stopping=True, **options).fit(X, LABELS).score(X, LABELS) > 0.4
    assert NAGClassifier("hinge", **options).fit(X, LABELS).score(X, LABELS) > 0.4
    assert NAGClassifier("modified_huber", **options).fit(X, LABELS).predict_proba(X).max() <= 1.0
    assert NAGClassifier(eta0="auto").partial_fit(X, LABELS).eta0_weights_.shape == (3, 5)
    assert NAGClassifier(half_life=30).partial_fit(X, LABELS).score(X, LABELS) > 0.4
    assert NAGClassifier(half_life="auto").partial_fit(X, LABELS).half_life_.shape == (3, 6)
    shares = clf.partial_fit(X, 0.5 * LABELS).predict_proba(X)  # probabilities of each label
    assert shares.shape == LABELS.shape
    halves = [NAGClassifier().partial_fit(X[i::2], LABELS[i::2]) for i in range(2)]
    assert merge(halves).score(X, LABELS) > 0.4
    assert shard_fit(NAGClassifier(), X, LABELS, n_shards=2).score(X, LABELS) > 0.4
    table = clf.coefficients(as_frame=False)
    assert table.label.tolist() == np.repeat(range(3), 6).tolist()
    assert "<th>labels</th><td>0, 1, 2</td>" in clf._repr_html_()
    assert clf.contributions(X).shape == (3, 120, 7)
    copied = NAGClassifier().partial_fit(X, LABELS).set_coef(clf.coef_, clf.intercept_)
    np.testing.assert_allclose(copied.decision_function(X), clf.decision_function(X), atol=1e-9)


def test_labels_in_metrics_and_progressive_validation():
    for scoring in ("f1_micro", "roc_auc"):
        assert np.isfinite(cross_val_score(NAGClassifier(max_iter=1), X, LABELS[:, :2], scoring=scoring, cv=2)).all()
    result = progressive_validation(NAGClassifier(), X, LABELS, scoring=["accuracy", "f1_macro", "roc_auc"])
    clf, predicted = NAGClassifier(), []
    for i in range(0, len(X), 10):
        predicted.append(clf._respond("predict", clf._play(X[i : i + 10], LABELS[i : i + 10])))
    predicted = np.vstack(predicted)
    assert result.score["accuracy"] == pytest.approx(accuracy_score(LABELS[1:], predicted[1:]))
    assert result.score["f1_macro"] == pytest.approx(f1_score(LABELS[1:], predicted[1:], average="macro"))
    assert progressive_validation(NAGClassifier(), X, sparse.csr_array(LABELS)).score == result.score["accuracy"]
    sweep = eta_sweep(NAGClassifier(), X, LABELS, [0.1, 1.0])
    assert sweep.errors[1] == pytest.approx(1.0 - result.score["accuracy"])
    pytest.importorskip("matplotlib")
    assert len(CoefficientsDisplay.from_estimator(result.estimator).targets) == 3


@pytest.mark.parametrize(
    ("options", "y", "classes", "message"),
    [
        ({"class_weight": {1: 2.0}}, LABELS, None, "y has several labels"),
        ({"calibration": "progressive"}, LABELS, None, "y has several labels"),
        ({"loss": "hinge"}, 0.5 * LABELS, [[0, 1]] * 3, "only loss='log_loss' accepts"),
        ({}, LABELS * 2, [[0, 1]] * 3, "y has 2.0 in row .*; a label is 0 or 1"),
        ({}, LABELS, [[0, 1]] * 4, r"y has shape \(120, 3\); this model was made for 4 labels"),
        ({}, LABELS[:, 0], [[0, 1]] * 3, r"y has shape \(120,\); this model was made for 3 labels"),
        ({}, LABELS, [[0, 1, 2]] * 3, r"classes of several labels are \[0, 1\] for each"),
        ({}, LABELS, [["n", "y"]] * 3, r"classes of several labels are \[0, 1\] for each"),
    ],
)
def test_labels_that_cannot_be(options, y, classes, message):
    clf = NAGClassifier(**options)
    with pytest.raises(ValueError, match=message):
        clf.partial_fit(X, y, classes)
    assert vars(clf) == vars(NAGClassifier(**options))


def test_what_a_model_was_begun_with_decides():
    labels = NAGClassifier().partial_fit(X, np.eye(3)[RNG.integers(0, 3, len(X))])
    classes = NAGClassifier().partial_fit(X, SHARES, [0, 1, 2])
    with pytest.raises(ValueError, match="this model was made for 3 labels"):
        labels.partial_fit(X, np.zeros(len(X), int))
    with pytest.raises(ValueError, match="but was"):
        labels.partial_fit(X, LABELS, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="adds up to"):
        classes.partial_fit(X, LABELS)
    with pytest.raises(ValueError, match="classes_ is"):
        merge([labels, classes])
    assert NAGClassifier(max_iter=1).fit(X, LABELS).fit(X, SHARES).classes_.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="values that are not numbers"):
        NAGClassifier().fit(X, LABELS.astype(str))
    with pytest.raises(ValueError, match="several labels must be zeros and ones, and class probabilities must"):
        NAGClassifier().fit(X, 2 * LABELS)
    damaged = pickle.dumps(labels)
    labels.classes_ = np.array([[0, 1], [0, 2], [0, 1]])
    with pytest.raises(ValueError, match="classes_ of several labels are not 0 and 1"):
        pickle.loads(pickle.dumps(labels))
    pickle.loads(damaged)


def test_what_takes_one_class_a_row_says_so():
    clf = NAGClassifier()
    for learner in (
        HedgeClassifier([("a", clf)]),
        NAGClassifierCV(clf, [1.0]),
        OnlineBootstrap(clf),
        ProgressiveSearch(clf, {"eta0": [1.0]}),
    ):
        for y in (LABELS, SHARES, SHARES[:, 0]):
            with pytest.raises(ValueError, match=f"{type(learner).__name__} takes one class per row"):
                learner.fit(X, y)
    with pytest.raises(ValueError, match="a score takes one class per row"):
        progressive_validation(clf, X, SHARES)
    with pytest.raises(ValueError, match="eta_sweep takes one class per row"):
        eta_sweep(clf, X, SHARES[:, 0], [1.0])
    with pytest.raises(ValueError, match="no linear model of scikit-learn has several labels"):
        clf.partial_fit(X, LABELS).to_sklearn()
    pytest.importorskip("skl2onnx")
    with pytest.raises(ValueError, match="to_onnx cannot export a classifier of several labels"):
        to_onnx(clf)


# -- estimators of scikit-learn for several targets


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_classifiers_within_those_of_scikit_learn(classifier):
    learner = classifier(max_iter=2, random_state=0)
    each = MultiOutputClassifier(learner).partial_fit(X, LABELS, classes=[[0, 1]] * 3)
    assert np.array_equal(each.predict(X), classifier().partial_fit(X, LABELS).predict(X))
    assert MultiOutputClassifier(learner).fit(X, LABELS).score(X, LABELS) > 0.4
    assert ClassifierChain(learner).fit(X, LABELS).score(X, LABELS) > 0.4


@pytest.mark.parametrize("regressor", REGRESSORS)
def test_regressors_within_those_of_scikit_learn(regressor):
    learner, Y = regressor(max_iter=2, random_state=0), X[:, :2] @ [[1.0, 2.0], [3.0, -1.0]]
    each = MultiOutputRegressor(learner)
    each.partial_fit(X, Y)
    np.testing.assert_allclose(each.predict(X), regressor().partial_fit(X, Y).predict(X), rtol=1e-9)
    assert MultiOutputRegressor(learner).fit(X, Y).score(X, Y) > 0.5
    assert RegressorChain(learner).fit(X, Y).score(X, Y) > 0.5


def test_move_of_a_share_at_its_least_loss():
    assert soft_move(logit(0.25), -0.5, 1e9) == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("learner", [NAGClassifier, HedgeClassifier, NAGCellsClassifier])
def test_labels_are_checked_whatever_their_rows_weigh(learner, rng):
    X, y = rng.normal(size=(60, 2)), np.tile([0, 1, 2], 20)
    clf = learner().partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="y contains 9, which is not one of classes"):
        clf.partial_fit(X[:2], [0, 9], sample_weight=[1.0, 0.0])
    days = np.datetime64("2024-01-01") + y
    with pytest.raises(ValueError, match=r"y must be whole numbers, booleans or words; it holds datetime64\[D\]"):
        learner().fit(X, days)
    with pytest.raises(ValueError, match="classes must be whole numbers, booleans or words"):
        learner().partial_fit(X, days, classes=np.unique(days))


@pytest.mark.parametrize(
    "learner",
    [
        NAGClassifier(),
        HedgeClassifier(),
        NAGCellsClassifier(n_trees=4, max_iter=1),
        OnlineBootstrap(NAGClassifier(), 2),
    ],
)
def test_words_that_come_as_objects_are_no_objects(learner):
    words = np.array(["no", "yes"])[LABELS[:, 0]]
    for model in (learner, ProgressiveSearch(learner)):
        for found in (
            clone(model).fit(X, words.astype(object)),
            clone(model).partial_fit(X, words.astype(object), classes=np.array(["yes", "no"], dtype=object)),
            clone(model).fit(X, words),
        ):
            assert found.classes_.dtype == found.predict(X).dtype == words.dtype
            assert np.array_equal(found.classes_, ["no", "yes"])


def test_labels_that_come_as_objects_or_floats_are_labels():
    clf = NAGClassifier().partial_fit(X, LABELS)
    np.testing.assert_array_equal(NAGClassifier().partial_fit(X, LABELS.astype(object)).coef_, clf.coef_)
    floats = NAGClassifier(max_iter=1, shuffle=False).fit(X, LABELS[:, 0].astype(float))
    assert floats.classes_.dtype == floats.predict(X[:2]).dtype == float  # not shares of the class 1
    np.testing.assert_array_equal(floats.coef_, NAGClassifier(max_iter=1, shuffle=False).fit(X, LABELS[:, 0]).coef_)


def test_words_that_numpy_has_not_stay_objects():
    kind = enum.Enum("kind", {"NO": "no", "YES": "yes"}, type=str)
    for no, yes in (kind, ("a", "a\0")):
        words = np.array([no, yes], dtype=object)[LABELS[:, 0]]
        assert set(NAGClassifier().fit(X, words).predict(X)) == {no, yes}


def test_labels_of_which_numpy_makes_one_word_are_refused():
    """Lists of labels are refused if NumPy would cut their names, or leave out what is at their end."""
    kind = enum.Enum("kind", {"NO": "a", "YES": "b"}, type=str)
    for no, yes in (kind, ("a", "a\0")):
        labels = [(no, yes)[label] for label in LABELS[:, 0]]
        for learner in (NAGClassifier(), HedgeClassifier()):
            with pytest.raises(ValueError, match="classes has labels that NumPy converts to the same word, such as"):
                learner.partial_fit(X, labels, [yes, no])
            with pytest.raises(ValueError, match="y has labels that NumPy converts to the same word, such as"):
                learner.fit(X, labels)


def test_models_saved_with_objects_for_classes_go_on():
    words = np.array(["no", "yes"])[LABELS[:, 0]].astype(object)
    for model in (NAGClassifier(), HedgeClassifier()):
        now = clone(model).partial_fit(X, words, classes=["no", "yes"])
        before = copy.deepcopy(now)
        for one in (before, *(expert.learner for expert in getattr(before, "_experts", []))):
            one.classes_ = one.classes_.astype(object)
        before = pickle.loads(pickle.dumps(before))
        for one in (now, before):
            one.partial_fit(X, words).partial_fit(X, words, classes=["no", "yes"])
        assert np.array_equal(before.predict(X), now.predict(X))
        assert np.array_equal(before.predict_proba(X), now.predict_proba(X))
    assert merge([NAGClassifier().fit(X, words), before._experts[0].learner]).t_ > 0


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (3, "y has labels of a different type from its first one, 'a'"),
        (None, "y has a missing label, None, in row 2: leave such rows out"),
        (np.nan, "y has a missing label, nan, in row 2: leave such rows out"),
    ],
)
@pytest.mark.parametrize(
    "learner",
    [
        NAGClassifier(),
        HedgeClassifier(),
        NAGCellsClassifier(n_trees=4),
        NAGClassifierCV(cv=2),
        ProgressiveSearch(NAGClassifier()),
        ProgressiveSearch(make_pipeline(StandardScaler(), NAGClassifier())),
        OnlineBootstrap(NAGClassifier(), 2),
    ],
)
def test_labels_of_two_kinds_are_refused(learner, other, message):
    labels = np.array(["a", "b", other] * 40, dtype=object)
    with pytest.raises(ValueError, match=message):
        clone(learner).fit(X, labels)
    if hasattr(learner, "partial_fit"):
        with pytest.raises(ValueError, match=message):
            clone(learner).partial_fit(X, labels, classes=["a", "b"])
    for run in (progressive_validation, eta_sweep, shard_fit):
        with pytest.raises(ValueError, match=message):
            run(NAGClassifier(), X, labels)


def test_missing_labels_are_named(rng):
    X, words = rng.normal(size=(6, 2)), ["a", "b"] * 3
    model = NAGClassifier().fit(X, words)
    for labels in ([np.nan, *words[1:]], [None, *words[1:]]):
        with pytest.raises(ValueError, match="y has a missing label, .*, in row 0: leave"):
            NAGClassifier().fit(X, labels)  # from a list, NumPy would make the word "nan"
        with pytest.raises(ValueError, match="y has a missing label, .*, in row 0: leave"):
            model.score(X, np.array(labels, dtype=object))
    of_both = np.array([[0, 1], [1, 0], [1, None]] * 2, dtype=object)
    for run in (NAGClassifier().fit, NAGClassifier().fit(X, of_both[[0, 1] * 3]).score):
        with pytest.raises(ValueError, match="y has a missing label, None, in row 2, column 1: leave"):
            run(X, of_both)


NULLABLE = ["Int64", "UInt64", "boolean", "int64[pyarrow]", "bool[pyarrow]"]
_OF_TABLES = make_pipeline(StandardScaler(), NAGClassifier())
TAKE_LABELS = {
    "NAG": NAGClassifier(),
    "FTRL": FTRLClassifier(),
    "Hedge": HedgeClassifier(),
    "Hedge of pipelines": HedgeClassifier([("a", _OF_TABLES), ("b", NAGClassifier())]),
    "cells": NAGCellsClassifier(n_trees=4),
    "bootstrap": OnlineBootstrap(NAGClassifier(), 2),
    "cv": NAGClassifierCV(NAGClassifier(random_state=0), cv=2),
    "search": ProgressiveSearch(NAGClassifier()),
    "search of pipelines": ProgressiveSearch(_OF_TABLES),
}


def of_pandas(values, dtype):
    """A Series of a nullable dtype."""
    pd = pytest.importorskip("pandas")
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow", exc_type=ImportError)
    return pd.Series(values, dtype=dtype)


@pytest.mark.parametrize(
    ("name", "dtype"), [*(("NAG", dtype) for dtype in NULLABLE), *((name, "Int64") for name in [*TAKE_LABELS][1:])]
)
def test_nullable_labels_are_those_of_numpy(rng, name, dtype):
    X = rng.normal(size=(80, 2))
    keys = np.array([False, True]) if dtype.startswith("bool") else np.array([7, 2**53, 2**53 + 1])
    y = keys[rng.permutation(np.arange(80) % len(keys))]
    labels = of_pandas(y, dtype)
    y = y.astype(np.uint64) if dtype == "UInt64" else y
    learner = clone(TAKE_LABELS[name])
    if "random_state" in learner.get_params():
        learner.set_params(random_state=0)
    plain = clone(learner).fit(X, y)
    for given in (labels, labels.array, labels.to_frame()):
        nullable = clone(learner)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a column is flattened
            nullable.fit(X, given)
        assert nullable.classes_.dtype == y.dtype
        assert np.array_equal(nullable.classes_, keys)
        assert np.array_equal(nullable.predict(X), plain.predict(X))
        if given is labels:
            assert nullable.score(X, given) == nullable.score(X, y)
    if hasattr(learner, "partial_fit"):
        plain, nullable = (clone(learner).partial_fit(X, some, classes=keys) for some in (y.astype(keys.dtype), labels))
        assert np.array_equal(nullable.predict(X), plain.predict(X))
        assert nullable.classes_.dtype == keys.dtype


@pytest.mark.parametrize("dtype", [*NULLABLE, "Float64"])
def test_targets_of_regressors_in_nullable_dtypes(rng, dtype):
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    labels = of_pandas(y.astype(bool) if dtype.startswith("bool") else y, dtype)
    for make in (NAGRegressor, ScaleInvariantRegressor, FTRLRegressor):
        plain, nullable = (make(random_state=0).fit(X, some) for some in (y, labels))
        assert np.array_equal(nullable.predict(X), plain.predict(X))
        with pytest.raises(ValueError, match="y contains NaN"):
            make().fit(X, labels.mask(y == 1))


@pytest.mark.parametrize("run", [progressive_validation, shard_fit, record])
def test_nullable_labels_elsewhere(rng, run):
    X, y = rng.normal(size=(90, 2)), 2**53 + np.arange(90) % 2
    plain, nullable = (run(NAGClassifier(), X, some) for some in (y, of_pandas(y, "Int64")))
    if run is shard_fit:
        assert np.array_equal(nullable.classes_, plain.classes_)
        assert np.array_equal(nullable.coef_, plain.coef_)
    elif run is record:
        assert np.array_equal(nullable.y, plain.y)
    else:
        assert nullable.score == plain.score


def test_signed_and_unsigned_labels_go_together(rng):
    X, codes = rng.normal(size=(90, 2)), np.arange(90) % 3
    signed = np.array([7, 2**53, 2**53 + 1])
    plain, unsigned = (
        NAGClassifier().partial_fit(X, some, classes=signed)
        for some in (signed[codes], signed.astype(np.uint64)[codes])
    )
    assert np.array_equal(unsigned.coef_, plain.coef_)
    for classes, wrong in (([-2, -1], np.uint64(2**64 - 1)), (np.array([5, 2**64 - 1], np.uint64), np.int64(-1))):
        with pytest.raises(ValueError, match=f"y contains {wrong}, which is not one of classes"):
            NAGClassifier().partial_fit(X, np.full(90, wrong), classes=classes)


@pytest.mark.parametrize("kind", ["float64", "float32", "list", *NULLABLE, "Float64", "arrow", "polars"])
@pytest.mark.parametrize("name", TAKE_LABELS)
def test_a_missing_number_is_named_as_a_missing_label(rng, name, kind):
    X, labels = rng.normal(size=(12, 2)), [0, 1, 0, None, 1, 0] * 2
    if kind in ("float64", "float32"):
        labels = np.array(labels, dtype=kind)
    elif kind == "arrow":
        labels = pytest.importorskip("pyarrow", exc_type=ImportError).array(labels)
    elif kind == "polars":
        labels = pytest.importorskip("polars").Series(labels)
    elif kind != "list":
        labels = of_pandas([None if x is None else bool(x) for x in labels] if "bool" in kind else labels, kind)
    learner, fitted = TAKE_LABELS[name], NAGClassifier().fit(X, [0, 1] * 6)
    calls = [lambda: clone(learner).fit(X, labels), lambda: fitted.score(X, labels)]
    if hasattr(learner, "partial_fit"):
        calls.append(lambda: clone(learner).partial_fit(X, labels, classes=[0, 1]))
    for call in calls:
        with pytest.raises(ValueError, match=r"y has a missing label, (nan|<NA>|None), in row 3: leave such rows out"):
            call()


def test_labels_that_come_as_objects_are_scored(rng):
    X = rng.normal(size=(40, 2))
    labels = (X > 0).astype(int)
    model = NAGClassifier().fit(X, labels.astype(object))
    assert model.score(X, labels.astype(object)) == model.score(X, labels) > 0.5
    pandas = pytest.importorskip("pandas")
    for kind in ("boolean", "Int64", object):
        table = pandas.DataFrame(labels).astype(bool if kind == "boolean" else int).astype(kind)
        assert model.score(X, table) == model.score(X, labels)
