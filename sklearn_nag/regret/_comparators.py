"""The best fixed weights in hindsight, by solvers of SciPy."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.optimize import linprog, minimize

from ..estimators._parameters import check_number, check_option, shown
from ..estimators._validation import as_floats
from ._run import Run

_ROUNDS = 20  # of a solver, at most
_SAME = 1.0 - 1e-9  # of a loss, from which on it falls no more


def best_in_hindsight(
    run: Run,
    *,
    norm: Literal["l1", "l2", "simplex"] | None = None,
    radius: float = 1.0,
    scale: ArrayLike | None = None,
) -> np.ndarray:
    """Find the weights with the least total loss on the rows of a run.

    Losses that are made of straight pieces are minimised by linear programming, others by L-BFGS or, on a set, by
    sequential quadratic programming. A bound holds against all weights, so that what a solver leaves to be gained can
    only make regret look smaller.

    Parameters
    ----------
    run : Run
        A single run.
    norm : {"l1", "l2", "simplex"}, optional
        The set of weights: ``sum scale |u| <= radius``, ``|u| <= radius``, or no weight negative and of sum
        ``radius``. By default all weights are allowed; where rows can be separated by a margin, the log loss has no
        minimum, and weights are returned where it falls no more.
    radius : float, default=1.0
        Size of the set.
    scale : array-like of shape (n_features,), optional
        Scales for ``norm="l1"``; ones by default.

    Returns
    -------
    ndarray of shape (n_features,)
        Weights.

    Raises
    ------
    ValueError
        For several runs at once, and for a loss of straight pieces with ``norm="l2"``.

    See Also
    --------
    Run.regret : Regret against these weights.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_nag.losses import AbsoluteError
    >>> from sklearn_nag.regret import Run, best_in_hindsight
    >>> run = Run(np.ones((3, 1)), np.array([1.0, 2.0, 9.0]), np.zeros(3), AbsoluteError())
    >>> best_in_hindsight(run)
    array([2.])
    >>> best_in_hindsight(run, norm="l1", radius=1.5)
    array([1.5])
    """
    check_option("norm", norm, ("l1", "l2", "simplex", None))
    check_number("radius", radius, min_val=0, include_boundaries="neither")
    if run.X.ndim != 2:
        raise ValueError(f"best_in_hindsight takes a single run; X has shape {run.X.shape}.")
    pieces = _pieces(run)
    unit = np.ones(run.X.shape[1])
    if norm == "l1" and scale is not None:
        unit = as_floats(scale, "scale")
        if unit.shape != run.X.shape[1:] or not ((unit > 0) & (unit < np.inf)).all():
            raise ValueError(
                f"scale must hold a positive number for each of {run.X.shape[1]} features; got {shown(scale)}."
            )
    elif norm is None:
        unit = np.abs(run.X).max(axis=0)
    unit = np.where(unit > 0, unit, 1.0)
    X = run.X / unit
    if pieces is None:
        v = _smooth(run, X, norm, radius)
    elif norm == "l2":
        raise ValueError(f"norm='l2' needs a loss with a derivative, which {run.loss.name!r} has not everywhere.")
    else:
        v = _linear(X, pieces, norm, radius)
    return v / unit


def _pieces(run):
    """``(slope, offset)`` of each straight piece of the loss of each row; None for other losses."""
    y, one = run.y, np.ones_like(run.y)
    name = run.loss.name
    if name in ("hinge", "perceptron"):
        return [(0 * one, 0 * one), (-y, one * (name == "hinge"))]
    if name == "absolute_error":
        return [(one, -y), (-one, y)]
    if name == "quantile":
        q = run.loss.quantile
        return [(-q * one, q * y), ((1 - q) * one, (q - 1) * y)]
    if name == "epsilon_insensitive":
        return [(0 * one, 0 * one), (one, -y - run.loss.epsilon), (-one, y - run.loss.epsilon)]
    return None


def _linear(X, pieces, norm, radius):
    """By linear programming, in the weights and an upper bound on the loss of each row."""
    T, d = X.shape
    parts = 2 if norm == "l1" else 1  # positive and negative parts
    signed = np.hstack([X, -X]) if parts == 2 else X
    rows = [sparse.hstack([slope[:, None] * signed, -sparse.eye_array(T)]) for slope, _ in pieces]
    limits = [-offset for _, offset in pieces]
    total = np.append(np.ones(parts * d), np.zeros(T))[None]
    sets = {}
    if norm == "l1":
        rows.append(sparse.csr_array(total))
        limits.append([radius])
    elif norm == "simplex":
        sets = {"A_eq": sparse.csr_array(total), "b_eq": [radius]}
    found = linprog(
        np.append(np.zeros(parts * d), np.ones(T)),
        A_ub=sparse.vstack(rows, format="csr"),
        b_ub=np.concatenate(limits),
        bounds=[(None, None) if norm is None else (0, None)] * (parts * d) + [(None, None)] * T,
        method="highs",
        **sets,
    )
    v = found.x[: parts * d]
    return v[:d] - v[d:] if parts == 2 else v


def _smooth(run, X, norm, radius):
    """By quasi-Newton steps, on all weights or on a set of them."""
    signed = np.hstack([X, -X]) if norm == "l1" else X
    unit = float(run.loss.value(np.zeros(len(run.y)), run.y).sum()) or 1.0  # that of doing nothing

    def objective(v):  # by the unit of the moment
        p = signed @ v
        return run.loss.value(p, run.y).sum() / unit, signed.T @ run.loss.gradient(p, run.y) / unit

    n = signed.shape[1]
    if run.loss.name == "squared_error" and norm is None:
        return np.linalg.lstsq(X, run.y, rcond=None)[0]
    if norm is None:
        return minimize(
            objective, np.zeros(n), jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-15, "gtol": 0.0}
        ).x
    if norm == "l2":
        start = np.zeros(n)
        constraint = {"type": "ineq", "fun": lambda v: radius**2 - v @ v, "jac": lambda v: -2 * v}
    else:
        start = np.full(n, radius / n if norm == "simplex" else 0.0)
        kind = "eq" if norm == "simplex" else "ineq"
        constraint = {"type": kind, "fun": lambda v: radius - v.sum(), "jac": lambda v: -np.ones(n)}
    v = start
    for _ in range(_ROUNDS):  # each in the unit of what was lost at its start, as this may be far more than at the end
        before = unit = float(run.loss.value(signed @ v, run.y).sum()) or 1.0
        found = minimize(
            objective,
            v,
            jac=True,
            method="SLSQP",
            bounds=None if norm == "l2" else [(0, None)] * n,
            constraints=[constraint],
            options={"maxiter": 1000, "ftol": 1e-14},
        )
        new = np.maximum(found.x, 0.0) if norm != "l2" else found.x
        size = np.linalg.norm(new) if norm == "l2" else new.sum()
        if size > radius or norm == "simplex":  # by rounding
            new = new * (radius / size)
        after = float(run.loss.value(signed @ new, run.y).sum())
        v = new if after < before else v
        if after > _SAME * before:
            break
    return v[: X.shape[1]] - v[X.shape[1] :] if norm == "l1" else v
