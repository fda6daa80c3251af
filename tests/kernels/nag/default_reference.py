"""What `NAGClassifier` and `NAGRegressor` do by default, in plain Python, from the text of ``docs/algorithms.rst``.

At each row, tallies, means, scales and what is known of targets are computed from all rows so far. Weights are
unit-free, nothing is lifted or applied later, and no line is shared with the package.
"""

import math
from abc import ABC, abstractmethod

from .reference import gradient, margins, moments, move

ROUND = 32  # rows, after which shares change


class AdaHedge:
    """Shares of experts by their losses: de Rooij et al. (2014)."""

    def __init__(self, K):
        self.L, self.gap = [0.0] * K, 0.0

    def shares(self):
        """``exp(-beta L)``, ``beta = log K / gap``, over their sum; alike for the leaders while there is no gap."""
        behind = [loss - min(self.L) for loss in self.L]
        if self.gap == 0:
            powers = [1.0 if b == 0 else 0.0 for b in behind]
        else:
            powers = [math.exp(-math.log(len(behind)) / self.gap * b) for b in behind]
        return [power / math.fsum(powers) for power in powers]

    def suffer(self, losses):
        """Add losses, and the mixability gap: the mean loss of the shares less their mix loss."""
        shares, least = self.shares(), min(losses)
        behind = [loss - least for loss in losses]
        mean = math.fsum(share * b for share, b in zip(shares, behind))
        if self.gap == 0:
            mix = min(b for share, b in zip(shares, behind) if share > 0)
        else:
            beta = math.log(len(losses)) / self.gap
            mix = -math.log(math.fsum(share * math.exp(-beta * b) for share, b in zip(shares, behind))) / beta
        self.gap += max(0.0, mean - mix)
        self.L = [total + loss for total, loss in zip(self.L, losses)]


class Learner(ABC):
    """The rule for any loss; subclasses know what predictions are, and what they lose.

    Attributes
    ----------
    rows, weights, targets : list
        All rows so far, their weights ``c`` and their targets.
    frequent : list of bool
        Which features are.
    turns : list of (int, int, bool)
        After how many rows which feature began to be, or stopped; the first row is not counted.
    latest, average : list of list of float
        ``u`` of each head, that of the constant last: the one of now, and the mean of those that were played.
    G : list of float
        Sums of squared ``g x``, in which all heads have a share.
    """

    loss = "log_loss"

    def __init__(self, n_features, n_heads=1):
        self.rows, self.weights, self.targets = [], [], []
        self.frequent, self.turns = [False] * n_features, []
        self.latest, self.average = ([[0.0] * (n_features + 1) for _ in range(n_heads)] for _ in range(2))
        self.G, self.N, self.A = [0.0] * (n_features + 1), 0.0, 0.0
        self.trust, self.due, self.waiting = AdaHedge(2), [0.0, 0.0], 0
        self.total_loss = 0.0

    # -- features

    @property
    def t(self):
        """Total weight of the rows."""
        return math.fsum(self.weights)

    def mean_and_scale(self, i, is_frequent):
        """``mu_i`` and ``s_i`` over the rows so far: of a frequent feature, or of a rare one, which has no mean."""
        values = [row[i] for row in self.rows]
        if is_frequent:
            return moments(values, self.weights)
        n = math.fsum(c for c, x in zip(self.weights, values) if x != 0)
        squares = math.fsum(c * x * x for c, x in zip(self.weights, values))
        return 0.0, math.sqrt(squares / (n**0.75 * self.t**0.25)) if n else 0.0

    def means_and_scales(self):
        """Of all features."""
        return zip(*(self.mean_and_scale(i, is_frequent) for i, is_frequent in enumerate(self.frequent)))

    def turn(self, i):
        """Make a feature frequent, or rare, and leave the function that was learnt as it is.

        Means and scales are those before the row that has it turn.
        """
        if self.rows:
            self.turns.append((len(self.rows), i, not self.frequent[i]))
            mu, s = self.mean_and_scale(i, self.frequent[i])
            new_mu, new_s = self.mean_and_scale(i, not self.frequent[i])
            for u in (*self.latest, *self.average):
                if s and new_s:
                    w = u[i] / s
                    u[i] = w * new_s
                    u[-1] += w * (new_mu - mu)
        self.frequent[i] = not self.frequent[i]

    def see(self, x, c):
        """Count a row in tallies, means, scales and ``N``."""
        weights = [*self.weights, c]
        t = math.fsum(weights)
        for i in range(len(x)):
            n = math.fsum(w for w, row in zip(weights, [*self.rows, x]) if row[i] != 0)
            begins, stops = n > t / 2, t - n > 5 / 8 * t
            if stops if self.frequent[i] else begins:
                self.turn(i)
        self.rows.append(x)
        self.weights = weights
        self.N += c * math.fsum(z * z for z in self.features(x)[1])

    def features(self, x):
        """Deviations from means, and ``z``, both with the constant 1."""
        deviations, z = [], []
        for i, value in enumerate(x):
            mu, s = self.mean_and_scale(i, self.frequent[i])
            deviations.append(value - mu)
            z.append((value - mu) / s if s else 0.0)
        return [*deviations, 1.0], [*z, 1.0]

    # -- predictions

    def weights_to_predict_with(self):
        """``u`` of each head, between the latest and the average, by the shares of both."""
        a, b = self.trust.shares()
        return [[a * v + b * w for v, w in zip(*pair)] for pair in zip(self.latest, self.average)]

    def decide(self, x):
        """What is predicted of a row that is not learnt."""
        return self.decision(sums(self.weights_to_predict_with(), self.features(x)[1]))

    def linear(self):
        """Weights and intercepts for raw features, before anything is clipped."""
        coef, intercept = [], []
        means, scales = self.means_and_scales()
        for u in self.weights_to_predict_with():
            w = [ui / s if s else 0.0 for ui, s in zip(u, scales)]
            coef.append(w)
            intercept.append(u[-1] - math.fsum(wi * mu for wi, mu in zip(w, means)) + self.origin())
        return coef, intercept

    # -- learning

    def learn(self, x, y, c):
        """Predict a row, count the loss, and make a step; a row of weight 0 changes nothing."""
        if c == 0:
            return
        self.see(x, c)
        x, z = self.features(x)
        by_latest, by_average, played = (
            self.decision(sums(u, z)) for u in (self.latest, self.average, self.weights_to_predict_with())
        )
        self.targets.append(y)
        b = self.unit() or 1.0
        self.total_loss += c * self.value(played, y)
        self.judge([c * self.value(p, y) / b**2 for p in (by_latest, by_average)])
        self.count_played(c)
        self.step(x, z, y, c)

    def judge(self, losses):
        """Count losses by the latest weights and by their average; the shares follow once in a round."""
        self.due = [total + loss for total, loss in zip(self.due, losses)]
        self.waiting += 1
        if self.waiting == ROUND:
            self.trust.suffer(self.due)
            self.due, self.waiting = [0.0, 0.0], 0

    def count_played(self, c):
        """Row ``t`` counts ``c t`` times in the mean of the weights that it was met with."""
        self.A += c * self.t
        for u, mean in zip(self.latest, self.average):
            for i in range(len(u)):
                mean[i] += c * self.t / self.A * (u[i] - mean[i])

    def step(self, x, z, y, c):
        """Follow the slope of each head for the time ``a``, while the others stand still."""
        compared = self.compared(sums(self.latest, z), y)
        slopes = [gradient(self.loss, p, target) for p, target in compared]
        if not any(slopes):
            return
        mean_square = math.fsum(g * g for g in slopes) / len(slopes)
        self.G = [G + c * mean_square * xi * xi for G, xi in zip(self.G, x)]
        scales = [0.0 if often else self.mean_and_scale(i, often)[1] for i, often in enumerate(self.frequent)]
        least = [0.1 * (s * self.unit_of_slopes()) ** 2 for s in (*scales, 0.0)]
        q = [xi / math.sqrt(G + G0) if xi else 0.0 for xi, G, G0 in zip(x, self.G, least)]
        D = math.fsum(qi * zi for qi, zi in zip(q, z))
        a = c * math.sqrt(self.t / self.N) * self.unit() * D
        for u, (p, target) in zip(self.latest, compared):
            far = move(self.loss, p, target, a)
            for i in range(len(u)):
                u[i] += far * q[i] / D

    # -- what the loss decides

    def decision(self, p):
        """Predictions from ``sum u z`` of each head."""
        return p

    def origin(self):
        """From where predictions are counted."""
        return 0.0

    def unit(self):
        """``b``: what the targets deviate by from their mean."""
        return 1.0

    def unit_of_slopes(self):
        """What those are measured by."""
        return 1.0

    @abstractmethod
    def value(self, p, y):
        """Loss of what was predicted."""

    @abstractmethod
    def compared(self, p, y):
        """The prediction of each head at which the slope is taken, and what it is compared with."""


