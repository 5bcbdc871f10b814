"""Files of arrays and facts that carry a version and a hash of all they hold; nothing is run."""

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from causaldq.errors import DataError
from causaldq.files import canonical_json, one_line, read_arrays, sha256_of_text, write_arrays
from causaldq.state_arrays import digest

Arrays = dict[str, npt.NDArray[Any]]


def content(facts: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """Hash of facts and arrays together."""
    return sha256_of_text(canonical_json(facts) + digest(arrays))


def _place(path: str | PathLike[str]) -> Path:
    try:
        return Path(path)
    except TypeError:
        raise DataError(f"{path!r} is no path; give the name of a file") from None


def write_sealed(
    path: str | PathLike[str], kind: str, version: int, facts: Mapping[str, Any], arrays: Arrays
) -> None:
    """Write a file of some kind; it appears whole or not at all."""
    place = _place(path)
    whole = {**facts, "version": version}
    text = canonical_json({**whole, "content": content(whole, arrays)})
    try:
        write_arrays(place, {**arrays, kind: np.frombuffer(text.encode(), dtype=np.uint8)})
    except OSError as error:
        raise DataError(
            f"{path} cannot be written ({one_line(error)}); give a file in a folder that can"
        ) from None


def read_sealed(
    path: str | PathLike[str], kind: str, version: int, remedy: str, *needed: str
) -> tuple[dict[str, Any], Arrays]:
    """Facts and arrays of a file, refused if it is of another version or was changed."""
    arrays = read_arrays(_place(path), kind, *needed, remedy=f"it is no {kind}: {remedy}")
    try:
        facts = json.loads(arrays.pop(kind).tobytes())
        written = facts.pop("content")
        found = facts.pop("version")
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise DataError(f"{path} is no {kind}, or damaged; {remedy}") from None
    if found != version:
        raise DataError(
            f"{path} has version {found}; this is causaldq for version {version}: {remedy}"
        )
    if written != content({**facts, "version": found}, arrays):
        raise DataError(f"{path} is damaged: it is not what was written; {remedy}")
    return facts, arrays
