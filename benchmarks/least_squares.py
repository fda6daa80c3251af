"""Least squares in one pass, compared with a batch solver.

    python -m benchmarks.least_squares [--data-dir FOLDER] [--output FOLDER] [--quick]

``ScaleInvariantRegressor(invariance="full")`` learns the rows of each regression set once, in raw units: in a single
call, and in batches of 1, 7 and 1,000 rows. The script prints the largest distance of its predictions, on all rows, to
those of NumPy's least squares on centred and scaled columns, in standard deviations of the target; the condition number
of these columns; and whether all ways to cut the rows gave the same bits. The last set is random, with a condition
number of 1e10. Without ``--data-dir``, only the diabetes data of scikit-learn and the last set are used.
"""

import numpy as np
import pandas as pd

from sklearn_nag import ScaleInvariantRegressor

from .data import BUNDLED, FILES, msd_subset, parse
from .options import load_each

CUTS = (1, 7, 1000)


def ill_conditioned(folder):
    """Return 2,000 rows of 6 features, with singular values from 1 to 1e-10."""
    rng = np.random.default_rng(0)
    left, right = np.linalg.qr(rng.normal(size=(2000, 6)))[0], np.linalg.qr(rng.normal(size=(6, 6)))[0]
    X = left @ np.diag(np.geomspace(1.0, 1e-10, 6)) @ right
    return X, X @ rng.normal(size=6) + 1e-3 * rng.normal(size=2000), True


def batch(X, y):
    """Return the predictions of the batch solver, and the condition number that it saw."""
    Z = X - X.mean(axis=0)
    Z /= np.where(Z.any(axis=0), np.linalg.norm(Z, axis=0), 1.0)
    coef, _, _, singular = np.linalg.lstsq(Z, y - y.mean(), rcond=1e-13)
    return y.mean() + Z @ coef, singular[0] / singular[singular > 1e-13 * singular[0]][-1]


def online(X, y, size):
    """Return the model after one pass in batches of ``size`` rows."""
    model = ScaleInvariantRegressor(invariance="full", clip=None)
    for start in range(0, len(y), size):
        model.partial_fit(X[start : start + size], y[start : start + size])
    return model


def main():
    """Print a line for each data set."""
    options = parse(__doc__, "folder to write least_squares.csv to", "without batches of 1 row: that it runs")
    names = ("California housing", "abalone", "bike sharing")
    files = {"MSD subset": msd_subset, **{name: FILES[name] for name in names}}
    sets = {"diabetes": BUNDLED["diabetes"], **({} if options.data_dir is None else files)}
    table = []
    for name, X, y, _ in load_each({**sets, "ill-conditioned": ill_conditioned}, options.data_dir):
        expected, condition = batch(X, y)
        whole = online(X, y, len(y)).predict(X)
        same = all(np.array_equal(online(X, y, size).predict(X), whole) for size in CUTS[options.quick :])
        distance = np.abs(whole - expected).max() / np.std(y)
        row = {"data": name, "rows": len(y), "features": X.shape[1], "condition": f"{condition:.0e}"}
        table.append({**row, "distance": f"{distance:.0e}", "same bits": "yes" if same else "no"})
        print(*(f"{key} {value}  " for key, value in table[-1].items()), flush=True)
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(table).to_csv(options.output / "least_squares.csv", index=False)


if __name__ == "__main__":
    main()
