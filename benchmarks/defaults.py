"""What each default is worth: scores on raw data with one parameter changed at a time.

    python -m benchmarks.defaults [--data-dir FOLDER] [--output FILE.csv] [--quick]

The table has a line for each setting and number of passes, and a column for each data set. Scores are accuracy or R^2
on 30 % held-out rows, means over shuffles (ten for small sets, two for others) of at most 60,000 rows; an R^2 below -9
counts as -9. ``-`` means that a setting does not apply. The mixed frame has numbers far from 0 and 300 one-hot columns,
in CSR; text is counts of words.
"""

import warnings

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from sklearn_nag import NAGClassifier, NAGRegressor

from .data import BUNDLED, FILES, SPARSE, TEXT, parse
from .options import load_each
from .text import mixed_rows

SMALL, MOST = 3_000, 60_000
SETTINGS = {
    "defaults": {},
    "normalization='max'": {"normalization": "max"},
    "normalization='rms'": {"normalization": "rms"},
    "adaptive=False (sNG)": {"adaptive": False},
    "centering=False": {"centering": False},
    "importance_aware=False": {"importance_aware": False},
    "average=False": {"average": False},
    "eta0=0.25": {"eta0": 0.25},
    "eta0=4": {"eta0": 4.0},
    "eta0='auto'": {"eta0": "auto"},
    "target_normalization=None": {"target_normalization": None},
    "clip=None": {"clip": None},
    "multi_class='ovr'": {"multi_class": "ovr"},
    "loss='hinge'": {"loss": "hinge"},
    "loss='absolute_error'": {"loss": "absolute_error"},
}


def score(X, y, regression, setting, max_iter, shuffles):
    """Return the mean score of a setting; NaN if it does not apply."""
    make = NAGRegressor if regression else NAGClassifier
    names = make().get_params()
    of_other_task = setting.get("loss") == ("hinge" if regression else "absolute_error")
    of_more_classes = "multi_class" in setting and len(np.unique(y)) == 2
    if not set(setting) <= set(names) or of_other_task or of_more_classes:
        return np.nan
    scores = []
    for seed in range(shuffles):
        rows = np.random.default_rng(seed).permutation(len(y))[:MOST]
        X_train, X_test, y_train, y_test = train_test_split(X[rows], y[rows], test_size=0.3, random_state=seed)
        model = make(random_state=seed, max_iter=max_iter, **setting).fit(X_train, y_train)
        scores.append(max(model.score(X_test, y_test), -9.0))
    return np.mean(scores)


def main():
    """Print the table."""
    options = parse(__doc__, "file to write the table to, as CSV", "wine and diabetes once: that it runs")
    warnings.simplefilter("ignore", ConvergenceWarning)
    sets = {**BUNDLED, "mixed frame": mixed_rows}
    sets |= {} if options.data_dir is None else {**FILES, **SPARSE, **TEXT}
    if options.quick:
        sets = {name: sets[name] for name in ("wine", "diabetes")}
    table = {(setting, passes): {} for passes in ("one pass", "fit") for setting in SETTINGS}
    for name, X, y, regression in load_each(sets, options.data_dir):
        shuffles = 1 if options.quick else 10 if len(y) < SMALL else 2
        for (setting, passes), row in table.items():
            max_iter = 1 if passes == "one pass" else 1000
            row[name] = score(X, y, regression, SETTINGS[setting], max_iter, shuffles)
        frame = pd.DataFrame(table).T.rename_axis(["setting", "passes"])
        if options.output is not None:
            frame.to_csv(options.output, float_format="%.4f", na_rep="-")
    print(frame.to_string(float_format=lambda value: f"{value:.4f}", na_rep="-"))


if __name__ == "__main__":
    main()
