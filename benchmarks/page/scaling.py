"""Cost against size: a picture and a table."""

from __future__ import annotations

from typing import Any

from bench.results import entries, ratio, seconds_each
from page import pictures
from page.tables import number, section, table

TITLE = "Cost against size"
TEXT = """\
Made-up normal classes, every prefix of full permutations, one thread, CPU time; liblinear alone (see
above) on eight of the prefixes. One size varies, the others stay: 200 rows (800 at most), 30 features (20
for the classes), 2 classes."""


def write(run: dict[str, Any]) -> str:
    """Return the section."""
    found = entries(run, "scaling")
    if not found:
        return section(TITLE, "", None)
    rows = []
    for entry in found:
        info = entry["extra_info"]
        ours = seconds_each(entry)
        rows.append(
            (
                info["axis"],
                f"{info['size']:,}",
                number(1e6 * ours),
                number(1.0 / ours),
                number(1e6 * info["baselines"]["liblinear"]),
                number(ratio(entry, "liblinear")),
            )
        )
    columns = ("what varies", "size", "ours µs/fit", "ours fits/s", "liblinear µs/fit", "ratio")
    picture = f"![{pictures.CAPTION}](images/{pictures.NAME})"
    return section(TITLE, TEXT, picture + "\n\n" + table(columns, rows))
