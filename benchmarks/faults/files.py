"""The promise about files: CSV from a small grammar is read as Python's csv module reads it, or refused by name."""

from __future__ import annotations

import bz2
import csv
import gzip
import importlib.util
import io
import re
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

import numpy as np

from sklearn_nag.streams import _csv, read_batches

from .promises import Broken, described, promise
from .shrink import kind

HAVE_PYARROW = importlib.util.find_spec("pyarrow") is not None
if HAVE_PYARROW:
    import pandas  # noqa: F401 (here, so that no child has to)
    import pyarrow.csv  # noqa: F401

PACKINGS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}
MISSING = {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "N/A", "NA",
           "NULL", "NaN", "n/a", "nan", "null"}  # fmt: skip
TRUTH = {"true": True, "1": True, "false": False, "0": False}
WHOLE = re.compile(r"\s*[+-]?\d+\s*")
NUMBERS = ("0", "1", "-0", "2.5", "1e5", "-3e-7", "12345678901", "0.1", "7", "1e400")
LARGE = ("9007199254740992", "9007199254740993", "-9007199254740993", "123456789012345678901234567890", "1e31")
WORDS = ("a", "red", "b c", "ü", "x=y", "\ufeff", "\u2028", "\x00", "\x0b", "it's", "\\", "NA", "", "true")
PIECES = ('"', '""', "\n", "\r\n", "\r", ",", ";", "\t", " ", "word", "1", "")
SHRINK_SECONDS = 3.0


@dataclass(frozen=True)
class File:
    """A text, and how it is read.

    Attributes
    ----------
    text : str
        Content of the file.
    delimiter : str
        Delimiter of the fields.
    packing : str
        A key of ``PACKINGS``.
    target : str or None
        Column to predict.
    columns : list of str or None
        Columns that are features.
    batch_size : int
        Largest number of rows in a batch.
    block, sample : int
        Bytes that are read at a time, and bytes that decide the types.
    """

    text: str
    delimiter: str
    packing: str = ""
    target: str | None = None
    columns: list | None = None
    batch_size: int = 2**13
    block: int = _csv._BLOCK
    sample: int = _csv._SAMPLE

    def options(self):
        """Return the arguments of `read_batches` other than the file."""
        return {"target": self.target, "columns": self.columns, "delimiter": self.delimiter,
                "batch_size": self.batch_size}  # fmt: skip


# -- the grammar


def hostile(rng):
    """Return a file: a header and rows, most of them well-formed."""
    delimiter = str(rng.choice([",", ";", "\t"]))
    line_end = str(rng.choice(["\n", "\n", "\r\n", "\r"]))
    n_columns = int(rng.choice([1, 2, 3, 5, 200], p=[0.2, 0.3, 0.3, 0.18, 0.02]))
    mischief = float(rng.choice([0.0, 0.003, 0.03, 0.3], p=[0.7, 0.1, 0.1, 0.1]))  # probability for a field or a line
    kinds = rng.choice(["numbers", "words", "pieces", "large"], n_columns, p=[0.4, 0.3, 0.2, 0.1])
    names = [f"c{i}" for i in range(n_columns)]
    if rng.random() < 0.3:
        names[rng.integers(n_columns)] = str(rng.choice(["c0", "a,b;c\td", 'a"b', "a\nb", "a=b", "é", " "]))
    empty_lines = rng.random() < 0.3

    def line(fields):
        end = line_end if rng.random() >= mischief else str(rng.choice(["\n", "\r\n", "\r"]))
        if rng.random() < mischief:
            fields = [*fields, "1"] if rng.random() < 0.5 else fields[:-1]
        gap = end * int(rng.integers(3)) if empty_lines and rng.random() < 0.2 else ""
        return gap + delimiter.join(fields) + end

    header = line([written(rng, name, delimiter, 0.0) for name in names])
    n_rows = int(rng.choice([0, 1, 5, 60], p=[0.05, 0.15, 0.4, 0.4]))
    spoilt = (int(rng.integers(n_rows + 1)), int(rng.choice([n_columns - 1, rng.integers(n_columns)])))
    spoilt = spoilt if rng.random() < 0.5 else None  # one field that is malformed for certain
    rows = [
        line(
            [
                written(rng, field(rng, kind), delimiter, 1.0 if (i, j) == spoilt else mischief)
                for j, kind in enumerate(kinds)
            ]
        )
        for i in range(n_rows)
    ]
    text = header + "".join(rows)
    if rng.random() < 0.3:
        text = text.rstrip("\r\n")
    if rng.random() < 0.2:
        text = "\ufeff" + text
    small = rng.random() < 0.7
    target = None if rng.random() < 0.4 else str(rng.choice(names))
    columns = [name for name in names if name != target and rng.random() < 0.7] if rng.random() < 0.4 else None
    columns = list(dict.fromkeys(columns or ())) or None
    return File(
        text, delimiter, str(rng.choice(list(PACKINGS), p=[0.6, 0.2, 0.2])), target, columns,
        int(rng.choice([1, 7, 2**13])), int(rng.integers(1, 200)) if small else _csv._BLOCK,
        int(rng.integers(1, 400)) if small and rng.random() < 0.5 else _csv._SAMPLE,
    )  # fmt: skip


