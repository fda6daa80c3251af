"""Rows read from files and other sources, compared with the frames they were written from."""

import bz2
import datetime
import gzip
import os
import shutil
from decimal import Decimal
from itertools import permutations

import numpy as np
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.datasets import dump_svmlight_file
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import FeatureHasher
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from sklearn_nag import NAGClassifier, NAGRegressor
from sklearn_nag.model_selection import eta_sweep, progressive_validation
from sklearn_nag.preprocessing import OnlineImputer, _words
from sklearn_nag.streams import fit_stream, read_batches
from sklearn_nag.streams._sources import _numbered, join_tables

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow", exc_type=ImportError)  # pyarrow may need a newer NumPy
pl = pytest.importorskip("polars")
parquet = pytest.importorskip("pyarrow.parquet")

RNG = np.random.default_rng(0)
N = 500
FRAME = pd.DataFrame(
    {
        "a": RNG.normal(size=N),
        "b": RNG.integers(-5, 5, N),
        "flag": RNG.random(N) < 0.5,
        "weight": RNG.uniform(1, 2, N),
        "label": np.where(RNG.random(N) < 0.5, "yes", "no"),
    }
)
WORDS = FRAME.assign(colour=RNG.choice(["red", "green", "blue"], N))
X = FRAME[["a", "b", "flag"]].to_numpy(dtype=float)


def gathered(batches):
    parts = list(batches)
    rows = [sparse.csr_array(part[0]).toarray() for part in parts]
    return [np.concatenate(rows), *(np.concatenate(column) for column in list(zip(*parts))[1:])]


def parquet_file(folder):
    FRAME.to_parquet(folder / "rows.parquet", row_group_size=130)
    return folder / "rows.parquet"


def parquet_glob(folder):
    FRAME[:300].to_parquet(folder / "part-1.parquet")
    FRAME[300:].to_parquet(folder / "part-2.parquet")
    return str(folder / "part-*.parquet")


def parquet_list(folder):
    parquet_glob(folder)
    return [folder / "part-1.parquet", folder / "part-2.parquet"]


def csv_file(folder, suffix="csv", **options):
    FRAME.to_csv(folder / f"rows.{suffix}", index=False, **options)
    return folder / f"rows.{suffix}"


SOURCES = {
    "parquet": parquet_file,
    "glob": parquet_glob,
    "list": parquet_list,
    "csv": csv_file,
    "csv.gz": lambda folder: csv_file(folder, "csv.gz"),
    "csv.bz2": lambda folder: csv_file(folder, "csv.bz2"),
    "tsv": lambda folder: csv_file(folder, "tsv", sep="\t"),
    "pandas": lambda folder: FRAME,
    "polars": lambda folder: pl.from_pandas(FRAME),
    "arrow": lambda folder: pa.Table.from_pandas(FRAME),
    "reader": lambda folder: pa.Table.from_pandas(FRAME).to_reader(100),
    "lazy": lambda folder: pl.scan_parquet(parquet_file(folder)),
    "frames": lambda folder: [FRAME[:123], FRAME[123:]],
    "generator": lambda folder: (pl.from_pandas(FRAME[i : i + 50]) for i in range(0, N, 50)),
    "record batches": lambda folder: pa.Table.from_pandas(FRAME).to_batches(77),
}


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_gives_the_rows(name, tmp_path):
    source = SOURCES[name](tmp_path)
    if name == "lazy" and not hasattr(source, "collect_batches"):
        pytest.skip("this polars cannot collect in batches")
    batches = read_batches(source, "label", sample_weight="weight", batch_size=64)
    parts = list(batches)
    assert max(len(part[1]) for part in parts) <= 64
    rows, labels, weight = gathered(parts)
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(labels, FRAME["label"])
    np.testing.assert_array_equal(weight, FRAME["weight"])
    assert batches.n_rows in ((N,) if name in ("parquet", "glob", "list", "pandas", "polars") else (None, N))
    if batches.repeatable:
        np.testing.assert_array_equal(gathered(batches)[0], X)
    assert batches.repeatable == (name not in ("reader", "generator"))
    assert batches.lasting == (
        name in ("parquet", "glob", "list", "csv", "csv.gz", "csv.bz2", "tsv")
    )  # others may reuse memory


def test_columns_are_taken_in_the_order_given(tmp_path):
    for source in (parquet_file(tmp_path), csv_file(tmp_path), FRAME):
        rows, target = gathered(read_batches(source, ["b", "a"], columns=["flag", "weight"]))
        np.testing.assert_array_equal(rows, FRAME[["flag", "weight"]].to_numpy(dtype=float))
        np.testing.assert_array_equal(target, FRAME[["b", "a"]])


def test_globs_look_into_folders_and_are_in_order(tmp_path):
    for number, folder in enumerate(("c", "b/d", "b", "")):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "rows.csv").write_text(f"x,y\n{number},0\n")
    rows, _ = gathered(read_batches(str(tmp_path / "**" / "rows.csv"), "y"))
    assert rows.ravel().tolist() == [1.0, 2.0, 0.0, 3.0]  # sorted by path: b/d, b, c and rows.csv


@pytest.mark.parametrize("suffix", ["svm", "svm.gz", "svm.bz2"])
def test_svmlight(suffix, tmp_path, monkeypatch):
    monkeypatch.setattr("sklearn_nag.streams._read._SVMLIGHT_BLOCK", 1000)
    rows = sparse.random(N, 30, 0.2, "csr", random_state=0)
    path = tmp_path / "rows.svm"
    dump_svmlight_file(rows, FRAME["b"], str(path), zero_based=False)
    for opener, end in ((gzip.open, ".gz"), (bz2.open, ".bz2")):
        with open(path, "rb") as plain, opener(f"{path}{end}", "wb") as packed:
            shutil.copyfileobj(plain, packed)
    batches = list(read_batches(tmp_path / f"rows.{suffix}", n_features=30, zero_based=False, batch_size=7))
    assert len(batches) > N / 7
    got, target = gathered(batches)
    np.testing.assert_allclose(got, rows.toarray(), rtol=1e-12)
    np.testing.assert_array_equal(target, FRAME["b"])


def test_targets_that_are_missing_in_svmlight(tmp_path, monkeypatch):
    monkeypatch.setattr("sklearn_nag.streams._read._SVMLIGHT_BLOCK", 16)
    path = tmp_path / "rows.svm"
    path.write_text("1 0:1\n2 0:2\nnan 0:3\n4 0:4\nnan 0:5\n")
    rows, targets = gathered(read_batches(path, n_features=1))  # rows to be predicted
    assert len(rows) == 5
    np.testing.assert_array_equal(targets, [1, 2, np.nan, 4, np.nan])
    with pytest.raises(ValueError, match="y contains NaN"):
        fit_stream(NAGRegressor(), read_batches(path, n_features=1))
    batches = read_batches(path, n_features=1, missing_target="drop")
    for _ in range(2):
        rows, targets = gathered(batches)
        assert (rows.ravel().tolist(), targets.tolist(), batches.n_left_out) == ([1, 2, 4], [1, 2, 4], 2)


