"""Transformers that learn row by row, so that a stream can go through them as it goes through a learner."""

from ._column_transformer import OnlineColumnTransformer
from ._imputer import OnlineImputer
from ._pipeline import OnlinePipeline, make_online_pipeline

__all__ = ["OnlineColumnTransformer", "OnlineImputer", "OnlinePipeline", "make_online_pipeline"]
