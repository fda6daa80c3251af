"""What `prepare` makes of the columns of a table, and the reasons it gives."""

import datetime
import warnings
from decimal import Decimal

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingRegressor

from sklearn_nag import HedgeRegressor, NAGCellsRegressor, NAGClassifier, NAGRegressor, ScaleInvariantRegressor
from sklearn_nag.model_selection import NAGRegressorCV
from sklearn_nag.preprocessing import (
    DateEncoder,
    HashingEncoder,
    NumberReader,
    OnlineColumnTransformer,
    OnlineCurves,
    OnlineImputer,
    OnlineOneHotEncoder,
    OnlinePipeline,
    OnlineTfidf,
    make_online_pipeline,
    prepare,
)
from sklearn_nag.preprocessing._frames import read_table
from sklearn_nag.preprocessing._prepare import choose
from sklearn_nag.streams import read_batches

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

N = 300
RNG = np.random.default_rng(0)


def chosen(values, name="c", **options):
    """Return what `prepare` says of a single column, and the transformer of this column, or None."""
    said = []
    frame = pd.DataFrame({name: values, "other": [0.5, 2.0] * (len(values) // 2) + [7.0] * (len(values) % 2)})
    pipeline = prepare(frame, say=said.append, **options)
    steps = [step for _, step, columns in pipeline["columns"].transformers if name in np.atleast_1d(columns)]
    return said[0].partition(": ")[2], steps[-1] if steps else None


def rest(values):
    """Repeat values to fill ``N`` rows."""
    return (values * N)[:N]


DAYS = [datetime.datetime(2023, 1, 13) + datetime.timedelta(days=int(k), minutes=7 * int(k)) for k in range(1, N + 1)]
FEW_AGAIN = RNG.choice(9 * 10**7, N, replace=False) + 10**7
FEW_AGAIN[:15] = FEW_AGAIN[15:30]
TWO_DIGITS = [f"{x:.2f}" for x in RNG.uniform(1, 99, N)]

ONE_AS_FLOATS = "left out: whole numbers that are one as float64 (kinds={'c': 'words'} keeps them)"
LOST_AS_FLOATS = "left out: whole numbers that are one as float64 (words=['c'] of read_batches keeps them)"
NUMBERS_LEFT_OUT = "left out: whole numbers that name rows (kinds={'c': 'numbers'} keeps them)"


@pytest.mark.parametrize(
    ("values", "note"),
    [
        (np.arange(N) + 1000, NUMBERS_LEFT_OUT),
        (RNG.integers(10**7, 10**8, N), NUMBERS_LEFT_OUT),
        (RNG.integers(10**14, 10**15, N), NUMBERS_LEFT_OUT),
        (999_999 - 7 * np.arange(50), NUMBERS_LEFT_OUT),  # six digits, in as few rows as suffice
        (10**11 + 7 * np.arange(20), NUMBERS_LEFT_OUT),  # twelve digits
        (FEW_AGAIN, NUMBERS_LEFT_OUT),
        (
            pd.to_timedelta(np.arange(N), unit="s"),
            "left out: it holds timedelta64[",
        ),
        ([b"x"] * N, "left out: it holds bytes, neither numbers, words nor dates"),
        ([[1], [2]] * (N // 2), "left out: it holds list, neither"),
        ([str(i) for i in RNG.integers(10**7, 10**8, N)], NUMBERS_LEFT_OUT),
        (
            [f"C{i:05d}" for i in range(N)],
            "left out: text, or names of rows (300 different; kinds={'c': 'words'} keeps",
        ),
        ([3.0] * N, "left out: one value only"),
        (["x"] * N, "left out: one value only"),
        ([None] * N, "left out: no values"),
        (["?", "n/a"] * (N // 2), "left out: no values"),
        (2**60 + np.arange(100), ONE_AS_FLOATS),
        (2.0**63 + np.arange(100), LOST_AS_FLOATS),  # as read from a file
        ([str(2**63 + i % 4) for i in range(N)], ONE_AS_FLOATS),
        ([2**60] * N, "left out: one value only"),
        ([2.0**52] * N, "left out: one value only"),
    ],
)
def test_what_says_nothing_of_new_rows_is_left_out(values, note):
    said, transformer = chosen(values)
    assert said.startswith(note)
    assert transformer is None


HUNDREDS = np.arange(N) % 3 + 100
OF_A_TYPE = "3 words, as their type says (kinds={'c': 'numbers'} takes them as numbers)"


@pytest.mark.parametrize(
    ("values", "note"),
    [
        (pd.Categorical(HUNDREDS), OF_A_TYPE),
        (pd.Categorical(HUNDREDS.astype(str)), OF_A_TYPE),
        (pl.Series(HUNDREDS.astype(str), dtype=pl.Categorical), OF_A_TYPE),
        (pl.Series(HUNDREDS.astype(str), dtype=pl.Enum(["100", "101", "102"])), OF_A_TYPE),
        (pd.Categorical(rest(["2023-01-01", "2023-02-01"])), "2 words"),
        (pd.Categorical([f"{i} kg" for i in HUNDREDS]), OF_A_TYPE),
        (pd.Categorical(HUNDREDS, ordered=True), "numbers from 100 to 102"),
        (pd.Categorical([7] * N), "left out: one value only"),
    ],
)
def test_categories_are_words_whatever_they_are(values, note):
    frame = pl.DataFrame if isinstance(values, pl.Series) else pd.DataFrame
    [column] = read_table(frame({"c": values})).columns
    assert choose(column).note == note
    assert note != OF_A_TYPE or choose(column, "numbers").note.endswith(" from 100 to 102")


def test_dictionaries_of_arrow_save_room_and_say_nothing():
    pa = pytest.importorskip("pyarrow", exc_type=ImportError)
    [column] = read_table(pa.table({"c": pa.array(HUNDREDS).dictionary_encode()})).columns
    assert choose(column).note == "numbers from 100 to 102"


def test_names_of_columns_that_name_rows():
    customers = RNG.integers(1, 200, N)
    for name in ("customer_id", "id", "CustomerID", "order.id", "customerId", "uuid"):
        assert chosen(customers, name)[1] is None
    for name in ("paid", "humidity", "valid", "idle"):
        assert isinstance(chosen(customers, name)[1], OnlineImputer)


@pytest.mark.parametrize(
    "values",
    [
        [1, 5, 9, 20] * 40,
        [10**15, 10**15 + 7] * 40,
        RNG.normal(size=200),
        [10**6, 7, 999] * 20,
        np.r_[FEW_AGAIN[:255], FEW_AGAIN[:45]],  # more of them repeat
        FEW_AGAIN // 10 * 10,  # round numbers
        99_999 - 7 * np.arange(200),  # all different, but five digits only
        99_999_999_999 - 7_000_000 * np.arange(20),  # too few digits to name rows if rows are few
        1000 * np.arange(100, 155),  # six digits, all different, but round
        np.arange(1950, 2024),  # years
    ],
)
def test_quantities_stay_numbers(values):
    said, transformer = chosen(values)
    assert said.startswith("numbers from")
    assert isinstance(transformer, OnlineImputer)


@pytest.mark.parametrize("form", ["${:,}", "{} EUR", "{:,} km", "{} %", "{:,}", "{}k"])
def test_amounts_are_no_names_of_rows(form):
    for values in (FEW_AGAIN[15:] % 900_000 + 100_000, np.arange(1001, 1061)):
        words = [form.format(value) for value in np.unique(values)]
        said, transformer = chosen(words)
        assert said.startswith("numbers ")
        assert isinstance(transformer[0], NumberReader)
        assert chosen(words, "customer_id")[0].startswith("left out: whole numbers that name rows")
        assert chosen([str(value) for value in np.unique(values)])[0] == NUMBERS_LEFT_OUT


def test_a_fifth_of_few_names_of_rows_may_end_in_zero_by_chance():
    names = [10 * k if k % 5 == 0 else 10 * k + 3 for k in range(20_000, 50_000, 501)]
    assert np.mean(np.array(names) % 10 == 0) == 0.2
    assert chosen(names)[0] == NUMBERS_LEFT_OUT


@pytest.mark.parametrize("kind", ["dates", "numbers"])
def test_what_is_asked_of_many_words_is_refused_soon(kind):
    words = [f"w-{i}" for i in range(1500)]
    with pytest.raises(ValueError, match=f"cannot be read as {kind}: it holds other words"):
        chosen(words, kinds={"c": kind})


@pytest.mark.parametrize("n_others", [6, 1500])
def test_few_numbers_in_most_rows_may_be_asked_for_beside_many_words(n_others):
    values = ["1", "2", "3"] * n_others + [f"n.v.{i}" for i in range(n_others)]
    said, _ = chosen(values, kinds={"c": "numbers"})
    assert said.startswith("numbers from 1 to 3")
    assert f"in {n_others} rows, taken as missing" in said


def test_numbers_beside_dates_are_no_days_unless_few_are():
    dates = [datetime.date(2020, 1, day) for day in range(1, 31)]
    with pytest.raises(ValueError, match="cannot be read as dates: it holds other words"):
        chosen([*dates, *range(1, 11)], kinds={"c": "dates"})


def test_numbers_that_count_up_are_years_or_names_of_rows():
    for first in (1899, 2042):  # to 1958 and 2101
        assert chosen(np.arange(first, first + 60))[0] == NUMBERS_LEFT_OUT
        assert chosen(np.arange(first, first + 59) + (first < 1900))[0].startswith("numbers from")


def test_numbers_with_gaps_are_filled_and_marked():
    said, transformer = chosen([1.5, np.nan, -2.0, 7.0])
    assert said == "numbers from -2 to 7; 1 missing (25.0%), filled by means and marked"
    assert transformer.add_indicator
    assert not chosen([1.5, 2.0])[1].add_indicator


@pytest.mark.parametrize(
    ("words", "first", "note"),
    [
        (["$1,200.00", "$80.5", "?"], 1200.0, "numbers as '$1,200.00' is 1200, from 80.5 to 1200; 100 missing (33.3%)"),
        (["12.3 %", "5 %"], 12.3, "numbers from 5 to 12.3"),
        (["3,14", "-2,5"], 3.14, "numbers as '3,14' is 3.14, from -2.5 to 3.14"),
        (["1.200,5", "3.400,25"], 1200.5, "numbers as '1.200,5' is 1200.5"),
        (["1 200", "999"], 1200.0, "numbers as '1 200' is 1200"),
        (["EUR 5.00", "1.5 €"], 5.0, "numbers from 1.5 to 5"),
        (["EUR 5.00", "1.5 USD"], 5.0, "numbers from 1.5 to 5 ($ and € alike: nothing is converted)"),
        (["5%", "0.05"], 5.0, "numbers from 0.05 to 5 (% and no mark alike: nothing is converted)"),
        (["$5", "7"], 5.0, "numbers from 5 to 7"),
        (["773", "1.4k", "2M"], 773.0, "numbers as '1.4k' is 1400, from 773 to 2e+06"),
        (["1k", "2.5k", "1M"], 1000.0, "numbers as '1k' is 1000, from 1000 to 1e+06"),
        (["12B", "14B"], 12e9, "numbers as '12B' is 1.2e+10"),
        (["12", "13 kg"], 12.0, "numbers as '13 kg' is 13, from 12 to 13"),
        (["(3.20)", "($1.50)", "2"], -3.2, "numbers from -3.2 to 2"),
        (["0,126", "1,500"], 0.126, "numbers as '0,126' is 0.126, from 0.126 to 1.5"),
        (["1.234", "20.500"], 1.234, "numbers from 1.234 to 20.5 (or is '1.234' 1234? no number here tells)"),
        (["1,234", "20,500"], 1234.0, "numbers as '1,234' is 1234, from 1234 to 20500 (or is '1,234' 1.234? no number"),
        (["US$1,200", "-US$80"], 1200.0, "numbers as 'US$1,200' is 1200, from -80 to 1200"),
        (["12 kg", "3.5 kg", "?"], 12.0, "numbers as '12 kg' is 12, from 3.5 to 12; 100 missing (33.3%)"),
        (["25 years", "1 year"], 25.0, "numbers as '25 years' is 25, from 1 to 25"),
        (["1,248CC", "998CC"], 1248.0, "numbers as '1,248CC' is 1248, from 998 to 1248"),
        (["1.234 km", "20.500 km"], 1.234, "numbers as '1.234 km' is 1.234, from 1.234 to 20.5 (or is"),
        *(
            (["4", word, "17"], 4.0, "numbers from 4 to 17; 100 missing (33.3%), filled by means and marked")
            for word in ("n/a", "n.a.", "<NA>", "#DIV/0!", " #n/a n/a", "-NaN")
        ),
    ],
)
def test_words_that_are_numbers(words, first, note):
    said, transformer = chosen(rest(words))
    assert said.startswith(note)
    assert isinstance(transformer[0], NumberReader)
    assert transformer.fit_transform([[words[0]]])[0, 0] == first


@pytest.mark.parametrize(
    ("words", "day", "how"),
    [
        (["2024-02-29", "2024-03-01"], datetime.date(2024, 2, 29), "ISO8601"),
        (["28.02.2023 10:00", "01.03.2023 00:00"], datetime.datetime(2023, 2, 28, 10), "d.m.Y H:M"),
        (["02/28/2023", "03/01/2023"], datetime.date(2023, 2, 28), "m/d/Y"),
        (["28/02/2023", "01/03/2023", "?"], datetime.date(2023, 2, 28), "d/m/Y"),
        (["01/02/2023", "03/04/2023"], datetime.date(2023, 1, 2), "m/d/Y, or days first, which no date here tells"),
        (["01-02-2023", "03-04-2023"], datetime.date(2023, 1, 2), "m-d-Y, or days first, which no date here tells"),
        (["28/02/23", "01/03/23"], datetime.date(2023, 2, 28), "d/m/y"),
        (["28-02-2023", "01-03-2023"], datetime.date(2023, 2, 28), "d-m-Y"),
        (["28 Feb 2023", "1 Feb 2023"], datetime.date(2023, 2, 28), "d b Y"),
        (["28 Feb 2023", "1 Mar 2023"], datetime.date(2023, 2, 28), "d b Y"),
        (["02/28/2023 3:30 PM", "03/01/2023 1:00 AM"], datetime.datetime(2023, 2, 28, 15, 30), "m/d/Y I:M p"),
        (["20230228", "20230301"], datetime.date(2023, 2, 28), "Ymd; kinds={'c': 'numbers'} takes them as numbers"),
        (
            ["1677542400", "1677542401.5"],
            datetime.datetime(2023, 2, 28),
            "seconds since 1970; kinds={'c': 'numbers'} takes them as numbers",
        ),
    ],
)
def test_words_that_are_dates(words, day, how):
    said, transformer = chosen(rest(words))
    assert said.startswith(f"dates ({how}), as days since 1970, months")
    assert said.count("hours") == isinstance(day, datetime.datetime)
    expected = DateEncoder(transformer.parts).fit_transform([[day]])
    np.testing.assert_array_equal(transformer.fit_transform([[words[0]]]).toarray(), expected)


def test_dates_of_tables():
    days = pd.date_range("2024-01-01", periods=N, tz="Asia/Tokyo")
    said, transformer = chosen(days)
    assert said == "dates, as days since 1970, months and weekdays"
    assert "hour" not in transformer.parts
    assert "hour" in chosen(days + pd.Timedelta("1h"))[1].parts


@pytest.mark.parametrize(
    "words",
    [
        *(["01234", "98765"], ["1-2", "a-b", "2024-01-01"], ["a", "?", None], ["yes", "no"]),
        *(["12 kg", "12 g"], ["4G", "5G"], ["2h 30m", "1h 5m"], ["10-20", "20-30"], ["2020Q1", "2020Q2"], ["9", "9½"]),
        *(
            ["500ms", "2m"],
            ["01067 Dresden", "01069 Dresden"],
            ["01C", "02C"],
            ["2 x 3", "4 x 3"],
            ["5 ft 2", "6 ft 2"],
        ),
        *(["25M", "30"], ["1B", "2B", "3M"]),
    ],
)
def test_words_stay_words(words):
    said, transformer = chosen(rest(words))
    assert " words, a column for each" in said
    assert isinstance(transformer, OnlineOneHotEncoder)


def test_booleans_are_numbers():
    assert chosen([True, False])[0] == "numbers from 0 to 1"


def test_many_words_are_hashed_and_text_is_cut():
    said, transformer = chosen([f"n{i}" for i in range(150)] * 2)
    assert said == "150 words, hashed"
    assert isinstance(transformer, HashingEncoder)
    for n, kind in (98, OnlineOneHotEncoder), (99, HashingEncoder):  # missing words and others need columns, too
        assert isinstance(chosen([f"n{i}" for i in range(n)] * 3)[1], kind)
    texts = [" ".join(RNG.choice(["a", "good", "bad", "film", "one", "more"], 6)) for _ in range(N)]
    said, transformer = chosen(texts)
    assert said.endswith("6.0 words each), as hashed words and pairs, by tf-idf")
    assert isinstance(transformer, OnlineTfidf)


def test_what_is_asked_for():
    assert isinstance(chosen(np.arange(N), kinds={"c": "numbers"})[1], OnlineImputer)
    assert isinstance(chosen([7, 8] * 9, kinds={"c": "words"})[1], OnlineOneHotEncoder)
    assert isinstance(chosen(["a b", "c"], kinds={"c": "text"})[1], OnlineTfidf)
    assert isinstance(chosen(["01234", "5"], kinds={"c": "numbers"})[1][0], NumberReader)
    said, transformer = chosen([19000, 19001], kinds={"c": "dates"})
    assert said.startswith("dates, as asked, as days since 1970, months")
    assert isinstance(transformer, DateEncoder)
    assert isinstance(chosen(["2024-01-01", "2024-01-02"], kinds={"c": "words"})[1], OnlineOneHotEncoder)
    assert chosen([1.0, 2.0], drop=["c"]) == ("left out, as asked", None)
    assert chosen([1.0, 2.0], kinds={"c": "drop"}) == ("left out, as asked", None)


@pytest.mark.parametrize(
    ("words", "kind", "n", "note"),
    [
        (
            ["1.5", "2", "x"],
            "numbers",
            100,
            "numbers from 1.5 to 2, but 'x' and the like in 100 rows, taken as missing",
        ),
        (["1", "2", "3 kg"], "numbers", 0, "numbers as '3 kg' is 3, from 1 to 3"),
        (["1", "2 kg", "3 kg", "x", "6"], "numbers", 60, "numbers as '2 kg' is 2, from 1 to 6, but 'x' and the like"),
        ([1, 2, "from 5 kg"], "numbers", 100, "numbers from 1 to 2, but 'from 5 kg' and the like in 100 rows"),
        (["28.02.2023", "01.03.2023", "0000-00-00"], "dates", 100, "dates (d.m.Y), but '0000-00-00' and the like in"),
    ],
)
def test_words_among_what_is_asked_to_be_numbers_or_dates_are_missing(words, kind, n, note):
    said, transformer = chosen(rest(words), kinds={"c": kind})
    assert said.startswith(note)
    assert (f"; {n} missing" in said) == (n > 0)
    assert transformer.fit_transform([[word] for word in words]).shape[0] == len(words)
    frame = pd.DataFrame({"c": rest(words)})
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        prepare(frame, kinds={"c": kind})
    assert [str(warning.message).partition(" is ")[0] for warning in told] == ["column 'c'"] * (n > 0)


def test_notes_of_words_say_how_many_are_numbers_and_which_differ_by_blanks():
    others = "; 95.0% are numbers, but 'x' and the like are none (kinds={'c': 'numbers'} takes these as missing)"
    assert chosen([*TWO_DIGITS[:285], *"x" * 15])[0].endswith(f"kinds={{'c': 'words'}} keeps them){others}")
    assert chosen(["1.5", "2.5", "3.5"] * 95 + ["x"] * 15)[0] == f"4 words{others}, a column for each"
    assert chosen(["01234", *["98765"] * 18, "x"])[0] == "3 words, a column for each"
    many = [str(i) for i in range(1500)] * 2
    for all_of_them in ([*many, *["x"] * 200], [*["x"] * 200, *many]):  # also if numbers come first
        assert "; 93.8% are numbers, but 'x' and the like" in chosen(all_of_them)[0]
    assert chosen(rest(["a", "a ", "b"]))[0] == "3 words (2 without the blanks at their ends), a column for each"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kinds": {"c": "numbers"}}, "column 'c' cannot be read as numbers: it holds other words, such as 'a'"),
        ({"kinds": {"c": "dates"}}, "column 'c' cannot be read as dates"),
        ({"kinds": {"c": "colours"}}, "one of 'numbers', 'words', 'dates', 'text', 'drop'"),
        ({"kinds": {"d": "words"}}, "kinds has 'd', which is not a column"),
        ({"drop": ["d"]}, "drop has 'd', which is not a column"),
        ({"columns": ["d"]}, "columns has 'd', which is not a column"),
        ({"drop": ["c", "other"]}, "no column to learn from"),
        ({"mismatch": "no"}, "'mismatch' parameter"),
    ],
)
def test_what_cannot_be_asked_for(options, message):
    with pytest.raises(ValueError, match=message):
        chosen(["a", "b"], **options)


def ugly_frame(rng):
    n = 400
    days = np.datetime64("2024-01-01") + rng.integers(0, 300, n)
    return pd.DataFrame(
        {
            "customer_id": np.arange(n),
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(18, 90, n)),
            "income": [f"${x:,.2f}" if x > 500 else "?" for x in rng.exponential(5000, n)],
            "town": rng.choice(["Rome", "Oslo", "Lima", None], n),
            "zip": rng.choice(["01234", "98765", "10115"], n),
            "seen": [f"{d.item():%d.%m.%Y}" for d in days],
            "review": [" ".join(rng.choice(["good", "bad", "film", "one", "very"], 7)) for _ in range(n)],
            "empty": [None] * n,
        }
    )


@pytest.mark.parametrize("make", [lambda frame: frame, pl.from_pandas])
def test_a_frame_at_one_blow(rng, make):
    pytest.importorskip("pyarrow", exc_type=ImportError)
    frame = ugly_frame(rng)
    y = (frame["town"] == "Rome").to_numpy() | (frame["age"] > 60).to_numpy()
    table = make(frame)
    said = []
    pipeline = prepare(table, NAGClassifier(), say=said.append)
    assert isinstance(pipeline, OnlinePipeline)
    assert isinstance(pipeline["columns"], OnlineColumnTransformer)
    assert len(said) == frame.shape[1]
    pipeline.partial_fit(table, y, classes=[False, True])
    assert pipeline.score(table, y) > 0.8
    cut = prepare(table, NAGClassifier())
    for start in range(0, 400, 73):
        cut.partial_fit(table[start : start + 73], y[start : start + 73], classes=[False, True])
    assert cut.decision_function(table).tobytes() == pipeline.decision_function(table).tobytes()
    names = list(pipeline[:-1].get_feature_names_out())
    assert {"age", "missingindicator_age", "income", "town=Rome", "town=(missing)", "zip=01234", "seen_days"} < set(
        names
    )
    weights = dict(zip(names, pipeline[-1].coef_[0]))
    assert weights["town=Rome"] > max(weights["town=Oslo"], weights["town=Lima"])


def test_cells_learn_how_words_and_hours_act_together_with_other_columns(rng):
    shop, x = rng.choice(["a", "b", "c"], 2500), rng.normal(size=2500)
    when = pd.date_range("2024-01-01", periods=2500, freq="37min")
    frame = pd.DataFrame({"shop": shop, "when": when.strftime("%d.%m.%Y %H:%M"), "x": x})
    y = np.where(shop == "a", x, -x) * np.where(when.hour < 12, 1.0, -1.0)
    notes = []
    cells = prepare(frame, NAGCellsRegressor(n_trees=60, random_state=0), say=notes.append)
    assert notes[0] == "'shop': 3 words, a column for each, and by number"
    assert notes[1].endswith("as days since 1970, months, weekdays and hours, and by number")
    assert cells.partial_fit(frame[:2000], y[:2000]).score(frame[2000:], y[2000:]) > 0.6
    names = cells[:-1].get_feature_names_out()[list(cells[:-1].numeric_outputs_)]
    assert {*names} == {"shop", "when_days", "when_month", "when_weekday", "when_hour", "x"}
    missing = pd.DataFrame({"shop": [None, "z"], "when": [None, "01.02.2024 10:00"], "x": [np.nan, 1.0]})
    assert np.isfinite(cells.predict(missing)).all()
    lines = prepare(frame, NAGRegressor()).partial_fit(frame[:2000], y[:2000])
    assert lines.score(frame[2000:], y[2000:]) < 0.1
    assert not any(name == "shop" for name in lines[:-1].get_feature_names_out())


def test_cells_learn_how_hashed_words_act_together_with_other_columns(rng):
    code, x = (rng.pareto(1.0, 6000) * 10).astype(int) % 400, rng.normal(size=6000)
    frame = pd.DataFrame({"code": [f"c{number}" for number in code], "x": x})
    y = np.where(code % 2 == 0, x, -x)
    notes = []
    cells = prepare(frame, NAGCellsRegressor(n_trees=100, random_state=0), say=notes.append)
    assert notes[0] == "'code': 322 words, hashed, and by number"
    assert cells.partial_fit(frame[:5000], y[:5000]).score(frame[5000:], y[5000:]) > 0.4
    assert prepare(frame, NAGRegressor()).partial_fit(frame[:5000], y[:5000]).score(frame[5000:], y[5000:]) < 0.1


@pytest.mark.parametrize("absent", ["a", "word", "day"])
def test_a_column_that_the_first_table_lacks_is_filled(absent, rng):
    frame = pd.DataFrame({"a": rng.normal(size=90), "word": ["x", "y"] * 45})
    frame["day"] = pd.date_range("2024-01-01", periods=90, freq="7h")
    first, later = frame[:30].drop(columns=absent), frame[30:]
    pipeline = prepare(frame, NAGRegressor(), mismatch="fill")
    with pytest.warns(UserWarning, match=f"X has no column '{absent}'; its values are taken as missing"):
        pipeline.partial_fit(first, np.arange(30.0))
    expected = prepare(frame, NAGRegressor()).partial_fit(frame[:30].assign(**{absent: None}), np.arange(30.0))
    later_y = np.arange(60.0)
    found, expected = (model.partial_fit(later, later_y).predict(frame) for model in (pipeline, expected))
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    with pytest.raises(ValueError, match=f"X has no column '{absent}', which"):
        prepare(frame, NAGRegressor()).partial_fit(first, np.arange(30.0))


def test_arrays_and_columns_without_names(rng):
    X = np.column_stack([rng.normal(size=50), np.arange(50)])
    said = []
    pipeline = prepare(X, NAGRegressor(), say=said.append)
    assert said[1].startswith("1: left out")
    assert pipeline.partial_fit(X, X[:, 0]).predict(X).shape == (50,)
    with pytest.raises(ValueError, match="2 columns 'a'; names must differ"):
        prepare(pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]))


def test_later_words_that_are_no_numbers(rng):
    frame = pd.DataFrame({"price": ["$1", "$2", "$3"] * 20})
    strict = prepare(frame).fit(frame)
    with pytest.raises(ValueError, match="must hold numbers; it has 'cheap'"):
        strict.transform(pd.DataFrame({"price": ["cheap"]}))
    lenient = prepare(frame, mismatch="fill").fit(frame)
    assert lenient.transform(pd.DataFrame({"price": ["cheap"]})) == [[2.0]]


@pytest.mark.parametrize(
    ("numbers", "note"),
    [
        ([day.timestamp() for day in DAYS], "dates (seconds since 1970; "),
        ([int(day.timestamp() * 1000) for day in DAYS], "dates (milliseconds since 1970; "),
        ([int(f"{day:%Y%m%d}") for day in DAYS], "dates (Ymd; "),
    ],
)
def test_numbers_that_are_dates(numbers, note):
    said, transformer = chosen(numbers)
    assert said.startswith(note + "kinds={'c': 'numbers'} takes them as numbers), as days since 1970, months")
    assert isinstance(transformer, DateEncoder)
    days = prepare(pd.DataFrame({"c": numbers})).fit_transform(pd.DataFrame({"c": numbers})).toarray()[:, 0]
    midnights = [np.datetime64(day.date()).astype(int) for day in DAYS]
    np.testing.assert_array_equal(np.floor(days), midnights)
    assert isinstance(chosen(numbers, kinds={"c": "numbers"})[1], OnlineImputer)


def test_times_of_the_day():
    said, transformer = chosen(rest(["10:30", "23:59", "0:00"]))
    assert said == "times of the day (H:M), as parts of a day and hours"
    assert transformer.parts == ("hour",)
    frame = pd.DataFrame({"c": ["12:00", "18:00"]})
    assert prepare(frame).fit_transform(frame).toarray()[:, 0].tolist() == [0.5, 0.75]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_times_of_the_day_that_have_a_type_are_as_their_words(library):
    make = pytest.importorskip(library, exc_type=ImportError)
    make = make.table if library == "pyarrow" else make.DataFrame
    times = [None, *(datetime.time(i % 24, i % 60) for i in range(100))]
    words = {"c": [time and str(time) for time in times]}
    expected = prepare(pd.DataFrame(words)).fit_transform(pd.DataFrame(words)).toarray()
    np.testing.assert_array_equal(prepare(frame := make({"c": times})).fit_transform(frame).toarray(), expected)


def test_a_few_words_among_numbers_or_dates_are_missing():
    said, transformer = chosen(["abc", "n/a", *TWO_DIGITS[2:]])
    assert ", but 'abc' and the like in 1 row, taken as missing; 2 missing (0.7%), filled by means and marked" in said
    assert transformer[0].errors == "missing"
    said, transformer = chosen(["31.02.2023", *(f"{day:%d.%m.%Y}" for day in DAYS[1:])])
    assert said.startswith("dates (d.m.Y), but '31.02.2023' and the like in 1 row, taken as missing")
    assert transformer.errors == "missing"
    said, _ = chosen(["28/02/2023", *(f"0{i % 9 + 1}/03/2023" for i in range(1, N))])
    assert said.startswith("dates (d/m/Y), as days")  # although 99% could have the month first
    assert chosen(["abc"] * 4 + TWO_DIGITS[4:])[1] is None  # 1.3%


def test_a_column_without_values_becomes_what_is_asked_for():
    frame = pd.DataFrame({"e": [None, "?"], "a": [1.0, 2.0]})
    said = []
    pipeline = prepare(frame, kinds={"e": "numbers"}, say=said.append)
    assert said[0].startswith("'e': numbers, as asked, of which there is none yet; 2 missing (100.0%)")
    pipeline.learn_transform(frame)
    assert pipeline.learn_transform(frame.assign(e=["5", "6"]))[:, 0].tolist() == [5.0, 6.0]
    with pytest.raises(ValueError, match="holds timedelta64"):
        prepare(frame.assign(t=pd.to_timedelta([1, 2], unit="s")), kinds={"t": "numbers"})


@pytest.mark.parametrize("form", ["%Y-%m", "%m/%Y", "%Y/%m", "%m-%Y", "%b %Y", "%B %Y", "%b-%Y", "%b-%y", "%Y%m"])
@pytest.mark.parametrize("kind", [str, int])
def test_months_are_dates(form, kind):
    """A learner extrapolates a trend and a season from months as it does from days."""
    if kind is int and form != "%Y%m":
        return
    days = pd.date_range("2010-01-01", periods=144, freq="MS")
    season = np.arange(144) * 0.5 + 10 * np.sin(2 * np.pi * days.month / 12)
    note, encoder = chosen([kind(day) for day in days.strftime(form)])
    assert note.startswith(f"dates ({form.replace('%', '')}")
    assert note.endswith("as days since 1970, months")
    assert (encoder.format, encoder.parts) == (form, ("month",))
    frame = pd.DataFrame({"month": [kind(day) for day in days.strftime(form)]})
    model = prepare(frame, NAGRegressor(random_state=0, clip=None)).fit(frame[:120], season[:120])
    assert model.score(frame[120:], season[120:]) > 0.9


@pytest.mark.parametrize(
    "values", [["1001-12", "2001-05", "3001-07"], ["2010-13", "2011-01"], [200101, 200113, 200201], [200101, 200112]]
)
def test_what_only_looks_like_months_is_none(values):
    assert "dates" not in chosen(rest(values))[0]


def test_the_years_of_two_digits_are_said():
    assert "dates (d.m.y, of the years 1969 to 2068)" in chosen(rest(["01.02.69", "13.02.68", "05.06.99"]))[0]


def test_categories_of_a_frame_are_words_wherever_it_lies(tmp_path):
    pytest.importorskip("pyarrow", exc_type=ImportError)
    frame = pd.DataFrame({
        "zip": pd.Categorical([10115, 80331, 20095] * 40), "size": pd.Categorical([1, 2, 3] * 40, ordered=True),
    })  # fmt: skip
    frame.to_parquet(tmp_path / "rows.parquet")
    said: list = []
    pipeline = prepare(frame, say=said.append)
    expected = pipeline.fit_transform(frame).toarray()
    for source in (frame, [frame[:50], frame[50:]], tmp_path / "rows.parquet"):
        batches, notes = read_batches(source, None, frames=True), []
        pipeline = batches.prepare(say=notes.append)
        assert notes == said
        rows = [pipeline.learn_transform(X).toarray() for X, _ in batches]
        np.testing.assert_array_equal(np.concatenate(rows)[-50:], expected[-50:])
    assert "words, as their type says" in said[0]
    assert said[1].startswith("'size': numbers")


def test_columns_of_which_nothing_can_be_read_any_more_are_told_of():
    frame = pd.DataFrame({"price": ["$5.00", "$7.50"] * 30, "sold": ["28.02.2023", "01.03.2023"] * 30})
    pipeline = prepare(frame, mismatch="fill").partial_fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pipeline.transform(frame.assign(price=["sold out", "$5.00"] * 30, sold=None))
        pipeline.transform(frame[:9].assign(price="sold out"))
    with pytest.warns(UserWarning, match="column 'price' holds no numbers in this table, but words such as 'sold out'"):
        pipeline.transform(frame.assign(price="sold out"))
    with pytest.warns(UserWarning, match="column 'sold' holds no dates in this table, but words such as 'next week'"):
        pipeline.transform(frame.assign(sold="next week"))


def test_a_list_is_no_name_of_a_column():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [2.0, 1.0]})
    with pytest.raises(ValueError, match=r"columns has \['a'\], which is not a column .*; these are \['a', 'b'\]"):
        prepare(frame, columns=[["a"]])
    with pytest.raises(ValueError, match="X has no column"):
        OnlineColumnTransformer([("x", OnlineImputer(), [["a"]])]).fit(frame)


