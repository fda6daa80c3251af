"""Checks of rows, targets and weights from many libraries. Nothing here learns."""

from __future__ import annotations

import datetime
import importlib
from collections.abc import Iterator, Mapping, MappingView, Set
from contextlib import suppress
from numbers import Complex, Integral, Number, Real
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, check_consistent_length, get_tags
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_is_fitted, validate_data

from ..kernels import all_finite
from ._parameters import shown

Rows: TypeAlias = Any  # arrays, data frames, sparse matrices: more than a type checker can distinguish
Targets: TypeAlias = Any  # arrays, data frames and, for several labels, sparse matrices

_ROWS = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}  # options of `validate_data` and `check_array`
_MOST_NONZEROS = 2**31 - 1
_MAKE_NUMBERS = "convert them to numbers first, such as days since the first one."
_DATES = np.datetime64, np.timedelta64, datetime.date, datetime.timedelta  # these include pandas' own
_NOT_FITTED = (
    "This %(name)s instance is not fitted yet: call fit or partial_fit before using it. fit_stream, shard_fit and "
    "sklearn_nag.dask.fit do not change the estimator that they are given: use the one that they return."
)
_NOT_REAL = "give real and imaginary parts as columns of their own."
_WITHOUT_ORDER = Iterator, Mapping, MappingView, Set  # whose entries have no positions
LARGEST_WEIGHT = 1e100  # of a row; squares of weights and their sums stay in range
_FEW = 64  # labels times classes, up to which searching lists is faster than arrays
_FEW_LABELS = 20  # of more, scikit-learn warns if over half are different
_CHUNK = 2**16  # labels looked up at a time, to save memory


def check_coverage(coverage):
    """One or several coverages as an array; raise unless each is between 0 and 1."""
    coverages = np.atleast_1d(as_floats(coverage, "coverage"))
    if not (coverages.ndim == 1 and coverages.size and ((coverages > 0.0) & (coverages < 1.0)).all()):
        raise ValueError(f"coverage must be a float between 0 and 1, or several of these; got {shown(coverage)}.")
    return coverages


def check_fitted(estimator, message=_NOT_FITTED):
    """Raise NotFittedError if this estimator itself has learnt nothing; None stands for scikit-learn's message."""
    if hasattr(estimator, "__sklearn_is_fitted__") and estimator.__sklearn_is_fitted__():
        return  # because check_is_fitted is slow to find that all is well
    check_is_fitted(estimator, msg=message)


# -- rows


def as_numpy(array, name, is_decoded=True):
    """``array``, as NumPy's if it is another library's, or masked without a masked entry.

    Arrow's stay as they are, with dictionaries decoded if ``is_decoded``. Raise for masked entries, for sets,
    generators and the like, whose entries have no positions, and for arrays that NumPy cannot read.
    """
    if type(array) is np.ndarray:
        return array
    if type(array).__name__ == "RecordBatch" and hasattr(array, "schema"):  # Arrow's; as a table it has column names
        array = importlib.import_module("pyarrow").Table.from_batches([array])
    if is_decoded and type(array).__module__.startswith("pyarrow."):
        if "ArrowPeriodType" in str(getattr(array, "schema", getattr(array, "type", ""))):
            raise ValueError(f"{name} has dates or times: {_MAKE_NUMBERS}")
        array = _decoded(array)
    if _holds_masks(array):
        raise_for_masked(array, name)
        return np.asarray(array)
    if isinstance(array, _WITHOUT_ORDER) and not sparse.issparse(array):
        raise TypeError(
            f"{name} is a {type(array).__name__}, whose entries have no positions: expected an array, or a sequence "
            "such as a list."
        )
    if type(array).__name__ == "LazyFrame" and hasattr(array, "collect"):  # of polars
        raise TypeError(f"{name} is a LazyFrame, which has no rows before it is collected: give {name}.collect().")
    if isinstance(array, np.ndarray) or not (hasattr(array, "__array_namespace__") or hasattr(array, "__dlpack__")):
        return array
    try:
        converted = np.asarray(array)
    except (TypeError, ValueError, RuntimeError, BufferError, AttributeError):
        converted = None
    if converted is None or (converted.dtype.kind == "O" and not _holds_words(converted)):
        kind = f"{type(array).__module__}.{type(array).__qualname__}"
        raise TypeError(
            f"{name} is a {kind}, which NumPy cannot read: convert it to a NumPy array, after moving it "
            "to the CPU and detaching it from gradients where needed."
        )
    return converted


