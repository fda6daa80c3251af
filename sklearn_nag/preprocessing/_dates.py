"""Dates as numbers: the time itself, and its repeating parts."""

from __future__ import annotations

import datetime
import re
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

from ..estimators._parameters import InvalidParameterError, check_flag, check_option, shown
from ..estimators._validation import as_given
from ._base import LearnsNothing, Nothing, in_columns, loops, table_in
from ._frames import DATES, NUMBERS, WORDS
from ._numbers import is_missing_word, warn_if_unread
from ._numpy_rows import DAY

_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
PARTS = {  # in the order of their numbers, with the columns of each as named; "days" is a single number
    "days": (None,),
    "month": tuple(range(1, 13)),
    "day": tuple(range(1, 32)),
    "weekday": _WEEKDAYS,
    "hour": tuple(range(24)),
}
UNITS = {"days": 1.0, "seconds": 86_400.0, "milliseconds": 86_400_000.0}  # since 1970; units per day
_OF_DIGITS = re.compile("(?:%[YymdHMSj])+")
_DIGITS = {"Y": 4, "y": 2, "m": 2, "d": 2, "H": 2, "M": 2, "S": 2, "j": 3}  # digits of these parts of formats
_HAS_DATE = re.compile("%[YyGcxDdjmbB]")
_HAS_YEAR = re.compile("%[YyGcxD]")
_MOST_DAYS = 100_000_000  # about the range of datetime64[us]


