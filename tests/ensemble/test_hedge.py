"""HedgeClassifier and HedgeRegressor."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.decomposition import PCA
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.feature_extraction import FeatureHasher
from sklearn.linear_model import Ridge, SGDClassifier, SGDRegressor
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import sklearn_nag
from sklearn_nag import (
    FTRLClassifier,
    FTRLRegressor,
    HedgeClassifier,
    HedgeRegressor,
    NAGCellsRegressor,
    NAGClassifier,
    NAGRegressor,
    ScaleInvariantClassifier,
    ScaleInvariantRegressor,
)
from sklearn_nag.kernels import FixedRate, Mixture, blend, mix
from sklearn_nag.preprocessing import make_online_pipeline
from sklearn_nag.regret import adahedge_bound

from ..checks import BY_ORDER, of_rules, run_check
from ..kernels.helpers import KERNELS

CANCER = load_breast_cancer(return_X_y=True)
DIGITS = load_digits(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True, scaled=False)


BY_DEFAULT = parametrize_with_checks([HedgeClassifier(), HedgeRegressor()])


@parametrize_with_checks(
    [
        HedgeClassifier(
            [("nag", NAGClassifier()), ("sgd", SGDClassifier(random_state=0))],
            update="weighted_majority",
            max_iter=2,
            batch_size=20,
        ),
        HedgeRegressor([("nag", NAGRegressor())], update="hedge", loss="absolute_error", max_iter=2),
    ]
)
def test_scikit_learn_check(estimator, check):
    run_check(check, estimator, BY_ORDER)


@of_rules(BY_DEFAULT)
def test_scikit_learn_check_by_default(estimator, check):
    run_check(check, estimator, BY_ORDER)


# -- the mixture


def adahedge(losses):
    """Shares as in de Rooij et al., figure 1, transcribed without care for the range of numbers."""
    n_experts = losses.shape[1]
    total, gap, shares = np.zeros(n_experts), 0.0, []
    for row in losses:
        leaders = total == total.min()
        rate = np.log(n_experts) / gap if gap > 0 else np.inf
        weight = np.exp(-rate * (total - total.min())) if gap > 0 else leaders.astype(float)
        share = weight / weight.sum()
        shares.append(share)
        if gap > 0:
            mixed = -np.log(share @ np.exp(-rate * row)) / rate
        else:
            mixed = row[leaders].min()
        gap += share @ row - mixed
        total = total + row
    return np.array(shares)


@pytest.mark.parametrize("kernel", ["numpy", "numba"])
def test_shares_are_those_of_the_papers(kernel):
    if kernel == "numba":
        pytest.importorskip("numba")
    losses = np.random.default_rng(0).exponential(size=(200, 4)) * [1.0, 1.1, 0.9, 3.0]
    with sklearn_nag.config_context(kernel=kernel):
        np.testing.assert_allclose(mix(Mixture.new(4), losses), adahedge(losses), rtol=1e-9)
        before = np.cumsum(np.vstack([np.zeros(4), losses[:-1]]), axis=0)
        weight = np.exp(-0.3 * before)
        hedge = weight / weight.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(mix(FixedRate.new(4, 0.3), losses), hedge, rtol=1e-9)


def forecasts(expert, method, X, y, **options):
    """A learner's forecasts of each row: by its latest weights, and by its average when it was last looked at.

    Each row is learnt by a call of its own. The average is that of a copy, whose ``predict`` is called.
    """
    expert, latest, average, then, look = clone(expert), [], [], None, 1
    for i in range(len(y)):
        row = X[i : i + 1]
        if i == look:
            then, look = copy.deepcopy(expert), max(i + 1, int(1.25 * i))
        if then is not None:
            average.append(getattr(then, method)(row)[0])
        latest.append(expert._respond(method, expert._play(row, y[i : i + 1], latest=True, **options))[0])
    return np.array(latest), np.array(latest[:1] + average)


def test_averages_are_experts_of_their_own():
    X, y = CANCER[0][:120], CANCER[1][:120]
    experts = [("nag", NAGClassifier()), ("plain", NAGClassifier(average=False)), ("free", ScaleInvariantClassifier())]
    model = HedgeClassifier(experts, update="hedge", eta0=0.7).partial_fit(X, y, classes=[0, 1])
    both = [forecasts(e, "predict_proba", X, y, classes=[0, 1]) for _, e in experts]
    played = np.array([both[0][0], both[0][1], both[1][0], both[2][0], both[2][1]])[:, 1:]  # the first is not judged
    right = np.maximum(np.take_along_axis(played, y[None, 1:, None], axis=2)[:, :, 0], np.finfo(float).eps)
    before = np.cumsum(np.column_stack([np.zeros(5), -np.log(right)]), axis=1)
    weight = np.exp(-0.7 * before)
    shares = weight / weight.sum(axis=0)
    total = -np.log((shares[:, :-1] * right).sum(axis=0)).sum()
    assert model.progressive_loss_ * model.t_ == pytest.approx(total, rel=1e-9)
    last = shares[:, -1]
    np.testing.assert_allclose(model.weights_, [last[0] + last[1], last[2], last[3] + last[4]], rtol=1e-7)
    np.testing.assert_allclose(model.expert_losses_ * model.t_, before[[0, 2, 3], -1], rtol=1e-9)
    # The mixture predicts with the forecasts that it has judged: latest weights and averages.
    fitted = model.named_estimators_
    without = copy.deepcopy(fitted.nag).set_params(average=False).partial_fit(X, y, sample_weight=np.zeros(len(y)))
    expected = last[0] * without.predict_proba(X) + last[1] * fitted.nag.predict_proba(X)
    rest = model.predict_proba(X) - expected - last[2] * fitted.plain.predict_proba(X)
    np.testing.assert_allclose(rest.sum(axis=1), last[3] + last[4], rtol=1e-6)


def test_bayes():
    model = HedgeClassifier(update="hedge", eta0=1.0).partial_fit(*CANCER, classes=[0, 1])
    assert model.regret_ <= np.log(6)
    # The Bayesian mixture has the total loss -log(mean over experts of exp(-total loss)).
    *totals, total = model._totals
    assert total == pytest.approx(-np.log(np.mean(np.exp(-np.array(totals)))), rel=1e-9)


def test_weighted_majority_is_littlestone_and_warmuth():
    experts = [
        ("a", NAGClassifier(average=False)),
        ("b", NAGClassifier(eta0=30.0, average=False)),
        ("c", ScaleInvariantClassifier(loss="hinge", average=False)),
    ]
    X, y = DIGITS[0][:400], DIGITS[1][:400]
    model = HedgeClassifier(experts, update="weighted_majority", eta0=0.7).partial_fit(X, y, classes=np.arange(10))
    votes = np.array([clone(e)._play(X, y, classes=np.arange(10)).argmax(axis=1) for _, e in experts])[:, 1:]
    weight, mistakes = np.ones(3), 0
    for vote, label in zip(votes.T, y[1:]):
        ballot = np.bincount(vote, weight, minlength=10)
        mistakes += ballot.argmax() != label
        weight[vote != label] *= np.exp(-0.7)
    np.testing.assert_allclose(model.weights_, weight / weight.sum(), rtol=1e-12)
    assert model.progressive_loss_ * model.t_ == pytest.approx(mistakes)
    np.testing.assert_allclose(model.expert_losses_ * 399, (votes != y[1:]).sum(axis=1))
    assert not hasattr(model, "predict_proba")


def test_mistakes_are_counted_where_that_is_asked_for():
    """Learners with probabilities vote by their classes, too, and the loss is the share of wrong votes."""
    experts = [("a", NAGClassifier(average=False)), ("b", NAGClassifier(eta0=30.0, average=False))]
    X, y = DIGITS[0][:100], DIGITS[1][:100]
    model = HedgeClassifier(experts, loss="zero_one").partial_fit(X, y, classes=np.arange(10))
    votes = np.array([clone(e)._play(X, y, classes=np.arange(10)).argmax(axis=1) for _, e in experts])[:, 1:]
    mistakes = (votes != y[1:]).astype(float).T
    np.testing.assert_allclose(model.expert_losses_, mistakes.mean(axis=0))
    assert model.progressive_loss_ == pytest.approx((adahedge(mistakes) * mistakes).sum(axis=1).mean(), rel=1e-9)
    assert not hasattr(model, "predict_proba")


# -- the blend


def tangents(values, loss):
    """Shares of AdaHedge on slopes, row by row; finite differences give the derivative by each share."""
    n_experts = values.shape[1]
    value = {
        "log_loss": lambda p: -np.log(p).mean(),
        "squared_error": lambda p: (p * p).mean() / 2,
        "absolute_error": lambda p: np.abs(p).mean(),
    }[loss]
    lines, shares = np.zeros((0, n_experts)), []
    for row in values:
        share = adahedge(np.vstack([lines, np.zeros(n_experts)]))[-1]
        shares.append(share)
        h = 1e-6 * np.eye(n_experts)
        slope = [(value((share + e) @ row) - value((share - e) @ row)) / 2e-6 for e in h]
        lines = np.vstack([lines, np.array(slope) - share @ slope])
    return np.array(shares)


@pytest.mark.parametrize("kernel", ["numpy", "numba"])
@pytest.mark.parametrize("loss", ["log_loss", "squared_error", "absolute_error"])
def test_the_blend_is_adahedge_on_slopes(loss, kernel):
    if kernel == "numba":
        pytest.importorskip("numba")
    rng = np.random.default_rng(0)
    values = rng.uniform(0.1, 1.0, (80, 2, 3)) if loss == "log_loss" else rng.normal(size=(80, 2, 3)) + [[0.1], [0.2]]
    with sklearn_nag.config_context(kernel=kernel):
        shares = blend(Mixture.new(3).repeated(2), values, loss, np.ones(80))
        for group in range(2):
            np.testing.assert_allclose(shares[:, group], tangents(values[:, group, :, None], loss), atol=1e-5)
            alone = blend(Mixture.new(3), values[:, group].copy(), loss, np.ones(80))
            np.testing.assert_allclose(alone, shares[:, group], rtol=1e-12)
        heavy = blend(Mixture.new(3).repeated(2), values, loss, np.full(80, 2.0**20))
        np.testing.assert_allclose(heavy, shares, rtol=1e-12)
        large = values * (1.0 if loss == "log_loss" else 1e300)
        huge = blend(Mixture.new(3).repeated(2), large, loss, np.ones(80))
        assert np.isfinite(huge).all()


def test_the_blend_is_nearly_as_good_as_the_best_there_is():
    """The blend's regret against every fixed blend is within AdaHedge's bound for the lines."""
    rng = np.random.default_rng(0)
    for i in range(200):
        n, k = 100, int(rng.integers(2, 6))
        y = rng.normal(size=n)
        values = rng.normal(size=(n, k)) * rng.uniform(0.1, 2.0, k) + rng.normal(size=k) - y[:, None]
        loss = ("squared_error", "absolute_error")[i % 2]
        value, slope = (lambda r: r**2 / 2, lambda r: r) if i % 2 == 0 else (np.abs, np.sign)
        shares = blend(Mixture.new(k), values, loss, np.ones(n))
        played = (shares * values).sum(axis=1)
        bound = adahedge_bound(slope(played)[:, None] * (values - played[:, None]))[-1]
        fixed = np.vstack([np.eye(k), rng.dirichlet(np.ones(k), 50)])
        best = value(values @ fixed.T).sum(axis=0).min()
        assert value(played).sum() - best <= bound
    # Two forecasts are wrong on either side: no choice between them is right, but their mean is.
    y = rng.normal(size=500)
    either = np.stack([y + 1.0, y - 1.0], axis=1) - y[:, None]
    shares = blend(Mixture.new(2), either, "squared_error", np.ones(500))
    assert ((shares * either).sum(axis=1) ** 2).mean() < 0.02


def test_the_mixture_is_adahedge_over_forecasts_and_their_blend():
    X, y = CANCER[0][:150], CANCER[1][:150]
    experts = [("nag", NAGClassifier()), ("free", ScaleInvariantClassifier(average=False))]
    both = [forecasts(e, "predict_proba", X, y, classes=[0, 1]) for _, e in experts]
    played = np.array([both[0][0], both[0][1], both[1][0]])[:, 1:]
    right = np.take_along_axis(played, y[None, 1:, None], axis=2)[:, :, 0].T
    right = np.maximum(right, np.finfo(float).eps)
    blended = tangents(right[:, :, None], "log_loss")
    of_blend = (blended * right).sum(axis=1)
    shares = adahedge(-np.log(np.column_stack([right, of_blend])))
    total = -np.log((shares[:, :3] * right).sum(axis=1) + shares[:, 3] * of_blend).sum()
    model = HedgeClassifier(experts).partial_fit(X, y, classes=[0, 1])
    assert model.progressive_loss_ * model.t_ == pytest.approx(total, rel=1e-3)
    shares = adahedge(-np.log(right))
    total = -np.log((shares * right).sum(axis=1)).sum()
    without = HedgeClassifier(experts, blend=False).partial_fit(X, y, classes=[0, 1])
    assert without.progressive_loss_ * without.t_ == pytest.approx(total, rel=1e-9)
    assert model.weights_.sum() == pytest.approx(1.0)
    assert without.weights_.sum() == pytest.approx(1.0)


def test_learners_of_the_other_kind_are_named():
    with pytest.raises(ValueError, match="'c', one of estimators, is a classifier; HedgeRegressor takes none"):
        HedgeRegressor([("c", NAGClassifier())]).fit(np.ones((9, 2)), np.arange(9.0))
    with pytest.raises(ValueError, match="'r', one of estimators, is a regressor; HedgeClassifier takes none"):
        HedgeClassifier([("r", NAGRegressor())]).fit(np.ones((9, 2)), np.arange(9) % 2)


def test_parameters_are_checked_before_classes():
    for classes in (None, [0]):
        with pytest.raises(ValueError, match="The 'update' parameter of HedgeClassifier must be"):
            HedgeClassifier(update="best").partial_fit(np.eye(2), [0, 1], classes=classes)


def test_learners_of_every_family_are_members():
    X, y = DIABETES
    experts = [
        ("proximal", FTRLRegressor()),
        ("entropy", FTRLRegressor(regularizer="entropy")),
        ("least_squares", ScaleInvariantRegressor(invariance="full", update="least_squares", loss="squared_error")),
        ("full", ScaleInvariantRegressor(invariance="full", loss="huber")),
        ("auto", NAGRegressor(eta0="auto", half_life=100)),
    ]
    model = HedgeRegressor(experts, random_state=0).fit(X, y)
    assert len(model._totals) == 1 + 2 + 1 + 2 + 2  # those that average count twice; the mixture is one more
    for (_, expert), own, loss in zip(experts, model.estimators_, model.expert_losses_):
        order = np.random.RandomState(0).permutation(len(y))
        alone = clone(expert).partial_fit(X[order], y[order])
        np.testing.assert_array_equal(own.predict(X), alone.predict(X))
        assert loss > 0
    assert model.score(X, y) > 0.47
    assert model.progressive_loss_ < 1.02 * model.expert_losses_.min()
    twin = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(twin.partial_fit(X, y).predict(X), model.partial_fit(X, y).predict(X))
    names = [("ftrl", FTRLClassifier(l1=1.0)), ("l2", FTRLClassifier(regularizer="l2")), ("nag", NAGClassifier())]
    for container in (np.asarray, sparse.csr_array):
        clf = HedgeClassifier(names, random_state=0).fit(container(CANCER[0]), CANCER[1])
        assert clf.score(container(CANCER[0]), CANCER[1]) > 0.95


def test_averages_that_are_better_are_trusted():
    """The targets are a line with noise. The rate is so large that the latest weights follow the noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 5))
    y = X.sum(axis=1) + 3.0 * rng.normal(size=2000)
    noisy = NAGRegressor(eta0=10.0, average=True)
    model = HedgeRegressor([("noisy", noisy), ("mean", NAGRegressor(eta0=1e-9))]).partial_fit(X, y)
    assert model.weights_[0] > 0.9
    assert model.progressive_loss_ < 0.85 * model.expert_losses_.min()  # losses of the latest weights
    assert model.score(X, y) > 0.3


