"""`ScaleInvariantClassifier` and `ScaleInvariantRegressor`: parameters, ugly input, and quality on bundled data."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes, load_wine
from sklearn.linear_model import LinearRegression

from sklearn_nag import ScaleInvariantClassifier, ScaleInvariantRegressor, config_context, losses
from sklearn_nag.kernels import _backend
from sklearn_nag.model_selection import progressive_validation

from ..kernels.bounded_helpers import KINDS, flat
from ..kernels.helpers import KERNELS, make_data


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
@pytest.mark.parametrize("loss", losses.REGRESSION)
def test_no_overflow_whatever_the_targets(rng, kind, loss):
    X, y = rng.normal(size=(60, 4)) * [1e-150, 1.0, 0.0, 1e150], rng.normal(size=60)
    X[:, 1] = 3.0
    for size, unit in itertools.product([1e-200, 1.0, 1e200], ["standard", None]):
        reg = ScaleInvariantRegressor(loss, invariance=kind[0], update=kind[1], target_normalization=unit)
        reg.partial_fit(X, size * y)
        assert np.isfinite(reg.predict(X)).all(), (size, unit)
        assert np.isfinite(flat(reg._state)).all(), (size, unit)
        assert np.isfinite(reg.progressive_loss_), (size, unit)


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
@pytest.mark.parametrize("loss", losses.CLASSIFICATION)
def test_one_class_equal_rows_and_zeros(kind, loss):
    n = 20_000 if _backend._has_numba() else 500
    for X in (np.ones((n, 2)), np.zeros((n, 2)), np.tile([1e-3, 1e5], (n, 1))):
        clf = ScaleInvariantClassifier(loss, invariance=kind[0], update=kind[1])
        clf.partial_fit(X, np.ones(n, dtype=int), classes=[0, 1])
        assert np.isfinite(flat(clf._state)).all()
        assert (clf.predict(X) == 1).all()


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_columns_of_all_scales_constant_and_double(rng, kind):
    X = rng.normal(size=(200, 6)) * [1e-150, 1e150, 1.0, 1.0, 0.0, 1.0]
    X[:, 3], X[:, 5] = 2 * X[:, 2], 1e9
    y = X[:, 2] + 1e150 * X[:, 0] + 1e-150 * X[:, 1] + 0.1 * rng.normal(size=200)
    reg = ScaleInvariantRegressor(invariance=kind[0], update=kind[1], max_iter=30, random_state=0).fit(X, y)
    assert reg.score(X, y) > 0.9
    if kind[0] == "full":
        assert np.linalg.matrix_rank(reg._state.factor / np.abs(reg._state.factor).max(axis=0).clip(1e-300)) == 4
        np.testing.assert_allclose(reg.predict(X), X @ reg.coef_ + reg.intercept_, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_a_scale_that_grows_late_does_not_spoil_predictions(rng, kind):
    X = rng.normal(size=(2000, 3))
    X[:200, 0] *= 1e-6
    y = X @ [1.0, 1.0, 0.0] + 0.1 * rng.normal(size=2000)
    reg = ScaleInvariantRegressor(invariance=kind[0], update=kind[1], target_normalization=None, clip=None, epsilon=1.0)
    assert reg.partial_fit(X, y).score(X[200:], y[200:]) > 0.9


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("update", ["scinol1", "scinol2", "potential"])
def test_values_at_the_mean_are_values_like_others(kernel, update):
    """A value equal to its running mean is exactly 0 in one unit, and rounding in another."""
    rng = np.random.default_rng(160)
    inches = rng.integers(60, 76, (300, 1)).astype(float)
    y = 2 * inches[:, 0] + rng.normal(0, 8, 300)
    with config_context(kernel=kernel):
        played = [
            progressive_validation(ScaleInvariantRegressor(update=update), X, y).predictions["predict"]
            for X in (inches, inches * 2.54, inches + 0.1)
        ]
    for others in played[1:]:
        np.testing.assert_allclose(others, played[0], rtol=1e-11)


def test_fewer_rows_than_columns(rng):
    X, y = rng.normal(size=(10, 30)), rng.normal(size=10)
    reg = ScaleInvariantRegressor(invariance="full").fit(X, y)
    assert np.isfinite(reg.predict(rng.normal(size=(5, 30)))).all()
    assert reg.score(X, y) > 0.5


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_batch_quality_on_bundled_data(kind):
    X, y = load_diabetes(return_X_y=True, scaled=False)
    options = {"invariance": kind[0], "update": kind[1], "max_iter": 5, "random_state": 0}
    reg = ScaleInvariantRegressor(**options).fit(X, y)
    best = LinearRegression().fit(X, y).score(X, y)
    assert reg.score(X, y) > best - (0.02 if kind[0] == "full" else 0.1)
    X, y = load_wine(return_X_y=True)
    clf = ScaleInvariantClassifier(**options).fit(X, y)
    assert clf.score(X, y) > 0.95
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1.0)


def test_scales_and_means_of_full_invariance(rng):
    X = rng.normal(size=(500, 3)) * [1e-5, 1.0, 1e5] + [3.0, -1e3, 1e6]
    weights = rng.exponential(size=500)
    reg = ScaleInvariantRegressor(invariance="full").partial_fit(X, X[:, 1], weights)
    mean = np.average(X, axis=0, weights=weights)
    np.testing.assert_allclose(reg.mean_, mean, rtol=1e-12)
    np.testing.assert_allclose(reg.scale_, np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights)), rtol=1e-8)


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_average_can_be_changed_on_the_way(rng, kind):
    X, y = make_data(rng, loss="squared_error")
    three = {
        average: ScaleInvariantRegressor(invariance=kind[0], update=kind[1], average=average).partial_fit(X, y)
        for average in (False, True, "auto")
    }
    assert not np.array_equal(three[False].coef_, three[True].coef_)
    told = [three[average].set_params(average=True).partial_fit(X[:1], y[:1]).coef_ for average in three]
    assert np.array_equal(told[0], told[1])
    assert np.array_equal(told[0], told[2])


def test_the_better_of_latest_weights_and_average_predicts(rng):
    """The latest weights follow a random walk. The average knows more about columns that are nearly the same."""
    walk = rng.normal(size=2001).cumsum()
    X = rng.normal(size=(2000, 1)) + 0.1 * rng.normal(size=(2000, 20))
    streams = [(walk[:-1, None], walk[1:]), (X, X.sum(axis=1) + 5.0 * rng.normal(size=2000))]
    for better, (rows, y) in zip((False, True), streams, strict=True):
        losses = {
            average: ScaleInvariantRegressor(average=average).partial_fit(rows, y).progressive_loss_
            for average in (False, True, "auto")
        }
        assert losses[better] < 0.95 * losses[not better]
        assert losses["auto"] < losses[better] + 0.1 * (losses[not better] - losses[better])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"update": "potential", "potential_alpha": 1.125}, "potential_alpha"),
        ({"invariance": "full", "potential_alpha": np.nan}, "potential_alpha"),
        (
            {"invariance": "partial"},
            "'invariance' parameter of ScaleInvariantRegressor must be one of 'coordinatewise', 'full'",
        ),
        ({"update": "nag"}, "'update' parameter of ScaleInvariantRegressor must be one of"),
        ({"invariance": "full", "update": "scinol1"}, "invariance='full' needs update='auto' or 'potential'"),
        ({"invariance": "full", "centering": False}, "centering=False"),
        ({"epsilon": "large"}, "'epsilon' parameter of ScaleInvariantRegressor must be 'auto' or a float"),
        ({"epsilon": -1.0}, "epsilon"),
    ],
)
def test_parameters_out_of_range(options, message):
    with pytest.raises(ValueError, match=message):
        ScaleInvariantRegressor(**options).fit([[0.0], [1.0]], [0.0, 1.0])


def test_average_is_a_flag_or_auto():
    with pytest.raises(
        TypeError, match="'average' parameter of ScaleInvariantRegressor must be one of True, False, 'auto'. Got 10"
    ):
        ScaleInvariantRegressor(average=10).fit([[0.0], [1.0]], [0.0, 1.0])
    with pytest.raises(
        ValueError, match="'average' parameter of ScaleInvariantClassifier must be one of True, False, 'auto'. Got 'al"
    ):
        ScaleInvariantClassifier(average="always").fit([[0.0], [1.0]], [0, 1])


def test_full_invariance_is_for_dense_rows():
    with pytest.raises(ValueError, match="invariance='full' needs dense X"):
        ScaleInvariantRegressor(invariance="full").fit(sparse.eye_array(3).tocsr(), [0.0, 1.0, 2.0])


def test_a_model_cannot_go_on_with_another_update():
    clf = ScaleInvariantClassifier().partial_fit([[0.0], [1.0]], [0, 1], classes=[0, 1])
    with pytest.raises(ValueError, match="update was 'auto' when this model was new and is 'potential' now"):
        clf.set_params(update="potential").partial_fit([[0.0]], [0])
    reg = ScaleInvariantRegressor(invariance="full").partial_fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="loss was 'auto' when this model was new and is 'absolute_error' now"):
        reg.set_params(loss="absolute_error").partial_fit([[0.0]], [0])
    with pytest.raises(ValueError, match="invariance was"):
        clf.set_params(update="auto", invariance="full").partial_fit([[0.0]], [0])


def test_centering_as_a_boolean_of_numpy():
    with pytest.raises(ValueError, match="centering=False does not go with invariance='full'"):
        ScaleInvariantRegressor(invariance="full", centering=np.bool_(False)).fit([[0.0], [1.0]], [0.0, 1.0])


def test_alpha_is_a_number_also_where_it_has_no_use():
    with pytest.raises(TypeError, match="'potential_alpha' parameter of ScaleInvariantRegressor must be a float"):
        ScaleInvariantRegressor(potential_alpha="1.5").fit([[0.0], [1.0]], [0.0, 1.0])
