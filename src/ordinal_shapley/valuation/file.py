"""The file of a valuation: one ``.npz``, without pickle."""

from __future__ import annotations

import io
import json
import operator
import warnings
import zipfile
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.common.arguments import file_name
from ordinal_shapley.common.files import replacing
from ordinal_shapley.common.frames import with_names
from ordinal_shapley.evidence.labels import LabelEvidence
from ordinal_shapley.valuation.moments import N_ARRAYS, Folds, Moments, Ranges
from ordinal_shapley.valuation.settings import Settings

_FORMAT = "ordinal-shapley valuation 4"
_Made = TypeVar("_Made")

# Fields of a result besides its settings, and their types in JSON.
FIELDS: dict[str, type] = {"converged": bool, "stopped_by": str, "seconds": float}
# Further fields, which may be None.
OPTIONAL = {"full_score": float, "baseline_score": float, "sampling_seconds": float, "model": str}


class File(NamedTuple):
    """The content of a file."""

    moments: Moments | Folds
    ranges: Ranges
    settings: Settings
    player_names: NDArray[Any] | None
    fields: dict[str, Any]  # see `FIELDS`
    header: dict[str, Any] = {}  # noqa: RUF012 - never changed; what more JSON says
    more: dict[str, NDArray[Any]] = {}  # noqa: RUF012 - further arrays


def write_file(path: str | PathLike[str], file: File) -> None:
    """Write the sums, from which everything else is computed, and their description."""
    file_name("path", path)
    stored, kind = _encode_labels(file.player_names)
    header = {
        **file.header,
        "format": _FORMAT,
        "labels": kind,
        "label_names": [_plain(name)[0] for name in getattr(file.player_names, "names", ())],
        "ranges": file.ranges,
        "settings": file.settings.to_json(),
        "counts": [
            {name: int(getattr(part, name)) for name in Moments._fields[N_ARRAYS:]}
            for part in file.moments.parts
        ],
        "n_players": file.moments.n_players,
        "fields": file.fields,
    }
    arrays: dict[str, Any] = dict(file.more)
    for k, part in enumerate(file.moments.parts):
        arrays |= {_of_fold(name, k): getattr(part, name) for name in Moments._fields[:N_ARRAYS]}
    if isinstance(file.moments, Folds):
        arrays |= {_of_fold("players", k): players for k, players in enumerate(file.moments.players)}
    content = io.BytesIO()  # so that a full disk fails a plain write, not a half-closed archive
    np.savez(content, header=np.array(json.dumps(header)), labels=stored, **arrays)
    with replacing(path) as temporary:
        temporary.write_bytes(content.getbuffer())


def read_file(path: str | PathLike[str]) -> File:
    """Read what `write_file` wrote; ValueError if the file holds something else."""
    file_name("path", path)
    content = io.BytesIO(Path(path).read_bytes())
    try:
        if not zipfile.is_zipfile(content):
            raise ValueError("it is not an .npz file")
        content.seek(0)
        with np.load(content, allow_pickle=False) as file:
            header = json.loads(str(file["header"]))
            if header["format"] != _FORMAT:
                raise ValueError(f"its format is {header['format']!r}")
            moments = _read_moments(file, header)
            labels = _decode_labels(file["labels"], header["labels"])
            if labels is not None:
                labels = with_names(labels, [*map(_tuples, header.get("label_names", ()))])
            known = {"header", "labels", *Moments._fields, "players"}
            more = {name: file[name] for name in file.files if name.split(".")[0] not in known}
        ranges = tuple((operator.index(start), operator.index(stop)) for start, stop in header["ranges"])
        settings = Settings.from_json(header["settings"])
        fields = header["fields"]
        if {name: type(entry) for name, entry in fields.items()} != FIELDS:
            raise ValueError(f"its fields are {', '.join(fields)}, expected {', '.join(FIELDS)}")
        return File(moments, ranges, settings, labels, fields, header, more)
    except Exception as error:  # damaged files may raise anything
        raise _no_valuation(path, error) from error


def _of_fold(name: str, fold: int) -> str:
    return f"{name}.{fold}"


def _read_moments(file: Any, header: dict[str, Any]) -> Moments | Folds:
    """Return the sums in an archive; ValueError or KeyError if they are invalid."""
    parts = []
    for k, counts in enumerate(header["counts"]):
        arrays = [file[_of_fold(name, k)] for name in Moments._fields[:N_ARRAYS]]
        if [array.dtype.kind for array in arrays] != ["f", "i", "f", "f", "i", "f", "f", "f"]:
            raise ValueError("its sums are not numbers")
        *of_players, profile, block_sums, block_spread = arrays
        n = len(arrays[0])
        if any(array.shape != (n,) for array in of_players) or profile.shape not in ((3, 0, 0), (3, n, n)):
            raise ValueError("its sums differ in length")
        blocks = block_sums.shape[1:]
        if block_sums.shape != (n, *blocks) or block_spread.shape != (n if any(blocks) else 0,):
            raise ValueError("its sums by block differ in length")
        numbers = (operator.index(counts[name]) for name in Moments._fields[N_ARRAYS:])
        parts.append(Moments._make([*arrays, *numbers]))
    if _of_fold("players", 0) not in file.files:
        (moments,) = parts
        return moments
    players = [file[_of_fold("players", k)] for k in range(len(parts))]
    n_players = operator.index(header["n_players"])
    for part, of_fold in zip(parts, players, strict=True):
        inside = of_fold.dtype.kind == "i" and ((of_fold >= 0) & (of_fold < n_players)).all()
        if of_fold.shape != part.sums.shape or not inside:
            raise ValueError("its players are not those of its sums")
    return Folds(tuple(parts), tuple(players), n_players)


