"""Compiled code on disk.

Numba's own cache notices only changes to the file of the function called from Python, trusts what it finds, and mixes
up the code of processes that write at the same time. Here, each function, rule and combination of types has its own
file, named after all that it depends on, and checked when read. If it is missing or damaged, code is compiled anew.

Names have no paths or dates, so that environments and container images can share a folder that the user has named. Its
size is bounded; the least recently used files go first.
"""

import hashlib
import logging
import os
import pickle
import uuid
import warnings
from collections.abc import Callable
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

logger = logging.getLogger("sklearn_nag")
_told: list[Callable[[str], None]] = []  # by `tell_of_compiling`
_warned: list[str] = []  # at most one, by `_warn_once`
LIMIT = "SKLEARN_NAG_CACHE_MB"  # environment variable: how many megabytes are kept
MOST = 200.0
COMPILED_ELSEWHERE = (  # outside kernels
    "losses.py",
    "preprocessing/_numba_rows.py",
    "preprocessing/_numpy_rows.py",
    "uncertainty/_numba_rows.py",
    "uncertainty/alarm.py",
    "uncertainty/probabilities.py",
    "uncertainty/quantiles.py",
)
_DIGEST = hashlib.sha256().digest_size


class Damaged(Exception):
    """A file of compiled code does not hold what was written to it."""


@lru_cache
def version_of_code():
    """Short hash of the versions of Numba and NumPy, and of the files that compiled functions are made of."""
    package = Path(__file__).parents[2]
    files = [*sorted(package.glob("kernels/**/*.py")), *(package / name for name in COMPILED_ELSEWHERE)]
    contents = [(file.relative_to(package).as_posix(), file.read_bytes()) for file in files]
    return hashlib.sha256(repr((numba.__version__, np.__version__, contents)).encode()).hexdigest()[:12]


class CodeFiles:
    """The files of one compiled function; takes the place of Numba's index and data files.

    Parameters
    ----------
    folder : str
        Where they are.
    name : str
        What their names begin with.
    is_shared : bool, default=False
        Whether other installations keep theirs there, so that those of other versions of the code are of use.
    """

    def __init__(self, folder, name, is_shared=False):
        self.folder, self.name, self.is_shared = Path(folder), name, is_shared

    def _path(self, key):
        return (
            self.folder / f"{self.name}.{version_of_code()}.{hashlib.sha256(repr(key).encode()).hexdigest()[:24]}.nbc"
        )

    def load(self, key):
        """Data saved under the key, or None."""
        path = self._path(key)
        if path.exists() and not path.is_file():  # reading a pipe might never end
            raise Damaged(f"{path} is not a regular file")
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        with suppress(OSError):  # the folder may be read-only
            os.utime(path)
        digest, data = content[:_DIGEST], content[_DIGEST:]
        if _digest(path, data) != digest:
            raise Damaged(f"{path} is damaged, or was written under another name")
        return pickle.loads(data)

    def save(self, key, data):
        """Write a file in one step, so that no process reads half of it; remove files of no further use."""
        data, path = dumps(data), self._path(key)
        temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex[:16]}")
        try:
            temporary.write_bytes(_digest(path, data) + data)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        for other in () if self.is_shared else self.folder.glob("*.nbc"):
            if other.name.split(".")[-3:-2] != [version_of_code()]:
                other.unlink(missing_ok=True)
        make_room(self.folder, path)

    def flush(self):
        """Remove all files of the function."""
        for path in self.folder.glob(f"{self.name}.*.nbc"):
            path.unlink(missing_ok=True)


def make_room(folder, newest):
    """Remove files of compiled code that were not used for the longest time, until those that are left are few enough.

    Parameters
    ----------
    folder : Path
        Where they are. Other processes may remove them, too.
    newest : Path
        A file that stays in any case.
    """
    limit, room = os.environ.get(LIMIT) or MOST, -1.0
    with suppress(ValueError):
        room = 1e6 * float(limit)
    if not room >= 0.0:
        _warn_once(f"{LIMIT} must be a number of megabytes, at least 0; got {limit!r}. {MOST:g} are kept.")
        room = 1e6 * MOST
    found = []
    for path in folder.glob("*.nbc*"):
        with suppress(OSError):
            stat = path.stat()
            found.append((path != newest, -stat.st_mtime_ns, stat.st_size, path))
    for is_old, _, size, path in sorted(found):
        room -= size
        if is_old and room < 0.0:
            path.unlink(missing_ok=True)


