"""Tables 1 to 3 and figures 1 to 3 of Ross, Mineiro and Langford, "Normalized online learning" (UAI 2013).

    python -m benchmarks.paper --data-dir FOLDER [--output FOLDER] [--sets NAME ...] [--quick]

Learners make one pass over shuffled rows, in the paper's recipe (`sklearn_nag.datasets`), and predict each row before
they learn it. Results are those of the best of many learning rates in hindsight. The learners are NAG, sNAG and AG
(AdaGrad), with explicit steps on raw and on pre-normalised features (each divided by its largest absolute value
beforehand), and with importance-aware steps on raw ones. Losses are the share of wrong predictions or, for regression,
squared errors divided by the square of the target's range; there the origin and unit of the target are learnt. Vowpal
Wabbit, if it is installed, learns the same rows in the same order and makes the products itself; it clamps predictions
to the range of the labels.

Data sets that are not in the folder are left out. Results are kept in ``paper_runs.json`` as they come (with
``--quick``, in ``paper_runs_quick.json``), and runs that have a result are not repeated.
"""

import csv
import importlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import brentq
from scipy.special import rel_entr
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.pipeline import Pipeline

from sklearn_nag import NAGClassifier, NAGRegressor, datasets
from sklearn_nag.model_selection import eta_sweep
from sklearn_nag.streams import read_batches

from .options import megabytes, new_folder, parser_of

ETAS = {
    "NAG": 2.0 ** np.arange(-5, 5.5, 0.5),
    "sNAG": 2.0 ** np.arange(-5, 5.5, 0.5),
    "AG": 10.0 ** np.arange(-10, 2.5, 0.5),  # the best one has the unit of the features
}
RULES = {"NAG": "max", "sNAG": "rms", "AG": None}
PAPER = {
    "Bank": {"NAG": 0.098, "sNAG": 0.098, "AG": 0.109},
    "Census": {"NAG": 0.050, "sNAG": 0.050, "AG": 0.054},
    "Covertype": {"NAG": 0.27, "sNAG": 0.28, "AG": 0.32},
    "Shuttle": {"NAG": 0.036, "sNAG": 0.026, "AG": 0.040},
    "CT Slice": {"NAG": 0.0023, "sNAG": 0.0019, "AG": 0.0023},
    "MSD": {"NAG": 0.0110, "sNAG": 0.0119, "AG": 0.0130},
}  # as printed; all on raw features
VERSIONS = ("raw", "pre-normalised", "importance-aware")
HAVE_VW = importlib.util.find_spec("vowpalwabbit") is not None
SIGNIFICANCE = 0.05
LABEL = "label"  # column of a CSV file


class Set(NamedTuple):
    """A data set, and how the paper learns it.

    Attributes
    ----------
    load : callable
        Returns a Bunch, from a folder.
    loss : str
        Loss that is learnt.
    positive : bool
        Whether negative numbers are dropped.
    shuffles : int
        Number of random orders to average over.
    every : int
        Take only every so many learning rates.
    """

    load: object
    loss: str
    positive: bool = False
    shuffles: int = 1
    every: int = 1

    def etas(self, name):
        """Return the learning rates of NAG, sNAG or AG."""
        return ETAS[name][:: self.every] / (16 if self.loss == "squared_error" else 1)


SETS = {
    "Bank": Set(datasets.fetch_bank, "log_loss", True, 5),
    "Census": Set(datasets.fetch_census, "log_loss", True),
    "Covertype": Set(datasets.fetch_covertype, "hinge", every=2),
    "Shuttle": Set(datasets.fetch_shuttle, "hinge", False, 5),
    "CT Slice": Set(lambda data_home, **offline: datasets.fetch_ct_slice(data_home=data_home), "squared_error"),
    "MSD": Set(datasets.fetch_msd, "squared_error"),
}
BUNDLED = {
    "breast cancer": Set(lambda **where: load_breast_cancer(), "log_loss", shuffles=2, every=6),
    "wine": Set(lambda **where: load_wine(), "hinge", every=6),
    "diabetes": Set(lambda **where: load_diabetes(scaled=False), "squared_error", every=6),
}


def learner(name, version, loss):
    """Return the paper's NAG, sNAG or AG."""
    options = {
        "loss": loss,
        "normalization": RULES[name],
        "centering": False,
        "importance_aware": version == "importance-aware",
        "average": False,
    }
    if loss == "squared_error":
        return NAGRegressor(**options, clip=None)
    return NAGClassifier(**options, multi_class="ovr")


