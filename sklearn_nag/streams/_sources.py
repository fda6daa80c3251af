"""Where tables come from: files of several formats, Arrow streams, lazy frames and iterables of frames.

Tables become `pyarrow.RecordBatch` objects, one at a time.
"""

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
PACKINGS = {".gz": "gzip", ".bz2": "bz2", "": None}  # as pyarrow calls it
_PARTS = "compute", "csv", "parquet"  # of pyarrow, which are not imported with it
_MOST_NAMES = 100  # of columns, that an error shows
_MOST_OF_DICTIONARY = 2**16  # bytes of the words of a column, in a group of rows, up to which they are read by number
_PARQUET_BUFFER = 2**16  # bytes of each column that are read at a time; without, all of a row group


class _Pyarrow:
    """As the package pyarrow, which is imported when something of it is asked for."""

    def __getattr__(self, name):
        if name.startswith("__"):  # by which others ask what it is
            raise AttributeError(name)
        package = needed("pyarrow", "streams", "tables need")
        return import_module(f"pyarrow.{name}") if name in _PARTS else getattr(package, name)


pyarrow: Any = _Pyarrow()


def find_paths(source):
    """Paths that a path, a glob or a list of them stands for; None where ``source`` is something else."""
    if isinstance(source, str | os.PathLike):
        source = [source]
    if not (isinstance(source, list | tuple) and source and all(isinstance(p, str | os.PathLike) for p in source)):
        return None
    paths = []
    for name in map(os.fspath, source):
        found = [name] if os.path.exists(name) else sorted(glob.glob(name, recursive=True))
        if not found:
            raise FileNotFoundError(f"there is no file {name!r}")
        paths += found
    return [Path(path) for path in paths]


def suffixes(path):
    """The suffix that says the format of a file, and that of its packing or "", both in lower case."""
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
    """Raise errors of a reader as ValueError that names the file, but those that name it already."""
    try:
        yield
    except (ValueError, OSError, EOFError, OverflowError, zlib.error) as error:
        if getattr(error, "filename", None) is not None:  # it is not there, or may not be read
            raise
        raise ValueError(f"{path} cannot be read: {str(error).rstrip('.')}.") from error


# -- tables


def parquet_tables(path, columns, batch_size, is_word=None):
    """Record batches of a Parquet file, read one at a time, of these ``columns``, None for all.

    Words of columns for whose names ``is_word`` is true may come by number, as a dictionary of Arrow.
    """
    options = {"buffer_size": _PARQUET_BUFFER, "pre_buffer": False}
    with naming(path):
        file = pyarrow.parquet.ParquetFile(path, **options)
    with file:
        check_names(file.schema_arrow.names, columns, path)
        numbered = [] if is_word is None else _numbered(file, columns, batch_size, is_word)
        # One thread reads while another learns; more of them for the columns would be in the way of both.
        how = {"batch_size": batch_size, "columns": columns, "use_threads": False}
        if not numbered:
            with naming(path):
                yield from file.iter_batches(**how)
            return
        options |= {"metadata": file.metadata, "read_dictionary": numbered}
        with naming(path), pyarrow.parquet.ParquetFile(path, **options) as by_number:
            yield from _whole(by_number.iter_batches(**how), batch_size)


def _numbered(file, columns, batch_size, is_word):
    """Names of the columns of a Parquet file whose words lie there by number, few of them, and may be read so."""
    types, fields = pyarrow.types, file.schema_arrow
    fields = [field for field in fields if columns is None or field.name in columns]
    words = {field.name for field in fields if types.is_string(field.type) or types.is_large_string(field.type)}
    words = set(filter(is_word, words))
    # Batches that have words by number end with a group of rows. Where they do so anyway, they stay as they are.
    if not words or any(types.is_dictionary(field.type) for field in fields) or not file.metadata.num_row_groups:
        return []
    group = file.metadata.row_group(0)
    if group.num_rows < batch_size:
        return []
    chunks = [chunk for chunk in map(group.column, range(group.num_columns)) if chunk.path_in_schema in words]
    return [chunk.path_in_schema for chunk in chunks if 0 < _size_of_dictionary(chunk) <= _MOST_OF_DICTIONARY]


