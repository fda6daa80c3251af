"""Promises about transformers and pipelines: random tables of ugly values go through random transformers."""

from __future__ import annotations

import contextlib
import copy
import importlib.util
import pickle
import warnings
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.base import clone

import sklearn_nag
from sklearn_nag import FTRLRegressor, NAGClassifier, NAGRegressor, ScaleInvariantRegressor, merge
from sklearn_nag.preprocessing import (
    DateEncoder,
    HashingEncoder,
    OnlineCells,
    OnlineColumnTransformer,
    OnlineCurves,
    OnlineImputer,
    OnlineOneHotEncoder,
    OnlineOrdinalEncoder,
    OnlineProducts,
    OnlineTfidf,
    make_online_pipeline,
    prepare,
)

from .cases import EXTREMES
from .promises import Broken, described, expect_equal, expect_same, image, once, promise

HAVE = {name: importlib.util.find_spec(name) is not None for name in ("pandas", "polars", "pyarrow")}
if all(HAVE.values()):
    import pandas as pd
    import polars as pl

    try:
        import pyarrow as pa
    except ImportError:  # pyarrow may need a newer NumPy
        HAVE["pyarrow"] = False

UGLY = ("a", "b", "A", " a", "", "?", "nan", "None", "a=b", "=", "1", "1.0", "01", "true", "\x00", "\u2028", "ü",
        "u\u0308", "\U0001f600", "x" * 300, "(missing)", "(other)", "$1,200.00", "12.3 %", "1e400",
        "28.02.2023")  # fmt: skip
TEXTS = ("good film", "bad film", "", "a", "one two three four five", "ü \U0001f600 word", "word " * 50)
FIRST, LAST = np.datetime64("0001-01-01T00:00:00", "us"), np.datetime64("9999-12-31T23:59:59", "us")


def columns_of(rng, n):
    """Return columns by name, as lists of Python values with None for missing ones, and the kind of each column."""
    columns, kinds = {}, {}
    for i in range(int(rng.integers(1, 6))):
        kind = str(rng.choice(["numbers", "words", "dates", "text"], p=[0.4, 0.3, 0.2, 0.1]))
        name = f"{kind} {i}" if rng.random() < 0.8 else f"{i}=ü"
        if kind == "numbers":
            values = rng.choice(EXTREMES, n) if rng.random() < 0.3 else rng.normal(size=n) * 10.0 ** rng.integers(-9, 9)
            values = values.tolist()
        elif kind == "dates":
            span = (
                (FIRST, LAST)
                if rng.random() < 0.3
                else (np.datetime64("1969-12-30", "us"), np.datetime64("1970-02-03", "us"))
            )
            values = (span[0] + rng.integers(0, (span[1] - span[0]).astype(np.int64), n).astype("m8[us]")).tolist()
        else:
            some = TEXTS if kind == "text" else UGLY[: int(rng.integers(1, len(UGLY) + 1))]
            values = [str(some[k]) for k in rng.integers(0, len(some), n)]
        gaps = rng.random(n) < rng.choice([0.0, 0.2, 1.0], p=[0.5, 0.45, 0.05])
        columns[name] = [None if gap else value for value, gap in zip(values, gaps)]
        kinds[name] = kind
    return columns, kinds


def frame_of(columns):
    """Return a pandas frame: numbers as floats, all else as objects."""
    made = {}
    for name, values in columns.items():
        present = [value for value in values if value is not None]
        is_number = all(isinstance(value, float) for value in present)
        made[name] = (
            pd.Series([np.nan if v is None else v for v in values], dtype=float)
            if is_number
            else pd.Series(values, dtype=object)
        )
    return pd.DataFrame(made)


