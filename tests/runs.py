"""Small runs of every kind, and what is equal in equal runs."""

from __future__ import annotations

import math

import numpy as np

import ordinal_shapley as osv


def bits(valuation):
    profile = valuation.position_profile
    arrays = [*valuation.moments, valuation.values, valuation.stderr]
    return [np.asarray(a).tobytes() for a in arrays], None if profile is None else profile.tobytes()


def game_of(n, null=None):
    """Utilities that depend on the order, on all players but `null`."""

    def utility(sequence):
        order = [int(i) for i in sequence if i != null]
        return math.sin(sum((k + 1) * (i + 2) for k, i in enumerate(order))) if order else 0.0

    return osv.FunctionGame(utility, n)


# Options of sample_values that take different ways through it; for five players.
SAMPLED = {
    "mc": {},
    "tmc": {"method": "tmc", "truncation": osv.Truncation.paper(0.4)},
    "patience": {"method": "tmc", "truncation": osv.Truncation.patience(0.5, 2)},
    "roulette": {"method": "tmc", "truncation": osv.Truncation.roulette()},
    "cmc": {"method": "cmc", "labels": [0, 0, 1, 1, 1], "average": "selected"},
    "ctmc": {"method": "ctmc", "labels": [0, 0, 1, 1, 1]},
    "antithetic": {"design": "antithetic"},
    "latin": {"design": "latin"},
    "ordinal": {"value": "ordinal"},
    "ordinal tmc": {"value": "ordinal", "method": "tmc"},
    "ordinal roulette": {"value": "ordinal", "method": "tmc", "truncation": osv.Truncation.roulette()},
    "ordinal antithetic": {"value": "ordinal", "design": "antithetic"},
    "ordinal latin": {"value": "ordinal", "design": "latin"},
    "blend": {"value": "blend", "alpha": 0.3},
    "weighted": {"value": "weighted_ordinal", "order_weight": lambda S: 1 / math.factorial(len(S))},
    "profile": {"position_profile": True},
    "ordinal profile": {"value": "ordinal", "position_profile": True, "design": "antithetic"},
    "groups": {"partition": [0, 0, 1, 1, 2], "case": "between"},
}
