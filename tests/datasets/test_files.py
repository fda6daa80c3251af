"""Files of all data sets, plain and compressed, and what is said when they are missing."""

import zipfile

import numpy as np
import pytest

from sklearn_nag import datasets

from .helpers import FETCH, FILES, N, made_up, sized


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
