"""In all families, models whose parts do not fit together are told apart from those that learning leads to."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from sklearn_nag import FTRLRegressor, NAGClassifier, NAGRegressor, ScaleInvariantRegressor
from sklearn_nag.constraints import Box
from sklearn_nag.kernels.state.checks import check, check_rule

MODELS = {
    "nag": NAGRegressor(),
    "penalised": NAGRegressor(penalty="elasticnet", l1_ratio=0.5, eta0="auto", average=True),
    "softmax": NAGClassifier(),
    "ftrl": FTRLRegressor(),
    "scinol": ScaleInvariantRegressor(loss="huber"),
    "full": ScaleInvariantRegressor(invariance="full"),
}


def learnt(model, rng, container=np.asarray):
    X = rng.normal(size=(30, 4)) * (rng.random((30, 4)) < 0.7)
    if model._losses.keys() >= {"hinge"}:
        return model.partial_fit(container(X), rng.integers(3, size=30), [0, 1, 2])._state
    return model.partial_fit(container(X), X[:, 0] + rng.normal(size=30))._state


@pytest.mark.parametrize("name", MODELS)
def test_every_array_is_looked_at(rng, name):
    state = learnt(MODELS[name], rng)
    check(state)
    mixtures = [getattr(state, name) for name in ("mixture", "trust") if hasattr(state, name)]
    for part in (state, state.columns, state.targets, *(mixture for mixture in mixtures if mixture.gap.size)):
        own = [key for key, value in vars(part).items() if isinstance(value, np.ndarray) and value.size]
        own = [key for key in own if key == "table" or vars(part).get("table") is None]
        assert own
        for key in own:
            whole = vars(part)[key]
            for changed in (
                whole[:0],
                np.concatenate([whole, whole]),
                whole[None],
                whole.astype(np.float32),
                whole.astype(object),
                whole.astype(whole.dtype.newbyteorder("S")),
                np.where(np.arange(whole.size).reshape(whole.shape) == 0, np.nan, whole),
                np.ma.masked_array(whole),
                whole.tolist(),
                None,
            ):
                vars(part)[key] = changed
                with pytest.raises(ValueError, match=r"must be|needs a table|cannot|lacks|must have|NaN"):
                    check(rebuilt(state))
            vars(part)[key] = whole
    check(rebuilt(state))


def rebuilt(state):
    """Return the state as loading makes it from a file, with views of the tables."""
    new = object.__new__(type(state))
    new.__setstate__(dict(vars(state)))
    for name in ("columns", "targets"):
        part = object.__new__(type(vars(state)[name]))
        names = ("table", "shared", "per_head", "n_heads", "sharing") if name == "columns" else ("table", "lift")
        part.__setstate__({key: vars(vars(state)[name])[key] for key in names})
        vars(new)[name] = part
    return new


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("lift", 0.0, r"columns\.lift is 0\.0 for column 1"),
        ("largest", -1.0, r"columns\.largest is -1\.0 for column 1"),
        ("weight", np.inf, r"columns\.weight is inf for column 1"),
        ("frequent", 0.5, r"neither 0 nor 1"),
        ("frequent", 2.0, r"columns\.frequent is 2\.0"),
        ("tally", 31.0, r"columns\.tally has entries"),
    ],
)
def test_what_compiled_loops_count_on(rng, field, value, message):
    state = learnt(NAGRegressor(), rng, sparse.csr_array)
    getattr(state.columns, field)[..., 1] = value
    with pytest.raises(ValueError, match=message):
        check(state)


@pytest.mark.parametrize("value", [1.0, np.nan])
def test_what_fills_lines_of_the_cache_is_0(rng, value):
    state = learnt(NAGRegressor(average=False), rng, sparse.csr_array)
    n_fields = state.columns.n_rows - len(state.columns.apart)
    assert len(state.columns.table) == n_fields + 1
    check(state)
    state.columns.table[-1, 0] = value
    with pytest.raises(ValueError, match="numbers below the rows of its fields"):
        check(state)


def test_a_large_model_is_looked_at_to_its_end(rng):
    state = NAGRegressor().partial_fit(sparse.csr_array(([1.0], ([0], [7])), (1, 40_000)), [1.0])._state
    check(state)
    state.columns.squares[39_999] = -1.0
    with pytest.raises(ValueError, match="column 39999"):
        check(state)


@pytest.mark.parametrize("clock", ["t", "N", "averaged", "largest_weight"])
def test_clocks(rng, clock):
    state = learnt(ScaleInvariantRegressor(loss="huber") if clock == "largest_weight" else NAGRegressor(), rng)
    for value in (-1.0, np.nan, np.inf, 3, "3", None, np.zeros(2)):
        setattr(state, clock, value)
        with pytest.raises(ValueError, match=clock):
            check(state)


def test_bounds_of_rules_have_0_between_them(rng):
    rule = learnt(NAGRegressor(constraint=Box(-1.0, 1.0), normalization=None, average=False), rng).rule
    check_rule(rule)
    for low, high in ((0.5, 2.0), (-2.0, -0.5)):
        with pytest.raises(ValueError, match="the rule has constraint=a Box, which is no valid"):
            check_rule(replace(rule, constraint=Box(low, high)))


def test_what_is_no_model_is_told_by_its_type(rng):
    state = learnt(NAGRegressor(), rng, sparse.csr_array)
    state.targets.lift = 0.0
    with pytest.raises(ValueError, match=r"targets\.lift is 0\.0; it must be positive"):
        check(state)
    state.columns.frequent[-1] = 0.0
    state.targets.lift = 1.0
    with pytest.raises(ValueError, match=r"columns\.frequent is 0 for the constant 1 of the intercept"):
        check(state)
    state.rule = "rule"
    with pytest.raises(ValueError, match="the rule is a str; it must be one of the kernel's families"):
        check(state)
    with pytest.raises(ValueError, match="the model is a dict; it must be a state of one of the kernel's families"):
        check(vars(state))


@pytest.mark.parametrize(
    "changed",
    [
        {"eta": (1.0, 1.0)},
        {"eta": [1.0]},
        {"eta": (np.nan,)},
        {"experts": 3},
        {"experts": 0},
        {"normalization": "rms2"},
        {"normalization": "max"},
        {"intercept": 1},
        {"coupled": "x"},
        {"power_t": -1.0},
        {"power_t": 10**400},
        {"power_t": np.inf},
        {"degree": 2.0},
        {"l2": 1.0},
        {"clip": (1.0, -1.0)},
        {"clip": (0.0, 1.0, 2.0)},
        {"clip": "others"},
        {"half_life": 0.0},
        {"constraint": 5.0},
    ],
)
def test_rules(rng, changed):
    state = learnt(NAGRegressor(), rng)
    check_rule(state.rule)
    state.rule = replace(state.rule, **changed)
    with pytest.raises(ValueError, match=r"rule|columns|mixture"):
        check(state)


def test_parts_that_hide_methods_or_are_those_of_others(rng):
    state, other = learnt(NAGRegressor(), rng), learnt(FTRLRegressor(), rng)
    vars(state)["linear"] = None
    with pytest.raises(ValueError, match="linear, which is not part of it"):
        check(state)
    for name, value in (("rule", other.rule), ("columns", other.columns), ("mixture", None), ("targets", None)):
        state = learnt(NAGRegressor(), rng)
        setattr(state, name, value)
        with pytest.raises(ValueError, match=r"rule|columns|mixture|targets"):
            check(state)
