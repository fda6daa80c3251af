"""The effect of clipping predictions to the range of the targets so far.

    python -m benchmarks.clip [--data-dir FOLDER] [--output FOLDER] [--quick]

Each regressor, with default parameters except those in its name, learns the rows in one pass, in raw units, with
``clip=None`` and with ``clip="targets"``. ``range alone`` are predictions of the latter that are clipped to the range
of the targets, without the margin for growth. Scores are R^2 on held-out rows (30 %), and progressive R^2 over the
rows learnt. They are medians of five shuffles, except in the last two cases:

* ``as it is``: the data as they are;
* ``outliers learnt``: in 0.1 % of the rows that are learnt, a feature is 1,000 times as large;
* ``outliers met``: the same in 0.1 % of the held-out rows, too;
* ``in order``: rows in the order of the file, the last 30 % held out; those of bike sharing are hours of two years;
* ``growth``: the same, with the position in the file as a feature, and with targets to which three of their standard
  deviations are added by the end, in proportion to that feature.

Without ``--data-dir``, only the diabetes data of scikit-learn are used.

A second table has forecasts: twelve made-up monthly series of 144 rows that grow or fall, each drawn five times, judged
like ``cross_val_score`` with ``TimeSeriesSplit()``, and compared with ``LinearRegression``. Features are the number of
the month or its year, twelve columns of 0 and 1 for its name or waves of a year, and values of 1, 2 and 12 months
before. R^2 are means over draws. ``least difference`` is the smallest difference among the draws, of ``clip="targets"``
minus ``LinearRegression``. The random walk varies most between draws, so a third table has 50 draws of it: R^2 minus
that of ``LinearRegression``, the mean and the median over draws, and the worst tenth.
"""

import itertools
import warnings

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import TimeSeriesSplit, train_test_split

from sklearn_nag import FTRLRegressor, NAGRegressor, ScaleInvariantRegressor
from sklearn_nag.model_selection import progressive_validation

from .data import BUNDLED, FILES, msd_subset, parse
from .options import load_each

LEARNERS = {
    "sNAG": NAGRegressor(),
    "sNAG, eta0=auto": NAGRegressor(eta0="auto"),
    "NAG": NAGRegressor(normalization="max"),
    "sNAG, not centred": NAGRegressor(centering=False),
    "ScInOL 2": ScaleInvariantRegressor(),
    "potential": ScaleInvariantRegressor(update="potential"),
    "least squares": ScaleInvariantRegressor(invariance="full"),
    "FTRL-Proximal": FTRLRegressor(),
}


FORECASTERS = ("sNAG", "sNAG, eta0=auto", "ScInOL 2", "least squares", "FTRL-Proximal")
SERIES = (
    ("line", "month"),
    ("line", "year, names"),
    ("falling line", "month, names"),
    ("exponential", "month, names"),
    ("exponential", "month, lags"),
    ("line and seasons", "month, names"),
    ("line and seasons", "month, waves"),
    ("line and seasons", "month, names, lags"),
    ("exponential times seasons", "month, names"),
    ("exponential times seasons", "month, names, lags"),
    ("line and strong seasons", "year, names"),
    ("random walk that grows", "lags"),
)


def monthly(shape, n_rows, rng):
    """Return the targets of ``n_rows`` months."""
    t = np.arange(n_rows)
    first, second = rng.uniform(0.0, 2.0 * np.pi, 2)
    seasons = np.sin(np.pi * t / 6.0 + first) + 0.5 * np.sin(np.pi * t / 3.0 + second)
    y = {
        "line": 100.0 + 2.0 * t,
        "falling line": 500.0 - 2.5 * t,
        "exponential": 100.0 * np.exp(0.012 * t),
        "line and seasons": 100.0 + 2.0 * t + 15.0 * seasons,
        "exponential times seasons": 100.0 * np.exp(0.01 * t) * (1.0 + 0.12 * seasons),
        "line and strong seasons": 100.0 + t + 40.0 * seasons,
        "random walk that grows": 100.0 + np.cumsum(2.0 + 3.0 * rng.normal(size=n_rows)),
    }[shape]
    return y + 5.0 * rng.normal(size=n_rows)


