"""Copies of a learner with random weights: what is drawn, standard errors, intervals, and the rows of any learner."""

import copy
import itertools
import pickle
import threading
import time

import numpy as np
import pytest
from scipy.stats import kstest, t
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, SGDClassifier, SGDRegressor
from sklearn.metrics import accuracy_score, d2_tweedie_score, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_nag import (
    FTRLRegressor,
    HedgeRegressor,
    NAGClassifier,
    NAGRegressor,
    OnlineBootstrap,
    ScaleInvariantRegressor,
    merge,
)
from sklearn_nag.constraints import L2Ball
from sklearn_nag.ensemble._bootstrap import exponential_weights
from sklearn_nag.preprocessing import OnlineImputer, make_online_pipeline

from ..checks import BY_ORDER, run_check

X, Y = load_diabetes(return_X_y=True, scaled=False)


@parametrize_with_checks([OnlineBootstrap(NAGClassifier(max_iter=3, random_state=0), n_models=2)])
def test_scikit_learns_checks(estimator, check):
    reason = "weights are drawn by the numbers of rows, which rows of weight 0 have too"
    run_check(check, estimator, dict.fromkeys(BY_ORDER, reason))


def test_weights_are_exponential_and_depend_on_the_number_of_the_row():
    drawn = exponential_weights((3, 1, 4), 0, 20_000)
    assert kstest(drawn, "expon").pvalue > 0.01
    np.testing.assert_array_equal(exponential_weights((3, 1, 4), 1000, 1100), drawn[1000:1100])
    for others in ((4, 1, 4), (3, 2, 4), (3, 1, 5), (1, 3, 4)):
        assert abs(np.corrcoef(drawn, exponential_weights(others, 0, 20_000))[0, 1]) < 0.03
    assert abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 0.03


def test_weights_are_those_of_split_mix_64():
    """The first outputs of SplitMix64 from the seed 0 are published. Each key leads to the next seed."""

    def output(seed, number):
        z = (seed + (number + 1) * 0x9E3779B97F4A7C15) % 2**64
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    seed, keys = 0, (2, 0, 2**32 - 1)
    assert [output(seed, i) for i in range(3)] == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    for n_keys in range(len(keys) + 1):
        seed = output(seed, keys[n_keys - 1]) if n_keys > 0 else seed
        uniforms = np.array([output(seed, i) >> 11 for i in range(4, 9)]) / 2.0**53
        np.testing.assert_allclose(exponential_weights(keys[:n_keys], 4, 9), -np.log(1.0 - uniforms), rtol=1e-12)


def test_standard_errors_are_those_of_least_squares():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2000, 3)) @ [[1.0, 0.8, 0.0], [0.0, 0.6, 0.0], [0.0, 0.0, 100.0]]
    y = rows @ [1.0, -1.0, 0.01] + rng.normal(size=2000)
    learner = ScaleInvariantRegressor(invariance="full")
    boot = OnlineBootstrap(learner, n_models=60).partial_fit(rows, y)
    exact = learner.partial_fit(rows, y).coefficients(as_frame=False).standard_error
    np.testing.assert_allclose(boot.coefficients(as_frame=False).standard_error, exact, rtol=0.35)
    width = np.diff(boot.confidence_interval(rows[:50], 0.9))[:, 0]
    A = np.column_stack([rows, np.ones(2000)])
    leverage = np.einsum("ij,jk,ik->i", A[:50], np.linalg.inv(A.T @ A), A[:50])
    np.testing.assert_allclose(width, 2 * 1.67 * np.sqrt(leverage), rtol=0.5)


def test_cuts_pickles_and_failures_change_nothing():
    whole = OnlineBootstrap(NAGRegressor(), 3).partial_fit(X, Y)
    parts = OnlineBootstrap(NAGRegressor(), 3, n_jobs=2)
    for rows in np.array_split(np.arange(len(Y)), 6):
        parts = pickle.loads(pickle.dumps(parts.partial_fit(X[rows], Y[rows])))
        with pytest.raises(ValueError):
            parts.partial_fit(X[rows], np.full(len(rows), np.nan))
    for ours, theirs in zip(parts.estimators_, whole.estimators_):
        np.testing.assert_array_equal(ours.coef_, theirs.coef_)
    assert parts.n_rows_ == len(Y)
    other = OnlineBootstrap(NAGRegressor(), 3, shard=1).partial_fit(X, Y)
    np.testing.assert_array_equal(other.estimator_.coef_, whole.estimator_.coef_)
    assert (other.estimators_[0].coef_ != whole.estimators_[0].coef_).any()


