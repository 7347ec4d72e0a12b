"""What is changed, with which tests it is tried, and how often a test notices."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections import Counter
from pathlib import Path

from bench.record import ROOT, Record, surroundings
from mutate.mutants import Mutant, all_mutants, apply, sample
from mutate.server import load
from mutate.trials import Budget, Copy, Reach, attempt, in_turns, within

GROUPS: dict[str, tuple[str, ...]] = {
    "sampling": ("src/ordinal_shapley/sampling/*.py",),
    "exact": ("src/ordinal_shapley/exact/*.py",),
    "bounds": ("src/ordinal_shapley/bounds.py",),
    "kernels": ("kernels/ordinal_shapley_kernels/[!_]*.py",),
}
WANTED = {"sampling": 120, "exact": 80, "bounds": 60, "kernels": 240}
SEED = 0
BUDGET = Budget(test=6.0, file=40.0, first=2.0, more=40.0)
# The tests of these modules, of the games that walks play and of what sampling and exact values must be.
TESTS = (
    *("axioms", "bad_input", "bounds", "checkpoint", "designs", "elementary", "estimator_game", "every_game"),
    *("exact", "exact_cost", "games", "history", "journeys", "lanes", "neighbors", "ordinal_sampling"),
    *("permutations", "ridge", "roulette", "sampled_values", "sampling", "scoring", "stopping", "trainer"),
    *("truncation", "unbiased", "walk", "wide"),
)
FOLDER = ROOT / "build" / "mutation"
EQUAL = ROOT / "benchmarks" / "mutate" / "equal.json"
KILLED = ("killed", "out of time")
WORKERS = int(os.environ.get("WORKERS", os.cpu_count() or 1))


def changed_line(source: str, changed: str) -> tuple[str, str]:
    """Return what the first line was and is that differs."""
    lines = zip(source.split("\n"), changed.split("\n"), strict=True)
    old, new = next((old, new) for old, new in lines if old != new)
    return old.strip(), new.strip()


def digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def kept_trials(file: Path) -> dict[str, Record]:
    """Return what became of mutants in earlier runs, by digest of the changed module."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return {trial["key"]: trial for trial in map(json.loads, lines)}


def control(copy: Copy, trials: list[Record], reach: Reach) -> None:
    """Raise if a test that killed a mutant fails without one."""
    left = sorted({trial["by"] for trial in trials} & set(reach.seconds))
    while left:
        batch = within(left, reach.seconds, 60.0)
        answer = copy.ask("attempt", 300, tests=batch)
        if answer["code"] != 0:
            raise RuntimeError(f"{answer['failed']} fails without a mutant, too")
        left = left[len(batch) :]


def measure(share: str = "1") -> Record:
    """Try the first share of the sample, and count."""
    found = surroundings("cosmic-ray", "pytest", "hypothesis", "numba", "numpy")
    populations = all_mutants(ROOT, GROUPS)
    mutants = sample(populations, WANTED, SEED)
    mutants = mutants[: max(1, round(float(share) * len(mutants)))]
    paths = sorted({mutant.path for population in populations.values() for mutant in population})
    modules = {path: (ROOT / path).read_text(encoding="utf-8") for path in paths}
    files = [f"tests/test_{name}.py" for name in TESTS]
    state = digest(*(path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("tests/*.py"))))

    log = FOLDER / "trials.jsonl"
    kept = kept_trials(log)
    trials: list[Record] = []

    load()
    copies = [Copy(ROOT, FOLDER / "copy-0")]
    copies += [Copy(copies[0].folder, FOLDER / f"copy-{k}") for k in range(1, WORKERS)]
    reach = Reach(FOLDER / "reach", modules, BUDGET)
    reach.measure(copies, files)

    def one(copy: Copy, mutant: Mutant) -> None:
        source = modules[mutant.path]
        changed = apply(mutant, source)
        key = digest(mutant.path, changed)
        trial = kept.get(key)
        if trial is None or (trial["fate"] not in KILLED and trial["state"] != state):
            before, after = changed_line(source, changed)
            trial = {
                **{name: getattr(mutant, name) for name in ("group", "path", "line", "operator")},
                **{"before": before, "after": after, "key": key, "state": state},
                **attempt(copy, mutant, changed, reach, BUDGET),
            }
            with log.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(trial) + "\n")
            if trial["fate"] not in KILLED:
                print(f"{trial['fate']}: {mutant.path}:{mutant.line}: {after}", file=sys.stderr, flush=True)
        trials.append(trial)

    in_turns(copies, one, mutants)
    control(copies[0], trials, reach)
    for copy in copies:
        copy.close()
    return {**found, **counted(trials, {group: len(places) for group, places in populations.items()})}


def counted(trials: list[Record], places: dict[str, int]) -> Record:
    """Return the counts of each group, and the survivors."""
    reasons = {(e["path"], e["before"], e["after"]): e["reason"] for e in json.loads(EQUAL.read_text())}
    groups, survivors = {}, []
    for group, number in places.items():
        here = [trial for trial in trials if trial["group"] == group]
        fates = Counter(trial["fate"] for trial in here)
        alive = sorted((t for t in here if t["fate"] not in KILLED), key=lambda t: (t["path"], t["line"]))
        equal = 0
        for trial in alive:
            reason = reasons.get((trial["path"], trial["before"], trial["after"]))
            equal += reason is not None
            names = ("path", "line", "operator", "before", "after", "fate", "tests", "all")
            survivors.append({**{name: trial[name] for name in names}, "reason": reason})
        groups[group] = {
            "places": number,
            "tried": len(here),
            "killed": fates["killed"],
            "out_of_time": fates["out of time"],
            "not_reached": fates["not reached"],
            "equal": equal,
        }
    return {"seed": SEED, "budget_seconds": BUDGET.more, "groups": groups, "survivors": survivors}
