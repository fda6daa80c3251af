"""The update kernel: a state and rows go in, a changed state and progressive predictions come out.

Kernels know only arrays and losses. Each family of learners is a folder with three files: its rule and state, its rows
in NumPy, which define it, and the same compiled by Numba. `sklearn_nag.set_config` chooses which of them runs.
"""

from functools import partial

import numpy as np

from . import coordinatewise, ftrl, full, nag
from ._backend import backend, imported, is_compiled, kept_code, runs_compiled, told_of_compiling, told_when_long
from ._threads import over_threads
from .state.checks import check, check_array, check_finite, check_layout, check_mixture, check_number, check_shares
from .state.columns import FEW, Columns
from .state.csr import csr_rows
from .state.fading import HAVE_FADED
from .state.lifts import LARGEST, all_finite, positive
from .state.mixture import FixedRate, FixedShare, Mixture
from .state.model import TARGET_LIFT, Diverged, LinearState
from .state.placed import PlacedState, is_placed, side_by_side
from .state.rule import LinearRule
from .vectorized import leverage
from .vectorized.prediction import contributions, predict, predict_by_row, predict_few, predict_unit_free

__all__ = [
    "FEW",
    "HAVE_FADED",
    "Diverged",
    "FixedRate",
    "FixedShare",
    "LinearRule",
    "LinearState",
    "Mixture",
    "PlacedState",
    "adopt",
    "all_finite",
    "blend",
    "check",
    "check_array",
    "check_can_be_merged",
    "check_finite",
    "check_mixture",
    "check_number",
    "check_shares",
    "contributions",
    "coordinatewise",
    "csr_rows",
    "excess_leverage",
    "ftrl",
    "full",
    "kept_code",
    "lead",
    "learn",
    "merge",
    "mix",
    "nag",
    "new_state",
    "positive",
    "predict",
    "predict_by_row",
    "predict_few",
    "side_by_side",
    "told_of_compiling",
    "undo",
]


def new_state(rule, n_features, is_sparse=False):
    """State before the first row, for a rule of any family; a `PlacedState` for sparse rows and very many columns."""
    kind = PlacedState if is_sparse and is_placed(rule, n_features) else rule.State
    return kind.new(rule, n_features)


def adopt(state, rule):
    """Let a model go on with another rule of its family.

    Raises
    ------
    ValueError
        For a rule of another family, or one that needs other arrays.
    """
    if rule is state.rule:
        return
    if type(rule) is not type(state.rule):
        raise ValueError(f"a model of {type(state.rule).__module__} cannot go on by a rule of {type(rule).__module__}.")
    state.adopt(rule)
    check_layout(state.common if isinstance(state, PlacedState) else state)


def mix(mixture, losses, noise=None, row_weights=None, kept=None):
    """Let a `Mixture` play rows and suffer their losses; return the shares. See `Mixture.play`."""
    return _shares("play", mixture, losses, noise, row_weights, kept)


def blend(mixture, forecasts, loss, row_weight, kept=None):
    """Let a `Mixture` blend forecasts and suffer the loss; return the shares. See `Mixture.blend`."""
    return _shares("blend", mixture, forecasts, loss, row_weight, kept)


def _shares(method, mixture, values, *others):
    """Call a method of a mixture in the chosen backend."""
    check_mixture("the mixture", mixture, *(values.shape[1:] if values.ndim == 3 else (1, values.shape[1])))
    if values.shape[-1] == 1:
        return np.ones_like(values)
    if not is_compiled():
        return getattr(mixture, method)(values, *others)
    return getattr(imported(__name__, "compiled.mixture"), f"{method}_mixture")(mixture, values, *others)


