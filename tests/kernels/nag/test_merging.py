"""How much models of the NAG family count in an average, and how shards go on from it, against plain loops."""

import copy
from functools import partial

import numpy as np
import pytest

from sklearn_nag import NAGClassifier, NAGRegressor, kernels

PLAIN = {"normalization": "max", "centering": False, "importance_aware": False}
OPTIONS = [{}, {"normalization": "max"}, {"adaptive": False}, {"centering": False}, {"penalty": "l2"}]


def rows(rng, n=300, d=4):
    X = rng.normal(size=(n, d)) * 10.0 ** np.arange(-2, d - 2)
    X[:, 3] *= rng.random(n) < 0.02  # a column that few rows name
    return X, (X[:, 0] / 1e-2 + rng.logistic(size=n) > 0).astype(int)


def squared_gradients(state):
    """Return ``G`` of raw features, without the tiny number that stands for none."""
    columns = state.columns
    G = np.where(columns.G > 1e-300, columns.G, 0.0)
    return (np.sqrt(G) / columns.lift / state.gradient_lift[:, None]) ** 2


@pytest.mark.parametrize("power", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("average", [False, True, 100])
@pytest.mark.parametrize("with_base", [False, True])
def test_shares(power, average, with_base, rng):
    """Raw weights, last and averaged, count in each column by rows (clocks) times a power of the growth of ``G``.

    With ``average=100``, only one of the models has begun to average.
    """
    X, y = rows(rng)
    X[20:150, 3] = 0.0
    new = NAGClassifier(average=average, **PLAIN)
    base = copy.deepcopy(new).partial_fit(X[:20], y[:20], classes=[0, 1])
    parts = [slice(20, 80), slice(80, 150), slice(150, 300)]
    if with_base:
        models = [copy.deepcopy(base).partial_fit(X[part], y[part]) for part in parts]
    else:
        models = [
            NAGClassifier(average=average, **PLAIN).partial_fit(X[part], y[part], classes=[0, 1]) for part in parts
        ]
    states = [model._state for model in models]
    start = base._state if with_base else type(base._state).new(base._state.rule, 4)
    merged = kernels.merge(states, start if with_base else None, power=power)

    grown = [np.maximum(squared_gradients(state) - squared_gradients(start), 0.0) for state in states]

    def mean(shares, values):
        total, count = np.zeros_like(values[0]), np.zeros_like(values[0])
        for share, G, value in zip(shares, grown, values):
            by = share * (G**power if power else np.ones_like(G))
            total, count = total + by * value, count + by
        return total / count

    last = [state.columns.weight / np.where(state.scale() > 0, state.scale(), 1.0) for state in states]
    scale = np.where(merged.scale() > 0, merged.scale(), 1.0)
    own_rows = [state.t - start.t for state in states]
    np.testing.assert_allclose(merged.columns.weight / scale, mean(own_rows, last), rtol=1e-9, atol=1e-300)
    if average:  # unit-free weights played before the base, and those played after it
        played = [state.averaged * state.columns.weight - state.columns.past for state in states]
        begun = start.averaged * start.columns.weight - start.columns.past
        own = [(p - begun) / (s.averaged - start.averaged) / np.where(s.scale() > 0, s.scale(), 1.0)
               for p, s in zip(played, states) if s.averaged > start.averaged]  # fmt: skip
        counts, grown = [s.averaged - start.averaged for s in states][-len(own) :], grown[-len(own) :]
        expected = begun + (merged.averaged - start.averaged) * mean(counts, own) * scale
        ours = merged.unit_free_weight() * merged.averaged
        np.testing.assert_allclose(ours, expected, rtol=1e-8, atol=1e-12 * np.abs(expected).max())
    if power and not with_base:  # models that have not seen the column do not count
        np.testing.assert_allclose(merged.columns.weight[:, 3] / scale[3], last[2][:, 3], rtol=1e-12)


OPTIONS = [
    {"normalization": "rms"},
    {"normalization": "max"},
    {"adaptive": False},
    {"centering": False},
    {"penalty": "l2"},
]


@pytest.mark.parametrize("with_base", [False, True])
def test_a_merged_average_counts_as_that_of_one_model(with_base, rng):
    """The next rows would outweigh the average of a short model. The groups of models merged do not matter."""
    X, y = rng.normal(size=(900, 3)), rng.normal(size=900)
    new = NAGRegressor().partial_fit(X[:100], y[:100]) if with_base else NAGRegressor()
    one, *models = (
        copy.deepcopy(new).partial_fit(X[part], y[part])._state
        for part in (slice(100, None), *(slice(i, i + 100) for i in range(100, 900, 100)))
    )
    together = partial(kernels.merge, base=new._state if with_base else None, power=0)
    merged = together(models)
    assert merged.averaged == pytest.approx(one.averaged, rel=0.01)
    in_groups = together([models[0], together(models[1:4]), together(models[4:])])
    if not with_base:
        one_by_one = models[0]
        for model in models[1:]:
            one_by_one = together([one_by_one, model])
        np.testing.assert_allclose(one_by_one.columns.past, merged.columns.past, rtol=1e-9, atol=1e-9)
        assert one_by_one.extra == pytest.approx(merged.extra)
    assert in_groups.averaged == pytest.approx(merged.averaged)
    np.testing.assert_allclose(in_groups.columns.past, merged.columns.past, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("make", [NAGClassifier, NAGRegressor])
def test_momentum(make, options, rng):
    """The function is extrapolated from that of ``before`` through the last one."""
    X, y = rows(rng)
    X += 3.0
    y = y if make is NAGClassifier else X[:, 0] * 50 + 1000 + rng.normal(size=len(X))
    model = make(average=False, **options, **({} if make is NAGClassifier else {"clip": None}))
    model.partial_fit(X[:100], y[:100], **({"classes": [0, 1]} if make is NAGClassifier else {}))
    before = copy.deepcopy(model)
    model.partial_fit(X[100:], y[100:])
    ahead = copy.deepcopy(model)
    ahead._state = kernels.lead(model._state, before._state, 0.75, renew=False)
    expected = model._decision(X) + 0.75 * (model._decision(X) - before._decision(X))
    np.testing.assert_allclose(ahead._decision(X), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_momentum_leaves_the_average(rng):
    X, y = rows(rng)
    model = NAGClassifier(average=True).partial_fit(X[:100], y[:100], classes=[0, 1])
    before = copy.deepcopy(model)
    model.partial_fit(X[100:], y[100:])
    state = kernels.lead(model._state, before._state, 0.75, renew=False)
    assert np.abs(state.columns.weight - model._state.columns.weight).max() > 1e-3
    np.testing.assert_allclose(state.unit_free_weight(), model._state.unit_free_weight(), rtol=1e-12)


def test_an_average_that_begins_anew(rng):
    X, y = rows(rng)
    model = NAGClassifier(**PLAIN, average=True).partial_fit(X, y, classes=[0, 1])  # has seen the largest values
    last = NAGClassifier(**PLAIN, average=False).partial_fit(X, y, classes=[0, 1])
    model._state = kernels.lead(model._state, model._state, 0.0, renew=True)
    model.partial_fit(X[:50], y[:50])
    total, clock = 0.0, 0.0
    for i in range(50):
        total, clock = total + (301 + i) * last.coef_, clock + 301 + i
        last.partial_fit(X[i : i + 1], y[i : i + 1])
    np.testing.assert_allclose(model.coef_, total / clock, rtol=1e-9)


def test_l1_has_no_momentum(rng):
    X, y = rows(rng)
    model = NAGClassifier(penalty="l1", alpha=0.05).partial_fit(X[:100], y[:100], classes=[0, 1])
    before = copy.deepcopy(model)
    model.partial_fit(X[100:], y[100:])
    state = kernels.lead(model._state, before._state, 0.75, renew=True)
    np.testing.assert_array_equal(state.columns.table, model._state.columns.table)


def test_weights_that_would_leave_the_range_stay(rng):
    X, y = rows(rng)
    model = NAGClassifier(average=False).partial_fit(X[:100], y[:100], classes=[0, 1])
    before = copy.deepcopy(model)
    model.partial_fit(X[100:], y[100:])
    model._state.columns.weight[:, 0] = 1.5e308
    state = kernels.lead(model._state, before._state, 0.75, renew=False)
    np.testing.assert_array_equal(state.columns.table, model._state.columns.table)


def test_other_families_stay_as_they_are(rng):
    from sklearn_nag import ScaleInvariantClassifier

    X, y = rows(rng)
    state = ScaleInvariantClassifier().partial_fit(X, y, classes=[0, 1])._state
    ahead = kernels.lead(state, state, 0.75, renew=True)
    assert ahead is not state
    np.testing.assert_array_equal(ahead.columns.table, state.columns.table)
