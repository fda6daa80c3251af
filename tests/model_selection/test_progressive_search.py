"""ProgressiveSearch, compared with a plain simulation of it, and as an estimator among others."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.exceptions import DataConversionWarning, FitFailedWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.metrics import mean_poisson_deviance
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_nag import (
    FTRLClassifier,
    FTRLRegressor,
    HedgeClassifier,
    NAGClassifier,
    NAGRegressor,
    ScaleInvariantClassifier,
    report_progress,
)
from sklearn_nag.model_selection import ProgressiveSearch, progressive_validation
from sklearn_nag.preprocessing import OnlineImputer, OnlinePipeline, make_online_pipeline, prepare
from sklearn_nag.streams import fit_stream

from ..checks import BY_ORDER, run_check

DIGITS = tuple(a[:900] for a in load_digits(return_X_y=True))
DIABETES = load_diabetes(return_X_y=True, scaled=False)
RATES = [1e-4, 0.01, 0.3, 1.0, 10.0, 100.0, 1000.0]


@parametrize_with_checks(
    [ProgressiveSearch(NAGClassifier(), {"eta0": [0.5, 1.0]}), ProgressiveSearch(NAGRegressor(), {"eta0": [0.5, 1.0]})]
)
def test_scikit_learn_check(estimator, check):
    run_check(check, estimator, BY_ORDER)


def search(min_rows=50, **options):
    return ProgressiveSearch(NAGClassifier(), {"eta0": RATES}, min_rows=min_rows, **options)


def row_losses(model, X, y, weight, loss):
    """The loss of each row, which is predicted alone, before it is learnt."""
    losses = np.zeros(len(y))
    for i in range(len(y)):
        if i > 0 and loss == "log_loss":
            losses[i] = -np.log(model.predict_proba(X[i : i + 1])[0, y[i]])
        elif i > 0:
            losses[i] = np.sum((model.predict(X[i : i + 1])[0] - y[i]) ** 2)
        first = {"classes": range(10)} if loss == "log_loss" and i == 0 else {}
        model.partial_fit(X[i : i + 1], y[i : i + 1], sample_weight=weight[i : i + 1], **first)
    return losses


def simulate(losses, weight, min_rows):
    """Who leaves when, by definition: after min_rows, 2 min_rows, ..., by losses since the last cut but one."""
    n_candidates, n = losses.shape
    alive, marks, left = list(range(n_candidates)), [1, 1], {}  # the first row is not judged
    mean = lambda k, stop: losses[k, marks[-2] : stop] @ weight[marks[-2] : stop] / weight[marks[-2] : stop].sum()  # noqa: E731
    at = min_rows
    while at <= n:
        order = sorted(alive, key=lambda k: mean(k, at))
        for k in order[(len(order) + 1) // 2 :]:
            left[k] = (at, mean(k, at))
        alive = order[: (len(order) + 1) // 2]
        marks.append(at)
        at *= 2
    return left | {k: (n, mean(k, n)) for k in alive}


@pytest.mark.parametrize("estimator", [NAGClassifier(), NAGRegressor()], ids=str)
def test_it_is_halving_by_progressive_loss(rng, estimator):
    """Scales of "max" are constant, and there are no averages, so a row does not change its own prediction."""
    is_classifier = isinstance(estimator, NAGClassifier)
    X, y = DIGITS if is_classifier else DIABETES
    X, y = np.vstack([np.abs(X).max(axis=0), X[:150]]), np.append(y[0], y[:150])
    weight, loss = rng.uniform(0.5, 2.0, len(y)), "log_loss" if is_classifier else "squared_error"
    estimator = clone(estimator).set_params(normalization="max", centering=False, average=False)
    losses = np.array([row_losses(clone(estimator).set_params(eta0=eta), X, y, weight, loss) for eta in RATES])
    expected = simulate(losses, weight, 30)
    found = ProgressiveSearch(estimator, {"eta0": RATES}, min_rows=30).fit(X, y, sample_weight=weight)
    results = found.cv_results_
    assert results["n_resources"].tolist() == [expected[k][0] for k in range(len(RATES))]
    np.testing.assert_allclose(-results["mean_test_score"], [expected[k][1] for k in range(len(RATES))], rtol=1e-6)
    assert results["iter"].tolist() == [sum(30 * 2**j < expected[k][0] for j in range(9)) for k in range(len(RATES))]
    order = sorted(expected, key=lambda k: (-expected[k][0], expected[k][1]))
    assert results["rank_test_score"].tolist() == [1 + order.index(k) for k in range(len(RATES))]
    assert found.best_index_ == order[0]
    assert found.best_params_ == {"eta0": RATES[order[0]]}
    alone = clone(estimator).set_params(eta0=RATES[order[0]])
    alone.partial_fit(X, y, sample_weight=weight, **({"classes": range(10)} if is_classifier else {}))
    assert np.array_equal(found.best_estimator_.coef_, alone.coef_)


def test_cuts_and_pickles_change_no_bit():
    X, y = DIGITS
    whole, parts = search().fit(X, y), search()
    for i, rows in enumerate(np.split(np.arange(len(y)), [1, 49, 51, 333, 334])):
        parts = pickle.loads(pickle.dumps(parts.partial_fit(X[rows], y[rows], range(10) if i == 0 else None)))
    assert np.array_equal(parts.best_estimator_.coef_, whole.best_estimator_.coef_)
    assert np.array_equal(parts.cv_results_["mean_test_score"], whole.cv_results_["mean_test_score"])
    assert parts.n_rows_ == 900


def test_streams_resume_it(tmp_path):
    X, y = DIGITS
    batches = [(X[i : i + 100], y[i : i + 100]) for i in range(0, 900, 100)]

    def fails():
        yield from batches[:5]
        raise OSError("the disk is gone")

    options = {"classes": range(10), "checkpoint": tmp_path / "search", "checkpoint_every": 100, "progress": False}
    with pytest.raises(OSError, match="gone"):
        fit_stream(search(), fails(), **options)
    found = fit_stream(search(), batches, **options)
    assert found.cv_results_["params"] == search().fit(X, y).cv_results_["params"]
    assert found.best_score_ == search().fit(X, y).best_score_


def test_learners_of_several_kinds_as_steps_of_a_pipeline():
    X, y = DIGITS
    sgd = SGDClassifier(loss="log_loss", random_state=0)
    grid = [
        {"learner": [sgd], "learner__alpha": [1e-4, 1.0]},
        {"scaler": ["passthrough"], "learner": [NAGClassifier()]},
    ]
    model = Pipeline([("scaler", StandardScaler()), ("learner", sgd)])
    found = ProgressiveSearch(model, grid, min_rows=200).fit(X, y)
    assert found.score(X, y) > 0.9
    assert found.n_candidates_ == 1
    assert found.predict_proba(X).shape == (900, 10)
    masked = found.cv_results_["param_learner__alpha"]
    assert masked.mask.tolist() == [False, False, True]
    hinge = ProgressiveSearch(sgd, {"loss": ["hinge", "log_loss"]}, min_rows=200).fit(X, y)
    assert 0.0 < -hinge.best_score_ < 0.3  # a share of errors, because hinge gives no probabilities
    assert not hasattr(ProgressiveSearch(SGDClassifier(), {"alpha": [1.0]}), "predict_proba")


def test_a_candidate_that_fails_leaves():
    X, y = DIABETES
    grid = [{"eta0": [1.0]}, {"eta0": [1e9], "normalization": [None], "adaptive": [False], "importance_aware": [False]}]
    found = ProgressiveSearch(NAGRegressor(target_normalization=None, clip=None), grid, min_rows=10**6)
    with pytest.warns(FitFailedWarning, match="failed after 0 rows and left the search: these rows made the model"):
        found.fit(X * 1e100, y)
    assert found.n_candidates_ == 1
    assert found.best_params_ == {"eta0": 1.0}


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("n", [1, 4, 14])  # by the first candidate, or by another one, while it learns new rows
def test_a_report_may_end_the_call(method, n):
    X, y = DIABETES
    grid = [{"eta0": [0.5, 1.0]}, {"normalization": ["rms"]}]
    search = ProgressiveSearch(NAGRegressor(), grid, min_rows=10**6).partial_fit(X[:100], y[:100])
    before, twin, told = search.predict(X), pickle.loads(pickle.dumps(search)), []

    def end(now):
        told.append(now)
        if len(told) == n:
            raise ValueError("time is up")

    with report_progress(end), pytest.raises(ValueError, match="^time is up$"):
        getattr(search, method)(X[100:], y[100:])
    assert len(told) == n
    assert search.n_candidates_ == 3
    assert np.array_equal(search.predict(X), before)
    learnt = [some.partial_fit(X[100:], y[100:]).predict(X) for some in (search, twin)]
    assert np.array_equal(*learnt)


def test_what_cannot_be_used():
    X, y = DIGITS
    for options, message in [
        ({"loss": "squared_error"}, "loss='squared_error' does not suit classifiers; it must be 'auto', 'log_loss' or"),
        ({"loss": "brier"}, "The 'loss' parameter of ProgressiveSearch must be one of"),
        ({"min_rows": 0}, "The 'min_rows' parameter of ProgressiveSearch must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            search(**options).fit(X, y)
    with pytest.raises(ValueError, match="needs predict_proba in all candidates; use 'zero_one'"):
        ProgressiveSearch(NAGClassifier(), {"loss": ["hinge", "log_loss"]}, loss="log_loss").fit(X, y)
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        search().partial_fit(X, y)
    with pytest.raises(NotFittedError):
        search().predict(X)
    found = search().partial_fit(X[:60], y[:60], classes=range(10))
    before = pickle.dumps(found)
    for call, message in [
        (lambda: found.partial_fit(X[60:70], y[60:70], classes=[0, 1]), "but was .* at the first call"),
        (lambda: found.partial_fit(X[60:70], np.full(10, 11)), "y contains 11"),
        (lambda: found.partial_fit(np.full((5, 64), np.nan), y[:5]), "NaN"),
        (lambda: clone_with(found, min_rows=7).partial_fit(X[60:70], y[60:70]), "min_rows was 50 when this"),
    ]:
        with warnings.catch_warnings(), pytest.raises(ValueError, match=message):
            call()
    assert pickle.dumps(found) == before


def test_parameters_are_checked_before_classes():
    X, y = DIGITS
    found = search().partial_fit(X[:60], y[:60], classes=range(10))
    for model, message in [
        (search(min_rows=0), "'min_rows' parameter"),
        (clone_with(found, min_rows="many"), "'min_rows' parameter"),
        (clone_with(found, min_rows=7), "min_rows was 50 when this"),
        (clone_with(found, param_grid={"eta0": [3.0]}), "the number of candidates was"),
        (ProgressiveSearch(NAGClassifier(), []), "param_grid is an empty list"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.partial_fit(X, y, classes=[0])


def test_candidates_that_refuse_weights_get_none_where_metadata_are_routed():
    X, y = load_breast_cancer(return_X_y=True)
    weight = np.linspace(0, 2, len(y))
    for learner in (NAGClassifier(), SGDClassifier(loss="log_loss", random_state=0)):
        with config_context(enable_metadata_routing=True):
            found = ProgressiveSearch(clone(learner).set_partial_fit_request(sample_weight=False), batch_size=len(y))
            found.partial_fit(X, y, classes=[0, 1], sample_weight=weight)
        alone = clone(learner).partial_fit(X[1:], y[1:], classes=[0, 1])  # the first row weighs nothing
        np.testing.assert_array_equal(found.best_estimator_.coef_, alone.coef_)


def clone_with(found, **parameters):
    return pickle.loads(pickle.dumps(found)).set_params(**parameters)


def test_what_cannot_be_used_before_pipelines():
    X, y = load_breast_cancer(return_X_y=True)
    search = ProgressiveSearch(make_online_pipeline(StandardScaler(), NAGClassifier()))
    with pytest.raises(ValueError, match="requires y to be passed"):
        search.fit(X, None)
    with pytest.raises(ValueError, match="Expected 2D array, got scalar array"):
        search.fit(None, y)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        search.fit(X, y).predict(X[0])
    with pytest.raises(TypeError, match="FrozenEstimator cannot learn from a stream"):
        ProgressiveSearch(FrozenEstimator(search.best_estimator_)).fit(X, y)


def test_sparse_rows():
    X, y = DIGITS[0][:300], DIGITS[1][:300]
    grid = {"eta0": [0.1, 1.0, 10.0]}
    dense, csr = (
        ProgressiveSearch(NAGClassifier(centering=False), grid, min_rows=50).fit(rows, y)
        for rows in (X, sparse.csr_array(X))
    )
    assert csr.best_params_ == dense.best_params_
    assert csr.best_score_ == pytest.approx(dense.best_score_)


def counts(rng, n=600):
    X = rng.normal(size=(n, 3))
    return X, rng.poisson(np.exp(0.5 * X[:, 0] + 1.0)).astype(float)


def test_counts_are_judged_by_their_deviance(rng):
    X, y = counts(rng)
    reg = NAGRegressor(loss="poisson")
    search = ProgressiveSearch(reg, {"eta0": [0.01, 1.0]}, min_rows=10_000).fit(X, y)
    losses = []
    for candidate in search.cv_results_["params"]:
        model = clone(reg).set_params(**candidate)
        p = np.exp(model._play(X, y)[1:, 0])
        losses.append(mean_poisson_deviance(y[1:], p))
    np.testing.assert_allclose(-search.cv_results_["mean_test_score"], losses, rtol=1e-9)
    assert search.score(X, y) == search.best_estimator_.score(X, y)
    mixed = ProgressiveSearch(NAGRegressor(), {"loss": ["poisson", "squared_error"]}, min_rows=10_000).fit(X, y)
    p = np.exp(NAGRegressor(loss="poisson")._play(X, y)[1:, 0])
    assert -mixed.cv_results_["mean_test_score"][0] == pytest.approx(np.mean((y[1:] - p) ** 2))


@pytest.mark.parametrize("size", [600, 7, 1])
def test_counts_are_judged_from_the_first_one_above_0_on(rng, size):
    X, y = counts(rng)
    y[:17] = 0.0
    search = ProgressiveSearch(NAGRegressor("poisson"), {"eta0": [0.1, 1.0]}, min_rows=10_000)
    for i in range(0, 600, size):
        search.partial_fit(X[i : i + size], y[i : i + size])
    scores = [
        progressive_validation(NAGRegressor("poisson", eta0=eta0), X, y, scoring="neg_mean_poisson_deviance").score
        for eta0 in (0.1, 1.0)
    ]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], scores, rtol=1e-9)


@pytest.mark.parametrize("size", [600, 7])
def test_candidates_are_judged_by_the_same_rows_though_some_predict_more_than_0_at_once(rng, size):
    X, y = counts(rng)
    y[:17] = 0.0
    reg = NAGRegressor("poisson", clip=(0.5, 99.0))
    search = ProgressiveSearch(reg, {"clip": [None, reg.clip]}, min_rows=10_000)
    for i in range(0, 600, size):
        search.partial_fit(X[i : i + size], y[i : i + size])
    p = np.exp(clone(reg)._play(X, y)[:, 0])
    expected = mean_poisson_deviance(y[18:], p[18:])  # because the other candidate predicts 0 up to row 17
    assert -search.cv_results_["mean_test_score"][1] == pytest.approx(expected, rel=1e-9)


def test_a_list_of_estimators(rng):
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=400) > 0).astype(int)
    learners = [NAGClassifier(), FTRLClassifier(), ScaleInvariantClassifier()]
    search = ProgressiveSearch(learners, min_rows=100).fit(X, y)
    assert [type(one) for one in search.cv_results_["param_estimator"]] == [type(one) for one in learners]
    alone = [
        ProgressiveSearch(one, {}, min_rows=100).fit(X[:100], y[:100]).cv_results_["mean_test_score"][0]
        for one in learners
    ]
    first = ProgressiveSearch(learners, min_rows=101).fit(X[:100], y[:100])
    np.testing.assert_array_equal(first.cv_results_["mean_test_score"], alone)
    assert isinstance(search.best_params_["estimator"], type(search.best_estimator_))
    assert search.score(X, y) > 0.85
    grid = ProgressiveSearch([NAGClassifier(), FTRLClassifier()], {"eta0": [0.1, 1.0]}, min_rows=100).fit(X, y)
    assert len(grid.cv_results_["params"]) == 4
    assert clone(grid).fit(X, y).best_index_ == grid.best_index_


@pytest.mark.parametrize("estimator", [[], [3], "nag", None, [("nag", NAGClassifier())]])
def test_what_is_no_estimator_is_refused(estimator):
    with pytest.raises(TypeError, match="estimator must be a classifier or regressor with partial_fit, or a list"):
        ProgressiveSearch(estimator, {}).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="estimator has both classifiers and regressors"):
        ProgressiveSearch([NAGClassifier(), NAGRegressor()]).fit([[0.0], [1.0]], [0, 1])


def test_names_of_columns_are_those_of_the_search():
    """Candidates take arrays, which have no names, so the search itself notices columns in another order."""
    pytest.importorskip("pandas")
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    plain = ProgressiveSearch(NAGClassifier(), {"eta0": [0.1, 1.0]}, min_rows=50)
    piped = ProgressiveSearch([make_online_pipeline(OnlineImputer(), NAGClassifier()), NAGClassifier()], min_rows=50)
    for found in (plain, piped):
        found.fit(X, y).partial_fit(X, y)
        for method in ("predict", "predict_proba", "decision_function"):
            getattr(found, method)(X)
            for other in (X[X.columns[::-1]], X.rename(columns={"mean area": "area"})):
                with pytest.raises(ValueError, match="feature names should match"):
                    getattr(found, method)(other)
        assert found.score(X, y) == found.best_estimator_.score(X if found is piped else X.to_numpy(), y)
        with pytest.raises(ValueError, match="feature names should match"):
            found.score(X[X.columns[::-1]], y)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("mismatch", ["raise", "fill"])
def test_pipelines_that_take_columns_by_name_check_them(kind, mismatch):
    """What the search does with other columns, or the same in another order, is what its pipelines do."""
    lib = pytest.importorskip(kind, exc_type=ImportError)
    make = lib.table if kind == "pyarrow" else lib.DataFrame
    columns = {"a": [1.0, 2.0, 3.0, 4.0], "t": ["x", "y", "x", "y"]}
    table, y = make(columns), np.array([0, 1, 1, 0])
    turned = make({"t": columns["t"], "a": columns["a"]})
    others = {"new": make({**columns, "new": [1.0] * 4}), "t": make({"a": columns["a"]})}
    pipeline = prepare(table, NAGClassifier(), mismatch=mismatch)
    found = ProgressiveSearch(pipeline, {"learner__eta0": [0.1, 1.0]}).fit(table, y)
    alone = clone(pipeline).set_params(learner__eta0=found.best_params_["learner__eta0"])
    alone.partial_fit(table, y, classes=[0, 1])

    said = ("predict", "predict_proba", "predict_log_proba", "decision_function")
    calls = [*((name, ()) for name in said), ("score", (y,)), ("partial_fit", (y,))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, more in calls[:-1]:
            expected = getattr(alone, name)(turned, *more)
            assert np.array_equal(getattr(found, name)(turned, *more), expected)
            assert np.array_equal(expected, getattr(alone, name)(table, *more))
        straight = pickle.loads(pickle.dumps(found)).partial_fit(table, y)
        other_way = pickle.loads(pickle.dumps(found)).partial_fit(turned, y)
        assert other_way.predict_proba(table).tobytes() == straight.predict_proba(table).tobytes()
    for column, other in others.items():
        message = f"X has (the|no) column '{column}'"
        for name, more in calls:
            one = pickle.loads(pickle.dumps(found))
            if mismatch == "fill":
                with pytest.warns(UserWarning, match=message):
                    getattr(one, name)(other, *more)
                continue
            with pytest.raises(ValueError, match=f"{message}.*mismatch='fill'"):
                getattr(one, name)(other, *more)
            assert (one.n_rows_, one.n_candidates_) == (4, 2)
            assert one.partial_fit(table, y).predict_proba(table).tobytes() == straight.predict_proba(table).tobytes()
    with pytest.raises(ValueError, match="requires y to be passed"):
        ProgressiveSearch(prepare(table, NAGRegressor())).partial_fit(table, y).partial_fit(turned, None)


def test_names_are_left_to_candidates_only_if_all_take_columns_by_name():
    pd = pytest.importorskip("pandas")
    X, y = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0.0, 1.0, 0.0]}), [1.0, 2.0, 4.0]
    by_name = OnlinePipeline([("no", "passthrough"), ("first", prepare(X, NAGRegressor())[:-1]), ("l", NAGRegressor())])
    by_place = make_online_pipeline(OnlineImputer(), NAGRegressor())
    turned = X[["b", "a"]]
    found = ProgressiveSearch(by_name).partial_fit(X, y)
    assert np.array_equal(found.predict(turned), found.predict(X))
    found.partial_fit(turned, y)
    for candidates in ([by_name, by_place], [by_name, NAGRegressor()]):
        found = ProgressiveSearch(candidates).partial_fit(X, y)
        for call in (found.predict, lambda rows, found=found: found.partial_fit(rows, y)):
            with pytest.raises(ValueError, match="feature names should match"):
                call(turned)


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_targets_as_a_column_or_as_text_are_flat_numbers(loss):
    X, y = DIABETES
    search = ProgressiveSearch(NAGRegressor(loss), {"eta0": [0.001, 1.0]}, min_rows=100)
    expected = clone(search).fit(X, y).cv_results_["mean_test_score"]
    with pytest.warns(DataConversionWarning):
        found = clone(search).fit(X, y[:, None])
    np.testing.assert_array_equal(found.cv_results_["mean_test_score"], expected)
    np.testing.assert_array_equal(clone(search).fit(X, y.astype(str)).cv_results_["mean_test_score"], expected)


def test_rows_of_weight_0_are_as_if_they_were_not_there(rng):
    X, y = DIABETES
    weight = np.where(rng.random(len(y)) < 0.5, 0.0, 1.0)
    weight[:150] = 0.0
    candidates = [SGDRegressor(random_state=0), NAGRegressor(random_state=0), NAGRegressor(eta0=1e-4)]
    options = {"min_rows": 40, "batch_size": 10}
    expected = ProgressiveSearch(candidates, **options).partial_fit(X[weight > 0], y[weight > 0])
    found = ProgressiveSearch(candidates, **options)
    for rows in (slice(0, 100), slice(100, None)):  # in the first part, there is nothing to learn
        found.partial_fit(X[rows], y[rows], sample_weight=weight[rows])
    for name in ("n_resources", "mean_test_score"):
        np.testing.assert_array_equal(found.cv_results_[name], expected.cv_results_[name])
    assert found.predict(X).tobytes() == expected.predict(X).tobytes()
    weight *= rng.uniform(1.0, 9.0, len(y))  # the weights by which the other rows count
    counted = weight > 0
    expected = ProgressiveSearch(candidates, **options).fit(X[counted], y[counted], sample_weight=weight[counted])
    found = ProgressiveSearch(candidates, **options).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(found.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"])
    assert found.predict(X).tobytes() == expected.predict(X).tobytes()


@pytest.mark.parametrize("counts", [[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
def test_unknown_classes_are_refused_whatever_their_rows_weigh(counts):
    search = ProgressiveSearch(NAGClassifier(), {"eta0": [0.1, 1.0]})
    with pytest.raises(ValueError, match="y contains 7, which is not one of classes"):
        search.partial_fit(np.eye(3), [0, 1, 7], classes=[0, 1], sample_weight=counts)


def test_nobody_leaves_before_anybody_is_judged():
    search = ProgressiveSearch(NAGRegressor(), {"eta0": [1e-9, 1e-8, 0.1, 1.0]}, min_rows=1)
    search.partial_fit(*(part[:1] for part in DIABETES))
    assert search.n_candidates_ == 4
    assert search.cv_results_["iter"].tolist() == [0, 0, 0, 0]
    search.partial_fit(*(part[1:2] for part in DIABETES))
    assert search.n_candidates_ == 2


def test_rows_of_weight_0_in_tables_of_arrow():
    pa = pytest.importorskip("pyarrow", exc_type=ImportError)
    X, y = DIABETES
    table = pa.table({f"x{i}": column for i, column in enumerate(X.T)})
    candidates = [make_online_pipeline(OnlineImputer(), NAGRegressor(eta0=eta0)) for eta0 in (0.1, 1.0)]
    weight = np.arange(len(y)) % 3
    expected = ProgressiveSearch(candidates).partial_fit(X, y, sample_weight=weight)
    found = ProgressiveSearch(candidates).partial_fit(table, y, sample_weight=weight)
    assert found.predict(table).tobytes() == expected.predict(X).tobytes()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"estimator__penalty": "l2"}, "estimator__penalty was None when this model was new and is 'l2' now"),
        ({"estimator": FTRLRegressor()}, r"estimator was NAGRegressor\(.* is FTRLRegressor\(\) now"),
        ({"param_grid": {"eta0": [0.1, 2.0], "clip": [None]}}, "eta0 was 1.0 .* is 2.0 now"),
        ({"param_grid": {"eta0": [0.1]}}, "the number of candidates was 2 .* is 1 now"),
    ],
)
def test_what_is_searched_stays_what_it_was(rng, changed, message):
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    search = ProgressiveSearch(NAGRegressor(), {"eta0": [0.1, 1.0], "clip": [None]}).partial_fit(X, y)
    search = pickle.loads(pickle.dumps(search)).set_params(estimator__eta0=7.0).partial_fit(X, y)  # no candidate has it
    with pytest.raises(ValueError, match=message):
        search.set_params(**changed).partial_fit(X, y)


def test_several_estimators_stay_what_they_were(rng):
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    search = ProgressiveSearch([NAGRegressor(), FTRLRegressor()]).partial_fit(X, y).partial_fit(X, y)
    for estimator, message in (
        ([NAGRegressor(), FTRLRegressor(l1=0.5)], "estimator__l1 was .* when this model was new and is 0.5 now"),
        ([NAGRegressor()], "the number of candidates was 2 .* is 1 now"),
    ):
        with pytest.raises(ValueError, match=message):
            search.set_params(estimator=estimator).partial_fit(X, y)


def test_nothing_to_try_and_nothing_to_learn():
    X, y = np.ones((3, 2)), np.array([0, 1, 0])
    with pytest.raises(ValueError, match="param_grid is an empty list; it must hold a setting to try"):
        ProgressiveSearch(NAGClassifier(), []).fit(X, y)
    piped = make_online_pipeline(OnlineImputer(), NAGClassifier())
    for model in (ProgressiveSearch(piped), HedgeClassifier([("piped", piped)])):
        with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
            model.partial_fit(X[:0], y[:0], classes=[0, 1])


def test_candidates_that_failed_rank_alike(rng):
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    with pytest.warns(FitFailedWarning):
        found = ProgressiveSearch(NAGClassifier(), {"eta0": [-1, 1.0, -2]}).fit(X, y)
    assert found.cv_results_["rank_test_score"].tolist() == [2, 1, 2]


def test_a_batch_of_rows_of_weight_0_is_as_if_it_were_not_there(rng):
    X = rng.normal(size=(300, 2))
    y, weight = X[:, 0] > 0, np.ones(300)
    X[::7, 1], X[100:200, 1], weight[100:200] = np.nan, 1e9, 0.0
    pipeline = make_online_pipeline(OnlineImputer(), NAGClassifier())
    whole, parts = (ProgressiveSearch(pipeline, {"nagclassifier__eta0": [0.1, 1.0]}, min_rows=50) for _ in range(2))
    whole.partial_fit(X, y, classes=[False, True], sample_weight=weight)
    for rows in np.split(np.arange(300), 3):
        parts.partial_fit(X[rows], y[rows], classes=[False, True], sample_weight=weight[rows])
    assert np.array_equal(whole.predict_proba(X), parts.predict_proba(X))
    assert whole.best_score_ == parts.best_score_


def test_calibrated_candidates_are_judged_in_time(rng):
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=200) > 0).astype(int)
    candidates = {"average": [True, False]}
    calibrated = NAGClassifier("hinge", calibration="progressive")
    whole, parts = (ProgressiveSearch(calibrated, candidates, loss="log_loss", min_rows=300) for _ in range(2))
    whole.partial_fit(X, y, classes=[0, 1])
    for rows in np.split(np.arange(200), [1, 2, 90]):
        parts.partial_fit(X[rows], y[rows], classes=[0, 1])
    scores = whole.cv_results_["mean_test_score"]
    np.testing.assert_array_equal(parts.cv_results_["mean_test_score"], scores)
    for average, score in zip(candidates["average"], scores):
        alone = clone(calibrated).set_params(average=average)
        assert progressive_validation(alone, X, y, scoring="neg_log_loss").score == pytest.approx(score, rel=1e-6)


def test_errors_about_rates_name_rows_as_given(rng):
    X, y = counts(rng)
    y[450] = -1.0
    search = ProgressiveSearch(NAGRegressor("poisson"), {"eta0": [0.1, 1.0]}, min_rows=100)
    with pytest.raises(ValueError, match="not be negative; y is -1.0 in row 450"):
        search.fit(X, y)
    with pytest.raises(ValueError, match="not be negative; y is -1.0 in row 150"):
        search.partial_fit(X[:300], y[:300]).partial_fit(X[300:], y[300:])
    assert search.n_rows_ == 300


def test_sparse_targets_are_refused():
    X, y = np.arange(8.0)[:, None], sparse.csr_array(np.arange(8.0)[:, None])
    for learner in (NAGRegressor(), make_online_pipeline(StandardScaler(), NAGRegressor())):
        with pytest.raises(ValueError, match=r"y must be dense: give y.toarray\(\)"):
            ProgressiveSearch(learner).fit(X, y)
