"""Ranges of learning rates agree with scikit-learn's own search, and good rates are those near the best."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from sklearn_nag._main_job import rates
from sklearn_nag._main_job.rates import Range, Result, Task, compare, learners, split, try_learner
from sklearn_nag._main_job.report import range_table, range_verdict

WINE = Task("wine", *load_wine(return_X_y=True), True)
DIABETES = Task("diabetes", *load_diabetes(return_X_y=True, scaled=False), False)
ETAS = np.array([0.01, 1.0, 100.0])


@pytest.mark.parametrize("task", [WINE, DIABETES], ids=lambda task: task.name)
@pytest.mark.parametrize("which", range(7))
def test_errors_are_those_of_grid_search(monkeypatch, task, which):
    monkeypatch.setattr(rates, "ETAS", ETAS)
    task = task._replace(X=task.X[::3], y=task.y[::3])
    learner = learners(task)[which]
    result = try_learner(task, learner, 2)
    pipeline = make_pipeline(learner.prepare, learner.estimator)
    name = f"{pipeline.steps[-1][0]}__eta0"
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        grid = GridSearchCV(pipeline, {name: ETAS}, cv=split(task, 2), refit=False).fit(task.X, task.y)
        scores = np.array([grid.cv_results_[f"split{fold}_test_score"] for fold in range(2)]).T
        pipeline = make_pipeline(learner.prepare, learner.default or learner.estimator)
        default = cross_val_score(pipeline, task.X, task.y, cv=split(task, 2))
    # A sweep learns with several heads at once. The errors are equal up to rounding, except if a learner diverges.
    close = {"rtol": 1e-6, "equal_nan": True}
    expected = np.where(1 - scores < rates.HOPELESS, 1 - scores, np.nan)
    found = np.where(result.folds < rates.HOPELESS, result.folds, np.nan)
    np.testing.assert_allclose(found, expected, **close)
    if 1 - default.mean() < rates.HOPELESS:
        np.testing.assert_allclose(result.default, 1 - default.mean(), **close)
    else:
        assert np.isnan(result.default)


def made(*errors, baseline=1.0, spread=0.01, task=WINE):
    """Return a comparison of learners whose errors in two folds are ``spread`` below and above these; the last rate is
    the default.
    """
    folds = [np.array([np.asarray(e) - spread, np.asarray(e) + spread]).T for e in errors]
    results = [Result(name, f, f[-1]) for name, f in zip(("NAGClassifier", "b", "c"), folds)]
    return Range(task, results, baseline)


def test_good_is_within_one_standard_error_of_the_best_of_all(monkeypatch):
    monkeypatch.setattr(rates, "ETAS", np.array([1, 10, 100, 1000, 10000]))
    found = made([0.3, 0.105, 0.1, 0.109, 0.3], [0.11, 0.2, 0.2, 0.2, 0.2], [0.2, 0.2, np.nan, 0.15, 0.2])
    assert found.winner.name == "NAGClassifier"
    # Two folds at 0.1 - s and 0.1 + s have the standard deviation s sqrt 2, and their mean has s.
    assert found.good_enough == pytest.approx(0.11)
    assert [found.good(result) for result in found.results] == [(1, 3), (0, 0), None]


def test_a_learner_that_diverges_in_one_fold_has_diverged():
    result = Result("a", np.array([[0.1, np.nan], [0.2, 0.3], [1e300, 0.1]]), np.array([0.1, np.inf]))
    assert np.isnan(result.errors).tolist() == [True, False, True]
    assert np.isnan(result.default)
    assert result.best == 1


@pytest.mark.parametrize(
    ("errors", "options", "words"),
    [
        (
            ([0.2, 0.1], [0.3, 0.3]),
            {},
            "No learner is better than NAGClassifier, and its default parameters (error 0.1000) are",
        ),
        (([0.2, 0.105], [0.1, 0.3]), {}, "NAGClassifier with default parameters (error 0.1050) is as good as the best"),
        (
            ([0.1, 0.2], [0.105, 0.3]),
            {},
            "No learner is better than NAGClassifier with eta0=1e-06 (error 0.1000, 0.2000 with default parameters).",
        ),
        (
            ([0.105, 0.2], [0.1, 0.3]),
            {},
            "NAGClassifier needs eta0=1e-06 here (error 0.1050, 0.2000 with default parameters) to be as good as",
        ),
        (([0.2, 0.2], [0.1, 0.3]), {}, "is better here than NAGClassifier with default parameters (error 0.2000"),
        (([0.2, 0.1], [0.1, 0.3]), {"baseline": 0.11}, "No learner is better than predicting the most frequent class"),
        (([0.2, 0.1], [0.1, 0.3]), {"baseline": 0.05, "task": DIABETES}, "the mean of the target"),
    ],
)
def test_verdicts(errors, options, words):
    assert words in range_verdict(made(*errors, **options))


def test_a_table_says_what_diverged():
    nan = np.full(2, np.nan)
    lines = range_table(made([0.2, 0.1], nan)).splitlines()
    assert lines[0] == "wine: 178 rows, 13 features; error is 1 - accuracy"
    assert lines[3].split() == ["b", "diverged", "diverged", "none"]


def test_ranges_come_one_after_the_other(monkeypatch):
    monkeypatch.setattr(rates, "ETAS", ETAS)
    monkeypatch.setattr(rates, "learners", lambda task: learners(task)[:2])
    found = list(compare([WINE, DIABETES], 2, 1))
    assert [(done, total) for done, total, _ in found] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert [c and c.task.name for _, _, c in found] == [None, "wine", None, "diabetes"]
    assert found[1][2].baseline == pytest.approx(107 / 178)
