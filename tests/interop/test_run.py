"""An environment that cannot be made, and a test that fails, are a failure of the whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import environments
from bench.environments import EnvironmentFailedError, Recipe, is_ready, make_environment
from interop import run


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """Commands that would be run; making an environment makes its folder, "missing" cannot be installed."""
    seen = []

    def pretend(*command):
        seen.append(command)
        if "venv" in command:
            Path(command[-1]).mkdir()
        if "missing" in command:
            raise EnvironmentFailedError("ERROR: no such thing")

    monkeypatch.setattr(environments, "_run", pretend)
    return seen


def test_the_first_set_that_installs_is_taken_and_left_alone(tmp_path, commands):
    folder, recipe = tmp_path / "env", Recipe((("missing",), ("there", "too"), ("never",)))
    assert not is_ready(folder, recipe)
    assert make_environment(folder, recipe) == ("there", "too")
    assert is_ready(folder, recipe)
    before = len(commands)
    assert make_environment(folder, recipe) is None
    assert len(commands) == before and not any("never" in command for command in commands)


def test_other_requirements_are_another_environment(tmp_path, commands):
    folder = tmp_path / "env"
    make_environment(folder, Recipe((("there",),)))
    (folder / "left behind").touch()
    assert make_environment(folder, Recipe((("more",),))) == ("more",)
    assert not (folder / "left behind").exists()


def test_nothing_is_left_of_an_environment_that_failed(tmp_path, commands):
    with pytest.raises(EnvironmentFailedError, match="no such thing"):
        make_environment(tmp_path / "env", Recipe((("missing",),)))
    assert not (tmp_path / "env").exists()


def test_no_python_is_old_enough(tmp_path, commands):
    with pytest.raises(EnvironmentFailedError, match=r"no Python 3\.9 to 3\.8 on the path"):
        make_environment(tmp_path / "env", Recipe((("there",),), newest_python=8))
    assert commands == []


@pytest.fixture
def outcome(tmp_path, monkeypatch):
    """Run main with environments and tests that end as told; returns its status and what was tested."""
    monkeypatch.setattr(run, "HOME", tmp_path)

    def play(names, missing=(), failing=()):
        tested = []

        def prepare(name):
            if name in missing:
                raise EnvironmentFailedError("no network")
            return tmp_path / name

        def run_tests(name, python):
            tested.append(name)
            return 1 if name in failing else 0

        monkeypatch.setattr(run, "prepare", prepare)
        monkeypatch.setattr(run, "run_tests", run_tests)
        return run.main(names), tested

    return play


def test_all_is_well_only_if_everything_is(outcome, capsys):
    assert outcome([]) == (0, ["pydvl", "opendataval"])
    assert outcome([], failing=["pydvl"]) == (1, ["pydvl", "opendataval"])
    assert outcome([], missing=["pydvl"]) == (1, ["opendataval"])
    assert outcome(["opendataval"]) == (0, ["opendataval"])
    assert "pydvl: no environment: no network\nfailed: pydvl" in capsys.readouterr().err
    assert outcome(["numpy"]) == (1, [])
