"""Searches over a grid: in one pass by progressive loss, and by cross-validation with successive halving.

    python -m benchmarks.searches [--data-dir FOLDER] [--output FILE.csv] [--quick]

Each search has twelve candidates, raw units, and a quarter of at most 20,000 rows held out. ``ProgressiveSearch`` has
NAGClassifier or NAGRegressor with four rates and three losses. ``HalvingGridSearchCV`` has SGDClassifier or
SGDRegressor behind a StandardScaler, with four strengths of the penalty, the same losses and 3 folds. A third of the
candidates goes on each time, and ``fit`` uses the best. Scores are accuracies or R^2; seconds are of processor time.
"""

import time
import warnings

import numpy as np
import pandas as pd
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.model_selection import HalvingGridSearchCV, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_nag import NAGClassifier, NAGRegressor
from sklearn_nag.model_selection import ProgressiveSearch

from .data import BUNDLED, FILES, parse
from .options import load_each
from .passes import MOST

LOSSES = {False: ["log_loss", "hinge", "modified_huber"], True: ["squared_error", "huber", "epsilon_insensitive"]}


def searches(regression):
    """Return both searches, new."""
    losses, sgd = LOSSES[regression], SGDRegressor if regression else SGDClassifier
    grid = {"sgd__alpha": [1e-6, 1e-5, 1e-4, 1e-3], "sgd__loss": losses}
    scaled = Pipeline([("scaler", StandardScaler()), ("sgd", sgd(random_state=0))])
    return {
        "progressive": ProgressiveSearch(
            (NAGRegressor if regression else NAGClassifier)(),
            {"eta0": [0.1, 0.3, 1.0, 3.0], "loss": losses},
            loss="squared_error" if regression else "zero_one",
            min_rows=200,
        ),
        "halving": HalvingGridSearchCV(scaled, grid, cv=3, random_state=0),
    }


def main():
    """Print the table."""
    args = parse(__doc__, "CSV file to write the table to", "bundled sets alone")
    warnings.simplefilter("ignore")  # about losses that have not settled
    bundled = args.quick or args.data_dir is None
    print(f"{'':22s}" + "".join(f"{name:>22s}" for name in ("progressive", "halving")))
    print(f"{'':22s}" + f"{'score   seconds':>22s}" * 2, flush=True)
    lines = []
    for name, X, y, regression in load_each(BUNDLED if bundled else {**BUNDLED, **FILES}, args.data_dir):
        rows = np.random.default_rng(0).permutation(len(y))[:MOST]
        X_train, X_test, y_train, y_test = train_test_split(X[rows], y[rows], random_state=0)
        line, shown = {"data": name}, f"{name:22s}"
        for way, search in searches(regression).items():
            for attempt in range(2):  # the first may compile
                start = time.process_time()
                search.fit(X_train, y_train)
                seconds = time.process_time() - start
                if way == "halving" or attempt:
                    break
            score = search.score(X_test, y_test)
            line |= {f"{way}, score": f"{score:.4f}", f"{way}, seconds": f"{seconds:.2f}"}
            shown += f"{score:12.4f}{seconds:10.2f}"
        print(shown, flush=True)
        lines.append(line)
    if args.output:
        pd.DataFrame(lines).to_csv(args.output, index=False)


if __name__ == "__main__":
    main()
