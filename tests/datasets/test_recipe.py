"""The paper's recipe, compared with the same products written out, and in batches."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import PolynomialFeatures

from sklearn_nag import NAGClassifier, datasets

from .helpers import words_and_numbers


def written_out(rows):
    """Each row as {names of its factors: product}, in plain Python, from {name: value}."""
    expanded = []
    for row in rows:
        names = sorted(row)
        products = {(a,): row[a] for a in names}
        products |= {(a, b): row[a] * row[b] for i, a in enumerate(names) for b in names[i:]}
        expanded.append(products)
    return expanded


def test_recipe_on_words(rng):
    data = words_and_numbers(rng, 4, [0, 3])
    recipe = datasets.paper_recipe([1, 2], positive=True).fit(data)
    X = recipe.transform(data)
    rows = [
        {**{f"x{i}": max(row[i], 0.0) for i in (0, 3) if row[i] > 0}, **{f"w{i}={row[i]}": 1.0 for i in (1, 2)}}
        for row in data
    ]
    expected = written_out(rows)
    names = {name for row in rows for name in row} | {"x0", "x3"}
    assert X.shape[1] == len(names) + len(names) * (len(names) + 1) // 2
    for i, row in enumerate(expected):
        assert X[[i]].nnz == len(row)
        np.testing.assert_allclose(np.sort(X[[i]].data), np.sort(list(row.values())))
    unseen = data[:1].copy()
    unseen[0, 1] = "never seen"
    assert recipe.transform(unseen).nnz < X[[0]].nnz


def test_recipe_on_numbers(rng):
    X = rng.normal(size=(20, 54)) * (rng.random((20, 54)) < 0.3)
    made = datasets.paper_recipe().fit_transform(X)
    assert made.shape == (20, 1539)
    assert sparse.issparse(made)
    np.testing.assert_array_equal(made.toarray(), PolynomialFeatures(2, include_bias=False).fit_transform(X))
    np.testing.assert_array_equal(datasets.paper_recipe(products=False).fit_transform(X).toarray(), X)
    np.testing.assert_array_equal(
        datasets.paper_recipe(products=False, positive=True).fit_transform(X).toarray(), np.where(X > 0, X, 0.0)
    )


def test_prenormalised_recipe(rng):
    X = rng.normal(size=(20, 5)) * 10.0 ** np.arange(-2, 3)
    made = datasets.paper_recipe(prenormalize=True).fit_transform(X).toarray()
    scaled = X / np.abs(X).max(axis=0)
    np.testing.assert_allclose(made[:, :5], scaled, rtol=1e-15)
    np.testing.assert_allclose(made[:, 5:], [np.outer(row, row)[np.triu_indices(5)] for row in scaled], rtol=1e-14)


def test_hashed_recipe(rng):
    data = words_and_numbers(rng, 4, [0, 3], n=40)
    exact = datasets.paper_recipe([1, 2]).fit_transform(data)
    hashed = datasets.paper_recipe([1, 2], n_features=2**16).fit(data[:1])
    X = hashed.transform(data)
    assert X.shape == (40, 2**16)
    gram = (exact @ exact.T).toarray()  # the same for any order of columns, unless some collide
    np.testing.assert_array_equal((X @ X.T).toarray(), gram)
    words = datasets.paper_recipe([0], products=False, n_features=2**16).fit_transform(data[:, 1:2])
    np.testing.assert_array_equal(words.data, np.ones(40))
    numbers = data[:, [0, 3]].astype(float)
    small = datasets.paper_recipe(n_features=3).fit_transform(numbers)  # of 5 columns, some share one
    assert small.shape == (40, 3)
    assert small.has_canonical_format
    every = datasets.paper_recipe().fit_transform(numbers)
    np.testing.assert_array_equal(small.toarray().sum(axis=1), every.toarray().sum(axis=1))


@pytest.mark.parametrize("nonzeros", [1, 500, 2**20])
@pytest.mark.parametrize("kind", ["array", "csr", "frame"])
def test_batches(kind, nonzeros, rng):
    dense = rng.integers(0, 3, size=(300, 6)).astype(float)
    y = rng.integers(0, 3, size=300)
    order = rng.permutation(300)[:250]
    X = {"array": dense, "csr": sparse.csr_array(dense)}.get(kind)
    if kind == "frame":
        X = pytest.importorskip("pandas").DataFrame(dense)
    recipe = (datasets.paper_recipe()[1:] if kind == "csr" else datasets.paper_recipe()).fit(X)
    batches = list(datasets.recipe_batches(recipe, X, y, order=order, nonzeros=nonzeros))
    together = sparse.vstack([rows for rows, _ in batches]).toarray()
    np.testing.assert_array_equal(together, recipe.transform(X).toarray()[order])
    np.testing.assert_array_equal(np.concatenate([targets for _, targets in batches]), y[order])
    assert all(rows.shape[0] * 20 <= max(nonzeros, 20) * 1.5 or rows.shape[0] <= 64 for rows, _ in batches)
    whole = sum(len(targets) for _, targets in datasets.recipe_batches(recipe, X, y))
    assert whole == 300


@pytest.mark.parametrize("order", [None, [0, 1]])
def test_batches_have_a_target_for_each_row(order):
    X = np.ones((5, 2))
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[5, 4\]"):
        list(datasets.recipe_batches(datasets.paper_recipe().fit(X), X, [0, 1, 0, 1], order=order))


def test_learning_does_not_depend_on_batches(rng):
    X, y = rng.normal(size=(120, 4)), rng.integers(0, 2, size=120)
    recipe = datasets.paper_recipe().fit(X)
    learnt = []
    for nonzeros in (40, 2**20):
        clf = NAGClassifier()
        for rows, targets in datasets.recipe_batches(recipe, X, y, nonzeros=nonzeros):
            clf.partial_fit(rows, targets, classes=[0, 1])
        learnt.append(clf.coef_)
    np.testing.assert_array_equal(*learnt)
