"""Data evaluators in OpenDataVal."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import ordinal_shapley as osv
from interop.libraries import breaches, needed

needed("opendataval.experiment")

import torch  # noqa: E402
from opendataval.dataloader import DataFetcher, mix_labels  # noqa: E402
from opendataval.dataloader.util import ListDataset  # noqa: E402
from opendataval.dataval import DataShapley, RandomEvaluator, TMCSampler  # noqa: E402
from opendataval.experiment import ExperimentMediator  # noqa: E402
from opendataval.experiment import exper_methods as experiments  # noqa: E402
from opendataval.metrics import Metrics, accuracy, neg_l2  # noqa: E402
from opendataval.model import (  # noqa: E402
    ClassifierMLP,
    ClassifierSkLearnWrapper,
    ClassifierUnweightedSkLearnWrapper,
    RegressionMLP,
    RegressionSkLearnWrapper,
)
from opendataval.model import LogisticRegression as TorchLogisticRegression  # noqa: E402
from sklearn.linear_model import LogisticRegression, Ridge  # noqa: E402
from sklearn.naive_bayes import GaussianNB  # noqa: E402
from sklearn.neighbors import KNeighborsClassifier  # noqa: E402
from torch.utils.data import TensorDataset  # noqa: E402

from ordinal_shapley.interop.opendataval import (  # noqa: E402
    ClassicShapleyEvaluator,
    OrdinalShapleyEvaluator,
    PartialOrdinalShapleyEvaluator,
)

PAIRS = {
    PartialOrdinalShapleyEvaluator: osv.PartialOrdinalShapley,
    OrdinalShapleyEvaluator: osv.OrdinalShapley,
    ClassicShapleyEvaluator: osv.ClassicShapley,
}


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)).astype(np.float32)
    y = (x.sum(axis=1) + 0.3 * rng.normal(size=n) > 0).astype(int)
    y[:2] = 0, 1
    return x, y


def tensors(n=30, n_valid=30, n_classes=2):
    (x, y), (x_valid, y_valid) = rows(n), rows(n_valid, 1)
    return torch.from_numpy(x), one_hot(y, n_classes), torch.from_numpy(x_valid), one_hot(y_valid, n_classes)


def one_hot(y, n_classes=2):
    return torch.nn.functional.one_hot(torch.from_numpy(y), n_classes).float()


def noisy_fetcher():
    x, y = rows(220)
    fetcher = DataFetcher.from_data(x, np.eye(2)[y], one_hot=True, random_state=3)
    return fetcher.split_dataset_by_count(80, 80, 60).noisify(mix_labels, noise_rate=0.2)


def logistic(**options):
    return ClassifierSkLearnWrapper(LogisticRegression, 2, solver="liblinear", **options)


def arrays(data):
    x, y, x_valid, y_valid = data
    return x.numpy(), y.argmax(1).numpy(), x_valid.numpy(), y_valid.argmax(1).numpy()


def trained(evaluator, data, model=None, metric=accuracy):
    return evaluator.input_data(*data).input_model(model).input_metric(metric).train_data_values()


@pytest.fixture(scope="module")
def mediator():
    evaluators = [evaluator(n_permutations=400, random_state=0) for evaluator in PAIRS]
    mediator = ExperimentMediator(noisy_fetcher(), logistic(), raises_error=True)
    return mediator.compute_data_values([*evaluators, RandomEvaluator(0)])


def test_its_names_are_documented():
    assert breaches("opendataval") == []


class TestExperiments:
    @pytest.mark.parametrize(
        "experiment",
        [
            experiments.noisy_detection,
            experiments.remove_high_low,
            experiments.discover_corrupted_sample,
            experiments.increasing_bin_removal,
            experiments.save_dataval,
        ],
        ids=lambda experiment: experiment.__name__,
    )
    def test_it_runs_unchanged(self, mediator, experiment, tmp_path):
        mediator.set_output_directory(tmp_path)
        frame = mediator.evaluate(experiment, save_output=True)
        assert set(frame.index) == {str(evaluator) for evaluator in mediator.data_evaluators}
        assert "OrdinalShapleyEvaluator(n_permutations=400, random_state=0)" in frame.index
        assert np.isfinite(frame.to_numpy(float)).all()
        assert (tmp_path / f"{experiment.__name__}.csv").exists()

    def test_wrong_labels_lie_low(self, mediator):
        frame = mediator.evaluate(experiments.discover_corrupted_sample)
        by_kind = {
            name.partition("(")[0]: float(part[part["axis"] > 0.29]["corrupt_found"].iloc[0])
            for name, part in frame.groupby(level=0)
        }
        # Among the lowest 30 % of the rows: of one in five, all by chance would be 0.3.
        assert by_kind["OrdinalShapleyEvaluator"] > 0.7
        assert by_kind["ClassicShapleyEvaluator"] > 0.7
        assert by_kind["RandomEvaluator"] < 0.6


class TestValues:
    @pytest.mark.parametrize("evaluator", PAIRS)
    def test_they_are_those_of_the_estimator_to_the_bit(self, evaluator):
        data = tensors()
        got = trained(evaluator(n_permutations=60, random_state=7), data)
        ours = PAIRS[evaluator](n_permutations=60, random_state=7).fit(*arrays(data))
        np.testing.assert_array_equal(got.evaluate_data_values(), ours.values_)
        np.testing.assert_array_equal(got.data_values, ours.values_)
        assert got.valuation.n_permutations == 60
        assert isinstance(got.shapley.game_, osv.LogisticGame)

    def test_options_reach_the_estimator(self):
        data = tensors()
        options = {"scoring": "balanced_accuracy", "C": 3.0, "empty_value": 0.0, "n_permutations": 40}
        options |= {"sampler": osv.PermutationSampler(design="antithetic"), "random_state": 1}
        got = trained(OrdinalShapleyEvaluator(**options), data)
        ours = osv.OrdinalShapley(**options).fit(*arrays(data))
        np.testing.assert_array_equal(got.data_values, ours.values_)

    def test_a_state_moves_on_and_the_global_one_is_the_default(self):
        data = tensors()
        state = np.random.RandomState(5)
        first, second = (
            trained(ClassicShapleyEvaluator(n_permutations=10, random_state=state), data).data_values
            for _ in range(2)
        )
        assert (first != second).any()
        runs = []
        for _ in range(2):
            np.random.seed(4)  # noqa: NPY002 (OpenDataVal's default)
            runs.append(trained(ClassicShapleyEvaluator(n_permutations=10), data).data_values)
        np.testing.assert_array_equal(*runs)


class TestModels:
    def chosen(self, model, evaluator=ClassicShapleyEvaluator, **options):
        evaluator = evaluator(sampler="mc", n_permutations=2, random_state=0, **options)
        return trained(evaluator, tensors(), model).shapley

    def test_logistic_regression_is_compiled(self):
        game = self.chosen(logistic(C=0.25)).game_
        assert "C=0.25" in game.model
        for model in (None, TorchLogisticRegression(3, 2)):
            assert isinstance(self.chosen(model).game_, osv.LogisticGame)
        assert isinstance(game, osv.LogisticGame)
        with pytest.raises(ValueError, match="C is 2"):
            self.chosen(logistic(), C=2.0)

    def test_other_models_are_fitted(self):
        naive = ClassifierSkLearnWrapper(GaussianNB, 2)
        assert isinstance(self.chosen(naive, OrdinalShapleyEvaluator).game_.estimator, GaussianNB)
        near = ClassifierUnweightedSkLearnWrapper(KNeighborsClassifier, 2, 1, p=1)
        assert self.chosen(near).game_.estimator.n_neighbors == 1
        with pytest.raises(ValueError, match="position_weight"):
            self.chosen(near, PartialOrdinalShapleyEvaluator)

    @pytest.mark.filterwarnings("ignore:'pin_memory' argument:UserWarning")
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_networks_are_trained_as_opendataval_would(self, n_classes):
        torch.manual_seed(1)
        network, evaluator = ClassifierMLP(3, n_classes), ClassicShapleyEvaluator
        data = tensors(24, 30, n_classes)
        for y in (data[1], data[3]):
            y[2:4] = torch.nn.functional.one_hot(torch.tensor(n_classes - 1), n_classes)
        options = {"n_permutations": 2, "random_state": 0}
        training = {"epochs": 2, "lr": 0.1}
        first, second = (
            evaluator(sampler="mc", **options)
            .input_data(*data)
            .input_model(network)
            .train_data_values(**training)
            for _ in range(2)
        )
        np.testing.assert_array_equal(first.data_values, second.data_values)
        for rows in ([0, 1, 2, 5, 9, 12], range(24)):
            alone = network.clone()
            torch.manual_seed(0)
            alone.fit(data[0][list(rows)], data[1][list(rows)], **training)
            assert first.shapley.game_(rows) == pytest.approx(accuracy(data[3], alone.predict(data[2])))
        # Uniform weights of 1 are none.
        weighted = osv.EstimatorGame(
            first.shapley.game_.estimator, *arrays(data), position_weight="uniform",
            sample_weight=np.ones(24),
        )  # fmt: skip
        assert weighted(range(24)) == first.shapley.game_(range(24))
        ordinal = OrdinalShapleyEvaluator(sampler="mc", **options)
        assert np.isfinite(trained(ordinal, data, network).data_values).all()

    def test_other_models_are_refused_unless_logistic_regression_may_stand_in(self):
        network = RegressionMLP(3, 1)
        with pytest.raises(ValueError, match="pred_model"):
            self.chosen(network)
        stand_in = ClassicShapleyEvaluator(sampler="mc", n_permutations=2, random_state=0, model="logistic")
        assert isinstance(trained(stand_in, tensors(), network).shapley.game_, osv.LogisticGame)

    def test_a_regressor(self):
        x, y = rows(24)
        targets = (x @ [1.0, 2.0, 0.0] + 0.1 * y).astype(np.float32)
        data = [torch.from_numpy(part) for part in (x[:12], targets[:12, None], x[12:], targets[12:, None])]
        model = RegressionSkLearnWrapper(Ridge)
        evaluator = ClassicShapleyEvaluator(sampler="mc", n_permutations=3, random_state=0)
        got = trained(evaluator, data, model, Metrics.NEG_MSE)
        options = {"sampler": "mc", "scoring": "neg_mean_squared_error", "n_permutations": 3}
        ours = osv.ClassicShapley(estimator=Ridge(), random_state=0, **options)
        ours.fit(x[:12], targets[:12], x[12:], targets[12:])
        np.testing.assert_array_equal(got.data_values, ours.values_)
        with pytest.raises(ValueError, match="metric"):
            trained(evaluator, data, model)
        with pytest.raises(ValueError, match="y_train"):
            trained(evaluator, tensors(), model, Metrics.NEG_MSE)


class TestAgainstDataShapley:
    def theirs(self, n, n_permutations=0):
        evaluator = DataShapley(
            TMCSampler(n_permutations, min_cardinality=0, cache_name=None, random_state=0)
        )
        return evaluator.input_data(*self.data(n)).input_model_metric(logistic(), accuracy)

    def data(self, n):
        # As many validation rows of one class as of the other, so that any constant scores a half.
        x, y, x_valid, y_valid = tensors(n, 60)
        few = min(int(y_valid[:, 0].sum()), int(y_valid[:, 1].sum()))
        kept = torch.cat([torch.where(y_valid[:, k] == 1)[0][:few] for k in (0, 1)])
        return x, y, x_valid[kept], y_valid[kept]

    def test_every_set_is_worth_the_same(self):
        theirs, game = self.theirs(6), osv.LogisticGame(*arrays(self.data(6)), position_weight="uniform")
        for m in range(7):
            for players in itertools.combinations(range(6), m):
                assert theirs._evaluate_model(list(players)) == pytest.approx(game(players), abs=1e-6)


class TestBadInput:
    def test_options(self):
        for name, value in (("epochs", 3), ("position_weight", "gaussian")):
            with pytest.raises(TypeError, match=name):
                ClassicShapleyEvaluator(**{name: value})
        with pytest.raises(ValueError, match="valid_fraction"):
            OrdinalShapleyEvaluator(valid_fraction=0.2)
        for options in ({"model": "mlp"}, {"model": "logistic", "estimator": GaussianNB()}):
            with pytest.raises(ValueError, match="model"):
                OrdinalShapleyEvaluator(**options)

    def test_a_metric_without_a_score_of_ours(self):
        evaluator = ClassicShapleyEvaluator(n_permutations=2, random_state=0)
        for metric in (neg_l2, Metrics.NEG_L2):
            with pytest.raises(ValueError, match="metric"):
                trained(evaluator, tensors(), metric=metric)
        chosen = ClassicShapleyEvaluator(n_permutations=2, random_state=0, scoring="neg_log_loss")
        assert trained(chosen, tensors(), metric=neg_l2).shapley.game_.scoring == "neg_log_loss"

    def test_labels_that_are_no_one_hot_rows(self):
        x, y, x_valid, y_valid = tensors()
        evaluator = ClassicShapleyEvaluator(n_permutations=2, random_state=0)
        for bad in (y[:, :1], y.argmax(1).float(), 2 * y, torch.ones(30, 2), y - 0.5):
            with pytest.raises(ValueError, match="y_train"):
                trained(evaluator, (x, bad, x_valid, y_valid))
        with pytest.raises(ValueError, match="y_valid"):
            trained(evaluator, (x, y, x_valid, 0 * y_valid))

    def test_rows_that_are_no_numbers(self):
        x, y, x_valid, y_valid = tensors()
        evaluator = ClassicShapleyEvaluator(n_permutations=2, random_state=0)
        for model in (None, ClassifierMLP(3, 2)):
            with pytest.raises(TypeError, match="x_train"):
                trained(evaluator, (ListDataset(["word"] * 30), y, x_valid, y_valid), model)
        with pytest.raises(TypeError, match="x_valid"):
            trained(evaluator, (x, y, TensorDataset(x_valid, y_valid), y_valid))
