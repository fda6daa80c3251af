"""The data sets of Ross, Mineiro and Langford, "Normalized online learning" (UAI 2013), and what it makes of them.

Each ``fetch_…`` reads the file of the UCI repository from a folder or, where it is not there, asks scikit-learn's
fetchers. Numbers are in raw units; how many rows there are, and the range of their scales, is held against the paper's
Table 1. `paper_recipe` is the preprocessing as a Pipeline, `recipe_batches` its output a few rows at a time.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.datasets import fetch_covtype, fetch_openml, get_data_home
from sklearn.feature_extraction import FeatureHasher
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, OneHotEncoder, PolynomialFeatures
from sklearn.utils import Bunch

__all__ = [
    "fetch_bank",
    "fetch_census",
    "fetch_covertype",
    "fetch_ct_slice",
    "fetch_msd",
    "fetch_shuttle",
    "paper_recipe",
    "recipe_batches",
]

_MOST_ROWS = 2**13


class _Source(NamedTuple):
    """Where a data set is, and what the paper's Table 1 says of it.

    Attributes
    ----------
    title : str
        Name and origin.
    openml : int or None
        Its number at OpenML.
    rows, features : int
        Number of rows, and of numeric features.
    scales : tuple of float or None
        Smallest and largest, over the numeric features, of the largest absolute value.
    test_rows : int
        Rows that follow those of the table.
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


def _find(folder, name):
    """The file ``name``, plain or compressed, in ``folder``, as `numpy.loadtxt` takes it; None where there is none."""
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


def _read_numbers(file, delimiter=None, skiprows=0, dtype=np.float64):
    """All of a file of numbers, as float64; they are read faster as ``dtype`` int32 where they are whole."""
    table = np.loadtxt(file, dtype, delimiter=delimiter, comments=None, skiprows=skiprows, ndmin=2, encoding="utf-8")
    return table.astype(np.float64, copy=False)


def _read_words(file, delimiter, skiprows=0):
    """All of a file of numbers and words, as strings in an array of objects; equal ones in a column are one object."""
    table = np.loadtxt(
        file, dtype=object, delimiter=delimiter, comments=None, skiprows=skiprows, ndmin=2, encoding="utf-8",
        quotechar='"',
    )  # fmt: skip
    for column in table.T:
        known = {word: word.strip() for word in set(column)}
        column[:] = [known[word] for word in column]
    return table


def _from_openml(name, data_home, n_retries, delay):
    """A data set of OpenML as the UCI file has it, but for the header: the target is the last column."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError('data sets of OpenML are read with pandas: pip install "sklearn-nag[csv]"') from None
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
    """Raise unless rows, features and scales are those of the paper's Table 1."""
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
                f"those of {expected.title} from {expected.scales[0]:g} to {expected.scales[1]:g}."
            )


