"""Models as files: ONNX graphs that predict without this package, and types that skops may trust."""

from ._onnx import register_onnx, to_onnx
from ._skops import trusted_types

__all__ = ["register_onnx", "to_onnx", "trusted_types"]
