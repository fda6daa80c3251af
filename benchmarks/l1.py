"""How close L1 and elastic-net penalties come to the exact solution.

    python -m benchmarks.l1 [--data-dir DIR] [--eta0 RATE]

The data are dense rows with 10 informative features of 200, standardised, and bags of words, as they are. The script
prints how many weights are not 0, and by how much the objective on the training rows exceeds the smallest one: after
`fit` with its own stopping, and after as many passes as asked for. The exact solutions are scikit-learn's, on features
divided by the scales that the model has learnt. For bags of words, ``--data-dir`` names the folder of
``sms_spam.txt.gz``.
"""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import ElasticNet, LogisticRegression

from sklearn_nag import NAGClassifier, NAGRegressor

from .options import count, file_in, load_each, parser_of

PENALTIES = ((0.1, 1.0), (0.01, 1.0), (0.1, 0.5))


def dense(seed, regression, n=2000, d=200, informative=10):
    """Return standardised features, few of which matter, and targets with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    score = X[:, :informative] @ rng.normal(size=informative)
    if not regression:
        return X, (rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * score))).astype(int)
    y = score + rng.normal(size=n)
    return X, (y - y.mean()) / y.std()


def objective(Z, y, u, intercept, alpha, l1_ratio):
    """Return the mean loss plus penalty; the loss is the log loss for classes, and half the square for numbers."""
    p = Z @ u + intercept
    losses = np.logaddexp(0.0, -(2 * y - 1) * p) if y.dtype.kind == "i" else (p - y) ** 2 / 2
    return losses.mean() + alpha * (l1_ratio * np.abs(u).sum() + (1 - l1_ratio) * (u @ u) / 2)


def exact(Z, y, alpha, l1_ratio):
    """Return the weights and the intercept of the exact solution."""
    n = len(y)
    if y.dtype.kind != "i":
        model = ElasticNet(alpha=alpha, l1_ratio=l1_ratio, tol=1e-8, max_iter=100_000).fit(Z, y)
        return model.coef_, model.intercept_
    if sparse.issparse(Z):  # its intercept is penalised, but hardly
        options = {"solver": "liblinear", "intercept_scaling": 100.0, "max_iter": 3000, "tol": 1e-6}
    else:
        options = {"solver": "saga", "max_iter": 5000, "tol": 1e-6}
    model = LogisticRegression(penalty="elasticnet", l1_ratio=l1_ratio, C=1.0 / (n * alpha), **options)
    if l1_ratio == 1.0:
        model.set_params(penalty="l1", l1_ratio=None)
    model.fit(Z, y)
    return model.coef_[0], model.intercept_[0]


def compare(name, X, y, alpha, l1_ratio, passes, eta0):
    """Print a row of the table."""
    regression = y.dtype.kind != "i"
    options = {"penalty": "elasticnet", "alpha": alpha, "l1_ratio": l1_ratio, "eta0": eta0, "random_state": 0}
    learner = NAGRegressor(**options) if regression else NAGClassifier(**options)
    cells = []
    for limits in ({}, *({"max_iter": number, "tol": None} for number in passes)):
        learner.set_params(**limits).fit(X, y)
        scale, mean = np.where(learner.scale_ > 0, learner.scale_, 1.0), learner.mean_
        if not cells:
            is_sparse = sparse.issparse(X) and not mean.any()
            Z = (X @ sparse.diags(1.0 / scale)).tocsr() if is_sparse else (X - mean) / scale
            u, intercept = exact(Z, y, alpha, l1_ratio)
            least = objective(Z, y, u, intercept, alpha, l1_ratio)
            cells += [f"{name:34}", f"{alpha:6g}", f"{l1_ratio:4g}", f"{np.count_nonzero(u):5d}"]
        coef = np.ravel(learner.coef_)
        value = objective(Z, y, coef * scale, np.ravel(learner.intercept_)[0] + coef @ mean, alpha, l1_ratio)
        cells.append(f"{learner.n_iter_:5d}: {np.count_nonzero(coef):4d} {100 * (value / least - 1):6.2f} %")
    print(" | ".join(cells), flush=True)


def messages(folder):
    """Return messages as counts of words, and whether they are spam."""
    with gzip.open(file_in(folder, "sms_spam.txt.gz"), "rt") as file:
        lines = [line.rstrip("\n").split("\t", 1) for line in file][1:]
    X = CountVectorizer(min_df=2).fit_transform(text for _, text in lines).astype(float)
    return X, np.array([int(label == "spam") for label, _ in lines])


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--data-dir", type=Path, help="folder of sms_spam.txt.gz")
    parser.add_argument("--seeds", type=count, default=3, help="how many draws of the dense rows")
    parser.add_argument(
        "--passes", type=int, nargs="*", default=[30, 100], help="numbers of passes besides that of fit"
    )
    parser.add_argument("--eta0", type=float, default=1.0, help="learning rate; 1 by default")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print("data | alpha | l1_ratio | nonzeros of the exact solution | passes: nonzeros, excess")
    for regression in (False, True):
        for seed in range(args.seeds):
            X, y = dense(seed, regression)
            for alpha, l1_ratio in PENALTIES:
                name = f"{'numbers' if regression else 'classes'}, 200 features, seed {seed}"
                compare(name, X, y, alpha, l1_ratio, args.passes, args.eta0)
    for name, X, y in load_each({} if args.data_dir is None else {"text messages": messages}, args.data_dir):
        for alpha in (0.1, 0.03, 0.01):
            compare(f"{name}, {X.shape[1]} words", sparse.csr_matrix(X), y, alpha, 1.0, args.passes, args.eta0)


if __name__ == "__main__":
    main()
