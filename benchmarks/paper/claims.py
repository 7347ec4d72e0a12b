"""What the paper says, held against the runs: each claim with a verdict made from the figures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd
from scipy import stats

from paper.markdown import DATASETS, listed, number
from paper.methods import NAMES, PAPER_METHODS
from paper.tables import paired

_PAIRS = (("ctmc", "tmc"), ("cmc", "tmc"))
_GAIN = 0.01  # accuracy by which a model must get better to count as improved


class Claim(NamedTuple):
    """A claim of the paper, whether it holds here, and the figures that say so."""

    claim: str
    verdict: str
    evidence: str


def check_claims(data: dict[str, pd.DataFrame], summaries: dict[str, pd.DataFrame]) -> list[Claim]:
    """Hold the paper's claims against `Results.tables` and their summaries."""
    runs, curves = (frame[frame["protocol"] == "paper"] for frame in (data["runs"], data["curves"]))
    table, less = summaries["table2"], summaries["reductions"]
    return [
        _faster("TMC", table),
        _faster("CMC", table),
        _more_on_noise(less),
        _noise_is_slower(table),
        _smaller_area(runs),
        _same_removal(runs),
        _same_detection(runs),
        _improves(curves),
    ]


def _verdict(yes: int, total: int) -> str:
    return "holds" if yes == total else "does not hold" if yes == 0 else f"holds in {yes} of {total}"


def _faster(other: str, table: pd.DataFrame) -> Claim:
    parts, yes = [], 0
    groups = list(table.groupby(["dataset", "labels"], sort=False))
    for (dataset, labels), group in groups:
        fits = dict(zip(group["method"], group["fits"].astype(float), strict=True))
        seconds = dict(zip(group["method"], group["seconds"].astype(float), strict=True))
        change = 100 * (fits["ctmc"] / fits[other.lower()] - 1)
        time = 100 * (seconds["ctmc"] / seconds[other.lower()] - 1)
        yes += fits["ctmc"] < fits[other.lower()]
        parts.append(f"{DATASETS[str(dataset)]} {labels} {change:+.0f} % ({time:+.0f} %)")
    return Claim(
        f"CTMC needs less time than {other}.",
        f"{_verdict(yes, len(groups))}, counted in model fits",
        f"Model fits of CTMC against {other}, in brackets its seconds: {', '.join(parts)}.",
    )


def _more_on_noise(less: pd.DataFrame) -> Claim:
    parts, yes, total = [], 0, 0
    for dataset, group in less.groupby("dataset", sort=False):
        saved = dict(zip(group["labels"], group["fits"].astype(float), strict=True))
        yes += saved["noisy"] > saved["raw"]
        total += 1
        parts.append(f"{DATASETS[str(dataset)]} {saved['raw']:.0f} % raw, {saved['noisy']:.0f} % noisy")
    return Claim(
        "CTMC saves more against TMC when labels are noisy.",
        _verdict(yes, total),
        f"Share of the model fits saved: {'; '.join(parts)}.",
    )


def _noise_is_slower(table: pd.DataFrame) -> Claim:
    parts, yes, total = [], 0, 0
    for dataset, group in table.groupby("dataset", sort=False):
        fits = {
            (m, k): float(f) for m, k, f in zip(group["method"], group["labels"], group["fits"], strict=True)
        }
        ratios = {method: fits[method, "noisy"] / fits[method, "raw"] for method in PAPER_METHODS}
        yes += sum(ratio > 1 for ratio in ratios.values())
        total += len(ratios)
        shown = ", ".join(f"{NAMES[method]} x {ratio:.2f}" for method, ratio in ratios.items())
        parts.append(f"{DATASETS[str(dataset)]} {shown}")
    return Claim(
        "Runs take longer when labels are noisy.",
        f"{_verdict(yes, total)}, counted in model fits",
        f"Model fits with noisy labels against raw ones: {'; '.join(parts)}.",
    )


