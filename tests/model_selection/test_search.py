"""Cross-validation over learning rates, compared with GridSearchCV."""

import warnings

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import SGDRegressor
from sklearn.metrics import make_scorer, max_error
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold

from sklearn_nag import NAGClassifier, NAGRegressor, config_context
from sklearn_nag.model_selection import NAGClassifierCV, NAGRegressorCV

from .helpers import CANCER, DIABETES, ETA0S, TWO_OUTPUTS, WINE

SEARCHED = {
    "passes until they settle": (NAGClassifierCV, NAGClassifier(random_state=0, max_iter=30), CANCER, {}),
    "a number of passes": (NAGClassifierCV, NAGClassifier(random_state=0, max_iter=3, tol=None), WINE, {}),
    "in order": (NAGClassifierCV, NAGClassifier(shuffle=False, loss="hinge", penalty="l1", max_iter=8), WINE, {}),
    "early stopping": (NAGClassifierCV, NAGClassifier(random_state=0, early_stopping=True, max_iter=15), CANCER, {}),
    "balanced": (NAGClassifierCV, NAGClassifier(random_state=0, class_weight="balanced", max_iter=4), WINE, {}),
    "another score": (NAGClassifierCV, NAGClassifier(random_state=0, max_iter=5), CANCER, {"scoring": "neg_log_loss"}),
    "calibrated": (
        NAGClassifierCV,
        NAGClassifier(random_state=0, max_iter=4, loss="hinge", calibration="progressive"),
        WINE,
        {"scoring": "neg_log_loss"},
    ),
    "calibrated, one pass": (
        NAGClassifierCV,
        NAGClassifier(random_state=0, max_iter=1, loss="hinge", calibration="progressive"),
        WINE,
        {"scoring": "neg_log_loss"},
    ),
    "random state object": (
        NAGRegressorCV,
        NAGRegressor(random_state=np.random.RandomState(1), max_iter=6),
        DIABETES,
        {},
    ),
    "folds": (
        NAGRegressorCV,
        NAGRegressor(random_state=0, max_iter=6),
        DIABETES,
        {"cv": KFold(4, shuffle=True, random_state=1)},
    ),
    "outputs": (NAGRegressorCV, NAGRegressor(random_state=0, max_iter=4), TWO_OUTPUTS, {}),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("case", "container"),
    [
        *((case, np.asarray) for case in SEARCHED),
        ("a number of passes", sparse.csr_array),
        ("outputs", sparse.csr_array),
    ],
)
def test_a_search_finds_what_grid_search_finds(case, container):
    search, learner, (X, y), options = SEARCHED[case]
    X, y, options = container(X[::6]), y[::6], {"cv": 2, **options}
    eta0s = [0.003, 1.0, 30.0]
    ours = search(learner, eta0s, **options).fit(X, y)
    grid = GridSearchCV(learner, {"eta0": eta0s}, **options).fit(X, y)
    assert ours.cv_results_.keys() == grid.cv_results_.keys()
    for name, values in grid.cv_results_.items():
        if "time" not in name:
            assert np.array_equal(ours.cv_results_[name], values), name
    for name in ("best_params_", "best_score_", "best_index_", "n_splits_"):
        assert getattr(ours, name) == getattr(grid, name)
    assert ours.eta0_ == ours.best_estimator_.eta0 == grid.best_params_["eta0"]
    assert np.array_equal(ours.best_estimator_.coef_, grid.best_estimator_.coef_)
    assert np.array_equal(ours.predict(X), grid.predict(X))
    assert ours.score(X, y) == grid.score(X, y)
    assert ours.refit_time_ > 0
    if hasattr(grid, "predict_proba"):
        assert np.array_equal(ours.predict_proba(X), grid.predict_proba(X))
        assert np.array_equal(ours.decision_function(X), grid.decision_function(X))
        assert np.array_equal(ours.predict_log_proba(X), grid.predict_log_proba(X))
        assert np.array_equal(ours.classes_, grid.classes_)
    else:
        assert not hasattr(ours, "predict_proba")


