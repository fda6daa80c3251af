"""What a transformer, of this package or another, does in a stream: whether it can, how it learns, how it is undone."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted


def is_left_out(step: Any) -> bool:
    """Whether a step lets rows pass as they are."""
    return step is None or isinstance(step, str)


def learns(step: Any) -> bool:
    """Whether a step learns from batches."""
    return hasattr(step, "partial_fit") and not isinstance(step, FrozenEstimator)


def check_step(name: str, step: Any) -> None:
    """Raise TypeError for a step that can neither learn from batches nor transform rows without having learnt."""
    if learns(step):
        return
    try:
        check_is_fitted(step)
    except NotFittedError:
        raise TypeError(
            f"the step {name!r}, {type(step).__name__}, has to see all rows before it can transform one: a stream "
            "needs steps that have partial_fit or learn nothing. Fit it on other rows and wrap it in "
            "sklearn.frozen.FrozenEstimator."
        ) from None


def is_by_row(step: Any) -> bool:
    """Whether what a step makes of rows that it learns does not depend on how they are cut into batches."""
    if not learns(step):
        return True
    return hasattr(step, "learn_transform") and all(is_by_row(part) for part in step._parts())


def learn_step(step: Any, X: Any, y: Any = None, params: dict | None = None) -> Any:
    """Let a step learn rows, if it can, and transform them: each by the rows up to it, or by all of the batch.

    ``params`` go to ``partial_fit`` of a transformer that has no ``learn_transform``.
    """
    if is_left_out(step):
        return X
    if not learns(step):
        return step.transform(X)
    if hasattr(step, "learn_transform"):
        return step.learn_transform(X)
    return step.partial_fit(X, y, **(params or {})).transform(X)


def keep(step: Any, refits: bool = False) -> Callable[[], None]:
    """A function that makes a step again what it is now.

    Transformers of this package replace what they know, so their attributes are enough; those of others, which may
    change arrays in place, are copied. With ``refits`` also those are that cannot go on, as they are about to be fitted
    anew.
    """
    if is_left_out(step) or not (refits or learns(step)):
        return lambda: None
    if hasattr(step, "_parts"):
        before = vars(step).copy()
        parts = [keep(part, refits) for part in step._parts()]
    else:
        before, parts = copy.deepcopy(vars(step)), []

    def restore():
        for name in vars(step).keys() - before.keys():
            del vars(step)[name]
        vars(step).update(before)
        for part in parts:
            part()

    return restore
