"""Promises that need a mishap: malformed input, signals, little memory, threads, a damaged cache."""

from __future__ import annotations

import contextlib
import copy
import gzip
import os
import pickle
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from scipy import sparse

import sklearn_nag
from sklearn_nag.streams import fit_stream, read_batches

from .cases import HAVE_NUMBA, as_the_loss_takes_them, drawn
from .children import each_in_child
from .promises import Broken, arrays, decision, described, image, is_not_finite, promise

HEEDED = 0.2  # seconds within which an interrupt must be heeded
STALLS = 3.0  # longest time that a file stalls, in seconds
AT_ONCE = 3  # processes and threads

# Changes to a CSR array X with at least two rows and columns, and entries 1, 2, ... in all places. Those in MISLEADING
# claim an order that is not there: such arrays may be refused, or learnt as what they stand for.
MALFORMED = (
    "X.indices[-1] = X.shape[1]",
    "X.indices[0] = X.shape[1] + 1",
    "X.indices[0] = np.iinfo(X.indices.dtype).max",
    "X.indices[-1] = -1",
    "X.indices[0] = np.iinfo(X.indices.dtype).min",
    "X.indices = X.indices.astype(np.int64); X.indptr = X.indptr.astype(np.int64); X.indices[0] = 2**32 + 1",
    "X.indices = X.indices[:-1].copy()",
    "X.indices = X.indices[:1].copy()",
    "X.data = X.data[:-1].copy()",
    "X.indptr[0] = 1",
    "X.indptr[0] = -1",
    "X.indptr[1] = X.indptr[-1] + 1",
    "X.indptr[1] = -5",
    "X.indptr[-1] += 1",
    "X.indptr[-1] = np.iinfo(X.indptr.dtype).max",
    "X.indptr[-1] = 0",
    "X.indptr = X.indptr[:-1].copy()",
    "X.indptr = np.append(X.indptr, X.indptr[-1])",
    "X = X.tocsc(); X.indices[-1] = X.shape[0]",
    "X = X.tocsc(); X.indices[0] = -1",
    "X = X.tocoo(); X.coords[1][0] = X.shape[1]",
    "X = X.tocoo(); X.coords[0][-1] = -1",
    "X = X.tolil(); X.rows[0][-1] = X.shape[1]",
    "X = X.tolil(); X.rows[-1][0] = -9",
    "X = X.tolil(); X.rows = X.rows[:-1]",
    "X = X.tobsr(); X.indices[0] = X.shape[1]",
    "X = X.todia(); X.offsets = X.offsets[:-1]",
    "X.indices = X.indices.astype(X.indices.dtype.newbyteorder())",
    "X.indptr = X.indptr.astype(X.indptr.dtype.newbyteorder())",
    "X.indices = X.indices[None]",
)
MISLEADING = (
    "X.indices[0] = X.indices[1]; X.has_canonical_format = X.has_sorted_indices = True",
    "X.indices[:2] = X.indices[1::-1]; X.has_canonical_format = X.has_sorted_indices = True",
)


def plain_rows(case, n, d):
    """Return rows, targets and classes (None for regression) of plain sizes, for the estimator of the case."""
    rng = case.rng("plain rows")
    X = rng.normal(size=(n, d))
    if case.classes is not None:
        y = drawn(rng, case.classes, n)
        if y.ndim == 1:
            y[: len(case.classes)] = case.classes[:n]  # all classes, because `fit` needs two
        return X, y, case.classes
    return X, as_the_loss_takes_them(X[:, 0] + rng.normal(size=n), case.parameters), None


def new_model(case):
    """Return the estimator of the case, not fitted; its ``fit`` makes three passes."""
    own = {"tol": None} if hasattr(case.model(), "tol") else {}
    return case.model().set_params(max_iter=3, random_state=0, **own)