def test_a_search_with_weights_and_workers(rng):
    X, y = CANCER
    weight = rng.random(len(y))
    learner = NAGClassifier(random_state=0, max_iter=3, tol=None)
    with joblib.parallel_config(backend="threading"):
        ours = NAGClassifierCV(learner, ETA0S, cv=3, n_jobs=2).fit(X, y, sample_weight=weight)
    for i, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
        for j, eta0 in enumerate(ETA0S):
            alone = clone(learner).set_params(eta0=eta0).fit(X[train], y[train], sample_weight=weight[train])
            score = alone.score(X[test], y[test], sample_weight=weight[test])
            assert ours.cv_results_[f"split{i}_test_score"][j] == score
    best = ours.best_estimator_
    assert ours.score(X, y, weight) == best.score(X, y, weight) != best.score(X, y)


def test_learning_rates_that_fail_share_the_last_rank():
    search, of_fold = NAGRegressorCV(), ([0.5, np.nan, 0.7, np.nan], [0.0] * 4, [0.0] * 4)
    with pytest.warns(FitFailedWarning, match=r"eta0 in \(2, 4\)"):
        search._collect([1.0, 2.0, 3.0, 4.0], [of_fold] * 2)
    assert search.cv_results_["rank_test_score"].tolist() == [2, 3, 1, 3]
    assert search.eta0_ == 3.0


def own_score(estimator, X, y):
    return -np.abs(y - estimator.predict(X)).max()


