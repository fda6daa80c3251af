"""scikit-learn's callbacks where the installed version has them (1.9), and nothing in their place where it has not."""

from __future__ import annotations

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class _NoContext:
        def subcontext(self, **options):
            return self

        def call_on_fit_task_begin(self, **arguments):
            return self

        def call_on_fit_task_end(self, **arguments):
            return False

    class CallbackSupportMixin:
        """Stands where scikit-learn's class of this name would."""

        def _init_callback_context(self, **options):
            return _NoContext()

    def with_callbacks(method):
        """Return ``method`` as it is."""
        return method


__all__ = ["CallbackSupportMixin", "with_callbacks"]
