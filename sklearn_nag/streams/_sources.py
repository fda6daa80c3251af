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
from collections.abc import Iterable, Iterator
from pathlib import Path

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
_PACKING = {".gz": "gzip", ".bz2": "bz2", "": None}  # as pyarrow calls it
_CSV_SAMPLE = 2**22  # bytes of text that tell the types of columns
_CSV_BLOCK = 2**21  # bytes that are read at a time; pyarrow is several blocks ahead
_PARQUET_BUFFER = 2**16  # bytes of each column that are read at a time; without, all of a row group


def import_pyarrow():
    """The package pyarrow; raise ImportError with the name of the extra where it is missing."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError('tables need pyarrow, which is not installed: pip install "sklearn-nag[streams]"') from None
    return pyarrow


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


def _suffixes(path):
    """The suffix that says the format of a file, and that of its packing or "", both in lower case."""
    *_, last = suffixes = ["", *map(str.lower, path.suffixes)]
    return (suffixes[-2], last) if last in _OPEN else (last, "")


def format_of(path):
    """Format of a file by its name: "parquet", "csv" or "svmlight"."""
    suffix, _ = _suffixes(path)
    if suffix not in FORMATS:
        known = ", ".join(FORMATS)
        raise ValueError(f"{path} has a name that says no format: it must end in {known}, the last ones also with .gz "
                         "or .bz2 after it.")  # fmt: skip
    return FORMATS[suffix]


@contextlib.contextmanager
def naming(path, hint=""):
    """Raise errors of a reader as ValueError that names the file, but those that name it already."""
    try:
        yield
    except (ValueError, OSError, EOFError, OverflowError, zlib.error) as error:
        if getattr(error, "filename", None) is not None:  # it is not there, or may not be read
            raise
        raise ValueError(f"{path} cannot be read: {str(error).rstrip('.')}.{hint}") from error


# -- tables


def parquet_tables(path, columns, batch_size):
    """Record batches of a Parquet file, read one at a time."""
    import_pyarrow()
    from pyarrow import parquet

    with naming(path):
        file = parquet.ParquetFile(path, buffer_size=_PARQUET_BUFFER, pre_buffer=False)
    with file:
        check_names(file.schema_arrow.names, columns, path)
        with naming(path):
            # One thread reads while another learns; more of them for the columns would be in the way of both.
            yield from file.iter_batches(batch_size=batch_size, columns=columns, use_threads=False)


def parquet_rows(path):
    """Number of rows of a Parquet file, which its footer says."""
    import_pyarrow()
    from pyarrow import parquet

    with naming(path), parquet.ParquetFile(path) as file:
        return file.metadata.num_rows


def csv_tables(path, columns, delimiter):
    """Record batches of a CSV file with a header; whole numbers are read as float64, as later ones may not be whole.

    The first 4 MiB tell the types. They are then given for all columns, as the reader takes half as long again where
    it has to infer them. Fields that are empty, NA, null or the like are missing, in words as in numbers.
    """
    pyarrow = import_pyarrow()
    from pyarrow import csv

    suffix, packing = _suffixes(path)
    parse = csv.ParseOptions(delimiter=delimiter or ("\t" if suffix == ".tsv" else ","), newlines_in_values=True)
    hint = " Text must be UTF-8; types of columns are those of its first 4 MiB."

    def reader(block_size, **convert):
        read = csv.ReadOptions(block_size=block_size, use_threads=False)
        options = csv.ConvertOptions(strings_can_be_null=True, **convert)
        return csv.open_csv(pyarrow.input_stream(path, compression=_PACKING[packing]), read, parse, options)

    with naming(path, hint), reader(_CSV_SAMPLE) as first:
        schema, names = first.schema, first.schema.names
        has_rows = any(map(pyarrow.types.is_null, schema.types)) and any(block.num_rows for block in first)
    del first  # with the blocks that it has read ahead
    check_names(names, columns, path)
    used = set(names if columns is None else columns)
    for field in (field for field in schema if field.name in used):
        if pyarrow.types.is_binary(field.type):
            raise ValueError(f"{path} has text in column {field.name!r} that is not UTF-8: write it as UTF-8, or leave "
                             "the column out by columns.")  # fmt: skip
        if has_rows and pyarrow.types.is_null(field.type):
            raise ValueError(f"{path} has no value of column {field.name!r} in its first 4 MiB, which tell what it "
                             "holds: fill it in, or leave it out by columns.")  # fmt: skip
    types = {field.name: _lasting_type(field.type) for field in schema}
    with naming(path, hint), reader(_CSV_BLOCK, column_types=types, include_columns=columns or []) as tables:
        yield from tables


def _lasting_type(kind):
    """Type to read a column with whose values have been of a ``kind`` so far."""
    pyarrow = import_pyarrow()
    return pyarrow.float64() if pyarrow.types.is_integer(kind) else kind


def check_names(names, columns, where):
    """Raise unless all ``columns`` are among the ``names`` of a table."""
    known = set(names)
    missing = [name for name in columns or () if name not in known]
    if missing:
        raise ValueError(f"{where} has no column {missing[0]!r}; its columns are {', '.join(map(repr, names))}.")


def object_tables(source, columns, batch_size) -> Iterator:
    """Record batches of an Arrow stream, a polars LazyFrame, a data frame, or an iterable of frames."""
    pyarrow = import_pyarrow()
    if hasattr(source, "collect_batches"):  # a polars LazyFrame
        lazy = source if columns is None else source.select(columns)
        source = lazy.collect_batches(chunk_size=batch_size)
    if hasattr(source, "__arrow_c_stream__"):
        reader = pyarrow.RecordBatchReader.from_stream(source)
        check_names(reader.schema.names, columns, f"the {type(source).__name__}")
        for batch in reader:
            yield batch if columns is None else batch.select(columns)
        return
    if hasattr(source, "__arrow_c_array__"):
        batch = pyarrow.record_batch(source)
        check_names(batch.schema.names, columns, f"the {type(source).__name__}")
        yield batch if columns is None else batch.select(columns)
        return
    if type(source).__module__.startswith("pandas"):  # before version 2.2
        yield from object_tables(pyarrow.Table.from_pandas(source, preserve_index=False), columns, batch_size)
        return
    if type(source).__module__.startswith("polars") and type(source).__name__ == "LazyFrame":
        raise TypeError("source is a LazyFrame of a polars that cannot collect it in batches: update polars.")
    if isinstance(source, str | bytes | dict) or not isinstance(source, Iterable):
        raise TypeError(
            f"source is a {type(source).__name__}; it must be a path, a glob, a list of them, an object with "
            "__arrow_c_stream__, a polars LazyFrame, or an iterable of data frames."
        )
    for frame in source:
        if isinstance(frame, tuple | list | str | bytes | dict):
            raise TypeError(f"source yields a {type(frame).__name__}; it must yield data frames or Arrow tables.")
        yield from object_tables(frame, columns, batch_size)


# -- svmlight


def svmlight_blocks(path, block):
    """Whole lines of a text file, plain or compressed, about ``block`` bytes at a time."""
    opener = _OPEN.get(_suffixes(path)[1], io.open)
    with naming(path), opener(path, "rb") as file:
        while text := file.read(block):
            yield text + file.readline()
