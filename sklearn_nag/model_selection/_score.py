"""Progressive loss in searches: a split that holds out no row, and its score."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.model_selection import BaseCrossValidator

from ..estimators._parameters import learner_of
from ..estimators._validation import Rows
from ._streams import count_rows


class ProgressiveSplit(BaseCrossValidator):
    """Single split for searches by progressive loss, in which all rows are both training and test rows.

    With `progressive_score`, a search makes one pass for each candidate and holds out no rows, because every row is
    predicted before it is learnt.

    See Also
    --------
    progressive_score : The score to use with it.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn_nag import NAGClassifier
    >>> from sklearn_nag.model_selection import ProgressiveSplit, progressive_score
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> one_pass = NAGClassifier(max_iter=1, shuffle=False)
    >>> grid = {"eta0": [0.25, 1.0, 4.0], "normalization": ["max", "rms"]}
    >>> search = GridSearchCV(one_pass, grid, cv=ProgressiveSplit(), scoring=progressive_score).fit(X, y)
    >>> bool(-search.best_score_ == search.best_estimator_.progressive_loss_)
    True
    """

    def split(
        self, X: Rows, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the only split.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; only their number matters.
        y : array-like of shape (n_samples,), optional
            Not used.
        groups : array-like of shape (n_samples,), optional
            Not used.

        Yields
        ------
        train : ndarray of shape (n_samples,)
            All rows.
        test : ndarray of shape (n_samples,)
            All rows.
        """
        rows = np.arange(count_rows(X))
        yield rows, rows

    def get_n_splits(self, X: Rows | None = None, y: ArrayLike | None = None, groups: ArrayLike | None = None) -> int:
        """Number of splits: 1.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), optional
            Not used.
        y : array-like of shape (n_samples,), optional
            Not used.
        groups : array-like of shape (n_samples,), optional
            Not used.

        Returns
        -------
        int
            1.
        """
        return 1

    def __repr__(self) -> str:
        return "ProgressiveSplit()"


def progressive_score(
    estimator: BaseEstimator, X: Rows, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> float:
    """Score a fitted estimator by its negative progressive loss, for use as ``scoring`` of searches.

    It makes no predictions, because the rows were scored while they were learnt.

    Parameters
    ----------
    estimator : estimator
        Learner of this package, or a Pipeline that ends with one, fitted in a single pass.
    X : array-like of shape (n_samples, n_features)
        Not used.
    y : array-like of shape (n_samples,), optional
        Not used.
    sample_weight : array-like of shape (n_samples,), optional
        Not used. The loss already includes the weights given to ``fit``.

    Returns
    -------
    float
        ``-estimator.progressive_loss_``; greater is better.

    Raises
    ------
    TypeError
        If the estimator has no ``progressive_loss_``.
    ValueError
        If the estimator made several passes, because rows are no longer new from the second pass on.

    See Also
    --------
    ProgressiveSplit : The split to use with it.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_nag import NAGRegressor
    >>> from sklearn_nag.model_selection import progressive_score
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = NAGRegressor(max_iter=1, shuffle=False).fit(X, y)
    >>> progressive_score(reg, X, y) == -reg.progressive_loss_
    True
    """
    learner = learner_of(estimator)
    if isinstance(learner, type) or not hasattr(learner, "progressive_loss_"):
        name = getattr(learner, "__name__", type(learner).__name__)
        raise TypeError(f"progressive_score needs a fitted learner of sklearn_nag; {name} has no progressive_loss_.")
    if getattr(learner, "n_iter_", 1) > 1:
        raise ValueError(
            f"progressive_score needs a single pass, max_iter=1; this {type(learner).__name__} made {learner.n_iter_}, "
            "and rows are no longer new from the second on."
        )
    return -learner.progressive_loss_
