"""Cells: leaves of random trees over ranks."""

from __future__ import annotations

from itertools import pairwise
from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from ..estimators._parameters import as_they_are, check_number, check_seed, parameter_names
from ..kernels import csr_rows, positive
from ._base import as_csr, loops
from ._knots import Knots, KnotTransformer
from ._numpy_rows import gaps
from ._places import Columns

SIZES = 2, 3, 5, None  # of the random sets of columns that trees cut, in turn; None is all columns
NO_CUT = 2**31 - 1  # no gap is above it
MOST_CUTS = 20  # from the root of a tree to a leaf
ONCE = 2**20  # numbers of cells processed at a time, to bound memory
LEFT_TO_ALL = 0.05  # of the draws of focused trees: shared equally by all columns
TELLS = 0.5  # bits of a late column that are enough to cut it by its new values; less means rare values
MARGIN = 0.1  # of the gaps of a cell, at either end, without cuts


class Trees(NamedTuple):
    """Random trees of one depth; node ``k`` has the children ``2 k + 1``, below the cut, and ``2 k + 2``.

    Arrays are int32, of shape (n_trees, n_nodes).
    """

    column: np.ndarray  # cut by each inner node
    cut: np.ndarray  # the last gap between knots below the cut; `NO_CUT` if no column of the cell can be cut


def lengths(rows, knots):
    """Entropy of each column in bits, from the gaps that its values are in; at most 1."""
    found = gaps(rows, knots)
    entropy = np.zeros(rows.shape[1])
    for j, column in enumerate(found.T):
        share = np.unique(column, return_counts=True)[1] / max(len(column), 1)
        entropy[j] = -(share * np.log2(share)).sum()
    return np.minimum(entropy, 1.0)


