"""The user's own data: a CSV or Parquet file, checked to the last cell before it is used.

Whatever is wrong becomes one line that names the file, the place and the remedy. What can be
read safely although it is unusual (Windows line ends, a byte order mark, semicolons or tabs) is
read and noted.
"""

import csv
import difflib
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal, NoReturn, Self

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from causaldq.errors import DataError
from causaldq.pipeline.sources.base import Recorded, RecordedSource, split
from causaldq.pipeline.sources.fetch import Delivered
from causaldq.setting import Count, Distinct, Share
from causaldq.types import Bools, Floats

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
NO_VALUE = {"", "na", "n/a", "nan", "null", "none", "-", "?", "#n/a", "."}
LARGEST = 1e100
"""Beyond it squares and products of values would overflow."""
TIME_TOLERANCE = 0.05
"""Share of the usual step by which a step may differ: times are often rounded when printed."""
SAME = 1e-9
"""Two streams whose correlation is this close to 1 carry the same information."""
MOST_CELLS = 100_000_000
"""A Parquet file of a megabyte can unfold to more than any memory holds."""
SHOWN = 40


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


@dataclass(frozen=True)
class _Raw:
    """A file as columns of cells; each row knows where it is."""

    names: list[str]
    columns: list[Sequence[object]]
    places: Sequence[str]
    notes: list[str]


def read_own(path: Path, settings: OwnSource) -> OwnData:
    """Read and check the user's own data. Nothing is returned unless all of it is sound."""
    try:
        raw = _read(path)
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
        _refuse(path, f"cannot be read: {error.strerror or error}")
    fault = None if settings.first_fault is None else settings.first_fault - 1
    return OwnData(tuple(names), values, in_control, fault, tuple(raw.notes))


def _refuse(path: Path, text: str) -> NoReturn:
    line = " ".join(f"{path}{'' if text.startswith(',') else ' '}{text}".split())
    raise DataError(line) from None


def _show(value: object) -> str:
    """A cell or a name for a message: short, and on one line whatever it holds."""
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 4]}...'"


# --- files to cells ----------------------------------------------------------------------------


def _read(path: Path) -> _Raw:
    if path.is_dir():
        _refuse(path, "is a folder; give a CSV or Parquet file")
    if not path.exists():
        _refuse(path, "does not exist; give the path of a CSV or Parquet file")
    content = path.read_bytes()
    if not content:
        _refuse(path, "is empty; give a file with a header and rows")
    if content.startswith(b"PAR1") or path.suffix.lower() in (".parquet", ".pq"):
        return _read_parquet(path, content)
    return _read_text(path, content)


def _read_parquet(path: Path, content: bytes) -> _Raw:
    from pyarrow import parquet

    try:
        told = parquet.ParquetFile(io.BytesIO(content)).metadata
        cells = told.num_rows * told.num_columns
        if cells <= MOST_CELLS:
            frame = pd.read_parquet(io.BytesIO(content), engine="pyarrow")
    except Exception as error:  # damage shows as errors of many kinds
        _refuse(path, f"is no whole Parquet file ({error}); write it again")
    if cells > MOST_CELLS:
        _refuse(path, f"holds {cells} values, more than {MOST_CELLS}; give a part of it")
    if frame.index.name is not None:
        frame = frame.reset_index()
    names = [str(name) for name in frame.columns]
    _check_names(path, names)
    if frame.empty:
        _refuse(path, "has no rows; give rows of normal operation")
    columns: list[Sequence[object]] = [frame.iloc[:, i].tolist() for i in range(len(names))]
    places = [f"row {row}" for row in range(1, len(frame) + 1)]
    return _Raw(names, columns, places, [])


def _read_text(path: Path, content: bytes) -> _Raw:
    text, notes = _decoded(path, content)
    lines = text.split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines or not lines[0].strip():
        _refuse(path, ", line 1: empty; give a file with a header and rows")
    separator = _separator(lines[0])
    if separator != ",":
        notes.append(f"fields are separated by {SEPARATORS[separator]}s")
    names, records, numbers = _records(path, lines, separator)
    if all(_is_number(name) for name in names):
        _refuse(path, ", line 1: names are expected, not numbers; put a header there")
    _check_names(path, names)
    if not records:
        _refuse(path, "has a header and no rows; give rows of normal operation")
    _check_fields(path, len(names), records, numbers)
    columns: list[Sequence[object]] = list(zip(*records, strict=True))
    return _Raw(names, columns, [f"line {number}" for number in numbers], notes)


