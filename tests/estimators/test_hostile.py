"""Input and circumstances that no user intends: malformed sparse rows, other threads, the ends of the range."""

import copy
import functools
import itertools
import pickle
import signal
import sys
import threading
import warnings
from functools import partial

import numpy as np
import pytest
from scipy import sparse

from sklearn_nag import (
    FTRLClassifier,
    FTRLRegressor,
    HedgeClassifier,
    HedgeRegressor,
    NAGClassifier,
    NAGRegressor,
    ScaleInvariantClassifier,
    ScaleInvariantRegressor,
    config_context,
)

from ..kernels.helpers import HAVE_NUMBA, KERNELS, on_both, some
from ..processes import run_code

LEARNERS = [
    FTRLClassifier,
    FTRLRegressor,
    NAGClassifier,
    NAGRegressor,
    ScaleInvariantClassifier,
    ScaleInvariantRegressor,
]


@pytest.mark.filterwarnings("ignore:some rows did not count")
@pytest.mark.parametrize("kernel", KERNELS)
def test_three_classes_and_weights_far_apart(kernel):
    X, weight = [[0.0], [-1e-17], [2.3e-15], [-5e-16], [2e-16]], [1e30, 1e79, 1e90, 1e92, 1.0]
    with config_context(kernel=kernel):
        model = NAGClassifier().partial_fit(X, list("aabab"), list("abc"), weight)
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_mean_of_the_targets_that_falls_by_thirteen_digits(kernel):
    """Predictions move to the new mean itself, because its digits would be lost in the difference of the means."""
    model = NAGRegressor(half_life=1.0)
    with config_context(kernel=kernel):
        model.partial_fit([[0.0]] * 3, [0.0, 1.0, 0.0], sample_weight=[1.0, 1e51, 5e51 * 2.0**40])
    mean, kept = 0.1 * 2.0**-40, 0.5**0.25  # of which a row makes half forgotten, and a weight that fades after it
    assert model._state.columns.weight[0, -1] == pytest.approx(-kept * mean, rel=1e-12)


def good_rows():
    return sparse.random(30, 8, density=0.4, format="csr", random_state=0)


def changed(name, place, value, dtype=None):
    rows = good_rows()
    array = getattr(rows, name).astype(dtype or getattr(rows, name).dtype)
    array[place] = value
    setattr(rows, name, array)
    return rows


def cut(name, by):
    rows = good_rows()
    setattr(rows, name, getattr(rows, name)[:-by])
    return rows


def claimed_canonical(rows):
    rows.has_sorted_indices = rows.has_canonical_format = True
    return rows


def wrong_csc():
    rows = good_rows().tocsc()
    rows.indices[3] = 30
    return rows


def wrong_coo():
    rows = good_rows().tocoo()
    rows.col[2] = -1
    return rows


def with_array(kind, name, change):
    """Rows in a sparse format, one of whose arrays is changed by a function."""
    rows = good_rows().asformat(kind)
    setattr(rows, name, change(getattr(rows, name)))
    return rows


def with_coordinates(change):
    rows = good_rows().tocoo()
    if hasattr(rows, "coords"):  # because SciPy corrects what is assigned to ``row`` and ``col``
        rows.coords = tuple(map(change, rows.coords))
    else:
        rows.row, rows.col = change(rows.row), change(rows.col)
    return rows


def in_lists(row, column):
    rows = good_rows().tolil()
    rows.rows[row], rows.data[row] = [column], [1.0]
    return rows


def swapped(array):
    return array.astype(array.dtype.newbyteorder())


