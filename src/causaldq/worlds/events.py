"""Recorded events: rows that lead from normal operation into a real fault."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from causaldq.errors import DataError
from causaldq.files import read_arrays, write_arrays
from causaldq.models.rows import Scale
from causaldq.types import Bools, Floats, Ints


@dataclass(frozen=True)
class Events:
    """Recordings of equal length, each with the row at which its fault sets in."""

    names: tuple[str, ...]
    """Of the fault; one name for each of its recordings."""
    values: Floats
    """(recordings, rows, p)"""
    change: Ints
    """(recordings,), index of the first row under the fault."""

    @classmethod
    def of(cls, found: Sequence[tuple[str, Floats, int]], p: int) -> "Events":
        """From (name, rows (n, p), first row under the fault)."""
        lengths = {len(rows) for _, rows, _ in found}
        if len(lengths) > 1:
            raise DataError(f"recordings of faults differ in length: {sorted(lengths)} rows")
        return cls(
            tuple(name for name, _, _ in found),
            np.stack([rows for _, rows, _ in found]) if found else np.empty((0, 0, p)),
            np.array([first for _, _, first in found], np.int64),
        )

    def __len__(self) -> int:
        return len(self.names)

    def scaled(self, scale: Scale) -> "Events":
        return replace(self, values=scale.apply(self.values))

    def streams(self, kept: Bools) -> "Events":
        """Only some of the streams (p,)."""
        return replace(self, values=self.values[:, :, kept])

    def save(self, path: Path) -> None:
        names = np.array(self.names, dtype=np.str_)
        write_arrays(path, {"names": names, "values": self.values, "change": self.change})

    @classmethod
    def load(cls, path: Path) -> "Events":
        arrays = read_arrays(path, "names", "values", "change")
        return cls(tuple(str(n) for n in arrays["names"]), arrays["values"], arrays["change"])