def _decoded(path: Path, content: bytes) -> tuple[str, list[str]]:
    notes = []
    if content.startswith(b"PK\x03\x04"):
        _refuse(path, "is a zip archive or an Excel workbook; export it as CSV")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        _refuse(path, "is UTF-16; save it as UTF-8")
    if content.startswith(b"\xef\xbb\xbf"):
        notes.append("a byte order mark was skipped")
        content = content[3:]
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = content[error.start]
        _refuse(path, f", line {line}: byte 0x{byte:02x} is not UTF-8; save the file as UTF-8")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        _refuse(path, f", line {line}: a zero byte, so this is no text; export the data as CSV")
    if "\r" in text:
        notes.append("Windows line ends were read as line ends")
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.endswith("\n"):
        notes.append("the last line does not end: make sure that the file is whole")
    return text, notes


def _separator(header: str) -> str:
    """The separator that splits the header into most names; a comma if it is a draw."""
    return max(SEPARATORS, key=lambda separator: len(_fields(header, separator)))


def _fields(line: str, separator: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator))
    except (csv.Error, StopIteration):
        return []


def _records(
    path: Path, lines: list[str], separator: str
) -> tuple[list[str], list[list[str]], list[int]]:
    """The header, the records, and the line on which each record starts."""
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=separator, strict=True)
    records: list[list[str]] = []
    numbers: list[int] = []
    before = 0
    try:
        for record in reader:
            records.append(record)
            numbers.append(before + 1)
            before = reader.line_num
    except csv.Error as error:
        _refuse(path, f", line {before + 1}: {error}; check the quotation marks")
    return [name.strip() for name in records[0]], records[1:], numbers[1:]


def _check_fields(path: Path, width: int, records: list[list[str]], numbers: list[int]) -> None:
    for record, number in zip(records, numbers, strict=True):
        if len(record) == width:
            continue
        if not any(cell.strip() for cell in record) and len(record) <= 1:
            _refuse(path, f", line {number}: an empty line between rows; remove it")
        counts = f"{len(record)} fields where the header has {width}"
        if number == numbers[-1] and len(record) < width:
            _refuse(path, f", line {number}: {counts}: the file is cut off; copy it again")
        _refuse(path, f", line {number}: {counts}; give every row the same fields")


def _check_names(path: Path, names: list[str]) -> None:
    for position, name in enumerate(names, 1):
        if not name:
            _refuse(path, f", header: column {position} has no name; give it one")
        if name in names[: position - 1]:
            first = names.index(name) + 1
            _refuse(
                path,
                f", header: columns {first} and {position} are both {_show(name)}; rename one",
            )


# --- columns -----------------------------------------------------------------------------------


def _streams(path: Path, names: list[str], settings: OwnSource) -> list[str]:
    """The columns that are streams, in the file's order."""
    listed = [("time", settings.time)] if settings.time is not None else []
    listed += [("keep", name) for name in settings.keep or []]
    listed += [("drop", name) for name in settings.drop or []]
    for key, name in listed:
        if name not in names:
            near = difflib.get_close_matches(str(name), names, 1, 0)
            _refuse(
                path,
                f"has no column {_show(name)}, which {key} names; "
                f"the nearest of its {len(names)} is {_show(near[0]) if near else 'none'}",
            )
    kept = settings.keep if settings.keep is not None else names
    streams = [
        name
        for name in names
        if name in kept and name != settings.time and name not in (settings.drop or [])
    ]
    if len(streams) < 2:
        _refuse(
            path,
            f"has {len(streams)} stream{'' if len(streams) == 1 else 's'}, two are the least; "
            "separate columns by comma, semicolon or tab, and check keep and drop",
        )
    return streams


def _check_rows(path: Path, rows: int, streams: int, settings: OwnSource) -> None:
    for key in ("last_in_control", "first_fault"):
        row = getattr(settings, key)
        if row is not None and row > rows:
            _refuse(path, f"has {rows} rows, so {key} cannot be {row}; give a smaller one")
    n = settings.last_in_control - settings.first_in_control + 1
    if n < streams:
        _refuse(
            path,
            f"has {n} in-control rows for {streams} streams; "
            "give at least as many rows as streams, or drop columns",
        )


