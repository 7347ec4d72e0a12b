"""Hundreds of columns and ten classes: single evaluations, walks, and whole runs."""

from __future__ import annotations

from typing import Any

from bench.results import entries, ratio, seconds_each
from page.tables import MISSING, number, section, table

EVALUATIONS = """\
`game(sequence)` of random sequences of a `LogisticGame` of {rows:,} synthetic rows and {valid} validation
rows, Gaussian position weights, against `LogisticRegression(solver="liblinear")` with its defaults,
fitted with the same weights to the same rows, its predictions and their accuracy; of ten classes one
binary fit a class and the largest decision. CPU time, one thread, in turns, medians of up to {rounds}
rounds. Ours holds a hundredth of what it takes to make the game. The classes are normal and overlap;
*decaying* are such whose variances fall off as those of real embeddings do (the k-th direction has
k^-0.7 of the first one's spread). A cell is the ratio, with our milliseconds a fit and scikit-learn's.
Aimed at: 12 where there are at least twice as many columns as rows in the sequence, 4 elsewhere; cells
that miss it are marked with an asterisk."""
WALKS = """\
Every prefix of random orders, from the first that has all classes: for synthetic embeddings 20
orders of 20 to 100 rows, for scikit-learn's digits orders of all rows. Ours is
`game.prefix_utilities(order)`, with the making of the game; the baseline is the loop over the prefixes
with scikit-learn, as above, timed on some prefixes evenly spaced and scaled to all."""
RUNS = """\
Whole runs, each in a process of its own, with kernels compiled before. *OrdinalShapley().fit* has its
defaults but for `n_jobs=2` and `cv=None`, which holds out three tenths of the synthetic embeddings;
*ClassicShapley, sizes up to 50* is the same with `size_weights=sizes_up_to(50)`: sets of more rows are not
fitted. *ordinal-shapley value* reads the rows from a CSV file, with `--value ordinal --valid-fraction 0.3`.
Reliability is 1 - mean(stderr²) / var(values). For Adult `OrdinalShapley(n_jobs=2)` stops when the mean
of stderr² is that of {full} full permutations, which is found beforehand and untimed."""
MEMORY = """\
Partial ordinal values of synthetic rows, `method="ctmc"` with `PatienceTruncation()`: wall time from
making the game to the values, and the peak of the process above what it had with the rows (and compiled
kernels) in memory. Runs with eight threads stop after {most} s, with the permutations that there are; the
score aimed at is there that of the rows as given, else the mean over 20 orders."""

BIASED = ("paper", "patience")


def _cell(entry: dict[str, Any] | None) -> str:
    if entry is None:
        return MISSING
    info = entry["extra_info"]
    found = ratio(entry, "scikit-learn")
    mark = r"\*" if found is not None and found < info["targets"]["scikit-learn"] else ""
    ours, theirs = (number(1e3 * each) for each in (seconds_each(entry), info["baselines"]["scikit-learn"]))
    return f"{number(found)}{mark} ({ours} / {theirs})"


def _evaluations(run: dict[str, Any]) -> str:
    found = entries(run, "evaluations")
    if not found:
        return section("One evaluation of embeddings", "", None)
    cells = {
        tuple(entry["extra_info"][key] for key in ("decay", "classes", "length", "columns")): entry
        for entry in found
    }
    columns = sorted({key[-1] for key in cells})
    lines = sorted({key[:-1] for key in cells})
    rows = [
        (
            f"{classes}{', decaying' if decay else ''}",
            f"{length:,}",
            *(_cell(cells.get((decay, classes, length, d))) for d in columns),
        )
        for decay, classes, length in lines
    ]
    info = found[0]["extra_info"]
    rounds = max(entry["stats"]["rounds"] for entry in found)
    text = EVALUATIONS.format(rows=info["rows"], valid=info["validation_rows"], rounds=rounds)
    heads = ("classes", "rows in the sequence", *(f"{d:,} columns" for d in columns))
    return section("One evaluation of embeddings", text, table(heads, rows))


def _walks(run: dict[str, Any]) -> str:
    rows = []
    for entry in entries(run, "walks"):
        info = entry["extra_info"]
        rows.append(
            (
                info["work"],
                f"{info['rows']:,} / {info['columns']} / {info['classes']} / {info['validation_rows']}",
                f"{info['least']:,} to {info['most']:,}" if info["least"] < info["most"] else info["most"],
                number(1e6 * info["baselines"]["scikit-learn"]),
                number(1e6 * seconds_each(entry)),
                number(ratio(entry, "scikit-learn")),
                info["targets"]["scikit-learn"],
            )
        )
    heads = (
        "work",
        "rows / columns / classes / validation rows",
        "rows in an order",
        "scikit-learn µs/fit",
        "ours µs/fit",
        "ratio",
        "target",
    )
    return section(
        "Permutations of embeddings and digits", WALKS, table(heads, rows, words=2) if rows else None
    )


def _seconds(info: dict[str, Any]) -> str:
    if info["seconds"] is None:
        return f"not ended after {info['timeout']}"
    met = info.get("converged", True) or info["table"] != "ordinal"
    return number(info["seconds"]) if met else f"not there after {number(info['seconds'])}"


def _runs(run: dict[str, Any]) -> str:
    found = [*entries(run, "fits"), *entries(run, "ordinal")]
    rows = []
    for entry in found:
        info = entry["extra_info"]
        permutations = info.get("n_permutations")
        rows.append(
            (
                info["work"],
                f"{info['rows']:,} / {info['columns']} / {info['classes']}",
                _seconds(info),
                info["target"],
                f"{info['rule']}{', biased' if info['rule'] in BIASED else ''}"
                if "rule" in info
                else MISSING,
                number(info.get("reliability")),
                MISSING if permutations is None else f"{permutations:,}",
                number(info.get("n_evaluations")),
            )
        )
    full = next((entry["extra_info"]["full_permutations"] for entry in entries(run, "ordinal")), "some")
    heads = (
        "work",
        "rows / columns / classes",
        "seconds",
        "target",
        "truncation",
        "reliability",
        "permutations",
        "evaluations",
    )
    return section("Whole runs", RUNS.format(full=full), table(heads, rows, words=2) if rows else None)


def _memory(run: dict[str, Any]) -> str:
    found = entries(run, "memory")
    rows = []
    for entry in found:
        info = entry["extra_info"]
        rows.append(
            (
                info["work"],
                f"{info['rows']:,} / {info['columns']} / {info['classes']}",
                info["dtype"],
                number(info.get("data_mib")),
                number(info.get("above_mib")),
                info["target"],
                _seconds(info),
                f"{info.get('n_permutations', 0):,}",
            )
        )
    heads = (
        "work",
        "rows / columns / classes",
        "type",
        "rows, MiB",
        "peak above, MiB",
        "target",
        "seconds",
        "permutations",
    )
    most = max((entry["extra_info"]["most_seconds"] for entry in found[-1:]), default="some")
    seconds = {entry["extra_info"]["rows"]: entry["extra_info"]["seconds"] for entry in found}
    few, many = seconds.get(10_000), seconds.get(1_000_000)
    times = (
        f"\n\nA million rows take {many / few:.1f} times as long as 10,000; aimed at: 2."
        if few and many
        else ""
    )
    return section("Memory", MEMORY.format(most=most), table(heads, rows, words=3) + times if rows else None)


def write(run: dict[str, Any]) -> str:
    """Return the sections."""
    return "".join(part(run) for part in (_evaluations, _walks, _runs, _memory))
