"""Each row of a CSV file is read, or named in an error."""

import bz2
import gzip
import itertools
import warnings

import numpy as np
import pytest

from sklearn_nag import NAGRegressor
from sklearn_nag.preprocessing import DateEncoder, prepare
from sklearn_nag.streams import _csv, fit_stream, read_batches
from sklearn_nag.streams._features import _few_that_are_no_numbers

from ..pairs import every_pair

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow", exc_type=ImportError)  # pyarrow may need a newer NumPy

PACKINGS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}


class Kept:
    """A transformer that returns the frame it is given."""

    def transform(self, frame):
        return frame


@pytest.fixture
def csv_file(tmp_path):
    """Return a function that writes a text, compressed as the suffix says, and returns the path."""

    def write(text, name="rows.csv"):
        packing = "." + name.rpartition(".")[2] if name.endswith(("gz", "bz2")) else ""
        (tmp_path / name).write_bytes(PACKINGS[packing](text.encode()))
        return tmp_path / name

    return write


@pytest.fixture(params=["whole", "in small blocks"])
def blocks(request, monkeypatch):
    """Use blocks of the usual size, or small ones that end somewhere within quotes."""
    if request.param != "whole":
        monkeypatch.setattr(_csv, "_BLOCK", 50)
        monkeypatch.setattr(_csv, "_SAMPLE", 60)


def frame_of(path, **options):
    return pd.concat([X for X, *_ in read_batches(path, transformer=Kept(), **options)], ignore_index=True)


def lines(n=300, **others):
    """Return a header and rows "i,0,word" as lines; `others` replace some of the rows."""
    return ["a,y,word", *(others.get(f"row_{i}", f"{i},0,word") for i in range(1, n + 1))]


BROKEN = [
    (51, '50,0,"broken'),  # in the last column
    (51, '"50,0,x'),
    (51, '50,"0,x'),
    (51, '50,0,"broken" quote'),
    (1, '0,0,"broken'),
    (300, '299,0,"broken'),
    (300, '299,0,"broken""'),
    (300, '299,0,"'),
]


@pytest.mark.parametrize(
    ("broken", "line_end", "name"),
    every_pair(
        itertools.product(BROKEN, ["", "\n"]), ["\n", "\r\n", "\r"], ["rows.csv", "rows.csv.gz", "rows.csv.bz2"]
    ),
)
def test_an_open_quote_is_an_error_that_names_file_and_row(broken, line_end, name, csv_file, blocks):
    (row, text), last = broken
    content = line_end.join(lines(**{f"row_{row}": text})) + (line_end if last else "")
    path = csv_file(content, name)
    seen = []
    with pytest.raises(ValueError, match=rf"{name} cannot be read: its data row {row} (opens|has) a quote"):
        seen.extend(len(X) for X, _ in read_batches(path, "y", columns=["a"]))
    assert sum(seen) == row - 1


def test_an_open_quote_that_a_later_one_closes_is_an_error(csv_file, blocks):
    path = csv_file("\n".join(lines(row_51='50,0,"broken', row_250='249,0,"whole"')))
    with pytest.raises(ValueError, match=r"rows\.csv cannot be read: its data row 51 has a quote"):
        list(read_batches(path, "y"))


def test_an_open_quote_does_not_take_memory_without_bound(csv_file):
    path = csv_file("\n".join(lines(200_000, row_51='50,0,"broken')))
    with pytest.raises(ValueError, match="row 51 has more than 100000 bytes; it opens a quote that is not closed with"):
        list(read_batches(path, "y", max_row_bytes=100_000))


