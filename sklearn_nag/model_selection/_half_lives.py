"""How much each half-life is trusted over a stream: a picture of how fast it changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from ..estimators._parameters import learner_of
from ..estimators._validation import Rows
from ._displays import _axes_or_new
from ._progressive import progressive_validation
from ._streams import count_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection


class HalfLivesDisplay:
    """Share of each half-life in predictions, against rows seen.

    Parameters
    ----------
    n_rows : array-like of shape (n_points,)
        Numbers of rows, increasing.
    shares : array-like of shape (n_points, n_half_lives)
        Shares after as many rows, which add up to 1: ``half_life_`` of a learner with ``half_life="auto"``.
    half_lives : array-like of shape (n_half_lives,)
        The half-lives.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where `plot` has drawn.
    figure_ : matplotlib Figure
        The figure of the axes.
    areas_ : list of matplotlib PolyCollection
        One for each half-life.

    Raises
    ------
    ValueError
        For arrays of other shapes.

    See Also
    --------
    ProgressiveLossDisplay : How well a learner predicts such a stream.

    Examples
    --------
    >>> from sklearn_nag.model_selection import HalfLivesDisplay
    >>> HalfLivesDisplay([10, 20], [[0.5, 0.5], [0.1, 0.9]], [float("inf"), 20.0]).shares.shape
    (2, 2)
    """

    def __init__(self, n_rows: ArrayLike, shares: ArrayLike, half_lives: ArrayLike):
        self.n_rows, self.shares = np.asarray(n_rows), np.asarray(shares, dtype=np.float64)
        self.half_lives = np.asarray(half_lives, dtype=np.float64)
        if self.n_rows.ndim != 1 or self.shares.shape != (self.n_rows.size, self.half_lives.size):
            raise ValueError("shares must be one number for each of n_rows and each of half_lives.")

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Rows,
        y: ArrayLike,
        *,
        curve_at: ArrayLike | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Let a clone of an estimator learn a stream, and draw how much it trusted each half-life.

        Parameters
        ----------
        estimator : estimator
            Learner with ``half_life="auto"``, or a Pipeline that ends with one, as `progressive_validation` takes it.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, in the order in which to learn them.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        curve_at : array-like of int, optional
            Numbers of rows, increasing; by default about 200, evenly spaced.
        ax : matplotlib Axes, optional
            Where to draw; new ones by default.
        **options : dict
            Further parameters of `progressive_validation`.

        Returns
        -------
        HalfLivesDisplay
            The display, drawn. Of several classes or outputs it shows the mean of their shares.
        """
        if curve_at is None:
            n = count_rows(y)
            curve_at = np.unique(np.linspace(min(10, n), n, 200).astype(int))
        n_rows: list[int] = []
        shares: list[np.ndarray] = []
        half_lives: list[float] = []

        def note(n, learner):
            learner = learner_of(learner)
            if not learner.__sklearn_is_fitted__():  # as rows are learnt late
                return
            n_rows.append(n)
            shares.append(np.atleast_2d(learner.half_life_).mean(axis=0))
            half_lives[:] = learner.half_lives_

        progressive_validation(estimator, X, y, curve_at=curve_at, callback=note, **options)
        return cls(n_rows, shares, half_lives).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the shares, one above the other.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new ones by default.

        Returns
        -------
        HalfLivesDisplay
            The display itself.
        """
        ax = _axes_or_new(ax)
        self.ax_, self.figure_ = ax, ax.figure
        names = [f"{half_life:,g}" for half_life in self.half_lives]
        self.areas_: list[PolyCollection] = ax.stackplot(self.n_rows, *self.shares.T, labels=names)
        ax.set(xlabel="rows seen", ylabel="share in predictions", ylim=(0, 1), xlim=(self.n_rows[0], self.n_rows[-1]))
        ax.legend(title="half-life", loc="center left", bbox_to_anchor=(1.0, 0.5))
        return self
