"""`fit` on very few rows: log losses after one pass, after passes until the loss settles, and after as many as help.

    python -m benchmarks.few_rows [--quick]

Losses are means over ten draws of a few rows, from sets that ship with scikit-learn and from made-up ones: normal
columns, and two classes by a logistic model whose logits have a standard deviation of ``signal``.
"""

import argparse
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning

from sklearn_nag import NAGClassifier

from .passes import WAYS

DRAWS, N_TEST = 10, 1000
SIGNALS, SIZES = (0.5, 1.5, 4.0), ((12, 3), (20, 5), (30, 10), (35, 12), (39, 20), (30, 60))
SETS = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}
RATES = (1.0, "auto")


def made(signal, n_rows, n_columns, seed):
    """Return rows and classes; those to learn come first."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows + N_TEST, n_columns))
    weights = signal / np.sqrt(n_columns) * rng.normal(size=n_columns)
    return X, (rng.random(len(X)) < 1.0 / (1.0 + np.exp(-X @ weights))).astype(int)


def drawn(load, seed):
    """Return what `made` returns, from a set that exists."""
    X, y = load(return_X_y=True)
    rows = np.random.default_rng(seed).permutation(len(y))
    return X[rows], y[rows]


def losses(X, y, n_rows):
    """Return the log loss on the rows after the first ones, for each rate and way; unseen classes do not count."""
    found = []
    for eta0 in RATES:
        for options in WAYS.values():
            model = NAGClassifier(eta0=eta0, random_state=0, **options).fit(X[:n_rows], y[:n_rows])
            later = np.flatnonzero(np.isin(y[n_rows:], model.classes_)) + n_rows
            p = model.predict_proba(X[later])[np.arange(len(later)), np.searchsorted(model.classes_, y[later])]
            found.append(-np.log(np.maximum(p, 1e-12)).mean())
    return found


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two draws of each")
    draws = 2 if parser.parse_args().quick else DRAWS
    warnings.simplefilter("ignore", ConvergenceWarning)
    columns = [f"{way}, {eta0}" for eta0 in RATES for way in WAYS]
    print(f"{'':30s}" + "".join(f"{name:>20s}" for name in columns), flush=True)
    of_all = {"made": [], "bundled": []}
    cases = [
        ("made", f"signal {signal}, {n} x {d}", lambda seed, case=(signal, n, d): made(*case, seed), n)
        for signal in SIGNALS
        for n, d in SIZES
    ]
    cases += [
        ("bundled", f"{name}, {n} rows", lambda seed, load=load: drawn(load, seed), n)
        for name, load in SETS.items()
        for n in (12, 20, 30, 39)
    ]
    for kind, name, draw, n in cases:
        sets = [draw(seed) for seed in range(draws)]
        table = [losses(X, y, n) for X, y in sets if len(np.unique(y[:n])) > 1]
        of_all[kind].append(np.mean(table, axis=0))
        print(f"{name:30s}" + "".join(f"{loss:20.3f}" for loss in of_all[kind][-1]), flush=True)
    for kind, means in of_all.items():
        print(f"{'mean, ' + kind:30s}" + "".join(f"{loss:20.3f}" for loss in np.mean(means, axis=0)))


if __name__ == "__main__":
    main()
