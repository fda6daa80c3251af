"""Decision values of a model, in NumPy for any backend."""

import numpy as np
from scipy import sparse

from ..state.lifts import LARGEST, all_finite, positive
from ..state.placed import PlacedState, named_by, pieces_of
from .blocks import dense_blocks

AT_ONCE = 2**22  # numbers of columns that are looked up at once, if not all are
CONVERTED = 2**20  # numbers of rows that are converted to float64 at once
WIDE = 1024  # number of columns from which sparse rows are predicted on only the columns that they name


def predict(state, X):
    """Decision values of raw rows, dense or CSR: ``X coef^T + intercept``, of shape (n_rows, n_played).

    If weights or predictions would leave the range of float64, ``u x / s`` is added up instead, and cut off at the
    largest double. Clipped if the rule clips predictions.
    """
    if state.rule.clip is not None and (models := state.models()):  # each of them is clipped
        return _mean(predict, models, X)
    if state.has_many:
        return _predict_by_parts(state, X)
    by_name = state.cached is None and not (isinstance(X, np.ndarray) or is_narrow(state))
    if by_name and all(model.rule.columnwise for model in state.others or [state]):
        # Looking up the weight of an entry takes about as long as making that of a column. Once looking up has taken as
        # long as making all of them would, they are made.
        state.looked_up += X.nnz
        if state.looked_up < state.columns.lift.size:
            state, X = part_of_rows(state, X)
    return _by_weights(state, X)


def is_narrow(state):
    """Whether columns are so few that all are read, whatever rows name; then no bit depends on that."""
    return state.n_columns - state.rule.intercept < WIDE


def predict_few(state, X):
    """Like `predict`, for few dense rows that surely stay in range, as most do; without the checks for others.

    ``X`` has from 1 to `FEW` numbers; NaN and infinity count as too large. Returns None if a number may leave the
    range, or if models need more.
    """
    if state.has_many:
        return None
    coef, intercept, reach = state.linear()  # also for a mixture, which then keeps those of its models
    if state.rule.clip is not None and (models := state.models()):
        parts = [predict_few(model, X) for _, model in models]
        return None if any(part is None for part in parts) else _blend([share for share, _ in models], parts)
    sizes = np.abs(X)
    if not sizes.item(sizes.argmax()) <= reach:  # also for NaN, which `argmax` finds first
        return None
    return clipped(state, X.dot(coef.T) + intercept)


def _by_weights(state, X):
    """Like `predict`, from the weights of all columns of the model."""
    coef, intercept, reach = state.linear()
    with np.errstate(all="ignore"):
        if reach:
            p = _products(X, coef) + intercept
            if all_finite(p):
                return clipped(state, p)
        return predict_unit_free(state, X)


