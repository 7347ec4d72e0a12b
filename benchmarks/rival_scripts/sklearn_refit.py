"""The refitting loop under another version of scikit-learn."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np
import protocol
import sklearn

from bench import refit


def make_answer(problem):
    def answer(order):
        seconds, accuracies = refit.with_sklearn(problem, np.array(order), native=True)
        return {"seconds": seconds, "accuracies": [None if a != a else a for a in accuracies.tolist()]}

    return answer


if __name__ == "__main__":
    protocol.serve(make_answer, version=sklearn.__version__)