def told(model, X, y, classes, method="partial_fit"):
    """Call a method that learns, and ignore its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if method == "fit":
            return model.fit(X, y)
        return model.partial_fit(X, y, **({} if classes is None else {"classes": classes}))


def long_rows(n, d, classes):
    """Return Python that makes rows, for reproducers."""
    if classes is None:
        labels = "np.abs(X[:, 0])"
    elif classes.ndim == 2:
        labels = f"np.add.outer(np.arange({n}), np.arange({len(classes)})) % 2"
    else:
        labels = f"np.array({classes.tolist()!r})[np.arange({n}) % {len(classes)}]"
    return f"X = np.random.default_rng(0).normal(size=({n}, {d}))", f"y = {labels}"


def first_call(classes):
    return f"partial_fit(X, y{'' if classes is None else f', classes={classes.tolist()!r}'})"


def as_many(case, on_numpy, compiled):
    """Return how many rows make a call take a while: on NumPy, fewer for models that are many times slower."""
    if case.kernel == "numba":
        return compiled
    if isinstance(case.parameters.get("half_life"), str | tuple):
        return on_numpy // 10
    return on_numpy // (4 if case.learner.startswith(("Hedge", "NAGCells")) else 1)


def dense_only(case):
    return case.parameters.get("invariance") == "full" or case.parameters.get("centering") is True


@promise("a malformed sparse matrix is refused, and changes nothing", every=10, shrinks=False)
def malformed_matrices_are_refused(case):
    if dense_only(case):
        return
    sklearn_nag.set_config(kernel=case.kernel)
    rng = case.rng("malformed")
    n, d = 4, 6
    _, y, classes = plain_rows(case, n, d)
    full, model = sparse.csr_array(np.arange(1.0, n * d + 1).reshape(n, d)), new_model(case)
    try:
        told(model, full, y, classes)
    except ValueError:  # for example, bounds for each column of the case
        return
    trials = [(damage, str(rng.choice(["partial_fit", "fit", "predict"]))) for damage in (*MALFORMED, *MISLEADING)]
    found = [
        (*trial, wrong)
        for trial, wrong, _ in each_in_child(
            partial(_damaged, model, image(model), full, y, classes), trials, seconds=120.0
        )
        if wrong
    ]
    if found:
        damage, method, wrong = found[int(rng.integers(len(found)))]
        call = f"model.{method}(X{'' if method == 'predict' else ', y'})"
        raise Broken(
            f"{method} after {damage}: {wrong}",
            f"X = sparse.csr_array(np.arange(1.0, {n * d + 1}).reshape({n}, {d}))",
            f"y = np.array({y.tolist()})",
            f"model.partial_fit(X, y{'' if classes is None else f', classes={classes.tolist()}'})",
            damage,
            call,
        )


def _damaged(known, before, X, y, classes, trial):
    """Return what goes wrong if the rows ``X`` are damaged and given to a copy of a ``known`` model.

    None if nothing does. ``before`` is the image of that model.
    """
    damage, method = trial
    names = {"X": X.copy(), "np": np}
    exec(damage, names)
    damaged, model, reference = names["X"], copy.deepcopy(known), None
    if damage in MISLEADING:  # made anew, SciPy finds the order from the arrays themselves
        honest = sparse.csr_array((damaged.data, damaged.indices, damaged.indptr), shape=damaged.shape)
        honest.sum_duplicates()
        reference = copy.deepcopy(known)
    try:
        answer = model.predict(damaged) if method == "predict" else told(model, damaged, y, classes, method)
    except ValueError:
        return "the model is not as it was" if image(model) != before else None
    except Exception as error:
        return described(error)
    if reference is None:
        return "accepted"
    if method == "predict":
        return None if np.array_equal(answer, reference.predict(honest)) else "predictions for other rows"
    told(reference, honest, y, classes, method)
    return None if image(reference) == image(model) else "other rows are learnt"


def interrupt_after(delay):
    """Send this process an interrupt after ``delay`` seconds; return the sending process, and the time of sending."""
    pid = os.fork()
    if pid == 0:
        time.sleep(delay)
        os.kill(os.getppid(), signal.SIGINT)
        os._exit(0)
    return pid, time.perf_counter() + delay


@promise("an interrupt is heeded soon, and leaves the model before or after the call", every=40, shrinks=False)
def interrupts_change_nothing(case):
    sklearn_nag.set_config(kernel=case.kernel)
    rng = case.rng("interrupts")
    d = 5
    # On NumPy, the number is the same for all models: a late interrupt shows only in calls that take seconds.
    n = 1_000 if case.kernel == "numpy" else 200_000 // (1 + 20 * (case.parameters.get("invariance") == "full"))
    X, y, classes = plain_rows(case, n, d)
    method = str(rng.choice(["partial_fit", "fit"]))
    rows = sparse.csr_array(X) if case.is_sparse and not dense_only(case) else X
    model = new_model(case)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        told(model, rows[:100], y[:100], classes)
        twin = copy.deepcopy(model)
        start, worked = time.perf_counter(), time.process_time()
        told(twin, rows, y, classes, method)
    except ValueError:  # a rule that diverges on these rows
        return
    seconds, worked = time.perf_counter() - start, time.process_time() - worked
    busy = max(1.0, seconds / max(worked, 1e-3))  # slow-down by other work of the machine
    before, after, done = image(model), image(twin), False
    delay = float(rng.uniform(0.0, 1.1)) * seconds
    lines = (
        *long_rows(n, d, classes),
        f"model.{first_call(classes)}",
        f"import os, signal, threading; threading.Timer({delay:.3g}, os.kill, (os.getpid(), signal.SIGINT)).start()",
        f"model.{method}(X, y)",
    )
    pid, sent = interrupt_after(delay)
    try:
        told(model, rows, y, classes, method)
        done = True
        while True:
            time.sleep(0.1)
    except KeyboardInterrupt:
        late = time.perf_counter() - sent
    except BaseException as error:
        raise Broken(f"an interrupt during {method} surfaces as {described(error)}", *lines) from error
    finally:
        os.waitpid(pid, 0)
    now = image(model)
    if now != after and (done or now != before):
        raise Broken(f"{method}, interrupted, leaves the model neither before nor after the call", *lines)
    if not done and late > (HEEDED + 0.3) * busy:
        raise Broken(f"an interrupt during {method} is heeded after {late:.1f} s", *lines)


@promise("a lack of memory is a MemoryError, and changes nothing", every=25, shrinks=False)
def lack_of_memory_changes_nothing(case):
    sklearn_nag.set_config(kernel=case.kernel)
    rng = case.rng("memory")
    if dense_only(case) or rng.random() < 0.3:
        X, y, classes = plain_rows(case, 200, 20 if case.parameters.get("invariance") == "full" else 500)
        rows = X if rng.random() < 0.5 else np.asfortranarray(X)
    else:
        rows = sparse.random(100, 20_000, density=1e-3, format="csr", random_state=0)
        rows = rows if rng.random() < 0.5 else rows.tocoo()
        _, y, classes = plain_rows(case, 100, 1)
    method = str(rng.choice(["partial_fit", "partial_fit", "fit", "predict"]))
    model = new_model(case)
    with contextlib.suppress(ValueError):
        told(model, rows, y, classes)
    if not model.__sklearn_is_fitted__():
        return
    if method == "fit":
        told(copy.deepcopy(model), rows, y, classes, "fit")
    before = image(model)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limits = resource.getrlimit(resource.RLIMIT_AS)
    room = int(2.0 ** rng.uniform(12, 25))
    lines = (
        *long_rows(*rows.shape, classes),
        f"model.{first_call(classes)}  # rows: {type(rows).__name__}, {rows.shape}",
        "import resource; used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()",
        f"resource.setrlimit(resource.RLIMIT_AS, (used + {room}, -1))",
        f"model.{method}(X{'' if method == 'predict' else ', y'})",
    )
    resource.setrlimit(resource.RLIMIT_AS, (used + room, limits[1]))
    failed = None
    try:
        if method == "predict":
            model.predict(rows)
        else:
            told(model, rows, y, classes, method)
    except MemoryError:
        failed = "MemoryError"
    except ValueError as error:
        failed = described(error)
    except BaseException as error:
        failed = None
        resource.setrlimit(resource.RLIMIT_AS, limits)
        raise Broken(f"{method} with {room} bytes: {described(error)}", *lines) from error
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
    if (failed or method == "predict") and image(model) != before:
        raise Broken(f"{method} with {room} bytes leaves another model", *lines)


@promise("readers in other threads see the model before or after a call", every=20, shrinks=False)
def readers_see_whole_models(case):
    sklearn_nag.set_config(kernel=case.kernel)
    size, n = as_many(case, 20, 2_000), 20 if case.kernel == "numpy" else 40
    X, y, classes = plain_rows(case, size * n, 5)
    batches = [slice(i, i + size) for i in range(0, size * n, size)]
    seen = X[:7]
    attribute = "coef_" if hasattr(type(case.model()), "coef_") else "weights_"
    readings = {
        "predictions": lambda model: decision(model, seen).tobytes(),
        attribute: lambda model: getattr(model, attribute).tobytes(),
        "a pickled copy": lambda model: repr(image(pickle.loads(pickle.dumps(model)))),
    }
    reference, model = new_model(case), new_model(case)
    allowed = {name: set() for name in readings}
    try:
        for rows in batches:
            told(reference, X[rows], y[rows], classes)
            for name, read in readings.items():
                allowed[name].add(read(reference))
    except ValueError:
        return
    aside = "a model of scikit-learn and parts of predictions"
    readings[aside], allowed[aside] = partial(_exported_and_explained, seen=seen), {None}
    told(model, X[batches[0]], y[batches[0]], classes)
    wrong, stop = [], threading.Event()

    def read_on(name):
        while not stop.is_set():
            try:
                if readings[name](model) not in allowed[name]:
                    wrong.append(f"{name} of a model between two")
                    return
            except Exception as error:
                wrong.append(f"reading {name} fails: {described(error)}")
                return

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    threads = [threading.Thread(target=read_on, args=[name]) for name in readings]
    try:
        for thread in threads:
            thread.start()
        for rows in batches[1:]:
            told(model, X[rows], y[rows], classes)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(before)
    lines = (
        *long_rows(size * n, 5, classes),
        f"model.{first_call(classes)}",
        "import threading",
        "def read():",
        "    while True:",
        f"        model.predict(X[:7]), model.{attribute}, pickle.dumps(model)",
        "threading.Thread(target=read, daemon=True).start()",
        f"for i in range(0, {size * n}, {size}):",
        f"    model.partial_fit(X[i : i + {size}], y[i : i + {size}])",
    )
    if image(model) != image(reference):
        raise Broken("readers change what a model learns", *lines)
    for name in ("predictions", attribute):
        if readings[name](model) != readings[name](reference):
            raise Broken(f"{name} are out of date after readers in other threads", *lines)
    if wrong:
        raise Broken(wrong[0], *lines)


def _exported_and_explained(model, seen):
    """Read a model in ways that give no bits to compare, but may leave something behind."""
    with contextlib.suppress(ValueError, AttributeError):  # mixtures, and weights that lose digits in raw units
        model.to_sklearn()
    with contextlib.suppress(ValueError, AttributeError):
        model.contributions(sparse.csr_array(seen))


@promise("writers in several threads wait or fail; no row is lost", every=20, shrinks=False)
def writers_lose_no_rows(case):
    sklearn_nag.set_config(kernel=case.kernel)
    size, n = as_many(case, 10, 1_000), 20 if case.kernel == "numpy" else 30
    X, y, classes = plain_rows(case, size * n, 5)
    model = new_model(case)
    try:
        told(new_model(case), X, y, classes)
    except ValueError:
        return
    told(model, X[:size], y[:size], classes)
    begun, done, wrong = model.t_, [], []

    def write():
        for i in range(0, size * n, size):
            try:
                told(model, X[i : i + size], y[i : i + size], classes)
                done.append(size)
            except (RuntimeError, ValueError):
                pass
            except Exception as error:
                wrong.append(described(error))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    threads = [threading.Thread(target=write) for _ in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(before)
    lines = (
        *long_rows(size, 5, classes),
        f"model.{first_call(classes)}",
        "from concurrent.futures import ThreadPoolExecutor",
        f"with ThreadPoolExecutor({AT_ONCE}) as threads:",
        f"    list(threads.map(lambda _: model.partial_fit(X, y), range({AT_ONCE * n})))",
        f"print(model.t_)  # not {size * (AT_ONCE * n + 1)}",
    )
    if wrong:
        raise Broken(f"{AT_ONCE} threads call partial_fit: {wrong[0]}", *lines)
    if model.t_ != begun + sum(done):
        lost = 1.0 - (model.t_ - begun) / sum(done)
        raise Broken(f"{AT_ONCE} threads call partial_fit: {lost:.0%} of the rows are lost", *lines)
    for name, array in arrays(model):
        if is_not_finite(name, array):
            raise Broken(f"{AT_ONCE} threads call partial_fit: {name} is not finite", *lines)


# -- streams


def stream(X, y, classes, batch_size):
    """Return batches of rows, and the options of `fit_stream` for classes."""
    batches = [(X[i : i + batch_size], y[i : i + batch_size]) for i in range(0, len(y), batch_size)]
    return batches, {} if classes is None else {"classes": classes}


@promise("an interrupt is heeded soon while a file stalls", every=60, shrinks=False)
def interrupts_end_waiting_for_files(case):
    sklearn_nag.set_config(kernel=case.kernel)
    rng = case.rng("stalled files")
    X, y, classes = plain_rows(case, 100, 2)
    if classes is not None and classes.ndim == 2:  # svmlight has a single column of targets
        y, classes = y[:, 0], classes[0]
    elif classes is not None:
        y, classes = np.searchsorted(classes, y), np.arange(len(classes))  # svmlight has only numbers
    rows = [f"{target!r} 0:{a!r} 1:{b!r}\n" for target, (a, b) in zip(y.tolist(), X.tolist())]
    text = "".join(rows[: int(rng.integers(len(rows)))]).encode()
    packed, delay = bool(rng.random() < 0.5), float(rng.uniform(0.05, 0.4))
    model, options = new_model(case), {} if classes is None else {"classes": classes}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.svm.gz" if packed else "rows.svm")
        os.mkfifo(path)
        pipe = os.open(path, os.O_RDWR)
        os.write(pipe, gzip.compress(text) if packed else text)
        code = (
            "import os, signal, threading; from sklearn_nag.streams import fit_stream, read_batches",
            f"os.mkfifo({path.name!r}); pipe = os.open({path.name!r}, os.O_RDWR)  # nobody writes to it",
            f"threading.Timer({delay:.3g}, os.kill, (os.getpid(), signal.SIGINT)).start()",
            f"fit_stream(model, read_batches({path.name!r}, n_features=2){_given(classes)})",
        )
        unblock = threading.Timer(delay + STALLS, os.close, [pipe])  # ends the waiting for the pipe
        unblock.start()
        pid, sent = interrupt_after(delay)
        try:
            fit_stream(model, read_batches(path, n_features=2), **options)
            time.sleep(STALLS)
        except KeyboardInterrupt:
            late = time.perf_counter() - sent
        except BaseException as error:
            raise Broken(f"an interrupt while a file stalls surfaces as {described(error)}", *code) from error
        finally:
            os.waitpid(pid, 0)
            unblock.cancel()
            unblock.join()
            with contextlib.suppress(OSError):
                os.close(pipe)
    if late > HEEDED + 0.8:
        raise Broken(f"an interrupt while a file stalls is heeded after {late:.1f} s", *code)


@promise("a kill during a write leaves the file and its mode, and nothing that stays", every=60, shrinks=False)
def killed_writers_leave_nothing(case):
    sklearn_nag.set_config(kernel=case.kernel)
    rng = case.rng("killed writers")
    n, d = 40, 50
    X, y, classes = plain_rows(case, n, d)
    batches, options = stream(X, y, classes, 1)
    mode = int(rng.choice([0o600, 0o640, 0o666]))
    code = (
        "from sklearn_nag.streams import fit_stream",
        *long_rows(n, d, classes),
        f"batches = [(X[i : i + 1], y[i : i + 1]) for i in range({n})]",
        f"fit_stream(model, batches, checkpoint='file', checkpoint_every=1{_given(classes)})",
        f"# killed at any moment, mode {mode:o}, and begun again",
    )
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file, path = Path(folder, "file"), Path(folder, "file")
        if rng.random() < 0.5:
            path = Path(folder, "link")
            path.symlink_to("file")
        try:
            expected = image(fit_stream(new_model(case), batches, **options))
        except ValueError:  # a rule that diverges
            return
        options |= {"checkpoint": path, "checkpoint_every": 1}
        for _ in range(3):
            pid = os.fork()
            if pid == 0:
                fit_stream(new_model(case), batches, **options)
                os._exit(0)
            while not path.exists() and os.waitpid(pid, os.WNOHANG) == (0, 0):
                time.sleep(0.001)
            path.chmod(mode)
            time.sleep(float(rng.uniform(0.0, 0.05)))
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
        before = stat.S_IMODE(path.stat().st_mode)
        model = fit_stream(new_model(case), batches, **options)
        if image(model) != expected:
            raise Broken("a run that was killed goes on to another model", *code)
        left = set(os.listdir(folder)) - {"file", path.name}
        if left:
            raise Broken(f"{len(left)} files are left beside a checkpoint", *code)
        if path != file and not path.is_symlink():
            raise Broken("a checkpoint behind a link takes the place of the link", *code)
        after = stat.S_IMODE(path.stat().st_mode)
        if after != before or before not in (mode, 0o666 & ~_umask()):
            raise Broken(f"a checkpoint of mode {before:o} gets mode {after:o}", *code)


def _given(classes):
    return "" if classes is None else f", classes={classes.tolist()!r}"


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


# -- the cache of compiled code

LEARN_AND_TELL = """
import hashlib, numpy as np, sklearn_nag
rng = np.random.default_rng(0)
X = rng.normal(size=(50, 3))
model = sklearn_nag.ScaleInvariantRegressor(invariance="full").partial_fit(X, X[:, 0])
print(hashlib.sha256(model.predict(X).tobytes()).hexdigest())
"""
DAMAGES = {
    "truncated": lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2]),
    "empty": lambda file: file.write_bytes(b""),
    "garbage": lambda file: file.write_bytes(bytes(range(256)) * 40),
    "one bit changed": lambda file: file.write_bytes(flipped(file.read_bytes())),
    "a folder": lambda file: (file.unlink(), file.mkdir()),
    "missing": lambda file: file.unlink(),
}
PLACES = {"a file": "taken", "in a file": "taken/cache", "where nothing can be written": "/proc/self/none"}


def flipped(data):
    """Return bytes with one bit changed near the beginning."""
    return data[:20] + bytes([data[20] ^ 1]) + data[21:]


def run_at_once(folder, n, full_disk=False):
    """Return what `LEARN_AND_TELL` prints in each of ``n`` processes at once; raise `Broken` if one fails."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder), "SKLEARN_NAG_KERNEL": "numba"}

    def limit():
        if full_disk:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [sys.executable, "-c", LEARN_AND_TELL]
    running = [subprocess.Popen(command, env=environment, preexec_fn=limit, **pipes) for _ in range(n)]
    said = []
    for process in running:
        out, error = process.communicate(timeout=300)
        if process.returncode != 0:
            raise Broken((error.decode().strip().splitlines() or [f"ends with {process.returncode}"])[-1])
        said.append(out)
    return said