def as_targets(y):
    """Like `as_numpy`; pandas' nullable integers and booleans become NumPy's if none is missing.

    Otherwise they would become floats, in which large labels coincide. Raise ValueError for lists of strings, such as
    members of an enum, that NumPy makes equal.
    """
    y = as_numpy(y, "y")
    if isinstance(y, list | tuple) and y and all(isinstance(label, str) for label in y):
        words = np.asarray(y)
        check_told_apart("y", {*y}, {*words.tolist()})
        return words
    column = y.iloc[:, 0] if hasattr(y, "iloc") and np.ndim(y) == 2 and y.shape[1] == 1 else y
    dtype = getattr(getattr(column, "dtype", None), "numpy_dtype", None)  # of nullable types, and of Arrow's in pandas
    if getattr(dtype, "kind", "O") not in "biu":
        return y
    return y if column.isna().any() else np.asarray(column, dtype=dtype).reshape(y.shape)


def _decoded(array):
    """Arrow's ``array`` with values instead of codes: NumPy would read a missing code as the last value."""
    if hasattr(array, "column_names"):
        for i, field in enumerate(array.schema):
            if hasattr(field.type, "index_type"):
                array = array.set_column(i, field.name, _decoded(array.column(i)))
    elif hasattr(getattr(array, "type", None), "index_type"):
        kind = array.type.value_type  # Arrow has no cast to views of strings
        is_view = str(kind) == "string_view"
        array = importlib.import_module("pyarrow").array(array.to_pylist()) if is_view else array.cast(kind)
    return array


def _holds_words(objects):
    """Whether objects are strings and None, as from Arrow, not another library's scalars."""
    return all(entry is None or isinstance(entry, str) for entry in objects.ravel())


def _holds_masks(values):
    """Whether ``values`` is a masked array or a sequence with one."""
    if isinstance(values, list | tuple):
        return any(isinstance(entry, np.ma.MaskedArray) for entry in values)
    return isinstance(values, np.ma.MaskedArray)


