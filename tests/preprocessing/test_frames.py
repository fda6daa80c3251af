"""Columns are read alike from tables of all libraries and from arrays."""

import datetime
from contextlib import suppress
from decimal import Decimal

import numpy as np
import pytest
from scipy import sparse

from sklearn_nag.preprocessing._frames import DATES, EMPTY, NUMBERS, WORDS, _present, as_word, read_table

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

DAY = datetime.date(2024, 2, 29)
NOON = datetime.datetime(2024, 2, 29, 12, 30)
CET = datetime.timezone(datetime.timedelta(hours=1))
VALUES = {
    "whole": [1, 2, None],
    "real": [1.5, None, -2.0],
    "flag": [True, None, False],
    "decimal": [Decimal("1.5"), Decimal(2), None],
    "word": ["a", None, "b"],
    "day": [DAY, None, DAY],
    "time": [NOON, NOON, None],
    "zone": [NOON.replace(tzinfo=CET), None, NOON.replace(tzinfo=CET)],
    "empty": [None, None, None],
}
NAN = np.nan
EXPECTED = {
    "whole": (NUMBERS, [1.0, 2.0, NAN], ["1", "2", None]),
    "real": (NUMBERS, [1.5, NAN, -2.0], ["1.5", None, "-2"]),
    "flag": (NUMBERS, [1.0, NAN, 0.0], ["True", None, "False"]),
    "decimal": (NUMBERS, [1.5, 2.0, NAN], ["1.5", "2", None]),
    "word": (WORDS, None, ["a", None, "b"]),
    "day": (DATES, None, ["2024-02-29", None, "2024-02-29"]),
    "empty": (EMPTY, [NAN] * 3, [None] * 3),
}
TIMES = {
    "day": ["2024-02-29", "NaT", "2024-02-29"],
    "time": ["2024-02-29T12:30", "2024-02-29T12:30", "NaT"],
    "zone": ["2024-02-29T12:30", "NaT", "2024-02-29T12:30"],
}


def of_objects():
    return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in VALUES.items()})


def of_arrow():
    pyarrow = pytest.importorskip("pyarrow", exc_type=ImportError)
    zone = pyarrow.array(VALUES["zone"], pyarrow.timestamp("us", "+01:00"))
    return pyarrow.table({**{name: pyarrow.array(values) for name, values in VALUES.items()}, "zone": zone})


def of_pandas():
    frame = of_objects()
    kinds = {"whole": "Int64", "real": float, "flag": "boolean", "time": "datetime64[s]", "word": "category"}
    return frame.assign(zone=pd.to_datetime(frame["zone"])).astype(kinds)


def of_polars():
    frame = pl.DataFrame({name: values for name, values in VALUES.items() if name != "zone"})
    zone = pl.Series("zone", VALUES["time"]).dt.replace_time_zone("Etc/GMT-1")[[0, 2, 1]]
    return frame.with_columns(zone).select(list(VALUES)).with_columns(pl.col("word").cast(pl.Categorical))


MAKERS = {
    "pandas": of_pandas,
    "objects": of_objects,
    "array": lambda: of_objects().to_numpy(dtype=object),
    "list": lambda: [list(row) for row in zip(*VALUES.values())],
    "polars": of_polars,
    "arrow": of_arrow,
    "batch": lambda: of_arrow().to_batches()[0],
    "pandas on arrow": lambda: of_arrow().to_pandas(types_mapper=pd.ArrowDtype),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_columns_are_read_alike(maker):
    table = read_table(MAKERS[maker]())
    assert table.n_rows == 3
    assert table.names in (None, list(VALUES))
    columns = dict(zip(VALUES, table.columns))
    for name, (kind, numbers, words) in EXPECTED.items():
        assert columns[name].kind == kind, name
        if numbers is not None:
            np.testing.assert_array_equal(columns[name].numbers(), numbers)
        got = columns[name].words()
        assert got.dtype == object
        assert [None if word is None else word.removesuffix("T00:00:00") for word in got] == words, name
    for name, times in TIMES.items():
        assert columns[name].kind == DATES, name
        np.testing.assert_array_equal(columns[name].dates(), np.array(times, dtype="datetime64[us]"))


def test_what_is_no_number_is_named():
    table = read_table(pd.DataFrame({"age": ["old", 3]}, dtype=object))
    assert table.columns[0].kind == WORDS
    with pytest.raises(ValueError, match="column 'age' must hold numbers; it has 'old'"):
        table.columns[0].numbers()
    with pytest.raises(ValueError, match="column 'age' must hold dates; it has 'old'"):
        table.columns[0].dates()
    with pytest.raises(ValueError, match="column 'x' has an integer beyond"):
        read_table(pd.DataFrame({"x": [10**400]}, dtype=object)).columns[0].numbers()


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"t": pd.to_timedelta([1, 2], unit="s")}),
        pd.DataFrame({"t": [[1], [2]]}),
        pd.DataFrame({"t": [1 + 2j, 1j]}),
        pl.DataFrame({"t": [[1], [2]]}),
        pl.DataFrame({"t": [datetime.timedelta(3)]}),
        np.array([[b"bytes"]], dtype=object),
    ],
)
def test_columns_of_other_kinds_are_refused(frame):
    with pytest.raises(ValueError, match="column ('t'|0) holds .*: columns hold numbers, words or dates"):
        _ = read_table(frame).columns[0].kind


