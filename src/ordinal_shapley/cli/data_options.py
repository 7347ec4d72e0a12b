"""The options that say which rows a command works on, and how they become a problem."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ordinal_shapley.cli.options import data_option, either
from ordinal_shapley.common.arguments import number
from ordinal_shapley.datasets import NAMES
from ordinal_shapley.vocabulary import MISSING, choose

if TYPE_CHECKING:
    from ordinal_shapley.tables.problem import Problem
    from ordinal_shapley.tables.table import Marks, Table

Train = Annotated[
    Path | None,
    typer.Argument(metavar="TRAIN.csv", help="The training rows; the first line names the columns."),
]


def file_columns(context: typer.Context, incomplete: str) -> list[str]:
    """Return what a shell asks for: the columns of the file that begin like the word being typed."""
    # An option that still waits for its word ends the parsing, before words are known as arguments.
    files = [context.params.get("train") or context.params.get("file"), *context.args]
    try:
        with Path(next(file for file in files if file)).open(encoding="utf-8-sig", newline="") as stream:
            sep = _SEPS.get(context.params.get("sep") or ",", ",")
            header = next(csv.reader(stream, delimiter=sep))
    except (OSError, UnicodeDecodeError, StopIteration, csv.Error):
        return []
    return [name for name in header if name and name.startswith(incomplete)]


Target = Annotated[
    str | None, data_option("The column to predict.", metavar="COLUMN", autocompletion=file_columns)
]
DatasetName = Annotated[
    str | None, data_option(f"In place of a file: {either(NAMES)}.", choices=NAMES, metavar="NAME")
]
Valid = Annotated[Path | None, data_option("Validation rows, with the same columns.", metavar="VALID.csv")]
ValidFraction = Annotated[
    float | None,
    data_option(
        "Without --valid: the part of the rows, class by class, that is kept for validation.",
        default="0.3; adult 0.5",
        metavar="Q",
    ),
]
_ROWS = "Use only N rows, drawn class by class with the seed."
Rows = Annotated[int | None, data_option(_ROWS, default="all; adult 400", metavar="N", min=2)]
RowsOfThree = Annotated[int | None, data_option(_ROWS, default="all; adult 600", metavar="N", min=2)]
Raw = Annotated[bool, data_option("Leave numbers as they are; else they are standardised.", flag="--raw")]
Drop = Annotated[
    list[str] | None,
    data_option("Leave this column out; can be given again.", metavar="COLUMN", autocompletion=file_columns),
]
Id = Annotated[
    str | None,
    data_option(
        "The column that names the rows: results call them by it, and it is no feature.",
        default="rows are counted from 0",
        flag="--id",
        metavar="COLUMN",
        autocompletion=file_columns,
    ),
]
Impute = Annotated[
    bool,
    data_option(
        "Fill in missing values: numbers with the median of the training rows, and a column that tells "
        f"of it; text with the category {MISSING!r}. Else they are an error.",
        flag="--impute",
    ),
]
_SEPS = {",": ",", ";": ";", "|": "|", "tab": "\t"}
_DECIMALS = (".", ",")
Sep = Annotated[
    str,
    data_option(
        f"What stands between columns: {either(tuple(_SEPS))}.", choices=tuple(_SEPS), metavar="MARK"
    ),
]
Decimal = Annotated[
    str, data_option(f"The mark in decimal numbers: {either(_DECIMALS)}.", choices=_DECIMALS, metavar="MARK")
]
_VALID_FRACTION = 0.3
VALIDATION = "Validation rows"
_KEPT = "kept out of training to score it: they get no value, and their labels are taken for right"
_FEW = 30
# Of Adult the paper's sizes: 200 rows valued, 200 to validate, and as many held out where some are.
_ADULT_FRACTION = 0.5
_ADULT_ROWS = 400
_ADULT_ROWS_OF_THREE = 600


def _weight(n_valid: int) -> str:
    return f"each is {100 / n_valid:.2g} % of them"


@dataclass(frozen=True)
class DataOptions:
    """Which rows, and which of them validate."""

    train: Train = None
    target: Target = None
    dataset: DatasetName = None
    valid: Valid = None
    valid_fraction: ValidFraction = None
    rows: Rows = None
    id: Id = None
    drop: Drop = None
    impute: Impute = False
    raw: Raw = False
    sep: Sep = ","
    decimal: Decimal = "."

    def settings(self) -> dict[str, Any]:
        """Return what ``--json`` tells of the options; what is valued has a name elsewhere."""
        return {
            "target": self.target,
            "valid": self.valid,
            "valid_fraction": None if self.valid else self._fraction(self.valid_fraction, _ADULT_FRACTION),
            "rows": self._rows(_ADULT_ROWS),
            "id": self.id,
            "drop": self.drop or [],
            "impute": self.impute,
            "raw": self.raw,
            "sep": self.sep,
            "decimal": self.decimal,
        }

    def words(self, problem: Problem) -> dict[str, str]:
        """Return what a report tells of the options, as terms and their words."""
        n = len(problem.y_valid)
        words = {VALIDATION: f"{n:,} of {self.valid.name}" if self.valid else f"{n:,}, {_KEPT}"}
        if n < _FEW:
            words[VALIDATION] += f"; so few that {_weight(n)}"
        if self.drop:
            words["Columns left out"] = ", ".join(self.drop)
        if self.impute:
            words["Missing values"] = (
                f"filled in: numbers with the median, text with the category {MISSING!r}"
            )
        words["Numbers"] = "as they are" if self.raw else "standardised"
        return words

    def cautions(self, problem: Problem) -> list[str]:
        """Return what to know before the values are used."""
        n = len(problem.y_valid)
        few = f"only {n:,} validation rows: {_weight(n)}, and other ones would give other values"
        return [few] if n < _FEW else []

    def _marks(self) -> Marks:
        """Return how the files are written."""
        from ordinal_shapley.tables.table import Marks

        choose("--sep", self.sep, tuple(_SEPS))
        choose("--decimal", self.decimal, _DECIMALS)
        if self.dataset is not None and (self.sep, self.decimal) != (",", "."):
            raise ValueError("--sep and --decimal go with a TRAIN.csv, not with --dataset")
        return Marks(_SEPS[self.sep], self.decimal)

    def _rows(self, adult: int) -> int | None:
        """Return how many rows are drawn; of Adult as many as in the paper, if nothing else is asked for."""
        return adult if self.rows is None and self.dataset == "adult" else self.rows

    def _fraction(self, asked: float | None, adult: float) -> float:
        return asked or (adult if self.dataset == "adult" else _VALID_FRACTION)

    def read(self, seed: int, *, numbers: bool = False) -> Problem:
        """Return the rows as a problem, of `numbers` or of classes; the seed draws and splits them."""
        if self.valid is not None and self.valid_fraction is not None:
            raise ValueError("give either --valid or --valid-fraction, and not both")
        check_fraction("--valid-fraction", self.valid_fraction)
        check_source(self.train, self.target, self.dataset, {"--valid": self.valid, "--id": self.id})

        from ordinal_shapley.tables import problem
        from ordinal_shapley.tables.reading import read_like

        table = self._table(self._rows(_ADULT_ROWS), seed, numbers)
        if self.valid is None:
            parts = problem.split(table, self._fraction(self.valid_fraction, _ADULT_FRACTION), seed)
        else:
            parts = table, read_like(table, self.valid, self.impute)
        return problem.encode(*parts, raw=self.raw, impute=self.impute)

    def _table(self, rows: int | None, seed: int, numbers: bool = False) -> Table:
        """Read the rows of the file or the data set, and draw some of them if so many are asked for."""
        from ordinal_shapley.tables import problem, reading
        from ordinal_shapley.tables.table import Table

        marks, drop = self._marks(), self.drop or ()
        if self.dataset is not None:
            from ordinal_shapley import datasets

            data = datasets.load(self.dataset)
            table = Table(self.dataset, data.frame, data.target, data.frame[[]]).drop(drop)
        else:
            assert self.train is not None and self.target is not None
            table = reading.read_table(
                self.train,
                self.target,
                drop=drop,
                names=self.id,
                marks=marks,
                numbers=numbers,
                impute=self.impute,
            )
        return table if rows is None else problem.draw(table, rows, seed)


@dataclass(frozen=True)
class HeldOutOptions(DataOptions):
    """The same, and which rows are held out of both."""

    test: Annotated[Path | None, data_option("Rows held out, with the same columns.", metavar="TEST.csv")] = (
        None
    )
    test_fraction: Annotated[
        float | None,
        data_option(
            "Without --test: the part of the rows, class by class, that is held out.",
            default="0.3; adult a third",
            metavar="Q",
        ),
    ] = None
    rows: RowsOfThree = None

    def check(self) -> None:
        """ValueError unless the options go together."""
        for name, file, fraction in (
            ("valid", self.valid, self.valid_fraction),
            ("test", self.test, self.test_fraction),
        ):
            if file is not None and fraction is not None:
                raise ValueError(f"give either --{name} or --{name}-fraction, and not both")
            check_fraction(f"--{name}-fraction", fraction)
        others = {"--valid": self.valid, "--test": self.test, "--id": self.id}
        check_source(self.train, self.target, self.dataset, others)

    def settings(self) -> dict[str, Any]:
        """Return what ``--json`` tells of the options."""
        held = None if self.test else self._fraction(self.test_fraction, 1 / 3)
        more = {"rows": self._rows(_ADULT_ROWS_OF_THREE), "test": self.test, "test_fraction": held}
        return super().settings() | more

    def read_three(self, seed: int) -> tuple[Problem, Problem]:
        """Return training rows with those to validate, and the same training rows with those held out."""
        from ordinal_shapley.tables import problem
        from ordinal_shapley.tables.reading import read_like

        table = self._table(self._rows(_ADULT_ROWS_OF_THREE), seed)
        parts = {}
        for name, path, fraction in (
            ("test", self.test, self._fraction(self.test_fraction, 1 / 3)),
            ("valid", self.valid, self._fraction(self.valid_fraction, _ADULT_FRACTION)),
        ):
            if path is None:
                table, parts[name] = problem.split(table, fraction, seed, f"--{name}")
            else:
                parts[name] = read_like(table, path, self.impute)
        valid, held = (
            problem.encode(table, parts[name], raw=self.raw, impute=self.impute) for name in ("valid", "test")
        )
        return valid, held


def check_source(
    train: Path | None, target: str | None, dataset: str | None, others: Mapping[str, Path | str | None]
) -> None:
    """ValueError unless there is one source of rows, and `others`, files or columns by option, go with it."""
    if (train is None) == (dataset is None):
        raise ValueError("give either a TRAIN.csv or a --dataset, and not both")
    if dataset is not None:
        choose("--dataset", dataset, NAMES)
        for option, given in {"--target": target, **others}.items():
            if given is not None:
                raise ValueError(f"{option} goes with a TRAIN.csv, not with --dataset")
    elif target is None:
        assert train is not None
        raise ValueError(f"--target is needed, the column of {train.name} to predict: --target COLUMN")


def check_fraction(option: str, fraction: float | None) -> None:
    """ValueError unless a fraction is none or between 0 and 1."""
    if fraction is not None:
        number(option, fraction, above=0.0, below=1.0)
