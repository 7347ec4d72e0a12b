"""Truncated permutation sampling, against pyDVL and OpenDataVal."""

from __future__ import annotations

from typing import Any

from bench.results import entries, ratio, seconds_each
from page.tables import number, section, table

TITLE = "Truncated permutations, against other libraries"
TEXT = """\
Classic Shapley values by permutations that end early, of the same logistic regression
(`LogisticRegression(solver="liblinear")`; ours with `position_weight="uniform"`), scored by accuracy. One
thread each, CPU time, medians of {rounds} rounds in turns; each rival in an environment and a process of
its own, with scikit-learn 1.3.2 or the next version that can be had, which is faster there than newer
ones. That the models are the same was checked on prefixes of an order.

- *pyDVL*: `ShapleyValuation` with a `PermutationSampler` and `RelativeTruncation(rtol=0.01)`, without
  burn-in. Ours is `method="tmc"` with `PatienceTruncation(0.01, patience=1, target="given")`, the same
  rule. What differs: with two of Wine's three classes in a prefix pyDVL scores a model of two classes,
  where ours has no model and scores 0.
- *OpenDataVal*: `DataShapley` with `TMCSampler`. It ends a permutation after ten steps in a row that
  change nothing (or that leave the score below where it began), and starts at five rows. None of our rules
  is that one, so ours evaluates every prefix (`method="mc"`): more work a permutation. The
  last column allows for it."""


def write(run: dict[str, Any]) -> str:
    """Return the section."""
    found = entries(run, "tmc")
    rows = []
    for entry in found:
        info = entry["extra_info"]
        (name,) = info["targets"]
        fits, baseline_fits = info["fits_a_permutation"], info["baseline_fits_a_permutation"]
        speedup = ratio(entry, name)
        rows.append(
            (
                info["work"],
                info["rival"],
                f"{number(1.0 / info['baselines'][name])} ({number(baseline_fits)})",
                f"{number(1.0 / seconds_each(entry))} ({number(fits)})",
                number(speedup),
                info["targets"][name],
                number(None if speedup is None else speedup * fits / baseline_fits),
            )
        )
    columns = (
        "work",
        "rival",
        "rival: permutations/s (fits in one)",
        "ours: permutations/s (fits in one)",
        "ratio",
        "target",
        "ratio a fit",
    )
    rounds = found[0]["stats"]["rounds"] if found else "several"
    return section(TITLE, TEXT.format(rounds=rounds), table(columns, rows, words=2) if rows else None)
