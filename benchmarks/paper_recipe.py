"""Progressive 0-1 error in the recipe of Ross, Mineiro and Langford (2013), section 6, at the best eta in hindsight.

    python -m benchmarks.paper_recipe --data-dir FOLDER

Rows are shuffled; zeros and negative numbers are dropped where the paper does so; categories are one-hot; all products
of two features are added; classes are learnt one against the rest; one pass. All etas are heads of one pass.

The folder holds Statlog (Shuttle) as ``shuttle.trn.gz`` and Bank Marketing as ``bank-full.csv.gz`` (both from UCI).
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures

from sklearn_nag import __version__, _losses
from sklearn_nag.kernels import Rule, State, learn

NORMALIZED_ETAS = 2.0 ** np.arange(-6, 6)
RAW_ETAS = 10.0 ** np.arange(-9, 2)  # without normalization the best eta has the unit of the features
RULES = {"NAG": ("max", True), "sNAG": ("rms", True), "NG": ("max", False), "AdaGrad": (None, True)}
PAPER = {
    "Shuttle": {"NAG": 0.036, "sNAG": 0.026, "AdaGrad": 0.040},
    "Bank": {"NAG": 0.098, "sNAG": 0.098, "AdaGrad": 0.109},
}


def shuttle(folder):
    """Shuttle: 43,500 rows, 9 features and their products, 7 classes; hinge loss."""
    data = pd.read_csv(folder / "shuttle.trn.gz", sep=r"\s+", header=None).to_numpy(dtype=float)
    return PolynomialFeatures(2, include_bias=False).fit_transform(data[:, :9]), data[:, 9], _losses.Hinge()


def bank(folder):
    """Bank: 45,211 rows, numbers above 0 and one-hot categories with their products, 2 classes; log loss."""
    data = pd.read_csv(folder / "bank-full.csv.gz", sep=";")
    y = data.pop("y").to_numpy()
    numbers = data.select_dtypes("number")
    words = data.drop(columns=numbers.columns)
    one_hot = OneHotEncoder().fit_transform(words)
    positive = sparse.csr_array(np.maximum(numbers.to_numpy(dtype=float), 0.0))
    X = sparse.hstack([positive, one_hot], format="csr")
    return PolynomialFeatures(2, include_bias=False).fit_transform(X), y, _losses.Log()


def errors(X, y, loss, rule, candidates, seed=0):
    """Progressive 0-1 error for each candidate of eta."""
    classes, codes = np.unique(y, return_inverse=True)
    n_heads = 1 if len(classes) == 2 else len(classes)
    targets = np.where(codes[:, None] == (np.arange(n_heads) if n_heads > 1 else [1]), 1.0, -1.0)
    etas = np.repeat(candidates, n_heads)
    state = State.new(Rule(*rule, True, tuple(etas)), X.shape[1])
    order = np.random.default_rng(seed).permutation(len(y))
    played = np.empty((len(y), len(etas)))
    learn(state, loss, X, np.tile(targets, len(candidates)), order=order, predictions=played)
    played = played.reshape(len(y), len(candidates), n_heads)
    predicted = played.argmax(axis=2) if n_heads > 1 else played[:, :, 0] > 0
    return (predicted != codes[order][:, None]).mean(axis=0)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True, help="folder with shuttle.trn.gz and bank-full.csv.gz")
    folder = parser.parse_args().data_dir
    print(f"sklearn_nag {__version__}")
    print(f"{'data':8} {'rule':8} {'best eta':>9} {'error':>8} {'paper':>7}")
    for name, load in {"Shuttle": shuttle, "Bank": bank}.items():
        X, y, loss = load(folder)
        for rule, key in RULES.items():
            etas = RAW_ETAS if key[0] is None else NORMALIZED_ETAS
            error = errors(X, y, loss, key, etas)
            best = int(np.argmin(error))
            printed = PAPER[name].get(rule)
            print(
                f"{name:8} {rule:8} {etas[best]:9.4g} {error[best]:8.4f} {printed if printed else '-':>7}", flush=True
            )


if __name__ == "__main__":
    main()
