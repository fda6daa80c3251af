"""Batches of rows from files and other sources, read one at a time."""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.utils.validation import check_is_fitted

from ..estimators._parameters import check_flag, check_number, check_option
from ..model_selection._streams import cut_batches
from ..preprocessing import OnlinePipeline, prepare
from ._aside import Aside, apart
from ._csv import EXACT, WHOLE_NUMBER, check_exact, csv_names, csv_tables
from ._features import TableReader
from ._sources import (
    check_names,
    find_paths,
    format_of,
    join_tables,
    object_names,
    object_tables,
    parquet_footer,
    parquet_tables,
    svmlight_rows,
    without_views,
)

ROWS_SHOWN = 100_000  # first rows that determine what columns are
_BYTES_SHOWN = 2**26
TARGETS_ALONE: list = []  # as ``columns``; compared by identity
SIZES, BATCH_SIZE = "sizes of files", "batch_size"  # names of settings
_SVMLIGHT_BLOCK = 2**21  # bytes
_MOST_BYTES = 2**30  # largest limit of a row; pyarrow counts the bytes of a block in 32 bits
_AT_CLOSE = 0.1  # seconds in which a file that does not stall can finish a batch


class IfThere(list):
    """Names of columns for ``words`` that a source may lack."""


class Batches:
    """Batches of rows that are read on demand, as `read_batches` returns them.

    Iteration yields ``(X, y)`` or ``(X, y, sample_weight)``. If the source allows it, each iteration starts again from
    the first row.

    Parameters
    ----------
    read : callable
        Returns an iterator over such tuples.
    n_rows : int or None
        Number of rows, if the source knows it without reading them.
    repeatable : bool
        Whether the rows can be read more than once.
    settings : dict, optional
        What the rows depend on: the files and the parameters of `read_batches`. A checkpoint compares them.
    names : callable, optional
        Returns the names of all columns of the source, features or not. By default they are unknown.
    left_out : callable, optional
        Returns the number of rows left out since the last iteration started. By default none are left out.
    lasting : bool, default=False
        Whether a batch stays unchanged while later ones are read, so that it can still be prepared then.
    """

    def __init__(
        self,
        read: Any,
        n_rows: int | None,
        repeatable: bool,
        settings: dict | None = None,
        names: Callable[[], list] | None = None,
        left_out: Callable[[], int] | None = None,
        lasting: bool = False,
    ):
        self._read, self.n_rows, self.repeatable, self.settings = read, n_rows, repeatable, settings or {}
        self._names, self._left_out, self.lasting = names or list, left_out or int, lasting

    def __iter__(self) -> Iterator[tuple]:
        return self._read()

    @property
    def n_left_out(self) -> int:
        """Number of rows without a target that were left out since the last iteration started."""
        return self._left_out()

    def head(self, n_rows: int = ROWS_SHOWN) -> Any:
        """Get the features of the first rows as one Arrow table, if the batches are frames.

        Parameters
        ----------
        n_rows : int, default=100000
            Approximate number of rows. There are fewer if they take more than 64 MiB.

        Returns
        -------
        pyarrow.Table
            The rows of the first whole batches.
        """
        first, n, size = [], 0, 0
        for X, *_ in self:
            if not hasattr(X, "schema"):
                raise TypeError("these batches are not tables: call read_batches with frames=True.")
            first.append(X)
            n, size = n + len(X), size + X.nbytes
            if n >= n_rows or X.num_columns == 0 or size >= _BYTES_SHOWN:
                break
        if not first:
            raise ValueError("there are no rows to learn from.")
        return join_tables(first)

    def prepare(self, learner: Any = None, *, n_rows: int = ROWS_SHOWN, **options: Any) -> OnlinePipeline:
        """Inspect the first rows, and make a pipeline for their columns with `sklearn_nag.preprocessing.prepare`.

        Parameters
        ----------
        learner : estimator, optional
            Last step of the pipeline.
        n_rows : int, default=100000
            Number of rows to inspect, as for `head`.
        **options : dict
            Further parameters of `sklearn_nag.preprocessing.prepare`.

        Returns
        -------
        OnlinePipeline
            Pipeline for `fit_stream`, not fitted. It knows its columns from the first batch on. If later tables contain
            columns of the source that are not features, it ignores them.
        """
        if not self.repeatable:
            raise ValueError("these rows can be read only once: they cannot be inspected first and learnt afterwards.")
        return self._prepared(self.head(n_rows), learner, options)

    def _prepared(self, first, learner, options):
        """Same as `prepare`, from a ``first`` table."""
        pipeline = prepare(first, learner, **options)
        features = set(first.schema.names)
        unused = [name for name in self._names() if name not in features]
        return pipeline.set_params(columns__unused=unused)


