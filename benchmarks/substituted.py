"""scikit-learn's own tests of SGDClassifier, SGDRegressor and Perceptron, run with the estimators of this package.

    python -m benchmarks.substituted [--show TEST]

Runs the tests of the installed scikit-learn (wheels include them) while `sklearn.linear_model` names `NAGClassifier`
and `NAGRegressor`, with their defaults, in place of SGD's, and for Perceptron its own rule: plain steps on raw
features. Tests of SGDOneClassSVM are left out. Failures are printed by kind, with the reason why they are intended.
Both come from ``substituted.csv`` next to this file, which the page "Differences from SGDClassifier" shows. Tests of
that list that pass or do not exist are printed, too. The exit code is 1 if a test fails that is not in the list.
``--show`` prints the traceback of the tests whose names have the word.
"""

import csv
import os
import sys
from collections import defaultdict
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
import sklearn
import sklearn.linear_model

from sklearn_nag import NAGClassifier, NAGRegressor

from .options import parser_of

LIST = Path(__file__).with_suffix(".csv")
MODULES = ("sklearn.linear_model.tests.test_sgd", "sklearn.linear_model.tests.test_perceptron")
PERCEPTRON = {
    "loss": "perceptron",
    "normalization": None,
    "adaptive": False,
    "importance_aware": False,
    "average": False,
    "multi_class": "ovr",
    "random_state": 0,
}


def make_perceptron(**parameters):
    """Stand in for Perceptron."""
    return NAGClassifier(**{**PERCEPTRON, **parameters})


SUBSTITUTES = {"SGDClassifier": NAGClassifier, "SGDRegressor": NAGRegressor, "Perceptron": make_perceptron}


class Substitution:
    """A plugin for pytest that swaps the names while tests are collected and run, and remembers how tests end.

    Attributes
    ----------
    passed : list of str
        Names of the tests that passed.
    failed : dict of str to str
        Report of each test that failed, by its name.
    """

    def __init__(self):
        self.passed, self.failed, self._swapped = [], {}, pytest.MonkeyPatch()

    def pytest_sessionstart(self):
        """Swap the names, before the modules with the tests are imported."""
        for name, substitute in SUBSTITUTES.items():
            self._swapped.setattr(sklearn.linear_model, name, substitute)

    def pytest_sessionfinish(self):
        """Swap the names back."""
        self._swapped.undo()

    def pytest_collectreport(self, report):
        """Remember a module that cannot be imported."""
        if report.failed:
            self.failed[report.nodeid] = report.longreprtext

    def pytest_runtest_logreport(self, report):
        """Remember how a test ended."""
        name = report.nodeid.rpartition("::")[2]
        if report.failed:
            self.failed[name] = report.longreprtext
        elif report.when == "call" and report.passed:
            self.passed.append(name)


def read_list(path):
    """Return kinds of difference, each with why it is intended, and patterns of test names, from the list."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [(f"{row['difference']}: {row['why it is meant so']}", row["tests"].split()) for row in rows]


def matches(name, pattern):
    """Return whether a pattern of the list names a test, or all of its variants."""
    return name == pattern or fnmatchcase(name.partition("[")[0], pattern)


def sort_out(failed, differences):
    """Sort names of failed tests by the kind of difference.

    Parameters
    ----------
    failed : iterable of str
        Names of tests.
    differences : list of (str, list of str)
        From `read_list`.

    Returns
    -------
    listed : dict of str to list of str
        Names by the difference that they are due to.
    unlisted : list of str
        The other names.
    idle : list of str
        Patterns that match no name.
    """
    listed, unlisted, used = defaultdict(list), [], set()
    for name in failed:
        for difference, patterns in differences:
            if matching := [pattern for pattern in patterns if matches(name, pattern)]:
                listed[difference].append(name)
                used.update(matching)
                break
        else:
            unlisted.append(name)
    return dict(listed), unlisted, [p for _, patterns in differences for p in patterns if p not in used]


def main():
    """Run the tests and print what fails."""
    parser = parser_of(__doc__)
    parser.add_argument("--show", metavar="TEST", help="print tracebacks of tests whose names have this word")
    options = parser.parse_args()
    plugin = Substitution()
    quiet = ["-p", "no:terminal", "-p", "no:cacheprovider", "-c", os.devnull, "-W", "ignore"]
    code = pytest.main([*quiet, "--pyargs", *MODULES, "-k", "not OneClass and not oneclass"], plugins=[plugin])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) or not plugin.passed:
        sys.exit(f"pytest ended with {code!r}: {plugin.failed}")
    listed, unlisted, idle = sort_out(plugin.failed, read_list(LIST))
    print(f"scikit-learn {sklearn.__version__}: {len(plugin.passed)} tests pass, {len(plugin.failed)} fail.")
    for difference, names in listed.items():
        print(f"\n{len(names)}: {difference}")
        for name in sorted({name.partition("[")[0] for name in names}):
            print(f"    {name}")
    passing = [pattern for pattern in idle if any(matches(name, pattern) for name in plugin.passed)]
    for told, patterns in (
        (f"No longer failing, to be taken off {LIST.name}", passing),
        ("Not in this version", [pattern for pattern in idle if pattern not in passing]),
    ):
        if patterns:
            print(f"\n{told}: {' '.join(patterns)}")
    for name in plugin.failed:
        if options.show and options.show in name:
            print(f"\n{name}\n{plugin.failed[name]}")
    if unlisted:
        print(f"\n{len(unlisted)} not in {LIST.name}:")
        for name in unlisted:
            errors = [line for line in plugin.failed[name].splitlines() if line.startswith("E ")]
            print(f"    {name}: {' '.join((errors or [''])[0].split()[1:])}")
        sys.exit(1)


if __name__ == "__main__":
    main()
