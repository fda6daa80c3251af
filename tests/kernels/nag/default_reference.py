"""What `NAGClassifier` and `NAGRegressor` do by default, in plain Python, from the text of ``docs/algorithms.rst``.

At each row, tallies, means, scales and statistics of targets are computed from all rows so far. Weights are unit-free,
nothing is lifted or deferred, and no line is shared with the package.
"""

import math
from abc import ABC, abstractmethod

from .reference import gradient, margins, moments, move

ROUND = 32  # rows between changes of shares


class AdaHedge:
    """Shares of experts from their losses: de Rooij et al. (2014)."""

    def __init__(self, K):
        self.L, self.gap = [0.0] * K, 0.0

    def shares(self):
        """``exp(-beta L)`` over the sum, ``beta = log K / gap``; equal for the leaders while there is no gap."""
        behind = [loss - min(self.L) for loss in self.L]
        if self.gap == 0:
            powers = [1.0 if b == 0 else 0.0 for b in behind]
        else:
            powers = [math.exp(-math.log(len(behind)) / self.gap * b) for b in behind]
        return [power / math.fsum(powers) for power in powers]

    def suffer(self, losses):
        """Add losses and the mixability gap: the mean loss of the shares minus their mix loss."""
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
    """The rule for any loss; subclasses define predictions and their losses.

    Attributes
    ----------
    rows, weights, targets : list
        All rows so far, their weights ``c`` and their targets.
    frequent : list of bool
        Whether each feature is frequent.
    turns : list of (int, int, bool)
        Number of rows before it, feature, and whether it became frequent; changes at the first row are left out.
    latest, average : list of list of float
        ``u`` of each head, that of the constant last: current weights, and the mean of those that were played.
    G : list of float
        Sums of squared ``g x``, averaged over heads.
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
        """``mu_i`` and ``s_i`` of a frequent or rare feature over the rows so far; a rare one has no mean."""
        values = [row[i] for row in self.rows]
        if is_frequent:
            return moments(values, self.weights)
        n = math.fsum(c for c, x in zip(self.weights, values) if x != 0)
        squares = math.fsum(c * x * x for c, x in zip(self.weights, values))
        return 0.0, math.sqrt(squares / (n**0.75 * self.t**0.25)) if n else 0.0

    def means_and_scales(self):
        """Means and scales of all features."""
        return zip(*(self.mean_and_scale(i, is_frequent) for i, is_frequent in enumerate(self.frequent)))

    def turn(self, i):
        """Make a rare feature frequent, or a frequent one rare, without changing the learnt function.

        Means and scales are those before the row that causes the change.
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
        """``u`` of each head: the latest and the average weights, mixed by their shares."""
        a, b = self.trust.shares()
        return [[a * v + b * w for v, w in zip(*pair)] for pair in zip(self.latest, self.average)]

    def decide(self, x):
        """Prediction for a row that is not learnt."""
        return self.decision(sums(self.weights_to_predict_with(), self.features(x)[1]))

    def linear(self):
        """Weights and intercepts for raw features, before clipping."""
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
        """Count losses of the latest weights and of their average; shares change once per round."""
        self.due = [total + loss for total, loss in zip(self.due, losses)]
        self.waiting += 1
        if self.waiting == ROUND:
            self.trust.suffer(self.due)
            self.due, self.waiting = [0.0, 0.0], 0

    def count_played(self, c):
        """Add the weights before the step of row ``t`` to their mean, in which they count ``c t`` times."""
        self.A += c * self.t
        for u, mean in zip(self.latest, self.average):
            for i in range(len(u)):
                mean[i] += c * self.t / self.A * (u[i] - mean[i])

    def step(self, x, z, y, c):
        """Follow the slope of each head for the time ``a``, while the other heads stand still."""
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

    # -- what depends on the loss

    def decision(self, p):
        """Predictions from ``sum u z`` of each head."""
        return p

    def origin(self):
        """Number to which predictions are relative."""
        return 0.0

    def unit(self):
        """``b``: the standard deviation of targets that have a unit."""
        return 1.0

    def unit_of_slopes(self):
        """Unit in which slopes are measured."""
        return 1.0

    @abstractmethod
    def value(self, p, y):
        """Loss of a prediction."""

    @abstractmethod
    def compared(self, p, y):
        """For each head, the prediction at which the slope is taken, and its target."""


class TwoClasses(Learner):
    """Log loss; targets are 0 and 1."""

    def value(self, p, y):
        return math.log1p(math.exp(-p[0] if y else p[0]))

    def compared(self, p, y):
        return [(p[0], 1.0 if y else -1.0)]


class Softmax(Learner):
    """Log loss of several classes, with a head for each."""

    def value(self, p, y):
        return math.log(math.fsum(map(math.exp, p))) - p[y]

    def compared(self, p, y):
        found = []
        for k, own in enumerate(p):
            others = math.log(math.fsum(math.exp(other) for j, other in enumerate(p) if j != k))
            found.append((own - others, 1.0 if k == y else -1.0))
        return found


class Numbers(Learner):
    """Half the squared error of targets with an origin and a unit; predictions are clipped to their range.

    When a row is predicted, its weight is known but its target is not. The first row only sets the origin, at no loss.
    """

    loss = "squared_error"
    n_held = 0  # number of predictions clipped, for whatever purpose

    def target_moments(self):
        return moments(self.targets, self.weights[: len(self.targets)])

    def origin(self):
        return self.target_moments()[0]

    def unit(self):
        return self.target_moments()[1]

    def unit_of_slopes(self):
        return self.unit()

    def ends(self):
        """Range to which predictions are clipped: that of the targets, with a margin if they grow."""
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
        """Clip to the range including ``y``, with some room; predictions are relative to the mean including ``y``."""
        low, high = min(self.targets), max(self.targets)
        before = math.fsum(self.weights[:-1])
        room = (high - low) / math.sqrt(max(before, 1.0))
        return [(self.within(self.origin() + p[0], low - room, high + room), y)]


def sums(weights, z):
    """``sum u z`` of each head."""
    return [math.fsum(ui * zi for ui, zi in zip(u, z)) for u in weights]
