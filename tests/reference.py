"""The algorithms as the paper prints them, in plain Python: one row, one feature, one float at a time.

Written from the paper's pseudocode, with ``w``, ``s``, ``G`` and ``N``; it shares no line with the package.
"""

import math


def gradient(loss, p, y, epsilon=0.1, quantile=0.5):
    """Derivative of a loss by the prediction, by cases."""
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


def run(
    X, y, *, loss, normalization, adaptive, eta, power_t=0.0, weights=None, intercept=True, alpha=0.0, l1_ratio=0.0
):
    """Progressive predictions and final ``w`` (the intercept last), over rows in order.

    The penalty is applied after each row, to ``u = w s``, at the learning rate of the coordinate, as the exact solution
    of ``du = -rate (l1 sign(u) + l2 u)``.
    """
    d = len(X[0]) + intercept
    w, s, G, squares = [0.0] * d, [0.0] * d, [0.0] * d, [0.0] * d
    N = t = 0.0
    predictions = []
    for row, (features, target) in enumerate(zip(X, y)):
        c = 1.0 if weights is None else float(weights[row])
        if c == 0:
            predictions.append(sum(wi * float(xi) for wi, xi in zip(w, [*features, 1.0])))
            continue
        x = [float(v) for v in features] + [1.0] * intercept
        t += c
        for i in range(d):
            if normalization == "max":
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
        predictions.append(p)
        g = c * gradient(loss, p, target)
        rate = eta / t**power_t
        if normalization is not None:
            rate *= (math.sqrt(t / N) if adaptive else t / N) if N > 0 else 0.0
        for i in range(d):
            gi = g * x[i]
            G[i] += gi**2
            if gi:
                w[i] -= rate * gi / (s[i] * math.sqrt(G[i])) if adaptive else rate * gi / s[i] ** 2
            if alpha and s[i] > 0 and not (intercept and i == d - 1):
                if adaptive and G[i] == 0:
                    continue
                own = c * rate * (s[i] / math.sqrt(G[i]) if adaptive else 1.0)
                l1, l2 = alpha * l1_ratio, alpha * (1 - l1_ratio)
                size = abs(w[i] * s[i])
                size = (size + l1 / l2) * math.exp(-own * l2) - l1 / l2 if l2 else size - own * l1
                w[i] = math.copysign(max(size, 0.0), w[i]) / s[i]
    return predictions, w