def test_features_of_svmlight_are_counted_from_where_that_is_said(tmp_path):
    """A file that has a feature 0 cannot be one-based; a file that lacks it may still be zero-based."""
    (tmp_path / "rows.svm").write_text("1 0:1 2:3\n")
    with pytest.raises(ValueError, match="its line 1: Invalid index 0"):
        list(read_batches(tmp_path / "rows.svm", n_features=3, zero_based=False))
    (tmp_path / "rows.svm").write_text("1 1:1 2:3\n")
    rows, _ = gathered(read_batches(tmp_path / "rows.svm", n_features=3))
    assert rows.tolist() == [[0.0, 1.0, 3.0]]


@pytest.mark.parametrize("make", [lambda f: f, lambda f: f.astype({"colour": "category"}), pl.from_pandas])
def test_words_are_hashed(make):
    """In all batches, equal words share a column, and different words do not; numbers come first."""
    rows, _ = gathered(read_batches(make(WORDS), "label", columns=["colour", "a"], batch_size=60, n_hashed=1024))
    np.testing.assert_array_equal(rows[:, 0], WORDS["a"])
    hashed, words = rows[:, 1:], WORDS["colour"].to_numpy()
    np.testing.assert_array_equal(hashed.sum(axis=1), 1.0)
    place = hashed.argmax(axis=1)
    assert {(word, column) for word, column in zip(words, place)} == {
        (word, place[list(words).index(word)]) for word in set(words)
    }
    assert len(set(place)) == 3


def test_a_missing_word_is_a_word_of_its_own(tmp_path):
    """A missing word is the same from every source, and differs from the word "None" as well."""
    frame = pd.DataFrame({"word": ["x", None, "x", None, "None"], "y": [0, 1, 0, 1, 1]})
    (tmp_path / "rows.csv").write_text("word,y\nx,0\n,1\nx,0\nNA,1\nNone,1\n")
    (tmp_path / "quoted.csv").write_text('word,y\n"x",0\n"",1\n"x",0\n"NaN",1\n"None",1\n')
    in_dictionary = pa.DictionaryArray.from_arrays([0, 1, 0, 1, 2], pa.array(["x", None, "None"]))
    frame.to_parquet(tmp_path / "rows.parquet")
    rows, _ = gathered(read_batches(frame, "y", n_hashed=64))
    assert (rows[0] == rows[2]).all()
    assert (rows[1] == rows[3]).all()
    assert (rows[0] != rows[1]).any()
    assert (rows[4] != rows[1]).any()
    others = (*(tmp_path / name for name in ("rows.csv", "quoted.csv", "rows.parquet")),
              pa.table({"word": in_dictionary, "y": frame["y"]}))  # fmt: skip
    for source in others:
        np.testing.assert_array_equal(gathered(read_batches(source, "y", n_hashed=64))[0], rows)
        with pytest.raises(ValueError, match="the target 'word' has missing values"):
            list(read_batches(source, "word"))


def test_newlines_in_words_of_csv(tmp_path, monkeypatch):
    monkeypatch.setattr("sklearn_nag.streams._csv._BLOCK", 100)
    frame = pd.DataFrame({"a": np.arange(200.0), "word": ["one\ntwo\nthree", "one, two"] * 100, "y": [0, 1] * 100})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    rows, y = gathered(read_batches(tmp_path / "rows.csv", "y", n_hashed=64))
    np.testing.assert_array_equal(rows, gathered(read_batches(frame, "y", n_hashed=64))[0])
    np.testing.assert_array_equal(y, frame["y"])


def test_no_more_of_a_csv_file_is_kept_than_its_next_blocks(tmp_path):
    """The 16 MiB of text that are read ahead to inspect a file are released."""
    line = ",".join(["0.125"] * 100) + "\n"
    header = ",".join(f"a{i}" for i in range(100)) + "\n"
    (tmp_path / "rows.csv").write_text(header + line * 80_000)
    before = pa.total_allocated_bytes()
    kept = [pa.total_allocated_bytes() - before for _ in read_batches(tmp_path / "rows.csv", "a0")]
    assert len(kept) > 20
    assert kept[-1] < 30e6


def test_a_csv_column_that_is_empty_at_first(tmp_path, monkeypatch):
    monkeypatch.setattr("sklearn_nag.streams._csv._SAMPLE", 100)
    path = tmp_path / "rows.csv"
    path.write_text("a,b,y\n" + "1,,0\n" * 50 + "1,5,1\n" * 50)
    with pytest.raises(ValueError, match=r"rows\.csv has no value of column 'b' in its first 4 MiB"):
        list(read_batches(path, "y"))
    rows, _ = gathered(read_batches(path, "y", columns=["a"]))
    np.testing.assert_array_equal(rows, np.ones((100, 1)))
    path.write_text("a,b,y\n")
    assert list(read_batches(path, "y")) == []


