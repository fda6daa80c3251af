"""Nearest points of sets, compared with a solver that does not know the sets, and checked by the definition."""

import itertools
import pickle
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy.optimize import brentq

from sklearn_nag.constraints import Box, L2Ball, Simplex, WeightedL1Ball

SETS = [L2Ball, WeightedL1Ball, Simplex]


def cases(seed, n=1000):
    """Points, metrics and radii of all sizes, with ties, zeros, single coordinates, and points that are in the set."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        d = int(rng.integers(1, 9))
        v = rng.normal(size=d) * 10.0 ** rng.uniform(-2, 2)
        metric = np.ones(d) if i % 2 else 10.0 ** rng.uniform(-2, 2, d)
        radius = 10.0 ** rng.uniform(-2, 2)
        kind = i % 7
        if kind == 1:
            v = np.round(v)
        elif kind == 2:
            v[rng.random(d) < 0.5] = 0.0
        elif kind == 3:
            v[:] = v[0]
        elif kind == 4:
            v = -np.abs(v)
        elif kind == 5:
            v *= radius / max(np.abs(v).sum(), 1e-300)
        yield v, metric, radius


def by_active_sets(kind, v, a, radius):
    """The nearest point by trying all sets of nonzero coordinates, each a quadratic program without inequalities."""
    sign = np.where(v < 0, -1.0, 1.0) if kind is WeightedL1Ball else np.ones(v.size)
    if kind is WeightedL1Ball and np.abs(v).sum() <= radius:
        return v
    some = np.array(list(itertools.product([0.0, 1.0], repeat=v.size)))[1:]
    # minimise sum a (u - v)^2 with sum sign u = radius over some coordinates: one multiplier for each set of these
    multiplier = (radius - some @ (sign * v)) / (some @ (1.0 / a))
    u = some * (v + multiplier[:, None] * sign / a)
    cost = (a * (u - v) ** 2).sum(axis=1)
    cost[(u * sign < -1e-12 * radius).any(axis=1)] = np.inf
    return u[cost.argmin()]


def by_scipy(kind, v, a, radius):
    """The nearest point from the constraint's multiplier, which is the root of one equation that SciPy solves."""
    if kind is L2Ball:
        if np.linalg.norm(v) <= radius:
            return v

        def point(log):
            return v * a / (a + np.exp(log))

        log = brentq(lambda log: np.linalg.norm(point(log)) / radius - 1.0, -80, 80, xtol=1e-15, rtol=1e-15)
        return point(log)
    if kind is WeightedL1Ball:
        return v if np.abs(v).sum() <= radius else np.sign(v) * by_scipy(Simplex, np.abs(v), a, radius)
    low, high = (a * (v - 2.0 * radius)).min(), (a * v).max()
    root = brentq(lambda x: np.maximum(v - x / a, 0.0).sum() - radius, low, high, xtol=1e-18, rtol=1e-15)
    return np.maximum(v - root / a, 0.0)


@pytest.mark.parametrize("solve", [by_scipy, by_active_sets])
@pytest.mark.parametrize("kind", SETS)
def test_against_solvers(kind, solve):
    if kind is L2Ball and solve is by_active_sets:
        pytest.skip("its points lie on no faces")
    for v, a, radius in cases(SETS.index(kind)):
        scale = max(radius, np.abs(v).max())
        np.testing.assert_allclose(kind(radius).project(v, a), solve(kind, v, a, radius), rtol=0, atol=1e-9 * scale)


@pytest.mark.parametrize("kind", SETS)
def test_no_other_point_of_the_set_is_nearer(kind):
    """In many dimensions, the way to any other point of the set is uphill."""
    rng = np.random.default_rng(0)
    for d in (1, 50, 3000):
        v, a = rng.standard_cauchy(d), 10.0 ** rng.uniform(-3, 3, d)
        u = kind(2.0).project(v, a)
        slope = a * (u - v)  # must be orthogonal to the face on which u lies
        least = {
            L2Ball: -2.0 * np.linalg.norm(slope),
            WeightedL1Ball: -2.0 * np.abs(slope).max(),
            Simplex: 2.0 * slope.min(),
        }[kind]
        assert slope @ u <= least + 1e-9 * np.abs(slope).max() * 2.0
        size = np.linalg.norm(u) if kind is L2Ball else np.abs(u).sum()
        assert size == pytest.approx(2.0, rel=1e-12) or size <= 2.0
        np.testing.assert_allclose(kind(2.0).project(u, a), u, rtol=0, atol=1e-12)


