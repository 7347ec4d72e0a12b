"""What commands refuse: exit code 2, one line that names the option or the place in the file, and no work."""

from __future__ import annotations

import os
import shlex
import sys

import numpy as np
import pandas as pd
import pytest

import ordinal_shapley as osv
from problems import people
from test_exact import random_table

OPTIONS = {
    "value train.csv --target outcome": """
        --method tcm: --method
        --value ordinary: --value
        --scoring auc: --scoring
        --position-weight flat: --position-weight
        --value classic --position-weight gaussian: --position-weight
        --sizes 0: --sizes
        --sizes few: --sizes
        --sizes beta:16: --sizes
        --sizes beta:0,1: --sizes
        --value partial_ordinal --sizes 5: --sizes
        --sizes 5 --method tmc: --sizes
        --sizes 5 --method cmc: --sizes
        --truncation never: --truncation
        --method mc --truncation paper: --truncation
        --method cmc --tolerance 0.1: --tolerance
        --truncation paper --tolerance -1: --tolerance
        --method cmc --class-fraction 0: --class-fraction
        --class-fraction 0.5: --class-fraction
        --tolerance 0.05: --tolerance
        --truncation roulette --tolerance 0.05: --tolerance
        --design square: --design
        --method cmc --design latin: --design
        --C 0: --C
        --C x: --C
        --valid-fraction 0: --valid-fraction
        --valid-fraction 1: --valid-fraction
        --valid-fraction 0.001: --valid-fraction
        --valid train.csv --valid-fraction 0.3: --valid-fraction
        --cv 1: --cv
        --cv 101: --cv
        --cv two: --cv
        --cv 41: --cv
        --cv 5 --valid train.csv: --cv
        --cv 5 --valid-fraction 0.3: --cv
        --design latin: --design
        --valid none.csv: none.csv
        --permutations 0: --permutations
        --permutations many: --permutations
        --seed -1: --seed
        --jobs 0: --jobs
        --out -: --out
        --out train.csv: --out
        --out .: --out
        --out no/values.csv: --out
        --out o.png --plot ./o.png: --plot
        --out o.npz --checkpoint ./o.npz: --checkpoint
        --out o.html --report o.html: --report
        --checkpoint .: --checkpoint
        --checkpoint no/run.npz: --checkpoint
        --plot values.xyz: --plot
        --plot no/values.png: --plot
        --minutes 0: --minutes
        --standard-error -1: --standard-error
        --rows 41: --rows
        --dataset wine: --dataset
        --drop ages: --drop
        --drop outcome: --drop
        --drop age --drop city: feature
        --id who: --id
        --id outcome: --id
        --id city: --id
        --sep ":": --sep
        --sep ";": --sep
        --decimal ";": --decimal
        --model tree: --model
        --model ridge: --model
        --alpha 1: --alpha
        --neighbors 3: --neighbors
        --model neighbors --neighbors 0: --neighbors
        --model neighbors --alpha 1: --alpha
        --model neighbors --scoring roc_auc: --scoring
        --scoring r2: --scoring
        --target outcomes: --target
        --no-such-option: --no-such-option
    """,
    "value train.csv --target age --model ridge": """
        --C 1: --C
        --alpha 0: --alpha
        --alpha 1e-40: --alpha
        --scoring accuracy: --scoring
        --method ctmc: --method
        --value classic --position-weight gaussian: --position-weight
        --valid-fraction 0.001: --valid-fraction
        --cv 41: --cv
    """,
    "value": """
        : --dataset
        train.csv: --target
        no.csv --target y: no.csv
        . --target y: folder
        --dataset iris: --dataset
        --dataset wine --target y: --target
        --dataset wine --valid v.csv: --valid
        --dataset wine --scoring roc_auc: roc_auc
        --dataset wine --rows 3: --cv
        --dataset wine --rows 3 --valid-fraction 0.3: --valid-fraction
        --dataset adult --rows 50000: --rows
        --dataset wine --drop alcool: --drop
        --dataset wine --id alcohol: --id
        --dataset wine --sep ";": --sep
        --dataset wine --model ridge: --model
    """,
    "exact game.json": """
        extra: extra
        --value weighted_ordinal: --value
        --value classic: --value
        --value blend: --alpha
        --alpha 0.5: --alpha
        --value blend --alpha 2: --alpha
        --value blend --alpha 0.5 --sizes 2: --sizes
        --sizes 2 --partition a,a,b,b: --partition
        --partition a,a,b,b --case within: --partition
        --case within: --partition
        --case near: --case
        --value partial_ordinal --case within: --partition
        --value partial_ordinal --partition a,b --case within: --partition
        --value partial_ordinal --partition a,,b,b --case within: --partition
        --max-seconds 0: --max-seconds
        --max-seconds 1e-12: --max-seconds
        --jobs 0: --jobs
        --out game.json: input
        --out .: folder
    """,
    "verify game.json": """
        --partition a,a,b,b: --partition
        --design sobol: --design
        --value blend: --alpha
        --value banzhaf: --value
        --value classic: --value
        --method lhs: --method
        --method cmc: --strata
        --method cmc --strata a,a,b,b --design latin: --design
        --method ctmc --strata a,b: --strata
        --method cmc --strata ,: --strata
        --strata a,a,b,b: --strata
        --average all: --average
        --method cmc --strata a,a,b,b --average one: --average
        --class-fraction 0.5: --class-fraction
        --tolerance 0.5: --tolerance
        --method tmc --truncation never: --truncation
        --method tmc --tolerance -1: --tolerance
        --permutations 0: --permutations
        --permutations few: --permutations
        --seed -1: --seed
        --jobs 0: --jobs
        --most-z 0: --most-z
        --most-z big: --most-z
        --max-seconds 1e-12: --max-seconds
        --out game.json: input
    """,
    "journeys paths.csv": """
        --value blend: --value
        --unseen some: --unseen
        --repeats all: --repeats
        --utility gold: --utility
        --utility conversions --unseen zero: --unseen
        --bootstrap 1: --bootstrap
        --bootstrap -1: --bootstrap
        --bootstrap 1000000: --bootstrap
        --bootstrap few: --bootstrap
        --seed -1: --seed
        --path path --time t: --time
        --time t --file-order: --file-order
        --file-order --conversions x: --file-order
        --path way: way
        --conversions won: won
        --journey path: channel
        --path-sep "": --path-sep
        --path-sep " ": --path-sep
        --out paths.csv: input
        --out nowhere/x.csv: nowhere
        --plot x.txt: --plot
    """,
    "experiment noise train.csv --target outcome": """
        --value best: --value
        --method smc: --method
        --scoring luck: --scoring
        --jobs 0: --jobs
        --valid-fraction 1.5: --valid-fraction
        --dataset wine: --dataset
        --valid v.csv --valid-fraction 0.2: --valid-fraction
        --plot curves.txt: --plot
        --value ordinal --method mc --tolerance 0.1: --tolerance
        --fraction 1: --fraction
        --fraction 0.001: --fraction
        --seed 9223372036854775809: --seed
    """,
    "experiment removal train.csv --target outcome": """
        --value best: --value
        --plot curves.txt: --plot
        --test-fraction 0: --test-fraction
        --test t.csv --test-fraction 0.2: --test-fraction
        --test t.csv: t.csv
    """,
    "": """
        valu: value
        exact: GAME.json
        exact nothing.json: nothing.json
        exact .: folder
        verify nothing.json: nothing.json
        journeys no.csv: no.csv
        journeys .: folder
    """,
}
LINES = [
    (f"{command} {line.rpartition(': ')[0]}".strip(), line.rpartition(": ")[2])
    for command, lines in OPTIONS.items()
    for line in map(str.strip, lines.strip().split("\n"))
]


