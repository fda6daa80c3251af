"""Speed compared with peers, as ratios in one run: the table of the README and of the documentation.

    python -m benchmarks.speed [--data-dir FOLDER] [--repeats 5] [--quick] [--record FILE.csv]

Each line is the median of the ratios over repeats in which the two take turns, so that a machine whose speed drifts
does not matter. Peers that are not installed (vowpalwabbit, river) and missing data are left out. "NAG" and "sNAG" are
the paper's; "defaults" also centre the features, average the weights, make importance-aware steps and learn the unit of
a target.
"""

import gc
import importlib.metadata
import importlib.util
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
from functools import partial
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_nag import (
    NAGClassifier,
    NAGRegressor,
    ScaleInvariantClassifier,
    config_context,
    get_config,
)

from .options import count, load_each, new_file, parser_of
from .provenance import processor, record

PAPER = {"normalization": "max", "centering": False, "importance_aware": False, "average": False, "eta0": 0.5}
HAVE = {name: importlib.util.find_spec(name) is not None for name in ("numba", "river", "vowpalwabbit")}


def seconds(run):
    """Return the wall time of a call."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def nag(**parameters):
    """Return the paper's NAG."""
    return NAGClassifier(**{**PAPER, "multi_class": "ovr", **parameters})


class Table:
    """A table that prints a line for each comparison."""

    def __init__(self, repeats):
        self.repeats, self.ratios, self.of = repeats, {}, ""
        print(f"{'work':66} {'own':>12} {'peer':>12} {'ratio':>7} {'bar':>6}")

    def line(self, work, own, peer, bar, unit=1.0, name="us"):
        """Time two calls in turn; the figures shown are divided by ``unit``."""
        own(), peer()
        pairs = np.array([[seconds(own), seconds(peer)] for _ in range(self.repeats)])
        ratio = np.median(pairs[:, 0] / pairs[:, 1])
        self.show(work, *(f"{t / unit * 1e6:.3f} {name}" for t in np.median(pairs, axis=0)), ratio, bar)

    def show(self, work, own, peer, ratio, bar):
        """Print a line, and keep its ratio."""
        if not work.startswith("  "):
            self.of = work
        self.ratios[work if work == self.of else f"{self.of}: {work.strip()}"] = ratio
        print(f"{work:66} {own:>12} {peer:>12} {ratio:7.3f} {bar:>6}", flush=True)


def dense_rows(n, d=54, classes=2, seed=0):
    """Return normal features, and classes by the largest of random linear functions."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X @ rng.normal(size=(d, classes))).argmax(axis=1)


def zipf_rows(n, d, nonzeros, seed=0):
    """Return CSR rows with about ``nonzeros`` entries in distinct columns, whose popularity follows Zipf's law."""
    rng = np.random.default_rng(seed)
    draws = np.exp(rng.random(int(n * nonzeros * 1.5)) * np.log(d)).astype(np.int64) - 1
    rows = np.repeat(np.arange(n), int(nonzeros * 1.5))[: len(draws)]
    X = sparse.csr_matrix((np.ones(len(draws)), (rows, draws[: len(rows)])), shape=(n, d))
    X.sum_duplicates()
    X.data[:] = rng.random(X.nnz)
    return X, (rng.random(n) < 0.3).astype(int)


def once(make, X, y, **arguments):
    """Return a call that makes an estimator and gives it the rows once."""
    return lambda: make().partial_fit(X, y, **arguments)


