"""Files that replace others are whole, keep the mode and links, and leave nothing beside them."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sklearn_nag import NAGClassifier
from sklearn_nag.streams import _whole, fit_stream
from sklearn_nag.streams._whole import check_writable, clear_beside, write_whole

RNG = np.random.default_rng(0)
X = RNG.normal(size=(100, 3))
Y = (X[:, 0] > 0).astype(int)


def learn(path, rows=None):
    return fit_stream(NAGClassifier(), [(X, Y)] if rows is None else rows, classes=[0, 1], checkpoint=path)


def not_read():
    raise AssertionError("a row was asked for")
    yield


def write(path, content=b"new"):
    write_whole(path, lambda file: file.write(content))


@pytest.mark.skipif(os.name != "posix", reason="needs named pipes")
@pytest.mark.parametrize("place", ["none/model", "file/model", "folder", "x" * 256, "pipe"])
def test_a_checkpoint_that_cannot_be_written_is_told_before_the_first_row(place, tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="cannot be written") as caught:
        write(tmp_path / place)
    assert caught.value.filename == str(tmp_path / place)
    if place in ("folder", "pipe"):
        with pytest.raises(ValueError, match=f"{place} is not a checkpoint: it is a folder, or not a regular file"):
            learn(tmp_path / place, not_read())
    else:
        with pytest.raises(OSError, match="cannot be written") as caught:
            learn(tmp_path / place, not_read())
        assert caught.value.filename == str(tmp_path / place)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder", "pipe"]


def test_a_folder_that_may_not_be_written(tmp_path, monkeypatch):
    """The system's answer is simulated, because root may write everywhere."""
    real = os.open

    def refuse(path, flags, *mode, **options):
        if flags & os.O_CREAT:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return real(path, flags, *mode, **options)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(PermissionError, match="cannot be written: Permission denied") as caught:
        learn(tmp_path / "model", not_read())
    assert caught.value.filename == str(tmp_path / "model")


def test_a_run_that_has_ended_needs_no_place_to_write(tmp_path, monkeypatch):
    learn(tmp_path / "model")
    monkeypatch.setattr(_whole, "_made_beside", None)
    assert learn(tmp_path / "model", not_read()).t_ == len(X)


def test_a_full_disk_names_the_file(tmp_path):
    (tmp_path / "model").write_bytes(b"old")

    def fill(file):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError, match="cannot be written: No space left on device: '.*model'") as caught:
        write_whole(tmp_path / "model", fill)
    assert caught.value.errno == errno.ENOSPC
    assert (tmp_path / "model").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.skipif(os.name != "posix", reason="needs modes")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_the_mode_stays(mode, tmp_path):
    learn(tmp_path / "model")
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE((tmp_path / "model").stat().st_mode) == 0o666 & ~umask
    (tmp_path / "model").chmod(mode)
    modes = []

    def look(file):
        modes.append(stat.S_IMODE(os.fstat(file.fileno()).st_mode))

    write_whole(tmp_path / "model", look)
    assert modes == [mode]
    assert stat.S_IMODE((tmp_path / "model").stat().st_mode) == mode


@pytest.mark.skipif(os.name != "posix", reason="needs symbolic links")
def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "model").symlink_to(Path("there", "kept"))
    for content in (b"one", b"two"):
        write(tmp_path / "model", content)
        assert (tmp_path / "model").readlink() == Path("there", "kept")
        assert (tmp_path / "there" / "kept").read_bytes() == content
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="cannot be written"):
        check_writable(tmp_path / "loop")
    assert sorted(os.listdir(tmp_path)) == ["loop", "model", "there"]


@pytest.mark.parametrize("name", ["m" * 230, "é" * 127])
def test_the_longest_names(name, tmp_path):
    (tmp_path / f"{_whole._prefix(tmp_path / name)}{'0' * 32}").touch()
    clear_beside(tmp_path / name)
    write(tmp_path / name)
    assert os.listdir(tmp_path) == [name]


KILLED = """
import runpy, sys
write_whole = runpy.run_path(sys.argv[2])["write_whole"]  # by itself, as all of the package takes long to import
def write(file):
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    sys.stdin.read()
write_whole(sys.argv[1], write)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL and locks")
def test_what_a_killed_run_has_left_is_cleared_and_what_is_written_is_not(tmp_path):
    path = tmp_path / "model"
    others = [".model.backup", f".model.{'g' * 32}", f".model2.{'0' * 32}", f"model.{'0' * 32}"]
    for name in others:
        (tmp_path / name).touch()
    (tmp_path / f".model.{'0' * 32}").write_bytes(b"of an earlier version")
    command = [sys.executable, "-c", KILLED, str(path), _whole.__file__]
    process = subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with process:
        assert process.stdout.readline() == "writing\n"
        learn(path)
        (beside,) = set(os.listdir(tmp_path)) - {"model", *others}  # the file of the other run, which is still writing
        assert (tmp_path / beside).read_bytes() == b"half"
        process.kill()
    assert learn(path).t_ == len(X)  # this run has ended, and writes nothing
    assert set(os.listdir(tmp_path)) == {"model", *others}
    (tmp_path / f".model.{'1' * 32}").symlink_to(tmp_path / "model")
    (tmp_path / f".model.{'2' * 32}").mkdir()
    clear_beside(path)
    assert set(os.listdir(tmp_path)) == {"model", *others, f".model.{'1' * 32}", f".model.{'2' * 32}"}


@pytest.mark.skipif(_whole.fcntl is None, reason="needs locks")
def test_a_file_that_was_taken_for_left_is_made_again(tmp_path, monkeypatch):
    hold, lost = _whole._hold, []

    def late(file, wait=True):
        if not lost:
            lost.extend(os.listdir(tmp_path))
            os.unlink(tmp_path / lost[0])
        return hold(file, wait)

    monkeypatch.setattr(_whole, "_hold", late)
    write(tmp_path / "model")
    assert os.listdir(tmp_path) == ["model"]
    assert lost[0].startswith(".model.")


def test_a_disk_without_locks(tmp_path, monkeypatch):
    """Nothing is removed from such a disk, because it is not known which files are still being written."""
    monkeypatch.setattr(_whole, "_hold", lambda file, wait=True: False)
    (tmp_path / f".model.{'0' * 32}").touch()
    clear_beside(tmp_path / "model")
    write(tmp_path / "model")
    assert sorted(os.listdir(tmp_path)) == [f".model.{'0' * 32}", "model"]
