"""Where the time of a sparse row goes, in nanoseconds per nonzero: steps of the compiled loop, each by itself.

    python -m benchmarks.nonzeros [--quick]

Rows are tf-idf of documents with 45,000 words; the columns are those of a model with the defaults that has learnt them.
``fetch`` copies the columns of rows from the model, and ``put back`` copies them back. The steps after these run over
as many columns again and again, so that these are in the first-level cache. Then come whole calls of `partial_fit`,
which also include the loss and predictions. Figures are processor time, the median of nine.
"""

import time
from collections import namedtuple

import numpy as np
from numba import njit
from sklearn.linear_model import SGDClassifier

from sklearn_nag import NAGClassifier
from sklearn_nag.kernels.compiled import columns
from sklearn_nag.kernels.compiled.arithmetic import inverse_sqrt
from sklearn_nag.kernels.compiled.handover import table_layout, workspace
from sklearn_nag.kernels.compiled.jit import FAST, for_rule
from sklearn_nag.kernels.compiled.vectors import WIDTH, eight, load, store, total
from sklearn_nag.kernels.nag import numba_rows
from sklearn_nag.kernels.state.frequent import BEGINS

from .options import parser_of
from .text import PRINTED, documents

TURNS = 9
jit = njit(nogil=True, error_model="numpy", fastmath=FAST)
enter, leave, read_entries = columns.enter, columns.leave, columns.read_entries
gather, copy_columns, whole_vectors = columns.gather, columns.copy_columns, columns.whole_vectors
count_entries, update_maxima, all_finite = columns.count_entries, columns.update_maxima, columns.all_finite
padded, roots_of, times_of = columns.padded, columns.roots_of, columns.times_of

MADE = NAGClassifier().partial_fit([[0.0], [1.0]], [0, 1], classes=[0, 1])._made
DEFAULTS = numba_rows.compiled_constants(MADE.rule, MADE.loss)._replace(are_mixed=False)
stops, fill_roots, relative, relative_of_rare, normalise, products = (  # compiled for the defaults
    for_rule(step, DEFAULTS)
    for step in (
        columns.stops, columns.fill_roots, columns.relative, columns.relative_of_rare, numba_rows.normalise,
        numba_rows.products,
    )
)  # fmt: skip
RULE = namedtuple("Rule", "begins")(BEGINS)
NOBODY = 1e9  # rows so far, so many that no column becomes frequent, or stops being so


@jit
def copies(f, n_rows, room, index, places, rows, table, apart, followed, fetches, puts_back):
    """Read rows; fetch their columns, and put them back, if asked to."""
    data, indices, indptr = rows
    staying = enter(room, f, table, apart, index, places, followed, True, True)
    first = whole_vectors(staying)
    for row in range(n_rows):
        width = read_entries(room, f, index, places, data, indices, indptr[row], indptr[row + 1], first, staying > 1)
        if fetches:
            gather(room, f, table, apart, index, first, width, padded(width))
        if puts_back:
            copy_columns(room, table, apart.shape[0], index, first, width, False)
    leave(room, table, apart, index, places, staying, True, True)


@jit
def count(room, f, n_rows, n):
    """Tallies, largest values, and whether all is finite."""
    found = 0
    for _ in range(n_rows):
        found += stops(room, f, RULE, NOBODY, 1e-9, n)
        count_entries(room, f, 1e-9, n)
        update_maxima(room, f, n, False)
        found += all_finite(room, f.squares, f.x, n)
    return found


@jit
def play(room, f, n_rows, n):
    """Means, scales and the prediction."""
    squared = latest = past = eight(0.0)
    for _ in range(n_rows):
        times, roots, rare = times_of(NOBODY, 1e-9), roots_of(NOBODY), whole_vectors(n // 5)
        fill_roots(room, f, rare, n, roots)
        for i in range(0, rare, WIDTH):
            squared += normalise(room, f, i, relative(room, f, i, times, 0), roots, False)
            latest, past = products(room, f, 0, i, 1e-9, latest, past)
        for i in range(rare, n, WIDTH):
            squared += normalise(room, f, i, relative_of_rare(room, f, i, 1e-9), roots, True)
            latest, past = products(room, f, 0, i, 1e-9, latest, past)
    return total(squared + latest + past)


@jit
def descend(room, f, n_rows, n):
    """The step: an inverse root, weights and averages."""
    gain = eight(0.0)
    for _ in range(n_rows):
        for i in range(0, n, WIDTH):
            x = load(room, f.x, i)
            gradient = 1e-9 * x
            G = load(room, f.G, i) + gradient * gradient
            direction = x * inverse_sqrt(G)
            store(room, f.G, i, G)
            store(room, f.direction, i, direction)
            gain += direction * load(room, f.z, i)
        for i in range(0, n, WIDTH):
            move = 1e-9 * load(room, f.direction, i)
            store(room, f.weight, i, load(room, f.weight, i) + move)
            store(room, f.past, i, load(room, f.past, i) + 1e-9 * move)
    return total(gain)


def seconds(call):
    """Return the median processor time of a call, which is made once before."""
    call()
    spent = []
    for _ in range(TURNS):
        start = time.thread_time()
        call()
        spent.append(time.thread_time() - start)
    return np.median(spent)


def steps(X, y):
    """Yield the name and seconds of each step of the loop."""
    model = NAGClassifier().partial_fit(X, y, classes=[0, 1])
    state = model._state
    layout = state.columns.shared, state.columns.per_head
    f = table_layout(numba_rows.Fields, numba_rows.SCRATCH, state.rule, *layout, by_row=True)
    table, apart, room, index, places, followed = workspace(state, len(numba_rows.SCRATCH), X.indptr)
    rows, n_rows = (X.data, X.indices, X.indptr), X.shape[0]

    def copied(*what):
        return seconds(lambda: copies(f, n_rows, room, index, places, rows, table, apart, followed, *what))

    reading, fetching = copied(False, False), copied(True, False)
    yield "read", reading
    yield "fetch", fetching - reading
    yield "put back", copied(True, True) - fetching
    rng = np.random.default_rng(0)
    room[:] = rng.random(room.shape)
    room[f.lift], room[f.frequent] = 1.0, rng.random(room.shape[1]) < followed[0] / index.size
    n = (X.nnz // n_rows + followed[0] // 3) // 8 * 8  # a third or so of the frequent columns is not named
    for step in (count, play, descend):
        yield step.__doc__.rstrip(".").lower(), seconds(lambda: step(room, f, n_rows, n))  # noqa: B023


def main():
    """Print both tables."""
    parser = parser_of(__doc__)
    parser.add_argument("--quick", action="store_true", help="1,000 documents: that it runs")
    options = parser.parse_args()
    X, y = documents(1_000 if options.quick else 25_000, 45_000, 200, 2)
    X.sort_indices()
    for name, spent in steps(X, y):
        print(f"{spent / X.nnz * 1e9:6.2f}  {name}", flush=True)
    for name, make in {
        "SGDClassifier": SGDClassifier,
        "NAG as printed": lambda: NAGClassifier(**PRINTED),
        'defaults, normalization="rms"': lambda: NAGClassifier(normalization="rms"),
        "defaults": NAGClassifier,
    }.items():
        spent = seconds(lambda: make().partial_fit(X, y, classes=[0, 1]))  # noqa: B023
        print(f"{spent / X.nnz * 1e9:6.2f}  partial_fit, {name}", flush=True)


if __name__ == "__main__":
    main()