def transformer_of(rng, kinds):
    """Return transformers for the columns, without `prepare`."""
    made, own = [], rng.spawn(1)[0]
    for number, (name, kind) in enumerate(kinds.items()):
        if kind == "numbers":
            strategy = str(rng.choice(["mean", "most_frequent", "constant"]))
            step = OnlineImputer(strategy, add_indicator=bool(rng.random() < 0.5))
            if own.random() < 0.3:  # these take missing values as they are
                first_rows = int(own.integers(1, 12))
                step = OnlineCurves(n_knots=int(own.integers(2, 6)), first_rows=first_rows)
                if own.random() < 0.5:
                    step = OnlineCells(n_trees=4, depth=2, first_rows=first_rows, random_state=0)
                elif own.random() < 0.5:
                    step = OnlineProducts()
        elif kind == "words":
            size = int(rng.choice([2, 3, 20]))
            step = OnlineOneHotEncoder(size, sparse_output=bool(rng.random() < 0.5)) if rng.random() < 0.5 else (
                HashingEncoder(size, max_names=int(rng.integers(0, 4)))
            )  # fmt: skip
            if own.random() < 0.3:
                step = OnlineOrdinalEncoder(size)
        elif kind == "dates":
            encoder = DateEncoder(("days", "month", "day", "weekday", "hour"))
            step = make_online_pipeline(encoder, OnlineImputer())
        else:
            made.append((f"t{number}", OnlineTfidf(64), name))
            continue
        made.append((f"t{number}", step, [name]))
    return OnlineColumnTransformer(made)


