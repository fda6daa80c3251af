"""Predict the rows of files that need not fit in memory, with a model that train has saved.

A model that knows its columns finds them by name, and ignores the target and other columns that it did not learn from.
--keep copies columns to the predictions. Models from train or prepare refuse columns that were not there in training;
with --fill these cause a warning, and values that cannot be read count as missing. Predictions are first written in
parts, to a folder next to the output file. After a crash, the same command resumes after the last complete part.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from .._extras import needed
from ..estimators._parameters import learner_of
from ..io import trusted_types
from ..preprocessing import OnlineColumnTransformer
from ..preprocessing._frames import WORDS
from ..streams import read_batches
from ..streams._fit import progress_bar
from ..streams._read import SIZES, IfThere
from ..streams._sources import find_paths, format_of, pyarrow
from ..streams._whole import check_writable, clear_beside, write_whole
from .tables import new_parser
from .training import SUFFIXES, WHAT_FILES_DO, add_reading, import_skops, in_a_line, noting, reading

PROGRAM = "python -m sklearn_nag predict"
OUTPUTS = (".csv", ".parquet")
SETTINGS = "settings.json"  # in the folder of parts
LEFT_OVER = re.compile(r"\.(settings\.json|\d+\.arrow)\.[0-9a-f]{32}")  # left by runs killed while writing
NEW = {  # names of columns, by what makes them
    "prediction": "prediction", "proba": "probability", "decision": "decision", "lower": "lower", "upper": "upper",
}  # fmt: skip


def parse(arguments):
    parser = new_parser(PROGRAM, __doc__)
    add = parser.add_argument
    add("model", type=Path, help=f"file of the model: {', '.join(SUFFIXES)}; use only files that you trust")
    add("--out", type=Path, required=True, metavar="FILE", help="file for the predictions: .csv or .parquet")
    add("--proba", action="store_true", help="add the probability of each class")
    add("--decision", action="store_true", help="add decision values")
    add("--interval", type=float, metavar="COVERAGE",
        help="add the ends of an interval that contains the target with this probability, such as 0.9")  # fmt: skip
    add("--keep", nargs="+", default=[], metavar="NAME",
        help="columns to copy, such as a key or the target; those of CSV files are copied as text, except missing "
        "values and columns that the model has learnt as numbers or dates")  # fmt: skip
    add("--columns", nargs="+", metavar="NAME", help="features in order, for a model that does not know its columns")
    add("--fill", action="store_true",
        help="for models from train or prepare: only warn if columns are missing, new or changed")  # fmt: skip
    add("--part", type=int, default=1_000_000, metavar="ROWS",
        help="number of rows after which a part is written (%(default)s)")  # fmt: skip
    add("--n-hashed", type=int, default=2**16, metavar="N",
        help="number of columns to hash words to, if the model does not know its columns (%(default)s)")  # fmt: skip
    add_reading(add)
    options = parser.parse_args(arguments)
    if options.model.suffix not in SUFFIXES:
        parser.error(f"{options.model}: the name of a model must end in {', '.join(SUFFIXES)}")
    if options.out.suffix not in OUTPUTS:
        parser.error(f"--out {options.out}: its name must end in {' or '.join(OUTPUTS)}")
    if not options.out.parent.is_dir():
        parser.error(f"there is no folder {options.out.parent} for {options.out.name}")
    if options.part < 1:
        parser.error("--part must be at least 1")
    return parser, options


def main(arguments):
    """Predict, and print what was done."""
    parser, options = parse(arguments)
    try:
        print(noting(predict, options))
    except (*WHAT_FILES_DO, TypeError) as error:
        parser.exit(2, f"{PROGRAM}: {in_a_line(error)}\n")
    except KeyboardInterrupt:
        parser.exit(130, "\nInterrupted. The same command resumes after the last part.\n")


def predict(options):
    """Predict the rows of files and write the predictions; return a line on what was done."""
    try:
        content = options.model.read_bytes()
    except FileNotFoundError:
        raise ValueError(f"there is no file {options.model}.") from None
    model = load(options.model, content)
    check_methods(model, options)
    clear_beside(options.out)
    check_writable(options.out)
    batches = batches_of(options, model)
    if options.out.exists() and any(map(options.out.samefile, find_paths(options.files))):
        raise ValueError(f"--out {options.out}: predictions would overwrite rows to predict.")
    parts = options.out.with_name(f"{options.out.name}.parts")
    written = begin(parts, settings_of(options, content, batches))
    n_rows = sum(n for _, n in written)
    bar, n_seen, waiting, n_waiting = progress_bar("auto", batches.n_rows), 0, [], 0
    try:
        for X, _ in batches:
            n = X.shape[0]
            n_seen += n
            if n_seen > n_rows:
                waiting.append(predicted(model, X, options, n_seen - n))
                n_waiting += n
            bar.show(n, None)
            if n_waiting >= options.part:
                written.append(write_part(parts, len(written), waiting))
                waiting, n_waiting = [], 0
    except Exception:
        if not written:
            remove(parts)
        raise
    finally:
        bar.close()
    if waiting:
        written.append(write_part(parts, len(written), waiting))
    if not written:
        remove(parts)
        raise ValueError(f"{' '.join(options.files)} has no rows to predict.")
    write_whole(options.out, lambda file: join(written, file, options.out.suffix))
    remove(parts)
    return f"{options.out}: {n_seen} predictions by {options.model}"


def remove(parts):
    """Remove a folder of parts, last part first, so that a killed command can resume."""
    number = {path: int(path.stem) if path.suffix == ".arrow" else -1 for path in parts.iterdir()}
    for path in sorted(number, key=number.__getitem__, reverse=True):
        path.unlink()
    parts.rmdir()


def load(path, content):
    """The model in a file, read by its suffix."""
    skops = import_skops() if path.suffix == ".skops" else None
    try:
        if skops is not None:
            model = skops.loads(content, trusted=trusted_types())
        else:
            model = joblib.load(io.BytesIO(content))  # reads pickles, too
    except Exception as error:  # both raise all kinds
        if skops is not None and isinstance(error, skops.exceptions.UntrustedTypesFoundException):
            raise ValueError(f"{path} holds types that are not of this package: {error}") from error
        raise ValueError(f"{path} is not a model, or is damaged: {error}") from error
    if not hasattr(model, "predict"):
        raise TypeError(f"{path} holds a {type(model).__name__}, which cannot predict.")
    best = getattr(model, "best_estimator_", None)  # of a search
    return model if columns_of(best) is None else best


def check_methods(model, options):
    """Raise unless the model can give what the options ask for."""
    if options.interval is not None and not 0.0 < options.interval < 1.0:
        raise ValueError(f"--interval {options.interval:g}: it must be above 0 and below 1.")
    methods = {"proba": "predict_proba", "decision": "decision_function", "interval": "predict_interval"}
    for option, method in methods.items():
        if getattr(options, option) and not hasattr(model, method):
            last = learner_of(model)
            hint = " Intervals are for quantities; --proba is for classes." if option == "interval" else ""
            raise ValueError(f"--{option}: this {type(last).__name__} has no {method}.{hint}")


def columns_of(model):
    """The transformer that finds a model's columns in tables, or None."""
    first = model[0] if isinstance(model, Pipeline) else None
    return first if isinstance(first, OnlineColumnTransformer) else None


