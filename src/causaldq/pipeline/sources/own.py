"""The user's own data: a file as `causaldq.tables` reads it, checked before it is used.

Whatever is wrong becomes one line that names the file, the place and the remedy. What can be
read safely although it is unusual (Windows line ends, semicolons, decimal commas) is read and
noted.
"""

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from causaldq.models.rows import varying
from causaldq.pipeline.sources.base import Recorded, RecordedSource, split
from causaldq.pipeline.sources.fetch import Delivered
from causaldq.setting import Count, Distinct, Share
from causaldq.tables.cells import moments
from causaldq.tables.findings import refuse, show
from causaldq.tables.oddities import alike, uneven, usual_step
from causaldq.tables.reader import Table, first_unsound, read_table
from causaldq.types import Floats

SAME = 1e-9
"""Two streams whose correlation is this close to 1 carry the same information."""
REFUSED = {
    "no header": "put a header there",
    "no name": "give it one",
    "duplicate name": "rename one",
    "ragged": "give every row the same fields",
    "cut off": "copy it again",
}
"""What can be read, but is more likely a damaged file than one that is meant; and the remedy."""


class OwnSource(RecordedSource):
    """The user's own CSV or Parquet file."""

    first_in_control: Annotated[Count, Field(description="first row of normal operation")]
    last_in_control: Annotated[Count, Field(description="last row of normal operation")]
    first_fault: Annotated[
        Count | None, Field(description="first row under a known fault, if there is one")
    ] = None
    time: Annotated[str | None, Field(description="column with the time, if there is one")] = None
    keep: Annotated[
        Distinct[str] | None, Field(description="columns that are streams; all by default")
    ] = None
    drop: Annotated[
        Distinct[str] | None, Field(description="columns that are not streams; none by default")
    ] = None
    kind: Literal["own"]
    file: Annotated[str, Field(description="path of the file, from where snakemake is called")]
    held_out: Annotated[Share, Field(description="share of in-control rows kept for tests")]

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.first_in_control >= self.last_in_control:
            raise ValueError("last_in_control must be greater than first_in_control")
        if self.first_fault is not None and self.first_fault <= self.last_in_control:
            raise ValueError("first_fault must be greater than last_in_control")
        if self.keep is not None and self.drop is not None:
            raise ValueError("give keep or drop, not both")
        return self

    @property
    def has_events(self) -> bool:
        return self.first_fault is not None

    def read(self, found: Delivered, reference: Path | None, rng: np.random.Generator) -> Recorded:
        (path,) = found.files.values()
        data = read_own(path, self)
        in_control, held_out = split(data.reference, self.held_out)
        events = []
        if data.fault is not None:
            # Monitoring begins on rows that are known to be in control and were not used.
            first = data.in_control.stop - len(held_out)
            events = [("fault", data.values[first:], data.fault - first)]
        names = list(data.names)
        table = pd.DataFrame(data.values, columns=names)
        return Recorded(names, in_control, held_out, table, events=events, notes=data.notes)


@dataclass(frozen=True)
class OwnData:
    """Streams of the user's own, fit for use."""

    names: tuple[str, ...]
    values: Floats
    """(n, p), all rows, in the file's units; finite where they are used."""
    in_control: slice
    """Rows of normal operation: at least as many as streams; no stream is constant in them, and
    no two are the same."""
    fault: int | None
    """Index of the first row under the known fault."""
    notes: tuple[str, ...]
    """What was unusual and has been dealt with."""

    @property
    def reference(self) -> Floats:
        """(rows, p), the rows of normal operation."""
        return self.values[self.in_control]


