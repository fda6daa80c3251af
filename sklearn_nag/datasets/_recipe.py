"""The preprocessing of the paper, and its output in small batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction import FeatureHasher
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, OneHotEncoder, PolynomialFeatures
from sklearn.utils import check_consistent_length

from ..preprocessing import Interactions
from ..preprocessing._base import joined

_MOST_PRODUCTS = 2**30  # most products that have their own columns
_MOST_ROWS = 2**13  # most rows of a batch, however few nonzeros it has


def paper_recipe(
    categorical_features: Iterable[int] | None = None,
    *,
    positive: bool = False,
    prenormalize: bool = False,
    products: bool = True,
    n_features: int | None = None,
) -> Pipeline:
    """Make the preprocessing of the paper's section 6: a Pipeline from raw columns to CSR rows.

    Words become indicators, and all products of two features are added, including squares. Zeros are not stored; with
    ``positive``, negative numbers also become zeros. Transform the rows in batches with `recipe_batches`, as 54
    features become 1,539.

    Parameters
    ----------
    categorical_features : array-like of int, optional
        Indices of the columns that hold words; none by default.
    positive : bool, default=False
        Whether negative numbers become zeros, as in the paper for Bank and Census.
    prenormalize : bool, default=False
        Whether each feature is first divided by its largest absolute value. Learners of this package do not need this.
    products : bool, default=True
        Whether products are added.
    n_features : int, optional
        Number of columns that words and, at the end, all features are hashed to. Then nothing needs to be fitted,
        except for ``prenormalize``, and new words may appear at any time. By default each word and product has its own
        column.

    Returns
    -------
    sklearn.pipeline.Pipeline
        The preprocessing. Fit it on all rows, which is cheap, and transform a few at a time.

    See Also
    --------
    recipe_batches : Apply it to a few rows at a time.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_nag.datasets import paper_recipe
    >>> X = np.array([[2.0, "red"], [-3.0, "green"]], dtype=object)
    >>> paper_recipe([1], positive=True).fit_transform(X).toarray()  # green, red, x; green^2, ...
    array([[0., 1., 2., 0., 0., 0., 1., 2., 4.],
           [1., 0., 0., 1., 0., 0., 0., 0., 0.]])
    """
    numbers = FunctionTransformer(_as_csr, kw_args={"positive": positive})
    if categorical_features is None:
        steps = [("columns", numbers)]
    else:
        if n_features is None:
            words = OneHotEncoder(handle_unknown="ignore")
        else:
            words = FunctionTransformer(_hash_words, kw_args={"n_features": n_features})
        columns = ColumnTransformer(
            [("words", words, list(categorical_features))], remainder=numbers, sparse_threshold=1.0
        )
        steps = [("columns", columns)]
    if prenormalize:
        steps.append(("prenormalize", MaxAbsScaler()))
    if products and n_features is None:
        steps.append(("products", Interactions(interaction_only=False, max_columns=_MOST_PRODUCTS)))
    elif products:  # may be more products than there can be columns
        steps.append(("products", PolynomialFeatures(2, include_bias=False)))
    if n_features is not None:
        steps.append(("fold", FunctionTransformer(_fold, accept_sparse=True, kw_args={"n_features": n_features})))
    return Pipeline(steps)


def _as_csr(X, positive):
    """Numbers as CSR; with ``positive``, negative ones become zeros."""
    X = np.asarray(X, dtype=np.float64)
    return joined([np.maximum(X, 0.0) if positive else X])


def _hash_words(X, n_features):
    """Indicators of words in columns, hashed to ``n_features`` columns."""
    tokens = [[f"{column}={word}" for column, word in enumerate(row)] for row in np.asarray(X, dtype=object)]
    return FeatureHasher(n_features, input_type="string", alternate_sign=False).transform(tokens)


def _fold(X, n_features):
    """Hash columns to ``n_features`` by Fibonacci hashing; add up those that collide."""
    mixed = X.indices.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    indices = ((mixed >> np.uint64(32)) % np.uint64(n_features)).astype(np.int32)
    folded = sparse.csr_array((X.data, indices, X.indptr), shape=(X.shape[0], n_features))
    folded.sum_duplicates()
    return folded


def recipe_batches(
    recipe: Any, X: Any, y: ArrayLike, *, order: ArrayLike | None = None, nonzeros: int = 2**20
) -> Iterator[tuple[Any, np.ndarray]]:
    """Transform rows with a fitted `paper_recipe`, in batches that need little memory.

    Parameters
    ----------
    recipe : object
        Fitted transformer, such as a fitted `paper_recipe`.
    X : {array-like, sparse matrix} of shape (n_samples, n_columns)
        Rows that the recipe accepts: an array, a data frame or a CSR matrix.
    y : array-like of shape (n_samples,)
        Targets.
    order : array-like of shape (n,) of int, optional
        Indices of the rows to transform, in order. By default all rows, in their own order.
    nonzeros : int, default=2**20
        Approximate number of nonzeros in a batch. It does not affect what is learnt.

    Yields
    ------
    tuple
        The transformed rows and their targets.

    See Also
    --------
    paper_recipe : The preprocessing of the paper.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_nag import NAGClassifier
    >>> from sklearn_nag.datasets import paper_recipe, recipe_batches
    >>> X, y = np.random.default_rng(0).normal(size=(99, 3)), np.arange(99) % 2
    >>> clf = NAGClassifier()
    >>> for rows, targets in recipe_batches(paper_recipe().fit(X), X, y):
    ...     _ = clf.partial_fit(rows, targets, classes=[0, 1])
    >>> clf.n_features_in_
    9
    """
    y = np.asarray(y)
    check_consistent_length(X, y)
    order = np.arange(len(y)) if order is None else np.asarray(order)
    start, size = 0, 64
    while start < len(order):
        rows = order[start : start + size]
        batch = recipe.transform(X.iloc[rows] if hasattr(X, "iloc") else X[rows])
        yield batch, y[rows]
        start += size
        stored = batch.nnz if sparse.issparse(batch) else batch.size
        size = int(np.clip(nonzeros * len(rows) // max(stored, 1), 1, _MOST_ROWS))
