"""Files of arrays and facts that carry a version and a hash of all they hold; nothing is run."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from causaldq.errors import DataError
from causaldq.files import canonical_json, read_arrays, sha256_of_text, write_arrays
from causaldq.state_arrays import digest

Arrays = dict[str, npt.NDArray[Any]]


def content(facts: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """Hash of facts and arrays together."""
    return sha256_of_text(canonical_json(facts) + digest(arrays))


def write_sealed(
    path: Path, kind: str, version: int, facts: Mapping[str, Any], arrays: Arrays
) -> None:
    """Write a file of some kind; it appears whole or not at all."""
    whole = {**facts, "version": version}
    text = canonical_json({**whole, "content": content(whole, arrays)})
    write_arrays(path, {**arrays, kind: np.frombuffer(text.encode(), dtype=np.uint8)})


def read_sealed(
    path: Path, kind: str, version: int, remedy: str, *needed: str
) -> tuple[dict[str, Any], Arrays]:
    """Facts and arrays of a file, refused if it is of another version or was changed."""
    arrays = read_arrays(path, kind, *needed, remedy=f"it is no {kind}: {remedy}")
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
