"""Log loss on held-out rows, and what predicting the most frequent class would score: classification in raw units.

    python -m benchmarks.log_losses [--data-dir FOLDER] [--output FOLDER] [--quick]

Splits are those of ``benchmarks.out_of_the_box``: 30 % held out, means over ten shuffles for small sets. ``majority``
and ``accuracy`` are accuracies: of the most frequent class, and of ``fit`` with defaults. The other columns are log
losses: of the shares of the classes (``prior``), of one pass, of ``fit``, and of LogisticRegression on standardised
features (``batch``).
"""

import warnings

import numpy as np
import pandas as pd
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_nag import NAGClassifier

from .data import BUNDLED, FILES, parse
from .options import load_each
from .out_of_the_box import SMALL


def measure(X, X_test, y, y_test, seed):
    """Return one row of the table, for one split."""
    learners = {
        "prior": DummyClassifier(),
        "one pass": NAGClassifier(max_iter=1, random_state=seed),
        "fit": NAGClassifier(random_state=seed),
        "batch": make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)),
    }
    row = {}
    for name, learner in learners.items():
        learner.fit(X, y)
        row[name] = log_loss(y_test, learner.predict_proba(X_test), labels=learner.classes_)
    return {
        "majority": learners["prior"].score(X_test, y_test),
        "accuracy": learners["fit"].score(X_test, y_test),
        **row,
    }


def main():
    """Print the table, a data set at a time."""
    options = parse(__doc__, "folder to write log_losses.csv to", "bundled data once: that it runs")
    warnings.simplefilter("ignore", ConvergenceWarning)
    table = []
    sets = {**BUNDLED, **({} if options.data_dir is None else FILES)}
    for name, X, y, regression in load_each(sets, options.data_dir):
        if regression:
            continue
        seeds = range(10 if len(y) < SMALL and not options.quick else 1)
        rows = [measure(*train_test_split(X, y, test_size=0.3, random_state=seed), seed) for seed in seeds]
        table.append({"data": name, "classes": len(np.unique(y)), **pd.DataFrame(rows).mean().to_dict()})
        print(name, *(f"  {key:10} {value:.4f}" for key, value in list(table[-1].items())[2:]), sep="\n", flush=True)
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(table).to_csv(options.output / "log_losses.csv", index=False, float_format="%.4f")


if __name__ == "__main__":
    main()