@pytest.mark.parametrize(
    ("bom", "last", "line_end", "name"),
    every_pair(["", "\ufeff"], ["", "\n"], ["\n", "\r\n", "\r"], ["rows.csv", "rows.csv.gz"]),
)
def test_quotes_that_are_closed(bom, last, line_end, name, csv_file, blocks):
    """Line ends, delimiters and quotes within quotes, and quotes inside a field, are read as by the csv module."""
    words = [
        f"one{line_end}two{line_end}{line_end}three",
        'say "x", "y"',
        "",
        '""',
        "plain",
        'a 5" pipe',
        "\ufeffx",
        '"',
    ]
    frame = pd.DataFrame({'"a"': np.arange(200.0), "word": words * 25})
    fields = ['"' + word.replace('"', '""') + '"' for word in words]
    fields[5] = words[5]
    rows = [f"{i},{fields[i % 8]}" for i in range(200)]
    path = csv_file(bom + line_end.join(['"""a""",word', *rows]) + (line_end if last else ""), name)
    got = frame_of(path)
    pd.testing.assert_frame_equal(got.fillna(""), frame, check_dtype=False)


def test_rows_in_front_of_a_bad_one_have_been_read(csv_file):
    path = csv_file("\n".join(lines(300_000, row_299000='299000,0,"broken')))
    seen = []
    with pytest.raises(ValueError, match="its data row 299000 opens a quote"):
        seen.extend(len(y) for _, y in read_batches(path, "y", columns=["a"]))
    assert sum(seen) == 298_999


@pytest.mark.parametrize(("text", "n_fields"), [("1,2", 2), ("1,2,3,4", 4), ("1", 1)])
def test_a_row_of_another_length_is_named(text, n_fields, csv_file, blocks):
    path = csv_file("\n".join([*lines(row_51=text), "", ""]))
    message = rf"rows\.csv cannot be read: its data row 51 has {n_fields} fields, but its header has 3\."
    with pytest.raises(ValueError, match=message):
        list(read_batches(path, "y"))


def test_a_word_among_numbers_is_named(csv_file, monkeypatch):
    monkeypatch.setattr(_csv, "_SAMPLE", 60)
    path = csv_file("\n".join(["a,b,y", *["1,2,0"] * 200, "3,four,1"]))
    with pytest.raises(ValueError, match=r"rows\.csv cannot be read: column 'b', data row 201: .*'four'.* first 4 MiB"):
        list(read_batches(path, "y"))


@pytest.mark.parametrize("columns", [None, ["b"], ["a"]])
def test_two_columns_of_one_name(columns, csv_file):
    path = csv_file("a,b,a,y,y\n1,2,3,4,5\n")
    message = r"rows\.csv has 2 columns '(a|y)'; names must differ"
    with pytest.raises(ValueError, match=message):
        list(read_batches(path, "y", columns=columns))
    with pytest.raises(ValueError, match=message):
        list(read_batches(path, columns=["b", "a"]))
    ((rows, y),) = read_batches(csv_file("a,b,a,y\n1,2,3,4\n"), "y", columns=["b"])  # the others are not asked for
    assert rows.tolist() == [[2.0]]
    assert y.tolist() == [4.0]


@pytest.mark.parametrize("others", [["7", "8"], ["0.5", "1e300"]])
def test_whole_numbers_that_float64_does_not_have(others, csv_file, blocks):
    path = csv_file(
        "\n".join(["a,y", *(f"1,{word}" for word in others * 50), "2,9007199254740992", "3,9007199254740993"])
    )
    with pytest.raises(ValueError, match="its data row 102 has the target 'y' 9007199254740993, a whole number"):
        list(read_batches(path, "y"))
    with pytest.raises(ValueError, match="data row 102 has the target 'y'"):
        list(read_batches(path, ["a", "y"]))
    path = csv_file("a,y\n9007199254740993,9007199254740993.0\n2,1e31\n3,-9007199254740994\n")  # a quantity
    rows, y = map(np.concatenate, zip(*read_batches(path, "y")))
    assert rows.tolist() == [[2.0**53], [2.0], [3.0]]
    assert y.tolist() == [2.0**53, 1e31, -(2.0**53 + 2)]


