"""Checks of parameters, and how errors show their values."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

_LARGEST_INT, _LARGEST_SEED = 2**63 - 1, 2**32 - 1
_LONGEST_SHOWN = 120  # characters of a value in an error


@functools.cache
def parameter_names(estimator_class):
    return tuple(inspect.signature(estimator_class).parameters)


def unchanging(value):
    """The value of a parameter, copied if it may change in place."""
    if isinstance(value, np.ndarray | list):
        return value.copy()
    return dict(value) if isinstance(value, Mapping) else value


def as_they_are(estimator, names):
    """Current values of parameters by name, safe from changes in place."""
    return {name: unchanging(getattr(estimator, name)) for name in names}


class HasNamedParts(BaseEstimator):
    """Base of estimators with a list of named parts, which are parameters, as are their own parameters.

    A class names the list's parameter in ``_list_of_parts``. Its ``_entries`` returns tuples ``(name, part, ...)``,
    none if the list is invalid.
    """

    _list_of_parts: str

    def _entries(self):
        raise NotImplementedError

    def get_params(self, deep: bool = True) -> dict:
        """Get parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the parts by name, and their parameters as ``name__parameter``.

        Returns
        -------
        dict
            Parameter values by name.
        """
        own = super().get_params(deep=deep)
        nested = {}
        for name, part, *_ in self._entries() if deep else ():
            nested[name] = part
            if hasattr(part, "get_params"):
                nested.update((f"{name}__{key}", value) for key, value in part.get_params(deep=True).items())
        return {**nested, **own}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name: first the list of parts, then single parts, then their parameters.

        Parameters
        ----------
        **params : dict
            Values by name, with the names that `get_params` returns.

        Returns
        -------
        self : object
            The estimator.
        """
        parts = self._list_of_parts
        if parts in params and parts in self.get_params(deep=False):
            setattr(self, parts, params.pop(parts))
        entries = self._entries()
        if any(name in params for name, *_ in entries):
            setattr(self, parts, [(name, params.pop(name, part), *rest) for name, part, *rest in entries])
        return super().set_params(**params)


def check_names_of_parts(parameter, names, owner):
    """Raise ValueError for a repeated name, or one that cannot be a parameter of the class ``owner``."""
    taken = parameter_names(owner)
    for name in names:
        if not isinstance(name, str) or "__" in name or name in taken or names.count(name) > 1:
            raise ValueError(
                f"names in {parameter} must be different strings without '__' that are not names of parameters; "
                f"got {name!r} among {names}."
            )


class InvalidParameterError(ValueError, TypeError):
    """Raised for a parameter of a wrong type or value; both kinds of error, like scikit-learn's.

    Arguments: the parameter's name, what it must be, what it is, a hint at what to use instead, and the public class or
    function that has it.
    """

    def __init__(self, parameter, allowed, got, hint="", owner=None):
        super().__init__(parameter, allowed, got, hint, owner)

    def __str__(self):
        parameter, allowed, got, hint, owner = self.args
        whose = f" of {owner}" if owner else ""
        return f"The {parameter!r} parameter{whose} must be {allowed}. Got {got} instead.{hint and ' ' + hint}"

    def of(self, owner):
        """The same error with its owner's name."""
        return InvalidParameterError(*self.args[:4], owner)


def check_parameters(model):
    """Call ``_check_parameters``, and make errors name the class."""
    try:
        model._check_parameters()
    except InvalidParameterError as error:
        raise error.of(type(model).__name__) from None


def _is_among(value, options):
    return any(value is option or (isinstance(value, str) and value == option) for option in options)


def check_as_begun(begun_with, now, owner="model", it="a model", instead="call fit"):
    """Raise if a parameter is not what it was when its ``owner`` was new; both are dicts by name."""
    for name, value in now.items():
        was = begun_with[name]
        if value is not was and not _equal(value, was):
            raise ValueError(
                f"{name} was {shown(was)} when this {owner} was new and is {shown(value)} now; {it} cannot go on with "
                f"another: {instead}, or clone it."
            )


_OF_FIT = {
    "n_jobs", "verbose", "memory", "warm_start", "max_iter", "tol", "n_iter_no_change", "early_stopping",
    "validation_fraction",
}  # fmt: skip


def check_as_made(made, given, name, free=()):
    """Raise if the value given for a parameter has changed since a clone of it was made.

    Exceptions: values in ``free``, what ``partial_fit`` does not read, seeds that were None, and objects without an
    equality of their own.
    """
    if given is made or name in free:
        return
    made, given = getattr(made, "__func__", made), getattr(given, "__func__", given)  # a clone copies their objects
    kind, last = type(given), name.rpartition("__")[2]
    if last in _OF_FIT or (given is None and last == "random_state"):
        return
    alike = kind is type(made)
    if alike and hasattr(given, "get_params") and not isinstance(given, type):
        for key in parameter_names(kind):
            was, value = getattr(made, key, None), getattr(given, key, None)
            if value is not was:
                check_as_made(was, value, f"{name}__{key}", free)
    elif alike and kind is dict and made.keys() == given.keys():
        for key, value in given.items():
            check_as_made(made[key], value, f"{name}[{key!r}]", free)
    elif alike and kind in (list, tuple) and len(made) == len(given):
        for was, value in zip(made, given):
            is_named = isinstance(value, tuple) and value and isinstance(value[0], str)
            check_as_made(was, value, name[: len(name) - len(last)] + value[0] if is_named else name, free)
    elif not alike or kind.__eq__ is not object.__eq__ or isinstance(given, type):
        check_as_begun({name: made}, {name: given})


