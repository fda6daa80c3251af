"""The data sets of the paper, and functions that fetch them."""

from __future__ import annotations

import io
import zipfile
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.datasets import fetch_covtype, fetch_openml, get_data_home
from sklearn.utils import Bunch

from .._decorators import share
from .._extras import needed


class _Source(NamedTuple):
    """Source of a data set, and its entry in Table 1 of the paper.

    Attributes
    ----------
    title : str
        Name and origin.
    openml : int or None
        Number at OpenML, if it is there.
    rows, features : int
        Number of rows, and of numeric features.
    scales : tuple of float or None
        Smallest and largest over the numeric features of the largest absolute value.
    test_rows : int
        Number of test rows, which follow those of the table.
    """

    title: str
    openml: int | None
    rows: int
    features: int
    scales: tuple[float, float] | None = None
    test_rows: int = 0


_SOURCES = {
    "bank": _Source("Bank Marketing (UCI; Moro, Laureano and Cortez, 2011)", 1461, 45_211, 7, (31, 102_127)),
    "census": _Source("Census-Income KDD (UCI; US Census Bureau)", 4535, 199_523, 13, (2, 99_999)),
    "covertype": _Source("Covertype (UCI; Blackard, 1998)", None, 581_012, 54, (1, 7_173)),
    "ct_slice": _Source("Relative location of CT slices on axial axis (UCI; Graf et al., 2011)", None, 53_500, 384),
    "msd": _Source("YearPredictionMSD (UCI; Bertin-Mahieux, 2011)", 44027, 463_715, 90, None, 51_630),
    "shuttle": _Source("Statlog (Shuttle) (UCI; NASA)", 40685, 43_500, 9, (105, 13_839), 14_500),
}
_NAMES = {
    "bank": [
        "age", "job", "marital", "education", "default", "balance", "housing", "loan", "contact", "day", "month",
        "duration", "campaign", "pdays", "previous", "poutcome",
    ],
    "census": [
        "age", "class_of_worker", "industry_code", "occupation_code", "education", "wage_per_hour",
        "enrolled_in_education_last_week", "marital_status", "major_industry_code", "major_occupation_code", "race",
        "hispanic_origin", "sex", "member_of_a_labor_union", "reason_for_unemployment", "full_or_part_time_employment",
        "capital_gains", "capital_losses", "dividends", "tax_filer_status", "region_of_previous_residence",
        "state_of_previous_residence", "household_and_family_status", "household_summary", "instance_weight",
        "migration_change_in_msa", "migration_change_in_region", "migration_within_region",
        "live_in_this_house_1_year_ago", "migration_previous_residence_in_sunbelt", "persons_worked_for_employer",
        "family_members_under_18", "country_of_birth_father", "country_of_birth_mother", "country_of_birth_self",
        "citizenship", "own_business_or_self_employed", "veterans_questionnaire", "veterans_benefits",
        "weeks_worked_in_year", "year",
    ],
    "covertype": [
        "Elevation", "Aspect", "Slope", "Horizontal_Distance_To_Hydrology", "Vertical_Distance_To_Hydrology",
        "Horizontal_Distance_To_Roadways", "Hillshade_9am", "Hillshade_Noon", "Hillshade_3pm",
        "Horizontal_Distance_To_Fire_Points",
        *(f"Wilderness_Area_{i}" for i in range(4)),
        *(f"Soil_Type_{i}" for i in range(40)),
    ],
    "ct_slice": [f"value{i}" for i in range(384)],
    "msd": [
        *(f"timbre_mean_{i}" for i in range(1, 13)),
        *(f"timbre_covariance_{i}" for i in range(1, 79)),
    ],
    "shuttle": [f"A{i}" for i in range(1, 10)],
}  # fmt: skip
_CATEGORICAL = {
    "bank": [1, 2, 3, 4, 6, 7, 8, 10, 15],
    "census": [i for i in range(41) if i not in (0, 2, 3, 5, 16, 17, 18, 24, 30, 36, 38, 39, 40)],
}


