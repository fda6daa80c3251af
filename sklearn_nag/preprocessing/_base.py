"""Base of all transformers: they learn row by row, and transform each row by the rows up to it.

A subclass of `OnlineTransformer` defines what it keeps and how rows change it. The base does the rest: `fit`,
`transform`, column names, and undoing calls that fail.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable
from contextlib import nullcontext
from contextvars import ContextVar
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import validate_data

from ..estimators._calls import unchanged_on_error
from ..estimators._parameters import as_they_are, check_as_begun, check_parameters, parameter_names, shown
from ..estimators._validation import (
    as_given,
    check_alike,
    check_fitted,
    check_repeated,
    check_sparse,
    converted,
    is_plain,
)
from ..kernels import csr_rows
from ..kernels._backend import imported, is_compiled
from ._frames import Table, read_table
from ._numpy_rows import index_type

# For merging inside a column transformer, whose transformers get arrays.
column_names: ContextVar[Any] = ContextVar("sklearn_nag_column_names", default=())


class _Learnt(NamedTuple):
    """Rows transformed while being learnt, on their way through `transform`, which makes frames."""

    rows: Any


class OnlineTransformer(TransformerMixin, BaseEstimator):
    """Base of the transformers that learn row by row.

    What has been learnt is ``_state``, which never changes in place: learning makes a new one. So the old attributes
    are enough to undo a call, and a reader sees one state or the other while another thread learns. States may share
    parts.
    """

    _state: Any
    # Kinds of columns that come out the same, so that one may turn into another. If only words are here, columns that
    # no other transformer takes hold words in any case.
    _reads: frozenset = frozenset()
    _takes_tables: tuple = ()  # kinds of columns that may come as a `Table`, without an array
    _free: tuple = ("sparse_output", "errors", "max_names")  # parameters that may change before it transforms
    _input_tags: tuple = ()  # other input than dense numbers, by the names of scikit-learn's tags

    # -- what a subclass defines

    def _check_parameters(self) -> None:
        """Raise for parameters that are out of range or unknown."""

    def _rows(self, X, first):
        """Rows for the methods below: dense float64, NaN for missing values.

        For the ``first`` rows, record what later rows must match.
        """
        return checked_numbers(self, X, first)

    def _new_state(self, rows):
        """State before the first row; only type and width of the first batch, ``rows``, may count."""
        raise NotImplementedError

    def _learn_rows(self, state, rows, transform):
        """The state after these rows and, with ``transform``, each row transformed by the rows up to it, else None.

        The state is a new one: the given state and its arrays must not change. Transformed rows always have the same
        number of columns.
        """
        raise NotImplementedError

    def _transform_rows(self, state, rows):
        """Rows transformed by ``state``."""
        raise NotImplementedError

    def _names_out(self, state, names):
        """Names of the output columns, for ``names`` of the input columns."""
        raise NotImplementedError

    def _merge_states(self, states):
        """The state from all rows of several transformers with the same parameters."""
        raise NotImplementedError

    def _less(self, state, base):
        """A state without what ``base`` knew, if states are merged by sums; otherwise the state."""
        return state

    def _places_in(self, merged) -> np.ndarray | None:
        """Place of each output column in a merged transformer, -1 for none; None if all are the same."""
        return None

    def _settle(self):
        """End a `fit`; no more rows are waited for."""

    # -- what all have in common

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        for name in self._input_tags:
            setattr(tags.input_tags, name, True)
        return tags

    @unchanged_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from scratch.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        self._learn(X, False, first=True)
        self._settle()
        return self

    @unchanged_on_error
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn more rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The transformer.
        """
        self._learn(X, False)
        return self

    @unchanged_on_error
    def learn_transform(self, X: Any) -> Any:
        """Learn rows, and transform each using the rows up to and including it.

        The result does not depend on how a stream is cut into batches, to the last bit.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        {ndarray, CSR array, data frame} of shape (n_samples, n_features_out)
            The transformed rows.
        """
        return self._contained(_apart(*self._learn(X, True)), X)

    def transform(self, X: Any) -> Any:
        """Transform rows using what has been learnt, without learning from them.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        {ndarray, CSR array, data frame} of shape (n_samples, n_features_out)
            The transformed rows.
        """
        if isinstance(X, _Learnt):
            return X.rows
        return _apart(*self._made_of(X))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Return the names of the output columns.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the input columns; by default those of the first frame, or ``x0``, ``x1`` and so on.

        Returns
        -------
        ndarray of str objects
            The names.
        """
        self._check_can_transform()
        names = names_in(self, input_features)
        return np.asarray(self._names_out(self._state, names), dtype=object)

    def __setstate__(self, state):
        """Restore a saved transformer; newer parameters get their defaults."""
        new = {name: value for name, value in _defaults_of(type(self)).items() if name not in state}
        if new and state.get("_begun_with"):
            new["_begun_with"] = {**new, **state["_begun_with"]}
        super().__setstate__({**state, **new})

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_state")

    def _check_is_fitted(self):
        """Raise AttributeError if nothing has been learnt."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"this {type(self).__name__} is not fitted yet: call fit or partial_fit first")

    def _learn(self, X, transform, first=False):
        """Learn rows, the ``first`` ones or more; return them as `_made_of` if ``transform``, else None and them."""
        first = first or not self.__sklearn_is_fitted__()
        if first:
            check_parameters(self)
            parameters = as_they_are(self, parameter_names(type(self)))
        else:
            self._check_goes_on()
        rows = self._rows(X, first)
        if first:
            self._begun_with = parameters
        state = self._new_state(rows) if first else self._state
        self._state, transformed = self._learn_rows(state, rows, transform)
        return transformed, rows

    def _learn_checked(self, rows):
        """Like `learn_transform`, for later rows as from `_rows`, inside a call that undoes this one if it fails."""
        check_fitted(self, None)
        check_width(self, rows.shape[1])
        self._check_goes_on()
        self._state, transformed = self._learn_rows(self._state, rows, True)
        return transformed

    def _transform_checked(self, rows):
        """Like `transform`, for rows as from `_rows`."""
        self._check_can_transform()
        check_width(self, rows.shape[1])
        return self._transform_rows(self._state, rows)

    def _check_goes_on(self):
        """Raise unless it can learn more rows with its present parameters."""
        if not self._is_as_begun():
            check_parameters(self)
            self._check_begun_with(as_they_are(self, parameter_names(type(self))))

    def _is_as_begun(self):
        """Whether all parameters are those from the first row, which have been checked."""
        return all(_is_same(getattr(self, name), was) for name, was in self._begun_with.items())

    def _made_of(self, X):
        """Transformed rows, and the input rows, whose memory they may share."""
        self._check_can_transform()
        rows = self._rows(X, False)
        return self._transform_rows(self._state, rows), rows

    def _check_can_transform(self):
        """Raise unless it is fitted with its present parameters."""
        check_fitted(self, None)
        if not self._is_as_begun():
            now = {name: getattr(self, name) for name in self._begun_with if name not in self._free}
            check_as_begun(self._begun_with, now, type(self).__name__, "it")

    def _check_begun_with(self, parameters):
        """Raise unless the parameters are those from the first row."""
        check_as_begun(self._begun_with, parameters, type(self).__name__, "it")

    def _contained(self, rows, X):
        """Rows as from `transform`, in the container of ``set_output``."""
        stays = sparse.issparse(rows) and get_config()["transform_output"] != "default"
        with config_context(transform_output="default") if stays else nullcontext():
            contained = self.transform(_Learnt(rows))
        if hasattr(contained, "iloc") and hasattr(X, "iloc"):
            contained.index = X.index
        return contained

    def _merged(self, transformers, base=None):
        """A new transformer merged from several, the first being this; all went on from ``base``."""
        result = object.__new__(type(self))
        vars(result).update(vars(self))
        states = [transformer._state for transformer in transformers]
        if base is not None:
            states = [base._state, *(self._less(state, base._state) for state in states)]
        result._state = self._merge_states(states)
        return result

    def _parts(self):
        """Transformers inside this one, which learn when it does."""
        return ()

    def _numeric_outputs(self) -> Any:
        """Places of output columns with numbers, not words or marks; None if unknown."""
        return None

    @property
    def numeric_outputs_(self) -> np.ndarray:
        """Positions of the output columns that hold numbers, not words or indicators, if known.

        An `OnlinePipeline` passes them to a later step that has ``set_numeric_columns``.
        """
        self._check_is_fitted()
        places = self._numeric_outputs()
        if places is None:
            raise AttributeError(f"{type(self).__name__} does not know which columns hold numbers.")
        return np.asarray(places, dtype=np.intp)


