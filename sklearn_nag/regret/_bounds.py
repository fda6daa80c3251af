"""Regret bounds from theorems, as functions of a recorded run.

Notation: ``g`` is the derivative of the loss with respect to the prediction, ``v = g x`` that with respect to the
weights, and ``u`` are the weights that regret is measured against. Each function returns a curve with an entry for each
row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy

from ._run import Run, dot, of_columns


def _gradients(run):
    """``v``, of shape (..., n_rows, n_features)."""
    return run.gradients[..., None] * run.X


def _lengths(columns):
    """Euclidean lengths of columns up to each row; without squares, in range in any units."""
    return np.hypot.accumulate(np.abs(columns), axis=-2)


def _square(run, u):
    """``|u|^2``, with an axis for rows."""
    return (of_columns(run.X, u) ** 2).sum(axis=-1)[..., None]


def _norm(run, u):
    """``|u|_S``, the root of the sum of squared predictions of ``u`` up to each row."""
    return np.sqrt(np.cumsum(dot(run.X, u) ** 2, axis=-1))


def _clock(run):
    return np.arange(1.0, run.X.shape[-2] + 1.0)


def ogd_bound(run: Run, u: ArrayLike, eta0: float) -> np.ndarray:
    """Regret bound of online gradient descent, and of FTRL with an L2 regulariser, for a constant rate.

    The bound is ``|u|^2 / (2 eta0) + eta0 / 2 * sum |v|^2`` [1]_, with ``v`` the gradients. It also holds with
    projection onto a convex set that contains ``u``. With ``|v| <= rho``, ``|u| <= B`` and ``eta0 = B / (rho sqrt(T))``
    it is ``B rho sqrt(T)``.

    Parameters
    ----------
    run : Run
        The recorded run.
    u : array-like of shape (..., n_features)
        Weights to compare with.
    eta0 : float
        Learning rate.

    Returns
    -------
    ndarray of shape (..., n_rows)
        The bound up to each row.

    See Also
    --------
    Run.regret : The regret that is bounded.

    References
    ----------
    .. [1] Zinkevich, "Online convex programming and generalized infinitesimal gradient ascent", ICML 2003; as in
       Shalev-Shwartz, "Online learning and online convex optimization", 2012, Theorem 2.4.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_nag import NAGClassifier
    >>> from sklearn_nag.regret import best_in_hindsight, ogd_bound, record
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> ogd = NAGClassifier(normalization=None, adaptive=False, importance_aware=False, eta0=1e-6, fit_intercept=False)
    >>> run = record(ogd, X, y)
    >>> u = best_in_hindsight(run)
    >>> bool((run.regret(u) <= ogd_bound(run, u, 1e-6)).all())
    True
    """
    squares = np.cumsum((_gradients(run) ** 2).sum(axis=-1), axis=-1)
    return _square(run, u) / (2 * eta0) + eta0 / 2 * squares


def entropy_bound(run: Run, u: ArrayLike, eta0: float) -> np.ndarray:
    """Regret bound of exponentiated gradient on the simplex, which is FTRL with the entropy as regulariser.

    The bound is ``KL(u, uniform) / eta0 + eta0 / 2 * sum max_i v_i^2`` [1]_, with ``v`` the gradients.

    Parameters
    ----------
    run : Run
        The recorded run.
    u : array-like of shape (..., n_features)
        Weights to compare with; not negative, with sum 1.
    eta0 : float
        Learning rate.

    Returns
    -------
    ndarray of shape (..., n_rows)
        The bound up to each row.

    See Also
    --------
    hedge_bound : The same for losses of experts.

    References
    ----------
    .. [1] Shalev-Shwartz, "Online learning and online convex optimization", 2012, Theorem 2.22 before the last step of
       its proof.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_nag.losses import AbsoluteError
    >>> from sklearn_nag.regret import Run, entropy_bound
    >>> run = Run(np.eye(2), np.zeros(2), np.full(2, 0.5), AbsoluteError())
    >>> entropy_bound(run, [0.5, 0.5], 0.1)
    array([0.05, 0.1 ])
    """
    divergence = xlogy(weights := of_columns(run.X, u), weights).sum(axis=-1) + np.log(run.X.shape[-1])
    largest = np.abs(_gradients(run)).max(axis=-1)
    return divergence[..., None] / eta0 + eta0 / 2 * np.cumsum(largest**2, axis=-1)


def hedge_bound(losses: ArrayLike, eta0: float) -> np.ndarray:
    """Regret bound of Hedge with a fixed rate, against the best expert.

    The bound is ``log(K) / eta0 + eta0 / 8 * sum (max - min)^2`` for ``K`` experts, with the largest and the least loss
    of each row [1]_.

    Parameters
    ----------
    losses : array-like of shape (..., n_rows, n_experts)
        Losses of the experts.
    eta0 : float
        Learning rate.

    Returns
    -------
    ndarray of shape (..., n_rows)
        The bound up to each row.

    See Also
    --------
    sklearn_nag.HedgeClassifier : A learner with this bound.

    References
    ----------
    .. [1] Cesa-Bianchi and Lugosi, "Prediction, learning, and games", 2006, Theorem 2.2.

    Examples
    --------
    >>> from sklearn_nag.regret import hedge_bound
    >>> hedge_bound([[0.0, 1.0], [1.0, 0.0]], 1.0).round(3)
    array([0.818, 0.943])
    """
    losses = np.asarray(losses, dtype=np.float64)
    ranges = losses.max(axis=-1) - losses.min(axis=-1)
    return np.log(losses.shape[-1]) / eta0 + eta0 / 8 * np.cumsum(ranges**2, axis=-1)


def adahedge_bound(losses: ArrayLike) -> np.ndarray:
    """Regret bound of AdaHedge, against the best expert.

    The bound is ``2 sqrt(S (L_max - L_best) (L_best - L_min) log(K) / (L_max - L_min)) + S (16 / 3 log(K) + 2)`` [1]_.
    ``L_max`` and ``L_min`` are the totals of the largest and the least loss of each row, ``L_best`` is the total loss
    of the best of the ``K`` experts, and ``S`` is the largest range of a row.

    Parameters
    ----------
    losses : array-like of shape (..., n_rows, n_experts)
        Losses of the experts.

    Returns
    -------
    ndarray of shape (..., n_rows)
        The bound up to each row.

    See Also
    --------
    sklearn_nag.HedgeClassifier : A learner with this bound.

    Notes
    -----
    It follows from the bound ``2 sqrt(V log(K)) + S (4 / 3 log(K) + 2)`` of Theorem 6, where ``V`` sums the variances
    of the losses of each row under the weights played. Let ``H`` be the total loss of AdaHedge. Each variance is at
    most the distance from AdaHedge's loss to the largest loss times that to the least. So ``V`` is at most ``S (L_max -
    H) (H - L_min) / (L_max - L_min)``. This exceeds the same expression with ``L_best`` for ``H`` by at most ``S``
    times the regret. Solving for the regret adds ``4 S log(K)``.

    References
    ----------
    .. [1] de Rooij, van Erven, Grünwald and Koolen, "Follow the leader if you can, hedge if you must", JMLR 15, 2014,
       Theorem 8.

    Examples
    --------
    >>> from sklearn_nag.regret import adahedge_bound, expert_game
    >>> bool(adahedge_bound(expert_game("coins", 1000, 4, random_state=0))[-1] < 60)
    True
    """
    losses = np.asarray(losses, dtype=np.float64)
    high, low = np.cumsum(losses.max(axis=-1), axis=-1), np.cumsum(losses.min(axis=-1), axis=-1)
    best = np.cumsum(losses, axis=-2).min(axis=-1)
    ranges = np.maximum.accumulate(losses.max(axis=-1) - losses.min(axis=-1), axis=-1)
    part = np.maximum(high - best, 0.0) / np.where(high > low, high - low, 1.0)
    n = np.log(losses.shape[-1])
    roots = np.sqrt(ranges) * np.sqrt(np.maximum(best - low, 0.0))  # separately: their product may be out of range
    return 2 * roots * np.sqrt(part * n) + ranges * (16 / 3 * n + 2)


def majority_bound(mistakes: ArrayLike, eta0: float) -> np.ndarray:
    """Bound on the number of mistakes of Weighted Majority.

    The bound is ``(eta0 m + log(K)) / log(2 / (1 + exp(-eta0)))``, with ``m`` the mistakes of the best of ``K`` experts
    [1]_.

    Parameters
    ----------
    mistakes : array-like of shape (..., n_rows, n_experts)
        Whether each expert is wrong.
    eta0 : float
        Learning rate: a mistake multiplies a weight by ``exp(-eta0)``.

    Returns
    -------
    ndarray of shape (..., n_rows)
        The bound on the number of mistakes up to each row.

    See Also
    --------
    sklearn_nag.HedgeClassifier : With ``update="weighted_majority"``, a learner with this bound.

    References
    ----------
    .. [1] Littlestone and Warmuth, "The weighted majority algorithm", Information and Computation 108, 1994,
       Theorem 2.1 and its corollary.

    Examples
    --------
    >>> from sklearn_nag.regret import majority_bound
    >>> majority_bound([[1, 0], [0, 1]], 0.5).round(2)
    array([3.16, 5.45])
    """
    best = np.cumsum(np.asarray(mistakes, dtype=np.float64), axis=-2).min(axis=-1)
    return (eta0 * best + np.log(np.shape(mistakes)[-1])) / np.log(2 / (1 + np.exp(-eta0)))


def perceptron_bound(run: Run, u: ArrayLike) -> np.ndarray:
    """Bound on the number of mistakes of the Perceptron, from the hinge loss of any weights.

    The bound is ``L + R |u| sqrt(L) + R^2 |u|^2`` [1]_. ``L`` is the hinge loss of ``u`` on the rows with mistakes, and
    ``R`` is the largest length of these rows.

    Parameters
    ----------
    run : Run
        The recorded run.
    u : array-like of shape (..., n_features)
        Weights to compare with, of any length.

    Returns
    -------
    ndarray of shape (..., n_rows)
        The bound on the number of mistakes up to each row.

    See Also
    --------
    margin_bound : The same for rows with a margin.

    References
    ----------
    .. [1] Shalev-Shwartz, "Online learning and online convex optimization", 2012, Theorem 3.1 and its corollary.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_nag.losses import Perceptron
    >>> from sklearn_nag.regret import Run, perceptron_bound
    >>> run = Run(np.array([[1.0], [-1.0]]), np.array([1.0, -1.0]), np.array([0.0, -1.0]), Perceptron())
    >>> run.mistakes.cumsum(), perceptron_bound(run, [1.0])
    (array([1, 1]), array([1., 1.]))
    """
    hinge = np.where(run.mistakes, np.maximum(0.0, 1.0 - run.y * dot(run.X, u)), 0.0)
    loss = np.cumsum(hinge, axis=-1)
    lengths = np.where(run.mistakes, (run.X**2).sum(axis=-1), 0.0)
    size = np.maximum.accumulate(lengths, axis=-1) * _square(run, u)
    return loss + np.sqrt(size * loss) + size


def margin_bound(run: Run, u: ArrayLike) -> np.ndarray:
    """Bound on the number of mistakes of the Perceptron, from the margin: ``(R / margin)^2``.

    ``R`` is the largest length of a row, and the margin is the least ``y x u / |u|``. If the margin is not positive,
    there is no bound [1]_.

    Parameters
    ----------
    run : Run
        The recorded run.
    u : array-like of shape (..., n_features)
        Weights that separate the rows.

    Returns
    -------
    ndarray of shape (..., n_rows)
        The bound on the number of mistakes up to each row; inf if there is none.

    See Also
    --------
    margin_data : Rows with a margin.

    References
    ----------
    .. [1] Novikoff, "On convergence proofs on perceptrons", 1962.

    Examples
    --------
    >>> from sklearn_nag import NAGClassifier
    >>> from sklearn_nag.regret import margin_bound, margin_data, record
    >>> X, y, u = margin_data(100, 3, margin=0.1, random_state=0)
    >>> plain = {"normalization": None, "adaptive": False, "importance_aware": False, "fit_intercept": False}
    >>> run = record(NAGClassifier("perceptron", **plain), X, y)
    >>> bool(run.mistakes.sum() <= margin_bound(run, u)[-1] <= 101)
    True
    """
    u = np.asarray(u, dtype=np.float64)
    margin = np.minimum.accumulate(run.y * dot(run.X, u), axis=-1) / np.linalg.norm(u, axis=-1)[..., None]
    largest = np.maximum.accumulate(np.linalg.norm(run.X, axis=-1), axis=-1)
    with np.errstate(divide="ignore", over="ignore"):
        return np.where(margin > 0, (largest / np.maximum(margin, 0.0)) ** 2, np.inf)


def nag_bound(run: Run, scale: ArrayLike | None, radius: float) -> np.ndarray:
    """Regret bound of NAG with projection, for scales that are given or learnt.

    The bound is ``2 sqrt(2) radius sum_i sqrt(sum v_i^2 / scale_i^2)``, against all ``u`` with ``sum scale_i |u_i| <=
    radius``. The learner takes the step ``radius sqrt(2) g z / sqrt(H)`` and then projects onto the same set (Theorem 1
    of [1]_, by AdaGrad's argument: coordinates differ by at most ``2 radius`` [2]_).

    If scales are learnt, as the largest value up to each row (the setting of Theorem 2), the factor ``2 sqrt(2)`` of a
    feature becomes ``(5 d + 3) / (2 sqrt(2))``, with ``d`` the last scale divided by the first; see the notes.

    Parameters
    ----------
    run : Run
        The recorded run.
    scale : array-like of shape (..., n_features) or None
        Positive scale of each feature, known before the first row; None if scales are learnt along with the weights.
    radius : float
        Radius of the set of weights.

    Returns
    -------
    ndarray of shape (..., n_rows)
        The bound up to each row.

    See Also
    --------
    best_in_hindsight : Best weights of the set.
    sklearn_nag.constraints.WeightedL1Ball : The set, for the learners of this package.

    Notes
    -----
    The factor for learnt scales is derived here, and may differ from that of the paper. For one feature, let ``s`` be
    the scale at a row, ``s_1`` and ``s_T`` the first and the last scale, ``C`` the radius, ``w`` the comparator, and
    ``R`` the root of the sum of ``v^2``. Then ``s w`` moves as the scale grows, and is at most ``C s / s_T`` in size.
    By convexity and the projection, regret is at most the sum of two terms: ``1 / (2 sqrt(2) C)`` times the sum of ``R
    / s ((before - s w)^2 - (after - s w)^2)``, and ``C / sqrt(2)`` times that of ``v^2 / (s R)``.

    - In the first sum, the terms of neighbouring rows cancel except where ``R`` or ``s`` grows. Where ``R`` grows, what
      remains is ``1 / s (before - s w)^2`` times its growth. This is at most ``C^2 / s (1 + s / s_T)^2``, which is
      largest for ``s_1``, so the total is at most ``C^2 R_T / s_T (d + 2 + 1 / d)``. Where ``s`` grows, as ``(u - s
      w)^2 / s = u^2 / s - 2 u w + s w^2``, what remains is at most ``R w^2`` times its growth, and the total is at most
      ``C^2 R_T / s_T (1 - 1 / d)``.
    - The second sum is at most ``2 R_T / s_1``, which gives ``C R_T / s_T 4 d / (2 sqrt(2))``.

    References
    ----------
    .. [1] Ross, Mineiro and Langford, "Normalized online learning", UAI 2013.
    .. [2] Duchi, Hazan and Singer, "Adaptive subgradient methods", JMLR 12, 2011, Theorem 5.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_nag.losses import AbsoluteError
    >>> from sklearn_nag.regret import Run, nag_bound
    >>> run = Run(np.ones((4, 1)), np.ones(4), np.zeros(4), AbsoluteError())
    >>> nag_bound(run, [1.0], 1.0).round(2)
    array([2.83, 4.  , 4.9 , 5.66])
    """
    if scale is not None:
        squares = np.cumsum((_gradients(run) / np.asarray(scale)[..., None, :]) ** 2, axis=-2)
        return 2 * np.sqrt(2) * radius * np.sqrt(squares).sum(axis=-1)
    last = np.maximum.accumulate(np.abs(run.X), axis=-2)
    first = np.where(last > 0, last, np.inf).min(axis=-2, keepdims=True)
    growth = np.maximum(last / first, 1.0)  # 1 before the first value, where there is no gradient either
    sizes = _lengths(_gradients(run)) / np.where(last > 0, last, 1.0)
    return radius * ((5 * growth + 3) / (2 * np.sqrt(2)) * sizes).sum(axis=-1)


def potential_bound(run: Run, u: ArrayLike, alpha: float = 1.5) -> np.ndarray:
    """Regret bound of the potential-based learner that is invariant coordinate by coordinate.

    The bound is ``sum_i |u_i| s_i sqrt(alpha log(1 + alpha d^2 T^2 u_i^2 s_i^2)) + kappa (1 + log T)``, with ``s_i^2 =
    sum x_i^2`` and ``kappa = exp(1 / (2 (alpha - 9 / 8)))``. It holds for derivatives within [-1, 1] (Theorem 4 of
    [1]_).

    Parameters
    ----------
    run : Run
        The recorded run.
    u : array-like of shape (..., n_features)
        Weights to compare with.
    alpha : float, default=1.5
        The ``alpha`` of the learner.

    Returns
    -------
    ndarray of shape (..., n_rows)
        The bound up to each row.

    See Also
    --------
    sklearn_nag.ScaleInvariantClassifier : With ``update="potential"``, a learner with this bound.

    References
    ----------
    .. [1] Kotłowski, "Scale-invariant unconstrained online learning", ALT 2017. https://arxiv.org/abs/1708.07042

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_nag import ScaleInvariantClassifier
    >>> from sklearn_nag.regret import best_in_hindsight, potential_bound, record
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> learner = ScaleInvariantClassifier(update="potential", fit_intercept=False, centering=False)
    >>> run = record(learner, X, y)
    >>> u = best_in_hindsight(run)
    >>> bool((run.regret(u) <= potential_bound(run, u)).all())
    True
    """
    T, d = _clock(run), run.X.shape[-1]
    size = np.abs(of_columns(run.X, u)[..., None, :]) * _lengths(run.X)
    kappa = np.exp(1 / (2 * (alpha - 9 / 8)))
    roots = np.sqrt(alpha * np.log1p(alpha * (d * T[:, None] * size) ** 2))
    return (size * roots).sum(axis=-1) + kappa * (1 + np.log(T))


def _surprise(run):
    """``x S^+ x`` for each row, with ``S`` the sum of ``x x^T`` up to it: 1 for a new direction, less for old ones."""
    scale = np.abs(run.X).max(axis=-2, keepdims=True)
    x = run.X / np.where(scale > 0, scale, 1.0)
    S = np.cumsum(x[..., :, None] * x[..., None, :], axis=-3)
    return np.clip(np.einsum("...i,...ij,...j->...", x, np.linalg.pinv(S, rcond=1e-13, hermitian=True), x), 0.0, 1.0)


def full_bound(run: Run, u: ArrayLike, alpha: float = 1.5) -> np.ndarray:
    """Regret bound of the potential-based learner that is invariant under every linear map.

    The bound is ``|u|_S sqrt(alpha log(1 + alpha |u|_S^2 exp(Gamma / alpha))) + 1`` with ``|u|_S^2 = sum (x u)^2`` and
    ``Gamma = sum g^2 x S^+ x``. It holds for derivatives within [-1, 1] (Theorem 9 of [1]_, before its last
    simplification).

    Parameters
    ----------
    run : Run
        The recorded run. Linearly dependent columns are recognised up to 1e-13 of the largest.
    u : array-like of shape (..., n_features)
        Weights to compare with.
    alpha : float, default=1.5
        The ``alpha`` of the learner.

    Returns
    -------
    ndarray of shape (..., n_rows)
        The bound up to each row.

    See Also
    --------
    sklearn_nag.ScaleInvariantClassifier : With ``invariance="full"``, a learner with this bound.

    Notes
    -----
    An invertible linear map of the rows changes neither the bound nor the predictions, even while there are fewer rows
    than features. A row lies in the span of the rows up to it, and ``S`` and its pseudo-inverse are needed only there.
    The prediction for the first row in a new direction is 0.

    References
    ----------
    .. [1] Kotłowski, "Scale-invariant unconstrained online learning", ALT 2017. https://arxiv.org/abs/1708.07042

    Examples
    --------
    >>> from sklearn_nag import ScaleInvariantClassifier
    >>> from sklearn_nag.regret import best_in_hindsight, full_bound, margin_data, record
    >>> X, y, _ = margin_data(200, 3, margin=0.01, random_state=0)
    >>> run = record(ScaleInvariantClassifier(invariance="full", fit_intercept=False), X, y)
    >>> u = best_in_hindsight(run, norm="l2", radius=5.0)
    >>> bool((run.regret(u) <= full_bound(run, u)).all())
    True
    """
    size = _norm(run, u)
    gamma = np.cumsum(run.gradients**2 * _surprise(run), axis=-1)
    # log(1 + alpha size^2 exp(Gamma / alpha)), in range for any Gamma
    with np.errstate(divide="ignore"):
        exponent = np.logaddexp(0.0, np.log(alpha * size**2) + gamma / alpha)
    return size * np.sqrt(alpha * exponent) + 1


def full_lower_bound(run: Run, u: ArrayLike) -> np.ndarray:
    """Lower bound on the regret on `unlearnable` rows, for the linear loss: ``|u|_S sqrt(T / 2)``.

    Parameters
    ----------
    run : Run
        The recorded run.
    u : array-like of shape (..., n_features)
        The weights returned with the rows.

    Returns
    -------
    ndarray of shape (..., n_rows)
        The bound up to each row.

    See Also
    --------
    unlearnable : The rows.

    References
    ----------
    .. [1] Kotłowski, "Scale-invariant unconstrained online learning", ALT 2017, Theorem 6.
       https://arxiv.org/abs/1708.07042

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_nag.regret import unlearnable
    >>> X, y, u = unlearnable(20, lambda x: 1.0)
    >>> size = np.sqrt(np.sum((X @ u) ** 2))
    >>> bool(np.sum(y * (X @ u)) >= size * np.sqrt(20 / 2))
    True
    """
    return _norm(run, u) * np.sqrt(_clock(run) / 2)


def scinol1_bound(run: Run, u: ArrayLike) -> np.ndarray:
    """Regret bound of ScInOL 1.

    The bound is ``sum_i a_i log(1 + a_i T) + d (1 + log T)`` with ``a_i = 2 |u_i| sqrt(sum v_i^2 + max x_i^2)``. It
    holds for derivatives within [-1, 1] [1]_.

    Parameters
    ----------
    run : Run
        The recorded run.
    u : array-like of shape (..., n_features)
        Weights to compare with.

    Returns
    -------
    ndarray of shape (..., n_rows)
        The bound up to each row.

    See Also
    --------
    sklearn_nag.ScaleInvariantClassifier : With ``update="scinol1"``, a learner with this bound.

    References
    ----------
    .. [1] Kempka, Kotłowski and Warmuth, "Adaptive scale-invariant online algorithms for learning linear models",
       ICML 2019. https://arxiv.org/abs/1902.07528

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_nag import ScaleInvariantClassifier
    >>> from sklearn_nag.regret import best_in_hindsight, record, scinol1_bound
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> run = record(ScaleInvariantClassifier(update="scinol1", fit_intercept=False, centering=False), X, y)
    >>> u = best_in_hindsight(run)
    >>> bool((run.regret(u) <= scinol1_bound(run, u)).all())
    True
    """
    T, d = _clock(run), run.X.shape[-1]
    length = np.hypot(_lengths(_gradients(run)), np.maximum.accumulate(np.abs(run.X), axis=-2))
    size = 2 * np.abs(of_columns(run.X, u)[..., None, :]) * length
    return (size * np.log1p(size * T[:, None])).sum(axis=-1) + d * (1 + np.log(T))


def least_squares_bound(run: Run, u: ArrayLike, penalty: float = 0.0) -> np.ndarray:
    """Regret bound of the Vovk-Azoury-Warmuth forecaster, for half the squared error.

    The bound is ``penalty |u|^2 / 2 + 1 / 2 sum y^2 x A^-1 x`` with ``A = penalty I + sum x x^T`` over the rows up to
    and including the current one [1]_. The sum is at most ``max y^2 log det(I + S / penalty)``. Without a penalty, the
    pseudo-inverse replaces ``A^-1``, and the bound is the same for all ``u`` [2]_.
    :class:`~sklearn_nag.ScaleInvariantRegressor` is this forecaster with ``invariance="full"``, ``fit_intercept=False``
    and ``clip=None``.

    Parameters
    ----------
    run : Run
        The recorded run.
    u : array-like of shape (..., n_features)
        Weights to compare with.
    penalty : float, default=0.0
        The penalty of the forecaster.

    Returns
    -------
    ndarray of shape (..., n_rows)
        The bound up to each row.

    See Also
    --------
    Run.regret : The regret that is bounded.

    References
    ----------
    .. [1] Azoury and Warmuth, "Relative loss bounds for on-line density estimation with the exponential family of
       distributions", Machine Learning 43, 2001, Theorem 4.6; Vovk, "Competitive on-line statistics", 2001.
    .. [2] Gaillard, Gerchinovitz, Huard and Stoltz, "Uniform regret bounds over R^d for the sequential linear
       regression problem with the square loss", ALT 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_nag.losses import SquaredError
    >>> from sklearn_nag.regret import Run, least_squares_bound
    >>> run = Run(np.ones((3, 1)), np.ones(3), np.array([0.0, 0.5, 2 / 3]), SquaredError())
    >>> bool((run.regret([1.0]) <= least_squares_bound(run, [1.0])).all())
    True
    """
    if penalty > 0:
        d = run.X.shape[-1]
        A = penalty * np.eye(d) + np.cumsum(run.X[..., :, None] * run.X[..., None, :], axis=-3)
        leverage = np.einsum("...i,...i->...", run.X, np.linalg.solve(A, run.X[..., None])[..., 0])
    else:
        leverage = _surprise(run)
    return 0.5 * (penalty * _square(run, u) + np.cumsum(run.y**2 * leverage, axis=-1))
