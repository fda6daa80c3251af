"""The paper's data sets, read from made-up files of the same form and from stand-ins for other fetchers."""

import zipfile

import numpy as np
import pytest
from sklearn.utils import Bunch

from sklearn_nag import datasets
from sklearn_nag.datasets import _fetchers

from .helpers import FETCH, FILES, N, made_up, sized


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
    with pytest.raises(ValueError, match=f"has {len(data)} rows of .*; {_fetchers._SOURCES[name].title[:7]}"):
        FETCH[name](data_home=tmp_path)
    sized(name, expect, data)
    if _fetchers._SOURCES[name].scales is not None:
        expect(name, scales=(1, 2))
        with pytest.raises(ValueError, match=r"features of .* range from \d+ to \d+; in .* they range from 1 to 2"):
            FETCH[name](data_home=tmp_path)


def test_the_numbers_of_table_1():
    sizes = {name: (source.rows, source.features, source.scales) for name, source in _fetchers._SOURCES.items()}
    assert sizes == {
        "bank": (45_211, 7, (31, 102_127)),
        "census": (199_523, 13, (2, 99_999)),
        "covertype": (581_012, 54, (1, 7_173)),
        "ct_slice": (53_500, 384, None),  # the paper prints 360
        "msd": (463_715, 90, None),
        "shuttle": (43_500, 9, (105, 13_839)),
    }


def test_covertype_by_scikit_learn(tmp_path, rng, expect, monkeypatch):
    data, target = made_up("covertype", tmp_path, rng)
    sized("covertype", expect, data)
    asked = {}

    def fetch(**options):
        asked.update(options)
        return data, target.astype(np.int32)

    monkeypatch.setattr(_fetchers, "fetch_covtype", fetch)
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
    words = set(_fetchers._CATEGORICAL.get(name, []))
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

    monkeypatch.setattr(_fetchers, "fetch_openml", fetch)
    bunch = FETCH[name](data_home=tmp_path / "empty")
    np.testing.assert_array_equal(bunch.data, data[:N])
    np.testing.assert_array_equal(bunch.target, target[:N])
    assert asked["data_id"] == {"bank": 1461, "census": 4535, "msd": 44027, "shuttle": 40685}[name]
    assert asked["data_home"] == tmp_path / "empty"


def test_shuttle_is_that_of_openml_where_a_file_is_missing(tmp_path, rng, expect, monkeypatch):
    pd = pytest.importorskip("pandas")
    data, target = made_up("shuttle", tmp_path, rng)
    sized("shuttle", expect, data)
    (tmp_path / "shuttle.tst").unlink()
    found = Bunch(data=pd.DataFrame(data), target=pd.Series(target))
    monkeypatch.setattr(_fetchers, "fetch_openml", lambda **options: found)
    X, y = datasets.fetch_shuttle(subset="all", data_home=tmp_path, return_X_y=True)
    np.testing.assert_array_equal(X, data)
    np.testing.assert_array_equal(y, target)


def test_other_targets_of_bank_are_told(tmp_path, rng, expect):
    data, _ = made_up("bank", tmp_path, rng)
    sized("bank", expect, data)
    file = tmp_path / "bank-full.csv"
    file.write_text(file.read_text().replace('"yes"', '"YES"'))
    with pytest.raises(ValueError, match="the target of bank-full.csv has 'YES'; it must be 'yes' or 'no'"):
        datasets.fetch_bank(data_home=tmp_path)


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
