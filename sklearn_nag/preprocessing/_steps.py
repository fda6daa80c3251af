"""Transformers of any package in a stream: whether they can learn, how they do, how it is undone."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import joblib
import numpy as np
from sklearn import get_config
from sklearn.base import OneToOneFeatureMixin
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, get_routing_for_object

from ..estimators._calls import set_attributes
from ..estimators._validation import check_fitted
from ._base import merged


def is_left_out(step: Any) -> bool:
    """Whether a step passes rows on unchanged, or drops them."""
    return step is None or (isinstance(step, str) and step in ("passthrough", "drop"))


def learns(step: Any) -> bool:
    """Whether a step learns from batches; some have ``partial_fit`` but nothing to learn."""
    if not hasattr(step, "partial_fit") or isinstance(step, FrozenEstimator):
        return False
    return hasattr(step, "learn_transform") or not hasattr(step, "__sklearn_tags__") or get_tags(step).requires_fit


def check_is_step(name: str, step: Any, is_last: bool = False) -> None:
    """Raise TypeError for non-estimators and, before the last step, for steps without ``transform``."""
    if isinstance(step, type):
        raise TypeError(f"the step {name!r} is the class {step.__name__}; it must be an estimator, {step.__name__}().")
    can_learn = hasattr(step, "fit") or hasattr(step, "partial_fit")
    if not (hasattr(step, "transform") or (is_last and can_learn)):
        what = f"is a {type(step).__name__}, which has no transform" if can_learn else f"is {step!r:.80}"
        needed = "an estimator" if is_last else "a transformer, as all but the last one are"
        raise TypeError(f"the step {name!r} {what}; it must be {needed}, or None or 'passthrough'.")


def check_step(name: str, step: Any) -> None:
    """Raise TypeError for steps that can neither learn from batches nor transform without learning."""
    check_is_step(name, step)
    if not learns(step) and _knows_nothing(step):
        raise TypeError(
            f"the step {name!r}, {type(step).__name__}, has to see all rows before it can transform one: a stream "
            "needs steps that have partial_fit or learn nothing. Fit it on other rows and wrap it in "
            "sklearn.frozen.FrozenEstimator."
        )


def is_by_row(step: Any) -> bool:
    """Whether a step's output for rows that it learns is independent of their cuts into batches."""
    if not learns(step):
        return True
    if not hasattr(step, "learn_transform"):
        return False
    return all(is_by_row(part) for part in getattr(step, "_parts_given", step._parts)())


def transformed(steps: Iterable, X: Any) -> Any:
    """Rows transformed by these steps, one after another."""
    for step in steps:
        X = X if is_left_out(step) else step.transform(X)
    return X


def learn_step(step: Any, X: Any, y: Any = None, params: dict | None = None) -> Any:
    """Let a step learn rows, if it can, and transform them: each by the rows up to it, or by the batch.

    ``params`` go to ``partial_fit``; steps with ``learn_transform`` take none.
    """
    if is_left_out(step):
        return X
    if not learns(step):
        return step.transform(X)
    if hasattr(step, "learn_transform"):
        if params:
            raise TypeError(f"{type(step).__name__} takes no parameters; got {params}.")
        return step.learn_transform(X)
    return step.partial_fit(X, y, **(params or {})).transform(X)


def routed(step: Any, weight: Any) -> dict:
    """Weights for ``partial_fit`` of a transformer that requests them, if scikit-learn routes metadata."""
    is_routed = weight is not None and get_config()["enable_metadata_routing"]
    if not (is_routed and learns(step)) or hasattr(step, "learn_transform"):
        return {}
    mapping = MethodMapping().add(caller="partial_fit", callee="partial_fit")
    router = MetadataRouter(owner=type(step).__name__).add(step=step, method_mapping=mapping)
    return router.route_params(caller="partial_fit", params={"sample_weight": weight}).step.partial_fit


def refuses_weights(learner: Any, method: str) -> bool:
    """Whether scikit-learn routes metadata, and the learner was told that ``method`` gets no ``sample_weight``."""
    if not get_config()["enable_metadata_routing"]:
        return False
    requests = getattr(get_routing_for_object(learner), method, None)  # a router has none
    return requests is not None and requests.requests.get("sample_weight") is False


