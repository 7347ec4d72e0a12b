"""Write docs/benchmarks.md and its pictures from the JSON of a pytest-benchmark run.

Usage: python benchmarks/write_tables.py build/benchmarks.json docs/benchmarks.md
"""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path
from typing import Any

from bench import results
from page import exact, large, refit, roofline, scaling, tmc
from page.tables import wrap

PACKAGES = ("numba", "numpy", "scikit-learn")
HEAD = """\
# Benchmarks

`make bench` writes this page. Machine: {cpu}, {cores} cores, of which one is used unless another number
is given; Python {python}, {versions}; {date}. A ratio is the time of the baseline divided by ours, both
measured in the same run; a target is what the project aims at, met or not. `make bench-check` compares
the ratios of a run with those in `benchmarks/reference.json`.
"""
PARTIAL = (
    "\n**Not a full run:** one round each of small problems, without other libraries; no figure means much.\n"
)


def head(run: dict[str, Any]) -> str:
    """Return the top of the page."""
    machine = run["machine_info"]
    text = HEAD.format(
        cpu=machine["cpu"].get("brand_raw", machine["processor"]),
        cores=machine["cpu"].get("count", "?"),
        python=machine["python_version"],
        versions=", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES),
        date=run["datetime"][:10],
    )
    title, body = text.split("\n\n", 1)
    return f"{title}\n\n{wrap(body)}\n{'' if results.is_full(run) else PARTIAL}"


def main(source: str, destination: str) -> None:
    """Write the page beside a folder `images`."""
    run, page = results.load(source), Path(destination)
    parts = [
        head(run),
        refit.write(run),
        tmc.write(run),
        large.write(run),
        scaling.write(run, page.parent / "images"),
        exact.write(run),
        roofline.write(run),
    ]
    page.write_text("\n".join(parts), encoding="utf-8")
    print(f"wrote {page}")


if __name__ == "__main__":
    main(*sys.argv[1:])
