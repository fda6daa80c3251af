"""Tables of weights, contributions of features, and the summary in a notebook."""

import copy
import re
import sys

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from sklearn_nag import FTRLRegressor, NAGClassifier, NAGRegressor, ScaleInvariantClassifier, ScaleInvariantRegressor
from sklearn_nag._extras import how_to_install
from sklearn_nag.kernels.vectorized import prediction

DIABETES = load_diabetes(return_X_y=True, scaled=False)
TWO_OUTPUTS = DIABETES[0], np.column_stack([DIABETES[1], -3.0 * DIABETES[1] ** 2])
MODELS = [
    (NAGClassifier(max_iter=2, tol=None), load_breast_cancer(return_X_y=True)),
    (NAGClassifier("hinge", normalization="max", max_iter=2, tol=None), load_wine(return_X_y=True)),
    (NAGClassifier(eta0="auto", max_iter=2, tol=None), load_wine(return_X_y=True)),
    (NAGRegressor(penalty="l1", clip=None, fit_intercept=False, centering=False, max_iter=2, tol=None), DIABETES),
    (NAGRegressor(clip=None, max_iter=2, tol=None), TWO_OUTPUTS),
    (ScaleInvariantClassifier(max_iter=2, tol=None), load_wine(return_X_y=True)),
    (ScaleInvariantRegressor(invariance="full", clip=None, max_iter=2, tol=None), DIABETES),
]


def decisions(model, X):
    return model.decision_function(X) if is_classifier(model) else model.predict(X)


@pytest.mark.filterwarnings("ignore:.*learnt nothing useful")
@pytest.mark.parametrize(("model", "data"), MODELS)
def test_contributions_of_dense_rows(model, data):
    X, y = data
    model.fit(X, y)
    parts, decision = model.contributions(X), decisions(model, X)
    n_targets = 1 if decision.ndim == 1 else decision.shape[1]
    coef = np.reshape(model.coef_, (n_targets, -1))
    assert parts.shape == (*([n_targets] if n_targets > 1 else []), len(X), X.shape[1] + 1)
    np.testing.assert_allclose(parts.sum(axis=-1).T, decision, rtol=1e-9, atol=1e-9 * np.abs(decision).max())
    expected = (X - X.mean(axis=0) * bool(model.mean_.any())) * coef[:, None, :]
    np.testing.assert_allclose(
        np.reshape(parts, (n_targets, len(X), -1))[..., :-1], expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max()
    )
    assert np.ptp(parts[..., -1], axis=-1).max() == 0.0


@pytest.mark.parametrize("began", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_contributions_of_sparse_rows(began, n_classes):
    rng = np.random.default_rng(0)
    rows = sparse.random(60, 20, density=0.2, random_state=0, format="csr")
    y = rng.integers(0, n_classes, 60)
    clf = NAGClassifier().partial_fit(began(rows.toarray()), y, classes=range(n_classes))
    parts = clf.contributions(rows)
    parts = parts if n_classes > 2 else [parts]
    dense = rows.toarray()
    for part, weight, rest, decision in zip(
        parts, clf.coef_, clf.intercept_, np.reshape(clf.decision_function(rows), (60, -1)).T, strict=True
    ):
        assert sparse.issparse(part)
        assert part.shape == (60, 21)
        assert part.nnz == rows.nnz + 60
        np.testing.assert_allclose(part.sum(axis=1), decision, rtol=1e-9)
        np.testing.assert_allclose(part.toarray(), np.column_stack([dense * weight, np.full(60, rest)]), rtol=1e-9)


@pytest.mark.parametrize("loss", ["poisson", "gamma", "tweedie"])
def test_with_a_log_link_logarithms_are_added(loss):
    X, y = load_diabetes(return_X_y=True)
    reg = NAGRegressor(loss, clip=None).partial_fit(X, y)
    np.testing.assert_allclose(reg.contributions(X).sum(axis=1), np.log(reg.predict(X)))
    table = reg.coefficients(as_frame=False)
    steps = np.array([reg.predict([reg.mean_ + reg.scale_ * row])[0] for row in np.vstack([np.zeros(10), np.eye(10)])])
    np.testing.assert_allclose(table.unit_free_weight, np.log(steps[1:] / steps[0]), atol=1e-12)


def test_contributions_where_raw_units_lose_all_digits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) * [1.0, 1e-300, 1.0] + [0.0, 0.0, 2.0**45]
    reg = NAGRegressor(clip=None).partial_fit(X, X[:, 0] + X[:, 1] * 1e300 + (X[:, 2] - 2.0**45))
    parts = reg.contributions(X)
    assert np.isfinite(parts).all()
    np.testing.assert_allclose(parts.sum(axis=1), reg.predict(X), rtol=1e-12, atol=1e-12)
    assert 0.5 < np.abs(parts[:, 2]).mean() < 2.0
    with pytest.raises(ValueError, match="means that are too far from 0 .* give dense rows"):
        reg.contributions(sparse.csr_array(X))


