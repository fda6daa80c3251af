"""Versions of what a saved model holds, and how those saved by earlier ones are read.

Whoever changes what pickles hold, so that models saved before could not go on, raises `STATE_VERSION` and adds to
`READERS` how a model of the version before becomes one of the new. ``tests/data`` keeps models of each version in each
format; a test loads all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

STATE_VERSION = 5

READERS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""For a version, the function that turns the attributes of an estimator saved by it into those of the next version.

There is none for versions below 5, which no release has had.
"""


def of_this_version(attributes, name):
    """Attributes of an estimator for this version of the package, from those that were saved.

    Parameters
    ----------
    attributes : dict
        What ``__getstate__`` gave. With no ``"_state_version"`` it is taken to be of this version.
    name : str
        Name of the estimator's class, for the error.

    Returns
    -------
    dict
        Without the version.

    Raises
    ------
    ValueError
        For a version that is not known here.
    """
    if not isinstance(attributes, dict):
        raise ValueError(f"a {name} cannot be made of a {type(attributes).__name__}; its attributes are a dict.")
    attributes = dict(attributes)
    saved = version = attributes.pop("_state_version", STATE_VERSION)
    while isinstance(version, int) and version in READERS:
        attributes, version = READERS[version](attributes), version + 1
    if not isinstance(version, int) or version != STATE_VERSION:
        known = ", ".join(map(str, (*READERS, STATE_VERSION)))
        raise ValueError(
            f"this {name} was saved by another version of sklearn_nag (model format {saved}; this one reads {known}): "
            "load it with that version, or fit it again."
        )
    return attributes
