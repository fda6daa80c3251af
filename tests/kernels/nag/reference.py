"""The algorithms as the paper prints them, in plain Python: one row, one feature, one float at a time.

It follows the paper's pseudocode, with ``w``, ``s``, ``G`` and ``N``, and shares no line with the package.
"""

import itertools
import math


def gradient(loss, p, y, epsilon=0.1, quantile=0.5):
    """Return the derivative of a loss with respect to the prediction, case by case."""
    if loss == "log_loss":
        return -y / (1 + math.exp(y * p))
    if loss == "hinge":
        return -y if y * p < 1 else 0.0
    if loss == "squared_hinge":
        return -2 * y * (1 - y * p) if y * p < 1 else 0.0
    if loss == "modified_huber":
        return -4 * y if y * p < -1 else -2 * y * (1 - y * p) if y * p < 1 else 0.0
    if loss == "perceptron":
        return -y if y * p <= 0 else 0.0
    residual = p - y
    sign = math.copysign(1, residual) if residual else 0.0
    if loss == "squared_error":
        return residual
    if loss == "absolute_error":
        return sign
    if loss == "huber":
        return residual if abs(residual) <= epsilon else epsilon * sign
    if loss == "epsilon_insensitive":
        return sign if abs(residual) > epsilon else 0.0
    if loss == "squared_epsilon_insensitive":
        return 2 * sign * (abs(residual) - epsilon) if abs(residual) > epsilon else 0.0
    if loss == "quantile":
        return -quantile if residual < 0 else 1 - quantile if residual > 0 else 0.0
    raise KeyError(loss)


def move(loss, p, y, a):
    """Change of ``p`` along ``dp/da = -gradient``: Karampatziakis and Langford, table 1; by bisection for log loss."""
    if loss == "log_loss":
        m, low, high = y * p, 0.0, a
        while low < (d := (low + high) / 2) < high:
            low, high = (d, high) if d + math.exp(m) * math.expm1(d) < a else (low, d)
        return y * (low + high) / 2
    if loss == "hinge":
        return y * min(a, 1 - y * p) if y * p < 1 else 0.0
    if loss == "squared_error":
        return (y - p) * -math.expm1(-a)
    if loss == "absolute_error":
        return math.copysign(min(a, abs(y - p)), y - p)
    raise KeyError(loss)


def margins(values, weights):
    """Return how far predictions may go below and above the targets: 2.5 times the growth less 1.5 standard errors.

    The growth is the slope of a least-squares line through the targets, times the total time. Each target takes as much
    time as it has weight, and stands in the middle of this time.
    """
    total, mean = math.fsum(weights), moments(values, weights)[0]
    ends = list(itertools.accumulate(weights))
    times = [end - c / 2 - total / 2 for end, c in zip(ends, weights)]
    slope = 12 * math.fsum(c * time * (v - mean) for c, time, v in zip(weights, times, values)) / total**3
    growth, left = slope * total, moments(values, weights)[1] ** 2 - (slope * total) ** 2 / 12
    further = 2.5 * max(abs(growth) - 1.5 * math.sqrt(12 * max(left, 0.0) / total), 0.0)
    return (0.0, further) if growth > 0 else (further, 0.0)


def moments(values, weights):
    """Weighted mean and standard deviation, in two passes; exact if all values agree."""
    total = math.fsum(weights)
    mean = values[0] + math.fsum(c * (v - values[0]) for c, v in zip(weights, values)) / total
    return mean, math.sqrt(math.fsum(c * (v - mean) ** 2 for c, v in zip(weights, values)) / total)


