"""The one reader of plants' files."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from causaldq.tables import content
from causaldq.tables.cells import Column, column, has_decimal_comma, is_blank, number
from causaldq.tables.findings import Finding, refuse, show
from causaldq.tables.layout import (
    SEPARATORS,
    Layout,
    laid_out,
    named,
    records,
    sniffed_decimal,
    sniffed_separator,
    text_lines,
)
from causaldq.tables.settings import TableSettings


@dataclass(frozen=True)
class Table:
    """A file as columns of cells; each row knows where it is."""

    path: Path
    columns: list[Column]
    places: Sequence[str]
    """(n,), for messages."""
    findings: list[Finding]
    """What was unusual about the file, and was dealt with as it was read."""
    form: TableSettings
    """How it was read: what was given, and what was found out."""

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    def __getitem__(self, name: str) -> Column:
        return self.columns[self.names.index(name)]


def read_table(path: Path, settings: TableSettings | None = None) -> Table:
    """Read a CSV, Parquet or Excel file, compressed by gzip or not.

    Whatever cannot be read raises one DataError that names the place and the remedy. Cells need
    not be sound: those that are no numbers are NaN in their column's numbers.

    Parameters
    ----------
    path : Path
        The file.
    settings : TableSettings, optional
        What is known about it; the rest is found out.

    Returns
    -------
    Table

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "plant.csv"
    >>> _ = path.write_text("flow;level\\n1,5;2\\nBad;3\\n")
    >>> table = read_table(path)
    >>> [finding.kind for finding in table.findings]
    ['separator', 'decimal comma']
    >>> table["flow"].numbers.tolist(), dict(table["flow"].texts)
    ([1.5, nan], {'Bad': 1})
    """
    settings = settings or TableSettings()
    try:
        found, findings = content.content(path)
    except OSError as error:
        refuse(path, f"cannot be read: {error.strerror or error}")
    if content.is_parquet(path, found):
        held = content.parquet(path, found)
        rows = len(held.cells[0]) if held.cells else 0
        if not rows:
            refuse(path, "has no rows; give rows of normal operation")
        findings.append(Finding("parquet", "file", "a Parquet file", "read by pyarrow"))
        names, cells, renamed = named(held.names, held.cells)
        layout = Layout(names, cells, list(range(1, rows + 1)), 0, renamed)
        form, place = settings, "row"
    else:
        layout, form, unusual = _from_records(path, found, settings)
        findings += unusual
        place = "line"
    decimal = form.decimal or "."
    if decimal == ",":
        findings.append(Finding("decimal comma", "file", "decimal commas", "read as points"))
    columns = [
        column(name, cells, decimal, settings.missing or ())
        for name, cells in zip(layout.names, layout.columns, strict=True)
    ]
    places = [f"{place} {line}" for line in layout.lines]
    return Table(path, columns, places, [*findings, *layout.findings], form)


def _from_records(
    path: Path, found: bytes, settings: TableSettings
) -> tuple[Layout, TableSettings, list[Finding]]:
    """The layout of a text or a workbook, and how it was read."""
    told: dict[str, object] = {}
    if found.startswith(b"PK\x03\x04"):
        sheet, findings = content.workbook(path, found)
        rows, starts = sheet.rows, list(range(1, len(sheet.rows) + 1))
    else:
        text, told["encoding"], findings = content.decoded(path, found, settings.encoding)
        lines = text_lines(path, text)
        separator = settings.separator or sniffed_separator(lines)
        told["separator"] = separator
        if separator != ",":
            what = f"cells are separated by {SEPARATORS[separator]}"
            findings.append(Finding("separator", "file", what, "read so"))
        rows, starts = records(path, lines, separator)
    told["decimal"] = settings.decimal or sniffed_decimal(rows)
    layout = laid_out(path, rows, starts, str(told["decimal"]), settings.header, settings.first)
    told |= {"header": layout.header, "first": layout.lines[0]}
    return layout, settings.model_copy(update=told), findings


def first_unsound(
    table: Table,
    name: str,
    part: slice,
    missing: Sequence[str] | None = (),
    *,
    gaps: bool = False,
) -> str:
    """What is wrong with the first cell of a column, in a part of the rows, that is no number.

    Empty if nothing is. Where there may be gaps, cells without a value are no fault, nor are those
    that `missing` names; None names all texts.
    """
    found = table[name]
    words = {word.strip().lower() for word in missing or ()}
    for row in (np.flatnonzero(~found.sound[part]) + part.start).tolist():
        cell, infinite = found.cells[row], bool(found.infinite[row])
        place = f", {table.places[row]}, column {show(name)}: "
        is_code = not infinite and number(cell, table.form.decimal or ".") is not None
        if is_blank(cell) or is_code or str(cell).strip().lower() in words:
            if not gaps:
                return f"{place}no value; fill it in, or remove the row or the column"
        elif infinite:
            return f"{place}{show(cell)} is too large or not finite; rescale or remove it"
        elif not gaps or missing is not None:
            if has_decimal_comma(cell):
                return f"{place}{show(cell)} has a decimal comma; write decimal points"
            return f"{place}{show(cell)} is no number; correct it, or drop the column"
    return ""
