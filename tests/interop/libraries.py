"""The libraries to work with, imported without the warnings that they raise on the way."""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path
from types import ModuleType

import pytest

from rules import check_rules

ROOT = Path(__file__).resolve().parents[2]


def needed(name: str) -> ModuleType:
    """Import a library, or skip the module that calls this."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name, reason=f"needs {name}: make test-interop")


def breaches(name: str) -> list[str]:
    """What the names of a bridge lack: docstrings, examples, a line of docs/api.md."""
    module = importlib.import_module(f"ordinal_shapley.interop.{name}")
    objects = [(f"interop.{name}.{public}", getattr(module, public)) for public in module.__all__]
    page = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    return [*check_rules.check_docstrings(objects), *check_rules.check_api_page(objects, page)]