def test_losses_are_progressive():
    X, y = CANCER
    model = HedgeClassifier().partial_fit(X, y, classes=[0, 1])
    by_default = {
        "snag": NAGClassifier(),
        "nag": NAGClassifier(normalization="max"),
        "scinol2": ScaleInvariantClassifier(),
    }
    assert list(model.named_estimators_) == list(by_default)
    for expert, loss in zip(by_default.values(), model.expert_losses_):
        played = expert._play(X, y, classes=[0, 1], latest=True)[1:, 0]
        assert loss == pytest.approx(log_loss(y[1:], 1 / (1 + np.exp(-played))), rel=1e-9)
    assert model.regret_ == pytest.approx((model.progressive_loss_ - model.expert_losses_.min()) * model.t_)
    assert model.t_ == len(y) - 1


def test_a_learner_alone_is_itself():
    model = HedgeClassifier([("it", NAGClassifier(average=False))]).partial_fit(*CANCER, classes=[0, 1])
    alone = NAGClassifier(average=False).partial_fit(*CANCER, classes=[0, 1])
    np.testing.assert_allclose(model.predict_proba(CANCER[0]), alone.predict_proba(CANCER[0]), atol=1e-15)
    assert model.regret_ == 0
    assert model.weights_.tolist() == [1.0]