def test_a_csv_column_that_is_not_utf_8(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes("a,town,y\n1,Köln,0\n2,Bonn,1\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"rows\.csv has text in column 'town' that is not UTF-8"):
        list(read_batches(path, "y"))
    np.testing.assert_array_equal(gathered(read_batches(path, "y", columns=["a"]))[0], [[1.0], [2.0]])


@pytest.mark.parametrize("name", ["X.CSV", "x.tsv.csv", "X.Csv.GZ", "x.Csv.bz2", "x.SVM.GZ"])
def test_the_last_suffix_counts_in_any_case(name, tmp_path):
    svmlight = ".SVM" in name
    text = b"0 0:1\n1 0:2\n" if svmlight else b"a,y\n1,0\n2,1\n"
    packed = gzip.compress(text) if name.endswith("GZ") else bz2.compress(text) if name.endswith("bz2") else text
    (tmp_path / name).write_bytes(packed)
    batches = read_batches(tmp_path / name, **({"n_features": 1} if svmlight else {"target": "y"}))
    np.testing.assert_array_equal(gathered(batches)[0], [[1.0], [2.0]])


def test_a_fitted_transformer_instead_of_hashing():
    encoder = make_column_transformer((OneHotEncoder(sparse_output=False), ["colour"]), remainder="passthrough")
    expected = encoder.fit_transform(WORDS[["colour", "a"]])
    rows, _ = gathered(read_batches(WORDS, "label", columns=["colour", "a"], transformer=encoder, batch_size=99))
    np.testing.assert_array_equal(rows, expected)


def test_model_selection_takes_batches(tmp_path):
    batches = read_batches(parquet_file(tmp_path), "label", columns=["a", "b"], batch_size=37)
    rows, labels = X[:, :2], FRAME["label"].to_numpy().astype(str)
    result = progressive_validation(NAGClassifier(), batches, classes=["no", "yes"])
    assert result.loss == progressive_validation(NAGClassifier(), rows, labels).loss
    sweep = eta_sweep(NAGClassifier(), batches, classes=["no", "yes"])
    np.testing.assert_array_equal(sweep.losses, eta_sweep(NAGClassifier(), rows, labels).losses)


def test_whole_numbers_that_turn_fractional(tmp_path, monkeypatch):
    monkeypatch.setattr("sklearn_nag.streams._csv._SAMPLE", 100)
    monkeypatch.setattr("sklearn_nag.streams._csv._BLOCK", 100)
    frame = pd.DataFrame({"x": np.append(np.arange(100), 0.5), "y": 0})
    frame["x"] = [*map(str, range(100)), "0.5"]
    frame.to_csv(tmp_path / "rows.csv", index=False)
    rows, _ = gathered(read_batches(tmp_path / "rows.csv", "y"))
    np.testing.assert_array_equal(rows[:, 0], [*range(100), 0.5])
    frame.loc[100, "x"] = "word"
    frame.to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(ValueError, match=r"rows\.csv cannot be read: .*word"):
        list(read_batches(tmp_path / "rows.csv", "y"))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"source": "nothing-*.csv", "target": "y"}, FileNotFoundError, "there is no file 'nothing-"),
        ({"source": 3, "target": "y"}, TypeError, "source is a int"),
        ({"source": [(1, 2)], "target": "y"}, TypeError, "source yields a tuple"),
        ({"source": FRAME, "target": "z"}, ValueError, "first table has no column 'z'"),
        ({"source": FRAME, "target": "b", "columns": ["q"]}, ValueError, "DataFrame has no column 'q'"),
        ({"source": FRAME, "target": "b", "batch_size": 0}, ValueError, "batch_size"),
        ({"source": FRAME.assign(a=None, b=1.0), "target": "b"}, ValueError, "column 'a' holds null"),
        ({"source": pd.DataFrame({"a": pd.array([1, None], "Int64"), "b": 1}), "target": "b"}, ValueError,
         "column 'a' has missing values"),
        ({"source": pd.DataFrame({"b": pd.array([1, None], "Int64"), "a": 1}), "target": "b"}, ValueError,
         "the target 'b' has missing values"),
        ({"source": pd.DataFrame({"day": pd.date_range("2020", periods=2), "b": 1}), "target": "b"}, ValueError,
         "column 'day' holds timestamp"),
        ({"source": FRAME, "columns": "a"}, ValueError, r"columns is 'a'; it must be a list of names, such as \['a'\]"),
        ({"source": FRAME, "columns": 5}, ValueError, "columns is 5; it must be a list of names"),
        ({"source": FRAME, "columns": []}, ValueError, "columns is empty"),
        ({"source": FRAME, "columns": ["a", "b", "a"]}, ValueError, "columns has 'a' twice"),
        ({"source": FRAME, "target": ["b", "a"], "columns": ["a"]}, ValueError, "columns has 'a', which is target"),
        ({"source": FRAME, "sample_weight": "b", "columns": ["a", "b"]}, ValueError, "'b', which is sample_weight"),
        ({"source": FRAME, "target": 3}, TypeError, "target is 3; it must be the name of a column, a list"),
        ({"source": FRAME, "target": ["a", 3]}, TypeError, r"target is \['a', 3\]; it must be the name"),
        ({"source": FRAME, "delimiter": ";;"}, ValueError, "delimiter is ';;'; it must be one ASCII character"),
        ({"source": FRAME, "delimiter": ""}, ValueError, "delimiter is ''; it must be one ASCII character"),
        ({"source": FRAME, "delimiter": '"'}, ValueError, "such as ';', but not a quote or line end"),
        ({"source": FRAME, "target": ["a", "b", "a"]}, ValueError, "target has 'a' twice; each column is named once"),
        ({"source": FRAME, "target": []}, TypeError, r"target is \[\]; it must be the name of a column, a list"),
        ({"source": FRAME, "target": "a", "sample_weight": "a"}, ValueError, "sample_weight is 'a', which is target"),
        ({"source": FRAME, "target": ["b", "a"], "sample_weight": "a"}, ValueError, "'a', which is target"),
        ({"source": FRAME, "sample_weight": 3}, TypeError, "sample_weight is 3; it must be the name of a column"),
        ({"source": FRAME, "n_features": "foo"}, ValueError, "'n_features' parameter .* 'foo' instead"),
        ({"source": FRAME, "n_features": 0}, ValueError, "'n_features' parameter .* 0 instead"),
        ({"source": FRAME, "max_row_bytes": 0}, ValueError, "'max_row_bytes' parameter .* 0 instead"),
        ({"source": FRAME, "max_row_bytes": 2**31}, ValueError, "'max_row_bytes' parameter .* 2147483648 instead"),
        ({"source": FRAME, "transformer": 5}, TypeError, "transformer is 5; it must be a fitted transformer"),
        ({"source": pa.table([[1], [2], [3]], ["a", "a", "y"]), "target": "y", "columns": ["a"]}, ValueError,
         "the Table has 2 columns 'a'; names must differ"),
        ({"source": pa.table([[1], [2], [3]], ["a", "y", "y"]), "target": "y", "columns": ["a"]}, ValueError,
         "the Table has 2 columns 'y'; names must differ"),
        ({"source": FRAME.assign(day=pd.Timestamp(0)), "target": "day"}, ValueError, "'day' holds timestamp"),
        ({"source": pd.DataFrame({"a": 1.0, "y": [b"x"]}), "target": "y"}, ValueError, "'y' holds binary in the first"),
        ({"source": pd.DataFrame({"a": 1.0, "y": [[1]]}), "target": "y"}, ValueError, "'y' holds list.* in the first"),
    ],
)  # fmt: skip
def test_errors(options, error, message):
    with pytest.raises(error, match=message):
        list(read_batches(**options))


def test_missing_values_are_named_by_file_and_row(tmp_path, monkeypatch):
    frame = pd.DataFrame({"a": [1.0] * 90, "y": [0.0, 1.0] * 45})
    frame.to_csv(tmp_path / "0.csv", index=False)
    frame.to_parquet(tmp_path / "0.parquet")
    for name in ("a", "y"):
        frame.assign(**{name: frame[name].where(frame.index != 40)}).to_csv(tmp_path / f"{name}.csv", index=False)
        table = pa.table({**{c: frame[c] for c in "ay"}, name: pa.array([*[1.0] * 40, None, *[1.0] * 49])})
        parquet.write_table(table, tmp_path / f"{name}.parquet")
        for suffix in ("csv", "parquet"):
            paths = [tmp_path / f"0.{suffix}", tmp_path / f"{name}.{suffix}"]
            with pytest.raises(ValueError, match=rf"'{name}' has missing values in .*{name}\.{suffix}, data row 41: "):
                list(read_batches(paths, "y", batch_size=7))
        with pytest.raises(ValueError, match=f"'{name}' has missing values in a later table, data row 131: "):
            list(read_batches([pa.table(frame), table], "y", batch_size=7))


def test_equal_numbers_as_categories_share_a_column():
    """The word of a number depends on its value, not on how a table stores it."""
    frames = [pd.DataFrame({"k": pd.Categorical(kind), "y": 0}) for kind in ([1, 2, 300], [1.0, 2.0, 300.0])]
    in_decimals = pa.DictionaryArray.from_arrays(
        [0, 1, 2], pa.array(["1.00", "2.00", "300.00"]).cast(pa.decimal128(9, 2))
    )
    as_words = pd.DataFrame({"k": ["1", "2", "300"], "y": 0})
    sources = [*([frame] for frame in frames), pa.table({"k": in_decimals, "y": [0] * 3}), [as_words]]
    (first, *others) = [gathered(read_batches(source, "y"))[0] for source in sources]
    for rows in others:
        np.testing.assert_array_equal(rows, first)
    fractions = pd.DataFrame({"k": pd.Categorical([1.5, np.inf, -2.5]), "y": 0})
    rows, _ = gathered(read_batches(fractions.assign(k=["1.5", "inf", "-2.5"]), "y"))
    np.testing.assert_array_equal(gathered(read_batches(fractions, "y"))[0], rows)


