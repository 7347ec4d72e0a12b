"""The command ``ordinal-shapley info``."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from ordinal_shapley.cli.options import JSON, command
from ordinal_shapley.cli.output import facts, safe, show

_LIBRARIES = ("numpy", "numba", "scikit-learn", "scipy", "pandas", "joblib", "typer")
_EXTRAS = {"plot": ("matplotlib",), "report": ("jinja2",), "parquet": ("pyarrow",), "distributed": ("dask",)}


@command
def info(as_json: bool = JSON) -> None:
    """Show versions, CPU, threads and the folder of compiled kernels, to paste into a bug report."""
    from llvmlite.binding import get_host_cpu_name
    from threadpoolctl import threadpool_info

    from ordinal_shapley.common.compiling import kept_kernels
    from ordinal_shapley.common.parallel import n_workers

    folder, n_kept, n_kernels = kept_kernels()
    libraries = {name: _version(name) for name in _LIBRARIES}
    extras = {name: all(map(find_spec, needed)) for name, needed in _EXTRAS.items()}
    machine = {
        "python": platform.python_version(),
        "system": platform.platform(),
        "cpu": get_host_cpu_name(),  # the CPU that kernels are compiled for
        "cores": n_workers(-1),
    }
    threads = {pool["internal_api"]: pool["num_threads"] for pool in threadpool_info()}
    kernels = {"folder": folder, "compiled": n_kept, "all": n_kernels}
    kept = f"{n_kept} of {n_kernels} compiled, in {folder}"
    if folder is None:
        kept = "compiled anew by every process; set NUMBA_CACHE_DIR to a writable folder to keep them"
    elif n_kept < n_kernels:
        kept += "; others compile when first used, or run `ordinal-shapley compile`"
    lacking = [name for name, there in extras.items() if not there]
    table = facts(
        ("ordinal-shapley", f"{_version('ordinal-shapley')}, Python {machine['python']}"),
        ("system", machine["system"]),
        ("CPU", f"{machine['cpu']}, {machine['cores']} cores"),
        ("threads", ", ".join(f"{name} {number}" for name, number in threads.items()) or "1"),
        ("libraries", ", ".join(f"{name} {number}" for name, number in libraries.items())),
        ("kernels", safe(kept)),
        ("extras", ", ".join(name for name, there in extras.items() if there) or "none"),
        *([("not installed", ", ".join(lacking))] if lacking else []),
    )
    parts = {**machine, "threads": threads, "libraries": libraries, "extras": extras, "kernels": kernels}
    show("info", as_json, lambda: parts, lambda console: console.print(table))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
