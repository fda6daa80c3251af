"""Temperatures and offsets learnt row by row: compared with batch solvers, at the ends of the range, and merged."""

import pickle

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from sklearn_nag import config_context
from sklearn_nag.uncertainty import merge, probabilities

PLATT = {"has_unit": True, "has_offsets": True}
ONE = {"has_unit": False, "has_offsets": False}
WEIGHED = {"has_unit": False, "has_offsets": True}


def draw(n, factor, offset, seed=0):
    """Logits, and classes whose probabilities are the softmax of a linear function of the logits."""
    rng = np.random.default_rng(seed)
    logits = 2.0 * rng.normal(size=(n, len(offset)))
    p = softmax(factor * logits + offset, axis=1)
    return logits, (rng.random((n, 1)) > p.cumsum(axis=1)).sum(axis=1).clip(0, len(offset) - 1)


def learn(logits, codes, known=None, **options):
    options = options or PLATT
    known = probabilities.new(logits.shape[1], options["has_unit"]) if known is None else known
    return probabilities.learn(known, logits, codes, **options)


def same(a, b):
    return a[:2] == b[:2] and np.array_equal(a.table, b.table) and np.array_equal(a.surprise.table, b.surprise.table)


@pytest.mark.parametrize("offset", [[-0.5, 0.5], [1.0, 0.0, -1.0]])
def test_what_is_true_is_found(offset):
    logits, codes = draw(6000, 0.4, np.array(offset))
    factor, found = probabilities.line(learn(logits, codes), True)
    assert factor == pytest.approx(0.4, abs=0.05)
    np.testing.assert_allclose(found - found.mean(), np.array(offset) - np.mean(offset), atol=0.15)
    factor, found = probabilities.line(learn(*draw(6000, 0.4, np.zeros(3)), **ONE), False)
    assert factor == pytest.approx(0.4, abs=0.05)
    assert not found.any()
    factor, found = probabilities.line(learn(logits, codes, **WEIGHED), False)
    assert factor == pytest.approx(0.4, abs=0.05)
    np.testing.assert_allclose(found - found.mean(), np.array(offset) - np.mean(offset), atol=0.15)


def test_rows_count_by_their_weights():
    """Weighted classes get the odds of classes that come that many times as often; units of weights do not matter."""
    logits, codes = draw(6000, 0.4, np.array([1.0, 0.0, -1.0]))
    known, weights = probabilities.new(3), np.array([0.5, 1.0, 4.0])[codes]
    whole = probabilities.learn(known, logits, codes, weights, **PLATT)
    assert whole.table[4, 2] == pytest.approx(weights.mean())
    factor, found = probabilities.line(whole, True)
    expected = np.array([1.0, 0.0, -1.0]) + np.log([0.5, 1.0, 4.0])
    assert factor == pytest.approx(0.4, abs=0.05)
    np.testing.assert_allclose(found - found.mean(), expected - expected.mean(), atol=0.15)
    for unit in (2.0**-300, 2.0**300):
        other = probabilities.learn(known, logits, codes, weights * unit, **PLATT)
        assert other.table[:4].tobytes() == whole.table[:4].tobytes()
        alike = probabilities.learn(known, logits, codes, np.full(6000, unit), **PLATT)
        assert alike.table[:4].tobytes() == learn(logits, codes).table[:4].tobytes()
    half = probabilities.learn(known, logits[:777], codes[:777], weights[:777], **PLATT)
    assert same(probabilities.learn(half, logits[777:], codes[777:], weights[777:], **PLATT), whole)


