"""Imports go neither upwards nor in circles, and files are where they are expected."""

import ast
import importlib
import pkgutil
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

import benchmarks

ROOT = Path(__file__).parents[1]
PACKAGE = "sklearn_nag"

# A family is a folder of the kernels that has rows in NumPy, so a new family needs no entry here.
FAMILIES = {f"kernels.{rows.parent.name}" for rows in (ROOT / PACKAGE / "kernels").glob("*/numpy_rows.py")}

# The layers of docs/architecture.rst, here called floors, from the bottom up. A room is a folder or a file. It may
# import itself and the floors below it, but not other rooms of its floor.
FLOORS = [
    {"_beside", "_decorators", "_extras", "constraints", "losses"},
    {"kernels.state"},
    {"kernels.vectorized"},
    {"kernels.compiled"},
    FAMILIES,
    {"kernels"},
    {"uncertainty"},
    {"estimators._calls", "estimators._parameters"},
    {"estimators._validation"},  # checks, which transformers also use; so too the next two floors
    {"estimators._labels"},
    {"estimators._saved"},
    {"estimators", "preprocessing"},
    {"merging"},
    {"model_selection", "io", "datasets"},
    {"ensemble", "regret", "streams", "distributed"},
    {"dask"},
    {""},  # the names of the package itself
    {"_main_job"},
    {"__main__"},
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}

# Tests of the package as a whole, of its documentation, of benchmarks, or of several files together.
TESTS_OF_NO_FILE = {
    "test_number_of_passes",
    "test_adding_a_family",
    "test_architecture",
    "test_benchmarks",
    "test_by_default",
    "test_calibration",
    "test_clip",
    "test_common",
    "test_constrained",
    "test_docstrings",
    "test_ecosystem",
    "test_faults",
    "test_first_pass",
    "test_hostile",
    "test_importance_aware",
    "test_intervals",
    "test_least_squares",
    "test_linear_maps",
    "test_paper",
    "test_played",
    "test_release",
    "test_site",
}


class Module(NamedTuple):
    """A source file: its dotted name without the package's, and its syntax tree."""

    name: str
    is_package: bool
    tree: ast.Module


def read_modules():
    modules = {}
    for file in sorted((ROOT / PACKAGE).rglob("*.py")):
        *folders, stem = file.relative_to(ROOT / PACKAGE).with_suffix("").parts
        name = ".".join(folders if stem == "__init__" else [*folders, stem])
        modules[name] = Module(name, stem == "__init__", ast.parse(file.read_text(encoding="utf-8")))
    return modules


MODULES = read_modules()


@cache
def names_imported(name):
    """Full names of everything that a file imports, wherever the statement is: ``a.b.c`` for ``from a.b import c``."""
    module, found = MODULES[name], []
    parts = [PACKAGE, *filter(None, name.split("."))]
    package = parts if module.is_package else parts[:-1]
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*start, node.module] if node.module else start)
            found += [f"{origin}.{alias.name}" for alias in node.names]
    return found


def imported_modules(module):
    """The files of this package that a file imports; a package's ``__init__`` only for names defined there."""
    for name in names_imported(module.name):
        top, _, rest = name.partition(".")
        if top == PACKAGE:
            yield rest if rest in MODULES else rest.rpartition(".")[0]


def room_of(module):
    """The longest prefix of a module's name that has a floor."""
    name = module
    while name not in FLOOR_OF and "." in name:
        name = name.rpartition(".")[0]
    return name


def test_imports_run_downwards():
    unknown = [name for name in MODULES if room_of(name) not in FLOOR_OF]
    assert not unknown, "these are in no room that FLOORS knows"
    upwards = []
    for name, module in MODULES.items():
        room = room_of(name)
        for other in imported_modules(module):
            to = room_of(other)
            if to != room and FLOOR_OF[to] >= FLOOR_OF[room]:
                upwards.append(f"{name} must not import {other}")
    assert not upwards


def test_no_import_runs_in_a_circle():
    imports = {name: set(imported_modules(module)) for name, module in MODULES.items()}
    for name, others in imports.items():
        above = [other for other in others if f"{name}.".startswith(f"{other}.")]
        assert not above, f"{name} imports {above}, the package that it is in"
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail(f"imports run in a circle: {' <- '.join(error.args[1])}")


def test_kernels_know_no_estimators():
    kernels = [name for name in MODULES if name.split(".")[0] in ("kernels", "losses")]
    known = [(name, imported) for name in kernels for imported in names_imported(name)]
    assert not [pair for pair in known if f"{pair[1]}.".startswith(("sklearn.", f"{PACKAGE}.estimators."))]


def test_of_scikit_learn_only_public_names_are_imported():
    imports = [(name, imported) for name in MODULES for imported in names_imported(name)]
    assert not [pair for pair in imports if pair[1].startswith("sklearn.") and "._" in pair[1]]


def test_every_family_has_the_same_three_files():
    for family in FAMILIES:
        assert {f"{family}.{name}" for name in ("rule", "numpy_rows", "numba_rows")} < set(MODULES)


TEST_FILES = sorted(ROOT.glob("tests/**/test_*.py"))


def test_every_test_file_has_the_name_of_what_it_tests():
    files = [file.relative_to(ROOT / "tests") for file in TEST_FILES if file.stem not in TESTS_OF_NO_FILE]
    sources = {
        folder: {source.stem.strip("_") for source in (ROOT / PACKAGE / folder).glob("*.py")}
        for folder in {file.parent for file in files}
    }
    nameless = [str(file) for file in files if file.stem.removeprefix("test_") not in sources[file.parent]]
    assert not nameless, f"the folders of {PACKAGE} have no files of these names"


def test_every_exception_is_one():
    assert not TESTS_OF_NO_FILE - {file.stem for file in TEST_FILES}, "there are no such files any more"


def test_documentation_names_files_that_exist():
    pages = [*sorted(ROOT.glob("docs/*.rst")), ROOT / "CONTRIBUTING.md"]
    path_of_file = re.compile(r"`((?:sklearn_nag|tests|docs|benchmarks)/[\w/]+(?:\.\w+)?)")
    named = [(page.name, path) for page in pages for path in path_of_file.findall(page.read_text(encoding="utf-8"))]
    assert len(named) > 50
    assert not [pair for pair in named if not (ROOT / pair[1]).exists()]


@pytest.mark.parametrize("name", [found.name for found in pkgutil.walk_packages(benchmarks.__path__, "benchmarks.")])
def test_benchmarks_find_what_they_import(name):
    """Benchmarks find what they import, and constants that the steps they compile by hand may come to read."""
    try:
        importlib.import_module(name)
    except ImportError as error:
        if (error.name or "").startswith(("benchmarks", PACKAGE)):
            raise
        pytest.skip(str(error))
