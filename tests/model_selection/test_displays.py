"""The displays: what they show, where they show it, and their messages when they cannot."""

import re
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import make_scorer, mean_squared_error
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler

from sklearn_nag import HedgeClassifier, NAGCellsClassifier, NAGClassifier, NAGRegressor, report_progress
from sklearn_nag._extras import how_to_install
from sklearn_nag.model_selection import (
    CoefficientsDisplay,
    EffectsDisplay,
    EtaSweepDisplay,
    FeatureScalesDisplay,
    HalfLivesDisplay,
    NAGClassifierCV,
    NAGRegressorCV,
    ProgressiveLossDisplay,
    ProgressiveSearch,
    ProgressiveSplit,
    ValidationLossDisplay,
    eta_sweep,
    progressive_score,
    progressive_validation,
)
from sklearn_nag.preprocessing import OnlineOneHotEncoder, make_online_pipeline

ETA0S = [0.01, 1.0, 100.0]
CANCER = load_breast_cancer(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def drawn(display):
    display.figure_.canvas.draw()
    assert display.ax_.figure is display.figure_
    return display.ax_


def test_ranges_are_measured_against_the_best_of_all():
    curve = ([1, 2, 4, 8, 16, 32], [0.104, 0.2, 0.105, 0.1, np.inf, 0.1])
    near, far = ([1, 2], [np.nan, 0.102]), ([1, 2], [3.0, np.inf])
    display = EtaSweepDisplay({"one": curve, "near": near, "far": far})
    assert display.good_enough_ == pytest.approx(0.105)
    assert display.ranges_ == {"one": (4.0, 8.0), "near": (2.0, 2.0), "far": None}  # ranges have no gaps
    assert EtaSweepDisplay({"": curve}, tolerance=0.0).ranges_[""] == (8.0, 8.0)
    assert EtaSweepDisplay({"": ([1, 2], [-1.0, -0.96])}).ranges_[""] == (1.0, 2.0)


def test_a_standard_error_is_allowed_where_it_is_more():
    curves = {"a": ([1, 2, 4], [0.3, 0.1, 0.119]), "b": ([1, 2], [0.118, 0.121])}
    spreads = {"a": [9.0, 0.02, 9.0]}
    assert EtaSweepDisplay(curves, spreads=spreads).ranges_ == {"a": (2.0, 4.0), "b": (1.0, 1.0)}
    assert EtaSweepDisplay(curves, spreads={"a": [9.0, 0.001, 9.0]}).ranges_ == {"a": (2.0, 2.0), "b": None}
    assert EtaSweepDisplay(curves, spreads={"a": [9.0, np.nan, 9.0]}).ranges_ == {"a": (2.0, 2.0), "b": None}


@pytest.mark.parametrize("errors", [[0.1, 0.1001], [5.0, 5.0], [-2.0, -1.999]])
def test_small_differences_look_small(pyplot, errors):
    bottom, top = EtaSweepDisplay({"a": ([1.0, 2.0], errors)}).plot().ax_.get_ylim()
    assert bottom < min(errors) <= max(errors) < top
    assert top - bottom >= 0.5 * abs(errors[0])


def test_sweeps_are_drawn(pyplot):
    learners = {"NAG": NAGClassifier(normalization="max"), "sNAG": NAGClassifier()}
    display = EtaSweepDisplay.from_estimator(learners, *CANCER, ETA0S)
    ax = drawn(display)
    assert (ax.get_xscale(), ax.get_xlabel(), ax.get_ylabel()) == ("log", "learning rate", "progressive error")
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["NAG", "sNAG"]
    assert ax.get_legend().get_title().get_text() == "bars: within 5 %\nof the best of all"
    assert ax.get_legend().get_window_extent().x0 > ax.get_window_extent().x1  # beside the curves
    for line, learner in zip(display.lines_, learners.values(), strict=True):
        sweep = eta_sweep(learner, *CANCER, ETA0S)
        assert np.array_equal(line.get_xdata(), ETA0S)
        shown = line.get_ydata()
        assert np.array_equal(shown[np.isfinite(shown)], sweep.errors[np.isfinite(shown)])
        assert min(ax.get_ylim()) < sweep.errors.min() < max(ax.get_ylim())
    figure, (left, right) = pyplot.subplots(1, 2)
    again = EtaSweepDisplay.from_sweeps(eta_sweep(NAGRegressor(), *DIABETES, ETA0S), ax=right)
    assert again.ax_ is right
    assert right.get_ylabel() == "progressive loss"
    assert display.plot(left, ylim=(0, 0.5)) is display
    assert display.ax_ is left
    assert left.get_ylim()[0] == 0
    assert figure is display.figure_


def test_searches_of_other_learners_are_drawn(pyplot):
    X, y = CANCER
    sgd = GridSearchCV(SGDClassifier(random_state=0), {"alpha": ETA0S[::-1]}, cv=2).fit(X, y)
    ours = NAGClassifierCV(NAGClassifier(max_iter=2, tol=None, random_state=0), ETA0S, cv=2).fit(X, y)
    display = EtaSweepDisplay.from_sweeps([sgd, ours, ours])
    drawn(display)
    assert list(display.curves) == ["SGDClassifier", "NAGClassifier 1", "NAGClassifier 2"]
    eta0s, errors = display.curves["SGDClassifier"]
    assert np.array_equal(eta0s, ETA0S)
    assert np.array_equal(errors, 1 - sgd.cv_results_["mean_test_score"][::-1])
    assert display.ax_.get_ylabel() == "error"
    by_fold = np.array([ours.cv_results_[f"split{i}_test_score"] for i in range(2)])
    np.testing.assert_allclose(display.spreads["NAGClassifier 1"], by_fold.std(axis=0, ddof=1) / np.sqrt(2), rtol=1e-9)
    assert len(display.ax_.collections) == 3  # one shaded area each
    progressive = ProgressiveSearch(NAGClassifier(), {"eta0": [0.5, 1.0]}).fit(X, y)
    drawn_alone = EtaSweepDisplay.from_sweeps(progressive)
    np.testing.assert_array_equal(drawn_alone.curves["NAGClassifier"][1], -progressive.cv_results_["mean_test_score"])
    assert drawn_alone.ylabel == "loss"
    several = GridSearchCV(SGDClassifier(), {"alpha": [1.0], "eta0": [1.0]}, cv=2).fit(X, y)
    with pytest.raises(ValueError, match="varies 2 parameters"):
        EtaSweepDisplay.from_sweeps(several)


def test_searches_of_ensembles_are_drawn(pyplot):
    X, y = (rows[:150] for rows in CANCER)
    search = GridSearchCV(GradientBoostingClassifier(n_estimators=2), {"learning_rate": [0.1, 1.0]}, cv=2).fit(X, y)
    assert list(EtaSweepDisplay.from_sweeps(search).curves) == ["GradientBoostingClassifier"]


def test_of_halving_searches_the_last_iteration_is_drawn(pyplot):
    learner, grid = NAGClassifier(max_iter=1, random_state=0), {"eta0": [0.01, 100.0, 0.1, 1.0]}
    search = HalvingGridSearchCV(learner, grid, cv=2, factor=2, min_resources=200, random_state=0).fit(*CANCER)
    results = search.cv_results_
    assert np.array_equal(results["iter"], [0, 0, 0, 0, 1, 1])
    eta0s, errors = EtaSweepDisplay.from_sweeps(search).curves["NAGClassifier"]
    order = np.argsort(results["param_eta0"][4:])
    np.testing.assert_array_equal(eta0s, results["param_eta0"][4:][order])
    np.testing.assert_array_equal(errors, 1 - results["mean_test_score"][4:][order])


@pytest.mark.parametrize(
    ("search", "scoring"),
    [
        (GridSearchCV, "neg_mean_squared_error"),
        (GridSearchCV, make_scorer(mean_squared_error, greater_is_better=False)),
        (NAGRegressorCV, "neg_mean_squared_error"),
    ],
)
def test_what_is_good_does_not_depend_on_the_unit_of_the_target(pyplot, search, scoring):
    X, y = DIABETES
    grid = {"eta0": ETA0S} if search is GridSearchCV else ETA0S
    reg = NAGRegressor(max_iter=2, tol=None, random_state=0)
    found = [search(reg, grid, scoring=scoring, cv=2).fit(X, unit * y) for unit in (1.0, 2.0**-20)]
    one, other = map(EtaSweepDisplay.from_sweeps, found)
    assert one.ylabel == other.ylabel == "loss"
    np.testing.assert_array_equal(one.curves["NAGRegressor"][1], -found[0].cv_results_["mean_test_score"])
    assert one.ranges_ == other.ranges_
    both = EtaSweepDisplay.from_sweeps({"a": found[0], "b": eta_sweep(reg, X, y, ETA0S)})
    assert both.ylabel == "loss"
    named = EtaSweepDisplay.from_sweeps(found[0], metric="error")
    np.testing.assert_array_equal(named.curves["NAGRegressor"][1], 1 - found[0].cv_results_["mean_test_score"])


def test_scores_of_this_package_are_drawn_as_losses_or_errors(pyplot):
    X, y = CANCER
    learner, grid = NAGClassifier(max_iter=1, shuffle=False), {"eta0": [1.0, 10.0, 30.0, 60.0]}
    search = GridSearchCV(learner, grid, cv=ProgressiveSplit(), scoring=progressive_score).fit(X, y)
    display = EtaSweepDisplay.from_sweeps(search)
    sweep = EtaSweepDisplay.from_sweeps(eta_sweep(learner, X, y, grid["eta0"]), metric="loss")
    assert display.ylabel == "loss"
    np.testing.assert_array_equal(display.curves["NAGClassifier"], sweep.curves["NAGClassifier"])
    assert display.ranges_ == sweep.ranges_
    progressive = ProgressiveSearch(learner, grid, loss="zero_one").fit(X, y)
    for metric in ("error", "loss"):
        shown = EtaSweepDisplay.from_sweeps(progressive, metric=metric).curves["NAGClassifier"][1]
        np.testing.assert_array_equal(shown, -progressive.cv_results_["mean_test_score"])


def test_the_axis_of_a_search_has_the_name_of_its_parameter(pyplot):
    X, y = (rows[:150] for rows in CANCER)
    alphas = GridSearchCV(NAGClassifier(max_iter=1, penalty="l2"), {"alpha": [0.1, 1.0]}, cv=2).fit(X, y)
    assert drawn(EtaSweepDisplay.from_sweeps(alphas)).get_xlabel() == "alpha"
    pipeline = make_pipeline(StandardScaler(), NAGClassifier(max_iter=1))
    rates = GridSearchCV(pipeline, {"nagclassifier__eta0": [0.1, 1.0]}, cv=2).fit(X, y)
    assert drawn(EtaSweepDisplay.from_sweeps(rates)).get_xlabel() == "learning rate"
    assert EtaSweepDisplay.from_sweeps({"a": alphas, "b": rates}).xlabel == "alpha or learning rate"
    words = GridSearchCV(NAGClassifier(random_state=0), {"eta0": [0.1, "auto"]}, cv=2).fit(X, y)
    with pytest.raises(ValueError, match="^eta0 of the search 'NAGClassifier' must hold numbers.*'auto'"):
        EtaSweepDisplay.from_sweeps(words)
    scoring = {"scoring": ["accuracy", "neg_log_loss"], "refit": "accuracy"}
    several = GridSearchCV(NAGClassifier(max_iter=1), {"eta0": [0.1, 1.0]}, cv=2, **scoring).fit(X, y)
    with pytest.raises(ValueError, match="^the search 'NAGClassifier' has several scores; it must have one"):
        EtaSweepDisplay.from_sweeps(several)


def test_progressive_curves_are_drawn(pyplot):
    learners = [NAGClassifier(), make_pipeline(StandardScaler(), SGDClassifier(random_state=0))]
    display = ProgressiveLossDisplay.from_estimator(learners, *CANCER, batch_size=50)
    ax = drawn(display)
    assert (ax.get_xscale(), ax.get_xlabel(), ax.get_ylabel()) == ("log", "rows seen", "progressive score")
    assert list(display.curves) == ["NAGClassifier", "SGDClassifier"]
    result = progressive_validation(NAGRegressor(), *DIABETES, curve_at=[10, 100, 442])
    display = ProgressiveLossDisplay.from_results({"ours": result})
    assert drawn(display).get_ylabel() == "progressive loss"
    assert np.array_equal(display.lines_[0].get_xdata(), [10, 100, 442])
    assert np.array_equal(display.lines_[0].get_ydata(), result.curve["loss"])
    with pytest.raises(ValueError, match="'metric' parameter must be one of 'loss', 'score'. Got 'r2' instead"):
        ProgressiveLossDisplay.from_results(result, metric="r2")
    wide = ProgressiveLossDisplay({"a": ([1, 2], [1e3, 1.0])}).plot()
    assert wide.ax_.get_yscale() == "log"


def test_reports_are_drawn_over_rows_and_passes(pyplot):
    X, y = DIABETES
    reports = []
    with report_progress(reports.append, every=442):
        for max_iter in (3, 2):
            reg = NAGRegressor(max_iter=max_iter, tol=None, random_state=0).fit(X, y)
    display = ProgressiveLossDisplay.from_reports(reports)
    assert drawn(display).get_ylabel() == "progressive loss since the last report"
    assert list(display.curves) == ["NAGRegressor 1", "NAGRegressor 2"]
    rows, losses = display.curves["NAGRegressor 2"]
    assert rows.tolist() == [442, 884]
    assert losses.mean() == pytest.approx(reg.progressive_loss_)
    assert display.lines_[0].get_xdata().tolist() == [442, 884, 1326]
    named = ProgressiveLossDisplay.from_reports({"a": reports[:3], "b": reports[3:]})
    assert np.array_equal(named.curves["b"], (rows, losses))
    for nothing in ([], {"a": []}):
        with pytest.raises(ValueError, match="reports is empty"):
            ProgressiveLossDisplay.from_reports(nothing)


@pytest.mark.parametrize(
    "mixture",
    [NAGCellsClassifier(n_trees=5, random_state=0), HedgeClassifier(), HedgeClassifier([("a", NAGClassifier())])],
)
def test_mixtures_are_named_by_their_class(pyplot, mixture):
    X, y = CANCER
    display = ProgressiveLossDisplay.from_estimator(mixture, X[:200], y[:200])
    assert list(display.curves) == [type(mixture).__name__]
    reports = []
    with report_progress(reports.append, every=100):
        clone(mixture).partial_fit(X[:200], y[:200], classes=[0, 1])
    assert list(ProgressiveLossDisplay.from_reports(reports).curves) == [type(mixture).__name__]


def test_losses_of_passes_are_drawn(pyplot):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 60))
    clf = NAGClassifier(random_state=0).fit(X, X[:, 0] > rng.normal(size=300))
    display = ValidationLossDisplay.from_estimator({"ours": make_pipeline(StandardScaler(), clf)})
    ax = drawn(display)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("passes", "validation loss")
    assert np.array_equal(display.lines_[0].get_ydata(), clf.validation_losses_)
    assert display.lines_[0].get_xdata()[-1] == len(clf.validation_losses_) > 1
    assert display.best_ == {"ours": np.argmin(clf.validation_losses_) + 1}
    assert display.lines_[0].get_markevery() == [display.best_["ours"] - 1]
    with pytest.raises(ValueError, match="'NAGClassifier' has no validation losses"):
        ValidationLossDisplay.from_estimator(NAGClassifier(max_iter=1).fit(*CANCER))


