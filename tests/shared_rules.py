"""The rules for which tests use compiled code.

Each rule is compiled separately for dense rows, for dense rows with rare columns, for sparse rows, and for each type of
numbers. Each of these takes one to three seconds. A row then takes a microsecond, compared with some seventy in NumPy.
Tests therefore use compiled code for the rules of `MODELS` and `NAG_RULES`, which are compiled in any run, and NumPy
for others. Tests that ask for compiled code of another rule are skipped, unless they are marked as ``any_rule``, like
those that compare the kernels over the parameters of a family. With ``EVERY_RULE`` in the environment, all rules are
compiled.

`kernels.compiled.test_constants` compares each of `MODELS` with the same model in NumPy, and has a table of what
`MODELS` must contain. `kernels.nag.test_numba_rows` compares the rules of `NAG_RULES`.
"""

from __future__ import annotations

import functools
import importlib
import os

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier

from sklearn_nag import (
    FTRLClassifier,
    FTRLRegressor,
    NAGClassifier,
    NAGRegressor,
    ScaleInvariantClassifier,
    ScaleInvariantRegressor,
    config_context,
    get_config,
    kernels,
)
from sklearn_nag.constraints import Box, Simplex, WeightedL1Ball
from sklearn_nag.kernels._backend import runs_compiled
from sklearn_nag.kernels.nag import Rule, State
from sklearn_nag.kernels.nag.half_lives import rules_of
from sklearn_nag.losses import Log, SquaredError

DENSE, SPARSE = ("dense", "float64"), ("sparse", "float64")
BOTH = (DENSE, SPARSE)
ALL = (DENSE, SPARSE, ("dense", "float32"), ("sparse", "float64 by int64"))
# Models, which stand for their rules, with the number of classes and the kinds of rows for which they are compiled.
MODELS = [
    (NAGClassifier(), 2, ALL),
    (NAGClassifier(), 3, BOTH),
    (NAGClassifier(eta0="auto"), 2, BOTH),
    (NAGClassifier(half_life="auto"), 2, BOTH),
    (NAGRegressor(), None, BOTH),
    (NAGRegressor(eta0="auto"), None, BOTH),
    (NAGRegressor(half_life=10.0), None, BOTH),
    (NAGRegressor("poisson"), None, (DENSE,)),
    (NAGClassifier(normalization="max"), 2, (DENSE,)),
    (NAGClassifier(normalization="rms"), 2, (DENSE,)),  # processes of the README compile this rule
    (NAGClassifier(penalty="l1"), 2, BOTH),
    (NAGRegressor(constraint=WeightedL1Ball(0.4), normalization=None, average=False), None, (DENSE,)),
    (NAGRegressor(constraint=Box(-0.5, 0.5), centering=False), None, (DENSE,)),
    (ScaleInvariantClassifier(), 2, BOTH),
    (ScaleInvariantClassifier(), 3, (DENSE,)),
    (ScaleInvariantRegressor(), None, BOTH),
    (ScaleInvariantClassifier(update="scinol1"), 2, (DENSE,)),
    (ScaleInvariantRegressor(update="potential"), None, (DENSE,)),
    (ScaleInvariantClassifier(update="potential", centering=False), 2, (SPARSE,)),
    (ScaleInvariantClassifier(invariance="full"), 2, (DENSE,)),
    (ScaleInvariantClassifier(invariance="full"), 3, (DENSE,)),
    (ScaleInvariantRegressor(invariance="full"), None, (DENSE,)),
    (ScaleInvariantRegressor(invariance="full", half_life=10.0), None, (DENSE,)),
    (ScaleInvariantRegressor("huber", invariance="full"), None, (DENSE,)),
    (ScaleInvariantRegressor("huber", invariance="full", target_normalization=None), None, (DENSE,)),
    (ScaleInvariantRegressor("poisson"), None, (DENSE,)),
    (FTRLClassifier(), 2, BOTH),
    (FTRLClassifier(), 3, (DENSE,)),
    (FTRLRegressor(), None, BOTH),
    (FTRLClassifier(l1=0.1, normalization=None, centering=False), 2, (SPARSE,)),
    (FTRLRegressor(regularizer="l2", normalization="auto"), None, (DENSE,)),
    (FTRLRegressor(regularizer="entropy"), None, (DENSE,)),
    (FTRLRegressor("poisson"), None, (DENSE,)),
    (FTRLRegressor(normalization="auto", half_life=10.0), None, (DENSE,)),
    (FTRLRegressor(constraint=Simplex(0.4), normalization="rms", regularizer="l2"), None, (DENSE,)),
    # Sparse rows are not centred. If a constraint applies to all columns at once, they are learnt as dense rows.
    (FTRLRegressor(constraint=Simplex(0.4), normalization="rms", regularizer="l2", centering=False), None, (DENSE,)),
    (FTRLRegressor(constraint=Box(-0.5, 0.5), centering=False), None, (SPARSE,)),
]
# Rules of the NAG family with options that `MODELS` lacks: normalization and whether the rule is adaptive; parameters;
# other options that are on.
NAG_RULES = [
    (("max", True), {}, ()),
    (("max", False), {"average_from": 0.0, "l1": 0.01, "l2": 0.01}, ("importance_aware",)),
    (("rms", False), {"power_t": 0.5}, ("target_unit",)),
    ((None, True), {"l1": 0.01, "l2": 0.02}, ("centred",)),
    ((None, False), {"l2": 0.01}, ()),
    (("auto", True), {"average_from": 20.0}, ("centred", "importance_aware", "damped")),  # as in `NAGClassifier`
]


