"""Intervals of regressors: which errors count, what is returned, and what preserves them."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from sklearn_nag import FTRLRegressor, NAGCellsRegressor, NAGRegressor, ScaleInvariantRegressor, config_context, merge
from sklearn_nag.model_selection import progressive_validation
from sklearn_nag.uncertainty import quantiles

from ..kernels.helpers import KERNELS

X, Y = load_diabetes(return_X_y=True, scaled=False)


def same(a, b):
    return a._evidence[:2] == b._evidence[:2] and np.array_equal(a._evidence.table, b._evidence.table)


@pytest.mark.parametrize("estimator", [NAGRegressor(), FTRLRegressor(), ScaleInvariantRegressor()], ids=repr)
def test_errors_are_those_of_predictions_before_the_row(estimator):
    played = []
    for i in range(60):
        if i:
            played.append(estimator.predict(X[i : i + 1]))
        estimator.partial_fit(X[i : i + 1], Y[i : i + 1])
    # The row itself changes scales and means only a little, and the first row tells nothing.
    expected = quantiles.learn(quantiles.new(1), np.array(played), Y[1:60, None])
    np.testing.assert_allclose(estimator._evidence.mean, expected.mean, rtol=0.05)
    assert estimator._evidence[:2] == expected[:2]


def test_shapes_and_nesting():
    reg = NAGRegressor().partial_fit(X, Y)
    assert reg.predict_interval(X[:7]).shape == (7, 2)
    many = reg.predict_interval(X[:7], [0.5, 0.8, 0.95])
    assert many.shape == (7, 2, 3)
    np.testing.assert_array_equal(many[:, :, 1], reg.predict_interval(X[:7], 0.8))
    assert (np.diff(many[:, 0], axis=1) <= 0).all()
    assert (np.diff(many[:, 1], axis=1) >= 0).all()
    two = NAGRegressor().partial_fit(X, np.column_stack([Y, -100.0 * Y]))
    assert two.predict_interval(X[:7]).shape == (7, 2, 2)
    assert two.predict_interval(X[:7], [0.5, 0.8]).shape == (7, 2, 2, 2)
    widths = np.diff(two.predict_interval(X[:1]))[0, :, 0]
    np.testing.assert_allclose(widths[1], 100.0 * widths[0])
    np.testing.assert_allclose(two.predict_interval(X[:7])[:, 0], reg.predict_interval(X[:7]))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("equal", [2, 12])
def test_errors_that_are_rounding_are_none(equal, kernel):
    """Such errors arise if the first counts are equal, and a mean is predicted as the exponential of its logarithm."""
    rng = np.random.default_rng(0)
    y = rng.poisson(8, 120).astype(float)
    y[:equal] = 3.0
    assert np.exp(np.log(3.0)) != 3.0
    with config_context(kernel=kernel):
        reg = NAGRegressor("poisson").partial_fit(rng.normal(size=(120, 2)), y)
    assert 5.0 < np.diff(reg.predict_interval([[0.0, 0.0]])).item() < 20.0  # 9.4 would be right


@pytest.mark.parametrize("make", [NAGRegressor, NAGCellsRegressor])
@pytest.mark.parametrize("target", [5.0, 5.3, -1e300])
def test_a_constant_target_is_within_although_predictions_are_a_rounding_beside(make, target, rng):
    rows, y = rng.normal(size=(100, 3)), np.full(100, target)
    options = {"n_trees": 2, "random_state": 0} if make is NAGCellsRegressor else {}
    reg = make(half_life="auto", **options).partial_fit(rows, y)
    low, high = reg.predict_interval(rows).T
    assert (low <= y).all()
    assert (y <= high).all()
    np.testing.assert_allclose(high, low, rtol=1e-11)
    if make is NAGRegressor:
        assert progressive_validation(make(half_life="auto"), rows, y, scoring="r2", coverage=0.9).coverage == 1.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_middle_is_what_is_predicted_to_the_bit(order, dtype):
    """The middle is the prediction for any memory layout, even if columns cancel and sums depend on the order."""
    rows = np.zeros((4, 6))
    rows[2], rows[3] = [1.0, -1e-6, 1.0] * 2, [1e38] * 3 + [-1e38] * 3
    rows = np.array(rows, dtype=dtype, order=order)
    reg = NAGRegressor().partial_fit(rows, [0.0, 1.0, 1e77, 0.0], sample_weight=[1.0, 1.0, 1.0, 0.0])
    low, high = reg.predict_interval(rows, 0.3).T
    np.testing.assert_allclose((low + high) / 2, reg.predict(rows), rtol=1e-15)


@pytest.mark.parametrize(
    "estimator",
    [NAGRegressor(clip=None), ScaleInvariantRegressor(invariance="full", update="least_squares", clip=None)],
)
def test_unusual_rows_get_wider_intervals(estimator):
    """For linear targets, intervals of unusual rows are as wide as the errors there.

    Ordinary rows keep the width by which errors were counted.
    """
    rng = np.random.default_rng(0)
    rows, noise = rng.normal(size=(1400, 5)), rng.normal(size=(1400, 40))  # 40 outputs, each learnt by itself
    rows[1200:] *= 40.0
    y = (rows @ [1.0, 2.0, -1.0, 0.5, 0.0])[:, None] + noise
    estimator.partial_fit(rows[:1000], y[:1000])

    def half_widths(X):
        return np.diff(estimator.predict_interval(X))[..., 0] / 2.0

    ordinary, far = rows[1000:1200][np.abs(rows[1000:1200]).max(axis=1) < 2.5], rows[1200:]
    common = half_widths(np.zeros((1, 5)))
    np.testing.assert_allclose(half_widths(ordinary), np.broadcast_to(common, (len(ordinary), 40)))
    errors = np.abs(y[1200:] - estimator.predict(far))
    assert np.mean(errors <= common) < 0.75
    least = 0.85 if estimator.get_params().get("update") == "least_squares" else 0.78  # a pass of NAG is a little worse
    assert least < np.mean(errors <= half_widths(far)) < 0.95
    several = estimator.predict_interval(far, [0.5, 0.8, 0.95])
    assert (np.diff(several[:, :, 1] - several[:, :, 0], axis=2) >= 0).all()


def test_clip():
    low, high = NAGRegressor(clip=(100.0, 200.0)).partial_fit(X, Y).predict_interval(X).T
    assert low.min() == 100.0
    assert high.max() == 200.0
    low, high = NAGRegressor().partial_fit(X, Y).predict_interval(X, 0.99).T
    assert low.min() < Y.min()
    assert high.max() > Y.max()
    new = NAGRegressor(clip=(100.0, 200.0)).partial_fit(X[:3], Y[:3])
    assert new.predict_interval(X[:1]).tolist() == [[100.0, 200.0]]
    assert NAGRegressor().partial_fit(X[:3], Y[:3]).predict_interval(X[:1]).tolist() == [[-np.inf, np.inf]]


@pytest.mark.usefixtures("in_numpy")
@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_intervals_of_counts_and_amounts_begin_at_0(loss, rng):
    X = rng.normal(size=(300, 1))
    reg = NAGRegressor(loss).partial_fit(X, rng.poisson(np.exp(0.5 * X[:, 0])) + 1.0)
    low, high = reg.predict_interval(X, 0.99).T
    assert low.min() == 0.0
    assert (high > reg.predict(X)).all()
    within = NAGRegressor(loss, clip=(0.5, 3.0)).partial_fit(X, np.round(reg.predict(X)) + rng.poisson(1.0, 300) + 1.0)
    low, high = within.predict_interval(X, 0.99).T
    assert (low.min(), high.max()) == (0.5, 3.0)


def test_rows_without_weight_and_cuts_change_nothing():
    weight = np.arange(len(Y)) % 3 * 0.5
    whole = NAGRegressor().partial_fit(X, Y, sample_weight=weight)
    some = NAGRegressor().partial_fit(X[weight > 0], Y[weight > 0], sample_weight=weight[weight > 0])
    played = NAGRegressor()
    played._play(X, Y, sample_weight=weight)
    parts = NAGRegressor()
    for rows in np.array_split(np.arange(len(Y)), 50):
        parts.partial_fit(X[rows], Y[rows], sample_weight=weight[rows])
    parts.partial_fit(X[:3], Y[:3], sample_weight=np.zeros(3))
    assert same(whole, some)
    assert same(whole, played)
    assert same(whole, parts)


def test_fit_takes_the_first_pass_or_the_rows_held_out():
    once = NAGRegressor(max_iter=1, tol=None, random_state=0).fit(X, Y)
    more = NAGRegressor(max_iter=4, tol=None, random_state=0).fit(X, Y)
    assert same(once, more)
    assert more._evidence.rows + more._evidence.waiting == len(Y) - 1
    again = NAGRegressor(max_iter=1, tol=None, random_state=0, warm_start=True).fit(X, Y).fit(X, Y)
    assert same(once, again)
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(300, 60))
    reg = NAGRegressor(random_state=0).fit(wide, wide[:, 0])
    assert len(reg.validation_losses_)
    assert 25 <= reg._evidence.rows + reg._evidence.waiting <= 30  # a tenth of the rows


@pytest.mark.parametrize("weight", [np.ones(50), np.r_[0.0, 0.0, np.ones(28), np.zeros(5), np.ones(15)]])
def test_the_first_row_tells_nothing_of_errors_however_a_stream_is_cut(weight):
    stream = X[:50], Y[:50], weight
    whole = progressive_validation(NAGRegressor(), iter([stream]), coverage=[0.5, 0.9])
    parts = [tuple(part[rows] for part in stream) for rows in np.split(np.arange(50), [1, 3, 20])]
    cut = progressive_validation(NAGRegressor(), iter(parts), coverage=[0.5, 0.9])
    assert np.array_equal(whole.width, cut.width)
    assert np.array_equal(whole.coverage, cut.coverage)
    alone = progressive_validation(NAGRegressor(), *(part[weight > 0] for part in stream[:2]), coverage=[0.5, 0.9])
    assert np.array_equal(whole.width, alone.width)  # rows of weight 0 do not count


def test_half_life_bounds_the_memory():
    y = Y * np.where(np.arange(len(Y)) < 300, 100.0, 1.0)
    width = [np.diff(NAGRegressor(half_life=h).partial_fit(X, y).predict_interval(X[:1], 0.5)) for h in (None, 20)]
    assert width[1] < width[0]


def test_saved_merged_and_failed():
    a, b = NAGRegressor().partial_fit(X[:200], Y[:200]), NAGRegressor().partial_fit(X[200:], Y[200:])
    loaded = pickle.loads(pickle.dumps(a)).partial_fit(X[200:], Y[200:])
    before = a._evidence
    with pytest.raises(ValueError):
        a.partial_fit(X[:2], [1.0, np.nan])
    assert a._evidence is before
    merged = merge([a, b])
    assert merged._evidence.rows == a._evidence.rows + b._evidence.rows
    assert same(a.partial_fit(X[200:], Y[200:]), loaded)
    broken = pickle.loads(pickle.dumps(a))
    broken._evidence = quantiles.new(2)
    with pytest.raises(ValueError, match=r"what is known of errors.table has shape \(2, 23\)"):
        pickle.loads(pickle.dumps(broken))


def test_where_nothing_is_known():
    old = NAGRegressor().partial_fit(X, Y)
    del old._evidence
    old = pickle.loads(pickle.dumps(old))
    with pytest.raises(ValueError, match="this NAGRegressor has no record of its errors"):
        old.predict_interval(X)
    assert np.isfinite(old.partial_fit(X[:50], Y[:50]).predict_interval(X[:1])).all()
    with pytest.raises(ValueError, match="has no record of its errors"):
        old.set_coef(old.coef_, old.intercept_).predict_interval(X)
    assert merge([old, old])._evidence is None


@pytest.mark.parametrize("coverage", [0.0, 1.0, np.nan, [], [[0.5]], [0.5, 2.0]])
def test_coverages_that_cannot_be(coverage):
    with pytest.raises(ValueError, match="coverage must be"):
        NAGRegressor().partial_fit(X, Y).predict_interval(X, coverage)


@pytest.mark.parametrize("estimator", [NAGRegressor(), FTRLRegressor(), ScaleInvariantRegressor()], ids=repr)
def test_before_the_first_row_that_counts_they_are_infinite(estimator):
    estimator.partial_fit(X[:3], Y[:3], sample_weight=[0.0, 0.0, 0.0])
    np.testing.assert_array_equal(estimator.predict_interval(X[:2]), [[-np.inf, np.inf]] * 2)