@pytest.mark.parametrize("frames", [False, True])
def test_hexadecimal_numbers_are_words(frames, csv_file, blocks):
    path = csv_file("colour,x,y\n" + "".join(f"{'-' * (i == 7)}0{'xX'[i % 2]}{i:02X},{i},{i % 2}\n" for i in range(50)))
    rows = list(read_batches(path, "y", frames=frames, n_hashed=64))
    assert sum(X.shape[0] for X, _ in rows) == 50
    if frames:
        assert rows[0][0].column("colour").to_pylist()[:2] == ["0x00", "0X01"]
    y = np.concatenate([y for _, y in read_batches(path, "colour", frames=frames)])
    assert y[:8].tolist() == ["0x00", "0X01", "0x02", "0X03", "0x04", "0X05", "0x06", "-0X07"]
    for mark in "xX":  # all with the same prefix
        ((_, y),) = read_batches(csv_file(f"a,y\n1,0{mark}1F\n2,0{mark}20\n", "alike.csv"), "y", frames=frames)
        assert y.tolist() == [f"0{mark}1F", f"0{mark}20"]
    sizes = [X.column("x").to_pylist() for X, _ in read_batches(path, "colour", frames=True)]
    assert [*itertools.chain(*sizes)][:2] == [0.0, 1.0]


def test_an_empty_line_in_a_file_of_one_column_is_a_missing_value(csv_file, blocks):
    path = csv_file("a\n1\n2\n\n4\n")
    with pytest.raises(ValueError, match=r"column 'a' has missing values in .*rows\.csv, data row 3: "):
        list(read_batches(path))
    assert list(read_batches(csv_file("a,b\n\n\r"))) == []
    got = frame_of(csv_file("\n\nword\r\nx\r\n\r\ny\r\n"))
    assert got["word"].fillna("none").tolist() == ["x", "none", "y"]
    got = frame_of(csv_file("word,a\n\nx,1\n\n\ny,2\n\n"))  # no row if rows have a delimiter
    assert got["word"].tolist() == ["x", "y"]


def test_rows_wider_than_a_block(csv_file, monkeypatch):
    monkeypatch.setattr(_csv, "_BLOCK", 2**12)
    monkeypatch.setattr(_csv, "_SAMPLE", 2**13)
    n = 2_000
    header = ",".join(f"column_{i}" for i in range(n))
    rows = np.random.default_rng(0).normal(size=(7, n))
    text = [",".join(map(repr, row.tolist())) for row in rows]
    assert min(len(header), *map(len, text)) > 2 * 2**13
    path = csv_file("\n".join([header, *text]))
    np.testing.assert_array_equal(np.concatenate([X for X, _ in read_batches(path)]), rows)
    with pytest.raises(ValueError, match=r"its header has more than 20000 bytes; .* give a larger max_row_bytes"):
        list(read_batches(path, max_row_bytes=20_000))
    with pytest.raises(ValueError, match=r"its data row 1 has more than 30000 bytes; .* give a larger max_row_bytes"):
        list(read_batches(path, max_row_bytes=30_000))


def test_a_header_of_more_than_4_mib(csv_file):
    names = [f"{'long' * 10_000}{i}" for i in range(120)]
    path = csv_file(",".join(names) + "\n" + ",".join(["1"] * 120) + "\n")
    assert path.stat().st_size > 2**22
    ((rows, y),) = read_batches(path, names[0])
    assert rows.shape == (1, 119)
    assert y.tolist() == [1.0]


@pytest.mark.parametrize("n_columns", [3, _csv._MANY + 1])
def test_types_of_many_columns_are_those_of_few(n_columns, csv_file):
    rows = [["1", "true", "word"], ["2.5", "false", "3"], ["-0", "true", "4"]]
    filling = [["5"] * (n_columns - 3)] * 3
    names = [f"c{i}" for i in range(n_columns)]
    text = [",".join(a + b) for a, b in zip(rows, filling)]
    got = frame_of(csv_file("\n".join([",".join(names), *text])))
    assert got["c0"].tolist() == [1.0, 2.5, 0.0]
    assert np.signbit(got["c0"].to_numpy()).tolist() == [False, False, True]
    assert got["c1"].tolist() == [True, False, True]
    assert got["c2"].tolist() == ["word", "3", "4"]
    with pytest.raises(ValueError, match="has no value of column 'c1' in .*: fill it in, or leave it out by columns"):
        list(read_batches(csv_file("\n".join([",".join(names), *[",".join(["1", "", *["2"] * (n_columns - 2)])] * 2]))))