class DateEncoder(LearnsNothing):
    """Encode dates as numbers: days since 1970, and zero-one columns for each month, weekday and hour.

    Days capture what grows or fades over the years; the parts capture what repeats. Nothing is learnt from rows, so
    dates may come in any order. A missing date becomes NaN in the days, which a subsequent `OnlineImputer` fills, and 0
    in all other columns. Times with a time zone are taken as local times of that zone.

    Parameters
    ----------
    parts : tuple of {"days", "month", "day", "weekday", "hour"}, default=("days", "month", "weekday", "hour")
        Parts of a date to encode, with 1, 12, 31, 7 and 24 columns.
    format : str or list of str, default=None
        How to parse words as dates, in the syntax of `datetime.datetime.strptime`, such as ``"%d.%m.%Y %H:%M"``. Of
        several formats, the first that fits is used. None stands for ISO 8601.

        Dates are used as they are. Numbers are days since 1970; with ``"seconds"`` or ``"milliseconds"``, they count
        these since 1970; with a format of digits only, such as ``"%Y%m%d"``, they are parsed by it. This includes
        numbers next to words in a column of objects. An `OnlineColumnTransformer` takes numbers in a column of words or
        dates for days only with the format ``"days"``. Times of day are on 1970-01-01. Dates without a year are in
        1900, where 29 February counts as 1 March.
    errors : {"raise", "missing"}, default="raise"
        How to treat a word that is not a date, or a number that is far from any date: as an error, or as a missing
        date. In the latter case, a warning is given if ten rows or more hold words and none is a date.
    one_hot : bool, default=True
        Whether months, days, weekdays and hours become one zero-one column for each of their values. Otherwise each is
        a single number, which curves and cells can cut; weekdays count from 0 for Monday, and NaN is a missing date.
    sparse_output : bool, default=False
        Whether the output is a CSR array, with an entry for each part of a date, or dense.

    Attributes
    ----------
    n_features_in_ : int
        Number of date columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if the input was a frame.

    See Also
    --------
    OnlineImputer : Fills the days of missing dates.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_nag.preprocessing import DateEncoder
    >>> encoder = DateEncoder(("days", "weekday"))
    >>> encoder.fit_transform(np.array([["2024-02-29T12:00"], ["NaT"]], dtype="datetime64[s]"))
    array([[1.97825e+04, 0.00000e+00, 0.00000e+00, 0.00000e+00, 1.00000e+00,
            0.00000e+00, 0.00000e+00, 0.00000e+00],
           [        nan, 0.00000e+00, 0.00000e+00, 0.00000e+00, 0.00000e+00,
            0.00000e+00, 0.00000e+00, 0.00000e+00]])
    >>> encoder.get_feature_names_out(["sold"])[:2]
    array(['sold_days', 'sold_weekday=Mon'], dtype=object)
    """

    _state: Nothing
    _reads = frozenset((DATES, WORDS))
    _takes_tables = NUMBERS, WORDS, DATES
    _input_tags = ("allow_nan",)

    def __init__(
        self,
        parts: tuple = ("days", "month", "weekday", "hour"),
        *,
        format: Any = None,
        errors: str = "raise",
        one_hot: bool = True,
        sparse_output: bool = False,
    ):
        self.parts = parts
        self.format = format
        self.errors = errors
        self.one_hot = one_hot
        self.sparse_output = sparse_output

    def _check_parameters(self):
        known = isinstance(self.parts, tuple | list) and all(part in PARTS for part in self.parts) and self.parts
        if not known or len(set(self.parts)) < len(self.parts):
            names = ", ".join(map(repr, PARTS))
            raise InvalidParameterError("parts", f"a tuple with some of {names}", shown(self.parts))
        formats = [self.format] if isinstance(self.format, str) else self.format
        if formats is not None and not (
            isinstance(formats, list | tuple) and formats and all(isinstance(entry, str) for entry in formats)
        ):
            raise InvalidParameterError("format", "a str, a list of them, or None", shown(self.format))
        for form in formats or ():
            try:
                _parsed("", form)
            except (ValueError, re.error) as error:
                if "does not match" not in str(error):
                    raise InvalidParameterError("format", "as strptime takes it", shown(form)) from None
        check_option("errors", self.errors, ("raise", "missing"))
        check_flag("one_hot", self.one_hot)
        check_flag("sparse_output", self.sparse_output)

    def _rows(self, X, first):
        table = table_in(self, X, first)
        dates = np.empty((table.n_rows, len(table.columns)), dtype="datetime64[us]")
        for i, column in enumerate(table.columns):
            for some, part in column.apart():
                dates[some, i] = self._dates_of(part)
            if self.errors == "missing" and (column.kind != NUMBERS or self._reads_digits()):
                warn_if_unread(column, np.isnat(dates[:, i]), "dates")
        return dates

    def _dates_of(self, column):
        """Dates in a column of one kind, row by row."""
        kind = column.kind
        if kind == WORDS or (kind == NUMBERS and self._reads_digits()):
            return self._read(column, kind == NUMBERS)
        return self._of_days(column) if kind == NUMBERS else column.dates()

    def _formats(self):
        """The formats; None is ISO 8601."""
        return [self.format] if self.format is None or isinstance(self.format, str) else list(self.format)

    def _reads_digits(self):
        """Whether numbers are read like words."""
        if isinstance(self.format, str) and self.format in UNITS:  # these apply to all numbers alike
            return False
        return not self._guesses_days()

    def _guesses_days(self):
        """Whether no format tells what numbers mean, so that they are days."""
        return not any(form in UNITS or _width(form) for form in self._formats())

    def _of_days(self, column):
        """Dates for numbers of days or another unit."""
        unit = self.format if isinstance(self.format, str) and self.format in UNITS else "days"
        days = column.numbers() / UNITS[unit]
        beyond = np.abs(days) > _MOST_DAYS
        if beyond.any() and self.errors == "raise":
            raise ValueError(f"column {as_given(column.name)} has numbers, which are {unit} since 1970 here; "
                             f"{days[beyond.argmax()]:g} days are beyond {_MOST_DAYS:g}.")  # fmt: skip
        days[beyond] = np.nan
        since = np.where(np.isnan(days), 0.0, days) * float(DAY)
        dates = since.astype(np.int64).astype("datetime64[us]")
        dates[np.isnan(days)] = np.datetime64("NaT", "us")
        return dates

    def _read(self, column, are_numbers):
        """Words, or digits, as dates; each word is read once."""
        codes, words = column.coded()
        return np.array([self._date(word, column.name, are_numbers) for word in words], dtype="datetime64[us]")[codes]

    def _date(self, word, name, is_number):
        if word is None or is_missing_word(word) or word.strip().lower() == "nat":  # how words mark missing dates
            return np.datetime64("NaT", "us")
        for form in self._formats():
            try:
                # 130 is 01:30, because numbers do not begin with zeros
                return np.datetime64(read_date(word.zfill(_width(form)) if is_number else word, form), "us")
            except ValueError:
                continue
        if self.errors == "missing":
            return np.datetime64("NaT", "us")
        how = "ISO 8601" if self.format is None else f"format={self.format!r}"
        raise ValueError(f"column {as_given(name)} must hold dates ({how}); it has {shown(word)}.")

    def _transform_rows(self, state, dates):
        parts, widths = _numbers_and_widths(tuple(self.parts))
        columns, values = loops().parts_of_dates(dates.view(np.int64), parts, widths)
        if not self.one_hot:
            values = self._by_number(columns, values, widths)
            return sparse.csr_array(values) if self.sparse_output else values
        width = dates.shape[1] * int(widths.sum())
        if width == columns.shape[1] and not self.sparse_output:  # only days
            return values
        out = in_columns(columns, values, width, self.sparse_output)
        if self.sparse_output and not values.all():
            out.eliminate_zeros()
        return out

    def _by_number(self, columns, values, widths):
        """Days and parts as numbers, of shape (n_rows, n_columns * n_parts)."""
        n_columns = self.n_features_in_
        first = np.add.accumulate(np.tile(widths, n_columns)) - np.tile(widths, n_columns)  # first column of each part
        are_days = np.tile([part == "days" for part in self.parts], n_columns)
        from_one = np.tile([part in ("month", "day") for part in self.parts], n_columns)
        numbers = np.where(values == 0.0, np.nan, columns - first + from_one)
        return np.where(are_days, values, numbers)

    def _names_out(self, state, names):
        if not self.one_hot:
            return [f"{name}_{part}" for name in names for part in self.parts]
        return [
            f"{name}_{part}" if value is None else f"{name}_{part}={value}"
            for name in names
            for part in self.parts
            for value in PARTS[part]
        ]

    def _numeric_outputs(self):
        if not self.one_hot:
            return range(self.n_features_in_ * len(self.parts))
        is_number = [part == "days" for part in self.parts for _ in PARTS[part]]
        return np.flatnonzero(np.tile(is_number, self.n_features_in_))


