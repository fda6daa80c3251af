"""Comparison of learners on a user's table, by predictions of held-out rows."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier, SGDRegressor
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold, TimeSeriesSplit
from sklearn.preprocessing import StandardScaler
from sklearn.utils.parallel import Parallel, delayed

from .. import config_context
from ..ensemble import NAGCellsClassifier, NAGCellsRegressor
from ..estimators import NAGClassifier, NAGRegressor
from . import measures
from .measures import OF_CLASSES, OF_QUANTITIES, Predictions, difference
from .rates import unless_it_overflows

OURS, PEERS, BASELINES = "of this package", "of scikit-learn", "without columns"
REPEATS = 2  # of the cross-validation, with new folds; in the order of time, this many times as many stretches
COVERAGE = 0.9  # of intervals
MOST_COLUMNS = 100  # most columns for cells; of more, only numbers and days get them
SMALL = 300  # rows below which NumPy finishes before Numba has compiled
ALONE = 2000  # rows below which one process finishes before others have started
BATCHES = 20  # of held-out rows, for learners that go on learning
SURE = 0.05  # p values below which a difference is significant
MATERIAL = 0.01  # share of an error that is worth another learner


class Learner(NamedTuple):
    """A learner to compare; the first one of a list is the reference."""

    name: str
    family: str  # `OURS`, `PEERS` or `BASELINES`
    estimator: Any
    is_scaled: bool = False  # whether its numbers are standardised
    goes_on: bool = False  # whether it also learns held-out rows, batch by batch, after predicting them


@dataclass(frozen=True)
class Outcome:
    """Results of a learner: values of each measure on each split, and seconds per fit."""

    learner: Learner
    values: Mapping[str, np.ndarray]
    seconds: float

    @property
    def name(self):
        return self.learner.name


@dataclass(frozen=True)
class Comparison:
    """Results of all learners on a table."""

    table: Any
    metric: str  # name of the measure that ranks the learners
    measures: Mapping[str, measures.Metric]
    outcomes: list[Outcome]  # the reference first
    n_train: float  # training and test rows, in the mean over the splits
    n_test: float
    coverage: float | None  # share of held-out targets in the reference's 90 % intervals
    n_of_one: int = 0  # splits with test rows of one class, for which measures that need both have no value

    @property
    def judge(self):
        """The measure that ranks the learners."""
        return self.measures[self.metric]

    @property
    def n_splits(self):
        return len(self.outcomes[0].values[self.metric]) + self.n_of_one * self.judge.needs_both

    @property
    def reference(self):
        """The learner of this package with its defaults."""
        return self.outcomes[0]

    def baseline(self, outcome):
        """The best baseline; it goes on only if the outcome's learner does."""
        fair = [o for o in self.of(BASELINES) if outcome.learner.goes_on or not o.learner.goes_on]
        return min(fair, key=self.error)

    def of(self, family):
        """Outcomes of a family of learners."""
        return [outcome for outcome in self.outcomes if outcome.learner.family == family]

    def errors(self, outcome):
        """Errors of an outcome on each split, by the measure that ranks."""
        return self.judge.errors(outcome.values[self.metric])

    def error(self, outcome):
        """Mean of `errors`; infinite if the learner has failed."""
        return float(np.nan_to_num(self.errors(outcome).mean(), nan=np.inf))

    def difference(self, one, other):
        """`Difference` of the errors of two outcomes."""
        return difference(self.errors(one), self.errors(other), self.n_train, self.n_test)

    def p_values(self):
        """P values of no difference to the reference, by name, adjusted for their number."""
        others = [outcome for outcome in self.outcomes[1:] if outcome.learner.family != BASELINES]
        adjusted = measures.holm([self.difference(outcome, self.reference).p for outcome in others])
        return dict(zip((outcome.name for outcome in others), adjusted.tolist()))

    def better(self, family):
        """Outcomes of a family significantly and materially better than the reference, best first."""
        p_values, bound = self.p_values(), (1.0 - MATERIAL) * self.error(self.reference)
        found = [o for o in self.of(family) if p_values.get(o.name, 1.0) < SURE and self.error(o) < bound]
        return sorted(found, key=self.error)

    @property
    def chosen(self):
        """The learner of this package to use: the reference, unless another is significantly better.

        If the reference is no better than its baseline, it is the best of those that are, or else of all.
        """
        if self.tells_something(self.reference):
            return next(iter(self.better(OURS)), self.reference)
        return min(self.telling(OURS) or self.of(OURS), key=self.error)

    def tells_something(self, outcome):
        """Whether an outcome is significantly better than its baseline, tested alone."""
        found = self.difference(outcome, self.baseline(outcome))
        return bool(found.mean < 0 and found.p < SURE)

    def telling(self, family):
        """Outcomes of a family that are significantly better than their baselines, tested together, best first."""
        outcomes = [outcome for outcome in self.outcomes if outcome.learner.family != BASELINES]
        found = [self.difference(outcome, self.baseline(outcome)) for outcome in outcomes]
        p_values = measures.holm([d.p for d in found])
        telling = [o for o, d, p in zip(outcomes, found, p_values) if d.mean < 0 and p < SURE]
        return sorted((o for o in telling if o.learner.family == family), key=self.error)


