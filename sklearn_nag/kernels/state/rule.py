"""What every rule tells the shared parts of the kernel, whatever its family."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from ...constraints import Box
from .fields import Field
from .frequent import begins


class Family(NamedTuple):
    """What a family of learners consists of, declared by its package.

    Attributes
    ----------
    package : str
        Its name; the modules ``numpy_rows`` and ``numba_rows`` in it have ``learn_rows`` each.
    merge : callable or None
        As `sklearn_nag.kernels.merge`, of several models; None where there is no such thing.
    lead : callable or None
        As `sklearn_nag.kernels.lead`; None where that is a copy.
    learns_apart : bool
        Whether its states have ``for_targets`` and ``put_targets``, so that threads can learn some targets each.
    fading : callable or None
        ``fading(learn_rows, multiply, rule, compiled)`` is a ``learn_rows`` that lets fade what was learnt, with
        ``multiply`` as `Columns.multiply`, or the same compiled; None where nothing does.
    """

    package: str
    merge: Callable[..., Any] | None = None
    lead: Callable[..., Any] | None = None
    learns_apart: bool = False
    fading: Callable[..., Any] | None = None


class LinearRule:
    """Base of the rules of all families.

    A rule is a frozen dataclass with the parameters of a family. The shared parts of the kernel read from it ``State``,
    the class of the models that learn by it, ``family``, and

    ============================ ======================================================================================
    ``intercept``                whether the last column is the constant 1; it is never penalised
    ``normalization``            ``"max"``, ``"rms"``, ``"auto"`` or None: the scale ``s`` is the largest ``|x|``, the
                                 root mean square of ``x``, that of frequent columns and for the others its geometric
                                 mean, with weights of 1/4 and 3/4, with that of the entries that are not 0, or 1
    ``centred``                  whether ``x`` stands for the deviation from the running mean
    ``columnwise``               whether the weight of a column that is not centred is a function of what is kept for it
    ``half_life``                after rows of how much weight what was learnt counts half
    ``forgets``                  whether it does, so that it fades
    ``selective``                whether only frequent columns are centred (see `frequent`)
    ``named_clearly``            whether it takes clearly more than half of the rows to be frequent, while models forget
    ``begins``                   in which share of the rows a column that is not 0 becomes frequent
    ``weight_power``             weights per unit of ``x`` are ``weight / s ** weight_power``; 0 where they are another
                                 function of what is kept
    ``target_unit``              whether the unit of the targets is learnt and, with an intercept, their origin
    ``degree``                   ``y -> a y`` multiplies the loss by ``a ** degree``; for ``target_unit``
    ``robust``                   whether derivatives of the loss are bounded, so that no row may set the unit of the
                                 targets, either: see `targets`
    ``outlying``                 how many units from the mean a target counts as at most, where the rule is robust
    ``log_link``                 whether predictions are logarithms of what is predicted; with ``target_unit`` they
                                 are counted from the logarithm of the running mean of the targets
    ``coupled``                  whether the loss compares the heads of a row with one another
    ``n_targets``, ``n_heads``   number of targets, and of weight vectors: one for each target of each expert
    ``sharing``                  how many heads, side by side, have one ``G`` for each column
    ``clip``                     the least and the largest prediction, ``"targets"`` for those of the targets so far, or
                                 None
    ``experts``, ``mixed``       heads for each target, and whether they make one prediction together
    ``constraint``               a set that holds the weights, or None
    ``lifted``                   whether columns are lifted (see `lifts`)
    ``penalised``, ``averaged``  whether weights are penalised, and whether their average makes predictions
    ``lazy``                     whether a row leaves the columns that it does not name as they are, or to be brought up
                                 to date when they are next read
    ``FIELDS``                   what may be kept for each column, as declared in `fields`; the same for the family
    ============================ ======================================================================================
    """

    State: ClassVar[type]
    family: ClassVar[Family]
    FIELDS: ClassVar[tuple[Field, ...]]
    not_zero: ClassVar[tuple[str, ...]] = ()  # parameters that are divided by
    as_begun: ClassVar[tuple[str, ...]] = ("outlying",)  # parameters that a model keeps, as earlier versions had others
    of_steps: ClassVar[tuple[str, ...]] = ()  # flags in which merged models may differ, as only steps depend on them
    columnwise: ClassVar[bool] = False
    half_life = np.inf
    named_clearly = False
    holds_scales: ClassVar[bool] = False  # whether those of centred columns fall slowly while a model forgets
    fades_on_the_way: ClassVar[bool] = False  # whether compiled loops fade themselves, rare columns unseen
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
        """Whether deviations that may be rounding count as 0: all else that is known of a column may be forgotten."""
        return self.forgets and self.centred

    @property
    def selective(self):
        """Whether only frequent columns are centred."""
        return self.centred and self.normalization == "auto"

    @property
    def begins(self):
        """In which share of the rows a column that is not 0 becomes frequent."""
        return begins(self.half_life if self.named_clearly else np.inf)

    @property
    def counts_entries(self):
        """Whether rows in which a column is 0, or is not, are counted."""
        return self.selective or self.normalization == "auto"

    @property
    def bounded(self):
        """Whether each weight has bounds of its own; `fields` says where these are kept."""
        return isinstance(self.constraint, Box)

    @property
    def projected(self):
        """Whether weights are held together in a set."""
        return self.constraint is not None and not self.bounded

    @property
    def fields(self):
        """Names of the fields that heads share, in the order of the table."""
        return tuple(field.name for field in self.FIELDS if not field.per_head and field.needed(self))

    @property
    def fields_per_head(self):
        """Names of those that each head has of its own."""
        return tuple(field.name for field in self.FIELDS if field.per_head and field.needed(self))

    def time_factor(self, t):
        """What the scale of a column falls by while it is not named, from ``t = 1`` on."""
        if self.normalization == "rms":
            return np.sqrt(t)
        return np.sqrt(np.sqrt(np.sqrt(t))) if self.normalization == "auto" else np.ones_like(t)

    def groups(self, heads):
        """Which of those that are judged each of some heads belongs to."""
        within = heads % self.n_targets % self.n_groups
        return within if self.mixed else heads // self.n_targets * self.n_groups + within

    @property
    def n_judged(self):
        """Number of predictions, or groups of coupled ones, that have a share of the latest weights of their own."""
        return self.n_played // self.n_targets * self.n_groups if self.judged else 0

    @property
    def by_latest(self):
        """The same rule, playing the latest weights where it would an average of them, which it goes on to keep."""
        return self

    @property
    def n_played(self):
        """Number of predictions for a row: one for each target, of each expert where these are not mixed."""
        return self.n_targets if self.mixed else self.n_heads

    @property
    def n_groups(self):
        """Number of groups of targets within which experts are trusted alike."""
        return 1 if self.coupled else self.n_targets


@dataclass(frozen=True, kw_only=True)
class OneHeadRule(LinearRule):
    """Base of the rules by which each target has one head, and that take from a loss what `LinearRule` says of it.

    Attributes
    ----------
    n_targets : int
        Number of targets, and of heads.
    intercept : bool
        Whether the last column is the constant 1, whose weight is free: neither penalised nor held with the others.
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