@promise("the cache of compiled code may be damaged, full or missing", every=400, shrinks=False)
def a_damaged_cache_harms_nothing(case):
    if not HAVE_NUMBA:
        return
    rng = case.rng("cache")
    with tempfile.TemporaryDirectory() as folder:
        cache, taken = Path(folder, "cache"), Path(folder, "taken")
        taken.write_text("")
        what = f"{AT_ONCE} processes with an empty cache"
        try:
            (first,) = set(run_at_once(cache, AT_ONCE)) if rng.random() < 0.5 else run_at_once(cache, 1)
            kind = str(rng.choice(["files", "files", "place", "disk"]))
            if kind == "files":
                damage = str(rng.choice(list(DAMAGES)))
                what = f"*.nbc {damage}"
                for file in sorted(cache.rglob("*.nbc")):
                    DAMAGES[damage](file)
                again = run_at_once(cache, 2) + run_at_once(cache, 1)
            elif kind == "place":
                place = str(rng.choice(list(PLACES)))
                what = f"NUMBA_CACHE_DIR is {place}"
                again = run_at_once(Path(folder, PLACES[place]), 1)
            else:
                what = "the disk is full"
                again = run_at_once(Path(folder, "new"), 1, full_disk=True)
        except Broken as error:
            raise Broken(f"{what}: {error}", *LEARN_AND_TELL.strip().splitlines()) from None
        if set(again) != {first}:
            raise Broken(f"{what}: other predictions", *LEARN_AND_TELL.strip().splitlines())
