"""Compile the code of models in advance, for example for a container image, so that first calls need not wait.

Each estimator learns a few rows, both dense and sparse, with two and with more classes, or with one and with two
targets. The compiled code is stored on disk. --set sets other parameters. If they do not fit an estimator, nothing is
compiled for it, and a message says so.
"""

import itertools

import numpy as np
from scipy import sparse

from .. import config_context, estimators, kernels
from .report import progress
from .tables import new_parser
from .training import ESTIMATORS, parameter

PROGRAM = "python -m sklearn_nag warm-up"


def parse(arguments):
    parser = new_parser(PROGRAM, __doc__)
    add = parser.add_argument
    add("estimators", nargs="*", metavar="ESTIMATOR", help=f"estimators to compile: {', '.join(ESTIMATORS)} (all)")
    add("--set", nargs="+", default=[], metavar="NAME=VALUE", help="parameters of the estimators, such as eta0='auto'")
    add("--float32", action="store_true", help="compile for rows of float32 instead of float64")
    options = parser.parse_args(arguments)
    unknown = sorted({*options.estimators} - {*ESTIMATORS})
    if unknown:
        parser.error(f"there is no estimator {unknown[0]}; it must be one of {', '.join(ESTIMATORS)}")
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
    """Let an estimator learn rows; return why it cannot, or None."""
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
    """Compile with a progress bar; print where the code is stored, and its size."""
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
        parser.exit(1, f"{PROGRAM}: there is no folder to store compiled code in; set NUMBA_CACHE_DIR to one\n")
    print(f"{n_files} compiled functions, {size / 1e6:.1f} MB, are stored in {folder}")
    if all(refused):
        parser.exit(1)
