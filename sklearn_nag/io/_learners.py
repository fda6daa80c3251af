"""The estimators that files are about."""

from __future__ import annotations

import inspect

from .. import estimators
from ..estimators._online import OnlineLinear

PACKAGE = __name__.partition(".")[0]


def learners():
    """All public estimators whose model is one of the kernel's."""
    public = (getattr(estimators, name) for name in estimators.__all__)
    return [thing for thing in public if inspect.isclass(thing) and issubclass(thing, OnlineLinear)]
