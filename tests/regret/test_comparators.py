"""The best fixed weights in hindsight."""

import numpy as np
import pytest

from sklearn_nag.losses import AbsoluteError, EpsilonInsensitive, Hinge, Huber, Log, Perceptron, Quantile, SquaredError
from sklearn_nag.regret import Run, best_in_hindsight

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3)) * [1.0, 1e3, 1e-3]
CLASSES = np.where(X @ [1.0, 1e-3, -1e3] + RNG.normal(size=80) > 0, 1.0, -1.0)
TARGETS = X @ [1.0, 1e-3, -1e3] + RNG.normal(size=80)
LOSSES = [
    (Log(), CLASSES),
    (Hinge(), CLASSES),
    (Perceptron(), CLASSES),
    (SquaredError(), TARGETS),
    (AbsoluteError(), TARGETS),
    (Quantile(0.8), TARGETS),
    (Huber(0.5), TARGETS),
    (EpsilonInsensitive(0.3), TARGETS),
]


def run_of(loss, y):
    return Run(X, y, np.zeros(len(y)), loss)


def nearby(u, norm, radius, scale):
    """Other weights of the set: on the way to random ones of it, near and far."""
    for share in (1e-3, 0.1, 1.0):
        for _ in range(50):
            if norm == "simplex":
                other = radius * RNG.dirichlet(np.ones(3))
            elif norm == "l1":
                other = radius * RNG.dirichlet(np.ones(3)) * RNG.choice([-1, 1], 3) * RNG.uniform() / scale
            elif norm == "l2":
                other = RNG.normal(size=3)
                other *= radius * RNG.uniform() / np.linalg.norm(other)
            else:
                other = u * RNG.uniform(0.5, 1.5, 3) + RNG.normal(size=3) * [0.1, 1e-4, 1e2]
            yield (1 - share) * u + share * other


@pytest.mark.parametrize("norm", [None, "l1", "l2", "simplex"])
@pytest.mark.parametrize(("loss", "y"), LOSSES, ids=lambda value: getattr(value, "name", ""))
def test_no_other_weights_are_better(loss, y, norm):
    if norm == "l2" and loss.name in ("hinge", "perceptron", "absolute_error", "quantile", "epsilon_insensitive"):
        with pytest.raises(ValueError, match="needs a loss with a derivative"):
            best_in_hindsight(run_of(loss, y), norm=norm)
        return
    scale, radius = np.array([1.0, 1e3, 1e-3]), 0.7
    options = {"scale": scale} if norm == "l1" else {}
    run = run_of(loss, y)
    u = best_in_hindsight(run, norm=norm, radius=radius, **options)
    least = run.loss_of(u).sum()
    for other in nearby(u, norm, radius, scale):
        assert least <= run.loss_of(other).sum() * (1 + 1e-6) + 1e-9
    if norm == "l1":
        assert (scale * np.abs(u)).sum() <= radius * (1 + 1e-9)
    elif norm == "l2":
        assert np.linalg.norm(u) <= radius * (1 + 1e-9)
    elif norm == "simplex":
        assert u.min() >= -1e-12
        assert u.sum() == pytest.approx(radius)


def test_bad_arguments():
    run = run_of(Log(), CLASSES)
    with pytest.raises(ValueError, match="'norm' parameter must be one of"):
        best_in_hindsight(run, norm="l3")
    with pytest.raises(ValueError, match="radius"):
        best_in_hindsight(run, radius=-1.0)
    for scale in ([1.0, 2.0, -1.0], [1.0, np.nan, 1.0], [1.0, 2.0]):
        with pytest.raises(ValueError, match=r"scale must hold a positive number for each of \d+ features"):
            best_in_hindsight(run, norm="l1", scale=scale)
    with pytest.raises(ValueError, match="single run"):
        best_in_hindsight(Run(X[None], CLASSES[None], CLASSES[None], Log()))


def test_a_target_far_off_hides_no_better_weights():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 2))
    y = x @ [1.0, -2.0] + 0.1 * rng.normal(size=500)
    for outlier in (1e2, 1e6):
        y[0] = outlier
        run = Run(x, y, np.zeros(500), Huber(1.0))
        for norm in (None, "l2", "l1"):
            u = best_in_hindsight(run, norm=norm, radius=4.0)
            np.testing.assert_allclose(u, [1.003, -2.005], atol=1e-3)


@pytest.mark.parametrize("ratio", [1.0, 1e3, 1e6])
def test_sizes_of_columns_hide_no_better_weights(ratio, rng):
    x = rng.normal(size=(200, 3)) * [1.0, 1.0, ratio]
    run = Run(x, x @ [0.5, 0.5, 0.0] + 0.1 * rng.normal(size=200), np.zeros(200), SquaredError())
    u = best_in_hindsight(run, norm="simplex")
    np.testing.assert_allclose(u.sum(), 1.0)
    assert run.loss_of(u).sum() <= run.loss_of(np.array([0.5, 0.5, 0.0])).sum()
