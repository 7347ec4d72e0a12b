"""pyDVL's truncated permutation Shapley values of a logistic regression."""

from __future__ import annotations

import importlib.metadata
import time
import warnings

import protocol  # isort: skip (first, for it catches what others print)
import numpy as np
from pydvl.valuation import (
    Dataset,
    MaxSamples,
    ModelUtility,
    PermutationSampler,
    RelativeTruncation,
    ShapleyValuation,
    SupervisedScorer,
)
from pydvl.valuation.types import Sample
from sklearn.linear_model import LogisticRegression

warnings.simplefilter("ignore")


class CountedUtility(ModelUtility):
    """Counts the models fitted."""

    fits = 0

    def _utility(self, sample):
        self.fits += 1
        return super()._utility(sample)


def make_answer(problem):
    train = Dataset(problem.X, problem.y)
    valid = Dataset(problem.X_valid, problem.y_valid)

    def make_utility():
        scorer = SupervisedScorer("accuracy", valid, default=0.0)
        return CountedUtility(LogisticRegression(solver="liblinear"), scorer, show_warnings=False)

    def answer(n_permutations=0, tol=0.0, seed=0, prefixes=()):
        if prefixes:
            utility = make_utility().with_dataset(train)
            return {"utilities": [utility(Sample(None, np.array(rows))) for rows in prefixes]}
        utility = make_utility()
        start = time.process_time()
        sampler = PermutationSampler(truncation=RelativeTruncation(rtol=tol), seed=seed)
        valuation = ShapleyValuation(utility, sampler, MaxSamples(sampler, n_permutations))
        valuation.fit(train)
        seconds = time.process_time() - start
        assert sampler.n_samples == n_permutations
        return {"seconds": seconds, "fits": valuation.utility.fits}

    return answer


if __name__ == "__main__":
    protocol.serve(make_answer, version=importlib.metadata.version("pyDVL"))
