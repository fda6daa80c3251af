"""Follow the regularised leader in plain Python: one row, one feature, one float at a time.

`proximal` is Algorithm 1 of McMahan et al. (2013) as printed. `run` is the scale-free form of all regularisers, from
their definitions: at each row, every sum is recomputed from all earlier rows, with the current scales. Neither shares a
line with the package.
"""

import math

from ..nag.reference import gradient, moments


def factors(counts, half_life):
    """Yield the factor by which sums over rows are multiplied after each row, in steps of a quarter of a half-life."""
    age, faded = 0.0, 0
    for c in counts:
        age += c
        steps = math.floor(4 * age / half_life)
        yield 0.5 ** ((steps - faded) / 4)
        faded = steps


def proximal(X, y, loss, alpha, beta, l1, l2, weights=None, half_life=math.inf):
    """Return progressive predictions and final weights of Algorithm 1, without intercept.

    The weight of a row multiplies its gradient.
    """
    d = len(X[0])
    fading = factors([1.0] * len(X) if weights is None else weights, half_life)
    z, n, predictions = [0.0] * d, [0.0] * d, []

    def weight(i):
        if abs(z[i]) <= l1:
            return 0.0
        return -(z[i] - math.copysign(l1, z[i])) / ((beta + math.sqrt(n[i])) / alpha + l2)

    for row, (x, target) in enumerate(zip(X, y)):
        named = [i for i in range(d) if x[i] != 0]
        w = {i: weight(i) for i in named}
        p = math.fsum(w[i] * x[i] for i in named)
        predictions.append(p)
        slope = gradient(loss, p, target) * (1.0 if weights is None else weights[row])
        for i in named:
            g = slope * x[i]
            sigma = (math.sqrt(n[i] + g * g) - math.sqrt(n[i])) / alpha
            z[i] += g - sigma * w[i]
            n[i] += g * g
        factor = next(fading)
        z, n = [factor * value for value in z], [factor * value for value in n]
    return predictions, [weight(i) for i in range(d)]


def run(
    X,
    y,
    *,
    loss,
    regularizer,
    normalization,
    eta,
    beta=0.0,
    power_t=0.0,
    l1=0.0,
    l2=0.0,
    radius=1.0,
    positive=False,
    weights=None,
    target_unit=False,
    half_life=math.inf,
):
    """Return progressive predictions for rows that are not centred, with an intercept in the last place."""
    assert half_life == math.inf or regularizer != "proximal"  # its squares and slopes fade at different speeds
    d = len(X[0]) + 1
    fading = factors([1.0] * len(X) if weights is None else weights, half_life)
    rows, slopes, played_v, counts, targets, predictions, N = [], [], [], [], [], [], 0.0
    for row, (features, target) in enumerate(zip(X, y)):
        c = 1.0 if weights is None else float(weights[row])
        x = [*map(float, features), 1.0]
        all_rows, all_counts = [*rows, x], [*counts, c]
        t = math.fsum(all_counts)
        s = []
        for i in range(d):
            values = [abs(r[i]) for r in all_rows]
            if normalization == "max":
                s.append(max(values))
            elif normalization == "rms":
                s.append(math.sqrt(math.fsum(k * v * v for k, v in zip(all_counts, values)) / t))
            else:
                s.append(1.0)
        N += c * math.fsum((x[i] / s[i]) ** 2 for i in range(d) if s[i])
        length = math.sqrt(N / t) if normalization is not None and regularizer != "entropy" else 1.0
        mean, unit = 0.0, 1.0
        if target_unit:
            mean, unit = moments(targets, counts) if targets else (0.0, 0.0)
        of_gradients = unit if loss == "squared_error" else 1.0
        rate = eta / max(t, 1.0) ** (0.0 if regularizer == "proximal" else power_t)
        v = []
        for i in range(d):
            a = s[i] * length * of_gradients
            g = [slope * r[i] for slope, r in zip(slopes, rows)]
            if a == 0.0:
                v.append(0.0)
                continue
            sigma, past = 0.0, 0.0
            if regularizer == "proximal":
                total = 0.0
                for q, own in enumerate(g):
                    grown = math.sqrt(total + own * own) - math.sqrt(total)
                    past += grown * played_v[q][i] / (eta * a)
                    total += own * own
                sigma = (beta + math.sqrt(total) / a) / eta
            else:
                sigma = 1.0 / rate
            z = math.fsum(g) / a - past
            own_l1, own_l2 = (l1, l2) if i < d - 1 and regularizer != "entropy" else (0.0, 0.0)
            v.append(-math.copysign(max(abs(z) - own_l1, 0.0), z) / (sigma + own_l2) if z else 0.0)
        if regularizer == "entropy":  # so far, v is -rate * z
            inner = v[:-1]
            top = max(inner) if positive else max(map(abs, inner))
            up = [math.exp(p - top) for p in inner]
            down = [0.0 if positive else math.exp(-p - top) for p in inner]
            v[:-1] = [radius * (a - b) / math.fsum(up + down) for a, b in zip(up, down)]
        z_row = [x[i] / (s[i] * length) if s[i] else 0.0 for i in range(d)]
        p = math.fsum(v[i] * z_row[i] for i in range(d))
        if target_unit:
            low, high = (min(targets), max(targets)) if targets else (0.0, 0.0)
            predictions.append(min(max(mean + unit * p, 2 * low - high), 2 * high - low))
            targets.append(target)
            mean, unit = moments(targets, all_counts)
            p = mean + unit * p
        else:
            predictions.append(p)
        rows, counts = all_rows, all_counts
        slopes.append(c * gradient(loss, p, target))
        played_v.append(v)
        factor = next(fading)
        slopes, counts, N = [factor * g for g in slopes], [factor * k for k in counts], factor * N
    return predictions