def test_shapes():
    boot = OnlineBootstrap(NAGRegressor(), 3).partial_fit(X, np.column_stack([Y, Y]))
    assert boot.predict(X).shape == (len(X), 2)
    assert boot.confidence_interval(X).shape == (len(X), 2, 2)
    assert boot.confidence_interval(X, [0.5, 0.9]).shape == (len(X), 2, 2, 2)
    assert boot.coefficients(as_frame=False).standard_error.shape == (20,)
    assert not hasattr(boot, "predict_proba")


def test_a_pipeline_within_a_pipeline_and_what_is_frozen():
    inner = make_online_pipeline(StandardScaler(), NAGRegressor(shuffle=False))
    flat = OnlineBootstrap(inner, 3).fit(X, Y, sample_weight=Y - Y.min())
    nested = OnlineBootstrap(make_online_pipeline("passthrough", inner), 3).fit(X, Y, sample_weight=Y - Y.min())
    np.testing.assert_array_equal(nested.predict(X), flat.predict(X))
    far = 100.0 * X[:1]
    np.testing.assert_array_equal(nested.confidence_interval(far), flat.confidence_interval(far))
    expected = flat.coefficients(as_frame=False)
    assert all(map(np.array_equal, nested.coefficients(as_frame=False).values(), expected.values()))
    with pytest.raises(TypeError, match="estimator is a FrozenEstimator, which does not learn"):
        OnlineBootstrap(FrozenEstimator(inner.fit(X, Y)), 3).fit(X, Y)


def test_coefficients_of_the_last_step():
    boot = OnlineBootstrap(NAGRegressor(), 3).partial_fit(X, Y)
    alone = boot.coefficients(as_frame=False)
    np.testing.assert_array_equal(alone.weight, boot.estimator_.coef_)
    np.testing.assert_allclose(
        alone.standard_error, np.std([model.coef_ for model in boot.estimators_], axis=0, ddof=1), rtol=1e-12
    )
    pipeline = OnlineBootstrap(make_online_pipeline(OnlineImputer(), NAGRegressor()), 3).partial_fit(X, Y)
    np.testing.assert_array_equal(pipeline.coefficients(as_frame=False).standard_error, alone.standard_error)
    plain = OnlineBootstrap(make_pipeline(PolynomialFeatures(2, include_bias=False), NAGRegressor()), 3).fit(X, Y)
    table = plain.coefficients(as_frame=False)
    assert table.feature.tolist() == plain.estimator_[0].get_feature_names_out().tolist()
    assert table.standard_error.shape == table.feature.shape


def test_tables_of_coefficients_may_be_frames_and_have_other_names():
    pd = pytest.importorskip("pandas")
    names = [f"column {i}" for i in range(10)]
    boot = OnlineBootstrap(ScaleInvariantRegressor(invariance="full"), 3).partial_fit(X, Y)
    frame, table = boot.coefficients(names), boot.coefficients(names, as_frame=False)
    assert isinstance(frame, pd.DataFrame)
    assert frame.feature.tolist() == table.feature.tolist() == names
    np.testing.assert_array_equal(frame.standard_error, table.standard_error)  # this replaces the learner's own
    assert (frame.standard_error != boot.estimator_.coefficients().standard_error).all()
    assert frame.columns.get_loc("standard_error") == frame.columns.get_loc("scale") - 1
    assert not isinstance(table, pd.DataFrame)


@pytest.mark.parametrize(
    "learner", [NAGClassifier(), NAGClassifier("hinge"), SGDClassifier(random_state=0), SGDRegressor(random_state=0)]
)
def test_any_learner_with_weights(learner):
    rows, y = load_breast_cancer(return_X_y=True)
    rows = rows / rows.max(axis=0)
    options = {} if isinstance(learner, SGDRegressor) else {"classes": [0, 1]}
    boot = OnlineBootstrap(learner, 3).partial_fit(rows[:300], y[:300], **options).partial_fit(rows[300:], y[300:])
    if options:
        if hasattr(learner, "predict_proba"):
            each = [model.predict_proba(rows) for model in boot.estimators_]
        else:
            each = [np.eye(2)[model.predict(rows)] for model in boot.estimators_]
        np.testing.assert_allclose(boot.predict_proba(rows), np.mean(each, axis=0), rtol=1e-12)
        assert boot.score(rows, y) > 0.8
        weight = rows[:, 0]
        assert boot.score(rows, y, weight) == accuracy_score(y, boot.predict(rows), sample_weight=weight)
        assert not hasattr(boot, "confidence_interval")
    assert boot.fit(rows, y).n_rows_ == len(y)


