"""scikit-learn's checks of which something depends on the rule that an estimator learns by."""

import os

import pytest

# The others look at parameters, tags, documents, names and errors, or at what is done with rows before any are learnt.
OF_RULES = {
    "check_class_weight_classifiers",
    "check_classifiers_classes",
    "check_classifiers_one_label",
    "check_classifiers_one_label_sample_weights",
    "check_classifiers_train",
    "check_decision_proba_consistency",
    "check_dict_unchanged",
    "check_estimator_sparse_array",
    "check_estimators_dtypes",
    "check_estimators_fit_returns_self",
    "check_estimators_overwrite_params",
    "check_estimators_pickle",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit_idempotent",
    "check_fit_score_takes_y",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_non_transformer_estimators_n_iter",
    "check_regressor_multioutput",
    "check_regressors_int",
    "check_regressors_train",
    "check_sample_weights_shape",
}


def skip_unless_of_rules(check):
    """Skip what the same class has passed by another rule, unless ``EVERY_RULE`` is in the environment."""
    again = check.keywords.get("readonly_memmap") or check.keywords.get("X_dtype")  # what is given, in other ways
    if (again or check.func.__name__ not in OF_RULES) and not os.environ.get("EVERY_RULE"):
        pytest.skip("it does not depend on the rule")
