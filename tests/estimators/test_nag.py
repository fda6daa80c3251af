"""NAGClassifier and NAGRegressor: how well they learn, and what each of their parameters does."""

import copy
import functools
import itertools
import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import ElasticNet, LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_nag import NAGClassifier, NAGRegressor, config_context, kernels, merge
from sklearn_nag.estimators._nag import ETA0S

from ..kernels.helpers import KERNELS, needs_numba, on_both
from ..pairs import every_pair
from .helpers import CLASSIFICATION, REGRESSION, bits, split

# -- learning


@functools.cache
def score_of_a_batch_solver(load):
    X, X_test, y, y_test = split(load)
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y).score(X_test, y_test)


@pytest.mark.parametrize(
    ("load", "margin", "normalization"),
    [
        (load_breast_cancer, 0.04, "max"),
        (load_breast_cancer, 0.04, "rms"),
        (load_wine, 0.12, "max"),
        (load_digits, 0.04, "rms"),
    ],
)
def test_raw_data_is_learnt_nearly_as_well_as_by_a_scaled_batch_solver(load, margin, normalization):
    X, X_test, y, y_test = split(load)
    clf = NAGClassifier(normalization=normalization, max_iter=1000 if load is not load_digits else 2, random_state=0)
    assert clf.fit(X, y).score(X_test, y_test) >= score_of_a_batch_solver(load) - margin


def against_exact(model, exact, X, y):
    """Nonzero weights of both models, and how far the objective exceeds its minimum, for features without units."""
    scale, mean = np.where(model.scale_ > 0, model.scale_, 1.0), model.mean_
    Z = ((X.toarray() if sparse.issparse(X) else X) - mean) / scale
    exact.fit(Z, y)
    coef = np.ravel(model.coef_)
    solutions = (
        (coef * scale, np.ravel(model.intercept_)[0] + coef @ mean),
        (np.ravel(exact.coef_), np.ravel(exact.intercept_)[0]),
    )
    objectives, l1_ratio = [], 1.0 if model.penalty == "l1" else model.l1_ratio
    for u, intercept in solutions:
        p = Z @ u + intercept
        losses = (p - y) ** 2 / 2 if isinstance(model, NAGRegressor) else np.logaddexp(0, -(2 * y - 1) * p)
        penalty = l1_ratio * np.abs(u).sum() + (1 - l1_ratio) * (u @ u) / 2
        objectives.append(losses.mean() + model.alpha * penalty)
    return *(np.count_nonzero(u) for u, _ in solutions), objectives[0] / objectives[1] - 1


@pytest.mark.filterwarnings("ignore:'penalty' was deprecated:FutureWarning")  # not deprecated in the oldest version
@pytest.mark.parametrize(
    ("learner", "penalty", "n", "d"), [(NAGClassifier, "l1", 1000, 200), (NAGRegressor, "elasticnet", 300, 60)]
)
def test_l1_finds_the_exact_solution_on_dense_rows(learner, penalty, n, d):
    rng = np.random.default_rng(0)
    alpha, l1_ratio = 0.1, 1.0 if penalty == "l1" else 0.5
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d) + 5.0
    score = ((X - X.mean(axis=0)) / X.std(axis=0))[:, :10] @ rng.normal(size=10)
    if learner is NAGRegressor:
        y = score + rng.normal(size=n)
        y = (y - y.mean()) / y.std()
        exact = ElasticNet(alpha=alpha, l1_ratio=l1_ratio, tol=1e-8, max_iter=10000)
    else:
        y = (rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * score))).astype(int)
        exact = LogisticRegression(
            penalty="elasticnet", l1_ratio=l1_ratio, C=1.0 / (n * alpha), solver="saga", max_iter=1000
        )
    model = learner(penalty=penalty, alpha=alpha, l1_ratio=l1_ratio, max_iter=25, tol=None, random_state=0)
    nonzero, exactly, excess = against_exact(model.fit(X, y), exact, X, y)
    assert exactly / 1.5 <= nonzero <= 1.5 * exactly < 30
    assert -1e-3 < excess < 0.01


