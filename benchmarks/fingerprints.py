"""Fingerprints of models, to see what a change of the code changes in predictions.

    python -m benchmarks.fingerprints before.npz                # on the old commit
    python -m benchmarks.fingerprints after.npz
    python -m benchmarks.fingerprints --compare before.npz after.npz

Models of every family, with many rules and losses, learn rows of several kinds in several calls, on both backends. The
file keeps the predictions before each call and after the last, ``coef_``, ``intercept_`` and the losses. It uses only
what estimators make public, so two commits can be compared whatever their states look like. For each case, the
comparison shows the largest difference divided by the largest number of the array; it fails if one is above
``--tolerance``.
"""

from __future__ import annotations

import itertools
import pickle
import sys
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse

import sklearn_nag
from sklearn_nag import (
    FTRLClassifier,
    FTRLRegressor,
    HedgeClassifier,
    HedgeRegressor,
    NAGClassifier,
    NAGRegressor,
    ScaleInvariantClassifier,
    ScaleInvariantRegressor,
)
from sklearn_nag.constraints import L2Ball, Simplex, WeightedL1Ball

from .options import new_file, parser_of

CUTS = (0, 1, 60, 61, 150, 200)  # rows at which calls begin and end
PRINTED = {"centering": False, "importance_aware": False, "average": False}
SIMPLEX = {**PRINTED, "constraint": Simplex(), "normalization": None, "adaptive": False, "eta0": 1e-12}
FIXED = {**SIMPLEX, "target_normalization": None}
L1 = {"penalty": "l1", "alpha": 0.003}
CONTAINERS = {
    "dense": np.ascontiguousarray,
    "csr": sparse.csr_array,
    "float32, by columns": lambda X: np.asfortranarray(X, dtype=np.float32),
}
NAG = {
    "defaults": {},
    "not averaged": {"average": False},
    "not importance-aware": {"importance_aware": False},
    "printed": {**PRINTED, "normalization": "max"},
    "eta0 auto": {"eta0": "auto"},
    "eta0 auto, rms": {"eta0": "auto", "normalization": "rms", "average": False},
    "not centred": {"centering": False},
    "no intercept": {"fit_intercept": False},
    "invscaling, averaged late": {"learning_rate": "invscaling", "eta0": 0.1, "average": 50},
    "half-life": {"half_life": 30.0},
    "half-life, l2, not averaged": {"half_life": 30.0, "penalty": "l2", "alpha": 0.01, "average": False},
    "l1": {**L1, "average": False},
    "l1, averaged": {**L1, "average": True},
    "l2, rms": {"penalty": "l2", "alpha": 0.01, "normalization": "rms", "average": False, "centering": False},
    "elastic net": {"penalty": "elasticnet", "alpha": 0.01, "l1_ratio": 0.5, "average": False},
    "L2 ball": {"constraint": L2Ball(0.5)},
    "simplex": SIMPLEX,
    "L1 ball, not adaptive": {"constraint": WeightedL1Ball(0.5), "adaptive": False, "normalization": "max"},
    **{
        f"{scale}, {'adaptive' if adaptive else 'not adaptive'}": {"normalization": scale, "adaptive": adaptive}
        for scale, adaptive in itertools.product(["auto", "max", "rms"], [True, False])
    },
    "AdaGrad": {**PRINTED, "normalization": None},
    "OGD": {**PRINTED, "normalization": None, "adaptive": False, "eta0": 1e-12},
    "first pass of scales": {"scales": "first-pass", "max_iter": 3, "tol": None, "random_state": 0},
}
INVARIANT = {
    "defaults": {},
    "potential": {"update": "potential"},
    "scinol1, latest": {"update": "scinol1", "average": False},
    "scinol2, not centred": {"update": "scinol2", "centering": False},
    "full": {"invariance": "full"},
    "full, latest": {"invariance": "full", "average": False},
}
LEAST_SQUARES = {"invariance": "full", "update": "least_squares", "loss": "squared_error"}
FTRL = {
    "defaults": {},
    "l1, auto": {"l1": 0.01, "l2": 0.01, "normalization": "auto"},
    "not centred, rms": {"centering": False, "normalization": "rms"},
    "as printed": {"centering": False, "normalization": None, "eta0": 1e-3},
    "l2": {"regularizer": "l2", "l1": 0.01},
    "entropy": {"regularizer": "entropy"},
    "entropy, positive": {"regularizer": "entropy", "positive": True, "normalization": "auto"},
    "L2 ball": {"regularizer": "l2", "constraint": L2Ball(0.5)},
}
OF_CLASSES = {"ovr": {"multi_class": "ovr"}, "hinge": {"loss": "hinge"}, "modified Huber": {"loss": "modified_huber"}}
OF_TARGETS = {
    "no unit": {"target_normalization": None},
    "not clipped": {"clip": None},
    "clipped to numbers": {"clip": (-40.0, 90.0)},
    "quantile": {"loss": "quantile", "quantile": 0.8},
    "Huber": {"loss": "huber", "epsilon": 0.4},
    "insensitive": {"loss": "squared_epsilon_insensitive"},
}
LEARNERS = {
    "classes": [
        *((NAGClassifier, f"NAG {name}", options) for name, options in {**NAG, **OF_CLASSES}.items()),
        *((ScaleInvariantClassifier, f"invariant {name}", options) for name, options in INVARIANT.items()),
        (ScaleInvariantClassifier, "invariant ovr", OF_CLASSES["ovr"]),
        *((FTRLClassifier, f"FTRL {name}", options) for name, options in {**FTRL, **OF_CLASSES}.items()),
        (HedgeClassifier, "Hedge", {}),
    ],
    "targets": [
        *((NAGRegressor, f"NAG {name}", options) for name, options in {**NAG, **OF_TARGETS, "simplex": FIXED}.items()),
        *((ScaleInvariantRegressor, f"invariant {name}", options) for name, options in INVARIANT.items()),
        (ScaleInvariantRegressor, "least squares", LEAST_SQUARES),
        *((FTRLRegressor, f"FTRL {name}", options) for name, options in {**FTRL, **OF_TARGETS}.items()),
        (HedgeRegressor, "Hedge", {}),
    ],
}  # fmt: skip


