"""Training from a stream gives what `partial_fit` gives, whatever interrupts it."""

import hashlib
import itertools
import os
import pickle
import sys
import threading
import types

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, QuantileTransformer, StandardScaler

import sklearn_nag
from sklearn_nag import (
    HedgeClassifier,
    NAGCellsRegressor,
    NAGClassifier,
    NAGRegressor,
    OnlineBootstrap,
    ScaleInvariantClassifier,
)
from sklearn_nag.constraints import L2Ball
from sklearn_nag.model_selection import ProgressiveSearch
from sklearn_nag.preprocessing import prepare
from sklearn_nag.streams import Batches, fit_stream, read_batches
from sklearn_nag.streams._fit import Checkpoint, _load, _save

from ..estimators.helpers import bits
from ..preprocessing.helpers import Centred
from ..processes import run_code

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2000, 4)) * [1.0, 100.0, 1e-3, 5.0]
Y = (X[:, 0] + X[:, 1] / 100 + RNG.normal(size=2000) > 0).astype(int)


class Loud:
    """An object that prints when it is unpickled."""

    def __reduce__(self):
        return print, ("unpickled",)


def cut(*sizes, rows=X, y=Y, weight=None):
    stops = [*np.cumsum([0, *sizes]), len(y)]
    for i, j in itertools.pairwise(stops):
        yield (rows[i:j], y[i:j]) if weight is None else (rows[i:j], y[i:j], weight[i:j])


class Cuttable:
    """An iterable of batches that can start again, and may fail."""

    def __init__(self, *sizes, fails_after=None, **options):
        self.sizes, self.fails_after, self.options = sizes, fails_after, options

    def __iter__(self):
        for number, batch in enumerate(cut(*self.sizes, **self.options)):
            if number == self.fails_after:
                raise OSError("the disk is gone")
            yield batch


@pytest.mark.parametrize(
    ("estimator", "options"),
    [
        (NAGClassifier(), {}),
        (NAGClassifier(), {"weight": RNG.uniform(1, 2, 2000)}),
        (NAGClassifier(), {"rows": sparse.csr_array(X * (RNG.random(X.shape) < 0.5))}),
        (ScaleInvariantClassifier(), {}),
        (NAGRegressor(), {"y": X[:, 0]}),
    ],
)
def test_it_is_partial_fit(estimator, options):
    batches = Cuttable(100, 1, 700, **options)
    extra = {} if isinstance(estimator, NAGRegressor) else {"classes": [0, 1]}
    model = fit_stream(estimator, batches, passes=2, **extra)
    expected = type(estimator)()
    for _ in range(2):
        (batch,) = cut(**options)
        weight = {"sample_weight": batch[2]} if len(batch) == 3 else {}
        expected.partial_fit(*batch[:2], **extra, **weight)
    np.testing.assert_array_equal(bits(model), bits(expected))
    assert not hasattr(estimator, "_state")


def test_shuffling_does_not_depend_on_the_cuts():
    models = [
        fit_stream(NAGClassifier(), Cuttable(*sizes), classes=[0, 1], shuffle_buffer=300, random_state=3, passes=2)
        for sizes in ((), (10, 290, 1, 600), (1999,))
    ]
    for model in models[1:]:
        np.testing.assert_array_equal(bits(model), bits(models[0]))
    rows = np.concatenate([
        order + start for start, order in (
            (300 * i, np.random.default_rng([3, 0, i]).permutation(min(300, 2000 - 300 * i))) for i in range(7)
        )
    ])  # fmt: skip
    assert sorted(rows) == list(range(2000))
    options = {"classes": [0, 1], "shuffle_buffer": 300, "random_state": 3}
    once = fit_stream(NAGClassifier(), Cuttable(77), **options)
    np.testing.assert_array_equal(bits(once), bits(NAGClassifier().partial_fit(X[rows], Y[rows], classes=[0, 1])))
    weight = RNG.uniform(1, 2, 2000)
    once = fit_stream(NAGClassifier(), Cuttable(77, weight=weight), **options)
    expected = NAGClassifier().partial_fit(X[rows], Y[rows], classes=[0, 1], sample_weight=weight[rows])
    np.testing.assert_array_equal(bits(once), bits(expected))


@pytest.mark.parametrize("kind", ["array", "frame", "sparse"])
def test_shuffled_batches_may_be_read_into_the_same_memory(kind):
    """Rows that wait in the buffer are copied, so the source may reuse its arrays, as ``readinto`` does."""

    def reused():
        rows, targets, weight = np.empty((50, 4)), np.empty(50, int), np.empty(50)
        given = rows
        if kind == "frame":
            given = pytest.importorskip("pandas").DataFrame(rows, copy=False)
        if kind == "sparse":
            given = sparse.csr_array(np.ones((50, 4)))
            rows = given.data.reshape(50, 4)
        for i in range(0, 2000, 50):
            rows[:], targets[:], weight[:] = X[i : i + 50], Y[i : i + 50], 1.0 + Y[i : i + 50]
            yield given, targets, weight

    for size in (0, 30, 120, 5000):
        reading, fresh = reused(), cut(weight=1.0 + Y)
        seen, expected = (fit_stream(NAGClassifier(), b, classes=[0, 1], shuffle_buffer=size) for b in (reading, fresh))
        assert np.array_equal(seen.coef_, expected.coef_) or kind == "sparse"
        np.testing.assert_allclose(seen.coef_, expected.coef_, rtol=1e-9)


