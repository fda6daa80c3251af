"""What is stored for every column: a table, and views of its rows by name.

What fades of rare columns is stored in units that shrink; see `Columns.units`. Otherwise, fading would go through all
columns, while a row names only a few.
"""

from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from .fields import INPUTS, LIFT, PAST, WEIGHT, G
from .lifts import LARGEST, TINY, all_finite, positive
from .memory import LINE, array_in_lines, begins_in_line, can_be_written, check_room, copied_in_lines

APART = (*(field.name for field in INPUTS if field.seldom), LIFT.name)
MOST_ROOM = 1.34  # largest factor by which columns may grow to start at cache lines
COPIED_AT_ONCE = 2**15  # numbers that are copied at once, so that caches hold them
FEW = 2**12  # number of columns below which rows need not be sparse
LAYOUT = "table", "shared", "per_head", "n_heads", "sharing"  # what columns consist of
OWN = frozenset({*LAYOUT, "units", "apart"})  # attributes that are not fields
SUMS = tuple(field.name for field in (*INPUTS, G) if field.fades)
HAVE_UNITS = (*SUMS, WEIGHT.name, PAST.name)
OF_SUMS, OF_WEIGHTS, OF_PAST, IN_PAST, AS_THEY_ARE = range(5)  # indices of `Columns.units`
PLAIN = (1.0, 1.0, 1.0, 0.0, 0.0)


def smallest_unit(t, averaged, c):
    """Least unit of fading values at which a row of weight ``c`` leaves all in range.

    Sums over heavy rows have less room.
    """
    t += c
    return min(1.0, 2.0**-300 * max(1.0, 2.0**-100 * (averaged + t + c * t)))


@lru_cache
def rows_of_fields(shared, per_head, n_heads, sharing):
    """Rows of each field in a table of columns, as ranges by name."""
    rows, stop = {}, 0
    for name in shared + per_head:
        count = 1 if name in shared else n_heads // sharing if name == "G" else n_heads
        rows[name] = range(stop, stop + count)
        stop += count
    return MappingProxyType(rows)


@lru_cache
def count_rows(*layout):
    """Number of rows of a table of columns with all fields."""
    return sum(map(len, rows_of_fields(*layout).values()))


@lru_cache
def places_of_fields(n_apart, shared, *layout):
    """Places of fields, by name: whether apart, and the row, or slice of rows, there."""
    places = {}
    for name, rows in rows_of_fields(shared, *layout).items():
        is_apart = rows.start < n_apart
        first = rows.start - (0 if is_apart else n_apart)
        places[name] = is_apart, first if name in shared else slice(first, first + len(rows))
    return places


def fields_apart(shared):
    """Fields that may be stored apart."""
    return tuple(name for name in APART if name in shared)


