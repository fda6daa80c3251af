"""ONNX graphs, run by onnxruntime, compared with the models that they were made from."""

import re
import sys
import warnings

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import StackingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

from sklearn_nag import (
    HedgeRegressor,
    NAGCellsRegressor,
    NAGClassifier,
    NAGRegressor,
    OnlineBootstrap,
    ScaleInvariantClassifier,
)
from sklearn_nag._extras import how_to_install
from sklearn_nag.io import register_onnx, to_onnx
from sklearn_nag.preprocessing import (
    NumberReader,
    OnlineColumnTransformer,
    OnlineImputer,
    OnlineOneHotEncoder,
    OnlineTfidf,
    make_online_pipeline,
    prepare,
)

from ..estimators.test_exporting import CASES, QUICK

CANCER, WINE = load_breast_cancer(return_X_y=True), load_wine(return_X_y=True)


@pytest.fixture
def run():
    pytest.importorskip("skl2onnx", reason="skl2onnx comes with the extra onnx")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime comes with the extra onnx")

    def run(graph, X):
        session = runtime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
        return session.run(None, X if isinstance(X, dict) else {"X": X})

    return run


def expected(model, X):
    if not is_classifier(model):
        return [model.predict(X).reshape(len(X), -1)]
    if hasattr(model, "predict_proba"):
        return [model.predict(X), model.predict_proba(X)]
    decision = model.decision_function(X)
    return [model.predict(X), np.column_stack([-decision, decision]) if decision.ndim == 1 else decision]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize(("model", "data"), [case[:2] for case in CASES])
def test_the_same_predictions(run, model, data):
    X, y = data
    model.fit(X, y)
    got = run(to_onnx(model), np.ascontiguousarray(X, dtype=np.float64))
    for theirs, ours in zip(got, expected(model, X), strict=True):
        assert theirs.shape == ours.shape
        if ours.dtype.kind == "f":
            assert theirs.dtype == np.float64
            np.testing.assert_allclose(theirs, ours, rtol=1e-10, atol=1e-14)
        else:
            assert np.array_equal(theirs, ours)


def test_a_decision_value_of_0_is_that_of_the_first_class(run):
    clf, nothing = NAGClassifier(fit_intercept=False, centering=False, **QUICK).fit(*CANCER), np.zeros((1, 30))
    assert clf.decision_function(nothing) == 0.0
    np.testing.assert_array_equal(run(to_onnx(clf), nothing)[0], clf.predict(nothing))


@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e300])
def test_means_far_from_0_and_units_at_the_ends_of_the_range(run, scale):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) * [1.0, scale, 1.0] + [0.0, 0.0, 2.0**40]
    y = X[:, 0] + X[:, 1] / scale + (X[:, 2] - 2.0**40)
    reg = NAGRegressor().partial_fit(X, y)
    np.testing.assert_allclose(run(to_onnx(reg), X)[0][:, 0], reg.predict(X), rtol=1e-9, atol=1e-9)
    assert reg.score(X, y) > 0.99


