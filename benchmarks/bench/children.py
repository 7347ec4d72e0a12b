"""Scripts that need a process of their own, for its memory or its start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

_SCRIPTS = Path(__file__).resolve().parent.parent / "child_scripts"


def run(script: str, *arguments: Any, timeout: float | None = None, **environment: str) -> dict[str, Any]:
    """Run a script of `child_scripts/` and return the JSON of its last line.

    Raises
    ------
    subprocess.TimeoutExpired
        If it has not ended after so many seconds.
    """
    done = subprocess.run(
        [sys.executable, str(_SCRIPTS / script), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
        env=os.environ | environment,
    )
    if done.returncode:
        raise RuntimeError(f"{script} failed: {done.stderr[-2000:]}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer
