"""States, rows and losses for the tests of learners without a learning rate."""

import itertools
import os
from functools import partial

import numpy as np
from scipy import sparse

from sklearn_nag import config_context, losses
from sklearn_nag.kernels import coordinatewise, full, learn, new_state

from .helpers import LOSSES, make_data
from .helpers import flat as flat_columns

UPDATES = ("potential", "scinol1", "scinol2")
KINDS = [("full", "potential"), *(("coordinatewise", update) for update in UPDATES)]
BOUNDED = ("log_loss", "hinge", "absolute_error")


def make_state(d, kind=KINDS[0], n_targets=1, loss=losses.Log, **options):
    is_full = kind[0] == "full"
    options = {"alpha": 1.5, "intercept": True, "averaged": True, "target_unit": False, **options}
    options.setdefault("centred", is_full and options["intercept"])
    Rule = partial(full.Rule if is_full else coordinatewise.Rule, kind[1])
    return new_state(Rule(n_targets=n_targets, degree=loss.degree, coupled=loss.coupled, **options), d)


def progressive(state, X, y, weights=None, loss="log_loss", **options):
    y = y[:, None] if y.ndim == 1 and y.dtype.kind == "f" else y
    out = np.full((X.shape[0], len(state.loss)), np.nan)
    learn(state, LOSSES[loss](**options), X, y, weights, predictions=out)
    return out


def flat(state):
    """Return all numbers of a state in one array, for bit-by-bit comparison."""
    rest = ("largest_gradient", "largest_weight", "factor", "Gamma", "residual")
    return np.concatenate([flat_columns(state), *(np.ravel(getattr(state, name, 0.0)) for name in rest)])


def with_constant(X):
    return np.column_stack([X, np.ones(len(X))])


def assert_backends_agree(rng, kind, loss):
    X, y = make_data(rng, n=120, d=5, density=0.6, loss=loss)
    X[:, 3] = 2 * X[:, 1]
    weights = rng.integers(0, 3, 120) * rng.random(120)
    several = np.column_stack([y, -y, np.roll(y, 1)])
    if loss == "softmax":
        several = np.where(np.arange(3) == rng.integers(0, 3, (120, 1)), 1.0, -1.0)
    containers, every = [np.asarray, np.asfortranarray], os.environ.get("EVERY_RULE")
    if every:  # each rule is compiled separately for other types of numbers and for sparse rows
        containers += [lambda X: X.astype(np.float32)] + [sparse.csr_array] * (kind[0] != "full")
    has_unit = loss not in losses.CLASSIFICATION and loss != "softmax"  # classes have no unit
    kinds = [{"centred": True, "target_unit": has_unit}]
    if kind[1].startswith("scinol"):
        kinds[0]["judged"] = True
    if every or kind[0] == "full":
        kinds += [{}, {"intercept": False}]
    cases = list(itertools.product(containers, kinds))
    for container, options in cases if every else cases[: len(kinds) + 1]:  # one container with all kinds, and another
        if container is sparse.csr_array:
            options = {**options, "centred": False}
        played, states = [], []
        for kernel in ("numpy", "numba"):
            with config_context(kernel=kernel):
                state = make_state(5, kind, 3, LOSSES[loss], **options)
                played.append(progressive(state, container(X), several, weights, loss))
                states.append(state)
        size = np.abs(played[0]).max()
        np.testing.assert_allclose(played[1], played[0], rtol=1e-8, atol=1e-9 * size)
        assert np.array_equal(states[0].columns.largest, states[1].columns.largest)
        assert states[0].t == states[1].t
        for a, b in zip(states[0].linear()[:2], states[1].linear()[:2]):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8 * np.abs(a).max())
