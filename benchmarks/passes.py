"""What `fit` makes of its passes: one pass, passes until the loss settles, and as many as help on held-out rows.

    python -m benchmarks.passes [--data-dir FOLDER] [--output FILE.csv] [--quick]

Scores are accuracies, or R^2 for regression, on a quarter of at most 20,000 rows; losses are log losses, and squared
errors relative to those of the mean. Both are means over five splits. ``passes`` are those over all rows, including the
search. Sets with few rows for their columns are also made from small sets: with splines, and with pairs of bins.
"""

import gzip
import warnings

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import KBinsDiscretizer, PolynomialFeatures, SplineTransformer

from sklearn_nag import NAGClassifier, NAGRegressor

from .data import BUNDLED, FILES, SPARSE, TEXT, abalone, bikes, msd_subset, parse
from .options import file_in, load_each

SPLITS, MOST = 5, 20_000
WAYS = {
    "one pass": {"max_iter": 1},
    "until settled": {"early_stopping": False},
    "fit": {},
}


def film(vectorizer):
    """Return a loader of sentences of film reviews, 10,662, as a vectorizer sees them."""

    def load(folder):
        with gzip.open(file_in(folder, "movie_sentences.txt.gz"), "rt", encoding="latin-1") as file:
            labels, texts = zip(*(line.rstrip("\n").split("\t", 1) for line in file))
        return vectorizer.fit_transform(texts).tocsr(), np.array(labels), False

    return load


def questions(vectorizer):
    """Return a loader of TREC questions, 5,452, as a vectorizer sees them."""

    def load(folder):
        with gzip.open(file_in(folder, "trec_questions.label.gz"), "rt", encoding="latin-1") as file:
            labels, texts = zip(*(line.rstrip("\n").split(" ", 1) for line in file))
        return vectorizer.fit_transform(texts).tocsr(), np.array([label.split(":")[0] for label in labels]), False

    return load


def with_splines(load, n_knots):
    """Return a loader that adds cubic splines of each column to a set."""

    def load_more(folder):
        X, y, regression = load(folder)
        splines = SplineTransformer(n_knots, knots="quantile", extrapolation="constant").fit_transform(X)
        return np.hstack([X, np.nan_to_num(splines)]), y, regression

    return load_more


def with_pairs(load, n_bins):
    """Return a loader that adds bins of each column, and all pairs of these, to a set."""

    def load_more(folder):
        X, y, regression = load(folder)
        bins = KBinsDiscretizer(n_bins, strategy="uniform").fit_transform(X).tocsr()
        pairs = PolynomialFeatures(2, interaction_only=True, include_bias=False).fit_transform(bins)
        return sparse.csr_array(sparse.hstack([X, pairs])), y, regression

    return load_more


def bundled(load, **options):
    """Return a loader of a set that ships with scikit-learn."""

    def read(folder):
        return *load(return_X_y=True, **options), load is load_diabetes

    return read


TOKENS = {"token_pattern": r"(?u)\b\w+\b"}  # words of one letter, too
MADE = {
    "diabetes + pairs": with_pairs(bundled(load_diabetes, scaled=False), 6),
    "breast cancer + pairs": with_pairs(bundled(load_breast_cancer), 4),
}
LOADED = {
    **FILES,
    "MSD subset": msd_subset,
    **SPARSE,
    **TEXT,
    "TREC tf-idf": questions(TfidfVectorizer(**TOKENS)),
    "film counts": film(CountVectorizer()),
    "film tf-idf": film(TfidfVectorizer()),
    "film words and pairs": film(TfidfVectorizer(ngram_range=(1, 2))),
    "film hashed": film(HashingVectorizer(n_features=2**18)),
    "abalone + splines": with_splines(abalone, 17),
    "bike + splines": with_splines(bikes, 17),
    "MSD subset + splines": with_splines(msd_subset, 8),
    "abalone + pairs": with_pairs(abalone, 10),
    "bike + pairs": with_pairs(bikes, 10),
}


def judged(model, X, y, regression):
    """Return the score and loss of a fitted model on rows that it has not seen."""
    if regression:
        return model.score(X, y), np.mean((model.predict(X) - y) ** 2) / np.var(y)
    return model.score(X, y), log_loss(y, model.predict_proba(X), labels=model.classes_)


def measure(X, y, regression):
    """Return the mean score, loss and number of passes over all rows, for each way."""
    make, found = NAGRegressor if regression else NAGClassifier, {way: [] for way in WAYS}
    for seed in range(SPLITS):
        rows = np.random.default_rng(seed).permutation(len(y))[:MOST]
        stratify = None if regression or np.unique(y[rows], return_counts=True)[1].min() < 2 else y[rows]
        X_train, X_test, y_train, y_test = train_test_split(X[rows], y[rows], random_state=seed, stratify=stratify)
        for way, options in WAYS.items():
            model = make(random_state=seed, **options).fit(X_train, y_train)
            # A search leaves out a tenth of the rows, and learns them once if its best model is kept.
            passes = model.n_iter_ if model.n_iter_ <= 5 or not len(model.validation_losses_) else 0.1
            passes += 0.9 * len(model.validation_losses_)
            found[way].append((*judged(model, X_test, y_test, regression), passes))
    return {way: np.mean(values, axis=0) for way, values in found.items()}


def main():
    """Print the table."""
    args = parse(__doc__, "CSV file to write the table to", "bundled sets alone")
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", UserWarning)  # about bins without rows
    sets = {**BUNDLED, **MADE} if args.quick or args.data_dir is None else {**BUNDLED, **MADE, **LOADED}
    print(f"{'':22s}" + "".join(f"{way:>26s}" for way in WAYS))
    print(f"{'':22s}" + f"{'score    loss  passes':>26s}" * len(WAYS), flush=True)
    lines = []
    for name, X, y, regression in load_each(sets, args.data_dir):
        found = measure(X, y, regression)
        print(
            f"{name:22s}" + "".join(f"{score:11.4f} {loss:7.4f} {n:6.1f}" for score, loss, n in found.values()),
            flush=True,
        )
        for way, (score, loss, n) in found.items():
            lines.append({"data": name, "way": way, "score": score, "loss": loss, "passes": n})
    if args.output:
        pd.DataFrame(lines).to_csv(args.output, index=False, float_format="%.5g")


if __name__ == "__main__":
    main()
