"""Experiments on values of training rows, and the baselines beside them."""
