"""The paper's data sets, on made-up files of the same form, and its recipe."""

import bz2
import gzip
import zipfile

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils import Bunch

from sklearn_nag import NAGClassifier, datasets

COMPRESSED = {"": open, ".gz": gzip.open, ".bz2": bz2.open}
FILES = {
    "bank": "bank-full.csv",
    "census": "census-income.data",
    "covertype": "covtype.data",
    "ct_slice": "slice_localization_data.csv",
    "msd": "YearPredictionMSD.txt",
    "shuttle": "shuttle.trn",
}
FETCH = {name: getattr(datasets, f"fetch_{name}") for name in FILES}
CENSUS_NUMBERS = [0, 2, 3, 5, 16, 17, 18, 24, 30, 36, 38, 39, 40]
BANK_NUMBERS = [0, 5, 9, 11, 12, 13, 14]
N, TEST = 12, 5


@pytest.fixture
def expect(monkeypatch):
    """Let a data set be as large as its made-up file."""

    def change(name, **fields):
        monkeypatch.setitem(datasets._SOURCES, name, datasets._SOURCES[name]._replace(**fields))

    return change


def save(folder, name, text, suffix=""):
    if suffix == ".zip":
        with zipfile.ZipFile(folder / f"{name}.zip", "w") as archive:
            archive.writestr(f"inside/{name}", text)
        return
    with COMPRESSED[suffix](folder / f"{name}{suffix}", "wt") as file:
        file.write(text)


def words_and_numbers(rng, n_columns, numbers, n=N):
    """Columns of numbers, and words elsewhere, as they are to come back."""
    table = rng.choice(["red", "light green", "?"], size=(n, n_columns)).astype(object)
    for column in numbers:
        table[:, column] = rng.integers(-20, 20, size=n).astype(float)
    return table


def made_up(name, folder, rng, suffix=""):
    """Write a file; return the data and target that are to come of it."""
    if name == "bank":
        data = words_and_numbers(rng, 16, BANK_NUMBERS)
        target = rng.integers(0, 2, size=N)
        quoted = [[f"{v:g}" if isinstance(v, float) else f'"{v}"' for v in row] for row in data]
        header = ";".join(f'"{column}"' for column in [*datasets._NAMES["bank"], "y"])
        lines = [header, *(";".join([*row, ('"no"', '"yes"')[y]]) for row, y in zip(quoted, target))]
    elif name == "census":
        data = words_and_numbers(rng, 41, CENSUS_NUMBERS)
        target = rng.integers(0, 2, size=N)
        texts = [[f"{v:g}" if isinstance(v, float) else v for v in row] for row in data]
        lines = [", ".join([*row, ("- 50000.", "50000+.")[y]]) for row, y in zip(texts, target)]
    elif name == "covertype":
        data, target = rng.integers(-50, 50, size=(N, 54)).astype(float), rng.integers(1, 8, size=N)
        lines = [",".join(f"{v:g}" for v in (*row, y)) for row, y in zip(data, target)]
    elif name == "ct_slice":
        data, target = rng.normal(size=(N, 384)), rng.random(N)
        header = ",".join(["patientId", *datasets._NAMES["ct_slice"], "reference"])
        lines = [header, *(",".join(map(repr, (7, *row, y))) for row, y in zip(data.tolist(), target.tolist()))]
    elif name == "msd":
        data, target = rng.normal(size=(N + TEST, 90)), rng.integers(1922, 2012, size=N + TEST).astype(float)
        lines = [",".join([f"{y:g}", *map(repr, row)]) for row, y in zip(data.tolist(), target)]
    else:
        data, target = rng.integers(-50, 50, size=(N + TEST, 9)).astype(float), rng.integers(1, 8, size=N + TEST)
        lines = [" ".join(f"{v:g}" for v in (*row, y)) for row, y in zip(data, target)]
        save(folder, "shuttle.tst", "\n".join(lines[N:]) + "\n", suffix)
        lines = lines[:N]
    save(folder, FILES[name], "\n".join(lines) + "\n", suffix)
    return data, target


def sized(name, expect, data):
    """Expect what was made up."""
    numbers = np.delete(data[:N], datasets._CATEGORICAL.get(name, []), axis=1).astype(float)
    largest = np.abs(numbers).max(axis=0)
    known = datasets._SOURCES[name].scales is not None
    expect(name, rows=N, test_rows=len(data) - N, scales=(largest.min(), largest.max()) if known else None)


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".zip"])
@pytest.mark.parametrize("name", FILES)
def test_files(name, suffix, tmp_path, rng, expect):
    data, target = made_up(name, tmp_path, rng, suffix)
    sized(name, expect, data)
    bunch = FETCH[name](data_home=tmp_path)
    np.testing.assert_array_equal(bunch.data, data[:N])
    np.testing.assert_array_equal(bunch.target, target[:N])
    assert len(bunch.feature_names) == len(set(bunch.feature_names)) == data.shape[1]
    X, y = FETCH[name](data_home=str(tmp_path), return_X_y=True)
    np.testing.assert_array_equal(X, bunch.data)
    np.testing.assert_array_equal(y, bunch.target)


@pytest.mark.parametrize("name", ["msd", "shuttle"])
def test_subsets(name, tmp_path, rng, expect):
    data, target = made_up(name, tmp_path, rng)
    sized(name, expect, data)
    for subset, rows in {"train": slice(N), "test": slice(N, None), "all": slice(None)}.items():
        X, y = FETCH[name](subset=subset, data_home=tmp_path, return_X_y=True)
        np.testing.assert_array_equal(X, data[rows])
        np.testing.assert_array_equal(y, target[rows])
    with pytest.raises(ValueError, match="subset must be one of 'train', 'test', 'all'; got 'some'"):
        FETCH[name](subset="some", data_home=tmp_path)


