"""The definition of what is played of what rows have predicted; `numba_played` has it as compiled loops.

None of it changes what is learnt, as slopes are those of the latest weights.
"""

from __future__ import annotations

import numpy as np

from ..state.lifts import LARGEST, positive


def play_rows(state, loss, rows, c, latest, behind, played):
    """Fill ``played`` for the rows of a segment; count what experts, latest weights and their average lose.

    Parameters
    ----------
    state : State
        Its ``mixture``, ``trust`` and ``due`` change.
    loss : object
        The loss.
    rows : TargetRows
        Of each head.
    c : ndarray of shape (n_rows,)
        Weights of the rows.
    latest, behind : ndarray of shape (n_rows, n_heads)
        Predictions by the latest weights, and how much less those by the average are.
    played : ndarray of shape (n_rows, n_played)
        Predictions, held within their range.
    """
    start = 0
    while start < len(c):
        some = slice(start, start + state.rest_of_round() if state.rule.judged else len(c))
        of_some = [values[some] for values in (c, latest, behind)]
        played[some] = _play_round(state, loss, rows.each(lambda values, some=some: values[some]), *of_some)
        start = some.stop


def _play_round(state, loss, rows, c, latest, behind):
    """As `play_rows`, of rows that are played by the same share of the average; returns what is played."""
    rule = state.rule
    sets = latest, latest - behind, latest - (1.0 - state.share_of_latest()) * behind
    if rule.n_played < rule.n_heads:
        losses = _losses(loss, _held(sets[2], rows, rule), rows, c, rule)
        shares = np.swapaxes(state.mixture.play(losses), 1, 2)
        sets = (np.add.reduce(shares * _by_set(values, rule), axis=1) for values in sets)
    latest, average, mixed = (_held(values, rows, rule) for values in sets)
    if rule.judged:
        losses = _losses(loss, np.hstack([latest, average]), rows, c, rule)
        state.judge(losses.reshape(len(c), rule.n_groups, 2, -1).transpose(0, 3, 1, 2).reshape(len(c), -1, 2))
    return latest if rule.plays_latest else mixed


def _held(p, rows, rule):
    """Predictions within their range, if they have one; NaN where they are not finite."""
    if rule.clip is None and not (rule.target_unit or rule.log_link):
        return p
    n = p.shape[1]
    return np.minimum(np.maximum(p, rows.least[:, :n]), rows.most[:, :n]) + 0.0 * p


def _by_set(values, rule):
    """Predictions or the like of each row as sets, of which each has one for every target."""
    return values.reshape(len(values), -1, rule.n_targets)


def _losses(loss, p, rows, c, rule):
    """Losses, of shape (n_rows, n_groups, n_sets), of several sets of predictions for the targets of each row."""
    p, y, unit = _by_set(p, rule), _by_set(rows.y, rule)[:, :1], positive(_by_set(rows.unit, rule)[:, :1])
    values = loss.value((loss.margins(p) if loss.coupled else p) / unit, y / unit) * c[:, None, None]
    totals = np.add.reduce(values.reshape(*values.shape[:2], rule.n_groups, -1), axis=3)
    return np.minimum(np.swapaxes(totals, 1, 2), LARGEST)
