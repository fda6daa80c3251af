"""A user's CSV file as a table to learn from, and how each column is treated."""

from __future__ import annotations

import argparse
import ast
import csv
import re
import shlex
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._extras import how_to_install
from ..preprocessing import DateEncoder, NumberReader, OnlinePipeline, prepare
from ..preprocessing._frames import DATES, NUMBERS, WORDS, read_table
from ..preprocessing._numbers import NumberForm
from ..preprocessing._prepare import EPOCHS, IN_DIGITS, KINDS, LEAST_READ, LEFT_OUT, TEXT, are_days, choose
from ..streams._read import check_encoding
from ..streams._sources import check_names

LARGEST = 1e150  # numbers in a file must be below this: scalers and scores take squares
MOST_CLASSES = 20  # a target with more whole numbers than this is a quantity
LEADING_ZERO = r"0\d+"
SEPARATORS = ",;\t|"
_WORDS = "None", "<NA>"  # missing for pandas, but not for train


class Choices(NamedTuple):
    """The user's choices for columns."""

    columns: tuple | None = None  # names of columns to use; None for all
    drop: tuple = ()
    kinds: Mapping = {}  # as for `prepare`, also of the target
    time: str | None = None  # in whose order rows are; None for one with dates, see `_time`
    shuffle: bool = False  # whether to ignore the order of rows, with dates or not


@dataclass(frozen=True)
class Table:
    """A table to learn from."""

    name: str  # of the file
    target: str  # the column to predict
    X: Any  # a frame of features as read; in the order of time if there is one
    y: np.ndarray  # classes as words, or quantities
    is_classification: bool
    prepare: OnlinePipeline  # makes numbers of the features; not fitted
    time: str | None = None  # the column in whose order rows are
    reading: Mapping = field(default_factory=dict)  # parameters of pandas' ``read_csv`` that read the same
    preparing: Mapping = field(default_factory=dict)  # parameters of ``prepare`` that make the same pipeline
    notes: list[str] = field(default_factory=list)  # what was found, and how each column is treated
    target_reader: NumberReader | None = None  # makes numbers of target words
    time_reader: DateEncoder | None = None  # makes days of ``time`` if it holds dates


def read_own(path, target, *, most_rows, folds, encoding="utf-8", choices=None):
    """Read a CSV file with a header as a `Table`; decide what its columns are unless ``choices`` say it.

    Of more than ``most_rows`` rows, use the latest or, without an order in time, random ones. Raise ValueError if there
    is nothing to learn in so many folds.
    """
    choices = choices or Choices()
    of_words = [name for name, kind in choices.kinds.items() if kind in (WORDS, TEXT)]
    frame, reading = _read(path, encoding, of_words, target)
    _check_choices(choices, frame, path, target)
    if len(frame) == 0:
        raise ValueError(f"{path} has a header, but no rows.")
    _check_sizes(frame, path)
    notes = [f"{path}: {len(frame)} rows, {frame.shape[1]} columns"]
    asked = choices.kinds.get(target)
    target_reader, frame[target], of_target = _read_target(frame[target], asked)
    rows = frame[frame[target].notna()]
    if len(rows) < len(frame):
        n, what = len(frame) - len(rows), "a number in " if target_reader is not None else ""
        notes.append(f"  {n} row{'s' * (n > 1)} without {what}{target!r} left out")
    of_columns: list[str] = []
    kinds = {name: kind for name, kind in choices.kinds.items() if name != target}
    others = [name for name in frame if name != target and name in (choices.columns or frame)]
    if choices.time in {*others}.difference(kinds) and _is_number(rows[choices.time]):
        choice = choose(read_table(rows[[choices.time]]).columns[0])
        if choice.kind == LEFT_OUT and choice.n_different > 1:
            kinds[choices.time] = NUMBERS  # a column that orders rows does not merely name them
    given = {"drop": list(choices.drop), "kinds": kinds} | ({"columns": others} if choices.columns else {})
    try:
        made = prepare(rows.drop(columns=target), say=of_columns.append, **given)
    except ValueError as error:
        of_file = f"{path} has no column to learn {target!r} from." if "to learn from" in str(error) else error
        raise ValueError(str(of_file)) from None
    time = None if choices.shuffle else choices.time or _time(rows[others], kinds, choices.drop)
    time_reader = None
    if time is not None:
        time_reader, moments = _moments(rows[time], kinds.get(time))
        rows = rows.iloc[np.argsort(moments, kind="stable")]
    rows, taken = _at_most(most_rows, rows, time is not None, notes)
    y = rows.pop(target)
    is_classification = not _is_number(y) or (asked != NUMBERS and _are_classes(y))
    if not is_classification and asked is None and are_days(y.to_numpy(np.float64)):
        raise ValueError(_no_dates(target, f", such as {y.iloc[0]:.0f}", [NUMBERS, WORDS]))
    which = of_target
    if is_classification:
        frequent = y.map(y.value_counts()) >= 2
        if not frequent.all():
            notes.append(f"  {(~frequent).sum()} rows left out because no other row has their class")
            rows, y = rows[frequent], y[frequent]
            instead = f"; --numbers {shlex.quote(target)} makes it a quantity" if _is_number(y) else ""
            which = f" in two rows or more{instead}"
    if y.nunique() < 2:
        raise ValueError(f"{path} has nothing to learn{taken}: rows with fewer than two values of {target!r}{which}.")
    if len(y) < 2 * folds:
        raise ValueError(f"{path} has {len(y)} rows to learn from; --folds {folds} needs at least {2 * folds} rows.")
    kind = f"classification, {y.nunique()} classes" if is_classification else "regression"
    notes.append(f"  {target!r} is the target: {kind}{of_target}")
    notes += [f"  {as_options(note)}" for note in of_columns]
    if time is not None:
        order = f"  rows are in the order of {time!r}, and later ones are predicted from earlier ones"
        notes.append(f"{order} (--shuffle ignores the order)")
    y = y.astype(str).to_numpy(object) if is_classification else y.to_numpy(np.float64)
    preparing = {name: value for name, value in given.items() if value}
    return Table(
        Path(path).name, target, rows, y, is_classification, made, time, reading, preparing, notes, target_reader,
        time_reader,
    )  # fmt: skip


