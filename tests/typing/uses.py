"""Typical uses, with the types that they have for a type checker; ``.ci/run types`` has them checked."""

from typing import Any, assert_type

import numpy as np
from scipy import sparse

from sklearn_nag import (
    FTRLClassifier,
    HedgeClassifier,
    NAGClassifier,
    NAGRegressor,
    ScaleInvariantRegressor,
    merge,
    set_config,
)
from sklearn_nag.model_selection import NAGClassifierCV

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