def test_foreign_learners_are_judged_by_batch():
    X, y = CANCER
    sgd = SGDClassifier(loss="log_loss", learning_rate="constant", eta0=1e-9, random_state=0)
    model = HedgeClassifier([("nag", NAGClassifier()), ("sgd", sgd)], batch_size=50).partial_fit(X, y, classes=[0, 1])
    other, total = clone(sgd).partial_fit(X[:50], y[:50], classes=[0, 1]), 0.0
    for start in range(50, len(y), 50):
        rows = slice(start, start + 50)
        total += log_loss(y[rows], other.predict_proba(X[rows]), labels=[0, 1], normalize=False)
        other.partial_fit(X[rows], y[rows])
    assert model.t_ == len(y) - 50
    assert model.expert_losses_[1] * model.t_ == pytest.approx(total, rel=1e-9)
    np.testing.assert_array_equal(model.named_estimators_.sgd.coef_, other.coef_)


# -- how the stream is cut, kinds of rows, weights


@pytest.mark.parametrize("kernel", ["numpy", "numba"])
def test_batches_make_no_difference(kernel):
    if kernel == "numba":
        pytest.importorskip("numba")
    with sklearn_nag.config_context(kernel=kernel):
        for make, (X, y), update in (
            (HedgeClassifier, CANCER, "adahedge"),
            (HedgeClassifier, DIGITS, "hedge"),
            (HedgeRegressor, DIABETES, "adahedge"),
        ):
            X, y = X[:60], y[:60]
            options = {"classes": np.unique(y)} if make is HedgeClassifier else {}
            whole, parts = make(update=update).partial_fit(X, y, **options), make(update=update)
            for rows in np.split(np.arange(60), [*range(1, 12), 18, 25, 32, 33]):  # averages are looked at after 33
                parts.partial_fit(X[rows], y[rows], **options)
            np.testing.assert_array_equal(whole.weights_, parts.weights_)
            assert (whole.regret_, whole.progressive_loss_) == (parts.regret_, parts.progressive_loss_)
            np.testing.assert_array_equal(whole.predict(X), parts.predict(X))


@pytest.mark.parametrize(
    "member",
    [
        HedgeRegressor([("a", NAGRegressor()), ("b", ScaleInvariantRegressor())]),
        NAGCellsRegressor(n_trees=5, first_rows=40, random_state=0),
    ],
    ids=lambda member: type(member).__name__,
)
def test_mixtures_are_members_that_batches_make_no_difference_to(member):
    X, y = (rows[:150] for rows in DIABETES)
    mixture = HedgeRegressor([("lines", NAGRegressor()), ("mixture", member)])
    whole, parts = clone(mixture).partial_fit(X, y), clone(mixture)
    for rows in (slice(0, 1), slice(1, 60), slice(60, 150)):
        parts.partial_fit(X[rows], y[rows])
    assert whole.t_ == parts.t_ == 149  # only the first row is not judged
    np.testing.assert_array_equal(whole.expert_losses_, parts.expert_losses_)
    np.testing.assert_array_equal(whole.predict(X), parts.predict(X))
    alone = clone(member).partial_fit(X, y)
    assert whole.expert_losses_[1] == pytest.approx(alone.progressive_loss_, rel=1e-12)


