"""Choice of the backend: NumPy, or Numba if it is installed."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from typing import Literal, get_args

import numpy as np

from .._extras import how_to_install

Kernel = Literal["auto", "numpy", "numba"]
KERNELS = get_args(Kernel)
ENVIRONMENT = "SKLEARN_NAG_KERNEL"

LONG = 5.0  # seconds of learning in NumPy after which a message says that Numba would be faster
TOLD_AFTER = 4096  # rows between two readings of the clock
logger = logging.getLogger("sklearn_nag")
_spent = {"seconds": 0.0, "told": False}  # by learning in NumPy because Numba is missing

_chosen = {"kernel": None}  # for the process, by set_config
_context = ContextVar("sklearn_nag_kernel", default=None)  # for a block of code, by config_context


def set_config(*, kernel: Kernel | None = None) -> None:
    """Set whether models learn with NumPy or with Numba, for the whole process.

    Parameters
    ----------
    kernel : {"auto", "numpy", "numba"}, optional
        The update kernel. ``"auto"`` uses Numba if it is installed. By default, the setting does not change. If none
        was ever set, the environment variable ``SKLEARN_NAG_KERNEL`` decides, and without it ``"auto"`` applies.

    Raises
    ------
    ValueError
        If ``kernel`` has another value.
    ImportError
        If ``kernel`` is ``"numba"`` and Numba is not installed.

    See Also
    --------
    config_context : The same for a block of code.
    get_config : The current setting.

    Examples
    --------
    >>> import sklearn_nag
    >>> sklearn_nag.set_config(kernel="auto")
    """
    if kernel is not None:
        _chosen["kernel"] = _checked(kernel, "kernel")


def get_config() -> dict[str, str]:
    """Get the current configuration.

    Returns
    -------
    dict
        With the entry ``"kernel"``.

    See Also
    --------
    set_config : Change the configuration.

    Examples
    --------
    >>> import sklearn_nag
    >>> with sklearn_nag.config_context(kernel="numpy"):
    ...     sklearn_nag.get_config()
    {'kernel': 'numpy'}
    """
    return {"kernel": _kernel()}


def _kernel():
    """Name of the kernel to use, possibly ``"auto"``."""
    return chosen() or _checked(os.environ.get(ENVIRONMENT) or "auto", ENVIRONMENT)


def chosen():
    """Kernel chosen here, or None, to give to `run_by`; other threads and processes do not know it."""
    return _context.get() or _chosen["kernel"]


def run_by(kernel, function, *arguments):
    """Call a function with a kernel that was `chosen` elsewhere."""
    with config_context(kernel=kernel):
        return function(*arguments)


@contextmanager
def config_context(*, kernel: Kernel | None = None) -> Iterator[None]:
    """Set whether models learn with NumPy or with Numba, inside a ``with`` block of this thread.

    Parameters
    ----------
    kernel : {"auto", "numpy", "numba"}, optional
        As for `set_config`. Threads and processes that other code starts inside the block do not see it; use the
        environment variable for these.

    Yields
    ------
    None
        Nothing.

    See Also
    --------
    set_config : The same for the process.

    Examples
    --------
    >>> import sklearn_nag
    >>> X, y = [[0.0], [1.0]], [0, 1]
    >>> with sklearn_nag.config_context(kernel="numpy"):
    ...     clf = sklearn_nag.NAGClassifier().fit(X, y)
    """
    token = _context.set(_context.get() if kernel is None else _checked(kernel, "kernel"))
    try:
        yield
    finally:
        _context.reset(token)


@cache
def imported(package, name):
    """Module of the kernels that may need Numba; cached because small calls are frequent."""
    return importlib.import_module(f"{package}.{name}")


def backend(rule, compiled):
    """Return ``numba_rows`` of the rule's family if ``compiled``, else ``numpy_rows``."""
    return imported(rule.family.package, "numba_rows" if compiled else "numpy_rows")


def runs_compiled(loss):
    """Whether rows are learnt in compiled code: it is chosen, and the loss has such code."""
    return is_compiled() and loss.name in imported(__package__, "compiled.losses").CODES


def is_compiled():
    """Whether compiled code is chosen."""
    kernel = _kernel()
    return kernel == "numba" or (kernel == "auto" and _has_numba())


def told_when_long(learn_rows):
    """``learn_rows`` that says once, after `LONG` in all, how to learn faster, if Numba is wanted but missing."""
    if is_compiled() or get_config()["kernel"] == "numpy":
        return learn_rows

    def learn_and_tell(state, loss, X, y, sample_weight, order, predictions):
        order = np.arange(X.shape[0]) if order is None else order
        for start in range(0, len(order), TOLD_AFTER):
            rows, began = slice(start, start + TOLD_AFTER), time.perf_counter()
            kept = None if predictions is None else predictions[rows]
            learn_rows(state, loss, X, y, sample_weight, order[rows], kept)
            _tell_when_long(time.perf_counter() - began)

    return learn_and_tell


def _tell_when_long(seconds):
    """Add to the time spent learning in NumPy; log the message once it is long."""
    _spent["seconds"] += seconds
    if _spent["seconds"] > LONG and not _spent["told"]:
        _spent["told"] = True
        logger.warning(
            "learning has taken %.0f seconds in NumPy; with Numba it would be many times as fast: %s",
            _spent["seconds"],
            how_to_install("fast"),
        )


def told_of_compiling(tell):
    """Context in which ``tell`` is given a sentence before code is compiled, which takes seconds."""
    if not is_compiled():
        return nullcontext()
    return imported(__package__, "compiled.cache").tell_of_compiling(tell)


def kept_code():
    """Where compiled code is stored (None if nowhere), the number of files, and their size in bytes."""
    return imported(__package__, "compiled.cache").kept()


@cache
def _has_numba():
    return importlib.util.find_spec("numba") is not None and os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


def _checked(kernel, name):
    if kernel not in KERNELS:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, KERNELS))}; got {kernel!r}.")
    if kernel == "numba" and not _has_numba():
        why = "not installed, or disabled by NUMBA_DISABLE_JIT"
        raise ImportError(f'{name}="numba" needs Numba, which is {why}: {how_to_install("fast")}')
    return kernel
