"""scikit-learn's own checks, for every estimator."""

import inspect

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_nag import (
    FTRLClassifier,
    FTRLRegressor,
    NAGClassifier,
    NAGRegressor,
    ScaleInvariantClassifier,
    ScaleInvariantRegressor,
)
from sklearn_nag.model_selection import NAGClassifierCV, NAGRegressorCV

from ..checks import BY_ORDER, of_rules, run_check

ESTIMATORS = [
    FTRLClassifier(max_iter=3),
    FTRLRegressor(max_iter=3),
    NAGClassifier(max_iter=3),
    NAGRegressor(max_iter=3),
    NAGClassifierCV(NAGClassifier(max_iter=1, random_state=0), [0.25, 1.0], cv=2),
    NAGRegressorCV(NAGRegressor(max_iter=1, random_state=0), [0.25, 1.0], cv=2),
    ScaleInvariantClassifier(max_iter=3),
    ScaleInvariantRegressor(max_iter=3),
]
OTHER_RULES = [
    FTRLClassifier(loss="hinge", regularizer="l2", normalization="rms", l1=0.1, max_iter=3),
    FTRLRegressor(loss="huber", regularizer="entropy", max_iter=20),
    NAGClassifier(loss="hinge", normalization="rms", penalty="elasticnet", average=True, max_iter=1),
    NAGClassifier(half_life=50.0, max_iter=1),
    NAGClassifier(class_weight="balanced", max_iter=3),
    NAGRegressor(loss="huber", normalization="rms", adaptive=False, max_iter=3),
    NAGRegressor(half_life="auto", max_iter=1),
    ScaleInvariantClassifier(loss="hinge", update="potential", average=False, max_iter=3),
    ScaleInvariantRegressor(invariance="full"),
    ScaleInvariantRegressor(loss="huber", invariance="full", max_iter=2),
]


@pytest.mark.filterwarnings("ignore:alpha has no effect")  # a check sets it on every estimator that has it
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    run_check(check, estimator, BY_ORDER)


@pytest.mark.filterwarnings("ignore:alpha has no effect")
@of_rules(parametrize_with_checks(OTHER_RULES))
def test_scikit_learn_check_of_other_rules(estimator, check):
    run_check(check, estimator, BY_ORDER)


@pytest.mark.parametrize("estimator", ESTIMATORS + OTHER_RULES)
def test_parameters_are_documented(estimator):
    for name in inspect.signature(type(estimator).__init__).parameters:
        assert name == "self" or f"\n{name} : " in inspect.getdoc(type(estimator))