def mixed(rng, n=200, d=9):
    """Return rows of many sizes, some of which grow late and by far; one column is 1 or 0, one is far from 0."""
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d) * (rng.random((n, d)) < 0.6)
    X[:, 0] *= 1.0 + 1e30 * (np.arange(n) > n // 2)
    X[:, 3] = X[:, 3] != 0
    X[:, 5] += 1e6
    return X


def in_turns(rng, n=200, d=9):
    """Return columns that are frequent and rare in turns, each at other times; one grows again and again."""
    often = ((np.arange(n)[:, None] // (10 + 5 * np.arange(d))) + np.arange(d)) % 2
    X = rng.normal(3.0, 1.0, size=(n, d)) * (rng.random((n, d)) < np.where(often, 0.95, 0.1))
    X[:, 1] *= 2.0 ** (3 * (np.arange(n) // 2))
    return X


def text(rng, n=200, d=300):
    """Return rows with few entries each, whose columns mostly appear late."""
    X = np.zeros((n, d))
    for row in X:
        row[np.minimum(rng.pareto(0.5, size=8).astype(int), d - 1)] = rng.integers(1, 4, 8)
    return X


def targets(rng, X):
    """Return two and three classes, one target far from 0, and two targets in different units."""
    size = np.abs(X).max(axis=0)
    score = X @ (rng.normal(size=X.shape[1]) / np.where(size > 0, size, 1.0)) + 0.1 * rng.normal(size=len(X))
    return {
        "classes": {"one": (score > 0).astype(int), "several": np.digitize(score, [-0.5, 0.5])},
        "targets": {"one": 100 + 20 * score, "several": np.column_stack([score, 1e6 - 3 * score])},
    }


def cases():
    """Each case by name: an estimator, its rows, its targets, and the weights of rows."""
    for rows in (mixed, in_turns, text):
        rng = np.random.default_rng(0)
        X = rows(rng)
        y, weights = targets(rng, X), rng.integers(0, 3, len(X)) * rng.random(len(X))
        weights[0] = 1.0
        for kind, learners in LEARNERS.items():
            for Estimator, title, options in learners:
                for number, target in y[kind].items():
                    for name, container in CONTAINERS.items():
                        if (rows is text) > (name == "csr") or (name == "csr" and dense_alone(title)):
                            continue
                        if "float32" in name and (number == "several" or rows is not mixed):
                            continue
                        weight = weights if number == "several" else None
                        case = f"{rows.__name__} {name}, {number} {kind}, {title}"
                        yield case, Estimator(**options), container(X), target, weight


def dense_alone(title):
    """Return whether a learner takes no sparse rows."""
    return "invariant full" in title or title == "least squares"


def partial_fit(model, rows, y, weight, labels):
    """Let a model learn rows."""
    options = {} if labels is None else {"classes": labels}
    if weight is not None:
        options["sample_weight"] = weight
    return model.partial_fit(rows, y, **options)


def predictions(model, rows):
    """Return predictions; for a classifier, those before a threshold."""
    decide = next(
        getattr(model, name) for name in ("decision_function", "predict_proba", "predict") if hasattr(model, name)
    )
    return np.asarray(decide(rows), dtype=float)


def read(model, rows):
    """Return what a model makes public, by name."""
    found = {"predictions": predictions(model, rows)}
    for name in ("coef_", "intercept_", "progressive_loss_"):
        if hasattr(model, name):
            found[name] = np.asarray(getattr(model, name), dtype=float)
    return found


def fingerprint(model, rows, y, weight):
    """Return arrays by name: while the model learns in calls, saved and loaded in between, and after a merge."""
    if getattr(model, "scales", None) == "first-pass":
        return read(model.fit(rows, y, sample_weight=weight), rows)
    labels = np.unique(y) if hasattr(model, "class_weight") or isinstance(model, HedgeClassifier) else None
    found, played = {}, []
    other = pickle.loads(pickle.dumps(model))
    for start, stop in itertools.pairwise(CUTS):
        some = slice(start, stop)
        if start > 0:
            played.append(predictions(model, rows[some]).ravel())
        partial_fit(model, rows[some], y[some], None if weight is None else weight[some], labels)
        if start == CUTS[2]:
            model = pickle.loads(pickle.dumps(model))
    found["progressive"] = np.concatenate(played)
    found |= read(model, rows)
    if weight is None and not isinstance(model, (FTRLClassifier, FTRLRegressor, HedgeClassifier, HedgeRegressor)):
        half = slice(0, 90)
        partial_fit(other, rows[half], y[half], None, labels)
        try:
            merged = sklearn_nag.merge([model, other])
        except (NotImplementedError, ValueError) as error:  # half-lives, some constraints
            found["merged"] = np.frombuffer(type(error).__name__.encode(), np.uint8).astype(float)
        else:
            found |= {f"merged {name}": values for name, values in read(merged, rows).items()}
    return found


def compare(old, new, tolerance):
    """Print the largest difference of each case, divided by the largest number of its array; return whether all are
    small.
    """
    before, after = np.load(old), np.load(new)
    missing = sorted({*before.files} ^ {*after.files})
    differences, same = {}, 0
    for name in before.files:
        if name in missing:
            continue
        a, b = before[name], after[name]
        if a.shape == b.shape and a.tobytes() == b.tobytes():
            same += 1
            continue
        case, _, array = name.rpartition(": ")
        difference = np.inf
        if a.shape == b.shape and np.isfinite(a).all() and np.isfinite(b).all():
            size = max(np.abs(a).max(initial=0.0), np.finfo(float).tiny)
            difference = float(np.abs(a / size - b / size).max(initial=0.0))
        differences[case] = max(differences.get(case, (0.0, "")), (difference, array))
    total = len({name.rpartition(": ")[0] for name in before.files})
    print(f"{total} cases, {total - len(differences)} with the same bits; {same} of {len(before.files)} arrays")
    worst = sorted(differences.items(), key=lambda item: -item[1][0])
    for case, (difference, array) in worst:
        if difference > tolerance or case in dict(worst[:20]):
            print(f"  {difference:8.1e}  {array:18s} {case}")
    for name in missing:
        print(f"  only in one of the files: {name}")
    return not missing and not any(difference > tolerance for difference, _ in differences.values())


def main():
    parser = parser_of(__doc__)
    parser.add_argument("file", type=new_file, nargs="?", help="where to write the fingerprints")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("OLD", "NEW"), help="two such files")
    parser.add_argument("--tolerance", type=float, default=1e-12, help="largest difference (%(default)s)")
    parser.add_argument("--kernels", nargs="+", default=["numpy", "numba"], help="backends to run")
    parser.add_argument("--every", type=int, default=1, help="run each case of so many only")
    args = parser.parse_args()
    if (args.file is None) == (args.compare is None):
        parser.error("either a file to write or --compare with two of them")
    if args.compare is not None:
        sys.exit(not compare(*args.compare, args.tolerance))
    warnings.simplefilter("ignore")
    found = {}
    for kernel in args.kernels:
        with sklearn_nag.config_context(kernel=kernel):
            for name, *case in itertools.islice(cases(), None, None, args.every):
                try:
                    arrays = fingerprint(*case)
                except ValueError as error:
                    if "leave the range" not in str(error):
                        raise
                    arrays = {"diverged": np.zeros(0)}
                found |= {f"{kernel} {name}: {key}": values for key, values in arrays.items()}
    np.savez_compressed(args.file, **found)
    print(f"{len({name.rpartition(': ')[0] for name in found})} models, {len(found)} arrays in {args.file}")


if __name__ == "__main__":
    main()
