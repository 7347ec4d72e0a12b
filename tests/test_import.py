"""`import ordinal_shapley` is quick: it loads numpy and numba only."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("pandas", "sklearn", "scipy", "joblib", "typer", "rich", "matplotlib")


def loaded_after(statement):
    """Which heavy packages a new interpreter holds after a statement."""
    code = f"import sys\n{statement}\nprint(*[name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    return done.stdout.split()


def test_import_loads_numpy_and_numba_only():
    assert loaded_after("import ordinal_shapley as osv; assert 'LogisticGame' in dir(osv)") == []


def test_the_probe_sees_a_heavy_import():
    assert loaded_after("import joblib") == ["joblib"]


def test_every_public_name_resolves():
    import ordinal_shapley as osv

    for name in osv.__all__:
        assert getattr(osv, name) is not None