def _from_openml(name, data_home, n_retries, delay):
    """Fetch a data set from OpenML in the form of its UCI file: no header, target last."""
    pd = needed("pandas", "csv", "data sets of OpenML are read with")
    found = fetch_openml(
        data_id=_SOURCES[name].openml, data_home=data_home, as_frame=True, parser="pandas", n_retries=n_retries,
        delay=delay,
    )  # fmt: skip
    frame = found.data if found.target is None else pd.concat([found.data, found.target], axis=1)
    if name not in _CATEGORICAL:
        return frame.apply(pd.to_numeric).to_numpy(dtype=np.float64)
    words = frame.astype(object)
    return words.where(words.notna(), "?").map(lambda value: str(value).strip()).to_numpy(dtype=object)


def _verify(name, data, source):
    """Raise unless rows, features and scales match Table 1 of the paper."""
    expected = _SOURCES[name]
    n_rows, n_features = len(data), data.shape[1] - len(_CATEGORICAL.get(name, []))
    if (n_rows, n_features) != (expected.rows + expected.test_rows, expected.features):
        raise ValueError(
            f"{source} has {n_rows:,} rows of {n_features} numbers; {expected.title} has "
            f"{expected.rows + expected.test_rows:,} of {expected.features}."
        )
    if expected.scales is not None:
        numbers = data[: expected.rows]
        if name in _CATEGORICAL:
            numbers = np.delete(numbers, _CATEGORICAL[name], axis=1).astype(np.float64)
        largest = np.maximum(numbers.max(axis=0), -numbers.min(axis=0))
        if (largest.min(), largest.max()) != expected.scales:
            raise ValueError(
                f"the largest values of the features of {source} range from {largest.min():g} to {largest.max():g}; "
                f"in {expected.title} they range from {expected.scales[0]:g} to {expected.scales[1]:g}."
            )


class _Request(NamedTuple):
    """Parameters that all fetchers share, and what they determine."""

    data_home: str | PathLike | None
    download_if_missing: bool
    return_X_y: bool
    as_frame: bool
    n_retries: int
    delay: float

    def table(self, name, read, file_name, **options):
        """Read all columns from the file or, if missing, OpenML; also return the source's name."""
        folder = Path(get_data_home(self.data_home))
        file = find_file(folder, file_name)
        if file is not None:
            return read(file, **options), file_name
        source = _SOURCES[name]
        if source.openml is None:
            raise OSError(f"{file_name} (or .gz, .bz2, .zip) is not in {folder}: get it from UCI, {source.title}.")
        self.check_download(file_name, folder)
        table = _from_openml(name, self.data_home, self.n_retries, self.delay)
        return table, f"data set {source.openml} of OpenML"

    def check_download(self, file_name, folder):
        if not self.download_if_missing:
            raise OSError(f"{file_name} (or .gz, .bz2, .zip) is not in {folder}, and download_if_missing=False.")

    def result(self, name, source, data, target, rows=slice(None), **more):
        """Result of a fetcher: a Bunch with ``more``, or only data and target."""
        _verify(name, data, source)
        data, target = data[rows], target[rows]
        names, categorical = _NAMES[name], _CATEGORICAL.get(name, [])
        if categorical:
            numeric = np.setdiff1d(np.arange(len(names)), categorical)
            data[:, numeric] = data[:, numeric].astype(np.float64)
        if self.as_frame:
            data, target = _as_frame(data, target, names, categorical)
        if self.return_X_y:
            return data, target
        return Bunch(
            data=data,
            target=target,
            feature_names=list(names),
            categorical_features=list(categorical),
            DESCR=f"{_SOURCES[name].title}: {len(target):,} rows, {len(names)} features, in raw units.",
            **more,
        )


def _as_frame(data, target, names, categorical):
    """Data as a data frame with words as categories, and target as a series."""
    pd = needed("pandas", "csv", "as_frame=True needs")
    kinds = {name: "category" if i in categorical else np.float64 for i, name in enumerate(names)}
    return pd.DataFrame(data, columns=names).astype(kinds), pd.Series(target, name="target")


