"""How a CSV file and each of its columns are read."""

import bz2
import gzip
import lzma

import numpy as np
import pytest

from sklearn_nag._main_job.tables import Choices, as_options, kinds_of, read_own
from sklearn_nag.preprocessing import prepare

pd = pytest.importorskip("pandas")


@pytest.fixture
def ugly(rng, tmp_path):
    """Return a function that writes a file of 60 rows, with some entries replaced, and returns its path."""
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
    return read_own(path, target, most_rows=most_rows, folds=folds, **options)


def test_columns_are_what_prepare_makes_of_them(rng, tmp_path):
    days = [f"{day}.02.2024" for day in rng.integers(10, 29, 60)]
    frame = pd.DataFrame({
        "id": range(60), "size": rng.normal(size=60), "sold": days, "empty": None, "y": rng.normal(size=60),
        "money": [f"${x:.2f}" for x in rng.random(60) + 1000],
    })  # fmt: skip
    path = tmp_path / "own.csv"
    frame.to_csv(path, index=False)
    table = read(path)
    said = []
    features = frame.drop(columns="y")
    expected = prepare(features, say=said.append)
    said[0] = "'id': left out: whole numbers that name rows (--as id=numbers keeps them)"
    assert [note.strip() for note in table.notes[2:-1]] == said
    in_order = features.iloc[np.argsort([int(day[:2]) for day in days], kind="stable")]
    found, made = (pipeline.fit_transform(X) for pipeline, X in ((table.prepare, table.X), (expected, in_order)))
    # Old versions of NumPy sum in another order.
    np.testing.assert_allclose(found.toarray(), made.toarray(), rtol=1e-12)


def test_rows_are_in_the_order_of_dates_unless_one_says_otherwise(ugly):
    path = ugly(b={i: f"2024-01-{28 - i % 28:02}" for i in range(60)})
    table = read(path)
    assert table.time == "b"
    assert (np.diff(pd.to_datetime(table.X["b"]).astype("int64")) >= 0).all()
    assert table.notes[-1].startswith("  rows are in the order of 'b', and later ones are predicted")
    assert sorted(read(path, most_rows=20).X["b"]) == sorted(table.X["b"])[-20:]  # the latest rows
    assert read(path, choices=Choices(shuffle=True)).time is None
    table = read(path, choices=Choices(time="a"))
    assert (np.diff(table.X["a"]) >= 0).all()
    left_out = read(path, choices=Choices(time="b", kinds={"b": "drop"}))
    assert left_out.X["b"].tolist() == read(path).X["b"].tolist()
    times_of_day = ugly(b={i: f"{i % 24:02}:30" for i in range(60)})
    assert read(times_of_day).time is None
    assert read(times_of_day, choices=Choices(time="b")).time == "b"
    with pytest.raises(ValueError, match="--time b: the column holds neither dates nor numbers"):
        read(ugly(), choices=Choices(time="b"))
    with pytest.raises(ValueError, match="--time and --shuffle exclude each other"):
        read(path, choices=Choices(time="b", shuffle=True))


def test_of_several_dates_those_count_that_the_rows_follow(ugly):
    path = ugly(
        a={i: f"2024-01-{1 + i % 28:02}" for i in range(60)}, b={i: f"2024-{1 + i // 6:02}-03" for i in range(60)}
    )
    assert read(path).time == "b"


def test_dates_that_are_missing_break_no_order_and_those_of_few_rows_are_none(ugly, recwarn):
    random = {i: f"2024-01-{1 + i * 7 % 28:02}" for i in range(60)}
    in_order = {i: "" if i in (5, 6) else f"2024-{1 + i // 6:02}-03" for i in range(60)}
    assert read(ugly(a=random, b=in_order)).time == "b"
    for n, expected in [(30, "b"), (29, None)]:
        of_few = {i: f"2024-{1 + i // 6:02}-03" if i < n else "" for i in range(60)}
        assert read(ugly(b=of_few)).time == expected
    assert read(ugly(b=of_few), choices=Choices(time="b")).time == "b"
    assert not recwarn.list


def test_what_is_said_of_columns_is_said_to_prepare(ugly):
    table = read(ugly(), choices=Choices(columns=("a", "b"), drop=("b",), kinds={"a": "words"}))
    assert table.preparing == {"columns": ["a", "b"], "drop": ["b"], "kinds": {"a": "words"}}
    assert "'b': left out, as asked" in "\n".join(table.notes)
    for choices, message in [
        (Choices(drop=("c",)), "has no column 'c'; its columns are 'a', 'b', 'y'"),
        (Choices(columns=("c",)), "has no column 'c'"),
        (Choices(time="c"), "has no column 'c'"),
    ]:
        with pytest.raises(ValueError, match=".") as raised:
            read(ugly(), choices=choices)
        assert message in str(raised.value)


