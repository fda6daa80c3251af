"""Tables of CSV files in blocks of whole rows; each row is read, or named in an error."""

from __future__ import annotations

import codecs
import contextlib
import re
from array import array
from collections.abc import Iterator
from decimal import Decimal
from functools import partial

import numpy as np

from ..preprocessing._dates import read_date
from ..preprocessing._frames import MISSING_WORDS
from ._sources import PACKINGS, check_names, naming, pyarrow, suffixes
from ._text import BadRow, WholeRows

_SAMPLE = 2**22  # bytes of text that determine the types of columns
_BLOCK = 2**20  # bytes read at a time; larger ones leave the cache
_TAIL = 2**14  # bytes at the end of a block in which its last row usually ends
# Files with many columns get larger blocks, because each block costs pyarrow .03 ms a column. With more columns than
# this, all are first read as numbers, because finding the types costs .1 ms a column.
_MANY = 1000
_DELIMITERS = ",;\t|"
_PEEK = 2**16  # bytes in which to look for the header, which tells the delimiter
_HEXADECIMAL = "[xX]"  # an integer for pyarrow, but no number for float64
_CODE = rf"{_HEXADECIMAL}|^\s*0\d+\s*$"
EXACT = 2.0**53  # float64 holds all whole numbers up to here exactly
WHOLE_NUMBER = re.compile(r"\s*[+-]?\d+\s*")
_INSTEAD = "write classes as words, such as 'c1', and quantities as floats, in CSV with a point"
_INTEGER = r"^\s*-?\d+\s*$"  # an integer for pyarrow, which reads numbers with a plus as floats
# Spellings of a missing number or date with ``frames``: pyarrow compares words exactly.
_MISSING = [
    form for word in MISSING_WORDS for form in {word, word.upper(), word.capitalize(), word.title(), f" {word}"}
]
_ARE_MISSING = frozenset(_MISSING)
_DIGIT_OF = {word: digit for digit, name in (("1", "true"), ("0", "false"))
             for word in (digit, name, name.upper(), name.capitalize())}  # fmt: skip
_CONVERSION = re.compile(r"In CSV column #(\d+): (?:Row #(\d+): )?(.*)", re.DOTALL)  # an error message of pyarrow


