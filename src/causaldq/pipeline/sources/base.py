"""What a recorded source is: settings, where its files are from, and how they are read.

Simulated streams are in `causaldq.worlds.simulation`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from causaldq.pipeline.sources.catalogue import FileSet
from causaldq.pipeline.sources.fetch import Delivered, Fetched, Way, fetch, read_manifest
from causaldq.setting import Distinct, Settings
from causaldq.types import Floats


@dataclass(frozen=True)
class Recorded:
    """A source's rows in its own units, sorted by what they are for."""

    names: list[str]
    in_control: Floats
    """(n, p), for the scale, the covariance, the graph, training and limits."""
    held_out: Floats
    """(n, p), in control, for tests."""
    table: pd.DataFrame
    """Everything that was read, tidy."""
    events: Sequence[tuple[str, Floats, int]] = ()
    """Recordings of faults: name, rows (n, p), index of the first row under the fault."""
    anomalous: Floats | None = None
    """(n, p), rows under an anomaly to train on."""
    test_anomalous: Floats | None = None
    """(n, p), rows under the anomaly of the test."""
    window: int = 0
    """Rows of which the test's parts consist; 0 if they are one recording each."""
    units: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()


class RecordedSource(Settings):
    """Streams that were recorded, in a file that the settings name as `file`."""

    if TYPE_CHECKING:
        kind: str
        file: str
    reference: ClassVar[str | None] = None
    """A file of the project that reading needs."""
    origins: ClassVar[str | None] = None
    """A file of the project that says where its faults begin."""
    is_inserted: ClassVar[bool] = False
    """Whether anomalies are inserted as they were recorded, so that there is one shift only."""

    @property
    def p(self) -> int | None:
        """Streams, if their number is known before files are read."""
        return None

    @property
    def has_events(self) -> bool:
        """Whether faults were recorded."""
        return False

    def own_files(self) -> dict[str, str]:
        """Files of the user's own, by the setting that names them."""
        return {"file": self.file}

    def files(self, given: Path) -> Delivered:
        """Its files, where `given` is the one that the settings name."""
        return Delivered(self.kind, f"{self.kind} ({given.name})", {given.name: given})

    def read(self, found: Delivered, reference: Path | None, rng: np.random.Generator) -> Recorded:
        """The rows in its files."""
        raise NotImplementedError


class FetchedSource(RecordedSource):
    """A data set of data/sources.yaml, or the first of several that can be had."""

    if TYPE_CHECKING:
        datasets: Sequence[str]
    fetch: Annotated[
        Distinct[Literal["mirror", "package", "official"]],
        Field(description="where files may come from, in this order"),
    ]
    mirror: Annotated[
        str | None, Field(description="mirror folder; null: the variable CAUSALDQ_MIRROR")
    ]

    def own_files(self) -> dict[str, str]:
        return {}

    def get(self, name: str, data_set: FileSet, order: Sequence[Way], folder: Path) -> Fetched:
        """The files of one of its data sets."""
        mirror = Path(self.mirror) if self.mirror else None
        return fetch(name, data_set, order, mirror, folder, self.needed(name))

    def needed(self, name: str) -> list[str] | None:
        """Which files of a data set; None for all."""
        return None

    def files(self, given: Path) -> Delivered:
        """What the fetch job has written down."""
        return read_manifest(given)


def split(rows: Floats, held_out: float) -> tuple[Floats, Floats]:
    """Rows (n, p) to learn from, and the last of them, held out for tests."""
    last = max(1, round(len(rows) * held_out))
    return rows[:-last], rows[-last:]