class TwoClasses(Learner):
    """Log loss; targets are 0 and 1."""

    def value(self, p, y):
        return math.log1p(math.exp(-p[0] if y else p[0]))

    def compared(self, p, y):
        return [(p[0], 1.0 if y else -1.0)]


class Softmax(Learner):
    """A head for each class."""

    def value(self, p, y):
        return math.log(math.fsum(map(math.exp, p))) - p[y]

    def compared(self, p, y):
        found = []
        for k, own in enumerate(p):
            others = math.log(math.fsum(math.exp(other) for j, other in enumerate(p) if j != k))
            found.append((own - others, 1.0 if k == y else -1.0))
        return found


class Numbers(Learner):
    """Half the squared error of a target with an origin and a unit, within the range of the targets.

    While a row is predicted, its weight is known and its target is not. The first only sets the origin, at no loss.
    """

    loss = "squared_error"
    n_held = 0  # how many predictions have been, whatever they were made for

    def target_moments(self):
        return moments(self.targets, self.weights[: len(self.targets)])

    def origin(self):
        return self.target_moments()[0]

    def unit(self):
        return self.target_moments()[1]

    def unit_of_slopes(self):
        return self.unit()

    def ends(self):
        """Between which predictions are held: the range of the targets, with a margin where they grow."""
        below, above = margins(self.targets, self.weights[: len(self.targets)])
        return min(self.targets) - below, max(self.targets) + above

    def decision(self, p):
        if not self.targets:
            return [0.0]
        return [self.within(self.origin() + p[0], *self.ends())]

    def within(self, p, low, high):
        self.n_held += not low <= p <= high
        return min(max(p, low), high)

    def value(self, p, y):
        return 0.0 if len(self.targets) == 1 else (p[0] - y) ** 2 / 2

    def compared(self, p, y):
        """At the prediction held within the range with ``y``, and some room; counted from the mean with ``y``."""
        low, high = min(self.targets), max(self.targets)
        before = math.fsum(self.weights[:-1])
        room = (high - low) / math.sqrt(max(before, 1.0))
        return [(self.within(self.origin() + p[0], low - room, high + room), y)]


def sums(weights, z):
    """``sum u z`` of each head."""
    return [math.fsum(ui * zi for ui, zi in zip(u, z)) for u in weights]
