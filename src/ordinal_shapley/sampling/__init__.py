"""Monte Carlo estimates: permutations, truncation, stopping rules and the driver."""

from ordinal_shapley.sampling.convergence import MaxStandardError, RankStability, RelativeChange
from ordinal_shapley.sampling.driver import sample_values
from ordinal_shapley.sampling.history import History
from ordinal_shapley.sampling.stopping import MaxEvaluations, MaxPermutations, MaxSeconds, StoppingRule
from ordinal_shapley.sampling.truncation import Truncation

__all__ = [
    "History",
    "MaxEvaluations",
    "MaxPermutations",
    "MaxSeconds",
    "MaxStandardError",
    "RankStability",
    "RelativeChange",
    "StoppingRule",
    "Truncation",
    "sample_values",
]
