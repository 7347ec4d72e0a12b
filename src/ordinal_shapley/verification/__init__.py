"""Estimates against exact values: the noise, and the bias of the sampling method."""
