"""Words that are numbers, written as people write them."""

import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_nag.preprocessing import NumberReader, OnlineColumnTransformer
from sklearn_nag.preprocessing._numbers import NumberForm, mark_of, read_number, unit_of

from ..checks import run_check

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")


@parametrize_with_checks([NumberReader()])
def test_scikit_learns_checks(estimator, check):
    run_check(check, estimator, {"check_dtype_object": "the error is there, in other words"})


@pytest.mark.parametrize(
    ("word", "decimal", "thousands", "number"),
    [
        ("3", ".", None, 3.0),
        (" -3.25 ", ".", None, -3.25),
        ("+.5", ".", None, 0.5),
        ("1e-3", ".", None, 1e-3),
        ("$1,200.00", ".", ",", 1200.0),
        ("1,234,567", ".", ",", 1234567.0),
        ("-$3.50", ".", None, -3.5),
        ("$-3.50", ".", None, -3.5),
        ("\u22123.50", ".", None, -3.5),
        ("12.3 %", ".", None, 12.3),
        ("12 €", ".", None, 12.0),
        ("1.200,5", ",", ".", 1200.5),
        ("1 200,5 €", ",", " ", 1200.5),
        ("1\u202f200", ",", " ", 1200.0),
        ("1'200.5", ".", "'", 1200.5),
        ("US$1,200", ".", ",", 1200.0),
        ("-A$3.50", ".", None, -3.5),
        ("Rs. 1,200", ".", ",", 1200.0),
        ("1.234,50 kr", ",", ".", 1234.5),
        ("3 yRs", ".", None, None),
        ("3,14", ".", None, None),
        ("1,20", ".", ",", None),
        ("0,126", ".", ",", None),
        ("00,126", ".", ",", None),
        ("0,126", ",", None, 0.126),
        ("12,34,567", ".", ",", None),
        ("1200,000.5", ".", ",", None),
        ("--3", ".", None, None),
        ("-+3", ".", None, None),
        ("three", ".", None, None),
        ("nan", ".", None, None),
        ("inf", ".", None, None),
        ("1_000", ".", None, None),
        ("0x10", ".", None, None),
        ("", ".", None, None),
        ("$", ".", None, None),
    ],
)
def test_words(word, decimal, thousands, number):
    assert read_number(word, NumberForm(decimal, thousands)) == number


@pytest.mark.parametrize(
    ("word", "unit", "number"),
    [
        ("12 kg", "kg", 12.0),
        ("12kg ", "kg", 12.0),
        ("12", "kg", 12.0),
        ("-1.5 kg", "kg", -1.5),
        ("(3 kg)", "kg", -3.0),
        ("2 years", "year", 2.0),
        ("2 ms", "m", None),
        ("45 m2", "m2", 45.0),
        ("12 g", "kg", None),
        ("12 kg", "g", None),
        ("12 kg", None, None),
        ("kg", "kg", None),
        ("12 kg net", "kg", None),
    ],
)
def test_units(word, unit, number):
    assert read_number(word, NumberForm(unit=unit)) == number


@pytest.mark.parametrize(
    ("word", "number"),
    [
        ("1.4k", 1400.0),
        ("$2 M", 2e6),
        ("-3B", -3e9),
        ("773", 773.0),
        ("1.1K", 1100.0),
        ("1e3k", None),
        ("k", None),
        ("3m", None),
    ],
)
def test_magnitudes(word, number):
    assert read_number(word, NumberForm(magnitudes=True)) == number
    assert "k" in word or read_number(word, NumberForm()) in (None, number)


@pytest.mark.parametrize(
    ("word", "unit"),
    [
        ("12 kg", "kg"),
        (" -3.5km/h ", "km/h"),
        ("1 200 m2", "m2"),
        ("7°C", "°C"),
        ("$5 a head", "a head"),
        ("2h", "h"),
        ("4G", None),
        ("4 G", "G"),
        ("1.4k", "k"),
        ("9½", None),
        ("5²", None),
        ("45 m²", "m²"),
        ("2 x 3", None),
        ("5 ft 2", None),
        ("10-20", None),
        ("1:30", None),
        ("2h 30m", None),
        ("12", None),
        ("kg", None),
    ],
)
def test_units_that_are_found(word, unit):
    assert unit_of(word) == unit


@pytest.mark.parametrize(
    ("word", "mark"),
    [
        *[("$5", "$"), ("-US$5", "$"), ("5 USD", "$"), ("5€", "€"), ("Rs. 5", "Rs"), ("5 CHF", "CHF"), ("5 %", "%")],
        *[("5", "no mark"), ("5 hrs", "no mark")],
    ],
)
def test_marks(word, mark):
    assert mark_of(word) == mark


def test_readers_of_earlier_versions_know_no_units():
    state = NumberReader().fit([["1"]]).__getstate__()
    for parameters in (state, state["_begun_with"]):
        del parameters["unit"], parameters["magnitudes"]
    reader = NumberReader("x")
    reader.__setstate__(state)
    assert reader.learn_transform([["3"]]).tolist() == [[3.0]]
    assert clone(reader).unit is None


