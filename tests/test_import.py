"""`import ordinal_shapley` and help are quick: heavy packages are loaded when they are used."""

from __future__ import annotations

import pytest

from runs import script

HEAVY = {"numpy", "numba", "pandas", "sklearn", "scipy", "joblib", "typer", "rich", "matplotlib"}
HELP = """
from ordinal_shapley.cli import main
try:
    main(["value", "--help"])
except SystemExit:
    pass
"""
SAMPLED = """
import ordinal_shapley as osv
rows = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
osv.sample_values(osv.LogisticGame(*rows, *rows), n_permutations=2)
"""


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("import ordinal_shapley as osv; assert 'LogisticGame' in dir(osv)", set()),
        ("import ordinal_shapley.datasets", set()),
        (HELP, {"typer", "rich"}),
        (SAMPLED, {"numpy", "numba", "scipy", "joblib"}),
        ("import joblib", {"joblib", "numpy"}),  # the probe sees one
    ],
)
def test_what_is_loaded(code, heavy):
    shown = script(f"import sys\n{code}\nprint('\\n' + ' '.join({HEAVY} & set(sys.modules)))")
    assert set(shown.splitlines()[-1].split()) == heavy