@pytest.mark.parametrize(
    ("separator", "decimal", "encoding"), [(";", ",", "utf-8"), ("\t", ".", "utf-16"), ("|", ".", "latin-1")]
)
def test_other_separators_decimal_marks_and_encodings(rng, tmp_path, separator, decimal, encoding):
    frame = pd.DataFrame({"größe": rng.normal(size=30), "ort": ["Köln", "Bath"] * 15, "y": rng.normal(size=30)})
    path = tmp_path / "own.csv"
    frame.to_csv(path, sep=separator, decimal=decimal, encoding=encoding, index=False)
    table = read(path, encoding=encoding)
    np.testing.assert_allclose(table.y, frame["y"])
    assert "  'ort': 2 words, a column for each" in table.notes
    again = pd.read_csv(path, **table.reading)
    np.testing.assert_array_equal(
        table.prepare.fit_transform(again[["größe", "ort"]]).toarray(), table.prepare.transform(table.X).toarray()
    )


def test_marks_within_quoted_names_separate_nothing(rng, tmp_path):
    path, values = tmp_path / "own.csv", rng.normal(size=30)
    lines = [f"{value};{i}" for i, value in enumerate(values)]
    path.write_text("\n".join(['"Amount, EUR (net, gross, tax)";y', *lines]))
    table = read(path)
    np.testing.assert_allclose(table.X["Amount, EUR (net, gross, tax)"], values, rtol=1e-12)


def test_classes_words_and_few_whole_numbers(ugly):
    table = read(ugly(y={i: str(i % 3) for i in range(60)}))
    assert table.is_classification
    assert "  'y' is the target: classification, 3 classes" in table.notes
    table = read(ugly(y={i: "ab"[i % 2] for i in range(59)} | {59: "c"}))
    assert len(table.y) == 59
    assert "  1 rows left out because no other row has their class" in table.notes
    assert not read(ugly()).is_classification


def test_what_the_target_is_can_be_said(ugly):
    with pytest.raises(ValueError, match="--as y=text: the target must be numbers or words"):
        kinds_of(["y=text"], "y")
    path = ugly(y={i: str(i % 3) for i in range(60)})
    assert not read(path, choices=Choices(kinds={"y": "numbers"})).is_classification
    path = ugly(y={i: str(i % 29) for i in range(60)})
    assert not read(path).is_classification
    assert read(path, choices=Choices(kinds={"y": "words"})).is_classification


def test_rows_without_a_target_and_too_many_rows(ugly):
    table = read(ugly(y={3: "", 4: ""}), most_rows=20)
    assert len(table.y) == 20
    assert "  2 rows without 'y' left out" in table.notes
    assert "  20 random rows taken (--rows)" in table.notes


def test_digits_with_leading_zeros_are_words(ugly):
    table = read(ugly(a={i: ["01234", "10115"][i % 2] for i in range(60)}))
    assert set(table.X["a"]) == {"01234", "10115"}
    assert "  'a': 2 words, a column for each" in table.notes


def test_quotes_may_begin_a_row(ugly):
    table = read(ugly(a={i: f'"${1000 + i},000"' for i in range(60)} | {0: '"$7,000"'}))
    assert table.notes[2].startswith("  'a': numbers as ")


def test_numbers_as_people_write_them(ugly):
    texts = ["$1200.50", "$7", "?"]
    table = read(ugly(a={i: texts[i % 3] for i in range(60)}))
    np.testing.assert_array_equal(table.prepare.fit_transform(table.X[:2])[:, 0], [1200.5, 7.0])
    assert "  'a': numbers from 7 to 1200.5; 20 missing (33.3%), filled by means and marked" in table.notes


def test_what_names_rows_is_found_in_all_rows_before_some_are_drawn(ugly):
    table = read(ugly(a={i: str(1000 + i) for i in range(60)}), most_rows=20)
    assert "  'a': left out: whole numbers that name rows (--as a=numbers keeps them)" in table.notes
    assert table.prepare.fit(table.X).get_feature_names_out().tolist() == ["b"]


