"""scikit-learn's estimator checks, and which of them depend on the rule that an estimator learns by."""

import os
from contextlib import suppress

import pytest

# The other checks look at parameters, tags, documentation, names and errors, or at what happens to rows before they are
# learnt.
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

# Checks that no one-pass learner can pass, if scikit-learn has them.
BY_ORDER = dict.fromkeys(
    [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")],
    "the result depends on the order of rows, as it does for scikit-learn's SGD estimators",
)


def is_of_rules(check):
    """Whether a check may fail for one rule and pass for others; all may if ``EVERY_RULE`` is in the environment."""
    again = check.keywords.get("readonly_memmap") or check.keywords.get("X_dtype")  # the same with another input type
    return bool(os.environ.get("EVERY_RULE")) or not (again or check.func.__name__ not in OF_RULES)


def of_rules(checks):
    """The result of `parametrize_with_checks`, without checks that the same class has passed by another rule."""
    names, cases = checks.args
    return pytest.mark.parametrize(names, [case for case in cases if is_of_rules(case[1])], **checks.kwargs)


def run_check(check, estimator, expected_to_fail):
    """Run a check. It is expected to fail if its name is a key of ``expected_to_fail``, whose value is the reason.

    Failures are hidden from pytest, unlike those of scikit-learn's `expected_failed_checks`. Parsing all the sources of
    a traceback takes longer than running the check.
    """
    reason = expected_to_fail.get(check.func.__name__)
    if reason is None:
        check(estimator)
        return
    with suppress(AssertionError, ValueError):
        check(estimator)
        return
    pytest.xfail(reason)
