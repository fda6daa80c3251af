"""
A frame with numbers and categories
===================================

**The point:** the only preprocessing is a ``ColumnTransformer`` that encodes
the categories. Numbers pass through in their units.

The data is made up: prices of flats by area, distance, town and floor.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from sklearn_nag import NAGRegressor
from sklearn_nag.model_selection import CoefficientsDisplay

rng = np.random.default_rng(0)
n = 2000
flats = pd.DataFrame(
    {
        "area_cm2": rng.lognormal(13.4, 0.4, n),
        "distance_km": rng.gamma(2.0, 3.0, n),
        "town": rng.choice(["Bath", "Leeds", "York"], n),
        "floor": rng.choice(["ground", "middle", "top"], n),
    }
)
price = (
    0.4 * flats["area_cm2"]
    - 8_000 * flats["distance_km"]
    + flats["town"].map({"Bath": 90_000, "Leeds": 0, "York": 40_000})
    + rng.normal(0, 40_000, n)
)

# %%
# The pipeline
# ------------

prepare = make_column_transformer(
    (OneHotEncoder(sparse_output=False), ["town", "floor"]),
    remainder="passthrough",
    verbose_feature_names_out=False,
)
model = make_pipeline(prepare, NAGRegressor(random_state=0))
scores = cross_val_score(model, flats, price, cv=5)
print(f"R2 {scores.mean():.3f}, from {scores.min():.3f} to {scores.max():.3f}")

# %%
# What it has learnt
# ------------------
#
# Unit-free weights can be compared: each says by how much the price changes
# when a column changes by its scale. The floor has no effect in this data. Its
# columns only share a constant that could equally be part of the intercept.

model.fit(flats, price)
CoefficientsDisplay.from_estimator(model)
plt.show()
