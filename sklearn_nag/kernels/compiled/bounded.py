"""Losses of learners without a learning rate, as compiled functions; see `vectorized.bounded`."""

from __future__ import annotations

from .heads import GRADIENT, UNIT
from .jit import fast
from .targets import suffer as suffer_losses

LARGEST_WEIGHT = 2  # a further entry of ``clock``


def compiled_bound(loss):
    """Lipschitz constant of a loss, -1 if it has none, and whether the unit of the target scales it."""
    bound = loss.lipschitz(1.0)
    return -1.0 if bound is None else float(bound), bound is not None and loss.lipschitz(2.0) != bound


@fast
def suffer(heads, rule, loss, clock, before, c, target, losses, largest_gradient):
    """As `targets.suffer`, with derivatives over their bound in ``GRADIENT``."""
    ok = suffer_losses(heads, rule, loss, clock, before, c, target, losses)
    for j in range(losses.size):
        g = heads[GRADIENT, j]
        bound = rule.bound * heads[UNIT, j] if rule.bound_scaled else rule.bound
        if bound < 0.0:
            largest_gradient[j] = max(largest_gradient[j], abs(g))
            bound = largest_gradient[j]
        heads[GRADIENT, j] = min(max(g / bound, -1.0), 1.0) if bound > 0 else g
    return ok
