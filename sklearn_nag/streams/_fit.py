"""Training from a stream, in one call that can be killed and restarted."""

from __future__ import annotations

import contextlib
import contextvars
import copy
import hashlib
import os
import pickle
import reprlib
import sys
from collections.abc import Iterable
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import joblib
import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator

from .._extras import how_to_install
from ..estimators._online import OnlineLinear
from ..estimators._parameters import check_flag, check_number, check_option
from ..model_selection._streams import StreamPipeline, cut_batches, known_classes, slice_batch, take_rows
from ._aside import Aside
from ._read import BATCH_SIZE, SIZES, Batches
from ._sources import join_frames
from ._whole import check_writable, clear_beside, write_whole

Model = TypeVar("Model", bound=BaseEstimator)

_MOST_ROWS = 2**16  # most rows of a batch learnt in one call
_WORTH_A_THREAD = 256  # rows from which on a separate thread prepares a batch
_SHORT = reprlib.Repr()  # abbreviates long lists of files or columns
_SHORT.maxlist, _SHORT.maxtuple, _SHORT.maxstring = 10, 10, 60


class Checkpoint(NamedTuple):
    """State that a run needs to resume.

    Attributes
    ----------
    settings : dict
        What the result depends on, besides the rows: readable values, and a `Digest` of each other one.
    n_rows : int
        Rows learnt, over all passes.
    done : bool
        Whether the last pass has ended.
    estimator : estimator
        The estimator as trained so far.
    """

    settings: dict
    n_rows: int
    done: bool
    estimator: Any


