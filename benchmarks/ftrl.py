"""FTRL-Proximal compared with its peers: the time per row, and loss against the number of non-zero weights.

    python -m benchmarks.ftrl [--data-dir FOLDER] [--output FOLDER] [--quick]

First, the script takes times per row in one pass, as medians of ratios of turns: against SGDClassifier with an L1
penalty, River's FTRLProximal and Vowpal Wabbit's ``--ftrl``, if these are installed. Then it takes the sets in the
folder (Reuters, w8a, and Census with every column's value as a word hashed to 2^20 columns). Learners make one pass
over seven tenths of the rows, for strengths of L1 from hardly any to one that leaves a handful of weights, and the log
loss on the rest is printed. They are FTRLClassifier with its defaults, with ``normalization="auto", eta0=3, beta=0.05``
(``few``), with the best of four rates, and as printed; and SGDClassifier with the best of its seven schedules for each
number of weights, from as many models as four rates give.
"""

import gc
import gzip
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from sklearn_nag import FTRLClassifier, datasets

from .data import reuters
from .options import file_in, load_each, new_folder, parser_of
from .speed import HAVE, Table, dense_rows, once, seconds, zipf_rows

HASHED_TO = 2**20
LEVELS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)
SCHEDULES = [
    {"learning_rate": "optimal"},
    *({"learning_rate": "constant", "eta0": eta0} for eta0 in (0.01, 0.1, 1.0)),
    *({"learning_rate": "invscaling", "eta0": eta0, "power_t": 0.5} for eta0 in (0.1, 1.0, 10.0)),
]


def w8a(folder):
    """Web pages, 49,749 x 300, 2 classes, as CSR."""
    with gzip.open(file_in(folder, "w8a.libsvm.gz")) as file:
        X, y = load_svmlight_file(file, n_features=300)
    return X.tocsr(), y.astype(int)


def hashed_census(folder):
    """Return Census-Income, 199,523 x 2^20: a column for each value of each of the 40 columns, by its hash."""
    bunch = datasets.fetch_census(data_home=folder, download_if_missing=False)
    rows = pd.DataFrame(bunch.data)
    words = [pd.util.hash_array((f"{name}=" + rows[name].astype(str)).to_numpy(object)) for name in rows]
    columns = np.stack([word % HASHED_TO for word in words], axis=1).astype(np.int32)
    n, d = columns.shape
    X = sparse.csr_matrix((np.ones(n * d), columns.ravel(), np.arange(0, n * d + 1, d)), shape=(n, HASHED_TO))
    X.sum_duplicates()
    return X, bunch.target


SETS = {
    "Reuters": lambda folder: reuters(folder)[:2],
    "w8a": w8a,
    "Census, hashed": hashed_census,
}


class Ratios(Table):
    """A table that keeps its ratios."""

    def __init__(self, repeats):
        super().__init__(repeats)
        self.lines = []

    def show(self, work, own, peer, ratio, bar):
        """Print a line, and keep it."""
        super().show(work, own, peer, ratio, bar)
        self.lines.append({"work": work.strip(), "ratio": float(ratio), "bar": bar})


def ftrl(**parameters):
    """Return a new model of this package."""
    return FTRLClassifier(**{"l1": 1.0, **parameters})


def sgd(**parameters):
    """Return a new model of scikit-learn."""
    return SGDClassifier(loss="log_loss", penalty="l1", random_state=0, **parameters)


def river_pass(X, y):
    """Return a call in which River learns the rows, as dicts made beforehand."""
    from river import linear_model, optim

    if sparse.issparse(X):
        ends = zip(X.indptr, X.indptr[1:])
        rows = [dict(zip(X.indices[a:b].tolist(), X.data[a:b].tolist())) for a, b in ends]
    else:
        rows = [dict(enumerate(row)) for row in X.tolist()]
    labels = [bool(label) for label in y]

    def run():
        model = linear_model.LogisticRegression(optimizer=optim.FTRLProximal(l1=1.0))
        for row, label in zip(rows, labels):
            model.learn_one(row, label)

    return run


