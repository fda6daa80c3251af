"""Training on Dask gives the result of training by shards, whichever worker does the work and whichever dies."""

import multiprocessing
import os
import signal
import threading
import time

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV

from sklearn_nag import (
    HedgeClassifier,
    HedgeRegressor,
    NAGClassifier,
    NAGRegressor,
    OnlineBootstrap,
    ScaleInvariantClassifier,
    config_context,
    merge,
)
from sklearn_nag.dask import _partitions, fit
from sklearn_nag.distributed import shard_fit
from sklearn_nag.distributed._rounds import first_pair, judge, learn_first, learn_piece, merge_learnt, plan, run_rounds
from sklearn_nag.preprocessing import prepare

from .estimators.helpers import bits

dask = pytest.importorskip("dask", reason="Dask comes with the extra dask")
da = pytest.importorskip("dask.array")
db = pytest.importorskip("dask.bag")
distributed = pytest.importorskip("distributed")

pytestmark = [pytest.mark.filterwarnings("ignore")]  # warnings when Dask starts and ends

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1300, 4)) * [1.0, 100.0, 1e-3, 5.0]
Z = X[:, 0] + X[:, 1] / 100
Y = (Z + RNG.logistic(size=1300) > 0).astype(int)
NOISE = RNG.normal(size=1300)


def by_hand(estimator, X, y, n_shards, rounds, size=100, **options):
    """Learn the first partitions in one model, then run `shard_fit`'s rounds over the others, in plain Python."""
    parts = [(X[i : i + size], y[i : i + size], None) for i in range(0, len(y), size)]
    first, pieces = plan(len(parts), n_shards, rounds)
    pair = learn_first(first_pair(estimator), parts[:first], options.get("classes"))

    def learn(model, pieces):
        return [learn_piece(model, parts[i:j]) for i, j in pieces if j > i]

    return run_rounds(pair, pieces, estimator.eta0, lambda function, *given: function(*given), learn, merge_learnt,
                      lambda pair, piece: judge(pair, parts[piece[0] :], options.get("classes")))  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.parametrize(("n_shards", "rounds"), [(None, 1), (4, 3), (1, 5)])