def row_kind(X, rule):
    """Whether rows are dense or sparse, and their type of numbers. Indices of 64 bits count as another type.

    Rules that are not lazy learn sparse rows as dense ones.
    """
    if isinstance(X, np.ndarray) or not rule.lazy:
        return "dense", X.dtype.name
    return "sparse", X.dtype.name if X.indices.dtype == np.int32 else f"{X.dtype.name} by {X.indices.dtype.name}"


def variant(constants, kind):
    """What is compiled for constants and a kind of rows. Sparse rows of one output use the code for several."""
    family, constants = constants
    if kind[0] == "sparse" and hasattr(constants, "has_one_head"):
        constants = constants._replace(has_one_head=False)
    return (family, constants), kind


def compiled_for(state, loss):
    """The constants for which code is compiled to learn rows, one set for each model that a state may hold."""
    rule = state.rule
    package = rule.family.package
    if not package.startswith(kernels.__name__):
        return None  # a test has made the family in order to compile it
    rows = importlib.import_module(f"{package}.numba_rows")
    rules = rules_of(rule) if isinstance(rule, kernels.nag.MixedRule) else (rule,)
    return {(package.rsplit(".", 1)[-1], rows.compiled_constants(one, type(loss))) for one in rules}


@functools.cache
def shared():
    """The constants and kinds of rows for which code is compiled in any run."""
    found = set()
    for model, n_classes, kinds in MODELS:
        found |= {variant(constants, kind) for kind in kinds for constants in constants_of(model, n_classes, kind)}
    for case in NAG_RULES:
        (normalization, adaptive), options, more = case
        rule = Rule(normalization, adaptive, True, (0.1,), **options, **dict.fromkeys(more, True))
        loss = SquaredError() if "target_unit" in more else Log()
        found |= {variant(constants, kind) for kind in BOTH for constants in compiled_for(State.new(rule, 2), loss)}
    return found


def constants_of(model, n_classes, kind):
    """The constants for which code would be compiled if a model learnt such rows, with classes or a target."""
    noted = set()

    def note(state, loss, *args, **options):
        if not isinstance(state, kernels.PlacedState):
            noted.update(compiled_for(state, loss))
        return LEARN(state, loss, *args, **options)

    X = np.arange(12.0).reshape(6, 2) % 5.0
    X = X if kind[0] == "dense" else sparse.csr_array(X)
    y = np.arange(6) % (n_classes or 6)
    with pytest.MonkeyPatch.context() as patch, config_context(kernel="numpy"):
        patch.setattr(kernels, "learn", note)
        clone(model).partial_fit(X, y, **({"classes": np.arange(n_classes)} if is_classifier(model) else {}))
    return noted


LEARN = kernels.learn
any_rule = False  # whether the current test may compile the rules that it asks for


@functools.wraps(LEARN)
def learn(state, loss, X, *args, latest=False, **options):
    """Like `kernels.learn`, with compiled code only if it is shared."""
    if (
        latest or isinstance(state, kernels.PlacedState) or not runs_compiled(loss)
    ):  # such calls come back here, or run in NumPy
        return LEARN(state, loss, X, *args, latest=latest, **options)
    constants = compiled_for(state, loss)
    if constants is None or all(variant(each, row_kind(X, state.rule)) in shared() for each in constants):
        return LEARN(state, loss, X, *args, **options)
    if get_config()["kernel"] == "numba":
        if any_rule:
            return LEARN(state, loss, X, *args, **options)
        pytest.skip("this rule is compiled with EVERY_RULE only; see shared_rules.py")
    with config_context(kernel="numpy"):
        return LEARN(state, loss, X, *args, **options)


def share():
    """Restrict tests to compiled code that is shared, unless the environment has ``EVERY_RULE``."""
    if not os.environ.get("EVERY_RULE"):
        kernels.learn = learn
