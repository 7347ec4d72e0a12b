"""Values of this library as data evaluators of OpenDataVal, for its experiments."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state

from ordinal_shapley.estimators import ClassicShapley, OrdinalShapley, PartialOrdinalShapley
from ordinal_shapley.games._trainer import is_regression
from ordinal_shapley.valuation.result import Valuation
from ordinal_shapley.vocabulary import check_choice

try:
    import torch
    from opendataval.dataval import DataEvaluator, ModelMixin
    from opendataval.metrics import Metrics, accuracy, neg_mse
    from opendataval.model import ClassifierSkLearnWrapper, RegressionSkLearnWrapper
    from opendataval.model import LogisticRegression as TorchLogisticRegression
    from opendataval.model.api import TorchClassMixin
    from torch.utils.data import DataLoader
except ImportError as error:
    raise ImportError(
        f"ordinal_shapley.interop.opendataval needs OpenDataVal 1.3 ({error}). It asks for an older NumPy "
        "and pandas than this package does, so give it an environment of its own: "
        "pip install opendataval==1.3.0 'scikit-learn>=1.4' 'transformers<4.40' 'multimethod<2' "
        "'numba>=0.61,<0.69' 'rich>=13', and then pip install --no-deps ordinal-shapley"
    ) from error

__all__ = ["ClassicShapleyEvaluator", "OrdinalShapleyEvaluator", "PartialOrdinalShapleyEvaluator"]


class _Evaluator(ModelMixin):
    """Base of the evaluators; not a DataEvaluator itself, or OpenDataVal would list it as one."""

    _kind: Any
    pred_model: Any = None
    metric: Any = None
    valuation: Valuation | None = None

    def __init__(
        self, estimator: Any = None, *, model: str = "given", random_state: Any = None, **options: Any
    ) -> None:
        check_choice("model", model, ("given", "logistic"))
        if "valid_fraction" in options:
            raise ValueError("leave valid_fraction out: OpenDataVal provides the validation rows")
        if model == "logistic" and estimator is not None:
            raise ValueError("model is 'logistic', but estimator is another model: expected one of the two")
        self.model = model
        # An integer stays an integer, so that values are bit-identical to the estimator's with that seed.
        whole = isinstance(random_state, int | np.integer)
        self.random_state = random_state if whole else check_random_state(random_state)
        self.shapley = self._kind(estimator, random_state=self.random_state, **options)
        self._options = self.shapley.get_params(deep=False)

    def input_data(self, x_train: Any, y_train: Any, x_valid: Any, y_valid: Any) -> Any:
        """Take rows and labels, as `DataEvaluator.input_data` does."""
        self._forget()
        return super().input_data(x_train, y_train, x_valid, y_valid)

    def input_model(self, pred_model: Any) -> Any:
        """Take OpenDataVal's model; None stands for logistic regression."""
        if pred_model is None:
            self.pred_model = None
            return self
        return super().input_model(pred_model)

    def train_data_values(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the values; keywords are for training a network, and are ignored without one."""
        if not hasattr(self, "x_train"):
            raise RuntimeError("there are no rows to value: call input_data or input_fetcher first")
        self._forget()
        shapley = self._kind(**{**self._options, **self._chosen(kwargs)})
        regression = shapley.estimator is not None and is_regression(shapley.estimator)
        if shapley.scoring is None:
            shapley.scoring = self._scoring(regression)
        data: Any = self
        shapley.fit(
            _features(data.x_train, "x_train"),
            _labels(data.y_train, "y_train", regression),
            _features(data.x_valid, "x_valid"),
            _labels(data.y_valid, "y_valid", regression),
        )
        self.shapley, self.valuation = shapley, shapley.valuation_
        return self

    def evaluate_data_values(self) -> NDArray[np.float64]:
        """Return the values, one per training row."""
        if self.valuation is None:
            raise RuntimeError("there are no values yet: call train_data_values first")
        return np.array(self.valuation.values)

    def _forget(self) -> None:
        """Drop the values, including those that OpenDataVal keeps."""
        self.valuation = None
        self.__dict__.pop("data_values", None)

    def _chosen(self, training: dict[str, Any]) -> dict[str, Any]:
        """Return the model to value rows by, as options of the estimator."""
        model = self.pred_model
        if self._options["estimator"] is not None or self.model == "logistic" or model is None:
            return {}
        if isinstance(model, TorchLogisticRegression):
            return {}
        if isinstance(model, TorchClassMixin):
            first = vars(self)["x_train"][0]
            return {"estimator": _Network(model, tuple(getattr(first, "shape", ())), training)}
        if not isinstance(model, ClassifierSkLearnWrapper | RegressionSkLearnWrapper):
            raise ValueError(
                f"pred_model is a {type(model).__name__}, expected a network for classes or a model of "
                "scikit-learn's in its wrapper; or pass model='logistic' to value rows by logistic "
                "regression, or a model in estimator"
            )
        return {"estimator": model.model}

    def _scoring(self, regression: bool) -> str:
        """Return the name of OpenDataVal's metric in this library."""
        known, function, ours = (
            (Metrics.NEG_MSE, neg_mse, "neg_mean_squared_error")
            if regression
            else (Metrics.ACCURACY, accuracy, "accuracy")
        )
        if self.metric is None or self.metric is function or self.metric == known:
            return ours
        names = [getattr(getattr(m, "value", m), "__name__", m) for m in (self.metric, function)]
        raise ValueError(f"metric is {names[0]}, expected {names[1]}: name another score in scoring")


class PartialOrdinalShapleyEvaluator(_Evaluator, DataEvaluator):
    """Partial ordinal Shapley values as a data evaluator of OpenDataVal.

    It takes data, model and metric like OpenDataVal's own evaluators, so OpenDataVal's experiments need no
    changes. Rows are valued by its prediction model: by `ordinal_shapley.LogisticGame` if that is
    OpenDataVal's own logistic regression, a network, or if there is none; by the compiled game of a model of
    scikit-learn's where `ordinal_shapley.game_for` has one. Any other, and any other network for classes, is
    fitted for each sequence of rows, which takes milliseconds: a network always from the weights that it has,
    with one seed, and as the keywords of ``train_data_values`` say.

    Parameters
    ----------
    estimator : classifier, regressor or pipeline, optional
        A scikit-learn model to value rows by, instead of the prediction model.
    model : {"given", "logistic"}, default "given"
        "logistic": value rows by logistic regression, whatever the prediction model is.
    random_state : None, int or RandomState
        The same integer gives the same values as in `ordinal_shapley.PartialOrdinalShapley`.
    **options
        All others that `ordinal_shapley.PartialOrdinalShapley` takes, such as ``sampler``,
        ``n_permutations``, ``stopping`` and ``n_jobs``, except ``valid_fraction``. Without ``scoring`` the
        score is OpenDataVal's metric: accuracy, or for a regressor the negative mean squared error.

    Attributes
    ----------
    shapley : PartialOrdinalShapley
        The estimator, fitted by ``train_data_values``.
    valuation : Valuation or None
        Values with their standard errors; None before ``train_data_values``.
    data_values : ndarray of shape (n_rows,)
        The values, as OpenDataVal's experiments ask for them.

    Raises
    ------
    TypeError, ValueError
        If an option is unknown, or contradicts OpenDataVal's data or model.

    Examples
    --------
    >>> import numpy as np
    >>> from opendataval.dataloader import DataFetcher, mix_labels
    >>> from opendataval.experiment.exper_methods import noisy_detection
    >>> from ordinal_shapley.interop.opendataval import PartialOrdinalShapleyEvaluator
    >>> x = np.random.RandomState(0).normal(size=(120, 3))
    >>> labels = np.eye(2)[(x.sum(axis=1) > 0).astype(int)]
    >>> fetcher = DataFetcher.from_data(x, labels, True, random_state=0)
    >>> fetcher = fetcher.split_dataset_by_count(40, 40, 40).noisify(mix_labels, noise_rate=0.2)
    >>> evaluator = PartialOrdinalShapleyEvaluator(n_permutations=100, random_state=0).train(fetcher)
    >>> evaluator.data_values.shape
    (40,)
    >>> list(noisy_detection(evaluator, fetcher))
    ['kmeans_f1']
    """

    _kind = PartialOrdinalShapley


class OrdinalShapleyEvaluator(_Evaluator, DataEvaluator):
    """Ordinal Shapley values as a data evaluator of OpenDataVal; use these to find label errors.

    Parameters
    ----------
    estimator, model, random_state, **options
        As for `PartialOrdinalShapleyEvaluator`, with the defaults of `ordinal_shapley.OrdinalShapley`. The
        attributes are the same, too.

    Examples
    --------
    >>> import torch
    >>> from ordinal_shapley.interop.opendataval import OrdinalShapleyEvaluator
    >>> x = torch.tensor([[0.0], [1.0], [3.0], [4.0]])
    >>> y = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> evaluator = OrdinalShapleyEvaluator(n_permutations=50, random_state=0)
    >>> evaluator.input_data(x, y, x, y).train_data_values().evaluate_data_values().shape
    (4,)
    """

    _kind = OrdinalShapley


class ClassicShapleyEvaluator(_Evaluator, DataEvaluator):
    """Classic Shapley values as a data evaluator of OpenDataVal, instead of its `DataShapley`.

    Parameters
    ----------
    estimator, model, random_state, **options
        As for `PartialOrdinalShapleyEvaluator`, with the defaults of `ordinal_shapley.ClassicShapley`. The
        attributes are the same, too.

    Examples
    --------
    >>> import torch
    >>> from ordinal_shapley.interop.opendataval import ClassicShapleyEvaluator
    >>> x = torch.tensor([[0.0], [1.0], [3.0], [4.0]])
    >>> y = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> evaluator = ClassicShapleyEvaluator(sampler="mc", n_permutations=50, random_state=0)
    >>> evaluator.input_data(x, y, x, y).train_data_values().valuation.sampler
    PermutationSampler()
    """

    _kind = ClassicShapley


class _Network(ClassifierMixin, BaseEstimator):
    """An OpenDataVal network with scikit-learn's interface, which depends on its training rows alone."""

    def __init__(self, model: Any, shape: tuple[int, ...], training: dict[str, Any]) -> None:
        self.model = model
        self.shape = shape
        self.training = training

    def fit(self, X: NDArray[Any], y: NDArray[Any], sample_weight: Any = None) -> _Network:
        n_classes = self.model.num_classes
        self.classes_ = np.arange(n_classes)
        self.network_ = self.model.clone()
        training = dict(self.training)
        if sample_weight is not None:
            weights = torch.tensor(sample_weight, dtype=torch.float)
            # With two classes its loss has a column for each.
            training["sample_weight"] = weights[:, None] if n_classes == 2 else weights
        labels = torch.nn.functional.one_hot(torch.tensor(y), n_classes).float()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.network_.fit(self._tensor(X), labels, **training)
        return self

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(self.network_.predict(self._tensor(X)).argmax(dim=1).cpu())

    def _tensor(self, X: NDArray[Any]) -> Any:
        return torch.tensor(X, dtype=torch.float).reshape(-1, *self.shape)


def _features(rows: Any, name: str) -> NDArray[Any]:
    """Return a tensor or a torch data set as a table, images flattened."""
    if not isinstance(rows, torch.Tensor | np.ndarray):
        rows = next(iter(DataLoader(rows, batch_size=len(rows))))
    if not isinstance(rows, torch.Tensor | np.ndarray):
        raise TypeError(f"{name} holds {type(rows[0]).__name__}, expected numbers: embed it first")
    table = _as_array(rows)
    return table.reshape(len(table), -1)


def _labels(labels: Any, name: str, regression: bool) -> NDArray[Any]:
    """Return classes of one-hot rows as numbers, or the only column of targets."""
    table = _as_array(labels)
    if regression and table.size == len(table):
        return table.reshape(-1)
    one_hot = table.ndim == 2 and table.shape[1] > 1 and bool(np.isin(table, (0, 1)).all())
    if regression or not one_hot or not (table.sum(axis=1) == 1).all():
        expected = (
            "one column of numbers for a regressor" if regression else "one-hot rows, a single 1 in each"
        )
        raise ValueError(f"{name} has shape {table.shape}, expected {expected}")
    return np.asarray(table.argmax(axis=1))


def _as_array(values: Any) -> NDArray[Any]:
    return values if isinstance(values, np.ndarray) else np.asarray(values.numpy(force=True))
