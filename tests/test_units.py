"""Neither origins nor units matter, no step overshoots, and no learning rate has to be chosen."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import log_softmax, softmax
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_nag import NAGClassifier, NAGRegressor, config_context, losses
from sklearn_nag.estimators._nag import ETA0S
from sklearn_nag.kernels import learn, predict
from sklearn_nag.kernels.state.mixture import Mixture

from .kernels.helpers import BY_ITSELF, make_data, make_state, progressive

CAREFUL = [name for name, loss in BY_ITSELF.items() if loss.move is not None]
NAMES = sorted(losses.REGRESSION)


def played(estimator, X, y, **options):
    """Progressive predictions of a new model, one row at a time."""
    out = []
    for i in range(len(X)):
        before = estimator._state.loss.copy() if hasattr(estimator, "_state") else 0.0
        estimator.partial_fit(X[i : i + 1], y[i : i + 1], **(options if i == 0 else {}))
        out.append(estimator._state.loss - before)
    return np.array(out)


def targets_of(loss, y):
    return np.where(y > 0, 1.0, -1.0) if loss in losses.CLASSIFICATION else y


# -- importance-aware steps


@pytest.mark.parametrize("name", CAREFUL)
def test_moves_solve_the_differential_equation(name, rng):
    """``dp/da = -gradient``, by the method of Runge and Kutta."""
    loss, steps = BY_ITSELF[name](), 4000
    p, unit = rng.normal(scale=3.0, size=100), rng.uniform(0.5, 2.0, 100)
    y = targets_of(name, rng.normal(scale=3.0, size=100))
    a = 10.0 ** rng.uniform(-4, 1, 100)
    h, q = a / steps, p
    for _ in range(steps):
        k1 = -loss.gradient(q, y, unit)
        k2 = -loss.gradient(q + h / 2 * k1, y, unit)
        k3 = -loss.gradient(q + h / 2 * k2, y, unit)
        k4 = -loss.gradient(q + h * k3, y, unit)
        q = q + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    tolerance = 1e-9 + 4 * h * np.abs(loss.gradient(p, y, unit))  # a kink costs a step
    assert (np.abs(loss.move(p, y, a, unit) - (q - p)) <= tolerance).all()


def test_moves_of_the_log_loss_to_many_digits(rng):
    loss = losses.Log()
    margin, a = rng.uniform(-250, 600, 5000), 10.0 ** rng.uniform(-20, 20, 5000)
    moved = loss.move(margin, 1.0, a)
    assert (moved >= 0).all()
    for m, exposure, d in zip(margin[:300], a[:300], moved[:300]):
        low, high = 0.0, exposure
        for _ in range(3000):
            middle = (low + high) / 2
            below = middle < 700 and middle + math.exp(m) * math.expm1(middle) < exposure
            low, high = (middle, high) if below else (low, middle)
        assert d == pytest.approx(low, rel=1e-11)


@pytest.mark.parametrize("kernel", ["max", "rms"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_no_step_overshoots(kernel, data):
    """Whatever the learning rate and the weight, a row's own prediction comes no farther from its target."""
    name = data.draw(st.sampled_from(CAREFUL))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    eta, c = 10.0 ** data.draw(st.floats(-3, 6)), 10.0 ** data.draw(st.floats(-3, 6))
    X, y = make_data(rng, n=12, d=4, loss=name)
    adaptive, centred = data.draw(st.booleans()), data.draw(st.booleans())
    state = make_state(4, kernel, adaptive, eta=[eta], importance_aware=True, centred=centred)
    for i in range(12):
        row = slice(i, i + 1)
        before = progressive(state, X[row], y[row], np.array([c]), name)[0, 0]
        after = float(_decision(state, X[row])[0, 0])
        slack = 1e-9 * (abs(before) + abs(after) + abs(y[i]))
        if name in losses.CLASSIFICATION:
            least = 1.0 if name != "log_loss" else np.inf  # the margin that a step may not pass
            assert min(y[i] * before, least) - slack <= y[i] * after <= max(y[i] * before, least) + slack
        else:
            assert abs(after - y[i]) <= abs(before - y[i]) + slack


def _decision(state, X):
    state.cached = None
    return predict(state, X)