def test_merging_is_merging_copy_by_copy():
    learner = ScaleInvariantRegressor(invariance="full")
    shards = [OnlineBootstrap(learner, 5, shard=i).partial_fit(X[i::2], Y[i::2]) for i in range(2)]
    both = merge(shards)
    assert both.n_rows_ == len(Y)
    ours = [both.estimator_, *both.estimators_]
    parts = zip(*([shard.estimator_, *shard.estimators_] for shard in shards))
    for one, pair in zip(ours, parts):
        np.testing.assert_array_equal(one.coef_, merge(pair).coef_)
    np.testing.assert_allclose(both.estimator_.coef_, clone(learner).partial_fit(X, Y).coef_, rtol=1e-6)
    assert both.partial_fit(X, Y).n_rows_ == 2 * len(Y)
    more = [copy.deepcopy(shards[0]).set_params(shard=2 + i).partial_fit(X[i::2], Y[i::2]) for i in range(2)]
    joined = merge(more, base=shards[0])
    assert joined.n_rows_ == len(Y) + shards[0].n_rows_
    for one, *three in zip(joined._models, *(model._models for model in (*more, shards[0]))):
        np.testing.assert_array_equal(one.coef_, merge(three[:2], three[2]).coef_)
    same = copy.deepcopy(shards[0]).set_params(shard=7)
    assert merge([same, shards[0]], base=shards[0]).n_rows_ == shards[0].n_rows_  # neither has gone on
    whole = [merge(models).partial_fit(X, Y).predict(X) for models in (more, more[::-1])]
    np.testing.assert_allclose(*whole, rtol=1e-9)
    assert merge([more[1], more[0]]).shard == 2
    assert merge([shards[0], more[1]], base=shards[0]).shard == 3  # only this one has learnt
    with pytest.raises(ValueError, match=r"shard must differ .* got \[0, 0\]"):
        merge([shards[0], copy.deepcopy(shards[0])])
    with pytest.raises(ValueError, match=r"models\[1\] has 2 copies, models\[0\] 5"):
        merge([shards[0], OnlineBootstrap(learner, 2, shard=1).partial_fit(X, Y)])
    with pytest.raises(NotFittedError, match=r"models\[1\]"):
        merge([shards[0], OnlineBootstrap(learner, 5, shard=1)])
    with pytest.raises(TypeError, match=r"models\[1\] is a NAGRegressor"):
        merge([shards[0], NAGRegressor().partial_fit(X, Y)])


@pytest.mark.parametrize("routed", [False, True])
def test_pipelines(routed):
    """The copies of a pipeline are copies of its last step, on rows that its other steps have transformed."""
    with config_context(enable_metadata_routing=routed):
        learner = LinearRegression()
        scaler = StandardScaler()
        if routed:
            learner.set_fit_request(sample_weight=True)
            scaler.set_fit_request(sample_weight=False)
        boot = OnlineBootstrap(make_pipeline(scaler, "passthrough", learner), 3).fit(X, Y)
        alone = OnlineBootstrap(learner, 3).fit(StandardScaler().fit_transform(X), Y)
        np.testing.assert_allclose(boot.confidence_interval(X), alone.confidence_interval(scaler.fit_transform(X)))
        assert not hasattr(boot, "partial_fit")
    online = OnlineBootstrap(make_online_pipeline(OnlineImputer(), NAGRegressor()), 3)
    alone = OnlineBootstrap(NAGRegressor(), 3).partial_fit(X, Y, sample_weight=Y)
    np.testing.assert_array_equal(online.partial_fit(X, Y, sample_weight=Y).predict(X), alone.predict(X))
    steps = FunctionTransformer(np.abs), FunctionTransformer(np.sqrt), NAGRegressor()
    online = OnlineBootstrap(make_online_pipeline(*steps), 3).partial_fit(X, Y)
    alone = OnlineBootstrap(NAGRegressor(), 3).partial_fit(np.sqrt(X), Y)
    np.testing.assert_array_equal(online.confidence_interval(-X), alone.confidence_interval(np.sqrt(X)))


