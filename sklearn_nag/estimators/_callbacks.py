"""scikit-learn's callbacks, which came with version 1.9; where they are missing, stand-ins that do nothing."""

from __future__ import annotations

import functools

from .._typing import Method

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:

    class _NoContext:
        def subcontext(self, **options):
            return self

        def call_on_fit_task_begin(self, **arguments):
            return self

        def call_on_fit_task_end(self, **arguments):
            return False

    class _NoCallbacks:
        """Takes the place of `CallbackSupportMixin`."""

        def _init_callback_context(self, **options):
            return _NoContext()

    CallbackSupportMixin = _NoCallbacks

    def _with_callbacks(method):
        @functools.wraps(method)
        def followed(*args, **kwargs):  # so that warnings find their way out as they do with callbacks
            return method(*args, **kwargs)

        return followed


def with_callbacks(method: Method) -> Method:
    """Let callbacks follow ``method``, a `fit` whose first argument is the estimator that they are handed."""
    followed: Method = _with_callbacks(method)
    return followed


__all__ = ["CallbackSupportMixin", "with_callbacks"]
