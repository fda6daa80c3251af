"""What each column of a table becomes, and why."""

from __future__ import annotations

import copy
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from ..estimators._parameters import InvalidParameterError, check_option, learner_of, shown
from ..estimators._validation import as_given, takes_sparse
from ._column_transformer import OnlineColumnTransformer, place_of
from ._dates import DateEncoder, read_date
from ._frames import DATES, NUMBERS, WORDS, Column, as_word, read_table
from ._imputer import OnlineImputer
from ._numbers import MAGNITUDES, NumberForm, NumberReader, has_plural, is_missing_word, mark_of, read_number, unit_of
from ._pipeline import OnlinePipeline, make_online_pipeline
from ._text import OnlineTfidf
from ._words import HashingEncoder, OnlineOneHotEncoder, OnlineOrdinalEncoder

TEXT, LEFT_OUT = "text", "drop"
BY_NUMBER = "number"  # words and parts of dates as numbers, besides zero-one columns
KINDS = (NUMBERS, WORDS, DATES, TEXT, LEFT_OUT)
MOST_WORDS = 100  # zero-one columns for a column of words; with more words, it is hashed
MOST_NUMBERS = 2**14  # for the words of a hashed column
WORDS_OF_TEXT = 3.0  # mean number of words from which on entries are texts
FEW_ROWS = 50  # with fewer, digits alone do not make a column of identifiers
LONGEST_QUANTITY = 1e11  # whole numbers from here on, with 12 digits, name rows if all differ
LEAST_READ = 0.99  # of the rows with a value, if others cannot be read: enough for a column of numbers or dates
LEAST_ASKED = 0.6  # of them, if somebody asks for numbers or dates
LEAST_TOLD = 0.9  # of them, from which on notes say that most words are numbers
_NAMES_ROWS = re.compile(r"(?:^|[_\W])(?:id|key|uuid|guid)$|[a-z]I[Dd]$", re.ASCII)
_LEADING_ZERO = re.compile(r"0\d+")
_ZERO_FIRST = re.compile(r"\s*0\d")
_DAYS = (
    *("%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%Y/%m/%d", "%m-%d-%Y", "%d-%m-%Y"),
    *("%m/%d/%y", "%d/%m/%y", "%d.%m.%y", "%m-%d-%y", "%d-%m-%y"),
    *("%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y", "%Y%m%d"),
)
_TIMES = "%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p"
_MONTHS = "%Y-%m", "%m/%Y", "%Y/%m", "%m-%Y", "%b %Y", "%B %Y", "%b-%Y", "%b-%y", "%Y%m"
# None is ISO 8601, except for its months.
DATE_FORMATS = (None, *_DAYS, *(f"{day} {time}" for time in _TIMES for day in _DAYS), *_TIMES, *_MONTHS)
_MARKS = (".", None), (".", ","), (",", None), (",", "."), (".", " "), (",", " "), (".", "'")
NUMBER_FORMATS = tuple(NumberForm(*marks) for marks in _MARKS)
_GROUPS = re.compile(r"[^.,\d]*[1-9]\d{0,2}[.,]\d{3}[^.,\d]*")  # thousands, or three decimals
IN_DIGITS = "%Y%m%d", "%Y%m"  # days and months that are whole numbers
EPOCHS = {"seconds": 1.0, "milliseconds": 1e3}  # units of times since 1970, per second
_YEARS = 1900, 2100  # four digits between these are a year, even if nobody says so
_SOME = 1000  # words: with more, some are tried first, which half of the rows must pass
_ROUND = 0.2  # share of whole numbers that end in 0, twice that of names: from here on, they are quantities
_DOUBTFUL = 2030  # two-digit years from here on may be in the last century
_FEWEST_MONTHS = 3  # different ones, for 201001 to be a month
_SINCE, _UNTIL = 1e9, 2.1e9  # 2001 and 2036 in seconds: a column between them holds times
_DIGIT = re.compile(r"\d")


class Choice(NamedTuple):
    """What a column is, and why."""

    kind: str  # one of `KINDS`
    note: str  # what it is, in words
    n_different: int = 0  # values
    n_missing: int = 0
    n_rows: int = 0
    form: Any = None  # of words: the `NumberForm` of numbers; the format of dates, None for ISO 8601
    has_times: bool = False  # whether dates have hours
    has_days: bool = True  # times of day have none
    has_others: bool = False  # words that are not numbers or dates, and count as missing

    @property
    def gaps(self) -> str:
        """Number of missing values, as the end of a note."""
        return f"; {self.n_missing} missing ({self.n_missing / self.n_rows:.1%})" if self.n_missing else ""


