"""Tries mutants, with the tests that reach them, in copies of the repository."""

from __future__ import annotations

import ast
import hashlib
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from mutate.mutants import Mutant
from mutate.server import serve

COPIED = ("src", "kernels", "tests", "benchmarks", "docs", "pyproject.toml", "README.md", "CHANGELOG.md")


class Budget(NamedTuple):
    """Seconds of processor time.

    Attributes
    ----------
    test : float
        The longest test that is used, as it takes while it is measured.
    file : float
        Of the tests of one file that are measured.
    first : float
        Of the tests that every mutant is tried with.
    more : float
        Of those that it is tried with if it survives.
    """

    test: float
    file: float
    first: float
    more: float


class Copy:
    """A copy of the repository, in which one mutant at a time is tried."""

    def __init__(self, source: Path, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        for name in COPIED:
            if (source / name).is_dir():
                shutil.copytree(source / name, folder / name, ignore=shutil.ignore_patterns("*.nbi", "*.nbc"))
            else:
                shutil.copy(source / name, folder / name)
        # Compiled files that are told by what is in them: a mutant may be as long and as old as the original.
        compiled = [sys.executable, "-m", "compileall", "-qq", "--invalidation-mode", "checked-hash"]
        subprocess.run([*compiled, "src", "kernels"], cwd=folder, check=True)
        self.folder = folder.resolve()
        context = multiprocessing.get_context("fork")
        self._requests, ours = context.Pipe()
        self._process = context.Process(target=serve, args=(ours, self.folder), daemon=True)
        self._process.start()

    def ask(self, work: str, cpu: float, **request: Any) -> Any:
        """Have something done in a fork, within so many seconds of processor time."""
        self._requests.send({"work": work, "cpu": cpu, **request})
        return self._requests.recv()

    def close(self) -> None:
        """End the process that runs tests."""
        self._requests.send(None)
        self._process.join()


def in_turns(copies: list[Copy], work: Callable[[Copy, Any], None], items: Iterable[Any]) -> None:
    """Work on all items, in every copy one at a time, while no file says that the machine is to be quiet."""
    left = iter(items)
    lock = threading.Lock()
    errors: list[BaseException] = []

    def run(copy: Copy) -> None:
        while not errors:
            with lock:
                item = next(left, None)
            if item is None:
                return
            quiet = os.environ.get("MUTATION_PAUSE")
            while quiet and os.path.exists(quiet):
                time.sleep(2)
            try:
                work(copy, item)
            except BaseException as error:
                errors.append(error)

    threads = [threading.Thread(target=run, args=(copy,)) for copy in copies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


class Reach:
    """Which tests reach a line, and how long they take; of each file of tests asked once and kept."""

    def __init__(self, folder: Path, modules: dict[str, str], budget: Budget) -> None:
        self.folder, self.modules, self.budget = folder, modules, budget
        self.seconds: dict[str, float] = {}
        self.lines: dict[str, dict[int, list[str]]] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def measure(self, copies: list[Copy], files: list[str]) -> None:
        """Measure what is not yet known, and take up all of it."""
        sources = hashlib.sha256(json.dumps([self.modules, self.budget[:2]]).encode()).hexdigest()[:8]

        def one(copy: Copy, file: str) -> None:
            test = hashlib.sha256((copy.folder / file).read_bytes()).hexdigest()[:8]
            kept = self.folder / f"{Path(file).stem}-{sources}-{test}.json"
            if not kept.exists():
                began = time.monotonic()
                include = [str(copy.folder / name) for name in self.modules]
                answer = copy.ask(
                    "reach", 1_200, file=file, include=include, limit=self.budget.test, whole=self.budget.file
                )
                count = f"{len(answer.get('seconds', ()))} tests, {len(answer.get('left_out', ()))} left out"
                print(f"{file}: {count}, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
                kept.write_text(json.dumps(answer))
            answer = json.loads(kept.read_text())
            self.seconds |= answer.get("seconds", {})
            for path, lines in answer.get("lines", {}).items():
                for line, tests in lines.items():
                    self.lines.setdefault(path, {}).setdefault(int(line), []).extend(tests)

        in_turns(copies, one, files)

    def tests(self, mutant: Mutant) -> list[str]:
        """Return the tests that reach a mutant's line, the quick ones of every function first.

        What is read when a module is imported counts as reached by all tests of the module.
        """
        lines = self.lines.get(mutant.path, {})
        inside = _inside(self.modules[mutant.path])
        if mutant.line in inside:
            found = set(lines.get(mutant.line, ()))
        else:
            found = {test for line, tests in lines.items() if line in inside for test in tests}
        functions: dict[str, list[tuple[float, str]]] = {}
        for test in found:
            functions.setdefault(test.split("[")[0], []).append((self.seconds[test], test))
        ranked = [
            (rank // 2, seconds, test)
            for tests in functions.values()
            for rank, (seconds, test) in enumerate(sorted(tests))
        ]
        return [test for _, _, test in sorted(ranked)]


def _inside(source: str) -> set[int]:
    """Return the lines that run when a function is called."""
    functions = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef))
    return {line for node in functions for line in range(node.body[0].lineno, (node.end_lineno or 0) + 1)}


def within(tests: list[str], seconds: dict[str, float], budget: float) -> list[str]:
    """Return the first tests that fit into a budget, one at least."""
    chosen, spent = [], 0.0
    for test in tests:
        spent += seconds[test]
        if chosen and spent > budget:
            break
        chosen.append(test)
    return chosen


def attempt(copy: Copy, mutant: Mutant, changed: str, reach: Reach, budget: Budget) -> dict[str, Any]:
    """Try a mutant, `changed` being the source of its module; what became of it, and by which test."""
    module = copy.folder / mutant.path
    original = module.read_text(encoding="utf-8")
    tests = reach.tests(mutant)
    first = within(tests, reach.seconds, budget.first)
    rest = tests[len(first) :]
    more = within(rest, reach.seconds, budget.more) if rest else []
    if not tests:
        return {"fate": "not reached", "by": "", "tests": 0, "all": 0}
    try:
        module.write_text(changed, encoding="utf-8")
        for batch in (first, more):
            if not batch:
                continue
            limit = 15 + 4 * sum(reach.seconds[test] for test in batch)
            answer = copy.ask("attempt", limit, tests=batch)
            if answer["code"] == 4 and not answer["failed"]:
                raise RuntimeError(f"{mutant}: tests have gone that were there when reach was measured")
            if answer["code"] != 0:
                fate = "out of time" if answer["code"] == -1 else "killed"
                return {"fate": fate, "by": answer["failed"], "tests": len(batch), "all": len(tests)}
    finally:
        module.write_text(original, encoding="utf-8")
    return {"fate": "survived", "by": "", "tests": len(first) + len(more), "all": len(tests)}
