"""Dates as numbers."""

import datetime
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_nag.preprocessing import (
    DateEncoder,
    OnlineColumnTransformer,
    OnlineImputer,
    _dates,
    _numbers,
    make_online_pipeline,
)
from sklearn_nag.preprocessing._dates import PARTS

from ..checks import run_check
from .helpers import of_parameters

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
NOON = datetime.datetime(2024, 2, 29, 12, 30)


@of_parameters(parametrize_with_checks([DateEncoder(), DateEncoder(("weekday",)), DateEncoder(one_hot=False)]))
def test_scikit_learns_checks(estimator, check):
    run_check(check, estimator, {"check_dtype_object": "the error is there, in other words"})


@settings(max_examples=40, deadline=None)
@given(st.lists(st.one_of(st.none(), st.datetimes()), min_size=1, max_size=5))
def test_parts_are_those_of_the_calendar(dates):
    encoder = DateEncoder(tuple(PARTS))
    rows = encoder.fit_transform(pd.DataFrame({"t": pd.Series(dates, dtype=object)}))
    names = list(encoder.get_feature_names_out())
    for date, row in zip(dates, rows):
        values = dict(zip(names, row))
        days = values.pop("t_days")
        if date is None:
            assert np.isnan(days)
            assert not any(values.values())
            continue
        since = date - datetime.datetime(1970, 1, 1)
        assert days == pytest.approx(since / datetime.timedelta(days=1), abs=1e-6)
        ones = {name for name, value in values.items() if value == 1.0}
        weekday = DAYS[date.weekday()]
        assert ones == {f"t_month={date.month}", f"t_day={date.day}", f"t_weekday={weekday}", f"t_hour={date.hour}"}
        assert sum(values.values()) == 4.0
    numbers = DateEncoder(tuple(PARTS), one_hot=False)
    rows = numbers.fit_transform(pd.DataFrame({"s": NOON, "t": pd.Series(dates, dtype=object)}))
    assert list(numbers.get_feature_names_out()[5:]) == ["t_days", "t_month", "t_day", "t_weekday", "t_hour"]
    assert list(numbers.numeric_outputs_) == list(range(10))
    for date, row in zip(dates, rows):
        assert row[1:5].tolist() == [2, 29, 3, 12]
        expected = [np.nan] * 4 if date is None else [date.month, date.day, date.weekday(), date.hour]
        np.testing.assert_array_equal(row[6:], expected)


def test_tables_of_all_kinds():
    frame = pd.DataFrame({"t": pd.Series([NOON, None])})
    expected = DateEncoder().fit_transform(frame)
    zone = frame.assign(t=frame["t"].dt.tz_localize("Asia/Tokyo"))
    for table in (
        zone,
        frame.astype("datetime64[s]"),
        frame.to_numpy(),
        pl.DataFrame({"t": [NOON, None]}),
        pl.DataFrame({"t": [NOON, None]}).with_columns(pl.col("t").dt.replace_time_zone("America/New_York")),
        pd.DataFrame({"t": ["2024-02-29 12:30", None]}),
        pd.DataFrame({"t": ["2024-02-29T12:30+09:00", None]}),
        np.array([[19782 + 12.5 / 24], [np.nan]]),
    ):
        np.testing.assert_array_equal(DateEncoder().fit_transform(table), expected)


@pytest.mark.parametrize(
    ("word", "form"),
    [
        ("28.02.2023 10:00", "%d.%m.%Y %H:%M"),
        ("02/28/2023 10h", ["%d/%m/%Y %Hh", "%m/%d/%Y %Hh"]),
        ("2023-02-28T10", None),
    ],
)
def test_words(word, form):
    got = DateEncoder(format=form).fit_transform([[word]])
    np.testing.assert_array_equal(got, DateEncoder().fit_transform([[datetime.datetime(2023, 2, 28, 10)]]))


def test_what_is_no_date():
    frame = pd.DataFrame({"t": ["2024-02-29", "soon"]})
    with pytest.raises(ValueError, match=r"column 't' must hold dates \(ISO 8601\); it has 'soon'"):
        DateEncoder().fit(frame)
    with pytest.raises(ValueError, match="format='%Y'.* it has '2024-02-29'"):
        DateEncoder(format="%Y").fit(frame)
    assert np.isnan(DateEncoder(errors="missing").fit_transform(frame)[1, 0])
    with pytest.raises(ValueError, match="days since 1970"):
        DateEncoder().fit([[1e12]])


