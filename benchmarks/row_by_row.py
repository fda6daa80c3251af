"""One row at a time: the time to predict a row and then to learn it, compared with peers.

    python -m benchmarks.row_by_row [--output FILE.csv] [--quick]

Numbers are ten normal columns, and two classes that depend on a product of two of them. Frames have one row each, with
two numbers, a word and a time. Each learner first learns 1,500 rows. Times are medians over the rows that follow, in
microseconds. ``together`` is predicting and learning, and ``over SGD`` its ratio to that of ``SGDClassifier`` on the
same rows. Learners take turns, forty rows each, so that a machine whose speed drifts does not matter.
"""

import importlib.util
import time
import warnings

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from sklearn_nag import (
    FTRLClassifier,
    HedgeClassifier,
    NAGCellsClassifier,
    NAGClassifier,
    ScaleInvariantClassifier,
)
from sklearn_nag.preprocessing import prepare

from .options import new_file, parser_of
from .provenance import write_table

FIRST, TIMED, AT_ONCE, N_COLUMNS = 1500, 400, 40, 10
HEADER = ["rows", "learner", "predict", "learn", "together", "over SGD"]
LABELS = [0, 1]


class Learner:
    """A learner with ``predict_proba`` and ``partial_fit``, behind a ``scaler`` if one is given."""

    def __init__(self, model, scaler=None):
        self.model, self.scaler = model, scaler

    def predict(self, row):
        """Return the probabilities of a row."""
        return self.model.predict_proba(row if self.scaler is None else self.scaler.transform(row))

    def learn(self, row, label):
        """Learn rows with their labels."""
        if self.scaler is not None:
            row = self.scaler.partial_fit(row).transform(row)
        self.model.partial_fit(row, label, classes=LABELS)


class Prepared(Learner):
    """`SGDClassifier` behind a transformer that has already learnt its columns."""

    def learn(self, row, label):
        """Learn rows with their labels."""
        self.model.partial_fit(self.scaler.transform(row), label, classes=LABELS)


class River:
    """A learner of River, whose rows are dicts."""

    def __init__(self, model):
        self.model = model

    def predict(self, row):
        """Return the probabilities of a row."""
        return self.model.predict_proba_one(row)

    def learn(self, row, label):
        """Learn a row with its label."""
        self.model.learn_one(row, label)


def normal_rows(n):
    """Return rows of numbers, and two classes that depend on a product."""
    X = np.random.default_rng(0).normal(size=(n, N_COLUMNS))
    return X, (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)


def frame_of(X):
    """Return a frame with two of the numbers, a word and a time."""
    words = np.array(["low", "middle", "high"])[np.digitize(X[:, 2], [-1.0, 1.0])]
    hours = pd.date_range("2026-01-01", periods=len(X), freq="h")
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "word": words, "time": hours})


def hours_of_day():
    """Return a transformer of a column of times."""
    return FunctionTransformer(lambda times: times.apply(lambda column: column.dt.hour))


def of_numbers():
    """Yield learners of rows of numbers, by name; others are compared with the first."""
    yield "SGDClassifier", Learner(SGDClassifier(loss="log_loss", random_state=0))
    scaled = Learner(SGDClassifier(loss="log_loss", random_state=0), StandardScaler())
    yield "StandardScaler, SGDClassifier", scaled
    yield "NAGClassifier", Learner(NAGClassifier())
    yield "NAGClassifier(eta0='auto')", Learner(NAGClassifier(eta0="auto"))
    yield "NAGClassifier(half_life='auto')", Learner(NAGClassifier(half_life="auto"))
    yield "ScaleInvariantClassifier", Learner(ScaleInvariantClassifier())
    yield "FTRLClassifier", Learner(FTRLClassifier())
    yield "HedgeClassifier", Learner(HedgeClassifier())
    yield "NAGCellsClassifier", Learner(NAGCellsClassifier(random_state=0))
    yield "NAGCellsClassifier(half_life='auto')", Learner(NAGCellsClassifier(random_state=0, half_life="auto"))
    if importlib.util.find_spec("river"):
        from river import forest, linear_model, preprocessing

        yield (
            "River, scaler and logistic regression",
            River(preprocessing.StandardScaler() | linear_model.LogisticRegression()),
        )
        yield "River, adaptive random forest", River(forest.ARFClassifier(seed=0))


def of_frames(frame):
    """Yield learners of frames, by name; others are compared with the first."""
    columns = make_column_transformer(
        (StandardScaler(), ["a", "b"]), (OneHotEncoder(handle_unknown="ignore"), ["word"]), (hours_of_day(), ["time"])
    )
    yield "ColumnTransformer, SGDClassifier", Prepared(SGDClassifier(loss="log_loss"), columns.fit(frame))
    yield "prepare, NAGClassifier", Learner(prepare(frame, NAGClassifier()))
    yield "prepare, NAGCellsClassifier", Learner(prepare(frame, NAGCellsClassifier(random_state=0)))
    if importlib.util.find_spec("river"):
        from river import compose, linear_model, preprocessing

        encode = compose.Select("word") | preprocessing.OneHotEncoder()
        scale = compose.Discard("word") | preprocessing.StandardScaler()
        yield (
            "River, scaler, one-hot encoder and logistic regression",
            River((encode + scale) | linear_model.LogisticRegression()),
        )


def measure(kind, learners, rows, dicts, labels, n_timed):
    """Yield lines of the table for one kind of rows."""
    for _, learner in learners:
        if isinstance(learner, River):
            for row, label in zip(dicts[:FIRST], labels[:FIRST]):
                learner.learn(row, bool(label))
        else:
            learner.learn(rows[:FIRST], labels[:FIRST])
    spent = np.empty((n_timed, len(learners), 2))
    for start in range(0, n_timed, AT_ONCE):
        for j, (_, learner) in enumerate(learners):
            for i in range(start, min(start + AT_ONCE, n_timed)):
                place = FIRST + i
                row, label = rows[place : place + 1], labels[place : place + 1]
                if isinstance(learner, River):
                    row, label = dicts[place], bool(label[0])
                before = time.perf_counter()
                learner.predict(row)
                between = time.perf_counter()
                learner.learn(row, label)
                spent[i, j] = between - before, time.perf_counter() - between
    medians = 1e6 * np.median(spent, axis=0)
    together = 1e6 * np.median(spent.sum(axis=2), axis=0)
    for (name, _), (predict, learn), both in zip(learners, medians, together):
        yield [kind, name, f"{predict:.0f}", f"{learn:.0f}", f"{both:.0f}", f"{both / together[0]:.2f}"]


def main():
    """Print the table, and write it to a file."""
    parser = parser_of(__doc__)
    parser.add_argument("--output", type=new_file, help="CSV file to write")
    parser.add_argument("--quick", action="store_true", help="a few rows of each")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    n_timed = 20 if arguments.quick else TIMED
    X, y = normal_rows(FIRST + n_timed)
    frame = frame_of(X)
    table = []

    def show(line):
        table.append(line)
        print(f"{line[0]:10s}{line[1]:56s}" + "".join(f"{cell:>12s}" for cell in line[2:]), flush=True)

    show(HEADER)
    records = frame.assign(time=frame["time"].astype("int64")).to_dict("records")
    for kind, learners, rows, dicts in [
        ("numbers", of_numbers(), X, [dict(enumerate(row)) for row in X.tolist()]),
        ("frames", of_frames(frame), frame, records),
    ]:
        for line in measure(kind, list(learners), rows, dicts, y, n_timed):
            show(line)
    if arguments.output:
        write_table(arguments.output, table)


if __name__ == "__main__":
    main()