def read_batches(
    source: Any,
    target: str | Sequence[str] | None = None,
    *,
    columns: Sequence[str] | None = None,
    sample_weight: str | None = None,
    missing_target: str = "raise",
    batch_size: int = 2**13,
    n_hashed: int = 2**16,
    transformer: Any = None,
    frames: bool = False,
    mismatch: str = "raise",
    words: Sequence[str] = (),
    delimiter: str | None = None,
    encoding: str = "utf-8",
    n_features: int | None = None,
    zero_based: bool = True,
    max_row_bytes: int = 2**25,
) -> Batches:
    """Read rows in batches from files or streams that need not fit in memory.

    By default, numbers are not changed, and words are hashed: a row has a 1 in the column that its word is hashed to,
    and a missing word counts as a word of its own. Missing numbers and dates are errors, and columns of texts cause a
    warning. With ``frames=True`` and a pipeline from `Batches.prepare`, all of these can be learnt.

    The first file or frame determines the features, their order, and which of them hold words. Later ones must have the
    same columns, in any order, unless ``mismatch="fill"``. Memory is bounded by a batch; for text files also by a few
    blocks of 1 to 4 MiB, or by a longer row.

    Parameters
    ----------
    source : path, list of path, or object
        Rows to read. One of:

        - a file, a glob such as ``"day-*.parquet"``, or a list of these. The suffix, in upper or lower case, determines
          the format: ``.parquet``; ``.csv`` or ``.tsv`` with a header; ``.svm``, ``.svmlight`` or ``.libsvm``. Text
          files may be compressed, with a further suffix ``.gz`` or ``.bz2``.
        - an object with ``__arrow_c_stream__``: pyarrow tables and readers, pandas and polars frames, DuckDB results.
        - a polars LazyFrame.
        - an iterable of data frames.
    target : str or list of str, optional
        Column to predict, or several. By default there is none, for rows to predict: all columns are features, and
        targets are None. Not for svmlight files, where each line starts with the target.
    columns : list of str, optional
        Columns to use as features, in this order. By default these are all but ``target``, ``sample_weight``, and the
        index of a pandas frame, even if it is stored in a file. Arrays have no column names: a model that learnt from
        arrays must get the same order when it predicts, and a different order goes unnoticed. With ``frames=True`` a
        pipeline knows the names.
    sample_weight : str, optional
        Column that holds the weights of the rows.
    missing_target : {"raise", "drop"}, default="raise"
        Whether a missing target is an error, or its row is left out and counted in ``n_left_out``. In svmlight files, a
        target of NaN is missing, and is an error only when the row is learnt.
    batch_size : int, default=8192
        Largest number of rows in a batch. It does not affect what learners of this package learn, unless a step before
        them learns each batch before it transforms it, as steps of other packages do.
    n_hashed : int, default=65536
        Number of columns that words are hashed to. They come after the numbers, and make the rows sparse.
    transformer : object, optional
        Fitted transformer that makes ``X`` from a pandas data frame of the features, instead of hashing.
    frames : bool, default=False
        Whether ``X`` is an Arrow table with the unchanged features: numbers, also missing ones, words and dates.
        Pipelines from `Batches.prepare` take such tables.
    mismatch : {"raise", "fill"}, default="raise"
        What to do if later files or frames lack columns or have new ones. ``"raise"`` makes it an error. ``"fill"``,
        which needs ``frames=True``, passes them on unchanged, for a pipeline with ``mismatch="fill"``.
    words : list of str, default=()
        Columns of CSV files to read as words although they look like numbers or dates, such as keys or version numbers,
        where 1.10 is not 1.1. Columns that hold words in an earlier file are also read as words. The list can also name
        pandas indices to use as features. The first file must have all of these columns.
    delimiter : str, optional
        Delimiter of CSV files, one character. By default it is a tab for ``.tsv``, and otherwise the most frequent of
        comma, semicolon, tab and bar in the header.
    encoding : str, default="utf-8"
        Encoding of CSV files, by its name in Python, such as "latin-1" or "utf-16".
    n_features : int, optional
        Number of features of svmlight files, which require it because they do not contain it.
    zero_based : bool, default=True
        Whether svmlight files number their features from 0; otherwise from 1.
    max_row_bytes : int, default=33554432
        Largest size of a row of CSV or svmlight, in bytes; 32 MiB by default. It bounds memory to a few times this
        size, even if a quote is never closed or a compressed line has no end. A longer row is an error.

    Returns
    -------
    Batches
        An iterable of ``(X, y)`` or ``(X, y, sample_weight)``, for `fit_stream`,
        `sklearn_nag.model_selection.progressive_validation`, `sklearn_nag.model_selection.eta_sweep`, or a loop with
        ``partial_fit``.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ImportError
        If pyarrow is missing, which all formats but svmlight need.
    TypeError
        If the source, a target, ``sample_weight`` or ``transformer`` is of a wrong type.
    ValueError
        If parameters are invalid. While reading, also for:

        - damaged files, and rows with too few or too many fields,
        - missing columns, several columns of one name, and other columns than in the first file or frame,
        - missing values, infinite targets, and columns that hold neither numbers nor words,
        - several targets of which some hold words and others numbers.

    See Also
    --------
    fit_stream : Train an estimator on batches.

    Notes
    -----
    In CSV files:

    - Each row is read, or named in an error.
    - A field is missing if it is empty, ``NA``, ``null``, ``NaN`` or the like, with or without quotes. With
      ``frames=True``, "?", "-" and "none" among numbers or dates are also missing.
    - Quotes follow RFC 4180. A quote that starts a field and is never closed, or is closed before the end of the field,
      is an error, because it would merge several rows into one.
    - An empty line is not a row, except in a file with a single column, where it is a missing value.
    - Numbers are read as float64. A target that is a whole number beyond ``2**53`` and has no exact float64 value is an
      error, because classes would be merged.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn_nag.streams import read_batches
    >>> frame = pd.DataFrame({"size": [1.0, 2.5], "colour": ["red", "green"], "sold": [0, 1]})
    >>> (X, y), = read_batches([frame], "sold", n_hashed=8)
    >>> X.shape, y
    ((2, 9), array([0, 1]))
    """
    check_number("batch_size", batch_size, Integral, min_val=1)
    check_number("n_hashed", n_hashed, Integral, min_val=1)
    check_flag("zero_based", zero_based)
    check_flag("frames", frames)
    check_option("missing_target", missing_target, ("raise", "drop"))
    check_number("n_features", n_features, Integral, min_val=1, options=(None,))
    check_number("max_row_bytes", max_row_bytes, Integral, min_val=1, max_val=_MOST_BYTES)
    _check_target(target, sample_weight)
    _check_transformer(transformer, frames)
    if columns is not None and columns is not TARGETS_ALONE:
        columns = _checked_columns(columns, target, sample_weight)
    check_encoding(encoding)
    _check_words(words)
    check_option("mismatch", mismatch, ("raise", "fill"))
    if mismatch == "fill" and (not frames or columns is not None):
        raise ValueError("mismatch='fill' needs frames=True and columns=None, as a later pipeline selects the columns.")
    _check_delimiter(delimiter)
    needed = () if isinstance(words, IfThere) else tuple(words)
    frames, zero_based, words, max_row_bytes = bool(frames), bool(zero_based), list(words), int(max_row_bytes)
    paths = apart(find_paths, source)
    sizes = apart(lambda: [path.stat().st_size for path in paths or ()])
    settings = {
        "files": [path.name for path in paths or ()], SIZES: sizes,
        "target": target, "columns": columns, "sample_weight": sample_weight, "n_hashed": n_hashed,
        "transformer": transformer, "frames": frames, "delimiter": delimiter, "encoding": encoding,
        "n_features": n_features, "zero_based": zero_based, "words": sorted(words) or None,
        **({} if mismatch == "raise" else {"mismatch": mismatch}),  # checkpoints of earlier versions lack it
        BATCH_SIZE: int(batch_size),
    }  # fmt: skip
    formats = {format_of(path) for path in paths or ()}
    if len(formats) > 1:
        raise ValueError(f"source has files of several formats: {', '.join(sorted(formats))}; read them separately.")
    drop = missing_target == "drop"
    if formats == {"svmlight"}:
        if n_features is None:
            raise ValueError("svmlight files do not say how many features there are: give n_features.")
        if target is not None or columns is not None or sample_weight is not None or transformer is not None:
            raise ValueError(
                "svmlight files have no names: target, columns, sample_weight and transformer must be None."
            )
        lines = _SvmlightReader(paths, n_features, zero_based, drop, max_row_bytes)
        return _of_files(paths, lines, lambda: lines.rows(batch_size), settings)
    reader = TableReader(target, columns, sample_weight, n_hashed, transformer, frames, drop, mismatch == "fill", words)
    if paths is None:
        checked = () if columns is not None else needed  # with ``columns``, the others cannot be seen
        n_rows = len(source) if hasattr(source, "__len__") and hasattr(source, "columns") else None
        return Batches(
            lambda: reader.rows(_tables_of_object(source, reader, checked, batch_size), batch_size), n_rows,
            _begins_anew(source), settings, lambda: object_names(source), lambda: reader.n_left_out,
        )  # fmt: skip
    if formats == {"parquet"}:
        return _of_files(
            paths, reader, lambda: reader.rows(_tables_of_parquet(paths, reader, needed, batch_size), batch_size),
            settings, lambda: parquet_footer(paths[0])[0], sum(apart(parquet_footer, path)[1] for path in paths),
        )  # fmt: skip
    form = {"delimiter": delimiter, "max_row_bytes": max_row_bytes, "encoding": encoding}
    return _of_files(
        paths, reader, lambda: reader.rows(_tables_of_csv(paths, reader, needed, set(words), form), batch_size),
        settings, lambda: csv_names(paths[0], **form),
    )  # fmt: skip


