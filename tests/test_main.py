"""``python -m sklearn_nag``."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

from sklearn_nag import __main__ as command

HAVE = {name: importlib.util.find_spec(name) is not None for name in ("matplotlib", "pandas")}
needs = {name: pytest.mark.skipif(not have, reason=f"needs {name}") for name, have in HAVE.items()}


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(command, "ETAS", np.array([0.01, 0.1, 1.0, 10.0]))
    monkeypatch.setattr(command, "PASSES", {"max_iter": 2, "tol": None, "random_state": 0})


@pytest.fixture
def frame(rng):
    pd = pytest.importorskip("pandas")
    n = 300
    frame = pd.DataFrame(
        {
            "income": rng.lognormal(10, 1, n),
            "town": rng.choice(["Bath", "Leeds", "York"], n),
            "member": rng.choice([True, False], n),
            "empty": np.nan,
        }
    )
    frame.loc[:30, "income"] = np.nan
    frame.loc[10:12, "town"] = None
    frame["grade"] = np.where(frame["town"] == "York", 2, 1)
    frame["price"] = 3.5 * frame["member"] + rng.normal(size=n)
    frame.loc[5, "price"] = np.nan
    return frame


@pytest.mark.usefixtures("quick")
def test_bundled_data(tmp_path, capsys):
    figure = tmp_path / "figure.png"
    command.main(["--figure", str(figure), "--jobs", "1", "--folds", "2"])
    out = capsys.readouterr().out
    for word in ("breast cancer", "wine", "digits", "diabetes", "best eta", "at default", "within 5 %"):
        assert word in out
    for learner in (
        "NAGClassifier",
        "NAGRegressor",
        "NAG",
        "sNAG",
        "AdaGrad",
        "AdaGrad, scaled",
        "SGDClassifier, scaled",
        "SGDRegressor",
    ):
        assert f"\n  {learner} " in out
    if HAVE["matplotlib"]:
        assert figure.stat().st_size > 10_000
    else:
        assert 'No figure: it needs matplotlib, pip install "sklearn-nag[plot]"' in out


@needs["matplotlib"]
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("target", "kind"), [("grade", "classification, 2 classes"), ("price", "regression")])
def test_a_file_of_ones_own(frame, tmp_path, capsys, target, kind):
    frame.to_csv(tmp_path / "own.csv", index=False)
    command.main([str(tmp_path / "own.csv"), "--target", target, "--figure", str(tmp_path / "f.png"), "--jobs", "1"])
    out = capsys.readouterr().out
    assert "income: 31 missing values (10.3%), replaced" in out
    assert ("price: 1 missing values (0.3%), rows left out" in out) == (target == "price")
    assert kind in out
    assert "own (" in out
    assert (tmp_path / "f.png").exists()


def test_what_a_file_must_have(frame, tmp_path, capsys):
    path = tmp_path / "own.csv"
    frame.to_csv(path, index=False)
    frame[["price"]].assign(one=1)[["one"]].to_csv(tmp_path / "one.csv", index=False)
    for arguments, message in [
        ([str(path), "--target", "cost"], "no column 'cost'; its columns are 'income', 'town'"),
        ([str(tmp_path / "none.csv"), "--target", "x"], "there is no file"),
        ([str(path)], "a CSV file and --target go together"),
        ([str(tmp_path / "one.csv"), "--target", "one"], "nothing to learn from"),
        (["--folds", "1"], "--folds must be at least 2"),
    ]:
        with pytest.raises(SystemExit):
            command.main(arguments)
        assert message in capsys.readouterr().err


@pytest.fixture
def ugly(rng, tmp_path):
    """Save a file of 60 rows, in which some entries are replaced; return its path."""
    columns = {"a": rng.normal(size=60), "b": ["True", "False"] * 30, "y": rng.normal(size=60)}

    def save(**changes):
        lines = {name: list(map(str, values)) for name, values in columns.items()}
        for name, changed in changes.items():
            for row, text in changed.items():
                lines[name][row] = text
        path = tmp_path / "ugly.csv"
        path.write_text("\n".join(",".join(row) for row in [lines, *zip(*lines.values())]))
        return str(path)

    return save


@needs["pandas"]
@pytest.mark.usefixtures("quick")
def test_a_boolean_column_with_blanks(ugly, tmp_path, capsys):
    path = ugly(b={3: "", 4: ""})
    command.main([path, "--target", "y", "--jobs", "1", "--folds", "2", "--figure", str(tmp_path / "f.png")])
    out = capsys.readouterr().out
    assert "b: 2 missing values (3.3%), replaced" in out
    assert "1 numeric, 1 categorical" in out
    assert command.csv_task(path, "y", 100, 2).X["b"].dropna().unique().tolist() == ["True", "False"]


@needs["pandas"]
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"a": {3: "inf"}}, "has inf in column 'a', data row 4; numbers must be finite and below 1e+150"),
        ({"y": {5: "-inf"}}, "has -inf in column 'y', data row 6"),
        ({"a": {3: "1e308"}}, "has 1e+308 in column 'a', data row 4"),
        ({"y": {3: "1" + "0" * 400}}, "has inf in column 'y', data row 4"),
        ({"y": dict.fromkeys(range(3, 60), "")}, "has 3 rows to learn from; --folds 3 needs at least 6"),
        ({"y": {7: "1,2"}}, "cannot be read as a CSV file"),
    ],
)
def test_numbers_that_no_learner_takes(ugly, capsys, changes, message):
    with pytest.raises(SystemExit):
        command.main([ugly(**changes), "--target", "y"])
    assert message in capsys.readouterr().err.splitlines()[-1]


@needs["pandas"]
@pytest.mark.usefixtures("quick")
def test_a_learner_that_diverges_at_every_rate(ugly, tmp_path, capsys):
    path = ugly(a={3: "1e149", 4: "-1e149", 5: "1e149"})
    command.main([path, "--target", "y", "--jobs", "1", "--folds", "2", "--figure", str(tmp_path / "f.png")])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  SGDRegressor  ")]
    assert lines[0].split()[-2:] == ["diverged", "diverged"]


def test_width_counts_the_good_etas_around_the_best():
    result = command.Result("x", np.array([0.5, 0.101, np.nan, 0.104, 0.1, 0.105, 0.2]), 0.1)
    assert result.best == 4
    assert result.good == (3, 5)
    assert result.width == command.ETAS[5] / command.ETAS[3]


def test_help():
    out = subprocess.run([sys.executable, "-m", "sklearn_nag", "--help"], check=True, capture_output=True, text=True)
    assert "--target" in out.stdout


@pytest.mark.skipif(HAVE["pandas"], reason="pandas is here")
def test_a_file_without_pandas(tmp_path, capsys):
    (tmp_path / "own.csv").write_text("a,b\n1,2\n")
    with pytest.raises(SystemExit):
        command.main([str(tmp_path / "own.csv"), "--target", "b"])
    assert 'pip install "sklearn-nag[csv]"' in capsys.readouterr().err
