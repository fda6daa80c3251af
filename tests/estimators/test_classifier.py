"""What classifiers share: classes, their weights, and probabilities."""

import copy
import pickle

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine, make_classification

from sklearn_nag import (
    FTRLClassifier,
    HedgeClassifier,
    NAGCellsClassifier,
    NAGClassifier,
    NAGRegressor,
    OnlineBootstrap,
    ScaleInvariantClassifier,
    ScaleInvariantRegressor,
    merge,
)
from sklearn_nag.kernels import learn
from sklearn_nag.model_selection import NAGClassifierCV

from .helpers import X, Y, bits

BALANCED = NAGClassifier(class_weight="balanced", random_state=0)

# -- classes


@pytest.mark.parametrize(
    "classifier", [NAGClassifier(), HedgeClassifier(), OnlineBootstrap(NAGClassifier(), 2), NAGClassifierCV(cv=2)]
)
def test_labels_that_came_as_objects_are_scored(classifier):
    for labels in (Y.astype(object), (Y > 0).astype(object)):
        model = clone(classifier).fit(X, labels)
        assert model.score(X, labels) == model.score(X, labels.astype(type(labels[0]))) > 0.5


def test_classes_are_needed_at_the_first_call():
    model = NAGClassifier()
    with pytest.raises(ValueError, match="classes must be passed on the first call to partial_fit"):
        model.partial_fit(X, Y)
    with pytest.raises(ValueError, match="at least two classes"):
        model.partial_fit(X, Y * 0, classes=[0])
    with pytest.raises(ValueError, match="at least two classes"):
        model.fit(X, Y * 0)
    assert vars(model) == vars(NAGClassifier())


def test_one_against_the_rest_is_what_each_class_is_alone():
    X, y = load_wine(return_X_y=True)
    clf = NAGClassifier(max_iter=4, tol=None, random_state=0, multi_class="ovr").fit(X, y)
    for k in range(3):
        alone = NAGClassifier(max_iter=4, tol=None, random_state=0).fit(X, y == k)
        assert np.array_equal(alone.coef_[0], clf.coef_[k])


def test_one_against_the_rest_is_offered():
    X, y = load_wine(return_X_y=True)
    clf = NAGClassifier(multi_class="ovr", random_state=0).fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1.0)
    with pytest.raises(
        ValueError, match="'multi_class' parameter of NAGClassifier must be one of 'multinomial', 'ovr'"
    ):
        NAGClassifier(multi_class="both").fit(X, y)


def test_classes_learnt_together_stay_together():
    X, y = load_wine(return_X_y=True)
    clf = NAGClassifier().partial_fit(X, y, [0, 1, 2])
    with pytest.raises(ValueError, match="loss was 'log_loss' when this model was new and is 'hinge' now"):
        clf.set_params(loss="hinge").partial_fit(X, y)
    with pytest.raises(ValueError, match="multi_class was 'multinomial' when this model was new and is 'ovr' now"):
        clf.set_params(loss="log_loss", multi_class="ovr").partial_fit(X, y)
    two = NAGClassifier().partial_fit(X, y == 1, [False, True])
    two.set_params(loss="hinge", multi_class="ovr").partial_fit(X, y == 1)


def test_progressive_loss_of_several_classes():
    X, y = load_wine(return_X_y=True)
    clf, log_losses = NAGClassifier(average=False), []
    for i in range(len(y)):
        if i:
            probability = _before(clf, X[i], y[i])
            log_losses.append(-np.log(probability))
        clf.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1, 2] if i == 0 else None)
    total = clf.progressive_loss_ * len(y) - np.log(3)  # nothing is known before the first row
    assert total == pytest.approx(sum(log_losses), rel=1e-9)


def _before(clf, x, k):
    """Probability of class ``k`` once the inputs of the row are known, but not its class."""
    state = clf._state.copy()
    p = np.full((1, 3), np.nan)
    learn(state, clf._loss(), x[None], np.array([k], np.int32), predictions=p)
    return softmax(p[0])[k]


# -- weights of classes


def test_class_weight():
    X, y = make_classification(1000, weights=[0.95], flip_y=0.1, random_state=0)
    plain = NAGClassifier(random_state=0).fit(X, y)
    balanced = NAGClassifier(random_state=0, class_weight="balanced").fit(X, y)
    assert balanced.predict(X).mean() > 2 * plain.predict(X).mean()
    by_dict = NAGClassifier(max_iter=1, shuffle=False, class_weight={0: 0.5, 1: 3}).fit(X, y)
    by_rows = NAGClassifier(max_iter=1, shuffle=False).fit(X, y, sample_weight=np.where(y == 1, 3, 0.5))
    in_parts = NAGClassifier(class_weight={0: 0.5, 1: 3})
    for rows in np.array_split(np.arange(1000), 7):
        in_parts.partial_fit(X[rows], y[rows], classes=[0, 1])
    assert np.array_equal(bits(by_dict), bits(by_rows))
    assert np.array_equal(bits(by_dict), bits(in_parts))


