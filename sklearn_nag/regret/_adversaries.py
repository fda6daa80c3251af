"""Rows and losses made to be hard."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from ..estimators._parameters import check_number, check_option, check_seed, shown
from ..estimators._validation import check_finite

_MOST_UNLEARNABLE = 26  # most rows whose features are exact in float64


def scaling_adversary(
    X: ArrayLike, *, orders: float = 6.0, random_state: int | np.random.RandomState | None = None
) -> np.ndarray:
    """Rescale each feature by a random factor, as the adversary of Ross et al., section 4.

    The factors are chosen before the first row.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        Rows.
    orders : float, default=6.0
        Orders of magnitude over which the factors are spread, at most 600.
    random_state : int, RandomState instance or None, default=None
        Determines the factors.

    Returns
    -------
    ndarray of shape (n_rows, n_features)
        The rows, each column multiplied by ``10 ** r``, with ``r`` uniform in ``[-orders / 2, orders / 2]``.

    See Also
    --------
    potential_bound : A bound that no scaling changes.

    References
    ----------
    .. [1] Ross, Mineiro and Langford, "Normalized online learning", UAI 2013, section 4.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_nag.regret import scaling_adversary
    >>> scaling_adversary(np.ones((2, 3)), random_state=0).round(3)
    array([[ 1.963, 19.55 ,  4.136],
           [ 1.963, 19.55 ,  4.136]])
    """
    check_number("orders", orders, min_val=0, max_val=600)
    check_seed(random_state)
    X = np.asarray(X, dtype=np.float64)
    with np.errstate(over="ignore"):
        scaled = X * 10.0 ** check_random_state(random_state).uniform(-orders / 2, orders / 2, X.shape[-1])
    check_finite(scaled, "X in its new units", "scaling_adversary")
    return scaled


def margin_data(
    n_rows: int, n_features: int, *, margin: float, random_state: int | np.random.RandomState | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Make rows in the unit ball that a plane separates with a margin.

    Parameters
    ----------
    n_rows, n_features : int
        Shape of the rows.
    margin : float
        Least distance of the rows from the plane, above 0 and below 1.
    random_state : int, RandomState instance or None, default=None
        Determines the plane and the rows.

    Returns
    -------
    X : ndarray of shape (n_rows, n_features)
        Rows of length at most 1.
    y : ndarray of shape (n_rows,)
        Sides of the plane: -1 or 1.
    u : ndarray of shape (n_features,)
        Normal of the plane, of length 1: ``y * (X @ u) >= margin``.

    See Also
    --------
    margin_bound : The number of mistakes that the Perceptron makes on such rows.

    Examples
    --------
    >>> from sklearn_nag.regret import margin_data
    >>> X, y, u = margin_data(100, 5, margin=0.2, random_state=0)
    >>> bool((y * (X @ u)).min() >= 0.2)
    True
    """
    check_number("n_rows", n_rows, Integral, min_val=1)
    check_number("n_features", n_features, Integral, min_val=1)
    check_number("margin", margin, min_val=0, max_val=1, include_boundaries="neither")
    check_seed(random_state)
    rng = check_random_state(random_state)
    u = rng.normal(size=n_features)
    u /= np.linalg.norm(u)
    y = rng.choice([-1.0, 1.0], n_rows)
    # Most rows are near the plane, where they are hard.
    distance = margin + 1e-12 + (1 - margin) * rng.uniform(size=n_rows) ** 4
    distance = np.minimum(distance, 1.0)
    along = rng.normal(size=(n_rows, n_features))
    for _ in range(2):  # again: what the first step leaves of u may be much of a short row
        along -= np.outer(along @ u, u)
    length = np.linalg.norm(along, axis=1, keepdims=True)
    along *= np.sqrt(1 - distance**2)[:, None] / np.where(length > 0, length, 1.0)
    return (y * distance)[:, None] * u + along, y, u


