"""The pages of the experiments, in Markdown: a summary and all tables, every figure from the runs."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Hashable
from typing import Any

import pandas as pd

from paper import page_text, printed
from paper.claims import interval
from paper.markdown import DATASETS, number, table, with_spread
from paper.methods import BASELINES, NAMES

SUMMARY, APPENDIX = "reproduction.md", "reproduction_tables.md"
_KINDS = {"partial_ordinal": "partial ordinal", "ordinal": "ordinal", "classic": "classic"}


def pages_of(record: dict[str, Any]) -> dict[str, str]:
    """Return the pages that show a record, by name."""
    tables = {
        name: pd.DataFrame(found["rows"], columns=found["columns"])
        for name, found in record["tables"].items()
    }
    equal = tables["headline"]["unit"] == "permutations"
    verdicts = [f"- {claim['claim']} *{claim['verdict'].capitalize()}.*" for claim in record["claims"]]
    claims = [f"- **{claim['claim']}** {claim['evidence']}" for claim in record["claims"]]
    summary = [
        page_text.opening(record),
        "## Which value finds wrong labels",
        page_text.advice(tables["differences"]),
        page_text.baselines(tables["methods"]),
        _picture("values", page_text.VALUES_CAPTION),
        values_table(tables["headline"][equal], tables["differences"]),
        page_text.paired(),
        "### Why",
        page_text.WHY,
        influence_table(tables["influence"]),
        page_text.influence(tables["influence"]),
        "## Which claims of the paper hold here",
        "\n".join(verdicts),
        "## How long the runs take",
        page_text.time(tables["table2"], record),
        "## Where these figures differ from the paper's, and why",
        page_text.differences(record, tables["methods"]),
    ]
    appendix = [
        "# The paper's experiments: all tables",
        page_text.APPENDIX,
        "## The three values, for equal model fits",
        values_table(tables["headline"][~equal], tables["differences"]),
        baselines_section(tables["headline"], tables.get("baselines")),
        "## The sizes that count",
        "<!-- sizes -->",  # of benchmarks/sizes.py
        "<!-- end of sizes -->",
        "## Removing high-value rows",
        page_text.REMOVAL,
        _picture("removal", page_text.REMOVAL_CAPTION),
        removal_table(tables["table1"]),
        page_text.removal_differences(tables["table1"]),
        "## Wrong labels, in the paper's setting",
        page_text.NOISY,
        _picture("noisy", page_text.NOISY_CAPTION),
        _picture("detection", page_text.DETECTION_CAPTION),
        methods_table(tables["methods"]),
        page_text.below_chance(tables["methods"]),
        "## Time",
        time_table(tables["table2"]),
        reduction_table(tables["reductions"]),
        "## The claims of the paper, with figures",
        "\n".join(claims),
        "## How it was run",
        page_text.setup(record),
        page_text.cautions(tables["warnings"], tables["methods"]),
    ]
    return {
        name: "\n\n".join(_reflow(part.strip()) for part in parts if part.strip()) + "\n"
        for name, parts in ((SUMMARY, summary), (APPENDIX, appendix))
    }


def _reflow(text: str) -> str:
    """Fill the lines of paragraphs and lists, and leave all else."""
    blocks = text.split("\n\n")
    return "\n\n".join(
        block
        if block.startswith(("#", "|", "!", "```"))
        else "\n".join(map(_fill, re.split(r"\n(?=- )", block)))
        for block in blocks
    )


def _fill(paragraph: str) -> str:
    indent = "  " if paragraph.startswith("- ") else ""
    # Code is kept together.
    words = re.sub(r"`[^`]*`", lambda code: code[0].replace(" ", "\0"), " ".join(paragraph.split()))
    filled = textwrap.fill(
        words, 110, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return filled.replace("\0", " ")


def _picture(name: str, caption: str) -> str:
    return f"![{caption.split(':')[0]}](images/reproduction-{name}.png)\n\n*{caption}*"


def values_table(headline: pd.DataFrame, differences: pd.DataFrame) -> str:
    """Return ROC AUC of the three values within each budget, and what the ordinal one is ahead by."""
    lines = []
    keys = ["dataset", "unit", "budget", "walks"]
    gaps = {tuple(row[key] for key in (*keys, "less")): row for row in differences.to_dict("records")}
    for key, group in headline.groupby(keys, sort=False):
        dataset, unit, budget, walks = key
        areas = {row["value"]: row for row in group.to_dict("records")}
        spent = [row["fits" if unit == "permutations" else "permutations"] for row in areas.values()]
        span = number(min(spent), 0)
        span += "" if number(max(spent), 0) == span else f" to {number(max(spent), 0)}"
        what = (f"{budget:,} permutations", f"{span} fits")
        if unit == "fits":
            what = (f"{budget:,} fits, {walks}", f"{span} permutations")
        shown = [with_spread(areas[kind], "roc_auc") for kind in _KINDS]
        less = [_gap(gaps[(*key, other)]) for other in ("partial_ordinal", "classic")]
        lines.append([DATASETS[str(dataset)], *what, *shown, *less])
    header = ["data", "budget", "that is", *_KINDS.values(), "ordinal minus partial ordinal"]
    return table([*header, "ordinal minus classic"], lines, text_columns=3)


def baselines_section(headline: pd.DataFrame, baselines: pd.DataFrame | None) -> str:
    """Return a section with ROC AUC of baselines beside the ordinal value of the most full permutations."""
    if baselines is None:  # a record from before they were measured
        return ""
    full = headline[(headline["unit"] == "permutations") & (headline["value"] == "ordinal")]
    lines = []
    for dataset, group in baselines.groupby("dataset", sort=False):
        areas = {row["method"]: with_spread(row, "roc_auc") for row in group.to_dict("records")}
        mine = full[full["dataset"] == dataset].sort_values("budget").to_dict("records")[-1]
        shown = [areas[method] for method in BASELINES]
        lines.append([DATASETS[str(dataset)], *shown, with_spread(mine, "roc_auc")])
    header = [
        "data",
        *(NAMES[method] for method in BASELINES),
        f"ordinal, {full['budget'].max():,} permutations",
    ]
    heading = "## Scores that need no permutations"
    return f"{heading}\n\n{page_text.SCALED_BASELINES.strip()}\n\n{table(header, lines)}"


def _gap(row: dict[Hashable, Any]) -> str:
    """Return a mean difference and its interval."""
    low, high = interval(row)
    mean = number(row["mean"], 2, "+")
    return mean if pd.isna(low) else f"{mean} ({number(low, 2, '+')} to {number(high, 2, '+')})"


def influence_table(influences: pd.DataFrame) -> str:
    """Return what a row contributes by where it joins, in points of accuracy."""
    lines = []
    for (dataset, place), group in influences.groupby(["dataset", "place"], sort=False):
        mean = group[["total", "shift", "own", "correlation"]].mean()
        sizes = [number(100 * float(mean[name]), 2) for name in ("total", "shift", "own")]
        lines.append([DATASETS[str(dataset)], str(place), *sizes, number(float(mean["correlation"]))])
    header = [
        "data",
        "joins",
        "change, points",
        "of a ghost",
        "row minus ghost",
        "correlation, row and ghost",
    ]
    return table(header, lines, text_columns=2)


def _what(row: dict[Hashable, Any]) -> list[str]:
    """Return the first columns: data set, labels and method."""
    return [DATASETS[row["dataset"]], row["labels"], NAMES[row["method"]]]


def _printed(table: printed.Table, row: dict[Hashable, Any], value: float | None, digits: int) -> str:
    """Return the paper's figure; in brackets, for the set that its code loads as Cancer, that of Cancer."""
    if row["dataset"] != "cancer-wisconsin":
        return number(value, digits)
    return f"({number(table['cancer'][row['method']][printed.LABELS.index(row['labels'])], digits)})"


