"""The figure of intervals, and intervals as progressive validation judges them."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.exceptions import DataConversionWarning

from sklearn_nag import NAGClassifier, NAGRegressor, ScaleInvariantRegressor
from sklearn_nag.model_selection import CoefficientsDisplay, IntervalDisplay, progressive_validation

X, Y = load_diabetes(return_X_y=True, scaled=False)


def test_progressive_validation_judges_the_intervals_that_rows_had():
    coverages = [0.5, 0.9]
    weight = (np.arange(len(Y)) % 5 > 0).astype(float)
    result = progressive_validation(NAGRegressor(), X, Y, sample_weight=weight, coverage=coverages, curve_at=[100, 200])
    reg, held, width = NAGRegressor(), [], []
    for i in np.flatnonzero(weight):
        if i > 1:  # intervals from before the row, around what is played for it
            usual = np.average(X[:i], axis=0, weights=weight[:i])[None]  # a row that has the common width
            interval = reg.predict_interval(usual, coverages)[0]
            played = reg._play(X[i : i + 1], Y[i : i + 1])[0, 0]
            half = (interval[1] - interval[0]) / 2.0
            width.append(np.where(np.isfinite(half), 2.0 * half, np.nan))
            held.append(np.where(np.isfinite(half), abs(Y[i] - played) <= half, np.nan))
        else:
            reg.partial_fit(X[i : i + 1], Y[i : i + 1])
    np.testing.assert_allclose(result.width, np.nanmean(width, axis=0))
    np.testing.assert_allclose(result.coverage, np.nanmean(held, axis=0))
    assert result.curve["coverage"].shape == result.curve["width"].shape == (2, 2)
    np.testing.assert_allclose(result.coverage, coverages, atol=0.06)
    assert progressive_validation(NAGRegressor(), X, Y).coverage is None


@pytest.mark.parametrize(
    "reg",
    [
        NAGRegressor("poisson"),
        NAGRegressor("poisson", clip=(0.5, 20.0)),
        NAGRegressor(clip=(0.0, np.inf)),
        NAGRegressor(clip=(1.0, 3.0)),  # some targets are beyond these
    ],
    ids=str,
)
def test_intervals_are_cut_as_those_of_predictions(reg):
    """Intervals agree row by row without normalization; with it, predictions on the way know their row's units."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1.0, 1.0, size=(90, 2))
    y = rng.poisson(np.exp(rows @ [1.0, -0.5])).astype(float)
    reg.set_params(normalization=None)
    result, held, width = progressive_validation(reg, rows, y, coverage=[0.5, 0.9]), [], []
    for i in range(len(y)):
        if i > 0:
            low, high = reg.predict_interval(rows[i : i + 1], [0.5, 0.9])[0]
            width.append(np.where(np.isfinite(high - low), high - low, np.nan))
            held.append(np.where(np.isfinite(high - low), (low <= y[i]) & (y[i] <= high), np.nan))
        reg.partial_fit(rows[i : i + 1], y[i : i + 1])
    np.testing.assert_allclose(result.width, np.nanmean(width, axis=0))
    np.testing.assert_allclose(result.coverage, np.nanmean(held, axis=0))


def test_several_outputs():
    y = np.column_stack([Y, 2.0 * Y])
    two = progressive_validation(NAGRegressor(), X, y, coverage=0.8)
    one = progressive_validation(NAGRegressor(), X, Y, coverage=0.8)
    np.testing.assert_allclose(two.coverage, one.coverage)
    np.testing.assert_allclose(two.width, 1.5 * one.width)


def test_where_there_are_none():
    for learner, y, options in ((NAGClassifier(), Y > 100, {}), (NAGRegressor(), Y, {"delay": 1})):
        with pytest.raises(ValueError, match="coverage needs a linear regressor"):
            progressive_validation(learner, X, y, coverage=0.9, **options)