class Trial:
    """A table, a pipeline for it, and targets, all from a case's seed."""

    def __init__(self, case):
        self.case = case
        self.rng = rng = case.rng("tables")
        n = int(rng.integers(2, 40))
        self.columns, self.kinds = columns_of(rng, n)
        self.frame = frame_of(self.columns)
        self.classes = np.array(["no", "yes"]) if rng.random() < 0.5 else None
        learner = NAGRegressor() if self.classes is None else NAGClassifier()
        first = transformer_of(rng, self.kinds)
        if rng.random() < 0.4:
            asked = {name: self.kinds[name] for name in self.kinds if self.kinds[name] != "dates"}
            with contextlib.suppress(ValueError):  # there may be no column to learn from
                first = prepare(self.frame, kinds=asked)[0]
                for _, step, _ in first.transformers:
                    if isinstance(step, OnlineTfidf):
                        step.set_params(n_features=5000)  # with 2**18, a trial takes a second
        self.pipeline = make_online_pipeline(first, learner)
        self.y = rng.normal(size=n) if self.classes is None else rng.choice(self.classes, n)
        cuts = sorted({int(cut) for cut in rng.integers(1, n, int(rng.integers(0, 4)))})
        self.batches = [slice(start, stop) for start, stop in zip([0, *cuts], [*cuts, n])]

    def code(self):
        """Return lines of Python that show the table and the pipeline."""
        return [f"# columns = {self.columns!r}", f"# pipeline = {self.pipeline!r}", f"# batches = {self.batches}"]

    def learn(self, model, rows=slice(None), frame=None, typed=lambda frame: frame):
        options = {} if self.classes is None else {"classes": self.classes}
        frame = self.frame if frame is None else frame
        with sklearn_nag.config_context(kernel="numpy"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.partial_fit(typed(frame.iloc[rows]), self.y[rows], **options)
        return model

    def guessed(self, frame, rng):
        """Return a part of the frame, with any type for columns without a value, as readers of files guess it."""
        types = {name: str(rng.choice(["float", "object", "str", "datetime64[us]"])) for name in frame}
        empty = [name for name in frame if frame[name].isna().all()]
        return frame.assign(**{name: pd.Series([None] * len(frame), frame.index, types[name]) for name in empty})

    def shown(self, model, frame=None):
        """Return what the pipeline makes of the table, as a dense array."""
        with sklearn_nag.config_context(kernel="numpy"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = model[0].transform(self.frame if frame is None else frame)
        rows = rows.toarray() if sparse.issparse(rows) else rows
        return np.asarray(rows, dtype=float)

    def fails(self, what):
        raise Broken(what, *self.code())


@once
def trial_of(case):
    """Return the trial of a case; None if a library for tables is missing."""
    return Trial(case) if all(HAVE.values()) else None


@once
def whole_of(case):
    """Return the pipeline of a case's trial, which has learnt the table in one call."""
    trial = trial_of(case)
    return trial.learn(clone(trial.pipeline))


@promise(
    "tables: batches, types of empty columns, pickles, clones and failed calls change no bit; rows are finite",
    every=3,
    shrinks=False,
)
def tables_resume(case):
    trial = trial_of(case)
    if trial is None:
        return
    try:
        whole = whole_of(case)
    except Exception as error:
        trial.fails(f"learning fails: {described(error)}")
    parts = pickle.loads(pickle.dumps(clone(trial.pipeline)))
    for number, rows in enumerate(trial.batches):
        if number:
            parts = pickle.loads(pickle.dumps(parts))
            refuse(trial, parts)
        trial.learn(parts, rows)
    guessed, rng = clone(whole), copy.deepcopy(trial.rng)
    without = any(trial.frame.iloc[rows].isna().all().any() for rows in trial.batches)
    try:
        for rows in trial.batches if without else [slice(None)]:
            trial.learn(guessed, rows, typed=partial(trial.guessed, rng=rng))
    except Exception as error:
        trial.fails(f"a column without a value of another type is refused: {described(error)}")
    expected, rows = image(whole), trial.shown(whole)
    try:
        expect_same(expected, image(parts), "in one call and in several")
        types = ", whatever types columns without a value have" if without else ""
        expect_same(expected, image(guessed), f"of a clone{types}")
        expect_equal(rows, trial.shown(parts), "rows")
    except Broken as error:
        trial.fails(str(error))
    if not np.isfinite(rows).all():
        trial.fails("what becomes of rows is not finite")
    frame = trial.frame.iloc[::-1][list(trial.frame)[::-1]]
    if trial.shown(whole, frame)[::-1].tobytes() != rows.tobytes():
        trial.fails("other rows where columns come in another order")


def refuse(trial, model):
    """Give a model what it must refuse; raise `Broken` if it does not, or if that changes it."""
    frame, used = trial.frame, [n for n, k in zip(trial.frame, model[0]._state.kinds) if k]
    wrong = {"no rows": frame[:0], "a new column": frame.assign(new=1.0)}
    if used:
        wrong["no such column"] = frame.drop(columns=used[0])
        numbers = [n for n, kind in zip(frame, model[0]._state.kinds) if kind == "numbers" == trial.kinds[n]]
        if numbers:
            wrong["infinity"] = frame.assign(**{numbers[0]: np.inf})
            wrong["words among numbers"] = frame.assign(**{numbers[0]: "word"})
    before = image(model)
    for what, table in wrong.items():
        try:
            trial.learn(model, frame=table)
        except ValueError:
            try:
                expect_same(before, image(model), f"after it refused {what}")
            except Broken as error:
                trial.fails(str(error))
        except Exception as error:
            trial.fails(f"{what}: {described(error)}")
        else:
            trial.fails(f"{what}: accepted")


@promise("tables: frames of pandas and polars and tables of Arrow give the same rows", every=3, shrinks=False)
def tables_of_all_libraries_agree(case):
    trial = trial_of(case)
    if trial is None:
        return
    frame, others = trial.frame, {}
    objects = [name for name in frame if frame[name].dtype == object]
    words = [name for name in objects if trial.kinds[name] in ("words", "text")]
    others["categories"] = frame.astype(dict.fromkeys(words, "category"))
    others["str"] = frame.astype(dict.fromkeys(words, "string"))
    schema = {"numbers": pa.float64(), "words": pa.string(), "text": pa.string(), "dates": pa.timestamp("us")}
    arrow = pa.table({name: pa.array(values, schema[trial.kinds[name]]) for name, values in trial.columns.items()})
    others["Arrow"] = arrow
    others["Arrow, by number"] = pa.table(
        {n: c.dictionary_encode() if n in words else c for n, c in zip(arrow.schema.names, arrow.columns)}
    )
    others["polars"] = pl.from_arrow(arrow)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = clone(trial.pipeline[0]).learn_transform(frame)
        for what, table in others.items():
            try:
                rows = clone(trial.pipeline[0]).learn_transform(table)
            except Exception as error:
                trial.fails(f"{what}: {described(error)}")
            if (rows.toarray() if sparse.issparse(rows) else rows).tobytes() != (
                expected.toarray() if sparse.issparse(expected) else expected
            ).tobytes():
                trial.fails(f"other rows from {what} than from pandas")


@promise("tables: merged transformers know what all rows have shown, and what is merged stays", every=3, shrinks=False)
def tables_merge(case):
    trial = trial_of(case)
    if trial is None or len(trial.batches) < 2:
        return
    others = trial.batches[1:]
    try:
        shards = [trial.learn(clone(trial.pipeline), rows) for rows in trial.batches]
        base = copy.deepcopy(shards[0])
        later = [trial.learn(copy.deepcopy(base), rows) for rows in others]
        before = [image(model) for model in (*shards, *later, base)]
        merged, from_base = merge(shards), merge(later, base)
    except ValueError as error:
        # A column may be empty in one shard and hold words in another, shards may have their own knots, and shards may
        # have met words in another order.
        if any(known in str(error) for known in ("holds", "models with other", "a word has different codes")):
            return
        trial.fails(f"merging fails: {described(error)}")
    except Exception as error:
        trial.fails(f"merging fails: {described(error)}")
    for model, was in zip((*shards, *later, base), before):
        expect_same(was, image(model), "after it was merged")
    whole = whole_of(case)
    for one in (merged, from_base):
        _check_merged(trial, one, whole)
        trial.learn(one, trial.batches[0])  # it can go on learning


@promise("tables: a column of equal numbers changes predictions by rounding, whatever is predicted later", every=3)
def constants_mean_nothing(case):
    rng = case.rng("constants")
    n, d = int(rng.integers(4, 150)), int(rng.integers(1, 5))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-6, 7, d) + rng.normal(size=d)
    y = X @ (rng.normal(size=d) / X.std(axis=0)) + rng.normal(size=n)
    X[rng.random(X.shape) < rng.choice([0.0, 0.2])] = np.nan
    constant = rng.choice([0.1, -1.0 / 3.0, 1e9 / 7.0, 1e300 / 3.0, float(rng.normal())])
    column = np.where(rng.random(n) < rng.choice([0.0, 0.3]), np.nan, constant)
    column[0] = constant  # before the first value, gaps are 0
    half_life = float(rng.choice([10.0, 100.0]))
    learner = rng.choice([
        NAGRegressor(), NAGRegressor(half_life=half_life), ScaleInvariantRegressor(),
        FTRLRegressor(normalization="auto"), FTRLRegressor(normalization="auto", half_life=half_life),
        ScaleInvariantRegressor(invariance="full"), ScaleInvariantRegressor(invariance="full", half_life=half_life),
    ])  # fmt: skip
    first = OnlineImputer() if rng.random() < 0.5 else OnlineProducts(bounded=bool(rng.random() < 0.5))
    models = [make_online_pipeline(clone(first), clone(learner)) for _ in range(2)]
    with sklearn_nag.config_context(kernel="numpy"):
        without, beside = models[0].partial_fit(X, y), models[1].partial_fit(np.column_stack([X, column]), y)
        expected, found = without.predict(X), beside.predict(np.column_stack([X, np.full(n, constant)]))
    size = np.abs(expected).max() + np.ptp(y)
    if not np.abs(found - expected).max() <= 1e-6 * size:
        raise Broken(
            f"predictions differ by {np.abs(found - expected).max() / size:.1e} of their size beside a column of "
            f"{constant!r}: {models[1]!r}, {n} rows"
        )


def _check_merged(trial, merged, whole):
    """Fail unless a merged pipeline knows what all rows have shown."""
    if not np.isfinite(trial.shown(merged)).all():
        trial.fails("what a merged pipeline makes of rows is not finite")
    for one, other in zip(merged[0]._parts(), whole[0]._parts()):
        own, known = one._state if hasattr(one, "_state") else None, getattr(other, "_state", None)
        if isinstance(one, OnlineTfidf) and (own.n != known.n or (own.counts != known.counts).any()):
            trial.fails("documents of shards do not add up")
        if isinstance(one, OnlineOneHotEncoder | OnlineOrdinalEncoder):
            for words, all_words in zip(own.places, known.places):
                if len(words) != len(all_words) or list(words) != list(all_words):
                    trial.fails("the vocabulary of shards in a row is another one than that of all rows")
        if (
            isinstance(one, OnlineImputer)
            and one.strategy == "mean"
            and (own.known.n_values != known.known.n_values).any()
        ):
            trial.fails("values of shards do not add up")
