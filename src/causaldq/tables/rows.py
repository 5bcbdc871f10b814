"""Rows that can be used: of normal operation for a fit, and one after the other to be watched."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from causaldq.errors import DataError
from causaldq.tables.cells import has_decimal_comma, is_blank, number
from causaldq.tables.findings import Finding, refuse, show
from causaldq.tables.oddities import goes_one_way, spikes
from causaldq.tables.reader import Table, first_unsound, read_table
from causaldq.tables.settings import TableSettings, row_slice


@dataclass(frozen=True)
class NormalRows:
    """Rows of normal operation as `Monitor.fit` takes them."""

    rows: pd.DataFrame
    """(n, p)."""
    times: list[str] | None
    """Of all rows of the part that was asked for; None without a time column."""
    left_out: list[str]
    """What was left out of them, in words."""
    findings: list[Finding]
    """What was unusual about the file."""
    decimal: str = "."
    """Decimal point or comma of its numbers."""


def normal_rows(path: Path, settings: TableSettings) -> NormalRows:
    """Rows of normal operation from a file, and what was left out of them.

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
    NormalRows

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "plant.csv"
    >>> _ = path.write_text("flow,level\\n1,2\\nBad,3\\n2,1\\n")
    >>> found = normal_rows(path, TableSettings(gaps="leave_out"))
    >>> found.rows.shape, found.left_out
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
    times = None if settings.time is None else [str(x) for x in table[settings.time].cells[part]]
    decimal = table.form.decimal or "."
    return NormalRows(rows[~lacking], times, notes, table.findings, decimal)


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


def spelling(settings: TableSettings) -> Callable[[object], str]:
    """What makes the text of a plain CSV of a cell: a decimal point, nothing where no value is.

    Examples
    --------
    >>> spelt = spelling(TableSettings(decimal=",", missing=["bad"]))
    >>> spelt("1,5"), spelt("Bad")
    ('1.5', '')
    """
    decimal = settings.decimal or "."
    words = {word.strip().lower() for word in settings.missing or ()}
    codes = {code for word in words if (code := number(word, decimal)) is not None}

    def spelt(cell: object) -> str:
        text = " ".join(str(cell).split())
        if is_blank(cell) or text.lower() in words or (codes and number(cell, decimal) in codes):
            return ""
        return text.replace(",", ".") if decimal == "," and has_decimal_comma(cell) else text

    return spelt
