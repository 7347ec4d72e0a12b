"""The bar shows what it is told, where it can be seen, and never breaks a run."""

from __future__ import annotations

import io
import itertools
import sys
import time

import pytest

from ordinal_shapley.common.progress import ProgressBar


@pytest.fixture(autouse=True)
def wide_and_unthrottled(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.delenv("TTY_COMPATIBLE", raising=False)
    monkeypatch.setattr(time, "monotonic", itertools.count(0, 0.11).__next__)  # time goes on at each look


def shown(capsys, *updates, total=1_000, **options) -> str:
    with ProgressBar(total=total, **options) as bar:
        for update in updates:
            bar.update(*update)
    out, err = capsys.readouterr()
    assert out == ""
    return err


FIRST, SECOND = (100, 1_000, 50.0, "change 0.2"), (200, 3_000, 52.0, "change 0.1")


def test_shows_counts_rate_figure_and_time_left(capsys):
    text = shown(capsys, FIRST, SECOND, force=True)
    assert "200/1,000 permutations" in text
    assert "change 0.1" in text
    # Counted from the first report on: 2,000 fits in 2 s, and 800 permutations at 50 a second.
    assert "1,000 fits/s" in text
    assert "at most 0:16 left" in text


def test_silent_when_disabled_or_no_terminal(capsys):
    assert shown(capsys, FIRST, SECOND, enabled=False, force=True) == ""
    assert shown(capsys, FIRST, SECOND) == ""


def test_errors_pass_through(capsys):
    with pytest.raises(RuntimeError, match="boom"), ProgressBar(total=10, force=True):
        raise RuntimeError("boom")


def test_a_broken_stderr_is_ignored(monkeypatch):
    class Broken(io.StringIO):
        broken = False

        def write(self, text: str) -> int:
            if self.broken:
                raise BrokenPipeError
            return super().write(text)

    stream = Broken()
    monkeypatch.setattr(sys, "stderr", stream)
    with ProgressBar(total=1_000, force=True) as bar:
        bar.update(*FIRST)
        stream.broken = True
        bar.update(*SECOND)
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    with ProgressBar(total=1_000, force=True) as bar:
        bar.update(*FIRST)


def test_bars_may_nest(capsys):
    with ProgressBar(total=10, force=True), ProgressBar(total=10, force=True) as inner:
        inner.update(5, 50, 1.0, "inside")