class Rows:
    """Rows of a data set before products are added, and the step that turns them into rows for a learner."""

    def __init__(self, name, options, folder, prenormalize):
        bunch = options.load(data_home=folder, download_if_missing=False)
        words = bunch.get("categorical_features") or None
        recipe = datasets.paper_recipe(words, positive=options.positive, prenormalize=prenormalize).fit(bunch.data)
        self.base, self.products, self.y = recipe[:-1].transform(bunch.data), recipe[-1:], bunch.target
        self.classes = None if options.loss == "squared_error" else np.unique(bunch.target)
        self.unit = 1.0 if self.classes is not None else np.ptp(bunch.target) ** 2 / 2  # of the loss: half a square
        numeric = np.setdiff1d(np.arange(bunch.data.shape[1]), words or [])
        largest = np.abs(bunch.data[:, numeric].astype(float)).max(axis=0)
        self.about = {
            "rows": len(self.y),
            "numeric features": len(numeric),
            "smallest scale": largest.min(),
            "largest scale": largest.max(),
            "features with products": len(recipe[-1].get_feature_names_out()),
            "classes": "" if self.classes is None else len(self.classes),
        }

    def order(self, seed):
        """Return the numbers of the rows in random order."""
        return np.random.default_rng(seed).permutation(len(self.y))


def sweep(rows, options, name, version):
    """Return the loss for each learning rate, as a mean over the shuffles."""
    etas, found = options.etas(name), []
    for seed in range(options.shuffles):
        batches = datasets.recipe_batches(rows.products, rows.base, rows.y, order=rows.order(seed))
        result = eta_sweep(learner(name, version, options.loss), batches, eta0s=etas, classes=rows.classes)
        found.append(result.losses / rows.unit if rows.classes is None else result.errors)
    return {"etas": etas.tolist(), "losses": np.mean(found, axis=0).tolist(), "rows": len(rows.y)}


def write_text(path, rows, order):
    """Write rows in Vowpal Wabbit's format; features count from 1, because products with feature 0 would collide."""
    labels = rows.y
    if rows.classes is not None:
        codes = np.searchsorted(rows.classes, rows.y)
        labels = 2 * codes - 1 if len(rows.classes) == 2 else codes + 1
    with path.open("w") as file:
        for start in range(0, len(order), 10_000):
            part = order[start : start + 10_000]
            some = sparse.csr_array(rows.base[part])
            tokens = [f"{i + 1}:{value:.9g}" for i, value in zip(some.indices.tolist(), some.data.tolist())]
            ends = some.indptr.tolist()
            file.writelines(
                f"{label} | {' '.join(tokens[i:j])}\n" for label, i, j in zip(labels[part].tolist(), ends, ends[1:])
            )


def vowpal(path, classes, loss, flags):
    """Return the progressive loss of a run of Vowpal Wabbit, in a process of its own, and its seconds."""
    kind = "--loss_function squared"
    if classes is not None:
        kind = "--binary" if len(classes) == 2 else f"--oaa {len(classes)}"
        kind += f" --loss_function {'hinge' if loss == 'hinge' else 'logistic'}"
    code = (
        "import sys, time; from vowpalwabbit import pyvw; start = time.perf_counter();"
        "vw = pyvw.Workspace(sys.argv[1]); loss = vw.get_sum_loss() / vw.get_weighted_examples();"
        "vw.finish(); print(loss, time.perf_counter() - start)"
    )
    arguments = f"--quiet --power_t 0.5 -q :: {kind} {flags} -d {path}"
    output = subprocess.run([sys.executable, "-c", code, arguments], check=True, capture_output=True).stdout
    return tuple(map(float, output.split()))


def vowpal_sweep(rows, options, name, version):
    """Return the same for Vowpal Wabbit's NAG and AG."""
    flags = "-b 22 --adaptive" + " --normalized" * (name == "NAG") + " --invariant" * (version != "raw")
    etas, found = options.etas(name), []
    if rows.classes is None:
        etas = etas * np.ptp(rows.y)  # its etas have the unit of the target
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        for seed in range(options.shuffles):
            path = Path(folder) / "rows"
            write_text(path, rows, rows.order(seed))
            runs = [pool.submit(vowpal, path, rows.classes, options.loss, f"{flags} -l {eta}") for eta in etas]
            losses = np.array([run.result()[0] for run in runs])
            found.append(losses if rows.classes is not None else losses / (2 * rows.unit))
    return {"etas": etas.tolist(), "losses": np.mean(found, axis=0).tolist(), "rows": len(rows.y)}


