"""Estimators from files that were tampered with, or with changed attributes, are refused before they learn."""

import copy
import functools
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes, load_wine

from sklearn_nag import FTRLClassifier, HedgeRegressor, NAGClassifier, NAGRegressor, ScaleInvariantRegressor, merge

DIABETES, WINE = load_diabetes(return_X_y=True), load_wine(return_X_y=True)


def classifier():
    return NAGClassifier().partial_fit(*WINE, [0, 1, 2])


def loaded_with(model, **changed):
    """The model as it is loaded after some attributes were saved with other values; ``...`` leaves one out."""
    state = {**model.__getstate__(), **changed}
    new = object.__new__(type(model))
    new.__setstate__({name: value for name, value in state.items() if value is not ...})
    return new


@pytest.mark.parametrize(
    "changed",
    [
        {"n_features_in_": 3_000_000},
        {"n_features_in_": -1},
        {"n_features_in_": "13"},
        {"n_features_in_": ...},
        {"classes_": np.arange(4)},
        {"classes_": np.array([0, 1])},
        {"classes_": np.array([2, 1, 0])},
        {"classes_": np.array([0, "a", None], dtype=object)},
        {"classes_": [0, 1, 2]},
        {"classes_": ...},
        {"_state": None},
        {"_state": classifier},
        {"_begun_with": ...},
        {"_begun_with": {"predict": 1}},
        {"eta0": ...},
        {"predict": np.sin},
        {"_losses": {}},
        {"feature_names_in_": np.array(["a"], dtype=object)},
        {"_state_version": [5]},
    ],
    ids=lambda changed: f"{next(iter(changed))}",
)
def test_what_was_saved_must_fit_together(changed):
    with pytest.raises(ValueError, match="NAGClassifier"):
        loaded_with(classifier(), **changed)


def test_attributes_are_a_dict():
    with pytest.raises(ValueError, match="a NAGRegressor cannot be made of a list; its attributes are a dict"):
        NAGRegressor().__setstate__([])


def test_two_classes_are_no_label():
    model = NAGClassifier().partial_fit(WINE[0], WINE[1] > 0, [False, True])
    with pytest.raises(ValueError, match="classes_ of several labels are not 0 and 1 for each"):
        loaded_with(model, classes_=np.array([[0, 1]]))


@pytest.mark.parametrize("n_outputs", [2, 0, "1", np.zeros(2)])
def test_outputs_must_be_those_of_the_model(n_outputs):
    with pytest.raises(ValueError, match="outputs"):
        loaded_with(NAGRegressor().partial_fit(*DIABETES), _n_outputs=n_outputs)


def test_models_of_one_column_of_targets_go_on_as_such():
    """Current models make one column of targets flat."""
    X, y = DIABETES
    model = loaded_with(NAGRegressor().partial_fit(X, y), _n_outputs=1)
    model.partial_fit(X, y[:, None]).partial_fit(X, y[:, None].tolist())  # without a warning
    expected = NAGRegressor().partial_fit(X, y).partial_fit(X, y).partial_fit(X, y)
    assert np.array_equal(model.predict(X), expected.predict(X)[:, None])


def test_what_is_made_anew_is_not_believed():
    model = classifier()
    loaded = loaded_with(model, _made=("anything",), _table=5)
    state = loaded._state
    state.__setstate__({**vars(state), "frequent": (np.array([10**9]), 0), "cached": ("anything",), "looked_up": "x"})
    assert np.array_equal(loaded.predict(WINE[0]), model.predict(WINE[0]))
    for some in (model, loaded):
        some.partial_fit(sparse.csr_array(WINE[0]), WINE[1])
    assert np.array_equal(loaded.coef_, model.coef_)


