"""Exact values by compiled enumeration of all sequences."""