def _at_most(most_rows, rows, are_in_order, notes):
    """At most ``most_rows`` rows, the latest or random ones, and a phrase for messages."""
    if len(rows) <= most_rows:
        return rows, ""
    notes.append(f"  {f'the latest {most_rows} rows' if are_in_order else f'{most_rows} random rows'} taken (--rows)")
    taken = rows.tail(most_rows) if are_in_order else rows.sample(most_rows, random_state=0)
    return taken, f" in the {most_rows} rows taken (--rows)"


def new_parser(program, text):
    """A parser of options whose help shows ``text`` as it stands."""
    return argparse.ArgumentParser(prog=program, description=text, formatter_class=argparse.RawDescriptionHelpFormatter)


def add_choices(add):
    """Add options for the treatment of columns."""
    add("--columns", nargs="+", metavar="NAME", help="columns that are features (all others)")
    add("--drop", nargs="+", default=[], metavar="NAME", help="columns to leave out")
    add("--as", nargs="+", default=[], metavar="NAME=KIND", dest="kinds",
        help=f"kinds of columns: {', '.join(KINDS)}; for the target: numbers or words")  # fmt: skip


def kinds_of(said, target):
    """Kinds of columns by name, from a list of NAME=KIND."""
    kinds = {}
    for text in said:
        name, _, kind = text.rpartition("=")
        if not name or kind not in KINDS:
            raise ValueError(f"--as {text}: it must be NAME=KIND, where KIND is one of {', '.join(KINDS)}.")
        if kinds.setdefault(name, kind) != kind:
            raise ValueError(f"--as {text}: {name!r} is {kinds[name]}, as said before.")
    if kinds.get(target) not in (None, NUMBERS, WORDS):
        raise ValueError(f"--as {target}={kinds[target]}: the target must be {NUMBERS} or {WORDS}.")
    return kinds


def _check_choices(choices, frame, path, target):
    """Raise ValueError for names that are no columns, or conflicting choices."""
    named = [*(choices.columns or ()), *choices.drop, *choices.kinds, *filter(None, [choices.time])]
    check_names([*frame], [target, *named], path)
    check_names(choices.columns or (), None, "--columns")
    for option in ("columns", "drop"):
        if target in (getattr(choices, option) or ()):
            raise ValueError(f"{target!r} is the column to predict; --{option} must not name it.")
    if choices.time is not None and choices.shuffle:
        raise ValueError("--time and --shuffle exclude each other: one sorts the rows, the other ignores their order.")