def features(y, names):
    """Return rows for the targets of months, and the targets, without the first year if earlier values are features."""
    t, names = np.arange(len(y)), names.split(", ")
    columns = {
        "month": [t],
        "year": [2010 + t // 12],
        "names": [t % 12 == month for month in range(12)],
        "waves": [wave(np.pi * t * k / 6.0) for k in (1, 2) for wave in (np.sin, np.cos)],
        "lags": [np.roll(y, k) for k in (1, 2, 12)],
    }
    first = 12 if "lags" in names else 0
    return np.column_stack([column for name in names for column in columns[name]]).astype(float)[first:], y[first:]


def forecasts(draws, lengths=(144,)):
    """Return R^2 of forecasts of each series."""
    rows = []
    for n_rows, draw, (number, (shape, names)) in itertools.product(lengths, draws, enumerate(SERIES)):
        X, y = features(monthly(shape, n_rows, np.random.default_rng([draw, number])), names)
        folds = list(TimeSeriesSplit().split(X))
        peer = np.mean([r2_score(y[b], LinearRegression().fit(X[a], y[a]).predict(X[b])) for a, b in folds])
        for name in FORECASTERS:
            scores = np.mean([_forecast(LEARNERS[name], X, y, *fold) for fold in folds], axis=0)
            rows.append((n_rows, f"{shape}; {names}", name, peer, *scores, scores[-1] - peer))
    columns = ["months", "series", "learner", "LinearRegression", "clip=none", "range alone", "clip=targets", "least"]
    table = pd.DataFrame(rows, columns=columns).groupby(["months", "series", "learner"], sort=False)
    return table.mean().drop(columns="least").assign(**{"least difference": table["least"].min()})


def random_walks(draws):
    """Return R^2 of forecasts of the random walk, minus that of `LinearRegression`, over many draws."""
    rows = []
    for draw in draws:
        X, y = features(monthly(SERIES[-1][0], 144, np.random.default_rng([draw, len(SERIES) - 1])), SERIES[-1][1])
        folds = list(TimeSeriesSplit().split(X))
        peer = np.mean([r2_score(y[b], LinearRegression().fit(X[a], y[a]).predict(X[b])) for a, b in folds])
        for name in FORECASTERS:
            free, _, clipped = np.mean([_forecast(LEARNERS[name], X, y, *fold) for fold in folds], axis=0)
            rows.append((name, free - peer, clipped - peer))
    table = pd.DataFrame(rows, columns=["learner", "clip=none", "clip=targets"]).groupby("learner", sort=False)
    measures = {"mean": table.mean(), "median": table.median(), "worst tenth": table.quantile(0.1)}
    table = pd.concat(measures, axis="columns").swaplevel(axis="columns")[["clip=none", "clip=targets"]]
    table.columns = [f"{clip}, {measure}" for clip, measure in table.columns]
    return table


def _forecast(learner, X, y, learnt, met):
    """Return R^2 of rows met: ``clip=None``, within the range of the targets alone, and ``clip="targets"``."""
    free, model = (
        clone(learner).set_params(clip=clip, random_state=0).fit(X[learnt], y[learnt]) for clip in (None, "targets")
    )
    p = model.predict(X[met])
    return [r2_score(y[met], q) for q in (free.predict(X[met]), p.clip(y[learnt].min(), y[learnt].max()), p)]


def slip(X, rng, share=1e-3):
    """Multiply one feature by 1,000 in a share of the rows, at least in one."""
    X = X.copy()
    rows = rng.choice(len(X), max(1, int(share * len(X))), replace=False)
    X[rows, rng.integers(0, X.shape[1], len(rows))] *= 1e3
    return X


def cases(X, y, seeds):
    """Yield the name of a case, rows to learn, rows held out, and their targets."""
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=seed)
        yield "as it is", X_train, X_test, y_train, y_test
        slipped = slip(X_train, rng)
        yield "outliers learnt", slipped, X_test, y_train, y_test
        yield "outliers met", slipped, slip(X_test, rng), y_train, y_test
    first = int(0.7 * len(y))
    yield "in order", X[:first], X[first:], y[:first], y[first:]
    time = np.arange(len(y)) / len(y)
    X, y = np.column_stack([X, time]), y + 3.0 * np.std(y) * time
    yield "growth", X[:first], X[first:], y[:first], y[first:]


def measure(X, y, seeds):
    """Return medians over shuffles, for each case, learner and ``clip``."""
    rows = []
    for case, X_train, X_test, y_train, y_test in cases(X, y, seeds):
        for name, learner in LEARNERS.items():
            for clip in (None, "targets"):
                model = clone(learner).set_params(clip=clip)
                result = progressive_validation(model, X_train, y_train, batch_size=len(y_train), scoring="r2")
                p = result.estimator.predict(X_test)
                rows.append((case, name, clip or "none", r2_score(y_test, p), result.score))
            alone = p.clip(y_train.min(), y_train.max())
            rows.append((case, name, "range alone", r2_score(y_test, alone), np.nan))
    table = pd.DataFrame(rows, columns=["case", "learner", "clip", "R2", "progressive"])
    table = table.groupby(["case", "learner", "clip"], sort=False).median().unstack("clip")
    return table.dropna(axis="columns", how="all")


def main():
    """Print a table for each data set."""
    options = parse(__doc__, "folder to write clip.csv to", "diabetes alone, one shuffle: that it runs")
    warnings.simplefilter("ignore")
    files = {name: FILES[name] for name in ("California housing", "abalone", "bike sharing")}
    files["MSD subset"] = msd_subset
    table = forecasts(range(1 if options.quick else 5))
    print(f"Forecasts\n{table.round(3).to_string()}", flush=True)
    walks = random_walks(range(1 if options.quick else 50))
    print(f"\nRandom walks\n{walks.round(3).to_string()}", flush=True)
    tables = {}
    sets = {"diabetes": BUNDLED["diabetes"], **({} if options.data_dir is None else files)}
    for name, X, y, _ in load_each(sets, options.data_dir):
        tables[name] = measure(X, y, 1 if options.quick else 5)
        print(f"\n{name}, {len(X):,} x {X.shape[1]}\n{tables[name].round(4).to_string()}", flush=True)
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        both = pd.concat(tables, names=["data"]).round(4)
        both.columns = [f"{score}, {clip if clip == 'range alone' else f'clip={clip}'}" for score, clip in both.columns]
        both.to_csv(options.output / "clip.csv")
        table.round(4).to_csv(options.output / "clip_forecasts.csv")
        walks.round(4).to_csv(options.output / "clip_random_walks.csv")


if __name__ == "__main__":
    main()
