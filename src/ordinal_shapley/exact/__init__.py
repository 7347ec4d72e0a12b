"""Exact values by compiled enumeration of all sequences."""

from ordinal_shapley.exact.values import ExactValues, exact_values

__all__ = ["ExactValues", "exact_values"]
