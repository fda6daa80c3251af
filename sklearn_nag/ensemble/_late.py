"""Columns that begin to vary late in a stream: their values since then, by which later cells cut."""

import numpy as np

# What is known is a list with an array per column. It is empty for a column that has varied from the start. Otherwise
# it has the value that the column had all the time, NaN if it was missing, and then the values from the first row with
# another value on.


def begun(rows, n_still):
    """What is known after the first rows; late columns had one value, or none, in the first ``n_still``."""
    known = []
    for column in rows.T:
        since = _since(column)
        varied = len(column) + 1 - len(since)  # rows before the column varied
        known.append(since if len(since) == 1 or varied >= n_still else np.empty(0))
    return known


def waiting(known, most):
    """Places of the late columns with fewer than ``most`` values so far."""
    return np.flatnonzero([0 < len(values) <= most for values in known])


def gone_on(known, places, rows, most):
    """What is known after more rows, the columns at ``places``; at most ``most`` values of each are kept."""
    known = list(known)
    first = np.array([known[place][0] for place in places])
    has_varied = np.array([len(known[place]) > 1 for place in places])
    varies = ((rows != first) & ~np.isnan(rows)).any(axis=0)  # also if the first value is NaN
    for i in np.flatnonzero(has_varied | varies):  # most of the others stay as they are
        place, column = places[i], rows[:, i]
        values = known[place]
        more = np.concatenate([values, column])
        known[place] = (more if len(values) > 1 else _since(more))[: max(len(values), most + 1)]
    return known


def joined(parts, start):
    """What several models know together that went on from ``start``, None for nothing."""
    found = []
    for i, of_all in enumerate(zip(*parts)):
        before = np.empty(0) if start is None else start[i]
        if any(len(values) == 0 for values in of_all):
            found.append(np.empty(0))
            continue
        still = np.unique([values[0] for values in of_all])  # NaN is the last one
        still = still[~np.isnan(still)] if len(still) > 1 else still
        rest = [values[max(1, len(before)) :] for values in of_all]
        found.append(np.concatenate([still, before[1:], *rest]))
    return found


def check(known, n_columns):
    """Raise unless ``known`` is of this many columns, or of none while there is not enough to tell."""
    good = isinstance(known, list) and len(known) in (0, n_columns)
    for values in known if good else ():
        good = good and isinstance(values, np.ndarray) and values.dtype == np.float64 and values.ndim == 1
        good = good and not np.isinf(values).any()
    if not good:
        raise ValueError("_late is not what late columns have had")


def _since(column):
    """The first value of a column, NaN if all are missing, then all values from the first other one on."""
    there = np.flatnonzero(~np.isnan(column))
    if not len(there):
        return np.array([np.nan])
    first = column[there[0]]
    others = there[column[there] != first]
    return np.append(first, column[others[0] :] if len(others) else column[:0])
