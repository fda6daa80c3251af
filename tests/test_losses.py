"""Each loss on its own: its derivative and the bound of that, its importance-aware move, and its target's unit."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.metrics import mean_tweedie_deviance

from sklearn_nag import NAGRegressor, ScaleInvariantRegressor, config_context, losses

from .kernels.helpers import KERNELS

LOSSES = {**losses.CLASSIFICATION, **losses.REGRESSION}
FOR_NUMBERS = {**losses.REGRESSION, **losses.LOG_LINK}
CAREFUL = [name for name, loss in LOSSES.items() if loss.move is not None]


def predictions_and_targets(rng, name):
    p, y = rng.normal(scale=3.0, size=500), rng.normal(scale=3.0, size=500)
    return p, np.sign(y) if name in losses.CLASSIFICATION else y, rng.uniform(0.5, 2.0, 500)


@pytest.mark.parametrize("name", LOSSES)
def test_gradient_is_the_derivative_of_the_value(rng, name):
    loss, h = LOSSES[name](), 1e-6
    p, y, unit = predictions_and_targets(rng, name)
    slope = (loss.value(p + h, y, unit) - loss.value(p - h, y, unit)) / (2 * h)
    np.testing.assert_allclose(loss.gradient(p, y, unit), slope, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_bound_is_the_largest_derivative(rng, name):
    loss = LOSSES[name]()
    p, y, unit = predictions_and_targets(rng, name)
    far = np.abs(loss.gradient(np.concatenate([p, -1e3 * y, 1e3 * y]), np.tile(y, 3), np.tile(unit, 3)))
    for largest, one in zip(far.reshape(3, -1).max(axis=0), unit):
        bound = loss.lipschitz(one)
        if bound is None:
            assert far.max() > 100.0
        else:
            assert largest <= bound
    if loss.lipschitz() is not None:
        assert np.abs(loss.gradient(np.array([-1e3, 1e3]), np.array([1.0, -1.0]))).max() == loss.lipschitz()


@pytest.mark.parametrize("name", LOSSES)
def test_no_prediction_and_no_time_is_too_far(name):
    loss, y = LOSSES[name](), np.array([1.0, -1.0])
    for p in (y * np.inf, -y * np.inf):
        assert not np.isnan(loss.value(p, y)).any()
        assert not np.isnan(loss.gradient(p, y)).any()
    if loss.move is not None:
        moves = loss.move(-y, y, 1e120), loss.move(-y, y, np.inf), loss.move(y, y, 1.0, 0.0)  # also without a unit
        assert np.isfinite(moves).all()
        assert (moves[0] * y >= 1.0).all()


@pytest.mark.parametrize("name", ["hinge", "squared_hinge", "modified_huber"])
def test_rounding_at_the_kink_of_a_hinge_is_no_slope(name):
    loss = LOSSES[name]()
    assert loss.gradient(1.0 - 1e-10, 1.0) == 0.0 > loss.gradient(1.0 - 1e-8, 1.0)


def test_rounding_of_logarithms_is_no_slope_and_none_is_too_steep():
    for loss in (losses.Poisson(), losses.Tweedie(1.5), losses.Gamma()):
        assert loss.gradient(np.log(3.0) + 1e-13, 3.0) == loss.value(np.log(3.0) + 1e-13, 3.0) == 0.0
        assert loss.gradient(np.log(3.0) + 1e-11, 3.0) > 0.0
    assert losses.Poisson().gradient(800.0, 1.0) == 2.0**511 == -losses.Gamma().gradient(-800.0, 1.0)


def test_from_where_on_targets_are_outliers_and_what_slows_rates():
    known = {"squared_error": 32.0, "huber": 6.0, "absolute_error": 6.0, "poisson": 32.0}
    known = {name: (limit, 1.0) for name, limit in known.items()}
    assert {name: (loss.outlying, loss.slowed) for name in known for loss in [FOR_NUMBERS[name]()]} == known
    for quantile, limit, slowed in ((0.5, 6.0, 1.0), (0.9, 6.0 / math.sqrt(0.2), 0.6), (0.001, 32.0, 0.063214)):
        loss = losses.Quantile(quantile)
        assert (loss.outlying, loss.slowed) == (pytest.approx(limit), pytest.approx(slowed, rel=1e-4))


@pytest.mark.parametrize("name", losses.REGRESSION)
def test_degree_is_how_a_loss_grows_with_the_unit_of_the_target(rng, name):
    loss = LOSSES[name]()
    p, y, unit = predictions_and_targets(rng, name)
    expected = 8.0**loss.degree * loss.value(p, y, unit)
    np.testing.assert_allclose(loss.value(8 * p, 8 * y, 8 * unit), expected, rtol=1e-12)


@pytest.mark.parametrize("name", CAREFUL)
def test_moves_solve_the_differential_equation(name, rng):
    """Moves solve ``dp/da = -gradient``, according to the Runge-Kutta method."""
    loss, steps = LOSSES[name](), 4000
    p, y, unit = (each[:200] for each in predictions_and_targets(rng, name))
    a = 10.0 ** rng.uniform(-4, 1, p.size)
    h, q = a / steps, p
    for _ in range(steps):
        k1 = -loss.gradient(q, y, unit)
        k2 = -loss.gradient(q + h / 2 * k1, y, unit)
        k3 = -loss.gradient(q + h / 2 * k2, y, unit)
        k4 = -loss.gradient(q + h * k3, y, unit)
        q = q + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    tolerance = 1e-9 + 4 * h * np.abs(loss.gradient(p, y, unit))  # a kink costs the accuracy of a step
    assert (np.abs(loss.move(p, y, a, unit) - (q - p)) <= tolerance).all()


def test_moves_of_the_log_loss_to_many_digits(rng):
    loss = losses.Log()
    margin, a = rng.uniform(-250, 600, 5000), 10.0 ** rng.uniform(-20, 20, 5000)
    moved = loss.move(margin, 1.0, a)
    assert (moved >= 0).all()
    for m, exposure, d in zip(margin[:300], a[:300], moved[:300]):
        low, high = 0.0, exposure
        while low < (middle := (low + high) / 2) < high:
            below = middle < 700 and middle + math.exp(m) * math.expm1(middle) < exposure
            low, high = (middle, high) if below else (low, middle)
        assert d == pytest.approx(low, rel=1e-11)


def test_moves_of_a_softmax_end_where_the_loss_of_the_row_is_least(rng):
    """A move ends at the least loss on its line, as an independent search finds it.

    Moves towards classes are not shortened.
    """
    loss, held_back = losses.Softmax(), 0
    for _ in range(100):
        p, shares = 3.0 * rng.normal(size=4), rng.dirichlet(np.ones(4))
        y = 2.0 * shares - 1.0
        move = loss.move(loss.margins(p), y, rng.lognormal(2.0, 2.0), 1.0)

        def along(share, p=p, move=move, shares=shares):
            return -(shares * log_softmax(p + share * move)).sum()

        share = float(loss.share(loss.margins(p)[None], move[None], y[None])[0, 0])
        best = minimize_scalar(along, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-10})
        assert along(share) <= best.fun + 1e-14
        assert share in (1.0, pytest.approx(best.x, abs=1e-6))
        held_back += share < 1.0
        hard = 2.0 * (np.arange(4) == rng.integers(4)) - 1.0
        move = loss.move(loss.margins(p), hard, 1e9, 1.0)
        assert loss.share(loss.margins(p)[None], move[None], hard[None]) == 1.0
    assert 20 < held_back < 80


def test_softmax_is_what_its_formula_says(rng):
    loss = losses.Softmax()
    for scale in (1.0, 30.0, 1000.0):
        p = rng.normal(size=(50, 6)) * scale
        p[:5] = np.round(p[:5] / scale)  # ties
        y = np.where(np.arange(6) == rng.integers(0, 6, (50, 1)), 1.0, -1.0)
        margins = loss.margins(p)
        np.testing.assert_allclose(loss.value(margins, y).sum(axis=1), -log_softmax(p, axis=1)[y > 0], 1e-12, 1e-15)


@pytest.mark.parametrize("name", CAREFUL)
def test_no_step_goes_beyond_where_the_loss_is_least(rng, name):
    loss = LOSSES[name]()
    p, y, unit = predictions_and_targets(rng, name)
    for a in (1e-3, 1.0, 1e17, 1e33, 1e300):
        with np.errstate(over="ignore"):
            move = loss.move(p, y, np.full(500, a), 1e-36 * unit)  # a unit far smaller than the steps
        assert (np.abs(move) <= np.maximum(np.abs(y - p), 1000.0)).all()  # margins of the log loss are unbounded
        if name in losses.REGRESSION:
            assert (np.abs(move) <= np.abs(y - p) * (1.0 + 1e-12)).all()


@pytest.mark.filterwarnings("ignore:some rows did not count")
@pytest.mark.parametrize("kernel", KERNELS)
def test_huber_at_both_ends_of_the_range(kernel):
    largest, y = np.finfo(float).max, [[999999998.9793149], [1000000000.972493]] * 2
    with config_context(kernel=kernel):
        model = ScaleInvariantRegressor(target_normalization=None, epsilon=0.0)
        model.partial_fit([[1.0], [1.0], [1.0]], [largest, 0.0, -largest])
        assert model.progressive_loss_ == 0.0
        model = NAGRegressor("huber", epsilon=1e-300)
        for i, weight in ((1, 1.0), (0, 1e81), (0, 1e81), (1, 1.0)):
            model.partial_fit([[float(i)]], [[0.0, *y[i], 0.0]], sample_weight=[weight])
        assert np.isfinite(model.coef_).all()


@pytest.mark.filterwarnings("ignore:some rows did not count")
@pytest.mark.parametrize("kernel", KERNELS)
def test_huber_far_from_the_target_moves_by_its_slope_alone(kernel):
    """The rest of the step is exactly 0. Rounding errors of its parts would be magnified by the distance."""
    a = np.random.default_rng(0).random(1000) * 1e-26
    np.testing.assert_array_equal(losses.Huber(10.0).move(np.zeros(1000), np.full(1000, 1e300), a), 10.0 * a)
    X = np.array([[1.0, 1.0, 1.0, 1.0, -10.0, -0.08, 0.04, -0.002], [0.0, 2000.0, 0.0, 1000000.0, 0.0, 0.0, 0.0, 0.0]])
    reg = NAGRegressor("huber", target_normalization=None, epsilon=10.0)
    with config_context(kernel=kernel):
        reg.partial_fit(X, np.array([[0.0, 0.0], [0.0, 1e308]]), sample_weight=[1e48, 1e-85])
    assert np.abs(reg._state.columns.past).max() < 1e60


POWERS = [1.0, 1.01, 1.3, 1.5, 1.9, 2.0]


@pytest.fixture
def deviant_rows(rng):
    return rng.normal(scale=2.0, size=200), np.exp(rng.normal(scale=2.0, size=200)), 10.0 ** rng.uniform(-4, 1.5, 200)


@pytest.mark.parametrize("power", POWERS)
def test_deviances_are_those_of_scikit_learn(deviant_rows, power):
    p, y, _ = deviant_rows
    if power < 2.0:
        y[::5] = 0.0
    expected = [mean_tweedie_deviance([b], [math.exp(a)], power=power) for a, b in zip(p, y)]
    np.testing.assert_allclose(losses.Tweedie(power).value(p, y), expected, rtol=1e-9, atol=1e-10)
    assert (losses.Tweedie(power).value(np.full(200, losses.NOTHING), y) == 0.0).all()


@pytest.mark.parametrize("power", POWERS)
def test_slopes_of_deviances(deviant_rows, power):
    (p, y, _), loss, h = deviant_rows, losses.Tweedie(power), 1e-6
    slope = (loss.value(p + h, y) - loss.value(p - h, y)) / (2 * h)
    np.testing.assert_allclose(loss.gradient(p, y), slope, rtol=1e-4, atol=1e-5 * (1 + y.max()))


@pytest.mark.parametrize("power", POWERS)
def test_moves_of_deviances_solve_the_differential_equation(deviant_rows, power):
    (p, y, a), loss = deviant_rows, losses.Tweedie(power)
    if power < 2.0:
        y[::5] = 0.0
    moves = loss.move(p, y, a)
    for i in range(40):

        def slope(_, q, y=y[i]):
            return -loss.gradient(q, y)

        solved = solve_ivp(slope, (0.0, a[i]), [p[i]], method="LSODA", rtol=1e-10, atol=1e-12)
        assert moves[i] == pytest.approx(solved.y[0, -1] - p[i], rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("power", POWERS)
def test_two_moves_are_one_of_both_times(deviant_rows, power):
    (p, y, a), loss = deviant_rows, losses.Tweedie(power)
    first = loss.move(p, y, a)
    np.testing.assert_allclose(first + loss.move(p + first, y, 2 * a), loss.move(p, y, 3 * a), rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("power", [*POWERS, 1.0 + 1e-7, 1.0 + 2e-6, 2.0 - 2e-6])
def test_no_move_goes_beyond_the_target(power):
    loss = losses.Tweedie(power)
    sizes = np.array([5e-324, 1e-300, 1e-10, 0.1, 1.0, 3.0, 1e10, 1e300, 1.7e308])
    starts = np.array([-1e300, -1e4, -700.0, -1.0, 0.0, 1.0, 30.0, 700.0, 1e4, 1e300])
    for y in sizes if power == 2.0 else np.append(0.0, sizes):
        p, a = map(np.ravel, np.meshgrid(starts, sizes))
        move = loss.move(p, np.full(p.size, y), a)
        way = (math.log(y) if y > 0 else -np.inf) - p
        assert np.isfinite(move).all()
        assert (move * np.sign(way) >= 0.0).all()
        assert (np.abs(move) <= np.abs(way)).all()


def test_soft_labels_are_the_mean_over_classes(rng):
    p, share = rng.normal(scale=5.0, size=500), rng.uniform(size=500)
    y, loss = 2.0 * share - 1.0, losses.Log()
    for method in (loss.value, loss.gradient):
        np.testing.assert_allclose(method(p, y), share * method(p, 1.0) + (1.0 - share) * method(p, -1.0), rtol=1e-12)
    p, shares = rng.normal(scale=3.0, size=(50, 4)), rng.dirichlet(np.ones(4), 50)
    loss, y = losses.Softmax(), 2.0 * shares - 1.0
    expected = -(shares * log_softmax(p, axis=1)).sum(axis=1)
    np.testing.assert_allclose(loss.value(loss.margins(p), y).sum(axis=1), expected, rtol=1e-12)
    np.testing.assert_allclose(loss.gradient(loss.margins(p), y), softmax(p, axis=1) - shares, atol=1e-14)


def test_moves_of_soft_labels_solve_the_differential_equation(rng):
    """By Runge and Kutta; near classes, the move of these; and far out, the time that the move takes."""
    loss, steps = losses.Log(), 2000
    p, y, a = rng.normal(scale=3.0, size=300), rng.uniform(-1.0, 1.0, 300), 10.0 ** rng.uniform(-6, 1.5, 300)
    h, q = a / steps, p
    for _ in range(steps):
        k1 = -loss.gradient(q, y)
        k2 = -loss.gradient(q + h / 2 * k1, y)
        k3 = -loss.gradient(q + h / 2 * k2, y)
        k4 = -loss.gradient(q + h * k3, y)
        q = q + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    np.testing.assert_allclose(loss.move(p, y, a), q - p, rtol=1e-9, atol=1e-11)
    near = loss.move(p, np.sign(y) * (1.0 - 2.0**-53), a)
    np.testing.assert_allclose(near, loss.move(p, np.sign(y), a), rtol=1e-9)
    mixed = np.where(np.arange(300) % 2, y, np.sign(y))
    np.testing.assert_array_equal(loss.move(p, mixed, a)[1::2], loss.move(p, y, a)[1::2])
    np.testing.assert_array_equal(loss.move(p, mixed, a)[::2], loss.move(p, np.sign(y), a)[::2])


def test_moves_of_soft_labels_stay_in_range():
    ends = [-1.7e308, -1e17, -800.0, -1.0, 0.0, 30.0, 1e300]
    for p in ends:
        for y in (-1.0 + 2.0**-52, -0.5, 0.0, 1e-300, 0.9, 1.0 - 2.0**-53):
            best = math.log(0.5 * (1.0 + y)) - math.log(0.5 * (1.0 - y))
            for a in (0.0, 5e-324, 1e-200, 1.0, 1e20, 1e300, 1.7e308):
                moved = losses.soft_move(p, y, a)
                assert min(0.0, best - p) <= moved <= max(0.0, best - p)
            if abs(p) < 1e20:
                assert losses.soft_move(p, y, 1e99) == best - p
