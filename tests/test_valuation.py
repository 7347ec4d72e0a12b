"""The result object against plain arithmetic on the samples it sums up."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import os
import threading
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import ordinal_shapley as osv
from ordinal_shapley import Valuation
from ordinal_shapley.valuation.moments import Moments
from ordinal_shapley.valuation.settings import Settings

SETTINGS = Settings(
    osv.PartialOrdinal(), osv.PermutationSampler(class_fraction=0.8), seed=2**64 - 1, digest="abc"
)
RUN = {
    "converged": True,
    "stopped_by": "RelativeChange",
    "seconds": 1.25,
    "player_names": None,
}


def make(moments, average="all", **changes):
    """A valuation of these sums; changes are of settings or of the run."""
    if average != "all":
        changes["sampler"] = osv.PermutationSampler(class_fraction=0.8, average=average)
    own = {name: changes.pop(name) for name in Settings._fields if name in changes}
    first = changes.pop("first_permutation", 0)
    ranges = ((first, first + moments.n_permutations),)
    return Valuation.from_moments(moments, SETTINGS._replace(**own), ranges, **RUN | changes)


def moments_of(samples, chosen=None, unit=1):
    """Sum up samples (permutation x player); chosen says who was in the sampled set."""
    samples = np.asarray(samples, dtype=float)
    chosen = np.ones(samples.shape, bool) if chosen is None else np.asarray(chosen)
    samples = np.where(chosen, samples, 0.0)
    t, n = samples.shape
    whole = t // unit * unit
    totals = samples[:whole].reshape(-1, unit, n).sum(1)
    counted = [totals[chosen[:whole:unit, i], i] for i in range(n)]
    return Moments(
        sums=samples.sum(0),
        chosen=chosen.sum(0),
        replicate_sums=totals.sum(0),
        replicate_spread=np.array([len(mine) * np.var(mine) if len(mine) else 0.0 for mine in counted]),
        replicates=chosen[:whole:unit].sum(0),
        profile=np.zeros((3, 0, 0)),
        block_sums=np.zeros((n, 0)),
        block_spread=np.zeros(0),
        replicate_size=unit,
        n_replicates=t // unit,
        n_permutations=t,
        n_evaluations=3 * t * n,
        walk_length=t * n,
        completed_stops=1 if t else 0,
    )


def draw(t=40, n=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal([0.5, 0.1, 0.0, -0.1, -0.5][:n], 0.2, (t, n)), rng.random((t, n)) < 0.7


def by_hand(values, stderr, **changes):
    """A valuation with given values and errors, from 100 permutations."""
    t = 100
    values, stderr = np.asarray(values, float), np.asarray(stderr, float)
    spread = stderr**2 * t * (t - 1)
    n = len(values)
    moments = Moments.zeros(n)._replace(
        sums=t * values,
        chosen=np.full(n, t),
        replicate_sums=t * values,
        replicate_spread=spread,
        replicates=np.full(n, t),
        n_replicates=t,
        n_permutations=t,
        n_evaluations=t,
        walk_length=t,
    )
    return make(moments, **changes)


def assert_same(a, b, exact=True):
    for field in dataclasses.fields(Valuation):
        x, y = getattr(a, field.name), getattr(b, field.name)
        if field.name == "moments":
            for u, v in zip(x, y, strict=True):
                assert np.array_equal(u, v) if exact else np.allclose(u, v, rtol=1e-13)
        elif isinstance(x, np.ndarray) and x.dtype.kind == "f" and not exact:
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)
        elif isinstance(x, np.ndarray):
            assert x.dtype == y.dtype
            np.testing.assert_array_equal(x, y)
        else:
            assert x == y, field.name
            assert type(x) is type(y), field.name


class TestMeansAndErrors:
    def test_all(self):
        samples, chosen = draw()
        valuation = make(moments_of(samples, chosen))
        counted = np.where(chosen, samples, 0.0)
        np.testing.assert_allclose(valuation.values, counted.mean(0), rtol=1e-12)
        np.testing.assert_allclose(valuation.stderr, stats.sem(counted, ddof=1), rtol=1e-12)
        assert valuation.counts.tolist() == [40] * 5

    def test_selected(self):
        samples, chosen = draw()
        valuation = make(moments_of(samples, chosen), average="selected")
        for i in range(5):
            mine = samples[chosen[:, i], i]
            assert valuation.values[i] == pytest.approx(mine.mean(), rel=1e-12)
            assert valuation.stderr[i] == pytest.approx(stats.sem(mine), rel=1e-12)
            assert valuation.counts[i] == len(mine)

    def test_too_few_are_not_silently_zero(self):
        samples = np.array([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0], [3.0, 3.0, 3.0]])
        chosen = np.array([[1, 1, 0], [1, 0, 0], [1, 0, 0]], bool)
        valuation = make(moments_of(samples, chosen), average="selected")
        np.testing.assert_array_equal(valuation.values, [2.0, 1.0, math.nan])
        np.testing.assert_allclose(valuation.stderr, [1 / math.sqrt(3), math.nan, math.nan])
        assert valuation.counts.tolist() == [3, 1, 0]

    def test_no_permutation(self):
        valuation = make(Moments.zeros(2))
        assert np.isnan(valuation.values).all()
        assert np.isnan(valuation.stderr).all()
        assert math.isnan(valuation.mean_evaluated)

    @pytest.mark.parametrize("constant", [0.0, 0.1, -1e8, 1e-300])
    def test_equal_samples_have_error_zero(self, constant):
        valuation = make(moments_of(np.full((977, 1), constant)))
        assert valuation.stderr[0] == 0.0

    def test_results_are_read_only(self):
        valuation = make(moments_of(*draw()))
        for array in (valuation.values, valuation.stderr, valuation.counts):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0
        with pytest.raises(dataclasses.FrozenInstanceError):
            valuation.values = valuation.stderr


class TestIntervals:
    @pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
    def test_normal_interval(self, level):
        valuation = make(moments_of(*draw()))
        low, high = valuation.confidence_interval(level)
        expected = stats.norm.interval(level, valuation.values, valuation.stderr)
        np.testing.assert_allclose((low, high), expected, rtol=1e-12)

    def test_probability_below(self):
        valuation = by_hand([0.0, 1.0, -1.0, 20.0], [1.0, 0.5, 0.5, 1.0])
        expected = stats.norm.cdf(0.25, valuation.values, valuation.stderr)
        np.testing.assert_allclose(valuation.probability_below(0.25), expected, rtol=1e-9)
        assert valuation.probability_below()[0] == 0.5
        assert valuation.probability_below()[3] > 0, "the far tail must not round to 0"

    def test_probability_without_error(self):
        valuation = by_hand([0.0, -1.0, 1.0], [0.0, 0.0, 0.0])
        assert valuation.probability_below().tolist() == [0.0, 1.0, 0.0]
        assert np.isnan(make(moments_of([[1.0]])).probability_below()).all()


class TestRankingAndFrame:
    def test_ranking_is_stable_and_puts_nan_last(self):
        samples = np.array([[1.0, 5.0, 1.0, -2.0, 5.0]])
        chosen = np.array([[True, True, True, True, True]])
        assert make(moments_of(samples, chosen)).ranking().tolist() == [1, 4, 0, 2, 3]
        chosen[0, 1] = False
        selected = make(moments_of(samples, chosen), average="selected")
        assert selected.ranking().tolist() == [4, 0, 2, 3, 1]

    def test_frame(self):
        labels = np.array(["a", "b", "c"], dtype=object)
        valuation = by_hand([0.1, 0.3, -0.2], [0.2, 0.01, 0.05], player_names=labels)
        frame = valuation.to_frame()
        names = ["value", "stderr", "stderr_total", "ci_low", "ci_high", "rank", "count", "below_zero"]
        assert list(frame.columns) == names
        assert frame["stderr_total"].isna().all()
        assert frame.index.tolist() == ["a", "b", "c"]
        assert frame["rank"].tolist() == [2, 1, 3]
        assert frame["below_zero"].tolist() == [False, False, True]
        assert frame["count"].tolist() == [100] * 3
        np.testing.assert_array_equal(frame["value"], valuation.values)
        np.testing.assert_array_equal(frame["ci_low"], valuation.confidence_interval()[0])
        wide = valuation.to_frame(level=0.999_999)
        assert (wide["ci_high"] > frame["ci_high"]).all()
        assert not wide.loc["c", "below_zero"], "the flag follows the level asked for"


# Of one kind, which may be an array's, or of several.
kinds = [st.text(max_size=8), st.integers(-(2**63), 2**63 - 1), st.booleans(), st.floats(allow_nan=False)]
mixed = st.one_of(*kinds, st.integers(), st.none(), st.tuples(st.text(max_size=3), st.tuples(st.integers())))
label_lists = st.one_of(*(st.lists(kind, min_size=3, max_size=3) for kind in [*kinds, mixed]))


class TestSaveAndLoad:
    @given(
        labels=label_lists,
        as_object=st.booleans(),
        average=st.sampled_from(["all", "selected"]),
        first=st.integers(0, 2**62),
        seed=st.integers(0, 2**64 - 1),
    )
    def test_round_trip(self, tmp_path_factory, labels, as_object, average, first, seed):
        path = tmp_path_factory.mktemp("valuation") / "v.npz"
        kinds = {type(label) for label in labels}
        if not as_object and len(kinds) == 1 and tuple not in kinds:
            labels = np.array(labels)
        samples, chosen = draw(n=3)
        saved = make(
            moments_of(samples, chosen),
            player_names=labels,
            average=average,
            seed=seed,
            first_permutation=first,
        )
        saved.save(path)
        loaded = Valuation.load(path)
        assert_same(saved, loaded)
        assert [type(a) for a in saved.player_names] == [type(a) for a in loaded.player_names]

    @pytest.mark.parametrize(
        "labels",
        [
            None,
            np.array(["2020-01-01", "2021-02-03"], dtype="datetime64[ns]"),
            np.array([1, 2], dtype=np.uint8),
            pd.Index(["a\0", "ü"]).to_numpy(),
        ],
    )
    def test_kinds_of_labels(self, tmp_path, labels):
        saved = by_hand([1.0, 2.0], [0.1, 0.2], player_names=labels)
        saved.save(tmp_path / "v.npz")
        assert_same(saved, Valuation.load(tmp_path / "v.npz"))

    def test_other_labels_become_strings_with_a_warning(self, tmp_path):
        labels = np.array([pd.Timestamp("2020-01-01", tz="UTC"), "b"], dtype=object)
        saved = by_hand([1.0, 2.0], [0.1, 0.2], player_names=labels)
        with pytest.warns(UserWarning, match="Timestamp") as caught:
            saved.save(tmp_path / "v.npz")
        assert caught[0].filename == __file__, "the warning points at the caller"
        assert Valuation.load(tmp_path / "v.npz").player_names.tolist() == ["2020-01-01 00:00:00+00:00", "b"]

    def test_file_holds_no_pickle(self, tmp_path):
        by_hand([1.0], [0.1], player_names=np.array(["a"], object)).save(tmp_path / "v.npz")
        with np.load(tmp_path / "v.npz", allow_pickle=False) as file:
            assert all(file[name].dtype != object for name in file.files)

    def test_a_full_disk_keeps_the_old_file(self, tmp_path):
        resource = pytest.importorskip("resource")
        path = tmp_path / "v.npz"
        by_hand([1.0], [0.1]).save(path)
        path.chmod(0o600)
        before = path.read_bytes()
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, hard))
        try:
            with pytest.raises(OSError, match=r"too large.*v\.npz"):
                by_hand([2.0], [0.1]).save(path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert path.read_bytes() == before
        by_hand([2.0], [0.1]).save(path)
        assert Valuation.load(path).values == pytest.approx([2.0])
        assert [p.name for p in tmp_path.iterdir()] == ["v.npz"]
        assert path.stat().st_mode & 0o777 == 0o600

    @pytest.mark.skipif(os.name == "nt", reason="links need rights there")
    def test_links_and_devices_stay_what_they_are(self, tmp_path):
        link, loop = tmp_path / "link.npz", tmp_path / "loop.npz"
        link.symlink_to(tmp_path / "v.npz")
        loop.symlink_to(loop)
        saved = by_hand([1.0], [0.1])
        saved.save(link)
        assert link.is_symlink()
        assert_same(Valuation.load(tmp_path / "v.npz"), saved)
        with pytest.raises(OSError, match="loop"):
            saved.save(loop)
        with pytest.raises(IsADirectoryError):
            saved.save(tmp_path)
        os.mkfifo(tmp_path / "pipe")
        reader = threading.Thread(target=(tmp_path / "pipe").read_bytes, daemon=True)
        reader.start()
        saved.save(tmp_path / "pipe")
        reader.join(timeout=60)
        assert (tmp_path / "pipe").is_fifo()

    def test_other_arrays(self, tmp_path):
        np.save(tmp_path / "a.npy", np.ones(3))
        np.savez(tmp_path / "b.npz", values=np.ones(3))
        np.savez(tmp_path / "c.npz", header=np.array('{"format": "ordinal-shapley valuation 999"}'))
        for name, why in (("a.npy", "a.npy"), ("b.npz", "header"), ("c.npz", "999")):
            with pytest.raises(ValueError, match=why):
                Valuation.load(tmp_path / name)

    @pytest.mark.parametrize(
        "damage",
        [
            lambda header: header.pop("ranges"),
            lambda header: header.pop("fields"),
            lambda header: header["settings"].pop("sampler"),
            lambda header: header["fields"].pop("stopped_by"),
            lambda header: header["fields"].update(more=1),
            lambda header: header["settings"].update(seed="abc"),
            lambda header: header.update(ranges="abc"),
            lambda header: header.update(ranges=[["a", "b"]]),
            lambda header: header["counts"][0].update(n_permutations="abc"),
            lambda header: header.update(labels="json"),
        ],
    )
    def test_damaged_headers(self, tmp_path, damage):
        path = tmp_path / "v.npz"
        by_hand([1.0], [0.1]).save(path)
        with np.load(path) as file:
            arrays = dict(file)
        header = json.loads(str(arrays["header"]))
        damage(header)
        np.savez(path, **arrays | {"header": np.array(json.dumps(header))})
        with pytest.raises(ValueError, match=r"v.npz"):
            Valuation.load(path)

    @pytest.mark.parametrize("chosen", [np.ones(2, int), np.ones((1, 1), int), np.ones(1), np.array(["a"])])
    @pytest.mark.parametrize("name", ["sums", "chosen"])
    def test_damaged_sums(self, tmp_path, name, chosen):
        path = tmp_path / "v.npz"
        by_hand([1.0], [0.1]).save(path)
        with np.load(path) as file:
            arrays = dict(file)
        bad = chosen if name == "chosen" else chosen.astype(str)
        np.savez(path, **arrays | {f"{name}.0": bad})
        with pytest.raises(ValueError, match=r"v.npz"):
            Valuation.load(path)

    @pytest.mark.slow
    def test_flipped_bytes(self, tmp_path):
        path, saved = tmp_path / "v.npz", by_hand([1.0], [0.1], player_names=["a"])
        saved.save(path)
        content, refusals = path.read_bytes(), []
        # Each byte of the first member's head and of the directory at the end.
        for place in [*range(60), *range(len(content) - 330, len(content))]:
            for flip in (1, 8, 255):
                damaged = bytearray(content)
                damaged[place] ^= flip
                path.write_bytes(damaged)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        loaded = Valuation.load(path)
                    except ValueError as error:
                        refusals.append(str(error))
                    else:  # not every byte matters
                        assert_same(loaded, saved)
        assert refusals
        assert all("v.npz' holds no valuation" in refusal for refusal in refusals)


class TestMerge:
    @given(
        seed=st.integers(0, 10**6),
        cuts=st.lists(st.integers(0, 60), max_size=4),
        order=st.randoms(use_true_random=False),
        average=st.sampled_from(["all", "selected"]),
    )
    def test_parts_equal_the_whole(self, seed, cuts, order, average):
        samples, chosen = draw(60, seed=seed)
        whole = make(moments_of(samples, chosen), average=average, stopped_by="merge")
        edges = [0, *sorted(cuts), 60]
        parts = [
            make(
                moments_of(samples[a:b], chosen[a:b]),
                average=average,
                first_permutation=a,
                stopped_by="merge",
                seconds=1.25 / (len(edges) - 1),
            )
            for a, b in itertools.pairwise(edges)
        ]
        order.shuffle(parts)
        pooled = Valuation.merge(parts)
        np.testing.assert_allclose(pooled.values, whole.values, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(pooled.stderr, whole.stderr, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(pooled.counts, whole.counts)
        assert pooled.ranges == whole.ranges == ((0, 60),)
        assert pooled.mean_evaluated == whole.mean_evaluated
        assert pooled.n_evaluations == whole.n_evaluations
        assert pooled.seconds == pytest.approx(whole.seconds)

    def test_order_does_not_change_a_bit(self):
        parts = [make(moments_of(*draw(7, seed=k)), first_permutation=10 * k) for k in range(6)]
        assert_same(Valuation.merge(parts), Valuation.merge(parts[::-1]))

    def test_gaps_stay_gaps(self):
        a, b, c = (make(moments_of(np.ones((5, 1))), first_permutation=k) for k in (0, 5, 20))
        assert Valuation.merge([c, a, b]).ranges == ((0, 10), (20, 25))
        assert Valuation.merge([Valuation.merge([c, a]), b]).ranges == ((0, 10), (20, 25))

    def test_convergence_and_labels(self):
        a = make(moments_of(np.ones((5, 2))), player_names=["x", "y"])
        b = make(moments_of(np.ones((5, 2))), player_names=["x", "y"], first_permutation=5)
        assert Valuation.merge([a, b]).converged
        assert Valuation.merge([a, b]).player_names.tolist() == ["x", "y"]
        b = dataclasses.replace(b, converged=False)
        pooled = Valuation.merge([a, b])
        assert (pooled.converged, pooled.stopped_by) == (False, "merge")

    @pytest.mark.parametrize(
        ("changes", "named"),
        [
            ({"seed": 7}, "random_state"),
            ({"kind": osv.Classic()}, "value"),
            ({"sampler": osv.PermutationSampler()}, "method"),
            ({"average": "selected"}, "method"),
            ({"game": {"C": "2.0"}}, "C"),
            ({"digest": "other"}, "the game"),
            ({"player_names": list("abcde")}, "player_names"),
        ],
    )
    def test_differences_are_named(self, changes, named):
        a = make(moments_of(*draw()))
        b = make(moments_of(*draw()), first_permutation=40, **changes)
        with pytest.raises(ValueError, match=f"differ in {named}"):
            Valuation.merge([a, b])

    @pytest.mark.parametrize(
        ("ranges", "shared"),
        [
            ([(0, 5), (0, 5)], "0..4 "),
            ([(0, 5), (4, 6)], "4..4 "),
            ([(3, 4), (0, 10)], "3..3 "),
            ([(0, 10), (10, 20), (15, 18)], "15..17 "),
        ],
    )
    def test_overlaps_are_named(self, ranges, shared):
        parts = [make(moments_of(np.ones((b - a, 1))), first_permutation=a) for a, b in ranges]
        with pytest.raises(ValueError, match=f"share permutations {shared}"):
            Valuation.merge(parts)

    @pytest.mark.parametrize(
        "labels",
        [
            [math.nan, 1.0],
            [pd.NaT, pd.Timestamp("2020-01-01", tz="UTC")],
            [pd.NA, "a"],
            [("a", math.nan), ("b", 1.0)],
        ],
    )
    def test_missing_labels_are_equal(self, labels, tmp_path):
        kept = pd.Index(labels).to_numpy()
        a, b = (
            by_hand([1.0, 2.0], [0.1, 0.1], player_names=kept.copy(), first_permutation=k) for k in (0, 100)
        )
        assert len(Valuation.merge([a, b]).player_names) == 2
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # timestamps become strings
            a.save(tmp_path / "a.npz")
        assert Valuation.merge([Valuation.load(tmp_path / "a.npz"), b]).n_permutations == 200
        other = by_hand([1.0, 2.0], [0.1, 0.1], player_names=kept[::-1], first_permutation=100)
        with pytest.raises(ValueError, match="differ in player_names"):
            Valuation.merge([a, other])


class TestMoments:
    def test_errors_that_are_small_beside_the_mean(self):
        # A sum of squares less the square of a sum would have nothing left.
        rng = np.random.default_rng(0)
        samples = 1e3 + 1e-8 * rng.normal(size=(200, 3))
        parts = [moments_of(samples[t : t + 10]) for t in range(0, 200, 10)]
        total = parts[0]
        for part in parts[1:]:
            total = total.plus(part)
        np.testing.assert_allclose(make(total).stderr, stats.sem(samples), rtol=1e-4)

    @pytest.mark.parametrize("average", ["all", "selected"])
    def test_errors_over_units(self, average):
        # Eleven permutations in pairs: the last one has no partner, and counts in the values only.
        samples, chosen = draw(11, seed=1)
        chosen = np.repeat(chosen[::2], 2, axis=0)[:11]
        valuation = make(moments_of(samples, chosen, 2), average=average)
        for i in range(5):
            counted = chosen[:, i] if average == "selected" else np.ones(11, bool)
            mine = np.where(chosen[:, i], samples[:, i], 0.0)
            assert valuation.values[i] == pytest.approx(mine[counted].mean(), rel=1e-12)
            pairs = [mine[t : t + 2].mean() for t in range(0, 10, 2) if counted[t]]
            assert valuation.stderr[i] == pytest.approx(stats.sem(pairs), rel=1e-12)
