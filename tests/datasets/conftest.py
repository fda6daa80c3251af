from .helpers import expect  # noqa: F401