def learners(table, metric, columns):
    """Learners to compare on a table; the first is this package's with its defaults.

    Curves and cells are made of ``columns``, given by place.
    """
    of_classes = table.is_classification
    line, cells = (NAGClassifier, NAGCellsClassifier) if of_classes else (NAGRegressor, NAGCellsRegressor)

    def ours(changed="", goes_on=False, **parameters):
        """A learner that `fit` trains until the loss settles, or in one ordered pass."""
        name = ", ".join(filter(None, [line.__name__, changed, "goes on" if goes_on else ""]))
        in_order = {"max_iter": 1, "shuffle": False} if table.time is not None and parameters else {}
        return Learner(name, OURS, line(random_state=0, **in_order | parameters), goes_on=goes_on)

    found = [ours(), ours("one pass", max_iter=1), ours('eta0="auto"', eta0="auto", shuffle=True, max_iter=1000)]
    if columns:
        found.append(Learner(cells.__name__, OURS, cells(columns=columns, random_state=0)))
    if table.time is not None:
        found.append(ours("one pass", goes_on=True, max_iter=1))
        found.append(ours('half_life="auto"', goes_on=True, half_life="auto"))
    if metric == "accuracy":
        found.append(ours('loss="hinge"', loss="hinge", shuffle=True, max_iter=1000))
    if not of_classes and measures.has_heavy_tails(table.y):
        for loss in ("huber", "absolute_error"):
            found.append(ours(f'loss="{loss}"', loss=loss, shuffle=True, max_iter=1000))
        if table.y.min() > 0:  # the median of logarithms is the logarithm of the median
            name, model = f"{found[-1].name}, of logarithms", found[-1].estimator
            found.append(Learner(name, OURS, TransformedTargetRegressor(model, func=np.log, inverse_func=np.exp)))
    if of_classes:
        peers = [SGDClassifier(loss="log_loss", random_state=0), LogisticRegression(max_iter=300)]
        baselines = [("class frequencies", DummyClassifier(), False)]
    else:
        peers = [SGDRegressor(random_state=0), Ridge()]
        medians = DummyRegressor(strategy="median")
        baselines = [("mean of the target", DummyRegressor(), False), ("median of the target", medians, False)]
        if table.time is not None:
            baselines += [("the latest target", Latest(), False), ("the latest target, goes on", Latest(), True)]
    found += [Learner(f"{type(peer).__name__}, scaled", PEERS, peer, is_scaled=True) for peer in peers]
    return found + [Learner(name, BASELINES, dummy, goes_on=goes_on) for name, dummy, goes_on in baselines]


class Latest(RegressorMixin, BaseEstimator):
    """Predicts the last target that it has learnt."""

    def fit(self, X, y):
        """Keep the last target."""
        self.latest_ = y[-1]
        return self

    partial_fit = fit

    def predict(self, X):
        """Return the last target for each row."""
        return np.full(X.shape[0], self.latest_)


def metric_of(table, asked=None):
    """Measure to rank by: log loss; root mean squared error, or the median error if tails are heavy.

    Raise ValueError if ``asked`` does not suit the target.
    """
    if asked is None:
        if table.is_classification:
            return "log_loss"
        return "median_absolute_error" if measures.has_heavy_tails(table.y) else "root_mean_squared_error"
    known = _measures(table)
    if asked not in known:
        raise ValueError(
            f"--metric {asked}: {table.target!r} is {'a class' if table.is_classification else 'a quantity'}, so the "
            f"metric must be one of {', '.join(known)}."
        )
    return asked


