"""What is made of a CSV file, and of each of its columns."""

import bz2
import gzip
import lzma

import numpy as np
import pytest

from sklearn_nag._main_job.tables import Choices, read_column, read_task

pd = pytest.importorskip("pandas")


def column(values, name="c", **choices):
    return read_column(pd.Series(values), name, Choices(**choices))


@pytest.fixture
def ugly(rng, tmp_path):
    """Save a file of 60 rows, in which some entries are replaced; return its path."""
    columns = {"a": rng.normal(size=60), "b": ["True", "False"] * 30, "y": rng.normal(size=60)}

    def save(**changes):
        lines = {name: list(map(str, values)) for name, values in columns.items()}
        for name, changed in changes.items():
            for row, text in changed.items():
                lines[name][row] = text
        path = tmp_path / "ugly.csv"
        path.write_text("\n".join(",".join(row) for row in [lines, *zip(*lines.values())]))
        return path

    return save


def read(path, target="y", most_rows=10_000, folds=3, **options):
    return read_task(path, target, most_rows=most_rows, folds=folds, **options)


def test_numbers_keep_their_units_and_gaps():
    taken = column([1.5, np.nan, -2e9, 7.0])
    np.testing.assert_array_equal(taken.values, [1.5, np.nan, -2e9, 7.0])
    assert taken.is_number
    assert taken.note == "numbers from -2e+09 to 7; 1 missing (25.0%)"


@pytest.mark.parametrize(
    "values", [range(1, 41), range(1000, 1040), np.random.default_rng(0).integers(10**15, 10**16, 40)]
)
def test_numbers_that_name_rows_are_left_out_unless_they_are_asked_for(values):
    taken = column(list(values))
    assert taken.values is None
    assert "name rows (--numbers c keeps them)" in taken.note
    assert column(list(values), numbers=["c"]).is_number


def test_whole_numbers_with_gaps_or_repeats_are_quantities():
    assert column([1, 5, 9, 20]).is_number
    assert column([10**15, 10**15, 10**15 + 7]).is_number


@pytest.mark.parametrize(
    "dates",
    [
        ["1970-01-02", "2000-01-01", None],
        ["01/02/1970", "01/01/2000", None],
        ["02.01.1970", "01.01.2000", None],
        ["1970-01-02T00:00:00", "2000-01-01T00:00:00", None],
    ],
)
def test_dates_are_days(dates):
    taken = column(dates)
    np.testing.assert_array_equal(taken.values, [1.0, 10957.0, np.nan])
    assert taken.note.endswith("as days since 1970-01-01; 1 missing (33.3%)")
    assert not column(dates, words=["c"]).is_number


@pytest.mark.skipif(int(pd.__version__.split(".")[0]) < 3, reason="dates of pandas 2 end in 2262")
def test_dates_may_be_far_away():
    taken = column(["9999-12-31", "1970-01-02T12:00:00", "0001-01-01"])
    np.testing.assert_array_equal(taken.values, [2932896.0, 1.5, -719162.0])


def test_words_that_only_look_like_dates_stay_words():
    taken = column(["1-2", "a-b", "1970-01-02"])
    assert not taken.is_number
    assert taken.note == "3 words, one-hot"


def test_text_is_left_out_and_many_words_are_counted():
    names = [f"n{i}" for i in range(300)]
    assert column(names).note == "left out: text, or names of rows (300 different; --words c keeps them)"
    assert "300 words, one-hot; one column for all but the 99 most frequent" in column(names, words=["c"]).note
    assert column(names * 2, "c").values is not None


def test_columns_without_a_difference_are_left_out():
    assert column([1.0, 1.0]).note == "left out: one value only"
    assert column([np.nan, np.nan]).note == "left out: no values"
    assert column([1.0, 2.0], drop=["c"]).note == "left out (--drop)"


@pytest.mark.parametrize(
    ("separator", "decimal", "encoding"), [(";", ",", "utf-8"), ("\t", ".", "utf-16"), ("|", ".", "latin-1")]
)
def test_other_separators_decimal_marks_and_encodings(rng, tmp_path, separator, decimal, encoding):
    frame = pd.DataFrame({"größe": rng.normal(size=30), "ort": ["Köln", "Bath"] * 15, "y": rng.normal(size=30)})
    path = tmp_path / "own.csv"
    frame.to_csv(path, sep=separator, decimal=decimal, encoding=encoding, index=False)
    task, notes = read(path, encoding=encoding)
    np.testing.assert_allclose(task.X["größe"], frame["größe"])
    np.testing.assert_allclose(task.y, frame["y"])
    assert "  'ort': 2 words, one-hot" in notes


def test_rows_that_learners_get(rng, tmp_path):
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0, 6.0] * 5, "w": ["u", "v", None, "v"] * 5, "y": range(0, 40, 2)})
    path = tmp_path / "own.csv"
    frame.to_csv(path, index=False)
    task, _ = read(path)
    assert not task.is_classification
    rows = task.raw.fit_transform(task.X)
    np.testing.assert_array_equal(rows[:4], [[1, 0, 1, 0], [3, 0, 0, 1], [3, 1, 0, 0], [6, 0, 0, 1]])
    scaled = task.scaled.fit_transform(task.X)
    np.testing.assert_allclose(scaled[:, 0].mean(), 0, atol=1e-12)
    np.testing.assert_array_equal(scaled[:, 1:], rows[:, 1:])


