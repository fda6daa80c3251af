"""Compiled code kept between processes: up to date, checked, and never required."""

import os
import shutil
import warnings

import pytest

pytest.importorskip("numba")

from sklearn_nag import NAGRegressor, config_context, kernels
from sklearn_nag.kernels.compiled import cache

from ...processes import run_code

KEY = ("types", "processor", ("bytes",))


@pytest.fixture
def files(tmp_path):
    return cache.CodeFiles(tmp_path, "module.function-1.py")


def test_what_is_saved_is_loaded(files):
    assert files.load(KEY) is None
    files.save(KEY, {"code": b"abc"})
    files.save(("others",), 1)
    assert files.load(KEY) == {"code": b"abc"}
    assert len(list(files.folder.iterdir())) == 2
    files.flush()
    assert files.load(KEY) is None


@pytest.mark.parametrize("damage", ["cut", "empty", "garbage", "one byte"])
def test_damage_is_seen(files, damage):
    files.save(KEY, {"code": b"abc" * 100})
    (path,) = files.folder.iterdir()
    whole = path.read_bytes()
    damaged = {"cut": whole[:-1], "empty": b"", "garbage": b"garbage", "one byte": whole[:40] + b"x" + whole[41:]}
    path.write_bytes(damaged[damage])
    with pytest.raises(cache.Damaged):
        files.load(KEY)


def test_code_for_other_types_is_not_taken(files):
    files.save(KEY, "float64")
    (path,) = files.folder.iterdir()
    files.save(("others",), "float32")
    (other,) = set(files.folder.iterdir()) - {path}
    first, second = path.read_bytes(), other.read_bytes()
    path.write_bytes(second)
    other.write_bytes(first)
    for key in (KEY, ("others",)):
        with pytest.raises(cache.Damaged, match="another name"):
            files.load(key)


def test_files_may_be_moved_to_another_folder(files, tmp_path_factory):
    files.save(KEY, "code")
    folder = tmp_path_factory.mktemp("moved")
    for path in files.folder.iterdir():
        shutil.move(path, folder)
    assert cache.CodeFiles(folder, files.name).load(KEY) == "code"


def test_whatever_goes_wrong_is_one_warning(monkeypatch):
    monkeypatch.setattr(cache, "_warned", [])
    with pytest.warns(RuntimeWarning, match="^file 0 is damaged$"):
        cache._warn_once("file 0 is damaged")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache._warn_once("file 1 is damaged")


def test_code_of_other_sources_is_not_loaded_and_goes(files, monkeypatch):
    files.save(KEY, "old")
    monkeypatch.setattr(cache, "version_of_code", lambda: "another")
    assert files.load(KEY) is None
    files.save(KEY, "new")
    assert files.load(KEY) == "new"
    assert len(list(files.folder.iterdir())) == 1


def test_code_of_other_sources_stays_in_a_folder_that_is_shared(tmp_path, monkeypatch):
    files = cache.CodeFiles(tmp_path, "module.function-1.py", is_shared=True)
    files.save(KEY, "old")
    with monkeypatch.context() as patch:
        patch.setattr(cache, "version_of_code", lambda: "another")
        files.save(KEY, "new")
        assert files.load(KEY) == "new"
        patch.setenv(cache.LIMIT, "0.0001")  # it is removed like any other if there is no room
        files.save(("others",), "x" * 100)
        assert len(list(tmp_path.iterdir())) == 1
    assert files.load(KEY) is None


def test_room_is_made_by_what_was_not_used_for_longest(files, monkeypatch):
    monkeypatch.setenv(cache.LIMIT, "0.0025")
    for i, name in enumerate("abc"):
        files.save((name,), "x" * 700)
        os.utime(files._path((name,)), (i, i))
    assert files.load(("a",))  # this use makes it no longer the oldest
    files.save(("d",), "x" * 700)
    assert [files.load((name,)) is not None for name in "abcd"] == [True, False, True, True]
    files.save(("e",), "x" * 7000)
    assert list(files.folder.iterdir()) == [files._path(("e",))]


