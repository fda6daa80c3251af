"""The estimators: what they learn, what they show of it, and how they go on."""

import copy
import io
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_nag import NAGClassifier, NAGRegressor

from .kernels.helpers import BY_ITSELF, flat

CLASSIFICATION = ["log_loss", "hinge", "squared_hinge", "modified_huber", "perceptron"]
REGRESSION = [loss for loss in BY_ITSELF if loss not in CLASSIFICATION]


def bits(estimator):
    return flat(estimator._state)


def split(load, **options):
    X, y = load(return_X_y=True, **options)
    return train_test_split(X, y, random_state=0)


# -- learning


@pytest.mark.parametrize("normalization", ["max", "rms"])
@pytest.mark.parametrize(("load", "margin"), [(load_breast_cancer, 0.04), (load_wine, 0.12), (load_digits, 0.04)])
def test_raw_data_is_learnt_nearly_as_well_as_by_a_scaled_batch_solver(load, margin, normalization):
    X, X_test, y, y_test = split(load)
    clf = NAGClassifier(normalization=normalization, random_state=0).fit(X, y)
    batch = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    assert clf.score(X_test, y_test) >= batch.score(X_test, y_test) - margin


@pytest.mark.parametrize("loss", CLASSIFICATION)
def test_every_classification_loss_learns(loss):
    X, X_test, y, y_test = split(load_breast_cancer)
    assert NAGClassifier(loss, random_state=0).fit(X, y).score(X_test, y_test) > 0.9


@pytest.mark.parametrize("loss", REGRESSION)
def test_every_regression_loss_learns(loss, rng):
    X = rng.normal(size=(2000, 3)) * [1e-3, 1.0, 1e3]
    y = X @ [1e3, 2.0, 3e-3] + 4.0 + 0.01 * rng.normal(size=2000)
    reg = NAGRegressor(loss, epsilon=0.01, random_state=0).fit(X, y)
    assert reg.score(X, y) > 0.99
    np.testing.assert_allclose(reg.coef_ * [1e-3, 1, 1e3], [1, 2, 3], atol=0.2)


def test_quantiles_are_quantiles(rng):
    y = rng.exponential(size=5000)
    for quantile in (0.1, 0.5, 0.9):
        reg = NAGRegressor("quantile", quantile=quantile, max_iter=5, average=True, random_state=0)
        assert np.mean(y < reg.fit(np.ones((5000, 1)), y).predict([[1.0]])) == pytest.approx(quantile, abs=0.02)


def test_regression_comes_close_to_least_squares():
    X, X_test, y, y_test = split(load_diabetes, scaled=False)
    reg = NAGRegressor(normalization="rms", eta0=20.0, random_state=0).fit(X, y)
    assert reg.score(X_test, y_test) >= LinearRegression().fit(X, y).score(X_test, y_test) - 0.05


def test_several_outputs_are_what_each_is_alone(rng):
    X = rng.normal(size=(200, 4))
    Y = X @ rng.normal(size=(4, 3)) + rng.normal(size=3)
    together = NAGRegressor(max_iter=3, tol=None, random_state=0).fit(X, Y)
    assert together.coef_.shape == (3, 4)
    assert together.intercept_.shape == (3,)
    for k in range(3):
        alone = NAGRegressor(max_iter=3, tol=None, random_state=0).fit(X, Y[:, k])
        assert alone.coef_.shape == (4,)
        assert np.array_equal(alone.coef_, together.coef_[k])
        np.testing.assert_allclose(alone.predict(X), together.predict(X)[:, k], rtol=1e-12)


def test_one_against_the_rest_is_what_each_class_is_alone():
    X, y = load_wine(return_X_y=True)
    clf = NAGClassifier(max_iter=4, tol=None, random_state=0, multi_class="ovr").fit(X, y)
    for k in range(3):
        alone = NAGClassifier(max_iter=4, tol=None, random_state=0).fit(X, y == k)
        assert np.array_equal(alone.coef_[0], clf.coef_[k])