@pytest.mark.parametrize("name", ["squared_error", "log_loss", "hinge"])
def test_a_weight_is_nearly_as_many_rows(name, rng):
    """The prediction after one row of weight k against that after k rows, for both kinds of step."""
    X, y = make_data(rng, n=100, d=4, loss=name)
    X, wrong = X / np.abs(X).max(axis=0), {True: [], False: []}
    for careful in (True, False):
        for k in (2, 5, 20):
            once, often = (make_state(4, eta=[0.5], importance_aware=careful) for _ in range(2))
            for state in (once, often):
                progressive(state, X, y, loss=name)
            x, target = rng.normal(size=(1, 4)), -np.sign(_decision(once, X[:1])[0])
            progressive(once, x, target, np.array([float(k)]), name)
            progressive(often, np.repeat(x, k, axis=0), np.repeat(target, k), None, name)
            wrong[careful].append(abs(_decision(once, x) - _decision(often, x)).item())
    assert np.median(wrong[True]) < 0.5 * np.median(wrong[False])


@pytest.mark.parametrize("eta0", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("loss", NAMES)
def test_any_learning_rate_stays_in_range(loss, eta0, rng):
    X = rng.lognormal(0, 3, size=(400, 5))
    y = np.log(X).sum(axis=1)
    reg = NAGRegressor(loss, eta0=eta0).partial_fit(X, y)
    assert np.isfinite(reg.coef_).all()
    assert np.isfinite(reg.progressive_loss_)


# -- origins of features


@pytest.mark.parametrize("estimator", [NAGClassifier(), NAGClassifier("hinge", normalization="max"), NAGRegressor()])
@pytest.mark.parametrize("offset", [-3.0, 1e3, 1e6])
def test_origins_of_features_do_not_matter(estimator, offset, rng):
    X, y = load_wine(return_X_y=True)
    X = np.round(X / X.std(axis=0) * 2**12) / 2**12  # so that adding an offset is exact
    here, there = (type(estimator)(**estimator.get_params()) for _ in range(2))
    options = {"classes": [0, 1, 2]} if isinstance(estimator, NAGClassifier) else {}
    a, b = played(here, X, y, **options), played(there, X + offset, y, **options)
    np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9 * a.max())
    np.testing.assert_allclose(here.coef_, there.coef_, rtol=1e-6, atol=1e-8)
    decide = "decision_function" if options else "predict"
    np.testing.assert_allclose(getattr(here, decide)(X), getattr(there, decide)(X + offset), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("normalization", ["max", "rms"])
def test_a_large_constant_with_a_little_noise(normalization, rng):
    """No digit of the noise is lost to the mean: deviations are taken from the first value."""
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
    assert reg.coef_[3] == 0.0  # a constant
    np.testing.assert_allclose(reg.predict(X), X @ reg.coef_ + reg.intercept_, rtol=1e-9)


def test_centring_and_sparse_rows():
    X, y = load_iris(return_X_y=True)
    rows = sparse.csr_array(X)
    with pytest.raises(ValueError, match=r"centering=True needs dense X.*centering='auto' or False"):
        NAGClassifier(centering=True).fit(rows, y)
    with pytest.raises(ValueError, match="centering=True needs fit_intercept=True"):
        NAGClassifier(centering=True, fit_intercept=False).fit(X, y)
    with pytest.raises(ValueError, match="centering must be one of True, False"):
        NAGClassifier(centering="yes").fit(X, y)
    auto = NAGClassifier(random_state=0, max_iter=3, tol=None).fit(rows, y)
    off = NAGClassifier(random_state=0, max_iter=3, tol=None, centering=False).fit(X, y)
    np.testing.assert_allclose(auto.coef_, off.coef_, rtol=1e-9)
    auto.partial_fit(X, y)  # a model that does not centre takes both
    dense = NAGClassifier(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="X is sparse, but this model centres its features"):
        dense.partial_fit(rows, y)
    np.testing.assert_allclose(dense.decision_function(rows), dense.decision_function(X), rtol=1e-9, atol=1e-12)


# -- the unit of the target


@pytest.mark.parametrize("loss", NAMES)
@settings(max_examples=15, deadline=None)
@given(exponent=st.floats(-100, 100), offset=st.floats(-1e3, 1e3), negative=st.booleans())
def test_the_target_may_come_in_any_unit(loss, exponent, offset, negative):
    X, y = load_diabetes(return_X_y=True, scaled=False)
    X, y = X[:150], y[:150]
    quantile = 0.3
    a = -(10.0**exponent) if negative else 10.0**exponent
    c = offset * abs(a)
    here = NAGRegressor(loss, quantile=quantile).partial_fit(X, y)
    there = NAGRegressor(loss, quantile=1 - quantile if negative else quantile).partial_fit(X, a * y + c)
    np.testing.assert_allclose((there.predict(X) - c) / a, here.predict(X), rtol=1e-6, atol=1e-5)
    degree = losses.REGRESSION[loss].degree
    if abs(exponent) < 100 / degree:
        assert there.progressive_loss_ == pytest.approx(abs(a) ** degree * here.progressive_loss_, rel=1e-6)


def test_powers_of_two_of_the_target_change_no_bit():
    X, y = load_diabetes(return_X_y=True, scaled=False)
    here = NAGRegressor().partial_fit(X, y)
    there = NAGRegressor().partial_fit(X, y * 2.0**300)
    assert np.array_equal(there.coef_, here.coef_ * 2.0**300)


def test_outputs_have_units_of_their_own():
    X, y = load_diabetes(return_X_y=True, scaled=False)
    several = NAGRegressor().partial_fit(X, np.column_stack([y, 1e50 * y - 1e52, np.ones(len(y))]))
    alone = NAGRegressor().partial_fit(X, y)
    assert np.array_equal(several.coef_[0], alone.coef_)
    np.testing.assert_allclose(several.coef_[1], 1e50 * alone.coef_, rtol=1e-6)
    assert np.array_equal(several.predict(X)[:, 2], np.ones(len(y)))  # a constant


def test_equal_targets_at_first_harm_nothing(rng):
    X = rng.normal(size=(3000, 4))
    y = X @ [1.0, 2.0, 3.0, 4.0]
    y[:200] = 7.0
    reg = NAGRegressor().partial_fit(X, y)
    assert reg.score(X[200:], y[200:]) > 0.95


@pytest.mark.parametrize("options", [{}, {"adaptive": False}, {"loss": "absolute_error"}, {"fit_intercept": False}])
def test_the_old_meaning_is_one_setting_away(options, rng):
    X, y = rng.normal(size=(500, 3)), rng.normal(size=500)
    y += 2 * X[:, 0]
    reg = NAGRegressor(target_normalization=None, eta0=0.1, **options).partial_fit(X, y)
    other = NAGRegressor(target_normalization=None, eta0=0.1, **options).partial_fit(X, 3 * y + 1)
    assert not np.allclose(3 * reg.predict(X) + 1, other.predict(X))
    with pytest.raises(ValueError, match="target_normalization must be one of 'standard', None"):
        NAGRegressor(target_normalization="max").fit(X, y)


def test_without_an_intercept_the_origin_of_the_target_stays(rng):
    X = rng.normal(size=(1000, 3))
    y = 1e6 * (X @ [1.0, 2.0, 3.0])
    reg = NAGRegressor(fit_intercept=False).partial_fit(X, y)
    assert reg.intercept_ == [0.0]
    assert reg.predict(np.zeros((1, 3))) == [0.0]
    assert reg.score(X, y) > 0.95


@pytest.mark.parametrize("eta0", [1.0, 64.0, "auto"])
@pytest.mark.parametrize("normalization", ["max", "rms"])
def test_predictions_made_while_learning_stay_near_the_targets_seen(normalization, eta0, rng):
    X, y = load_diabetes(return_X_y=True, scaled=False)
    X[rng.integers(0, len(X), 5)] *= 100.0
    estimator = NAGRegressor("absolute_error", normalization=normalization, eta0=eta0)
    distance = played(estimator, X, y)[1:, 0]
    low, high = np.minimum.accumulate(y)[:-1], np.maximum.accumulate(y)[:-1]
    farthest = np.maximum(np.abs(2 * high - low - y[1:]), np.abs(2 * low - high - y[1:]))
    assert (distance <= farthest + 1e-9).all()


# -- several classes


def test_softmax_is_what_its_formula_says(rng):
    loss = losses.Softmax()
    for scale in (1.0, 30.0, 1000.0):
        p = rng.normal(size=(50, 6)) * scale
        p[:5] = np.round(p[:5] / scale)  # ties
        y = np.where(np.arange(6) == rng.integers(0, 6, (50, 1)), 1.0, -1.0)
        margins = loss.margins(p)
        np.testing.assert_allclose(loss.value(margins, y).sum(axis=1), -log_softmax(p, axis=1)[y > 0], 1e-12, 1e-15)


def test_multinomial_by_plain_gradients(rng):
    """NAG on the softmax, from the paper's pseudocode with w, s, G and N, explicit steps."""
    X, classes = rng.normal(size=(120, 3)) * [1.0, 1e3, 1e-3], rng.integers(0, 3, 120)
    w, G, s, N = np.zeros((3, 4)), np.zeros((3, 4)), np.zeros(4), 0.0
    for t, (x, k) in enumerate(zip(np.column_stack([X, np.ones(120)]), classes), 1):
        new = np.maximum(s, np.abs(x))
        w *= s / new
        s = new
        N += np.sum((x / s) ** 2)
        g = np.multiply.outer(softmax(w @ x) - (np.arange(3) == k), x)
        G += g**2
        w -= 0.5 * np.sqrt(t / N) * g / (s * np.sqrt(G))
    clf = NAGClassifier(
        normalization="max", centering=False, importance_aware=False, average=False, eta0=0.5, shuffle=False, max_iter=1
    ).fit(X, classes)
    np.testing.assert_allclose(np.column_stack([clf.coef_, clf.intercept_]), w, rtol=1e-10)
    np.testing.assert_allclose(clf.predict_proba(X), softmax(clf.decision_function(X), axis=1))


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


def test_one_against_the_rest_is_offered():
    X, y = load_wine(return_X_y=True)
    clf = NAGClassifier(multi_class="ovr", random_state=0).fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1.0)
    with pytest.raises(ValueError, match="multi_class must be one of 'multinomial', 'ovr'"):
        NAGClassifier(multi_class="both").fit(X, y)