OF_OTHER_FORMS = {
    "lil, the intercept": (lambda: in_lists(2, 8), "column 8"),
    "lil, too large": (lambda: in_lists(2, 10**6), "column 1000000"),
    "lil, negative": (lambda: in_lists(2, -9), "column -9"),
    "lil, words": (lambda: in_lists(2, "a"), "must be integers"),
    "lil, too few rows": (lambda: with_array("lil", "rows", lambda rows: rows[:3]), "rows that are not 30 lists"),
    "lil, no lists": (lambda: with_array("lil", "rows", lambda rows: np.full(30, "")), "rows that are not 30 lists"),
    "lil, too few values": (lambda: with_array("lil", "data", lambda data: data[::-1].copy()), "entries in row"),
    "byte order of indices": (lambda: with_array("csr", "indices", swapped), "byte order"),
    "byte order of indptr": (lambda: with_array("csr", "indptr", swapped), "byte order"),
    "byte order, csc": (lambda: with_array("csc", "indices", swapped), "byte order"),
    "byte order, coo": (lambda: with_coordinates(swapped), "byte order"),
    "floats": (lambda: with_coordinates(lambda places: places.astype(float)), "signed integers"),
    "unsigned": (lambda: with_array("csr", "indices", lambda places: places.astype("u4")), "signed integers"),
    "no indptr": (lambda: with_array("csr", "indptr", lambda ends: ends[:0]), "indptr of shape"),
    "indptr in a table": (lambda: with_array("csr", "indptr", lambda ends: ends[None]), "indptr of shape"),
    "indices in a table": (lambda: with_array("csr", "indices", lambda places: places[None]), "indices of shape"),
    "data in a table": (lambda: with_array("csr", "data", lambda data: data[None]), "data of shape"),
    "a list": (lambda: with_array("csr", "indices", list), "indices of type list"),
    "blocks of nothing": (lambda: with_array("bsr", "data", lambda data: data[:, :0]), "blocks of 0"),
    "diagonals": (lambda: with_array("dia", "offsets", lambda offsets: offsets[:-1]), "offsets and"),
}
MALFORMED = {
    **OF_OTHER_FORMS,
    "a column too large": (lambda: changed("indices", 5, 8), "column 8; its columns go from 0 to 7"),
    "far too large": (lambda: changed("indices", 5, 2**31 - 1), "column 2147483647"),
    "negative": (lambda: changed("indices", 5, -1), "column -1"),
    "beyond 32 bits": (lambda: changed("indices", 5, 2**32 + 3, np.int64), "column 4294967299"),
    "as canonical": (lambda: claimed_canonical(changed("indices", 5, 8)), "column 8"),
    "too few indices": (lambda: cut("indices", 3), "indptr that ends at"),
    "too few entries": (lambda: cut("data", 3), "indptr that ends at"),
    "ends too late": (lambda: changed("indptr", -1, 10_000), "indptr that ends at 10000"),
    "begins too late": (lambda: changed("indptr", 0, 2), "begin at 0 or decreases"),
    "decreases": (lambda: changed("indptr", 7, 90), "begin at 0 or decreases"),
    "too few rows": (lambda: cut("indptr", 1), "indptr"),
    "csc": (wrong_csc, "row 30"),
    "coo": (wrong_coo, "column -1"),
}


def targets_for(learner):
    return np.arange(30) % 2 if hasattr(learner, "class_weight") else np.linspace(0, 1, 30)


def classes_for(learner):
    return {"classes": [0, 1]} if hasattr(learner, "class_weight") else {}


EVERY = [*LEARNERS, *(partial(make, invariance="full") for make in LEARNERS[-2:])]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("make", EVERY)
def test_nothing_that_is_not_finite_is_learnt(make, kernel):
    rows, y = np.array([[0.0, 0, 0, 0], [0, 1, 1, 0], [1, 1e297, 0, 0]]), [0, 0, 0]  # targets that move no weight
    with config_context(kernel=kernel):
        for place in np.ndindex(rows.shape):
            for bad in (np.nan, np.inf, -np.inf):
                spoilt = rows.copy()
                spoilt[place] = bad
                model = make()
                with pytest.raises(ValueError, match="Input X contains"):
                    model.partial_fit(spoilt, y, **classes_for(model))
                assert not hasattr(model, "_state")