def test_a_learner_that_refuses_weights_cannot_be_copied():
    with config_context(enable_metadata_routing=True):
        learner = NAGRegressor().set_fit_request(sample_weight=False)
        for estimator in (learner, make_pipeline(StandardScaler(), learner)):
            with pytest.raises(ValueError, match=r"estimator has set_fit_request\(sample_weight=False\), but"):
                OnlineBootstrap(estimator, 2).fit(X, Y)
        boot = OnlineBootstrap(learner, 2).partial_fit(X, Y)
        boot.estimator.set_partial_fit_request(sample_weight=False)
        with pytest.raises(ValueError, match=r"estimator has set_partial_fit_request"):
            OnlineBootstrap(learner, 2).partial_fit(X, Y)


@pytest.mark.parametrize("method", ["predict", "confidence_interval", "predict_proba", "coefficients"])
def test_what_has_not_learnt_tells_nothing(method):
    learner = NAGClassifier() if method == "predict_proba" else NAGRegressor()
    with pytest.raises(NotFittedError):
        getattr(OnlineBootstrap(learner), method)(X)


def test_what_cannot_be():
    with pytest.raises(ValueError, match="'n_models' parameter of OnlineBootstrap must be"):
        OnlineBootstrap(NAGRegressor(), 1).fit(X, Y)
    boot = OnlineBootstrap(NAGRegressor(), 2).partial_fit(X, Y)
    with pytest.raises(ValueError, match="n_models was 2"):
        boot.set_params(n_models=3).partial_fit(X, Y)
    for name, value in [
        *itertools.product(["random_state", "shard"], [-1, 2**32, 1.5, None]),
        ("n_jobs", 1.5),
    ]:
        wrong = OnlineBootstrap(NAGRegressor(), 2, **{name: value})
        for call in (wrong.fit, wrong.partial_fit):
            with pytest.raises(ValueError, match=f"'{name}' parameter of OnlineBootstrap must be"):
                call(X, Y)
    most = 2**32 - 1
    boot = OnlineBootstrap(NAGRegressor(max_iter=1), 2, random_state=most, shard=most).fit(X[:9], Y[:9])
    assert boot.estimators_[0].random_state == most


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"estimator": NAGClassifier()}, r"(?s)estimator was OnlinePipeline\(.* is NAGClassifier\(\) now"),
        ({"estimator__nagregressor": FTRLRegressor()}, r"estimator__nagregressor was NAGR.* is FTRLRegressor\(\) now"),
        (
            {"estimator__nagregressor__loss": "nope"},
            "estimator__nagregressor__loss was 'squared_error' .* is 'nope' now",
        ),
        (
            {"estimator__onlineimputer": "passthrough"},
            "estimator__onlineimputer was OnlineImputer.* is 'passthrough' now",
        ),
        ({"estimator__nagregressor__random_state": 7}, "random_state was 0 when this model was new and is 7 now"),
    ],
)
def test_the_learner_stays_what_it_was(changed, message):
    estimator = make_online_pipeline(OnlineImputer(), NAGRegressor())
    boot = pickle.loads(pickle.dumps(OnlineBootstrap(estimator, 2).partial_fit(X, Y)))
    boot.set_params(estimator__nagregressor__verbose=0, estimator__nagregressor__n_jobs=2, n_jobs=2).partial_fit(X, Y)
    expected = boot.predict(X)
    boot.set_params(**changed)
    with pytest.raises(ValueError, match=message):
        boot.partial_fit(X, Y)
    np.testing.assert_array_equal(boot.predict(X), expected)


def test_a_constraint_of_the_learner_stays_what_it_was():
    boot = OnlineBootstrap(NAGRegressor(constraint=L2Ball(1.0)), 2).partial_fit(X, Y)
    boot.set_params(estimator__constraint=L2Ball(1.0)).partial_fit(X, Y)
    boot.set_params(estimator__constraint=L2Ball(2.0))
    with pytest.raises(ValueError, match=r"estimator__constraint was L2Ball\(radius=1.0\) when"):
        boot.partial_fit(X, Y)


