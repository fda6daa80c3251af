"""Curves: piecewise linear functions of ranks."""

from __future__ import annotations

from numbers import Integral
from typing import Literal

from ..estimators._parameters import check_number
from ..kernels import csr_rows
from ._base import loops
from ._knots import KnotTransformer
from ._places import Columns


class OnlineCurves(KnotTransformer):
    """Add a piecewise linear spline of each column's ranks, with knots from the first rows.

    From these columns, a linear learner learns a curve of each column: a generalised additive model. The quantiles of
    the first rows define ranks. Ranks are interpolated between quantiles and constant outside them; there, the column
    itself, which is kept, continues as a straight line. Each of the ``n_knots`` knots has a hat: a column that is 1 at
    the knot, 0 at all others and linear between. At most two hats of a column are nonzero, and they sum to 1. The knots
    range from the first quantile to the last, with equally many quantiles between them. They are closer together
    towards both ends, where long-tailed columns have most of their range.

    Increasing maps of a column, such as logarithms, cubes or ranks, change its curves by no more than the interpolation
    between quantiles.

    Parameters
    ----------
    columns : "auto" or list, default="auto"
        Columns that get curves: a list of positions, of names or name patterns such as ``"size_*"``, or of booleans for
        each column. The others are passed through unchanged. ``"auto"`` takes all columns of arrays and data frames. Of
        sparse rows, it takes those named by `set_numeric_columns`, which an `OnlinePipeline` on a data frame calls, or
        else none, with a warning. For columns with fewer than three different values among the first rows, hats are all
        0, because the line is enough.
    n_knots : int, default=21
        Maximum number of hats of a column. With fewer quantiles, each quantile has its own hat. With 0, there are no
        curves: missing values are filled, and each column gets an indicator that is 1 if its value is missing.
    first_rows : int, default=300
        Number of rows from which the quantiles are taken. Until then, the hats of all rows are 0, and the model stores
        the rows, so its memory is bounded. The knots are then fixed permanently. If there are fewer rows, `fit` fixes
        them at its end.
    n_quantiles : int, default=64
        Number of quantiles between which ranks are interpolated. Their ranks are
        ``(1 - cos(pi * k / (n_quantiles - 1))) / 2``, the Chebyshev points.

    Attributes
    ----------
    knots_ : list of ndarray, or None
        For each column with a curve, the quantiles between which ranks are interpolated: distinct values of the first
        rows, ascending. None until enough rows have been seen.
    n_features_in_ : int
        Number of input columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the input columns, if the first rows had names that are all strings.

    See Also
    --------
    OnlineCells : Columns from which a learner learns how several columns act together.
    sklearn.preprocessing.SplineTransformer : Smoother splines, with knots from all rows.

    Notes
    -----
    The output is a CSR array of float64: the input columns, then ``n_knots + 1`` columns for each column with a curve.
    The last of these is 1 if the value is missing (NaN). In the column itself, missing values are replaced by the lower
    median of the first rows, or of the rows so far until these are complete.

    ``learn_transform`` transforms each row using the rows up to it, so row number ``first_rows`` is the first with
    hats. Results do not depend on how a stream is cut, to the last bit.

    Transformers can be merged if they have the same knots, or if only one has knots. For shards, start from `copy.copy`
    of a transformer that has seen the first rows.

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
        parts = loops().hats_beside(rows, values, seen.knots, self.n_knots)
        return csr_rows(*parts, (rows.shape[0], rows.shape[1] + self._width(values.shape[1])))

    def _block_names(self, names):
        ends = [*(f"knot{i}" for i in range(self.n_knots)), "missing"]
        return [f"{name}_{end}" for name in names for end in ends]
