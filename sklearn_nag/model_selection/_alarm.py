"""An alarm for streams that sounds when recent losses exceed earlier ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..estimators._parameters import check_number
from ..estimators._validation import as_floats
from ..uncertainty import alarm

TINY = np.finfo(np.float64).tiny


class LossAlarm:
    """Alarm for streams that sounds when recent losses exceed earlier ones, with a bound on false alarms.

    It sees only losses, so it works with any learner. It compares means with half-lives of 20, 80, 320, 1,280 and 5,120
    rows with the mean of all losses since the last alarm. After an alarm, everything starts again.

    Parameters
    ----------
    false_alarm_rate : float, default=1e-4
        Largest probability of a false alarm after each row since the last alarm. With the default, there are in the
        long run at most two false alarms in 10,000 rows. An alarm is false if the expected loss of a row, given all
        rows before it, never rises. Nothing else is assumed about the losses.

    Attributes
    ----------
    n_rows_ : int
        Number of rows so far.
    alarms_ : list of int
        Numbers of rows after which there was an alarm.
    half_lives_ : list of float
        For each alarm, the shortest half-life whose mean was too large.

    Raises
    ------
    ValueError
        If the rate is not between 0 and 1.

    See Also
    --------
    progressive_validation : Runs this alarm on the errors of any learner.

    Notes
    -----
    Let ``w`` be the weights of the rows in a recent mean, minus those in the mean of all rows. They sum to 0 and rise
    from row to row. So if the expected loss never rises, the expected difference of the means is at most 0. By the
    Hoeffding-Azuma inequality [1]_, the difference exceeds ``sqrt(sum(w ** 2) * log(5 / false_alarm_rate) / 2)`` with a
    probability of at most a fifth of the rate. This holds for any distribution and dependence of the losses. It is
    conservative for losses that are seldom far from their mean.

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
        if "_known" in state:  # from earlier versions
            state = {**state, "_table": state["_known"].table}
            del state["_known"]
        vars(self).update(state)

    def update(self, losses: ArrayLike) -> np.ndarray:
        """Take the losses of the next rows, in order.

        The result does not depend on how the rows are divided into calls.

        Parameters
        ----------
        losses : array-like of shape (n_rows,)
            Losses between 0 and 1 of predictions made before the rows were learnt, such as whether they were wrong.

        Returns
        -------
        ndarray of int
            Numbers of rows after which there was an alarm, counted from the very first row.

        Raises
        ------
        ValueError
            If losses are not between 0 and 1.
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

    The spread is the largest standard deviation up to the row. It never falls, so the expected loss of errors that do
    not grow never rises, except at the first targets that differ: a loss is 0 while there is no spread.

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
        size = np.maximum(np.abs(y).max(axis=0, initial=0.0), TINY)  # keeps squares within the range
        relative = y / size
        relative = relative - relative[:1]
        mean = np.add.accumulate(relative) / n
        variance = np.maximum(np.add.accumulate(relative * relative) / n - mean * mean, 0.0)
        spread = 2.0 * np.sqrt(np.maximum.accumulate(variance))
        share = np.abs(y / size - predicted / size) / np.where(spread > 0, spread, np.inf)
    return np.clip(np.nan_to_num(share, nan=0.0), 0.0, 1.0).mean(axis=1)