def by_fractions(kind, v, a, radius):
    """The nearest point in exact arithmetic."""
    size, a = [Fraction(abs(x) if kind is WeightedL1Ball else x) for x in v], [Fraction(x) for x in a]
    total, inverses, level = -Fraction(radius), 0, None
    if kind is WeightedL1Ball and sum(size) <= radius:
        return [Fraction(x) for x in v]
    for i in sorted(range(len(a)), key=lambda i: -a[i] * size[i]):
        if level is None or a[i] * size[i] > level:
            total, inverses = total + size[i], inverses + 1 / a[i]
            level = total / inverses
    sign = np.where(np.signbit(v) & (kind is WeightedL1Ball), -1, 1).tolist()
    return [s * max(x - level / y, 0) for s, x, y in zip(sign, size, a)]


def squared_distance(v, a, point):
    """The squared distance in the metric, in exact arithmetic."""
    return sum(Fraction(c) * (Fraction(y) - Fraction(x)) ** 2 for x, y, c in zip(v, point, a))


def size_of(point):
    """The sum of the absolute coordinates, in exact arithmetic."""
    return sum(abs(Fraction(x)) for x in point)


@cache
def far_away(kind):
    """Points, metrics and radii of all sizes, each with the nearest point, its size and its squared distance."""
    rng, found = np.random.default_rng(0), []
    for i in range(1000):
        d = int(rng.integers(1, 9))
        v, radius = rng.normal(size=d) * 10.0 ** rng.uniform(-20, 20, d), 10.0 ** rng.uniform(-100, 20)
        if i % 3 == 0:  # ties and near ties
            v = abs(v[0]) * (1.0 + rng.integers(-3, 4, d) * 2.0**-52)
        a = np.ones(d) if i % 2 else 10.0 ** rng.uniform(-1, 1, d) ** (1 + i % 4)
        best = by_fractions(kind, v, a, radius)
        found.append((v, a, radius, best, size_of(best), squared_distance(v, a, best)))
    return found


@cache
def compiled_project():
    numba = pytest.importorskip("numba")
    from sklearn_nag.kernels.compiled.projections import project

    return numba.njit(lambda table, n, code, radius: project(table, 0, 1, 2, 3, n, code, radius))


def compiled(kind, v, a, radius):
    table = np.array([v, a, v, a])
    compiled_project()(table, len(v), kind.code, radius)
    return table[0]


def plain(kind, v, a, radius):
    return kind(radius).project(v, a)


@pytest.mark.parametrize("kind", [L2Ball, WeightedL1Ball])
def test_points_inside_stay_bit_for_bit_however_large_the_radius(kind):
    inside = np.array([1e-20 / 3, 1 / 3, -1e-300])
    for radius in (1.0, 1e300, 1e308):
        np.testing.assert_array_equal(kind(radius).project(inside), inside)


@pytest.mark.parametrize("project", [plain, compiled])
@pytest.mark.parametrize("kind", [WeightedL1Ball, Simplex])
def test_points_far_away_leave_the_radius_its_digits(kind, project):
    """Projections of points at any distance agree with exact fractions in their sum and their distance.

    No rounding of the point can hide an error in the distance.
    """
    for v, a, expected in [
        ([1e16, 5.0], [1.0, 1.0], [1.0, 0.0]),
        ([1e16, 1e16], [1.0, 1.0], [0.5, 0.5]),
        ([1e16, 1e16 - 2.0], [1.0, 1.0], [1.0, 0.0]),
        ([1e300, 1.0, 3.0], [1.0, 1.0, 1.0], [1.0, 0.0, 0.0]),
        ([1.0, 1.0], [1e-17, 1.0], [0.0, 1.0]),
        ([1.0, 1.0], [1e-170, 1e170], [0.0, 1.0]),
    ]:
        np.testing.assert_allclose(project(kind, np.array(v), np.array(a), 1.0), expected, rtol=0, atol=1e-15)
    for v, a, radius, best, size, distance in far_away(kind):
        u = project(kind, v, a, radius)
        assert abs(size_of(u) - size) <= 1e-14 * radius
        if (a == 1.0).all():
            assert all(abs(Fraction(x) - y) <= 1e-14 * radius for x, y in zip(u.tolist(), best))
        assert squared_distance(v, a, u) <= distance * Fraction(1 + 1e-13)
        np.testing.assert_allclose(project(kind, u, a, radius), u, rtol=0, atol=1e-14 * radius)


