"""``python -m sklearn_nag``: how far can the learning rate be off? NAG beside AdaGrad and SGD, by GridSearchCV.

On data sets that ship with scikit-learn, or on a CSV file, in raw units: the estimators of this package with their
defaults, NAG, sNAG and AdaGrad as the paper prints them, and SGD. For each learner the table has the best
learning rate (eta) of a range, the cross-validated error there and at the learner's default, and the factor over which
eta may vary while the error stays within 5 % of the best.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.impute import SimpleImputer
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from .estimators import NAGClassifier, NAGRegressor

ETAS = 10.0 ** (np.arange(-12, 9) / 2)  # the default, 1, is among them
PASSES = {"max_iter": 3, "tol": None, "random_state": 0}
WITHIN = 1.05
HOPELESS = 1e6  # errors from which a learner counts as diverged
LARGEST = 1e150  # of a number in a file: scalers and scores take squares
MOST_CLASSES = 20  # a column with more whole numbers than this is a quantity


class Task(NamedTuple):
    """A data set and what has to be done to it before a learner takes it, with and without scaling."""

    name: str
    X: object
    y: np.ndarray
    is_classification: bool
    raw: object = "passthrough"
    scaled: object = StandardScaler()


class Result(NamedTuple):
    """What the search found for a learner on a task; errors for each of ``ETAS``, NaN where it diverged."""

    learner: str
    errors: np.ndarray
    default: float

    @property
    def best(self):
        """Index of the best eta; the first if the learner diverged at all of them."""
        return int(np.argmin(np.nan_to_num(self.errors, nan=np.inf)))

    @property
    def good(self):
        """First and last index of the etas around the best whose error is within 5 % of the best one."""
        bad = np.flatnonzero(~(self.errors <= WITHIN * self.errors[self.best]))
        first = bad[bad < self.best].max(initial=-1) + 1
        last = bad[bad > self.best].min(initial=len(self.errors)) - 1
        return first, last

    @property
    def width(self):
        """Largest good eta as a multiple of the smallest."""
        first, last = self.good
        return ETAS[last] / ETAS[first]


def bundled_tasks():
    """The data sets that ship with scikit-learn, in raw units."""
    loaders = {"breast cancer": load_breast_cancer, "wine": load_wine, "digits": load_digits}
    tasks = [Task(name, *load(return_X_y=True), True) for name, load in loaders.items()]
    return [*tasks, Task("diabetes", *load_diabetes(return_X_y=True, scaled=False), False)]


def csv_task(path, target, most_rows, folds):
    """Make a task of a CSV file with a header, and print what was found in the file.

    Parameters
    ----------
    path : Path
        The file.
    target : str
        Name of the column to predict: classes when it holds words or few whole numbers, else a quantity.
    most_rows : int
        Rows to draw at random when there are more.
    folds : int
        Folds of the cross-validation, for which there must be rows enough.

    Returns
    -------
    Task
        Numbers with the median for missing ones; words one-hot, with missing as a word of its own.

    Raises
    ------
    ValueError
        When the file cannot be read, has no such column, numbers that are infinite or beyond 1e150, or nothing to
        learn from.
    """
    try:
        import pandas as pd
    except ImportError:
        raise ValueError('reading a CSV file needs pandas: pip install "sklearn-nag[csv]"') from None
    try:
        frame = pd.read_csv(path)
    except ValueError as error:  # pandas' own errors are of this kind
        raise ValueError(f"{path} cannot be read as a CSV file in UTF-8: {str(error).strip()}") from None
    if target not in frame:
        raise ValueError(f"{path} has no column {target!r}; its columns are {', '.join(map(repr, frame.columns))}.")
    missing = frame.isna().sum()
    print(f"{path}: {len(frame)} rows, {frame.shape[1]} columns")
    for name, count in missing[missing > 0].items():
        done = "rows left out" if name == target else "replaced"
        print(f"  {name}: {count} missing values ({count / len(frame):.1%}), {done}")
    for name in frame.select_dtypes("number"):
        sizes = frame[name].abs()
        if sizes.max() >= LARGEST:
            row = int(sizes.to_numpy().argmax())
            raise ValueError(
                f"{path} has {frame[name].iloc[row]:g} in column {name!r}, data row {row + 1}; numbers must be "
                f"finite and below {LARGEST:g} in size."
            )
    frame = frame[frame[target].notna()]
    if len(frame) > most_rows:
        print(f"  {most_rows} rows drawn at random (--rows)")
        frame = frame.sample(most_rows, random_state=0)
    y = frame.pop(target)
    X = frame.dropna(axis="columns", how="all")
    is_number = pd.api.types.is_numeric_dtype(y) and not pd.api.types.is_bool_dtype(y)
    is_classification = not is_number or (y.nunique() <= MOST_CLASSES and (y == y.round()).all())
    if is_classification:
        counts = y.value_counts()
        kept = y.isin(counts.index[counts >= 2])
        if (~kept).any():
            print(f"  {(~kept).sum()} rows left out whose class has no other row")
        X, y = X[kept], y[kept].astype(str)
    if X.shape[1] == 0 or y.nunique() < 2:
        raise ValueError(f"{path} has nothing to learn from: it needs a feature and two values of {target!r}.")
    if len(X) < 2 * folds:
        raise ValueError(f"{path} has {len(X)} rows to learn from; --folds {folds} needs at least {2 * folds}.")
    numbers = [c for c in X if pd.api.types.is_numeric_dtype(X[c]) and not pd.api.types.is_bool_dtype(X[c])]
    words = [c for c in X if c not in numbers]
    X = X.astype(dict.fromkeys(words, str)).astype(dict.fromkeys(words, object)).where(X.notna(), np.nan)
    kind = f"classification, {y.nunique()} classes" if is_classification else "regression"
    print(f"  target {target!r}: {kind}; features: {len(numbers)} numeric, {len(words)} categorical")

    def columns(*steps):
        one_hot = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=100)
        filled = SimpleImputer(strategy="constant", fill_value="(missing)")
        return make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="median"), *steps), numbers), (make_pipeline(filled, one_hot), words)
        )

    return Task(Path(path).stem, X, y.to_numpy(), is_classification, columns(), columns(StandardScaler()))


def learners(task):
    """For each learner: its name, the step before it, the learner whose ``eta0`` is searched, and its default form.

    None stands for a default form that is the same.
    """
    printed = {"centering": False, "importance_aware": False, "average": False, **PASSES}
    if task.is_classification:
        ours, theirs, printed = NAGClassifier, SGDClassifier, {"multi_class": "ovr", **printed}
        peer, default = {"loss": "log_loss", "learning_rate": "constant"}, {"loss": "log_loss"}
    else:
        ours, theirs, printed = NAGRegressor, SGDRegressor, {"target_normalization": None, "clip": None, **printed}
        peer, default = {"learning_rate": "constant"}, {}
    adagrad = ours(normalization=None, **printed)
    sgd, sgd_default = theirs(**peer, **PASSES), theirs(**default, **PASSES)
    return [
        (ours.__name__, task.raw, ours(**PASSES), None),
        ("NAG", task.raw, ours(normalization="max", **printed), None),
        ("sNAG", task.raw, ours(normalization="rms", **printed), None),
        ("AdaGrad", task.raw, adagrad, None),
        ("AdaGrad, scaled", task.scaled, adagrad, None),
        (theirs.__name__, task.raw, sgd, sgd_default),
        (f"{theirs.__name__}, scaled", task.scaled, sgd, sgd_default),
    ]


def search(task, learner, folds, n_jobs):
    """`Result` of one of `learners` on a task; its error is 1 - accuracy, or 1 - R^2."""
    name, before, estimator, default = learner
    pipeline = Pipeline([("prepare", before), ("learn", estimator)])
    split = (StratifiedKFold if task.is_classification else KFold)(folds, shuffle=True, random_state=0)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        grid = GridSearchCV(pipeline, {"learn__eta0": ETAS}, cv=split, n_jobs=n_jobs, refit=False)
        scores = _or_nan(lambda: grid.fit(task.X, task.y).cv_results_["mean_test_score"], len(ETAS))
        pipeline.set_params(learn=default or estimator)
        default_scores = _or_nan(lambda: cross_val_score(pipeline, task.X, task.y, cv=split, n_jobs=n_jobs), folds)
    return Result(name, 1.0 - np.asarray(scores, dtype=float), 1.0 - float(np.mean(default_scores)))


def _or_nan(make_scores, n):
    """Scores, or NaN for each where every single fit diverged, which scikit-learn makes an error."""
    try:
        return make_scores()
    except ValueError as error:
        if "fits failed" not in str(error):
            raise
        return np.full(n, np.nan)


def table(task, results):
    """The results on a task as text."""
    error = "1 - accuracy" if task.is_classification else "1 - R2"
    head = f"{'':24} {'best eta':>10} {'error there':>12} {'at default':>12} {'eta within 5 %':>16}"
    lines = [f"{task.name} ({task.X.shape[0]} rows, {task.X.shape[1]} features; error is {error})", head]
    for r in results:
        lines.append(
            f"  {r.learner:22} {ETAS[r.best]:10.4g} {_short(r.errors[r.best]):>12} {_short(r.default):>12} "
            f"{f'x {r.width:.3g}' if r.errors[r.best] < HOPELESS else '':>16}"
        )
    return "\n".join(lines)


def _short(error):
    return "diverged" if not error < HOPELESS else f"{error:.4f}"


def draw(outcome, path):
    """Save error against eta for each task, as in figure 3 of the paper; the bars mark what is within 5 % of the best.

    Parameters
    ----------
    outcome : list of (Task, list of Result)
        What to draw.
    path : Path
        File to write.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    wide = min(len(outcome), 2)
    high = -(-len(outcome) // wide)
    figure = Figure(figsize=(5.2 * wide, 3.8 * high + 0.7), layout="constrained")
    FigureCanvasAgg(figure)
    all_axes = figure.subplots(high, wide, squeeze=False).ravel()
    for (task, results), axes in zip(outcome, all_axes, strict=False):
        best = min(r.errors[r.best] for r in results)
        ceiling = min(max(3.0 * best, best + 0.2), 1.2)
        for i, r in enumerate(results):
            label = r.learner.replace("NAGClassifier", "defaults").replace("NAGRegressor", "defaults")
            label = label.replace("Classifier", "").replace("Regressor", "")
            style = "--" if "scaled" in r.learner else "-"
            shown = np.where(r.errors <= 1.5 * ceiling, r.errors, np.nan)
            (line,) = axes.plot(ETAS, shown, style, color=f"C{i}", marker=".", label=label)
            first, last = r.good
            height = ceiling * (1 - 0.025 * (i + 1))
            axes.plot(ETAS[[first, last]], [height] * 2, color=line.get_color(), lw=4, solid_capstyle="butt")
            if first == last:
                axes.plot(ETAS[first], height, "|", color=line.get_color(), ms=6, mew=2)
        error = "1 - accuracy" if task.is_classification else "1 - R²"
        axes.set(xscale="log", xlabel="learning rate η", ylabel=error, title=task.name, ylim=(0, ceiling))
    for axes in all_axes[len(outcome) :]:
        axes.set_axis_off()
    figure.legend(*all_axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    figure.suptitle("Error against learning rate, raw units; bars: within 5 % of the learner's best")
    figure.savefig(path, dpi=120)


def progress(done, total, what):
    """Redraw the progress bar if this is a terminal; wipe it when all is done."""
    if sys.stderr.isatty():
        filled = 30 * done // total
        text = f"[{'#' * filled}{'.' * (30 - filled)}] {done}/{total} {what}"
        sys.stderr.write(f"\r\x1b[K{text}" if done < total else "\r\x1b[K")
        sys.stderr.flush()


def parse(arguments):
    """Command-line options."""
    parser = argparse.ArgumentParser(
        prog="python -m sklearn_nag", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("csv", nargs="?", type=Path, help="CSV file with a header; bundled data sets without it")
    parser.add_argument("--target", help="column of the CSV file to predict")
    parser.add_argument("--figure", type=Path, default=Path("eta_range.png"), help="file for the figure (%(default)s)")
    parser.add_argument("--rows", type=int, default=10_000, help="most rows of the CSV file to use (%(default)s)")
    parser.add_argument("--folds", type=int, default=3, help="folds of the cross-validation (%(default)s)")
    parser.add_argument("--jobs", type=int, default=-1, help="processes; -1 is all cores (%(default)s)")
    options = parser.parse_args(arguments)
    if (options.csv is None) != (options.target is None):
        parser.error("a CSV file and --target go together")
    if options.csv is not None and not options.csv.is_file():
        parser.error(f"there is no file {options.csv}")
    if options.folds < 2 or options.rows < 10:
        parser.error("--folds must be at least 2 and --rows at least 10")
    return parser, options


def main(arguments=None):
    """Run the experiment; print the tables, save the figure."""
    parser, options = parse(arguments)
    try:
        if options.csv is None:
            tasks = bundled_tasks()
        else:
            tasks = [csv_task(options.csv, options.target, options.rows, options.folds)]
    except ValueError as error:
        parser.error(str(error))
    total, done, outcome = sum(len(learners(task)) for task in tasks), 0, []
    print(f"{len(ETAS)} learning rates from {ETAS[0]:.2g} to {ETAS[-1]:g}, {PASSES['max_iter']} passes, "
          f"{options.folds}-fold cross-validation")  # fmt: skip
    for task in tasks:
        results = []
        for learner in learners(task):
            progress(done, total, f"{task.name}: {learner[0]}")
            results.append(search(task, learner, options.folds, options.jobs))
            done += 1
        progress(total, total, "")
        outcome.append((task, results))
        print(f"\n{table(task, results)}", flush=True)
    try:
        draw(outcome, options.figure)
    except ImportError:
        print('\nNo figure: it needs matplotlib, pip install "sklearn-nag[plot]"')
    else:
        print(f"\nFigure: {options.figure}")


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")  # in worker processes, too: a range of eta has bad ends
    main()