def test_scales_are_drawn(pyplot):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(50, 3)) * [1.0, 1e-4, 1e5], columns=["one", "small", "large"])
    clf = NAGClassifier().fit(frame, frame["one"] > 0)
    display = FeatureScalesDisplay.from_estimator(clf, max_features=2)
    ax = drawn(display)
    assert ax.get_xscale() == "log"
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["large", "one"]
    assert np.array_equal(display.line_.get_xdata(), np.sort(clf.scale_)[:0:-1])
    assert ax.get_title() == "the largest 2 of 3 scales"
    assert ax.yaxis_inverted()
    pipeline = make_pipeline(PolynomialFeatures(2, include_bias=False), NAGClassifier()).fit(frame, frame["one"] > 0)
    assert "one small" in FeatureScalesDisplay.from_estimator(pipeline).names
    nested = make_pipeline(FunctionTransformer(feature_names_out="one-to-one"), pipeline).fit(frame, frame["one"] > 0)
    assert "one small" in FeatureScalesDisplay.from_estimator(nested).names
    assert FeatureScalesDisplay.from_estimator(NAGClassifier().fit(*CANCER)).names[0] == "x0"
    words = make_online_pipeline(OnlineOneHotEncoder(), NAGClassifier()).fit(np.array([["a"], ["b"]] * 9), [0, 1] * 9)
    assert len(FeatureScalesDisplay.from_estimator(words).names) == 2  # categories that have occurred


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: EtaSweepDisplay({"a": ([2, 1], [1, 1])}), "'a' must hold increasing learning rates"),
        (lambda: EtaSweepDisplay({"a": ([1, 2], [np.inf, np.nan])}), "'a' has no finite error"),
        (lambda: EtaSweepDisplay({}, tolerance=-1), "tolerance"),
        (
            lambda: EtaSweepDisplay({"a": ([1], [1])}, spreads={"b": [1]}),
            "the spread 'b' must have the name of a curve",
        ),
        (lambda: EtaSweepDisplay({"a": ([1], [1])}, spreads={"a": [1, 2]}), "one number for each error"),
        (
            lambda: EtaSweepDisplay.from_estimator(NAGRegressor(), *DIABETES, metric="error"),
            "it must be .loss. for the sweep",
        ),
        (
            lambda: EtaSweepDisplay.from_sweeps([], metric="r2"),
            "'metric' parameter must be one of 'error', 'loss'. Got 'r2' instead",
        ),
        (lambda: FeatureScalesDisplay([1.0], ["a", "b"]), "one number for each of 2 names"),
        (lambda: FeatureScalesDisplay([1.0]).plot(max_features=0), "max_features"),
        (lambda: FeatureScalesDisplay([1.0]).plot(max_features=2.5), "'max_features' parameter must be an int"),
        (lambda: FeatureScalesDisplay.from_estimator(NAGClassifier()), "is not fitted yet"),
        (
            lambda: ProgressiveLossDisplay.from_results(progressive_validation(NAGClassifier(), *CANCER)),
            "^the result of NAGClassifier has no curve; progressive_validation makes one with curve_at",
        ),
        (
            lambda: ValidationLossDisplay.from_estimator(NAGRegressor().partial_fit(*DIABETES)),
            "^'NAGRegressor' has no validation losses",
        ),
    ],
)
def test_errors(make, match):
    with pytest.raises(ValueError, match=match):
        make()


