"""Losses with a log link, for counts, amounts and sums of amounts, compared with scikit-learn's estimators."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import GammaRegressor, PoissonRegressor, TweedieRegressor
from sklearn.metrics import d2_tweedie_score, mean_poisson_deviance
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_nag import FTRLRegressor, NAGRegressor, ScaleInvariantRegressor, config_context, merge
from sklearn_nag.estimators._rates import d2_score

from ..checks import BY_ORDER, of_rules, run_check
from ..kernels.helpers import KERNELS

LEARNERS = [
    NAGRegressor("poisson"),
    NAGRegressor("tweedie", power=1.3, eta0="auto"),
    NAGRegressor("gamma", clip=None),
    NAGRegressor("poisson", adaptive=False, normalization="rms", average=False),
    NAGRegressor("tweedie", half_life=500.0),
    NAGRegressor("poisson", half_life="auto"),
    NAGRegressor("poisson", clip=(0.01, 50.0), penalty="l2"),
    NAGRegressor("poisson", target_normalization=None, clip=None),
    NAGRegressor("poisson", fit_intercept=False),
    ScaleInvariantRegressor("poisson"),
    ScaleInvariantRegressor("gamma", invariance="full"),
    FTRLRegressor("tweedie"),
    FTRLRegressor("poisson", regularizer="entropy", radius=5.0),
]
SOME = [LEARNERS[i] for i in (0, 2, 9, 10, 11)]
PEERS = {"poisson": PoissonRegressor, "gamma": GammaRegressor, "tweedie": TweedieRegressor}
WEIGHTS = np.array([0.4, 0.02, 1.5, -0.25])
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*passes and has not settled"),
    pytest.mark.filterwarnings("ignore:some rows did not count"),
]


def name(learner):
    return repr(learner).replace("\n", "")


def table(rng, loss="poisson", n=2000):
    X = rng.normal(size=(n, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 100.0, 0.0, 0.0]
    mean = np.exp(X @ WEIGHTS - 1.5)
    if loss == "poisson":
        return X, rng.poisson(mean).astype(float)
    if loss == "gamma":
        return X, rng.gamma(2.0, mean / 2.0)
    return X, np.array([rng.gamma(2.0, 0.5, count).sum() for count in rng.poisson(mean)])


@pytest.mark.parametrize("loss", PEERS)
@pytest.mark.parametrize("family", [NAGRegressor, ScaleInvariantRegressor, FTRLRegressor])
def test_deviance_explained_is_that_of_the_solver(rng, loss, family):
    X, y = table(rng, loss, 2500)
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    options = {"power": 1.5, "link": "log"} if loss == "tweedie" else {}
    best = PEERS[loss](alpha=0.0, max_iter=1000, **options).fit(standard, y).score(standard, y)
    fitted = family(loss, random_state=0, max_iter=8).fit(X, y)
    assert fitted.score(X, y) > best - 0.005
    one_pass = family(loss).partial_fit(X, y)
    assert one_pass.score(X, y) > best - (0.005 if family is NAGRegressor else 0.05)
    power = {"poisson": 1.0, "gamma": 2.0, "tweedie": 1.5}[loss]
    assert fitted.score(X, y) == pytest.approx(d2_tweedie_score(y, fitted.predict(X), power=power))


@pytest.mark.parametrize("learner", LEARNERS, ids=name)
def test_a_factor_of_the_targets_moves_the_intercept_alone(rng, learner):
    if learner.target_normalization is None or not learner.fit_intercept or learner.clip not in (None, "targets"):
        pytest.skip("these have no unit of the target")
    X, y = table(rng, learner.loss, 120)
    model = clone(learner).partial_fit(X, y)
    for factor in (1e-200, 1e6, 1e250):
        other = clone(learner).partial_fit(X, factor * y)
        np.testing.assert_allclose(other.coef_, model.coef_, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(other.intercept_, model.intercept_ + np.log(factor), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("loss", [("gamma", {}), ("tweedie", {"power": 1.5}), ("tweedie", {"power": 1.9})])
@pytest.mark.parametrize("family", [ScaleInvariantRegressor, NAGRegressor])
def test_targets_that_are_the_mean_so_far_tell_nothing_in_any_unit(rng, family, loss, kernel):
    """Learners for which any first slope is large used to follow slopes that were rounding."""
    X = (rng.random((120, 8)) < 0.1).astype(float)
    y = rng.choice([0.5, 1.5, 10.0, 25.0], 120, p=[0.85, 0.05, 0.05, 0.05])
    y[:30] = 0.5
    with config_context(kernel=kernel):
        one, *others = (family(loss[0], **loss[1]).partial_fit(X, y * u).predict(X) / u for u in (1, 3, 100, 2.0**-10))
    for predictions in others:
        np.testing.assert_allclose(predictions, one, rtol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("learner", SOME, ids=name)
def test_backends_cuts_and_saved_models(rng, learner, kernel):
    X, y = table(rng, learner.loss, 300)
    y[:3] = y[3] if learner.loss == "gamma" else 0.0  # there is nothing to predict by yet
    weight = rng.uniform(0.0, 2.0, 300)
    weight[::11] = 0.0
    with config_context(kernel="numpy"):
        expected = clone(learner).partial_fit(X, y, sample_weight=weight)
    with config_context(kernel=kernel):
        whole = clone(learner).partial_fit(X, y, sample_weight=weight)
        parts = clone(learner)
        for start in range(0, 300, 70):
            rows = slice(start, start + 70)
            parts = pickle.loads(pickle.dumps(parts)).partial_fit(X[rows], y[rows], sample_weight=weight[rows])
    np.testing.assert_array_equal(whole.coef_, parts.coef_)
    np.testing.assert_array_equal(whole.intercept_, parts.intercept_)
    assert whole.progressive_loss_ == parts.progressive_loss_
    np.testing.assert_allclose(whole.coef_, expected.coef_, rtol=1e-6, atol=1e-12)
    assert whole.progressive_loss_ == pytest.approx(expected.progressive_loss_, rel=1e-9)


@pytest.mark.parametrize("learner", LEARNERS, ids=name)
def test_extreme_targets_weights_and_rows(rng, learner):
    X, y = table(rng, learner.loss, 60)
    y[5:9] = [1e300, 1.7e308, 5e-324, 1e-300]
    X[20], X[30, 1] = 1e200, -1e100
    weight = 10.0 ** rng.uniform(-30, 30, 60)
    model = clone(learner)
    for rows in (slice(0, 20), slice(20, 60)):
        if learner.target_normalization is None:  # because steps have the unit of the target
            y, weight = np.clip(y, 1e-3, 1e3), np.ones(60)
        model.partial_fit(X[rows], y[rows], sample_weight=weight[rows])
    assert np.isfinite(model.predict(X)).all()
    assert (model.predict(X) >= 0.0).all()
    assert np.isfinite(model.progressive_loss_)
    assert np.isfinite(model.coef_).all()


def test_progressive_loss_is_the_deviance_of_predictions_made_before(rng):
    X, y = table(rng, n=200)
    y[:4] = [0.0, 0.0, 3.0, 1.0]
    model = NAGRegressor("poisson")
    played = model._interpret(model._play(X, y))
    assert (played[:3] == 0.0).all()
    expected = mean_poisson_deviance(y[3:], played[3:]) * 197 / 200  # no loss before there was a count to predict by
    assert model.progressive_loss_ == pytest.approx(expected, rel=1e-9)


def test_targets_are_checked(rng):
    X, y = table(rng, n=50)
    for loss, wrong in (("poisson", -1.0), ("tweedie", -1e-300), ("gamma", 0.0)):
        model = NAGRegressor(loss).partial_fit(X, y + 1.0)
        before = pickle.dumps(model)
        bad = y + 1.0
        bad[7] = wrong
        for call in (model.partial_fit, model.fit):
            with pytest.raises(ValueError, match=f"loss='{loss}' targets must .* in row 7"):
                call(X, bad)
        assert pickle.dumps(model) == before
    with pytest.raises(ValueError, match="power"):
        NAGRegressor("tweedie", power=3.0).fit(X, y)
    with pytest.raises(ValueError, match="clip needs high > 0"):
        NAGRegressor("poisson", clip=(-2.0, -1.0)).fit(X, y)
    with pytest.raises(ValueError, match="loss was 'squared_error'"):
        NAGRegressor().partial_fit(X, y).set_params(loss="poisson").partial_fit(X, y)


def test_rates_by_exposure_are_counts_by_exposure(rng):
    X, _ = table(rng, n=2000)
    exposure = rng.uniform(0.1, 3.0, 2000)
    counts = rng.poisson(exposure * np.exp(X @ WEIGHTS - 1.5))
    rate = counts / exposure
    best = PoissonRegressor(alpha=0.0, max_iter=1000).fit((X - X.mean(0)) / X.std(0), rate, sample_weight=exposure)
    model = NAGRegressor("poisson").partial_fit(X, rate, sample_weight=exposure)
    np.testing.assert_allclose(model.coef_ * X.std(0), best.coef_, atol=0.05)
    assert model.predict(X) @ exposure == pytest.approx(counts.sum(), rel=0.03)


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
@pytest.mark.parametrize(
    "options", [{"clip": None}, {"target_normalization": None, "clip": None}], ids=["mean", "none"]
)
def test_merged_models_and_given_ones_predict_from_where_they_count(rng, loss, options):
    X, y = table(rng, loss, n=200)
    y = 50.0 * (y + 1.0)
    for family in (NAGRegressor, ScaleInvariantRegressor):
        model = family(loss, **options).partial_fit(X, y)
        np.testing.assert_allclose(merge([model, model]).predict(X), model.predict(X), rtol=1e-9)
    given = NAGRegressor(loss, **options).partial_fit(X, y).set_coef([0.1, 0.2, 0.0, -0.1], 0.3)
    np.testing.assert_allclose([*given.coef_, *given.intercept_], [0.1, 0.2, 0.0, -0.1, 0.3], rtol=1e-9)
    np.testing.assert_allclose(given.predict(X), np.exp(X @ given.coef_ + 0.3), rtol=1e-6)


def test_several_outputs_and_sparse_rows(rng):
    X, y = table(rng, n=300)
    both = NAGRegressor("poisson").partial_fit(X, np.column_stack([y, 5.0 * y]))
    for k, one in enumerate([NAGRegressor("poisson").partial_fit(X, y), NAGRegressor("poisson").partial_fit(X, 5 * y)]):
        np.testing.assert_array_equal(both.coef_[k], one.coef_)
    rows = X * (rng.random(X.shape) < 0.5)
    dense, csr = (NAGRegressor("poisson").partial_fit(kind, y) for kind in (rows, sparse.csr_array(rows)))
    np.testing.assert_allclose(dense.predict(rows), csr.predict(sparse.csr_array(rows)), rtol=1e-9)
    assert both.score(X, np.column_stack([y, 5.0 * y])) == pytest.approx(one.score(X, 5 * y), rel=0.05)


@pytest.mark.parametrize("loss", PEERS)
@pytest.mark.parametrize("clip", [None, "targets"])
def test_exported_models_predict_the_same(rng, loss, clip):
    X, y = table(rng, loss, 300)
    model = NAGRegressor(loss, clip=clip).partial_fit(X, y)
    exported = model.to_sklearn()
    np.testing.assert_allclose(exported.predict(X), model.predict(X), rtol=1e-9)
    assert isinstance(exported if clip is None else exported.regressor_, PEERS[loss])
    with pytest.raises(ValueError, match="several outputs"):
        NAGRegressor(loss).partial_fit(X, np.column_stack([y, y])).to_sklearn()


def test_graphs_of_onnx_predict_the_same(rng):
    pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    from sklearn_nag.io import to_onnx

    X, y = table(rng, n=300)
    for model in (NAGRegressor("poisson"), NAGRegressor("tweedie", clip=None)):
        graph = to_onnx(model.partial_fit(X, y)).SerializeToString()
        rows = np.vstack([X, 1e6 * X[:20]])  # some of which have rates beyond the range
        (predicted,) = runtime.InferenceSession(graph).run(None, {"X": rows})
        np.testing.assert_allclose(predicted[:, 0], model.predict(rows), rtol=1e-9)


@pytest.mark.parametrize("learner", [LEARNERS[0], ScaleInvariantRegressor("poisson"), LEARNERS[10]], ids=name)
def test_merged_models_predict_as_one(rng, learner):
    X, y = table(rng, learner.loss, 2000)
    merged = merge([clone(learner).partial_fit(X[i::2], y[i::2]) for i in range(2)])
    assert merged.score(X, y) > clone(learner).partial_fit(X, y).score(X, y) - 0.06
    assert float(merged._state.target_mean()[0]) == pytest.approx(np.log(y.mean()))


def test_intervals_are_of_targets(rng):
    X, y = table(rng, n=2000)
    model = NAGRegressor("poisson").partial_fit(X[:1500], y[:1500])
    low, high = model.predict_interval(X[1500:], coverage=0.9).T
    assert (low >= 0.0).all()
    assert 0.8 < ((low <= y[1500:]) & (y[1500:] <= high)).mean() < 0.98


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_deviance_beyond_float64_scores_in_silence():
    loss = NAGRegressor("poisson")._loss()
    assert d2_score(loss, np.zeros(9), np.full(9, 0.1)) == -np.finfo(float).max
    assert np.isfinite(d2_score(loss, np.zeros((9, 2)), np.full((9, 2), 1e308)))


@pytest.mark.filterwarnings("ignore:alpha has no effect")
@of_rules(parametrize_with_checks([NAGRegressor("poisson", max_iter=3), FTRLRegressor("tweedie", max_iter=5)]))
def test_checks_of_scikit_learn(estimator, check):
    run_check(check, estimator, {**BY_ORDER, "check_regressor_multioutput": "its targets are below 0"})


@pytest.mark.parametrize("family", [NAGRegressor, ScaleInvariantRegressor, FTRLRegressor])
@pytest.mark.parametrize("clip", [(0, 3), (0, 0.1), (20, 50)])
def test_numbers_to_clip_to_are_kept_to_the_bit(rng, family, clip):
    X = rng.normal(size=(50, 2))
    model = family("poisson", clip=clip).partial_fit(X, np.exp(X[:, 0]) * 5.0 + 5.0)
    p, (low, high) = model.predict(3.0 * X), model.predict_interval(3.0 * X, 0.5).T
    assert ((clip[0] <= low) & (low <= p) & (p <= high) & (high <= clip[1])).all()
