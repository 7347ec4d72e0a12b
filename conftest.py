"""Modules that bridge to a library cannot be imported without it: their doctests run where it is installed.

`tests/interop/run.py` makes those environments; here the tests of these modules are skipped and say so.
"""

from importlib.util import find_spec

collect_ignore = [
    f"src/ordinal_shapley/interop/{name}.py" for name in ("pydvl", "opendataval") if find_spec(name) is None
]