def test_tables_that_are_none():
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        read_table([1, 2])
    with pytest.raises(ValueError, match=r"Rows are dicts: give pandas\.DataFrame\(rows\)\.$"):
        read_table([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}])
    with pytest.raises(ValueError, match=r"series\.to_frame\(\) is one column"):
        read_table(pd.Series(["a text", "another"]))
    with pytest.raises(ValueError, match="Complex data not supported"):
        read_table(np.array([[1j]]))
    with pytest.raises(TypeError, match="no positions"):
        read_table({1, 2})


def test_sparse_rows_stay_sparse():
    X = sparse.coo_array(np.eye(3))
    table = read_table(X)
    assert table.array.format == "csr"
    assert len(table.columns) == 3


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (1.0, "1"),
        (np.float64(2.0), "2"),
        (1.25, "1.25"),
        (True, "True"),
        (np.bool_(False), "False"),
        (np.str_("x"), "x"),
        (Decimal("3.0"), "3"),
        (Decimal("1.10"), "1.1"),
        (Decimal("-0.00"), "0"),
        (Decimal("-0.50"), "-0.5"),
        (Decimal("1E+3"), "1000"),
        (Decimal("1E-7"), "0.0000001"),
        (Decimal("0." + "123456789" * 4), "0." + "123456789" * 4),
        (Decimal("Infinity"), "Infinity"),
        ("café".encode(), "café"),
        (np.bytes_(b"a\nb"), "a\nb"),
        (bytearray(b"a"), "a"),
        (memoryview(b"a"), "a"),
        (float("inf"), "inf"),
        (NAN, None),
        (pd.NA, None),
        (pd.NaT, None),
        (10**400, "1" + "0" * 400),
        (DAY, "2024-02-29"),
        (NOON, "2024-02-29T12:30:00"),
        (NOON.replace(microsecond=500_000), "2024-02-29T12:30:00.500000"),
        (np.datetime64("12024-02-29T12:30"), "12024-02-29T12:30:00"),
    ],
)
def test_words(value, word):
    got = as_word(value)
    assert got == word
    assert got is None or type(got) is str


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_date_is_one_word_in_a_frame_and_as_an_array_of_any_unit(unit):
    dates = np.array([["2024-02-29"], ["2024-03-01T12:30"], ["NaT"]], dtype=f"datetime64[{unit}]")
    of_polars = pl.Series("x", dates[:, 0].astype("datetime64[us]")).cast(pl.Datetime)
    for X in (dates, list(dates), pd.DataFrame(dates), of_polars.to_frame()):
        assert read_table(X).columns[0].words().tolist() == ["2024-02-29T00:00:00", "2024-03-01T12:30:00", None]
    assert as_word(dates.astype("datetime64[D]")[0, 0]) == "2024-02-29"


def test_bytes_that_are_not_utf_8_are_no_word():
    with pytest.raises(UnicodeDecodeError, match="'utf-8' codec can't decode byte 0xe9"):
        as_word("café".encode("latin-1"))


def tables_of(name, values):
    """Return a column as a pandas frame, a polars frame and, if pyarrow can be imported, an Arrow table."""
    tables = [pd.DataFrame({name: pd.Series(values, dtype=object)}), pl.DataFrame({name: values})]
    with suppress(ImportError):  # pyarrow may need a newer NumPy
        import pyarrow

        tables.append(pyarrow.table({name: values}))
    return tables


def test_decimals_are_the_same_words_in_all_libraries():
    """Arrow and polars store all values of a column with the same number of decimals."""
    for table in tables_of("q", [Decimal("1.1"), None, Decimal("2.25"), Decimal("3")]):
        assert read_table(table).columns[0].words().tolist() == ["1.1", None, "2.25", "3"]


