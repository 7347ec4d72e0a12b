"""The same shards on a Dask cluster of processes, on Ray, and as jobs that know nothing of one another."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import threading
import time
from pathlib import Path

import joblib
import numpy as np
import pytest

import ordinal_shapley as osv
from problems import size, wine
from runs import SAMPLED, bits, game_of, sample_with

# Libraries of clusters warn of much that is none of our business.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def dask(client):
    client.wait_for_workers(2, timeout=60)  # one may have been killed
    with joblib.parallel_config(backend="dask"):
        yield client


def sampled(game, n_permutations=40, **options):
    return sample_with(game, n_permutations=n_permutations, **{"random_state": 3, **options})


def logistic():
    return osv.LogisticGame(*wine(True).first(size(60, 6)))


@pytest.mark.filterwarnings("ignore:.*standard errors", "ignore:partition and case")
@pytest.mark.filterwarnings("ignore:.*truncation ended")
@pytest.mark.parametrize("name", ["mc", "roulette", "ordinal latin", "blend", "ordinal profile", "groups"])
def test_same_bits_on_dask(name, dask):
    options = SAMPLED[name]
    with joblib.parallel_config(backend="threading"):
        expected = bits(sampled(game_of(5), 60, **options))
    assert bits(sampled(game_of(5), 60, **options)) == expected


def test_data_go_to_the_workers_once_a_stage_and_compile_nothing_anew(dask):
    from distributed import Client

    game, sent = logistic(), []
    real = Client.scatter

    def scatter(self, data, *arguments, **options):
        sent.append(data)
        return real(self, data, *arguments, **options)

    with joblib.parallel_config(backend="threading"):
        expected = bits(sampled(game, size(200, 30)))
    Client.scatter = scatter
    try:
        run = sampled(game, size(200, 30))
    finally:
        Client.scatter = real
    assert bits(run) == expected
    names = [id(array) for array in sent]
    assert sum(array.nbytes for array in sent if isinstance(array, np.ndarray)) > 1_000
    # Once for the scores of all rows and once for the run, though shards are twenty.
    assert max(names.count(name) for name in names) <= 2


def test_the_work_is_done_by_the_workers(dask, tmp_path):
    folder = str(tmp_path)

    def utility(sequence):
        if len(sequence):
            (Path(folder) / str(os.getpid())).touch()
        return float(len(sequence))

    sampled(osv.FunctionGame(utility, 5), 400)
    workers = set(dask.run(os.getpid).values())
    seen = {int(path.name) for path in tmp_path.iterdir()}
    assert seen <= workers
    assert len(seen) == 2


def test_a_killed_worker_costs_its_shards_only(dask, tmp_path):
    inner, folder = game_of(5).func, str(tmp_path)

    def utility(sequence):
        time.sleep(0.002)
        if len(sequence) == 5:
            (Path(folder) / f"{os.getpid()}-{time.monotonic_ns()}").touch()
        return inner(sequence)

    game, n_permutations = osv.FunctionGame(utility, 5), 300
    victims = set(dask.run(os.getpid).values())
    killed = []

    def kill():
        while not killed and len(list(tmp_path.iterdir())) < 60:
            time.sleep(0.01)
        victim = int(next(tmp_path.iterdir()).name.split("-")[0])
        os.kill(victim, signal.SIGKILL)
        killed.append(victim)

    killer = threading.Thread(target=kill)
    killer.start()
    run = sampled(game, n_permutations)
    killer.join()
    assert killed[0] in victims
    assert killed[0] not in dask.run(os.getpid).values()
    with joblib.parallel_config(backend="threading"):
        assert bits(run) == bits(sampled(game_of(5), n_permutations))
    # Permutations that were walked twice are those of batches in the dead worker's hands.
    assert n_permutations <= len(list(tmp_path.iterdir())) < 2 * n_permutations


def test_time_and_checkpoints_on_dask(dask, tmp_path):
    path = tmp_path / "run.npz"
    game = osv.FunctionGame(slowly, 20)
    sampled(game, 60)  # a worker that is new, for one was killed, has to load everything
    run = sample_with(game, stopping=osv.MaxSeconds(2.0), random_state=3, checkpoint=path)
    assert run.stopped_by == "MaxSeconds"
    more = sampled(game, run.n_permutations + 25, checkpoint=path)
    with joblib.parallel_config(backend="threading"):
        assert bits(run) == bits(sampled(game, run.n_permutations))
        assert bits(more) == bits(sampled(game, more.n_permutations))


def slowly(sequence):
    time.sleep(0.0005)
    return math.sin(float(np.arange(len(sequence)) @ sequence)) if len(sequence) else 0.0


def test_same_bits_on_ray():
    ray = pytest.importorskip("ray")
    from ray.util.joblib import register_ray

    expected = bits(sampled(game_of(5)))
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        register_ray()
        with joblib.parallel_config(backend="ray", n_jobs=2):
            assert bits(sampled(game_of(5))) == expected
    finally:
        with contextlib.suppress(Exception):
            ray.shutdown()


def test_backends_that_give_lists(tmp_path):
    """As Ray's does; this one comes with joblib, and does its work here."""
    from joblib.parallel import ThreadingBackend

    class Lists(ThreadingBackend):
        supports_return_generator = False

    joblib.register_parallel_backend("lists", Lists)
    whole = sampled(logistic(), size(200, 30))
    with joblib.parallel_config(backend="lists", n_jobs=2):
        assert bits(sampled(logistic(), size(200, 30))) == bits(whole)
        exact = osv.exact_values(game_of(5), "partial_ordinal", n_jobs=2).values
        early = sample_with(game_of(5), stopping=osv.MaxEvaluations(333), random_state=3)
    assert early.n_permutations == 70
    np.testing.assert_array_equal(exact, osv.exact_values(game_of(5), "partial_ordinal", n_jobs=1).values)


@pytest.mark.filterwarnings("ignore:.*standard errors")
@pytest.mark.parametrize("name", ["mc", "ordinal", "latin", "profile"])
def test_jobs_of_their_own_pool_to_one_run(name, tmp_path):
    """What a Slurm array does: each job takes a range, is killed and goes on, and files are pooled."""
    parts, options = [], SAMPLED[name]
    for task in (2, 0, 1):
        path = tmp_path / f"part-{task}.npz"
        for share in (7, 50):
            sampled(game_of(5), share, first_permutation=50 * task, checkpoint=path, **options)
        parts.append(osv.Valuation.load(path))  # a checkpoint does as well as a result
    pooled, whole = osv.Valuation.merge(parts), sampled(game_of(5), 150, **options)
    assert pooled.ranges == whole.ranges
    np.testing.assert_allclose(pooled.values, whole.values, rtol=0, atol=1e-12)
    np.testing.assert_allclose(pooled.stderr, whole.stderr, rtol=0, atol=1e-12)
    assert (pooled.n_evaluations, pooled.settings.digest) == (whole.n_evaluations, whole.settings.digest)
    with pytest.raises(ValueError, match=r"share permutations 0\.\.49"):
        osv.Valuation.merge([*parts, parts[1]])