# -- the learning rate


def adahedge(losses):
    """Shares before each row, by the definition of AdaHedge, from the losses of the experts alone."""
    K = losses.shape[1]
    total, gap, shares = np.zeros(K), 0.0, []
    for row in losses:
        if gap == 0:
            share = (total == total.min()) / np.sum(total == total.min())
            mixed = row[total == total.min()].min()
        else:
            beta = math.log(K) / gap
            share = np.exp(-beta * (total - total.min()))
            share /= share.sum()
            least = row[share > 0].min()
            mixed = least - math.log(share[share > 0] @ np.exp(-beta * (row[share > 0] - least))) / beta
        gap += max(0.0, share @ row - mixed)
        total += row
        shares.append(share)
    return np.array(shares), total, gap


@pytest.mark.parametrize("classes", [2, 3])
def test_auto_mixes_the_models_of_each_learning_rate(classes):
    load = load_breast_cancer if classes == 2 else load_wine
    X, y = load(return_X_y=True)
    heads = 1 if classes == 2 else 3
    coupled = {"coupled": classes > 2}
    options = {"normalization": "rms", "importance_aware": True, "centred": True, **coupled}
    name = "softmax" if classes > 2 else "log_loss"
    alone = [progressive(make_state(X.shape[1], eta=[e] * heads, **options), X, y, loss=name) for e in ETA0S]
    state = make_state(X.shape[1], eta=np.repeat(ETA0S, heads), experts=len(ETA0S), **options)
    mixed = progressive(state, X, y, loss=name)
    if classes == 2:
        losses = np.column_stack([np.logaddexp(0, -np.where(y, 1, -1) * p[:, 0]) for p in alone])
    else:
        losses = np.column_stack([-log_softmax(p, axis=1)[np.arange(len(y)), y] for p in alone])
    shares, total, gap = adahedge(losses)
    np.testing.assert_allclose(mixed, np.einsum("tk,ktc->tc", shares, np.array(alone)), rtol=1e-6, atol=1e-9)
    assert state.mixture.gap[0] == pytest.approx(gap, rel=1e-8)
    np.testing.assert_allclose(state.mixture.excess[0], total - total.min(), rtol=1e-6, atol=1e-8)
    assert state.loss.sum() <= total.min() + 2 * gap + 1e-9  # by convexity, and AdaHedge's own bound


