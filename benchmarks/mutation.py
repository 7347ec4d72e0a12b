"""Mutants of the modules that compute values, and whether a test notices: a section of docs/reliability.md.

Usage: PYTHONPATH=benchmarks python benchmarks/mutation.py [--render | share of the sample, 1 by default]

Mutants are tried with the compiler off, in copies of the repository under build/mutation; what became of one
is kept there, so a run that was stopped goes on. A survivor is tried again when the tests have changed, any
when its module has. Where MUTATION_PAUSE names a file, no mutant is begun while there is one.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from bench.record import Record, Script, replaced, where
from page.tables import table, wrap

TEXT = """\
Small changes are made in the source, one at a time: another operator, a number one more or less, a condition
turned round, a loop that never runs. A test should fail of each. `make mutation` draws them at random (seed
{seed}) from the {places:,} places where operators of cosmic-ray apply to what is computed, and not to
annotations, decorators or messages; every module has its share. They are tried with the compiler off, so that
kernels are tried as all else: {where}.

A mutant is killed if a test that reaches the changed line fails, or never ends ({timeouts} of them). It is
tried with the quickest such tests, of {more:.0f} s together at most, so a survivor may still be noticed by a
slower one. Survivors have been read: *equal* ones compute the same values, or differ only in work or in the
last bits, each for a reason given in `benchmarks/mutate/equal.json`. The score is the share killed of those
that are not equal, with the interval (Wilson, 95 %) that a sample of this size leaves it."""


def measure(share: str = "1") -> Record:
    """Try the first share of the sample; only this needs cosmic-ray."""
    from mutate import measuring

    return measuring.measure(share)


def wilson(killed: int, tried: int) -> tuple[float, float]:
    """Return the 95 % interval of a share."""
    z = 1.959964
    share = killed / tried
    middle = (share + z * z / (2 * tried)) / (1 + z * z / tried)
    half = z / (1 + z * z / tried) * math.sqrt(share * (1 - share) / tried + (z / (2 * tried)) ** 2)
    return max(0.0, middle - half), min(1.0, middle + half)


def score(counts: dict[str, int]) -> tuple[Any, ...]:
    killed = counts["killed"] + counts["out_of_time"]
    judged = counts["tried"] - counts["equal"]
    low, high = wilson(killed, judged)
    interval = f"{100 * low:.1f} to {100 * high:.1f} %"
    return killed, counts["equal"], judged - killed, f"{100 * killed / judged:.1f} %", interval


def pages(found: Record, docs: Path) -> dict[str, str]:
    """Return the page with its section."""
    groups: dict[str, dict[str, int]] = found["groups"]
    names = next(iter(groups.values()))
    total = {name: sum(counts[name] for counts in groups.values()) for name in names}
    text = wrap(
        TEXT.format(
            seed=found["seed"],
            places=total["places"],
            where=where(found),
            timeouts=total["out_of_time"],
            more=found["budget_seconds"],
        )
    )
    rows = [
        (group, f"{counts['places']:,}", counts["tried"], *score(counts)) for group, counts in groups.items()
    ]
    columns = ("modules", "places", "tried", "killed", "equal", "left", "score", "interval")
    body = "\n\n".join(["## Mutants", text, table(columns, rows)])
    page = (docs / "reliability.md").read_text(encoding="utf-8")
    return {"reliability.md": replaced(page, "mutation", body)}


SCRIPT = Script("mutation", measure, pages)

if __name__ == "__main__":
    SCRIPT.main()
