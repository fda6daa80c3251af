"""Transformers that learn row by row, so that a stream can go through them as it goes through a learner."""

from ._column_transformer import OnlineColumnTransformer
from ._imputer import OnlineImputer
from ._pipeline import OnlinePipeline, make_online_pipeline
from ._words import HashingEncoder, OnlineOneHotEncoder

__all__ = [
    "HashingEncoder",
    "OnlineColumnTransformer",
    "OnlineImputer",
    "OnlineOneHotEncoder",
    "OnlinePipeline",
    "make_online_pipeline",
]
