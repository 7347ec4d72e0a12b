"""Every prefix of a permutation, against refitting."""

from __future__ import annotations

from typing import Any

from bench.results import entries, ratio, seconds_each
from page.tables import MISSING, number, section, table, wrap

TEXT = """\
A logistic regression is fitted to every prefix of a random order of the training rows, with Gaussian
position weights, and scored on the validation rows. No truncation. Ours is `sample_values(game,
method="mc", n_jobs=1)` in all, checks and summing included. The baselines fit every prefix anew:

- *scikit-learn*: `LogisticRegression(solver="liblinear")` with its defaults, one `fit` and one `predict`
  a prefix. Version 1.8 and later refuse three classes: there it is three binary fits and the largest
  decision. {versions}
- *liblinear alone*: the C++ that does scikit-learn's fits, with no Python around it but one call and one
  product with the validation rows a prefix; all three classes in one call. Rows are put in order and
  weights computed beforehand, untimed.

All take turns ({rounds} rounds of one permutation of each baseline and several of ours), one thread each;
figures are medians of CPU time. The old version runs in an environment and a process of its own. Prefixes
that lack a class have no model and are not counted as fits. Accuracies were compared prefix by prefix:
the largest mean difference of a permutation was {gap:.4f} (liblinear stops at a tolerance, ours when no
decision can change). The size is rows / columns / classes / validation rows; *dense* is two normal
classes, *sparse* are texts of 100 words, given as sparse matrices to all."""


def _rows(entry: dict[str, Any]) -> list[tuple[object, ...]]:
    info = entry["extra_info"]
    ours = seconds_each(entry)
    names = {
        "scikit-learn": f"scikit-learn {info['versions']['scikit-learn']}",
        "old scikit-learn": f"scikit-learn {info['versions'].get('old scikit-learn', 'of old')}",
        "liblinear": "liblinear alone",
    }
    size = f"{info['rows']} / {info['columns']:,} / {info['classes']} / {info['validation_rows']}"
    rows: list[tuple[object, ...]] = []
    for key, name in names.items():
        seconds = info["baselines"].get(key)
        rows.append(
            (
                info["work"],
                size,
                name,
                number(None if seconds is None else 1e6 * seconds),
                number(1e6 * ours),
                number(1.0 / ours),
                number(ratio(entry, key)),
                info["targets"].get(key, ""),
            )
        )
    return rows


def write(run: dict[str, Any]) -> str:
    """Return the section."""
    found = entries(run, "refit")
    if not found:
        return section("Every prefix of a permutation, against refitting", "", None)
    old = {info["versions"].get("old scikit-learn") for info in (entry["extra_info"] for entry in found)} - {
        None
    }
    versions = (
        f"Version {' and '.join(sorted(old))} stands for what was before."
        if old
        else f"No older version could be installed, hence the {MISSING}."
    )
    rounds = sorted({entry["stats"]["rounds"] for entry in found})
    text = TEXT.format(
        versions=versions,
        rounds=" or ".join(map(str, rounds)),
        gap=max(entry["extra_info"]["gap"] for entry in found),
    )
    body = table(
        ("work", "size", "baseline", "baseline µs/fit", "ours µs/fit", "ours fits/s", "ratio", "target"),
        [row for entry in found for row in _rows(entry)],
        words=3,
    )
    setups = "; ".join(
        f"{entry['extra_info']['work']} {entry['extra_info']['setup_seconds']:.3f} s" for entry in found
    )
    body += "\n\n" + wrap(
        "Not in these figures: compiling (see the first fit below), and making the game, once for any "
        f"number of permutations: {setups} of CPU time."
    )
    return section("Every prefix of a permutation, against refitting", text, body)
