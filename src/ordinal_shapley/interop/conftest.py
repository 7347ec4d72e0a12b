"""A module that bridges to a library cannot be imported without it: its doctests run where it is installed.

`tests/interop/run.py` makes those environments; here the examples of such modules are left out.
"""

from importlib.util import find_spec

collect_ignore = [f"{name}.py" for name in ("pydvl", "opendataval") if find_spec(name) is None]
