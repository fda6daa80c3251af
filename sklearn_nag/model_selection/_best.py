"""What searches have in common once they are made: the best estimator answers for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._decorators import available_if
from ..estimators._calls import between_calls
from ..estimators._validation import Rows


def _best_has(method):
    """Check for `available_if`: whether the best estimator, or before fitting the one searched, has the method."""

    def check(search):
        getattr(search._speaker(), method)
        return True

    return check


class AnswersOfTheBest:
    """Base of searches whose best estimator predicts.

    A subclass has ``_best()``, which raises before fitting, and ``_speaker()``, which then is the estimator searched.
    """

    def _best(self) -> Any:
        raise NotImplementedError

    def _speaker(self) -> Any:
        raise NotImplementedError

    def _rows_for_best(self, X):
        """Rows as the best estimator takes them."""
        return X

    @between_calls
    def predict(self, X: Rows) -> np.ndarray:
        """Predict with the best estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Its predictions.
        """
        return self._best().predict(self._rows_for_best(X))

    @available_if(_best_has("decision_function"))
    @between_calls
    def decision_function(self, X: Rows) -> np.ndarray:
        """Confidence of each class, by the best estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Its decision values.
        """
        return self._best().decision_function(self._rows_for_best(X))

    @available_if(_best_has("predict_proba"))
    @between_calls
    def predict_proba(self, X: Rows) -> np.ndarray:
        """Probability of each class, by the best estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return self._best().predict_proba(self._rows_for_best(X))

    @available_if(_best_has("predict_log_proba"))
    @between_calls
    def predict_log_proba(self, X: Rows) -> np.ndarray:
        """Logarithm of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return self._best().predict_log_proba(self._rows_for_best(X))