class Nothing(NamedTuple):
    """State of transformers that learn nothing."""


class LearnsNothing(OnlineTransformer):
    """Base of the transformers that learn nothing."""

    def _new_state(self, rows):
        return Nothing()

    def _learn_rows(self, state, rows, transform):
        return state, self._transform_rows(state, rows) if transform else None

    def _merge_states(self, states):
        return states[0]


def _is_same(value, was):
    """Whether the value of a parameter is surely what it was; others may be equal, too."""
    return value is was or (type(value) is type(was) and type(was) in (str, int, float) and value == was)


@functools.cache
def _defaults_of(transformer_class):
    """Defaults of the parameters of a class by name."""
    parameters = inspect.signature(transformer_class).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}


def _where_frames_hold_them(method):
    """Make a transforming ``method`` leave sparse rows as they are if only `sklearn.set_config` asks for frames.

    Frames do not take sparse rows. ``set_output`` is for one transformer, but the setting is for all, including those
    in a pipeline, which its user has not named.
    """

    @functools.wraps(method)
    def wrapped(self, X, *args, **params):
        if isinstance(X, _Learnt) or get_config()["transform_output"] == "default":
            return method(self, X, *args, **params)
        with config_context(transform_output="default"):
            rows = method(self, X, *args, **params)
        return self._contained(rows, X) if isinstance(rows, np.ndarray) else rows

    return wrapped


