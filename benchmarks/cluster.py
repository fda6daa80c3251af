"""Throughput of two processes on a local Dask cluster, compared with one process, and bits after workers are killed.

Rows (normal features, whose noisy sign is the target) are made in the tasks that learn them, by the same function in
both settings, in batches that stay in a processor's cache. One process learns all of them as one model. So the
comparison shows all that a cluster adds: copies of models, messages, merges, and the first run of rows, which is learnt
while the others wait. On a machine with other work, look at processor time instead: of each worker, and of the one
process. Processes are warm: all have learnt some rows before. ``--kills`` sets how many more runs to make, in each of
which a worker is killed at some time, and compares bits.

Dask sets ``MALLOC_TRIM_THRESHOLD_`` so that its workers return memory at once. Then the arrays of every task are new
pages, which the operating system has to clear. Here workers keep up to 1 GB; ``--as-dask-has-it`` leaves that to Dask.

    python -m benchmarks.cluster --rows 20000000
    python -m benchmarks.cluster --rows 2000000 --kills 5
"""

import os
import signal
import threading
import time
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from sklearn_nag import NAGClassifier
from sklearn_nag.dask import fit

from .options import parser_of

COLUMNS, CLASSES = 50, [0, 1]
KEEP = {"MALLOC_TRIM_THRESHOLD_": 2**30, "MALLOC_MMAP_THRESHOLD_": 2**30}  # bytes; only glibc reads these


@dataclass
class Part:
    """Rows of a partition, made batch by batch while it is iterated."""

    number: int
    size: int
    batch: int

    def __iter__(self):
        rng, units = np.random.default_rng([0, self.number]), np.logspace(-3, 3, COLUMNS)
        weights = np.random.default_rng(1).normal(size=COLUMNS) / units
        for start in range(0, self.size, self.batch):
            n = min(self.batch, self.size - start)
            X = rng.normal(size=(n, COLUMNS)) * units
            yield X, (X @ weights + 3 * rng.normal(size=n) > 0).astype(np.int64)


def alone(n_parts, size, batch):
    """Learn all parts as one model, in one process."""
    model = NAGClassifier()
    for number in range(n_parts):
        for X, y in Part(number, size, batch):
            model.partial_fit(X, y, classes=CLASSES)
    return model


def on_cluster(options, n_parts, size, kill_after=None):
    """Return the model, the seconds, and whether a worker was killed meanwhile, of a run on two new processes."""
    import dask
    import dask.bag as db
    from distributed import Client, LocalCluster

    if not options.as_dask_has_it:
        name = "distributed.nanny.pre-spawn-environ"
        dask.config.set({name: {**dask.config.get(name), **KEEP}})
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, memory_limit=None
    )
    with cluster, Client(cluster) as client:
        client.run(alone, 1, 1000, options.batch)
        victim, killed = min(client.run(os.getpid).values()), []
        if kill_after is not None:
            killer = threading.Timer(kill_after, lambda: killed.append(os.kill(victim, signal.SIGKILL)))
            killer.start()
        before = client.run(time.process_time)
        start = time.perf_counter()
        bag = db.from_delayed([dask.delayed(Part, pure=False)(i, size, options.batch) for i in range(n_parts)])
        model = fit(NAGClassifier(), bag, classes=CLASSES, n_shards=options.shards, rounds=options.rounds)
        seconds = time.perf_counter() - start
        if kill_after is not None:
            killer.cancel()
        else:
            after = client.run(time.process_time)
            print("processor time of the workers: ", ", ".join(f"{after[w] - before[w]:.1f} s" for w in before))
    return model, seconds, bool(killed)


def bits(model):
    """Return all weights of a model, and its loss, as bytes."""
    return np.concatenate([model.coef_.ravel(), model.intercept_, [model.progressive_loss_]]).tobytes()


def main():
    """Print seconds, rows a second, and their ratio."""
    parser = parser_of(__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows (%(default)s)")
    parser.add_argument("--batch", type=int, default=2_000, help="rows made at a time (%(default)s)")
    parser.add_argument("--shards", type=int, default=32, help="shards (%(default)s)")
    parser.add_argument("--rounds", type=int, default=1, help="rounds (%(default)s)")
    parser.add_argument("--kills", type=int, default=0, help="runs in which a worker is killed (%(default)s)")
    parser.add_argument("--as-dask-has-it", action="store_true", help="leave the memory of workers as Dask sets it")
    options = parser.parse_args()
    n_parts = (options.shards + 1) * options.rounds  # a partition is a piece
    size = options.rows // n_parts
    model, ours, _ = on_cluster(options, n_parts, size)
    print(f"two processes: {model.t_:.0f} rows {ours:8.1f} s {model.t_ / ours:12.0f} rows/s, "
          f"loss {model.progressive_loss_:.4f}", flush=True)  # fmt: skip
    for number in range(options.kills):
        after = ours * (number + 0.5) / options.kills
        other, _, killed = on_cluster(options, n_parts, size, after)
        same = "the same bits" if bits(other) == bits(model) else "OTHER BITS"
        print(f"a worker killed after {after:.1f} s: {same if killed else 'too late'}", flush=True)
    alone(1, 1000, options.batch)
    start, processor = time.perf_counter(), time.process_time()
    with threadpool_limits(1):  # as in each worker
        one = alone(n_parts, size, options.batch)
    print(f"processor time of one process: {time.process_time() - processor:.1f} s")
    theirs = time.perf_counter() - start
    print(f"one process:   {one.t_:.0f} rows {theirs:8.1f} s {one.t_ / theirs:12.0f} rows/s, "
          f"loss {one.progressive_loss_:.4f}; ratio of throughputs {theirs / ours:.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
