"""A file of the user's own, CSV or Parquet, as columns of cells that know their places."""

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pandas as pd

from causaldq.errors import DataError

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
MOST_CELLS = 100_000_000
"""A Parquet file of a megabyte can unfold to more than any memory holds."""
SHOWN = 40


@dataclass(frozen=True)
class RawTable:
    """A file as columns of cells; each row knows where it is."""

    names: list[str]
    columns: list[Sequence[object]]
    places: Sequence[str]
    notes: list[str]


def refused(path: Path, text: str) -> DataError:
    """What to raise: on one line, whatever the text holds."""
    line = " ".join(f"{path}{'' if text.startswith(',') else ' '}{text}".split())
    return DataError(line)


def shown(value: object) -> str:
    """A cell or a name for a message: short, and on one line whatever it holds."""
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 4]}...'"


def read_cells(path: Path) -> RawTable:
    if path.is_dir():
        raise refused(path, "is a folder; give a CSV or Parquet file")
    if not path.exists():
        raise refused(path, "does not exist; give the path of a CSV or Parquet file")
    content = path.read_bytes()
    if not content:
        raise refused(path, "is empty; give a file with a header and rows")
    if content.startswith(b"PAR1") or path.suffix.lower() in (".parquet", ".pq"):
        return _read_parquet(path, content)
    return _read_text(path, content)


def _read_parquet(path: Path, content: bytes) -> RawTable:
    from pyarrow import parquet

    try:
        told = parquet.ParquetFile(io.BytesIO(content)).metadata
        cells = told.num_rows * told.num_columns
        if cells <= MOST_CELLS:
            frame = pd.read_parquet(io.BytesIO(content), engine="pyarrow")
    except Exception as error:  # damage shows as errors of many kinds
        raise refused(path, f"is no whole Parquet file ({error}); write it again") from None
    if cells > MOST_CELLS:
        raise refused(path, f"holds {cells} values, more than {MOST_CELLS}; give a part of it")
    if frame.index.name is not None:
        frame = frame.reset_index()
    names = [str(name) for name in frame.columns]
    _check_names(path, names)
    if frame.empty:
        raise refused(path, "has no rows; give rows of normal operation")
    columns: list[Sequence[object]] = [frame.iloc[:, i].tolist() for i in range(len(names))]
    places = [f"row {row}" for row in range(1, len(frame) + 1)]
    return RawTable(names, columns, places, [])


def _read_text(path: Path, content: bytes) -> RawTable:
    text, notes = _decoded(path, content)
    lines = text.split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines or not lines[0].strip():
        raise refused(path, ", line 1: empty; give a file with a header and rows")
    separator = _separator(lines[0])
    if separator != ",":
        notes.append(f"fields are separated by {SEPARATORS[separator]}s")
    names, records, numbers = _records(path, lines, separator)
    if all(number_of(name) is not None for name in names):
        raise refused(path, ", line 1: names are expected, not numbers; put a header there")
    _check_names(path, names)
    if not records:
        raise refused(path, "has a header and no rows; give rows of normal operation")
    _check_fields(path, len(names), records, numbers)
    columns: list[Sequence[object]] = list(zip(*records, strict=True))
    return RawTable(names, columns, [f"line {number}" for number in numbers], notes)


def _decoded(path: Path, content: bytes) -> tuple[str, list[str]]:
    notes = []
    if content.startswith(b"PK\x03\x04"):
        raise refused(path, "is a zip archive or an Excel workbook; export it as CSV")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise refused(path, "is UTF-16; save it as UTF-8")
    if content.startswith(b"\xef\xbb\xbf"):
        notes.append("a byte order mark was skipped")
        content = content[3:]
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = content[error.start]
        raise refused(
            path, f", line {line}: byte 0x{byte:02x} is not UTF-8; save the file as UTF-8"
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise refused(
            path, f", line {line}: a zero byte, so this is no text; export the data as CSV"
        )
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
        raise refused(path, f", line {before + 1}: {error}; check the quotation marks") from None
    return [name.strip() for name in records[0]], records[1:], numbers[1:]


def _check_fields(path: Path, width: int, records: list[list[str]], numbers: list[int]) -> None:
    for record, number in zip(records, numbers, strict=True):
        if len(record) == width:
            continue
        if not any(cell.strip() for cell in record) and len(record) <= 1:
            raise refused(path, f", line {number}: an empty line between rows; remove it")
        counts = f"{len(record)} fields where the header has {width}"
        if number == numbers[-1] and len(record) < width:
            raise refused(path, f", line {number}: {counts}: the file is cut off; copy it again")
        raise refused(path, f", line {number}: {counts}; give every row the same fields")


def _check_names(path: Path, names: list[str]) -> None:
    for position, name in enumerate(names, 1):
        if not name:
            raise refused(path, f", header: column {position} has no name; give it one")
        if name in names[: position - 1]:
            first = names.index(name) + 1
            raise refused(
                path,
                f", header: columns {first} and {position} are both {shown(name)}; rename one",
            )


def number_of(cell: object) -> float | None:
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
