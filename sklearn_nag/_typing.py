"""Decorators whose methods keep their signatures for type checkers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sklearn.utils import metaestimators

Method = TypeVar("Method", bound=Callable[..., Any])


def available_if(check: Callable[[Any], bool]) -> Callable[[Method], Method]:
    """`sklearn.utils.metaestimators.available_if`, which gives types to no one.

    Parameters
    ----------
    check : callable
        Whether an object has the method; it may raise an AttributeError that says why not.

    Returns
    -------
    callable
        The decorator.
    """
    decorator: Callable[[Method], Method] = metaestimators.available_if(check)
    return decorator