def test_a_path_of_l1_penalties_by_warm_start_is_that_of_new_models(rng):
    X = rng.normal(size=(200, 5))
    y = (X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=200) > 0).astype(int)
    options = {"penalty": "l1", "tol": 1e-6, "random_state": 0}
    warm = NAGClassifier(warm_start=True, **options)
    for alpha, n in ((1.0, 0), (0.2, 1), (0.1, 2), (0.03, 2)):
        new = NAGClassifier(alpha=alpha, **options).fit(X, y)
        np.testing.assert_allclose(warm.set_params(alpha=alpha).fit(X, y).coef_, new.coef_, atol=0.07)
        assert np.count_nonzero(new.coef_) == n


@pytest.mark.filterwarnings("ignore:.*penalty:FutureWarning", "ignore:.*penalty.*:UserWarning")
def test_l1_finds_the_exact_solution_on_bags_of_words(rng):
    often = 1.0 / np.arange(1, 1001)
    topic = often * np.where(np.arange(1000) % 50 == 7, 6.0, 1.0)
    y = rng.integers(0, 2, 1000)
    bags = [rng.choice(1000, 15, p=p / p.sum()) for p in (topic if label else often for label in y)]
    X = CountVectorizer().fit_transform(" ".join(f"word{i}" for i in bag) for bag in bags).astype(float)
    model = NAGClassifier(penalty="l1", alpha=0.03, max_iter=50, tol=None, random_state=0).fit(X, y)
    exact = LogisticRegression(
        penalty="l1", C=1.0 / 30.0, solver="liblinear", intercept_scaling=100.0, tol=1e-6, max_iter=1000
    )
    nonzero, exactly, excess = against_exact(model, exact, X, y)
    assert exactly / 1.5 <= nonzero <= 1.5 * exactly < 0.1 * X.shape[1]
    assert -1e-3 < excess < 0.01


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


def test_regression_comes_close_to_least_squares():
    X, X_test, y, y_test = split(load_diabetes, scaled=False)
    reg = NAGRegressor(normalization="rms", eta0=20.0, random_state=0).fit(X, y)
    assert reg.score(X_test, y_test) >= LinearRegression().fit(X, y).score(X_test, y_test) - 0.05


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine, load_diabetes])
def test_defaults_on_raw_data_reach_a_scaled_batch_solver(load):
    """The mean score over splits after `fit`, compared with a batch solver on standardised features."""
    raw = {"scaled": False} if load is load_diabetes else {}
    X, y = load(return_X_y=True, **raw)
    own, batch = (NAGRegressor, Ridge) if load is load_diabetes else (NAGClassifier, LogisticRegression)
    gaps = []
    for seed in range(8):
        X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=seed)
        ours = own(random_state=seed).fit(X_train, y_train).score(X_test, y_test)
        gaps.append(ours - make_pipeline(StandardScaler(), batch()).fit(X_train, y_train).score(X_test, y_test))
    assert np.mean(gaps) > -0.005


def test_batches_of_rows_change_no_bit_with_defaults():
    X, y = load_diabetes(return_X_y=True, scaled=False)
    whole, parts = NAGRegressor(eta0="auto").partial_fit(X, y), NAGRegressor(eta0="auto")
    for i, j in itertools.pairwise([0, 1, 2, 40, 41, len(y)]):
        parts.partial_fit(X[i:j], y[i:j])
    assert np.array_equal(whole.coef_, parts.coef_)
    assert np.array_equal(whole.intercept_, parts.intercept_)


