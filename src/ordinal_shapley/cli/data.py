"""The options that say which rows a command works on, and how they become a problem."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ordinal_shapley.cli.options import FIRST, argument, data_option, either, option
from ordinal_shapley.datasets import NAMES
from ordinal_shapley.vocabulary import MISSING

if TYPE_CHECKING:
    from ordinal_shapley.tables.problem import Problem
    from ordinal_shapley.tables.table import Table

SEPS = {",": ",", ";": ";", "|": "|", "tab": "\t"}
SEP = data_option(",", "Column separator: ',', ';', '|' or tab.", "MARK", choices=tuple(SEPS))
DECIMAL = data_option(".", "Decimal mark: '.' or ','.", "MARK", choices=(".", ","))
_FRACTION = 0.3
FRACTION = {"above": 0.0, "below": 1.0}
_FEW = 30
_FOLDS = 5


def file_columns(context: typer.Context, incomplete: str) -> list[str]:
    """Return completions for a shell: the columns of the file that begin like the word being typed."""
    # An option that still waits for its value ends the parsing, before arguments are known.
    files = [context.params.get("train") or context.params.get("file"), *context.args]
    try:
        with Path(next(file for file in files if file)).open(encoding="utf-8-sig", newline="") as stream:
            sep = SEPS.get(context.params.get("sep") or ",", ",")
            header = next(csv.reader(stream, delimiter=sep))
    except (OSError, UnicodeDecodeError, StopIteration, csv.Error):
        return []
    return [name for name in header if name and name.startswith(incomplete)]


def _share(file: str, use: str) -> Any:
    words = f"Without {file}: share of the rows, drawn class by class, to use as {use}."
    return data_option(None, words, "Q", without=str(_FRACTION), limits=FRACTION)


@dataclass(frozen=True)
class DataOptions:
    """Which rows, and which of them are validation rows."""

    train: Path | None = argument(
        None, "The training rows (CSV, Parquet, Excel); the first line names the columns.", "TRAIN.csv"
    )
    target: str | None = option(None, "The column to predict.", "COLUMN", panel=FIRST, complete=file_columns)
    dataset: str | None = data_option(
        None, f"A built-in data set instead of a file: {either(NAMES)}.", "NAME", choices=NAMES
    )
    valid: Path | None = option(
        None, "Validation rows, with the same columns, whose labels you trust.", "VALID.csv", panel=FIRST
    )
    valid_fraction: float | None = _share("--valid", "the validation set")
    rows: int | None = data_option(
        None, "Use a random sample of N rows, drawn class by class.", "N", without="all", limits={"min": 2}
    )
    id: str | None = data_option(
        None,
        "The column of row IDs. Results name rows by it, and it is not used as a feature.",
        "COLUMN",
        flag="--id",
        without="rows are indexed from 0",
        complete=file_columns,
    )
    drop: list[str] | None = data_option(
        None, "Leave this column out. Repeat the option for more columns.", "COLUMN", complete=file_columns
    )
    impute: bool = data_option(
        False,
        "Fill in missing values: numbers with the median of the training rows, plus a column that marks "
        f"them; text with the category {MISSING!r}. Without it missing values are an error.",
        flag="--impute",
    )
    raw: bool = data_option(False, "Do not standardise numbers.", flag="--raw")
    sep: str = SEP
    decimal: str = DECIMAL

    def settings(self) -> dict[str, Any]:
        """Return the options for ``--json``."""
        given = {name: choice for name, choice in asdict(self).items() if name not in ("train", "dataset")}
        for flag, (file, fraction) in self._files().items():
            given[f"{flag[2:]}_fraction"] = None if file else fraction or _FRACTION
        return given

    def words(self, game: Any) -> dict[str, str]:
        """Return the settings for a report, from options and game, as pairs of terms and texts."""
        words = {"Validation rows": self.validation(game)}
        if self.drop:
            words["Columns left out"] = ", ".join(self.drop)
        if self.impute:
            words["Missing values"] = f"filled in: numbers with the median, text with {MISSING!r}"
        return words | {"Numbers": "as they are" if self.raw else "standardised"}

    def validation(self, game: Any) -> str:
        """Return what the validation rows of a game are, in words."""
        n = game._n_valid
        words = f"{n:,}: they are not valued, so their label errors go undetected"
        if self.valid:
            words = f"{n:,}, from {self.valid.name}"
        return f"{words}; each is {100 / n:.2g} % of them" if n < _FEW else words

    def inputs(self) -> tuple[Path | None, ...]:
        """Return the files that are read."""
        return self.train, self.valid

    def _files(self) -> dict[str, tuple[Path | None, float | None]]:
        """Return the file and the fraction of rows by the option that names them, in order of splitting."""
        return {"--valid": (self.valid, self.valid_fraction)}

    def check(self) -> None:
        """ValueError unless there is one source of rows, and the options fit it."""
        if (self.train is None) == (self.dataset is None):
            raise ValueError("give one of TRAIN.csv and --dataset")
        for flag, given in self._files().items():
            if None not in given:
                raise ValueError(f"give either {flag} or {flag}-fraction, not both")
        if self.train is not None and self.target is None:
            raise ValueError(f"add --target COLUMN, the column of {self.train.name} to predict")
        of_files: dict[str, Any] = {"--target": self.target, "--id": self.id}
        of_files |= {flag: file for flag, (file, _) in self._files().items()}
        of_files |= {"--sep": self.sep != "," or None, "--decimal": self.decimal != "." or None}
        given_flags = [flag for flag, choice in of_files.items() if choice is not None]
        if self.dataset is not None and given_flags:
            raise ValueError(f"leave out {given_flags[0]}: it is for TRAIN.csv, not for --dataset")

    def read(self, seeds: Iterable[int], *, numbers: bool = False) -> Iterator[list[Problem]]:
        """Yield for each seed the training rows with each other part: the validation set and the test set.

        With neither there is one problem, without validation rows.

        Targets are `numbers` or classes; the seed draws and splits rows. Each file is read once, as it may be
        a pipe.
        """
        from ordinal_shapley.tables import problem
        from ordinal_shapley.tables.reading import read_like

        whole, files = self._read_table(numbers), self._files()
        given = {flag: read_like(whole, file, self.impute) for flag, (file, _) in files.items() if file}
        for seed in seeds:
            table = whole if self.rows is None else problem.draw(whole, self.rows, seed)
            parts: list[Table | None] = []
            for flag, (_, fraction) in files.items():
                part = given.get(flag)
                if part is None:
                    table, part = problem.split(table, fraction or _FRACTION, seed, flag)
                parts.append(part)
            # The last split gives the validation rows.
            yield [
                problem.encode(table, part, raw=self.raw, impute=self.impute)
                for part in (reversed(parts) if parts else [None])
            ]

    def _read_table(self, numbers: bool) -> Table:
        """Read the rows of the file or of the data set."""
        from ordinal_shapley.tables.reading import read_table
        from ordinal_shapley.tables.table import Marks, Table

        drop = self.drop or ()
        if self.dataset is not None:
            from ordinal_shapley import datasets

            if numbers:
                raise ValueError(
                    f"--model ridge predicts numbers, but --dataset {self.dataset} has classes: give a "
                    "TRAIN.csv and a column of numbers as --target"
                )
            data = datasets.load(self.dataset)
            return Table(self.dataset, data.frame, data.target, data.frame[[]]).drop(drop)
        assert self.train is not None and self.target is not None
        marks = Marks(SEPS[self.sep], self.decimal)
        return read_table(
            self.train,
            self.target,
            drop=drop,
            names=self.id,
            marks=marks,
            numbers=numbers,
            impute=self.impute,
        )


@dataclass(frozen=True)
class DataOptionsWithFolds(DataOptions):
    """The same with cross-fitting: the number of folds where there is no validation set."""

    valid_fraction: float | None = data_option(
        None,
        "Use this share of the rows, drawn class by class, as validation rows instead of folds. Validation "
        "rows are not valued, so their label errors go undetected.",
        "Q",
        limits=FRACTION,
    )
    cv: int | None = data_option(
        None,
        "Number of folds. Each row is a validation row in one fold and is valued in the others.",
        "K",
        without=f"{_FOLDS}, unless --valid or --valid-fraction is given",
        limits={"min": 2, "max": 100},
    )

    @property
    def folds(self) -> int | None:
        """Number of folds; None if validation rows are given or split off."""
        return None if self.valid or self.valid_fraction else self.cv or _FOLDS

    def settings(self) -> dict[str, Any]:
        """Return the options for ``--json``."""
        return super().settings() | {"cv": self.folds}

    def validation(self, game: Any) -> str:
        """Return what the validation rows of a game are, in words."""
        if self.folds is None:
            return super().validation(game)
        words = f"{self.folds} folds: each row is a validation row in one, and valued in the others"
        n = game.n_players - game._n_valid
        return f"{words}; {n:,} of classes with fewer rows than folds are valued only" if n else words

    def check(self) -> None:
        """ValueError unless there is one source of rows, and the options fit it."""
        super().check()
        if self.cv is not None and self.folds is None:
            flag = "--valid" if self.valid else "--valid-fraction"
            raise ValueError(f"give either --cv or {flag}, not both")

    def _files(self) -> dict[str, tuple[Path | None, float | None]]:
        return {} if self.folds else super()._files()


@dataclass(frozen=True)
class DataOptionsWithTest(DataOptions):
    """The same, and which rows are the test set."""

    test: Path | None = data_option(None, "The test set, with the same columns.", "TEST.csv")
    test_fraction: float | None = _share("--test", "the test set")

    def inputs(self) -> tuple[Path | None, ...]:
        """Return the files that are read."""
        return *super().inputs(), self.test

    def _files(self) -> dict[str, tuple[Path | None, float | None]]:
        return {"--test": (self.test, self.test_fraction), **super()._files()}
