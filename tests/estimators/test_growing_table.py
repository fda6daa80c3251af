"""The table that grows while a model learns."""

import itertools
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.linear_model import SGDClassifier

from sklearn_nag import (
    FTRLClassifier,
    FTRLRegressor,
    HedgeClassifier,
    HedgeRegressor,
    NAGClassifier,
    NAGRegressor,
    ScaleInvariantClassifier,
    ScaleInvariantRegressor,
    report_progress,
)
from sklearn_nag.estimators import _growing_table

from .helpers import bits

X, Y = load_wine(return_X_y=True)


def lines(capsys):
    """Rows, weight, mean loss, and mean loss since the last line, for each printed line."""
    printed = capsys.readouterr().out.splitlines()
    return np.array([[float(word) for word in line.split()[:4]] for line in printed if "loss" not in line])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_lines_at_powers_of_two_however_rows_are_cut(capsys, container):
    weight = np.random.default_rng(0).integers(1, 4, len(Y)).astype(float)
    expected, losses = NAGClassifier(), []
    for i in range(len(Y)):
        before = expected._state.loss.sum() if i else 0.0
        expected.partial_fit(container(X[i : i + 1]), Y[i : i + 1], [0, 1, 2] if i == 0 else None, weight[i : i + 1])
        losses.append(expected._state.loss.sum() - before)
    assert capsys.readouterr().out == ""
    total, weights, at = np.cumsum(losses), np.cumsum(weight), 2 ** np.arange(8)
    since = np.diff(total[at - 1], prepend=0.0) / np.diff(weights[at - 1], prepend=0.0)
    for cuts in ([], [1, 2, 3, 70], [5, 64, 65, 150]):
        clf = NAGClassifier(verbose=2)
        for rows in np.split(np.arange(len(Y)), cuts):
            clf.partial_fit(container(X[rows]), Y[rows], [0, 1, 2], weight[rows])
        columns = np.column_stack([at, weights[at - 1], total[at - 1] / weights[at - 1], since])
        np.testing.assert_allclose(lines(capsys), columns, rtol=1e-9, atol=1e-6)
        assert np.array_equal(bits(clf), bits(expected))


def test_fit_counts_on_over_its_passes(capsys):
    clf = NAGClassifier(verbose=2, max_iter=3, tol=None, random_state=0).fit(*load_breast_cancer(return_X_y=True))
    quiet = NAGClassifier(max_iter=3, tol=None, random_state=0).fit(*load_breast_cancer(return_X_y=True))
    assert np.array_equal(bits(clf), bits(quiet))
    out = capsys.readouterr().out
    assert out.count("mean loss ") == 1
    assert [line.split()[0] for line in out.splitlines() if "oss" not in line] == [str(2**k) for k in range(11)]
    assert out.count("Pass ") == 3
    clf.fit(X, Y)
    assert capsys.readouterr().out.splitlines()[1].split()[0] == "1"


def test_a_loaded_model_begins_a_table_and_errors_leave_the_model(capsys):
    reg = NAGRegressor(verbose=2).partial_fit(X, Y)
    loaded = pickle.loads(pickle.dumps(reg))
    capsys.readouterr()
    loaded.partial_fit(X, Y)
    table = lines(capsys)
    assert table[0, 0] == 1
    assert table[0, 1] == 179
    before = bits(loaded)
    with pytest.raises(ValueError, match="NaN"):
        loaded.partial_fit(np.where(X == X[100, 0], np.nan, X), Y)
    assert np.array_equal(bits(loaded), before)
    capsys.readouterr()
    reg.partial_fit(X[:3], Y[:3], sample_weight=[0.0, 0.0, 1.0])
    assert lines(capsys).size == 0  # 181 rows: the next line is that of row 256


# -- reports to a function

EVERY_ESTIMATOR = [
    FTRLClassifier(),
    FTRLRegressor(),
    HedgeClassifier(),
    HedgeRegressor(),
    NAGClassifier(),
    NAGRegressor(target_normalization=None),
    ScaleInvariantClassifier(),
    ScaleInvariantRegressor(),
]