def as_a_vectorizer_may_leave_them(rows, named_twice, rng):
    """The same rows with columns in any order. In some rows, each value is split into two that add up to it exactly."""
    data, indices, indptr = [], [], [0]
    for row in range(rows.shape[0]):
        entries = slice(rows.indptr[row], rows.indptr[row + 1])
        values, columns = rows.data[entries], rows.indices[entries]
        if row in named_twice:
            values, columns = np.concatenate([0.25 * values, 0.75 * values]), np.tile(columns, 2)
        order = rng.permutation(len(columns))
        data.append(values[order])
        indices.append(columns[order])
        indptr.append(indptr[-1] + len(columns))
    indices, indptr = np.concatenate(indices).astype(np.int32), np.array(indptr, np.int32)
    return sparse.csr_array((np.concatenate(data), indices, indptr), shape=rows.shape)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("named_twice", [(), range(30), range(0, 30, 3)], ids=["once", "twice", "some twice"])
@pytest.mark.parametrize("make", LEARNERS)
def test_columns_in_any_order(make, named_twice, kernel, rng):
    rows, y = good_rows(), targets_for(make())
    rows.data = np.round(rows.data * 2**40) / 2**40  # so that a quarter and three quarters are exact
    with config_context(kernel=kernel):
        a, b = make().partial_fit(rows, y, **classes_for(make())), make()
        b.partial_fit(as_a_vectorizer_may_leave_them(rows, named_twice, rng), y, **classes_for(make()))
    np.testing.assert_allclose(b.coef_, a.coef_, rtol=1e-11, atol=1e-13)
    for name in ("largest", "lift", "tally"):
        assert np.array_equal(getattr(b._state.columns, name), getattr(a._state.columns, name))


@functools.cache
def fitted(make, kernel):
    with config_context(kernel=kernel):
        return make(max_iter=2).fit(good_rows(), targets_for(make()))


@pytest.mark.parametrize(("make", "case", "kernel"), on_both(some(itertools.product(LEARNERS, MALFORMED), 48), 8))
def test_malformed_sparse_rows(make, case, kernel):
    rows, message = MALFORMED[case]
    learner, y = copy.deepcopy(fitted(make, kernel)), targets_for(make())
    with config_context(kernel=kernel):
        before = pickle.dumps(learner._state)
        for call in (learner.partial_fit, learner.fit, lambda X, y: learner.predict(X)):
            with pytest.raises(ValueError, match=message):
                call(rows(), y)
            assert pickle.dumps(learner._state) == before


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("make", LEARNERS)
def test_columns_in_any_order_and_named_more_than_once(rng, make, kernel):
    """Columns in any order and named repeatedly are learnt like sorted and added ones, up to rounding.

    What the matrix claims about itself does not matter.
    """
    rows, learner, y = good_rows(), make(random_state=0, max_iter=3), targets_for(make())
    repeated = sparse.coo_matrix(
        (
            np.concatenate([0.25 * rows.data, 0.75 * rows.data]),
            (np.tile(np.repeat(np.arange(30), np.diff(rows.indptr)), 2), np.tile(rows.indices, 2)),
        ),
        shape=rows.shape,
    )
    order = np.lexsort((rng.random(2 * rows.nnz), repeated.row))
    indptr = 2 * rows.indptr
    shuffled = sparse.csr_matrix((repeated.data[order], repeated.col[order], indptr), shape=rows.shape)
    claimed = claimed_canonical(shuffled.copy())
    with config_context(kernel=kernel):
        expected = learner.fit(rows, y).coef_
        for other in (shuffled, claimed):
            np.testing.assert_allclose(
                make(random_state=0, max_iter=3).fit(other, y).coef_, expected, rtol=1e-9, atol=1e-12
            )


ANY_TARGETS = [
    NAGRegressor,
    lambda **options: NAGRegressor(eta0="auto", **options),
    lambda **options: NAGRegressor(adaptive=False, eta0=0.1, **options),
    ScaleInvariantRegressor,
    lambda **options: ScaleInvariantRegressor(update="potential", **options),
    lambda **options: ScaleInvariantRegressor(invariance="full", **options),
    FTRLRegressor,
    lambda **options: FTRLRegressor(regularizer="l2", **options),
]


