"""The command ``ordinal-shapley``: ``app.py`` lists its commands, each in a module of its name.

``games.py`` has ``exact`` and ``verify``, which value the games in a file.
"""

from ordinal_shapley.cli.app import main

__all__ = ["main"]
