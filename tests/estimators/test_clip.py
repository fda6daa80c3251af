"""Every regressor keeps predictions within a range, while it learns and afterwards."""

import copy
import itertools
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from sklearn_nag import (
    ClippingWarning,
    FTRLRegressor,
    HedgeRegressor,
    NAGRegressor,
    ScaleInvariantRegressor,
    config_context,
    losses,
    merge,
)
from sklearn_nag.model_selection import NAGRegressorCV, progressive_validation

from ..kernels.helpers import KERNELS, on_both
from .helpers import bits

LEARNERS = {
    "snag": NAGRegressor(),
    "auto": NAGRegressor(eta0="auto"),
    "nag": NAGRegressor(normalization="max", importance_aware=False),
    "l1": NAGRegressor(penalty="l1"),
    "proximal": FTRLRegressor(),
    "l2": FTRLRegressor(regularizer="l2"),
    "entropy": FTRLRegressor(regularizer="entropy"),
    "scinol2": ScaleInvariantRegressor(),
    "potential": ScaleInvariantRegressor(update="potential"),
    "full": ScaleInvariantRegressor(invariance="full", update="potential"),
    "least squares": ScaleInvariantRegressor(invariance="full"),
}
MERGEABLE = [name for name in LEARNERS if name not in ("proximal", "l2", "entropy", "least squares")]


def make(name, **options):
    return copy.deepcopy(LEARNERS[name]).set_params(**options)


def data(rng, n=250, outlying=True):
    X = rng.normal(size=(n, 4)) * [1.0, 1e3, 1e-2, 1.0]
    y = X @ [1.0, 1e-3, 200.0, 0.0] + 7.0 + 0.3 * rng.normal(size=n)
    if outlying:
        X[[60, 130, 200]] *= 300.0
    return X, y


def played(model, X, y):
    return model._play(X, y)[:, 0]


def growth_and_margin(y, weight=None):
    """The growth of the targets, and the margin for it.

    The growth is the least-squares slope of the targets over time, times all of the time. Each target fills a time as
    long as its weight, and stands at the middle of it. The margin is 2.5 times the excess of the growth over 1.5 times
    its standard error.
    """
    weight = np.ones(len(y)) if weight is None else weight
    t = np.cumsum(weight)
    time = (t - weight / 2.0 - t[-1] / 2.0)[:, None] / t[-1]
    apart = y - np.average(y, axis=0, weights=weight)
    growth = np.average(time * apart, axis=0, weights=weight) * 12.0
    left = np.average(apart**2, axis=0, weights=weight) - growth**2 / 12.0
    return growth, 2.5 * np.maximum(np.abs(growth) - 1.5 * np.sqrt(12.0 * np.maximum(left, 0.0) / t[-1]), 0.0)


def ranges(y, has_margin=True):
    """The bounds on the prediction of each row but the first, by the targets before it."""
    y = y[:, None]
    low, high = (end.accumulate(y)[:-1] for end in (np.minimum, np.maximum))
    growth, margin = np.transpose([growth_and_margin(y[:n]) for n in range(1, len(y))], (1, 0, 2)) * has_margin
    return (low - margin * (growth < 0))[:, 0], (high + margin * (growth > 0))[:, 0]


@pytest.mark.parametrize(
    ("name", "target_normalization", "kernel"), on_both(itertools.product(LEARNERS, ["standard", None]), 2)
)
def test_predictions_stay_within_the_range(rng, name, target_normalization, kernel):
    X, y = (rows[:100] for rows in data(rng))
    far = 1e4 * np.vstack([X, -X])
    with config_context(kernel=kernel):
        for container in (np.asarray, sparse.csr_array)[: 1 if name in ("full", "least squares") else 2]:
            model = make(name, clip="targets", target_normalization=target_normalization)
            p = played(model, container(X), y)
            slack = 1e-12 * np.abs(y).max()
            low, high = ranges(np.append(y, 0.0), target_normalization is not None)
            assert (p[1:] >= low[:-1] - slack).all()
            assert (p[1:] <= high[:-1] + slack).all()
            p = model.predict(container(far))
            assert (p.min(), p.max()) == pytest.approx((low[-1], high[-1]))
            model = make(name, clip=(5.0, 8.0), target_normalization=target_normalization)
            for p in (played(model, container(X), y), model.predict(container(far))):
                assert p.min() >= 5.0 - 1e-12
                assert p.max() <= 8.0 + 1e-12
            assert np.unique(p).size > 1


