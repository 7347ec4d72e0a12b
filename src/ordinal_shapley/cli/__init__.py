"""The command ``ordinal-shapley``: ``app.py`` lists its commands, each in a module of its name."""

from ordinal_shapley.cli.app import main

__all__ = ["main"]
