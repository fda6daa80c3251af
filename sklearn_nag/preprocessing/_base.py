"""What all transformers of this package share: they learn row by row, and a row is transformed by the rows up to it.

A class that derives from `OnlineTransformer` says, by a few methods, what it keeps and what rows do to it. The base
has everything else: `fit`, `transform`, names of columns, and that a call which fails leaves no trace.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..estimators._calls import unchanged_on_error
from ..estimators._parameters import as_they_are, check_as_begun, check_parameters, parameter_names, shown
from ..estimators._validation import as_given, check_alike, check_repeated, check_sparse, converted, is_plain
from ..kernels._backend import is_compiled
from ._frames import Table, read_table
from ._numpy_rows import index_type

# Of what is merged within a column transformer, whose transformers get arrays.
column_names: ContextVar[Any] = ContextVar("sklearn_nag_column_names", default=())


class _Learnt(NamedTuple):
    """Rows that were transformed while they were learnt, on their way through `transform`, which makes frames."""

    rows: Any


class OnlineTransformer(TransformerMixin, BaseEstimator):
    """Base of the transformers that learn row by row.

    What has been learnt is ``_state``, which is never changed in place: a call that learns makes another one. So a call
    is undone by keeping the attributes of before, and whoever reads while another thread learns sees one state or the
    other. They may share parts.
    """

    _state: Any
    # Kinds of columns of which it makes the same, so that one may turn into another; where these are words alone, all
    # columns that no other transformer takes hold words.
    _reads: frozenset = frozenset()
    _takes_tables: tuple = ()  # kinds of columns that may come as a `Table`, of which nobody has to make an array
    _free: tuple = ("sparse_output", "errors", "max_names")  # parameters that may change before it transforms
    _input_tags: tuple = ()  # what it takes besides dense numbers, by the names of scikit-learn's tags

    # -- what a class defines

    def _check_parameters(self) -> None:
        """Raise for parameters that are out of range or unknown."""

    def _rows(self, X, first):
        """Rows as the methods below take them: float64, dense, where NaN is a missing value.

        ``first`` tells that they are the first ones: what all later rows must be like is remembered.
        """
        return checked_numbers(self, X, first)

    def _new_state(self, rows):
        """What is known before the first row; ``rows`` is the first batch, of which only kind and width may count."""
        raise NotImplementedError

    def _learn_rows(self, state, rows, transform):
        """The state after these rows and, with ``transform``, each row transformed by what the rows up to it show.

        The state is a new one; that which was given, and its arrays, must not change. The rows transformed have as many
        columns whatever comes; without ``transform`` they are None.
        """
        raise NotImplementedError

    def _transform_rows(self, state, rows):
        """Rows transformed by what ``state`` knows."""
        raise NotImplementedError

    def _names_out(self, state, names):
        """Names of the columns that come out, for the ``names`` of those that go in."""
        raise NotImplementedError

    def _merge_states(self, states):
        """The state that all rows of several transformers with the same parameters lead to."""
        raise NotImplementedError

    def _less(self, state, base):
        """A state without what ``base`` knew, where states are merged by sums; else the state itself."""
        return state

    def _places_in(self, merged) -> np.ndarray | None:
        """Which column of a merged transformer each one is, -1 if none; None where all are the same."""
        return None

    def _settle(self):
        """End a `fit`, after which no rows are waited for."""

    # -- what all do

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
        return self._contained(self._learn(X, True), X)

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
        """Take over what was saved; parameters that came later are at their defaults."""
        new = {name: value for name, value in _defaults_of(type(self)).items() if name not in state}
        if new and state.get("_begun_with"):
            new["_begun_with"] = {**new, **state["_begun_with"]}
        super().__setstate__({**state, **new})

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_state")

    def _check_is_fitted(self):
        """Raise AttributeError where nothing has been learnt."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"this {type(self).__name__} is not fitted yet: call fit or partial_fit first")

    def _learn(self, X, transform, first=False):
        """Learn rows, as the ``first`` ones or after others, and return them transformed where that is asked for."""
        first = first or not self.__sklearn_is_fitted__()
        check_parameters(self)
        parameters = as_they_are(self, parameter_names(type(self)))
        if not first:
            self._check_begun_with(parameters)
        rows = self._rows(X, first)
        if first:
            self._begun_with = parameters
        state = self._new_state(rows) if first else self._state
        self._state, transformed = self._learn_rows(state, rows, transform)
        return _apart(transformed, rows)

    def _made_of(self, X):
        """Rows transformed, and the rows that went in, whose memory they may have."""
        self._check_can_transform()
        rows = self._rows(X, False)
        return self._transform_rows(self._state, rows), rows

    def _check_can_transform(self):
        """Raise unless it is fitted, by the parameters that it has now."""
        check_is_fitted(self)
        now = {name: getattr(self, name) for name in self._begun_with if name not in self._free}
        check_as_begun(self._begun_with, now, type(self).__name__, "it")

    def _check_begun_with(self, parameters):
        """Raise unless the parameters are those of the first row."""
        check_as_begun(self._begun_with, parameters, type(self).__name__, "it")

    def _contained(self, rows, X):
        """Rows as `transform` gives them, in the container that ``set_output`` asks for."""
        stay = {"transform_output": "default"} if sparse.issparse(rows) else {}
        with config_context(**stay):
            contained = self.transform(_Learnt(rows))
        if hasattr(contained, "iloc") and hasattr(X, "iloc"):
            contained.index = X.index
        return contained

    def _merged(self, transformers, base=None):
        """A new transformer of several, of which this is the first; all went on from ``base``."""
        result = object.__new__(type(self))
        vars(result).update(vars(self))
        states = [transformer._state for transformer in transformers]
        if base is not None:
            states = [base._state, *(self._less(state, base._state) for state in states)]
        result._state = self._merge_states(states)
        return result

    def _parts(self):
        """Transformers that this one is made of, and that learn when it learns."""
        return ()

    def _numeric_outputs(self) -> Any:
        """Places of columns that come out as numbers, not words or marks; None where nothing is known."""
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
    """What is learnt where rows are not learnt from."""


