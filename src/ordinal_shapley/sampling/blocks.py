"""Blocks of validation rows, for standard errors that cover the choice of validation rows."""

from __future__ import annotations

import numpy as np

from ordinal_shapley.games.base import Game
from ordinal_shapley.sampling.plan import Plan
from ordinal_shapley.sampling.sampler import PermutationSampler

_N_BLOCKS = 20
_MIN_BLOCKS = 10  # fewer would estimate a variance poorly
_MAX_SUMS = 400_000  # maximum numbers in sums by block
_BLOCKS = 0x9E3779B97F4A7C15  # derives a separate key


def with_blocks(plan: Plan, game: Game, sampler: PermutationSampler) -> Plan:
    """Return the plan with random blocks of validation rows, by its seed, or unchanged if they do not apply.

    They apply to scores that are means over the validation rows, in unbiased runs: errors that cover the
    choice of these rows but not a bias would be misleading.
    """
    shares = game._row_shares
    n_blocks = 0 if shares is None else min(_N_BLOCKS, len(shares), _MAX_SUMS // game.n_players)
    if shares is None or sampler.biases or n_blocks < _MIN_BLOCKS:
        return plan
    rng = np.random.default_rng([plan.seed, _BLOCKS])
    block_of = np.empty(len(shares), np.int64)
    block_of[rng.permutation(len(shares))] = np.arange(len(shares)) % n_blocks
    in_block = np.bincount(block_of, shares, n_blocks)
    return plan._replace(block_of=block_of, block_weights=shares / in_block[block_of])
