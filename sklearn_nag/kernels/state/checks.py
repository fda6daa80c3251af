"""Checks that the parts of a model fit together, for all families; nothing in files is trusted.

Compiled loops do not check indices, so all that they are given is checked here after a model is loaded. Nothing is
declared twice: types of a rule's parameters are the annotations of its class, names and shapes of arrays those of
``State.new``, and ranges those of `fields`.
"""

import types
import typing
from dataclasses import fields, is_dataclass
from functools import lru_cache
from numbers import Integral, Real
from typing import Any

import numpy as np

from ...constraints import Box
from .columns import Columns, rows_of_fields
from .frequent import ENDS
from .lifts import LARGEST
from .mixture import FixedRate, FixedShare, Mixture
from .model import LinearState
from .placed import PlacedState
from .rule import LinearRule
from .targets import FIELDS, Targets

AT_ONCE = 2**14  # columns checked at a time, so that a large model needs little extra memory
WHOLE = 2**53  # largest integer among parameters
ROUNDING = 1e-9  # relative excess of sums of weights over their bounds that may be rounding


def check(state: Any) -> None:
    """Raise unless a model is one that learning can have led to, as far as its arrays and numbers tell.

    Parameters
    ----------
    state : LinearState
        What is claimed to be a model.

    Raises
    ------
    ValueError
        For an array of another shape or type, NaN or infinity, a number out of its range, and whatever is missing.
    """
    if isinstance(state, PlacedState):
        state.check_places()
        check(state.whole())
        return
    check_layout(state)
    for name, value in {**state.clocks(), "targets.lift": state.targets.lift}.items():
        check_number(name, value)
    _check_columns(state)
    for name, values in _parts(state):
        if isinstance(values, np.ndarray):
            check_finite(name, values)
        elif isinstance(values, Mixture):
            check_shares(name, values)
    check_finite("targets", state.targets.table)
    for name, values in (("targets.spread", state.targets.spread), ("residual", getattr(state, "residual", 0.0))):
        if not np.all(values >= 0.0):
            raise ValueError(f"{name} has negative entries")
    if not state.targets.lift > 0.0:
        raise ValueError(f"targets.lift is {state.targets.lift}; it must be positive")
    for model in state.others:
        check(model)


def check_layout(state: Any) -> None:
    """Like `check`, except for the values in arrays; takes no longer for many columns than for one."""
    if not isinstance(state, LinearState):
        raise ValueError(f"the model is a {type(state).__name__}; it must be a state of one of the kernel's families")
    rule, columns = _part(state, "rule"), _part(state, "columns")
    check_rule(rule)
    if type(rule).State is not type(state):
        raise ValueError(f"the model is a {_named(type(state))}, its rule a {_named(type(rule))}")
    _check_names(state)
    if type(columns) is not Columns or "table" not in vars(columns):
        raise ValueError(f"columns is a {type(columns).__name__}; it must be a table of columns")
    if (rule.n_heads, rule.sharing) != (columns.n_heads, columns.sharing):
        raise ValueError(
            f"columns has {columns.n_heads} heads, of which {columns.sharing} share sums; "
            f"the rule has {rule.n_heads} and {rule.sharing}"
        )
    expected = _shapes(rule)
    for kind in ("shared", "per_head"):
        missing = set(expected[kind]) - set(getattr(columns, kind))
        if missing:
            raise ValueError(f"columns lacks {', '.join(sorted(missing))}, which the rule needs")
    unknown = set(columns.names).difference(field.name for field in rule.FIELDS)
    if unknown:
        raise ValueError(f"columns has {', '.join(sorted(unknown))}, of which nothing is known")
    n_columns = columns.table.shape[1]
    if n_columns <= rule.intercept - 1:
        raise ValueError("columns is empty, where the constant 1 of the intercept is one of them")
    targets = _part(state, "targets")
    if type(targets) is not Targets or "lift" not in vars(targets):
        raise ValueError(f"targets is a {type(targets).__name__}; it must be a table of targets")
    check_array("targets", targets.table, (len(FIELDS), rule.n_targets))
    for name, (like, shape, growth) in expected["parts"].items():
        values = _part(state, name)
        if like is np.ndarray:
            of_model = tuple(n + by * (n_columns - expected["n_columns"]) for n, by in zip(shape, growth))
            check_array(name, values, of_model)
        elif like in (Mixture, FixedShare):
            if isinstance(values, FixedShare) != (like is FixedShare):
                raise ValueError(f"{name} is a {type(values).__name__}; it must be a {like.__name__}")
            check_mixture(name, values, *shape)
        elif like in (float, int):
            check_number(name, values, like)
        elif type(values) is not like:
            raise ValueError(f"{name} is a {type(values).__name__}; it must be a {like.__name__}")

    model: Any
    for model in state.others:  # before rules are compared, which fails for a rule without a field
        check_rule(_part(model, "rule"))
    state.check_others()


