"""Tables 1 to 3 and figures 1 to 3 of Ross, Mineiro and Langford, "Normalized online learning" (UAI 2013).

    python -m benchmarks.paper --data-dir FOLDER [--output FOLDER] [--quick]

One pass over shuffled rows, each predicted before it is learnt, in the paper's recipe (`sklearn_nag.datasets`), at the
best of many learning rates in hindsight: NAG, sNAG and AG (AdaGrad) with explicit steps on raw and on pre-normalised
features (each divided by its largest absolute value beforehand), and with importance-aware steps on raw ones. Losses
are the share of wrong predictions or, for regression, squared errors divided by the square of the target's range.
Vowpal Wabbit, where it is installed, learns the same rows in the same order and makes the products itself.

Data sets that are not in the folder are left out. Results are kept in ``paper_runs.json`` as they come, and what is
there is not run again.
"""

import argparse
import csv
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from sklearn_nag import NAGClassifier, NAGRegressor, datasets
from sklearn_nag.model_selection import eta_sweep

NORMALIZED_ETAS = 2.0 ** np.arange(-5, 5.5, 0.5)
RAW_ETAS = 10.0 ** np.arange(-10, 2.5, 0.5)  # without normalization the best eta has the unit of the features
VW_ETAS = 10.0 ** np.arange(-8, 1.5, 0.5)
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


class Set(NamedTuple):
    """A data set, and how the paper learns it.

    Attributes
    ----------
    load : callable
        Gives a Bunch, from a folder.
    loss : str
        Loss that is learnt.
    positive : bool
        Whether negative numbers are dropped.
    shuffles : int
        Random orders to average over.
    """

    load: object
    loss: str
    positive: bool = False
    shuffles: int = 1


SETS = {
    "Bank": Set(datasets.fetch_bank, "log_loss", True, 5),
    "Census": Set(datasets.fetch_census, "log_loss", True),
    "Covertype": Set(datasets.fetch_covertype, "hinge"),
    "Shuttle": Set(datasets.fetch_shuttle, "hinge", False, 5),
    "CT Slice": Set(datasets.fetch_ct_slice, "squared_error"),
    "MSD": Set(datasets.fetch_msd, "squared_error"),
}
BUNDLED = {
    "breast cancer": Set(lambda **where: load_breast_cancer(), "log_loss", shuffles=2),
    "wine": Set(lambda **where: load_wine(), "hinge"),
    "diabetes": Set(lambda **where: load_diabetes(scaled=False), "squared_error"),
}


def learner(name, version, loss):
    """The paper's NAG, sNAG or AG."""
    options = {
        "loss": loss,
        "normalization": RULES[name],
        "centering": False,
        "importance_aware": version == "importance-aware",
        "average": False,
    }
    if loss == "squared_error":
        return NAGRegressor(**options, target_normalization=None)
    return NAGClassifier(**options, multi_class="ovr")


