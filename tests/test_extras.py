import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest

from sklearn_nag._extras import how_to_install, needed

ROOT = Path(__file__).parents[1]


def test_the_command_names_what_the_extra_does(monkeypatch):
    lines = ["numpy>=1.26", "numba>=0.60; python_version < '3.16' and extra == \"fast\"", 'a>=1; extra == "faster"']
    lines += ['dask[array]>=2024.8; extra == "dask"', 'distributed>=2024.8; extra == "dask"']
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: lines)
    assert how_to_install("fast") == 'pip install "numba>=0.60"'
    assert how_to_install("dask") == 'pip install "dask[array]>=2024.8" "distributed>=2024.8"'


def test_a_copy_that_was_never_installed_installs_the_extra(monkeypatch):
    def requires(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", requires)
    assert how_to_install("csv") == f'pip install ".[csv]" in {ROOT}'


def test_messages_name_extras_that_there_are():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    source = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "sklearn_nag").rglob("*.py"))
    named = {*re.findall(r"""how_to_install\(["'](\w+)["']\)""", source)}
    named |= {*re.findall(r"""needed\("[\w.]+", "(\w+)", ".+"\)""", source)}
    assert named == {*extras} - {"test", "docs"}
    assert "sklearn-nag[" not in source


def test_a_module_that_is_missing(monkeypatch):
    assert needed("importlib.metadata", "csv", "dates need") is importlib.metadata
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: ['pandas>=2.2; extra == "csv"'])
    with pytest.raises(
        ImportError, match='^dates need no_such_thing, which is not installed: pip install "pandas>=2.2"$'
    ):
        needed("no_such_thing.part", "csv", "dates need")