def raise_for_masked(values, name):
    """Raise for the first masked entry of ``values``."""
    if not _holds_masks(values):
        return
    if isinstance(values, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(values)
        place = np.unravel_index(np.argmax(mask), mask.shape) if mask.any() else None
    else:
        masks = [np.ma.getmaskarray(entry) for entry in values]
        first = next((row for row, mask in enumerate(masks) if mask.any()), None)
        place = None if first is None else (first, *np.argwhere(masks[first])[0])
    if place is not None:
        raise ValueError(
            f"{name} has a masked entry{_in_place(place)}, which has no value: leave it out, or fill the array by its "
            "method filled."
        )


def check_kinds(X):
    """Raise for columns of ``X`` that NumPy would convert to wrong numbers.

    These are dates and times, which would lose their unit, and complex numbers, which would lose a part.
    """
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        raise_for_kinds("X", np.empty(0, X.dtype) if sparse.issparse(X) else X)
        return
    for name, dtype in zip(X.columns, X.dtypes):
        dtype = getattr(getattr(dtype, "categories", None), "dtype", dtype)
        is_temporal = getattr(dtype, "is_temporal", None)  # of polars
        if getattr(dtype, "kind", None) in ("m", "M") or (is_temporal is not None and is_temporal()):
            raise ValueError(f"X has dates or times in column {as_given(name)} ({dtype}): {_MAKE_NUMBERS}")
        if getattr(dtype, "kind", None) == "c":
            raise ValueError(f"Complex data not supported: X has {dtype} in column {as_given(name)}; {_NOT_REAL}")


def raise_for_kinds(name, values):
    """Like `check_kinds`, for any ``values``."""
    if sparse.issparse(values):
        raise ValueError(f"{name} must be dense: give {name}.toarray().")
    is_sequence = isinstance(values, list | tuple)
    for i, row in enumerate(values if is_sequence else ()):  # among objects, nanoseconds would be integers
        if isinstance(row, np.ndarray) and row.dtype.kind in "mM" and row.size:
            place = _in_place((i, 0))
            raise ValueError(f"{name} has a date or time{place}, {row.flat[0]!r}: convert it to a number first.")
    entries = np.asarray(values, dtype=object) if is_sequence else np.asarray(values)
    if entries.dtype.kind in "mM":
        raise ValueError(f"{name} has dates or times ({entries.dtype}): {_MAKE_NUMBERS}")
    if entries.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} has dtype {entries.dtype}; {_NOT_REAL}")
    kinds = set(map(type, entries.flat)) if entries.dtype == object else ()
    if any(issubclass(kind, _DATES) for kind in kinds):
        place, entry = next(pair for pair in np.ndenumerate(entries) if isinstance(pair[1], _DATES))
        raise ValueError(f"{name} has a date or time{_in_place(place)}, {entry!r}: convert it to a number first.")
    if any(_is_not_real(kind) for kind in kinds):
        place, entry = next(pair for pair in np.ndenumerate(entries) if _is_not_real(type(pair[1])))
        raise ValueError(f"Complex data not supported: {name} has {as_given(entry)}{_in_place(place)}; {_NOT_REAL}")


def _is_not_real(kind):
    return issubclass(kind, Complex) and not issubclass(kind, Real)


