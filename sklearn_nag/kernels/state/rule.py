"""What every rule tells the shared parts of the kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from ...constraints import Box
from .fields import Field
from .frequent import begins


class Family(NamedTuple):
    """The parts of a family of learners, as declared by its package.

    Attributes
    ----------
    package : str
        Name of the package. Its modules ``numpy_rows`` and ``numba_rows`` each have ``learn_rows``.
    merge : callable or None
        Merges several models, as `sklearn_nag.kernels.merge`; None if the family cannot.
    lead : callable or None
        As `sklearn_nag.kernels.lead`; None if that is a copy.
    learns_apart : bool
        Whether its states have ``for_targets`` and ``put_targets``, so that threads can learn some targets each.
    fading : callable or None
        ``fading(learn_rows, multiply, rule, compiled)`` is a ``learn_rows`` that fades what was learnt. ``multiply`` is
        `Columns.multiply`, or its compiled version. None if nothing fades.
    """

    package: str
    merge: Callable[..., Any] | None = None
    lead: Callable[..., Any] | None = None
    learns_apart: bool = False
    fading: Callable[..., Any] | None = None


class LinearRule:
    """Base of the rules of all families.

    A rule is a frozen dataclass with the parameters of a family. The shared parts of the kernel read from it ``State``,
    the class of its models, ``family``, and

    ============================ ======================================================================================
    ``intercept``                whether the last column is the constant 1; it is never penalised
    ``normalization``            ``"max"``, ``"rms"``, ``"auto"`` or None. The scale ``s`` is, in this order: largest
                                 ``|x|``; root mean square (RMS) of ``x``; the RMS for frequent columns and, for others,
                                 its geometric mean (weight 1/4) with the RMS of nonzero entries (3/4); 1
    ``centred``                  whether ``x`` stands for the deviation from the running mean
    ``columnwise``               whether the weight of an uncentred column is a function of what is stored for it
    ``half_life``                total weight of rows after which what was learnt counts half
    ``forgets``                  whether there is a half-life, so that models fade
    ``selective``                whether only frequent columns are centred (see `frequent`)
    ``named_clearly``            whether, while models forget, only clearly more than half of the rows make a column
                                 frequent
    ``begins``                   share of the rows in which a column must be nonzero to become frequent
    ``weight_power``             weights in raw units are ``weight / s ** weight_power``; 0 if they are another
                                 function of what is stored
    ``target_unit``              whether the unit of the targets and, with an intercept, their origin are learnt
    ``degree``                   ``y -> a y`` multiplies the loss by ``a ** degree``; for ``target_unit``
    ``robust``                   whether derivatives of the loss are bounded; then no row may set the unit of the
                                 targets either (see `targets`)
    ``outlying``                 if robust: largest distance from the mean, in units, at which targets count
    ``log_link``                 whether predictions are logarithms of what is predicted; with ``target_unit``, they are
                                 relative to the logarithm of the running mean of the targets
    ``coupled``                  whether the loss compares the heads of a row with one another
    ``n_targets``, ``n_heads``   number of targets, and of weight vectors: one for each target of each expert
    ``sharing``                  number of adjacent heads that share one ``G`` for each column
    ``clip``                     least and largest prediction, ``"targets"`` for those of the targets so far, or None
    ``experts``, ``mixed``       heads for each target, and whether they make one prediction together
    ``constraint``               set in which weights must stay, or None
    ``lifted``                   whether columns are lifted (see `lifts`)
    ``penalised``, ``averaged``  whether weights are penalised, and whether their average makes predictions
    ``lazy``                     whether a row leaves the columns that it does not name unchanged, or to be updated when
                                 they are next read
    ``FIELDS``                   fields that may be stored for each column (see `fields`); the same for a whole family
    ============================ ======================================================================================
    """

    State: ClassVar[type]
    family: ClassVar[Family]
    FIELDS: ClassVar[tuple[Field, ...]]
    not_zero: ClassVar[tuple[str, ...]] = ()  # parameters used as divisors
    as_begun: ClassVar[tuple[str, ...]] = ("outlying",)  # parameters that a model keeps; earlier versions had others
    of_steps: ClassVar[tuple[str, ...]] = ()  # flags that may differ in merged models: only steps depend on them
    columnwise: ClassVar[bool] = False
    half_life = np.inf
    named_clearly = False
    holds_scales: ClassVar[bool] = False  # whether scales of centred columns fall slowly while a model forgets
    fades_on_the_way: ClassVar[bool] = False  # whether compiled loops fade themselves, with rare columns in units
    weight_power: ClassVar[int] = 0
    damps = False
    sharing = 1
    robust = False
    judged = False
    outlying = 32.0
    log_link = False
    constraint: Any = None

    @property
    def forgets(self):
        """Whether what was learnt fades."""
        return self.half_life < np.inf

    @property
    def drops_rounding(self):
        """Whether deviations that may be rounding count as 0, because all else known of a column may be forgotten."""
        return self.forgets and self.centred

    @property
    def selective(self):
        """Whether only frequent columns are centred."""
        return self.centred and self.normalization == "auto"

    @property
    def begins(self):
        """Share of the rows in which a column must be nonzero to become frequent."""
        return begins(self.half_life if self.named_clearly else np.inf)

    @property
    def counts_entries(self):
        """Whether rows in which a column is 0, or is not, are counted."""
        return self.selective or self.normalization == "auto"

    @property
    def bounded(self):
        """Whether each weight has its own bounds, stored as `fields`."""
        return isinstance(self.constraint, Box)

    @property
    def projected(self):
        """Whether a set constrains all weights together."""
        return self.constraint is not None and not self.bounded

    @property
    def fields(self):
        """Names of the fields that heads share, in the order of the table."""
        return tuple(field.name for field in self.FIELDS if not field.per_head and field.needed(self))

    @property
    def fields_per_head(self):
        """Names of the fields that each head has separately."""
        return tuple(field.name for field in self.FIELDS if field.per_head and field.needed(self))

    def time_factor(self, t):
        """Divisor by which the scale of a column that no row names falls from ``t = 1`` on."""
        if self.normalization == "rms":
            return np.sqrt(t)
        return np.sqrt(np.sqrt(np.sqrt(t))) if self.normalization == "auto" else np.ones_like(t)

    def groups(self, heads):
        """Index of the judged group of each of the ``heads``."""
        within = heads % self.n_targets % self.n_groups
        return within if self.mixed else heads // self.n_targets * self.n_groups + within

    @property
    def n_judged(self):
        """Number of predictions, or groups of coupled ones, with their own share of the latest weights."""
        return self.n_played // self.n_targets * self.n_groups if self.judged else 0

    @property
    def by_latest(self):
        """The same rule, playing the latest weights instead of their average, which it still updates."""
        return self

    @property
    def n_played(self):
        """Number of predictions for a row: one for each target, of each expert if these are not mixed."""
        return self.n_targets if self.mixed else self.n_heads

    @property
    def n_groups(self):
        """Number of groups of targets within which experts are trusted alike."""
        return 1 if self.coupled else self.n_targets


@dataclass(frozen=True, kw_only=True)
class OneHeadRule(LinearRule):
    """Base of the rules with one head for each target, with the attributes of a loss that `LinearRule` lists.

    Attributes
    ----------
    n_targets : int
        Number of targets, and of heads.
    intercept : bool
        Whether the last column is the constant 1, whose weight is free: neither penalised nor constrained with the
        others.
    centred, target_unit, degree, coupled, clip, log_link, robust, outlying
        See `LinearRule`.
    """

    n_targets: int
    intercept: bool
    centred: bool
    target_unit: bool
    degree: int
    coupled: bool
    clip: tuple[float, float] | Literal["targets"] | None = None
    log_link: bool = False
    robust: bool = False
    outlying: float = 32.0

    experts = 1
    mixed = True
    lifted = True
    penalised = False

    @property
    def n_heads(self):
        """Number of weight vectors."""
        return self.n_targets
