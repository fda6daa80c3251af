"""The parameter ``constraint``: allowed values, and the set that each denotes."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Literal, TypeAlias

import numpy as np

from ..constraints import Box, L2Ball, Simplex, WeightedL1Ball
from ._parameters import InvalidParameterError, check_number, shown
from ._validation import as_given

Constraint: TypeAlias = (
    Box | L2Ball | Simplex | WeightedL1Ball | Mapping[str | int, int] | Literal["nonnegative"] | None
)
ALLOWED = (
    "None, 'nonnegative', a dict of signs by column, or Box, L2Ball, Simplex or WeightedL1Ball of "
    "sklearn_nag.constraints"
)
_BALLS = L2Ball, Simplex, WeightedL1Ball


def has_bounds(constraint):
    """Whether a checked constraint bounds each weight separately."""
    return constraint is not None and not isinstance(constraint, _BALLS)


def check_constraint(constraint):
    """Raise unless ``constraint`` is one of `ALLOWED`, with valid numbers."""
    if constraint is None or (isinstance(constraint, str) and constraint == "nonnegative"):
        return
    if isinstance(constraint, _BALLS):
        check_number("constraint.radius", constraint.radius, min_val=0, include_boundaries="neither")
    elif isinstance(constraint, Box):
        _check_box(constraint)
    elif isinstance(constraint, Mapping):
        _check_signs(constraint)
    else:
        raise InvalidParameterError("constraint", ALLOWED, shown(constraint))


def _check_box(box):
    try:
        box.check()
    except ValueError as error:
        raise ValueError(f"constraint=Box(...): {error}") from None
    if not (np.all(np.less_equal(box.low, 0.0)) and np.all(np.greater_equal(box.high, 0.0))):
        raise ValueError(
            "constraint=Box(low, high) needs low <= 0 <= high for each column, as the weight of a column that has not "
            f"varied so far is 0; got {box!r:.120}. To bound a regressor's weights around other values w, use "
            "y - X @ w as targets."
        )


def _check_signs(signs):
    for column, sign in signs.items():
        if not isinstance(column, str | Integral) or isinstance(column, bool):
            raise ValueError(f"constraint has the column {shown(column)}; columns are names, or numbers from 0 on.")
        if not isinstance(sign, Integral) or isinstance(sign, bool) or sign not in (-1, 0, 1):
            raise ValueError(
                f"constraint has {shown(sign)} for column {as_given(column)}; signs are 1 for weights that are not "
                "negative, -1 for those that are not positive, and 0 for any."
            )


def set_of(constraint, estimator):
    """The set that a checked constraint denotes for the columns of an estimator.

    Raises
    ------
    ValueError
        If it names columns that the estimator lacks.
    """
    n_features = estimator.n_features_in_
    if isinstance(constraint, Box):
        try:
            constraint.check(n_features)
        except ValueError as error:
            raise ValueError(f"constraint=Box(...): {error}") from None
        return constraint
    if isinstance(constraint, str):
        return Box(low=0.0)
    if not isinstance(constraint, Mapping):
        return constraint
    low, high = np.full(n_features, -np.inf), np.full(n_features, np.inf)
    numbers = {name: i for i, name in enumerate(getattr(estimator, "feature_names_in_", ()))}
    for column, sign in constraint.items():
        number = numbers.get(column) if isinstance(column, str) else int(column)
        if number is None:
            known = f"these are {shown(list(numbers))}" if numbers else "X has none: give numbers from 0 on instead"
            raise ValueError(f"constraint has a sign for the column {column!r}, which is not a name of X's; {known}.")
        if not 0 <= number < n_features:
            raise ValueError(f"constraint has a sign for column {number}; X has {n_features} columns, from 0 on.")
        if sign:
            (low if sign > 0 else high)[number] = 0.0
    return Box(low, high)


def check_within(constraint, coef):
    """Raise if weights in raw units are outside a set of bounds."""
    if isinstance(constraint, Box) and not ((coef >= constraint.low) & (coef <= constraint.high)).all():
        raise ValueError("the given weights are outside the bounds set by constraint.")