def _is_number(cell: str) -> bool:
    return _number(cell) is not None


def _number(cell: object) -> float | None:
    """A cell as a number; None if it is text. Python's underscores are text here."""
    if isinstance(cell, str):
        if "_" in cell or not cell.isascii():
            return None
        try:
            return float(cell)
        except ValueError:
            return None
    if isinstance(cell, bool | int | float | Decimal):
        try:
            return float(cell)
        except OverflowError:
            return math.inf
    return None


def _is_missing(cell: object) -> bool:
    if isinstance(cell, str):
        return cell.strip().lower() in NO_VALUE
    number = _number(cell)
    empty = number is not None and math.isnan(number)
    return empty or cell is None or cell is pd.NA or cell is pd.NaT


def _numbers(path: Path, name: str, raw: _Raw) -> Floats:
    """(n,), a column as numbers; the first cell that is none is named."""
    cells = raw.columns[raw.names.index(name)]
    numbers = [_number(cell) for cell in cells]
    found = np.array([math.nan if number is None else number for number in numbers])
    sound: Bools = np.abs(found) <= LARGEST
    if sound.all():
        return found
    row = int(np.argmin(sound))
    cell, place = cells[row], f", {raw.places[row]}, column {_show(name)}: "
    if _is_missing(cell):
        _refuse(path, f"{place}no value; fill it in, or remove the row or the column")
    if numbers[row] is not None:
        _refuse(path, f"{place}{_show(cell)} is too large or not finite; rescale or remove it")
    if isinstance(cell, str) and _is_number(cell.replace(",", ".")):
        _refuse(path, f"{place}{_show(cell)} has a decimal comma; write decimal points")
    _refuse(path, f"{place}{_show(cell)} is no number; correct it, or drop the column")


def _check_streams(path: Path, names: list[str], rows: Floats) -> None:
    """Refuse in-control rows (n, p) in which a stream is constant, or two are the same."""
    largest = np.abs(rows).max(0)
    flat = np.ptp(rows, axis=0) <= 1e-12 * largest
    if flat.any():
        name = names[int(np.argmax(flat))]
        _refuse(path, f", column {_show(name)}: constant in the in-control rows; drop the column")
    scaled = rows / largest
    scaled = scaled - scaled.mean(0)
    scaled /= np.sqrt((scaled**2).sum(0))
    alike = np.triu(np.abs(scaled.T @ scaled) > 1 - SAME, 1)
    if alike.any():
        i, j = (int(place) for place in np.argwhere(alike)[0])
        equal = np.array_equal(rows[:, i], rows[:, j])
        how = "identical" if equal else "the same up to unit and origin"
        _refuse(
            path,
            f", columns {_show(names[i])} and {_show(names[j])}: {how} in the in-control rows; "
            "drop one",
        )


# --- time --------------------------------------------------------------------------------------


def _check_time(path: Path, raw: _Raw, settings: OwnSource) -> None:
    """Refuse times that do not go on by equal steps."""
    if settings.time is None:
        return
    cells = raw.columns[raw.names.index(settings.time)]
    column = f"column {_show(settings.time)}"
    times = np.empty(len(cells))
    for row, cell in enumerate(cells):
        seconds = _seconds(cell)
        if seconds is None:
            _refuse(
                path,
                f", {raw.places[row]}, {column}: {_show(cell)} is no time; "
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
            _refuse(path, f"{place}time stands still or runs back; sort rows, remove repeated ones")
        _refuse(
            path,
            f"{place}a step of {step:g} where {usual:g} is usual; "
            "give rows at equal steps, or leave the time column out",
        )


def _seconds(cell: object) -> float | None:
    """A time as a number: itself, or the seconds of a date since 1970 as written."""
    if cell is pd.NaT:
        return None
    number = _number(cell)
    try:
        if isinstance(cell, str) and number is None:
            cell = datetime.fromisoformat(cell.strip())
        if isinstance(cell, datetime):
            number = (cell if cell.tzinfo else cell.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
    return number if number is not None and abs(number) <= LARGEST else None