def fit_stream(
    estimator: Model,
    batches: Iterable[tuple],
    *,
    classes: ArrayLike | None = None,
    passes: int = 1,
    shuffle_buffer: int = 0,
    random_state: int = 0,
    checkpoint: str | os.PathLike | None = None,
    checkpoint_every: int = 1_000_000,
    changed_files: bool = False,
    progress: bool | Literal["auto"] = "auto",
) -> Model:
    """Train an estimator on batches, one batch in memory at a time, and resume from a checkpoint if there is one.

    Parameters
    ----------
    estimator : estimator
        Learner with ``partial_fit``, or a Pipeline that ends with one, as for
        `sklearn_nag.model_selection.progressive_validation`. A clone of it learns and is returned; the estimator itself
        does not change.
    batches : iterable of tuple
        ``(X, y)`` or ``(X, y, sample_weight)``: the result of `read_batches`, or any other iterable.
    classes : array-like of shape (n_classes,), optional
        All classes; required for classifiers.
    passes : int, default=1
        Number of passes over the rows. More than one needs an iterable that can start again.
    shuffle_buffer : int, default=0
        Number of rows to read ahead and shuffle, for streams in which neighbouring rows are alike. 0 keeps the order of
        the stream.
    random_state : int, default=0
        Seed of the shuffling.
    checkpoint : path, optional
        File that stores the progress of training. If it exists, training resumes from it: rows before the checkpoint
        are read but not learnt, and the final model is bit for bit that of an uninterrupted run. If all rows have been
        learnt, the model is returned at once.

        The estimator must be picklable. The checkpoint is accepted only for the same estimator, ``classes``,
        ``passes``, ``shuffle_buffer``, ``random_state`` and parameters of `read_batches` (``batch_size`` only if the
        model depends on it; not ``missing_target`` and ``max_row_bytes``), and for files with the same names and sizes.
        Any other iterable must yield the same rows again. A damaged checkpoint is an error. The file is a pickle, so
        use only checkpoints that you trust.
    checkpoint_every : int, default=1000000
        Number of rows between two checkpoints. Each is written to a new file, which replaces the old one, with its
        mode, once it is complete. The next run removes incomplete files of a killed run.
    changed_files : bool, default=False
        Whether to resume although file sizes have changed, for example because an unreadable row was corrected. Names
        and order of the files must not change. Rows that were learnt are skipped by their number, whatever they contain
        now, so the number of rows before the point where the run stopped must not change.
    progress : bool or "auto", default="auto"
        Whether to show the number of rows, rows per second and the progressive loss, with tqdm or, if it is missing,
        with rich. ``"auto"`` shows them in a terminal if one of the two is installed.

    Returns
    -------
    estimator
        The fitted clone.

    Raises
    ------
    ImportError
        If ``progress=True`` and neither tqdm nor rich is installed.
    OSError
        If the checkpoint cannot be written; the error names the file. As far as possible, this is checked before the
        first row.
    TypeError
        If the estimator cannot learn from a stream.
    ValueError
        If parameters are invalid, if there are no rows, or if the checkpoint is damaged or of another run: other
        parameters, other files, or a stream with other batches.

    See Also
    --------
    read_batches : Read files in batches.

    Notes
    -----
    For files that `read_batches` reads, the transformers of a Pipeline prepare a batch in a separate thread while the
    previous batch is learnt. The model, errors and checkpoints are the same as without the thread.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_nag import NAGClassifier
    >>> from sklearn_nag.streams import fit_stream
    >>> rng = np.random.default_rng(0)
    >>> def rows():
    ...     for _ in range(10):
    ...         X = rng.normal(size=(100, 3))
    ...         yield X, X[:, 0] > 0
    >>> clf = fit_stream(NAGClassifier(), rows(), classes=[False, True])
    >>> clf.t_
    1000.0
    """
    check_number("passes", passes, Integral, min_val=1)
    check_number("shuffle_buffer", shuffle_buffer, Integral, min_val=0)
    check_number("random_state", random_state, Integral, min_val=0)
    check_number("checkpoint_every", checkpoint_every, Integral, min_val=1)
    check_flag("changed_files", changed_files)
    check_option("progress", progress, (True, False, "auto"))
    if passes > 1 and (iter(batches) is batches or not getattr(batches, "repeatable", True)):
        raise ValueError(f"passes={passes} needs batches that can start again; this iterator can be read only once.")
    pipeline = StreamPipeline(estimator)
    all_classes = known_classes(pipeline.learner, None, classes)
    path, learnt, settings = None if checkpoint is None else Path(checkpoint), 0, {}
    if path is not None:
        of_batches = dict(batches.settings) if isinstance(batches, Batches) else {}
        batch_size = of_batches.pop(BATCH_SIZE, None)
        settings = _settings(pipeline, {
            "classes": None if all_classes is None else all_classes.tolist(),
            "passes": int(passes),
            "shuffle_buffer": int(shuffle_buffer),
            "random_state": int(random_state),
            **of_batches,
        })  # fmt: skip
        if not (batch_size is None or pipeline.learns_by_row or shuffle_buffer):  # shuffling joins batches
            settings[BATCH_SIZE] = batch_size
        clear_beside(path)
        if os.path.exists(path):
            saved = _load(path, settings, {SIZES} if changed_files else ())
            if saved.done:
                restored: Model = saved.estimator
                return restored
            pipeline.resume(saved.estimator)
            learnt = saved.n_rows
        check_writable(path)
    n_rows = getattr(batches, "n_rows", None)
    bar = progress_bar(progress, None if n_rows is None else n_rows * passes)
    n_seen, since = 0, 0
    with contextlib.closing(bar), contextlib.closing(_Learning(pipeline, all_classes, batches, bar)) as learning:
        for number in range(passes):
            n_at_start = n_seen
            for X, y, weight in learning.reading(_shuffled(batches, shuffle_buffer, [random_state, number])):
                n = len(y)
                n_seen += n
                if n_seen <= learnt:
                    bar.show(n, None)
                    continue
                n_before = n_seen - n
                if n_before < learnt:
                    if not changed_files:
                        raise ValueError(
                            f"{path} was written after {learnt} rows, which is within a batch of this stream: the "
                            "stream or its batch_size has changed."
                        )
                    X, y, weight = slice_batch((X, y, weight), learnt - n_before)
                    bar.show(learnt - n_before, None)
                    n, n_before = len(y), learnt
                learning.give(X, y, weight, n_before)
                since += n
                if path is not None and since >= checkpoint_every:
                    learning.finish()
                    _save(path, Checkpoint(settings, n_seen, False, pipeline.estimator))
                    since = 0
            learning.finish()
            if n_at_start == n_seen > 0:
                raise ValueError(
                    f"passes={passes} needs batches that can start again; there were no rows in pass {number + 1}."
                )
    if n_seen == 0:
        raise ValueError("there are no rows to learn from.")
    if n_seen < learnt:
        raise ValueError(f"{path} was written after {learnt} rows; this stream has only {n_seen}.")
    if path is not None:
        _save(path, Checkpoint(settings, n_seen, True, pipeline.estimator))
    fitted: Model = pipeline.estimator
    return fitted