def test_the_mixture_is_one_linear_model():
    X, y = load_breast_cancer(return_X_y=True)
    auto = NAGClassifier(eta0="auto", random_state=0, max_iter=1, shuffle=False).fit(X, y)
    models = [NAGClassifier(eta0=e, max_iter=1, shuffle=False).fit(X, y) for e in ETA0S]
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
    with pytest.raises(ValueError, match="eta0 must be a positive number or 'auto'; got 'best'"):
        NAGClassifier(eta0="best").fit(X, y)


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_auto_bears_targets_of_any_size(size):
    X, y = load_diabetes(return_X_y=True, scaled=False)
    here = NAGRegressor(eta0="auto").partial_fit(X, y)
    there = NAGRegressor(eta0="auto").partial_fit(X, y * size)
    np.testing.assert_allclose(here.eta0_weights_, there.eta0_weights_, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(here.predict(X), there.predict(X) / size, rtol=1e-9)


# -- defaults


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine, load_diabetes])
def test_defaults_on_raw_data_reach_a_scaled_batch_solver(load):
    """Mean over splits of the score after `fit`, against a batch solver on standardised features."""
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


# -- what an independent review found


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("row", [0, 3])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("loss", NAMES)
def test_no_row_hides_what_is_not_finite(loss, container, row, bad, rng):
    X, y = rng.normal(size=(6, 3)), rng.normal(size=6)
    X[row, 1] = bad
    for normalization in ("max", "rms", None):
        reg = NAGRegressor(loss, normalization=normalization)
        with pytest.raises(ValueError, match="X contains"):
            reg.partial_fit(container(X), y)
        assert not hasattr(reg, "_state")