def test_display():
    pytest.importorskip("matplotlib").use("agg")
    reg = NAGRegressor().partial_fit(X, Y)
    display = IntervalDisplay.from_estimator(reg, X[:50], Y[:50], coverage=[0.5, 0.9])
    assert len(display.bands_) == 2
    assert 0.2 < display.held[0] < display.held[1] <= 1.0
    np.testing.assert_array_equal(display.line_.get_ydata(), Y[:50])
    with pytest.warns(DataConversionWarning):
        column = IntervalDisplay.from_estimator(reg, X[:50], Y[:50, None], coverage=[0.5, 0.9])
    assert column.held.tolist() == display.held.tolist()
    assert "requested 0.9" in display.ax_.get_legend().get_texts()[0].get_text()
    with pytest.raises(ValueError, match="low and high have shapes"):
        IntervalDisplay([[0.0]], [[1.0]], [0.0, 1.0], [0.9])


def test_targets_that_are_missing_are_no_misses():
    reg, y = NAGRegressor().partial_fit(X, Y), Y.copy()
    y[7] = np.nan
    with pytest.raises(ValueError, match="Input y contains NaN"):
        IntervalDisplay.from_estimator(reg, X, y)


@pytest.mark.parametrize("style", ["default", "dark_background"])
@pytest.mark.parametrize("face", ["axes", "figure"])
def test_colours_are_those_of_the_style(style, face):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    from matplotlib.colors import to_rgb

    with pyplot.style.context([style, *([{"axes.facecolor": "none"}] if face == "figure" else [])]):
        display = IntervalDisplay([[0.0, 1.0]], [[3.0, 2.0]], [9.0], [0.9, 0.5]).plot()
        text, behind = ("black", 1.0) if style == "default" else ("white", 0.0)
        assert to_rgb(display.line_.get_color()) == to_rgb(text)
        blue = np.array(to_rgb("C0"))
        for band, share in zip(display.bands_, (0.3, 0.7), strict=True):
            np.testing.assert_allclose(band.get_facecolor()[0][:3], behind + share * (blue - behind))


def test_infinite_intervals_fill_the_axes():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    y = [0.0, 1.0, 2.0, 3.0, 4.0]
    whole = IntervalDisplay([[-np.inf]] * 5, [[np.inf]] * 5, y, [0.9]).plot()
    half = IntervalDisplay([[-9.0]] * 5, [[np.inf]] * 4 + [[7.0]], y, [0.9]).plot()
    upside_down = pyplot.subplots()[1]
    upside_down.invert_yaxis()
    for display in (whole, half, IntervalDisplay(whole.low, whole.high, y, [0.9]).plot(upside_down)):
        display.figure_.canvas.draw()
        bottom, top = display.ax_.get_ybound()
        (path,) = display.bands_[0].get_paths()
        ends = path.vertices[:, 1]
        assert (ends.min(), ends.max()) == (-9.0 if display is half else bottom, top)
        assert bottom < min(ends.min() + 1e-9, 0.0) < 4.0 < top < 10.0
    assert 7.0 in half.bands_[0].get_paths()[0].vertices
    assert upside_down.yaxis_inverted()


def test_whiskers():
    pytest.importorskip("matplotlib").use("agg")
    exact = ScaleInvariantRegressor(invariance="full").partial_fit(X, Y)
    display = CoefficientsDisplay.from_estimator(exact)
    (whiskers,) = display.whiskers_
    lengths = [segment[1, 0] - segment[0, 0] for segment in whiskers.get_segments()]
    expected = 4.0 * exact.coefficients(as_frame=False).standard_error * exact.scale_
    np.testing.assert_allclose(sorted(lengths), sorted(expected))
    assert CoefficientsDisplay.from_estimator(NAGRegressor().partial_fit(X, Y)).whiskers_ == []
    with pytest.raises(ValueError, match="errors has shape"):
        CoefficientsDisplay([1.0, 2.0], errors=[1.0])
