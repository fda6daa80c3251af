"""Find the right learner for a CSV file: python -m sklearn_nag data.csv --target NAME

The command prints how it reads each column. It compares learners of this package and of scikit-learn on rows that they
have not learnt, and prints a table and a verdict. It saves a figure and, with --report, an HTML page.

Without a file, it measures what default parameters cost, and how far the learning rate can be off. The data sets are
those that ship with scikit-learn, in raw units. The learners are the estimators of this package with their defaults,
NAG, sNAG and AdaGrad as printed in the paper, and SGD on raw and on scaled features. For each learner, the table has
the cross-validated error with default parameters; the error at the best learning rate (eta) of a range, with one
standard error over the folds; and the good etas, whose error is within one standard error of the least error of all.

Other commands, each with options that --help lists:

  python -m sklearn_nag train FILE --target NAME                   train a model from files larger than memory
  python -m sklearn_nag predict MODEL FILE --out predictions.csv   predict the rows of further files
  python -m sklearn_nag warm-up                                    compile the code of models in advance
"""

import io
import sys
from pathlib import Path

from ._extras import how_to_install
from ._main_job import rates, report
from ._main_job.comparison import compare, metric_of
from ._main_job.figures import SUFFIXES, draw_comparison, draw_curves, draw_summary
from ._main_job.measures import OF_CLASSES, OF_QUANTITIES
from ._main_job.page import page
from ._main_job.predicting import main as predict
from ._main_job.rates import bundled_tasks
from ._main_job.tables import Choices, add_choices, kinds_of, new_parser, read_own
from ._main_job.training import main as train
from ._main_job.warm_up import main as warm_up

PROGRAM = "python -m sklearn_nag"
NO_FIGURE = "No figure: it needs matplotlib, {}"
OF_BOTH = {"csv", "target", "figure", "folds", "jobs"}  # options for a file and for bundled data


def parse(arguments):
    parser = new_parser(PROGRAM, __doc__)
    add = parser.add_argument
    add("csv", nargs="?", type=Path, help="CSV file with a header; by default, bundled data sets are used")
    add("--target", metavar="NAME", help="column of the CSV file to predict")
    add("--metric", choices=[*OF_CLASSES, *OF_QUANTITIES],
        help="measure that ranks the learners (log_loss for classes; root_mean_squared_error for quantities, or "
        "median_absolute_error if these have heavy tails)")  # fmt: skip
    add("--report", type=Path, metavar="FILE", help="HTML page to write, which includes the figure")
    add("--figure", type=Path, metavar="FILE",
        help="file for the figure (comparison.png; for bundled data eta_range.png, and a second file next to it with "
        "all curves)")  # fmt: skip
    add_choices(add)
    add("--words", nargs="+", default=[], metavar="NAME", help="the same as --as NAME=words")
    add("--numbers", nargs="+", default=[], metavar="NAME", help="the same as --as NAME=numbers")
    add(
        "--time",
        metavar="NAME",
        help="column to sort rows by, so that later rows are predicted from earlier ones (by default one with dates)",
    )
    add("--shuffle", action="store_true", help="ignore the order of rows, even if there is a column with dates")
    add("--rows", type=int, default=10_000, help="largest number of rows of the CSV file to use (%(default)s)")
    add("--folds", type=int, default=5, help="number of folds of the cross-validation (%(default)s)")
    add("--jobs", type=int, default=-1, help="number of processes; -1 for all cores (%(default)s)")
    add("--encoding", default="utf-8", help="encoding of the CSV file (%(default)s)")
    options = parser.parse_args(arguments)
    if (options.csv is None) != (options.target is None):
        parser.error("pass both a CSV file and --target, or neither")
    if options.csv is not None and not options.csv.is_file():
        parser.error(f"there is no file {options.csv}")
    if options.folds < 2 or options.rows < 10:
        parser.error("--folds must be at least 2 and --rows at least 10")
    if options.jobs == 0:
        parser.error("--jobs must not be 0; -1 is all cores")
    given = [name for name in vars(options) if name not in OF_BOTH and vars(options)[name] != parser.get_default(name)]
    if options.csv is None and given:
        parser.error(f"--{'as' if given[0] == 'kinds' else given[0]} is for a CSV file")
    if options.figure is None:
        options.figure = Path("eta_range.png" if options.csv is None else "comparison.png")
    for name, path, suffixes in (("figure", options.figure, SUFFIXES), ("report", options.report, (".html", ".htm"))):
        if path is not None and path.suffix.lower() not in suffixes:
            parser.error(f"--{name} {path}: its name must end in {', '.join(suffixes)}")
        if path is not None and not path.parent.is_dir():
            parser.error(f"there is no folder {path.parent} for {path.name}")
    return parser, options