def excess_leverage(state, X):
    """Leverage of rows in columns where they are far from those learnt, which is 0 for most rows.

    The variance of a prediction by least squares is that of the errors times the leverage. Of columns that do not
    depend on each other it is the sum of ``z^2 / t``, with ``z`` the distance from the mean in the scale of a column,
    and ``t`` the total weight of the rows learnt. Here only what is above ``3^2 / t`` counts. Columns that have not
    varied do not count. For rules without scales, the result is 0.

    Parameters
    ----------
    state : LinearState
        It does not change.
    X : ndarray or CSR array of shape (n_rows, n_features)
        Finite float32 or float64.

    Returns
    -------
    ndarray of shape (n_rows, 1) or (n_rows, n_played)
        Finite, not negative; for a mixture of models, the mean for each prediction.
    """
    if models := state.models():
        return sum(share * excess_leverage(model, X) for share, model in models)
    of_kind = full.excess_leverage if isinstance(state, full.State) else leverage.excess_leverage
    return of_kind(state, X)[:, None]


def undo(state, loss, named=None):
    """`Undo` of what a model is going to learn.

    Parameters
    ----------
    state : LinearState
        The model.
    loss : object
        The loss by which it will learn.
    named : ndarray of int, optional
        The features that rows name, if these are few.

    Returns
    -------
    Undo
        With the methods `restore`, `end` and `model`.
    """
    if state.rule.forgets and not (state.rule.fades_on_the_way and runs_compiled(loss)):  # because all columns fade
        named = None
    return state.undo(named)


def learn(state, loss, X, y, sample_weight=None, *, order=None, predictions=None, n_jobs=1, latest=False):
    """One pass: for each row, update the scales, predict, suffer the loss, update the weights.

    A prediction is the one that `predict` would make before the row. Slopes are taken at that of the latest weights.

    Parameters
    ----------
    state : LinearState
        Changed in place. When `Diverged` is raised, some of the rows have changed it.
    loss : object
        With ``value(p, y)`` and ``gradient(p, y)``, a ``name`` and the names of its ``parameters``.
    X : ndarray or CSR array of shape (n_rows, n_features)
        Finite float32 or float64, dense in any order; CSR with int32 or int64 indices within the features, in any
        order.
    y : ndarray of shape (n_rows, n_targets), or of shape (n_rows,) with integers
        Targets; or classes, from which targets are made: 1 for the class of a head, else -1 (with a single target: 1
        for class 1, else -1).
    sample_weight : ndarray of shape (n_rows,), optional
        Not negative; 1 by default. A row of weight 0 changes nothing, not even the scales.
    order : ndarray of shape (n,) of int, optional
        Rows to go through, in this order; all by default.
    predictions : ndarray of shape (n, n_played), optional
        Filled with the progressive predictions.
    n_jobs : int or None, default=1
        Number of threads, as joblib counts them, over which targets are spread if that can help. No result depends on
        it.
    latest : bool, default=False
        Whether to predict with the latest weights instead; with least squares, by the forecaster (`full.rule`).

    Raises
    ------
    Diverged
        When a weight or a sum overflows.
    """
    if isinstance(state, PlacedState):
        state.learn(partial(learn, n_jobs=n_jobs, latest=latest), loss, X, y, sample_weight, order, predictions)
        return
    if latest:
        rule, state.rule = state.rule, state.rule.by_latest
        try:
            learn(state, loss, X, y, sample_weight, order=order, predictions=predictions, n_jobs=n_jobs)
        finally:
            state.rule = rule
        return
    state.cached, state.looked_up = None, 0
    compiled = runs_compiled(loss)
    learn_rows = backend(state.rule, compiled).learn_rows
    if isinstance(state.rule, nag.MixedRule):
        learn_by = partial(state.rule.family.fading, learn_rows, _multiply(compiled), compiled=compiled)
        tells = compiled and state.rule.fades_on_the_way
        learn_rows = partial(nag.learn_and_mix, learn_by, tells, mix)
    elif state.rule.forgets:
        learn_rows = state.rule.family.fading(learn_rows, _multiply(compiled), state.rule, compiled)
    elif compiled:  # only compiled code releases the GIL
        learn_rows = over_threads(learn_rows, state, X, n_jobs)
    if not compiled:
        learn_rows = told_when_long(learn_rows)
    if sample_weight is None or sample_weight.all():
        return _learn_lifted(learn_rows, state, loss, X, y, sample_weight, order, predictions)
    order = np.arange(X.shape[0]) if order is None else order
    named = sample_weight[order] > 0
    if predictions is None:
        if named.any():
            _learn_lifted(learn_rows, state, loss, X, y, sample_weight, order[named], None)
        return
    for run in np.split(np.arange(len(order)), np.flatnonzero(np.diff(named)) + 1):
        rows = order[run]
        if named[run[0]]:
            _learn_lifted(learn_rows, state, loss, X, y, sample_weight, rows, predictions[run[0] : run[-1] + 1])
        else:
            predictions[run] = predict_unit_free(state, X[rows])


