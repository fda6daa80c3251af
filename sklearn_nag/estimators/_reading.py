"""What a fitted model shows: a table of its weights, contributions to predictions, a summary."""

from __future__ import annotations

import importlib.util
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn import get_config
from sklearn.base import is_classifier
from sklearn.utils import Bunch, estimator_html_repr

from .. import kernels
from .._extras import needed
from ._calls import between_calls
from ._parameters import check_option
from ._validation import Rows, check_fitted

if TYPE_CHECKING:
    import pandas as pd


def names_of_features(estimator, names=None):
    """Names of the features of a fitted estimator: those given, those of its input, or ``x0``, ``x1``, ..."""
    if names is None:
        names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        names = [f"x{i}" for i in range(estimator.n_features_in_)]
    names = np.asarray(names, dtype=object)
    if names.shape != (estimator.n_features_in_,):
        raise ValueError(
            f"feature_names has shape {names.shape}; the model has {estimator.n_features_in_} features, so it must be "
            f"({estimator.n_features_in_},)."
        )
    return names


class ReadableMixin:
    """Mixin for reading fitted models."""

    @between_calls
    def coefficients(
        self: Any, feature_names: ArrayLike | None = None, *, as_frame: bool | Literal["auto"] = "auto"
    ) -> pd.DataFrame | Bunch:
        """Return a table of the weights of the features, in raw units and unit-free.

        The intercept is not included: see ``intercept_``.

        Parameters
        ----------
        feature_names : array-like of str of shape (n_features,), optional
            Names of the features, such as ``pipeline[:-1].get_feature_names_out()``; by default those of the input, or
            ``x0``, ``x1``, and so on.
        as_frame : bool or "auto", default="auto"
            Whether to return a pandas DataFrame; ``"auto"``: if pandas is installed.

        Returns
        -------
        DataFrame or Bunch
            A Bunch has the same columns as arrays. There is a row for each feature; with more than two classes or
            several outputs, a row for each class or output and feature:

            ``class``, ``label`` or ``output``
                The decision value to which the row belongs, if there are several.
            ``feature``
                Name of the feature.
            ``weight``
                Its entry of ``coef_``.
            ``unit_free_weight``
                ``weight * scale``: the increase in the decision value when the feature increases by its scale. The
                decision value of a regressor is its prediction or, with a log link, the logarithm of that. These
                weights can be compared between features in any units.
            ``standard_error``
                Standard error of ``weight``, with ``update="least_squares"`` of :class:`ScaleInvariantRegressor` only:
                exact if errors are independent and normal with a common variance; NaN for features that depend linearly
                on earlier ones.
            ``scale``, ``mean``
                Its entries of ``scale_`` and ``mean_``.
            ``largest``
                Largest absolute value seen, or up to twice as much for scale-invariant learners; 0 for a feature that
                has always been 0, about which nothing is known.

        Raises
        ------
        NotFittedError
            Before fitting.
        ImportError
            For ``as_frame=True`` if pandas is not installed.

        Examples
        --------
        >>> from sklearn_nag import NAGRegressor
        >>> reg = NAGRegressor().partial_fit([[1.0, 5.0], [3.0, 5.0], [2.0, 5.0]], [10.0, 30.0, 20.0])
        >>> table = reg.coefficients(["length", "constant"], as_frame=False)
        >>> table.feature
        array(['length', 'constant'], dtype=object)
        >>> table.largest
        array([3., 5.])
        """
        check_option("as_frame", bool(as_frame) if isinstance(as_frame, np.bool_) else as_frame, (True, False, "auto"))
        check_fitted(self)
        names = names_of_features(self, feature_names)
        n_features, state = self.n_features_in_, self._state
        coef = state.linear()[0]
        unit_free = state.unit_free_weight()[:, :n_features] / state.targets.lift
        table = {}
        if len(coef) > 1:
            table[self._kind_of_target] = np.repeat(self._names_of_targets, n_features)
        table["feature"] = np.tile(names, len(coef))
        table["weight"] = coef.ravel()
        table["unit_free_weight"] = unit_free.ravel()
        errors = self._standard_errors()
        if errors is not None:
            table["standard_error"] = errors.ravel()
        for name, values in {"scale": self.scale_, "mean": self.mean_, "largest": state.largest}.items():
            table[name] = np.tile(values[:n_features], len(coef))
        if as_frame == "auto":
            as_frame = importlib.util.find_spec("pandas") is not None
        if not as_frame:
            return Bunch(**table)
        return needed("pandas", "csv", "as_frame=True needs").DataFrame(table)

    def _standard_errors(self):
        """Standard errors of ``coef_``, one row per target; None for learners without them."""
        return None

    @between_calls
    def contributions(self: Any, X: Rows) -> np.ndarray | Any:
        """Contribution of each feature to the decision value of each row.

        In a dense row, a feature contributes its weight times its distance from ``mean_``. In a sparse row, it
        contributes its weight times its value, so that absent features contribute nothing. The last column is the
        remainder, which is the same for all rows: the decision value when every feature is at its mean or, for sparse
        rows, 0.

        Up to rounding, rows sum to ``decision_function`` or, for regression, to the prediction before clipping; with a
        log link, to its logarithm. With ``half_life="auto"``, `predict` clips the prediction of each half-life, and
        sums differ when it does.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray or CSR array of shape (n_samples, n_features + 1)
            In units of the decision value. With more than two classes or several outputs, an ndarray of shape
            (n_targets, n_samples, n_features + 1) or a list of CSR arrays.

        Raises
        ------
        NotFittedError
            Before fitting.
        ValueError
            For invalid rows; for sparse rows if features were centred at means so far from 0 that contributions counted
            from 0 would lose all digits.

        Examples
        --------
        >>> from sklearn_nag import NAGRegressor
        >>> X = [[1.0, 5.0], [3.0, 5.0], [2.0, 5.0]]
        >>> reg = NAGRegressor().partial_fit(X, [10.0, 30.0, 20.0])
        >>> parts = reg.contributions(X)
        >>> parts.shape
        (3, 3)
        >>> bool(abs(parts.sum(axis=1) - reg.predict(X)).max() < 1e-12)
        True
        """
        X = self._rows_to_predict(X)
        if sparse.issparse(X) and not (X.has_canonical_format and len(X.data) == X.nnz):
            X = X.copy()
            X.sum_duplicates()
            X.prune()
        if sparse.issparse(X) and self._state.rule.centred and not self._state.is_exact():
            raise ValueError(
                "X is sparse, but this model centres its features at means that are too far from 0 to compute "
                "contributions of sparse rows; give dense rows."
            )
        parts = kernels.contributions(self._state, X)
        if len(parts) == 1:
            return parts[0]
        return parts if sparse.issparse(X) else np.stack(parts)

    # -- in a notebook

    def _repr_mimebundle_(self: Any, **options: Any) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            bundle["text/html"] = self._html()
        return bundle

    @property
    def _repr_html_(self):
        if get_config()["display"] != "diagram":
            raise AttributeError("there is an HTML representation where scikit-learn's display is 'diagram'")
        return self._html

    @between_calls
    def _html(self):
        """scikit-learn's representation and, once the model is fitted, a summary of it below."""
        html = estimator_html_repr(self)
        if not hasattr(self, "_state"):
            return html
        facts = {
            "rows learnt, by weight": f"{self.t_:,.10g}",
            **self._losses_shown(),
            "features": f"{self.n_features_in_:,}",
        }
        if is_classifier(self):
            names = self._names_of_targets
            shown = ", ".join(str(name) for name in names[:10])
            facts["labels" if self._has_labels else "classes"] = shown + (
                f", … ({len(names)})" if len(names) > 10 else ""
            )
        rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in facts.items())
        end = "</body>" if html.endswith("</body>") else ""
        return f'{html.removesuffix(end)}<table class="sklearn-nag-learnt"><tbody>{rows}</tbody></table>{end}'

    def _losses_shown(self):
        """The progressive loss by its meaning: while every row was new, an estimate for new rows."""
        loss = self._named_loss(self.progressive_loss_)
        if self.n_iter_ == 1:
            return {"progressive loss": f"{loss}, each row predicted before it was learnt"}
        shown = {f"mean loss of {self.n_iter_} passes": f"{loss}, of rows that earlier passes had learnt"}
        if self.validation_losses_.size:
            shown["loss of rows held out"] = self._named_loss(self.validation_losses_.min())
        return shown

    def _named_loss(self, loss):
        """A mean loss and its name; a squared error, which is halved, also as RMSE for one output of a regressor."""
        if self.loss != "squared_error":
            return f"{loss:.6g} ({self.loss})"
        is_of_one = getattr(self, "_n_outputs", 0) in (None, 1)
        root = f"; RMSE {np.sqrt(2.0 * loss):.6g}" if is_of_one else ""
        return f"{loss:.6g} (half the squared error{root})"
