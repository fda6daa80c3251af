"""Made-up files of the same form as the files of the paper's data sets."""

import bz2
import gzip
import zipfile

import numpy as np
import pytest

from sklearn_nag import datasets
from sklearn_nag.datasets import _fetchers

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
    """A function that makes a data set as large as its made-up file."""

    def change(name, **fields):
        monkeypatch.setitem(_fetchers._SOURCES, name, _fetchers._SOURCES[name]._replace(**fields))

    return change


def save(folder, name, text, suffix=""):
    if suffix == ".zip":
        with zipfile.ZipFile(folder / f"{name}.zip", "w") as archive:
            archive.writestr(f"inside/{name}", text)
        return
    with COMPRESSED[suffix](folder / f"{name}{suffix}", "wt") as file:
        file.write(text)


def words_and_numbers(rng, n_columns, numbers, n=N):
    """Columns of numbers, and columns of words elsewhere, as a fetcher should return them."""
    table = rng.choice(["red", "light green", "?"], size=(n, n_columns)).astype(object)
    for column in numbers:
        table[:, column] = rng.integers(-20, 20, size=n).astype(float)
    return table


def made_up(name, folder, rng, suffix=""):
    """Write a made-up file; return the data and target that should be read from it."""
    if name == "bank":
        data = words_and_numbers(rng, 16, BANK_NUMBERS)
        target = rng.integers(0, 2, size=N)
        quoted = [[f"{v:g}" if isinstance(v, float) else f'"{v}"' for v in row] for row in data]
        header = ";".join(f'"{column}"' for column in [*_fetchers._NAMES["bank"], "y"])
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
        header = ",".join(["patientId", *_fetchers._NAMES["ct_slice"], "reference"])
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
    """Expect the size and scales of the made-up data."""
    numbers = np.delete(data[:N], _fetchers._CATEGORICAL.get(name, []), axis=1).astype(float)
    largest = np.abs(numbers).max(axis=0)
    known = _fetchers._SOURCES[name].scales is not None
    expect(name, rows=N, test_rows=len(data) - N, scales=(largest.min(), largest.max()) if known else None)
