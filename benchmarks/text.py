"""Text, one-hot rows and mixed frames: accuracy and time of the defaults, compared with SGDClassifier.

    python -m benchmarks.text [--data-dir FOLDER] [--output FOLDER] [--quick] [--record FILE.csv]

Accuracy is that on 30 % held-out rows, the median of nine splits: of one pass and of `fit` with the defaults, of one
pass with other scales, and of scikit-learn's learners. LogisticRegression is also shown with the best of four `C` by
cross-validation. The mixed frame has numbers far from 0 and 300 one-hot columns, as ColumnTransformer returns them, in
CSR and as an array; for scikit-learn's learners, its numbers are standardised.

Times are ratios of processor time to SGDClassifier in the same run, medians of five turns, on what TfidfVectorizer
returns for documents whose words follow a power law. ``sorted`` is the same matrix after ``sort_indices``. ``until`` is
the wall time of learning until the accuracy on 30 % held-out rows is that of `SGDClassifier().fit`, divided by the time
of that fit. It is the median of five splits, and infinite if most do not come to that accuracy in one pass.
"""

import os
import time
import warnings

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from sklearn_nag import NAGClassifier, config_context

from .data import SPARSE, TEXT, parse
from .options import load_each
from .provenance import record
from .speed import race

SPLITS, TURNS, CS = 9, 5, [0.3, 1.0, 5.0, 30.0]
PRINTED = {"normalization": "max", "centering": False, "importance_aware": False, "average": False}
MODELS = {
    "one pass": lambda seed: NAGClassifier(max_iter=1, random_state=seed),
    "fit": lambda seed: NAGClassifier(random_state=seed),
    "rms": lambda seed: NAGClassifier(normalization="rms", max_iter=1, random_state=seed),
    "max": lambda seed: NAGClassifier(normalization="max", max_iter=1, random_state=seed),
    "hinge, last weights": lambda seed: NAGClassifier("hinge", average=False, max_iter=1, random_state=seed),
    "SGD, one pass": lambda seed: SGDClassifier(max_iter=1, random_state=seed),
    "SGD fit": lambda seed: SGDClassifier(random_state=seed),
    "LogisticRegression": lambda seed: LogisticRegression(max_iter=300),
    "LogisticRegression, best C": lambda seed: GridSearchCV(LogisticRegression(max_iter=300), {"C": CS}, cv=3),
}


def tfidf(load):
    """Return a loader of the same counts, weighted."""

    def weighted(folder):
        X, y, _ = load(folder)
        return TfidfTransformer().fit_transform(X), y, False

    return weighted


def mixed_frame(n=20_000, n_cities=300):
    """Return a frame with a year, kelvin, a price and a city, and classes that depend on all of them."""
    rng = np.random.default_rng(0)
    city = rng.zipf(1.3, n) % n_cities
    frame = pd.DataFrame({"year": rng.normal(2000, 10, n), "kelvin": rng.normal(290, 8, n)})
    frame["price"], frame["city"] = rng.lognormal(10, 1, n), city
    z = (frame.year - 2000) / 10 + (frame.kelvin - 290) / 11 + (np.log(frame.price) - 10) / 2
    z += rng.normal(size=n_cities)[city] + rng.logistic(size=n)
    return frame, (z > 0).to_numpy(dtype=int)


def accuracies(X, y, models, splits):
    """Return the median accuracy of each model."""
    scores = {}
    for seed in range(splits):
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=seed)
        for name, make in models.items():
            scores.setdefault(name, []).append(make(seed).fit(X_train, y_train).score(X_test, y_test))
    return {name: np.median(values) for name, values in scores.items()}


def mixed_rows(folder=None):
    """Return the mixed frame as CSR, in the form in which loaders return rows."""
    frame, y = mixed_frame()
    encode = make_column_transformer((OneHotEncoder(), ["city"]), remainder="passthrough", sparse_threshold=1.0)
    return sparse.csr_matrix(encode.fit_transform(frame)), y, False


def scaled_numbers():
    """Return a transformer that standardises the numbers of the mixed frame, its last three columns, and keeps the
    others.
    """
    numbers = make_pipeline(FunctionTransformer(lambda X: X.toarray(), accept_sparse=True), StandardScaler())
    return make_column_transformer((numbers, slice(-3, None)), remainder="passthrough", sparse_threshold=1.0)


def mixed(splits):
    """Return accuracies on the mixed frame: CSR, the same as an array, and peers behind scaled numbers."""
    X, y, _ = mixed_rows()
    own = {name: MODELS[name] for name in ("one pass", "fit", "rms", "max")}
    peers = {
        name: lambda seed, make=MODELS[name]: make_pipeline(scaled_numbers(), make(seed))
        for name in ("SGD, one pass", "SGD fit", "LogisticRegression", "LogisticRegression, best C")
    }
    return {
        "mixed, CSR": accuracies(X, y, own | peers, splits),
        "mixed, array": accuracies(X.toarray(), y, own, splits),
    }


def documents(n, vocabulary, length, n_classes):
    """Return tf-idf of documents whose words follow a power law, and classes that shift some of them."""
    rng = np.random.default_rng(0)
    often = 1.0 / np.arange(10, vocabulary + 10) ** 1.05
    topics = [often * np.where(rng.random(vocabulary) < 0.02, 4.0, 1.0) for _ in range(n_classes)]
    sums = [np.cumsum(topic / topic.sum()) for topic in topics]
    y = rng.integers(n_classes, size=n)
    words = (np.searchsorted(sums[label], rng.random(length)) for label in y)
    texts = (" ".join(map("w{}".format, np.minimum(some, vocabulary - 1))) for some in words)
    return TfidfVectorizer().fit_transform(texts), y


