"""The data sets of the paper, ready to be valued without a download; Adult from a checkout only.

Each loader returns a `Dataset`: the raw table (``frame``, ``target``) and the arrays ``X`` and
``y``, with categories one-hot encoded and numbers left as they are. `make_journeys` draws journeys
through channels whose credit is known.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ordinal_shapley.datasets._dataset import Dataset
from ordinal_shapley.vocabulary import check_choice

if TYPE_CHECKING:
    import pandas as pd

    from ordinal_shapley.datasets._journeys import Journeys, make_journeys

__all__ = [
    "NAMES",
    "Dataset",
    "Journeys",
    "load",
    "load_adult",
    "load_cancer",
    "load_cancer_wisconsin",
    "load_wine",
    "make_journeys",
]


NAMES = ("wine", "cancer", "cancer-wisconsin", "adult")
"""The names that `load` knows."""

_DATA = Path(__file__).parent / "data"
# Its place in a checkout or an unpacked source distribution.
_ADULT = Path(__file__).parents[3] / "benchmarks" / "paper" / "data" / "adult.csv.gz"


def __getattr__(name: str) -> Any:
    # Drawing requires numpy, while the command line's help only needs the names above.
    if name in ("Journeys", "make_journeys"):
        return getattr(importlib.import_module("ordinal_shapley.datasets._journeys"), name)
    raise AttributeError(f"module 'ordinal_shapley.datasets' has no attribute {name!r}")


def load(name: str) -> Dataset:
    """Load a data set by its name.

    Parameters
    ----------
    name : {"wine", "cancer", "cancer-wisconsin", "adult"}
        ``"cancer"`` is the paper's, from Ljubljana; ``"adult"`` is all 48,842 rows, and needs a checkout.

    Returns
    -------
    Dataset

    Raises
    ------
    ValueError
        For any other name.
    FileNotFoundError
        For ``"adult"`` outside a checkout, see `load_adult`.

    Examples
    --------
    >>> from ordinal_shapley import datasets
    >>> datasets.load("wine")
    <Dataset 'wine': 178 rows, 13 features, 59 0, 71 1, 48 2>
    """
    loaders = (load_wine, load_cancer, load_cancer_wisconsin, load_adult)
    check_choice("name", name, NAMES)
    return loaders[NAMES.index(name)]()


def load_wine() -> Dataset:
    """Load the Wine data: 178 wines from three cultivars, 13 measurements each.

    Returns
    -------
    Dataset
        ``y`` is 0, 1 or 2, with 59, 71 and 48 rows. The measurements' scales differ widely.

    References
    ----------
    S. Aeberhard and M. Forina (1992). Wine [Dataset]. UCI Machine Learning Repository. DOI
    10.24432/C5PC7J. Read from scikit-learn's copy.

    Examples
    --------
    >>> from ordinal_shapley import datasets
    >>> datasets.load_wine().X.shape
    (178, 13)
    """
    from sklearn.datasets import load_wine as read

    frame, target = read(return_X_y=True, as_frame=True)
    return Dataset(
        name="wine",
        frame=frame,
        target=target.rename("cultivar"),
        description="Wines from one region of Italy; the class is the cultivar.",
        source="S. Aeberhard and M. Forina (1992). Wine. UCI, doi:10.24432/C5PC7J. Read from scikit-learn.",
    )


def load_cancer() -> Dataset:
    """Load the Breast Cancer data from Ljubljana, the paper's Cancer set: 286 patients.

    All nine features are categories, the degree of malignancy (1, 2, 3) included, and ``?`` (9
    values) is a category of its own. The rows come sorted by class, so shuffle before you split.

    Returns
    -------
    Dataset
        ``y`` is ``"no-recurrence-events"`` (201 rows) or ``"recurrence-events"`` (85 rows).

    References
    ----------
    M. Zwitter and M. Soklic (1988). Breast Cancer [Dataset]. UCI Machine Learning Repository. DOI
    10.24432/C51P4M. The data come from the University Medical Centre, Institute of Oncology, Ljubljana;
    thanks to both for providing them.

    Examples
    --------
    >>> from ordinal_shapley import datasets
    >>> datasets.load_cancer().frame["node-caps"].unique().tolist()
    ['no', 'yes', '?']
    """
    table = _read(_DATA / "breast_cancer_ljubljana.csv").astype(str)
    return Dataset(
        name="cancer",
        frame=table.drop(columns="class"),
        target=table["class"],
        description="Breast cancer patients; the class says whether the cancer came back.",
        source=(
            "M. Zwitter and M. Soklic (1988). Breast Cancer. UCI, doi:10.24432/C51P4M. Data from the "
            "University Medical Centre, Institute of Oncology, Ljubljana; thanks to both for providing them."
        ),
    )


def load_cancer_wisconsin() -> Dataset:
    """Load the Breast Cancer Wisconsin (Diagnostic) data: 569 tumours, 30 measurements each.

    Returns
    -------
    Dataset
        ``y`` is ``"benign"`` (357 rows) or ``"malignant"`` (212 rows).

    References
    ----------
    W. Wolberg, O. Mangasarian, N. Street and W. Street (1993). Breast Cancer Wisconsin (Diagnostic)
    [Dataset]. UCI Machine Learning Repository. DOI 10.24432/C5DW2B. Read from scikit-learn's copy.

    Examples
    --------
    >>> from ordinal_shapley import datasets
    >>> datasets.load_cancer_wisconsin().X.shape
    (569, 30)
    """
    from sklearn.datasets import load_breast_cancer as read

    frame, target = read(return_X_y=True, as_frame=True)
    return Dataset(
        name="cancer-wisconsin",
        frame=frame,
        target=target.map({0: "malignant", 1: "benign"}).rename("diagnosis"),
        description="Cell nuclei in images of breast tumours; the class is the diagnosis.",
        source=(
            "W. Wolberg, O. Mangasarian, N. Street and W. Street (1993). Breast Cancer Wisconsin "
            "(Diagnostic). UCI, doi:10.24432/C5DW2B. Read from scikit-learn."
        ),
    )


def load_adult(
    split: Literal["train", "test", "all"] = "all", *, path: str | os.PathLike[str] | None = None
) -> Dataset:
    """Load the Adult (census income) data: 48,842 people, 14 features each.

    Its file, ``adult.csv.gz``, is not part of the installed package. The repository and the source
    distribution have it in ``benchmarks/paper/data``, where it is found if the package runs from there.

    Parameters
    ----------
    split : {"train", "test", "all"}, default "all"
        UCI's training file (32,561 rows), its test file (16,281 rows), or one after the other. The
        rows keep the index they have in ``"all"``, and ``X`` has the same columns for all three.
    path : str or path, optional
        A copy of ``adult.csv.gz``; by default that of the checkout.

    Returns
    -------
    Dataset
        ``y`` is ``"<=50K"`` (37,155 rows in all) or ``">50K"`` (11,687 rows). ``?`` is a category
        of its own.

    Raises
    ------
    ValueError
        For any other `split` or file.
    FileNotFoundError
        If there is no file.

    References
    ----------
    B. Becker and R. Kohavi (1996). Adult [Dataset]. UCI Machine Learning Repository. DOI 10.24432/C5XW20.

    Examples
    --------
    >>> from ordinal_shapley import datasets
    >>> datasets.load_adult("train")
    <Dataset 'adult': 32,561 rows, 14 features, 24,720 <=50K, 7,841 >50K>
    """
    check_choice("split", split, ("train", "test", "all"))
    if path is None and not _ADULT.is_file():
        raise FileNotFoundError(
            "the data set 'adult' is not part of the installed package: take adult.csv.gz from "
            "benchmarks/paper/data of the source distribution and read it with load_adult(path=...), "
            "or install the package from a checkout with pip install -e"
        )
    table = _read(_ADULT if path is None else Path(path))
    if not {"income", "split"} <= set(table):
        raise ValueError(f"path: {path} is not adult.csv.gz: it has no columns 'income' and 'split'")
    features = table.drop(columns=["income", "split"])
    kept = slice(None) if split == "all" else table["split"] == split
    return Dataset(
        name="adult",
        frame=features.loc[kept],
        target=table.loc[kept, "income"],
        description="People in the US census of 1994; the class says who earns over $50,000.",
        source="B. Becker and R. Kohavi (1996). Adult. UCI, doi:10.24432/C5XW20.",
        _categories_from=features,
    )


def _read(path: Path) -> pd.DataFrame:
    import pandas as pd

    # Only `?` marks a missing value here, and is kept: no text may be read as NaN.
    return pd.read_csv(path, keep_default_na=False)
