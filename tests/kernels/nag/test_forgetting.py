"""The influence of past rows fades in steps, which depend only on the total weight of rows."""

import os
import pickle

import numpy as np
import pytest
from scipy import sparse

from sklearn_nag import NAGClassifier, NAGRegressor, merge, set_config
from sklearn_nag.kernels.state import frequent

from ...estimators.helpers import bits
from ...pairs import every_pair
from ..helpers import KERNELS, needs_numba
from ..state.test_frequent import Transcription, mixed_rows

pytestmark = pytest.mark.compiled


@pytest.fixture(autouse=True, params=KERNELS)
def kernel(request):
    set_config(kernel=request.param)
    yield request.param
    set_config(kernel="auto")


def compiled(*case):
    """Return a case for compiled code."""
    return pytest.param(*case, "numba", marks=needs_numba)


class Fading(Transcription):
    """sNAG with sums that fade, and weights that halve in eight half-lives."""

    def __init__(self, d, eta, half_life):
        super().__init__(d, eta)
        self.half_life, self.age, self.faded = half_life, 0.0, 0
        self.begins = 0.5 + 2.0 * np.sqrt(1.0 - 0.5 ** (1.0 / half_life))  # 2 over the root of how many rows count

    def learn(self, x, y, c):
        super().learn(x, y, c)
        self.age += c
        due = 4 * int(self.age * 4 / self.half_life)
        factor = 0.5 ** ((due - self.faded) / 16)
        self.weights, self.N, self.G, self.faded = self.weights * factor, self.N * factor, self.G * factor, due
        self.u *= factor**0.125


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_equals_the_formulas_on_faded_weights(make):
    X, z, weight = mixed_rows()
    y = np.sign(z)
    expected = Fading(X.shape[1], 0.5, 40.0)
    for row in zip(X, y, weight):
        expected.learn(*row)
    model = NAGClassifier(importance_aware=False, average=False, eta0=0.5, half_life=40.0)
    model.partial_fit(make(X), y, classes=[-1, 1], sample_weight=weight)
    np.testing.assert_allclose(model.decision_function(X), expected.decide(X), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(model._state.t, expected.weights.sum(), rtol=1e-12)
    assert model.t_ == weight.sum()
    assert model._state.t < 0.3 * weight.sum()


def test_few_columns_become_frequent_by_chance(rng):
    """Columns named in turn, for 40 rows each, used to become frequent and then rare again, one after another."""
    n = 600
    X = np.zeros((n, 16))
    X[np.arange(n), np.arange(n) // 40] = 1.0
    X[:, -1] = rng.normal(size=n)
    model = NAGClassifier(half_life=20).partial_fit(sparse.csr_array(X), X[:, -1] > 0, classes=[False, True])
    assert np.flatnonzero(model._state.columns.frequent).tolist() == [15, 16]
    assert [round(frequent.begins(h), 2) for h in (1, 20, 80, 1e6, np.inf)] == [0.9, 0.87, 0.69, 0.5, 0.5]


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    "model",
    [
        NAGClassifier(half_life=10),
        NAGClassifier(half_life=30.5, penalty="l1", alpha=0.01),
        NAGClassifier(half_life=100, penalty="elasticnet", alpha=0.01, average=True, eta0="auto"),
        NAGRegressor(half_life=20, normalization="rms", penalty="l2"),
        NAGRegressor(half_life=1, adaptive=False, eta0=0.1),
    ],
    ids=str,
)
def test_batches_and_pickles_change_no_bit(model, make, kernel):
    if kernel == "numba" and model.penalty in ("l1", "elasticnet") and not os.environ.get("EVERY_RULE"):
        pytest.skip("three rules are compiled for this, the others with EVERY_RULE")
    X, z, weight = mixed_rows(60)
    y = z if isinstance(model, NAGRegressor) else z > 0
    if model.normalization == "rms":  # it centres dense rows only
        X = X[:, 4:]
    options = {} if isinstance(model, NAGRegressor) else {"classes": [False, True]}
    whole = pickle.loads(pickle.dumps(model)).partial_fit(make(X), y, sample_weight=weight, **options)
    parts = pickle.loads(pickle.dumps(model))
    for start in range(0, len(y), 11):
        rows = slice(start, start + 11)
        parts.partial_fit(make(X[rows]), y[rows], sample_weight=weight[rows], **options)
        parts = pickle.loads(pickle.dumps(parts))
    np.testing.assert_array_equal(bits(parts), bits(whole))
    assert np.isfinite(bits(whole)).all()


def test_powers_of_two_change_no_bit():
    X, z, weight = mixed_rows()
    units = np.exp2(np.random.default_rng(0).integers(-300, 300, X.shape[1]))
    expected, scaled = (
        NAGClassifier(half_life=20).partial_fit(rows, z > 0, [False, True], weight) for rows in (X, X * units)
    )
    np.testing.assert_array_equal(scaled.decision_function(X * units), expected.decision_function(X))


def test_a_concept_that_flips_is_learnt_anew(rng):
    X = rng.normal(size=(6000, 5))
    y = (X @ rng.normal(size=5) + rng.logistic(size=6000) > 0) ^ (np.arange(6000) >= 4000)
    score = {}
    for half_life in (None, 100):
        model = NAGClassifier(half_life=half_life, average=True).partial_fit(X[:5000], y[:5000], classes=[False, True])
        score[half_life] = model.score(X[5000:], y[5000:])
    assert score[100] > 0.7
    assert score[None] < 0.4


CLASSIFICATION = ["log_loss", "hinge", "squared_hinge", "modified_huber", "perceptron"]


@pytest.mark.parametrize(
    ("loss", "half_life", "average", "kernel"),
    [
        ("hinge", 20, "auto", "numpy"),  # other cases are slow without compiled code, and the same
        *(compiled(*case) for case in every_pair(CLASSIFICATION, [10, 20, 70], ["auto", True])),
    ],
    indirect=["kernel"],
)
def test_short_half_lives_forget_what_was_certain(average, loss, half_life, kernel):
    """Five half-lives after a flip, a model is nearly as good as before, however long it had predicted well."""
    n, n_seeds, after, ratios = *((2000, 8) if kernel == "numba" else (1000, 4)), 5 * half_life, []
    for seed in range(n_seeds):
        rng = np.random.default_rng(seed)
        X, w = rng.normal(size=(n + after + 1000, 5)), 2.0 * rng.normal(size=5)
        noise = (seed % 2) * rng.logistic(size=len(X))
        y = (X @ w + noise > 0) ^ (np.arange(len(X)) >= n)
        model = NAGClassifier(loss, half_life=half_life, average=average)
        model.partial_fit(X[:n], y[:n], classes=[False, True])
        before = model.score(X[n + after :], ~y[n + after :])
        model.partial_fit(X[n : n + after], y[n : n + after])
        ratios.append(model.score(X[n + after :], y[n + after :]) / before)
    assert np.mean(ratios) >= 0.9
    assert np.min(ratios) >= 0.75


@pytest.mark.parametrize("kernel", KERNELS[1:], indirect=True)  # NumPy is slow, and the same
@pytest.mark.parametrize("half_life", [20, 70])
@pytest.mark.parametrize("learner", [NAGClassifier, NAGRegressor])
def test_steady_streams_lose_nothing_against_the_last_three_half_lives(learner, half_life):
    differences = []
    for seed in range(12):  # so many, because single rows of the last sixty decide much about a fresh model
        rng = np.random.default_rng(seed)
        X, w = rng.normal(size=(3000, 5)), 2.0 * rng.normal(size=5)
        z = X @ w + rng.logistic(size=3000)
        y, options = (z > 0, {"classes": [False, True]}) if learner is NAGClassifier else (z, {})
        learnt, new, last = slice(0, 1500), slice(1500, None), slice(1500 - 3 * half_life, 1500)
        model = learner(half_life=half_life).partial_fit(X[learnt], y[learnt], **options)
        fresh = learner().partial_fit(X[last], y[last], **options)
        differences.append(model.score(X[new], y[new]) - fresh.score(X[new], y[new]))
    assert np.mean(differences) > -0.005


@pytest.mark.parametrize("loss", ["poisson", "tweedie"])
def test_rates_recover_from_a_run_of_zeros(loss, rng, kernel):
    """Steps down used to go on as long as there were zeros, because slopes fade with the roots that divide them."""
    X, n = rng.normal(size=(1000, 2)), 600
    y = 1.0 * rng.poisson(5.0, size=1000)
    y[100 : 100 + n] = 0.0
    cut = NAGRegressor(loss, half_life=20.0)
    played = np.exp(NAGRegressor(loss, half_life=20.0)._play(X, y)[:, 0])
    assert np.all(played[90 + n : 100 + n] < 1e-6)
    assert np.median(played[120 + n : 140 + n]) == pytest.approx(5.0, rel=0.5)
    assert np.median(played[-100:]) == pytest.approx(5.0, rel=0.2)
    parts = np.concatenate([cut._play(X[i : i + 37], y[i : i + 37]) for i in range(0, 1000, 37)])
    assert np.array_equal(np.exp(parts[:, 0]), played)
    set_config(kernel="numpy")
    by_numpy = np.exp(NAGRegressor(loss, half_life=20.0)._play(X, y)[:, 0])
    np.testing.assert_allclose(played, by_numpy, rtol=1e-6)


def test_rates_held_above_zero_recover_from_zeros(rng, kernel):
    """A prediction clipped at the lower end is above a mean that falls, and used to be pushed further down."""
    X, y = rng.normal(size=(1000, 2)), 1.0 * rng.poisson(5.0, size=1000)
    y[100:700] = 0.0
    model = NAGRegressor("poisson", half_life=20.0, clip=(1e-3, 100.0)).partial_fit(X, y)
    assert model.predict(X).mean() == pytest.approx(5.0, rel=0.2)


@pytest.mark.parametrize(
    ("normalization", "make", "kernel"),
    [
        ("auto", np.asarray, "numpy"),
        ("auto", sparse.csr_array, "numpy"),
        compiled("auto", np.asarray),
        compiled("auto", sparse.csr_array),
        ("rms", np.asarray, "numpy"),  # it does not centre sparse rows, and would be compiled for this test alone
    ],
    indirect=["kernel"],
)
def test_a_column_that_does_not_vary_keeps_its_weight(normalization, make, kernel, rng):
    """The latest weight is compared, because the average forgets sooner."""
    X = rng.normal(size=(2200, 2)) + 3.0
    y = X @ [1.0, -2.0] > -3.0
    X[1000:, 1] = 3.0
    model = NAGClassifier(half_life=20, normalization=normalization)
    model.partial_fit(make(X[:1000]), y[:1000], classes=[False, True])
    found = [model._state.latest().linear()[0][0, 1]]
    for rows in (slice(1000, 2000), slice(2000, 2200)):
        model.partial_fit(make(X[rows]), y[rows])
        found.append(model._state.latest().linear()[0][0, 1])
    assert 2.0 < found[1] / found[0] <= 4.0  # the scale falls four times as far as the unit-free weight
    assert found[2] == pytest.approx(found[1], rel=1e-6)  # from there on they fall together


@pytest.mark.filterwarnings("ignore:some rows did not count")
def test_weights_far_apart_and_long_streams_stay_in_range(rng):
    X, y = rng.normal(size=(100, 3)), rng.integers(0, 2, 100)
    weight = 10.0 ** rng.integers(-90, 90, 100)
    model = NAGClassifier(half_life=3).partial_fit(X, y, classes=[0, 1], sample_weight=weight)
    assert np.isfinite(bits(model)).all()
    model = NAGClassifier(half_life=1).partial_fit(X, y, classes=[0, 1])
    for _ in range(3):
        model.partial_fit(X, y, sample_weight=np.full(100, 1e6))
    assert model.t_ == 100 + 300e6
    assert np.isfinite(bits(model)).all()


@pytest.mark.parametrize("half_life", [30.0, "auto"])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_rows_heavier_than_many_half_lives_do_not_make_weights_grow(half_life, make, kernel):
    rng, n = np.random.default_rng(0), 100 if (half_life, kernel) == ("auto", "numpy") else 400
    X, y = (rng.random((n, 2)) < 0.5).astype(float), rng.integers(0, 2, n)
    X[:, 1] = rng.normal(size=n)
    for weight in (np.full(n, 1e3), np.where(y == 0, 1e3, 1.0), np.exp(3.0 * rng.normal(size=n))):
        model = NAGClassifier(half_life=half_life).partial_fit(make(X), y, classes=[0, 1], sample_weight=weight)
        if half_life == 30.0:
            t = age = faded = 0.0
            for c in weight:
                age, before = age + c, faded
                faded = 4.0 * np.floor(age * 4.0 / half_life)  # sixteenths of a half-life, four at a time
                t = (t + c) * max(0.5, 0.5 ** ((faded - before) / 16.0))
            np.testing.assert_allclose(model._state.t, t, rtol=1e-9)
        assert np.abs(model.decision_function(X)).max() < 50.0
        assert model.progressive_loss_ < 3.0


@pytest.mark.filterwarnings("ignore:some rows did not count")
def test_a_heavy_row_after_columns_have_faded_unseen_stays_in_range(rng):
    """Six heavy rows leave sums over the weights played of 1e190, in units of 1e-109."""
    X = sparse.random(60, 23, 0.2, format="csr", random_state=3)
    y, weight = rng.integers(0, 2, 60), 10.0 ** rng.choice([0, 50, 99], 60)
    model, by_rows = NAGClassifier(half_life=30), NAGClassifier(half_life=30)
    model.partial_fit(X, y, classes=[0, 1], sample_weight=weight)
    for i in range(60):
        by_rows.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1], sample_weight=weight[i : i + 1])
    assert np.isfinite(bits(model)).all()
    assert np.array_equal(bits(model), bits(by_rows))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"half_life": 0.5}, "'half_life' parameter of NAGClassifier must be 'auto' or None or a float in the range"),
        ({"half_life": True}, "'half_life' parameter of NAGClassifier must be 'auto' or None or a float in the range"),
        ({"half_life": 10, "normalization": "max"}, "half_life needs normalization='auto', 'rms' or None"),
        ({"half_life": 10, "average": 5}, "half_life needs average='auto', True or False; got 5"),
    ],
)
def test_what_does_not_go_together_is_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        NAGClassifier(**parameters).fit(np.eye(4), [0, 1, 0, 1])


