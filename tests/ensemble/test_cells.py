"""Models that combine lines, curves and cells."""

import copy
import itertools
import pickle
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_friedman1
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import sklearn_nag
from sklearn_nag import (
    NAGCellsClassifier,
    NAGCellsRegressor,
    NAGClassifier,
    NAGRegressor,
    ScaleInvariantRegressor,
    merge,
)
from sklearn_nag.io import trusted_types
from sklearn_nag.kernels import Mixture
from sklearn_nag.model_selection import progressive_validation
from sklearn_nag.preprocessing import OnlineCells, OnlineCurves, OnlineProducts

from ..checks import BY_ORDER, run_check
from ..kernels.helpers import KERNELS

pd = pytest.importorskip("pandas")
SMALL = {"n_trees": 20, "depth": 4, "first_rows": 40, "focus_rows": 100, "random_state": 0}
X, Y = make_friedman1(600, noise=0.5, random_state=0)
BEFORE_CELLS = ["lines", "exact_lines", "products", "exact_curves", "curves"]  # experts of a regressor with few columns


@pytest.mark.filterwarnings("ignore:columns='auto'")
@parametrize_with_checks(
    [make(**{**SMALL, "n_trees": 8, "depth": 3}, max_iter=2) for make in (NAGCellsClassifier, NAGCellsRegressor)]
)
def test_scikit_learn_check(estimator, check, monkeypatch):
    kind = type(estimator)
    set_params = kind.set_params

    def set_to_few(self, **params):  # passes; some checks ask for a thousand
        return set_params(self, **({"max_iter": 20} if params == {"max_iter": 1000} else params))

    monkeypatch.setattr(kind, "set_params", set_to_few)
    run_check(check, estimator, BY_ORDER)


@pytest.mark.parametrize("kernel", KERNELS)
def test_it_mixes_what_its_pipelines_play(kernel):
    rows, targets = X[:250, :5], Y[:250]
    cells = OnlineCells(n_trees=20, depth=4, first_rows=40, random_state=0)
    pipelines = [
        (OnlineCurves(n_knots=0, first_rows=40), NAGRegressor()),
        (OnlineProducts(products=False), ScaleInvariantRegressor(invariance="full")),
        (OnlineProducts(), NAGRegressor()),
        (OnlineProducts(bounded=True), ScaleInvariantRegressor(invariance="full")),
        (OnlineCurves(first_rows=40), NAGRegressor()),
        (cells, NAGRegressor()),
    ]
    with sklearn_nag.config_context(kernel=kernel):
        model = NAGCellsRegressor(**{**SMALL, "focus_rows": None}).partial_fit(rows, targets)
        played, predicted = [], []
        for (step, learner), own in zip(pipelines, model.estimators_, strict=True):
            played.append(learner._play(step.learn_transform(rows), targets)[:, 0])
            if isinstance(learner, ScaleInvariantRegressor):  # such learners sleep at first
                n_asleep = 2 * (1 + learner.n_features_in_)
                played[-1][:n_asleep] = played[0][:n_asleep]
            predicted.append(learner.predict(step.transform(rows)))
            assert predicted[-1].tobytes() == own.predict(rows).tobytes()
    low, high = np.minimum.accumulate(targets)[:-1], np.maximum.accumulate(targets)[:-1]
    held = np.clip(np.transpose(played)[1:], (2 * low - high)[:, None], (2 * high - low)[:, None])
    errors = held - targets[1:, None]
    blend, mixture = Mixture.new(6), Mixture.new(7)
    of_blend = (blend.blend(errors, "squared_error", np.ones(249)) * errors).sum(axis=1)
    mixture.play(np.column_stack([errors, of_blend]) ** 2 / 2)
    np.testing.assert_allclose(model.expert_losses_, (errors**2).mean(axis=0) / 2, rtol=1e-10)
    shares = mixture.weights()[0]
    shares = shares[:6] + shares[6] * blend.weights()[0]
    np.testing.assert_allclose(model.weights_, shares, rtol=5e-3, atol=1e-12)  # rounding moves these: some begin alike
    np.testing.assert_allclose(model.predict(rows), shares @ predicted, rtol=5e-4)
    assert list(model.named_estimators_) == [*BEFORE_CELLS, "cells"]
    model = NAGCellsClassifier(**{**SMALL, "focus_rows": None}).fit(rows, targets > 14)
    assert list(model.named_estimators_) == ["lines", "products", "curves", "cells"]
    assert "weights_" in dir(model)


