"""What is said while kernels are compiled, and compiling them ahead."""

from __future__ import annotations

import pytest

import ordinal_shapley as osv
from ordinal_shapley.common.compiling import compiling_line
from ordinal_shapley_kernels import abi, watching
from problems import JIT


def pretend():
    """Tell whoever watches that kernels are compiled, and then that they have been."""
    watching.Watcher.report(True)
    watching.Watcher.report(True)
    watching.Watcher.report(False)


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("TTY_COMPATIBLE", "1")


def test_nothing_is_said_where_nobody_watches(capsys):
    with compiling_line():
        pretend()
    assert capsys.readouterr().err == ""


def test_a_broken_stderr_stops_nothing(terminal, monkeypatch):
    class Broken:
        def write(self, text):
            raise BrokenPipeError

    monkeypatch.setattr("sys.stderr", Broken())
    with compiling_line():
        pretend()


def test_compiling_ahead():
    n_kernels = osv.compile_kernels(n_jobs=1)
    assert n_kernels == (len(abi.all_symbols()) if JIT else 0)
    if JIT:
        assert all(symbol.is_compiled for symbol in abi.all_symbols())


def test_the_command(run):
    code, out, err = run("compile", "--jobs", 1)
    assert (code, err) == (0, "")
    assert f" {len(abi.all_symbols()) if JIT else 0} kernels" in out
