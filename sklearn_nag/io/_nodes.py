"""Nodes of ONNX graphs."""

from __future__ import annotations

import numpy as np


class Nodes:
    """Adds nodes and constants to a graph under names of its own."""

    def __init__(self, scope, container):
        self.scope, self.container = scope, container

    def constant(self, values):
        """Name of a constant: an array of floats, of integers or of strings."""
        from onnx import TensorProto

        values = np.asarray(values)
        kinds = {"f": TensorProto.DOUBLE, "i": TensorProto.INT64, "U": TensorProto.STRING}
        name = self.scope.get_unique_variable_name("constant")
        flat = [value.encode() for value in values.ravel()] if values.dtype.kind == "U" else values.ravel().tolist()
        self.container.add_initializer(name, kinds[values.dtype.kind], list(values.shape), flat)
        return name

    def add(self, kind, *inputs, output=None, **attributes):
        """Name of what a new node gives."""
        output = output or self.scope.get_unique_variable_name(kind.lower())
        name = self.scope.get_unique_operator_name(kind)
        self.container.add_node(kind, list(inputs), [output], name=name, **attributes)
        return output

    def output(self, variable, name):
        """Make the float64 values under a name the output that a variable stands for, of the variable's type."""
        from onnx import TensorProto
        from skl2onnx.common.data_types import DoubleTensorType

        kind = TensorProto.DOUBLE if isinstance(variable.type, DoubleTensorType) else TensorProto.FLOAT
        self.add("Cast", name, output=variable.full_name, to=kind)
