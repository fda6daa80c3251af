"""Bytes that a model keeps for one more feature, by estimator and number of classes.

    python -m benchmarks.memory [--output FILE.csv] [--quick]

Each model learns 40 dense rows, with a thousand features and with two thousand. The growth of its pickle, divided by a
thousand, is what it keeps for a feature. ``invariance="full"`` keeps something for all pairs of features: its bytes are
those for a pair, from 100 and 200 features, in the column ``a pair``. While it learns, a model also has a copy: of all
columns for dense rows, of the columns that they name for sparse rows.
"""

import pickle

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier

from sklearn_nag import FTRLClassifier, NAGClassifier, ScaleInvariantClassifier, config_context

from .data import parse

PRINTED = {"normalization": "max", "centering": False, "importance_aware": False, "average": False}
MODELS = {
    "SGDClassifier": SGDClassifier(),
    "NAGClassifier": NAGClassifier(),
    "NAGClassifier, as printed": NAGClassifier(multi_class="ovr", **PRINTED),
    'NAGClassifier, penalty="l2"': NAGClassifier(penalty="l2"),
    "NAGClassifier, half_life=1000": NAGClassifier(half_life=1000),
    'NAGClassifier, half_life="auto"': NAGClassifier(half_life="auto"),
    'NAGClassifier, eta0="auto"': NAGClassifier(eta0="auto"),
    "FTRLClassifier": FTRLClassifier(),
    "ScaleInvariantClassifier": ScaleInvariantClassifier(),
}
FULL = ScaleInvariantClassifier(invariance="full")


def size(model, n_features, n_classes):
    """Return the bytes of the pickle of a model that has learnt some rows."""
    X = np.random.default_rng(0).normal(size=(40, n_features))
    labels = np.arange(n_classes)
    return len(pickle.dumps(clone(model).partial_fit(X, np.resize(labels, 40), classes=labels)))


def growth(model, few, many, n_classes, power=1):
    """Return the bytes for one more feature, or pair of features."""
    return (size(model, many, n_classes) - size(model, few, n_classes)) / (many**power - few**power)


def main():
    options = parse(__doc__, "CSV file to write the table to", "fewer features")
    few, many = (100, 200) if options.quick else (1000, 2000)
    with config_context(kernel="numpy"):  # pickles are the same
        lines = [
            {"model": name, **{f"{n} classes": growth(model, few, many, n) for n in (2, 10)}, "a pair": "-"}
            for name, model in MODELS.items()
        ]
        pair = growth(FULL, 100, 200, 2, power=2)
    table = pd.DataFrame(lines).round(0).astype({"2 classes": int, "10 classes": int})
    table.loc[len(table)] = ['ScaleInvariantClassifier, invariance="full"', "-", "-", round(pair)]
    print(table.to_string(index=False))
    if options.output is not None:
        table.to_csv(options.output, index=False)


if __name__ == "__main__":
    main()
