"""Several labels with one model, compared with one SGDClassifier for each label.

    python -m benchmarks.labels [--output FILE.csv] [--quick]

The rows are made up: dense counts of 100 columns with 10 labels, the same with columns in units that differ by up to a
million, and texts as counts of 20,000 words with 50 labels. Peers are
``MultiOutputClassifier(SGDClassifier("log_loss"))`` as it is and, for dense rows, on standardised columns. There is one
pass, and the seconds are those of learning. F1 over all labels, and the share of rows with all labels right, are those
of held-out rows.
"""

import time
import warnings

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.multioutput import MultiOutputClassifier
from sklearn.preprocessing import StandardScaler

from sklearn_nag import FTRLClassifier, NAGClassifier, ScaleInvariantClassifier

from .data import parse


def tasks(n_rows):
    """Return rows and labels by name."""
    options = {"n_samples": n_rows, "random_state": 0, "allow_unlabeled": False}
    X, Y = make_multilabel_classification(n_features=100, n_classes=10, n_labels=3, **options)
    units = 10.0 ** np.random.default_rng(0).uniform(-3, 3, 100)
    return {"dense": (X, Y), "dense, other units": (X * units, Y), "texts": texts(n_rows)}


def texts(n_rows, n_words=20_000, n_labels=50, length=100):
    """Return counts of words, and labels; half of a text's words follow Zipf's law, half are words of its labels."""
    rng = np.random.default_rng(0)
    Y = (rng.random((n_rows, n_labels)) < 0.3 / np.sqrt(1.0 + np.arange(n_labels))).astype(int)
    Y[np.arange(n_rows), rng.integers(0, n_labels, n_rows)] = 1
    words_of_label = rng.integers(0, n_words, (n_labels, 200))
    chances = np.repeat(Y[:, None], length // 2, axis=1) * rng.random((n_rows, length // 2, n_labels))
    own = words_of_label[chances.argmax(axis=2), rng.integers(0, 200, (n_rows, length // 2))]
    words = np.hstack([rng.zipf(1.3, (n_rows, length // 2)) % n_words, own])
    rows = np.repeat(np.arange(n_rows), words.shape[1])
    counts = sparse.coo_array(
        (np.ones(words.size), (rows.astype(np.int32), words.ravel().astype(np.int32))), shape=(n_rows, n_words)
    )
    return sparse.csr_matrix(counts), Y


def learners(is_dense):
    """Return learners by name, each with a scaler of columns or None."""
    sgd = MultiOutputClassifier(SGDClassifier(loss="log_loss", random_state=0))
    of_peer = {"SGD": (sgd, None), "SGD, scaled": (sgd, StandardScaler())} if is_dense else {"SGD": (sgd, None)}
    own = {"NAG": NAGClassifier(), "FTRL": FTRLClassifier(), "no rate": ScaleInvariantClassifier()}
    return {**of_peer, **{name: (learner, None) for name, learner in own.items()}}


def scores(learner, scaler, X, Y):
    """Return F1, the share of rows with all labels right, and the seconds of a pass."""
    train, test, labels, expected = train_test_split(X, Y, test_size=0.25, random_state=0)
    if scaler is not None:
        scaler.fit(train)
        train, test = scaler.transform(train), scaler.transform(test)
    if isinstance(learner, MultiOutputClassifier):
        learner.set_params(estimator__max_iter=1, estimator__shuffle=False)
        learn = learner.fit
    else:
        type(learner)().partial_fit(train[:2], labels[:2])  # compiles
        learn = learner.partial_fit
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        learn(train, labels)
    seconds = time.perf_counter() - start
    predicted = learner.predict(test)
    return f1_score(expected, predicted, average="micro"), np.mean((predicted == expected).all(axis=1)), seconds


def main():
    options = parse(__doc__, "CSV file to write the table to", "a tenth of the rows")
    lines = []
    print(f"{'data':20} {'learner':12} {'F1':>7} {'all right':>9} {'seconds':>8}")
    for data, (X, Y) in tasks(2_000 if options.quick else 20_000).items():
        for name, (learner, scaler) in learners(data != "texts").items():
            f1, right, seconds = scores(learner, scaler, X, Y)
            print(f"{data:20} {name:12} {f1:7.3f} {right:9.3f} {seconds:8.2f}", flush=True)
            shown = {"F1": f"{f1:.3f}", "all right": f"{right:.3f}", "seconds": f"{seconds:.2f}"}
            lines.append({"data": data, "learner": name, **shown})
    if options.output is not None:
        pd.DataFrame(lines).to_csv(options.output, index=False)


if __name__ == "__main__":
    main()