def as_floats(values, name):
    """``values`` as an array of float64; raise unless they are real numbers."""
    values = as_numpy(values, name)
    raise_for_kinds(name, values)
    try:
        return np.asarray(values, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        raise_for_entry(name, values)
        raise ValueError(f"{name} must hold numbers; got {shown(values)}.") from None


def raise_for_entry(name, values, names=None):
    """Raise for the first entry of ``values`` that cannot be a float, if any."""
    entries = np.asarray(values, dtype=object)
    for place in np.ndindex(entries.shape):
        try:
            float(entries[place])
        except OverflowError:
            raise ValueError(
                f"{name} has an integer beyond the range of float64 (1.8e308){_in_place(place, names)}."
            ) from None
        except TypeError as error:
            raise TypeError(f"{name} must hold numbers{_in_place(place, names, ';')}: {error}.") from None
        except ValueError:
            entry = shown(_without_type(entries[place]))
            advice = " sklearn_nag.preprocessing.prepare converts words to columns of numbers." if name == "X" else ""
            raise ValueError(
                f"{name} must hold numbers{_in_place(place, names, ';')}: could not convert string to float: {entry}."
                f"{advice}"
            ) from None


def converted(estimator, X, *y, **options):
    """Rows, and targets if given, as numeric arrays, by `validate_data` with these ``options``."""
    X = as_numpy(X, "X")
    check_kinds(X)
    fills = [getattr(dtype, "fill_value", None) for dtype in X.dtypes] if hasattr(X, "sparse") else [None]
    if None not in fills and any(type(fill).__name__ == "NAType" or fill != 0 for fill in fills):  # of no matrix
        X = X.sparse.to_dense()
    if y and y[0] is not None:
        y = (as_targets(y[0]),)
        if options.get("y_numeric"):
            raise_for_kinds("y", y[0])
        elif (labels := np.asarray(y[0])).dtype.kind == "c":
            raise ValueError("Complex data not supported: y has complex numbers, which are not labels.")
        elif isinstance(y[0], list | tuple) and labels.dtype.kind == "U":  # NumPy turns NaN into the word "nan"
            _raise_for_missing("y", y[0])
        elif labels.dtype.kind in "Of":
            _raise_for_missing("y", labels)
    try:
        return validate_data(estimator, X, *y, **options, **_ROWS)
    except (OverflowError, TypeError, ValueError) as error:
        if isinstance(error, TypeError) and (known := _with_nan(X)) is not X:
            return converted(estimator, known, *y, **options)
        if type(error) is ValueError and "could not convert" not in str(error):
            for name, values in zip("Xy", (X, *y)):
                if str(error).startswith(f"Input {name} contains"):
                    _raise_for_infinite(estimator, name, values, options)
            raise
        if y and y[0] is not None and options.get("y_numeric"):
            raise_for_entry("y", y[0])
        if not sparse.issparse(X):
            raise_for_entry("X", X, getattr(X, "column_names", getattr(X, "columns", None)))  # column_names is Arrow's
        raise


def _raise_for_infinite(estimator, name, values, options):
    """Raise for the first entry of X or y that `validate_data` refused with these ``options``, in its place."""
    is_x = name == "X"
    numbers = check_array(values, **_ROWS, ensure_2d=is_x, ensure_all_finite=False)
    names = getattr(estimator, "feature_names_in_", None) if is_x else None
    may_lack = is_x and options.get("ensure_all_finite") == "allow-nan"
    check_finite(numbers, name, type(estimator).__name__, names, may_lack=may_lack)


def _with_nan(X):
    """``X`` with NaN for pandas' NA, which Python cannot convert; ``X`` itself without NA."""
    if sparse.issparse(X) or hasattr(X, "column_names"):
        return X
    entries = np.asarray(X, dtype=object)
    missing = np.array([type(entry).__name__ == "NAType" for entry in entries.flat], dtype=bool).reshape(entries.shape)
    if not missing.any():
        return X
    return X.astype(object).mask(missing, np.nan) if hasattr(X, "mask") else np.where(missing, np.nan, entries)


def takes_by_name(model):
    """Whether a model, or the step that gets its rows, finds columns by name, in any order."""
    while getattr(model, "steps", None):
        model = next((step for _, step in model.steps if step is not None and step != "passthrough"), None)
    return getattr(model, "_takes_by_name", False)


def unconverted(estimator, X, *y, reset, by_name=False):
    """Rows as given, checked only for names and numbers of rows and columns; and targets.

    With ``by_name``, columns are left to whom the rows are for.
    """
    X = as_numpy(X, "X", is_decoded=False)
    if not (hasattr(X, "shape") or hasattr(X, "__len__")):  # None, or an object with only __array__
        X = np.asarray(X)
        if X.ndim == 0:
            check_array(X, dtype=None)  # raises
    if by_name and y and y[0] is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None."
        )
    try:
        if not by_name:
            validate_data(estimator, X, *y, reset=reset, skip_check_array=True)
    except ValueError:
        if len(np.shape(X)) < 2 and not (y and y[0] is None):
            check_array(X, dtype=None)
        raise
    if not y:
        return X
    targets = as_targets(y[0])
    check_consistent_length(X, targets)
    if not (X.shape[0] if hasattr(X, "shape") else len(X)):
        raise ValueError(f"Found array with 0 sample(s); {type(estimator).__name__} needs at least one.")
    return X, targets


def _in_place(place, names=None, before=""):
    """Text for an index, after ``before``; empty for the index of a scalar."""
    return f"{before} in {_place(place, names)}" if len(place) else ""


def _place(place, names=None):
    """Text for an index: row, column, and the column's name, if any."""
    row, *column = map(int, place)
    if not column:
        return f"row {row}"
    return f"row {row}, column {column[0]}" + ("" if names is None else f" ({as_given(names[column[0]])})")


