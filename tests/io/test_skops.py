"""Models saved as files: those of this version bit for bit, and those of every version so far."""

import functools
import io
import json
import pickle
import zipfile
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_nag import (
    HedgeClassifier,
    HedgeRegressor,
    NAGCellsClassifier,
    NAGClassifier,
    NAGRegressor,
    ScaleInvariantClassifier,
    ScaleInvariantRegressor,
    constraints,
)
from sklearn_nag.estimators import _saved
from sklearn_nag.estimators._saved import READERS, STATE_VERSION
from sklearn_nag.io import trusted_types
from sklearn_nag.preprocessing import (
    DateEncoder,
    HashingEncoder,
    OnlineColumnTransformer,
    OnlineImputer,
    OnlineOneHotEncoder,
    OnlineTfidf,
    make_online_pipeline,
)

from ..kernels.helpers import flat

FOLDER = Path(__file__).parents[1] / "data"
WINE, DIABETES = load_wine(return_X_y=True), load_diabetes(return_X_y=True)
LETTERS = WINE[0], np.array(["a", "b", "c"])[WINE[1]]
MODELS = [
    (NAGClassifier(), LETTERS),
    (NAGClassifier("hinge", eta0="auto", penalty="elasticnet", class_weight={"b": 2.0}), LETTERS),
    (NAGRegressor(loss="huber", average=50), DIABETES),
    (NAGRegressor(fit_intercept=np.False_), DIABETES),
    (ScaleInvariantClassifier(update="potential"), LETTERS),
    (ScaleInvariantRegressor(invariance="full"), DIABETES),
]


def through_skops(model, trusted):
    skops_io = pytest.importorskip("skops.io", reason="skops comes with the extra skops")
    return skops_io.loads(skops_io.dumps(model), trusted=trusted)


def test_skops_resumes_pipelines_with_the_same_bits(rng):
    X = np.empty((60, 4), dtype=object)
    X[:, 0], X[:, 1] = rng.choice(["a", "b", None], 60), rng.choice(["a good one", "bad"], 60)
    X[:, 2], X[:, 3] = rng.choice([1.5, 2.5, np.nan], 60), np.datetime64("2024-02-29") + np.arange(60)
    y = rng.normal(size=60)
    columns = OnlineColumnTransformer(
        [
            ("words", OnlineOneHotEncoder(4), [0]),
            ("hashed", HashingEncoder(64), [0]),
            ("text", OnlineTfidf(64), 1),
            ("numbers", OnlineImputer(), [2]),
            ("frequent", OnlineImputer("most_frequent"), [2]),
            ("dates", DateEncoder(), [3]),
        ]
    )
    model = make_online_pipeline(columns, NAGRegressor()).partial_fit(X[:40], y[:40])
    loaded = through_skops(model, trusted_types())
    for some in (model, loaded):
        some.partial_fit(X[40:], y[40:])
    assert loaded.predict(X).tobytes() == model.predict(X).tobytes()
    assert list(loaded[:-1].get_feature_names_out()) == list(model[:-1].get_feature_names_out())


@pytest.mark.parametrize(("model", "data"), MODELS)
def test_skops_resumes_with_the_same_bits(model, data):
    X, y = data
    model = clone(model)
    model.partial_fit(X[::2], y[::2], **({"classes": ["a", "b", "c"]} if y.dtype.kind == "U" else {}))
    loaded = through_skops(model, trusted_types())
    assert loaded.get_params() == model.get_params()
    assert np.array_equal(loaded.predict(X), model.predict(X))
    for some in (model, loaded):
        some.partial_fit(X[1::2], y[1::2])
    assert np.array_equal(flat(loaded._state), flat(model._state))
    assert np.array_equal(loaded.coef_, model.coef_)


