"""``python -m sklearn_nag``: what do default parameters cost, and how far can the learning rate be off?

On data sets that ship with scikit-learn, or on a CSV file, in raw units: the estimators of this package with their
defaults, NAG, sNAG and AdaGrad as the paper prints them, and SGD on raw and on scaled features. For each learner the
table has the cross-validated error with default parameters, the error at the best learning rate (eta) of a range, with
one standard error of its folds, and the etas that are good: with an error within one standard error of the least
error of all learners.

``python -m sklearn_nag train FILE --target NAME`` trains a model from files larger than memory instead;
``train --help`` lists its options. ``python -m sklearn_nag predict MODEL FILE --out predictions.csv`` lets the model
predict the rows of further files. ``python -m sklearn_nag warm-up`` compiles what models will need, as for a container
image, and says where that is kept.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ._extras import how_to_install
from ._main_job.comparison import ETAS, PASSES, compare
from ._main_job.figures import SUFFIXES, draw_curves, draw_summary
from ._main_job.predicting import main as predict
from ._main_job.report import progress, table
from ._main_job.tables import Choices, read_task
from ._main_job.tasks import bundled_tasks
from ._main_job.training import main as train
from ._main_job.warm_up import main as warm_up


def parse(arguments):
    """Command-line options."""
    parser = argparse.ArgumentParser(
        prog="python -m sklearn_nag", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("csv", nargs="?", type=Path, help="CSV file with a header; bundled data sets without it")
    parser.add_argument("--target", help="column of the CSV file to predict")
    parser.add_argument("--figure", type=Path, default=Path("eta_range.png"),
                        help="file for the figure; all curves go to a second one beside it (%(default)s)")  # fmt: skip
    parser.add_argument("--rows", type=int, default=10_000, help="most rows of the CSV file to use (%(default)s)")
    parser.add_argument("--folds", type=int, default=5, help="folds of the cross-validation (%(default)s)")
    parser.add_argument("--jobs", type=int, default=-1, help="processes; -1 is all cores (%(default)s)")
    parser.add_argument("--encoding", default="utf-8", help="encoding of the CSV file (%(default)s)")
    for name, what in [("drop", "leave out"), ("words", "take as words"), ("numbers", "take as numbers")]:
        parser.add_argument(f"--{name}", nargs="+", default=[], metavar="NAME", help=f"columns of the file to {what}")
    options = parser.parse_args(arguments)
    if (options.csv is None) != (options.target is None):
        parser.error("a CSV file and --target go together")
    if options.csv is not None and not options.csv.is_file():
        parser.error(f"there is no file {options.csv}")
    if options.folds < 2 or options.rows < 10:
        parser.error("--folds must be at least 2 and --rows at least 10")
    if options.jobs == 0:
        parser.error("--jobs must not be 0; -1 is all cores")
    if options.figure.suffix.lower() not in SUFFIXES:
        parser.error(f"--figure {options.figure}: its name must end in {', '.join(SUFFIXES)}")
    if not options.figure.parent.is_dir():
        parser.error(f"there is no folder {options.figure.parent} for {options.figure.name}")
    return parser, options


def main(arguments=None):
    """Run the experiment; print the tables, save the figures. Or what the first argument says, if it is a word."""
    arguments = sys.argv[1:] if arguments is None else arguments
    words = {"train": train, "predict": predict, "warm-up": warm_up}
    if arguments[:1] and arguments[0] in words:
        words[arguments[0]](arguments[1:])
        return
    parser, options = parse(arguments)
    if options.csv is None:
        tasks = bundled_tasks()
    else:
        choices = Choices(options.drop, options.words, options.numbers)
        try:
            task, notes = read_task(
                options.csv, options.target, most_rows=options.rows, folds=options.folds, encoding=options.encoding,
                choices=choices,
            )  # fmt: skip
        except ValueError as error:
            parser.exit(2, f"python -m sklearn_nag: {error}\n")
        print("\n".join(notes))
        tasks = [task]
    print(
        f"{len(ETAS)} learning rates from {ETAS[0]:.2g} to {ETAS[-1]:g}, {PASSES['max_iter']} passes, "
        f"{options.folds}-fold cross-validation;\ngood is an error within one standard error of the least of all.",
        flush=True,
    )
    comparisons = []
    for done, total, comparison in compare(tasks, options.folds, options.jobs):
        progress(done, total, "learners")
        if comparison is not None:
            comparisons.append(comparison)
            print(f"\n{table(comparison)}", flush=True)
    curves = options.figure.with_stem(f"{options.figure.stem}_curves")
    try:
        draw_summary(comparisons, options.figure)
        draw_curves(comparisons, curves)
    except ImportError:
        print(f"\nNo figure: it needs matplotlib, {how_to_install('plot')}")
    except OSError as error:
        parser.exit(2, f"python -m sklearn_nag: {options.figure} cannot be written: {error}\n")
    else:
        print(f"\nFigures: {options.figure}, {curves}")


if __name__ == "__main__":
    main()
