"""A figure of intervals, and of the targets that they are to hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..estimators._validation import Rows, as_floats, check_coverage
from ._displays import _axes_or_new
from ._streams import flat

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


class IntervalDisplay:
    """Bands of intervals for rows in order, the wider the fainter, and the targets as dots.

    Parameters
    ----------
    low, high : array-like of shape (n_samples, n_coverages)
        Ends of the intervals.
    y : array-like of shape (n_samples,)
        Targets.
    coverage : array-like of shape (n_coverages,)
        What the intervals are to hold.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where `plot` has drawn.
    figure_ : matplotlib Figure
        The figure of the axes.
    bands_ : list of matplotlib PolyCollection
        The bands, one for each coverage.
    line_ : matplotlib Line2D
        The targets.

    See Also
    --------
    progressive_validation : Coverage and width over a stream.

    Examples
    --------
    >>> from sklearn_nag.model_selection import IntervalDisplay
    >>> display = IntervalDisplay([[0.0], [1.0]], [[2.0], [3.0]], [1.0, 3.5], [0.9])
    >>> display.held
    array([0.5])
    """

    def __init__(self, low: ArrayLike, high: ArrayLike, y: ArrayLike, coverage: ArrayLike):
        self.low, self.high = (np.asarray(end, dtype=np.float64) for end in (low, high))
        self.y, self.coverage = np.asarray(y, dtype=np.float64), check_coverage(coverage)
        shape = (len(self.y), len(self.coverage))
        if not self.low.shape == self.high.shape == shape:
            raise ValueError(f"low and high have shapes {self.low.shape} and {self.high.shape}; they must be {shape}.")
        within = (self.low <= self.y[:, None]) & (self.y[:, None] <= self.high)
        self.held: np.ndarray = within.mean(axis=0)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Rows,
        y: ArrayLike,
        *,
        coverage: float | ArrayLike = (0.5, 0.9),
        ax: Axes | None = None,
    ) -> Self:
        """Draw the intervals of a regressor with one output.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``predict_interval``.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Targets.
        coverage : float or array-like of shape (n_coverages,), default=(0.5, 0.9)
            What the intervals are to hold.
        ax : matplotlib Axes, optional
            Where to draw; new ones by default.

        Returns
        -------
        IntervalDisplay
            The display, drawn.
        """
        coverages = check_coverage(coverage)
        interval = estimator.predict_interval(X, coverages)
        y = flat(as_floats(y, "y"), estimator)
        return cls(interval[:, 0], interval[:, 1], y, coverages).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the bands, infinite ones over all the axes, and the targets; the legend has the share within each.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new ones by default.

        Returns
        -------
        IntervalDisplay
            The display itself.
        """
        ax = _axes_or_new(ax)
        from matplotlib.colors import to_rgb

        self.ax_, self.figure_ = ax, ax.figure
        rows, order = np.arange(len(self.y)), np.argsort(-self.coverage)
        shades = 1.0 - np.outer(np.linspace(0.3, 0.7, len(order)), 1.0 - np.array(to_rgb("C0")))  # wider ones are paler
        ends = np.stack([self.low, self.high])
        ax.update_datalim([(0, value) for value in (*ends.flat, *self.y)])
        ax.autoscale_view()
        bound = ax.get_ybound()
        low, high = np.where(np.isinf(ends), np.clip(ends, *bound), ends)
        self.bands_ = [
            ax.fill_between(
                rows,
                low[:, i],
                high[:, i],
                step="mid",
                color=shade,
                linewidth=0,
                label=f"asked {self.coverage[i]:.3g}, got {self.held[i]:.3f}",
            )
            for i, shade in zip(order, shades)
        ]
        self.line_: Line2D = ax.plot(rows, self.y, ".", color="black", markersize=3, label="target")[0]
        ax.set(xlabel="row", ylabel="target")
        ax.set_ybound(*bound)
        ax.legend()
        return self