def test_columns():
    frame = pd.DataFrame({"price": ["$1,200", "?", None, " N/A "], "size": [1, 2, 3, 4]})
    reader = NumberReader(thousands=",")
    expected = [[1200.0, 1.0], [np.nan, 2.0], [np.nan, 3.0], [np.nan, 4.0]]
    for rows in (reader.fit_transform(frame), reader.learn_transform(frame), reader.transform(frame)):
        np.testing.assert_array_equal(rows, expected)
    assert list(reader.get_feature_names_out()) == ["price", "size"]
    with pytest.raises(ValueError, match="column 'price' must hold numbers; it has 'cheap'"):
        reader.transform(frame.assign(price="cheap"))
    with pytest.raises(ValueError, match="infinity in column 'size'"):
        reader.transform(frame.assign(size=np.inf))
    assert np.isnan(NumberReader(errors="missing").fit_transform([["cheap"]])).all()
    for rows in ([["1e999"], ["-1e999"]], [[np.inf], [-np.inf]]):
        assert np.isnan(NumberReader(errors="missing").fit_transform(rows)).all()


@pytest.mark.parametrize(
    ("reader", "message"),
    [
        (NumberReader(";"), "'decimal' parameter of NumberReader must be one of '.', ','"),
        (NumberReader(thousands="_"), "'thousands' parameter of NumberReader must be one of None, ','"),
        (NumberReader(thousands="."), "'thousands' parameter of NumberReader must be another mark than decimal='.'"),
        (NumberReader(unit=" "), "'unit' parameter of NumberReader must be a word, or None. Got ' '"),
        (NumberReader(unit=3), "'unit' parameter of NumberReader must be a word, or None. Got 3"),
        (NumberReader(errors="no"), "'errors' parameter of NumberReader must be one of 'raise', 'missing'"),
    ],
)
def test_wrong_parameters(reader, message):
    with pytest.raises(ValueError, match=message):
        reader.fit([["1"]])


MIXED = {
    "floats": [1.234, "2.000,5", None, 12.345, "?"],
    "decimals": [Decimal("1.234"), "2.000,5", np.float32(111.25), np.nan],
    "booleans": [True, "1.000", 2, np.False_, Fraction(1, 4)],
}


@pytest.mark.parametrize("values", MIXED.values(), ids=MIXED)
@pytest.mark.parametrize("container", [pd.DataFrame, np.array, pl.DataFrame])
@pytest.mark.parametrize("is_within", [False, True])
def test_numbers_beside_words_are_taken_as_they_are_however_the_rows_are_cut(values, container, is_within):
    rows = container(np.array(values, dtype=object)[:, None])
    reader = NumberReader(decimal=",", thousands=".")
    if is_within:
        reader = OnlineColumnTransformer([("read", reader, [0] if isinstance(rows, np.ndarray) else rows.columns)])
    whole = reader.fit_transform(rows)
    expected = [read_number(v, NumberForm(",", ".")) if isinstance(v, str) else v for v in values]
    np.testing.assert_array_equal(whole[:, 0], [np.nan if v is None else float(v) for v in expected])
    np.testing.assert_array_equal(np.vstack([reader.transform(rows[i : i + 1]) for i in range(len(values))]), whole)


def test_words_that_cannot_be_read_are_told_of_where_no_number_is_beside_them():
    words = ["cheap"] * 10
    with pytest.warns(UserWarning, match="holds no numbers in this table, but words such as 'cheap'"):
        NumberReader(errors="missing").fit_transform(pd.DataFrame({"a": [*words, None]}, dtype=object))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NumberReader(errors="missing").fit_transform(pd.DataFrame({"a": [*words, 1.5]}, dtype=object))


@pytest.mark.parametrize("values", [[1.234, 12.345, None], [1234, 5, 1234], [True, False, None]])
def test_numbers_in_a_dictionary_are_those_of_a_column(values):
    pa = pytest.importorskip("pyarrow", exc_type=ImportError)
    reader = NumberReader(decimal=",", thousands=".")
    expected = np.array(values, dtype=np.float64)[:, None]
    encoded = pa.array(values).dictionary_encode()
    for column in (pd.Categorical(values), pd.Categorical([*values, "2,5"])[:-1], pd.Series(encoded.to_pandas())):
        np.testing.assert_array_equal(reader.fit_transform(pd.DataFrame({"a": column})), expected)
    for column in (encoded, pa.chunked_array([encoded[:2], encoded[2:]])):
        np.testing.assert_array_equal(reader.fit_transform(pa.table({"a": column})), expected)
    categories = pa.Table.from_pandas(pd.DataFrame({"a": pd.Categorical(values)}))
    np.testing.assert_array_equal(reader.fit_transform(categories), expected)


@pytest.mark.parametrize("values", [pd.interval_range(0, 2), pd.period_range("2024", periods=2, freq="D")])
def test_categories_that_are_neither_numbers_nor_dates_are_words(values):
    frame = pd.DataFrame({"a": pd.Categorical(values)})
    assert np.isnan(NumberReader(errors="missing").fit_transform(frame)).all()