class _Request(NamedTuple):
    """The parameters that all fetchers share."""

    data_home: str | PathLike | None
    download_if_missing: bool
    return_X_y: bool
    as_frame: bool
    n_retries: int
    delay: float

    def table(self, name, read, file_name, **options):
        """All columns of the file or, where it is not there, of OpenML, and the place that they are from."""
        folder = Path(get_data_home(self.data_home))
        file = _find(folder, file_name)
        if file is not None:
            return read(file, **options), file_name
        source = _SOURCES[name]
        if source.openml is None:
            raise OSError(f"{file_name} (or .gz, .bz2, .zip) is not in {folder}: get it from UCI, {source.title}.")
        self.check_download(file_name, folder)
        table = _from_openml(name, self.data_home, self.n_retries, self.delay)
        return table, f"data set {source.openml} of OpenML"

    def check_download(self, file_name, folder):
        """Raise where nothing may be downloaded."""
        if not self.download_if_missing:
            raise OSError(f"{file_name} (or .gz, .bz2, .zip) is not in {folder}, and download_if_missing=False.")

    def result(self, name, data, target, **more):
        """A Bunch, or its data and target."""
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
    """Data as a data frame, words as categories, and the target as a series."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError('as_frame=True needs pandas: pip install "sklearn-nag[csv]"') from None
    kinds = {name: "category" if i in categorical else np.float64 for i, name in enumerate(names)}
    return pd.DataFrame(data, columns=names).astype(kinds), pd.Series(target, name="target")


def _subset(name, subset):
    """Slice of the rows that ``subset`` names."""
    rows = _SOURCES[name].rows
    slices = {"train": slice(rows), "test": slice(rows, None), "all": slice(None)}
    if subset not in slices:
        raise ValueError(f"subset must be one of {', '.join(map(repr, slices))}; got {subset!r}.")
    return slices[subset]


def fetch_bank(
    *,
    data_home: str | PathLike | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    as_frame: bool = False,
    n_retries: int = 3,
    delay: float = 1.0,
) -> Any:
    """Bank Marketing: does a client subscribe to a deposit? Two classes, numbers and words.

    Reads ``bank-full.csv`` of the UCI repository (or with ``.gz``, ``.bz2``, ``.zip``).

    Parameters
    ----------
    data_home : str or path-like, optional
        Folder that holds the file; scikit-learn's data folder by default, which is also where downloads are kept.
    download_if_missing : bool, default=True
        Whether to download the data from OpenML where the file is not there.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Whether data is a pandas DataFrame and target a Series.
    n_retries : int, default=3
        How often a download is tried again.
    delay : float, default=1.0
        Seconds between two tries.

    Returns
    -------
    sklearn.utils.Bunch or tuple
        With ``data`` of shape (45211, 16), floats and strings in an array of objects; ``target``, 0 or 1;
        ``feature_names``, ``categorical_features`` (their places) and ``DESCR``, ``target_names``.

    Raises
    ------
    OSError
        Where the file is missing and may not be downloaded.
    ValueError
        When rows, features or scales are not those of the paper's Table 1.

    See Also
    --------
    paper_recipe : What the paper makes of these rows before it learns.

    Examples
    --------
    >>> from sklearn_nag.datasets import fetch_bank
    >>> X, y = fetch_bank(data_home="folder", return_X_y=True)  # doctest: +SKIP
    """
    request = _Request(data_home, download_if_missing, return_X_y, as_frame, n_retries, delay)
    table, source = request.table("bank", _read_words, "bank-full.csv", delimiter=";", skiprows=1)
    _verify("bank", table[:, :-1], source)
    target = np.isin(table[:, -1], ("yes", "2")).astype(np.int64)  # OpenML numbers the classes
    return request.result("bank", table[:, :-1], target, target_names=["no", "yes"])


def fetch_census(
    *,
    data_home: str | PathLike | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    as_frame: bool = False,
    n_retries: int = 3,
    delay: float = 1.0,
) -> Any:
    """Census-Income KDD: is an income above 50,000 dollars? Two classes, numbers and words.

    Reads ``census-income.data`` of the UCI repository (or with ``.gz``, ``.bz2``, ``.zip``). OpenML has
    further rows, for tests; those of the paper are the first ones.

    Parameters
    ----------
    data_home : str or path-like, optional
        Folder that holds the file; scikit-learn's data folder by default, which is also where downloads are kept.
    download_if_missing : bool, default=True
        Whether to download the data from OpenML where the file is not there.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Whether data is a pandas DataFrame and target a Series.
    n_retries : int, default=3
        How often a download is tried again.
    delay : float, default=1.0
        Seconds between two tries.

    Returns
    -------
    sklearn.utils.Bunch or tuple
        With ``data`` of shape (199523, 41), floats and strings in an array of objects; ``target``, 0 or 1;
        ``feature_names``, ``categorical_features`` (their places) and ``DESCR``, ``target_names``.

    Raises
    ------
    OSError
        Where the file is missing and may not be downloaded.
    ValueError
        When rows, features or scales are not those of the paper's Table 1.

    See Also
    --------
    paper_recipe : What the paper makes of these rows before it learns.

    Examples
    --------
    >>> from sklearn_nag.datasets import fetch_census
    >>> X, y = fetch_census(data_home="folder", return_X_y=True)  # doctest: +SKIP
    """
    request = _Request(data_home, download_if_missing, return_X_y, as_frame, n_retries, delay)
    table, source = request.table("census", _read_words, "census-income.data", delimiter=",")
    table = table[: _SOURCES["census"].rows]
    _verify("census", table[:, :-1], source)
    target = np.array(["+" in label for label in table[:, -1]], dtype=np.int64)
    return request.result("census", table[:, :-1], target, target_names=["- 50000.", "50000+."])


def fetch_covertype(
    *,
    data_home: str | PathLike | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    as_frame: bool = False,
    n_retries: int = 3,
    delay: float = 1.0,
) -> Any:
    """Covertype: which trees grow there? Seven classes, ten numbers and 44 indicators.

    Reads ``covtype.data`` of the UCI repository (or with ``.gz``, ``.bz2``, ``.zip``), in its order.

    Parameters
    ----------
    data_home : str or path-like, optional
        Folder that holds the file; scikit-learn's data folder by default, which is also where downloads are kept.
    download_if_missing : bool, default=True
        Whether to download the data by scikit-learn's `fetch_covtype` where the file is not there.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Whether data is a pandas DataFrame and target a Series.
    n_retries : int, default=3
        How often a download is tried again.
    delay : float, default=1.0
        Seconds between two tries.

    Returns
    -------
    sklearn.utils.Bunch or tuple
        With ``data`` of shape (581012, 54), float64; ``target``, 1 to 7;
        ``feature_names``, ``categorical_features`` (their places) and ``DESCR``.

    Raises
    ------
    OSError
        Where the file is missing and may not be downloaded.
    ValueError
        When rows, features or scales are not those of the paper's Table 1.

    See Also
    --------
    paper_recipe : What the paper makes of these rows before it learns.

    Examples
    --------
    >>> from sklearn_nag.datasets import fetch_covertype
    >>> X, y = fetch_covertype(data_home="folder", return_X_y=True)  # doctest: +SKIP
    """
    request = _Request(data_home, download_if_missing, return_X_y, as_frame, n_retries, delay)
    folder = Path(get_data_home(data_home))
    file = _find(folder, "covtype.data")
    if file is not None:
        table, source = _read_numbers(file, ",", dtype=np.int32), "covtype.data"
        data, target = table[:, :-1], table[:, -1]
    else:
        request.check_download("covtype.data", folder)
        data, target = fetch_covtype(data_home=data_home, return_X_y=True, n_retries=n_retries, delay=delay)
        source = "what fetch_covtype gives"
    _verify("covertype", data, source)
    return request.result("covertype", data, target.astype(np.int64))


def fetch_ct_slice(
    *,
    data_home: str | PathLike | None = None,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Any:
    """CT Slice: where in the body is this slice? Regression on two histograms of each image.

    Reads ``slice_localization_data.csv`` of the UCI repository (or with ``.gz``, ``.bz2``, ``.zip``). The paper counts
    360 features, the file has 384; the number of the patient is left out.

    Parameters
    ----------
    data_home : str or path-like, optional
        Folder that holds the file; scikit-learn's data folder by default.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Whether data is a pandas DataFrame and target a Series.

    Returns
    -------
    sklearn.utils.Bunch or tuple
        With ``data`` of shape (53500, 384), float64; ``target``, the position, 0 to 180;
        ``feature_names``, ``categorical_features`` (their places) and ``DESCR``.

    Raises
    ------
    OSError
        Where the file is missing.
    ValueError
        When rows, features or scales are not those of the paper's Table 1.

    See Also
    --------
    paper_recipe : What the paper makes of these rows before it learns.

    Examples
    --------
    >>> from sklearn_nag.datasets import fetch_ct_slice
    >>> X, y = fetch_ct_slice(data_home="folder", return_X_y=True)  # doctest: +SKIP
    """
    request = _Request(data_home, False, return_X_y, as_frame, 0, 0.0)
    table, source = request.table("ct_slice", _read_numbers, "slice_localization_data.csv", delimiter=",", skiprows=1)
    _verify("ct_slice", table[:, 1:-1], source)
    return request.result("ct_slice", table[:, 1:-1], table[:, -1])


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
    """MSD: in which year did this song appear? Regression on means and covariances of its timbre.

    Reads ``YearPredictionMSD.txt`` of the UCI repository (or with ``.gz``, ``.bz2``, ``.zip``).

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        The rows of the paper, those that follow, or both.
    data_home : str or path-like, optional
        Folder that holds the file; scikit-learn's data folder by default, which is also where downloads are kept.
    download_if_missing : bool, default=True
        Whether to download the data from OpenML where the file is not there.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Whether data is a pandas DataFrame and target a Series.
    n_retries : int, default=3
        How often a download is tried again.
    delay : float, default=1.0
        Seconds between two tries.

    Returns
    -------
    sklearn.utils.Bunch or tuple
        With ``data`` of shape (463715, 90), float64; ``target``, the year;
        ``feature_names``, ``categorical_features`` (their places) and ``DESCR``.

    Raises
    ------
    OSError
        Where the file is missing and may not be downloaded.
    ValueError
        When rows, features or scales are not those of the paper's Table 1.

    See Also
    --------
    paper_recipe : What the paper makes of these rows before it learns.

    Examples
    --------
    >>> from sklearn_nag.datasets import fetch_msd
    >>> X, y = fetch_msd(data_home="folder", return_X_y=True)  # doctest: +SKIP
    """
    request = _Request(data_home, download_if_missing, return_X_y, as_frame, n_retries, delay)
    rows = _subset("msd", subset)
    table, source = request.table("msd", _read_numbers, "YearPredictionMSD.txt", delimiter=",")
    year = 0 if source == "YearPredictionMSD.txt" else -1
    data, target = np.delete(table, year, axis=1), table[:, year]
    _verify("msd", data, source)
    return request.result("msd", data[rows], target[rows])


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
    """Statlog (Shuttle): in which state is it? Seven classes, nine whole numbers.

    Reads ``shuttle.trn`` and ``shuttle.tst`` of the UCI repository (or with ``.gz``, ``.bz2``, ``.zip``).

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        The rows of the paper, those that follow, or both.
    data_home : str or path-like, optional
        Folder that holds the file; scikit-learn's data folder by default, which is also where downloads are kept.
    download_if_missing : bool, default=True
        Whether to download the data from OpenML where the file is not there.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Whether data is a pandas DataFrame and target a Series.
    n_retries : int, default=3
        How often a download is tried again.
    delay : float, default=1.0
        Seconds between two tries.

    Returns
    -------
    sklearn.utils.Bunch or tuple
        With ``data`` of shape (43500, 9), float64; ``target``, 1 to 7;
        ``feature_names``, ``categorical_features`` (their places) and ``DESCR``.

    Raises
    ------
    OSError
        Where the file is missing and may not be downloaded.
    ValueError
        When rows, features or scales are not those of the paper's Table 1.

    See Also
    --------
    paper_recipe : What the paper makes of these rows before it learns.

    Examples
    --------
    >>> from sklearn_nag.datasets import fetch_shuttle
    >>> X, y = fetch_shuttle(data_home="folder", return_X_y=True)  # doctest: +SKIP
    """
    request = _Request(data_home, download_if_missing, return_X_y, as_frame, n_retries, delay)
    rows = _subset("shuttle", subset)
    table, source = request.table("shuttle", _read_numbers, "shuttle.trn")
    if source == "shuttle.trn":
        table = np.concatenate([table, request.table("shuttle", _read_numbers, "shuttle.tst")[0]])
    _verify("shuttle", table[:, :-1], source)
    return request.result("shuttle", table[rows, :-1], table[rows, -1].astype(np.int64))


def paper_recipe(
    categorical_features: ArrayLike | None = None,
    *,
    positive: bool = False,
    prenormalize: bool = False,
    products: bool = True,
    n_features: int | None = None,
) -> Pipeline:
    """Preprocessing of the paper's section 6, as a Pipeline from raw columns to CSR rows.

    Words become indicators; all products of two features, squares among them, are added. Zeros take no part, and
    ``positive`` drops negative numbers as well. Give the rows to it in batches, as `recipe_batches` does: 54 features
    become 1,539.

    Parameters
    ----------
    categorical_features : array-like of int, optional
        Places of the columns that hold words; none by default.
    positive : bool, default=False
        Whether negative numbers are dropped, as the paper does on Bank and Census.
    prenormalize : bool, default=False
        Whether each feature is first divided by its largest absolute value, which the learners of this package do not
        need.
    products : bool, default=True
        Whether products are added.
    n_features : int, optional
        Number of columns that words and, at the end, all features are hashed to. There is then nothing to fit (but for
        ``prenormalize``): words may be new at any time, and the number of products does not matter. By default there
        is a column for each word and each product.

    Returns
    -------
    sklearn.pipeline.Pipeline
        To be fitted on all rows, which costs little, and applied to some at a time.

    See Also
    --------
    recipe_batches : Applies it.

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
    if products:
        steps.append(("products", PolynomialFeatures(2, include_bias=False)))
    if n_features is not None:
        steps.append(("fold", FunctionTransformer(_fold, accept_sparse=True, kw_args={"n_features": n_features})))
    return Pipeline(steps)