def _subset(name, subset):
    """Slice of the rows that ``subset`` names; raise if unknown."""
    rows = _SOURCES[name].rows
    slices = {"train": slice(rows), "test": slice(rows, None), "all": slice(None)}
    if subset not in slices:
        raise ValueError(f"subset must be one of {', '.join(map(repr, slices))}; got {subset!r}.")
    return slices[subset]


_shared = share(
    subset="""\
subset : {"train", "test", "all"}, default="train"
    Which rows to return: those of the paper, those that follow them, or both.""",
    data_home="""\
data_home : str or path-like, optional
    Folder that contains the file, and where downloads are kept; scikit-learn's data folder by default.""",
    download_if_missing="""\
download_if_missing : bool, default=True
    Whether to download the data from OpenML if the file is missing.""",
    return_X_y="""\
return_X_y : bool, default=False
    Whether to return ``(data, target)`` instead of a Bunch.""",
    as_frame="""\
as_frame : bool, default=False
    Whether ``data`` is a pandas DataFrame and ``target`` a Series.""",
    n_retries="""\
n_retries : int, default=3
    Number of times to retry a failed download.""",
    delay="""\
delay : float, default=1.0
    Seconds between retries.""",
    errors="""\
OSError
    If the file is missing and may not be downloaded.
ValueError
    If rows, features or scales differ from Table 1 of the paper.""",
)


@_shared
def fetch_bank(
    *,
    data_home: str | PathLike | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    as_frame: bool = False,
    n_retries: int = 3,
    delay: float = 1.0,
) -> Any:
    """Load the Bank Marketing data set (classification).

    Two classes: whether a client subscribes to a deposit. Features are numbers and words. The function reads
    ``bank-full.csv`` of the UCI repository (or with ``.gz``, ``.bz2``, ``.zip``).

    Parameters
    ----------
    {data_home}
    {download_if_missing}
    {return_X_y}
    {as_frame}
    {n_retries}
    {delay}

    Returns
    -------
    sklearn.utils.Bunch or tuple
        With ``data`` of shape (45211, 16), floats and strings in an array of objects; ``target``, 0 or 1;
        ``feature_names``, ``categorical_features`` (their indices), ``target_names`` and ``DESCR``.

    Raises
    ------
    {errors}

    See Also
    --------
    paper_recipe : The preprocessing of the paper.

    Examples
    --------
    >>> from sklearn_nag.datasets import fetch_bank
    >>> X, y = fetch_bank(data_home="folder", return_X_y=True)  # doctest: +SKIP
    """
    request = _Request(data_home, download_if_missing, return_X_y, as_frame, n_retries, delay)
    table, source = request.table("bank", read_words, "bank-full.csv", delimiter=";", skiprows=1)
    codes = {"no": 0, "yes": 1, "1": 0, "2": 1}  # OpenML numbers the classes
    if unknown := {*table[:, -1]} - {*codes}:
        raise ValueError(f"the target of {source} has {min(unknown)!r}; it must be 'yes' or 'no'.")
    target = np.array([codes[label] for label in table[:, -1]], dtype=np.int64)
    return request.result("bank", source, table[:, :-1], target, target_names=["no", "yes"])


@_shared
def fetch_census(
    *,
    data_home: str | PathLike | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    as_frame: bool = False,
    n_retries: int = 3,
    delay: float = 1.0,
) -> Any:
    """Load the Census-Income KDD data set (classification).

    Two classes: whether an income is above 50,000 dollars. Features are numbers and words. The function reads
    ``census-income.data`` of the UCI repository (or with ``.gz``, ``.bz2``, ``.zip``). OpenML also has test rows,
    which follow those of the paper and are left out.

    Parameters
    ----------
    {data_home}
    {download_if_missing}
    {return_X_y}
    {as_frame}
    {n_retries}
    {delay}

    Returns
    -------
    sklearn.utils.Bunch or tuple
        With ``data`` of shape (199523, 41), floats and strings in an array of objects; ``target``, 0 or 1;
        ``feature_names``, ``categorical_features`` (their indices), ``target_names`` and ``DESCR``.

    Raises
    ------
    {errors}

    See Also
    --------
    paper_recipe : The preprocessing of the paper.

    Examples
    --------
    >>> from sklearn_nag.datasets import fetch_census
    >>> X, y = fetch_census(data_home="folder", return_X_y=True)  # doctest: +SKIP
    """
    request = _Request(data_home, download_if_missing, return_X_y, as_frame, n_retries, delay)
    table, source = request.table("census", read_words, "census-income.data", delimiter=",")
    table = table[: _SOURCES["census"].rows]
    target = np.array(["+" in label for label in table[:, -1]], dtype=np.int64)
    return request.result("census", source, table[:, :-1], target, target_names=["- 50000.", "50000+."])


