"""Curves: piecewise linear functions of ranks."""

from __future__ import annotations

from numbers import Integral
from typing import Literal

import numpy as np
from scipy import sparse

from ..estimators._parameters import check_number
from ._base import joined, loops
from ._knots import KnotTransformer
from ._places import Columns


class OnlineCurves(KnotTransformer):
    """Put a piecewise linear spline of each column's ranks beside it, with knots from the first rows.

    A linear learner of these columns learns a curve of each column: a generalised additive model. The quantiles of the
    first rows give ranks to values; between quantiles ranks are interpolated, and outside of them they are constant,
    where the column itself, which stays, goes on as a straight line. Of ``n_knots`` knots, from the first quantile to
    the last one with equally many between them, each has a hat: a column that is 1 at the knot, 0 at all others and
    linear between. So at most two hats of a column are not 0, and they sum to 1. Quantiles, and so knots, lie closer
    towards both ends, where columns with long tails go through most of their range.

    Increasing maps of a column, such as logarithms, cubes or ranks, change its curves by no more than the
    interpolation between quantiles.

    Parameters
    ----------
    columns : "auto" or list, default="auto"
        Which columns get curves: a list of places, of names or patterns of names such as ``"size_*"``, or of True and
        False for each column. ``"auto"`` takes all columns of arrays and data frames. Of sparse rows, most
        of whose columns are words and categories, it takes those that `set_numeric_columns` names, as an
        `OnlinePipeline` of a data frame does, and else none, with a warning. The others go through untouched. So do
        those with fewer than three different values among the first rows, whose hats are all 0: the line says all of
        them.
    n_knots : int, default=21
        How many hats a column has at most. With fewer quantiles, each has a hat of its own. With 0 there are no
        curves: missing values are filled, and each column gets one that is 1 where it is missing.
    first_rows : int, default=300
        Of how many rows the quantiles are taken. Until as many have come, the hats of all rows are 0, and the model
        keeps these rows, so that its memory is bounded; then the knots are fixed for good. `fit` fixes them at its end
        if there are fewer.
    n_quantiles : int, default=64
        Between how many quantiles ranks are interpolated: those of the ranks ``(1 - cos(pi * k / (n_quantiles - 1)))
        / 2``, which are Chebyshev's points.

    Attributes
    ----------
    knots_ : list of ndarray, or None
        For each column with a curve, the quantiles between which ranks are interpolated: values of the first rows,
        ascending, without repetition. None until enough rows were seen.
    n_features_in_ : int
        Number of columns that go in.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where the first rows had names that are all strings.

    See Also
    --------
    OnlineCells : Columns that learn how several columns act together.
    sklearn.preprocessing.SplineTransformer : Smoother splines, with knots from all rows.

    Notes
    -----
    What comes out is a CSR array of float64: the columns that went in, then ``n_knots + 1`` for each column with a
    curve. The last of these is 1 where the value is missing (NaN). The column itself then has the lower median of the
    first rows, or of the rows so far while these wait.

    ``learn_transform`` transforms each row by the rows up to it, so row number ``first_rows`` is the first with hats.
    Cuts of a stream change no bit.

    Transformers can be merged that have the same knots, or where but one has knots: `copy.copy` of a transformer
    that has seen the first rows is what shards should begin with.

    References
    ----------
    T. Hastie and R. Tibshirani, Generalized additive models, Statistical Science 1(3), 1986.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn_nag import NAGRegressor
    >>> from sklearn_nag.preprocessing import OnlineCurves
    >>> X = np.random.default_rng(0).lognormal(size=(2000, 1))
    >>> y = np.sin(np.log(X[:, 0]))
    >>> make_pipeline(OnlineCurves(), NAGRegressor(random_state=0)).fit(X, y).score(X, y) > 0.98
    True
    >>> OnlineCurves(n_knots=3).fit([[1.0], [10.0], [100.0]]).transform([[10.0], [1e6]]).toarray()
    array([[1.e+01, 0.e+00, 1.e+00, 0.e+00, 0.e+00],
           [1.e+06, 0.e+00, 0.e+00, 1.e+00, 0.e+00]])
    """

    def __init__(
        self,
        columns: Columns | Literal["auto"] = "auto",
        *,
        n_knots: int = 21,
        first_rows: int = 300,
        n_quantiles: int = 64,
    ):
        self.columns = columns
        self.n_knots = n_knots
        self.first_rows = first_rows
        self.n_quantiles = n_quantiles

    def _check_parameters(self):
        self._check_knots()
        check_number("n_knots", self.n_knots, Integral, min_val=2, max_val=2**15, options=(0,))

    def _width(self, n_columns):
        return n_columns * (self.n_knots + 1)

    def _beside(self, seen, rows, values):
        data, indices, ends = loops().hats(values, seen.knots, self.n_knots)
        ends = np.pad(ends, (rows.shape[0] - len(values), 0))
        hats = sparse.csr_array((data, indices, ends), shape=(rows.shape[0], self._width(values.shape[1])))
        return joined([rows, hats])

    def _block_names(self, names):
        ends = [*(f"knot{i}" for i in range(self.n_knots)), "missing"]
        return [f"{name}_{end}" for name in names for end in ends]