@pytest.mark.parametrize("project", [plain, compiled])
def test_points_far_from_a_ball_are_pulled_by_the_metric_alone(project):
    for a in ([1.0, 1.0, 1.0], [1.0, 0.5, 0.25]):
        v = np.array([3e30, -4e30, 5.0])
        u, pulled = project(L2Ball, v, np.array(a), 0.5), np.multiply(v, a)
        np.testing.assert_allclose(u, 0.5 * pulled / np.linalg.norm(pulled), rtol=1e-14)


@pytest.mark.parametrize("kind", SETS)
def test_units_do_not_matter_and_any_double_will_do(kind):
    rng = np.random.default_rng(0)
    for factor in 2.0 ** np.array([-900.0, -10.0, 300.0, 900.0]):
        v, a = rng.normal(size=6), rng.uniform(0.1, 10.0, 6)
        expected = kind(0.7).project(v, a) * factor
        assert np.array_equal(kind(0.7).scaled(factor).project(v * factor, a), expected)
        np.testing.assert_allclose(kind(0.7 * factor).project(v * factor, a * 1e20), expected, rtol=1e-12)
    for v in ([1e308, -1e308], [5e-324, 0.0], [0.0, 0.0]):
        u = kind(1.0).project(v, [1e-300, 1e300])
        assert np.isfinite(u).all()
        assert np.abs(u).sum() <= np.sqrt(2.0) * (1 + 1e-12)


@pytest.mark.parametrize("kind", SETS)
def test_sets_are_values(kind):
    assert kind(2.0) == pickle.loads(pickle.dumps(kind(2)))
    assert kind(2.0) != kind(3.0)
    assert repr(kind(2.0)) == f"{kind.__name__}(radius=2.0)"
    assert kind(1.0).project([]).shape == (0,)


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("radius", [-1.0, 0.0, np.nan, np.inf, 10**400, "word", None, Fraction(1, 10**400)])
def test_a_radius_that_is_none(kind, radius):
    with pytest.raises(ValueError, match="radius must be positive and within the range of float64; got"):
        kind(radius).project([1.0, 2.0])


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize(
    ("point", "metric", "message"),
    [
        ([np.nan, 1.0], None, "point must be finite; it is nan at 0"),
        ([0.0, -np.inf], None, "point must be finite; it is -inf at 1"),
        ([[1.0, 2.0]], None, r"point has shape \(1, 2\); it must be a vector"),
        (1.0, None, r"point has shape \(\); it must be a vector"),
        (np.ma.masked_array([1.0, 2.0], [True, False]), None, "point has masked entries"),
        ([1j, 2.0], None, "point must be an array of real numbers"),
        (["1", "2"], None, "point must be an array of real numbers"),
        ([10**400], None, "point must be an array of real numbers within the range"),
        (np.array(["2020"], "M8[Y]"), None, "point must be an array of real numbers"),
        ([1.0, 2.0], [1.0], r"metric has shape \(1,\); point has shape \(2,\)"),
        ([1.0, 2.0], [1.0, 0.0], "metric must be positive; it is 0.0 at 1"),
        ([1.0, 2.0], [-1.0, 1.0], "metric must be positive; it is -1.0 at 0"),
        ([1.0, 2.0], [1.0, np.nan], "metric must be finite; it is nan at 1"),
    ],
)
def test_points_and_metrics_that_are_none(kind, point, metric, message):
    with pytest.raises((ValueError, TypeError), match=message):
        kind(1.0).project(point, metric)


def test_what_project_takes_is_left_as_it_is():
    for point in ([0.25, 0.5], np.array([0.25, 0.5])):
        found = L2Ball(1.0).project(point)
        assert found.tolist() == [0.25, 0.5]
        found[:] = 9.0
        assert list(point) == [0.25, 0.5]
    assert L2Ball(Fraction(1, 2)) == L2Ball(0.5)


def test_zeros_have_no_sign_and_bounds_cannot_be_written_to():
    for some in (WeightedL1Ball(1.0), Box(-1.0, 1.0), Box([-1.0, 0.0], 0.0)):
        assert not np.signbit(some.project([-3.0, -0.0])[1])
    box = Box([-1.0, 0.0], np.ones(2))  # rules are looked up by this box
    for bounds in (box.low, box.high):
        with pytest.raises(ValueError, match="read-only"):
            bounds[0] = 0.0
