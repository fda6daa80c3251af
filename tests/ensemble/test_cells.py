"""Lines, curves and cells side by side."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, make_friedman1
from sklearn.utils.estimator_checks import parametrize_with_checks

import sklearn_nag
from sklearn_nag import HedgeRegressor, NAGCellsClassifier, NAGCellsRegressor, NAGRegressor
from sklearn_nag.io import trusted_types
from sklearn_nag.preprocessing import OnlineCells, OnlineCurves, make_online_pipeline

from ..kernels.helpers import KERNELS

pd = pytest.importorskip("pandas")

SMALL = {"n_trees": 20, "depth": 4, "first_rows": 40, "random_state": 0}
REASON = "the result depends on the order of rows, as it does for scikit-learn's SGD estimators"
X, Y = make_friedman1(600, noise=0.5, random_state=0)


@parametrize_with_checks(
    [NAGCellsClassifier(**SMALL, max_iter=5), NAGCellsRegressor(**SMALL, max_iter=5)],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": REASON,
        "check_sample_weight_equivalence_on_sparse_data": REASON,
    },
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kernel", KERNELS)
def test_it_is_a_mixture_of_three_pipelines(kernel):
    steps = [OnlineCurves(n_knots=0, first_rows=40), OnlineCurves(first_rows=40)]
    steps += [OnlineCells(n_trees=20, depth=4, first_rows=40, random_state=0)]
    mixture = HedgeRegressor([(f"{i}", make_online_pipeline(step, NAGRegressor())) for i, step in enumerate(steps)])
    with sklearn_nag.config_context(kernel=kernel):
        ours = NAGCellsRegressor(**SMALL).partial_fit(X, Y)
        mixture.partial_fit(X, Y)
        assert ours.predict(X).tobytes() == mixture.predict(X).tobytes()
    assert ours.progressive_loss_ == mixture.progressive_loss_
    assert list(ours.named_estimators_) == ["lines", "curves", "cells"]
    assert ours.weights_.shape == (3,)


@pytest.mark.parametrize("kernel", KERNELS)
def test_cuts_and_pickles_change_no_bit(kernel):
    with sklearn_nag.config_context(kernel=kernel):
        whole, cut_up = (NAGCellsRegressor(**SMALL) for _ in range(2))
        whole.partial_fit(X[:200], Y[:200])
        for start, stop in ((0, 1), (1, 38), (38, 41), (41, 90), (90, 200)):
            cut_up = pickle.loads(pickle.dumps(cut_up.partial_fit(X[start:stop], Y[start:stop])))
        assert whole.predict(X).tobytes() == cut_up.predict(X).tobytes()
        assert whole.weights_.tobytes() == cut_up.weights_.tobytes()


def test_the_best_of_the_three_is_found():
    rng = np.random.default_rng(0)
    Z = rng.uniform(-1, 1, size=(4000, 3))
    for y, best in (
        (Z @ [1.0, 2.0, 3.0], 0),
        (np.sin(6 * Z[:, 0]) + np.abs(Z[:, 1]), 1),
        (Z[:, 0] * Z[:, 1] > 0, 2),
    ):
        noisy = y + 0.3 * rng.normal(size=4000) if y.dtype == float else y
        kind = NAGCellsRegressor if y.dtype == float else NAGCellsClassifier
        model = kind(n_trees=100, random_state=0).fit(Z[:3000], noisy[:3000])
        scores = [e.score(Z[3000:], noisy[3000:]) for e in model.estimators_]
        assert np.argmax(scores) == best or max(scores) - scores[best] < 0.002
        assert model.score(Z[3000:], noisy[3000:]) > max(scores) - 0.005
        assert model.regret_ < 0.05 * 3000 * model.expert_losses_.min()


def test_missing_values_and_frames_are_welcome():
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    frame.iloc[::7, 1] = np.nan
    model = NAGCellsRegressor(columns=["a", "b"], **SMALL).fit(frame, Y)
    assert np.isfinite(model.predict(frame)).all()
    with pytest.raises(ValueError, match="contains infinity"):
        model.partial_fit(frame.fillna(np.inf), Y)


def test_sparse_rows_have_lines():
    words = sparse.random_array((200, 50), density=0.1, format="csr", random_state=0)
    y = words @ np.arange(50.0)
    model = NAGCellsRegressor(**SMALL, max_iter=10).fit(words, y)
    assert model.score(words, y) > 0.9
    np.testing.assert_allclose(*(e.predict(words) for e in model.estimators_[:2]))


def test_what_a_model_is_made_of_may_not_change():
    model = NAGCellsRegressor(**SMALL).partial_fit(X, Y)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="depth was 4 when this model was new and is 5 now"):
        model.set_params(depth=5).partial_fit(X, Y)
    assert pickle.dumps(model.set_params(depth=4)) == before
    with pytest.raises(ValueError, match="Invalid parameter 'estimators'"):
        model.set_params(estimators=[])
    with pytest.raises(ValueError, match="'n_trees' parameter of OnlineCells .* must be an int"):
        NAGCellsRegressor(n_trees=0).fit(X, Y)


def test_a_failed_call_leaves_no_trace():
    model = NAGCellsClassifier(**SMALL).fit(*load_breast_cancer(return_X_y=True))
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="not one of classes"):
        model.partial_fit(np.zeros((2, 30)), [0, 2])
    with pytest.raises(ValueError, match="30 features"):
        model.partial_fit(np.zeros((2, 29)), [0, 1])
    assert pickle.dumps(model) == before


def test_skops_keeps_models():
    skops = pytest.importorskip("skops.io")
    model = NAGCellsRegressor(**SMALL).partial_fit(X, Y)
    loaded = skops.loads(skops.dumps(model), trusted=trusted_types())
    assert loaded.partial_fit(X, Y).predict(X).tobytes() == model.partial_fit(X, Y).predict(X).tobytes()
