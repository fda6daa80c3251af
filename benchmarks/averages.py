"""Predictions after one pass: with the latest weights, with their average, and with ``average="auto"``.

    python -m benchmarks.averages [--data-dir FOLDER] [--learner ScInOL] [--output FILE.csv] [--quick]

Scores are accuracies, or R^2 for regression, on a quarter of at most 20,000 rows; losses are log losses, and squared
errors relative to those of the mean. Both are means over five splits. Electricity is learnt in time order, and judged
by the predictions made before each row.
"""

import warnings

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from sklearn_nag import NAGClassifier, NAGRegressor, ScaleInvariantClassifier, ScaleInvariantRegressor
from sklearn_nag.model_selection import progressive_validation

from .data import BUNDLED, parse
from .options import file_in, load_each
from .passes import LOADED, MADE, MOST, SPLITS, judged

WAYS = {"latest": False, "average": True, "auto": "auto"}
LEARNERS = {  # for classes, and for regression
    "NAG": (NAGClassifier, NAGRegressor),
    "ScInOL": (ScaleInvariantClassifier, ScaleInvariantRegressor),
}


def electricity(folder):
    """Return electricity: 45,312 half hours in time order, only the numbers, 2 classes."""
    data = pd.read_csv(file_in(folder, "electricity.csv.gz"))
    y = data.pop(data.columns[-1]).to_numpy()
    return data.select_dtypes("number").to_numpy(dtype=float), y, False


def measure(learners, X, y, regression):
    """Return the mean score and loss after one pass, for each way."""
    make, found = learners[regression], {way: [] for way in WAYS}
    for seed in range(SPLITS):
        rows = np.random.default_rng(seed).permutation(len(y))[:MOST]
        stratify = None if regression or np.unique(y[rows], return_counts=True)[1].min() < 2 else y[rows]
        X_train, X_test, y_train, y_test = train_test_split(X[rows], y[rows], random_state=seed, stratify=stratify)
        for way, average in WAYS.items():
            model = make(average=average, max_iter=1, random_state=seed).fit(X_train, y_train)
            found[way].append(judged(model, X_test, y_test, regression))
    return {way: np.mean(values, axis=0) for way, values in found.items()}


def in_order(learners, X, y, _):
    """Return the progressive accuracy and log loss, for each way."""
    found = {}
    for way, average in WAYS.items():
        result = progressive_validation(learners[0](average=average), X, y, scoring=["accuracy", "neg_log_loss"])
        found[way] = result.score["accuracy"], -result.score["neg_log_loss"]
    return found


def main():
    """Print the table."""
    args = parse(
        __doc__, "CSV file to write the table to", "bundled sets alone", learner=f"which: {', '.join(LEARNERS)}"
    )
    if args.learner not in (None, *LEARNERS):
        raise SystemExit(f"--learner must be one of {', '.join(LEARNERS)}; got {args.learner}")
    learners = LEARNERS[args.learner or "NAG"]
    warnings.simplefilter("ignore", UserWarning)  # about bins without rows
    bundled = args.quick or args.data_dir is None
    sets = {**BUNDLED, **MADE} if bundled else {**BUNDLED, **MADE, **LOADED, "electricity in order": electricity}
    print(f"{'':22s}" + "".join(f"{way:>18s}" for way in WAYS))
    print(f"{'':22s}" + f"{'score    loss':>18s}" * len(WAYS) + "  auto - better", flush=True)
    lines = []
    for name, X, y, regression in load_each(sets, args.data_dir):
        found = (in_order if sets[name] is electricity else measure)(learners, X, y, regression)
        gain = found["auto"][0] - max(found["latest"][0], found["average"][0])
        row = "".join(f"{score:10.4f}{loss:8.4f}" for score, loss in found.values())
        print(f"{name:22s}{row}{gain:10.4f}", flush=True)
        scores = {way: f"{score:.4f}" for way, (score, _) in found.items()}
        losses = {f"{way}, loss": f"{loss:.4f}" for way, (_, loss) in found.items()}
        lines.append({"data": name, **scores, **losses})
    if args.output:
        pd.DataFrame(lines).to_csv(args.output, index=False)


if __name__ == "__main__":
    main()