def test_names_with_an_equals_sign_share_no_column():
    columns = [{"a": ["b=c=d"]}, {"a=b": ["c=d"]}, {"a=b=c": ["d"]}]
    places = [next(iter(read_batches(pd.DataFrame(column))))[0].indices[0] for column in columns]
    assert len(set(places)) == 3
    missing = [next(iter(read_batches(pd.DataFrame({name: ["x", None]}))))[0].indices[1] for name in ("a=b", "a=")]
    plain = next(iter(read_batches(pd.DataFrame({"a": ["b", ""]}))))[0].indices
    assert len({*missing, *plain}) == 4


def test_ordinary_words_hash_as_ever():
    """Hashes of ordinary words stay the same, so saved models find their weights for the words of later streams."""
    frame = pd.DataFrame({"colour": ["red", None, "a=b", "grün"], "n": pd.Categorical([1, 2, 3, 1])})
    ((rows, _),) = read_batches(frame)
    hasher = FeatureHasher(2**16, input_type="string", alternate_sign=False)
    expected = hasher.transform(
        [["colour=red", "n=1"], ["colour", "n=2"], ["colour=a=b", "n=3"], ["colour=grün", "n=1"]]
    )
    np.testing.assert_array_equal(rows.toarray(), expected.toarray())


def test_a_lazy_frame_of_an_older_polars():
    lazy = type("LazyFrame", (), {"__module__": "polars.lazyframe.frame"})()
    with pytest.raises(TypeError, match="update polars"):
        list(read_batches(lazy))


def test_rows_to_predict_have_no_target():
    labelled = gathered(read_batches(FRAME, "label", sample_weight="weight"))
    (batch,) = read_batches(FRAME.drop(columns=["label", "weight"]))
    assert batch[1] is None
    np.testing.assert_array_equal(batch[0], labelled[0])
    with pytest.raises(ValueError, match="no targets to learn"):
        fit_stream(NAGClassifier(), read_batches(FRAME.drop(columns="label")), classes=["no", "yes"])


def test_the_index_of_pandas_is_no_feature(tmp_path):
    FRAME[FRAME["b"] > 0].to_parquet(tmp_path / "rows.parquet")
    assert "__index_level_0__" in parquet.read_schema(tmp_path / "rows.parquet").names
    rows, *_ = gathered(read_batches(tmp_path / "rows.parquet", "label", sample_weight="weight"))
    np.testing.assert_array_equal(rows, X[FRAME["b"] > 0])


def test_a_named_index_of_pandas_is_no_feature_unless_it_is_named(tmp_path):
    frame = FRAME.set_index("b")[["a", "label"]]
    frame.to_parquet(tmp_path / "rows.parquet")
    for source in (tmp_path / "rows.parquet", frame, [frame, frame.reset_index()[["label", "a"]]]):
        rows, _ = gathered(read_batches(source, "label"))
        np.testing.assert_array_equal(rows[:N], X[:, :1])
    for source in (tmp_path / "rows.parquet", frame):
        rows, _ = gathered(read_batches(source, "label", columns=["b", "a"]))
        np.testing.assert_array_equal(rows, X[:, [1, 0]])
        np.testing.assert_array_equal(gathered(read_batches(source, "b", columns=["a"]))[1], FRAME["b"])
        transformer = make_column_transformer(("passthrough", ["a", "b"])).fit(FRAME)
        rows, _ = gathered(read_batches(source, "label", columns=["b", "a"], transformer=transformer))
        np.testing.assert_array_equal(rows, X[:, :2])
    for source in (tmp_path / "rows.parquet", [frame]):  # the index is named in words
        (X_named, _), *_ = read_batches(source, "label", words=["b"], frames=True)
        assert sorted(X_named.schema.names) == ["a", "b"]
    without_metadata = pl.from_pandas(frame[["a"]]).with_columns(__index_level_0__=1)
    ((rows, _),) = read_batches(without_metadata)
    np.testing.assert_array_equal(rows, X[:, :1])


@pytest.mark.parametrize(
    ("values", "kind"), [([3, 1, 3], "i"), ([True, False, True], "b"), ([0.5, 1.0, 0.5], "f"), (["x", "y", "x"], "U")]
)
def test_targets_that_are_categories(values, kind):
    """Targets are the values that the categories stand for, even if other tables hold these values plainly."""
    plain = pd.DataFrame({"a": 1.0, "y": values})
    _, y = gathered(read_batches([plain.astype({"y": "category"}), plain], "y"))
    assert y.dtype.kind == kind
    np.testing.assert_array_equal(y, values * 2)
    if kind == "U":
        categories = pl.DataFrame({"a": 1.0, "y": values}, schema_overrides={"y": pl.Categorical})
        np.testing.assert_array_equal(gathered(read_batches(categories, "y"))[1], values)
    with pytest.raises(ValueError, match="the target 'y' has missing values"):
        list(read_batches(plain.assign(y=pd.Categorical([values[0], None, values[1]])), "y"))


def written(frames, folder):
    """Write the frames to Parquet files, and return the list of paths."""
    paths = [folder / f"{number}.parquet" for number in range(len(frames))]
    for frame, path in zip(frames, paths):
        frame.to_parquet(path)
    return paths


@pytest.mark.parametrize("make", [written, lambda frames, folder: frames], ids=["files", "frames"])
@pytest.mark.parametrize("columns", [None, ["a", "colour", "b"]])
def test_the_first_table_settles_the_order_of_columns(make, columns, tmp_path):
    frame = WORDS[["a", "b", "colour", "label"]]
    frames = [
        frame[:200],
        frame.loc[200:350, ["colour", "label", "b", "a"]],
        frame.loc[351:, ["b", "label", "colour", "a"]],
    ]
    options = {"columns": columns, "n_hashed": 64, "batch_size": 33}
    rows, labels = gathered(read_batches(make(frames, tmp_path), "label", **options))
    np.testing.assert_array_equal(rows, gathered(read_batches(frame, "label", **options))[0])
    np.testing.assert_array_equal(labels, frame["label"])


