"""The words of the page; what they say of figures is made from the figures."""

from __future__ import annotations

from typing import Any

import pandas as pd

from paper import printed
from paper.markdown import DATASETS, listed, number
from paper.methods import BASELINES, NAMES, PAPER_METHODS

_BELOW = 0.45  # ROC AUC from which on ranks are upside down, and not just by chance

VALUES_CAPTION = (
    "How well values find labels of which a fifth is flipped: area under the ROC curve, 1 if all are found "
    "first, 0.5 (dotted) for chance. Small marks are runs, large ones their means."
)

APPENDIX = """
What stands behind the [summary](reproduction.md): all figures, made by the same runs.
"""
REMOVAL_CAPTION = (
    "Figure 2 of the paper: accuracy on the test set as rows are removed, highest values first, labels as "
    "published. Means of runs, with their standard deviation."
)
NOISY_CAPTION = (
    "Figure 3 of the paper: a fifth of the labels is flipped, and rows are removed from the highest value "
    "down or from the lowest up. Left the paper's three methods, right other values."
)
DETECTION_CAPTION = "Share of the wrong labels found as rows are inspected from the lowest value up."

WHY = """
Under Gaussian weights the first and the last row of a sequence weigh almost nothing, and a row that
joins changes the weight of every other row. The partial ordinal value lets rows join at the end
only, so its marginal contributions are mostly the shift of all other rows' weights, whatever the
new row says. The ordinal value lets a row join at every place, and counts every prefix of a
permutation for every row.

This can be measured with a ghost: a row of weight 0 in the place of the one that joins. It shifts
the weights of the others in the same way, and teaches the model nothing. Over random sequences, in points
of accuracy (mean absolute change):
"""

REMOVAL = """
Models are trained again on the rows that are left, without position weights, at 20 marks, a twentieth
of the rows apart. The lower the curve, the better the values say which rows the model depends on. The
paper's Table 1 is called an average AUC; by its size it is the sum of the accuracies at the first ten
marks, which the authors' public code computes, and which is given here. Mean areas by trapezoids are in
the table of all methods below.
"""

NOISY = """
A fifth of the labels of the rows valued is flipped, each to another class with equal probability. Other
rows keep theirs. "High first" and "low first" are mean heights of removal curves over all marks by
trapezoids: values are good if the first is low and the second high. ROC AUC is the probability that a
row with a wrong label has a lower value than one with a right label; precision is the share of
wrong labels among as many of the lowest rows as there are wrong labels. Leave-one-out uses the model
without position weights. Seconds are those of one core.
"""

SCALED_BASELINES = """
The same wrong labels found by scores that need no permutations, on the same standardised features; ROC AUC,
means ± standard deviations over runs. Self-confidence is the cross-validated probability of a row's label,
by models that have the validation rows in their training folds.
"""
# Fewer give intervals of one degree of freedom.
_ENOUGH_RUNS = 3


def opening(record: dict[str, Any]) -> str:
    """Say what the page is and how to make it again."""
    return f"""
# The paper's experiments, reproduced

Section 5 of J. Liu, P. Wang, C. Wu, "Data valuation: The partial ordinal Shapley value for machine
learning" (arXiv:2305.01660), run again and extended. This page is a summary; the
[appendix](reproduction_tables.md) has all tables. Both are written by

```sh
{record["command"]}
```

and so is every figure in them: {_runs(record)}, ordinal-shapley
{record["versions"]["ordinal-shapley"]}, {record["date"]}, in {record["seconds"] / 60:.1f} minutes on
{record["settings"]["processes"]} processes of one machine ({record["cpu"]}).
The same seed gives the same tables; times differ.
"""


def _runs(record: dict[str, Any]) -> str:
    seeds = record["settings"]["seeds"]
    if len(seeds) == 1:
        return f"one run, with seed {seeds[0]}"
    return f"{len(seeds)} runs, with seeds {listed([str(seed) for seed in seeds])}"


