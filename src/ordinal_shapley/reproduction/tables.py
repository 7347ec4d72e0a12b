"""The tables of a reproduction: means over runs, beside the paper's figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinal_shapley.reproduction import paper
from ordinal_shapley.reproduction.headline import VALUES, WALKS
from ordinal_shapley.reproduction.methods import NAMES, PAPER_METHODS

if TYPE_CHECKING:
    import pandas as pd

_GROUP = ["dataset", "labels", "method"]


def paired(one: Any, other: Any) -> dict[str, Any]:
    """Return mean, standard deviation, standard error and wins of differences, run by run, and the run's."""
    differences = np.asarray(one, np.float64) - np.asarray(other, np.float64)
    n = len(differences)
    spread = float(differences.std(ddof=1)) if n > 1 else float("nan")
    return {
        "mean": float(differences.mean()),
        "sd": spread,
        "stderr": spread / np.sqrt(n),
        "above_zero": int((differences > 0).sum()),
        "below_zero": int((differences < 0).sum()),
        "runs": n,
        "each": " ".join(f"{difference:+.3f}" for difference in differences),
    }


def table_1(runs: pd.DataFrame, protocol: str) -> pd.DataFrame:
    """Areas of removal curves as the paper sums them: printed, ours, and ours as the authors' code has it.

    Parameters
    ----------
    runs : pandas.DataFrame
        The table "runs" of `Results.tables`.
    protocol : str
        That of the main runs.

    Returns
    -------
    pandas.DataFrame
        One line a data set, kind of labels and method.
    """
    import pandas as pd

    lines = []
    for (dataset, labels, method), group in _groups(runs, PAPER_METHODS):
        line: dict[str, Any] = {"dataset": dataset, "labels": labels, "method": method}
        printed = paper.TABLE_1.get(dataset, {}).get(method)
        line["paper"] = printed[paper.LABELS.index(labels)] if printed else None
        for name, kind in (("ours", protocol), ("authors", "authors")):
            sums = group.loc[group["protocol"] == kind, "half_sum"]
            line |= {name: sums.mean(), f"{name}_sd": sums.std(ddof=1)}
        lines.append(line)
    return pd.DataFrame(lines)


def table_2(runs: pd.DataFrame, times: pd.DataFrame) -> pd.DataFrame:
    """Seconds a run: printed, ours on one core, and those of a scikit-learn loop for as many fits.

    Parameters
    ----------
    runs, times : pandas.DataFrame
        Of `Results.tables`, the main runs only.

    Returns
    -------
    pandas.DataFrame
        One line a data set, kind of labels and method.
    """
    import pandas as pd

    whole = runs.merge(times, on=[*_GROUP, "protocol", "run", "seed"])
    lines = []
    for (dataset, labels, method), group in _groups(whole, PAPER_METHODS):
        printed = paper.TABLE_2.get(dataset, {}).get(method)
        lines.append(
            {
                "dataset": dataset,
                "labels": labels,
                "method": method,
                "paper_seconds": printed[paper.LABELS.index(labels)] if printed else None,
                "permutations": group["permutations"].mean(),
                "fits": group["fits"].mean(),
                "seconds": group["seconds"].mean(),
                "loop_seconds": group["loop_seconds"].mean(),
                "loop_fits_timed": int(group["loop_fits_timed"].sum()),
                "ratio": group["loop_seconds"].sum() / group["seconds"].sum(),
                "capped": int(group["capped"].sum()),
            }
        )
    return pd.DataFrame(lines)


def reductions(table: pd.DataFrame) -> pd.DataFrame:
    """How much less CTMC takes than TMC, in percent: fits, seconds, scikit-learn's seconds, the paper's.

    Parameters
    ----------
    table : pandas.DataFrame
        What `table_2` returned.

    Returns
    -------
    pandas.DataFrame
        One line a data set and kind of labels.
    """
    import pandas as pd

    lines = []
    for (dataset, labels), group in table.groupby(["dataset", "labels"], sort=False):
        line: dict[str, Any] = {"dataset": dataset, "labels": labels}
        for name in ("fits", "seconds", "loop_seconds", "paper_seconds"):
            taken = dict(zip(group["method"], group[name].astype(float), strict=True))
            line[name] = 100 * (1 - taken["ctmc"] / taken["tmc"])
        lines.append(line)
    return pd.DataFrame(lines)


