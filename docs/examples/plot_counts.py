"""
Counts, with a log link
=======================

**The point:** ``loss="poisson"`` learns counts in one pass, from columns in
any units, and predicts a rate that is never negative.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_nag import NAGRegressor

# %%
# Hourly bike hires
# -----------------
#
# The rate is a product of effects of the hour, the temperature and the rain.
# Its logarithm is a sum, which is linear in the columns.

rng = np.random.default_rng(0)
n = 20_000
hour, celsius = rng.integers(24, size=n), rng.normal(12, 8, n)
rain = np.maximum(rng.normal(-0.001, 0.002, n), 0.0)  # metres
busy = 0.4 + np.exp(-((np.arange(24) - 8) ** 2) / 6)
busy += 1.5 * np.exp(-((np.arange(24) - 17) ** 2) / 8)
rate = 100 * busy[hour] * np.exp(0.04 * (celsius - 12) - 400 * rain)
hired = rng.poisson(rate)
X = np.column_stack([np.eye(24)[hour], celsius, rain])

# %%
# One pass, compared with a batch solver on scaled columns
# --------------------------------------------------------
#
# ``score`` returns D², the share of the deviance that the model explains.

train, test = slice(0, 15_000), slice(15_000, None)
learners = {
    "squared error": NAGRegressor(),
    "poisson": NAGRegressor("poisson"),
}
for learner in learners.values():
    learner.partial_fit(X[train], hired[train])
batch = make_pipeline(StandardScaler(), PoissonRegressor(alpha=0))
batch.fit(X[train], hired[train])
print(f"D² {learners['poisson'].score(X[test], hired[test]):.3f}")
print(f"D² {batch.score(X[test], hired[test]):.3f} (PoissonRegressor)")

# %%
# Predictions at two temperatures
# -------------------------------
#
# With the squared error, a degree adds the same number of bikes to every hour.
# With the log link, it multiplies every hour by the same factor, as in the
# truth.

hours = np.arange(24)


def draw(degrees):
    """Predictions for each hour of a dry day, and the truth."""
    _, ax = plt.subplots(layout="constrained")
    rows = np.column_stack([np.eye(24), np.full(24, degrees), np.zeros(24)])
    truth = 100 * busy * np.exp(0.04 * (degrees - 12))
    ax.plot(hours, truth, "k.", label="truth")
    for name, learner in learners.items():
        ax.plot(hours, learner.predict(rows), label=name)
    ax.axhline(0, color="0.8", zorder=0)
    ax.set(xlabel="hour", ylabel="bikes", title=f"{degrees} °C, no rain")
    ax.legend(loc="upper left")
    plt.show()


draw(2)

# %%
# At high temperatures, the squared error predicts too few bikes for busy hours
# and too many at night.

draw(28)
