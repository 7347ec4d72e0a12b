"""Estimates against exact values: what is noise, and what the method of sampling costs in bias."""

from ordinal_shapley.verification.comparison import Verification, verify

__all__ = ["Verification", "verify"]