class _Values(NamedTuple):
    """The non-missing values of a column, by kind; only words have formats."""

    words: dict  # number of rows by word
    numbers: np.ndarray
    dates: np.ndarray


def choose(column: Column, asked: str | None = None, least: float = 1.0) -> Choice:
    """Decide what a column is; raise if it is not what is ``asked``, one of `KINDS`.

    In a column of words, at least the share ``least`` of the rows with a value must be numbers, or dates; others are
    missing.
    """
    if asked == LEFT_OUT:
        return Choice(LEFT_OUT, "left out, as asked")
    try:
        kind = column.kind
    except ValueError as error:
        if asked is not None:
            raise
        what = str(error).partition(" holds ")[2].rpartition(": columns hold ")[0]
        return Choice(LEFT_OUT, f"left out: it holds {what}, neither numbers, words nor dates")
    if kind == NUMBERS and not (asked is None and column.is_nominal):
        return _of_numbers(column, asked)
    if kind == DATES and asked in (None, DATES):
        return _of_dates(column)
    return _of_words(column, asked, least)


def _by_kinds(column, kind, does="keeps them"):
    """Text for notes: how to ask for another kind, and what that ``does``."""
    return f"kinds={{{column.name!r}: {kind!r}}} {does}"


def _useless(choice):
    """The choice for a column that says nothing about a row; None for others."""
    if choice.n_different > 1:
        return None
    why = "one value only" if choice.n_different else "no values"
    return choice._replace(kind=LEFT_OUT, note=f"left out: {why}")


def _of_numbers(column, asked, are_of_words=False, are_amounts=False):
    """The choice for numbers.

    With ``are_of_words``, their column has the words, too. With ``are_amounts``, they are written like amounts, unlike
    names of rows.
    """
    values = column.numbers()
    present = values[~np.isnan(values)]
    found = np.unique(present)
    choice = Choice(NUMBERS, "", len(found), len(values) - len(present), len(values))
    are_one, n_words = asked is None and len(found) == 1 and 2.0**53 <= abs(found[0]) < 1e40, 0
    if are_one or asked in (WORDS, TEXT):
        n_words = len({*column.coded()[1]} - {None})  # floats do not distinguish large ones
    if asked in (WORDS, TEXT):
        return choice._replace(kind=WORDS, note=f"{n_words} words, as asked", n_different=n_words)
    times = _times_in(found)
    if asked == DATES and times is None:
        return choice._replace(kind=DATES, note="dates, as asked", has_times=True)
    if asked is None:
        why, kind = "name rows", NUMBERS
        dtype = str(getattr(column.values, "dtype", getattr(column.values, "type", "")))
        if are_one and (n_words > 1 or re.match("(?i)float|double", dtype)):  # as files are read
            why, kind = "are one as float64", WORDS
        elif (useless := _useless(choice)) is not None:
            return useless
        if kind == WORDS or _name_rows(present, len(found), str(column.name), times is not None, are_amounts):
            keep = _by_kinds(column, kind)
            if kind == WORDS and n_words <= 1 and not are_of_words:
                keep = f"words=[{column.name!r}] of read_batches keeps them"
            return choice._replace(kind=LEFT_OUT, note=f"left out: whole numbers that {why} ({keep})")
    if asked in (None, DATES) and times is not None:
        how = f"{times} since 1970" if times in EPOCHS else times.replace("%", "")
        keep = "" if asked else f"; {_by_kinds(column, NUMBERS, 'takes them as numbers')}"
        note = f"dates ({how}{keep})"
        return choice._replace(kind=DATES, note=note, form=times, has_times=times in EPOCHS)
    ends = f" from {found[0]:.6g} to {found[-1]:.6g}" if len(found) else ""
    return choice._replace(note=f"numbers{ends}")


def _times_in(numbers):
    """The format of sorted numbers that are times; None for others."""
    if len(numbers) < 2:
        return None
    for unit, factor in EPOCHS.items():
        if factor * _SINCE <= numbers[0] and numbers[-1] <= factor * _UNTIL:
            return unit
    if not (numbers == np.round(numbers)).all():
        return None
    first, last = _YEARS
    for form, digits, fewest in zip(IN_DIGITS, (4, 2), (2, _FEWEST_MONTHS)):
        may_be = len(numbers) >= fewest and first * 10**digits <= numbers[0] and numbers[-1] < (last + 1) * 10**digits
        if may_be and _all_dates([str(int(number)) for number in numbers.tolist()], form) is not None:
            return form
    return None