def _measures(table):
    if not table.is_classification:
        return OF_QUANTITIES
    if len(np.unique(table.y)) > 2:
        return {name: OF_CLASSES[name] for name in ("log_loss", "accuracy")}
    return OF_CLASSES


def shown_measures(table, metric):
    """Measures to show, by name, the one that ranks first.

    Average precision is one if a class is rare, the median error if tails are heavy.
    """
    left_out = set()
    if table.is_classification and not measures.is_rare(table.y):
        left_out.add("average_precision")
    if not table.is_classification:
        heavy = measures.has_heavy_tails(table.y)
        left_out.add("root_mean_squared_error" if heavy else "median_absolute_error")
    known = _measures(table)
    names = [metric, *(name for name in known if name != metric and name not in left_out)]
    return {name: known[name] for name in names}


def splits(table, folds):
    """Places of training and test rows, the same for all learners, as a list of pairs.

    In the order of time, test rows are later. Splits with one class to learn are left out. Raise ValueError if fewer
    than two are left.
    """
    if table.time is None:
        make = RepeatedStratifiedKFold if table.is_classification else RepeatedKFold
        splitter = make(n_splits=folds, n_repeats=REPEATS, random_state=0)
    else:
        splitter = TimeSeriesSplit(min(REPEATS * folds, max(2, len(table.y) // 4)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes with fewer rows than there are folds
        found = list(splitter.split(table.y, table.y))
    found = [(train, test) for train, test in found if len(set(table.y[train])) > 1]
    if len(found) < 2:
        raise ValueError(
            f"the first rows by {table.time!r} have only one value of {table.target!r}; --shuffle ignores the order."
        )
    return found


def compare(table, metric, folds, n_jobs):
    """Compare learners on a table.

    Yield the numbers of splits tried and in all, and None or, the last time, the `Comparison`. Raise ValueError for a
    metric that has a value in fewer than two splits.
    """
    parts = splits(table, folds)
    shown = shown_measures(table, metric)
    have_both = np.array([len(set(table.y[test])) > 1 for _, test in parts])
    if shown[metric].needs_both and have_both.sum() < 2:
        raise ValueError(
            f"--metric {metric}: the test rows have both classes of {table.target!r} in {have_both.sum()} of "
            f"{len(parts)} splits; at least two are needed. --metric log_loss needs no such split."
        )
    candidates = learners(table, metric, columns_of_cells(table))
    jobs = (delayed(try_split)(table, candidates, shown, *part) for part in parts)
    found = []
    n_jobs = 1 if n_jobs == -1 and len(table.y) < ALONE else n_jobs
    for done, tried in enumerate(Parallel(n_jobs=n_jobs, return_as="generator")(jobs), 1):
        found.append(tried)
        if done < len(parts):
            yield done, len(parts), None
    values, seconds, coverage = (np.array(of_splits) for of_splits in zip(*found))
    judged = {name: have_both | (not measure.needs_both) for name, measure in shown.items()}
    outcomes = []
    for i, learner in enumerate(candidates):
        own = {name: values[judged[name], i, j] for j, name in enumerate(shown)}
        outcomes.append(Outcome(learner, own, float(seconds[:, i].mean())))
    sizes = np.array([[len(train), len(test)] for train, test in parts])[judged[metric]].mean(axis=0)
    covered = None if np.isnan(coverage).any() else float(coverage.mean())
    n_of_one = int((~have_both).sum())
    yield done, done, Comparison(table, metric, shown, outcomes, *sizes.tolist(), covered, n_of_one)


def try_split(table, candidates, shown, train, test):
    """Let all learners learn some rows and predict others.

    Returns
    -------
    values : list of list of float
        Of each learner by each measure, NaN where it has failed.
    seconds : list of float
        That each took to learn.
    coverage : float
        Of the intervals of the first learner, NaN where it has none.
    """
    pipeline = clone(table.prepare)
    y, classes = table.y, None
    if table.is_classification:
        classes, y = coded(table.y)
    rows = pipeline.fit_transform(table.X.iloc[train]), pipeline.transform(table.X.iloc[test])
    scaled = standardised(*rows, places_of_numbers(pipeline, table.X.columns))
    values, seconds, coverage = [], [], np.nan
    small = {"kernel": "numpy"} if len(y) < SMALL else {}
    for learner in candidates:
        X, X_test = scaled if learner.is_scaled else rows
        begin = time.perf_counter()
        with warnings.catch_warnings(), np.errstate(all="ignore"), config_context(**small):
            warnings.simplefilter("ignore")  # learners that have not settled
            model = unless_it_overflows(lambda: clone(learner.estimator).fit(X, y[train]))  # noqa: B023
            seconds.append(time.perf_counter() - begin)
            if model is None:
                values.append([np.nan] * len(shown))
                continue
            if learner is candidates[0] and classes is None:
                low, high = model.predict_interval(X_test, COVERAGE).T
                coverage = ((low <= y[test]) & (y[test] <= high)).mean()
            predicted = predictions(model, X_test, y[test], None if classes is None else len(classes), learner.goes_on)
            values.append([unless_it_overflows(lambda: m.score(y[test], predicted)) for m in shown.values()])  # noqa: B023
    return [[np.nan if value is None else float(value) for value in of] for of in values], seconds, coverage


def coded(y):
    """Classes, and each row's class as a number from 0; of two, the rarer one is 1."""
    counts = Counter(y.tolist())
    classes = sorted(counts)
    if len(classes) == 2 and counts[classes[0]] < counts[classes[1]]:
        classes.reverse()
    places = {label: place for place, label in enumerate(classes)}
    return classes, np.array([places[label] for label in y])


def predictions(model, X, y, n_classes, goes_on):
    """Predictions of a model; one that goes on learns each batch after predicting it."""
    if not goes_on:
        return _predict(model, X, n_classes)
    found = []
    for places in np.array_split(np.arange(len(y)), min(BATCHES, len(y))):
        found.append(_predict(model, X[places], n_classes))
        if n_classes is not None:
            places = places[np.isin(y[places], model.classes_)]  # others can no longer be learnt
        if len(places):
            model.partial_fit(X[places], y[places])
    if n_classes is None:
        return np.concatenate(found)
    return Predictions(*(None if part[0] is None else np.concatenate(part) for part in zip(*found)))


def _predict(model, X, n_classes):
    if n_classes is None:
        return model.predict(X)
    classes = model.predict(X)
    if not hasattr(model, "predict_proba"):
        return Predictions(classes, None, model.decision_function(X) if n_classes == 2 else None)
    probabilities = np.zeros((len(classes), n_classes))
    probabilities[:, model.classes_] = model.predict_proba(X)
    return Predictions(classes, probabilities, probabilities[:, 1] if n_classes == 2 else None)


def places_of_numbers(pipeline, names):
    """Places of numbers and days in the output of a fitted pipeline, where they keep their names."""
    made, names = pipeline.get_feature_names_out(), set(names)
    return [place for place, name in enumerate(made) if name in names or name.removesuffix("_days") in names]


def columns_of_cells(table):
    """Places of the columns that curves and cells are made of, as a list.

    They are all columns that are not always 0, if few and not hashed; otherwise those of numbers and days.
    """
    pipeline = clone(table.prepare)
    made = pipeline.fit_transform(table.X)
    used = np.flatnonzero(np.diff(made.tocsc().indptr) if sparse.issparse(made) else (made != 0).any(axis=0)).tolist()
    are_hashed = made.shape[1] > MOST_COLUMNS**2
    return used if len(used) <= MOST_COLUMNS and not are_hashed else places_of_numbers(pipeline, table.X.columns)


def standardised(X, X_test, places):
    """Rows with the columns at ``places`` standardised and put first; sparse ones with 32-bit indices."""
    others = np.setdiff1d(np.arange(X.shape[1]), places)
    scaler = StandardScaler()
    parts = []
    for rows, scale in ((X, scaler.fit_transform), (X_test, scaler.transform)):
        if not sparse.issparse(rows):
            parts.append(np.hstack([scale(rows[:, places]), rows[:, others]]) if places else rows)
            continue
        numbers = [sparse.csr_array(scale(rows[:, places].toarray()))] if places else []
        together = sparse.hstack([*numbers, rows[:, others]], format="csr")
        together.indices, together.indptr = (part.astype(np.intc) for part in (together.indices, together.indptr))
        parts.append(together)
    return parts
