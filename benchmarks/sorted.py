"""One pass over rows that come sorted by class: the effect of centring, averages and losses.

    python -m benchmarks.sorted

Prints the accuracy on the rows themselves after one `partial_fit` of each data set, one class after another. SGD gets
features that were standardised beforehand. ``average alone`` is average=True, ``last weights`` average=False;
``shuffled`` is the default after one pass in random order.
"""

import warnings

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler

from sklearn_nag import NAGClassifier, ScaleInvariantClassifier

from .options import parser_of

SETS = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}
LEARNERS = {
    "default": NAGClassifier(),
    "average alone": NAGClassifier(average=True),
    "last weights": NAGClassifier(average=False),
    "not centred": NAGClassifier(centering=False),
    "hinge": NAGClassifier("hinge"),
    "hinge, last weights": NAGClassifier("hinge", average=False),
    "two passes": NAGClassifier(max_iter=2, tol=None, shuffle=False),
    "scale-invariant": ScaleInvariantClassifier(),
    "SGD": SGDClassifier(random_state=0),
    "SGD, log loss": SGDClassifier("log_loss", random_state=0),
}


def main():
    """Print the table."""
    parser_of(__doc__).parse_args()
    warnings.simplefilter("ignore")
    table = {}
    for name, load in SETS.items():
        X, y = load(return_X_y=True)
        order = np.argsort(y, kind="stable")
        X, y, classes = X[order], y[order], np.unique(y)
        Z = StandardScaler().fit_transform(X)
        table[name] = {}
        for learner, model in LEARNERS.items():
            rows = Z if learner.startswith("SGD") else X
            learnt = (
                model.fit(rows, y) if learner == "two passes" else clone(model).partial_fit(rows, y, classes=classes)
            )
            table[name][learner] = learnt.score(rows, y)
        table[name]["shuffled"] = NAGClassifier(max_iter=1, random_state=0).fit(X, y).score(X, y)
    print(pd.DataFrame(table).round(2).to_csv(lineterminator="\n", index_label="learner"))


if __name__ == "__main__":
    main()
