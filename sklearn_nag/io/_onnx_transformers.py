"""ONNX graphs of transformers, or errors if graphs cannot hold them; and nodes of any graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from .. import preprocessing
from ..preprocessing import NumberReader, OnlineColumnTransformer, OnlineImputer, OnlineOneHotEncoder
from ..preprocessing._base import OnlineTransformer
from ..preprocessing._frames import DATES, WORDS
from ..preprocessing._steps import is_left_out


class Nodes:
    """Adds nodes and constants to a graph under unique names."""

    def __init__(self, scope, container):
        self.scope, self.container = scope, container

    def constant(self, values):
        """Add an array of floats, integers or strings; return its name."""
        from onnx import TensorProto

        values = np.asarray(values)
        kinds = {"f": TensorProto.DOUBLE, "i": TensorProto.INT64, "U": TensorProto.STRING}
        name = self.scope.get_unique_variable_name("constant")
        flat = [value.encode() for value in values.ravel()] if values.dtype.kind == "U" else values.ravel().tolist()
        self.container.add_initializer(name, kinds[values.dtype.kind], list(values.shape), flat)
        return name

    def add(self, kind, *inputs, output=None, **attributes):
        """Add a node; return the name of its result."""
        output = output or self.scope.get_unique_variable_name(kind.lower())
        name = self.scope.get_unique_operator_name(kind)
        self.container.add_node(kind, list(inputs), [output], name=name, **attributes)
        return output

    def double(self, name):
        """Convert a named value to float64; return the result's name."""
        from onnx import TensorProto

        return self.add("Cast", name, to=TensorProto.DOUBLE)

    def output(self, variable, name):
        """Make a named value the output of a variable, with its type."""
        self.add("Cast", name, output=variable.full_name, to=variable.type.to_onnx_type().tensor_type.elem_type)


def as_known(estimator: Any) -> Any:
    """An estimator as skl2onnx knows it: with scikit-learn's column transformers, without passthrough steps."""
    if isinstance(estimator, Pipeline):
        kept = [(name, as_known(step)) for name, step in estimator.steps if not is_left_out(step)]
        return estimator if type(estimator) is Pipeline and kept == estimator.steps else Pipeline(kept)
    if isinstance(estimator, OnlineColumnTransformer):
        names = getattr(estimator, "feature_names_in_", np.arange(estimator.n_features_in_))
        steps = [(name, as_known(step), names[places].tolist()) for name, step, places in estimator.transformers_]
        known = ColumnTransformer(steps)
        known.transformers_ = steps
        return known
    return estimator


def inputs_of(estimator: Any) -> list[tuple[str, Any]]:
    """Names and types of a graph's inputs: one of float64 rows, or one for each named column."""
    from skl2onnx.common.data_types import DoubleTensorType, StringTensorType

    first = estimator
    while isinstance(first, Pipeline):
        first = next(step for _, step in first.steps if not is_left_out(step))
    if not (isinstance(first, OnlineColumnTransformer) and hasattr(first, "feature_names_in_")):
        return [("X", DoubleTensorType([None, first.n_features_in_]))]
    used = [(name, kind) for name, kind in zip(first.feature_names_in_, first.kinds_) if kind]
    if dates := [name for name, kind in used if kind == DATES]:
        _raise_for(first, f"takes dates, as in {dates[0]!r}, which ONNX does not have")
    return [(name, (StringTensorType if kind == WORDS else DoubleTensorType)([None, 1])) for name, kind in used]


def register(update: Any) -> None:
    """Register transformers with skl2onnx; ``update`` is its ``update_registered_converter``."""
    converters = {
        OnlineImputer: (_shapes_of_imputer, _convert_imputer),
        OnlineOneHotEncoder: (_shapes_of_one_hot, _convert_one_hot),
        NumberReader: (_shapes_of_reader, _convert_reader),
    }
    for kind in vars(preprocessing).values():
        if isinstance(kind, type) and issubclass(kind, OnlineTransformer):
            update(kind, f"SklearnNag{kind.__name__}", *converters.get(kind, (_refuse, _convert_none)))