def test_without_intercept():
    X, y = load_breast_cancer(return_X_y=True)
    clf = NAGClassifier(fit_intercept=False, random_state=0).fit(X, y)
    assert np.array_equal(clf.intercept_, [0.0])
    assert np.array_equal(clf.decision_function(np.zeros((1, 30))), [0.0])


# -- passes


def test_one_pass_in_order_is_one_partial_fit():
    X, y = load_digits(return_X_y=True)
    weight = np.linspace(0, 1, len(y))
    one = NAGClassifier(max_iter=1, shuffle=False).fit(X, y, sample_weight=weight)
    two = NAGClassifier().partial_fit(X, y, classes=range(10), sample_weight=weight)
    assert np.array_equal(bits(one), bits(two))
    assert one.n_iter_ == 1
    X, y = load_diabetes(return_X_y=True)
    one, two = NAGRegressor(max_iter=1, shuffle=False).fit(X, y), NAGRegressor().partial_fit(X, y)
    assert np.array_equal(bits(one), bits(two))


def test_passes_stop_when_the_loss_settles(capsys):
    X, y = load_wine(return_X_y=True)
    clf = NAGClassifier(random_state=0, verbose=1).fit(X, y)
    losses = [float(line.split()[-1]) for line in capsys.readouterr().out.splitlines()]
    assert 6 <= clf.n_iter_ == len(losses) < 1000
    best = np.minimum.accumulate(losses)
    stale = [losses[i] > best[i - 1] - 1e-3 for i in range(1, len(losses))]
    assert all(stale[-5:])
    assert not any(all(stale[i : i + 5]) for i in range(len(stale) - 5))


def test_too_few_passes_are_said():
    X, y = load_wine(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="max_iter=7"):
        NAGClassifier(max_iter=7, tol=0.0, n_iter_no_change=6).fit(X, y)
    assert NAGClassifier(max_iter=7, tol=None).fit(X, y).n_iter_ == 7


def test_the_loss_of_a_target_in_other_units_settles_as_soon():
    X, y = load_diabetes(return_X_y=True)
    one = NAGRegressor(random_state=0).fit(X, y)
    two = NAGRegressor(random_state=0).fit(X, y * 1024)
    assert one.n_iter_ == two.n_iter_


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_early_stopping_holds_out_rows(container):
    X, y = load_digits(return_X_y=True)
    clf = NAGClassifier(early_stopping=True, validation_fraction=0.2, random_state=0).fit(container(X), y)
    assert clf.t_ == clf.n_iter_ * (len(y) - 360)
    assert clf.score(X, y) > 0.9
    reg = NAGRegressor(early_stopping=True, random_state=0, eta0=10).fit(X, y, sample_weight=np.ones(len(y)))
    assert reg.n_iter_ < 1000


def test_early_stopping_takes_frames_in_silence():
    pd = pytest.importorskip("pandas")
    X, y = load_wine(return_X_y=True)
    frame = pd.DataFrame(X, columns=[f"column {i}" for i in range(13)])
    named = NAGClassifier(early_stopping=True, random_state=0).fit(frame, y)
    assert np.array_equal(named.coef_, NAGClassifier(early_stopping=True, random_state=0).fit(X, y).coef_)


def test_the_loss_of_a_pass_is_its_own(capsys):
    """Not a difference of running sums, which loses its digits after one large loss."""
    X, y = load_diabetes(return_X_y=True)
    options = {"warm_start": True, "random_state": 0, "verbose": 1, "max_iter": 30, "target_normalization": None}
    reg = NAGRegressor("absolute_error", eta0=20.0, **options)
    reg.partial_fit(X[:1], [1e17]).fit(X, y)
    losses = [float(line.split()[-1]) for line in capsys.readouterr().out.splitlines()]
    assert min(losses) > 10
    assert reg.n_iter_ < 30


def test_a_loss_of_0_is_settled():
    reg = NAGRegressor("epsilon_insensitive", epsilon=100.0).fit([[1.0], [2.0]], [1.0, 2.0])
    assert reg.n_iter_ == 6


