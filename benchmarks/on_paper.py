"""What shards would cost at a size that no machine here holds: arithmetic, from figures measured here.

Measured are the bytes that a model keeps for a feature, the time to learn a nonzero, and the time for a feature in a
merge of eight models. The rows are sparse, with words drawn by Zipf's law. The table is computed from these figures,
with the given disk and network: a pass by as many shards as workers, the first run of rows learnt by one model alone,
and after each round a tree of merges of width eight.

    python -m benchmarks.on_paper --output docs/results/on_paper.csv

A ``.txt`` file next to the CSV file says what was measured, when, where and with what.
"""

import math
import pickle
import time

import numpy as np
from scipy import sparse

from benchmarks.options import new_file, parser_of
from benchmarks.provenance import provenance, write_table
from sklearn_nag import NAGClassifier, merge
from sklearn_nag.distributed._rounds import FAN_IN

WORKERS = (1, 4, 16, 64, 256)


def words(n_rows, n_features, n_nonzeros, seed):
    """Return rows of words, few of which are frequent, and targets."""
    rng = np.random.default_rng(seed)
    columns = (n_features ** rng.random((n_rows, n_nonzeros))).astype(np.int32) % n_features
    columns.sort(axis=1)
    indptr = np.arange(0, n_rows * n_nonzeros + 1, n_nonzeros, dtype=np.int32)
    X = sparse.csr_array((np.ones(columns.size), columns.ravel(), indptr), shape=(n_rows, n_features))
    X.sum_duplicates()
    return X, np.asarray(X @ np.random.default_rng(0).normal(size=n_features) > 0).astype(int)


def measured(n_features, n_nonzeros):
    """Return the bytes of a model for a feature, the seconds to learn a nonzero, and to merge a feature of eight
    models.
    """
    X, y = words(20_000, n_features, n_nonzeros, 1)
    base = NAGClassifier().partial_fit(X[:1000], y[:1000], classes=[0, 1])
    size = len(pickle.dumps(base, protocol=5)) / n_features
    start, models = time.process_time(), []
    for i in range(FAN_IN):
        part = slice(1000 + i * 2000, 3000 + i * 2000)
        models.append(pickle.loads(pickle.dumps(base)).partial_fit(X[part], y[part]))
    learn = []
    for _ in range(3):
        model = pickle.loads(pickle.dumps(base))
        start = time.process_time()
        model.partial_fit(X, y)
        learn.append((time.process_time() - start) / X.nnz)
    merges = []
    for _ in range(3):
        start = time.process_time()
        merge(models, base)
        merges.append((time.process_time() - start) / n_features)
    return size, float(np.median(learn)), float(np.median(merges))


def lines(options, size, learn, merging):
    """Return the table: for each number of workers, what a round and a pass cost."""
    rows, features, nonzeros, rounds = options.rows, options.features, options.nonzeros, options.rounds
    model = size * features
    disk = rows * nonzeros * 12 / (options.disk * 1e9)  # a double and a 32-bit index
    out = [["workers", "MB into a worker, a round", "s a round", "s to learn", "s for a pass", "times as fast",
            "disks of this speed"]]  # fmt: skip
    one = rows * nonzeros * learn
    for n in WORKERS:
        levels = math.ceil(math.log(n, FAN_IN)) if n > 1 else 0
        received = min(n, FAN_IN) * model if n > 1 else 0.0
        a_round = levels * (received * 8 / (options.network * 1e9) + features * merging)
        learning = one if n == 1 else 2 * one / (n + 1)
        total = learning + (rounds * a_round if n > 1 else 0.0)
        out.append([str(n), f"{received / 1e6:.0f}", f"{a_round:.2g}", f"{learning:.0f}", f"{total:.0f}",
                    f"{one / total:.1f}", f"{disk / total:.2g}"])  # fmt: skip
    return out


def main():
    """Print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--rows", type=float, default=4e9, help="rows (%(default)g)")
    parser.add_argument("--features", type=float, default=1e6, help="features (%(default)g)")
    parser.add_argument("--nonzeros", type=float, default=100, help="nonzeros of a row (%(default)g)")
    parser.add_argument("--rounds", type=int, default=8, help="rounds (%(default)s)")
    parser.add_argument("--network", type=float, default=10, help="Gbit/s into a worker (%(default)g)")
    parser.add_argument("--disk", type=float, default=2, help="GB/s of a disk (%(default)g)")
    parser.add_argument("--output", type=new_file, help="CSV file for the table")
    options = parser.parse_args()
    size, learn, merging = measured(int(options.features), int(options.nonzeros))
    table = lines(options, size, learn, merging)
    said = (
        f"{options.rows:,.0f} rows of {options.features:,.0f} features and {options.nonzeros:g} nonzeros, "
        f"{options.rounds} rounds, {options.network:g} Gbit/s into each worker. Measured: {size:.0f} bytes a feature, "
        f"{learn * 1e9:.0f} ns a nonzero, {merging * 1e9:.0f} ns a feature in a merge of {FAN_IN} models. The rows are "
        f"{options.rows * options.nonzeros * 12 / 1e12:.1f} TB; a disk of {options.disk:g} GB/s reads them in "
        f"{options.rows * options.nonzeros * 12 / options.disk / 1e9:.0f} s. {provenance()}."
    )
    print(said)
    for line in table:
        print("  ".join(f"{cell:>{max(10, len(head))}}" for cell, head in zip(line, table[0])))
    if options.output:
        write_table(options.output, table, said)


if __name__ == "__main__":
    main()
