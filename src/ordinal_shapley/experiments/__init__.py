"""Experiments on values of training rows, and the baselines beside them.

`ordinal_shapley.corrupt_labels`, `ordinal_shapley.remove_high_value` and
`ordinal_shapley.detect_noisy_labels` are at the top of the package; here are other values to compare with.
"""

from ordinal_shapley.experiments.baselines import data_oob, knn_shapley, leave_one_out

__all__ = ["data_oob", "knn_shapley", "leave_one_out"]