def test_what_partial_fit_does_not_read_may_differ_and_change():
    shards = [OnlineBootstrap(NAGRegressor(max_iter=n), 2, shard=n).partial_fit(X, Y) for n in (9, 3)]
    for shard in (*shards, merge(shards), merge(shards[::-1])):
        shard.partial_fit(X, Y).set_params(estimator__max_iter=7, estimator__tol=0.1).partial_fit(X, Y)


def test_counts_are_scored_as_by_the_learner(rng):
    rows = rng.normal(size=(300, 3))
    counts = rng.poisson(np.exp(0.5 * rows[:, 0] + 1.0))
    learner = NAGRegressor(loss="poisson")
    for ensemble in (
        OnlineBootstrap(learner, n_models=3),
        HedgeRegressor([("a", learner), ("b", learner)]),
    ):
        expected = d2_tweedie_score(counts, ensemble.fit(rows, counts).predict(rows), power=1)
        assert ensemble.score(rows, counts) == pytest.approx(expected, rel=1e-12)
    mixed = HedgeRegressor([("a", NAGRegressor()), ("b", NAGRegressor(loss="poisson"))]).partial_fit(rows, counts)
    assert mixed.score(rows, counts) == r2_score(counts, mixed.predict(rows))
    boot, weight = OnlineBootstrap(NAGRegressor(), 2).partial_fit(rows, counts), np.arange(300.0)
    expected = r2_score(counts, boot.predict(rows), sample_weight=weight)
    assert boot.score(rows, counts, weight) == pytest.approx(expected, rel=1e-12)
    with pytest.raises(ValueError, match="targets must not be negative"):
        OnlineBootstrap(NAGRegressor(loss="poisson"), n_models=2).fit(rows, counts).score(rows, counts - 5.0)


def test_the_seed_is_that_of_learners_without_one():
    def fitted(**seed):
        return OnlineBootstrap(NAGRegressor(max_iter=3, **seed), n_models=2).fit(X, Y).predict(X).tolist()

    assert fitted() == fitted() == fitted(random_state=0) != fitted(random_state=1)


@pytest.mark.parametrize("piped", [False, True])
def test_intervals_of_what_is_best_are_not_clipped(rng, piped):
    rows = rng.normal(size=(3000, 3))
    targets = np.column_stack([rows @ [2.0, 1.0, 0.0], rows @ [0.0, 1.0, 1.0]]) + 0.3 * rng.normal(size=(3000, 2))
    far = np.array([[4.0, 4.0, 0.0], [6.0, 6.0, 0.0]])

    def intervals(y, **options):
        learner = NAGRegressor(**options)
        learner = make_online_pipeline(OnlineImputer(), learner) if piped else learner
        return OnlineBootstrap(learner, n_models=5).partial_fit(rows, y).confidence_interval(far, 0.99)

    for y in (targets[:, 0], targets):
        low, high = np.moveaxis(intervals(y), -1, 0)
        truth = far @ np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 1.0]])[: np.ndim(y)].T
        truth = truth[:, 0] if np.ndim(y) == 1 else truth
        assert ((low - 0.5 < truth) & (truth < high + 0.5)).all()
        assert (high - low < 3.0).all()
    counts = rng.poisson(np.exp(0.5 * rows[:, 0]))
    np.testing.assert_allclose(
        intervals(counts, loss="poisson", clip=None), intervals(counts, loss="poisson"), rtol=0.5
    )


@pytest.mark.parametrize(
    ("loss", "options"),
    [
        ("poisson", {}),
        ("poisson", {"clip": None}),
        ("poisson", {"clip": (0.0, 50.0)}),
        ("gamma", {"clip": None}),
        ("tweedie", {"clip": (0.0, 50.0)}),
    ],
)
def test_intervals_of_rates_are_those_of_their_logarithms(rng, loss, options):
    rows = rng.normal(size=(300, 2))
    y = rng.poisson(np.exp(rows[:, 0] - 3.0)) + 0.1 * (loss == "gamma")
    boot = OnlineBootstrap(NAGRegressor(loss, **options)).partial_fit(rows, y)
    low, high = boot.confidence_interval(rows, 0.8).T
    assert (low > 0.0).all()
    if options:
        rows[0, 0] = 20.0  # its rate is above 50
        low, high = boot.confidence_interval(rows, 0.8).T
        first, *copies = [np.log(model.predict(rows)) for model in (boot.estimator_, *boot.estimators_)]
        width = np.std(copies, axis=0, ddof=1) * t(len(copies) - 1).ppf(0.9)
        np.testing.assert_allclose(np.log([low, high]), first + [[-1], [1]] * width, rtol=1e-9, atol=1e-12)
    far = boot.confidence_interval([[1e9, 0.0], [-1e9, 0.0]])
    assert (far[:, 0] <= far[:, 1]).all()
    assert np.isfinite(far[:, 0]).all()


