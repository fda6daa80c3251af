"""One pass over raw data, nothing tuned: the learners without a learning rate, compared with NAG and SGD.

    python -m benchmarks.scale_invariant [--data-dir FOLDER] [--peers FILE] [--output FOLDER] [--quick]

Rows are shuffled once and 30 % are held out; small sets are shuffled ten times, and means are shown. Scores are
accuracies, or R^2 for regression, after one pass over raw features:

* ``scinol2``, ``scinol1``, ``potential``: `ScaleInvariantClassifier` and ``-Regressor``, coordinate by coordinate;
* ``full``: the same with invariance="full";
* ``NAG``, ``sNAG``: normalization="max" and "rms", with the best of seven learning rates by score on the held-out rows;
* with ``--peers``, the columns of peers in the file ``scores.csv`` that ``benchmarks.out_of_the_box`` writes for the
  same splits.

``--alphas`` prints instead the score of the potential for several values of ``potential_alpha``. ``--limits`` prints
instead scores of made-up rows that are difficult for learners without a learning rate: for counts and amounts D^2 of
their losses, otherwise R^2, of 4,000 other rows or more. These are medians of five seeds, and the least and the
largest.
"""

from functools import partial
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
    """Return the scores of one pass."""
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
    """Return the scores of one pass with the potential."""
    X, X_test, y, y_test = parts
    order = np.random.default_rng(seed).permutation(len(y))
    make = ScaleInvariantRegressor if regression else ScaleInvariantClassifier
    row = {}
    for invariance in ("coordinatewise", "full"):
        for alpha in ALPHAS:
            model = make(invariance=invariance, update="potential", potential_alpha=alpha, max_iter=1, shuffle=False)
            row[f"{invariance} {alpha:g}"] = model.fit(X[order], y[order]).score(X_test, y_test)
    return row


def made_up(rng):
    """Yield a name, parameters, and features, targets and weights of the rows to learn, and of the others."""

    def halves(name, X, y, n, weight=None, **parameters):
        weight = np.ones(len(y)) if weight is None else weight
        return name, parameters, *((X[part], y[part], weight[part]) for part in (slice(n), slice(n, None)))

    X, few, wide = rng.normal(size=(6000, 5)), rng.normal(size=(4200, 200)), rng.normal(size=(4400, 400))
    mean, noise = np.exp(0.5 * X @ rng.normal(size=5)), 0.1 * rng.normal(size=8000)
    yield halves("2,000 counts", X, rng.poisson(mean), 2000, loss="poisson")
    yield halves("2,000 amounts", X, rng.gamma(2.0, mean / 2.0), 2000, loss="gamma")
    X = rng.normal(size=(8000, 5))
    y = X @ rng.normal(size=5) + noise
    for sigma in (2, 3):
        name = f"4,000 log-normal weights, sigma {sigma}"
        yield halves(name, X, y, 4000, rng.lognormal(0.0, sigma, 8000))
    yield halves("50 rows, 200 columns", few, few @ rng.normal(size=200) + rng.normal(size=4200), 50)
    yield halves("200 rows, 400 columns", wide, wide @ rng.normal(size=400) + rng.normal(size=4400), 200)
    X = np.column_stack([rng.normal(size=(8000, 3)), rng.random((8000, 20)) < 1 / 200])
    yield halves("20 rare columns", X, X[:, :3].sum(axis=1) + 3.0 * X[:, 3:] @ rng.normal(size=20) + noise, 4000)


def limits():
    """Return the scores of made-up rows, for each learner."""
    learners = {
        "scinol2": ScaleInvariantRegressor,
        "potential": partial(ScaleInvariantRegressor, update="potential"),
        "full": partial(ScaleInvariantRegressor, invariance="full"),
        "NAG": NAGRegressor,
    }
    found = {}
    for seed in range(5):
        for name, parameters, rows, (X, y, _) in made_up(np.random.default_rng(seed)):
            scores = {learner: make(**parameters).partial_fit(*rows).score(X, y) for learner, make in learners.items()}
            scores["scinol2, fit"] = ScaleInvariantRegressor(**parameters, random_state=seed).fit(*rows).score(X, y)
            found.setdefault(name, []).append(scores)
    summaries = {name: pd.DataFrame(scores).quantile([0.5, 0.0, 1.0]).round(2) + 0.0 for name, scores in found.items()}
    table = {
        name: summary.apply(lambda of: "{:.2f} ({:.2f} to {:.2f})".format(*of)) for name, summary in summaries.items()
    }
    return pd.DataFrame(table).T


def main():
    """Print the table, and save it if asked."""
    parser = parser_of(__doc__)
    parser.add_argument("--data-dir", type=Path, help="folder with the files that benchmarks.data names")
    parser.add_argument("--output", type=new_folder, help="folder for the table that is printed")
    parser.add_argument("--peers", type=Path, help="scores.csv of benchmarks.out_of_the_box")
    parser.add_argument("--quick", action="store_true", help="bundled data, one shuffle")
    parser.add_argument("--alphas", action="store_true", help="compare constants of the potential instead")
    parser.add_argument("--limits", action="store_true", help="rows that are made up instead")
    options = parser.parse_args()
    if options.limits:
        table = limits()
        print(table.to_string())
        if options.output:
            table.to_csv(options.output / "scale_invariant_limits.csv", index_label="rows")
        return
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