@pytest.mark.parametrize(("model", "data"), MODELS[:2] + MODELS[4:5])
def test_table_of_weights(model, data):
    X, y = data
    model.fit(X, y)
    table = model.coefficients(as_frame=False)
    n_targets = 1 if np.ndim(model.coef_) == 1 else len(model.coef_)
    assert np.array_equal(table.weight, np.ravel(model.coef_))
    assert list(table.feature[: X.shape[1]]) == [f"x{i}" for i in range(X.shape[1])]
    np.testing.assert_allclose(table.unit_free_weight, table.weight * np.tile(model.scale_, n_targets), rtol=1e-12)
    assert np.array_equal(table.largest, np.tile(np.abs(X).max(axis=0), n_targets))
    assert np.array_equal(table["mean"], np.tile(model.mean_, n_targets))
    if n_targets == 1:
        assert "class" not in table
    else:
        targets = model.classes_ if is_classifier(model) else range(n_targets)
        assert list(table["class" if is_classifier(model) else "output"][:: X.shape[1]]) == list(targets)


def test_weights_of_several_half_lives_are_those_of_the_mixture(rng):
    X = rng.normal(size=(4000, 5)) * [1.0, 10.0, 0.1, 1.0, 1.0]
    y = (X @ [2.0, -0.1, 10.0, 0.0, 3.0] > 0) ^ (np.arange(4000) >= 3800)
    clf = NAGClassifier(half_life="auto").partial_fit(X, y, classes=[False, True])
    table = clf.coefficients(as_frame=False)
    np.testing.assert_allclose(table.unit_free_weight, table.weight * clf.scale_, rtol=1e-12)
    assert (np.sign(table.unit_free_weight[[0, 1, 2, 4]]) == [-1, 1, -1, -1]).all()


def test_table_as_a_frame():
    pd = pytest.importorskip("pandas")
    X, y = load_wine(return_X_y=True, as_frame=True)
    clf = NAGClassifier(max_iter=1).fit(X, y)
    table = clf.coefficients()
    assert isinstance(table, pd.DataFrame)
    assert list(table) == ["class", "feature", "weight", "unit_free_weight", "scale", "mean", "largest"]
    assert list(table["feature"][:13]) == list(X)
    pipeline = make_pipeline(NAGClassifier(max_iter=1)).fit(X.to_numpy(), y)
    assert list(pipeline[-1].coefficients(list(X))["feature"][13:26]) == list(X)


def test_tables_without_pandas(monkeypatch):
    X, y = load_wine(return_X_y=True)
    clf = NAGClassifier(max_iter=1).fit(X, y)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=re.escape(how_to_install("csv"))):
        clf.coefficients(as_frame=True)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert clf.coefficients()["weight"].shape == (39,)


def test_errors():
    clf = NAGClassifier()
    for method in (clf.coefficients, lambda: clf.contributions([[1.0]])):
        with pytest.raises(NotFittedError):
            method()
    clf.partial_fit([[1.0, 2.0], [3.0, 4.0]], [0, 1], [0, 1])
    with pytest.raises(ValueError, match=r"feature_names has shape \(1,\); the model has 2 features"):
        clf.coefficients(["a"])
    with pytest.raises(ValueError, match="'as_frame' parameter must be one of True, False, 'auto'. Got 'yes'"):
        clf.coefficients(as_frame="yes")
    with pytest.raises(ValueError, match="3 features"):
        clf.contributions([[1.0, 2.0, 3.0]])