def removal_table(table_1: pd.DataFrame) -> str:
    """Return Table 1 beside the paper's figures."""
    lines = []
    for row in table_1.to_dict("records"):
        ours, theirs = with_spread(row, "ours"), with_spread(row, "authors")
        lines.append([*_what(row), _printed(printed.TABLE_1, row, row["paper"], 2), ours, theirs])
    header = ["data", "labels", "method", "paper", "here", "here, as the authors' code"]
    return table(header, lines, text_columns=3)


def methods_table(methods: pd.DataFrame) -> str:
    """Return what every method takes and is good for."""
    lines = []
    for row in methods.to_dict("records"):
        taken = [number(row[name], 0) if row[name] else "-" for name in ("permutations", "fits")]
        figures = ("auc_high_first", "auc_low_first", "roc_auc", "precision")
        good = [with_spread(row, name) for name in figures]
        lines.append([*_what(row), *taken, number(row["seconds"], 2), *good])
    header = ["data", "labels", "method", "permutations", "fits", "seconds", "high first", "low first"]
    return table([*header, "ROC AUC", "precision"], lines, text_columns=3)


def time_table(table_2: pd.DataFrame) -> str:
    """Return Table 2 beside the paper's figures."""
    lines = []
    for row in table_2.to_dict("records"):
        counts = [number(row[name], 0) for name in ("permutations", "fits")]
        taken = [number(row["seconds"], 2), number(row["loop_seconds"], 0), f"{number(row['ratio'], 0)} x"]
        theirs = _printed(printed.TABLE_2, row, row["paper_seconds"], 0)
        lines.append([*_what(row), theirs, *counts, *taken])
    header = ["data", "labels", "method", "paper, s", "permutations", "fits", "here, s"]
    return table([*header, "scikit-learn loop, s", "ratio"], lines, text_columns=3)


def reduction_table(less: pd.DataFrame) -> str:
    """Return how much less CTMC takes than TMC."""
    lines = []
    for row in less.to_dict("records"):
        shown = [number(row[name], 1) for name in ("paper_seconds", "fits", "seconds", "loop_seconds")]
        lines.append([DATASETS[row["dataset"]], row["labels"], *shown])
    header = ["data", "labels", "paper, time", "fits", "time here", "time of a scikit-learn loop"]
    text = "CTMC takes less than TMC by so many percent (negative: more):"
    return f"{text}\n\n{table(header, lines, text_columns=2)}"
