"""ONNX graphs of fitted models, with converters that work wherever skl2onnx finds an estimator."""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from .. import losses
from .._extras import needed
from ..estimators._calls import turn_of
from ..estimators._exporting import warn_of_clipping_apart
from ..estimators._parameters import learner_of
from ..estimators._reading import names_of_features
from ..estimators._validation import as_given
from ..kernels import positive
from ..kernels.vectorized.prediction import unit_free
from ..preprocessing._base import OnlineTransformer
from ..uncertainty import probabilities
from . import _onnx_transformers
from ._onnx_transformers import Nodes
from ._skops import PACKAGE, learners

if TYPE_CHECKING:
    from onnx import ModelProto

FAR_IN_FLOAT32 = 2.0**14  # means this many scales from 0: float32 rounds rows by 2**-10 of the scale


def to_onnx(
    estimator: BaseEstimator,
    *,
    initial_types: list[tuple[str, Any]] | None = None,
    options: dict | None = None,
    target_opset: int | dict[str, int] | None = None,
) -> ModelProto:
    """Convert a fitted linear model of this package, or a pipeline with one, to an ONNX graph.

    The graph computes in float64. Its outputs are labels and probabilities (decision values, if the loss has no
    probabilities), or predictions. If features are centred and their means are far from 0, it subtracts the means from
    the rows, as the model does.

    Parameters
    ----------
    estimator : estimator
        Fitted estimator of this package, or any other that skl2onnx can convert. Of the transformers in
        `sklearn_nag.preprocessing`, graphs support `OnlineImputer` for numbers and `OnlineOneHotEncoder`, alone or in
        an `OnlineColumnTransformer`.
    initial_types : list of (str, skl2onnx type), optional
        Names and types of the inputs, as in skl2onnx. By default there is one input ``"X"`` of float64 rows. A pipeline
        that starts with an `OnlineColumnTransformer` of named columns has an input for each column it uses, of float64
        or of words; an empty word counts as missing.
    options : dict, optional
        Options of skl2onnx. By default, probabilities are an array (``{"zipmap": False}`` for each classifier).
        ``"raw_scores": True`` returns decision values instead.
    target_opset : int or dict, optional
        Version of the ONNX operators; by default the latest that skl2onnx supports.

    Returns
    -------
    onnx.ModelProto
        The graph. ``SerializeToString`` returns the content of a file.

    Raises
    ------
    ImportError
        If skl2onnx is not installed.
    NotFittedError
        If the estimator is not fitted.
    TypeError
        If graphs do not support the estimator, such as models made of several others, and some transformers.
    ValueError
        If classes are neither strings nor integers below 2**63, the only labels of ONNX, or if the name of an input is
        empty or that of an output.

    Warns
    -----
    UserWarning
        If inputs are float32 and features are so far from 0 that they lose digits.

    See Also
    --------
    register_onnx : Use skl2onnx directly.
    trusted_types : For models in skops files, which can go on learning.
    """
    register_onnx()
    check_is_fitted(estimator)
    last = learner_of(estimator)
    kind = type(last)
    if kind.__module__.startswith(f"{PACKAGE}.") and not isinstance(last, (*learners(), OnlineTransformer)):
        raise TypeError(
            f"an ONNX graph can hold only a single linear model, and this {kind.__name__} is made of others: export "
            "one of these, if it has neither curves nor cells."
        )
    from onnx import compose
    from skl2onnx import to_onnx as convert

    if initial_types is None:
        initial_types = _onnx_transformers.inputs_of(estimator)
    given, estimator = estimator, _onnx_transformers.as_known(estimator)
    if options and id(given) in options:
        options = {**options, id(estimator): options[id(given)]}
    if options is None and is_classifier(estimator):
        options = {id(estimator): {"zipmap": False}}
    names, taken = [name for name, _ in initial_types], {""}
    if "" not in names:
        model = convert(estimator, initial_types=initial_types, options=options, target_opset=target_opset)
        taken = {output.name for output in model.graph.output}
    for name in taken.intersection(names):
        raise ValueError(
            f"an input has the name {name!r}, which is empty or that of an output: rename the column, and fit again."
        )
    own = {column.name: name for column, name in zip(model.graph.input, names)}  # skl2onnx turns names into identifiers
    compose.add_prefix_graph(model.graph, "", rename_edges=False, rename_inputs=False, inplace=True, name_map=own)
    return model