def test_bytes_are_words_in_utf_8_for_encoders():
    rows = [[b"caf\xc3\xa9", "x"], ["b", b"y"], [b"a\nb", "z"]]
    for given in (rows, np.array(rows, dtype=object)):
        first, second = read_table(given).columns
        assert first.words().tolist() == ["café", "b", "a\nb"]
        assert second.words().tolist() == ["x", "y", "z"]
    for table in tables_of("w", [b"caf\xc3\xa9", None, b"a\nb"] * 30):
        [column] = read_table(table).columns
        codes, words = column.coded()
        assert [words[code] for code in codes] == column.words().tolist() == ["café", None, "a\nb"] * 30
        with pytest.raises(ValueError, match="column 'w' holds .*: columns hold numbers, words or dates"):
            _ = column.kind


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (pd.cut([0.0, 7.0, np.nan, 6.0], [-1, 2, 5, 7]), ["(-1, 2]", "(5, 7]", None, "(5, 7]"]),
        (pd.Categorical(pd.PeriodIndex(["2024-02", "2024-01"], freq="M")), ["2024-02", "2024-01"]),
    ],
)
def test_bins_and_periods_of_pandas_are_the_same_words_in_arrow(values, words):
    pa = pytest.importorskip("pyarrow", exc_type=ImportError)
    frame = pd.DataFrame({"bin": values})
    table = pa.Table.from_pandas(frame)
    for rows in (frame, table, table.to_batches()[0]):
        [column] = read_table(rows).columns
        assert column.kind == WORDS
        assert column.words().tolist() == words
        codes, stand_for = column.coded()
        assert [stand_for[code] for code in codes] == words


@pytest.mark.parametrize("values", [pd.to_timedelta([1, 2], unit="D"), [(1, 2), (3,)]])
def test_categories_that_arrow_writes_in_other_words_are_refused(values):
    pa = pytest.importorskip("pyarrow", exc_type=ImportError)
    [column] = read_table(pa.Table.from_pandas(pd.DataFrame({"t": pd.Categorical(values)}))).columns
    for read in (lambda: column.kind, column.coded):
        with pytest.raises(ValueError, match="column 't' holds dictionary.*: columns hold numbers, words or dates"):
            read()


@pytest.mark.parametrize("name", [np.nan, pd.NaT, pd.NA])
def test_names_that_are_not_equal_to_themselves_are_refused(name):
    frame = pd.DataFrame([[1.0, 2.0]], columns=pd.Index(["a", name], dtype=object))
    with pytest.raises(ValueError, match=f"X has a column named {name}; give it another name"):
        read_table(frame)
    assert read_table(pd.DataFrame([[1.0]], columns=pd.Index([None], dtype=object))).names == [None]


def many_words():
    """Return a column of words, some of them missing, and tables of all libraries that hold it."""
    words = np.resize(np.array(["b", "a", None, "c"], dtype=object), 60)
    column = pd.Series(words)
    tables = [words[:, None], column.to_frame("w"), column.astype("category").to_frame("w")]
    tables += [pl.DataFrame({"w": words.tolist()}), column.astype("string").to_frame("w")]
    tables.append(pl.DataFrame({"w": words.tolist()}, schema={"w": pl.Categorical}))
    try:
        import pyarrow
    except ImportError:  # pyarrow may need a newer NumPy
        return words, tables
    plain = pyarrow.array(words)
    chunks = pyarrow.chunked_array([plain[:7].dictionary_encode(), plain[7:].dictionary_encode()])
    codes = pyarrow.array([None if word is None else "abc".index(word) for word in words], pyarrow.uint8())
    small = pyarrow.DictionaryArray.from_arrays(codes, ["a", "b", "c"])
    tables += [pyarrow.table({"w": values}) for values in (plain, plain.dictionary_encode(), chunks, small)]
    tables.append(pd.DataFrame({"w": column.astype(pd.ArrowDtype(pyarrow.string()))}))
    return words, tables


def test_words_by_number():
    words, tables = many_words()
    for table in tables:
        column = read_table(table).columns[0]
        for rows, expected in ((column, words), (column.head(), words[:1])):
            codes, stand_for = rows.coded()
            assert [stand_for[code] for code in codes] == expected.tolist() == rows.words().tolist()
            assert set(codes.tolist()) == set(range(len(stand_for)))


@pytest.mark.parametrize(("n_words", "n_rows"), [(0, 0), (0, 5), (1, 1), (3, 5), (3, 400), (30, 10), (30, 4000)])
@pytest.mark.parametrize("least", [0, -1])
@pytest.mark.parametrize("lacking", [0, 2])
def test_words_by_number_are_those_that_are_there(n_words, n_rows, least, lacking, rng):
    dictionary = [f"w{k}" for k in range(n_words)]
    codes = rng.integers(least, max(n_words - lacking, least + 1), n_rows) if least < n_words else np.full(n_rows, -1)
    if n_rows > 10:
        codes[-1] = max(n_words - 1, least)  # a word that may occur in the last row only
    found, words = _present(codes, pd.Index(dictionary, dtype=object))
    expected = [None if code < 0 else dictionary[code] for code in codes]
    assert [words[code] for code in found] == expected
    assert sorted(words, key=str) == sorted(set(expected), key=str)