class LearnsNothing(OnlineTransformer):
    """Base of the transformers to which all rows are alike."""

    def _new_state(self, rows):
        return Nothing()

    def _learn_rows(self, state, rows, transform):
        return state, self._transform_rows(state, rows) if transform else None

    def _merge_states(self, states):
        return states[0]


@functools.cache
def _defaults_of(transformer_class):
    """Defaults of the parameters of a class by name."""
    parameters = inspect.signature(transformer_class).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}


def _where_frames_hold_them(method):
    """A method that transforms, which leaves sparse rows as they are where `sklearn.set_config` alone asks for frames.

    Frames do not take sparse rows. ``set_output`` is of one transformer, but the setting of all, also of those within a
    pipeline, which its user has not named.
    """

    @functools.wraps(method)
    def wrapped(self, X, *args, **params):
        if isinstance(X, _Learnt) or get_config()["transform_output"] == "default":
            return method(self, X, *args, **params)
        with config_context(transform_output="default"):
            rows = method(self, X, *args, **params)
        return self._contained(rows, X) if isinstance(rows, np.ndarray) else rows

    return wrapped


for _name in ("transform", "fit_transform"):  # as scikit-learn has wrapped them by now
    setattr(OnlineTransformer, _name, _where_frames_hold_them(getattr(OnlineTransformer, _name)))

# -- rows


def loops():
    """The loops over rows that run: compiled ones where that is chosen."""
    kernel = "numba" if is_compiled() else "numpy"
    return importlib.import_module(f"._{kernel}_rows", __package__)


