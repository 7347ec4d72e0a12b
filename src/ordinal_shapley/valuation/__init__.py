"""The result of a sampling run: a value and a standard error for every player."""

from ordinal_shapley.valuation.result import Valuation

__all__ = ["Valuation"]
