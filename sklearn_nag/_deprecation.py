"""Parameters that are to go, for a while still taken. For names there is `sklearn.utils.deprecated`."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, cast

from ._typing import Method

NOT_GIVEN = "deprecated"


def deprecated_parameter(name: str, *, until: str, instead: str) -> Callable[[Method], Method]:
    """Return a decorator that warns whoever gives a parameter that a later version will not have.

    Its default becomes ``"deprecated"``, as in scikit-learn, and what is decorated goes on heeding any other value. A
    parameter of an estimator is read where the estimator learns, as `sklearn.base.clone` gives all of them: so ``fit``
    and ``partial_fit`` are decorated, above any other decorator.

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