def test_half_lives_whose_means_are_far_from_0(run, rng):
    X = np.column_stack([1.7e9 + np.arange(400.0), rng.normal(size=400)])  # seconds since 1970
    y = np.add.accumulate(rng.normal(size=400)) / 10 + X[:, 1] + rng.normal(size=400)
    clf = NAGClassifier(half_life="auto").partial_fit(X, y > 0, classes=[False, True])
    labels, probability = run(to_onnx(clf), X)
    np.testing.assert_allclose(probability, clf.predict_proba(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(labels, clf.predict(X))
    targets = np.column_stack([y, 1e5 - y])
    reg = NAGRegressor(half_life="auto", clip=None).partial_fit(X, targets)
    np.testing.assert_allclose(run(to_onnx(reg), X)[0], reg.predict(X), rtol=1e-9)


def test_no_class_is_probable():
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    X, y = np.eye(3) * 10.0, [0, 1, 2]
    clf = NAGClassifier("modified_huber", centering=False).partial_fit(np.tile(X, (9, 1)), y * 9, [0, 1, 2])
    rows = np.vstack([-100.0 * np.ones((1, 3)), X])
    session = runtime.InferenceSession(to_onnx(clf).SerializeToString(), providers=["CPUExecutionProvider"])
    probability = session.run(None, {"X": rows})[1]
    assert np.array_equal(clf.predict_proba(rows)[0], np.full(3, 1 / 3))
    np.testing.assert_allclose(probability, clf.predict_proba(rows), rtol=1e-12)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_inside_pipelines_and_other_estimators(run):
    skl2onnx = pytest.importorskip("skl2onnx")
    pd = pytest.importorskip("pandas")
    from skl2onnx.common.data_types import DoubleTensorType, StringTensorType

    X, y = CANCER
    products = make_pipeline(PolynomialFeatures(2, include_bias=False), NAGClassifier(**QUICK)).fit(X[:, :6], y)
    label, probability = run(to_onnx(products), X[:, :6])
    assert np.array_equal(label, products.predict(X[:, :6]))
    np.testing.assert_allclose(probability, products.predict_proba(X[:, :6]), rtol=1e-9, atol=1e-14)

    register_onnx()
    stack = StackingClassifier([("ours", NAGClassifier(**QUICK)), ("si", ScaleInvariantClassifier(**QUICK))],
                               LogisticRegression(), cv=2)  # fmt: skip
    stack.fit(*WINE)
    graph = skl2onnx.to_onnx(stack, WINE[0], options={"zipmap": False})
    np.testing.assert_allclose(run(graph, WINE[0])[1], stack.predict_proba(WINE[0]), atol=1e-6)  # skl2onnx uses float32

    frame = pd.DataFrame({"size": X[:, 0], "town": np.where(X[:, 1] > 20, "Bath", "York")})
    mixed = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough"), NAGClassifier(**QUICK)
    ).fit(frame, np.where(y, "benign", "malignant"))
    types = [("size", DoubleTensorType([None, 1])), ("town", StringTensorType([None, 1]))]
    columns = {"size": X[:, :1], "town": frame[["town"]].to_numpy().astype(object)}
    label, probability = run(to_onnx(mixed, initial_types=types), columns)
    assert np.array_equal(label, mixed.predict(frame))
    np.testing.assert_allclose(probability, mixed.predict_proba(frame), atol=1e-6)  # encoders return float32


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_frame_with_a_type_for_each_column(run):
    """The example of docs/after_training.rst works."""
    pytest.importorskip("skl2onnx")
    pd = pytest.importorskip("pandas")
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType

    X, y = CANCER
    frame = pd.DataFrame({"age": X[:, 0], "income": X[:, 3], "town": np.where(X[:, 1] > 20, "Bath", "York")})
    frame.loc[::9, "income"] = np.nan
    columns = make_column_transformer((SimpleImputer(), ["age", "income"]), (OneHotEncoder(), ["town"]))
    model = make_pipeline(columns, NAGClassifier(**QUICK)).fit(frame, y)
    types = {"age": FloatTensorType, "income": FloatTensorType, "town": StringTensorType}
    graph = to_onnx(model, initial_types=[(name, kind([None, 1])) for name, kind in types.items()])
    inputs = {name: frame[[name]].to_numpy(str if name == "town" else np.float32) for name in types}
    labels, probabilities = run(graph, inputs)
    assert np.array_equal(labels, model.predict(frame))
    np.testing.assert_allclose(probabilities, model.predict_proba(frame), atol=1e-5)


def test_online_pipelines(run):
    X, y = load_breast_cancer(return_X_y=True)
    pipeline = make_online_pipeline(StandardScaler(), NAGClassifier(**QUICK)).partial_fit(X, y, classes=[0, 1])
    labels, probabilities = run(to_onnx(pipeline), X)
    np.testing.assert_array_equal(labels, pipeline.predict(X))
    np.testing.assert_allclose(probabilities, pipeline.predict_proba(X), rtol=1e-6, atol=1e-12)


def test_columns_of_words_and_numbers_with_gaps(run):
    pd = pytest.importorskip("pandas")
    X, y = CANCER
    towns = np.where(X[:, 1] > 20, "Bath", "York").astype(object)
    towns[::9] = None
    frame = pd.DataFrame(
        {"size": X[:, 0], "unused": X[:, 2], "town": towns, "price": X[:, 3], "sex": ["f", "m"] * 284 + ["f"]}
    )
    frame.loc[::7, "size"] = np.nan
    columns = OnlineColumnTransformer(
        [
            ("gaps", OnlineImputer(add_indicator=True), ["size", "price"]),
            ("words", OnlineOneHotEncoder(5), ["town", "sex"]),
            ("read", make_online_pipeline(NumberReader(), OnlineImputer("constant", fill_value=1.0)), ["price"]),
        ]
    )  # fmt: skip
    pipeline = make_online_pipeline(columns, NAGClassifier(**QUICK)).partial_fit(frame, y, classes=[0, 1])
    frame.loc[3, "town"] = "elsewhere"
    given = {name: frame[[name]].to_numpy(np.float64) for name in ("size", "price")}
    given |= {name: frame[[name]].fillna("").to_numpy(dtype=object) for name in ("town", "sex")}
    labels, probabilities = run(to_onnx(pipeline), given)
    np.testing.assert_array_equal(labels, pipeline.predict(frame))
    np.testing.assert_allclose(probabilities, pipeline.predict_proba(frame), rtol=1e-9, atol=1e-14)
    plain = make_online_pipeline(OnlineImputer(), NAGRegressor()).partial_fit([[1.0, np.nan], [3.0, 2.0]], [1.0, 2.0])
    rows = np.array([[np.nan, 5.0], [2.0, np.nan]])
    np.testing.assert_allclose(run(to_onnx(plain), rows)[0][:, 0], plain.predict(rows))


@pytest.mark.parametrize("names", [["town", "size"], ["size", "town"]])
def test_predictions_have_all_their_digits_be_words_first_or_last(run, names):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"town": np.where(CANCER[0][:, 1] > 20, "Bath", "York"), "size": CANCER[0][:, 0]})[names]
    given = {"town": frame[["town"]].to_numpy(dtype=object), "size": frame[["size"]].to_numpy()}
    for model, y in ((NAGRegressor(), 1.7e9 + frame["size"]), (NAGClassifier(), CANCER[1])):
        model = prepare(frame, model).partial_fit(frame, y, **({"classes": [0, 1]} if is_classifier(model) else {}))
        *_, last = run(to_onnx(model), given)
        assert last.dtype == np.float64
        np.testing.assert_allclose(last, expected(model, frame)[-1], rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize(
    "model",
    [HedgeRegressor([("nag", NAGRegressor())]), NAGCellsRegressor(n_trees=2), OnlineBootstrap(NAGRegressor(), 2)],
)
def test_models_that_are_made_of_others_are_named(run, model):
    X, y = WINE
    for fitted in (model.partial_fit(X, y), make_pipeline(StandardScaler(), model).fit(X, y)):
        with pytest.raises(TypeError, match=f"this {type(model).__name__} is made of others: export one of these, if"):
            to_onnx(fitted)


def test_transformers_that_graphs_cannot_hold_are_named():
    pytest.importorskip("skl2onnx")
    texts = make_online_pipeline(OnlineTfidf(64), NAGRegressor()).partial_fit(["a b", "c"], [0.0, 1.0])
    with pytest.raises(
        TypeError, match="this OnlineTfidf cannot be converted: export only the steps after it, with to_onnx"
    ):
        to_onnx(texts)
    words = make_online_pipeline(OnlineOneHotEncoder(4), NAGRegressor()).partial_fit([["a"], ["c"]], [0.0, 1.0])
    with pytest.raises(TypeError, match="needs StringTensorType for words in categories_, not the type of 'X': export"):
        to_onnx(words)


@pytest.mark.parametrize("names", [["town", "rooms"], ["rooms", "town"]])
def test_words_beside_numbers_are_refused_unless_they_are_words_as_well(run, names):
    pd = pytest.importorskip("pandas")
    from skl2onnx.common.data_types import DoubleTensorType, StringTensorType

    frame = pd.DataFrame({"town": ["u", "v"] * 100, "rooms": [1.0, 123456.789, np.nan, 1 / 3] * 50})[names]
    words = OnlineColumnTransformer([("words", OnlineOneHotEncoder(20), names)])
    model = make_online_pipeline(words, NAGRegressor()).partial_fit(frame, frame["rooms"].isna())
    types = [(name, StringTensorType([None, 1])) for name in names]
    given = [types[0], (names[1], DoubleTensorType([None, 1]))]
    with pytest.raises(TypeError, match=f"needs StringTensorType for words in .*, not the type of {names[1]!r}"):
        to_onnx(model, initial_types=given)
    known = dict(zip(names, model[0].named_transformers_["words"].categories_))
    given = {name: frame[name].astype(object).to_numpy()[:, None] for name in names}
    given["rooms"] = np.array([[word or ""] for word in known["rooms"][[0, 1, 2, 3] * 50]], dtype=object)
    for graph in (to_onnx(model, initial_types=types), to_onnx(model)):
        got = run(graph, given)[0][:, 0]
        np.testing.assert_allclose(got, model.predict(frame), rtol=1e-12, atol=1e-12)


def test_an_empty_word_is_a_missing_one_though_there_were_both(run):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": np.array(["x", "", None] * 50, dtype=object)})
    words = OnlineColumnTransformer([("words", OnlineOneHotEncoder(8), ["a"])])
    model = make_online_pipeline(words, NAGRegressor()).partial_fit(frame, np.arange(3.0)[[0, 1, 2] * 50])
    got = run(to_onnx(model), {"a": np.array([["x"], [""]], dtype=object)})[0][:, 0]
    np.testing.assert_allclose(got, model.predict(frame[:3])[[0, 2]], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("learner", [NAGRegressor(), NAGClassifier()])
def test_inputs_have_the_names_of_their_columns(run, learner):
    pd = pytest.importorskip("pandas")
    import onnx

    names = ["a b", "a_b", "a_b1", "unit price", "size (m)", "1", "a=b", "\u00e9 1", "constant", "cast"]
    frame = pd.DataFrame(CANCER[0][:, : len(names)] * np.arange(1, 1 + len(names)), columns=names)
    given = {name: frame[[name]].to_numpy() for name in names}
    more = {"classes": [0, 1]} if is_classifier(learner) else {}
    model = prepare(frame, learner).partial_fit(frame, CANCER[1], **more)
    graph = to_onnx(model)
    onnx.checker.check_model(graph, full_check=True)
    assert [known.name for known in graph.graph.input] == names
    np.testing.assert_allclose(run(graph, given)[-1], expected(model, frame)[-1], rtol=1e-9, atol=1e-12)
    for name in ("", "label" if more else "variable"):
        model = prepare(other := frame.rename(columns={"a b": name}), learner).partial_fit(other, CANCER[1], **more)
        with pytest.raises(ValueError, match=f"has the name {name!r}, which is empty or that of an output: rename"):
            to_onnx(model)


def test_steps_that_let_rows_pass(run):
    pd = pytest.importorskip("pandas")
    X, y = CANCER
    imputer = make_online_pipeline("passthrough", OnlineImputer(), None)
    for steps in (["passthrough", imputer], [imputer, "passthrough"], [StandardScaler(), None]):
        for make in (make_pipeline, make_online_pipeline):
            model = make(*steps, NAGRegressor(**QUICK)).fit(X, y)
            np.testing.assert_allclose(run(to_onnx(model), X)[0], expected(model, X)[0], rtol=1e-6)
    frame = pd.DataFrame(X[:, :2], columns=["size", "price"])
    columns = OnlineColumnTransformer([("gaps", imputer, ["size"]), ("rest", "passthrough", ["price"])])
    model = make_online_pipeline("passthrough", columns, NAGRegressor()).partial_fit(frame, y)
    got = run(to_onnx(model), {name: frame[[name]].to_numpy() for name in frame})
    np.testing.assert_allclose(got[0], expected(model, frame)[0], rtol=1e-9)


def test_options(run):
    clf = NAGClassifier(**QUICK).fit(*WINE)
    X = WINE[0]
    scores = run(to_onnx(clf, options={id(clf): {"zipmap": False, "raw_scores": True}}), X)[1]
    np.testing.assert_allclose(scores, clf.decision_function(X), rtol=1e-10)
    for model in (clf, make_pipeline(StandardScaler(with_mean=False), clf).fit(*WINE)):
        dicts = run(to_onnx(model, options={}), X)[1]
        assert dicts[0] == pytest.approx(dict(enumerate(model.predict_proba(X)[0])), abs=1e-6)
    clf.fit(*WINE)
    small = run(to_onnx(clf, target_opset=15), X)[1]
    np.testing.assert_allclose(small, clf.predict_proba(X), rtol=1e-10)


def test_float32(run):
    from skl2onnx.common.data_types import FloatTensorType

    X, y = CANCER
    clf = NAGClassifier(**QUICK).fit(X, y)
    types = [("X", FloatTensorType([None, 30]))]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        near = to_onnx(clf, initial_types=types)
    rows = X.astype(np.float32)
    label, probability = run(near, rows)
    assert probability.dtype == np.float32
    assert np.array_equal(label, clf.predict(rows))
    np.testing.assert_allclose(probability, clf.predict_proba(rows), atol=1e-6)
    distant = NAGClassifier(**QUICK).fit(X + 1e7 * np.eye(30)[3], y)
    with pytest.warns(UserWarning, match=r"float32 rounds feature 'x3', whose mean is 1.00007e\+07 .* use float64"):
        to_onnx(distant, initial_types=types)


def test_labels_that_are_booleans_and_the_missing_package(run, monkeypatch):
    X, y = CANCER
    clf = NAGClassifier(**QUICK).fit(X, y == 1)
    assert np.array_equal(run(to_onnx(clf), X)[0], clf.predict(X))
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match=re.escape(how_to_install("onnx"))):
        to_onnx(clf)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_labels_that_onnx_has_and_those_that_it_has_not(run):
    X, y = CANCER
    for labels in (
        np.array([2**63 - 1, 5], dtype=np.uint64), np.array([-(2**63), 7]), np.array([True, False]),
        np.array([3, 4], dtype=object), np.array([2.0, 4.0]),
    ):  # fmt: skip
        model = NAGClassifier(**QUICK).fit(X, labels[y])
        assert np.array_equal(run(to_onnx(model), X)[0], model.predict(X).astype(np.int64))
    beyond = NAGClassifier(**QUICK).fit(X, np.array([3, 2**63 + 5], dtype=np.uint64)[y])
    with pytest.raises(ValueError, match="labels in ONNX .* the class 9223372036854775813 is neither"):
        to_onnx(beyond)


def test_models_that_are_not_fitted():
    pytest.importorskip("skl2onnx", reason="skl2onnx comes with the extra onnx")
    for model in (NAGClassifier(), NAGRegressor(), make_pipeline(StandardScaler(), NAGClassifier())):
        with pytest.raises(NotFittedError):
            to_onnx(model)
