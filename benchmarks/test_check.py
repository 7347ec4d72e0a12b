"""The regression check itself: no benchmark."""

from __future__ import annotations

import json

import check_ratios


def entry(work, seconds, baseline, full=True):
    info = {"table": "refit", "work": work, "units": 2.0, "baselines": {"loop": baseline}, "full": full}
    return {"stats": {"median": seconds}, "extra_info": info}


def write(path, *entries):
    path.write_text(json.dumps({"benchmarks": list(entries)}), encoding="utf-8")
    return str(path)


def test_a_drop_of_more_than_30_percent_fails(tmp_path, capsys):
    run, reference = tmp_path / "run.json", str(tmp_path / "reference.json")
    # 10 seconds a unit against one: a ratio of 10.
    before = write(run, entry("wine", 2.0, 10.0), entry("gone", 2.0, 4.0))
    assert check_ratios.main(before, reference, "--update") == 0
    # The machine is half as fast, and so is the baseline: the ratio is the same.
    assert check_ratios.main(write(run, entry("wine", 4.0, 20.0)), reference) == 0
    assert "missing  refit: gone, against loop: was 4.0" in capsys.readouterr().out
    assert check_ratios.main(write(run, entry("wine", 2.0, 7.1)), reference) == 0
    assert check_ratios.main(write(run, entry("wine", 2.0, 6.9)), reference) == 1
    assert "DROPPED  refit: wine, against loop: 10.0 -> 6.9" in capsys.readouterr().out


def test_a_quick_run_is_refused(tmp_path, capsys):
    run = write(tmp_path / "run.json", entry("wine", 2.0, 10.0, full=False))
    assert check_ratios.main(run, str(tmp_path / "reference.json"), "--update") == 2
    assert "not a full run" in capsys.readouterr().err
