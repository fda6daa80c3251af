"""Losses of learners without a learning rate, as compiled functions; see `vectorized.bounded`."""

from __future__ import annotations

from ..state.lifts import LARGEST
from .columns import finite
from .heads import CLIPPED, GRADIENT, PLAYED, PREDICTION, TARGET, UNIT
from .jit import fast
from .losses import SOFTMAX, loss_and_gradient, margins
from .targets import ORIGIN, read_targets_and_scale

LARGEST_WEIGHT = 1  # entry of ``clock``


def compiled_bound(loss):
    """Lipschitz constant of a loss, -1 if it has none, and whether the unit of the target scales it."""
    bound = loss.lipschitz(1.0)
    return -1.0 if bound is None else float(bound), bound is not None and loss.lipschitz(2.0) != bound


@fast
def suffer(heads, rule, loss, clock, before, c, target, losses, largest_gradient):
    """Count the losses; leave derivatives over their bound in ``GRADIENT``, and clipped predictions in ``PLAYED``."""
    n = losses.size
    if rule.target_unit:
        read_targets_and_scale(heads, target, rule.intercept, clock, before, c)
    else:
        for j in range(n):
            heads[CLIPPED, j] = heads[PREDICTION, j]
    for j in range(n):
        heads[PREDICTION, j] = min(max(heads[PREDICTION, j], -LARGEST), LARGEST)
        heads[PLAYED, j] = heads[CLIPPED, j]
    if loss.code == SOFTMAX:
        margins(heads, PREDICTION, 0, n)
        margins(heads, CLIPPED, 0, n)
    for j in range(n):
        parameter = loss.parameter * heads[UNIT, j] if loss.scaled else loss.parameter
        _, g = loss_and_gradient(loss.code, parameter, heads[PREDICTION, j], heads[TARGET, j])
        value, _ = loss_and_gradient(loss.code, parameter, heads[CLIPPED, j], heads[TARGET, j])
        losses[j] = min(losses[j] + min(value * c, LARGEST), LARGEST)
        bound = rule.bound * heads[UNIT, j] if rule.bound_scaled else rule.bound
        if bound < 0.0:
            largest_gradient[j] = max(largest_gradient[j], abs(g))
            bound = largest_gradient[j]
        heads[GRADIENT, j] = min(max(g / bound, -1.0), 1.0) if bound > 0 else g
        if rule.target_unit:
            heads[PLAYED, j] = heads[PLAYED, j] + target[ORIGIN, j] if before > 0 else 0.0
    return finite(heads, PLAYED, n)
