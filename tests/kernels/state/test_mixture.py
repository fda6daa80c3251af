"""AdaHedge over learning rates, against its definition."""

import math
from decimal import Decimal

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.datasets import load_breast_cancer, load_wine

from sklearn_nag import config_context, kernels
from sklearn_nag.estimators._nag import ETA0S
from sklearn_nag.kernels.state.mixture import FixedRate, FixedShare, Mixture

from ..helpers import KERNELS, make_state, progressive


def adahedge(losses, kept=None):
    """Return shares before each row, total losses and the gap, by the definition of AdaHedge.

    ``kept`` has factors by which earlier losses fade before each row.
    """
    K = losses.shape[1]
    total, gap, shares = np.zeros(K), 0.0, []
    for row, part in zip(losses, np.ones(len(losses)) if kept is None else kept):
        total, gap = part * total, part * gap
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


def play_compiled(mixture, losses):
    """Compiled version of `Mixture.play`."""
    from sklearn_nag.kernels.compiled.mixture import play_mixture

    return play_mixture(mixture, losses)


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


def exact_gap(losses):
    """Return the gap of AdaHedge with unbounded exponents, so that no share is 0 while the rate is finite."""
    total, gap, K = [Decimal(0)] * losses.shape[1], Decimal(0), Decimal(losses.shape[1])
    for row in losses.tolist():
        after = [have + Decimal(loss) for have, loss in zip(total, row)]
        if gap == 0:
            leaders = [Decimal(loss) for have, loss in zip(total, row) if have == min(total)]
            mean, mixed = sum(leaders) / len(leaders), min(after) - min(total)
        else:
            rate = K.ln() / gap
            before = [(-rate * (have - min(total))).exp() for have in total]
            mean = sum(w * Decimal(loss) for w, loss in zip(before, row)) / sum(before)
            later = sum((-rate * (have - min(after))).exp() for have in after)
            mixed = min(after) - min(total) + (sum(before).ln() - later.ln()) / rate
        gap += max(Decimal(0), mean - mixed)
        total = after
    return float(gap)


@pytest.mark.compiled
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("first", [1e-6, 0.0])  # with a small gap from the first row on, and without one
@pytest.mark.parametrize("jump", [0.3, 1.0, 40.0])
def test_an_expert_whose_share_has_vanished_may_take_the_lead(kernel, first, jump):
    losses = np.tile([0.1, 0.15], (300, 1))  # no share has enough digits after 20 rows with a gap
    losses[0] = 0.1, 0.1 + first
    losses[250] = 0.1 + jump * 12.5, 0.1
    losses[260:, 0] += 0.1
    mixture = Mixture.new(2)
    shares = Mixture.play(mixture, losses) if kernel == "numpy" else play_compiled(mixture, losses)
    regret = (shares * losses).sum() - losses.sum(axis=0).min()
    assert mixture.gap[0] == pytest.approx(exact_gap(losses), rel=1e-9)
    assert regret <= 2.0 * mixture.gap[0] + 1e-9  # Theorem 6


def test_the_gap_of_an_expert_without_a_share():
    mixture = Mixture(np.array([[0.0, 0.0, 1.0, 1.0, 1.0]]), np.array([1e-6]))
    mixture.suffer(mixture.weights(), np.array([[0.2, 0.8, 0.0, 0.0, 0.0]]))
    assert mixture.gap[0] == pytest.approx(0.3, rel=1e-4)