def field(rng, kind):
    """Return what a field is to hold."""
    if kind == "numbers":
        return one_of(rng, [*NUMBERS, str(rng.normal())])
    if kind == "large":
        return one_of(rng, LARGE if rng.random() < 0.5 else NUMBERS)
    if kind == "words":
        return str(rng.choice(WORDS))  # NumPy turns "\x00" into ""
    return "".join(rng.choice(PIECES, int(rng.integers(4))))


def one_of(rng, values):
    """Return what ``rng.choice`` would draw; that makes an array first, and takes ten times as long."""
    return values[rng.integers(len(values))]


def written(rng, value, delimiter, mischief):
    """Return a field as text: with quotes if it needs them or by chance, and now and then with a wrong quote."""
    if rng.random() < mischief:
        at = int(rng.integers(len(value) + 1))
        return one_of(rng, ['"' + value, value[:at] + '"' + value[at:], f'"{value}"x', f'"{value}" ', f'"{value}'])
    if any(char in value for char in (delimiter, '"', "\r", "\n")) or rng.random() < 0.2:
        return '"' + value.replace('"', '""') + '"'
    return value


# -- what the file has, according to the csv module


def expected(file):
    """Return the names and rows that the csv module finds.

    None if it refuses the file, if the lengths of rows differ, or if a column to read is missing.
    """
    text = file.text.removeprefix("\ufeff")
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=file.delimiter, strict=True))
    except csv.Error:
        return None
    while lines and not lines[0]:
        del lines[0]
    if not lines:
        return None
    names, *rows = lines
    rows = [row or [""] for row in rows] if len(names) == 1 else [row for row in rows if row]
    has_names = {*(file.columns or ()), *([] if file.target is None else [file.target])} <= set(names)
    return (names, rows) if has_names and all(len(row) == len(names) for row in rows) else None


def may_be_refused(file, names, rows):
    """Return whether there is a reason to refuse rows that the file has."""
    used = names if file.columns is None else [*file.columns, *([] if file.target is None else [file.target])]
    if any(names.count(name) > 1 for name in used) or file.sample < _csv._SAMPLE:  # types come from the first rows
        return True
    if rows and any(all(row[names.index(name)] in MISSING for row in rows) for name in used):
        return True
    if file.target is None:
        return False
    targets = [row[names.index(file.target)] for row in rows]
    return any(target in MISSING or not exact(target) or is_infinite(target) for target in targets)


def exact(word):
    """Return whether float64 represents a number exactly, or the number is not whole."""
    return not WHOLE.fullmatch(word) or Decimal(word) == Decimal(float(word))


def is_infinite(word):
    """Return whether a number is infinite in float64, and so is no target."""
    try:
        return abs(float(word)) == float("inf")
    except ValueError:
        return False


def same(value, word):
    """Return whether a value is what a field stands for."""
    if value is None or value != value:
        return word in MISSING
    if isinstance(value, str):
        return value == word
    if isinstance(value, bool | np.bool_):
        return TRUTH.get(word.strip().lower()) == bool(value)
    try:
        return float(word) == value
    except ValueError:
        return False