@pytest.fixture
def refused(run, monkeypatch, tmp_path):
    """Run in a folder of small files, and return the one line of the error."""
    monkeypatch.chdir(tmp_path)
    people().to_csv("train.csv", index=False)
    osv.TableGame.from_array(4, random_table(4, seed=3)[0].values).to_json("game.json")
    (tmp_path / "paths.csv").write_text("path,conversions,non_conversions\nA > B,30,70\nB > A,10,90\n")

    def begun(*_: object, **__: object) -> None:
        raise AssertionError("the work has started")

    def call(*arguments: object) -> str:
        before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
        with monkeypatch.context() as patch:
            patch.setattr("ordinal_shapley.sampling.driver.run_shards", begun)
            code, shown, err = run(*arguments)
        assert (code, shown) == (2, "")
        assert err.startswith("error: ") and err.count("\n") == 1
        assert before == {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
        return err

    return call


@pytest.mark.parametrize(("line", "named"), LINES)
def test_options(refused, line, named):
    assert named in refused(*shlex.split(line))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "empty"),
        ("\n", "empty"),
        ("x,y\n", "no rows"),
        ("x,y\n1,a\n,b\n2,a\n", "line 3"),
        ("x,y\n1,a\n\nnan,b\n", "line 4"),
        ('x,y\n"a\nb",a\n,b\n', "line 4"),
        ("\n \nx,y\n1,a\n\n  \n,b\n2,a\n", "line 7"),
        ("x,y\n1,a\n2,b\ninf,a\n4,b\n", "line 4"),
        ("x,y\n1,a\n2,\n", "column 'y'"),
        ("x,y\n1,a\n2,  \n", "column 'y'"),
        ("x,y\n1,a\n2,null\n", "null"),
        ("x,y\n1,a\n2,a\n", "--target"),
        ("x,y\n1,a\n2,b\n3,b\n", "--cv"),
        ("x,x,y\n1,1,a\n2,2,b\n", "'x'"),
        ("x,x=1,y\nb,1,a\n1,2,b\nb,2,a\n1,2,b\n", "'x=1'"),
        ("a\0,b,y\n1,1,a\n2,2,b\n", "NUL"),
        ("y,\na,1\nb,\n", "line 3"),
        ("x,y\n1,a\n2,b,c\n", "line 3"),
        ("x,y\n1,a,c\n2,b,c\n", "header"),
        ("x;y\n1;a\n2;b\n", "--sep"),
        ("x\ty\n1\ta\n2\tb\n", "--sep tab"),
        ("y\na\nb\na\nb\n", "feature"),
        ("Export of 2026\nx,y\n1,a\n2,b\n", "'Export of 2026'"),
        ("x,y\n1,a\n2,b\n3,a\n4,b\n5,a\n6,b\n?,b\n6 kg,a\n", "line 9"),
        ("x,y\n1,a\n2,b\n7,?\n", "line 4"),
        ("x,y\n1,a\n2,b\n3,a\n4,b\n5,a\n6,b\n?,a\n", "--impute"),
        ("1.5,2,b\n1,2,a\n3,4,b\n5,6,a\n", "names the columns"),
        ("x,y\n" + "".join(f"{i},{i / 7}\n" for i in range(300)), "--target"),
        ("x,y\n" + "".join(f"{i},n{i}\n" for i in range(300)), "--target"),
    ],
)
def test_rows(refused, tmp_path, text, named):
    (tmp_path / "rows.csv").write_text(text)
    assert named in refused("value", "rows.csv", "--target", "y")


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("7,red,yes\n3,blue,no\n5,red,no\n4,blue,yes\n", "yes"),
        ("1.5,0.2,1\n3,2,0\n5,2,1\n4,1,0\n", "1"),
        ("1.5,0.2,1.5\n3,2,0\n5,2,1\n4,1,0\n", "1.5"),
    ],
)
def test_rows_without_a_header(refused, tmp_path, text, target):
    (tmp_path / "rows.csv").write_text(text)
    assert "names the columns" in refused("value", "rows.csv", "--target", target)


