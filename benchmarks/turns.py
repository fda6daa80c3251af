"""Time compared with another checkout, in turns: what a change costs, or saves.

    python -m benchmarks.turns --against FOLDER [--repeats 9] [--most 1.15] [--quick]

Each checkout has a process of its own, which does one piece of work whenever it is told to; the two take turns, piece
by piece. Ratios are medians of processor time, this checkout's divided by the other's. With ``--most``, a larger ratio
is an error. Work uses only the public interface, so that the other checkout may be an old one; what it does not have is
left out.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
from scipy import sparse

PRINTED = {"normalization": "max", "centering": False, "importance_aware": False, "average": False, "eta0": 0.5}


def dense(n, d, n_classes=2):
    """Return normal features in very different units, and classes by the largest of random linear functions."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X * 10.0 ** rng.integers(-3, 4, d), (X @ rng.normal(size=(d, n_classes))).argmax(axis=1)


def words(n, d, length, n_classes=2):
    """Return CSR rows of words that follow a power law, sorted, and classes."""
    rng = np.random.default_rng(0)
    columns = np.minimum(np.exp(rng.random(n * length) * np.log(d)).astype(np.int64) - 1, d - 1)
    X = sparse.csr_matrix((rng.random(n * length), columns, np.arange(0, n * length + 1, length)), shape=(n, d))
    X.sum_duplicates()
    return X, rng.integers(n_classes, size=n)


def works(size):
    """Yield calls by name, each of which learns, or predicts, what was made for it; ``size`` scales how much."""
    import sklearn_nag as nag

    def learn(X, y, name, **parameters):
        classes = {"classes": np.unique(y)} if y.dtype.kind == "i" else {}
        return lambda: getattr(nag, name)(**parameters).partial_fit(X, y, **classes)

    def fit(X, y, **parameters):
        return lambda: nag.NAGClassifier(max_iter=2, tol=None, **parameters).fit(X, y)

    def one_by_one(call, n):
        return lambda: [call(i) for i in range(n)]

    rows, narrow, seven = dense(20_000 * size, 54), dense(40_000 * size, 8), dense(10_000 * size, 54, 7)
    target = rows[0][:, 0] + rows[0][:, 1]
    text, many = words(2_000 * size, 45_000, 200), words(1_000 * size, 45_000, 100, 20)
    X, y = rows
    model = nag.NAGClassifier().partial_fit(X[:50], y[:50], classes=[0, 1])
    yield "54 dense columns, as printed", learn(*rows, "NAGClassifier", **PRINTED)
    yield "54 dense columns", learn(*rows, "NAGClassifier")
    yield "8 dense columns", learn(*narrow, "NAGClassifier")
    yield "54 dense columns, 7 classes", learn(*seven, "NAGClassifier")
    yield "16 dense columns, 26 classes", learn(*dense(10_000 * size, 16, 26), "NAGClassifier")
    yield "54 dense columns, regression", learn(X, target, "NAGRegressor")
    yield '54 dense columns, eta0="auto"', learn(X[::4], y[::4], "NAGClassifier", eta0="auto")
    yield "54 dense columns, no learning rate", learn(*rows, "ScaleInvariantClassifier")
    yield "54 dense columns, two passes of fit in random order", fit(*rows)
    yield "8 dense columns, the same as printed", fit(*narrow, **PRINTED)
    yield "54 dense columns, full invariance", learn(X[::8], y[::8], "ScaleInvariantClassifier", invariance="full")
    yield "200 words, as printed", learn(*text, "NAGClassifier", **PRINTED)
    yield "200 words", learn(*text, "NAGClassifier")
    yield "200 words, two passes of fit", fit(*text)
    yield "20 words, the same as printed", fit(*words(20_000 * size, 45_000, 20), **PRINTED)
    yield "100 words, 20 classes", learn(*many, "NAGClassifier")
    yield "200 words, no learning rate", learn(*text, "ScaleInvariantClassifier")
    yield (
        "one dense row by partial_fit",
        one_by_one(lambda i: model.partial_fit(X[i : i + 1], y[i : i + 1]), 500 * size),
    )
    yield "one dense row by predict", one_by_one(lambda i: model.predict(X[i : i + 1]), 1_000 * size)


def with_package(word):
    """Return a folder, such as a checkout, that has the package."""
    folder = Path(word).resolve()
    if not (folder / "sklearn_nag" / "__init__.py").exists():
        raise argparse.ArgumentTypeError(f"there is no package sklearn_nag in {folder}")
    return folder


def serve(size):
    """Do the work named by each line of standard input, and answer with its seconds."""
    by_name = {}
    for name, call in works(size):
        with suppress(AttributeError, TypeError, ValueError):  # what is not there yet
            call()  # compiles
            by_name[name] = call
    print(json.dumps(list(by_name)), flush=True)
    for line in sys.stdin:
        start = time.process_time()
        by_name[line.strip()]()
        print(time.process_time() - start, flush=True)


class Checkout:
    """A process that imports the package from a folder, and does one piece of work at a time."""

    def __init__(self, folder, size):
        # One thread of BLAS, because other threads would be charged for spinning while they wait.
        environment = {**os.environ, "PYTHONPATH": str(folder), "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, __file__, "--serve", str(size)]
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def answer(self):
        """Return what the process says next."""
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"a process has ended with {self.process.wait()}")
        return line.strip()

    def seconds(self, name):
        """Return the processor time of one piece of work."""
        print(name, file=self.process.stdin, flush=True)
        return float(self.answer())


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=with_package, help="folder of the other checkout")
    parser.add_argument("--repeats", type=int, default=9, help="turns (%(default)s)")
    parser.add_argument("--most", type=float, default=float("inf"), help="the largest ratio that is no error")
    parser.add_argument("--quick", action="store_true", help="small sizes: that it runs, not what it finds")
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.serve)
    if options.against is None:
        parser.error("--against names the folder of another checkout")
    size, slow = 1 if options.quick else 5, []
    ours, theirs = (Checkout(folder, size) for folder in (Path(__file__).resolve().parents[1], options.against))
    names, there = json.loads(ours.answer()), json.loads(theirs.answer())
    for name in filter(there.__contains__, names):
        turns = [(ours.seconds(name), theirs.seconds(name)) for _ in range(options.repeats)]
        ratio = statistics.median(own / other for own, other in turns)
        own, other = (statistics.median(times) * 1e3 for times in zip(*turns))
        print(f"{name:38} {own:9.2f} ms {other:9.2f} ms {ratio:7.3f}", flush=True)
        slow += [name] * (ratio > options.most)
    for checkout in (ours, theirs):
        checkout.process.stdin.close()
        checkout.process.wait()
    if slow:
        raise SystemExit(f"more than {options.most} times as slow: {', '.join(slow)}")
    return None


if __name__ == "__main__":
    main()