def _multiply(compiled):
    """`Columns.multiply`, or its compiled version."""
    return imported(__name__, "compiled.fading").multiply if compiled else Columns.multiply


def _learn_lifted(learn_rows, state, loss, X, y, sample_weight, order, predictions):
    """Learn rows of positive weight, and lift the targets from the first row that needs it."""
    has_unit = state.rule.target_unit and not state.rule.log_link
    if has_unit and state.t == 0:
        state.lift_small(y[:1] if order is None else y[order[:1]])
    first = state.first_too_large(y) if has_unit else None
    if first is not None and order is not None:  # now only among the rows that are learnt
        first = state.first_too_large(y[order])
    if first is not None:
        order = np.arange(len(y)) if order is None else order
        if first > 0:
            before = None if predictions is None else predictions[:first]
            _learn_lifted(learn_rows, state, loss, X, y, sample_weight, order[:first], before)
        with np.errstate(all="ignore"):
            state.relift_targets(TARGET_LIFT if state.targets.lift == 1.0 else 1.0 / state.targets.lift)
        rest = None if predictions is None else predictions[first:]
        _learn_lifted(learn_rows, state, loss, X, y, sample_weight, order[first:], rest)
        return
    lift = state.targets.lift
    learn_rows(state, loss, X, y if lift == 1.0 else y * lift, sample_weight, order, predictions)
    if predictions is not None and lift != 1.0:
        with np.errstate(all="ignore"):
            np.divide(predictions, lift, out=predictions)
        np.clip(predictions, -LARGEST, LARGEST, out=predictions)


def merge(states, base=None, **options):
    """Merge models that each learnt rows of their own.

    Parameters
    ----------
    states : list of LinearState
        Models with the same rule and number of columns.
    base : LinearState, optional
        The model from which all of them went on; by default, each began with nothing.
    **options : dict
        Further options of the rule's family.

    Returns
    -------
    LinearState
        A new model. If at most one of the models has learnt anything, a copy of that one.

    Raises
    ------
    Diverged
        When a sum overflows.
    NotImplementedError
        For a family whose models cannot be merged.
    ValueError
        For models that forget.
    """
    everyone = [*states, *([] if base is None else [base])]
    parts, features = side_by_side(everyone)
    if features is not None:
        merged = merge(parts[: len(states)], None if base is None else parts[-1], **options)
        return PlacedState.of(merged, features, states[0].n_features)
    check_can_be_merged(states[0].rule)
    merged = states[0].rule.family.merge(states, base, **options)
    return max(states, key=lambda state: state.t).copy() if merged is None else merged


def check_can_be_merged(rule):
    """Raise NotImplementedError if the family cannot merge models, or ValueError if models of this rule forget."""
    if rule.family.merge is None:
        raise NotImplementedError("let one model learn all rows, or take NAG")
    if rule.forgets:
        raise ValueError(HAVE_FADED)


def lead(state, before, momentum, renew):
    """Return the model from which the shards of the next round go on.

    Parameters
    ----------
    state : LinearState
        The latest merged model.
    before : LinearState
        The merged model before that.
    momentum : float
        Share of their move since ``before`` by which the weights move on.
    renew : bool
        Whether the average of the weights played begins anew.

    Returns
    -------
    LinearState
        A copy of ``state``; only the NAG family changes it.
    """
    lead_on = state.rule.family.lead
    parts, features = side_by_side([state, before])
    if features is not None:
        return PlacedState.of(lead(*parts, momentum, renew), features, state.n_features)
    return state.copy() if lead_on is None else lead_on(state, before, momentum, renew)
