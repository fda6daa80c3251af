"""The best fixed weights in hindsight."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sklearn_nag.losses import (
    AbsoluteError,
    EpsilonInsensitive,
    Gamma,
    Hinge,
    Huber,
    Log,
    Perceptron,
    Poisson,
    Quantile,
    SquaredEpsilonInsensitive,
    SquaredError,
    Tweedie,
)
from sklearn_nag.regret import Run, _comparators, best_in_hindsight

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
    """Yield other weights of the set, near and far: on the way from ``u`` to random weights of it."""
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
        with pytest.raises(ValueError, match="needs a loss that is differentiable everywhere"):
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


def is_in_set(u, norm, radius):
    if norm == "simplex":
        return u.min() >= 0 and abs(u.sum() / radius - 1) < 1e-12
    return norm is None or np.linalg.norm(u, 1 if norm == "l1" else 2) <= radius * (1 + 1e-12)


@pytest.mark.parametrize("norm", [None, "l1", "l2", "simplex"])
@pytest.mark.parametrize(
    "loss",
    [
        lambda f: SquaredError(),
        lambda f: AbsoluteError(),
        lambda f: Quantile(0.8),
        lambda f: Huber(0.2 * f),
        lambda f: EpsilonInsensitive(0.1 * f),
        lambda f: SquaredEpsilonInsensitive(0.1 * f),
    ],
    ids=lambda loss: loss(1.0).name,
)
def test_the_unit_of_targets_is_of_no_matter(loss, norm, rng):
    x = rng.normal(size=(50, 2))
    y = x @ [1.0, -2.0] + 0.3 * rng.normal(size=50)
    degree = 2 if loss(1.0).name == "huber" else loss(1.0).degree
    if norm == "l2" and loss(1.0).degree == 1:
        pytest.skip("refused, as tested above")
    found = []
    for f in (1.0, 1e-8, 1e-30, 1e7, 1e30):
        run = Run(x, f * y, np.zeros(50), loss(f))
        u = best_in_hindsight(run, norm=norm, radius=2.0 * f)
        assert is_in_set(u, norm, 2.0 * f)
        found.append(run.loss_of(u).sum() / f**degree)
    np.testing.assert_allclose(found, found[0], rtol=1e-7)


@pytest.mark.parametrize("norm", ["l1", "l2", "simplex"])
@pytest.mark.parametrize("loss", [SquaredError(), AbsoluteError(), Huber(0.2)], ids=lambda loss: loss.name)
def test_sets_far_smaller_than_targets(loss, norm, rng):
    if norm == "l2" and loss.degree == 1:
        pytest.skip("refused, as tested above")
    x = rng.normal(size=(50, 2))
    run = Run(x, x @ [1.0, -2.0] + 0.3 * rng.normal(size=50), np.zeros(50), loss)
    slopes = x.T @ loss.gradient(np.zeros(50), run.y)
    steepest = {"l1": [0.0, -1.0], "simplex": [1.0, 0.0], "l2": -slopes / np.linalg.norm(slopes)}[norm]
    for radius in (1e-12, 1e-8):
        np.testing.assert_allclose(best_in_hindsight(run, norm=norm, radius=radius) / radius, steepest, atol=1e-6)


@pytest.mark.parametrize("norm", [None, "l1", "l2"])
@pytest.mark.parametrize(
    "loss", [SquaredError(), AbsoluteError(), Huber(0.2), SquaredEpsilonInsensitive(0.1)], ids=lambda loss: loss.name
)
def test_targets_far_from_0_hide_no_better_weights(loss, norm, rng):
    if norm == "l2" and loss.degree == 1:
        pytest.skip("refused, as tested above")
    x, noise = np.column_stack([rng.normal(size=(50, 2)), np.ones(50)]), 0.3 * rng.normal(size=50)
    near, far = (Run(x, x @ [1.0, -2.0, end] + noise, np.zeros(50), loss) for end in (0.0, 1e6))
    least = near.loss_of(best_in_hindsight(near)).sum()
    found = far.loss_of(best_in_hindsight(far, norm=norm, radius=2e6)).sum()
    np.testing.assert_allclose(found, least, rtol=1e-3)


@pytest.mark.parametrize("loss", [Poisson(), Gamma(), Tweedie(1.5)], ids=lambda loss: loss.name)
def test_logarithms_that_stand_for_no_prediction_are_none_of_fixed_weights(loss):
    run = Run(np.ones((3, 1)), np.array([1.0, 2.0, 3.0]), np.zeros(3), loss)
    assert run.loss_of([-1e5]).sum() >= run.loss_of([-9000.0]).sum() > 1e4
    np.testing.assert_allclose(best_in_hindsight(run), [np.log(2.0)], atol=1e-5)


def test_solvers_that_fail(monkeypatch):
    def fails(solver, **options):
        def solve(*args, **kwargs):
            found = solver(*args, **kwargs)
            found.update(success=False, message="it rained", **{k: f(found) for k, f in options.items()})
            return found

        return solve

    monkeypatch.setattr(_comparators, "linprog", fails(_comparators.linprog))
    with pytest.raises(RuntimeError, match="found no weights: it rained"):
        best_in_hindsight(run_of(AbsoluteError(), TARGETS))
    monkeypatch.setattr(_comparators, "minimize", fails(_comparators.minimize, x=lambda found: 0.0 * found.x))
    with pytest.warns(ConvergenceWarning, match="stopped early: the least total loss may be up to"):
        best_in_hindsight(run_of(SquaredError(), TARGETS), norm="l2")