def test_classes_words_and_few_whole_numbers(ugly):
    task, notes = read(ugly(y={i: str(i % 3) for i in range(60)}))
    assert task.is_classification
    assert "  'y' is the target: classification, 3 classes" in notes
    task, notes = read(ugly(y={i: "ab"[i % 2] for i in range(59)} | {59: "c"}))
    assert len(task.y) == 59
    assert "  1 rows left out, whose class no other row has" in notes
    assert not read(ugly())[0].is_classification


def test_what_the_target_is_can_be_said(ugly):
    path = ugly(y={i: str(i % 3) for i in range(60)})
    assert not read(path, choices=Choices(numbers=["y"]))[0].is_classification
    path = ugly(y={i: str(i % 29) for i in range(60)})
    assert not read(path)[0].is_classification
    assert read(path, choices=Choices(words=["y"]))[0].is_classification


def test_rows_without_a_target_and_too_many_rows(ugly):
    task, notes = read(ugly(y={3: "", 4: ""}), most_rows=20)
    assert len(task.y) == 20
    assert "  2 rows left out, which have no 'y'" in notes
    assert "  20 rows drawn at random (--rows)" in notes


def test_digits_with_leading_zeros_are_words(ugly):
    task, notes = read(ugly(a={i: ["01234", "10115"][i % 2] for i in range(60)}))
    assert set(task.X["a"]) == {"01234", "10115"}
    assert "  'a': 2 words, one-hot" in notes


def test_numbers_as_people_write_them(ugly):
    texts = ["$1200.50", "$7", "?"]
    task, notes = read(ugly(a={i: texts[i % 3] for i in range(60)}))
    assert task.X["a"].iloc[:2].tolist() == [1200.5, 7.0]
    assert "  'a': numbers from 7 to 1200.5; 20 missing (33.3%)" in notes


def test_what_names_rows_is_found_in_all_rows_before_some_are_drawn(ugly):
    task, notes = read(ugly(a={i: str(1000 + i) for i in range(60)}), most_rows=20)
    assert "a" not in task.X
    assert "  'a': left out: whole numbers that name rows (--numbers a keeps them)" in notes


def test_a_boolean_column_with_blanks(ugly):
    task, notes = read(ugly(b={3: "", 4: ""}))
    assert task.X["b"].dropna().unique().tolist() == ["True", "False"]
    assert "  'b': 2 words, one-hot; 2 missing (3.3%)" in notes


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"a": {3: "inf"}}, "has inf in column 'a', data row 4; numbers must be finite and below 1e+150"),
        ({"y": {5: "-inf"}}, "has -inf in column 'y', data row 6"),
        ({"a": {3: "1e308"}}, "has 1e+308 in column 'a', data row 4"),
        ({"y": {3: "1" + "0" * 400}}, "has inf in column 'y', data row 4"),
        ({"y": dict.fromkeys(range(3, 60), "")}, "has 3 rows to learn from; --folds 3 needs at least 6"),
        ({"y": {7: "1,2"}}, "cannot be read as a CSV file"),
        ({"y": dict.fromkeys(range(60), "1")}, "has nothing to learn: rows with fewer than two values of 'y'"),
        ({"a": dict.fromkeys(range(60), "1"), "b": dict.fromkeys(range(60), "")}, "has no column to learn 'y' from"),
    ],
)
def test_tables_that_no_learner_takes(ugly, changes, message):
    with pytest.raises(ValueError, match=".") as raised:
        read(ugly(**changes))
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("content", "encoding", "message"),
    [
        (b"", "utf-8", "is empty"),
        (b"a,y\n", "utf-8", "has a header, and no rows below it"),
        (b"a,y\n1,2,3\n1,2,3\n", "utf-8", "has rows with more fields than its header has names"),
        (b"a,y\nM\xfcnster,1\n", "utf-8", "is not text in utf-8; name its encoding, such as --encoding latin-1"),
        (b"a,y\n1,2\n", "utf-99", "there is no encoding 'utf-99'"),
        (b'a,y\n"1,2\n3,4\n', "utf-8", "cannot be read as a CSV file"),
        (b"a,b\n1,2\n", "utf-8", "has no column 'y'; its columns are 'a', 'b'"),
    ],
)
def test_files_that_are_no_tables(tmp_path, content, encoding, message):
    path = tmp_path / "own.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=".") as raised:
        read(path, encoding=encoding)
    assert message in str(raised.value)


@pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)])
def test_damaged_archives(rng, tmp_path, suffix, pack):
    path = tmp_path / f"own.csv.{suffix}"
    whole = pack("\n".join(["a,y", *(f"{a},{i % 2}" for i, a in enumerate(rng.normal(size=3000)))]).encode())
    middle = len(whole) // 2
    for content in (whole[:middle], whole[:middle] + bytes(100) + whole[middle + 100 :], b"junk"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=rf"own\.csv\.{suffix} cannot be read as a CSV file: "):
            read(path)


def test_the_target_cannot_be_left_out(ugly):
    with pytest.raises(ValueError, match="--drop must not name it"):
        read(ugly(), choices=Choices(drop=["y"]))
