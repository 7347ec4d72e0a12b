"""Records of what was measured: JSON files in `benchmarks/results`, from which pages are written.

A script that has a record gives `Script` its halves: one measures and returns the record, another returns the
text of the pages that show it, so that pages can be written again, and checked, without measuring.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import cpuinfo
import numpy as np

Record = dict[str, Any]

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
DOCS = ROOT / "docs"


def surroundings(*packages: str) -> Record:
    """Date, machine and versions; call it before the work, for the load of the machine is that of others."""
    return {
        "date": datetime.date.today().isoformat(),
        "cpu": cpuinfo.get_cpu_info().get("brand_raw", platform.machine()),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "load_before": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "versions": {name: importlib.metadata.version(name) for name in packages},
    }


def where(found: Record) -> str:
    """Date, machine and versions of a record in words."""
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    before = "" if found["load_before"] is None else f", load average before {found['load_before']:.1f}"
    return (
        f"{found['cpu']}, {found['cores']} cores, {found['system']}{before}; Python {found['python']}, "
        f"{versions}; {found['date']}"
    )


def load(name: str) -> Record:
    record: Record = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return record


def save(name: str, record: Record, *, exact: bool = False) -> None:
    """Write a record, numbers to six digits or, if they are Python's, as they are."""
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(record if exact else plain(record), indent=1, allow_nan=False)
    (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def plain(value: Any) -> Any:
    """Return numbers of Python to six digits, None for those that are none, and lists."""
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(inner) for inner in value]
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.6g}") if np.isfinite(value) else None
    return int(value) if isinstance(value, np.integer) else value


def replaced(text: str, mark: str, body: str) -> str:
    """Return a page with another text between `<!-- mark -->` and `<!-- end of mark -->`."""
    begin, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
    if text.count(begin) != 1 or text.count(end) != 1:
        raise ValueError(f"the page needs {begin} and {end}, once each")
    before, rest = text.split(begin)
    return f"{before}{begin}\n\n{body.strip()}\n\n{end}{rest.split(end)[1]}"


def between(text: str, mark: str) -> str:
    """Return the part of a page that `replaced` replaces."""
    return text.split(f"<!-- {mark} -->")[1].split(f"<!-- end of {mark} -->")[0].strip()


class Script(NamedTuple):
    """A record and what is made of it.

    name : str
        Of the record.
    measure : callable
        Returns the record; given the arguments of the command line.
    pages : callable
        Of a record and the folder of documents: texts of the pages that show it, by name in that folder.
    draw : callable, optional
        Of the same: writes the pictures of these pages.
    """

    name: str
    measure: Callable[..., Record]
    pages: Callable[[Record, Path], dict[str, str]]
    draw: Callable[[Record, Path], None] | None = None

    def write(self, docs: Path = DOCS) -> None:
        """Write the pages from the record that is there."""
        record = load(self.name)
        if self.draw is not None:
            self.draw(record, docs)
        for page, text in self.pages(record, docs).items():
            (docs / page).write_text(text, encoding="utf-8")
            print(f"wrote {docs / page}", file=sys.stderr)

    def main(self) -> None:
        """Measure and write, or only write again with --render."""
        if sys.argv[1:] != ["--render"]:
            save(self.name, self.measure(*sys.argv[1:]))
        self.write()
