"""Effects of one column or two in models of curves and cells, read from weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..estimators._online import OnlineLinear
from ..estimators._parameters import check_number, learner_of, pipelines_of, shown, steps_before_learner
from ..estimators._validation import class_codes
from ..preprocessing import (
    DateEncoder,
    HashingEncoder,
    OnlineCells,
    OnlineColumnTransformer,
    OnlineCurves,
    OnlineOneHotEncoder,
    OnlineOrdinalEncoder,
    OnlineProducts,
)
from ..preprocessing._base import names_in
from ..preprocessing._cells import mean_effects
from ..preprocessing._dates import PARTS
from ..preprocessing._knots import Knots, KnotTransformer
from ..preprocessing._numpy_rows import gaps, hats
from ..preprocessing._words import MISSING
from ._displays import _axes_or_new, _learner_and_names, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_OF_A_COLUMN, _OF_A_PAIR = 50, 20  # most values of a single column, and of each of a pair
_MOST_WORDS = 10  # most words written at an axis


def rows_and_weights(learner: Any, first: int) -> tuple[np.ndarray, np.ndarray]:
    """Share of rows in which each column from ``first`` on is not 0, and its weights in ``coef_``.

    Needs a learner of this package that counts rows, as with ``normalization="auto"``.
    """
    if not learner._state.rule.counts_entries:
        raise ValueError(
            "effects of cells need the share of rows in each cell, which learners with normalization='auto' count; "
            f"this {type(learner).__name__} does not."
        )
    features = slice(first, learner.n_features_in_)
    coef = learner.coef_
    weights = coef[:, features].toarray() if sparse.issparse(coef) else np.atleast_2d(coef)[:, features]
    return learner._state.share_of_rows()[features], weights


class EffectsDisplay:
    """Effects of single columns and of pairs of columns in a model of curves or cells.

    The effect of a column at a value is the mean prediction for rows with this value, minus its mean over the values of
    the column. Effects are read from the weights of the model, without predicting any rows. See
    :ref:`beyond_straight_lines`.

    Parameters
    ----------
    effects : dict
        For each column name, a pair: its values (ascending numbers, or words) and their effects, of shape (n_values,).
        For each pair of column names, the values of both and effects of shape (n_values, n_others).
    ylabel : str, default="effect"
        Label of the effects. `from_estimator` names the class, output or label that they belong to.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        Axes of the last `plot`, one for each effect.
    figure_ : matplotlib Figure
        The figure of the axes.

    Raises
    ------
    ValueError
        If there are no effects, or arrays have other shapes.

    See Also
    --------
    NAGCellsRegressor : A model with such effects.
    sklearn.inspection.PartialDependenceDisplay : The same for any model, by predicting rows many times.

    Notes
    -----
    Lines and curves are sums of functions of single columns, and the effect of a column is exactly its function.
    Products of columns are about 0 on average, so the effect of a column includes only its square, and that of a pair
    also their product.

    For cells, effects are those of scikit-learn's ``partial_dependence(method="recursion")``: rows descend each tree,
    to the side of the value if a cut is on a displayed column, and else to both sides, in proportion to the rows that
    went there. So two columns that matter only together have flat effects, and their pair shows what they do. If
    columns are correlated, the effect of one mixes in those of the others, and a pair has effects where there are no
    rows.

    Columns that number words or parts of dates, as those of `prepare` do, include the effects of their columns of ones
    and zeros. Their values are the words and weekdays, with "(missing)" for a missing one; months, days and hours are
    numbers. Values that no row has had are left out if the learner counts rows.

    Effects are on the scale of decision values: unclipped predictions of regressors, logarithms of predicted means of
    counts, and log odds of classifiers. If several learners are mixed, the effect is their mean, weighted by their
    shares (those of the output, if there are several). For classifiers this is not quite the effect in the mixture,
    because probabilities are mixed.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn_nag import NAGCellsRegressor
    >>> from sklearn_nag.model_selection import EffectsDisplay
    >>> X, y = make_friedman1(2000, random_state=0)
    >>> reg = NAGCellsRegressor(n_trees=50, random_state=0).fit(X, y)
    >>> effects = EffectsDisplay.effects_of(reg, ["x3", ("x0", "x1")])
    >>> values, effect = effects["x3"]  # which has the slope 10
    >>> bool(8.0 < effect[-1] - effect[0] < 11.0)
    True
    """

    def __init__(self, effects: Mapping, *, ylabel: str = "effect"):
        self.effects = {name: tuple(map(np.asarray, parts)) for name, parts in effects.items()}
        self.ylabel = ylabel
        if not self.effects:
            raise ValueError("effects is empty; there is nothing to draw.")
        for name, (*values, effect) in self.effects.items():
            if effect.shape != tuple(map(len, values)) or len(values) != (1 if isinstance(name, str) else 2):
                raise ValueError(f"effects of {name!r} must have one number for each value of each column.")

    @staticmethod
    def effects_of(
        estimator: BaseEstimator, features: Sequence | None = None, *, target: Any = None, max_features: int = 6
    ) -> dict:
        """Compute the effects of columns from the weights of a model.

        Parameters
        ----------
        estimator : estimator
            Fitted `NAGCellsClassifier` or `NAGCellsRegressor`; or `OnlineCurves` or `OnlineCells`, followed by a
            learner of this package that has ``normalization="auto"``. Either may be at the end of a Pipeline.
        features : list of int, str or pair of these, optional
            Columns and pairs of columns; in a Pipeline, columns of the previous step's output. By default the
            ``max_features`` columns with the largest effects, by standard deviation, in descending order.
        target : object, optional
            The class, if there are more than two; or the number of the output or label, if there are several.
        max_features : int, default=6
            Number of columns if ``features`` is not given.

        Returns
        -------
        dict
            The ``effects`` of the class.

        Raises
        ------
        TypeError
            If the estimator is of another kind.
        ValueError
            If a column has neither a curve nor cells, if there are no knots yet, or if cells are hashed.
        """
        return _Model(estimator, target).effects(features, max_features)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        features: Sequence | None = None,
        *,
        target: Any = None,
        max_features: int = 6,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the effects of columns in a model.

        Parameters
        ----------
        estimator : estimator
            As for `effects_of`.
        features : list of int, str or pair of these, optional
            As for `effects_of`.
        target : object, optional
            As for `effects_of`.
        max_features : int, default=6
            Number of columns if ``features`` is not given.
        ax : matplotlib Axes, optional
            Axes whose place the effects take; a new figure by default.

        Returns
        -------
        EffectsDisplay
            The display, drawn.
        """
        model = _Model(estimator, target)
        return cls(model.effects(features, max_features), ylabel=model.ylabel).plot(ax=ax)

    def plot(self, ax: Axes | None = None, *, n_cols: int = 3) -> Self:
        """Draw the effect of a column as a line, or as dots for words, and that of a pair as a colour map.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes whose place the effects take; a new figure by default.
        n_cols : int, default=3
            Number of effects in a row of the figure.

        Returns
        -------
        EffectsDisplay
            The display itself.
        """
        n = len(self.effects)
        check_number("n_cols", n_cols, Integral, min_val=1)
        n_cols = min(n_cols, n)
        n_lines = -(-n // n_cols)
        ax = _axes_or_new(ax, figsize=(3.2 * n_cols, 2.6 * n_lines))
        self.figure_ = ax.figure
        place = ax.get_subplotspec()
        if place is None:
            raise ValueError("ax must be one of the axes that plt.subplots makes.")
        grid = place.subgridspec(n_lines, n_cols)
        ax.set_axis_off()
        self.axes_ = np.array([self.figure_.add_subplot(grid[divmod(i, n_cols)]) for i in range(n)])
        single = [effect for *values, effect in self.effects.values() if len(values) == 1]
        limits = min(map(np.min, single), default=0.0), max(map(np.max, single), default=0.0)
        margin = 0.05 * (limits[1] - limits[0]) or 1.0
        for own, (name, (*values, effect)) in zip(self.axes_, self.effects.items()):
            places = [_places_on(axis, words) for axis, words in zip((own.xaxis, own.yaxis), values)]
            if len(values) == 1:
                own.plot(*places, effect, "-" if places[0] is values[0] else "o")
                own.set(xlabel=short(name), ylim=(limits[0] - margin, limits[1] + margin))
            else:
                drawn = own.pcolormesh(*places, effect.T, shading="nearest")
                self.figure_.colorbar(drawn, ax=own, label=self.ylabel)
                own.set(xlabel=short(name[0]), ylabel=short(name[1]))
        for own in self.axes_[::n_cols]:
            if not own.get_ylabel():
                own.set_ylabel(self.ylabel)
        return self


def _places_on(axis, values):
    """Positions of values on an axis; words become labels, some of them if many."""
    if values.dtype.kind in "iuf":
        return values
    places = np.arange(len(values))
    some = _some(places, _MOST_WORDS)
    axis.set_ticks(some, [short(values[place]) for place in some], rotation=90 if axis.axis_name == "x" else 0)
    return places


class _Model:
    """Sources of effects: transformers, weights of their columns, and the share of each in predictions."""

    def __init__(self, estimator, target):
        check_is_fitted(estimator)
        learner, before, pipelines = learner_of(estimator), steps_before_learner(estimator), []
        if isinstance(learner, OnlineLinear) and learner is not estimator:
            pipelines, shares = [pipelines_of(estimator)[-1][-2:]], np.ones((1, 1))
            before = before[:-1]
        elif hasattr(learner, "_weights_by_group"):
            pipelines, shares = learner.estimators_, learner._weights_by_group()
        parts = [self._read(pipeline) for pipeline in pipelines]
        if not parts or any(part is None for part in parts):
            raise TypeError(
                "estimator must be NAGCellsClassifier, NAGCellsRegressor, or OnlineCurves or OnlineCells followed by a "
                f"learner of this package, alone or at the end of a pipeline; got {type(learner).__name__}."
            )
        if not isinstance(first := parts[0][0], KnotTransformer):
            raise TypeError("estimator has only products; effects need curves or cells.")
        try:
            names = _learner_and_names(estimator)[1]
        except AttributeError:  # some step gives none
            names = None
        names = names_in(learner) if names is None else names
        self.names = names[: first.n_features_in_]  # without those of cells
        self.columns = first._state.columns
        self.which = _place_of_target(learner, parts[0][1], target)
        shares = shares[:, min(self.which, shares.shape[1] - 1)]  # those of the output; classes share theirs
        self.parts = [(share, *part) for share, part in zip(shares, parts) if share > 0]
        if first._state.knots is None:
            raise ValueError(f"there are no knots yet: the model has not seen first_rows={first.first_rows} rows.")
        self.ones = _ones_of(before[-1]) if before and isinstance(before[-1], OnlineColumnTransformer) else {}
        known = zip(*(step.knots_ for step, _ in parts if isinstance(step, KnotTransformer)))
        self.knots = [own[0] if len(own[0]) > 2 else max(own, key=len) for own in known]  # later cells may have more
        line = parts[0][1]
        for place, column in enumerate(self.columns):
            if column in self.ones:
                known, _, by_step = self.ones[column]
                self.knots[place] = known[_are_seen(line, len(known), by_step)]
            elif len(self.knots[place]) == 1 and line._state.rule.centred:  # what does not vary has no effect
                self.knots[place] = line.mean_[column] + line.scale_[column] * np.array([-1.0, 1.0])
        self.ylabel, kind, n = "effect", line._kind_of_target, len(line.intercept_)
        if kind == "class":
            self.ylabel = f"effect towards {short(learner.classes_[self.which if n > 1 else 1])}"
        elif n > 1:
            self.ylabel = f"effect on {kind} {self.which}"

    @staticmethod
    def _read(pipeline):
        """The transformer and the learner of a pipeline; None if it has other steps."""
        steps = [step for _, step in pipeline.steps] if isinstance(pipeline, Pipeline) else []
        kinds = KnotTransformer | OnlineProducts, OnlineLinear
        return tuple(steps) if len(steps) == 2 and all(map(isinstance, steps, kinds)) else None

    def effects(self, features, max_features):
        """Same as `EffectsDisplay.effects_of`."""
        check_number("max_features", max_features, Integral, min_val=1)
        if features is not None:
            return dict(self.effect_of(feature) for feature in features)
        found = [self.effect_of(int(column)) for column, knots in zip(self.columns, self.knots) if len(knots)]
        found.sort(key=lambda pair: -np.std(pair[1][-1]))
        return dict(found[:max_features])

    def effect_of(self, feature):
        """Name of a column or pair, and its values followed by effects."""
        pair = isinstance(feature, tuple | list)
        places = [self._place(entry) for entry in (feature if pair else [feature])]
        if pair and not len(places) == len({*places}) == 2:
            raise ValueError(f"features has {shown(feature)}, which is neither a column nor a pair of columns.")
        names = [str(self.names[self.columns[place]]) for place in places]
        values = [_some(self.knots[place], _OF_A_PAIR if pair else _OF_A_COLUMN) for place in places]
        points = np.stack([axis.ravel() for axis in np.meshgrid(*values, indexing="ij")], axis=1)
        effect = sum(share * self._effect(*part, places, points) for share, *part in self.parts)
        effect = (effect - effect.mean()).reshape(*map(len, values))
        values = [self._named(self.columns[place], own) for place, own in zip(places, values)]
        return tuple(names) if pair else names[0], (*values, effect)

    def _named(self, column, numbers):
        """Words or weekdays for their numbers in a column; other numbers unchanged."""
        known, names, _ = self.ones.get(column, (None, None, None))
        return numbers if names is None else names[np.searchsorted(known, numbers)]

    def _place(self, feature):
        """Place of a column among those with knots."""
        found = np.flatnonzero(self.names == feature) if isinstance(feature, str) else [feature]
        place = np.flatnonzero(np.isin(self.columns, found))
        if len(place) != 1 or not len(self.knots[place[0]]):
            raise ValueError(f"features has {shown(feature)}, which is not a column with a curve or cells.")
        return int(place[0])

    def _effect(self, transformer, learner, places, points):
        """Effect, up to a constant, of ``points``: values of the columns with knots at ``places``."""
        n, seen = transformer.n_features_in_, transformer._state
        coef = learner.coef_
        coef = coef[[self.which]].toarray()[0] if sparse.issparse(coef) else np.atleast_2d(coef)[self.which]
        effect = points @ coef[seen.columns[places]]
        for column, numbers in zip(seen.columns[places], points.T):
            if column in self.ones:
                known, _, by_step = self.ones[column]
                for beside, ones in by_step:
                    effect += (ones @ coef[beside])[np.searchsorted(known, numbers)]
        if isinstance(transformer, OnlineProducts):
            values = np.tile(transformer.means_, (len(points), 1))  # others deviate by 0, so their products are 0
            values[:, places] = points
            return effect + transformer._effect(values) @ coef[n:]
        knots = [transformer.knots_[place] for place in places]
        if isinstance(transformer, OnlineCells):
            if transformer._hashes:
                raise ValueError("cells are hashed, so weights are shared between cells: increase max_columns.")
            share, weight = rows_and_weights(learner, n)
            shape = (transformer.n_trees, -1)
            gap = gaps(points, _knots_of(knots))
            own = mean_effects(seen.made, share.reshape(shape), weight[self.which].reshape(shape), places, gap)
            return effect + own
        if isinstance(transformer, OnlineCurves) and transformer.n_knots:
            width = transformer.n_knots + 1
            parts = hats(points, _knots_of(knots), transformer.n_knots)
            block = np.concatenate([coef[n + place * width : n + (place + 1) * width] for place in places])
            effect = effect + sparse.csr_array(parts, shape=(len(points), len(block))) @ block
        return effect


def _ones_of(step):
    """For each column of ``step`` that numbers words or parts of dates: the numbers, their names, and indicators.

    Names are None for months, days and hours. Each transformer that makes indicators adds a pair: a slice of the
    columns of ``step``, and their values for each number.
    """
    found, starts = {}, np.add.accumulate([0, *step._widths])
    parts = list(zip(step.transformers_, starts))
    for ((_, own, places), start), ((_, other, others), begin) in product(parts, repeat=2):
        if isinstance(own, OnlineOrdinalEncoder) and isinstance(other, OnlineOneHotEncoder | HashingEncoder):
            for i, (place, words) in enumerate(zip(places, own.categories_)):
                if place in others:
                    rows = np.full((len(words), len(others)), None)
                    rows[:, others.index(place)] = words
                    ones, _ = other._made_of(rows)
                    names = np.where(np.equal(words, None), MISSING, words)
                    *_, by_step = found.setdefault(start + i, (np.arange(float(len(words))), names, []))
                    by_step.append((slice(begin, begin + ones.shape[1]), ones))
        elif isinstance(own, DateEncoder) and isinstance(other, DateEncoder) and other.one_hot and not own.one_hot:
            widths = [len(PARTS[part]) for part in other.parts]
            for i, (place, part) in enumerate(product(places, own.parts)):
                if place in others and part in other.parts and part != "days":
                    numbers = np.arange(len(PARTS[part])) + float(part in ("month", "day"))
                    names = np.array(PARTS[part]) if part == "weekday" else None
                    at = begin + others.index(place) * sum(widths) + sum(widths[: other.parts.index(part)])
                    *_, by_step = found.setdefault(start + i, (numbers, names, []))
                    by_step.append((slice(at, at + len(numbers)), np.eye(len(numbers))))
    return found


def _are_seen(learner, n, by_step):
    """Which of ``n`` numbers occurred, by their indicators; all if the learner counts no rows."""
    if not learner._state.rule.counts_entries:
        return np.ones(n, dtype=bool)
    share = learner._state.share_of_rows()
    return np.any([ones @ share[beside] > 0 for beside, ones in by_step], axis=0)


def _knots_of(knots):
    """`Knots` of several columns from those of each."""
    starts = np.add.accumulate([0, *map(len, knots)], dtype=np.int64)
    return Knots(np.concatenate(knots), starts, np.zeros(len(knots)))


def _some(values, n):
    """At most ``n`` of ascending values, including the ends."""
    return values[np.unique(np.linspace(0, len(values) - 1, n).astype(int))]


def _place_of_target(estimator, learner, target):
    """Row of ``coef_`` for a class or output."""
    n = len(learner.intercept_)
    if n == 1:
        return 0
    kind = learner._kind_of_target
    if target is None:
        raise ValueError(f"target must name one of {n} {'classes' if kind == 'class' else f'{kind}s'}.")
    if kind == "class":
        return int(class_codes(np.asarray([target]), estimator.classes_)[0])
    if target not in range(n):
        raise ValueError(f"target is {shown(target)}; there are the {kind}s 0 to {n - 1}.")
    return int(target)
