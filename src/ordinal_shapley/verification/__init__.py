"""Estimates against exact values: what is noise, and what the method of sampling costs in bias."""
