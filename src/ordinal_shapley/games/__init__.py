"""Games: real functions of a sequence of players."""

from ordinal_shapley.games.base import Game
from ordinal_shapley.games.logistic import LogisticGame

__all__ = ["Game", "LogisticGame"]
