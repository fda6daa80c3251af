"""Exponential weights: how much each of several experts is trusted."""

import numpy as np

from .lifts import LARGEST, positive

ROUNDING = 2.0**-50  # of a loss; an excess over another loss up to this counts as none
FAINT = 2.0**-960  # share of weights that may have lost digits
OUTLYING = 32.0  # in the mean loss, a loss counts as at most this multiple of the mean so far
STEEPEST = LARGEST / 4.0  # the largest loss on a tangent, so that differences stay in range
SLOPES = {"log_loss": lambda p: -1.0 / p, "squared_error": lambda p: p, "absolute_error": np.sign}


class Mixture:
    """AdaHedge: how much each expert is trusted, for each group of heads (de Rooij et al., JMLR 15, 2014, section 2).

    The rate of the weights is ``log(n_experts) / gap``.

    Parameters
    ----------
    excess : ndarray of shape (n_groups, n_experts)
        Total loss of each expert, less that of the best.
    gap : ndarray of shape (n_groups,)
        Total of the mixability gaps.
    """

    grows = True  # whether the mixability gap of each row is added

    def __init__(self, excess, gap):
        self.excess, self.gap = excess, gap

    @classmethod
    def new(cls, n_experts):
        """One group, before the first row."""
        return cls(np.zeros((1, n_experts)), np.zeros(1))

    def copy(self):
        """Independent copy."""
        return type(self)(self.excess.copy(), self.gap.copy())

    def repeated(self, n):
        """Copy with ``n`` groups like the only one."""
        copied = self.copy()
        copied.excess, copied.gap = np.repeat(self.excess, n, axis=0), np.repeat(self.gap, n)
        return copied

    def rearranged(self, experts):
        """Copy with the experts at these places, in this order; one that is named twice becomes two.

        An expert that joins late thus has the losses of another until then.
        """
        copied = self.copy()
        copied.excess = np.ascontiguousarray(self.excess[:, experts])
        copied.excess -= copied.excess.min(axis=1, keepdims=True)  # because the best one may be left out
        return copied

    def merged(self, others, base=None):
        """New mixture of this and others of the same experts; losses since ``base``, by default all, add up."""
        whole = self.copy()
        with np.errstate(over="ignore"):
            for name in ("excess", "gap"):
                start = 0.0 if base is None else getattr(base, name)
                total = getattr(self, name) + sum((getattr(other, name) - start for other in others), 0.0)
                setattr(whole, name, np.clip(total, -LARGEST, LARGEST))
        whole.excess -= whole.excess.min(axis=1, keepdims=True)
        whole.gap = np.maximum(whole.gap, 0.0)
        return whole

    def weights(self):
        """Share of each expert, in the shape of ``excess``; while there is no gap, the leaders share equally."""
        with np.errstate(all="ignore"):  # without a gap, all who are behind get -inf
            power = -np.log(self.excess.shape[1]) * (self.excess / self.gap[:, None])
        share = np.exp(np.where(self.excess == 0, 0.0, power))
        return share / np.add.reduce(share, axis=1, keepdims=True)

    def play(self, losses, noise=None, row_weights=None, kept=None):
        """Play rows: return the shares of each row, from before its losses are counted.

        Parameters
        ----------
        losses : ndarray of shape (n_rows, n_groups, n_experts), or (n_rows, n_experts) for a single group
            Losses of each expert.
        noise : ndarray of shape (n_rows,), optional
            For a `FixedShare` of a single group: loss of each row that is put down to chance, the least that its mean
            loss counts as.
        row_weights : ndarray of shape (n_rows, 2), optional
            For a `FixedShare`: the weight of each row, with which its losses have been multiplied, and the total weight
            of the rows up to it; by default, each weighs 1.
        kept : ndarray of shape (n_rows,), optional
            Factor for `fade` before each row is counted; 1 by default.

        Returns
        -------
        ndarray of the same shape
            Shares.
        """
        shares = np.empty(losses.shape)
        by_row = (len(losses), *self.excess.shape)
        noise = np.zeros(len(losses)) if noise is None else noise
        row_weights = [None] * len(losses) if row_weights is None else row_weights
        kept = np.ones(len(losses)) if kept is None else kept
        rows = zip(shares.reshape(by_row), losses.reshape(by_row), noise, row_weights, kept)
        for share, loss, least, row_weight, part in rows:
            share[:] = self.weights()
            self.fade(part)
            self.suffer(share, loss, least, row_weight)
        return shares

    def blend(self, forecasts, loss, row_weight, kept=None):
        """Blend forecasts: return the shares of each row, as `play` does, for a loss replaced by a straight line.

        The line is the tangent of the loss at the blended forecast. It never overestimates the loss of a fixed blend,
        so the regret against the best fixed blend of a group's experts is at most that by the lines.

        Parameters
        ----------
        forecasts : ndarray of shape (n_rows, n_groups, n_experts), or (n_rows, n_experts) for a single group
            For ``"log_loss"``, probabilities of what came true; otherwise forecasts minus targets.
        loss : {"log_loss", "squared_error", "absolute_error"}
            Loss by which blends are judged.
        row_weight : ndarray of shape (n_rows,)
            Weight of each row.
        kept : ndarray of shape (n_rows,), optional
            As for `play`.

        Returns
        -------
        ndarray of the same shape
            Shares.
        """
        shares, by_row = np.empty(forecasts.shape), (len(forecasts), *self.excess.shape)
        kept = np.ones(len(shares)) if kept is None else kept
        for share, values, c, part in zip(shares.reshape(by_row), forecasts.reshape(by_row), row_weight, kept):
            share[:] = self.weights()
            self.fade(part)
            with np.errstate(over="ignore", invalid="ignore"):
                blended = np.add.reduce(share * values, axis=1, keepdims=True)
                losses = SLOPES[loss](blended) * (values - blended) * c
                self.suffer(share, np.clip(np.nan_to_num(losses), -STEEPEST, STEEPEST))
        return shares

    def fade(self, factor):
        """Multiply the losses so far by ``factor``, which changes no share."""
        self.excess *= factor
        self.gap *= factor

    def suffer(self, share, losses, noise=0.0, row_weight=None):
        """Count the losses of a row played with these shares, both of shape (n_groups, n_experts)."""
        beyond = _beyond(losses, losses)
        with np.errstate(over="ignore"):
            if self.grows:
                self._widen(share, losses, beyond)
            self.excess[:] = np.minimum(self.excess + beyond, LARGEST)
        self.excess -= self.excess.min(axis=1, keepdims=True)

    def _widen(self, share, losses, behind):
        """Add the mixability gap of a row: the mean loss minus that of the mixture.

        Losses are relative to the least of the experts with a share. One without, because it was too far behind, may
        suffer less, and even take the lead. Then the weights before and after give the loss of the mixture.
        """
        if unplayed := np.count_nonzero(share) < share.size:
            behind = _beyond(losses, np.where(share > 0, losses, np.inf))
        mean = np.add.reduce(share * np.maximum(behind, 0.0), axis=1)
        rate = np.minimum(np.log(share.shape[1]) / positive(self.gap), LARGEST)
        after = self.excess + behind
        lead = after.min(axis=1)
        left = np.add.reduce(share * np.exp(np.minimum(-rate[:, None] * behind, 0.0)), axis=1)
        mixed = -np.log(np.maximum(left, FAINT)) / rate
        if unplayed or np.count_nonzero(left <= FAINT):
            weights, later = (np.exp(-rate[:, None] * over) for over in (self.excess, after - lead[:, None]))
            change = np.log(np.add.reduce(weights, axis=1)) - np.log(np.add.reduce(later, axis=1))
            mixed = np.where((behind < 0).any(axis=1) | (left <= FAINT), lead + change / rate, mixed)
        self.gap[:] = np.minimum(self.gap + np.maximum(0.0, mean - np.where(self.gap > 0, mixed, lead)), LARGEST)


