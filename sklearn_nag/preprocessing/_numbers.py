"""Numbers as people write them: with decimal commas, grouped thousands, currencies and units."""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..estimators._parameters import InvalidParameterError, check_flag, check_option, shown
from ..estimators._validation import as_given
from ._base import LearnsNothing, Nothing, table_in
from ._frames import ALSO_MISSING, MISSING_WORDS, NUMBERS, WORDS, Column

_CODES = "AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HUF|ILS|INR|JPY|KRW|MXN|NOK|NZD|PLN|RUB|SEK|TRY|USD|ZAR"
_SIGNS = r"(?:US|AU?|CA?|HK|NZ|R|S)?\$|[€£¥₹₽₩]|(?<![^\W\d_])(?:Rs|[Kk]r)\.?"
_MONEY = re.compile(rf"^\s*(?:{_SIGNS}|(?:{_CODES})\b)\s*|\s*(?:{_SIGNS}|%|\b(?:{_CODES}))\s*$|^\s+|\s+$")
_MARK = re.compile(rf"%|{_SIGNS}|(?<![^\W\d_])(?:{_CODES})(?![^\W\d_])")
_SIGN_OF = {"US$": "$", "USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "INR": "₹"}
_UNIT = re.compile(r"\D*\d[\d.,'\s]*?(\s?)([^\W\d_]\D*(?:(?<=[^\W\d_])[23])?|[°\"'\u2032\u2033]\D*)")
_LETTERS = "CFJLVWdghlmstwy"  # units without a space before them; 4G, 3D and 12A are names
MAGNITUDES = {"k": "e3", "K": "e3", "M": "e6", "B": "e9"}
_SOME_ROWS = 10  # with words that cannot be read, too many to be exceptions
_SEPARATORS = {",": ",", ".": r"\.", " ": "[ \u00a0\u202f]", "'": "'"}


class NumberForm(NamedTuple):
    """How numbers are written: parameters of a `NumberReader`."""

    decimal: str = "."
    thousands: str | None = None
    unit: str | None = None
    magnitudes: bool = False


class NumberReader(LearnsNothing):
    """Read numbers from words such as ``$1,200.00``, ``12.3 %``, ``1 200,5`` and ``150 kg``.

    Currency signs and codes and percent signs are dropped: 12.3 % is 12.3, and EUR 5.00 is 5. So is a unit, which must
    be the same in all rows. A number in brackets is negative, as in accounting. Words such as "?", "n/a" and "-", and
    empty ones, become NaN, which a subsequent `OnlineImputer` fills. Numbers and booleans are used as they are,
    including those next to words in a column of objects. Nothing is learnt.

    Parameters
    ----------
    decimal : {".", ","}, default="."
        Decimal separator.
    thousands : {",", ".", " ", "'"}, default=None
        Separator between groups of three digits, the first of which must not begin with 0; None if there are no groups.
    unit : str, default=None
        Unit after numbers, to be dropped, such as "kg". A unit longer than one letter may also have a plural "s":
        "year" matches "1 year" and "2 years". Numbers without a unit are read as well; those with another unit are not
        numbers.
    magnitudes : bool, default=False
        Whether k or K, M and B after a number stand for thousands, millions and billions: 1.4k is 1400.
    errors : {"raise", "missing"}, default="raise"
        How to treat infinity and words that are not numbers: as an error, or as missing. In the latter case, a warning
        is given if ten rows or more hold words and none is a number.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if the input was a frame.

    See Also
    --------
    OnlineImputer : Fills missing values.

    Examples
    --------
    >>> from sklearn_nag.preprocessing import NumberReader
    >>> NumberReader(thousands=",").fit_transform([["$1,200.00"], ["-3.5 %"], ["?"]])
    array([[1200. ],
           [  -3.5],
           [   nan]])
    >>> NumberReader(unit="year").fit_transform([["1 year"], ["25 years"]])
    array([[ 1.],
           [25.]])
    """

    _state: Nothing
    _reads = frozenset((NUMBERS, WORDS))
    _takes_tables = (WORDS,)
    _input_tags = "allow_nan", "categorical", "string"

    def __init__(
        self,
        decimal: str = ".",
        *,
        thousands: str | None = None,
        unit: str | None = None,
        magnitudes: bool = False,
        errors: str = "raise",
    ):
        self.decimal = decimal
        self.thousands = thousands
        self.unit = unit
        self.magnitudes = magnitudes
        self.errors = errors

    def _check_parameters(self):
        check_option("decimal", self.decimal, (".", ","))
        check_option("thousands", self.thousands, (None, *_SEPARATORS))
        if self.thousands == self.decimal:
            another = f"another mark than decimal={self.decimal!r}"
            raise InvalidParameterError("thousands", another, shown(self.thousands))
        unit = self.unit
        if unit is not None and not (isinstance(unit, str) and unit == unit.strip() != ""):
            raise InvalidParameterError("unit", "a word, or None", shown(unit))
        check_flag("magnitudes", self.magnitudes)
        check_option("errors", self.errors, ("raise", "missing"))

    def _rows(self, X, first):
        table = table_in(self, X, first)
        rows = np.empty((table.n_rows, len(table.columns)))
        for i, column in enumerate(table.columns):
            for some, part in column.apart():
                rows[some, i] = part.numbers() if part.kind == NUMBERS else self._read(part)
            if self.errors == "missing" and column.kind != NUMBERS:
                warn_if_unread(column, np.isnan(rows[:, i]), "numbers")
        if (infinite := np.isinf(rows)).any():
            if self.errors == "raise":
                name = table.columns[int(np.argwhere(infinite)[0][1])].name
                raise ValueError(f"Input X contains infinity in column {as_given(name)}; numbers must be finite.")
            rows[infinite] = np.nan
        return rows

    def _read(self, column):
        """Words as numbers; each word is read once."""
        codes, words = column.coded()
        form = NumberForm(self.decimal, self.thousands, self.unit, self.magnitudes)
        return np.array([self._number(word, form, column.name) for word in words], dtype=np.float64)[codes]

    def _number(self, word, form, name):
        if word is None or is_missing_word(word):
            return np.nan
        number = read_number(word, form)
        if number is None:
            if self.errors == "missing":
                return np.nan
            raise ValueError(f"column {as_given(name)} must hold numbers; it has {shown(word)}.")
        return number

    def _transform_rows(self, state, rows):
        return rows

    def _names_out(self, state, names):
        return names

    def _numeric_outputs(self):
        return range(self.n_features_in_)


def is_missing_word(word: str) -> bool:
    """Whether a word marks a missing number or date."""
    bare = word.strip().lower()
    return bare in MISSING_WORDS or bare in ALSO_MISSING


def warn_if_unread(column: Column, unread: np.ndarray, what: str) -> None:
    """Warn if a column has words in some rows and all rows are ``unread``: the words count as missing."""
    if not unread.all():  # missing words are unread, too
        return
    codes, words = column.coded()
    there = np.array([word is not None and not is_missing_word(word) for word in words], dtype=bool)
    if np.count_nonzero(there[codes]) >= _SOME_ROWS:
        warnings.warn(
            f"column {as_given(column.name)} holds no {what} in this table, but words such as "
            f"{shown(words[int(np.argmax(there))])}: all of them are taken as missing.",
            UserWarning,
            stacklevel=2,
        )


_AS_TYPED = str.maketrans("\u00a0\u202f\u2212", "  -")  # non-breaking spaces, and the minus sign of print


@lru_cache
def _pattern(decimal, thousands):
    point = _SEPARATORS[decimal]
    whole = r"\d+" if thousands is None else rf"(?:[1-9]\d{{0,2}}(?:{_SEPARATORS[thousands]}\d{{3}})+|\d+)"
    return re.compile(rf"[+-]?(?:{whole}(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?")


def read_number(word: str, form: NumberForm) -> float | None:
    """A word as a number, or None if it is not one."""
    if word.startswith("(") and word.endswith(")"):
        number = read_number(word[1:-1], form)
        return None if number is None or number < 0.0 else -number
    bare = _without_money(word if word.isascii() else word.translate(_AS_TYPED))
    if form.unit is not None:
        plural = f"{form.unit}s" if has_plural(form.unit) else ""
        bare = bare.removesuffix(plural).removesuffix(form.unit).rstrip()
    power = MAGNITUDES.get(bare[-1:], "") if form.magnitudes else ""
    bare = bare[:-1].rstrip() if power else bare
    sign, bare = ("-", _without_money(bare[1:])) if bare.startswith("-") else ("", bare)  # -$3 and $-3
    if (sign and bare[:1] in ("+", "-")) or not _pattern(form.decimal, form.thousands).fullmatch(bare):
        return None
    if power and "e" in bare.lower():
        return None
    if form.thousands is not None:
        bare = bare.replace(form.thousands, "")
    return float(sign + bare.replace(form.decimal, ".") + power)


def _without_money(word):
    """A word without currencies, percent signs and spaces at its ends."""
    return _MONEY.sub("", _MONEY.sub("", word))


def mark_of(word: str) -> str:
    """The currency or percent sign in a word, or "no mark"; equal for ``$``, ``US$`` and ``USD``."""
    found = _MARK.search(word)
    return "no mark" if found is None else _SIGN_OF.get(found[0], found[0].rstrip("."))


def has_plural(unit: str) -> bool:
    """Whether a unit may end in a plural "s": 3 ms are not 3 m."""
    return len(unit) > 1


def unit_of(word: str) -> str | None:
    """The text after the number at the start of a word; None if it may be more than a unit."""
    found = _UNIT.fullmatch(word.strip())
    if found is None:
        return None
    space, unit = found.groups()
    if unit[0].isnumeric():  # such as 9½ and 5²
        return None
    is_letter = len(unit) == 1 and unit.isalpha() and not space
    return None if is_letter and unit not in _LETTERS and unit not in MAGNITUDES else unit
