"""A CSV file of the user's as a task, and what was made of each of its columns."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from .._extras import how_to_install
from ..preprocessing import DateEncoder, NumberReader
from ..preprocessing._frames import DATES, NUMBERS, WORDS, read_table
from ..preprocessing._prepare import LEFT_OUT, MOST_WORDS, TEXT, choose
from .tasks import Task

LARGEST = 1e150  # of a number in a file: scalers and scores take squares
MOST_CLASSES = 20  # a target with more whole numbers than this is a quantity
LEADING_ZERO = r"0\d+"
SEPARATORS = ",;\t|"


class Choices(NamedTuple):
    """What the user says of columns: names of those to leave out, and of those to take as words or as numbers."""

    drop: tuple = ()
    words: tuple = ()
    numbers: tuple = ()


class Column(NamedTuple):
    """A column as learners get it: its values, or None if it is left out; whether they are numbers; and a note."""

    values: object
    is_number: bool
    note: str


def read_task(path, target, *, most_rows, folds, encoding="utf-8", choices=None):
    """Make a task of a CSV file with a header.

    Parameters
    ----------
    path : Path
        The file; commas, semicolons, tabs or bars separate its columns.
    target : str
        Name of the column to predict: classes when it holds words or few whole numbers, else a quantity, unless
        ``choices`` says otherwise.
    most_rows : int
        Rows to draw at random when there are more.
    folds : int
        Folds of the cross-validation, for which there must be rows enough.
    encoding : str, default="utf-8"
        Encoding of the file.
    choices : Choices, optional
        What the user says of columns. `read_column` decides about the others.

    Returns
    -------
    task : Task
        Numbers with the median for missing ones; words one-hot, with missing as a word of its own.
    notes : list of str
        Lines that say what was found, and what was made of each column.

    Raises
    ------
    ValueError
        When the file cannot be read, has no such column, numbers that are infinite or beyond 1e150, or nothing to
        learn from.
    """
    choices = choices or Choices()
    frame = _read(path, encoding)
    for name in (target, *choices.drop, *choices.words, *choices.numbers):
        if name not in frame:
            raise ValueError(f"{path} has no column {name!r}; its columns are {', '.join(map(repr, frame.columns))}.")
    if target in choices.drop:
        raise ValueError(f"{target!r} is the column to predict; --drop must not name it.")
    if len(frame) == 0:
        raise ValueError(f"{path} has a header, and no rows below it.")
    frame = frame.assign(**{name: _as_read(frame[name]) for name in frame if name not in choices.words})
    _check_sizes(frame, path)
    notes = [f"{path}: {len(frame)} rows, {frame.shape[1]} columns"]
    rows = frame[frame[target].notna()]
    if len(rows) < len(frame):
        notes.append(f"  {len(frame) - len(rows)} rows left out, which have no {target!r}")
    columns = {name: read_column(rows[name], name, choices) for name in rows if name != target}  # of all rows
    if len(rows) > most_rows:
        notes.append(f"  {most_rows} rows drawn at random (--rows)")
        rows = rows.sample(most_rows, random_state=0)
    is_number = _is_number(rows[target]) and target not in choices.words
    is_classification = not is_number or (target not in choices.numbers and _are_classes(rows[target]))
    if is_classification:
        counts = rows[target].map(rows[target].value_counts())
        if (counts < 2).any():
            notes.append(f"  {(counts < 2).sum()} rows left out, whose class no other row has")
            rows = rows[counts >= 2]
    y = rows.pop(target)
    if y.nunique() < 2:
        raise ValueError(f"{path} has nothing to learn: rows with fewer than two values of {target!r}.")
    if len(y) < 2 * folds:
        raise ValueError(f"{path} has {len(y)} rows to learn from; --folds {folds} needs at least {2 * folds}.")
    kind = f"classification, {y.nunique()} classes" if is_classification else "regression"
    notes.append(f"  {target!r} is the target: {kind}")
    notes += [f"  {name!r}: {column.note}" for name, column in columns.items()]
    taken = {name: column for name, column in columns.items() if column.values is not None}
    if not taken:
        raise ValueError(f"{path} has no column to learn {target!r} from.")
    X = rows[list(taken)].assign(**{name: column.values for name, column in taken.items()})
    numbers = [name for name, column in taken.items() if column.is_number]
    words = [name for name in taken if name not in numbers]

    def prepare(*steps):
        one_hot = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=MOST_WORDS)
        filled = SimpleImputer(strategy="constant", fill_value="(missing)")
        return make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="median"), *steps), numbers), (make_pipeline(filled, one_hot), words)
        )

    y = y.astype(str).to_numpy(object) if is_classification else y.to_numpy(np.float64)
    return Task(Path(path).stem, X, y, is_classification, prepare(), prepare(StandardScaler())), notes


def read_column(values, name, choices=None):
    """Decide what learners get of a column.

    Parameters
    ----------
    values : Series
        The column.
    name : str
        Its name.
    choices : Choices, optional
        What the user says of it.

    Returns
    -------
    Column
        Numbers as they are, dates as days, words as words; None for a column that says nothing of a new row.
    """
    choices = choices or Choices()
    asked = {**dict.fromkeys(choices.numbers, NUMBERS), **dict.fromkeys(choices.words, WORDS)}.get(name)
    if name in choices.drop:
        return Column(None, False, "left out (--drop)")
    table = _as_table(values, name)
    choice = choose(read_table(table).columns[0], asked, "--{kind} {name} keeps them")
    if choice.kind == NUMBERS:
        return Column(_made_by(_reader(choice), table), True, choice.note + choice.gaps)
    if choice.kind == DATES:
        days = _made_by(DateEncoder(("days",), format=choice.form), table)
        return Column(days, True, f"{choice.note}, as days since 1970-01-01{choice.gaps}")
    if choice.kind == TEXT:
        return Column(None, False, f"left out: {choice.note}; --words {name} keeps them")
    if choice.kind == LEFT_OUT:
        return Column(None, False, choice.note)
    rare = f"; one column for all but the {MOST_WORDS - 1} most frequent" if choice.n_different > MOST_WORDS else ""
    return Column(_words(values), False, f"{choice.note}, one-hot{rare}{choice.gaps}")


def _words(values):
    """Values as words; missing ones stay missing."""
    return values.dropna().astype(str).astype(object).reindex(values.index)


def _as_table(values, name):
    """A column as a frame of numbers, or of words."""
    return (values if _is_number(values) else _words(values)).to_frame(name)


def _reader(choice):
    decimal, thousands = choice.form or (".", None)
    return NumberReader(decimal, thousands=thousands)


def _made_by(transformer, table):
    """What a transformer makes of a column."""
    import pandas as pd

    return pd.Series(transformer.fit_transform(table)[:, 0], table.index)


def _read(path, encoding):
    """The file as a DataFrame, its columns cut where the header says."""
    try:
        import pandas as pd
    except ImportError:
        raise ValueError(f"reading a CSV file needs pandas: {how_to_install('csv')}") from None
    try:
        header = "\t".join(map(str, pd.read_csv(path, encoding=encoding, nrows=0, sep="\0", engine="python").columns))
        separator = max(SEPARATORS, key=header.count)
        options = {"encoding": encoding, "sep": separator, "low_memory": False, "index_col": False}
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(path, **options)
            whole = [place for place, name in enumerate(frame) if _is_whole(frame[name])]
            if whole:  # read as text again, as digits with a leading zero are codes, such as those of towns
                texts = pd.read_csv(path, usecols=whole, dtype=str, **options)
                for place, name in zip(whole, texts):
                    if texts[name].str.fullmatch(LEADING_ZERO).any():
                        frame[frame.columns[place]] = texts[name]
            return frame
    except LookupError:
        raise ValueError(
            f"there is no encoding {encoding!r}; well known are utf-8, latin-1, cp1252 and utf-16."
        ) from None
    except UnicodeError:
        raise ValueError(
            f"{path} is not text in {encoding}; name its encoding, such as --encoding latin-1, cp1252 or utf-16."
        ) from None
    except pd.errors.ParserWarning:
        raise ValueError(f"{path} has rows with more fields than its header has names.") from None
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path} is empty.") from None
    except Exception as error:  # pandas has errors of its own, and so has each library that unpacks files
        raise ValueError(f"{path} cannot be read as a CSV file: {str(error).strip()}") from None


def _as_read(values):
    """Words that are all numbers as numbers; other columns as they are."""
    if _is_number(values) or not values.map(lambda value: isinstance(value, str), na_action="ignore").dropna().all():
        return values
    table = _as_table(values, values.name)
    choice = choose(read_table(table).columns[0])
    return _made_by(_reader(choice), table) if choice.kind == NUMBERS else values


def _check_sizes(frame, path):
    """Raise ValueError for a number that is infinite or too large, naming where it is."""
    for name in frame.select_dtypes("number"):
        sizes = frame[name].abs()
        if sizes.max() >= LARGEST:
            row = int(sizes.to_numpy().argmax())
            raise ValueError(
                f"{path} has {frame[name].iloc[row]:g} in column {name!r}, data row {row + 1}; numbers must be "
                f"finite and below {LARGEST:g} in size."
            )


def _is_whole(values):
    """Whether a column has whole numbers alone."""
    return _is_number(values) and bool((values.dropna() == values.dropna().round()).all())


def _is_number(values):
    return values.dtype.kind in "iuf"


def _are_classes(numbers):
    most = min(MOST_CLASSES, len(numbers) // 2)
    return numbers.nunique() <= most and bool((numbers == numbers.round()).all())