@pytest.mark.parametrize(
    ("rule", "penalty", "average"),
    every_pair(itertools.product(["max", "rms"], [False, True]), [None, "l1", "l2", "elasticnet"], [False, True]),
)
def test_sparse_rows_are_dense_rows(rule, penalty, average):
    (normalization, adaptive), (X, y) = rule, (a[:15] for a in load_digits(return_X_y=True))
    parameters = {"normalization": normalization, "adaptive": adaptive, "penalty": penalty, "average": average}
    parameters |= {"centering": False}
    alpha = 1e-4 if penalty is None else 1e-3
    clf = NAGClassifier(**parameters, alpha=alpha, max_iter=2, tol=None, random_state=0)
    dense, csr, csc = (clone(clf).fit(rows, y) for rows in (X, sparse.csr_matrix(X), sparse.csc_array(X)))
    np.testing.assert_allclose(csr.coef_, dense.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(csr.progressive_loss_, dense.progressive_loss_, rtol=1e-12)
    assert np.array_equal(bits(csr), bits(csc))


def test_multinomial_by_plain_gradients(rng):
    """NAG on the softmax, by the paper's pseudocode with w, s, G and N, explicit steps. Classes share their mean G."""
    X, classes = rng.normal(size=(120, 3)) * [1.0, 1e3, 1e-3], rng.integers(0, 3, 120)
    w, G, s, N = np.zeros((3, 4)), np.zeros(4), np.zeros(4), 0.0
    for t, (x, k) in enumerate(zip(np.column_stack([X, np.ones(120)]), classes), 1):
        new = np.maximum(s, np.abs(x))
        w *= s / new
        s = new
        N += np.sum((x / s) ** 2)
        g = np.multiply.outer(softmax(w @ x) - (np.arange(3) == k), x)
        G += np.mean(g**2, axis=0)
        w -= 0.5 * np.sqrt(t / N) * g / (s * np.sqrt(G))
    clf = NAGClassifier(
        normalization="max", centering=False, importance_aware=False, average=False, eta0=0.5, shuffle=False, max_iter=1
    ).fit(X, classes)
    np.testing.assert_allclose(np.column_stack([clf.coef_, clf.intercept_]), w, rtol=1e-10)
    np.testing.assert_allclose(clf.predict_proba(X), softmax(clf.decision_function(X), axis=1))


# -- scales and origins of features


@pytest.mark.parametrize("estimator", [NAGClassifier(), NAGClassifier("hinge", normalization="max"), NAGRegressor()])
@pytest.mark.parametrize("offset", [-3.0, 1e3, 1e6])
def test_origins_of_features_do_not_matter(estimator, offset, rng):
    X, y = load_wine(return_X_y=True)
    X = np.round(X / X.std(axis=0) * 2**12) / 2**12  # so that adding an offset is exact
    here, there = (type(estimator)(**estimator.get_params()) for _ in range(2))
    options = {"classes": [0, 1, 2]} if isinstance(estimator, NAGClassifier) else {}
    a, b = here._play(X, y, **options), there._play(X + offset, y, **options)
    np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9 * np.abs(a).max())
    assert there.progressive_loss_ == pytest.approx(here.progressive_loss_, rel=1e-7)
    np.testing.assert_allclose(here.coef_, there.coef_, rtol=1e-6, atol=1e-8)
    decide = "decision_function" if options else "predict"
    np.testing.assert_allclose(getattr(here, decide)(X), getattr(there, decide)(X + offset), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("normalization", ["max", "rms"])
def test_a_large_constant_with_a_little_noise(normalization, rng):
    """The mean takes no digits from the noise, because deviations are taken from the first value."""
    noise = np.round(rng.normal(size=(3000, 3)) * 2**10) / 2**10
    y = (noise @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=3000)) > 0
    X = noise + 2.0**33
    near, far = (NAGClassifier(normalization=normalization).partial_fit(a, y, [False, True]) for a in (noise, X))
    np.testing.assert_allclose(far.decision_function(X), near.decision_function(noise), rtol=1e-7, atol=1e-8)
    assert far.score(X, y) > 0.95
    np.testing.assert_allclose(far.mean_, 2.0**33 + noise.mean(axis=0), rtol=1e-15)
    np.testing.assert_allclose(near.mean_, noise.mean(axis=0), rtol=1e-10)


