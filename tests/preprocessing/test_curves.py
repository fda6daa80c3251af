"""Curves compared with their definition in exact arithmetic, and how well a learner does with them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from sklearn_nag import NAGRegressor
from sklearn_nag.preprocessing import OnlineCurves

EXTREMES = [-1.7976931348623157e308, -1e-300, -5e-324, 0.0, 5e-324, 1e-320, 1.0, 2.0, 3.0, 1.7976931348623157e308]


def quantiles(values, n_quantiles):
    """Return the values at the ranks nearest to sin²(π/2 · k/last) times the largest rank; ties go to the upper one."""
    known, last = sorted(v for v in values if v == v), n_quantiles - 1
    places = [math.sin(math.pi / 2 * k / last) ** 2 * (len(known) - 1) for k in range(n_quantiles)] if known else []
    return sorted({known[int(round(place, 9) + 0.5)] for place in places})


def hats(x, values, n_knots, n_quantiles):
    """Return the hats of a value and the mark of a missing one, as fractions."""
    if x != x:
        return [0] * n_knots + [1]
    own = quantiles(values, n_quantiles)
    if len(own) < 3:
        return [0] * (n_knots + 1)
    x = min(max(x, own[0]), own[-1])
    k = max(i for i in range(len(own) - 1) if own[i] <= x)
    below, above = Fraction(own[k]), Fraction(own[k + 1])
    rank = (k + (Fraction(x) - below) / (above - below)) / (len(own) - 1)
    steps = min(n_knots, len(own)) - 1
    return [max(0, 1 - abs(rank * steps - i)) if i <= steps else 0 for i in range(n_knots)] + [0]


@pytest.mark.parametrize("n_quantiles", [2, 3, 6, 40])
@pytest.mark.parametrize("kind", ["smooth", "ties", "extremes", "gaps", "constant", "missing"])
def test_hats_are_those_of_the_definition(kind, n_quantiles, rng):
    x = {
        "smooth": rng.normal(size=60),
        "ties": rng.integers(0, 5, size=60).astype(float),
        "extremes": rng.permutation(np.repeat(EXTREMES, 6)),
        "gaps": np.where(rng.uniform(size=60) < 0.3, np.nan, rng.normal(size=60)),
        "constant": np.full(60, 3.0),
        "missing": np.full(60, np.nan),
    }[kind]
    transformer = OnlineCurves(n_knots=6, first_rows=40, n_quantiles=n_quantiles).fit(x[:, None])
    probes = np.concatenate([x, [-1e9, -0.5, 0.25, 1.5, 1e9, np.nan], EXTREMES])
    out = transformer.transform(probes[:, None])[:, 1:].toarray()
    expected = [[float(value) for value in hats(probe, x[:40], 6, n_quantiles)] for probe in probes]
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-14)


def test_hats_sum_to_one_and_are_constant_outside(rng):
    X = rng.normal(size=(300, 2))
    transformer = OnlineCurves(first_rows=100).fit(X)
    out = transformer.transform(X)[:, 2:].toarray().reshape(-1, 2, 22)
    np.testing.assert_allclose(out.sum(axis=2), 1.0, rtol=1e-15)
    ends = transformer.transform([[-50.0, 50.0], [-5e5, 5e5]])
    np.testing.assert_array_equal(ends[[0], 2:].toarray(), ends[[1], 2:].toarray())
    np.testing.assert_array_equal(ends[:, :2].toarray(), [[-50.0, 50.0], [-5e5, 5e5]])


def test_no_curves_leave_the_columns_and_what_is_missing():
    curves = OnlineCurves(n_knots=0).fit([[1.0], [2.0], [3.0]])
    np.testing.assert_array_equal(curves.transform([[7.0], [np.nan]]).toarray(), [[7.0, 0.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match="'n_knots' parameter of OnlineCurves must be 0 or an int in the range \\[2"):
        OnlineCurves(n_knots=1).fit([[1.0]])


def test_names():
    names = OnlineCurves(n_knots=2).fit([[1.0], [2.0]]).get_feature_names_out()
    assert list(names) == ["x0", "x0_knot0", "x0_knot1", "x0_missing"]


def test_units_and_logarithms_hardly_matter_to_scores(rng):
    """Units matter a lot to a linear model. With curves, only the interpolation and the kept column depend on them."""
    z = rng.normal(size=(6000, 2))
    y = np.sin(2 * z[:, 0]) + np.abs(z[:, 1])
    lines, curves = [], []
    for x in (z, np.exp(z), z**3, np.argsort(np.argsort(z, axis=0), axis=0).astype(float)):
        for scores, steps in ((lines, []), (curves, [OnlineCurves()])):
            learner = make_pipeline(*steps, NAGRegressor(random_state=0)).fit(x[:5000], y[:5000])
            scores.append(learner.score(x[5000:], y[5000:]))
    assert max(lines) - min(lines) > 0.1
    assert min(curves) > 0.98
    assert max(curves) - min(curves) < 0.01