def read_own(path: Path, settings: OwnSource) -> OwnData:
    """Read and check the user's own data. Nothing is returned unless all that is used is sound."""
    table = read_table(path)
    for finding in table.findings:
        if finding.kind in REFUSED:
            refuse(path, f", {finding.where}: {finding.what}; {REFUSED[finding.kind]}")
    names = _streams(path, table.names, settings)
    rows = len(table.places)
    _check_rows(path, rows, len(names), settings)
    first, last = settings.first_in_control - 1, settings.last_in_control
    used = slice(first, last if settings.first_fault is None else rows)
    _check_time(table, settings, used)
    for name in names:
        if wrong := first_unsound(table, name, used):
            refuse(path, wrong)
    values = np.column_stack([table[name].numbers for name in names])
    _check_streams(path, names, values[first:last])
    fault = None if settings.first_fault is None else settings.first_fault - 1
    notes = tuple(f"{found.what}: {found.done}" for found in table.findings)
    return OwnData(tuple(names), values, slice(first, last), fault, notes)


# --- columns -----------------------------------------------------------------------------------


def _streams(path: Path, names: list[str], settings: OwnSource) -> list[str]:
    """The columns that are streams, in the file's order."""
    listed = [("time", settings.time)] if settings.time is not None else []
    listed += [("keep", name) for name in settings.keep or []]
    listed += [("drop", name) for name in settings.drop or []]
    for key, name in listed:
        if name not in names:
            near = difflib.get_close_matches(str(name), names, 1, 0)
            refuse(
                path,
                f"has no column {show(name)}, which {key} names; "
                f"the nearest of its {len(names)} is {show(near[0]) if near else 'none'}",
            )
    kept = settings.keep if settings.keep is not None else names
    streams = [
        name
        for name in names
        if name in kept and name != settings.time and name not in (settings.drop or [])
    ]
    if len(streams) < 2:
        refuse(
            path,
            f"has {len(streams)} stream{'' if len(streams) == 1 else 's'}, two are the least; "
            "separate columns by comma, semicolon or tab, and check keep and drop",
        )
    return streams


def _check_rows(path: Path, rows: int, streams: int, settings: OwnSource) -> None:
    for key in ("last_in_control", "first_fault"):
        row = getattr(settings, key)
        if row is not None and row > rows:
            refuse(path, f"has {rows} rows, so {key} cannot be {row}; give a smaller one")
    n = settings.last_in_control - settings.first_in_control + 1
    if n < streams:
        refuse(
            path,
            f"has {n} in-control rows for {streams} streams; "
            "give at least as many rows as streams, or drop columns",
        )


def _check_streams(path: Path, names: list[str], rows: Floats) -> None:
    """Refuse in-control rows (n, p) in which a stream is constant, or two are the same."""
    steady = ~varying(rows)
    if steady.any():
        name = names[int(np.argmax(steady))]
        refuse(path, f", column {show(name)}: constant in the in-control rows; drop the column")
    for i, j in alike(rows, SAME)[:1]:
        equal = np.array_equal(rows[:, i], rows[:, j])
        how = "identical" if equal else "the same up to unit and origin"
        refuse(
            path,
            f", columns {show(names[i])} and {show(names[j])}: {how} in the in-control rows; "
            "drop one",
        )


def _check_time(table: Table, settings: OwnSource, used: slice) -> None:
    """Refuse times that do not go on by equal steps in the rows that are used."""
    if settings.time is None:
        return
    cells = table[settings.time].cells[used]
    times = moments(cells, table.form.decimal or ".")
    places = [f", {place}, column {show(settings.time)}: " for place in table.places[used]]
    if not np.isfinite(times).all():
        row = int(np.argmin(np.isfinite(times)))
        refuse(
            table.path,
            f"{places[row]}{show(cells[row])} is no time; "
            "write numbers, or dates as 2024-12-31 13:00:00",
        )
    back, other = uneven(times)
    if not (back | other).any():
        return
    row = int(np.argmax(back | other)) + 1
    if back[row - 1]:
        what = "time stands still or runs back; sort rows, remove repeated ones"
        refuse(table.path, f"{places[row]}{what}")
    refuse(
        table.path,
        f"{places[row]}a step of {times[row] - times[row - 1]:g} where {usual_step(times):g} is"
        " usual; give rows at equal steps, or leave the time column out",
    )
