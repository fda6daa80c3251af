"""Benchmark scripts: their options, and what they print before they measure anything."""

import csv
import importlib
import importlib.metadata
import json
import pkgutil
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

import benchmarks
import sklearn_nag
from benchmarks import provenance
from benchmarks.options import count, file_in, load_each, megabytes, new_file, new_folder

FOLDER = Path(benchmarks.__path__[0])
SCRIPTS = [
    found.name
    for found in pkgutil.iter_modules(benchmarks.__path__)
    if not found.ispkg and "\ndef main(" in (FOLDER / f"{found.name}.py").read_text(encoding="utf-8")
]
PAGE = (FOLDER.parent / "docs" / "reproduce.rst").read_text(encoding="utf-8")


def script(name):
    """Import a script; skip the test if a package that it needs is missing."""
    try:
        return importlib.import_module(f"benchmarks.{name}")
    except ImportError as error:
        if (error.name or "").startswith(("benchmarks", "sklearn_nag")):
            raise
        pytest.skip(str(error))


@pytest.fixture
def call(capsys, monkeypatch):
    """A function that calls a script with options that end it at once, and returns its status and output."""

    def run(name, *options):
        module = script(name)
        monkeypatch.setattr(sys, "argv", [f"{name}.py", *options])
        with pytest.raises(SystemExit) as ended:
            module.main()
        out, err = capsys.readouterr()
        return ended.value.code or 0, out + err

    return run


@pytest.mark.parametrize("name", SCRIPTS)
def test_options_of_scripts(call, tmp_path, name):
    """Scripts know their options and refuse output that they cannot write; the page says which lack --quick."""
    code, said = call(name, "--help")
    assert code == 0
    code, _ = call(name, "--nonsense")
    assert code == 2
    (tmp_path / "file").touch()
    for option in re.findall(r"\[(--\w+) (?:OUTPUT|RECORD|KEEP|LATE)\]", said):
        code, error = call(name, option, str(tmp_path / "file" / "below" / "table.csv"))
        assert code == 2
        assert "there can be no folder" in error
    without = PAGE.partition("have no ``--quick``")[0].rpartition("``--quick``")[2]
    if re.search(rf"benchmarks\.{name}``|, ``{name}``", PAGE.partition("How long they take")[0]):
        assert ("--quick" in said) != (f"``{name}``" in without)


@pytest.mark.parametrize("name", ["first_call", "importance", "l1", "prepared", "speed"])
def test_nothing_is_not_repeated(call, name):
    for times in ("0", "-1", "2.5"):
        code, said = call(name, "--seeds" if name == "l1" else "--repeats", times)
        assert code == 2
        assert re.search(r"a whole number from 1 on|expected one argument", said)


@pytest.mark.parametrize("name", ["first_call", "turns"])
def test_a_folder_without_the_package_is_no_checkout(call, tmp_path, name):
    code, said = call(name, "--against", str(tmp_path))
    assert code == 2
    assert "there is no package sklearn_nag in" in said


def test_what_an_old_checkout_has_not_is_left_out(monkeypatch):
    monkeypatch.delattr(sklearn_nag, "ScaleInvariantClassifier")
    works = dict(script("turns").works(1))
    assert "one dense row by predict" in works
    with pytest.raises(AttributeError):  # `serve` takes this to mean that something does not exist yet
        works["200 words, no learning rate"]()


def test_places_to_write_to(tmp_path):
    assert new_file(str(tmp_path / "a" / "b" / "table.csv")) == tmp_path / "a" / "b" / "table.csv"
    assert new_folder(str(tmp_path / "c" / "d")).is_dir()
    with pytest.raises(Exception, match="is a folder, and must be a file"):
        new_file(str(tmp_path / "a" / "b"))
    assert count("12") == 12


@pytest.mark.parametrize("is_given", [True, False])
def test_files_that_are_missing_are_named_and_left_out(capsys, tmp_path, is_given):
    pytest.importorskip("pandas")
    folder = tmp_path if is_given else None
    with pytest.raises(OSError, match=r"file\.csv"):
        file_in(folder, "file.csv")
    data = script("data")
    sets = {**data.TEXT, "California": data.california, "abalone": data.abalone, "bikes": data.bikes}
    sets |= {"MSD": data.msd_subset, "Reuters": data.reuters, "bike": script("counts").bike}
    sets |= {name: script(name).electricity for name in ("averages", "drift")} | script("frames").TABLES
    sets |= {"demand": script("intervals").demand, "film": script("passes").LOADED["film counts"]}
    if is_given:  # otherwise, scikit-learn's data folder is searched
        sets |= {**data.FILES, **data.SPARSE}
    assert not list(load_each(sets, folder))
    assert re.findall("^(.*) is left out: .", capsys.readouterr().out, re.MULTILINE) == list(sets)


@pytest.mark.parametrize("name", ["prepared", "streams", "ugly"])
def test_a_system_that_does_not_measure_is_named(monkeypatch, name):
    benchmark = script(name)
    monkeypatch.setitem(sys.modules, "resource", None)
    monkeypatch.delitem(sys.modules, benchmark.__name__)
    with pytest.raises(SystemExit, match="run this on Linux or macOS"):
        importlib.import_module(benchmark.__name__).resource()