@pytest.mark.filterwarnings("error")  # for example, about a layout that collapsed
def test_names_that_are_long_lose_their_middle(pyplot):
    names = [f"{i} is a name of{' many words' * 9} and {i}" for i in range(10)]
    brief = [f"{i} is a name of...ny words and {i}" for i in range(10)]
    for display in (CoefficientsDisplay(range(10, 0, -1), names), FeatureScalesDisplay(range(10, 0, -1), names)):
        assert [tick.get_text() for tick in drawn(display.plot()).get_yticklabels()] == brief
        assert display.names == names
    effects = {names[0]: ([1, 2], [3, 4]), (names[1], names[2]): ([1, 2], [3, 4], [[1, 2], [3, 4]])}
    single, pair = EffectsDisplay(effects).plot().axes_
    assert [single.get_xlabel(), pair.get_xlabel(), pair.get_ylabel()] == brief[:3]
    curve = {names[0]: ([1, 2], [3, 4]), "short" * 6: ([1, 2], [3, 4])}
    of_passes = ValidationLossDisplay({name: [1.0] for name in curve})
    targets = CoefficientsDisplay([[1], [2]], targets=[*curve])
    for display in (ProgressiveLossDisplay(curve), EtaSweepDisplay(curve), of_passes, targets):
        legend = drawn(display.plot()).get_legend().get_texts()
        assert [text.get_text() for text in legend] == [brief[0], "short" * 6]


