"""The experiments of arXiv:2305.01660, run again and carried on: writes docs/reproduction.md and its tables.

Usage: python benchmarks/paper/run.py all --runs 5 --seed 0 --out build/reproduction --record, as in
``make reproduce``, half an hour on two cores. The same seed gives the same tables, but for times.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from dataclasses import asdict
from pathlib import Path

import pandas as pd
from joblib import effective_n_jobs

if __name__ == "__main__":  # the modules of this folder are those of a package
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from bench.record import DOCS, Record, Script, between, replaced, save, surroundings
from paper.claims import check_claims
from paper.figures import draw_all
from paper.methods import TOLERANCE, WINDOW
from paper.page import APPENDIX, SUMMARY, pages_of
from paper.runs import Settings, run_all
from paper.splits import SIZES, seeds_of
from paper.tables import summarise

_LIBRARIES = ("ordinal-shapley", "numpy", "numba", "scipy", "scikit-learn", "pandas")


def measure(settings: Settings, folder: Path, command: str) -> Record:
    """Run everything and write pages, pictures and measurements into a folder; return the record."""
    for name in ("data", "images"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    record = {"command": command, **surroundings(*_LIBRARIES), "settings": described(settings)}
    results = run_all(settings)
    data = results.tables()
    for name, frame in data.items():
        frame.to_csv(folder / "data" / f"{name}.csv", index=False)
    draw_all(results, folder / "images")
    summaries = summarise(data)
    shown = summaries | {name: data[name] for name in ("influence", "warnings")}
    record |= {
        "seconds": results.seconds,
        "claims": [claim._asdict() for claim in check_claims(data, summaries)],
        "tables": {name: columns_and_rows(frame) for name, frame in shown.items()},
    }
    for page, text in pages_of(record).items():
        (folder / page).write_text(text, encoding="utf-8")
    return record


def described(settings: Settings) -> Record:
    """Return the settings, and what follows from them."""
    return asdict(settings) | {
        "seeds": settings.seeds,
        "drawn_seeds": {str(seed): seeds_of(seed) for seed in settings.seeds},
        "sizes": {
            name: " / ".join("all others" if size is None else str(size) for size in SIZES[name])
            for name in settings.datasets
        },
        "stopping": f"RelativeChange({TOLERANCE}, window={WINDOW}) | MaxPermutations({settings.cap:,})",
        "processes": effective_n_jobs(settings.jobs),
    }


def columns_and_rows(frame: pd.DataFrame) -> Record:
    """Return a table for JSON, which has no NaN."""
    whole = frame.astype(object).where(frame.notna(), None)
    return {"columns": list(whole), "rows": whole.to_numpy().tolist()}


def pages(record: Record, docs: Path) -> dict[str, str]:
    """Return the pages, with the section that benchmarks/sizes.py writes as it is."""
    found = pages_of(record)
    written = (docs / APPENDIX).read_text(encoding="utf-8")
    return {**found, APPENDIX: replaced(found[APPENDIX], "sizes", between(written, "sizes"))}


SCRIPT = Script("reproduction", measure, pages)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description="Run the experiments of arXiv:2305.01660.")
    parser.add_argument("dataset", choices=[*SIZES, "all"])
    parser.add_argument("--runs", type=int, default=5, help="how many runs, each with a split of its own")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first run; the others count on")
    parser.add_argument("--jobs", type=int, default=-1, help="processes, -1 for one a core")
    parser.add_argument(
        "--out", type=Path, default=Path("build/reproduction"), help="the folder to write into"
    )
    parser.add_argument(
        "--record", action="store_true", help="write docs/reproduction.md and its record, too"
    )
    asked = parser.parse_args()
    datasets = tuple(SIZES) if asked.dataset == "all" else (asked.dataset,)
    settings = Settings(datasets, runs=asked.runs, seed=asked.seed, jobs=asked.jobs)
    command = f"python benchmarks/paper/run.py {asked.dataset} --runs {asked.runs} --seed {asked.seed}"
    record = measure(settings, asked.out, command)
    for claim in record["claims"]:
        print(f"{claim['claim']} {claim['verdict']}")
    print(f"written: {asked.out / SUMMARY}")
    if asked.record:
        for picture in (asked.out / "images").glob("*.png"):
            shutil.copy(picture, DOCS / "images")
        save(SCRIPT.name, record, exact=True)
        SCRIPT.write()


if __name__ == "__main__":
    main()
