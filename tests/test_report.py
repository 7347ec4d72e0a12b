"""The page that explains a result: what stands in it, against what it is made of."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import ordinal_shapley as osv
from ordinal_shapley.experiments import LabelEvidence
from pages import Page
from runs import sample_with
from test_valuation import by_hand
from test_valuation_views import HOSTILE, of_hostile

pytest.importorskip("jinja2", reason="Jinja2 is not installed")
HEIGHT = 264  # of a picture
MINUS = "\u2212"


def blobs(n=40, n_classes=2, n_columns=3, wrong=(), seed=0):
    """Rows of classes that lie apart, some of them with a wrong label; half of them to validate."""
    rng = np.random.default_rng(seed)
    y = np.arange(2 * n) % n_classes
    X = rng.normal(0, 0.7, (2 * n, n_columns))
    X[np.arange(2 * n), y % n_columns] += 3
    given = y.copy()
    given[list(wrong)] = (y[list(wrong)] + 1) % n_classes
    return X[:n], given[:n], X[n:], y[n:]


@pytest.fixture(scope="module")
def run():
    """A run over 40 rows, of which three have a wrong label."""
    X, y, X_valid, y_valid = blobs(wrong=[4, 9, 30])
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=[f"id {i}" for i in range(40)])
    names = np.array(["no", "yes"])
    game = osv.LogisticGame(frame, names[y], X_valid, names[y_valid], position_weight="uniform")
    history = osv.History(osv.RelativeChange(1e-9, window=20) | osv.MaxPermutations(120))
    valuation = sample_with(
        game, "classic", "tmc", truncation=osv.PatienceTruncation(), stopping=history, random_state=0
    )
    page = Page(valuation.to_html(X=frame, game=game, history=history, settings={"Data": "blobs & co"}))
    return valuation, frame, names[y], game, history, page


def shown(value, digits):
    return f"{value:.{digits}f}".replace("-", MINUS)


class TestTable:
    def test_holds_the_valuation_and_the_rows(self, run):
        valuation, frame, labels, *_, page = run
        table = valuation.to_frame()
        titles = {
            "value": "value",
            "std. error": "stderr",
            "low": "ci_low",
            "high": "ci_high",
            "rank": "rank",
        }
        for title, name in titles.items():
            assert page.column(title) == table[name].tolist()
        assert page.column("row") == table.index.tolist()
        assert page.column("label") == labels.tolist()
        assert page.column("verdict") == ["value below 0" if low else None for low in table["below_zero"]]
        for name in "abc":
            assert page.column(name, own=True) == frame[name].tolist()
        suspects = valuation.suspects().index.tolist()
        others = [name for name in table.index[valuation.ranking()[::-1]] if name not in suspects]
        assert [table.index[k] for k in page.data["order"]] == suspects + others
        assert page.data["suspects"] == len(suspects) > 0

    def test_columns_of_all_types(self):
        frame = pd.DataFrame(
            {
                "whole": [1, 2**60, 3],
                "next": [1, 2**53 + 1, 3],
                "real": [0.1, math.nan, 1e300],
                "endless": [math.inf, 0.0, -math.inf],
                "text": ["a", None, "ü"],
                "flag": [True, False, True],
                "day": pd.to_datetime(["2020-01-01", None, "2021-02-03"]),
                "kind": pd.Categorical(["x", "y", None]),
                "nullable": pd.array([1, None, 3], dtype="Int64"),
                5: [[1], {}, ()],
            }
        )
        page = Page(by_hand([1.0, 2.0, 3.0], [0.1] * 3).to_html(X=frame))
        own = {c["title"]: c["cells"] for c in page.data["columns"] if c["own"]}
        assert own == {
            "whole": ["1", str(2**60), "3"],  # JavaScript would round it
            "next": ["1", str(2**53 + 1), "3"],  # it has no double
            "real": [0.1, None, 1e300],
            "endless": ["inf", "0.0", "-inf"],
            "text": ["a", None, "ü"],
            "flag": ["True", "False", "True"],
            "day": ["2020-01-01 00:00:00", None, "2021-02-03 00:00:00"],
            "kind": ["x", "y", None],
            "nullable": [1, None, 3],
            "5": ["[1]", "{}", "()"],
        }

    @pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, pd.DataFrame])
    def test_many_columns(self, form):
        numbers = np.arange(210.0).reshape(3, 70)
        page = Page(by_hand([1.0, 2.0, 3.0], [0.1] * 3).to_html(X=form(numbers)))
        own = [c["cells"] for c in page.data["columns"] if c["own"]]
        assert own == numbers[:, :60].T.tolist()
        assert re.search(r"\b60 columns\b.*\b10 more\b", page.texts["all"])
        assert page.facts["Their columns"] == "70"


class TestWords:
    def test_how_sure(self, run):
        valuation, *_, page = run
        low, high = valuation.confidence_interval()
        below, above = int((high < 0).sum()), int((low > 0).sum())
        assert page.facts["Permutations"] == str(valuation.n_permutations)
        counts = [int(count) for count in re.findall(r"(\d+) (?:entirely|contain)", page.facts["95 % CIs"])]
        assert counts == [below, above, 40 - below - above]
        middle = float(re.search(r"median ([\d.]+)", page.facts["Standard errors"])[1])
        assert middle == pytest.approx(np.median(valuation.stderr), rel=1e-3)
        share = 1 - np.mean(valuation.stderr**2) / np.var(valuation.values, ddof=1)
        assert page.facts["Reliability"].startswith(f"{share:.2f}: {100 * (1 - share):.0f} % of the variance")
        assert "ending permutations early" in page.texts["sure"]
        assert "share of each class" not in page.texts["sure"]
        assert f"{below} of 40 rows" in page.text and "40 validation rows were not checked" in page.text


class TestPictures:
    @pytest.mark.parametrize(
        "values",
        [
            np.random.default_rng(0).normal(0, 1, 300),
            np.random.default_rng(0).uniform(2, 3, 50),
            -np.arange(1.0, 8.0),
            [0.5],
            [0.0, 0.0, 0.0],
            [1e-300, -1e-300],
            [1e12, 1e12 + 1e-3],
        ],
    )
    def test_histogram_counts_every_value_once(self, values):
        values = np.asarray(values, float)
        page = Page(by_hand(values, np.full(len(values), 0.01)).to_html())
        counts = [int(row[2]) for row in page.tables["spread"][1:]]
        assert sum(counts) == len(values)
        bars = [a for tag, a in page.tags if tag == "rect" and "bar" in a.get("class", "") and "height" in a]
        heights = [float(bar["height"]) for bar in bars if "fill" not in bar and float(bar["x"]) > 20]
        known = [count for count in counts if count]
        assert len(heights) == len(known)
        np.testing.assert_allclose(np.array(heights) / max(heights), np.array(known) / max(known), atol=1e-3)

    def test_convergence_has_the_numbers_of_the_history(self, run):
        valuation, frame, *_, history, page = run
        table = page.tables["courses"]
        order = valuation.ranking()
        chosen = [*order[:3], *order[-3:]]
        assert table[0] == ["permutations", *frame.index[chosen]]
        late = history.n_permutations >= 0.1 * valuation.n_permutations
        assert [int(row[0]) for row in table[1:]] == history.n_permutations[late].tolist()
        read = [[float(x.replace(MINUS, "-")) for x in row[1:]] for row in table[1:]]
        np.testing.assert_allclose(read, history.values[late][:, chosen], rtol=1e-3)
        bands = [a["points"] for tag, a in page.tags if tag == "polygon"]
        heights = np.array([float(point.split(",")[1]) for band in bands for point in band.split()])
        assert heights.min() > 12 and heights.max() < HEIGHT - 42, "no band is cut"
        errors = [[float(x) for x in row[1:]] for row in page.tables["errors"][1:]]
        both = np.column_stack([np.median(history.stderr, axis=1), history.stderr.max(axis=1)])
        np.testing.assert_allclose(errors, both, rtol=1e-3)
        (name,) = history.readings
        assert page.tables["rule0"][0][1] == name
        reading = history.readings[name]
        read = [float(row[1]) for row in page.tables["rule0"][1:]]
        np.testing.assert_allclose(read, reading[np.isfinite(reading)], rtol=1e-3)

    def test_removal_is_that_of_other_code(self, run):
        valuation, _, labels, game, _, page = run
        X, _, X_valid, y_valid = blobs(wrong=[4, 9, 30])
        truth = np.array(["no", "yes"])[y_valid]
        other = osv.remove_high_value(valuation, X, labels, X_valid, truth, marks=20)
        table = [[float(x) for x in row] for row in page.tables["removal"][1:]]
        assert [row[0] for row in table] == other.removed.tolist()
        order = valuation.ranking()
        both = [len(set(labels[order[k:]])) > 1 for k in other.removed]
        assert sum(both) > 10
        high = np.array([row[1] for row in table])
        np.testing.assert_allclose(high[both], other.high_first[both], atol=5e-5)
        np.testing.assert_allclose(high[~np.array(both)], game(()), atol=5e-5)
        both = [len(set(labels[order[: 40 - k]])) > 1 for k in other.removed]
        low = np.array([row[2] for row in table])
        np.testing.assert_allclose(low[both], other.low_first[both], atol=5e-5)
        assert table[0][1] == table[0][2] == table[0][3]
        assert "not a test set" in page.texts["gone"]


class TestVerdicts:
    """Rows of which 1 and 3 have low values, and of which another label is predicted for 2 and 3."""

    @pytest.fixture
    def judged(self):
        labels = np.array([0, 0, 0, 1, 1, 1])
        evidence = LabelEvidence(
            labels, np.array([0, 0, 1, 0, 1, 1]), np.array([0.9, 0.8, 0.3, 0.1, 0.7, 0.7]),
            np.array([0.9, 0.8, 0.7, 0.9, 0.7, 0.7]), None, 5,
        )  # fmt: skip
        valuation = by_hand([1.0, -2.0, 0.5, -1.0, 1.0, 1.5], [0.1] * 6)
        return dataclasses.replace(valuation, evidence=evidence), labels

    def test_all_rows_have_one_and_suspects_come_first(self, judged):
        valuation, labels = judged
        page = Page(valuation.to_html(X=pd.DataFrame({"age": [31, 32, 33, 34, 35, 36]}), y=labels))
        verdicts = [None, "value below 0", "other label predicted", "both", None, None]
        assert page.column("verdict") == verdicts
        assert valuation.to_frame()["verdict"].tolist() == [verdict or "" for verdict in verdicts]
        assert valuation.suspects()["verdict"].tolist() == ["both", "other label predicted", "value below 0"]
        assert page.data["order"][:3] == valuation.suspects().index.tolist() == [3, 2, 1]
        assert page.data["suspects"] == 3
        header, first, *_ = page.tables["rows"]
        assert dict(zip(header, first, strict=True))["age"] == "34"
        assert "3 of 6 rows" in page.text

    def test_by_value_alone_and_none(self, judged):
        valuation, labels = judged
        right = dataclasses.replace(valuation.evidence, predicted_label=labels)
        page = Page(dataclasses.replace(valuation, evidence=right).to_html(y=labels))
        assert "2 of 6 rows" in page.text
        page = Page(by_hand([1.0, 2.0], [0.1] * 2).to_html(y=[0, 1]))
        assert "No row" in page.text and "suspects" not in page.texts
        assert "verdict" not in page.tables["rows"][0]


class TestWhatIsMissing:
    def test_a_game_that_can_not_be_played_without_some(self):
        def utility(sequence):
            if len(sequence) < 3:
                raise ValueError("three at least")
            return 1.0

        game = osv.FunctionGame(utility, 3)
        page = Page(by_hand([1.0, 2.0, 3.0], [0.1] * 3).to_html(game=game))
        assert "without some of the players" in page.texts["gone"]
        assert "three at least" in page.texts["gone"]


class TestHostileInput:
    def test_nothing_gets_out_of_its_place(self):
        valuation = of_hostile()
        n = len(HOSTILE)
        texts = [str(label) for label in HOSTILE]
        frame = pd.DataFrame(dict.fromkeys([*texts[:4], "</script><script>alert(2)</script>"], texts[::-1]))
        frame["]]><!--"] = ["</title><img src=x onerror=alert(3)>"] * n
        html = valuation.to_html(
            X=frame,
            y=["</script><svg onload=alert(4)>", "&lt;b&gt;"] * 3 + ["x" * 5000],
            title="<b onmouseover=alert(5)>\ud800",
            settings={"<i>": "<script>alert(6)</script>"},
        )
        page = Page(html)
        plain = by_hand(valuation.values, valuation.stderr)
        clean = Page(plain.to_html(X=np.zeros((n, 6)), y=[0, 1] * 3 + [2]))
        assert {tag for tag, _ in page.tags} <= {tag for tag, _ in clean.tags} | {"b"}
        assert len(page.scripts) == 2
        for _, attributes in page.tags:
            assert not [name for name in attributes if name.startswith("on")]
        own = {c["title"]: c["cells"] for c in page.data["columns"] if c["own"]}
        assert list(own) == [title[:1000] for title in frame.columns]
        assert own["]]><!--"] == frame["]]><!--"].tolist()
        assert page.column("row")[0] == HOSTILE[0]
        assert page.facts["<i>"] == "<script>alert(6)</script>"
        assert max(len(label) for label in page.column("label")) == 1000

    def test_one_script_may_run_and_nothing_is_fetched(self, run):
        valuation, *_ = run
        page = Page(valuation.to_html())
        policy = next(a["content"] for _, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
        digest = base64.b64encode(hashlib.sha256(page.scripts[1].encode()).digest()).decode()
        assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
        links = [a[name] for _, a in page.tags for name in ("href", "src") if name in a]
        assert links
        assert all(link.startswith("#") and link[1:] in page.texts for link in links)


class TestArguments:
    def test_the_file_is_the_page(self, tmp_path):
        path = tmp_path / "r.html"
        html = by_hand([1.0], [0.1], player_names=["ü"]).to_html(path)
        assert path.read_text(encoding="utf-8") == html

    def test_what_cannot_be_written_is_found_before_the_work(self, tmp_path, monkeypatch):
        def render(*arguments, **options):
            raise AssertionError("the work was begun")

        monkeypatch.setattr("ordinal_shapley.report.page.row_table", render)
        valuation = by_hand([1.0], [0.1])
        with pytest.raises(FileNotFoundError, match=r"r\.html"):
            valuation.to_html(tmp_path / "no" / "r.html")
        with pytest.raises(IsADirectoryError):
            valuation.to_html(tmp_path)
        file = tmp_path / "r.html"
        file.write_text("mine")
        with pytest.raises(AssertionError, match="begun"):
            valuation.to_html(file)
        assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


class TestCommandLine:
    @pytest.fixture
    def command(self, tmp_path, capsys, monkeypatch):
        from ordinal_shapley import cli

        rng = np.random.default_rng(0)
        age = rng.integers(20, 70, 20)
        frame = pd.DataFrame({"age": age, "city <b>": rng.choice(["Bonn", "Graz"], 20), "old": age > 45})
        frame.to_csv(tmp_path / "train.csv", index=False)
        monkeypatch.chdir(tmp_path)

        def call(*more, report=True):
            given = ["value", "train.csv", "--target", "old", *map(str, more)]
            given += ["--report", "r.html"] * report
            with pytest.raises(SystemExit) as exit:
                cli.main(given)
            return exit.value.code, *capsys.readouterr()

        return call, frame

    def test_all_sections(self, command):
        call, frame = command
        options = ("--permutations", 8, "--value", "ordinal", "--seed", 3, "--valid-fraction", 0.3)
        code, shown, err = call(*options, "--out", "v.csv")
        assert (code, err) == (0, "")
        assert "Written: r.html" in shown
        page = Page(Path("r.html").read_text(encoding="utf-8"))
        table = pd.read_csv("v.csv")
        assert page.column("value") == table["value"].tolist()
        assert page.column("low") == table["ci_low"].tolist()
        assert page.column("rank") == table["rank"].tolist()
        assert page.column("row") == table["row"].tolist()
        assert page.column("predicted label") == table["predicted_label"].astype(str).tolist()
        assert page.column("probability of the label") == table["self_confidence"].tolist()
        assert page.column("combined rank") == table["combined_rank"].tolist()
        for name in ("age", "city <b>"):
            assert page.column(name, own=True) == frame[name].iloc[table["row"]].tolist()
        assert page.column("label") == frame["old"].astype(str).iloc[table["row"]].tolist()
        assert {"rows", "spread", "classes", "courses", "errors", "removal"} <= set(page.tables)
        assert page.facts["Data"] == "train.csv, with the classes in column old"
        assert page.facts["Seed"].startswith("3,")
        assert page.facts["Score"] == "accuracy on 6 validation rows"
        assert "Ordinal Shapley values of 14 rows of train.csv" in Path("r.html").read_text(encoding="utf-8")

    def test_every_row(self, command):
        call, frame = command
        # Twenty validation rows in two folds: ten in each are enough for blocks.
        code, _, err = call("--permutations", 20, "--cv", 2, "--out", "v.csv", "--method", "mc")
        assert (code, err) == (0, "")
        page = Page(Path("r.html").read_text(encoding="utf-8"))
        table = pd.read_csv("v.csv")
        assert len(table) == 20
        assert page.column("std. error") == table["stderr_total"].tolist()
        assert page.column("Monte Carlo error") == table["stderr"].tolist()
        assert "2 folds" in page.facts["Validation rows"] and "2 folds" in page.facts["Score"]
        assert page.facts["Values sum to"].startswith(f"{table['value'].sum():.4g}"[:5])
        assert {"Standard errors", "Monte Carlo noise alone"} <= set(page.facts)
        assert set(page.column("predicted label")) <= {"True", "False"}
        assert frame["old"].astype(str).tolist() == page.column("label")

    def test_fewer_errors_are_explained(self, command):
        call, _ = command
        options = ("--permutations", 20, "--cv", 2, "--method", "mc")
        for scoring, rows, word in (("roc_auc", 20, "roc auc"), ("accuracy", 16, "10")):
            assert call(*options, "--scoring", scoring, "--rows", rows)[0] == 0
            page = Page(Path("r.html").read_text(encoding="utf-8"))
            assert word in page.texts["sure"] and "Monte Carlo noise only" in page.texts["sure"]
            assert "Monte Carlo noise alone" not in page.facts

    @pytest.mark.slow
    def test_the_values_are_the_same_without(self, command):
        call, _ = command
        few = ("--permutations", 5, "--valid-fraction", 0.3)
        assert call("--out", "a.csv", *few)[0] == 0
        Path("r.html").unlink()
        few = (*few, "--checkpoint", "run.npz")
        assert call("--out", "b.csv", *few, report=False)[0] == 0
        assert not Path("r.html").exists()
        assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()
        # All is there already: the only round is the last.
        assert call("--out", "b.csv", *few)[0] == 0
        assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()
        page = Page(Path("r.html").read_text(encoding="utf-8"))
        assert [row[0] for row in page.tables["courses"]] == ["permutations", "5"]
        assert "dot s0" in [attributes.get("class") for tag, attributes in page.tags if tag == "circle"]
