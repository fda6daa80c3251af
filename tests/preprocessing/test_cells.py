"""Cells compared with a walk in plain Python, and trees as partitions."""

import copy
import itertools

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import sklearn_nag
from sklearn_nag import NAGRegressor, merge
from sklearn_nag.preprocessing import OnlineCells, make_online_pipeline
from sklearn_nag.preprocessing._cells import NO_CUT, explained, grow, lengths
from sklearn_nag.preprocessing._knots import Knots
from sklearn_nag.preprocessing._numpy_rows import gaps


def walk(x, knots, column, cut):
    """Return the node of a tree in which a row ends, found by values, not by ranks."""
    node = 0
    while node < len(column):
        value = x[column[node]]
        if value != value:
            return node
        own = knots[column[node]]
        node = 2 * node + (2 if cut[node] != NO_CUT and value >= own[cut[node] + 1] else 1)
    return node


@pytest.mark.parametrize("kernel", ["numpy", "auto"])
@pytest.mark.parametrize("max_columns", [2**20, 40])
@pytest.mark.parametrize(("missing", "depth"), [(0.05, 4), (0.0, 4), (0.0, 2)])
def test_cells_are_those_of_a_walk(kernel, max_columns, missing, depth, rng):
    X = np.round(rng.normal(size=(200, 5)), 1)
    X[:, 3], X[:, 4] = 1.0, rng.integers(0, 2, size=200)
    X[rng.uniform(size=X.shape) < missing] = np.nan
    options = {"n_trees": 9, "depth": depth, "first_rows": 50, "n_quantiles": 20, "random_state": 1}
    transformer = OnlineCells(**options, max_columns=max_columns)
    with sklearn_nag.config_context(kernel=kernel):
        out = transformer.fit(X).transform(X)[:, 5:]
    n_nodes = 2 ** (depth + 1) - 1
    width = min(n_nodes, max_columns // 9)
    assert out.shape[1] == 9 * width
    for i, x in enumerate(X):
        for t, (column, cut) in enumerate(zip(*transformer._state.made)):
            node = walk(x, transformer.knots_, column, cut)
            if width < n_nodes:
                node = (node * 0x9E3779B1 % 2**32) * width // 2**32
            assert out.indices[9 * i + t] == t * width + node
    assert (out.data == 1.0).all()


def test_every_cut_has_ranks_on_either_side(rng):
    n_gaps = np.array([2, 50, 1, 7])
    trees = grow(n_gaps, np.ones(4), 40, 6, np.random.RandomState(0))
    for column, cut in zip(*trees):
        cells = [([0] * 4, [n - 1 for n in n_gaps])]  # first and last gap of each column, for each node
        for node in range(63):
            first, last = cells[node]
            lower, upper = (list(first), list(last)), (list(first), list(last))
            if cut[node] != NO_CUT:
                j = column[node]
                assert first[j] <= cut[node] < last[j]
                lower[1][j], upper[0][j] = cut[node], cut[node] + 1
            cells += [lower, upper]
    assert (trees.column != 2)[trees.cut != NO_CUT].all()  # a constant column is never cut
    assert set(np.unique(trees.column[trees.cut != NO_CUT])) == {0, 1, 3}


def test_trees_cut_columns_of_small_random_sets():
    trees = grow(np.full(20, 100), np.ones(20), 40, 7, np.random.RandomState(0))
    sizes = [len(np.unique(column)) for column in trees.column]
    assert [max(sizes[t::4]) for t in range(4)] == [2, 3, 5, 20]
    assert len({tuple(np.unique(column)) for column in trees.column[::4]}) > 5


def test_sets_of_columns_are_drawn_one_after_another_by_their_lengths():
    length = np.array([4.0, 2.0, 1.0, 1.0])
    trees = grow(np.full(4, 100), length, 16000, 1, np.random.RandomState(0))
    cut = np.bincount(trees.column[::4, 0], minlength=4) / 4000  # in pairs, of which one is drawn by its length
    expected = np.zeros(4)
    for first, second in itertools.permutations(range(4), 2):
        drawn = length[first] / 8 * length[second] / (8 - length[first])
        for j in (first, second):
            expected[j] += drawn * length[j] / (length[first] + length[second])
    np.testing.assert_allclose(cut, expected, atol=0.02)


def test_columns_are_cut_by_their_entropy(rng):
    X = np.column_stack([rng.normal(size=400), np.arange(400) < 4, np.arange(400) % 2, np.full(400, 7.0)])
    X[::2, 3] = np.nan
    knots = Knots.of(X, 200)
    rare = -(0.01 * np.log2(0.01) + 0.99 * np.log2(0.99))
    np.testing.assert_allclose(lengths(X, knots), [1.0, rare, 1.0, 1.0], rtol=1e-12)
    trees = OnlineCells(n_trees=4000, depth=1, first_rows=400, random_state=0).fit(X)._state.made
    counts = np.bincount(trees.column[3::4, 0], minlength=4)  # in trees that may cut all columns
    np.testing.assert_allclose(counts[:3] / 1000, np.array([1, rare, 1]) / (2 + rare), atol=0.05)
    assert counts[3] == 0  # only one of its values is known


def test_cells_are_a_matter_of_random_state(rng):
    X = rng.normal(size=(50, 3))
    one, same, other = (OnlineCells(n_trees=5, random_state=seed).fit(X).transform(X) for seed in (3, 3, 4))
    assert (one != same).nnz == 0
    assert (one != other).nnz > 0


def test_constant_columns_have_one_cell():
    X = np.ones((20, 2))
    out = OnlineCells(n_trees=3, depth=2, random_state=0).fit_transform(X)
    assert (out[:, 2:].sum(axis=0) == 20).sum() == 3


def test_names_and_parameters():
    X = [[1.0], [2.0]]
    names = OnlineCells(n_trees=2, depth=1, random_state=0).fit(X).get_feature_names_out()
    assert list(names) == ["x0", *(f"tree{t}_cell{i}" for t in range(2) for i in range(3))]
    for options, message in (
        ({"n_trees": 0}, "'n_trees' parameter of OnlineCells must be an int in the range \\[1"),
        ({"depth": 21}, "'depth' parameter of OnlineCells must be an int in the range \\[1, 20\\]"),
        ({"max_columns": 299}, "'max_columns' parameter of OnlineCells must be an int in the range \\[300"),
        ({"random_state": "a"}, "'random_state' parameter of OnlineCells must be None, an int"),
    ):
        with pytest.raises(ValueError, match=message):
            OnlineCells(**options).fit(X)


def test_hashed_cells_learn_nearly_as_well(rng):
    X = rng.normal(size=(4000, 3))
    y = X[:, 0] * X[:, 1]
    exact, hashed = (
        make_pipeline(OnlineCells(n_trees=100, max_columns=n, random_state=0), NAGRegressor(random_state=0))
        .fit(X[:3000], y[:3000])
        .score(X[3000:], y[3000:])
        for n in (2**20, 2**13)
    )
    assert exact > 0.85
    assert exact - 0.05 < hashed


def test_few_values_and_missing_ones_are_told_apart(rng):
    """A missing value can tell as much as a known one."""
    x = rng.choice([1.0, 2.0, np.nan], size=(2000, 2))
    y = np.where(np.isnan(x[:, 0]), 5.0 * np.isnan(x[:, 1]), np.nan_to_num(x[:, 1]))
    learner = make_pipeline(OnlineCells(n_trees=50, random_state=0), NAGRegressor(random_state=0))
    assert learner.fit(x, y).score(x, y) > 0.99


def test_a_stream_through_a_pipeline_changes_no_bit(rng):
    X = rng.normal(size=(400, 2))
    y = X[:, 0] * X[:, 1]
    predictions = []
    for size in (400, 37):
        learner = make_online_pipeline(OnlineCells(n_trees=20, first_rows=50, random_state=0), NAGRegressor())
        for start in range(0, 400, size):
            learner.partial_fit(X[start : start + size], y[start : start + size])
        predictions.append(learner.predict(X).tobytes())
    assert predictions[0] == predictions[1]


def test_shards_that_begin_with_the_same_knots_are_merged(rng):
    X = rng.normal(size=(4000, 2))
    y = X[:, 0] * X[:, 1]
    begun = make_online_pipeline(OnlineCells(n_trees=50, random_state=0), NAGRegressor()).partial_fit(X[:300], y[:300])
    shards = [copy.deepcopy(begun).partial_fit(X[a : a + 1300], y[a : a + 1300]) for a in (300, 1600)]
    scores = [model.score(X[2900:], y[2900:]) for model in (*shards, merge(shards))]
    assert scores[2] > max(scores[:2]) > 0.7
    other = make_online_pipeline(OnlineCells(n_trees=50, random_state=0), NAGRegressor()).partial_fit(X[99:], y[99:])
    with pytest.raises(ValueError, match="models with other knots cannot be merged"):
        merge([begun, other])


def test_what_cuts_explain_is_the_variance_between_their_halves():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    cells = OnlineCells(n_trees=6, depth=3, random_state=0).fit(X)
    block = cells.transform(X)[:, 3:].toarray().reshape(400, 6, 15)
    weight = rng.uniform(-1, 1, size=(2, 6, 15))
    trees = cells._state.made
    expected = np.zeros((2, 3))
    for t in range(6):
        values = np.einsum("nc,kc->kn", block[:, t], weight[:, t])
        inside = [np.ones(400, dtype=bool)]  # rows of each node
        for k in range(7):
            below = gaps(X, cells._state.knots)[:, trees.column[t, k]] <= trees.cut[t, k]
            halves = inside[k] & below, inside[k] & ~below
            inside += halves
            for h in range(2) if all(map(np.any, halves)) else ():
                both = values[h, inside[k]]
                within = sum(values[h, half].var() * half.sum() for half in halves)
                expected[h, trees.column[t, k]] += (both.var() * len(both) - within) / 400
    np.testing.assert_allclose(explained(trees, block.mean(axis=0), weight), expected, rtol=1e-9)


def test_importance_does_not_depend_on_the_units_of_functions(rng):
    cells = OnlineCells(n_trees=6, depth=3, random_state=0).fit(rng.normal(size=(400, 3)))
    rows, weight = rng.dirichlet(np.ones(90)), rng.normal(size=(2, 90))
    expected = cells._importance(rows, weight)
    np.testing.assert_allclose(cells._importance(rows, weight * [[1.0], [2.0**-600]]), expected, rtol=1e-12)
    np.testing.assert_allclose(expected.sum(), 1.0)


def test_columns_of_late_values_are_as_important_as_they_were_at_least(monkeypatch, rng):
    lengths_given = []

    def grown(n_gaps, length, *args):
        lengths_given.append(length)
        return grow(n_gaps, length, *args)

    cells = OnlineCells(n_trees=4, depth=2, random_state=0).fit(rng.normal(size=(400, 2)))
    own = Knots.of(rng.normal(size=(400, 1)), 256)
    monkeypatch.setattr("sklearn_nag.preprocessing._cells.grow", grown)
    monkeypatch.setattr(OnlineCells, "_news", lambda self, late: dict.fromkeys(late, (own, 0.5)))
    for late in ((), (0,), (1,)):
        clone(cells)._focus(cells, np.array([1.0, 0.1]), late=late)
    before, of_first, of_second = lengths_given
    np.testing.assert_array_equal(of_first, before)  # an entropy of 0.5 would reduce it
    assert of_second[1] > before[1]


def test_models_of_other_trees_cannot_be_merged():
    X = np.random.default_rng(0).normal(size=(100, 3))
    cells = OnlineCells(n_trees=8, depth=3, first_rows=100, random_state=0).fit(X)
    focused = clone(cells)
    focused._focus(cells, np.array([1.0, 0.0, 0.0]))
    assert (focused._state.made.column == 0).mean() > 0.7
    assert merge([focused, copy.copy(focused)])._state is focused._state
    with pytest.raises(ValueError, match="models with other trees cannot be merged"):
        merge([cells, focused])
