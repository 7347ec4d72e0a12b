"""Compare the ratios of a run with those committed, and fail if one dropped by more than 30 %.

Usage: python benchmarks/check_ratios.py build/benchmarks.json build/committed.json

The first is what pytest-benchmark wrote, the second a record, `benchmarks/results/bench.json` as it was.
Compared are ratios to a baseline timed in the same run, never seconds: those differ from machine to machine.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from bench import results

MIN_SHARE = 0.7


def compare(new: dict[str, float], reference: dict[str, float]) -> tuple[list[str], bool]:
    """Return a line for every ratio of the reference, and whether none dropped too far.

    A ratio that the run lacks (a library that could not be installed) is reported and forgiven.
    """
    lines, fine = [], True
    for name, before in reference.items():
        now = new.get(name)
        if now is None:
            lines.append(f"missing  {name}: was {before:,.1f}")
            continue
        dropped = now < MIN_SHARE * before
        fine = fine and not dropped
        lines.append(f"{'DROPPED' if dropped else 'ok':8s} {name}: {before:,.1f} -> {now:,.1f}")
    lines += [f"new      {name}: {now:,.1f}" for name, now in new.items() if name not in reference]
    return lines, fine


def main(source: str, reference: str) -> int:
    """Compare; returns the exit status."""
    run = results.read(source)
    if not run["full"]:
        print(f"{source} is not a full run: make bench makes one", file=sys.stderr)
        return 2
    before = json.loads(Path(reference).read_text(encoding="utf-8"))
    lines, fine = compare(run["ratios"], before["ratios"])
    print("\n".join(lines))
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