def test_what_a_killed_process_has_left_goes_too(files, monkeypatch):
    left = files.folder / f"{files._path(KEY).name}.0123456789abcdef"
    left.write_bytes(b"x" * 10_000)
    os.utime(left, (1, 1))
    monkeypatch.setenv(cache.LIMIT, "0.005")
    files.save(KEY, "code")
    assert list(files.folder.iterdir()) == [files._path(KEY)]


@pytest.mark.parametrize("limit", ["much", "-1", "nan"])
def test_a_limit_that_is_no_number(files, monkeypatch, limit):
    """The default limit applies, and the warning is about the variable; code is still kept."""
    files.save(("old",), "x" * 700)
    os.utime(files._path(("old",)), (1, 1))
    monkeypatch.setenv(cache.LIMIT, limit)
    monkeypatch.setattr(cache, "_warned", [])
    monkeypatch.setattr(cache, "MOST", 0.001)
    message = f"^SKLEARN_NAG_CACHE_MB must be a number of megabytes, at least 0; got '{limit}'. 0.001 are kept.$"
    with pytest.warns(RuntimeWarning, match=message):
        files.save(KEY, "x" * 700)
    assert list(files.folder.iterdir()) == [files._path(KEY)]


IGNORED = shutil.ignore_patterns("__pycache__")


def copy_of_package(folder):
    """Copy the files of this package, as an installation into another folder at another time would."""
    shutil.copytree(
        cache.Path(cache.__file__).parents[2], folder / "sklearn_nag", ignore=IGNORED, copy_function=shutil.copy
    )
    return folder / "sklearn_nag"


@pytest.mark.parametrize("name", ["kernels/compiled/arithmetic.py", "kernels/nag/rule.py", "losses.py"])
def test_the_version_follows_what_files_say(tmp_path, monkeypatch, name):
    before = cache.version_of_code()
    copy = copy_of_package(tmp_path)
    monkeypatch.setattr(cache, "__file__", str(copy / "kernels/compiled/cache.py"))
    assert cache.version_of_code.__wrapped__() == before
    content = (copy / name).read_bytes()
    (copy / name).write_bytes(content.replace(b"1", b"2", 1))
    assert cache.version_of_code.__wrapped__() != before


@pytest.mark.parametrize("module", [cache.numba, cache.np])
def test_the_version_follows_what_compiles(monkeypatch, module):
    before = cache.version_of_code()
    monkeypatch.setattr(module, "__version__", "another")
    assert cache.version_of_code.__wrapped__() != before


# The smallest function that Python calls, because each process compiles it.
FADE = (
    "import numpy as np; from sklearn_nag.kernels.compiled.fading import multiply_columns;"
    "columns = np.ones((2, 3)); multiply_columns(columns, 0, np.arange(3.0), np.zeros(3)); print(columns.tolist());"
)


def run(folder, code=FADE, n=1):
    return run_code(code, n=n, NUMBA_CACHE_DIR=str(folder), SKLEARN_NAG_KERNEL="numba")


def pipe(path):
    path.unlink()
    os.mkfifo(path)


EXPECTED = "[[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]\n"  # what `FADE` prints


@pytest.fixture(scope="module")
def started_together(tmp_path_factory):
    """Return the cache folder of two processes that start cold together, and the outputs that they print."""
    folder = tmp_path_factory.mktemp("together")
    return folder, {process.stdout for process in run(folder, n=2)}


def test_processes_that_start_cold_together(started_together):
    folder, printed = started_together
    assert printed == {EXPECTED}
    assert len(list(folder.rglob("*.nbc"))) == 1


