"""The cost of a first call: processor time of compiling, with nothing on disk, and with what was compiled before.

    python -m benchmarks.first_call
    python -m benchmarks.first_call --against FOLDER --repeats 3     # another checkout, in turns with this one

Each measurement is a process of its own, in which models learn some rows one after another: what one model has
compiled, the next may use. Ratios are medians over turns, because the speed of a machine drifts.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from .options import count, parser_of
from .turns import with_package

CODE = """
import time
import numpy as np
from scipy import sparse
from sklearn_nag import NAGClassifier, NAGRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(50, 5))
y = (X[:, 0] > 0).astype(int)
start = time.process_time()
for learn in (
    lambda: NAGClassifier().partial_fit(X, y, classes=[0, 1]),
    lambda: NAGClassifier().partial_fit(sparse.csr_array(X), y, classes=[0, 1]),
    lambda: NAGRegressor().partial_fit(X, X[:, 0]),
    lambda: NAGClassifier(eta0="auto").partial_fit(X, y, classes=[0, 1]),
):
    learn()
    now = time.process_time()
    print(now - start)
    start = now
"""
STEPS = ["dense classifier", "then sparse", "then regression", "then eta0='auto'"]


def measure(folder, cache):
    """Return the seconds of each step in a new process that imports the package from a folder."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "SKLEARN_NAG_KERNEL": "numba", "PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, "-c", CODE], env=environment, cwd=cache, check=True, capture_output=True)
    return [float(line) for line in done.stdout.split()]


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--against", type=with_package, help="another checkout to compare with")
    parser.add_argument("--repeats", type=count, default=3, help="turns (%(default)s)")
    args = parser.parse_args()
    folders = [Path(__file__).resolve().parents[1], *filter(None, [args.against])]
    turns = []
    for _ in range(args.repeats):
        turn = []
        for folder in folders:
            with tempfile.TemporaryDirectory() as cache:
                turn.append(measure(folder, cache) + measure(folder, cache)[:1])
        turns.append(turn)
    for i, step in enumerate([*STEPS, "dense classifier, compiled before"]):
        seconds = statistics.median(turn[0][i] for turn in turns)
        line = f"{step:34s} {seconds:6.2f} s"
        if args.against is not None:
            before = statistics.median(turn[1][i] for turn in turns)
            ratio = statistics.median(turn[0][i] / turn[1][i] for turn in turns)
            line += f"   before {before:6.2f} s   ratio {ratio:.2f}"
        print(line)


if __name__ == "__main__":
    main()