@pytest.mark.parametrize("block", range(3, 12))
def test_ends_of_lines_that_blocks_cut_are_single_ones(block, csv_file, monkeypatch):
    """A line end that a block cuts is one line end. In a file with one column, another would be a missing value."""
    monkeypatch.setattr(_csv, "_BLOCK", block)
    monkeypatch.setattr(_csv, "_SAMPLE", block)
    words = [f"w{i}" for i in range(30)]
    path = csv_file("\r\n".join(["word", *words]) + "\r\n")
    assert [word for X, _ in read_batches(path, frames=True) for word in X.column(0).to_pylist()] == words


@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_a_mark_of_byte_order_belongs_to_the_file_and_not_to_a_word(bom, csv_file, monkeypatch):
    monkeypatch.setattr(_csv, "_BLOCK", 9)
    path = csv_file(f"{bom}w,y\n\ufeffa,1\n\ufeffa,2\n\ufeffa,3\n")
    assert [X.columns[0].to_pylist() for X, _ in read_batches(path, "y", frames=True, batch_size=1)] == [
        ["\ufeffa"]
    ] * 3


@pytest.mark.parametrize("n_columns", [5, _csv._MANY + 1])
def test_frames_have_digits_with_leading_zeros_as_words(n_columns, csv_file):
    start = 12345678901234567890  # beyond int64
    columns = {
        "short": ["007", "", "12", "3"],
        "long": [f"0{start}", f" 0{start + 1}", '"?"', f"-{start}"],
        "number": ["007", "1.5", "2", "3"],
        "large": [f"{start}", "", "?", "0"],
        "signed": ["007", "+7", "", "-3"],
    }
    columns |= {f"c{i}": ["0", "10", "0.5", "100"] for i in range(n_columns - 5)}
    text = "\n".join([",".join(columns), *map(",".join, zip(*columns.values()))])
    path = csv_file(text)
    ((X, _),) = batches = read_batches(path, frames=True)
    assert X.column("short").to_pylist() == ["007", None, "12", "3"]
    assert X.column("long").to_pylist() == [f"0{start}", f" 0{start + 1}", "?", f"-{start}"]
    assert X.column("number").to_pylist() == [7.0, 1.5, 2.0, 3.0]
    assert X.column("large").to_pylist() == [float(start), None, None, 0.0]
    assert X.column("signed").to_pylist() == [7.0, 7.0, None, -3.0]
    assert {str(column.type) for column in X.columns[5:]} <= {"double"}
    assert batches.head().schema.names == [*columns]
    ((X, _),) = read_batches(path, frames=True, columns=["number", "large"])
    assert set(map(str, X.schema.types)) == {"double"}
    ((_, y),) = read_batches(path, "number", frames=True)
    assert y.tolist() == [7.0, 1.5, 2.0, 3.0]


@pytest.mark.parametrize(
    ("text", "has_one"),
    [(b"09,1\n", True), (b"1;00\n", True), (b'1\n"01"\n', True), (b"0.5\n10\n0\n", False), (b"100,0:1,a01\n", False)],
)
def test_fields_with_leading_zeros_are_seen(text, has_one):
    assert _csv._has_leading_zero(text, ";" if b";" in text else ",") == has_one


