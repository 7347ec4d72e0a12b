"""Coverage of the intervals of `JourneyGame.credit(bootstrap=)`, where the true credit is known.

Usage: python benchmarks/journey_errors.py [--render]

Writes a table and settings into docs/journeys.md. Nothing is timed, so a busy machine changes nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import ordinal_shapley as osv
from bench.record import Record, Script, replaced, surroundings, where
from page.tables import table, wrap

Floats = npt.NDArray[np.float64]

N_RESAMPLES = 400
QUANTILE = 1.959964
DENSE = ("partial_ordinal", "ordinal", "classic")
# What is shown where few orders are seen depends on their utility, too.
SPARSE = (*DENSE, "partial_ordinal, unseen zero")


class Setting(NamedTuple):
    """Data sets, made by `make_journeys` with these arguments and the seeds from 0 on."""

    text: str
    made: dict[str, Any]
    n_sets: int
    values: tuple[str, ...] = DENSE


SETTINGS = (
    Setting("10,000 journeys of 4 channels", {}, 200),
    Setting("1,000 journeys of 4 channels", {"n_journeys": 1_000}, 200),
    Setting("100 journeys of 4 channels", {"n_journeys": 100}, 200),
    Setting("100,000 journeys of 15 channels", {"n_journeys": 100_000, "n_channels": 15}, 30),
    Setting("3,000 journeys of 15 channels", {"n_journeys": 3_000, "n_channels": 15}, 80, SPARSE),
    Setting(
        "20,000 journeys of 8 channels, up to 6 touches",
        {"n_journeys": 20_000, "n_channels": 8, "max_length": 6},
        20,
        SPARSE,
    ),
    Setting("20,000 journeys of 300 channels", {"n_journeys": 20_000, "n_channels": 300}, 8, SPARSE),
)


def intervals(credit: Any, prefix: str = "") -> dict[str, tuple[Floats, Floats]]:
    """Lower and upper ends of 95 % intervals, each kind that can be made of the resamples."""
    at = credit["share" if prefix else "credit"].to_numpy()
    low, high = (credit[f"{prefix}ci_{end}"].to_numpy() for end in ("low", "high"))
    half = QUANTILE * credit[f"{prefix}stderr"].to_numpy()
    return {
        "percentile": (low, high),
        "basic": (2 * at - high, 2 * at - low),
        "normal": (at - half, at + half),
    }


def measured(setting: Setting, words: str) -> Record:
    """Draw data sets, and compare with their truth."""
    value, _, unseen = words.partition(", unseen ")
    held: dict[str, list[Any]] = {}
    found, errors = [], []
    for seed in range(setting.n_sets):
        data = osv.datasets.make_journeys(**setting.made, random_state=seed)
        game = data.game(unseen=unseen or "backoff")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            credit = game.credit(value, bootstrap=N_RESAMPLES, random_state=seed)
        truth = data.true_credit(value).to_numpy()
        found.append(credit["credit"].to_numpy() - truth)
        errors.append(credit["stderr"].to_numpy())
        for prefix, true in (("", truth), ("share_", truth / truth.sum())):
            for kind, (low, high) in intervals(credit, prefix).items():
                known = ~np.isnan(low)
                held.setdefault(f"{prefix}{kind}", []).append(
                    np.where(known, (low <= true) & (true <= high), np.nan)
                )
    off, error = np.array(found), np.array(errors)
    typical = np.sqrt(np.nanmean(error**2, axis=0))
    return {
        **{name: np.nanmean(rows) for name, rows in held.items()},
        "stderr over spread": np.median(typical / off.std(axis=0, ddof=1)),
        # The mean over data sets has an error of its own, which is taken out.
        "bias over stderr": np.sqrt(max(0.0, np.mean((off.mean(axis=0) / typical) ** 2) - 1 / len(off))),
        "no interval": np.isnan(error).mean(),
    }


def measure() -> Record:
    record: Record = {**surroundings("ordinal-shapley", "numba", "numpy"), "settings": {}}
    for setting in SETTINGS:
        data = osv.datasets.make_journeys(**setting.made, random_state=0)
        found = {words: measured(setting, words) for words in setting.values}
        record["settings"][setting.text] = {
            "sets": setting.n_sets,
            "channels": len(data.channels),
            "paths": len(data.frame),
            "conversions": int(data.frame["conversions"].sum()),
            "values": found,
        }
        print(setting.text, record["settings"][setting.text], flush=True)
    return record


def rows(record: Record) -> Iterator[tuple[str, ...]]:
    for text, setting in record["settings"].items():
        for k, (words, found) in enumerate(setting["values"].items()):
            coverage = [
                f"{100 * found[name]:.1f}" for name in ("percentile", "share_percentile", "basic", "normal")
            ]
            yield (
                "" if k else text,
                words.replace("_", " "),
                *coverage,
                f"{found['stderr over spread']:.2f}",
                f"{found['bias over stderr']:.2f}",
                f"{100 * found['no interval']:.0f}",
            )


def pages(record: Record, docs: Path) -> dict[str, str]:
    """Return the page with its generated part."""
    columns = (
        "journeys",
        "value",
        "95 % CI of credit",
        "of share",
        "basic",
        "normal",
        "std. error / spread",
        "bias / std. error",
        "no interval",
    )
    sizes = "; ".join(
        f"{text}: {setting['sets']} data sets, the first with {setting['paths']:,} paths and "
        f"{setting['conversions']:,} conversions"
        for text, setting in record["settings"].items()
    )
    notes = [
        f"Coverage in percent of channels and data sets, {N_RESAMPLES} resamples each. Basic and normal "
        "intervals of credit are made of the same resamples, for comparison. The spread is the standard "
        "deviation of credit over data sets, the bias what its mean is off the truth, as root mean square "
        "over channels. No interval: percent of channels that get nothing in any resample.",
        f"Data: `make_journeys`, its defaults otherwise, seeds from 0. {sizes}.",
        f"`make bench-journeys` wrote this: {where(record)}.",
    ]
    body = table(columns, rows(record), words=2) + "\n\n" + wrap("- " + "\n- ".join(notes))
    page = "journeys.md"
    text = (docs / page).read_text(encoding="utf-8")
    return {page: replaced(text, "journey errors", body)}


SCRIPT = Script("journey_errors", measure, pages)

if __name__ == "__main__":
    SCRIPT.main()
