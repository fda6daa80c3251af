"""The losses: value and derivative for each, looked up by name.

Everything here works on scalars and on arrays alike, element by element, so that one head or a hundred give the same
bits. For classification ``y`` is -1 or 1 and ``p`` the decision value; for regression both are in units of the target.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.special import expit


class Loss:
    """A convex loss of a prediction ``p`` and a target ``y``."""

    name: ClassVar[str]
    parameters: ClassVar[tuple[str, ...]] = ()

    def value(self, p, y):
        """Loss, with the shape of ``p``."""
        raise NotImplementedError

    def gradient(self, p, y):
        """Derivative by ``p``; 0 where the loss has a kink and 0 is a subgradient."""
        raise NotImplementedError


class Log(Loss):
    """``log(1 + exp(-y p))``."""

    name = "log_loss"

    def value(self, p, y):
        return np.logaddexp(0.0, -y * p)

    def gradient(self, p, y):
        return -y * expit(-y * p)


class Hinge(Loss):
    """``max(0, 1 - y p)``."""

    name = "hinge"

    def value(self, p, y):
        return np.maximum(0.0, 1.0 - y * p)

    def gradient(self, p, y):
        return -y * (y * p < 1.0)


class SquaredHinge(Loss):
    """``max(0, 1 - y p)^2``."""

    name = "squared_hinge"

    def value(self, p, y):
        return np.maximum(0.0, 1.0 - y * p) ** 2

    def gradient(self, p, y):
        return -2.0 * y * np.maximum(0.0, 1.0 - y * p)


class ModifiedHuber(Loss):
    """``max(0, 1 - y p)^2`` for ``y p >= -1``, else ``-4 y p``."""

    name = "modified_huber"

    def value(self, p, y):
        margin = y * p
        return np.where(margin < -1.0, -4.0 * margin, np.maximum(0.0, 1.0 - np.maximum(margin, -1.0)) ** 2)

    def gradient(self, p, y):
        return -2.0 * y * np.minimum(np.maximum(1.0 - y * p, 0.0), 2.0)


class Perceptron(Loss):
    """``max(0, -y p)``; a prediction of exactly 0 counts as a mistake."""

    name = "perceptron"

    def value(self, p, y):
        return np.maximum(0.0, -y * p)

    def gradient(self, p, y):
        return -y * (y * p <= 0.0)


class SquaredError(Loss):
    """``(p - y)^2 / 2``."""

    name = "squared_error"

    def value(self, p, y):
        return 0.5 * (p - y) ** 2

    def gradient(self, p, y):
        return p - y


class Quantile(Loss):
    """``quantile (y - p)`` where ``p`` is too low, ``(1 - quantile) (p - y)`` where it is too high."""

    name = "quantile"
    parameters = ("quantile",)

    def __init__(self, quantile=0.5):
        self.quantile = quantile

    def value(self, p, y):
        return np.maximum(self.quantile * (y - p), (1.0 - self.quantile) * (p - y))

    def gradient(self, p, y):
        return (1.0 - self.quantile) * (p > y) - self.quantile * (p < y)


class AbsoluteError(Loss):
    """``|p - y|``."""

    name = "absolute_error"

    def value(self, p, y):
        return np.abs(p - y)

    def gradient(self, p, y):
        return 1.0 * (p > y) - 1.0 * (p < y)


class Huber(Loss):
    """``(p - y)^2 / 2`` up to a distance of ``epsilon``, linear beyond."""

    name = "huber"
    parameters = ("epsilon",)

    def __init__(self, epsilon=0.1):
        self.epsilon = epsilon

    def value(self, p, y):
        distance = np.abs(p - y)
        near = np.minimum(distance, self.epsilon)
        return near * (distance - 0.5 * near)

    def gradient(self, p, y):
        return np.minimum(np.maximum(p - y, -self.epsilon), self.epsilon)


class EpsilonInsensitive(Loss):
    """``max(0, |p - y| - epsilon)``."""

    name = "epsilon_insensitive"
    parameters = ("epsilon",)

    def __init__(self, epsilon=0.1):
        self.epsilon = epsilon

    def value(self, p, y):
        return np.maximum(0.0, np.abs(p - y) - self.epsilon)

    def gradient(self, p, y):
        return 1.0 * (p - y > self.epsilon) - 1.0 * (y - p > self.epsilon)


class SquaredEpsilonInsensitive(EpsilonInsensitive):
    """``max(0, |p - y| - epsilon)^2``."""

    name = "squared_epsilon_insensitive"

    def value(self, p, y):
        return super().value(p, y) ** 2

    def gradient(self, p, y):
        return 2.0 * super().value(p, y) * super().gradient(p, y)


CLASSIFICATION = {loss.name: loss for loss in (Log, Hinge, SquaredHinge, ModifiedHuber, Perceptron)}
REGRESSION = {
    loss.name: loss
    for loss in (
        SquaredError,
        AbsoluteError,
        Huber,
        EpsilonInsensitive,
        SquaredEpsilonInsensitive,
        Quantile,
    )
}