def test_what_is_played_of_rows_of_weight_0_has_the_same_bits_however_they_are_cut(in_numpy):
    X = 1e6 * np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 0.9999995145626484], [0.9998610483255361, 0.9999985392821801]])
    y, weight, classes = np.array([0, 1, 0, 0]), np.array([0.3, 0.6, 0.0, 0.0]), [0, 1]
    whole = HedgeClassifier()._play(X, y, weight, classes)
    model = HedgeClassifier()
    played = [model._play(X[rows], y[rows], weight[rows], classes) for rows in (slice(0, 3), slice(3, 4))]
    np.testing.assert_array_equal(np.concatenate(played), whole)


def test_partial_fit_is_one_pass_and_rows_are_judged_in_the_first_of_several():
    stream = HedgeRegressor().partial_fit(*DIABETES)
    for n in (1, 2):
        model = HedgeRegressor(max_iter=n, shuffle=False).fit(*DIABETES)
        assert (stream.n_iter_, model.n_iter_) == (1, n)
        assert model.t_ == stream.t_ == 441.0
        np.testing.assert_array_equal(model.expert_losses_, stream.expert_losses_)
    assert model.partial_fit(*DIABETES).n_iter_ == 1


def test_targets_of_one_column_are_a_flat_array():
    X, y = DIABETES
    with pytest.warns(DataConversionWarning, match="column-vector") as warned:
        model = HedgeRegressor().partial_fit(X, y[:, None])
    assert len(warned) == 1
    np.testing.assert_array_equal(model.predict(X), HedgeRegressor().partial_fit(X, y).predict(X))
    scaled = HedgeClassifier([("nag", make_pipeline(StandardScaler(), NAGClassifier()))])
    with pytest.warns(DataConversionWarning, match="column-vector"):
        scaled.partial_fit(CANCER[0][:20], CANCER[1][:20, None], classes=[0, 1])


def test_sparse_rows():
    X, y = CANCER[0][:200], CANCER[1][:200]
    X = np.where(X > np.median(X, axis=0), X, 0.0)
    experts = [("snag", NAGClassifier(centering=False)), ("scinol2", ScaleInvariantClassifier(centering=False))]
    dense = HedgeClassifier(experts).partial_fit(X, y, classes=[0, 1])
    for kind in (sparse.csr_matrix, sparse.csc_array, sparse.csr_array):
        model = HedgeClassifier(experts).partial_fit(kind(X), y, classes=[0, 1])
        np.testing.assert_allclose(model.weights_, dense.weights_, rtol=1e-6)
        np.testing.assert_allclose(model.predict_proba(kind(X)), dense.predict_proba(X), rtol=1e-6)


def test_rows_of_weight_0_are_not_there():
    X, y = (rows[:150] for rows in DIABETES)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    some = weight > 0
    a = HedgeRegressor().partial_fit(X, y, sample_weight=weight)
    b = HedgeRegressor().partial_fit(X[some], y[some], sample_weight=weight[some])
    np.testing.assert_array_equal(a.predict(X), b.predict(X))
    assert a.regret_ == b.regret_
    assert a.t_ == weight.sum() - weight[some][0]
    played = HedgeRegressor()
    assert len(played._play(X, y, weight)) == len(y)
    np.testing.assert_array_equal(played.predict(X), a.predict(X))
    assert (played.regret_, played.t_) == (a.regret_, a.t_)
    unchanged = pickle.dumps(a)
    assert pickle.dumps(a.partial_fit(X, y, sample_weight=np.zeros(len(y)))) == unchanged
    with pytest.raises(ValueError, match="nothing to learn from"):
        HedgeRegressor().fit(X, y, sample_weight=np.zeros(len(y)))


def test_unit_of_the_target():
    X, y = (rows[:150] for rows in DIABETES)
    a, b = (HedgeRegressor().partial_fit(X, scale * y) for scale in (1.0, 2.0**40))
    np.testing.assert_array_equal(a.weights_, b.weights_)
    np.testing.assert_array_equal(a.predict(X) * 2.0**40, b.predict(X))


def test_the_largest_doubles_leave_predictions_finite(monkeypatch):
    """Forecasts are as large as doubles can be, and shares add up to 1 only up to rounding."""
    largest = np.finfo(float).max
    X, y = np.random.default_rng(0).normal(size=(33, 3)), np.full(33, largest)
    with np.errstate(all="ignore"):  # scikit-learn adds up the targets to see whether they are finite
        model = HedgeRegressor([("it", NAGRegressor(average=False))]).fit(X, y)
    assert model.named_estimators_.it.predict(X).max() == largest
    monkeypatch.setattr(HedgeRegressor, "_shares", lambda self: np.array([1.0 + 1e-15]))
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(HedgeRegressor._mixed([1.0, 1e-15], np.full((2, 1, 1), largest))).all()


def test_several_outputs():
    X, y = DIABETES
    Y = np.column_stack([y, -3 * y])
    model = HedgeRegressor(random_state=0).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    assert model.score(X, Y) > 0.4
    with pytest.raises(ValueError, match=r"made for targets of shape \(n_samples, 2\)"):
        model.partial_fit(X, y)


def apart(n, rng):
    """Rows with three targets: a line with noise, a curve, and a target that is constant in the first 50 rows."""
    Z = rng.normal(size=(n, 3))
    return Z, np.column_stack(
        [Z[:, 0] + rng.normal(size=n), np.sin(3 * Z[:, 1]), np.where(np.arange(n) < 50, 7, Z[:, 2])]
    )


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("options", [{}, {"loss": "absolute_error"}, {"update": "hedge"}, {"blend": False}])
def test_outputs_are_mixed_apart(options, kernel, rng):
    """So neither the unit of one nor a target that is far out changes a bit of others, nor does any cut."""
    Z, Y = apart(80, rng)
    with sklearn_nag.config_context(kernel=kernel):
        model = HedgeRegressor(**options).partial_fit(Z, Y)
        predicted, factors = model.predict(Z), [2.0**100, 1.0, 2.0**-100]
        other = HedgeRegressor(**options).partial_fit(Z[:47], Y[:47] * factors)
        other = pickle.loads(pickle.dumps(other)).partial_fit(Z[47:], Y[47:] * factors)
        same = slice(1, 2) if "update" in options else slice(None)  # with this option, the rate has a unit
        np.testing.assert_array_equal(other.predict(Z)[:, same], (predicted * factors)[:, same])
        Y[70, 0] = 1e308
        far = HedgeRegressor(**options).partial_fit(Z, Y)
        np.testing.assert_allclose(far.predict(Z)[:, 1:], predicted[:, 1:], rtol=1e-9)
        assert np.isfinite([far.progressive_loss_, far.regret_, *far.expert_losses_, *far.predict(Z)[:, 0]]).all()
        for j in range(1, 3):
            alone = HedgeRegressor(**options).partial_fit(Z, Y[:, j])
            np.testing.assert_allclose(predicted[:, j], alone.predict(Z), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.weights_.sum(), 1.0)