def names_of(model):
    """Names of a model's columns; empty if it does not know them."""
    return [*getattr(model, "feature_names_in_", ())]


def batches_of(options, model):
    """Batches of the files: tables for a model that knows its columns, arrays for others."""
    known, names, columns = columns_of(model), names_of(model), options.columns
    if options.fill:
        if known is None:
            raise ValueError("--fill is for models that prepare their columns, as those of train do.")
        known.set_params(mismatch="fill")
        _fill_what_cannot_be_read(known)
    is_known = known is not None or bool(names)
    if is_known and columns is not None:
        raise ValueError("--columns is for models that do not know their columns; this one does.")
    if not is_known and options.keep:
        raise ValueError("--keep is for models that know their columns, as those of train do.")
    is_svmlight = "svmlight" in map(format_of, find_paths(options.files))
    if is_known and is_svmlight:
        raise ValueError("this model finds its columns by name, and svmlight files have no names.")
    if names and known is None:
        columns = [*dict.fromkeys([*names, *options.keep])]
    return read_batches(
        options.files, None, columns=columns, frames=is_known, words=words_of(model, options.keep),
        mismatch="fill" if options.fill else "raise",
        n_features=model.n_features_in_ if is_svmlight else None, **reading(options),
    )  # fmt: skip


def _fill_what_cannot_be_read(transformer):
    """Make transformers take words that are no numbers or dates as missing, not raise."""
    for part in transformer._parts():
        if "errors" in part.get_params(deep=False):
            part.set_params(errors="missing")
        _fill_what_cannot_be_read(part)


