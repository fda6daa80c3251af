"""``python -m sklearn_nag predict`` writes what the model predicts, even if it was killed and started again."""

import os
import re
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_nag import NAGClassifier, NAGRegressor, config_context
from sklearn_nag import __main__ as command
from sklearn_nag._main_job import predicting
from sklearn_nag.model_selection import NAGClassifierCV, ProgressiveSearch
from sklearn_nag.preprocessing import OnlineImputer, make_online_pipeline, prepare

from ..processes import run_code

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow", exc_type=ImportError)  # pyarrow may need a newer NumPy

EXACT = {} if pd.__version__ >= "3" else {"float_precision": "round_trip"}  # how pandas is to read numbers
RNG = np.random.default_rng(0)
N = 300
FRAME = pd.DataFrame({"size": RNG.normal(size=N), "town": RNG.choice(["Rome", "Oslo", "Lima"], N)})
FRAME.loc[::7, "size"] = np.nan
SOLD = np.where(FRAME["size"].fillna(0) + (FRAME["town"] == "Rome") > 0.3, "yes", "no")
with config_context(kernel="numpy"):  # otherwise each process that collects tests would compile it
    MODEL = prepare(FRAME, NAGClassifier()).partial_fit(FRAME, SOLD, classes=["no", "yes"])