class Results:
    """Results by data set and learner, saved as they come."""

    def __init__(self, path):
        self.path = path
        self.found = json.loads(path.read_text()) if path is not None and path.exists() else {}

    def get(self, *key):
        """Return the result for a key, or None."""
        return self.found.get(" | ".join(key))

    def put(self, result, *key):
        """Keep a result, and save all."""
        self.found[" | ".join(key)] = result
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            new = self.path.with_suffix(".new")
            lines = (f"{json.dumps(name)}: {json.dumps(one, default=float)}" for name, one in self.found.items())
            new.write_text("{\n" + ",\n".join(lines) + "\n}\n")
            new.replace(self.path)

    def best(self, *key):
        """Return the best learning rate, its loss and the number of rows, or None."""
        run = self.get(*key)
        if run is None:
            return None
        place = int(np.argmin(run["losses"]))
        return run["etas"][place], run["losses"][place], run["rows"]


def run_all(results, sets, folder):
    """Run what has no result yet."""
    for name, options in sets.items():
        work = [(sweep, (name, rule, version)) for version in VERSIONS for rule in RULES]
        if HAVE_VW:
            updates = ("raw", "importance-aware")
            work += [(vowpal_sweep, (name, rule, version, "VW")) for version in updates for rule in ("NAG", "AG")]
        rows, prepared = None, None
        for run, key in work:
            if results.get(*key) is not None:
                continue
            prenormalize = key[2] == "pre-normalised"
            if prepared != prenormalize:
                try:
                    rows, prepared = Rows(name, options, folder, prenormalize), prenormalize
                except OSError as error:
                    print(f"{name} is left out: {error}", flush=True)
                    break
                results.put(rows.about, name)
            start = time.perf_counter()
            results.put(run(rows, options, *key[1:3]), *key)
            eta, loss, _ = results.best(*key)
            seconds = time.perf_counter() - start
            print(f"{' '.join(key):45} best eta {eta:9.3g}  loss {loss:.5f}  {seconds:6.1f} s", flush=True)


def chernoff(mean, n):
    """Return an interval for the expectation of losses in [0, 1], by the Chernoff bound in its relative-entropy form.

    It contains all ``p`` with ``n KL(mean || p) <= log(2 / 0.05)``.
    """
    mean = min(mean, 1.0)

    def excess(p):
        return n * (rel_entr(mean, p) + rel_entr(1 - mean, 1 - p)) - np.log(2 / SIGNIFICANCE)

    low = brentq(excess, 1e-300, mean) if mean > 0 and excess(1e-300) > 0 else 0.0
    high = brentq(excess, mean, 1 - 1e-16) if mean < 1 else 1.0
    return low, high


def differ(one, other):
    """Return whether the intervals of two ``(eta, loss, rows)`` are apart."""
    (low, high), (other_low, other_high) = chernoff(*one[1:]), chernoff(*other[1:])
    return high < other_low or other_high < low


def cells(results, key, nag):
    """Return the best eta and loss as text; a loss that differs significantly from NAG's on raw features has a star."""
    best = results.best(*key)
    if best is None:
        return ["-", "-"]
    return [f"{best[0]:.2g}", f"{best[1]:.4f}" + "*" * (nag is not None and differ(best, nag))]


def write_csv(path, header, lines):
    """Write a table."""
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *lines])


