"""Accuracy of one pass with each loss for classes that is useful if no probabilities are needed.

    python -m benchmarks.accuracy_by_loss [--data-dir FOLDER] [--output FILE.csv] [--quick]

Accuracies are means over five splits, on a quarter of at most 20,000 rows.
"""

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from sklearn_nag import NAGClassifier

from .data import BUNDLED, parse
from .options import load_each
from .passes import LOADED, MOST, SPLITS

LOSSES = ("log_loss", "hinge", "squared_hinge", "modified_huber")


def measure(X, y):
    """Return the mean accuracy with each loss."""
    found = {loss: [] for loss in LOSSES}
    for seed in range(SPLITS):
        rows = np.random.default_rng(seed).permutation(len(y))[:MOST]
        stratify = None if np.unique(y[rows], return_counts=True)[1].min() < 2 else y[rows]
        X_train, X_test, y_train, y_test = train_test_split(X[rows], y[rows], random_state=seed, stratify=stratify)
        for loss in LOSSES:
            model = NAGClassifier(loss, max_iter=1, random_state=seed).fit(X_train, y_train)
            found[loss].append(model.score(X_test, y_test))
    return {loss: np.mean(scores) for loss, scores in found.items()}


def main():
    """Print the table."""
    args = parse(__doc__, "CSV file to write the table to", "bundled sets alone")
    sets = BUNDLED if args.quick or args.data_dir is None else {**BUNDLED, **LOADED}
    print(f"{'':22s}" + "".join(f"{loss:>16s}" for loss in LOSSES), flush=True)
    lines = []
    for name, X, y, regression in load_each(sets, args.data_dir):
        if regression:
            continue
        found = measure(X, y)
        print(f"{name:22s}" + "".join(f"{score:16.4f}" for score in found.values()), flush=True)
        lines.append({"data": name, **{loss: f"{score:.4f}" for loss, score in found.items()}})
    if args.output:
        pd.DataFrame(lines).to_csv(args.output, index=False)


if __name__ == "__main__":
    main()