def _read_target(values, kind):
    """Reader that makes numbers of a target, or None; the target; and what a note says of it."""
    if _is_number(values):
        return None, values, ""
    values = values.dropna().astype(str).astype(object).reindex(values.index)  # booleans, too
    if kind == WORDS:
        return None, values, ""
    column = read_table(values.to_frame()).columns[0]
    choice = choose(column, kind, least=LEAST_READ)
    names_rows = choice.kind == LEFT_OUT and choice.form is not None  # a target never does
    if names_rows or choice.form in EPOCHS:  # numbers that may or may not be seconds
        choice = choose(column, NUMBERS, least=LEAST_READ)
    if choice.kind == DATES and choice.has_days:
        raise ValueError(_no_dates(values.name, "", [NUMBERS, WORDS] if choice.form in IN_DIGITS else [WORDS]))
    if choice.kind != NUMBERS:
        return None, values, ""
    how = {"errors": "missing"} if choice.has_others else {}
    reader = NumberReader(**(choice.form or NumberForm())._asdict(), **how)
    numbers = _made_by(reader, values)
    if choice.has_others and kind is None and _are_classes(numbers.dropna()):
        return None, values, ""  # few words beside few numbers may be classes, too
    return reader, numbers, f", {choice.note}"


def _no_dates(target, such, kinds):
    """Message for a target of dates, with the ``kinds`` to ask for."""
    takes = {NUMBERS: "makes them numbers", WORDS: "makes each a class"}
    how = ", ".join(f"--as {shlex.quote(f'{target}={kind}')} {takes[kind]}" for kind in kinds)
    return f"the target {target!r} holds dates{such}: targets must be numbers or words; {how}."


def _time(frame, kinds, drop):
    """Name of the column with dates, or None; of several, the first that sorts the rows, else the first.

    Times of the day do not count, nor dates that more than half of the rows lack.
    """
    asked = {name: kinds.get(name) for name in frame if name not in drop}
    choices = {
        name: choose(read_table(frame[[name]]).columns[0], kind, least=LEAST_READ) for name, kind in asked.items()
    }
    dated = [name for name, choice in choices.items() if choice.kind == DATES and choice.has_days]
    moments = {name: _moments(frame[name], asked[name])[1] for name in dated}
    known = {name: own[np.isfinite(own)] for name, own in moments.items()}
    enough = [name for name in dated if 2 * len(known[name]) >= len(frame)]
    in_order = [name for name in enough if (np.diff(known[name]) >= 0).all()]
    return next(iter(in_order + enough), None)


def _moments(values, kind):
    """Reader of the times of rows, None for numbers, and the times as numbers, -inf if missing."""
    reader = None
    kind = None if kind == LEFT_OUT else kind  # a column that is not learnt from may order rows
    choice = choose(read_table(values.to_frame()).columns[0], kind, least=LEAST_READ)
    if choice.kind == DATES:
        how = {"errors": "missing"} if choice.has_others else {}
        reader = DateEncoder(("days",), format=choice.form, **how)
        values = _made_by(reader, values)
    elif not _is_number(values):
        raise ValueError(f"--time {values.name}: the column holds neither dates nor numbers.")
    return reader, values.fillna(-np.inf).to_numpy(np.float64)


def _made_by(transformer, values):
    import pandas as pd

    return pd.Series(transformer.fit_transform(values.to_frame())[:, 0], values.index, name=values.name)


