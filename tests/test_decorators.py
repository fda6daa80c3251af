import warnings

import pytest
from sklearn.base import BaseEstimator, clone

from sklearn_nag._decorators import deprecated_parameter


class Learner(BaseEstimator):
    def __init__(self, eta0=1.0, speed="deprecated"):
        self.eta0, self.speed = eta0, speed

    @deprecated_parameter("speed", until="2.0", instead="eta0")
    def fit(self, X, y=None):
        self.rate_ = self.eta0 if self.speed == "deprecated" else self.speed
        return self


class Faster(Learner):
    pass


@deprecated_parameter("buffer", until="1.3", instead="shuffle_buffer, which counts rows")
def train(rows, buffer="deprecated"):
    """Train."""
    return rows, buffer


def test_a_parameter_of_an_estimator_warns_where_it_learns():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Faster().fit([]).rate_ == 1.0
        old = clone(Faster(speed=3.0))
    with pytest.warns(FutureWarning, match=r"^The 'speed' parameter of Faster is .* version 2\.0: use eta0\.$") as seen:
        assert old.fit([]).rate_ == 3.0
    assert seen[0].filename == __file__


@pytest.mark.parametrize(("args", "kwargs"), [((1, 5), {}), ((1,), {"buffer": 5})])
def test_a_parameter_of_a_function_warns_where_it_is_given(args, kwargs):
    with pytest.warns(FutureWarning, match="The 'buffer' parameter of train is .* use shuffle_buffer, which") as seen:
        assert train(*args, **kwargs) == (1, 5)
    assert seen[0].filename == __file__


def test_what_is_decorated_stays_what_it_is():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert train(1) == (1, "deprecated") == train(1, buffer="deprecated")
    assert (train.__name__, train.__doc__) == ("train", "Train.")
    with pytest.raises(TypeError, match="train"):
        train()