KEYS = [f"k{i}" for i in range(N)]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Return a function that runs the command in a folder of its own.

    It returns what the command prints, or its exit code and its one sentence.
    """
    monkeypatch.chdir(tmp_path)
    joblib.dump(MODEL, "model.joblib")
    FRAME.assign(key=KEYS, sold=SOLD).to_csv("rows.csv", index=False)

    def call(*arguments):
        try:
            command.main(["predict", *arguments])
        except SystemExit as end:
            return end.code, capsys.readouterr().err
        return capsys.readouterr().out

    return call


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_predictions_beside_columns_that_are_kept(run, suffix, tmp_path):
    said = run(
        "model.joblib", "rows.csv", "--out", f"out.{suffix}", "--keep", "key", "sold", "town", "--proba", "--decision",
        "--batch-size", "64", "--part", "100",
    )  # fmt: skip
    assert said == f"out.{suffix}: 300 predictions by model.joblib\n"
    assert not list(tmp_path.glob("*.parts"))
    out = pd.read_csv("out.csv", **EXACT) if suffix == "csv" else pd.read_parquet("out.parquet")
    assert list(out) == ["key", "sold", "town", "prediction", "probability_no", "probability_yes", "decision"]
    assert out["key"].tolist() == KEYS
    assert out["town"].tolist() == FRAME["town"].tolist()
    assert out["prediction"].tolist() == MODEL.predict(FRAME).tolist()
    np.testing.assert_array_equal(out.iloc[:, 4:6], MODEL.predict_proba(FRAME))
    np.testing.assert_array_equal(out["decision"], MODEL.decision_function(FRAME))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_what_is_kept_or_learnt_as_words_stands_as_in_the_file(run, suffix):
    """Words stay as in the file even if all look like numbers: keys of 21 digits, or versions (1.10 is not 1.1)."""
    versions = np.array(["1.10", "1.1", "beta"])[np.arange(N) % 3]
    sold = pd.Series(versions).map({"1.10": 5.0, "1.1": -5.0, "beta": 0.0})
    frame = FRAME.assign(version=versions)
    joblib.dump(prepare(frame, NAGRegressor()).partial_fit(frame, sold), "versions.joblib")
    keys = [f"893100000000000000{i:03d}" for i in range(N)]
    known = frame["version"] != "beta"
    frame.assign(key=keys, price="1.50")[known].to_csv("rows.csv", index=False)
    kept = ["key", "price", "version"]
    assert "predictions" in run("versions.joblib", "rows.csv", "--out", f"out.{suffix}", "--keep", *kept)
    out = pd.read_csv("out.csv", dtype=dict.fromkeys(kept, str)) if suffix == "csv" else pd.read_parquet("out.parquet")
    assert out["key"].tolist() == [key for key, is_known in zip(keys, known) if is_known]
    assert set(out["price"]) == {"1.50"}
    np.testing.assert_allclose(out["prediction"], sold[known], atol=0.5)
    assert out["version"].tolist() == frame["version"][known].tolist()


@pytest.mark.parametrize(
    ("ids", "found"),
    [
        (([0, 1], ["x", "y"]), ["0", "1", "x", "y"]),
        (([0, 1], [0.5, 1.5]), [0.0, 1.0, 0.5, 1.5]),
        (([None, None], [2**40, 1]), [None, None, 2**40, 1]),
        (([[1], [2]], [[3], [4]]), [[1], [2], [3], [4]]),
        (([b"\xff", b"a"], [b"b", b"c"]), [b"\xff", b"a", b"b", b"c"]),
    ],
)
def test_what_is_kept_may_have_several_types(run, ids, found, tmp_path):
    names = ["first.parquet", "second.parquet"]
    for name, some in zip(names, ids):
        pd.DataFrame({**FRAME.iloc[: len(some)], "id": some}).to_parquet(tmp_path / name)
    for part in ("1", "100"):
        run("model.joblib", *names, "--out", "out.parquet", "--keep", "id", "--part", part, "--batch-size", "1")
        kept = pd.read_parquet(tmp_path / "out.parquet")["id"]
        assert [None if value is None or value != value else value for value in map(plain, kept)] == found
    if isinstance(found[0], list | bytes):
        code, said = run("model.joblib", *names, "--out", "out.csv", "--keep", "id")
        assert code == 2
        assert (
            f"--keep id: it holds {'list<' if isinstance(found[0], list) else 'binary, which only .parquet can'}"
            in said
        )
        assert not list(tmp_path.glob("out.csv*"))


def plain(value):
    return value.tolist() if isinstance(value, np.ndarray) else value


def test_intervals(run):
    y = RNG.normal(size=(N, 2))
    for target, names in ((y[:, 0], ["lower", "upper"]), (y, ["lower_0", "lower_1", "upper_0", "upper_1"])):
        model = prepare(FRAME, NAGRegressor()).partial_fit(FRAME, target)
        joblib.dump(model, "numbers.joblib")
        FRAME.to_csv("rows.csv", index=False)
        run("numbers.joblib", "rows.csv", "--out", "out.parquet", "--interval", "0.8")
        out = pd.read_parquet("out.parquet")
        ends = model.predict_interval(FRAME, 0.8)
        np.testing.assert_array_equal(out[names], np.moveaxis(ends, -1, 1).reshape(N, -1))
    assert (
        "--interval: this NAGClassifier has no predict_interval"
        in run("model.joblib", "rows.csv", "--out", "out.csv", "--interval", "0.8")[1]
    )
    said = run("numbers.joblib", "rows.csv", "--out", "out.csv", "--interval", "90")[1]
    assert "--interval 90: it must be above 0 and below 1." in said


def test_models_that_do_not_know_their_columns(run):
    X, y = RNG.normal(size=(N, 3)), RNG.normal(size=(N, 2))
    joblib.dump(NAGRegressor().partial_fit(X, y), "plain.pkl")
    expected = NAGRegressor().partial_fit(X, y).predict(X[:, ::-1])
    pd.DataFrame(X, columns=list("abc")).to_parquet("abc.parquet")
    run("plain.pkl", "abc.parquet", "--out", "out.parquet", "--columns", "c", "b", "a")
    np.testing.assert_array_equal(pd.read_parquet("out.parquet")[["prediction_0", "prediction_1"]], expected)
    with open("abc.svm", "wb") as file:
        dump_svmlight_file(X[:, ::-1], y[:, 0], file)
    run("plain.pkl", "abc.svm", "--out", "out.parquet")
    np.testing.assert_allclose(pd.read_parquet("out.parquet")[["prediction_0", "prediction_1"]], expected, rtol=1e-12)


PEOPLE = pd.DataFrame({"height": RNG.normal(170, 10, N), "weight": RNG.normal(70, 10, N), "age": np.arange(N) % 90})
GRID = {"learner__eta0": [0.5, 1.0]}


@pytest.mark.parametrize(
    ("model", "takes_missing"),
    [
        (NAGClassifier(), False),
        (NAGClassifierCV(cv=2, eta0s=[1.0]), False),
        (ProgressiveSearch(NAGClassifier(), {"eta0": [0.5, 1.0]}), False),
        (LogisticRegression(), False),
        (make_pipeline(SimpleImputer(), LogisticRegression()), True),
        (make_online_pipeline(OnlineImputer(), NAGClassifier()), True),
        (GridSearchCV(prepare(PEOPLE, NAGClassifier()), GRID, cv=2), True),
        (ProgressiveSearch(prepare(PEOPLE, NAGClassifier()), GRID), True),
    ],
)
def test_models_fitted_on_frames_find_their_columns_by_name(run, model, takes_missing):
    frame = PEOPLE.copy()
    if takes_missing:
        frame.loc[::5, "weight"] = None
    joblib.dump(model.fit(frame, frame["height"] > 170), "people.joblib")
    expected = model.predict(frame)
    frame[["age", "weight", "height"]].assign(key=KEYS).to_csv("swap.csv", index=False)
    said = run("people.joblib", "swap.csv", "--out", "out.parquet", "--keep", "key", "age", "--batch-size", "70")
    assert said == "out.parquet: 300 predictions by people.joblib\n"
    out = pd.read_parquet("out.parquet")
    assert out["prediction"].tolist() == expected.tolist()
    assert out["key"].tolist() == KEYS
    assert out["age"].tolist() == frame["age"].tolist()
    frame.rename(columns={"height": "foo"}).to_csv("other.csv", index=False)
    code, err = run("people.joblib", "other.csv", "--out", "out.csv")
    assert code == 2
    assert "has no column 'height'" in err


def test_the_target_and_columns_that_were_not_chosen_may_be_in_the_file(run):
    FRAME.assign(key=KEYS, sold=SOLD, weight=1.0).to_csv("rows.csv", index=False)
    for arguments in ([], ["--columns", "town", "size"]):
        command.main(["train", "rows.csv", "--target", "sold", "--sample-weight", "weight", *arguments])
        assert run("model.joblib", "rows.csv", "--out", "out.csv").endswith("300 predictions by model.joblib\n")
        FRAME.assign(other=1.0).to_csv("new.csv", index=False)
        code, err = run("model.joblib", "new.csv", "--out", "out.csv")
        assert code == 2
        assert "with --fill this would only be a warning." in err


def test_columns_are_filled_with_a_note(run):
    FRAME[["town"]].assign(new=1.0).to_csv("other.csv", index=False)
    arguments = ["model.joblib", "other.csv", "--out", "out.csv"]
    code, err = run(*arguments)
    assert code == 2
    assert "X has no column 'size'" in err
    said = run(*arguments, "--fill", "--out", "filled.csv")
    assert "note: X has no column 'size'; its values are taken as missing\n" in said
    expected = MODEL.predict(FRAME.assign(size=np.nan))
    assert pd.read_csv("filled.csv")["prediction"].tolist() == expected.tolist()


@pytest.mark.parametrize("fill", [[], ["--fill"]])
@pytest.mark.parametrize("keys", [KEYS, RNG.permutation(N).tolist()])
def test_the_index_of_pandas_is_kept_where_it_is_asked_for(run, keys, fill):
    FRAME.set_index(pd.Index(keys, name="key")).to_parquet("rows.parquet")
    run("model.joblib", "rows.parquet", "--out", "out.csv", "--keep", "key", "town", *fill)
    out = pd.read_csv("out.csv")
    assert out["key"].tolist() == keys
    assert out["prediction"].tolist() == MODEL.predict(FRAME).tolist()


def test_classes_that_are_booleans_are_written_as_headings_have_them(run):
    with config_context(kernel="numpy"):
        model = prepare(FRAME, NAGClassifier()).partial_fit(FRAME, SOLD == "yes", classes=[False, True])
    joblib.dump(model, "model.joblib")
    FRAME.to_csv("only.csv", index=False)
    run("model.joblib", "only.csv", "--out", "out.csv", "--proba")
    written = pd.read_csv("out.csv", dtype={"prediction": str})
    assert written["prediction"].tolist() == [str(value) for value in model.predict(FRAME)]
    assert list(written.columns[1:]) == ["probability_False", "probability_True"]


@pytest.mark.parametrize("by_class", [False, True])
def test_labels_are_numbered(run, by_class):
    rows = pd.DataFrame(RNG.normal(size=(N, 2)), columns=["a", "b"])
    rows.to_csv("rows.csv", index=False)
    model = MultiOutputClassifier(NAGClassifier()) if by_class else NAGClassifier()
    joblib.dump(model.fit(rows, (rows > 0).astype(int)), "model.joblib")
    run("model.joblib", "rows.csv", "--out", "out.csv", "--proba")
    out = pd.read_csv("out.csv", **EXACT)
    labels = ["0_0", "0_1", "1_0", "1_1"] if by_class else ["0", "1"]
    assert list(out) == ["prediction_0", "prediction_1", *(f"probability_{label}" for label in labels)]
    np.testing.assert_array_equal(out.iloc[:, :2], model.predict(rows))
    np.testing.assert_array_equal(out.iloc[:, 2:], np.hstack(model.predict_proba(rows)) if by_class else
                                  model.predict_proba(rows))  # fmt: skip


def test_columns_are_filled_in_each_of_several_files(run):
    frame = FRAME.assign(cost=[f"${x:,.2f}" for x in RNG.lognormal(3, 1, N)], seen="05.02.2024")
    frame.loc[::2, "seen"] = "17.03.2024"
    with config_context(kernel="numpy"):
        joblib.dump(prepare(frame, NAGClassifier()).partial_fit(frame, SOLD, classes=["no", "yes"]), "model.joblib")
    frame.to_csv("a.csv", index=False)
    frame.drop(columns="size").assign(new=1.0).to_csv("b.csv", index=False)
    odd = frame.copy()
    odd.loc[5, ["cost", "seen"]] = "unknown", "soon"
    odd.to_csv("c.csv", index=False)
    code, err = run("model.joblib", "a.csv", "b.csv", "--out", "out.csv")
    assert code == 2
    assert "b.csv has no column 'size'" in err
    run("model.joblib", "a.csv", "b.csv", "c.csv", "--out", "out.csv", "--fill")
    model = joblib.load("model.joblib")
    model["columns"].set_params(mismatch="fill")
    expected = [model.predict(frame), model.predict(frame.assign(size=np.nan))]
    odd.loc[5, ["cost", "seen"]] = None, None
    assert pd.read_csv("out.csv")["prediction"].tolist() == np.concatenate([*expected, model.predict(odd)]).tolist()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_and_started_again(run, tmp_path):
    options = ["model.joblib", "rows.csv", "--keep", "key", "sold", "--proba", "--batch-size", "30", "--part", "60"]
    run(*options, "--out", "undisturbed.parquet")
    options += ["--out", "out.parquet"]
    # One process does the imports, and forks one run after another. Each run resumes, and is killed before some part.
    script = (
        "import os, signal, sys; from sklearn_nag import __main__ as command\n"
        "from sklearn_nag._main_job import predicting\n"
        "write = predicting.write_part\n"
        "def last(parts, number, tables):\n"
        "    if number == killed_before:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return write(parts, number, tables)\n"
        "predicting.write_part = last\n"
        "for killed_before in 1, 3:\n"
        "    process = os.fork()\n"
        "    if process == 0:\n"
        "        command.main(sys.argv[1:])\n"
        "        os._exit(0)\n"
        "    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == -signal.SIGKILL\n"
        "    assert not os.path.exists('out.parquet')\n"
    )
    run_code(script, "predict", *options)
    code, err = run(*options, "--decision")
    assert code == 2
    assert "out.parquet.parts has parts of another run: its setting 'decision'" in err
    run(*options)
    assert (tmp_path / "out.parquet").read_bytes() == (tmp_path / "undisturbed.parquet").read_bytes()


def test_stopped_as_it_removes_its_parts_and_started_again(run, tmp_path, monkeypatch):
    options = ["model.joblib", "rows.csv", "--keep", "key", "sold", "--batch-size", "10", "--part", "10"]
    options += ["--out", "out.csv"]
    unlink, removed = Path.unlink, []

    def stops(path, *args, **how):
        removed.append(path.name)
        if len(removed) == 4:
            raise KeyboardInterrupt
        return unlink(path, *args, **how)

    monkeypatch.setattr(Path, "unlink", stops)
    with pytest.raises(KeyboardInterrupt):
        predicting.predict(predicting.parse(options)[1])
    assert (tmp_path / "out.csv.parts" / removed[-1]).exists()
    monkeypatch.setattr(Path, "unlink", unlink)
    before = (tmp_path / "out.csv").read_bytes()
    run(*options)
    assert (tmp_path / "out.csv").read_bytes() == before
    assert not (tmp_path / "out.csv.parts").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.joblib", "rows.csv", "--out", "out.csv"], "there is no file none.joblib"),
        (["junk.pkl", "rows.csv", "--out", "out.csv"], "junk.pkl is not a model, or is damaged"),
        (["dict.pkl", "rows.csv", "--out", "out.csv"], "dict.pkl holds a dict, which cannot predict"),
        (["junk.skops", "rows.csv", "--out", "out.csv"], "junk.skops is not a model, or is damaged"),
        (["other.skops", "rows.csv", "--out", "out.csv"], "other.skops holds types that are not of this package: "),
        (["dict.skops", "rows.csv", "--out", "out.csv"], "dict.skops holds a dict, which cannot predict"),
        (["model.txt", "rows.csv", "--out", "out.csv"], "must end in .joblib, .pkl, .skops"),
        (["model.joblib", "rows.csv", "--out", "out.txt"], "must end in .csv or .parquet"),
        (["model.joblib", "rows.csv", "--out", "none/out.csv"], "no folder none"),
        (["model.joblib", "rows.csv", "--out", "rows.csv"], "--out rows.csv: predictions would overwrite rows"),
        (["model.joblib", "none.csv", "--out", "out.csv"], "there is no file 'none.csv'"),
        (["model.joblib", "rows.csv", "--out", "out.csv"], "'key', 'sold', which the first table did not have"),
        (["model.joblib", "rows.csv", "--out", "out.csv", "--keep", "z"], "--keep: the files have no column 'z'"),
        (["model.joblib", "rows.csv", "--out", "out.csv", "--columns", "size"], "this one does"),
        (["plain.pkl", "rows.csv", "--out", "out.csv", "--keep", "key"], "--keep is for models that know"),
        (["named.pkl", "rows.csv", "--out", "out.csv", "--columns", "size"], "this one does"),
        (["named.pkl", "rows.csv", "--out", "out.csv", "--fill"], "--fill is for models that prepare their columns"),
        (["plain.pkl", "rows.csv", "--out", "out.csv", "--fill"], "their columns, as those of train do."),
        (["named.pkl", "rows.csv", "--out", "out.csv", "--keep", "z"], "rows.csv has no column 'z'; its columns are"),
        (
            ["named.pkl", "rows.svm", "--out", "out.csv"],
            "this model finds its columns by name, and svmlight files have no names",
        ),
        (["named.pkl", "rows.csv", "--out", "out.csv"], "Input X contains NaN in row 0, column 0 ('size')"),
        (["plain.pkl", "rows.csv", "--out", "out.csv", "--proba"], "--proba: this NAGRegressor has no predict_proba"),
        (["model.joblib", "header.csv", "--out", "out.csv"], "header.csv has no rows to predict"),
        (
            ["model.joblib", "rows.svm", "--out", "out.csv"],
            "this model finds its columns by name, and svmlight files have no names",
        ),
        (
            ["model.joblib", "rows.svm", "--out", "out.csv", "--keep", "key"],
            "this model finds its columns by name, and svmlight files have no names",
        ),
        (["model.joblib", "rows.csv", "--out", "out.csv", "--part", "0"], "--part must be at least 1"),
    ],
)
def test_what_goes_wrong_is_one_sentence(run, tmp_path, arguments, message):
    skops = pytest.importorskip("skops.io") if any("skops" in name for name in arguments) else None
    for name in ("junk.pkl", "junk.skops"):
        (tmp_path / name).write_bytes(b"junk")
    (tmp_path / "header.csv").write_bytes(b"size,town\n")
    (tmp_path / "rows.svm").write_bytes(b"1 0:2\n")
    joblib.dump({}, "dict.pkl")
    if skops is not None:
        skops.dump({}, "dict.skops")
        skops.dump(make_pipeline(FunctionTransformer(np.nan_to_num), NAGRegressor()), "other.skops")
    joblib.dump(NAGRegressor().partial_fit([[1.0]], [1.0]), "plain.pkl")
    joblib.dump(NAGRegressor().partial_fit(pd.DataFrame({"size": [1.0]}), [1.0]), "named.pkl")
    code, err = run(*arguments)
    assert code == 2
    assert re.search(re.escape(message), err.splitlines()[-1])
    assert not list(tmp_path.glob("out.csv*"))


def test_an_input_is_not_overwritten_though_a_glob_names_it(run, tmp_path):
    rows = (tmp_path / "rows.csv").read_bytes()
    code, err = run("model.joblib", "ro*.csv", "--out", "rows.csv", "--fill")
    assert code == 2
    assert "predictions would overwrite rows" in err
    assert (tmp_path / "rows.csv").read_bytes() == rows


def test_what_lies_in_the_place_of_the_parts_stays_there(run, tmp_path):
    options = ["model.joblib", "rows.csv", "--keep", "key", "sold", "--out", "out.csv"]
    parts = tmp_path / "out.csv.parts"
    parts.mkdir()
    for name, content, message in [
        ("mine.txt", "mine", "out.csv.parts would be removed, but has 'mine.txt', which is not a part"),
        (
            "0.arrow",
            "of somebody else",
            "out.csv.parts is damaged, or is not a folder of parts: remove it to start again",
        ),
        ("settings.json", "[1]", "out.csv.parts is damaged"),
        ("settings.json", "{bad", "out.csv.parts is damaged"),
        ("settings.json", '{"theirs": 1}', "out.csv.parts is damaged"),
        ("3.arrow", "of somebody else", "has '3.arrow', which is not a part"),
    ]:
        (parts / name).write_text(content)
        for more in ([], ["--decision"]):
            code, err = run(*options, *more)
            assert code == 2
            assert message in err
        assert (parts / name).read_text() == content
        (parts / name).unlink()
    (parts / f".0.arrow.{'0f' * 16}").touch()  # left by a run that was killed
    assert "300 predictions" in run(*options)
    assert not parts.exists()
    parts.symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    (tmp_path / "elsewhere").mkdir()
    code, err = run(*options)
    assert code == 2
    assert "out.csv.parts is damaged, or is not a folder" in err
    parts.unlink()
    parts.touch()
    code, err = run(*options)
    assert code == 2
    assert "out.csv.parts is damaged, or is not a folder" in err
