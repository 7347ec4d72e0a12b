"""The tables of the page: means over runs, beside the paper's figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from paper import printed
from paper.comparison import VALUES
from paper.methods import METHODS, PAPER_METHODS

_BUDGET = ["dataset", "unit", "budget", "walks"]


def summarise(data: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables of means, made of `Results.tables`."""
    main = data["runs"][data["runs"]["protocol"] == "paper"]
    second = table_2(main)
    return {
        "table1": table_1(data["runs"]),
        "table2": second,
        "reductions": reductions(second),
        "methods": all_methods(main),
        "headline": headline(data["compared"]),
        "differences": differences(data["compared"]),
        "baselines": baselines(data["baselines"]),
    }


def paired(one: Any, other: Any) -> dict[str, Any]:
    """Return mean, standard deviation, standard error and wins of differences, run by run, and the run's."""
    gaps = np.asarray(one, np.float64) - np.asarray(other, np.float64)
    n = len(gaps)
    spread = float(gaps.std(ddof=1)) if n > 1 else float("nan")
    return {
        "mean": float(gaps.mean()),
        "sd": spread,
        "stderr": spread / np.sqrt(n),
        "above_zero": int((gaps > 0).sum()),
        "below_zero": int((gaps < 0).sum()),
        "runs": n,
        "each": " ".join(f"{gap:+.3f}" for gap in gaps),
    }


def table_1(runs: pd.DataFrame) -> pd.DataFrame:
    """Areas of removal curves as the paper sums them: printed, ours, and ours as the authors' code has it."""
    lines = []
    for line, group in _groups(runs, PAPER_METHODS):
        line["paper"] = _printed(printed.TABLE_1, line)
        for name, protocol in (("ours", "paper"), ("authors", "authors")):
            sums = group.loc[group["protocol"] == protocol, "half_sum"]
            line |= {name: sums.mean(), f"{name}_sd": sums.std(ddof=1)}
        lines.append(line)
    return pd.DataFrame(lines)


def table_2(runs: pd.DataFrame) -> pd.DataFrame:
    """Seconds a run: printed, ours on one core, and those of a scikit-learn loop for as many fits."""
    lines = []
    for line, group in _groups(runs, PAPER_METHODS):
        line["paper_seconds"] = _printed(printed.TABLE_2, line)
        line |= {name: group[name].mean() for name in ("permutations", "fits", "seconds", "loop_seconds")}
        line |= {
            "loop_fits_timed": int(group["loop_fits_timed"].sum()),
            "ratio": group["loop_seconds"].sum() / group["seconds"].sum(),
            "capped": int(group["capped"].sum()),
        }
        lines.append(line)
    return pd.DataFrame(lines)


def reductions(table: pd.DataFrame) -> pd.DataFrame:
    """How much less CTMC takes than TMC by table 2, in percent: fits and all seconds, the paper's too."""
    lines = []
    for (dataset, labels), group in table.groupby(["dataset", "labels"], sort=False):
        line: dict[str, Any] = {"dataset": dataset, "labels": labels}
        for name in ("fits", "seconds", "loop_seconds", "paper_seconds"):
            taken = dict(zip(group["method"], group[name].astype(float), strict=True))
            line[name] = 100 * (1 - taken["ctmc"] / taken["tmc"])
        lines.append(line)
    return pd.DataFrame(lines)


def all_methods(runs: pd.DataFrame) -> pd.DataFrame:
    """Every method: what it takes, and what its values are good for; standard deviations are over runs."""
    lines = []
    for line, group in _groups(runs, METHODS):
        line |= {name: group[name].mean() for name in ("permutations", "fits", "seconds")}
        for name in ("half_sum", "auc_high_first", "auc_low_first", "roc_auc", "precision"):
            figures = group[name].astype(float)
            line |= {name: figures.mean(), f"{name}_sd": figures.std(ddof=1)}
        lines.append(line | {"capped": int(group["capped"].sum()), "runs": len(group)})
    return pd.DataFrame(lines)


def baselines(found: pd.DataFrame) -> pd.DataFrame:
    """How well each baseline finds wrong labels, features standardised; standard deviations are over runs."""
    lines = []
    for (dataset, method), group in found.groupby(["dataset", "method"], sort=False):
        line: dict[str, Any] = {"dataset": dataset, "method": method}
        for name in ("roc_auc", "precision"):
            line |= {name: group[name].mean(), f"{name}_sd": group[name].std(ddof=1)}
        lines.append(line)
    return pd.DataFrame(lines)


def headline(compared: pd.DataFrame) -> pd.DataFrame:
    """How well each value finds wrong labels within each budget; standard deviations are over runs."""
    lines = []
    for key, group in compared.groupby(_BUDGET, sort=False):
        for value in VALUES:
            runs = group[group["value"] == value]
            line: dict[str, Any] = dict(zip(_BUDGET, key, strict=True)) | {"value": value}
            line |= {"permutations": runs["permutations"].mean(), "fits": runs["fits"].mean()}
            for name in ("roc_auc", "precision"):
                line |= {name: runs[name].mean(), f"{name}_sd": runs[name].std(ddof=1)}
            lines.append(line)
    return pd.DataFrame(lines)


def differences(compared: pd.DataFrame) -> pd.DataFrame:
    """ROC AUC of the ordinal value less that of the others, paired by run."""
    lines = []
    for key, group in compared.groupby(_BUDGET, sort=False):
        areas = group.pivot(index="run", columns="value", values="roc_auc")
        for other in ("partial_ordinal", "classic"):
            line = dict(zip(_BUDGET, key, strict=True)) | {"less": other}
            lines.append(line | paired(areas["ordinal"], areas[other]))
    return pd.DataFrame(lines)


def _printed(table: printed.Table, line: dict[str, Any]) -> float | None:
    found = table.get(line["dataset"], {}).get(line["method"])
    return found[printed.LABELS.index(line["labels"])] if found else None


def _groups(frame: pd.DataFrame, methods: tuple[str, ...]) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield the runs of each data set, kind of labels and method, in the order of the tables."""
    groups = dict(iter(frame.groupby(["dataset", "labels", "method"])))
    for dataset in dict.fromkeys(frame["dataset"]):
        for labels in printed.LABELS:
            for method in methods:
                if (dataset, labels, method) in groups:
                    line = {"dataset": dataset, "labels": labels, "method": method}
                    yield line, groups[dataset, labels, method]
