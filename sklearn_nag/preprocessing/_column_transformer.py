"""Different transformers for different columns, in a stream."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from contextvars import copy_context
from itertools import count
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn import config_context, get_config
from sklearn.base import OneToOneFeatureMixin, clone
from sklearn.utils import Bunch, get_tags
from sklearn.utils.metadata_routing import get_routing_for_object

from ..estimators._calls import between_calls, unchanged_on_error
from ..estimators._parameters import (
    HasNamedParts,
    InvalidParameterError,
    check_as_made,
    check_flag,
    check_names_of_parts,
    check_option,
    check_parameters,
    shown,
)
from ..estimators._validation import as_given
from ._base import OnlineTransformer, check_some, check_width, column_names, joined, names_in
from ._dates import read_date
from ._frames import DATES, EMPTY, NUMBERS, WORDS, Column, Table, read_table, side_by_side
from ._numbers import is_missing_word
from ._pipeline import OnlinePipeline
from ._steps import (
    check_step,
    is_left_out,
    learn_step,
    merge_steps,
    numeric_outputs,
    places_in,
    transformed,
    undone_on_error,
)


class Columns(NamedTuple):
    """What is known of the columns of a table."""

    names: tuple | None  # of all, if they have any
    kinds: tuple  # of each, as far as values have shown; "" if no transformer takes it


def _missing(name, n_rows):
    """An absent column: all its values are missing."""
    return Column(name, np.full(n_rows, None))


class _Changed(Column):
    """A column that holds something other than its ``kind``: values that cannot be read are missing."""

    def __init__(self, values, kind):
        super().__init__(values.name, values)
        self.kind = kind

    def head(self):
        return type(self)(self.values.head(), self.kind)

    def apart(self):
        return self.values.apart() if self.kind == WORDS else super().apart()

    def unread(self):
        """The first word that cannot be read and is no missing value, for a message."""
        read = self.numbers() if self.kind == NUMBERS else self.dates()
        for word, value in zip(self.words(), read):
            if value != value and not is_missing_word(word or ""):
                return f": {shown(word)}"
        return ""

    def numbers(self):
        numbers = self._read(lambda word: float(word.replace("_", "?")), np.float64)  # 1_000 is a word
        if self.values.is_mixed:  # True is 1, as among numbers; "True" is a word
            values = np.asarray(self.values.values, dtype=object)
            flags = [isinstance(value, bool | np.bool_) for value in values]
            numbers[flags] = values[flags].astype(np.float64)
        return np.where(np.isfinite(numbers), numbers, np.nan)

    def words(self):
        return self.values.words()

    def coded(self):
        return self.values.coded()

    def dates(self):
        return self._read(lambda word: read_date(word, None), "datetime64[us]")

    def _read(self, read, dtype):
        codes, words = self.values.coded()
        values = [None] * len(words)
        for i, word in enumerate(words):
            with suppress(ValueError):
                values[i] = read(word or "")
        return np.array(values, dtype=dtype)[codes]


class _DatesInWords(_Changed):
    """Words, or mixtures with them, as dates: numbers among them are read like words in ISO 8601, not as days."""

    def apart(self):
        return [(rows, _Changed(part, DATES) if part.kind == NUMBERS else part) for rows, part in self.values.apart()]


class OnlineColumnTransformer(HasNamedParts, OnlineTransformer):
    """Apply transformers to columns of a table and concatenate their outputs, row by row in a stream.

    It works like `sklearn.compose.ColumnTransformer`, but each transformer learns as in an `OnlinePipeline`: by
    ``learn_transform`` or ``partial_fit``, or not at all. Tables are pandas or polars frames, Arrow tables, arrays or,
    for transformers that accept them, sparse matrices. Whatever the table, a transformer gets an array:

    - float64, with NaN for missing values, if its columns hold numbers or booleans;
    - object, with str or None, if they hold words: text, pandas and polars categories, and numbers and booleans for
      `OnlineTfidf` or encoders that accept words only;
    - datetime64, with NaT, if they hold dates; times with a time zone are taken as local times of that zone;
    - object, if they hold several of these.

    The first table determines the names and kinds of columns; their order does not matter. Transformers are copied at
    that time and must not change afterwards.

    Parameters
    ----------
    transformers : list of tuple
        Tuples ``(name, transformer, columns)``. The transformer may be "drop" or "passthrough". ``columns`` is a list
        of names (or of positions, if columns have no names), a slice of positions or, including the last one, of names,
        a mask, or a function that returns one of these for the first table. A single name or position, not in a list,
        passes a one-dimensional array, as text transformers need it.
    remainder : {"drop", "passthrough"} or transformer, default="drop"
        How to treat the columns that are not in ``transformers``.
    mismatch : {"raise", "fill"}, default="raise"
        How to treat a table with other columns than the first one. ``"raise"`` refuses a table that lacks a column, has
        an additional one, or has, for example, words among numbers. ``"fill"`` warns instead: missing columns are
        filled with missing values and additional ones are dropped. Values that cannot be read as the kind of their
        column are missing; so are infinite numbers, in any table. In both cases, columns that no transformer takes may
        come and go.
    unused : list of str, default=()
        Names of columns that the first table lacks and that may also come and go, such as the target.
    verbose_feature_names_out : bool, default=True
        Whether to prefix output names with the name of their transformer, as in ``words__town=Rome``. Names that two
        transformers would otherwise share are always prefixed.

    Attributes
    ----------
    transformers_ : list of tuple
        Fitted transformers, with their names and the positions of their columns.
    named_transformers_ : Bunch
        The fitted transformers by name.
    n_features_in_ : int
        Number of columns of the first table.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns of the first table, if all are str.
    kinds_ : tuple of str
        Content of each column: ``"numbers"``, ``"words"`` or ``"dates"``; ``"no values"`` if there has been none so
        far, ``""`` if no transformer takes it.

    See Also
    --------
    OnlinePipeline : One transformer after another.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn_nag.preprocessing import OnlineColumnTransformer
    >>> from sklearn.preprocessing import MaxAbsScaler
    >>> frame = pd.DataFrame({"age": [20, 40], "price": [5.0, 10.0], "note": ["a", "b"]})
    >>> columns = OnlineColumnTransformer([("scaled", MaxAbsScaler(), ["price"]), ("same", "passthrough", ["age"])])
    >>> columns.learn_transform(frame)
    array([[ 0.5, 20. ],
           [ 1. , 40. ]])
    >>> columns.transform(frame[["note", "price", "age"]])
    array([[ 0.5, 20. ],
           [ 1. , 40. ]])
    """

    _state: Columns
    _takes_by_name = True  # the order of columns does not matter

    def __init__(
        self,
        transformers: list[tuple],
        *,
        remainder: Any = "drop",
        mismatch: str = "raise",
        unused: Iterable = (),
        verbose_feature_names_out: bool = True,
    ):
        self.transformers = transformers
        self.remainder = remainder
        self.mismatch = mismatch
        self.unused = unused
        self.verbose_feature_names_out = verbose_feature_names_out

    # -- parameters

    _list_of_parts = "transformers"

    def _entries(self):
        entries = self.transformers
        fits = isinstance(entries, list | tuple) and all(isinstance(e, tuple) and len(e) == 3 for e in entries)
        return list(entries) if fits and all(isinstance(name, str) for name, _, _ in entries) else []

    def _check_parameters(self):
        if not self._entries():
            raise InvalidParameterError(
                "transformers", "a list of tuples (name, transformer, columns)", shown(self.transformers)
            )
        for name, transformer, _ in self.transformers:
            _check_transformer("transformers", transformer)
            if _asks_for_weights(transformer):
                raise ValueError(
                    f"{name!r}, one of transformers, requests sample_weight, which {type(self).__name__} does not pass "
                    "on: its transformers count every row alike."
                )
        check_names_of_parts("transformers", [name for name, _, _ in self.transformers], type(self))
        _check_transformer("remainder", self.remainder)
        check_option("mismatch", self.mismatch, ("raise", "fill"))
        if isinstance(self.unused, str) or not isinstance(self.unused, Iterable):
            raise InvalidParameterError("unused", "a list of names", shown(self.unused))
        check_flag("verbose_feature_names_out", self.verbose_feature_names_out)

    # -- learning

    @unchanged_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit from scratch, including transformers that need all rows at once.

        Parameters
        ----------
        X : {data frame, Arrow table, array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), optional
            Targets, for transformers that use them.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        self._learn(X, False, first=True, y=y)
        return self

    def _learn(self, X, transform, first=False, y=None):
        refits, first = first, first or not self.__sklearn_is_fitted__()
        check_parameters(self)
        table = self._table(X, first)
        if first:
            self._begin(X, table)
        else:
            self._check_can_transform()
        columns = self._columns(table, first)
        kinds = [
            column.kind if kind == EMPTY and column is not None and column.has_values else kind
            for kind, column in zip(self._state.kinds, columns)
        ]  # of all columns, including those that show theirs only now
        self._state = self._state._replace(kinds=tuple(kinds))
        # `transform` sets the output for nested steps in the same way.
        with undone_on_error(() if first else self._parts()) as told, config_context(transform_output="default"):
            blocks = self._blocks(columns, table, refits, y, told)
            if first:
                heads = [self._head(entry, columns, table) for entry in self._fitted]
                self._widths = tuple(0 if head is None else _two_dimensional(head).shape[1] for head in heads)
                self._is_dense = tuple(not sparse.issparse(head) for head in heads)
            return stacked(blocks, table.n_rows) if transform else None, X

    def _check_can_transform(self):
        super()._check_can_transform()
        given = {"remainder": self.remainder, **{name: step for name, step, _ in self._entries()}}
        for name, made in getattr(self, "_made", {}).items():  # older saved models may lack it
            check_as_made(made, given.get(name), name)

    def _kept(self):
        """Fitted entries, without dropped ones."""
        return [entry for entry in self._fitted if entry[1] != "drop"]

    def _blocks(self, columns, table, refits, y, told):
        """Output of transformers for columns that they learn; nothing if they are fitted anew.

        The caller undoes it, and calls the functions added to ``told`` then.
        """
        blocks = []
        for name, step, places, single in self._kept():
            try:
                rows = self._group(columns, places, single, table, step)
                if is_left_out(step):
                    blocks.append(rows)
                elif refits:
                    step.fit(rows, y)
                elif _is_of_base(step):
                    made, _ = step._learn(rows, True)
                    blocks.append(made)
                else:
                    check_step(name, step)
                    inside = type(step) is OnlinePipeline
                    blocks.append(step._learn_inside(rows, told) if inside else learn_step(step, rows))
            except Exception as error:
                error.add_note(f"Raised by {name!r}, one of transformers.")
                raise
        return blocks

    def _head(self, entry, columns, table):
        """Output of a fitted transformer for the first row; None without output."""
        _, step, places, single = entry
        if step == "drop":
            return None
        columns = [column and column.head() for column in columns]
        table = Table(table.names, columns, 1, None if table.array is None else table.array[:1])
        rows = self._group(columns, places, single, table, step)
        return rows if is_left_out(step) else step.transform(rows)

    def _table(self, X, first=False):
        """The columns of ``X``."""
        table = read_table(X)
        check_some(table)
        if first or table.array is None:
            return table
        kinds = self._state.kinds
        has_words = WORDS in kinds and any(kinds[place] == WORDS for place in self._places_of_dates())
        if DATES in kinds or has_words:  # numbers are no dates
            dense = table.array.toarray() if sparse.issparse(table.array) else table.array
            return read_table(dense.astype(object))
        return table

    def _begin(self, X, table):
        """Set everything up for a first table."""
        self._begun_with = {}
        if self.mismatch == "fill" and table.names is not None:
            table = self._with_absent(table)
        n = len(table.columns)
        self.n_features_in_ = n
        vars(self).pop("feature_names_in_", None)
        if table.names is not None and all(isinstance(name, str) for name in table.names):
            self.feature_names_in_ = np.array(table.names, dtype=object)
        fitted, taken = [], set()
        for name, step, columns in self.transformers:
            places, single = _places(columns, X, table, name)
            taken.update(places)
            fitted.append((name, clone(step, safe=False), tuple(places), single))
        rest = [place for place in range(n) if place not in taken]
        if rest:
            fitted.append(("remainder", clone(self.remainder, safe=False), tuple(rest), False))
        self._fitted = [entry for entry in fitted if entry[2]]
        self._made = {name: clone(step, safe=False) for name, step, *_ in self._fitted}
        used = {place for _, _, places, _ in self._kept() for place in places}
        names = None if table.names is None else tuple(table.names)
        if names is not None:
            _check_once(Counter(names), [names[place] for place in used])
        self._state = Columns(names, tuple(EMPTY if place in used else "" for place in range(n)))

    def _with_absent(self, table):
        """The table, with missing values for absent columns."""
        absent: dict[str, None] = {}
        for _, _, columns in self.transformers:
            for name in [columns] if isinstance(columns, str) else columns if isinstance(columns, list) else ():
                if isinstance(name, str) and name not in table.names:
                    absent[name] = None
        if not absent:
            return table
        self._mismatch(f"X has no column {', '.join(map(as_given, absent))}", "its values are taken as missing")
        columns = [_missing(name, table.n_rows) for name in absent]
        return Table([*table.names, *absent], [*table.columns, *columns], table.n_rows, None)

    def _columns(self, table, first):
        """The columns in the order of the first table; None for those not used."""
        state = self._state
        used = [place for place, kind in enumerate(state.kinds) if kind]
        columns = [None] * len(state.kinds)
        if state.names is None or table.names is None:
            self._check_places(table)
            for place in used:
                columns[place] = table.columns[place]
        else:
            found = {column: place for place, column in enumerate(table.names)}
            if not first:
                self._check_names(table.names)
            for place in used:
                name = state.names[place]
                columns[place] = table.columns[found[name]] if name in found else _missing(name, table.n_rows)
        if table.array is not None and all(_reads(step) != {WORDS} for _, step, *_ in self._fitted):
            return columns
        reads, as_words = {} if table.array is None else self._reads_of_columns(), []
        of_dates = None
        for place in used:
            column, known = columns[place], state.kinds[place]
            if column is None or (table.array is not None and reads[place] != {WORDS}):
                continue
            try:
                kind = column.kind
            except ValueError as error:  # it holds lists or the like
                if self.mismatch == "raise":
                    raise
                self._mismatch(str(error).rpartition(": ")[0], "its values are taken as missing")
                columns[place] = column = _missing(column.name, table.n_rows)
                kind = column.kind
            if kind == known != WORDS:
                continue
            of_dates = self._places_of_dates() if of_dates is None else of_dates
            if kind == WORDS and place in of_dates:
                columns[place] = column = self._without_days(place, column, known)
                kind = column.kind
            if kind == known:
                continue
            reads = reads or self._reads_of_columns()
            if kind == NUMBERS and reads[place] == {WORDS} and known in (EMPTY, WORDS):
                as_words.append(place)
            else:
                taken = place, reads[place], place in of_dates
                columns[place] = self._of_another_kind(column, table.n_rows, kind, known, *taken)
        if as_words:
            chosen = [columns[place] for place in as_words]
            numbers = side_by_side([column.numbers() for column in chosen], table.n_rows)
            are_infinite = np.isinf(numbers)
            self._check_sizes(numbers, chosen)
            for place, column, infinite in zip(as_words, chosen, are_infinite.T):
                if infinite.any():  # in the other rows, words stay as they are: floats would make large numbers equal
                    words = column.words()
                    words[infinite] = None
                    column = Column(column.name, words)
                columns[place] = _Changed(column, WORDS)
        return columns

    def _of_another_kind(self, column, n_rows, kind, known, place, reads, is_of_dates):
        """A column that is not of the ``known`` kind, as its transformers take it; a mismatch if they do not.

        ``reads`` is what these read, and ``is_of_dates`` whether its numbers could only be guessed to be days.
        """
        if kind == DATES and reads == {WORDS} and known == EMPTY and column.is_mixed:
            return _Changed(column, WORDS)
        before = f"held {known} in the first one"
        if known == EMPTY and reads == {NUMBERS} and not column.is_nominal:
            known, before = NUMBERS, "its transformer takes numbers"
        if (kind, known) == (NUMBERS, DATES) and DATES in reads and not is_of_dates:
            known = WORDS  # a format reads numbers, as where words came first
        if EMPTY in (kind, known) or kind == known or self._read_alike(place, kind, known):
            return column
        if not column.has_values:
            return _missing(column.name, n_rows)
        as_dates = kind == NUMBERS and is_of_dates
        if known == WORDS and column.is_mixed and not as_dates:
            return column  # objects, which may stand beside words, may stand alone
        changed = _Changed(column, DATES if as_dates else known)
        if as_dates and column.is_mixed and self._expects_others(place):
            return changed
        example = changed.unread() if kind == WORDS else ""
        if kind != WORDS or example or column.is_nominal:
            self._mismatch(
                f"column {as_given(column.name)} holds {kind} in this table, and {before}"
                f"{example * (self.mismatch == 'raise')}",
                "what cannot be read is taken as missing",
            )
        return changed

    def _places_of_dates(self):
        """Places of columns of which a transformer makes dates, though nobody says that their numbers are days."""
        takers = [(step, places) for _, step, places, _ in self._kept() if DATES in _reads(step)]
        return {place for step, places in takers if _reader(step)._guesses_days() for place in places}

    def _expects_others(self, place):
        """Whether all transformers that make dates of a column take others as missing, without a word on each."""
        takers = [_reader(step) for _, step, places, _ in self._kept() if place in places and DATES in _reads(step)]
        return self.mismatch == "raise" and all(taker.errors == "missing" for taker in takers)

    def _without_days(self, place, column, known):
        """A column of words, or of a mixture with them, whose numbers are not read as days."""
        parts = {part.kind: part for _, part in column.apart()}
        if NUMBERS not in parts:
            return column
        if len(parts) == 1:  # categories
            return parts[NUMBERS]
        if known == EMPTY and not any(_has_words(part) for kind, part in parts.items() if kind != NUMBERS):
            return _Changed(column, NUMBERS)
        if known == NUMBERS:
            return column
        if not self._expects_others(place):
            self._mismatch(
                f"column {as_given(column.name)} holds numbers beside words or dates, and no format of its transformer "
                "tells what they mean",
                "what cannot be read is taken as missing",
            )
        return _DatesInWords(column, WORDS)

    def _reads_of_columns(self):
        """`_reads` of all transformers of a column, by its place; empty if they differ."""
        reads = {}
        for _, step, places, _ in self._kept():
            own = _reads(step)
            for place in places:
                reads[place] = own if reads.get(place, own) == own else frozenset()
        return reads

    def _read_alike(self, place, *kinds):
        """Whether all transformers of a column treat these kinds alike."""
        takers = [step for _, step, places, _ in self._kept() if place in places]
        if not all(_reads(step).issuperset(kinds) for step in takers):
            return False
        return self.mismatch == "raise" or all(_reader(step).errors != "raise" for step in takers)

    def _check_places(self, table):
        """Raise unless there are as many unnamed columns as in the first table."""
        check_width(self, len(table.columns))
        if self._state.names is not None:
            warnings.warn(
                f"X does not have valid feature names, but {type(self).__name__} was fitted with feature names; its "
                "columns are taken in their order",
                UserWarning,
                stacklevel=2,
            )

    def _check_names(self, names):
        """Raise, or warn, for missing, new or repeated columns."""
        state = self._state
        if names == list(state.names):
            return
        counts, known = Counter(names), {*state.names, *self.unused}
        used = [name for name, kind in zip(state.names, state.kinds) if kind]
        _check_once(counts, used)
        absent = [name for name in used if name not in counts]
        if absent:
            self._mismatch(f"X has no column {', '.join(map(as_given, absent))}", "its values are taken as missing")
        new = [name for name in counts if name not in known]
        if new:
            self._mismatch(
                f"X has the column {', '.join(map(as_given, new))}, which the first table did not have",
                "it is left out",
            )

    def _mismatch(self, what, filled):
        if self.mismatch == "raise":
            raise ValueError(
                f"{what}; with mismatch='fill' this would only be a warning (set_params(mismatch='fill') of "
                f"{type(self).__name__}, set_params(columns__mismatch='fill') of a pipeline made by prepare)."
            )
        warnings.warn(f"{what}; {filled}", UserWarning, stacklevel=2)

    def _check_sizes(self, rows, columns):
        """Raise for infinite numbers, or warn and take them as missing; transformers cannot name columns."""
        with np.errstate(all="ignore"):
            if np.isfinite(rows.sum()) or not (infinite := np.isinf(rows)).any():
                return
        names = [as_given(column.name) for column, is_one in zip(columns, infinite.any(axis=0)) if is_one]
        self._mismatch(f"X contains infinity in column {', '.join(names)}", "it is taken as missing")
        rows[infinite] = np.nan

    def _group(self, columns, places, single, table, step):
        """Columns for a transformer, as an array or, for one of this package, as a table."""
        takes, reads = () if single else getattr(step, "_takes_tables", ()), _reads(step)
        encodes = takes == (WORDS,) and hasattr(self, "_made")  # older saved models may have other words
        chosen = [columns[place] for place in places]
        known = [self._state.kinds[place] for place in places]
        if table.array is not None and not (WORDS in known and reads == {WORDS} and None not in chosen):
            rows = table.array[:, list(places)]
            unnamed = [Column(place, None) for place in places]
            if not sparse.issparse(rows):
                if not (encodes and rows.dtype.kind in "iu"):
                    rows = rows.astype(np.float64, copy=False)
                self._check_sizes(rows, unnamed)
            elif np.isinf(rows.data).any():
                self._check_sizes(np.atleast_2d(abs(rows).nanmax(axis=0).toarray()), unnamed)
                rows.data[np.isinf(rows.data)] = np.nan
            return rows[:, 0] if single and not sparse.issparse(rows) else rows
        known = [NUMBERS if (kind, column.kind) == (EMPTY, NUMBERS) else kind for kind, column in zip(known, chosen)]
        if encodes:  # float64 makes large numbers equal
            known = [WORDS if _is_beyond_floats(column) else kind for kind, column in zip(known, chosen)]
        kinds = set(known) - {EMPTY}
        as_table = bool(kinds) and kinds.issubset(takes)
        others = takes and reads and any(column.kind not in (EMPTY, *kinds) for column in chosen)
        if as_table or (others and kinds <= reads):
            return Table(None, chosen, table.n_rows, None)
        if kinds == {NUMBERS}:
            rows = side_by_side([column.numbers() for column in chosen], table.n_rows)
            self._check_sizes(rows, chosen)
        elif kinds == {DATES}:
            rows = np.empty((table.n_rows, len(places)), dtype="datetime64[us]")
            for i, column in enumerate(chosen):
                rows[:, i] = column.dates()
        else:
            rows = np.empty((table.n_rows, len(places)), dtype=object)
            for i, (kind, column) in enumerate(zip(known, chosen)):
                if kind == NUMBERS:
                    rows[:, i] = column.numbers()
                else:
                    rows[:, i] = list(column.dates()) if kind == DATES else column.words()
        return rows[:, 0] if single else rows

    def _rows(self, X, first):
        return X

    @between_calls
    def _transform_rows(self, state, X):
        table = self._table(X)
        columns = self._columns(table, False)
        blocks = []
        for _, step, places, single in self._kept():
            rows = self._group(columns, places, single, table, step)
            if _is_of_base(step):  # rows need no copy here
                rows, _ = step._made_of(rows)
            elif type(step) is OnlinePipeline and hasattr(step, "transform"):  # its steps are fitted, as this is
                rows = transformed(step._parts(), rows)
            elif not is_left_out(step):
                rows = step.transform(rows)
            blocks.append(rows)
        return stacked(blocks, table.n_rows)

    # -- what has been learnt

    @property
    def transformers_(self) -> list[tuple]:
        """Fitted transformers, with their names and the positions of their columns."""
        self._check_is_fitted()
        return [(name, step, list(places)) for name, step, places, _ in self._fitted]

    @property
    def named_transformers_(self) -> Bunch:
        """The fitted transformers by name."""
        return Bunch(**{name: step for name, step, _ in self.transformers_})

    @property
    def kinds_(self) -> tuple:
        """Content of each column; "" if no transformer takes it."""
        self._check_is_fitted()
        return self._state.kinds

    def _names_out(self, state, names):
        out = []
        for name, step, places, _ in self._kept():
            own = names[list(places)]
            if not is_left_out(step):
                if not hasattr(step, "get_feature_names_out"):
                    raise AttributeError(f"the transformer {name!r}, {type(step).__name__}, has no names of columns.")
                own = step.get_feature_names_out(own)
            out += [(name, column) for column in own]
        times = Counter(column for _, column in out)
        verbose = self.verbose_feature_names_out
        names = [f"{name}__{column}" if verbose or times[column] > 1 else column for name, column in out]
        return list(_distinct(names))

    def _numeric_outputs(self):
        found, first = [], 0
        is_dense = getattr(self, "_is_dense", (False,) * len(self._fitted))  # models of version 1.0.0rc1 lack it
        for (_, step, places, _), width, dense in zip(self._fitted, self._widths, is_dense):
            own = np.empty(0, dtype=np.intp)
            holds_numbers = [self._state.kinds[place] in (NUMBERS, EMPTY) for place in places]
            if is_left_out(step) or (isinstance(step, OneToOneFeatureMixin) and width == len(places)):
                own = np.flatnonzero(holds_numbers[:width])
            elif (known := numeric_outputs([step])) is not None:
                own = known
            elif dense and all(holds_numbers):  # output of other packages' transformers for numbers
                own = np.arange(width)
            found.append(own + first)
            first += width
        return np.concatenate(found)

    @property
    def _assigned(self):
        """What must be equal in merged models."""
        own = {name: getattr(self, name) for name in ("mismatch", "verbose_feature_names_out")}
        steps, names = [], self._state.names
        for name, step, places, single in self._fitted:
            taken = places if names is None else [names[place] for place in places]
            is_kept = [] if step == "drop" else [taken, single]
            steps.append((name, step if is_left_out(step) else type(step).__name__, *is_kept))
        return {"transformers": steps, "columns": names and sorted(names, key=repr), **own}

    def _merged(self, transformers, base=None):
        result = super()._merged(transformers, base)
        result._fitted, names = [], self._state.names or names_in(self)
        for i, (name, _, places, single) in enumerate(self._fitted):
            steps, before = [other._fitted[i][1] for other in transformers], base and base._fitted[i][1]
            context = copy_context()
            context.run(column_names.set, [names[place] for place in places])
            result._fitted.append((name, context.run(merge_steps, name, steps, before), places, single))
        return result

    def _merge_states(self, states):
        kinds, columns = [], self._state.names or range(len(self._state.kinds))
        by_column = [dict(zip(state.names or columns, state.kinds)) for state in states]
        for place, column in enumerate(columns):
            known = [kind for kind in dict.fromkeys(own[column] for own in by_column) if kind != EMPTY]
            if len(known) > 1 and not self._read_alike(place, *known):
                raise ValueError(f"column {as_given(column)} holds {known[0]} in models[0], and {known[1]} in another.")
            kinds.append(known[0] if known else EMPTY)
        return self._state._replace(kinds=tuple(kinds))

    def _places_in(self, merged):
        own = [places_in(entry[1], other[1]) for entry, other in zip(self._fitted, merged._fitted)]
        if all(places is None for places in own):
            return None
        starts = np.cumsum([0, *self._widths])
        of_all = [np.arange(width) if places is None else places for places, width in zip(own, self._widths)]
        return np.concatenate([np.where(p < 0, -1, p + start) for p, start in zip(of_all, starts)])

    def _parts(self):
        return [step for _, step, _, _ in getattr(self, "_fitted", ()) if not is_left_out(step)]

    def _parts_given(self):
        """Like `_parts`; before the first row, what they will be made of."""
        if hasattr(self, "_fitted"):
            return self._parts()
        return [*(step for _, step, _ in self._entries()), self.remainder]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        kinds = "sparse", "allow_nan", "string", "categorical"
        of_all = kinds
        for _, step, _ in self._entries():
            if of_all and hasattr(step, "fit"):
                of_step = get_tags(step).input_tags
                of_all = tuple(kind for kind in of_all if getattr(of_step, kind))
        for kind in kinds:
            setattr(tags.input_tags, kind, kind in of_all)
        return tags


def _distinct(names):
    """Names; repeated ones get a number."""
    taken, seen = {*names}, set()
    for name in names:
        if name in seen:
            name = next(other for number in count(2) if (other := f"{name}_{number}") not in taken)
            taken.add(name)
        seen.add(name)
        yield name


def _is_beyond_floats(column):
    return column.kind == NUMBERS and 2**53 <= np.fmax.reduce(np.abs(column.numbers()), initial=0.0) < np.inf


def _has_words(column):
    """Whether any word is no mark of a missing value."""
    return not all(word is None or is_missing_word(word) for word in column.coded()[1])


def _check_once(counts, names):
    """Raise for a name of several columns."""
    for name in names:
        if counts[name] > 1:
            raise ValueError(f"X has {counts[name]} columns {as_given(name)}; names must differ.")


def _is_of_base(step):
    """Whether a transformer learns and transforms as `OnlineTransformer` does; what these methods call is enough."""
    own, base = type(step), OnlineTransformer
    return isinstance(step, base) and own.learn_transform is base.learn_transform and own.transform is base.transform


def _reads(step):
    """Kinds of columns that a transformer treats alike; if only words, its columns are always words."""
    return getattr(step, "_reads", frozenset())


def _reader(step):
    """The transformer that reads the columns: the step, or the first one of a pipeline."""
    parts = step._parts()
    return _reader(parts[0]) if parts else step


def _asks_for_weights(transformer):
    """Whether a transformer requests row weights."""
    if isinstance(transformer, str) or not get_config()["enable_metadata_routing"]:
        return False
    routing = get_routing_for_object(transformer)
    return any(routing.consumes(method, ["sample_weight"]) for method in ("fit", "partial_fit"))


def _check_transformer(parameter, step):
    if isinstance(step, str) and step in ("drop", "passthrough"):
        return
    if not (hasattr(step, "transform") and hasattr(step, "get_params")):
        allowed = "'drop', 'passthrough' or a transformer" + (" for each name" if parameter == "transformers" else "")
        raise InvalidParameterError(parameter, allowed, shown(step))


def _places(columns, X, table, name):
    """Places of a transformer's columns, and whether it takes a single one without a list."""
    if callable(columns):
        columns = columns(X)
    n = len(table.columns)
    places = {column: place for place, column in reversed(list(enumerate(table.names or ())))}
    if isinstance(columns, slice):
        first, last = columns.start, columns.stop
        first = _place(first, table, places, name) if isinstance(first, str) else first
        last = _place(last, table, places, name) + 1 if isinstance(last, str) else last
        return list(range(n))[first : last : columns.step], False
    single = isinstance(columns, str) or not hasattr(columns, "__len__")
    wanted = [columns] if single else list(columns)
    flags = {name for name in table.names or () if isinstance(name, bool | np.bool_)}
    is_mask = wanted and all(isinstance(column, bool | np.bool_) for column in wanted)
    are_names = is_mask and flags.issuperset(wanted) and len({*wanted}) == len(wanted) and not hasattr(columns, "dtype")
    if is_mask and not are_names:
        if len(wanted) != n:
            raise ValueError(f"the columns of {name!r} are a mask of {len(wanted)} entries; X has {n} columns.")
        return [place for place, chosen in enumerate(wanted) if chosen], False
    return [_place(column, table, places, name) for column in wanted], single


