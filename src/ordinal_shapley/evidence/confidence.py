"""Cross-validated probabilities of labels, and the agreement of neighbours with them."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ordinal_shapley.common import arguments, arrays, frames
from ordinal_shapley.common.parallel import check_n_jobs
from ordinal_shapley.common.seeds import seed_of
from ordinal_shapley.evidence.labels import LabelEvidence
from ordinal_shapley.games._trainer import is_regression

_MAX_NEIGHBORS = 1_000_000
_N_TREES, _MIN_LEAF = 200, 3
Fold = tuple[NDArray[np.intp], NDArray[np.intp]]


def self_confidence(
    X: Any,
    y: Any,
    X_valid: Any = None,
    y_valid: Any = None,
    *,
    estimator: Any = None,
    cv: Any = 5,
    n_neighbors: int = 5,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> LabelEvidence:
    """Predict the label of each row by models that were not trained on it.

    A label to which such a model gives a low probability is likely to be wrong. If you only want to find
    label errors, try this first: it takes a few model fits.

    Parameters
    ----------
    X : DataFrame, array or sparse matrix of shape (n_rows, n_features)
        The rows whose labels are in question. Whatever ``estimator`` takes; numbers by default.
    y : array-like of shape (n_rows,)
        Their labels: classes.
    X_valid, y_valid : same kinds as X and y, optional
        Further rows whose labels you trust; both or neither. Every model is also trained on them.
    estimator : scikit-learn classifier, optional
        It needs ``predict_proba``, and is cloned. By default a random forest of 200 trees with leaves of at
        least three rows. A model that can memorise single rows, or is hardly regularised, finds fewer errors.
        For embeddings, try logistic regression with a small ``C``; for columns of text, a pipeline that
        starts with `column_pipeline`.
    cv : int, splitter or iterable of (train, test), default 5
        The folds. An integer is their number; they are random and stratified, for classes of any size: see
        Notes. Other splits must predict every row; of a row that is predicted more than once, probabilities
        are averaged.
    n_neighbors : int, default 5
        Number of nearest other rows of ``X`` whose labels are compared with that of the row.
    random_state : None, int, numpy Generator or RandomState
        For the folds of an integer ``cv`` and the default estimator; other estimators have their own.
    n_jobs : int, optional
        Number of folds whose models are fitted at once, in threads; -1 for as many as there are cores. The
        result does not depend on it.

    Returns
    -------
    LabelEvidence
        For each row its label, the predicted label and the probabilities of both; also the share of its
        neighbours with the same label, if features are numbers.

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be used, or ``estimator`` not be fitted; the message names it.
    RuntimeError
        If ``estimator`` gives no probabilities, or fails in another way.

    See Also
    --------
    combined_rank : A rank of rows by these probabilities and by values.

    Notes
    -----
    A class with fewer rows than ``cv`` is spread over as many folds as it has rows. Where it has a single
    row, and none among the validation rows, the model that predicts that row has never seen its label, which
    then has probability 0.

    Neighbours are the nearest in Euclidean distance, of features divided by their standard deviations.

    References
    ----------
    C. Northcutt, L. Jiang and I. Chuang, "Confident learning: Estimating uncertainty in dataset labels",
    Journal of Artificial Intelligence Research 70, 2021.

    Examples
    --------
    >>> import ordinal_shapley as osv
    >>> from ordinal_shapley.experiments import self_confidence
    >>> wine = osv.datasets.load_wine()
    >>> noise = osv.corrupt_labels(wine.y, fraction=0.2, random_state=0)
    >>> evidence = self_confidence(wine.X, noise.labels, random_state=0)
    >>> osv.detect_noisy_labels(evidence.self_confidence, noise).auc > 0.95
    True
    >>> suspects = evidence.to_frame().sort_values("self_confidence").index[:20]
    >>> bool(suspects.isin(noise.rows).mean() > 0.9)
    True
    """
    if (X_valid is None) != (y_valid is None):
        missing = "X_valid" if X_valid is None else "y_valid"
        raise ValueError(f"{missing} is missing: give X_valid and y_valid together, or neither")
    arrays.warn_of_order(X, "X", y=y)
    check_n_jobs(n_jobs)
    seed = seed_of(random_state)
    X, more, names = (_numbers if estimator is None else _rows)(X, X_valid)
    estimator = forest(seed % 2**32) if estimator is None else _checked(estimator)
    n = X.shape[0]
    if n < 2:
        raise ValueError(
            "X has 1 row, expected at least two: each is predicted by a model that was trained on others"
        )
    if more is None:
        given = arrays.as_labels(y, "y", n, "row of X")
        labels, (classes, codes) = given, arrays.encode(given, "y")
        if len(classes) < 2:
            raise ValueError(f"y holds one class only ({arrays.plain(classes[0])!r}), expected at least two")
    else:
        classes, codes, truth = arrays.as_classes(y, y_valid, n, more.shape[0])
        given, labels = classes[codes], classes[np.concatenate([codes, truth])]
    k = min(arguments.integer("n_neighbors", n_neighbors, max=_MAX_NEIGHBORS), n - 1)
    folds = _folds(cv, X, codes, seed)
    rows = X if more is None else _stacked(X, more)
    probabilities = _probabilities(estimator, rows, labels, classes, folds, n, n_jobs)
    predicted = probabilities.argmax(axis=1)
    places = np.arange(n)
    return LabelEvidence(
        given,
        classes[predicted],
        probabilities[places, codes],
        probabilities[places, predicted],
        _agreeing(X, codes, k),
        k,
        names,
    )


def _numbers(X: Any, X_valid: Any) -> tuple[Any, Any, NDArray[Any] | None]:
    """Return rows and validation rows as numbers, or sparse, and the names of the first."""
    if X_valid is None:
        train = arrays.as_table(X, "X", keep_sparse=True, keep_kind=True)
        return train.values, None, train.names
    train, valid = arrays.as_tables(X, X_valid, as_they_are=True)
    return train.values, valid.values, train.names


def _rows(X: Any, X_valid: Any) -> tuple[Any, Any, NDArray[Any] | None]:
    """Return the same in a form that an estimator takes."""
    X, names = arrays.model_rows(X, "X"), frames.row_labels(X)
    if X_valid is None:
        return X, None, names
    more = arrays.model_rows(X_valid, "X_valid")
    columns, expected = frames.columns_of(more), frames.columns_of(X)
    if (columns is None) != (expected is None) or hasattr(X, "iloc") != hasattr(more, "iloc"):
        raise TypeError(
            f"X_valid is a {type(more).__name__} and X a {type(X).__name__}, expected two of one kind"
        )
    arrays.check_features(more.shape[1], X.shape[1], columns, expected, "X_valid")
    return X, more, names


def _checked(estimator: Any) -> Any:
    if is_regression(estimator, "a classifier") or not hasattr(estimator, "predict_proba"):
        raise TypeError(
            f"estimator is a {type(estimator).__name__}, expected a classifier with predict_proba: "
            "sklearn.calibration.CalibratedClassifierCV adds it to one without"
        )
    return estimator


def forest(seed: Any) -> Any:
    """Return the default model for predicting labels."""
    from sklearn.ensemble import RandomForestClassifier

    # Leaves of single rows would memorise wrong labels. With more workers trees are added in any order, and
    # the last bits differ from run to run.
    return RandomForestClassifier(_N_TREES, min_samples_leaf=_MIN_LEAF, random_state=seed, n_jobs=1)


def _folds(cv: Any, X: Any, codes: NDArray[np.int64], seed: int) -> list[Fold]:
    """Return positions of training and predicted rows of each fold; every row is predicted."""
    n = len(codes)
    if isinstance(cv, Integral) and not isinstance(cv, bool):
        k = arguments.integer("cv", cv, min=2)
        if k > n:
            raise ValueError(f"cv is {k}, expected at most {n}, the number of rows")
        # Dealt out class by class: each class is in as many folds as possible, and folds have equal sizes.
        order = np.random.default_rng(seed).permutation(n)
        order = order[np.argsort(codes[order], kind="stable")]
        fold = np.empty(n, np.intp)
        fold[order] = np.arange(n) % k
        return [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(k)]
    if cv is None or isinstance(cv, bool | str) or not (hasattr(cv, "split") or hasattr(cv, "__iter__")):
        raise TypeError(f"cv is {cv!r}, expected an integer, a splitter or a list of (train, test)")
    try:
        splits = cv.split(X, codes) if hasattr(cv, "split") else cv
        folds = [(np.asarray(train), np.asarray(test)) for train, test in splits]
        positions = np.arange(n)
        folds = [(positions[train], positions[test]) for train, test in folds]
    except (IndexError, TypeError, ValueError) as error:
        raise ValueError(f"cv does not split these {n} rows: {error}") from error
    predicted = np.zeros(n, np.bool_)
    for train, test in folds:
        predicted[test] = True
        both = np.intersect1d(train, test)
        if both.size:
            raise ValueError(f"cv has row {both[0]} among the training rows of its own fold")
    if not predicted.all():
        raise ValueError(f"cv leaves row {np.argmin(predicted)} out, expected every row in a test fold")
    return folds


def _stacked(X: Any, more: Any) -> Any:
    """Return both tables concatenated."""
    if frames.columns_of(X) is not None:
        return frames.stack(X, more)
    if arrays.is_sparse(X) or arrays.is_sparse(more):
        from scipy import sparse

        return sparse.vstack([X, more], format="csr")
    return np.concatenate([X, more])


def _probabilities(
    estimator: Any,
    rows: Any,
    labels: NDArray[Any],
    classes: NDArray[Any],
    folds: list[Fold],
    n: int,
    n_jobs: int | None,
) -> NDArray[np.float64]:
    """Return the probability of each class for the first n rows; every model is trained on the others."""
    from joblib import Parallel, delayed

    always = np.arange(n, len(labels))

    def predict(train: NDArray[np.intp], test: NDArray[np.intp]) -> tuple[NDArray[Any], NDArray[np.float64]]:
        train = np.concatenate([train, always])
        known = np.unique(labels[train])
        if len(known) == 1:
            return known, np.ones((len(test), 1))
        model = clone(estimator)
        with arguments.errors_begin_with("estimator fails in cross-validation: "):
            model.fit(arrays.take(rows, train), labels[train])
            found = np.asarray(model.predict_proba(arrays.take(rows, test)), np.float64)
        known = np.asarray(getattr(model, "classes_", known))
        if found.shape != (len(test), len(known)) or not np.isfinite(found).all():
            raise RuntimeError(
                f"estimator gives probabilities of shape {found.shape}, expected {len(test), len(known)}, "
                "all finite"
            )
        return known, found

    totals, times = np.zeros((n, len(classes))), np.zeros(n)
    # In the order of the folds, so that sums are bit-identical.
    answers = Parallel(n_jobs, require="sharedmem")(delayed(predict)(*fold) for fold in folds)
    for (_, test), (known, found) in zip(folds, answers, strict=True):
        totals[np.ix_(test, np.searchsorted(classes, known))] += found
        times[test] += 1
    return totals / times[:, None]


def _agreeing(X: Any, codes: NDArray[np.int64], k: int) -> NDArray[np.float64] | None:
    """Return for each row the share of its k nearest other rows that have its label; None for text."""
    X = frames.as_pandas(X, "X")
    is_frame = hasattr(X, "iloc")
    if not all(getattr(kind, "kind", "O") in "biuf" for kind in (X.dtypes if is_frame else [X.dtype])):
        return None
    numbers = X.to_numpy(np.float64, na_value=np.nan) if is_frame else X.astype(np.float64)
    if not np.isfinite(numbers.data if arrays.is_sparse(X) else numbers).all():
        return None
    from sklearn.neighbors import NearestNeighbors
    from sklearn.preprocessing import StandardScaler

    scaled = StandardScaler(with_mean=not arrays.is_sparse(X)).fit_transform(numbers)
    near = NearestNeighbors(n_neighbors=k).fit(scaled).kneighbors(return_distance=False)
    return np.asarray((codes[near] == codes[:, None]).mean(axis=1))