@pytest.mark.parametrize(
    ("make", "loss", "kernel"),
    on_both(itertools.product(ANY_TARGETS, ["squared_error", "absolute_error", "huber"]), 3),
)
def test_targets_to_the_ends_of_the_range(rng, make, loss, kernel):
    X = rng.normal(size=(40, 4))
    y = np.column_stack([X @ [1.0, 2.0, 3.0, -1.0], rng.normal(size=40)])
    with config_context(kernel=kernel):
        small, large = make(loss=loss), make(loss=loss)
        played = small._play(X, y)
        assert np.array_equal(large._play(X, 2.0**1015 * y), 2.0**1015 * played)
        assert np.array_equal(large.predict(X), 2.0**1015 * small.predict(X))
        y[20:] *= 2.0**1015  # targets that grow are learnt the same however the stream is cut
        whole, parts = make(loss=loss), make(loss=loss)
        played = whole._play(X, y)
        assert np.array_equal(
            played, np.vstack([parts._play(X[a:b], y[a:b]) for a, b in [(0, 19), (19, 21), (21, 40)]])
        )
        assert np.array_equal(whole.coef_, parts.coef_)
        assert np.isfinite(played).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_column_that_grows_to_the_largest_double(rng, kernel):
    X = (rng.random((60, 3)) < 0.5).astype(float)
    X[40, 1] = 1.797e308
    y = rng.normal(size=60)
    with config_context(kernel=kernel):
        for learner in (ScaleInvariantRegressor(invariance="full"), ScaleInvariantRegressor(), NAGRegressor()):
            assert np.isfinite(learner.partial_fit(X, y).predict(X)).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_direction_that_becomes_the_smallest_double(kernel):
    """The direction becomes so small because the column that it consists of has grown by that much."""
    X, y, weight = np.array([[-1e160, 1e-308], [-1e160, 0.0], [0.0, 1.0]]), list("aab"), [1.0, 1e-6, 1.0]
    with config_context(kernel=kernel):
        model = ScaleInvariantClassifier(invariance="full").partial_fit(X, y, list("ab"), weight)
        model.partial_fit(X, y, sample_weight=weight)
    directions = model._state.factor[1] * 2.0**1000 * 2.0**20  # beside the others
    np.testing.assert_allclose(directions[1:] / directions[2], [-1e-308, 1.0], rtol=1e-9)


@pytest.mark.filterwarnings("ignore:.*some rows did not count:UserWarning")
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_rate_whose_slope_is_steeper_than_any_double_times_a_weight(kernel):
    """The slope is that steep if a mean of almost 0 is predicted where ``loss="tweedie"`` learns a 1."""
    X, y, weight = [[0.0], [0.0], [1.0], [0.0]], [1.0, 0.0, 1.0, 1.0], [1.0, 1.0, 1e37, 1e13]
    with config_context(kernel=kernel):
        model = NAGRegressor("tweedie").partial_fit(X[:3], y[:3], weight[:3])
        lower = model.intercept_.item()
        model.partial_fit(X[3:], y[3:], weight[3:])
    assert lower < -1e17 < model.intercept_.item() < -1e9


@pytest.mark.filterwarnings("ignore:.*some rows did not count:UserWarning")
@pytest.mark.parametrize("kernel", KERNELS)
def test_an_average_that_leaves_the_range_ends_the_call_though_latest_weights_predict(kernel):
    """In a mixture, the latest weights are an expert of their own."""
    X, y, weight = np.array([[0.0], [1.0], [-1e228]]), np.array([0.0, -1e308, 0.0]), np.array([1e80, 1e63, 1e-80])
    with config_context(kernel=kernel), pytest.raises(ValueError, match="leave the range"):
        HedgeRegressor().partial_fit(X, y, weight)


