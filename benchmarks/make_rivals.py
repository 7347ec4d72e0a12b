"""Make the environments of the libraries to compare with; those that are there are left alone.

Usage: python benchmarks/make_rivals.py
"""

from __future__ import annotations

from bench.rivals import KINDS, make

if __name__ == "__main__":
    for name in KINDS:
        print(f"{name}: {make(name)}", flush=True)
