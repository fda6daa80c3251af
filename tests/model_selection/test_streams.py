"""Batches, containers and the steps before a learner make no difference to what is learnt."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, Normalizer, PolynomialFeatures, StandardScaler

from sklearn_nag import HedgeClassifier, NAGClassifier, NAGRegressor
from sklearn_nag.model_selection import ProgressiveSearch, eta_sweep, progressive_validation
from sklearn_nag.preprocessing import OnlineColumnTransformer, make_online_pipeline
from sklearn_nag.streams import fit_stream

from .helpers import CANCER, WINE, cut


def test_batches_from_a_stream_make_no_difference(rng):
    X, y = WINE[0][:110], WINE[1][:110]
    weight = rng.integers(0, 3, len(y)) * rng.random(len(y))
    options = {"scoring": ["accuracy", "neg_log_loss"], "curve_at": [40, 80]}
    for learner in (NAGClassifier(), make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", random_state=0))):
        whole = progressive_validation(learner, X, y, sample_weight=weight, **options)
        stream = cut(X, y, 1, 30, 0, 49, 3, weight=weight)
        parts = progressive_validation(learner, stream, classes=[0, 1, 2], **options)
        assert parts.score == whole.score
        assert (parts.n_rows, parts.n_scored) == (whole.n_rows, whole.n_scored)
        for name, values in whole.curve.items():
            assert np.array_equal(parts.curve[name], values)
    assert np.array_equal(whole.curve["n_rows"], [40, 80])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.coo_matrix, "pandas", "polars"])
def test_kinds_of_rows(container):
    X, y = CANCER
    learner = NAGClassifier(centering=False)
    expected = progressive_validation(learner, X, y)
    rows = pytest.importorskip(container).DataFrame(X) if isinstance(container, str) else container(X)
    result = progressive_validation(learner, rows, y)
    assert result.score == pytest.approx(expected.score, abs=0.004)
    by_row = make_pipeline(MaxAbsScaler(), SGDClassifier(random_state=0))
    assert progressive_validation(by_row, rows, y, batch_size=40).score == pytest.approx(
        progressive_validation(by_row, X, y, batch_size=40).score,
        abs=0.02,  # on sparse rows SGDClassifier moves its intercept more slowly
    )


def test_steps_learn_before_they_transform_and_not_from_targets():
    X, y = CANCER
    pipeline = make_pipeline(StandardScaler(), Normalizer(), SGDClassifier(random_state=0))
    result = progressive_validation(pipeline, X, y, batch_size=20)
    scaler, sgd, predicted = StandardScaler(), SGDClassifier(random_state=0), []
    for i in range(0, len(y), 20):
        rows = Normalizer().transform(scaler.partial_fit(X[i : i + 20]).transform(X[i : i + 20]))
        if i:
            predicted.append(sgd.predict(rows))
        sgd.partial_fit(rows, y[i : i + 20], classes=[0, 1])
    assert result.score == accuracy_score(y[20:], np.concatenate(predicted))
    assert np.array_equal(result.estimator[-1].coef_, sgd.coef_)
    assert np.array_equal(result.estimator[0].mean_, scaler.mean_)
    # The same holds for our learners, although their rows are predicted one by one.
    ours = make_pipeline(FunctionTransformer(np.log1p), "passthrough", NAGClassifier())
    direct = progressive_validation(NAGClassifier(), np.log1p(X), y)
    assert progressive_validation(ours, X, y).score == direct.score


@pytest.mark.parametrize("remainder", ["drop", StandardScaler()])
def test_steps_within_a_column_transformer_are_known_before_the_first_row(remainder):
    X, y = CANCER
    columns = OnlineColumnTransformer([("scaled", StandardScaler(), [0, 1, 2])], remainder=remainder)
    if not isinstance(remainder, str):
        columns.set_params(transformers=[("as they are", "passthrough", [0, 1, 2])])
    nested = make_pipeline(make_online_pipeline(columns, "passthrough"), NAGClassifier(normalization=None))
    for learner in (nested, HedgeClassifier([("only", nested)], batch_size=20, random_state=0)):
        whole = progressive_validation(learner, X, y, batch_size=20)
        parts = progressive_validation(learner, cut(X, y, *[20] * (len(y) // 20)), batch_size=20, classes=[0, 1])
        np.testing.assert_array_equal(whole.predictions["predict"], parts.predictions["predict"])
        np.testing.assert_array_equal(whole.estimator.predict_proba(X), parts.estimator.predict_proba(X))
    searches = [ProgressiveSearch(nested, batch_size=20) for _ in range(2)]
    for search, batches in zip(searches, ([(X, y)], cut(X, y, *[20] * (len(y) // 20)))):
        for rows, targets in batches:
            search.partial_fit(rows, targets, classes=[0, 1])
    assert searches[0].best_score_ == searches[1].best_score_


def test_steps_that_were_fitted_before():
    X, y = CANCER
    pipeline = make_pipeline(FrozenEstimator(PolynomialFeatures(2).fit(X[:1, :5])), NAGClassifier())
    rows = PolynomialFeatures(2).fit_transform(X[:, :5])
    assert progressive_validation(pipeline, X[:, :5], y).score == progressive_validation(NAGClassifier(), rows, y).score
    text = ["good film", "bad film", "fine film", "poor film"] * 20
    pipeline = make_pipeline(HashingVectorizer(n_features=2**12), NAGClassifier())
    result = progressive_validation(pipeline, text, ["yes", "no"] * 40, scoring="f1_macro")
    assert 0.8 < result.score < 1


@pytest.mark.parametrize("run", [progressive_validation, eta_sweep])
def test_errors_of_streams(run):
    X, y = CANCER
    with pytest.raises(ValueError, match="y is missing"):
        run(NAGClassifier(), X)
    with pytest.raises(ValueError, match="classes must be given for an iterable"):
        run(NAGClassifier(), cut(X, y))
    with pytest.raises(ValueError, match="sample_weight needs arrays"):
        run(NAGClassifier(), cut(X, y), classes=[0, 1], sample_weight=np.ones(len(y)))
    with pytest.raises(ValueError, match="no rows|0 rows"):
        run(NAGClassifier(), [], classes=[0, 1])


@pytest.mark.parametrize("run", [progressive_validation, eta_sweep, fit_stream])
def test_batches_that_are_no_tuples_of_two_or_three(run):
    X, y = CANCER
    for batch, what in ((X, "ndarray"), ([X, y], "list"), ((X,), "tuple of 1"), ((X, y, None, None), "tuple of 4")):
        message = rf"^batches must be tuples \(X, y\) or \(X, y, sample_weight\); got {what}\.$"
        with pytest.raises(ValueError, match=message):
            run(NAGClassifier(), [batch], classes=[0, 1])
    with pytest.raises(ValueError, match=r"got str\. For files and frames, pass read_batches"):
        run(NAGClassifier(), "rows.csv", classes=[0, 1])
    for row in (X[0], {"radius": 1.0}):
        with pytest.raises(
            ValueError, match=r"target for each row; got the single target y=1\.0\. .*DataFrame\(\[row\]\)"
        ):
            run(NAGRegressor(), [(row, 1.0)])


@pytest.mark.parametrize("run", [progressive_validation, eta_sweep])
def test_classes_and_masks_of_streams(run):
    X, y = np.arange(20.0)[:, None], np.arange(20) % 2
    for options, message in (
        ({"classes": []}, "classes is empty"),
        ({"classes": {0, 1}}, "classes is a set"),
        ({"classes": [0, "a", None]}, "classes"),
        ({"sample_weight": np.ma.masked_array(np.ones(20), y)}, "sample_weight has a masked entry in row 1"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            run(NAGClassifier(), X, y, **options)
    with pytest.raises(ValueError, match="y is empty"):
        run(NAGClassifier(), X[:0], y[:0])
    with pytest.raises(ValueError, match="y has a masked entry"):
        run(NAGClassifier(), X, np.ma.masked_array(y, y))
    with pytest.raises(ValueError, match="X has a masked entry"):
        run(make_pipeline(StandardScaler(), NAGClassifier()), [(np.ma.masked_array(X, X > 4), y)], classes=[0, 1])
    assert run(NAGClassifier(), X, y.astype(object)).n_rows == 20


@pytest.mark.parametrize("points", ["word", 1j, {1, 2}, [10**400], [2**63], [0.5], [[1, 2]], [3, 2], np.ma.masked])
def test_points_of_curves_are_named(points):
    with pytest.raises((ValueError, TypeError), match="curve_at"):
        progressive_validation(NAGRegressor(), np.ones((4, 1)), np.ones(4), curve_at=points)
