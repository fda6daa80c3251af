"""The display of weights: which are shown, in which order, by which names."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from sklearn_nag import NAGClassifier
from sklearn_nag.model_selection import CoefficientsDisplay


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


def test_errors():
    with pytest.raises(ValueError, match=r"weights has shape \(2,\); .* each of 1 names"):
        CoefficientsDisplay([1.0, 2.0], ["a"])
    with pytest.raises(ValueError, match="max_features"):
        CoefficientsDisplay([1.0]).plot(max_features=0)
    with pytest.raises(TypeError, match=r"estimator must be a learner of this package.*SGDClassifier"):
        CoefficientsDisplay.from_estimator(SGDClassifier())
