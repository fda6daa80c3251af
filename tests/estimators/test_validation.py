"""Bad input and bad parameters: a clear error, and the model as it was."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_diabetes, load_wine

from sklearn_nag import (
    FTRLClassifier,
    FTRLRegressor,
    NAGClassifier,
    NAGRegressor,
    ScaleInvariantClassifier,
    ScaleInvariantRegressor,
)
from sklearn_nag.estimators._nag import ETA0S

from ..kernels.helpers import flat
from .helpers import ONES, REGRESSION, RNG, X, Y, bits, first_call

# -- input


def spoilt(value, shape=(30, 3)):
    array = RNG.normal(size=shape)
    array.flat[7] = value
    return array


def huge():
    """A matrix that says it has 2**31 entries, without their memory."""
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
    "words for weights": ({"sample_weight": ["a"] * 30}, "sample_weight must hold numbers; got"),
    "words": ({"X": np.full((30, 3), "word")}, "could not convert string"),
    "2**31 nonzeros": ({"X": huge(), "y": Y[:1]}, "X has 2147483648 nonzeros; one call takes at most 2147483647"),
}
CLASSIFIER = {
    "unknown class": ({"y": np.where(ONES > 0, 7, Y)}, r"y contains 7, which is not one of classes \[0 1\]"),
    "unknown label": ({"y": np.full(30, "a")}, "y contains 'a', which"),
    "other classes": ({"classes": [0, 1, 2]}, r"classes is \[0 1 2\] but was \[0 1\]"),
    "other kinds of labels": ({"y": np.array(["a", 1] * 15, dtype=object)}, "y has labels of another kind"),
    "numbers for classes": ({"y": X[:, 0]}, "Unknown label type"),
    "NaN in y": ({"y": spoilt(np.nan, 30)}, "NaN"),
    "several outputs": ({"y": np.column_stack([Y, Y])}, "y should be a 1d array"),
}
REGRESSOR = {
    "NaN in y": ({"y": spoilt(np.nan, 30)}, "y contains NaN"),
    "inf in y": ({"y": spoilt(np.inf, 30)}, "y contains infinity"),
    "words in y": ({"y": np.full(30, "a")}, "could not convert string"),
    "several outputs": ({"y": np.column_stack([Y, Y])}, r"y has shape \(30, 2\); this model was made for targets of"),
    "complex y": ({"y": Y + 1j}, "Complex data"),
}
CASES = [(NAGClassifier(centering=False), *case) for case in {**BOTH, **CLASSIFIER}.items()]
CASES += [(NAGRegressor(centering=False), *case) for case in {**BOTH, **REGRESSOR}.items()]
CASES += [(ScaleInvariantClassifier(centering=False), *case) for case in {**BOTH, **CLASSIFIER}.items()]
CASES += [(ScaleInvariantRegressor(centering=False), *case) for case in {**BOTH, **REGRESSOR}.items()]
CASES += [(FTRLClassifier(centering=False), *case) for case in {**BOTH, **CLASSIFIER}.items()]
CASES += [(FTRLRegressor(centering=False), *case) for case in {**BOTH, **REGRESSOR}.items()]


@pytest.mark.parametrize(("estimator", "name", "case"), CASES, ids=[f"{type(e).__name__}-{n}" for e, n, _ in CASES])
def test_the_model_stays_as_it_was(estimator, name, case):
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


@pytest.mark.parametrize(("estimator", "name", "case"), CASES, ids=[f"{type(e).__name__}-{n}" for e, n, _ in CASES])
def test_a_new_model_stays_new(estimator, name, case):
    changes, message = case
    if name in ("other classes", "fewer features", "several outputs"):
        pytest.skip("not an error at the first call")
    model = clone(estimator)
    extra = {"classes": [0, 1]} if is_classifier(estimator) else {}
    with pytest.raises((ValueError, TypeError), match=message):
        model.partial_fit(**{"X": X, "y": Y, **extra, **changes})
    assert vars(model) == vars(clone(estimator))


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


def test_rows_that_name_a_column_twice():
    X = sparse.csr_array((np.array([1.0, 2.0, 5.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    a = NAGRegressor().partial_fit(X, [1.0, 2.0])
    b = NAGRegressor().partial_fit(sparse.csr_array(X.toarray()), [1.0, 2.0])
    assert np.array_equal(bits(a), bits(b))
    assert X.nnz == 3


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
    fresh = NAGClassifier().partial_fit(X, Y, classes=[0, 1], sample_weight=np.zeros(30))
    assert fresh.t_ == 0
    assert np.isnan(fresh.progressive_loss_)
    assert np.array_equal(fresh.decision_function(X), np.zeros(30))


# -- parameters


WRONG = {
    "loss": ("log", "loss must be one of 'log_loss'"),
    "normalization": ("l2", "normalization must be one of 'max', 'rms', None; got 'l2'"),
    "adaptive": ("yes", "adaptive must be True or False"),
    "eta0": (0.0, "eta0 == 0.0, must be > 0"),
    "learning_rate": ("optimal", "learning_rate must be one of 'constant', 'invscaling'"),
    "power_t": (-1.0, "power_t"),
    "penalty": ("none", "penalty must be one of"),
    "alpha": (-1e-4, "alpha == -0.0001, must be >"),
    "l1_ratio": (1.5, "l1_ratio == 1.5, must be <= 1"),
    "fit_intercept": (1, "fit_intercept must be True or False"),
    "max_iter": (0, "max_iter == 0, must be >= 1"),
    "tol": (-1.0, "tol"),
    "shuffle": ("yes", "shuffle must be"),
    "verbose": (-1, "verbose"),
    "n_jobs": (1.5, "n_jobs must be an instance of int"),
    "early_stopping": (None, "early_stopping must be"),
    "validation_fraction": (1.0, "validation_fraction == 1.0, must be < 1"),
    "n_iter_no_change": (0, "n_iter_no_change"),
    "warm_start": (2, "warm_start must be"),
    "average": (-1, "average"),
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
@pytest.mark.parametrize("name", WRONG)
def test_parameters_out_of_range(estimator, name):
    value, message = WRONG[name]
    if name not in estimator.get_params():
        pytest.skip("no such parameter")
    if name == "loss" and not is_classifier(estimator):
        message = "loss must be one of 'squared_error', 'absolute_error', 'huber'"
    model = first_call(clone(estimator))
    before = flat(model._state)
    model.set_params(**{name: value})
    for method in (model.fit, model.partial_fit):
        with pytest.raises((ValueError, TypeError), match=message):
            method(X, Y)
    assert np.array_equal(flat(model._state), before)


@pytest.mark.parametrize("value", [np.nan, np.inf, "0.5", None])
def test_learning_rates_that_are_no_number(value):
    with pytest.raises((ValueError, TypeError), match="eta0"):
        NAGClassifier(eta0=value).fit(X, Y)


def test_parameters_of_one_estimator():
    with pytest.raises(ValueError, match="quantile == 1.0, must be < 1"):
        NAGRegressor(quantile=1.0).fit(X, Y)
    with pytest.raises(ValueError, match="epsilon == -1, must be >= 0"):
        NAGRegressor(epsilon=-1).fit(X, Y)
    with pytest.raises(ValueError, match="class_weight must be one of 'balanced', None"):
        NAGClassifier(class_weight="even").fit(X, Y)
    with pytest.raises(ValueError, match="class_weight='balanced' needs all rows at once"):
        NAGClassifier(class_weight="balanced").partial_fit(X, Y, classes=[0, 1])


def test_any_boolean_will_do():
    X, y = load_wine(return_X_y=True)
    a, b = (NAGClassifier(average=a, max_iter=1, random_state=0).fit(X, y) for a in (True, np.True_))
    assert np.array_equal(a.coef_, b.coef_)
    a, b = (NAGClassifier().partial_fit(X, y, [0, 1, 2], weight) for weight in (2.0, np.array(2.0)))
    assert np.array_equal(a.coef_, b.coef_)


def test_any_kind_of_boolean_and_of_output():
    X, y = load_diabetes(return_X_y=True)
    NAGRegressor(centering=np.False_, fit_intercept=False).fit(X, y)
    assert NAGRegressor(eta0="auto").partial_fit(X, y[:, None]).eta0_weights_.shape == (1, len(ETA0S))
    assert NAGRegressor(eta0="auto").partial_fit(X, y).eta0_weights_.shape == (len(ETA0S),)
    with np.errstate(all="raise"):
        loss = NAGRegressor().partial_fit(X[:2], np.outer([1e200, -1e200], np.ones(4))).progressive_loss_
    assert np.isfinite(loss)
