"""A file that stalls blocks neither Ctrl-C, nor the exit of the process, nor the closing of batches."""

import gc
import os
import signal
import threading
import time

import pytest

from sklearn_nag.streams import read_batches
from sklearn_nag.streams._aside import Aside, Stopped, apart

from ..processes import run_code

SOON = 5.0  # seconds, enough on a busy machine; a stalled file stalls for ever

SCRIPT = """
import os, signal, sys, threading, time, warnings
from sklearn_nag import NAGClassifier
from sklearn_nag.streams import _csv, fit_stream, read_batches

how, *paths = sys.argv[1:]

class Stalling:
    '''A file whose disk is gone after the first rows.'''
    def __init__(self, path, mode):
        self.file = open(path, mode)
    def read(self, n):
        return self.file.read(n) if self.file.tell() < 2**23 else threading.Event().wait()
    def seekable(self):
        return True
    def close(self):
        self.file.close()
    def __getattr__(self, name):
        return getattr(self.file, name)
    def __enter__(self):
        return self
    def __exit__(self, *error):
        self.close()

def read(path):
    return read_batches(path, "y", batch_size=500) if ".csv" in path else read_batches(path, n_features=2)

def interrupt():
    print(time.monotonic(), flush=True)
    os.kill(os.getpid(), signal.SIGINT)

_csv.open = Stalling
warnings.simplefilter("ignore")
if how == "leave":
    print(len(next(iter(read(paths[0])))[1]), flush=True)
    sys.exit()
signal.signal(signal.SIGINT, signal.default_int_handler)
# A process for each of the files, all at the same time; each prints into files of its own.
processes = []
for path in paths:
    processes.append(os.fork())
    if processes[-1] == 0:
        break
else:
    print(*[os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in processes])
    sys.exit()
signal.alarm(60)  # so that none is left that does not end
for number, name in enumerate(("out", "err"), 1):
    os.dup2(os.open(f"{path}.{name}", os.O_CREAT | os.O_WRONLY), number)
threading.Timer(0.8, interrupt).start()  # when what can be read has been, and is learnt
try:
    fit_stream(NAGClassifier(), read(path), classes=[0, 1])
except KeyboardInterrupt:
    print("interrupted", flush=True)
    raise
"""


def without_disk(folder):
    """Write a file with few rows, whose disk is to be gone after 8 MiB, and return its path."""
    pytest.importorskip("pyarrow", exc_type=ImportError)
    path = folder / "rows.csv"
    path.write_text("a,b,y\n" + f"1.{'0' * 4000},2,0\n" * 2500)
    return path


@pytest.fixture(params=[("rows.svm", "rows.svm.gz"), ("rows.csv", "unopened.csv")], ids=lambda names: names[0])
def stalled(request, tmp_path):
    """Return paths of files without an end: one whose disk is gone, and pipes whose writers are silent or missing."""
    paths, kept = [tmp_path / name for name in request.param], []
    for path in paths:
        if path.name == "rows.csv":
            without_disk(tmp_path)
            continue
        os.mkfifo(path)
        if path.suffix != ".csv":
            threading.Thread(target=lambda path=path: kept.append(os.open(path, os.O_WRONLY)), daemon=True).start()
    yield paths
    for file in kept:
        os.close(file)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_an_interrupt_ends_a_run_whose_file_stalls(stalled):
    (process,) = run_code(SCRIPT, "learn", *map(str, stalled), SKLEARN_NAG_KERNEL="numpy")
    ended = time.monotonic()
    assert process.stdout.split() == [str(-signal.SIGINT)] * len(stalled)
    for path in stalled:
        start, said = path.with_name(f"{path.name}.out").read_text().split()
        assert said == "interrupted"
        assert path.with_name(f"{path.name}.err").read_text().rstrip().endswith("KeyboardInterrupt")
        assert ended - float(start) < SOON


def test_a_file_that_stalls_does_not_keep_a_process_from_ending(tmp_path):
    (process,) = run_code(SCRIPT, "leave", str(without_disk(tmp_path)), SKLEARN_NAG_KERNEL="numpy")
    assert process == (0, "500\n", "")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_batches_that_stall_can_be_closed(tmp_path):
    os.mkfifo(tmp_path / "rows.svm")
    batches = iter(read_batches(tmp_path / "rows.svm", n_features=1))
    read = []
    waiting = threading.Thread(target=lambda: read.extend(batches), daemon=True)
    waiting.start()
    file = os.open(tmp_path / "rows.svm", os.O_WRONLY)  # waits until it is open for reading
    os.write(file, b"1 0:1\n")
    gc.collect()  # garbage of other tests, which takes time to collect
    other, start = iter(read_batches(tmp_path / "rows.svm", n_features=1)), time.monotonic()
    del other
    gc.collect()
    assert time.monotonic() - start < SOON
    os.close(file)  # the pipe ends, and with it the batches
    waiting.join(10 * SOON)
    assert not waiting.is_alive()
    assert len(read) == 1


def test_batches_that_are_left_leave_no_thread(tmp_path):
    (tmp_path / "rows.svm").write_text("0 0:1\n1 0:1\n" * 50_000)
    before = threading.active_count()
    for _ in range(3):
        for _ in read_batches(tmp_path / "rows.svm", n_features=1, batch_size=10):
            break
    deadline = time.monotonic() + SOON
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_of_csv_is_read_as_it_comes(tmp_path):
    pytest.importorskip("pyarrow", exc_type=ImportError)
    os.mkfifo(tmp_path / "rows.csv")
    writer = threading.Thread(target=(tmp_path / "rows.csv").write_bytes, args=(b"a,y\n1,0\n2,1\n",), daemon=True)
    writer.start()
    ((X, y),) = read_batches(tmp_path / "rows.csv", "y")
    assert X.tolist() == [[1.0], [2.0]]
    assert y.tolist() == [0, 1]


def test_calls_aside():
    aside, gone = Aside(), threading.Event()
    assert [aside.call(divmod, 7, 2), apart(len, "ab")] == [(3, 1), 2]
    with pytest.raises(TimeoutError, match="the disk"):  # an error of the call, not of waiting for it
        apart(_raise, TimeoutError("the disk"))
    future = aside.submit(gone.wait)
    threading.Timer(0.05, aside.stop.set).start()
    with pytest.raises(Stopped):
        aside.result(future)
    gone.set()


def _raise(error):
    raise error


def test_one_that_was_interrupted_before_it_began_ends_quietly(monkeypatch):
    unraisable = []
    monkeypatch.setattr("sys.unraisablehook", unraisable.append)
    object.__new__(Aside)
    gc.collect()
    assert not unraisable
