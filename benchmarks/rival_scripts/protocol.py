"""How a rival is asked: one request a line on stdin, one answer a line on stdout, both in JSON."""

from __future__ import annotations

import json
import os
import sys
from collections import namedtuple

import numpy as np
import scipy.sparse

Problem = namedtuple("Problem", "X y X_valid y_valid")

# What libraries print, some at import, goes to stderr, so that it does not get between the answers.
_ANSWERS = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def load(path):
    parts = np.load(path)

    def rows(name):
        if name in parts:
            return parts[name]
        arrays = tuple(parts[f"{name}_{key}"] for key in ("data", "indices", "indptr"))
        return scipy.sparse.csr_matrix(arrays, shape=tuple(parts[f"{name}_shape"]))

    return Problem(rows("X"), parts["y"], rows("X_valid"), parts["y_valid"])


def serve(make_answer, **versions):
    """Answer requests until there are no more; `make_answer(problem)` returns what answers one."""
    answer = make_answer(load(sys.argv[1]))
    print(json.dumps(versions), file=_ANSWERS, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(**json.loads(line))), file=_ANSWERS, flush=True)
