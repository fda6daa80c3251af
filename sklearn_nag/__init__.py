"""Online linear learners for scikit-learn that take data in any units."""

import importlib
from typing import TYPE_CHECKING

from .ensemble import HedgeClassifier, HedgeRegressor, NAGCellsClassifier, NAGCellsRegressor, OnlineBootstrap
from .estimators import (
    ClippingWarning,
    FTRLClassifier,
    FTRLRegressor,
    NAGClassifier,
    NAGRegressor,
    ScaleInvariantClassifier,
    ScaleInvariantRegressor,
    report_progress,
)
from .kernels._backend import config_context, get_config, set_config
from .merging import merge

__version__ = "1.0.0rc1"  # read by the build, which imports nothing

__all__ = [
    "ClippingWarning",
    "FTRLClassifier",
    "FTRLRegressor",
    "HedgeClassifier",
    "HedgeRegressor",
    "NAGCellsClassifier",
    "NAGCellsRegressor",
    "NAGClassifier",
    "NAGRegressor",
    "OnlineBootstrap",
    "ScaleInvariantClassifier",
    "ScaleInvariantRegressor",
    "__version__",
    "config_context",
    "get_config",
    "merge",
    "report_progress",
    "set_config",
]

# Public modules, loaded on first use.
_PARTS = {
    *("constraints", "dask", "datasets", "distributed", "io", "model_selection", "preprocessing", "regret", "streams")
}

if TYPE_CHECKING:
    from . import (  # noqa: F401
        constraints,
        dask,
        datasets,
        distributed,
        io,
        model_selection,
        preprocessing,
        regret,
        streams,
    )  # fmt: skip
else:  # with this, a type checker would accept any name

    def __getattr__(name):
        if name in _PARTS:
            return importlib.import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_PARTS])