def _digest(path, data):
    """Digest of the file's name and data: code for other types would run, but give wrong numbers."""
    return hashlib.sha256(path.name.encode() + b"\0" + data).digest()


_UserProvidedLocator: Any = CompileResultCacheImpl._locator_classes[0]


class _SharedFolder(_UserProvidedLocator):
    """One folder within ``NUMBA_CACHE_DIR`` for all installations; Numba would have one for each."""

    @classmethod
    def get_suitable_cache_subpath(cls, py_file):
        """Name of the folder."""
        return "sklearn_nag"


class _KernelCacheImpl(CompileResultCacheImpl):
    _locator_classes = [_SharedFolder, *CompileResultCacheImpl._locator_classes[1:]]


class KernelCache(FunctionCache):
    """Numba's cache of one function, in `CodeFiles`; whatever goes wrong with these, the function is compiled.

    Parameters
    ----------
    function : callable
        What is compiled.
    constants : dict, optional
        Of the rule that it is compiled for, by name.
    """

    _impl_class = _KernelCacheImpl

    def __init__(self, function, constants=None):
        super().__init__(function)
        name, self._constants = self._impl.filename_base, constants
        self._impl = self._impl_class(cache_of)  # its folder is that of all functions
        self._cache_path = self._impl.locator.get_cache_path()
        is_shared = isinstance(self._impl.locator, _SharedFolder)
        self._cache_file = CodeFiles(self._cache_path, name, is_shared)

    def _index_key(self, sig, codegen):
        return *super()._index_key(sig, codegen), self._py_func.__module__, self._constants

    def load_overload(self, sig, target_context):
        """Compiled code for a signature, or None."""
        found = None
        try:
            # Numba would first import its compiler; code that is found needs only this.
            rtsys.initialize(target_context)
            with self._guard_against_spurious_io_errors():
                found = self._load_overload(sig, target_context)
        except Exception as error:
            _warn_once(f"compiled code cannot be read ({error}); it is compiled anew.")
        if found is None:
            _announce("once on this machine for each kind of model")
        return found

    def save_overload(self, sig, data):
        """Save compiled code for a signature, if possible."""
        try:
            super().save_overload(sig, data)
        except Exception as error:
            _warn_once(f"compiled code cannot be kept ({error}); each process compiles it anew.")


class NoCache(NullCache):
    """Cache without a folder to write to."""

    def load_overload(self, sig, target_context):
        """Announce compilation."""
        _announce("in each process, as there is no folder to keep compiled code in")


def _warn_once(message):
    """Warn about the first problem in this process; later ones mostly have the same cause."""
    if not _warned:
        _warned.append(message)
        warnings.warn(message, RuntimeWarning, stacklevel=2)


@contextmanager
def tell_of_compiling(tell):
    """Context in which ``tell`` gets a sentence before each compilation."""
    _told.append(tell)
    try:
        yield
    finally:
        _told.remove(tell)


def _announce(how_often):
    message = f"compiling the update kernel, which takes some seconds, {how_often}"
    _log_once(message)
    for tell in {*_told}:
        tell(message[0].upper() + message[1:])


@lru_cache
def _log_once(message):
    logger.info(message)


def cache_of(function, constants=None):
    """Cache for a compiled function, or `NoCache` if there is no folder to write to."""
    try:
        return KernelCache(function, constants)
    except (RuntimeError, OSError):
        return NoCache()


def kept():
    """Folder of compiled code (None if there is none), number of files, and their total size in bytes."""
    cache = cache_of(cache_of)
    if not isinstance(cache, KernelCache):
        return None, 0, 0
    folder = Path(cache.cache_path)
    sizes = [path.stat().st_size for path in folder.glob("*.nbc")]
    return folder, len(sizes), sum(sizes)