def test_what_the_order_of_rows_is_by_is_no_name_of_rows(ugly):
    path = ugly(a={i: str(1059 - i) for i in range(60)})
    table = read(path, choices=Choices(time="a"))
    assert "  'a': numbers from 1000 to 1059" in table.notes
    assert table.preparing["kinds"] == {"a": "numbers"}
    assert "a" not in read(path, choices=Choices(time="a", drop=("a",))).prepare.fit(table.X).get_feature_names_out()
    assert read(path, "a", choices=Choices(time="a")).time == "a"
    assert "  'a': left out: one value only" in read(ugly(a=dict.fromkeys(range(60), "7"))).notes


def test_rows_are_in_the_order_of_dates_beside_other_words(ugly):
    path = ugly(a={i: f"2024-02-{i % 28 + 1:02}" for i in range(60)} | {7: "unknown", 50: "0000-00-00"})
    table = read(path, choices=Choices(kinds={"a": "dates"}))
    assert table.time == "a"
    assert table.X["a"].tolist()[:3] == ["unknown", "0000-00-00", "2024-02-01"]


def test_truths_are_numbers_and_as_a_target_words(ugly):
    assert "  'b': numbers from 0 to 1" in read(ugly()).notes
    path = ugly(b={3: "", 4: ""})
    assert "  'b': numbers from 0 to 1; 2 missing (3.3%), filled by means and marked" in read(path).notes
    assert set(read(path, "b").y) == {"True", "False"}
    table = read(path, choices=Choices(kinds={"b": "words"}))
    assert "  'b': 2 words, a column for each; 2 missing (3.3%)" in table.notes


def test_what_is_asked_to_be_words_stays_as_it_is_written(ugly):
    path = ugly(a={i: f"1.{i % 3}0" for i in range(60)}, y={i: f"{i % 2}.50" for i in range(60)})
    table = read(path, choices=Choices(kinds={"a": "words", "y": "words"}))
    assert set(table.X["a"]) == {"1.00", "1.10", "1.20"}
    assert set(table.y) == {"0.50", "1.50"}
    assert table.reading == {"dtype": {"a": "str", "y": "str"}}


@pytest.mark.parametrize("kinds", [{}, {"y": "words"}, {"b": "words", "y": "words"}])
@pytest.mark.parametrize("name", ["None", "<NA>"])
def test_classes_that_pandas_takes_for_missing(ugly, name, kinds):
    words = {i: ["low", name, "high"][i % 3] for i in range(60)}
    path = ugly(a={3: "NA", 5: "None"}, b=words, y=words | {7: "", 8: "n/a", 9: "nan"})
    table = read(path, choices=Choices(kinds=kinds))
    assert set(table.y) == {"low", name, "high"}
    assert len(table.y) == 57
    assert set(table.X["b"]) == {"low", name, "high"}
    assert "  'a': numbers from" in "\n".join(table.notes)
    assert table.reading["na_values"] == sorted({"", "NA", "n/a", "nan", "None"} - {"None"})
    again = pd.read_csv(path, **table.reading).dropna(subset=["y"])
    assert again["y"].tolist() == table.y.tolist()
    pd.testing.assert_frame_equal(again.drop(columns="y"), table.X)


def test_none_among_numbers_and_truths_is_missing(ugly):
    for column in ("a", "b"):
        table = read(ugly(**{column: {3: "None", 4: "<NA>"}}), column)
        assert len(table.y) == 58
        assert table.reading == {}


@pytest.mark.parametrize("first", [2**63, 10**30])
def test_whole_numbers_that_differ_beyond_float64(ugly, first):
    path = ugly(a={i: str(first + i % 4) for i in range(60)})
    kept = "--as a=words keeps them"
    assert f"  'a': left out: whole numbers that are one as float64 ({kept})" in read(path).notes
    assert "  'a': 4 words, a column for each" in read(path, choices=Choices(kinds={"a": "words"})).notes
    assert "  'a': left out: one value only" in read(ugly(a=dict.fromkeys(range(60), str(first)))).notes