# -- rules


def check_rule(rule: Any) -> None:
    """Raise unless a rule is one of the kernel's, with parameters of the types that its class declares."""
    if not (isinstance(rule, LinearRule) and is_dataclass(rule)):
        raise ValueError(f"the rule is a {type(rule).__name__}; it must be one of the kernel's families")
    _check_names(rule)
    hints = _hints(type(rule))
    for declared in fields(rule):
        value = _part(rule, declared.name, "the rule")
        if not _is_a(value, hints[declared.name], may_be_infinite=declared.default == np.inf):
            shown = f"{value!r:.60}" if isinstance(value, Real | str | tuple) else f"a {type(value).__name__}"
            raise ValueError(f"the rule has {declared.name}={shown}, which is no valid {declared.type}")
    for name in rule.not_zero:
        if not getattr(rule, name) > 0:
            raise ValueError(f"the rule has {name}={getattr(rule, name)!r}; it must be positive")
    if rule.experts < 1 or rule.n_targets < 1 or rule.n_targets * rule.experts != rule.n_heads:
        raise ValueError(f"the rule has {rule.n_heads} heads, which {rule.experts} experts cannot share")


@lru_cache
def _hints(rule_class):
    return typing.get_type_hints(rule_class)


def _is_a(value, hint, may_be_infinite=False):
    """Whether a value has the type that an annotation names; numbers are finite, and only ranges may be negative."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_is_a(value, arg, may_be_infinite) for arg in args)
    if origin is typing.Literal:
        return isinstance(value, str) and value in args
    if origin is tuple and args[-1] is Ellipsis:
        return isinstance(value, tuple) and all(_is_a(entry, args[0]) for entry in value)
    if origin is tuple:
        numbers = isinstance(value, tuple) and len(value) == len(args) and all(_is_a(abs(v), float) for v in value)
        return numbers and value == tuple(sorted(value))
    if hint is bool:
        return isinstance(value, bool | np.bool_)
    if hint in (int, float):
        if isinstance(value, bool | np.bool_) or not isinstance(value, Integral if hint is int else Real):
            return False
        most = LARGEST if isinstance(value, float) else WHOLE
        return 0 <= value <= most or (may_be_infinite and value == np.inf)
    if hint is Box:
        return type(value) is Box and _holds_zero(value)
    if is_dataclass(hint):
        return type(value) is hint and _is_a(vars(value).get("radius"), float) and value.radius > 0
    return isinstance(value, hint)


def _holds_zero(box):
    """Whether a box is valid, with 0 between its bounds."""
    try:
        box.check()
    except (AttributeError, ValueError):
        return False
    return bool(np.all(np.less_equal(box.low, 0.0)) and np.all(np.greater_equal(box.high, 0.0)))


# -- parts


@lru_cache(maxsize=256)
def _shapes(rule):
    """Names of the fields of columns, and types and shapes of the other parts, as `State.new` makes them.

    Two models of few columns show how sizes grow with the number of columns.
    """
    few, more = (type(rule).State.new(rule, n) for n in (2, 3))
    parts = {}
    for name, value in _parts(few):
        shape = growth = ()
        if isinstance(value, np.ndarray):
            shape = value.shape
            growth = tuple(np.subtract(getattr(more, name).shape, shape).tolist())
        elif isinstance(value, Mixture):
            shape = value.excess.shape
        kinds = (np.ndarray, FixedShare, Mixture, float, int)
        like = next((kind for kind in kinds if isinstance(value, kind)), type(value))
        parts[name] = (like, shape, growth)
    columns = few.columns
    return {"shared": columns.shared, "per_head": columns.per_head, "n_columns": columns.lift.size, "parts": parts}


def _parts(state):
    """Names and values of the parts of a model other than its rule, columns and targets."""
    others = ("rule", "columns", "targets", *state.TRANSIENT)
    return [(part.name, _part(state, part.name)) for part in fields(state) if part.name not in others]


def _part(owner, name, of="the model"):
    try:
        return getattr(owner, name)
    except AttributeError:
        raise ValueError(f"{of} has no {name}") from None


def _check_names(thing):
    """Raise for attributes that a dataclass does not declare, which would hide its methods."""
    unknown = vars(thing).keys() - {part.name for part in fields(thing)}
    if unknown:
        raise ValueError(f"a {_named(type(thing))} has {', '.join(sorted(map(str, unknown)))}, which is not part of it")


def _named(of):
    return f"{of.__module__.rpartition('.')[0].rpartition('.')[2]}.{of.__name__}"


def check_array(name: str, values: Any, shape: tuple[int, ...]) -> None:
    """Raise unless ``values`` is a float64 array of this shape."""
    if type(values) not in (np.ndarray, np.memmap):
        raise ValueError(f"{name} is a {type(values).__name__}; it must be an array")
    if values.dtype != np.float64:
        raise ValueError(f"{name} is an array of {values.dtype.str}; it must be one of float64 in this byte order")
    if values.shape != shape:
        raise ValueError(f"{name} has shape {values.shape}; it must be {shape}")


def check_finite(name: str, values: np.ndarray) -> None:
    """Raise for NaN and infinity."""
    if not np.isfinite(values).all():
        raise ValueError(f"{name} has entries that are NaN or infinite")


def check_number(name: str, value: Any, kind: type = float) -> None:
    """Raise unless ``value`` is a finite, nonnegative number of this kind."""
    is_number = isinstance(value, kind) and not isinstance(value, bool)
    if not is_number:
        raise ValueError(f"{name} is a {type(value).__name__}; it must be a number, of type {kind.__name__}")
    if not 0 <= value <= LARGEST:
        raise ValueError(f"{name} is {value!r:.60}; it must be finite and not negative")


def check_mixture(name: str, mixture: Any, n_groups: int, n_experts: int) -> None:
    """Raise unless ``mixture`` is a `Mixture` with these numbers of groups and experts."""
    more = {"rounds", "unit"} if type(mixture) is FixedShare else set()
    known = type(mixture) in (Mixture, FixedRate, FixedShare)
    if not known or vars(mixture).keys() != {"excess", "gap", *more}:
        raise ValueError(f"{name} is a {type(mixture).__name__}; it must be a mixture of experts")
    if more:
        check_array(f"{name}.rounds", mixture.rounds, (n_groups,))
        check_number(f"{name}.unit", mixture.unit)
    check_array(f"{name}.excess", mixture.excess, (n_groups, n_experts))
    check_array(f"{name}.gap", mixture.gap, (n_groups,))


def check_shares(name: str, mixture: Mixture) -> None:
    """Raise unless the stored losses of experts are finite and not negative."""
    for what, values in vars(mixture).items():
        if what == "unit":
            continue
        check_finite(f"{name}.{what}", values)
        if not (values >= 0.0).all():
            raise ValueError(f"{name}.{what} has negative entries")


def _check_columns(state):
    """Raise if anything stored for columns is not finite or out of range; goes block by block."""
    columns, rule = state.columns, state.rule
    if columns.table[columns.n_rows - len(columns.apart) :].any():
        raise ValueError("columns.table has numbers below the rows of its fields")
    least, most = _ranges(rule.FIELDS, columns.shared, columns.per_head, columns.n_heads, columns.sharing)
    for start in range(0, columns.lift.size, AT_ONCE):
        block = columns.whole(slice(start, start + AT_ONCE))
        within = (block >= least) & (block <= most)
        if not within.all():
            row, column = (int(place[0]) for place in np.nonzero(~within))
            name = next(name for name, rows in columns.ranges().items() if row in rows)
            raise ValueError(f"columns.{name} is {block[row, column]} for column {start + column}, which it cannot be")
        if columns.frequent is None:
            continue
        rows = slice(start, start + AT_ONCE)
        is_frequent, tally = columns.frequent[rows], columns.tally[rows]
        if not ((is_frequent == 0.0) | (is_frequent == 1.0)).all():
            raise ValueError("columns.frequent has entries that are neither 0 nor 1")
        # A compiled list of frequent columns has room for as many as these shares allow.
        if not (tally <= np.where(is_frequent > 0.0, ENDS, 1.0) * state.t * (1.0 + ROUNDING)).all():
            raise ValueError("columns.tally has entries that are larger than the weight of the rows allows")
    if rule.selective and rule.intercept and not (columns.frequent[-1] == 1.0 and columns.tally[-1] <= state.t):
        raise ValueError("columns.frequent is 0 for the constant 1 of the intercept")


@lru_cache
def _ranges(declared, *layout):
    """Least and largest value of each row of a table of columns."""
    by_name = {field.name: field for field in declared}
    fields = [by_name[name] for name, rows in rows_of_fields(*layout).items() for _ in rows]
    return np.array([[field.least] for field in fields]), np.array([[field.most] for field in fields])
