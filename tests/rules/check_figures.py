"""Figures in the text are measured: ``PYTHONPATH=tests python -m rules.check_figures``, in ``make lint``.

A figure is a number with a unit or decimals, a share, a multiple or a rate in the prose of README.md,
CONTRIBUTING.md, CHANGELOG.md, the documents and the tutorials. Each has to lie within words that `stated.py`
lists: with what must be true of a record in `benchmarks/results` for them to stand, or as a figure that is no
measurement. What a script writes, pages and blocks between marks, `tests/test_figures.py` compares instead.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rules.stated import EVERYWHERE, GIVEN, MEASURED, Measured

ROOT = Path(__file__).resolve().parents[2]
WRITTEN_PAGES = {f"docs/{name}.md" for name in ("benchmarks", "reliability", "variance", "reproduction")}
WRITTEN_BLOCKS = ("speed", "workers", "ordinal error", "pieces")

_NUMBER = r"(?<![\w.])\d[\d,.]*(?:\s?(?:-|to|and|or)\s?\d[\d,.]*)?"
_WORD = (
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|"
    r"sixty|eighty|a?\s?hundred|a?\s?thousand|some|several|many)"
)
_UNIT = (
    r"(?:%|(?:per\s?cent|n?s|us|µs|ms|(?:nano|micro|milli)?seconds?|minutes?|hours?|[kMG]i?B|GFLOP/s|GB/s|M/s|"
    r"times|x\s(?:as|faster))\b)"
)
_LONG = r"(?:per\s?cent|seconds?|minutes?|hours?|times)\b"
FIGURE = re.compile(
    r"\b(?:\d[\d,.]*|tens|hundreds?|thousands?|millions?)\b[^.|;:]{0,60}?\s(?:a|per)\ssecond\b"
    rf"|{_NUMBER}\s?{_UNIT}"
    rf"|{_WORD}(?:\s(?:to|or)\s\w+)?[\s-]{_LONG}"
    r"|\b(?:a|one|two|three|four|five)\s(?:third|quarter|fifth|sixth|eighth|tenth|twentieth|hundredth|thousandth)s?\b"
    r"|\b(?:half|twice|double)\s(?:a|an|as|of|the|that|its|their|so)\b"
    r"|\b(?:tens|dozens|hundreds|thousands|millions)\s(?:of\s)?(?:times|fits|millions|sequences|\w*seconds)\b"
    r"|\b(?:nano|micro|milli)seconds?\b"
    r"|(?<![\w.:])\d+\.\d+(?![\w.])"
    r"|\b\d[\d,]*\sof\s(?:the\s)?\d[\d,]*\b|\bof\s\d+\sruns\b"
    r"|\ba\ssecond\s(?:or\stwo|for|at)\b|\bunder\sa\ssecond\b|\b(?:a|an)\s(?:minute|hour)\b",
    re.IGNORECASE,
)


def prose(text: str) -> str:
    """Return a page with blanks for what is no prose: every character stays in its place."""
    blocks = "|".join(map(re.escape, WRITTEN_BLOCKS))
    for pattern in (
        r"^ *(`{3,})[^`\n]*\n.*?^ *\1$",  # code
        rf"<!-- ({blocks}) -->.*?<!-- end of \1 -->",
        r"^(?: {4}\S[^\n]*\n)+",  # formulas
        r"`[^`\n]*`",
        r"\]\([^)\n]*\)",  # where links lead
    ):
        blank = lambda found: re.sub(r"[^\n]", " ", found[0])  # noqa: E731
        text = re.sub(pattern, blank, text, flags=re.DOTALL | re.MULTILINE)
    return text


def pages(root: Path = ROOT) -> dict[str, str]:
    """Return what people wrote, by path."""
    found = {name: root / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")}
    found |= {
        path.relative_to(root).as_posix(): path
        for kind in ("*.md", "*.ipynb")
        for path in sorted((root / "docs").rglob(kind))
    }
    texts = {}
    for name, path in found.items():
        if name not in WRITTEN_PAGES:
            text = path.read_text(encoding="utf-8")
            if name.endswith(".ipynb"):
                cells = json.loads(text)["cells"]
                text = "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
            texts[name] = text
    return texts


def records(root: Path = ROOT) -> dict[str, Any]:
    """Return the records by name."""
    folder = root / "benchmarks" / "results"
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")}


def places(words: str, text: str) -> list[tuple[int, int]]:
    """Where words stand on a page, whatever the breaks of its lines."""
    pattern = r"\s+".join(map(re.escape, words.split()))
    return [found.span() for found in re.finditer(pattern, text)]


def check_measured(
    texts: dict[str, str], results: dict[str, Any], measured: Iterable[Measured]
) -> Iterator[str]:
    """Words about measurements are on their page, and true of a record."""
    for page, words, record, holds in measured:
        if not places(words, texts[page]):
            yield f"{page}: stated.py lists words that are no longer there: {words!r}"
        if record not in results:
            yield f"{page}: {words!r} needs benchmarks/results/{record}.json, which is missing"
        elif not holds(results[record]):
            yield f"{page}: {words!r} is not what benchmarks/results/{record}.json says"


def check_listed(texts: dict[str, str], listed: dict[str, list[str]]) -> Iterator[str]:
    """Every figure lies within words that are listed, and what is listed is there."""
    for page, text in texts.items():
        spans = [span for words in EVERYWHERE for span in places(words, text)]
        for words in listed.get(page, ()):
            found = places(words, text)
            spans += found
            if not found:
                yield f"{page}: stated.py lists words that are no longer there: {words!r}"
        for figure in FIGURE.finditer(prose(text)):
            begin, end = figure.span()
            if not any(first <= begin and end <= last for first, last in spans):
                line = text.count("\n", 0, begin) + 1
                words = " ".join(figure[0].split())
                yield f"{page}:{line}: {words!r} is in no record: list it in tests/rules/stated.py"


def breaches(root: Path = ROOT) -> list[str]:
    texts, results = pages(root), records(root)
    listed = {page: list(words) for page, words in GIVEN.items()}
    for page, words, *_ in MEASURED:
        listed.setdefault(page, []).append(words)
    return sorted({*check_measured(texts, results, MEASURED), *check_listed(texts, listed)})


def main() -> int:
    found = breaches()
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