def _of_files(paths, reader, rows, settings, names=None, n_rows=None):
    """`Batches` of rows of files, read ahead; the ``reader`` counts rows left out."""
    are_files = all(path.is_file() for path in paths)  # no pipes
    return Batches(
        lambda: _read_ahead(rows()), n_rows, are_files, settings, names, lambda: reader.n_left_out, lasting=True
    )


def _begins_anew(source):
    """Whether an object gives its rows again at each iteration."""
    is_used_up = hasattr(source, "__next__") and not hasattr(source, "collect_batches")
    return not (is_used_up or hasattr(source, "read_next_batch"))  # a RecordBatchReader


def _tables_of_object(source, reader, needed, batch_size):
    """Yield names for messages and tables of an object; the first must have the columns ``needed``."""
    for number, table in enumerate(object_tables(source, reader.names(), batch_size)):
        if number == 0:
            check_names(table.schema.names, needed, "the first table")
        yield "a later table" if number else "the first table", without_views(table)


def _tables_of_parquet(paths, reader, needed, batch_size):
    """Yield paths and tables of Parquet files; the first must have the columns ``needed``."""
    if needed:
        check_names(parquet_footer(paths[0])[0], needed, paths[0])
    for path in paths:
        for table in parquet_tables(path, reader.names(), batch_size, reader.is_word):
            yield path, without_views(table)