def tables(results, sets, folder):
    """Write the tables of the results so far."""
    names = [name for name in sets if results.get(name) is not None]
    about = [results.get(name) for name in names]
    write_csv(
        folder / "paper_data.csv",
        ["data", *about[0]],
        [[name, *(f"{v:,g}" if v != "" else "" for v in one.values())] for name, one in zip(names, about)],
    )
    for version, file in zip(VERSIONS, ("raw", "prenormalised", "importance_aware")):
        header, lines = ["data"], []
        for rule in RULES:
            header += [f"{rule} eta", rule]
            header += [f"{rule}, paper"] * (version != "pre-normalised")
            header += [f"{rule}, VW eta", f"{rule}, VW"] * (version != "pre-normalised" and rule != "sNAG")
        for name in names:
            nag, line = results.best(name, "NAG", "raw"), [name]
            for rule in RULES:
                line += cells(results, (name, rule, version), nag)
                if version != "pre-normalised":
                    line.append(PAPER.get(name, {}).get(rule, "-"))
                    line += [] if rule == "sNAG" else cells(results, (name, rule, version, "VW"), nag)
            lines.append(line)
        write_csv(folder / f"paper_{file}.csv", header, lines)
    lines = []
    for version in VERSIONS:
        for rule in RULES:
            for vw in ((), ("VW",)):
                found = [results.best(name, rule, version, *vw) for name in names]
                etas = [one[0] for one in found if one is not None]
                if etas:
                    orders = np.log10(max(etas) / min(etas))
                    label = " ".join((rule, *vw))
                    lines.append([label, version, f"{min(etas):.2g}", f"{max(etas):.2g}", f"{orders:.1f}"])
    write_csv(folder / "paper_ranges.csv", ["learner", "features", "least", "greatest", "orders of magnitude"], lines)
    timing = results.get("Covertype, one pass")
    if timing is not None:
        figures = [f"{value:.0f}" if value >= 1000 else f"{value:.3g}" for value in timing.values()]
        write_csv(folder / "paper_covertype.csv", timing, [figures])


def two_features(scale, n=10_000, seed=0):
    """Return rows of two normal features, the second times ``scale``, and classes by their sum, with noise."""
    X = np.random.default_rng(seed).normal(size=(n, 3))
    return X[:, :2] * [1.0, scale], (X.sum(axis=1) > 0).astype(int)


def scale_sweeps(results, quick):
    """Compute figure 1: losses of NAG and AG on two features, for each scale of the second."""
    scales = 10.0 ** np.linspace(-6, 6, 5 if quick else 25)
    etas = {"NAG": ETAS["NAG"], "AG": 10.0 ** np.linspace(-9, 9, 73)}
    for rule, some in etas.items():
        if results.get("two features", rule) is None:
            losses = [
                eta_sweep(learner(rule, "raw", "log_loss"), *two_features(scale), eta0s=some).losses.tolist()
                for scale in scales
            ]
            results.put({"scales": scales.tolist(), "etas": some.tolist(), "losses": losses}, "two features", rule)