@pytest.mark.parametrize("name", LEARNERS)
def test_a_range_that_is_never_left_changes_nothing(rng, name):
    X, y = data(rng, outlying=False)
    free, wide = make(name, clip=None), make(name, clip=(-1e9, 1e9))
    if name == "auto":
        free.set_params(clip=(-1e99, 1e99))  # with clip=None, experts are clipped anyway
    p = free.partial_fit(X, y).predict(X)
    assert np.array_equal(wide.partial_fit(X, y).predict(X), p)
    assert np.array_equal(wide.coef_, free.coef_)


@pytest.mark.parametrize("name", ["snag", "auto", "proximal", "scinol2", "least squares"])
def test_outlying_rows_do_less_harm(rng, name):
    X, y = data(rng, n=2000, outlying=False)
    learnt, met = X[:1000].copy(), X[1000:].copy()
    met[::200] *= 1e3
    score = {
        clip: make(name, clip=clip).partial_fit(learnt, y[:1000]).score(met, y[1000:]) for clip in (None, "targets")
    }
    assert score[None] < -100.0
    assert score["targets"] > 0.9


@pytest.mark.parametrize(
    ("name", "kernel"), on_both(itertools.product(["snag", "auto", "nag", "proximal", "scinol2"]), 2)
)
def test_a_prediction_above_the_largest_target_so_far_is_called_too_high(rng, name, kernel):
    X = rng.uniform(1.0, 2.0, size=(200, 1))
    with config_context(kernel=kernel):
        model = make(name, target_normalization=None, fit_intercept=False).partial_fit(X, 3.0 * X[:, 0])
        before = model.coef_[0]
        model.partial_fit([[3.0]], [7.0])
    assert 2.0 < model.coef_[0] < before


def test_trends_go_on_where_rows_came_in_the_order_of_time():
    X, y = np.arange(2000.0)[:, None], 3.0 * np.arange(2000.0) + 1.0
    free, clipped = (make("least squares", clip=clip).partial_fit(X[:1000], y[:1000]) for clip in (None, "targets"))
    assert np.array_equal(free.coef_, clipped.coef_)
    np.testing.assert_allclose(clipped.predict(X), y, rtol=1e-9)
    assert clipped.predict([[1e9]]) == pytest.approx(3.5 * y[999], rel=0.01)
    assert clipped.predict([[-1e9]]) == y[0]
    falling = make("least squares").partial_fit(X[:1000], -y[:1000])
    assert falling.predict([[1e9], [-1e9]]) == pytest.approx([-clipped.predict([[1e9]])[0], -y[0]])
    assert NAGRegressor().clip == ScaleInvariantRegressor().clip == FTRLRegressor().clip == "targets"


def test_no_trend_is_seen_whose_rows_came_in_no_order(rng):
    X, y = np.arange(2000.0)[:, None], 3.0 * np.arange(2000.0) + 1.0
    order = rng.permutation(1000)
    with pytest.warns(ClippingWarning, match=r"\d+ of 2000 predictions of this \w+Regressor .* range, 1 to [23]\d\d\d"):
        p = make("least squares").partial_fit(X[order], y[order]).predict(X + 500.0)
    assert p.max() < 1.2 * y[999]


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_margin_is_that_of_the_line_through_the_targets(rng, kernel):
    X, weight = rng.normal(size=(90, 2)), rng.uniform(0.1, 3.0, 90)
    y = np.column_stack([0.3 * np.arange(90), -0.1 * np.arange(90)]) + rng.normal(size=(90, 2))
    with config_context(kernel=kernel):
        model = make("snag").partial_fit(X, y, weight)
    growth, margin = growth_and_margin(y, weight)
    np.testing.assert_allclose(model._state.targets.growth, growth, rtol=1e-9)
    low, high = model._state.clip_range()
    np.testing.assert_allclose(low, [y[:, 0].min(), y[:, 1].min() - margin[1]], rtol=1e-9)
    np.testing.assert_allclose(high, [y[:, 0].max() + margin[0], y[:, 1].max()], rtol=1e-9)


