"""One pass over raw data, nothing tuned: the learners without a learning rate beside NAG and SGD.

    python -m benchmarks.scale_invariant [--data-dir FOLDER] [--peers FILE] [--output FOLDER] [--quick]

Rows are shuffled once and 30 % held out; small sets are shuffled ten times, and means are shown. Scores are
accuracies, or R^2 for regression, after one pass over raw features:

* ``scinol2``, ``scinol1``, ``potential``: `ScaleInvariantClassifier` and ``-Regressor``, coordinate by coordinate;
* ``full``: the same with invariance="full";
* ``NAG``, ``sNAG``: normalization="max" and "rms", with the best of seven learning rates by score on the held out rows;
* the columns of peers in the file ``scores.csv`` that ``benchmarks.out_of_the_box`` writes for the same splits, with
  ``--peers``.

``--alphas`` prints instead the score of the potential for several ``potential_alpha``.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from sklearn_nag import NAGClassifier, NAGRegressor, ScaleInvariantClassifier, ScaleInvariantRegressor

from .data import BUNDLED, FILES
from .options import load_each, new_folder, parser_of
from .out_of_the_box import SMALL

ETAS = 4.0 ** np.arange(-3, 4)
ALPHAS = (1.126, 1.25, 1.5, 2.0, 4.0)
PEERS = ("SGD scaled", "SGD tuned", "batch")
LEARNERS = {
    "scinol2": {"update": "scinol2"},
    "scinol1": {"update": "scinol1"},
    "potential": {"update": "potential"},
    "full": {"invariance": "full"},
}


def own(parts, regression, seed):
    """Scores of one pass."""
    X, X_test, y, y_test = parts
    order = np.random.default_rng(seed).permutation(len(y))
    make, nag = (ScaleInvariantRegressor, NAGRegressor) if regression else (ScaleInvariantClassifier, NAGClassifier)
    row = {}
    for name, options in LEARNERS.items():
        row[name] = make(max_iter=1, shuffle=False, **options).fit(X[order], y[order]).score(X_test, y_test)
    for name, normalization in (("NAG", "max"), ("sNAG", "rms")):
        models = (
            nag(normalization=normalization, eta0=eta0, max_iter=1, shuffle=False).fit(X[order], y[order])
            for eta0 in ETAS
        )
        row[name] = max(model.score(X_test, y_test) for model in models)
    return row


def potentials(parts, regression, seed):
    """Scores of one pass by the potential."""
    X, X_test, y, y_test = parts
    order = np.random.default_rng(seed).permutation(len(y))
    make = ScaleInvariantRegressor if regression else ScaleInvariantClassifier
    row = {}
    for invariance in ("coordinatewise", "full"):
        for alpha in ALPHAS:
            model = make(invariance=invariance, update="potential", potential_alpha=alpha, max_iter=1, shuffle=False)
            row[f"{invariance} {alpha:g}"] = model.fit(X[order], y[order]).score(X_test, y_test)
    return row


def main():
    """Print the table, and save it where asked."""
    parser = parser_of(__doc__)
    parser.add_argument("--data-dir", type=Path, help="folder with the files that benchmarks.data names")
    parser.add_argument("--output", type=new_folder, help="folder for scale_invariant.csv or alphas.csv")
    parser.add_argument("--peers", type=Path, help="scores.csv of benchmarks.out_of_the_box")
    parser.add_argument("--quick", action="store_true", help="bundled data, one shuffle")
    parser.add_argument("--alphas", action="store_true", help="compare constants of the potential instead")
    options = parser.parse_args()
    sets = dict(BUNDLED)
    if options.data_dir and not options.quick:
        sets |= FILES
    rows = {}
    for name, X, y, regression in load_each(sets, options.data_dir):
        results = []
        for seed in range(1 if options.quick or len(y) > SMALL else 10):
            parts = train_test_split(X, y, test_size=0.3, random_state=seed)
            results.append((potentials if options.alphas else own)(parts, regression, seed))
        rows[name] = pd.DataFrame(results).mean()
        print(name, {key: f"{value:.4f}" for key, value in rows[name].items()}, flush=True)
    table = pd.DataFrame(rows).T
    if options.peers:
        table = table.join(pd.read_csv(options.peers, index_col="data")[list(PEERS)])
    print(table.to_string(float_format="%.4f"))
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
        name = "alphas.csv" if options.alphas else "scale_invariant.csv"
        table.to_csv(options.output / name, index_label="data", float_format="%.4f")


if __name__ == "__main__":
    main()
