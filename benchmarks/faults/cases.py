"""Cases: estimators, rows, targets and weights of every kind, each made from a seed."""

from __future__ import annotations

import importlib.util
import itertools
import zlib
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

import sklearn_nag
from sklearn_nag.constraints import Box, L2Ball, Simplex, WeightedL1Ball

# The bounds within which no call fails. Features have no bounds: any finite double is legal.
LARGEST_TARGET = 1e100
LEAST_WEIGHT, LARGEST_WEIGHT = 1e-100, 1e50
LARGEST_ACCEPTED_WEIGHT = 1e100
LEAST_EPSILON = 1e-200  # for Huber's loss, because slopes near the end of the range lose digits
# The range within which powers of two change no bit: the largest size in a column, or the largest weight, divided by
# the smallest that is not 0.
WIDEST_RANGE = 2.0**300
LEAST_TARGET, MOST_TARGET = 2.0**-1000, 2.0**1000  # sizes of targets for which powers of two change no bit

HAVE_NUMBA = importlib.util.find_spec("numba") is not None
LARGEST = np.finfo(np.float64).max
EXTREMES = (0.0, 0.0, 5e-324, -1e-310, 2.5e-308, -1e-154, 1.0, -3.0, 1e154, -1e160, 1e300, LARGEST, -LARGEST)
DENSE = ("C", "F", "float32", "float32 F")
SPARSE = ("csr", "csr float32", "csr int64", "csr unsorted", "csr zeros", "csr repeated", "csc", "coo", "coo repeated")
IN_PARTS = ("csr unsorted", "csr zeros", "csr repeated", "coo repeated")
CLASSIFICATION = ("log_loss", "hinge", "squared_hinge", "modified_huber", "perceptron")
REGRESSION = (
    "squared_error", "absolute_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive", "quantile",
)  # fmt: skip
LOG_LINK = ("poisson", "gamma", "tweedie")
# The constant of the potential, which is not the strength of a penalty.
ALPHA = next(name for name in sklearn_nag.ScaleInvariantRegressor().get_params() if name.endswith("alpha"))
SETS = (L2Ball, WeightedL1Ball, Simplex)
KINDS_AT_FIRST, CASES_A_KIND = 4, 40  # kinds of models on the compiled kernel
OF_CELLS = 0.06  # share of cases with lines, curves and cells
CLIPS = (None, "targets", (-1.0, 0.5), (0.0, 1e50), (-1e-200, 1e300), (0.0, np.inf), [-np.inf, 1e3])
# Losses whose gradients have no bound.
UNBOUNDED = ("squared_hinge", "squared_error", "squared_epsilon_insensitive", *LOG_LINK)


