"""A transformer for tests of what all transformers share, and a selection of scikit-learn's checks."""

import os
from typing import NamedTuple

import numpy as np
import pytest

from sklearn_nag.preprocessing._base import OnlineTransformer

# scikit-learn's checks of the rows that come out, and of which rows are accepted. The others look at names, tags,
# docstrings, and at how a class treats its parameters, whatever their values.
OF_ROWS = {
    "check_dict_unchanged",
    "check_dtype_object",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_estimators_dtypes",
    "check_estimators_nan_inf",
    "check_estimators_pickle",
    "check_f_contiguous_array_estimator",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit_idempotent",
    "check_global_output_transform_pandas",
    "check_global_set_output_transform_polars",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_n_features_in",
    "check_readonly_memmap_input",
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_set_output_transform_polars",
    "check_transformer_data_not_an_array",
    "check_transformer_general",
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
    "check_transformer_preserve_dtypes",
}


def of_parameters(checks):
    """Return `parametrize_with_checks` with all checks for the first estimator of each class only.

    Other estimators of the class get the checks in `OF_ROWS`, or all checks if ``EVERY_RULE`` is set in the
    environment.
    """
    (names, cases), first, kept = checks.args, {}, []
    for estimator, check in cases:
        is_first = first.setdefault(type(estimator), estimator) is estimator
        if is_first or check.func.__name__ in OF_ROWS or os.environ.get("EVERY_RULE"):
            kept.append((estimator, check))
    return pytest.mark.parametrize(names, kept, **checks.kwargs)


class Sums(NamedTuple):
    n: int
    sums: np.ndarray


class Centred(OnlineTransformer):
    """Rows minus the mean of the rows so far."""

    def __init__(self, factor=1.0):
        self.factor = factor

    def _new_state(self, rows):
        return Sums(0, np.zeros(rows.shape[1]))

    def _learn_rows(self, state, rows, transform):
        if np.isnan(rows).any():
            raise ValueError("Input X contains NaN.")
        sums = np.add.accumulate(np.vstack([state.sums, rows]))[1:]
        n = state.n + np.arange(1, len(rows) + 1)
        out = self.factor * (rows - sums / n[:, None]) if transform else None
        return Sums(int(n[-1]), sums[-1]), out

    def _transform_rows(self, state, rows):
        if np.isnan(rows).any():
            raise ValueError("Input X contains NaN.")
        return self.factor * (rows - state.sums / state.n)

    def _names_out(self, state, names):
        return names

    def _merge_states(self, states):
        return Sums(sum(s.n for s in states), sum(s.sums for s in states))
