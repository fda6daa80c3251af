"""The listings of the pages on adding a family and a loss, run as files, learn what the pages say."""

import importlib
import itertools
import math
import re
import sys
from pathlib import Path
from textwrap import dedent, indent

import numpy as np
import pytest
from scipy import sparse

from sklearn_nag import config_context, kernels, losses

from . import bounded_helpers
from .ftrl import test_numpy_rows as ftrl_helpers
from .helpers import KERNELS, LOSSES, flat, make_data, make_state, progressive

DOCS = Path(__file__).parents[2] / "docs"
PAGES = "".join((DOCS / f"adding_a_{what}.rst").read_text(encoding="utf-8") for what in ("family", "loss"))
BLOCK = re.compile(r"^\.\. code-block:: python\n   :caption: (.+)\n\n((?:   .*\n|\n)+)", re.MULTILINE)
LISTINGS = {caption: dedent(code).rstrip() + "\n" for caption, code in BLOCK.findall(PAGES)}
FILES = ("rule.py", "numpy_rows.py", "numba_rows.py")
CONTAINERS = [np.asarray, sparse.csr_array]
C = 0.3


@pytest.fixture(scope="module")
def family(tmp_path_factory):
    """Write the documented family to a package, and import it."""
    root = tmp_path_factory.mktemp("families")
    folder = root / "passive_aggressive"
    folder.mkdir()
    folder.joinpath("__init__.py").write_text("from .rule import Rule, State\n")
    for name in FILES:
        folder.joinpath(name).write_text(LISTINGS[name])
    sys.path.insert(0, str(root))
    yield importlib.import_module(folder.name)
    sys.path.remove(str(root))
    for name in [name for name in sys.modules if name.partition(".")[0] == folder.name]:
        del sys.modules[name]


def learn(family, X, y, weights=None, order=None, cuts=(), loss="hinge", intercept=True):
    """Return the model after all rows, in one batch or several, and its progressive predictions."""
    state = kernels.new_state(family.Rule(y.shape[1], C, intercept), X.shape[1])
    played = []
    for start, stop in itertools.pairwise([0, *cuts, X.shape[0]]):
        rows = slice(start, stop)
        some = None if weights is None else weights[rows]
        n = stop - start if order is None else len(order)
        played.append(np.full((n, y.shape[1]), np.nan))
        kernels.learn(state, LOSSES[loss](), X[rows], y[rows], some, order=order, predictions=played[-1])
    return state, np.concatenate(played)


def data(rng, loss="log_loss"):
    X, y = make_data(rng, n=200, d=11, loss=loss)
    return X, np.column_stack([y, -y, np.roll(y, 1)]), rng.integers(0, 3, 200) * rng.random(200)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("container", CONTAINERS)
