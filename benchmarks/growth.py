"""How the cost of a pass grows with rows, features, nonzeros and heads, compared with what the machine allows at best.

    python -m benchmarks.growth [--output FOLDER] [--quick]

The script writes ``growth.csv`` after each point, and draws ``growth.png`` from it; a run that was stopped resumes.
With ``--quick``, the files are ``growth_quick.csv`` and ``growth_quick.png``.
A point is the fastest of a few calls of ``partial_fit`` by a fitted model, in microseconds of processor time per row.
It is compared with the time to read the rows at the bandwidth of memory, and with the processor's time for one square
root and one division per weight. Both are measured with NumPy on this machine. "NAG" is the paper's, one head against
the rest for several classes; "defaults" also centre dense features, average, make importance-aware steps and learn
classes together.
"""

import csv
import time
from pathlib import Path

import numpy as np
from scipy import sparse

from sklearn_nag import NAGClassifier

from .options import new_folder, parser_of
from .speed import PAPER, dense_rows

SERIES = {"NAG": {**PAPER, "multi_class": "ovr"}, "defaults": {}}
ENTRIES = 2 * 10**7  # entries in the rows of a point, if the number of rows is free
PANELS = {  # name: points
    "rows": [10**4, 10**5, 10**6, 10**7],
    "features": [10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000],
    "nonzeros": [10, 30, 100, 300, 1_000, 3_000, 10_000],
    "heads": [1, 3, 7, 16, 32, 64, 128, 256],
}
DENSE_FEATURES, SPARSE_FEATURES = 20, 100_000
FIELDS = ("panel", "x", "series", "rows", "per_row", "reading", "arithmetic")


def fastest(run, seconds=1.0, most=9):
    """Return the processor time of the fastest of a few calls, at least two; calls run in one thread."""
    times = []
    while len(times) < 2 or (sum(times) < seconds and len(times) < most):
        begin = time.thread_time()
        run()
        times.append(time.thread_time() - begin)
    return min(times)


def limits():
    """Return the seconds to read a byte of rows from memory, and for a square root and a division."""
    large, small = np.ones(ENTRIES), np.linspace(1.0, 2.0, 2_048)
    root = np.empty_like(small)

    def arithmetic():
        for _ in range(1_000):
            np.sqrt(small, out=root)
            np.divide(small, root, out=root)

    return fastest(large.max) / large.nbytes, fastest(arithmetic) / (1_000 * small.size)


def sparse_rows(n, nonzeros, d, seed=0):
    """Return CSR rows with ``nonzeros`` entries each, one in each of ``nonzeros`` runs of columns, and classes."""
    rng = np.random.default_rng(seed)
    step = d // nonzeros
    columns = np.arange(nonzeros) * step + rng.integers(0, step, (n, nonzeros))
    indptr = np.arange(0, n * nonzeros + 1, nonzeros)
    X = sparse.csr_matrix((rng.random(n * nonzeros), columns.ravel().astype(np.int32), indptr), shape=(n, d))
    return X, rng.integers(0, 2, n)


def rows_of(panel, x, entries):
    """Return rows and classes of a point."""
    if panel == "rows":
        return dense_rows(x, DENSE_FEATURES)
    if panel == "features":
        return dense_rows(max(entries // x, 10), x)
    if panel == "nonzeros":
        return sparse_rows(max(entries // (4 * x), 10), x, SPARSE_FEATURES)
    return dense_rows(max(entries // (54 * x), 300), 54, max(x, 2))


def measure(panel, x, entries, costs):
    """Yield rows of the table, one for each series."""
    X, y = rows_of(panel, x, entries)
    n, width = X.shape[0], x if panel == "nonzeros" else X.shape[1]
    classes = np.arange(max(x, 2) if panel == "heads" else 2)
    size = X.data.nbytes + X.indices.nbytes if sparse.issparse(X) else X.nbytes
    heads = x if panel == "heads" else 1
    bounds = [1e6 * costs[0] * size / n, 1e6 * costs[1] * (width + 1) * heads]
    for name, parameters in SERIES.items():
        model = NAGClassifier(**parameters).partial_fit(X[:10], y[:10], classes=classes)
        per_row = fastest(lambda model=model: model.partial_fit(X, y)) / n * 1e6
        yield [panel, x, name, n, *(f"{value:.4g}" for value in (per_row, *bounds))]


def draw(table, path):
    """Draw one log-log panel for each quantity."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(9, 7.5), layout="constrained")
    for ax, panel in zip(axes.flat, PANELS):
        points = [row for row in table if row["panel"] == panel]
        for name in SERIES:
            own = sorted((int(row["x"]), row) for row in points if row["series"] == name)
            seconds = [float(row["per_row"]) * (int(row["rows"]) / 1e6 if panel == "rows" else 1) for _, row in own]
            ax.loglog([x for x, _ in own], seconds, "o-", label=name, markersize=4)
        for bound, style in [("reading", ":"), ("arithmetic", "--")]:
            values = [float(row[bound]) * (int(row["rows"]) / 1e6 if panel == "rows" else 1) for _, row in own]
            label = {"reading": "reading the rows", "arithmetic": "the processor's roots and divisions"}[bound]
            ax.loglog([x for x, _ in own], values, style, color="gray", label=label)
        ax.set_xlabel({"features": "features (dense)", "nonzeros": "nonzeros per row (CSR)"}.get(panel, panel))
        ax.set_ylabel("seconds per pass" if panel == "rows" else "µs per row")
        ax.grid(alpha=0.3)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    figure.savefig(path, dpi=110)


def main():
    """Measure the points that are missing, and draw."""
    parser = parser_of(__doc__)
    parser.add_argument("--output", type=new_folder, default=Path(), help="folder for growth.csv and growth.png")
    parser.add_argument("--quick", action="store_true", help="few points, few rows: that it runs, not what it finds")
    options = parser.parse_args()
    path = options.output / ("growth_quick.csv" if options.quick else "growth.csv")
    if not path.exists():
        path.write_text(",".join(FIELDS) + "\n")
    with path.open() as file:
        done = {(row["panel"], int(row["x"])) for row in csv.DictReader(file)}
    costs = limits()
    for panel, points in PANELS.items():
        for x in points[:2] if options.quick else points:
            if (panel, x) not in done:
                rows = list(measure(panel, x, 10**4 if options.quick else ENTRIES, costs))
                with path.open("a", newline="") as file:
                    csv.writer(file, lineterminator="\n").writerows(rows)
                print(*(f"{panel} {x}, {row[2]}: {row[4]} us a row" for row in rows), sep="\n", flush=True)
    with path.open() as file:
        draw(list(csv.DictReader(file)), path.with_suffix(".png"))


if __name__ == "__main__":
    main()
