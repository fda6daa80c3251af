"""How far predictions of exported models are from those of the models they were made from.

    python -m benchmarks.export [--data-dir FOLDER] [--output FILE] [--quick]

Models with default parameters are fitted on raw rows, and predict the same rows. Differences are the largest over rows
and classes: of probabilities, or of predictions in standard deviations of the target. ``ONNX float32`` takes rows
rounded to float32. ``stock`` is what skl2onnx's own converter of linear classifiers makes of our classifier: because of
``multi_class="multinomial"``, it takes a softmax of two decision values, though here two classes have one. Without
``--data-dir``, only data that ship with scikit-learn are used.
"""

import warnings

import numpy as np
import onnxruntime
import pandas as pd
import skl2onnx
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType
from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes
from skl2onnx.operator_converters.linear_classifier import convert_sklearn_linear_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.exceptions import ConvergenceWarning

from sklearn_nag import NAGClassifier, NAGRegressor
from sklearn_nag.io import to_onnx

from .data import bank, california, parse, shuttle
from .options import load_each


def bundled():
    """Yield sets that ship with scikit-learn: name, rows, targets."""
    X, y = load_breast_cancer(return_X_y=True)
    yield "breast cancer, 2 classes", X, y
    distant = X.copy()
    distant[:, 3] += 1e7
    yield "the same, one feature moved by 1e7", distant, y
    X, y = load_digits(return_X_y=True)
    some = y < 7
    yield "digits 0 to 6, 7 classes", X[some], y[some]
    X, y = load_diabetes(return_X_y=True, scaled=False)
    yield "diabetes, regression", X, y
    yield "diabetes, 3 outputs", X, np.column_stack([y, -1e-6 * y, y**2])


def in_folder(folder):
    """Yield sets in a folder: name, rows, targets."""
    sets = {"Bank, 2 classes": bank, "Shuttle, 7 classes": shuttle, "California housing": california}
    for name, X, y, regression in load_each(sets, folder):
        if regression:
            yield f"{name}, regression", X, y
            yield f"{name}, 2 outputs", X, np.column_stack([y, np.log(y)])
        else:
            yield name, X, y


def run(graph, X):
    """Return the last output of a graph: probabilities or predictions."""
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"X": X})[-1]


def stock(clf, X):
    """Return what skl2onnx's own linear converter makes of our classifier."""
    skl2onnx.update_registered_converter(
        NAGClassifier,
        "StockLinearClassifier",
        calculate_linear_classifier_output_shapes,
        convert_sklearn_linear_classifier,
        options={"zipmap": [True, False], "raw_scores": [True, False], "nocl": [True, False]},
    )
    types = [("X", DoubleTensorType([None, X.shape[1]]))]
    return run(skl2onnx.to_onnx(clf, initial_types=types, options={id(clf): {"zipmap": False}}), X)


def differences(X, y, max_iter):
    """Return one row of the table."""
    regression = y.dtype.kind == "f"
    model = (NAGRegressor if regression else NAGClassifier)(random_state=0, max_iter=max_iter).fit(X, y)
    ours = model.predict(X).reshape(len(X), -1) if regression else model.predict_proba(X)
    unit = np.std(y, axis=0) if regression else 1.0

    def far(theirs):
        return np.max(np.abs(theirs.reshape(ours.shape) - ours) / unit)

    exported = model.to_sklearn()
    row = {"to_sklearn": far(exported.predict(X) if regression else exported.predict_proba(X))}
    row["ONNX"] = far(run(to_onnx(model), X))
    types = [("X", FloatTensorType([None, X.shape[1]]))]
    row["ONNX float32"] = far(run(to_onnx(model, initial_types=types), X.astype(np.float32)))
    row["stock"] = np.nan if regression else far(stock(model, X))
    return row


def main():
    """Print the table, and write it as CSV."""
    options = parse(__doc__, "CSV file to write", "two passes for each model: that it runs")
    for category in (ConvergenceWarning, UserWarning):
        warnings.simplefilter("ignore", category)
    table = {}
    for name, X, y in [*bundled(), *([] if options.data_dir is None else in_folder(options.data_dir))]:
        X = np.ascontiguousarray(X, dtype=np.float64)
        table[name] = differences(X, y, 2 if options.quick else 1000)
        print(f"{name:36}", *(f"{key} {value:.1e}" for key, value in table[name].items()), flush=True)
    if options.output is not None:
        short = pd.DataFrame(table).T.map(lambda value: "-" if np.isnan(value) else f"{value:.0e}")
        short.rename_axis("data").to_csv(options.output)


if __name__ == "__main__":
    main()
