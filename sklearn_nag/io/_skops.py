"""Types for skops to trust."""

from __future__ import annotations

import sys

from .. import estimators, preprocessing
from ..constraints import Box, L2Ball, Simplex, WeightedL1Ball
from ..estimators._online import OnlineLinear
from ..kernels import FixedRate, LinearRule, LinearState, PlacedState
from ..kernels.state.columns import Columns
from ..kernels.state.mixture import FixedShare, Mixture
from ..kernels.state.targets import Targets
from ..preprocessing._base import OnlineTransformer
from ..uncertainty import Probabilities, Quantiles

PACKAGE = __name__.partition(".")[0]
# By name, because `io` does not import what they are made of.
_ENSEMBLES = {
    f"{PACKAGE}.ensemble.{name}"
    for name in (
        "_bootstrap.OnlineBootstrap",
        "_cells.NAGCellsClassifier",
        "_cells.NAGCellsRegressor",
        "_experts.Expert",
        "_hedge.HedgeClassifier",
        "_hedge.HedgeRegressor",
    )
}


def learners():
    """All public estimators whose model is one of the kernels'."""
    return [kind for kind in vars(estimators).values() if isinstance(kind, type) and issubclass(kind, OnlineLinear)]


def trusted_types() -> list[str]:
    """Get the types of this package that a model saved with skops contains.

    skops loads files without running code from them, and asks for a list of types to trust. With this list it loads
    learners, mixtures and transformers of this package, which go on learning with the same bits. Other types in the
    file, such as those of a search or of other steps of a pipeline, are yours to check.

    Returns
    -------
    list of str
        Sorted, for ``skops.io.load(file, trusted=...)``.

    See Also
    --------
    to_onnx : Export a graph that predicts without this package.

    Examples
    --------
    >>> from sklearn_nag.io import trusted_types
    >>> "sklearn_nag.estimators._nag.NAGClassifier" in trusted_types()
    True
    """
    types = {
        Columns,
        FixedRate,
        FixedShare,
        Mixture,
        PlacedState,
        Probabilities,
        Quantiles,
        Targets,
        Box,
        L2Ball,
        Simplex,
        WeightedL1Ball,
        *learners(),
        *_below(LinearRule),
        *_below(LinearState),
    }
    types.update(kind for kind in vars(preprocessing).values() if isinstance(kind, type))
    names = _ENSEMBLES | {f"{t.__module__}.{t.__qualname__}" for t in types}
    names.update(*map(_states_of, _below(OnlineTransformer)))
    return sorted(name for name in names if name.startswith(f"{PACKAGE}."))


def _states_of(transformer):
    """Names of the types in a transformer's state: named tuples of its module, also of earlier versions."""
    file = transformer.__module__
    return {f"{file}.{name}" for name, kind in vars(sys.modules[file]).items() if hasattr(kind, "_fields")}


def _below(base):
    """All classes derived from ``base``."""
    for derived in base.__subclasses__():
        yield derived
        yield from _below(derived)
