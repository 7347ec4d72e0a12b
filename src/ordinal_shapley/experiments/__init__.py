"""Experiments on values of training rows, and the baselines beside them.

`ordinal_shapley.corrupt_labels`, `ordinal_shapley.remove_high_value` and
`ordinal_shapley.detect_noisy_labels` are at the top of the package; here are baselines to compare with, and
functions that find label errors better than values alone.
"""

from ordinal_shapley.evidence.confidence import self_confidence
from ordinal_shapley.evidence.labels import LabelEvidence, combined_rank
from ordinal_shapley.experiments.baselines import data_oob, knn_shapley, leave_one_out

__all__ = [
    "LabelEvidence",
    "combined_rank",
    "data_oob",
    "knn_shapley",
    "leave_one_out",
    "self_confidence",
]