@pytest.mark.compiled
@pytest.mark.parametrize("kernel", KERNELS)
def test_losses_fade_before_each_row(kernel, rng):
    losses, forecasts = rng.exponential(size=(200, 3)), rng.normal(size=(200, 3))
    kept, weight = 0.5 ** rng.exponential(0.1, size=200), rng.uniform(0.1, 3.0, size=200)
    mixture, blended, by_tangents = (Mixture.new(3) for _ in range(3))
    with config_context(kernel=kernel):
        shares = kernels.mix(mixture, losses, kept=kept)
        of_blend = kernels.blend(blended, forecasts, "squared_error", weight, kept)
        mixed = (of_blend * forecasts).sum(axis=1, keepdims=True)
        slopes = mixed * (forecasts - mixed) * weight[:, None]
        np.testing.assert_allclose(kernels.mix(by_tangents, slopes, kept=kept), of_blend, rtol=1e-9)
    expected, total, gap = adahedge(losses, kept)
    np.testing.assert_allclose(shares, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(mixture.excess[0], total - total.min(), rtol=1e-9)
    assert mixture.gap[0] == pytest.approx(gap, rel=1e-9)
    before = mixture.weights()
    mixture.fade(0.25)
    np.testing.assert_allclose(mixture.weights(), before, rtol=1e-14)


@pytest.mark.compiled
@pytest.mark.parametrize("kernel", KERNELS)
def test_losses_may_fade_for_ever(kernel, rng):
    losses = np.vstack([rng.exponential(size=(20, 3)), np.ones((3000, 3)), [[0.0, 1.0, 1.0]], np.ones((5, 3))])
    mixture = Mixture.new(3)
    with config_context(kernel=kernel):
        shares = kernels.mix(mixture, losses, kept=np.append(np.full(3025, 0.5), 0.0))
    assert np.isfinite(shares).all()
    assert shares[3021, 0] > 0.7
    np.testing.assert_allclose(mixture.weights(), 1.0 / 3.0)


@pytest.mark.compiled
@pytest.mark.parametrize("kernel", KERNELS)
def test_what_rounding_may_have_done_is_no_difference(kernel):
    losses = np.tile([0.1 + 0.2, 0.3], (50, 1))
    assert losses[0, 0] > losses[0, 1]
    with config_context(kernel=kernel):
        assert (kernels.mix(Mixture.new(2), losses) == 0.5).all()


def test_totals_of_shards_stay_in_range():
    largest = np.finfo(np.float64).max
    far = Mixture(np.array([[0.0, largest]]), np.array([largest]))
    whole = far.merged([far])
    assert (whole.excess.tolist(), whole.gap.tolist()) == ([[0.0, largest]], [largest])


@pytest.mark.parametrize("has_base", [False, True])
def test_losses_of_shards_add_up(has_base, rng):
    losses = rng.exponential(size=(60, 3))
    base, shared = (Mixture.new(3), FixedShare.new(1, 3, 2.0)), losses[: 20 * has_base]
    for mixture in base:
        mixture.play(shared)
    one, other = [mixture.copy() for mixture in base], [mixture.copy() for mixture in base]
    for mixtures, rows in ((one, losses[20:30]), (other, losses[30:])):
        for mixture in mixtures:
            mixture.play(rows)
    start = base if has_base else (None, None)
    whole, trusted = (own.merged([its], before) for own, its, before in zip(one, other, start))
    total = shared.sum(axis=0) + losses[20:].sum(axis=0)
    np.testing.assert_allclose(whole.excess[0], total - total.min(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(whole.gap, one[0].gap + other[0].gap - base[0].gap)
    # A fixed share forgets old losses, so its weights are a mean, by the number of rows learnt apart.
    np.testing.assert_allclose(trusted.weights(), 0.25 * one[1].weights() + 0.75 * other[1].weights())
    np.testing.assert_allclose(trusted.gap, 0.25 * one[1].gap + 0.75 * other[1].gap)
    assert trusted.rounds == 40.0 + len(shared)


def test_experts_that_join_have_the_losses_of_others(rng):
    """An expert that is named twice goes on as two, and the best one leaves."""
    losses, experts = rng.exponential(size=(40, 3)), [2, 0, 2]
    losses[:, 1] *= 0.5
    total = losses[:, experts].sum(axis=0)
    for mixture in (Mixture.new(3), FixedRate.new(3, 0.7), FixedShare.new(1, 3, 0.0), FixedShare.new(1, 3, 2.0)):
        mixture.play(losses)
        before, after = mixture.weights()[0], mixture.rearranged(experts)
        if type(mixture) is FixedShare:
            np.testing.assert_allclose(after.excess[0].min(), 0.0)
        else:
            np.testing.assert_allclose(after.excess[0], total - total.min())
        if type(mixture) is not Mixture:  # its rate depends on the number of experts
            np.testing.assert_allclose(after.weights()[0], before[experts] / before[experts].sum())
        after.play(losses[:, experts])
        np.testing.assert_allclose(after.weights()[0, 0], after.weights()[0, 2])
        assert mixture.excess.shape == (1, 3)


def test_groups_know_nothing_of_each_other(rng):
    losses = rng.exponential(size=(30, 2, 3))
    losses[:2] = [[1.0], [3.0]]  # experts are alike at first, so there is no gap
    shares = Mixture(np.zeros((2, 3)), np.zeros(2)).play(losses)
    for i in range(2):
        np.testing.assert_allclose(shares[:, i], adahedge(losses[:, i])[0], rtol=1e-9)


@pytest.mark.compiled
@pytest.mark.parametrize("kernel", KERNELS)
def test_losses_of_heavy_rows_stay_in_range(kernel):
    weights = np.array([1.0, 1e100, 1e100, 1e50])
    losses = np.array([[0.0, 0.0], [3e250, 2e250], [1e250, 2e250], [1e200, 2e200]])
    mixture = FixedShare.new(1, 2, 2.0)
    with config_context(kernel=kernel):
        shares = kernels.mix(mixture, losses, row_weights=np.column_stack([weights, np.cumsum(weights)]))
    assert np.isfinite(shares).all()
    assert 0.0 < mixture.gap[0] < np.inf
