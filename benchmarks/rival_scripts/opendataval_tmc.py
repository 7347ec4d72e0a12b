"""OpenDataVal's truncated permutation Shapley values of a logistic regression."""

from __future__ import annotations

import importlib.metadata
import time
import warnings

import protocol  # isort: skip (first, for it catches what others print)
import numpy as np
import torch
from opendataval.dataval import DataShapley, TMCSampler
from opendataval.metrics import accuracy
from opendataval.model import ClassifierSkLearnWrapper
from sklearn.linear_model import LogisticRegression

warnings.simplefilter("ignore")
torch.set_num_threads(1)


class CountedShapley(DataShapley):
    """Counts the models fitted."""

    fits = 0

    def _evaluate_model(self, subset, *args, **kwargs):
        self.fits += 1
        return super()._evaluate_model(subset, *args, **kwargs)


def make_answer(problem):
    n_classes = int(problem.y.max()) + 1

    def as_tensors(X, y):
        return torch.from_numpy(X), torch.nn.functional.one_hot(torch.from_numpy(y), n_classes)

    data = (*as_tensors(problem.X, problem.y), *as_tensors(problem.X_valid, problem.y_valid))

    def make_evaluator(n_permutations, seed):
        evaluator = CountedShapley(
            TMCSampler(n_permutations, cache_name=None, random_state=np.random.RandomState(seed))
        )
        evaluator.input_data(*data)
        model = ClassifierSkLearnWrapper(LogisticRegression, n_classes, solver="liblinear")
        return evaluator.input_model(model).input_metric(accuracy)

    def answer(n_permutations=0, seed=0, prefixes=()):
        evaluator = make_evaluator(n_permutations, seed)
        if prefixes:
            return {"utilities": [float(evaluator._evaluate_model(rows)) for rows in prefixes]}
        start = time.process_time()
        evaluator.train_data_values()
        return {"seconds": time.process_time() - start, "fits": evaluator.fits}

    return answer


if __name__ == "__main__":
    protocol.serve(make_answer, version=importlib.metadata.version("opendataval"))
