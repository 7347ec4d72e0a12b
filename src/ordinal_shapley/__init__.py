"""Classic, ordinal and partial ordinal Shapley values, exactly and by compiled Monte Carlo."""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# Where public names live. They load on first use, so that `import ordinal_shapley` needs numpy and numba
# only.
_HOMES = {
    "games": (
        "TableGame FunctionGame CompiledGame CrossFitGame LogisticGame RidgeGame RidgeClassifierGame "
        "NearestNeighborGame NearestNeighborRegressorGame JourneyGame"
    ),
    "games.estimator": "EstimatorGame",
    "games.matching": "game_for",
    "common.compiling": "compile_kernels",
    "exact.values": "exact_values ExactValues",
    "axioms": "check_axioms AxiomReport AxiomCheck",
    "values": (
        "Ordinal PartialOrdinal Classic Blend WeightedOrdinal SizeWeights beta_weights banzhaf_weights "
        "sizes_up_to"
    ),
    "sampling.driver": "sample_values",
    "sampling.sampler": "PermutationSampler",
    "sampling.truncation": "Roulette PaperTruncation PatienceTruncation",
    "sampling.convergence": "RelativeChange MaxStandardError RankStability",
    "sampling.stopping": "MaxPermutations MaxEvaluations MaxSeconds",
    "sampling.history": "History",
    "verification.comparison": "verify Verification",
    "valuation.result": "Valuation",
    "estimators": "PartialOrdinalShapley OrdinalShapley ClassicShapley",
    "tables.encoding": "column_pipeline",
    "experiments.noise": "corrupt_labels LabelNoise",
    "experiments.removal": "remove_high_value RemovalCurves",
    "experiments.detection": "detect_noisy_labels NoiseDetection",
}
_HOME_OF = {name: f"ordinal_shapley.{home}" for home, names in _HOMES.items() for name in names.split()}
_MODULES = ("bounds", "datasets", "experiments", "plots")

__all__ = ["__version__", *_HOME_OF, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"ordinal_shapley.{name}")
    raise AttributeError(f"module 'ordinal_shapley' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
