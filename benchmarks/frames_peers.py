"""Tables as they come, with others: skrub's `tabular_pipeline` and River's `compose` on tables of `benchmarks.frames`.

    python -m benchmarks.frames_peers --data-dir FOLDER [--output FOLDER] [--quick]

The table has accuracy or R^2 on held-out rows (30 %) of 60,000 rows at most, and seconds to learn. River's learners see
20,000 rows, one by one. skrub and River have to be installed.
"""

import time
import warnings

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier, SGDRegressor
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split

from sklearn_nag import NAGClassifier, NAGRegressor
from sklearn_nag.preprocessing import prepare

from .data import parse
from .frames import tables

MOST_ONE_BY_ONE = 20_000  # rows that River learns


class OfRiver:
    """A learner of River behind its transformers, fitted row by row."""

    def __init__(self, classification, classes):
        from river import compose, linear_model, multiclass, preprocessing

        numbers = compose.SelectType(float) | preprocessing.StandardScaler()
        words = compose.SelectType(str) | preprocessing.OneHotEncoder()
        learner = linear_model.LogisticRegression() if classification else linear_model.LinearRegression()
        if classification and len(classes) > 2:
            learner = multiclass.OneVsRestClassifier(learner)
        self.model, self.classification = (numbers + words) | learner, classification
        self.named = {True: classes[1], False: classes[0]} if classification and len(classes) == 2 else {}

    @staticmethod
    def _rows(frame):
        numbers = frame.select_dtypes("number").astype(float)
        return pd.concat([numbers, frame.select_dtypes(exclude="number").astype(str)], axis=1).to_dict("records")

    def fit(self, frame, y):
        for row, target in zip(self._rows(frame[:MOST_ONE_BY_ONE]), y.tolist()):
            self.model.learn_one(row, target == self.named[True] if self.named else target)

    def score(self, frame, y):
        found = [self.model.predict_one(row) for row in self._rows(frame)]
        found = np.array([self.named.get(label, label) for label in found])
        return float((found == y).mean()) if self.classification else r2_score(y, found)


def scores(folder, most_rows, rng):
    """Return a row for each table and learner: score on held-out rows, and seconds to learn."""
    from skrub import tabular_pipeline

    found = []
    for name, frame, y in tables(folder, most_rows, rng):
        classification = y.dtype.kind != "f" and len(np.unique(y)) <= 20
        train, test, y_train, y_test = train_test_split(frame, y, test_size=0.3, random_state=0)
        sgd = SGDClassifier(loss="log_loss", random_state=0) if classification else SGDRegressor(random_state=0)
        batch = LogisticRegression(max_iter=100) if classification else Ridge()
        options = {"classes": np.unique(y)} if classification else {}
        models = {
            "prepare + NAG, one pass": prepare(train, NAGClassifier() if classification else NAGRegressor()),
            "skrub's tabular_pipeline + SGD": tabular_pipeline(sgd),
            f"skrub's tabular_pipeline + {type(batch).__name__}": tabular_pipeline(batch),
            "River, 20,000 rows": OfRiver(classification, np.unique(y)),
        }
        for what, model in models.items():
            if "one pass" in what:  # compiles
                clone(model).partial_fit(train[:100], y_train[:100], **options)
            start = time.perf_counter()
            if "one pass" in what:
                model.partial_fit(train, y_train, **options)
            else:
                model.fit(train, y_train)
            taken = time.perf_counter() - start
            score = model.score(test, y_test)
            found.append({"table": name, "learner": what, "score": f"{score:.3f}", "seconds": f"{taken:.1f}"})
            print(f"{name:10} {what:40} {score:.3f} {taken:6.1f} s", flush=True)
    return pd.DataFrame(found)


def main():
    """Print the table, and write it where ``--output`` says."""
    options = parse(__doc__, "folder for the table, as a CSV file", "few rows")
    warnings.filterwarnings("ignore")
    table = scores(options.data_dir, 3000 if options.quick else 60_000, np.random.default_rng(0))
    if options.output is not None:
        table.to_csv(options.output / "frames_peers.csv", index=False)


if __name__ == "__main__":
    main()
