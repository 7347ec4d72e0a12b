"""What is said while kernels are compiled, and compiling them ahead."""

from __future__ import annotations

import pytest

import ordinal_shapley as osv
from ordinal_shapley.common import compiling
from ordinal_shapley.common.compiling import COMPILING, compiling_line, says_when_compiling
from ordinal_shapley.common.progress import ProgressBar
from ordinal_shapley_kernels import abi, watching
from problems import JIT


def pretend():
    """Tell whoever watches that kernels are compiled, and then that they have been."""
    watching.Watcher.tell(True)
    watching.Watcher.tell(True)
    watching.Watcher.tell(False)


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr(compiling, "_is_watched", lambda: True)


def test_the_line_comes_once_and_goes_away(terminal, capsys):
    with compiling_line():
        pretend()
    pretend()
    err = capsys.readouterr().err
    assert err == f"\r{COMPILING}\r{' ' * len(COMPILING)}\r"


def test_the_line_goes_away_when_compiling_is_interrupted(terminal, capsys):
    def interrupted():
        with compiling_line():
            watching.Watcher.tell(True)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert capsys.readouterr().err.endswith(f"{' ' * len(COMPILING)}\r")


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


@pytest.mark.parametrize(
    ("options", "told"), [({"progress": True}, True), ({"progress": False}, False), ({}, False)]
)
def test_functions_say_it_where_progress_is_wanted(terminal, capsys, options, told):
    @says_when_compiling
    def run(progress=False):
        pretend()
        return 7

    assert run(**options) == 7
    assert (COMPILING in capsys.readouterr().err) == told


def test_the_bar_says_it(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    with ProgressBar(total=10, force=True):
        watching.Watcher.tell(True)
        during = capsys.readouterr().err
        watching.Watcher.tell(False)
    assert COMPILING in during
    assert watching.Watcher.callbacks == []


def test_public_functions_say_it():
    for function in (osv.sample_values, osv.exact_values, osv.verify, osv.check_axioms):
        assert hasattr(function, "__wrapped__")


def test_compiling_ahead():
    n_kernels = osv.compile_kernels(n_jobs=1)
    assert n_kernels == (len(abi.all_symbols()) if JIT else 0)
    if JIT:
        assert all(symbol.is_compiled for symbol in abi.all_symbols())


def test_bad_numbers_of_processes():
    with pytest.raises(ValueError, match="n_jobs is 0"):
        osv.compile_kernels(n_jobs=0)
    with pytest.raises(TypeError, match="n_jobs is 'all'"):
        osv.compile_kernels(n_jobs="all")


def test_the_command(run):
    code, out, err = run("compile", "--jobs", 1)
    assert (code, err) == (0, "")
    assert out.startswith(f"{len(abi.all_symbols()) if JIT else 0} kernels are compiled (")