@pytest.mark.parametrize("name", ["snag", "least squares"])
def test_fit_takes_growth_from_the_order_it_was_given(rng, name):
    X, y = data(rng, outlying=False)
    y = y + np.linspace(0.0, 30.0, 250)
    once = make(name).partial_fit(X, y)._state.clip_range()
    for options in ({"shuffle": True}, {"shuffle": False}, {"shuffle": True, "max_iter": 1}):
        model = make(name, random_state=0, **options).fit(X, y)
        np.testing.assert_allclose(model._state.clip_range(), once, rtol=1e-7)
    mixed = make(name, random_state=0).fit(*(a[rng.permutation(250)] for a in (X, y)))
    assert mixed._state.clip_range()[1] < once[1] - 20.0


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_rates_have_the_same_margin(rng, loss):
    X, y = rng.normal(size=(80, 2)), rng.uniform(0.5, 1.0, 80) * np.linspace(1.0, 9.0, 80)
    margin = growth_and_margin(y[:, None])[1][0]
    for kernel in ("numpy", "auto"):
        with config_context(kernel=kernel):
            for model in (NAGRegressor(loss=loss).partial_fit(X, y), NAGRegressor(loss=loss, random_state=0).fit(X, y)):
                low, high = np.exp(np.ravel(model._state.clip_range()))
                assert low == pytest.approx(y.min())
                assert high == pytest.approx(y.max() + margin)
    falling = NAGRegressor(loss=loss).partial_fit(X, y[::-1])
    assert falling._state.clip_range()[0] == losses.ZERO  # because it would be below 0
    assert falling.predict(1e9 * X).min() == 0.0


def test_what_is_played_of_growing_targets_is_what_predict_returns(rng):
    X = np.column_stack([np.arange(60.0), rng.normal(size=60)])
    y = 2.0 * X[:, 0] + rng.normal(size=60)
    kinds = [("snag", {}), ("auto", {}), ("snag", {"half_life": 10.0}), ("proximal", {})]
    cases = [(*kind, loss, "numpy") for kind in kinds for loss in ("squared_error", "poisson")]
    for name, options, loss, kernel in [*cases, ("snag", {}, "squared_error", "auto")]:
        with config_context(kernel=kernel):
            whole = make(name, loss=loss, **options)
            p, model = played(whole, X, np.abs(y)), make(name, loss=loss, **options)
            for i in range(60):
                held = model._state.clip_range() if i else None
                assert played(model, X[i : i + 1], np.abs(y[i : i + 1]))[0] == p[i]
                if held is not None:
                    assert held[0][0] - 1e-9 <= p[i] <= held[1][0] + 1e-9


def test_a_model_of_before_clips_as_it_did(rng):
    X, y = data(rng)
    state = make("snag").partial_fit(X, y + np.arange(250.0))._state
    old = {"table": state.targets.table[:-1], "lift": state.targets.lift}
    state.targets.__setstate__(old)
    y = y + np.arange(250.0)
    np.testing.assert_allclose(np.ravel(state.clip_range()), [y.min(), y.max()], rtol=1e-15)


@settings(max_examples=30, deadline=None)
@given(cuts=st.sets(st.integers(1, 149)), name=st.sampled_from(sorted(LEARNERS)), data_=st.data())
def test_cuts_and_pickles_change_no_bit(cuts, name, data_):
    X, y = (rows[:150] for rows in data(np.random.default_rng(3)))
    options = {"clip": data_.draw(st.sampled_from(["targets", (6.0, 8.0)]))}
    options["target_normalization"] = data_.draw(st.sampled_from(["standard", None]))
    whole = make(name, **options).partial_fit(X, y)
    model = make(name, **options)
    for rows in np.split(np.arange(150), sorted(cuts)):
        model = pickle.loads(pickle.dumps(model.partial_fit(X[rows], y[rows])))
    assert np.array_equal(bits(model), bits(whole))
    assert np.array_equal(model.predict(X), whole.predict(X))


@pytest.mark.parametrize("name", LEARNERS)
def test_the_unit_and_the_origin_of_the_target_do_not_matter(rng, name):
    X, y = data(rng)
    p = make(name, clip="targets").partial_fit(X, y).predict(X)
    for a, c in [(-3.0, 5.0), (1e-20, 0.0), (2.0**300, 0.0), (1e40, -1e43)]:
        q = make(name, clip="targets").partial_fit(X, a * y + c).predict(X)
        np.testing.assert_allclose((q - c) / a, p, rtol=1e-6, atol=1e-6 * np.abs(p).max())
    q = make(name, clip=(11.0, 17.0)).partial_fit(X, 2.0 * y + 1.0).predict(X)
    p = make(name, clip=(5.0, 8.0)).partial_fit(X, y).predict(X)
    np.testing.assert_allclose((q - 1.0) / 2.0, p, rtol=1e-6)