@pytest.mark.parametrize("weight", [-0.1, np.nan, np.inf, "heavy"])
def test_class_weights_that_are_no_weights(weight):
    with pytest.raises(
        ValueError, match="'class_weight' .* finite numbers that are not negative. Got .* for class 1 instead"
    ):
        NAGClassifier(class_weight={0: 1.0, 1: weight}).fit(X, Y)


@pytest.mark.parametrize("classifier", [NAGClassifier(), NAGCellsClassifier(n_trees=2, depth=2)])
def test_weights_of_unknown_classes_are_refused_if_others_have_none(classifier):
    for labels, given, message in [
        (Y, {5: 1.0, 0: 2.0}, r"class_weight has a weight for 5, which is not one of classes \[0 1\], and none for 1:"),
        (np.array(["a", "b"])[Y], {0: 2.0}, "weight for 0, which is not one of classes .'a' 'b'., and none for 'a':"),
    ]:
        model = clone(classifier).set_params(class_weight=given)
        with pytest.raises(ValueError, match=message):
            model.fit(X, labels)
        with pytest.raises(ValueError, match=message):
            model.partial_fit(X, labels, classes=np.unique(labels))
        assert not model.__sklearn_is_fitted__()
    with_more = NAGClassifier(class_weight={5: 7.0, 1: 2.0, 0: 0.5}).partial_fit(X, Y, classes=[0, 1])
    expected = NAGClassifier(class_weight={0: 0.5, 1: 2.0}).partial_fit(X, Y, classes=[0, 1])
    assert np.array_equal(bits(with_more), bits(expected))


@pytest.mark.parametrize(
    ("make", "options", "loss"),
    [
        (NAGClassifier, {}, "squared_error"),
        (NAGClassifier, {}, "huber"),
        (NAGClassifier, {}, "epsilon_insensitive"),
        (NAGClassifier, {}, "squared_epsilon_insensitive"),
        (NAGClassifier, {"eta0": "auto"}, "squared_error"),
        (NAGClassifier, {"eta0": "auto"}, "epsilon_insensitive"),
        (ScaleInvariantClassifier, {}, "squared_error"),
        (ScaleInvariantClassifier, {}, "epsilon_insensitive"),
        (ScaleInvariantClassifier, {"invariance": "full"}, "squared_error"),
        (ScaleInvariantClassifier, {"invariance": "full"}, "epsilon_insensitive"),
    ],
)
def test_regression_losses_are_those_of_targets_of_1(loss, make, options):
    """A regression loss for two classes is the regressor for -1 and 1, without the target's origin and unit."""
    X, y = (rows[:150] for rows in load_breast_cancer(return_X_y=True))
    clf = make(loss, epsilon=0.3, **options).partial_fit(X, y, classes=[0, 1])
    twin = NAGRegressor if make is NAGClassifier else ScaleInvariantRegressor
    if "invariance" in options:
        options = {**options, "update": "potential"}
    reg = twin(loss, epsilon=0.3, target_normalization=None, clip=None, **options).partial_fit(X, 2.0 * y - 1)
    np.testing.assert_allclose(clf.decision_function(X), reg.predict(X), rtol=1e-9, atol=1e-12)
    assert not hasattr(clf, "predict_proba")
    X, y = load_wine(return_X_y=True)
    assert make(loss, max_iter=5, random_state=0, **options).fit(X, y).score(X, y) > 0.9


# -- probabilities


@pytest.mark.parametrize("loss", ["log_loss", "modified_huber"])
@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_probabilities(load, loss):
    X, y = load(return_X_y=True)
    clf = NAGClassifier(loss, random_state=0).fit(X, y)
    probability = clf.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    assert (probability >= 0).all()
    if loss == "log_loss":
        assert np.array_equal(clf.classes_[probability.argmax(axis=1)], clf.predict(X))
        np.testing.assert_allclose(clf.predict_log_proba(X), np.log(probability))


def test_probabilities_where_no_class_is_likely():
    clf = NAGClassifier("modified_huber", max_iter=1).fit(np.eye(3), [0, 1, 2])
    far = -1e6 * np.sign(clf.coef_.sum(axis=0, keepdims=True))
    if (clf.decision_function(far) <= -1).all():
        np.testing.assert_allclose(clf.predict_proba(far), 1 / 3)
    assert np.isfinite(clf.predict_proba(far)).all()


