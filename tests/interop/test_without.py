"""Without a library its bridge says what is missing, and nothing else needs it."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

LIBRARIES = ("pydvl", "opendataval")


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_bridge_without_its_library_names_what_to_install(name):
    # None in sys.modules makes an import fail, whether the library is installed or not.
    code = (
        f"import sys; sys.modules[{name!r}] = None\n"
        f"try: import ordinal_shapley.interop.{name}\n"
        "except ImportError as error: print(type(error.__cause__).__name__, error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    cause, _, message = done.stdout.partition(" ")
    assert cause == "ModuleNotFoundError"
    assert message.startswith(f"ordinal_shapley.interop.{name} needs ")
    assert "pip install" in message


def test_the_package_of_bridges_needs_no_library():
    code = (
        "import sys, ordinal_shapley, ordinal_shapley.interop\n"
        f"assert not set(sys.modules) & {set(LIBRARIES)!r}"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