def test_large_numbers_that_are_asked_to_be_words_are_counted_as_such():
    said = []
    frame = pd.DataFrame({"id": [2**60 + i for i in range(5)] * 3})
    rows = prepare(frame, kinds={"id": "words"}, say=said.append).fit_transform(frame)
    assert said == ["'id': 5 words, as asked, a column for each"]
    assert rows.toarray().sum(axis=0).tolist()[:6] == [3.0] * 5 + [0.0]


@pytest.mark.parametrize("learnt", ["default", "pandas", "polars"])
@pytest.mark.parametrize("used", ["default", "pandas", "polars"])
def test_steps_within_steps_hand_on_the_same_whatever_scikit_learn_is_set_to(learnt, used):
    """No step warns about feature names, while learning or later, and the predictions are the same."""
    frame = pd.DataFrame({
        "amount": [f"${1000 + i:,}.50" for i in RNG.permutation(N)],
        "day": pd.date_range("2024-01-01", periods=N, freq="h"),
        "gaps": rest([1.0, None, 3.5]),
        "word": rest(["red", "green", "blue"]),
    })  # fmt: skip
    y = RNG.normal(size=N)
    pipeline, twin = prepare(frame, NAGRegressor()), prepare(frame, NAGRegressor()).partial_fit(frame, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with sklearn.config_context(transform_output=learnt):
            pipeline.partial_fit(frame, y)
        with sklearn.config_context(transform_output=used):
            found = pipeline.predict(frame), pipeline.partial_fit(frame[:5], y[:5]).predict(frame)
    assert np.array_equal(found, (twin.predict(frame), twin.partial_fit(frame[:5], y[:5]).predict(frame)))


def test_learners_that_take_dense_rows_alone_get_these():
    frame = pd.DataFrame({"shop": rest(list("abcd")), "day": DAYS, "x": np.sqrt(np.arange(N))})
    y = RNG.normal(size=N)
    full = ScaleInvariantRegressor(invariance="full")
    for learner in (full, HedgeRegressor([("full", full), ("line", NAGRegressor())]), HistGradientBoostingRegressor()):
        pipeline = prepare(frame, learner).fit(frame, y)
        assert pipeline.predict(frame).shape == (N,)
        assert isinstance(pipeline[:-1].transform(frame), np.ndarray)
    searched = NAGRegressorCV(NAGRegressor(centering=True, normalization="rms"), [0.1, 1.0], cv=2)
    assert isinstance(prepare(frame, searched).fit(frame, y)[:-1].transform(frame), np.ndarray)
    for part in (["shop"], ["day"]):
        prepare(frame, NAGRegressor(centering=True, normalization="rms"), columns=part).partial_fit(frame, y)
    sparse_rows = prepare(frame, NAGRegressor()).fit(frame, y)[:-1].transform(frame)
    assert np.array_equal(sparse_rows.toarray(), prepare(frame, full).fit(frame, y)[:-1].transform(frame))
    hashed = frame.assign(shop=[f"shop {i // 2}" for i in range(N)])
    with pytest.raises(ValueError, match="needs dense X, but text, hashed words, curves and cells make sparse rows"):
        prepare(hashed, clone(full)).partial_fit(hashed, y)


def test_what_is_no_table_is_told_by_name():
    frame = pl.DataFrame({"a": [1.5, 2.0, 0.25]})
    message = r"X is a LazyFrame, which has no rows before it is collected: give X\.collect\(\)"
    for call in (lambda: prepare(frame.lazy()), lambda: prepare(frame).fit(frame.lazy())):
        with pytest.raises(TypeError, match=message):
            call()
    for estimator in (NAGRegressor(), NAGRegressor, prepare(frame)):
        with pytest.raises(TypeError, match="frame is the estimator .*; prepare takes the table first"):
            prepare(estimator, frame)


def test_the_learner_is_cloned():
    frame = pd.DataFrame({"x": np.sqrt(np.arange(N))})
    learner = NAGRegressor().fit(frame, frame["x"])
    model = prepare(frame, learner)
    assert not hasattr(model[-1], "coef_")
    assert prepare(frame, learner)[-1] is not model[-1]
    assert prepare(frame, "passthrough")[-1] == "passthrough"


def test_steps_that_have_seen_all_rows_stay_fitted():
    frame = pd.DataFrame({"x": np.sqrt(np.arange(N)), "z": np.arange(N) / 7.0})
    learner = make_online_pipeline(PCA(1).fit(frame.to_numpy()), NAGRegressor())
    model = prepare(frame, learner).partial_fit(frame, frame["x"])
    assert model[-1].n_features_in_ == 1
    assert not hasattr(learner[-1], "coef_")


def test_pipelines_behind_are_given_numbers_of_words_as_learners_are():
    frame = pd.DataFrame({"x": np.sqrt(np.arange(N)), "shop": rest(list("abcd"))})
    learner = NAGCellsRegressor(first_rows=10)
    names = [model[0].fit(frame).get_feature_names_out().tolist()
             for model in (prepare(frame, learner), prepare(frame, make_online_pipeline(learner)))]  # fmt: skip
    assert names[0] == names[1]
    assert "shop" in names[0]


def test_times_with_and_without_fractions_are_of_one_form():
    times = [datetime.time(hour % 24, 30) for hour in range(N)]
    frame = pd.DataFrame({"t": times, "x": np.sqrt(np.arange(N))})
    model = prepare(frame, NAGRegressor()).partial_fit(frame, frame["x"])
    fractions = frame.assign(t=[time.replace(microsecond=250) for time in times])
    np.testing.assert_array_equal(model.predict(fractions), model.predict(frame))
    names = [prepare(table)[0].fit(table).get_feature_names_out().tolist() for table in (frame, fractions)]
    assert names[0] == names[1]


def test_the_steps_of_a_pipeline_follow_the_columns():
    frame = pd.DataFrame({"x": np.sqrt(np.arange(N)), "shop": rest(list("abcd"))})
    pipeline = make_online_pipeline(OnlineCurves(n_knots=2), NAGRegressor(), verbose=True)
    model = prepare(frame, pipeline)
    assert list(model.named_steps) == ["columns", "onlinecurves", "nagregressor"]
    assert model.verbose
    assert len(model.fit(frame, frame["x"])["onlinecurves"].knots_) == 1  # words have none
    other = OnlinePipeline([("columns", OnlineImputer()), ("learn", NAGRegressor())])
    assert list(prepare(frame, other).named_steps) == ["columns", "learner"]


def test_columns_may_have_names_of_methods():
    frame = pd.DataFrame({"fit": [1.5, 2.0, 3.25] * 20, "shard": [1.0, 2.0] * 30})
    assert prepare(frame, NAGRegressor()).fit(frame, frame["fit"]).score(frame, frame["fit"]) > 0.9


def objects(*values):
    return pd.DataFrame({"a": pd.Series(values, dtype=object)})


def said_of(frame, **kinds):
    """Return what `prepare` says of a frame with one column, and the first column that it makes.

    Rows that are transformed one by one must give the same.
    """
    notes = []
    pipeline = prepare(frame, say=notes.append, kinds=kinds).fit(frame)
    rows = [part.toarray() if sparse.issparse(part) else part
            for part in map(pipeline.transform, [frame, *(frame[i : i + 1] for i in range(len(frame)))])]  # fmt: skip
    np.testing.assert_array_equal(np.vstack(rows[1:]), rows[0])
    return notes[0], rows[0][:, 0]


@pytest.mark.parametrize(
    ("values", "note", "numbers"),
    [
        ([1.234, 12.345, 111.222, "2,5"] * 20, "as '2,5' is 2.5, from 1.234 to 111.222", [1.234, 12.345, 111.222, 2.5]),
        ([1.5, 2.5, "3,5"] * 20, "'a': numbers as '3,5' is 3.5, from 1.5 to 3.5", [1.5, 2.5, 3.5]),
        ([1.5, True, "?"] * 20, "'a': numbers from 1 to 1.5; 20 missing", [1.5, 1.0, 1.25]),
        ([1.5, 2.5] * 60 + ["x"], "'a': numbers from 1.5 to 2.5, but 'x' and the like in 1 row, taken as", [1.5, 2.5]),
        ([1.5, 2.5] * 60 + ["3", np.inf], "but 'inf' and the like in 1 row, taken as missing; 1 missing", [1.5, 2.5]),
        ([2.5, "4 kg", Decimal("1.25")] * 9, "'a': numbers as '4 kg' is 4, from 1.25 to 4", [2.5, 4.0, 1.25]),
    ],
)
def test_words_alone_say_how_numbers_are_written(values, note, numbers):
    said, made = said_of(objects(*values))
    assert note in said
    np.testing.assert_allclose(made[: len(numbers)], numbers, rtol=1e-15)


SOME_DAYS = list(pd.date_range("2023-01-01 10:00", periods=100, freq="25h"))


@pytest.mark.parametrize(
    ("values", "note"),
    [
        ([*SOME_DAYS, "?"], "'a': dates (ISO8601), as days since 1970, months, weekdays and hours; 1 missing (1.0%)"),
        ([*SOME_DAYS[:3], *["01.02.2023", "13.02.2023"] * 9], "'a': dates (d.m.Y), as days since 1970, months, week"),
        ([*SOME_DAYS, "03/14/2023", 19000], "'a': dates (m/d/Y), beside numbers in 1 row, as days since 1970, months"),
        ([*range(20230101, 20230130), "20230201", "?"], "'a': dates (Ymd; kinds={'a': 'numbers'} takes them as numb"),
        ([1_700_000_000 + 86_400 * i for i in range(9)] + ["1710000000"], "'a': dates (seconds since 1970; kinds="),
    ],
)
def test_words_alone_say_how_dates_are_written(values, note):
    said, days = said_of(objects(*values))
    assert note in said
    assert 18_999 <= days.min()
    assert days.max() < 20_000


def test_kinds_that_are_asked_of_numbers_and_dates_beside_words():
    assert said_of(objects(*range(19000, 19030), "?"), a="dates")[0].startswith("'a': dates, as asked, as days since")
    assert said_of(objects(1, 2, 3, "x"), a="words")[0] == "'a': 4 words, a column for each"
    for values, kind in ((SOME_DAYS, "numbers"), ([1.5] * 9, "dates")):
        with pytest.raises(ValueError, match=f"column 'a' cannot be read as {kind}: it holds other words"):
            prepare(objects(*values, "x"), kinds={"a": kind})
    shown = said_of(objects(*[1.5, 2.5, "x"] * 9))[0], said_of(objects(*[1, 2, 3] * 9, "007"))[0]
    assert shown == ("'a': 3 words, a column for each", "'a': 4 words, a column for each")


@pytest.mark.parametrize("values", [[1.234, 12.345, 111.222] * 20, [1, 5, 111] * 9, SOME_DAYS])
def test_dictionaries_of_numbers_and_dates_are_such(values):
    pa = pytest.importorskip("pyarrow", exc_type=ImportError)
    found = []
    for column in (values, pd.Categorical(values, ordered=True), pd.Series(values, dtype=object)):
        said, made = said_of(pd.DataFrame({"a": column}))
        found.append((said.replace(" (ISO8601)", ""), made.tolist()))
    notes = []
    pipeline = prepare(pa.table({"a": pa.array(values).dictionary_encode()}), say=notes.append)
    rows = pipeline.fit_transform(pa.table({"a": pa.array(values).dictionary_encode()}))
    rows = rows.toarray() if sparse.issparse(rows) else rows
    found.append((notes[0].replace(" (ISO8601)", ""), rows[:, 0].tolist()))
    assert found == found[:1] * 4


@pytest.mark.parametrize(
    ("values", "kinds", "note"),
    [
        ([*[30, 25, 41] * 10, "25M", "30M"], {}, "'a': 5 words"),  # 25M may be a man aged 25
        ([*pd.date_range("2023-01-01 08:00", periods=20, freq="25h"), "10:30", "11:00"], {}, "words"),
        (["a", "b", 10**400] * 5, {"a": "words"}, "3 words"),
        ([*[0.05, 0.12] * 10, "7 %"], {}, "% and no mark alike: nothing is converted"),
    ],
)
def test_what_numbers_and_dates_say_of_words_beside_them(values, kinds, note):
    said = []
    prepare(pd.DataFrame({"a": pd.Series(values, dtype=object)}), kinds=kinds, say=said.append)
    assert note in "\n".join(said)