def test_there_are_no_more_products_than_learners_stand(rng):
    for n_columns, expected in (
        (17, BEFORE_CELLS),
        (18, BEFORE_CELLS),
        (90, BEFORE_CELLS),
        (91, ["lines", "exact_lines", "exact_curves", "curves"]),
        (97, ["lines", "exact_lines", "curves"]),
        (193, ["lines", "curves"]),
    ):
        rows = rng.normal(size=(3, n_columns))
        model = NAGCellsRegressor().partial_fit(rows, rows[:, 0])
        assert list(model.named_estimators_) == [*expected, "cells"]
        if "exact_curves" in expected:
            width = 2 * n_columns + (n_columns * (n_columns + 1) // 2 if n_columns <= 17 else 0)
            assert model.named_estimators_["exact_curves"][-1].n_features_in_ == width
    for options in ({"half_life": 50.0}, {"half_life": "auto"}, {"loss": "huber"}):
        model = NAGCellsRegressor(**options).partial_fit(rows[:, :5], rows[:, 0])
        assert list(model.named_estimators_) == ["lines", "products", "curves", "cells"]
    model = NAGCellsRegressor(columns=[1, 2]).partial_fit(rows[:, :5], rows[:, 0])
    assert model.named_estimators_["products"][-1].n_features_in_ == 5 + 3


@pytest.mark.parametrize("power", [-870, 60, 900])
def test_powers_of_two_in_the_units_of_columns_change_no_bit(power):
    for kind, y in ((NAGCellsRegressor, Y), (NAGCellsClassifier, Y > 14)):
        one, other = (
            kind(**SMALL)._play(rows[:150, :4], y[:150], **({} if kind is NAGCellsRegressor else {"classes": [0, 1]}))
            for rows in (X, np.ldexp(X, power))
        )
        assert one.tobytes() == other.tobytes()


def test_models_from_before_products_go_on():
    with pytest.MonkeyPatch.context() as patch:
        for most in ("_MOST_PRODUCTS", "_MOST_EXACT"):
            patch.setattr(f"sklearn_nag.ensemble._cells.{most}", 0)
        model = NAGCellsRegressor(**SMALL).partial_fit(X[:150], Y[:150])
    model = pickle.loads(pickle.dumps(model)).partial_fit(X[150:], Y[150:])
    assert list(model.named_estimators_)[:2] == ["lines", "curves"]


@pytest.mark.parametrize("kernel", KERNELS)
def test_cuts_and_pickles_change_no_bit(kernel):
    with sklearn_nag.config_context(kernel=kernel):
        whole, cut_up = (NAGCellsRegressor(**SMALL) for _ in range(2))
        whole.partial_fit(X[:200], Y[:200])
        for start, stop in ((0, 1), (1, 38), (38, 41), (41, 90), (90, 101), (101, 200)):
            cut_up = pickle.loads(pickle.dumps(cut_up.partial_fit(X[start:stop], Y[start:stop])))
        assert whole.predict(X).tobytes() == cut_up.predict(X).tobytes()
        assert whole.weights_.tobytes() == cut_up.weights_.tobytes()


def test_a_second_generation_joins_and_cuts_what_matters(rng):
    Z = rng.uniform(-1, 1, size=(700, 8))
    y = np.sign(Z[:, 0] * Z[:, 1])
    model = NAGCellsRegressor(**{**SMALL, "focus_rows": 400, "n_trees": 40}).partial_fit(Z[:399], y[:399])
    assert list(model.named_estimators_) == [*BEFORE_CELLS, "cells"]
    before = model.expert_losses_
    model.partial_fit(Z[399:400], y[399:400])
    assert list(model.named_estimators_) == [*BEFORE_CELLS, "cells", "focused"]
    weights, losses = model.weights_, model.expert_losses_
    np.testing.assert_allclose(weights.sum(), 1.0)
    assert weights[-1] == 0.0  # because it sleeps
    assert losses[-1] == losses[-2] != before[-1]
    first, second = (model.named_estimators_[name][0] for name in ("cells", "focused"))
    for knots, of_all in zip(second.knots_, OnlineCells(first_rows=400).fit(Z[:400]).knots_, strict=True):
        np.testing.assert_array_equal(knots, of_all)
    assert model._early is None
    matter = [np.isin(own._state.made.column, range(2)).mean() for own in (first, second)]
    assert matter[1] > 0.7 > 0.4 > matter[0]
    model.partial_fit(Z[400:], y[400:])
    assert model.expert_losses_[-1] < model.expert_losses_[-2]


def test_generations_join_with_a_random_state_that_is_an_object():
    model = NAGCellsRegressor(**{**SMALL, "random_state": np.random.RandomState(0)})
    for start in range(0, 600, 150):
        model.partial_fit(X[start : start + 150], Y[start : start + 150])
    assert len(model._generations()) > 1
    pickle.loads(pickle.dumps(model)).partial_fit(X, Y)


def test_a_step_that_has_lost_what_it_learnt_does_not_go_on():
    model = NAGCellsRegressor(**SMALL).partial_fit(X[:60], Y[:60])
    del model._experts[0].transformers[0][1]._state
    for call in (model.predict, partial(model.partial_fit, y=Y)):
        with pytest.raises(NotFittedError, match="'lines', one of estimators: This OnlineCurves .* not fitted"):
            call(X)


def test_no_second_generation_joins_where_there_is_nothing_to_cut():
    for model, rows, y in (
        (NAGCellsRegressor(**SMALL), np.ones((200, 3)), np.ones(200)),
        (NAGCellsRegressor(**SMALL, max_columns=200), X[:200, :5], Y[:200]),
    ):
        assert list(model.partial_fit(rows, y).named_estimators_) == [*BEFORE_CELLS, "cells"]
    assert model._early is None  # hashed cells never have any


def test_a_second_generation_waits_for_twice_the_rows_of_the_knots(rng):
    Z = rng.uniform(-1, 1, size=(300, 3))
    model = NAGCellsRegressor(**{**SMALL, "first_rows": 150}).partial_fit(Z[:299], Z[:299, 0])
    assert "focused" not in model.named_estimators_
    assert "focused" in model.partial_fit(Z[299:], Z[299:, 0]).named_estimators_


FINE = {"n_trees": 40, "depth": 5, "first_rows": 20, "focus_rows": 40, "random_state": 0}
FINE_SOON = {**FINE, "n_trees": 20, "first_rows": 10, "focus_rows": 20}  # finer cells join after 800 rows


def waves(n):
    """Rows of a function without noise, which more rows show in ever finer detail."""
    Z = np.random.default_rng(0).uniform(-1, 1, size=(n, 3))
    return Z, np.sin(6 * Z[:, 0]) * np.sin(6 * Z[:, 1])


def late_stream(n_still, n=2400, value=0.0):
    """Rows whose first column is constant or missing for some rows, and then acts together with the second one."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, size=(n, 4))
    y = 3.0 * np.sign(np.sin(6.0 * rows[:, 0]) * rows[:, 1])
    rows[:n_still, 0], y[:n_still] = value, rows[:n_still, 2]
    return rows, y + rows[:, 2] + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize(("n_still", "value", "name"), [(41, 0.0, "focused"), (150, np.nan, "refocused")])
def test_later_generations_cut_columns_that_are_late(n_still, value, name):
    rows, y = late_stream(n_still, value=value)
    options = {**SMALL, "n_trees": 30}
    model = NAGCellsRegressor(**options).partial_fit(rows, y)
    assert len(model.named_estimators_["curves"][0].knots_[0]) == (0 if np.isnan(value) else 1)
    cells = NAGCellsRegressor(**options).partial_fit(rows[:600], y[:600]).named_estimators_[name][0]
    since = rows[n_still:100] if name == "focused" else rows[n_still : n_still + 100 + np.isnan(value)]
    known = since[:, 0] if np.isnan(value) else np.append(value, since[:, 0])
    np.testing.assert_array_equal(cells.knots_[0], np.unique(known))
    assert cells._state.knots.middles[0] == np.sort(known)[(len(known) - 1) // 2]
    assert (cells._state.made.column[:, 0] == 0).mean() > 0.15  # because it may matter most
    cut = NAGCellsRegressor(**options)
    for start, stop in itertools.pairwise([0, 1, 39, 41, 99, 102, 149, 151, 152, 251, 499, 501, 502, 1300, 2400]):
        cut = pickle.loads(pickle.dumps(cut.partial_fit(rows[start:stop], y[start:stop])))
    assert cut.predict(rows).tobytes() == model.predict(rows).tobytes()
    assert model.score(rows[-300:], y[-300:]) > 0.5
    state = NAGCellsRegressor(**options).partial_fit(rows[:90], y[:90]).__getstate__()
    earlier = object.__new__(NAGCellsRegressor)
    earlier.__setstate__({name: value for name, value in state.items() if name != "_late"})
    assert earlier.partial_fit(rows[90:], y[90:]).score(rows[-300:], y[-300:]) < 0.4


def test_where_no_column_is_late_nothing_changes(monkeypatch):
    binary = np.column_stack([X[:, :3], X[:, 3] > 0.5, np.ones(600)])
    usual = NAGCellsRegressor(**SMALL).partial_fit(binary, Y)
    monkeypatch.setattr("sklearn_nag.ensemble._late.begun", lambda rows, n_still: [np.empty(0)] * rows.shape[1])
    without = NAGCellsRegressor(**SMALL).partial_fit(binary, Y)
    assert "refocused" in without.named_estimators_
    assert usual.predict(binary).tobytes() == without.predict(binary).tobytes()


def test_a_generation_joins_for_a_column_that_is_later_than_the_third_one():
    rows, y = late_stream(1150, 4000)
    y = 3.0 * np.sign(np.sin(6.0 * rows[:, 2]) * rows[:, 3])  # the third generation learns this
    y[1150:] += 4.0 * np.sin(6.0 * rows[1150:, 0])
    model = NAGCellsRegressor(**{**SMALL, "n_trees": 30}).partial_fit(rows[:1999], y[:1999])
    assert {"refocused", "late"} & {*model.named_estimators_} == {"refocused"}
    again = pickle.loads(pickle.dumps(model))
    model.partial_fit(rows[1999:], y[1999:])
    for start, stop in itertools.pairwise([1999, 2000, 2001, 3000, 3999, 4000]):
        again = pickle.loads(pickle.dumps(again.partial_fit(rows[start:stop], y[start:stop])))
    assert again.predict(rows).tobytes() == model.predict(rows).tobytes()
    assert "late" in model.named_estimators_
    np.testing.assert_array_equal(
        model.named_estimators_["late"][0].knots_[0], np.unique(np.append(0.0, rows[1150:1250, 0]))
    )
    assert model.score(rows[-500:], y[-500:]) > 0.5
    assert not any(map(len, model._late))  # so no generation joins for it again
    rare = rows.copy()
    rare[:, 0] = np.arange(4000) % 150 == 149  # this tells less than half a bit
    assert "late" not in NAGCellsRegressor(**SMALL).partial_fit(rare, y).named_estimators_


def test_shards_have_late_columns_together():
    rows, y = late_stream(150)
    options = {**SMALL, "n_trees": 30}
    for n in (60, 110, 300):
        base = NAGCellsRegressor(**options).partial_fit(rows[:n], y[:n])
        stops = {60: 90, 110: 400, 300: 400}[n]
        shards = [copy.deepcopy(base).partial_fit(rows[i:stops:2], y[i:stops:2]) for i in (n, n + 1)]
        merged = merge(shards, base)
        if n == 60:
            assert merged._late == []
        else:
            late = merged._late[0]
            since = rows[150:400, 0] if n == 110 else rows[150:250, 0]
            assert late[0] == 0.0
            assert set(late[1:]) == {*since} if n == 300 else {*late[1:]} <= {*since}
        merged = pickle.loads(pickle.dumps(merged))
        assert merged.partial_fit(rows[400:], y[400:]).score(rows[-300:], y[-300:]) > 0.5
    damaged = copy.deepcopy(base)
    damaged._late = [np.array([np.inf])] * 4
    with pytest.raises(ValueError, match="_late is not what late columns have had"):
        pickle.loads(pickle.dumps(damaged))


def test_finer_cells_join_where_losses_go_on_falling():
    Z, y = waves(950)
    model = NAGCellsRegressor(**FINE_SOON).partial_fit(Z[:799], y[:799])
    assert list(model.named_estimators_) == [*BEFORE_CELLS, "focused", "refocused"]
    again = pickle.loads(pickle.dumps(model))
    model.partial_fit(Z[799:800], y[799:800])
    assert list(model.named_estimators_) == [*BEFORE_CELLS, "refocused", "finer"]
    assert [model.named_estimators_[name][0].depth for name in ("refocused", "finer")] == [5, 7]
    assert model.expert_losses_[-1] == model.expert_losses_[-2]
    np.testing.assert_allclose(model.weights_.sum(), 1.0)
    model.partial_fit(Z[800:], y[800:])
    for start, stop in ((799, 802), (802, 950)):
        again = pickle.loads(pickle.dumps(again.partial_fit(Z[start:stop], y[start:stop])))
    assert model.predict(Z).tobytes() == again.predict(Z).tobytes()


def test_losses_are_looked_at_when_rows_have_doubled():
    """Losses of all rows so far are kept, in the order of the experts, some of which have joined or left since."""
    Z, y = waves(802)
    weight, known = np.random.default_rng(0).uniform(0.5, 2.0, size=802), []
    model = NAGCellsRegressor(**{**FINE, "first_rows": 10, "focus_rows": 20, "n_trees": 10})
    for rows in np.split(np.arange(802), [99, 100, 101, 199, 200, 400, 401, 800, 801]):
        model.partial_fit(Z[rows], y[rows], weight[rows])
        t, total = model.t_, model.progressive_loss_ * model.t_
        n_rows = rows[-1] + 1
        if n_rows in (100, 200, 400, 800):
            mean = (total - known[-1]) / (t - known[1]) if len(known) else 0.0
            known = np.array([mean, t, *model.expert_losses_ * t, total])
        if n_rows < 100:
            assert model._looked is None
        else:
            np.testing.assert_allclose(model._looked, known, rtol=1e-9)
    assert list(model.named_estimators_) == [*BEFORE_CELLS, "refocused", "finer"]


def test_coarse_cells_leave_once_finer_ones_lose_less():
    Z, y = waves(9000)
    model = NAGCellsRegressor(**FINE).partial_fit(Z[:6399], y[:6399])
    assert list(model.named_estimators_) == [*BEFORE_CELLS, "refocused", "finer"]
    again = pickle.loads(pickle.dumps(model))
    model.partial_fit(Z[6399:], y[6399:])
    assert list(model.named_estimators_) == [*BEFORE_CELLS, "finer"]
    coarse = NAGCellsRegressor(**FINE, max_columns=40 * 63).partial_fit(Z, y)
    assert list(coarse.named_estimators_) == [*BEFORE_CELLS, "focused", "refocused"]
    late = slice(6400, None)
    assert 1.0 - model.score(Z[late], y[late]) < 0.7 * (1.0 - coarse.score(Z[late], y[late]))
    for start, stop in ((6399, 6400), (6400, 6401), (6401, 9000)):
        again = pickle.loads(pickle.dumps(again.partial_fit(Z[start:stop], y[start:stop])))
    assert model.predict(Z).tobytes() == again.predict(Z).tobytes()
    state = model.__getstate__()
    state["_looked"] = state["_looked"][:-1]
    with pytest.raises(ValueError, match="_looked has shape"):
        object.__new__(NAGCellsRegressor).__setstate__(state)


def test_a_third_generation_knows_better_what_matters():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(2100, 12))
    y = np.sign(Z[:, 0] * Z[:, 1] * Z[:, 2])  # single cuts of the first generation do not see this
    model = NAGCellsRegressor(n_trees=60, depth=6, first_rows=50, focus_rows=150, random_state=0)
    model.partial_fit(Z[:749], y[:749])
    again = pickle.loads(pickle.dumps(model))
    assert list(model.named_estimators_)[-2:] == ["cells", "focused"]
    model.partial_fit(Z[749:750], y[749:750])
    assert list(model.named_estimators_)[-3:] == ["cells", "focused", "refocused"]
    trees = [model.named_estimators_[name][0]._state.made for name in ("focused", "refocused")]
    matter = [np.isin(own.column, range(3)).mean() for own in trees]
    assert matter[1] > matter[0]
    model.partial_fit(Z[750:], y[750:])
    assert list(model.named_estimators_)[-2:] == ["focused", "refocused"]
    for start, stop in ((749, 750), (750, 751), (751, 1500), (1500, 2100)):
        again = pickle.loads(pickle.dumps(again.partial_fit(Z[start:stop], y[start:stop])))
    assert model.predict(Z).tobytes() == again.predict(Z).tobytes()


@pytest.mark.parametrize(("generation", "n_rows"), [(2, 200), (3, 400)])
def test_a_third_generation_that_does_not_wake_leaves(rng, generation, n_rows):
    """A third generation that does not wake leaves when rows have doubled; the second one stays."""
    Z = rng.normal(size=(n_rows, 3))
    model = NAGCellsRegressor(**FINE).partial_fit(Z[:-1], Z[:-1, 0] + rng.normal(size=n_rows - 1))
    assert list(model.named_estimators_) == [*BEFORE_CELLS, "cells", "focused", "refocused"][: 5 + generation]
    model._asleep = np.array([2.0, 1.0])  # as if the mean of both had lost more so far
    model._wake = lambda: None
    model.partial_fit(Z[-1:], Z[-1:, 0])
    assert list(model.named_estimators_) == [*BEFORE_CELLS, "cells", "focused"]
    assert (model._asleep is None) == (generation == 3)
    np.testing.assert_allclose(model.weights_.sum(), 1.0)


def test_finer_cells_have_two_more_cuts_where_all_of_them_fit():
    for depth, max_columns in itertools.product([1, 4, 18, 19, 20], [150, 300, 301, 310, 311, 640, 2**28]):
        model = NAGCellsRegressor(n_trees=10, depth=depth, max_columns=max_columns)
        fit = [d for d in range(depth + 3) if d <= 20 and 10 * (2 ** (d + 1) - 1) <= max_columns]
        assert model._finer_depth() == max(fit)


def test_no_finer_cells_join_where_losses_stay_as_they_are(rng):
    Z = rng.uniform(-1, 1, size=(6000, 3))
    y = np.sign(Z[:, 0] * Z[:, 1]) + rng.normal(size=6000)
    assert list(NAGCellsRegressor(**FINE).fit(Z, y).named_estimators_) == [*BEFORE_CELLS, "cells", "focused"]


@pytest.mark.parametrize("half_life", [None, 100])
def test_no_unit_of_an_output_matters_to_others(half_life, rng):
    Z, y = waves(950)
    both = np.column_stack([Z[:, 0] + 0.3 * rng.normal(size=950), y])
    options = {**FINE_SOON, "n_trees": 10, "half_life": half_life}
    model = NAGCellsRegressor(**options).partial_fit(Z, both)
    alone = NAGCellsRegressor(**options).partial_fit(Z, y)
    assert "finer" in model.named_estimators_
    assert np.var(model.predict(Z)[:, 1] - y) < 1.5 * np.var(alone.predict(Z) - y)  # both outputs share the cells
    factors = [2.0**20, 2.0**-100]
    other = NAGCellsRegressor(**options).partial_fit(Z[:777], both[:777] * factors)
    other = pickle.loads(pickle.dumps(other)).partial_fit(Z[777:], both[777:] * factors)
    assert other.predict(Z).tobytes() == (model.predict(Z) * factors).tobytes()
    fitted = [NAGCellsRegressor(**options).fit(Z[:100], both[:100] * [factor, 1]) for factor in (1.0, 2.0**20)]
    assert fitted[0].predict(Z)[:, 1].tobytes() == fitted[1].predict(Z)[:, 1].tobytes()


def test_several_outputs_of_shards_are_merged(rng):
    Z, y = waves(1200)
    both = np.column_stack([1e6 * (Z[:, 0] + 0.3 * rng.normal(size=1200)), y])
    base = NAGCellsRegressor(**FINE).partial_fit(Z[:600], both[:600])
    shards = [copy.deepcopy(base).partial_fit(Z[part], both[part]) for part in (slice(600, 900), slice(900, 1200))]
    model = merge(shards, base)
    total = sum(shard._totals[-1] for shard in shards) - base._totals[-1]
    np.testing.assert_allclose(model.progressive_loss_ * model.t_, total.mean())
    np.testing.assert_allclose(model.weights_.sum(), 1.0)
    model = pickle.loads(pickle.dumps(model)).partial_fit(Z[:300], both[:300])
    error, before = (np.var(own.predict(Z) - both, axis=0) for own in (model, base))
    assert (error < [1.1, 0.9] * before).all()


def test_models_from_before_finer_cells_go_on():
    Z, y = waves(7000)
    state = copy.deepcopy(NAGCellsRegressor(**FINE).partial_fit(Z[:700], y[:700]).__getstate__())
    del state["_looked"]
    earlier = object.__new__(NAGCellsRegressor)
    earlier.__setstate__(state)
    assert "finer" in earlier.partial_fit(Z[700:], y[700:]).named_estimators_


def test_shards_share_finer_cells_that_they_began_with():
    Z, y = waves(5900)
    fine = {**FINE, "first_rows": 10, "focus_rows": 20}
    cases = ((800, 300, ["refocused", "finer"]), (400, 500, ["refocused"]), (800, 2500, ["finer"]))
    for n_before, n_each, names in cases:
        base = NAGCellsRegressor(**fine).partial_fit(Z[:n_before], y[:n_before])
        parts = [slice(n_before + i * n_each, n_before + (i + 1) * n_each) for i in range(2)]
        shards = [copy.deepcopy(base).partial_fit(Z[part], y[part]) for part in parts]
        model = merge(shards, base)
        assert list(model.named_estimators_) == [*BEFORE_CELLS, *names]
        assert model._looked is None
        np.testing.assert_allclose(model.weights_.sum(), 1.0)
        assert model.t_ == n_before + 2 * n_each - 1
        total = sum(shard._totals[-1] for shard in shards) - base._totals[-1]
        np.testing.assert_allclose(model.progressive_loss_ * model.t_, total)
        assert model.score(Z[-300:], y[-300:]) > base.score(Z[-300:], y[-300:])
        model = pickle.loads(pickle.dumps(model)).partial_fit(Z[:50], y[:50])
    parted = [NAGCellsRegressor(**fine).partial_fit(Z[:n], y[:n]) for n in (400, 3500)]
    with pytest.raises(ValueError, match="let these learn about as many rows each"):
        merge(parted)


def test_a_third_generation_that_joined_in_shards_alone_is_left_out():
    """After the merge, a later third generation joins only if not all shards have had one."""
    Z, y = waves(200)
    fine = {**FINE, "first_rows": 10, "focus_rows": 20, "n_trees": 10}
    base = NAGCellsRegressor(**fine).partial_fit(Z[:90], y[:90])
    one, other, short = (
        copy.deepcopy(base).partial_fit(Z[a:b], y[a:b]) for a, b in ((90, 110), (110, 130), (130, 135))
    )
    assert [shard._asleep is not None for shard in (one, other, short)] == [True, True, False]
    for shards, may_join in (([one, other], False), ([one, short], True)):
        model = pickle.loads(pickle.dumps(merge(shards, base)))
        assert list(model.named_estimators_) == [*BEFORE_CELLS, "cells", "focused"]
        assert model._asleep is None
        model.partial_fit(Z[: 200 - model._n_new], y[: 200 - model._n_new])
        assert ("refocused" in model.named_estimators_) == may_join


def test_units_of_several_targets_count_alike():
    both = np.column_stack([Y, 1e200 * Y[::-1]])
    trees = [NAGCellsRegressor(**SMALL).partial_fit(X, y).estimators_[-1][0]._state.made for y in (both, both * 1e90)]
    assert (trees[0].column == trees[1].column).mean() > 0.99


def test_models_of_one_generation_go_on():
    model = NAGCellsRegressor(**{**SMALL, "focus_rows": None}).partial_fit(X[:50], Y[:50])
    state = copy.deepcopy(model.__getstate__())
    for new in ("focus_rows", "half_life", "loss"):
        del state[new], state["_made_with"][new]
    del state["_early"]
    earlier = object.__new__(NAGCellsRegressor)
    earlier.__setstate__(state)
    expected = model.partial_fit(X[50:200], Y[50:200]).predict(X)
    assert earlier.partial_fit(X[50:200], Y[50:200]).predict(X).tobytes() == expected.tobytes()


def test_rows_for_knots_are_kept_until_they_are_needed():
    whole = NAGCellsRegressor(**SMALL).partial_fit(X[:90], Y[:90])
    base = NAGCellsRegressor(**SMALL).partial_fit(X[:50], Y[:50])
    shards = [copy.deepcopy(base).partial_fit(X[i:90:2], Y[i:90:2]) for i in (50, 51)]
    joined = merge(shards, base)._early
    np.testing.assert_array_equal(joined[np.lexsort(joined.T)], X[:90][np.lexsort(X[:90].T)])
    assert len(whole._early) == 90
    assert len(NAGCellsRegressor(**SMALL, max_iter=3).fit(X[:60], Y[:60])._early) == 60  # because a stream may follow


def test_models_from_before_rows_were_kept_take_the_knots_that_there_are():
    model = NAGCellsRegressor(**SMALL).partial_fit(X[:50], Y[:50])
    earlier = object.__new__(NAGCellsRegressor)
    earlier.__setstate__({name: value for name, value in model.__getstate__().items() if name != "_early"})
    first, second = (
        earlier.partial_fit(X[50:200], Y[50:200]).named_estimators_[name][0] for name in ("cells", "focused")
    )
    assert all(np.array_equal(ours, theirs) for ours, theirs in zip(first.knots_, second.knots_))
    model.partial_fit(X[50:60], Y[50:60])
    model._early = np.full(model._early.shape, np.inf)
    with pytest.raises(ValueError, match="_early is not the first rows"):
        pickle.loads(pickle.dumps(model))


def test_a_saved_model_says_with_which_parameters_it_was_begun():
    state = NAGCellsRegressor(**SMALL).partial_fit(X[:50], Y[:50]).__getstate__()
    with pytest.raises(ValueError, match="with which columns this model was begun"):
        object.__new__(NAGCellsRegressor).__setstate__({**state, "_made_with": {}})
    with pytest.raises(ValueError, match="_asleep is about a generation of cells that is not there"):
        object.__new__(NAGCellsRegressor).__setstate__({**state, "_asleep": np.zeros(2)})


def test_steps_of_a_saved_model_have_names_and_are_transformers():
    state = copy.deepcopy(NAGCellsRegressor(**SMALL).partial_fit(X[:50], Y[:50]).__getstate__())
    steps = state["_experts"][0].estimator.steps
    name, step = steps[0]
    for wrong, why in (
        ((step, name), "is 'onlinecurves'; it must be a transformer"),
        ((3, step), "has a step that is no transformer with a name"),
        ((name, "drop"), "has a step that is no transformer with a name"),
    ):
        steps[0] = wrong
        with pytest.raises(ValueError, match=why):
            object.__new__(NAGCellsRegressor).__setstate__(copy.deepcopy(state))


def test_weights_of_all_rows_alike_are_no_reason_to_follow_the_last_one(rng):
    X = rng.normal(size=(1500, 4))
    y = X @ [2.0, -1.0, 0.5, 0.0] + rng.logistic(size=1500) > 0
    model = NAGCellsClassifier(random_state=0).partial_fit(X, y, [False, True], np.full(1500, 30.0))
    assert model.weights_[0] > 0.9  # the weight of lines
    assert model.progressive_loss_ < 1.05 * model.expert_losses_.min()


def test_learners_that_overfit_are_told_by_what_they_predict():
    """Exact learners judged as if they knew a row's leverage would look like the mean, and take all of the weight."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2060, 40)), rng.normal(size=2060)
    reg = NAGCellsRegressor(n_trees=20, random_state=0).partial_fit(X[:60], y[:60])
    weight = dict(zip(reg.named_estimators_, reg.weights_))
    assert weight["exact_lines"] + weight["exact_curves"] < 0.05
    assert reg.score(X[60:], y[60:]) > -0.5
    low, high = reg.predict_interval(X[60:], 0.9).T
    assert np.mean((low <= y[60:]) & (y[60:] <= high)) > 0.8


def test_later_passes_do_not_wake_exact_learners(rng):
    """If they woke, exact learners would never have been judged: they sleep through all rows that are judged."""
    X, y = rng.normal(size=(45, 40)), rng.normal(size=45)
    reg = NAGCellsRegressor(n_trees=20, random_state=0, max_iter=3).fit(X, y)
    weight = dict(zip(reg.named_estimators_, reg.weights_))
    assert weight["exact_lines"] == weight["exact_curves"] == 0.0


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_models_whose_experts_make_two_forecasts_go_on(kind, rng):
    model = pickle.loads((Path(__file__).parents[1] / "data" / "state5" / f"cells_{kind}.pkl").read_bytes())
    X = rng.normal(size=(50, model.n_features_in_))
    model.partial_fit(X, X[:, 0] if kind == "regressor" else model.classes_[(X[:, 0] > 0).astype(int)])
    assert model._mixture.excess.shape[1] == 2 * len(model.estimators_) + (model._blend is not None)
    np.testing.assert_allclose(model.weights_.sum(), 1.0)
    assert np.isfinite(model.predict(X) if kind == "regressor" else model.predict_proba(X)).all()


def test_early_losses_are_forgotten_by_a_fixed_share(rng):
    Z, fresh = rng.uniform(-1, 1, size=(2, 3000, 3))
    model = NAGCellsClassifier(random_state=0).partial_fit(Z, Z[:, 0] * Z[:, 1] > 0, classes=[False, True])
    losses = [log_loss(fresh[:, 0] * fresh[:, 1] > 0, m.predict_proba(fresh)) for m in (model, *model.estimators_)]
    assert losses[0] < 1.1 * min(losses[1:])


def test_progressive_validation_scores_what_is_played():
    """Progressive validation does not score what `predict` returns before batches, whose labels come late."""
    rows, targets = X[:300], Y[:300]
    labels = (targets > np.median(targets)).astype(int)
    weight = np.where(np.arange(300) % 50 < 3, 0.0, 1.0)
    for kind, y, scoring in (
        (NAGCellsRegressor, targets, "neg_mean_squared_error"),
        (NAGCellsClassifier, labels, "neg_log_loss"),
    ):
        model = kind(**SMALL)
        result = progressive_validation(model, rows, y, scoring=scoring, curve_at=[150, 300])
        loss = -result.score if kind is NAGCellsClassifier else -result.score / 2
        assert loss == pytest.approx(result.loss, rel=1e-9) == result.curve["loss"][1]
        assert (result.n_rows, result.n_scored) == (300, 299)
        weighted = progressive_validation(model, rows, y, scoring=scoring, sample_weight=weight)
        seen = weight > 0
        assert weighted.loss == progressive_validation(model, rows[seen], y[seen]).loss
        assert weighted.n_scored == 297 - 1
        assert weighted.score != result.score


def test_half_lives_follow_a_change_that_is_not_linear(rng):
    Z = rng.uniform(-1, 1, size=(2400, 2))
    y = (Z[:, 0] * Z[:, 1] > 0) ^ (np.arange(2400) >= 2250)  # the classes flip
    small = {"n_trees": 30, "depth": 5, "first_rows": 100, "focus_rows": 300, "random_state": 0}
    scores = {}
    for half_life in (None, "auto"):
        model = NAGCellsClassifier(**small, half_life=half_life).partial_fit(Z, y, classes=[False, True])
        scores[half_life] = model.score(Z[:500], ~y[:500])
    assert scores[None] < 0.6 < 0.8 < scores["auto"]
    assert model.half_lives_.tolist() == [np.inf, 5120.0, 1280.0, 320.0, 160.0, 80.0, 20.0]
    np.testing.assert_allclose(model.half_life_.sum(), 1.0)
    own = [pipeline[-1].half_life_[0] for pipeline in model.estimators_]  # of the infinite half-life, which all have
    np.testing.assert_allclose(model.half_life_[0], model.weights_ @ own)
    assert model.half_life_[0] < 0.5
    for depth, of_cells in ((5, [np.inf, 160.0, 20.0]), (7, [np.inf, 640.0, 80.0])):
        begun = NAGCellsClassifier(**{**small, "depth": depth}, half_life="auto")
        begun.partial_fit(Z[:310], y[:310], [False, True])
        assert begun.named_estimators_.focused[-1].half_lives_.tolist() == of_cells
    begun = NAGCellsClassifier(**small, half_life="auto").partial_fit(Z[:700], y[:700], classes=[False, True])
    again = pickle.loads(pickle.dumps(begun))
    for start, stop in ((700, 701), (701, 1500), (1500, 2400)):
        again.partial_fit(Z[start:stop], y[start:stop])
    assert again.predict_proba(Z).tobytes() == model.predict_proba(Z).tobytes()


@pytest.mark.parametrize("half_life", [30, "auto"])
def test_losses_of_larger_errors_fade(half_life, rng, monkeypatch):
    monkeypatch.setattr("sklearn_nag.ensemble._cells._MIDDLE", 30.0)  # of "auto", so that few rows are enough
    Z, noise, n = rng.normal(size=(950, 2)), rng.normal(size=950), 400
    y = np.where(np.arange(950) < n, 20.0 * (Z[:, 0] + noise), 3.0 * np.sign(Z[:, 0] * Z[:, 1]) + 0.5 * noise)
    small = {"n_trees": 10, "depth": 4, "first_rows": 100, "focus_rows": None, "random_state": 0}
    model = NAGCellsRegressor(**small, half_life=half_life).partial_fit(Z[:800], y[:800])
    before = model._totals.copy()
    *experts, mixture = model.partial_fit(Z[800:], y[800:])._totals - before
    assert mixture < 1.3 * min(experts) < 0.6 * experts[0]
    assert experts[-1] == min(experts)
    assert model.expert_losses_[-1] > min(model.expert_losses_)  # others were better for long, when losses were larger


@pytest.mark.parametrize("kernel", KERNELS)
def test_cuts_change_no_bit_of_what_fades(kernel, rng):
    rows, y, weight = X[:110, :2], Y[:110], rng.exponential(5.0, size=110) * (rng.random(110) < 0.9)
    weight[70] = 1e6
    with sklearn_nag.config_context(kernel=kernel):
        for half_life in (7.5, "auto"):
            small = {"n_trees": 3, "depth": 3, "first_rows": 10, "focus_rows": 20, "random_state": 0}
            model = NAGCellsRegressor(**small, half_life=half_life)
            whole, cut = clone(model).partial_fit(rows, y, weight), clone(model)
            for start, stop in itertools.pairwise([0, 1, 2, 27, 71, 101, 110]):
                part = slice(start, stop)
                cut = pickle.loads(pickle.dumps(cut.partial_fit(rows[part], y[part], weight[part])))
            assert list(whole.named_estimators_) == ["lines", "products", "curves", "cells", "focused", "refocused"]
            assert cut.predict(rows).tobytes() == whole.predict(rows).tobytes()
            assert cut.weights_.tobytes() == whole.weights_.tobytes()


def test_losses_count_half_after_four_half_lives():
    for half_life, after in ((None, np.inf), (50, 200.0), ("auto", 1280.0)):
        assert NAGCellsRegressor(half_life=half_life)._half_life_of_losses == after
        assert NAGCellsClassifier(half_life=half_life)._half_life_of_losses == np.inf


def test_losses_count_half_after_four_middle_ones_of_several_half_lives():
    for half_lives, after in (
        ((20, 80.0, 320, 1280, 5120), 1280.0),  # those of "auto"
        ((7.0,), 28.0),
        ((20000.0, 5000.0), 40000.0),
        ([50, 1000, 10], 200.0),
    ):
        assert NAGCellsRegressor(half_life=half_lives)._half_life_of_losses == pytest.approx(after, rel=1e-12)
    model = NAGCellsRegressor(**SMALL, half_life=(200.0, 50.0)).partial_fit(X[:30], Y[:30])
    assert pickle.loads(pickle.dumps(model))._half_life_of_losses == 400.0
    state = {name: value for name, value in model.__getstate__().items() if name != "_fades_by_tuple"}
    earlier = object.__new__(NAGCellsRegressor)
    earlier.__setstate__(state)
    assert earlier.partial_fit(X[30:40], Y[30:40])._half_life_of_losses == 1280.0
    assert earlier.fit(X[:40], Y[:40])._half_life_of_losses == 400.0


@pytest.mark.parametrize(("half_life", "numbers"), [(50, (30, 75, 100, 401)), ("auto", (100,))])
def test_models_that_forget_say_so_when_they_are_merged(half_life, numbers):
    for n in numbers:
        base = NAGCellsRegressor(**{**SMALL, "n_trees": 3}, half_life=half_life).partial_fit(X[:n], Y[:n])
        shards = [copy.deepcopy(base).partial_fit(X[i : n + 80 : 2], Y[i : n + 80 : 2]) for i in (n, n + 1)]
        with pytest.raises(ValueError, match="models with half_life cannot be merged"):
            merge(shards, base)
        assert merge([shards[0], base], base).predict(X).tobytes() == shards[0].predict(X).tobytes()


def test_errors_that_intervals_know_of_count_half_after_a_half_life():
    assert np.exp(-50.0 / NAGCellsRegressor(half_life=50)._memory) == pytest.approx(0.5)
    assert NAGCellsRegressor()._memory == NAGCellsRegressor(half_life="auto")._memory == np.inf


def test_losses_of_all_outputs_count_alike_when_passes_are_judged(rng):
    """Losses are in units of half the range of each output, wherever that lies. A constant output has no unit."""
    y = rng.normal(size=(40, 3)) * [1.0, 1e150, 0.0] + [1e6, 1e3, 7.0]
    advice = y + rng.normal(size=(40, 3)) * [1.0, 1e150, 2.0]
    model = NAGCellsRegressor(n_trees=2, depth=2, max_iter=1).fit(X[:40], y)
    unit = np.array([np.ptp(y[:, 0]) / 2, np.ptp(y[:, 1]) / 2, 1.0])
    expected = 0.5 * ((advice - y) / unit) ** 2
    np.testing.assert_allclose(model._losses_in_units(advice[:9], y[:9], y), expected[:9], rtol=1e-6)


def test_a_newcomer_predicts_nothing_before_it_has_learnt():
    """Friedman's simulation (1991) is cut at many places around the row at which the second generation joins."""
    Z, y = make_friedman1(2300, noise=1.0, random_state=0)
    tests, held = Z[1300:], y[1300:]
    small = {"n_trees": 60, "first_rows": 100, "focus_rows": 400, "random_state": 1}
    for kind, target in ((NAGCellsRegressor, y), (NAGCellsClassifier, y > 14)):
        model, losses = kind(**small), []
        model.partial_fit(Z[:398], target[:398], **({} if kind is NAGCellsRegressor else {"classes": [False, True]}))
        for stop in (399, 400, 401, 410, 431, 432, 433, 440, 496, 528, 700, 1300):
            model.partial_fit(Z[model._experts[0].n_rows : stop], target[model._experts[0].n_rows : stop])
            if kind is NAGCellsRegressor:
                losses.append(((model.predict(tests) - held) ** 2).mean())
            else:
                losses.append(log_loss(held > 14, model.predict_proba(tests)))
        assert max(losses) < 1.05 * losses[0]
        assert losses[-1] < 0.9 * losses[0]
        assert model.weights_[-1] > 0.1


def test_a_newcomer_wakes_after_32_rows_in_which_the_mean_of_both_lost_no_more():
    rng = np.random.default_rng(2)
    Z = rng.uniform(-1, 1, size=(164, 3))
    y = np.sign(Z[:, 0] * Z[:, 1]) + 0.3 * rng.normal(size=164)
    model, wakes = NAGCellsRegressor(**SMALL).partial_fit(Z[:100], y[:100]), []
    assert model._experts[-1].n_rows == 1
    for start in (100, 132):
        rows = np.arange(start, start + 32)
        both = [copy.deepcopy(model.named_estimators_[name]) for name in ("cells", "focused")]
        played = np.transpose([own[-1]._play(own[0].transform(Z[rows]), y[rows])[:, 0] for own in both])
        low, high = (ends[rows - 1, None] for ends in (np.minimum.accumulate(y), np.maximum.accumulate(y)))
        before, own = np.clip(played, 2 * low - high, 2 * high - low).T
        losses = 0.5 * (np.column_stack([0.5 * (before + own), before]) - y[rows, None]) ** 2
        model.partial_fit(Z[rows[:-1]], y[rows[:-1]])
        np.testing.assert_allclose(model._asleep, losses[:-1].sum(axis=0), rtol=1e-9)
        assert model.weights_[-1] == 0.0
        assert model.expert_losses_[-1] == model.expert_losses_[-2]
        model.partial_fit(Z[rows[-1:]], y[rows[-1:]])
        wakes.append(np.less_equal(*losses.sum(axis=0)))
        assert (model.weights_[-1] > 0.0) == wakes[-1] == (model._asleep is None)
    assert wakes == [False, True]


def test_the_best_of_them_is_found():
    rng = np.random.default_rng(0)
    Z = rng.uniform(-1, 1, size=(4000, 3))
    for y, best in (
        (Z @ [1.0, 2.0, 3.0], {"lines", "exact_lines"}),
        (Z[:, 0] * Z[:, 1] + Z[:, 2] ** 2, {"products", "exact_curves"}),
        (np.sin(6 * Z[:, 0]) + np.abs(Z[:, 1]), {"curves"}),
        (np.sin(6 * Z[:, 0]) * Z[:, 1] > 0, {"cells", "focused"}),
    ):
        noisy = y + 0.3 * rng.normal(size=4000) if y.dtype == float else y
        kind = NAGCellsRegressor if y.dtype == float else NAGCellsClassifier
        model = kind(n_trees=50, random_state=0).fit(Z[:3000], noisy[:3000])
        scores = {name: e.score(Z[3000:], noisy[3000:]) for name, e in model.named_estimators_.items()}
        assert max(scores.values()) - max(scores[name] for name in best) < 0.002
        assert model.score(Z[3000:], noisy[3000:]) > max(scores.values()) - 0.005
        assert model.regret_ < 0.05 * 3000 * model.expert_losses_.min()


def test_missing_values_and_frames_are_welcome():
    frame = pd.DataFrame(X[:, :3].copy(), columns=["a", "b", "c"])
    frame.iloc[::7, 1] = np.nan
    model = NAGCellsRegressor(columns=["a", "b"], **SMALL).fit(frame, Y)
    assert np.isfinite(model.predict(frame)).all()
    with pytest.raises(ValueError, match="contains infinity"):
        model.partial_fit(frame.fillna(np.inf), Y)


def test_lines_alone_are_merged():
    base = NAGCellsRegressor(**SMALL, columns=[]).partial_fit(X[:50], Y[:50])
    shards = [copy.deepcopy(base).partial_fit(X[a::2], Y[a::2]) for a in (50, 51)]
    model = merge(shards, base)
    assert list(model.named_estimators_) == ["lines"]
    learners = [own.estimators_[0][-1] for own in (*shards, base)]
    np.testing.assert_allclose(model.predict(X), merge(learners[:2], learners[2]).predict(X), rtol=1e-9)


def test_sparse_rows_have_lines_alone():
    words = sparse.random_array((200, 50), density=0.1, format="csr", random_state=0)
    y = words @ np.arange(50.0)
    with pytest.warns(UserWarning, match="columns='auto' of NAGCellsRegressor takes no columns of sparse rows"):
        model = NAGCellsRegressor(**SMALL, max_iter=10).fit(words, y)
    assert list(model.named_estimators_) == ["lines"]
    assert model.score(words, y) > 0.9
    assert pickle.loads(pickle.dumps(model)).predict(words).tobytes() == model.predict(words).tobytes()


def test_of_sparse_rows_the_columns_that_are_said_to_be_numbers_have_curves_and_cells():
    rows, told = sparse.csr_array(np.column_stack([np.eye(3)[np.arange(600) % 3], X[:, :5]])), range(3, 8)
    model = NAGCellsRegressor(**SMALL).set_numeric_columns(told).partial_fit(rows[:300], Y[:300])
    model = pickle.loads(pickle.dumps(model)).partial_fit(rows[300:], Y[300:])
    named = NAGCellsRegressor(**SMALL, columns=list(told)).partial_fit(rows, Y)
    assert model.predict(rows).tobytes() == named.predict(rows).tobytes()
    assert len(model.named_estimators_["curves"][0].knots_) == 5
    with pytest.raises(ValueError, match="set_numeric_columns was .* when this model was new"):
        model.set_numeric_columns([3]).partial_fit(rows, Y)
    for wrong, why in (([0, 9], "not a column of X"), ([-1], "not negative"), ([0.5], "must be integers")):
        with pytest.raises(ValueError, match=why):
            NAGCellsRegressor(**SMALL).set_numeric_columns(wrong).fit(rows, Y)
    assert list(clone(model).set_numeric_columns([]).fit(rows, Y).named_estimators_) == ["lines"]  # without a warning


def test_what_a_model_is_made_of_may_not_change():
    model = NAGCellsRegressor(**SMALL).partial_fit(X, Y)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="depth was 4 when this model was new and is 5 now"):
        model.set_params(depth=5).partial_fit(X, Y)
    columns = [0, 1]
    other = NAGCellsRegressor(**SMALL, columns=columns).partial_fit(X, Y)
    columns[1] = 2  # changed in place
    with pytest.raises(ValueError, match=r"columns was \[0, 1\] when this model was new and is \[0, 2\] now"):
        other.partial_fit(X, Y)
    model.set_params(depth=4, columns=[10**5000])
    with pytest.raises(ValueError, match="columns was .* and is an object of type list that cannot be shown now"):
        model.partial_fit(X[:5], Y[:5])
    assert pickle.dumps(model.set_params(columns="auto")) == before
    with pytest.raises(ValueError, match="Invalid parameter 'estimators'"):
        model.set_params(estimators=[])
    with pytest.raises(ValueError, match="'focus_rows' parameter of NAGCellsRegressor must be None or an int"):
        NAGCellsRegressor(focus_rows=0).fit(X, Y)
    for first_rows in (-(2**70), np.array([1.0, 2.0])):  # refused before it is read
        with pytest.raises(ValueError, match="'first_rows' parameter of NAGCellsRegressor must be an int"):
            NAGCellsRegressor(first_rows=first_rows).fit(X, Y)
    for depth in ("deep", 10**6):
        with pytest.raises(ValueError, match="'depth' parameter of NAGCellsRegressor must be an int"):
            NAGCellsRegressor(depth=depth, half_life="auto").fit(X, Y)
    with pytest.raises(ValueError, match="'n_trees' parameter of OnlineCells .* must be an int"):
        NAGCellsRegressor(n_trees=0).fit(X, Y)