def _products(X, coef):
    """``X coef^T``, with so few rows at a time that their copies in float64 are small."""
    if X.dtype == np.float64 or X.size <= CONVERTED:
        return X @ coef.T
    n, weight = max(1, X.shape[0] * CONVERTED // X.size), np.ascontiguousarray(coef.T)
    return np.concatenate([X[i : i + n] @ weight for i in range(0, X.shape[0], n)])


def _predict_by_parts(state, X):
    """Like `predict`, for a model with too many weights, with so few rows at a time that these name few columns."""
    X, p = sparse.csr_array(X), np.empty((X.shape[0], state.rule.n_played))
    for rows in pieces_of(X, AT_ONCE // state.rule.n_heads):
        p[rows] = _by_weights(*part_of_rows(state, X[rows]))
    return p


def predict_by_row(state, X):
    """Like `predict`, with the same bits for any division of the rows into batches."""
    if state.rule.clip is not None and (models := state.models()):
        return _mean(predict_by_row, models, X)
    if state.has_many:
        return predict_unit_free(state, sparse.csr_array(X))
    coef, intercept, reach = state.linear()
    if not reach:
        return predict_unit_free(state, X)
    with np.errstate(all="ignore"):
        if isinstance(X, np.ndarray):  # not BLAS, whose order of sums depends on the number of rows
            p = np.einsum("ij,kj->ik", np.ascontiguousarray(X, dtype=np.float64), coef) + intercept
        else:
            p = X @ coef.T + intercept
    beyond = ~np.isfinite(p).all(axis=1)
    clipped(state, p)
    if beyond.any():
        p[beyond] = predict_unit_free(state, X[beyond])
    return p


def _mean(predict, models, X):
    """Mean of the predictions of several models, weighted with their shares."""
    return _blend([share for share, _ in models], (predict(model, X) for _, model in models))


def _blend(shares, parts):
    """Mean of predictions, weighted with shares that add up to 1 except for rounding."""
    total = 0.0
    with np.errstate(over="ignore"):
        for share, part in zip(shares, parts):
            total = total + share * part
    return np.clip(total, -LARGEST, LARGEST, out=total)


def part_of_rows(state, X):
    """The model on the columns that sparse rows name or that are centred, and the rows on these alone.

    So models that learn between predictions need not go through all columns for each.
    """
    models = state, *state.others
    followed = np.concatenate([model.followed() for model in models]) if state.rule.selective else None
    features, X = named_by(X, followed)
    return state.part(features), X


def predict_unit_free(state, X):
    """Like `predict`, as ``sum u x / s``: slower, but in range, and with the same bits for any cut into batches."""
    if models := state.models():
        return _mean(predict_unit_free, models, X)
    by_all = isinstance(X, np.ndarray) or is_narrow(state) or not state.rule.columnwise
    if by_all and not isinstance(state, PlacedState):
        return _sum_unit_free(state, X)
    p = [_sum_unit_free(*part_of_rows(state, X[i : i + 1])) for i in range(X.shape[0])]
    return np.concatenate(p) if p else np.empty((0, state.rule.n_played))


def _sum_unit_free(state, X):
    """Like `predict_unit_free`, on all columns of the model."""
    with np.errstate(all="ignore"):
        u, rest, origin = unit_free(state, lifted=True)  # lifted, so that no large terms that cancel are cut off
        without_units = _taker_of_units(state, X.shape[1])
        p = np.empty((X.shape[0], len(u)))
        for rows, x in dense_blocks(X):
            z = without_units(x)
            for head, weight in enumerate(u):
                p[rows, head] = np.add.reduce(np.where(weight == 0, 0.0, z * weight), axis=1) + rest[head]
        p = (p + origin) / state.targets.lift
    return clipped(state, np.nan_to_num(p, nan=0.0, posinf=LARGEST, neginf=-LARGEST))


def clipped(state, p):
    """Predictions ``p``, clipped to the range of the rule."""
    ends = None if state.is_among_targets(p) else state.clip_range()
    return p if ends is None else np.clip(p, *ends, out=p)


def contributions(state, X):
    """What each feature adds to the decision values before clipping, and what is added for every row.

    A list of arrays of shape (n_rows, n_features + 1), CSR for CSR rows, one for each prediction of the kernel:
    ``u (x - mean) / s`` for dense rows, ``u x / s`` for sparse ones, and the rest.
    """
    if models := state.models():
        parts = [(share, contributions(model, X)) for share, model in models]
        with np.errstate(over="ignore"):
            means = [sum(share[k] * own[k] for share, own in parts) for k in range(state.rule.n_played)]
        for mean in means:
            values = mean if isinstance(mean, np.ndarray) else mean.data
            np.clip(values, -LARGEST, LARGEST, out=values)
        return means
    if isinstance(state, PlacedState):
        return _contributions_of_placed(state, sparse.csr_array(X))
    with np.errstate(all="ignore"):
        u, rest, origin = unit_free(state)
        if isinstance(X, np.ndarray):
            z, rest = _taker_of_units(state, X.shape[1])(X), rest + origin
            parts = (np.column_stack([np.where(w == 0, 0.0, z * w), np.full(len(z), r)]) for w, r in zip(u, rest))
            return [np.nan_to_num(part, nan=0.0, posinf=LARGEST, neginf=-LARGEST) for part in parts]
        intercept = state.linear()[1]
        lift, size = state.columns.lift[X.indices], positive(state.size())[X.indices]
        z, of_each_row = X.data * lift / size, np.arange(X.shape[0] + 1)
        parts = []
        for weight, constant in zip(u, intercept):
            data = np.clip(z * weight[X.indices], -LARGEST, LARGEST)
            of_features = sparse.csr_array((data, X.indices, X.indptr), X.shape)
            rest = np.full(X.shape[0], constant), np.zeros(X.shape[0], X.indices.dtype), of_each_row
            parts.append(sparse.hstack([of_features, sparse.csr_array(rest, (X.shape[0], 1))], format="csr"))
        return parts


def _contributions_of_placed(state, X):
    features, named = named_by(X, state.followed())
    parts, places = contributions(state.part(features), named), np.append(features, X.shape[1])
    shape = X.shape[0], X.shape[1] + 1
    return [sparse.csr_array((part.data, places[part.indices], part.indptr), shape) for part in parts]


def unit_free(state, lifted=False):
    """For each prediction, ``u`` of the features, what is added to ``u x / s``, and the origin of the targets.

    In units of the targets, or of lifted ones.
    """
    u, rule = state.unit_free_weight(), state.rule
    n_features = u.shape[1] - rule.intercept
    rest = u[:, n_features:].sum(axis=1)
    if rule.target_unit:
        rest = rest + state.of_played(state.target_mean())
    origin = state.of_played(state.targets.origin)
    if not lifted:
        u, rest, origin = (np.clip(a / state.targets.lift, -LARGEST, LARGEST) for a in (u, rest, origin))
    return u[:, :n_features], rest, origin


def _taker_of_units(state, n_features):
    """Function that computes ``z`` of dense rows with the current means and scales."""
    columns = state.columns
    if columns.origin is None:
        scale = positive(state.scale())[:n_features]
        return lambda x: x / scale
    lift, origin, mean, size = (
        a[:n_features] for a in (columns.lift, columns.origin, state.mean_from_origin(), positive(state.size()))
    )
    return lambda x: (x * lift - origin - mean) / size
