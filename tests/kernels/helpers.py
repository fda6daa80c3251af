"""States, rows and losses that the tests of several folders share."""

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

from sklearn_nag import losses
from sklearn_nag.kernels import _backend, learn
from sklearn_nag.kernels.nag import Rule, State

HAVE_NUMBA = _backend._has_numba()
needs_numba = pytest.mark.skipif(not HAVE_NUMBA, reason="Numba is not installed")
KERNELS = ["numpy", pytest.param("numba", marks=needs_numba)]

RULES = list(itertools.product(["max", "rms", None], [True, False]))
LOSSES = {**losses.CLASSIFICATION, **losses.REGRESSION, "softmax": losses.Softmax}
BY_ITSELF = {name: loss for name, loss in LOSSES.items() if not loss.coupled}
EXTENSIONS = [
    ("centred",),
    ("importance_aware",),
    ("target_unit",),
    ("centred", "importance_aware", "target_unit"),
]
PENALTIES = [{}, {"l1": 0.01}, {"l2": 0.01}, {"l1": 0.01, "l2": 0.02}, {"average_from": 20.0}]
PENALTIES += [{"average_from": 0.0, "l1": 0.01, "l2": 0.01}, {"power_t": 0.5}]


def some(cases, n):
    """Return ``n`` of the cases, always the same ones, or all of them if ``EVERY_RULE`` is set.

    For tests of compiled code: each rule is compiled separately, which takes a second or two.
    """
    cases = list(cases)
    if os.environ.get("EVERY_RULE"):
        return cases
    return [cases[i] for i in sorted(np.random.default_rng(0).choice(len(cases), min(n, len(cases)), replace=False))]


def on_both(cases, n):
    """Return each case with "numpy", and ``n`` of them with "numba"; see `some`."""
    cases = list(cases)
    compiled = [pytest.param(*case, "numba", marks=needs_numba) for case in some(cases, n)]
    return [pytest.param(*case, "numpy") for case in cases] + compiled


def make_state(d, normalization="max", adaptive=True, intercept=True, eta=(0.5,), **options):
    return State.new(Rule(normalization, adaptive, intercept, tuple(eta), **options), d)


def progressive(state, X, y, weights=None, loss="log_loss", order=None):
    n = X.shape[0] if order is None else len(order)
    y = y[:, None] if y.ndim == 1 and y.dtype.kind == "f" else y
    out = np.full((n, len(state.loss)), np.nan)
    learn(state, LOSSES[loss](), X, y, weights, order=order, predictions=out)
    return out


def flat(state):
    """Return all numbers of a state in one array, for bit-by-bit comparison."""
    arrays = [getattr(state.columns, name) for name in state.columns.names]
    scalars = list(state.clocks().values())
    small = [state.loss, state.targets.table]
    if hasattr(state, "mixture"):
        small += [state.gradient_lift, state.mixture.excess, state.mixture.gap]
    if hasattr(state, "trust"):
        small += [state.trust.excess, state.trust.gap, state.due]
    return np.concatenate([np.ravel(a) for a in [*arrays, *small, np.array(scalars)]])


def make_data(rng, n=300, d=6, density=0.7, loss="log_loss"):
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d) * (rng.random((n, d)) < density)
    X[:, 0] += X[0].max() * (rng.random(n) < 0.02) * rng.random(n) * 100  # scales that grow late
    y = X @ (rng.normal(size=d) / np.maximum(np.abs(X).max(axis=0), 1e-300)) + 0.1 * rng.normal(size=n)
    if loss in losses.CLASSIFICATION:
        y = np.where(y > 0, 1.0, -1.0)
    return X, y


def fresh(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, check=True, capture_output=True, text=True
    ).stdout.strip()