def check_finite(values, name, owner, names=None, *, may_lack=False):
    """Raise for the first NaN or infinity in ``values``, dense or CSR, with its row and column.

    ``name`` is ``"X"``, ``"y"`` or the like, ``owner`` the public class that got it; ``names`` are of columns. NaN is
    allowed if values ``may_lack``.
    """
    data = values.data[: values.indptr[-1]] if sparse.issparse(values) else values
    with np.errstate(all="ignore"):
        if np.isfinite(data.sum()) or np.isfinite(data).all():  # a sum may overflow
            return
    bad = np.isinf(data) if may_lack else ~np.isfinite(data)
    if not bad.any():
        return
    first = int(np.argmax(bad))
    what, is_alike = ("NaN", np.isnan) if np.isnan(data.flat[first]) else ("infinity", np.isinf)
    if sparse.issparse(values):
        rows = np.searchsorted(values.indptr, np.flatnonzero(is_alike(data)), side="right") - 1
        place, n_rows = (rows[0], values.indices[first]), len(np.unique(rows))
    else:
        place = np.unravel_index(first, data.shape)
        n_rows = np.count_nonzero(is_alike(data).reshape(len(data), -1).any(axis=1))
    more = f", the first of {n_rows} such rows" if n_rows > 1 else ""
    advice = ""
    if what == "NaN" and name == "X":
        advice = (
            f" {owner} takes no missing values: leave such rows out, or fill them with "
            "sklearn_nag.preprocessing.OnlineImputer or sklearn.impute.SimpleImputer."
        )
    elif what == "NaN" and name == "y":
        advice = f" {owner} takes no missing targets: leave such rows out."
    raise ValueError(f"Input {name} contains {what} in {_place(place, names)}{more}.{advice}")


def takes_sparse(estimator):
    """Whether an estimator takes sparse rows, by its tags; True without readable ones."""
    try:
        return not hasattr(estimator, "__sklearn_tags__") or get_tags(estimator).input_tags.sparse
    except (TypeError, ValueError, AttributeError):  # it will be refused
        return True