def reference(logits, codes, has_unit, has_offsets, memory):
    """The definition, step by step: the factor of the logits, the offset of each class, and the square of the unit."""
    a, square, rows, n_classes = 1.0, 1.0, 0, logits.shape[1]
    offset, curvature = np.zeros(n_classes), 0.25 * np.array([20.0 if has_unit else 1500.0] + n_classes * [20.0])
    while len(logits) - rows >= (n := max(1, min(32, rows // 8))):
        z, came = logits[rows : rows + n], np.eye(n_classes)[codes[rows : rows + n]]
        mean_square, is_first, rows = (z**2).mean(), rows == 0, rows + n
        if has_unit:
            square = mean_square if is_first else square
            z = z / np.sqrt(square)
        p = softmax((0.0 if has_unit and is_first else a) * z + offset, axis=1)
        gradient = np.append(((p - came) * z).sum(), (p - came).sum(axis=0))
        spread = ((p * z**2).sum(axis=1) - (p * z).sum(axis=1) ** 2).sum()
        faded = curvature * (memory / (memory + n) if rows > memory else 1.0)
        curvature = faded + np.append(spread, (p * (1.0 - p)).sum(axis=0))
        step = gradient / curvature
        a -= np.clip(step[0], -0.5 * a, 0.5 * a)
        offset -= np.clip(step[1:], -1.0, 1.0) * has_offsets
        if has_unit:
            before, square = square, square + (mean_square - square) * n / min(rows, memory + n)
            a, curvature[0] = a * np.sqrt(square / before), curvature[0] * before / square
    return a / (np.sqrt(square) if has_unit else 1.0), offset, square


@pytest.mark.parametrize("memory", [50.0, 2000.0])
@pytest.mark.parametrize("options", [PLATT, ONE, WEIGHED])
def test_against_a_plain_transcription(options, memory):
    logits, codes = draw(600, 1.0, np.array([2.0, 0.0, -2.0]))
    logits *= np.repeat([1.0, 5.0, 0.5], 200)[:, None]
    known = learn(logits, codes, **options, memory=memory)
    factor, offset = probabilities.line(known, options["has_unit"])
    expected = reference(logits, codes, **options, memory=memory)
    np.testing.assert_allclose(factor, expected[0], rtol=1e-9)
    np.testing.assert_allclose(offset, expected[1], rtol=1e-9)
    np.testing.assert_allclose(known.table[4, 0], expected[2], rtol=1e-9)


def test_few_rows_hardly_move_what_means_probabilities():
    """The first factors of logits that already mean probabilities differ from 1 by chance alone."""
    true = [draw(150, 1.0, np.zeros(2), seed) for seed in range(20)]
    factors = np.array([probabilities.line(learn(*rows, **ONE), False)[0] for rows in true])
    spread = (factors - 1.0).std()
    assert 0.0 < spread < 0.05
    curvature = np.mean([(p := softmax(z, axis=1)[:, 0]) * (1 - p) @ (z[:, 0] - z[:, 1]) ** 2 for z, _ in true])
    ridge = np.sqrt(curvature) / (curvature + 0.25 * probabilities.SURE)  # the spread of a Newton step from the truth
    assert spread == pytest.approx(ridge, rel=0.4)


def test_as_good_as_a_batch_solver():
    logits, codes = draw(4000, 2.5, np.array([0.3, -0.3]))
    half = logits[:, 1:] - logits[:, :1]
    batch = LogisticRegression(C=1e6).fit(half[:2000], codes[:2000])
    ours = -probabilities.log_probability(learn(logits[:2000], codes[:2000]), logits[2000:], True)
    theirs = -batch.predict_log_proba(half[2000:])
    rows = np.arange(2000)
    assert ours[rows, codes[2000:]].mean() < theirs[rows, codes[2000:]].mean() + 0.005


def test_units_of_logits_do_not_matter():
    logits, codes = draw(500, 1.0, np.zeros(3))
    here, there = learn(logits, codes), learn(1024.0 * logits, codes)
    np.testing.assert_allclose(probabilities.line(there, True)[0], probabilities.line(here, True)[0] / 1024.0)


@pytest.mark.parametrize("kernel", ["numpy", "numba"])
def test_no_cut_changes_a_bit_and_kernels_agree(kernel):
    logits, codes = draw(700, 0.5, np.array([1.0, 0.0, 0.0]))
    expected = learn(logits, codes)
    if kernel == "numba":
        pytest.importorskip("numba")
    with config_context(kernel=kernel):
        whole, parts = learn(logits, codes), probabilities.new(3)
        for rows in np.array_split(np.arange(700), 60):
            parts = learn(logits[rows], codes[rows], parts)
    assert same(parts, whole)
    np.testing.assert_allclose(whole.table, expected.table, rtol=1e-9)


def test_what_was_played():
    logits, codes = draw(90, 0.5, np.array([1.0, 0.0, 0.0]))
    unlearnt = np.where(np.arange(90) % 5 == 0, -1, codes)
    played, surprise = probabilities.play(probabilities.new(3), logits, unlearnt, **PLATT)
    known = probabilities.new(3)
    for i in range(90):
        expected = np.exp(probabilities.log_probability(known, logits[i : i + 1], True))
        np.testing.assert_allclose(played[i : i + 1], expected, rtol=1e-12)
        if unlearnt[i] >= 0:
            np.testing.assert_allclose(surprise[i], -np.log(expected[:, codes[i]]))
            known = learn(logits[i : i + 1], codes[i : i + 1], known)


@pytest.mark.parametrize("size", [0.0, 5e-324, 1e300, 1.7e308])
@pytest.mark.parametrize("options", [PLATT, ONE])
def test_ends_of_the_range(size, options):
    logits, codes = draw(200, 0.0, np.zeros(2))
    logits = np.sign(logits) * size
    known = learn(logits, codes, **options)
    probabilities.check("it", known, 2)
    p = np.exp(probabilities.log_probability(known, logits, options["has_unit"]))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_logits_that_mislead_count_for_next_to_nothing():
    known = learn(*draw(1000, -3.0, np.zeros(2)))
    assert known.table[0, 0] == probabilities.LEAST
    probabilities.check("it", known, 2)


def test_merging_and_saving():
    logits, codes = draw(3000, 0.4, np.zeros(2))
    a, b = learn(logits[:1000], codes[:1000]), learn(logits[1000:], codes[1000:])
    merged = merge([a, b])
    assert merged[:2] == (a.rows + b.rows, 0)
    assert a.waiting > 0
    assert not merged.table[2:4].any()  # sums that wait for a step
    assert merged.table[4, 1] == 0.0 < b.table[4, 1]
    probabilities.check("it", merged, 2)
    low, high = sorted(probabilities.line(part, True)[0] for part in (a, b))
    assert 0.9 * low <= probabilities.line(merged, True)[0] <= 1.1 * high
    assert same(merge([a, b], b), a if a.rows > b.rows else merge([a, b], b))
    assert same(pickle.loads(pickle.dumps(a)), a)
    later = learn(logits[1000:1003], codes[1000:1003], a)
    assert later.rows == a.rows
    assert same(merge([a, later], a), later)
    assert same(merge([later, a], a), later)
    on = [learn(logits[rows], codes[rows], a) for rows in (slice(1000, 1500), slice(1500, None))]
    again = merge(on, a)
    assert again.surprise.rows == again.rows == a.rows + sum(part.rows - a.rows for part in on)


def test_offsets_that_there_are_go_on():
    logits, codes = draw(600, 0.4, np.array([-0.5, 0.5]))
    start = learn(logits[:300], codes[:300], **WEIGHED)
    assert same(*(learn(logits[300:], codes[300:], start, **options) for options in (ONE, WEIGHED)))
    assert not learn(logits, codes, **ONE).table[0, 1:].any()


@pytest.mark.parametrize("change", [{"rows": -1}, {"waiting": 1.0}, {"table": np.zeros((5, 3))}, {"table": np.ones(3)}])
def test_what_cannot_be(change):
    with pytest.raises(ValueError, match="known"):
        probabilities.check("known", probabilities.new(2)._replace(**change), 2)


@pytest.mark.parametrize("has_unit", [True, False])
@pytest.mark.parametrize("logits", [[1e13, 2e13, -1.0], [1e300, 1.1e300, 0.0], [-1.7e308, 1.7e308, 1.6e308]])
def test_far_logits_do_not_tie(logits, has_unit):
    known = probabilities.new(3, has_unit)
    if has_unit:  # the unit is unknown before the first row
        known.table[4, 0] = 1.0
        known = known._replace(rows=1)
    p = np.exp(probabilities.log_probability(known, np.array([logits]), has_unit))
    assert p.tolist() == [[0.0, 1.0, 0.0]]
