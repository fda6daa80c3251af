"""Checks of parameters and of input. Nothing here learns."""

from __future__ import annotations

import functools
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.utils import check_array, check_scalar
from sklearn.utils.multiclass import check_classification_targets

from ._locks import lock_of

Rows: TypeAlias = Any  # arrays, data frames, sparse matrices: more than a type checker can tell apart

_ROWS = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}  # options of `validate_data` and `check_array`
_MOST_NONZEROS = 2**31 - 1
LARGEST_WEIGHT = 1e100  # of a row; squares of weights and their sums stay in range
_CHUNK = 2**16  # labels looked up at a time, so that many need little memory besides


def unchanged_on_error(method):
    """Make ``method`` leave the attributes of its object as they were when it raises, and wait for its turn.

    Calls that change an object are made one after another, whatever threads they come from; see `lock_of`.
    """

    @functools.wraps(method)
    def wrapped(self, *args, **kwargs):
        with lock_of(self):
            return undone_on_error(self, *args, **kwargs)

    def undone_on_error(self, *args, **kwargs):
        before = vars(self).copy()
        try:
            return method(self, *args, **kwargs)
        except BaseException as error:
            vars(self).clear()
            vars(self).update(before)
            # Python reports a wrong call under the name of the base class that defines the method.
            if isinstance(error, TypeError) and f"{method.__qualname__}()" in str(error):
                public = f"{type(self).__name__}.{method.__name__}"
                raise TypeError(str(error).replace(method.__qualname__, public)) from None
            raise

    return wrapped


# -- parameters


def check_option(name, value, allowed):
    """Raise unless ``value``, given for the parameter ``name``, is one of those allowed."""
    if not any(value is option or (isinstance(value, str) and value == option) for option in allowed):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")


def check_number(name, value, kind=Real, **bounds):
    """Raise unless ``value`` is a finite number of the kind, within the bounds of `sklearn.utils.check_scalar`."""
    check_scalar(value, name, kind, **bounds)
    if not np.isfinite(value):
        raise ValueError(f"{name} must be finite; got {value!r}.")