def test_dates_out_of_range_are_refused():
    far = np.array([["1970-01-01"], ["300000-01-01"]], dtype="datetime64[D]")
    with pytest.raises(ValueError, match="column 0 has the date 300000-01-01; years go from -290307 to 294246"):
        DateEncoder().fit(far)
    objects = np.array([[None], [np.datetime64(1_717_243_200_000_000, "s")]], dtype=object)
    with pytest.raises(ValueError, match="column 0 has the date 54419240-09-19"):
        DateEncoder().fit(objects)
    ends = np.array([["294246-12-31"], ["NaT"]], dtype="datetime64[D]")
    np.testing.assert_array_equal(DateEncoder(("days",)).fit_transform(ends)[:, 0], [ends[0, 0].astype(int), np.nan])


@pytest.mark.parametrize("word", [None, "", "NA", "NaT", " nat "])
def test_words_for_missing_dates(word):
    days, *others = DateEncoder().fit_transform(np.array([[word], ["2024-02-29"]], dtype=object))[0]
    assert np.isnan(days)
    assert not any(others)


def test_days_of_missing_dates_can_be_filled():
    rows = make_online_pipeline(DateEncoder(), OnlineImputer()).learn_transform([[NOON], [None]])
    assert rows[1, 0] == rows[0, 0]


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        (DateEncoder(("year",)), "'parts' parameter of DateEncoder must be a tuple with some of 'days', 'month'"),
        (DateEncoder(()), "'parts' parameter"),
        (DateEncoder(("days", "days")), "'parts' parameter"),
        (DateEncoder(format=3), "'format' parameter of DateEncoder must be a str, a list of them, or None"),
        (DateEncoder(errors="ignore"), "'errors' parameter of DateEncoder must be one of 'raise', 'missing'"),
    ],
)
def test_wrong_parameters(encoder, message):
    with pytest.raises(ValueError, match=message):
        encoder.fit([[NOON]])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.one_of(st.none(), st.datetimes(), st.just(datetime.datetime(1970, 1, 1))), min_size=1, max_size=5))
def test_sparse_rows_are_dense_rows_without_zeros(dates):
    frame = pd.DataFrame({"t": pd.Series(dates, dtype=object), "u": pd.Series(dates[::-1], dtype=object)})
    rows = DateEncoder(tuple(PARTS), sparse_output=True).fit_transform(frame)
    np.testing.assert_array_equal(rows.toarray(), DateEncoder(tuple(PARTS)).fit_transform(frame))
    assert (rows.data != 0).all()


@pytest.mark.parametrize(
    ("form", "number", "word"),
    [("%H%M", 130, "0130"), ("%H%M", 0, "0000"), ("%d%m%Y", 1022024, "01022024"), ("%Y%m%d", 20240101, "20240101")],
)
@pytest.mark.parametrize("several", [False, True])
def test_numbers_by_a_format_of_digits_have_the_zeros_that_they_do_not_begin_with(form, number, word, several):
    encoder = DateEncoder(("days",), format=[form] if several else form)
    expected = encoder.fit_transform([[word]])
    for rows in (np.array([[number]]), np.array([[float(number)]]), pd.DataFrame({"a": [number]})):
        np.testing.assert_array_equal(encoder.fit_transform(rows), expected)


def test_encoders_of_earlier_versions_have_ones_and_zeros():
    encoder = DateEncoder(("hour",)).fit([[0.5]])
    state = {name: value for name, value in encoder.__getstate__().items() if name != "one_hot"}
    state["_begun_with"] = {name: value for name, value in state["_begun_with"].items() if name != "one_hot"}
    earlier = object.__new__(DateEncoder)
    earlier.__setstate__(state)
    assert earlier.partial_fit([[0.25]]).transform([[0.5]]).sum() == 1.0


@pytest.mark.parametrize(
    ("form", "a_day"), [(None, 1.0), ("days", 1.0), ("seconds", 86_400.0), ("milliseconds", 86.4e6)]
)
def test_numbers_in_a_unit_since_1970(form, a_day):
    times = pd.DataFrame({"t": [NOON, datetime.datetime(1960, 1, 1, 6), None]})
    expected = DateEncoder().fit_transform(times)
    numbers = np.append(expected[:2, :1], [[np.nan], [2e8], [-2e8]]) * a_day
    with pytest.raises(ValueError, match="are (days|seconds|milliseconds) since 1970 here; 2e.08 days are beyond"):
        DateEncoder(format=form).fit_transform(numbers[:, None])
    found = DateEncoder(format=form, errors="missing").fit_transform(numbers[:, None])
    np.testing.assert_allclose(found, expected[[0, 1, 2, 2, 2]], rtol=1e-12)


@pytest.mark.parametrize("module", [_dates, _numbers])
def test_what_earlier_versions_knew_has_its_name_there(module):
    assert pickle.loads(f"c{module.__name__}\nNothing\n)\x81.".encode("latin-1")) == ()


def test_numbers_by_one_of_several_units():
    for rows in ([[86400]], [["86400"]]):
        assert DateEncoder(("days",), format=["seconds"]).fit_transform(rows) == 1.0
        assert DateEncoder(("days",), format=["%Y%m%d", "seconds"]).fit_transform(rows) == 1.0


@pytest.mark.parametrize("form", ["%Q", "%", ["%Y", "%d %d"]])
@pytest.mark.parametrize("errors", ["raise", "missing"])
def test_what_is_no_format(form, errors):
    with pytest.raises(ValueError, match="'format' parameter of DateEncoder must be"):
        DateEncoder(format=form, errors=errors).fit([["2024"]])


def test_dates_without_a_year():
    encoder = DateEncoder(("days", "month", "day"), format="%d.%m. %H:%M", one_hot=False)
    days = (np.datetime64("1900-03-01") - np.datetime64("1970-01-01")).astype(int)
    rows = encoder.fit_transform([["28.02. 06:00"], ["29.02. 12:00"], ["01.03. 18:00"]])
    np.testing.assert_array_equal(rows, [[days - 0.75, 2, 28], [days + 0.5, 3, 1], [days + 0.75, 3, 1]])
    with pytest.raises(ValueError, match="must hold dates"):
        encoder.fit([["30.02. 12:00"]])
    assert DateEncoder(("days",), format="%j").fit_transform([["61"]]) == days + 1


@pytest.mark.parametrize("container", [np.array, pd.DataFrame])
def test_infinity_is_no_day(container):
    X = container([[0.5], [np.inf], [-np.inf]])
    np.testing.assert_array_equal(
        DateEncoder(("days",), errors="missing").fit_transform(X), [[0.5], [np.nan], [np.nan]]
    )
    with pytest.raises(ValueError, match="column .* has numbers, which are days since 1970 here; inf days are beyond"):
        DateEncoder().fit(X)


FIRST = datetime.datetime(2023, 2, 1)
MIXED = {  # format, values, and their dates in ISO 8601
    "hours": ("%H%M", [130, "1400", 905.0, None], ["1970-01-01T01:30", "1970-01-01T14", "1970-01-01T09:05", "NaT"]),
    "digits": ("%d%m%Y", [1022023, 11022023, "?", "01032023"], ["2023-02-01", "2023-02-11", "NaT", "2023-03-01"]),
    "dates": ("%d.%m.%Y", [FIRST, "03.02.2023", FIRST.date()], ["2023-02-01", "2023-02-03", "2023-02-01"]),
    "days": (None, [19000, "20230201", 19001.5, "?"], ["2022-01-08", "2023-02-01", "2022-01-09T12", "NaT"]),
    "seconds": ("seconds", [86400, "172800", FIRST], ["1970-01-02", "1970-01-03", "2023-02-01"]),
}


@pytest.mark.parametrize(("form", "values", "expected"), MIXED.values(), ids=MIXED)
@pytest.mark.parametrize("container", [pd.DataFrame, np.array, pl.DataFrame])
@pytest.mark.parametrize("is_within", [False, True])
def test_values_beside_words_are_read_as_without_them_however_the_rows_are_cut(
    form, values, expected, container, is_within
):
    rows = container(np.array(values, dtype=object)[:, None])
    encoder = DateEncoder(("days", "hour"), format=form, one_hot=False)
    exact = encoder.fit_transform(np.array(expected, dtype="datetime64[us]")[:, None])
    if is_within and form is not None:  # if none tells what numbers mean, a column transformer reads no days
        encoder = OnlineColumnTransformer([("read", encoder, [0] if isinstance(rows, np.ndarray) else rows.columns)])
    np.testing.assert_array_equal(encoder.fit_transform(rows), exact)
    one_by_one = [encoder.transform(rows[i : i + 1]) for i in range(len(values))]
    np.testing.assert_array_equal(np.vstack(one_by_one), exact)


@pytest.mark.parametrize(
    ("form", "values"),
    [("%H%M", [130, 1400, 130]), (None, [19000, 20000101, None]), ("%d.%m.%Y", [FIRST, None, FIRST])],
)
def test_values_in_a_dictionary_are_read_as_those_of_a_column(form, values):
    pa = pytest.importorskip("pyarrow", exc_type=ImportError)
    encoder = DateEncoder(("days", "hour"), format=form, one_hot=False)
    exact = encoder.fit_transform(pa.table({"a": pa.array(values)}))
    encoded = pa.array(values).dictionary_encode()
    for table in (pa.table({"a": encoded}), pd.DataFrame({"a": pd.Categorical(values)})):
        np.testing.assert_array_equal(encoder.fit_transform(table), exact)


def test_numbers_that_are_far_from_all_dates_are_no_words_to_warn_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(DateEncoder(("days",), errors="missing").fit_transform([[1e12]] * 20)).all()
    with pytest.warns(UserWarning, match="holds no dates in this table, but words such as 'soon'"):
        DateEncoder(("days",), errors="missing").fit_transform([["soon"]] * 20)