def test_a_failed_call_leaves_no_trace():
    rows, y = load_breast_cancer(return_X_y=True)
    model = NAGCellsClassifier(**SMALL).partial_fit(rows[:110], y[:110], classes=[0, 1])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="not one of classes"):
        model.partial_fit(np.zeros((2, 30)), [0, 2])
    with pytest.raises(ValueError, match="30 features"):
        model.partial_fit(np.zeros((2, 29)), [0, 1])
    assert pickle.dumps(model) == before


def test_merged_models_without_a_base_go_on(rng):
    rows = rng.integers(0, 3, size=(900, 1)).astype(float)  # for these, all shards have the same knots
    shards = [NAGCellsRegressor(**SMALL).partial_fit(rows[i::9], rows[i::9, 0]) for i in range(2)]
    merged = merge(shards)
    before = pickle.loads(pickle.dumps(merged))
    vars(before)["_again"] = 0.0  # as in models that were merged and saved by earlier versions
    for model in (merged, pickle.loads(pickle.dumps(before))):
        model.partial_fit(rows, rows[:, 0])
        assert type(model._again) is int
        assert model.t_ == 1098.0  # the first row of each shard is not judged


def test_a_base_that_has_learnt_nothing_is_none(rng):
    rows, nothing = rng.integers(0, 3, size=(120, 1)).astype(float), np.zeros(120)
    base = NAGCellsRegressor(**SMALL).partial_fit(rows, rows[:, 0], nothing)
    shards = [copy.deepcopy(base).partial_fit(rows[i::2], rows[i::2, 0]) for i in range(2)]
    assert merge(shards, base).predict(rows).tobytes() == merge(shards).predict(rows).tobytes()
    assert merge([base, shards[1]], base).predict(rows).tobytes() == shards[1].predict(rows).tobytes()
    with pytest.raises(ValueError, match=r"models\[1\] did not go on from base: it has not learnt a row"):
        merge([copy.deepcopy(shards[0]), base], shards[0])