def csv_tables(
    path, columns, targets, delimiter, max_row_bytes, encoding, frames, words, may_lack=(), needed=()
) -> Iterator:
    """Yield record batches of a CSV file with a header; other parameters are as for `read_batches`.

    The first 4 MiB, or the first row if longer, determine the types. Whole numbers become float64, because later ones
    may not be whole; those of ``targets`` must be exact as float64.

    With ``frames``, a field that is no number, or no date, turns its column into words to the end of the block.
    Features are then words if whole numbers have leading zeros, if they are times of the day, or if they have no value
    at first. Hexadecimal numbers are always words.

    Columns found to hold words are added to the set ``words``, for later files. Those in ``may_lack`` may have no value
    at first, and are then numbers; those ``needed`` must exist, even if not read.
    """
    with _opened(path, delimiter, max_row_bytes, encoding) as (rows, names, text):
        check_names(names, columns, path)
        check_names(names, targets, path)
        check_names(names, needed, path)
        table = _Table(names, names if columns is None else columns, targets, rows.delimiter, frames, words)
        with naming(path):
            wider = max(1, len(names) // _MANY)
            sample, block = (min(size * wider, max_row_bytes) for size in (_SAMPLE, _BLOCK))
            while not table.has_rows(text) and (text := _next(rows, table, sample)):
                pass
            table.settle_types(text)
        for name, kind in table.types.items():
            if pyarrow.types.is_binary(kind):
                raise ValueError(f"{path} has text in column {name!r} that is not UTF-8: give encoding, such as "
                                 "latin-1, or leave the column out by columns.")  # fmt: skip
            if pyarrow.types.is_null(kind) and name in may_lack:
                table.types[name] = pyarrow.float64()
            elif pyarrow.types.is_null(kind) and text:
                instead = "read another file first" if name in targets else "leave it out by columns"
                raise ValueError(f"{path} has no value of column {name!r} in its first 4 MiB, which determine its "
                                 f"type: fill it in, or {instead}.")  # fmt: skip
        while text:
            with naming(path):
                batches = table.batches(text)
            yield from batches
            del batches
            with naming(path):
                text = _next(rows, table, block)


def csv_names(path, delimiter, max_row_bytes, encoding) -> list[str]:
    """Column names of a CSV file; parameters as for `csv_tables`."""
    with _opened(path, delimiter, max_row_bytes, encoding) as (_, names, _):
        return names


@contextlib.contextmanager
def _opened(path, delimiter, max_row_bytes, encoding):
    """Open a CSV file; give its rows, column names, and text read after the header."""
    suffix, packing = suffixes(path)
    with contextlib.ExitStack() as opened:
        with naming(path):
            packed = opened.enter_context(open(path, "rb"))  # pyarrow opens no pipes
            file = opened.enter_context(pyarrow.input_stream(packed, compression=PACKINGS[packing]))
        with naming(path):
            if codecs.lookup(encoding).name != "utf-8":
                file = _Recoded(file, encoding)
            rows = CsvRows(file, delimiter or ("\t" if suffix == ".tsv" else None), max_row_bytes)
            names, text = _header(rows)
        yield rows, names, text


class _Recoded:
    """A file in another encoding, read as UTF-8."""

    def __init__(self, file, encoding):
        self._file, self._decoder = file, codecs.getincrementaldecoder(encoding)()

    def read(self, size):
        """About ``size`` bytes; none at the end."""
        text = ""
        while not text:
            data = self._file.read(size)
            text = self._decoder.decode(data, final=not data)
            if not data:
                break
        return text.encode()


def _delimiter(text):
    """The most frequent delimiter in the header that begins ``text``; a comma if there is none."""
    header, *_ = re.split(rb"[\r\n]", re.sub(rb'"[^"]*"', b"", text), maxsplit=1)
    return max(_DELIMITERS, key=lambda mark: header.count(mark.encode()))


def _header(rows):
    """Column names, and text read after them."""
    try:
        text = rows.read(_SAMPLE)
    except BadRow as error:
        raise ValueError(f"its header {error}") from None
    if not text:
        raise ValueError("Empty CSV file")
    header, rest = rows.cut_first(text)
    try:
        return [name.decode() for name in header], rest
    except UnicodeDecodeError:
        raise ValueError("its header is not UTF-8: give encoding, such as latin-1, cp1252 or utf-16") from None


def _next(rows, table, size):
    """Text of the next rows, after those that ``table`` has counted."""
    try:
        return rows.read(size)
    except BadRow as error:
        raise ValueError(f"its data row {table.n_rows + 1} {error}") from None


class CsvRows(WholeRows):
    """Rows of a CSV file, which may have line ends within quotes.

    Quotes follow RFC 4180: a quote that begins a field is closed by the next one that is not doubled, after which the
    field must end. Other quotes are ordinary characters. Empty lines before the header are skipped. Without a
    ``delimiter``, the header determines it.
    """

    def __init__(self, file, delimiter, longest):
        super().__init__(file, longest)
        self._fill(len(codecs.BOM_UTF8))
        self._held = self._held.removeprefix(codecs.BOM_UTF8)
        self._skip_empty_lines(min(_SAMPLE, longest))
        self.delimiter = delimiter or _delimiter(self._held[:_PEEK])
        self._bounds = np.zeros(256, bool)  # bytes allowed next to quotes, including another quote
        self._bounds[list(b'\r\n"' + self.delimiter.encode())] = True
        char = re.escape(self.delimiter.encode())
        quoted = rb'[^"]*+(?:""[^"]*+)*+"'
        self._opening = re.compile(rb'(?:\A|(?<=[\r\n%b]))"' % char)
        self._quoted = re.compile(quoted)
        self._field = re.compile(rb'(?:"(%b)|([^\r\n%b]*+))(?:(%b)|\r\n|\r|\n|\Z)' % (quoted, char, char))

    def _skip_empty_lines(self, size):
        """Drop empty lines at the start of the file, and hold ``size`` bytes after them, unless it ends before."""
        self._held = self._held.lstrip(b"\r\n")
        while not self._ended and len(self._held) < size:
            self._fill(size)
            self._held = self._held.lstrip(b"\r\n")

    def cut_first(self, text):
        """Fields of the first of some whole rows, and the text after it."""
        fields, end, goes_on = [], 0, True
        while goes_on:
            field = self._field.match(text, end)
            quoted, plain, goes_on = field.groups()
            fields.append(plain if quoted is None else quoted[:-1].replace(b'""', b'"'))
            end = field.end()
        return fields, text[end:]

    def _end(self, text, ended):
        quotes, wrong = self._quotes(text)
        is_open = len(quotes) % 2 == 1
        if ended and is_open and wrong is None:
            wrong = BadRow("opens a quote that is not closed")
        if ended and wrong is None:
            return len(text), None
        within = len(text) - (text.endswith(b"\r") and not ended)  # a line feed may follow
        if len(quotes) == 0:
            return max(text.rfind(b"\n", 0, within), text.rfind(b"\r", 0, within)) + 1, wrong
        letters = np.frombuffer(text, np.uint8)[:within]
        for first in (max(within - _TAIL, 0), 0):  # usually near the end
            ends = first + np.flatnonzero((letters[first:] == ord("\n")) | (letters[first:] == ord("\r")))
            ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
            if len(ends):
                return int(ends[-1]) + 1, wrong
        return 0, wrong

    def _quotes(self, text):
        """Positions of quotes, where text after an odd number of them is quoted, and `BadRow` or None."""
        if b'"' not in text:
            return np.empty(0, np.int64), None
        letters = np.frombuffer(text, np.uint8)
        quotes = np.flatnonzero(letters == ord('"'))
        before, behind = np.maximum(quotes[0::2] - 1, 0), np.minimum(quotes[1::2] + 1, len(text) - 1)
        if self._bounds[letters[before]].all() and self._bounds[letters[behind]].all():
            return quotes, None  # each opens a field, closes it, or is one of a pair
        places, end = array("q"), 0
        while opening := self._opening.search(text, end):
            places.append(opening.start())
            quoted = self._quoted.match(text, opening.end())
            if quoted is None:
                break
            end = quoted.end()
            if end < len(text) and not self._bounds[text[end]]:
                return np.array(places), BadRow(
                    "has a quote that is not closed, or text after a closing quote: within quotes, double each quote"
                )
            places.append(end - 1)
        return np.array(places), None

    def _why_long(self):
        is_open = len(self._quotes(self._held)[0]) % 2 == 1
        return "; it opens a quote that is not closed within these" if is_open else super()._why_long()


class _Table:
    """Makes record batches of text rows, of the ``used`` among all ``names``; see `csv_tables`.

    ``n_rows`` counts the rows read so far; `settle_types` sets the ``types`` of columns.
    """

    def __init__(self, names, used, targets, delimiter, frames, words):
        self.frames, self.words = frames, words
        self.names, self.used, self.targets, self.delimiter = names, used, targets, delimiter
        self.n_rows, self.types = 0, {}

    def has_rows(self, text):
        """Whether a text has rows; empty lines count only in a file of one column."""
        return bool(text if len(self.names) == 1 else text.strip(b"\r\n"))

    def settle_types(self, text):
        """Determine the types of columns from the first rows."""
        words = {name: pyarrow.string() for name in self.used if name in self.words}
        numbers = dict.fromkeys(self.used, pyarrow.float64()) | words
        if not text:
            self.types = numbers
            return
        if len(self.used) > _MANY:
            with contextlib.suppress(_Unconverted):
                table = self._read(text, numbers)
                if not any(column.null_count == len(column) for column in table.columns):
                    self.types = numbers | self._words_among(table, text)
                    return
        table = self._read(text, words, self.used)
        found = dict(zip(self.used, table.schema.types))
        self.words |= {name for name, kind in found.items() if pyarrow.types.is_string(kind)}
        found |= self._words_among(table, text)
        is_whole = pyarrow.types.is_integer  # later numbers may not be whole
        self.types = {name: pyarrow.float64() if is_whole(kind) else kind for name, kind in found.items()}

    def _words_among(self, table, text):
        """Types of columns that hold words although they look like whole numbers.

        In frames, this includes columns without values, times of the day, and timestamps with a time zone, which
        pyarrow would convert to UTC, losing the time that the clock showed.
        """
        found = dict(zip(table.schema.names, table.schema.types))
        features = {name: kind for name, kind in found.items() if self.frames and name not in self.targets}
        is_word = pyarrow.types.is_null, pyarrow.types.is_time, _has_zone
        words = {name for name, kind in features.items() if any(is_kind(kind) for is_kind in is_word)}
        whole = {
            name: _CODE if name in features else _HEXADECIMAL
            for name, kind in found.items()
            if pyarrow.types.is_integer(kind) and (name in features or b"x" in text or b"X" in text)
        }
        # Whole numbers may be floats here: all numbers of wide files are at first, and those beyond int64 always are.
        as_floats = {}
        if any(map(pyarrow.types.is_floating, features.values())) and _has_leading_zero(text, self.delimiter):
            as_floats = {
                name: column
                for name, column in zip(table.schema.names, table.columns)
                if name in features and pyarrow.types.is_floating(column.type) and _are_whole(column)
            }
        if whole or as_floats:
            read = self._read(text, dict.fromkeys([*whole, *as_floats], pyarrow.string()))
            texts = dict(zip(read.schema.names, read.columns))  # looking up each by name is slow with many columns
            codes = {name for name, form in whole.items() if _any_match(texts[name], form)}
            for name, column in as_floats.items():
                if _any_match(texts[name], _CODE):
                    digits = pyarrow.compute.match_substring_regex(texts[name], _INTEGER)
                    if pyarrow.compute.all(pyarrow.compute.or_kleene(digits, column.is_null())).as_py():
                        codes.add(name)
            self.words |= codes
            words |= codes
        return dict.fromkeys(words, pyarrow.string())

    def batches(self, text):
        """Record batches of the next rows."""
        tables = self._parts(text) if self.frames else [self._read(text, self.types)]
        for name in self.targets:
            chunks = [chunk for table in tables for chunk in table.column(name).chunks]
            self._check_exact(pyarrow.chunked_array(chunks), name, text)
        self.n_rows += sum(table.num_rows for table in tables)
        return [batch for table in tables for batch in table.to_batches()]

    def _parts(self, text):
        """Tables of text rows: one, or two if a field does not have its column's type.

        The second begins with the first such row; in it, the column holds words.
        """
        changed = {}
        while True:
            try:
                table = self._read(text, {**self.types, **dict.fromkeys(changed, pyarrow.string())})
                break
            except _Unconverted as error:
                if error.column in self.targets or error.column in changed:
                    raise
                changed[error.column] = _reader(self.types[error.column])
        if not changed:
            return [table]
        words = {name: table.column(name).to_pylist() for name in changed}
        n = min(_n_readable(words[name], read) for name, (read, _) in changed.items())
        parts = [table.slice(0, n), table.slice(n)]
        for name, (read, kind) in changed.items():
            for i, some in enumerate((words[name][:n], words[name][n:])):
                if _n_readable(some, read) == len(some):
                    values = pyarrow.array([_value(word, read) for word in some], kind)
                elif read is _truth:  # among words, True would be no number, but "1" is
                    values = pyarrow.array([_DIGIT_OF.get(word, word) for word in some])
                else:
                    continue
                parts[i] = parts[i].set_column(table.schema.get_field_index(name), name, values)
        return [part for part in parts if part.num_rows]

    def _read(self, text, types, columns=None):
        """Parse text rows as a table; columns without a type get one from their values."""
        bad = []

        def kept(row):
            bad.append(row)
            return "error"

        if text.startswith(codecs.BOM_UTF8):  # the BOM belongs to the first word; pyarrow removes the one added here
            text = codecs.BOM_UTF8 + text
        known = pyarrow.csv.ConvertOptions().null_values
        try:
            table = pyarrow.csv.read_csv(
                pyarrow.BufferReader(text),
                pyarrow.csv.ReadOptions(block_size=len(text) + 1, use_threads=False, column_names=self.names),
                pyarrow.csv.ParseOptions(
                    delimiter=self.delimiter, newlines_in_values=True, ignore_empty_lines=len(self.names) > 1,
                    invalid_row_handler=kept,
                ),
                pyarrow.csv.ConvertOptions(
                    strings_can_be_null=not self.frames, null_values=known + _MISSING if self.frames else known,
                    column_types=types, include_columns=columns or list(types),
                ),
            )  # fmt: skip
            return _with_gaps(table, known) if self.frames else table
        except pyarrow.ArrowInvalid as error:
            if bad:
                raise ValueError(
                    f"its data row {self.n_rows + bad[0].number} has {bad[0].actual_columns} fields, but its header "
                    f"has {bad[0].expected_columns}"
                ) from None
            if found := _CONVERSION.fullmatch(str(error)):
                name, row = self.names[int(found[1])], found[2]
                where = "" if row is None else f", data row {self.n_rows + int(row)}"
                raise _Unconverted(
                    f"column {name!r}{where}: {found[3]}. The first 4 MiB determine the types of columns; for text "
                    "that is not UTF-8, give encoding",
                    name,
                ) from None
            raise

    def _check_exact(self, column, name, text):
        """Raise for a whole number that float64 does not hold exactly."""
        if not pyarrow.types.is_floating(column.type):
            return
        values = column.to_numpy()
        large = np.flatnonzero(np.abs(values) >= EXACT)
        if len(large) == 0:
            return
        words = self._read(text, {name: pyarrow.string()}).column(name)
        for i in large:
            word = words[i].as_py()
            if WHOLE_NUMBER.fullmatch(word):
                check_exact(word, values[i], f"its data row {self.n_rows + i + 1} has the target {name!r}")


def _has_leading_zero(text, delimiter):
    """Whether a field may begin with a zero and another digit."""
    before = re.escape(b'\r\n\t "' + delimiter.encode())  # a lookbehind after the zero is fast, because zeros are few
    return re.search(rb"0\d(?<=[%b]0\d)" % before, b"\n" + text) is not None


def _are_whole(column):
    """Whether all floats of a column, except missing ones, are whole numbers."""
    values = column.to_numpy()
    return bool(((values == np.round(values)) | np.isnan(values)).all())


def _any_match(words, form):
    """Whether a regular expression is found in any word."""
    return pyarrow.compute.any(pyarrow.compute.match_substring_regex(words, form)).as_py()


def check_exact(number, value, what, instead=_INSTEAD):
    """Raise if a whole number, or a word for one, differs from its float64 ``value``.

    The error says ``what`` has it, and what to do ``instead``.
    """
    number = Decimal(number)
    if number != Decimal(value) and number == number.to_integral_value():
        raise ValueError(f"{what} {number}, a whole number that float64 cannot hold exactly: {instead}")


class _Unconverted(ValueError):
    """A field does not have the type of its ``column``."""

    def __init__(self, message, column):
        super().__init__(message)
        self.column = column


def _with_gaps(table, missing):
    """A table with nulls for words that are in ``missing``."""
    missing = pyarrow.array(missing)
    for i, (name, column) in enumerate(zip(table.schema.names, table.columns)):
        if pyarrow.types.is_string(column.type):
            gaps = pyarrow.compute.is_in(column, value_set=missing)
            if pyarrow.compute.any(gaps).as_py():
                column = pyarrow.compute.if_else(gaps, pyarrow.scalar(None, column.type), column)
                table = table.set_column(i, name, column)
    return table


def _reader(kind):
    """Function that reads words as ``kind``, None if nothing can, and the Arrow type of its results."""
    if pyarrow.types.is_floating(kind):
        return _number, pyarrow.float64()
    if pyarrow.types.is_boolean(kind):
        return _truth, pyarrow.bool_()
    if pyarrow.types.is_date(kind) or pyarrow.types.is_timestamp(kind):  # those with a time zone are words
        return partial(read_date, form=None), pyarrow.timestamp("us")
    return None, pyarrow.string()


def _has_zone(kind):
    return pyarrow.types.is_timestamp(kind) and kind.tz is not None


def _truth(word):
    """A word as a boolean, as pyarrow reads it."""
    if word not in _DIGIT_OF:
        raise ValueError(word)
    return _DIGIT_OF[word] == "1"


def _number(word):
    """A word as a number, as pyarrow reads it: without underscores."""
    if "_" in word:
        raise ValueError(word)
    return float(word)


def _value(word, read):
    """The value of a word; None for a missing one."""
    return None if word is None or word.lstrip(" ") in _ARE_MISSING else read(word)


def _n_readable(words, read):
    """Number of words before the first one that cannot be read."""
    known = set()
    for n, word in enumerate(words):
        if word not in known:
            try:
                _value(word, read)
            except (ValueError, TypeError):  # TypeError: ``read`` is None
                return n
            known.add(word)
    return len(words)
