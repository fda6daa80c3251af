"""Record batches from files of several formats, Arrow streams, lazy frames and iterables of frames, one at a time."""

from __future__ import annotations

import bz2
import contextlib
import glob
import gzip
import io
import os
import zlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from .._extras import needed
from ..estimators._parameters import shown
from ..preprocessing._frames import DATES, NUMBERS, kind_in_arrow, read_table
from ._text import BadRow, WholeRows

FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
}
_OPEN = {".gz": gzip.open, ".bz2": bz2.open}
PACKINGS = {".gz": "gzip", ".bz2": "bz2", "": None}  # names that pyarrow uses
_PARTS = "compute", "csv", "parquet"  # submodules that pyarrow does not import itself
_MOST_NAMES = 100  # most column names that an error shows
_MOST_OF_DICTIONARY = 2**16  # bytes up to which a column's dictionary in a row group counts as small
_PARQUET_BUFFER = 2**16  # bytes of each column read at a time; otherwise a whole row group


class _Pyarrow:
    """Stand-in for the package pyarrow, which it imports on first use."""

    def __getattr__(self, name):
        if name.startswith("__"):  # asked for by introspection
            raise AttributeError(name)
        package = needed("pyarrow", "streams", "tables need")
        return import_module(f"pyarrow.{name}") if name in _PARTS else getattr(package, name)


pyarrow: Any = _Pyarrow()


def find_paths(source):
    """Paths for a path, a glob or a list of them; None if ``source`` is something else."""
    if isinstance(source, str | os.PathLike):
        source = [source]
    if not (isinstance(source, list | tuple) and source and all(isinstance(p, str | os.PathLike) for p in source)):
        return None
    paths = []
    for name in map(os.fspath, source):
        found = [name] if os.path.exists(name) else sorted(glob.glob(name, recursive=True))
        if not found:
            raise FileNotFoundError(f"there is no file {name!r}")
        paths += map(Path, found)
    for path in paths:
        if path.is_dir():
            raise ValueError(f"{path} is a folder: pass its files, or a pattern such as {str(path / '*.parquet')!r}.")
    return paths


def suffixes(path):
    """Suffixes of a file's format and compression (or ""), in lower case."""
    *_, last = suffixes = ["", *map(str.lower, path.suffixes)]
    return (suffixes[-2], last) if last in _OPEN else (last, "")


def format_of(path):
    """Format of a file by its name: "parquet", "csv" or "svmlight"."""
    suffix, _ = suffixes(path)
    if suffix not in FORMATS:
        known = ", ".join(FORMATS)
        raise ValueError(f"{path} has a name that does not show its format: it must end in {known}; names of text "
                         "files may have .gz or .bz2 after it.")  # fmt: skip
    return FORMATS[suffix]


@contextlib.contextmanager
def naming(path):
    """Raise a reader's errors as ValueError that names the file, unless they name it already."""
    try:
        yield
    except (ValueError, OSError, EOFError, OverflowError, zlib.error) as error:
        if getattr(error, "filename", None) is not None:  # the file is missing or may not be read
            raise
        raise ValueError(f"{path} cannot be read: {str(error).rstrip('.')}.") from error


# -- tables


def parquet_tables(path, columns, batch_size, is_word=None):
    """Yield record batches of a Parquet file, of ``columns``, or all if None.

    Words may be dictionary-encoded in columns for whose name ``is_word`` is true.
    """
    options = {"buffer_size": _PARQUET_BUFFER, "pre_buffer": False}
    with naming(path):
        file = pyarrow.parquet.ParquetFile(path, **options)
    with file:
        check_names(file.schema_arrow.names, columns, path)
        numbered = [] if is_word is None else _numbered(file, columns, batch_size, is_word)
        # One thread reads while another learns; more threads for the columns would hinder both.
        how = {"batch_size": batch_size, "columns": columns, "use_threads": False}
        if not numbered:
            with naming(path):
                yield from file.iter_batches(**how)
            return
        options |= {"metadata": file.metadata, "read_dictionary": numbered}
        with naming(path), pyarrow.parquet.ParquetFile(path, **options) as by_number:
            yield from _whole(by_number.iter_batches(**how), batch_size)


def _numbered(file, columns, batch_size, is_word):
    """Names of word columns with small dictionaries in a Parquet file that may be read encoded."""
    types, fields = pyarrow.types, file.schema_arrow
    fields = [field for field in fields if columns is None or field.name in columns]
    words = {field.name for field in fields if types.is_string(field.type) or types.is_large_string(field.type)}
    words = set(filter(is_word, words))
    # Batches with dictionary-encoded words end with a row group. Where they do so anyway, they stay as they are.
    if not words or any(types.is_dictionary(field.type) for field in fields) or not file.metadata.num_row_groups:
        return []
    group = file.metadata.row_group(0)
    if group.num_rows < batch_size:
        return []
    chunks = [chunk for chunk in map(group.column, range(group.num_columns)) if chunk.path_in_schema in words]
    return [chunk.path_in_schema for chunk in chunks if 0 < _size_of_dictionary(chunk) <= _MOST_OF_DICTIONARY]