def test_shards_that_began_with_the_same_knots_and_trees_are_merged():
    labels = (Y > np.median(Y)).astype(int)
    for kind, y in ((NAGCellsRegressor, Y), (NAGCellsClassifier, labels)):
        options = {} if kind is NAGCellsRegressor else {"classes": [0, 1]}
        base = kind(**SMALL).partial_fit(X[:100], y[:100], **options)
        shards = [copy.deepcopy(base).partial_fit(X[a::2], y[a::2]) for a in (100, 101)]
        model = merge(shards, base)
        assert model.t_ == 599.0
        np.testing.assert_allclose(model.progressive_loss_ * 599, sum(s._totals[-1] for s in shards) - base._totals[-1])
        for i, own in enumerate(model.estimators_):
            if hasattr(own[0], "knots_"):
                assert own[0].knots_[0].tobytes() == base.estimators_[i][0].knots_[0].tobytes()
            learners = [s.estimators_[i][-1] for s in shards]
            expected = merge(learners, base.estimators_[i][-1])
            np.testing.assert_array_equal(own[-1].coef_, expected.coef_)
        np.testing.assert_allclose(model.weights_.sum(), 1.0)
        np.testing.assert_allclose(model.weights_, merge(shards[::-1], base).weights_, rtol=1e-6)
        assert np.abs(model.weights_ - shards[0].weights_).max() > 0.01
        assert model.score(X, y) > base.score(X, y)
        model = pickle.loads(pickle.dumps(model))
        assert model.partial_fit(X, y).predict(X).shape == (600,)
        for alone in (merge([shards[0]]), merge([shards[0], base], base), merge([base, shards[0]], base)):
            assert alone.predict(X).tobytes() == shards[0].predict(X).tobytes()
        apart = kind(**SMALL).partial_fit(X[300:400], y[300:400], **options)
        for models in ([apart, apart], [apart, shards[0]], [shards[0], apart]):
            with pytest.raises(ValueError, match=r"models\[[01]\] did not go on from base"):
                merge(models, base)
    with pytest.raises(ValueError, match="models with other knots cannot be merged"):
        merge([kind(**SMALL).partial_fit(X[a::2], y[a::2], **options) for a in (0, 1)])
    with pytest.raises(ValueError, match="its second generation of cells joins"):
        merge([base, kind(**SMALL).partial_fit(X[:50], y[:50], **options)])
    with pytest.raises(ValueError, match="models.1. does not fit models.0.: depth is 3, there 4"):
        merge([base, kind(**{**SMALL, "depth": 3}).partial_fit(X[:50], y[:50], **options)])
    young = kind(**SMALL).partial_fit(X[:50], y[:50], **options)
    alone = copy.deepcopy(young).partial_fit(X[50:], y[50:])  # the only one that has learnt, with other experts
    idle = kind(**SMALL).partial_fit(X[:50], y[:50], **options, sample_weight=np.zeros(50))
    for models, start in (([young, alone], young), ([alone, young], young), ([idle, alone], None)):
        assert merge(models, start).predict(X).tobytes() == alone.predict(X).tobytes()
    with pytest.raises(TypeError, match="models.1. is a NAGCellsRegressor"):
        merge([base, NAGCellsRegressor(**SMALL).partial_fit(X, Y)])
    with pytest.raises(NotFittedError, match="models.1. is not fitted"):
        merge([base, kind(**SMALL)])