def test_summary_in_a_notebook():
    clf = NAGClassifier("hinge")
    assert "sklearn-nag-learnt" not in clf._repr_mimebundle_()["text/html"]
    clf.partial_fit([[1.0], [3.0]] * 600, ["<b>", "c"] * 600, ["<b>", "c"])
    html = clf._repr_mimebundle_()["text/html"]
    number = r"sk-[a-z-]*id-\d+"  # ids of the diagram
    assert re.sub(number, "", html) == re.sub(number, "", clf._repr_html_())
    table = html[html.index("sklearn-nag-learnt") :]
    assert "<th>rows learnt, by weight</th><td>1,200</td>" in table
    assert f"<th>progressive loss</th><td>{clf.progressive_loss_:.6g} (hinge), each row predicted before" in table
    assert "&lt;b&gt;, c" in table
    with sklearn.config_context(display="text"):
        assert list(clf._repr_mimebundle_()) == ["text/plain"]
        assert not hasattr(clf, "_repr_html_")


def test_a_summary_says_that_squared_errors_are_halved(rng):
    X, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    one, two = (NAGRegressor().partial_fit(X, targets) for targets in (y, np.c_[y, y]))
    root = np.sqrt(2 * one.progressive_loss_)
    assert f"{one.progressive_loss_:.6g} (half the squared error; RMSE {root:.6g}), each row" in one._repr_html_()
    assert f"{two.progressive_loss_:.6g} (half the squared error), each row" in two._repr_html_()
    of_loss = NAGRegressor("absolute_error").partial_fit(X, y)
    assert f"{of_loss.progressive_loss_:.6g} (absolute_error), each row" in of_loss._repr_html_()
    for family in (NAGClassifier, ScaleInvariantClassifier):
        clf = family("squared_error").partial_fit(X, y > 0, [False, True])
        assert f"{clf.progressive_loss_:.6g} (half the squared error), each row" in clf._repr_html_()


def test_summary_after_several_passes(rng):
    X, y = rng.normal(size=(220, 40)), np.arange(220) % 2  # noise, which passes learn by heart
    html = NAGClassifier(max_iter=7, tol=None, random_state=0).fit(X, y)._repr_html_()
    assert "progressive loss" not in html
    assert "<th>mean loss of 7 passes</th>" in html
    assert "loss of rows held out" not in html
    clf = NAGClassifier(max_iter=7, random_state=0).fit(X, y)
    clf.n_iter_ = 3  # as if more than one pass had helped
    assert f"<th>loss of rows held out</th><td>{clf.validation_losses_.min():.6g} (log_loss)</td>" in clf._repr_html_()


@pytest.mark.parametrize("learner", [NAGRegressor(), NAGRegressor(normalization="max"), FTRLRegressor()])
def test_columns_that_no_row_has_named_take_no_time(learner, rng):
    X = sparse.random_array((300, 6000), density=0.01, format="csr", random_state=0)
    X = sparse.csr_array((X.data, X.indices % 700 * 8, X.indptr), X.shape)
    X.sum_duplicates()
    state = learner.partial_fit(X, rng.normal(size=300))._state
    expected = state._linear()
    state._linear = None  # this looks at all columns
    for ours, theirs in zip(state.linear(), expected):
        np.testing.assert_array_equal(ours, theirs)


def test_copies_learn_by_themselves(rng):
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    model = NAGRegressor().partial_fit(X, y)
    before = model.predict(X)
    copied = copy.deepcopy(model)
    np.testing.assert_array_equal(copied.predict(X), before)
    copied.partial_fit(X, -y)
    np.testing.assert_array_equal(model.predict(X), before)
    assert copied.n_features_in_ == 3
    assert clone(copied).get_params() == model.get_params()


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_float32_rows_are_predicted_some_at_a_time(make, monkeypatch, rng):
    X = rng.normal(size=(50, 7)).astype(np.float32)
    clf = NAGClassifier().partial_fit(X, X[:, 0] > 0, classes=[False, True])
    expected = clf.decision_function(make(X))
    monkeypatch.setattr(prediction, "CONVERTED", 20)
    np.testing.assert_allclose(clf.decision_function(make(X)), expected, rtol=1e-12)
