"""Training on data that does not fit in memory: files, Arrow streams, lazy frames, iterables of frames."""

from ._fit import fit_stream
from ._read import Batches, read_batches

__all__ = ["Batches", "fit_stream", "read_batches"]
