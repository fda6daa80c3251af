"""Measured regret stays under the bound of each theorem, on a thousand sequences, after every row.

``sequences`` are random or designed: in many units, with repeated rows and features, sparse, with
targets that contradict what was learnt. Comparators are small and large, in directions that could be learnt and in
others. Learners of the package learn one sequence after another, so they take only every 23rd, of all kinds, unless
``EVERY_RULE`` is set.
"""

import os
from functools import cache

import numpy as np
import pytest
from sklearn.linear_model import Perceptron as PeerPerceptron

from sklearn_nag import (
    FTRLClassifier,
    FTRLRegressor,
    NAGClassifier,
    NAGRegressor,
    ScaleInvariantClassifier,
    ScaleInvariantRegressor,
)
from sklearn_nag.constraints import Box, L2Ball, WeightedL1Ball
from sklearn_nag.kernels import Mixture
from sklearn_nag.losses import AbsoluteError, Log, Perceptron, SquaredError
from sklearn_nag.regret import (
    Run,
    adahedge_bound,
    entropy_bound,
    expert_game,
    full_bound,
    full_lower_bound,
    hedge_bound,
    least_squares_bound,
    majority_bound,
    many_rates,
    margin_bound,
    margin_data,
    nag_bound,
    ogd_bound,
    perceptron_bound,
    potential_bound,
    record,
    scaling_adversary,
    scinol1_bound,
    unlearnable,
)

from . import plain

N, T, D = 1000, 40, 3
EACH = 1 if os.environ.get("EVERY_RULE") else 23  # learners of the package take one sequence in so many
PRINTED_TARGET = {"target_normalization": None, "clip": None}
PLAIN = {"normalization": None, "adaptive": False, "importance_aware": False, "fit_intercept": False, "average": False}


