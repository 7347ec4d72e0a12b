"""Values, samplers and truncation rules as objects: their names, what they say, and files."""

import itertools
import math

import numpy as np
import pytest

import ordinal_shapley as osv
from runs import bits, game_of

NAMES = {
    "auto": osv.PermutationSampler(truncation=osv.Roulette()),
    "mc": osv.PermutationSampler(),
    "tmc": osv.PermutationSampler(truncation=osv.PaperTruncation()),
    "cmc": osv.PermutationSampler(class_fraction=0.8),
    "ctmc": osv.PermutationSampler(truncation=osv.PaperTruncation(), class_fraction=0.8),
}
STRATA = [0, 0, 1, 1, 1]
KINDS = [
    osv.Ordinal(),
    osv.PartialOrdinal(),
    osv.PartialOrdinal([0, 0, 1, 1, 2], "between"),
    osv.PartialOrdinal(list("aabbc"), "within"),
    osv.Classic(),
    osv.Blend(0.25),
    osv.WeightedOrdinal(lambda sequence: 1 / math.factorial(len(sequence))),
]
SAMPLERS = [
    *NAMES.values(),
    osv.PermutationSampler(truncation=osv.Roulette(0.1, n_pilot=30)),
    osv.PermutationSampler(truncation=osv.PatienceTruncation(0.1, 3, "given"), design="antithetic"),
    osv.PermutationSampler(design="latin"),
    osv.PermutationSampler(class_fraction=0.5, strata=STRATA, average="selected"),
    osv.PermutationSampler(contribution="in_out"),
]


def rows(**options):
    X = np.arange(12.0)[:, None] + [[0.0, 0.5]]
    return osv.LogisticGame(X, [0, 1] * 6, X + 0.3, [0, 0, 1] * 4, **options)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_stands_for_a_sampler_bit_for_bit(name):
    game = rows()
    one, other = (
        osv.sample_values(game, "partial_ordinal", method, n_permutations=20, random_state=3)
        for method in (name, NAMES[name])
    )
    assert one.sampler == other.sampler == NAMES[name]
    assert bits(one) == bits(other)


@pytest.mark.parametrize("value", ["ordinal", "partial_ordinal", "classic"])
def test_a_name_stands_for_a_value_bit_for_bit(value):
    game = rows(position_weight="uniform")
    kind = {"ordinal": osv.Ordinal, "partial_ordinal": osv.PartialOrdinal, "classic": osv.Classic}[value]()
    one, other = (osv.sample_values(game, v, n_permutations=20, random_state=3) for v in (value, kind))
    assert one.kind == other.kind == kind
    assert bits(one) == bits(other)


def test_by_default_the_ordinal_value_is_estimated_without_bias():
    valuation = osv.sample_values(game_of(5), n_permutations=20, random_state=0)
    assert valuation.kind == osv.Ordinal()
    assert valuation.sampler == osv.PermutationSampler(truncation=osv.Roulette())
    assert valuation.sampler.biases == ()
    assert osv.exact_values(game_of(3)).kind == osv.Ordinal()
    assert osv.verify(game_of(3), n_permutations=20).valuation.sampler == valuation.sampler


@pytest.mark.parametrize("estimator", [osv.OrdinalShapley, osv.PartialOrdinalShapley, osv.ClassicShapley])
def test_estimators_give_the_bits_of_sample_values(estimator):
    X = np.arange(12.0)[:, None] + [[0.0, 0.5]]
    model = estimator(n_permutations=20, random_state=3).fit(X, [0, 1] * 6, X + 0.3, [0, 0, 1] * 4)
    again = osv.sample_values(model.game_, model.valuation_.kind, n_permutations=20, random_state=3)
    assert bits(model.valuation_) == bits(again)


def test_no_two_are_equal_that_differ():
    for objects in (KINDS, SAMPLERS):
        for one, other in itertools.combinations(objects, 2):
            assert one != other
        assert len(set(objects)) == len(objects)


@pytest.mark.parametrize("thing", [*KINDS, *SAMPLERS], ids=repr)
def test_files_hold_them(thing, tmp_path):
    is_value = thing in KINDS
    value, sampler = (thing, osv.PermutationSampler()) if is_value else (osv.PartialOrdinal(), thing)
    if (not is_value and thing.contribution == "in_out") or value == osv.Classic():
        value = osv.Classic()
    game = osv.FunctionGame(lambda players: float(len(players)) ** 2, 5, order_free=value == osv.Classic())
    if sampler.class_fraction is not None and sampler.strata is None:
        game.player_classes = np.array(STRATA)
    with_warnings = {"n_permutations": 20, "random_state": 0}
    valuation = osv.sample_values(game, value, sampler, **with_warnings)
    valuation.save(tmp_path / "file.npz")
    loaded = osv.Valuation.load(tmp_path / "file.npz")
    assert loaded.kind == valuation.kind == value
    assert loaded.sampler == valuation.sampler == sampler
    assert repr(loaded.sampler) == repr(sampler)
    assert bits(loaded) == bits(valuation)


def test_a_repr_without_arrays_makes_the_object_again():
    for thing in [*KINDS, *SAMPLERS]:
        if "<" not in repr(thing):
            assert eval(f"osv.{repr(thing).replace('=R', '=osv.R').replace('=Pa', '=osv.Pa')}") == thing


def test_only_biased_rules_and_classes_have_a_bias():
    biased = {repr(sampler) for sampler in SAMPLERS if sampler.biases}
    assert biased == {
        repr(sampler)
        for sampler in SAMPLERS
        if sampler.class_fraction is not None
        or isinstance(sampler.truncation, osv.PaperTruncation | osv.PatienceTruncation)
    }