def advice(differences: pd.DataFrame) -> str:
    """Say which value finds wrong labels, as the paired differences tell."""
    sentences = []
    equal = differences[differences["unit"] == "permutations"]
    for other, name in (("partial_ordinal", "partial ordinal"), ("classic", "classic")):
        rows = equal[equal["less"] == other].to_dict("records")
        won, total = (sum(row[key] for row in rows) for key in ("above_zero", "runs"))
        gap = f"{min(row['mean'] for row in rows):+.2f} to {max(row['mean'] for row in rows):+.2f}"
        sentences.append(
            f"the {name} value in {won} of {total} comparisons (mean differences of ROC AUC {gap})"
        )
    classic = differences[differences["less"] == "classic"]
    few = (classic["budget"] == 300) | (classic["budget"] == 25_000)
    behind = [f"{int((rows['mean'] <= 0).sum())} of {len(rows)}" for rows in (classic[few], classic[~few])]
    text = f"""
**To find wrong labels by values, use the classic value, or the ordinal one where positions mean something;
not the partial ordinal value.** The paper could compute the partial ordinal value only. Here it is compared
with the ordinal value, estimated from the very same permutations and model fits
([how](theory.md#sampling-the-ordinal-value)), and with the classic one, of the same model without position
weights. From equal permutations the ordinal value is ahead of {sentences[0]} and of {sentences[1]}. A
comparison is one run on one data set with one number of permutations, so they are not all
independent.{_few_runs(equal)} The classic value is as good or better in {behind[0]} settings of few fits
(300 permutations or 25,000 fits) and in {behind[1]} of more.

Features are standardised, and the empty sequence has the score of the majority-class baseline, the
default of the library. For equal permutations every prefix is evaluated. For equal model fits,
permutations are also ended early by the patience rule (for the ordinal value the full utility then
replaces what was not evaluated) or shortened without bias (roulette, see [noise](variance.md)). On the
command line, `ordinal-shapley experiment noise` makes this comparison on your own rows.
"""
    return text


def _few_runs(differences: pd.DataFrame) -> str:
    if differences["runs"].min() >= _ENOUGH_RUNS:
        return ""
    return f" Fewer than {_ENOUGH_RUNS} runs a setting say little, and their times less."


def paired() -> str:
    """Say what the columns of the table of values are, and what differences are paired by."""
    return """
Means ± standard deviations of ROC AUC over runs; differences with Student's 95 % intervals. A difference is
taken within a run: the same split, the same wrong labels, the same permutations. The
[appendix](reproduction_tables.md) has the same for equal numbers of model fits.
"""


def influence(influences: pd.DataFrame) -> str:
    """Say what the table of ghosts shows."""
    mean = influences.groupby("place")[["total", "shift", "own", "correlation"]].mean()
    last, anywhere = (mean.to_dict("index")[place] for place in ("last", "anywhere"))
    return f"""
The effects of a row that comes last and of its ghost correlate by
{number(last["correlation"])} on average, and by {number(anywhere["correlation"])} where a row may
join anywhere. The row's own part is {number(100 * last["own"])} points at the end and
{number(100 * anywhere["own"])} anywhere.
"""


def removal_differences(table_1: pd.DataFrame) -> str:
    """Say how far Table 1 is from the paper's."""
    printed = table_1[table_1["paper"].notna()]
    if not len(printed):
        return ""
    lines = []
    for (dataset, labels), group in printed.groupby(["dataset", "labels"], sort=False):
        gaps = [
            number(float((group[name].astype(float) - group["paper"].astype(float)).mean()), 2, "+")
            for name in ("ours", "authors")
        ]
        lines.append(f"{DATASETS[str(dataset)]} {labels} {gaps[0]} ({gaps[1]})")
    return f"""
Mean difference to the paper's figures, in brackets with splits, labels and the value of the empty
sequence as in the authors' public code: {"; ".join(lines)}.
[Reasons](reproduction.md#where-these-figures-differ-from-the-papers-and-why).
"""