def test_a_system_without_proc_is_named(monkeypatch):
    monkeypatch.setattr(Path, "read_text", lambda path, encoding: path.with_suffix(".missing").open(encoding=encoding))
    with pytest.raises(SystemExit, match="run this on Linux"):
        megabytes()


def test_quick_results_are_not_taken_for_others(monkeypatch, tmp_path):
    growth, seen = script("growth"), []
    monkeypatch.setattr(growth, "limits", tuple)
    monkeypatch.setattr(growth, "draw", lambda table, path: seen.append((path.name, len(table))))
    monkeypatch.setattr(growth, "measure", lambda panel, x, *_: [[panel, x, "NAG", 1, "1", "1", "1"]])
    for options in (["--quick"], []):
        monkeypatch.setattr(sys, "argv", ["growth.py", "--output", str(tmp_path), *options])
        growth.main()
    assert seen == [("growth_quick.png", 8), ("growth.png", 28)]


def test_quick_results_of_the_paper_have_a_file_of_their_own(monkeypatch, tmp_path):
    paper, kept = script("paper"), []
    monkeypatch.setattr(paper, "Results", lambda path: kept.append(path.name) or sys.exit())
    for options in (["--quick"], ["--data-dir", str(tmp_path)]):
        monkeypatch.setattr(sys, "argv", ["paper.py", "--output", str(tmp_path), *options])
        with pytest.raises(SystemExit):
            paper.main()
    assert kept == ["paper_runs_quick.json", "paper_runs.json"]


def test_what_is_not_installed_and_no_git_lose_no_record(monkeypatch, tmp_path):
    version = importlib.metadata.version
    monkeypatch.setattr(
        importlib.metadata, "version", lambda name: version("no such thing" if name == "numba" else name)
    )
    monkeypatch.setattr(provenance, "__file__", str(tmp_path / "provenance.py"))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    provenance.record(tmp_path / "table.csv", {"work": 0.5})
    with open(tmp_path / "table.csv", newline="", encoding="utf-8") as file:
        (line,) = csv.DictReader(file)
    assert (line["commit"], line["work"], line["ratio"]) == ("unknown", "work", "0.5")
    assert line["versions"] == f"numpy={version('numpy')} scikit-learn={version('scikit-learn')}"
    assert "numba" not in provenance.provenance()


def test_published_figures_are_there_without_files(capsys, monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.setattr(sys, "argv", ["published.py", "--quick"])
    script("published").main()
    said = capsys.readouterr().out
    assert "electricity is left out: --data-dir must name the folder with electricity.csv.gz" in said
    assert "River's page" in said


def test_counts_of_no_file(capsys, monkeypatch, tmp_path):
    pytest.importorskip("pandas")
    counts = script("counts")
    monkeypatch.setattr(sys, "argv", ["counts.py", "--data-dir", str(tmp_path)])
    monkeypatch.setattr(counts, "made_up", dict)
    counts.main()
    assert "bike, counts is left out: there is no" in capsys.readouterr().out


def test_clipping_of_no_file(capsys, monkeypatch, tmp_path):
    pd = pytest.importorskip("pandas")
    clip = script("clip")
    monkeypatch.setattr(sys, "argv", ["clip.py", "--data-dir", str(tmp_path)])
    for measure in ("forecasts", "random_walks", "measure"):
        monkeypatch.setattr(clip, measure, lambda *_: pd.DataFrame({"a": [1.0]}))
    clip.main()
    assert capsys.readouterr().out.count("is left out: there is no") == 4


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
def test_one_pass_of_a_file_has_the_error_of_its_rows(capsys, monkeypatch, tmp_path):
    pytest.importorskip("pyarrow", exc_type=ImportError)
    paper, rng = script("paper"), np.random.default_rng(0)
    X, y, order = np.round(rng.normal(size=(400, 5)), 3), rng.integers(1, 8, 400), rng.permutation(400)
    paper.write_csv_rows(tmp_path / "rows.csv", SimpleNamespace(base=sparse.csr_array(X), y=y), order)
    monkeypatch.setattr(sys, "argv", ["paper.py", "--one-pass", "3", str(tmp_path / "rows.csv")])
    paper.main()
    rows = paper.datasets.paper_recipe().fit_transform(X[order])
    sweep = paper.eta_sweep(paper.learner("NAG", "raw", "hinge"), rows, y[order], eta0s=[1.0, 2.0, 4.0])
    assert json.loads(capsys.readouterr().out)["error"] == sweep.errors.min()


def test_peers_have_their_numbers_scaled_and_are_named_where_they_have_not_converged(capsys):
    pytest.importorskip("pandas")
    text, table = script("text"), script("out_of_the_box")
    X, y, _ = text.mixed_rows()
    X, y = X[:600], y[:600]
    scaled = text.scaled_numbers().fit_transform(X).toarray()
    assert abs(scaled[:, :3].mean(axis=0)).max() < 1e-9
    assert abs(scaled[:, :3].std(axis=0) - 1.0).max() < 1e-9
    assert (scaled[:, 3:] == X[:, :-3].toarray()).all()
    table.peers(X, X, y, y, text.scaled_numbers(), False, 0, True)
    assert "batch" not in capsys.readouterr().out
    table.peers(X, X, y, y, "passthrough", False, 0, True)
    assert "batch has not converged" in capsys.readouterr().out