def test_mixtures_that_were_saved_when_outputs_had_the_same_shares_go_on(rng):
    Z, Y = apart(300, rng)
    model = HedgeRegressor().partial_fit(Z[:200], Y[:200])
    state = copy.deepcopy(model.__getstate__())
    for own in (state["_mixture"], state["_blend"]):
        own.excess, own.gap = own.excess[:1], own.gap[:1]
    state["_totals"] = state["_totals"].mean(axis=1)
    earlier = object.__new__(HedgeRegressor)
    earlier.__setstate__(state)
    np.testing.assert_allclose(earlier.predict(Z)[:, 0], model.predict(Z)[:, 0])
    np.testing.assert_allclose(earlier.expert_losses_, model.expert_losses_)
    np.testing.assert_allclose(earlier.regret_, model.regret_)
    earlier.partial_fit(Z[200:], Y[200:])
    np.testing.assert_allclose(earlier.predict(Z)[:, 0], model.partial_fit(Z[200:], Y[200:]).predict(Z)[:, 0])
    state["_mixture"].gap = None
    with pytest.raises(ValueError, match="HedgeRegressor cannot be used"):
        object.__new__(HedgeRegressor).__setstate__(state)


def test_labels_of_any_kind():
    X, y = CANCER
    names = np.array(["benign", "malignant"])[y]
    sgd = ("nb", make_pipeline(StandardScaler(), GaussianNB()))
    model = HedgeClassifier([("nag", NAGClassifier()), sgd], random_state=0).fit(X, names)
    assert model.score(X, names) > 0.93
    assert set(model.classes_) == set(names)


# -- estimators of other packages, pipelines, failures


@pytest.mark.skipif(get_tags(FeatureHasher()).requires_fit, reason="this FeatureHasher says that it has to be fitted")
def test_pipelines_of_what_is_no_array():
    rng = np.random.default_rng(0)
    rows = [[f"word{i}" for i in rng.integers(0, 50, 8)] for _ in range(400)]
    y = np.array(["word1" in row or "word7" in row for row in rows]).astype(int)
    hashed = make_pipeline(FeatureHasher(2**10, input_type="string"), NAGClassifier())
    other = make_pipeline(FeatureHasher(2**10, input_type="string"), SGDClassifier(loss="log_loss", random_state=0))
    model = HedgeClassifier([("nag", hashed), ("sgd", other)], batch_size=20, max_iter=3, random_state=0).fit(rows, y)
    assert model.score(rows, y) > 0.9
    frozen = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(frozen.predict_proba(rows), model.predict_proba(rows))


@pytest.mark.parametrize("kernel", KERNELS)
def test_losses_below_the_normal_range(kernel):
    with sklearn_nag.config_context(kernel=kernel):
        model = HedgeRegressor().partial_fit(np.zeros((4, 1)), [0.0, -1e-154, 0.0, 0.0])
        assert np.isfinite([*model.weights_, *model.predict([[0.0]])]).all()


def test_learners_that_refuse_weights_get_none_where_metadata_are_routed():
    X, y = CANCER
    weight = np.linspace(0, 2, len(y))
    with config_context(enable_metadata_routing=True):
        calibrated, other = NAGClassifier(calibration="progressive"), SGDClassifier(loss="log_loss", random_state=0)
        learners = [NAGClassifier(), calibrated, other]
        refusing = [clone(learner).set_partial_fit_request(sample_weight=False) for learner in learners]
        names = [f"{i}" for i in range(6)]
        mixture = HedgeClassifier(list(zip(names, refusing + learners)), batch_size=len(y), shuffle=False)
        mixture.partial_fit(X, y, classes=[0, 1], sample_weight=weight)
        fitted = clone(mixture).fit(X, y, sample_weight=weight)
    for i, model in enumerate(mixture.estimators_):
        weights = {} if i < 3 else {"sample_weight": weight[1:]}
        alone = clone(learners[i % 3]).partial_fit(X[1:], y[1:], classes=[0, 1], **weights)  # the first weighs nothing
        np.testing.assert_array_equal(model.coef_, alone.coef_)
        np.testing.assert_array_equal(fitted.estimators_[i].coef_, alone.coef_)
    learner = HedgeClassifier([("0", refusing[0])]).partial_fit(X, y, [0, 1], weight).estimators_[0]
    expected = NAGClassifier().partial_fit(X, y, [0, 1], weight)  # without routing, requests mean nothing
    np.testing.assert_array_equal(learner.coef_, expected.coef_)


def test_what_is_saved_does_not_learn_on():
    """What is saved does not learn on, because another thread may write it while the mixture learns."""
    rows, y = CANCER[0][:60], CANCER[1][:60]
    model = HedgeClassifier().partial_fit(rows[:40], y[:40], [0, 1])
    state = model.__getstate__()
    before = pickle.dumps(state)
    model.partial_fit(rows[40:], y[40:])
    assert pickle.dumps(state) == before


def test_data_frames_reach_pipelines():
    pd = pytest.importorskip("pandas")
    X, y = pd.DataFrame(CANCER[0], columns=[f"f{i}" for i in range(30)]), CANCER[1]
    model = HedgeClassifier([("nag", make_pipeline(StandardScaler(), NAGClassifier()))], random_state=0).fit(X, y)
    assert model.score(X, y) > 0.95
    assert list(model.feature_names_in_) == list(X.columns)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[X.columns[::-1]])


class AsArray:
    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype)


@pytest.mark.parametrize("mixture", [HedgeClassifier, HedgeRegressor])
def test_what_pipelines_are_given_is_looked_at(mixture):
    learner = NAGClassifier() if mixture is HedgeClassifier else NAGRegressor()
    X, y = CANCER[0][:50], CANCER[1][:50]
    model = mixture([("scaled", make_pipeline(StandardScaler(), learner))], random_state=0)
    with pytest.raises(ValueError, match="requires y to be passed"):
        model.fit(X, None)
    with pytest.raises(ValueError, match="Expected 2D array, got scalar array"):
        model.fit(None, y)
    expected = model.fit(X, y).predict(X)
    np.testing.assert_array_equal(clone(model).fit(AsArray(X), AsArray(y)).predict(AsArray(X)), expected)
    for method in (model.predict, *(partial(model.partial_fit, y=some) for some in (y[:1], y[:3], list(y[:3])))):
        with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
            method(X[0])


def test_tags_are_those_of_the_estimators():
    assert get_tags(HedgeRegressor([("a", NAGRegressor()), ("b", NAGRegressor("gamma"))])).target_tags.positive_only
    assert not get_tags(HedgeRegressor()).target_tags.positive_only


class Guess(RegressorMixin, BaseEstimator):
    """Predicts a function of the first column, whatever it has learnt."""

    def __init__(self, by):
        self.by = by

    def partial_fit(self, X, y):
        return self

    def predict(self, X):
        return self.by(X[:, 0])


def guesses(*functions):
    return [(f"e{i}", Guess(by)) for i, by in enumerate(functions)]


@pytest.mark.parametrize("kernel", KERNELS)
def test_one_target_that_is_far_off_does_not_end_the_judging(kernel):
    """In the row of a far target, losses differ so much that no other row would count; the test takes this away."""
    y = np.random.default_rng(0).uniform(size=300)
    far = np.where(np.arange(300) == 5, 1e15, y)
    with sklearn_nag.config_context(kernel=kernel):
        model = HedgeRegressor(guesses(lambda x: 0 * x, lambda x: x), loss="absolute_error", batch_size=1)
        model.partial_fit(y[:, None], far)
        np.testing.assert_allclose(np.diff(model.expert_losses_), -y[1:].mean(), rtol=1e-2)
        for mixture in (model._mixture, model._blend):
            mixture.excess[:] = mixture.gap[:] = 0.0
        assert model.partial_fit(y[:, None], y).weights_[1] > 0.95


