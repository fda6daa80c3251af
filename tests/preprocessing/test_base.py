"""The base class of the transformers, tested with a transformer that subtracts running means."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_nag import NAGCellsRegressor, NAGRegressor
from sklearn_nag.preprocessing import (
    DateEncoder,
    HashingEncoder,
    Interactions,
    NumberReader,
    OnlineCells,
    OnlineColumnTransformer,
    OnlineCurves,
    OnlineImputer,
    OnlineOneHotEncoder,
    OnlineOrdinalEncoder,
    OnlineProducts,
    make_online_pipeline,
    prepare,
)
from sklearn_nag.preprocessing._base import OnlineTransformer, merged

from .helpers import Centred

pd = pytest.importorskip("pandas")


class Unmergeable(Centred):
    def _merge_states(self, states):
        return OnlineTransformer._merge_states(self, states)


@parametrize_with_checks([Centred()])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_a_row_is_transformed_by_the_rows_up_to_it(rng):
    X = rng.normal(size=(9, 2))
    expected = np.array([X[t] - X[: t + 1].sum(axis=0) / (t + 1) for t in range(9)])
    np.testing.assert_allclose(Centred().learn_transform(X), expected, rtol=1e-14, atol=1e-15)


def test_sparse_columns_of_a_frame_are_read(rng):
    X = rng.integers(0, 3, (5, 2)).astype(float)
    frame = pd.DataFrame({name: pd.arrays.SparseArray(column, fill_value=0.0) for name, column in zip("ab", X.T)})
    for kind in (Centred, OnlineImputer):
        assert kind().fit_transform(frame).tobytes() == kind().fit_transform(X).tobytes()


def test_cuts_change_no_bit(rng):
    X = rng.normal(size=(20, 3))
    whole, cut = Centred(), Centred()
    expected = whole.learn_transform(X)
    parts = [cut.learn_transform(part) for part in np.split(X, [1, 2, 9])]
    assert np.vstack(parts).tobytes() == expected.tobytes()
    assert cut.transform(X).tobytes() == whole.transform(X).tobytes()


def test_fit_begins_anew_and_partial_fit_goes_on(rng):
    X = rng.normal(size=(6, 2))
    assert Centred().fit(X[:3]).fit(X)._state.n == 6
    assert Centred().fit(X[:3]).partial_fit(X)._state.n == 9
    assert Centred().fit(X).fit(X[:, :1]).n_features_in_ == 1


NUMBERS = np.random.default_rng(0).normal(size=(9, 3))
TABLES = {
    "array": NUMBERS, "by columns": np.asfortranarray(NUMBERS), "view": np.tile(NUMBERS, 2)[:, 3:],
    "frame": pd.DataFrame(NUMBERS), "sparse": sparse.csr_array(NUMBERS), "sparse columns": sparse.csc_array(NUMBERS),
    "words": NUMBERS.round().astype(str).astype(object), "dates": (1e15 * NUMBERS).astype("datetime64[us]"),
}  # fmt: skip
TRANSFORMERS = {
    "mean": OnlineImputer(), "marked": OnlineImputer(add_indicator=True), "most": OnlineImputer("most_frequent"),
    "constant": OnlineImputer("constant"), "curves": OnlineCurves([0], first_rows=20),
    "known curves": OnlineCurves([0], first_rows=2, n_knots=3), "no curves": OnlineCurves([], first_rows=2),
    "cells": OnlineCells([0], first_rows=20, n_trees=2), "no cells": OnlineCells([], first_rows=2, n_trees=2),
    "products": OnlineProducts([0]), "no products": OnlineProducts([], products=False),
    "deviations": OnlineProducts([0], products=False), "interactions": Interactions(), "none": Interactions([]),
    "numbers": NumberReader(), "dates": DateEncoder(("days",), one_hot=False), "one-hot": OnlineOneHotEncoder(4),
    "ordinal": OnlineOrdinalEncoder(4), "hashed": HashingEncoder(8),
    "same": OnlineColumnTransformer([("same", "passthrough", [0, 1, 2])]),
    "inner": OnlineColumnTransformer([("inner", OnlineImputer(), [0, 1, 2])]),
    "theirs": OnlineColumnTransformer([("theirs", FunctionTransformer(), [0, 1, 2])]),
    "nested": OnlineColumnTransformer([("a", OnlineColumnTransformer([("b", OnlineImputer(), [0, 1])]), [1, 2])]),
    "pipeline": make_online_pipeline(OnlineImputer(), NumberReader()),
}  # fmt: skip


def arrays_of(rows):
    if sparse.issparse(rows):
        return [rows.data, rows.indices, rows.indptr]
    return [rows[name].to_numpy() for name in rows] if hasattr(rows, "iloc") else [np.asarray(rows)]


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_what_comes_out_has_no_memory_of_what_went_in(name):
    for table, X in TABLES.items():
        transformer = clone(TRANSFORMERS[name])
        try:
            transformer.partial_fit(X)
        except (TypeError, ValueError):
            assert not isinstance(X, np.ndarray) or X.dtype.kind != "f", table  # rows that it does not accept
            continue
        for rows in (X[:2], X) if table != "sparse columns" else (X,):
            for method in (transformer.transform, transformer.learn_transform):
                made = arrays_of(method(rows))
                assert not any(np.shares_memory(own, theirs) for own in made for theirs in arrays_of(rows)), table
                assert all(own.flags.writeable for own in made), table


def test_a_single_sparse_row_is_as_scipy_makes_it():
    X = np.array([["Rome", "Oslo"], ["Lima", "Rome"]], dtype=object)
    encoder = OnlineOneHotEncoder(3).fit(X)
    both = encoder.transform(X)
    for i in (0, 1, 0):  # the rows have nothing in common
        row = encoder.transform(X[i : i + 1])
        row.check_format(full_check=True)
        assert vars(row).keys() == vars(both).keys()
        assert (row.shape, row.indices.dtype, row.indptr.dtype) == ((1, 6), both.indices.dtype, both.indptr.dtype)
        np.testing.assert_array_equal(row.toarray(), both[[i]].toarray())
        row.data[:], row.indices[:], row.indptr[:] = 5.0, 0, 0
        row.sum_duplicates()


@pytest.mark.parametrize("strategy", ["mean", "most_frequent", "constant"])
def test_a_step_behind_that_writes_over_its_rows_changes_no_rows_of_the_caller(strategy):
    X = NUMBERS.copy()
    pipeline = make_pipeline(OnlineImputer(strategy), StandardScaler(copy=False), NAGRegressor())
    pipeline.fit(X, NUMBERS.sum(axis=1))
    np.testing.assert_array_equal(pipeline.predict(X), pipeline.predict(X))
    np.testing.assert_array_equal(X, NUMBERS)


@pytest.mark.parametrize("method", ["fit", "partial_fit", "learn_transform"])
def test_a_failed_call_leaves_no_trace(rng, method):
    X = rng.normal(size=(6, 2))
    transformer = Centred().fit(pd.DataFrame(X, columns=["a", "b"]))
    before, bits = vars(transformer).copy(), pickle.dumps(transformer._state)
    bad = pd.DataFrame(X, columns=["a", "b"])
    bad.loc[3, "b"] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        getattr(transformer, method)(bad)
    assert vars(transformer) == before
    assert pickle.dumps(transformer._state) == bits
    new = Centred()
    with pytest.raises(ValueError, match="NaN"):
        getattr(new, method)(bad)
    assert vars(new) == {"factor": 1.0}


def test_what_is_learnt_goes_through_set_output(rng):
    X = pd.DataFrame(rng.normal(size=(4, 2)), columns=["a", "b"], index=list("wxyz"))
    rows = Centred().set_output(transform="pandas").learn_transform(X)
    assert list(rows.columns) == ["a", "b"]
    assert list(rows.index) == list("wxyz")
    assert isinstance(Centred().learn_transform(X), np.ndarray)
    assert type(clone(Centred().set_output(transform="polars")).learn_transform(X)).__module__.startswith("polars")


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_a_setting_for_all_transformers_is_for_those_whose_rows_frames_hold(output, rng):
    """Transformers that return sparse rows ignore the setting. So pipelines and mixtures, whose inner steps no user has
    named, keep working.
    """
    pytest.importorskip(output)
    frame = pd.DataFrame({"a": rng.normal(size=90), "w": rng.choice(list("xyz"), 90)})
    X, y = frame[["a"]], frame["a"] ** 2
    pipeline, cells = (
        prepare(frame, NAGRegressor()),
        NAGCellsRegressor(n_trees=5, depth=2, first_rows=20, random_state=0),
    )
    expected = [clone(model).partial_fit(rows, y).predict(rows) for model, rows in ((pipeline, frame), (cells, X))]
    with config_context(transform_output=output):
        for method in ("fit", "partial_fit"):
            assert getattr(clone(pipeline), method)(frame, y).predict(frame).shape == y.shape
        found = [clone(model).partial_fit(rows, y).predict(rows) for model, rows in ((pipeline, frame), (cells, X))]
        curves = OnlineCurves(first_rows=20)
        for rows in (curves.learn_transform(X), curves.transform(X), curves.fit_transform(X)):
            assert sparse.issparse(rows)
        for rows in (Centred().learn_transform(X), Centred().fit(X).transform(X), Centred().fit_transform(X)):
            assert type(rows).__module__.startswith(output)
        with pytest.raises(ValueError, match="sparse"):
            curves.set_output(transform=output).transform(X)
    np.testing.assert_array_equal(found, expected)


def test_infinity_is_refused_by_the_name_of_its_column():
    X = pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, -np.inf]})
    with pytest.raises(ValueError, match="contains infinity in column 'b'"):
        Centred().fit(X)


def test_parameters_may_not_change_while_it_goes_on():
    transformer = Centred().fit([[1.0]])
    transformer.set_params(factor=2.0)
    with pytest.raises(ValueError, match="factor was 1.0 when this Centred was new and is 2.0 now"):
        transformer.partial_fit([[1.0]])
    for go_on in (lambda: transformer.transform([[1.0]]), transformer.get_feature_names_out):
        with pytest.raises(ValueError, match="factor was 1.0 when this Centred was new and is 2.0 now"):
            go_on()
    factors = [1.0]  # a list, which changes in place below
    transformer.set_params(factor=factors).fit([[1.0]])
    factors[0] = 2.0
    with pytest.raises(ValueError, match=r"factor was \[1.0\] when this Centred was new and is \[2.0\] now"):
        transformer.partial_fit([[1.0]])
    transformer.set_params(factor=2.0)
    assert transformer.fit([[1.0]])._state.n == 1


def test_merging(rng):
    X = rng.normal(size=(10, 2))
    one, other = Centred().fit(X[:4]), Centred().fit(X[4:])
    both = merged([one, other])
    np.testing.assert_allclose(both.transform(X), Centred().fit(X).transform(X), atol=1e-15)
    assert one._state.n == 4
    with pytest.raises(NotFittedError, match=r"models\[1\] is not fitted"):
        merged([one, Centred()])
    with pytest.raises(ValueError, match="n_features_in_ is 1, there 2"):
        merged([one, Centred().fit(X[:, :1])])
    with pytest.raises(ValueError, match=r"factor is 3.0, there"):
        merged([one, Centred(3.0).fit(X)])
    with pytest.raises(TypeError, match=r"models\[1\] is a Unmergeable, models\[0\] a Centred"):
        merged([one, Unmergeable().fit(X)])
    with pytest.raises(TypeError, match="Unmergeable, which cannot be merged"):
        merged([Unmergeable().fit(X)] * 2)