def test_a_quantity_that_is_mostly_the_same(ugly):
    path = ugly(y={i: "0" if i % 10 else str(i) for i in range(60)})
    with pytest.raises(ValueError, match=r"two values of 'y' in two rows or more; --numbers y makes it a quantity"):
        read(path)
    assert not read(path, choices=Choices(kinds={"y": "numbers"})).is_classification


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"a": {3: "inf"}}, "has inf in column 'a', data row 4; numbers must be finite and below 1e+150"),
        ({"y": {5: "-inf"}}, "has -inf in column 'y', data row 6"),
        ({"a": {3: "1e308"}}, "has 1e+308 in column 'a', data row 4"),
        pytest.param(
            {"y": {3: "1" + "0" * 400}},
            "has inf in column 'y', data row 4",
            marks=pytest.mark.skipif(pd.__version__ < "3", reason="pandas 2 reads such a column as words"),
        ),
        ({"y": dict.fromkeys(range(3, 60), "")}, "has 3 rows to learn from; --folds 3 needs at least 6"),
        ({"y": {7: "1,2"}}, "cannot be read as a CSV file"),
        ({"y": dict.fromkeys(range(60), "1")}, "has nothing to learn: rows with fewer than two values of 'y'."),
        ({"y": {i: f"w{i}" for i in range(60)}}, "fewer than two values of 'y' in two rows or more."),
        (
            {"y": {i: f"2024-{1 + i // 28:02}-{1 + i % 28:02}" for i in range(60)}},
            "the target 'y' holds dates: targets must be numbers or words; --as y=words makes each a class.",
        ),
        ({"y": {i: f"0{1 + i % 3}.02.2024" for i in range(60)}}, "the target 'y' holds dates"),
        ({"a": dict.fromkeys(range(60), "1"), "b": dict.fromkeys(range(60), "")}, "has no column to learn 'y' from"),
    ],
)
def test_tables_that_no_learner_takes(ugly, changes, message):
    with pytest.raises(ValueError, match=".") as raised:
        read(ugly(**changes))
    assert message in str(raised.value)


def test_where_rows_are_drawn_that_is_said(ugly):
    path = ugly(y={i: "no" if i else "yes" for i in range(60)})
    with pytest.raises(ValueError, match=r"nothing to learn in the 10 rows taken \(--rows\): rows with fewer than two"):
        read(path, most_rows=10)


def test_dates_are_classes_where_that_is_asked_for_and_times_of_the_day_anyway(ugly):
    days, times = {i: f"2024-0{1 + i % 3}-01" for i in range(60)}, {i: f"{i % 3}:{i % 2}" for i in range(60)}
    asked = Choices(kinds={"y": "words"})
    assert "  'y' is the target: classification, 3 classes" in read(ugly(y=days), choices=asked).notes
    assert "  'y' is the target: classification, 6 classes" in read(ugly(y=times)).notes


