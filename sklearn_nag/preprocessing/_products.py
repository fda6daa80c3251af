"""Squares and products of deviations from running means."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
from scipy import sparse

from ..estimators._parameters import check_flag
from ..estimators._saved import check_attributes, check_features, damaged
from ._base import checked_numbers
from ._imputer import Means
from ._interactions import named_product
from ._numpy_rows import LARGEST
from ._places import Columns, OfNumbers
from ._rows import as_csr, dense, filled, in_order, loops, put_beside

NARROW = 2**10  # columns up to which sparse rows come out dense, as learners are many times faster with these


class Centre(NamedTuple):
    """The columns that are multiplied, and their means so far.

    Attributes
    ----------
    columns : ndarray of int
        Places, ascending.
    known : Means
        Of these columns.
    """

    columns: np.ndarray
    known: Means


class OnlineProducts(OfNumbers):
    """Put squares of columns, and products of pairs, beside them: of how far values are from the running means.

    A linear learner of these columns learns quadratic functions. A product of deviations tells what the columns do
    together, while values far from 0, such as years, have products that go along with the columns themselves. So
    neither units nor origins matter. Missing values are filled by the means, and then deviate by 0.

    Parameters
    ----------
    columns : "auto" or list, default="auto"
        Which columns are multiplied: a list of places, of names or patterns of names such as ``"size_*"``, or of True
        and False for each column. ``"auto"`` takes all columns of arrays and data frames. Of sparse rows, most
        of whose columns are words and categories, it takes those that `set_numeric_columns` names, as an
        `OnlinePipeline` of a data frame does, and else none, with a warning. The others go through untouched.
    products : bool, default=True
        Whether there are products; without, missing values are filled.

    Attributes
    ----------
    means_ : ndarray of shape (n_columns,)
        The means of these columns; 0 where all values were missing.
    n_features_in_ : int
        Number of columns that go in.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where the first rows had names that are all strings.

    See Also
    --------
    Interactions : Products of values as they are, also of three columns, and of words; hashed, if there are many.
    OnlineCells : Columns that learn how several columns act together, whatever the shape.

    Notes
    -----
    The columns that go in come first, then for each column its square and its products with those after it. A row
    counts in the means that it deviates from, so cuts of a stream change no bit. Rows come out dense where they
    come in dense, and where they have at most 1,024 columns; else as a CSR array of float64. Products beyond the range
    of float64 are held at its ends. Transformers are merged by the sums of their rows.

    Examples
    --------
    >>> from sklearn_nag.preprocessing import OnlineProducts
    >>> products = OnlineProducts().fit([[2019.0, 3.0], [2021.0, 5.0]])
    >>> products.transform([[2022.0, 1.0]])
    array([[ 2.022e+03,  1.000e+00,  4.000e+00, -6.000e+00,  9.000e+00]])
    >>> products.get_feature_names_out()
    array(['x0', 'x1', 'x0^2', 'x0 x1', 'x1^2'], dtype=object)
    """

    _had = "were multiplied"

    def __init__(self, columns: Columns | Literal["auto"] = "auto", *, products: bool = True):
        self.columns = columns
        self.products = products

    def _check_parameters(self):
        self._check_columns()
        check_flag("products", self.products)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags

    def _rows(self, X, first):
        return in_order(checked_numbers(self, X, first, allow_sparse=True))

    def _new_state(self, rows):
        columns = self._places(rows)
        return Centre(columns, Means.new(len(columns)))

    def _learn_rows(self, state, rows, transform):
        values = dense(rows, state.columns)
        if not transform:
            return state._replace(known=state.known.learn_and_fill(values, False)[0]), None
        between = np.full((2 * len(values), values.shape[1]), np.nan)  # where each row is followed by its means
        between[::2] = values
        known, between = state.known.learn_and_fill(between, False)
        return state._replace(known=known), self._columns_out(state, rows, values, between[::2], between[1::2])

    def _transform_rows(self, state, rows):
        values, means = dense(rows, state.columns), state.known.values()
        return self._columns_out(state, rows, values, np.where(np.isnan(values), means, values), means)

    def _columns_out(self, state, rows, values, whole, means):
        """Rows as they come out; ``whole`` are the ``values`` that are multiplied without gaps."""
        n_features, n_columns = rows.shape[1], len(state.columns)
        factors = pairs(n_columns if self.products else 0)
        width = n_features + factors.shape[1]
        rows = filled(rows, state.columns, values, whole[np.isnan(values).any(axis=1)])
        with np.errstate(over="ignore"):
            deviations = np.clip(whole - means, -LARGEST, LARGEST)
        if sparse.issparse(rows) and width > NARROW:
            block = np.empty((len(values), factors.shape[1]))
            loops().dense_products(deviations, factors, block)
            block = as_csr(block, block.shape[1])
            return put_beside(as_csr(rows, width), (block.data, block.indices, block.indptr), n_features)
        out = np.empty((len(values), width))
        out[:, :n_features] = rows.toarray() if sparse.issparse(rows) else rows
        loops().dense_products(deviations, factors, out[:, n_features:])
        return out

    @property
    def means_(self) -> np.ndarray:
        """The means of the columns that are multiplied."""
        self._check_is_fitted()
        return self._state.known.values()

    def _names_out(self, state, names):
        of_pairs = state.columns[pairs(len(state.columns) if self.products else 0)].T
        return [*names, *(named_product(names[pair]) for pair in of_pairs)]

    def _merge_states(self, states):
        return states[0]._replace(known=Means.merged([state.known for state in states]))

    def _less(self, state, base):
        return state._replace(known=state.known.less(base.known))

    def __setstate__(self, state):
        super().__setstate__(state)
        try:
            self._check_whole()
        except ValueError as error:
            raise damaged(self, error) from None

    def _check_whole(self):
        """Raise for attributes that do not make a transformer together, as those of a damaged file."""
        check_attributes(self, ("columns", "products"))
        if not self.__sklearn_is_fitted__():
            return
        check_features(self)
        state = self._state
        if type(state) is not Centre or len(state) != 2 or type(state.known) is not Means or len(state.known) != 3:
            raise ValueError("what it knows is not what such transformers keep")
        columns = state.columns
        for array, kind in ((columns, np.integer), *zip(state.known, (np.integer, np.floating, np.floating))):
            fits = isinstance(array, np.ndarray) and array.shape == (len(columns),)
            if not fits or not np.issubdtype(array.dtype, kind) or not np.isfinite(array).all():
                raise ValueError("its means are not those of its columns")
        if ((columns < 0) | (columns >= self.n_features_in_)).any() or (np.diff(columns) <= 0).any():
            raise ValueError("its columns are none of X, or out of order")


@lru_cache(maxsize=16)
def pairs(n_columns):
    """Pairs of columns, each with itself, too, as an array of shape (2, n_pairs)."""
    return np.stack(np.triu_indices(n_columns)).astype(np.intp)
