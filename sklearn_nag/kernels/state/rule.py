"""What every rule tells the shared parts of the kernel, whatever its family."""

from __future__ import annotations

from typing import ClassVar

import numpy as np


class LinearRule:
    """Base of the rules of all families.

    A rule is a frozen dataclass with the parameters of a family. The shared parts of the kernel read from it ``State``,
    the class of the models that learn by it, and

    ============================ ======================================================================================
    ``intercept``                whether the last column is the constant 1; it is never penalised
    ``normalization``            ``"max"``, ``"rms"``, ``"auto"`` or None: the scale ``s`` is the largest ``|x|``, the
                                 root mean square of ``x``, that of frequent columns and for the others its geometric
                                 mean, with weights of 1/4 and 3/4, with that of the entries that are not 0, or 1
    ``centred``                  whether ``x`` stands for the deviation from the running mean
    ``columnwise``               whether the weight of a column that is not centred is a function of what is kept for it
    ``forgets``                  whether what was learnt fades
    ``selective``                whether only frequent columns are centred (see `frequent`)
    ``weight_power``             weights per unit of ``x`` are ``weight / s ** weight_power``; 0 where they are another
                                 function of what is kept
    ``target_unit``              whether the unit of the targets is learnt and, with an intercept, their origin
    ``degree``                   ``y -> a y`` multiplies the loss by ``a ** degree``; for ``target_unit``
    ``coupled``                  whether the loss compares the heads of a row with one another
    ``n_targets``, ``n_heads``   number of targets, and of weight vectors: one for each target of each expert
    ``sharing``                  how many heads, side by side, have one ``G`` for each column
    ``clip``                     the least and the largest prediction, ``"targets"`` for those of the targets so far, or
                                 None
    ``experts``, ``mixed``       heads for each target, and whether they make one prediction together
    ``lifted``                   whether columns are lifted (see `lifts`)
    ``penalised``, ``averaged``  whether weights are penalised, and whether their average makes predictions
    ``lazy``                     whether a row leaves the columns that it does not name as they are, or to be brought up
                                 to date when they are next read
    ``fields``                   names of what is kept for each column beside ``lift`` and ``largest``
    ``fields_per_head``          the same for what each head has of its own
    ``lift_powers``              by which power of a lift each field is multiplied, but for ``G``, which stays positive
    ============================ ======================================================================================
    """

    State: ClassVar[type]
    not_zero: ClassVar[tuple[str, ...]] = ()  # parameters that are divided by
    columnwise: ClassVar[bool] = False
    forgets: ClassVar[bool] = False
    weight_power: ClassVar[int] = 0
    sharing = 1

    @property
    def selective(self):
        """Whether only frequent columns are centred."""
        return self.centred and self.normalization == "auto"

    def time_factor(self, t):
        """What the scale of a column falls by while it is not named, from ``t = 1`` on."""
        if self.normalization == "rms":
            return np.sqrt(t)
        return np.sqrt(np.sqrt(np.sqrt(t))) if self.normalization == "auto" else np.ones_like(t)

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