@pytest.mark.parametrize("name", ["snag", "scinol2", "proximal", "least squares"])
def test_targets_at_the_end_of_the_range_of_doubles(rng, name):
    X, y = data(rng)
    y[100:] *= 1e306
    for clip in ("targets", (-1.7e308, 1.7e308), (-1.0, 1.0)):
        model = make(name, clip=clip).partial_fit(X, y)
        p = model.predict(X)
        assert np.isfinite(p).all()
        low, high = (y.min(), y.max()) if clip == "targets" else clip
        assert p.min() >= low * (1 - 1e-12 * np.sign(low))
        assert p.max() <= high * (1 + 1e-12 * np.sign(high))


@pytest.mark.parametrize("target_normalization", ["standard", None])
@pytest.mark.parametrize("name", MERGEABLE)
def test_a_merged_model_knows_the_range_of_all(rng, name, target_normalization):
    X, y = data(rng)
    order = np.argsort(y)  # so that the ranges differ
    models = [
        make(name, clip="targets", target_normalization=target_normalization).partial_fit(X[rows], y[rows])
        for rows in np.array_split(order, 3)
    ]
    growth = np.mean([growth_and_margin(y[rows][:, None])[0] for rows in np.array_split(order, 3)])
    margin = 2.5 * (growth - 1.5 * np.sqrt((12.0 * np.var(y) - growth**2) / 250.0)) if target_normalization else 0.0
    p = merge(models).predict(1e5 * np.vstack([X, -X]))
    assert p.min() == pytest.approx(y.min())
    assert p.max() == pytest.approx(y.max() + margin, rel=1e-3)  # because parts have 84, 83 and 83 rows


def test_rows_of_weight_0_widen_nothing(rng):
    X, y = data(rng, outlying=False)
    weight = np.ones(250)
    weight[100], y[100] = 0.0, 1e6
    model = make("snag", clip="targets")
    p = model._play(1e3 * X, y, weight)
    assert p.max() < 100.0
    assert np.array_equal(model.predict(X), make("snag", clip="targets").partial_fit(1e3 * X, y, weight).predict(X))
    assert model.predict(1e9 * X).max() < 100.0


def test_other_tools_clip_as_well(rng):
    X, y = data(rng)
    clipped = make("snag", clip=(5.0, 8.0))
    result = progressive_validation(clipped, X, y, scoring="neg_mean_squared_error")
    by_hand = np.mean((played(make("snag", clip=(5.0, 8.0)), X, y)[1:] - y[1:]) ** 2)
    assert -result.score == pytest.approx(by_hand)
    mixed = HedgeRegressor([("a", make("snag", clip=(5.0, 8.0))), ("b", make("proximal", clip=(5.0, 8.0)))])
    p = mixed.fit(X, y).predict(1e3 * X)
    assert p.min() >= 5.0 - 1e-12
    assert p.max() <= 8.0 + 1e-12


@pytest.mark.parametrize(
    "clip", ["range", (1.0, 1.0), (2.0, 1.0), (np.inf, np.inf), (0.0, np.nan), (1.0,), np.eye(2), ("a", "b")]
)
@pytest.mark.parametrize("name", ["snag", "proximal", "scinol2"])
def test_a_range_that_is_none(name, clip):
    with pytest.raises(ValueError, match=r"'clip' parameter of \w+Regressor must be None, 'targets' or two numbers"):
        make(name, clip=clip).fit([[1.0], [2.0]], [1.0, 2.0])


@pytest.mark.parametrize("name", ["snag", "auto", "proximal", "scinol2", "least squares"])
def test_one_end_may_be_infinite_and_pairs_may_be_arrays(rng, name):
    X, y = data(rng)
    y = np.maximum(np.round(y), 0.0)
    wide = make(name, clip=(0.0, np.finfo(float).max)).partial_fit(X, y)
    for clip in ((0, np.inf), [0.0, np.inf], np.array([0.0, np.inf])):
        model = make(name, clip=clip)
        p = played(model, X, y)
        assert p.min() == 0.0
        assert np.isfinite(p).all()
        model = pickle.loads(pickle.dumps(clone(model).partial_fit(X, y)))
        q = model.partial_fit(X, y).predict(X)
        assert np.array_equal(q, copy.deepcopy(wide).partial_fit(X, y).predict(X))
        interval = model.predict_interval(X, [0.9, 0.9999])
        assert interval.min() == 0.0
        assert not np.isnan(interval).any()
        assert (model.to_sklearn().predict(-1e6 * X) >= 0.0).all()
    above = make(name, clip=(-np.inf, 3.0)).partial_fit(X, -y)
    assert above.predict(1e5 * X).max() == 3.0
    assert above.predict(1e5 * X).min() < -1e4