def test_far_origins_of_targets_do_not_end_the_judging():
    """The targets differ by about 1, where doubles are 0.004 apart."""
    y = 3e13 + np.random.default_rng(0).normal(size=600)
    better, worse = y + 0.25, y - 1.0
    n = np.arange(600.0)[:, None]
    experts = guesses(lambda x: worse[x.astype(int)], lambda x: better[x.astype(int)])
    model = HedgeRegressor(experts, batch_size=1).partial_fit(n, y)
    np.testing.assert_allclose(model.expert_losses_, [0.5, 0.03125], rtol=0.02)
    assert np.abs(model.predict(n) - y).mean() < 0.3


@pytest.mark.parametrize("ps", [(8e-14, 3e-16), (3e-16, 8e-14), (2.3e-16, 1.9e-15), (1.9e-15, 2.3e-16)])
def test_losses_of_faint_probabilities_are_their_own(ps):
    class Says(ClassifierMixin, BaseEstimator):
        def __init__(self, p):
            self.p = p

        def partial_fit(self, X, y, classes=None):
            return self

        def predict_proba(self, X):
            return np.tile([1 - self.p, self.p], (len(X), 1))

        predict = None

    y = np.random.default_rng(0).random(500) < 0.05
    model = HedgeClassifier([(f"e{i}", Says(p)) for i, p in enumerate(ps)], batch_size=1)
    model.partial_fit(np.zeros((500, 1)), y, [False, True])
    np.testing.assert_allclose(model.expert_losses_, [-np.log(p) * y[1:].mean() for p in ps], rtol=1e-9)
    assert model.weights_[np.argmax(ps)] > 0.9


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    ("loss", "origin"),
    [("squared_error", 0.0), ("absolute_error", 1.0), ("absolute_error", 1e6), ("squared_error", 1e13)],
)
def test_experts_that_differ_by_rounding_share_alike(loss, origin, kernel, rng):
    """The experts differ by rounding of terms that add up or cancel and, with an origin, by the last digits."""
    x = rng.normal(size=150)
    y = origin + x + 0.1 * rng.normal(size=150)
    y[7] = origin + 1e9
    noise = 4 * np.finfo(float).eps * rng.normal(size=150)
    noisy = dict(zip(x, x + noise))
    experts = guesses(lambda x: origin + x, lambda x: origin + np.array([noisy[value] for value in x]))
    with sklearn_nag.config_context(kernel=kernel):
        whole, parts = (HedgeRegressor(experts, loss=loss, batch_size=1) for _ in range(2))
        whole.partial_fit(x[:, None], y)
        for rows in np.split(np.arange(150), [1, 7, 8, 60]):
            parts.partial_fit(x[rows, None], y[rows])
    np.testing.assert_array_equal(whole.weights_, [0.5, 0.5])
    np.testing.assert_allclose(*whole.expert_losses_, rtol=1e-13)
    assert pickle.dumps([whole._mixture, whole._blend, whole._exponents]) == pickle.dumps(
        [parts._mixture, parts._blend, parts._exponents]
    )


def test_the_largest_forecasts_of_late_halve_after_64_rows(rng):
    forecasts = np.ldexp(rng.normal(size=(300, 2)), rng.integers(-6, 6, size=(300, 2)))
    forecasts[:100, 1] = 0.0
    parts, model = [], HedgeRegressor().partial_fit(*DIABETES)
    for start, stop in ((0, 1), (1, 70), (70, 300)):
        model._experts[0].n_rows, model._exponents = stop, model._exponents if start else None
        parts.append(model._largest_of_late(forecasts[start:stop]))
    halved = np.arange(300) // 64
    powers = np.where(forecasts == 0.0, 0.0, np.ldexp(1.0, np.frexp(forecasts)[1]))
    expected = [np.ldexp(powers[: i + 1].T, halved[: i + 1] - halved[i]).max(axis=1) for i in range(300)]
    np.testing.assert_array_equal(np.concatenate(parts), expected)


def test_mixtures_that_were_saved_without_sizes_of_forecasts_go_on():
    X, y = DIABETES
    model = HedgeRegressor().partial_fit(X[:200], y[:200])
    state = copy.deepcopy(model.__getstate__())
    del state["_exponents"]
    earlier = object.__new__(HedgeRegressor)
    earlier.__setstate__(state)
    np.testing.assert_array_equal(earlier.partial_fit(X, y).predict(X), model.partial_fit(X, y).predict(X))
    for name, damaged, message in (
        *(("_exponents", value, "_exponents") for value in (0.0, np.zeros(2), np.array([np.nan]), np.array([1e300]))),
        ("_range", np.array([[0.0], [np.inf]]), "_range has entries that are NaN"),
        ("_n_outputs", 0, "the number of outputs is 0"),
        ("_evidence", np.zeros(3), "what is known of errors"),
    ):
        with pytest.raises(ValueError, match=message):
            object.__new__(HedgeRegressor).__setstate__({**state, name: damaged})


def test_an_expert_that_runs_away_takes_nobody_with_it():
    X, y = DIABETES
    wild = SGDRegressor(learning_rate="constant", eta0=0.1, random_state=0)
    model = HedgeRegressor([("nag", NAGRegressor()), ("wild", wild)], batch_size=10).partial_fit(X * 100, y)
    assert np.abs(model.named_estimators_.wild.predict(X * 100)).max() > 1e10
    assert model.weights_[0] > 0.999
    assert model.score(X * 100, y) > 0.3