for _name in ("transform", "fit_transform"):  # scikit-learn has wrapped them by now
    setattr(OnlineTransformer, _name, _where_frames_hold_them(getattr(OnlineTransformer, _name)))

# -- rows


def loops():
    """The module with the loops over rows: compiled, if chosen."""
    return imported(__package__, "_numba_rows" if is_compiled() else "_numpy_rows")


def _in_order(X):
    """CSR rows in a new array, with ascending, unique indices."""
    kind = index_type(X.nnz, X.shape[1])
    parts = X.data, X.indices.astype(kind, copy=False), X.indptr.astype(kind, copy=False)
    ordered = sparse.csr_array(parts, shape=X.shape)  # checks the order anew
    if not ordered.has_canonical_format:
        check_repeated(ordered)
        ordered = ordered.copy()
        ordered.sum_duplicates()
    return ordered


def dense(rows, columns):
    """Some columns of rows as a dense array in C order."""
    if sparse.issparse(rows):
        return np.ascontiguousarray(rows[:, columns].toarray())
    return rows if len(columns) == rows.shape[1] else np.ascontiguousarray(rows[:, columns])


def filled(rows, columns, values, stand_ins):
    """Rows, dense or CSR, with missing values of some ``columns``, given by place, replaced.

    ``values`` are these columns, dense; ``stand_ins`` broadcast with them. ``rows`` do not change, and are returned if
    nothing is missing.
    """
    is_missing = np.isnan(values)
    if not is_missing.any():
        return rows
    stand_ins = np.broadcast_to(stand_ins, values.shape)
    if not sparse.issparse(rows):
        changed = rows.copy()
        row, column = np.nonzero(is_missing)
        changed[row, columns[column]] = stand_ins[row, column]
        return changed
    place = np.full(rows.shape[1], -1)
    place[columns] = np.arange(len(columns))
    missing = np.flatnonzero(np.isnan(rows.data) & (place[rows.indices] >= 0))
    row = np.searchsorted(rows.indptr, missing, side="right") - 1
    data = rows.data.copy()
    data[missing] = stand_ins[row, place[rows.indices[missing]]]
    return sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def in_columns(columns, values, n_columns, is_sparse):
    """CSR or dense rows with ``n_columns`` columns: ``values`` at ``columns``, equally many per row."""
    n_rows, n_values = columns.shape
    if is_sparse:
        indptr = np.arange(0, columns.size + 1, n_values, dtype=np.int32)
        return csr_rows(values.ravel(), columns.ravel(), indptr, (n_rows, n_columns))
    out = np.zeros((n_rows, n_columns))
    np.put_along_axis(out, columns, values, axis=1)
    return out


def as_csr(rows):
    """Rows as CSR, without zeros of dense ones."""
    return rows if sparse.issparse(rows) else joined([rows])


def joined(blocks):
    """Blocks of columns, dense or CSR, side by side as a float64 CSR array without zeros of dense ones."""
    shape = blocks[0].shape[0], sum(block.shape[1] for block in blocks)
    return csr_rows(*loops().joined(blocks), shape)


