"""From a file's bytes to its cells: gzip, Parquet, Excel, and text in any usual encoding."""

import io
import re
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from causaldq.files import DAMAGE, one_line
from causaldq.tables.findings import Finding, refuse, show

MOST_BYTES = 1 << 29
MOST_CELLS = 100_000_000
"""A file of a megabyte can unfold to more than any memory holds."""
OTHERS = {
    b"BZh": "compressed by bzip2; unpack it",
    b"\xfd7zXZ": "compressed by xz; unpack it",
    b"(\xb5/\xfd": "compressed by zstd; unpack it",
    b"7z\xbc\xaf": "a 7z archive; unpack it",
    b"\xd0\xcf\x11\xe0": "a workbook of an old Excel; save it as CSV",
    b"\x89HDF": "HDF5; export the data as CSV",
    b"%PDF": "a PDF; export the data as CSV",
    b"\x89PNG": "a picture; give the data behind it",
}
"""How files begin that are no tables of ours, and what to do with them."""
MARKS = {
    b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe\0\0": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
"""Byte order marks; the longer of two that begin alike comes first."""
CONTROL = re.compile(r"[^\t-\r\x1a\x20-\U0010ffff]")
"""What no text holds: the first codes, but for white space and an old mark of the end."""


@dataclass(frozen=True)
class Columns:
    """Named columns of cells, from a file that knows what its columns are."""

    names: list[str]
    cells: list[Sequence[object]]


@dataclass(frozen=True)
class Sheet:
    """Rows of cells, from a workbook; which of them is the header is not known."""

    rows: list[Sequence[object]]


def content(path: Path) -> tuple[bytes, list[Finding]]:
    """The bytes of a file, unfolded if it is compressed by gzip."""
    if path.is_dir():
        refuse(path, "is a folder; give a CSV or Parquet file")
    if not path.exists():
        refuse(path, "does not exist; give the path of a CSV or Parquet file")
    if path.stat().st_size > MOST_BYTES:
        refuse(path, f"is larger than {MOST_BYTES >> 20} MiB; give a part of it")
    found = path.read_bytes()
    findings = []
    if found.startswith(b"\x1f\x8b"):
        found = _unfolded(path, found)
        findings.append(Finding("gzip", "file", "compressed by gzip", "unfolded as it is read"))
    if not found:
        refuse(path, "is empty; give a file with a header and rows")
    for start, what in OTHERS.items():
        if found.startswith(start):
            refuse(path, f"is {what}")
    return found, findings


def _unfolded(path: Path, packed: bytes) -> bytes:
    """All members of a gzip file, or a refusal before they fill the memory."""
    whole = io.BytesIO()
    try:
        while packed:
            unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
            whole.write(unpacker.decompress(packed, MOST_BYTES + 1 - whole.tell()))
            if whole.tell() > MOST_BYTES:
                refuse(path, f"unfolds to more than {MOST_BYTES >> 20} MiB; give a part of it")
            if not unpacker.eof:
                refuse(path, "is a gzip file that was cut off; copy it again")
            packed = unpacker.unused_data.lstrip(b"\0")
    except zlib.error as error:
        refuse(path, f"is a damaged gzip file ({error}); copy it again")
    return whole.getvalue()


# --- files that are no text --------------------------------------------------------------------


def is_parquet(path: Path, found: bytes) -> bool:
    """The content counts, and the name where the content is damaged."""
    return found.startswith(b"PAR1") or path.suffix.lower() in (".parquet", ".pq")


def parquet(path: Path, found: bytes) -> Columns:
    """The columns of a Parquet file."""
    try:
        from pyarrow import parquet as arrow
    except ImportError:
        refuse(path, "is a Parquet file, which needs pyarrow; pip install pyarrow")
    try:
        told = arrow.ParquetFile(io.BytesIO(found)).metadata
        cells = told.num_rows * told.num_columns
        if cells <= MOST_CELLS:
            frame = pd.read_parquet(io.BytesIO(found), engine="pyarrow")
    except Exception as error:  # damage shows as errors of many kinds
        refuse(path, f"is no whole Parquet file ({one_line(error)}); write it again")
    if cells > MOST_CELLS:
        refuse(path, f"holds {cells} values, more than {MOST_CELLS}; give a part of it")
    if frame.index.name is not None:
        frame = frame.reset_index()
    return Columns(
        [str(name) for name in frame.columns],
        [frame.iloc[:, i].tolist() for i in range(frame.shape[1])],
    )


def workbook(path: Path, found: bytes) -> tuple[Sheet, list[Finding]]:
    """The first sheet of an Excel workbook."""
    try:
        with zipfile.ZipFile(io.BytesIO(found)) as archive:
            entries = archive.infolist()
    except DAMAGE as error:
        refuse(path, f"is a damaged zip archive ({one_line(error)}); copy it again")
    if not any(entry.filename == "xl/workbook.xml" for entry in entries):
        refuse(path, "is a zip archive; unpack it")
    if sum(entry.file_size for entry in entries) > MOST_BYTES:
        refuse(path, f"unfolds to more than {MOST_BYTES >> 20} MiB; give a part of it")
    try:
        from openpyxl import load_workbook
    except ImportError:
        refuse(
            path, "is an Excel workbook, which needs openpyxl; pip install it, or export it as CSV"
        )
    try:
        book = load_workbook(io.BytesIO(found), read_only=True, data_only=True)
        names = list(book.sheetnames)
        rows: list[Sequence[object]] = [
            list(row) for row in book.worksheets[0].iter_rows(values_only=True)
        ]
    except Exception as error:  # damage shows as errors of many kinds
        refuse(path, f"is a damaged workbook ({one_line(error)}); save it again")
    findings = [Finding("excel", "file", "an Excel workbook", "read by openpyxl")]
    if len(names) > 1:
        what = f"{len(names)} sheets"
        findings.append(Finding("sheets", "file", what, f"the first, {show(names[0])}, is read"))
    return Sheet(rows), findings


# --- text --------------------------------------------------------------------------------------


def decoded(
    path: Path, found: bytes, encoding: str | None = None
) -> tuple[str, str, list[Finding]]:
    """A file as text with plain line ends, its encoding, and what was unusual."""
    findings = []
    encoding = encoding or sniffed_encoding(found)
    try:
        text = found.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = found.count(b"\n", 0, error.start) + 1
        refuse(path, f", line {line}: no {encoding} text ({error.reason}); save it as UTF-8")
    if control := CONTROL.search(text):
        line = text.count("\n", 0, control.start()) + 1
        what = f"a byte 0x{ord(control[0]):02x}, so this is no text"
        refuse(path, f", line {line}: {what}; export the data as CSV")
    if encoding == "utf-8-sig":
        findings.append(Finding("byte order mark", "file", "a byte order mark", "skipped"))
    elif encoding != "utf-8":
        findings.append(Finding("encoding", "file", f"text in {encoding}", "read as such"))
    if "\r" in text:
        findings.append(Finding("line ends", "file", "Windows line ends", "read as line ends"))
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.endswith("\n"):
        findings.append(
            Finding("last line", "file", "the last line does not end", "check that it is whole")
        )
    return text, encoding, findings


def sniffed_encoding(found: bytes) -> str:
    """By its mark, or what reads it; what no Unicode is comes from Windows, mostly."""
    for mark, encoding in MARKS.items():
        if found.startswith(mark):
            return encoding
    start = found[:4096]
    for offset, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        half = start[offset::2]
        if len(half) > 8 and half.count(0) > 0.8 * len(half):
            return encoding
    for encoding in ("utf-8", "cp1252"):
        try:
            found.decode(encoding)
        except UnicodeDecodeError:
            continue
        return encoding
    return "latin-1"
