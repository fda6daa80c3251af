"""Typical uses, with the types that a type checker must find; ``.ci/run types`` checks them."""

from typing import Any, assert_type

import numpy as np
from scipy import sparse

import sklearn_nag
from sklearn_nag import (
    FTRLClassifier,
    HedgeClassifier,
    NAGCellsClassifier,
    NAGCellsRegressor,
    NAGClassifier,
    NAGRegressor,
    OnlineBootstrap,
    ScaleInvariantRegressor,
    merge,
    set_config,
)
from sklearn_nag.distributed import shard_fit
from sklearn_nag.model_selection import EtaSweep, NAGClassifierCV, ProgressiveSearch, eta_sweep, progressive_validation
from sklearn_nag.preprocessing import OnlineImputer, OnlinePipeline, make_online_pipeline, prepare
from sklearn_nag.streams import fit_stream

Array = np.ndarray[tuple[Any, ...], np.dtype[Any]]
X, y = np.arange(20.0).reshape(10, 2) % 7, np.arange(10) % 2

clf = NAGClassifier(eta0="auto", random_state=0)
assert_type(clf.fit(X, y), NAGClassifier)
assert_type(clf.fit(sparse.csr_array(X), y, sample_weight=np.ones(10)), NAGClassifier)
assert_type(clf.partial_fit(X, y), NAGClassifier)
assert_type(NAGClassifier().fit(X, sparse.csr_array([[0, 1]] * 10)).partial_fit(X, [[0, 1]] * 10), NAGClassifier)
assert_type(NAGClassifier().partial_fit(X, y, classes=[0, 1]).partial_fit(X, y), NAGClassifier)
assert_type(clf.predict(X), Array)
assert_type(clf.predict_proba(X), Array)
assert_type(clf.predict_log_proba(X), Array)
assert_type(clf.decision_function(X), Array)
assert_type(clf.progressive_loss_, float)
assert_type(clf.set_coef([[1.0, 0.0]], [0.0]), NAGClassifier)
assert_type(merge([clf, clf]), NAGClassifier)

assert_type(NAGRegressor().fit(X, y).predict(X), Array)
assert_type(ScaleInvariantRegressor().partial_fit(X, y).predict(X), Array)
assert_type(FTRLClassifier().fit(X, y).decision_function(X), Array)
assert_type(HedgeClassifier().fit(X, y).predict_proba(X), Array)
assert_type(NAGClassifierCV().fit(X, y).predict_proba(X), Array)
assert_type(set_config(kernel="auto"), None)

clf.to_sklearn().predict(X)
assert_type(clf.classes_, Array)
assert_type(clf.t_, float)
assert_type(NAGClassifier(calibration="progressive").fit(X, y).predict_set(X), Array)
assert_type(NAGRegressor().fit(X, y).predict_interval(X), Array)

cells = NAGCellsClassifier(n_trees=2).partial_fit(X, y, classes=[0, 1])
assert_type(cells, NAGCellsClassifier)
assert_type(cells.predict_proba(X), Array)
assert_type(NAGCellsRegressor(n_trees=2).partial_fit(X, y).predict(X), Array)
bootstrap = OnlineBootstrap(NAGRegressor(), n_models=2).fit(X, y)
assert_type(bootstrap, OnlineBootstrap)
assert_type(bootstrap.confidence_interval(X), Array)

pipeline = make_online_pipeline(OnlineImputer(), NAGRegressor())
assert_type(pipeline.partial_fit(X, y), OnlinePipeline)
assert_type(prepare(X, NAGRegressor()).partial_fit(X, y), OnlinePipeline)
assert_type(merge([pipeline, pipeline]), OnlinePipeline)
assert_type(OnlineImputer().partial_fit(X), OnlineImputer)

batches = [(X, y), (X, y)]
assert_type(fit_stream(clf, batches, classes=[0, 1]), NAGClassifier)
assert_type(fit_stream(pipeline, batches), OnlinePipeline)
assert_type(sklearn_nag.streams.fit_stream(cells, batches, classes=[0, 1]), NAGCellsClassifier)
assert_type(shard_fit(NAGRegressor(), X, y), NAGRegressor)

assert_type(eta_sweep(NAGClassifier(), X, y), EtaSweep)
assert_type(eta_sweep(NAGClassifier(), X, y).losses, Array)
assert_type(progressive_validation(clf, X, y).loss, float | None)
assert progressive_validation(clf, X, y).score <= 1.0
grid = {"eta0": [0.5, 1.0], "loss": ["log_loss", "hinge"]}
assert_type(ProgressiveSearch(NAGClassifier(), grid).partial_fit(X, y, classes=[0, 1]).predict(X), Array)
