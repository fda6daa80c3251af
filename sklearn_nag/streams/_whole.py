"""Files that are whole at any moment: either the old one or the new one."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import stat
import uuid
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be removed
    fcntl = None  # type: ignore[assignment]

_LONGEST_NAME = 255  # bytes, of a file in all usual file systems


def write_whole(path: Any, write: Any) -> None:
    """Write a file with ``write(file)``; at any moment, the old one or the new one is there, whole.

    The new file is made in the same folder, takes the mode and, if allowed, the owner of the old one, and replaces it
    (of a symbolic link, the target). An OSError names ``path``.
    """
    with _naming(path):
        target = _target(path)
        file, name = _made_beside(target)
        try:
            with file:
                _take_after(target, name)
                write(file)
                file.flush()
                os.fsync(file.fileno())
                if fcntl is not None:  # while it is locked
                    os.replace(name, target)
            if fcntl is None:
                os.replace(name, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise


def check_writable(path: Any) -> None:
    """Raise OSError that names ``path`` if `write_whole` could not even begin."""
    with _naming(path):
        file, name = _made_beside(_target(path))
        file.close()
        os.unlink(name)


def clear_beside(path: Any) -> None:
    """Remove files left by processes killed while writing ``path``, but none being written."""
    with contextlib.suppress(OSError):
        target = _target(path)
        left = re.compile(re.escape(_prefix(target)) + "[0-9a-f]{32}")
        for name in filter(left.fullmatch, os.listdir(target.parent)):
            with contextlib.suppress(OSError):
                _remove_unless_held(target.parent / name)


@contextlib.contextmanager
def _naming(path):
    """Make errors name ``path``, because the file being written has a hidden name."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, f"it cannot be written: {error.strerror}", str(path)) from error


def _target(path):
    """The file that a path stands for; raise if it exists and is not a regular file, or the name is invalid."""
    target = Path(os.path.realpath(path))
    with contextlib.suppress(FileNotFoundError):
        mode = os.lstat(target).st_mode
        if stat.S_ISDIR(mode):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
    return target


def _prefix(target):
    """Beginning of the names of files that are to replace ``target``."""
    name = target.name
    if len(os.fsencode(name)) + 34 > _LONGEST_NAME:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()[:32]
    return f".{name}."


def _made_beside(target) -> tuple[IO[bytes], Path]:
    """A new file in the same folder, open and locked, and its name."""

    def opener(name, flags):
        return os.open(name, flags, 0o600 if target.exists() else 0o666)

    while True:
        name = target.with_name(_prefix(target) + uuid.uuid4().hex)
        file = open(name, "xb", opener=opener)  # noqa: SIM115 (the caller closes it)
        if _hold(file.fileno()) and not _is_there(name, file.fileno()):  # another process took it for a leftover
            file.close()
            continue
        return file, name


def _take_after(target, name):
    """Give a new file the owner and the mode of the one whose place it takes."""
    with contextlib.suppress(FileNotFoundError):
        old = os.stat(target)
        if hasattr(os, "chown"):
            with contextlib.suppress(OSError):
                os.chown(name, old.st_uid, old.st_gid)
        os.chmod(name, stat.S_IMODE(old.st_mode))


def _hold(file, wait=True):
    """Lock an open file until it is closed or its process dies; return whether it is locked: not all disks can."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def _is_there(name, file):
    try:
        return os.path.samestat(os.stat(name), os.fstat(file))
    except FileNotFoundError:
        return False


def _remove_unless_held(name):
    if fcntl is None:
        os.unlink(name)
        return
    file = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if stat.S_ISREG(os.fstat(file).st_mode) and _hold(file, wait=False):
            os.unlink(name)
    finally:
        os.close(file)
