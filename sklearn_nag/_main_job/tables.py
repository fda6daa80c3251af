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

from .tasks import Task

LARGEST = 1e150  # of a number in a file: scalers and scores take squares
MOST_CLASSES = 20  # a target with more whole numbers than this is a quantity
MOST_WORDS = 100  # one-hot columns that a column of words gets
SHORTEST_IDENTIFIER = 1e11  # whole numbers from here on that are all different name rows: 12 digits
SEPARATORS = ",;\t|"
DATES = ("ISO8601", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y")
DECIMAL_COMMA = r"[+-]?\d+,\d+"


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
    frame = frame.apply(_with_decimal_points)
    _check_sizes(frame, path)
    notes = [f"{path}: {len(frame)} rows, {frame.shape[1]} columns"]
    rows = frame[frame[target].notna()]
    if len(rows) < len(frame):
        notes.append(f"  {len(frame) - len(rows)} rows left out, which have no {target!r}")
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
    columns = {name: read_column(rows[name], name, choices) for name in rows}
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
    present = values.dropna()
    missing, different = len(values) - len(present), present.nunique()
    gaps = f"; {missing} missing ({missing / len(values):.1%})" if missing else ""
    if name in choices.drop:
        return Column(None, False, "left out (--drop)")
    if different < 2:
        return Column(None, False, f"left out: {'one value only' if different else 'no values'}")
    if _is_number(values) and name not in choices.words:
        if name not in choices.numbers and _names_rows(present):
            return Column(None, False, f"left out: whole numbers that name rows (--numbers {name} keeps them)")
        return Column(values.astype(np.float64), True, f"numbers from {present.min():.6g} to {present.max():.6g}{gaps}")
    if name not in choices.words:
        days, how = _days(present)
        if days is not None:
            return Column(days.reindex(values.index), True, f"dates ({how}), as days since 1970-01-01{gaps}")
        if different > max(MOST_WORDS, len(present) // 2):
            what = f"text, or names of rows ({different} different; --words {name} keeps them)"
            return Column(None, False, f"left out: {what}")
    words = present.astype(str).astype(object).reindex(values.index)
    rare = f"; one column for all but the {MOST_WORDS - 1} most frequent" if different > MOST_WORDS else ""
    return Column(words, False, f"{different} words, one-hot{rare}{gaps}")


def _read(path, encoding):
    """The file as a DataFrame, its columns cut where the header says."""
    try:
        import pandas as pd
    except ImportError:
        raise ValueError('reading a CSV file needs pandas: pip install "sklearn-nag[csv]"') from None
    try:
        header = "\t".join(map(str, pd.read_csv(path, encoding=encoding, nrows=0, sep="\0", engine="python").columns))
        separator = max(SEPARATORS, key=header.count)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(path, encoding=encoding, sep=separator, low_memory=False, index_col=False)
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


def _with_decimal_points(values):
    """Words that are all numbers with a decimal comma as numbers; other columns as they are."""
    present = values.dropna()
    if _is_number(values) or len(present) == 0 or not present.map(lambda value: isinstance(value, str)).all():
        return values
    with_comma = present.str.fullmatch(DECIMAL_COMMA)
    if not (with_comma.any() and (with_comma | present.str.fullmatch(r"[+-]?\d+")).all()):
        return values
    return present.str.replace(",", ".").astype(np.float64).reindex(values.index)


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


def _is_number(values):
    return values.dtype.kind in "iuf"


def _are_classes(numbers):
    most = min(MOST_CLASSES, len(numbers) // 2)
    return numbers.nunique() <= most and bool((numbers == numbers.round()).all())


def _names_rows(numbers):
    """Whether numbers are whole, all different, and either very long or without gaps, as rows are numbered."""
    if numbers.nunique() < len(numbers) or not (numbers == numbers.round()).all():
        return False
    return bool(numbers.abs().min() >= SHORTEST_IDENTIFIER or numbers.max() - numbers.min() == len(numbers) - 1)


def _days(words):
    """Words as days since 1970, and the form that all of them have as dates; None if they are no dates."""
    import pandas as pd

    if not words.map(lambda word: isinstance(word, str) and any(mark in word for mark in "-/.")).all():
        return None, ""
    for form in DATES:
        dates = pd.to_datetime(words, format=form, errors="coerce", utc=True)
        if dates.notna().all():
            since = dates.dt.tz_localize(None).to_numpy() - np.datetime64(0, "D")  # pandas counts in ns, up to 2262
            return pd.Series(since / np.timedelta64(1, "D"), words.index), form.replace("%", "")
    return None, ""
