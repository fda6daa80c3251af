"""Searches by progressive loss, compared with one pass for each candidate."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_nag import NAGClassifier
from sklearn_nag.model_selection import ProgressiveSplit, progressive_score

from .helpers import CANCER


def test_searches_by_progressive_loss():
    X, y = CANCER
    one_pass = NAGClassifier(max_iter=1, shuffle=False)
    grid = {"eta0": [0.1, 1.0, 10.0], "normalization": ["max", "rms"]}
    search = GridSearchCV(one_pass, grid, cv=ProgressiveSplit(), scoring=progressive_score).fit(X, y)
    losses = [
        NAGClassifier(**params).partial_fit(X, y, classes=[0, 1]).progressive_loss_
        for params in search.cv_results_["params"]
    ]
    assert np.array_equal(-search.cv_results_["mean_test_score"], losses)
    assert search.n_splits_ == 1
    assert search.best_estimator_.progressive_loss_ == min(losses)
    pipeline = make_pipeline(FunctionTransformer(np.log1p), one_pass)
    inside = GridSearchCV(pipeline, {"nagclassifier__eta0": [1.0]}, cv=ProgressiveSplit(), scoring=progressive_score)
    expected = NAGClassifier().partial_fit(np.log1p(X), y, classes=[0, 1]).progressive_loss_
    assert -inside.fit(X, y).best_score_ == expected
    weight = np.random.default_rng(0).random(len(y))
    weighted = clone(search).fit(X, y, sample_weight=weight)
    expected = NAGClassifier(**weighted.best_params_).partial_fit(X, y, [0, 1], sample_weight=weight).progressive_loss_
    assert -weighted.best_score_ == expected


def test_errors_of_progressive_score():
    X, y = CANCER
    with pytest.raises(TypeError, match="SGDClassifier has no progressive_loss_"):
        progressive_score(make_pipeline(SGDClassifier().fit(X, y)), X, y)
    for unfitted in (NAGClassifier(), NAGClassifier):
        with pytest.raises(TypeError, match="NAGClassifier has no progressive_loss_"):
            progressive_score(unfitted, X, y)
    with pytest.raises(ValueError, match=r"single pass, max_iter=1; this NAGClassifier made 2"):
        progressive_score(NAGClassifier(max_iter=2, tol=None).fit(X, y), X, y)