class Fragile(SGDClassifier):
    """Fails in its second call."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        if hasattr(self, "coef_"):
            raise RuntimeError("broken")
        return super().partial_fit(X, y, classes=classes, sample_weight=sample_weight)


def state_of(model):
    return pickle.dumps(vars(model))


def test_a_failed_call_changes_nothing():
    X, y = CANCER
    experts = [("nag", NAGClassifier()), ("fragile", Fragile(loss="log_loss", random_state=0))]
    model = HedgeClassifier(experts).partial_fit(X[:50], y[:50], classes=[0, 1])
    before, predicted = state_of(model), model.predict_proba(X)
    with pytest.raises(RuntimeError, match="^'fragile', one of estimators: broken$"):
        model.partial_fit(X[50:], y[50:])
    bad = X.copy()
    bad[3, 3] = np.nan
    unknown, weight = np.where(np.arange(len(y)) == 3, 2, y), 1.0 * (np.arange(len(y)) != 3)
    with pytest.raises(ValueError, match="y contains 2, which is not one of"):  # whatever the weight of its row
        model.partial_fit(X, unknown, None, weight)
    for arguments in ((bad, y), (X[:, 1:], y), (X, y + 1), (X, y, [0, 1, 2]), (X, y, None, -np.ones(len(y)))):
        with pytest.raises(ValueError):
            model.partial_fit(*arguments)
    assert state_of(model) == before
    np.testing.assert_array_equal(model.predict_proba(X), predicted)
    new = HedgeClassifier(experts)
    with pytest.raises(RuntimeError):
        new.fit(X, y)
    with pytest.raises(NotFittedError):
        new.predict(X)


@pytest.mark.parametrize(
    ("options", "n_times"), [({}, 1), ({"shuffle": False}, 0), ({"shuffle": False, "max_iter": 2}, 1)]
)
def test_learners_see_the_order_of_rows_that_they_learnt_in_another_or_again(options, n_times, monkeypatch):
    X, y = DIABETES
    seen = []
    monkeypatch.setattr(NAGRegressor, "_see_order", lambda self, y, weight: seen.append((y, weight)))
    weight = np.arange(len(y)) % 3.0
    HedgeRegressor([("one", NAGRegressor())], random_state=0, **options).fit(X, y, sample_weight=weight)
    assert len(seen) == n_times
    for targets, weights in seen:
        np.testing.assert_array_equal(targets, y[weight > 0])
        np.testing.assert_array_equal(weights, weight[weight > 0])


def test_a_blend_of_equal_forecasts_is_trusted_as_they_are():
    """Equal forecasts differ from their mean by rounding alone, which would move most of the weight."""
    model = HedgeRegressor([(name, NAGRegressor(average=False)) for name in "abc"]).partial_fit(*DIABETES)
    np.testing.assert_array_equal(model._mixture.weights(), np.full((1, 4), 0.25))


class LastsLonger(SGDClassifier):
    """Fails once it has learnt 200 rows."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        if getattr(self, "t_", 0) > 200:
            raise RuntimeError("broken")
        return super().partial_fit(X, y, classes=classes, sample_weight=sample_weight)


@pytest.mark.parametrize("options", [{}, {"blend": False}, {"update": "hedge"}])
def test_a_call_that_fails_after_rows_were_judged_changes_nothing(options):
    X, y = CANCER
    experts = [("nag", NAGClassifier()), ("lasts", LastsLonger(loss="log_loss", random_state=0))]
    model = HedgeClassifier(experts, batch_size=50, **options).partial_fit(X[:150], y[:150], classes=[0, 1])
    before = state_of(model)
    with pytest.raises(RuntimeError, match="broken"):
        model.partial_fit(X[150:], y[150:])
    assert state_of(model) == before


