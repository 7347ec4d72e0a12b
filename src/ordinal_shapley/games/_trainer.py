"""Training a scikit-learn model on a sequence of rows, and scoring it, as a function of the sequence."""

from __future__ import annotations

import hashlib
import inspect
import math
import threading
import uuid
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor

from ordinal_shapley.common.arrays import take
from ordinal_shapley.games._rows import PositionWeights
from ordinal_shapley.games.function import Blocks

_MAX_GAMES = 4  # whose utilities a worker process caches


class Memory:
    """Cache of utilities that drops the least recently used one."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._values: OrderedDict[bytes, Any] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: bytes) -> Any:
        """Return the cached value, or None."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: bytes, value: Any) -> None:
        """Cache a utility."""
        with self._lock:
            self._values[key] = value
            if len(self._values) > self.size:
                self._values.popitem(last=False)


@lru_cache(maxsize=_MAX_GAMES)
def _memory_of_process(game: str, size: int) -> Memory:
    """Cache that copies of a game share in a worker process."""
    return Memory(size)


class _Quiet:
    """Ignores warnings while any thread is in the block: filters apply to all threads of a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._caught: Any = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            if self._users == 0:
                self._caught = warnings.catch_warnings()
                self._caught.__enter__()
                warnings.simplefilter("ignore")
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0:
                    self._caught.__exit__(None, None, None)


quiet = _Quiet()


def is_regression(estimator: Any, expected: str = "a classifier or regressor") -> bool:
    """Whether a model is a regressor; TypeError unless it is that or a classifier."""
    expected = f"expected {expected} with scikit-learn's interface"
    if isinstance(estimator, type):
        raise TypeError(f"estimator is the class {estimator.__name__}, {expected}: an instance of it")
    usable = all(hasattr(estimator, method) for method in ("fit", "get_params", "set_params"))
    if usable and is_regressor(estimator):
        return True
    if not usable or not is_classifier(estimator):
        # Only short values are shown: a table passed by mistake would fill the screen.
        text = repr(estimator)
        shown = text if len(text) <= 60 and "\n" not in text else f"a {type(estimator).__name__}"
        raise TypeError(f"estimator is {shown}, {expected}")
    return False


def weight_name(estimator: Any) -> str | None:
    """Name under which `fit` takes sample weights; None if it doesn't.

    A pipeline passes them to its last step, a search or a vote to its models.
    """
    name = _direct_name(estimator)
    if name is not None and sklearn.get_config().get("enable_metadata_routing"):
        return "sample_weight"  # each part takes the metadata that it requests
    return name


def _direct_name(estimator: Any) -> str | None:
    steps = getattr(estimator, "steps", None)
    if steps:
        step, last = steps[-1]
        inner = None if last is None or isinstance(last, str) else _direct_name(last)
        return None if inner is None else f"{step}__{inner}"
    try:
        parameters = inspect.signature(estimator.fit).parameters
    except (AttributeError, TypeError, ValueError):
        return None
    if "sample_weight" in parameters:
        return "sample_weight"
    if all(parameter.kind is not parameter.VAR_KEYWORD for parameter in parameters.values()):
        return None
    parts = [getattr(estimator, name, None) for name in ("estimator", "regressor")]
    parts += [part for _, part in getattr(estimator, "estimators", None) or ()]
    names = {_direct_name(part) for part in parts if part is not None and not isinstance(part, str)}
    return names.pop() if len(names) == 1 else None


def as_score(score: Any) -> float:
    """Convert the result of a scorer to a float."""
    try:
        return float(score)
    except (TypeError, ValueError):
        raise TypeError(f"scoring returned {score!r}, expected a number") from None


def with_seeds(estimator: Any, seed: int) -> Any:
    """Return a copy in which every part has a seed."""
    estimator = clone(estimator)
    parameters = estimator.get_params(deep=True)
    loose = [name for name in parameters if name.split("__")[-1] == "random_state"]
    return estimator.set_params(**{name: seed for name in loose if parameters[name] is None})


@dataclass(eq=False, repr=False)
class Trainer:
    """Scores the model trained on a sequence of players.

    Copies of the same game in another process share a cache there.
    """

    estimator: Any  # unfitted
    weight_name: str | None  # under which `fit` gets weights; None for no weights
    rows: tuple[Any, NDArray[Any], Any, NDArray[Any]]  # X, y, X_valid, y_valid
    scorer: Any
    row_scorer: Any  # from a fitted model to the score of each validation row; None if there are none
    player_rows: NDArray[np.int64]
    player_starts: NDArray[np.int64]
    weights: PositionWeights
    sample_weight: NDArray[np.float64] | None
    error_score: float | None  # utility where `fit` or the score fails; None to raise
    order_free: bool  # whether players are sorted first
    memory: Memory
    _game: str = field(default_factory=lambda: uuid.uuid4().hex)
    _threads: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "memory": self.memory.size, "_threads": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.memory = _memory_of_process(self._game, state["memory"])

    def __call__(self, players: NDArray[np.int64]) -> float:
        """Return the score for players that have a model, or raise the exception of fitting or scoring."""
        return float(self._remembered(players, None)[0])

    def in_blocks(
        self, players: NDArray[np.int64], block_of: NDArray[np.int64], block_weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the same score, followed by those of blocks of validation rows, (1 + n_blocks,).

        `block_of` has the block of each validation row, from 0, and `block_weights` its weight there.
        """
        return self._remembered(players, (block_of, block_weights))

    def _remembered(self, players: NDArray[np.int64], blocks: Blocks | None) -> NDArray[np.float64]:
        if self.order_free:
            players = np.sort(players)
        more = b"" if blocks is None else blocks[0].tobytes()
        key = hashlib.blake2b(players.tobytes() + more, digest_size=16).digest()
        values: NDArray[np.float64] | None = self.memory.get(key)
        if values is None:
            try:
                with quiet():
                    values = self._scores(players, blocks)
            except Exception:
                if self.error_score is None:
                    raise
                values = np.full(1 if blocks is None else 2 + int(blocks[0].max()), self.error_score)
            self.memory.put(key, values)
        return values

    def score(self, players: NDArray[np.int64]) -> float:
        """Fit and score without the cache."""
        return float(self._scores(players, None)[0])

    def _scores(self, players: NDArray[np.int64], blocks: Blocks | None) -> NDArray[np.float64]:
        starts = self.player_starts
        rows = np.concatenate([self.player_rows[starts[p] : starts[p + 1]] for p in players])
        X, y, X_valid, y_valid = self.rows
        options = {}
        if self.weight_name is not None:
            weights = self.weights.of_length(len(rows)).copy()
            if self.sample_weight is not None:
                weights *= self.sample_weight[rows]
            options[self.weight_name] = weights
        if self._threads is None:
            from threadpoolctl import ThreadpoolController

            self._threads = ThreadpoolController()
        # With more threads the order of sums, and so their bits, would depend on the number of workers.
        with self._threads.limit(limits=1):
            model = clone(self.estimator).fit(take(X, rows), y[rows], **options)
            by_row = np.zeros(0) if blocks is None else self.row_scorer(model)
            if len(by_row) and self.row_scorer.mean_is_score:
                value = float(np.mean(by_row))  # saves another prediction
            else:
                value = as_score(self.scorer(model, X_valid, y_valid))
        if not math.isfinite(value):
            raise ValueError(f"the score is {value}, expected a finite number")
        if blocks is None:
            return np.array([value])
        block_of, weights_in_block = blocks
        return np.append(value, np.bincount(block_of, weights_in_block * by_row))
