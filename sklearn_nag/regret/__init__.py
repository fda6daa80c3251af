"""Tools to study regret: recorded runs, the best weights in hindsight, regret bounds, and hard data.

Regret is the total loss of a learner's predictions minus that of fixed weights ``u``. Each prediction is made before
its row is learnt. If there is an intercept, its weight is the last entry of ``u``. Bounds are curves: each entry is the
bound for the rows up to there. Runs may be stacked: arrays with additional leading axes hold several runs, and bounds
and `Run.regret` are computed for all of them at once.
"""

from ._adversaries import expert_game, many_rates, margin_data, scaling_adversary, unlearnable
from ._bounds import (
    adahedge_bound,
    entropy_bound,
    full_bound,
    full_lower_bound,
    hedge_bound,
    least_squares_bound,
    majority_bound,
    margin_bound,
    nag_bound,
    ogd_bound,
    perceptron_bound,
    potential_bound,
    scinol1_bound,
)
from ._comparators import best_in_hindsight
from ._display import RegretDisplay
from ._run import Run, record

__all__ = [
    "RegretDisplay",
    "Run",
    "adahedge_bound",
    "best_in_hindsight",
    "entropy_bound",
    "expert_game",
    "full_bound",
    "full_lower_bound",
    "hedge_bound",
    "least_squares_bound",
    "majority_bound",
    "many_rates",
    "margin_bound",
    "margin_data",
    "nag_bound",
    "ogd_bound",
    "perceptron_bound",
    "potential_bound",
    "record",
    "scaling_adversary",
    "scinol1_bound",
    "unlearnable",
]
