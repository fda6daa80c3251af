"""Verdicts in two sentences, tables, and lines of Python to copy."""

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor

from sklearn_nag import NAGClassifier, NAGRegressor
from sklearn_nag._main_job.comparison import OURS, Comparison, Learner, Outcome
from sklearn_nag._main_job.measures import OF_CLASSES
from sklearn_nag._main_job.report import cells, findings, number, snippet, verdict
from sklearn_nag._main_job.tables import Choices, Table, read_own

from .test_comparison import made

STEADY = np.linspace(-0.001, 0.001, 10)


@pytest.mark.parametrize(
    ("errors", "first", "second"),
    [
        (
            {"ours": 0.5, "ours, one pass, goes on": 0.5, "sgd, scaled": 0.7, "shares": 0.8},
            "Use ours with default parameters: log loss 0.5, 37.5 % lower log loss than predicting the shares.",
            "Compared with ours with default parameters, one pass (goes on) does not differ significantly; sgd "
            "(scaled, +40.0 %) is worse.",
        ),
        (
            {"ours": 0.5, "cells": 0.4, "sgd": 0.45, "shares": 0.8},
            "Use cells: log loss 0.4, 20.0 % lower log loss than ours with default parameters (p < 0.0001), and 50.0 % "
            "lower log loss than predicting the shares.",
            "Compared with ours with default parameters, sgd (-10.0 %) is also better.",
        ),
        (
            {"ours": 0.5, "sgd": 0.4, "broken": np.nan, "shares": 0.8},
            "sgd is better here than any learner of this package: log loss 0.4, 20.0 % lower log loss than ours",
            "Compared with ours with default parameters, broken failed.",
        ),
        (
            {"ours": 0.8, "sgd": 0.9, "shares": 0.8},
            "No learner is significantly better than predicting the shares (log loss 0.8): with 80 training rows, "
            "these columns do not predict 'y' reliably.",
            "The closest is ours, at +0.0 % log loss compared with the shares; compared with ours with default "
            "parameters, sgd (+12.5 %) is worse.",
        ),
    ],
)
def test_verdicts(errors, first, second):
    spread = {"ours": STEADY, "shares": STEADY}
    signs = iter([1, -1, 1, -1])
    found = verdict(made(**{n: value + next(signs) * spread.get(n, STEADY) for n, value in errors.items()}))
    assert len(found) == 2
    assert found[0].startswith(first)
    assert found[1] == second


def test_columns_left_out_as_names_of_rows_are_told_of_where_the_others_tell_nothing():
    found = made(ours=0.8 + STEADY, shares=0.8 - STEADY)
    name = "  'price': left out: whole numbers that name rows (--as price=numbers keeps them)"
    found.table.notes += ["own.csv: 80 rows", name, "  'b': left out: one value only", "  'c': 2 words"]
    assert verdict(found)[2:] == [
        "Columns left out and not tested: 'price', as whole numbers that name rows (--as price=numbers keeps them)."
    ]
    assert len(verdict(made(ours=0.8 + STEADY, shares=0.8 - STEADY))) == 2


def test_an_error_may_be_none():
    none = np.zeros(10)
    found = made(ours=none, sgd=none + 0.02, shares=none + 0.5)
    assert verdict(found) == [
        "Use ours with default parameters: log loss 0, 100.0 % lower log loss than predicting the shares.",
        "Compared with ours with default parameters, sgd (+0.02) is worse.",
    ]
    assert [row[2] for row in cells(found)[1:]] == ["", "+0.02 (+0.02 to +0.02)", "+0.5 (+0.5 to +0.5)"]
    assert "The closest is ours, at +0.1 log loss compared with" in verdict(made(ours=none + 0.1, shares=none))[1]
    assert "0.0 % lower" not in findings(made(ours=none, sgd=none, shares=none))


def test_a_peer_that_alone_is_better_than_no_column_is_told_of():
    noisy = 0.3 * np.array([1, -1] * 5)
    first, second = verdict(made(ours=0.7 + noisy, sgd=0.72 + STEADY, shares=0.8 - STEADY))
    assert first.startswith(
        "sgd, but no learner of this package, is significantly better: log loss 0.72, 10.0 % lower log loss"
    )
    assert second.startswith("Compared with ours with default parameters")


def test_what_would_be_much_better_by_itself_is_told():
    found = {}
    for spread in (0.07, 0.12):
        far = -0.1 + spread * np.array([1, -1] * 5)
        found[spread] = verdict(made(ours=0.5 + STEADY, cells=0.5 + far, sgd=0.5 + far / 9, shares=0.8 - STEADY))[1]
    same = "Compared with ours with default parameters, cells and sgd do not differ significantly"
    assert found[0.07] == f"{same}, although cells has 20.0 % lower log loss on average (p = 0.096): try more rows."
    assert found[0.12] == f"{same}."


