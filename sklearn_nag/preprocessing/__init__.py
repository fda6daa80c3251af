"""Transformers that learn row by row, so that a stream can go through them as it goes through a learner."""

from ._pipeline import OnlinePipeline, make_online_pipeline

__all__ = ["OnlinePipeline", "make_online_pipeline"]
