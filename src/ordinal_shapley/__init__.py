"""Classic, ordinal and partial ordinal Shapley values, exactly and by compiled Monte Carlo."""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# Where each public name lives. They load on first use, so that `import ordinal_shapley` needs numpy
# and numba only.
_HOMES = {
    "TableGame": "ordinal_shapley.games",
    "FunctionGame": "ordinal_shapley.games",
    "CompiledGame": "ordinal_shapley.games",
    "CrossFitGame": "ordinal_shapley.games",
    "LogisticGame": "ordinal_shapley.games",
    "RidgeGame": "ordinal_shapley.games",
    "RidgeClassifierGame": "ordinal_shapley.games",
    "NearestNeighborGame": "ordinal_shapley.games",
    "NearestNeighborRegressorGame": "ordinal_shapley.games",
    "JourneyGame": "ordinal_shapley.games",
    "EstimatorGame": "ordinal_shapley.games.estimator",
    "game_for": "ordinal_shapley.games.matching",
    "compile_kernels": "ordinal_shapley.common.compiling",
    "exact_values": "ordinal_shapley.exact.values",
    "ExactValues": "ordinal_shapley.exact.values",
    "check_axioms": "ordinal_shapley.axioms",
    "AxiomReport": "ordinal_shapley.axioms",
    "AxiomCheck": "ordinal_shapley.axioms",
    "Ordinal": "ordinal_shapley.values",
    "PartialOrdinal": "ordinal_shapley.values",
    "Classic": "ordinal_shapley.values",
    "Blend": "ordinal_shapley.values",
    "WeightedOrdinal": "ordinal_shapley.values",
    "SizeWeights": "ordinal_shapley.values",
    "beta_weights": "ordinal_shapley.values",
    "banzhaf_weights": "ordinal_shapley.values",
    "sizes_up_to": "ordinal_shapley.values",
    "sample_values": "ordinal_shapley.sampling.driver",
    "PermutationSampler": "ordinal_shapley.sampling.sampler",
    "Roulette": "ordinal_shapley.sampling.truncation",
    "PaperTruncation": "ordinal_shapley.sampling.truncation",
    "PatienceTruncation": "ordinal_shapley.sampling.truncation",
    "RelativeChange": "ordinal_shapley.sampling.convergence",
    "MaxStandardError": "ordinal_shapley.sampling.convergence",
    "RankStability": "ordinal_shapley.sampling.convergence",
    "MaxPermutations": "ordinal_shapley.sampling.stopping",
    "MaxEvaluations": "ordinal_shapley.sampling.stopping",
    "MaxSeconds": "ordinal_shapley.sampling.stopping",
    "History": "ordinal_shapley.sampling.history",
    "verify": "ordinal_shapley.verification.comparison",
    "Verification": "ordinal_shapley.verification.comparison",
    "Valuation": "ordinal_shapley.valuation.result",
    "PartialOrdinalShapley": "ordinal_shapley.estimators",
    "OrdinalShapley": "ordinal_shapley.estimators",
    "ClassicShapley": "ordinal_shapley.estimators",
    "column_pipeline": "ordinal_shapley.tables.encoding",
    "corrupt_labels": "ordinal_shapley.experiments.noise",
    "LabelNoise": "ordinal_shapley.experiments.noise",
    "remove_high_value": "ordinal_shapley.experiments.removal",
    "RemovalCurves": "ordinal_shapley.experiments.removal",
    "detect_noisy_labels": "ordinal_shapley.experiments.detection",
    "NoiseDetection": "ordinal_shapley.experiments.detection",
}
_MODULES = ("bounds", "datasets", "experiments", "plots")

__all__ = ["__version__", *_HOMES, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"ordinal_shapley.{name}")
    raise AttributeError(f"module 'ordinal_shapley' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
