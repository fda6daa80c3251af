"""Figures that others have published, compared with ours on the same rows.

    python -m benchmarks.published --data-dir FOLDER [--output FILE.csv] [--quick]

The rows are Elec2, the electricity of New South Wales, 45,312 rows in time order. Figures are the accuracy of
predictions made before each row was learnt, as on River's benchmark page
(https://riverml.xyz/latest/benchmarks/Binary%20classification/, read at commit 7468665 of River). River's learners also
had the date and the day of the week; ours have the other six columns. ``last class`` is computed here: that it agrees
with the page to four digits shows that rows and measure are the same.

The other sets of the page, and those of LIBOL's table (ijcnn1 and others), are not among the files that
`benchmarks.data` reads.
"""

import numpy as np
import pandas as pd

from sklearn_nag import NAGClassifier
from sklearn_nag.model_selection import progressive_validation

from .averages import electricity
from .data import parse
from .options import load_each

RIVER = {
    "ALMA": 0.906427,
    "Leveraging Bagging": 0.892653,
    "Stacking": 0.885458,
    "AdaBoost": 0.880581,
    "Adaptive Random Forest": 0.876608,
    "[baseline] Last Class": 0.853303,
    "Logistic regression": 0.822144,
    "sklearn SGDClassifier": 0.819099,
    "Hoeffding Tree": 0.795635,
    "Vowpal Wabbit logistic regression": 0.697475,
}
OURS = {
    'NAGClassifier(half_life="auto")': NAGClassifier(half_life="auto"),
    "NAGClassifier()": NAGClassifier(),
}


def main():
    options = parse(__doc__, "CSV file to write the table to", "the first 2,000 rows")
    lines = [{"learner": name, "by": "River's page", "accuracy": accuracy} for name, accuracy in RIVER.items()]
    for _, X, y, _ in load_each({"electricity": electricity}, options.data_dir):
        if options.quick:
            X, y = X[:2000], y[:2000]
        found = {"last class": np.mean(y[1:] == y[:-1])}
        for name, learner in OURS.items():
            found[name] = progressive_validation(learner, X, y).score
        lines += [{"learner": name, "by": "this script", "accuracy": accuracy} for name, accuracy in found.items()]
    table = pd.DataFrame(lines).sort_values("accuracy", ascending=False, kind="stable").round(4)
    print(table.to_string(index=False))
    if options.output is not None:
        table.to_csv(options.output, index=False)


if __name__ == "__main__":
    main()