@pytest.mark.parametrize(
    ("content", "encoding", "message"),
    [
        (b"", "utf-8", "is empty"),
        (b"a,y\n", "utf-8", "has a header, but no rows"),
        (b"a,y\n1,2,3\n1,2,3\n", "utf-8", "has rows with more fields than its header"),
        (b'a,y,"y"\n1,2,3\n', "utf-8", "cannot be read as a CSV file: it has 2 columns 'y'; names must differ"),
        (b"a,a,y\n1,2,3\n", "utf-8", "it has 2 columns 'a'; names must differ"),
        (b"a,y\nM\xfcnster,1\n", "utf-8", "is not text in utf-8; give its encoding, such as --encoding latin-1"),
        (b"PAR1\x15\x04\x15\x90", "utf-8", "or utf-16; for Parquet files use train."),
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
        read(ugly(), choices=Choices(drop=("y",)))


def test_columns_are_features_and_named_once(ugly):
    with pytest.raises(ValueError, match="'y' is the column to predict; --columns must not name it"):
        read(ugly(), choices=Choices(columns=("a", "y")))
    with pytest.raises(ValueError, match="--columns has 2 columns 'a'"):
        read(ugly(), choices=Choices(columns=("a", "a")))


@pytest.mark.parametrize(
    ("form", "note"),
    [
        ("¥{:,}", "numbers as '¥10,017,283' is 10017283, from 1.00173e+07 to 2.00766e+07"),
        ("${:,}", "numbers as '$10,017,283' is 10017283, from"),
        ("{} kg", "numbers as '10017283 kg' is 10017283, from"),
        ("{:,}", "numbers as '10,017,283' is 10017283, from"),
        ("{}%", "numbers from 1.00173e+07 to 2.00766e+07"),
        ("{}00.00 $", "numbers from 1.00173e+09 to 2.00766e+09"),
    ],
)
@pytest.mark.parametrize("n_twice", [0, 6])
def test_a_target_never_names_rows(ugly, form, note, n_twice):
    numbers = [10_017_283 + 170_497 * i for i in range(60)]
    numbers[30 : 30 + n_twice] = numbers[:n_twice]
    table = read(ugly(y={i: f'"{form.format(number)}"' for i, number in enumerate(numbers)}))
    np.testing.assert_array_equal(table.y, np.multiply(numbers, 100 if "00.00" in form else 1))
    assert not table.is_classification
    assert f"  'y' is the target: regression, {note}" in "\n".join(table.notes)


@pytest.mark.parametrize(
    ("texts", "note"),
    [
        (["4.785 €", "1.250 €"], "numbers from 1.25 to 4.785 (or is '4.785 €' 4785? no number here tells)"),
        (["$4.50", "€3.50"], "numbers from 3.5 to 4.5 ($ and € alike: nothing is converted)"),
        (["1.5k", "2M"], "numbers as '1.5k' is 1500, from 1500 to 2e+06"),
    ],
)
def test_the_line_of_the_target_says_how_words_were_read(ugly, texts, note):
    path = ugly(y={i: texts[i % 2] for i in range(60)})
    asked = Choices(kinds={"y": "numbers"})
    assert f"  'y' is the target: regression, {note}" in read(path, choices=asked).notes
    assert "  'y' is the target: classification, 2 classes" in read(path, choices=Choices(kinds={"y": "words"})).notes


@pytest.mark.parametrize("form", ["{}", "${}", "{}.5"])
@pytest.mark.parametrize("n_words", [1, 3])
def test_few_words_among_targets_that_are_numbers_are_missing(rng, tmp_path, form, n_words):
    path, quantities = tmp_path / "own.csv", rng.integers(10, 200, 300)
    texts = [*map(form.format, quantities[n_words:]), *["tbd"] * n_words]
    path.write_text("\n".join(["x,y", *(f"{i**0.5},{text}" for i, text in enumerate(texts))]))
    table = read(path)
    assert not table.is_classification
    assert len(table.y) == 300 - n_words
    rows = f"{n_words} row{'s' * (n_words > 1)}"
    assert f", but 'tbd' and the like in {rows}, taken as missing" in "\n".join(table.notes)
    assert f"  {rows} without a number in 'y' left out" in table.notes
    again = pd.read_csv(path, **table.reading)
    np.testing.assert_array_equal(table.target_reader.fit_transform(again[["y"]])[:-n_words, 0], table.y)
    path.write_text(path.read_text() + "\n1.5,tbd" * 3)  # more than 1 %
    assert read(path).is_classification


def test_few_words_among_few_whole_numbers_are_classes(rng, tmp_path):
    path = tmp_path / "own.csv"
    for numbers in (["0"], ["0", "1", "2"]):
        texts = [numbers[i % len(numbers)] for i in range(398)] + ["fraud"] * 2
        path.write_text("\n".join(["x,y", *(f"{x},{text}" for x, text in zip(rng.normal(size=400), texts))]))
        assert set(read(path).y) == {*numbers, "fraud"}
    assert set(read(path, choices=Choices(kinds={"y": "numbers"})).y) == {0.0, 1.0, 2.0}


@pytest.mark.parametrize("form", ["{:%Y%m%d}", "{:%Y%m}"])
def test_days_in_digits_are_no_quantity_unless_one_says_so(ugly, form):
    days = pd.date_range("2023-01-01", periods=60, freq="MS")
    path = ugly(y={i: form.format(day) for i, day in enumerate(days)} | {7: ""})
    how = "--as y=numbers makes them numbers, --as y=words makes each a class."
    first = form.format(days[0])
    with pytest.raises(ValueError, match=f"'y' holds dates, such as {first}: targets must be numbers or words; {how}"):
        read(path)
    assert not read(path, choices=Choices(kinds={"y": "numbers"})).is_classification
    assert not read(ugly(y={i: str(20_240_101 + 37 * i) for i in range(60)})).is_classification


def test_an_infinite_number_is_named_beside_missing_ones(ugly):
    with pytest.raises(ValueError, match="has inf in column 'y', data row 6"):
        read(ugly(y={2: "", 5: "inf"}))


def test_what_may_be_seconds_is_a_quantity_as_a_target(ugly):
    seconds = {i: str(1_400_000_000 + 7_000_001 * i) for i in range(60)}
    for y in (seconds, seconds | {0: "$1400000000"}, seconds | {0: "?"}):
        assert not read(ugly(y=y)).is_classification


def test_what_keeps_words_as_an_option():
    note = "(words=['no. of'] of read_batches keeps them)"
    assert as_options(note) == "(--as 'no. of=words' keeps them)"
