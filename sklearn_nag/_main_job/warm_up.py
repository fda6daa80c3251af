"""Compile what models will need, so that no first call has to wait for it: for container images, and before a lesson.

Each estimator learns some rows, dense and sparse ones, with two classes and several, or one target and two. What is
compiled for that is kept on disk. Other parameters are given with --set; of those that do not fit an estimator
nothing is compiled, and it says so.
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy import sparse

from .. import config_context, estimators, kernels
from .report import progress
from .tables import new_parser
from .training import ESTIMATORS, parameter

PROGRAM = "python -m sklearn_nag warm-up"


def parse(arguments):
    """Command-line options."""
    parser = new_parser(PROGRAM, __doc__)
    add = parser.add_argument
    add("estimators", nargs="*", metavar="ESTIMATOR", help=f"some of {', '.join(ESTIMATORS)} (all)")
    add("--set", nargs="+", default=[], metavar="NAME=VALUE", help="parameters of the estimators, such as eta0='auto'")
    add("--float32", action="store_true", help="for rows of float32, not of float64")
    options = parser.parse_args(arguments)
    unknown = sorted({*options.estimators} - {*ESTIMATORS})
    if unknown:
        parser.error(f"there is no estimator {unknown[0]}; there are {', '.join(ESTIMATORS)}")
    try:
        options.set = dict(map(parameter, options.set))
    except ValueError as error:
        parser.error(str(error))
    return parser, options


def kinds(dtype):
    """Rows of each kind that code is compiled for: without zeros, with some, and sparse."""
    rng = np.random.default_rng(0)
    full = rng.normal(size=(8, 3)).astype(dtype)
    some = full * (rng.random((8, 3)) < 0.3)
    return full, some, sparse.csr_array(some)


def learn(name, parameters, X, several):
    """Let an estimator learn rows; return why it does not, or None."""
    y = np.arange(8) % (3 if several else 2)
    try:
        model = getattr(estimators, name)().set_params(**parameters)
        if name.endswith("Classifier"):
            model.partial_fit(X, y, classes=np.unique(y))
        else:
            model.partial_fit(X, np.column_stack([y, -y]) if several else y)
    except (TypeError, ValueError) as error:
        return f"{name}: {error}"
    return None


def main(arguments):
    """Compile, with a progress bar; say where it is kept, and how large that is."""
    parser, options = parse(arguments)
    names = options.estimators or ESTIMATORS
    steps = list(itertools.product(names, kinds(np.float32 if options.float32 else np.float64), (False, True)))
    refused = []
    try:
        with config_context(kernel="numba"):
            for done, (name, X, several) in enumerate(steps):
                progress(done, len(steps), f"kinds of models, {name}")
                refused.append(learn(name, options.set, X, several))
            progress(len(steps), len(steps), "")
            folder, n_files, size = kernels.kept_code()
    except ImportError as error:
        parser.exit(2, f"{PROGRAM}: {error}\n")
    for reason in dict.fromkeys(filter(None, refused)):
        print(reason)
    if folder is None:
        parser.exit(1, f"{PROGRAM}: nothing is kept, as there is no folder to write to; set NUMBA_CACHE_DIR to one\n")
    print(f"{n_files} compiled functions, {size / 1e6:.1f} MB, are kept in {folder}")
    if all(refused):
        parser.exit(1)
