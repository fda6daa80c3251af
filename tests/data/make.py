"""Make the models that tests will always load: those of this version of the state, in each format, with predictions.

    python -m tests.data.make

Run it after raising ``STATE_VERSION`` or adding a model to `models`. Existing files stay as they are. A folder whose
name has a commit after the version holds models that this earlier commit wrote in the same format.
"""

import json
import pickle
from pathlib import Path
from unittest import mock

import joblib
import numpy as np
from scipy import sparse

from sklearn_nag import (
    FTRLClassifier,
    FTRLRegressor,
    HedgeClassifier,
    HedgeRegressor,
    NAGCellsClassifier,
    NAGCellsRegressor,
    NAGClassifier,
    NAGRegressor,
    OnlineBootstrap,
    ScaleInvariantClassifier,
    ScaleInvariantRegressor,
)
from sklearn_nag.estimators._saved import STATE_VERSION
from sklearn_nag.kernels.state import placed
from sklearn_nag.preprocessing import (
    DateEncoder,
    Interactions,
    OnlineColumnTransformer,
    OnlineCurves,
    OnlineImputer,
    OnlineOneHotEncoder,
    OnlineTfidf,
    make_online_pipeline,
)

FOLDER = Path(__file__).parent
N_FEATURES = 4


def rows(start, stop):
    """Return rows in very different units, and targets: the same on every machine, because nothing is random."""
    i = np.arange(start, stop, dtype=float)[:, None]
    wave = np.sin(i * [1.0, 1.7, 2.3, 3.1])  # the last bits of sines may differ, but too little to matter
    X = np.round(wave, 6) * [1.0, 1e3, 1e-3, 1.0] + [0.0, 0.0, 0.0, 50.0]
    return X, np.round(wave[:, 0] - 2.0 * wave[:, 1] + wave[:, 2], 6)


def frame(X):
    """Return rows as a data frame with numbers, some of them missing, words, dates and text."""
    import pandas as pd

    words = np.array(["red", "large", "old", "soft", "new"])
    return pd.DataFrame({
        "size": X[:, 0],
        "price": np.where(X[:, 1] > 900.0, np.nan, X[:, 1]),
        "town": np.array(["Rome", "Oslo", "Bonn"])[np.digitize(X[:, 2], [-3e-4, 3e-4])],
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.round(5.0 * X[:, 3]), "D"),
        "text": [" ".join(words[place]) for place in np.abs(7.0 * X[:, [0, 3, 3]] * [1.0, 1.0, 3.0]).astype(int) % 5],
    })  # fmt: skip


def of_frames(learner):
    """Return a pipeline for the frames that `frame` makes."""
    steps = [
        ("numbers", OnlineImputer(add_indicator=True), ["size", "price"]),
        ("words", OnlineOneHotEncoder(), ["town"]),
        ("dates", DateEncoder(), ["day"]),
        ("text", OnlineTfidf(n_features=32), "text"),
    ]
    return make_online_pipeline(OnlineColumnTransformer(steps), learner)


def models():
    """Return the estimators to save, by name, with the container of their rows and the options of ``partial_fit``."""
    classes = {"classes": ["a", "b", "c"]}
    few = {"n_knots": 5, "n_trees": 3, "depth": 2, "max_columns": 64, "first_rows": 20, "random_state": 0}
    return {
        "nag_classifier": (NAGClassifier(eta0="auto"), np.asarray, classes),
        "nag_classes": (NAGClassifier(), sparse.csr_array, classes),
        "nag_averaged_half_life": (NAGClassifier(half_life=20, average=True), np.asarray, classes),
        "nag_sparse_half_lives": (NAGClassifier(half_life="auto"), sparse.csr_array, classes),
        "nag_regressor": (NAGRegressor(normalization="max", penalty="l1", average=True), sparse.csr_array, {}),
        "scale_invariant_classifier": (ScaleInvariantClassifier("hinge", update="scinol1"), np.asarray, classes),
        "scale_invariant_regressor": (ScaleInvariantRegressor(invariance="full"), np.asarray, {}),
        "ftrl_classifier": (FTRLClassifier(l1=0.1), sparse.csr_array, classes),
        "ftrl_regressor": (FTRLRegressor(regularizer="l2"), np.asarray, {}),
        "hedge_classifier": (HedgeClassifier(), np.asarray, classes),
        "hedge_regressor": (HedgeRegressor(update="hedge"), np.asarray, {}),
        "nag_poisson": (NAGRegressor("poisson"), np.asarray, {}),
        "nag_half_life": (NAGRegressor(half_life=20), np.asarray, {}),
        "nag_half_lives": (NAGClassifier(half_life="auto"), np.asarray, classes),
        "nag_calibrated": (NAGClassifier(calibration="progressive"), np.asarray, classes),
        "ftrl_gamma": (FTRLRegressor("gamma"), np.asarray, {}),
        "cells_classifier": (NAGCellsClassifier(**few), np.asarray, classes),
        "cells_regressor": (NAGCellsRegressor(half_life=20, **few), np.asarray, {}),
        "bootstrap": (OnlineBootstrap(NAGRegressor(), n_models=2), np.asarray, {}),
        "nag_placed": (NAGClassifier(), sparse.csr_array, classes),
        "pipeline": (make_online_pipeline(Interactions(), OnlineCurves(n_knots=5), FTRLRegressor()), np.asarray, {}),
        "pipeline_of_frames": (of_frames(NAGClassifier()), frame, classes),
    }


def targets(model, y, classes):
    """Return targets for a model: classes for classifiers, positive numbers for losses with a log link."""
    if classes:
        return np.array(["a", "b", "c"])[np.digitize(y, [-1.0, 1.0])]
    return np.round(np.exp(y), 6) if getattr(model, "loss", None) in ("poisson", "gamma") else y


def decisions(model, X):
    """Return what is recorded of a model: its decision values, or else probabilities, or else predictions."""
    methods = ("decision_function", "predict_proba", "predict")
    method = next(getattr(model, name) for name in methods if hasattr(model, name))
    return np.reshape(method(X), (X.shape[0], -1))


def main():
    """Write the folder of this version."""
    from skops import io as skops_io  # the tests of other formats do not need it

    folder = FOLDER / f"state{STATE_VERSION}"
    folder.mkdir(exist_ok=True)
    (X, y), (X_test, _), (X_more, y_more) = rows(0, 60), rows(60, 70), rows(70, 100)
    record = folder / "decisions.json"
    recorded = json.loads(record.read_text()) if record.exists() else {}
    for name, (model, container, options) in models().items():
        if name in recorded:
            continue
        with mock.patch.object(placed, "LARGE", 0 if name.endswith("placed") else placed.LARGE):
            model.partial_fit(container(X), targets(model, y, options), **options)
        (folder / f"{name}.pkl").write_bytes(pickle.dumps(model, protocol=4))
        joblib.dump(model, folder / f"{name}.joblib", compress=3)
        skops_io.dump(model, folder / f"{name}.skops", compression=8)
        before = decisions(model, container(X_test)).tolist()
        model.partial_fit(container(X_more), targets(model, y_more, options))
        recorded[name] = {"loaded": before, "resumed": decisions(model, container(X_test)).tolist()}
    record.write_text(json.dumps(recorded, indent=1))


if __name__ == "__main__":
    main()