@pytest.mark.parametrize("make", [classifier, lambda: NAGRegressor().partial_fit(*DIABETES)])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_attributes_that_change_later_are_noticed(make, storage):
    model = make()
    names = {"n_features_in_": 3_000_000, "classes_": np.arange(50), "_n_outputs": 7}
    for name, value in names.items():
        if not hasattr(model, name):
            continue
        changed = copy.deepcopy(model)
        setattr(changed, name, value)
        n = model.n_features_in_ if name != "n_features_in_" else value
        X = sparse.csr_array((1, n)) if storage is sparse.csr_array or n > 100 else np.zeros((1, n))
        y = np.zeros((1, 7)) if name == "_n_outputs" else np.zeros(1, dtype=int)
        with pytest.raises(ValueError, match="but the model has"):
            changed.partial_fit(X, y)
        with pytest.raises(ValueError, match="but the model has"):
            changed.predict(X)
        with pytest.raises(ValueError, match=r"models\[1\]: .*the model has"):
            merge([model, changed])


def test_parameters_that_need_another_model():
    model = loaded_with(FTRLClassifier(normalization="max").partial_fit(*WINE, [0, 1, 2]), normalization="rms")
    model._begun_with["normalization"] = "rms"
    with pytest.raises(ValueError, match="lacks squares"):
        model.partial_fit(*WINE)
    with pytest.raises(ValueError, match="cannot go on by a rule of"):
        loaded_with(NAGRegressor().partial_fit(*DIABETES), _state=ftrl_state()).partial_fit(*DIABETES)


def ftrl_state():
    from sklearn_nag import FTRLRegressor

    return FTRLRegressor().partial_fit(*DIABETES)._state


def test_merging_looks_at_models():
    parts = [
        ScaleInvariantRegressor(invariance="full").partial_fit(DIABETES[0][i::2], DIABETES[1][i::2]) for i in (0, 1)
    ]
    parts[1]._state.factor = parts[1]._state.factor[:2]
    with pytest.raises(ValueError, match=r"models\[1\]: .*factor has shape"):
        merge(parts)


@functools.cache
def saved_mixture():
    return pickle.dumps(HedgeRegressor().partial_fit(*DIABETES))


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state["_mixture"].__setattr__("excess", state["_mixture"].excess[:, :1]),
        lambda state: state["_mixture"].__setattr__("gap", np.array([np.nan])),
        lambda state: state["_blend"].__setattr__("excess", None),
        lambda state: state.update(_mixture=None),
        lambda state: state.update(_is_new=True),
        lambda state: state.update(_totals=np.zeros(2)),
        lambda state: state.update(_t="5"),
        lambda state: state.update(_range=None),
        lambda state: state.update(_range=np.zeros((2, 5))),
        lambda state: state.update(_experts=[]),
        lambda state: state["_experts"][0].__setattr__("next_look", -1),
        lambda state: state["_experts"][0].__setattr__("n_rows", 10**30),
        lambda state: state["_experts"][0].__setattr__("estimator", 5),
        lambda state: state["_experts"][0].estimator.__setattr__("loss", -1),
        lambda state: state["_experts"][0].__setattr__("snapshot", ftrl_state()),
        lambda state: state["_experts"][0].snapshot.__setattr__("loss", np.zeros(9)),
        lambda state: state.pop("_begun_with"),
        lambda state: state.pop("update"),
        lambda state: state.update(n_features_in_=0),
    ],
)
def test_mixtures_must_fit_together(change):
    state = pickle.loads(saved_mixture()).__getstate__()
    change(state)
    loaded = object.__new__(HedgeRegressor)
    with pytest.raises(ValueError, match="HedgeRegressor cannot be used"):
        loaded.__setstate__(state)


@pytest.mark.parametrize("name", ["fit_intercept", "centering", "adaptive"])
def test_booleans_of_numpy_are_parameters_of_a_saved_model(name):
    model = NAGRegressor(**{name: np.False_}).partial_fit(*DIABETES)
    pickled, copied = pickle.loads(pickle.dumps(model)), copy.copy(model)
    merged = merge([model, pickled])
    assert np.array_equal(pickled.partial_fit(*DIABETES).coef_, model.partial_fit(*DIABETES).coef_)
    assert copied.get_params() == merged.get_params() == model.get_params()