def _beyond(losses, others):
    """How far losses are above the least of others, or below (negative); 0 if it may be rounding.

    `Mixture` knows no unit: if experts differ only by rounding, it would follow that.
    """
    beyond = losses - others.min(axis=1, keepdims=True)
    return np.where(np.abs(beyond) <= ROUNDING * np.abs(losses), 0.0, beyond)


class FixedRate(Mixture):
    """Hedge with a fixed rate: the gap does not grow (Freund and Schapire, 1997)."""

    grows = False

    def rearranged(self, experts):
        """Like `Mixture.rearranged`, with the same rate."""
        copied = Mixture.rearranged(self, experts)
        with np.errstate(over="ignore"):
            gap = self.gap * (np.log(len(experts)) / np.log(self.excess.shape[1]))
        copied.gap = np.minimum(gap, LARGEST)
        return copied

    @classmethod
    def new(cls, n_experts, rate):
        """One group, before the first row."""
        return cls(np.zeros((1, n_experts)), np.array([np.log(n_experts) / rate]))


class FixedShare(Mixture):
    """Hedge that can return to experts that were bad for a time: it follows the best sequence of experts, not one.

    After each row, the weights are mixed with equal ones (Herbster and Warmuth, Machine Learning 32, 1998), which get
    the share ``1 / (rounds + 1)``. This needs no horizon and no number of changes (Adamskiy, Koolen, Chernov and Vovk,
    "A closer look at adaptive regret", JMLR 17, 2016).

    Log losses are multiplied by the weight ``c`` of the row over ``sum c^2 / sum c``, the mean weight of a row weighted
    by itself, so the unit of weights does not matter (unless the first weight is below 1e-16, of which rounding leaves
    nothing). Other losses have a unit: they are divided by their mean so far, which corresponds to the spread of a
    Gaussian or Laplacian error. So that no single row makes all later rows count for nothing, a loss enters that mean
    as at most `OUTLYING` times the mean, and a weight counts as at most `OUTLYING` times the mean weight.

    Parameters
    ----------
    excess : ndarray of shape (n_groups, n_experts)
        Minus the logarithm of the weight of each expert, over the rate, less that of the best.
    gap : ndarray of shape (n_groups,)
        ``log(n_experts)`` over the rate, as in `Mixture`.
    rounds : ndarray of shape (n_groups,)
        Number of rows.
    unit : float
        Factor of mean losses: the rate is 1 over the product. 0 for log losses.
    """

    def __init__(self, excess, gap, rounds, unit):
        super().__init__(excess, gap)
        self.rounds, self.unit = rounds, unit

    @classmethod
    def new(cls, n_groups, n_experts, unit):
        """Before the first row."""
        gap = 0.0 if unit else np.log(n_experts)
        return cls(np.zeros((n_groups, n_experts)), np.full(n_groups, gap), np.zeros(n_groups), unit)

    def copy(self):
        return FixedShare(self.excess.copy(), self.gap.copy(), self.rounds.copy(), self.unit)

    rearranged = FixedRate.rearranged

    def merged(self, others, base=None):
        """Like `Mixture.merged`, but each mixture's weights count by its rounds, because old losses are forgotten."""
        mixtures, before = [self, *others], 0.0 if base is None else base.rounds
        rounds = np.array([mixture.rounds - before for mixture in mixtures])
        part = rounds / positive(np.add.reduce(rounds))
        with np.errstate(over="ignore"):
            gap = np.add.reduce([own * mixture.gap for own, mixture in zip(part, mixtures)])
        weight = np.add.reduce([own[:, None] * mixture.weights() for own, mixture in zip(part, mixtures)])
        n_experts = self.excess.shape[1]
        excess = -np.log(np.maximum(weight, 1.0 / LARGEST)) * (gap / np.log(n_experts))[:, None]
        return FixedShare(excess - excess.min(axis=1, keepdims=True), gap, before + np.add.reduce(rounds), self.unit)

    def group(self, i):
        """One of the groups, with views of these arrays: what it learns is written to them."""
        own = slice(i, i + 1)
        return FixedShare(self.excess[own], self.gap[own], self.rounds[own], self.unit)

    def suffer(self, share, losses, noise=0.0, row_weight=None):
        """Like `Mixture.suffer`; ``noise`` and ``row_weight`` are those of `play` for the row."""
        n_experts = share.shape[1]
        before = self.rounds.copy()
        self.rounds += 1.0
        c, t = (1.0, self.rounds) if row_weight is None else row_weight
        counted = np.where(before > 0.0, np.minimum(c, OUTLYING * ((t - c) / np.maximum(before, 1.0))), c)
        counting = counted / c
        losses = losses * counting[:, None]
        if self.unit:
            mean = np.maximum(np.add.reduce(share * losses, axis=1), noise * counting)
            most = np.where(self.gap > 0.0, np.minimum(OUTLYING * self.gap, LARGEST), LARGEST)
            size = np.minimum(np.log(n_experts) * self.unit * mean, most)
        else:
            size = np.log(n_experts) * counted
        self.gap[:] = np.minimum(self.gap + (size - self.gap) * (counted / t), LARGEST)
        self.excess[:] = np.minimum(self.excess + (losses - losses.min(axis=1, keepdims=True)), LARGEST)
        self.excess -= self.excess.min(axis=1, keepdims=True)
        part = (1.0 / (self.rounds + 1.0))[:, None]
        weight = (1.0 - part) * self.weights() + part / n_experts
        self.excess[:] = -np.log(weight) * (self.gap / np.log(n_experts))[:, None]
        self.excess -= self.excess.min(axis=1, keepdims=True)