@_shared
def fetch_covertype(
    *,
    data_home: str | PathLike | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    as_frame: bool = False,
    n_retries: int = 3,
    delay: float = 1.0,
) -> Any:
    """Load the Covertype data set (classification).

    Seven classes: which trees grow at a place. Features are ten numbers and 44 indicators. The function reads
    ``covtype.data`` of the UCI repository (or with ``.gz``, ``.bz2``, ``.zip``), in its order.

    Parameters
    ----------
    {data_home}
    download_if_missing : bool, default=True
        Whether to download the data with scikit-learn's `fetch_covtype` if the file is missing.
    {return_X_y}
    {as_frame}
    {n_retries}
    {delay}

    Returns
    -------
    sklearn.utils.Bunch or tuple
        With ``data`` of shape (581012, 54), float64; ``target``, 1 to 7;
        ``feature_names``, ``categorical_features`` (their indices) and ``DESCR``.

    Raises
    ------
    {errors}

    See Also
    --------
    paper_recipe : The preprocessing of the paper.

    Examples
    --------
    >>> from sklearn_nag.datasets import fetch_covertype
    >>> X, y = fetch_covertype(data_home="folder", return_X_y=True)  # doctest: +SKIP
    """
    request = _Request(data_home, download_if_missing, return_X_y, as_frame, n_retries, delay)
    folder = Path(get_data_home(data_home))
    file = find_file(folder, "covtype.data")
    if file is not None:
        table, source = read_numbers(file, ",", dtype=np.int32), "covtype.data"
        data, target = table[:, :-1], table[:, -1]
    else:
        request.check_download("covtype.data", folder)
        data, target = fetch_covtype(data_home=data_home, return_X_y=True, n_retries=n_retries, delay=delay)
        source = "what fetch_covtype gives"
    return request.result("covertype", source, data, target.astype(np.int64))


