"""Counts and amounts compared with scikit-learn's generalised linear models, on raw and on scaled columns.

    python -m benchmarks.counts [--data-dir FOLDER] [--output FILE.csv] [--quick]

The data are hourly counts of bikes (UCI), and a made-up table of insurance claims in the style of scikit-learn's
example: claims by exposure (Poisson), amounts of claims (gamma) and pure premiums (Tweedie). ``theirs`` is
PoissonRegressor, GammaRegressor or TweedieRegressor without a penalty.
"""

import numpy as np
import pandas as pd
from sklearn.linear_model import GammaRegressor, PoissonRegressor, TweedieRegressor
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from sklearn_nag import NAGRegressor

from .data import parse
from .options import file_in, load_each


def bike(folder):
    """Return rows, hourly counts of bikes and weights, with months, hours and weekdays as words."""
    table = pd.read_csv(file_in(folder, "bike-hour.csv.gz"))
    X = table.drop(columns=["instant", "dteday", "casual", "registered", "cnt"])
    X = pd.get_dummies(X, columns=["season", "mnth", "hr", "weekday", "weathersit"]).to_numpy(float)
    return X, table["cnt"].to_numpy(float), np.ones(len(X))


def insurance(n=50_000):
    """Return made-up drivers: rows, number of claims, their sum, and years at risk."""
    rng = np.random.default_rng(0)
    age, power, value = rng.uniform(18, 90, n), rng.integers(4, 16, n), np.exp(rng.normal(9.5, 0.6, n))
    density, exposure = np.exp(rng.normal(6, 2, n)), rng.uniform(0.05, 1.0, n)
    X = np.column_stack([age, power, value, density, rng.integers(0, 2, (n, 4))])
    rate = np.exp(-2.2 - 0.02 * (age - 45) + 0.05 * (power - 8) + 1e-5 * value + 0.3 * X[:, 4])
    claims = rng.poisson(rate * exposure)
    size = np.exp(7.0 + 0.01 * (age - 45) + 2e-5 * value - 0.2 * X[:, 5])
    return X, claims, rng.gamma(np.maximum(claims, 1) * 1.5, size / 1.5) * (claims > 0), exposure


def made_up():
    """Return tasks of the insurance table: loss, its options, the peer and its options, rows, targets and weights."""
    X, claims, amount, exposure = insurance()
    some = claims > 0
    power, link = {"power": 1.7}, {"power": 1.7, "link": "log"}
    return {
        "claims a year": ("poisson", {}, PoissonRegressor, {}, X, claims / exposure, exposure),
        "amount a claim": ("gamma", {}, GammaRegressor, {}, X[some], amount[some] / claims[some], claims[some] * 1.0),
        "premium a year": ("tweedie", power, TweedieRegressor, link, X, amount / exposure, exposure),
    }


def main():
    options = parse(__doc__, "CSV file to write the table to", "the made-up table alone")
    tasks, lines = made_up(), []
    for name, *rows in load_each({} if options.quick else {"bike, counts": bike}, options.data_dir):
        tasks = {name: ("poisson", {}, PoissonRegressor, {}, *rows), **tasks}
    print(f"{'D² on rows held out':20} {'columns':8} {'theirs':>8} {'one pass':>9} {'fit':>8}")
    for name, (loss, parameters, peer, of_peer, X, y, weight) in tasks.items():
        parts = train_test_split(X, y, weight, random_state=0)
        scaler = StandardScaler().fit(parts[0])
        for columns in ("raw", "scaled"):
            train, test, y_train, y_test, w_train, w_test = parts
            if columns == "scaled":
                train, test = scaler.transform(train), scaler.transform(test)
            theirs = peer(alpha=0.0, solver="newton-cholesky", max_iter=1000, **of_peer)
            theirs.fit(train, y_train, sample_weight=w_train)
            once = NAGRegressor(loss, **parameters).partial_fit(train, y_train, sample_weight=w_train)
            often = NAGRegressor(loss, random_state=0, **parameters).fit(train, y_train, sample_weight=w_train)
            scores = [f"{model.score(test, y_test, sample_weight=w_test):.4f}" for model in (theirs, once, often)]
            print(f"{name:20} {columns:8} {scores[0]:>8} {scores[1]:>9} {scores[2]:>8}", flush=True)
            lines.append(dict(zip(("task", "columns", "theirs", "one pass", "fit"), (name, columns, *scores))))
    if options.output is not None:
        pd.DataFrame(lines).to_csv(options.output, index=False)


if __name__ == "__main__":
    main()