# -- what is read


class Kept:
    """A transformer that returns the frame it is given."""

    def transform(self, frame):
        return frame


def read(file, path, transformer):
    """Return rows and targets as lists."""
    rows, targets = [], []
    for X, y in read_batches(path, **file.options(), transformer=transformer):
        rows += list(X.itertuples(index=False, name=None)) if hasattr(X, "itertuples") else X.shape[0] * [()]
        targets += [None] * (len(rows) - len(targets)) if y is None else y.tolist()
    return rows, targets


@contextmanager
def blocks(file):
    """Read in blocks of the sizes that the file says, within a ``with`` statement."""
    before = _csv._BLOCK, _csv._SAMPLE
    _csv._BLOCK, _csv._SAMPLE = file.block, file.sample
    try:
        yield
    finally:
        _csv._BLOCK, _csv._SAMPLE = before


def wrong_with(file, path):
    """Return what is wrong with the reading of a file; None if nothing is wrong."""
    path.write_bytes(PACKINGS[file.packing](file.text.encode()))
    there = expected(file)
    read_rows = None
    try:
        with blocks(file):
            read_rows, targets = read(file, path, Kept())
            full = there is not None and not any(MISSING.intersection(row) for row in there[1])
            n_hashed = len(read(file, path, None)[0]) if full else len(read_rows)
    except ValueError as error:
        if str(path) not in str(error):
            return f"an error that does not name the file: {described(error)}"
        if there is None or may_be_refused(file, *there):
            return None
        return f"rows that it has are refused: {described(error)}".replace(str(path), path.name)
    except Exception as error:
        return described(error)
    if there is None:
        return f"{len(read_rows)} rows are read of a file that is malformed"
    names, rows = there
    if not len(read_rows) == len(targets) == n_hashed == len(rows):
        return (
            f"{len(read_rows)} rows and {len(targets)} targets are read, {n_hashed} of hashed words; it has {len(rows)}"
        )
    used = [name for name in names if name != file.target] if file.columns is None else file.columns
    places = [names.index(name) for name in used]
    for got, row, target in zip(read_rows, rows, targets):
        if not all(same(value, row[place]) for value, place in zip(got, places, strict=True)):
            return f"the row {[row[place] for place in places]} is read as {list(got)}"
        if file.target is not None:
            word = row[names.index(file.target)]
            is_number = not isinstance(target, str)
            if not same(target, word) or (is_number and (not exact(word) or is_infinite(word))):
                return f"the target {word!r} is read as {target!r}"
    return None


def shorter(file):
    """Yield files with less text, the boldest cuts first."""
    if file.packing:
        yield replace(file, packing="")
    n = len(file.text)
    for size in sorted({n // 2**k for k in range(1, 12)} - {0}, reverse=True):
        for start in range(0, n, size):
            yield replace(file, text=file.text[:start] + file.text[start + size :])


def shortest(file, wrong, path):
    """Return a file with as little text as can be found that is wrong in the same way."""
    stop = time.monotonic() + SHRINK_SECONDS
    found = True
    while found and time.monotonic() < stop:
        found = False
        for smaller in shorter(file):
            if kind(wrong_with(smaller, path) or "") == kind(wrong):
                file, found = smaller, True
                break
            if time.monotonic() > stop:
                break
    return file


@promise("CSV is read row by row as it is, or refused by the name of the file", shrinks=False)
def files_are_read_or_refused(case):
    if not HAVE_PYARROW:
        return
    file = hostile(case.rng("files"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"rows.csv{file.packing}")
        if wrong := wrong_with(file, path):
            file = shortest(file, wrong, path)
            wrong = wrong_with(file, path)
            raise Broken(
                wrong,
                "from pathlib import Path",
                "from sklearn_nag.streams import _csv, read_batches",
                f"Path('rows.csv').write_text({file.text!r}, encoding='utf-8', newline='')",
                f"_csv._BLOCK, _csv._SAMPLE = {file.block}, {file.sample}",
                f"print(list(read_batches('rows.csv', **{file.options()})))",
            )
