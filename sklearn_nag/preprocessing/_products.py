"""Bounded or unbounded deviations from running means, with squares and products."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
from scipy import sparse

from ..estimators._parameters import check_flag
from ..losses import between
from ._base import dense, filled, joined, loops
from ._imputer import Means
from ._interactions import named_product
from ._numpy_rows import LARGEST
from ._places import Columns, OfNumbers

NARROW = 2**10  # columns up to which sparse rows come out dense: learners are many times faster with these
STEP, MOST_POWER = 64, 960  # units are powers of 2^64, up to 2^960
FARTHEST = 2.0**500  # cap on a deviation, in units; its square is finite


class Centre(NamedTuple):
    """What the rows have shown so far of the multiplied columns.

    Attributes
    ----------
    columns : ndarray of int
        Their places, ascending.
    known : Means
        Their means.
    spread : Means
        Means of the sizes of their deviations, each from the mean up to its row.
    unit : ndarray of shape (n_columns,)
        Units of deviations in products, powers of two; 0 without deviations so far, or if products use no units.
    """

    columns: np.ndarray
    known: Means
    spread: Means
    unit: np.ndarray


class OnlineProducts(OfNumbers):
    """Add squares and pairwise products of the deviations of columns from their running means.

    From these columns, a linear learner learns quadratic functions. Products of deviations show how columns act
    together. Products of raw values far from 0, such as years, would mostly follow the columns themselves. With
    deviations, neither units nor origins matter. Missing values are filled with the means, so their deviation is 0.

    Parameters
    ----------
    columns : "auto" or list, default="auto"
        Columns to multiply: a list of positions, of names or name patterns such as ``"size_*"``, or of booleans for
        each column. The others are passed through unchanged. ``"auto"`` takes all columns of arrays and data frames. Of
        sparse rows, it takes those named by `set_numeric_columns`, which an `OnlinePipeline` on a data frame calls, or
        else none, with a warning.
    products : bool, default=True
        Whether to add products.
    bounded : bool, default=False
        Whether to also add bounded deviations, and to multiply these instead: ``d / sqrt(s^2 + d^2)`` for a deviation
        ``d`` in a column whose mean absolute deviation is ``s``. Values far from the mean then have less influence.

    Attributes
    ----------
    means_ : ndarray of shape (n_columns,)
        Means of these columns; 0 if all values were missing.
    spreads_ : ndarray of shape (n_columns,)
        Mean absolute deviations of these columns, each deviation from the mean up to its row.
    n_features_in_ : int
        Number of input columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the input columns, if the first rows had names that are all strings.

    See Also
    --------
    Interactions : Products of raw values, also of three columns and of words; hashed if there are many.
    OnlineCells : Columns from which a learner learns how several columns act together, whatever the shape.

    Notes
    -----
    The output has the input columns first, then bounded deviations, then for each column its square and its products
    with later columns. A row's deviations are from means that include the row, and results do not depend on how a
    stream is cut, to the last bit. The output is dense if the input is dense or if the output has at most 1,024
    columns; otherwise it is a CSR array of float64.

    In products, the deviations of a column have a unit of their own, the power of 2^64 nearest to the first of them,
    mostly 1, and are clipped to 2^500 units, so no product leaves the range of float64. Merged transformers have the
    means of all rows. If they started from a common base, they have the average of their means, weighted by the rows of
    each since.

    Examples
    --------
    >>> from sklearn_nag.preprocessing import OnlineProducts
    >>> products = OnlineProducts().fit([[2019.0, 3.0], [2021.0, 5.0]])
    >>> products.transform([[2022.0, 1.0]])
    array([[ 2.022e+03,  1.000e+00,  4.000e+00, -6.000e+00,  9.000e+00]])
    >>> products.get_feature_names_out()
    array(['x0', 'x1', 'x0^2', 'x0 x1', 'x1^2'], dtype=object)
    """

    _kept = Centre
    _had = "were multiplied"
    _free = "columns", "products", "bounded"  # the values at the beginning apply

    def __init__(self, columns: Columns | Literal["auto"] = "auto", *, products: bool = True, bounded: bool = False):
        self.columns = columns
        self.products = products
        self.bounded = bounded

    def _check_parameters(self):
        self._check_columns()
        check_flag("products", self.products)
        check_flag("bounded", self.bounded)

    def _new_state(self, rows):
        columns = self._places(rows)
        return Centre(columns, Means.new(len(columns)), Means.new(len(columns)), np.zeros(len(columns)))

    def _learn_rows(self, state, rows, transform):
        values = dense(rows, state.columns)
        known, whole, means = _followed(state.known, values)
        spread, _, sizes = _followed(state.spread, np.abs(_less(values, means)))
        learnt = state._replace(known=known, spread=spread)
        if self._begun_with["products"] and not self._begun_with["bounded"] and not state.unit.all():
            learnt = learnt._replace(unit=_units(state.unit, _less(whole, means)))
        return learnt, self._columns_out(learnt, rows, values, whole, means, sizes) if transform else None

    def _transform_rows(self, state, rows):
        values, means = dense(rows, state.columns), state.known.values()
        whole = np.where(np.isnan(values), means, values)
        return self._columns_out(state, rows, values, whole, means, state.spread.values())

    def _columns_out(self, state, rows, values, whole, means, sizes):
        """Output rows; ``whole`` are the multiplied ``values`` without gaps."""
        n_features = rows.shape[1]
        rows = filled(rows, state.columns, values, whole)
        width = n_features + self._width(state)
        if sparse.issparse(rows) and width > NARROW:
            return joined([rows, self._beside(state, whole, means, sizes)])
        out = np.empty((len(values), width))
        out[:, :n_features] = rows.toarray() if sparse.issparse(rows) else rows
        self._beside(state, whole, means, sizes, out[:, n_features:])
        return out

    def _beside(self, state, whole, means, sizes, out=None):
        """Added columns: a new array, or ``out``, which is filled."""
        out = np.empty((len(whole), self._width(state))) if out is None else out
        deviations = _less(whole, means)
        unit = sizes if self._begun_with["bounded"] else state.unit
        with np.errstate(over="ignore"):
            deviations = between(deviations / np.where(unit > 0, unit, 1.0), -FARTHEST, FARTHEST)
        if self._begun_with["bounded"]:
            deviations /= np.sqrt(1.0 + deviations**2)
            out[:, : deviations.shape[1]] = deviations
        factors = self._factors(state)
        loops().dense_products(deviations, factors, out[:, out.shape[1] - factors.shape[1] :])
        return out

    def _effect(self, values):
        """Added columns of rows with these ``values`` in the multiplied columns."""
        return self._beside(self._state, values, self.means_, self.spreads_)

    def _width(self, state):
        """Number of added columns."""
        return self._factors(state).shape[1] + (len(state.columns) if self._begun_with["bounded"] else 0)

    def _factors(self, state):
        """The two columns of each product."""
        return pairs(len(state.columns) if self._begun_with["products"] else 0)

    @property
    def means_(self) -> np.ndarray:
        """Means of the columns that are multiplied."""
        self._check_is_fitted()
        return self._state.known.values()

    @property
    def spreads_(self) -> np.ndarray:
        """Mean absolute deviations of these columns."""
        self._check_is_fitted()
        return self._state.spread.values()

    def _names_out(self, state, names):
        own = names[state.columns]
        if self._begun_with["bounded"]:
            own = np.array([f"bounded({name})" for name in own], dtype=object)
            names = [*names, *own]
        return [*names, *(named_product(own[pair]) for pair in self._factors(state).T)]

    def _merged(self, transformers, base=None):
        """Merge with means between theirs: learners after them were trained on these, and are averaged, too."""
        merged = super()._merged(transformers)
        if base is not None:
            states, start = [transformer._state for transformer in transformers], base._state
            known, spread = (
                Means.between([getattr(state, name) for state in states], getattr(start, name))
                for name in ("known", "spread")
            )
            merged._state = merged._state._replace(known=known, spread=spread)
        return merged

    def _merge_states(self, states):
        known, spread = (Means.merged([getattr(state, name) for state in states]) for name in ("known", "spread"))
        unit = np.max([state.unit for state in states], axis=0)
        if any(((state.unit > 0) & (state.unit != unit)).any() for state in states):
            raise ValueError(
                "models with other units of products cannot be merged, as their columns mean something else: let one "
                "of them see the first rows, and give copies of it to all shards."
            )
        return states[0]._replace(known=known, spread=spread, unit=unit)

    def _check_state(self, state, begun_with):
        if not all(type(known) is Means and len(known) == 4 for known in state[1:3]):
            raise ValueError("what it knows is not what such transformers keep")
        own, shape = [(state.unit, np.floating)], state.columns.shape
        for known in state[1:3]:
            known = known._replace(origin=np.broadcast_to(known.origin, shape))
            own += zip(known, (np.integer, *[np.floating] * 3))
        for array, kind in own:
            fits = isinstance(array, np.ndarray) and array.shape == shape
            if not fits or not np.issubdtype(array.dtype, kind) or not np.isfinite(array).all():
                raise ValueError("its means are not those of its columns")


def _followed(known, values):
    """The state after some values, these without gaps, and the means up to each."""
    between = np.full((2 * len(values), values.shape[1]), np.nan)  # with a gap after each
    between[::2] = values
    known, between = known.learn_and_fill(between, False)
    return known, between[::2], between[1::2]


def _units(unit, deviations):
    """Units of products: for a column, the power of 2^`STEP` nearest to its first deviation, mostly 1.

    So shards that see a column deviate only after parting mostly have one unit, too, and can be merged.
    """
    first = deviations[np.argmax(deviations != 0.0, axis=0), np.arange(deviations.shape[1])]
    power = (np.frexp(first)[1] - 1 + STEP // 2) // STEP * STEP
    found = np.ldexp(1.0, np.clip(power, -MOST_POWER, MOST_POWER))
    return np.where((unit == 0.0) & (first != 0.0), found, unit)


def _less(values, means):
    """Deviations from means, within the range of float64."""
    with np.errstate(over="ignore"):
        return between(values - means, -LARGEST, LARGEST)


@lru_cache(maxsize=16)
def pairs(n_columns):
    """Pairs of columns, including each with itself, as an array of shape (2, n_pairs)."""
    return np.stack(np.triu_indices(n_columns)).astype(np.intp)