def baselines(methods: pd.DataFrame) -> str:
    """Say which other ways to find wrong labels are as good as the ordinal value."""
    noisy = methods[methods["labels"] == "noisy"]
    found = []
    for dataset, rows in noisy.groupby("dataset", sort=False):
        areas = dict(zip(rows["method"], rows["roc_auc"], strict=True))
        names = [name for name in BASELINES if name in areas and areas[name] >= areas["ordinal"]]
        if names:
            shown = listed([f"{NAMES[name]} {number(areas[name])}" for name in names])
            found.append(f"{DATASETS[str(dataset)]} {shown}, the ordinal value {number(areas['ordinal'])}")
    if not found:
        return ""
    return f"""
To find wrong labels and nothing else, take
[self-confidence](guides/clean_labels.md#without-values), a few fits that ignore order. These scores are as
good as the ordinal value or better in ROC AUC, in the [paper's
setting](reproduction_tables.md#wrong-labels-in-the-papers-setting): {"; ".join(found)}. In Python they are
in `ordinal_shapley.experiments`.
"""


def below_chance(methods: pd.DataFrame) -> str:
    """Explain values of the paper that rank wrong labels above right ones, where there are any."""
    noisy = methods[methods["labels"] == "noisy"]
    areas = {name: dict(zip(rows["method"], rows["roc_auc"], strict=True))
             for name, rows in noisy.groupby("dataset", sort=False)}  # fmt: skip
    low = {str(name): found for name, found in areas.items() if found["tmc"] < _BELOW}
    if not low:
        return ""
    shown = "; ".join(
        f"{DATASETS[name]} {number(found['tmc'])}, and {number(found['tmc_majority'])} with the other"
        for name, found in low.items()
    )
    return f"""
On {listed([DATASETS[name] for name in low])} TMC ranks wrong labels above right ones. The reason is
mostly the utility of the empty sequence: where a sequence that lacks a class has utility 0, the row
that completes the classes gets the credit for the whole first model. In data with one rare class that
row mostly has the rare label, and most flipped labels have become the rare one. "Empty:
majority" is TMC with the score of the majority-class baseline in place of 0; ROC AUC of TMC: {shown}.
"""


def time(table_2: pd.DataFrame, record: dict[str, Any]) -> str:
    """Say what the seconds are of, and what the loop over scikit-learn is."""
    seconds = table_2["seconds"].astype(float).sum()
    loop = table_2["loop_seconds"].astype(float).sum()
    total = table_2["paper_seconds"].astype(float).sum()
    timed = int(table_2["loop_fits_timed"].sum())
    if not timed:
        return ""
    capped = int(table_2["capped"].sum())
    cap = f"{record['settings']['cap']:,}"
    stops = (
        f"No run reached the cap of {cap} permutations."
        if not capped
        else f"{capped} runs were stopped by the cap of {cap} permutations, not by convergence."
    )
    text = f"""
Mean seconds of a run on one core. A scikit-learn loop for the same fits was timed on a sample,
{timed:,} fits in whole permutations of the same algorithms over the same rows on the same machine
(`LogisticRegression(solver="liblinear")` with its default tolerance, class by class for three
classes, which scikit-learn asks for since 1.8), and the time of one fit multiplied by the fits that
the method made. In all: {number(seconds, 1)} s here, {number(loop, 0)} s for the loop,
{number(loop / seconds, 0)} times as long. {stops}
"""
    if total > 0:
        text += f"""
The paper's figures, {number(total / 3600, 1)} hours in all, are from an Intel Xeon Silver 4108 and
from runs that stop by another figure, so only the loop is a fair comparison.
"""
    return text


