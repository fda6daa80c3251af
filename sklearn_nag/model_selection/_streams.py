"""Rows from arrays or batches, cut to size, and the steps between them and the learner."""

import contextlib
from collections import deque

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import check_consistent_length, column_or_1d, get_tags

from ..estimators._labels import classes_in, classes_named, dense
from ..estimators._parameters import InvalidParameterError, shown
from ..estimators._validation import as_numpy, named_classes, raise_for_masked
from ..preprocessing._steps import (
    check_step,
    is_by_row,
    is_left_out,
    learn_step,
    learns,
    refuses_weights,
    routed,
    tell_numeric,
)


@contextlib.contextmanager
def saying(where):
    """Make errors say ``where`` they come from, in the message or else in a note."""
    try:
        yield
    except InvalidParameterError as error:
        owner = error.args[-1]
        raise error.of(f"{owner} ({where})" if owner else where) from error
    except Exception as error:
        if len(error.args) == 1 and isinstance(error.args[0], str):
            error.args = (f"{where}: {error.args[0]}",)
        else:
            error.add_note(f"Raised by {where}.")
        raise


def count_rows(X):
    """Count the rows of an array, data frame, sparse matrix or list."""
    return X.shape[0] if hasattr(X, "shape") else len(X)


def slice_rows(X, start, stop):
    """Rows ``start`` to ``stop`` of an array, data frame, CSR matrix or list."""
    return X.iloc[start:stop] if hasattr(X, "iloc") else X[start:stop]


def take_rows(X, places):
    """Rows at ``places`` of an array, data frame, Arrow table, CSR matrix or list."""
    if len(places) == count_rows(X) and np.array_equal(places, np.arange(len(places))):
        return X
    if hasattr(X, "iloc"):
        return X.iloc[places]
    if hasattr(X, "num_rows"):
        return X.take(places)
    return [X[i] for i in places] if isinstance(X, list | tuple) else X[places]


def flat(y, learner):
    """A target column as a flat array, with a warning, except for learners that take only several outputs."""
    is_column = y.ndim == 2 and y.shape[1] == 1 and get_tags(learner).target_tags.single_output
    return column_or_1d(y, warn=True) if is_column else y


def slice_weights(weight, start, stop=None):
    """Weights of rows ``start`` to ``stop``; None, for ones, stays None."""
    return None if weight is None else weight[start:stop]


def slice_batch(batch, start, stop=None):
    """Rows ``start`` to ``stop`` of a batch of features, targets and weights."""
    X, y, weight = batch
    return slice_rows(X, start, stop), y[start:stop], slice_weights(weight, start, stop)


def check_stream(X, y, sample_weight):
    """Raise unless ``X`` and ``y`` are arrays or, without ``y``, ``X`` is an iterable of batches."""
    if y is not None:
        return
    if sparse.issparse(X) or hasattr(X, "shape"):
        raise ValueError("y is missing; without y, X must be an iterable of (X, y) or (X, y, sample_weight).")
    if sample_weight is not None:
        raise ValueError("sample_weight needs arrays X and y; batches must be (X, y, sample_weight) instead.")


def _given_batches(X, y, sample_weight):
    """Yield batches ``(X, y, sample_weight)`` as given; arrays are one."""
    if y is not None:
        yield X, y, sample_weight
        return
    for batch in X:
        if not (isinstance(batch, tuple) and len(batch) in (2, 3)):
            size = f" of {len(batch)}" if isinstance(batch, tuple) else ""
            hint = " For files and frames, pass read_batches(...)." if isinstance(batch, str) else ""
            raise ValueError(
                f"batches must be tuples (X, y) or (X, y, sample_weight); got {type(batch).__name__}{size}.{hint}"
            )
        if batch[1] is None:
            raise ValueError("batches have no targets to learn: y is None. For files, name the column with target.")
        if np.isscalar(batch[1]):
            raise ValueError(
                f"batches must have a target for each row; got the single target y={shown(batch[1])}. A batch of one "
                "row is ([row], [y]) or, if rows are dicts, (pandas.DataFrame([row]), [y])."
            )
        yield (*batch, None) if len(batch) == 2 else batch


