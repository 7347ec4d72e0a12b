"""Games: real functions of a sequence of players."""

from ordinal_shapley.games.base import Game
from ordinal_shapley.games.compiled import CompiledGame
from ordinal_shapley.games.cross_fit import CrossFitGame
from ordinal_shapley.games.function import FunctionGame
from ordinal_shapley.games.journeys import JourneyGame
from ordinal_shapley.games.logistic import LogisticGame
from ordinal_shapley.games.neighbors import NearestNeighborGame
from ordinal_shapley.games.neighbors_regressor import NearestNeighborRegressorGame
from ordinal_shapley.games.ridge import RidgeGame
from ordinal_shapley.games.ridge_classifier import RidgeClassifierGame
from ordinal_shapley.games.table import TableGame

__all__ = [
    "CompiledGame",
    "CrossFitGame",
    "FunctionGame",
    "Game",
    "JourneyGame",
    "LogisticGame",
    "NearestNeighborGame",
    "NearestNeighborRegressorGame",
    "RidgeClassifierGame",
    "RidgeGame",
    "TableGame",
]
