"""Bad input and bad parameters raise a clear error and leave the model as it was."""

import copy
import datetime
import pickle
import re
import warnings
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn import config_context as sklearn_config
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_diabetes, load_wine
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils.multiclass import check_classification_targets

from sklearn_nag import (
    FTRLClassifier,
    FTRLRegressor,
    HedgeClassifier,
    HedgeRegressor,
    NAGCellsRegressor,
    NAGClassifier,
    NAGRegressor,
    ScaleInvariantClassifier,
    ScaleInvariantRegressor,
    config_context,
    merge,
)
from sklearn_nag.constraints import L2Ball
from sklearn_nag.estimators._nag import ETA0S, say_alpha_has_no_effect
from sklearn_nag.estimators._validation import check_finite, check_labels, class_codes, named_classes
from sklearn_nag.model_selection import NAGRegressorCV, progressive_validation
from sklearn_nag.preprocessing import OnlineImputer
from sklearn_nag.streams import fit_stream

from ..kernels.helpers import KERNELS, flat
from .helpers import ONES, REGRESSION, RNG, X, Y, bits, first_call

# -- input


def spoilt(value, shape=(30, 3)):
    array = RNG.normal(size=shape)
    array.flat[7] = value
    return array


def huge():
    """A matrix that claims to have 2**31 entries, without their memory."""
    matrix = sparse.csr_matrix((1, 3))
    matrix.indptr = np.array([0, 2**31], dtype=np.int64)
    return matrix


BOTH = {
    "NaN in X": ({"X": spoilt(np.nan)}, "NaN"),
    "inf in X": ({"X": spoilt(np.inf)}, "infinity"),
    "NaN in sparse X": ({"X": sparse.csr_array(spoilt(np.nan))}, "NaN"),
    "NaN in weights": ({"sample_weight": spoilt(np.nan, 30)}, "sample_weight contains NaN"),
    "inf in weights": ({"sample_weight": spoilt(np.inf, 30)}, "sample_weight contains infinity"),
    "negative weights": (
        {"sample_weight": spoilt(-2.0, 30).clip(-2, 1)},
        "sample_weight must not be negative; it is -",
    ),
    "weights of another length": ({"sample_weight": np.ones(29)}, r"sample_weight has shape \(29,\); X has 30 rows"),
    "weights in two columns": ({"sample_weight": np.ones((30, 2))}, "sample_weight has shape"),
    "fewer features": ({"X": X[:, :2]}, "X has 2 features, but .* is expecting 3"),
    "one row without brackets": ({"X": X[0]}, "Expected 2D array"),
    "three dimensions": ({"X": X[None]}, "dim 3"),
    "targets of another length": ({"y": Y[:29]}, "inconsistent numbers of samples"),
    "no targets": ({"y": None}, "requires y to be passed"),
    "no rows": ({"X": X[:0], "y": Y[:0]}, "0 sample"),
    "no features": ({"X": X[:, :0]}, "0 feature"),
    "complex": ({"X": X + 1j}, "Complex data not supported"),
    "words for weights": ({"sample_weight": ["a"] * 30}, "sample_weight must hold numbers; in row 0"),
    "words": ({"X": np.full((30, 3), "word")}, "could not convert string"),
    "2**31 nonzeros": ({"X": huge(), "y": Y[:1]}, "X has 2147483648 nonzeros; one call takes at most 2147483647"),
}
CLASSIFIER = {
    "unknown class": ({"y": np.where(ONES > 0, 7, Y)}, r"y contains 7, which is not one of classes \[0 1\]"),
    "unknown label": ({"y": np.full(30, "a")}, "y contains 'a', which"),
    "other classes": ({"classes": [0, 1, 2]}, r"classes is \[0 1 2\] but was \[0 1\]"),
    "other kinds of labels": ({"y": np.array(["a", 1] * 15, dtype=object)}, "y has labels of a different type"),
    "bytes for labels": ({"y": np.array([b"a", b"b"] * 15)}, "y has labels of bytes, which are not supported: decode"),
    "numbers for classes": ({"y": X[:, 0]}, "Unknown label type"),
    "NaN in y": ({"y": spoilt(np.nan, 30)}, "y has a missing label, nan, in row 7: leave such rows out"),
    "several outputs": ({"y": np.column_stack([Y, Y])}, "row 0 of y adds up to"),
}
REGRESSOR = {
    "NaN in y": ({"y": spoilt(np.nan, 30)}, "y contains NaN"),
    "inf in y": ({"y": spoilt(np.inf, 30)}, "y contains infinity"),
    "words in y": ({"y": np.full(30, "a")}, "could not convert string"),
    "several outputs": ({"y": np.column_stack([Y, Y])}, r"y has shape \(30, 2\); this model was made for targets of"),
    "complex y": ({"y": Y + 1j}, "Complex data"),
    "sparse y": ({"y": sparse.csr_array(Y[:, None] + 0.0)}, r"y must be dense: give y.toarray\(\)"),
}
CASES = [(NAGClassifier(centering=False), *case) for case in {**BOTH, **CLASSIFIER}.items()]
CASES += [(NAGRegressor(centering=False), *case) for case in {**BOTH, **REGRESSOR}.items()]
CASES += [(ScaleInvariantClassifier(centering=False), *case) for case in {**BOTH, **CLASSIFIER}.items()]
CASES += [(ScaleInvariantRegressor(centering=False), *case) for case in {**BOTH, **REGRESSOR}.items()]
CASES += [(FTRLClassifier(centering=False), *case) for case in {**BOTH, **CLASSIFIER}.items()]
CASES += [(FTRLRegressor(centering=False), *case) for case in {**BOTH, **REGRESSOR}.items()]


