"""Algorithms with regret bounds, as printed in their papers, over many sequences: the first axis of every array.

They share no line with the package. ``X`` has shape (n_runs, n_rows, n_features), and ``y`` has shape (n_runs, n_rows).
``gradient(p, y)`` is the derivative of the loss. The algorithms return predictions, in the shape of ``y``, except
`hedge`, which returns losses.
"""

import numpy as np


def log_gradient(p, y):
    return -y / (1 + np.exp(np.clip(y * p, -500, 500)))


def absolute_gradient(p, y):
    return np.sign(p - y)


def play(X, y, gradient, start, update):
    """Predict each row, first with the weights ``start``, then with those that ``update(v)`` returns."""
    w, predictions = start, np.empty(y.shape)
    for t in range(y.shape[1]):
        predictions[:, t] = p = (w * X[:, t]).sum(axis=1)
        w = update(gradient(p, y[:, t])[:, None] * X[:, t])
    return predictions


def to_ball(w, radius):
    return w * np.minimum(1.0, radius / np.maximum(np.linalg.norm(w, axis=1, keepdims=True), 1e-300))


def ogd(X, y, gradient, eta, radius=np.inf, lazy=True, project=None):
    """Gradient descent with projection, by default onto a ball: of the sum of steps (lazy), or after each step."""
    state = {"w": np.zeros(X[:, 0].shape)}
    project = project or (lambda w: to_ball(w, radius))

    def update(v):
        state["w"] = state["w"] - eta * v
        if not lazy:
            state["w"] = project(state["w"])
        return project(state["w"])

    return play(X, y, gradient, state["w"], update)


def exponentiated_gradient(X, y, gradient, eta):
    """Exponentiated gradient: ``w`` is proportional to ``exp(-eta sum v)``."""
    total = np.zeros(X[:, 0].shape)

    def update(v):
        total[:] += v
        w = np.exp(-eta * (total - total.min(axis=1, keepdims=True)))
        return w / w.sum(axis=1, keepdims=True)

    return play(X, y, gradient, np.full_like(total, 1 / total.shape[1]), update)


def to_diamond(u, radius, weight):
    """Projection onto ``sum |u| <= radius`` in the metric ``sum weight (u - u')^2``, by bisection."""
    inside = np.abs(u).sum(axis=1, keepdims=True) <= radius
    low, high = np.zeros_like(inside, dtype=float), (np.abs(u) * weight).max(axis=1, keepdims=True)
    for _ in range(60):
        middle = (low + high) / 2
        too_large = np.maximum(np.abs(u) - middle / weight, 0).sum(axis=1, keepdims=True) > radius
        low, high = np.where(too_large, middle, low), np.where(too_large, high, middle)
    return np.where(inside, u, np.sign(u) * np.maximum(np.abs(u) - high / weight, 0))


def nag(X, y, gradient, scale, radius, step=2**0.5):
    """The algorithm of Theorem 1 of Ross, Mineiro and Langford: scales are known, and ``u`` is projected."""
    H, state = np.zeros(X[:, 0].shape), {"u": np.zeros(X[:, 0].shape)}

    def update(v):  # in terms of z, because the rows are divided by their scales
        H[:] += v**2
        root = np.sqrt(np.where(H > 0, H, 1.0))
        state["u"] = to_diamond(state["u"] - radius * step * v / root, radius, root)
        return state["u"]

    return play(X / scale[:, None], y, gradient, state["u"], update)


def hedge(losses, eta):
    """Losses of Hedge with a fixed rate."""
    total, played = np.zeros(losses[:, 0].shape), np.empty(losses.shape[:2])
    for t in range(losses.shape[1]):
        w = np.exp(-eta * (total - total.min(axis=1, keepdims=True)))
        played[:, t] = (w * losses[:, t]).sum(axis=1) / w.sum(axis=1)
        total += losses[:, t]
    return played


def forecaster(X, y, penalty):
    """Forecaster of Vovk, Azoury and Warmuth: ``p = x A^-1 b``, with the current row in A but not in b."""
    if not penalty:  # units matter only for telling what is 0
        X = X / np.maximum(np.abs(X).max(axis=1, keepdims=True), 1e-300)
    d, predictions = X.shape[2], np.empty(y.shape)
    A, b = np.tile(penalty * np.eye(d), (len(X), 1, 1)), np.zeros(X[:, 0].shape)
    for t in range(y.shape[1]):
        x = X[:, t]
        A += x[:, :, None] * x[:, None, :]
        inverse = np.linalg.inv(A) if penalty else np.linalg.pinv(A, rcond=1e-13, hermitian=True)
        predictions[:, t] = np.einsum("ni,nij,nj->n", x, inverse, b)
        b += y[:, t, None] * x
    return predictions
