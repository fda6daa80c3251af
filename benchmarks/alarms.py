"""Alarms when a stream changes: LossAlarm compared with River's ADWIN, on the same errors of the same learner.

    python -m benchmarks.alarms [--data-dir FOLDER] [--output FILE.csv] [--quick]

Errors are those of NAGClassifier(), which never forgets, on rows before it learns them. Others are made up: 0 and 1,
with a probability that rises in the middle, or does not. Both alarms get the same errors, from `SEEDS` streams each.
"delay" is the median number of rows from the change to the first alarm. "missed" is the number of streams without an
alarm, and "false" the number of alarms in 10,000 rows before the change. LossAlarm has the rates 1e-4 and 1e-3, ADWIN
its default ``delta``, .002, and 1e-4. ADWIN also signals when errors become fewer; such alarms are not counted. It is
left out if River is not installed.
"""

import importlib.util

import numpy as np
import pandas as pd

from sklearn_nag import NAGClassifier
from sklearn_nag.model_selection import LossAlarm, progressive_validation

from .data import parse

SEEDS = 20
CHANCES = {"never": (0.2, 0.2), ".05 to .15": (0.05, 0.15), ".05 to .5": (0.05, 0.5), ".2 to .3": (0.2, 0.3)}


def made_up(n):
    """Yield names, errors of many streams and the row of the change; None if nothing changes."""
    for name, (before, after) in CHANCES.items():
        for seed in range(SEEDS):
            chance = np.where(np.arange(2 * n) < n, before, after)
            yield name, np.random.default_rng(seed).random(2 * n) < chance, None if before == after else n
    for name, turn in {"concept flips": -1.0, "concept stays": 1.0, "a column is lost": 0.0}.items():
        for seed in range(SEEDS):
            rng = np.random.default_rng(seed)
            X, w = rng.normal(size=(2 * n, 5)), rng.normal(size=5)
            signs = np.ones_like(X)
            signs[n:, : 1 if turn == 0.0 else 5] = turn
            y = np.sum(X * w * signs, axis=1) + rng.logistic(size=2 * n) > 0
            answers = []

            def keep(estimator, _, y, answers=answers):
                answers.append(estimator.predict(None))
                return 0.0

            progressive_validation(NAGClassifier(), X, y, scoring=keep)
            yield name, np.append(False, answers[-1] != y[1:]), None if turn == 1.0 else n


def by_ours(rate):
    """Return a function from errors to the rows of alarms."""
    return lambda errors: LossAlarm(rate).update(errors)


def by_adwin(delta):
    """Return such a function for ADWIN."""
    from river.drift import ADWIN

    def alarms(errors):
        detector, rows = ADWIN(delta=delta), []
        for row, error in enumerate(errors, start=1):
            before = detector.estimation
            detector.update(float(error))
            if detector.drift_detected and detector.estimation > before:
                rows.append(row)
        return np.array(rows, dtype=int)

    return alarms


def main():
    """Print the table."""
    options = parse(__doc__, "file to write the table to, as CSV", "short streams: that it runs")
    alarms = {f"LossAlarm, {rate:g}": by_ours(rate) for rate in (1e-4, 1e-3)}
    if importlib.util.find_spec("river") is None:
        print("ADWIN is left out: River is not installed")
    else:
        alarms |= {f"ADWIN, {delta:g}": by_adwin(delta) for delta in (0.002, 1e-4)}
    n, found = 500 if options.quick else 5_000, {}
    for stream, errors, change in made_up(n):
        for name, alarm in alarms.items():
            rows = alarm(errors)
            end = len(errors) if change is None else change
            after = rows[rows > end]
            delay = np.nan if change is None else after[0] - change if len(after) else np.inf
            found.setdefault((stream, name), []).append((delay, np.sum(rows <= end) / end * 1e4))
    table = {}
    for (stream, name), values in found.items():
        delays, false = np.array(values).T
        missed = "-" if np.isnan(delays).any() else int(np.isinf(delays).sum())
        delay = "-" if np.isnan(delays).any() else f"{np.median(delays):.0f}"
        table[stream, name] = {"delay": delay, "missed": missed, "false": f"{false.mean():.2f}"}
    frame = pd.DataFrame(table).T.rename_axis(["errors", "alarm"])
    print(frame.to_string())
    if options.output is not None:
        frame.to_csv(options.output)


if __name__ == "__main__":
    main()