def check_flag(name, value):
    """Raise unless ``value``, given for the parameter ``name``, is a boolean."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False; got {value!r}.")


# -- rows


def check_sparse(X):
    """Raise for sparse ``X`` whose arrays do not make a matrix, or that has more nonzeros than one call takes.

    SciPy believes what it is given, and both its loops and ours would read and write out of bounds.
    """
    if not sparse.issparse(X):
        return
    if X.nnz > _MOST_NONZEROS:
        raise ValueError(
            f"X has {X.nnz} nonzeros; one call takes at most {_MOST_NONZEROS}: give the rows to partial_fit in batches."
        )
    n_rows, n_columns = X.shape
    if X.format == "csr":
        _check_compressed(X, "row", "column", n_rows, n_columns)
    elif X.format == "csc":
        _check_compressed(X, "column", "row", n_columns, n_rows)
    elif X.format == "bsr":
        height, width = X.blocksize
        _check_compressed(X, "block row", "block column", n_rows // height, n_columns // width)
    elif X.format == "coo":
        _check_places(X.row, "row", n_rows)
        _check_places(X.col, "column", n_columns)


def _check_compressed(X, line, across, n_lines, n_across):
    """Raise unless ``indptr`` and ``indices`` name ``n_lines`` lines of entries, each at a place below ``n_across``."""
    indptr = X.indptr
    if indptr.shape != (n_lines + 1,):
        raise ValueError(
            f"X has an indptr of shape {indptr.shape}; with {n_lines} {line}s it must be ({n_lines + 1},)."
        )
    if indptr.dtype.kind != "i" or X.indices.dtype.kind != "i":
        raise ValueError(
            f"X must have signed integers as indptr and indices; they are {indptr.dtype}, {X.indices.dtype}."
        )
    n_entries = int(indptr[-1])
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise ValueError("X has an indptr that does not begin at 0 or decreases.")
    if n_entries > min(len(X.indices), len(X.data)):
        raise ValueError(
            f"X has an indptr that ends at {n_entries}; there are {len(X.indices)} indices and {len(X.data)} entries."
        )
    _check_places(X.indices[:n_entries], across, n_across)


def _check_places(places, what, n):
    """Raise unless all ``places`` are from 0 to ``n - 1``; seen as unsigned, negative ones are large."""
    if places.size and places.view(f"u{places.itemsize}").max() >= n:
        wrong = places[(places < 0) | (places >= n)][0]
        raise ValueError(f"X has an entry in {what} {wrong}; its {what}s go from 0 to {n - 1}.")


def is_plain(X, n_features, finite):
    """Whether `validate_data` would surely return ``X`` as it is; this is far cheaper to tell.

    With ``finite``, ``X`` must not hold NaN or infinity either.
    """
    if type(X) is np.ndarray:
        data, fits = X, X.ndim == 2
    elif sparse.issparse(X) and X.format == "csr":
        data, fits = X.data, True
    else:
        return False
    if not (fits and data.dtype in (np.float64, np.float32) and X.shape[0] > 0 and X.shape[1] == n_features):
        return False
    if not finite:
        return True
    with np.errstate(all="ignore"):
        return bool(np.isfinite(data.sum()))


def check_repeated(X):
    """Raise for sparse ``X`` that names a place more than once with values whose sum is not finite."""
    if sparse.issparse(X):
        with np.errstate(all="ignore"):
            summed = X.astype(np.float64)
            summed.sum_duplicates()
        if not np.isfinite(summed.data).all():
            raise ValueError("X has entries for the same place whose sum is infinite.")


def check_weights(sample_weight, n_rows):
    """Weights of the rows as float64, None if none are given; a single number stands for all rows."""
    if sample_weight is None:
        return None
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"sample_weight must hold numbers; got {sample_weight!r:.60}.") from None
    weight = np.full(n_rows, weight) if weight.ndim == 0 else weight
    weight = check_array(weight, ensure_2d=False, ensure_min_samples=0, allow_nd=True, input_name="sample_weight")
    if weight.shape != (n_rows,):
        raise ValueError(f"sample_weight has shape {weight.shape}; X has {n_rows} rows, so it must be ({n_rows},).")
    if n_rows and weight.min() < 0:
        row = int(np.argmin(weight))
        raise ValueError(f"sample_weight must not be negative; it is {weight[row]} at row {row}.")
    if n_rows and (weight.max() > LARGEST_WEIGHT or weight.min() < 1.0 / LARGEST_WEIGHT):
        beyond = (weight > LARGEST_WEIGHT) | ((weight > 0) & (weight < 1.0 / LARGEST_WEIGHT))
        if beyond.any():
            row = int(np.argmax(beyond))
            raise ValueError(
                f"sample_weight must be 0 or between {1.0 / LARGEST_WEIGHT:g} and {LARGEST_WEIGHT:g}; it is "
                f"{weight[row]} at row {row}."
            )
    return weight


# -- classes


def as_given(label):
    """``label`` as one would write it: ``7``, not ``np.int64(7)``."""
    return repr(label.item() if isinstance(label, np.generic) else label)


def two_or_more(classes):
    """Return ``classes``; raise if there are fewer than two."""
    if len(classes) < 2:
        got = f"1 class, {as_given(classes[0])}" if len(classes) else "no class"
        raise ValueError(f"a classifier needs at least two classes; got {got}.")
    return classes


def class_codes(y, classes):
    """Place of each label in the sorted ``classes``, as int32; raise for a label that is not among them."""
    codes = np.empty(len(y), np.int32)
    for start in range(0, len(y), _CHUNK):
        part = y[start : start + _CHUNK]
        if len(classes) == 2 and part.dtype.kind == classes.dtype.kind != "O":
            found = part == classes[1]
            known = found | (part == classes[0])
        else:
            try:
                found = np.searchsorted(classes, part)
            except TypeError:
                raise ValueError(f"y has labels of another kind than the classes {classes}.") from None
            found[found == len(classes)] = 0
            known = classes[found] == part
        if not np.all(known):
            check_classification_targets(y)
            raise ValueError(f"y contains {as_given(part[np.argmin(known)])}, which is not one of classes {classes}.")
        codes[start : start + _CHUNK] = found
    return codes