def test_arrays_frames_and_bags_give_the_same_bits(n_shards, rounds):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe", exc_type=ImportError)
    options = {"classes": [0, 1], "n_shards": n_shards, "rounds": rounds}
    expected = by_hand(NAGClassifier(), X, Y, n_shards or 13 // rounds - 1, rounds, classes=[0, 1])
    rows, targets = da.from_array(X, chunks=(100, 2)), da.from_array(Y, chunks=100)
    parts = [dask.delayed(pd.DataFrame({**dict(zip("abcd", X[i : i + 100].T)), "y": Y[i : i + 100]}))
             for i in range(0, 1300, 100)]  # fmt: skip
    frame = dd.from_delayed(parts)
    bag = db.from_delayed([dask.delayed([(X[i : i + 100], Y[i : i + 100])]) for i in range(0, 1300, 100)])
    for arguments in ((rows, targets), (frame, "y"), (frame[list("abcd")], frame["y"]), (bag,)):
        np.testing.assert_array_equal(bits(fit(NAGClassifier(), *arguments, **options)), bits(expected))


def test_a_pipeline_learns_from_a_frame():
    dd, pd = pytest.importorskip("dask.dataframe", exc_type=ImportError), pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": X[:, 0], "town": RNG.choice(["Rome", "Oslo", "Lima"], 1300)})
    frame.loc[::9, "a"] = np.nan
    frame["y"] = 2.0 * frame["a"].fillna(0.0) + 3.0 * (frame["town"] == "Rome")
    pipeline = prepare(frame.drop(columns="y"), NAGRegressor())
    model = fit(pipeline, dd.from_pandas(frame, npartitions=4), "y", rounds=1)
    assert model[-1].t_ == 1300
    assert model.score(frame[["a", "town"]], frame["y"]) > 0.9


def test_weights_and_regression():
    weight = RNG.uniform(1, 2, 1300)
    collections = [da.from_array(values, chunks=100) for values in (X, Z, weight)]
    model = fit(NAGRegressor(), collections[0].rechunk((100, 4)), collections[1], sample_weight=collections[2])
    assert model.t_ == pytest.approx(weight.sum())


def test_intervals_and_probabilities_come_from_all_shards():
    rows, half = da.from_array(X[:1000], (100, 4)), slice(1000, None)
    reg = fit(NAGRegressor(), rows, da.from_array(Z[:1000] + NOISE[:1000], 100), n_shards=3, rounds=2)
    low, high = reg.predict_interval(X[half], 0.9).T
    assert 0.82 < ((low <= Z[half] + NOISE[half]) & (Z[half] + NOISE[half] <= high)).mean() < 0.98
    clf = fit(NAGClassifier(calibration="progressive"), rows, da.from_array(Y[:1000], 100), classes=[0, 1], n_shards=3)
    alone = NAGClassifier(calibration="progressive").partial_fit(X[:1000], Y[:1000], classes=[0, 1])
    assert log_loss(Y[half], clf.predict_proba(X[half])) < 1.05 * log_loss(Y[half], alone.predict_proba(X[half]))
    sets = clf.predict_set(X[half], 0.9)
    assert 0.82 < sets[np.arange(300), Y[half]].mean() < 0.98
    assert min(reg._evidence.rows, clf._evidence.rows) > 900  # all rows except those that wait for a step


def test_it_is_shard_fit_but_for_the_first_partition():
    model = fit(NAGClassifier(), da.from_array(X, (100, 4)), da.from_array(Y, 100), classes=[0, 1], rounds=4)
    other = shard_fit(NAGClassifier(), X, Y, n_shards=2, rounds=4)
    assert model.t_ == other.t_
    np.testing.assert_allclose(model.scale_, other.scale_, rtol=1e-12)
    assert abs(model.score(X, Y) - other.score(X, Y)) < 0.02


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((X, Y), {}, TypeError, "X is a ndarray"),
        ((da.from_array(X, (100, 4)),), {}, ValueError, "y is missing"),
        ((da.from_array(X, (100, 4)), Y), {}, TypeError, "y is a ndarray; it must be a dask collection"),
        ((db.from_sequence([1, 2], npartitions=2),), {}, TypeError, "the bag holds a int"),
        ((da.from_array(X, (100, 4)), da.from_array(Y, 200)), {}, ValueError, "y has 7 partitions, and X has 13"),
        ((da.from_array(X, (100, 4)), da.from_array(Y, 100)), {"classes": None}, ValueError, "classes must be given"),
        ((da.from_array(X, (100, 4)), da.from_array(Y, 100)), {"rounds": 0}, ValueError, "rounds"),
        ((da.from_array(X[:0], (100, 4)), da.from_array(Y[:0], 100)), {}, ValueError, "all partitions are empty"),
        (
            (da.from_array(X, (100, 4)), da.from_array(Y, 100)),
            {"sample_weight": da.zeros(len(Y), chunks=100)},
            ValueError,
            "sample_weight, or its product with class_weight, is zero for all rows",
        ),
    ],
)
def test_errors(arguments, options, error, message):
    with pytest.raises(error, match=message):
        fit(NAGClassifier(), *arguments, **{"classes": [0, 1], **options})


@pytest.mark.parametrize("estimator", [OnlineBootstrap(NAGRegressor()), prepare(X, OnlineBootstrap(NAGRegressor()))])
def test_a_bootstrap_is_told_that_it_cannot_be_sharded(estimator):
    for run in (fit, shard_fit):
        with pytest.raises(TypeError, match="estimator is an OnlineBootstrap; it cannot be sharded"):
            run(estimator, "rows that nobody looks at", [0])


@pytest.mark.parametrize("estimator", [HedgeClassifier(), HedgeRegressor(), SGDClassifier()], ids=type)
def test_what_cannot_be_merged_is_told_before_any_work(estimator):
    kind = type(estimator).__name__
    message = f"estimator is a {kind}; " + ("it must be a learner of" if kind[0] == "S" else "mixtures cannot be")
    with pytest.raises(TypeError, match=message):
        fit(estimator, "rows that nobody looks at")
    with pytest.raises(TypeError, match=message):
        shard_fit(estimator, "rows that nobody looks at", [0])
    fitted = estimator.fit(X[:50], Y[:50])
    with pytest.raises(TypeError, match=message.replace("estimator is", r"models\[0\] is")):
        merge([fitted, fitted])


def test_errors_name_the_partition():
    bad = X.copy()
    bad[750, 1] = np.nan
    with pytest.raises(ValueError, match="^partition 7: Input X contains NaN"):
        fit(NAGClassifier(), da.from_array(bad, (100, 4)), da.from_array(Y, 100), classes=[0, 1], rounds=2)