def test_errors_name_the_estimator():
    X, y = DIABETES
    first = ("nag", NAGRegressor())
    for other, message in [
        (NAGRegressor(eta0=-1.0), r"The 'eta0' parameter of NAGRegressor \('other', one of estimators\) must be"),
        (Ridge(), "'other', one of estimators: Ridge cannot learn from a stream"),
        (
            make_pipeline(StandardScaler(), PCA(), NAGRegressor()),
            "'other', one of estimators: the step 'pca', PCA, has",
        ),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            HedgeRegressor([first, ("other", other)]).fit(X, y)
    picky = make_pipeline(FunctionTransformer(_refuse_large), NAGRegressor())
    model = HedgeRegressor([first, ("picky", picky)]).fit(X, y)
    with pytest.raises(ValueError, match="'picky', one of estimators: too large"):
        model.predict(X + 1e9)


def _refuse_large(X):
    if X.max() > 1e8:
        raise ValueError("too large")
    return X


def test_saved_models_go_on():
    X, y = DIABETES
    model = HedgeRegressor().partial_fit(X[:200], y[:200])
    twin = pickle.loads(pickle.dumps(model))
    before = copy.deepcopy(model.weights_)
    for m in (model, twin):
        m.partial_fit(X[200:], y[200:])
    assert (model.weights_ != before).any()
    np.testing.assert_array_equal(model.predict(X), twin.predict(X))
    assert model.regret_ == twin.regret_


def test_a_new_fit_forgets():
    X, y = (rows[:150] for rows in CANCER)
    model = HedgeClassifier(random_state=0).fit(X, y)
    first = model.predict_proba(X)
    model.set_params(estimators=[("it", NAGClassifier())]).fit(X, y)
    assert len(model.weights_) == 1
    np.testing.assert_array_equal(model.set_params(estimators=None).fit(X, y).predict_proba(X), first)


# -- parameters


def test_nested_parameters():
    experts = [("nag", NAGClassifier(eta0=0.3)), ("pipe", make_pipeline(StandardScaler(), SGDClassifier()))]
    model = HedgeClassifier(experts, update="hedge")
    params = model.get_params()
    assert params["nag__eta0"] == 0.3
    assert params["pipe__sgdclassifier__alpha"] == 1e-4
    assert params["nag"] is experts[0][1]
    assert set(model.get_params(deep=False)) == set(clone(model).get_params(deep=False))
    model.set_params(nag=ScaleInvariantClassifier(), nag__loss="hinge", pipe__sgdclassifier__alpha=0.5, eta0=2.0)
    assert model.estimators[0][1].loss == "hinge"
    assert model.eta0 == 2.0
    assert experts[0][1].eta0 == 0.3
    assert model.get_params()["pipe__sgdclassifier__alpha"] == 0.5
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(nothing__here=1)
    search = GridSearchCV(
        HedgeClassifier([("nag", NAGClassifier())]), {"nag__eta0": [1e-9, 0.5]}, scoring="neg_log_loss", cv=2
    )
    assert search.fit(*CANCER).best_params_ == {"nag__eta0": 0.5}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"estimators": []}, "empty list"),
        ({"estimators": 3}, "list of"),
        ({"estimators": [("a", NAGClassifier()), ("a", NAGClassifier())]}, "different strings"),
        ({"estimators": [("loss", NAGClassifier())]}, "names of parameters"),
        ({"estimators": [(5, NAGClassifier())]}, "different strings .*; got 5 among"),
        ({"estimators": [("a__b", NAGClassifier())]}, "without '__'"),
        ({"estimators": [("svc", SGDClassifier())], "loss": "log_loss"}, "predict_proba"),
        ({"update": "weighted_majority", "loss": "log_loss"}, "counts mistakes"),
        ({"update": "exponential"}, "'update' parameter of HedgeClassifier must be one of"),
        ({"loss": "hinge"}, "'loss' parameter of HedgeClassifier must be one of"),
        ({"eta0": 0}, "eta0"),
        ({"batch_size": 0}, "batch_size"),
        ({"max_iter": 0}, "max_iter"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        HedgeClassifier(**options).fit(*CANCER)


def test_estimators_that_cannot_learn_from_a_stream():
    from sklearn.linear_model import LogisticRegression

    with pytest.raises(TypeError, match="partial_fit"):
        HedgeClassifier([("lr", LogisticRegression())]).fit(*CANCER)


def test_what_may_not_change():
    cancer, diabetes = ([rows[:50] for rows in table] for table in (CANCER, DIABETES))
    model = HedgeClassifier().partial_fit(*cancer, classes=[0, 1]).set_params(update="hedge")
    with pytest.raises(ValueError, match="update was 'adahedge' when this model was new and is 'hedge' now"):
        model.partial_fit(*cancer)
    with pytest.raises(ValueError, match="^classes must be passed on the first call"):
        HedgeClassifier().partial_fit(*cancer)
    named = [("a", NAGRegressor(random_state=np.random.RandomState(0))), ("b", NAGRegressor(eta0=0.5))]
    for changed, message in (
        ({"a__eta0": 5.0}, "a__eta0 was 1.0 when this model was new and is 5.0 now"),
        ({"b": ScaleInvariantRegressor()}, r"b was NAGRegressor\(eta0=0.5\) .* is ScaleInvariantRegressor\(\) now"),
        ({"estimators": named[:1]}, "estimators was"),
        ({"estimators": None}, "estimators was"),
    ):
        model = HedgeRegressor(clone(HedgeRegressor(named)).estimators).partial_fit(*diabetes)
        model = pickle.loads(pickle.dumps(model)).partial_fit(*diabetes)
        with pytest.raises(ValueError, match=message):
            model.set_params(**changed).partial_fit(*diabetes)
    saved = HedgeRegressor().partial_fit(*diabetes)  # by a version with other defaults
    saved._experts[0].estimator.early_stopping = False
    pickle.loads(pickle.dumps(saved)).partial_fit(*diabetes)
    with pytest.raises(AttributeError):
        HedgeClassifier().weights_  # noqa: B018


def test_numbers_beyond_float64():
    X, y = [[1.0], [2.0]], [0.0, 1.0]
    with pytest.raises(ValueError, match="X has an integer beyond the range of float64 .* in row 1, column 0"):
        HedgeClassifier().fit([[1], [10**400]], [0, 1])
    with pytest.raises(ValueError, match="y has an integer beyond the range of float64 .* in row 1"):
        HedgeRegressor().partial_fit(X, [1, 10**400])
    scaled = HedgeRegressor([("sgd", make_pipeline(StandardScaler(), SGDRegressor()))])
    with pytest.raises(ValueError, match="y has an integer beyond the range of float64 .* in row 1"):
        scaled.partial_fit(X, [1, 10**400])
    reg = HedgeRegressor().fit(X, y)
    with pytest.raises(ValueError, match="X has an integer beyond the range of float64 .* in row 0, column 0"):
        reg.predict([[10**400]])


@pytest.mark.parametrize(
    ("experts", "what"),
    [(None, "Input( y)?"), ([("sgd", make_pipeline(StandardScaler(), SGDRegressor()))], "Input y")],
)
def test_targets_that_are_not_finite_are_refused_whatever_their_type(experts, what):
    for y in ([1.0, np.inf], np.array([1.0, np.nan], dtype=object), np.array([1.0, np.inf], dtype=object)):
        with pytest.raises(ValueError, match=f"{what} contains (NaN|infinity)"):
            HedgeRegressor(experts).partial_fit([[1.0], [2.0]], y, sample_weight=[1.0, 0.0])


@pytest.mark.parametrize("estimators", [None, "of others"])
@pytest.mark.parametrize("make", [HedgeClassifier, HedgeRegressor])
def test_first_rows_may_all_have_weight_0(make, estimators):
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    options = {"classes": [0, 1]} if make is HedgeClassifier else {}
    if estimators is not None:
        sgd = SGDClassifier(loss="log_loss") if options else SGDRegressor()
        estimators = [("sgd", sgd.set_params(random_state=0)), ("nag", NAGClassifier() if options else NAGRegressor())]
    parts, whole = make(estimators, batch_size=20), make(estimators, batch_size=20)
    parts.partial_fit(X[:5], y[:5], sample_weight=np.zeros(5), **options)
    assert np.array_equal(parts.predict(X), np.zeros(60))
    assert np.array_equal(parts.weights_, np.full(len(parts.estimators_), 1 / len(parts.estimators_)))
    assert np.isnan(parts.progressive_loss_)
    assert np.isnan(parts.expert_losses_).all()
    assert (parts.t_, parts.regret_) == (0.0, 0.0)
    parts = pickle.loads(pickle.dumps(parts))
    parts.partial_fit(X[5:], y[5:])
    whole.partial_fit(X, y, sample_weight=np.arange(60) >= 5, **options)
    assert np.array_equal(parts.predict(X), whole.predict(X))
    assert np.array_equal(parts.weights_, whole.weights_)
    assert parts.progressive_loss_ == whole.progressive_loss_
    with pytest.raises(ValueError, match="zero for all rows"):
        make(estimators).fit(X, y, sample_weight=np.zeros(60))


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_intervals_are_infinite_before_errors_are_known(weight):
    model = HedgeRegressor().partial_fit([[1.0]], [2.0], sample_weight=[weight])
    assert model.predict_interval([[1.0], [5.0]]).tolist() == [[-np.inf, np.inf]] * 2


@pytest.mark.parametrize("nested", [False, True])
def test_intervals_of_counts_are_not_below_0(rng, nested):
    X = rng.normal(size=(400, 2))
    learner = NAGRegressor("poisson")
    learner = make_online_pipeline("passthrough", make_online_pipeline("passthrough", learner)) if nested else learner
    reg = HedgeRegressor([("a", learner), ("b", NAGRegressor("poisson", eta0=0.1))])
    interval = reg.partial_fit(X, rng.poisson(np.exp(X[:, 0]))).predict_interval(X, [0.5, 0.9])
    assert interval.min() == 0.0
    assert (interval[:, 1] > interval[:, 0]).all()


@pytest.mark.parametrize("nested", [False, True])
def test_errors_about_targets_name_rows_as_given(rng, nested):
    X, y = rng.normal(size=(300, 2)), rng.poisson(2.0, 300).astype(float)
    bad = np.where(np.arange(300) == 250, -1.0, y)
    learner = NAGRegressor("poisson")
    experts = [("plain", NAGRegressor()), ("rates", make_pipeline(StandardScaler(), learner) if nested else learner)]
    experts = [("mixed", HedgeRegressor(experts))] if nested else experts
    whole = HedgeRegressor(experts, random_state=0)
    calls = [HedgeRegressor(experts, shuffle=False).fit, whole.fit, whole.partial_fit]
    if nested:  # the estimators of this one have already been made
        calls.append(HedgeRegressor(experts).partial_fit(X, y).partial_fit)
    for call in calls:
        with pytest.raises(ValueError, match="'rates', one of estimators: .* not be negative; y is -1.0 in row 250"):
            call(X, bad)
    assert not hasattr(whole, "_experts")


def test_members_whose_class_weights_are_all_0_are_refused():
    experts = [("plain", NAGClassifier()), ("nothing", NAGClassifier(class_weight={0: 0, 1: 0}))]
    with pytest.raises(ValueError, match="'nothing', one of estimators: class_weight is zero for all rows"):
        HedgeClassifier(experts).fit(*CANCER)
    assert HedgeClassifier(experts).partial_fit(*CANCER, classes=[0, 1]).t_ > 0  # because more rows may come