def test_names_with_dollars_are_no_formulas(pyplot):
    names = ["income=$20,000-$30,000", "a$^$"]
    display = FeatureScalesDisplay([1.0, 2.0], names).plot()
    left, right = drawn(display).get_yticklabels()[::-1]
    upright = pyplot.figure().text(0, 0, r"income=\$20,000-\$30,000").get_window_extent().width
    assert left.get_window_extent().width == pytest.approx(upright)
    legend = drawn(ProgressiveLossDisplay({"a$^$": ([1, 2], [3, 4])}).plot()).get_legend().get_texts()
    assert [text.get_text() for text in (*legend, right)] == [r"a\$^\$"] * 2


def test_learners_without_validation_losses_are_told_which_have_them():
    hedge = HedgeClassifier([("a", NAGClassifier())]).fit(*CANCER)
    with pytest.raises(
        ValueError, match="'HedgeClassifier' has no .* for linear learners, and with max_iter='auto' for NAGCe"
    ):
        ValidationLossDisplay.from_estimator(hedge)


def test_scales_of_what_has_none():
    with pytest.raises(TypeError, match="^NAGCellsClassifier has no scale_ of its columns to show"):
        FeatureScalesDisplay.from_estimator(NAGCellsClassifier().partial_fit(*CANCER, classes=[0, 1]))


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=re.escape(how_to_install("plot"))):
        FeatureScalesDisplay([1.0]).plot()


