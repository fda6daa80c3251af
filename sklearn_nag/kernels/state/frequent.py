"""Frequent columns, which are nonzero in more than half of the rows; selective rules centre only these.

Subtracting a mean from others would only move most of their values away from 0, and leave no zeros in sparse rows.
Every row visits the frequent columns, with 0 if a sparse row does not name them, so storage makes no difference. There
are few: summed over all columns, the share of rows in which a column is nonzero is the mean number of entries of a row.
"""

import functools

import numpy as np

from .lifts import positive

BEGINS = 0.5  # a column becomes frequent once it is nonzero in more than this share of the rows, or that of `begins`
ENDS = 0.625  # and becomes rare once it is 0 in more than this share; apart, so that few go to and fro
SURE = 2.0  # distance above `BEGINS` if rows fade, times the root of how many rows count
MOST = 0.9  # share that is enough if next to no rows count


@functools.lru_cache
def begins(half_life):
    """Share of the rows in which a column must be nonzero to become frequent, if rows count half after a half-life.

    A short one leaves few rows; by chance, or because of their order in time, most of these may name a column for a
    while. Each change to frequent and back takes as long as many rows.
    """
    if half_life == np.inf:
        return BEGINS
    share = -np.expm1(-np.log(2.0) / half_life)  # of the latest row: 1 over how many count
    return float(min(BEGINS + SURE * np.sqrt(share), MOST))


def changes(frequent, tally, t, begins):
    """Whether columns become frequent or rare, by their ``tally`` after rows of total weight ``t``.

    They become frequent above the share ``begins`` of the rows.
    """
    return tally > np.where(frequent, ENDS, begins) * t


def switch(rule, columns, index, t):
    """Make frequent columns rare, and rare ones frequent.

    What is stored for a column is then relative to 0 or to its mean. If weights are sums of steps, the function stays
    the same: weights are converted to the new scale, and the intercept takes up what the mean adds.

    ``columns`` are all or some columns, the intercept last; those at ``index`` switch. ``rule`` must be selective, and
    ``t`` is the total weight of the rows so far.
    """
    subset = columns.take(index)
    begins = subset.frequent == 0
    before = subset.size(rule, t)
    if t > 0:
        shift = subset.sum + t * subset.origin
        mean = shift / t
        if subset.least_square is not None:
            subset.least_square[:] = 0.0
        if subset.squares is not None:
            apart = t * mean * mean
            subset.squares[:] = np.maximum(subset.squares + np.where(begins, -apart, apart), 0.0)
        subset.sum[:], subset.origin[:] = shift, 0.0
        if subset.deviation is not None:
            subset.deviation[:] = np.maximum(subset.deviation, subset.largest * subset.lift)
    subset.tally[:] = t - subset.tally
    subset.frequent[:] = begins
    subset.fold_deviations()
    if t > 0 and rule.weight_power:
        after = subset.size(rule, t)
        kept = (before > 0) & (after > 0)
        ratio = np.where(kept, after / positive(before), 1.0)
        move = np.where(kept, mean, 0.0)
        for _ in range(rule.weight_power):
            move = move / positive(after)
        move = np.where(begins, move, -move)
        for name in {"weight", "past"}.intersection(columns.names):
            values = getattr(subset, name)
            for _ in range(rule.weight_power):
                values *= ratio
            if rule.intercept:
                getattr(columns, name)[:, -1] += (values * move).sum(axis=1)
    columns.put(index, subset)