@pytest.mark.parametrize(
    ("name", "content", "named"),
    [
        ("x.csv.gz", b"x,y\n1,a\n", "x.csv.gz"),
        ("x.zip", b"x,y\n1,a\n", "x.zip"),
        ("x.parquet", b"x,y\n1,a\n", "x.parquet"),
        ("x.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "xlrd"),
    ],
)
@pytest.mark.parametrize("words", ["value {} --target y", "exact {}", "journeys {}"])
def test_files_that_are_not_what_their_name_says(refused, tmp_path, monkeypatch, name, content, named, words):
    monkeypatch.setitem(sys.modules, "xlrd", None)
    (tmp_path / name).write_bytes(content)
    assert named in refused(*words.format(name).split())


@pytest.mark.parametrize("entry", ["", "inf", "12 kg", "True"])
def test_targets_that_are_no_numbers(refused, tmp_path, entry):
    (tmp_path / "rows.csv").write_text(f"x,y\n1,2.5\n2,{entry}\n3,4\n4,5\n5,6\n")
    assert "line 3" in refused("value", "rows.csv", "--target", "y", "--model", "ridge", "--impute")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"outcome": "ancient"}, "'ancient'"),
        ({"age": "many"}, "line 2 of valid.csv"),
        ({"age": np.inf}, "line 2 of valid.csv"),
        ({"city": None}, "line 2 of valid.csv"),
        ({"height": 1.8}, "'height'"),
    ],
)
def test_rows_that_validate(refused, tmp_path, change, named):
    frame = pd.read_csv("train.csv")
    frame.head(5).assign(**change).to_csv("valid.csv", index=False)
    assert named in refused("value", "train.csv", "--target", "outcome", "--valid", "valid.csv")


