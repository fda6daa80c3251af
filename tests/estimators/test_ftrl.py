"""FTRLClassifier and FTRLRegressor: what their parameters mean, and what they promise."""

import copy
import io
import pickle

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from sklearn_nag import FTRLClassifier, FTRLRegressor

from .helpers import X, Y, bits, split

REGULARIZERS = ["proximal", "l2", "entropy"]


@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize("normalization", ["max", "rms"])
def test_learns_from_raw_units(regularizer, normalization):
    options = {"regularizer": regularizer, "normalization": normalization, "max_iter": 10, "random_state": 0}
    X_train, X_test, y_train, y_test = split(load_wine)
    clf = FTRLClassifier(radius=30.0, **options)
    assert clf.fit(X_train, y_train).score(X_test, y_test) > 0.9
    X_train, X_test, y_train, y_test = split(load_diabetes, scaled=False)
    reg = FTRLRegressor(radius=1.5, **options)
    assert reg.fit(X_train, y_train).score(X_test, y_test) > 0.3


@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize("normalization", ["max", "rms"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_coef_and_intercept_give_the_decisions(container, normalization, regularizer):
    rows, y = load_wine(return_X_y=True)
    clf = FTRLClassifier(regularizer=regularizer, normalization=normalization, max_iter=2, random_state=0)
    clf.fit(container(rows), y)
    np.testing.assert_allclose(clf.decision_function(rows), rows @ clf.coef_.T + clf.intercept_, rtol=1e-10)


def test_single_rows_copies_and_pickles_change_no_bit():
    for model, y, extra in [(FTRLClassifier(l1=0.1), Y, {"classes": [0, 1]}), (FTRLRegressor(l1=0.1), X[:, 1], {})]:
        whole = clone(model).partial_fit(X, y, **extra)
        one = clone(model)
        for i in range(30):
            one.partial_fit(X[i : i + 1], y[i : i + 1], **(extra if i == 0 else {}))
            one.predict(X)
            if i == 10:
                one = pickle.loads(pickle.dumps(one))
            if i == 20:
                one = copy.deepcopy(one)
        assert np.array_equal(bits(one), bits(whole))
        assert np.array_equal(one.predict(X), whole.predict(X))


def test_a_model_on_disk_that_is_read_only_goes_on(tmp_path):
    model = FTRLClassifier().partial_fit(X, Y, classes=[0, 1])
    joblib.dump(model, tmp_path / "model")
    loaded = joblib.load(tmp_path / "model", mmap_mode="r")
    assert np.array_equal(bits(loaded.partial_fit(X, Y)), bits(model.partial_fit(X, Y)))
    buffer = io.BytesIO()
    joblib.dump(model, buffer)


def test_rows_of_weight_0_change_nothing():
    weights = np.arange(30) % 2.0
    some = FTRLClassifier().partial_fit(X, Y, classes=[0, 1], sample_weight=weights)
    assert np.array_equal(bits(some), bits(FTRLClassifier().partial_fit(X[1::2], Y[1::2], classes=[0, 1])))


def test_classes_and_outputs_are_learnt_as_if_alone():
    rows, y = load_wine(return_X_y=True)
    clf = FTRLClassifier(multi_class="ovr", l1=0.1).partial_fit(rows, y, classes=[0, 1, 2])
    for k in range(3):
        alone = FTRLClassifier(l1=0.1).partial_fit(rows, y == k, classes=[False, True])
        assert np.array_equal(clf.coef_[k], alone.coef_[0])
    both = FTRLRegressor().partial_fit(rows, np.column_stack([rows[:, 0], y]))
    assert np.array_equal(both.coef_[1], FTRLRegressor().partial_fit(rows, y).coef_)


def test_more_l1_leaves_fewer_weights():
    rows, y = load_breast_cancer(return_X_y=True)
    models = [FTRLClassifier(l1=l1, random_state=0).fit(rows, y) for l1 in (0.0, 1.0, 10.0, 1e9)]
    counts = [np.count_nonzero(model.coef_) for model in models]
    assert counts[0] == 30 > counts[1] > counts[2] > counts[3] == 0
    np.testing.assert_allclose(models[3].predict_proba(rows)[:, 1], y.mean(), atol=0.05)
    assert models[2].sparsify().coef_.nnz == counts[2]
    assert models[2].score(rows, y) > 0.9


def test_a_penalty_may_change_and_regularizer_and_rates_may_not():
    model = FTRLClassifier().partial_fit(X, Y, classes=[0, 1])
    before = bits(model)
    with pytest.raises(ValueError, match="regularizer was 'proximal' when this model was new and is 'l2' now"):
        model.set_params(regularizer="l2").partial_fit(X, Y)
    for name, value in {"eta0": 0.1, "beta": 1.0, "power_t": 1.0}.items():
        model = FTRLClassifier().partial_fit(X, Y, classes=[0, 1])
        with pytest.raises(ValueError, match=f"{name} was .* when this model was new and is {value} now"):
            model.set_params(**{name: value}).partial_fit(X, Y)
        assert np.array_equal(bits(model), before)
    FTRLClassifier().partial_fit(X, Y, classes=[0, 1]).set_params(l1=3.0, l2=1.0).partial_fit(X, Y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"regularizer": "l1"}, "must be one of 'proximal', 'l2', 'entropy'. Got 'l1'"),
        ({"regularizer": "entropy", "l1": 1.0}, "regularizer='entropy' takes no l1 and l2"),
        ({"positive": True}, "positive=True needs regularizer='entropy'; got 'proximal'"),
        ({"positive": 1}, "'positive' parameter of FTRLClassifier must be True or False"),
        ({"eta0": 0}, "'eta0' parameter of FTRLClassifier must be a float"),
        ({"beta": -1}, "'beta' parameter of FTRLClassifier must be a float"),
        ({"l1": np.inf}, "'l1' parameter of FTRLClassifier must be a float"),
        ({"radius": 0.0}, "'radius' parameter of FTRLClassifier must be a float"),
        (
            {"normalization": "std"},
            "'normalization' parameter of FTRLClassifier must be one of 'auto', 'max', 'rms', None",
        ),
    ],
)
def test_parameters_out_of_range(parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        FTRLClassifier(**parameters).fit(X, Y)


def test_a_failed_call_on_few_columns_leaves_the_model_as_it_was():
    rows = sparse.csr_array((np.ones(3), [1, 5, 900], [0, 2, 3]), shape=(2, 1000))
    for normalization in ("max", None):
        model = FTRLRegressor(normalization=normalization, target_normalization=None, clip=None, beta=0.0)
        model.partial_fit(rows, [1.0, 2.0])
        before = bits(model)
        with pytest.raises(ValueError, match="leave the range of float64"):
            model.partial_fit(1e200 * rows, [1.7e308, -1.7e308])
        assert np.array_equal(bits(model), before)


def test_a_mean_at_the_end_of_the_range_is_not_rounded_out_of_it():
    largest = np.finfo(float).max
    X, weight = np.array([[0.0], [-largest], [-largest], [-largest]]), np.array([1.0, 1e78, 1e85, 1e85])
    assert FTRLRegressor().partial_fit(X, np.zeros(4), weight).mean_[0] == -largest


def test_rates_that_fall_to_nothing():
    """If powers of time leave the range, weights stay 0."""
    assert (FTRLClassifier(regularizer="entropy", power_t=1e150).fit(X, Y).coef_ == 0).all()
    assert np.isfinite(FTRLClassifier(power_t=1e150).fit(X, Y).coef_).all()
