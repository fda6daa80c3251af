"""Words that are numbers as people write them."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_nag.preprocessing import NumberReader
from sklearn_nag.preprocessing._numbers import read_number

pd = pytest.importorskip("pandas")


@parametrize_with_checks(
    [NumberReader()], expected_failed_checks=lambda _: {"check_dtype_object": "the error is there, in other words"}
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


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
    assert read_number(word, decimal, thousands) == number


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


@pytest.mark.parametrize(
    ("reader", "message"),
    [
        (NumberReader(";"), "'decimal' parameter of NumberReader must be one of '.', ','"),
        (NumberReader(thousands="_"), "'thousands' parameter of NumberReader must be one of None, ','"),
        (NumberReader(thousands="."), "'thousands' parameter of NumberReader must be another mark than decimal='.'"),
        (NumberReader(errors="no"), "'errors' parameter of NumberReader must be one of 'raise', 'missing'"),
    ],
)
def test_wrong_parameters(reader, message):
    with pytest.raises(ValueError, match=message):
        reader.fit([["1"]])