class _Learning:
    """Learns batches in order, and prepares each in a separate thread while the one before is learnt.

    The calling thread prepares the first batch and small ones, and all if a batch may change when the next is read, or
    if there is nothing to prepare. ``bar`` shows the rows learnt.
    """

    def __init__(self, pipeline, classes, batches, bar):
        self.pipeline, self.bar = pipeline, bar
        self.options = {} if classes is None else {"classes": classes}
        self.aside = Aside() if getattr(batches, "lasting", False) and pipeline.transformers else None
        self.context, self.config = contextvars.copy_context(), get_config()
        self.has_begun, self.waiting = False, None

    def reading(self, batches):
        """Yield the batches; if reading fails, learn the waiting batch first, so that its errors come first."""
        try:
            yield from batches
        except Exception:
            self.finish()
            raise

    def give(self, X, y, weight, n_before):
        """Learn a batch that follows ``n_before`` rows: now, at the next call, or at `finish`."""
        if self.aside is None or not self.has_begun or len(y) < _WORTH_A_THREAD:
            self.finish()
            self._learn(lambda: self.pipeline.prepare(X, weight), y, weight, n_before)
            self.has_begun = True
            return
        prepared = self.aside.submit(self._prepare, X, weight)
        self.finish()
        self.waiting = partial(self.aside.result, prepared), y, weight, n_before

    def finish(self):
        """Learn the batch that is waiting, if any."""
        if self.waiting is not None:
            waiting, self.waiting = self.waiting, None
            self._learn(*waiting)

    def close(self):
        """Let the thread end."""
        if self.aside is not None:
            self.aside.close()

    def _prepare(self, X, weight):
        """Rows for the learner, under the configuration of the thread that learns."""
        with config_context(**self.config):
            return self.context.run(self.pipeline.prepare, X, weight)

    def _learn(self, rows_of, y, weight, n_before):
        options = self.options if weight is None else {**self.options, "sample_weight": weight}
        learner = self.pipeline.learner
        try:
            rows = rows_of()
            self.pipeline.tell_learner()
            learner.partial_fit(rows, y, **options)
        except ValueError as error:
            if not isinstance(error, TypeError):  # parameter errors are both, and no row causes them
                error.add_note(f"This concerns a batch of {len(y)} rows after the first {n_before}.")
            raise
        self.bar.show(len(y), learner.progressive_loss_ if isinstance(learner, OnlineLinear) else None)


# -- shuffling


def _shuffled(batches, n_buffer, seed):
    """Batches as they come, or shuffled blocks of ``n_buffer`` rows, however the stream is cut."""
    cut = cut_batches(batches, None, None, n_buffer or _MOST_ROWS)
    if n_buffer == 0:
        yield from cut
        return
    for number, (X, y, weight) in enumerate(_blocks(cut, n_buffer, getattr(batches, "lasting", False))):
        order = np.random.default_rng([*seed, number]).permutation(len(y))
        yield take_rows(X, order), y[order], None if weight is None else weight[order]


def _blocks(batches, n_rows, are_lasting):
    """Join and cut batches to ``n_rows`` rows, except the last; copy waiting ones unless they ``are_lasting``."""
    waiting, n_waiting = [], 0
    for batch in batches:
        while n_waiting + len(batch[1]) >= n_rows:
            n = n_rows - n_waiting
            yield _join([*waiting, slice_batch(batch, 0, n)])
            batch, waiting, n_waiting = slice_batch(batch, n), [], 0
        if len(batch[1]):
            waiting.append(batch if are_lasting else copy.deepcopy(batch))
            n_waiting += len(batch[1])
    if waiting:
        yield _join(waiting)


def _join(batches):
    X, y, weight = zip(*batches)
    if any(map(sparse.issparse, X)):
        rows = sparse.vstack([part if sparse.issparse(part) else sparse.csr_array(part) for part in X], format="csr")
    elif hasattr(X[0], "iloc") or hasattr(X[0], "get_columns") or type(X[0]).__module__.startswith("pyarrow"):
        rows = join_frames(X)
    else:
        rows = np.concatenate(X)
    if all(part is None for part in weight):
        return rows, np.concatenate(y), None
    return rows, np.concatenate(y), np.concatenate([
        np.ones(len(targets)) if part is None else part for targets, part in zip(y, weight)
    ])  # fmt: skip


# -- checkpoints


class Digest(str):
    """A hash of a setting that is compared but cannot be shown."""


def _settings(pipeline, others):
    """Settings that a checkpoint compares: the estimator before training, and ``others``."""
    parameters = {f"parameter {name}": value for name, value in pipeline.learner.get_params(deep=False).items()}
    settings = {
        "estimator": repr(type(pipeline.estimator)),
        "learner": repr(type(pipeline.learner)),
        "steps": pipeline.transformers,
    }
    try:
        pickle.dumps(pipeline.estimator, protocol=5)
    except Exception as error:
        raise ValueError(f"checkpoint needs an estimator that can be pickled: {error}.") from error
    return {name: _comparable(name, value) for name, value in {**others, **settings, **parameters}.items()}


