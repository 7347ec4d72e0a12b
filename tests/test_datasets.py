"""The data sets: what they hold must be what was published."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ordinal_shapley
import ordinal_shapley_kernels
from ordinal_shapley import datasets

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def adult() -> datasets.Dataset:
    return datasets.load_adult()


def counts(data: datasets.Dataset) -> dict[object, int]:
    labels, numbers = np.unique(data.y, return_counts=True)
    return dict(zip(labels.tolist(), numbers.tolist(), strict=True))


@pytest.mark.parametrize(
    ("name", "shape", "columns", "classes"),
    [
        ("wine", (178, 13), 13, {0: 59, 1: 71, 2: 48}),
        ("cancer", (286, 43), 9, {"no-recurrence-events": 201, "recurrence-events": 85}),
        ("cancer-wisconsin", (569, 30), 30, {"benign": 357, "malignant": 212}),
        ("adult", (48_842, 108), 14, {"<=50K": 37_155, ">50K": 11_687}),
    ],
)
def test_shape_and_classes(name, shape, columns, classes):
    data = datasets.load(name)
    assert data.name == name
    assert data.X.shape == shape
    assert data.X.dtype == np.float64
    assert data.X.flags.c_contiguous
    assert np.isfinite(data.X).all()
    assert data.frame.shape == (shape[0], columns)
    assert len(data) == len(data.target) == len(data.y) == shape[0]
    assert len(data.feature_names) == len(set(data.feature_names)) == shape[1]
    assert counts(data) == classes
    assert data.frame.index.equals(data.target.index)
    assert data.X is data.X
    assert "UCI" in data.source
    assert data.description
    assert data.licence == "CC BY 4.0"


def test_cancer_is_the_published_file():
    text = (resources.files(datasets) / "data" / "breast_cancer_ljubljana.csv").read_bytes()
    header, body = text.split(b"\n", 1)
    assert header.startswith(b"class,age,")
    assert len(body) == 18_654
    digest = "ca7d3fa97b62ff967b6894ffbb3acaaf4a51062e0149e5950b3ad6f685970b65"
    assert hashlib.sha256(body).hexdigest() == digest


def test_cancer_keeps_question_marks_as_a_category():
    data = datasets.load_cancer()
    unknown = (data.frame == "?").sum()
    assert unknown[unknown > 0].to_dict() == {"node-caps": 8, "breast-quad": 1}
    assert data.X[:, data.feature_names.index("node-caps=?")].sum() == 8
    # Nine features, each with exactly one category a row: the degree of malignancy is one of them.
    assert set(np.unique(data.X)) == {0.0, 1.0}
    np.testing.assert_array_equal(data.X.sum(axis=1), 9.0)
    assert "deg-malig=3" in data.feature_names


@pytest.mark.slow
@pytest.mark.parametrize(
    ("split", "first", "classes"),
    [("train", 0, {"<=50K": 24_720, ">50K": 7_841}), ("test", 32_561, {"<=50K": 12_435, ">50K": 3_846})],
)
def test_adult_splits_share_columns_and_index(adult, split, first, classes):
    part = datasets.load_adult(split)
    assert counts(part) == classes
    assert part.frame.index[0] == first
    assert part.feature_names == adult.feature_names
    rows = part.frame.index[:50]
    np.testing.assert_array_equal(part.X[:50], adult.X[rows])


def test_adult_is_read_from_a_path(tmp_path, adult):
    copy = shutil.copy(ROOT / "benchmarks/paper/data/adult.csv.gz", tmp_path)
    pd.testing.assert_frame_equal(datasets.load_adult(path=copy).frame, adult.frame)
    (tmp_path / "other.csv").write_text("age,income\n1,2\n")
    with pytest.raises(ValueError, match="path"):
        datasets.load_adult(path=tmp_path / "other.csv")
    with pytest.raises(FileNotFoundError):
        datasets.load_adult(path=tmp_path / "none.csv")


@pytest.mark.slow
def test_without_a_checkout_adult_is_an_error_that_names_the_file(tmp_path):
    for package in (ordinal_shapley, ordinal_shapley_kernels):
        source = Path(package.__file__).parent
        shutil.copytree(source, tmp_path / source.name, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "ordinal_shapley", "value", "--dataset", "adult"]
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "adult.csv.gz" in done.stderr
    assert done.stderr.count("\n") == 1


def test_two_are_scikit_learns():
    from sklearn.datasets import load_breast_cancer, load_wine

    wine, cancer = load_wine(), load_breast_cancer()
    np.testing.assert_array_equal(datasets.load_wine().X, wine.data)
    np.testing.assert_array_equal(datasets.load_wine().y, wine.target)
    np.testing.assert_array_equal(datasets.load_cancer_wisconsin().y, cancer.target_names[cancer.target])


def test_each_call_gives_its_own_table():
    first = datasets.load_cancer()
    first.frame.iloc[0, 0] = "spoilt"
    assert datasets.load_cancer().frame.iloc[0, 0] == "30-39"


def test_attribution_lies_beside_the_data():
    text = (resources.files(datasets) / "data" / "SOURCES.md").read_text(encoding="utf-8")
    assert all(word in text for word in ("10.24432/C51P4M", "CC BY 4.0", "Zwitter", "Soklic"))
    text = (ROOT / "benchmarks/paper/data/SOURCES.md").read_text(encoding="utf-8")
    assert all(word in text for word in ("10.24432/C5XW20", "CC BY 4.0", "Kohavi"))
