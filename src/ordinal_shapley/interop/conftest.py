"""Leave out the doctests of modules whose library is not installed.

`tests/interop/run.py` makes environments that have these libraries.
"""

from importlib.util import find_spec

collect_ignore = [f"{name}.py" for name in ("pydvl", "opendataval") if find_spec(name) is None]
