"""Effects of columns in models of curves and cells, read from the weights and compared with predictions."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.linear_model import SGDRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_nag import FTRLRegressor, NAGCellsClassifier, NAGCellsRegressor, NAGClassifier, NAGRegressor
from sklearn_nag.model_selection import EffectsDisplay
from sklearn_nag.model_selection._effects import rows_and_weights
from sklearn_nag.preprocessing import (
    DateEncoder,
    HashingEncoder,
    OnlineCells,
    OnlineColumnTransformer,
    OnlineCurves,
    OnlineOneHotEncoder,
    OnlineOrdinalEncoder,
    OnlineProducts,
    make_online_pipeline,
    prepare,
)

SMALL = {"n_trees": 12, "depth": 3, "first_rows": 60, "focus_rows": 150, "random_state": 0}
X, Y = make_friedman1(500, n_features=5, noise=0.5, random_state=0)


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def means(trees, t, rows, weight, given, k=0):
    """Rows below a node, and the mean there if the columns in ``given`` have these values, by the definition."""
    if k >= trees.column.shape[1]:
        return rows[t, k], weight[t, k]
    (n_left, left), (n_right, right) = (means(trees, t, rows, weight, given, 2 * k + side) for side in (1, 2))
    n = rows[t, k] + n_left + n_right
    if trees.column[t, k] in given:
        return n, right if given[trees.column[t, k]] > trees.cut[t, k] else left
    parts = weight[t, k], left, right
    if n == 0:
        return n, np.mean(parts)
    return n, np.dot([rows[t, k], n_left, n_right], parts) / n


def test_of_cells_the_mean_goes_down_each_tree():
    pipeline = make_online_pipeline(OnlineCells(n_trees=12, depth=3, first_rows=60, random_state=0), NAGRegressor())
    gaps_in = X.copy()
    gaps_in[::9, 1] = np.nan
    pipeline.partial_fit(gaps_in, Y)
    cells, learner = pipeline
    share, weight = rows_and_weights(learner, 5)
    np.testing.assert_allclose(share.sum(), 12 * 441 / 500)  # rows for which there were cells
    share, weight = share.reshape(12, -1), weight[0].reshape(12, -1)
    effects = EffectsDisplay.effects_of(pipeline, [3, (1, 3)])
    for name, (*values, effect) in effects.items():
        places = [int(column[1:]) for column in ([name] if isinstance(name, str) else name)]
        points = np.stack([axis.ravel() for axis in np.meshgrid(*values, indexing="ij")], axis=1)[::7]
        expected = points @ learner.coef_[places]
        for i, point in enumerate(points):
            gap = {j: np.searchsorted(cells.knots_[j], x, side="right") - 1 for j, x in zip(places, point)}
            expected[i] += sum(means(cells._state.made, t, share, weight, gap)[1] for t in range(12))
        found = effect.ravel()[::7]
        np.testing.assert_allclose(found - found[0], expected - expected[0], atol=1e-9)


@pytest.mark.parametrize("step", [OnlineCurves(n_knots=5, first_rows=60), OnlineCurves(n_knots=0, first_rows=60)])
def test_of_curves_it_is_a_part_of_the_sum(step):
    pipeline = make_online_pipeline(step, NAGRegressor()).partial_fit(X, Y)
    ((name, (values, effect)),) = EffectsDisplay.effects_of(pipeline, [2]).items()
    rows = np.repeat(X[:1], len(values), axis=0)
    rows[:, 2] = values
    predicted = pipeline.predict(rows)
    assert name == "x2"
    np.testing.assert_allclose(effect, predicted - predicted.mean(), atol=1e-9)
    nested = EffectsDisplay.effects_of(make_online_pipeline("passthrough", pipeline), [2])
    np.testing.assert_array_equal(nested["x2"], (values, effect))


def test_of_products_a_column_has_its_square_and_a_pair_its_product():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(2000, 3)) + 5.0
    squares = 2 * (Z[:, 0] - 5) * (Z[:, 1] - 5) - (Z[:, 2] - 5) ** 2
    model = NAGCellsRegressor(**SMALL).partial_fit(Z, squares)
    assert sum(model.weights_[1:4]) > 0.99
    effects = EffectsDisplay.effects_of(model, [2, 0, ("x0", "x1")])
    values, effect = effects["x2"]
    np.testing.assert_allclose(effect, ((values - 5) ** 2).mean() - (values - 5) ** 2, atol=0.1)
    assert np.abs(effects["x0"][1]).max() < 0.1
    x, z, effect = effects["x0", "x1"]
    expected = 2 * np.outer(x - 5, z - 5)
    np.testing.assert_allclose(effect, expected - expected.mean(), atol=0.3)
    products = make_online_pipeline(OnlineProducts(), NAGRegressor()).partial_fit(Z, squares)
    with pytest.raises(TypeError, match="estimator has only products"):
        EffectsDisplay.effects_of(products)


def test_of_a_single_column_it_is_what_is_predicted():
    wave = np.sin(6 * X[:, 0])
    wave[[0, 1, 150, 151]] = -3.0, 3.0, -3.0, 3.0  # so that hardly any prediction is clipped, in either generation
    model = NAGCellsRegressor(**SMALL).partial_fit(X[:, :1], wave)
    ((_, (values, effect)),) = EffectsDisplay.effects_of(model).items()
    predicted = model.predict(values[:, None])
    np.testing.assert_allclose(effect, predicted - predicted.mean(), atol=1e-3)


@pytest.mark.parametrize(
    ("values", "ones", "number", "named"),
    [
        ([None, *"abcde"], OnlineOneHotEncoder(7), OnlineOrdinalEncoder(7), ["(missing)", *"abcde"]),
        ([f"w{i}" for i in range(40)], HashingEncoder(32), OnlineOrdinalEncoder(), [f"w{i}" for i in range(40)]),
        (
            np.arange("1972-01", "1973-01", dtype="M8[M]"),
            DateEncoder(["hour", "month"]),
            DateEncoder(["month"], one_hot=False),
            range(1, 13),
        ),
        (
            np.arange(24).astype("M8[h]"),
            DateEncoder(["month", "hour"]),
            DateEncoder(["hour"], one_hot=False),
            range(24),
        ),
        (
            np.arange("2024-01-01", "2024-01-06", dtype="M8[D]"),  # weekends do not occur
            DateEncoder(["weekday"]),
            DateEncoder(["weekday"], one_hot=False),
            ["Mon", "Tue", "Wed", "Thu", "Fri"],
        ),
    ],
    ids=["words", "hashed words", "months", "hours", "weekdays"],
)
def test_words_and_parts_of_dates_have_their_ones_too(values, ones, number, named):
    code = np.arange(500) % len(values)
    rows = np.column_stack([np.full(500, values[0]), np.asarray(values)[code]])
    target = np.random.default_rng(0).permutation(len(values))[code]
    target[[0, 1, 150, 151]] = -99.0, 99.0, -99.0, 99.0  # so that no prediction is clipped
    columns = OnlineColumnTransformer([("ones", ones, [0, 1]), ("number", number, [1, 0])])
    model = make_online_pipeline(columns, NAGCellsRegressor(**SMALL)).partial_fit(rows, target)
    ((_, (found, effect)),) = EffectsDisplay.effects_of(model, [len(model[0].get_feature_names_out()) - 2]).items()
    predicted = model.predict(rows[: len(values)])
    assert list(found) == list(named)
    np.testing.assert_allclose(effect, predicted - predicted.mean(), atol=1e-3)


@pytest.mark.parametrize(("learner", "n"), [(NAGRegressor(), 5), (NAGRegressor(normalization="max"), 12)])
def test_months_that_no_row_has_are_left_out_where_rows_are_counted(learner, n):
    months = np.arange("1972-01", "1972-06", dtype="M8[M]")[np.arange(500) % 5][:, None]
    encoders = [("ones", DateEncoder(["month"]), [0]), ("number", DateEncoder(["month"], one_hot=False), [0])]
    model = make_online_pipeline(OnlineColumnTransformer(encoders), OnlineCurves(first_rows=60), learner)
    values, _ = EffectsDisplay.effects_of(model.partial_fit(months, Y), [12]).popitem()[1]
    np.testing.assert_array_equal(values, range(1, n + 1))


def test_words_have_the_ones_of_all_encoders():
    code = np.arange(500) % 3
    rows, target = np.array(list("abc"), dtype=object)[code][:, None], np.array([1.0, 5.0, 2.0])[code]
    target[[0, 1]] = -99.0, 99.0  # so that no prediction is clipped
    encoders = [
        ("number", OnlineOrdinalEncoder(), [0]),
        ("hashed", HashingEncoder(16), [0]),
        ("ones", OnlineOneHotEncoder(), [0]),
    ]
    model = make_online_pipeline(OnlineColumnTransformer(encoders), NAGCellsRegressor(**SMALL)).partial_fit(
        rows, target
    )
    (_, effect) = EffectsDisplay.effects_of(model, [0]).popitem()[1]
    predicted = model.predict(rows[:3])
    np.testing.assert_allclose(effect, predicted - predicted.mean(), atol=1e-3)


@pytest.mark.parametrize("n_rows", [120, 500])  # before and after there are cells that can cut the column
def test_columns_that_vary_late_have_effects(n_rows):
    Z = X[:n_rows, :3].copy()
    Z[:60, 2], Z[:, 1] = 0.0, 5.0
    model = NAGCellsRegressor(**SMALL).partial_fit(Z, Z[:, 0] + 3 * Z[:, 2])
    effects = EffectsDisplay.effects_of(model)
    assert next(iter(effects)) == "x2"
    values, effect = effects["x2"]
    assert np.ptp(effect) == pytest.approx(3 * np.ptp(values), rel=0.3)
    assert not effects["x1"][1].any()


@pytest.mark.parametrize("learner", [FTRLRegressor(), NAGRegressor(normalization="max")])
def test_learners_that_count_no_rows_are_named(learner):
    pipeline = make_online_pipeline(OnlineCells(n_trees=4, depth=2, first_rows=60), learner).partial_fit(X, Y)
    with pytest.raises(ValueError, match=f"normalization='auto' count; this {type(learner).__name__}"):
        EffectsDisplay.effects_of(pipeline)


def test_each_output_has_its_own_mixture():
    rng = np.random.default_rng(0)
    Z = rng.uniform(size=(1500, 2))
    both = np.column_stack([100 * Z[:, 0] + rng.normal(size=1500), np.sin(12 * Z[:, 1])])
    model = NAGCellsRegressor(**SMALL).partial_fit(Z, both)
    for output in (0, 1):
        values, effect = EffectsDisplay.effects_of(model, ["x1"], target=output)["x1"]
        rows = [np.column_stack([Z[:, 0], np.full(len(Z), value)]) for value in values]
        predicted = np.array([model.predict(given)[:, output].mean() for given in rows])
        np.testing.assert_allclose(effect, predicted - predicted.mean(), atol=0.15 * both[:, output].std())
        assert np.ptp(effect) == pytest.approx(np.ptp(predicted), abs=0.2)
    # Classes share one mixture, because probabilities are mixed.
    clf = NAGCellsClassifier(**SMALL).partial_fit(Z, np.digitize(Z[:, 0], [0.3, 0.6]), classes=[0, 1, 2])
    values, effect = EffectsDisplay.effects_of(clf, [0], target=2)["x0"]
    assert np.corrcoef(values, effect)[0, 1] > 0.9


def test_labels_are_numbered():
    model = make_online_pipeline(OnlineCurves(first_rows=60), NAGClassifier()).partial_fit(X, X[:, :3] > 0.5)
    for label in (0, 2):
        assert next(iter(EffectsDisplay.effects_of(model, target=label))) == f"x{label}"
    with pytest.raises(ValueError, match="target must name one of 3 labels"):
        EffectsDisplay.effects_of(model)
    with pytest.raises(ValueError, match="target is 3; there are the labels 0 to 2"):
        EffectsDisplay.effects_of(model, target=3)


def test_columns_that_matter_come_first_and_pairs_show_what_they_do_together():
    rng = np.random.default_rng(0)
    Z = rng.uniform(-1, 1, (2000, 4))
    label = 3 * Z[:, 2] + 2 * np.sign(Z[:, 0] * Z[:, 1]) > 0
    model = NAGCellsClassifier(**{**SMALL, "n_trees": 60, "depth": 4}).partial_fit(Z, label, classes=[False, True])
    single = EffectsDisplay.effects_of(model, max_features=2)
    assert next(iter(single)) == "x2"
    assert len(single) == 2
    assert np.corrcoef(*single["x2"])[0, 1] > 0.9
    (x, z, effect) = EffectsDisplay.effects_of(model, [("x0", "x1")])["x0", "x1"]
    assert np.corrcoef(effect.ravel(), np.sign(np.outer(x, z)).ravel())[0, 1] > 0.8
    assert np.abs(effect).mean() > 2 * np.std(EffectsDisplay.effects_of(model, ["x0"])["x0"][1])


@pytest.mark.parametrize(
    "steps",
    [
        [NAGCellsRegressor(**SMALL)],
        [OnlineCells(n_trees=12, depth=3, first_rows=60, random_state=0), NAGRegressor()],
    ],
    ids=["one step", "two steps"],
)
def test_steps_before_give_columns_and_names(steps):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"word": np.where(X[:, 3] > 0.5, "high", "low"), "a": X[:, 0], "b": X[:, 3]})
    before = prepare(frame).steps[0][1]
    model = make_online_pipeline(before, *steps).partial_fit(frame, Y)
    effects = EffectsDisplay.effects_of(model, ["b", ("a", "b")])
    assert list(effects) == ["b", ("a", "b")]
    place = list(before.get_feature_names_out()).index("b")
    alone = steps[0] if len(steps) == 1 else make_online_pipeline(*steps)
    ((name, expected),) = EffectsDisplay.effects_of(alone, [place]).items()
    assert name == f"x{place}"
    np.testing.assert_array_equal(effects["b"], expected)
    with pytest.raises(ValueError, match="features has 'word=low', which is not a column with a curve or cells"):
        EffectsDisplay.effects_of(model, ["word=low"])


def test_columns_behind_steps_that_give_no_names_have_numbers():
    X = np.random.default_rng(0).normal(size=(400, 2))
    model = make_pipeline(FunctionTransformer(np.abs), OnlineCurves(), NAGRegressor()).fit(X, np.abs(X[:, 0]))
    effects = EffectsDisplay.effects_of(model)
    assert list(effects) == ["x0", "x1"]
    assert effects["x0"][1].std() > 10 * effects["x1"][1].std()


def test_it_is_drawn(pyplot):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = NAGCellsRegressor(**SMALL, columns=["a", "c", "d"]).partial_fit(frame, np.column_stack([Y, -Y]))
    ax = pyplot.subplots()[1]
    display = EffectsDisplay.from_estimator(model, ["d", ("a", "c"), "a"], target=1, ax=ax)
    assert display.figure_ is ax.figure
    assert [own.get_xlabel() for own in display.axes_] == ["d", "a", "a"]
    np.testing.assert_array_equal(display.axes_[0].get_lines()[0].get_ydata(), display.effects["d"][1])
    assert display.effects["d"][1][0] > display.effects["d"][1][-1]  # the second output is shown
    assert display.axes_[0].get_ylim() == display.axes_[2].get_ylim()
    assert len(EffectsDisplay(display.effects).plot(n_cols=1).axes_) == 3


def test_words_are_named_and_the_class_that_is_up(pyplot):
    words = np.array(list("abcdefghijklmno"), dtype=object)
    encoders = [
        ("number", OnlineOrdinalEncoder(), [0]),
        ("ones", OnlineOneHotEncoder(), [0]),
        ("rest", "passthrough", [1]),
    ]
    for n, written in ((3, "abc"), (15, "abdeghjkmo")):  # of many words, only some are written
        rows = np.column_stack([words[np.arange(500) % n], X[:, 0]]).astype(object)
        target = np.where(rows[:, 0] == "c", "good", "bad")
        model = make_online_pipeline(OnlineColumnTransformer(encoders), NAGCellsClassifier(**SMALL))
        model.partial_fit(rows, target, classes=["bad", "good"])
        word, x = model[0].get_feature_names_out()[[0, -1]]
        alone, pair = EffectsDisplay.from_estimator(model, [word, (x, word)]).axes_
        (drawn,) = alone.get_lines()
        assert (drawn.get_linestyle(), drawn.get_marker()) == ("None", "o")
        assert np.argmax(drawn.get_ydata()) == 2  # c
        for axis in (alone.xaxis, pair.yaxis):
            assert [text.get_text() for text in axis.get_ticklabels()] == list(written)
        assert alone.get_ylabel() == "effect towards good"
    model = make_online_pipeline(OnlineCurves(first_rows=60), NAGClassifier()).partial_fit(
        X, Y // 10, classes=[0, 1, 2]
    )
    assert EffectsDisplay.from_estimator(model, [0], target=0).ylabel == "effect towards 0"
    model = make_online_pipeline(OnlineCurves(first_rows=60), NAGRegressor()).partial_fit(X, np.column_stack([Y, Y]))
    assert EffectsDisplay.from_estimator(model, [0], target=1).ylabel == "effect on output 1"


def test_columns_without_a_value_are_none_of_the_largest():
    Z = X.copy()
    Z[:, 1] = np.nan
    assert "x1" not in EffectsDisplay.effects_of(NAGCellsRegressor(**SMALL).partial_fit(Z, Y), max_features=9)


def test_errors():
    model = NAGCellsRegressor(**SMALL, columns=[0]).partial_fit(X, Y)
    for features, message in (
        ([1], "features has 1, which is not a column with a curve or cells"),
        (["age"], "features has 'age', which is not a column"),
        ([(0,)], "neither a column nor a pair"),
        ([(0, 0)], "neither a column nor a pair"),
    ):
        with pytest.raises(ValueError, match=message):
            EffectsDisplay.effects_of(model, features)
    with pytest.raises(ValueError, match="has not seen first_rows=60 rows"):
        EffectsDisplay.effects_of(NAGCellsRegressor(**SMALL).partial_fit(X[:50], Y[:50]))
    with pytest.raises(ValueError, match="cells are hashed"):
        EffectsDisplay.effects_of(NAGCellsRegressor(**SMALL, max_columns=50).partial_fit(X, Y))
    with pytest.raises(ValueError, match="target must name one of 2 outputs"):
        EffectsDisplay.effects_of(NAGCellsRegressor(**SMALL).partial_fit(X, np.column_stack([Y, Y])))
    for other in (NAGRegressor(), make_pipeline(SGDRegressor()), make_pipeline(NAGRegressor())):
        with pytest.raises(TypeError, match="estimator must be NAGCellsClassifier"):
            EffectsDisplay.effects_of(other.fit(X, Y))
    with pytest.raises(TypeError, match="got NAGRegressor"):
        EffectsDisplay.effects_of(other)
    for max_features in (-1, 0, 2.5, "a"):
        with pytest.raises(ValueError, match="'max_features' parameter must be"):
            EffectsDisplay.effects_of(model, max_features=max_features)
    with pytest.raises(ValueError, match="'n_cols' parameter must be"):
        EffectsDisplay({"a": ([1.0, 2.0], [1.0, 2.0])}).plot(n_cols=0)
    with pytest.raises(ValueError, match="effects is empty"):
        EffectsDisplay({})
    with pytest.raises(ValueError, match="effects of 'a' must have one number"):
        EffectsDisplay({"a": ([1.0, 2.0], [1.0])})
