"""Memory, and time per row, by the number of classes, on hashed words in 2^20 columns.

    python -m benchmarks.many_classes [--output FILE.csv] [--quick]

Each row names 20 of 1,000 words, which a hasher has put anywhere in 2^20 columns. So with 1,000 classes, a model has
10^6 weights that are not 0. Rows come in batches of 500. Each line is a process of its own: ``MB`` is the largest
growth of its memory when all rows have been learnt, and when they have been predicted as well (two rows load compiled
code before; needs Linux). Microseconds per row are of processor time, the least of all batches; ``ns a class`` are
those of learning, divided by the number of classes.

Every learner of this package has to stay below two bars, or the script ends with an error: 200 MB with 1,000 classes,
and no more time for a class than with 10 classes.
"""

import argparse
import csv
import gc
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier

from sklearn_nag import FTRLClassifier, NAGClassifier, ScaleInvariantClassifier

from .data import parse
from .options import megabytes
from .provenance import write_table

COLUMNS, WORDS, ENTRIES, BATCH = 2**20, 1000, 20, 500
MOST_MB, MOST_GROWTH = 200, 1.0
MODELS = {
    "NAGClassifier": NAGClassifier(),
    'NAGClassifier, multi_class="ovr"': NAGClassifier(multi_class="ovr"),
    "FTRLClassifier": FTRLClassifier(),
    "ScaleInvariantClassifier": ScaleInvariantClassifier(),
}
PEERS = {"SGDClassifier": SGDClassifier("log_loss", random_state=0)}  # its coef_ of 1,000 classes has 8 GB
HEADER = [
    "learner", "classes", "nonzero weights", "MB learning", "MB predicting", "us a row", "ns a class", "us predicting",
]  # fmt: skip


def rows_of(n_rows, n_classes):
    """Return rows and their classes."""
    rng = np.random.default_rng(0)
    words = np.sort(rng.choice(COLUMNS, WORDS, replace=False)).astype(np.int32)
    named = np.concatenate([np.sort(rng.choice(words, ENTRIES, replace=False)) for _ in range(n_rows)])
    ends = np.arange(0, ENTRIES * n_rows + 1, ENTRIES, dtype=np.int32)
    return sparse.csr_matrix((np.ones(len(named)), named, ends), (n_rows, COLUMNS)), rng.integers(0, n_classes, n_rows)


def forget_peak():
    """Reset the peak memory of this process to its current memory; needs Linux."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def timed(call):
    """Return the seconds of processor time of a call."""
    start = time.process_time()
    call()
    return time.process_time() - start


def measure(name, n_classes, n_rows):
    """Return nonzero weights, megabytes after learning and after predicting, and seconds per row of both."""
    model, classes = (MODELS | PEERS)[name], np.arange(n_classes)
    X, y = rows_of(n_rows, n_classes)
    if name in MODELS:
        clone(model).partial_fit(X[:2], y[:2], classes=classes).predict(X[:2])
    forget_peak()
    before = megabytes()
    batches = [slice(start, start + BATCH) for start in range(0, n_rows, BATCH)]
    learning = [timed(lambda b=b: model.partial_fit(X[b], y[b], classes=classes)) for b in batches]
    learnt = megabytes() - before
    predicting = [timed(lambda b=b: model.predict(X[b])) for b in batches]
    mb, nonzero = [learnt, megabytes() - before], np.count_nonzero(getattr(model.coef_, "data", model.coef_))
    return [nonzero, *mb, min(learning) / BATCH, min(predicting) / BATCH]


def in_process(*arguments):
    """Return what `measure` returns in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.many_classes", "--measure", json.dumps(arguments)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main():
    options = parse(__doc__, "CSV file to write the table to", "fewer rows and classes, and no bars")
    numbers, n_rows = ((10, 30), 2 * BATCH) if options.quick else ((10, 100, 1000), 8 * BATCH)
    lines, wrong, table = [HEADER], [], csv.writer(sys.stdout)
    table.writerow(HEADER)
    for name in [*PEERS, *MODELS]:
        per_class = {}
        for n_classes in numbers:
            if name in PEERS and n_classes > 100:
                lines.append([name, n_classes, *["-"] * 6])
                continue
            found, learnt, predicted, learning, predicting = in_process(name, n_classes, n_rows)
            per_class[n_classes] = 1e9 * learning / n_classes
            lines.append([
                name, n_classes, round(found), round(learnt), round(predicted), f"{1e6 * learning:.0f}",
                f"{per_class[n_classes]:.0f}", f"{1e6 * predicting:.0f}",
            ])  # fmt: skip
            table.writerow(lines[-1])
        if name in MODELS and max(learnt, predicted) > MOST_MB:
            wrong.append(f"{name} with {n_classes} classes takes {max(learnt, predicted):.0f} MB.")
        if name in MODELS and per_class[numbers[-1]] > MOST_GROWTH * per_class[numbers[0]]:
            wrong.append(f"{name} takes more time for a class with {numbers[-1]} classes than with {numbers[0]}.")
    if options.output is not None:
        write_table(options.output, lines)
    if wrong and not options.quick:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    if "--measure" in sys.argv:
        parser = argparse.ArgumentParser()
        parser.add_argument("--measure", type=json.loads)
        print(json.dumps(list(map(float, measure(*parser.parse_args().measure)))))
    else:
        main()
