"""Log loss and expected calibration error after one pass, or ``fit``, with and without ``calibration="progressive"``.

    python -m benchmarks.calibration [--data-dir FOLDER] [--output FILE.csv] [--quick]

Models are judged on 30 % of at most 40,000 rows, after learning the others, or the first 400 of these (``few rows``).
The error is the mean, over 15 bins of the probability of the most probable class, of the difference between this
probability and how often this class is right. ``sets`` is how often sets with coverage 0.9 contain the class, and
``classes`` how many classes they contain. Electricity comes in time order, and is judged by the predictions made
before each row, by log loss alone.
"""

import warnings

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import log_loss

from sklearn_nag import NAGClassifier
from sklearn_nag.model_selection import progressive_validation

from .averages import electricity
from .data import BUNDLED, adult, bank_one_hot, census, covertype, parse, questions, reuters, shuttle, spam, w8a
from .options import load_each
from .passes import film


def few_yes(folder):
    """Return Bank, 11,600 rows, 3 % of them of the class "yes": every fourth of these."""
    X, y, regression = bank_one_hot(folder)
    rare = y == min(np.unique(y), key=lambda label: (y == label).sum())
    kept = np.flatnonzero(~rare | (np.cumsum(rare) % 4 == 0))
    kept = np.random.default_rng(0).permutation(kept)[:11_600]
    return X[kept], y[kept], regression


LOADED = {
    "Shuttle": shuttle,
    "Bank": bank_one_hot,
    "Bank, 3 % yes": few_yes,
    "Census": census,
    "Covertype": covertype,
    "Adult": adult,
    "w8a": w8a,
    "Reuters": reuters,
    "spam": spam,
    "questions": questions,
    "films": film(CountVectorizer()),
    "electricity": electricity,
}
LOSSES = ("log_loss", "hinge", "modified_huber", "perceptron")
MOST, BINS, SHORT, FEW = 40_000, 15, 8_400, 400


def calibration_error(p, is_right):
    """Return the expected calibration error of the most probable class."""
    top = p.max(axis=1)
    place = np.minimum((top * BINS).astype(int), BINS - 1)
    return sum(abs((top - is_right)[place == k].sum()) for k in range(BINS)) / len(top)


def judged(clf, X, y):
    """Return log loss and calibration error; NaN without probabilities."""
    if not hasattr(clf, "predict_proba"):
        return np.nan, np.nan
    p = clf.predict_proba(X)
    return log_loss(y, p, labels=clf.classes_), calibration_error(p, clf.classes_[p.argmax(axis=1)] == y)


def ways(loss, n_rows):
    """Yield the ways in which ``n_rows`` rows are learnt."""
    if loss in ("log_loss", "hinge") and n_rows < SHORT:
        yield "fit"
    yield "one pass"
    if loss == "log_loss" and n_rows > FEW:
        yield "few rows"


def in_order(name, X, y):
    """Return lines of the table for rows in time order."""
    lines = []
    for loss in LOSSES:
        line = {"data": name, "loss": loss, "way": "in order"}
        for calibration, key in ((None, "log loss"), ("progressive", "log loss, calibrated")):
            clf = NAGClassifier(loss, calibration=calibration)
            if calibration is not None or hasattr(clf, "predict_proba"):
                score = progressive_validation(clf, X, y, scoring="neg_log_loss").score
                line[key] = f"{-score:.4f}"
        print(*line.values(), flush=True)
        lines.append(line)
    return lines


def main():
    """Print the table."""
    args = parse(__doc__, "CSV file to write the table to", "bundled sets alone")
    warnings.simplefilter("ignore")
    sets = {name: load for name, load in BUNDLED.items() if name != "diabetes"}
    if args.data_dir is not None and not args.quick:
        sets = {**sets, **LOADED}
    print(f"{'':32s}{'log loss':>10s}{'with':>8s}{'error':>8s}{'with':>8s}{'sets':>8s}{'classes':>8s}", flush=True)
    lines = []
    for name, X, y, regression in load_each(sets, args.data_dir):
        if regression:
            continue
        rows = np.random.default_rng(0).permutation(len(y))[:MOST]
        if name == "electricity":
            lines += in_order(name, X, y)
            continue
        X, y = X[rows], y[rows]
        half, classes = int(0.7 * len(y)), np.unique(y)
        for loss in LOSSES:
            for way in ways(loss, half):
                found, learnt = [], slice(FEW if way == "few rows" else half)
                for calibration in (None, "progressive"):
                    clf = NAGClassifier(loss, calibration=calibration, random_state=0)
                    if way == "fit":
                        clf.fit(X[learnt], y[learnt])
                    else:
                        clf.partial_fit(X[learnt], y[learnt], classes=classes)
                    found += judged(clf, X[half:], y[half:])
                held = clf.predict_set(X[half:], 0.9)
                covered = held[np.arange(len(held)), np.searchsorted(classes, y[half:])].mean()
                numbers = (found[0], found[2], found[1], found[3], covered, held.sum(axis=1).mean())
                print(f"{name:14s}{loss:15s}{way:9s}" + "".join(f"{x:8.4f}" for x in numbers), flush=True)
                keys = ("log loss", "log loss, calibrated", "error", "error, calibrated", "sets hold", "classes")
                shown = {k: "" if np.isnan(x) else f"{x:.4f}" for k, x in zip(keys, numbers)}
                lines.append({"data": name, "loss": loss, "way": way, **shown})
    if args.output:
        pd.DataFrame(lines).to_csv(args.output, index=False)


if __name__ == "__main__":
    main()