def cut_batches(X, y, sample_weight, max_rows, stops=()):
    """Yield batches ``(X, y, sample_weight)`` of at most ``max_rows`` rows; small ones are not joined.

    The input must have passed `check_stream`. A batch ends at each of ``stops``, increasing numbers of rows from the
    start of the stream.
    """
    stops, n_done = deque(stops), 0
    for rows, targets, weight in _given_batches(X, y, sample_weight):
        check_consistent_length(rows, targets, weight)
        rows = rows.tocsr() if sparse.issparse(rows) else rows
        raise_for_masked(rows, "X")
        targets = dense(targets)
        weight = None if weight is None else np.asarray(as_numpy(weight, "sample_weight"))
        n, start = len(targets), 0
        while start < n:
            while stops and stops[0] <= n_done:
                stops.popleft()
            stop = min(n, start + max_rows, start + stops[0] - n_done if stops else n)
            batch = rows if stop - start == n else slice_rows(rows, start, stop)
            yield batch, targets[start:stop], slice_weights(weight, start, stop)
            start, n_done = stop, n_done + stop - start


def known_classes(estimator, y, classes):
    """All classes that will ever occur, for a classifier; otherwise None."""
    if not is_classifier(estimator):
        return None
    if classes is None and y is None:
        raise ValueError("classes must be given for an iterable of batches: name all classes before the first row.")
    found = classes_in(y) if classes is None else classes_named(classes)
    found = named_classes(classes) if found is None else found
    if not found.size:
        raise ValueError(f"{'y' if classes is None else 'classes'} is empty; a classifier needs at least two classes.")
    return found


class StreamPipeline:
    """A learner and the transformers before it, which see a stream batch by batch.

    ``estimator`` is the clone that learns, of an estimator with ``partial_fit`` or a Pipeline that ends with one;
    ``learner`` is its last step, or itself; ``transformers`` are the other steps with names.
    """

    def __init__(self, estimator):
        self.resume(clone(estimator))

    def resume(self, estimator):
        """Continue with ``estimator`` itself, which may have learnt."""
        self.estimator = estimator
        steps = self.estimator.steps if isinstance(self.estimator, Pipeline) else [("estimator", self.estimator)]
        *before, (_, self.learner) = steps
        if not learns(self.learner):
            raise TypeError(
                f"{type(self.learner).__name__} cannot learn from a stream: it has no partial_fit of its own."
            )
        self.transformers = [(name, step) for name, step in before if not is_left_out(step)]
        for name, step in self.transformers:
            check_step(name, step)

    @property
    def plays(self):
        """Whether the learner tells its prediction for each row just before learning it, however rows are cut."""
        return getattr(self.learner, "_plays", False)

    @property
    def by_row(self):
        """Whether played predictions are the same however rows are cut."""
        return self.plays and self._steps_are_by_row()

    @property
    def learns_by_row(self):
        """Whether the trained model is the same however rows are cut."""
        return self._steps_are_by_row() and getattr(self.learner, "_learns_by_row", self.plays)

    def _steps_are_by_row(self):
        return all(is_by_row(step) for _, step in self.transformers)

    def transform(self, X, weight):
        """Rows for the learner. Transformers learn them first if they can, without targets; see `OnlinePipeline`."""
        rows = self.prepare(X, weight)
        self.tell_learner()
        return rows

    def prepare(self, X, weight):
        """Same as `transform`, without touching the learner, which another thread may use."""
        before = []
        for _, step in self.transformers:
            tell_numeric(step, before)
            X = learn_step(step, X, params=routed(step, weight))
            before.append(step)
        return X

    def heard(self, weight):
        """Row weights for the learner; None if they are routed and it refuses them."""
        return None if weight is None or refuses_weights(self.learner, "partial_fit") else weight

    def tell_learner(self):
        """Tell the learner, before its first rows, which columns hold numbers."""
        tell_numeric(self.learner, [step for _, step in self.transformers])

    def with_learner(self, learner):
        """The estimator with another learner at its end."""
        if not isinstance(self.estimator, Pipeline):
            return learner
        *before, (name, _) = self.estimator.steps
        return type(self.estimator)([*before, (name, learner)])