def test_agrees_with_the_loop(rng, family, container, kernel):
    names = {}
    exec(LISTINGS["reference.py"], names)
    X, y, _ = data(rng)
    expected, u = names["passive_aggressive"](np.column_stack([X, np.ones(200)]), y[:, 0], C)
    with config_context(kernel=kernel):
        state, played = learn(family, container(X), y[:, :1])
    np.testing.assert_allclose(played[:, 0], expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(state.unit_free_weight()[0], u, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(kernels.predict(state, X)[:, 0], X @ (u[:-1] / state.scale()[:-1]) + u[-1], rtol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS[1:])
@pytest.mark.parametrize("container", CONTAINERS)
def test_backends_agree(rng, family, container, kernel):
    of_targets = ("epsilon_insensitive",) * (container is np.asarray)  # compiles the same lines again
    for loss in ("hinge", "squared_hinge", *of_targets):
        X, y, weights = data(rng, loss)
        for options in ({}, {"weights": weights}, {"intercept": False}, {"order": rng.permutation(200)[:50]}):
            with config_context(kernel="numpy"):
                one, expected = learn(family, container(X), y, loss=loss, **options)
            with config_context(kernel=kernel):
                two, played = learn(family, container(X), y, loss=loss, **options)
            kept = weights > 0 if "weights" in options else slice(None)
            np.testing.assert_allclose(played[kept], expected[kept], rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(two.loss, one.loss, rtol=1e-9)
            np.testing.assert_allclose(two.columns.weight, one.columns.weight, rtol=1e-9, atol=1e-11)
            assert np.array_equal(two.columns.largest, one.columns.largest)
            assert two.t == one.t


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("container", CONTAINERS)
def test_neither_cuts_nor_powers_of_two_change_a_bit(rng, family, container, kernel):
    X, y, weights = data(rng)
    X = np.sign(X) * np.abs(X).clip(1e-3, 1e6) * (X != 0)
    with config_context(kernel=kernel):
        whole, expected = learn(family, container(X), y, weights)
        parts, played = learn(family, container(X), y, weights, cuts=(1, 2, 70, 199))
        assert np.array_equal(played, expected)
        assert np.array_equal(flat(parts), flat(whole))
        _, played = learn(family, container(X * 2.0 ** rng.integers(-900, 900, 11)), y, weights)
        assert np.array_equal(played, expected)


# -- the loss


@pytest.fixture
def smooth_hinge():
    names = {"np": np, "Lipschitz": losses.Lipschitz}
    exec(LISTINGS["losses.py"], names)
    return names["SmoothHinge"]()


def test_the_loss_is_what_it_is_said_to_be(rng, smooth_hinge):
    p, y = rng.normal(scale=2.0, size=200), rng.choice([-1.0, 1.0], 200)
    slope = (smooth_hinge.value(p + 1e-6, y) - smooth_hinge.value(p - 1e-6, y)) / 2e-6
    np.testing.assert_allclose(smooth_hinge.gradient(p, y), slope, atol=1e-6)
    assert np.abs(smooth_hinge.gradient(p, y)).max() == smooth_hinge.lipschitz()
    q, steps = p, 10_000
    for _ in range(steps):
        q = q - 2.0 / steps * smooth_hinge.gradient(q, y)
    np.testing.assert_allclose(p + smooth_hinge.move(p, y, 2.0), q, atol=1e-3)


def test_compiled_lines_of_the_loss_are_those_in_numpy(rng, smooth_hinge):
    given = {"np": np, "SMOOTH_HINGE": 0}
    for place, arguments in (("loss_of_margin", "margin, y"), ("move_of_margin", "margin, a")):
        body = LISTINGS[f"compiled/losses.py, in {place}"]
        exec(f"def {place}({arguments}, loss=0):\n" + indent(body, "    "), given)
    for p, y, a in zip(rng.normal(scale=2.0, size=200), rng.choice([-1.0, 1.0], 200), rng.exponential(size=200)):
        value, g = given["loss_of_margin"](y * p, y)
        assert value == pytest.approx(float(smooth_hinge.value(p, y)), abs=1e-15)
        assert g == float(smooth_hinge.gradient(p, y))
        assert math.isclose(y * given["move_of_margin"](y * p, a), float(smooth_hinge.move(p, y, a)), abs_tol=1e-15)


def states_of_every_family(family):
    """Yield a name and a model with 6 features for each family."""
    yield "nag", make_state(6, importance_aware=True)
    for kind in bounded_helpers.KINDS:
        yield " ".join(kind), bounded_helpers.make_state(6, kind)
    least_squares = kernels.full.Rule(
        "least_squares", n_targets=1, alpha=1.5, intercept=True, averaged=True, centred=True, target_unit=False,
        degree=2, coupled=False,
    )  # fmt: skip
    yield "least squares", kernels.new_state(least_squares, 6)
    for regularizer in ("proximal", "l2", "entropy"):
        yield regularizer, ftrl_helpers.make_state(6, regularizer)
    yield "as documented", kernels.new_state(family.Rule(1, C, True), 6)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_loss_learns_in_every_family_with_either_backend(rng, monkeypatch, family, smooth_hinge, kernel):
    monkeypatch.setitem(LOSSES, smooth_hinge.name, type(smooth_hinge))
    X, y = make_data(rng, n=200)
    for name, state in states_of_every_family(family):
        for container in CONTAINERS if state.rule.lazy else CONTAINERS[:1]:
            with config_context(kernel=kernel):
                played = progressive(state, container(X), y, loss=smooth_hinge.name)
        assert np.mean(np.sign(played[50:, 0]) == y[50:]) > 0.65, name
