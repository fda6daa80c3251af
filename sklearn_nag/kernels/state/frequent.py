"""Frequent columns: those that are not 0 in more than half of the rows, which alone are centred by selective rules.

To subtract a mean from the others would only move most of their values away from 0, and would leave no zeros in sparse
rows. Frequent columns are visited in every row, with 0 where a sparse row does not name them, so how rows are stored
makes no difference. There are few of them: the sum over all columns of the share of rows in which they are not 0 is the
mean number of entries of a row.
"""

import functools

import numpy as np

from .lifts import positive

BEGINS = 0.5  # a column becomes frequent once it is not 0 in more than this share of the rows, or that of `begins`
ENDS = 0.625  # and stops to be when it is 0 in more than this share; apart, so that few go to and fro
SURE = 2.0  # how far above `BEGINS` that is where rows fade, over one root of how many rows count
MOST = 0.9  # share that is enough where next to none count


@functools.lru_cache
def begins(half_life):
    """In which share of the rows a column that is not 0 becomes frequent, where rows count half after a half-life.

    Of the few rows that a short one leaves, a column may be named in most for a while by chance, or as rows come in the
    order of time. Each time that it begins and stops to be frequent takes as long as many rows.
    """
    if half_life == np.inf:
        return BEGINS
    share = -np.expm1(-np.log(2.0) / half_life)  # of the latest row, one over how many count
    return float(min(BEGINS + SURE * np.sqrt(share), MOST))


def changes(frequent, tally, t, begins):
    """Whether columns begin or stop to be frequent, by their ``tally`` after rows of total weight ``t``.

    They begin above the share ``begins`` of the rows.
    """
    return tally > np.where(frequent, ENDS, begins) * t


def switch(rule, columns, index, t):
    """Make frequent columns rare, and rare ones frequent.

    What is known of a column is then counted from 0 or from its mean. Where weights are steps added up, the function
    stays the same: weights take the unit of the new scale, and the intercept takes what the mean adds.

    ``columns`` are all or some, of which those at ``index`` switch, with the intercept's as the last one; ``rule`` is
    selective, and ``t`` is the total weight of the rows so far.
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