def test_another_installation_finds_what_was_compiled(tmp_path, started_together):
    folder = started_together[0]
    told = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import sklearn_nag; print(sklearn_nag.__file__);"
    copy = copy_of_package(tmp_path)
    (process,) = run(folder, f"{told} {FADE} print(len(multiply_columns.stats.cache_hits))")
    assert process.stdout == f"{copy / '__init__.py'}\n{EXPECTED}1\n"
    assert len(list(folder.rglob("*.nbc"))) == 1


def test_damaged_files_are_replaced_with_one_warning(tmp_path, started_together):
    shutil.copytree(started_together[0], tmp_path, dirs_exist_ok=True)
    for damage in [lambda path: path.write_bytes(b"garbage"), *[pipe] * hasattr(os, "mkfifo")]:
        (path,) = tmp_path.rglob("*.nbc")
        damage(path)
        (damaged,) = run(tmp_path)
        assert damaged.stdout == EXPECTED
        assert damaged.stderr.count("RuntimeWarning") == 1
        content = path.read_bytes()
        assert content[: cache._DIGEST] == cache._digest(path, content[cache._DIGEST :])
    (again,) = run(tmp_path)
    assert again.stdout == EXPECTED
    assert "Warning" not in again.stderr


def test_a_full_disk_is_no_error(tmp_path):
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)); import signal;"
    limited += "signal.signal(signal.SIGXFSZ, signal.SIG_IGN);" + FADE
    assert run(tmp_path, limited)[0].stdout == EXPECTED


def test_a_first_call_says_that_it_compiles(caplog):
    cache._log_once.cache_clear()
    with caplog.at_level("INFO", logger="sklearn_nag"), warnings.catch_warnings():
        cache.NoCache().load_overload(None, None)
        cache.NoCache().load_overload(None, None)
    (record,) = caplog.records
    assert record.message.startswith("compiling the update kernel, which takes some seconds, in each process")


def test_whoever_asks_is_told_of_each_function_that_is_compiled():
    said = []
    with cache.tell_of_compiling(said.append), warnings.catch_warnings():
        cache.NoCache().load_overload(None, None)
        cache.NoCache().load_overload(None, None)
    cache.NoCache().load_overload(None, None)
    assert len(said) == 2
    assert said[0].startswith("Compiling the update kernel, which takes some seconds, in each process")


def test_verbose_models_say_that_they_compile(capsys, monkeypatch):
    def learn(*args, **options):
        cache._announce("now")

    monkeypatch.setattr(kernels, "learn", learn)
    with config_context(kernel="numba"):
        for verbose in (0, 1):
            NAGRegressor(verbose=verbose).partial_fit([[1.0]], [1.0])
    assert capsys.readouterr().out == "Compiling the update kernel, which takes some seconds, now\n"


# One rule with two losses of the same kind, for which it is compiled once, and another rule. A single function plays
# the predictions of all.
RULES_AND_LOSSES = """
import numpy as np
from sklearn_nag import losses
from sklearn_nag.kernels import learn, nag, new_state
from sklearn_nag.kernels.compiled import cache, jit

X, y = np.arange(12.0).reshape(6, 2), np.ones((6, 1))
for normalization, loss in (("max", losses.Log()), ("max", losses.Hinge()), (None, losses.Hinge())):
    learn(new_state(nag.Rule(normalization, False, False, (1e-3,)), 2), loss, X, y)
stats = [copy.stats for copy in jit._copies.values() if isinstance(copy._cache, cache.KernelCache)]
hits, misses = (sum(sum(getattr(some, name).values()) for some in stats) for name in ("cache_hits", "cache_misses"))
print(hits, misses)
"""


def test_a_second_process_finds_what_the_first_has_compiled(tmp_path):
    assert run(tmp_path, RULES_AND_LOSSES)[0].stdout.split() == ["0", "3"]
    assert run(tmp_path, RULES_AND_LOSSES)[0].stdout.split() == ["3", "0"]
    assert len(list(tmp_path.rglob("*.nbc"))) == 3
