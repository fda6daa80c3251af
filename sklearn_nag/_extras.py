"""How to install what optional parts of the package need, for messages."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any


def how_to_install(extra: str) -> str:
    """A command that installs what an extra names, and that works wherever this package came from.

    It names the packages, not the extra: by an extra pip would look for this package on an index.

    Parameters
    ----------
    extra : str
        One of ``[project.optional-dependencies]`` in ``pyproject.toml``.

    Returns
    -------
    str
        The command; for a copy of the source that was never installed, with the folder in which it is run.

    Examples
    --------
    >>> how_to_install("plot")
    'pip install "matplotlib>=3.8"'
    """
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires("sklearn-nag") or []
    except PackageNotFoundError:
        return f'pip install ".[{extra}]" in {Path(__file__).parents[1]}'
    marked = re.compile(rf"""\bextra == ["']{extra}["']""")
    named = [line.partition(";")[0].strip() for line in lines if marked.search(line)]
    return " ".join(["pip install", *(f'"{requirement}"' for requirement in named)])


def needed(module: str, extra: str, what: str) -> Any:
    """Import a module of an extra; if it is missing, raise ImportError that says ``what`` needs it."""
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise ImportError(f"{what} {package}, which is not installed: {how_to_install(extra)}") from None
