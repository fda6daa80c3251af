"""Compiled loops fade rare columns without visiting them, so a row changes no more of the table than without fading."""

import os
import pickle
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from sklearn_nag import NAGClassifier, NAGRegressor, ScaleInvariantClassifier, kernels, set_config
from sklearn_nag.kernels.state.columns import HAVE_UNITS, PLAIN, Columns, smallest_unit

from ...estimators.helpers import bits
from ..helpers import make_state, progressive

pytestmark = pytest.mark.compiled

MODELS = [NAGClassifier(half_life=2)]
if os.environ.get("EVERY_RULE"):
    MODELS.append(NAGRegressor(half_life=3, centering=False, average=False))


@pytest.fixture(autouse=True)
def compiled():
    set_config(kernel="numba")
    yield
    set_config(kernel="auto")


def words(n, seed=0, d=300, length=6):
    """Return CSR rows of words with power-law frequencies, targets and weights."""
    rng = np.random.default_rng(seed)
    columns = np.minimum(np.exp(rng.random(n * length) * np.log(d)).astype(np.int32) - 1, d - 1)
    ends = np.arange(0, n * length + 1, length, dtype=np.int32)
    X = sparse.csr_array((rng.normal(size=n * length), columns, ends), shape=(n, d))
    z = X @ np.sin(np.arange(d)) + 0.3 * rng.normal(size=n)
    return X, z, rng.integers(1, 4, n).astype(float)


