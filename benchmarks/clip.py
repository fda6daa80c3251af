"""What it does to clip predictions to the range of the targets so far.

    python -m benchmarks.clip [--data-dir FOLDER] [--output FOLDER] [--quick]

Each regressor, with default parameters but for those in its name, learns the rows in one pass, in raw units, with
``clip=None`` and with ``clip="targets"``. R^2 on held-out rows (30 %), and progressive R^2 over the rows learnt, each
the median of five shuffles but for the last two cases:

* ``as it is``: the data as they are;
* ``outliers learnt``: in 0.1 % of the rows that are learnt, a feature is 1,000 times as large;
* ``outliers met``: the same in 0.1 % of the held-out rows, too;
* ``in order``: rows in the order of the file, the last 30 % held out; those of bike sharing are hours of two years;
* ``growth``: the same, with the place in the file as a feature, and targets to which three standard deviations of them
  are added by the end, in proportion to that feature.

Without ``--data-dir`` only the diabetes data of scikit-learn are used.
"""

import warnings

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split

from sklearn_nag import FTRLRegressor, NAGRegressor, ScaleInvariantRegressor
from sklearn_nag.model_selection import progressive_validation

from .data import BUNDLED, FILES, msd_subset, parse

LEARNERS = {
    "sNAG": NAGRegressor(),
    "sNAG, eta0=auto": NAGRegressor(eta0="auto"),
    "NAG": NAGRegressor(normalization="max"),
    "sNAG, not centred": NAGRegressor(centering=False),
    "ScInOL 2": ScaleInvariantRegressor(),
    "potential": ScaleInvariantRegressor(update="potential"),
    "least squares": ScaleInvariantRegressor(invariance="full"),
    "FTRL-Proximal": FTRLRegressor(),
}


def slip(X, rng, share=1e-3):
    """Multiply one feature by 1,000 in a share of the rows, in one at least."""
    X = X.copy()
    rows = rng.choice(len(X), max(1, int(share * len(X))), replace=False)
    X[rows, rng.integers(0, X.shape[1], len(rows))] *= 1e3
    return X


def cases(X, y, seeds):
    """Yield the name of a case, rows to learn, rows held out, and their targets."""
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=seed)
        yield "as it is", X_train, X_test, y_train, y_test
        slipped = slip(X_train, rng)
        yield "outliers learnt", slipped, X_test, y_train, y_test
        yield "outliers met", slipped, slip(X_test, rng), y_train, y_test
    first = int(0.7 * len(y))
    yield "in order", X[:first], X[first:], y[:first], y[first:]
    time = np.arange(len(y)) / len(y)
    X, y = np.column_stack([X, time]), y + 3.0 * np.std(y) * time
    yield "growth", X[:first], X[first:], y[:first], y[first:]


def measure(X, y, seeds):
    """Medians over shuffles, for each case, learner and ``clip``."""
    rows = []
    for case, X_train, X_test, y_train, y_test in cases(X, y, seeds):
        for name, learner in LEARNERS.items():
            for clip in (None, "targets"):
                model = clone(learner).set_params(clip=clip)
                result = progressive_validation(model, X_train, y_train, batch_size=len(y_train), scoring="r2")
                model, progressive = result.estimator, result.score
                rows.append((case, name, clip, r2_score(y_test, model.predict(X_test)), progressive))
    table = pd.DataFrame(rows, columns=["case", "learner", "clip", "R2", "progressive"])
    table["clip"] = table["clip"].fillna("none")
    return table.groupby(["case", "learner", "clip"], sort=False).median().unstack("clip")


def main():
    """Print a table for each data set."""
    options = parse(__doc__, "folder to write clip.csv to", "diabetes alone, one shuffle: that it runs")
    warnings.simplefilter("ignore")
    files = {name: FILES[name] for name in ("California housing", "abalone", "bike sharing")}
    files["MSD subset"] = msd_subset
    tables = {}
    for name, load in {"diabetes": BUNDLED["diabetes"], **({} if options.data_dir is None else files)}.items():
        X, y, _ = load(options.data_dir)
        tables[name] = measure(X, y, 1 if options.quick else 5)
        print(f"\n{name}, {len(X):,} x {X.shape[1]}\n{tables[name].round(4).to_string()}", flush=True)
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        both = pd.concat(tables, names=["data"]).round(4)
        both.columns = [f"{score}, clip={clip}" for score, clip in both.columns]
        both.to_csv(options.output / "clip.csv")


if __name__ == "__main__":
    main()
