"""Intervals: coverage requested and reached, and widths, of this package, split conformal, quantiles and BayesianRidge.

    python -m benchmarks.intervals [--data-dir FOLDER] [--output FILE.csv] [--quick]

``progressive``: one pass of NAGRegressor over all rows; each row is judged by its interval before it was learnt.
``worst part`` is the largest deviation in a tenth of the stream, without the first, divided by what is allowed in it,
``max(.03, 2.5 sqrt(a (1 - a) / rows))``. The others get the first half of the rows, and are judged on the second:
``after a pass`` is NAGRegressor after one pass over the first half, whose interval then stays as it is; ``split`` is
split conformal prediction with Ridge on standardised features (half of the first half to fit, half for the quantile).
With MAPIE installed, ``MAPIE`` is the same with its SplitConformalRegressor, and ``cross`` its CrossConformalRegressor.
``quantile`` is a pair of NAGRegressor(loss="quantile"), and ``bayesian`` BayesianRidge's Gaussian interval. With River
installed, ``river`` is its standardised online linear regression inside conf.RegressionJackknife, judged before each
row. Widths are divided by those of ``split``.

Then come drawn rows. In their second half, one row in twenty is fifty times as large as all before. The script prints
the share of their targets within intervals of 90 % after a pass over the first half, and within intervals of the width
that other rows get.

Then come 500 drawn rows that are learnt after 3,000 rows whose targets are 0, and the coverage over 20 draws. Then come
intervals of 90 % that `fit` leaves after few drawn rows, where it searches for the number of passes, and their coverage
of new rows: the mean over draws, and the standard deviation.

At last, the script prints how many times as long a pass takes as one that keeps nothing of its errors: the median of
the ratios of times, over 9 pairs of passes in turn.
"""

import contextlib
import time
import warnings

import numpy as np
import pandas as pd
from scipy.stats import norm
from sklearn.datasets import load_diabetes
from sklearn.linear_model import BayesianRidge, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_nag import NAGCellsRegressor, NAGRegressor
from sklearn_nag.model_selection import progressive_validation

from .data import abalone, bikes, california, msd_subset, parse
from .options import file_in, load_each

COVERAGES = np.array([0.8, 0.9, 0.95])


def in_random_order(load):
    """Return a loader whose rows come in random order."""

    def read(folder):
        X, y, regression = load(folder)
        rows = np.random.default_rng(0).permutation(len(y))
        return X[rows], y[rows], regression

    return read


def demand(folder):
    """Return electricity, 45,312 half hours in order: the demand in New South Wales from the other numbers."""
    data = pd.read_csv(file_in(folder, "electricity.csv.gz"))
    y = data.pop("nswdemand").to_numpy(dtype=float)
    return data.select_dtypes("number").drop(columns="class", errors="ignore").to_numpy(dtype=float), y, True


def made(change, half_life=None):
    """Return a loader of 20,000 drawn rows; ``change`` makes their targets from signals and noise."""

    def read(folder):
        rng = np.random.default_rng(0)
        X, noise = rng.normal(size=(20_000, 5)), rng.normal(size=20_000)
        return X, change(rng, X, noise, np.arange(20_000)), half_life

    return read


WEIGHTS = np.array([1.0, 2.0, -1.0, 0.5, 0.0])