def test_a_row_too_heavy_for_others_to_count_in_the_half_life():
    model = NAGRegressor(half_life=50).partial_fit(np.eye(9), np.arange(9.0), [1e17, *[10.0] * 8])
    with pytest.warns(UserWarning, match="some rows did not count in half_life, and let nothing fade"):
        model.partial_fit(np.eye(9), np.arange(9.0))


@pytest.mark.parametrize("storage", [np.array, sparse.csr_array])
def test_a_warning_that_is_an_error_leaves_the_model_as_it_was(storage):
    """A warning raised as an error leaves the model as it was, even if rows have already been learnt."""
    model = NAGRegressor().partial_fit(storage(np.eye(9)), np.arange(9.0), np.full(9, 1e30))
    before = pickle.dumps(model)
    with warnings.catch_warnings(action="error"), pytest.raises(UserWarning, match="some rows did not count"):
        model.partial_fit(storage(np.eye(9)[:2]), [5.0, 50.0])
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("make", LEARNERS)
def test_weights_beyond_the_bounds(make):
    X, learner = np.random.default_rng(0).normal(size=(30, 3)), make()
    y = targets_for(learner)
    for weight in (1e101, 1e-101):
        with pytest.raises(ValueError, match=r"between 1e-100 and 1e\+100; it is .* at row 4"):
            learner.fit(X, y, sample_weight=np.where(np.arange(30) == 4, weight, 1.0))
    with pytest.warns(UserWarning, match="some rows did not count"):
        learner.fit(X, y, sample_weight=np.where(np.arange(30) % 2, 1e100, 1e-100))
    assert np.isfinite(learner.coef_).all()


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_readers_see_a_model_before_or_after_a_call(container):
    """While one thread learns, others predict. What they see, and what is left, is the result of whole calls."""
    rng = np.random.default_rng(0)
    X = container(rng.normal(size=(4000, 20)))
    y = (rng.random(4000) < 0.5).astype(int)
    clf = NAGClassifier().partial_fit(X[:100], y[:100], classes=[0, 1])
    steps = [NAGClassifier().partial_fit(X[:100], y[:100], classes=[0, 1])]
    seen, allowed, stop = [], {steps[0].coef_.tobytes()}, threading.Event()
    for _ in range(20):
        allowed.add(steps[0].partial_fit(X, y).coef_.tobytes())

    def read():
        while not stop.is_set():
            seen.append(clf.coef_.tobytes())
            clf.predict(X[:5])

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for _ in range(20):
        clf.partial_fit(X, y)
    stop.set()
    for reader in readers:
        reader.join()
    assert set(seen) <= allowed
    assert np.array_equal(clf.coef_, steps[0].coef_)


@pytest.mark.parametrize("make", LEARNERS)
def test_no_way_to_read_a_model_leaves_anything_behind(make, rng):
    """What other threads read while one learns does not change what the model predicts afterwards."""
    X = rng.normal(size=(3000, 20)) + 1.0
    y, seen = (X[:, 0] > 1.0).astype(int), X[:5]
    model, stop, wrong = make().partial_fit(X[:100], y[:100], **classes_for(make())), threading.Event(), []
    classes = getattr(model, "classes_", None)

    def read(what):
        while not stop.is_set():
            try:
                what()
            except Exception as error:
                wrong.append(error)
                return

    ways = (
        model.to_sklearn,
        lambda: model.contributions(sparse.csr_array(seen)),
        lambda: model.coefficients(as_frame=False),
        lambda: classes is None or set(model.predict(seen)) <= set(classes),
        model._repr_html_,
        model.get_params,
    )
    readers = [threading.Thread(target=read, args=[what]) for what in ways]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for reader in readers:
            reader.start()
        for _ in range(3):
            model.partial_fit(X, y)
            with pytest.raises(ValueError, match="NaN"):
                model.partial_fit(np.full((1, 20), np.nan), y[:1])
    finally:
        stop.set()
        for reader in readers:
            reader.join()
        sys.setswitchinterval(before)
    assert not wrong
    np.testing.assert_array_equal(model.predict(X), copy.deepcopy(model).predict(X))
    np.testing.assert_array_equal(model.coef_, copy.deepcopy(model).coef_)


