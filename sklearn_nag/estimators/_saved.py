"""Saved estimators: format versions, and checks of the attributes around a model.

`kernels.check` checks the arrays of the model.

If changed pickles would stop older models from going on, raise `STATE_VERSION`, and add to `READERS` the conversion
from the previous version. ``tests/data`` has models of each version in each format; a test loads all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np

from ._labels import classes_of_labels

PLAIN = (type(None), bool, Real, str)  # types of class attributes that objects may override
VALUES = (*PLAIN, np.bool_, tuple, list, np.ndarray)  # types of parameters that models are begun with
STATE_VERSION = 5

READERS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""For a version, the function that turns the attributes of an estimator saved by it into those of the next version.

There is none for versions below 5, which no release has had.
"""


def damaged(estimator, error):
    """The error for inconsistent attributes of an estimator, from one that says which."""
    return ValueError(
        f"this {type(estimator).__name__} cannot be used, as its parts do not make a model: "
        f"{str(error).rstrip('.')}. What it was loaded from has been changed or damaged."
    )


class CheckedWhenLoaded:
    """Base of classes that raise for inconsistent attributes when loaded."""

    def __setstate__(self, state):
        super().__setstate__(state)
        try:
            self._check_whole()
        except ValueError as error:
            raise damaged(self, error) from None

    def _check_whole(self):
        """Raise for inconsistent attributes, as from a changed or damaged file."""
        raise NotImplementedError


def check_attributes(estimator, parameters):
    """Raise for attributes that hide methods, and for missing parameters."""
    own = vars(estimator)
    for name in own:
        if not isinstance(getattr(type(estimator), name, None), PLAIN):
            raise ValueError(f"it has an attribute {name}, which would hide that of its class")
    missing = [name for name in parameters if name not in own]
    if missing:
        raise ValueError(f"it has no {', '.join(missing)}")


def check_begun_with(begun_with, names):
    """Raise unless ``begun_with`` is a dict of plain values for some of the parameters ``names``."""
    values = begun_with.values() if isinstance(begun_with, dict) else ()
    if not (values and set(begun_with) <= set(names) and all(isinstance(v, VALUES) for v in values)):
        raise ValueError("it has no parameters that it was begun with")


def check_integer(name, value, least):
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} is {value!r:.60}; it must be an integer from {least} on")


def check_features(estimator):
    """Raise for an impossible number of features, or impossible names."""
    n_features, names = getattr(estimator, "n_features_in_", None), getattr(estimator, "feature_names_in_", None)
    check_integer("n_features_in_", n_features, 1)
    if names is not None and not (type(names) is np.ndarray and names.shape == (n_features,)):
        raise ValueError(f"feature_names_in_ is not an array of {n_features} names")


def check_known_classes(classes):
    """Raise unless ``classes`` has two or more in order, or 0 and 1 for each of several labels."""
    if type(classes) in (np.ndarray, np.memmap) and classes.ndim == 2:
        if not (len(classes) > 1 and np.array_equal(classes, classes_of_labels(len(classes)))):
            raise ValueError("classes_ of several labels are not 0 and 1 for each")
        return
    if not (type(classes) in (np.ndarray, np.memmap) and classes.ndim == 1 and len(classes) > 1):
        raise ValueError("classes_ is not an array of two classes or more")
    try:
        in_order = bool(np.all(classes[:-1] < classes[1:]))
    except TypeError:
        in_order = False
    if not in_order:
        raise ValueError("classes_ has classes that are not in order, or twice the same")


def check_outputs(n_outputs):
    """Raise unless ``n_outputs`` is a number of outputs, or None for one dimension."""
    if n_outputs is not None:
        check_integer("the number of outputs", n_outputs, 1)


def of_this_version(attributes, name):
    """Saved attributes of an estimator of the class ``name``, converted to this version of the package.

    Without a ``"_state_version"`` they count as of this version.
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
