"""Figures with the interface of scikit-learn's displays: ``from_…`` makes one, ``plot`` draws it, ``ax_`` keeps it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import assert_all_finite

from .._extras import needed
from ..estimators._growing_table import Progress
from ..estimators._nag import ETA0S
from ..estimators._parameters import check_number, check_option, learner_of, names_before_learner
from ..estimators._validation import Rows, as_floats, check_coverage, check_fitted
from ._eta_sweep import EtaSweep, eta_sweep
from ._progressive import ProgressiveValidation, progressive_validation
from ._score import progressive_score
from ._streams import count_rows, flat

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.lines import Line2D

_LEAST_SPAN = 0.5  # least height of the axes as a share of the least error: smaller differences should look small
_LONGEST_NAME = 31  # characters of a name in figures; more would take room from the plot
_LOGARITHMIC_FROM = 30.0  # ratio of the largest value to the least above which an axis is logarithmic


def _axes_or_new(ax, figsize=None):
    """``ax``, or the axes of a new figure if it is None."""
    if ax is not None:
        return ax
    plt = needed("matplotlib.pyplot", "plot", "figures need")
    return plt.subplots(layout="constrained", figsize=figsize)[1]


def _by_name(items):
    """Estimators or results as a dict; unnamed ones get their classes' names, numbered if equal."""
    if isinstance(items, Mapping):
        return dict(items)
    items = [items] if not isinstance(items, Sequence) or isinstance(items, Pipeline) else list(items)
    names = [_class_name(item) for item in items]
    return {
        name if names.count(name) == 1 else f"{name} {names[: i + 1].count(name)}": item
        for i, (name, item) in enumerate(zip(names, items))
    }


def _by_estimator(reports):
    """Reports of each estimator, by its name."""
    learners = list({id(now.estimator): now.estimator for now in reports}.values())
    named = _by_name(learners)
    return {name: [now for now in reports if now.estimator is learner] for name, learner in named.items()}


def _class_name(item):
    """Name of a learner's class, also for a result or search."""
    swept = [] if isinstance(item, BaseEstimator) else getattr(item, "estimators", [])
    learners = [getattr(item, "estimator", None), *swept]
    # Not by truth: that of an ensemble is its length, which it has only once it is fitted.
    return type(learner_of(next((learner for learner in learners if learner is not None), item))).__name__


def _has_losses(found):
    """Whether a sweep, or a search by its scores, measures losses, in the unit of the target."""
    if not hasattr(found, "cv_results_"):
        return found.errors is None
    if getattr(found, "scoring", None) is progressive_score:
        return True
    scoring = str(getattr(found, "scoring", "neg_"))  # by default, the learner's own
    return scoring.startswith("neg_") or "greater_is_better=False" in scoring  # the repr of `make_scorer`'s scorers


def short(name):
    """A name for figures: shortened in the middle, with dollars escaped, which would begin formulas."""
    name, half = str(name), _LONGEST_NAME // 2 - 1
    name = name if len(name) <= _LONGEST_NAME else f"{name[:half]}...{name[-half:]}"
    return name.replace("$", r"\$")


def name_places(ax, names, largest, what):
    """Label the ``largest`` features, from the top; say how many exist if not all are shown."""
    ax.set(yticks=range(len(largest)), yticklabels=[short(names[i]) for i in largest])
    ax.grid(axis="y", alpha=0.3)
    ax.invert_yaxis()
    if len(largest) < len(names):
        ax.set_title(f"the largest {len(largest)} of {len(names)} {what}")


def _least(errors):
    """Index of the least error, ignoring infinite and NaN ones."""
    return int(np.argmin(np.where(np.isfinite(errors), errors, np.inf)))


def ends_of_run(good, place):
    """First and last place of the run of good ones around ``place``; None if it is bad."""
    if not good[place]:
        return None
    bad = np.flatnonzero(~good)
    return int(bad[bad < place].max(initial=-1)) + 1, int(bad[bad > place].min(initial=len(good))) - 1


