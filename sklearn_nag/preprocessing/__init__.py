"""Transformers that learn row by row, as a stream passes through them to a learner."""

from ._cells import OnlineCells
from ._column_transformer import OnlineColumnTransformer
from ._curves import OnlineCurves
from ._dates import DateEncoder
from ._imputer import OnlineImputer
from ._interactions import Interactions
from ._numbers import NumberReader
from ._pipeline import OnlinePipeline, make_online_pipeline
from ._prepare import prepare
from ._products import OnlineProducts
from ._text import OnlineTfidf
from ._words import HashingEncoder, OnlineOneHotEncoder, OnlineOrdinalEncoder

__all__ = [
    "DateEncoder",
    "HashingEncoder",
    "Interactions",
    "NumberReader",
    "OnlineCells",
    "OnlineColumnTransformer",
    "OnlineCurves",
    "OnlineImputer",
    "OnlineOneHotEncoder",
    "OnlineOrdinalEncoder",
    "OnlinePipeline",
    "OnlineProducts",
    "OnlineTfidf",
    "make_online_pipeline",
    "prepare",
]
