"""Decorators: methods that keep their types, docstrings that share texts, deprecated parameters."""

from __future__ import annotations

import functools
import inspect
import re
import warnings
from collections.abc import Callable
from textwrap import indent
from typing import Any, TypeVar, cast

from sklearn.utils import metaestimators

Method = TypeVar("Method", bound=Callable[..., Any])
Documented = TypeVar("Documented", bound=Callable)
NOT_GIVEN = "deprecated"
_PLACEHOLDER = re.compile(r"^([ \t]*)\{(\w+)\}[ \t]*$", re.MULTILINE)


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


def share(**entries: str) -> Callable[[Documented], Documented]:
    r"""Return a decorator that replaces each docstring line that is only ``{name}`` with an entry.

    An entry is given without indentation and gets that of the line. A name without an entry raises KeyError.

    Examples
    --------
    >>> @share(X="X : ndarray\n    Rows.")
    ... class Learner:
    ...     '''Parameters:
    ...
    ...       {X}
    ...     '''
    >>> inspect.cleandoc(Learner.__doc__).splitlines()
    ['Parameters:', '', 'X : ndarray', '    Rows.']
    """

    def write(documented):
        if documented.__doc__ is not None:  # None under `python -OO`
            documented.__doc__ = _PLACEHOLDER.sub(lambda line: indent(entries[line[2]], line[1]), documented.__doc__)
        return documented

    return write


def deprecated_parameter(name: str, *, until: str, instead: str) -> Callable[[Method], Method]:
    """Return a decorator that warns whoever gives a parameter that a later version will not have.

    Its default becomes ``"deprecated"``, as in scikit-learn, and any other value still has its effect. Because
    `sklearn.base.clone` gives all parameters, those of an estimator are checked when it learns: decorate ``fit`` and
    ``partial_fit``, above any other decorator.

    Parameters
    ----------
    name : str
        The parameter: of the function or method, or else an attribute of the object whose method it is.
    until : str
        The first version without it.
    instead : str
        What to write, as it goes on after "use".

    Returns
    -------
    callable
        The decorator. A call may raise FutureWarning.

    Examples
    --------
    >>> @deprecated_parameter("speed", until="2.0", instead="eta0")
    ... def learn(eta0=1.0, speed="deprecated"):
    ...     return eta0 if speed == "deprecated" else speed
    >>> learn(eta0=0.5)
    0.5
    """

    def decorate(method: Method) -> Method:
        signature = inspect.signature(method)
        own = name in signature.parameters

        @functools.wraps(method)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if own:
                value = signature.bind_partial(*args, **kwargs).arguments.get(name, NOT_GIVEN)
                owner = method.__qualname__
            else:
                value, owner = getattr(args[0], name), type(args[0]).__name__
            if not (isinstance(value, str) and value == NOT_GIVEN):
                warnings.warn(
                    f"The {name!r} parameter of {owner} is deprecated and goes with version {until}: use {instead}.",
                    FutureWarning,
                    stacklevel=2,
                )
            return method(*args, **kwargs)

        return cast(Method, wrapped)

    return decorate