def test_a_second_generation_joins_what_shards_have_learnt_together():
    base = NAGCellsRegressor(**SMALL).partial_fit(X[:50], Y[:50])
    shards = [copy.deepcopy(base).partial_fit(X[a:b], Y[a:b]) for a, b in ((50, 90), (90, 130), (130, 190))]
    with pytest.raises(ValueError, match="its second generation of cells joins"):
        merge(shards, base)  # because one has a second generation
    shards[2] = copy.deepcopy(base).partial_fit(X[130:170], Y[130:170])
    merged = merge(shards, base)
    assert "focused" not in merged.named_estimators_
    merged = pickle.loads(pickle.dumps(merged))
    went_on = copy.deepcopy(merged).partial_fit(X[170:171], Y[170:171])
    assert list(went_on.named_estimators_) == [*BEFORE_CELLS, "cells", "focused"]
    assert went_on._early is None
    knots = OnlineCells(first_rows=170, n_trees=1, random_state=0).fit(X[:170]).knots_  # of the rows of all shards
    in_turn = merge(shards[::-1], base).partial_fit(X[170:171], Y[170:171])
    for model in (went_on, in_turn):
        for own, expected in zip(model.named_estimators_["focused"][0].knots_, knots):
            np.testing.assert_array_equal(own, expected)
    went_on.partial_fit(X[171:], Y[171:])
    assert went_on.predict(X).tobytes() == merged.partial_fit(X[170:], Y[170:]).predict(X).tobytes()


