"""Comparisons give the numbers of a plain loop, split rows in time order, and choose a learner."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.preprocessing import StandardScaler

from sklearn_nag import NAGClassifier, NAGRegressor, config_context
from sklearn_nag._main_job import comparison
from sklearn_nag._main_job.comparison import (
    BASELINES,
    OURS,
    PEERS,
    Comparison,
    Latest,
    Learner,
    Outcome,
    coded,
    columns_of_cells,
    compare,
    learners,
    metric_of,
    places_of_numbers,
    predictions,
    shown_measures,
    splits,
    standardised,
    try_split,
)
from sklearn_nag._main_job.measures import OF_CLASSES
from sklearn_nag._main_job.tables import Table
from sklearn_nag.preprocessing import prepare

pd = pytest.importorskip("pandas")


def a_table(rng, of_classes=True, n=80, time=None, y=None):
    X = pd.DataFrame({"a": rng.normal(5, 100, n), "b": rng.choice(["u", "v"], n)})
    if y is None:
        y = 0.01 * X["a"] + (X["b"] == "u") + rng.normal(size=n) / 4
    y = np.where(y > 0.7, "more", "less").astype(object) if of_classes else np.asarray(y)
    return Table("own.csv", "y", X, y, of_classes, prepare(X), time)


@pytest.mark.parametrize("of_classes", [True, False])
def test_values_are_those_of_a_plain_loop(rng, of_classes):
    table = a_table(rng, of_classes)
    estimator = (NAGClassifier if of_classes else NAGRegressor)(random_state=0, max_iter=2)
    candidates = [Learner("a", OURS, estimator), Learner("b", PEERS, estimator, is_scaled=True)]
    metric = metric_of(table)
    train, test = np.arange(60), np.arange(60, 80)
    values, seconds, coverage = try_split(table, candidates, shown_measures(table, metric), train, test)
    with config_context(kernel="numpy"):
        model = clone(table.prepare)
        X, X_test = model.fit_transform(table.X[:60]), model.transform(table.X[60:])
        learnt = clone(estimator).fit(X, table.y[:60])
        if of_classes:
            expected = log_loss(table.y[60:], learnt.predict_proba(X_test))
        else:
            expected = mean_squared_error(table.y[60:], learnt.predict(X_test)) ** 0.5
            low, high = learnt.predict_interval(X_test, 0.9).T
            assert coverage == ((low <= table.y[60:]) & (table.y[60:] <= high)).mean()
    np.testing.assert_allclose(values[0][0], expected)
    np.testing.assert_allclose(values[1][0], expected, rtol=0.1)  # units do not matter to this package
    assert len(seconds) == 2
    assert np.isnan(coverage) == of_classes


def test_later_rows_are_predicted_from_earlier_ones(rng):
    parts = splits(a_table(rng, False, time="a"), 4)
    assert len(parts) == 8
    assert all(train.max() < test.min() for train, test in parts)
    ordered = a_table(rng, True, time="a", y=np.arange(80.0) - 75)  # one class until the last stretch
    with pytest.raises(ValueError, match="the first rows by 'a' have only one value of 'y'; --shuffle ignores"):
        splits(ordered, 4)


def test_without_an_order_folds_are_drawn_twice(rng):
    parts = splits(a_table(rng), 5)
    assert len(parts) == 10
    assert sorted(np.concatenate([test for _, test in parts[:5]])) == list(range(80))


def names(table, metric=None):
    return [learner.name for learner in learners(table, metric or metric_of(table), [0])]


def test_what_is_tried_depends_on_the_table(rng):
    plain = names(a_table(rng))
    assert plain[0] == "NAGClassifier"
    assert not any("hinge" in name or "half_life" in name for name in plain)
    assert 'NAGClassifier, loss="hinge"' in names(a_table(rng), "accuracy")
    assert 'NAGClassifier, half_life="auto", goes on' in names(a_table(rng, time="a"))
    assert "the latest target" in names(a_table(rng, False, time="a"))
    wrong = np.where(np.arange(80) == 7, 1e6, rng.normal(size=80))
    assert 'NAGRegressor, loss="huber"' in names(a_table(rng, False, y=wrong))
    of_logarithms = 'NAGRegressor, loss="absolute_error", of logarithms'
    assert of_logarithms not in names(a_table(rng, False, y=wrong))  # some are below 0
    assert of_logarithms in names(a_table(rng, False, y=np.abs(wrong)))
    assert not any("Cells" in learner.name for learner in learners(a_table(rng), "log_loss", []))


def test_measures(rng):
    table, rare = a_table(rng), a_table(rng, y=np.arange(80) - 75.0)
    assert list(shown_measures(table, "log_loss")) == ["log_loss", "accuracy", "roc_auc"]
    assert list(shown_measures(rare, "accuracy")) == ["accuracy", "log_loss", "roc_auc", "average_precision"]
    assert metric_of(a_table(rng, False)) == "root_mean_squared_error"
    wrong = a_table(rng, False, y=np.where(np.arange(80) == 7, 1e6, rng.normal(size=80)))
    assert metric_of(wrong) == "median_absolute_error"
    assert list(shown_measures(wrong, metric_of(wrong))) == ["median_absolute_error", "mean_absolute_error", "r2"]
    with pytest.raises(
        ValueError, match="--metric r2: 'y' is a class, so the metric must be one of log_loss, accuracy, roc_auc"
    ):
        metric_of(table, "r2")


def test_the_rarer_class_is_the_second():
    assert coded(np.array(list("aabaa"), dtype=object))[0] == ["a", "b"]
    classes, y = coded(np.array(list("bbabb"), dtype=object))
    assert classes == ["b", "a"]
    assert y.tolist() == [0, 0, 1, 0, 0]


def test_a_learner_that_goes_on_predicts_before_it_learns(rng):
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    with config_context(kernel="numpy"):
        model = NAGRegressor().partial_fit(X[:20], y[:20])
        expected = []
        for start in range(20, 60, 2):
            expected.append(model.predict(X[start : start + 2]))
            model.partial_fit(X[start : start + 2], y[start : start + 2])
        again = NAGRegressor().partial_fit(X[:20], y[:20])
        np.testing.assert_array_equal(predictions(again, X[20:], y[20:], None, True), np.concatenate(expected))


def test_what_goes_on_has_a_baseline_that_does(rng):
    found = made(ours=np.full(10, 0.5), shares=np.full(10, 0.7))
    going = [o.learner._replace(goes_on=True) for o in found.outcomes]
    found.outcomes.extend(Outcome(learner, {"log_loss": np.full(10, 0.4)}, 0.0) for learner in going)
    assert [found.error(found.baseline(outcome)) for outcome in found.outcomes] == [0.7, 0.7, 0.4, 0.4]


def test_classes_that_come_late_are_not_learnt(rng):
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    with config_context(kernel="numpy"):
        model = NAGClassifier().fit(X, y)
        found = predictions(model, X, np.full(40, 2), 3, True)
    assert found.probabilities.shape == (40, 3)
    assert found.probabilities[:, 2].max() == 0.0
    assert model.t_ == 40.0 * model.n_iter_


def test_the_latest_target(rng):
    assert Latest().fit(np.zeros((3, 1)), np.array([1.0, 5.0, 2.0])).predict(np.zeros((2, 1))).tolist() == [2.0, 2.0]


def test_numbers_are_standardised_and_the_rest_is_as_it_was(rng):
    X = np.column_stack([rng.normal(100, 5, 9), rng.integers(0, 2, 9)])
    expected = np.column_stack([StandardScaler().fit(X[:6, :1]).transform(X[:, :1]), X[:, 1:]])
    for make in (np.asarray, sparse.csr_array):
        found = standardised(make(X[:6]), make(X[6:]), [0])
        found = [rows.toarray() if sparse.issparse(rows) else rows for rows in found]
        np.testing.assert_allclose(np.vstack(found), expected)
    wide = sparse.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert all(rows.indices.dtype == np.intc for rows in standardised(wide, wide, []))


def test_numbers_and_days_are_told_from_what_texts_become():
    days = [f"2024-01-{1 + i % 28:02}" for i in range(150)]
    X = pd.DataFrame({"text": [f"very good film no {i}" for i in range(150)], "day": days, "n": np.arange(150.0) % 7})
    pipeline = prepare(X, n_hashed=2**10)
    rows = pipeline.fit_transform(X)
    found = rows[:, places_of_numbers(pipeline, X.columns)].toarray()
    assert sorted(found.max(axis=0)) == [6.0, 19750.0]  # the number, and days since 1970
    assert rows.shape[1] > 1000


def test_cells_are_made_of_all_columns_if_they_are_few(rng, monkeypatch):
    table = a_table(rng)
    assert columns_of_cells(table) == [0, 1, 2]  # the number, and a column for each word
    monkeypatch.setattr(comparison, "MOST_COLUMNS", 2)
    assert columns_of_cells(table) == [0]


def test_compare_yields_as_splits_are_done(rng, monkeypatch):
    monkeypatch.setattr(comparison, "learners", lambda *args: [a for a in learners(*args) if a.family == BASELINES])
    *before, last = compare(a_table(rng), "log_loss", 2, 1)
    assert before == [(1, 4, None), (2, 4, None), (3, 4, None)]
    assert last[:2] == (4, 4)
    assert last[2].n_train == last[2].n_test == 40


def made(**errors):
    """Return a comparison by log loss of learners with these errors on ten splits.

    The learner named "sgd" is a peer, and "shares" is a baseline.
    """
    families = {"sgd": PEERS, "shares": BASELINES}
    outcomes = [
        Outcome(Learner(name, families.get(name, OURS), NAGClassifier()), {"log_loss": np.asarray(values)}, 0.1)
        for name, values in errors.items()
    ]
    table = SimpleNamespace(
        name="own.csv", target="y", y=np.arange(100) % 2, X=np.zeros((100, 2)), time=None, is_classification=True,
        prepare=[SimpleNamespace(transformers=[("all", "passthrough", [0, 1])])], notes=[],
    )  # fmt: skip
    return Comparison(table, "log_loss", {"log_loss": OF_CLASSES["log_loss"]}, outcomes, 80.0, 20.0, None)


def test_another_learner_is_taken_if_it_is_better_beyond_doubt_and_by_an_amount(rng):
    noise, far = rng.normal(0, 0.001, (3, 10)), rng.normal(0, 0.3, 10)
    reference, worse = 0.5 + noise[0], 0.9 + noise[2]
    found = made(ours=reference, other=0.45 + noise[1], sgd=0.4 + noise[2], shares=worse)
    assert found.chosen.name == "other"
    assert [outcome.name for outcome in found.better(PEERS)] == ["sgd"]
    assert found.tells_something(found.chosen)
    assert made(ours=reference, other=0.45 + far, shares=worse).chosen.name == "ours"  # it may be chance
    assert made(ours=reference, other=reference * 0.995, shares=worse).chosen.name == "ours"  # not worth it
    assert made(ours=reference, other=np.full(10, np.nan), shares=worse).chosen.name == "ours"
    found = made(ours=0.5 + far, shares=np.full(10, 0.5))
    assert not found.tells_something(found.chosen)
    assert found.telling(OURS) == []


def test_where_the_defaults_tell_nothing_another_may(rng):
    far, near = np.linspace(-0.5, 0.5, 10), np.linspace(-0.001, 0.001, 10)
    found = made(ours=0.5 + far, other=0.4 + near, sgd=0.3 + near, shares=np.full(10, 0.5))
    assert not found.better(OURS)
    assert found.chosen.name == "other"
    assert [outcome.name for outcome in found.telling(PEERS)] == ["sgd"]


@pytest.mark.parametrize("time", [None, "a"])
def test_splits_without_a_class_to_predict_are_left_out_where_a_measure_needs_both(rng, time, monkeypatch):
    monkeypatch.setattr(comparison, "learners", lambda *args: [learners(*args)[0], learners(*args)[-1]])
    y = np.zeros(120)
    y[[3, 17, 40, 118]] = 1.0
    table = a_table(rng, n=120, time=time, y=y)
    parts = splits(table, 5)
    have_both = [len(set(table.y[test])) > 1 for _, test in parts]
    assert 2 <= sum(have_both) < len(parts) == 10
    found = [*compare(table, "roc_auc", 5, 1)][-1][2]
    of_plain_loop = [
        try_split(table, found_learners(found), found.measures, *parts[i])[0] for i in np.flatnonzero(have_both)
    ]
    for i, outcome in enumerate(found.outcomes):
        np.testing.assert_array_equal(outcome.values["roc_auc"], [of[i][0] for of in of_plain_loop])
        assert len(outcome.values["accuracy"]) == 10
        assert np.isfinite(found.error(outcome))
    assert (found.n_splits, found.n_of_one) == (10, 10 - sum(have_both))
    assert found.n_train == np.mean([len(train) for (train, _), both in zip(parts, have_both) if both])
    assert not np.isnan(found.difference(*found.outcomes).p)


def found_learners(found):
    return [outcome.learner for outcome in found.outcomes]


def test_a_metric_that_has_a_value_in_one_split_alone_is_refused(rng):
    table = a_table(rng, time="a", n=100, y=np.isin(np.arange(100), [2, 98]))
    with pytest.raises(ValueError, match="--metric roc_auc: .* both classes of 'y' in 1 of 10 splits; at least two"):
        next(compare(table, "roc_auc", 5, 1))
