"""Settings of the whole suite."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def _one_blas_thread() -> Iterator[None]:
    """On small matrices BLAS threads only get in each other's way, a hundredfold on a busy machine."""
    with threadpool_limits(1):
        yield
