"""Fingerprints of models, to see that a change of the code changes no bit.

    python -m benchmarks.fingerprints before.json             # on the old commit
    python -m benchmarks.fingerprints after.json --against before.json

Every rule, loss, kind of rows and backend learns the same rows; what is kept of each is a hash of its predictions and
of every number of its state. Names and places of these numbers may change, they themselves may not.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import sys
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse

import sklearn_nag
from sklearn_nag import NAGClassifier, NAGRegressor, ScaleInvariantClassifier, ScaleInvariantRegressor

RULES = list(itertools.product(["max", "rms", None], [True, False]))
CLASSIFICATION = ["log_loss", "hinge", "squared_hinge", "modified_huber", "perceptron"]
REGRESSION = [
    "squared_error", "absolute_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive", "quantile",
]  # fmt: skip
CONTAINERS = {
    "dense": np.ascontiguousarray,
    "float32, by columns": lambda X: np.asfortranarray(X, dtype=np.float32),
    "csr": sparse.csr_array,
}
UNTOUCHED = (0.0, 2.0**896)  # what arrays hold before the first row
PLAIN = {"centering": False, "importance_aware": False, "average": False}
NAG_OPTIONS = {
    "defaults": {},
    "printed": PLAIN,
    "l1": {"penalty": "l1", "alpha": 0.01, "average": False},
    "elastic net, averaged": {"penalty": "elasticnet", "alpha": 0.01, "l1_ratio": 0.5, "average": True},
    "auto": {"eta0": "auto"},
    "invscaling": {"learning_rate": "invscaling", "eta0": 0.1, "average": 50},
}
INVARIANT_OPTIONS = {
    "defaults": {},
    "potential": {"update": "potential"},
    "scinol1": {"update": "scinol1", "average": False},
    "full": {"invariance": "full"},
}


def data(seed=0, n=200, d=9):
    """Rows of many sizes, some of which grow late; two and four classes; one target and two; weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d) * (rng.random((n, d)) < 0.6)
    X[:, 0] *= 1.0 + 1e30 * (np.arange(n) > n // 2)
    X[:, 3] = X[:, 3] != 0
    score = X[:, 1:] @ (rng.normal(size=d - 1) / np.abs(X[:, 1:]).max(axis=0)) + 0.1 * rng.normal(size=n)
    targets = {"one": 100 + 20 * score, "two": np.column_stack([score, 1e6 - 3 * score])}
    classes = {"one": (score > 0).astype(int), "two": np.digitize(score, [-0.5, 0.0, 0.5])}
    weights = rng.integers(0, 3, n) * rng.random(n)
    return X, targets, classes, weights


def cases():
    """Each case by name: an estimator, its kind of rows, targets, weights."""
    X, targets, classes, weights = data()
    for name, container in CONTAINERS.items():
        rows = container(X)
        for kind, y, losses, NAG, Invariant in (
            ("classes", classes, CLASSIFICATION, NAGClassifier, ScaleInvariantClassifier),
            ("targets", targets, REGRESSION, NAGRegressor, ScaleInvariantRegressor),
        ):
            for loss in losses:
                for which, weight in (("one", None), ("two", weights)):
                    for (scale, adaptive), (title, options) in itertools.product(RULES, NAG_OPTIONS.items()):
                        rule = {"normalization": scale, "adaptive": adaptive, "loss": loss}
                        if not adaptive and scale is None:
                            rule["eta0"] = 1e-12
                        learner = NAG(**{**rule, **options})
                        yield (
                            f"{name}, {kind} {which}, {loss}, {scale} {adaptive}, {title}",
                            learner,
                            rows,
                            y[which],
                            weight,
                        )
                    for title, options in INVARIANT_OPTIONS.items():
                        if title != "full" or name != "csr":
                            yield (
                                f"{name}, {kind} {which}, {loss}, {title}",
                                Invariant(loss, **options),
                                rows,
                                y[which],
                                weight,
                            )


def numbers(thing):
    """Every array of a state as bytes, a table row by row, but for those in which nothing was learnt."""
    if isinstance(thing, np.ndarray):
        rows = (np.ascontiguousarray(row) for row in np.atleast_2d(thing))
        yield from (row.tobytes() for row in rows if not np.isin(row, UNTOUCHED).all())
    elif hasattr(thing, "table"):
        yield from numbers(thing.table)
    elif hasattr(thing, "__dict__"):
        for name, value in vars(thing).items():
            if name not in ("cached", "rule"):
                yield from numbers(value)


def fingerprint(model, rows, y, weight):
    """Hash of what the model predicts, before and after it learns rows in two calls, and of its state."""
    options = {"classes": np.unique(y)} if hasattr(model, "class_weight") else {}
    digest = hashlib.sha256()
    for part in (slice(0, 77), slice(77, None)):
        try:
            weights = None if weight is None else weight[part]
            digest.update(model._play(rows[part], y[part], sample_weight=weights, **options).tobytes())
        except ValueError as error:
            if "leave the range" not in str(error):
                raise
            digest.update(b"diverged")
    if hasattr(model, "_state"):
        decide = getattr(model, "decision_function", model.predict)
        for array in (decide(rows), model.coef_, model.intercept_, np.float64(model.progressive_loss_)):
            digest.update(np.ascontiguousarray(array).tobytes())
        for line in sorted(numbers(model._state)):
            digest.update(line)
    return digest.hexdigest()[:16]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="where to write the fingerprints")
    parser.add_argument("--against", type=Path, help="fingerprints to compare with")
    parser.add_argument("--kernels", nargs="+", default=["numpy", "numba"], help="backends to run")
    parser.add_argument("--every", type=int, default=1, help="run each case of so many only")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    found = {}
    for kernel in args.kernels:
        with sklearn_nag.config_context(kernel=kernel):
            for name, *case in itertools.islice(cases(), None, None, args.every):
                found[f"{kernel}, {name}"] = fingerprint(*case)
    args.file.write_text(json.dumps(found, indent=1))
    print(f"{len(found)} models, {len(set(found.values()))} of them different from one another")
    if args.against is None:
        return
    before = json.loads(args.against.read_text())
    differ = [name for name in found if found[name] != before.get(name)]
    print(f"{len(found) - len(differ)} have the same bits as in {args.against}, {len(differ)} have not")
    for name in differ[:20]:
        print(f"  {name}")
    sys.exit(bool(differ))


if __name__ == "__main__":
    main()