@pytest.mark.parametrize("kind", [bool, np.bool_])
@pytest.mark.parametrize("model", [NAGClassifier(), NAGCellsClassifier(random_state=0)])
def test_weights_of_classes_that_are_booleans_come_back(model, kind):
    X, y = WINE[0], WINE[1] > 0
    weights = {kind(False): 5.0, kind(True): 1.0}
    model = clone(model).set_params(class_weight=weights).partial_fit(X[::2], y[::2], classes=[False, True])
    loaded = through_skops(model, trusted_types())
    assert loaded.class_weight == weights
    for some in (model, loaded):
        some.partial_fit(X[1::2], y[1::2])
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("model", "data"),
    [(HedgeClassifier(update="hedge"), LETTERS), (HedgeRegressor(), DIABETES)],
)
def test_mixtures_resume_with_the_same_bits(model, data):
    X, y = data
    model = clone(model).partial_fit(X[::2], y[::2], **({"classes": ["a", "b", "c"]} if y.dtype.kind == "U" else {}))
    loaded = through_skops(model, trusted_types())
    for some in (model, loaded):
        some.partial_fit(X[1::2], y[1::2])
    assert np.array_equal(loaded.weights_, model.weights_)
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert loaded.progressive_loss_ == model.progressive_loss_


@pytest.mark.parametrize(
    "through", [lambda model: pickle.loads(pickle.dumps(model)), lambda m: through_skops(m, trusted_types())]
)
def test_views_of_tables_come_back_as_views(through):
    state = through(NAGRegressor().partial_fit(*DIABETES))._state
    for name in state.columns.names:
        assert np.shares_memory(getattr(state.columns, name), state.columns.table)
    assert np.shares_memory(state.targets.spread, state.targets.table)


def test_what_skops_asks_for_is_what_is_named():
    skops_io = pytest.importorskip("skops.io", reason="skops comes with the extra skops")
    asked = set()
    for model, (X, y) in MODELS:
        pipeline = make_pipeline(StandardScaler(), clone(model).set_params(max_iter=2)).fit(X, y)
        asked.update(skops_io.get_untrusted_types(data=skops_io.dumps(pipeline)))
    assert asked <= set(trusted_types())
    assert all(name.startswith("sklearn_nag.") for name in trusted_types())
    assert "sklearn_nag.kernels.full.rule.State" in asked
    assert {f"sklearn_nag.constraints.{name}" for name in constraints.__all__} <= set(trusted_types())
    with pytest.raises(Exception, match="sklearn_nag"):
        skops_io.loads(skops_io.dumps(pipeline))


def refused(content, name, change):
    """Check that skops refuses a model's file after a change to one of its members, or to the tree that names them."""
    skops_io = pytest.importorskip("skops.io", reason="skops comes with the extra skops")
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(changed, "w") as new:
        for member in old.namelist():
            new.writestr(member, change(old.read(member)) if member == name else old.read(member))
    with pytest.raises((ValueError, TypeError)):
        skops_io.loads(changed.getvalue(), trusted=trusted_types())


def of_array(change):
    """The change of a saved array's file that makes ``change`` to the array."""

    def changed(content):
        file = io.BytesIO()
        np.save(file, change(np.load(io.BytesIO(content))))
        return file.getvalue()

    return changed


CHANGES = {
    "nothing left": lambda a: a[:0],
    "one too many": lambda a: np.append(a, a[-1:], axis=0),
    "float32": lambda a: a.astype(np.float32 if a.dtype.kind == "f" else "S1"),
    "NaN": lambda a: np.full(a.shape, np.nan),
    "another dimension": lambda a: a[None],
    "other bytes": lambda a: a.astype(a.dtype.newbyteorder("S")) if a.dtype.kind == "f" else a[::-1],
}


@functools.cache
def file_of(number):
    """The content of skops's file of one of `MODELS`."""
    skops_io = pytest.importorskip("skops.io", reason="skops comes with the extra skops")
    model, (X, y) = MODELS[number]
    model = clone(model).partial_fit(X, y, **({"classes": ["a", "b", "c"]} if y.dtype.kind == "U" else {}))
    return skops_io.dumps(model)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("number", range(len(MODELS)))
def test_a_file_whose_arrays_were_changed_is_refused(number, change):
    content = file_of(number)
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        arrays = {name: np.load(file.open(name)) for name in file.namelist() if name.endswith(".npy")}
    arrays = [name for name, array in arrays.items() if array.dtype == float and array.ndim and array.size]
    assert len(arrays) > 3
    for name in arrays:
        refused(content, name, of_array(change))