def test_losses_without_probabilities_say_what_has_them():
    X, y = load_wine(return_X_y=True)
    clf = NAGClassifier("hinge").fit(X, y)
    assert not hasattr(clf, "predict_proba")
    with pytest.raises(AttributeError, match="has no attribute 'predict_proba'") as error:
        clf.predict_proba(X)
    assert "CalibratedClassifierCV" in str(error.value.__cause__)


@pytest.mark.parametrize("weighted", [False, True])
def test_classes_of_a_stream_are_balanced_by_the_rows_so_far(weighted, rng):
    """The bits are those of rows weighted by hand, by the classes so far, however the stream is cut or saved."""
    X, y = rng.normal(size=(200, 3)), np.minimum(rng.integers(0, 9, 200), 2)
    weight = rng.integers(0, 3, 200) * rng.random(200) if weighted else None
    counts, factors = np.zeros(3), []
    for i, k in enumerate(y):
        counts[k] += 1.0 if weight is None else weight[i]
        factors.append(counts.sum() / max(np.count_nonzero(counts) * counts[k], 1e-9))
    by_hand = NAGClassifier().partial_fit(X, y, range(3), np.array(factors) * (1.0 if weight is None else weight))
    whole = NAGClassifier(class_weight="balanced").partial_fit(X, y, range(3), weight)
    parts = NAGClassifier(class_weight="balanced")
    for rows in np.split(np.arange(200), [1, 2, 90]):
        part = None if weight is None else weight[rows]
        parts = pickle.loads(pickle.dumps(parts.partial_fit(X[rows], y[rows], range(3), part)))
    assert np.array_equal(bits(whole), bits(by_hand))
    assert np.array_equal(bits(parts), bits(by_hand))
    with pytest.raises(ValueError, match="y contains 7"):
        parts.partial_fit(X[:2], [0, 7])
    assert np.array_equal(parts._class_counts, counts)


def test_counts_of_classes_go_on_and_are_merged(rng):
    X, y = rng.normal(size=(90, 3)), np.arange(90) % 3 % 2
    fitted = NAGClassifier(class_weight="balanced", max_iter=3, tol=None).fit(X, y)
    assert fitted._class_counts.tolist() == [60, 30]
    base = NAGClassifier(class_weight="balanced").partial_fit(X[:30], y[:30], [0, 1])
    models = [copy.deepcopy(base).partial_fit(X[i : i + 30], y[i : i + 30]) for i in (30, 60)]
    assert merge(models, base)._class_counts.tolist() == [60, 30]
    fitted._class_counts = np.array([1.0, np.nan])
    with pytest.raises(ValueError, match="it has no counts of its classes"):
        pickle.loads(pickle.dumps(fitted))


def test_rows_of_weight_0_are_no_rows_of_their_class(rng):
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] + rng.normal(size=200) > 1).astype(int)
    weight = np.where(y == 1, 1.0, rng.integers(0, 2, 200))
    rows = weight > 0
    model = NAGClassifier(class_weight="balanced", shuffle=False)
    with_zeros = clone(model).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(with_zeros.coef_, clone(model).fit(X[rows], y[rows]).coef_)