@lru_cache
def rows_apart(shared, n_rows):
    """Numbers of rows stored apart, and of the others, in a table whose columns are contiguous.

    The lift is apart if the others then take fewer cache lines.
    """
    n_apart = len(fields_apart(shared))
    return min(((n, _rounded(n_rows - n)) for n in (n_apart - 1, n_apart)), key=lambda rows: -(-rows[1] // LINE))


def _rounded(n_rows):
    """Number of rows, rounded up to whole or half cache lines if that takes little room."""
    rounded = (-(-n_rows // side) * side for side in (LINE, LINE // 2))
    return next((n for n in rounded if n <= MOST_ROOM * n_rows), n_rows)


@lru_cache
def units_of_rows(*layout):
    """Index in `Columns.units` of each row of a table; `IN_PAST` stands for none."""
    rows = rows_of_fields(*layout)
    which = np.full(count_rows(*layout), IN_PAST)
    for unit, names in {OF_SUMS: SUMS, OF_WEIGHTS: (WEIGHT.name,), OF_PAST: (PAST.name,)}.items():
        for name in names:
            which[rows.get(name, range(0))] = unit
    return which


@lru_cache
def first_in_units(*layout):
    """First row of a table that has a unit in `Columns.units`."""
    return int(np.argmax(units_of_rows(*layout) != IN_PAST))


def distinct(places, n):
    """Distinct places, all from 0 to ``n - 1``, in order."""
    if len(places) < n // 64:
        ordered = np.sort(places)  # np.unique takes ten times as long for few
        return ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))] if len(ordered) else ordered
    met = np.zeros(n, dtype=bool)
    met[places] = True
    return np.flatnonzero(met)


def renumbered(places, n):
    """Distinct places, as in `distinct`, and the number of each place among them."""
    found = distinct(places, n)
    if len(places) < n // 64:
        return found, np.searchsorted(found, places)
    number = np.empty(n, dtype=np.int32 if n < 2**31 else np.int64)
    number[found] = np.arange(len(found), dtype=number.dtype)
    return found, number[places]


class Columns:
    """What is stored for every column: the rows of a table, and views of these by name.

    The table is in C order, which suits dense rows, or in Fortran order, which suits sparse rows, because all data of a
    column are contiguous. In Fortran order, fields that few columns have are stored apart (see `arrange`). No result
    depends on the order.

    Parameters
    ----------
    table : ndarray of shape (n_fields, n_columns)
        A row for each shared field, then ``n_heads`` rows for each of the others (for ``G``, ``n_heads / sharing``). If
        the first rows are stored apart, the table lacks these, and may have rows of zeros at the end.
    shared : tuple of str
        The fields that all heads share, in order. Those that a rule does not need are absent, and None as attributes.
    per_head : tuple of str
        The fields below them, with a row for each head.
    n_heads : int
        Number of heads.
    sharing : int
        Number of adjacent heads that share one ``G``.
    units : tuple of float
        Factors of what the table stores for rare columns: of sums, of weights, and of ``past``, to which the weight in
        the table times the fourth number is then added. The fifth is the number of columns at the end (0 or 1) that
        have no units, though they may not be frequent.
    apart : ndarray of shape (n_apart, n_columns), optional
        The first rows, if they are stored apart: fields that most columns have as before the first row.

    Notes
    -----
    Each field is an attribute: a view of shape (n_columns,) or (n_heads, n_columns), or None if it is absent. `fields`
    says what the fields of features stand for, and the rule of a family what those of heads do. If columns have units,
    the views of what fades are read-only, of a copy without units.
    """

    def __getattr__(self, name: str) -> Any:
        """View of a field. The first use makes all of them, which is faster than some one by one."""
        if name.startswith("_") or name in OWN:
            raise AttributeError(name)
        is_plain = self.is_plain
        if name in HAVE_UNITS and not is_plain:
            return getattr(self.plain(), name)
        views, tables = vars(self), (self.table, self.apart)
        for field, (is_apart, rows) in self._places_of_fields().items():
            if is_plain or field not in HAVE_UNITS:
                views.setdefault(field, tables[is_apart][rows])
        return views.setdefault(name, None)

    def _places_of_fields(self):
        return places_of_fields(len(self.apart), self.shared, self.per_head, self.n_heads, self.sharing)

    def kept(self, name):
        """View of a field as it is stored; None if it is absent."""
        is_apart, rows = self._places_of_fields().get(name, (False, None))
        return None if rows is None else (self.apart if is_apart else self.table)[rows]

    def __init__(self, table, shared, per_head, n_heads, sharing=1, units=PLAIN, apart=None):
        self.table, self.shared, self.per_head, self.n_heads, self.sharing = table, shared, per_head, n_heads, sharing
        self.units, self.apart = units, table[:0] if apart is None else apart

    @classmethod
    def new(cls, rule, n_columns, like=None):
        """Columns before the first row, with the fields of the rule and of ``like``."""
        shared, per_head = rule.fields, rule.fields_per_head
        if like is not None:
            names = [field.name for field in rule.FIELDS]
            shared = tuple(sorted({*like.shared, *shared}, key=names.index))
            per_head = tuple(sorted({*like.per_head, *per_head}, key=names.index))
        layout = (shared, per_head, rule.n_heads, rule.sharing)
        n_rows = count_rows(*layout)
        check_room(
            (n_rows, n_columns),
            2,  # to undo or save it
            f"a model of {rule.n_heads:,} weight vectors, one for each class or output, of {n_columns:,} columns",
            "Every column has room for each: take fewer columns, such as by n_features of a hasher, or fewer classes.",
        )
        apart = None
        if rule.lazy and n_columns >= FEW:  # rows of so many columns are sparse, so this saves them a copy
            n_apart, n_others = rows_apart(shared, n_rows)
            apart, table = np.zeros((n_apart, n_columns)), array_in_lines((n_others, n_columns), "F")
        else:
            table = array_in_lines((n_rows, n_columns), "C")
        columns = cls(table, *layout, apart=apart)
        for field in columns.declared(rule):
            if field.initial != 0.0:
                getattr(columns, field.name)[...] = field.initial
        if rule.selective and rule.intercept:
            columns.frequent[-1] = 1.0
        columns._set_bounds(rule)
        return columns

    def _set_bounds(self, rule):
        """Store the rule's bounds on feature weights, if any; the intercept has none."""
        if not rule.bounded:
            return
        box, n_features = rule.constraint, self.lift.size - rule.intercept
        for values, bounds, none in ((self.low, box.low, -LARGEST), (self.high, box.high, LARGEST)):
            values[:n_features] = np.clip(np.resize(bounds, n_features), -LARGEST, LARGEST)
            values[n_features:] = none

    def for_rule(self, rule):
        """Copy with the additional fields that another rule needs, and its bounds."""
        columns = Columns.new(rule, self.lift.size, like=self)
        for name in self.names:
            getattr(columns, name)[...] = getattr(self, name)
        columns._set_bounds(rule)
        return columns

    def declared(self, rule):
        """Declarations of the fields that are present."""
        return [field for field in rule.FIELDS if field.name in self.names]

    @property
    def names(self):
        """All fields, in order."""
        return self.shared + self.per_head

    def ranges(self):
        """Rows of each field in the table."""
        return rows_of_fields(self.shared, self.per_head, self.n_heads, self.sharing)

    def rows(self):
        """First row of each field in the table."""
        return {name: rows.start for name, rows in self.ranges().items()}

    def rows_of(self, heads):
        """Rows of the table for some heads; of those that share a ``G``, all or none."""
        own = dict.fromkeys(self.per_head, heads) | {"G": heads[:: self.sharing] // self.sharing}
        rows = np.concatenate([row + own.get(name, np.zeros(1, int)) for name, row in self.rows().items()])
        return rows[len(self.apart) :] - len(self.apart)

    def with_table(self, table, n_heads=None, units=PLAIN, apart=None):
        """Columns with the same fields and another table, for all or some of the heads."""
        n_heads = self.n_heads if n_heads is None else n_heads
        return Columns(table, self.shared, self.per_head, n_heads, self.sharing, units, apart)

    def whole(self, places=slice(None)):
        """All rows of some columns: a view of the table if that holds just them, else a copy."""
        return self._joined(self.table[:, places], self.apart[:, places])

    def _joined(self, table, apart):
        n_others = self.n_rows - len(apart)
        return np.concatenate([apart, table[:n_others]]) if len(apart) or len(table) > n_others else table

    @property
    def n_rows(self):
        """Number of rows of a table with all fields."""
        return count_rows(self.shared, self.per_head, self.n_heads, self.sharing)

    def of_heads(self, heads):
        """Copy for some heads; of those that share a ``G``, all or none."""
        table = np.concatenate([self.apart, self.table[self.rows_of(heads)]])
        own = self.with_table(table, len(heads), self.units)
        own.arrange("C" if self.table.flags.c_contiguous else "F")
        return own

    def put_heads(self, heads, subset):
        """Put back what `of_heads` returned, with what all heads share."""
        whole, n_apart = subset.whole(), len(self.apart)
        self.apart[:] = whole[:n_apart]
        self.table[self.rows_of(heads)] = whole[n_apart:]
        self.set_units(subset.units)

    def __getstate__(self):  # without the views, which would come back as separate arrays
        units = {} if self.is_plain else {"units": self.units}
        apart = {"apart": self.apart} if len(self.apart) else {}
        return {**{name: getattr(self, name) for name in LAYOUT}, **apart, **units}

    def __setstate__(self, state):
        state = dict(state)
        units = state.pop("units", PLAIN)
        _check_saved(**state)
        _check_units(units)
        ordered = _in_order(**state)
        self.__init__(**ordered, units=units)
        if self.table is not state["table"]:
            self.fold_deviations()
            self.table.flags.writeable = can_be_written(state["table"])  # as the saved table

    # -- units of what fades

    @property
    def is_plain(self):
        """Whether the table is plain, without units."""
        return self.units[:AS_THEY_ARE] == PLAIN[:AS_THEY_ARE]

    def set_units(self, units):
        """Take over other units of the table, as compiled code leaves them."""
        self.units = units
        for name in {*HAVE_UNITS, "_plain"} & vars(self).keys():
            del vars(self)[name]

    def plain(self):
        """These columns, or a read-only copy, without units."""
        if self.is_plain:
            return self
        if "_plain" not in vars(self):
            copy = self.copy()
            copy.settle()
            copy.table.flags.writeable = False
            self._plain = copy
        return self._plain

    def in_units(self):
        """Places of the columns that are in units in the table."""
        return np.zeros(0, dtype=np.intp) if self.is_plain else np.flatnonzero(self.largest)

    def settle(self):
        """Make the table plain, without units."""
        if len(index := self.in_units()):
            self.put_whole(index, self.take(index).table)
        self.set_units((*PLAIN[:AS_THEY_ARE], self.units[AS_THEY_ARE]))

    def _into_plain(self, columns, rare):
        """Remove units from ``columns``, some of these, with nothing apart; ``rare`` marks those with units."""
        first = first_in_units(self.shared, self.per_head, self.n_heads, self.sharing)
        in_units, past, others = columns.table[first:], columns.kept("past"), np.flatnonzero(~rare)
        if past is not None:
            moved = columns.kept("weight") * self.units[IN_PAST]
            moved[:, others] = 0.0
        as_they_are = in_units[:, others]
        with np.errstate(under="ignore"):  # in others, which are put back
            in_units *= self._unit_of_each_row()[first:]
        in_units[:, others] = as_they_are
        if past is not None:
            past += moved
        if columns.kept("G") is not None:
            np.maximum(columns.kept("G"), TINY, out=columns.kept("G"))

    def _into_units(self, columns, rare):
        """The inverse of `_into_plain`."""
        columns.table /= np.where(rare, self._unit_of_each_row(), 1.0)
        if columns.kept("past") is not None:
            moved = columns.kept("weight") * (self.units[IN_PAST] / self.units[OF_PAST])
            columns.kept("past")[:] -= np.where(rare, moved, 0.0)

    def _unit_of_each_row(self):
        """Factors of the rows of the table, of shape (n_fields, 1)."""
        which = units_of_rows(self.shared, self.per_head, self.n_heads, self.sharing)
        return np.array((*self.units[:IN_PAST], 1.0))[which][:, None]

    def _rare(self, index, columns):
        """Which of some columns, at the places ``index``, have units."""
        rare = np.ones(len(index), dtype=bool) if columns.frequent is None else columns.frequent == 0.0
        return rare & (index < self.table.shape[1] - int(self.units[AS_THEY_ARE]))

    def places(self):
        """An integer for each column, all 0, with which compiled loops mark columns, and which they clear again."""
        if "_places" not in vars(self):
            self._places = np.zeros(self.table.shape[1], np.int32)
        return self._places

    def copy(self):
        """Copy of all columns."""
        by_column = self.table.flags.f_contiguous
        table = copied_in_lines(self.table, "F") if by_column else self.table.copy()
        return self.with_table(table, units=self.units, apart=np.array(self.apart))

    def take(self, index):
        """Copy of the columns at ``index``, without units."""
        index, n_apart = np.asarray(index), len(self.apart)
        whole = np.empty((self.n_rows, len(index)))  # sums go along rows
        step = max(1, COPIED_AT_ONCE // len(whole))
        for start in range(0, len(index), step):
            some = slice(start, start + step)
            table, whole[:n_apart, some] = self.take_kept(index[some])
            whole[n_apart:, some] = table[: len(whole) - n_apart]
        subset = self.with_table(whole)
        if not self.is_plain:
            self._into_plain(subset, self._rare(index, subset))
        return subset

    def put(self, index, subset):
        """Write ``subset`` back to the columns at ``index``."""
        if not self.is_plain:
            subset = subset.copy()
            self._into_units(subset, self._rare(np.asarray(index), subset))
        self.put_whole(index, subset.table)

    def take_kept(self, index):
        """Copy of the columns at ``index`` as they are stored: in the table, and apart."""
        by_column = self.table.flags.f_contiguous
        table = self.table.T.take(index, axis=0).T if by_column else self.table.take(index, axis=1)
        return table, self.apart.take(index, axis=1)

    def put_kept(self, index, table, apart):
        """Put back what `take_kept` returned."""
        self.put_whole(index, self._joined(table, apart))

    def put_whole(self, index, whole):
        """Write all rows of the columns at ``index``."""
        n_apart = len(self.apart)
        self.apart[:, index] = whole[:n_apart]
        self.table[: len(whole) - n_apart].T[index] = whole[n_apart:].T

    def arrange(self, order):
        """Bring the table into the order "C" or "F".

        In order "F", it starts at a cache line, and what few columns have is apart, so that a column takes fewer lines.
        In order "C", all is together, without units.
        """
        flags, rows = self.table.flags, (len(self.apart), len(self.table))
        if order == "C":
            if not self.is_plain:
                self.settle()
            if not flags.c_contiguous or rows != (0, self.n_rows):  # a single column is in both orders
                self._become(copied_in_lines(self.whole(), "C"), self.units)
            return
        n_apart, n_others = rows_apart(self.shared, self.n_rows)
        if not (flags.f_contiguous and begins_in_line(self.table) and rows == (n_apart, n_others)):
            whole, table = self.whole(), array_in_lines((n_others, self.table.shape[1]), "F")
            table[: len(whole) - n_apart] = whole[n_apart:]
            self._become(table, self.units, np.array(whole[:n_apart]))

    def _become(self, table, units, apart=None):
        """Take over another table of the same fields, in one step because a fork may come between two."""
        self.__dict__ = vars(self.with_table(table, units=units, apart=apart))

    def restore(self, before):
        """Return to what a `copy` of these columns has stored."""
        self._become(before.table, before.units, before.apart)

    def fold_deviations(self):
        """Move deviations of columns that are not frequent into ``largest``."""
        if self.deviation is None or self.frequent is None:
            return
        with np.errstate(all="ignore"):
            shown = np.minimum(self.deviation / self.lift, LARGEST)
        is_frequent = self.frequent > 0
        self.largest[:] = np.where(is_frequent, self.largest, np.maximum(self.largest, shown))
        self.deviation[:] = np.where(is_frequent, self.deviation, 0.0)

    def finite(self):
        """Whether all numbers are in the range of float64."""
        return all_finite(self.table) and all_finite(self.apart)

    def relift(self, rule, index, new):
        """Change the lifts of the columns at ``index``, and rescale their fields.

        A lift rises only while its column has only zeros; see `lifts`.
        """
        subset = self.take(index)
        ratio = np.minimum(new / subset.lift, 1.0)
        subset.lift[:] = new
        powers = {field.name: field.lift_power(rule) for field in self.declared(rule)}
        subset.multiply({name: ratio**power for name, power in powers.items() if power})
        self.put(index, subset)

    def multiply(self, factors, moved=0.0):
        """Multiply fields by ``factors``, by name, after subtracting ``moved`` times the weights from ``past``.

        ``G`` stays positive.
        """
        if moved:
            self.settle()
            self.past -= moved * self.weight
        for name, factor in factors.items():
            values = self.kept(name)
            values *= factor
            if name == "G":
                np.maximum(values, TINY, out=values)

    def ends(self, factor, places=slice(None)):
        """Bounds of ``factor`` times the weights in raw units, of columns at some places; infinite if there is none."""
        factor = np.minimum(factor, LARGEST)  # so that a bound of 0 stays 0
        low, high = self.low[places], self.high[places]
        return np.where(low > -LARGEST, low * factor, -np.inf), np.where(high < LARGEST, high * factor, np.inf)

    def scale_but_for_time(self, rule, t):
        """Scale ``s``, lifted, times ``time_factor(t)``: constant while no row names a column."""
        if rule.normalization == "max":
            if not rule.centred:
                return self.largest * self.lift
            if self.frequent is None:
                return self.deviation
            return np.where(self.frequent, self.deviation, self.largest * self.lift)
        if rule.normalization == "rms":
            return np.sqrt(self.squares)
        if rule.normalization == "auto":
            rows = np.where(self.frequent, t, self.tally)
            divisor = positive(rows)
            root = np.sqrt(divisor)
            root *= np.sqrt(root)
            size = np.sqrt(self.squares / root)
            # Tallies may fade to 0 before squares do: a column whose rows are forgotten is like one without rows.
            return size if divisor is rows else np.where(rows > 0, size, 0.0)
        return self.lift

    def size(self, rule, t):
        """Scale ``s``, lifted, after rows of total weight ``t``."""
        return self.scale_but_for_time(rule, t) / rule.time_factor(max(t, TINY))


def _in_order(table, shared, per_head, n_heads, sharing, apart=None):
    """Arguments of `Columns` with fields in the current order, and rows apart only if they would be now."""
    layout = {"per_head": per_head, "n_heads": n_heads, "sharing": sharing}
    first, n_rows = fields_apart(shared), count_rows(shared, *layout.values())
    is_as_now = apart is None or (len(apart), len(table)) == rows_apart(shared, n_rows)
    if is_as_now and shared[: len(first)] == first:
        return {"table": table, "shared": shared, "apart": apart, **layout}
    names = (*first, *(name for name in shared if name not in first))
    rows = np.arange(n_rows)
    rows[: len(names)] = [shared.index(name) for name in names]
    whole = table if apart is None else np.concatenate([apart, table])
    return {"table": np.asarray(whole[rows], order="F" if table.flags.f_contiguous else "C"), "shared": names, **layout}


def _check_units(units):
    """Raise unless units are valid."""
    if not (isinstance(units, tuple) and len(units) == len(PLAIN) and all(type(unit) is float for unit in units)):
        raise ValueError(f"columns cannot have units={units!r:.60}; they are {len(PLAIN)} numbers")
    *positive_ones, in_past, as_they_are = units
    if not (all(0.0 < unit <= 1.0 for unit in positive_ones) and abs(in_past) <= LARGEST and as_they_are in (0.0, 1.0)):
        raise ValueError(f"columns cannot have units={units!r:.100}")


def _check_saved(table, shared, per_head, n_heads, sharing, apart=None):
    """Raise for what cannot be made into views; a rule's needs and ranges of values are checked later."""
    for part in (table,) if apart is None else (table, apart):
        if type(part) not in (np.ndarray, np.memmap) or part.dtype != np.float64 or part.ndim != 2:
            got = f"an array of {part.dtype} of shape {part.shape}" if isinstance(part, np.ndarray) else type(part)
            raise ValueError(f"columns needs a table of float64 of two dimensions; got {got}")
    for name, value in {"n_heads": n_heads, "sharing": sharing}.items():
        if type(value) is not int or not 1 <= value <= len(table) or n_heads % value:
            raise ValueError(f"columns cannot have {name}={value!r:.60}")
    for names in (shared, per_head):
        if not (isinstance(names, tuple) and all(isinstance(name, str) for name in names)):
            raise ValueError(f"columns cannot have fields {names!r:.60}; they are a tuple of names")
    names = shared + per_head
    hidden = [name for name in names if hasattr(Columns, name) or name[:1] == "_" or not name.isidentifier()]
    if hidden or len(set(names)) < len(names) or not {"lift", "largest"} <= set(shared) or "weight" not in per_head:
        raise ValueError(f"columns cannot have the fields {names!r:.200}")
    n_rows, n_apart = count_rows(shared, per_head, n_heads, sharing), 0 if apart is None else len(apart)
    if apart is not None and not (0 < n_apart <= len(fields_apart(shared)) and apart.shape[1] == table.shape[1]):
        raise ValueError(f"columns has {n_apart} rows apart for the fields {names!r:.200}")
    n_others = n_rows - n_apart
    in_order = table.flags.f_contiguous or (table.flags.c_contiguous and len(table) == n_others)
    if not (in_order and n_others <= len(table) < n_others + LINE):
        raise ValueError(f"columns has a table of shape {table.shape}; it must have {n_others} rows, one after another")