def flips(rng, X, noise, t):
    """Return targets by weights that change their sign every 4,000 rows."""
    return (X @ WEIGHTS) * np.where(t // 4000 % 2, -1.0, 1.0) + noise


def drifts(rng, X, noise, t):
    """Return targets by weights that follow a random walk."""
    return (X * (WEIGHTS + 0.03 * rng.normal(size=X.shape).cumsum(axis=0))).sum(axis=1) + noise


def other_units(rng, X, noise, t):
    """Return targets that are a thousand times as large for a third of the rows."""
    return (X @ WEIGHTS + noise) * np.where((t >= 6000) & (t < 13_000), 1000.0, 1.0)


def diabetes(folder):
    """Return diabetes, 442 x 10, of scikit-learn."""
    return *load_diabetes(return_X_y=True, scaled=False), True


QUICK = {"diabetes": in_random_order(diabetes), "flips": made(flips), "other units": made(other_units)}
ALL = {
    "california": in_random_order(california),
    "abalone": in_random_order(abalone),
    "bikes": in_random_order(bikes),
    "songs": in_random_order(msd_subset),
    "demand": in_random_order(demand),
    "bikes by time": bikes,
    "demand by time": demand,
    "flips": made(flips),
    "flips, half_life=500": made(flips, 500),
    "drifts": made(drifts),
    "drifts, half_life=500": made(drifts, 500),
    "other units": made(other_units),
    "other units, half_life=500": made(other_units, 500),
}


def judged(interval, y):
    """Return the coverage and mean width of intervals of shape (n, 2, n_coverages)."""
    low, high = interval[:, 0], interval[:, 1]
    return ((low <= y[:, None]) & (y[:, None] <= high)).mean(axis=0), (high - low).mean(axis=0)


def progressive(X, y, half_life):
    """Return coverage, width and the worst tenth, for each requested coverage, of intervals before each row."""
    ends = np.linspace(0, len(y), 11).astype(int)[1:]
    result = progressive_validation(NAGRegressor(half_life=half_life), X, y, coverage=COVERAGES, curve_at=ends)
    held = np.diff(result.curve["coverage"] * ends[:, None], axis=0) / np.diff(ends)[:, None]
    widths = np.diff(result.curve["width"] * ends[:, None], axis=0) / np.diff(ends)[:, None]
    allowed = np.maximum(0.03, 2.5 * np.sqrt(COVERAGES * (1 - COVERAGES) / np.diff(ends).min()))
    second_half = widths[len(widths) // 2 :].mean(axis=0)
    return result.coverage, second_half, (np.abs(held - COVERAGES) / allowed).max(axis=0)


def split_conformal(X, y, X_test):
    """Return intervals by split conformal prediction with Ridge."""
    half = len(y) // 2
    model = make_pipeline(StandardScaler(), Ridge()).fit(X[:half], y[:half])
    errors = np.sort(np.abs(y[half:] - model.predict(X[half:])))
    rank = np.minimum(np.ceil((len(errors) + 1) * COVERAGES).astype(int), len(errors)) - 1
    middle = model.predict(X_test)[:, None]
    return np.stack([middle - errors[rank], middle + errors[rank]], axis=1)


def quantile_pairs(X, y, X_test):
    """Return intervals between quantiles that pairs of learners predict."""
    ends = []
    for sides in ((1 - COVERAGES) / 2, (1 + COVERAGES) / 2):
        models = [NAGRegressor("quantile", quantile=q, random_state=0).fit(X, y) for q in sides]
        ends.append(np.column_stack([model.predict(X_test) for model in models]))
    return np.stack(ends, axis=1)


def bayesian(X, y, X_test):
    """Return Gaussian intervals of BayesianRidge."""
    model = make_pipeline(StandardScaler(), BayesianRidge()).fit(X, y)
    middle, spread = model.predict(X_test, return_std=True)
    width = spread[:, None] * norm.ppf(0.5 + COVERAGES / 2)
    return np.stack([middle[:, None] - width, middle[:, None] + width], axis=1)


def mapies():
    """Return split and cross conformal prediction by MAPIE, if it is installed."""
    try:
        from mapie.regression import CrossConformalRegressor, SplitConformalRegressor
    except ImportError:
        return {}

    def ridge():
        return make_pipeline(StandardScaler(), Ridge())

    def split(X, y, X_test):
        half = len(y) // 2
        model = SplitConformalRegressor(ridge(), confidence_level=list(COVERAGES), prefit=False)
        return model.fit(X[:half], y[:half]).conformalize(X[half:], y[half:]).predict_interval(X_test)[1]

    def cross(X, y, X_test):
        model = CrossConformalRegressor(ridge(), confidence_level=list(COVERAGES), cv=5)
        return model.fit_conformalize(X, y).predict_interval(X_test)[1]

    return {"MAPIE": split, "cross": cross}


def river(X, y):
    """Return the coverage and width of River's intervals before each row of the second half."""
    from river import conf, linear_model, preprocessing

    found = []
    for coverage in COVERAGES:
        learner = preprocessing.StandardScaler() | linear_model.LinearRegression()
        model, held, width = conf.RegressionJackknife(learner, confidence_level=coverage), [], []
        for i, (row, target) in enumerate(zip(X.tolist(), y.tolist())):
            x = dict(enumerate(row))
            if i >= len(y) // 2:
                interval = model.predict_one(x, with_interval=True)
                held.append(interval.lower <= target <= interval.upper)
                width.append(interval.upper - interval.lower)
            model.learn_one(x, target)
        found.append((np.mean(held), np.mean(width)))
    return np.array(found).T


def held_of_unusual(n_rows):
    """Return the shares of targets of far rows within their intervals, and within intervals as wide as others'."""
    rng = np.random.default_rng(0)
    X, half = rng.normal(size=(n_rows, 10)), n_rows // 2
    is_far = (np.arange(n_rows) >= half) & (rng.random(n_rows) < 0.05)
    X[is_far] *= 50.0
    y = X @ rng.normal(size=10) + rng.normal(size=n_rows)
    reg = NAGRegressor(clip=None).partial_fit(X[:half], y[:half])
    errors = np.abs(y[is_far] - reg.predict(X[is_far]))
    widths = (np.diff(reg.predict_interval(some))[:, 0] / 2.0 for some in (X[is_far], np.zeros((1, 10))))
    return [np.mean(errors <= width) for width in widths]


def held_after_zeros(seed, n_zeros=3000, n_rows=500):
    """Return the share of targets within intervals of .5, .9 and .99, once targets are no longer 0."""
    rng, ends = np.random.default_rng(seed), np.array([n_zeros, n_zeros + n_rows])
    X = rng.normal(size=(ends[1], 3))
    y = X @ [2.0, -1.0, 1.0] + rng.normal(size=len(X))
    y[:n_zeros] = 0.0
    curve = progressive_validation(NAGRegressor(), X, y, scoring="r2", coverage=[0.5, 0.9, 0.99], curve_at=ends).curve
    return np.diff(curve["coverage"] * ends[:, None], axis=0)[0] / n_rows


def held_after_fit(kind, n_rows, n_features, seed):
    """Return the share of targets of new rows within intervals of 90 % that ``fit`` leaves."""
    rng = np.random.default_rng(seed)
    X, half = rng.normal(size=(n_rows + 2000, n_features)), n_features // 2
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + X[:, half:].sum(axis=1) / half**0.5 + rng.normal(size=len(X))
    reg = kind(random_state=seed).fit(X[:n_rows], y[:n_rows])
    assert len(reg.validation_losses_)
    return judged(reg.predict_interval(X[n_rows:], [0.9]), y[n_rows:])[0]


class _WithoutIntervals(NAGRegressor):
    """A learner that keeps nothing of its errors, to show what a pass would cost then."""

    def _judge(self, *arguments, **options):
        pass


def time_of_a_pass(X, y, n_pairs=9):
    """Return how many times as long a pass takes with intervals as without."""
    ratios = []
    for _ in range(n_pairs):
        seconds = []
        for kind in (NAGRegressor, _WithoutIntervals):
            start = time.perf_counter()
            kind().partial_fit(X, y)
            seconds.append(time.perf_counter() - start)
        ratios.append(seconds[0] / seconds[1])
    return np.median(ratios)


def main():
    """Print the table, and the time of a pass."""
    args = parse(__doc__, "CSV file to write the table to", "bundled and drawn data alone")
    warnings.simplefilter("ignore")
    lines = []
    for name, X, y, half_life in load_each(QUICK if args.quick or args.data_dir is None else ALL, args.data_dir):
        half_life = half_life if type(half_life) is int else None
        half = len(y) // 2
        online = NAGRegressor(half_life=half_life).partial_fit(X[:half], y[:half])
        found = {"split": judged(split_conformal(X[:half], y[:half], X[half:]), y[half:])}
        got, width, worst = progressive(X, y, half_life)
        found["progressive"] = got, width
        found["after a pass"] = judged(online.predict_interval(X[half:], COVERAGES), y[half:])
        for method, predict in {**mapies(), "quantile": quantile_pairs, "bayesian": bayesian}.items():
            found[method] = judged(predict(X[:half], y[:half], X[half:]), y[half:])
        with contextlib.suppress(ImportError):
            found["river"] = tuple(river(X, y))
        unit = found["split"][1]
        print(f"\n{name} ({len(y):,} rows)" + "".join(f"{c:>18.2f}" for c in COVERAGES), flush=True)
        for method, (covered, width) in found.items():
            line = {"data": name, "method": method}
            for i, coverage in enumerate(COVERAGES):
                line[f"{coverage} got"], line[f"{coverage} width"] = f"{covered[i]:.4f}", f"{width[i] / unit[i]:.3f}"
            line["worst part"] = f"{worst.max():.2f}" if method == "progressive" else ""
            shown = "".join(f"{covered[i]:10.4f}{width[i] / unit[i]:8.3f}" for i in range(len(COVERAGES)))
            print(f"  {method:14s}{shown}" + (f"  worst part {worst.max():.2f}" if method == "progressive" else ""))
            lines.append(line)
    wide, common = held_of_unusual(2_000 if args.quick else 20_000)
    print(f"\nof rows far from those learnt, intervals hold {wide:.3f}; those of the common width {common:.3f}")
    after = np.array([held_after_zeros(seed) for seed in range(3 if args.quick else 20)])
    print("\nafter 3,000 targets of 0 intervals of .5, .9 and .99 hold", *after.mean(axis=0).round(3))
    print()
    for kind, n_rows, n_features, n_draws in (
        *((NAGRegressor, n_rows, n_rows // 5, 100) for n_rows in (300, 1000)),
        *((NAGCellsRegressor, n_rows, 5, 20) for n_rows in (300, 1000)),
    ):
        after = [held_after_fit(kind, n_rows, n_features, seed) for seed in range(2 if args.quick else n_draws)]
        made_by = f"{kind.__name__}.fit of {n_rows:,} x {n_features}"
        print(f"intervals of 90 % after {made_by} hold {np.mean(after):.3f}, with a deviation of {np.std(after):.3f}")
    rng = np.random.default_rng(0)
    for n_features in (5, 20, 90):
        X = rng.normal(size=(5_000 if args.quick else 100_000, n_features))
        NAGRegressor().partial_fit(X[:100], X[:100, 0])  # compiles
        ratio = time_of_a_pass(X, X[:, 0] + rng.normal(size=len(X)))
        print(f"\na pass over {len(X):,} rows of {n_features} features takes {ratio:.3f} times as long with intervals")
    if args.output:
        pd.DataFrame(lines).to_csv(args.output, index=False)


if __name__ == "__main__":
    main()