def run(
    X,
    y,
    *,
    loss,
    normalization,
    adaptive,
    eta,
    power_t=0.0,
    weights=None,
    intercept=True,
    alpha=0.0,
    l1_ratio=0.0,
    centred=False,
    importance_aware=False,
    target_unit=False,
    clip=None,
    robust=False,
    outlying=32.0,
):
    """Return progressive predictions and the final ``w`` (the intercept last), over rows in order.

    With ``centred`` or ``target_unit``, every mean and deviation is computed from all rows so far, at each row. Then
    ``w`` multiplies deviations from the mean, and predicts deviations from the mean of the targets (from 0 without an
    intercept). Predictions are clipped to the range of the earlier targets, widened by its own width.

    With ``clip``, predictions are clipped to the range of the earlier targets, with margins for targets that grow, or
    to two numbers. The derivative is taken at the prediction clipped to the same numbers, or to the range of the
    targets so far, that of the row included. That range is widened by its width over the root of the weight of the
    earlier rows.

    With ``robust``, targets count as at most ``outlying`` deviations from the mean, in mean and deviation.

    An L2 penalty is applied to ``u = w s`` after each row, at the learning rate of the coordinate, as the exact
    solution of ``du = -rate l2 u``. With L1, penalties are those of FTRL-Proximal (McMahan et al., KDD 2013, Algorithm
    1): ``z`` is the sum of ``sigma u - g``, in units without ``s``. A weight is computed from ``z`` before each row
    that has the feature, and at the end.
    """
    d = len(X[0]) + intercept
    some_range = (lambda v: (min(v), max(v))) if intercept else (lambda v: (min(0, *v), max(0, *v)))
    w, s, G, squares = [0.0] * d, [0.0] * d, [0.0] * d, [0.0] * d
    N = t = 0.0
    l1, l2 = alpha * l1_ratio, alpha * (1 - l1_ratio)
    z, sigmas, settled, since = [0.0] * d, [0.0] * d, [0.0] * d, [0.0] * d
    predictions = []

    def penalise(i):
        elapsed, since[i] = t - since[i], t
        if not l1 or not t or s[i] == 0 or (adaptive and G[i] == 0) or (intercept and i == d - 1):
            return
        rate = eta / t**power_t
        if normalization is not None:
            rate *= math.sqrt(t / N) if adaptive else t / N
        if adaptive:
            rate *= s[i] / math.sqrt(G[i])
        u = w[i] * s[i]
        z[i] += (1 / rate - sigmas[i]) * settled[i] + (u - settled[i]) / rate
        u = math.copysign(max(abs(z[i]) - l1 * t, 0.0) * rate, z[i]) / (1 + l2 * rate * elapsed)
        z[i] -= l2 * elapsed * u
        sigmas[i], settled[i], w[i] = 1 / rate, u, u / s[i]

    seen, seen_y, seen_c, counted = [[] for _ in range(d)], [], [], []

    def unit_of(values):
        return math.sqrt(math.fsum(c * v * v for c, v in zip(seen_c, values)) / math.fsum(seen_c[: len(values)]))

    for row, (features, target) in enumerate(zip(X, y)):
        c = 1.0 if weights is None else float(weights[row])
        if c == 0:
            predictions.append(sum(wi * float(xi) for wi, xi in zip(w, [*features, 1.0])))
            continue
        x = [float(v) for v in features] + [1.0] * intercept
        for i in range(d):
            if x[i]:
                penalise(i)
        t += c
        seen_c.append(c)
        for i in range(d):
            rms = 0.0
            seen[i].append(x[i])
            if centred and not (intercept and i == d - 1):
                mean, rms = moments(seen[i], seen_c)
                x[i] -= mean
            if normalization == "rms" and rms:
                new = rms
            elif normalization == "max":
                new = max(s[i], abs(x[i]))
            elif normalization == "rms":
                squares[i] += c * x[i] ** 2
                new = math.sqrt(squares[i] / t)
            else:
                new = 1.0
            if s[i] > 0 and new != s[i]:
                w[i] *= s[i] / new if adaptive else (s[i] / new) ** 2
            s[i] = new
        N += c * sum((x[i] / s[i]) ** 2 for i in range(d) if s[i] > 0)
        p = sum(w[i] * x[i] for i in range(d))
        unit = 1.0
        if target_unit:
            if seen_y:
                mean, unit = moments(counted, seen_c[:-1]) if intercept else (0.0, unit_of(counted))
                low, high = some_range(seen_y)
                if clip == "targets" and intercept:
                    below, above = margins(seen_y, seen_c[:-1])
                    low, high = low - below, high + above
                elif clip != "targets":
                    low, high = clip or (2 * low - high, 2 * high - low)
                predictions.append(min(max(p + mean, low), high))
            else:
                predictions.append(0.0 if clip in (None, "targets") else min(max(0.0, clip[0]), clip[1]))
            far = outlying * unit if robust and counted and unit else math.inf
            counted.append(min(max(target, mean - far), mean + far) if counted else target)
            seen_y.append(target)
            if intercept:
                mean, unit = moments(counted, seen_c)
                p += mean
            else:
                unit = unit_of(counted)
        else:
            low, high = (some_range(seen_y) if clip == "targets" and seen_y else None) or (-math.inf, math.inf)
            low, high = (low, high) if clip in (None, "targets") else clip
            predictions.append(min(max(p, low), high))
            seen_y.append(target)
        if clip is not None:
            if clip == "targets":
                low, high = some_range(seen_y)
                room = (high - low) / math.sqrt(max(t - c, 1.0))
                low, high = low - room, high + room
            else:
                low, high = clip
            p = min(max(p, low), high)
        rate = eta / t**power_t
        if normalization is not None:
            rate *= (math.sqrt(t / N) if adaptive else t / N) if N > 0 else 0.0
        slope = gradient(loss, p, target)
        if adaptive or loss == "absolute_error":
            rate *= unit
        if importance_aware and slope:
            step = [0.0] * d
            for i in range(d):
                if x[i] == 0:
                    continue
                if adaptive:
                    G[i] += c * (slope * x[i]) ** 2
                    step[i] = x[i] / (s[i] * math.sqrt(G[i]))
                else:
                    step[i] = x[i] / s[i] ** 2
            reach = sum(step[i] * x[i] for i in range(d))
            far = move(loss, p, target, c * rate * reach) / reach if reach else 0.0
            for i in range(d):
                w[i] += far * step[i]
            continue
        g = c * slope
        for i in range(d):
            gi = g * x[i]
            G[i] += gi**2
            if gi:
                w[i] -= rate * gi / (s[i] * math.sqrt(G[i])) if adaptive else rate * gi / s[i] ** 2
            if l2 and not l1 and s[i] > 0 and not (intercept and i == d - 1):
                if adaptive and G[i] == 0:
                    continue
                w[i] *= math.exp(-l2 * c * rate * (s[i] / math.sqrt(G[i]) if adaptive else 1.0))
    for i in range(d):
        penalise(i)
    return predictions, w
