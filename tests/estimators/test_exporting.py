"""Models of scikit-learn made from fitted ones: they predict the same, or there is a reason why there is none."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier

from sklearn_nag import NAGClassifier, NAGRegressor, ScaleInvariantClassifier, ScaleInvariantRegressor

QUICK = {"max_iter": 2, "tol": None, "random_state": 0}
CANCER, WINE = load_breast_cancer(return_X_y=True), load_wine(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True, scaled=False)
TWO_OUTPUTS = DIABETES[0], np.column_stack([DIABETES[1], -3.0 * DIABETES[1] ** 2])
CASES = [
    (NAGClassifier(**QUICK), CANCER, LogisticRegression),
    (NAGClassifier(**QUICK), WINE, LogisticRegression),
    (NAGClassifier(eta0="auto", **QUICK), (WINE[0], WINE[1].astype(str)), LogisticRegression),
    (NAGClassifier(multi_class="ovr", **QUICK), WINE, SGDClassifier),
    (NAGClassifier("modified_huber", **QUICK), CANCER, SGDClassifier),
    (NAGClassifier("modified_huber", **QUICK), WINE, SGDClassifier),
    (NAGClassifier("perceptron", fit_intercept=False, centering=False, **QUICK), CANCER, SGDClassifier),
    (NAGClassifier("hinge", **QUICK), load_digits(return_X_y=True), SGDClassifier),
    (ScaleInvariantClassifier(**QUICK), WINE, LogisticRegression),
    (NAGRegressor(clip=None, **QUICK), DIABETES, LinearRegression),
    (NAGRegressor("huber", clip=None, **QUICK), TWO_OUTPUTS, LinearRegression),
    (ScaleInvariantRegressor(invariance="full", **QUICK), DIABETES, TransformedTargetRegressor),
    (NAGRegressor(clip=(100.0, 200.0), **QUICK), DIABETES, TransformedTargetRegressor),
    (NAGRegressor(clip="targets", eta0=9.0, average=False, **QUICK), TWO_OUTPUTS, TransformedTargetRegressor),
]


@pytest.mark.parametrize(("model", "data", "expected"), CASES)
def test_the_same_predictions(model, data, expected):
    X, y = data
    exported = pickle.loads(pickle.dumps(model.fit(X, y).to_sklearn()))
    assert type(exported) is expected
    assert exported.n_features_in_ == X.shape[1]
    if is_classifier(model):
        for rows in (X, sparse.csr_array(X)):
            assert np.array_equal(exported.predict(rows), model.predict(rows))
            np.testing.assert_allclose(exported.decision_function(rows), model.decision_function(rows), rtol=1e-12)
        assert hasattr(exported, "predict_proba") or not hasattr(model, "predict_proba")
        if hasattr(model, "predict_proba"):
            np.testing.assert_allclose(exported.predict_proba(X), model.predict_proba(X), rtol=1e-10, atol=1e-15)
    else:
        assert exported.predict(X).shape == model.predict(X).shape
        np.testing.assert_allclose(exported.predict(X), model.predict(X), rtol=1e-12)


def test_names_of_features_and_independence():
    pytest.importorskip("pandas")
    X, y = load_wine(return_X_y=True, as_frame=True)
    clf = NAGClassifier(max_iter=1).fit(X, y)
    exported = clf.to_sklearn()
    assert list(exported.feature_names_in_) == list(X)
    exported.coef_[:] = 0.0
    assert clf.coef_.any()
    sparser = NAGClassifier(penalty="l1", **QUICK).fit(X, y).sparsify()
    assert np.array_equal(sparser.to_sklearn().predict(X), sparser.predict(X))


def test_where_there_is_none():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X.sum(axis=1)
    far = X + [0.0, 2.0**40, 0.0]
    with pytest.raises(ValueError, match=r"the mean of feature 'x1', 1.09951e\+12, is too far from 0 for its scale"):
        NAGRegressor().partial_fit(far, y).to_sklearn()
    with pytest.raises(ValueError, match=r"'x1', .* \(one of 2 such features\)"):
        NAGRegressor().partial_fit(X + [0.0, 2.0**40, -(2.0**50)], y).to_sklearn()
    with pytest.raises(ValueError, match="a weight, that of feature 'x2', is beyond the normal range"):
        NAGRegressor(centering=False).partial_fit(X * [1.0, 1.0, 1e-308], y * 1e10).to_sklearn()
    with pytest.raises(NotFittedError):
        NAGRegressor().to_sklearn()


@pytest.mark.parametrize(("model", "data", "expected"), CASES)
def test_the_linear_model_alone(model, data, expected):
    X, y = data
    model.fit(X, y)
    if expected is not TransformedTargetRegressor:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert type(model.to_sklearn(linear=True)) is expected
        return
    low, high = model._state.clip_range()
    with pytest.warns(UserWarning, match="does not clip .* to the range from") as told:
        linear = model.to_sklearn(linear=True)
    assert f"{np.ravel(low)[0]:.6g}" in str(told[0].message)
    assert told[0].filename == __file__
    assert type(linear) is LinearRegression
    np.testing.assert_array_equal(linear.coef_, model.coef_)
    np.testing.assert_allclose(np.clip(linear.predict(X), low, high), model.predict(X), rtol=1e-12)
    refitted = linear.fit(X, 1e8 + 9.0 * y)
    assert refitted.predict(X).min() > 1e7  # nothing is clipped to the old range
    with pytest.raises(ValueError, match="'linear' parameter must be True or False"):
        model.to_sklearn(linear="yes")


def test_half_lives_that_are_clipped_apart(rng):
    X = rng.normal(size=(300, 2))
    model = NAGRegressor(half_life="auto").partial_fit(X, X[:, 0])
    with pytest.warns(UserWarning, match="NAGRegressor clips what each half-life predicts before") as told:
        exported = model.to_sklearn()
    assert told[0].filename == __file__
    within = np.abs(X[:, 0]) < 1.0
    np.testing.assert_allclose(exported.predict(X[within]), model.predict(X[within]), rtol=1e-10, atol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(clip=None).partial_fit(X, X[:, 0]).to_sklearn()


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_a_rate_beyond_the_range_is_clipped_as_by_the_model(loss, rng):
    X = rng.normal(size=(500, 2))
    reg = NAGRegressor(loss).partial_fit(X, 1.0 + rng.poisson(np.exp(0.5 * X[:, 0])))
    far = np.array([[1e6, 0.0], [0.3, 0.4]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = reg.predict(far)
        np.testing.assert_allclose(pickle.loads(pickle.dumps(reg.to_sklearn())).predict(far), expected, rtol=1e-12)