@cache
def sequences(classes=True):
    """Return rows of shape (N, T, D) and targets, both read-only."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, T, D))
    y = rng.choice([-1.0, 1.0], (N, T))
    fifth = N // 5
    X[fifth : 2 * fifth] *= 10.0 ** rng.uniform(-4, 4, (fifth, 1, D))  # units
    X[2 * fifth : 3 * fifth] *= rng.uniform(size=(fifth, T, D)) < 0.3  # sparse
    X[3 * fifth : 4 * fifth] = np.sign(X[3 * fifth : 4 * fifth])  # repeated rows
    X[4 * fifth :, :, 1] = 2 * X[4 * fifth :, :, 0]  # repeated features
    X[4 * fifth :: 2] *= 2.0 ** np.arange(0, T)[:, None] / 2.0 ** (T // 2)  # growing
    w = rng.normal(size=(N, 1, D))
    y[::3] = np.sign((X[::3] * w[::3]).sum(axis=2) + 1e-9)  # learnable
    y[1::6, T // 2 :] = -y[1::6, T // 2 :]  # contradicted
    if not classes:
        y = y * np.abs(rng.normal(size=(N, T))) + (X * w).sum(axis=2) * (rng.uniform(size=(N, 1)) < 0.3)
    return unchangeable(X, y)


def unchangeable(*arrays):
    """Make arrays read-only, because several tests share them."""
    for array in arrays:
        array.flags.writeable = False
    return arrays


def comparators(X, y, seed=1):
    """Yield weights for each run, small and large: along correlations with the targets, and in random directions."""
    rng = np.random.default_rng(seed)
    size = np.sqrt((X**2).mean(axis=1)) + 1e-300
    along = (X * y[:, :, None]).mean(axis=1) / size
    for scale in (0.0, 0.1, 1.0, 10.0):
        yield scale * along / size
        yield scale * rng.normal(size=along.shape) / size


def check(run, bound, us):
    """Assert that the bound holds for all comparators, up to rounding."""
    for u in us:
        regret, limit = run.regret(u), bound(run, u)
        assert limit.shape == regret.shape == run.y.shape
        total = np.cumsum(run.losses + run.loss_of(u), axis=-1)
        worst = (regret - limit - 1e-9 * (1 + total)).max()
        assert worst <= 0, f"regret exceeds the bound by {worst}"


def breaks(run, bound, us):
    """Whether the run exceeds the bound anywhere, for any of the comparators."""
    return any((run.regret(u) > bound(run, u) * 1.001 + 1e-6).any() for u in us)


def stacked(make, X, y):
    """Run a new learner of the package on each sequence, and stack the runs."""
    runs = [record(make(), rows, targets) for rows, targets in zip(X, y)]
    return Run(
        np.stack([r.X for r in runs]),
        np.stack([r.y for r in runs]),
        np.stack([r.predictions for r in runs]),
        runs[0].loss,
    )


def without_repeated_features(X, y):
    """Replace sequences with repeated features by others.

    Their rank is determined in two ways, which agree only up to rounding.
    """
    X, repeat = X.copy(), slice(4 * N // 5, N)
    X[repeat] = 3.0 * X[: N // 5]
    X[repeat][::2] *= 1.1 ** np.arange(0, T)[:, None]
    return X, y


def some(X, y):
    """Return every 23rd sequence, of all kinds."""
    return X[::EACH], y[::EACH]


def with_both_classes(X, y):
    """Set the first target to -1 and the second to 1, because a classifier needs both."""
    y = y.copy()
    y[:, :2] = -1.0, 1.0
    return X, y


# -- bounds are the printed formulas


def printed(X, y, p, u, losses):
    """Return the bounds after all rows, for squared errors, and those of experts for ``losses``."""
    (T, d), g, largest = X.shape, p - y, np.abs(X).max(axis=0)
    v, length, w = g[:, None] * X, np.linalg.norm(X @ u), np.abs(u) / np.abs(u).sum()
    first = np.array([column[column != 0][:1].sum() for column in np.abs(X).T])
    inverses = [[np.linalg.pinv(x.T @ x + a * np.eye(d)) for x in (X[:t] for t in range(1, T + 1))] for a in (0, 0.3)]
    surprise, damped = ([x @ inverse @ x for x, inverse in zip(X, each)] for each in inverses)
    gamma, size, s = g**2 @ surprise, 2 * abs(u) * np.sqrt((v**2).sum(axis=0) + largest**2), np.sqrt((X**2).sum(axis=0))
    wrong, R = p * y <= 0, max((np.linalg.norm(x) for x, missed in zip(X, p * y <= 0) if missed), default=0.0)
    hinge = sum(max(0.0, 1.0 - y[t] * (X[t] @ u)) for t in np.flatnonzero(wrong))
    steps, n, ranges = np.sqrt((v**2).sum(axis=0)), losses.shape[1], np.ptp(losses, axis=1)
    high, low, best = losses.max(axis=1).sum(), losses.min(axis=1).sum(), losses.sum(axis=0).min()
    variance = ranges.max() * (high - best) * (best - low) / (high - low)
    return {
        "ogd": u @ u / (2 * 0.7) + 0.7 / 2 * (v**2).sum(),
        "entropy": (w * np.log(w * d)).sum() / 0.7 + 0.7 / 2 * (np.abs(v).max(axis=1) ** 2).sum(),
        "nag": 2 * np.sqrt(2) * 3.0 * (steps / [1.0, 2.0, 5.0]).sum(),
        "nag, scales learnt": 3.0 * ((5 * largest / first + 3) / (2 * np.sqrt(2)) * steps / largest).sum(),
        "potential": (abs(u) * s * np.sqrt(1.4 * np.log(1 + 1.4 * (d * T * u * s) ** 2))).sum()
        + np.exp(1 / (2 * (1.4 - 9 / 8))) * (1 + np.log(T)),
        "full": length * np.sqrt(1.4 * np.log(1 + 1.4 * length**2 * np.exp(gamma / 1.4))) + 1,
        "full, from below": length * np.sqrt(T / 2),
        "scinol1": (size * np.log(1 + size * T)).sum() + d * (1 + np.log(T)),
        "least squares": 0.5 * (y**2 @ surprise),
        "ridge": 0.5 * (0.3 * u @ u + y**2 @ damped),
        "perceptron": hinge + R * np.linalg.norm(u) * np.sqrt(hinge) + R**2 * (u @ u),
        "margin": (np.linalg.norm(X, axis=1).max() * np.linalg.norm(u) / (y * (X @ u)).min()) ** 2,
        "hedge": np.log(n) / 0.7 + 0.7 / 8 * (ranges**2).sum(),
        "adahedge": 2 * np.sqrt(variance * np.log(n)) + ranges.max() * (16 / 3 * np.log(n) + 2),
        "majority": (0.7 * best + np.log(n)) / np.log(2 / (1 + np.exp(-0.7))),
    }


def test_bounds_are_as_printed(rng):
    X, p, u, losses = rng.normal(size=(9, 3)), rng.normal(size=9), rng.normal(size=3), rng.random((9, 4))
    X[3:] *= 3.0
    y = rng.uniform(0.5, 2.0, 9) * np.sign(X @ u)
    run, w = Run(X, y, p, SquaredError()), np.abs(u) / np.abs(u).sum()
    found = {
        "ogd": ogd_bound(run, u, 0.7),
        "entropy": entropy_bound(run, w, 0.7),
        "nag": nag_bound(run, [1.0, 2.0, 5.0], 3.0),
        "nag, scales learnt": nag_bound(run, None, 3.0),
        "potential": potential_bound(run, u, 1.4),
        "full": full_bound(run, u, 1.4),
        "full, from below": full_lower_bound(run, u),
        "scinol1": scinol1_bound(run, u),
        "least squares": least_squares_bound(run, u),
        "ridge": least_squares_bound(run, u, 0.3),
        "perceptron": perceptron_bound(run, u),
        "margin": margin_bound(run, u),
        "hedge": hedge_bound(losses, 0.7),
        "adahedge": adahedge_bound(losses),
        "majority": majority_bound(losses, 0.7),
    }
    for T in range(1, 10):
        for name, value in printed(X[:T], y[:T], p[:T], u, losses[:T]).items():
            assert found[name][T - 1] == pytest.approx(value, rel=1e-7), (name, T)


# -- gradient descent, FTRL


@pytest.mark.parametrize(
    ("loss", "gradient"), [(Log(), plain.log_gradient), (AbsoluteError(), plain.absolute_gradient)]
)
@pytest.mark.parametrize("projection", [None, "lazy", "greedy"])
def test_gradient_descent(loss, gradient, projection):
    X, y = sequences()
    X = X / np.linalg.norm(X, axis=2).max(axis=1)[:, None, None]
    radius = np.inf if projection is None else 2.0
    us = [u if projection is None else plain.to_ball(u, radius) for u in comparators(X, y)]
    for eta in (0.03, 1.0, 30.0):
        run = Run(X, y, plain.ogd(X, y, gradient, eta, radius, projection == "lazy"), loss)
        check(run, lambda run, u, eta=eta: ogd_bound(run, u, eta), us)
    tuned = 2.0 / np.sqrt(T)  # rows of length 1 at most, |u| <= 2, derivatives within [-1, 1]
    run = Run(X, y, plain.ogd(X, y, gradient, tuned, radius, projection == "lazy"), loss)
    for u in us:
        assert (run.regret(plain.to_ball(u, 2.0))[:, -1] <= 2.0 * np.sqrt(T)).all()


def test_the_packages_ogd_is_the_plain_one():
    X, y = some(*with_both_classes(*sequences()))
    X = X / np.abs(X).max(axis=(1, 2))[:, None, None]
    run = stacked(lambda: NAGClassifier(eta0=0.5, **PLAIN), X, y)
    np.testing.assert_allclose(run.predictions, plain.ogd(X, y, plain.log_gradient, 0.5), rtol=1e-9, atol=1e-12)
    check(run, lambda run, u: ogd_bound(run, u, 0.5), comparators(X, y))


def test_exponentiated_gradient():
    X, y = sequences()
    X = X / np.abs(X).max(axis=(1, 2))[:, None, None]
    rng = np.random.default_rng(2)
    us = [rng.dirichlet(np.full(D, a), N) for a in (0.05, 1.0, 20.0)] + [np.eye(D)[rng.integers(0, D, N)]]
    for eta in (0.03, 0.3, 3.0):
        run = Run(X, y, plain.exponentiated_gradient(X, y, plain.absolute_gradient, eta), AbsoluteError())
        check(run, lambda run, u, eta=eta: entropy_bound(run, u, eta), us)


def test_normalized_adaptive_gradients():
    X, y = sequences()
    scale, radius = np.abs(X).max(axis=1), 3.0
    rng = np.random.default_rng(3)
    us = [radius * rng.dirichlet(np.full(D, a), N) * rng.choice([-1, 1], (N, D)) / scale for a in (0.05, 1.0)]
    run = Run(X, y, plain.nag(X, y, plain.absolute_gradient, scale, radius), AbsoluteError())
    check(run, lambda run, u: nag_bound(run, scale, radius), us)


# -- experts


@cache
def games():
    """Return losses of shape (N, T, 4): random, against the leader, switching, and of any size."""
    kinds = ["coins", "leader", "switch"]
    losses = np.stack([expert_game(kinds[i % 3], T, 4, random_state=i) for i in range(N)])
    rng = np.random.default_rng(0)
    losses[::5] *= 10.0 ** rng.uniform(-3, 3, (len(losses[::5]), 1, 1))
    losses[1::5] += rng.exponential(size=losses[1::5].shape) * [0.0, 0.1, 1.0, 5.0]
    losses[3::5, :, 1] = losses[3::5, :, 0]
    return unchangeable(losses)[0]


def against_best(played, losses):
    return np.cumsum(played, axis=1) - np.cumsum(losses, axis=1).min(axis=2)


@pytest.mark.parametrize("eta", [0.01, 0.3, 5.0])
def test_hedge(eta):
    losses = games()
    regret = against_best(plain.hedge(losses, eta), losses)
    assert (regret <= hedge_bound(losses, eta) + 1e-9).all()


def adahedge(losses):
    """Return the losses of AdaHedge, variances of the losses under the weights that it played, and the mixture."""
    n_runs, n_rows, n_experts = losses.shape
    mixture = Mixture(np.zeros((n_runs, n_experts)), np.zeros(n_runs))
    played, variances = np.empty((2, n_runs, n_rows))
    for t in range(n_rows):
        share = mixture.weights()
        played[:, t] = (share * losses[:, t]).sum(axis=1)
        variances[:, t] = (share * (losses[:, t] - played[:, t, None]) ** 2).sum(axis=1)
        mixture.suffer(share, losses[:, t])
    return played, variances, mixture


def test_adahedge():
    losses = games()
    played, variances, mixture = adahedge(losses)
    regret, largest = against_best(played, losses), np.maximum.accumulate(np.ptp(losses, axis=2), axis=1)
    assert (regret <= adahedge_bound(losses) * (1 + 1e-9)).all()
    # Twice the mixability gap bounds the regret as well, which leaves no room for a wrong gap.
    assert (regret[:, -1] <= 2 * mixture.gap * (1 + 1e-9)).all()
    # So does Theorem 6 of the paper, from which the bound follows.
    by_variance = 2 * np.sqrt(np.cumsum(variances, axis=1) * np.log(4)) + largest * (4 / 3 * np.log(4) + 2)
    assert (regret <= by_variance * (1 + 1e-9)).all()
    root = np.sqrt(np.arange(1, T + 1) * np.log(4))
    assert (adahedge_bound(losses) <= largest * (root + 16 / 3 * np.log(4) + 2) * (1 + 1e-9)).all()


@pytest.mark.parametrize("eta", [0.1, 0.7, 3.0])
def test_weighted_majority(eta):
    rng = np.random.default_rng(0)
    votes = rng.choice([-1, 1], (N, T, 5), p=[0.3, 0.7])
    votes[::2, :, 1:3] = votes[::2, :, :1]
    weight, mistakes, wrong = np.ones((N, 5)), np.zeros((N, T)), np.empty(votes.shape)
    for t in range(T):
        majority = np.where((weight * votes[:, t]).sum(axis=1) > 0, 1, -1)
        label = np.where(np.arange(N) % 4 < 3, -majority, rng.choice([-1, 1], N))  # most contradict the majority
        mistakes[:, t] = majority != label
        wrong[:, t] = votes[:, t] != label[:, None]
        weight *= np.exp(-eta * wrong[:, t])
    assert (np.cumsum(mistakes, axis=1) <= majority_bound(wrong, eta) + 1e-9).all()


# -- the Perceptron


def perceptron(**options):
    return NAGClassifier("perceptron", eta0=1.0, centering=False, **{**PLAIN, **options})


def test_perceptron_is_that_of_scikit_learn():
    X, y = with_both_classes(*sequences())
    for rows, labels in zip(X[::41], y[::41]):
        peer, own = PeerPerceptron(shuffle=False), perceptron(fit_intercept=True)
        for t in range(0, T, 8):
            part = rows[t : t + 8], labels[t : t + 8]
            peer.partial_fit(*part, classes=[-1, 1])
            own.partial_fit(*part, classes=[-1, 1])
            np.testing.assert_allclose(own.coef_, peer.coef_, rtol=1e-12)
            np.testing.assert_allclose(own.intercept_, peer.intercept_, rtol=1e-12)


def test_perceptron():
    X, y = some(*with_both_classes(*sequences()))
    run = stacked(perceptron, X, y)
    for u in comparators(X, y):
        assert (np.cumsum(run.mistakes, axis=1) <= perceptron_bound(run, u) + 1e-9).all()


def test_perceptron_with_a_margin():
    rows, targets, us = zip(
        *(margin_data(T, D, margin=0.02 + 0.5 * (seed % 10) / 10, random_state=seed) for seed in range(N // EACH))
    )
    X, y, u = np.stack(rows), np.stack(targets), np.stack(us)
    keep = (y > 0).any(axis=1) & (y < 0).any(axis=1)
    run = stacked(perceptron, X[keep], y[keep])
    mistakes = np.cumsum(run.mistakes, axis=1)
    assert (mistakes <= margin_bound(run, u[keep]) * (1 + 1e-9)).all()
    for scale in (1.0, 50.0):
        assert (mistakes <= perceptron_bound(run, scale * u[keep]) + 1e-9).all()
    assert mistakes.max() > 10
    assert np.isinf(margin_bound(run, -u[keep])).all()


# -- learners without a learning rate


POTENTIAL = {"update": "potential", "fit_intercept": False, "centering": False}


def test_potential():
    X, y = some(*with_both_classes(*sequences()))
    alpha = 1.2
    run = stacked(lambda: ScaleInvariantClassifier(potential_alpha=alpha, **POTENTIAL), X, y)
    check(run, lambda run, u: potential_bound(run, u, alpha), comparators(X, y))


def test_potential_for_regression():
    X, y = some(*sequences(classes=False))
    plain_target = {"target_normalization": None, "clip": None, **POTENTIAL}
    run = stacked(lambda: ScaleInvariantRegressor(loss="absolute_error", **plain_target), X, y)
    check(run, potential_bound, comparators(X, y))


def test_scinol1():
    X, y = some(*with_both_classes(*sequences()))
    run = stacked(lambda: ScaleInvariantClassifier(**{**POTENTIAL, "update": "scinol1"}), X, y)
    check(run, scinol1_bound, comparators(X, y))


def test_full_invariance():
    X, y = some(*without_repeated_features(*with_both_classes(*sequences())))
    run = stacked(lambda: ScaleInvariantClassifier(invariance="full", potential_alpha=1.5, fit_intercept=False), X, y)
    check(run, full_bound, comparators(X, y))


def test_units_change_neither_regret_nor_bound():
    X, y, u = margin_data(200, 4, margin=0.05, random_state=0)
    scaled = scaling_adversary(X, random_state=1)
    v = u * X[0] / scaled[0]
    for make, bound in (
        (lambda: ScaleInvariantClassifier(**POTENTIAL), potential_bound),
        (lambda: ScaleInvariantClassifier(invariance="full", fit_intercept=False), full_bound),
    ):
        a, b = record(make(), X, y), record(make(), scaled, y)
        np.testing.assert_allclose(a.regret(u), b.regret(v), rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(bound(a, u), bound(b, v), rtol=1e-6)


@pytest.mark.parametrize("unit", [2.0**-560, 2.0**600])
def test_bounds_are_in_range_in_any_units(unit):
    X, y, u = margin_data(50, 4, margin=0.05, random_state=0)
    here, there = (Run(X * c, y, np.zeros(50), Log()) for c in (1.0, unit))
    for bound in (potential_bound, scinol1_bound, full_bound):
        np.testing.assert_allclose(bound(there, u / unit), bound(here, u), rtol=1e-12)
    np.testing.assert_allclose(nag_bound(there, None, 1.0), nag_bound(here, None, 1.0), rtol=1e-12)
    losses, size = expert_game("coins", 50, 3, random_state=0), unit**0.6
    np.testing.assert_allclose(adahedge_bound(losses * size) / size, adahedge_bound(losses), rtol=1e-12)


def test_bounds_of_early_rows_are_in_range_where_later_ones_are_far_larger():
    X, y = np.array([[1e-100], [1e-100], [1e100]]), np.array([1, -1, 1])
    whole, first = Run(X, y, np.zeros(3), Log()), Run(X[:2], y[:2], np.zeros(2), Log())
    for bound in (potential_bound, scinol1_bound):
        with np.errstate(over="ignore"):  # in the last row
            np.testing.assert_array_equal(bound(whole, [1e100])[:2], bound(first, [1e100]))
        assert bound(Run(X[:0], y[:0], np.zeros(0), Log()), [1e100]).shape == (0,)
    np.testing.assert_array_equal(nag_bound(whole, None, 1.0)[:2], nag_bound(first, None, 1.0))


def test_unlearnable_rows():
    rng = np.random.default_rng(0)
    least = np.inf
    for _ in range(N):
        predictions = []

        def answer(x, predictions=predictions):
            predictions.append(rng.normal())
            return -np.sign(predictions[-1])

        X, y, u = unlearnable(int(rng.integers(1, 27)), answer)
        run = Run(X, y, np.array(predictions), AbsoluteError())
        for scale in (0.1, 10.0):
            linear_regret = np.cumsum(-y * run.predictions + y * (X @ (scale * u)))
            assert (linear_regret >= full_lower_bound(run, scale * u)).all()
        least = min(least, (y * (X @ u)).min())
    assert least >= 2 / 3


def test_a_learner_on_unlearnable_rows():
    learner = ScaleInvariantClassifier(invariance="full", fit_intercept=False, average=False, loss="hinge")
    seen, played = [], []

    def answer(x):
        played.append(float(learner.decision_function(x[None])[0]) if seen else 0.0)
        label = -1.0 if played[-1] > 0 else 1.0
        learner.partial_fit(x[None], [label], classes=[-1.0, 1.0])
        seen.append(label)
        return label

    X, y, u = unlearnable(20, answer)
    run = Run(X, y, np.array(played), AbsoluteError())
    assert (np.cumsum(-y * run.predictions + y * (X @ u)) >= full_lower_bound(run, u)).all()
    assert len(set(y)) == 2


# -- least squares


def best_weights(X, y):
    """Return the weights with the least squared error, for each sequence."""
    return np.stack([np.linalg.lstsq(rows, targets, rcond=None)[0] for rows, targets in zip(X, y)])


def test_least_squares():
    X, y = without_repeated_features(*sequences(classes=False))
    best = best_weights(X, y)
    for penalty in (0.0, 0.1, 10.0):
        run = Run(X, y, plain.forecaster(X, y, penalty), SquaredError())
        check(run, lambda run, u, penalty=penalty: least_squares_bound(run, u, penalty), [best, *comparators(X, y)])
        if penalty:
            S = np.einsum("nti,ntj->nij", X, X)
            log_det = np.linalg.slogdet(np.eye(D) + S / penalty)[1]
            loose = 0.5 * (penalty * (best**2).sum(axis=1) + (y**2).max(axis=1) * log_det)
            assert (least_squares_bound(run, best, penalty)[:, -1] <= loose * (1 + 1e-9)).all()


# -- bounds that are nearly reached, so none is too large to be informative


def against(play, n_rows):
    """Run ``play`` on rows of a single feature 1, with targets far out of reach on the other side of predictions."""
    predictions, targets = np.empty(n_rows), np.empty(n_rows)
    learn = play()
    predictions[0] = next(learn)
    for t in range(n_rows):
        targets[t] = -1e9 if predictions[t] > 0 else 1e9
        following = learn.send(targets[t])
        if t + 1 < n_rows:
            predictions[t + 1] = following
    return Run(np.ones((n_rows, 1)), targets, predictions, AbsoluteError())


def test_gradient_descent_reaches_its_bound():
    """Gradient descent reaches its bound if all gradients agree and ``u`` is the final weight."""
    X, y, eta = np.ones((1, 400, 1)), np.full((1, 400), 1e9), 0.3
    run = Run(X, y, plain.ogd(X, y, plain.absolute_gradient, eta), AbsoluteError())
    u = np.array([[eta * 400]])
    assert run.regret(u)[0, -1] == pytest.approx(ogd_bound(run, u, eta)[0, -1], rel=1e-6)


def test_exponentiated_gradient_comes_near_its_bound():
    X, y, eta = np.ones((1, 400, 2)) * [1.0, -1.0], np.full((1, 400), 1e9), 0.05
    run = Run(X, y, plain.exponentiated_gradient(X, y, plain.absolute_gradient, eta), AbsoluteError())
    u = np.array([[1.0, 0.0]])
    assert (run.regret(u) / entropy_bound(run, u, eta)).max() > 0.9


def test_hedge_comes_near_its_bound():
    losses = np.stack([expert_game("coins", 10_000, 200, random_state=seed) for seed in range(3)])
    eta = np.sqrt(8 * np.log(200) / 10_000)
    assert (against_best(plain.hedge(losses, eta), losses) / hedge_bound(losses, eta))[:, -1].min() > 0.75


def test_adahedge_is_within_a_small_factor_of_its_bound():
    losses = expert_game("leader", 1000, 2)[None]
    played, _, mixture = adahedge(losses)
    regret = against_best(played, losses)[0, -1]
    assert regret / adahedge_bound(losses)[0, -1] > 0.4
    assert regret / (2 * mixture.gap[0]) > 0.45


def test_weighted_majority_is_within_a_small_factor_of_its_bound():
    """In each row, just enough experts are wrong for the majority to be wrong."""
    eta, n_experts, weight, wrong, mistakes = 0.5, 9, np.ones(9), [], 0
    for _ in range(300):
        order = np.argsort(-weight, kind="stable")
        needed = np.searchsorted(np.cumsum(weight[order]), weight.sum() / 2) + 1
        row = np.zeros(n_experts)
        row[order[:needed]] = 1.0
        wrong.append(row)
        weight *= np.exp(-eta * row)
        mistakes += 1
    assert 0.8 < mistakes / majority_bound(wrong, eta)[-1] <= 1.0


def test_the_perceptron_reaches_its_bounds():
    """Each row has a direction of its own, so each is a mistake."""
    sides = np.tile([-1.0, 1.0], 20)
    run = record(perceptron(), np.eye(40), sides)
    assert run.mistakes.sum() == 40
    assert margin_bound(run, sides)[-1] == pytest.approx(40)
    assert perceptron_bound(run, sides)[-1] == pytest.approx(40)


def test_nag_is_within_a_small_factor_of_its_bound():
    def play():
        u, H = 0.0, 0.0
        while True:
            target = yield u
            gradient = np.sign(u - target)
            H += 1.0
            u = np.clip(u - np.sqrt(2) * gradient / np.sqrt(H), -1.0, 1.0)

    run = against(play, 400)
    assert (run.regret([1.0]) / nag_bound(run, [1.0], 1.0)).max() > 0.49


@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_the_forecaster_comes_near_its_bound(penalty):
    X, y = np.ones((1, 400, 1)), np.tile([-1.0, 1.0], 200)[None]
    run = Run(X, y, plain.forecaster(X, y, penalty), SquaredError())
    assert run.regret([[0.0]])[0, -1] / least_squares_bound(run, [[0.0]], penalty)[0, -1] > 0.9


@pytest.mark.parametrize(
    ("options", "bound", "least"),
    [
        ({"update": "potential", "centering": False}, potential_bound, 0.9),
        ({"invariance": "full"}, full_bound, 0.9),
        ({"update": "scinol1", "centering": False}, scinol1_bound, 0.35),
    ],
)
def test_learners_without_a_rate_come_near_their_bounds(options, bound, least):
    """Learners come near their bounds if all gradients agree, against weights that are large enough."""
    learner = ScaleInvariantRegressor("absolute_error", fit_intercept=False, average=False, **options, **PRINTED_TARGET)
    run = record(learner, np.ones((60, 1)), np.full(60, 1e200))  # so far away that losses are practically linear
    ratios = [np.cumsum(u - run.predictions) / bound(run, [u]) for u in 10.0 ** np.arange(-4, 9, 0.25)]
    assert least < np.max(ratios) <= 1.0


# -- a wrong update breaks a bound


def test_wrong_updates_break_bounds():
    X, y = sequences()
    unit = X / np.linalg.norm(X, axis=2).max(axis=1)[:, None, None]
    us = list(comparators(unit, y))
    ascent = Run(unit, y, plain.ogd(unit, y, plain.log_gradient, -0.3), Log())
    assert breaks(ascent, lambda run, u: ogd_bound(run, u, 0.3), us)
    too_fast = Run(unit, y, plain.ogd(unit, y, plain.absolute_gradient, 3.0), AbsoluteError())
    assert breaks(too_fast, lambda run, u: ogd_bound(run, u, 0.1), us)
    still = Run(unit, y, plain.ogd(unit, y, plain.log_gradient, 0.0), Log())
    assert breaks(still, lambda run, u: ogd_bound(run, u, 1.0), us)

    simplex = [np.eye(D)[np.full(N, i)] for i in range(D)]
    flipped = Run(unit, y, plain.exponentiated_gradient(unit, y, plain.absolute_gradient, -1.0), AbsoluteError())
    assert breaks(flipped, lambda run, u: entropy_bound(run, u, 0.3), simplex)

    scale = np.abs(X).max(axis=1)
    corners = [3.0 * s * np.eye(D)[np.full(N, i)] / scale for i in range(D) for s in (-1, 1)]
    wrong = Run(X, y, plain.nag(X, y, plain.absolute_gradient, scale, 3.0, step=-1.0), AbsoluteError())
    assert breaks(wrong, lambda run, u: nag_bound(run, scale, 3.0), corners)

    losses = np.minimum(games(), 1.0)
    assert (against_best(plain.hedge(losses, -0.3), losses) > hedge_bound(losses, 0.3)).any()
    leader = against_best(plain.hedge(losses, 1e9), losses)
    assert (leader > adahedge_bound(losses)).any()

    rows, targets = X[: N // 5], sequences(classes=False)[1][: N // 5]
    late = plain.forecaster(rows, targets, 0.1)
    late = Run(rows, targets, np.roll(late, 1, axis=1), SquaredError())  # predictions for the row before
    assert breaks(late, lambda run, u: least_squares_bound(run, u, 0.1), comparators(rows, targets))


def test_wrong_learners_break_their_bounds():
    X, y = with_both_classes(*sequences())
    X, y = X[::5], y[::5]
    us = list(comparators(X, y))
    for rate, bound in ((100.0, potential_bound), (100.0, full_bound), (100.0, scinol1_bound)):
        run = Run(X, y, plain.ogd(X, y, plain.log_gradient, rate), Log())
        assert breaks(run, bound, us)
    rows, targets, u = margin_data(400, D, margin=0.3, random_state=0)
    for options, bound in ((POTENTIAL, potential_bound), ({"invariance": "full", "fit_intercept": False}, full_bound)):
        negative = record(ScaleInvariantClassifier(**options), rows, targets)
        check(negative, bound, [5 * u])
        negative.predictions = -negative.predictions
        assert breaks(negative, bound, [u, 5 * u])
    always_wrong = Run(rows, targets, -targets, Perceptron())
    assert np.cumsum(always_wrong.mistakes)[-1] > margin_bound(always_wrong, u)[-1]
    assert np.cumsum(always_wrong.mistakes)[-1] > perceptron_bound(always_wrong, u / 0.3)[-1]


# -- the package's learners instead of the plain ones

NAG = {"normalization": "max", "centering": False, "importance_aware": False, "fit_intercept": False, "average": False}


def in_the_set(X, radius):
    """Return weights with ``sum scale |u| <= radius``, for the scales over all rows."""
    rng = np.random.default_rng(3)
    scale = np.abs(X).max(axis=1)
    corners = [radius * s * np.eye(D)[np.full(len(X), i)] / scale for i in range(D) for s in (-1, 1)]
    return [
        radius * rng.dirichlet(np.full(D, a), len(X)) * rng.choice([-1, 1], (len(X), D)) / scale for a in (0.05, 1.0)
    ] + corners


def test_the_packages_nag_with_scales_that_are_learnt():
    X, y = some(*with_both_classes(*sequences()))
    radius = 3.0
    learner = {"eta0": np.sqrt(2.0), "constraint": WeightedL1Ball(radius), **NAG}
    run = stacked(lambda: NAGClassifier("hinge", **learner), X, y)
    check(run, lambda run, u: nag_bound(run, None, radius), in_the_set(X, radius))
    # If the first row reveals the scales, the bound is that for known scales.
    X = np.concatenate([np.abs(X).max(axis=1, keepdims=True), X[:, 1:]], axis=1)
    run = Run(X, y, run.predictions, run.loss)
    np.testing.assert_allclose(nag_bound(run, None, radius), nag_bound(run, X[:, 0], radius), rtol=1e-9)
    wrong = Run(X, y, -30.0 * run.predictions, run.loss)
    assert breaks(wrong, lambda run, u: nag_bound(run, None, radius), in_the_set(X, radius))


def test_the_packages_nag_with_scales_that_are_known():
    X, y = some(*sequences())
    scale, radius, played = np.abs(X).max(axis=1), 3.0, np.empty(y.shape)
    learner = {"eta0": np.sqrt(2.0), "constraint": WeightedL1Ball(radius), **NAG, **PRINTED_TARGET}
    for i in range(len(X)):
        reg = NAGRegressor("absolute_error", **learner).partial_fit(np.diag(scale[i]), np.zeros(D))
        played[i] = reg._play(X[i], y[i])[:, 0]
    run = Run(X, y, played, AbsoluteError())
    early = slice(0, 2 * len(X) // 5)  # in others, predictions are targets up to rounding, which decides derivatives
    expected = plain.nag(X[early], y[early], plain.absolute_gradient, scale[early], radius)
    np.testing.assert_allclose(played[early], expected, rtol=1e-6, atol=1e-9)
    check(run, lambda run, u: nag_bound(run, scale, radius), in_the_set(X, radius))


@pytest.mark.parametrize("constraint", [None, L2Ball(2.0)])
def test_the_packages_lazy_gradient_descent(constraint):
    X, y = some(*with_both_classes(*sequences()))
    X = X / np.linalg.norm(X, axis=2).max(axis=1)[:, None, None]
    options = {"regularizer": "l2", "normalization": None, "power_t": 0.0, "fit_intercept": False}
    run = stacked(lambda: FTRLClassifier(eta0=0.5, constraint=constraint, **options), X, y)
    us = [u if constraint is None else plain.to_ball(u, 2.0) for u in comparators(X, y)]
    radius = np.inf if constraint is None else 2.0
    np.testing.assert_allclose(run.predictions, plain.ogd(X, y, plain.log_gradient, 0.5, radius), rtol=0, atol=1e-9)
    check(run, lambda run, u: ogd_bound(run, u, 0.5), us)


@pytest.mark.parametrize("lazy", [True, False])
def test_the_packages_gradient_descent_in_a_box(lazy):
    X, y = some(*with_both_classes(*sequences()))
    X = X / np.linalg.norm(X, axis=2).max(axis=1)[:, None, None]
    box = Box([-0.2, 0.0, -np.inf], [0.3, 1.0, 0.0])
    options = {"eta0": 0.5, "normalization": None, "fit_intercept": False, "constraint": box}
    if lazy:
        run = stacked(lambda: FTRLClassifier(regularizer="l2", power_t=0.0, **options), X, y)
    else:
        run = stacked(lambda: NAGClassifier(**{**PLAIN, **options}), X, y)
    expected = plain.ogd(X, y, plain.log_gradient, 0.5, lazy=lazy, project=lambda w: np.clip(w, box.low, box.high))
    np.testing.assert_allclose(run.predictions, expected, rtol=0, atol=1e-9)
    us = [np.clip(u, box.low, box.high) for u in comparators(X, y)]
    check(run, lambda run, u: ogd_bound(run, u, 0.5), us)
    wrong = Run(X, y, -30.0 * run.predictions, run.loss)
    assert breaks(wrong, lambda run, u: ogd_bound(run, u, 0.5), us)


def test_the_packages_exponentiated_gradient():
    X, y = some(*sequences())
    X = X / np.abs(X).max(axis=(1, 2))[:, None, None]
    options = {"regularizer": "entropy", "radius": 1.0, "positive": True, "normalization": None, "power_t": 0.0}
    learner = {**options, "fit_intercept": False, **PRINTED_TARGET}
    run = stacked(lambda: FTRLRegressor("absolute_error", eta0=0.3, **learner), X, y)
    rng = np.random.default_rng(2)
    us = [rng.dirichlet(np.full(D, a), len(X)) for a in (0.05, 1.0, 20.0)] + [np.eye(D)[rng.integers(0, D, len(X))]]
    check(run, lambda run, u: entropy_bound(run, u, 0.3), us)


def test_the_packages_forecaster():
    X, y = some(*without_repeated_features(*sequences(classes=False)))
    run = stacked(lambda: ScaleInvariantRegressor(invariance="full", fit_intercept=False, **PRINTED_TARGET), X, y)
    check(run, least_squares_bound, [best_weights(X, y), *comparators(X, y)])


def test_one_rate_is_not_enough_for_all_features():
    options = {"fit_intercept": False, "normalization": None, "importance_aware": False, "average": False}
    for n_rows in (250, 1000):
        X, y = many_rates(n_rows)
        u = np.ones(X.shape[1])
        u[0] = 0.0
        least = {}
        for adaptive in (True, False):
            least[adaptive] = min(
                record(
                    NAGRegressor("absolute_error", eta0=eta, adaptive=adaptive, **options, **PRINTED_TARGET), X, y
                ).regret(u)[-1]
                for eta in 10.0 ** np.arange(-3, 1, 0.25)
            )
        assert least[False] > 0.95 * n_rows ** (2 / 3)
        assert least[True] < 1.7 * n_rows**0.5
