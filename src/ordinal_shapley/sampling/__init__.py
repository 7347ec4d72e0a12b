"""Monte Carlo estimates: permutations, truncation, stopping rules and the driver."""

from ordinal_shapley.sampling.driver import sample_values
from ordinal_shapley.sampling.history import History
from ordinal_shapley.sampling.stopping import MaxPermutations, RelativeChange, StoppingRule
from ordinal_shapley.sampling.truncation import Truncation

__all__ = ["History", "MaxPermutations", "RelativeChange", "StoppingRule", "Truncation", "sample_values"]
