"""Passes of `fit`: their order, when they stop, and what is reported if they did not help."""

import warnings
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import train_test_split

from sklearn_nag import FTRLRegressor, NAGClassifier, NAGRegressor, ScaleInvariantRegressor, config_context
from sklearn_nag.estimators._passes import Passes, are_held_out

from .helpers import PLAIN, X, Y, bits


def test_one_pass_in_order_is_one_partial_fit():
    X, y = load_digits(return_X_y=True)
    weight = np.linspace(0, 1, len(y))
    one = NAGClassifier(max_iter=1, shuffle=False).fit(X, y, sample_weight=weight)
    two = NAGClassifier().partial_fit(X, y, classes=range(10), sample_weight=weight)
    assert np.array_equal(bits(one), bits(two))
    assert one.n_iter_ == 1
    X, y = load_diabetes(return_X_y=True)
    one, two = NAGRegressor(max_iter=1, shuffle=False).fit(X, y), NAGRegressor().partial_fit(X, y)
    assert np.array_equal(bits(one), bits(two))


def test_random_state_decides_the_order():
    X, y = load_wine(return_X_y=True)
    a, b, c = (NAGClassifier(max_iter=2, tol=None, random_state=seed).fit(X, y) for seed in (0, 0, 1))
    assert np.array_equal(bits(a), bits(b))
    assert not np.array_equal(bits(a), bits(c))


def test_warm_start_goes_on():
    X, y = load_wine(return_X_y=True)
    twice = NAGClassifier(max_iter=1, shuffle=False, warm_start=True).fit(X, y).fit(X, y)
    once = NAGClassifier(max_iter=2, shuffle=False, tol=None).fit(X, y)
    assert np.array_equal(bits(twice), bits(once))
    anew = clone(twice).set_params(warm_start=False).fit(X, y).fit(X, y)
    assert anew.t_ == len(y)


def test_small_targets_are_lifted_whatever_targets_have_no_weight(rng):
    X, weight = rng.normal(size=(30, 2)), np.where(np.arange(30) % 5 > 0, 1.0, 0.0)
    y = 1e-200 * X.sum(axis=1) * (np.arange(30) > 1)  # the first target that counts does not show their size
    options = {"max_iter": 3, "tol": None, "shuffle": False}
    one = NAGRegressor(**options).fit(X, np.where(weight > 0, y, 1.0), sample_weight=weight)
    other = NAGRegressor(**options).fit(X[weight > 0], y[weight > 0])
    assert np.array_equal(one.coef_, other.coef_)
    assert np.array_equal(one._state.targets.table, other._state.targets.table)


# -- stopping


def test_passes_stop_when_the_loss_settles(capsys):
    X, y = load_wine(return_X_y=True)
    clf = NAGClassifier(random_state=0, verbose=1).fit(X, y)
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Pass ")]  # passes only
    losses = [float(line.split()[-1]) for line in told]
    assert 6 <= clf.n_iter_ == len(losses) < 1000
    best = np.minimum.accumulate(losses)
    stale = [losses[i] > best[i - 1] - 1e-3 for i in range(1, len(losses))]
    assert all(stale[-5:])
    assert not any(all(stale[i : i + 5]) for i in range(len(stale) - 5))


def test_too_few_passes_are_said():
    X, y = load_wine(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="max_iter=7"):
        NAGClassifier(max_iter=7, tol=0.0, n_iter_no_change=6).fit(X, y)
    assert NAGClassifier(max_iter=7, tol=None).fit(X, y).n_iter_ == 7


