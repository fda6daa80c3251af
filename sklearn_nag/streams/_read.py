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

ROWS_SHOWN = 100_000  # by which it is decided what columns are
_BYTES_SHOWN = 2**26
TARGETS_ALONE: list = []  # this very list, as ``columns``
SIZES, BATCH_SIZE = "sizes of files", "batch_size"  # names of settings
_SVMLIGHT_BLOCK = 2**21  # bytes
_MOST_BYTES = 2**30  # of a row; pyarrow counts those of a block in 32 bits
_AT_CLOSE = 0.1  # seconds in which a file that does not stall is read on to the end of a batch


class IfThere(list):
    """Names of columns, as ``words``, that a source may lack."""


class Batches:
    """Rows in batches, read when they are asked for; what `read_batches` returns.

    Iteration yields ``(X, y)`` or ``(X, y, sample_weight)``, and begins anew each time where the source allows it.

    Parameters
    ----------
    read : callable
        Returns an iterator over such tuples.
    n_rows : int or None
        Number of rows, where the source tells it without reading them.
    repeatable : bool
        Whether rows can be read more than once.
    settings : dict, optional
        What the rows depend on: the files and the parameters of `read_batches`, by which a checkpoint knows them again.
    names : callable, optional
        Returns the names of all columns of the source, features or not; by default nothing is known of them.
    left_out : callable, optional
        Returns how many rows have been left out since the last iteration began; by default none are.
    lasting : bool, default=False
        Whether a batch stays as it is when later ones are read, so that it may still be prepared then.
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
        """How many rows without a target have been left out since the last iteration began."""
        return self._left_out()

    def head(self, n_rows: int = ROWS_SHOWN) -> Any:
        """The features of the first rows as one table of Arrow; of batches that are frames.

        Parameters
        ----------
        n_rows : int, default=100000
            About how many; fewer where they are more than 64 MiB.

        Returns
        -------
        pyarrow.Table
            Of whole batches.
        """
        first, n, size = [], 0, 0
        for X, *_ in self:
            if not hasattr(X, "schema"):
                raise TypeError("these batches are no tables: read_batches makes such with frames=True.")
            first.append(X)
            n, size = n + len(X), size + X.nbytes
            if n >= n_rows or X.num_columns == 0 or size >= _BYTES_SHOWN:
                break
        if not first:
            raise ValueError("there are no rows to learn from.")
        return join_tables(first)

    def prepare(self, learner: Any = None, *, n_rows: int = ROWS_SHOWN, **options: Any) -> OnlinePipeline:
        """Look at the first rows, and make a pipeline for their columns by `sklearn_nag.preprocessing.prepare`.

        Parameters
        ----------
        learner : estimator, optional
            What comes at its end.
        n_rows : int, default=100000
            How many rows to look at, as for `head`.
        **options : dict
            Others of `sklearn_nag.preprocessing.prepare`.

        Returns
        -------
        OnlinePipeline
            Not fitted, for `fit_stream`. It knows its columns from the first batch on. Columns of the source that are
            no features may be in tables later, and are left out.
        """
        if not self.repeatable:
            raise ValueError("these rows can be read only once: nobody can look at the first ones and learn them.")
        return self._prepared(self.head(n_rows), learner, options)

    def _prepared(self, first, learner, options):
        """As `prepare`, by a ``first`` table."""
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

    Numbers are taken in the units they come in. Words are hashed: a row has a 1 in the column that its word leads to,
    and a missing word is a word of its own. Arrays refuse missing numbers and dates, and of texts there is a warning;
    ``frames=True`` and `Batches.prepare` take all of these. In CSV files a field is missing where it is empty, ``NA``,
    ``null``, ``NaN`` or the like, with quotes or without; with ``frames=True`` also "?", "-" and "none" among numbers
    and dates. Memory is bounded by a batch; for text also by a few blocks of 2 to 4 MiB, or of a longer row.

    Each row of a file is read, or named in an error. In CSV files quotes are taken as in RFC 4180: one that begins a
    field and is not closed, or has text behind the one that closes it, is an error, as it would make one row of
    several. An empty line is no row, but in a file of one column: there it is a missing value. Numbers are float64; a
    target that is a whole number beyond ``2**53``, and another one as float64, is an error, as classes would merge.

    The first file or frame settles which columns are features, in which order, and which of them hold words. Later ones
    must have the same columns, in any order, but for ``mismatch="fill"``.

    Parameters
    ----------
    source : path, list of path, or object
        A file, a glob such as ``"day-*.parquet"``, or a list of these, by the end of their names, in either case:
        ``.parquet``, ``.csv`` or ``.tsv`` with a header, ``.svm``, ``.svmlight`` or ``.libsvm``; text also with
        ``.gz`` or ``.bz2`` behind it. Or an object with ``__arrow_c_stream__`` (tables and readers of pyarrow,
        frames of pandas and polars, results of DuckDB), a polars LazyFrame, or an iterable of data frames.
    target : str or list of str, optional
        The column to predict, or several. Without, for rows to predict, all columns are features, and targets are None.
        Not for svmlight, where each line begins with it.
    columns : list of str, optional
        The columns that are features, in this order; by default all but ``target``, ``sample_weight``, and the index
        of a frame of pandas, also where it lies in a file. Arrays have no names: a model that learnt from them must get
        the same order where it predicts, and nobody tells if it does not. With ``frames=True`` a pipeline knows names.
    sample_weight : str, optional
        The column with weights of the rows.
    missing_target : {"raise", "drop"}, default="raise"
        Whether rows without a target are an error, or left out, and counted in ``n_left_out`` of what is returned. Of
        svmlight NaN is one; it is an error only where rows are learnt.
    batch_size : int, default=8192
        Most rows of a batch. What learners of this package learn does not depend on it, but for those behind steps that
        learn each batch before they transform it, as steps of other packages do.
    n_hashed : int, default=65536
        Columns that words are hashed to. They come after the numbers, and rows are then sparse.
    transformer : object, optional
        Fitted transformer that makes ``X`` of a pandas data frame with the features, instead of hashing.
    frames : bool, default=False
        Whether ``X`` is a table of Arrow with the features as they are: numbers, missing ones among them, words, dates.
        Pipelines that `Batches.prepare` makes take them.
    mismatch : {"raise", "fill"}, default="raise"
        Whether later files or frames that lack columns, or have new ones, are an error or, with ``frames=True``, handed
        on as they are, for a pipeline with ``mismatch="fill"``.
    words : list of str, default=()
        Columns of CSV files whose fields are words though they look like numbers or dates, such as keys, or versions,
        of which 1.10 is not 1.1; so are those that hold words in a file before. And indices of pandas to take. The
        first file must have all of them.
    delimiter : str, optional
        Of CSV files, one character; by default a tab for ``.tsv``, else what the header has most of: a comma, a
        semicolon, a tab or a bar.
    encoding : str, default="utf-8"
        Of CSV files, as Python calls it, such as "latin-1" or "utf-16".
    n_features : int, optional
        Number of features of svmlight files, which do not say.
    zero_based : bool, default=True
        Whether the features of svmlight files are counted from 0; from 1 otherwise.
    max_row_bytes : int, default=33554432
        Most bytes of a row of CSV or svmlight, 32 MiB by default: memory is bounded by a few times this, also where a
        quote is left open, or a packed line has no end. A longer row is an error.

    Returns
    -------
    Batches
        An iterable of ``(X, y)`` or ``(X, y, sample_weight)``, for `fit_stream`,
        `sklearn_nag.model_selection.progressive_validation`, `sklearn_nag.model_selection.eta_sweep`, or a loop with
        ``partial_fit``.

    Raises
    ------
    FileNotFoundError
        When there is no such file.
    ImportError
        When pyarrow is missing, which everything but svmlight needs.
    TypeError
        For a source, a target, a ``sample_weight`` or a transformer of another kind.
    ValueError
        For parameters that cannot be used; while reading, for damaged files, rows with too few or too many fields,
        missing columns, two of one name, missing values, infinite targets, targets some of which are words and some
        numbers, columns that hold neither, and files or frames with other columns than the first.

    See Also
    --------
    fit_stream : Train from batches.

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
        raise ValueError(
            "mismatch='fill' needs frames=True, and no columns: a pipeline behind knows which ones it takes."
        )
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
        **({} if mismatch == "raise" else {"mismatch": mismatch}),  # which checkpoints of earlier versions have not
        BATCH_SIZE: int(batch_size),
    }  # fmt: skip
    formats = {format_of(path) for path in paths or ()}
    if len(formats) > 1:
        raise ValueError(f"source has files of several formats: {', '.join(sorted(formats))}; read them apart.")
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
        checked = () if columns is not None else needed  # others are not there to be seen
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
    """`Batches` of rows of files, which are read ahead; the ``reader`` knows how many were left out."""
    are_files = all(path.is_file() for path in paths)  # no pipes
    return Batches(
        lambda: _read_ahead(rows()), n_rows, are_files, settings, names, lambda: reader.n_left_out, lasting=True
    )


def _begins_anew(source):
    """Whether an object gives its rows again when it is asked again."""
    is_used_up = hasattr(source, "__next__") and not hasattr(source, "collect_batches")
    return not (is_used_up or hasattr(source, "read_next_batch"))  # of a RecordBatchReader


def _tables_of_object(source, reader, needed, batch_size):
    """Tables of an object, and what messages call them; the first one must have the columns ``needed``."""
    for number, table in enumerate(object_tables(source, reader.names(), batch_size)):
        if number == 0:
            check_names(table.schema.names, needed, "the first table")
        yield "a later table" if number else "the first table", without_views(table)


def _tables_of_parquet(paths, reader, needed, batch_size):
    """Tables of files, and their paths; the first file must have the columns ``needed``."""
    if needed:
        check_names(parquet_footer(paths[0])[0], needed, paths[0])
    for path in paths:
        for table in parquet_tables(path, reader.names(), batch_size, reader.is_word):
            yield path, without_views(table)


def _tables_of_csv(paths, reader, needed, words, form):
    """As `_tables_of_parquet`; ``words`` are the names of columns that hold words, to which those found are added."""
    for path in paths:
        is_first = path == paths[0]
        may_lack = reader.targets if reader.drop and not is_first else ()
        for table in csv_tables(
            path, reader.names(), reader.targets, frames=reader.frames, words=words, may_lack=may_lack,
            needed=needed if is_first else (), **form,
        ):  # fmt: skip
            yield path, without_views(table)


class _SvmlightReader:
    """Rows of svmlight files; ``n_left_out`` of them had no target, since the last iteration began."""

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
        if not self.drop or there.all():  # it is learners that refuse NaN; who predicts needs no target
            return X, y
        self.n_left_out += int(len(y) - there.sum())
        return X[there], y[there]


def _check_svmlight_targets(text, y):
    """Raise for targets of lines of svmlight that are infinite, or whole numbers that float64 does not have."""
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
    """Raise unless Python knows an encoding of text by this name."""
    try:
        "".encode(encoding)
    except (LookupError, TypeError, ValueError):
        raise ValueError(
            f"there is no encoding {encoding!r}; well known are utf-8, latin-1, cp1252 and utf-16."
        ) from None


def _check_target(target, sample_weight):
    """Raise unless the target is a name, a list of names, or None, and the weights are another column, or None."""
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
    """Raise unless it is None, or fitted and to be used here."""
    if not (transformer is None or callable(getattr(transformer, "transform", None))):
        raise TypeError(f"transformer is {transformer!r:.80}; it must be a fitted transformer, or None.")
    if hasattr(transformer, "fit"):
        check_is_fitted(transformer)
    if frames and transformer is not None:
        raise ValueError("frames=True and a transformer do not go together: put it before the learner.")


def _check_words(words):
    """Raise unless these are names of columns."""
    if isinstance(words, str) or not all(isinstance(name, str) for name in words):
        raise TypeError(f"words is {words!r}; it must be a list of names of columns.")


def _check_delimiter(delimiter):
    """Raise unless fields of CSV files may be separated by it, or it is None."""
    can_separate = isinstance(delimiter, str) and len(delimiter) == 1 and delimiter.isascii()
    if not (delimiter is None or (can_separate and delimiter not in '"\r\n')):
        raise ValueError(
            f"delimiter is {delimiter!r}; it must be one ASCII character, such as ';', and no quote or line end."
        )


def _checked_columns(columns, target, sample_weight):
    """The names of features as a list; raise where they cannot be."""
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
    """The same batches, of which a thread reads the next two while one is learnt.

    With one alone, threads wait for each other at each batch, at half of their speed. Whoever is interrupted while
    waiting does not wait for the file, which may have stalled.
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