@pytest.mark.parametrize(
    ("given", "other"),
    [('"13"', '"3000000"'), ('"13"', '"-1"'), ('"13"', '"13.5"'), ('"table"', '"tab1e"')],
)
def test_a_file_whose_numbers_and_names_were_changed_is_refused(given, other):
    skops_io = pytest.importorskip("skops.io", reason="skops comes with the extra skops")
    content = skops_io.dumps(NAGClassifier().partial_fit(*WINE, [0, 1, 2]))
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        assert given in file.read("schema.json").decode()
    refused(content, "schema.json", lambda text: text.decode().replace(given, other).encode())


class Mine(NAGClassifier):
    """An estimator of someone else that nobody has declared trusted."""


def test_classes_of_others_are_not_trusted():
    assert not any("Mine" in name for name in trusted_types())


# -- models of every version


def load(path):
    if path.suffix == ".pkl":
        return pickle.loads(path.read_bytes())
    if path.suffix == ".joblib":
        return joblib.load(path)
    skops_io = pytest.importorskip("skops.io", reason="skops comes with the extra skops")
    return skops_io.load(path, trusted=trusted_types())


FROZEN = sorted(path for path in FOLDER.glob("state*/*") if path.suffix != ".json")


@pytest.mark.parametrize("path", FROZEN, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_frozen_model_predicts_and_goes_on(path):
    if path.suffix != ".skops" and np.lib.NumpyVersion(np.__version__) < "2.0.0":
        pytest.skip("pickles of NumPy 2 cannot be read by NumPy 1")
    from ..data import make

    if path.stem == "pipeline_of_frames":
        pytest.importorskip("pandas")
    recorded = json.loads((path.parent / "decisions.json").read_text())[path.stem]
    (X, _), (X_more, y_more) = make.rows(60, 70), make.rows(70, 100)
    _, container, options = make.models()[path.stem]
    model = load(path)
    np.testing.assert_allclose(make.decisions(model, container(X)), recorded["loaded"], rtol=1e-10, atol=1e-12)
    model.partial_fit(container(X_more), make.targets(model, y_more, options))
    np.testing.assert_allclose(make.decisions(model, container(X)), recorded["resumed"], rtol=1e-8, atol=1e-10)
    learner = model[-1] if path.stem.startswith("pipeline") else model
    if path.stem != "bootstrap":  # a bootstrap counts no rows
        assert learner.t_ == 90 - path.stem.startswith(("hedge", "cells"))  # a mixture judges from its second row


def test_every_version_that_is_read_has_frozen_models():
    versions = {*READERS, STATE_VERSION}
    assert {path.parent.name.partition("_")[0] for path in FROZEN} == {f"state{version}" for version in versions}
    assert {path.suffix for path in FROZEN} == {".pkl", ".joblib", ".skops"}
    assert sum(path.stat().st_size for path in FROZEN) < len({path.parent for path in FROZEN}) * 500_000


def test_a_model_passes_through_the_readers_of_each_version(monkeypatch):
    saved = NAGClassifier().partial_fit(*WINE, [0, 1, 2]).__getstate__()
    monkeypatch.setattr(_saved, "STATE_VERSION", STATE_VERSION + 2)
    monkeypatch.setitem(READERS, STATE_VERSION, lambda old: {**old, "eta0": old["eta0"] * 10})
    monkeypatch.setitem(READERS, STATE_VERSION + 1, lambda old: {**old, "eta0": old["eta0"] + 1})
    loaded = NAGClassifier.__new__(NAGClassifier)
    loaded.__setstate__(saved)
    assert loaded.eta0 == 11.0
    with pytest.raises(ValueError, match=rf"model format 3; this one reads {STATE_VERSION}, .*{STATE_VERSION + 2}\)"):
        loaded.__setstate__({**saved, "_state_version": 3})


def test_a_skops_file_holds_no_code():
    skops_io = pytest.importorskip("skops.io", reason="skops comes with the extra skops")
    with zipfile.ZipFile(io.BytesIO(skops_io.dumps(NAGClassifier().partial_fit(*WINE, [0, 1, 2])))) as file:
        assert {name.rpartition(".")[2] for name in file.namelist()} <= {"json", "npy"}