def _tables_of_csv(paths, reader, needed, words, form):
    """Same as `_tables_of_parquet` for CSV files; adds columns found to hold words to ``words``."""
    for path in paths:
        is_first = path == paths[0]
        may_lack = reader.targets if reader.drop and not is_first else ()
        for table in csv_tables(
            path, reader.names(), reader.targets, frames=reader.frames, words=words, may_lack=may_lack,
            needed=needed if is_first else (), **form,
        ):  # fmt: skip
            yield path, without_views(table)


class _SvmlightReader:
    """Rows of svmlight files; ``n_left_out`` counts those without a target since iteration began."""

    def __init__(self, paths, n_features, zero_based, drop, max_row_bytes):
        self.paths, self.n_features, self.zero_based = paths, n_features, zero_based
        self.drop, self.max_row_bytes, self.n_left_out = drop, max_row_bytes, 0

    def rows(self, batch_size):
        """Features and targets, in batches."""
        self.n_left_out = 0
        blocks = (svmlight_rows(path, _SVMLIGHT_BLOCK, self.max_row_bytes, self._load) for path in self.paths)
        return ((X, np.asarray(y)) for X, y, _ in cut_batches(chain.from_iterable(blocks), None, None, batch_size))

    def _load(self, text):
        X, y = load_svmlight_file(io.BytesIO(text), n_features=self.n_features, zero_based=self.zero_based)
        _check_svmlight_targets(text, y)
        there = ~np.isnan(y)
        if not self.drop or there.all():  # NaN may stay: learners refuse it, and prediction needs no target
            return X, y
        self.n_left_out += int(len(y) - there.sum())
        return X[there], y[there]