@pytest.mark.parametrize(
    ("name", "content", "named"),
    [
        ("g.json", "", "JSON"),
        ("g.txt", "sequence,value\na,1\n", "JSON"),
        ("g.json", "[]", "g.json"),
        ("g.json", '{"players": 40, "utilities": {}}', "players"),
        ("g.json", '{"players": ["a"], "utilities": {"b": 1}}', "'b'"),
        ("g.json", '{"players": ["a"], "utilities": {"a": NaN}}', "nan"),
        ("g.json", '{"players": ["a"], "utilities": {"a > a": 1}}', "'a > a'"),
        ("g.json", '{"players": ["a"], "utilities": {"a": "x"}}', "'x'"),
        ("g.csv", "", "g.csv"),
        ("g.csv", "sequence,value\n", "no rows"),
        ("g.csv", "a,b\n1,2\n", "'sequence'"),
        ("g.csv", "sequence,value,value\na,1,2\n", "'value'"),
        ("g.csv", "sequence,value\na,one\n", "'one'"),
        ("g.csv", "sequence,value\na,\n", "'a'"),
        ("g.csv", "sequence,value\na > b,inf\n", "'a > b'"),
        ("g.csv", "sequence,value\na,1\na,2\n", "'a'"),
        ("g.csv", "sequence,value\na,1,5\nb,2\n", "CSV"),
        ("g.csv", "sequence;value\na;1,5\n", "semicolons"),
        ("g.csv", "sequence,value\n" + " > ".join("abcdefghijklm") + ",1\n", "13"),
        ("g.csv", "sequence,value\na > a,1\n", "'a > a'"),
    ],
)
def test_games(refused, tmp_path, name, content, named):
    (tmp_path / name).write_text(content)
    assert named in refused("exact", name)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "x.csv"),
        ("path,conversions\n", "no rows"),
        ("path,path,conversions\nA,B,1\n", "'path'"),
        ("a,b\n1,2\n", "'a'"),
        ("path,conversions\nA,1\n ,1\n", "line 3"),
        ("path,conversions\nA,-1\n", "line 2"),
        ("path,conversions\nA,nan\n", "line 2"),
        ("path,conversions\nA,many\n", "line 2"),
        ("path,conversions,non_conversions\nA,1,2\nB,1e40,4\n", "line 3"),
        ("path,conversions\nA > > B,1\n", "line 2"),
        ("path,conversions\nB,1\nA > A,1\n", "--repeats"),
        ("path,conversions\nA,1,2\n", "CSV"),
        ("path,conversions\nA,1\nA,B,1\n", "CSV"),
        ("path;conversions\nA;1,5\n", "semicolons"),
        ("journey,channel,time\n1,A,2\n", "'converted'"),
        ("journey,channel,time,converted\n1,A,1,2\n", "line 2"),
        ("journey,channel,time,converted\n1,A,1,1\n,B,2,1\n", "line 3"),
        ("journey,channel,time,converted\n1,,1,1\n", "line 2"),
        ("journey,channel,time,converted\n1,A,1,1\n1,B,soon,1\n", "line 3"),
        ("journey,channel,time,converted\n1,A,2026-01-01,1\n1,B,02/03/2026,1\n", "line 3"),
        ("journey,channel,time,converted\n1,A,2026-01-01,1\n1,B,5,1\n", "line 3"),
        ("journey,channel,time,converted\n1,A,,1\n", "line 2"),
        ("journey,channel,time,converted\n1,A,3,1\n1,B,3,1\n", "--file-order"),
    ],
)
def test_journeys(refused, tmp_path, text, named):
    (tmp_path / "x.csv").write_text(text)
    assert named in refused("journeys", "x.csv")


