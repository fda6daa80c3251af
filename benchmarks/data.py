"""Data in raw units: files in a folder that the user names, and sets that ship with scikit-learn.

Each loader returns rows, targets and whether the task is regression. The files are those of the UCI repository
(Statlog Shuttle, Bank Marketing, Census-Income KDD, Covertype, Bike Sharing, Abalone), California housing of StatLib,
and Reuters text in svmlight form.
"""

import bz2
import gzip
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_svmlight_file, load_wine
from sklearn.feature_extraction.text import CountVectorizer

from sklearn_nag import datasets

from .options import file_in, new_file, new_folder, parser_of


def parse(description, output, quick, **others):
    """Return command-line options of a table over these sets, with the help for ``--output``, ``--quick`` and others.

    If a help begins with "folder", "file" or "CSV file", the option names what to write to; otherwise it is a word.
    """
    parser = parser_of(description)
    parser.add_argument("--data-dir", type=Path, help="folder with the files that benchmarks.data names")
    parser.add_argument("--quick", action="store_true", help=quick)
    for name, what in {"output": output, **others}.items():
        kind = new_folder if what.startswith("folder") else new_file if what.startswith(("file", "CSV file")) else str
        parser.add_argument(f"--{name}", type=kind, help=what)
    return parser.parse_args()


def shuttle(folder):
    """Shuttle, 58,000 x 9, 7 classes."""
    return *datasets.fetch_shuttle(subset="all", data_home=folder, download_if_missing=False, return_X_y=True), False


def _numbers(bunch):
    return np.delete(bunch.data, bunch.categorical_features, axis=1).astype(float), bunch.target, False


def bank(folder):
    """Bank, the 7 numeric columns of 45,211 rows, 2 classes."""
    return _numbers(datasets.fetch_bank(data_home=folder, download_if_missing=False))


def bank_one_hot(folder):
    """Bank, numbers as they are and categories one-hot, as CSR."""
    bunch = datasets.fetch_bank(data_home=folder, download_if_missing=False)
    recipe = datasets.paper_recipe(bunch.categorical_features, products=False)
    return recipe.fit_transform(bunch.data), bunch.target, False


def census(folder):
    """Census-Income, the 13 numeric columns of 199,523 rows, 2 classes."""
    return _numbers(datasets.fetch_census(data_home=folder, download_if_missing=False))


def covertype(folder):
    """Covertype, 581,012 x 54, 7 classes."""
    X, y = datasets.fetch_covertype(data_home=folder, download_if_missing=False, return_X_y=True)
    return np.ascontiguousarray(X), y, False


def reuters(folder):
    """Reuters text, 11,069 x 8,315, 2 classes, as CSR."""
    parts = []
    for name in ("reuters.trn.bz2", "reuters.tst.bz2"):
        with bz2.open(file_in(folder, name)) as file:
            parts.append(load_svmlight_file(file, n_features=8315))
    return sparse.vstack([X for X, _ in parts], format="csr"), np.concatenate([y for _, y in parts]).astype(int), False


def adult(folder):
    """Adult, one-hot, 48,842 x 123, 2 classes, as CSR."""
    parts = []
    for name in ("adult.trn.bz2", "adult.tst.bz2"):
        with bz2.open(file_in(folder, name)) as file:
            parts.append(load_svmlight_file(file, n_features=123, zero_based=True))
    return sparse.vstack([X for X, _ in parts], format="csr"), np.concatenate([y for _, y in parts]).astype(int), False


def w8a(folder):
    """Web pages, 49,749 x 300, 2 classes, as CSR."""
    with gzip.open(file_in(folder, "w8a.libsvm.gz")) as file:
        X, y = load_svmlight_file(file, n_features=300)
    return X, y.astype(int), False


def _bag_of_words(texts):
    return CountVectorizer(dtype=np.float64, token_pattern=r"(?u)\b\w+\b").fit_transform(texts).tocsr()


def spam(folder):
    """SMS Spam, 5,574 messages as counts of words, 2 classes, as CSR."""
    with gzip.open(file_in(folder, "sms_spam.txt.gz"), "rt", encoding="utf-8") as file:
        next(file)  # names of the columns
        labels, texts = zip(*(line.rstrip("\n").split("\t", 1) for line in file))
    return _bag_of_words(texts), np.array(labels), False


def questions(folder):
    """TREC questions, 5,452 as counts of words, 6 classes, as CSR."""
    with gzip.open(file_in(folder, "trec_questions.label.gz"), "rt", encoding="latin-1") as file:
        labels, texts = zip(*(line.rstrip("\n").split(" ", 1) for line in file))
    return _bag_of_words(texts), np.array([label.split(":")[0] for label in labels]), False


def msd_subset(folder):
    """Timbre of the Million Song Subset, 4,680 x 90, the year as target."""
    data = pd.read_csv(file_in(folder, "msd_subset_timbre90.csv.gz"))
    y = data.pop("year").to_numpy(dtype=float)
    return data.to_numpy(dtype=float), y, True


def california(folder):
    """California housing, 20,640 x 8."""
    data = pd.read_csv(file_in(folder, "cal_housing.csv.gz"))
    y = data.pop("medianHouseValue").to_numpy(dtype=float)
    return data.to_numpy(dtype=float), y, True


def abalone(folder):
    """Abalone, 4,177 x 10 (the sex one-hot)."""
    data = pd.read_csv(file_in(folder, "abalone.csv.gz"), header=None)
    y = data.pop(8).to_numpy(dtype=float)
    return pd.get_dummies(data, columns=[0], dtype=float).to_numpy(dtype=float), y, True


def bikes(folder):
    """Bike sharing by the hour, 17,379 x 12."""
    data = pd.read_csv(file_in(folder, "bike-hour.csv.gz"))
    y = data.pop("cnt").to_numpy(dtype=float)
    return data.drop(columns=["instant", "dteday", "casual", "registered"]).to_numpy(dtype=float), y, True


def _bundled(load, **options):
    def read(folder):
        X, y = load(return_X_y=True, **options)
        return X, y, load is load_diabetes

    return read


BUNDLED = {
    "diabetes": _bundled(load_diabetes, scaled=False),
    "breast cancer": _bundled(load_breast_cancer),
    "wine": _bundled(load_wine),
    "digits": _bundled(load_digits),
}
FILES = {
    "California housing": california,
    "abalone": abalone,
    "bike sharing": bikes,
    "Bank": bank,
    "Census": census,
    "Shuttle": shuttle,
    "Covertype": covertype,
}
SPARSE = {"Bank one-hot": bank_one_hot, "Reuters": reuters}
TEXT = {"Adult": adult, "w8a": w8a, "SMS spam": spam, "TREC questions": questions}
