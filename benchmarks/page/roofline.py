"""Share of peak."""

from __future__ import annotations

from typing import Any

from bench.results import entries
from page.tables import number, section, table

TITLE = "Share of the processor's peak"
TEXT = """\
`benchmarks/roofline.py`, one core: the trainer's gradient pass (two products with the rows of the prefix
and the loss between them) and the factorisation of the Hessian (its triangle summed over the rows,
Cholesky's factor and its inverse), for {rows} rows and d features. Only the operations of the products
are counted. Peak is the faster of a loop of multiply-adds on registers and BLAS' matrix product,
{peak:.1f} GFLOP/s here; a dot product reads {l1:.0f} GB/s from the first cache, {l2:.0f} GB/s from the
second and {memory:.0f} GB/s from memory. A pass reads 16 bytes for 4 operations, so the bandwidth of the
cache that holds the rows bounds it too: *of bound* is its share of what both allow. Aimed at: a gradient
pass at 40 % of peak for d of 100 and more."""


def write(run: dict[str, Any]) -> str:
    """Return the section."""
    found = entries(run, "roofline")
    if not found:
        return section(TITLE, "", None)
    info = found[0]["extra_info"]
    machine = info["machine"]
    scaled = {key: value / 1e9 for key, value in machine.items()}
    rows = [
        (
            share["d"],
            number(share["pass_microseconds"]),
            f"{share['pass_rate'] / machine['peak']:.0%}",
            f"{share['pass_rate'] / share['bound']:.0%}",
            number(share["factor_microseconds"]),
            f"{share['factor_rate'] / machine['peak']:.0%}",
        )
        for share in info["shares"]
    ]
    columns = ("d", "pass µs", "of peak", "of bound", "factorisation µs", "of peak")
    return section(TITLE, TEXT.format(rows=info["rows"], **scaled), table(columns, rows, words=0))