def _name_rows(numbers, n_different, name, are_times, are_amounts):
    """Whether numbers are names of rows: whole, and as different as names."""
    if not (numbers == np.round(numbers)).all():
        return False
    if _NAMES_ROWS.search(name) and n_different > min(MOST_WORDS, len(numbers) // 2):
        return True
    if are_amounts:
        return False
    if n_different == len(numbers) >= 3 and numbers.max() - numbers.min() == len(numbers) - 1:
        return not (_YEARS[0] <= numbers.min() and numbers.max() <= _YEARS[1])
    if are_times or n_different < max(0.9 * len(numbers), 3):
        return False
    sizes = np.abs(numbers)
    if n_different == len(numbers) and sizes.min() >= LONGEST_QUANTITY:
        return True
    digits = np.floor(np.log10(np.maximum(sizes, 1.0)))
    if len(numbers) < FEW_ROWS or digits.min() < digits.max():
        return False
    fewest = 5 if n_different == len(numbers) else 7
    by_chance = 0.1 + 4.0 * 0.3 / np.sqrt(len(numbers))  # a tenth, as for names, and four standard deviations
    return bool(digits[0] >= fewest and (sizes % 10 == 0).mean() < max(_ROUND, by_chance))  # quantities are rounder


def _of_dates(column):
    dates = column.dates()
    present = dates[~np.isnat(dates)]
    choice = Choice(DATES, "", len(np.unique(present)), len(dates) - len(present), len(dates))
    has_times = bool((present != present.astype("datetime64[D]")).any())
    return _useless(choice) or choice._replace(note="dates", has_times=has_times)


def _counts(column):
    """Number of rows with each word, and with None."""
    codes, words = column.coded()
    counts: Counter = Counter()
    for word, times in zip(words, np.bincount(codes, minlength=len(words)).tolist()):
        counts[word] += times
    return counts


def _not_missing(counts):
    """Words that may be numbers or dates, with their counts."""
    return {word: counts[word] for word in counts if word is not None and not is_missing_word(word)}


def _values_in(column, words):
    """Values of a column, whose ``words``, including its numbers and dates, have been counted."""
    numbers, dates = np.empty(0), np.empty(0, dtype="datetime64[us]")
    parts = {part.kind: part for _, part in column.apart()}
    if parts.keys() & {NUMBERS, DATES}:
        words = Counter(_not_missing(_counts(parts[WORDS])) if WORDS in parts else {})
    if NUMBERS in parts:
        numbers = parts[NUMBERS].numbers()
        words.update(map(str, numbers[np.isinf(numbers)].tolist()))  # cannot be read
        numbers = numbers[np.isfinite(numbers)]
    if DATES in parts:
        dates = parts[DATES].dates()
        dates = dates[~np.isnat(dates)]
    return _Values(words, numbers, dates)


def _of_words(column, asked, least):
    counts = _counts(column)
    n, n_none = sum(counts.values()), counts.pop(None, 0)
    values = _not_missing(counts)
    n_missing = n - sum(values.values())
    of_values = Choice(WORDS, "", len(values), n_missing, n)
    of_words = Choice(WORDS, "", len(counts), n_none, n)
    if asked in (NUMBERS, DATES) and not values:
        form = NUMBER_FORMATS[0] if asked == NUMBERS else None
        return of_values._replace(kind=asked, note=f"{asked}, as asked, of which there is none yet", form=form)
    if asked is None and (useless := _useless(of_words if values else of_values)) is not None:
        return useless
    as_told = asked is None and column.is_nominal
    ways = () if as_told else ((NUMBERS, _as_numbers), (DATES, _as_dates), (NUMBERS, _as_quantities))
    ways = tuple(read_as for kind, read_as in ways if asked in (None, kind))
    found = _values_in(column, values) if ways else None
    for read_as in ways:
        if (choice := read_as(column, found, of_values, asked, least)) is not None:
            return choice
    if asked in (NUMBERS, DATES):
        some = found._replace(words=_some(found.words))
        ways = [read_as for read_as in ways if read_as(column, some, of_values, asked, 0.5) is not None]
        if asked == DATES and len(found.numbers) > (1.0 - LEAST_READ) * (n - n_none):
            ways = []  # nobody says which numbers are days
        made = [read_as(column, found, of_values, asked, LEAST_ASKED) for read_as in ways]
        if any(made):
            return min(filter(None, made), key=lambda choice: choice.n_missing)
        word = next((word for word in values if not _DIGIT.search(word)), next(iter(values)))
        what = f"cannot be read as {asked}: it holds other words, such as {shown(word)}"
        raise ValueError(f"column {as_given(column.name)} {what}.")
    length = sum(counts[word] * len(word.split()) for word in counts) / max(n - n_none, 1)
    if asked == TEXT or (asked is None and length >= WORDS_OF_TEXT and len(counts) > MOST_WORDS):
        return of_words._replace(kind=TEXT, note=f"text ({len(counts)} different, {length:.1f} words each)")
    if asked is None and len(counts) > max(MOST_WORDS, (n - n_none) // 2):
        why = f"text, or names of rows ({len(counts)} different; {_by_kinds(column, WORDS)})"
        return of_words._replace(kind=LEFT_OUT, note=f"left out: {why}{_share_of_numbers(column, values)}")
    note = f"{len(counts)} words"
    if (n_bare := len({word.strip() for word in counts})) < len(counts):
        note += f" ({n_bare} without the blanks at their ends)"
    if asked is None and not as_told:
        note += _share_of_numbers(column, values)
    if as_told and values and beside_numbers(values, 1.0) is not None:
        note += f", as their type says ({_by_kinds(column, NUMBERS, 'takes them as numbers')})"
    return of_words._replace(note=note)


def _some(counts):
    """Fewer of many words, for about as many rows: to try all takes long if most are no numbers or dates."""
    if len(counts) <= _SOME:
        return counts
    words = Counter(counts).most_common()
    first, others = words[: _SOME // 2], words[_SOME // 2 :]
    each = len(others) // (_SOME // 2) + 1
    return dict(first) | {word: each * times for word, times in others[::each]}


def _share_of_numbers(column, values):
    """Text for notes on words of which most are numbers."""
    if beside_numbers(_some(values), 0.5) is None or not (others := beside_numbers(values, LEAST_TOLD)):
        return ""
    share = 1.0 - sum(values[word] for word in others) / sum(values.values())
    how = _by_kinds(column, NUMBERS, "takes these as missing")
    return f"; {share:.1%} are numbers, but {shown(others[0])} and the like are none ({how})"


def _as_quantities(column, values, choice, asked, least):
    """The choice for words that are numbers of one unit, except for a few; otherwise None."""
    how = _unit_among(values.words, asked, len(values.numbers))
    return None if how is None else _as_numbers(column, values, choice, asked, least, how)


def _unit_among(counts, asked=None, n_numbers=0):
    """The unit or magnitude after most numbers, as a parameter of `NumberForm`; or None.

    Another ``n_numbers`` rows have bare numbers.
    """
    units: Counter = Counter()
    for word, times in counts.items():
        units[unit_of(word)] += times
    del units[None]
    if not units or (asked is None and any(map(_ZERO_FIRST.match, counts))):
        return None
    unit = max(units, key=units.__getitem__)
    if unit.endswith("s") and has_plural(unit[:-1]) and unit[:-1] in units:
        unit = unit[:-1]  # 1 year, 2 years
    how = {"unit": unit}
    if unit in MAGNITUDES:
        if units[unit] < sum(counts.values()) + n_numbers and not any(map(_is_amount, counts)):
            return None  # 25M beside 30 may be a man
        how = {"magnitudes": True}
    return how


def _is_amount(word):
    """Whether a word ends in a magnitude, and has decimals or a currency, unlike codes."""
    return unit_of(word) in MAGNITUDES and ("." in word or "," in word or mark_of(word) != "no mark")


def _as_numbers(column, values, choice, asked, least, how=None):
    """The choice for words that are numbers, possibly mixed with numbers, except for a few; otherwise None."""
    counts = Counter(values.words)
    if len(values.dates):
        counts[as_word(values.dates[0])] += len(values.dates)  # one for all of them
    if asked is None and _are_codes(counts):
        return None
    forms = [form._replace(**how or {}) for form in NUMBER_FORMATS]
    form, found, others = _best(counts, forms, _finite, least, len(values.numbers))
    if found is None:
        return None
    n_rows_of = np.array([counts[word] for word in found], dtype=np.intp)
    every = np.append(np.repeat(np.array([*found.values()], dtype=np.float64), n_rows_of), values.numbers)
    are_amounts = not all(map(_is_plain, found))
    made = _of_numbers(Column(column.name, every), asked, True, are_amounts)
    if made.kind == DATES and _all_dates(found, made.form) is None:
        made = _of_numbers(Column(column.name, every), NUMBERS)
    note, form = made.note, made.form if made.kind == DATES else form
    if found and made.kind == NUMBERS and form != NUMBER_FORMATS[0]:
        word, number = max(found.items(), key=lambda item: len(unit_of(item[0]) or "") if how else 0)
        note = note.replace("numbers", f"numbers as {word!r} is {number:.10g},", 1)
    if made.kind == NUMBERS and (other := _other_form(found, form)) is not None:
        note += other
    marks = {*map(mark_of, found), *(["no mark"] if len(values.numbers) else [])}
    if made.kind == NUMBERS and len(marks) > 1 and ("%" in marks or len(marks - {"no mark"}) > 1):
        note += f" ({' and '.join(sorted(marks))} alike: nothing is converted)"
    n_missing = choice.n_missing + sum(counts[word] for word in others)
    if made.kind != LEFT_OUT:
        note += _said_of(others, counts)
    return made._replace(note=note, n_missing=n_missing, n_rows=choice.n_rows, form=form, has_others=bool(others))


def beside_numbers(counts, least=LEAST_READ):
    """Words that are no numbers; None unless nearly all rows have numbers, written alike and no codes.

    ``counts`` maps words to numbers of rows; ``least`` is the share that must have numbers.
    """
    for how in () if _are_codes(counts) else ({}, _unit_among(counts)):
        forms = [] if how is None else [form._replace(**how) for form in NUMBER_FORMATS]
        _, found, others = _best(counts, forms, _finite, least)
        if found is not None:
            return others
    return None


def are_days(numbers):
    """Whether numbers are days or months, such as 20230228 and 202302."""
    form = _times_in(np.unique(numbers[~np.isnan(numbers)]))
    return form is not None and form not in EPOCHS


def _are_codes(words):
    """Whether leading zeros belong to the words."""
    return any(_LEADING_ZERO.fullmatch(word) for word in words)


def _is_plain(word):
    """Whether a word is a number without a currency, a unit or marks between its digits."""
    try:
        float(word)
    except ValueError:
        return False
    return True


def _finite(word, form):
    """A word as a number; raise ValueError if it is not one, or infinite."""
    number = read_number(word, form)
    if number is None or not np.isfinite(number):
        raise ValueError(word)
    return number


def _other_form(numbers, form):
    """Text for notes on numbers whose marks may be for thousands or decimals; None for others."""
    mark = form.thousands or form.decimal
    with_mark = [word for word in numbers if mark in word]
    if mark not in (".", ",") or not with_mark or not all(map(_GROUPS.fullmatch, with_mark)):
        return None
    word = with_mark[0]
    decimal, thousands = (mark, None) if form.thousands else ("," if mark == "." else ".", mark)
    other = read_number(word, form._replace(decimal=decimal, thousands=thousands))
    return f" (or is {word!r} {other:.10g}? no number here tells)"


def _best(counts, forms, read, least, n_more=0, n_unread=0):
    """The format that reads most rows, with the result of `_read`."""
    best = None, None, []
    for form in forms:
        found, others = _read(counts, partial(read, form=form), least, n_more, n_unread)
        if found is not None and not any(map(_DIGIT.search, others)):  # no format reads the others
            return form, found, others
        n_others = sum(counts[word] for word in others)
        if found is not None and (best[1] is None or n_others < sum(counts[word] for word in best[2])):
            best = form, found, others
    return best


def _read(counts, read, least, n_more=0, n_unread=0):
    """What ``read`` makes of words, and a list of other words, if few rows have them; otherwise (None, []).

    More rows have values that are not words: ``n_more`` need not be read, ``n_unread`` cannot be.
    """
    n_rows, n_others = sum(counts.values()) + n_more + n_unread, n_unread
    found, others = {}, []
    if n_others > (1.0 - least) * n_rows:
        return None, []
    for word, times in counts.items():
        try:
            found[word] = read(word)
        except ValueError:
            others.append(word)
            n_others += times
            if n_others > (1.0 - least) * n_rows:
                return None, []
    return (found, others) if found or n_more else (None, [])


def _said_of(others, counts):
    """Text for notes on words that cannot be read."""
    if not others:
        return ""
    n = sum(counts[word] for word in others)
    return f", but {others[0]!r} and the like in {n} row{'s' * (n > 1)}, taken as missing"


def _as_dates(column, values, choice, asked, least):
    """The choice for words that are dates, possibly mixed with dates, except for a few; otherwise None."""
    counts, n_dates, n_numbers = values.words, len(values.dates), len(values.numbers)
    if asked == DATES and n_numbers and not (counts or n_dates):
        return _as_numbers(column, values, choice, asked, least)
    if not _may_be_dates(counts, least, n_dates, n_numbers):
        return None
    form, dates, others = _best(counts, DATE_FORMATS, read_date, least, n_dates, n_numbers)
    if dates is None or (asked is None and form in _MONTHS and not _are_years(dates)):
        return None
    has_days = form not in _TIMES
    if n_dates and not has_days:
        return None
    how = "ISO8601" if form is None else form.replace("%", "")
    days_first = None if form is None else re.sub("%m(.)%d", r"%d\1%m", form)
    if days_first != form and _all_dates(dates, days_first) is not None:
        how += ", or days first, which no date here tells"
    years = [date.year for date in dates.values()]
    if form is not None and "%y" in form and max(years) >= _DOUBTFUL:
        how += f", of the years {min(years)} to {max(years)}"
    has_times = any((date.hour, date.minute, date.second) != (0, 0, 0) for date in dates.values())
    has_times |= bool((values.dates != values.dates.astype("datetime64[D]")).any())
    note = f"{'dates' if has_days else 'times of the day'} ({how}){_said_of(others, counts)}"
    if n_numbers:
        note += f", beside numbers in {n_numbers} row{'s' * (n_numbers > 1)}"
    n_missing = choice.n_missing + sum(counts[word] for word in others)
    return choice._replace(
        kind=DATES, note=note, form=form, has_times=has_times, has_days=has_days, n_missing=n_missing,
        has_others=bool(others or n_numbers),
    )  # fmt: skip


def _are_years(dates):
    """Whether years are plausible: four digits before a hyphen may be anything."""
    first, last = _YEARS
    return all(first <= date.year <= last for date in dates.values())


def _may_be_dates(counts, least, n_dates, n_numbers):
    """Whether words have digits and marks, like dates."""

    def read(word):
        if not (_DIGIT.search(word) and any(mark in word for mark in "-/.: ")):
            raise ValueError(word)

    return _read(counts, read, least, n_dates, n_numbers)[0] is not None


def _all_dates(words, form):
    """The words as dates, or None if one is not a date."""
    try:
        return [read_date(word, form) for word in words]
    except ValueError:
        return None


# -- a pipeline for a table


def prepare(
    frame: Any,
    learner: Any = None,
    *,
    columns: Iterable | None = None,
    drop: Iterable = (),
    kinds: Mapping | None = None,
    mismatch: str = "raise",
    n_hashed: int = 2**16,
    say: Callable[[str], Any] | None = None,
) -> OnlinePipeline:
    """Make an `OnlinePipeline` for the columns of a table, with steps chosen by the content of each column.

    The rows are inspected, not learnt: pass as many as fit in memory, then let the pipeline learn.

    - Numbers and booleans stay as they are, in their units. So do words that are numbers in 99 % of the rows, such as
      ``$1,200.00``, ``12.3 %``, ``EUR 5.00``, ``(3.20)`` (negative), ``1.200,5``, ``1.4k`` or ``2M``, or numbers with
      the same unit throughout, such as ``150 kg``. "?", "n/a" and the like, and words that are not numbers, are missing
      values. Missing values are filled with the mean so far and, if there are any, marked in a separate column.
    - Dates become days since 1970, months, weekdays and, if they have times, hours. So do words that are dates in 99 %
      of the rows, such as ``28.02.2023 10:00`` or ``28 Feb 2023``; numbers such as ``20230228``; and numbers that are
      seconds or milliseconds since 1970, between 2001 and 2036. Times of day (``10:30``) become fractions of a day and
      hours.
    - Words become zero-one columns: by a growing vocabulary for up to 98 words, otherwise by hashing. Digits with
      leading zeros are words, and so are pandas and polars categories without an order, even numbers.
    - A learner with ``set_numeric_columns``, such as `NAGCellsClassifier`, cuts numbers. It also gets words, months,
      weekdays and hours as numbers, and so learns how these act together with other columns.
    - Text, with three words or more on average, becomes tf-idf of hashed words and word pairs.
    - Rows with words, dates or text are sparse. A learner whose tags exclude sparse rows, such as
      `ScaleInvariantRegressor` with ``invariance="full"``, gets dense ones, unless there is text or words are hashed.
    - Columns that identify rows are dropped: whole numbers that are all different and count up, have 12 digits or more
      or, in 50 rows or more, all have the same number of digits, at least 6. With 8 digits or more, some may be
      repeated. In a column named like ``customer_id``, numbers are dropped if more than 100 or more than half of them
      are different, words if both. Round numbers, years, and amounts with a currency, a unit or separators between
      digits are kept, unless the column has such a name.
    - Columns with one value or none are dropped, and so are columns that hold neither numbers, words nor dates.

    Parameters
    ----------
    frame : {data frame, Arrow table, array-like} of shape (n_samples, n_features)
        Columns to learn from, without the target.
    learner : estimator, optional
        Last step; by default there is none, so that the pipeline is a transformer.
    columns : list, optional
        Columns to use, by name or, if they have no names, by number; by default all.
    drop : list, optional
        Columns to drop.
    kinds : dict, optional
        Kinds of columns by name, for columns that should not be decided automatically: "numbers", "words", "dates",
        "text" or "drop". For "numbers" and "dates", at least 60 % of the words must be such. The others are missing
        values; this gives a warning unless ``say`` is used.
    mismatch : {"raise", "fill"}, default="raise"
        How to treat later tables with other columns: see `OnlineColumnTransformer`. With ``"fill"``, words that are not
        numbers or dates are missing values.
    n_hashed : int, default=65536
        Number of columns to which words are hashed, if there are too many for a column each.
    say : callable, optional
        Called with a line of text for each column, such as `print`.

    Returns
    -------
    OnlinePipeline
        An unfitted `OnlineColumnTransformer` named "columns" and, if a learner is given, its clone named "learner". If
        the learner is an `OnlinePipeline`, copies of its steps follow instead, unless one of them is named "columns".

    Raises
    ------
    ValueError
        For columns that do not exist or are not what ``kinds`` states, and if no column is left to learn from.

    See Also
    --------
    OnlineColumnTransformer : The same, specified by hand.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn_nag import NAGRegressor
    >>> from sklearn_nag.preprocessing import prepare
    >>> frame = pd.DataFrame({
    ...     "id": [1, 2, 3, 4], "price": ["$1,200.50", "$900", "?", "$80"], "town": ["Rome", "Oslo", "Rome", None],
    ...     "sold": ["28.02.2023", "01.03.2023", "15.03.2023", "02.04.2023"]})
    >>> pipeline = prepare(frame, NAGRegressor(), say=print)
    'id': left out: whole numbers that name rows (kinds={'id': 'numbers'} keeps them)
    'price': numbers as '$1,200.50' is 1200.5, from 80 to 1200.5; 1 missing (25.0%), filled by means and marked
    'town': 2 words, a column for each; 1 missing (25.0%)
    'sold': dates (d.m.Y), as days since 1970, months and weekdays
    >>> pipeline.partial_fit(frame, [3.0, 1.0, 2.0, 4.0]).predict(frame).shape
    (4,)
    """
    check_option("mismatch", mismatch, ("raise", "fill"))
    kind = frame if isinstance(frame, type) else type(frame)
    if hasattr(kind, "fit"):  # not the frame's own, which may be a column
        raise TypeError(
            f"frame is the estimator {kind.__name__}; prepare takes the table first and the learner behind it."
        )
    table = read_table(frame)
    names = list(range(len(table.columns))) if table.names is None else table.names
    kinds = dict(kinds or {})
    places = {name: place for place, name in enumerate(names)}
    wanted, drop = list(names if columns is None else columns), list(drop)
    for parameter, given in (("columns", wanted), ("drop", drop), ("kinds", kinds)):
        for name in given:
            if place_of(name, places) is None:
                what = f"{parameter} has {as_given(name)}, which is not a column to learn from"
                raise ValueError(f"{what}; these are {shown(names)}.")
    for name, kind in kinds.items():
        if kind not in KINDS:
            raise InvalidParameterError(f"kinds[{name!r}]", f"one of {', '.join(map(repr, KINDS))}", shown(kind))
    chosen, dropped = set(wanted), set(drop)
    groups: dict[Any, list] = {}
    for name, count in Counter(names).items():
        if name not in chosen:
            continue
        if count > 1:
            raise ValueError(f"the table has {count} columns {as_given(name)}; names must differ.")
        asked = LEFT_OUT if name in dropped else kinds.get(name)
        if (column := table.columns[places[name]]) is None:
            raise TypeError("Sparse data was passed, whose columns have no kinds; learners take it as it is.")
        choice = choose(column, asked, least=LEAST_READ)
        made, group = _made(choice)
        beside = _by_number(group) if hasattr(learner_of(learner), "set_numeric_columns") else []
        if say is not None:
            say(f"{as_given(name)}: {choice.note}{made}{', and by number' if beside else ''}")
        elif asked is not None and choice.has_others:
            warnings.warn(f"column {as_given(name)} is {choice.note}.", UserWarning, stacklevel=2)
        for entry in [*group, *beside]:
            groups.setdefault((*entry, name) if entry[0] == TEXT else entry, []).append(name)
    if not groups:
        raise ValueError("the table has no column to learn from: all are left out.")
    errors = "raise" if mismatch == "raise" else "missing"
    is_sparse = takes_sparse(learner)
    transformers = []
    for number, (group, taken) in enumerate(groups.items()):
        transformer = _transformer(group, errors, n_hashed, is_sparse)
        transformers.append((f"{group[0]}{number}", transformer, taken[0] if group[0] == TEXT else taken))
    columns_step = OnlineColumnTransformer(transformers, mismatch=mismatch, verbose_feature_names_out=False)
    first = "columns", columns_step
    if learner is None:
        return OnlinePipeline([first])
    if isinstance(learner, Pipeline | str):  # steps that see all rows have been fitted before
        learner = copy.deepcopy(learner)
    else:
        learner = clone(learner)
    if type(learner) is OnlinePipeline and first[0] not in learner.named_steps:
        return learner.set_params(steps=[first, *learner.steps])
    return OnlinePipeline([first, ("learner", learner)])


def _made(choice):
    """How a column is encoded, as text, and the groups whose transformers it shares."""
    kind = choice.kind
    if kind == LEFT_OUT:
        return "", []
    if kind == NUMBERS:
        filled = f"{choice.gaps}, filled by means and marked" if choice.n_missing else ""
        return filled, [(NUMBERS, choice.form, choice.has_others, bool(choice.n_missing))]
    if kind == DATES:
        of_days = ("month",) if choice.form in _MONTHS else ("month", "weekday") if choice.has_days else ()
        named = [*of_days, *(("hour",) if choice.has_times else ())]
        parts = " and ".join(", ".join(f"{part}s" for part in named).rsplit(", ", 1))
        made = f", as days since 1970, {parts}" if choice.has_days else f", as parts of a day and {parts}"
        groups = [(DATES, choice.form, choice.has_others, tuple(some)) for some in (("days",), named) if some]
        return f"{made}{choice.gaps}", groups
    if kind == TEXT:
        return f", as hashed words and pairs, by tf-idf{choice.gaps}", [(TEXT,)]
    if choice.n_different < MOST_WORDS - 1:
        return f", a column for each{choice.gaps}", [(WORDS, MOST_WORDS)]
    return f", hashed{choice.gaps}", [(WORDS, None)]


def _by_number(groups):
    """Additional groups of a column, for a learner that cuts numbers."""
    if groups and groups[0][0] == WORDS:
        return [(BY_NUMBER, WORDS, groups[0][1] or MOST_NUMBERS)]
    return [(BY_NUMBER, *group) for group in groups if group[0] == DATES and group[-1] != ("days",)]


def _transformer(group, errors, n_hashed, is_sparse):
    kind, *how = group
    if kind == BY_NUMBER and how[0] == WORDS:
        return OnlineOrdinalEncoder(how[1])
    if kind == BY_NUMBER:
        _, form, has_others, parts = how
        return DateEncoder(parts, format=form, errors="missing" if has_others else errors, one_hot=False)
    if kind == NUMBERS:
        form, has_others, has_gaps = how
        imputer = OnlineImputer(add_indicator=has_gaps)
        if form is None:
            return imputer
        errors = "missing" if has_others else errors
        return make_online_pipeline(NumberReader(**form._asdict(), errors=errors), imputer)
    if kind == DATES:
        form, has_others, parts = how
        errors = "missing" if has_others else errors
        if parts != ("days",):
            return DateEncoder(parts, format=form, errors=errors, sparse_output=is_sparse)
        return make_online_pipeline(DateEncoder(parts, format=form, errors=errors), OnlineImputer())
    if kind == TEXT:
        return OnlineTfidf()
    return HashingEncoder(n_hashed) if how[0] is None else OnlineOneHotEncoder(how[0], sparse_output=is_sparse)
