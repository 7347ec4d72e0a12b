"""The bar shows what it is told, where it can be seen, and never breaks a run."""

from __future__ import annotations

import io
import re
import sys
import time

import pytest

from ordinal_shapley.common import progress
from ordinal_shapley.common.progress import ProgressBar


@pytest.fixture(autouse=True)
def wide_and_unthrottled(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.delenv("TTY_COMPATIBLE", raising=False)
    monkeypatch.setattr(progress, "_REFRESH_SECONDS", 0.0)


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


def test_sequences_are_counted_to_their_end(capsys):
    text = shown(capsys, (100, 100, 1.0), (500, 500, 2.0), total=1_000, force=True, unit="sequences")
    assert "500/1,000 sequences" in text
    assert "400 sequences/s" in text
    assert "  0:01 left" in text
    assert "at most" not in text


def test_first_report_alone_has_a_rate(capsys):
    assert "20 fits/s" in shown(capsys, FIRST, force=True)


def test_without_a_total_there_is_no_time_left(capsys):
    text = shown(capsys, FIRST, SECOND, total=None, force=True)
    assert "200 permutations" in text
    assert "left" not in text


def began(capsys, *updates, total=10_000, **options):
    """What is shown of permutations that begin after 20 s and 100 fits."""
    with ProgressBar(force=True) as bar:
        bar.begin("permutations", total, "starting", evaluations=100, seconds=20.0, **options)
        for update in updates:
            bar.update(*update)
    return capsys.readouterr().err


def test_what_went_before_is_no_part_of_the_rates(capsys):
    text = began(capsys, (10, 300, 22.0), total=30)
    assert "0/30 permutations" in text
    assert "100 fits/s" in text
    assert "at most 0:04 left" in text
    assert "quicker" not in text


def test_a_forecast_comes_before_the_first_report(capsys):
    assert re.search("at most 0:(40|3[5-9]) left", began(capsys, expected=40.4))
    assert re.search("at most 0:(30|2[5-9]) left", began(capsys, expected=100.0, most_seconds=50.4))


@pytest.mark.parametrize("updates", [[], [(10, 300, 22.0)]])
def test_a_long_forecast_says_once_what_would_be_quicker(capsys, updates):
    expected = None if updates else 1_998.5
    text = began(capsys, *updates, (20, 500, 24.0), (30, 700, 26.0), expected=expected)
    # The clock goes on while things are loaded.
    line = (
        r"10,000 permutations, if it takes all, need 33:1\d; quicker: fewer permutations \(n_permutations=\)"
    )
    (found,) = re.finditer(line, text)
    assert found.start() < text.index("30/10,000 permutations")


def test_no_such_line_with_a_limit_of_time_or_too_early_to_say(capsys):
    assert "quicker" not in began(capsys, (10, 300, 22.0), (20, 500, 24.0), most_seconds=600.0)
    assert "quicker" not in began(capsys, (10, 300, 20.5))
    assert "quicker" not in began(capsys, (10, 300, 22.0), total=None)


def test_the_command_line_has_words_of_its_own(capsys):
    with progress.quicker("--minutes M"):
        assert re.search(r"need 33:1\d; quicker: --minutes M", began(capsys, expected=1_998.5))
    assert "quicker: fewer permutations" in began(capsys, expected=1_998.5)


def test_time_passes_while_nothing_is_reported(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_TICK_SECONDS", 0.05)
    with ProgressBar(force=True) as bar:
        bar.begin("permutations", 100, "starting", expected=10.4)
        time.sleep(1.3)
    assert "0:09 left" in capsys.readouterr().err


def test_an_empty_figure_keeps_the_last(capsys):
    text = shown(capsys, FIRST, (200, 3_000, 52.0), force=True)
    assert text.count("change 0.2") >= 2


def test_silent_when_disabled_or_no_terminal(capsys):
    assert shown(capsys, FIRST, SECOND, enabled=False, force=True) == ""
    assert shown(capsys, FIRST, SECOND) == ""


def test_notebooks_get_a_plain_line(capsys, monkeypatch):
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    text = shown(capsys, FIRST, SECOND)
    assert "\r200/1,000 permutations" in text
    assert text.endswith("\n")
    assert "\x1b" not in text


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


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0:00"), (59.6, "1:00"), (3_725, "1:02:05"), (90_000, "25:00:00")]
)
def test_clock(seconds, words):
    assert progress._clock(seconds) == words