def _learner_and_names(estimator, names=None):
    """The learner, possibly the last step of a pipeline, and its features' names, None if unknown."""
    learner = learner_of(estimator)
    if hasattr(learner, "feature_names_in_"):
        return learner, learner.feature_names_in_
    return learner, names_before_learner(estimator, names)


class EtaSweepDisplay:
    """Error or loss against learning rate, with the ranges of rates that are about as good as the best.

    Parameters
    ----------
    curves : dict of str to (ndarray, ndarray)
        For each learner, by name, increasing learning rates and their errors; inf or NaN if there is no error.
    ylabel : str, default="error"
        Label of the errors.
    xlabel : str, default="learning rate"
        Label of the learning rates.
    tolerance : float, default=0.05
        Largest relative difference from the least error of all learners that counts as about as good. If the standard
        error of the least error is known and is larger than that difference, it is the limit instead.
    spreads : dict of str to array-like, optional
        Standard errors of the errors, by learner name, drawn as a shaded band. Some learners may be missing.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the last `plot`.
    figure_ : matplotlib Figure
        The figure of the axes.
    lines_ : list of matplotlib Line2D
        One for each learner.
    good_enough_ : float
        The largest error that is about as good as the least.
    ranges_ : dict of str to (float, float) or None
        For each learner, the ends of the range around its best learning rate in which all errors are good enough; None
        if there is no such range.

    See Also
    --------
    eta_sweep : Compute the losses of several learning rates.

    Examples
    --------
    >>> from sklearn_nag.model_selection import EtaSweepDisplay
    >>> display = EtaSweepDisplay({"NAG": ([0.1, 1.0, 10.0], [0.2, 0.1, 0.104]), "SGD": ([1.0, 2.0], [0.3, 0.2])})
    >>> display.ranges_
    {'NAG': (1.0, 10.0), 'SGD': None}
    """

    def __init__(
        self,
        curves: Mapping[str, tuple[ArrayLike, ArrayLike]],
        *,
        ylabel: str = "error",
        xlabel: str = "learning rate",
        tolerance: float = 0.05,
        spreads: Mapping[str, ArrayLike] | None = None,
    ):
        check_number("tolerance", tolerance, min_val=0)
        self.curves = {name: tuple(np.asarray(a, dtype=np.float64) for a in curve) for name, curve in curves.items()}
        self.spreads = {name: np.asarray(spread, dtype=np.float64) for name, spread in (spreads or {}).items()}
        self.ylabel, self.xlabel, self.tolerance = ylabel, xlabel, tolerance
        self._check()
        self.good_enough_ = self._good_enough()
        self.ranges_ = {name: self._range(*curve) for name, curve in self.curves.items()}

    def _check(self):
        """Raise ValueError if curves or spreads cannot be drawn."""
        for name, (eta0s, errors) in self.curves.items():
            if not (eta0s.ndim == 1 and eta0s.shape == errors.shape and (np.diff(eta0s) > 0).all()):
                raise ValueError(f"the curve {name!r} must hold increasing learning rates and an error for each.")
            if not np.isfinite(errors).any():
                raise ValueError(f"the curve {name!r} has no finite error.")
        for name, spread in self.spreads.items():
            if name not in self.curves or spread.shape != self.curves[name][1].shape:
                raise ValueError(f"the spread {name!r} must have the name of a curve and one number for each error.")

    def _good_enough(self):
        """The least error plus the larger of tolerance and standard error."""
        best = [(errors[i], name, i) for name, (_, errors) in self.curves.items() for i in [_least(errors)]]
        if not best:
            return np.nan
        error, name, i = min(best)
        spread = self.spreads[name][i] if name in self.spreads else 0.0
        return float(error + np.fmax(self.tolerance * abs(error), spread))

    def _range(self, eta0s, errors):
        """Ends of the range of good enough learning rates around the best, or None."""
        ends = ends_of_run(np.isfinite(errors) & (errors <= self.good_enough_), _least(errors))
        return None if ends is None else (float(eta0s[ends[0]]), float(eta0s[ends[1]]))

    @classmethod
    def from_sweeps(
        cls,
        sweeps: EtaSweep | Sequence | Mapping[str, Any],
        *,
        metric: Literal["error", "loss"] | None = None,
        tolerance: float = 0.05,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the results of sweeps and searches.

        Parameters
        ----------
        sweeps : EtaSweep, fitted search, or a list or dict of these
            Results of `eta_sweep`, or searches such as GridSearchCV, of any learner, that varied one parameter and used
            one score. For successive halving, the last iteration is drawn. A dict names them; otherwise the classes of
            their learners do.
        metric : {"error", "loss"}, optional
            What to show. For results of `eta_sweep`, this is the progressive error or loss. For searches it is 1 minus
            the score (``"error"``) or the negative score (``"loss"``); for a `ProgressiveSearch` with
            ``loss="zero_one"`` both are the negative score. The default is ``"loss"`` if one of the results is that of
            a regressor, or is a `ProgressiveSearch`, or is a search whose ``scoring`` is `progressive_score`, starts
            with ``"neg_"``, or was made with ``greater_is_better=False``. Otherwise it is ``"error"``.
        tolerance : float, default=0.05
            Largest relative difference from the least error that counts as about as good. If the standard error over
            the folds of a search is larger than that difference, it is the limit instead.
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.

        Returns
        -------
        EtaSweepDisplay
            The display, drawn.
        """
        named = _by_name(sweeps)
        if metric is None:
            metric = "loss" if any(map(_has_losses, named.values())) else "error"
        check_option("metric", metric, ("error", "loss"))
        curves = {name: cls._curve(name, sweep, metric) for name, sweep in named.items()}
        xlabel = " or ".join(dict.fromkeys(curve.pop(0) for curve in curves.values()))
        spreads = {name: curve.pop() for name, curve in curves.items() if len(curve) == 3}
        progressive = "progressive " if all(hasattr(sweep, "losses") for sweep in named.values()) else ""
        made = cls(curves, ylabel=f"{progressive}{metric}", xlabel=xlabel, tolerance=tolerance, spreads=spreads)
        return made.plot(ax=ax)

    @staticmethod
    def _curve(name, sweep, metric):
        """Name of the varied parameter, its values, increasing, and errors; for a search also standard errors."""
        what = "learning rate"
        if hasattr(sweep, "cv_results_"):
            results = sweep.cv_results_
            varied = [key for key in results if key.startswith("param_")]
            if len(varied) != 1:
                raise ValueError(f"the search {name!r} varies {len(varied)} parameters; it must vary one.")
            if "mean_test_score" not in results:
                raise ValueError(f"the search {name!r} has several scores; it must have one.")
            parameter = varied[0].removeprefix("param_")
            what = what if parameter.rpartition("__")[2] == "eta0" else parameter
            eta0s = as_floats(results[varied[0]], f"{parameter} of the search {name!r}")
            is_rate = getattr(sweep, "_judged_by", None) == "zero_one"  # scores are negative error rates
            errors = (0.0 if metric == "loss" or is_rate else 1.0) - results["mean_test_score"]
            found = [eta0s, errors]
            if "std_test_score" in results:
                found.append(results["std_test_score"] / np.sqrt(max(sweep.n_splits_ - 1, 1)))
        else:
            eta0s, errors = sweep.eta0s, sweep.errors if metric == "error" else sweep.losses
            if errors is None:
                raise ValueError(f'metric is "error"; it must be "loss" for the sweep {name!r} of a regressor.')
            found = [eta0s, errors]
        order = np.argsort(eta0s)
        if "iter" in getattr(sweep, "cv_results_", {}):  # successive halving: earlier scores are of fewer rows
            order = order[np.equal(results["iter"], max(results["iter"]))[order]]
        return [what, *(np.asarray(values)[order] for values in found)]

    @classmethod
    def from_estimator(
        cls,
        estimators: BaseEstimator | Sequence[BaseEstimator] | Mapping[str, BaseEstimator],
        X: Rows,
        y: ArrayLike,
        eta0s: ArrayLike = ETA0S,
        *,
        sample_weight: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        batch_size: int = 1,
        metric: Literal["error", "loss"] | None = None,
        tolerance: float = 0.05,
        ax: Axes | None = None,
    ) -> Self:
        """Sweep one or several estimators, each in one pass, and draw the results.

        Parameters
        ----------
        estimators : estimator, or a list or dict of these
            Estimators for `eta_sweep`. A dict names them; otherwise their classes do.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, in the order in which to learn them.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        eta0s : array-like of shape (n_eta0s,), default=(1/16, 1/4, 1, 4, 16)
            Learning rates.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.
        classes : array-like of shape (n_classes,), optional
            All classes, for classifiers; by default those in ``y``.
        batch_size : int, default=1
            As for `eta_sweep`: number of rows that steps of other packages see at once.
        metric : {"error", "loss"}, optional
            What to show. By default the progressive error for classifiers, and the progressive loss for regressors.
        tolerance : float, default=0.05
            Largest relative difference from the least error that counts as about as good.
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.

        Returns
        -------
        EtaSweepDisplay
            The display, drawn.
        """
        options: dict[str, Any] = {"sample_weight": sample_weight, "classes": classes, "batch_size": batch_size}
        sweeps = {name: eta_sweep(learner, X, y, eta0s, **options) for name, learner in _by_name(estimators).items()}
        return cls.from_sweeps(sweeps, metric=metric, tolerance=tolerance, ax=ax)

    def plot(self, ax: Axes | None = None, *, ylim: tuple[float, float] | None = None) -> Self:
        """Draw the curves, each with a dot at its best rate, and the ranges as bars above them.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        ylim : tuple of (float, float), optional
            Least and largest error to show. The default ends at three times the best error of the worst learner at
            most, and is never so narrow that differences of a few percent fill the height.

        Returns
        -------
        EtaSweepDisplay
            The display itself.
        """
        ax = _axes_or_new(ax, figsize=(8.0, 4.2))
        self.ax_, self.figure_ = ax, ax.figure
        self.lines_: list[Line2D] = []
        ax.set(xscale="log", xlabel=self.xlabel, ylabel=self.ylabel)
        bottom, top = self._limits() if ylim is None else ylim
        room = 0.02 + 0.03 * len(self.curves)  # share of the height for the bars
        ax.set_ylim(bottom, bottom + (top - bottom) / (1.0 - room))
        for i, (name, (eta0s, errors)) in enumerate(self.curves.items()):
            best = _least(errors)
            # A line may leave the axes, but not towards a value far above them: it would look vertical.
            shown = np.where(errors <= bottom + 1.5 * (top - bottom), errors, np.nan)
            (line,) = ax.plot(eta0s, shown, marker=".", label=short(name))
            color, height = line.get_color(), 1.0 - 0.03 * (i + 0.8)
            ax.plot(eta0s[best], errors[best], "o", color=color)
            if name in self.spreads:
                spread = self.spreads[name]
                ax.fill_between(eta0s, shown - spread, shown + spread, color=color, alpha=0.15, lw=0)
            if self.ranges_[name] is not None:
                (bar,) = ax.plot(self.ranges_[name], [height] * 2, "|-", color=color, lw=3, ms=7, mew=2)
                bar.set_transform(ax.get_xaxis_transform())
            self.lines_.append(line)
        allowed = f"{self.tolerance:.0%}".replace("%", " %") + (" or 1 standard error" if self.spreads else "")
        title = f"bars: within {allowed}\nof the best of all" + "\nshades: 1 standard error" * bool(self.spreads)
        ax.legend(
            title=title,
            loc="upper left",
            bbox_to_anchor=(1.01, 1.0),
            borderaxespad=0.0,
            frameon=False,
            alignment="left",
        )
        return self

    def _limits(self):
        """Least and largest error to show by default, with a margin."""
        errors = [values[np.isfinite(values)] for _, values in self.curves.values()]
        least, largest = min(e.min() for e in errors), max(e.max() for e in errors)
        worst = max(e.min() for e in errors)
        top = min(largest, worst + 2.0 * abs(worst)) if worst else largest
        top = max(top, least + _LEAST_SPAN * abs(least))
        margin = 0.05 * (top - least) or 0.05 * abs(top) or 0.05
        return (0.0 if 0.0 <= least < 0.5 * top else least - margin), top + margin


class ProgressiveLossDisplay:
    """Progressive loss, or a progressive score, against the number of rows.

    Parameters
    ----------
    curves : dict of str to (ndarray, ndarray)
        For each learner, by name, numbers of rows and the values after these rows.
    ylabel : str, default="progressive loss"
        Label of the values.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the last `plot`.
    figure_ : matplotlib Figure
        The figure of the axes.
    lines_ : list of matplotlib Line2D
        One for each learner.

    See Also
    --------
    progressive_validation : Compute the curves.

    Examples
    --------
    >>> from sklearn_nag.model_selection import ProgressiveLossDisplay
    >>> display = ProgressiveLossDisplay({"NAG": ([10, 100], [0.6, 0.2])})
    >>> sorted(display.curves)
    ['NAG']
    """

    def __init__(self, curves: Mapping[str, tuple[ArrayLike, ArrayLike]], *, ylabel: str = "progressive loss"):
        self.curves = {name: tuple(np.asarray(a) for a in curve) for name, curve in curves.items()}
        self.ylabel = ylabel

    @classmethod
    def from_results(
        cls,
        results: ProgressiveValidation | Sequence | Mapping[str, ProgressiveValidation],
        *,
        metric: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the curves of results.

        Parameters
        ----------
        results : ProgressiveValidation, or a list or dict of these
            Results of `progressive_validation` with ``curve_at``. A dict names them; otherwise the classes of their
            estimators do.
        metric : str, optional
            ``"loss"``, ``"score"`` or the name of a score. By default the loss if all results have one, and else the
            score.
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.

        Returns
        -------
        ProgressiveLossDisplay
            The display, drawn.
        """
        named = _by_name(results)
        for name, result in named.items():
            if not len(result.curve["n_rows"]):
                raise ValueError(f"the result of {name} has no curve; progressive_validation makes one with curve_at.")
        known = set.intersection(*(set(result.curve) - {"n_rows"} for result in named.values()))
        metric = metric or ("loss" if "loss" in known else "score")
        check_option("metric", metric, sorted(known))
        curves = {name: (result.curve["n_rows"], result.curve[metric]) for name, result in named.items()}
        return cls(curves, ylabel=f"progressive {metric.replace('_', ' ')}").plot(ax=ax)

    @classmethod
    def from_estimator(
        cls,
        estimators: BaseEstimator | Sequence[BaseEstimator] | Mapping[str, BaseEstimator],
        X: Rows,
        y: ArrayLike,
        *,
        curve_at: ArrayLike | None = None,
        metric: str | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Validate one or several estimators progressively, and draw the results.

        Parameters
        ----------
        estimators : estimator, or a list or dict of these
            Estimators for `progressive_validation`. A dict names them; otherwise their classes do.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, in the order in which to learn them.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        curve_at : array-like of int, optional
            Numbers of rows. By default there are about 40 from 10 to all rows, evenly spaced on a logarithmic axis.
        metric : str, optional
            As for `from_results`.
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        **options : dict
            Further parameters of `progressive_validation`.

        Returns
        -------
        ProgressiveLossDisplay
            The display, drawn.
        """
        if curve_at is None:
            n_rows = count_rows(y)
            curve_at = np.unique(np.geomspace(min(10, n_rows), n_rows, 40).astype(int))
        results = {
            name: progressive_validation(learner, X, y, curve_at=curve_at, **options)
            for name, learner in _by_name(estimators).items()
        }
        return cls.from_results(results, metric=metric, ax=ax)

    @classmethod
    def from_reports(
        cls, reports: Sequence[Progress] | Mapping[str, Sequence[Progress]], *, ax: Axes | None = None
    ) -> Self:
        """Draw reports of `sklearn_nag.report_progress`: the loss since the last report, over rows and passes.

        If ``every`` is the number of rows, each point is a pass of `fit`. From the second pass on, rows are no longer
        new, and their loss does not estimate that on new rows.

        Parameters
        ----------
        reports : list of Progress, or a dict of these
            Reports collected with ``report_progress(reports.append)``. A dict names the learners; otherwise their
            classes do.
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.

        Returns
        -------
        ProgressiveLossDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If there are no reports.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from sklearn_nag import NAGClassifier, report_progress
        >>> from sklearn_nag.model_selection import ProgressiveLossDisplay
        >>> X, y = load_wine(return_X_y=True)
        >>> reports = []
        >>> with report_progress(reports.append, every=len(X)):
        ...     clf = NAGClassifier(max_iter=3, tol=None, random_state=0).fit(X, y)
        >>> display = ProgressiveLossDisplay.from_reports(reports)
        >>> display.curves["NAGClassifier"][0].tolist()
        [178, 356, 534]
        """
        named = dict(reports) if isinstance(reports, Mapping) else _by_estimator(reports)
        curves = {name: ([now.rows for now in told], [now.recent_loss for now in told]) for name, told in named.items()}
        if not any(rows for rows, _ in curves.values()):
            raise ValueError("reports is empty: give report_progress a function that keeps them, such as list.append.")
        return cls(curves, ylabel="progressive loss since the last report").plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.

        Returns
        -------
        ProgressiveLossDisplay
            The display itself.
        """
        ax = _axes_or_new(ax)
        self.ax_, self.figure_ = ax, ax.figure
        ax.set(xscale="log", xlabel="rows seen", ylabel=self.ylabel)
        self.lines_ = [ax.plot(*curve, label=short(name))[0] for name, curve in self.curves.items()]
        values = np.concatenate([values for _, values in self.curves.values()])
        if np.nanmin(values) > 0 and np.nanmax(values) > _LOGARITHMIC_FROM * np.nanmin(values):
            ax.set_yscale("log")
        ax.legend()
        return self


class ValidationLossDisplay:
    """Loss on the held-out rows after each pass of a `fit` that chose the number of passes.

    Parameters
    ----------
    curves : dict of str to array-like of shape (n_passes,)
        For each learner, by name, a loss after each pass.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the last `plot`.
    figure_ : matplotlib Figure
        The figure of the axes.
    lines_ : list of matplotlib Line2D
        One for each learner.
    best_ : dict of str to int
        For each learner, the number of passes with the least loss.

    Raises
    ------
    ValueError
        If a learner has no losses.

    See Also
    --------
    ProgressiveLossDisplay : Losses against the number of rows, within one pass.

    Examples
    --------
    >>> from sklearn_nag.model_selection import ValidationLossDisplay
    >>> ValidationLossDisplay({"NAG": [0.6, 0.4, 0.5]}).best_
    {'NAG': 2}
    """

    def __init__(self, curves: Mapping[str, ArrayLike]):
        self.curves = {name: np.asarray(losses, dtype=np.float64) for name, losses in curves.items()}
        for name, losses in self.curves.items():
            if losses.ndim != 1 or not losses.size:
                raise ValueError(
                    f"{name!r} has no validation losses: fit records them if it chooses the number of passes, with "
                    "early_stopping='auto' for linear learners, and with max_iter='auto' for NAGCellsClassifier and "
                    "NAGCellsRegressor."
                )
        self.best_ = {name: _least(losses) + 1 for name, losses in self.curves.items()}

    @classmethod
    def from_estimator(
        cls,
        estimators: BaseEstimator | Sequence[BaseEstimator] | Mapping[str, BaseEstimator],
        *,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the ``validation_losses_`` of one or several fitted estimators.

        Parameters
        ----------
        estimators : estimator, or a list or dict of these
            Fitted learners, or pipelines that end with one. A dict names them; otherwise their classes do.
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.

        Returns
        -------
        ValidationLossDisplay
            The display, drawn.
        """
        learners = {name: learner_of(learner) for name, learner in _by_name(estimators).items()}
        return cls({name: getattr(learner, "validation_losses_", []) for name, learner in learners.items()}).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the curves, each with a dot at its least loss.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.

        Returns
        -------
        ValidationLossDisplay
            The display itself.
        """
        ax = _axes_or_new(ax)
        self.ax_, self.figure_ = ax, ax.figure
        self.lines_: list[Line2D] = []
        ax.set(xlabel="passes", ylabel="validation loss")
        for name, losses in self.curves.items():
            passes = np.arange(1, len(losses) + 1)
            self.lines_ += ax.plot(passes, losses, "o-", markevery=[self.best_[name] - 1], label=short(name))
        ax.locator_params(axis="x", integer=True)
        ax.legend()
        return self


class HalfLivesDisplay:
    """Share of each half-life in the predictions, against the number of rows.

    Parameters
    ----------
    n_rows : array-like of shape (n_points,)
        Increasing numbers of rows.
    shares : array-like of shape (n_points, n_half_lives)
        Shares after these rows, which sum to 1: ``half_life_`` of a learner with ``half_life="auto"``.
    half_lives : array-like of shape (n_half_lives,)
        The half-lives.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the last `plot`.
    figure_ : matplotlib Figure
        The figure of the axes.
    areas_ : list of matplotlib PolyCollection
        One for each half-life.

    Raises
    ------
    ValueError
        If arrays have other shapes.

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
        """Let a clone of an estimator learn a stream, and draw the share of each half-life over time.

        Parameters
        ----------
        estimator : estimator
            Learner with ``half_life="auto"``, or a Pipeline that ends with one, as for `progressive_validation`.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, in the order in which to learn them.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        curve_at : array-like of int, optional
            Increasing numbers of rows. By default there are about 200, evenly spaced.
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        **options : dict
            Further parameters of `progressive_validation`.

        Returns
        -------
        HalfLivesDisplay
            The display, drawn. For several classes or outputs, it shows the mean of their shares.
        """
        if curve_at is None:
            n = count_rows(y)
            curve_at = np.unique(np.linspace(min(10, n), n, 200).astype(int))
        points = {*np.ravel(curve_at).tolist()}
        n_rows: list[int] = []
        shares: list[np.ndarray] = []
        half_lives: list[float] = []

        def note(n, learner):
            learner = learner_of(learner)
            if n not in points or not learner.__sklearn_is_fitted__():  # with ``delay``, nothing is learnt at first
                return
            n_rows.append(n)
            shares.append(np.atleast_2d(learner.half_life_).mean(axis=0))
            half_lives[:] = learner.half_lives_

        progressive_validation(estimator, X, y, curve_at=curve_at, callback=note, **options)
        return cls(n_rows, shares, half_lives).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the shares as stacked areas.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.

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


class IntervalDisplay:
    """Intervals for rows in order as bands, fainter with higher coverage, and the targets as dots.

    Parameters
    ----------
    low, high : array-like of shape (n_samples, n_coverages)
        Ends of the intervals.
    y : array-like of shape (n_samples,)
        Targets.
    coverage : array-like of shape (n_coverages,)
        Nominal coverage of the intervals.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the last `plot`.
    figure_ : matplotlib Figure
        The figure of the axes.
    bands_ : list of matplotlib PolyCollection
        The bands, one for each coverage.
    line_ : matplotlib Line2D
        The targets.

    Raises
    ------
    ValueError
        If arrays have other shapes, or targets are missing or infinite.

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
        assert_all_finite(self.y, input_name="y")
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
            Fitted estimator with ``predict_interval``.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Targets.
        coverage : float or array-like of shape (n_coverages,), default=(0.5, 0.9)
            Nominal coverage of the intervals.
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.

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
        """Draw the bands and the targets, with the share of targets inside each band in the legend.

        Infinite intervals fill the height of the axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.

        Returns
        -------
        IntervalDisplay
            The display itself.
        """
        ax = _axes_or_new(ax)
        from matplotlib import rcParams
        from matplotlib.colors import to_rgb, to_rgba

        self.ax_, self.figure_ = ax, ax.figure
        rows, order = np.arange(len(self.y)), np.argsort(-self.coverage)
        face = ax if to_rgba(ax.get_facecolor())[3] > 0 else ax.figure
        blue, behind = np.array([to_rgb("C0"), to_rgb(face.get_facecolor())])
        shades = behind + np.outer(np.linspace(0.3, 0.7, len(order)), blue - behind)  # wider ones are paler
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
                label=f"requested {self.coverage[i]:.3g}, covered {self.held[i]:.3f}",
            )
            for i, shade in zip(order, shades)
        ]
        self.line_: Line2D = ax.plot(rows, self.y, ".", color=rcParams["text.color"], markersize=3, label="target")[0]
        ax.set(xlabel="row", ylabel="target")
        ax.set_ybound(*bound)
        ax.legend()
        return self


class FeatureScalesDisplay:
    """Learnt scales of the features, with the largest at the top.

    Parameters
    ----------
    scales : array-like of shape (n_features,)
        Positive scales.
    names : array-like of shape (n_features,), optional
        Names of the features; ``x0``, ``x1``, ... by default.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the last `plot`.
    figure_ : matplotlib Figure
        The figure of the axes.
    line_ : matplotlib Line2D
        The dots.

    Examples
    --------
    >>> from sklearn_nag.model_selection import FeatureScalesDisplay
    >>> display = FeatureScalesDisplay([1e-3, 1e4], ["width", "income"])
    >>> display.names[0]
    'width'
    """

    def __init__(self, scales: ArrayLike, names: Iterable[str] | None = None):
        self.scales = np.asarray(scales, dtype=np.float64)
        self.names: list[str] = [f"x{i}" for i in range(len(self.scales))] if names is None else list(names)
        if self.scales.ndim != 1 or len(self.names) != len(self.scales):
            raise ValueError(f"scales must be one number for each of {len(self.names)} names.")

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, *, max_features: int = 20, ax: Axes | None = None) -> Self:
        """Draw the scales that an estimator has learnt.

        Parameters
        ----------
        estimator : estimator
            Fitted learner with ``scale_``, or a Pipeline that ends with one.
        max_features : int, default=20
            Number of features to show: those with the largest scales. Features that have always been 0 have no scale.
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.

        Returns
        -------
        FeatureScalesDisplay
            The display, drawn.
        """
        learner, names = _learner_and_names(estimator)
        check_fitted(learner)
        if not hasattr(learner, "scale_"):
            raise TypeError(f"{type(learner).__name__} has no scale_ of its columns to show.")
        scales = learner.scale_
        if hasattr(learner, "coefficients"):
            table = learner.coefficients(names, as_frame=False)
            seen = np.flatnonzero(table.largest[: len(scales)])  # the others have no scale yet
            scales, names = scales[seen], table.feature[seen]
        return cls(scales, names).plot(ax=ax, max_features=max_features)

    def plot(self, ax: Axes | None = None, *, max_features: int = 20) -> Self:
        """Draw the scales on a logarithmic axis.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        max_features : int, default=20
            Number of features to show: those with the largest scales.

        Returns
        -------
        FeatureScalesDisplay
            The display itself.
        """
        check_number("max_features", max_features, Integral, min_val=1)
        ax = _axes_or_new(ax)
        self.ax_, self.figure_ = ax, ax.figure
        largest = np.argsort(-self.scales, kind="stable")[:max_features]
        self.line_: Line2D = ax.plot(self.scales[largest], np.arange(len(largest)), "o")[0]
        ax.set(xscale="log", xlabel="scale")
        name_places(ax, self.names, largest, "scales")
        return self