def passes(table, n):
    """Time one pass over many rows, against scikit-learn."""

    def log(**parameters):
        return SGDClassifier(loss="log_loss", **parameters)

    X, y = dense_rows(n)
    two = {"classes": [0, 1]}
    size = f"{n:,} x 54 dense"
    table.line(f"{size}, NAG, log loss / SGDClassifier", once(nag, X, y, **two), once(log, X, y, **two), 0.36, n)
    table.line("  the same with defaults", once(NAGClassifier, X, y, **two), once(log, X, y, **two), "", n)
    table.line('  the same with eta0="auto"', once(lambda: NAGClassifier(eta0="auto"), X, y, **two),
               once(log, X, y, **two), "", n)  # fmt: skip

    def scaled():
        scaler = StandardScaler().partial_fit(X)
        log().partial_fit(scaler.transform(X), y, **two)

    table.line(f"{size}, NAG / StandardScaler + SGDClassifier", once(nag, X, y, **two), scaled, 0.13, n)
    table.line("  the same with defaults", once(NAGClassifier, X, y, **two), scaled, "", n)
    X32 = X.astype(np.float32)
    table.line(f"{size}, NAG, float32 / own float64", once(nag, X32, y, **two), once(nag, X, y, **two), 0.95, n)
    target = X[:, 0] + 0.1 * X[:, 1]
    plain = {**PAPER, "target_normalization": None, "clip": None}
    table.line(f"{size}, NAG, squared error / SGDRegressor", once(lambda: NAGRegressor(**plain), X, target),
               once(SGDRegressor, X, target), 0.36, n)  # fmt: skip
    table.line("  the same with defaults", once(NAGRegressor, X, target), once(SGDRegressor, X, target), "", n)
    table.line(f"{size}, sNAG / SGDClassifier", once(lambda: nag(normalization="rms"), X, y, **two),
               once(log, X, y, **two), 0.6, n)  # fmt: skip
    X7, y7 = dense_rows(n, classes=7)
    seven = {"classes": range(7)}
    table.line(f"{size}, NAG, 7 classes / SGDClassifier", once(nag, X7, y7, **seven),
               once(lambda: log(n_jobs=1), X7, y7, **seven), 0.35, n)  # fmt: skip
    table.line("  the same with defaults (softmax)", once(NAGClassifier, X7, y7, **seven),
               once(lambda: log(n_jobs=1), X7, y7, **seven), "", n)  # fmt: skip
    S, s = zipf_rows(n // 2, 100_000, 72)
    table.line(f"CSR {n // 2:,} x 100,000, {S.nnz / S.shape[0]:.0f} nonzeros, Zipf, NAG / SGDClassifier",
               once(nag, S, s, **two), once(log, S, s, **two), 0.75, n // 2)  # fmt: skip
    table.line("  the same with defaults", once(NAGClassifier, S, s, **two), once(log, S, s, **two), "", n // 2)


def without_rate(table, n):
    """Time learners without a learning rate, against scikit-learn, and how full invariance grows with the features."""

    def sgd():
        return SGDClassifier(loss="log_loss")

    def make(**options):
        return lambda: ScaleInvariantClassifier(**options)

    two = {"classes": [0, 1]}
    dense, csr = dense_rows(n), zipf_rows(n // 2, 100_000, 72)
    for update in ("scinol2", "scinol1", "potential"):
        table.line(f"{n:,} x 54 dense, {update} / SGDClassifier", once(make(update=update), *dense, **two),
                   once(sgd, *dense, **two), "1.0", n)  # fmt: skip
        table.line("  the same, CSR as above", once(make(update=update), *csr, **two), once(sgd, *csr, **two), "1.5",
                   n // 2)  # fmt: skip
    for d in (50, 100, 200, 500, 1000):
        rows = max(2 * d, n * 1000 // (4 * d**2))  # more rows than columns, because the first ones fill the factor
        X, y = dense_rows(rows, d)
        table.line(f"full invariance, {rows:,} x {d} dense / SGDClassifier", once(make(invariance="full"), X, y, **two),
                   once(sgd, X, y, **two), "3 us" if d == 50 else "", rows)  # fmt: skip


def calls(table, n):
    """Time one row at a time."""
    X, y = dense_rows(n)
    two = {"classes": [0, 1]}
    ours, sgd = nag().partial_fit(X, y, **two), SGDClassifier(loss="log_loss").partial_fit(X, y, **two)

    def learn(model):
        return lambda: [model.partial_fit(X[i : i + 1], y[i : i + 1]) for i in range(n)]

    def predict(model):
        return lambda: [model.predict(X[i : i + 1]) for i in range(n)]

    def in_turn(model):
        return lambda: [model.partial_fit(X[i : i + 1], y[i : i + 1]).predict(X[i : i + 1]) for i in range(n)]

    table.line("one dense row per partial_fit / SGDClassifier", learn(ours), learn(sgd), 0.4, n)
    table.line("one dense row per predict / SGDClassifier", predict(ours), predict(sgd), 0.6, n)
    table.line("both in turn / SGDClassifier", in_turn(ours), in_turn(sgd), "", n)
    defaults = NAGClassifier().partial_fit(X, y, **two)
    table.line("  defaults", in_turn(defaults), in_turn(sgd), "", n)

    def stream(d):
        S, s = zipf_rows(n, d, 50)
        rows = [S[i] for i in range(n)]
        model = nag().partial_fit(S, s, **two)
        return lambda: [model.partial_fit(row, s[i : i + 1]) for i, row in enumerate(rows)]

    table.line("one CSR row of about 50 nonzeros, d = 2^22 / d = 2^10", stream(2**22), stream(2**10), 1.3, n)
    if HAVE["river"]:
        beside_river(table, n * 10)


def beside_river(table, n):
    """Time rows in batches, and one row at a time, against River, whose time grows with the features."""
    from river import linear_model, preprocessing

    def learner(scales):
        model = linear_model.LogisticRegression()
        return preprocessing.StandardScaler() | model if scales else model

    def line(work, d, length, n, bar="", scales=False):
        X, y = dense_rows(n, d)
        dicts = [dict(enumerate(row)) for row in X.tolist()]

        def river():
            model = learner(scales)
            for x, label in zip(dicts, y):
                model.learn_one(x, bool(label))

        def own():
            model = nag().partial_fit(X[:1], y[:1], classes=[0, 1])
            for i in range(0, n, length):
                model.partial_fit(X[i : i + length], y[i : i + length])

        table.line(work, own, river, bar, n)

    line("partial_fit of 100 rows / River learn_one in a loop", 54, 100, n, 0.15)
    for d in (5, 20, 54):
        line(f"  of 100 rows of {d} features", d, 100, n)
        line(f"  of 100 rows of {d} features / with its scaler", d, 100, n, scales=True)
        line(f"  of one row of {d} features", d, 1, n // 10)
        line(f"  of one row of {d} features / with its scaler", d, 1, n // 10, scales=True)


def threads(table, n):
    """Time two runs of fits in two threads, against one after the other, and the classes of one fit in two threads."""
    X, y = dense_rows(n)

    def fit():
        for _ in range(20):
            nag().partial_fit(X, y, classes=[0, 1])

    def together():
        workers = [threading.Thread(target=fit) for _ in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    fit()
    ratios = [2 * seconds(fit) / seconds(together) for _ in range(table.repeats)]
    table.show("two times 20 fits in two threads: throughput / that of one", "", "", np.median(ratios), ">= 1.8")
    for classes in (7, 32):
        X, y = dense_rows(n, classes=classes)
        two, one = (once(partial(nag, n_jobs=n_jobs), X, y, classes=range(classes)) for n_jobs in (2, 1))
        table.line(f"{n:,} x 54 dense, NAG, {classes} classes, n_jobs=2 / n_jobs=1", two, one, "", n)


def memory(table, megabytes):
    """Measure the peak memory of a call, as a share of the rows it is given."""
    n = megabytes * 2**20 // (8 * 128)
    X, y = np.zeros((n, 128)), np.zeros(n, dtype=np.intp)
    X[:, 0] = y[:] = np.arange(n) % 2
    S, s = zipf_rows(max(n // 2, 10), 100_000, 72)
    for name, rows, labels in [("dense", X, y), ("CSR", S, s.astype(np.intp))]:
        size = rows.nbytes if name == "dense" else rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes
        model = nag().partial_fit(rows[:10], labels[:10], classes=[0, 1])
        gc.collect()
        tracemalloc.start()
        model.partial_fit(rows, labels)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        table.show(f"peak memory of partial_fit, {size / 2**20:.0f} MB {name} / X", f"{peak / 2**20:.2f} MB", "",
                   peak / size, "0.01")  # fmt: skip


def imports(table):
    """Time importing the package, against scikit-learn's linear models, each in a new process."""

    def run(code, **environment):
        command = [sys.executable, "-c", code]
        return lambda: subprocess.run(command, check=True, env={**os.environ, **environment}, capture_output=True)

    table.line("import sklearn_nag / import sklearn.linear_model", run("import sklearn_nag"),
               run("import sklearn.linear_model"), 1.1, 1e6, "s")  # fmt: skip
    if HAVE["numba"]:
        code = (
            "import time, numpy as np, sklearn_nag; X = np.eye(9); y = [0, 1] * 4 + [0]; t = time.perf_counter();"
            "sklearn_nag.NAGClassifier().partial_fit(X, y, classes=[0, 1]); print(time.perf_counter() - t)"
        )
        with tempfile.TemporaryDirectory() as folder:
            first, *warm = (float(run(code, NUMBA_CACHE_DIR=folder)().stdout) for _ in range(1 + table.repeats))
        table.show("first call of a process, nothing compiled yet", f"{first:.2f} s", "", first, "8 s")
        table.show("first call of a process, compiled before", f"{np.median(warm):.2f} s", "", np.median(warm), "0.5 s")


def vowpal(table, X, y):
    """Time Covertype against Vowpal Wabbit: 7 classes, one pass, from its cache."""
    with tempfile.TemporaryDirectory() as temporary:
        text, cache = Path(temporary) / "rows", Path(temporary) / "cache"
        with text.open("w") as file:
            for label, row in zip(y, X):
                named = np.flatnonzero(row)
                file.write(f"{label} | " + " ".join(f"{i}:{row[i]:g}" for i in named) + "\n")

        def vw(*options):
            code = "import sys; from vowpalwabbit import pyvw; pyvw.Workspace(sys.argv[1]).finish()"
            arguments = f"--oaa 7 --loss_function logistic --quiet {' '.join(map(str, options))}"
            return lambda: subprocess.run([sys.executable, "-c", code, arguments], check=True)

        empty = Path(temporary) / "empty"
        empty.touch()
        from_cache = vw("-d", text, "--cache_file", cache)
        from_cache()  # writes the cache
        for name, rows in [("dense", X), ("CSR", sparse.csr_matrix(X))]:
            seven = {"classes": range(1, 8)}
            once(nag, rows[:99], y[:99], **seven)()
            calls = (once(nag, rows, y, **seven), from_cache, vw("-d", empty))
            own, theirs, start_up = np.transpose([[seconds(call) for call in calls] for _ in range(table.repeats)])
            theirs = theirs - start_up
            table.show(f"Covertype, 581,012 x 54 {name}, 7 classes / Vowpal Wabbit", f"{np.median(own):.2f} s",
                       f"{np.median(theirs):.2f} s", np.median(own / theirs), "0.5")  # fmt: skip


def to_accuracy(table, name, X, y):
    """Take the wall time of learning until the test accuracy is that of `fit` of StandardScaler and SGDClassifier."""
    rows = train_test_split(X, y, test_size=0.3, random_state=0)
    once(NAGClassifier, X[:99], y[:99], classes=np.unique(y))()
    peer = make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss"))
    ratios, own, theirs = np.median([race(peer, *rows, seed) for seed in range(table.repeats)], axis=0)
    table.show(f"{name}, to the test accuracy of StandardScaler + SGDClassifier.fit", f"{own:.3f} s",
               f"{theirs:.2f} s", ratios, "0.2")  # fmt: skip


def in_folder(table, folder):
    """Print the figures of the sets in a folder."""
    from .data import census, covertype  # needs pandas

    for name, X, y, _ in load_each({"Covertype": covertype, "Census": census}, folder):
        to_accuracy(table, name, X, y)
        if name == "Covertype" and HAVE["vowpalwabbit"]:
            vowpal(table, X, y)


def race(peer, X, X_test, y, y_test, seed, passes=5):
    """Return the ratio, own time and the peer's; own rows are shuffled, ten batches to a pass, and scoring is not
    counted.

    The ratio is infinite if that many passes do not reach the test accuracy of the peer.
    """
    peer = clone(peer).set_params(**{name: seed for name in peer.get_params() if name.endswith("random_state")})
    theirs = seconds(lambda: peer.fit(X, y))
    goal, classes = peer.score(X_test, y_test), np.unique(y)
    model, own = NAGClassifier(), 0.0
    for batch in passes * np.array_split(np.random.default_rng(seed).permutation(len(y)), 10):
        start = time.perf_counter()
        model.partial_fit(X[batch], y[batch], classes=classes)
        own += time.perf_counter() - start
        if model.score(X_test, y_test) >= goal:
            return own / theirs, own, theirs
    return np.inf, np.inf, theirs


def numpy_kernel(table, n):
    """Time the NumPy kernel, which runs if Numba is missing."""
    for heads in (1, 32):
        X, y = dense_rows(n, classes=2 if heads == 1 else heads)
        some = {"classes": np.unique(y)}
        with config_context(kernel="numpy"):
            table.line(f"NumPy kernel, {n:,} x 54 dense, {heads} heads, per head / SGDClassifier",
                       once(nag, X, y, **some), once(lambda: SGDClassifier(loss="log_loss"), X, y, **some),
                       "", n * heads)  # fmt: skip


def main():
    """Print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--data-dir", type=Path, help="folder with Covertype and Census, as benchmarks.data names them")
    parser.add_argument("--repeats", type=count, default=5, help="turns (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="small sizes: that it runs, not what it finds")
    parser.add_argument("--record", type=new_file, help="CSV file to append the ratios to")
    options = parser.parse_args()
    packages = ["scikit-learn", "numpy", *(name for name, have in HAVE.items() if have)]
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    print(f"sklearn_nag with kernel {get_config()['kernel']}; Python {platform.python_version()}; {processor()}\n"
          f"{versions}\nmedians of {options.repeats}")  # fmt: skip
    table = Table(options.repeats)
    n = 2_000 if options.quick else 100_000
    passes(table, n)
    without_rate(table, n)
    calls(table, 100 if options.quick else 1_000)
    threads(table, n)
    memory(table, 1 if options.quick else 1_024)
    imports(table)
    numpy_kernel(table, 200 if options.quick else 20_000)
    if options.data_dir is not None:
        in_folder(table, options.data_dir)
    if options.record is not None:
        record(options.record, table.ratios)


if __name__ == "__main__":
    main()
