"""States of methods as named arrays, for files that hold nothing but arrays."""

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt


def flat(state: Any, prefix: str = "") -> dict[str, npt.NDArray[Any]]:
    """Arrays of a state by the path of their fields."""
    found: dict[str, npt.NDArray[Any]] = {}
    for field in fields(state):
        value = getattr(state, field.name)
        name = f"{prefix}{field.name}"
        found |= flat(value, f"{name}.") if is_dataclass(value) else {name: np.asarray(value)}
    return found


def filled(template: Any, arrays: Mapping[str, npt.NDArray[Any]], prefix: str = "") -> Any:
    """A state like the template, with arrays from a file."""
    new: dict[str, Any] = {}
    for field in fields(template):
        value, name = getattr(template, field.name), f"{prefix}{field.name}"
        if is_dataclass(value):
            new[field.name] = filled(value, arrays, f"{name}.")
            continue
        array = arrays[name]
        if array.ndim != value.ndim or array.dtype != value.dtype:
            raise ValueError(f"{name} of the state has another form")
        new[field.name] = array
    return replace(template, **new)


def part(arrays: Mapping[str, npt.NDArray[Any]], name: str) -> dict[str, npt.NDArray[Any]]:
    prefix = f"{name}."
    return {key.removeprefix(prefix): a for key, a in arrays.items() if key.startswith(prefix)}


def digest(arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}\0{array.dtype.str}\0{array.shape}\0".encode() + array.tobytes())
    return digest.hexdigest()