def test_a_later_file_has_words_where_the_first_has_digits_with_leading_zeros(csv_file):
    paths = [csv_file(f"code\n{number}\n", name) for name, number in (("a.csv", f"0{2**70}"), ("b.csv", "12"))]
    assert [X.column(0).to_pylist() for X, _ in read_batches(paths, frames=True)] == [[f"0{2**70}"], ["12"]]


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8"])
@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_delimiters_are_found_and_encodings_taken(tmp_path, mark, encoding):
    path = tmp_path / "rows.csv"
    lines = [["straße", '"a,;|b"', "y"], ["Allée", "1", "2"], ["", "3", "4"]]
    path.write_bytes("\n".join(mark.join(line) for line in lines).encode(encoding))
    ((X, y),) = read_batches(path, "y", frames=True, encoding=encoding)
    assert X.schema.names == ["straße", "a,;|b"]
    assert X.column(0).to_pylist() == ["Allée", None]
    np.testing.assert_array_equal(y, [2.0, 4.0])


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(("n_empty", "max_row_bytes"), [(1, 5), (30, 5), (30, 20), (2**17, 2**25)])
def test_the_delimiter_is_found_behind_empty_lines(csv_file, end, n_empty, max_row_bytes):
    text = end * n_empty + end.join(["a;b;y", "1;2;3", "4;5;6", ""])
    for start in ("", "\N{ZERO WIDTH NO-BREAK SPACE}"):
        X, y = map(np.concatenate, zip(*read_batches(csv_file(start + text), "y", max_row_bytes=max_row_bytes)))
        np.testing.assert_array_equal(X, [[1, 2], [4, 5]])
        np.testing.assert_array_equal(y, [3, 6])


@pytest.mark.parametrize("max_row_bytes", [1, 2, 20])
def test_files_of_empty_lines_only(csv_file, max_row_bytes):
    with pytest.raises(ValueError, match="Empty CSV file"):
        next(iter(read_batches(csv_file("\n" * 50), "y", max_row_bytes=max_row_bytes)))


def test_long_files_in_another_encoding(tmp_path, monkeypatch):
    monkeypatch.setattr(_csv, "_PEEK", 11)
    monkeypatch.setattr(_csv, "_BLOCK", 7)
    path = tmp_path / "rows.csv"
    words = [f"é{i}" for i in range(300)]
    path.write_bytes(("w;y\n" + "".join(f"{word};{i}\n" for i, word in enumerate(words))).encode("utf-16"))
    batches = list(read_batches(path, "y", frames=True, encoding="utf-16"))
    assert [word for X, _ in batches for word in X.column(0).to_pylist()] == words
    np.testing.assert_array_equal(np.concatenate([y for _, y in batches]), np.arange(300))
    with pytest.raises(ValueError, match=r"rows\.csv cannot be read: .*codec can't decode"):
        list(read_batches(path, "y", encoding="ascii"))


@pytest.mark.parametrize("encoding", ["klingon", None, "hex"])
def test_encodings_that_are_none(csv_file, encoding):
    with pytest.raises(ValueError, match="there is no encoding"):
        read_batches(csv_file("a,y\n1,2\n"), "y", encoding=encoding)


def test_frames_have_columns_as_they_are(csv_file):
    path = csv_file("zip,day,empty,n,y\n01234,2024-02-29,,1,0\n10115,,,NA,1\n")
    ((X, _),) = batches = read_batches(path, "y", frames=True)
    assert [X.column(i).to_pylist()[0] for i in range(4)] == ["01234", pd.Timestamp("2024-02-29").date(), None, 1.0]
    assert X.column(3).to_pylist() == [1.0, None]
    assert batches.head().equals(batches.head(1))
    with pytest.raises(TypeError, match="these batches are not tables"):
        read_batches(path, "y", columns=["zip"]).head()
    with pytest.raises(ValueError, match="transformer must be None with frames=True"):
        read_batches(path, "y", frames=True, transformer=Kept())


def test_words_that_prepare_takes_as_missing_stay_in_columns_that_saved_models_know_as_words(csv_file):
    ((X, _),) = read_batches(csv_file("a,y\n1,0\nn.a.,1\n#DIV/0!,0\n"), "y", frames=True)
    assert X.column(0).to_pylist() == ["1", "n.a.", "#DIV/0!"]