@pytest.mark.parametrize("make", [written, lambda frames, folder: frames], ids=["files", "frames"])
@pytest.mark.parametrize(
    ("second", "columns", "message"),
    [
        (pd.DataFrame({"a": [1.0], "y": 0}), None, "has no column 'b'; its columns are"),
        (
            pd.DataFrame({"a": [1.0], "b": 1.0, "y": 0, "c": 1}),
            None,
            "has a column 'c', which is not a feature of the",
        ),
        (
            pd.DataFrame({"a": [1.0], "b": "x", "y": 0}),
            None,
            "holds words in column 'b', which holds none in the first",
        ),
        (
            pd.DataFrame({"a": [1.0], "b": 1, "y": "x"}),
            ["b"],
            "holds words in column 'y', which holds none in the first",
        ),
        (pd.DataFrame({"a": ["x"], "b": 1, "y": 0}), ["a"], "holds words in column 'a', which holds none in the first"),
    ],
)
def test_later_tables_with_other_columns(make, second, columns, message, tmp_path):
    source = make([pd.DataFrame({"a": [1.0, 2.0], "b": [3, 4], "y": [0, 1]}), second], tmp_path)
    batches = iter(read_batches(source, "y", columns=columns))
    where = r"1\.parquet" if make is written else "^a later table"
    with pytest.raises(ValueError, match=f"{where} {message}"):
        list(batches)


def test_tables_with_other_columns_are_handed_on_where_that_is_asked_for():
    frames = [pd.DataFrame({"a": [1.0], "y": [0.0]}), pd.DataFrame({"b": ["x"], "y": [1.0]})]
    batches = read_batches(frames, "y", frames=True, mismatch="fill")
    assert [X.column_names for X, _ in batches] == [["a"], ["b"]]
    assert batches.head().to_pydict() == {"a": [1.0, None], "b": [None, "x"]}
    with pytest.raises(ValueError, match="mismatch='fill' needs frames=True and columns=None"):
        read_batches(frames, "y", mismatch="fill")
    assert batches.settings["mismatch"] == "fill"  # so a checkpoint tells these rows from others
    assert "mismatch" not in read_batches(frames, "y", frames=True).settings  # as in earlier versions


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_columns_of_the_first_file_that_are_no_features_are_left_out_later(suffix, tmp_path):
    paths = [tmp_path / f"{name}.{suffix}" for name in "ab"]
    for path, columns in zip(paths, (["a", "b", "y"], ["b", "y", "c"])):
        frame = pd.DataFrame(np.arange(12.0).reshape(4, 3) % 5, columns=columns)
        frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    pipeline = read_batches(paths, "y", columns=["b"], frames=True).prepare()
    assert pipeline.get_params()["columns__unused"] == ["a", "y"]


def test_the_head_is_of_no_more_batches_than_it_needs(monkeypatch):
    batches = read_batches(FRAME, "label", frames=True, batch_size=100)
    assert [batches.head(n).num_rows for n in (1, 100, 101)] == [100, 100, 200]
    monkeypatch.setattr("sklearn_nag.streams._read._BYTES_SHOWN", 1)
    assert batches.head(101).num_rows == 100


def test_frames_without_rows_settle_nothing():
    empty = WORDS[["label", "colour"]][:0].astype(object)  # pyarrow gives these columns the type null
    rows, _ = gathered(read_batches([empty, WORDS[["colour", "label"]], empty], "label", n_hashed=64))
    np.testing.assert_array_equal(rows.sum(axis=1), np.ones(N))


@pytest.mark.parametrize(
    "make",
    [written, lambda frames, folder: frames, lambda frames, folder: [pl.from_arrow(pa.table(f)) for f in frames]],
)
def test_later_tables_may_lack_all_words_of_a_column(make, tmp_path):
    first = pd.DataFrame({"a": [1.0, 2.0], "word": ["x", None], "y": [0, 1]})
    rows, _ = gathered(read_batches(make([first, first.assign(word=None), first], tmp_path), "y", n_hashed=64))
    np.testing.assert_array_equal(rows[[2, 3], 1:], rows[[1, 1], 1:])
    np.testing.assert_array_equal(rows[4:], rows[:2])
    with pytest.raises(ValueError, match="the target 'word' has missing values in .*, data row"):
        list(read_batches(make([first.assign(word="x"), first.assign(word=None)], tmp_path), "word"))


@pytest.mark.parametrize(
    "make",
    [
        written,
        lambda frames, folder: frames,
        lambda frames, folder: [pl.from_pandas(frame, nan_to_null=False) for frame in frames],
    ],
)
def test_later_tables_may_have_nan_for_all_words_of_a_column(make, tmp_path):
    first = pd.DataFrame({"a": [1.0, 2.0], "word": ["x", None], "y": [0, 1]})
    missing = first.assign(word=np.nan)
    rows, _ = gathered(read_batches(make([first, missing, first], tmp_path), "y", n_hashed=64))
    np.testing.assert_array_equal(rows[[2, 3], 1:], rows[[1, 1], 1:])
    np.testing.assert_array_equal(rows[4:], rows[:2])
    with pytest.raises(ValueError, match="holds double in column 'word', which holds words in the first table"):
        list(read_batches(make([first, missing, first.assign(word=1.0)], tmp_path), "y"))
    with pytest.raises(ValueError, match="holds double in column 'word', which holds words in the first table"):
        list(read_batches(make([first, missing.assign(word=[np.nan, 1.0])], tmp_path), "y"))


def test_numbers_where_the_first_table_has_words():
    frames = [pd.DataFrame({"a": ["x"], "y": 0}), pd.DataFrame({"a": [1], "y": 0})]
    with pytest.raises(
        ValueError, match="a later table holds int64 in column 'a', which holds words in the first table"
    ):
        list(read_batches(frames, "y"))
    with pytest.raises(ValueError, match="a later table holds words in column 'a', which holds none"):
        list(read_batches(frames[::-1], "y"))


def test_errors_of_files(tmp_path, monkeypatch):
    (tmp_path / "rows.svm").write_text("1 0:1\n")
    (tmp_path / "rows.xls").write_text("")
    with pytest.raises(ValueError, match="give n_features"):
        read_batches(tmp_path / "rows.svm")
    (tmp_path / "far.svm").write_text("1 99999999999999999999:1\n")
    with pytest.raises(ValueError, match=r"far\.svm cannot be read: .*too large"):
        list(read_batches(tmp_path / "far.svm", n_features=1))
    monkeypatch.setattr("sklearn_nag.streams._read._SVMLIGHT_BLOCK", 20)
    for n, (line, why) in enumerate({"1 0:1 1:x": "float: b'x'", "1 9:1": "contains 10", "1 0": "1 value"}.items()):
        (tmp_path / "bad.svm").write_text("# a comment\n\n" + "1 0:1 1:2\n" * n + line + "\n0 0:1\n" * 4)
        with pytest.raises(ValueError, match=rf"bad\.svm cannot be read: its line {3 + n}: .*{why}"):
            list(read_batches(tmp_path / "bad.svm", n_features=2))
    with pytest.raises(ValueError, match="have no names"):
        read_batches(tmp_path / "rows.svm", "y", n_features=1)
    with pytest.raises(ValueError, match=r"rows\.xls has a name that does not show its format"):
        read_batches(tmp_path / "rows.xls", "y")
    with pytest.raises(ValueError, match=r"is a folder: pass its files, or a pattern such as '.*\*\.parquet'"):
        read_batches(tmp_path, "y")
    with pytest.raises(ValueError, match="several formats: csv, svmlight"):
        read_batches([tmp_path / "rows.svm", csv_file(tmp_path)], "y")
    with pytest.raises(ValueError, match=r"rows\.csv has no column 'q'"):
        list(read_batches(csv_file(tmp_path), "label", columns=["q"]))