def _size_of_dictionary(chunk):
    """Bytes of a column's dictionary in a row group; 0 if it has none."""
    start = chunk.dictionary_page_offset
    return 0 if start is None or not chunk.has_dictionary_page else chunk.data_page_offset - start


def _whole(batches, n_rows):
    """Join batches that end with row groups to ``n_rows`` rows each, except the last."""
    waiting, n_waiting = [], 0
    for batch in batches:
        while len(batch):
            part = batch.slice(0, n_rows - n_waiting)
            batch = batch.slice(len(part))
            waiting.append(part)
            n_waiting += len(part)
            if n_waiting == n_rows:
                yield _one(waiting)
                waiting, n_waiting = [], 0
    if waiting:
        yield _one(waiting)


def _one(batches):
    """Join several record batches to one."""
    return batches[0] if len(batches) == 1 else join_tables(batches).combine_chunks().to_batches()[0]


def parquet_footer(path):
    """Names of all columns of a Parquet file, and its row count."""
    with naming(path), pyarrow.parquet.ParquetFile(path) as file:
        return file.schema_arrow.names, file.metadata.num_rows


def join_frames(frames):
    """Join frames of pandas or polars, or Arrow tables, with the same columns; the first gives their order.

    Words stay words: categories are united.
    """
    if len({type(frame).__module__.partition(".")[0] for frame in frames}) > 1:
        raise TypeError("batches are frames of several libraries, which cannot be joined.")
    of_arrow = hasattr(frames[0], "num_rows")
    names, *others = (list(frame.schema.names if of_arrow else frame.columns) for frame in frames)
    for other in others:
        if Counter(other) != Counter(names):
            raise ValueError(
                f"a batch has the columns {shown(other)}, and those before have {shown(names)}: all must have the same."
            )
    if of_arrow:
        return join_tables(frames)
    if hasattr(frames[0], "iloc"):
        return _join_of_pandas(
            [frame if own == names else frame[names] for frame, own in zip(frames, [names, *others])]
        )
    return _join_of_polars([frame.select(names) for frame in frames])


def _join_of_pandas(frames):
    import pandas as pd

    frames = [frame.copy(deep=False) for frame in frames]
    for place in range(frames[0].shape[1]):
        columns = [frame.iloc[:, place] for frame in frames]
        kinds = [column.dtype for column in columns]
        if kinds.count(kinds[0]) < len(kinds) and all(hasattr(kind, "categories") for kind in kinds):
            union = columns[0].cat.categories
            for column in columns[1:]:
                union = union.union(column.cat.categories, sort=False)
            for frame, column in zip(frames, columns):
                frame.isetitem(place, column.astype(pd.CategoricalDtype(union)))
    return pd.concat(frames)


def _join_of_polars(frames):
    import polars as pl

    for name in frames[0].columns:
        kinds = {frame.schema[name] for frame in frames}
        if len(kinds) > 1 and any(kind.base_type() in (pl.Categorical, pl.Enum) for kind in kinds):
            frames = [frame.with_columns(pl.col(name).cast(pl.String)) for frame in frames]
    return pl.concat(frames, how="vertical_relaxed")  # joins numbers of several types


def join_tables(tables):
    """Join Arrow tables; columns that some of them lack are missing there.

    A column without values takes the type it has elsewhere. Numbers of several types become integers or float64, and
    booleans among them 0 and 1. If some hold words, or numbers meet dates, all become words.
    """
    tables = [pyarrow.Table.from_batches([t]) if isinstance(t, pyarrow.RecordBatch) else t for t in tables]
    known: dict[str, set] = {}
    for field in (field for table in tables for field in table.schema):
        known.setdefault(field.name, set()).add(field.type)
    for name, kinds in known.items():
        kinds.discard(pyarrow.null())
        change = _joining(kinds) if len(kinds) > 1 else None
        for i, table in enumerate(tables if change else ()):
            place = table.schema.get_field_index(name)
            if place >= 0:
                tables[i] = table.set_column(place, name, change(table.column(place)))
    return pyarrow.concat_tables(tables, promote_options="permissive").unify_dictionaries()


def _joining(kinds):
    """Function that converts columns of several types to one; None if Arrow joins them itself."""
    types, held = pyarrow.types, set(map(kind_in_arrow, kinds))
    if held == {NUMBERS}:
        are_whole = all(types.is_integer(kind) or types.is_boolean(kind) for kind in kinds)
        number = pyarrow.int64() if are_whole and pyarrow.uint64() not in kinds else pyarrow.float64()
        return lambda column: column.cast(number, safe=False)
    if len(set(map(types.is_dictionary, kinds))) == 1:
        with contextlib.suppress(pyarrow.ArrowTypeError, pyarrow.ArrowInvalid):
            pyarrow.unify_schemas([pyarrow.schema({"": kind}) for kind in kinds], promote_options="permissive")
            return None

    def read(column):
        column = read_table(pyarrow.table({"": column})).columns[0]
        return pyarrow.array(column.dates() if held == {DATES} else column.words())

    return read


