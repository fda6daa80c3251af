"""Text that several docstrings share, written once."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from typing import TypeVar

_Documented = TypeVar("_Documented")
_PLACEHOLDER = re.compile(r"^([ \t]*)\{(\w+)\}[ \t]*$", re.MULTILINE)


def share(**entries: str) -> Callable[[_Documented], _Documented]:
    """Make a decorator that fills placeholders in a docstring when the module is imported, so `help` shows plain text.

    Parameters
    ----------
    **entries : str
        Texts by name, without indentation. Each replaces the lines that consist of ``{name}``, and is indented alike.

    Returns
    -------
    callable
        Decorator of functions and classes. It raises KeyError for a placeholder that is not among the entries.
    """

    def text(match):
        indentation, name = match.groups()
        return textwrap.indent(entries[name].strip("\n"), indentation)

    def fill(documented):
        if documented.__doc__ is not None:  # python -OO strips docstrings
            documented.__doc__ = _PLACEHOLDER.sub(text, documented.__doc__)
        return documented

    return fill