def test_transformers_and_sizes_that_are_none_are_told_before_reading():
    with pytest.raises(TypeError, match="transformer is 5; it must be a fitted transformer"):
        read_batches(FRAME, "label", transformer=5)
    with pytest.raises(NotFittedError):
        read_batches(FRAME, "label", transformer=OneHotEncoder())
    read_batches(FRAME, "label", transformer=FunctionTransformer())
    for size in (2**63, 10**400):
        with pytest.raises(
            ValueError, match=r"'batch_size' parameter must be an int in the range \[1, 9223372036854775807"
        ):
            read_batches(FRAME, "label", batch_size=size)
    assert sum(len(y) for _, y in read_batches(FRAME[["a", "label"]], "label", batch_size=2**63 - 1)) == N


@pytest.mark.parametrize("columns", [None, ["b"]])
def test_a_frame_with_two_columns_of_one_name(columns):
    frame = pd.DataFrame([[1.0, 2.0, 3.0, 0]], columns=["a", "b", "a", "y"])
    for source in (frame, [frame]):
        with pytest.raises(ValueError, match="the DataFrame has 2 columns 'a'; names must differ"):
            list(read_batches(source, "y", columns=columns))


def test_a_frame_with_complex_numbers():
    frame = FRAME[["a", "label"]].assign(b=FRAME["a"] * 1j)
    with pytest.raises(ValueError, match="column 'b' holds complex128"):
        list(read_batches(frame, "label"))


def test_texts_are_hashed_with_a_warning():
    frame = pd.DataFrame({"note": [f"a good film {i}" for i in range(300)], "town": [f"t{i}" for i in range(300)]})
    with pytest.warns(
        UserWarning, match="column 'note' holds texts, .* read with frames=True and make a pipeline with prepare"
    ) as caught:
        for _ in read_batches([frame], batch_size=150):
            pass
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("bad", "match"),
    [
        ("9007199254740993", "it has the target 9007199254740993, a whole number that float64 cannot"),
        (" +9007199254740993", "it has the target 9007199254740993"),
        ("inf", "the target is infinite: targets must be finite"),
        ("-1e999", "the target is infinite"),
    ],
)
@pytest.mark.parametrize("missing_target", ["raise", "drop"])
def test_targets_of_svmlight_are_checked(tmp_path, bad, match, missing_target):
    path = tmp_path / "rows.svm"
    path.write_text(f"9007199254740992 0:1\n# a note\n\n9007199254740993.0 0:2\nnan 0:1\n{bad} 0:3 # row\n1 0:1\n")
    with pytest.raises(ValueError, match=rf"rows\.svm cannot be read: its line 6: {match}"):
        list(read_batches(path, n_features=1, missing_target=missing_target))
    path.write_text("9007199254740992 0:1\n9007199254740993.0 0:2\n")  # an exact number, and a quantity
    ((_, y),) = read_batches(path, n_features=1)
    assert y.tolist() == [2.0**53] * 2


def test_targets_side_by_side_stay_what_they_are():
    table = pa.table({
        "x": [1.0, 2.0], "long": [3, -(2**53) - 1], "odd": pa.array([2**63 + 1, 5], pa.uint64()), "few": [2**53, 7],
        "part": [0.5, 1.5], "flag": [True, False], "word": ["a", "b"],
    })  # fmt: skip
    for others in ["part"], ["few", "part"]:
        with pytest.raises(ValueError, match="data row 2, has the target 'long' -9007199254740993, a whole number"):
            list(read_batches(table, [*others, "long"], columns=["x"]))
    with pytest.raises(ValueError, match="data row 1, has the target 'odd' 9223372036854775809, a whole number"):
        list(read_batches(table, ["few", "odd"], columns=["x"]))
    for targets in ["word", "few"], ["flag", "word"]:
        with pytest.raises(ValueError, match="the target 'word' holds words and '(few|flag)' numbers in the"):
            list(read_batches(table, targets, columns=["x"]))
    for targets in ["long", "few"], ["few", "part", "flag"], ["word"]:
        ((_, y),) = read_batches(table, targets, columns=["x"])
        assert y.T.tolist() == [table[name].to_pylist() for name in targets]


@pytest.mark.parametrize("library", ["arrow", "polars", "pandas"])
def test_nan_is_no_target_and_no_weight(library):
    frame = {"x": np.arange(4.0), "y": [1.0, 0.0, np.nan, 1.0], "w": [1.0, np.nan, 1.0, 1.0], "z": np.ones(4)}
    frame = {"arrow": pa.table, "polars": pl.DataFrame, "pandas": pd.DataFrame}[library](frame)
    for target in "y", ["z", "y"]:
        with pytest.raises(ValueError, match="the target 'y' has missing values in the first table, data row 3"):
            list(read_batches(frame, target, columns=["x"]))
    with pytest.raises(ValueError, match="sample_weight 'w' has missing values in the first table, data row 2"):
        list(read_batches(frame, "z", columns=["x"], sample_weight="w"))
    batches = read_batches(frame, "y", columns=["x"], missing_target="drop")
    assert [y.tolist() for _, y in batches] == [[1.0, 0.0, 1.0]]


def test_words_that_are_no_column_of_a_table(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": [0, 1]}, index=pd.Index(["a", "b"], name="key"))
    frame.to_parquet(tmp_path / "rows.parquet")
    for source, where in (frame, "the first table"), (tmp_path / "rows.parquet", r".*rows\.parquet"):
        ((X, _),) = read_batches(source, "y", words=["key"], frames=True)
        assert X["key"].to_pylist() == ["a", "b"]
        with pytest.raises(ValueError, match=f"^{where} has no column 'kye'; its columns are 'x', 'y', 'key'"):
            list(read_batches(source, "y", words=["kye"], frames=True))
    ((X, _),) = read_batches(frame, "y", columns=["x"], words=["key"])  # key is not read
    assert X.tolist() == [[1.0], [2.0]]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_categories_are_hashed_where_a_batch_has_them(library, monkeypatch):
    """Only words in the batch are hashed, because a dictionary may be far larger than a batch."""
    words = [None if i % 7 == 0 else f"w{i // 3}" for i in range(100)]
    all_words = [f"w{i}" for i in range(500)]
    if library == "pandas":
        frame = pd.DataFrame({"w": pd.Categorical(words, all_words)})
    else:
        frame = pl.DataFrame({"w": pl.Series(words, dtype=pl.Enum(all_words))})
    expected = list(read_batches(pd.DataFrame({"w": words}, dtype=object), batch_size=10))
    hashed = []
    hashed_word = _words.hashed_word
    monkeypatch.setattr(_words, "hashed_word", lambda *pair: hashed.append(pair[1]) or hashed_word(*pair))
    for number, ((found, _), (known, _)) in enumerate(zip(read_batches(frame, batch_size=10), expected)):
        np.testing.assert_array_equal(found.indices, known.indices)
        np.testing.assert_array_equal(found.indptr, known.indptr)
        np.testing.assert_array_equal(found.data, known.data)
        assert sorted(map(str, hashed)) == sorted(map(str, {*words[10 * number : 10 * number + 10]}))
        hashed.clear()


def test_categories_that_no_row_has_are_not_warned_of():
    texts, numbers = [f"a good film {i}" for i in range(300)], [*map(str, range(300)), "tbd"]
    frame = pd.DataFrame({"a": pd.Categorical(texts[:2] * 50, texts), "b": pd.Categorical(numbers[:100], numbers)})
    list(read_batches(frame))  # a warning is an error


def texts(rng, n, n_words):
    return rng.choice([*(f"word {k}" for k in range(n_words)), None], n)


@pytest.mark.parametrize("group", [100, 130, 170, 500])
def test_words_of_parquet_are_read_by_number(tmp_path, group):
    """Batches have the same rows and words as when the words are read one by one."""
    frame = pd.DataFrame({"few": texts(RNG, N, 4), "x": FRAME["a"], "many": texts(RNG, N, 90), "label": FRAME["label"]})
    table = pa.Table.from_pandas(frame, preserve_index=False)
    table = table.set_column(2, "many", table["many"].cast(pa.large_string()))
    parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=group)
    found = list(read_batches(tmp_path / "rows.parquet", "label", frames=True, batch_size=120))
    plain = list(read_batches(table, "label", frames=True, batch_size=120))
    assert [len(y) for _, y in found] == [len(y) for _, y in plain] == [120, 120, 120, 120, 20]
    for (X, y), (expected, labels) in zip(found, plain):
        assert X.to_pydict() == expected.to_pydict()
        assert y.tolist() == labels.tolist()
        assert y.dtype == labels.dtype
    # Words that are read by number have the type string, not large_string.
    kinds = [pa.types.is_string(X.column("many").type.value_type) for X, _ in found]
    assert kinds == [group >= 120] * 5


