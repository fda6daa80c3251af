"""Text out of core: progressive accuracy and time, compared with SGDClassifier, on hashed words that come in batches.

    python -m benchmarks.out_of_core [--data-dir FOLDER] [--output FILE.csv] [--quick]

Each batch of texts is hashed, predicted, learnt and dropped; no text is seen twice. Accuracy is that of the predictions
made before a batch was learnt, without the first batch: over all rows, and over the last half. Seconds are those of
`predict` and `partial_fit`. Made-up documents have words whose frequencies follow a power law, and come from a
generator. With ``--data-dir``, messages of SMS Spam and questions of TREC are read line by line, in the order of their
files.
"""

import functools
import gzip
import itertools
import time

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier

from sklearn_nag import FTRLClassifier, NAGClassifier

from .data import parse
from .options import file_in, load_each

BATCH = 500
LEARNERS = {
    "NAG": NAGClassifier,
    "FTRL": FTRLClassifier,
    "SGD": lambda: SGDClassifier(random_state=0),
    "SGD, average": lambda: SGDClassifier(average=True, random_state=0),
}
QUESTIONS = ["ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"]
FILES = [
    ("sms_spam.txt.gz", "SMS spam", ["ham", "spam"], {"separator": "\t", "encoding": "utf-8", "skipped": 1}),
    ("trec_questions.label.gz", "TREC questions", QUESTIONS, {"separator": " ", "encoding": "latin-1"}),
]


def made_up(n, n_classes, length=60, vocabulary=50_000):
    """Yield documents and their topics, each of which shifts some of the words."""
    rng = np.random.default_rng(0)
    often = 1.0 / np.arange(10, vocabulary + 10) ** 1.05
    sums = np.cumsum(often * np.where(rng.random((n_classes, vocabulary)) < 0.02, 4.0, 1.0), axis=1)
    for _ in range(n):
        topic = int(rng.integers(n_classes))
        words = np.searchsorted(sums[topic], rng.random(length) * sums[topic, -1])
        yield " ".join(map("w{}".format, words)), topic


def lines(path, separator, encoding, skipped=0):
    """Yield texts of a file and their labels, which come first in each line."""
    with gzip.open(path, "rt", encoding=encoding) as file:
        for line in itertools.islice(file, skipped, None):
            label, text = line.rstrip("\n").split(separator, 1)
            yield text, label.split(":")[0]


def streams(folder, quick):
    """Yield the name, the classes, and a function that begins the stream of texts and classes, for each stream."""
    n = 2_000 if quick else 10_000
    for n_classes in (2, 20):
        yield f"made up, {n_classes} classes", np.arange(n_classes), functools.partial(made_up, n, n_classes)
    if folder is None:
        return
    for file, name, classes, options in FILES:
        for _, path in load_each({name: lambda folder, file=file: [file_in(folder, file)]}, folder):
            yield f"{name}, {len(classes)} classes", np.array(classes), functools.partial(lines, path, **options)


def batches(stream):
    """Yield texts and classes in batches."""
    stream = iter(stream)
    while rows := list(itertools.islice(stream, BATCH)):
        yield map(np.array, zip(*rows))


def run(stream, classes):
    """Return progressive accuracies and seconds of each learner, in one pass over the stream."""
    words = HashingVectorizer(n_features=2**18, alternate_sign=False, token_pattern=r"(?u)\b\w+\b")
    learners = {name: make() for name, make in LEARNERS.items()}
    right, spent = {name: [] for name in LEARNERS}, dict.fromkeys(LEARNERS, 0.0)
    for i, (texts, labels) in enumerate(batches(stream)):
        X = words.transform(texts)
        for name, learner in learners.items():
            start = time.perf_counter()
            if i > 0:
                right[name].append(learner.predict(X) == labels)
            learner.partial_fit(X, labels, classes=classes)
            spent[name] += time.perf_counter() - start
    table = {}
    for name, parts in right.items():
        hits = np.concatenate(parts)
        table[name] = {"accuracy": hits.mean(), "last half": hits[len(hits) // 2 :].mean(), "seconds": spent[name]}
    return table


def main():
    """Print the table."""
    options = parse(__doc__, "file to write the table to, as CSV", "2,000 made-up documents: that it runs")
    rows = []
    for name, classes, begin in streams(options.data_dir, options.quick):
        run(itertools.islice(begin(), 2 * BATCH), classes)  # compile
        rows += [{"stream": name, "learner": learner, **row} for learner, row in run(begin(), classes).items()]
    frame = pd.DataFrame(rows)
    frame["seconds"] = frame["seconds"].map("{:.2f}".format)
    print(frame.to_string(index=False, float_format="%.4f"))
    if options.output is not None:
        frame.to_csv(options.output, index=False, float_format="%.4f")


if __name__ == "__main__":
    main()
