"""Write docs/benchmarks.md, its picture and the table of speeds in README.md from a pytest-benchmark run.

Usage: python benchmarks/write_tables.py build/benchmarks.json
       python benchmarks/write_tables.py --render
       python benchmarks/write_tables.py build/smoke.json build/smoke.md

The first keeps what it shows in `benchmarks/results/bench.json`, from which the second writes the same again.
The third writes the page of any run, and keeps nothing.
"""

from __future__ import annotations

import sys
from pathlib import Path

from bench import results
from bench.record import Record, Script, replaced, where
from page import embeddings, exact, large, models, pictures, refit, roofline, scaling, speed, tmc
from page.tables import wrap

HEAD = """\
`make bench` writes this page. Machine: {where}. One core is used unless another number is given. A ratio is
the time of the baseline divided by ours, both measured in the same run; a target is what the project aims
at, met or not. `make bench-check` compares the ratios of a run with those committed."""
PARTIAL = (
    "**Not a full run:** one round each of small problems, without other libraries; no figure means much."
)


def page(run: Record) -> str:
    """Return the page."""
    head = ["# Benchmarks", wrap(HEAD.format(where=where(run))), *([] if run["full"] else [PARTIAL])]
    sections = (refit, models, embeddings, tmc, large, scaling, exact, roofline)
    return "\n\n".join(head) + "\n\n" + "".join(part.write(run) for part in sections).rstrip() + "\n"


def measure(source: str) -> Record:
    """Return the record of a full run."""
    run = results.read(source)
    if not run["full"]:
        raise SystemExit(f"{source} is not a full run: make bench makes one")
    return run


def pages(run: Record, docs: Path) -> dict[str, str]:
    readme = "../README.md"
    text = (docs / readme).read_text(encoding="utf-8")
    return {"benchmarks.md": page(run), readme: replaced(text, "speed", speed.write(run))}


def draw(run: Record, docs: Path) -> None:
    pictures.draw(run, docs / "images")


SCRIPT = Script("bench", measure, pages, draw)

if __name__ == "__main__":
    if len(sys.argv) == 3:
        found, destination = results.read(sys.argv[1]), Path(sys.argv[2])
        pictures.draw(found, destination.parent / "images")
        destination.write_text(page(found), encoding="utf-8")
    else:
        SCRIPT.main()
