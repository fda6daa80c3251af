"""What all mixtures have in common."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_diabetes

from sklearn_nag import HedgeClassifier, HedgeRegressor, NAGClassifier, NAGRegressor
from sklearn_nag.preprocessing import prepare

X, Y = (rows[:40] for rows in load_diabetes(return_X_y=True))


@pytest.fixture(scope="module")
def states():
    """Attributes of a mixture of regressors and of one of classifiers, both of which have learnt rows."""
    numbers = HedgeRegressor([("a", NAGRegressor()), ("b", NAGRegressor(average=False))]).partial_fit(X, Y)
    classes = HedgeClassifier([("a", NAGClassifier())]).partial_fit(X, Y > 140, classes=[False, True])
    return {type(model): model.__getstate__() for model in (numbers, classes)}


@pytest.mark.parametrize(
    ("kind", "changed", "message"),
    [
        (HedgeRegressor, lambda state: {"_begun_with": {"loss": "squared_error"}}, "it lacks parameters that it was"),
        (HedgeRegressor, lambda state: {"_begun_with": {**state["_begun_with"], "loss": "log_loss"}}, "the loss 'log_"),
        (HedgeClassifier, lambda state: {"_begun_with": {**state["_begun_with"], "loss": "auto"}}, "the loss 'auto'"),
        (HedgeRegressor, lambda state: {"_experts": (*state["_experts"],)}, "its estimators are no list of experts"),
        (HedgeRegressor, lambda state: {"_experts": [*state["_experts"], Y]}, "its estimators are no list of experts"),
        (HedgeRegressor, lambda state: {"_experts": state["_experts"][:1]}, "_mixture"),
        (HedgeRegressor, lambda state: {"_is_new": 0}, "_is_new is 0, which does not go with its mixture"),
        (HedgeClassifier, lambda state: {"_mixture": None}, "_is_new is False, which does not go with its mixture"),
        (HedgeRegressor, lambda state: {"_mixture": state["_blend"]}, "_mixture"),
        (HedgeRegressor, lambda state: {"_blend": state["_mixture"]}, "_blend"),
        (HedgeRegressor, lambda state: {"_totals": state["_totals"] * np.nan}, "_totals has entries that are NaN"),
        (HedgeRegressor, lambda state: {"_t": np.nan}, "_t is nan"),
        (HedgeClassifier, lambda state: {"classes_": np.array([True])}, "classes_ is not an array of two classes"),
    ],
)
def test_what_is_no_mixture_is_refused(kind, changed, message, states):
    state = states[kind]
    object.__new__(kind).__setstate__(state)
    with pytest.raises(ValueError, match=f"{kind.__name__} cannot be used, .*: .*{message}"):
        object.__new__(kind).__setstate__({**state, **changed(state)})


def test_a_mixture_lacks_nothing(states):
    for name in ("_mixture", "_blend", "_t", "_is_new", "_totals", "_begun_with"):
        state = {own: value for own, value in states[HedgeRegressor].items() if own != name}
        with pytest.raises(ValueError, match=f"it has no {name}"):
            object.__new__(HedgeRegressor).__setstate__(state)


def test_a_mixture_of_outputs_that_has_learnt_nothing_is_saved():
    outputs, experts = np.column_stack([Y, -Y]), [("a", NAGRegressor())]
    model = HedgeRegressor(experts).partial_fit(X, outputs, sample_weight=np.zeros(40))
    np.testing.assert_array_equal(model.predict(X), np.zeros((40, 2)))
    model = pickle.loads(pickle.dumps(model)).partial_fit(X, outputs)
    np.testing.assert_array_equal(model.predict(X), HedgeRegressor(experts).partial_fit(X, outputs).predict(X))


def test_losses_count_by_the_weights_of_rows():
    weight = np.arange(40.0) % 4 + 0.5
    experts = [("a", NAGRegressor(average=False)), ("b", NAGRegressor(eta0=0.1, average=False))]
    model, alone = HedgeRegressor(experts), [learner for _, learner in experts]
    played = np.column_stack([own._play(X, Y, weight)[:, 0] for own in (*alone, model)])[1:]
    low, high = np.minimum.accumulate(Y)[:-1], np.maximum.accumulate(Y)[:-1]
    held = np.clip(played, (2 * low - high)[:, None], (2 * high - low)[:, None])
    losses = np.average(0.5 * (held - Y[1:, None]) ** 2, axis=0, weights=weight[1:])
    np.testing.assert_allclose([*model.expert_losses_, model.progressive_loss_], losses, rtol=1e-9)


class Undecided(ClassifierMixin, BaseEstimator):
    """Takes no weights, and returns some probabilities that are not finite."""

    def partial_fit(self, X, y, classes=None):
        self.classes_ = np.unique(y) if classes is None else np.asarray(classes)
        return self

    def predict(self, X):
        return self.classes_[np.zeros(len(X), int)]

    def predict_proba(self, X):
        return np.where(X[:, :1] > 0, [np.nan, 0.75], [0.25, np.inf])


def test_probabilities_that_are_no_numbers_are_least_ones():
    model = HedgeClassifier([("a", Undecided())], batch_size=10).partial_fit(X, Y > 140, classes=[False, True])
    expected = np.where(X[:, 0] > 0, 1.0, 0.0)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, atol=1e-14)


def test_weights_that_an_estimator_does_not_take_are_refused():
    experts = [("a", NAGClassifier()), ("b", Undecided())]
    with pytest.raises(ValueError, match="sample_weight cannot be used: 'b', one of estimators, takes none"):
        HedgeClassifier(experts).fit(X, Y > 140, sample_weight=np.ones(40))


def test_names_are_left_to_pipelines_that_take_columns_by_name():
    pd = pytest.importorskip("pandas")
    X, y = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "t": list("xyxy")}), [1.0, 2.0, 3.0, 5.0]
    turned = X[["t", "a"]]
    for mismatch in ("fill", "raise"):
        experts = [(f"e{i}", prepare(X, NAGRegressor(), mismatch=mismatch)) for i in range(2)]
        model = HedgeRegressor(experts).partial_fit(X, y)
        assert np.array_equal(model.predict(turned), model.predict(X))
        before = model.partial_fit(turned, y).predict(X)
        for call in (model.predict, lambda rows, model=model: model.partial_fit(rows, y)):
            if mismatch == "fill":
                with pytest.warns(UserWarning, match="X has the column 'new'"):
                    call(X.assign(new=1.0))
            else:
                with pytest.raises(ValueError, match="X has the column 'new'.*mismatch='fill'"):
                    call(X.assign(new=1.0))
                assert np.array_equal(model.predict(X), before)