def check_names(names, columns, where):
    """Raise unless each of ``columns`` (None for all ``names``) is in ``names`` exactly once."""
    counts = Counter(names)
    for name in counts if columns is None else columns:
        if name not in counts:
            shown = [*map(repr, names[:_MOST_NAMES]), *["..."] * (len(names) > _MOST_NAMES)]
            raise ValueError(f"{where} has no column {name!r}; its columns are {', '.join(shown)}.")
        if counts[name] > 1:
            raise ValueError(f"{where} has {counts[name]} columns {name!r}; names must differ.")


def _check_pandas(frame):
    """Raise if a pandas frame has duplicate column names, or complex numbers, which Arrow lacks."""
    if not type(frame).__module__.startswith("pandas"):
        return
    names = [*getattr(frame, "columns", ())]
    check_names(names, None, f"the {type(frame).__name__}")
    for name, dtype in zip(names, getattr(frame, "dtypes", ())):
        if getattr(dtype, "kind", None) == "c":
            raise ValueError(f"column {name!r} holds {dtype}: give real and imaginary parts as columns of their own.")


def object_tables(source, columns, batch_size) -> Iterator:
    """Yield record batches of an Arrow stream, a polars LazyFrame, a data frame, or an iterable of frames."""
    _check_pandas(source)
    if hasattr(source, "collect_batches"):  # a polars LazyFrame
        lazy = source if columns is None else source.select(columns)
        source = lazy.collect_batches(chunk_size=batch_size)
    what = f"the {type(source).__name__}"
    if hasattr(source, "__arrow_c_array__") and not hasattr(source, "__arrow_c_stream__"):
        source = pyarrow.Table.from_batches([pyarrow.record_batch(source)])
    if hasattr(source, "__arrow_c_stream__"):
        reader = pyarrow.RecordBatchReader.from_stream(source)
        check_names(reader.schema.names, columns, what)
        for batch in reader:
            yield batch if columns is None else batch.select(columns)
        return
    if type(source).__module__.startswith("polars") and type(source).__name__ == "LazyFrame":
        raise TypeError("source is a LazyFrame of a polars version that cannot collect it in batches: update polars.")
    if isinstance(source, str | bytes | dict) or not isinstance(source, Iterable):
        raise TypeError(
            f"source is a {type(source).__name__}; it must be a path, a glob, a list of them, an object with "
            "__arrow_c_stream__, a polars LazyFrame, or an iterable of data frames."
        )
    for frame in source:
        if isinstance(frame, tuple | list | str | bytes | dict):
            raise TypeError(f"source yields a {type(frame).__name__}; it must yield data frames or Arrow tables.")
        yield from object_tables(frame, columns, batch_size)


def without_views(batch):
    """A record batch with strings for string views, which polars uses and Arrow cannot take rows of."""
    is_view = pyarrow.types.is_string_view
    if not any(is_view(field.type) for field in batch.schema):
        return batch
    arrays = [array.cast(pyarrow.large_string()) if is_view(array.type) else array for array in batch.columns]
    return pyarrow.record_batch(arrays, names=batch.schema.names)


def object_names(source):
    """Names of all columns of a source; for an iterable, those of the first frame."""
    if hasattr(source, "collect_schema"):  # a polars LazyFrame
        return source.collect_schema().names()
    first = next(object_tables(source, None, 1), None)
    return [] if first is None else first.schema.names


# -- svmlight


def svmlight_rows(path, block, max_row_bytes, load):
    """Yield ``load(text)`` for whole lines of a text file, maybe compressed, about ``block`` bytes each."""
    opener, n_lines = _OPEN.get(suffixes(path)[1], io.open), 0
    with naming(path), opener(path, "rb") as file:
        rows = WholeRows(file, max_row_bytes)
        try:
            while text := rows.read(block):
                loaded, error = _tried(load, text)
                if error is not None:
                    lines = text.split(b"\n")
                    first = bisect_left(range(len(lines)), True, key=lambda n: bool(_tried(load, *lines[:n])[1]))
                    _, error = _tried(load, *lines[:first])
                    raise ValueError(f"its line {n_lines + first}: {error}")
                yield loaded
                n_lines += text.count(b"\n")
        except BadRow as error:
            raise ValueError(f"its line {n_lines + 1} {error}") from None


def _tried(load, *lines):
    """Result of ``load`` for lines, and None; or None, and its error."""
    try:
        return load(b"\n".join(lines)), None
    except (ValueError, OverflowError) as error:
        return None, error