def register_onnx() -> None:
    """Register the estimators of this package with skl2onnx, so that its own functions convert them.

    Raises
    ------
    ImportError
        If skl2onnx is not installed.

    See Also
    --------
    to_onnx : Register and convert.
    """
    update_registered_converter = needed("skl2onnx", "onnx", "ONNX needs").update_registered_converter
    options = {"zipmap": [True, False, "columns"], "raw_scores": [True, False], "nocl": [True, False]}
    for estimator in learners():
        alias = f"SklearnNag{estimator.__name__}"
        if is_classifier(estimator()):
            update_registered_converter(estimator, alias, _shapes_of_classifier, _convert_classifier, options=options)
        else:
            update_registered_converter(estimator, alias, _shapes_of_regressor, _convert_regressor)
    _onnx_transformers.register(update_registered_converter)


def _between_calls(convert):
    """Let ``convert`` see its operator's model between calls that change it."""

    @functools.wraps(convert)
    def wrapped(*args):
        model = next(arg.raw_operator for arg in args if hasattr(arg, "raw_operator"))
        turn = turn_of(model)
        with turn.lock:
            if turn.seen(model) is not model:
                raise RuntimeError("a signal handler cannot export a model that is learning: export it after the call.")
            check_is_fitted(model)
            return convert(*args)

    return wrapped


def _decision_values(scope, operator, container):
    """Add nodes for the decision values of an operator's model; return `Nodes` and the result's name.

    They compute in float64, and every runtime has them; ONNX's linear models support only float32.
    """
    from skl2onnx.common.data_types import FloatTensorType

    model, x, nodes = operator.raw_operator, operator.inputs[0], Nodes(scope, container)
    if isinstance(x.type, FloatTensorType):
        _warn_of_float32(model)
    return nodes, _linear_function(nodes, model._state, nodes.double(x.full_name))


def _linear_function(nodes, state, x):
    """Add nodes for the decision values of a kernel's model on rows ``x``; return the result's name."""
    coef, intercept, reach = state.linear()
    if not reach and (models := state.models()):
        parts = [(nodes.constant(share), _linear_function(nodes, model, x)) for share, model in models]
        return nodes.add("Sum", *(nodes.add("Mul", share, values) for share, values in parts))
    if not reach:
        n_features = coef.shape[1]
        coef, rest, origin = unit_free(state)
        intercept = rest + origin
        if state.rule.centred:
            lift = state.columns.lift[:n_features]
            for shift in (state.columns.origin, state.mean_from_origin()):
                x = nodes.add("Sub", x, nodes.constant(shift[:n_features] / lift))
        x = nodes.add("Div", x, nodes.constant(positive(state.scale())[:n_features]))
    return nodes.add("Add", nodes.add("MatMul", x, nodes.constant(coef.T)), nodes.constant(intercept))


def _warn_of_float32(model):
    """Warn if float32 rows lose digits that the model would see."""
    state, n_features = model._state, model.n_features_in_
    used = (state.unit_free_weight()[:, :n_features] != 0).any(axis=0)
    far = np.flatnonzero(state.far(FAR_IN_FLOAT32)[:n_features] & used) if state.rule.centred else []
    if len(far):
        name = names_of_features(model)[far[0]]
        others = f" (one of {len(far)} such features)" if len(far) > 1 else ""
        warnings.warn(
            f"float32 rounds feature {name!r}{others}, whose mean is {model.mean_[far[0]]:.6g} and whose scale is "
            f"{model.scale_[far[0]]:.3g}, by more than 2**-10 of its scale: use float64 inputs (DoubleTensorType), or "
            "subtract a number near the mean beforehand.",
            UserWarning,
            stacklevel=2,
        )


def _shapes_of_classifier(operator):
    from skl2onnx.common.data_types import FloatTensorType
    from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes

    calculate_linear_classifier_output_shapes(operator)
    probabilities = operator.outputs[1]
    probabilities.type = _type_of_output(operator, probabilities.type.shape)
    others = operator.scope_inst.operators.values()
    if any(other.type == "SklearnZipMap" and probabilities in other.inputs for other in others):
        probabilities.type = FloatTensorType(probabilities.type.shape)  # ONNX's ZipMap takes no other type


@_between_calls
def _shapes_of_regressor(operator):
    shape = [operator.inputs[0].get_first_dimension(), len(operator.raw_operator._state.linear()[0])]
    operator.outputs[0].type = _type_of_output(operator, shape)


