"""Puts texts that several docstrings share into each of them, so that ``help`` shows plain text."""

from __future__ import annotations

import re
from collections.abc import Callable
from textwrap import indent
from typing import TypeVar

Documented = TypeVar("Documented", bound=Callable)
_PLACEHOLDER = re.compile(r"^([ \t]*)\{(\w+)\}[ \t]*$", re.MULTILINE)


def share(**entries: str) -> Callable[[Documented], Documented]:
    r"""Return a decorator that writes an entry in place of each docstring line that is nothing but ``{name}``.

    An entry is given without indentation and gets that of the line. A name without an entry raises KeyError.

    Examples
    --------
    >>> @share(X="X : ndarray\n    Rows.")
    ... class Learner:
    ...     '''Parameters:
    ...
    ...       {X}
    ...     '''
    >>> [line.strip() for line in Learner.__doc__.splitlines()]
    ['Parameters:', '', 'X : ndarray', 'Rows.', '']
    """

    def write(documented):
        if documented.__doc__ is not None:  # as it is under `python -OO`
            documented.__doc__ = _PLACEHOLDER.sub(lambda line: indent(entries[line[2]], line[1]), documented.__doc__)
        return documented

    return write