@pytest.mark.parametrize("name", FILES)
def test_frames(name, tmp_path, rng, expect):
    pd = pytest.importorskip("pandas")
    data, _ = made_up(name, tmp_path, rng)
    sized(name, expect, data)
    bunch = FETCH[name](data_home=tmp_path, as_frame=True)
    assert list(bunch.data.columns) == bunch.feature_names
    assert isinstance(bunch.target, pd.Series)
    for i, kind in enumerate(bunch.data.dtypes):
        assert isinstance(kind, pd.CategoricalDtype) == (i in bunch.categorical_features)
    np.testing.assert_array_equal(bunch.data.astype(object).to_numpy(), data[:N])


@pytest.mark.parametrize("name", FILES)
def test_other_data_is_told_apart(name, tmp_path, rng, expect):
    data, _ = made_up(name, tmp_path, rng)
    with pytest.raises(ValueError, match=f"has {len(data)} rows of .*; {datasets._SOURCES[name].title[:7]}"):
        FETCH[name](data_home=tmp_path)
    sized(name, expect, data)
    if datasets._SOURCES[name].scales is not None:
        expect(name, scales=(1, 2))
        with pytest.raises(ValueError, match=r"features of .* range from \d+ to \d+; those .* from 1 to 2"):
            FETCH[name](data_home=tmp_path)


def test_the_numbers_of_table_1():
    sizes = {name: (source.rows, source.features, source.scales) for name, source in datasets._SOURCES.items()}
    assert sizes == {
        "bank": (45_211, 7, (31, 102_127)),
        "census": (199_523, 13, (2, 99_999)),
        "covertype": (581_012, 54, (1, 7_173)),
        "ct_slice": (53_500, 384, None),  # the paper prints 360
        "msd": (463_715, 90, None),
        "shuttle": (43_500, 9, (105, 13_839)),
    }


@pytest.mark.parametrize("name", FILES)
def test_missing_files(name, tmp_path):
    offline = {} if name == "ct_slice" else {"download_if_missing": False}
    with pytest.raises(OSError, match=f"{FILES[name]} .* is not in "):
        FETCH[name](data_home=tmp_path, **offline)


def test_an_archive_without_the_file(tmp_path):
    with zipfile.ZipFile(tmp_path / "bank-full.csv.zip", "w") as archive:
        archive.writestr("bank.csv", "")
    with pytest.raises(ValueError, match=r"holds \['bank.csv'\]; bank-full.csv is needed"):
        datasets.fetch_bank(data_home=tmp_path)


def test_covertype_by_scikit_learn(tmp_path, rng, expect, monkeypatch):
    data, target = made_up("covertype", tmp_path, rng)
    sized("covertype", expect, data)
    asked = {}

    def fetch(**options):
        asked.update(options)
        return data, target.astype(np.int32)

    monkeypatch.setattr(datasets, "fetch_covtype", fetch)
    X, y = datasets.fetch_covertype(data_home=tmp_path / "empty", return_X_y=True, n_retries=1)
    np.testing.assert_array_equal(X, data)
    np.testing.assert_array_equal(y, target)
    assert asked == {"data_home": tmp_path / "empty", "return_X_y": True, "n_retries": 1, "delay": 1.0}


@pytest.mark.parametrize("with_target", [True, False])
@pytest.mark.parametrize("name", ["bank", "census", "msd", "shuttle"])
def test_openml(name, with_target, tmp_path, rng, expect, monkeypatch):
    pd = pytest.importorskip("pandas")
    data, target = made_up(name, tmp_path, rng)
    sized(name, expect, data)
    words = set(datasets._CATEGORICAL.get(name, []))
    labels = {"bank": ["1", "2"], "census": [" - 50000.", " 50000+."]}.get(name)
    codes = [labels[y] for y in target] if labels else target.astype(str) if name == "shuttle" else target
    columns = {
        f"V{i}": pd.Series([np.nan if v == "?" else f" {v}" for v in column], dtype="category")
        if i in words
        else column.astype(float)
        for i, column in enumerate(data.T)
    }
    frame = pd.DataFrame(columns)
    last = pd.Series(codes, dtype="category" if isinstance(codes[0], str) else float, name="Class")
    found = Bunch(data=frame, target=last) if with_target else Bunch(data=frame.assign(Class=last), target=None)
    asked = {}

    def fetch(**options):
        asked.update(options)
        return found

    monkeypatch.setattr(datasets, "fetch_openml", fetch)
    bunch = FETCH[name](data_home=tmp_path / "empty")
    np.testing.assert_array_equal(bunch.data, data[:N])
    np.testing.assert_array_equal(bunch.target, target[:N])
    assert asked["data_id"] == {"bank": 1461, "census": 4535, "msd": 44027, "shuttle": 40685}[name]
    assert asked["data_home"] == tmp_path / "empty"


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
    gram = (exact @ exact.T).toarray()  # the same in any order of columns, unless some collide
    np.testing.assert_array_equal((X @ X.T).toarray(), gram)
    numbers = data[:, [0, 3]].astype(float)
    small = datasets.paper_recipe(n_features=3).fit_transform(numbers)  # of 5: some share a column
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
