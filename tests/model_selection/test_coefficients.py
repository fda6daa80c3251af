"""The display of weights: which weights it shows, in which order, and under which names."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures

from sklearn_nag import NAGClassifier, NAGRegressor, OnlineBootstrap
from sklearn_nag.model_selection import CoefficientsDisplay
from sklearn_nag.preprocessing import OnlineImputer, make_online_pipeline


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def labels(display):
    display.figure_.canvas.draw()
    return [tick.get_text() for tick in display.ax_.get_yticklabels()]


@pytest.mark.usefixtures("pyplot")
def test_the_largest_weights_by_class():
    pytest.importorskip("pandas")
    X, y = load_wine(return_X_y=True, as_frame=True)
    clf = NAGClassifier(random_state=0).fit(X, y)
    display = CoefficientsDisplay.from_estimator(clf, max_features=4)
    comparable = clf.coef_ * X.std(ddof=0).to_numpy()
    order = np.argsort(-np.abs(comparable).max(axis=0))[:4]
    assert labels(display) == list(X.columns[order])
    assert display.ax_.yaxis_inverted()
    assert display.ax_.get_title() == "the largest 4 of 13 weights"
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["0", "1", "2"]
    assert display.ax_.get_legend().get_window_extent().x0 >= display.ax_.get_window_extent().x1  # beside the dots
    for line, weights in zip(display.lines_, comparable, strict=True):
        np.testing.assert_allclose(line.get_xdata(), weights[order], rtol=1e-9)


def test_names_from_a_pipeline_and_axes_of_ones_own(pyplot):
    X, y = load_breast_cancer(return_X_y=True)
    pipeline = make_pipeline(PolynomialFeatures(2, include_bias=False), NAGClassifier(max_iter=2, tol=None))
    pipeline.fit(X[:, :3], y)
    ax = pyplot.subplots()[1]
    display = CoefficientsDisplay.from_estimator(pipeline, ax=ax)
    assert display.ax_ is ax
    assert sorted(labels(display)) == sorted(pipeline[:-1].get_feature_names_out())
    assert display.targets == [1]
    assert ax.get_legend() is None
    assert labels(CoefficientsDisplay.from_estimator(NAGClassifier().partial_fit(X, y, [0, 1]), max_features=1))


@pytest.mark.usefixtures("pyplot")
def test_whiskers_of_copies_of_learners():
    X, y = load_wine(return_X_y=True)
    X, target = X[:, :3], X[:, 3:5]
    poly = PolynomialFeatures(2, include_bias=False)
    for boot, t, n_targets in (
        (OnlineBootstrap(NAGRegressor(), 3), target, 2),
        (OnlineBootstrap(NAGClassifier(), 3), y, 3),
        (OnlineBootstrap(make_pipeline(poly, NAGClassifier()), 3), y > 0, 1),
        (OnlineBootstrap(make_online_pipeline(OnlineImputer(), NAGRegressor()), 3), target[:, 0], 1),
        (make_pipeline(poly, OnlineBootstrap(NAGRegressor(), 3)), target, 2),
        (make_pipeline(poly, OnlineBootstrap(make_pipeline(poly, NAGClassifier()), 3)), y, 3),
    ):
        display = CoefficientsDisplay.from_estimator(boot.fit(X, t), max_features=100)
        table = getattr(boot, "steps", [(0, boot)])[-1][1].coefficients(as_frame=False)
        assert display.weights.ravel().tolist() == table.unit_free_weight.tolist()
        assert display.errors.ravel().tolist() == (table.standard_error * table.scale).tolist()
        assert len(display.whiskers_) == len(display.targets) == n_targets
        assert display.names[:3] == ["x0", "x1", "x2"]
    assert display.names[9:11] == ["x0^2", "x0 x1"]
    frame = pytest.importorskip("pandas").DataFrame(X, columns=["a", "b", "c"])
    for boot in (
        OnlineBootstrap(make_pipeline(poly, NAGRegressor()), 3),
        make_pipeline(FunctionTransformer(feature_names_out="one-to-one"), OnlineBootstrap(NAGRegressor(), 3)),
    ):
        display = CoefficientsDisplay.from_estimator(boot.fit(frame, target[:, 0]))
        assert display.names[:3] == ["a", "b", "c"]


def test_errors():
    with pytest.raises(ValueError, match=r"weights has shape \(2,\); .* each of 1 names"):
        CoefficientsDisplay([1.0, 2.0], ["a"])
    with pytest.raises(ValueError, match="max_features"):
        CoefficientsDisplay([1.0]).plot(max_features=0)
    with pytest.raises(TypeError, match=r"estimator must be a linear learner of this package.*SGDClassifier"):
        CoefficientsDisplay.from_estimator(SGDClassifier())
    with pytest.raises(TypeError, match=r"estimator must be a linear learner of this package.*SGDClassifier"):
        CoefficientsDisplay.from_estimator(OnlineBootstrap(SGDClassifier(), 2).fit([[0.0], [1.0]], [0, 1]))