def chernoff(mean, n):
    """Interval for the expectation of losses in [0, 1] by the relative-entropy Chernoff bound.

    All ``p`` with ``n KL(mean || p) <= log(2 / 0.05)``.
    """
    p = np.linspace(0.0, 1.0, 200_001)[1:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        kl = np.where(mean > 0, mean * np.log(mean / p), 0.0)
        kl = kl + np.where(mean < 1, (1 - mean) * np.log((1 - mean) / (1 - p)), 0.0)
    inside = p[n * kl <= np.log(2 / SIGNIFICANCE)]
    return inside[0], inside[-1]


class Rows:
    """Rows of a data set before products are added, and what makes rows of them that a learner gets."""

    def __init__(self, name, options, folder, prenormalize):
        bunch = options.load(data_home=folder, download_if_missing=False)
        words = bunch.get("categorical_features") or None
        recipe = datasets.paper_recipe(words, positive=options.positive, prenormalize=prenormalize).fit(bunch.data)
        self.base, self.products, self.y = recipe[:-1].transform(bunch.data), recipe[-1:], bunch.target
        self.classes = None if options.loss == "squared_error" else np.unique(bunch.target)
        self.unit = 1.0 if self.classes is not None else np.ptp(bunch.target) ** 2 / 2  # of the loss, a half square
        numeric = np.setdiff1d(np.arange(bunch.data.shape[1]), words or [])
        largest = np.abs(bunch.data[:, numeric].astype(float)).max(axis=0)
        self.about = {
            "rows": len(self.y),
            "numeric features": len(numeric),
            "smallest scale": largest.min(),
            "largest scale": largest.max(),
            "features with products": recipe[-1].n_output_features_,
            "classes": "" if self.classes is None else len(self.classes),
        }

    def order(self, seed):
        """Rows in a random order."""
        return np.random.default_rng(seed).permutation(len(self.y))


def sweep(rows, options, name, version):
    """Loss for each learning rate, a mean over the shuffles."""
    etas = RAW_ETAS if RULES[name] is None else NORMALIZED_ETAS
    found = []
    for seed in range(options.shuffles):
        batches = datasets.recipe_batches(rows.products, rows.base, rows.y, order=rows.order(seed))
        result = eta_sweep(learner(name, version, options.loss), batches, eta0s=etas, classes=rows.classes)
        found.append(result.losses / rows.unit if rows.classes is None else result.errors)
    return {"etas": etas.tolist(), "losses": np.mean(found, axis=0).tolist(), "rows": len(rows.y)}


def write_text(path, rows, order):
    """Rows as Vowpal Wabbit reads them; features count from 1, as products with feature 0 would collide."""
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
    """Progressive loss of a run of Vowpal Wabbit, in a process of its own."""
    kind = "--loss_function squared"
    if classes is not None:
        kind = "--binary" if len(classes) == 2 else f"--oaa {len(classes)}"
        kind += f" --loss_function {'hinge' if loss == 'hinge' else 'logistic'}"
    code = (
        "import sys; from vowpalwabbit import pyvw; vw = pyvw.Workspace(sys.argv[1]);"
        "print(vw.get_sum_loss() / vw.get_weighted_examples()); vw.finish()"
    )
    arguments = f"--quiet --power_t 0.5 -q :: {kind} {flags} -d {path}"
    return float(subprocess.run([sys.executable, "-c", code, arguments], check=True, capture_output=True).stdout)


def vowpal_sweep(rows, options, name, version):
    """The same for Vowpal Wabbit's NAG and AG."""
    flags = "-b 22 --adaptive" + " --normalized" * (name == "NAG") + " --invariant" * (version != "raw")
    etas = VW_ETAS if name == "AG" else NORMALIZED_ETAS
    found = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        for seed in range(options.shuffles):
            path = Path(folder) / "rows"
            write_text(path, rows, rows.order(seed))
            runs = pool.map(lambda eta: vowpal(path, rows.classes, options.loss, f"{flags} -l {eta}"), etas)
            found.append(np.array(list(runs)) / (1.0 if rows.classes is not None else 2 * rows.unit))
    return {"etas": etas.tolist(), "losses": np.mean(found, axis=0).tolist(), "rows": len(rows.y)}


class Results:
    """What has been run, by data set and learner; saved as it comes."""

    def __init__(self, path):
        self.path = path
        self.found = json.loads(path.read_text()) if path is not None and path.exists() else {}

    def get(self, *key):
        """What is there for a key, or None."""
        return self.found.get(" | ".join(key))

    def put(self, result, *key):
        """Keep a result, and save all."""
        self.found[" | ".join(key)] = result
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            new = self.path.with_suffix(".new")
            new.write_text(json.dumps(self.found, indent=1, default=float))
            new.replace(self.path)

    def best(self, *key):
        """The best learning rate and its loss, or None."""
        run = self.get(*key)
        if run is None:
            return None
        place = int(np.argmin(run["losses"]))
        return run["etas"][place], run["losses"][place], run["rows"]


def run_all(results, sets, folder):
    """Run what is not there yet."""
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
                    print(f"{name}: {error}")
                    break
                results.put(rows.about, name)
            start = time.perf_counter()
            results.put(run(rows, options, *key[1:3]), *key)
            eta, loss, _ = results.best(*key)
            seconds = time.perf_counter() - start
            print(f"{' '.join(key):45} best eta {eta:9.3g}  loss {loss:.5f}  {seconds:6.1f} s", flush=True)