def grow(n_gaps, length, n_trees, depth, random):
    """Random trees over columns with ``n_gaps`` gaps between knots and these lengths.

    Sets of columns are drawn by length. A node cuts a column in proportion to its length and the part of its ranks in
    the cell, at a uniform place in the middle of the cell.
    """
    column = np.zeros((n_trees, 2**depth - 1), np.int32)
    cut = np.full((n_trees, 2**depth - 1), NO_CUT, np.int32)
    cuttable = np.flatnonzero(n_gaps > 1)
    for turn, size in enumerate(SIZES):
        size = min(size or len(cuttable), len(cuttable))
        step = max(ONCE // max(2**depth * size, len(cuttable), 1), 1)
        trees = np.arange(turn, n_trees, len(SIZES))
        for start in range(0, len(trees) if size else 0, step):
            some = trees[start : start + step]
            column[some], cut[some] = _grown_together(n_gaps, length, cuttable, size, len(some), depth, random)
    return Trees(column, cut)


def _grown_together(n_gaps, length, cuttable, size, n_trees, depth, random):
    """Columns and cuts of the nodes of trees over ``size`` columns each."""
    arrival = random.standard_exponential((n_trees, len(cuttable))) / length[cuttable]  # its rate is the length
    chosen = np.ascontiguousarray(cuttable[np.argpartition(arrival, size - 1, axis=1)[:, :size]].T)
    whole, own = n_gaps[chosen][..., None] - 1, length[chosen][..., None]  # number of cuts per column, and its length
    first, last = np.zeros_like(whole), whole  # gaps of the cells of a level, of shape (size, n_trees, n_cells)
    columns, cuts, trees = [], [], np.arange(n_trees)[:, None]
    for level in range(depth):
        share = (last - first) / whole * own
        for before, up_to in pairwise(share):  # faster than to accumulate
            up_to += before
        drawn, place = random.uniform(size=(2, n_trees, 2**level))
        which = np.minimum(np.count_nonzero(share <= drawn * share[-1], axis=0), size - 1)
        of_each = which, trees, np.arange(2**level)
        begin = first[of_each]
        n_cuts = last[of_each] - begin
        inner = (n_cuts * (MARGIN + (1 - 2 * MARGIN) * place)).astype(np.int64)
        is_whole = n_cuts == 0  # then all columns of the cell are
        at = begin + np.where(is_whole, 0, np.minimum(inner, n_cuts - 1))
        columns.append(chosen[which, trees])
        cuts.append(np.where(is_whole, NO_CUT, at))
        if level < depth - 1:
            first, last = np.repeat(first, 2, axis=2), np.repeat(last, 2, axis=2)
            last[:, :, ::2][of_each] = at
            first[:, :, 1::2][of_each] = at + ~is_whole
    return np.concatenate(columns, axis=1), np.concatenate(cuts, axis=1)


def explained(trees, rows, weight):
    """Variance that cuts of each column explain, of functions constant in each cell; summed over trees.

    A cut explains the variance of the means of its halves, as in the importances of random forests. ``rows``, of shape
    (n_trees, n_cells), are shares of the rows; a node is the cell of rows that stop there. ``weight``, of shape
    (n_functions, n_trees, n_cells), is between -1 and 1. The result has columns up to the last one cut.
    """
    column, cut = trees.column.T, trees.cut.T
    below, total = rows.T.copy(), (weight * rows).transpose(0, 2, 1).copy()  # of a node and all below it
    gain = np.empty((len(weight), *column.shape))
    for level in reversed(range(len(column).bit_length())):
        first = 2**level - 1
        nodes = slice(first, 2 * first + 1)
        left, right = slice(2 * first + 1, 4 * first + 2, 2), slice(2 * first + 2, 4 * first + 3, 2)
        apart = total[:, left] / positive(below[left]) - total[:, right] / positive(below[right])
        both = below[left] + below[right]
        gain[:, nodes] = below[left] * (below[right] / positive(both)) * apart**2
        below[nodes] += both
        total[:, nodes] += total[:, left] + total[:, right]
    gain[:, cut == NO_CUT] = 0.0
    places = column[::-1].ravel()
    return np.array([np.bincount(places, own[::-1].ravel()) for own in gain])


def mean_effects(trees, rows, weight, columns, gap):
    """Mean over rows of a function constant in each cell, with some columns in given gaps between knots.

    At cuts of other columns, each side counts by its share of the rows, whatever the given columns are: the weighted
    tree traversal of ``method="recursion"`` in `sklearn.inspection.partial_dependence`. ``rows`` and ``weight`` are as
    in `explained`, for one function; ``gap`` has the gaps of the ``columns`` for each point.
    """
    total = np.zeros(len(gap))
    step = max(ONCE // (weight.shape[1] * len(gap)), 1)
    for start in range(0, len(weight), step):
        some = slice(start, start + step)
        total += _means_together(*(part[some] for part in (*trees, rows, weight)), columns, gap)
    return total


def _means_together(column, cut, rows, weight, columns, gap):
    """Like `mean_effects`, for trees whose nodes are processed together."""
    below = rows.T.copy()  # of a node and all below it
    mean = np.repeat(weight.T[:, :, None], len(gap), axis=2)
    for k in range(column.shape[1] - 1, -1, -1):
        left, right = 2 * k + 1, 2 * k + 2
        whole = below[k] + below[left] + below[right]
        part = np.where(whole > 0, below[[k, left, right]] / positive(whole), 1.0 / 3.0)
        goes_right, is_given = np.repeat(part[2][:, None], len(gap), axis=1), np.isin(column[:, k], columns)
        for own, place in enumerate(columns):
            given = column[:, k] == place
            goes_right[given] = gap[:, own] > cut[given, k][:, None]
        stops = np.where(is_given, 0.0, part[0])[:, None]
        goes_left = 1.0 - stops - goes_right
        mean[k] = stops * mean[k] + goes_left * mean[left] + goes_right * mean[right]
        below[k] = whole
    return mean[0].sum(axis=0)


class OnlineCells(KnotTransformer):
    """Add the cells of random partitions to the columns, with cuts from the first rows.

    Each of many random trees partitions the space of rows into cells: a node takes a random column and cuts it at a
    random one of the quantiles of the first rows. For each tree, the column of a row's cell is 1. From these columns, a
    linear learner learns how the original columns act together, as boosted trees do, in one pass. They are the features
    of the Mondrian kernel, in ranks instead of units: inner products of rows approximate a Laplace kernel. Increasing
    maps of a column, such as logarithms, cubes or ranks, do not change the cells.

    Parameters
    ----------
    columns : "auto" or list, default="auto"
        Columns to cut: a list of positions, of names or name patterns such as ``"size_*"``, or of booleans for each
        column. The others are passed through unchanged. ``"auto"`` takes all columns of arrays and data frames. Of
        sparse rows, it takes those named by `set_numeric_columns`, which an `OnlinePipeline` on a data frame calls, or
        else none, with a warning.
    n_trees : int, default=300
        Number of partitions. Each adds one nonzero to a row, so time is in proportion.
    depth : int, default=7
        Number of cuts from the root of a tree to a leaf. More rows can fill more cells: use 8 or more from about 50,000
        rows on, and 5 or 6 with a few thousand.
    max_columns : int, default=2**20
        Maximum number of columns for all cells, which limits the memory of the learner. A tree has
        ``2 ** (depth + 1) - 1`` cells; if that is too many, the cells of each tree are hashed to an equal share of the
        columns.
    first_rows : int, default=300
        Number of rows from which the quantiles are taken. Until then, no row has a cell, and the model stores the rows,
        so its memory is bounded. The cuts are then fixed permanently. If there are fewer rows, `fit` fixes them at its
        end.
    n_quantiles : int, default=256
        Number of quantiles at which a column may be cut. Their ranks are ``(1 - cos(pi * k / (n_quantiles - 1))) / 2``,
        the Chebyshev points, which are closer together at both ends.
    random_state : int, RandomState instance or None, default=None
        Seed of the trees. The same int gives the same cells.

    Attributes
    ----------
    knots_ : list of ndarray, or None
        For each column that is cut, the quantiles at which it may be cut: distinct values of the first rows, ascending.
        None until enough rows have been seen.
    n_features_in_ : int
        Number of input columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the input columns, if the first rows had names that are all strings.

    See Also
    --------
    OnlineCurves : A curve of each column.
    sklearn.ensemble.RandomTreesEmbedding : Cells of trees grown on all rows, in units.

    Notes
    -----
    The output is a CSR array of float64: the input columns, then the columns of the cells, tree by tree, each in the
    order of its nodes from the root. If a row has a missing value (NaN) at a node, it stops there, and that node is its
    cell. In the column itself, missing values are replaced by the lower median of the first rows, or of the rows so far
    until these are complete.

    In turn, trees cut random sets of 2, 3, 5 and all columns. As in the Mondrian process, a node chooses a column in
    proportion to the length of its cell along that column. The length of a column is its entropy among the first rows,
    at most 1 bit, so that nearly constant columns, such as rare categories, take few of the cuts. A cell has the same
    share of that length as of the column's quantiles. A node cuts in the middle 80 % of these, whereas the Mondrian
    process cuts anywhere. A cell in which no column can be cut is not cut.

    ``learn_transform`` transforms each row using the rows up to it, so row number ``first_rows`` is the first with
    cells. Results do not depend on how a stream is cut, to the last bit.

    Transformers can be merged if they have the same ``random_state`` and the same knots, or if only one has knots. For
    shards, start from `copy.copy` of a transformer that has seen the first rows.

    References
    ----------
    M. Balog, B. Lakshminarayanan, Z. Ghahramani, D. M. Roy and Y. W. Teh, The Mondrian kernel, UAI 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn_nag import NAGRegressor
    >>> from sklearn_nag.preprocessing import OnlineCells
    >>> X = np.random.default_rng(0).normal(size=(5000, 2))
    >>> y = X[:, 0] * X[:, 1]  # which no line or curve can represent
    >>> make_pipeline(OnlineCells(random_state=0), NAGRegressor(random_state=0)).fit(X, y).score(X, y) > 0.9
    True
    >>> cells = OnlineCells(n_trees=1, depth=1, random_state=0).fit([[1.0], [2.0]])
    >>> cells.transform([[0.0], [9.0], [np.nan]]).toarray()
    array([[0., 0., 1., 0.],
           [9., 0., 0., 1.],
           [1., 1., 0., 0.]])
    """

    def __init__(
        self,
        columns: Columns | Literal["auto"] = "auto",
        *,
        n_trees: int = 300,
        depth: int = 7,
        max_columns: int = 2**20,
        first_rows: int = 300,
        n_quantiles: int = 256,
        random_state: Any = None,
    ):
        self.columns = columns
        self.n_trees = n_trees
        self.depth = depth
        self.max_columns = max_columns
        self.first_rows = first_rows
        self.n_quantiles = n_quantiles
        self.random_state = random_state

    def _check_parameters(self):
        self._check_knots()
        check_number("n_trees", self.n_trees, Integral, min_val=1, max_val=2**20)
        check_number("depth", self.depth, Integral, min_val=1, max_val=MOST_CUTS)
        check_number("max_columns", self.max_columns, Integral, min_val=self.n_trees, max_val=2**30)
        check_seed(self.random_state)

    def _new_state(self, rows):
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        return super()._new_state(rows)._replace(seed=seed)

    def _make(self, knots, first, seed):
        return grow(np.diff(knots.starts), lengths(first, knots), self.n_trees, self.depth, np.random.RandomState(seed))

    def _check_made(self, made, begun_with):
        n_trees, depth = begun_with["n_trees"], begun_with["depth"]
        check_number("depth", depth, Integral, min_val=1, max_val=MOST_CUTS)
        shape = n_trees, 2**depth - 1
        kept = type(made) is Trees and all(
            isinstance(part, np.ndarray) and part.dtype == np.int32 and part.shape == shape for part in made
        )
        if not (
            kept
            and (made.cut >= 0).all()
            and ((made.column >= 0) & (made.column < max(len(self._state.columns), 1))).all()
        ):
            raise ValueError("its trees are not those of its knots")

    def _importance(self, rows, weight):
        """Share that the cuts of each column explain of the variance of a linear model on the cells.

        ``rows`` are shares of rows in cells; ``weight`` has a line of cell weights per function, which count alike in
        any unit. None if nothing is explained, or cells are hashed.
        """
        seen = self._state
        if seen.knots is None or not weight.size or self._hashes:
            return None
        weight = weight / positive(np.abs(weight).max(axis=1, keepdims=True))
        found = np.zeros((len(weight), len(seen.columns)))
        own = explained(seen.made, rows.reshape(self.n_trees, -1), weight.reshape(len(weight), self.n_trees, -1))
        found[:, : own.shape[1]] = own
        importance = (found / positive(found.sum(axis=1, keepdims=True))).mean(axis=0)
        return importance if importance.any() else None

    def _news(self, late):
        """Knots of columns that ``late`` values can cut, and existing knots cannot, or hardly.

        ``late`` has an array of values per column, empty if it was not late. The result maps places to these knots and
        the entropy of the values; entropy below `TELLS` is left out.
        """
        found, knots = {}, self._state.knots
        for i, values in enumerate(late):
            own = Knots.of(values[:, None], self.n_quantiles)
            n_before, n_now = knots.starts[i + 1] - knots.starts[i], len(own.values)
            if n_now > 1 and 2 * n_before <= n_now and (entropy := lengths(values[:, None], own)[0]) >= TELLS:
                found[i] = own, entropy
        return found

    def _focus(self, transformer, importance, rows=None, late=()):
        """Take over a transformer that has knots, but with trees that draw columns by squared importance.

        Columns of no importance are drawn as well, because what they explain may have been overlooked. Knots are those
        of the transformer or, if given, the quantiles of dense ``rows`` of the columns with knots. Columns that only
        ``late`` values can cut, see `_news`, get knots from these, and at least the importance of the most important
        column, times their entropy.
        """
        seen = transformer._state
        knots = seen.knots if rows is None else Knots.of(rows, self.n_quantiles)
        news, importance, most = transformer._news(late), importance.copy(), importance.max()
        knots = knots.with_others({i: own for i, (own, _) in news.items()})
        for i, (_, entropy) in news.items():
            importance[i] = max(importance[i], most * entropy)
        square = (importance / importance.max()) ** 2
        length = (1 - LEFT_TO_ALL) * square / square.sum() + LEFT_TO_ALL / len(square)
        random = np.random.RandomState([seen.seed, 1])
        trees = grow(np.diff(knots.starts), length, self.n_trees, self.depth, random)
        own = parameter_names(type(self))
        vars(self).update({name: value for name, value in vars(transformer).items() if name not in own})
        self._begun_with = as_they_are(self, own)
        self._state = seen._replace(knots=knots, made=trees)

    def _merge_states(self, states):
        fixed = [state for state in states if state.knots is not None]
        merged = super()._merge_states(states)
        if any(not np.array_equal(ours, theirs) for state in fixed for ours, theirs in zip(state.made, fixed[0].made)):
            raise ValueError(
                "models with other trees cannot be merged, as their columns mean something else: let one of them see "
                "the rows that trees depend on, and give copies of it to all shards."
            )
        return merged

    @property
    def _cells_of_a_tree(self):
        return min(2 ** (self.depth + 1) - 1, self.max_columns // self.n_trees)

    @property
    def _hashes(self):
        return self._cells_of_a_tree < 2 ** (self.depth + 1) - 1

    def _width(self, n_columns):
        return self.n_trees * self._cells_of_a_tree if n_columns else 0

    def _beside(self, seen, rows, values):
        n_columns = values.shape[1]
        if not n_columns:
            return as_csr(rows)
        parts = loops().cells_beside(rows, values, seen.knots, seen.made, self._cells_of_a_tree)
        return csr_rows(*parts, (rows.shape[0], rows.shape[1] + self._width(n_columns)))

    def _block_names(self, names):
        if not len(names):
            return []
        return [f"tree{t}_cell{i}" for t in range(self.n_trees) for i in range(self._cells_of_a_tree)]