@pytest.mark.parametrize("call", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    "model",
    [
        BALANCED,
        FTRLClassifier(class_weight="balanced", random_state=0),
        ScaleInvariantClassifier(class_weight="balanced", random_state=0),
        HedgeClassifier([("balanced", BALANCED)]),
        OnlineBootstrap(BALANCED, 3, random_state=0),
        NAGCellsClassifier(class_weight="balanced", n_trees=3, depth=3, random_state=0),
        NAGClassifierCV(BALANCED, cv=3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_classes_are_balanced_by_weights_as_by_rows_repeated(model, call, rng):
    X = rng.normal(size=(400, 3))
    y = ((X[:, 0] > 0) ^ (rng.random(400) < 0.2)).astype(int)
    weight = np.where(y == 1, 0.5, 5.0)
    repeated = rng.permutation(np.repeat(np.arange(400), (2 * weight).astype(int)))
    options = {} if call == "fit" else {"classes": [0, 1]}
    if hasattr(model, call):
        by_weights = getattr(clone(model), call)(X, y, sample_weight=weight, **options).predict_proba(X)[:, 1]
        by_rows = getattr(clone(model), call)(X[repeated], y[repeated], **options).predict_proba(X)[:, 1]
        assert by_weights.mean() == pytest.approx(by_rows.mean(), abs=0.1)


@pytest.mark.parametrize("weighted", [False, True])
def test_balanced_rows_of_fit_weigh_by_the_classes_that_came(weighted, rng):
    X, y = rng.normal(size=(300, 3)), np.minimum(rng.integers(0, 9, 300), 2)
    weight = rng.integers(0, 3, 300) * 1e-3 * rng.random(300) if weighted else np.ones(300)
    totals = np.bincount(y, weight)
    model = NAGClassifier(class_weight="balanced", shuffle=False, max_iter=2, tol=None)
    of_rows = (totals.sum() / (3 * totals))[y] * weight
    by_hand = clone(model).set_params(class_weight=None).fit(X, y, sample_weight=of_rows)
    fitted = model.fit(X, y, sample_weight=weight if weighted else None)
    np.testing.assert_allclose(fitted.coef_, by_hand.coef_, rtol=1e-9)
    assert fitted.t_ == pytest.approx(2 * weight.sum())


@pytest.mark.parametrize("n_classes", [2, 3])
def test_constant_predictions_are_judged_by_weighted_rows(n_classes, rng):
    X, y, weight = rng.normal(size=(60, 3)), np.arange(60) % n_classes, rng.uniform(0, 2, 60) * (1 + np.arange(60) % 2)
    clf = NAGClassifier().partial_fit(X, y, classes=range(n_classes))
    shares = np.bincount(y, weight) / weight.sum()
    assert clf._constant_loss(y, weight, None) == pytest.approx(-(shares * np.log(shares)).sum(), rel=1e-6)


def test_classes_that_are_named_and_do_not_come_change_no_weight(rng):
    X, y = rng.normal(size=(2000, 3)), rng.integers(0, 9, 2000) // 8
    few, many = (clone(BALANCED).partial_fit(X, y, classes=range(n)) for n in (2, 200))
    assert few.t_ == many.t_ == pytest.approx(2000, rel=0.02)


def test_weights_of_classes_are_theirs_whichever_a_batch_has(rng):
    X, y = rng.normal(size=(60, 3)), np.repeat(["a", "b", "c"], 20)
    whole, parts = (NAGClassifier(class_weight={"b": 5.0, "c": 0.5}) for _ in range(2))
    whole.partial_fit(X, y, classes=["a", "b", "c"])
    for rows in np.split(np.arange(60), [10, 30, 45]):
        parts.partial_fit(X[rows], y[rows], classes=["a", "b", "c"])
    np.testing.assert_array_equal(parts.coef_, whole.coef_)
    weight = np.repeat([1.0, 5.0, 0.5], 20)
    by_hand = NAGClassifier().partial_fit(X, y, classes=["a", "b", "c"], sample_weight=weight)
    np.testing.assert_array_equal(by_hand.coef_, whole.coef_)


def test_balanced_classes_need_not_all_come_again(rng):
    X, y = rng.normal(size=(90, 3)), np.arange(90) % 3
    model = NAGClassifier(class_weight="balanced", warm_start=True, random_state=0).fit(X, y)
    two = y < 2
    weights = {0: 1.0, 1: 1.0, 2: 1.0}  # because both have 30 rows
    expected = clone(model).set_params(class_weight=weights).fit(X, y).fit(X[two], y[two])
    np.testing.assert_array_equal(model.fit(X[two], y[two]).coef_, expected.coef_)


def test_counts_of_classes_begin_anew_with_fit(rng):
    X, y = rng.normal(size=(60, 3)), (np.arange(60) % 4 == 0).astype(int)
    model = clone(BALANCED)
    for targets in (y, 1 - y):
        model.fit(X, targets)
    model.partial_fit(X[:10], y[:10])
    once = clone(BALANCED).fit(X, 1 - y).partial_fit(X[:10], y[:10])
    np.testing.assert_array_equal(model.coef_, once.coef_)


@pytest.mark.filterwarnings("error")
def test_probabilities_of_the_farthest_rows_are_given_without_a_warning(rng):
    X = rng.normal(size=(300, 1))
    clf = NAGClassifier().partial_fit(X, np.digitize(X[:, 0], [-0.5, 0.5]), classes=[0, 1, 2])
    np.testing.assert_array_equal(clf.predict_proba([[1.7e308], [-1.7e308]]), [[0, 0, 1], [1, 0, 0]])


def test_rows_without_weight_do_not_balance_rows_to_come(rng):
    X, y = rng.normal(size=(150, 3)), rng.integers(0, 2, 150)
    spoilt, weight = np.r_[np.ones(50, int), y[50:]], np.r_[np.zeros(50), np.ones(100)]
    model = NAGClassifier(class_weight="balanced", shuffle=False)
    with_them = clone(model).fit(X, spoilt, sample_weight=weight).partial_fit(X, y)
    without = clone(model).fit(X[50:], y[50:]).partial_fit(X, y)
    assert np.array_equal(with_them.coef_, without.coef_)
