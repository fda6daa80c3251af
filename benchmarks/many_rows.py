"""Lines, and a mixture of lines, products, curves and cells, in one pass over large sets, compared with boosted trees.

    python -m benchmarks.many_rows [--data-dir FOLDER] [--output FOLDER] [--quick]

Writes ``many_rows.csv`` to ``--output``. A quarter of the rows is held out, and 40,000 of these at most are predicted.
The others are all learnt in batches of 10,000, in random order or, if the name says so, in that of the file. ``score``
is accuracy or R^2, ``s`` are seconds of processor time, and ``cells`` are the generations of cells that the mixture has
at the end. ``two`` is the mixture that gets no finer cells than at first because of ``max_columns``, and ``iterations``
are those of boosted trees, at most 100. Set OMP_NUM_THREADS=1, because waiting threads of boosted trees count, too.
Without ``--data-dir``, there is only Friedman's function.
"""

import time
import warnings

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.metrics import log_loss

from .beyond_lines import friedman, learners
from .data import census, covertype, parse
from .options import load_each

BATCH = 10_000
MOST_HELD_OUT = 40_000
TWO_GENERATIONS = 300 * 255  # cells of the first trees
SETS = {
    "Friedman": lambda folder: (*friedman(200_000), True),
    "Friedman, 30 columns": lambda folder: (*friedman(200_000, 30), True),
}
FILES = {"Census": census, "Covertype": covertype, "Covertype, in order": covertype}


def learn(learner, X, y, classes):
    """Learn the rows; return the seconds of processor time."""
    start = time.process_time()
    if hasattr(learner, "partial_fit"):
        options = {} if classes is None else {"classes": classes}
        for i in range(0, len(y), BATCH):
            learner.partial_fit(X[i : i + BATCH], y[i : i + BATCH], **options)
    else:
        learner.fit(X, y)
    return time.process_time() - start


def measure(X, y, is_regression, in_order):
    """Return scores, log losses and seconds of each learner, by the names of columns."""
    rows = np.random.default_rng(0).permutation(len(y))
    held_out, learnt = np.split(rows, [len(rows) // 4])
    held_out, learnt = held_out[:MOST_HELD_OUT], np.sort(learnt) if in_order else learnt
    classes = None if is_regression else np.unique(y)
    found = {"rows": len(learnt), "columns": X.shape[1], "score": "R2" if is_regression else "accuracy"}
    tried = learners(is_regression, 0)
    tried["two"] = clone(tried["mixed"]).set_params(max_columns=TWO_GENERATIONS)
    for name in ("lines", "two", "mixed", "boosted"):
        learner = tried[name]
        seconds = learn(learner, X[learnt], y[learnt], classes)
        found[name] = round(learner.score(X[held_out], y[held_out]), 4)
        if not is_regression:
            loss = log_loss(y[held_out], learner.predict_proba(X[held_out]), labels=classes)
            found[f"{name} log loss"] = round(loss, 4)
        found[f"{name} s"] = round(seconds, 1)
        if name == "boosted":
            found["iterations"] = learner.n_iter_
        if name == "mixed":
            found["cells"] = ", ".join(
                name for name in learner.named_estimators_ if name in ("cells", "focused", "refocused", "finer", "late")
            )
    return found


def main():
    """Print the table."""
    options = parse(__doc__, "folder to write the CSV file to", "Friedman's function, 5,000 rows: that it runs")
    warnings.simplefilter("ignore")
    sets = SETS if options.data_dir is None or options.quick else {**SETS, **FILES}
    for is_regression in (True, False):  # so that nothing is compiled while times are taken
        X, y = friedman(3000)
        measure(X, y if is_regression else (y > 14).astype(int), is_regression, False)
    table = []
    for name, X, y, is_regression in load_each(sets, options.data_dir):
        some = slice(5000 if options.quick else None)
        table.append({"data": name, **measure(X[some], y[some], is_regression, name.endswith("in order"))})
        print(" ".join(f"{key} {value}" for key, value in table[-1].items()), flush=True)
    order = ["data", "rows", "columns", "score", *(f"{name}{kind}" for kind in ("", " log loss", " s")
             for name in ("lines", "two", "mixed", "boosted")), "iterations", "cells"]  # fmt: skip
    table = pd.DataFrame(table).reindex(columns=order).dropna(axis=1, how="all")
    print(f"\n{table.to_string(index=False)}")
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        table.to_csv(options.output / "many_rows.csv", index=False)


if __name__ == "__main__":
    main()
