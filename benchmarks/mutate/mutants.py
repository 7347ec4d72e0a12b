"""Which mutants there are: the operators of cosmic-ray, where they can change a value."""

from __future__ import annotations

import ast
import hashlib
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import parso
from cosmic_ray.ast import ast_nodes
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.provider import OperatorProvider

# Operators take the place of their own kind: a float has no bits, and an error of type proves little.
_ALIKE = (
    ("Add", "Sub", "Mul", "Div", "FloorDiv", "Mod", "Pow"),
    ("RShift", "LShift", "BitOr", "BitAnd", "BitXor"),
    ("Eq", "NotEq", "Lt", "LtE", "Gt", "GtE"),
    ("Is", "IsNot"),
    ("In", "NotIn"),
)
_OTHERS = (
    "ReplaceUnaryOperator_Delete_USub",
    "ReplaceUnaryOperator_Delete_Invert",
    "ReplaceUnaryOperator_Delete_Not",
    "AddNot",
    "ReplaceTrueWithFalse",
    "ReplaceFalseWithTrue",
    "ReplaceAndWithOr",
    "ReplaceOrWithAnd",
    "ReplaceBreakWithContinue",
    "ReplaceContinueWithBreak",
    "NumberReplacer",
    "ZeroIterationForLoop",
)
_NEVER = {"name", "newline", "endmarker", "string", "fstring", "fstring_string", "param", "parameters"}
_NEITHER = {*"()[]{},:.=;@", "->", "..."}  # operators of the grammar that compute nothing


class Mutant(NamedTuple):
    """One change of one module.

    Attributes
    ----------
    group : str
    path : str
        Of the module, in the repository.
    line : int
    text : str
        Of that line.
    operator : str
        Of cosmic-ray.
    occurrence : int
        Which of the places where the operator applies.
    """

    group: str
    path: str
    line: int
    text: str
    operator: str
    occurrence: int


def _operators() -> dict[str, Any]:
    provider = OperatorProvider()
    chosen: dict[str, Any] = {}
    for name in provider:
        words = name.split("_")
        if name in _OTHERS or (len(words) == 3 and any({*words[1:]} <= {*kind} for kind in _ALIKE)):
            chosen[name] = provider[name]()
    return chosen


def apply(mutant: Mutant, source: str) -> str:
    """Return the source of the module with the change made."""
    changed: str | None = mutate_code(source, OperatorProvider()[mutant.operator](), mutant.occurrence)
    if changed is None:
        raise ValueError(f"{mutant} is no place in this source")
    return changed


def _compiled_only(test: ast.expr) -> bool:
    return ast.unparse(test) in ("not config.DISABLE_JIT", "TYPE_CHECKING")


def _ignored(source: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield the spans that bear on no value: annotations, decorators, errors, what only compiles."""
    for node in ast.walk(ast.parse(source)):
        inert: list[ast.AST | None] = []
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            inert += node.decorator_list
        if isinstance(node, ast.FunctionDef):
            inert.append(node.returns)
        if isinstance(node, (ast.arg, ast.AnnAssign)):
            inert.append(node.annotation)
        if isinstance(node, (ast.Raise, ast.JoinedStr)):
            inert.append(node)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("warnings.warn", "cast", "TypeVar"):
            inert.append(node)
        if isinstance(node, ast.If) and _compiled_only(node.test):
            inert += [node.test, *node.body]
        for part in inert:
            if part is not None:
                place: Any = part
                yield (place.lineno, place.col_offset), (place.end_lineno, place.end_col_offset)


def mutants_of(group: str, path: str, source: str) -> list[Mutant]:
    """Return all mutants of a module, in the order of the source."""
    ignored = list(_ignored(source))
    operators = _operators()
    counts = dict.fromkeys(operators, 0)
    lines = source.split("\n")
    found = []
    for node in ast_nodes(parso.parse(source)):
        if node.type in _NEVER or getattr(node, "value", "") in _NEITHER:
            continue
        for name, operator in operators.items():
            for place in operator.mutation_positions(node):
                occurrence = counts[name]
                counts[name] += 1
                line, column = place[0]
                at = (line, len(lines[line - 1][:column].encode()))
                if not any(begin <= at < end for begin, end in ignored):
                    found.append(Mutant(group, path, line, lines[line - 1].strip(), name, occurrence))
    return sorted(found)


def sample(populations: dict[str, list[Mutant]], wanted: dict[str, int], seed: int) -> list[Mutant]:
    """Draw from each group as many as wanted, from each module in proportion to what it has.

    They come in an order of which every beginning is such a sample, too. A mutant's place in it depends on
    the seed and the line that it changes, so that most of a sample stays when a module is edited.
    """
    drawn = []
    for group, population in populations.items():
        modules: dict[str, list[tuple[str, Mutant]]] = {}
        seen: Counter[str] = Counter()
        for mutant in population:
            name = f"{seed} {mutant.path} {mutant.operator} {mutant.text}"
            seen[name] += 1
            number = hashlib.sha256(f"{name} {seen[name]}".encode()).hexdigest()
            modules.setdefault(mutant.path, []).append((number, mutant))
        keys = []
        for path, mutants in modules.items():
            start = random.Random(f"{seed} {path}").random()
            keys += [((k + start) / len(mutants), mutant) for k, (_, mutant) in enumerate(sorted(mutants))]
        size = min(wanted[group], len(keys))
        drawn += [((k + 0.5) / size, mutant) for k, (_, mutant) in enumerate(sorted(keys)[:size])]
    return [mutant for _, mutant in sorted(drawn)]


def all_mutants(root: Path, groups: dict[str, tuple[str, ...]]) -> dict[str, list[Mutant]]:
    """Return the mutants of every group's modules, which are given as patterns of paths."""
    populations: dict[str, list[Mutant]] = {}
    for group, patterns in groups.items():
        paths = sorted({path for pattern in patterns for path in root.glob(pattern)})
        populations[group] = []
        for path in paths:
            name = path.relative_to(root).as_posix()
            populations[group] += mutants_of(group, name, path.read_text(encoding="utf-8"))
    return populations
