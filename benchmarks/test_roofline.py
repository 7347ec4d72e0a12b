"""The share of the processor's peak that the trainer's kernels reach; see roofline.py."""

from __future__ import annotations

import roofline
from bench.timing import FULL, report


def test_share_of_peak(benchmark):
    found = []

    def run():
        found.append(roofline.measure(roofline.FEATURES if FULL else (16,)))

    benchmark.pedantic(run, rounds=1)
    machine, shares = found[0]
    report(
        benchmark,
        "roofline",
        "kernels",
        rows=roofline.ROWS,
        machine=machine._asdict(),
        shares=[share._asdict() for share in shares],
    )