def test_the_table_has_the_spread_and_what_failed():
    found = made(ours=0.5 + STEADY, broken=np.full(10, np.nan), shares=0.8 - STEADY)
    head, *rows = cells(found)
    assert head == ["", "log loss ± sd", "log loss against ours", "p", "s"]
    assert rows[0] == ["ours", f"0.5 ± {np.std(STEADY, ddof=1):.2g}", "", "", "0.10"]
    assert rows[1][:2] == ["broken", "failed"]
    assert rows[2][2].startswith("+60.0 % (+59.")
    text = findings(found)
    assert "corrected resampled t-test (Nadeau and Bengio 2003), p adjusted for 1 comparisons (Holm)" in text
    assert text.count("\n  => ") == 2


def test_numbers_have_a_few_digits():
    values = (0.123456, 1234.5, 123456.7, 1e-5, np.nan)
    assert [number(v) for v in values] == ["0.1235", "1234", "123,457", "1e-05", "failed"]


def test_the_lines_of_python_run(tmp_path, rng, monkeypatch):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"zip": ["01", "02"] * 10, "x": rng.normal(size=20), "y": ["a", "b"] * 10})
    frame.to_csv(tmp_path / "own.csv", sep=";", index=False)
    monkeypatch.chdir(tmp_path)
    learner = Learner("NAGClassifier, one pass", "", NAGClassifier(max_iter=1, random_state=0), goes_on=True)
    reading, preparing = {"sep": ";", "dtype": {"zip": "str"}}, {"drop": ["x"]}
    table = Table("own.csv", "y", frame, frame["y"].to_numpy(), True, None, None, reading, preparing)
    shares = made(a=STEADY, shares=1 + STEADY)
    outcomes = [Outcome(learner, {"log_loss": np.zeros(10)}, 0.0), shares.outcomes[-1]]
    names: dict = {}
    lines = snippet(Comparison(table, "log_loss", shares.measures, outcomes, 1, 1, None))
    exec(lines, names)
    assert names["model"].score(names["X"], names["y"]) == 1.0
    assert names["model"][-1].get_params()["max_iter"] == 1
    assert "partial_fit" in lines


def test_the_lines_of_python_read_targets_that_are_words(tmp_path, rng, monkeypatch):
    pd = pytest.importorskip("pandas")
    x = rng.normal(size=200)
    words = [f"${value:,.2f}" for value in np.exp(7.0 + x)]
    words[3] = "?"
    pd.DataFrame({"x": x, "y": words}).to_csv(tmp_path / "own.csv", index=False)
    monkeypatch.chdir(tmp_path)
    table = read_own(tmp_path / "own.csv", "y", most_rows=1000, folds=2)
    learner = Learner("NAGRegressor, one pass", "", NAGRegressor(max_iter=1, random_state=0))
    shares = made(a=STEADY, shares=1 + STEADY)
    outcomes = [Outcome(learner, {"log_loss": np.zeros(10)}, 0.0), shares.outcomes[-1]]
    names: dict = {}
    exec(snippet(Comparison(table, "log_loss", shares.measures, outcomes, 1, 1, None)), names)
    assert len(names["y"]) == 199
    np.testing.assert_array_equal(names["y"], table.y)


@pytest.mark.parametrize(
    ("line", "kinds"), [("{x},{i},{y},", {}), ("{x},{t},{y}", {}), ("{x},{t},{y}", {"y": "words"})]
)
def test_the_lines_of_python_give_what_was_compared(tmp_path, rng, monkeypatch, line, kinds):
    """The cases are rows that end in a comma, features that are booleans, and numbers as classes."""
    rows = (
        line.format(x=x, i=i % 5, t=["true", "false", ""][i % 3], y=i % 2 + 0.5) for i, x in enumerate(rng.random(60))
    )
    (tmp_path / "own.csv").write_text("\n".join(["x,b,y", *rows]))
    monkeypatch.chdir(tmp_path)
    table = read_own(tmp_path / "own.csv", "y", most_rows=1000, folds=2, choices=Choices(kinds=kinds))
    learner = (NAGClassifier if kinds else NAGRegressor)(max_iter=1, random_state=0)
    shares = made(a=STEADY, shares=1 + STEADY)
    outcomes = [Outcome(Learner("", "", learner), {"log_loss": np.zeros(10)}, 0.0), shares.outcomes[-1]]
    names: dict = {}
    exec(snippet(Comparison(table, "log_loss", shares.measures, outcomes, 1, 1, None)), names)
    assert names["y"].tolist() == table.y.tolist()
    expected = learner.fit(table.prepare.fit_transform(table.X), table.y)
    assert names["model"].predict(names["X"]).tolist() == expected.predict(table.prepare.transform(table.X)).tolist()