def words_of(model, kept):
    """Columns to read as words, whatever they look like: those only copied, or learnt as words."""
    known, names = columns_of(model), names_of(model)
    kinds = dict.fromkeys(names) if known is None else dict(zip(names, known.kinds_))
    return IfThere(name for name in {*kept, *names} if kinds.get(name, WORDS) in ("", WORDS))


def predicted(model, X, options, n_before) -> Any:
    """Predictions of rows as an Arrow table, after the columns to keep."""
    columns: dict[str, Any] = {}
    names = names_of(model)
    for name in options.keep:
        if name not in X.schema.names:
            raise ValueError(f"--keep: the files have no column {name!r}; they have {', '.join(X.schema.names)}.")
        values = X.column(name)
        has_no_words = pyarrow.types.is_nested(values.type) or "binary" in str(values.type)
        if options.out.suffix == ".csv" and has_no_words:
            raise ValueError(f"--keep {name}: it holds {values.type}, which only .parquet can store, not .csv.")
        columns[name] = values.dictionary_decode() if pyarrow.types.is_dictionary(values.type) else values
    if columns_of(model) is not None:
        X = X.select([name for name in X.schema.names if name not in options.keep or name in names])
    elif names:
        needed("pandas", "csv", "models that know names of columns need")
        X = X.select(names).to_pandas(ignore_metadata=True)
    try:
        given = {"prediction": model.predict(X)}
        if options.proba:
            given["proba"] = model.predict_proba(X)
        if options.decision:
            given["decision"] = model.decision_function(X)
        if options.interval:
            ends = model.predict_interval(X, options.interval)
            given["lower"], given["upper"] = ends[..., 0], ends[..., 1]
    except ValueError as error:
        error.add_note(f"This concerns data rows {n_before + 1} to {n_before + X.shape[0]}.")
        raise
    classes = getattr(model, "classes_", None) if is_classifier(model) else None
    for what, values in given.items():
        for name, column in named(NEW[what], values, classes):
            if name in columns:
                raise ValueError(f"--keep {name}: a column of predictions has this name.")
            if column.dtype.kind == "b" and options.out.suffix == ".csv":
                column = column.astype(str)  # spelt as in headings, unlike in Arrow
            columns[name] = pyarrow.array(column)
    return pyarrow.table(columns)


def named(name, values, classes):
    """Names and values of prediction columns: one, or one for each class or numbered output."""
    if isinstance(values, list):  # scikit-learn's probabilities of several labels
        return [column for i, own in enumerate(values) for column in named(f"{name}_{i}", own, classes[i])]
    if values.ndim == 1:
        return [(name, values)]
    are_classes = classes is not None and np.ndim(classes[0]) == 0 and len(classes) == values.shape[1]
    ends = classes if are_classes else range(values.shape[1])
    return [(f"{name}_{end}", np.ascontiguousarray(values[:, i])) for i, end in enumerate(ends)]


# -- parts


def settings_of(options, content, batches):
    """Settings that predictions depend on, by which parts are recognised."""
    names = [
        "proba", "decision", "interval", "keep", "columns", "fill", "batch_size", "part", "delimiter", "encoding",
        "one_based",
    ]  # fmt: skip
    return {
        "model": hashlib.sha256(content).hexdigest(),
        "files": batches.settings["files"],
        SIZES: batches.settings[SIZES],
        **{name: getattr(options, name) for name in names},
    }