def test_infinite_ends_of_rates_sweeps_and_mixtures(rng):
    X, y = data(rng)
    y = np.maximum(np.round(y), 0.0)
    p = NAGRegressor(loss="poisson", clip=(0.5, np.inf)).partial_fit(X, y).predict(1e3 * X)
    assert p.min() == pytest.approx(0.5)
    assert p.max() > 1e6
    assert np.isfinite(p).all()
    swept = NAGRegressorCV(NAGRegressor(clip=[0.0, np.inf]), eta0s=[0.1, 1.0], cv=2).fit(X, y)
    mixed = HedgeRegressor([(name, make(name, clip=(0.0, np.inf))) for name in ("snag", "proximal")]).fit(X, y)
    parts = (make("snag", clip=np.array([0.0, np.inf])).partial_fit(X[k::2], y[k::2]) for k in (0, 1))
    merged = merge(list(parts))
    for model in (swept, mixed, merged):
        p = model.predict(1e5 * X)
        assert np.isfinite(p).all()
        assert (p.min(), p.max() > 1.9 * y.max()) == (0.0, True)  # a mixture keeps what it is told within such a range


def test_a_few_predictions_at_the_ends_are_no_reason_to_warn(rng):
    X, y = data(rng, n=400, outlying=False)
    model = make("snag").partial_fit(X, y)
    bounded = make("snag").partial_fit(X, (y > 7.0).astype(float))  # its predictions go a little beyond 0 and 1
    outlying = X.copy()
    outlying[:40] *= 1e3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows in (X, outlying, *1e3 * X[:20, None]):
            model.predict(rows)
        bounded.predict(X)
        make("snag", clip=(5.0, 8.0)).partial_fit(X, y).predict(1e3 * X)
        outlying[:150] = 1e3 * X[:150]
        with pytest.raises(ClippingWarning, match="far beyond"):
            model.predict(outlying)


def test_a_range_may_change_where_it_is_known(rng):
    X, y = data(rng)
    model = make("snag", clip=None).partial_fit(X, y).set_params(clip="targets").partial_fit(X, y)
    assert model.predict(1e9 * X).max() == pytest.approx(ranges(np.tile(y, 2))[1][-1], rel=1e-2)
    model = (
        make("snag", target_normalization=None, clip=None)
        .partial_fit(X, y)
        .set_params(clip=(0.0, 1.0))
        .partial_fit(X, y)
    )
    assert model.predict(X).max() <= 1.0
    with pytest.raises(ValueError, match=r"clip was None when this model was new and is 'targets' now"):
        make("snag", target_normalization=None, clip=None).partial_fit(X, y).set_params(clip="targets").partial_fit(
            X, y
        )


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("clip", [None, (20.0, 30.0)])
@pytest.mark.parametrize("name", LEARNERS)
def test_the_first_row_has_a_loss_where_something_is_predicted_of_it(name, clip, kernel):
    y = np.array([1e3, -1e3])
    held = (lambda p: np.clip(p, *clip)) if isinstance(clip, tuple) else lambda p: p
    for container in (np.array, sparse.csr_array)[: 1 if name in ("full", "least squares") else 2]:
        X = container([[1.0], [2.0]])
        with config_context(kernel=kernel):
            model = make(name, loss="absolute_error", clip=clip)
            assert clone(model).partial_fit(X[:1], y[:1]).progressive_loss_ == 0.0
            assert clone(model).partial_fit(X[:1], np.stack([y, y], axis=1)[:1]).progressive_loss_ == 0.0
            assert played(clone(model), X, y)[0] == held(0.0)
            for half_life in (None, 5.0, "auto") if name == "snag" else (None,):
                other = make(name, loss="absolute_error", clip=clip, half_life=half_life, fit_intercept=False)
                found = other.partial_fit(X[:1], y[:1]).progressive_loss_
                assert found == pytest.approx(abs(held(0.0) - 1e3), rel=1e-12)