@pytest.mark.parametrize("first", [1e-32, 1e-100, 1e-200, 1e100])
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


def test_lifts_that_change_while_averaging_is_off(rng):
    X, y, far = rng.normal(size=(60, 2)), rng.normal(size=60), rng.normal(size=(30, 2)) * [1e25, 1.0]
    coefs = []
    for kernel in ("numpy", "auto"):
        with config_context(kernel=kernel):
            reg = NAGRegressor(adaptive=False, average=True, eta0=0.1).partial_fit(X, y)
            reg.set_params(average=False).partial_fit(far, y[:30])
            coefs.append(reg.set_params(average=True).partial_fit(far[:5], y[:5]).coef_)
    np.testing.assert_allclose(*coefs, rtol=1e-6)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_auto_bears_what_a_number_bears(size, rng):
    X = rng.normal(size=(200, 3))
    y = X @ [1.0, 2.0, 3.0]
    reg = NAGRegressor(eta0="auto").partial_fit(X, y * size)
    assert np.corrcoef(reg.predict(X) / size, y)[0, 1] > 0.95


def test_the_gap_of_an_expert_without_a_share():
    mixture = Mixture(np.array([[0.0, 0.0, 1.0, 1.0, 1.0]]), np.array([1e-6]))
    mixture.suffer(mixture.weights(), np.array([[0.2, 0.8, 0.0, 0.0, 0.0]]))
    assert mixture.gap[0] == pytest.approx(0.3, rel=1e-4)


def test_columns_that_hold_next_to_nothing(rng):
    X = (rng.random((300, 1)) < 0.5) * 5e-324
    y = X[:, 0] > 0
    assert NAGClassifier().partial_fit(X, y, [False, True]).score(X, y) == 1.0
    X = np.column_stack([np.full(300, 1e-300), rng.normal(size=300) * 1e-300])  # a constant, to which nothing is due
    reg = NAGRegressor().partial_fit(X, 1e300 * X[:, 1])
    assert reg.coef_[0] == 0.0
    assert reg.predict([[1e300, 1e-300]]) == pytest.approx(reg.predict([[1e-300, 1e-300]]))


def test_classes_learnt_together_stay_together():
    X, y = load_wine(return_X_y=True)
    clf = NAGClassifier().partial_fit(X, y, [0, 1, 2])
    with pytest.raises(ValueError, match="loss was 'log_loss' when this model was new and is 'hinge' now"):
        clf.set_params(loss="hinge").partial_fit(X, y)
    two = NAGClassifier().partial_fit(X, y == 1, [False, True])
    two.set_params(loss="hinge", multi_class="ovr").partial_fit(X, y == 1)


def test_any_kind_of_boolean_and_of_output():
    X, y = load_diabetes(return_X_y=True)
    NAGRegressor(centering=np.False_, fit_intercept=False).fit(X, y)
    assert NAGRegressor(eta0="auto").partial_fit(X, y[:, None]).eta0_weights_.shape == (1, len(ETA0S))
    assert NAGRegressor(eta0="auto").partial_fit(X, y).eta0_weights_.shape == (len(ETA0S),)
    with np.errstate(all="raise"):
        loss = NAGRegressor().partial_fit(X[:2], np.outer([1e200, -1e200], np.ones(4))).progressive_loss_
    assert np.isfinite(loss)
