"""``python -m sklearn_nag train`` learns what `fit_stream` learns, and reports each error in one sentence."""

import bz2
import gzip
import os
import pickle
import re

import joblib
import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from sklearn_nag import FTRLRegressor, NAGClassifier, NAGRegressor
from sklearn_nag import __main__ as command
from sklearn_nag._main_job import training
from sklearn_nag.preprocessing import prepare
from sklearn_nag.streams import _csv, _read, fit_stream, read_batches

from ..estimators.helpers import bits
from ..processes import run_code

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow", exc_type=ImportError)  # pyarrow may need a newer NumPy

RNG = np.random.default_rng(0)
N = 400
FRAME = pd.DataFrame({"size": RNG.normal(size=N) * 100, "town": RNG.choice(list("abc"), N)})
FRAME["sold"] = (FRAME["size"] + 50 * RNG.normal(size=N) > 0).astype(int)
FRAME["grade"] = np.where(FRAME["sold"], "good", "bad")
FRAME["price"] = 3 * FRAME["size"] + RNG.normal(size=N)
NUMBERS = ["size", "price"]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Return a function that runs the command in a folder of its own.

    It returns what the command prints, or its exit code and its one sentence.
    """
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        try:
            command.main(["train", *arguments])
        except SystemExit as end:
            return end.code, capsys.readouterr().err
        return capsys.readouterr().out

    return call


@pytest.mark.parametrize(
    ("target", "estimator", "classes", "kind"),
    [
        ("sold", NAGClassifier(), [0.0, 1.0], "2 classes"),
        ("grade", NAGClassifier(), ["bad", "good"], "2 classes"),
        ("price", NAGRegressor(), None, "a quantity"),
    ],
)
def test_it_is_fit_stream(run, target, estimator, classes, kind):
    FRAME.to_csv("rows.csv", index=False)
    columns = ["size", "town"]
    out = run("rows.csv", "--target", target, "--columns", *columns)
    batches = read_batches("rows.csv", target, columns=columns, frames=True)
    expected = fit_stream(batches.prepare(estimator), batches, classes=classes)[-1]
    np.testing.assert_array_equal(bits(joblib.load("model.joblib")[-1]), bits(expected))
    *said, first, second, third, last = out.splitlines()
    assert said[0] == "columns, according to the first 400 rows:"
    assert said[1].startswith("  'size': numbers from")
    assert said[2] == "  'town': 3 words, a column for each"
    assert first == f"{type(estimator).__name__}, up to 101 features, {target}: {kind}"
    assert second.startswith("400 rows read in ")
    loss = expected.progressive_loss_
    name = f"half the squared error; RMSE {np.sqrt(2 * loss):.6g}" if classes is None else "log_loss"
    assert third == f"progressive loss {loss:.6g} ({name}), each row predicted before it was learnt"
    assert last == "model: model.joblib"


def test_all_options_reach_the_learner(run):
    FRAME[:150].to_parquet("part-1.parquet")
    FRAME[150:].to_parquet("part-2.parquet")
    out = run(
        "part-*.parquet", "--target", "price", "--columns", "size", "--sample-weight", "sold", "--estimator",
        "FTRLRegressor", "--set", "eta0=0.5", "loss=huber", "--passes", "2", "--shuffle-buffer", "70", "--batch-size",
        "33", "--model", "model.pkl", "--checkpoint", "kept", "--checkpoint-every", "100",
    )  # fmt: skip
    assert "over 2 passes; only in the first are the predicted rows new" in out
    batches = read_batches("part-*.parquet", "price", columns=["size"], sample_weight="sold")
    expected = fit_stream(FTRLRegressor(eta0=0.5, loss="huber"), batches, passes=2, shuffle_buffer=70)
    with open("model.pkl", "rb") as file:
        np.testing.assert_array_equal(bits(pickle.load(file)[-1]), bits(expected))
    with open("kept", "rb") as file:
        assert pickle.load(file)[1:3] == (2 * N, True)


@pytest.mark.parametrize(("opener", "suffix"), [(open, ""), (gzip.open, ".gz"), (bz2.open, ".bz2")])
def test_svmlight(run, opener, suffix):
    with opener(f"rows.svm{suffix}", "wb") as file:
        dump_svmlight_file(FRAME[NUMBERS].to_numpy(), FRAME["sold"], file, zero_based=False)
    run(f"rows.svm{suffix}", "--n-features", "2", "--one-based", "--model", "model.joblib")
    batches = read_batches(f"rows.svm{suffix}", n_features=2, zero_based=False)
    np.testing.assert_array_equal(
        bits(joblib.load("model.joblib")), bits(fit_stream(NAGClassifier(), batches, classes=[0, 1]))
    )


def test_skops(run):
    io = pytest.importorskip("skops.io")
    from sklearn_nag.io import trusted_types

    FRAME.to_csv("rows.csv", index=False)
    run("rows.csv", "--target", "sold", "--columns", "size", "--model", "model.skops")
    model = io.load("model.skops", trusted=trusted_types())
    expected = fit_stream(NAGClassifier(), read_batches("rows.csv", "sold", columns=["size"]), classes=[0, 1])
    np.testing.assert_array_equal(bits(model[-1]), bits(expected))


@pytest.mark.parametrize(
    ("targets", "surely", "expected"),
    [
        ([[1.0, 0.0, 1.0, 0.0], [2.0, 1.0]], False, [0, 1, 2]),
        ([[1.0, 0.0, 1.0, 0.0], [2.5, 1.0]], False, None),
        ([np.arange(60) % 21], False, None),
        ([np.arange(60) % 21], True, range(21)),
        ([[1e31, 1e32] * 4], False, None),
        ([[1.0, 2.0, 3.0]], False, None),  # as many values as rows
        ([["b", "a"], ["c"]], False, ["a", "b", "c"]),
        ([[True, False]], False, [False, True]),
    ],
)
def test_what_classes_are(targets, surely, expected):
    found = training.find_classes(map(np.array, targets), "y", surely)
    assert found is None if expected is None else list(found) == list(expected)


@pytest.mark.parametrize("form", ["${:,.2f}", "{:.0f},5", "{:.0f} %"])
def test_a_quantity_in_words_is_not_taken_for_classes(form):
    words = np.array([form.format(1000.0 + i) for i in range(25)])
    with pytest.raises(ValueError, match=r"y holds words that are numbers, such as '.*1.?024.*NAGClassifier"):
        training.find_classes([np.append(words[:10], "?"), words[10:]], "y", surely=False)
    assert len(training.find_classes([words], "y", surely=True)) == 25
    codes = np.array([f"{i:05d}" for i in range(25)])
    assert len(training.find_classes([codes], "y", surely=False)) == 25
    assert len(training.find_classes([words[:20]], "y", surely=False)) == 20


def test_a_quantity_is_known_by_its_first_rows():
    def targets():
        yield np.array([0.5, 1.0])
        raise AssertionError("read on")

    assert training.find_classes(targets(), "y", surely=False) is None


def test_classes_given_save_a_pass(run, monkeypatch):
    FRAME.to_csv("rows.csv", index=False)
    monkeypatch.setattr(training, "find_classes", None)
    run("rows.csv", "--target", "sold", "--columns", "size", "--classes", "0", "1", "2")
    np.testing.assert_array_equal(joblib.load("model.joblib").classes_, [0.0, 1.0, 2.0])
    run("rows.csv", "--target", "grade", "--columns", "size", "--classes", "good", "bad")
    np.testing.assert_array_equal(joblib.load("model.joblib").classes_, ["bad", "good"])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("first", [[], ["1", "7"] * 60], ids=["first", "late"])
@pytest.mark.parametrize(
    ("options", "codes"),
    [
        ([], ["007", "01", "1", "7"]),
        ([], ["01", "1"]),
        (["--estimator", "FTRLClassifier"], ["007", "01", "1", "7"]),
        (["--classes", "01", "1", "007", "7"], ["007", "01", "1", "7"]),
        (["--as", "y=words"], ["007", "01", "1", "7"]),
    ],
)
def test_digits_with_leading_zeros_are_classes_as_they_are_written(run, monkeypatch, options, codes, first):
    monkeypatch.setattr(training, "ROWS_SHOWN", 20)
    y = [*first, *codes * 5]
    pd.DataFrame({"x": np.sin(range(len(y))), "y": y}).to_csv("rows.csv", index=False)
    run("rows.csv", "--target", "y", "--batch-size", "10", *options)
    assert set(joblib.load("model.joblib").classes_) == {*first, *codes}


def test_what_the_target_is_can_be_said(run):
    pd.DataFrame({"x": np.sin(range(90)), "y": ["0.50", "01.5", "1"] * 30}).to_csv("rows.csv", index=False)
    assert "y: a quantity" in run("rows.csv", "--target", "y")
    run("rows.csv", "--target", "y", "--as", "y=words")
    assert joblib.load("model.joblib").classes_.tolist() == ["0.50", "01.5", "1"]
    pd.DataFrame({"x": np.sin(range(90)), "y": ["01", "1", "7"] * 30}).to_csv("rows.csv", index=False)
    for options in (["--as", "y=numbers"], ["--estimator", "NAGRegressor"]):
        assert "NAGRegressor, up to 1 features, y: a quantity" in run("rows.csv", "--target", "y", *options)
    code, said = run("rows.csv", "--target", "y", "--as", "y=dates")
    assert code == 2
    assert "--as y=dates: the target must be numbers or words" in said


def test_killed_and_started_again(run, tmp_path):
    """A run that was killed at a checkpoint resumes from it, to the same bits. A run that has ended says so."""
    FRAME.to_csv("rows.csv", index=False)
    options = ["rows.csv", "--target", "sold", "--columns", "size", "--passes", "3", "--batch-size", "50"]
    run(*options, "--model", "undisturbed.joblib")
    options += ["--checkpoint", "kept", "--checkpoint-every", "100"]
    # One process does the imports, and forks one run after another. Each run resumes, and is killed at some row.
    script = (
        "import os, pickle, signal, sys; from sklearn_nag import __main__ as command\n"
        "from sklearn_nag.streams import _fit\n"
        "save = _fit._save\n"
        "def last(path, checkpoint):\n"
        "    save(path, checkpoint)\n"
        "    if checkpoint.n_rows == rows:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "_fit._save = last\n"
        "for rows in 300, 900:\n"
        "    process = os.fork()\n"
        "    if process == 0:\n"
        "        command.main(sys.argv[1:])\n"
        "        os._exit(0)\n"
        "    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == -signal.SIGKILL\n"
        "    with open('kept', 'rb') as file:\n"
        "        assert pickle.load(file)[1] == rows\n"
        "    assert not os.path.exists('model.joblib')\n"
    )
    run_code(script, "train", *options)
    run(*options)
    np.testing.assert_array_equal(bits(joblib.load("model.joblib")[-1]), bits(joblib.load("undisturbed.joblib")[-1]))
    assert "nothing was left to learn: kept is from a completed run" in run(*options)


def test_prepared_columns(run):
    rng = np.random.default_rng(1)
    frame = FRAME[["size", "town"]].assign(
        number=np.arange(N),
        income=[f"${x:,.2f}" if x > 1000 else "?" for x in rng.exponential(5000.0, N)],
        seen=[f"{day:02}.02.2024" for day in rng.integers(1, 29, N)],
        sold=FRAME["sold"],
    )
    frame.loc[::7, "size"] = np.nan
    frame.to_csv("rows.csv", index=False)
    arguments = [
        "rows.csv",
        "--target",
        "sold",
        "--as",
        "town=words",
        "--drop",
        "seen",
        "--set",
        "eta0=0.3",
    ]
    said = run(*arguments, "--batch-size", "50")
    assert "columns, according to the first 400 rows:" in said
    assert "'number': left out: whole numbers that name rows" in said
    assert "'income': numbers as '$" in said
    assert "'seen': left out, as asked" in said
    assert "2 classes" in said
    model = joblib.load("model.joblib")
    X = frame.drop(columns="sold")
    expected = prepare(X, NAGClassifier(eta0=0.3), drop=["seen"]).partial_fit(X, frame["sold"], classes=[0, 1])
    assert model.decision_function(X).tobytes() == expected.decision_function(X).tobytes()

    frame.drop(columns="income").assign(new=1.0).to_csv("later.csv", index=False)
    later = [arguments[0], "later.csv", *arguments[1:]]
    assert "later.csv has no column 'income'" in run(*later)[1]
    assert f"{2 * N} rows read" in run(*later, "--fill", "--model", "both.joblib")
    run(*arguments, "--checkpoint", "run.ckpt", "--model", "again.joblib", "--checkpoint-every", "100")
    assert joblib.load("again.joblib").decision_function(X).tobytes() == expected.decision_function(X).tobytes()
    assert "nothing was left to learn" in run(*arguments, "--checkpoint", "run.ckpt")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--as", "town=colour"], "--as town=colour: it must be NAME=KIND, where KIND is one of numbers, words, "),
        (["--as", "town"], "--as town: it must be NAME=KIND"),
        (["--as", "town=words", "town=drop"], "--as town=drop: 'town' is words, as said before"),
        (["--as", "place=words"], "--as has 'place', which is not a column"),
        (["--drop", "place"], "--drop has 'place', which is not a column"),
        (["--drop", "size", "--sample-weight", "size"], "which is not a column to learn from; these are ['town']"),
        (["--as", "town=dates"], "column 'town' cannot be read as dates: it holds other words"),
    ],
)
def test_columns_that_cannot_be_prepared(run, arguments, message):
    FRAME[["town", "size", "sold"]].to_csv("rows.csv", index=False)
    code, said = run("rows.csv", "--target", "sold", *arguments)
    assert code == 2
    assert message in said


def test_sentences_name_options(run):
    FRAME.assign(customer_id=range(N)).to_csv("rows.csv", index=False)
    said = run("rows.csv", "--target", "sold")
    assert "'customer_id': left out: whole numbers that name rows (--as customer_id=numbers keeps them)\n" in said
    FRAME.rename(columns={"town": "place"}).to_csv("others.csv", index=False)
    code, err = run("rows.csv", "others.csv", "--target", "sold", "--drop", "customer_id", "--columns", "size", "town")
    assert code == 2
    assert "others.csv has no column 'town'" in err


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_rows_without_a_target_are_left_out(run, suffix):
    rows = FRAME[["size", "town", "grade"]].copy()
    rows.loc[::5, "grade"] = None
    rows.to_csv("rows.csv", index=False) if suffix == "csv" else rows.to_parquet("rows.parquet")
    said = run(f"rows.{suffix}", "--target", "grade", "--batch-size", "64")
    assert "320 rows read" in said
    assert "\n80 rows without 'grade' left out\n" in said
    rows.dropna().to_csv("whole.csv", index=False)
    assert "left out" not in run("whole.csv", "--target", "grade", "--model", "whole.joblib")
    learnt, expected = (joblib.load(f"{name}.joblib")[-1] for name in ("model", "whole"))
    np.testing.assert_array_equal(bits(learnt), bits(expected))


def test_what_comes_late_in_a_file(run, monkeypatch):
    monkeypatch.setattr(_csv, "_SAMPLE", 2**10)
    monkeypatch.setattr(_csv, "_BLOCK", 2**10)
    monkeypatch.setattr(_read, "_BYTES_SHOWN", 1)  # only the first batch is shown
    rows = FRAME[["size", "town", "sold"]].astype({"size": object})
    rows.loc[300, "size"] = "?"
    rows.to_csv("rows.csv", index=False)
    assert "400 rows read" in run("rows.csv", "--target", "sold")
    assert joblib.load("model.joblib")[0].transform(rows[300:301].assign(size=np.nan)).shape[0] == 1
    rows.loc[350, "size"] = "unknown"
    rows.to_csv("rows.csv", index=False)
    code, err = run("rows.csv", "--target", "sold")
    assert code == 2
    assert "column 'size' holds words in this table, and held numbers in the first one: 'unknown'; with --fill" in err
    said = run("rows.csv", "--target", "sold", "--fill")
    assert "note: column 'size' holds words in this table, and held numbers in the first one; what cannot be" in said
    assert joblib.load("model.joblib")[0].mismatch == "fill"


@pytest.mark.parametrize("is_shown", [False, True])
@pytest.mark.parametrize("infinite", ["inf", "-1e400"])
def test_infinite_numbers_are_filled_wherever_blocks_end(run, monkeypatch, infinite, is_shown):
    """Infinite numbers are filled, whether or not the first rows, which decide what columns hold, include the word."""
    monkeypatch.setattr(_read, "_BYTES_SHOWN", 2**26 if is_shown else 1)
    rows = FRAME[["size", "sold"]].astype({"size": object})
    rows.loc[300, "size"] = "unknown"
    rows.loc[[50, 301, 390], "size"] = infinite
    rows.to_csv("rows.csv", index=False)
    learnt = []
    for size in (2**8, 2**10, 2**22):
        monkeypatch.setattr(_csv, "_SAMPLE", 2**9)
        monkeypatch.setattr(_csv, "_BLOCK", size)
        said = run("rows.csv", "--target", "sold", "--fill")
        assert is_shown or "note: column 'size' holds words in this table" in said
        assert is_shown or "note: X contains infinity in column 'size'; it is taken as missing\n" in said
        learnt.append(bits(joblib.load("model.joblib")[-1]))
    for one in learnt[1:]:
        np.testing.assert_array_equal(one, learnt[0])


def test_a_checkpoint_of_other_columns(run):
    FRAME.to_csv("rows.csv", index=False)
    options = ["rows.csv", "--target", "sold", "--checkpoint", "kept", "--columns"]
    run(*options, "size")
    code, err = run(*options, "price")
    assert code == 2
    assert "kept is the checkpoint of another run: its setting 'columns' was ['size']; now it is ['price']." in err


def test_a_file_that_was_mended(run):
    rows = FRAME[["size", "sold"]].astype(str)
    options = ["rows.csv", "--target", "sold", "--classes", "0", "1", "--batch-size", "50"]
    options += ["--checkpoint", "kept", "--checkpoint-every", "100"]
    rows.to_csv("rows.csv", index=False)
    run(*options[:-4], "--model", "undisturbed.joblib")
    rows.assign(size=rows["size"].where(rows.index != 333, "inf")).to_csv("rows.csv", index=False)
    assert "infinity" in run(*options)[1]
    rows.to_csv("rows.csv", index=False)
    assert "--changed-files resumes" in run(*options)[1]
    assert "model.joblib" in run(*options, "--changed-files")
    np.testing.assert_array_equal(bits(joblib.load("model.joblib")[-1]), bits(joblib.load("undisturbed.joblib")[-1]))


UGLY = {
    "junk.csv": bytes(range(256)) * 20,
    "junk.parquet": b"no parquet",
    "cut.csv.gz": gzip.compress(FRAME.to_csv().encode())[:3000],
    "cut.svm.bz2": bz2.compress(b"1 0:1\n" * 99)[:-9],
    "bad.svm": b"1 0:1\n0 x:2\n",
    "empty.csv": b"",
    "header.csv": b"a,y\n",
    "infinite.csv": b"a,y\n1,0\n1,1\n3,1\ninf,0\n",
    "twice.csv": b"a,a,y\n1,2,0\n3,4,1\n5,5,0\n6,6,1\n",
    "latin.csv": "straße,y\n1,0\n2,1\n".encode("latin-1"),
    "same.csv": b"a,y\n1,0\n2,0\n",
    "endless.csv": b"a,y\n1,0.5\n2,\n3,inf\n4,1\n",
    "words.csv": b"a,y\n1.5,yes\n2.5,no\n",
    "huge.csv": b"a,y\n1,1e31\n2,1e32\n" + b"3,1e32\n" * 9,
    "alone.csv": b"y\n" + b"0\n1\n" * 9,
    "blank.csv": b"a,y\n1,\n2,\n",
    "blank.svm": b"",
    "open.csv": b'a,y\n1,0\n2,"1\n' + b"3,0\n4,1\n" * 9,
    "keys.csv": b"a,y\n1,9007199254740992\n2,9007199254740993\n",
    "dates.csv": b"a,y\n1,2020-01-01\n2,2020-01-02\n",
    "times.csv": b"a,y\n1,2020-01-01 12:00:00\n2,2020-01-02 12:00:00\n",
    "long.svm": b"1 0:1\n0 0:2 #" + b"x" * 1000,
}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["junk.csv", "--target", "y"], r"junk\.csv"),
        (["junk.parquet", "--target", "y"], r"junk\.parquet cannot be read: .*not a parquet file"),
        (["cut.csv.gz", "--target", "y"], r"cut\.csv\.gz cannot be read"),
        (["cut.svm.bz2", "--n-features", "2"], r"cut\.svm\.bz2 cannot be read"),
        (["bad.svm", "--n-features", "2"], r"bad\.svm cannot be read"),
        (["bad.svm"], "give --n-features"),
        (["empty.csv", "--target", "y"], r"empty\.csv cannot be read: Empty CSV file\."),
        (["header.csv", "--target", "y"], "the target column 'y' of header.csv has no rows to learn from"),
        (["header.csv", "--target", "y", "--estimator", "NAGRegressor"], "'y' of header.csv has no rows to learn from"),
        (["blank.svm", "--n-features", "2"], "the target of blank.svm has no rows to learn from"),
        (["blank.csv", "--target", "y"], "blank.csv has no value of column 'y' in its first 4 MiB"),
        (["alone.csv", "--target", "y"], "there are no features besides the target column 'y' of alone.csv"),
        (
            ["alone.csv", "same.csv", "--target", "y"],
            "there are no features besides the target column 'y' of alone.csv and 1 more",
        ),
        (
            ["huge.csv", "--target", "y", "--estimator", "NAGClassifier"],
            r"'y' of huge.csv has 1e\+31: classes are words",
        ),
        (["alone.csv", "--target", "y", "--classes", "0.5", "1"], "--classes 0.5 1 has 0.5: classes are words"),
        (["open.csv", "--target", "y"], r"open\.csv cannot be read: its data row 2 opens a quote that is not closed"),
        (
            ["keys.csv", "--target", "y"],
            r"keys\.csv cannot be read: its data row 2 has the target 'y' 9007199254740993",
        ),
        (
            ["dates.csv", "--target", "y"],
            r"the target 'y' holds date32\[day\] in dates\.csv: targets are numbers or wo",
        ),
        (
            ["times.csv", "--target", "y"],
            r"the target 'y' holds timestamp\[s\] in times\.csv: targets are numbers or wo",
        ),
        (
            ["bytes.parquet", "--target", "y"],
            r"the target 'y' holds binary in bytes\.parquet: targets are numbers or wo",
        ),
        (
            ["lists.parquet", "--target", "y"],
            r"the target 'y' holds list<.*> in lists\.parquet: targets are numbers or",
        ),
        (
            ["lists.parquet", "--target", "y", "--estimator", "NAGRegressor"],
            r"the target 'y' holds list<.*> in lists\.parquet: targets are numbers or",
        ),
        (
            ["long.svm", "--n-features", "1", "--max-row-bytes", "500"],
            r"its line 2 has more than 500 bytes; if it is m",
        ),
        (["same.csv", "--target", "y", "--sample-weight", "y"], "sample_weight is 'y', which is target"),
        (["same.csv", "--target", "y", "--n-features", "0"], "'n_features' parameter .* 0 instead"),
        (
            ["infinite.csv", "--target", "y"],
            "contains infinity in column 'a'.* This concerns a batch of 4 rows after the first 0",
        ),
        (["twice.csv", "--target", "y"], "2 columns 'a'; names must differ"),
        (
            ["latin.csv", "--target", "y"],
            r"latin\.csv cannot be read: its header is not UTF-8: give --encoding, such as latin-1, cp",
        ),
        (
            ["endless.csv", "--target", "y"],
            r"the target 'y' is infinite in endless\.csv, data row 3: targets must be finite\.",
        ),
        (["same.csv", "--target", "y"], "nothing to learn: the target column 'y' of same.csv is 0.0 in all rows"),
        (["same.csv", "--target", "z"], "no column 'z'; its columns are 'a', 'y'"),
        (["same.csv"], "--target must name the column to predict"),
        (["words.csv"], "--target must name the column to predict"),
        (["none.csv", "--target", "y"], "there is no file 'none.csv'"),
        (
            ["words.csv", "--target", "y", "--estimator", "NAGRegressor"],
            "needs numbers as targets; the target column 'y' of words.csv holds words",
        ),
        (["words.csv", "--target", "y", "--estimator", "NAGRegressor", "--classes", "no"], "--classes is for class"),
        (["same.csv", "--target", "y", "--classes", "a", "b"], "--classes a b: the target holds numbers, not words"),
        (["words.csv", "--target", "y", "--set", "eta0"], "--set eta0: it must be NAME=VALUE"),
        (["words.csv", "--target", "y", "--set", "eta=1"], "Invalid parameter 'eta' for estimator NAGClassifier"),
        (["words.csv", "--target", "y", "--set", "eta0=-1"], "The 'eta0' parameter of NAGClassifier .* instead\\.\n"),
        (
            ["words.csv", "--target", "y", "--set", "class_weight={'a': 2}"],
            r"class_weight has a weight for .*: give weights for these classes\. This concerns a batch",
        ),
        (["words.csv", "--target", "y", "--model", "model.txt"], r"must end in \.joblib, \.pkl, \.skops"),
        (["words.csv", "--target", "y", "--model", "none/model.pkl"], r"no folder none for model\.pkl"),
        (
            ["words.csv", "--target", "y", "--model", "a.joblib", "--checkpoint", "./a.joblib"],
            r"--checkpoint a\.joblib: the model would overwrite it",
        ),
    ],
)
def test_what_goes_wrong_is_one_sentence(run, tmp_path, arguments, message):
    for name, content in UGLY.items():
        (tmp_path / name).write_bytes(content)
    numbers = {"a": [1.0, 2.0, 3.0]}
    for name, y in {"bytes": [b"a", b"b", b"a"], "lists": [[1], [2], [1]]}.items():
        pd.DataFrame({**numbers, "y": pd.Series(y, dtype=object)}).to_parquet(tmp_path / f"{name}.parquet")
    code, err = run(*arguments)
    assert code == 2
    last = err.splitlines()[-1] + "\n"
    assert last.startswith("python -m sklearn_nag train: ")
    assert re.search(message, last)
    assert not list(tmp_path.glob("*.joblib"))


def test_a_model_that_cannot_be_written_is_told_before_training(run, monkeypatch):
    FRAME.to_csv("rows.csv", index=False)
    monkeypatch.setattr(training, "fit_stream", None)
    code, err = run("rows.csv", "--target", "sold", "--model", "m" * 250 + ".joblib")
    assert code == 2
    assert "it cannot be written: File name too long: 'mmm" in err


def test_interrupted(run, monkeypatch):
    FRAME.to_csv("rows.csv", index=False)

    def interrupted(options):
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "train", interrupted)
    assert run("rows.csv", "--target", "sold") == (130, "\nInterrupted.\n")
    with open("kept", "wb"):
        pass
    code, err = run("rows.csv", "--target", "sold", "--checkpoint", "kept")
    assert (code, err) == (130, "\nInterrupted. The same command resumes from the checkpoint.\n")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_before_it_is_read(run):
    os.mkfifo("pipe.csv")
    os.mkfifo("pipe.svm")
    FRAME.to_csv("rows.csv", index=False)
    of_price = ["--target", "price", "--estimator", "NAGRegressor"]
    for options in (["pipe.csv", *of_price], ["rows.csv", "p*.csv", *of_price], ["pipe.svm", "--n-features", "2"]):
        code, err = run(*options)
        assert code == 2
        assert "train reads rows more than once, which a named pipe does not allow" in err


def test_names_that_the_output_cannot_have_are_printed_by_their_codes(run):
    FRAME.rename(columns={"size": "größe"}).to_csv("rows.csv", index=False)
    script = "import sys; sys.stdout.reconfigure(encoding='ascii')\nfrom sklearn_nag.__main__ import main; main()"
    (ended,) = run_code(script, "train", "rows.csv", "--target", "price", "--columns", "größe")
    assert r"'gr\xf6\xdfe': numbers" in ended.stdout


def test_nothing_is_said_of_columns_before_an_error(run, capsys):
    FRAME.to_csv("rows.csv", index=False)
    with pytest.raises(SystemExit):
        command.main(["train", "rows.csv", "--target", "price", "--drop", "zz"])
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("late", [False, True])
def test_a_word_among_targets_that_are_numbers_is_named(run, monkeypatch, suffix, late):
    """The word is named even if it comes after the limit of words that are counted."""
    monkeypatch.setattr(training, "MOST_WORDS", 30 if late else 1000)
    rows = pd.DataFrame({"x": np.sin(range(400)), "y": [str(10 + i * 7 % 190) for i in range(400)]})
    rows.loc[3, "y"] = None
    rows.loc[300, "y"] = "tbd"
    getattr(rows, f"to_{suffix}")(f"rows.{suffix}", index=False)
    options = [f"rows.{suffix}", "--target", "y", "--batch-size", "64"]
    where = rf"'tbd' in rows\.{suffix}, data row 301"
    code, err = run(*options)
    assert code == 2
    assert re.search(f"'y' of rows.{suffix} holds numbers, but also {where}: write a number there, or nothing to", err)
    for asked in (["--as", "y=numbers"], ["--estimator", "NAGRegressor"]):
        code, err = run(*options, *asked)
        assert code == 2
        assert re.search(rf"the target column 'y' of rows.{suffix} holds words, such as {where}\.", err)
    assert "191 classes" in run(*options, "--as", "y=words")


@pytest.mark.parametrize("form", ["${}", "{} kg"])
def test_a_word_among_amounts_is_named_in_whichever_file_it_is(run, form):
    rows = pd.DataFrame({"x": np.sin(range(400)), "y": [form.format(10 + i * 7 % 190) for i in range(400)]})
    rows.to_csv("first.csv", index=False)
    rows.assign(y=rows["y"].where(rows.index != 9, "tbd")).to_csv("later.csv", index=False)
    _, err = run("first.csv", "later.csv", "--target", "y")
    assert "and 1 more holds numbers, but also 'tbd' in later.csv, data row 10: write" in err
    _, err = run("first.csv", "--target", "y")
    assert "holds words that are numbers, such as " in err


def test_words_among_few_numbers_are_classes(run):
    rows = pd.DataFrame({"x": np.sin(range(400)), "y": ["other", *map(str, np.arange(399) % 3)]})
    rows.to_csv("rows.csv", index=False)
    assert "y: 4 classes" in run("rows.csv", "--target", "y")


def test_days_in_digits_are_no_quantity_unless_one_says_so(run):
    for n_days in (10, 400):
        days = pd.date_range("2023-01-01", periods=n_days).strftime("%Y%m%d")
        pd.DataFrame({"x": np.sin(range(n_days)), "y": days}).to_csv("rows.csv", index=False)
        code, err = run("rows.csv", "--target", "y")
        assert code == 2
        assert "'y' of rows.csv holds dates, such as 20230101: use --estimator NAGRegressor if" in err
    assert "y: a quantity" in run("rows.csv", "--target", "y", "--estimator", "NAGRegressor")
    assert "y: a quantity" in run("rows.csv", "--target", "y", "--as", "y=numbers")
