"""The best fixed weights in hindsight, found with solvers of SciPy."""

from __future__ import annotations

import warnings
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.optimize import linprog, minimize
from sklearn.exceptions import ConvergenceWarning

from ..constraints import L2Ball, Simplex, WeightedL1Ball
from ..estimators._parameters import check_number, check_option, shown
from ..estimators._validation import as_floats
from ._run import Run

_SETS = {"l1": WeightedL1Ball, "l2": L2Ball, "simplex": Simplex}
_ROUNDS = 20  # most rounds of a solver
_GAIN, _LEAST, _MUCH = 1e-9, 1e-28, 1e-3  # of a loss: gained for another round, left to begin one, left to warn of


def best_in_hindsight(
    run: Run,
    *,
    norm: Literal["l1", "l2", "simplex"] | None = None,
    radius: float = 1.0,
    scale: ArrayLike | None = None,
) -> np.ndarray:
    """Find the fixed weights with the least total loss on the rows of a run.

    Piecewise linear losses are minimised by linear programming. Other losses are minimised by L-BFGS or, with ``norm``,
    by sequential quadratic programming. If a solver stops short of the minimum, regret only looks smaller, and bounds
    still hold.

    Parameters
    ----------
    run : Run
        A single run.
    norm : {"l1", "l2", "simplex"}, optional
        The set of weights: ``sum scale |u| <= radius`` for ``"l1"``, ``|u| <= radius`` for ``"l2"``, and nonnegative
        weights with sum ``radius`` for ``"simplex"``. By default all weights are allowed. The log loss then has no
        minimum if the classes can be separated, and the weights returned are those where it no longer falls.
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
        If there are several runs, or the loss is piecewise linear and ``norm="l2"``.

    Warns
    -----
    ConvergenceWarning
        If a solver stops far from the least loss.

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
    check_option("norm", norm, (*_SETS, None))
    check_number("radius", radius, min_val=0, include_boundaries="neither")
    if run.X.ndim != 2:
        raise ValueError(f"best_in_hindsight takes a single run; X has shape {run.X.shape}.")
    pieces = _pieces(run)
    if pieces is not None and norm == "l2":
        raise ValueError(f"norm='l2' needs a loss that is differentiable everywhere; {run.loss.name!r} is not.")
    d = run.X.shape[1]
    lengths = np.ones(d)
    if norm == "l1" and scale is not None:
        lengths = as_floats(scale, "scale")
        if lengths.shape != (d,) or not ((lengths > 0) & (lengths < np.inf)).all():
            raise ValueError(f"scale must hold a positive number for each of {d} features; got {shown(scale)}.")
    if norm == "l1":  # positive and negative parts
        run, lengths = Run(np.hstack([run.X, -run.X]), run.y, run.predictions, run.loss), np.tile(lengths, 2)
    most = (np.inf if norm is None else radius) / lengths  # largest weights
    size = np.abs(run.X).max(axis=0)
    size = np.where(size > 0, size, 1.0)
    v = _smooth(run, norm, most, size) if pieces is None else _linear(run, pieces, norm, most, size)
    return v[:d] - v[d:] if norm == "l1" else v


def _inside(v, norm, most):
    """Nearest weights in the set, because solvers round."""
    return v if norm is None else _SETS[norm](1.0).project((v if norm == "l2" else np.maximum(v, 0.0)) / most) * most


def _pieces(run):
    """``(slope, offset)`` of each linear piece of each row's loss; None for other losses."""
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


def _linear(run, pieces, norm, most, size):
    """Solve a linear program in the weights and bounds on each row's loss minus that of weights of 0."""
    T, n = run.X.shape
    reached = size * most
    unit = min(max(np.abs(run.y).max() or 1.0, reached.min() if norm == "simplex" else 0.0), reached.max())
    step = np.minimum(most, unit / size)
    rows = [sparse.hstack([slope[:, None] * run.X * (step / unit), -sparse.eye_array(T)]) for slope, _ in pieces]
    offsets = np.array([offset for _, offset in pieces])
    limits = list((offsets.max(axis=0) - offsets) / unit)
    total = sparse.csr_array(np.append(step / most, np.zeros(T))[None])
    sets = {"A_eq": total, "b_eq": [1.0]} if norm == "simplex" else {}
    if norm == "l1":
        rows.append(total)
        limits.append([1.0])
    found = linprog(
        np.append(np.zeros(n), np.ones(T)),
        A_ub=sparse.vstack(rows, format="csr"),
        b_ub=np.concatenate(limits),
        bounds=[(None if norm is None else 0, None)] * n + [(None, None)] * T,
        options={"primal_feasibility_tolerance": 1e-10},
        **sets,
    )
    if not found.success:
        raise RuntimeError(f"best_in_hindsight found no weights: {found.message}")
    return _inside(step * found.x[:n], norm, most)


def _smooth(run, norm, most, size):
    """Take quasi-Newton steps, on all weights or within a set."""
    X, y = run.X, run.y
    if run.loss.name == "squared_error" and norm is None:
        return np.linalg.lstsq(X / size, y, rcond=None)[0] / size

    def lose(v):
        return run.loss_of(v), run.loss.gradient(X @ v, y)

    @np.errstate(over="ignore")
    def objective(w):  # change of loss, as a share of the largest possible gain
        losses, slopes = lose(v + step * w)
        return (losses - lost).sum() / left, step * (slopes @ X) / left

    power = 2 if norm == "l2" else 1
    limit = {
        "type": "eq" if norm == "simplex" else "ineq",
        "fun": lambda w: 1.0 - (((v + step * w) / most) ** power).sum(),
        "jac": lambda w: -power * ((v + step * w) / most) ** (power - 1) * step / most,
    }
    v, first = most / len(most) if norm == "simplex" else 0.0 * size, 0.0
    for _ in range(_ROUNDS):  # each in the units of its start, which may be far from the last one
        lost, slopes = lose(v)
        total = left = lost.sum() or 1.0
        step = np.minimum(most, total / (np.abs(slopes).sum() or 1.0) / size)
        if norm is None:
            options = {"maxiter": 5000, "ftol": 1e-15, "gtol": 0.0}
            return step * minimize(objective, v, jac=True, method="L-BFGS-B", options=options).x
        first = first or total
        ends = slopes @ X * most
        left = min(total, slopes @ X @ v + (np.linalg.norm(ends) if norm == "l2" else -ends.min()))
        if left <= _LEAST * first:
            return v
        found = minimize(
            objective,
            0.0 * v,
            jac=True,
            method="SLSQP",
            bounds=None if norm == "l2" else [(low, None) for low in -v / step],
            constraints=limit,
            options={"maxiter": 1000, "ftol": 1e-14},
        )
        new = _inside(v + step * found.x, norm, most)
        gained = (lost - lose(new)[0]).sum()
        v = new if gained > 0.0 else v
        if gained <= _GAIN * total:
            break
    if not found.success and left > _MUCH * first:
        warnings.warn(
            f"best_in_hindsight stopped early: the least total loss may be up to {left:.2g} lower.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return v