_PROBABILITIES = ("self_confidence", "predicted_probability", "agreeing_neighbors")


def pack_evidence(evidence: LabelEvidence) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the evidence for a file: its part of the header, and arrays."""
    (given, kind), (predicted, _) = map(_encode_labels, (evidence.given_label, evidence.predicted_label))
    arrays = {"evidence.given": given, "evidence.predicted": predicted}
    known = {name: getattr(evidence, name) for name in _PROBABILITIES}
    arrays |= {f"evidence.{name}": column for name, column in known.items() if column is not None}
    return {"labels": kind, "n_neighbors": evidence.n_neighbors}, arrays


def _unpack_evidence(file: File, n_players: int) -> LabelEvidence | None:
    held = file.header.get("evidence")
    if held is None:
        return None
    given, predicted = (
        _decode_labels(file.more[f"evidence.{name}"], held["labels"]) for name in ("given", "predicted")
    )
    confidence, probability, agreeing = (file.more.get(f"evidence.{name}") for name in _PROBABILITIES)
    known = (given, predicted, confidence, probability)
    if any(column is None or len(column) != n_players for column in known):
        raise ValueError("its evidence is not of its players")
    if agreeing is not None and len(agreeing) != n_players:
        raise ValueError("its neighbors are not of its players")
    n_neighbors = operator.index(held["n_neighbors"])
    return LabelEvidence(*known, agreeing, n_neighbors, file.player_names)  # type: ignore[arg-type]


def read_valuation(path: str | PathLike[str], make: Callable[..., _Made]) -> _Made:
    """Decode the content of a file that `write_file` wrote; ValueError if it is something else."""
    file = read_file(path)
    try:
        known = file.header.get("optional", {})  # not in checkpoints
        optional = {name: known.get(name) for name in OPTIONAL}
        optional |= {name: OPTIONAL[name](given) for name, given in optional.items() if given is not None}
        more = file.fields | optional | {"evidence": _unpack_evidence(file, file.moments.n_players)}
        return make(file.moments, file.settings, file.ranges, player_names=file.player_names, **more)
    except Exception as error:
        raise _no_valuation(path, error) from error


def _no_valuation(path: str | PathLike[str], error: Exception) -> ValueError:
    return ValueError(
        f"path {str(path)!r} holds no valuation ({error}), expected a file that Valuation.save wrote"
    )


def same_labels(first: NDArray[Any] | None, second: NDArray[Any] | None) -> bool:
    """Whether two results have the same labels, with NaN equal to NaN and labels as a file keeps them."""
    if first is None or second is None:
        return first is second
    ours, theirs = (json.dumps([_plain(x)[0] for x in labels.tolist()]) for labels in (first, second))
    return ours == theirs


def as_labels(labels: NDArray[Any] | Sequence[Any]) -> NDArray[Any]:
    """Return labels as a 1-d array; tuples (of a pandas MultiIndex) stay tuples."""
    if isinstance(labels, np.ndarray):
        return labels
    array = np.empty(len(labels), dtype=object)
    array[:] = list(labels)
    return array


def _encode_labels(labels: NDArray[Any] | None) -> tuple[NDArray[Any], str]:
    """Return labels as an array that needs no pickle, and how to decode it."""
    if labels is None:
        return np.array(0), "none"
    if labels.dtype.kind in "biufcUSmM":
        return labels, "array"
    plain = [_plain(label) for label in labels]
    odd = {type(label).__name__ for label, (_, same) in zip(labels, plain, strict=True) if not same}
    if odd:
        warnings.warn(f"labels of type {', '.join(sorted(odd))} are saved as strings", stacklevel=4)
    return np.array(json.dumps([label for label, _ in plain])), "json"


def _plain(label: object) -> tuple[Any, bool]:
    """Return the label as JSON can hold it, and whether it is unchanged when read again."""
    if isinstance(label, np.generic):
        label = label.item()
    if label is None or isinstance(label, str | bool | int | float):
        return label, True
    if isinstance(label, tuple):
        parts = [_plain(part) for part in label]
        return [part for part, _ in parts], all(same for _, same in parts)
    return str(label), False


def _decode_labels(stored: NDArray[Any], kind: str) -> NDArray[Any] | None:
    if kind == "none":
        return None
    return stored if kind == "array" else as_labels([_tuples(x) for x in json.loads(str(stored))])


def _tuples(label: object) -> object:
    return tuple(map(_tuples, label)) if isinstance(label, list) else label