def figures(results, sets, folder):
    """Draw figures 1 to 3."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colours = {"NAG": "C0", "sNAG": "C2", "AG": "C1"}
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for rule in ("NAG", "AG"):
        run = results.get("two features", rule)
        scales, etas, losses = (np.array(run[name]) for name in ("scales", "etas", "losses"))
        at_one = losses[np.argmin(np.abs(np.log(scales)))].argmin()
        left.loglog(scales, losses.min(axis=1), color=colours[rule], label=f"{rule}, best eta at each scale")
        left.loglog(scales, losses[:, at_one], "--", color=colours[rule], label=f"{rule}, best eta at scale 1")
        right.loglog(scales, etas[losses.argmin(axis=1)], color=colours[rule], label=rule)
    left.axhline(np.log(2), color="0.6", lw=1, label="log 2: knowing nothing")
    left.set(xlabel="scale of the second feature", ylabel="progressive loss", ylim=(0.3, 10))
    right.set(xlabel="scale of the second feature", ylabel="best eta")
    left.legend(fontsize="small")
    right.legend(fontsize="small")
    figure.savefig(folder / "paper_figure1.png", dpi=150)
    plt.close(figure)

    names = [name for name in sets if results.get(name) is not None]
    for number, version in ((2, "raw"), (3, "pre-normalised")):
        high = -(-len(names) // 2)
        figure, axes = plt.subplots(high, 2, figsize=(9, 3.2 * high), layout="constrained", squeeze=False)
        for ax in axes.flat[len(names) :]:
            ax.set_axis_off()
        for ax, name in zip(axes.flat, names):
            for rule, colour in colours.items():
                run = results.get(name, rule, version)
                etas, losses = np.array(run["etas"]), np.array(run["losses"])
                ax.semilogx(etas, losses, color=colour, lw=1, label=rule)
                near = np.where(losses <= 1.05 * losses.min(), losses, np.nan)
                ax.semilogx(etas, near, color=colour, lw=3)
            least = min(min(results.get(name, rule, version)["losses"]) for rule in colours)
            ax.set(title=name, xlabel="eta", ylim=(0.8 * least, min(ax.get_ylim()[1], 5 * least)))
        for ax in axes[:, 0]:
            ax.set_ylabel("progressive error")
        axes[0, 0].legend(fontsize="small")
        figure.savefig(folder / f"paper_figure{number}.png", dpi=150)
        plt.close(figure)


def one_pass(path, n_etas):
    """Learn the CSV file of `write_csv_rows` with some learning rates; return error, time and memory."""
    etas = 2.0 ** (np.arange(n_etas) - n_etas // 2 + 1)
    for package in ("numba", "pyarrow.csv"):
        with suppress(ImportError):
            importlib.import_module(package)
    start = time.perf_counter()
    pipeline = Pipeline([*datasets.paper_recipe().steps, ("nag", learner("NAG", "raw", "hinge"))])
    result = eta_sweep(pipeline, read_batches(path, LABEL), eta0s=etas, classes=range(1, 8))
    return {
        "error": result.errors.min(),
        "seconds": time.perf_counter() - start,
        "megabytes": megabytes(),
    }


def write_csv_rows(path, rows, order):
    """Write rows before products are added, and their labels, as a CSV file."""
    import pyarrow as pa
    from pyarrow import csv as text

    names, features = [f"x{i}" for i in range(rows.base.shape[1])], rows.base[order].toarray()
    text.write_csv(pa.table([*features.T, rows.y[order]], names=[*names, LABEL]), path)


def time_covertype(results, folder, repeats=5):
    """Time `one_pass`, in processes of its own: one eta in turns with Vowpal Wabbit, and then 16 at once.

    Both read the same rows in the same order, each from text in its own format. The start of Python and imports count
    for neither.
    """
    if results.get("Covertype, one pass") is not None or not HAVE_VW:
        return

    def own(n_etas):
        command = [sys.executable, "-m", "benchmarks.paper", "--one-pass", str(n_etas), str(table)]
        return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)

    rows = Rows("Covertype", SETS["Covertype"], folder, False)
    found = []
    with tempfile.TemporaryDirectory() as temporary:
        text, table = Path(temporary) / "rows", Path(temporary) / "rows.csv"
        write_text(text, rows, rows.order(0))
        write_csv_rows(table, rows, rows.order(0))
        for _ in range(repeats + 1):  # the first compiles
            error, seconds = vowpal(text, rows.classes, "hinge", "--adaptive --normalized -l 2")
            found.append({**own(1), "VW error": error, "VW seconds": seconds})
        sweep = own(16)
    median = {key: float(np.median([one[key] for one in found[1:]])) for key in found[0]}
    median["ratio"] = float(np.median([one["seconds"] / one["VW seconds"] for one in found[1:]]))
    median |= {"seconds, 16 etas": sweep["seconds"], "megabytes, 16 etas": sweep["megabytes"]}
    median["ratio to 16 passes"] = sweep["seconds"] / (16 * median["seconds"])
    results.put(median, "Covertype, one pass")


def main():
    """Run what is missing, and write tables and figures."""
    parser = parser_of(__doc__)
    parser.add_argument("--data-dir", type=Path, help="folder with the files that sklearn_nag.datasets names")
    parser.add_argument("--output", type=new_folder, help="folder for results, tables and figures")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), help="data sets to run; all by default")
    parser.add_argument("--quick", action="store_true", help="bundled data, few rates: that it runs")
    parser.add_argument("--one-pass", nargs=2, metavar=("N", "FILE"), help="only learn a CSV file of Covertype's rows")
    options = parser.parse_args()
    if options.one_pass:
        n_etas, path = options.one_pass
        print(json.dumps(one_pass(path, int(n_etas))))
        return
    if options.data_dir is None and not options.quick:
        parser.error("--data-dir is needed, or --quick")
    sets = BUNDLED if options.quick else {name: SETS[name] for name in options.sets}
    kept = "paper_runs_quick.json" if options.quick else "paper_runs.json"
    results = Results(None if options.output is None else options.output / kept)
    run_all(results, sets, options.data_dir)
    if all(results.get(name) is None for name in sets):
        parser.exit(1, f"none of {', '.join(sets)} is in {options.data_dir}\n")
    scale_sweeps(results, options.quick)
    if not options.quick and "Covertype" in sets and results.get("Covertype") is not None:
        time_covertype(results, options.data_dir)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.output or Path(temporary)
        tables(results, sets, folder)
        figures(results, sets, folder)
        for path in sorted(folder.glob("paper_*.csv")):
            print(f"\n{path.name}\n{path.read_text()}", end="")


if __name__ == "__main__":
    main()
