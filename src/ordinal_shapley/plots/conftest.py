"""Examples draw without windows."""

import os

os.environ.setdefault("MPLBACKEND", "Agg")