@pytest.mark.parametrize("normalization", ["max", "rms"])
def test_means_and_scales_are_those_of_the_rows(normalization, rng):
    X = rng.normal(size=(500, 4)) * [1e-200, 1e200, 1.0, 0.0] + [1e-200, -1e202, 5.0, 7.0]
    weights = rng.random(500)
    reg = NAGRegressor(normalization=normalization).partial_fit(X, X[:, 2], weights)
    np.testing.assert_allclose(reg.mean_, np.average(X, axis=0, weights=weights), rtol=1e-12)
    if normalization == "rms":
        size = np.array([1e-200, 1e200, 1.0, 1.0])
        variance = np.average(((X - reg.mean_) / size) ** 2, axis=0, weights=weights)
        np.testing.assert_allclose(reg.scale_[:3], (np.sqrt(variance) * size)[:3], rtol=1e-10)
    assert reg.coef_[3] == 0.0  # a constant column
    np.testing.assert_allclose(reg.predict(X), X @ reg.coef_ + reg.intercept_, rtol=1e-9)


def test_centring_and_sparse_rows():
    X, y = load_iris(return_X_y=True)
    rows, rms = sparse.csr_array(X), {"normalization": "rms", "random_state": 0, "max_iter": 3, "tol": None}
    with pytest.raises(ValueError, match=r"centering=True needs dense X with normalization='rms'.*='auto' or False"):
        NAGClassifier(centering=True, normalization="rms").fit(rows, y)
    with pytest.raises(ValueError, match="centering=True needs fit_intercept=True"):
        NAGClassifier(centering=True, fit_intercept=False).fit(X, y)
    with pytest.raises(ValueError, match="'centering' parameter of NAGClassifier must be one of True, False"):
        NAGClassifier(centering="yes").fit(X, y)
    auto = NAGClassifier(**rms).fit(rows, y)
    off = NAGClassifier(**rms, centering=False).fit(X, y)
    np.testing.assert_allclose(auto.coef_, off.coef_, rtol=1e-9)
    auto.partial_fit(X, y)  # a model that does not centre takes both
    dense = NAGClassifier(**rms).fit(X, y)
    with pytest.raises(ValueError, match="X is sparse, but this model centres its features"):
        dense.partial_fit(rows, y)
    np.testing.assert_allclose(dense.decision_function(rows), dense.decision_function(X), rtol=1e-9, atol=1e-12)
    centred = NAGClassifier(centering=True, random_state=0).fit(rows, y)  # frequent features, however stored
    np.testing.assert_array_equal(centred.coef_, NAGClassifier(random_state=0).fit(rows, y).coef_)
    np.testing.assert_allclose(centred.mean_, X.mean(axis=0), rtol=1e-12)


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


def test_columns_that_hold_next_to_nothing(rng):
    X = (rng.random((300, 1)) < 0.5) * 5e-324
    y = X[:, 0] > 0
    assert NAGClassifier().partial_fit(X, y, [False, True]).score(X, y) == 1.0
    X = np.column_stack([np.full(300, 1e-300), rng.normal(size=300) * 1e-300])  # a constant, which explains nothing
    reg = NAGRegressor().partial_fit(X, 1e300 * X[:, 1])
    assert reg.coef_[0] == 0.0
    assert reg.predict([[1e300, 1e-300]]) == pytest.approx(reg.predict([[1e-300, 1e-300]]))


@pytest.mark.filterwarnings("ignore:some rows did not count")
@pytest.mark.parametrize("first", [1e-32, 1e-100, 1e100])
def test_weights_that_differ_by_any_factor_leave_scales_in_order(first, rng):
    X, y = rng.normal(size=(300, 3)), rng.normal(size=300)
    weights = rng.uniform(0.5, 1.0, 300)
    weights[0] = first
    for normalization in ("max", "rms"):
        reg = NAGRegressor(normalization=normalization, centering=True).partial_fit(X, y, weights)
        assert (reg.scale_ < 10).all()
        assert np.isfinite(reg.progressive_loss_)
        if first < 1 and normalization == "rms":
            np.testing.assert_allclose(reg.scale_, X[1:].std(axis=0), rtol=0.1)


# -- the learning rate


@pytest.mark.parametrize("eta0", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("loss", REGRESSION)
def test_any_learning_rate_stays_in_range(loss, eta0, rng):
    X = rng.lognormal(0, 3, size=(400, 5))
    y = np.log(X).sum(axis=1)
    reg = NAGRegressor(loss, eta0=eta0).partial_fit(X, y)
    assert np.isfinite(reg.coef_).all()
    assert np.isfinite(reg.progressive_loss_)


def test_the_mixture_is_one_linear_model():
    X, y = load_breast_cancer(return_X_y=True)
    auto, *models = (
        NAGClassifier(eta0=e, average=True, random_state=0, max_iter=1, shuffle=False).fit(X, y)
        for e in ("auto", *ETA0S)
    )
    assert auto.eta0_weights_.shape == (len(ETA0S),)
    assert auto.eta0_weights_.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(auto.coef_, sum(w * m.coef_ for w, m in zip(auto.eta0_weights_, models)), rtol=1e-9)
    np.testing.assert_allclose(auto.decision_function(X), X @ auto.coef_[0] + auto.intercept_, rtol=1e-9, atol=1e-9)
    assert auto.progressive_loss_ < 1.1 * min(m.progressive_loss_ for m in models)


def test_auto_for_several_outputs_and_classes():
    X, y = load_wine(return_X_y=True)
    reg = NAGRegressor(eta0="auto").partial_fit(X, np.column_stack([X[:, 0], X[:, 1] * 1e9]))
    assert reg.eta0_weights_.shape == (2, len(ETA0S))
    alone = NAGRegressor(eta0="auto").partial_fit(X, X[:, 0])
    np.testing.assert_allclose(reg.eta0_weights_[0], alone.eta0_weights_, rtol=1e-9)
    np.testing.assert_allclose(reg.coef_[0], alone.coef_, rtol=1e-9)
    assert NAGClassifier("hinge", eta0="auto").fit(X, y).eta0_weights_.shape == (3, len(ETA0S))
    assert not hasattr(NAGClassifier().fit(X, y), "eta0_weights_")
    with pytest.raises(
        ValueError, match=r"'eta0' .* must be 'auto' or a float in the range \(0, inf\). Got 'best' instead"
    ):
        NAGClassifier(eta0="best").fit(X, y)
    with pytest.raises(ValueError, match="'average' .* must be True or False or 'auto' or an int in the range"):
        NAGClassifier(average="yes").fit(X, y)


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_auto_bears_targets_of_any_size(size):
    X, y = load_diabetes(return_X_y=True, scaled=False)
    here = NAGRegressor(eta0="auto").partial_fit(X, y)
    there = NAGRegressor(eta0="auto").partial_fit(X, y * size)
    np.testing.assert_allclose(here.eta0_weights_, there.eta0_weights_, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(here.predict(X), there.predict(X) / size, rtol=1e-9)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_auto_bears_what_a_number_bears(size, rng):
    X = rng.normal(size=(200, 3))
    y = X @ [1.0, 2.0, 3.0]
    reg = NAGRegressor(eta0="auto").partial_fit(X, y * size)
    assert np.corrcoef(reg.predict(X) / size, y)[0, 1] > 0.95


# -- penalty and average


def test_more_penalty_leaves_fewer_weights():
    X, y = (rows[:100] for rows in load_digits(return_X_y=True))
    counts = [
        np.count_nonzero(NAGClassifier(penalty="l1", alpha=alpha, random_state=0, max_iter=2).fit(X, y).coef_)
        for alpha in (1e-5, 1e-3, 1e-2, 1e-1)
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] < 0.6 * counts[0]


def test_l2_penalty_means_what_it_means_for_a_batch_solver(rng):
    """Both minimise mean loss + alpha |u|^2 / 2. Because |x| <= 1, u is the weight."""
    X = rng.choice([-1.0, 1.0], (300, 3))
    y = (X @ [1.0, -2.0, 0.5] + rng.logistic(size=300)) > 0
    alpha = 0.1
    clf = NAGClassifier(penalty="l2", alpha=alpha, eta0=0.2, max_iter=20, tol=None, random_state=0, average=300)
    clf.fit(X, y)
    batch = LogisticRegression(C=1 / (alpha * len(y)), tol=1e-10).fit(X, y)
    np.testing.assert_allclose(clf.coef_, batch.coef_, atol=0.03)


@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        ("numpy", {}),
        pytest.param(
            "numba",  # this rule is shared
            {"normalization": None, "adaptive": False, "importance_aware": False, "average": False},
            marks=needs_numba,
        ),
    ],
)
def test_a_strong_l2_penalty_loses_no_digits(kernel, options):
    """A weight that no row moves any more decays by an exponential of alpha."""
    logarithms = []
    for alpha in (1e-13, 10.0, 100.0):  # with 0 it would be another rule
        clf = NAGClassifier("perceptron", penalty="l2", alpha=alpha, centering=False, fit_intercept=False)
        clf.set_params(**options)
        with config_context(kernel=kernel):
            clf.partial_fit([[1.0], [1.0]], [0, 0], classes=[0, 1])
        logarithms.append(np.log(-clf.coef_.item()))
    none, weak, strong = logarithms
    assert strong < -100.0
    np.testing.assert_allclose(strong - none, 10.0 * (weak - none), rtol=1e-12)


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


@pytest.mark.usefixtures("in_numpy")
def test_average_from_a_row_on():
    X, y = load_breast_cancer(return_X_y=True)
    last, whole, late = (NAGClassifier(average=a, max_iter=1, shuffle=False).fit(X, y) for a in (False, True, 400))
    assert not np.array_equal(last.coef_, whole.coef_)
    assert not np.array_equal(late.coef_, whole.coef_)
    assert last.progressive_loss_ != whole.progressive_loss_  # because each is the loss of what predicts
    unreached = NAGClassifier(average=10_000, max_iter=1, shuffle=False).fit(X, y)
    assert np.array_equal(unreached.coef_, last.coef_)


def test_lifts_that_change_while_averaging_is_off(rng):
    X, y, far = rng.normal(size=(60, 2)), rng.normal(size=60), rng.normal(size=(30, 2)) * [1e25, 1.0]
    coefs = []
    for kernel in ("numpy", "auto"):
        with config_context(kernel=kernel):
            reg = NAGRegressor(adaptive=False, average=True, eta0=0.1).partial_fit(X, y)
            reg.set_params(average=False).partial_fit(far, y[:30])
            coefs.append(reg.set_params(average=True).partial_fit(far[:5], y[:5]).coef_)
    np.testing.assert_allclose(*coefs, rtol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_a_gradient_that_overflows_is_an_error_where_no_weight_shows_it(kernel, container):
    X, reg = container(np.zeros((2, 1))), NAGRegressor(target_normalization=None)
    with config_context(kernel=kernel), pytest.raises(ValueError, match="leave the range of float64"):
        reg.partial_fit(X, [0.0, 1e308], sample_weight=[1.0, 1e22])
    assert not hasattr(reg, "_state")


def shuffled_wine():
    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("options", [{}, {"adaptive": False, "eta0": 0.1}, {"multi_class": "ovr"}])
def test_the_share_of_the_average_follows_the_losses(kernel, options):
    """AdaHedge sets the share by the losses of two other models, those of 32 rows at once."""
    X, y = shuffled_wine()
    n_groups = 3 if options.get("multi_class") else 1
    with config_context(kernel=kernel):
        latest, average, mixed = (
            NAGClassifier(average=a, **options)._play(X, y, classes=[0, 1, 2]) for a in (0, 1, "auto")
        )
    target = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    for group in range(n_groups):
        if n_groups > 1:
            losses = [np.log1p(np.exp(-target * p))[:, group] for p in (latest, average)]
        else:
            losses = [np.log(np.exp(p).sum(axis=1)) - p[np.arange(len(y)), y] for p in (latest, average)]
        rounds = np.transpose(losses)[:160].reshape(5, 32, 2).sum(axis=1)
        shares = kernels.Mixture.new(2).play(np.vstack([rounds, [[0.0, 0.0]]]))
        share = np.repeat(shares[:, :1], 32, axis=0)[: len(y)]
        heads = [group] if n_groups > 1 else slice(None)
        expected = share * latest[:, heads] + (1 - share) * average[:, heads]
        np.testing.assert_allclose(mixed[:, heads], expected, rtol=1e-7, atol=1e-9)
        assert np.ptp(share) > 0.1


@pytest.mark.parametrize(("options", "kernel"), on_both([({},), ({"eta0": "auto"},), ({"half_life": 100.0},)], 1))
def test_shares_of_the_average_do_not_depend_on_batches_and_are_saved(kernel, options):
    X, y = shuffled_wine()
    with config_context(kernel=kernel):
        whole, parts = NAGClassifier(**options).partial_fit(X, y, [0, 1, 2]), NAGClassifier(**options)
        for i in range(0, len(y), 9):
            parts = pickle.loads(pickle.dumps(parts.partial_fit(X[i : i + 9], y[i : i + 9], [0, 1, 2])))
    assert np.array_equal(whole.coef_, parts.coef_)
    assert whole.progressive_loss_ == parts.progressive_loss_


def test_a_share_that_was_fixed_stays_so():
    X, y = load_wine(return_X_y=True)
    clf = NAGClassifier(average=True).partial_fit(X[::2], y[::2], [0, 1, 2])
    both = [clf, copy.deepcopy(clf).set_params(average="auto")]
    decisions = [model.partial_fit(X[1::2], y[1::2]).decision_function(X) for model in both]
    assert np.array_equal(*decisions)
    assert not both[1]._state.trust.excess.size


def test_shares_of_the_average_merge_and_fade():
    X, y = shuffled_wine()
    parts = [NAGClassifier().partial_fit(X[i::2], y[i::2], [0, 1, 2]) for i in range(2)]
    total = sum(part._state.trust.excess for part in parts)
    merged = merge(parts)._state
    np.testing.assert_allclose(merged.trust.excess, total - total.min(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(merged.due, sum(part._state.due for part in parts), rtol=1e-12)
    state = NAGClassifier(half_life=50.0).partial_fit(X, y, [0, 1, 2])._state
    gap, share = state.trust.gap.copy(), state.share_of_latest()
    kernels.nag.forgetting.fade(type(state.columns).multiply, state, 0.5)
    np.testing.assert_allclose(state.trust.gap, gap / 2)
    np.testing.assert_allclose(state.share_of_latest(), share)


@needs_numba
@pytest.mark.parametrize("options", [{}, {"eta0": "auto"}, {"half_life": "auto"}], ids=str)
def test_after_a_step_that_ends_at_the_kink_rounding_decides_nothing(rng, options):
    X = rng.normal(size=(60, 4))
    y = rng.integers(0, 2, 60)
    y[:3] = 1  # after the first row the margin of the next ones is 1
    learnt = []
    for kernel in ("numpy", "numba"):
        with config_context(kernel=kernel):
            learnt.append(NAGClassifier("hinge", **options).partial_fit(X, y, classes=[0, 1]))
    one, other = learnt
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-9)
    np.testing.assert_allclose(one.progressive_loss_, other.progressive_loss_, rtol=1e-9)
