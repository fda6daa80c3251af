"""Scores of given predictions, compared with scikit-learn's functions on the same predictions."""

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import accuracy_score, brier_score_loss, make_scorer, max_error

from sklearn_nag import NAGClassifier, NAGRegressor
from sklearn_nag.model_selection import progressive_validation

from .helpers import CANCER, DIABETES, PLAIN, in_turn


def test_weights_count_in_scores(rng):
    X, y = CANCER
    weight = rng.integers(0, 3, len(y)) * rng.random(len(y))
    weight[:3] = 0
    result = progressive_validation(NAGClassifier(**PLAIN), X / X.max(axis=0), y, sample_weight=weight)
    assert result.n_scored == len(y) - 1 - np.flatnonzero(weight)[0]
    predicted = []
    clf = NAGClassifier(**PLAIN)
    for i in range(len(y)):
        if i >= len(y) - result.n_scored:
            predicted.append(clf.predict(X[i : i + 1] / X.max(axis=0))[0])
        clf.partial_fit(X[i : i + 1] / X.max(axis=0), y[i : i + 1], [0, 1], sample_weight=weight[i : i + 1])
    kept = slice(len(y) - result.n_scored, None)
    assert result.score == pytest.approx(accuracy_score(y[kept], predicted, sample_weight=weight[kept]))


def test_scorers_of_all_kinds():
    X, y = CANCER
    X = X / X.max(axis=0)

    def brier(estimator, X, y):
        return -brier_score_loss(y, estimator.predict_proba(X)[:, 1]) + 0 * estimator.predict(X)[0]

    scoring = {"a": "accuracy", "b": brier}
    learner = NAGClassifier(**PLAIN)
    result = progressive_validation(learner, X, y, scoring=scoring)
    probability = in_turn(learner, X, y, "predict_proba", classes=[0, 1])[:, 1]
    assert result.score["b"] == pytest.approx(-brier_score_loss(y[1:], probability))
    assert result.score["a"] == progressive_validation(learner, X, y).score
    with pytest.raises(ValueError, match="roc_auc|predict"):
        progressive_validation(NAGRegressor(), *DIABETES, scoring="not_a_score_roc_auc")
    with pytest.raises(ValueError, match="'scoring' parameter of progressive_validation must be a str, a callable"):
        progressive_validation(NAGRegressor(), *DIABETES, scoring=object())


def test_scores_of_rows_that_weigh_nothing_are_not_defined():
    X, y = CANCER
    weight = np.r_[1.0, np.zeros(19)]
    assert np.isnan(progressive_validation(NAGClassifier(), X[:20], y[:20], sample_weight=weight).score)


def test_scorers_that_take_no_weights(rng):
    def own(estimator, X, y):
        return max_error(y, estimator.predict(X))

    X, y = DIABETES
    weight = rng.random(len(y))
    for scoring in (own, make_scorer(max_error)):
        result = progressive_validation(NAGRegressor(), X, y, sample_weight=weight, scoring=scoring)
        assert result.score == max_error(result.predictions["y"], result.predictions["predict"])


def test_errors_of_scorers_are_told(rng):
    def score(estimator, X, y, sample_weight):
        raise TypeError("no weights today")

    def mistaken(estimator, X, y, sample_weight=None):
        return max_error(y, estimator.predict(X), sample_weight=sample_weight)

    X, y = CANCER
    for scoring, match in ((score, "no weights today"), (mistaken, "unexpected keyword argument 'sample_weight'")):
        with pytest.raises(TypeError, match=match):
            progressive_validation(NAGClassifier(), X, y, sample_weight=rng.random(len(y)), scoring=scoring)


@pytest.mark.parametrize("curve_at", [None, [50, 100]])
def test_a_score_that_is_not_defined_does_not_lose_the_others(curve_at):
    X, y = CANCER[0][:100], CANCER[1][:100]
    scoring, options = ["neg_log_loss", "accuracy"], {"classes": [0, 1, 2], "curve_at": curve_at}
    with pytest.warns(UndefinedMetricWarning, match=r"^the score 'neg_log_loss' of all 99 rows scored is NaN") as said:
        result = progressive_validation(NAGClassifier(), X, y, scoring=scoring, **options)
    assert [warning.filename for warning in said] == [__file__]  # a single warning
    assert np.isnan(result.score["neg_log_loss"])
    assert result.score["accuracy"] == progressive_validation(NAGClassifier(), X, y, **options).score > 0.8
    with pytest.warns(UndefinedMetricWarning, match="^the score of all 99 rows"):
        progressive_validation(NAGClassifier(), X, y, scoring="neg_log_loss", classes=[0, 1, 2])


def test_scorers_that_need_what_a_learner_has_not_are_refused_before_the_first_row():
    with pytest.raises(AttributeError, match=r"cannot be used: NAGClassifier has none of .* predict_proba"):
        progressive_validation(NAGClassifier("hinge"), *CANCER, scoring="neg_log_loss")
