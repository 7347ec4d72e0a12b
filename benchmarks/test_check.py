"""The regression check itself: no benchmark."""

from __future__ import annotations

import json

import check_ratios
from bench import results


def entry(work, seconds, baseline, full=True):
    info = {"table": "refit", "work": work, "units": 2.0, "baselines": {"loop": baseline}, "full": full}
    stats = {"min": seconds, "median": seconds, "max": seconds, "rounds": 1}
    return {"name": work, "stats": stats, "extra_info": info}


def write(path, *entries):
    machine = {"cpu": {}, "machine": "abacus", "system": "Linux", "python_version": "3.11.7"}
    failed = {"name": "failed", "stats": {}, "extra_info": {}}
    run = {"datetime": "2026-11-28T12:00", "machine_info": machine, "benchmarks": [*entries, failed]}
    path.write_text(json.dumps(run), encoding="utf-8")
    return str(path)


def test_a_drop_of_more_than_30_percent_fails(tmp_path, capsys):
    run, reference = tmp_path / "run.json", tmp_path / "reference.json"
    # 10 seconds a unit against one: a ratio of 10.
    before = write(run, entry("wine", 2.0, 10.0), entry("gone", 2.0, 4.0))
    reference.write_text(json.dumps(results.read(before)), encoding="utf-8")
    # The machine is half as fast, and so is the baseline: the ratio is the same.
    assert check_ratios.main(write(run, entry("wine", 4.0, 20.0)), str(reference)) == 0
    assert "missing  refit: gone, against loop: was 4.0" in capsys.readouterr().out
    assert check_ratios.main(write(run, entry("wine", 2.0, 7.1)), str(reference)) == 0
    assert check_ratios.main(write(run, entry("wine", 2.0, 6.9)), str(reference)) == 1
    assert "DROPPED  refit: wine, against loop: 10.0 -> 6.9" in capsys.readouterr().out


def test_a_quick_run_is_refused(tmp_path, capsys):
    run = write(tmp_path / "run.json", entry("wine", 2.0, 10.0, full=False))
    assert check_ratios.main(run, str(tmp_path / "reference.json")) == 2
    assert "not a full run" in capsys.readouterr().err


def test_what_all_units_need_is_shared_out():
    one = {
        "stats": {"median": 2.0},
        "extra_info": {"units": 4, "baselines": {"loop": 3.0}, "setup_share": 0.25},
    }
    assert results.seconds_each(one) == 0.75
    assert results.ratio(one, "loop") == 4.0
