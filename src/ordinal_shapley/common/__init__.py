"""Helpers that every layer uses, and that depend on none of them."""