def _read(path, encoding, words, target):
    """The file as a DataFrame, split as its header says, and the options with which pandas reads the same.

    Columns in ``words`` stay as written and keep None, as do words of the target.
    """
    try:
        import pandas as pd
    except ImportError:
        raise ValueError(f"reading a CSV file needs pandas: {how_to_install('csv')}") from None
    check_encoding(encoding)
    try:
        lines = {"sep": "\0", "engine": "python", "quoting": csv.QUOTE_NONE}  # whole lines, including quotes
        header = "\t".join(map(str, pd.read_csv(path, encoding=encoding, nrows=0, **lines).columns))
        separator = max(SEPARATORS, key=re.sub('"[^"]*"', "", header).count)
        check_names(next(csv.reader([header], delimiter=separator)), None, "it")
        options = {"encoding": encoding, "sep": separator, "low_memory": False, "dtype": dict.fromkeys(words, "str")}
        usual = {"sep": ",", "encoding": "utf-8", "low_memory": False, "dtype": {}}
        if isinstance(pd.read_csv(path, nrows=1, **options).index, pd.RangeIndex):
            usual["index_col"] = False  # rows do not end in a separator
        options["index_col"] = False
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(path, **options)
            as_written = options | {"dtype": str, "keep_default_na": False}
            texts = pd.read_csv(path, usecols={target, *words}.__contains__, **as_written)
            if any(texts[name].isin(_WORDS).any() and frame[name].map(type).eq(str).any() for name in texts):
                gaps = {*pd.read_csv(path, **as_written).to_numpy()[frame.isna()]}.difference(_WORDS)
                options |= {"keep_default_na": False, "na_values": sorted(gaps)}
                frame = pd.read_csv(path, **options)
            whole = [place for place, name in enumerate(frame) if _is_whole(frame[name])]
            if whole:  # read again as text: digits with a leading zero are codes, such as postcodes
                texts = pd.read_csv(path, usecols=whole, **options | {"dtype": str})
                for place, name in zip(whole, texts):
                    if texts[name].str.fullmatch(LEADING_ZERO).any():
                        frame[frame.columns[place]] = texts[name]
                        options["dtype"][frame.columns[place]] = "str"
    except UnicodeError:
        raise ValueError(
            f"{path} is not text in {encoding}; give its encoding, such as --encoding latin-1, cp1252 or utf-16; for "
            "Parquet files use train."
        ) from None
    except pd.errors.ParserWarning:
        raise ValueError(f"{path} has rows with more fields than its header.") from None
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path} is empty.") from None
    except Exception as error:  # pandas and each library that decompresses files have their own errors
        raise ValueError(f"{path} cannot be read as a CSV file: {str(error).strip()}") from None
    return frame, {name: value for name, value in options.items() if value != usual.get(name)}


def _check_sizes(frame, path):
    """Raise ValueError for an infinite or too large number, and name its place."""
    for name in frame.select_dtypes("number"):
        sizes = frame[name].abs()
        if sizes.max() >= LARGEST:
            row = int(np.nanargmax(sizes.to_numpy()))
            raise ValueError(
                f"{path} has {frame[name].iloc[row]:g} in column {name!r}, data row {row + 1}; numbers must be "
                f"finite and below {LARGEST:g} in size."
            )


def _is_whole(values):
    """Whether a column holds only whole numbers."""
    return _is_number(values) and bool((values.dropna() == values.dropna().round()).all())


def _is_number(values):
    return values.dtype.kind in "iuf"


def _are_classes(numbers):
    most = min(MOST_CLASSES, len(numbers) // 2)
    return numbers.nunique() <= most and bool((numbers == numbers.round()).all())


# -- messages about parameters in Python, reworded for options


_NAME = r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_OPTIONS = (
    (rf"kinds=\{{{_NAME}: '(\w+)'\}}",
     lambda found: f"--as {shlex.quote(f'{ast.literal_eval(found[1])}={found[2]}')}"),
    (rf"words=\[{_NAME}\] of read_batches",
     lambda found: f"--as {shlex.quote(f'{ast.literal_eval(found[1])}=words')}"),
    (rf"(?:The )?'kinds\[{_NAME}\]' parameter( of \w+)?", lambda found: f"--as {ast.literal_eval(found[1])}=KIND"),
    (r"\bkinds has\b", "--as has"),
    (r"\b(drop|columns) has\b", r"--\1 has"),
    (r"\b(give|by) (columns|encoding|n_features)\b", r"\1 --\2"),
    (r" \(set_params\(mismatch=[^()]*\) [^()]*\([^()]*\)[^()]*\)", ""),
    (r"mismatch='fill'", "--fill"),
    (r"changed_files=True", "--changed-files"),
    (r"\bmax_row_bytes\b", "--max-row-bytes"),
    (r"--n_features", "--n-features"),
)  # fmt: skip


def as_options(sentence: str) -> str:
    """Replace parameters in a sentence with options, such as ``mismatch='fill'`` with ``--fill``."""
    for parameter, option in _OPTIONS:
        sentence = re.sub(parameter, option, sentence)
    return sentence