ROWS = "x,y\n1,a\n2,b\n3,a\n4,b\n5,a\n6,b\n7,a\n8,b\n"
TOUCHES = "journey,channel,time,converted\n1,A,3,1\n1,B,3,1\n"


@pytest.mark.parametrize(
    ("line", "text", "advice"),
    [
        ("value x.csv --target y", ROWS.replace(",", ";").replace("8", "8,5"), "--sep ';' --decimal ,"),
        ("value x.csv --target y", ROWS.replace(",", "\t"), "--sep tab"),
        ("value x.csv --target y", ROWS.replace("8", ""), "--impute"),
        ("value x.csv --target y", ROWS.replace("8", "?"), "--impute"),
        ("value x.csv --target x", "x,z\n" + "".join(f"{i / 7},{i % 3}\n" for i in range(50)), "--model ridge"
        ),
        ("value x.csv --target y", ROWS.replace("8", "8 kg").replace(",", ",2,"), "--drop x"),
        ("value x.csv --target y --sep ';'", ROWS, "--sep ,"),
        ("exact x.csv", "sequence;value\na;1,5\n", "--sep ';' --decimal ,"),
        ("exact x.csv --value classic", "sequence,value\na,1\na > b,2\n", "--order-free"),
        ("journeys x.csv", "path,conversions\nA > A,1\nB,2\n", "--repeats first"),
        ("journeys x.csv", "path;conversions\nA;1,5\nB;2\n", "--sep ';' --decimal ,"),
        ("journeys x.csv", TOUCHES, "--file-order"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_advice_works(refused, run, monkeypatch, tmp_path, line, text, advice):
    def begun(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "x.csv").write_text(text)
    line += " --method mc --cv 2" * line.startswith("value")
    error = refused(*shlex.split(line))
    assert all(part in error for part in advice.split(" --"))
    monkeypatch.setattr("ordinal_shapley.sampling.driver.run_shards", begun)
    code, _, err = run(*shlex.split(line), *shlex.split(advice))
    assert code == (130 if line.startswith("value") else 0), err


def test_pictures_are_tried_before_the_work(refused, monkeypatch):
    figure = pytest.importorskip("matplotlib.figure")
    monkeypatch.setenv("MPLBACKEND", "nonsense")

    def lacks(*_: object, **__: object) -> None:
        assert os.environ["MPLBACKEND"] == "agg"
        raise RuntimeError("no such font")

    monkeypatch.setattr(figure.Figure, "savefig", lacks)
    assert "--plot" in refused("value", "train.csv", "--target", "outcome", "--plot", "a.png")
    assert "--plot" in refused("journeys", "paths.csv", "--plot", "a.png")


@pytest.mark.parametrize("words", ["value x.csv --target y", "exact x.csv", "exact x.json", "journeys x.csv"])
def test_files_that_are_no_text(refused, tmp_path, words):
    for name in ("x.csv", "x.json"):
        (tmp_path / name).write_bytes(b"x,y\n\xff\xfe\x00,1\n")
    assert words.split()[1] in refused(*words.split())


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_links_and_devices(refused, tmp_path):
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    assert "--out" in refused("value", "train.csv", "--target", "outcome", "--out", "loop.csv")
    assert "null" in refused("value", os.devnull, "--target", "y")