def _type_of_output(operator, shape):
    """Type as precise as the model's rows; skl2onnx would take the graph's first column, even of words."""
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    return (DoubleTensorType if isinstance(operator.inputs[0].type, DoubleTensorType) else FloatTensorType)(shape)


@_between_calls
def _convert_regressor(scope, operator, container):
    nodes, decision = _decision_values(scope, operator, container)
    ends = operator.raw_operator._state.clip_range()
    if ends is not None:
        warn_of_clipping_apart(operator.raw_operator)
        low, high = map(nodes.constant, ends)
        decision = nodes.add("Min", nodes.add("Max", decision, low), high)
    if operator.raw_operator._predicts_logarithms:
        decision = nodes.add("Exp", nodes.add("Min", decision, nodes.constant([losses.MOST_LOG])))
    nodes.output(operator.outputs[0], decision)


@_between_calls
def _convert_classifier(scope, operator, container):
    from onnx import TensorProto

    model, options = operator.raw_operator, container.get_options(operator.raw_operator, {"raw_scores": False})
    if model._has_labels:
        raise ValueError("to_onnx cannot export a classifier of several labels: export one model for each label.")
    nodes, decision = _decision_values(scope, operator, container)
    n_classes = len(model.classes_)
    if n_classes == 2:
        above = nodes.add("Greater", decision, nodes.constant([0.0]))
        code = nodes.add("Reshape", nodes.add("Cast", above, to=TensorProto.INT64), nodes.constant([-1]))
        decision = nodes.add("MatMul", decision, nodes.constant([[-1.0, 1.0]]))
    else:
        code = nodes.add("ArgMax", decision, axis=1, keepdims=0)
    nodes.add("Gather", nodes.constant(_labels(model.classes_)), code, output=operator.outputs[0].full_name, axis=0)
    if not options["raw_scores"] and hasattr(model, "predict_proba"):
        decision = _probabilities(nodes, model, decision, n_classes)
    nodes.output(operator.outputs[1], decision)


def _labels(classes):
    """Classes as integers or strings, which ONNX can hold."""
    if all(isinstance(label, str) for label in classes):
        return np.array(list(classes), dtype=str)
    labels = np.asarray(classes.tolist())
    if labels.dtype.kind in "biuf":
        integers = [int(label) for label in classes]
        if -(2**63) <= min(integers) and max(integers) < 2**63:
            return np.array(integers, dtype=np.int64)
    raise ValueError(
        f"labels in ONNX are strings or signed 64-bit integers; the class {as_given(classes[-1])} is neither: change "
        "the labels, and fit again."
    )


def _probabilities(nodes, model, decision, n_classes):
    """Add nodes for the probabilities of all classes; return the result's name.

    ``decision`` has a column for each class, of opposite signs for two classes.
    """
    if model.calibration is not None:
        if n_classes > 2 and model.loss == "log_loss" and not model._state.rule.coupled:
            faint = nodes.add("Exp", nodes.add("Neg", nodes.add("Abs", decision)))  # Softplus supports only float32
            rest = nodes.add("Log", nodes.add("Add", faint, nodes.constant([1.0])))
            decision = nodes.add("Sub", nodes.add("Min", decision, nodes.constant([0.0])), rest)
        factor, offset = probabilities.line(model._known(model._evidence), model._calibrated["has_unit"])
        factor = 0.5 * factor if n_classes == 2 else factor
        scaled = nodes.add("Mul", decision, nodes.constant([factor]))
        return nodes.add("Softmax", nodes.add("Add", scaled, nodes.constant(offset)), axis=1)
    if model._state.rule.coupled:
        return nodes.add("Softmax", decision, axis=1)
    if model.loss == "log_loss":
        probability = nodes.add("Sigmoid", decision)
    else:
        clipped = nodes.add("Min", nodes.add("Max", decision, nodes.constant([-1.0])), nodes.constant([1.0]))
        probability = nodes.add("Mul", nodes.add("Add", clipped, nodes.constant([1.0])), nodes.constant([0.5]))
    if n_classes == 2:
        return probability
    total = nodes.add("MatMul", probability, nodes.constant(np.ones((n_classes, n_classes))))
    share = nodes.add("Div", probability, total)
    some = nodes.add("Greater", total, nodes.constant([0.0]))
    return nodes.add("Where", some, share, nodes.constant([1.0 / n_classes]))