@lru_cache
def _numbers_and_widths(parts):
    """Number of each part, and how many columns it has."""
    numbers = [list(PARTS).index(part) for part in parts]
    return np.array(numbers, dtype=np.int64), np.array([len(PARTS[part]) for part in parts], dtype=np.int64)


def _width(form):
    """Number of digits of words in a format of only digits; 0 for others."""
    return sum(_DIGITS[letter] for letter in form[1::2]) if form and _OF_DIGITS.fullmatch(form) else 0


@lru_cache(2**16)
def read_date(word: str, form: str | None) -> datetime.datetime:
    """A word as a date, by a format of `DateEncoder`; with a time zone, the local time there.

    Raises
    ------
    ValueError
        If it is not a date.
    """
    if form in UNITS:
        try:
            return datetime.datetime(1970, 1, 1) + datetime.timedelta(days=float(word) / UNITS[form])
        except OverflowError:
            raise ValueError(f"{word} {form} since 1970 are out of range") from None
    date = datetime.datetime.fromisoformat(word) if form is None else _parsed(word, form)
    return date.replace(tzinfo=None, year=date.year if form is None or _HAS_DATE.search(form) else 1970)


def _parsed(word, form):
    """Like `strptime`. Dates without a year are of 1900, in which 29 February becomes 1 March."""
    if not _HAS_DATE.search(form) or _HAS_YEAR.search(form):
        return datetime.datetime.strptime(word, form)
    try:
        return datetime.datetime.strptime(f"1900|{word}", f"%Y|{form}")
    except ValueError:
        date = datetime.datetime.strptime(f"1904|{word}", f"%Y|{form}")
        if (date.month, date.day) != (2, 29):
            raise
        return date.replace(year=1900, month=3, day=1)
