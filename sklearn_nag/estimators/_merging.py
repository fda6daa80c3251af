"""Merging of models that learnt rows of their own."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable
from typing import TypeVar

import numpy as np

from .. import kernels
from ..uncertainty import merge as merge_evidence
from ._online import Divergence, OnlineLinear, defaults_of
from ._validation import check_alike, named_models

Model = TypeVar("Model", bound=OnlineLinear)


def merge(models: Iterable[Model], base: Model | None = None) -> Model:
    """Merge learners that learnt rows of their own: `sklearn_nag.merge` for learners alone."""
    models = list(models)
    if not models:
        raise ValueError("models is empty; merge needs at least one.")
    check_kind("models[0]", models[0])
    check_alike(models, base, "classes_", "_n_outputs")
    for name, model in named_models(models, base):
        _check_fits(models[0], name, model)
    try:
        kernels.check_can_be_merged(models[0]._state.rule)
        for name, model in named_models(models) if base is not None else ():
            check_went_on(base, name, model)
        models.sort(key=lambda model: [getattr(model._state.rule, flag) for flag in model._state.rule.of_steps])
        merged = copy.copy(models[0])
        merged._state = kernels.merge([model._state for model in models], None if base is None else base._state)
    except kernels.Diverged:
        raise Divergence("the sums of these models leave the range of float64.") from None
    except NotImplementedError as error:
        raise ValueError(f"{type(models[0]).__name__} models like these cannot be merged: {error}.") from None
    merged._evidence = merged_evidence(models, base)
    if hasattr(merged, "_class_counts"):
        merged._class_counts = merged_counts(models, base)
    passes = [model.n_iter_ for model in models if hasattr(model, "n_iter_")]
    if passes:
        merged.n_iter_ = max(passes)
    return merged


def merged_evidence(models, base):
    """Merged evidence of errors; None if no model has any."""
    known = [model._evidence for model in models if model._evidence is not None]
    return merge_evidence(known, None if base is None else base._evidence) if known else None


def merged_counts(models, base):
    """Merged weight of each class; None if no model has counted them."""
    known = [model._class_counts for model in models if model._class_counts is not None]
    if not known:
        return None
    common = 0.0 if base is None or base._class_counts is None else base._class_counts
    return np.add.reduce(known) - (len(known) - 1) * common


def check_kind(name, model):
    """Raise unless ``model`` is of a kind that can be merged, fitted or not."""
    kind = type(model).__name__
    if hasattr(type(model), "expert_losses_"):
        raise TypeError(
            f"{name} is a {kind}; mixtures cannot be merged, because their weights judge the learners before "
            "merging, not the merged ones. Merge its estimators one by one; sklearn_nag.merge does so for models of "
            "lines, curves and cells."
        )
    if not isinstance(model, OnlineLinear):
        raise TypeError(f"{name} is a {kind}; it must be a learner of sklearn_nag.")


def _check_fits(first, name, model):
    """Raise unless ``model`` can be merged with ``first``."""
    rule, other = first._state.rule, model._state.rule
    names = [f.name for f in dataclasses.fields(rule) if f.name not in rule.of_steps]
    differ = [name for name in names if getattr(rule, name) != getattr(other, name, None)]
    if differ == ["centred"]:
        raise ValueError(
            f"{name} does not fit models[0]: one centres features and the other does not, because it began with "
            "sparse rows; use normalization='auto' or centering=False."
        )
    other_rule = bool(differ) or type(rule) is not type(other)  # as with half_life="auto"
    of_loss = {"loss", *first._loss().parameters, "class_weight", "calibration"}
    given = [
        p
        for p in defaults_of(type(first))
        if (p in of_loss and getattr(model, p) != getattr(first, p))
        or (other_rule and _rule_with(model, first, p) != model._rule(other.centred))
    ]
    if given or other_rule:
        ours, theirs, names = (model, first, given) if given else (other, rule, differ)
        shown = ", ".join(f"{n} is {getattr(ours, n, None)!r}, there {getattr(theirs, n)!r}" for n in names)
        raise ValueError(f"{name} was learnt with other parameters than models[0]: {shown}.")


def _rule_with(model, first, name):
    """The rule of ``model`` with one parameter of ``first``; None if incompatible."""
    changed = copy.copy(model)
    setattr(changed, name, getattr(first, name))
    try:
        return changed._rule(model._state.rule.centred)
    except ValueError:
        return None


def check_went_on(base, name, model):
    """Raise unless ``base`` may have become ``model`` by learning more rows."""
    (state, base), _ = kernels.side_by_side([model._state, base._state])
    columns, start = state.columns, base.columns
    longer = state.t >= base.t and (columns.largest >= start.largest).all()
    if longer and base.t > 0 and start.origin is not None:  # the first row, which stays that of base
        expected = start.origin * np.minimum(columns.lift / start.lift, 1.0)
        moved = (columns.origin == 0) | (expected == 0)  # some rules count columns from 0 while these are rarely named
        longer = bool((np.isclose(columns.origin, expected, 1e-9, 1e-300) | moved).all())
    if not longer:
        raise ValueError(
            f"{name} did not go on from base: it has not seen the rows that base has. Copy base for each model, and "
            "let the copies learn."
        )