def test_the_lines_of_python_learn_logarithms(tmp_path, rng, monkeypatch):
    pd = pytest.importorskip("pandas")
    x = rng.normal(size=200)
    frame = pd.DataFrame({"x": x, "y": np.exp(x) * np.where(np.arange(200) == 7, 1e6, 1.0)})
    frame.to_csv(tmp_path / "own.csv")
    monkeypatch.chdir(tmp_path)
    model = TransformedTargetRegressor(NAGRegressor(loss="absolute_error"), func=np.log, inverse_func=np.exp)
    table = Table("own.csv", "y", frame, frame["y"].to_numpy(), False, None, None, {}, {"drop": ["Unnamed: 0"]})
    of_logarithms = Outcome(Learner("of logarithms", OURS, model), {"log_loss": STEADY}, 0.0)
    shares = made(a=STEADY, shares=1 + STEADY)
    names: dict = {}
    exec(
        snippet(Comparison(table, "log_loss", shares.measures, [of_logarithms, shares.outcomes[-1]], 1, 1, None)), names
    )
    predicted = names["model"].predict(names["X"])
    assert predicted.min() > 0
    assert np.median(np.abs(predicted / np.exp(x) - 1.0)) < 0.2


@pytest.mark.parametrize("times", ["dates", "whole numbers", "numbers"])
def test_the_lines_of_python_learn_rows_in_the_order_of_time(tmp_path, rng, monkeypatch, times):
    """The newest rows come first in the file. As text, its days sort differently; some are missing, and some occur
    twice.
    """
    pd = pytest.importorskip("pandas")
    days = pd.date_range("2020-01-01", periods=120)[::-1].repeat(2)
    x, old = rng.normal(size=240), np.arange(240) >= 120
    told = {"dates": days.strftime("%d.%m.%Y"), "whole numbers": days.strftime("%Y%m%d")}
    told["numbers"] = days.day_of_year / 7
    frame = pd.DataFrame({"day": told[times], "x": x, "y": np.where(old, -x, x)})
    frame.loc[[50, 7], "day"] = None
    frame.to_csv(tmp_path / "own.csv", index=False)
    monkeypatch.chdir(tmp_path)
    choices = Choices(time="day") if times == "numbers" else None
    table = read_own("own.csv", "y", most_rows=1000, folds=2, choices=choices)
    learner = Learner("one pass", "", NAGRegressor(max_iter=1, shuffle=False, half_life=20))
    shares = made(a=STEADY, shares=1 + STEADY)
    outcomes = [Outcome(learner, {"log_loss": np.zeros(10)}, 0.0), shares.outcomes[-1]]
    names: dict = {}
    exec(snippet(Comparison(table, "log_loss", shares.measures, outcomes, 1, 1, None)), names)
    assert names["X"].index.tolist() == table.X.index.tolist()
    assert names["X"].index[:3].tolist() == [7, 50, 238]
    assert names["model"].score(names["X"].tail(60), names["y"].tail(60)) > 0.9


def test_what_has_no_value_has_not_failed():
    found = made(ours=0.5 + STEADY, hinge=0.4 + STEADY, broken=np.full(10, np.nan), shares=0.8 - STEADY)
    metrics = ("accuracy", "log_loss", "roc_auc")
    for outcome, n in zip(found.outcomes, (7, 7, 7, 7)):
        errors = outcome.values["log_loss"]
        log_losses = errors * np.nan if outcome.name == "hinge" else errors
        object.__setattr__(outcome, "values", dict(zip(metrics, (1 - errors, log_losses, 1 - errors[:n]))))
    hinge = found.outcomes[1].learner._replace(estimator=NAGClassifier(loss="hinge"))
    object.__setattr__(found.outcomes[1], "learner", hinge)
    measures = {name: OF_CLASSES[name] for name in metrics}
    found = Comparison(found.table, "accuracy", measures, found.outcomes, 80.0, 20.0, None, n_of_one=3)
    assert [row[1:4] for row in cells(found)[1:4]] == [
        ["0.5 ± 0.00067", "0.5", "0.5003"], ["0.6 ± 0.00067", "-", "0.6003"], ["failed", "failed", "failed"],
    ]  # fmt: skip
    text = findings(found)
    assert "In 7 of 10 splits the test rows have both classes: ROC-AUC is the mean over these." in text
    assert "-: there is no log loss without probabilities." in text
    assert "Use hinge: accuracy 0.6 (ROC-AUC 0.6003), 20.0 % lower error rate than" in verdict(found)[0]
    assert "broken failed" in verdict(found)[1]
