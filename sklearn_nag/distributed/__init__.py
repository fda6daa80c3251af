"""Training in shards that are merged: `shard_fit` on one machine, `sklearn_nag.dask` on a cluster."""

from ._shards import shard_fit

__all__ = ["shard_fit"]
