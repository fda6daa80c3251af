"""Learning rates as heads of one model, compared with learning at one rate after another."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier

from sklearn_nag import NAGClassifier, NAGRegressor
from sklearn_nag.model_selection import eta_sweep
from sklearn_nag.model_selection._sweep import Sweep

from .helpers import CANCER, DIABETES, ETA0S, TWO_OUTPUTS, WINE, cut

SWEPT = {
    "defaults": (NAGClassifier(), CANCER),
    "softmax": (NAGClassifier(), WINE),
    "ovr": (NAGClassifier(multi_class="ovr", normalization="max", centering=False), WINE),
    "hinge, as printed": (
        NAGClassifier(loss="hinge", normalization="max", centering=False, importance_aware=False, average=False),
        WINE,
    ),
    "penalty": (NAGClassifier(penalty="elasticnet", alpha=0.01, class_weight={0: 2.0}), CANCER),
    "sNG": (NAGClassifier(adaptive=False, loss="modified_huber", learning_rate="invscaling"), WINE),
    "AdaGrad": (NAGClassifier(normalization=None, average=15), CANCER),
    "regression": (NAGRegressor(), DIABETES),
    "quantile": (NAGRegressor(loss="quantile", penalty="l1", fit_intercept=False), DIABETES),
    "two outputs": (NAGRegressor(loss="huber"), TWO_OUTPUTS),
}


@pytest.mark.parametrize(
    ("case", "container", "weighted"),
    [(case, np.asarray, True) for case in SWEPT]
    # Sparse rows for each kind of state: with coupled classes, with a penalty, without scales, and with several
    # outputs.
    + [(case, sparse.csr_array, False) for case in ("softmax", "penalty", "AdaGrad", "two outputs")],
)
def test_a_sweep_gives_what_learning_one_by_one_gives(rng, case, container, weighted):
    learner, (X, y) = SWEPT[case]
    n = min(len(y), 60)
    X, y = X[:n], y[:n]
    weight = rng.integers(0, 3, n) * rng.random(n) if weighted else None
    X = container(X)
    classes = {"classes": np.unique(y)} if isinstance(learner, NAGClassifier) else {}
    swept = eta_sweep(learner, X, y, ETA0S, sample_weight=weight)
    in_batches = eta_sweep(learner, cut(X, y, 1, 30, weight=weight), None, ETA0S, **classes)
    for i, eta0 in enumerate(ETA0S):
        alone = clone(learner).set_params(eta0=eta0)
        batches = clone(alone)
        alone.partial_fit(X, y, sample_weight=weight, **classes)
        for part in cut(X, y, 1, 30, weight=weight):
            options = {} if weight is None else {"sample_weight": part[2]}
            batches.partial_fit(*part[:2], **classes, **options)
        for sweep, expected in [(swept, alone), (in_batches, batches)]:
            found = sweep.estimators[i]
            assert np.array_equal(found.coef_, expected.coef_)
            assert np.array_equal(found.intercept_, expected.intercept_)
            assert sweep.losses[i] == found.progressive_loss_ == expected.progressive_loss_
            assert found.get_params() == expected.get_params()
            assert pickle.dumps(found._state) == pickle.dumps(expected._state)
            assert vars(found).keys() - {"_checked", "_made"} == vars(expected).keys() - {"_checked", "_made"}
        if weight is None:
            passed = clone(learner).set_params(eta0=eta0, max_iter=1, shuffle=False, tol=None).fit(X, y)
            assert np.array_equal(passed.coef_, swept.estimators[i].coef_)
            assert passed.progressive_loss_ == swept.losses[i]
        going_on = swept.estimators[i].partial_fit(X[:30], y[:30])
        assert np.array_equal(going_on.coef_, alone.partial_fit(X[:30], y[:30]).coef_)
    assert swept.best_index == np.argmin(swept.losses)
    assert swept.best_eta0 == ETA0S[swept.best_index]
    assert swept.n_rows == n


def test_a_rate_that_diverges_spoils_no_other():
    X, y = DIABETES
    learner = NAGRegressor(normalization=None, adaptive=False, target_normalization=None, clip=None, centering=False,
                           importance_aware=False, average=False)  # fmt: skip
    eta0s = [1e-9, 1.0, 1e-7, 1e-8, 10.0]
    for stream in (lambda: cut(X, y), lambda: cut(X, y, 2, 100, 100)):
        sweep = eta_sweep(learner, stream(), None, eta0s)
        assert [one is None for one in sweep.estimators] == [False, True, False, False, True]
        assert np.array_equal(np.isinf(sweep.losses), [False, True, False, False, True])
        for i in (0, 2, 3):
            alone = clone(learner).set_params(eta0=eta0s[i]).partial_fit(X, y)
            assert np.array_equal(alone.coef_, sweep.estimators[i].coef_)
            assert alone.progressive_loss_ == sweep.losses[i]
    assert sweep.best_index in (0, 2, 3)
    with pytest.raises(ValueError, match="the model left the range of float64 for every one of eta0s"):
        eta_sweep(learner, X, y, [1.0, 10.0])
    with pytest.raises(ValueError, match="NaN"):
        eta_sweep(learner, np.where(X == X[5, 5], np.nan, X), y, eta0s)


@pytest.mark.parametrize(
    ("estimator", "eta0s", "error", "match"),
    [
        (SGDClassifier(), [1.0], TypeError, "a sweep needs NAGClassifier or NAGRegressor.*got SGDClassifier"),
        (NAGClassifier(eta0="auto"), [1.0], ValueError, 'the estimator has eta0="auto", which learns with several'),
        (NAGClassifier(), [], ValueError, "eta0s must hold at least one"),
        (NAGClassifier(), [1.0, -1.0], ValueError, "'eta0s' parameter must be a float in the range"),
        (
            NAGClassifier(),
            [1.0, np.inf],
            ValueError,
            r"'eta0s' parameter must be a float in the range \(0, inf\). Got inf",
        ),
        (NAGClassifier(), ["auto"], TypeError, "eta0s"),
        (NAGClassifier(loss="none"), [1.0], ValueError, "loss"),
    ],
)
def test_errors_of_sweeps(estimator, eta0s, error, match):
    with pytest.raises(error, match=match):
        eta_sweep(estimator, *CANCER, eta0s)


@pytest.mark.parametrize(
    ("estimator", "methods"),
    [
        (NAGClassifier(loss="hinge", calibration="progressive"), ["predict_proba", "predict_set"]),
        (NAGRegressor(), ["predict_interval"]),
    ],
)
def test_each_rate_knows_how_far_its_predictions_are_off(rng, estimator, methods):
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 3
    X[:, 0] += y
    classes = {"classes": [0, 1, 2]} if isinstance(estimator, NAGClassifier) else {}
    sweep, alone = Sweep(estimator, ETA0S), [clone(estimator).set_params(eta0=eta0) for eta0 in ETA0S]
    for rows in (slice(0, 25), slice(25, 50)):
        sweep.play(X[rows], y[rows], **classes)
        for model in alone:
            model.partial_fit(X[rows], y[rows], **classes)
    for found, model in zip(sweep.estimators(), alone):
        for more in (False, True):
            if more:
                found.partial_fit(X[50:], y[50:])
                model.partial_fit(X[50:], y[50:])
            for method in methods:
                assert getattr(found, method)(X).tobytes() == getattr(model, method)(X).tobytes()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_rate_that_diverges_late_in_a_search_has_no_estimator(rng):
    X = rng.normal(size=(80, 100))
    y = 3.0 * X[:, 0] + rng.normal(size=80)
    options = dict.fromkeys(["normalization", "target_normalization", "clip"])
    model = NAGRegressor(adaptive=False, importance_aware=False, random_state=0, **options)
    for eta0 in (10.0, 1.0, 0.01):
        (found,) = Sweep(model, (eta0,)).fit(X, y)
        try:
            alone = clone(model).set_params(eta0=eta0).fit(X, y)
        except ValueError:
            assert found is None
        else:
            assert np.array_equal(found.coef_, alone.coef_)
    assert Sweep(model, (10.0, 0.01)).fit(X, y)[0] is None
