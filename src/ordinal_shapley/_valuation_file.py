"""The file a valuation is kept in: one ``.npz``, with no pickle in it."""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_shapley.moments import Moments, Ranges

_FORMAT = "ordinal-shapley valuation 1"


def write_valuation(
    path: str | PathLike[str],
    moments: Moments,
    ranges: Ranges,
    labels: NDArray[Any] | None,
    fields: dict[str, Any],
) -> None:
    """Write the sums, from which all else is made again, and what describes them."""
    stored, kind = _encode_labels(labels)
    header = {
        "format": _FORMAT,
        "labels": kind,
        "ranges": ranges,
        "counts": {name: int(getattr(moments, name)) for name in Moments._fields[3:]},
        "fields": fields,
    }
    arrays: dict[str, Any] = dict(zip(Moments._fields[:3], moments[:3], strict=True))
    # Made in memory first, so that a failure leaves an existing file as it was.
    buffer = io.BytesIO()
    np.savez(buffer, header=np.array(json.dumps(header)), labels=stored, **arrays)
    Path(path).write_bytes(buffer.getvalue())


def read_valuation(
    path: str | PathLike[str],
) -> tuple[Moments, Ranges, NDArray[Any] | None, dict[str, Any]]:
    """Read what `write_valuation` wrote; ValueError if the file holds something else."""
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
            header = json.loads(str(file["header"]))
            if header["format"] != _FORMAT:
                raise ValueError(f"its format is {header['format']!r}")
            moments = Moments(*(file[name] for name in Moments._fields[:3]), **header["counts"])
            labels = _decode_labels(file["labels"], header["labels"])
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"path {str(path)!r} holds no valuation ({error}), expected a file that Valuation.save wrote"
        ) from error
    ranges = tuple((start, stop) for start, stop in header["ranges"])
    return moments, ranges, labels, header["fields"]


def as_labels(labels: NDArray[Any] | Sequence[Any]) -> NDArray[Any]:
    """Return labels as a 1-d array; tuples (of a pandas MultiIndex) stay tuples."""
    if isinstance(labels, np.ndarray):
        return labels
    array = np.empty(len(labels), dtype=object)
    array[:] = list(labels)
    return array


def _encode_labels(labels: NDArray[Any] | None) -> tuple[NDArray[Any], str]:
    """Return labels as an array that needs no pickle, and how to read it back."""
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
    """Return the label as JSON can hold it, and whether it comes back as it was."""
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
