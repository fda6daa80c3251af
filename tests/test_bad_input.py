"""Bad input: a clear error, and the model as it was."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning

from sklearn_nag import (
    NAGClassifier,
    NAGRegressor,
    ScaleInvariantClassifier,
    ScaleInvariantRegressor,
    config_context,
)

from .kernels.helpers import flat

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
Y = (X[:, 0] > 0).astype(int)
ONES = np.ones(30)


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


PLAIN = {"centering": False, "importance_aware": False, "target_normalization": None}


def first_call(estimator):
    extra = {"classes": [0, 1]} if is_classifier(estimator) else {}
    return estimator.partial_fit(X, Y, sample_weight=ONES, **extra)


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


def test_classes_are_needed_at_the_first_call():
    model = NAGClassifier()
    with pytest.raises(ValueError, match="classes must be passed on the first call to partial_fit"):
        model.partial_fit(X, Y)
    with pytest.raises(ValueError, match="at least two classes"):
        model.partial_fit(X, Y * 0, classes=[0])
    with pytest.raises(ValueError, match="at least two classes"):
        model.fit(X, Y * 0)
    assert vars(model) == vars(NAGClassifier())


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


@pytest.mark.parametrize(
    "change",
    [
        {"normalization": "max"},
        {"adaptive": False},
        {"fit_intercept": False},
        {"centering": False},
        {"target_normalization": None},
        {"eta0": "auto"},
    ],
)
def test_what_cannot_change_on_the_way(change):
    model = first_call(NAGRegressor())
    before = flat(model._state)
    model.set_params(**change, warm_start=True)
    for method in (model.partial_fit, model.fit):
        with pytest.raises(ValueError, match="when this model was new"):
            method(X, Y)
    assert np.array_equal(flat(model._state), before)


@pytest.mark.parametrize("kernel", ["numpy", "auto"])
@pytest.mark.parametrize(
    "options", [{}, {"penalty": "l2", "average": True}, {"penalty": "l1", "normalization": "rms", "adaptive": False}]
)
def test_a_sparse_batch_that_fails_late_changes_no_column(kernel, options):
    rows = sparse.random(50, 40, density=0.2, random_state=0, format="csr")
    with config_context(kernel=kernel):
        model = NAGRegressor(**options).partial_fit(rows, RNG.normal(size=50))
        before = flat(model._state).copy()
        bad = sparse.csr_array(np.eye(3, 40))
        with pytest.raises(ValueError, match="leave the range"):
            model.partial_fit(bad, [1e30, 1, 1], sample_weight=[1, 1.7e308, 1.7e308])
        assert np.array_equal(flat(model._state), before)
        model.partial_fit(rows, RNG.normal(size=50))
        assert np.isfinite(flat(model._state)).all()


@pytest.mark.parametrize("weight", [-0.1, np.nan, np.inf, "heavy"])
def test_class_weights_that_are_no_weights(weight):
    with pytest.raises(ValueError, match="class_weight must be finite and not negative; it is .* for class 1"):
        NAGClassifier(class_weight={0: 1.0, 1: weight}).fit(X, Y)


def test_a_model_that_learns_nothing_says_so():
    rows = np.random.default_rng(0).lognormal(0, 3, size=(1000, 5))
    with pytest.warns(ConvergenceWarning, match=r"learnt nothing useful: .* eta0=0.5 is too large"):
        NAGRegressor(adaptive=False, eta0=0.5, random_state=0, **PLAIN).fit(rows, np.log(rows).sum(axis=1))
    with pytest.warns(ConvergenceWarning, match="too small for the unit of the target"):
        NAGRegressor(random_state=0, **PLAIN).fit(X, 1e6 * (5 + X[:, 0]))


def test_a_score_of_one_row():
    with pytest.raises(ValueError, match=r"holds out validation_fraction=0.1 of 5 rows, which is one row"):
        NAGRegressor(early_stopping=True).fit(X[:5], Y[:5])


def test_entries_that_add_up_to_infinity():
    rows = sparse.csr_array((np.array([1.7e308, 1.7e308]), np.array([0, 0]), np.array([0, 2])), shape=(1, 3))
    with pytest.raises(ValueError, match="same place whose sum is infinite"):
        NAGRegressor().partial_fit(rows, [1.0])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_divergence_is_an_error(container):
    model = NAGRegressor(normalization=None, adaptive=False, eta0=1e-3, **PLAIN).partial_fit(container(X), Y)
    before = flat(model._state)
    for method in (model.partial_fit, model.fit):
        with pytest.raises(ValueError, match=r"leave the range of float64: .* or eta0=0.001 is too large"):
            method(container(np.tile(X, (100, 1)) * 1e6), np.tile(Y, 100))
    assert np.array_equal(flat(model._state), before)


def test_an_interrupt_leaves_the_model_as_it_was(monkeypatch):
    model = first_call(NAGRegressor(centering=False))
    before = flat(model._state)
    calls = []

    def gradient(self, p, y, unit):
        calls.append(p)
        if len(calls) == 20:
            raise KeyboardInterrupt
        return p - y

    monkeypatch.setattr("sklearn_nag.losses.SquaredError.gradient", gradient)
    for rows in (X, sparse.csr_array(X)):
        calls.clear()
        with pytest.raises(KeyboardInterrupt), config_context(kernel="numpy"):
            model.partial_fit(rows, Y)
        assert np.array_equal(flat(model._state), before)


def test_a_pickle_of_a_newer_version():
    state = first_call(NAGClassifier()).__getstate__()
    state["_state_version"] += 1
    with pytest.raises(ValueError, match="saved by another version of sklearn_nag"):
        NAGClassifier().__setstate__(state)
    assert pickle.loads(pickle.dumps(first_call(NAGClassifier()))).t_ == 30