def test_words_are_read_by_number_where_they_are_few(tmp_path):
    frame = pd.DataFrame({"few": texts(RNG, N, 4), "many": [RNG.bytes(100).hex() for _ in range(N)], "y": FRAME["a"]})
    parquet.write_table(pa.Table.from_pandas(frame), tmp_path / "rows.parquet", use_dictionary=True)
    parquet.write_table(pa.Table.from_pandas(frame), tmp_path / "plain.parquet", use_dictionary=False)
    in_dictionary = pa.Table.from_pandas(frame.astype({"few": "category"}))
    parquet.write_table(in_dictionary, tmp_path / "category.parquet")
    for name, expected in (("rows", ["few"]), ("plain", []), ("category", [])):
        with parquet.ParquetFile(tmp_path / f"{name}.parquet") as file:
            assert _numbered(file, None, 100, lambda name: True) == expected
            assert _numbered(file, ["many", "y"], 100, lambda name: True) == []
            assert _numbered(file, None, 100, lambda name: name != "few") == []
    paths = [tmp_path / f"{name}.parquet" for name in ("rows", "plain", "category")]
    rows = read_batches(paths, "y", columns=["few", "many"], frames=True, batch_size=90).head()
    expected = pa.Table.from_pandas(frame[["few", "many"]], preserve_index=False)
    assert rows.to_pydict() == pa.concat_tables([expected] * 3).to_pydict()
    empty = pa.Table.from_pandas(frame[:0])
    parquet.write_table(empty, tmp_path / "empty.parquet")
    assert list(read_batches(tmp_path / "empty.parquet", "y", frames=True)) == []


@pytest.mark.parametrize("lazy", [False, True])
def test_words_of_polars_can_be_left_out_and_shuffled(lazy):
    frame = pl.from_pandas(WORDS[["a", "colour"]]).with_columns(label=pl.when(pl.col("a") < 1.0).then(pl.col("a")))
    frame = frame.lazy() if lazy else frame
    if lazy and not hasattr(frame, "collect_batches"):
        pytest.skip("this polars cannot collect in batches")
    batches = read_batches(frame, "label", frames=True, missing_target="drop")
    colours = [colour for rows, _ in batches for colour in rows["colour"].to_pylist()]
    assert colours == WORDS["colour"][WORDS["a"] < 1.0].tolist()
    model = fit_stream(batches.prepare(NAGRegressor()), batches, shuffle_buffer=70, random_state=0)
    assert model[-1].t_ == len(colours)


def test_batches_of_tables_have_names(tmp_path):
    """With names, learners and transformers refuse columns in another order, and errors name columns."""
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 2)), columns=["a", "b"])
    frame.assign(y=frame["a"]).to_csv(tmp_path / "rows.csv", index=False)
    model = fit_stream(NAGRegressor(), read_batches(tmp_path / "rows.csv", "y", frames=True))
    assert model.feature_names_in_.tolist() == ["a", "b"]
    table = pa.Table.from_pandas(frame)
    for rows in (table.select(["b", "a"]), table.select(["b", "a"]).to_batches()[0]):
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(rows)
    imputer = OnlineImputer().fit(table.to_batches()[0])
    assert imputer.feature_names_in_.tolist() == ["a", "b"]
    words = pa.table({"a": ["1.0", "oops"]})
    for rows in (words, words.to_batches()[0]):
        with pytest.raises(ValueError, match=r"in row 1, column 0 \('a'\): could not convert"):
            NAGRegressor().fit(rows, [0.0, 1.0])


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_infinite_targets_are_named(suffix, tmp_path):
    rows = pd.DataFrame({"a": range(9), "y": [1.5, np.nan, *range(6), -np.inf]})
    path = tmp_path / f"rows.{suffix}"
    getattr(rows, f"to_{suffix}")(path, index=False)
    for batch_size in (2, 99):
        batches = read_batches(path, "y", missing_target="drop", batch_size=batch_size)
        with pytest.raises(ValueError, match=rf"target 'y' is infinite in .*{suffix}, data row 9: targets must be fin"):
            gathered(batches)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, None], "the sample_weight 'w' has missing values in .*: each row needs a weight"),
        ([None, None], "the sample_weight 'w' has missing values in .*, data row 1: each row needs a weight"),
        (["a", "b"], "the sample_weight 'w' holds .*string.*: each row needs a weight, which is a number"),
    ],
)
def test_weights_are_numbers(weights, message):
    frame = pd.DataFrame({"x": [1.0, 2.0], "w": weights, "y": [0.0, 1.0]})
    with pytest.raises(ValueError, match=message):
        gathered(read_batches(frame, "y", sample_weight="w"))


def csv_files(frames, folder):
    """Write the frames to CSV files, and return the list of paths."""
    paths = [folder / f"{number}.csv" for number in range(len(frames))]
    for frame, path in zip(frames, paths):
        frame.to_csv(path, index=False)
    return paths


@pytest.mark.parametrize("make", [written, csv_files])
@pytest.mark.parametrize("values", [["a", "b"], [0.5, 1.5]])
def test_a_later_file_may_have_no_target_at_all(values, make, tmp_path):
    frames = [pd.DataFrame({"x": [1.0, 2.0], "y": values}), pd.DataFrame({"x": [3.0], "y": [np.nan]})]
    batches = read_batches(make(frames, tmp_path), "y", missing_target="drop")
    (X, y), *others = batches
    assert not others
    assert (X.tolist(), y.tolist(), batches.n_left_out) == ([[1.0], [2.0]], values, 1)