@pytest.mark.parametrize("regressor", [NAGRegressor, ScaleInvariantRegressor, FTRLRegressor])
def test_two_rows_that_are_nearly_learnt_are_no_reason_to_warn(regressor):
    X, y = [[0.0], [1.0]], [0.0, 1.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert regressor(random_state=0).fit(X, y).n_iter_ == 1000  # the loss falls like 1 / n_iter_**2
    for options in ({"max_iter": 30}, {"tol": 1e-5}):  # too few passes, or more digits asked for
        with pytest.warns(ConvergenceWarning, match="has not settled"):
            regressor(random_state=0, **options).fit(X, y)


def test_the_loss_of_a_target_in_other_units_settles_as_soon():
    X, y = load_diabetes(return_X_y=True)
    one = NAGRegressor(random_state=0).fit(X, y)
    two = NAGRegressor(random_state=0).fit(X, y * 1024)
    assert one.n_iter_ == two.n_iter_


LEARNERS = [NAGRegressor, FTRLRegressor, ScaleInvariantRegressor]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("early_stopping", ["auto", True])
@pytest.mark.parametrize("loss", ["squared_error", "huber", "squared_epsilon_insensitive", "epsilon_insensitive"])
@pytest.mark.parametrize("make", LEARNERS)
def test_passes_do_not_depend_on_the_unit_of_the_target(make, loss, early_stopping, rng):
    """Squares of very small or large targets are 0 or infinite."""
    if make is not NAGRegressor and (loss, early_stopping) != ("squared_error", "auto"):
        pytest.skip("learners share all of this")
    X = rng.normal(size=(120, 40))  # few rows for the columns, so that a search holds some out
    y = X[:, 0] + rng.normal(size=120)
    y[::2] = 0.0
    model = make(loss, early_stopping=early_stopping, random_state=0)
    for columns in (40, 3):
        one = clone(model).fit(X[:, :columns], y)
        for power in (-1000, -600, 260, 1000):
            two = clone(model).fit(X[:, :columns], np.ldexp(y, power))
            assert one.n_iter_ == two.n_iter_
            assert np.array_equal(np.ldexp(two.coef_, -power), one.coef_)
            assert len(one.validation_losses_) == len(two.validation_losses_)


@pytest.mark.parametrize("make", [*LEARNERS, partial(NAGRegressor, loss="absolute_error")])
@pytest.mark.parametrize("n_columns", [5, 60])  # with 60, rows are held out
def test_passes_do_not_depend_on_the_unit_of_one_of_several_targets(make, n_columns, rng):
    X = rng.normal(size=(400, n_columns))
    y = X @ rng.normal(size=n_columns) + 0.1 * rng.normal(size=400)
    noise = 0.05 * X[:, 0] + rng.normal(size=400)
    one, *others = (make(random_state=0).fit(X, np.column_stack([noise * 2.0**power, y])) for power in (0, 20, -300))
    for other in others:
        assert one.n_iter_ == other.n_iter_
        assert one.coef_[1].tobytes() == other.coef_[1].tobytes()
        assert one.validation_losses_.tobytes() == other.validation_losses_.tobytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        constant = make(random_state=0).fit(X, np.column_stack([np.full(400, 1e9), y]))
    assert r2_score(y, constant.predict(X)[:, 1]) > 0.9


def test_the_loss_of_a_pass_is_its_own(capsys):
    """The loss of a pass is not a difference of running sums, which loses its digits after one large loss."""
    X, y = load_diabetes(return_X_y=True)
    options = {"warm_start": True, "random_state": 0, "verbose": 1, "max_iter": 30, "target_normalization": None}
    reg = NAGRegressor("absolute_error", eta0=20.0, **options)
    with config_context(kernel="numpy"):  # NumPy says nothing about compiling
        reg.partial_fit(X[:1], [1e17]).fit(X, y)
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Pass ")]  # passes only
    losses = [float(line.split()[-1]) for line in told]
    assert min(losses) > 10
    assert reg.n_iter_ < 30


def test_a_loss_of_0_is_settled():
    reg = NAGRegressor("epsilon_insensitive", epsilon=100.0).fit([[1.0], [2.0]], [1.0, 2.0])
    assert reg.n_iter_ == 6


def test_a_model_that_learns_nothing_says_so():
    rows = np.random.default_rng(0).lognormal(0, 3, size=(1000, 5))
    with pytest.warns(ConvergenceWarning, match=r"learnt nothing useful: .* eta0=0.5 is too large"):
        NAGRegressor(adaptive=False, eta0=0.5, random_state=0, **PLAIN).fit(rows, np.log(rows).sum(axis=1))
    with pytest.warns(ConvergenceWarning, match="too small for the unit of the target"):
        NAGRegressor(random_state=0, **PLAIN).fit(X, 1e6 * (5 + X[:, 0]))


@pytest.mark.parametrize("make", [NAGRegressor, partial(NAGRegressor, eta0="auto"), FTRLRegressor])
def test_defaults_are_not_blamed_where_nothing_is_learnt(make):
    reg = make(max_iter=1, shuffle=False)
    with pytest.warns(ConvergenceWarning, match=r"predicting the mean is .*\. There may be nothing to learn"):
        reg.fit([[1.0], [1.0]], [0.0, 1.0], sample_weight=[0.1, 1.0])


@pytest.mark.parametrize("Regressor", [NAGRegressor, FTRLRegressor, ScaleInvariantRegressor])
def test_without_an_intercept_predicting_0_is_what_is_compared_with(Regressor):
    X = np.random.default_rng(0).normal(size=(300, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reg = Regressor(fit_intercept=False, random_state=0).fit(X, X @ [1.0, 2.0, 3.0] + 100)
    assert not reg.intercept_


@pytest.mark.parametrize("eta0", [1e-9, 1e-4, 1e-3])
def test_steps_that_are_too_short_are_said(eta0):
    X, y = load_diabetes(return_X_y=True, scaled=False)
    with pytest.warns(ConvergenceWarning, match=f"learnt little, .* eta0={eta0} may be too small"):
        reg = NAGRegressor(eta0=eta0, max_iter=10, tol=None, random_state=0).fit(X, y)
    assert reg.score(X, y) < 0.1
    X, y = (rows[::3] for rows in load_digits(return_X_y=True))
    for options in ({}, {"loss": "hinge"}, {"class_weight": "balanced"}, {"early_stopping": True}):
        with pytest.warns(ConvergenceWarning, match=f"NAGClassifier has learnt little, .* eta0={eta0} may be"):
            NAGClassifier(eta0=eta0, max_iter=10, tol=None, random_state=0, **options).fit(X, y)


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("eta0", [1.0, "auto"])
@pytest.mark.parametrize(("n_rows", "n_features"), [(1000, 10), (100, 3), (100, 50)])
def test_where_there_is_nothing_to_learn_nothing_is_said(n_rows, n_features, eta0, rng):
    X, y = rng.normal(size=(n_rows, n_features)), rng.normal(size=n_rows)
    options = {"eta0": eta0, "tol": None, "random_state": 0}
    for max_iter in (1, 10):
        NAGRegressor(max_iter=max_iter, **options).fit(X, y)
        NAGClassifier(max_iter=max_iter, **options).fit(X, y > 0.5)
        NAGClassifier("hinge", max_iter=max_iter, **options).fit(X, y > 0.5)


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
def test_what_could_gain_less_than_a_tenth_is_not_told(rng):
    X, noise = rng.normal(size=(2000, 3)), rng.normal(size=2000)
    model = NAGRegressor(eta0=1e-4, max_iter=10, tol=None, random_state=0)
    model.fit(X, 0.22 * X[:, 0] + noise)  # this could gain a twentieth
    with pytest.raises(ConvergenceWarning, match="there is more to learn"):
        model.fit(X, 0.65 * X[:, 0] + noise)


def test_rows_that_are_looked_at_may_all_be_without_weight(monkeypatch):
    monkeypatch.setattr("sklearn_nag.estimators._passes.SOME", 10)  # of 30 rows
    weight = np.where(np.arange(30) % 3 > 0, 1.0, 0.0)
    assert NAGRegressor(eta0=1e-6, max_iter=6, tol=None).fit(X, X[:, 0], sample_weight=weight).n_iter_ == 6


# -- early stopping


@pytest.mark.parametrize("shuffle", [False, True])
def test_growth_of_targets_is_that_of_the_order_given_when_rows_held_out_are_learnt_last(rng, shuffle):
    X = rng.normal(size=(120, 40))
    y = 5.0 * X[:, 0] + np.linspace(0.0, 30.0, 120)
    model = NAGRegressor(eta0=0.02, shuffle=shuffle, random_state=0).fit(X, y)
    assert 5 < model.n_iter_ < len(model.validation_losses_)
    high = NAGRegressor().partial_fit(X, y)._state.clip_range()[1]
    assert model._state.clip_range()[1] == pytest.approx(high, rel=1e-3)
    if not shuffle:  # rows that fade are in the order of time anyway
        model.set_params(half_life=1e4).fit(X, y)
        out = are_held_out(np.zeros(120, int), 0.1)
        expected = clone(model)
        for _ in range(model.n_iter_):
            expected.partial_fit(X[~out], y[~out])
        expected.partial_fit(X[out], y[out])
        assert np.array_equal(model._state.targets.growth, expected._state.targets.growth)


@pytest.mark.parametrize(("make", "stratify"), [(NAGClassifier, True), (NAGRegressor, False)])
def test_rows_that_are_not_shuffled_keep_their_order(make, stratify):
    X, y = load_wine(return_X_y=True)
    options = {"shuffle": False, "random_state": 0, "max_iter": 3, "tol": None}
    stopped = make(early_stopping=True, **options).fit(X, y)
    kept, _ = train_test_split(np.arange(len(y)), test_size=0.1, random_state=0, stratify=y if stratify else None)
    kept.sort()
    assert np.array_equal(stopped.coef_, make(**options).fit(X[kept], y[kept]).coef_)


def test_held_out_rows_without_weight():
    X, y = load_wine(return_X_y=True)
    _, held_out = train_test_split(np.arange(len(y)), test_size=0.1, random_state=0, stratify=y)
    weight = np.ones(len(y))
    weight[held_out] = 0.0
    with pytest.raises(ValueError, match="sample weights for validation set are all zero"):
        NAGClassifier(early_stopping=True, random_state=0).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("make", [NAGClassifier, NAGRegressor])
def test_rows_to_learn_without_weight(make):
    model = make(early_stopping=True, validation_fraction=0.5, random_state=0)
    classes = Y if make is NAGClassifier else None
    y = X[:, 0] if classes is None else classes
    _, held_out = train_test_split(np.arange(30), test_size=0.5, random_state=0, stratify=classes)
    with pytest.raises(ValueError, match="sample weights for training set are all zero"):
        model.fit(X, y, sample_weight=np.isin(np.arange(30), held_out).astype(float))


@pytest.mark.parametrize("make", [NAGClassifier, NAGRegressor])
def test_nothing_is_held_out_of_a_stream(make):
    options = {"classes": [0, 1]} if make is NAGClassifier else {}
    with pytest.raises(ValueError, match="early_stopping should be False with partial_fit"):
        make(early_stopping=True).partial_fit(X, Y, **options)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_early_stopping_holds_out_rows(container):
    X, y = load_digits(return_X_y=True)
    clf = NAGClassifier(early_stopping=True, validation_fraction=0.2, random_state=0).fit(container(X), y)
    assert clf.t_ == clf.n_iter_ * (len(y) - 360)
    assert clf.score(X, y) > 0.9
    reg = NAGRegressor(early_stopping=True, random_state=0, eta0=10).fit(X, y, sample_weight=np.ones(len(y)))
    assert reg.n_iter_ < 1000


@pytest.mark.parametrize("make", [NAGClassifier, NAGRegressor])
def test_rows_held_out_are_scored_by_their_weights(make):
    X, y = load_wine(return_X_y=True)
    weight = np.linspace(0.1, 3.0, len(y))
    model = make(early_stopping=True, random_state=0, max_iter=1, shuffle=False).fit(X, y, sample_weight=weight)
    passes = Passes(model, X, y if make is NAGClassifier else y.astype(float), weight, False, True)
    out = passes.held_out
    assert passes.objective(model, None) == -model.score(X[out], y[out], weight[out]) != -model.score(X[out], y[out])


@pytest.mark.parametrize(
    ("make", "options", "relative"),
    [(NAGRegressor, {}, True), (NAGRegressor, {"early_stopping": True}, False), (NAGClassifier, {}, False)],
)
def test_tol_is_a_share_of_losses_of_numbers_alone(make, options, relative):
    model = make(**options).fit(X, Y)
    assert (
        Passes(model, X, Y if make is NAGClassifier else Y.astype(float), None, False, True).stopping().relative
        == relative
    )


def test_early_stopping_takes_frames_in_silence():
    pd = pytest.importorskip("pandas")
    X, y = load_wine(return_X_y=True)
    frame = pd.DataFrame(X, columns=[f"column {i}" for i in range(13)])
    named = NAGClassifier(early_stopping=True, random_state=0).fit(frame, y)
    assert np.array_equal(named.coef_, NAGClassifier(early_stopping=True, random_state=0).fit(X, y).coef_)


def test_a_score_of_one_row():
    with pytest.raises(ValueError, match=r"holds out validation_fraction=0.1 of 5 rows, which is one row"):
        NAGRegressor(early_stopping=True).fit(X[:5], Y[:5])


def test_a_class_that_cannot_be_held_out_is_told_with_the_parameter():
    with pytest.raises(ValueError, match=r"early_stopping=True cannot hold out a share of 0.1 of the rows: The least"):
        NAGClassifier(early_stopping=np.True_).fit(X[:30], np.arange(30) == 3)


@pytest.mark.parametrize(("n_rows", "n_columns", "n_classes"), [(150, 70, 2), (400, 30, 20)])
def test_passes_that_harm_are_not_made(n_rows, n_columns, n_classes):
    """With few rows for the columns, or for the weights of all classes, further passes learnt the rows by heart."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows + 500, n_columns))
    far = X @ rng.normal(size=(n_columns, n_classes)) * (2.0 / np.sqrt(n_columns))
    y = np.argmax(far + rng.gumbel(size=far.shape), axis=1)
    X, X_new, y, y_new = X[:n_rows], X[n_rows:], y[:n_rows], y[n_rows:]
    clf = NAGClassifier(random_state=0).fit(X, y)
    one = NAGClassifier(random_state=0, max_iter=1).fit(X, y)
    assert log_loss(y_new, clf.predict_proba(X_new)) < 1.05 * log_loss(y_new, one.predict_proba(X_new))