def checked_numbers(transformer: Any, X: Any, first: bool, *, allow_sparse: bool = False) -> Any:
    """Rows as float64, NaN if missing, in C order or ordered CSR; raise for infinities, naming the column.

    The transformer records number and names of columns of the ``first`` rows. The result may be ``X`` itself.
    """
    check_sparse(X)
    if sparse.issparse(X) and not allow_sparse:
        raise TypeError(
            f"Sparse data was passed for X, but {type(transformer).__name__} takes dense rows only: give "
            "X.toarray(), or leave these columns out of it."
        )
    known = not first and not hasattr(transformer, "feature_names_in_")
    if not (known and is_plain(X, transformer.n_features_in_, finite=False)):
        X = converted(transformer, X, reset=first, ensure_all_finite=False)
        X = X.toarray() if sparse.issparse(X) and not allow_sparse else X  # a frame of sparse columns
    values = X.data if sparse.issparse(X) else X
    with np.errstate(all="ignore"):
        finite = np.isfinite(values.sum())
    if not finite and np.isinf(values).any():
        column = int(X.indices[np.argmax(np.isinf(values))]) if sparse.issparse(X) else np.argwhere(np.isinf(X))[0][1]
        raise ValueError(
            f"Input X contains infinity in column {as_given(names_in(transformer)[column])}; numbers must be finite."
        )
    return as_numbers(X)


def as_numbers(X: Any) -> Any:
    """Checked rows as float64, and in order if they are CSR."""
    X = X.astype(np.float64, copy=False)
    return _in_order(X) if sparse.issparse(X) else X


def _apart(made, rows):
    """``made``, copied if it shares memory with ``rows``, maybe the caller's."""
    return made.copy() if any(map(np.may_share_memory, _arrays(made), _arrays(rows))) else made


def _arrays(rows):
    if isinstance(rows, np.ndarray):
        return [rows]
    return [rows.data, rows.indices, rows.indptr] if sparse.issparse(rows) and rows.format == "csr" else []


def table_in(transformer: Any, X: Any, first: bool) -> Table:
    """Columns of a frame, table or array, with the number and names of the ``first`` ones, which are recorded."""
    table = read_table(X)
    if sparse.issparse(X):
        raise TypeError(f"Sparse data was passed for X, but {type(transformer).__name__} takes dense rows only.")
    check_some(table)
    known = not first and not hasattr(transformer, "feature_names_in_")
    if table.names is None and known and len(table.columns) == transformer.n_features_in_:
        return table
    if table.names is None or hasattr(X, "iloc"):
        validate_data(transformer, X, reset=first, skip_check_array=True)
    else:
        _check_names(transformer, table.names, first)
    return table


def _check_names(transformer, names, first):
    """Record or compare column names of tables unknown to scikit-learn."""
    if first:
        transformer.n_features_in_, transformer.feature_names_in_ = len(names), np.array(names, dtype=object)
    check_width(transformer, len(names))
    if (known := getattr(transformer, "feature_names_in_", None)) is not None and list(known) != list(names):
        raise ValueError(
            f"The feature names should match those that were passed during fit: X has {shown(list(names))}, "
            f"{type(transformer).__name__} was fitted with {shown(list(known))}."
        )


def check_width(transformer: Any, n: int) -> None:
    """Raise unless there are as many columns as at first."""
    expected = transformer.n_features_in_
    if n != expected:
        name = type(transformer).__name__
        raise ValueError(f"X has {n} features, but {name} is expecting {expected} features as input.")


def check_some(table: Table) -> None:
    """Raise unless there are rows and columns."""
    if table.n_rows and table.columns:
        return
    for n, what, shape in (
        (table.n_rows, "sample", f"(0, {len(table.columns)})"),
        (len(table.columns), "feature", f"({table.n_rows}, 0)"),
    ):
        if n == 0:
            raise ValueError(f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required.")


def names_in(transformer: Any, input_features: Any = None) -> np.ndarray:
    """Names of a transformer's input columns; raise for given names other than those it knows."""
    known = getattr(transformer, "feature_names_in_", None)
    n_features = transformer.n_features_in_
    if input_features is None:
        return np.asarray([f"x{i}" for i in range(n_features)] if known is None else known, dtype=object)
    names = np.asarray(input_features, dtype=object)
    if known is not None and not np.array_equal(names, known):
        raise ValueError("input_features is not equal to feature_names_in_.")
    if names.shape != (n_features,):
        raise ValueError(f"input_features should have length equal to the number of features ({n_features}).")
    return names


# -- merging


def merged(transformers: Iterable[Any], base: Any = None) -> Any:
    """A new transformer that knows what several have learnt from their own rows after ``base``."""
    transformers = list(transformers)
    check_alike(transformers, base, "_begun_with", "_assigned")
    first = transformers[0]
    try:
        return first._merged(transformers, base)
    except NotImplementedError:
        raise TypeError(f"models[0] is a {type(first).__name__}, which cannot be merged with others.") from None