def begin(parts, settings):
    """Existing parts with their numbers of rows; raise if they are of another run."""
    path, n_parts = parts / SETTINGS, 0
    try:
        parts.mkdir(exist_ok=True)
        there = sorted(os.listdir(parts))
        while f"{n_parts}.arrow" in there:
            n_parts += 1
        before = json.loads(path.read_bytes()) if n_parts or SETTINGS in there else settings
        is_another = before.keys() != settings.keys() or parts.is_symlink()
    except (ValueError, AttributeError, OSError):
        is_another = True
    if is_another:
        raise ValueError(f"{parts} is damaged, or is not a folder of parts: remove it to start again.")
    paths = [parts / f"{i}.arrow" for i in range(n_parts)]
    own = {SETTINGS, *(part.name for part in paths)}
    if strange := [n for n in there if not (n in own or LEFT_OVER.fullmatch(n)) or not (parts / n).is_file()]:
        raise ValueError(f"{parts} would be removed, but has {strange[0]!r}, which is not a part: move it elsewhere.")
    differ = [name for name in settings if before[name] != settings[name]]
    if differ and n_parts:
        raise ValueError(
            f"{parts} has parts of another run: its setting {differ[0]!r} was different. Remove the folder to start "
            "again."
        )
    write_whole(path, lambda file: file.write(json.dumps(settings).encode()))
    written = []
    for part in paths:
        clear_beside(part)
        with reading_part(part) as reader:
            written.append((part, sum(reader.get_batch(i).num_rows for i in range(reader.num_record_batches))))
    clear_beside(parts / f"{n_parts}.arrow")
    return written


def write_part(parts, number, tables):
    """Write a part, whole; return its path and number of rows."""
    path = parts / f"{number}.arrow"

    def write(file):
        schema = common_schema([table.schema for table in tables])
        with pyarrow.ipc.new_file(file, schema) as writer:
            for table in tables:
                writer.write_table(in_schema(table, schema))

    write_whole(path, write)
    return path, sum(table.num_rows for table in tables)


@contextlib.contextmanager
def reading_part(path):
    """Open a part; the reader gives its batches by number."""
    with pyarrow.OSFile(str(path)) as file, pyarrow.ipc.open_file(file) as reader:
        yield reader


def join(written, file, suffix):
    """Write all parts to an open file, one batch at a time."""
    schemas = []
    for path, _ in written:
        with reading_part(path) as reader:
            schemas.append(reader.schema)
    schema = common_schema(schemas)
    with (pyarrow.parquet.ParquetWriter if suffix == ".parquet" else pyarrow.csv.CSVWriter)(file, schema) as writer:
        for path, _ in written:
            with reading_part(path) as reader:
                for i in range(reader.num_record_batches):
                    writer.write_table(in_schema(pyarrow.Table.from_batches([reader.get_batch(i)]), schema))


def common_schema(schemas):
    """A schema for the tables of several; columns whose types cannot be combined hold words."""
    try:
        return pyarrow.unify_schemas(schemas, promote_options="permissive")
    except pyarrow.ArrowTypeError:
        types = {name: {schema.field(name).type for schema in schemas} for name in schemas[0].names}
        return pyarrow.schema(
            [(name, kinds.pop() if len(kinds) == 1 else pyarrow.string()) for name, kinds in types.items()]
        )


def in_schema(table, schema):
    """A table cast to a `common_schema`; raise ValueError for a column that cannot be."""
    columns = []
    for field in schema:
        try:
            columns.append(table.column(field.name).cast(field.type))
        except pyarrow.ArrowException as error:
            kinds = f"{table.column(field.name).type} in one file and {field.type} in another"
            raise ValueError(f"--keep {field.name}: it is {kinds}, which cannot be combined: {error}") from None
    return pyarrow.table(columns, schema=schema)