@pytest.mark.parametrize(
    ("estimator", "empty"),
    [
        *((NAGClassifier(), empty) for empty in ([0], [0, 1, 2], range(12), [5, 6, 12], [0, 4, 5, 6, 7])),
        (NAGClassifier(eta0="auto"), [0, 4, 5, 6, 7]),
        (ScaleInvariantClassifier(), [0, 4, 5, 6, 7]),
    ],
    ids=str,
)
def test_partitions_without_rows(estimator, empty):
    sizes = np.full(13, 100)
    sizes[list(empty)] = 0
    n = sizes.sum()
    X_parts, Y_parts = da.from_array(X[:n], (tuple(sizes), (4,))), da.from_array(Y[:n], (tuple(sizes),))
    options = {"classes": [0, 1], "n_shards": 3, "rounds": 2}
    model = fit(estimator, X_parts, Y_parts, **options)
    assert model.t_ == n
    assert model.get_params() == estimator.get_params()
    np.testing.assert_allclose(model.mean_, X[:n].mean(axis=0), rtol=1e-6)
    merge([model, clone(estimator).partial_fit(X, Y, classes=[0, 1])])  # both learn by the same rule
    if n > 500:
        assert model.score(X, Y) > 0.9 * clone(estimator).partial_fit(X[:n], Y[:n], classes=[0, 1]).score(X, Y)


def table():
    """A data frame of pandas with features, targets and weights."""
    return pytest.importorskip("pandas").DataFrame({**dict(zip("abcd", X.T)), "y": Y, "z": Z, "w": 1.0 + Y})


@pytest.mark.parametrize("by_name", [True, False])
@pytest.mark.parametrize("kind", ["shuffled", "sampled", "filtered", "parquet"])
def test_features_and_targets_come_from_the_same_rows(kind, by_name, tmp_path):
    """Features and targets are of the same rows, even if rows are random or Dask would partition both differently."""
    dd = pytest.importorskip("dask.dataframe", exc_type=ImportError)
    frame = dd.from_pandas(table(), npartitions=5)
    if kind == "shuffled":
        frame = frame.shuffle("b")
    elif kind == "sampled":
        frame = frame.map_partitions(lambda part: part.sample(frac=1.0))
    elif kind == "filtered":
        frame = frame.map_partitions(lambda part: part[np.random.default_rng().random(len(part)) < 0.9])
    else:
        frame.to_parquet(tmp_path)
        frame = dd.read_parquet(tmp_path)
    features, options = frame[list("abcd")], {"sample_weight": frame["w"]}
    if by_name:
        features, options = frame[[*"abcd", "z", "w"]], {"sample_weight": "w"}
    model = fit(NAGRegressor(), features, "z" if by_name else frame["z"], **options)
    assert model.score(X, Z) > 0.99
    assert list(model.feature_names_in_) == list("abcd")


def test_arrays_that_come_by_chance():
    values = da.from_array(np.column_stack([X, Z]), chunks=(100, 5)).map_blocks(np.random.default_rng().permutation)
    assert fit(NAGRegressor(), values[:, :4], values[:, 4]).score(X, Z) > 0.99


def test_labels_of_columns():
    """Columns can be named for the weights alone or for several targets. Names that do not exist are errors."""
    dd = pytest.importorskip("dask.dataframe", exc_type=ImportError)
    frame = dd.from_pandas(table(), npartitions=5)
    one = fit(NAGRegressor(), frame[[*"abcd", "w"]], frame["z"], sample_weight="w")
    other = fit(NAGRegressor(), frame[[*"abcd", "z", "w"]], "z", sample_weight="w")
    np.testing.assert_array_equal(bits(one), bits(other))
    assert fit(NAGRegressor(), frame, ["y", "z"]).coef_.shape == (2, 5)
    with pytest.raises(ValueError, match="y names the column 'q', which X does not have"):
        fit(NAGRegressor(), frame, ["y", "q"])
    with pytest.raises(TypeError, match="y is a int; it must be a dask collection or the name of a column"):
        fit(NAGRegressor(), frame, 4)


def batches_from(starts):
    """A partition that yields its batches once, all read into the same memory."""
    rows, targets = np.empty((25, 4)), np.empty(25, int)
    for i in starts:
        for j in range(i, i + 100, 25):
            rows[:], targets[:] = X[j : j + 25], Y[j : j + 25]
            yield rows, targets


def fresh(start):
    """The same batches, each in its own memory, because Dask itself makes a list of them."""
    return ((rows.copy(), targets.copy()) for rows, targets in batches_from([start]))


class Again:
    """A partition that makes its batches anew, one at a time, each time it is iterated over."""

    def __init__(self, start):
        self.start = start

    def __iter__(self):
        return batches_from([self.start])