def test_a_second_generation_is_tried_again_after_a_flat_start():
    y = np.where(np.arange(600) < 210, 0.0, Y)
    flat = NAGCellsRegressor(**SMALL).partial_fit(X[:399], y[:399])
    assert list(flat.named_estimators_) == [*BEFORE_CELLS, "cells"]  # because both 100 and 200 rows were flat
    assert len(flat._early) == 100
    again = pickle.loads(pickle.dumps(flat))
    assert "focused" in flat.partial_fit(X[399:400], y[399:400]).named_estimators_
    knots = OnlineCells(first_rows=100, n_trees=1, random_state=0).fit(X[:100]).knots_
    for own, expected in zip(flat.named_estimators_["focused"][0].knots_, knots, strict=True):
        np.testing.assert_array_equal(own, expected)
    assert flat._early is None
    flat.partial_fit(X[400:], y[400:])
    for start, stop in ((399, 400), (400, 401), (401, 600)):
        again = pickle.loads(pickle.dumps(again.partial_fit(X[start:stop], y[start:stop])))
    assert flat.predict(X).tobytes() == again.predict(X).tobytes()
    cut_up = NAGCellsRegressor(**SMALL)
    for start, stop in ((0, 99), (99, 199), (199, 201), (201, 420), (420, 600)):
        cut_up = pickle.loads(pickle.dumps(cut_up.partial_fit(X[start:stop], y[start:stop])))
    assert flat.predict(X).tobytes() == cut_up.predict(X).tobytes()


def test_shards_that_began_flat_try_together():
    y = np.where(np.arange(600) < 130, 0.0, Y)
    base = NAGCellsRegressor(**SMALL).partial_fit(X[:120], y[:120])
    shards = [copy.deepcopy(base).partial_fit(X[a:b], y[a:b]) for a, b in ((120, 160), (160, 190))]
    for models in (shards, shards[::-1]):
        merged = merge(models, base)
        assert len(merged._early) == 100
        assert "focused" in merged.partial_fit(X[190:191], y[190:191]).named_estimators_


