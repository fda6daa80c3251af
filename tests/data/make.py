"""Make the models that tests load for ever: those of this version of the state, in each format, and what they predict.

    python -m tests.data.make

Run it when ``STATE_VERSION`` has been raised, or `models` has a new one. What is there already stays as it is.
"""

import json
import pickle
from pathlib import Path

import joblib
import numpy as np
from scipy import sparse

from sklearn_nag import (
    FTRLClassifier,
    FTRLRegressor,
    HedgeClassifier,
    HedgeRegressor,
    NAGClassifier,
    NAGRegressor,
    ScaleInvariantClassifier,
    ScaleInvariantRegressor,
)
from sklearn_nag.estimators._state_versions import STATE_VERSION

FOLDER = Path(__file__).parent
N_FEATURES = 4


def rows(start, stop):
    """Rows in units far apart, with targets: the same on every machine, as no generator is asked."""
    i = np.arange(start, stop, dtype=float)[:, None]
    wave = np.sin(i * [1.0, 1.7, 2.3, 3.1])  # the last bits of sines may differ, but not by what is compared
    X = np.round(wave, 6) * [1.0, 1e3, 1e-3, 1.0] + [0.0, 0.0, 0.0, 50.0]
    return X, np.round(wave[:, 0] - 2.0 * wave[:, 1] + wave[:, 2], 6)


def models():
    """Estimators that are saved, by name, with how they are given rows and targets."""
    classes = {"classes": ["a", "b", "c"]}
    return {
        "nag_classifier": (NAGClassifier(eta0="auto"), np.asarray, classes),
        "nag_classes": (NAGClassifier(), sparse.csr_array, classes),
        "nag_half_life": (NAGClassifier(half_life=20, average=True), np.asarray, classes),
        "nag_half_lives": (NAGClassifier(half_life="auto"), sparse.csr_array, classes),
        "nag_regressor": (NAGRegressor(normalization="max", penalty="l1", average=True), sparse.csr_array, {}),
        "scale_invariant_classifier": (ScaleInvariantClassifier("hinge", update="scinol1"), np.asarray, classes),
        "scale_invariant_regressor": (ScaleInvariantRegressor(invariance="full"), np.asarray, {}),
        "ftrl_classifier": (FTRLClassifier(l1=0.1), sparse.csr_array, classes),
        "ftrl_regressor": (FTRLRegressor(regularizer="l2"), np.asarray, {}),
        "hedge_classifier": (HedgeClassifier(), np.asarray, classes),
        "hedge_regressor": (HedgeRegressor(update="hedge"), np.asarray, {}),
    }


def targets(y, classes):
    """Targets for a model: classes for those that have some."""
    return np.array(["a", "b", "c"])[np.digitize(y, [-1.0, 1.0])] if classes else y


def decisions(model, X):
    """What is recorded of a model: its decision values, or the probabilities of a mixture."""
    methods = ("decision_function", "predict_proba", "predict")
    method = next(getattr(model, name) for name in methods if hasattr(model, name))
    return np.reshape(method(X), (len(X), -1))


def main():
    """Write the folder of this version."""
    from skops import io as skops_io  # the tests of other formats do without it

    folder = FOLDER / f"state{STATE_VERSION}"
    folder.mkdir(exist_ok=True)
    (X, y), (X_test, _), (X_more, y_more) = rows(0, 60), rows(60, 70), rows(70, 100)
    record = folder / "decisions.json"
    recorded = json.loads(record.read_text()) if record.exists() else {}
    for name, (model, container, options) in models().items():
        if name in recorded:
            continue
        model.partial_fit(container(X), targets(y, options), **options)
        (folder / f"{name}.pkl").write_bytes(pickle.dumps(model, protocol=4))
        joblib.dump(model, folder / f"{name}.joblib", compress=3)
        skops_io.dump(model, folder / f"{name}.skops", compression=8)
        before = decisions(model, X_test).tolist()
        model.partial_fit(container(X_more), targets(y_more, options))
        recorded[name] = {"loaded": before, "resumed": decisions(model, X_test).tolist()}
    record.write_text(json.dumps(recorded, indent=1))


if __name__ == "__main__":
    main()
