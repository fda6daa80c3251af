"""Columns that begin to vary late in a stream: what they have had since, of which later cells take their cuts."""

from __future__ import annotations

import numpy as np

# What is known of all columns is a list of arrays. That of a column that has varied from the start is empty. Of others
# it holds the value that the column had all the time, NaN where it was missing, and then, from the first row with
# another value on, what the column has had since.


def begun(rows, n_still):
    """What is known after the first rows: late are columns that had one value, or none, in the first ``n_still``."""
    known = []
    for column in rows.T:
        since = _since(column)
        varied = len(column) + 1 - len(since)  # rows before the column varied
        known.append(since if len(since) == 1 or varied >= n_still else np.empty(0))
    return known


def waiting(known, most):
    """Places of the columns that are late, of which there are no ``most`` values yet."""
    return np.flatnonzero([0 < len(values) <= most for values in known])


def gone_on(known, places, rows, most):
    """What is known after more rows, given as the columns of these ``places``: of each ``most`` values at most."""
    known = list(known)
    first = np.array([known[place][0] for place in places])
    has_varied = np.array([len(known[place]) > 1 for place in places])
    varies = ((rows != first) & ~np.isnan(rows)).any(axis=0)  # also from a first NaN
    for i in np.flatnonzero(has_varied | varies):  # as most of the others stay as they are
        place, column = places[i], rows[:, i]
        values = known[place]
        more = np.concatenate([values, column])
        known[place] = (more if len(values) > 1 else _since(more))[: max(len(values), most + 1)]
    return known


def joined(parts, start):
    """What several models know together that went on from what knew ``start``, None for nothing."""
    found = []
    for i, of_all in enumerate(zip(*parts)):
        before = np.empty(0) if start is None else start[i]
        if any(len(values) == 0 for values in of_all):
            found.append(np.empty(0))
            continue
        still = np.unique([values[0] for values in of_all])  # of which NaN is the last one
        still = still[~np.isnan(still)] if len(still) > 1 else still
        rest = [values[max(1, len(before)) :] for values in of_all]
        found.append(np.concatenate([still, before[1:], *rest]))
    return found


def check(known, n_columns):
    """Raise unless this is known of so many columns; of none before there is enough to tell."""
    good = isinstance(known, list) and len(known) in (0, n_columns)
    for values in known if good else ():
        good = good and isinstance(values, np.ndarray) and values.dtype == np.float64 and values.ndim == 1
        good = good and not np.isinf(values).any()
    if not good:
        raise ValueError("_late is not what late columns have had")


def _since(column):
    """The first value of a column, NaN where all are missing, and what there is from the first other one on."""
    there = np.flatnonzero(~np.isnan(column))
    if not len(there):
        return np.array([np.nan])
    first = column[there[0]]
    others = there[column[there] != first]
    return np.append(first, column[others[0] :] if len(others) else column[:0])
