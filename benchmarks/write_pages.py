"""Write all pages that show measurements again, from the records in `benchmarks/results`: ``make pages``."""

from __future__ import annotations

import discoveries
import how_long
import interval_coverage
import journey_errors
import label_errors
import ordinal_error
import pieces
import reliability
import sizes
import softmax_pieces
import unbiased
import variance
import workers
import write_tables
from bench.record import RESULTS, Script
from paper import run as paper

MODULES = (
    write_tables,
    workers,
    how_long,
    variance,
    unbiased,
    interval_coverage,
    discoveries,
    ordinal_error,
    journey_errors,
    label_errors,
    pieces,
    softmax_pieces,
    reliability,
    paper,
    sizes,
)
SCRIPTS: tuple[Script, ...] = tuple(module.SCRIPT for module in MODULES)

if __name__ == "__main__":
    for script in SCRIPTS:
        if (RESULTS / f"{script.name}.json").exists():
            script.write()
        else:
            print(f"{script.name}: not measured yet; its page stays as it is")
