"""Evidence against labels from a random forest that was not trained on the row, for rows of any kind."""

from __future__ import annotations

import warnings
from typing import Any

from ordinal_shapley.common.frames import columns_of
from ordinal_shapley.common.seeds import sklearn_state
from ordinal_shapley.evidence.confidence import forest, self_confidence
from ordinal_shapley.evidence.labels import LabelEvidence
from ordinal_shapley.games._trainer import quiet

_N_FOLDS = 5


def label_evidence(
    X: Any, y: Any, X_valid: Any, y_valid: Any, *, random_state: Any, n_jobs: int | None
) -> LabelEvidence | None:
    """Return the evidence, or None with a warning if it fails, so that values are not lost."""
    if X.shape[0] < 2:
        return None
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline

    from ordinal_shapley.tables.encoding import column_pipeline

    try:
        names = columns_of(X)
        if names is None:
            columns: Any = SimpleImputer(keep_empty_features=True)
        elif not all(isinstance(name, str) for name in names):
            columns = "passthrough"
        else:
            columns = column_pipeline(X, raw=True, impute=True)
        model = make_pipeline(columns, forest(sklearn_state(random_state)))
        n_folds = min(_N_FOLDS, X.shape[0])
        with quiet():  # trees warn that they work in single precision
            return self_confidence(
                *(X, y, X_valid, y_valid),
                estimator=model,
                cv=n_folds,
                random_state=random_state,
                n_jobs=n_jobs,
            )
    except (RuntimeError, TypeError, ValueError) as error:
        warnings.warn(f"no evidence against labels: {error}", UserWarning, stacklevel=3)
        return None
