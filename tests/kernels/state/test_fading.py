"""Half-lives in follow-the-regularised-leader and in least squares."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from sklearn_nag import FTRLClassifier, FTRLRegressor, ScaleInvariantRegressor, merge

from ...estimators.helpers import bits

pytestmark = pytest.mark.compiled

FULL = {"invariance": "full"}
MODELS = [
    FTRLClassifier(normalization="auto", half_life=20),
    FTRLClassifier(normalization="rms", regularizer="l2", half_life=30.5),
    FTRLRegressor(normalization="auto", l1=0.1, half_life=20),
    FTRLRegressor(normalization=None, regularizer="entropy", half_life=1),
    ScaleInvariantRegressor(**FULL, half_life=20),
]


def flip(seed, noise, n=500, after=100):
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n + after + 1000, 5)), 2.0 * rng.normal(size=5)
    z = X @ w * np.where(np.arange(len(X)) < n, 1.0, -1.0)
    return X, z + noise * rng.logistic(size=len(X)), slice(0, n), slice(n, n + after), slice(n + after, None)


@pytest.mark.parametrize("noise", [0.0, 1.0])
@pytest.mark.parametrize("model", [MODELS[0], MODELS[2], MODELS[4]], ids=repr)
def test_five_half_lives_after_a_flip_all_is_as_before(model, noise):
    ratios = []
    for seed in range(6):
        X, z, first, then, last = flip(seed, noise)
        y, options = (z > 0, {"classes": [False, True]}) if model.__class__ is FTRLClassifier else (z, {})
        own = type(model)(**model.get_params()).partial_fit(X[first], y[first], **options)
        before = own.score(X[last], y[last] ^ True if options else -y[last])
        ratios.append(own.partial_fit(X[then], y[then]).score(X[last], y[last]) / before)
    assert np.mean(ratios) > 0.9
    assert before > 0.6


@pytest.mark.parametrize("model", MODELS[2:3] + MODELS[4:], ids=repr)
def test_a_column_that_got_stuck_means_no_more_than_before(model):
    """By rounding, the mean of the column is another number. Once the rest is forgotten, only this would be left."""
    rng = np.random.default_rng(0)
    z, stuck = rng.normal(size=3000), np.full(3000, 0.1)
    stuck[0] = 0.0
    own = type(model)(**model.get_params()).partial_fit(np.column_stack([z, stuck]), z + 0.3 * rng.normal(size=3000))
    assert abs(own.coef_[1]) < 30.0
    as_ever, moved = own.predict([[0.0, 0.1], [0.0, 0.1001]])
    assert abs(moved - as_ever) < 0.01


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_batches_and_pickles_change_no_bit(model):
    X, z, *_ = flip(0, 1.0, 100, 20)
    X, z, weight = X[:120], z[:120], np.arange(120) % 4 * 0.4
    X[np.random.default_rng(1).random(X.shape) < 0.3] = 0.0
    y, options = (z > 0, {"classes": [False, True]}) if model.__class__ is FTRLClassifier else (z, {})
    for make in (np.asarray,) if isinstance(model, ScaleInvariantRegressor) else (np.asarray, sparse.csr_array):
        whole = type(model)(**model.get_params()).partial_fit(make(X), y, sample_weight=weight, **options)
        parts = type(model)(**model.get_params())
        for start in range(0, 120, 11):
            rows = slice(start, start + 11)
            parts.partial_fit(make(X[rows]), y[rows], sample_weight=weight[rows], **options)
            parts = pickle.loads(pickle.dumps(parts))
        np.testing.assert_array_equal(bits(parts), bits(whole))
        assert np.isfinite(bits(whole)).all()


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_a_call_that_fails_leaves_what_had_faded(model):
    X, z, *_ = flip(0, 1.0, 200, 50)
    y, options = (z > 0, {"classes": [False, True]}) if model.__class__ is FTRLClassifier else (z, {})
    own = type(model)(**model.get_params()).partial_fit(X[:100], y[:100], **options)
    before = bits(own)
    X[200, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        own.partial_fit(X[100:250], y[100:250])
    np.testing.assert_array_equal(bits(own), before)


def test_what_has_none_says_so():
    X, z, *_ = flip(0, 1.0)
    with pytest.raises(ValueError, match="normalization='auto', 'rms' or None"):
        FTRLRegressor(half_life=20).partial_fit(X, z)
    for options in ({}, {**FULL, "update": "potential"}, {**FULL, "loss": "huber"}):
        with pytest.raises(ValueError, match="half_life needs invariance='full' with update='least_squares'"):
            ScaleInvariantRegressor(half_life=20, **options).partial_fit(X, z)
    for model in (FTRLRegressor(half_life="auto", normalization="rms"), ScaleInvariantRegressor(**FULL, half_life=0.5)):
        with pytest.raises(ValueError, match="half_life"):
            model.partial_fit(X, z)
    model = ScaleInvariantRegressor(**FULL, half_life=20).partial_fit(X, z)
    with pytest.raises(ValueError, match="cannot be merged"):
        merge([model, model])
    with pytest.raises(ValueError, match="gaussian"):
        model.predict_interval(X[:2], method="gaussian")
    with pytest.raises(ValueError, match="half_life was 20"):
        model.set_params(half_life=30).partial_fit(X, z)
