"""Rows that can be used: of normal operation for a fit, and one after the other to be watched."""

import csv
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd

from causaldq.errors import DataError
from causaldq.tables.cells import has_decimal_comma, is_blank, number
from causaldq.tables.findings import refuse, show
from causaldq.tables.layout import named, spaced
from causaldq.tables.oddities import goes_one_way, spikes
from causaldq.tables.reader import Table, first_unsound, read_table
from causaldq.tables.settings import TableSettings, row_slice


def normal_rows(
    path: Path, settings: TableSettings
) -> tuple[pd.DataFrame, list[str], Sequence[object] | None]:
    """Rows of normal operation as `Monitor.fit` takes them, and what was left out of them.

    Only cells of these rows and of the streams need to be sound. A row that lacks a value is left
    out if the settings say so: nothing is made up, and the covariance of the others is not
    biased, while values carried forward would shrink variances and with them the alarm limit.
    The rows around a gap become neighbours, which they were not; this weakens the memory that
    blocks of rows keep, by one pair of rows a gap.

    Parameters
    ----------
    path : Path
        A file that `read_table` reads.
    settings : TableSettings
        How it is read, and what is used of it.

    Returns
    -------
    rows : DataFrame, shape (n, p)
    left_out : list of str
    times : sequence, optional
        Cells of the time column, if there is one, in all normal rows.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "plant.csv"
    >>> _ = path.write_text("flow,level\\n1,2\\nBad,3\\n2,1\\n")
    >>> rows, left_out, _ = normal_rows(path, TableSettings(gaps="leave_out"))
    >>> rows.shape, left_out
    ((2, 2), ['1 of 3 normal rows lack a value and are left out'])
    """
    table = read_table(path, settings)
    streams = _streams(table, settings)
    part = row_slice(path, settings.normal, len(table.places))
    for name in streams:
        gaps = settings.gaps == "leave_out"
        if wrong := first_unsound(table, name, part, settings.missing, gaps=gaps):
            refuse(path, f"{wrong}; `causaldq inspect` lists all that is odd, and how to go on")
    rows = pd.DataFrame({name: table[name].numbers[part] for name in streams})
    rows.index += part.start
    notes = []
    if settings.spikes is not None:
        high = np.column_stack([spikes(rows[name].to_numpy(), settings.spikes) for name in streams])
        rows = rows.mask(high)
        if high.any():
            notes.append(f"{int(high.sum())} spikes in normal rows are no values")
    lacking = rows.isna().any(axis=1)
    if lacking.any():
        notes.append(
            f"{int(lacking.sum())} of {len(rows)} normal rows lack a value and are left out"
        )
    times = None if settings.time is None else table[settings.time].cells[part]
    return rows[~lacking], notes, times


def _streams(table: Table, settings: TableSettings) -> list[str]:
    """The columns to watch. A column that only rises is none unless the settings name it."""
    for name in (settings.time, *(settings.streams or ())):
        if name is not None and name not in table.names:
            there = ", ".join(table.names)
            raise DataError(f"{table.path} has no column {name!r}; there are {there}")
    if settings.streams is not None:
        return [name for name in table.names if name in settings.streams]
    streams = [name for name in table.names if name != settings.time]
    for name in streams:
        if goes_one_way(table[name].numbers):
            refuse(
                table.path,
                f", column {show(name)}: goes one way only; is it a clock? Give --time, or settings"
                " that name it among the streams (`causaldq inspect --write`)",
            )
    return streams


# --- to be watched -----------------------------------------------------------------------------


@contextmanager
def opened(file: str, settings: TableSettings | None) -> Iterator[Iterable[str]]:
    """The lines of a CSV, or of standard input for -; made plain if there are settings."""
    if settings is not None:
        yield plain_lines(sys.stdin, settings) if file == "-" else plain_file(Path(file), settings)
    elif file == "-":
        yield sys.stdin
    else:
        with Path(file).open(encoding="utf-8-sig") as lines:
            yield lines


def plain_file(path: Path, settings: TableSettings) -> Iterator[str]:
    """The lines of a plain CSV with the cells of a file."""
    table = read_table(path, settings)
    rows = zip(*(column.cells for column in table.columns), strict=True)
    return _plain(table.names, rows, table.form)


def plain_lines(lines: Iterable[str], settings: TableSettings) -> Iterator[str]:
    """The lines of a plain CSV, one as soon as each line of a text has come.

    Examples
    --------
    >>> settings = TableSettings(separator=";", decimal=",", header=2, first=3, missing=["bad"])
    >>> list(plain_lines(["Plant 4\\n", "flow;level\\n", "1,5;Bad\\n"], settings))
    ['"flow","level"\\n', '"1.5",""\\n']
    """
    separator = settings.separator or ","
    header = 1 if settings.header is None else settings.header
    first = settings.first or header + 1
    waiting = iter(spaced(lines, separator))
    heading = [next(waiting, "") for _ in range(first - 1)]
    reader = csv.reader(waiting, delimiter=separator)
    names = next(csv.reader(heading[header - 1 : header], delimiter=separator), [])
    if header == 0 or not names:
        raise DataError("the settings name no line with a header, which watching needs")
    told = [name.strip().removeprefix("\ufeff") for name in names]
    return _plain(named(told, [["x"]] * len(told))[0], reader, settings)


def _plain(
    names: Sequence[str], rows: Iterable[Sequence[object]], settings: TableSettings
) -> Iterator[str]:
    decimal = settings.decimal or "."
    words = {word.strip().lower() for word in settings.missing or ()}
    codes = {code for word in words if (code := number(word, decimal)) is not None}

    def spelt(cell: object) -> str:
        text = " ".join(str(cell).split())
        if is_blank(cell) or text.lower() in words or number(cell, decimal) in codes:
            return ""
        return text.replace(",", ".") if decimal == "," and has_decimal_comma(cell) else text

    def line(cells: Iterable[str]) -> str:
        return ",".join('"' + cell.replace('"', '""') + '"' for cell in cells) + "\n"

    yield line(names)
    for row in rows:
        yield line(map(spelt, row))