def test_frames_have_words_from_a_field_on_that_is_no_number(csv_file, monkeypatch):
    monkeypatch.setattr(_csv, "_SAMPLE", 64)
    monkeypatch.setattr(_csv, "_BLOCK", 2**20)
    rows = [f"{i}.5,2024-01-{i % 28 + 1:02},1,none" for i in range(40)]
    rows += ["?,n/a,1,?", " ?,2024-02-01 10:30,2,NA", "7,2024-02-02,1,x", "abc,2024-02-03,1,y", "8,2024-02-04,2,z"]
    path = csv_file("\n".join(["a,b,c,d", *rows]) + "\n")
    tables = [X for X, _ in read_batches(path, "c", frames=True)]
    assert [type(table.column("a").type).__name__ for table in tables][-1] == "DictionaryType"
    *before, last = tables
    numbers = np.concatenate([table.column("a").to_numpy(zero_copy_only=False) for table in before])
    np.testing.assert_array_equal(numbers, [*(i + 0.5 for i in range(40)), np.nan, np.nan, 7.0])
    assert last.column("a").to_pylist() == ["abc", "8"]
    assert last.column("d").to_pylist() == ["y", "z"]
    dates = [str(date)[:16] for table in before for date in table.column("b").to_pylist()]
    assert dates[-3:] == ["None", "2024-02-01 10:30", "2024-02-02 00:00"]
    words = [word for table in before for word in table.column("d").to_pylist()]
    assert words[-4:] == ["none", "?", None, "x"]  # in a column of words, these are words


def test_times_of_a_zone_are_what_its_clock_shows(csv_file, monkeypatch):
    monkeypatch.setattr(_csv, "_BLOCK", 500)
    monkeypatch.setattr(_csv, "_SAMPLE", 500)
    times = ["2024-06-01T00:30:00+02:00"] * 60
    times[40] = "2024-06-01T00:30:00.5+02:00"
    path = csv_file("\n".join(["at,pad", *(f"{time},{i}" for i, time in enumerate(times))]))
    hours = [DateEncoder(("hour",)).fit_transform(X).argmax(axis=1) for X, _ in read_batches(path, None, frames=True)]
    assert len(hours) > 2
    assert set(np.concatenate([hour[:, 0] if hour.ndim == 2 else hour for hour in hours])) == {0}


def test_targets_stay_what_they_are_in_the_first_rows(csv_file, monkeypatch):
    monkeypatch.setattr(_csv, "_SAMPLE", 64)
    path = csv_file("\n".join(["a,y", *(f"{i},{i}.5" for i in range(40)), "40,late", "41,1"]))
    with pytest.raises(ValueError, match="column 'y', data row 41: .*'late'"):
        list(read_batches(path, "y", frames=True))


def test_missing_numbers_may_have_blanks_before_them(csv_file, monkeypatch):
    monkeypatch.setattr(_csv, "_SAMPLE", 64)
    path = csv_file("\n".join(["a,y", *(f"{i}.5,1" for i in range(40)), "   n/a,1", "   ,1", "7,1"]))
    tables = [X for X, _ in read_batches(path, "y", frames=True)]
    assert {str(X["a"].type) for X in tables} == {"double"}
    assert [value for X in tables for value in X["a"].to_pylist()][39:] == [39.5, None, None, 7.0]


def test_times_of_the_day_are_words(csv_file):
    ((X, _),) = read_batches(csv_file("at,y\n10:30:00,1\n23:59:59,2\n"), "y", frames=True)
    assert X["at"].to_pylist() == ["10:30:00", "23:59:59"]
    assert prepare(X)["columns"].fit_transform(X).toarray()[:, 0].tolist() == [10.5 / 24, 86399 / 86400]


def test_booleans_before_and_behind_another_word_are_such(csv_file, monkeypatch):
    monkeypatch.setattr(_csv, "_BLOCK", 300)
    monkeypatch.setattr(_csv, "_SAMPLE", 300)
    truths = np.arange(200) % 3 == 0
    words = np.where(truths, "True", "False").astype(object)
    words[150] = "maybe"
    path = csv_file("\n".join(["c,pad", *(f"{word},{i}" for i, word in enumerate(words))]))
    batches = read_batches(path, None, frames=True, columns=["c"])
    pipeline = prepare(batches.head(50), mismatch="fill")
    with pytest.warns(UserWarning, match="'c'"):
        read = np.concatenate([pipeline.partial_fit(X).transform(X)[:, 0] for X, _ in batches])
    assert np.flatnonzero(read != truths).tolist() == [150]
    with pytest.raises(ValueError, match="'c'.*'maybe'"):
        fit_stream(prepare(batches.head(50), NAGRegressor()), read_batches(path, "pad", frames=True))