def beside_vowpal_wabbit(own, X, y, repeats):
    """Return medians over turns of the time of ``own``, of Vowpal Wabbit's minus that of starting it, and of their
    ratio.

    Vowpal Wabbit learns the rows from its cache.
    """
    rows = sparse.csr_matrix(X)
    with tempfile.TemporaryDirectory() as temporary:
        text, cache, empty = (Path(temporary) / name for name in ("rows", "cache", "empty"))
        empty.touch()
        with text.open("w") as file:
            for label, start, stop in zip(y, rows.indptr, rows.indptr[1:]):
                words = zip(rows.indices[start:stop], rows.data[start:stop])
                file.write(f"{1 if label else -1} | " + " ".join(f"{j}:{value:.6g}" for j, value in words) + "\n")

        def vw(*options):
            code = "import sys; from vowpalwabbit import pyvw; pyvw.Workspace(sys.argv[1]).finish()"
            arguments = f"--ftrl --loss_function logistic --l1 1 -b 18 --quiet {' '.join(map(str, options))}"
            subprocess.run([sys.executable, "-c", code, arguments], check=True)

        learn = partial(vw, "-d", text, "--cache_file", cache)
        learn()  # writes the cache
        own()
        turns = [[seconds(own), seconds(learn) - seconds(partial(vw, "-d", empty))] for _ in range(repeats)]
    return np.median([(a, b, a / b) for a, b in turns], axis=0)


def agreement():
    """Print the largest difference to River's optimiser, with and without an update of its weights before a row."""
    from river import optim

    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 12)) * (rng.random((2000, 12)) < 0.5)
    y = (X @ rng.normal(size=12) + rng.normal(size=2000) > 0).astype(int)
    own = FTRLClassifier(normalization=None, fit_intercept=False, eta0=0.1, beta=1.0, l1=1.0, l2=0.5)
    played, label = [], {"classes": [0, 1]}
    for i in range(len(X)):
        played.append(own.decision_function(X[i : i + 1])[0] if i else 0.0)
        own.partial_fit(X[i : i + 1], y[i : i + 1], **label)
    for title, fresh in (("brought up to date", True), ("as they are", False)):
        optimizer, w, farthest = optim.FTRLProximal(alpha=0.1, beta=1.0, l1=1.0, l2=0.5), {}, 0.0
        for x, target, p in zip(X, y, played):
            named = np.flatnonzero(x)
            if fresh:
                w.update(dict.fromkeys(named, 0.0))
                w = optimizer.step(w, dict.fromkeys(named, 0.0))
            theirs = sum(w.get(j, 0.0) * x[j] for j in named)
            farthest = max(farthest, abs(theirs - p))
            slope = 1.0 / (1.0 + np.exp(-theirs)) - target
            w = optimizer.step(w, {j: slope * x[j] for j in named})
        print(f"normalization=None, largest difference to River's predictions, with weights {title}: {farthest:.1e}")


