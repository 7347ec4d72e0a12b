"""The first fit of a new process on Wine: what loading or compiling the kernels adds to it.

Prints JSON: seconds to import, and seconds of `PartialOrdinalShapley().fit` beyond that.
"""

from __future__ import annotations

import json
import time

began = time.perf_counter()
import ordinal_shapley as osv  # noqa: E402 (the import is timed)

osv.PartialOrdinalShapley  # noqa: B018 (loaded when used)
imported = time.perf_counter()

from sklearn.model_selection import train_test_split  # noqa: E402
from sklearn.preprocessing import scale  # noqa: E402

data = osv.datasets.load_wine()
parts = train_test_split(scale(data.X), data.y, train_size=89, test_size=49, stratify=data.y, random_state=0)
X, X_valid, y, y_valid = parts
start = time.perf_counter()
model = osv.PartialOrdinalShapley(random_state=0).fit(X, y, X_valid, y_valid)
fitted = time.perf_counter()
print(
    json.dumps(
        {
            "import_seconds": imported - began,
            "fit_seconds": fitted - start,
            "n_permutations": model.valuation_.n_permutations,
        }
    )
)