def test_a_first_csv_file_has_a_target(tmp_path):
    paths = csv_files([pd.DataFrame({"x": [1.0], "y": [np.nan]})], tmp_path)
    with pytest.raises(ValueError, match="no value of column 'y' in .*: fill it in, or read another file first"):
        list(read_batches(paths, "y", missing_target="drop"))


@pytest.mark.parametrize("values", [["a", None, "b"], [0.5, None, 1.5]])
def test_targets_that_are_missing_within_a_dictionary(values):
    y = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None, 2]), pa.array(values))
    table = pa.table({"x": [1.0, 2.0, 3.0, 4.0, 5.0], "y": y})
    with pytest.raises(ValueError, match="missing values in the first table, data row 2: leave"):
        list(read_batches(table, "y"))
    batches = read_batches(table, "y", missing_target="drop")
    (X, y), = batches  # fmt: skip
    assert (X.ravel().tolist(), y.tolist(), batches.n_left_out) == ([1, 3, 5], [values[0], *[values[2]] * 2], 2)


@pytest.mark.parametrize("kind", [pa.decimal128(20, 0), pa.decimal128(38, 10), pa.decimal256(70, 40)])
def test_whole_decimals_that_float64_does_not_have(kind, tmp_path):
    keys = [Decimal(2**53 + i) for i in range(3)]
    table = pa.table({"x": [0.0, 1.0, 2.0], "y": pa.array(keys, kind)})
    parquet.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(
        ValueError, match=r"rows\.parquet, data row 2, has the target 'y' 9007199254740993\.?0*, a whole"
    ):
        list(read_batches(tmp_path / "rows.parquet", "y"))
    with pytest.raises(ValueError, match="the first table, data row 2, has the target 'y' 9007199254740993"):
        list(read_batches(table, "y", batch_size=1))
    (_, y), = read_batches(table.take([0, 2]), "y")  # fmt: skip
    assert y.tolist() == [2.0**53, 2.0**53 + 2]


def test_quantities_in_decimals_are_rounded():
    table = pa.table({"x": [0.0, 1.0], "y": pa.array([Decimal("9007199254740993.5"), Decimal("-0.1")])})
    (_, y), = read_batches(table, "y")  # fmt: skip
    assert y.tolist() == [9007199254740994.0, -0.1]


def test_parquet_files_of_string_views(tmp_path):
    views = pa.table({"x": [1.0, 2.0], "y": pa.array(["u", None], pa.string_view())})
    try:
        parquet.write_table(views, tmp_path / "views.parquet")
    except pa.ArrowNotImplementedError:
        pytest.skip("this pyarrow writes no string views")
    (X, y), = read_batches(tmp_path / "views.parquet", "y", missing_target="drop")  # fmt: skip
    assert (X.tolist(), y.tolist()) == ([[1.0]], ["u"])


DAY, TIME = datetime.date(2024, 1, 2), datetime.datetime(2024, 1, 2, 3, 4, 5)


@pytest.mark.parametrize(
    ("first", "later", "expected"),
    [
        (pa.array([DAY], pa.date32()), pa.array([TIME], pa.timestamp("s")), [DAY, TIME]),
        (pa.array([TIME], pa.timestamp("s", "UTC")), pa.array([TIME], pa.timestamp("ms")), [TIME, TIME]),
        (pa.array([1], pa.int64()), pa.array([DAY], pa.date32()), ["1", "2024-01-02"]),
        (pa.array([True], pa.bool_()), pa.array([Decimal("2.5")], pa.decimal128(5, 2)), [1.0, 2.5]),
        (pa.array([2], pa.int64()), pa.array([Decimal("2.5")], pa.decimal128(5, 2)), [2.0, 2.5]),
        (pa.array([True], pa.bool_()), pa.array([2**60 + 1], pa.int64()), [1, 2**60 + 1]),
        (pa.array([2**53 + 1]), pa.array([1.5]), [2.0**53, 1.5]),
        (pa.array([2**63 + 1], pa.uint64()), pa.array([-1]), [2.0**63, -1.0]),
        (pa.array([1, None]).dictionary_encode(), pa.array(["x"]).dictionary_encode(), ["1", "x"]),
        (pa.array(["x"]).dictionary_encode(), pa.array([1, None]), ["x", "1"]),
        (pa.array([1]), pa.array([2]).dictionary_encode(), ["1", "2"]),
    ],
)
def test_tables_are_joined_whatever_their_types(first, later, expected):
    tables = [pa.table({"a": values}) for values in (first, pa.nulls(1), later)]
    found = [value for value in join_tables(tables).column("a").to_pylist() if value is not None]
    others = join_tables([pa.table({"a": pa.nulls(1)}), pa.table({"a": pa.nulls(1), "b": [1]})])
    assert pa.types.is_null(others.schema.field("a").type)
    assert found == (np.array(expected, dtype="datetime64[us]").tolist() if expected[1] is TIME else expected)


def test_columns_of_one_name_that_nobody_asks_for_do_no_harm():
    table = pa.table([[1.0], [2.0], [3.0], ["u"]], names=["x", "y", "z", "z"])
    for source in (table, table.to_batches()[0], [table]):
        ((X, y),) = read_batches(source, "y", columns=["x"])
        assert (X.tolist(), y.tolist()) == ([[1.0]], [2.0])


def test_numbers_and_booleans_beside_words_are_words():
    kinds = [pa.array([7]), pa.array([True]), pa.array(["u"]), pa.array(["v"]).dictionary_encode(), pa.array([TIME])]
    words = ["7", "True", "u", "v", "2024-01-02T03:04:05"]
    for some in permutations(range(5), 3):
        joined = join_tables([pa.table({"a": kinds[i]}) for i in some])
        assert joined.column("a").to_pylist() == [words[i] for i in some]


def test_categories_of_numbers_and_later_of_words():
    first = pd.DataFrame({"a": pd.Categorical([1, 2] * 30), "y": [0, 1] * 30})
    later = first.assign(a=pd.Categorical(["x", "z"] * 30))
    for frames in ([first, later], [first.astype({"a": int}), first], [first, first.astype({"a": int})]):
        assert read_batches(frames, "y", frames=True).head().column("a").to_pylist()[:60] == ["1", "2"] * 30
    batches = read_batches([first, later], "y", frames=True)
    model = fit_stream(batches.prepare(NAGClassifier()), batches, classes=[0, 1], shuffle_buffer=70)
    assert model.predict(first[["a"]]).tolist() == first["y"].tolist()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_read_only_once(tmp_path):
    for name, options in ("rows.csv", {"frames": True}), ("rows.svm", {"n_features": 2}):
        os.mkfifo(tmp_path / name)
        batches = read_batches(tmp_path / name, "y" if options.get("frames") else None, **options)
        assert not batches.repeatable
        with pytest.raises(ValueError, match="can be read only once"):
            batches.prepare(NAGRegressor())
        with pytest.raises(ValueError, match="passes"):
            fit_stream(NAGRegressor(), batches, passes=2)
    (tmp_path / "file.csv").write_text("x,y\n1,2\n")
    assert not read_batches([tmp_path / "file.csv", tmp_path / "rows.csv"], "y").repeatable