def check_sparse(X):
    """Raise for sparse ``X`` whose arrays do not form a matrix, or are too long."""
    if not sparse.issparse(X):
        return
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimension{'s' if X.ndim > 1 else ''}; it must be a matrix.")
    n_rows, n_columns = X.shape
    if X.format == "csr":
        _check_compressed(X, "row", "column", n_rows, n_columns)
    elif X.format == "csc":
        _check_compressed(X, "column", "row", n_columns, n_rows)
    elif X.format == "bsr":
        _check_array("data", X.data, 3)
        height, width = X.data.shape[1:]
        if height < 1 or width < 1:
            raise ValueError(f"X has blocks of {height} x {width}; they must have rows and columns.")
        _check_compressed(X, "block row", "block column", n_rows // height, n_columns // width)
    elif X.format == "coo":
        _check_coordinates(X)
    elif X.format == "lil":
        _check_lists(X)
    elif X.format == "dia":
        _check_array("data", X.data, 2)
        _check_array("offsets", X.offsets, 1, integers=True)
        if len(X.offsets) != len(X.data):
            raise ValueError(f"X has {len(X.offsets)} offsets and {len(X.data)} diagonals.")
    _check_number_of_entries(X.nnz)


def _check_number_of_entries(n):
    if n > _MOST_NONZEROS:
        raise ValueError(
            f"X has {n} nonzeros; one call takes at most {_MOST_NONZEROS}: give the rows to partial_fit in batches."
        )


def _check_array(name, array, ndim, integers=False):
    """Raise unless ``array`` has ``ndim`` dimensions and, with ``integers``, a type for Numba."""
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise ValueError(
            f"X has masked entries in its {name}, which have no values: fill the array by its method filled."
        )
    if not (isinstance(array, np.ndarray) and array.ndim == ndim):
        got = f"shape {array.shape}" if isinstance(array, np.ndarray) else f"type {type(array).__name__}"
        raise ValueError(f"X has {name} of {got}; it must be an array of {ndim} dimension{'s' if ndim > 1 else ''}.")
    if integers and not (array.dtype.kind == "i" and array.dtype.isnative):
        raise ValueError(
            f"X has {name} of dtype {array.dtype.str!r}; they must be signed integers of this machine's byte order."
        )


def _check_compressed(X, line, across, n_lines, n_across):
    """Raise unless ``indptr`` and ``indices`` describe ``n_lines`` lines of entries, below ``n_across``."""
    indptr = X.indptr
    _check_array("indptr", indptr, 1, integers=True)
    _check_array("indices", X.indices, 1, integers=True)
    _check_array("data", X.data, 3 if X.format == "bsr" else 1)
    if indptr.shape != (n_lines + 1,):
        raise ValueError(
            f"X has an indptr of shape {indptr.shape}; with {n_lines} {line}s it must be ({n_lines + 1},)."
        )
    n_entries = int(indptr[-1])
    _check_number_of_entries(n_entries)
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise ValueError("X has an indptr that does not begin at 0 or decreases.")
    if n_entries > min(len(X.indices), len(X.data)):
        raise ValueError(
            f"X has an indptr that ends at {n_entries}; there are {len(X.indices)} indices and {len(X.data)} entries."
        )
    _check_places(X.indices[:n_entries], across, n_across)


def _check_coordinates(X):
    """Raise unless a COO matrix has coordinates inside it, one for each entry."""
    coords = X.coords if hasattr(X, "coords") else (X.row, X.col)
    if len(coords) != 2:
        raise ValueError(f"X has coordinates of {len(coords)} dimensions; it must be a matrix.")
    _check_array("data", X.data, 1)
    for what, places, n in zip(("row", "column"), coords, X.shape):
        _check_array(f"{what}s", places, 1, integers=True)
        if len(places) != len(X.data):
            raise ValueError(f"X has {len(places)} {what}s and {len(X.data)} entries.")
        _check_places(places, what, n)


def _check_lists(X):
    """Raise unless the lists of a LIL matrix fit its rows and columns."""
    n_rows, n_columns = X.shape
    for name in ("rows", "data"):
        lists = getattr(X, name)
        _check_array(name, lists, 1)
        if lists.shape != (n_rows,) or not all(isinstance(row, list) for row in lists):
            raise ValueError(f"X has {name} that are not {n_rows} lists, one for each row.")
    for row, (places, values) in enumerate(zip(X.rows, X.data)):
        if len(places) != len(values):
            raise ValueError(f"X has {len(places)} columns and {len(values)} entries in row {row}.")
        if places:
            _check_places(np.asarray(places), "column", n_columns)


def _check_places(places, what, n):
    """Raise unless ``places`` are from 0 to ``n - 1``; as unsigned, negative ones are large."""
    if places.dtype.kind != "i":
        raise ValueError(f"X has {what}s of dtype {places.dtype}; they must be integers.")
    if places.size and places.view(f"u{places.itemsize}").max() >= n:
        wrong = places[(places < 0) | (places >= n)][0]
        raise ValueError(f"X has an entry in {what} {wrong}; its {what}s go from 0 to {n - 1}.")


def values_of(X):
    """The numbers of dense or CSR rows."""
    return X if isinstance(X, np.ndarray) else X.data


def is_plain(X, n_features, finite):
    """Whether `validate_data` would surely return ``X`` as it is; far cheaper to tell.

    With ``finite``, ``X`` must also be free of NaN and infinity; with ``finite="allow-nan"``, of infinity.
    """
    if type(X) is np.ndarray:
        data, fits = X, X.ndim == 2
    elif sparse.issparse(X) and X.format == "csr":
        data, fits = X.data, True
    else:
        return False
    if not (fits and data.dtype in (np.float64, np.float32) and X.shape[0] > 0 and X.shape[1] == n_features):
        return False
    return not finite or (not np.isinf(data).any() if finite == "allow-nan" else all_finite(data))


def check_repeated(X):
    """Raise for sparse ``X`` with repeated entries whose sum is not finite."""
    if sparse.issparse(X):
        with np.errstate(all="ignore"):
            summed = X.astype(np.float64)
            summed.sum_duplicates()
        if not np.isfinite(summed.data).all():
            raise ValueError("X has entries for the same place whose sum is infinite.")


def check_weights(sample_weight, n_rows):
    """Row weights as float64, None if none are given; a single number is for all rows."""
    if sample_weight is None:
        return None
    weight = as_floats(sample_weight, "sample_weight")
    weight = np.full(n_rows, weight) if weight.ndim == 0 else weight
    if weight.shape != (n_rows,):
        raise ValueError(f"sample_weight has shape {weight.shape}; X has {n_rows} rows, so it must be ({n_rows},).")
    check_finite(weight, "sample_weight", "")
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
    return repr(_without_type(label))


def _without_type(label):
    return label.item() if isinstance(label, np.generic) else label


def as_labels(y, name):
    """Labels as a plain NumPy array, including whole numbers and booleans in objects."""
    if y.dtype.kind in "mM":
        raise ValueError(f"{name} must be whole numbers, booleans or words; it holds {y.dtype}.")
    if y.dtype.kind in "Of":
        _raise_for_missing(name, y)
    whole = y.dtype == object and y.ndim == 1 and all(isinstance(label, Integral | np.bool_) for label in y)
    plain = np.asarray(y.tolist()) if whole else y
    return plain if plain.dtype.kind in "biu" else y


def _raise_for_missing(name, labels):
    """Raise for the first missing label, such as None or NaN."""
    if getattr(labels, "dtype", np.dtype(object)).kind == "f" and not np.isnan(labels).any():
        return
    entries = np.asarray(labels, dtype=object)
    for place, label in np.ndenumerate(entries) if set(map(type, entries.flat)) - {str} else ():
        if is_missing(label):
            raise ValueError(f"{name} has a missing label, {label}{_in_place(place, before=',')}: leave such rows out.")


def is_missing(value: Any) -> bool:
    """Whether a Python value is missing: None, NaN, NaT, or pandas' NA."""
    if value is None:
        return True
    if isinstance(value, str):
        return False
    return type(value).__name__ in ("NAType", "NaTType") or (
        isinstance(value, Number | np.datetime64) and value != value
    )


def check_labels(y):
    """Return the labels ``y``; raise unless they can be classes."""
    are_plain = y.ndim == 1 and len(y) and y.dtype.kind in "biuU"
    if are_plain and (len(y) <= _FEW_LABELS or 2 * len(np.unique(y)) <= len(y)):
        return y
    if isinstance(next(iter(np.ravel(y)[:1]), None), bytes):  # scikit-learn before 1.7 only warns of these
        raise ValueError("y has labels of bytes, which are not supported: decode them.")
    try:
        check_classification_targets(y)
    except TypeError:
        raise ValueError(f"y has labels of a different type from its first one, {as_given(y[0])}.") from None
    return y


def classes_of(y):
    """The sorted classes; objects become plain arrays, except those that NumPy lacks, such as enums."""
    found = np.unique(y)
    plain = np.asarray(found.tolist()) if found.dtype == object else found
    return plain if plain.tolist() == found.tolist() else found


def named_classes(classes):
    """The given classes, sorted; raise if they cannot be classes."""
    labels = np.asarray(given := as_numpy(classes, "classes"))
    are_numbers = labels.ndim == 1 and labels.size and labels.dtype.kind in "biu" and labels.dtype.isnative
    if are_numbers and (labels[1:] > labels[:-1]).all():
        return labels.copy()  # because unique_labels is slow to find that all is well
    if labels.dtype.kind == "U":  # because NumPy turns numbers beside words into words
        labels = np.asarray(given, dtype=object)
    try:
        found = unique_labels(as_labels(labels, "classes"))
    except (TypeError, ValueError):
        raise ValueError(f"classes must be whole numbers, booleans or words; got {shown(classes)}.") from None
    if labels.dtype == object:
        check_told_apart("classes", {*labels.tolist()}, {*found.tolist()})
    return found


def check_told_apart(name, labels, words):
    """Raise if NumPy makes fewer ``words`` of the labels than there are."""
    if len(words) < len(labels):
        alike = ", ".join(sorted(map(repr, labels))[:3])
        raise ValueError(
            f"{name} has labels that NumPy converts to the same word, such as {alike:.200}: give plain words."
        )


def check_classes(classes):
    """Like `named_classes`; raise unless there are two or more."""
    return two_or_more(named_classes(classes))


def classes_as_before(model, classes):
    """Like `check_classes`; raise unless a fitted model has the same."""
    named = check_classes(classes)
    if model.__sklearn_is_fitted__() and not np.array_equal(named, model.classes_):
        raise ValueError(f"classes is {named} but was {model.classes_} at the first call.")
    return named


def two_or_more(classes):
    """Return ``classes``; raise if there are fewer than two."""
    if len(classes) < 2:
        got = f"1 class, {as_given(classes[0])}" if len(classes) else "no class"
        raise ValueError(f"a classifier needs at least two classes; got {got}.")
    return classes


def class_codes(y, classes):
    """Index of each label in the sorted ``classes``, as int32; raise for other labels."""
    if len(y) * len(classes) <= _FEW and y.dtype.kind == classes.dtype.kind in "biuSU":
        known = classes.tolist()
        with suppress(ValueError):  # for these, there is an error below
            return np.array([known.index(label) for label in y.tolist()], np.int32)
    codes = np.empty(len(y), np.int32)
    for start in range(0, len(y), _CHUNK):
        part = y[start : start + _CHUNK]
        if len(classes) == 2 and part.dtype.kind == classes.dtype.kind != "O":
            found = part == classes[1]
            known = found | (part == classes[0])
        else:
            signs = part.dtype.kind + classes.dtype.kind
            try:  # it would turn signed and unsigned integers together into floats
                found = np.searchsorted(classes, part.astype(classes.dtype) if signs in ("iu", "ui") else part)
            except TypeError:
                raise ValueError(f"y has labels of a different type from the classes {classes}.") from None
            found[found == len(classes)] = 0
            known = classes[found] == part
        if not np.all(known):
            check_labels(y)
            raise ValueError(f"y contains {as_given(part[np.argmin(known)])}, which is not one of classes {classes}.")
        codes[start : start + _CHUNK] = found
    return codes


def named_models(models, base=None):
    """Models, and ``base`` if any, with their names in errors."""
    named = [(f"models[{number}]", model) for number, model in enumerate(models)]
    return named if base is None else [*named, ("base", base)]


def check_alike(models, base, *names):
    """Raise unless models, and their base, are fitted, of one class, and alike in features and named attributes."""
    first = models[0]
    for name, model in named_models(models, base):
        if type(model) is not type(first):
            kinds = type(model).__name__, type(first).__name__
            raise TypeError(f"{name} is a {kinds[0]}, models[0] a {kinds[1]}; they must be of the same kind.")
        if not model.__sklearn_is_fitted__():
            raise NotFittedError(f"{name} is not fitted yet: call fit or partial_fit before merge.")
        if hasattr(model, "_check_whole"):
            try:
                model._check_whole()
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
        features = "n_features_in_", *(() if takes_by_name(model) else ("feature_names_in_",))
        for what in (*features, *names):
            ours, theirs = getattr(model, what, None), getattr(first, what, None)
            if not (np.array_equal(ours, theirs) if isinstance(ours, np.ndarray) else ours == theirs):
                if isinstance(ours, dict):  # of parameters
                    what = next(key for key in {**theirs, **ours} if ours.get(key) != theirs.get(key))
                    ours, theirs = shown(ours.get(what)), shown(theirs.get(what))
                what = "the number of outputs" if what == "_n_outputs" else what
                raise ValueError(f"{name} does not fit models[0]: {what} is {ours}, there {theirs}.")