def test_half_lives_over_a_stream(pyplot, rng):
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] > 0) ^ (np.arange(200) >= 100)
    display = HalfLivesDisplay.from_estimator(NAGClassifier(half_life="auto"), X, y, curve_at=[50, 100, 150, 200])
    learner = NAGClassifier(half_life="auto")
    for start, share in zip(range(0, 200, 50), display.shares, strict=True):
        learner.partial_fit(X[start : start + 50], y[start : start + 50], classes=[False, True])
        np.testing.assert_allclose(share, learner.half_life_, rtol=1e-12)
    assert display.n_rows.tolist() == [50, 100, 150, 200]
    assert display.areas_[0].get_label() == "inf"
    assert len(display.areas_) == 6
    scaled = make_pipeline(StandardScaler(), NAGClassifier(half_life="auto"))  # this pipeline learns row by row
    assert HalfLivesDisplay.from_estimator(scaled, X, y, curve_at=[50, 100]).n_rows.tolist() == [50, 100]
    late = HalfLivesDisplay.from_estimator(NAGClassifier(half_life="auto"), X, y, curve_at=[50, 100], delay=30)
    assert late.n_rows.min() > 30
    with pytest.raises(ValueError, match="one number for each of n_rows"):
        HalfLivesDisplay([1, 2], [[0.5, 0.5]], [20.0, np.inf])


@pytest.mark.usefixtures("in_numpy", "pyplot")
def test_half_lives_of_several_outputs_are_shown_by_their_mean():
    X, y = (part[:60] for part in load_diabetes(return_X_y=True))
    y = np.column_stack([y, np.where(np.arange(60) < 40, X[:, 3], -9.0)])
    learner = NAGRegressor(half_life="auto")
    display = HalfLivesDisplay.from_estimator(learner, X, y, curve_at=[30, 60])
    shares = learner.partial_fit(X, y).half_life_
    assert not np.allclose(shares[0], shares[1])
    np.testing.assert_allclose(display.shares[-1], shares.mean(axis=0), rtol=1e-12)