def _equal(value, other):
    """Whether two parameter values are equal (arrays in all entries, NaN to NaN) or cannot be compared."""
    if hasattr(value, "__array__") or hasattr(other, "__array__"):
        value, other = np.asarray(value), np.asarray(other)
        if value.shape != other.shape:
            return False
    try:
        return bool(np.all((value == other) | ((value != value) & (other != other))))
    except (TypeError, ValueError):
        return True


def pipelines_of(model):
    """The model, if it is a pipeline, its last step, if that is one, and so on; empty for others."""
    found = []
    while isinstance(model, Pipeline):
        found.append(model)
        model = model.steps[-1][1]
    return found


def learner_of(model):
    """The learner of a model: the last step of its innermost pipeline, or itself."""
    pipelines = pipelines_of(model)
    return pipelines[-1].steps[-1][1] if pipelines else model


def steps_before_learner(model):
    """The steps, without names, that rows pass before the learner of a model."""
    return [step for pipeline in pipelines_of(model) for _, step in pipeline.steps[:-1]]


def names_before_learner(model, names=None):
    """Column names for the learner of a model, made from ``names`` by the steps before it."""
    for pipeline in pipelines_of(model):
        if len(pipeline.steps) > 1:
            names = pipeline[:-1].get_feature_names_out(names)
    return names


def shown(value):
    """``value`` as one would write it; shortened if long, described if that fails, as for huge integers."""
    try:
        text = repr(value)
    except Exception:
        return f"an object of type {type(value).__name__} that cannot be shown"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def check_option(name, value, allowed, hints=None):
    """Raise unless ``value``, given for the parameter ``name``, is one of those allowed.

    ``hints`` maps some other words to what to use instead.
    """
    if not _is_among(value, allowed):
        hint = (hints or {}).get(value, "") if isinstance(value, str) else ""
        raise InvalidParameterError(name, f"one of {', '.join(map(repr, allowed))}", shown(value), hint)


def check_number(name, value, kind=Real, *, min_val=None, max_val=None, include_boundaries="both", options=(), hint=""):
    """Raise unless ``value`` is a finite number of the kind and in the range, or one of the ``options``.

    Ranges are as for `sklearn.utils.check_scalar`: ``include_boundaries`` is "both", "left", "right" or "neither".
    Floats are compared as float64; ints must fit in 64 bits.
    """
    if _is_among(value, options):
        return
    with_left, with_right = include_boundaries in ("both", "left"), include_boundaries in ("both", "right")
    least, most = -np.inf if min_val is None else min_val, np.inf if max_val is None else max_val
    if isinstance(value, kind):
        number = as_float(value) if kind is Real else value
        above = number >= least if with_left else number > least
        below = number <= most if with_right else number < most
        if above and below and abs(number) < np.inf:
            if kind is Real or -_LARGEST_INT <= number <= _LARGEST_INT:
                return
            least, most = max(least, -_LARGEST_INT), min(most, _LARGEST_INT)
    left = "[" if with_left and least > -np.inf else "("
    right = "]" if with_right and most < np.inf else ")"
    number = f"{'an int' if kind is Integral else 'a float'} in the range {left}{least}, {most}{right}"
    allowed = " or ".join([*map(repr, options), number])
    raise InvalidParameterError(name, allowed, shown(value), hint)


def check_half_life(value, options=(None,), normalization=None):
    """Raise unless ``value`` is a number of rows for a half-life, or one of the options.

    If "auto" is one of them, several numbers are, too.
    """
    several = "auto" in options and isinstance(value, tuple | list) and len(value) > 0
    for half_life in value if several else [value]:
        allowed = () if several else options
        if half_life is True:  # as a number, it is 1
            described = " or ".join([*map(repr, allowed), "a float in the range [1, inf)"])
            raise InvalidParameterError("half_life", described, "True")
        hint = "To mix several, pass a tuple such as (1000, 50)." if "auto" in allowed else ""
        check_number("half_life", half_life, min_val=1, options=allowed, hint=hint)
    if value is not None and normalization == "max":
        raise ValueError(
            "half_life needs normalization='auto', 'rms' or None, as the largest value of a feature cannot fade; got "
            "'max'."
        )


def as_float(value):
    """A real number as a float, infinite beyond the range of float64."""
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def is_finite(value):
    """Whether ``value`` is a real number within the range of float64."""
    return isinstance(value, Real) and abs(as_float(value)) < np.inf


def check_flag(name, value):
    """Raise unless ``value``, given for the parameter ``name``, is a boolean."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidParameterError(name, "True or False", shown(value))


def check_seed(value):
    """Raise unless `sklearn.utils.check_random_state` takes ``value``, given for ``random_state``."""
    if value is None or value is np.random or isinstance(value, np.random.RandomState):
        return
    if not (isinstance(value, Integral) and 0 <= value <= _LARGEST_SEED):
        allowed = f"None, an int in the range [0, {_LARGEST_SEED}] or a numpy.random.RandomState"
        raise InvalidParameterError("random_state", allowed, shown(value))