def place_of(name, places):
    """Place of the column with this name, or None."""
    try:
        return places.get(name)
    except TypeError:  # a list is no name
        return None


def _place(column, table, places, name):
    if (place := place_of(column, places)) is not None:
        return place
    n = len(table.columns)
    if isinstance(column, int | np.integer) and -n <= column < n:
        return int(column) % n
    known = f"its {n} columns have no names" if table.names is None else f"its columns are {shown(table.names)}"
    if table.names is None and isinstance(column, str):
        known += (
            ": give a table or, if an estimator such as BaggingRegressor makes an array of it, put this transformer "
            "before that one, as in make_pipeline(prepare(X), BaggingRegressor())"
        )
    raise ValueError(f"X has no column {as_given(column)}, which {name!r} of transformers is to take; {known}.")


def stacked(blocks: list, n_rows: int) -> Any:
    """Blocks of columns side by side: an array if all are, otherwise CSR."""
    blocks = [_two_dimensional(block) for block in blocks]
    if not blocks:
        return np.empty((n_rows, 0))
    if all(isinstance(block, np.ndarray) for block in blocks):
        return blocks[0] if len(blocks) == 1 else np.hstack(blocks)
    if len(blocks) == 1:
        return blocks[0] if type(blocks[0]) is sparse.csr_array else sparse.csr_array(blocks[0])
    return joined([block.tocsr() if sparse.issparse(block) else block for block in blocks])


def _two_dimensional(block):
    block = block if sparse.issparse(block) else np.asarray(block)
    return block.reshape(len(block), -1) if block.ndim != 2 else block