def _as_csr(X, positive):
    """Numbers as CSR."""
    X = np.asarray(X, dtype=np.float64)
    return sparse.csr_array(np.maximum(X, 0.0) if positive else X)


def _hash_words(X, n_features):
    """Words, named by their column, as indicators in ``n_features`` columns."""
    tokens = [[f"{column}={word}" for column, word in enumerate(row)] for row in np.asarray(X, dtype=object)]
    return FeatureHasher(n_features, input_type="string", alternate_sign=False).transform(tokens)


def _fold(X, n_features):
    """Columns hashed to ``n_features`` (Fibonacci hashing)."""
    mixed = X.indices.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    indices = ((mixed >> np.uint64(32)) % np.uint64(n_features)).astype(np.int32)
    folded = sparse.csr_array((X.data, indices, X.indptr), shape=(X.shape[0], n_features))
    folded.sum_duplicates()
    return folded


def recipe_batches(
    recipe: Any, X: Any, y: ArrayLike, *, order: ArrayLike | None = None, nonzeros: int = 2**20
) -> Iterator[tuple[Any, np.ndarray]]:
    """Apply a fitted recipe to rows, in batches that fit into little memory.

    Parameters
    ----------
    recipe : object
        With ``transform``, such as a fitted `paper_recipe`.
    X : {array-like, sparse matrix} of shape (n_samples, n_columns)
        Rows as the recipe takes them; arrays, data frames or CSR.
    y : array-like of shape (n_samples,)
        Targets.
    order : array-like of shape (n,) of int, optional
        Rows to go through, in this order; all as they come by default.
    nonzeros : int, default=2**20
        About how many nonzeros a batch has; what is learnt does not depend on it.

    Yields
    ------
    tuple
        The transformed rows, and their targets.

    See Also
    --------
    paper_recipe : A recipe.

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
    order = np.arange(len(y)) if order is None else np.asarray(order)
    start, size = 0, 64
    while start < len(order):
        rows = order[start : start + size]
        batch = recipe.transform(X.iloc[rows] if hasattr(X, "iloc") else X[rows])
        yield batch, y[rows]
        start += size
        stored = batch.nnz if sparse.issparse(batch) else batch.size
        size = int(np.clip(nonzeros * len(rows) // max(stored, 1), 1, _MOST_ROWS))
