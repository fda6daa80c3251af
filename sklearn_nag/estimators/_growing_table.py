"""Progress reports: numbers for a function, or lines at growing intervals, as in Vowpal Wabbit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from .._beside import Beside
from ._calls import at_rest, holding
from ._parameters import check_number

_told: ContextVar[tuple[Told, ...]] = ContextVar("sklearn_nag_told", default=())  # by blocks, outermost first
_IS_HEARERS = "_is_of_hearer"  # an attribute of exceptions


class Progress(NamedTuple):
    """State of an estimator that is learning, as passed to the function of `report_progress`.

    Losses are weighted means over rows and targets of the losses of predictions made before each row was learnt; NaN if
    all rows had weight 0. In a sweep over several learning rates, they are those of the best one.

    Attributes
    ----------
    estimator : estimator
        The estimator that is learning. It may be read, as between two calls, but letting it learn is an error.
    rows : int
        Number of rows that it has learnt within the ``with`` block; each pass of `fit` counts them again.
    weight : float
        Total weight of all rows that it has learnt: ``t_``.
    loss : float
        Mean progressive loss of these ``rows``.
    recent_loss : float
        Mean progressive loss of the rows since the last report.
    rows_per_second : float
        Speed since the last report.
    """

    estimator: Any
    rows: int
    weight: float
    loss: float
    recent_loss: float
    rows_per_second: float


class ProgressTable:
    """Reports progress after 1, 2, 4, 8, ... rows, or at a fixed interval, and cuts calls there.

    Nothing that is learnt depends on how rows are cut.

    Parameters
    ----------
    tell : callable
        Takes a `Progress`.
    every : int, optional
        Number of rows between reports; by default, each comes after twice as many rows as the last.
    """

    def __init__(self, tell, every=None):
        self.tell, self.every = tell, every
        self.rows, self.since = 0, 0
        self.loss, self.weight = np.zeros((2, 1)), np.zeros(2)  # since the beginning, and since the last report
        self.seconds = 0.0

    def _due(self):
        """Number of rows until the next report."""
        if self.every is not None:
            return self.every - self.rows % self.every
        return (1 << self.rows.bit_length() if self.rows else 1) - self.rows

    def learn(self, estimator, totals, n_rows, learn, step=1):
        """Learn rows part by part, and report after each part that ends where a report is due.

        Parameters
        ----------
        estimator : estimator
            The one that learns.
        totals : callable
            Returns total losses, an array with an entry for each head that is judged by itself, and the total weight.
        n_rows : int
            Number of rows.
        learn : callable
            ``learn(start, stop)`` learns some of them.
        step : int, default=1
            Parts are multiples of this, because some learners take rows in batches.
        """
        start = 0
        while start < n_rows:
            due = self._due()
            stop = min(n_rows, start - (-due // step) * step)
            (losses, weight), began = totals(), time.perf_counter()
            learn(start, stop)
            self.seconds += time.perf_counter() - began
            after, seen = totals()
            self.rows, self.since = self.rows + stop - start, self.since + stop - start
            self.loss = self.loss + (after - losses)  # per head
            self.weight += seen - weight
            if stop - start >= due:
                self._report(estimator, seen)
            start = stop

    def _report(self, estimator, seen):
        best = self.loss.min(axis=1)  # of several learning rates kept apart
        whole, recent = map(float, best / np.where(self.weight > 0, self.weight, np.nan))
        speed = self.since / max(self.seconds, 1e-9)
        self.since, self.seconds = 0, 0.0
        self.loss[1] = self.weight[1] = 0.0
        try:
            with at_rest(estimator):
                self.tell(Progress(estimator, self.rows, seen, whole, recent, speed))
        except Exception as error:
            vars(error)[_IS_HEARERS] = True
            raise


def is_of_hearer(error):
    """Whether ``error`` comes from a progress function: it ends the call, and is no failure of an estimator."""
    return _IS_HEARERS in vars(error)


def printed_table():
    """A `ProgressTable` that prints a header, then a line per report."""
    print(f"{'rows':>12} {'weight':>12} {'mean loss':>12} {'since last':>12} {'rows/s':>12}")

    def show(now):
        speed = f"{now.rows_per_second:12,.0f}"
        print(f"{now.rows:12d} {now.weight:12.6g} {now.loss:12.6f} {now.recent_loss:12.6f} {speed}")

    return ProgressTable(show)


class Told(NamedTuple):
    """A block of `report_progress`: function, interval, and a table per estimator."""

    function: Callable
    every: int | None
    tables: Beside


@contextmanager
def report_progress(function: Callable[[Progress], Any], *, every: int | None = None) -> Iterator[None]:
    """Report progress to a function while estimators learn in `fit` and `partial_fit` within a ``with`` block.

    Reporting does not change any model. It applies to the thread that runs the block; processes and threads started
    inside do not report. A mixture reports as one estimator; if it has members from other packages, it reports at the
    ends of its batches.

    Parameters
    ----------
    function : callable
        Called with a `Progress`, a named tuple of ``estimator``, ``rows``, ``weight``, ``loss``, ``recent_loss`` and
        ``rows_per_second``. An exception that it raises ends the call of ``fit`` or ``partial_fit`` and leaves the
        estimator unchanged.
    every : int, optional
        Number of rows between reports. By default, reports come after 1, 2, 4, 8, ... rows.

    Yields
    ------
    None
        Nothing.

    Raises
    ------
    ValueError
        If ``every`` is not a positive integer.
    TypeError
        If ``function`` is not callable.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_nag import NAGClassifier, report_progress
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> with report_progress(lambda now: print(now.rows, now.loss < 0.3), every=200):
    ...     clf = NAGClassifier().partial_fit(X, y, classes=[0, 1])
    200 True
    400 True
    """
    if not callable(function):
        raise TypeError(f"function must be callable with a Progress; got {function!r}.")
    check_number("every", every, Integral, min_val=1, options=(None,))
    told = Told(function, None if every is None else int(every), Beside())
    with holding(_told, (*_told.get(), told)):
        yield


def tables_of(estimator):
    """Tables of an estimator, one per `report_progress` block around the thread."""
    return [told.tables.setdefault(estimator, ProgressTable(told.function, told.every)) for told in _told.get()]


def in_silence():
    """A ``with`` block without reports, for parts of another estimator."""
    return holding(_told, ())


def learn_and_report(tables, estimator, totals, n_rows, learn, step=1):
    """Like `ProgressTable.learn`, for any number of tables."""
    if not tables:
        learn(0, n_rows)
        return
    *others, table = tables

    def part(start, stop):
        learn_and_report(others, estimator, totals, stop - start, lambda a, b: learn(start + a, start + b), step)

    table.learn(estimator, totals, n_rows, part, step)
