"""``python -m sklearn_nag`` from end to end: options, output and files."""

import importlib.util
import runpy
import sys

import numpy as np
import pytest

from sklearn_nag import __main__ as command
from sklearn_nag._extras import how_to_install
from sklearn_nag._main_job import comparison, rates
from sklearn_nag._main_job.figures import SUFFIXES
from sklearn_nag._main_job.rates import bundled_tasks

HAVE = {name: importlib.util.find_spec(name) is not None for name in ("matplotlib", "pandas")}
needs_pandas = pytest.mark.skipif(not HAVE["pandas"], reason="needs pandas")


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(rates, "ETAS", np.array([0.01, 0.1, 1.0, 10.0]))
    monkeypatch.setattr(rates, "PASSES", {"max_iter": 2, "tol": None, "random_state": 0})
    for module in ("report", "figures"):
        monkeypatch.setattr(f"sklearn_nag._main_job.{module}.ETAS", rates.ETAS)


@pytest.mark.usefixtures("quick")
def test_bundled_data(tmp_path, capsys, monkeypatch):
    names = [task.name for task in bundled_tasks()]
    assert names == ["breast cancer", "wine", "digits", "diabetes"]
    monkeypatch.setattr(command, "bundled_tasks", lambda: bundled_tasks()[1::2])
    figure = tmp_path / "figure.png"
    command.main(["--figure", str(figure), "--jobs", "1", "--folds", "2"])
    out = capsys.readouterr().out
    for words in ("wine:", "diabetes:", "at best eta", "at default", "good eta"):
        assert words in out
    for learner in (
        "NAGClassifier",
        "NAGRegressor",
        "NAG",
        "sNAG",
        "AdaGrad",
        "AdaGrad, scaled",
        "SGDClassifier, scaled",
        "SGDRegressor",
        "most frequent class",
        "mean of the target",
    ):
        assert f"\n  {learner} " in out
    assert out.count("\n  => ") == 2
    if HAVE["matplotlib"]:
        assert figure.stat().st_size > 10_000
        assert (tmp_path / "figure_curves.png").stat().st_size > 10_000
    else:
        assert f"No figure: it needs matplotlib, {how_to_install('plot')}" in out


@needs_pandas
@pytest.mark.parametrize(("target", "kind"), [("grade", "classification, 2 classes"), ("price", "regression")])
def test_a_file_of_ones_own(rng, tmp_path, capsys, monkeypatch, target, kind):
    plain = comparison.learners
    monkeypatch.setattr(comparison, "learners", lambda *args: [*plain(*args)[:2], *plain(*args)[-3:]])
    path, page = tmp_path / "own.csv", tmp_path / "report.html"
    lines = [f"{i},{rng.normal()},{'abc'[i % 3]},{i % 2},{rng.normal()}" for i in range(40)]
    path.write_text("\n".join(["id,size,town,grade,price", *lines]))
    figure = tmp_path / "f.png"
    options = ["--target", target, "--figure", str(figure), "--report", str(page), "--jobs", "1", "--folds", "2"]
    command.main([str(path), *options])
    out = capsys.readouterr().out
    assert f"  {target!r} is the target: {kind}" in out
    assert "  'town': 3 words, a column for each" in out
    assert "  'id': left out" in out
    assert "\nown.csv: 40 rows, 3 columns, judged by " in out
    nothing_certain = "do not predict" in out  # in that case the output also says what was left out
    assert out.count("\n  => ") == 2 + nothing_certain
    assert ("Columns left out and not tested: 'id', as whole numbers" in out) == nothing_certain
    html = page.read_text(encoding="utf-8")
    assert "own.csv: 40 rows" in html
    assert ("<img" in html) == HAVE["matplotlib"]
    assert figure.exists() == HAVE["matplotlib"]


@needs_pandas
def test_a_file_that_cannot_be_used_is_one_sentence(tmp_path, capsys):
    path = tmp_path / "own.csv"
    path.write_text("a,b\n")
    with pytest.raises(SystemExit) as end:
        command.main([str(path), "--target", "b"])
    assert end.value.code == 2
    assert capsys.readouterr().err == f"python -m sklearn_nag: {path} has a header, but no rows.\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.csv", "--target", "x"], "there is no file none.csv"),
        ([__file__], "pass both a CSV file and --target, or neither"),
        (["--target", "x"], "pass both a CSV file and --target, or neither"),
        (["--folds", "1"], "--folds must be at least 2"),
        (["--jobs", "0"], "--jobs must not be 0; -1 is all cores"),
        (["--figure", "none/x.png"], "there is no folder none for x.png"),
        (["--figure", "x.foo"], "--figure x.foo: its name must end in .png, .jpg"),
        (["--figure", "x"], "--figure x: its name must end in .png, .jpg"),
        (["--report", "x.html"], "--report is for a CSV file"),
        (["--columns", "a", "b"], "--columns is for a CSV file"),
        (["--as", "a=words"], "--as is for a CSV file"),
        ([__file__, "--target", "x", "--report", "x.pdf"], "--report x.pdf: its name must end in .html, .htm"),
        ([__file__, "--target", "x", "--as", "zip"], "--as zip: it must be NAME=KIND, where KIND is one of numbers"),
        ([__file__, "--target", "x", "--words", "zip", "--as", "zip=numbers"], "--as zip=words: 'zip' is numbers, as"),
    ],
)
def test_options_that_make_no_sense(arguments, message, capsys, monkeypatch):
    monkeypatch.setattr(command, "of_bundled_data", None)
    with pytest.raises(SystemExit) as end:
        command.main(arguments)
    assert end.value.code == 2
    assert message in capsys.readouterr().err


def test_figures_have_formats_that_matplotlib_knows():
    agg = pytest.importorskip("matplotlib.backends.backend_agg")
    assert {suffix[1:] for suffix in SUFFIXES} <= set(agg.FigureCanvasAgg.get_supported_filetypes())


def test_a_figure_that_cannot_be_written_is_one_sentence(tmp_path, capsys, monkeypatch):
    def refuse(*args):
        raise PermissionError(13, "Permission denied", str(args[1]))

    monkeypatch.setattr(rates, "compare", lambda *args: [])
    monkeypatch.setattr(command, "draw_summary", refuse)
    figure = tmp_path / "f.png"
    with pytest.raises(SystemExit) as end:
        command.main(["--figure", str(figure)])
    assert end.value.code == 2
    assert capsys.readouterr().err == (f"python -m sklearn_nag: {figure} cannot be written: Permission denied\n")


def test_help(capsys, monkeypatch):
    monkeypatch.delitem(sys.modules, command.__name__)  # otherwise the module would be loaded twice
    monkeypatch.setattr(sys, "argv", ["sklearn_nag", "--help"])
    with pytest.raises(SystemExit) as end:
        runpy.run_module("sklearn_nag", run_name="__main__", alter_sys=True)
    assert end.value.code == 0
    assert "--target" in capsys.readouterr().out


@pytest.mark.skipif(HAVE["pandas"], reason="pandas is here")
def test_a_file_without_pandas(tmp_path, capsys):
    (tmp_path / "own.csv").write_text("a,b\n1,2\n")
    with pytest.raises(SystemExit):
        command.main([str(tmp_path / "own.csv"), "--target", "b"])
    assert how_to_install("csv") in capsys.readouterr().err
