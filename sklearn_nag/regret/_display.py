"""Figure of regret and its bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from ..model_selection._displays import _axes_or_new
from ._run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class RegretDisplay:
    """Regret and its bounds against the number of rows.

    Parameters
    ----------
    regrets : dict of str to array-like of shape (n_rows,)
        Regret up to each row, by name of the learner.
    bounds : dict of str to array-like of shape (n_rows,), optional
        Bounds by name of the learner, for learners that have one.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the last `plot`.
    figure_ : matplotlib Figure
        The figure of the axes.
    lines_ : list of matplotlib Line2D
        One for each learner.
    bound_lines_ : list of matplotlib Line2D
        One for each bound.

    See Also
    --------
    record : Record the run of a learner.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_nag import ScaleInvariantClassifier
    >>> from sklearn_nag.regret import RegretDisplay, best_in_hindsight, potential_bound, record
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> run = record(ScaleInvariantClassifier(update="potential", fit_intercept=False, centering=False), X, y)
    >>> display = RegretDisplay.from_runs({"potential": run}, best_in_hindsight(run), {"potential": potential_bound})
    >>> bool((display.regrets["potential"] <= display.bounds["potential"]).all())
    True
    """

    def __init__(self, regrets: Mapping[str, ArrayLike], bounds: Mapping[str, ArrayLike] | None = None):
        self.regrets = {name: np.asarray(curve, dtype=np.float64) for name, curve in regrets.items()}
        self.bounds = {name: np.asarray(curve, dtype=np.float64) for name, curve in (bounds or {}).items()}
        for name, regret in self.regrets.items():
            if regret.ndim != 1:
                raise ValueError(
                    f"the regret of {name!r} has shape {regret.shape}; it must hold one number for each row."
                )
        for name, bound in self.bounds.items():
            if name not in self.regrets:
                raise ValueError(f"bounds has {name!r}, which regrets does not have; regrets has {list(self.regrets)}.")
            if bound.shape != self.regrets[name].shape:
                raise ValueError(
                    f"the bound of {name!r} has shape {bound.shape}; it must be that of its regret, "
                    f"{self.regrets[name].shape}."
                )

    @classmethod
    def from_runs(cls, runs: Mapping[str, Run], u: ArrayLike, bounds: Mapping | None = None) -> Self:
        """Create a display from runs over the same rows, against the same weights.

        Parameters
        ----------
        runs : dict of str to Run
            Single runs, by name of the learner.
        u : array-like of shape (n_features,)
            Weights to compare with.
        bounds : dict of str to callable, optional
            Functions of a run and weights, such as `potential_bound`, by name of the learner.

        Returns
        -------
        RegretDisplay
            The display, not drawn yet.
        """
        regrets = {name: run.regret(u) for name, run in runs.items()}
        return cls(regrets, {name: bound(runs[name], u) for name, bound in (bounds or {}).items()})

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw regrets as lines, and bounds as dashed lines of the same colour.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; a new figure by default.

        Returns
        -------
        RegretDisplay
            The display, with ``ax_`` and ``figure_``.
        """
        self.ax_ = ax = _axes_or_new(ax)
        self.figure_ = ax.figure
        self.lines_, self.bound_lines_ = [], []
        ax.set(xscale="log", yscale="symlog")  # before drawing, or margins are those of linear axes
        for name, regret in self.regrets.items():
            rows = np.arange(1, len(regret) + 1)
            (line,) = ax.plot(rows, regret, label=name)
            self.lines_.append(line)
            if name in self.bounds:
                (dashed,) = ax.plot(rows, self.bounds[name], "--", color=line.get_color())
                self.bound_lines_.append(dashed)
        ax.set(xlabel="rows", ylabel="regret" + " (dashed: bound)" * bool(self.bounds))
        ax.legend()
        return self
