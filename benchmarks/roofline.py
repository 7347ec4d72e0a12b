"""How much of the processor's peak the logistic trainer's kernels reach, for 16 to 512 features.

Usage: python benchmarks/roofline.py

Peak is what this program measures on one core: the faster of a loop of fused multiply-adds on registers and
of BLAS' matrix product. Bandwidths are those of a dot product over arrays that fit the first and the second
cache, and of one that fits none. A gradient pass reads every feature of every row twice for 4 operations (one
multiply-add each time): its bound is peak, or what the bandwidth of the cache that holds the rows allows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numba
import numpy as np
from scipy.linalg import blas
from threadpoolctl import threadpool_limits

from bench import kernel_access

ROWS = 200
FEATURES = (16, 32, 64, 100, 128, 256, 512)
_MULTIPLY_ADDS = 64
_LANES = 512
# Floats an array of the two that a dot product reads: 24 KiB and 1 MiB in all, and 256 MiB.
_L1, _L2, _MEMORY = 3 * 2**9, 2**16, 2**24


class Machine(NamedTuple):
    """Peak in operations a second, and bandwidths in bytes a second, of one core."""

    peak: float
    l1: float
    l2: float
    memory: float


class Share(NamedTuple):
    """What kernels reach for one number of features.

    d; microseconds of a pass and of a factorisation, and operations a second of both; `bound`: operations a
    second that the bandwidth of the cache that holds the rows allows a pass, at most the peak.
    """

    d: int
    pass_microseconds: float
    pass_rate: float
    bound: float
    factor_microseconds: float
    factor_rate: float


@numba.njit(fastmath={"contract", "reassoc"})
def _multiply_add(values, factor, repeats):
    """Chains of multiply-adds, one a lane: lanes are independent, so that they vectorise and overlap."""
    for _ in range(repeats):
        for i in range(values.size):
            x = values[i]
            for _ in range(_MULTIPLY_ADDS):
                x = x * factor + 1e-9
            values[i] = x


@numba.njit(fastmath={"contract", "reassoc"})
def _dot(a, b, repeats):
    total = 0.0
    for _ in range(repeats):
        for i in range(a.size):
            total += a[i] * b[i]
        a[0] += 1e-9  # or the sums would all be one
    return total


def best_seconds(run: Callable[[int], object], least: float = 0.02, tries: int = 7) -> float:
    """Return the CPU seconds of one repetition of `run(repeats)`: the least over tries, each long enough."""
    repeats = 1
    run(1)
    while True:
        start = time.process_time()
        run(repeats)
        if time.process_time() - start > least:
            break
        repeats *= 2
    seconds = []
    for _ in range(tries):
        start = time.process_time()
        run(repeats)
        seconds.append((time.process_time() - start) / repeats)
    return min(seconds)


def measure_machine() -> Machine:
    """Measure peak and bandwidths of one core."""
    lanes = np.linspace(0.5, 1.0, _LANES)
    loop = 2 * _LANES * _MULTIPLY_ADDS / best_seconds(lambda n: _multiply_add(lanes, 0.999, n))
    square = np.asfortranarray(np.random.default_rng(0).normal(size=(512, 512)))

    def products(repeats: int) -> None:
        for _ in range(repeats):
            blas.dgemm(1.0, square, square)

    product = 2 * 512**3 / best_seconds(products)
    bandwidths = []
    for size in (_L1, _L2, _MEMORY):
        a, b = np.ones(size), np.ones(size)
        bandwidths.append(16 * size / best_seconds(lambda n, a=a, b=b: _dot(a, b, n)))
    return Machine(max(loop, product), *bandwidths)


def measure_kernels(machine: Machine, d: int) -> Share:
    """Time the gradient pass and the factorisation for d features (the intercept's is one of them)."""
    passes, factorisations = kernel_access.repeaters(ROWS, d)
    pass_seconds, factor_seconds = best_seconds(passes), best_seconds(factorisations)
    n_bytes = 8 * ROWS * d
    bandwidth = machine.l1 if n_bytes <= 16 * _L1 else machine.l2 if n_bytes <= 32 * _L2 else machine.memory
    # The triangle of the Hessian takes ROWS multiply-adds an entry; Cholesky's factor and its inverse
    # take d^3 / 3 operations each.
    factor_work = ROWS * d * (d + 1) + 2 * d**3 / 3
    return Share(
        d,
        1e6 * pass_seconds,
        4 * ROWS * d / pass_seconds,
        min(machine.peak, bandwidth * 4 / 16),
        1e6 * factor_seconds,
        factor_work / factor_seconds,
    )


def measure(features: tuple[int, ...] = FEATURES) -> tuple[Machine, list[Share]]:
    """Measure the machine and the kernels, with one thread."""
    with threadpool_limits(1):
        machine = measure_machine()
        return machine, [measure_kernels(machine, d) for d in features]


def main() -> None:
    machine, shares = measure()
    print(
        f"peak {machine.peak / 1e9:.1f} GFLOP/s, {ROWS} rows; bandwidth of the first cache, the second and "
        f"memory {machine.l1 / 1e9:.0f}, {machine.l2 / 1e9:.0f} and {machine.memory / 1e9:.0f} GB/s"
    )
    print("   d   pass us  of peak  of bound   factor us  of peak")
    for share in shares:
        print(
            f"{share.d:4d} {share.pass_microseconds:9.2f} {share.pass_rate / machine.peak:8.0%} "
            f"{share.pass_rate / share.bound:9.0%} {share.factor_microseconds:11.1f} "
            f"{share.factor_rate / machine.peak:8.0%}"
        )


if __name__ == "__main__":
    main()