def test_shuffled_weights_that_are_missing_count_1():
    weight = np.where(np.arange(2000) // 100 % 2, 1.0, RNG.uniform(1, 2, 2000))
    batches = [batch if number % 2 == 0 else batch[:2] for number, batch in enumerate(cut(*[100] * 19, weight=weight))]
    options = {"classes": [0, 1], "shuffle_buffer": 250}
    expected = fit_stream(NAGClassifier(), Cuttable(weight=weight), **options)
    for rows in (batches, [(X[:0], Y[:0]), *batches]):
        np.testing.assert_array_equal(bits(fit_stream(NAGClassifier(), rows, **options)), bits(expected))


@pytest.mark.parametrize("first", [0, 1])
def test_shuffled_batches_of_which_some_are_sparse(first):
    batches = [
        (sparse.csr_array(rows) if number % 2 == first else rows, y)
        for number, (rows, y) in enumerate(cut(*[100] * 19))
    ]
    options = {"classes": [0, 1], "shuffle_buffer": 250}
    expected = fit_stream(NAGClassifier(), [(sparse.csr_array(X), Y)], **options)
    np.testing.assert_array_equal(bits(fit_stream(NAGClassifier(), batches, **options)), bits(expected))


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_shuffled_frames_keep_their_names(package):
    frames = pytest.importorskip(package)
    rows = [frames.DataFrame(dict(zip("abcd", part.T))) for part, _ in cut(100, 700)]
    whole = frames.DataFrame({"a": np.arange(3), "b": 1.0, "c": 1.0, "d": 1.0})  # integers where others have floats
    options = {"classes": [0, 1], "shuffle_buffer": 850}
    batches = [*zip(rows, (y for _, y in cut(100, 700))), (whole, Y[:3])]
    model = fit_stream(NAGClassifier(), batches, **options)
    if hasattr(NAGClassifier().partial_fit(whole, Y[:3], classes=[0, 1]), "feature_names_in_"):
        assert list(model.feature_names_in_) == list("abcd")  # older scikit-learn does not find them in newer polars
    plain = [(np.asarray(frame, dtype=float), y) for frame, y in batches]
    np.testing.assert_array_equal(bits(model), bits(fit_stream(NAGClassifier(), plain, **options)))


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_shuffled_words_are_words_whatever_the_batches_have_of_them(package, rng):
    frames = pytest.importorskip(package)

    def batch(k):
        words, x = rng.choice([100 + k, 200, 300], 60), rng.normal(size=60)
        if package == "pandas":
            return frames.DataFrame({"zip": frames.Categorical(words), "x": x}), x
        words = words.astype(str)
        return frames.DataFrame({"zip": frames.Series(words, dtype=frames.Enum(np.unique(words))), "x": x}), x

    batches = [batch(k) for k in range(4)]
    batches[2] = batches[2][0][["x", "zip"]], batches[2][1]
    pipeline = prepare(batches[0][0], NAGRegressor(random_state=0))
    model = fit_stream(pipeline, batches, shuffle_buffer=150)
    names = {name.rpartition("__")[2] for name in model[:-1].get_feature_names_out()}
    assert {f"zip={word}" for word in (100, 101, 102, 103, 200, 300)} <= names
    with pytest.raises(ValueError, match=r"a batch has the columns \['x'\], and those before have \['zip', 'x'\]"):
        fit_stream(pipeline, [batches[0], (batches[1][0][["x"]], batches[1][1])], shuffle_buffer=150)


def test_shuffled_tables_of_arrow_have_booleans_among_numbers(rng):
    pa = pytest.importorskip("pyarrow", exc_type=ImportError)
    x, y = rng.integers(0, 2, 90), rng.normal(size=90)
    batches = [(pa.table({"a": x[:40]}), y[:40]), (pa.table({"a": x[40:] > 0}), y[40:])]
    plain = fit_stream(NAGRegressor(), [(x[:, None].astype(float), y)], shuffle_buffer=30)
    np.testing.assert_array_equal(bits(fit_stream(NAGRegressor(), batches, shuffle_buffer=30)), bits(plain))


@pytest.mark.parametrize("shuffle_buffer", [0, 150])
@pytest.mark.parametrize(
    "estimator",
    [NAGClassifier(), make_pipeline(StandardScaler(), SGDClassifier(random_state=0))],
    ids=["ours", "other"],
)
def test_a_run_that_failed_goes_on(estimator, shuffle_buffer, tmp_path):
    options = {"classes": [0, 1], "passes": 2, "checkpoint_every": 250, "shuffle_buffer": shuffle_buffer}
    sizes, path = [100] * 19, tmp_path / "model"
    undisturbed = fit_stream(estimator, Cuttable(*sizes), **options)
    for fails_after in (3, 9, 15):
        with pytest.raises(OSError, match="the disk is gone"):
            fit_stream(estimator, Cuttable(*sizes, fails_after=fails_after), checkpoint=path, **options)
    model = fit_stream(estimator, Cuttable(*sizes), checkpoint=path, **options)
    again = fit_stream(estimator, Cuttable(*sizes, fails_after=0), checkpoint=path, **options)  # nothing is left to do
    for other in (model, again):
        np.testing.assert_array_equal(other.decision_function(X), undisturbed.decision_function(X))
    assert os.listdir(tmp_path) == ["model"]


SCRIPT = """
import os, pickle, signal, sys, time
import numpy as np
from sklearn_nag import NAGClassifier
from sklearn_nag.streams import fit_stream

def batches(pause):
    rng = np.random.default_rng(1)
    for _ in range(60):
        X = rng.normal(size=(50, 3))
        yield X, (X[:, 0] > 0).astype(int)
        time.sleep(pause)

def run(path, pause):
    model = fit_stream(NAGClassifier(), batches(pause), classes=[0, 1], checkpoint=path, checkpoint_every=50)
    return model.coef_.tobytes().hex(), model.t_

path, rng, written = sys.argv[1], np.random.default_rng(2), 0
undisturbed = run(None, 0)
for _ in range(3):
    process = os.fork()
    if process == 0:
        run(path, 0.02)
        os._exit(0)
    while not os.path.exists(path) or os.stat(path).st_mtime_ns == written:
        time.sleep(0.002)
    time.sleep(rng.uniform(0, 0.2))
    os.kill(process, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == -signal.SIGKILL
    written = os.stat(path).st_mtime_ns
    with open(path, "rb") as file:
        print(pickle.load(file)[1])
print(run(path, 0) == undisturbed)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_random_moments(tmp_path):
    """Each run resumes from the one that SIGKILL ended, and the last has the bits of an undisturbed run."""
    (process,) = run_code(SCRIPT, str(tmp_path / "model"), SKLEARN_NAG_KERNEL="numpy")
    *learnt, same = process.stdout.split()
    learnt = [int(n) for n in learnt]
    assert 0 < learnt[0] < learnt[1] < learnt[2] < 3000
    assert same == "True"


def test_checkpoints_of_another_run(tmp_path):
    path, options = tmp_path / "model", {"classes": [0, 1], "checkpoint_every": 100}
    with pytest.raises(OSError, match="disk"):
        fit_stream(NAGClassifier(), Cuttable(150, 150, fails_after=2), checkpoint=path, **options)
    with pytest.raises(ValueError, match=r"another run: its setting 'parameter eta0' was 1\.0; now it is 2\.0\."):
        fit_stream(NAGClassifier(eta0=2.0), Cuttable(150), checkpoint=path, **options)
    with pytest.raises(ValueError, match="its setting 'passes' was 1; now it is 2"):
        fit_stream(NAGClassifier(), Cuttable(150), checkpoint=path, passes=2, **options)
    with pytest.raises(ValueError, match="after 300 rows, which is within a batch"):
        fit_stream(NAGClassifier(), Cuttable(200, 200), checkpoint=path, **options)
    with pytest.raises(ValueError, match="after 300 rows; this stream has only 150"):
        fit_stream(NAGClassifier(), [(X[:150], Y[:150])], checkpoint=path, **options)


def test_a_damaged_checkpoint_is_refused(tmp_path):
    """A damaged checkpoint is refused whichever bit has changed, and wherever the file ends."""
    path, options = tmp_path / "model", {"classes": [0, 1], "checkpoint": tmp_path / "model"}
    rows = [(X[:50], Y[:50])]
    expected = bits(fit_stream(NAGClassifier(), rows, **options))
    content = path.read_bytes()
    settings = pickle.loads(content)[0]
    np.testing.assert_array_equal(bits(_load(path, settings).estimator), expected)
    for position in (*range(0, len(content), 7), *range(len(content) - 40, len(content))):
        damaged = bytearray(content)
        damaged[position] ^= 1 << position % 8
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="model is not a checkpoint, or is damaged"):
            _load(path, settings)
    for length in (*range(0, len(content), 97), len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match="model is not a checkpoint, or is damaged"):
            fit_stream(NAGClassifier(), rows, **options)


@pytest.mark.parametrize("thing", [None, 3, {}, (1, 2, 3, 4), ({}, 1), NAGClassifier(), Loud()], ids=type)
@pytest.mark.parametrize("digest", [True, False])
def test_pickles_that_are_no_checkpoints(thing, digest, tmp_path, capsys):
    pickled = pickle.dumps(thing)
    path = tmp_path / "model"
    path.write_bytes(pickled + hashlib.sha256(pickled).digest() * digest)
    with pytest.raises(ValueError, match="model is not a checkpoint, or is damaged"):
        fit_stream(NAGClassifier(), [(X, Y)], classes=[0, 1], checkpoint=path)
    assert digest or not capsys.readouterr().out  # without a digest, nothing is unpickled


def scaler_of(factor):
    """Return a fitted transformer that differs from others only in what it has learnt."""
    return FrozenEstimator(StandardScaler().fit(X * factor))


def test_a_checkpoint_knows_the_steps(tmp_path):
    path = tmp_path / "model"

    def fit(*steps, classifier=None):
        classifier = classifier or NAGClassifier()
        return fit_stream(make_pipeline(*steps, classifier), [(X, Y)], classes=[0, 1], checkpoint=path)

    fit(scaler_of(1), FunctionTransformer(np.abs))
    fit(scaler_of(1), FunctionTransformer(np.abs))
    for other in ((scaler_of(2), FunctionTransformer(np.abs)), (scaler_of(1), FunctionTransformer(np.sqrt)), ()):
        with pytest.raises(
            ValueError, match="model is the checkpoint of another run: its setting 'steps' was different"
        ):
            fit(*other)
    with pytest.raises(ValueError, match="its setting 'parameter constraint' was different"):
        fit(scaler_of(1), FunctionTransformer(np.abs), classifier=NAGClassifier(constraint=L2Ball(3.0)))
    with pytest.raises(ValueError, match="its setting 'learner' was .*NAGClassifier.*; now it is .*ScaleInvariant"):
        fit(scaler_of(1), FunctionTransformer(np.abs), classifier=ScaleInvariantClassifier())


def test_a_step_that_was_saved_and_loaded_is_the_same(tmp_path):
    column, options = X[:, :1], {"classes": [0, 1], "checkpoint": tmp_path / "model"}
    step = FrozenEstimator(QuantileTransformer(n_quantiles=10).fit(column))
    for same in (step, pickle.loads(pickle.dumps(step))):
        model = fit_stream(make_pipeline(same, NAGClassifier()), [(column, Y)], **options)
        assert model[-1].t_ == len(X)


def test_a_checkpoint_is_known_in_another_process(tmp_path):
    """A checkpoint is recognised although functions have other addresses, and sets and dicts another order."""
    script = (
        "import sys, numpy as np; from sklearn.pipeline import make_pipeline\n"
        "from sklearn.preprocessing import FunctionTransformer; from sklearn_nag import NAGClassifier\n"
        "from sklearn_nag.constraints import L2Ball; from sklearn_nag.streams import fit_stream\n"
        "step = FunctionTransformer(np.clip, kw_args={'a_min': -9, 'a_max': 9})\n"
        "model = make_pipeline(step, NAGClassifier(constraint=L2Ball(2.0)))\n"
        "print(fit_stream(model, iter([]), classes=[0, 1], checkpoint=sys.argv[1])[-1].t_)\n"
    )
    step, path = FunctionTransformer(np.clip, kw_args={"a_min": -9, "a_max": 9}), tmp_path / "model"
    model = make_pipeline(step, NAGClassifier(constraint=L2Ball(2.0)))
    with sklearn_nag.config_context(kernel="numpy"):
        fit_stream(model, [(np.eye(2), np.array([0, 1]))], classes=[0, 1], checkpoint=path)
    assert run_code(script, str(path), SKLEARN_NAG_KERNEL="numpy")[0].stdout == "2.0\n"


def test_what_cannot_be_pickled_is_refused_before_the_first_row(tmp_path):
    rows, options = iter([(X, Y)]), {"classes": [0, 1], "checkpoint": tmp_path / "model"}
    with pytest.raises(ValueError, match="checkpoint needs an estimator that can be pickled"):
        fit_stream(make_pipeline(FunctionTransformer(lambda X: X), NAGClassifier()), rows, **options)
    # All rows are still there.
    fit_stream(make_pipeline(FunctionTransformer(lambda X: X), NAGClassifier()), rows, classes=[0, 1])


def test_checkpoints_of_other_files(tmp_path):
    pytest.importorskip("pyarrow", exc_type=ImportError)
    np.savetxt(tmp_path / "1.csv", np.c_[X[:100], Y[:100]], delimiter=",", header="a,b,c,d,y", comments="")
    options = {"classes": [0, 1], "checkpoint": tmp_path / "model"}

    def batches():
        return read_batches(str(tmp_path / "*.csv"), "y", columns=list("abcd"))

    fit_stream(NAGClassifier(), batches(), **options)
    assert fit_stream(NAGClassifier(), batches(), **options).t_ == 100
    np.savetxt(tmp_path / "2.csv", np.c_[X[100:], Y[100:]], delimiter=",", header="a,b,c,d,y", comments="")
    with pytest.raises(ValueError, match=r"setting 'files' was \['1\.csv'\]; now it is \['1\.csv', '2\.csv'\]"):
        fit_stream(NAGClassifier(), batches(), **options)
    (tmp_path / "2.csv").unlink()
    moved = tmp_path / "moved"
    moved.mkdir()
    (tmp_path / "1.csv").rename(moved / "1.csv")
    assert fit_stream(NAGClassifier(), read_batches(moved / "1.csv", "y", columns=list("abcd")), **options).t_ == 100
    with open(moved / "1.csv", "a") as file:
        file.write("1,2,3,4,0\n")
    with pytest.raises(ValueError, match="its setting 'sizes of files' was"):
        fit_stream(NAGClassifier(), read_batches(moved / "1.csv", "y", columns=list("abcd")), **options)


@pytest.mark.parametrize("suffix", ["csv", "svm"])
@pytest.mark.parametrize("shuffle_buffer", [0, 300])
def test_a_file_that_was_mended(suffix, shuffle_buffer, tmp_path):
    """The run stops at a row that cannot be read. Mending the file changes its size and where blocks of bytes end."""
    pytest.importorskip("pyarrow", exc_type=ImportError)
    path, options = tmp_path / f"rows.{suffix}", {"classes": [0, 1], "shuffle_buffer": shuffle_buffer}
    if suffix == "csv":
        head, lines = "a,b,y\n", [f"{a!r},{b!r},{y}\n" for (a, b), y in zip(X[:, :2].tolist(), Y)]
        given = {"target": "y"}
    else:
        head, lines = "", [f"{y} 0:{a!r} 1:{b!r}\n" for (a, b), y in zip(X[:, :2].tolist(), Y)]
        given = {"n_features": 2}
    broken = [*lines[:1500], lines[1500].replace("." if suffix == "csv" else ":", "?"), *lines[1501:]]
    mended = [line.replace(",", ", ").replace(" ", "  ") if len(line) % 2 else line for line in lines]

    def fit(content, **more):
        path.write_text(head + "".join(content))
        return fit_stream(NAGClassifier(), read_batches(path, batch_size=100, **given), **options, **more)

    undisturbed = fit(mended)
    checkpointed = {"checkpoint": tmp_path / "model", "checkpoint_every": 170}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sklearn_nag.streams._read._SVMLIGHT_BLOCK", 1000)
        patch.setattr("sklearn_nag.streams._csv._BLOCK", 5000)
        patch.setattr("sklearn_nag.streams._csv._SAMPLE", 5000)
        with pytest.raises(ValueError, match="cannot be read"):
            fit(broken, **checkpointed)
        with pytest.raises(
            ValueError, match="'sizes of files' was .* start again. If rows .* changed_files=True resumes"
        ):
            fit(mended, **checkpointed)
        model = fit(mended, **checkpointed, changed_files=True)
    np.testing.assert_allclose(model.coef_, undisturbed.coef_, rtol=1e-9)
    assert model.t_ == undisturbed.t_ == len(X)
    again = fit(mended, **checkpointed)  # the checkpoint knows the mended file
    np.testing.assert_array_equal(bits(again), bits(model))
    path.rename(tmp_path / f"other.{suffix}")
    with pytest.raises(ValueError, match="its setting 'files' was"):
        fit_stream(NAGClassifier(), read_batches(tmp_path / f"other.{suffix}", **given), **options, **checkpointed,
                   changed_files=True)  # fmt: skip


def test_checkpoints_of_other_batches(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow", exc_type=ImportError)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=Y)
    options = {"classes": [0, 1], "checkpoint": tmp_path / "model"}
    given = {"target": "y", "columns": ["a", "b"], "transformer": StandardScaler().fit(frame[["a", "b"]])}
    fit_stream(NAGClassifier(), read_batches(frame, **given), **options)
    again = fit_stream(NAGClassifier(), read_batches(frame, **given, batch_size=7), **options)
    assert again.t_ == len(X)
    for name, value, message in [
        ("columns", ["b", "a"], r"'columns' was \['a', 'b'\]; now it is \['b', 'a'\]"),
        ("sample_weight", "c", "'sample_weight' was None; now it is 'c'"),
        ("n_hashed", 8, "'n_hashed' was 65536; now it is 8"),
        ("transformer", StandardScaler().fit(frame[["c", "d"]].to_numpy()), "'transformer' was different"),
    ]:
        with pytest.raises(ValueError, match=f"is the checkpoint of another run: its setting {message}"):
            fit_stream(NAGClassifier(), read_batches(frame, **{**given, name: value}), **options)
    with pytest.raises(ValueError, match="its setting 'files' was"):
        fit_stream(NAGClassifier(), [(X, Y)], **options)
    given["transformer"] = FunctionTransformer(lambda X: X)
    with pytest.raises(ValueError, match="checkpoint needs settings that can be pickled; transformer cannot"):
        fit_stream(NAGClassifier(), read_batches(frame, **given), **options)


SCALED = make_pipeline(StandardScaler(), NAGClassifier())


@pytest.mark.parametrize(
    ("estimator", "options", "matters"),
    [
        (SCALED, {}, True),
        (SCALED, {"shuffle_buffer": 500}, False),
        (NAGClassifier(), {}, False),
        (SGDClassifier(), {}, True),
        (make_pipeline(FunctionTransformer(np.abs), NAGClassifier()), {}, False),
        (OnlineBootstrap(NAGClassifier(), n_models=2), {}, False),
        (OnlineBootstrap(SGDClassifier(), n_models=2), {}, True),
        (ProgressiveSearch(NAGClassifier(), {"eta0": [0.1, 1.0]}), {}, False),
        (ProgressiveSearch([NAGClassifier(), SGDClassifier()]), {}, True),
        (HedgeClassifier([("nag", NAGClassifier()), ("sgd", SGDClassifier())]), {}, True),
    ],
    ids=str,
)
def test_checkpoints_know_the_size_of_batches_where_models_depend_on_it(estimator, options, matters, tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow", exc_type=ImportError)
    path, frame = tmp_path / "model", pd.DataFrame(X[:1000], columns=list("abcd")).assign(y=Y[:1000])

    def fit(batch_size, fails_after=None, estimator=estimator):
        read = read_batches(frame, "y", batch_size=batch_size)
        batches = Batches(
            lambda: itertools.chain(itertools.islice(read, fails_after), broken() if fails_after else ()),
            read.n_rows, True, read.settings,
        )  # fmt: skip
        return fit_stream(estimator, batches, classes=[0, 1], checkpoint=path, checkpoint_every=400, **options)

    with pytest.raises(OSError, match="the disk is gone"):
        fit(100, fails_after=9)
    if not matters:
        whole = fit_stream(estimator, read_batches(frame, "y", batch_size=100), classes=[0, 1], **options)
        np.testing.assert_array_equal(fit(200).predict_proba(X), whole.predict_proba(X))
        return
    with pytest.raises(ValueError, match="another run: its setting 'batch_size' was 100; now it is 200"):
        fit(200)
    saved = Checkpoint(*pickle.loads(path.read_bytes()))
    del saved.settings["batch_size"]  # earlier versions did not keep it
    _save(path, saved)
    fit(200)
    with pytest.raises(ValueError, match="its setting 'batch_size' was 200; now it is 100"):
        fit(100)
    with pytest.raises(ValueError, match="its setting '(estimator|learner)' was"):
        fit(200, estimator=ScaleInvariantClassifier())


class OnlyOnce:
    """An iterable that returns the same iterator each time."""

    def __init__(self):
        self.batches = iter([(X, Y)])

    def __iter__(self):
        return self.batches


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"passes": 0}, "passes"),
        ({"shuffle_buffer": -1}, "shuffle_buffer"),
        ({"batches": iter([]), "passes": 2}, "passes=2 needs batches that can start again"),
        ({"batches": Batches(lambda: iter([]), None, False), "passes": 2}, "can start again"),
        ({"batches": OnlyOnce(), "passes": 2}, "passes=2 needs .* start again; there were no rows in pass 2"),
        ({"batches": []}, "there are no rows"),
        ({"batches": [], "passes": 2}, "there are no rows"),
        ({"classes": None}, "classes must be given"),
        ({"changed_files": "yes"}, "changed_files"),
        ({"progress": "yes"}, "'progress' parameter must be one of"),
    ],
)
def test_errors(options, message):
    with pytest.raises(ValueError, match=message):
        fit_stream(NAGClassifier(), **{"batches": Cuttable(10), "classes": [0, 1], **options})


def test_the_bar_shows_rows_and_loss(capsys):
    pytest.importorskip("tqdm")
    fit_stream(NAGClassifier(), Cuttable(1000), classes=[0, 1], progress=True)
    shown = capsys.readouterr().err
    assert "2.00k" in shown
    assert "progressive loss 0." in shown
    fit_stream(NAGClassifier(), Cuttable(1000), classes=[0, 1])  # stderr is no terminal
    assert capsys.readouterr().err == ""


@pytest.fixture
def no_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)


def test_the_bar_shows_each_row_once_where_a_run_goes_on(tmp_path, monkeypatch):
    """A resumed run also shows rows learnt before. If files have changed, some share a batch with the next row."""
    shown = []

    class Bar:
        def show(self, n_rows, loss):
            shown.append(n_rows)

        def close(self):
            pass

    monkeypatch.setattr("sklearn_nag.streams._fit.progress_bar", lambda progress, total: Bar())
    options = {"classes": [0, 1], "checkpoint": tmp_path / "run", "checkpoint_every": 100, "changed_files": True}
    with pytest.raises(OSError, match="the disk is gone"):
        fit_stream(NAGClassifier(), Cuttable(100, 100, 100, fails_after=3), **options)
    assert shown == [100, 100, 100]
    shown.clear()
    bad = np.where(np.arange(2000)[:, None] == 400, np.nan, X)
    with pytest.raises(ValueError, match="NaN") as failed:
        fit_stream(NAGClassifier(), Cuttable(250, 250, rows=bad), **options)
    assert failed.value.__notes__ == ["This concerns a batch of 200 rows after the first 300."]
    shown.clear()
    fit_stream(NAGClassifier(), Cuttable(250, 250), **options)
    assert shown == [250, 50, 200, 1500]
    of_all = []
    monkeypatch.setattr("sklearn_nag.streams._fit.progress_bar", lambda progress, total: of_all.append(total) or Bar())
    fit_stream(NAGClassifier(), Batches(Cuttable(250).__iter__, 2000, True), classes=[0, 1], passes=2)
    assert of_all == [4000]


def test_without_tqdm_rich_shows_the_same(no_tqdm, capsys):
    pytest.importorskip("rich")
    fit_stream(NAGClassifier(), Cuttable(1000), classes=[0, 1], progress=True)
    shown = " ".join(capsys.readouterr().err.split())
    assert "2,000 rows" in shown
    assert "rows/s progressive loss 0." in shown


class FakeProgress:
    """The parts of `rich.progress.Progress` that are used; ``last`` is the latest instance."""

    def __init__(self, *parts, console):
        assert console.stderr
        self.tasks, self.running = [], False
        FakeProgress.last = self

    def add_task(self, description, total, **fields):
        self.tasks.append(types.SimpleNamespace(completed=0, elapsed=None, total=total, fields=fields))
        return 0

    def start(self):
        self.running = True

    def update(self, task, advance=0, **fields):
        self.tasks[task].completed += advance
        self.tasks[task].elapsed = 0.5
        self.tasks[task].fields |= fields

    def stop(self):
        self.running = False


@pytest.mark.parametrize("progress", [True, "auto"])
def test_what_rich_is_told(progress, no_tqdm, monkeypatch):
    columns = dict.fromkeys(["BarColumn", "TextColumn", "TimeElapsedColumn"], lambda *text: None)
    monkeypatch.setitem(sys.modules, "rich", types.ModuleType("rich"))
    monkeypatch.setitem(sys.modules, "rich.console", types.SimpleNamespace(Console=types.SimpleNamespace))
    monkeypatch.setitem(sys.modules, "rich.progress", types.SimpleNamespace(Progress=FakeProgress, **columns))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    model = fit_stream(NAGClassifier(), Cuttable(1000), classes=[0, 1], progress=progress)
    bar, (task,) = FakeProgress.last, FakeProgress.last.tasks
    assert (task.completed, task.total, bar.running) == (2000, None, False)
    assert task.fields == {"speed": "4,000 rows/s", "loss": f"progressive loss {model.progressive_loss_:.6g}"}


def test_without_tqdm_and_rich(no_tqdm, monkeypatch):
    for name in ("rich", "rich.console", "rich.progress"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert fit_stream(NAGClassifier(), Cuttable(1000), classes=[0, 1]).t_ == 2000
    with pytest.raises(ImportError, match="progress=True needs tqdm or rich, and neither is installed"):
        fit_stream(NAGClassifier(), Cuttable(1000), classes=[0, 1], progress=True)


def test_prepared_tables_go_on_from_a_checkpoint_with_the_same_bits(tmp_path, rng):
    pd = pytest.importorskip("pandas")
    parquet = pytest.importorskip("pyarrow.parquet", exc_type=ImportError)
    pyarrow = pytest.importorskip("pyarrow", exc_type=ImportError)
    n = len(Y)
    frame = pd.DataFrame({
        "age": np.where(rng.random(n) < 0.1, np.nan, X[:, 1]),
        "paid": rng.choice([True, False, None], n),
        "town": rng.choice(["Rome", "Oslo", "Lima", None], n),
        "seen": np.datetime64("2024-01-01T10", "s") + rng.integers(0, 10**7, n),
        "note": [" ".join(rng.choice(["good", "bad", "one", "film"], 5)) for _ in range(n)],
        "y": Y,
    })  # fmt: skip
    frame.loc[:600, "town"] = None
    path = tmp_path / "rows.parquet"
    parquet.write_table(pyarrow.Table.from_pandas(frame), path)
    options = {"target": "y", "transformer": FunctionTransformer(), "batch_size": 170}
    new = prepare(frame.drop(columns="y"), NAGClassifier())
    expected = fit_stream(new, read_batches(path, **options), classes=[0, 1])
    assert expected[-1].t_ == n
    assert expected.score(frame.drop(columns="y"), Y) > 0.6

    read = read_batches(path, **options)
    failing = Batches(lambda: itertools.chain(itertools.islice(read, 5), broken()), read.n_rows, True, read.settings)
    with pytest.raises(OSError, match="the disk is gone"):
        fit_stream(new, failing, classes=[0, 1], checkpoint=tmp_path / "run", checkpoint_every=340)
    resumed = fit_stream(new, read_batches(path, **options), classes=[0, 1], checkpoint=tmp_path / "run")
    larger = fit_stream(new, read_batches(path, **{**options, "batch_size": 999}), classes=[0, 1])
    for model in (resumed, larger):
        rows = frame.drop(columns="y")
        assert model.decision_function(rows).tobytes() == expected.decision_function(rows).tobytes()


class Seen(Centred):
    """Notes in which thread and by which settings it learns, and the number of rows."""

    calls: list = []

    def _learn_rows(self, state, rows, transform):
        here = threading.current_thread() is threading.main_thread()
        self.calls.append((here, sklearn_nag.get_config()["kernel"], sklearn.get_config()["assume_finite"], len(rows)))
        if len(rows) == 77:
            raise ValueError("77 rows")
        return super()._learn_rows(state, rows, transform)


def of_a_file(*sizes, **options):
    """Return batches that stay as they are while others are read, like those of files."""
    return Batches(Cuttable(*sizes, **options).__iter__, None, True, lasting=True)


def test_a_batch_is_prepared_while_the_one_before_is_learnt(monkeypatch):
    monkeypatch.setattr(Seen, "calls", [])
    sizes = 300, 300, 20, 300, 300
    new = make_pipeline(Seen(), NAGClassifier())
    with sklearn_nag.config_context(kernel="numpy"), sklearn.config_context(assume_finite=True):
        model = fit_stream(new, of_a_file(*sizes), classes=[0, 1], passes=2)
        of_one = [(True, "numpy", True, 300), (False, "numpy", True, 300), (True, "numpy", True, 20)]
        of_one += [(False, "numpy", True, n) for n in (300, 300, 780)]
        assert Seen.calls == [*of_one, (False, *of_one[0][1:]), *of_one[1:]]
        Seen.calls.clear()
        other = fit_stream(new, Cuttable(*sizes), classes=[0, 1], passes=2)
        assert {here for here, *_ in Seen.calls} == {True}
    assert model[-1].decision_function(X).tobytes() == other[-1].decision_function(X).tobytes()
    assert model[0]._state.sums.tobytes() == other[0]._state.sums.tobytes()


@pytest.mark.parametrize("fails_after", [1, 2, 3, 4, 5])
def test_what_was_prepared_ahead_is_in_no_checkpoint(tmp_path, fails_after):
    sizes = (300,) * 5
    new = make_pipeline(Centred(), NAGClassifier())
    expected = fit_stream(new, of_a_file(*sizes), classes=[0, 1])
    options = {"classes": [0, 1], "checkpoint": tmp_path / "run", "checkpoint_every": 600}
    with pytest.raises(OSError, match="the disk is gone"):
        fit_stream(new, of_a_file(*sizes, fails_after=fails_after), **options)
    assert (tmp_path / "run").exists() == (fails_after >= 2)
    resumed = fit_stream(new, of_a_file(*sizes), **options)
    assert resumed[-1].decision_function(X).tobytes() == expected[-1].decision_function(X).tobytes()
    assert resumed[0]._state.sums.tobytes() == expected[0]._state.sums.tobytes()


def test_errors_come_in_the_order_of_the_batches():
    new = make_pipeline(Seen(), NAGClassifier())
    with pytest.raises(ValueError, match="77 rows") as raised:
        fit_stream(new, of_a_file(300, 300, 77, fails_after=3), classes=[0, 1])
    assert raised.value.__notes__ == ["This concerns a batch of 77 rows after the first 600."]
    labels = np.where(np.arange(len(Y)) < 300, Y, 5)  # the first wrong label is in the second batch
    new = make_pipeline(Centred(), NAGClassifier())
    with pytest.raises(ValueError, match="5") as raised:
        fit_stream(new, of_a_file(300, 300, 300, y=labels), classes=[0, 1])
    assert raised.value.__notes__ == ["This concerns a batch of 300 rows after the first 300."]
    with pytest.raises(ValueError, match="5") as raised:
        fit_stream(new, of_a_file(300, 300, y=labels, fails_after=2), classes=[0, 1])
    with pytest.raises(OSError, match="the disk is gone"):
        fit_stream(new, of_a_file(300, 300, fails_after=2), classes=[0, 1])


def broken():
    raise OSError("the disk is gone")
    yield


@pytest.mark.usefixtures("in_numpy")
@pytest.mark.parametrize("lasting", [False, True])
def test_learners_are_told_which_columns_hold_numbers(lasting, monkeypatch):
    pd = pytest.importorskip("pandas")
    monkeypatch.setattr("sklearn_nag.streams._fit._WORTH_A_THREAD", 1)
    frame = pd.DataFrame({"x": X[:60, 0], "word": np.where(X[:60, 1] > 0, "a", "b")})
    learner = NAGCellsRegressor(n_trees=2, depth=2, first_rows=20, focus_rows=None, random_state=0)
    new = prepare(frame, learner)
    parts = [(frame[i : i + 30], X[i : i + 30, 3]) for i in (0, 30)]
    model = fit_stream(new, Batches(lambda: iter(parts), None, True, lasting=lasting))
    np.testing.assert_array_equal(model[-1]._numeric, model[:-1].numeric_outputs_)
    expected = clone(new).partial_fit(frame, X[:60, 3])
    assert model.predict(frame).tobytes() == expected.predict(frame).tobytes()


def test_tables_of_arrow_through_a_prepared_pipeline(tmp_path):
    """Arrow tables with missing values, words and dates give the models of pandas frames, however rows are cut."""
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow", exc_type=ImportError)  # pyarrow may need a newer NumPy
    n = 300
    frame = pd.DataFrame({
        "x": np.where(RNG.random(n) < 0.2, np.nan, RNG.normal(size=n)),
        "w": pd.Series(RNG.choice(["a", "b", None], n), dtype=object),
        "t": pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 10**6, n), "s"),
        "y": RNG.normal(size=n),
    })  # fmt: skip
    frame.to_parquet(tmp_path / "rows.parquet")
    models = []
    for size in (300, 70):
        batches = read_batches(tmp_path / "rows.parquet", "y", frames=True, batch_size=size)
        pipeline = batches.prepare(NAGRegressor())
        models += [fit_stream(pipeline, batches, shuffle_buffer=buffer, random_state=1) for buffer in (0, 110)]
    y = frame.pop("y")
    expected = [
        fit_stream(prepare(frame, NAGRegressor()), [(frame, y)], shuffle_buffer=buffer, random_state=1)
        for buffer in (0, 110)
    ]
    for model, other in zip(models, expected * 2):
        np.testing.assert_array_equal(bits(model[-1]), bits(other[-1]))
        assert model.predict(frame).tobytes() == other.predict(frame).tobytes()
    with pytest.raises(ValueError, match="X has no column 'w'"):
        models[0].predict(frame[["x", "t"]])
    with pytest.raises(ValueError, match="can be read only once"):
        read_batches(iter([frame]), frames=True).prepare()