def test_warm_start_goes_on():
    X, y = load_wine(return_X_y=True)
    twice = NAGClassifier(max_iter=1, shuffle=False, warm_start=True).fit(X, y).fit(X, y)
    once = NAGClassifier(max_iter=2, shuffle=False, tol=None).fit(X, y)
    assert np.array_equal(bits(twice), bits(once))
    anew = clone(twice).set_params(warm_start=False).fit(X, y).fit(X, y)
    assert anew.t_ == len(y)


def test_random_state_decides_the_order():
    X, y = load_wine(return_X_y=True)
    a, b, c = (NAGClassifier(max_iter=2, tol=None, random_state=seed).fit(X, y) for seed in (0, 0, 1))
    assert np.array_equal(bits(a), bits(b))
    assert not np.array_equal(bits(a), bits(c))


# -- what is shown


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("penalty", [None, "l1", "l2", "elasticnet"])
@pytest.mark.parametrize("normalization", ["max", "rms"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_coef_and_intercept_give_the_decisions(container, normalization, penalty, average):
    X, y = load_wine(return_X_y=True)
    clf = NAGClassifier(normalization=normalization, penalty=penalty, average=average, max_iter=2, random_state=0)
    clf.fit(container(X), y)
    np.testing.assert_allclose(clf.decision_function(X), X @ clf.coef_.T + clf.intercept_, rtol=1e-12)
    np.testing.assert_allclose(clf.decision_function(sparse.csr_matrix(X)), clf.decision_function(X), rtol=1e-10)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("penalty", [None, "l1", "l2", "elasticnet"])
@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("normalization", ["max", "rms"])
def test_sparse_rows_are_dense_rows(normalization, adaptive, penalty, average):
    X, y = (a[:300] for a in load_digits(return_X_y=True))
    parameters = {"normalization": normalization, "adaptive": adaptive, "penalty": penalty, "average": average}
    parameters |= {"centering": False}
    clf = NAGClassifier(**parameters, alpha=1e-3, max_iter=2, tol=None, random_state=0)
    dense, csr, csc = (clone(clf).fit(rows, y) for rows in (X, sparse.csr_matrix(X), sparse.csc_array(X)))
    np.testing.assert_allclose(csr.coef_, dense.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(csr.progressive_loss_, dense.progressive_loss_, rtol=1e-12)
    assert np.array_equal(bits(csr), bits(csc))


def test_rows_that_name_a_column_twice():
    X = sparse.csr_array((np.array([1.0, 2.0, 5.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    a = NAGRegressor().partial_fit(X, [1.0, 2.0])
    b = NAGRegressor().partial_fit(sparse.csr_array(X.toarray()), [1.0, 2.0])
    assert np.array_equal(bits(a), bits(b))
    assert X.nnz == 3


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


def test_attributes():
    X, y = load_breast_cancer(return_X_y=True)
    clf = NAGClassifier(max_iter=3, tol=None).fit(X, y)
    assert clf.coef_.shape == (1, 30)
    assert clf.intercept_.shape == (1,)
    assert clf.t_ == 3 * len(y)
    assert clf.n_iter_ == 3
    assert clf.n_features_in_ == 30
    assert not hasattr(clf, "feature_names_in_")
    np.testing.assert_allclose(clf.mean_, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(clf.scale_, X.std(axis=0), rtol=1e-12)
    largest = NAGClassifier(normalization="max", centering=False).partial_fit(X, y, [0, 1])
    assert np.array_equal(largest.scale_, np.abs(X).max(axis=0))
    assert np.array_equal(largest.mean_, np.zeros(30))
    assert 0 < clf.progressive_loss_ < 0.5
    assert np.array_equal(NAGClassifier().partial_fit(np.eye(2, 3), [0, 1], [0, 1]).scale_, [0.5, 0.5, 1])
    with pytest.raises(AttributeError, match="not fitted"):
        _ = NAGClassifier().coef_
    with pytest.raises(NotFittedError):
        NAGClassifier().predict(X)
    with pytest.raises(ValueError, match="read-only"):
        clf.coef_[0, 0] = 1.0


@pytest.mark.parametrize("exponent", [-900, 0, 900, 1000])
def test_predictions_where_coef_leaves_the_range(exponent, rng):
    X, y = rng.normal(size=(200, 3)), rng.normal(size=200)
    y = 1e-40 * (y + X[:, 0])
    factors = np.array([2.0**exponent, 1.0, 1.0])
    here, there = (NAGRegressor(eta0=1e-40).partial_fit(rows, y) for rows in (X, X * factors))
    np.testing.assert_allclose(there.predict(X * factors), here.predict(X), rtol=1e-12)
    np.testing.assert_allclose(there.predict(sparse.csr_array(X * factors)), here.predict(X), rtol=1e-12)


def test_the_scale_of_the_largest_double():
    reg = NAGRegressor(normalization="rms", fit_intercept=False, max_iter=20, tol=None, eta0=0.1)
    reg.fit(np.full((5, 1), np.finfo(float).max), np.ones(5))
    assert reg.scale_ == np.finfo(float).max
    np.testing.assert_allclose(reg.predict([[np.finfo(float).max]]), 1.0, atol=0.2)


def test_sparsify_and_densify():
    X, y = load_digits(return_X_y=True)
    clf = NAGClassifier(penalty="l1", alpha=1e-3, random_state=0, max_iter=3).fit(X, y)
    dense, decision = clf.coef_, clf.decision_function(X)
    assert sparse.issparse(clf.sparsify().coef_)
    assert clf.coef_.nnz < dense.size
    assert np.array_equal(clf.coef_.toarray(), dense)
    assert np.array_equal(clf.decision_function(X), decision)
    assert np.array_equal(clf.densify().coef_, dense)
    reg = NAGRegressor(max_iter=2).fit(X, y).sparsify()
    assert reg.coef_.shape == (1, 64)


def test_more_penalty_leaves_fewer_weights():
    X, y = load_digits(return_X_y=True)
    counts = [
        np.count_nonzero(NAGClassifier(penalty="l1", alpha=alpha, random_state=0, max_iter=3).fit(X, y).coef_)
        for alpha in (1e-5, 1e-3, 1e-2, 1e-1)
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] < 0.6 * counts[0]


def test_l2_penalty_means_what_it_means_for_a_batch_solver(rng):
    """The minimiser of mean loss + alpha |u|^2 / 2, with |x| <= 1 so that u is the weight."""
    X = rng.choice([-1.0, 1.0], (4000, 3))
    y = (X @ [1.0, -2.0, 0.5] + rng.logistic(size=4000)) > 0
    alpha = 0.1
    clf = NAGClassifier(penalty="l2", alpha=alpha, eta0=0.2, max_iter=20, tol=None, random_state=0, average=4000)
    clf.fit(X, y)
    batch = LogisticRegression(C=1 / (alpha * len(y)), tol=1e-10).fit(X, y)
    np.testing.assert_allclose(clf.coef_, batch.coef_, atol=0.03)


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


@pytest.mark.parametrize("normalization", ["max", "rms"])
@pytest.mark.parametrize("adaptive", [True, False])
def test_averaging_may_be_turned_off_and_on(normalization, adaptive, rng):
    X, y = rng.normal(size=(60, 8)) * (rng.random((60, 8)) < 0.3), rng.normal(size=60)
    models = []
    for container in (np.asarray, sparse.csr_array):
        reg = NAGRegressor(normalization=normalization, adaptive=adaptive, eta0=0.1, centering=False)
        for i, change in zip(range(0, 60, 15), [True, False, True, 40]):
            reg.set_params(average=change).partial_fit(container(X[i : i + 15]), y[i : i + 15])
        models.append(reg)
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, rtol=1e-10)


def test_any_boolean_will_do():
    X, y = load_wine(return_X_y=True)
    a, b = (NAGClassifier(average=a, max_iter=1, random_state=0).fit(X, y) for a in (True, np.True_))
    assert np.array_equal(a.coef_, b.coef_)
    a, b = (NAGClassifier().partial_fit(X, y, [0, 1, 2], weight) for weight in (2.0, np.array(2.0)))
    assert np.array_equal(a.coef_, b.coef_)


def test_average_from_a_row_on():
    X, y = load_breast_cancer(return_X_y=True)
    last, whole, late = (NAGClassifier(average=a, max_iter=1, shuffle=False).fit(X, y) for a in (False, True, 400))
    assert not np.array_equal(last.coef_, whole.coef_)
    assert not np.array_equal(late.coef_, whole.coef_)
    assert last.progressive_loss_ == whole.progressive_loss_
    unreached = NAGClassifier(average=10_000, max_iter=1, shuffle=False).fit(X, y)
    assert np.array_equal(unreached.coef_, last.coef_)


# -- streams


@pytest.mark.parametrize(
    "estimator",
    [
        NAGClassifier(),
        NAGClassifier("hinge", normalization="rms", penalty="l2", average=50),
        NAGClassifier(adaptive=False, learning_rate="invscaling", penalty="l1"),
        NAGClassifier(normalization="rms", adaptive=False),
        NAGClassifier(eta0="auto"),
        NAGRegressor(eta0="auto", loss="huber"),
        NAGRegressor(normalization="max", penalty="l1", average=True),
    ],
)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_batches_and_pickles_between_them_change_no_bit(estimator, container):
    X, y = load_wine(return_X_y=True)
    X = container(X)
    extra = {"classes": [0, 1, 2]} if isinstance(estimator, NAGClassifier) else {}
    whole = clone(estimator).partial_fit(X, y, **extra)
    parts = clone(estimator)
    for i, rows in enumerate(np.split(np.arange(len(y)), [1, 2, 3, 50, 51, 100, 177])):
        parts.partial_fit(X[rows], y[rows], **(extra if i == 0 else {}))
        if i % 3 == 0:
            parts = pickle.loads(pickle.dumps(parts))
        elif i % 3 == 1:
            parts = copy.deepcopy(parts)
        else:
            file = io.BytesIO()
            joblib.dump(parts, file)
            file.seek(0)
            parts = joblib.load(file)
    assert np.array_equal(bits(whole), bits(parts))
    assert np.array_equal(whole.coef_, parts.coef_)


def test_a_copy_is_independent():
    X, y = load_wine(return_X_y=True)
    one = NAGClassifier().partial_fit(X, y, classes=[0, 1, 2])
    two = copy.deepcopy(one)
    before = bits(one).copy()
    two.partial_fit(X, y)
    assert np.array_equal(bits(one), before)
    assert not hasattr(clone(one), "_state")


def test_a_pickle_goes_on_in_another_process(tmp_path):
    X, y = load_wine(return_X_y=True)
    clf = NAGClassifier(normalization="rms").partial_fit(X[:90], y[:90], classes=[0, 1, 2])
    path = tmp_path / "model.joblib"
    joblib.dump(clf, path)
    code = (
        "import joblib, sys; from sklearn.datasets import load_wine; X, y = load_wine(return_X_y=True);"
        "clf = joblib.load(sys.argv[1]).partial_fit(X[90:], y[90:]); joblib.dump(clf, sys.argv[1])"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    assert np.array_equal(bits(joblib.load(path)), bits(clf.partial_fit(X[90:], y[90:])))


def test_a_memory_mapped_model_goes_on(tmp_path):
    X, y = load_wine(return_X_y=True)
    clf = NAGClassifier().partial_fit(X[:90], y[:90], classes=[0, 1, 2])
    joblib.dump(clf, tmp_path / "model.joblib")
    mapped = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    assert np.array_equal(bits(mapped.partial_fit(X[90:], y[90:])), bits(clf.partial_fit(X[90:], y[90:])))


def test_float32_rows():
    X, y = load_wine(return_X_y=True)
    X = X.astype(np.float32)
    a, b = (NAGClassifier(max_iter=1, shuffle=False).fit(rows, y) for rows in (X, X.astype(float)))
    assert np.array_equal(bits(a), bits(b))
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X.astype(float)))