def test_words_that_views_of_arrow_have_no_more():
    """Polars exports categories as string views, from which pyarrow cannot take entries."""
    pa = pytest.importorskip("pyarrow", exc_type=ImportError)
    words = pa.array(["a", "b", "c"]).cast(pa.string_view())
    table = pa.table({"w": pa.DictionaryArray.from_arrays(pa.array([2, 0, 2], pa.int32()), words)})
    [column] = read_table(table).columns
    assert column.words().tolist() == ["c", "a", "c"]
    [column] = read_table(pl.DataFrame({"w": pl.Series(["a", "b", "a"], dtype=pl.Categorical)})[1:].to_arrow()).columns
    assert column.words().tolist() == ["b", "a"]


@pytest.mark.parametrize(
    "written",
    [
        *(b"{not json", b"\xff\xfe", b"null", b"[]", b'{"columns": null}', b'{"columns": ["a"]}'),
        b'{"columns": [{"pandas_type": "categorical", "field_name": "a"}]}',
        b'{"columns": [{"pandas_type": "categorical", "name": ["a"]}]}',
    ],
)
def test_what_others_write_in_place_of_pandas_is_left_alone(written):
    pa = pytest.importorskip("pyarrow", exc_type=ImportError)
    table = pa.table({"a": [1, 2, 3]}).replace_schema_metadata({b"pandas": written})
    [column] = read_table(table).columns
    assert column.kind == "numbers"
    assert not column.is_nominal


@pytest.mark.parametrize("ordered", [False, True])
def test_categories_of_a_frame_are_words_in_its_parquet_file(ordered):
    pa = pytest.importorskip("pyarrow", exc_type=ImportError)
    parquet = pytest.importorskip("pyarrow.parquet")
    frame = pd.DataFrame({"zip": pd.Categorical([101, 202, 101], ordered=ordered)})
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_pandas(frame), sink)
    for table in (frame, pa.Table.from_pandas(frame), parquet.read_table(pa.BufferReader(sink.getvalue()))):
        [column] = read_table(table).columns
        assert column.kind == "words"
        assert column.is_nominal == (not ordered)
        assert column.words().tolist() == ["101", "202", "101"]
        codes, words = column.coded()
        assert [words[code] for code in codes] == ["101", "202", "101"]


def test_categories_that_have_become_numbers_are_numbers():
    pa = pytest.importorskip("pyarrow", exc_type=ImportError)
    table = pa.Table.from_pandas(pd.DataFrame({"a": pd.Categorical([1, 2, 3])}))
    assert read_table(table).columns[0].is_nominal
    numbers = table.column("a").chunk(0).dictionary_decode().cast(pa.float64())
    assert not read_table(table.set_column(0, "a", numbers)).columns[0].is_nominal
    [column] = read_table(table.set_column(0, "a", numbers.cast(pa.int64()))).columns  # as in some files
    assert (column.kind, column.head().kind) == (WORDS, WORDS)
    assert column.is_nominal == column.head().is_nominal


@pytest.mark.parametrize("n_unused", [0, 9])
def test_categories_are_taken_apart_by_what_rows_have(n_unused):
    entries = [1, "x", 2.5, *range(20, 20 + n_unused)]
    column = read_table(pd.DataFrame({"c": pd.Categorical([2.5, "x", 1, 1], entries)})).columns[0]
    parts = {part.kind: (np.flatnonzero(rows).tolist(), part.words().tolist()) for rows, part in column.apart()}
    assert parts == {NUMBERS: ([0, 2, 3], ["2.5", "1", "1"]), WORDS: ([1], ["x"])}


def test_numbers_beside_dates_are_words_as_they_are_beside_words():
    values = [datetime.date(2023, 2, 1), 5, None, 2.5]
    [column] = read_table(pd.DataFrame({"a": pd.Series(values, dtype=object)})).columns
    assert (column.kind, column.words().tolist()) == (WORDS, ["2023-02-01", "5", None, "2.5"])
    parts = {part.kind: (np.flatnonzero(rows).tolist(), part.words().tolist()) for rows, part in column.apart()}
    assert parts == {NUMBERS: ([1, 3], ["5", "2.5"]), DATES: ([0], ["2023-02-01"]), EMPTY: ([2], [None])}