def test_models_that_forget_are_not_merged(rng):
    X, y = rng.normal(size=(50, 3)), rng.integers(0, 2, 50)
    models = [NAGClassifier(half_life=9).partial_fit(X, y, classes=[0, 1]) for _ in range(2)]
    with pytest.raises(ValueError, match="half_life"):
        merge(models)


@pytest.mark.parametrize(
    ("make", "kernel"),
    [(sparse.csr_array, "numpy"), compiled(np.asarray), compiled(sparse.csr_array)],
    indirect=["kernel"],
)
def test_columns_that_are_forgotten_altogether_predict_nothing(make, kernel):
    """Tallies fade to 0 before squares do, which used to leave scales near 0 and weights of 1e120."""
    X, sizes = np.ones((1300, 3)), [1.0, 2.0**60]
    X[:, 1:] = 0.0
    X[[5, 1299], 1:] = sizes
    y = np.tile([0, 1], 650)
    model, named = NAGClassifier(half_life=1), make(X[-1:])
    for some in np.array_split(np.arange(1299), 40):
        model.partial_fit(make(X[some]), y[some], classes=[0, 1])
        assert np.abs(model.decision_function(named)).max() < 60.0
    model.partial_fit(named, y[-1:])
    assert np.abs(model.coef_[0, 1:] * sizes).max() < 60.0
    assert np.abs(model.coef_[0, 0]) < 60.0
