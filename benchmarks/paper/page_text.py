"""The words of the page; what they say of figures is made from the figures."""

from __future__ import annotations

from typing import Any

import pandas as pd

from paper import printed
from paper.markdown import DATASETS, listed, number
from paper.methods import BASELINES, NAMES, PAPER_METHODS

_BELOW = 0.45  # ROC AUC from which on ranks are upside down, and not just by chance

VALUES_CAPTION = (
    "How well values find a fifth of labels that are wrong: area under the ROC curve, 1 for all found "
    "first, 0.5 (dotted) for chance. Small marks are runs, large ones their means."
)
REMOVAL_CAPTION = (
    "Figure 2 of the paper: accuracy on held-out rows as rows go from the highest value down, labels as "
    "published. Means of runs, with their standard deviation."
)
NOISY_CAPTION = (
    "Figure 3 of the paper: a fifth of the labels is wrong, and rows go from the highest value down or "
    "from the lowest up. Left the paper's three methods, right other values."
)
DETECTION_CAPTION = "Share of the wrong labels found as rows are inspected from the lowest value up."

WHY = """
Under Gaussian weights the first and the last row of a sequence weigh almost nothing, and a row that
joins moves every other row to another weight. The partial ordinal value lets rows join at the end
only, so its marginal contributions are mostly the shift of everybody else's weights, whatever the
new row says. The ordinal value lets a row join at every place, and counts every prefix of a
permutation for every row.

This can be measured with a ghost: a row of weight 0 in the place of the one that joins. It shifts
the others just the same and teaches the model nothing. Over random sequences, in points of accuracy
(mean absolute change):
"""

REMOVAL = """
Models are trained again on what is left, without weights of positions, at 20 marks that are a
twentieth of the rows apart. The lower the curve, the better the values say which rows the model
lives on. The paper's Table 1 is called an average AUC; its size is that of the sum of the
accuracies at the first ten marks, which the authors' public code computes, and so is what stands
here. A mean area by trapezoids is in the table of all methods below.
"""

NOISY = """
A fifth of the labels of the rows valued is changed, each to another class with equal chances. Other
rows keep theirs. "High first" and "low first" are mean heights of removal curves over all marks by
trapezoids: values are good if the first is low and the second high. ROC AUC is the chance that a
row with a wrong label has a lower value than one with a right label; precision is the share of
wrong labels among as many of the lowest rows as there are wrong labels. Leave-one-out is about the
model without weights of positions. Seconds are those of one core.
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
learning" (arXiv:2305.01660), run again and carried on. This page is written by

```sh
{record["command"]}
```

and so is every figure on it: {_runs(record)}, ordinal-shapley
{record["versions"]["ordinal-shapley"]}, {record["date"]}, in {record["seconds"] / 60:.1f} minutes on
{record["settings"]["processes"]} processes of one machine ({record["cpu"]}).
`make reproduce` writes it into the documentation. The same seed gives the same tables; times
differ.
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
            f"From equal permutations it is ahead of the {name} value in {won} of {total} "
            f"comparisons (mean differences of ROC AUC {gap})."
        )
    classic = differences[differences["less"] == "classic"]
    few = (classic["budget"] == 300) | (classic["budget"] == 25_000)
    take = "where\npositions mean nothing to you, take it"
    if 2 * int((classic[few]["mean"] <= 0).sum()) > int(few.sum()):
        take = "where\npositions mean nothing to you, or fits are few, take it"
    behind = [f"{int((rows['mean'] <= 0).sum())} of {len(rows)}" for rows in (classic[few], classic[~few])]
    text = f"""
**To find wrong labels, use the ordinal value, or the classic one of a model that knows no
positions; not the partial ordinal value.** The paper could compute the partial ordinal value only.
Here it is compared with the ordinal value, estimated from the very same permutations and model fits
(how: docs/ordinal.md), and with the classic one, of the same model without weights of positions.
{sentences[0]} {sentences[1]} A comparison is one run on one data set with one number of permutations, so
they are not all independent.{_few_runs(equal)} The classic value is as good or better in
{behind[0]} settings of few fits (300 permutations or 25,000 fits) and in {behind[1]} of more: {take}.

Features are standardised and the empty sequence is worth the score of the commonest label, the
default of the library. Walks are full for equal permutations. For equal model fits, walks are also
cut short by the patience rule (for the ordinal value the full utility then stands in for what was
not evaluated) or made shorter without bias (roulette, see docs/variance.md). On the command line,
`ordinal-shapley experiment noise` makes this comparison on your own rows, and
`ordinal-shapley value --value ordinal` values them.
"""
    return text


def _few_runs(differences: pd.DataFrame) -> str:
    if differences["runs"].min() >= _ENOUGH_RUNS:
        return ""
    return f" Fewer than {_ENOUGH_RUNS} runs a setting say little, and their times less."


def same_permutations(record: dict[str, Any]) -> str:
    """Say what differences are paired by."""
    seeds = listed([str(seed) for seed in record["settings"]["seeds"]])
    return f"""