def _size_of_dictionary(chunk):
    """Bytes of the words of a column in a group of rows; 0 where it has no dictionary."""
    start = chunk.dictionary_page_offset
    return 0 if start is None or not chunk.has_dictionary_page else chunk.data_page_offset - start


def _whole(batches, n_rows):
    """Batches of so many rows each, but for the last, of such as end with groups of rows."""
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
    """One record batch of several."""
    return batches[0] if len(batches) == 1 else join_tables(batches).combine_chunks().to_batches()[0]


def parquet_footer(path):
    """Names of all columns of a Parquet file, and number of its rows."""
    with naming(path), pyarrow.parquet.ParquetFile(path) as file:
        return file.schema_arrow.names, file.metadata.num_rows


def join_frames(frames):
    """One frame of pandas or polars, or table of Arrow, of several with the same columns, in the order of the first.

    Words stay words: categories of several frames are put together.
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
    return pl.concat(frames, how="vertical_relaxed")  # numbers of several types are numbers


def join_tables(tables):
    """One table of Arrow of several; what some of them lack is missing there.

    One that has no values becomes what another has there. Numbers of several types are integers or float64, and truths
    among them 0 and 1; where some have words, or numbers stand beside dates, all become words.
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
    """What makes columns of several types columns of one, a function of each; None where Arrow joins them by itself."""
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
    """Raise unless each of ``columns``, or of the ``names`` of a table where it is None, is there once."""
    counts = Counter(names)
    for name in counts if columns is None else columns:
        if name not in counts:
            shown = [*map(repr, names[:_MOST_NAMES]), *["..."] * (len(names) > _MOST_NAMES)]
            raise ValueError(f"{where} has no column {name!r}; its columns are {', '.join(shown)}.")
        if counts[name] > 1:
            raise ValueError(f"{where} has {counts[name]} columns {name!r}; names must differ.")


def _check_pandas(frame):
    """Raise for a frame of pandas with several columns of one name, or complex numbers, which are not for Arrow."""
    if not type(frame).__module__.startswith("pandas"):
        return
    names = [*getattr(frame, "columns", ())]
    check_names(names, None, f"the {type(frame).__name__}")
    for name, dtype in zip(names, getattr(frame, "dtypes", ())):
        if getattr(dtype, "kind", None) == "c":
            raise ValueError(f"column {name!r} holds {dtype}: give real and imaginary parts as columns of their own.")


def object_tables(source, columns, batch_size) -> Iterator:
    """Record batches of an Arrow stream, a polars LazyFrame, a data frame, or an iterable of frames."""
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
    """A record batch with strings in place of views of strings, as polars has them, of which Arrow takes no rows."""
    is_view = pyarrow.types.is_string_view
    if not any(is_view(field.type) for field in batch.schema):
        return batch
    arrays = [array.cast(pyarrow.large_string()) if is_view(array.type) else array for array in batch.columns]
    return pyarrow.record_batch(arrays, names=batch.schema.names)


def object_names(source):
    """Names of all columns of such a source; of an iterable, those of the first frame."""
    if hasattr(source, "collect_schema"):  # a polars LazyFrame
        return source.collect_schema().names()
    first = next(object_tables(source, None, 1), None)
    return [] if first is None else first.schema.names


# -- svmlight


def svmlight_rows(path, block, max_row_bytes, load):
    """What ``load`` makes of whole lines of a text file, plain or compressed, about ``block`` bytes at a time."""
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
    """What ``load`` makes of lines, and None; or None, and its error."""
    try:
        return load(b"\n".join(lines)), None
    except (ValueError, OverflowError) as error:
        return None, error
