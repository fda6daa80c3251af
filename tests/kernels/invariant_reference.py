"""The learners without a learning rate, from the papers' statements, in extended precision and from scratch.

Sums are updated row by row, and every pseudo-inverse is computed anew by eigendecomposition, in 25 to 40 digits. No
line is shared with the package. Rows have weight 1. Targets and features are taken as they are, except that frequent
features are centred if ``centred``.
"""

import mpmath
from mpmath import mp, mpf

DIGITS = 40


def derivative(loss, p, y):
    """Return the derivative of a loss whose derivatives are at most 1 in absolute value."""
    if loss == "log_loss":
        return -y / (1 + mpmath.exp(y * p))
    if loss == "hinge":
        return -y if y * p < 1 else mpf(0)
    if loss == "absolute_error":
        return mpf(int(p > y) - int(p < y))
    raise KeyError(loss)


def pseudo_solver(S):
    """Return a function that maps ``h`` to ``S^+ h``.

    It uses the eigenvalues of ``S`` scaled to a unit diagonal, because rank does not depend on units.
    """
    n = S.rows
    scale = [mpmath.sqrt(S[i, i]) if S[i, i] > 0 else mpf(1) for i in range(n)]
    scaled = mpmath.matrix(n, n)
    for i in range(n):
        for j in range(n):
            scaled[i, j] = S[i, j] / scale[i] / scale[j]
    values, vectors = mpmath.eigsy(scaled)
    least = mpf(10) ** (-DIGITS // 2)

    def solve(h):
        right = vectors.T * mpmath.matrix([h[i] / scale[i] for i in range(n)])
        inner = mpmath.matrix([right[i] / values[i] if values[i] > least else mpf(0) for i in range(n)])
        solution = vectors * inner
        return mpmath.matrix([solution[i] / scale[i] for i in range(n)])

    return solve


def full(X, y, loss, alpha):
    """Algorithm 2 of 2017: return the prediction for each row, and the final Gamma and average of the weights.

    At each row, the average ``a`` first becomes ``S^+ ((S - x x^T) a + x x^T w)``, from its own predictions for earlier
    rows and that of the weights ``w`` for this row. Then ``w`` is added with the share ``1 - (1 - 1 / t)^2``.
    """
    with mp.workdps(DIGITS):
        n = len(X[0])
        S, h, surprise, played = mpmath.zeros(n, n), mpmath.zeros(n, 1), mpf(0), []
        average = mpmath.zeros(n, 1)
        for t, (row, target) in enumerate(zip(X, y), 1):
            x = mpmath.matrix([mpf(float(v)) for v in row])
            before = S.copy()
            S += x * x.T
            solve = pseudo_solver(S)

            def weights(h, surprise, solve=solve):
                solved = solve(h)
                return mpmath.exp(((h.T * solved)[0] - surprise) / (2 * alpha)) / alpha * solved

            p = (x.T * weights(h, surprise))[0]
            g = derivative(loss, p, mpf(float(target)))
            surprise += g**2 * (x.T * solve(x))[0]
            h -= g * x
            played.append(float(p))
            w = weights(h, surprise)
            average = solve(before * average + x * (x.T * w)[0])
            average += (1 - (1 - mpf(1) / t) ** 2) * (w - average)
        return played, float(surprise), [float(v) for v in average]


def deviations(columns, t, centred):
    """Yield, for each column, the deviation of row ``t`` from the mean so far and the sum of squared deviations."""
    for column, is_centred in zip(columns, centred):
        values = column[:t]
        mean = mpmath.fsum(values) / t if is_centred else mpf(0)
        yield values[-1] - mean, mpmath.fsum((v - mean) ** 2 for v in values)


def coordinatewise(X, y, loss, update, alpha=1.5, centred=()):
    """Algorithm 1 of 2017, or ScInOL 1 and 2 of 2019: return the prediction for each row."""
    with mp.workdps(25):
        n = len(X[0])
        columns = [[mpf(float(v)) for v in column] for column in zip(*X)]
        centred, frequent, rows = centred or [False] * n, [False] * n, [0] * n
        raw = [mpf(0)] * n
        h, squares, largest, beta, played = [mpf(0)] * n, [mpf(0)] * n, [mpf(0)] * n, [mpf(1)] * n, []
        for t, target in enumerate(y, 1):
            x, weight = [], []
            for i in range(n):
                rows[i] += columns[i][t - 1] != 0
                now = centred[i] and (8 * rows[i] >= 3 * t if frequent[i] else 2 * rows[i] > t)
                if now != frequent[i] and t > 1:
                    largest[i] = max(largest[i], raw[i])
                frequent[i], raw[i] = now, max(raw[i], abs(columns[i][t - 1]))
            for i, (value, total) in enumerate(deviations(columns, t, frequent)):
                x.append(value)
                largest[i] = max(largest[i], abs(value) if frequent[i] else raw[i])
                if largest[i] == 0:
                    weight.append(mpf(0))
                elif update == "potential":
                    rest = mpmath.exp((h[i] ** 2 + value**2) / (2 * alpha * total))
                    weight.append(rest * h[i] / total / (alpha * t * n))
                else:
                    size = squares[i] + largest[i] ** 2
                    theta = h[i] / mpmath.sqrt(size)
                    if update == "scinol1":
                        beta[i] = min(beta[i], size / (value**2 * t)) if value != 0 else beta[i]
                        bet = mpmath.sign(theta) * (mpmath.exp(abs(theta) / 2) - 1)
                    else:
                        bet = mpmath.sign(theta) * min(abs(theta), 1)
                    weight.append(beta[i] * bet / (2 * mpmath.sqrt(size)))
            p = mpmath.fsum(w * v for w, v in zip(weight, x))
            g = derivative(loss, p, mpf(float(target)))
            for i in range(n):
                h[i] -= g * x[i]
                squares[i] += (g * x[i]) ** 2
                if update == "scinol2":
                    beta[i] -= g * x[i] * weight[i]
            played.append(float(p))
        return played