def _in_order(X):
    """CSR rows with ascending indices, each once, as an array of its own."""
    kind = index_type(X.nnz, X.shape[1])
    parts = X.data, X.indices.astype(kind, copy=False), X.indptr.astype(kind, copy=False)
    ordered = sparse.csr_array(parts, shape=X.shape)  # which looks anew at the order
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
    """Rows, dense or CSR, in which something stands for the missing values of some ``columns``, given by their places.

    ``values`` are these columns, dense; ``stand_ins`` has an entry for each row in which some are missing. ``rows`` do
    not change, and are returned where nothing is missing.
    """
    with_gaps = np.isnan(values).any(axis=1)
    if not with_gaps.any():
        return rows
    row_of, stand_ins = np.cumsum(with_gaps) - 1, np.asarray(stand_ins)  # place among the rows with gaps
    if not sparse.issparse(rows):
        changed = rows.copy()
        row, column = np.nonzero(np.isnan(values))
        changed[row, columns[column]] = stand_ins[row_of[row], column]
        return changed
    place = np.full(rows.shape[1], -1)
    place[columns] = np.arange(len(columns))
    missing = np.flatnonzero(np.isnan(rows.data) & (place[rows.indices] >= 0))
    row = np.searchsorted(rows.indptr, missing, side="right") - 1
    data = rows.data.copy()
    data[missing] = stand_ins[row_of[row], place[rows.indices[missing]]]
    return sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def in_columns(columns, values, n_columns, is_sparse):
    """Rows of so many columns, CSR or dense, with the ``values`` of each, as many in all, in its ``columns``."""
    n_rows, n_values = columns.shape
    if is_sparse:
        indptr = np.arange(0, columns.size + 1, n_values, dtype=np.int32)
        return sparse.csr_array((values.ravel(), columns.ravel(), indptr), shape=(n_rows, n_columns))
    out = np.zeros((n_rows, n_columns))
    np.put_along_axis(out, columns, values, axis=1)
    return out


def as_csr(rows):
    """Rows as CSR, without the zeros of dense ones."""
    return rows if sparse.issparse(rows) else joined([rows])


def joined(blocks):
    """Blocks of columns, dense or CSR, side by side as a CSR array of float64, without the zeros of dense ones."""
    shape = blocks[0].shape[0], sum(block.shape[1] for block in blocks)
    return sparse.csr_array(loops().joined(blocks), shape=shape)


def checked_numbers(transformer: Any, X: Any, first: bool, *, allow_sparse: bool = False) -> Any:
    """Rows as float64, NaN for what is missing, in C order or ordered CSR; raise for infinities, naming their column.

    The transformer remembers number and names of columns of the ``first`` rows. The result may be ``X`` itself.
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
    X = X.astype(np.float64, copy=False)
    return _in_order(X) if sparse.issparse(X) else X


def _apart(made, rows):
    """What was made of rows, or a copy where it has their memory, which may be the caller's."""
    return made.copy() if any(map(np.may_share_memory, _arrays(made), _arrays(rows))) else made


def _arrays(rows):
    if isinstance(rows, np.ndarray):
        return [rows]
    return [rows.data, rows.indices, rows.indptr] if sparse.issparse(rows) and rows.format == "csr" else []


def table_in(transformer: Any, X: Any, first: bool) -> Table:
    """The columns of a frame, a table or an array, as many as in the ``first`` one, and with the same names.

    The transformer remembers number and names of the first ones.
    """
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
    """Remember or compare names of columns of tables that scikit-learn may not know."""
    if first:
        transformer.n_features_in_, transformer.feature_names_in_ = len(names), np.array(names, dtype=object)
    check_width(transformer, len(names))
    if (known := getattr(transformer, "feature_names_in_", None)) is not None and list(known) != list(names):
        raise ValueError(
            f"The feature names should match those that were passed during fit: X has {shown(list(names))}, "
            f"{type(transformer).__name__} was fitted with {shown(list(known))}."
        )


def check_width(transformer: Any, n: int) -> None:
    """Raise unless columns are as many as those of the first rows."""
    expected = transformer.n_features_in_
    if n != expected:
        name = type(transformer).__name__
        raise ValueError(f"X has {n} features, but {name} is expecting {expected} features as input.")


def check_some(table: Table) -> None:
    """Raise unless there are rows and columns."""
    for n, what, shape in (
        (table.n_rows, "sample", f"(0, {len(table.columns)})"),
        (len(table.columns), "feature", f"({table.n_rows}, 0)"),
    ):
        if n == 0:
            raise ValueError(f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required.")


def names_in(transformer: Any, input_features: Any = None) -> np.ndarray:
    """Names of the columns that a transformer takes; raise for given ones that are not those that it knows."""
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
    """A new transformer that knows what several, which went on from ``base``, have learnt of rows of their own."""
    transformers = list(transformers)
    check_alike(transformers, base, "_begun_with", "_assigned")
    first = transformers[0]
    try:
        return first._merged(transformers, base)
    except NotImplementedError:
        raise TypeError(f"models[0] is a {type(first).__name__}, which cannot be merged with others.") from None
