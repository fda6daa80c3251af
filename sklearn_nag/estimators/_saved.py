"""Estimators that were saved: versions of what they hold, and checks of the attributes around a model.

Arrays of the model are what `kernels.check` looks at.

Whoever changes what pickles hold, so that models saved before could not go on, raises `STATE_VERSION` and adds to
`READERS` how a model of the version before becomes one of the new. ``tests/data`` keeps models of each version in each
format; a test loads all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np

from ._labels import classes_of_labels

PLAIN = (type(None), bool, Real, str)  # of attributes of classes that objects have of their own
VALUES = (*PLAIN, np.bool_, tuple, list, np.ndarray)  # of parameters that models are begun with
STATE_VERSION = 5

READERS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""For a version, the function that turns the attributes of an estimator saved by it into those of the next version.

There is none for versions below 5, which no release has had.
"""


def damaged(estimator, error):
    """The error for an estimator whose attributes do not fit together, from one that says which."""
    return ValueError(
        f"this {type(estimator).__name__} cannot be used, as its parts do not make a model: "
        f"{str(error).rstrip('.')}. What it was loaded from has been changed or damaged."
    )


class CheckedWhenLoaded:
    """Base of what raises, when it is loaded, for attributes that do not fit together."""

    def __setstate__(self, state):
        super().__setstate__(state)
        try:
            self._check_whole()
        except ValueError as error:
            raise damaged(self, error) from None

    def _check_whole(self):
        """Raise for attributes that do not fit together, as those of a file that was changed or damaged."""
        raise NotImplementedError


def check_attributes(estimator, parameters):
    """Raise for attributes that hide the methods of an estimator, and for parameters that it lacks."""
    own = vars(estimator)
    for name in own:
        if not isinstance(getattr(type(estimator), name, None), PLAIN):
            raise ValueError(f"it has an attribute {name}, which would hide that of its class")
    missing = [name for name in parameters if name not in own]
    if missing:
        raise ValueError(f"it has no {', '.join(missing)}")


def check_begun_with(begun_with, names):
    """Raise unless the parameters that a model was begun with are a dict of plain values with some of these names."""
    values = begun_with.values() if isinstance(begun_with, dict) else ()
    if not (values and set(begun_with) <= set(names) and all(isinstance(v, VALUES) for v in values)):
        raise ValueError("it has no parameters that it was begun with")


def check_integer(name, value, least):
    """Raise unless ``value`` is an integer, and not below ``least``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} is {value!r:.60}; it must be an integer from {least} on")


def check_features(estimator):
    """Raise for a number of features, or names of them, that no estimator has."""
    n_features, names = getattr(estimator, "n_features_in_", None), getattr(estimator, "feature_names_in_", None)
    check_integer("n_features_in_", n_features, 1)
    if names is not None and not (type(names) is np.ndarray and names.shape == (n_features,)):
        raise ValueError(f"feature_names_in_ is not an array of {n_features} names")


def check_known_classes(classes):
    """Raise unless ``classes`` is an array of two classes or more, in order, or of 0 and 1 for each of labels."""
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
    """Raise unless ``n_outputs`` is a number of outputs, or None for targets of one dimension."""
    if n_outputs is not None:
        check_integer("the number of outputs", n_outputs, 1)


def of_this_version(attributes, name):
    """Attributes of an estimator, of the class of a name, for this version of the package, from those that were saved.

    Without a ``"_state_version"`` they are taken to be of this one.
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