@_shared
def fetch_ct_slice(
    *,
    data_home: str | PathLike | None = None,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Any:
    """Load the CT Slice data set (regression).

    The target is the position of a slice in the body; features are two histograms of each image. The function reads
    ``slice_localization_data.csv`` of the UCI repository (or with ``.gz``, ``.bz2``, ``.zip``). The paper counts
    360 features; the file has 384, apart from the patient number, which is left out.

    Parameters
    ----------
    data_home : str or path-like, optional
        Folder that contains the file; scikit-learn's data folder by default.
    {return_X_y}
    {as_frame}

    Returns
    -------
    sklearn.utils.Bunch or tuple
        With ``data`` of shape (53500, 384), float64; ``target``, the position, 0 to 180;
        ``feature_names``, ``categorical_features`` (their indices) and ``DESCR``.

    Raises
    ------
    OSError
        If the file is missing.
    ValueError
        If rows, features or scales differ from Table 1 of the paper.

    See Also
    --------
    paper_recipe : The preprocessing of the paper.

    Examples
    --------
    >>> from sklearn_nag.datasets import fetch_ct_slice
    >>> X, y = fetch_ct_slice(data_home="folder", return_X_y=True)  # doctest: +SKIP
    """
    request = _Request(data_home, False, return_X_y, as_frame, 0, 0.0)
    table, source = request.table("ct_slice", read_numbers, "slice_localization_data.csv", delimiter=",", skiprows=1)
    return request.result("ct_slice", source, table[:, 1:-1], table[:, -1])


@_shared
def fetch_msd(
    *,
    subset: Literal["train", "test", "all"] = "train",
    data_home: str | PathLike | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    as_frame: bool = False,
    n_retries: int = 3,
    delay: float = 1.0,
) -> Any:
    """Load the Year Prediction MSD data set (regression).

    The target is the year in which a song appeared; features are means and covariances of its timbre. The function
    reads ``YearPredictionMSD.txt`` of the UCI repository (or with ``.gz``, ``.bz2``, ``.zip``).

    Parameters
    ----------
    {subset}
    {data_home}
    {download_if_missing}
    {return_X_y}
    {as_frame}
    {n_retries}
    {delay}

    Returns
    -------
    sklearn.utils.Bunch or tuple
        With ``data`` of shape (463715, 90), float64; ``target``, the year;
        ``feature_names``, ``categorical_features`` (their indices) and ``DESCR``.

    Raises
    ------
    {errors}

    See Also
    --------
    paper_recipe : The preprocessing of the paper.

    Examples
    --------
    >>> from sklearn_nag.datasets import fetch_msd
    >>> X, y = fetch_msd(data_home="folder", return_X_y=True)  # doctest: +SKIP
    """
    request = _Request(data_home, download_if_missing, return_X_y, as_frame, n_retries, delay)
    rows = _subset("msd", subset)
    table, source = request.table("msd", read_numbers, "YearPredictionMSD.txt", delimiter=",")
    year = 0 if source == "YearPredictionMSD.txt" else -1
    return request.result("msd", source, np.delete(table, year, axis=1), table[:, year], rows)


@_shared
def fetch_shuttle(
    *,
    subset: Literal["train", "test", "all"] = "train",
    data_home: str | PathLike | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    as_frame: bool = False,
    n_retries: int = 3,
    delay: float = 1.0,
) -> Any:
    """Load the Statlog (Shuttle) data set (classification).

    Seven classes: the state of the shuttle. Features are nine whole numbers. The function reads ``shuttle.trn`` and
    ``shuttle.tst`` of the UCI repository (or with ``.gz``, ``.bz2``, ``.zip``).

    Parameters
    ----------
    {subset}
    {data_home}
    {download_if_missing}
    {return_X_y}
    {as_frame}
    {n_retries}
    {delay}

    Returns
    -------
    sklearn.utils.Bunch or tuple
        With ``data`` of shape (43500, 9), float64; ``target``, 1 to 7;
        ``feature_names``, ``categorical_features`` (their indices) and ``DESCR``.

    Raises
    ------
    {errors}

    See Also
    --------
    paper_recipe : The preprocessing of the paper.

    Examples
    --------
    >>> from sklearn_nag.datasets import fetch_shuttle
    >>> X, y = fetch_shuttle(data_home="folder", return_X_y=True)  # doctest: +SKIP
    """
    request = _Request(data_home, download_if_missing, return_X_y, as_frame, n_retries, delay)
    rows = _subset("shuttle", subset)
    table, source = request.table("shuttle", read_numbers, "shuttle.trn")
    if source == "shuttle.trn":
        rest, source_of_rest = request.table("shuttle", read_numbers, "shuttle.tst")
        if source_of_rest == "shuttle.tst":
            table = np.concatenate([table, rest])
        else:  # OpenML has all rows
            table, source = rest, source_of_rest
    return request.result("shuttle", source, table[:, :-1], table[:, -1].astype(np.int64), rows)


# -- files of the UCI repository, plain or compressed


def find_file(folder, name):
    """Find ``name`` in ``folder``, maybe compressed, for `numpy.loadtxt`; None if it is missing."""
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
    """Read a file of numbers as float64; whole numbers are read faster with ``dtype`` int32."""
    table = np.loadtxt(file, dtype, delimiter=delimiter, comments=None, skiprows=skiprows, ndmin=2, encoding="utf-8")
    return table.astype(np.float64, copy=False)


def read_words(file, delimiter, skiprows=0):
    """Read numbers and words as an object array of strings; equal words of a column are one object."""
    table = np.loadtxt(
        file, dtype=object, delimiter=delimiter, comments=None, skiprows=skiprows, ndmin=2, encoding="utf-8",
        quotechar='"',
    )  # fmt: skip
    for column in table.T:
        known = {word: word.strip() for word in set(column)}
        column[:] = [known[word] for word in column]
    return table