def _comparable(name, value):
    """A setting if it can be shown; otherwise its hash, which is the same in other processes."""
    if _is_plain(value):
        return value
    try:  # hash a pickled copy: objects fitted here and objects loaded from a file differ in memory layout
        return Digest(joblib.hash(pickle.loads(pickle.dumps(value, protocol=5))))
    except Exception as error:
        raise ValueError(f"checkpoint needs settings that can be pickled; {name} cannot: {error}.") from error


def _is_plain(value):
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return value is None or (isinstance(value, bool | int | float | str) and value == value)  # NaN is compared by hash


class _Hashing:
    """A file that hashes what is written to it."""

    def __init__(self, file):
        self.file, self.hash = file, hashlib.sha256()

    def write(self, data):
        self.hash.update(data)
        return self.file.write(data)


def _save(path, checkpoint):
    """Write a checkpoint: a pickle followed by its SHA-256."""

    def write(file):
        hashing = _Hashing(file)
        pickle.dump(tuple(checkpoint), hashing, protocol=5)
        file.write(hashing.hash.digest())

    write_whole(path, write)


def _load(path, settings, may_differ=()):
    """Read a checkpoint; raise if it is damaged, or of another run by settings not in ``may_differ``."""
    if not path.is_file():  # reading a pipe would never end
        raise ValueError(f"{path} is not a checkpoint: it is a folder, or not a regular file.")
    content = memoryview(path.read_bytes())
    n_digest = hashlib.sha256().digest_size
    pickled, digest = content[:-n_digest], content[-n_digest:]
    try:
        if hashlib.sha256(pickled).digest() != digest:
            raise ValueError("its digest does not match")
        saved = Checkpoint(*pickle.loads(pickled))
        before = dict(saved.settings)
    except Exception as error:  # pickles raise all kinds
        raise ValueError(f"{path} is not a checkpoint, or is damaged: {error}.") from error
    if BATCH_SIZE not in before:  # checkpoints of earlier versions lack it
        may_differ = {BATCH_SIZE, *may_differ}
    differ = [name for name in {**before, **settings} if before.get(name) != settings.get(name)]
    for name in (name for name in differ if name not in may_differ):
        was, now = before.get(name), settings.get(name)
        hidden = isinstance(was, Digest) or isinstance(now, Digest)
        difference = "was different" if hidden else f"was {_SHORT.repr(was)}; now it is {_SHORT.repr(now)}"
        mended = " If rows of the files were corrected, changed_files=True resumes." if name == SIZES else ""
        raise ValueError(
            f"{path} is the checkpoint of another run: its setting {name!r} {difference}. Remove it to start again."
            f"{mended}"
        )
    return saved


# -- progress bars, by tqdm or rich, whichever is installed


class Silent:
    """A progress bar that shows nothing."""

    def show(self, n_rows, loss):
        """Count rows."""

    def close(self):
        """Close the bar."""


class TqdmBar:
    """Shows rows, rows a second and the progressive loss on standard error."""

    def __init__(self, total):
        from tqdm import tqdm

        self.bar = tqdm(total=total, unit="row", unit_scale=True, dynamic_ncols=True)

    def show(self, n_rows, loss):
        """Count ``n_rows`` more; show the loss unless it is None."""
        if loss is not None:
            self.bar.set_postfix_str(_of_loss(loss), refresh=False)
        self.bar.update(n_rows)

    def close(self):
        self.bar.close()


class RichBar:
    """Shows the same as `TqdmBar`, by rich."""

    def __init__(self, total):
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        parts = [BarColumn(), TextColumn("{task.completed:,.0f} rows"), TimeElapsedColumn()]
        parts += [TextColumn("{task.fields[speed]}"), TextColumn("{task.fields[loss]}")]
        self.bar = Progress(*parts, console=Console(stderr=True))
        self.task = self.bar.add_task("", total=total, speed="", loss="")
        self.bar.start()

    def show(self, n_rows, loss):
        fields = {} if loss is None else {"loss": _of_loss(loss)}
        self.bar.update(self.task, advance=n_rows, **fields)
        task = self.bar.tasks[0]
        if task.elapsed:
            self.bar.update(self.task, speed=f"{task.completed / task.elapsed:,.0f} rows/s")

    def close(self):
        self.bar.stop()


def _of_loss(loss):
    return f"progressive loss {loss:.6g}"


def progress_bar(progress, total):
    """Bar for ``progress``: True, False, or "auto" for one if there are a terminal and tqdm or rich."""
    if progress is False or (progress == "auto" and not sys.stderr.isatty()):
        return Silent()
    for bar in (TqdmBar, RichBar):
        try:
            return bar(total)
        except ImportError:
            continue
    if progress == "auto":
        return Silent()
    raise ImportError(f"progress=True needs tqdm or rich, and neither is installed: {how_to_install('progress')}")