def times(table, quick):
    """Take times per row, on dense rows and CSR."""
    n, few = (20_000, 500) if quick else (100_000, 3_000)
    for name, (X, y) in {
        "dense 54": dense_rows(n),
        "CSR, 90 nonzeros of 100,000": zipf_rows(n // 2, 100_000, 72),
    }.items():
        rows, classes = X.shape[0], {"classes": [0, 1]}
        own, peer = once(ftrl, X, y, **classes), once(sgd, X, y, **classes)
        table.line(f"{name}, SGDClassifier with L1", own, peer, 0.8, rows)
        table.line(
            f'{name}, normalization="auto"', once(lambda: ftrl(normalization="auto"), X, y, **classes), peer, "", rows
        )
        table.line(f"{name}, as printed", once(lambda: ftrl(normalization=None), X, y, **classes), peer, "", rows)
        own = once(ftrl, X[:few], y[:few], **classes)
        if HAVE["river"]:
            table.line(f"{name}, River", own, river_pass(X[:few], y[:few]), 0.1, few)
        if HAVE["vowpalwabbit"]:
            *pair, ratio = beside_vowpal_wabbit(once(ftrl, X, y, **classes), X, y, table.repeats)
            table.show(f"{name}, Vowpal Wabbit from its cache", *(f"{t / rows * 1e6:.3f} us" for t in pair), ratio, 1.0)
    indices = np.random.default_rng(0).integers(0, 2**24, (1, 20))
    row = sparse.csr_matrix((np.ones(20), np.sort(indices[0]), [0, 20]), shape=(1, 2**24))
    small = sparse.csr_matrix((np.ones(20), np.arange(20), [0, 20]), shape=(1, 2**10))
    models = [ftrl().partial_fit(rows, [1], classes=[0, 1]) for rows in (row, small)]
    table.line("one CSR row, 16,777,216 columns / 1,024", lambda: [models[0].partial_fit(row, [1]) for _ in range(200)],
               lambda: [models[1].partial_fit(small, [1]) for _ in range(200)], "", 200)  # fmt: skip


def curve(makers, X, y):
    """Return the number of non-zero weights and the loss on the test rows, for each model, after one pass."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
    points = []
    for make in makers:
        model = make().partial_fit(X_train, y_train, classes=np.unique(y))
        points.append((np.count_nonzero(model.coef_), log_loss(y_test, model.predict_proba(X_test))))
    return points


def best_within(points, level):
    """Return the least loss with at most ``level`` weights, or NaN."""
    return min((loss for count, loss in points if count <= level), default=np.nan)


def sparsity(folder, quick):
    """Print and return the loss at each number of weights."""
    per_octave = 1 if quick else 4
    l1s, alphas = 0.03 * 2.0 ** np.arange(0, 17, 1 / per_octave), 1e-7 * 2.0 ** np.arange(0, 20, 2 / per_octave)
    table = []
    for name, X, y in load_each(SETS, folder):
        own = {eta0: curve([partial(ftrl, l1=l1, eta0=eta0) for l1 in l1s], X, y) for eta0 in (1.0, 2.0, 4.0, 8.0)}
        own_best = [point for points in own.values() for point in points]
        few = curve([partial(ftrl, l1=l1, normalization="auto", eta0=3.0, beta=0.05) for l1 in l1s], X, y)
        printed = curve([partial(ftrl, l1=l1, normalization=None, eta0=1.0) for l1 in l1s], X, y)
        peers = [partial(sgd, alpha=alpha, **schedule) for schedule in SCHEDULES for alpha in alphas]
        peer = curve(peers, X, y)
        curves = {"FTRL": own[2.0], "few": few, "best rate": own_best, "printed": printed, "SGD L1": peer}
        print(f"\n{name}, {X.shape[0]:,} x {X.shape[1]:,}: test log loss, at most so many weights not zero")
        print(f"{'weights':>10} " + " ".join(f"{title:>10}" for title in curves))
        for level in LEVELS:
            if level < 2 * X.shape[1]:
                losses = {title: best_within(points, level) for title, points in curves.items()}
                print(f"{level:10,} " + " ".join(f"{loss:10.4f}" for loss in losses.values()), flush=True)
                table.append({"data": name, "weights": level, **losses})
        gc.collect()
    return pd.DataFrame(table)


def main():
    """Print both tables."""
    parser = parser_of(__doc__)
    parser.add_argument("--data-dir", type=Path, help="folder with Reuters, Census and w8a.libsvm.gz")
    parser.add_argument("--output", type=new_folder, help="folder to write ftrl_times.csv and ftrl_sparsity.csv to")
    parser.add_argument("--quick", action="store_true", help="fewer rows and strengths")
    options = parser.parse_args()
    if HAVE["river"]:
        agreement()
    table = Ratios(3 if options.quick else 5)
    times(table, options.quick)
    tables = {"ftrl_times": pd.DataFrame(table.lines)}
    if options.data_dir is not None:
        tables["ftrl_sparsity"] = sparsity(options.data_dir, options.quick)
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        for name, frame in tables.items():
            frame.to_csv(options.output / f"{name}.csv", index=False, float_format="%.4f")


if __name__ == "__main__":
    main()