def main(arguments=None):
    """Run the comparison, print tables and save figures; or run the command that the first argument names."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # its encoding may lack characters of column names
        sys.stdout.reconfigure(errors="backslashreplace")
    arguments = sys.argv[1:] if arguments is None else arguments
    words = {"train": train, "predict": predict, "warm-up": warm_up}
    if arguments[:1] and arguments[0] in words:
        words[arguments[0]](arguments[1:])
        return
    parser, options = parse(arguments)
    try:
        of_bundled_data(options) if options.csv is None else of_file(options)
    except ValueError as error:
        parser.exit(2, f"{PROGRAM}: {error}\n")
    except OSError as error:
        parser.exit(2, f"{PROGRAM}: {error.filename or options.figure} cannot be written: {error.strerror}\n")


def of_bundled_data(options):
    """Measure what learning rates cost on data sets that ship with scikit-learn."""
    etas, passes = rates.ETAS, rates.PASSES["max_iter"]
    print(
        f"{len(etas)} learning rates from {etas[0]:.2g} to {etas[-1]:g}, {passes} passes, "
        f"{options.folds}-fold cross-validation;\n"
        "an eta is good if its error is within one standard error of the least error of all.",
        flush=True,
    )
    found = []
    for done, total, of_task in rates.compare(bundled_tasks(), options.folds, options.jobs):
        report.progress(done, total, "learners")
        if of_task is not None:
            found.append(of_task)
            print(f"\n{report.range_table(of_task)}", flush=True)
    curves = options.figure.with_stem(f"{options.figure.stem}_curves")
    try:
        draw_summary(found, options.figure)
        draw_curves(found, curves)
    except ImportError:
        print("\n" + NO_FIGURE.format(how_to_install("plot")))
    else:
        print(f"\nFigures: {options.figure}, {curves}")


def of_file(options):
    """Find the right learner for a user's file."""
    by_kind = [f"{name}={kind}" for kind in ("words", "numbers") for name in getattr(options, kind)]
    kinds = kinds_of([*options.kinds, *by_kind], options.target)
    columns = None if options.columns is None else tuple(options.columns)
    choices = Choices(columns, tuple(options.drop), kinds, options.time, options.shuffle)
    table = read_own(
        options.csv, options.target, most_rows=options.rows, folds=options.folds, encoding=options.encoding,
        choices=choices,
    )  # fmt: skip
    print("\n".join(table.notes), flush=True)
    metric = metric_of(table, options.metric)
    found = None
    for done, total, found in compare(table, metric, options.folds, options.jobs):  # noqa: B007
        report.progress(done, total, "splits")
    print(f"\n{report.findings(found)}", flush=True)
    png = io.BytesIO()
    try:
        draw_comparison(found, options.figure)
        if options.report is not None:
            draw_comparison(found, png)
        print(f"\nFigure: {options.figure}")
    except ImportError:
        print("\n" + NO_FIGURE.format(how_to_install("plot")))
    if options.report is not None:
        options.report.write_text(page(found, png.getvalue() or None), encoding="utf-8")
        print(f"Report: {options.report}")


if __name__ == "__main__":
    main()
