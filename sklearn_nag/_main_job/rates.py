"""Learners compared on the bundled data sets by cross-validation over learning rates."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.parallel import Parallel, delayed

from .. import config_context
from ..estimators import NAGClassifier, NAGRegressor
from ..model_selection._displays import ends_of_run
from ..model_selection._sweep import Sweep

ETAS = 10.0 ** (np.arange(-12, 9) / 2)  # the default, 1, is among them
PASSES = {"max_iter": 3, "tol": None, "random_state": 0}
SMALL = 1000  # rows below which NumPy finishes before Numba has compiled
HOPELESS = 1e6  # errors from which a learner counts as diverged
OVERFLOWS = ("overflow", "infinity", "NaN")  # words in scikit-learn's errors if a learner has left float64


class Task(NamedTuple):
    """A data set."""

    name: str
    X: np.ndarray
    y: np.ndarray
    is_classification: bool

    @property
    def error(self):
        return "1 - accuracy" if self.is_classification else "1 - R²"


def bundled_tasks():
    """The data sets that ship with scikit-learn, in raw units."""
    loaders = {"breast cancer": load_breast_cancer, "wine": load_wine, "digits": load_digits}
    tasks = [Task(name, *load(return_X_y=True), True) for name, load in loaders.items()]
    return [*tasks, Task("diabetes", *load_diabetes(return_X_y=True, scaled=False), False)]


class Learner(NamedTuple):
    """A learner with the transformer before it, and its form with default parameters, None if the same."""

    name: str
    prepare: object
    estimator: object
    default: object = None


class Result(NamedTuple):
    """Errors of a learner in each fold, for each of ``ETAS`` and by default; NaN if it diverged."""

    name: str
    folds: np.ndarray
    default_folds: np.ndarray

    @property
    def errors(self):
        """Mean over the folds for each of ``ETAS``; NaN if any diverged."""
        means = self.folds.mean(axis=1)
        return np.where(means < HOPELESS, means, np.nan)

    @property
    def default(self):
        """Mean over the folds with default parameters; NaN if the learner diverged."""
        mean = self.default_folds.mean()
        return mean if mean < HOPELESS else np.nan

    @property
    def best(self):
        """Index of the best learning rate; 0 if all diverged."""
        return int(np.argmin(np.nan_to_num(self.errors, nan=np.inf)))


class Range(NamedTuple):
    """Results of all learners on a task, and the error of predicting the most frequent class or the mean."""

    task: Task
    results: list[Result]
    baseline: float

    @property
    def winner(self):
        """The result with the least error at its best learning rate."""
        return min(self.results, key=lambda result: np.nan_to_num(result.errors[result.best], nan=np.inf))

    @property
    def good_enough(self):
        """The least error of all learners, plus one standard error of its folds."""
        winner = self.winner
        return winner.errors[winner.best] + standard_error(winner.folds[winner.best])

    def good(self, result):
        """First and last index of the good enough learning rates around a learner's best one, or None."""
        return ends_of_run(result.errors <= self.good_enough, result.best)


def standard_error(folds):
    """Standard error of the mean over folds."""
    return np.std(folds, ddof=1) / np.sqrt(len(folds))


def learners(task):
    """Learners to compare on a task: first this package's defaults, last SGD on scaled features."""
    printed = {"centering": False, "importance_aware": False, "average": False, **PASSES}
    if task.is_classification:
        ours, theirs, printed = NAGClassifier, SGDClassifier, {"multi_class": "ovr", **printed}
        peer, default = {"loss": "log_loss", "learning_rate": "constant"}, {"loss": "log_loss"}
    else:
        ours, theirs, printed = NAGRegressor, SGDRegressor, {"target_normalization": None, "clip": None, **printed}
        peer, default = {"learning_rate": "constant"}, {}
    adagrad = ours(normalization=None, **printed)
    raw, scaled = FunctionTransformer(), StandardScaler()
    sgd, sgd_default = theirs(**peer, **PASSES), theirs(**default, **PASSES)
    return [
        Learner(ours.__name__, raw, ours(**PASSES)),
        Learner("NAG", raw, ours(normalization="max", **printed)),
        Learner("sNAG", raw, ours(normalization="rms", **printed)),
        Learner("AdaGrad", raw, adagrad),
        Learner("AdaGrad, scaled", scaled, adagrad),
        Learner(theirs.__name__, raw, sgd, sgd_default),
        Learner(f"{theirs.__name__}, scaled", scaled, sgd, sgd_default),
    ]


def compare(tasks, folds, n_jobs):
    """Compare all learners on each task.

    Yield the number of learners tried, their number over all tasks, and the `Range` of a finished task, or None.
    """
    jobs = [(task, learner) for task in tasks for learner in learners(task)]
    found = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(try_learner)(*job, folds) for job in jobs)
    results = []
    for done, ((task, _), result) in enumerate(zip(jobs, found), 1):
        results.append(result)
        if done == len(jobs) or jobs[done][0] is not task:
            yield done, len(jobs), Range(task, results, baseline(task, folds))
            results = []
        else:
            yield done, len(jobs), None


def split(task, folds):
    """Training and test rows for each fold, the same for all learners."""
    splitter = (StratifiedKFold if task.is_classification else KFold)(folds, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes with fewer rows than there are folds
        return list(splitter.split(task.X, task.y))


def try_learner(task, learner, folds):
    """`Result` of one of `learners` on a task."""
    errors, default_errors = [], []
    kernel = {"kernel": "numpy"} if len(task.y) < SMALL else {}
    for train, test in split(task, folds):
        prepare = clone(learner.prepare)
        with warnings.catch_warnings(), np.errstate(all="ignore"), config_context(**kernel):
            warnings.simplefilter("ignore")  # a range of learning rates has bad ends
            rows = prepare.fit_transform(task.X.take(train, axis=0)), task.y[train]
            new_rows = prepare.transform(task.X.take(test, axis=0)), task.y[test]
            errors.append([_error(fitted, new_rows) for fitted in _fit(learner.estimator, rows)])
            if learner.default is not None:
                default_errors.append(_error(_fit_one(learner.default, rows), new_rows))
    folds_by_eta = np.array(errors).T
    default = folds_by_eta[np.argmin(np.abs(ETAS - 1.0))] if learner.default is None else np.array(default_errors)
    return Result(learner.name, folds_by_eta, default)


def _fit(estimator, rows):
    """Estimators fitted with each of ``ETAS``, None if diverged; this package's share their passes."""
    if isinstance(estimator, (NAGClassifier, NAGRegressor)):
        return Sweep(estimator, tuple(ETAS.tolist())).fit(*rows)
    return (_fit_one(clone(estimator).set_params(eta0=eta), rows) for eta in ETAS)


def _fit_one(estimator, rows):
    return unless_it_overflows(lambda: clone(estimator).fit(*rows))


def _error(fitted, rows):
    """1 minus the score; NaN for a model that has diverged."""
    score = None if fitted is None else unless_it_overflows(lambda: fitted.score(*rows))
    return np.nan if score is None else 1.0 - score


def unless_it_overflows(make):
    """Result of a function; None if a learner left float64, for which scikit-learn raises ValueError."""
    try:
        return make()
    except ValueError as error:
        if not any(word in str(error) for word in OVERFLOWS):
            raise
        return None


def baseline(task, folds):
    """Error of predicting the most frequent class or the mean, on the same folds."""
    dummy = DummyClassifier() if task.is_classification else DummyRegressor()
    return 1.0 - float(cross_val_score(dummy, np.zeros((len(task.y), 1)), task.y, cv=split(task, folds)).mean())
