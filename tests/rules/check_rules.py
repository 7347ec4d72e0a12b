"""The project's own rules, checked over the source: ``python tests/rules/check_rules.py``.

Each ``check_*`` function returns one line per breach. ``tests/test_rules.py`` shows that each rule
can fail.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("src", "kernels")
DECORATOR_HOME = "kernels/ordinal_shapley_kernels/abi.py"
WRITER_HOME = "src/ordinal_shapley/common/files.py"
WRITERS = {"write_text", "write_bytes", "savefig", "to_parquet"}
COMPILERS = {"jit", "njit", "cfunc", "vectorize", "guvectorize", "generated_jit", "stencil"}
MAX_LINES = 500
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)


def source_files(root: Path = ROOT) -> list[Path]:
    return sorted(path for top in SOURCES for path in (root / top).rglob("*.py"))


def check_length(root: Path = ROOT) -> Iterator[str]:
    """No module is too long to read in one sitting."""
    for path in source_files(root):
        lines = path.read_text(encoding="utf-8").count("\n")
        if lines > MAX_LINES:
            yield f"{path.relative_to(root)}: {lines} lines; split it (at most {MAX_LINES})"


def check_decorator(root: Path = ROOT) -> Iterator[str]:
    """Only one module compiles: its flags, and names that carry a digest, go with every kernel."""
    for path in source_files(root):
        name = path.relative_to(root).as_posix()
        if name == DECORATOR_HOME:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            bare = False
            if isinstance(node, ast.Attribute) and node.attr in COMPILERS:
                bare = isinstance(node.value, ast.Name) and node.value.id in {"numba", "nb"}
            elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "numba":
                bare = any(alias.name in COMPILERS for alias in node.names)
            if bare:
                yield f"{name}:{node.lineno}: compiles without {DECORATOR_HOME}"


def check_overload_flags(root: Path = ROOT) -> Iterator[str]:
    """An overload without flags of its own takes its first caller's."""
    for path in source_files(root):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and ast.unparse(node.func).split(".")[-1] in {"overload", "overload_method"}
                and not any(keyword.arg == "jit_options" for keyword in node.keywords)
            ):
                yield f"{path.relative_to(root)}:{node.lineno}: an overload without jit_options"


def check_writes(root: Path = ROOT) -> Iterator[str]:
    """Files are written to `replacing`'s temporary file, so that there is the old one or the new one."""
    for path in source_files(root):
        name = path.relative_to(root).as_posix()
        if name == WRITER_HOME:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        whole = [
            node
            for block in ast.walk(tree)
            if isinstance(block, ast.With)
            and any(ast.unparse(item.context_expr).startswith("replacing(") for item in block.items)
            for node in ast.walk(block)
        ]
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and _writes(node) and node not in whole:
                yield f"{name}:{node.lineno}: writes a file without `replacing` of {WRITER_HOME}"


def _writes(call: ast.Call) -> bool:
    """Whether a call writes a file: by its name, or because a table has a place to go or a file a mode."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)
    if name == "open":
        given = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
        modes = [mode.value for mode in given if isinstance(mode, ast.Constant)]
        return any(isinstance(mode, str) and re.fullmatch("[rbt]*[wax+][bt+]*", mode) for mode in modes)
    return name in WRITERS or (name == "to_csv" and bool(call.args))


def public_objects(package: ModuleType) -> Iterator[tuple[str, object]]:
    """Yield the names of the package and, dotted, those of its public modules."""
    for name in package.__all__:
        if name == "__version__":
            continue
        value = getattr(package, name)
        yield name, value
        if inspect.ismodule(value):
            for inner in value.__all__:
                yield f"{name}.{inner}", getattr(value, inner)


def check_no_kernel_exported(objects: Iterable[tuple[str, object]]) -> Iterator[str]:
    """Kernels trust their input, so users never get one in hand."""
    for name, value in objects:
        home = value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", "")
        if str(home).startswith("ordinal_shapley_kernels") or hasattr(value, "py_func"):
            yield f"{name}: a kernel is exported as a public name"


def check_docstrings(objects: Iterable[tuple[str, object]]) -> Iterator[str]:
    """Every public name is documented; classes and functions in numpydoc, with an example."""
    for name, value in objects:
        text = inspect.getdoc(value) or ""
        if not text:
            yield f"{name}: no docstring"
            continue
        if not (inspect.isclass(value) or inspect.isroutine(value)):
            continue
        sections = set(SECTION.findall(text))
        signature = inspect.signature(value)
        missing = {"Examples"} - sections
        # A result is described by what users read of it, all else by what they pass.
        if signature.parameters and not sections & {"Parameters", "Attributes"}:
            missing.add("Parameters")
        if inspect.isroutine(value) and signature.return_annotation not in ("None", None):
            missing |= {"Returns"} - sections
        for section in sorted(missing):
            yield f"{name}: its docstring has no section {section}"
        if ">>>" not in text:
            yield f"{name}: its docstring has no example"


def check_api_page(objects: Iterable[tuple[str, object]], page: str) -> Iterator[str]:
    """Every public name stands on the API page."""
    listed = set(re.findall(r"`([\w.]+)[`(]", page))
    for name, _ in objects:
        if name not in listed:
            yield f"docs/api.md: {name} is missing"


def breaches() -> list[str]:
    import ordinal_shapley

    objects = list(public_objects(ordinal_shapley))
    page = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    return [
        *check_length(),
        *check_decorator(),
        *check_overload_flags(),
        *check_writes(),
        *check_no_kernel_exported(objects),
        *check_docstrings(objects),
        *check_api_page(objects, page),
    ]


def main() -> int:
    found = breaches()
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
