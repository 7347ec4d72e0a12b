"""Many rows, several workers, and the first fit of a process."""

from __future__ import annotations

from typing import Any

from bench.results import entries, ratio, seconds_each
from page.tables import number, section, table

LARGE = """\
All training rows of Adult, `method="ctmc"` with `PatienceTruncation()`: wall time and peak memory of the
process (reading the data included in the memory, not in the time) until every row has been evaluated
{contributions} times with probability 99 %. How many permutations that takes follows from the mean number
of rows a permutation evaluates, measured beforehand."""
PATIENCE = """\
Under the patience rule a permutation ends at about the same length whatever the number of rows, and so
should cost the same. CPU time of one more permutation (of 120, less those of a run of 20), and of the
first 20,
which include the score of all rows."""
WORKERS = """\
The same permutations of WDBC ({permutations}, every prefix) with one worker and with two; wall time,
medians of {rounds} rounds in turns. The values are equal to the last bit."""
START = """\
*First fit*: `PartialOrdinalShapley(random_state=0).fit` on Wine ({permutations:,} permutations) in a new
process, beyond importing ({imports:.1f} s, most of it scikit-learn): with no kernel compiled before, and with
all of them in the cache. *New process*: importing, a `LogisticGame` of 89 x 13 rows and `sample_values` of 20
permutations, everything in the cache; neither scikit-learn nor pandas is loaded. *Further kind*: making a
game of another kind and sampling its values where all kernels of a logistic game are compiled, and none
that the kind adds; the slowest of {kinds}. Medians."""


def _large(run: dict[str, Any]) -> str:
    rows = []
    contributions: object = 20
    for entry in entries(run, "large"):
        info = entry["extra_info"]
        contributions = info["contributions"]
        size = f"{info['rows']:,} / {info['columns']} / {info['validation_rows']:,}"
        walk = number(info["mean_evaluated"])
        rows.append(
            (
                size,
                info["workers"],
                f"{info['n_permutations']:,}",
                walk,
                number(info["seconds"]),
                180,
                number(info["peak_gib"]),
                1.5,
            )
        )
    columns = (
        "rows / columns / validation rows",
        "workers",
        "permutations",
        "rows in one",
        "seconds",
        "target",
        "peak GiB",
        "target",
    )
    text = LARGE.format(contributions=contributions)
    return section("Many rows", text, table(columns, rows) if rows else None)


def _patience(run: dict[str, Any]) -> str:
    rows = []
    for entry in entries(run, "patience"):
        info = entry["extra_info"]
        rows.append(
            (
                f"{info['rows']:,}",
                number(info["mean_evaluated"]),
                number(1e3 * patience_seconds(entry)),
                number(info["seconds_for_few"]),
            )
        )
    columns = ("rows", "evaluated in one permutation", "ms a permutation", "s for the first 20")
    return section("Cost under the patience rule", PATIENCE, table(columns, rows, words=0) if rows else None)


def patience_seconds(entry: dict[str, Any]) -> float:
    """Return what one more permutation costs."""
    info = entry["extra_info"]
    return float((entry["stats"]["median"] - info["seconds_for_few"]) / info["units"])


def _workers(run: dict[str, Any]) -> str:
    found = entries(run, "workers")
    rows = [
        (
            entry["extra_info"]["work"],
            number(1.0 / entry["extra_info"]["baselines"]["one worker"]),
            number(1.0 / seconds_each(entry)),
            number(ratio(entry, "one worker")),
            entry["extra_info"]["targets"]["one worker"],
        )
        for entry in found
    ]
    columns = ("work", "one: permutations/s", "two: permutations/s", "ratio", "target")
    text = WORKERS.format(
        permutations=found[0]["extra_info"]["n_permutations"] if found else "several",
        rounds=found[0]["stats"]["rounds"] if found else "several",
    )
    return section("Two workers against one", text, table(columns, rows) if rows else None)


def _start(run: dict[str, Any]) -> str:
    found = {entry["extra_info"]["work"]: entry["extra_info"] for entry in entries(run, "start")}
    if len(found) < 2:
        return section("The first fit of a process", "", None)
    fit, game = found["Wine"], found["game"]
    text = START.format(
        permutations=fit["n_permutations"], imports=fit["import_seconds"], kinds=", ".join(game["kinds"])
    )
    rows = [
        ("first fit, nothing compiled", number(fit["cold_seconds"]), 12),
        ("first fit, all in the cache", number(fit["warm_seconds"]), 0.5),
        ("new process, all in the cache", number(game["seconds"]), 1.2),
        ("further kind, nothing of its own compiled", number(max(game["kinds"].values())), 4),
    ]
    return section("The first fit of a process", text, table(("what", "seconds", "target"), rows))


def write(run: dict[str, Any]) -> str:
    """Return the sections."""
    return "".join(part(run) for part in (_workers, _large, _patience, _start))
