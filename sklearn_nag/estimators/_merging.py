"""One model of several that learnt rows of their own."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable
from typing import TypeVar

import numpy as np
from sklearn.exceptions import NotFittedError

from .. import kernels
from ..uncertainty import merge as merge_evidence
from ._online import Divergence, OnlineLinear

Model = TypeVar("Model", bound=OnlineLinear)


def merge(models: Iterable[Model], base: Model | None = None) -> Model:
    """Make one model of several learners that learnt rows of their own: `sklearn_nag.merge` for learners alone."""
    models = list(models)
    if not models:
        raise ValueError("models is empty; merge needs at least one.")
    named = [(f"models[{i}]", model) for i, model in enumerate(models)]
    for name, model in [*named, *([] if base is None else [("base", base)])]:
        _check_fits(models[0], name, model)
    if base is not None:
        for name, model in named:
            check_went_on(base, name, model)
    models.sort(key=lambda model: [getattr(model._state.rule, flag) for flag in model._state.rule.of_steps])
    merged = copy.copy(models[0])
    try:
        merged._state = kernels.merge([model._state for model in models], None if base is None else base._state)
    except kernels.Diverged:
        raise Divergence("the sums of these models leave the range of float64.") from None
    except NotImplementedError as error:
        raise ValueError(f"{type(models[0]).__name__} models like these cannot be merged: {error}.") from None
    merged._evidence = _merged_evidence([model._evidence for model in models], None if base is None else base._evidence)
    if hasattr(merged, "_class_counts"):
        merged._class_counts = _merged_counts([model._class_counts for model in models], base)
    passes = [model.n_iter_ for model in models if hasattr(model, "n_iter_")]
    if passes:
        merged.n_iter_ = max(passes)
    return merged


def _merged_evidence(parts, base):
    """Evidence of how far predictions are off, of several models; None where none has any."""
    known = [part for part in parts if part is not None]
    return merge_evidence(known, base) if known else None


def _merged_counts(parts, base):
    """Rows of each class, of several models; None where none has counted them."""
    known = [part for part in parts if part is not None]
    if not known:
        return None
    common = 0.0 if base is None or base._class_counts is None else base._class_counts
    return np.add.reduce(known) - (len(known) - 1) * common


def check_kind(name, model):
    """Raise unless ``model`` is of a kind that can be merged, fitted or not."""
    kind = type(model).__name__
    if hasattr(type(model), "expert_losses_"):
        raise TypeError(
            f"{name} is a {kind}; mixtures cannot be merged, as their weights judge the learners of each part, not "
            "what comes of merging these. Merge its estimators one by one; sklearn_nag.merge does so with models of "
            "lines, curves and cells."
        )
    if not isinstance(model, OnlineLinear):
        raise TypeError(f"{name} is a {kind}; models of the learners of sklearn_nag alone can be merged.")


def _check_fits(first, name, model):
    """Raise unless ``model`` can be merged with ``first``."""
    check_kind(name, model)
    if type(model) is not type(first):
        raise TypeError(f"{name} is a {type(model).__name__}, models[0] a {type(first).__name__}; they must be alike.")
    if not model.__sklearn_is_fitted__():
        raise NotFittedError(f"{name} is not fitted yet: call fit or partial_fit before merge.")
    try:
        model._check_whole()
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    for what in ("n_features_in_", "feature_names_in_", "classes_", "_n_outputs"):
        of_first, of_model = getattr(first, what, None), getattr(model, what, None)
        if not np.array_equal(of_first, of_model):
            shown = {"_n_outputs": "the number of outputs"}.get(what, what)
            raise ValueError(f"{name} does not fit models[0]: {shown} is {of_model}, there {of_first}.")
    rule, other = first._state.rule, model._state.rule
    if type(rule) is not type(other):  # as with half_life="auto"
        raise ValueError(
            f"{name} was learnt with other parameters than models[0]: half_life is {model.half_life!r}, there "
            f"{first.half_life!r}."
        )
    names = [f.name for f in dataclasses.fields(rule) if f.name not in rule.of_steps]
    differ = [name for name in names if getattr(rule, name) != getattr(other, name)]
    if differ:
        if differ == ["centred"]:
            raise ValueError(
                f"{name} does not fit models[0]: one centres features and the other does not, as it began with sparse "
                "rows; normalization='auto' or centering=False makes models that fit."
            )
        values = {name: (getattr(other, name), getattr(rule, name)) for name in differ}
        shown = ", ".join(f"{name} is {ours!r}, there {theirs!r}" for name, (ours, theirs) in values.items())
        raise ValueError(f"{name} was learnt with other parameters than models[0]: {shown}.")
    others = [name for name in ("class_weight", "calibration") if hasattr(first, name)]
    for parameter in ("loss", *first._loss().parameters, *others):
        ours, theirs = getattr(model, parameter), getattr(first, parameter)
        if ours != theirs:
            raise ValueError(
                f"{name} was learnt with other parameters than models[0]: {parameter} is {ours!r}, there {theirs!r}."
            )


def check_went_on(base, name, model):
    """Raise unless ``model`` may be what ``base`` became by more rows."""
    (state, base), _ = kernels.side_by_side([model._state, base._state])
    columns, start = state.columns, base.columns
    longer = state.t >= base.t and (columns.largest >= start.largest).all()
    if longer and base.t > 0 and start.origin is not None:  # the first row, which stays that of base
        expected = start.origin * np.minimum(columns.lift / start.lift, 1.0)
        moved = (columns.origin == 0) | (expected == 0)  # some rules count columns from 0 while these are seldom named
        longer = bool((np.isclose(columns.origin, expected, 1e-9, 1e-300) | moved).all())
    if not longer:
        raise ValueError(
            f"{name} did not go on from base: it has not seen the rows that base has. Copy base for each model, and "
            "let the copies learn."
        )