def differences(record: dict[str, Any], methods: pd.DataFrame) -> str:
    """Say why figures can differ from the paper's."""
    cancer = methods[(methods["dataset"] == "cancer") & (methods["labels"] == "raw")]
    cancer = cancer[cancer["method"].isin(PAPER_METHODS)]
    best = f" (here they come to {number(cancer['half_sum'].max() / 10)} at most)" if len(cancer) else ""
    run, other_cancer, adult = set(record["settings"]["datasets"]), "", ""
    if {"cancer", "cancer-wisconsin"} & run:
        other_cancer = f"""
- **Another Cancer set.** The paper's text describes the 286 rows from Ljubljana; its Table 1 comes
  to 0.94 a mark for raw labels, which that set does not give{best}. Its public code loads the
  Wisconsin Diagnostic set, 569 rows, which is far easier. Both are here; the paper's figures for
  Cancer stand beside the first, and in brackets beside the second."""
    if "adult" in run:
        adult = """
- **Adult.** 200 rows are valued on 200 others, with features that those 200 rows show; all 48,442
  others are the test set. The paper's sums of 6.6 are an accuracy of 0.66 a mark, below the 0.76 of
  the majority-class baseline."""
    return f"""
- **The splits.** The paper names sizes but no seeds, so its rows are different ones.
  {_runs(record).capitalize()}: standard deviations are beside the means.
- **Validation labels.** The authors' public code flips labels before the split for Wine and Cancer, so
  that a fifth of the validation and test labels is wrong too, and no model can score above about 0.8.
  Here, as in the paper's text, only labels of rows that are valued are flipped. The last column of
  Table 1 follows the code.{other_cancer}
- **Convergence of the solver.** Models here are fitted until no decision can change. liblinear with
  its default tolerance stops earlier on Wine's raw features, whose scales differ a thousandfold.
- **When a run stops.** The paper says "criteria not met". The authors' code looks at mean relative
  changes over 100 permutations, which values close to 0 keep from ever being small; here the change
  of a value is taken relative to at least the mean size of all
  ({record["settings"]["stopping"]}). So numbers of permutations, and with them times, are not
  comparable one to one.
- **The rule that truncates.** Here it is the paper's text: within 0.05 of the full utility of the
  same permutation. The authors' code compares with a score of the given order, relatively, and
  waits for six such steps.
- **The empty sequence** has utility 0, as in the paper, and so has one that lacks a class, of which the
  paper says nothing. In the authors' code both have the share of the majority class. On data with a
  rare class this changes the values of its rows a lot. The last column of Table 1 follows the code.{adult}
"""


def setup(record: dict[str, Any]) -> str:
    """Say what was run."""
    settings = record["settings"]
    sizes = "; ".join(f"{DATASETS[name]} {text}" for name, text in settings["sizes"].items())
    seeds = "; ".join(
        f"run of seed {seed}: " + ", ".join(f"{what} {number}" for what, number in drawn.items())
        for seed, drawn in settings["drawn_seeds"].items()
    )
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    return f"""
- Training, validation and test rows: {sizes}. Drawn at random.
- Features: Wine and Cancer as they are, Cancer's categories one column each; Adult's numbers
  standardised, its categories one column each. Standardised in the comparison of values.
- Seeds drawn from that of the run, for the split, the wrong labels and the permutations: {seeds}.
- TMC, CMC, CTMC: truncation 0.05, class fraction 0.8, {settings["stopping"]}, the empty sequence has
  utility 0. MC is the same without truncation. Ordinal: permutations ended by `PatienceTruncation()`, not by
  the roulette that is the library's default. Classic TMC: no position weights. KNN-Shapley: 5 neighbours
  (Jia et al. 2019). Data-OOB: 1,000 trees (Kwon and Zou 2023).
- Claims are checked on
  {"; ".join(DATASETS[name] for name in settings["sizes"])}{_not_in_paper(settings)}.
- Machine: {record["cpu"]}, {record["cores"]} cores, {record["system"]}. Versions: python
  {record["python"]}, {versions}.
"""


def _not_in_paper(settings: dict[str, Any]) -> str:
    others = [DATASETS[name] for name in settings["sizes"] if name not in printed.TABLE_1]
    return f"; {listed(others)} is not in the paper's text" if others else ""


def cautions(warnings: pd.DataFrame, methods: pd.DataFrame) -> str:
    """Count the runs that warned, and name those that were stopped by the cap."""
    lines = []
    for (dataset, labels), group in warnings.groupby(["dataset", "labels"], sort=False):
        counts = [f"{NAMES[str(name)]} {len(runs)}" for name, runs in group.groupby("method", sort=False)]
        lines.append(f"- {DATASETS[str(dataset)]}, {labels}, runs with a warning: {', '.join(counts)}")
    for row in methods[methods["capped"] > 0].to_dict("records"):
        lines.append(
            f"- {DATASETS[row['dataset']]}, {row['labels']}, {NAMES[row['method']]}: stopped by the cap in "
            f"{row['capped']} of {row['runs']} runs"
        )
    intro = "Warnings, mostly that truncation ended most permutations at the row that completed the classes:"
    return f"{intro}\n\n" + "\n".join(lines) if lines else ""