@pytest.mark.parametrize(("n_shards", "scheduler"), [(1, "synchronous"), (12, "synchronous"), (3, "threads")])
def test_partitions_that_yield_their_batches_once(n_shards, scheduler):
    starts = range(0, 1300, 100)
    lists, once, again = (
        db.from_delayed([dask.delayed(make)(i) for i in starts])
        for make in (lambda i: [(X[i : i + 100], Y[i : i + 100])], fresh, Again)
    )
    mapped = db.from_sequence(starts, npartitions=13).map_partitions(batches_from)
    options = {"classes": [0, 1], "n_shards": n_shards}
    expected = fit(NAGClassifier(), lists, **options)
    with dask.config.set(scheduler=scheduler):
        for bag in (once, again, mapped):
            np.testing.assert_array_equal(bits(fit(NAGClassifier(), bag, **options)), bits(expected))
    assert expected.t_ == 1300
    assert isinstance(dask.compute(_partitions(again, None, None)[0])[0], Again)  # its batches are not kept in memory


def test_bags_of_sparse_rows():
    def bag(kind):
        return db.from_delayed(
            [
                dask.delayed([(sparse.csr_matrix(X[i : i + 100]).asformat(kind), Y[i : i + 100])], traverse=False)
                for i in range(0, 1300, 100)
            ]
        )

    expected = fit(NAGClassifier(), bag("csr"), classes=[0, 1], n_shards=3)
    for kind in ("coo", "bsr", "dia", "csc", "lil", "dok"):
        model = fit(NAGClassifier(), bag(kind), classes=[0, 1], n_shards=3)
        np.testing.assert_array_equal(bits(model), bits(expected), err_msg=kind)


def test_threads_learn_by_the_kernel_that_is_chosen():
    rows, targets = da.from_array(X[:400], (50, 4)), da.from_array(Y[:400], 50)
    with config_context(kernel="numpy"):
        expected = fit(NAGClassifier(), rows, targets, classes=[0, 1], n_shards=3)
        with dask.config.set(scheduler="threads"):
            model = fit(NAGClassifier(), rows, targets, classes=[0, 1], n_shards=3)
    np.testing.assert_array_equal(bits(model), bits(expected))


def slow_part(i, name):
    """A partition that takes its time, records which process made it, and yields its batch once."""
    time.sleep(0.1)
    with open(f"{name}/{i}-{os.getpid()}-{time.monotonic_ns()}", "w"):
        yield X[i : i + 100], Y[i : i + 100]


def test_a_cluster_that_loses_a_worker(tmp_path):
    """If a worker is killed while it works, its results are made again, and no bit changes."""
    bag = db.from_delayed([dask.delayed(slow_part, pure=False)(i, str(tmp_path)) for i in range(0, 1300, 100)])
    options = {"classes": [0, 1], "n_shards": 4, "rounds": 3}
    expected = by_hand(NAGClassifier(), X, Y, 4, 3, classes=[0, 1])
    local = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}
    # Modules that workers start with are imported only once if workers can be forked from a process that has them.
    way = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    with (
        dask.config.set({"scheduler": None, "distributed.worker.multiprocessing-method": way}),
        distributed.LocalCluster(**local, memory_limit=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.run(os.putenv, "SKLEARN_NAG_KERNEL", "numpy")
        workers = set(client.run(os.getpid).values())
        assert len(workers) == 2

        def kill_one():
            while len(list(tmp_path.iterdir())) < 4:
                time.sleep(0.01)
            os.kill(int(min(tmp_path.iterdir()).name.split("-")[1]), signal.SIGKILL)

        killer = threading.Thread(target=kill_one)
        killer.start()
        model = fit(NAGClassifier(), bag, **options)
        killer.join()
        np.testing.assert_array_equal(bits(model), bits(expected))
        assert len(set(client.run(os.getpid).values()) & workers) < 2


def test_a_grid_search_on_a_cluster():
    """Joblib sends fits to Dask by itself, and the scores are those of local fits."""
    search = GridSearchCV(NAGClassifier(max_iter=2, tol=None, random_state=0), {"eta0": [0.25, 1.0]}, cv=2)
    expected = clone(search).fit(X, Y)
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, memory_limit=None
    )
    with cluster, distributed.Client(cluster), dask.config.set(scheduler=None), joblib.parallel_config("dask"):
        search.fit(X, Y)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"])
    np.testing.assert_array_equal(bits(search.best_estimator_), bits(expected.best_estimator_))


def test_columns_that_are_no_numbers_are_named():
    dd, frame = pytest.importorskip("dask.dataframe", exc_type=ImportError), table()
    for column, message in (
        (["9"] * 700 + ["word"] * (len(frame) - 700), r"X must hold numbers; in row \d+, column 1 \('b'\): .*'word'"),
        (X[:, 1] + 1j, "X has complex128 in column 'b'"),
    ):
        words = dd.from_pandas(frame[[*"abcdy"]].assign(b=column), npartitions=5)
        for target in ("y", words["y"]):
            with pytest.raises(ValueError, match=message):
                fit(
                    NAGClassifier(),
                    words if target is not words["y"] else words.drop(columns="y"),
                    target,
                    classes=[0, 1],
                )