@pytest.mark.parametrize("model", EVERY_ESTIMATOR, ids=lambda model: type(model).__name__)
def test_reports_change_no_bit_and_tell_what_attributes_say_at_the_end(model):
    options = {"classes": [0, 1, 2]} if is_classifier(model) else {}
    quiet, told, also = clone(model).partial_fit(X, Y, **options), clone(model), []
    reports = []
    with report_progress(reports.append, every=50), report_progress(also.append):
        told.partial_fit(X[:70], Y[:70], **options)
        told.partial_fit(X[70:], Y[70:])
        with report_progress(reports.append, every=178):
            pass
    assert [now.rows for now in reports] == [50, 100, 150]
    assert [now.rows for now in also] == [2**k for k in range(8)]
    assert np.array_equal(told.predict(X), quiet.predict(X))
    assert told.progressive_loss_ == quiet.progressive_loss_
    assert all(now.estimator is told and now.rows_per_second > 0 for now in reports)
    again = clone(model).partial_fit(X[:150], Y[:150], **options)
    assert reports[-1].weight == again.t_
    assert reports[-1].loss == pytest.approx(again.progressive_loss_, rel=1e-9)
    before = clone(model).partial_fit(X[:100], Y[:100], **options)
    since = again.progressive_loss_ * again.t_ - before.progressive_loss_ * before.t_
    assert reports[-1].recent_loss == pytest.approx(since / (again.t_ - before.t_), rel=1e-9)


def test_speed_is_that_of_learning_since_the_last_report(monkeypatch):
    """The clock advances by half a second each time it is read."""
    clock, reports = itertools.count(1000.0, 0.5), []
    monkeypatch.setattr(_growing_table, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    with report_progress(reports.append):
        told = NAGClassifier().partial_fit(X[:7], Y[:7], classes=[0, 1, 2])
        told.partial_fit(X[7:16], Y[7:16])
    assert [now.rows for now in reports] == [1, 2, 4, 8, 16]
    assert [now.rows_per_second for now in reports] == [2.0, 2.0, 4.0, 4.0, 16.0]


def test_passes_of_fit_go_on_counting_and_nothing_is_reported_after_the_block():
    reports = []
    with report_progress(reports.append, every=100):
        clf = NAGClassifier(max_iter=3, tol=None, random_state=0).fit(X, Y)
    assert [now.rows for now in reports] == [100, 200, 300, 400, 500]
    assert reports[-1].weight == 500
    clf.fit(X, Y)
    assert len(reports) == 5


def test_a_batch_of_other_learners_is_not_cut():
    reports, experts = [], [("sgd", SGDClassifier(random_state=0)), ("nag", NAGClassifier())]
    hedge = HedgeClassifier(experts, batch_size=40)
    with report_progress(reports.append, every=30):
        hedge.partial_fit(X, Y, classes=[0, 1, 2])
    assert [now.rows for now in reports] == [40, 80, 120, 160]
    quiet = HedgeClassifier(experts, batch_size=40).partial_fit(X, Y, classes=[0, 1, 2])
    assert hedge.progressive_loss_ == quiet.progressive_loss_


def test_a_report_may_read_the_model_or_end_the_call():
    seen = []

    def read(now):
        seen.append(now.estimator.predict(X).tobytes())
        now.estimator.coef_, pickle.dumps(now.estimator)
        if now.rows >= 100:
            raise RuntimeError("enough")

    quiet = NAGClassifier().partial_fit(X[:50], Y[:50], classes=[0, 1, 2])
    clf = NAGClassifier()
    with report_progress(read, every=50):
        clf.partial_fit(X[:50], Y[:50], classes=[0, 1, 2])
        before = bits(clf)
        with pytest.raises(RuntimeError, match="enough"):
            clf.partial_fit(X[50:], Y[50:])
    assert np.array_equal(bits(clf), before)
    assert seen == [quiet.predict(X).tobytes(), quiet.partial_fit(X[50:100], Y[50:100]).predict(X).tobytes()]


def test_reports_of_no_use():
    with pytest.raises(TypeError, match="function must be callable"), report_progress("rows"):
        pass
    with pytest.raises(ValueError, match="every"), report_progress(print, every=0):
        pass
