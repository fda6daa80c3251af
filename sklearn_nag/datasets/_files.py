"""Finding and reading the files of the UCI repository, plain or compressed."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np


def find_file(folder, name):
    """Find the file ``name`` in ``folder``, plain or compressed, for `numpy.loadtxt`; None where it is not there."""
    for path in (folder / name, *(folder / f"{name}{suffix}" for suffix in (".gz", ".bz2"))):
        if path.exists():
            return path
    path = folder / f"{name}.zip"
    if not path.exists():
        return None
    with zipfile.ZipFile(path) as archive:
        members = [member for member in archive.namelist() if Path(member).name == name]
        if not members:
            raise ValueError(f"{path} holds {archive.namelist()}; {name} is needed.")
        return io.TextIOWrapper(io.BytesIO(archive.read(members[0])), encoding="utf-8")


def read_numbers(file, delimiter=None, skiprows=0, dtype=np.float64):
    """Read a file of numbers as float64. Whole numbers are read faster with ``dtype`` int32."""
    table = np.loadtxt(file, dtype, delimiter=delimiter, comments=None, skiprows=skiprows, ndmin=2, encoding="utf-8")
    return table.astype(np.float64, copy=False)


def read_words(file, delimiter, skiprows=0):
    """Read a file of numbers and words as strings in an array of objects; equal words of a column are one object."""
    table = np.loadtxt(
        file, dtype=object, delimiter=delimiter, comments=None, skiprows=skiprows, ndmin=2, encoding="utf-8",
        quotechar='"',
    )  # fmt: skip
    for column in table.T:
        known = {word: word.strip() for word in set(column)}
        column[:] = [known[word] for word in column]
    return table
