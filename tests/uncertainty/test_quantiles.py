"""Quantiles that follow a stream, compared with a transcription of their definition, the theorem, and exact results."""

import math
import pickle

import numpy as np
import pytest
from scipy.stats import norm

from sklearn_nag import config_context
from sklearn_nag.uncertainty import quantiles
from sklearn_nag.uncertainty.quantiles import HIGHEST, LEVELS, LONGEST, LOWEST, MEMORIES, MOST


def reference(sizes, memory=math.inf):
    """The definition, size by size: the last means, shares and places, and the widths of levels before each size."""
    means, shares, places = [0.0] * 3, [1 / 3] * 3, [math.log(-math.log(a)) for a in LEVELS]
    rows, waiting, played = 0, [], []

    def scale():
        if means[0] == 0.0:
            return 0.0
        return means[0] * math.prod((m / means[0]) ** share for m, share in zip(means, shares))

    for size in sizes:
        width = [scale() * math.exp(max(places[: k + 1])) for k in range(len(LEVELS))]
        played.append([w if rows * a >= 1 else math.inf for w, a in zip(width, LEVELS)])
        n, missed = len(waiting), sum(missed[3] for _, missed in waiting)
        unit = sum(x for x, _ in waiting) / max(n, 8) if missed > max(n, 8) / 2 else 0.0
        most = 32 * max(scale(), unit) if scale() > 0 else math.inf
        waiting.append((min(size, most), [size > w for w in played[-1]]))
        n = len(waiting)
        if n < max(1, min(32, rows // 8)):
            continue
        mean, rows = sum(x for x, _ in waiting) / n, rows + n
        if means[0] > 0.0:
            logs = [math.log(share) - n * (math.log(m) + mean / m) for share, m in zip(shares, means)]
            densities = [math.exp(log - max(logs)) for log in logs]
            shares = [density / sum(densities) for density in densities]
        shares = [share + (1 / 3 - share) * n / rows for share in shares]
        spans = [max(n, min(rows, min(m, memory) + n / 2)) for m in MEMORIES]
        means = [m + (mean - m) * n / span for m, span in zip(means, spans)]
        if rows > 10 and means[0] > 0.0:
            rates = [rate_of(a, rows) for a in LEVELS]
            missed = [sum(missed[k] for _, missed in waiting) for k in range(len(LEVELS))]
            places = [max(q + rate * (m - a * n), -10.0) for q, rate, m, a in zip(places, rates, missed, LEVELS)]
        waiting = []
    return means, shares, places, np.array(played)


def rate_of(a, rows):
    """The learning rate of a level's place after so many rows."""
    rate = max(0.008, 1.5 * rows**-0.6)
    return rate if a >= 0.05 else max(rate, min(rate * (0.05 / a) ** 0.75, 0.125))


def learn(size, known=None, **options):
    size = size[:, None] if size.ndim == 1 else size
    return quantiles.learn(quantiles.new(size.shape[1]) if known is None else known, size, 0.0 * size, **options)


def same(a, b):
    return a[:2] == b[:2] and np.array_equal(a.table, b.table)


@pytest.mark.parametrize("memory", [np.inf, 100.0])
@pytest.mark.parametrize("zeros", [slice(0), slice(90), slice(20, None)])  # the last zeros bring places to their limit
def test_against_a_plain_transcription(memory, zeros):
    size = np.random.default_rng(0).exponential(size=700) * np.repeat([1e-9, 5.0, 0.1], [300, 200, 200])
    size[zeros] = 0.0
    size[250::50] *= 1e5
    means, shares, places, played = reference(size, memory)
    known, width = quantiles.play(quantiles.new(1), size[:, None], np.zeros((700, 1)), 1.0 - LEVELS, memory)
    for ours, theirs in ((known.mean, means), (known.share, shares), (known.place, places)):
        np.testing.assert_allclose(ours[0], theirs, rtol=1e-9)
    np.testing.assert_allclose(width[:, 0], played, rtol=1e-9)


def test_numba_is_numpy():
    pytest.importorskip("numba")
    size = np.abs(np.random.default_rng(1).standard_cauchy(size=(3000, 2)))
    size[::7] = 0.0
    size[:600] *= 1e-12
    size[:90, 1] = 0.0
    with config_context(kernel="numpy"):
        expected = learn(size)
    with config_context(kernel="numba"):
        known = learn(size)
    assert known[:2] == expected[:2]
    np.testing.assert_allclose(known.table, expected.table, rtol=1e-12)


@pytest.mark.parametrize("kernel", ["numpy", "numba"])
def test_no_cut_and_no_other_stream_changes_a_bit(kernel):
    if kernel == "numba":
        pytest.importorskip("numba")
    rng = np.random.default_rng(2)
    size = rng.exponential(size=(900, 2)) * [1.0, 1e3] ** (np.arange(900) > 400)[:, None]
    with config_context(kernel=kernel):
        whole, parts = learn(size), quantiles.new(2)
        for part in np.split(size, np.sort(rng.choice(900, 60))):
            parts = learn(part, parts)
        assert same(parts, whole)
        assert same(learn(size[:, 1]), whole._replace(table=whole.table[1:]))
        assert same(learn(0.25 * size)._replace(table=whole.table), whole)
        np.testing.assert_array_equal(learn(0.25 * size).place, whole.place)


def nasty(rng, n):
    """Sequences for which quantiles of the past alone are bad estimates."""
    t = np.arange(n)
    yield "jumps", rng.exponential(size=n) * np.where(t // 1000 % 2, 1e6, 1.0)
    yield "grows for ever", np.exp(np.minimum(t * 0.05, 700.0))
    yield "shrinks for ever", np.exp(-np.minimum(t * 0.01, 700.0))
    yield "two sizes in turn", np.where(t % 2, 1.0, 1e3)
    yield "one giant", np.where(t == 2000, 1e300, rng.exponential(size=n))
    yield "heavy tails", np.abs(rng.standard_cauchy(size=n)) ** 3
    yield "zeros first", rng.exponential(size=n) * (t >= 2000)


@pytest.mark.parametrize("place", range(7))
def test_the_theorem(place):
    """On any sequence, misses minus what was asked for sum to at most the range of the places over the last rate."""
    name, size = list(nasty(np.random.default_rng(3), 6000))[place]
    known, misses, lowest, highest = quantiles.new(1), 0.0, np.inf, -np.inf
    for start in range(0, len(size), 8):  # each part ends with a step or during one
        part = size[start : start + 8, None]
        known, width = quantiles.play(known, part, 0.0 * part, 1.0 - LEVELS)
        if start >= 128 and size[: start + 8].any():  # from here on, all levels except the rarest play
            misses = misses + (part[:, :, None] > width).sum(axis=(0, 1)) - 8 * LEVELS
        lowest, highest = np.minimum(lowest, known.place[0]), np.maximum(highest, known.place[0])
    few = LEVELS >= 0.01
    bound = (highest - lowest + 1.0) / [rate_of(a, known.rows) for a in LEVELS]
    assert (misses[few] <= bound[few]).all(), name
    if name != "shrinks for ever" and lowest.min() > LOWEST:
        assert (-misses[few] <= bound[few]).all(), name
    assert highest.max() <= HIGHEST + 1.0


@pytest.mark.parametrize(("n", "most"), [(300, 0.045), (900, 0.03), (3000, 0.02)])
def test_what_is_kept_after_steady_sizes(n, most):
    """The last quantile covers nearly the share of new sizes asked for; that of all sizes is off by .3 / sqrt(n)."""
    size = np.abs(np.random.default_rng(0).normal(size=(n, 400)))
    holds = 2 * norm.cdf(quantiles.widths(learn(size), np.array([0.9]))) - 1
    assert abs(holds.mean() - 0.9) < 0.006
    assert np.sqrt(np.mean((holds - 0.9) ** 2)) < most


@pytest.mark.parametrize("place", [0, 3, 4, 5])
def test_coverage_follows(place):
    """Rates of misses are what was asked for, from row 600 on."""
    name, size = list(nasty(np.random.default_rng(4), 6000))[place]
    coverage = np.array([0.8, 0.9, 0.95])
    _, width = quantiles.play(quantiles.new(1), size[:, None], np.zeros((6000, 1)), coverage)
    covered = size[:, None] <= width[:, 0]
    assert (abs(covered[600:].mean(axis=0) - coverage) < 0.02).all(), name


@pytest.mark.parametrize("kernel", ["numpy", "numba"])
@pytest.mark.parametrize("n", [300, 3000])
def test_sizes_of_0_before_all_others_change_no_place(kernel, n):
    """Sizes that come after the zeros are covered soon, as if they were the first."""
    if kernel == "numba":
        pytest.importorskip("numba")
    rng = np.random.default_rng(9)
    size, coverage, covered = np.abs(rng.normal(size=(800, 40))), np.array([0.5, 0.9, 0.99]), []
    with config_context(kernel=kernel):
        known = learn(np.zeros((n, 40)))
        np.testing.assert_array_equal(known.place, quantiles.new(40).place)
        for part in np.split(size, 80):
            covered.append((part[:, :, None] <= quantiles.widths(known, coverage)).mean(axis=(0, 1)))
            known = learn(part, known)
    covered = np.array(covered)
    assert (np.abs(covered[10:].mean(axis=0) - coverage) < [0.03, 0.07, 0.011]).all()


@pytest.mark.parametrize("kernel", ["numpy", "numba"])
def test_sizes_whose_mean_is_0_move_places_all_the_same(kernel):
    """The smallest positive numbers come after zeros. The theorem's bound on misses holds for them, too."""
    if kernel == "numba":
        pytest.importorskip("numba")
    size = np.where(np.arange(8000) < 2000, 0.0, 5e-324)[:, None]
    with config_context(kernel=kernel):
        known, missed = quantiles.new(1), 0.0
        for part in np.split(size, 250):
            missed = missed + (part[:, :, None] > quantiles.widths(known, 1.0 - LEVELS)).sum(axis=0)
            known = learn(part, known)
    bound = LEVELS + (HIGHEST - LOWEST + LONGEST * MOST) / (8000 * np.array([rate_of(a, 8000) for a in LEVELS]))
    assert (missed[0] / 8000 <= bound).all()


def test_coverages_between_two_kinds_of_sizes_are_found():
    """There are 50 streams, in which 2 % of the sizes are hundreds of times as large as the others."""
    rng = np.random.default_rng(0)
    size = np.where(
        rng.random((20_000, 50)) < 0.02, rng.lognormal(2.0, 1.0, (20_000, 50)), rng.random((20_000, 50)) / 50
    )
    _, width = quantiles.play(quantiles.new(50), size, 0.0 * size, np.array([0.95, 0.99, 0.995]))
    covered = (size[:, :, None] <= width).mean(axis=(0, 1))
    assert (np.abs(covered - [0.95, 0.99, 0.995]) < [0.002, 0.006, 0.005]).all()
    late = np.median(width[-1], axis=0) / np.quantile(size, [0.95, 0.99, 0.995])
    assert (0.8 < late[1:]).all()
    assert (late[1:] < 1.25).all()


def test_quantiles_of_what_stays_the_same():
    rng = np.random.default_rng(5)
    known = learn(np.abs(rng.normal(size=20_000)))
    expected = [1.2816, 1.6449, 1.96, 2.5758]
    np.testing.assert_allclose(quantiles.widths(known, np.array([0.8, 0.9, 0.95, 0.99]))[0], expected, rtol=0.08)


@pytest.mark.parametrize("unit", [1e-3, 1e-15])
@pytest.mark.parametrize(("n", "after", "most"), [(300, 300, 5.0), (300, 900, 1.3), (5000, 100, 1.7)])
def test_sizes_of_another_order(unit, n, after, most):
    """Once errors are no longer rounding alone, widths are soon near what they should be."""
    size = np.abs(np.random.default_rng(6).normal(size=(n + after, 20)))
    size[:n] *= unit
    width = quantiles.widths(learn(size), np.array([0.9]))[:, 0] / 1.645
    assert 0.8 < np.median(width) < most


@pytest.mark.parametrize(("part", "most"), [(0.003, 1.15), (0.01, 1.3), (0.02, 2.0)])
def test_few_giants_move_little(part, most):
    rng = np.random.default_rng(7)
    size = np.abs(rng.normal(size=(5000, 20))) * np.where(rng.random((5000, 20)) < part, 1e9, 1.0)
    right = norm.ppf(1 - 0.05 / (1 - part) + part / (1 - part) / 2)
    width = quantiles.widths(learn(size), np.array([0.9]))[:, 0]
    assert 0.9 < np.median(width) / right < most


def test_what_rounding_may_have_put_apart_is_no_distance():
    begins = np.linspace(1e5, 2e5, 200)[:, None]
    for apart, factor in ((2.0**-42, 0.0), (2.0**-30, 1.0)):
        known, played = quantiles.play(quantiles.new(1), begins * (1.0 + apart), begins, np.array([0.5]))
        expected = factor * apart * 1.5e5
        np.testing.assert_allclose([known.mean[0, 0], played[-1, 0, 0]], expected, rtol=0.5)


def test_widths_are_nested_and_infinite_where_nothing_is_known():
    coverage = np.sort(np.append(np.linspace(0.001, 0.998, 300), 1.0 - LEVELS))
    known = learn(np.random.default_rng(6).exponential(size=9))
    assert np.isinf(quantiles.widths(known, np.array([0.9]))).all()
    assert np.isfinite(quantiles.widths(known, np.array([0.8]))).all()
    known = learn(np.random.default_rng(6).exponential(size=2000))
    width = quantiles.widths(known, coverage)[0]
    assert width[0] >= 0.0
    assert (np.diff(width) >= 0.0).all()
    assert np.isfinite(width).all()
    assert np.isinf(quantiles.widths(known, np.array([0.9995]))).all()
    crossed = known._replace(table=np.array(known.table))
    crossed.place[0, ::2] += 3.0
    assert (np.diff(quantiles.widths(crossed, coverage)[0]) >= 0.0).all()


@pytest.mark.parametrize("size", [0.0, 5e-324, 1e-300, 1.7e308])
def test_ends_of_the_range(size):
    for sequence in (np.full(300, size), np.resize([0.0, size], 300)):
        known = learn(sequence)
        quantiles.check("it", known, 1)
        assert not np.isnan(quantiles.widths(known, np.array([0.5, 0.9]))).any()
    known = quantiles.learn(quantiles.new(1), np.full((50, 1), 1.7e308), np.full((50, 1), -1.7e308))
    quantiles.check("it", known, 1)


def test_merging():
    rng = np.random.default_rng(7)
    size = rng.exponential(size=3000)
    a, b = learn(size[:1000]), learn(2.0 * size[1000:])
    merged = quantiles.merge([a, b])
    assert merged[:2] == (a.rows + b.rows, 0)
    weight = a.rows / merged.rows
    np.testing.assert_allclose(merged.mean, weight * a.mean + (1.0 - weight) * b.mean)
    quantiles.check("it", merged, 1)
    on = [learn(size[1000:1500], a), learn(size[1500:], a)]
    again = quantiles.merge(on, a)
    assert again.rows == a.rows + sum(part.rows - a.rows for part in on)
    assert same(quantiles.merge([on[0], a], a), on[0])
    begun = [learn(size[1000 : 1000 + n], a) for n in (0, 2, 5)]
    assert begun[2].rows == a.rows
    for parts in (begun, begun[::-1]):
        assert same(quantiles.merge(parts, a), begun[2])
    further = learn(size[1000 : 1000 + LONGEST - a.waiting], a)
    assert (further.rows, further.waiting) == (a.rows + LONGEST, 0)
    assert same(quantiles.merge([begun[2], further], a), further)


def test_saved_and_loaded():
    known = learn(np.arange(100.0))
    loaded = pickle.loads(pickle.dumps(known))
    assert same(loaded, known)
    quantiles.check("it", loaded, 1)


@pytest.mark.parametrize(
    "change",
    [
        {"rows": -1},
        {"rows": 3.0},
        {"waiting": 99},
        {"rows": 10_000, "waiting": 32},
        {"table": np.zeros((1, 4))},
        {"table": np.full((1, 23), np.nan)},
        {"table": np.zeros((1, 23))},
    ],
)
def test_what_cannot_be(change):
    with pytest.raises(ValueError, match="known"):
        quantiles.check("known", quantiles.new(1)._replace(**change), 1)
    with pytest.raises(ValueError, match="dict"):
        quantiles.check("known", {}, 1)
