"""HedgeClassifier and HedgeRegressor compared with their members.

    python -m benchmarks.hedge [--data-dir FOLDER] [--output FOLDER] [--quick]

Rows are shuffled, 30 % are held out, and the others are learnt in one pass with default parameters, in raw units. Sets
of fewer than 3,000 rows are shuffled ten times, and means are shown. There are three mixtures:

* ``default``: HedgeClassifier() or HedgeRegressor();
* ``wide``: sNAG, NAG, NG, both updates without a learning rate, and scikit-learn's SGD on features that a
  StandardScaler (for sparse rows: a MaxAbsScaler) scales on the way;
* ``Bayes``: the same members of classifiers, with ``update="hedge", eta0=1``.

``loss / best`` is the progressive loss of the mixture divided by that of its best member, with the latest weights.
``regret`` is the difference of their total log losses, divided by the logarithm of the number of members. ``score`` is
the accuracy or R^2 on held-out rows, and ``above best`` how far it is above the best score of a member. ``trusted`` is
the member with the largest weight.
Without ``--data-dir``, only data that ship with scikit-learn are used.
"""

import time
import warnings

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from sklearn_nag import (
    HedgeClassifier,
    HedgeRegressor,
    NAGClassifier,
    NAGRegressor,
    ScaleInvariantClassifier,
    ScaleInvariantRegressor,
)

from .data import BUNDLED, FILES, SPARSE, TEXT, msd_subset, parse
from .options import load_each

SMALL = 3_000


def wide(regression, is_sparse):
    """Return the members of the wide mixture."""
    nag, free = (NAGRegressor, ScaleInvariantRegressor) if regression else (NAGClassifier, ScaleInvariantClassifier)
    sgd = SGDRegressor(random_state=0) if regression else SGDClassifier(loss="log_loss", random_state=0)
    return [
        ("snag", nag()),
        ("nag", nag(normalization="max")),
        ("ng", nag(normalization="max", adaptive=False)),
        ("scinol2", free()),
        ("potential", free(update="potential")),
        ("sgd", make_pipeline(MaxAbsScaler() if is_sparse else StandardScaler(), sgd)),
    ]


def measure(model, X, X_test, y, y_test):
    """Return the figures of a mixture that learns the rows in one pass."""
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    scores = {name: member.score(X_test, y_test) for name, member in model.named_estimators_.items()}
    score = model.score(X_test, y_test)
    return {
        "loss / best": model.progressive_loss_ / model.expert_losses_.min(),
        "regret": np.nan if is_regressor(model) else model.regret_ / np.log(len(scores)),
        "score": score,
        "above best": score - max(scores.values()),
        "trusted": max(zip(model.weights_, scores))[1],
        "s": seconds,
    }


def cell(value, digits):
    """Return a number as text, without a sign if it is 0; a dash for NaN."""
    return "-" if np.isnan(value) else f"{round(value, digits) + 0.0:.{digits}f}"


def main():
    """Print the table, a data set at a time."""
    options = parse(__doc__, "folder to write hedge.csv to", "bundled data once: that it runs")
    warnings.simplefilter("ignore", RuntimeWarning)
    files = {"MSD subset": msd_subset, **FILES, **SPARSE, **TEXT}
    table = []
    sets = {**BUNDLED, **({} if options.data_dir is None else files)}
    for name, X, y, regression in load_each(sets, options.data_dir):
        make = HedgeRegressor if regression else HedgeClassifier
        members = wide(regression, sparse.issparse(X))
        mixtures = {"default": {}, "wide": {"estimators": members}}
        if not regression:
            mixtures["Bayes"] = {"estimators": members, "update": "hedge", "eta0": 1.0}
        for kind, options_of_mixture in mixtures.items():
            rows = []
            for seed in range(10 if len(y) < SMALL and not options.quick else 1):
                split = train_test_split(X, y, test_size=0.3, random_state=seed)
                rows.append(measure(make(**options_of_mixture, random_state=seed), *split))
            frame = pd.DataFrame(rows)
            means = frame.drop(columns="trusted").mean().to_dict()
            table.append({"data": name, "mixture": kind, **means, "trusted": frame["trusted"].mode()[0]})
            print(
                f"{name:20} {kind:8}",
                *(f"{key} {value:9.4f} " for key, value in means.items()),
                table[-1]["trusted"],
                flush=True,
            )
            if options.output is not None:
                options.output.mkdir(parents=True, exist_ok=True)
                written = pd.DataFrame(table).drop(columns="s")
                for what in written.select_dtypes(float):
                    written[what] = [cell(value, 1 if what == "regret" else 4) for value in written[what]]
                written.to_csv(options.output / "hedge.csv", index=False)


if __name__ == "__main__":
    main()