def test_only_columns_with_something_else_become_words(csv_file, monkeypatch):
    monkeypatch.setattr(_csv, "_SAMPLE", 64)
    rows = [f"{i}.5,2024-01-{i % 28 + 1:02},1" for i in range(20)]
    path = csv_file("\n".join(["a,b,c", *rows, "1_000,2024-02-01 10:30,1", "?,2024-02-02,1"]) + "\n")
    last = [X for X, _ in read_batches(path, "c", frames=True)][-1]
    assert last.column("a").to_pylist() == ["1_000", "?"]
    assert str(last.column("b").type) == "timestamp[us]"


@pytest.mark.parametrize("frames", [False, True])
def test_words_stay_words_where_they_look_like_numbers(csv_file, frames):
    first, second = csv_file("v,y\nbeta,1\n1.10,2\n", "a.csv"), csv_file("v,y\n1.10,3\n1.1,4\n", "b.csv")

    def rows(sources, **options):
        tables = [X for X, _ in read_batches(sources, "y", frames=frames, **options)]
        if not frames:
            return [X.nnz if hasattr(X, "nnz") else None for X in tables], np.vstack([X.toarray() for X in tables])
        return [value for X in tables for value in X.column("v").to_pylist()]

    if frames:
        assert rows([first, second]) == ["beta", "1.10", "1.10", "1.1"]
        assert rows(second, words=["v"]) == ["1.10", "1.1"]
        assert rows(second) == [1.1, 1.1]
    else:
        counts, hashed = rows([first, second])
        assert sum(counts) == 4
        assert (hashed[1] == hashed[2]).all()
        assert (hashed[2] != hashed[3]).any()
    with pytest.raises(TypeError, match="words is 'v'"):
        read_batches(second, "y", words="v")


@pytest.mark.parametrize("columns", [None, ["zip"]])
def test_words_that_are_no_column(csv_file, columns):
    path, later = csv_file("zip,x,y\n1,2,0\n"), csv_file("zip,y\n2,1\n", "later.csv")
    for words in ["zpi"], ["zip", "zpi"], ["ZIP"]:
        with pytest.raises(ValueError, match=rf"rows\.csv has no column '{words[-1]}'; its columns are 'zip', "):
            list(read_batches(path, "y", words=words, columns=columns, frames=True))
    (X, _), *others = read_batches([path, later], "y", words=["zip", "x"], columns=["zip"], frames=True)
    assert [X["zip"].to_pylist(), *(more["zip"].to_pylist() for more, _ in others)] == [["1"], ["2"]]
    settings = [read_batches(path, "y", words=words).settings for words in (["zip", "x"], ["x", "zip"])]
    assert settings[0] == settings[1]  # so a checkpoint recognises them
    assert [y.tolist() for _, y in read_batches(path, "y", words=["y"], columns=columns)] == [["0"]]


def test_a_stray_word_among_numbers_is_told_of(csv_file):
    lines = [f"{i / 7},{i % 2}" for i in range(500)]
    path = csv_file("\n".join(["a,y", *lines[:400], "oops,1", *lines[400:]]))
    with pytest.warns(UserWarning, match="column 'a' holds words, because it has 'oops' among its numbers"):
        list(read_batches(path, "y"))
    with pytest.warns(UserWarning, match="oops") as told:
        list(read_batches(path, "y", batch_size=200))
    assert len(told) == 1
    with warnings.catch_warnings(action="error"):  # the caller knows that they are words
        list(read_batches(path, "y", words=["a"]))
    for n in 98, 99:  # up to a hundred words with "oops", too few to judge
        short = csv_file("\n".join(["a,y", *(f"{i}.5,0" for i in range(n)), "oops,1", "0.5,1"]))
        with warnings.catch_warnings(record=True, action="always") as told:
            list(read_batches(short, "y"))
        assert len(told) == 0
    for n, others in (198, ["oops", "ouch"]), (197, []):  # one in a hundred, and more
        assert _few_that_are_no_numbers([*map(str, range(n)), "oops", "ouch"]) == others
