"""What a reproduction writes: tables, pictures, manifest and page."""

from __future__ import annotations

import datetime
import json
import math
import os
import platform
from dataclasses import asdict
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ordinal_shapley.common.files import replacing
from ordinal_shapley.reproduction import tables
from ordinal_shapley.reproduction.claims import Claim, check_claims
from ordinal_shapley.reproduction.methods import TOLERANCE, WINDOW
from ordinal_shapley.reproduction.page import (
    differences_table,
    influence_table,
    methods_table,
    reduction_table,
    removal_table,
    time_table,
    values_table,
    write_page,
)
from ordinal_shapley.reproduction.results import Results, Settings
from ordinal_shapley.reproduction.splits import seeds_of, sizes_in_words

if TYPE_CHECKING:
    import pandas as pd

_LIBRARIES = ("ordinal-shapley", "numpy", "numba", "scipy", "scikit-learn", "pandas")
FOLDERS = ("data", "tables", "images")
PAGE = "reproduction.md"
FIGURES = "figures.json"


def write_all(results: Results, folder: Path, command: str) -> tuple[list[str], list[Claim]]:
    """Write everything into a folder that exists.

    Parameters
    ----------
    results : Results
        What the runs found.
    folder : Path
        Where to write; files of an earlier reproduction are replaced.
    command : str
        The command that does it again.

    Returns
    -------
    files : list of str
        Those written, relative to the folder.
    claims : list of Claim
        What became of the paper's claims.
    """
    for name in FOLDERS:
        (folder / name).mkdir(exist_ok=True)
    data = results.tables()
    summaries = summarise(data, results.settings)
    manifest = make_manifest(results, command)
    texts = {f"data/{name}.csv": frame.to_csv(index=False) for name, frame in data.items()}
    texts |= {f"tables/{name}.csv": frame.to_csv(index=False) for name, frame in summaries.items()}
    shown = {
        "table1": removal_table,
        "table2": time_table,
        "reductions": reduction_table,
        "methods": methods_table,
        "differences": differences_table,
    }
    texts |= {f"tables/{name}.md": write(summaries[name]) + "\n" for name, write in shown.items()}
    texts["tables/headline.md"] = values_table(summaries["headline"], summaries["differences"]) + "\n"
    texts["tables/influence.md"] = influence_table(data["influence"]) + "\n"
    texts["manifest.json"] = json.dumps(manifest, indent=2) + "\n"
    pictures = _draw(results, folder / "images")
    main = data["runs"]["protocol"] == results.settings.protocol
    claims = check_claims(
        data["runs"][main],
        data["curves"][data["curves"]["protocol"] == results.settings.protocol],
        summaries["table2"],
        summaries["reductions"],
    )
    shown_too = {name: data[name] for name in ("influence", "warnings")}
    figures = {
        **manifest,
        "pictures": pictures,
        "claims": [claim._asdict() for claim in claims],
        "tables": {name: _columns_and_rows(frame) for name, frame in (summaries | shown_too).items()},
    }
    texts[FIGURES] = json.dumps(figures, indent=1, allow_nan=False) + "\n"
    texts[PAGE] = page_of(figures)
    for name, text in texts.items():
        with replacing(folder / name) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return [*texts, *(f"images/{name}.{kind}" for name in pictures for kind in ("png", "svg"))], claims


def page_of(figures: dict[str, Any]) -> str:
    """Return the page that shows what is in the file `FIGURES`."""
    import pandas as pd

    tables = {}
    for name, table in figures["tables"].items():
        frame = pd.DataFrame(table["rows"], columns=table["columns"])
        for column in frame.columns[frame.isna().all()]:
            frame[column] = frame[column].astype(float)  # no number anywhere, a standard deviation of one run
        tables[name] = frame
    claims = [Claim(**claim) for claim in figures["claims"]]
    return write_page(tables, claims, figures, figures["pictures"])


def _columns_and_rows(frame: pd.DataFrame) -> dict[str, list[Any]]:
    """Return a table for JSON, which has no NaN."""
    split = frame.to_dict("split")
    rows = [
        [None if isinstance(cell, float) and math.isnan(cell) else cell for cell in row]
        for row in split["data"]
    ]
    return {"columns": split["columns"], "rows": rows}


def _draw(results: Results, folder: Path) -> list[str]:
    if find_spec("matplotlib") is None:
        return []
    from ordinal_shapley.reproduction.figures import draw_all

    return draw_all(results, folder)


def summarise(data: dict[str, pd.DataFrame], settings: Settings) -> dict[str, pd.DataFrame]:
    """Return the tables of means, by the names of their files."""
    main, times = (data[name][data[name]["protocol"] == settings.protocol] for name in ("runs", "times"))
    table_2 = tables.table_2(main, times)
    return {
        "table1": tables.table_1(data["runs"], settings.protocol),
        "table2": table_2,
        "reductions": tables.reductions(table_2),
        "methods": tables.all_methods(main, times),
        "headline": tables.headline(data["values_compared"]),
        "differences": tables.differences(data["values_compared"]),
    }


def make_manifest(results: Results, command: str) -> dict[str, Any]:
    """Return what was run, with what, on what."""
    settings = results.settings
    sizes = {name: sizes_in_words(name, settings.protocol) for name in settings.datasets}
    asked = asdict(settings)
    del asked["jobs"]
    return {
        "command": command,
        "date": datetime.date.today().isoformat(),
        "settings": asked
        | {
            "seeds": list(settings.seeds),
            "drawn_seeds": {str(seed): seeds_of(seed) for seed in settings.seeds},
            "sizes": sizes,
            "stopping": f"RelativeChange({TOLERANCE}, window={WINDOW}) | MaxPermutations({settings.cap:,})",
            "processes": settings.processes,
        },
        "seconds": results.seconds,
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "system": f"{platform.system()} {platform.machine()}",
        },
        "versions": {"python": platform.python_version()} | {name: _version(name) for name in _LIBRARIES},
    }


def _version(name: str) -> str:
    if name == "ordinal-shapley":
        from ordinal_shapley import __version__

        return __version__
    return metadata.version(name)


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return " ".join(line.split(":", 1)[1].split())
    except OSError:
        pass
    return platform.processor() or platform.machine()