Means ± standard deviations of ROC AUC over runs; differences with Student's 95 % intervals. A
difference is taken within a run: the same split, the same wrong labels, the same permutations. For
equal permutations, run by run (seeds {seeds}):
"""


def influence(influences: pd.DataFrame) -> str:
    """Say what the table of ghosts shows."""
    mean = influences.groupby("place")[["total", "shift", "own", "correlation"]].mean()
    last, anywhere = (mean.to_dict("index")[place] for place in ("last", "anywhere"))
    return f"""
What a row that comes last changes and what its ghost changes correlate by
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
sequence as in the authors' public code: {"; ".join(lines)}. Reasons are
[below](#where-these-figures-differ-from-the-papers-and-why).
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
To find wrong labels and nothing else, try the baselines, too, which know no order. As good as the ordinal
value or better in ROC AUC, in the paper's setting below: {"; ".join(found)}. In Python they are in
`ordinal_shapley.experiments`.
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
On {listed([DATASETS[name] for name in low])} TMC ranks wrong labels above right ones. That is
mostly the doing of the empty value: where a sequence that lacks a class is worth 0, the row that
completes the classes takes the credit for the whole first model. In data with one rare class that
row mostly bears the rare label, and most labels that were changed have become the rare one. "Empty:
majority" is TMC with the score of the commonest label in place of 0; ROC AUC of TMC: {shown}.
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
{timed:,} fits in whole walks of the same algorithms over the same rows on the same machine
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
  others are held out. The paper's sums of 6.6 are an accuracy of 0.66 a mark, below the 0.76 of
  always predicting the commoner class."""
    return f"""
- **The splits.** The paper names sizes but no seeds, so its rows are others.
  {_runs(record).capitalize()}: standard deviations are beside the means.
- **Labels of the rows that score.** The authors' public code changes labels before the split for
  Wine and Cancer, so that a fifth of the labels that score models is wrong too, and no model can
  score above about 0.8. Here, as the paper's text has it, only rows that are valued are changed.
  The last column of Table 1 has it their way.{other_cancer}
- **Convergence of the solver.** Models here are converged until no decision can change. liblinear
  with its default tolerance stops earlier on Wine's raw features, whose scales differ a
  thousandfold.
- **When a run stops.** The paper says "criteria not met". The authors' code looks at mean relative
  changes over 100 permutations, which values close to 0 keep from ever being small; here the change
  of a value is taken relative to at least the mean size of all
  ({record["settings"]["stopping"]}). So numbers of permutations, and with them times, are not
  comparable one to one.
- **The rule that truncates.** Here it is the paper's text: within 0.05 of the full utility of the
  same permutation. The authors' code compares with a score of the given order, relatively, and
  waits for six such steps.
- **The empty sequence** is worth 0, as in the paper, and so is one that lacks a class, of which the
  paper says nothing. In the authors' code both are worth the share of the commonest label. On data
  with a rare class this changes the values of its rows a lot. The last column of Table 1 has it
  their way.{adult}
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
- Rows valued, to score models, held out: {sizes}. Drawn at random.
- Features: Wine and Cancer as they are, Cancer's categories one column each; Adult's numbers
  standardised, its categories one column each. Standardised in the comparison of values.
- Seeds drawn from that of the run, for the split, the wrong labels and the permutations: {seeds}.
- TMC, CMC, CTMC: truncation 0.05, class fraction 0.8, {settings["stopping"]}, the empty sequence
  worth 0. MC is the same without truncation. Ordinal: walks cut short by
  `PatienceTruncation()`, not by the roulette that is the library's default. Classic TMC: no weights
  of positions. KNN-Shapley: 5 neighbours (Jia et al. 2019). Data-OOB: 1,000 trees (Kwon and Zou 2023).
- Claims are held against
  {"; ".join(DATASETS[name] for name in settings["sizes"])}{_not_in_paper(settings)}.
- Machine: {record["cpu"]}, {record["cores"]} cores, {record["system"]}. Versions: python
  {record["python"]}, {versions}.
"""


def _not_in_paper(settings: dict[str, Any]) -> str:
    others = [DATASETS[name] for name in settings["sizes"] if name not in printed.TABLE_1]
    return f"; {listed(others)} is not in the paper's text" if others else ""


def cautions(warnings: pd.DataFrame, methods: pd.DataFrame) -> str:
    """List the warnings that runs gave, and which were stopped by the cap."""
    lines = []
    for (dataset, labels, method), group in warnings.groupby(["dataset", "labels", "method"], sort=False):
        name = f"{DATASETS[str(dataset)]}, {labels}, {NAMES[str(method)]}"
        lines.append(f'- {name}: in {len(group)} runs, first "{group["warning"].iloc[0]}"')
    for row in methods[methods["capped"] > 0].to_dict("records"):
        lines.append(
            f"- {DATASETS[row['dataset']]}, {row['labels']}, {NAMES[row['method']]}: stopped by the cap in "
            f"{row['capped']} of {row['runs']} runs"
        )
    return "What the library warned of in these runs:\n\n" + "\n".join(lines) if lines else ""