def seconds(call):
    """Return the processor time of a call, which other work on the machine changes less than wall time."""
    start = time.process_time()
    call()
    return time.process_time() - start


def ratio(ours, theirs):
    """Return the median over turns of the time of one call divided by that of the other."""
    return np.median([seconds(ours) / seconds(theirs) for _ in range(TURNS)])


def in_turn(make, X, y):
    """Return a call that lets a new model learn the rows once."""
    classes = np.unique(y)
    return lambda: make().partial_fit(X, y, classes=classes)


def row_by_row(d, n=300):
    """Return a call that predicts each of some rows of ten words before learning it."""
    rng = np.random.default_rng(0)
    X = sparse.csr_matrix((np.ones(10 * n), rng.integers(d, size=10 * n), np.arange(0, 10 * n + 1, 10)), shape=(n, d))
    X.sum_duplicates()
    rows, model = [X[i] for i in range(n)], NAGClassifier().partial_fit(X[:2], [0, 1], classes=[0, 1])

    def run():
        for i, row in enumerate(rows):
            model.predict(row)
            model.partial_fit(row, [i % 2])

    return run


def until_as_accurate(X, y):
    """Return the median ratio of the time to reach the test accuracy of `SGDClassifier().fit`, in one pass, to its
    time.
    """
    ratios = []
    for seed in range(TURNS):
        rows = train_test_split(X, y, test_size=0.3, random_state=seed)
        ratios.append(race(SGDClassifier(), *rows, seed, passes=1)[0])
    return np.median(ratios)


def times(quick, sets):
    """Yield lines of the table of times; ``sets`` are rows and classes by name, in addition to those made up."""
    n = 1_000 if quick else 25_000
    X, y = documents(n, 45_000, 200, 2)
    ordered = X.copy()
    ordered.sort_indices()
    many, labels = documents(n, 45_000, 100, 20)
    own = {"as printed": lambda: NAGClassifier(**PRINTED), "defaults": NAGClassifier}
    for make in own.values():  # compile
        in_turn(make, X[:100], y[:100])()
        in_turn(make, many[:200], labels[:200])()
    print(
        f"{X.shape[0]:,} x {X.shape[1]:,}, {X.nnz / X.shape[0]:.0f} nonzeros a row, "
        f"sorted: {bool(X.has_sorted_indices)}"
    )
    for name, make in own.items():
        yield (
            f"as it comes, {name} / SGD with average",
            ratio(in_turn(make, X, y), in_turn(lambda: SGDClassifier(average=True), X, y)),
        )
        yield f"sorted, {name} / SGD", ratio(in_turn(make, ordered, y), in_turn(SGDClassifier, ordered, y))
        yield f"20 classes, {name} / SGD", ratio(in_turn(make, many, labels), in_turn(SGDClassifier, many, labels))
    for name, rows in {"made-up text": (X, y), "made-up text, 20 classes": (many, labels), **sets}.items():
        yield f"until the accuracy of SGD fit, {name} / SGD fit", until_as_accurate(*rows)
    yield (
        "fit, one pass / SGD fit",
        ratio(lambda: NAGClassifier(max_iter=1).fit(X, y), lambda: SGDClassifier().fit(X, y)),
    )
    yield "predict, then learn one row: 4,194,304 columns / 1,024", ratio(row_by_row(2**22), row_by_row(2**10))
    X, y = X[:5_000], y[:5_000]
    with config_context(kernel="numpy"):
        spent = [seconds(in_turn(NAGClassifier, X, y)) for _ in range(TURNS)]
    yield "NumPy kernel, microseconds a row", np.median(spent) / len(y) * 1e6


def main():
    """Print both tables."""
    options = parse(
        __doc__,
        "folder to write text_accuracy.csv and text_times.csv to",
        "small sizes: that it runs",
        record="CSV file to append the ratios to",
    )
    warnings.simplefilter("ignore", ConvergenceWarning)
    splits = 1 if options.quick else SPLITS
    table, sets = mixed(splits), {}
    if options.data_dir is not None:
        loaders = {**TEXT, "Reuters": SPARSE["Reuters"]}
        loaders |= {f"{name}, tf-idf": tfidf(TEXT[name]) for name in ("SMS spam", "TREC questions")}
        sets = {name: (X, y) for name, X, y, _ in load_each(loaders, options.data_dir)}
    table |= {name: accuracies(*rows, MODELS, splits) for name, rows in sets.items()}
    frame = pd.DataFrame(table).T.reindex(columns=list(MODELS)).rename_axis("data")
    print(frame.to_string(float_format=lambda value: f"{value:.4f}", na_rep="-"), flush=True)
    spent = pd.DataFrame([(f"{line}", value) for line, value in times(options.quick, sets)], columns=["work", "ratio"])
    print(spent.to_string(index=False, float_format=lambda value: f"{value:.2f}"))
    print(f"{os.cpu_count()} processors")
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        frame.to_csv(options.output / "text_accuracy.csv", float_format="%.4f", na_rep="-")
        spent.to_csv(options.output / "text_times.csv", float_format="%.2f", index=False)
    if options.record is not None:
        record(options.record, dict(spent.to_numpy()))


if __name__ == "__main__":
    main()