def test_labels_are_those_of_the_model_that_predicts(rng):
    """Labels are those of the model that predicts, even if another thread fits other classes meanwhile."""
    X = rng.normal(size=(60, 3))
    two, three = np.where(X[:, 0] > 0, "right", "left"), np.array(["a", "b", "c"])[np.digitize(X[:, 1], [-0.5, 0.5])]
    clf, stop, wrong = NAGClassifier(max_iter=1).fit(X, two), threading.Event(), []

    def read():
        while not stop.is_set():
            try:
                labels = set(clf.predict(X))
            except Exception as error:
                wrong.append(error)
                return
            if not (labels <= set(two) or labels <= set(three)):
                wrong.append(labels)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(100):
        clf.fit(X, three), clf.fit(X, two)
    stop.set()
    reader.join()
    sys.setswitchinterval(before)
    assert not wrong


def test_readers_see_mixtures_before_or_after_a_call(rng):
    X, y = rng.normal(size=(3000, 5)), rng.integers(2, size=3000)
    batches = [slice(i, i + 100) for i in range(100, 3000, 100)]
    reference = HedgeClassifier().partial_fit(X[:100], y[:100], classes=[0, 1])
    mixture, seen, wrong, stop = copy.deepcopy(reference), X[:5], [], threading.Event()

    def read(model):
        loaded = pickle.loads(pickle.dumps(model))
        return {"predictions": model.predict_proba(seen).tobytes(), "weights": model.weights_.tobytes()} | {
            "pickled predictions": loaded.predict_proba(seen).tobytes(),
            "pickled weights": loaded.weights_.tobytes(),
        }

    def keep_reading():
        while not stop.is_set():
            wrong.extend(name for name, value in read(mixture).items() if value not in allowed[name])

    allowed = {name: {value} for name, value in read(reference).items()}
    for rows in batches:
        for name, value in read(reference.partial_fit(X[rows], y[rows])).items():
            allowed[name].add(value)
    reader = threading.Thread(target=keep_reading)
    reader.start()
    for rows in batches:
        mixture.partial_fit(X[rows], y[rows])
    stop.set()
    reader.join()
    assert not wrong
    assert read(mixture) == read(reference)


def test_writers_wait_for_one_another(rng):
    X, y = rng.normal(size=(500, 5)), rng.integers(2, size=500)
    clf = NAGClassifier()
    writers = [threading.Thread(target=lambda: clf.partial_fit(X, y, classes=[0, 1])) for _ in range(6)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert clf.t_ == 3000


@pytest.mark.skipif(not HAVE_NUMBA or not hasattr(signal, "SIGINT"), reason="no Numba")
def test_an_interrupt_is_heeded_within_a_long_call():
    """An interrupt is heeded by one thread, and by two threads that each learn some of the classes."""
    code = """
import os, signal, threading, time, numpy as np
from sklearn_nag import NAGClassifier
rng, sent = np.random.default_rng(0), []
X = np.tile(rng.normal(size=(1000, 20)), (2000, 1))
def interrupt():
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)
for n_jobs, n_classes in (1, 2), (2, 9):
    y = np.tile(rng.integers(n_classes, size=1000), 2000)
    clf = NAGClassifier(multi_class="ovr", n_jobs=n_jobs).partial_fit(X[:100], y[:100], classes=range(n_classes))
    threading.Timer(0.3, interrupt).start()
    try:
        while True:
            clf.partial_fit(X, y)
    except KeyboardInterrupt:
        assert time.perf_counter() - sent[-1] < 1.0
        assert clf.t_ % 2_000_000 == 100  # whole calls only
        print("heeded", n_jobs)
"""
    (out,) = run_code(code)
    assert out.stdout.splitlines() == ["heeded 1", "heeded 2"]
