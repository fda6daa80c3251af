"""Shares of the latest weights and their average in learners without a learning rate, against AdaHedge written out."""

import itertools

import numpy as np
import pytest

from sklearn_nag import config_context, losses
from sklearn_nag.kernels import learn, merge, predict
from sklearn_nag.kernels.state.judged import ROUND

from ..bounded_helpers import make_state, progressive
from ..helpers import KERNELS, LOSSES, needs_numba
from ..nag.default_reference import AdaHedge


def log_losses(margins, y):
    """Return the log loss of each row and target."""
    return np.logaddexp(0.0, -y * margins)


def softmax_losses(margins, y):
    """Return the log loss of each row, in the column of its true class."""
    true = np.where(y > 0, margins, 0.0).sum(axis=1, keepdims=True)
    return np.where(y > 0, np.log(np.exp(margins).sum(axis=1, keepdims=True)) - true, 0.0)


def half_squares(p, y):
    return 0.5 * (p - y) ** 2


VALUES = {"log_loss": log_losses, "softmax": softmax_losses, "squared_error": half_squares}
KINDS = [("coordinatewise", update) for update in ("scinol1", "scinol2")]
CASES = [(*case, "numpy") for case in itertools.product(KINDS, VALUES)]
# With rules that are compiled in any run.
CASES += [pytest.param(kind, "log_loss", "numba", marks=needs_numba) for kind in KINDS]
CASES += [pytest.param(KINDS[1], "softmax", "numba", marks=needs_numba)]


def rows_of(rng, loss, n=150):
    X = rng.normal(size=(n, 3)) * [1.0, 1e3, 1e-3]
    score = X @ [1.0, -1e-3, 500.0] + rng.normal(size=n)
    if loss == "softmax":
        return X, np.where(np.arange(3) == rng.integers(3, size=(n, 1)), 1.0, -1.0)
    several = np.column_stack([score, rng.normal(size=n)])
    return X, np.sign(several) if loss == "log_loss" else several


def mixed(latest, average, lost, c):
    """Mix two series of predictions by shares from losses in rounds, for one group of targets at a time.

    Return the mixture, and the shares of the last group at the end.
    """
    n, n_targets = latest.shape
    played, groups = np.empty(latest.shape), lost[0].shape[1]
    for group in range(groups):
        hedge, due, own = AdaHedge(2), [0.0, 0.0], slice(group, n_targets if groups == 1 else group + 1)
        for i in range(n):
            of_latest, of_average = hedge.shares()
            played[i, own] = of_latest * latest[i, own] + of_average * average[i, own]
            due = [total + c[i] * values[i, group] for total, values in zip(due, lost)]
            if (i + 1) % ROUND == 0:
                hedge.suffer(due)
                due = [0.0, 0.0]
    return played, hedge.shares()


@pytest.mark.parametrize(("kind", "loss", "kernel"), CASES)
def test_both_are_trusted_by_what_they_have_lost(rng, kind, loss, kernel):
    X, y = rows_of(rng, loss)
    c = rng.integers(1, 4, len(X)) * 0.5
    options = {"kind": kind, "n_targets": y.shape[1], "loss": LOSSES[loss], "centred": True}
    with config_context(kernel=kernel):
        states = [make_state(3, averaged=averaged, **options) for averaged in (False, True)]
        latest, average = (progressive(state, X, y, c, loss=loss) for state in states)
        both = make_state(3, judged=True, **options)
        played = progressive(both, X, y, c, loss=loss)
        lost = [VALUES[loss](p, y) for p in (latest, average)]
        if loss == "softmax":
            lost = [values.sum(axis=1, keepdims=True) for values in lost]
        expected, shares = mixed(latest, average, lost, c)
        np.testing.assert_allclose(played, expected, rtol=1e-9, atol=1e-12)
        assert 0.0 < both.share_of_latest()[-1] < 1.0
        np.testing.assert_allclose(both.share_of_latest()[-1], shares[0], rtol=1e-7)
        # What is learnt does not depend on what is played.
        assert np.array_equal(both.columns.weight, states[0].columns.weight)
        apart = [predict(state, X) for state in states]
        of_latest = both.share_of_latest()
        np.testing.assert_allclose(
            predict(both, X), of_latest * apart[0] + (1.0 - of_latest) * apart[1], rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", KINDS)
def test_latest_weights_can_be_played_alone(rng, kind, kernel):
    """Theorems are about the latest weights; the model goes on as if it had played both."""
    X, y = rows_of(rng, "log_loss", 40)
    played = np.empty((40, 2))
    both, other = (make_state(3, kind, 2, judged=True, centred=True) for _ in range(2))
    with config_context(kernel=kernel):
        learn(both, losses.Log(), X, y, predictions=played, latest=True)
        latest = progressive(make_state(3, kind, 2, averaged=False, centred=True), X, y)
        progressive(other, X, y)
    assert np.array_equal(played, latest)
    assert both.waiting == other.waiting == 40 - ROUND
    assert np.array_equal(both.due, other.due)
    assert np.array_equal(both.trust.gap, other.trust.gap)
    assert np.array_equal(predict(both.latest(), X), predict(make_like(both), X))


def make_like(state):
    """Return a copy of the model with a rule that neither averages nor judges."""
    copied = state.copy()
    copied.adopt(copied.latest().rule)
    return copied


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_wait_are_those_of_all_models(rng, kind):
    X, y = rows_of(rng, "log_loss", 60)

    def learnt(model, rows):
        progressive(model, X[rows], y[rows])
        return model

    apart = [learnt(make_state(3, kind, 2, judged=True), rows) for rows in (slice(5), slice(5, 12))]
    assert merge(apart).waiting == 12.0
    base = learnt(make_state(3, kind, 2, judged=True), slice(ROUND - 1))
    shards = [learnt(base.copy(), rows) for rows in (slice(40, 42), slice(42, 44))]  # a round ends in each
    assert [shard.waiting for shard in shards] == [1.0, 1.0]
    merged = merge(shards, base)
    assert merged.waiting == 0.0
    assert (merged.due == 0.0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_what_both_have_lost_is_that_of_each_model_and_each_target(rng, kind):
    X, y = rows_of(rng, "log_loss", 6 * ROUND)
    states = [make_state(3, kind, 2, judged=True)]
    for rows in (slice(2 * ROUND), slice(2 * ROUND, 4 * ROUND), slice(4 * ROUND, 6 * ROUND - 5)):
        states.append(states[min(len(states) - 1, 1)].copy())
        progressive(states[-1], X[rows], y[rows])
    new, base, *shards = states
    assert not new.trust.gap.any()
    total, merged = shards[0].trust.gap + shards[1].trust.gap - base.trust.gap, merge(shards, base)
    assert (base.trust.gap > 0.0).all()
    np.testing.assert_allclose(merged.trust.gap, total, rtol=1e-12)
    second = shards[1].judged_heads(np.array([1]))
    assert second["trust"].gap == shards[1].trust.gap[1] != shards[1].trust.gap[0]
    assert np.array_equal(second["due"], shards[1].due[1:])
