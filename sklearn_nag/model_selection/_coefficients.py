"""A figure of the weights of a linear model, in comparable units."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_classifier

from ..estimators._parameters import check_number
from ._displays import _axes_or_new, _learner_and_names, name_places, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

_HEIGHT = 0.6  # share of a feature's place over which the dots of several classes spread


class CoefficientsDisplay:
    """Weights of the features in units of the target per scale of the feature, with the largest at the top.

    Parameters
    ----------
    weights : array-like of shape (n_features,) or (n_targets, n_features)
        Weights that are comparable with one another, such as ``coef_ * scale_``.
    names : array-like of str of shape (n_features,), optional
        Names of the features; ``x0``, ``x1``, ... by default.
    targets : sequence of length n_targets, optional
        Classes or outputs that the rows of ``weights`` belong to; 0, 1, ... by default.
    errors : array-like of the shape of ``weights``, optional
        Standard errors. Whiskers extend two of them to either side.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the last `plot`.
    figure_ : matplotlib Figure
        The figure of the axes.
    lines_ : list of matplotlib Line2D
        The dots, one line for each target.
    whiskers_ : list of matplotlib LineCollection
        The whiskers, one collection for each target; empty without errors.

    See Also
    --------
    FeatureScalesDisplay : Display the learnt scales.

    Examples
    --------
    >>> from sklearn_nag.model_selection import CoefficientsDisplay
    >>> display = CoefficientsDisplay([0.2, -3.0], ["width", "income"])
    >>> display.weights
    array([[ 0.2, -3. ]])
    """

    def __init__(
        self,
        weights: ArrayLike,
        names: Iterable[str] | None = None,
        targets: Sequence[Any] | None = None,
        errors: ArrayLike | None = None,
    ):
        self.weights = np.atleast_2d(np.asarray(weights, dtype=np.float64))
        n_targets, n_features = self.weights.shape
        self.names: list[str] = [f"x{i}" for i in range(n_features)] if names is None else list(names)
        self.targets: list[Any] = list(range(n_targets) if targets is None else targets)
        if self.weights.ndim != 2 or (len(self.targets), len(self.names)) != self.weights.shape:
            raise ValueError(
                f"weights has shape {np.shape(weights)}; it must hold one number for each of {len(self.names)} names, "
                f"for each of {len(self.targets)} targets."
            )
        self.errors = None if errors is None else np.atleast_2d(np.asarray(errors, dtype=np.float64))
        if self.errors is not None and self.errors.shape != self.weights.shape:
            raise ValueError(f"errors has shape {self.errors.shape}; it must be that of weights, {self.weights.shape}.")

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, *, max_features: int = 20, ax: Axes | None = None) -> Self:
        """Draw the weights that an estimator has learnt.

        Parameters
        ----------
        estimator : estimator
            Fitted learner with ``coefficients``, or a Pipeline that ends with one. Learners with standard errors, such
            as `OnlineBootstrap` and least squares, get whiskers. The names of the features are those of the data frame
            the learner was fitted on or, in a Pipeline, those of the previous step's output.
        max_features : int, default=20
            Number of features to show: those with the largest weights for any class or output.
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.

        Returns
        -------
        CoefficientsDisplay
            The display, drawn.
        """
        model, names = _learner_and_names(estimator)
        learner, names = _learner_and_names(getattr(model, "estimator_", model), names)  # inside an OnlineBootstrap
        if not (hasattr(model, "coefficients") and hasattr(learner, "coefficients")):
            raise TypeError(
                "estimator must be a linear learner of this package, an OnlineBootstrap of such learners, or a "
                f"Pipeline that ends with one of these; got {model!r}."
            )
        table = model.coefficients(names, as_frame=False)
        weights = table.unit_free_weight.reshape(-1, learner.n_features_in_)
        if len(weights) > 1:
            targets = learner._names_of_targets
        else:
            targets = learner.classes_[1:] if is_classifier(learner) else None
        names = table.feature[: learner.n_features_in_]
        errors = None
        if "standard_error" in table:
            errors = (table.standard_error * table.scale).reshape(weights.shape)
        return cls(weights, names, targets, errors).plot(ax=ax, max_features=max_features)

    def plot(self, ax: Axes | None = None, *, max_features: int = 20) -> Self:
        """Draw the weights, in one colour for each class or output.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        max_features : int, default=20
            Number of features to show: those with the largest weights for any class or output.

        Returns
        -------
        CoefficientsDisplay
            The display itself.
        """
        check_number("max_features", max_features, Integral, min_val=1)
        ax = _axes_or_new(ax)
        self.ax_, self.figure_ = ax, ax.figure
        largest = np.argsort(-np.abs(self.weights).max(axis=0), kind="stable")[:max_features]
        places = np.arange(len(largest))
        offsets = (np.arange(len(self.weights)) - (len(self.weights) - 1) / 2) * (_HEIGHT / len(self.weights))
        ax.axvline(0.0, color="0.7", linewidth=1)
        self.lines_: list[Line2D] = [
            ax.plot(weights[largest], places + offset, "o", label=short(target))[0]
            for weights, target, offset in zip(self.weights, self.targets, offsets)
        ]
        self.whiskers_ = []
        for line, errors in zip(self.lines_, () if self.errors is None else self.errors):
            x, y, error = line.get_xdata(), line.get_ydata(), 2.0 * errors[largest]
            self.whiskers_.append(ax.hlines(y, x - error, x + error, color=line.get_color(), linewidth=1))
        ax.set_xlabel("weight * scale of the feature")
        ax.locator_params(axis="x", nbins=5)  # labels of large numbers are wide
        name_places(ax, self.names, largest, "weights")
        if len(self.weights) > 1:
            ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))  # beside the dots, never over them
        return self
