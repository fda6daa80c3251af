"""Models that tests learn with compiled code are those of NumPy, and cover all that code is compiled for.

Tests of each family compare more of its rules, by what is kept for each column.
"""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier

from sklearn_nag import config_context

from ...shared_rules import MODELS, shared
from ..helpers import needs_numba

pytestmark = needs_numba
BOTH = {False, True}
# The values of each constant that are compiled in any run.
VALUES = {
    "nag": {
        "norm": {0, 1, 2, 3},
        **dict.fromkeys(["is_adaptive", "is_lifted", "is_lazy", "is_averaged", "is_centred", "is_selective"], BOTH),
        **dict.fromkeys(["is_importance_aware", "has_l1", "has_l2", "shares_g", "counts_entries"], BOTH),
        **dict.fromkeys(["has_constraint", "has_bounds", "has_targets", "has_target_unit", "fades_on_the_way"], BOTH),
        **dict.fromkeys(["holds_scales", "drops_rounding", "of_margin", "of_rate", "is_coupled"], BOTH),
    },
    "ftrl": {
        "norm": {0, 1, 2, 3},
        "regularizer": {0, 1, 2},
        **dict.fromkeys(["is_centred", "is_selective", "counts_entries", "has_target_unit", "drops_rounding"], BOTH),
        **dict.fromkeys(["has_constraint", "has_bounds", "of_margin", "is_coupled", "fades_on_the_way"], BOTH),
    },
    "coordinatewise": {
        "update": {0, 1, 2},
        **dict.fromkeys(["is_centred", "is_selective", "counts_entries", "has_target_unit"], BOTH),
        **dict.fromkeys(["of_margin", "is_coupled"], BOTH),
    },
    "full": {
        "update": {0, 1},
        **dict.fromkeys(["has_target_unit", "of_margin", "is_coupled", "fades_on_the_way"], BOTH),
    },
}


@pytest.mark.parametrize("family", VALUES)
def test_every_constant_has_each_of_its_values(family):
    found = [constants._asdict() for (of, constants), _ in shared() if of == family]
    for name, values in VALUES[family].items():
        assert {constants[name] for constants in found} >= values, name


@pytest.mark.parametrize("family", VALUES)
def test_every_family_is_compiled_for_each_kind_of_rows(family):
    kinds = {kind for (of, _), kind in shared() if of == family}
    assert kinds >= ({("dense", "float64")} if family == "full" else {("dense", "float64"), ("sparse", "float64")})


def table(rng, n_classes, kind):
    """Return columns in units of their own, one of them 0 in most rows; targets; and weights, some of them 0."""
    n = 90
    X = rng.normal(size=(n, 4)) * [1.0, 1e3, 1e-3, 1.0] + [0.0, 5e3, 0.0, 0.0]
    X[:, 3] *= rng.random(n) < 0.1
    X[40:] *= [1.0, 1.0, 30.0, 1.0]  # a scale that grows
    y = X @ [1.0, 1e-3, 1e2, 2.0]
    y = np.exp(0.1 * y) if n_classes is None else np.digitize(y, [4.5, 5.5][: n_classes - 1])
    X = X.astype(kind[1].partition(" ")[0])
    if kind[0] == "sparse":
        X = sparse.csr_array(X)
        indices = np.int64 if "int64" in kind[1] else np.int32
        X.indices, X.indptr = X.indices.astype(indices), X.indptr.astype(indices)
    return X, y, rng.integers(0, 3, n) * rng.random(n)


@pytest.mark.parametrize(
    ("model", "n_classes", "kind"),
    [(model, n_classes, kind) for model, n_classes, kinds in MODELS for kind in kinds],
    ids=lambda value: repr(value).replace("\n", ""),
)
def test_compiled_code_learns_what_numpy_learns(rng, model, n_classes, kind):
    X, y, weight = table(rng, n_classes, kind)
    learnt = []
    for kernel in ("numpy", "numba", "numba"):
        one = clone(model)
        options = {"classes": range(n_classes)} if is_classifier(model) else {}
        with config_context(kernel=kernel):
            for rows in (slice(0, 90),) if len(learnt) < 2 else (slice(0, 1), slice(1, 31), slice(31, 90)):
                one = pickle.loads(
                    pickle.dumps(one.partial_fit(X[rows], y[rows], sample_weight=weight[rows], **options))
                )
        learnt.append(one)
    plain, compiled, in_parts = learnt
    for name in ("coef_", "intercept_", "progressive_loss_", "t_"):
        expected = getattr(plain, name)
        np.testing.assert_allclose(
            getattr(compiled, name), expected, rtol=1e-7, atol=1e-9 * np.abs(expected).max(), err_msg=name
        )
        assert np.array_equal(getattr(compiled, name), getattr(in_parts, name)), name
    assert np.abs(plain.coef_).max() > 0