def _check_svmlight_targets(text, y):
    """Raise for svmlight targets that are infinite, or whole numbers that float64 does not hold."""
    if np.isinf(y).any():
        raise ValueError("the target is infinite: targets must be finite")
    large = np.flatnonzero(np.abs(y) >= EXACT)
    if len(large) == 0:
        return
    parts = (line.partition(b"#")[0].split() for line in text.split(b"\n"))
    words = [some[0].decode() for some in parts if some]
    instead = "number classes from 0 on, and write quantities with a point"
    for i in large:
        if WHOLE_NUMBER.fullmatch(words[i]):
            check_exact(words[i], y[i], "it has the target", instead)


def check_encoding(encoding):
    """Raise unless Python knows an encoding of this name."""
    try:
        "".encode(encoding)
    except (LookupError, TypeError, ValueError):
        raise ValueError(
            f"there is no encoding {encoding!r}; common ones are utf-8, latin-1, cp1252 and utf-16."
        ) from None


def _check_target(target, sample_weight):
    """Raise unless the target is a name, names or None, and the weights another column or None."""
    if sample_weight is not None and not isinstance(sample_weight, str):
        raise TypeError(f"sample_weight is {sample_weight!r}; it must be the name of a column, or None.")
    names = [] if target is None else [target] if isinstance(target, str) else target
    if not (isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)) or target in ([], ()):
        raise TypeError(f"target is {target!r}; it must be the name of a column, a list of names, or None.")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"target has {twice!r} twice; each column is named once.")
    if sample_weight in names:
        raise ValueError(f"sample_weight is {sample_weight!r}, which is target: weights are a column of their own.")


def _check_transformer(transformer, frames):
    """Raise unless ``transformer`` is None, or is fitted and used without ``frames``."""
    if not (transformer is None or callable(getattr(transformer, "transform", None))):
        raise TypeError(f"transformer is {transformer!r:.80}; it must be a fitted transformer, or None.")
    if hasattr(transformer, "fit"):
        check_is_fitted(transformer)
    if frames and transformer is not None:
        raise ValueError("transformer must be None with frames=True: put the transformer before the learner.")


def _check_words(words):
    """Raise unless ``words`` are names of columns."""
    if isinstance(words, str) or not all(isinstance(name, str) for name in words):
        raise TypeError(f"words is {words!r}; it must be a list of names of columns.")


def _check_delimiter(delimiter):
    """Raise unless ``delimiter`` can separate fields of CSV files, or is None."""
    can_separate = isinstance(delimiter, str) and len(delimiter) == 1 and delimiter.isascii()
    if not (delimiter is None or (can_separate and delimiter not in '"\r\n')):
        raise ValueError(
            f"delimiter is {delimiter!r}; it must be one ASCII character, such as ';', but not a quote or line end."
        )


def _checked_columns(columns, target, sample_weight):
    """Names of features as a list; raise if they are invalid."""
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise ValueError(f"columns is {columns!r}; it must be a list of names, such as [{str(columns)!r}].")
    columns = list(columns)
    if not columns:
        raise ValueError("columns is empty; it must name at least one feature, or be None for all.")
    others = {"target": [target] if isinstance(target, str) else target or [], "sample_weight": [sample_weight]}
    for parameter, names in others.items():
        both = [name for name in names if name in columns]
        if both:
            raise ValueError(f"columns has {both[0]!r}, which is {parameter}: it cannot be a feature.")
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise ValueError(f"columns has {twice!r} twice; each feature is named once.")
    return columns


def _read_ahead(batches):
    """Yield the batches, while a thread reads the next two.

    With only one ahead, the threads wait for each other at each batch, at half their speed. An interrupt need not wait
    for a stalled file.
    """
    reader = Aside()
    coming = deque(reader.submit(next, batches, None) for _ in range(2))
    try:
        while (batch := reader.result(coming.popleft())) is not None:
            coming.append(reader.submit(next, batches, None))
            yield batch
    finally:
        for batch in coming:
            batch.cancel()
        reader.end(_AT_CLOSE)
