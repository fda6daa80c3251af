"""
From a raw table to coefficients with names
===========================================

**The point:** ``prepare`` inspects a table and says how it encodes each
column. The pipeline then learns the rows as a stream, and its coefficients
have the names of columns and words.

The data is made up: orders in a shop, as its till exports them.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from sklearn_nag import NAGRegressor
from sklearn_nag.preprocessing import prepare

rng = np.random.default_rng(0)
n = 5000
income = rng.lognormal(10.5, 0.5, n)
days = rng.integers(0, 700, n)
towns = np.array(["Bath", "Leeds", "York", None], dtype=object)
orders = pd.DataFrame(
    {
        "order_id": np.arange(10_000, 10_000 + n),
        "income": [f"${x:,.2f}" if x > 15_000 else "?" for x in income],
        "town": rng.choice(towns, n),
        "sold": [
            f"{day:%d.%m.%Y}"
            for day in pd.Timestamp("2022-01-03") + pd.to_timedelta(days, "D")
        ],
        "items": rng.poisson(3.0, n) + 1,
    }
)
spent = (
    8.0 * orders["items"]
    + 4e-4 * income
    + 15.0 * (orders["town"] == "York")
    + 12.0 * (days % 7 == 5)
    + rng.normal(0.0, 10.0, n)
)
print(orders.head())

# %%
# How columns are encoded
# -----------------------
#
# The order number identifies a row, so it is left out. Money, dates and words
# become numbers, and missing values are marked.

model = prepare(orders, NAGRegressor(), say=print)

# %%
# A stream
# --------
#
# The rows can come one by one or in batches, with bit-identical results. Each
# row is predicted before it is learnt.

for start in range(0, n, 100):
    stop = start + 100
    model.partial_fit(orders[start:stop], spent[start:stop])
print(f"{model[-1].t_:.0f} rows, R2 {model.score(orders, spent):.3f}")

# %%
# Names
# -----
#
# The unit-free weights say how much the prediction changes when a column
# changes by its scale. Towns and weekdays have names, although they were not
# columns of the table.

table = model.coefficients()
largest = table.iloc[table["unit_free_weight"].abs().argsort()[-12:]]
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.barh(largest["feature"].astype(str), largest["unit_free_weight"])
axes.set_xlabel("unit-free weight")
plt.show()