PIPELINE = make_online_pipeline(NAGRegressor())


@pytest.mark.parametrize("learner", [NAGRegressor(), HedgeRegressor(), PIPELINE, make_online_pipeline(PIPELINE)])
def test_intervals_are_infinite_before_any_row_is_learnt(learner):
    boot = OnlineBootstrap(learner, 2).partial_fit(X, Y, sample_weight=np.zeros(len(Y)))
    assert boot.confidence_interval(X[:1]).tolist() == [[-np.inf, np.inf]]
    assert np.isfinite(boot.partial_fit(X, Y).confidence_interval(X[:1])).all()


@pytest.mark.parametrize("learner", [NAGRegressor(), LinearRegression()])
def test_one_row_tells_nothing_of_how_sure_a_prediction_is(learner):
    boot = OnlineBootstrap(learner, 2).fit(X[:1], Y[:1])
    assert boot.confidence_interval(X[:1]).tolist() == [[-np.inf, np.inf]]
    assert np.isfinite(boot.fit(X[:2], Y[:2]).confidence_interval(X[:1])).all()


@pytest.mark.parametrize("learner", [NAGRegressor(), LinearRegression()])
def test_intervals_of_targets_that_are_all_alike_have_no_width(learner):
    boot = OnlineBootstrap(learner, 2).fit(X, np.zeros(len(X)))
    np.testing.assert_array_equal(boot.confidence_interval(X[:3]), np.zeros((3, 2)))


def test_intervals_of_rates_begin_at_0_before_any_row_is_learnt():
    boot = OnlineBootstrap(NAGRegressor("poisson"), 2).partial_fit(X, Y, sample_weight=np.zeros(len(Y)))
    assert boot.confidence_interval(X[:1], [0.5, 0.9]).tolist() == [[[0.0, 0.0], [np.inf, np.inf]]]


def test_threads_learn_nothing_any_more_when_a_call_has_failed():
    """If one copy fails while another is at work in its own thread, all are undone when the other has ended."""
    slow, copies = threading.Event(), itertools.count()

    def failing(X):
        number = next(copies)
        if slow.is_set() and number == 1:
            raise RuntimeError("the second copy fails")
        if slow.is_set() and number > 1:
            time.sleep(0.2)
        return X

    model = OnlineBootstrap(
        make_online_pipeline(FunctionTransformer(failing), NAGRegressor()), n_models=3, n_jobs=2
    ).partial_fit(X, Y)
    before = [part[-1].coef_.tolist() for part in model.estimators_]
    slow.set()
    copies = itertools.count()
    with pytest.raises(RuntimeError, match="the second copy fails"):
        model.partial_fit(X, Y)
    time.sleep(0.5)
    assert [part[-1].coef_.tolist() for part in model.estimators_] == before


def test_threads_end_when_a_call_has_failed(monkeypatch):
    """A thread that was about to learn when another failed learns nothing, and waits for nobody."""
    awake, drawn, calls = threading.Event(), exponential_weights, []

    def draw(keys, start, stop):
        if keys[-1] == 1:
            awake.wait(10.0)
        return drawn(keys, start, stop)

    def fails(X):
        if threading.current_thread() is not threading.main_thread():
            calls.append(X)
            raise RuntimeError("the first copy fails")
        return X

    model = OnlineBootstrap(make_online_pipeline(FunctionTransformer(fails), NAGRegressor()), n_models=2, n_jobs=2)
    monkeypatch.setattr("sklearn_nag.ensemble._bootstrap.exponential_weights", draw)
    before = threading.active_count()
    with pytest.raises(RuntimeError, match="the first copy fails"):
        model.partial_fit(X, Y)
    awake.set()
    for _ in range(200):
        if threading.active_count() <= before:
            break
        time.sleep(0.01)
    assert threading.active_count() <= before
    assert len(calls) == 1