def test_a_model_saved_after_a_flat_start_by_a_version_that_did_not_try_again_stays_as_it_is():
    y = np.where(np.arange(600) < 110, 0.0, Y)
    state = copy.deepcopy(NAGCellsRegressor(**SMALL).partial_fit(X[:110], y[:110]).__getstate__())
    del state["_tried"]
    earlier = object.__new__(NAGCellsRegressor)
    earlier.__setstate__({**state, "_early": None})
    assert list(earlier.partial_fit(X[110:], y[110:]).named_estimators_) == [*BEFORE_CELLS, "cells"]


def test_what_cannot_be_cut_is_tried_once(monkeypatch):
    tried = []
    monkeypatch.setattr(OnlineCells, "_importance", lambda self, *args: tried.append(self))  # None: nothing to cut
    base = NAGCellsRegressor(**SMALL).partial_fit(X[:50], Y[:50])
    shards = [copy.deepcopy(base).partial_fit(X[a:b], Y[a:b]) for a, b in ((50, 90), (90, 130), (130, 170))]
    merged = merge(shards, base)
    for i in range(170, 180):
        merged.partial_fit(X[i : i + 1], Y[i : i + 1])
    assert len(tried) == 1
    assert list(merged.named_estimators_) == [*BEFORE_CELLS, "cells"]


def test_losses_and_weights_of_classes_are_those_of_all_learners():
    counts = np.random.default_rng(0).poisson(np.exp(Y / 10))
    model = NAGCellsRegressor(**SMALL, loss="poisson").partial_fit(X, counts)
    assert (model.predict(X) > 0).all()
    assert model.score(X, np.exp(Y / 10)) > 0.7
    assert {pipeline[-1].loss for pipeline in model.estimators_} == {"poisson"}
    assert get_tags(model).target_tags.positive_only
    model = NAGCellsRegressor(**SMALL, loss="huber").partial_fit(X[:140], Y[:140])
    assert model._begun_with["loss"] == "absolute_error"
    with pytest.raises(ValueError, match="The 'loss' parameter of NAGCellsRegressor must be one of 'squared_error'"):
        NAGCellsRegressor(**SMALL, loss="quantile").fit(X, Y)
    rows, rare = X[:200], (Y[:200] > np.quantile(Y, 0.9)).astype(int)
    plain, weighted = (NAGCellsClassifier(**SMALL, class_weight=w).fit(rows, rare) for w in (None, {0: 1.0, 1: 9.0}))
    assert plain.predict(rows).mean() < weighted.predict(rows).mean()
    with pytest.raises(AttributeError, match='half_life_ and half_lives_ need half_life="auto"'):
        assert plain.half_life_.size


@pytest.mark.parametrize("class_weight", [{0: 0.5, 1: 9.0}, {0: 0.0, 2: 3.0}, "balanced"])
def test_class_weights_are_weights_of_rows(class_weight):
    """Class weights are weights of rows in passes, shares and losses, too: bit by bit, however a stream is cut."""
    n = 150
    rows, y = X[:n], np.digitize(Y[:n], np.quantile(Y[:n], [0.5, 0.9]))
    weight = np.where(np.arange(n) % 50 < 3, 0.0, 1.0 + np.arange(n) % 3)
    classes = np.arange(3)
    make = partial(NAGCellsClassifier, **{**SMALL, "first_rows": 20, "focus_rows": 50})

    def learnt(model):
        return [model.predict_proba(rows).tobytes(), model.weights_.tobytes(), model.expert_losses_.tobytes(), model.t_]

    if class_weight == "balanced":
        counted = np.add.accumulate((y[:, None] == classes) * weight[:, None])
        so_far = counted.sum(axis=1) / np.maximum((counted > 0).sum(axis=1) * counted[np.arange(n), y], 1.0)
        by_hand = counted[-1].sum() / (3 * counted[-1])[y]
    else:
        so_far = by_hand = np.array([class_weight.get(k, 1.0) for k in classes])[y]
    fitted, expected = make(class_weight=class_weight).fit(rows, y, weight), make().fit(rows, y, by_hand * weight)
    assert learnt(fitted) == learnt(expected)
    assert fitted.validation_losses_.tobytes() == expected.validation_losses_.tobytes() != b""
    whole = make().partial_fit(rows, y, classes, so_far * weight)
    parts = make(class_weight=class_weight)
    for part in np.split(np.arange(n), [1, 2, 45, 100]):
        parts = pickle.loads(pickle.dumps(parts.partial_fit(rows[part], y[part], classes, weight[part])))
    assert learnt(parts) == learnt(whole)
    assert np.isfinite(whole.predict_proba(rows)).all()


def test_counts_of_classes_go_on_and_are_merged():
    y, make = np.arange(600) % 3 % 2, partial(NAGCellsClassifier, **SMALL, class_weight="balanced", max_iter=2)
    assert make().fit(X, y)._class_counts.tolist() == [400, 200]
    assert make().fit(X[:120], y[:120]).fit(X[:90], y[:90]).partial_fit(X[:30], y[:30])._class_counts.tolist() == [
        80,
        40,
    ]
    base = make().partial_fit(X[:540], y[:540], [0, 1])
    models = [copy.deepcopy(base).partial_fit(X[i : i + 30], y[i : i + 30]) for i in (540, 570)]
    merged = merge(models, base)
    assert merged._class_counts.tolist() == [400, 200]
    with pytest.raises(ValueError, match="y contains 7"):
        merged.partial_fit(X[:2], [0, 7])
    assert merged._class_counts.tolist() == [400, 200]
    merged._class_counts = np.array([1.0, np.nan])
    with pytest.raises(ValueError, match="it has no counts of its classes"):
        pickle.loads(pickle.dumps(merged))


def test_columns_are_checked():
    """Columns are checked, for example because someone may take the first parameter for the loss."""
    message = "The 'columns' parameter of NAGCellsRegressor must be a list of places, .* Got 'poisson'"
    for call in (NAGCellsRegressor("poisson").fit, NAGCellsRegressor("poisson").partial_fit):
        with pytest.raises(ValueError, match=message):
            call(X, Y)


def test_class_weights_are_checked():
    with pytest.raises(ValueError, match="'class_weight' parameter of NAGCellsClassifier .* a dict .* Got 'even'"):
        NAGCellsClassifier(**SMALL, class_weight="even").fit(X, Y > 15)
    with pytest.raises(ValueError, match="sample_weight or class_weight is zero for all rows"):
        NAGCellsClassifier(**SMALL, class_weight={False: 0, True: 0}).fit(X, Y > 15)


def test_learners_that_weigh_classes_themselves_go_on(monkeypatch):
    """In models saved by earlier versions, learners weigh classes, and are mixed by rows that count alike."""
    y, options = (Y > np.quantile(Y, 0.9)).astype(int), {"class_weight": "balanced", "focus_rows": None}
    with monkeypatch.context() as patched:
        patched.setattr(NAGCellsClassifier, "_learner", lambda self, _: NAGClassifier(class_weight=self.class_weight))
        model = NAGCellsClassifier(**{**SMALL, **options}).partial_fit(X[:300], y[:300], [0, 1])
    model = pickle.loads(pickle.dumps(model)).partial_fit(X[300:], y[300:])
    expected = NAGCellsClassifier(**{**SMALL, **options}).partial_fit(X, y, [0, 1])
    for own, other in zip(model.estimators_, expected.estimators_, strict=True):
        assert own.predict_proba(X).tobytes() == other.predict_proba(X).tobytes()
    assert model.t_ == 599.0 != expected.t_


def test_intervals_are_of_the_errors_of_the_mixture():
    model = NAGCellsRegressor(**SMALL)
    played = model._play(X[:400], Y[:400])[:, 0]
    low, high = model.predict_interval(X, 0.8).T
    np.testing.assert_allclose((low + high) / 2, model.predict(X))
    errors = np.abs(played - Y[:400])[1:]
    width = (high - low)[0] / 2
    assert np.quantile(errors, 0.5) < width < np.quantile(errors, 0.95)
    parts = NAGCellsRegressor(**SMALL).partial_fit(X[:150], Y[:150])
    parts = pickle.loads(pickle.dumps(parts)).partial_fit(X[150:400], Y[150:400])
    assert parts.predict_interval(X, [0.5, 0.8]).tobytes() == model.predict_interval(X, [0.5, 0.8]).tobytes()
    base = copy.deepcopy(parts)
    shards = [copy.deepcopy(base).partial_fit(X[a::2], Y[a::2]) for a in (400, 401)]
    whole = merge(shards, base)
    assert np.isfinite(whole.predict_interval(X)).all()
    assert whole._evidence.rows == sum(shard._evidence.rows for shard in shards) - base._evidence.rows
    earlier = copy.deepcopy(base.__getstate__())
    del earlier["_evidence"]
    loaded = object.__new__(NAGCellsRegressor)
    loaded.__setstate__(earlier)
    with pytest.raises(ValueError, match="has no record of its errors"):
        loaded.predict_interval(X)
    assert np.isfinite(loaded.partial_fit(X, Y).predict_interval(X)).all()


@pytest.mark.parametrize("name", ["steps", "memory", "verbose"])
def test_a_damaged_pipeline_is_refused(name, rng):
    X = rng.normal(size=(12, 3))
    model = NAGCellsRegressor(first_rows=7, n_trees=8, random_state=0).partial_fit(X, X[:, 0])
    del vars(model._experts[-1].estimator)[name]
    with pytest.raises(ValueError, match="'cells' is a pipeline without steps, memory or verbose"):
        pickle.loads(pickle.dumps(model))


def test_skops_keeps_models():
    skops = pytest.importorskip("skops.io")
    model = NAGCellsRegressor(**{**SMALL, "n_trees": 3}).partial_fit(X[:110], Y[:110])
    assert list(model.named_estimators_) == [*BEFORE_CELLS, "cells", "focused"]
    loaded = skops.loads(skops.dumps(model), trusted=trusted_types())
    expected = model.partial_fit(X[110:150], Y[110:150]).predict(X)
    assert loaded.partial_fit(X[110:150], Y[110:150]).predict(X).tobytes() == expected.tobytes()


