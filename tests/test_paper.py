"""The calculations that the script for the paper's tables does itself."""

import json

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.datasets import load_wine

from benchmarks import paper

from .datasets.helpers import FILES, N, expect, made_up, sized  # noqa: F401


@pytest.mark.parametrize(("mean", "n"), [(0.1, 50), (0.0, 20), (1.0, 20), (0.037, 43_500), (0.5, 2)])
def test_chernoff_bounds_the_binomial(mean, n):
    low, high = paper.chernoff(mean, n)
    assert low <= mean <= high
    wrong = round(mean * n)
    if low > 0:
        assert binom.sf(wrong - 1, n, low) <= paper.SIGNIFICANCE / 2 * (1 + 1e-9)
    if high < 1:
        assert binom.cdf(wrong, n, high) <= paper.SIGNIFICANCE / 2 * (1 + 1e-9)
    if mean * n > 1000:  # then it is nearly the bound by a normal distribution with the same exponent
        width = np.sqrt(2 * mean * (1 - mean) * np.log(2 / paper.SIGNIFICANCE) / n)
        assert [mean - low, high - mean] == pytest.approx([width, width], rel=0.05)


def test_differ():
    assert not paper.differ((1.0, 0.10, 1000), (1.0, 0.12, 1000))
    assert paper.differ((1.0, 0.10, 100_000), (1.0, 0.12, 100_000))
    assert paper.differ((1.0, 0.12, 100_000), (1.0, 0.10, 100_000))


def test_sweep_is_one_learner_at_a_time():
    options = paper.BUNDLED["wine"]
    rows = paper.Rows("wine", options, None, False)
    found = paper.sweep(rows, options, "sNAG", "raw")
    order = np.random.default_rng(0).permutation(len(rows.y))
    X, y = rows.products.transform(rows.base[order]).toarray(), rows.y[order]
    np.testing.assert_array_equal(X[:, :13], load_wine().data[order])
    for eta, loss in zip(found["etas"], found["losses"]):
        clf = paper.learner("sNAG", "raw", "hinge").set_params(eta0=eta)
        wrong = 0
        for i in range(len(y)):
            wrong += i > 0 and clf.predict(X[i : i + 1])[0] != y[i]
            clf.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1, 2])
        assert abs(loss * (len(y) - 1) - wrong) <= 1  # predict does not know the scales of its row


def test_what_is_there_is_not_run_again(tmp_path, monkeypatch):
    monkeypatch.setattr(paper, "HAVE_VW", False)
    path = tmp_path / "new" / "runs.json"
    results = paper.Results(path)
    sets = {"wine": paper.BUNDLED["wine"]}
    paper.run_all(results, sets, None)
    assert len(json.loads(path.read_text())) == 1 + 9
    again = paper.Results(path)
    assert again.found == results.found
    monkeypatch.setattr(paper, "sweep", None)  # would be called for missing results
    paper.run_all(again, sets, None)
    del again.found["wine | AG | raw"]
    with pytest.raises(TypeError):
        paper.run_all(again, sets, None)


def test_text_for_vowpal_wabbit(tmp_path):
    rows = paper.Rows("breast cancer", paper.BUNDLED["breast cancer"], None, False)
    order = rows.order(3)
    paper.write_text(tmp_path / "rows", rows, order)
    lines = (tmp_path / "rows").read_text().splitlines()
    assert len(lines) == len(order)
    for line, i in zip(lines, order):
        label, features = line.split(" | ")
        assert int(label) == 2 * rows.y[i] - 1
        values = {int(name) - 1: float(value) for name, value in (token.split(":") for token in features.split())}
        np.testing.assert_allclose([values.get(j, 0.0) for j in range(30)], rows.base[[i]].toarray()[0], rtol=1e-8)


@pytest.mark.parametrize(
    ("title", "name"), zip(paper.SETS, ("bank", "census", "covertype", "shuttle", "ct_slice", "msd"))
)
def test_every_set_runs_from_its_file(title, name, tmp_path, rng, expect, monkeypatch):  # noqa: F811
    assert set(FILES) == {"bank", "census", "covertype", "shuttle", "ct_slice", "msd"}
    data, target = made_up(name, tmp_path, rng, ".gz")
    sized(name, expect, data)
    monkeypatch.setattr(paper, "HAVE_VW", False)
    options = paper.SETS[title]._replace(every=20, shuffles=1)
    results = paper.Results(tmp_path / "runs.json")
    paper.run_all(results, {title: options}, tmp_path)
    for rule in paper.RULES:
        for version in paper.VERSIONS:
            _, loss, rows = results.best(title, rule, version)
            assert rows == N
            assert np.isfinite(loss)
    paper.tables(results, {title: options}, tmp_path)
    assert title in (tmp_path / "paper_raw.csv").read_text()
    if name in ("ct_slice", "msd"):  # the loss is the squared error divided by the squared range
        rows = paper.Rows(title, options, tmp_path, False)
        assert rows.unit == np.ptp(target[:N]) ** 2 / 2