def kept(step: Any, refits: bool = False) -> list[tuple[Any, dict]]:
    """A step and its parts, each with the attributes that restore its present state.

    Transformers of this package replace what they know, so their attributes are enough; its learners undo their own
    calls. Others may change arrays in place, so all except parameters is copied. With ``refits``, this includes steps
    that cannot go on, because they are about to be fitted anew.
    """
    if is_left_out(step) or isinstance(step, FrozenEstimator):
        return []
    if hasattr(step, "_parts"):
        return [(step, vars(step).copy()), *(pair for part in step._parts() for pair in kept(part, refits))]
    if not (refits or learns(step)):
        return []
    if getattr(getattr(step, "fit" if refits else "partial_fit", None), "undone", False):
        return []
    params = list(step.get_params(deep=False).values()) if hasattr(step, "get_params") else []
    parts = list(_within(params))
    try:
        known = copy.deepcopy(vars(step), {id(p): p for p in params + parts if not isinstance(p, list)})
    except Exception:  # what cannot be copied, such as a lock
        known = vars(step).copy()
    return [(step, known), *(pair for part in parts for pair in kept(part, refits))]


def _within(values):
    """Estimators among values, or in lists such as the steps of a Pipeline."""
    for value in values:
        if isinstance(value, list | tuple):
            yield from _within(value)
        elif hasattr(value, "get_params") and not isinstance(value, type):
            yield value


@contextmanager
def undone_on_error(steps: Iterable, refits: bool = False) -> Iterator[list]:
    """A ``with`` block that restores steps if it raises, after calling the functions in its list; see `kept`."""
    before, told = [pair for step in steps for pair in kept(step, refits)], []  # type: ignore[var-annotated]
    try:
        yield told
    except BaseException:
        for undo in reversed(told):
            undo()
        for part, attributes in before:
            set_attributes(part, attributes)
        raise


def numeric_outputs(steps: Iterable) -> np.ndarray | None:
    """Places of columns after some steps that hold numbers, not words or marks; None if no step tells."""
    numeric = None
    for step in steps:
        if not (is_left_out(step) or isinstance(step, OneToOneFeatureMixin)):
            numeric = getattr(step, "numeric_outputs_", None)
    return numeric


def tell_numeric(step: Any, before: Iterable, refits: bool = False) -> Callable[[], None]:
    """Tell a step with ``set_numeric_columns``, before its first rows, which of its columns hold numbers.

    A step that has learnt is told only if it ``refits``. The steps ``before`` it must have learnt. Return a function
    that restores the step.
    """
    wants = hasattr(step, "set_numeric_columns") and not isinstance(step, FrozenEstimator)
    is_told = wants and (refits or _knows_nothing(step))
    numeric = numeric_outputs(before) if is_told else None
    if numeric is None:
        return lambda: None
    known = vars(step).copy()
    getattr(step, "_tell", step.set_numeric_columns)(numeric)
    changed = [name for name, value in vars(step).items() if name not in known or known[name] is not value]

    def restore():
        for name in changed:
            vars(step).pop(name, None)
        vars(step).update((name, known[name]) for name in changed if name in known)

    return restore


def _knows_nothing(step):
    """Whether a step that has been given rows is not fitted: some versions of scikit-learn do not tell it otherwise."""
    try:
        check_fitted(step, None)
    except NotFittedError:
        return True
    return False


def merge_steps(name: str, steps: list, base: Any = None) -> Any:
    """One step from those in one place of several pipelines; all went on from ``base``, if any."""
    first = steps[0]
    if hasattr(first, "_parts"):
        try:
            return merged(steps, base)
        except (TypeError, ValueError) as error:
            error.add_note(f"This concerns the step {name!r}.")
            raise
    if is_left_out(first) or not learns(first) or _knows_nothing(first):
        what = [step.get_params() if learns(step) else step for step in steps]
        if any(joblib.hash(own) != joblib.hash(what[0]) for own in what):
            raise ValueError(f"the steps {name!r} of these models differ, and do not learn; they cannot be merged.")
        return first
    raise TypeError(
        f"the step {name!r} is a {type(first).__name__}, which cannot be merged with others; the transformers of "
        "sklearn_nag.preprocessing can, and steps that learn nothing."
    )


def places_in(step: Any, merged_step: Any) -> Any:
    """``_places_in`` for transformers of this package; None for others, whose columns stay in place."""
    return step._places_in(merged_step) if hasattr(step, "_parts") else None