def _refuse(operator):
    _raise_for(operator.raw_operator, "cannot be converted")


def _convert_none(scope, operator, container):
    _refuse(operator)


def _raise_for(transformer, why):
    raise TypeError(
        f"ONNX graphs do not support every transformer, and this {type(transformer).__name__} {why}: export only the "
        "steps after it, with to_onnx(pipeline[-1]), and transform the rows with pipeline[:-1]."
    )


def _of_doubles(operator, n_columns):
    from skl2onnx.common.data_types import DoubleTensorType

    operator.outputs[0].type = DoubleTensorType([operator.inputs[0].get_first_dimension(), n_columns])


def _holds_words(column):
    from skl2onnx.common.data_types import StringTensorType

    return isinstance(column.type, StringTensorType)


def _doubles(nodes, operator):
    """Join all input columns in float64; return the result's name."""
    return nodes.add("Concat", *(nodes.double(variable.full_name) for variable in operator.inputs), axis=1)


def _shapes_of_imputer(operator):
    imputer = operator.raw_operator
    if imputer._state.holds_words or any(map(_holds_words, operator.inputs)):
        _raise_for(imputer, "takes only numbers there")
    _of_doubles(operator, imputer.n_features_in_ * (1 + imputer.add_indicator))


def _convert_imputer(scope, operator, container):
    imputer, nodes = operator.raw_operator, Nodes(scope, container)
    rows = _doubles(nodes, operator)
    missing = nodes.add("IsNaN", rows)
    filled = nodes.add("Where", missing, nodes.constant(imputer.statistics_.astype(np.float64)), rows)
    if imputer.add_indicator:
        filled = nodes.add("Concat", filled, nodes.double(missing), axis=1)
    nodes.output(operator.outputs[0], filled)


def _shapes_of_reader(operator):
    if any(map(_holds_words, operator.inputs)):
        _raise_for(operator.raw_operator, "takes only numbers there")
    _of_doubles(operator, operator.raw_operator.n_features_in_)


def _convert_reader(scope, operator, container):
    nodes = Nodes(scope, container)
    nodes.output(operator.outputs[0], _doubles(nodes, operator))


def _shapes_of_one_hot(operator):
    encoder, columns = operator.raw_operator, operator.inputs
    for other in operator.scope_inst.operators.values():
        if other.type == "SklearnConcat" and columns[0] in other.outputs:
            columns = other.inputs  # SklearnConcat makes words of these, but not as the model does
    for column in columns:
        if not _holds_words(column):
            _raise_for(encoder, f"needs StringTensorType for words in categories_, not the type of {column.raw_name!r}")
    _of_doubles(operator, encoder.n_features_in_ * int(encoder.max_categories))


def _convert_one_hot(scope, operator, container):
    encoder, nodes = operator.raw_operator, Nodes(scope, container)
    words = nodes.add("Concat", *(variable.full_name for variable in operator.inputs), axis=1)
    width, blocks = int(encoder.max_categories), []
    for i, known in enumerate(encoder.categories_):
        places = {word: place for place, word in enumerate(known.tolist())}
        if None in places:  # ONNX has no missing words; empty ones stand for them
            places[""] = places.pop(None)
        column = nodes.add("Gather", words, nodes.constant([i]), axis=1)
        code = nodes.add(
            "LabelEncoder", column, keys_strings=list(places), values_int64s=list(places.values()),
            default_int64=width - 1, op_domain="ai.onnx.ml", op_version=2,
        )  # fmt: skip
        blocks.append(nodes.double(nodes.add("Equal", code, nodes.constant(np.arange(width)[None]))))
    nodes.output(operator.outputs[0], nodes.add("Concat", *blocks, axis=1))