@pytest.mark.parametrize(("estimator", "name", "case"), CASES, ids=[f"{type(e).__name__}-{n}" for e, n, _ in CASES])
def test_the_model_stays_as_it_was(estimator, name, case):
    """Errors leave a model that has learnt rows and a new one as they were. Some cases are no errors at first calls."""
    changes, message = case
    model = first_call(clone(estimator))
    before, attributes = flat(model._state).copy(), set(vars(model))
    arguments = {"X": X, "y": Y, **changes}
    with pytest.raises((ValueError, TypeError), match=message):
        model.partial_fit(**arguments)
    assert np.array_equal(flat(model._state), before)
    assert set(vars(model)) == attributes
    fine_for_fit = ("unknown class", "unknown label", "other classes", "fewer features", "several outputs")
    if name not in (*fine_for_fit, "other kinds of labels"):
        arguments.pop("classes", None)
        with pytest.raises((ValueError, TypeError), match=message):
            model.fit(**arguments)
        assert np.array_equal(flat(model._state), before)
    if name not in ("other classes", "fewer features", "several outputs"):
        new = clone(estimator)
        extra = {"classes": [0, 1]} if is_classifier(estimator) else {}
        with pytest.raises((ValueError, TypeError), match=message):
            new.partial_fit(**{"X": X, "y": Y, **extra, **changes})
        assert vars(new) == vars(clone(estimator))