@pytest.mark.parametrize("kernel", KERNELS)
def test_rounding_decides_nothing_before_there_are_curves_and_cells(kernel):
    """Until there are curves and cells, their learners are still lines, and forecast the same."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(300, 4))
    y = rows[:, 0] + 0.3 * rng.normal(size=300)
    units = [3.0, 1.0, 1.0, 1.0]
    with sklearn_nag.config_context(kernel=kernel):
        one, other = (NAGCellsRegressor(random_state=0).partial_fit(rows * by, y) for by in (1.0, units))
        shares = dict(zip(one.named_estimators_, one.weights_))
        np.testing.assert_allclose([shares["curves"], shares["cells"]], shares["lines"], rtol=1e-9)
        np.testing.assert_allclose(other.weights_, one.weights_, rtol=1e-9)
        np.testing.assert_allclose(one.predict(rows), other.predict(rows * units), rtol=1e-9, atol=1e-9)


def test_fit_finds_out_how_many_passes_help():
    rng = np.random.default_rng(0)
    Z = rng.uniform(-1, 1, size=(1200, 4))
    smooth, noise = np.sin(4 * Z[:, 0]) * Z[:, 1], rng.normal(size=1200)
    scores, make = {}, partial(NAGCellsRegressor, n_trees=60, random_state=0)
    for max_iter in (1, "auto"):
        model = make(max_iter=max_iter).fit(Z[:900], smooth[:900])
        scores[max_iter] = model.score(Z[900:], smooth[900:])
    assert 1 < model.n_iter_ <= 8
    lost = model.validation_losses_
    assert len(lost) >= model.n_iter_
    assert lost[model.n_iter_ - 1] < lost[0]
    assert scores["auto"] > scores[1] + 0.005
    again = make(max_iter=int(model.n_iter_)).fit(Z[:900], smooth[:900])
    assert len(again.validation_losses_) == 0
    assert again.score(Z[900:], smooth[900:]) == pytest.approx(scores["auto"], abs=0.05)  # rows are in another order
    assert make().fit(Z, noise).score(Z[:50], rng.normal(size=50)) > -0.2
    weight = np.where(np.arange(1200) < 900, 1.0, 0.0)
    assert make().fit(Z, smooth, weight).predict(Z).tobytes() == model.predict(Z).tobytes()
    assert make().fit(Z[:39], smooth[:39]).n_iter_ == 1
    many = np.repeat(np.arange(75), 4)  # no class has rows to spare
    assert NAGCellsClassifier(n_trees=10, random_state=0).fit(Z[:300], many).n_iter_ >= 1
    labels = np.array(["a", "b", "c"])[np.digitize(smooth, [-0.2, 0.9])]  # the last class is rare
    assert NAGCellsClassifier(n_trees=60, random_state=0).fit(Z, labels).score(Z, labels) > 0.9
    for sizes in ([1.0, 1.0], [1e200, 1.0], [1.0, 1e-200]):  # losses are in units of each output
        both = np.column_stack([smooth, noise])[:300] * sizes
        model = make().fit(Z[:300], both)
        assert (0.02 < model.validation_losses_).all()
        assert (model.validation_losses_ < 0.2).all()
    with pytest.raises(ValueError, match="'max_iter' parameter of NAGCellsRegressor must be 'auto' or an int"):
        NAGCellsRegressor(max_iter="all").fit(Z, smooth)


def test_passes_are_searched_for_within_bounds(monkeypatch):
    """The number of passes is bounded by the visits of rows allowed. The search ends after three without gain."""
    monkeypatch.setattr("sklearn_nag.ensemble._cells._MOST_VISITS", 250)
    make = partial(NAGCellsRegressor, n_trees=4, depth=2, focus_rows=None, random_state=0)
    for n, most in ((126, 1), (125, 2), (83, 3)):
        model = make().fit(X[:n], Y[:n])
        assert len(model.validation_losses_) == (most if most > 1 else 0)
        assert 1 <= model.n_iter_ <= most
    monkeypatch.undo()
    noise = np.random.default_rng(0).normal(size=100)
    model = make().fit(X[:100], noise)
    assert model.n_iter_ == 1 + np.argmin(model.validation_losses_)
    assert len(model.validation_losses_) == model.n_iter_ + 3 < 8


@pytest.mark.parametrize("can_spare", [True, False])
def test_rows_of_each_class_are_held_out_or_of_all_where_none_has_rows_to_spare(can_spare, monkeypatch):
    held_out, groups = sklearn_nag.ensemble._cells.are_held_out, []

    def are_held_out(codes, share):
        groups.append(codes.tolist())
        return held_out(codes, share) & (can_spare or not codes.any())

    monkeypatch.setattr("sklearn_nag.ensemble._cells.are_held_out", are_held_out)
    options, labels, none = {"n_trees": 2, "depth": 2, "focus_rows": None}, np.arange(40) % 20 % 3, [0] * 40
    assert len(NAGCellsClassifier(**options).fit(X[:40], labels).validation_losses_) > 0
    assert groups == [labels.tolist(), none][: 2 - can_spare]
    groups.clear()
    NAGCellsRegressor(**options).fit(X[:40], Y[:40])
    assert groups == [none]


def test_rows_of_later_passes_are_no_further_rows():
    """Generations of cells join by the number of rows, not of passes, after ``fit`` as in a stream."""
    Z = np.random.default_rng(0).uniform(-1, 1, size=(700, 3))
    y = np.sign(Z[:, 0] * Z[:, 1])
    model = NAGCellsRegressor(**{**SMALL, "max_iter": 8}).fit(Z[:60], y[:60])
    assert list(model.named_estimators_) == [*BEFORE_CELLS, "cells"]
    model = pickle.loads(pickle.dumps(model)).partial_fit(Z[60:100], y[60:100])
    assert list(model.named_estimators_) == [*BEFORE_CELLS, "cells", "focused"]
    assert "refocused" in model.partial_fit(Z[100:500], y[100:500]).named_estimators_
    again = NAGCellsRegressor(**{**SMALL, "max_iter": 8}).fit(Z[:60], y[:60])
    shards = [copy.deepcopy(again).partial_fit(Z[i:90:2], y[i:90:2]) for i in (60, 61)]
    assert merge(shards, again)._n_new == 90
    assert len(NAGCellsRegressor(**SMALL).partial_fit(Z[:9], y[:9]).validation_losses_) == 0


def test_progress_is_that_of_the_model():
    seen = []
    model = NAGCellsRegressor(**{**SMALL, "max_iter": "auto"})
    with sklearn_nag.report_progress(lambda now: seen.append((now.estimator is model, now.rows)), every=50):
        model.fit(X[:100], Y[:100])
    assert all(own for own, _ in seen)
    assert [rows for _, rows in seen] == sorted(rows for _, rows in seen)
    assert seen[-1][1] == 100 * model.n_iter_


def test_fit_has_knots_from_the_first_row_on():
    rows, y = X[:150], Y[:150]
    fitted = NAGCellsRegressor(n_trees=20, random_state=0).fit(rows, y)
    assert np.array_equal(fitted.named_estimators_["cells"][0].knots_[0][[0, -1]], [rows[:, 0].min(), rows[:, 0].max()])
    assert np.abs(fitted.named_estimators_["cells"][-1].coef_[rows.shape[1] :]).max() > 0
    in_order = NAGCellsRegressor(first_rows=50, shuffle=False, n_trees=20, random_state=0).fit(rows, y)
    expected = OnlineCells(first_rows=50).fit(rows[::3]).knots_
    for ours, theirs in zip(in_order.named_estimators_["cells"][0].knots_, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_what_is_saved_within_fit_is_a_model_of_the_rows_so_far():
    saved, rows, y = [], X[:240], Y[:240]
    model = NAGCellsRegressor(**SMALL, max_iter=1, shuffle=False)

    def save(now):
        saved.append((now.rows, pickle.dumps(model)))

    with sklearn_nag.report_progress(save, every=20):
        model.fit(rows, y)
    assert {40, 100, 140} <= {n for n, _ in saved}
    for n, written in saved:
        half = pickle.loads(written)
        assert (0 if half._early is None else len(half._early)) == (n if n < 100 else 0)
        half = half.partial_fit(rows[n:], y[n:]) if n < 240 else half
        assert half.predict(rows).tobytes() == model.predict(rows).tobytes()


@pytest.mark.parametrize("kind", [NAGCellsClassifier, NAGCellsRegressor])
def test_a_first_row_of_weight_0_may_have_any_number_of_columns(kind):
    options = {"classes": [0, 1]} if kind is NAGCellsClassifier else {}
    rows, y = np.random.default_rng(0).normal(size=(5, 91)), np.array([0, 1, 0, 1, 1])
    model = kind(**SMALL).partial_fit(rows[:1], y[:1], sample_weight=[0.0], **options)
    assert model.n_features_in_ == 91
    model = pickle.loads(pickle.dumps(model)).partial_fit(rows, y)
    np.testing.assert_array_equal(model.predict(rows), kind(**SMALL).partial_fit(rows, y, **options).predict(rows))


def test_classes_are_those_of_all_learners():
    model = NAGCellsClassifier(**SMALL).partial_fit(X[:50], np.arange(50) % 3, classes=[0, 1, 2])
    state = model.__getstate__() | {"classes_": np.array([0, 1])}
    with pytest.raises(ValueError, match="'lines' has learnt other classes"):
        NAGCellsClassifier().__setstate__(state)


def test_errors_about_targets_and_classes_are_those_of_learners():
    counts = np.where(np.arange(len(Y)) == 250, -1.0, np.ceil(np.abs(Y)))
    for call in (
        NAGCellsRegressor(**SMALL, loss="poisson").fit,
        NAGCellsRegressor(**SMALL, loss="poisson").partial_fit,
    ):
        with pytest.raises(ValueError, match="not be negative; y is -1.0 in row 250"):
            call(X, counts)
    with pytest.raises(ValueError, match="class_weight is zero for all rows"):
        NAGCellsClassifier(**SMALL, class_weight={False: 0, True: 0}).fit(X[:60], Y[:60] > 14)