@pytest.mark.parametrize("scoring", [own_score, make_scorer(max_error, greater_is_better=False)])
def test_scores_that_take_no_weights(rng, scoring):
    X, y = DIABETES
    learner, options = NAGRegressor(random_state=0, max_iter=3, tol=None), {"cv": 3, "scoring": scoring}
    weight = rng.random(len(y))
    ours = NAGRegressorCV(learner, ETA0S, **options).fit(X, y, sample_weight=weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn warns of such scores since version 1.9
        grid = GridSearchCV(learner, {"eta0": ETA0S}, **options).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(ours.cv_results_["mean_test_score"], grid.cv_results_["mean_test_score"])
    assert ours.score(X, y, weight) == ours.score(X, y) == grid.score(X, y)


def test_workers_learn_by_the_kernel_that_is_chosen():
    search = NAGClassifierCV(NAGClassifier(random_state=0, max_iter=2, tol=None), cv=4, scoring="neg_log_loss")
    with config_context(kernel="numpy"), joblib.parallel_config("threading"):
        one, other = (
            clone(search).set_params(n_jobs=n_jobs).fit(CANCER[0][:150], CANCER[1][:150]) for n_jobs in (1, 2)
        )
    np.testing.assert_array_equal(other.cv_results_["mean_test_score"], one.cv_results_["mean_test_score"])


def test_a_search_in_which_rates_diverge():
    X, y = DIABETES
    learner = NAGRegressor(normalization=None, adaptive=False, target_normalization=None, clip=None, centering=False,
                           tol=None, importance_aware=False, average=False, max_iter=2, random_state=0)  # fmt: skip
    eta0s = [1e-9, 10.0, 1e-8]
    with pytest.warns(FitFailedWarning, match=r"the model left the range .* for eta0 in \(10\)"):
        ours = NAGRegressorCV(learner, eta0s, cv=3).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        grid = GridSearchCV(learner, {"eta0": eta0s}, cv=3).fit(X, y)
    for name in ("mean_test_score", "std_test_score", "rank_test_score", "split2_test_score"):
        assert np.array_equal(ours.cv_results_[name], grid.cv_results_[name], equal_nan=True), name
    assert ours.best_params_ == grid.best_params_
    with pytest.raises(ValueError, match="in every fold"):
        NAGRegressorCV(learner, [10.0, 20.0], cv=3).fit(X, y)


def test_rates_that_diverge_rank_behind_all_scores():
    X, y = DIABETES
    learner = NAGRegressor(normalization=None, adaptive=False, target_normalization=None, clip=None, centering=False,
                           tol=None, importance_aware=False, average=False, max_iter=2, random_state=0)  # fmt: skip
    with pytest.warns(FitFailedWarning):
        found = NAGRegressorCV(learner, [10.0, 1e-9], cv=3, scoring=lambda *_: -1e20).fit(X, y)
    assert found.cv_results_["rank_test_score"].tolist() == [2, 1]
    assert found.best_params_ == {"eta0": 1e-9}


def test_groups_stay_together():
    X, y = load_iris(return_X_y=True)
    groups = np.arange(len(y)) % 7
    learner = NAGClassifier(max_iter=2, random_state=0)
    ours = NAGClassifierCV(learner, [0.25, 1.0], cv=GroupKFold(2)).fit(X, y, groups=groups)
    grid = GridSearchCV(learner, {"eta0": [0.25, 1.0]}, cv=GroupKFold(2)).fit(X, y, groups=groups)
    assert np.array_equal(ours.cv_results_["mean_test_score"], grid.cv_results_["mean_test_score"])
    with pytest.raises(TypeError, match=r"NAGClassifierCV\.fit\(\) got an unexpected keyword argument 'group'"):
        ours.fit(X, y, group=groups)


def test_errors_of_searches():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match="NAGClassifierCV searches the eta0 of NAGClassifier; got SGDRegressor"):
        NAGClassifierCV(SGDRegressor()).fit(X, y)
    with pytest.raises(ValueError, match='eta0="auto"'):
        NAGClassifierCV(NAGClassifier(eta0="auto")).fit(X, y)
    with pytest.raises(ValueError, match="zero for all rows"):
        NAGClassifierCV(cv=2).fit(X, y, sample_weight=np.zeros(len(y)))
    for scoring in (["accuracy"], {"a": "accuracy"}):
        with pytest.raises(ValueError, match="'scoring' parameter.* must be one score: a name, a callable"):
            NAGClassifierCV(scoring=scoring).fit(X, y)
    with pytest.raises(ValueError, match="cv yields no folds"):
        NAGClassifierCV(cv=iter(())).fit(X, y)
    with pytest.raises(ValueError, match="in every fold, .* or had no score"):
        NAGClassifierCV(cv=2, scoring=lambda *_: np.nan).fit(X, y)
    search = NAGClassifierCV(NAGClassifier(loss="hinge", max_iter=2), [1.0], cv=2)
    assert not hasattr(search, "predict_proba")
    assert not hasattr(search.fit(X, y), "predict_proba")


def test_errors_about_targets_name_rows_as_given():
    X, y = DIABETES
    bad = np.where(np.arange(len(y)) == 250, -1.0, y)
    with pytest.raises(ValueError, match="not be negative; y is -1.0 in row 250"):
        NAGRegressorCV(NAGRegressor("poisson"), cv=2).fit(X, bad)
    with pytest.raises(ValueError, match="'power' parameter"):
        NAGRegressorCV(NAGRegressor("tweedie", power=5), cv=2).fit(X, bad)


@pytest.mark.filterwarnings("ignore:R.2 score is not well-defined")
def test_folds_of_one_row_have_no_score():
    X, y = DIABETES
    with pytest.raises(ValueError, match="in every fold, .* or had no score .*; R² needs two rows"):
        NAGRegressorCV(NAGRegressor(max_iter=2)).fit(X[:5], y[:5])


def test_score_needs_a_fit():
    for search in (NAGClassifierCV(), NAGRegressorCV()):
        with pytest.raises(NotFittedError, match="is not fitted yet"):
            search.score(np.eye(2), [0, 1])
