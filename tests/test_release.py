"""Facts about a release that several files state are the same in all of them."""

import ast
import os
import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

import sklearn_nag

ROOT = Path(__file__).parents[1]


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("CITATION.cff", r"^version: (\S+)$"),
        ("docs/citation.rst", r"version = \{(\S+)\}"),
        ("recipe/recipe.yaml", r'^  version: "(\S+)"$'),
        ("CHANGELOG.md", r"^## (\S+)"),
    ],
)
def test_the_version(file, pattern):
    assert re.search(pattern, text(file), re.MULTILINE)[1] == sklearn_nag.__version__


def test_what_the_recipe_needs_is_what_the_package_needs():
    project = tomllib.loads(text("pyproject.toml"))["project"]
    recipe = text("recipe/recipe.yaml")
    run = re.search(r"  run:\n((?:    - .*\n)+)", recipe)[1].split("    - ")[1:]
    assert run[0].strip() == "python >=${{ python_min }}"
    assert [line.replace(" ", "").strip() for line in run[1:]] == project["dependencies"]
    assert f'python_min: "{project["requires-python"].removeprefix(">=")}"' in recipe
    assert f"numba {project['optional-dependencies']['fast'][0].split(';')[0].removeprefix('numba')}" in recipe


def test_workflows_run_steps_that_there_are():
    ci = text(".ci/run")
    steps = {*re.findall(r"^step_(\w+)\(\)", ci, re.MULTILINE)}
    listed = " ".join(re.findall(r"^(?:STEPS|BY_NAME_ALONE)=\((.*)\)", ci, re.MULTILINE)).split()
    assert {*listed} == steps
    called = {path.name: steps_of(path) for path in (ROOT / ".github" / "workflows").glob("*.yml")}
    assert called["tests.yml"] == steps, "the release runs what tests.yml does"
    assert all(of_one <= steps for of_one in called.values())
    assert "uses: ./.github/workflows/tests.yml" in text(".github/workflows/release.yml")


def steps_of(workflow):
    lines = workflow.read_text(encoding="utf-8")
    found = re.findall(r"\.ci/run ([a-z]+)", lines) + re.findall(r"step: \[?([a-z ]+)[\]}]", lines)
    return {step for several in found for step in several.split()}


@pytest.mark.skipif(os.name == "nt", reason="the job runs on Linux")
def test_only_a_full_version_is_shown_as_the_latest_release(tmp_path):
    script = textwrap.dedent(
        text(".github/workflows/release.yml").partition("- run: |\n")[2].partition("        env:")[0]
    )
    for tag, said in [
        ("v1.0.0", ""),
        ("v1.0.0.post1", ""),
        ("v1.0.0rc1", "--prerelease "),
        ("v1.0.0a1", "--prerelease "),
    ]:
        called = ["bash", "-ec", f'gh() {{ echo "$*"; }}\n{script}']
        done = subprocess.run(
            called, cwd=tmp_path, env={**os.environ, "TAG": tag, "REPOSITORY": "a/b"}, capture_output=True, text=True
        )
        assert done.stdout.startswith(f"release create {tag} {said}dist/* --repo a/b --title {tag}"), done


def test_the_changelog_has_notes_for_the_version():
    notes = subprocess.run(
        [sys.executable, ROOT / ".ci" / "release_notes.py", f"v{sklearn_nag.__version__}"],
        capture_output=True,
        text=True,
    )
    assert notes.stdout.strip()
    assert notes.stdout.strip() in text("CHANGELOG.md")
    wrong = subprocess.run([sys.executable, ROOT / ".ci" / "release_notes.py", "v0"], capture_output=True, text=True)
    assert wrong.returncode != 0
    assert "the tag v0 is not that of the version" in wrong.stderr


def test_the_paper_cites_what_its_bibliography_has():
    cited = {*re.findall(r"@([\w-]+)", text("paper/paper.md"))}
    assert cited == {*re.findall(r"^@\w+\{([\w-]+),", text("paper/paper.bib"), re.MULTILINE)}


def test_each_family_has_its_paper_in_the_citation():
    cited = {*re.findall(r'^    title: "(.*)"$', text("CITATION.cff"), re.MULTILINE)}
    page = text("docs/citation.rst").partition("NAG, sNAG, NG")[2]
    families, _, others = page.partition("Parts of the defaults")
    titles = {*re.findall(r"^     title = \{(.*)\}", families + others.partition("FTRL-Proximal")[2], re.MULTILINE)}
    assert cited == titles


# Names that are the same on Linux, macOS and Windows. All others from these modules belong in the table of
# docs/versions.rst.
SAME_EVERYWHERE = {
    *("environ", "path", "fspath", "fsencode", "PathLike", "stat", "lstat", "fstat", "strerror", "listdir", "utime"),
    *("open", "close", "fsync", "unlink", "O_RDWR"),
}


def test_the_table_of_systems_has_what_depends_on_them():
    table = text("docs/versions.rst").partition("What depends on the system")[2].partition("\n\nTests of forks")[0]
    told = set()
    for calls, file in re.findall(r"^   \* - (``.*``) in ``(sklearn_nag/.*)``$", table, re.MULTILINE):
        told |= {(file, call) for call in re.findall(r"``([\w.]+)``", calls)}
    found = set()
    for file in (ROOT / "sklearn_nag").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                module, name = node.value.id, node.attr
                if module in ("os", "fcntl", "signal", "resource", "msvcrt") and name not in SAME_EVERYWHERE:
                    found.add((file.relative_to(ROOT).as_posix(), f"{module}.{name}"))
    assert told == {place for place in found if not place[1].startswith("fcntl.LOCK_")}


def test_the_classifiers_name_the_pythons_that_tests_run_with():
    project = tomllib.loads(text("pyproject.toml"))["project"]
    named = {line.rpartition(" ")[2] for line in project["classifiers"] if ":: Python :: 3." in line}
    assert named == {*re.findall(r'"(3\.\d+)"', text(".github/workflows/tests.yml"))}
    assert f"3.{min(int(version[2:]) for version in named)}" == project["requires-python"].removeprefix(">=")