def all_methods(runs: pd.DataFrame, times: pd.DataFrame) -> pd.DataFrame:
    """Every method: what it takes, and what its values are good for.

    Parameters
    ----------
    runs, times : pandas.DataFrame
        Of `Results.tables`, the main runs only.

    Returns
    -------
    pandas.DataFrame
        One line a data set, kind of labels and method; means, and standard deviations over runs.
    """
    import pandas as pd

    whole = runs.merge(times, on=[*_GROUP, "protocol", "run", "seed"])
    lines = []
    for (dataset, labels, method), group in _groups(whole, tuple(NAMES)):
        line: dict[str, Any] = {"dataset": dataset, "labels": labels, "method": method}
        for name in ("permutations", "fits", "seconds"):
            line[name] = group[name].mean()
        for name in ("half_sum", "auc_high_first", "auc_low_first", "roc_auc", "precision"):
            line[name] = group[name].astype(float).mean()
            line[f"{name}_sd"] = group[name].astype(float).std(ddof=1)
        lines.append(line | {"capped": int(group["capped"].sum()), "runs": len(group)})
    return pd.DataFrame(lines)


def headline(compared: pd.DataFrame) -> pd.DataFrame:
    """ROC AUC of each value within each budget.

    Parameters
    ----------
    compared : pandas.DataFrame
        The table "values_compared" of `Results.tables`.

    Returns
    -------
    pandas.DataFrame
        One line a data set, budget, kind of walks and value; means, and standard deviations over runs.
    """
    import pandas as pd

    lines = []
    keys = ["dataset", "unit", "budget", "walks", "value"]
    for key, group in compared.groupby(keys, sort=False):
        line: dict[str, Any] = dict(zip(keys, key, strict=True))
        line |= {"permutations": group["permutations"].mean(), "fits": group["fits"].mean()}
        for name in ("roc_auc", "precision"):
            line |= {name: group[name].mean(), f"{name}_sd": group[name].std(ddof=1)}
        lines.append(line)
    frame = pd.DataFrame(lines)
    orders: dict[str, Sequence[str]] = {
        "dataset": list(dict.fromkeys(compared["dataset"])),
        "unit": ("permutations", "fits"),
        "walks": tuple(WALKS),
        "value": tuple(VALUES),
    }
    places = {
        name: frame[name].map({word: i for i, word in enumerate(order)}) for name, order in orders.items()
    }
    order = np.lexsort(
        (
            places["value"],
            places["walks"],
            frame["budget"],
            -frame["unit"].eq("permutations"),
            places["dataset"],
        )
    )
    return frame.iloc[order].reset_index(drop=True)


def differences(compared: pd.DataFrame) -> pd.DataFrame:
    """ROC AUC of the ordinal value less that of the others, paired by run.

    Parameters
    ----------
    compared : pandas.DataFrame
        The table "values_compared" of `Results.tables`.

    Returns
    -------
    pandas.DataFrame
        One line a data set, budget, kind of walks and other value.
    """
    import pandas as pd

    lines = []
    keys = ["dataset", "unit", "budget", "walks"]
    for key, group in compared.groupby(keys, sort=False):
        areas = group.pivot(index="run", columns="value", values="roc_auc")
        for other in ("partial_ordinal", "classic"):
            line = dict(zip(keys, key, strict=True)) | {"less": other}
            lines.append(line | paired(areas["ordinal"], areas[other]))
    return pd.DataFrame(lines)


def _groups(frame: pd.DataFrame, methods: tuple[str, ...]) -> list[tuple[tuple[str, str, str], pd.DataFrame]]:
    """Return the runs of each data set, kind of labels and method, in the order of the tables."""
    found = []
    for dataset in dict.fromkeys(frame["dataset"]):
        for labels in paper.LABELS:
            for method in methods:
                chosen = frame[
                    (frame["dataset"] == dataset) & (frame["labels"] == labels) & (frame["method"] == method)
                ]
                if len(chosen):
                    found.append(((dataset, labels, method), chosen))
    return found