@dataclass(frozen=True, eq=False)
class Case:
    """An estimator, and what it is to learn.

    Attributes
    ----------
    seed : tuple of int
        What the case was made from.
    learner : str
        Name of the estimator's class.
    parameters : dict
        Parameters that are not at their defaults.
    storage : str
        One of ``DENSE`` or ``SPARSE``: how `rows` stores ``X``.
    X : ndarray of shape (n_rows, n_features)
        Finite rows.
    y : ndarray of shape (n_rows,) or (n_rows, n_columns)
        Classes, their probabilities, several labels, or finite targets.
    weight : ndarray of shape (n_rows,) or None
        Weights of the rows.
    classes : ndarray or None
        All classes, or a row ``[0, 1]`` for each of several labels; None for regression.
    cuts : tuple of int
        Rows at which a stream of batches is cut.
    kernel : {"numpy", "numba"}
        The kernel that learns.
    """

    seed: tuple[int, ...]
    learner: str
    parameters: dict[str, Any]
    storage: str
    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None = None
    classes: np.ndarray | None = None
    cuts: tuple[int, ...] = field(default=())
    kernel: str = "numpy"

    def rng(self, what):
        """Return a random generator for the purpose ``what``, the same at each call."""
        return np.random.default_rng([*self.seed, zlib.crc32(what.encode())])

    def model(self):
        """Return the estimator, not fitted."""
        return getattr(sklearn_nag, self.learner)(**self.parameters)

    def rows(self, X=None, storage=None):
        """Return ``X``, by default that of the case, in its storage."""
        return stored(self.X if X is None else X, storage or self.storage)

    @property
    def takes_missing_values(self):
        """Whether NaN is a missing value."""
        return self.learner.startswith("NAGCells")

    @property
    def is_sparse(self):
        return self.storage in SPARSE

    @property
    def batches(self):
        """Slices of rows, from cut to cut."""
        n = len(self.X)
        ends = [0, *(cut for cut in self.cuts if cut < n), n]
        return [slice(start, stop) for start, stop in itertools.pairwise(ends)]

    def take(self, rows):
        """Return the case with only some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return replace(self, X=self.X[rows], y=self.y[rows], weight=weight)

    @property
    def stable(self):
        """Whether steps cannot add up to an overflow: features are normalised, and steps careful or bounded."""
        if not self.learner.startswith(("NAG", "FTRL")) or self.takes_missing_values:
            return True  # mixtures are stable with their defaults
        loss = "log_loss" if self.classes is not None else "squared_error"
        options = {"normalization": "rms", "importance_aware": True, "loss": loss, **self.parameters}
        if self.learner.startswith("FTRL"):  # its steps are explicit
            options["importance_aware"] = False
        return options["normalization"] is not None and (self.is_careful(options) or options["loss"] not in UNBOUNDED)

    @staticmethod
    def is_careful(parameters):
        """Whether steps never overshoot."""
        return parameters.get("importance_aware", True) and parameters.get("loss") != "perceptron"

    @property
    def within_bounds(self):
        """Whether the case is within the bounds within which no call fails."""
        if not self.stable:
            return False
        if self.classes is None and np.abs(self.y).max(initial=0.0) > LARGEST_TARGET:
            return False
        if self.weight is None:
            return True
        positive = self.weight[self.weight > 0]
        return bool((positive >= LEAST_WEIGHT).all() and (positive <= LARGEST_WEIGHT).all())

    def sizes(self):
        """Return which columns are not all 0, and the largest and the smallest non-zero size in each of these."""
        sizes = np.abs(self.X)
        seen = sizes.any(axis=0)
        return seen, sizes.max(axis=0)[seen], np.where(sizes == 0, np.inf, sizes).min(axis=0)[seen]

    @property
    def within_a_range(self):
        """Whether non-zero sizes in each column, and positive weights, are within a factor of ``WIDEST_RANGE``."""
        _, largest, least = self.sizes()
        weights = np.ones(1) if self.weight is None else self.weight[self.weight > 0]
        together = not weights.max(initial=0.0) / WIDEST_RANGE > weights.min(initial=np.inf)
        return together and not (largest / WIDEST_RANGE > least).any()

    # -- as Python

    def code(self):
        """Return lines of Python that define ``X``, ``y``, ``weight`` and ``model``."""
        lines = [f"X = {literal(self.X)}", *stored_code(self.X, self.storage), f"y = {literal(self.y)}"]
        lines.append(f"weight = {literal(self.weight)}")
        options = ", ".join(f"{name}={as_python(value)}" for name, value in self.parameters.items())
        lines.append(f"model = sklearn_nag.{self.learner}({options})")
        return lines

    def call(self, rows=""):
        """Return the call of ``partial_fit`` as Python, for some of the rows."""
        classes = "" if self.classes is None else f", classes={self.classes.tolist()!r}"
        weight = "" if self.weight is None else f", sample_weight=weight{rows}"
        return f"partial_fit(X{rows}, y{rows}{classes}{weight})"


def as_python(value):
    """Return a parameter as Python."""
    if isinstance(value, Box):
        low, high = (repr(np.asarray(end).tolist()).replace("inf", "np.inf") for end in (value.low, value.high))
        return f"sklearn_nag.constraints.Box({low}, {high})"
    if isinstance(value, tuple | list):
        return repr(value).replace("inf", "np.inf")
    return f"sklearn_nag.constraints.{value!r}" if isinstance(value, SETS) else repr(value)


def literal(array):
    """Return an array as Python, the shortest that gives the same numbers."""
    if array is None:
        return "None"
    text = repr(array.tolist())
    return f"np.array({text})" if array.size else f"np.empty({array.shape})"


# -- storage


def entries(X, storage):
    """Return data, columns and row ends of ``X`` as CSR: out of order, repeated or with zeros, as ``storage`` says."""
    data, indices, indptr = [], [], [0]
    for row in X:
        named = np.flatnonzero(row)
        values = row[named]
        if "repeated" in storage:
            half = np.where(values / 2 * 2 == values, values / 2, values)
            rest = np.where(np.isinf(values), values, values - half)
            named, values = np.tile(named, 2), np.concatenate([half, rest])
        elif "unsorted" in storage:
            named, values = named[::-1], values[::-1]
        elif "zeros" in storage:
            named = np.flatnonzero((row != 0) | (np.arange(len(row)) % 3 == 1))
            values = row[named]
        data.extend(values.tolist())
        indices.extend(named.tolist())
        indptr.append(len(indices))
    return data, indices, indptr


def stored(X, storage):
    """Return ``X`` as an array or a sparse matrix of the kind that ``storage`` names."""
    if "float32" in storage:
        X = X.astype(np.float32)
    if storage in DENSE:
        return np.asfortranarray(X) if storage.endswith("F") else np.ascontiguousarray(X)
    data, indices, indptr = entries(X, storage)
    index = np.int64 if "int64" in storage else np.int32
    arrays = np.array(data, dtype=X.dtype), np.array(indices, dtype=index), np.array(indptr, dtype=index)
    matrix = sparse.csr_array(arrays, shape=X.shape)
    if "int64" in storage:  # SciPy chooses the smallest type that suffices
        matrix.indices, matrix.indptr = arrays[1:]
    if storage == "csc":
        return matrix.tocsc()
    return matrix.tocoo() if storage.startswith("coo") else matrix


def stored_code(X, storage):
    """Return the same in Python, if a plain array is not enough."""
    if storage == "C":
        return []
    if storage in DENSE:
        kind = "" if storage == "F" else ", dtype=np.float32"
        return [f"X = np.{'asfortranarray' if storage.endswith('F') else 'asarray'}(X{kind})"]
    if any(kind in storage for kind in ("repeated", "unsorted", "zeros")):
        data, indices, indptr = entries(X, storage)
        arrays = f"{data}, np.array({indices}, np.int32), np.array({indptr}, np.int32)"
        made = f"X = sparse.csr_array(({arrays}), shape={X.shape})"
        return [made + ("" if storage.startswith("csr") else ".tocoo()")]
    made = f"X = sparse.{storage[:3]}_array(X)"
    if "float32" in storage:
        made += ".astype(np.float32)"
    widened = "X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)"
    return [made] + [widened] * ("int64" in storage)


# -- from a seed


def made(seed, number):
    """Return a case of a campaign.

    Parameters
    ----------
    seed : int
        Seed of the campaign.
    number : int
        Number of the case. On the compiled kernel, the first cases have few kinds of models, because compiling a kind
        takes a second or more; longer campaigns have more kinds. On NumPy, each case has a kind of its own.

    Returns
    -------
    Case
        The same case for the same numbers.
    """
    rng = np.random.default_rng([seed, number])
    kernel = str(rng.choice(["numpy", "numba"])) if HAVE_NUMBA else "numpy"
    kind = rng
    if kernel == "numba":
        kind = np.random.default_rng([seed, int(rng.integers(KINDS_AT_FIRST + number // CASES_A_KIND)), 0])
    learner = str(
        kind.choice(
            ["NAGClassifier", "NAGRegressor", "ScaleInvariantClassifier", "ScaleInvariantRegressor"],
            p=[0.3, 0.34, 0.16, 0.2],
        )
    )
    classifies = learner.endswith("Classifier")
    parameters = parameters_of(kind, rng, learner)
    dense_only = parameters.get("invariance") == "full" or parameters.get("centering") is True
    storage = str(kind.choice(DENSE if dense_only or kind.random() < 0.5 else SPARSE))
    n_classes = int(kind.choice([2, 2, 3, 5]))
    can_forget = parameters.get("normalization") != "max" and parameters.get("average") != 5
    if learner.startswith("NAG") and can_forget and kind.random() < 0.15:
        parameters["half_life"] = "auto" if kind.random() < 0.3 else float(rng.choice([1.0, 10.0, 1e4]))
        if parameters["half_life"] == "auto" and rng.random() < 0.3:
            parameters["half_life"] = tuple(rng.choice([1.0, 10.0, 1e4], 2).tolist())
    if kind.random() < 0.2:
        family = str(kind.choice(["FTRL", "FTRL", "FTRL", "Hedge"]))
        learner = family + learner[-len("Classifier") if classifies else -len("Regressor") :]
        loss = parameters.get("loss")
        parameters = (parameters_of_ftrl if family == "FTRL" else parameters_of_hedge)(kind, rng, classifies)
        if family == "FTRL" and loss is not None:
            parameters["loss"] = loss
        if storage in SPARSE and parameters.get("normalization") != "auto":
            parameters.pop("centering", None)
    if learner.startswith(("NAG", "FTRL")) and kind.random() < 0.15:
        parameters.update(constraint_of(kind, rng, learner, parameters))
    if not classifies and learner != "HedgeRegressor" and kind.random() < 0.3:
        parameters["clip"] = CLIPS[kind.integers(len(CLIPS))]

    n = int(rng.integers(1, 40))
    d = int(rng.integers(1, 8) if rng.random() < 0.85 else rng.integers(8, 150))
    if parameters.get("invariance") == "full":
        d = min(d, 20)
    if isinstance(parameters.get("constraint"), Box):
        parameters["constraint"] = box_of(rng, d, parameters["constraint"])
    X = rows_of(rng, n, d)
    if "float32" in storage:
        largest = np.finfo(np.float32).max
        X = np.clip(X, -largest, largest).astype(np.float32).astype(np.float64)
    classes = None
    if classifies:
        classes = np.arange(n_classes) if rng.random() < 0.7 else np.array(list("abcde")[:n_classes])
        codes = rng.integers(0, n_classes, n)
        if rng.random() < 0.5:  # classes that can be told apart
            with np.errstate(all="ignore"):
                codes = np.minimum((X[:, 0] > np.median(X[:, 0])).astype(int), n_classes - 1)
        y = classes[codes]
    else:
        y = as_the_loss_takes_them(targets_of(rng, n, X), parameters)
    weight = weights_of(rng, n)
    n_cuts = int(rng.integers(0, 4))
    cuts = tuple(sorted({int(cut) for cut in rng.integers(1, n, n_cuts)})) if n > 1 else ()
    if rng.random() < 0.1:  # nothing to learn in the first batch
        weight = np.ones(n) if weight is None else weight
        weight[: cuts[0] if cuts else n] = 0.0
    if classifies and learner != "HedgeClassifier" and rng.random() < 0.25:
        parameters["calibration"] = "progressive"
    own = np.random.default_rng([seed, number, 1])
    if own.random() < OF_CELLS:
        learner = "NAGCells" + ("Classifier" if classifies else "Regressor")
        parameters = parameters_of_cells(own, d, storage in SPARSE)
    elif classifies and learner != "HedgeClassifier" and "calibration" not in parameters:
        if kind.random() < 0.1:
            classes = np.tile([0, 1], (int(kind.integers(2, 5)), 1))
            y = drawn(rng, classes, n)
        elif parameters.get("loss", "log_loss") == "log_loss" and kind.random() < 0.2:
            y = probabilities_of(rng, n, classes)
    return Case((seed, number), learner, parameters, storage, X, y, weight, classes, cuts, kernel)


def drawn(rng, classes, n):
    """Draw targets for ``n`` rows at random: classes, or several labels."""
    if classes.ndim == 2:
        return rng.integers(0, 2, (n, len(classes)))
    return classes[rng.integers(0, len(classes), n)]


def probabilities_of(rng, n, classes):
    """Return probabilities of classes, some of them 0 and 1; for the classes 0 and 1, perhaps only those of 1."""
    y = rng.dirichlet(np.full(len(classes), rng.choice([0.01, 1.0])), n)
    y[rng.random(n) < 0.2] = np.eye(len(classes))[0]
    return y[:, 1] if classes.tolist() == [0, 1] and rng.random() < 0.5 else y


def parameters_of(kind, rng, learner):
    """Return parameters, many at their defaults: ``kind`` decides which, ``rng`` their sizes."""
    chosen = {}

    def maybe(name, share, *values):
        if kind.random() < share:
            chosen[name] = values[kind.integers(len(values))]

    classifies, nag = learner.endswith("Classifier"), learner.startswith("NAG")
    maybe("loss", 0.8, *(CLASSIFICATION if classifies else REGRESSION + LOG_LINK))
    maybe("fit_intercept", 0.15, False)
    maybe("centering", 0.3, False, *([True] if chosen.get("fit_intercept", True) else []))
    if classifies:
        maybe("multi_class", 0.3, "ovr")
    else:
        maybe("target_normalization", 0.2, None)
        if chosen.get("loss") == "quantile":
            maybe("quantile", 0.7, 0.1, 0.9)
        if chosen.get("loss") == "tweedie":
            maybe("power", 0.7, 1.0, 1.1, 1.9, 2.0)
        if "epsilon" in chosen.get("loss", "") or chosen.get("loss") == "huber":
            maybe("epsilon", 0.4, 0.0, 1.0, 1e-3, 1e-300 if rng.random() < 0.2 else 10.0)
    if not nag:
        maybe("update", 0.7, "potential", "scinol1", "scinol2")
        if chosen.get("update", "potential") == "potential" and chosen.get("centering") is not False:
            maybe("invariance", 0.4, "full")
        if not classifies and "invariance" in chosen and not chosen.keys() & {"loss", "update"}:
            maybe("half_life", 0.5, 1.0, 10.0, 1e4)
        maybe(ALPHA, 0.2, 1.126, 10.0)
        maybe("average", 0.4, True, False)
        return chosen
    maybe("normalization", 0.4, "max", "rms", None)
    maybe("adaptive", 0.25, False)
    maybe("importance_aware", 0.2, False)
    maybe("eta0", 0.5, "auto", 0.1, 10.0, float(10.0 ** rng.integers(-4, 5)))
    maybe("learning_rate", 0.15, "invscaling")
    maybe("penalty", 0.4, "l1", "l2", "elasticnet")
    if "penalty" in chosen:
        maybe("alpha", 0.7, 0.01, 1.0, float(10.0 ** rng.integers(-8, 8)))
    maybe("average", 0.4, True, False, 5)
    return chosen


def parameters_of_ftrl(kind, rng, classifies):
    """Return parameters of learners that follow the regularised leader, except the loss."""
    chosen = {}

    def maybe(name, share, *values):
        if kind.random() < share:
            chosen[name] = values[kind.integers(len(values))]

    maybe("regularizer", 0.6, "l2", "entropy")
    maybe("normalization", 0.6, "auto", "rms", None)
    maybe("centering", 0.3, False, True)
    if chosen.get("centering") is not True:
        maybe("fit_intercept", 0.15, False)
    if classifies:
        maybe("multi_class", 0.3, "ovr")
    else:
        maybe("target_normalization", 0.2, None)
    if chosen.get("normalization", "max") != "max":
        maybe("half_life", 0.3, 1.0, 10.0, 1e4)
    maybe("eta0", 0.4, 0.1, 10.0, float(10.0 ** rng.integers(-4, 5)))
    maybe("beta", 0.3, 0.0, 1.0, 1e-300)
    maybe("power_t", 0.2, 0.0, 1.0)
    if chosen.get("regularizer") == "entropy":
        maybe("radius", 0.4, 1.0, 1e-3, 1e3)
        maybe("positive", 0.4, True)
    else:
        maybe("l1", 0.4, 1.0, float(10.0 ** rng.integers(-8, 8)))
        maybe("l2", 0.3, 1.0, float(10.0 ** rng.integers(-8, 8)))
    return chosen


def parameters_of_hedge(kind, rng, classifies):
    """Return parameters of a mixture of the default learners, or of a learner and such a mixture."""
    chosen = {}
    update = str(kind.choice(["adahedge", "hedge", *["weighted_majority"] * classifies]))
    if kind.random() < 0.7:
        chosen["update"] = update
    if chosen.get("update", "adahedge") != "adahedge" and kind.random() < 0.5:
        chosen["eta0"] = float(10.0 ** rng.integers(-4, 5))
    if kind.random() < 0.4:
        loss = "absolute_error" if not classifies else "zero_one"
        chosen["loss"] = loss
    if kind.random() < 0.2:  # a mixture within a mixture
        kinds = ("NAGClassifier", "HedgeClassifier") if classifies else ("NAGRegressor", "HedgeRegressor")
        chosen["estimators"] = [(name, getattr(sklearn_nag, name)()) for name in kinds]
    return chosen


def parameters_of_cells(rng, n_columns, is_sparse):
    """Return parameters of lines, curves and cells, small enough for all of these to exist after a few rows."""
    chosen = {"n_trees": 8, "depth": int(rng.integers(1, 4)), "random_state": 0}
    chosen |= {"first_rows": int(rng.integers(1, 15)), "focus_rows": [None, 8, 20][rng.integers(3)]}
    if is_sparse or rng.random() < 0.3:
        chosen["columns"] = sorted({int(place) for place in rng.integers(0, min(n_columns, 4), 3)})
    if rng.random() < 0.2:
        chosen["max_columns"] = 24  # so that cells are hashed
    if rng.random() < 0.2:
        chosen["half_life"] = "auto" if rng.random() < 0.2 else float(rng.choice([1.0, 10.0, 1e4]))
    return chosen


def constraint_of(kind, rng, learner, parameters):
    """Return a constraint on the weights with the parameters that it needs; empty if it is not possible."""
    if kind.random() < 0.5 and parameters.get("regularizer") != "entropy":
        signs = "nonnegative", {0: -1}, {0: 1}, Box()
        possible = learner.startswith("FTRL") or parameters.get("penalty") in (None, "l2")
        return {"constraint": signs[rng.integers(len(signs))]} if possible else {}
    chosen = SETS[kind.integers(len(SETS))](float(10.0 ** rng.integers(-3, 4)))
    if learner.startswith("FTRL"):
        simple = isinstance(chosen, Simplex) and parameters.get("l1")
        return {"constraint": chosen} if parameters.get("regularizer") == "l2" and not simple else {}
    if parameters.get("penalty") is not None:
        return {}
    if not isinstance(chosen, Simplex):
        return {"constraint": chosen}
    if parameters.get("half_life") is not None or parameters.get("centering") is True:
        return {}
    needed = {"normalization": None, "adaptive": False, "constraint": chosen}
    return needed if learner == "NAGClassifier" else {**needed, "target_normalization": None}


def box_of(rng, d, box):
    """Return a box with bounds for each column, of any size, or the same for all; some are infinite, and some are 0."""
    shape = () if rng.random() < 0.3 else (d,)
    low, high = (
        np.where(rng.random(shape) < 0.3, end, 10.0 ** rng.integers(-300, 301, shape)) for end in (0.0, np.inf)
    )
    return replace(box, low=-low if shape else -float(low), high=high if shape else float(high))


def rows_of(rng, n, d):
    """Return rows: of plain sizes, of a size for each column, growing, of mixed sizes, or of any finite doubles."""
    kind = rng.choice(["plain", "units", "growing", "mixed", "extreme"], p=[0.3, 0.25, 0.15, 0.1, 0.2])
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < rng.choice([1.0, 0.7, 0.2]))
    if rng.random() < 0.3:
        X = np.sign(X)
    if kind == "plain":
        return X * 10.0 ** rng.integers(-3, 4, d) + rng.choice([0.0, 0.0, 1e6], d)
    if kind == "units":
        return X * 10.0 ** rng.integers(-300, 301, d)
    if kind == "growing":
        return X * 10.0 ** np.sort(rng.integers(-300, 301, (n, 1)), axis=0)
    if kind == "mixed":
        return X * 10.0 ** rng.integers(-60, 61, (n, d))
    return rng.choice(EXTREMES, (n, d))


def targets_of(rng, n, X):
    """Return targets of one output or several: of plain, large and small sizes, all equal, or any finite doubles."""
    shape = (n,) if rng.random() < 0.7 else (n, int(rng.integers(1, 4)))
    y = rng.normal(size=shape)
    if rng.random() < 0.4:  # something to learn
        y = y * 0.1 + (np.sign(X[:, 0]) if len(shape) == 1 else np.sign(X[:, :1]))
    kind = rng.choice(["plain", "far", "unit", "mixed", "equal", "extreme"], p=[0.4, 0.15, 0.2, 0.1, 0.05, 0.1])
    if kind == "far":
        return y + 1e9
    if kind == "unit":
        return y * 10.0 ** rng.integers(-99, 100) * 0.1
    if kind == "mixed":
        return np.clip(y * 10.0 ** rng.integers(-99, 100, shape), -LARGEST_TARGET, LARGEST_TARGET)
    if kind == "equal":
        return np.full(shape, y.flat[0])
    return rng.choice(EXTREMES, shape) if kind == "extreme" else y


def as_the_loss_takes_them(y, parameters):
    """Return targets: for losses with a log link their absolute values, with 1 for 0 if these must be positive."""
    loss = parameters.get("loss")
    if loss not in LOG_LINK:
        return y
    positive = loss == "gamma" or (loss == "tweedie" and parameters.get("power") == 2.0)
    return np.where(y == 0.0, 1.0, np.abs(y)) if positive else np.abs(y)


def weights_of(rng, n):
    """Return weights of the rows: none, counts with zeros, perhaps scaled, many sizes, or any doubles."""
    kind = rng.choice(["none", "counts", "sizes", "extreme"], p=[0.5, 0.25, 0.15, 0.1])
    if kind == "none":
        return None
    if kind == "counts":
        return rng.integers(0, 3, n) * rng.choice([1.0, 0.3])
    if kind == "sizes":
        return 10.0 ** rng.integers(-99, rng.choice([50, 100]), n)
    return np.abs(rng.choice(EXTREMES, n))
