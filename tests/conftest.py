"""Settings of the whole suite."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def _one_blas_thread() -> Iterator[None]:
    """On small matrices BLAS threads only get in each other's way, a hundredfold on a busy machine."""
    with threadpool_limits(1):
        yield


@pytest.fixture(autouse=True, scope="session")
def _ctrl_c_is_heard() -> None:
    """A shell that starts the suite in the background has it ignore interrupts, and its children, too."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def run(capsys, monkeypatch):
    """Run the command line in a wide and plain terminal: exit code, screen, errors."""
    from ordinal_shapley import cli

    monkeypatch.setenv("COLUMNS", "300")
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as exit:
            cli.main([str(argument) for argument in arguments])
        return exit.value.code, *capsys.readouterr()

    return call