def expert_game(
    kind: Literal["coins", "leader", "switch"],
    n_rows: int,
    n_experts: int,
    *,
    random_state: int | np.random.RandomState | None = None,
) -> np.ndarray:
    """Make losses of experts, between 0 and 1.

    Parameters
    ----------
    kind : {"coins", "leader", "switch"}
        ``"coins"``: each loss is 0 or 1 at random. ``"leader"``: in each row the leading expert has loss 1 and the
        others 0, so that following the leader loses every row; in the first row, the first expert has loss 1/2.
        ``"switch"``: one expert is good in the first half of the rows, another in the second.
    n_rows, n_experts : int
        Shape of the losses; at least two experts.
    random_state : int, RandomState instance or None, default=None
        Determines what is random.

    Returns
    -------
    ndarray of shape (n_rows, n_experts)
        Losses.

    See Also
    --------
    hedge_bound : A bound on the regret of Hedge.

    Examples
    --------
    >>> from sklearn_nag.regret import expert_game
    >>> expert_game("leader", 4, 2)
    array([[0.5, 0. ],
           [0. , 1. ],
           [1. , 0. ],
           [0. , 1. ]])
    """
    check_option("kind", kind, ("coins", "leader", "switch"))
    check_number("n_rows", n_rows, Integral, min_val=1)
    check_number("n_experts", n_experts, Integral, min_val=2)
    check_seed(random_state)
    rng = check_random_state(random_state)
    losses = rng.randint(0, 2, (n_rows, n_experts)).astype(np.float64)
    if kind == "leader":
        total = np.zeros(n_experts)
        for t in range(n_rows):
            losses[t] = 0.0
            losses[t, 0 if t == 0 else total.argmin()] = 0.5 if t == 0 else 1.0
            total += losses[t]
    elif kind == "switch":
        first, second = rng.permutation(n_experts)[:2]
        losses[: n_rows // 2, first] = 0.0
        losses[n_rows // 2 :, second] = 0.0
    return losses


def many_rates(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Make rows on which gradient descent needs a separate learning rate for each feature.

    Each row has one nonzero feature, and is meant for the absolute error. In the first half of the rows this is the
    first feature, and the targets alternate between 1 and -1, so long steps are costly. Then ``n_rows ** (1/3)`` other
    features come one after another, all with the target 1, so short steps are costly. With any single rate, regret
    grows as ``n_rows ** (2/3)``. With a rate for each feature, which falls with its own gradients, it grows as ``n_rows
    ** (1/2)``. Streeter and McMahan show that such problems exist [1]_; these rows are our own.

    Parameters
    ----------
    n_rows : int
        Number of rows, at least 2.

    Returns
    -------
    X : ndarray of shape (n_rows, n_features)
        Rows.
    y : ndarray of shape (n_rows,)
        Targets, -1 and 1.

    See Also
    --------
    scaling_adversary : Features in units far apart.

    References
    ----------
    .. [1] Streeter and McMahan, "Less regret via online conditioning", 2010. https://arxiv.org/abs/1002.4862

    Examples
    --------
    >>> from sklearn_nag import NAGRegressor
    >>> from sklearn_nag.regret import many_rates, record
    >>> X, y = many_rates(8000)
    >>> options = {"normalization": None, "centering": False, "fit_intercept": False, "importance_aware": False}
    >>> options |= {"average": False, "target_normalization": None, "clip": None, "loss": "absolute_error"}
    >>> u = [0.0] + 20 * [1.0]
    >>> one_rate = min(
    ...     record(NAGRegressor(adaptive=False, eta0=eta, **options), X, y).regret(u)[-1]
    ...     for eta in (0.01, 0.03, 0.1, 0.3)
    ... )
    >>> round(float(one_rate)), round(float(record(NAGRegressor(eta0=0.3, **options), X, y).regret(u)[-1]))
    (453, 143)
    """
    check_number("n_rows", n_rows, Integral, min_val=2)
    half, n_others = n_rows // 2, max(1, round(n_rows ** (1 / 3)))
    feature = np.zeros(n_rows, dtype=int)
    feature[half:] = 1 + np.arange(n_rows - half) * n_others // (n_rows - half)
    X = np.zeros((n_rows, 1 + n_others))
    X[np.arange(n_rows), feature] = 1.0
    y = np.ones(n_rows)
    y[1:half:2] = -1.0
    return X, y


def unlearnable(n_rows: int, label: Callable[[np.ndarray], float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Make rows whose labels can be anything, and that fixed weights still predict.

    There are two features. Each row asks on which side of the middle of an interval a hidden number lies. Each interval
    is a quarter as long as the one before, and the row is measured in units of its interval. Whatever the answers are,
    one vector ``u`` gives all of them with margins between 2/3 and 4/3. If each answer contradicts the learner's
    prediction, its total linear loss (``-y * prediction``) exceeds that of any positive multiple of ``u`` by at least
    `full_lower_bound`. So no bound in terms of ``|u|_S`` alone can grow more slowly. This is Theorem 6 of [1]_, with
    rows of our own.

    Parameters
    ----------
    n_rows : int
        Number of rows, at most 26, as the features of further rows would not be exact.
    label : callable
        Called with each row, an ndarray of shape (2,); returns its label, -1 or 1.

    Returns
    -------
    X : ndarray of shape (n_rows, 2)
        Rows.
    y : ndarray of shape (n_rows,)
        Labels.
    u : ndarray of shape (2,)
        Weights with ``2/3 <= y * (X @ u) <= 4/3``.

    See Also
    --------
    full_lower_bound : The regret that no learner avoids.

    References
    ----------
    .. [1] Kotłowski, "Scale-invariant unconstrained online learning", ALT 2017. https://arxiv.org/abs/1708.07042

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_nag.regret import unlearnable
    >>> coins = np.random.default_rng(0)
    >>> X, y, u = unlearnable(20, lambda x: float(coins.choice([-1.0, 1.0])))
    >>> margins = y * (X @ u)
    >>> bool(2 / 3 <= margins.min() and margins.max() <= 4 / 3)
    True
    """
    check_number("n_rows", n_rows, Integral, min_val=1, max_val=_MOST_UNLEARNABLE)
    X, y, middle = np.empty((n_rows, 2)), np.empty(n_rows), 0.0
    for t in range(n_rows):
        X[t] = 4.0**t, -(4.0**t) * middle
        answer = label(X[t].copy())
        if answer not in (-1, 1):
            raise ValueError(f"label must return -1 or 1; got {shown(answer)}.")
        y[t] = answer
        middle += y[t] / 4.0**t
    return X, y, np.array([middle, 1.0])