def of_some_columns(X):
    """Return rows that name at most a third of the columns; if they name half of them, all are copied."""
    X = sparse.csr_array(X.multiply(np.arange(X.shape[1]) < X.shape[1] // 3))
    X.eliminate_zeros()
    return X


def learn(model, X, z, weight=None):
    """Let the model learn rows, and return it."""
    if isinstance(model, NAGRegressor):
        return model.partial_fit(X, z, weight)
    return model.partial_fit(X, z > 0, [False, True], weight)


def kept(model):
    """Return the stored numbers of the table, and their units."""
    columns = model._state.columns
    return np.append(columns.table.ravel(), columns.units)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_equals_numpy_which_lets_every_column_fade(model):
    X, z, weight = words(300)
    seen = learn(pickle.loads(pickle.dumps(model)), X, z, weight)
    set_config(kernel="numpy")
    expected = learn(pickle.loads(pickle.dumps(model)), X, z, weight)
    assert seen._state.columns.units[:4] != PLAIN[:4]
    np.testing.assert_allclose(seen.progressive_loss_, expected.progressive_loss_, rtol=1e-9)
    np.testing.assert_allclose(seen.coef_, expected.coef_, rtol=1e-7, atol=1e-9 * np.abs(expected.coef_).max())
    for name in ("squares", "tally", "sum", "G", "weight", "past"):
        values, others = (getattr(m._state.columns, name) for m in (seen, expected))
        if others is not None:
            np.testing.assert_allclose(values, others, rtol=1e-6, atol=1e-9 * np.abs(others).max(), err_msg=name)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_cuts_pickles_and_looks_change_no_bit(model):
    X, z, weight = words(900, 1)
    whole, parts = (pickle.loads(pickle.dumps(model)) for _ in range(2))
    learn(whole, X, z, weight)
    for start in range(0, len(z), 53):
        rows = slice(start, start + 53)
        learn(parts, X[rows], z[rows], weight[rows])
        parts.coef_, parts.predict(X[:3]), parts.coefficients()
        parts = pickle.loads(pickle.dumps(parts))
    np.testing.assert_array_equal(kept(parts), kept(whole))
    np.testing.assert_array_equal(bits(parts), bits(whole))
    least = smallest_unit(0.0, 0.0, 1.0)
    assert 2 * len(z) / model.half_life * 1.5 > -np.log2(least)  # so the table was renewed on the way


def test_a_row_changes_its_own_columns_alone_and_all_fade():
    X, z, _ = words(300, 2)
    model = learn(NAGClassifier(half_life=8), X, z)
    columns = model._state.columns
    before, weight, tally = columns.table.copy(), columns.weight[0].copy(), columns.tally.copy()
    learn(model, X[:2], z[:2])  # a quarter of a half-life
    others = (columns.frequent == 0) & (weight != 0)
    others[np.append(X[:2].indices, X.shape[1])] = False
    assert others.sum() > 100
    np.testing.assert_array_equal(columns.table[:, others], before[:, others])
    np.testing.assert_allclose(columns.tally[others], tally[others] * 0.5**0.25, rtol=1e-14)
    np.testing.assert_allclose(columns.weight[0][others], weight[others] * 0.5 ** (0.25 / 4), rtol=1e-14)


@pytest.mark.parametrize("n", [3, 500])
def test_what_is_undone_is_as_it_was(n):
    """All is as before, even if units became too small on the way, so that all columns changed."""
    X, z, _ = words(400 + n, 3)
    model = learn(NAGClassifier(half_life=2), X[:400], z[:400])
    state, loss = model._state, model._loss()
    before, copy = kept(model), pickle.dumps(state.copy())
    rows = of_some_columns(X[400:])
    undo = kernels.undo(state, loss, rows.indices)
    assert undo.named is not None
    kernels.learn(state, loss, rows, (z[400:] > 0).astype(np.int32))
    assert (kept(model) != before).any()
    np.testing.assert_array_equal(np.append(undo.model().columns.table.ravel(), undo.model().columns.units), before)
    undo.restore()
    np.testing.assert_array_equal(kept(model), before)
    assert pickle.dumps(state.copy()) == copy


def test_what_is_undone_is_as_it_was_where_targets_are_lifted_first():
    """Once targets are lifted, ``G`` changes in another table, which has no units."""
    X, z, _ = words(420, 3)
    model = learn(NAGRegressor(half_life=20), X[:400], z[:400])
    state, loss, rows = model._state, model._loss(), of_some_columns(X[400:])
    before, copy = kept(model), pickle.dumps(state.copy())
    undo = kernels.undo(state, loss, rows.indices)
    assert undo.named is not None
    kernels.learn(state, loss, rows, np.ldexp(z[400:, None], 300))
    assert state.targets.lift < 1.0
    assert pickle.dumps(undo.model()) == copy
    undo.restore()
    np.testing.assert_array_equal(kept(model), before)
    assert pickle.dumps(state.copy()) == copy


def test_what_is_undone_is_as_it_was_from_any_moment_on():
    """A fork may come between any two instructions, and in a loop that has marked places of columns."""
    X, z, _ = words(900, 3)
    model = learn(NAGClassifier(half_life=2), X[:400], z[:400])
    state, loss = model._state, model._loss()
    before, read, ran, rows = kept(model), [], set(), of_some_columns(X[400:])
    undo = kernels.undo(state, loss, rows.indices)
    assert undo.named is not None

    def trace(frame, event, argument):
        if frame.f_code.co_name not in ("renew_columns", "settle", "end", "arrange", "_become"):
            return None
        frame.f_trace_opcodes = True
        ran.add(frame.f_code.co_name)
        if event == "opcode":
            columns = undo.model().columns
            read.append(np.append(columns.table.ravel(), columns.units))
        return trace

    outer = sys.gettrace()
    sys.settrace(trace)
    try:
        kernels.learn(state, loss, rows, (z[400:] > 0).astype(np.int32))
        undo.end()
    finally:
        sys.settrace(outer)
    assert ran >= {"renew_columns", "settle", "end"}
    assert all(np.array_equal(columns, before) for columns in read)
    state.columns.places()[:] = 1
    undo.restore()
    np.testing.assert_array_equal(kept(model), before)
    assert not state.columns.places().any()


def test_dense_rows_and_new_parameters_go_on_with_all_as_it_is():
    X, z, _ = words(400, 4)
    model = learn(NAGClassifier(half_life=20), X[:200], z[:200])
    coef = model.coef_
    for change in (
        lambda m: learn(m, X[200:201].toarray(), z[200:201]),
        lambda m: learn(m.set_params(penalty="l2", alpha=1e-6), X[200:201], z[200:201]),
    ):
        changed = pickle.loads(pickle.dumps(model))
        set_config(kernel="auto")  # the rule with this penalty is not compiled for this test alone
        change(changed)
        assert changed._state.columns.units[:4] == PLAIN[:4]
        others = np.delete(np.arange(X.shape[1]), X[200:201].indices)
        np.testing.assert_allclose(changed.coef_[0, others], coef[0, others], atol=0.05 * np.abs(coef).max())
        learn(changed, X[201:], z[201:])
        assert np.isfinite(changed.progressive_loss_)


def test_views_of_what_fades_unseen_cannot_be_written():
    X, z, _ = words(100, 5)
    columns = learn(NAGClassifier(half_life=4), X, z)._state.columns
    for name in HAVE_UNITS:
        with pytest.raises(ValueError, match="read-only"):
            getattr(columns, name)[...] = 0.0


@pytest.mark.parametrize("c", [1.0, 2.0**60, 2.0**332])
def test_units_leave_room_for_sums_over_rows_that_weigh_much(c):
    unit, total = smallest_unit(c, c * c, c), c * c + 2.0 * c + 2.0 * c * c
    assert unit == min(1.0, max(2.0**-300, total * 2.0**-400))


@pytest.mark.parametrize("units", [None, (1.0, 1.0), (0.0, 1.0, 1.0, 0.0, 1.0), (1.0, 1.0, 2.0, 0.0, 1.0),
                                   (1.0, 1.0, 1.0, np.nan, 1.0), (1.0, 1.0, 1.0, 0.0, 7.0)])  # fmt: skip
def test_units_that_cannot_be_are_refused(units):
    X, z, _ = words(100, 6)
    saved = learn(NAGClassifier(half_life=4), X, z)._state.columns.__getstate__()
    assert len(saved["units"]) == 5
    with pytest.raises(ValueError, match="columns cannot have units"):
        Columns.__new__(Columns).__setstate__({**saved, "units": units})


def taught(model):
    """Return columns of a model of many features that has learnt CSR rows, in the order of compiled loops."""
    X, z, _ = words(60, 7, d=5_000)
    set_config(kernel="auto")
    columns = learn(clone(model), X, z)._state.columns
    columns.arrange("F")
    return columns


LAYOUTS = [
    (NAGClassifier(), ("frequent", "origin"), 8),
    (NAGClassifier(average=False), ("frequent", "origin"), 8),
    (NAGClassifier(half_life=4), ("frequent", "origin", "least_square"), 8),
    (NAGClassifier(normalization="rms"), (), 8),
    (ScaleInvariantClassifier(), ("frequent", "origin", "deviation", "lift"), 8),
]


@pytest.mark.parametrize(("model", "apart", "fields"), LAYOUTS, ids=str)
def test_columns_side_by_side_begin_with_lines_of_the_cache_where_that_takes_little(model, apart, fields):
    columns = taught(model)
    assert columns.table.strides == (8, 8 * fields)
    assert columns.table.ctypes.data % 64 == 0
    assert columns.names[: len(columns.apart)] == apart


@pytest.mark.parametrize("model", [model for model, *_ in LAYOUTS], ids=str)
def test_whatever_is_kept_apart_all_is_the_same(model):
    columns = taught(model)
    whole, n = columns.whole(), columns.n_rows
    assert len(whole) == n == sum(1 if name in columns.shared else columns.n_heads for name in columns.names)
    for name, rows in columns.ranges().items():
        np.testing.assert_array_equal(np.atleast_2d(columns.kept(name)), whole[rows], err_msg=name)
    some = np.array([4_999, 3, 0])
    before, copy = columns.take_kept(some), columns.copy()
    columns.arrange("C")
    assert not len(columns.apart)
    if not model.get_params().get("half_life"):  # else the order "C" removes units
        np.testing.assert_array_equal(columns.table, whole)
        changed = columns.copy()
        changed.put(some, changed.take(some[::-1]))
        np.testing.assert_array_equal(changed.table[:, some], whole[:, some[::-1]])
        changed.put_kept(some, *before)  # from before it was rearranged
        np.testing.assert_array_equal(changed.table, whole)
        columns.arrange("F")
        np.testing.assert_array_equal(columns.whole(), whole)
    for kept_by in (copy, pickle.loads(pickle.dumps(copy))):
        np.testing.assert_array_equal(kept_by.whole(), whole)
        assert kept_by.table.strides == copy.table.strides


@pytest.mark.parametrize("model", [NAGClassifier(), NAGClassifier(half_life=4)], ids=str)
def test_columns_are_taken_without_units_however_many_are_copied_at_once(model, monkeypatch):
    columns = taught(model)
    index = np.append(np.flatnonzero(columns.largest)[::-1], [4_999, columns.table.shape[1] - 1])
    in_units = np.isin(index, columns.in_units()) & (columns.kept("frequent")[index] == 0)
    in_units[-1] = False  # the constant 1
    assert columns.is_plain == (model.half_life is None)
    assert len(index) > 100
    assert not in_units[:-2].all()
    sums, of_weights, of_past, in_past, _ = columns.units
    units = {"squares": sums, "tally": sums, "sum": sums, "G": sums, "weight": of_weights, "past": of_past}
    moved = np.where(in_units, columns.kept("weight")[..., index] * in_past, 0.0)
    monkeypatch.setattr("sklearn_nag.kernels.state.columns.COPIED_AT_ONCE", 100)
    taken = columns.take(index)
    assert taken.table.flags.c_contiguous
    for name in columns.names:
        expected = columns.kept(name)[..., index] * np.where(in_units, units.get(name, 1.0), 1.0)
        np.testing.assert_array_equal(getattr(taken, name), expected + moved if name == "past" else expected, name)


def test_columns_without_information_do_not_underflow_when_units_are_small():
    X, z, _ = words(320, 9, d=5_000)
    y = z > 0
    X = X.tolil()
    X[:, 0] = 1.0
    X = sparse.csr_array(X)
    model = NAGClassifier(half_life=5).partial_fit(X[:300], y[:300], classes=[False, True])
    with np.errstate(all="raise"):
        assert model.predict_proba(X[300:]).shape == (20, 2)
        model.partial_fit(X[300:].toarray(), y[300:])


@pytest.mark.parametrize("d", [40, 5_000])
def test_lifts_that_are_kept_apart_are_those_of_numpy(d):
    """Columns grow, once or again and again, from small or usual values, while rows keep naming them."""
    n = 240
    X = words(n, 9, d=d)[0].toarray()
    t = np.arange(n)
    X[:, 1] *= 2.0 ** (3 * (t // 2))
    X[:, 2] *= np.where(t < n // 2, 2.0**-200, 1.0)
    X[:, 3] *= np.where(t < n // 2, 1.0, 2.0**90)
    X[:, 4] *= np.where(t % 3 == 0, 2.0**-63, 2.0**-61)
    X[:, 5] *= 2.0**300
    X, z = sparse.csr_array(X), X[:, 0] + 0.3 * X[:, 6] > 0
    found = []
    for kernel in ("numpy", "numba"):
        set_config(kernel=kernel)
        own = ScaleInvariantClassifier()
        played = []
        for start in range(0, n, 60):
            rows = slice(start, start + 60)
            own.partial_fit(X[rows], z[rows], [False, True])
            played.append(own.decision_function(X))
        found.append((own._state.columns, played))
    (expected, numbers), (columns, others) = found
    assert "lift" in columns.names[: len(columns.apart)]
    assert len(np.unique(columns.lift)) >= 4
    np.testing.assert_array_equal(columns.lift, expected.lift)
    np.testing.assert_array_equal(columns.largest, expected.largest)
    np.testing.assert_allclose(others, numbers, rtol=1e-9, atol=1e-9)


def test_a_single_column_is_in_both_orders():
    X, z, weight = words(90, 8, d=1)
    y, states = np.where(z > 0, 1.0, -1.0), [make_state(1, intercept=False) for _ in range(2)]
    for start in range(0, 90, 30):
        rows = slice(start, start + 30)
        progressive(states[0], X[rows] if start == 30 else X[rows].toarray(), y[rows], weight[rows])
        progressive(states[1], X[rows].toarray(), y[rows], weight[rows])
    np.testing.assert_allclose(states[0].linear()[0], states[1].linear()[0], rtol=1e-12)
    for columns in (state.columns for state in states):
        assert (len(columns.apart), len(columns.table)) == (0, columns.n_rows)


def test_tables_of_earlier_versions_had_all_together():
    columns = taught(NAGClassifier())
    whole = np.asarray(columns.whole(), order="F")
    saved = columns.__getstate__() | {"table": whole}
    del saved["apart"]
    earlier = Columns.__new__(Columns)
    earlier.__setstate__(saved)
    np.testing.assert_array_equal(earlier.frequent, columns.frequent)
    earlier.arrange("F")
    assert earlier.table.strides == columns.table.strides
    np.testing.assert_array_equal(earlier.whole(), whole)


@pytest.mark.parametrize("apart", [None, np.zeros((1, 5_001)), np.zeros((2, 5_000)), np.zeros((2, 5_001), int)])
def test_what_cannot_be_apart_is_refused(apart):
    with pytest.raises(ValueError, match="columns (has|needs) "):
        Columns.__new__(Columns).__setstate__(taught(NAGClassifier()).__getstate__() | {"apart": apart})


@pytest.mark.parametrize("n_apart", [1, 2, 3, 4])
@pytest.mark.parametrize("room", [0, 3])
def test_files_may_have_fields_in_another_order_and_others_apart(n_apart, room):
    columns = taught(ScaleInvariantClassifier())
    saved, whole, rows = columns.__getstate__(), columns.whole(), columns.ranges()
    shared = ("origin", "frequent", "lift", "deviation", *saved["shared"][4:])
    places = [row for name in (*shared, *saved["per_head"]) for row in rows[name]]
    table = np.asfortranarray(np.vstack([whole[places[n_apart:]], np.zeros((room, whole.shape[1]))]))
    table.flags.writeable = False
    earlier = Columns.__new__(Columns)
    earlier.__setstate__(saved | {"shared": shared, "apart": whole[places[:n_apart]], "table": table})
    np.testing.assert_array_equal(earlier.whole(), whole)
    assert not earlier.table.flags.writeable
    earlier.arrange("F")
    np.testing.assert_array_equal(earlier.table, columns.table)
    np.testing.assert_array_equal(earlier.apart, columns.apart)


@pytest.mark.parametrize("arranged", ["F", "C"])
def test_sizes_of_columns_that_were_frequent_are_those_of_files_of_earlier_versions(arranged):
    """In files of earlier versions, columns that became rare kept their deviations."""
    state = learn(ScaleInvariantClassifier(), *words(60, 7, d=5_000)[:2])._state
    columns = state.columns
    columns.arrange(arranged)
    rare = np.flatnonzero((columns.largest > 0) & (columns.frequent == 0))
    whole, rows = np.array(columns.whole()), columns.ranges()
    whole[rows["deviation"].start, rare] = 1.75 * whole[rows["largest"].start, rare]
    shared = tuple(name for name in columns.shared if name != "deviation")
    shared = (*shared[:6], "deviation", *shared[6:])
    places = [row for name in (*shared, *columns.per_head) for row in rows[name]]
    earlier = Columns.__new__(Columns)
    earlier.__setstate__(columns.with_table(whole[places], apart=None).__getstate__() | {"shared": shared})
    expected = np.array(state.size())
    expected[rare] *= 1.75
    np.testing.assert_allclose(earlier.size(state.rule, state.t), expected, rtol=1e-15)
    assert not earlier.deviation[rare].any()
