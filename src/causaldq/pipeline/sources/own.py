"""The user's own data: a CSV or Parquet file, checked to the last cell before it is used.

Whatever is wrong becomes one line that names the file, the place and the remedy. What can be
read safely although it is unusual (Windows line ends, a byte order mark, semicolons or tabs) is
read and noted.
"""

import difflib
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from causaldq.pipeline.sources.base import Recorded, RecordedSource, split
from causaldq.pipeline.sources.fetch import Delivered
from causaldq.pipeline.sources.own_file import RawTable, number_of, read_cells, refused, shown
from causaldq.setting import Count, Distinct, Share
from causaldq.types import Bools, Floats

NO_VALUE = {"", "na", "n/a", "nan", "null", "none", "-", "?", "#n/a", "."}
LARGEST = 1e100
"""Beyond it squares and products of values would overflow."""
TIME_TOLERANCE = 0.05
"""Share of the usual step by which a step may differ: times are often rounded when printed."""
SAME = 1e-9
"""Two streams whose correlation is this close to 1 carry the same information."""


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
    """(n, p), all rows, all finite, in the file's units."""
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
    """Read and check the user's own data. Nothing is returned unless all of it is sound."""
    try:
        raw = read_cells(path)
        names = _streams(path, raw.names, settings)
        rows = len(raw.places)
        _check_rows(path, rows, len(names), settings)
        _check_time(path, raw, settings)
        values = np.empty((rows, len(names)))
        for i, name in enumerate(names):
            values[:, i] = _numbers(path, name, raw)
        in_control = slice(settings.first_in_control - 1, settings.last_in_control)
        _check_streams(path, names, values[in_control])
    except OSError as error:
        raise refused(path, f"cannot be read: {error.strerror or error}") from None
    fault = None if settings.first_fault is None else settings.first_fault - 1
    return OwnData(tuple(names), values, in_control, fault, tuple(raw.notes))


# --- columns -----------------------------------------------------------------------------------


def _streams(path: Path, names: list[str], settings: OwnSource) -> list[str]:
    """The columns that are streams, in the file's order."""
    listed = [("time", settings.time)] if settings.time is not None else []
    listed += [("keep", name) for name in settings.keep or []]
    listed += [("drop", name) for name in settings.drop or []]
    for key, name in listed:
        if name not in names:
            near = difflib.get_close_matches(str(name), names, 1, 0)
            raise refused(
                path,
                f"has no column {shown(name)}, which {key} names; "
                f"the nearest of its {len(names)} is {shown(near[0]) if near else 'none'}",
            )
    kept = settings.keep if settings.keep is not None else names
    streams = [
        name
        for name in names
        if name in kept and name != settings.time and name not in (settings.drop or [])
    ]
    if len(streams) < 2:
        raise refused(
            path,
            f"has {len(streams)} stream{'' if len(streams) == 1 else 's'}, two are the least; "
            "separate columns by comma, semicolon or tab, and check keep and drop",
        )
    return streams


def _check_rows(path: Path, rows: int, streams: int, settings: OwnSource) -> None:
    for key in ("last_in_control", "first_fault"):
        row = getattr(settings, key)
        if row is not None and row > rows:
            raise refused(path, f"has {rows} rows, so {key} cannot be {row}; give a smaller one")
    n = settings.last_in_control - settings.first_in_control + 1
    if n < streams:
        raise refused(
            path,
            f"has {n} in-control rows for {streams} streams; "
            "give at least as many rows as streams, or drop columns",
        )


def _is_missing(cell: object) -> bool:
    if isinstance(cell, str):
        return cell.strip().lower() in NO_VALUE
    number = number_of(cell)
    empty = number is not None and math.isnan(number)
    return empty or cell is None or cell is pd.NA or cell is pd.NaT


def _numbers(path: Path, name: str, raw: RawTable) -> Floats:
    """(n,), a column as numbers; the first cell that is none is named."""
    cells = raw.columns[raw.names.index(name)]
    numbers = [number_of(cell) for cell in cells]
    found = np.array([math.nan if number is None else number for number in numbers])
    sound: Bools = np.abs(found) <= LARGEST
    if sound.all():
        return found
    row = int(np.argmin(sound))
    cell, place = cells[row], f", {raw.places[row]}, column {shown(name)}: "
    if _is_missing(cell):
        raise refused(path, f"{place}no value; fill it in, or remove the row or the column")
    if numbers[row] is not None:
        raise refused(
            path, f"{place}{shown(cell)} is too large or not finite; rescale or remove it"
        )
    if isinstance(cell, str) and number_of(cell.replace(",", ".")) is not None:
        raise refused(path, f"{place}{shown(cell)} has a decimal comma; write decimal points")
    raise refused(path, f"{place}{shown(cell)} is no number; correct it, or drop the column")


def _check_streams(path: Path, names: list[str], rows: Floats) -> None:
    """Refuse in-control rows (n, p) in which a stream is constant, or two are the same."""
    largest = np.abs(rows).max(0)
    flat = np.ptp(rows, axis=0) <= 1e-12 * largest
    if flat.any():
        name = names[int(np.argmax(flat))]
        raise refused(
            path, f", column {shown(name)}: constant in the in-control rows; drop the column"
        )
    scaled = rows / largest
    scaled = scaled - scaled.mean(0)
    scaled /= np.sqrt((scaled**2).sum(0))
    alike = np.triu(np.abs(scaled.T @ scaled) > 1 - SAME, 1)
    if alike.any():
        i, j = (int(place) for place in np.argwhere(alike)[0])
        equal = np.array_equal(rows[:, i], rows[:, j])
        how = "identical" if equal else "the same up to unit and origin"
        raise refused(
            path,
            f", columns {shown(names[i])} and {shown(names[j])}: {how} in the in-control rows; "
            "drop one",
        )


# --- time --------------------------------------------------------------------------------------


def _check_time(path: Path, raw: RawTable, settings: OwnSource) -> None:
    """Refuse times that do not go on by equal steps."""
    if settings.time is None:
        return
    cells = raw.columns[raw.names.index(settings.time)]
    column = f"column {shown(settings.time)}"
    times = np.empty(len(cells))
    for row, cell in enumerate(cells):
        seconds = _seconds(cell)
        if seconds is None:
            raise refused(
                path,
                f", {raw.places[row]}, {column}: {shown(cell)} is no time; "
                "write numbers, or dates as 2024-12-31 13:00:00",
            )
        times[row] = seconds
    steps = np.diff(times)
    usual = float(np.median(steps)) if len(steps) else 1.0
    uneven = (steps <= 0) | (np.abs(steps - usual) > TIME_TOLERANCE * abs(usual))
    if uneven.any():
        row = int(np.argmax(uneven)) + 1
        place, step = f", {raw.places[row]}, {column}: ", steps[row - 1]
        if step <= 0:
            raise refused(
                path, f"{place}time stands still or runs back; sort rows, remove repeated ones"
            )
        raise refused(
            path,
            f"{place}a step of {step:g} where {usual:g} is usual; "
            "give rows at equal steps, or leave the time column out",
        )


def _seconds(cell: object) -> float | None:
    """A time as a number: itself, or the seconds of a date since 1970 as written."""
    if cell is pd.NaT:
        return None
    number = number_of(cell)
    try:
        if isinstance(cell, str) and number is None:
            cell = datetime.fromisoformat(cell.strip())
        if isinstance(cell, datetime):
            number = (cell if cell.tzinfo else cell.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
    return number if number is not None and abs(number) <= LARGEST else None