def test_names_of_features():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = NAGRegressor().partial_fit(frame, Y)
    before = flat(model._state)
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(frame.rename(columns={"a": "z"}), Y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c"]])
    assert np.array_equal(flat(model._state), before)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("row", [0, 3])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("loss", REGRESSION)
def test_no_row_hides_what_is_not_finite(loss, container, row, bad, rng):
    X, y = rng.normal(size=(6, 3)), rng.normal(size=6)
    X[row, 1] = bad
    for normalization in ("max", "rms", None):
        reg = NAGRegressor(loss, normalization=normalization)
        with pytest.raises(ValueError, match="X contains"):
            reg.partial_fit(container(X), y)
        assert not hasattr(reg, "_state")


@pytest.mark.usefixtures("in_numpy")  # rows with indices of 64 bits are learnt in NumPy, others are not
def test_rows_that_name_a_column_twice():
    X = sparse.csr_array((np.array([1.0, 2.0, 5.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    a = NAGRegressor().partial_fit(X, [1.0, 2.0])
    b = NAGRegressor().partial_fit(sparse.csr_array(X.toarray()), [1.0, 2.0])
    assert np.array_equal(bits(a), bits(b))
    assert X.nnz == 3


@pytest.mark.parametrize("call", ["fit", "partial_fit"])
def test_what_lies_behind_the_last_entry_is_none(call):
    rows, longer = sparse.csr_array(X[:4]), sparse.csr_array(X[:4])
    longer.data, longer.indices = np.append(longer.data, np.nan), np.append(longer.indices, np.int32(0))
    check_finite(longer, "X", "")
    one, other = (getattr(NAGRegressor(max_iter=1, tol=None, shuffle=False), call)(x, Y[:4]) for x in (rows, longer))
    assert np.array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize("fill", [0.0, 1.0, np.nan])
def test_sparse_frames_are_what_they_stand_for(fill):
    pd = pytest.importorskip("pandas")
    rows = np.where(X[:, :2] > 0.5, X[:, :2], 1.0)
    frame = pd.DataFrame(rows, columns=["a", "b"]).astype(pd.SparseDtype(float, fill))
    one, other = (NAGRegressor().partial_fit(x, Y) for x in (frame, rows))
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-9)


def test_entries_that_add_up_to_infinity():
    rows = sparse.csr_array((np.array([1.7e308, 1.7e308]), np.array([0, 0]), np.array([0, 2])), shape=(1, 3))
    with pytest.raises(ValueError, match="same place whose sum is infinite"):
        NAGRegressor().partial_fit(rows, [1.0])


def test_weights_that_are_all_0():
    for model in (first_call(NAGClassifier()), first_call(NAGRegressor(penalty="l2", average=True))):
        before = flat(model._state)
        model.partial_fit(X * 1e6, Y, sample_weight=np.zeros(30))
        assert np.array_equal(flat(model._state), before)
        assert model.t_ == 30
        with pytest.raises(ValueError, match="zero for all rows"):
            model.fit(X, Y, sample_weight=np.zeros(30))
        assert np.array_equal(flat(model._state), before)
    with pytest.raises(ValueError, match="zero for all rows"):
        NAGClassifier(class_weight="balanced").fit(X, Y, sample_weight=np.zeros(30))
    fresh = NAGClassifier().partial_fit(X, Y, classes=[0, 1], sample_weight=np.zeros(30))
    assert fresh.t_ == 0
    assert np.isnan(fresh.progressive_loss_)
    assert np.array_equal(fresh.decision_function(X), np.zeros(30))


def test_weights_are_looked_at_where_scikit_learn_looks_at_nothing():
    with sklearn_config(assume_finite=True), pytest.raises(ValueError, match="sample_weight contains NaN in row"):
        NAGClassifier().fit(X, Y, sample_weight=spoilt(np.nan, 30))


# -- parameters


WRONG = {
    "loss": ("log", "one of 'log_loss'"),
    "normalization": ("l2", "one of 'auto', 'max', 'rms', None. Got 'l2' instead."),
    "adaptive": ("yes", "True or False. Got 'yes'"),
    "eta0": (0.0, "'auto' or a float in the range (0, inf). Got 0.0 instead."),
    "learning_rate": ("falling", "one of 'constant', 'invscaling'. Got 'falling' instead."),
    "power_t": (-1.0, "a float in the range [0, inf). Got -1.0"),
    "penalty": ("none", "one of"),
    "alpha": (-1e-4, "a float in the range [0, inf). Got -0.0001 instead."),
    "potential_alpha": (1.125, "a float in the range (1.125, inf). Got 1.125 instead."),
    "l1_ratio": (1.5, "None or a float in the range [0, 1]. Got 1.5 instead."),
    "epsilon": (-1, "a float in the range [0, inf). Got -1"),
    "quantile": (1.0, "a float in the range (0, 1). Got 1.0"),
    "fit_intercept": (1, "True or False. Got 1"),
    "max_iter": (0, "an int in the range [1, inf). Got 0 instead."),
    "tol": (-1.0, "a float in the range [0, inf)"),
    "shuffle": ("yes", "True or False"),
    "verbose": (-1, "an int in the range [0, inf)"),
    "n_jobs": (1.5, "an int in the range (-inf, inf). Got 1.5 instead. -1 is for all cores."),
    "early_stopping": (None, "one of True, False, 'auto'"),
    "validation_fraction": (1.0, "a float in the range (0, 1). Got 1.0 instead."),
    "n_iter_no_change": (0, "an int in the range [1, inf)"),
    "warm_start": (2, "True or False"),
    "average": (-1, "Got -1 instead."),
    "class_weight": ("even", "'balanced', None or a dict of weights by class. Got 'even' instead."),
}


@pytest.mark.parametrize(
    "estimator",
    [
        NAGClassifier(),
        NAGRegressor(),
        FTRLClassifier(),
        FTRLRegressor(),
        ScaleInvariantClassifier(update="potential"),
        ScaleInvariantRegressor(invariance="full"),
    ],
)
def test_parameters_out_of_range(estimator):
    begun = first_call(clone(estimator))
    before = flat(begun._state)
    for name in (name for name in WRONG if name in estimator.get_params()):
        value, message = WRONG[name]
        if name == "loss" and not is_classifier(estimator):
            first = "'auto', " if type(estimator) is ScaleInvariantRegressor else ""
            message = f"one of {first}'squared_error', 'absolute_error', 'huber'"
        if name == "eta0" and isinstance(estimator, FTRLClassifier | FTRLRegressor):
            message = message.removeprefix("'auto' or ")
        if name == "epsilon" and type(estimator) is ScaleInvariantRegressor:
            message = "'auto' or " + message
        public = f"The {name!r} parameter of {type(estimator).__name__} must be "
        model = copy.deepcopy(begun).set_params(**{name: value})
        for method in (model.fit, model.partial_fit):
            with pytest.raises(ValueError, match=re.escape(public) + ".*" + re.escape(message)) as error:
                method(X, Y)
            assert isinstance(error.value, TypeError), name
            assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)
        assert np.array_equal(flat(model._state), before), name


@pytest.mark.parametrize("value", [np.nan, np.inf, "0.5", None])
def test_learning_rates_that_are_no_number(value):
    with pytest.raises((ValueError, TypeError), match="eta0"):
        NAGClassifier(eta0=value).fit(X, Y)


def test_parameters_of_one_estimator():
    with pytest.raises(ValueError, match="'n_jobs' parameter of NAGRegressor must be None, the number of threads"):
        NAGRegressor(n_jobs=0).fit(X, Y)
    with pytest.raises(ValueError, match="l1_ratio must be set when penalty is 'elasticnet'"):
        NAGClassifier(penalty="elasticnet", l1_ratio=None).fit(X, Y)
    a, b = (NAGClassifier(penalty="l1", l1_ratio=ratio, random_state=0).fit(X, Y) for ratio in (None, 0.5))
    assert np.array_equal(a.coef_, b.coef_)


def test_any_boolean_will_do():
    X, y = load_wine(return_X_y=True)
    a, b = (NAGClassifier(average=a, max_iter=1, random_state=0).fit(X, y) for a in (True, np.True_))
    assert np.array_equal(a.coef_, b.coef_)
    a, b = (NAGClassifier().partial_fit(X, y, [0, 1, 2], weight) for weight in (2.0, np.array(2.0)))
    assert np.array_equal(a.coef_, b.coef_)


def test_any_kind_of_boolean_and_of_output():
    X, y = load_diabetes(return_X_y=True)
    NAGRegressor(centering=np.False_, fit_intercept=False).fit(X, y)
    assert NAGRegressor(eta0="auto").partial_fit(X, np.column_stack([y, y])).eta0_weights_.shape == (2, len(ETA0S))
    assert NAGRegressor(eta0="auto").partial_fit(X, y).eta0_weights_.shape == (len(ETA0S),)
    with np.errstate(all="raise"):
        loss = NAGRegressor().partial_fit(X[:2], np.outer([1e200, -1e200], np.ones(4))).progressive_loss_
    assert np.isfinite(loss)


@pytest.mark.parametrize(
    ("word", "hint"), [("optimal", "eta0='auto'"), ("adaptive", "adaptive=True"), ("pa1", "PA-I"), ("pa2", "PA-II")]
)
def test_refused_schedules_say_what_to_use(word, hint):
    with pytest.raises(ValueError, match=f"Got '{word}' instead. .*{re.escape(hint)}"):
        NAGClassifier(learning_rate=word).fit(X, Y)


def test_the_steps_that_stand_for_pa1(rng):
    """The steps that the message for "pa1" names are those of PA-I (Crammer et al. 2006), with a feature 1."""
    rows, y = rng.normal(size=(40, 3)), rng.choice([-1, 1], 40)
    w = np.zeros(4)
    for x, sign in zip(np.column_stack([rows, np.ones(40)]), y):
        w += sign * x * min(0.1, max(0.0, 1 - sign * (w @ x)) / (x @ x))
    clf = NAGClassifier("hinge", normalization=None, adaptive=False, eta0=0.1, average=False)
    clf.partial_fit(rows, y, classes=[-1, 1])
    np.testing.assert_allclose(np.append(clf.coef_, clf.intercept_), w, rtol=1e-12)


def test_a_penalty_that_is_not_there_is_said_once():
    say_alpha_has_no_effect.cache_clear()
    for estimator in (NAGClassifier(alpha=0.1), NAGRegressor(alpha=0.0)):
        with pytest.warns(UserWarning, match=f"alpha has no effect on {type(estimator).__name__} with penalty=None"):
            estimator.fit(X, Y)
        clone(estimator).set_params(penalty="l2").fit(X, Y)
    say_alpha_has_no_effect.cache_clear()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        GridSearchCV(NAGClassifier(max_iter=1), {"alpha": [1e-3, 1e-2, 1e-1]}, cv=2).fit(X, Y)
    assert [str(w.message) for w in said if w.category is UserWarning] == [
        "alpha has no effect on NAGClassifier with penalty=None, the default: set penalty='l2', 'l1' or 'elasticnet'."
    ]


# -- objects, dates, numbers out of range, other libraries


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "epsilon_insensitive", "quantile"])
@pytest.mark.parametrize(("bad", "what"), [(None, "NaN"), (np.inf, "infinity"), (10**400, "an integer beyond")])
@pytest.mark.parametrize("weight", [None, np.arange(30) != 3])
@pytest.mark.parametrize("make", [NAGRegressor, ScaleInvariantRegressor])
def test_targets_that_are_objects(make, loss, bad, what, weight):
    y = Y.astype(object)
    y[3] = bad
    for targets, where in ((y, " in row 3"), (list(y), ""), (np.column_stack([Y, y]), " in row 3, column 1")):
        for method in ("fit", "partial_fit"):
            model = make(loss)
            with pytest.raises(ValueError, match=f"y (contains|has) {what}.*{where}"):
                getattr(model, method)(X, targets, sample_weight=weight)
            assert vars(model) == vars(make(loss))


def test_targets_in_a_series():
    pd = pytest.importorskip("pandas")
    y = pd.Series([*Y[:29], None], dtype=object)
    with pytest.raises(ValueError, match="Input y contains NaN in row 29"):
        NAGRegressor("absolute_error").fit(X, y)


@pytest.mark.parametrize(("bad", "what"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_rows_of_targets_and_weights_that_are_not_finite_are_named_and_counted(bad, what):
    y, weight = X[:, 0].copy(), np.ones(len(Y))
    y[[7, 11]] = weight[[7, 11]] = bad
    of_y = f"Input y contains {what} in row 7, the first of 2 such rows"
    for learn in (NAGRegressor().fit, NAGRegressor().partial_fit, HedgeRegressor().fit, NAGRegressorCV().fit):
        for targets in (y, y.tolist()):
            with pytest.raises(ValueError, match=of_y):
                learn(X, targets)
    with pytest.raises(ValueError, match=f"Input y contains {what} in row 7, column 1, the first of 2 such rows"):
        NAGRegressor().fit(X, np.c_[Y, y])
    with pytest.raises(ValueError, match=f"Input sample_weight contains {what} in row 7, the first of 2 such rows"):
        NAGRegressor().fit(X, Y, sample_weight=weight)
    if bad == np.inf:
        with pytest.raises(ValueError, match=of_y):
            NAGClassifier().fit(X, np.where(y == bad, y, 1.0 * Y))


def test_infinity_is_named_where_values_may_be_missing():
    rows = X.copy()
    rows[2, 1], rows[5, 0], rows[6:8, 1] = np.nan, np.inf, -np.inf
    model = NAGCellsRegressor(n_trees=2, depth=2).partial_fit(X, Y)
    for call in (lambda: clone(model).fit(rows, Y), lambda: model.partial_fit(rows, Y), lambda: model.predict(rows)):
        with pytest.raises(ValueError, match=r"X contains infinity in row 5, column 0, the first of 3 such rows\.$"):
            call()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("container", [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("column", [0, 2])
def test_what_is_not_finite_is_found(container, bad, column):
    rows = X.copy()
    rows[4, column] = bad
    what = "NaN" if np.isnan(bad) else "infinity"
    fitted = first_call(NAGRegressor(centering=False))
    for call in (NAGRegressor().fit, NAGRegressor().partial_fit, fitted.partial_fit):
        with pytest.raises(ValueError, match=f"Input X contains {what} in row 4, column {column}"):
            call(container(rows), Y)
    with pytest.raises(ValueError, match=f"Input X contains {what} in row 4, column {column}"):
        fitted.predict(container(rows))


def test_what_is_not_finite_is_found_by_name():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X.copy(), columns=["age", "height", "weight"])
    reg = NAGRegressor().fit(frame, Y)
    frame.loc[4, "weight"] = np.nan
    for call in (reg.fit, reg.partial_fit, NAGRegressor().fit, NAGRegressor().partial_fit, lambda X, y: reg.predict(X)):
        with pytest.raises(ValueError, match=r"Input X contains NaN in row 4, column 2 \('weight'\)"):
            call(frame, Y)


def test_sums_that_overflow_are_not_infinity():
    rows = np.full((30, 3), 1e38, np.float32)
    rows[1] = 0.5
    assert np.isfinite(NAGRegressor().partial_fit(rows * 3, Y).fit(rows * 3, Y).predict(rows)).all()


def test_numbers_beyond_float64():
    big = 10**400
    with pytest.raises(ValueError, match=r"X has an integer beyond the range of float64 .* in row 1, column 0"):
        NAGRegressor().fit([[1, 2], [big, 2]], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"sample_weight has an integer beyond the range of float64 .* in row 1"):
        NAGRegressor().fit([[1, 2], [3, 2]], [1.0, 2.0], sample_weight=[1, big])
    reg = NAGRegressor().fit([[1, 2], [3, 2]], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"X has an integer beyond the range of float64 .* in row 0, column 1"):
        reg.predict([[1, -big]])


def test_dates():
    pd = pytest.importorskip("pandas")
    dates = pd.date_range("2024", periods=30)
    frame = pd.DataFrame({"a": X[:, 0], "when": dates})
    for rows, message in [
        (frame, "X has dates or times in column 'when'"),
        (frame.assign(when=dates.tz_localize("UTC")), "X has dates or times in column 'when'"),
        (frame.assign(when=dates - dates[0]), "X has dates or times in column 'when'"),
        (frame[["when"]].to_numpy(), r"X has dates or times \(datetime64"),
    ]:
        with pytest.raises(ValueError, match=message):
            NAGRegressor().fit(rows, Y)
    with pytest.raises(ValueError, match=r"y has dates or times \(datetime64"):
        NAGRegressor().fit(X, dates)
    with pytest.raises(ValueError, match="X has a date or time in row 0, column 0"):
        NAGRegressor().fit([np.array([row]) for row in dates.to_numpy()], Y)
    with pytest.raises(ValueError, match="X has a date or time in row 0, column 0"):  # integers among objects
        NAGRegressor().fit(list(dates.to_numpy().astype("datetime64[ns]")[:, None]), Y)
    missing, day = np.datetime64("NaT", "D"), np.datetime64("2024-01-01")
    for bad in (missing, day, day - day, datetime.datetime(2024, 1, 1), dates[0], pd.NaT):
        column = [0.0] * 29 + [bad]
        for rows in ([[value] for value in column], np.array(column, dtype=object)[:, None]):
            with pytest.raises(ValueError, match="X has a date or time in row 29, column 0"):
                NAGRegressor().partial_fit(rows, Y)
        with pytest.raises(ValueError, match="y has a date or time in row 29"):
            NAGRegressor().partial_fit(X, np.array(column, dtype=object))
    for weight in (np.full(30, day), np.full(30, day - day)):
        with pytest.raises(ValueError, match="sample_weight has dates or times"):
            NAGRegressor().partial_fit(X, Y, sample_weight=weight)
    polars = pytest.importorskip("polars")
    with pytest.raises(ValueError, match="X has dates or times in column 'when'"):
        NAGRegressor().fit(polars.DataFrame(frame), Y)


class Tensor:
    """An array of another library, on the CPU or not."""

    def __init__(self, array, on_cpu):
        self.array, self.on_cpu = array, on_cpu
        self.shape, self.dtype = array.shape, array.dtype

    def __len__(self):
        return len(self.array)

    def __dlpack__(self):
        raise NotImplementedError

    def __array__(self, dtype=None, copy=None):
        if not self.on_cpu:
            raise TypeError("can't convert cuda:0 device type tensor to numpy")
        return np.asarray(self.array, dtype)


def test_arrays_of_other_libraries():
    reg = NAGRegressor().fit(Tensor(X, True), Tensor(Y, True))
    assert np.array_equal(reg.predict(Tensor(X, True)), reg.predict(X))
    message = "is a .*Tensor, which NumPy cannot read: .* moving it to the CPU"
    for call in (reg.fit, reg.partial_fit, lambda X, y: reg.predict(X)):
        with pytest.raises(TypeError, match="X " + message):
            call(Tensor(X, False), Y)
    with pytest.raises(TypeError, match="y " + message):
        reg.fit(X, Tensor(Y, False))


@pytest.mark.parametrize("make", [NAGClassifier, NAGRegressor, ScaleInvariantClassifier, ScaleInvariantRegressor])
def test_targets_in_one_column(make):
    flat = make(random_state=0, max_iter=3).fit(X, Y)
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        column = make(random_state=0, max_iter=3).fit(X, Y[:, None])
    assert column.coef_.shape == flat.coef_.shape
    assert column.predict(X).shape == (30,)
    assert np.array_equal(column.coef_, flat.coef_)
    with pytest.warns(DataConversionWarning):
        column.partial_fit(X, Y[:, None])
    assert np.array_equal(column.coef_, flat.partial_fit(X, Y).coef_)


# -- errors name the public class


@pytest.mark.parametrize("make", [NAGClassifier, NAGRegressor, ScaleInvariantClassifier, ScaleInvariantRegressor])
def test_wrong_calls_name_the_public_class(make):
    model, name = first_call(make()), make.__name__
    calls = {
        "fit": ((), {}),
        "partial_fit": ((X, Y), {"weights": 1}),
        "predict": ((), {}),
        "sparsify": ((1,), {}),
        "densify": ((1,), {}),
        "set_coef": ((1,), {}),
    }
    if is_classifier(model):
        calls |= {"decision_function": ((X, 2), {}), "predict_proba": ((), {}), "predict_log_proba": ((), {"x": 1})}
    for method, (arguments, options) in calls.items():
        with pytest.raises(TypeError, match=rf"^{name}\.{method}\(\) ") as error:
            getattr(model, method)(*arguments, **options)
        assert "Online" not in str(error.value)


# -- arrays in other forms, and objects that are no arrays

LEARNERS = [
    NAGClassifier,
    NAGRegressor,
    ScaleInvariantClassifier,
    ScaleInvariantRegressor,
    FTRLClassifier,
    FTRLRegressor,
]
MASKED = {
    "X": ({"X": np.ma.masked_array(X, np.arange(90).reshape(30, 3) == 7)}, "X has a masked entry in row 2, column 1"),
    "rows": ({"X": [np.ma.masked_array(row, row == X[4, 2]) for row in X]}, "X has a masked entry in row 4, column 2"),
    "y": ({"y": np.ma.masked_array(Y, np.arange(30) == 3)}, "y has a masked entry in row 3"),
    "weights": ({"sample_weight": np.ma.masked_array(np.ones(30), np.arange(30) == 9)}, "sample_weight has a masked"),
    "one weight": ({"sample_weight": np.ma.masked}, "sample_weight has a masked entry, which has no value"),
}


@pytest.mark.parametrize(("changes", "message"), MASKED.values(), ids=list(MASKED))
@pytest.mark.parametrize("make", LEARNERS)
def test_masked_entries_are_refused(make, changes, message):
    model = first_call(make())
    before = pickle.dumps(model)
    for method in ("partial_fit", "fit"):
        with pytest.raises(ValueError, match=message):
            getattr(model, method)(**{"X": X, "y": Y, **changes})
    if "X" in changes:
        with pytest.raises(ValueError, match=message):
            model.predict(changes["X"])
    assert pickle.dumps(model) == before


def test_masked_entries_of_sparse_rows_and_of_weights_that_are_given():
    model, rows = first_call(NAGRegressor(centering=False)), sparse.csr_array(X)
    rows.data = np.ma.masked_array(rows.data, np.arange(90) == 5)
    with pytest.raises(ValueError, match="X has masked entries in its data"):
        model.partial_fit(rows, Y)
    with pytest.raises(ValueError, match="coef has a masked entry in row 1"):
        model.set_coef(np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False]), 0.0)
    with pytest.raises(ValueError, match="intercept_init has a masked entry"):
        model.fit(X, Y, intercept_init=np.ma.masked)


@pytest.mark.parametrize("make", LEARNERS)
def test_a_mask_without_masked_entries_changes_nothing(make):
    plain = first_call(make())
    masked = make().partial_fit(
        np.ma.masked_array(X), np.ma.masked_array(Y), sample_weight=np.ma.masked_array(np.ones(30)),
        **({"classes": np.ma.masked_array([0, 1])} if is_classifier(plain) else {}),
    )  # fmt: skip
    assert np.array_equal(bits(plain), bits(masked))
    assert np.array_equal(masked.predict(np.ma.masked_array(X)), plain.predict(X))


@pytest.mark.parametrize("make", LEARNERS)
@pytest.mark.parametrize("guise", [iter, set, dict.fromkeys, lambda rows: (row for row in rows)])
def test_what_has_no_order_is_named(make, guise):
    model, rows = first_call(make()), list(map(tuple, X))
    for change, name in (({"X": guise(rows)}, "X"), ({"y": guise(Y.tolist())}, "y")):
        with pytest.raises(TypeError, match=rf"^{name} is a \w+, whose entries have no positions: expected an array"):
            model.partial_fit(**{"X": X, "y": Y, **change})
    with pytest.raises(TypeError, match="^X is a"):
        model.predict(guise(rows))
    with pytest.raises(TypeError, match="^sample_weight is a"):
        model.partial_fit(X, Y, sample_weight=guise(Y.tolist()))


def test_a_thing_that_is_no_array_is_named():
    for thing in (object(), print):
        with pytest.raises(TypeError, match="X must hold numbers: float"):
            first_call(NAGRegressor()).predict(thing)


def test_complex_numbers_dates_and_words_are_named_wherever_they_are_given():
    pd = pytest.importorskip("pandas")
    model = first_call(NAGRegressor())
    for make, values, where in (
        (pd.DataFrame, X, " in column 0"), (np.asarray, X, ""), (np.ndarray.tolist, X, " in row 0, column 0"),
        (sparse.csr_array, X, ""),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=rf"Complex data not supported: X has .*{where}"):
            model.predict(make(values + 1j))
    with pytest.raises(ValueError, match="Complex data not supported: y has complex numbers"):
        first_call(NAGClassifier()).partial_fit(X, Y + 1j)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # about the imaginary part, which would be lost
        for call, name in (
            (lambda values: model.partial_fit(X, Y, sample_weight=np.resize(values, 30)), "sample_weight"),
            (lambda values: model.fit(X, Y, coef_init=values), "coef_init"),
            (lambda values: model.set_coef(values, 0.0), "coef"),
            (lambda values: model.set_coef(np.ones(3), values[0]), "intercept"),
        ):
            with pytest.raises(ValueError, match=f"Complex data not supported: {name} has dtype complex128"):
                call(np.ones(3) + 1j)
            with pytest.raises(ValueError, match=f"{name} has dates or times"):
                call(np.array(["2020-01-01"] * 3, "M8[D]"))
            with pytest.raises(ValueError, match=f"{name} must hold numbers.*: could not convert string to float: 'a'"):
                call(np.array(["a"] * 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(b=[*"1234567"] + ["word"] * 23)
    with pytest.raises(
        ValueError, match=r"X must hold numbers; in row 7, column 1 \('b'\): could not .* float: 'word'"
    ):
        NAGRegressor().fit(frame, Y)


@pytest.mark.parametrize("make", LEARNERS)
def test_numbers_beyond_float64_are_named(make):
    names = [name for name, value in make().get_params().items() if type(value) in (int, float)]
    assert {"max_iter", "tol"} < set(names)
    for name in [*names, "random_state"]:
        for value in (10**400, -(10**400), 10**5000):  # Python refuses to write the last one
            with pytest.raises((ValueError, TypeError), match=f"'{name}' parameter of {make.__name__} must be"):
                make(**{name: value}).fit(X, Y)
    for parameters in ({"class_weight": {0: 10**400}},) if is_classifier(make()) else ({"clip": (0, 10**400)},):
        with pytest.raises((ValueError, TypeError), match=f"'{next(iter(parameters))}' parameter"):
            make(**parameters).fit(X, Y)


@pytest.mark.parametrize("seed", [-1, 2**32, 1.5, "a", np.random.default_rng(0), 10**400])
def test_seeds_that_are_none_are_named(seed):
    with pytest.raises(
        ValueError, match=r"'random_state' parameter of NAGClassifier must be None, an int in the range"
    ):
        NAGClassifier(random_state=seed).partial_fit(X, Y, classes=[0, 1])


@pytest.mark.parametrize("seed", [None, 0, np.int64(7), 2**32 - 1, np.random, np.random.RandomState(0)])
def test_seeds(seed):
    NAGClassifier(random_state=seed, max_iter=1).fit(X, Y)


@pytest.mark.parametrize("clip", [[-1.0, 1.0], np.array([-1.0, 1.0])], ids=type)
def test_a_range_that_was_changed_in_place_is_heeded(clip):
    clip = clip.copy()
    model, other = (first_call(NAGRegressor(clip=given)) for given in (clip, (-1.0, 1.0)))
    clip[1] = 9.0
    for some in (model.set_params(clip=clip), other.set_params(clip=(-1.0, 9.0))):
        some.partial_fit(X, 5 * X[:, 0])
    assert np.array_equal(bits(model), bits(other))
    assert np.array_equal(model.predict(X), other.predict(X))
    assert 1.0 < model.predict(X).max()


@pytest.mark.parametrize(
    ("make", "name", "value", "change", "message"),
    [
        (NAGRegressor, "half_life", [10, 50], {0: 30}, r"half_life was \[10, 50\] when .* and is \[30, 50\] now"),
        (NAGRegressor, "constraint", {2: 1}, {2: 5}, "constraint has 5 for column 2; signs are"),
        (NAGRegressor, "constraint", {2: 1}, {9: 1}, "constraint has a sign for column 9; X has 3 columns"),
        (NAGClassifier, "class_weight", {0: 1.0}, {0: -1.0}, "The 'class_weight' parameter of NAGClassifier must be"),
        (NAGClassifier, "class_weight", {0: 1.0}, {0: np.nan}, "The 'class_weight' parameter of NAGClassifier must be"),
    ],
)
def test_parameters_that_were_changed_in_place_are_checked(make, name, value, change, message):
    value = value.copy()
    model = first_call(make(**{name: value}))
    before, copied = bits(model).copy(), pickle.loads(pickle.dumps(model))
    for some in (model, model, copied):
        place, new = next(iter(change.items()))
        getattr(some, name)[place] = new
        with pytest.raises(ValueError, match=message):
            some.partial_fit(X, Y)
    assert np.array_equal(bits(model), before)
    if name != "half_life":
        with pytest.raises(ValueError, match=message):
            model.fit(X, Y)


def test_parameters_of_a_model_that_are_arrays_now():
    model = first_call(NAGRegressor()).set_params(eta0=np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match="The 'eta0' parameter"):
        model.partial_fit(X, Y)
    with pytest.raises(ValueError, match="The 'invariance' parameter"):
        ScaleInvariantRegressor(invariance=np.array([1.0, 2.0])).fit(X, Y)


@pytest.mark.parametrize("kernel", KERNELS)
def test_fractions_are_the_floats_they_stand_for(kernel):
    own = {"loss": "huber", "epsilon": 0.75, "eta0": 0.5, "clip": (0, 0.5), "max_iter": 2, "tol": None}
    for extra in ({"penalty": "elasticnet", "alpha": 0.25, "l1_ratio": 0.5}, {"constraint": L2Ball(0.5)}):
        plain = {**own, **extra}
        exact = {k: Fraction(v) if isinstance(v, float) else v for k, v in plain.items()}
        exact |= {"clip": (Fraction(0), Fraction(1, 2))}
        if "constraint" in extra:
            exact["constraint"] = L2Ball(Fraction(1, 2))
        with config_context(kernel=kernel):
            models = [NAGRegressor(**parameters, random_state=0).fit(X, Y) for parameters in (plain, exact)]
        assert models[0].coef_.tobytes() == models[1].coef_.tobytes()


@pytest.mark.parametrize("make", [NAGClassifier, ScaleInvariantClassifier, FTRLClassifier, HedgeClassifier])
def test_whole_numbers_as_objects_are_labels(make):
    plain = make(random_state=0).fit(X, Y)
    for labels in (Y.astype(object), np.array([bool(label) for label in Y], dtype=object)):
        assert np.array_equal(make(random_state=0).fit(X, labels).predict(X), plain.predict(X))
        model = make().partial_fit(X, labels, classes=np.unique(labels))
        assert model.classes_.dtype.kind in "bi"
        assert np.array_equal(model.partial_fit(X, labels).predict(X), model.predict(X))
    for labels in (np.array([0, 1.5] * 15, dtype=object), np.array([0, None] * 15, dtype=object)):
        for call in (lambda y: make().fit(X, y), lambda y: make().partial_fit(X, y, classes=[0, 1])):
            with pytest.raises((ValueError, TypeError)):
                call(labels)
    with pytest.raises(ValueError, match="classes must be whole numbers, booleans or words"):
        make().partial_fit(X, Y, classes=[0.5, {}])
    with pytest.raises(TypeError, match="classes is a set"):
        make().partial_fit(X, Y, classes={0, 1})


def test_words_are_told_what_makes_numbers_of_them():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"size": [1.0, 2.0], "town": ["Rome", "Oslo"]})
    remedy = "sklearn_nag.preprocessing.prepare converts words to columns of numbers"
    with pytest.raises(ValueError, match=rf"in row 0, column 1 \('town'\): could not .* float: 'Rome'\. {remedy}"):
        NAGRegressor().fit(frame, [1.0, 2.0])
    with pytest.raises(ValueError, match="y must hold numbers.*'a'[.]$"):
        NAGRegressor().fit(frame[["size"]], ["a", "b"])


def test_an_estimator_that_was_cloned_says_that_the_clone_has_learnt():
    reg = NAGRegressor()
    fit_stream(reg, [(X, Y)])
    for call in (lambda: reg.predict(X), reg.coefficients, reg.sparsify):
        with pytest.raises(NotFittedError, match="NAGRegressor instance is not fitted.* use the one that they return"):
            call()


@pytest.mark.parametrize("classes", [[0, 1], [-3, 2, 9], [False, True], [0.5, 2.5], ["a", "b", "cd"]])
def test_places_of_few_labels_and_of_many(classes, monkeypatch):
    classes = np.array(classes)
    labels = np.random.default_rng(0).choice(classes, 500)
    codes = class_codes(labels, classes)
    assert np.array_equal(classes[codes], labels)
    for i in range(0, 500, 3):
        few = class_codes(labels[i : i + 3], classes)
        assert few.dtype == codes.dtype == np.int32
        assert np.array_equal(few, codes[i : i + 3])
    monkeypatch.setattr("sklearn_nag.estimators._validation._CHUNK", 70)  # looked up at a time, of many
    assert np.array_equal(class_codes(labels, classes), codes)
    unknown = np.array(["x"] if classes.dtype.kind == "U" else [7])
    for n in (1, 500):
        with pytest.raises(ValueError, match="y contains .*, which is not one of classes"):
            class_codes(np.repeat(unknown, n), classes)


def test_labels_without_a_sign_are_told_apart_where_floats_do_not():
    classes = np.array([2**60, 2**60 + 1, 2**60 + 2])
    labels = classes[[1, 2, 0, 1] * 10]
    for ours, theirs in (labels, classes.astype(np.uint64)), (labels.astype(np.uint64), classes):
        assert class_codes(ours, theirs).tolist() == [1, 2, 0, 1] * 10


def test_a_parameter_that_is_set_between_single_rows_is_heeded():
    single, batches = (NAGClassifier(average=False).partial_fit(X[:15], Y[:15] > 0, [False, True]) for _ in range(2))
    for start, eta0 in ((15, 0.5), (20, 0.5), (25, 2.0)):
        rows = slice(start, start + 5)
        batches.set_params(eta0=eta0).partial_fit(X[rows], Y[rows] > 0)
        for i in range(start, start + 5):
            single.set_params(eta0=float(str(eta0))).partial_fit(X[i : i + 1], Y[i : i + 1] > 0)  # another object
    assert np.array_equal(bits(single), bits(batches))
    single.fit_intercept = 1  # which equals True
    with pytest.raises(ValueError, match="fit_intercept"):
        single.partial_fit(X[:1], Y[:1] > 0)


@pytest.mark.parametrize("numbers", [[1, None, 2], [1.5, None, 2.5], [True, None, False], ["1", None, "2"]])
def test_a_missing_entry_of_a_dictionary_of_arrow_is_missing(numbers):
    pa = pytest.importorskip("pyarrow", exc_type=ImportError)
    coded = pa.array(numbers).dictionary_encode()
    tables = [pa.table({"a": column}) for column in (coded, pa.chunked_array([coded, coded[:0]]))]
    filled = [float(x) if x is not None else np.mean([float(x) for x in numbers if x is not None]) for x in numbers]
    for table in tables:
        assert_array_equal(OnlineImputer().fit_transform(table).ravel(), filled)
        with pytest.raises(ValueError, match="X contains NaN in row 1"):
            NAGRegressor().fit(table, [0.0, 1.0, 0.0])
        with pytest.raises(ValueError, match="y contains NaN"):
            NAGRegressor().fit([[1.0], [2.0], [3.0]], table["a"])


def test_a_missing_entry_of_a_dictionary_of_views_of_strings_is_missing():
    pa = pytest.importorskip("pyarrow", exc_type=ImportError)
    if not hasattr(pa, "string_view"):
        pytest.skip("a version of Arrow without views of strings")
    coded = pa.DictionaryArray.from_arrays(pa.array([0, None, 1]), pa.array(["1", "2"]).cast(pa.string_view()))
    assert_array_equal(OnlineImputer().fit_transform(pa.table({"a": coded})).ravel(), [1.0, 1.5, 2.0])


@pytest.mark.parametrize("dtype", ["string", "category"])
def test_a_missing_entry_of_pandas_beside_words_of_numbers(dtype):
    pd = pytest.importorskip("pandas")
    words = pd.Series(["1", None, "2"], dtype="string").astype(dtype)
    frame = pd.DataFrame({"a": words, "b": [1.0, 2.0, 3.0]})
    assert_array_equal(OnlineImputer().fit_transform(frame), [[1.0, 1.0], [1.5, 2.0], [2.0, 3.0]])
    with pytest.raises(ValueError, match=r"X contains NaN in row 1, column 0 \('a'\)"):
        NAGRegressor().fit(frame, [0.0, 1.0, 0.0])
    with pytest.raises(ValueError, match="could not convert string to float: 'one'"):
        NAGRegressor().fit(frame.astype("string").replace("1", "one"), [0.0, 1.0, 0.0])


def test_a_row_that_is_a_series_is_refused():
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="Expected a 2-dimensional container"):
        NAGRegressor().fit(pd.Series([1.0, 2.0, 3.0]), [0.0, 1.0, 2.0])


def test_categories_that_are_dates_are_no_numbers():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": pd.Series(pd.to_datetime(["2024-01-01", None, "2024-02-01"])).astype("category")})
    for rows in (frame, frame.assign(b=1.0)):
        with pytest.raises(ValueError, match="X has dates or times in column 'a'"):
            OnlineImputer().fit(rows)


@pytest.mark.parametrize("kind", ["array", "dictionary", "chunked"])
def test_labels_may_be_words_of_arrow(kind):
    pa = pytest.importorskip("pyarrow", exc_type=ImportError)
    X, words = np.eye(4), np.array(["no", "yes", "no", "yes"])
    labels = {
        "array": lambda: pa.array(words),
        "dictionary": lambda: pa.array(words).dictionary_encode(),
        "chunked": lambda: pa.chunked_array([pa.array(words[:1]), pa.array(words[1:])]),
    }[kind]()
    model = NAGClassifier(random_state=0).fit(X, labels)
    np.testing.assert_array_equal(model.predict(X), NAGClassifier(random_state=0).fit(X, words).predict(X))


def test_periods_of_arrow_are_no_numbers():
    pd, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow", exc_type=ImportError)
    frame = pd.DataFrame({"a": pd.period_range("2024-01", periods=3, freq="M"), "b": [1.0, 2.0, 3.0]})
    table = pa.Table.from_pandas(frame)
    for rows in (table, table.select(["a"]), table.to_batches()[0]):
        with pytest.raises(ValueError, match="X has dates or times"):
            NAGRegressor().fit(rows, [0.0, 1.0, 0.0])
    with pytest.raises(ValueError, match="y has dates or times"):
        NAGRegressor().fit(table.select(["b"]), table["a"])


def test_a_column_of_arrow_without_values_is_missing():
    pd, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow", exc_type=ImportError)
    column = pd.Series([None] * 2, dtype=pd.ArrowDtype(pa.null()))
    for rows in (pd.DataFrame({"a": column}), pd.DataFrame({"a": column, "b": 0.0}), pa.table({"a": pa.nulls(2)})):
        assert not OnlineImputer().fit_transform(rows).any()
        with pytest.raises(ValueError, match="X contains NaN in row 0"):
            NAGRegressor().fit(rows, [0.0, 1.0])


@pytest.mark.parametrize("classes", [["a", "b", np.nan], ["a", 1], [1, "a"], ["a", True], ["a", b"b"], ["a", None]])
def test_classes_of_two_kinds_are_refused(classes):
    for given in (classes, tuple(classes), np.array(classes, dtype=object)):
        for make in (NAGClassifier, HedgeClassifier):
            with pytest.raises(ValueError, match="classes must be whole numbers, booleans or words; got"):
                make().partial_fit(X, Y, classes=given)
        with pytest.raises(ValueError, match="classes must be whole numbers, booleans or words; got"):
            progressive_validation(NAGClassifier(), X, Y, classes=given)


@pytest.mark.parametrize(
    ("classes", "found"),
    [
        ([np.str_("b"), "a"], np.array(["a", "b"])),
        (np.array(["b", "a"]), np.array(["a", "b"])),
        ([True, 0, np.int64(2)], np.array([0, 1, 2])),
        ([np.True_, False], np.array([False, True])),
        ([1, 2.0], np.array([1.0, 2.0])),
        (range(2), np.array([0, 1])),
        ([2, 0, 2], np.array([0, 2])),
        (np.array([0, 2], ">i4"), np.array([0, 2], np.int32)),
        (np.array([0, 2**63], np.uint64), np.array([0, 2**63], np.uint64)),
    ],
)
def test_classes_of_one_kind(classes, found):
    got = named_classes(classes)
    assert_array_equal(got, found)
    assert got.dtype == found.dtype
    assert not np.shares_memory(got, np.asarray(classes))


@pytest.mark.parametrize("kind", [int, str])
@pytest.mark.parametrize("n", [20, 21, 22, 23, 60])
def test_so_many_different_labels_as_scikit_learn_warns_of(n, kind):
    for n_different in (n // 2, n // 2 + 1, n // 2 + 2, n):
        labels = np.resize(np.arange(n_different), n).astype(kind)
        told = []
        for check in (check_classification_targets, check_labels):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                check(labels)
            told.append([str(warning.message) for warning in caught])
        assert told[0] == told[1], (n_different, told)


def test_models_of_other_targets_are_told_apart():
    one, other = NAGRegressor().partial_fit(X, X[:, 0]), NAGRegressor().partial_fit(X, X[:, :2])
    with pytest.raises(
        ValueError, match=r"^models\[1\] does not fit models\[0\]: the number of outputs is 2, there None"
    ):
        merge([one, other])
