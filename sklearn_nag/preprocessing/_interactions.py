"""Products of columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, combinations, combinations_with_replacement, product
from math import comb, prod
from numbers import Integral
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from ..estimators._parameters import InvalidParameterError, check_flag, check_number, shown
from ..estimators._validation import check_finite
from ..kernels import csr_rows
from ._base import LearnsNothing, as_csr, checked_numbers, loops, names_in
from ._places import check_columns, places_of

Group: TypeAlias = int | str | Sequence[int] | Sequence[str]
MOST = 2**62  # products that 64-bit integers can number


class Run(NamedTuple):
    """A group of columns, of which a product takes some."""

    group: np.ndarray  # places of the columns, ascending
    times: int  # number of columns that a product takes
    strict: bool  # whether it takes each at most once

    def size(self):
        """Number of ways to take them."""
        return comb(self._room(), self.times)

    def ways(self):
        """All ways, ordered by column."""
        return (combinations if self.strict else combinations_with_replacement)(self.group.tolist(), self.times)

    def parts(self):
        """For each place among the columns taken, an array with a number per column of the group.

        The numbers of the columns taken sum to the number of ways before, ordered by column (Knuth, volume 4A, section
        7.2.1.3: the combinatorial number system).
        """
        room, found = self._room() - 1, []
        ways = np.ones(room + 1, dtype=np.int64)  # to take columns, by their number
        for place in reversed(range(self.times)):
            ways = np.append(0, np.cumsum(ways[:-1]))
            later = room - np.arange(len(self.group)) - (0 if self.strict else place)
            found.append(np.maximum(ways[max(room - place, 0)] - ways[later], 0))
        return found[::-1]

    def _room(self):
        return len(self.group) + (0 if self.strict else self.times - 1)


class Plan(NamedTuple):
    """The products to make."""

    terms: list[list[Run]]  # kinds of products: each takes columns of every run
    tables: list[np.ndarray]  # the terms, with ``again``, in the form of `_numpy_rows.products`
    again: list[np.ndarray]
    n_products: int
    n_columns: int  # into which they are hashed; 0 if each has its own
    factors: list[np.ndarray] | None = None  # from `factors_of`, if the first rows were dense

    @classmethod
    def of(cls, terms, n_features, max_columns):
        """The plan for terms over ``n_features`` columns, with at most ``max_columns`` columns of products."""
        sizes = [prod(run.size() for run in term) for term in terms]
        n_products = sum(sizes)
        if n_products >= MOST:
            raise ValueError(
                f"between names {n_products} products of {n_features} columns, more than can be numbered ({MOST}): "
                "name fewer columns, or a lower degree."
            )
        tables, again, start = [], [], 0
        for term, size in zip(terms, sizes):
            table, repeats = [], []
            for place, run in enumerate(term):
                later = prod(other.size() for other in term[place + 1 :])
                for part in run.parts():
                    numbers = np.full(n_features, -1)
                    numbers[run.group] = part * later + (0 if table else start)
                    table.append(numbers)
                repeats += [-1] + [int(run.strict)] * (run.times - 1)
            tables.append(np.stack(table))
            again.append(np.array(repeats))
            start += size
        return cls(terms, tables, again, n_products, 0 if n_products <= max_columns else max_columns)


def products_of(term):
    """The columns of each product of a term."""
    return (tuple(chain(*ways)) for ways in product(*(run.ways() for run in term)))


def factors_of(terms):
    """The columns of each product, as an array of shape (n_factors, n_products) per term."""
    found = [(np.array(list(products_of(term)), dtype=np.intp), sum(run.times for run in term)) for term in terms]
    return [places.reshape(-1, n_factors).T.copy() for places, n_factors in found]


class Interactions(LearnsNothing):
    """Add products of columns: of all pairs or triples, or between groups.

    If there are few products, each has a column of its own. If there are many, as between words, they are hashed to
    ``max_columns`` columns, as Vowpal Wabbit does with ``-q`` and ``--cubic``; products that share a column are summed.
    Only the names and number of the columns are learnt.

    Parameters
    ----------
    between : "all" or list of tuple, default="all"
        Columns to multiply. ``"all"`` multiplies all columns with one another. A tuple of two or three groups stands
        for the products of one column from each group: ``[("age", "income"), ("user_*", "item_*")]``. A group is a
        position, a name, a name pattern with ``*``, ``?`` or ``[...]``, or a list of these. The groups of a tuple must
        be either the same or disjoint.
    degree : {2, 3}, default=2
        With ``between="all"``: 2 for pairs, 3 for pairs and triples.
    interaction_only : bool, default=True
        Whether to leave out products of a column with itself.
    max_columns : int, default=2**18
        Maximum number of columns for products, which limits the memory of the learner. If there are more products, they
        are hashed.

    Attributes
    ----------
    n_features_in_ : int
        Number of input columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the input columns, if the first rows had names that are all strings.

    See Also
    --------
    OnlineCells : Columns from which a learner learns how several columns act together.
    sklearn.preprocessing.PolynomialFeatures : All products up to any degree, never hashed.

    Notes
    -----
    The output has the input columns first, then the products, term by term, in the order of their columns. Dense rows
    stay dense unless products are hashed. Otherwise, the output is a CSR array of float64 with ascending indices.
    Products of sparse rows take time and memory for nonzeros only.

    Products beyond the range of float64 are clipped to it. Missing values are refused.

    References
    ----------
    A. Agarwal, A. Beygelzimer, D. Hsu, J. Langford and M. Telgarsky, Scalable non-linear learning with adaptive
    polynomial expansions, NIPS 2014.

    Examples
    --------
    >>> from sklearn_nag.preprocessing import Interactions
    >>> X = [[2.0, 3.0, 5.0]]
    >>> Interactions().fit_transform(X)
    array([[ 2.,  3.,  5.,  6., 10., 15.]])
    >>> crosses = Interactions([("x0", ["x1", "x2"])]).fit(X)
    >>> crosses.get_feature_names_out()
    array(['x0', 'x1', 'x2', 'x0 x1', 'x0 x2'], dtype=object)
    """

    _input_tags = ("sparse",)

    def __init__(
        self,
        between: Literal["all"] | Sequence[tuple[Group, ...]] = "all",
        *,
        degree: Literal[2, 3] = 2,
        interaction_only: bool = True,
        max_columns: int = 2**18,
    ):
        self.between = between
        self.degree = degree
        self.interaction_only = interaction_only
        self.max_columns = max_columns

    def _check_parameters(self):
        if not (isinstance(self.between, str) and self.between == "all"):
            if not isinstance(self.between, list | tuple):
                raise InvalidParameterError("between", "'all' or a list of tuples of groups", shown(self.between))
            for term in self.between:
                if not (isinstance(term, tuple) and len(term) in (2, 3)):
                    raise InvalidParameterError(
                        "between", "'all' or a list of tuples of two or three groups", shown(term)
                    )
                for group in term:
                    check_columns("between", _as_list(group))
        check_number("degree", self.degree, Integral, min_val=2, max_val=3)
        check_flag("interaction_only", self.interaction_only)
        check_number("max_columns", self.max_columns, Integral, min_val=1, max_val=2**30)

    def _rows(self, X, first):
        rows = checked_numbers(self, X, first, allow_sparse=True)
        check_finite(rows, "X", type(self).__name__, getattr(self, "feature_names_in_", None))
        return rows

    def _new_state(self, rows):
        n_features, strict = rows.shape[1], bool(self.interaction_only)
        if isinstance(self.between, str):
            every = np.arange(n_features)
            terms = [[Run(every, times, strict)] for times in range(2, self.degree + 1)]
        else:
            names = names_in(self)
            terms = [
                _runs([places_of("between", _as_list(group), names) for group in term], strict, names)
                for term in self.between
            ]
        plan = Plan.of(terms, n_features, self.max_columns)
        with_factors = not (sparse.issparse(rows) or plan.n_columns)
        return plan._replace(factors=factors_of(terms)) if with_factors else plan

    def _transform_rows(self, state, rows):
        width = rows.shape[1] + (state.n_columns or state.n_products)
        if not (sparse.issparse(rows) or state.n_columns):
            return _dense_products(rows, state.factors or factors_of(state.terms), width)
        own = as_csr(rows)
        if not state.n_products:
            return own
        parts = loops().products_beside(own, state.tables, state.again, state.n_products, state.n_columns)
        return csr_rows(*parts, (rows.shape[0], width))

    def _names_out(self, state, names):
        if state.n_columns:
            return [*names, *(f"product{i}" for i in range(state.n_columns))]
        names = list(names)
        return [*names, *(named_product([names[i] for i in run]) for term in state.terms for run in products_of(term))]


def _as_list(group):
    return group if isinstance(group, list | tuple) else [group]


def _runs(groups, strict, names):
    """Groups of a term as runs; equal groups become one."""
    runs: list[Run] = []
    for group in groups:
        same = [i for i, run in enumerate(runs) if np.array_equal(run.group, group)]
        if same:
            runs[same[0]] = runs[same[0]]._replace(times=runs[same[0]].times + 1)
            continue
        for run in runs:
            shared = np.intersect1d(run.group, group)
            if len(shared):
                raise ValueError(
                    f"between has a term of two different groups with the column {names[shared[0]]!r}: "
                    "groups of a term must be the same, or have no column in common."
                )
        runs.append(Run(group, 1, strict))
    if any(not len(run.group) for run in runs):
        raise ValueError("between has a term with a group of no columns.")
    if not prod(run.size() for run in runs):
        raise ValueError(
            f"between has a term without products: {names[groups[0][0]]!r} alone is multiplied with itself, which "
            "interaction_only=True leaves out."
        )
    return runs


def _dense_products(X, factors, width):
    """Rows with the products of their columns."""
    out = np.empty((len(X), width))
    out[:, : X.shape[1]] = X
    column = X.shape[1]
    for columns in factors:
        loops().dense_products(X, columns, out[:, column : column + columns.shape[1]])
        column += columns.shape[1]
    return out


def named_product(names):
    counts = {name: list(names).count(name) for name in names}
    return " ".join(name if count == 1 else f"{name}^{count}" for name, count in counts.items())
