"""An alarm for streams: losses of late are larger than those before."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..estimators._parameters import check_number
from ..estimators._validation import as_floats
from ..uncertainty import alarm

TINY = np.finfo(np.float64).tiny


class LossAlarm:
    """Alarm when losses of late are larger than those of all rows since the last alarm, with a bound for false ones.

    It knows losses alone, so it goes with any learner. Means with half-lives of 20, 80, 320, 1,280 and 5,120 rows are
    compared with the mean of all rows; after an alarm all begins anew.

    Parameters
    ----------
    false_alarm_rate : float, default=1e-4
        The largest probability of a false alarm after each row since the last alarm: in the long run, two in 10,000
        rows at most. Alarms are false while the loss to be expected of a row, given all rows before it, never rises.
        Nothing else is supposed of losses.

    Attributes
    ----------
    n_rows_ : int
        Rows so far.
    alarms_ : list of int
        Numbers of rows after which there was an alarm.
    half_lives_ : list of float
        The half-life that gave each of them: of the means that were too large the shortest one.

    Raises
    ------
    ValueError
        For a rate that is not between 0 and 1.

    See Also
    --------
    progressive_validation : Has it for the errors of any learner.

    Notes
    -----
    Let ``w`` be the weights of the rows in a mean of late, less those in the mean of all. They add up to 0 and rise
    from row to row, so where the loss that is to be expected never rises, the difference of the means is expected to be
    0 at most. By the inequality of Hoeffding and Azuma [1]_ it exceeds
    ``sqrt(sum(w ** 2) * log(5 / false_alarm_rate) / 2)`` with a probability of a fifth of the rate at most. This holds
    for losses of any distribution, however they depend on one another, and is cautious for those that seldom are far
    from their mean.

    References
    ----------
    .. [1] K. Azuma, "Weighted sums of certain dependent random variables", Tohoku Mathematical Journal 19, 1967.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_nag.model_selection import LossAlarm
    >>> rng = np.random.default_rng(0)
    >>> alarm = LossAlarm()
    >>> alarm.update(rng.random(1000) < 0.1)  # errors in one of ten rows
    array([], dtype=int64)
    >>> after = alarm.update(rng.random(1000) < 0.4)  # and in four of them
    >>> len(after), bool(1000 < after[0] < 1100)
    (1, True)
    """

    def __init__(self, false_alarm_rate: float = 1e-4):
        check_number("false_alarm_rate", false_alarm_rate, min_val=0, max_val=1, include_boundaries="neither")
        self.false_alarm_rate = false_alarm_rate
        self.n_rows_ = 0
        self.alarms_: list[int] = []
        self.half_lives_: list[float] = []
        self._table = alarm.new()

    def __setstate__(self, state):
        if "_known" in state:  # of earlier versions
            state = {**state, "_table": state["_known"].table}
            del state["_known"]
        vars(self).update(state)

    def update(self, losses: ArrayLike) -> np.ndarray:
        """Take in losses of rows in their order. How they are cut into calls makes no difference.

        Parameters
        ----------
        losses : array-like of shape (n_rows,)
            Between 0 and 1, of predictions that were made before rows were learnt: such as whether they were wrong.

        Returns
        -------
        ndarray of int
            Numbers of rows, counted from the first one of all, after which there was an alarm.

        Raises
        ------
        ValueError
            For losses that are not between 0 and 1.
        """
        values = np.atleast_1d(as_floats(losses, "losses"))
        if values.ndim != 1 or not ((values >= 0.0) & (values <= 1.0)).all():
            raise ValueError("losses must be numbers between 0 and 1, one for each row.")
        self._table, sounds = alarm.learn(self._table, values, float(self.false_alarm_rate))
        rows = np.flatnonzero(sounds)
        after = self.n_rows_ + rows + 1
        self.n_rows_ += len(values)
        self.alarms_ += after.tolist()
        self.half_lives_ += [alarm.HALF_LIVES[place - 1] for place in sounds[rows]]
        return after


def shares_of_spread(y, predicted):
    """Losses between 0 and 1 of a regressor: errors over twice the spread of the targets, 1 at most.

    That is the largest of their standard deviations up to the row, so that it never falls, and what is expected of
    errors that do not grow never rises, but for the first targets that differ: a loss is 0 while there is no spread.

    Parameters
    ----------
    y, predicted : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        Targets and predictions of a whole stream.

    Returns
    -------
    ndarray of shape (n_rows,)
        Means over outputs.
    """
    y, predicted = (np.asarray(values, dtype=np.float64).reshape(len(y), -1) for values in (y, predicted))
    n = np.arange(1.0, len(y) + 1.0)[:, None]
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(y).max(axis=0, initial=0.0), TINY)  # so that no square leaves the range
        relative = y / size
        relative = relative - relative[:1]
        mean = np.add.accumulate(relative) / n
        variance = np.maximum(np.add.accumulate(relative * relative) / n - mean * mean, 0.0)
        spread = 2.0 * np.sqrt(np.maximum.accumulate(variance))
        share = np.abs(y / size - predicted / size) / np.where(spread > 0, spread, np.inf)
    return np.clip(np.nan_to_num(share, nan=0.0), 0.0, 1.0).mean(axis=1)
