"""Small runs of every kind, and what is equal in equal runs."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np

import ordinal_shapley as osv


def bits(valuation):
    profile = valuation.position_profile
    sums = [array for part in valuation.moments.parts for array in part]
    arrays = [*sums, valuation.values, valuation.stderr, valuation.stderr_total]
    return [
        None if a is None else np.asarray(a).tobytes() for a in arrays
    ], None if profile is None else profile.tobytes()


def environment(**variables):
    """Variables of a process that finds what this one does."""
    here = str(Path(__file__).parent)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([here, *filter(None, sys.path)]), **variables}


def script(code, *arguments, **variables):
    """Run Python code in a process of its own; what it prints."""
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(code), *map(str, arguments)]
    run = subprocess.run(command, env=environment(**variables), capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


def game_of(n, null=None):
    """Utilities that depend on the order, on all players but `null`."""

    def utility(sequence):
        order = [int(i) for i in sequence if i != null]
        return math.sin(sum((k + 1) * (i + 2) for k, i in enumerate(order))) if order else 0.0

    return osv.FunctionGame(utility, n)


# Options of sample_values that take different ways through it; for five players.
SAMPLED = {
    "mc": {},
    "tmc": {"method": "tmc", "truncation": osv.PaperTruncation(0.4)},
    "patience": {"method": "tmc", "truncation": osv.PatienceTruncation(0.5, 2)},
    "roulette": {"method": "tmc", "truncation": osv.Roulette()},
    "cmc": {"method": "cmc", "strata": [0, 0, 1, 1, 1], "average": "selected"},
    "ctmc": {"method": "ctmc", "strata": [0, 0, 1, 1, 1]},
    "antithetic": {"design": "antithetic"},
    "latin": {"design": "latin"},
    "ordinal": {"value": "ordinal"},
    "ordinal tmc": {"value": "ordinal", "method": "tmc"},
    "ordinal roulette": {"value": "ordinal", "method": "tmc", "truncation": osv.Roulette()},
    "ordinal antithetic": {"value": "ordinal", "design": "antithetic"},
    "ordinal latin": {"value": "ordinal", "design": "latin"},
    "sizes": {"value": osv.Ordinal(size_weights=osv.sizes_up_to(3))},
    "sizes roulette": {"value": osv.Ordinal(size_weights=osv.beta_weights(4, 1)), "method": "auto"},
    "sizes profile": {"value": osv.Ordinal(size_weights=[0.5, 0, 0.5, 0, 0]), "position_profile": True},
    "blend": {"value": "blend", "alpha": 0.3},
    "weighted": {"value": "weighted_ordinal", "order_weight": lambda S: 1 / math.factorial(len(S))},
    "profile": {"position_profile": True},
    "ordinal profile": {"value": "ordinal", "position_profile": True, "design": "antithetic"},
    "groups": {"partition": [0, 0, 1, 1, 2], "case": "between"},
}


# What tests vary, as plain keywords: options of a value, of a sampler and of a run.
_VALUES = {"blend": osv.Blend, "weighted_ordinal": osv.WeightedOrdinal}
_OF_VALUE = ("partition", "case", "alpha", "order_weight")
_OF_SAMPLER = ("truncation", "design", "class_fraction", "strata", "average", "contribution")


def value_of(value="partial_ordinal", **options):
    """The value of a name with its options."""
    if not options:
        return value if not isinstance(value, str) or value not in _VALUES else _VALUES[value](None)
    return _VALUES.get(value, osv.PartialOrdinal)(**options)


def sampler_of(method="mc", *, class_fraction=0.8, strata=None, average="all", truncation=None, **options):
    """The sampler of one of the paper's methods, with another rule, design or classes."""
    if not isinstance(method, str):
        return method
    if method in ("tmc", "ctmc"):
        truncation = truncation or osv.PaperTruncation()
    if method in ("cmc", "ctmc"):
        options |= {"class_fraction": class_fraction, "strata": strata, "average": average}
    return osv.PermutationSampler(truncation=truncation, **options)


def _taken_apart(value, method, options):
    own = {name: options.pop(name) for name in _OF_VALUE if options.get(name) is not None}
    how = {name: options.pop(name) for name in _OF_SAMPLER if name in options}
    options = {name: option for name, option in options.items() if name not in _OF_VALUE}
    if method == "auto":
        return value_of(value, **own), "auto", options
    return value_of(value, **own), sampler_of(method, **how), options


def sample_with(game, value="partial_ordinal", method="mc", **options):
    """`sample_values` with options of value and sampler as plain keywords."""
    value, sampler, options = _taken_apart(value, method, options)
    return osv.sample_values(game, value, sampler, **options)


def verify_with(game, value="partial_ordinal", method="mc", **options):
    """`verify` with options of value and sampler as plain keywords."""
    value, sampler, options = _taken_apart(value, method, options)
    return osv.verify(game, value, sampler, **options)


def exact_with(game, value="partial_ordinal", **options):
    """`exact_values` with options of the value as plain keywords."""
    value, _, options = _taken_apart(value, "auto", options)
    return osv.exact_values(game, value, **options)


def axioms_with(game, value="partial_ordinal", **options):
    """`check_axioms` with options of the value as plain keywords."""
    value, _, options = _taken_apart(value, "auto", options)
    return osv.check_axioms(game, value, **options)


def plain_rule(rule):
    """What the oracle takes of a truncation rule."""
    return rule.name, rule.tol, getattr(rule, "patience", 1)
