"""The theorem: the regret of the weights that full invariance plays."""

import numpy as np
import pytest

from ..bounded_helpers import BOUNDED, KINDS
from ..regret import SEQUENCES, regrets


@pytest.mark.parametrize("loss", BOUNDED)
@pytest.mark.parametrize("rows", SEQUENCES, ids=lambda rows: rows.__name__)
def test_regret_of_full_invariance_is_within_theorem_9(rng, rows, loss):
    X, y = rows(rng)
    alpha = 1.5
    for u, regret, _, state in regrets(X, y, loss, KINDS[0], rng, alpha):
        size = np.linalg.norm(X @ u)
        inner = alpha * size**2 * np.exp(state.Gamma[0] / alpha)
        assert regret <= size * np.sqrt(alpha * np.log1p(inner)) + 1
