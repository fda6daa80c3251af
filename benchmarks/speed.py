"""Time of one pass of `partial_fit` over dense rows, as a ratio to SGDClassifier in the same run.

    python -m benchmarks.speed [--rows N] [--repeats R]

Prints the median over repeats in which the two take turns.
"""

import argparse
import platform
import time

import numpy as np
import sklearn
from sklearn.linear_model import SGDClassifier

from sklearn_nag import NAGClassifier, __version__


def seconds(run):
    """Wall time of a call."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def make(n_rows, n_features, n_classes, seed=0):
    """Normal features, classes by the largest of random linear functions."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    return X, (X @ rng.normal(size=(n_features, n_classes))).argmax(axis=1)


def compare(n_rows, n_heads, repeats, **parameters):
    """Median seconds of NAGClassifier and of SGDClassifier for one pass."""
    X, y = make(n_rows, 54, 2 if n_heads == 1 else n_heads)
    classes = np.unique(y)
    times = []
    for _ in range(repeats):
        pair = [NAGClassifier(**parameters), SGDClassifier(loss="log_loss")]
        times.append([seconds(lambda e=e: e.partial_fit(X, y, classes=classes)) for e in pair])
    return np.median(times, axis=0)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    n = options.rows
    print(
        f"sklearn_nag {__version__}, scikit-learn {sklearn.__version__}, NumPy {np.__version__}, "
        f"Python {platform.python_version()}; {n} rows of 54 dense float64 features, log loss, "
        f"medians of {options.repeats}"
    )
    print(f"{'rule':8} {'heads':>5} {'us per row':>11} {'us per row and head':>20} {'ratio to SGDClassifier':>23}")
    rules = {"NAG": {}, "sNAG": {"normalization": "rms"}, "NG": {"adaptive": False}, "AdaGrad": {"normalization": None}}
    for rule, parameters in rules.items():
        for n_heads in (1, 32):
            own, peer = compare(n, n_heads, options.repeats, **parameters)
            row = own / n * 1e6
            print(f"{rule:8} {n_heads:5} {row:11.2f} {row / n_heads:20.3f} {own / peer:23.1f}", flush=True)


if __name__ == "__main__":
    main()