def _smaller_area(runs: pd.DataFrame) -> Claim:
    parts, yes, total = [], 0, 0
    for dataset, group in runs[runs["method"].isin(PAPER_METHODS)].groupby("dataset", sort=False):
        sums = group.groupby(["method", "labels"])["half_sum"].mean()
        for method in PAPER_METHODS:
            yes += float(sums[method, "noisy"]) < float(sums[method, "raw"])
            total += 1
        shown = [f"{NAMES[m]} {sums[m, 'raw']:.2f} to {sums[m, 'noisy']:.2f}" for m in PAPER_METHODS]
        parts.append(f"{DATASETS[str(dataset)]} {', '.join(shown)}")
    return Claim(
        "The area under the removal curve is smaller when labels are noisy.",
        _verdict(yes, total),
        f"Sums over the first half of the marks: {'; '.join(parts)}.",
    )


def _same(claim: str, runs: pd.DataFrame, what: str, name: str) -> Claim:
    """Look for differences between the three methods, paired by run."""
    parts, same, total = [], 0, 0
    for (dataset, labels), group in runs.groupby(["dataset", "labels"], sort=False):
        figures = group.pivot(index="run", columns="method", values=what).astype(float)
        for one, other in _PAIRS:
            gap = paired(figures[one], figures[other])
            low, high = interval(gap)
            if math.isnan(low):
                return Claim(claim, "not told by a single run", "")
            total += 1
            same += low <= 0 <= high
            if not low <= 0 <= high:
                parts.append(
                    f"{NAMES[one]} less {NAMES[other]} on {DATASETS[str(dataset)]} {labels} is "
                    f"{gap['mean']:+.3f} ({low:+.3f} to {high:+.3f})"
                )
    evidence = f"Differences of CTMC and CMC to TMC in {name}, paired by run: their 95 % intervals hold 0" + (
        f", but for these: {'; '.join(parts)}." if parts else "."
    )
    return Claim(claim, f"no difference seen in {same} of {total} comparisons", evidence)


def _same_removal(runs: pd.DataFrame) -> Claim:
    return _same("The three do equally well at removal.", runs, "half_sum", "the sum of Table 1")


def _same_detection(runs: pd.DataFrame) -> Claim:
    noisy = runs[(runs["labels"] == "noisy") & runs["method"].isin(PAPER_METHODS)]
    claim = _same("The three find noisy labels equally well.", noisy, "roc_auc", "ROC AUC")
    parts = []
    for dataset, group in noisy.groupby("dataset", sort=False):
        areas = group.groupby("method")["roc_auc"].mean().astype(float)
        shown = [f"{NAMES[method]} {number(float(areas[method]))}" for method in PAPER_METHODS]
        parts.append(f"{DATASETS[str(dataset)]} {', '.join(shown)}")
    return claim._replace(evidence=f"{claim.evidence} Means, 0.5 for chance: {'; '.join(parts)}.".strip())


def _improves(curves: pd.DataFrame) -> Claim:
    parts, yes, total = [], 0, 0
    noisy = curves[curves["labels"] == "noisy"]
    for dataset, group in noisy.groupby("dataset", sort=False):
        heights = {
            str(method): rows.groupby("removed")["low_first"].mean()
            for method, rows in group.groupby("method")
        }
        # The best of many marks is better than the first where rows go by luck, too.
        luck = float(heights["random"].max() - heights["random"].iloc[0])
        shown = []
        for method in (*PAPER_METHODS, "random"):
            line = heights[method]
            start, best, end = float(line.iloc[0]), float(line.max()), float(line.iloc[-1])
            shown.append(f"{NAMES[method]} {start:.2f}, {best:.2f}, {end:.2f}")
            if method in PAPER_METHODS:
                yes += best - start > max(_GAIN, luck) and end < best
                total += 1
        parts.append(f"{DATASETS[str(dataset)]} {listed(shown)}")
    return Claim(
        "Under noisy labels, deleting rows from the lowest value up improves the model, then degrades it.",
        f"{_verdict(yes, total)} (a gain of more than {_GAIN}, and than at random)",
        f"Mean accuracy at the start, at best, at the last mark: {'; '.join(parts)}.",
    )


def interval(gap: Mapping[Any, Any]) -> tuple[float, float]:
    """Return the 95 % interval of a mean of paired differences, by Student's t; NaN for a single run."""
    if gap["runs"] < 2:
        return math.nan, math.nan
    half = float(stats.t.ppf(0.975, gap["runs"] - 1)) * gap["stderr"]
    return gap["mean"] - half, gap["mean"] + half
