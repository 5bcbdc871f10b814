"""From text to records, and from records to a header and rows."""

import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from causaldq.tables.cells import has_decimal_comma, is_blank, is_date, number
from causaldq.tables.findings import Finding, refuse, show, some

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
LONGEST_LINE = 1 << 20
"""Characters or bytes. No row is longer: a file without line ends is something else."""
SAMPLE = 200
"""Records that tell how a file is laid out."""
Record = Sequence[object]


@dataclass(frozen=True)
class Layout:
    """A file as named columns."""

    names: list[str]
    columns: list[Sequence[object]]
    lines: list[int]
    """Where each row is in the file."""
    header: int
    """Line of the names; 0 if there is none."""
    findings: list[Finding]


# --- text to records ---------------------------------------------------------------------------


def spaced(lines: Iterable[str], separator: str) -> Iterable[str]:
    """Lines for a csv.reader; several spaces are one separator."""
    return (" ".join(line.split()) + "\n" for line in lines) if separator == " " else lines


def sniffed_separator(lines: Sequence[str]) -> str:
    """The separator by which most lines have the same number of cells, at least two.

    Spaces stand within dates and names, so that they count only where nothing else does.
    """
    sample = list(islice((line for line in lines if line.strip()), SAMPLE))
    agreed = {separator: _agreement(sample, separator) for separator in SEPARATORS}
    others = [separator for separator in SEPARATORS if separator != " "]
    best = max(others, key=lambda separator: agreed[separator])
    return " " if agreed[best][0] < 0.5 and agreed[" "][0] >= 0.5 else best


def _agreement(lines: Sequence[str], separator: str) -> tuple[float, int]:
    """Share of lines with the usual number of cells, and that number."""
    widths: Counter[int] = Counter()
    for line in lines:
        try:
            widths[len(next(csv.reader(spaced([line], separator), delimiter=separator)))] += 1
        except (csv.Error, StopIteration):
            continue
    several = {width: count for width, count in widths.items() if width > 1}
    if not several:
        return 0.0, 1
    width = max(several, key=lambda width: (several[width], width))
    return several[width] / len(lines), width


def text_lines(path: Path, text: str) -> list[str]:
    """The lines of a text up to the last that holds anything."""
    lines = text.split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        refuse(path, "holds empty lines only; give a file with a header and rows")
    for place, line in enumerate(lines, 1):
        if len(line) > LONGEST_LINE:
            what = f"{len(line)} characters, and no row of a table is so long"
            refuse(path, f", line {place}: {what}; export the data as CSV")
    return lines


def records(path: Path, lines: Sequence[str], separator: str) -> tuple[list[Record], list[int]]:
    """The records of some lines, and the line on which each starts."""
    found: list[Record] = []
    starts: list[int] = []
    ended = (f"{line}\n" for line in lines)
    reader = csv.reader(spaced(ended, separator), delimiter=separator, strict=True)
    before = 0
    try:
        for record in reader:
            found.append(record)
            starts.append(before + 1)
            before = reader.line_num
    except csv.Error as error:
        refuse(path, f", line {before + 1}: {error}; check the quotation marks")
    return found, starts


def sniffed_decimal(found: Sequence[Record]) -> str:
    """A comma if more cells have one than have a point."""
    cells = [cell for record in found[:SAMPLE] for cell in record if isinstance(cell, str)]
    commas = sum(has_decimal_comma(cell) for cell in cells)
    points = sum("." in cell and number(cell) is not None for cell in cells)
    return "," if commas > points else "."


# --- records to named columns ------------------------------------------------------------------


def laid_out(
    path: Path,
    found: Sequence[Record],
    starts: Sequence[int],
    decimal: str,
    header: int | None = None,
    first: int | None = None,
) -> Layout:
    """Tell titles, names, units and rows apart; lines that are given are taken as given."""
    filled = [i for i, record in enumerate(found) if not _is_empty(record)]
    if not filled:
        refuse(path, "holds empty lines only; give a file with a header and rows")
    width = _width([found[i] for i in filled[:SAMPLE]])
    rows_from = (
        _first_row([(i, found[i]) for i in filled[:SAMPLE]], width, decimal)
        if first is None
        else next((i for i in filled if starts[i] >= first), len(found))
    )
    numbered = header is None and first is None and rows_from == filled[0]
    if numbered and (numbered := _is_numbered([found[i] for i in filled[:SAMPLE]], width, decimal)):
        rows_from = filled[1]
    before = [i for i in filled if i < rows_from]
    if header is None:
        names_at = _header(found, before, width)
    else:
        names_at = next((i for i in before if starts[i] == header), None)
        if header and names_at is None:
            refuse(path, f"has no names on line {header}, which the settings call the header")
    findings = _heading(found, starts, before, names_at)
    if numbered:
        what = "whole numbers above rows that have fractions"
        place = f"line {starts[filled[0]]}"
        findings.append(Finding("numeric header", place, what, "taken as names"))
    rows, lines, odd = _rows(path, found, starts, rows_from, width)
    columns: list[Sequence[object]] = list(zip(*rows, strict=True))
    names = [] if names_at is None else [str(cell or "").strip() for cell in found[names_at]]
    if len(names) < width:
        # Either every row ends with a separator, or the first column, an index, has no name.
        ends_empty = all(is_blank(cell) for cell in columns[-1])
        missing = [""] * (width - len(names))
        names = [*names, *missing] if ends_empty or not names else [*missing, *names]
    names, columns, renamed = named(names[:width], columns)
    where = 0 if names_at is None else starts[names_at]
    return Layout(names, columns, lines, where, [*findings, *odd, *renamed])


def _is_empty(record: Record) -> bool:
    return all(cell is None or (isinstance(cell, str) and not cell.strip()) for cell in record)


def _width(sample: Sequence[Record]) -> int:
    """The usual number of cells in a record; the larger of two that are as usual."""
    widths = Counter(len(record) for record in sample)
    return max(widths, key=lambda width: (widths[width], width))


def _first_row(filled: Sequence[tuple[int, Record]], width: int, decimal: str) -> int:
    """The first record with a number, or a date, where such things stand later on.

    Where no column does, the record after the first.
    """
    whole = [record for _, record in filled if len(record) == width]
    later = whole[len(whole) // 2 :]

    def told(cell: object) -> bool:
        return not is_blank(cell) and (number(cell, decimal) is not None or is_date(cell))

    columns = [
        column
        for column in range(width)
        if 2 * sum(told(record[column]) for record in later)
        >= max(1, sum(not is_blank(record[column]) for record in later))
    ]
    for i, record in filled:
        if len(record) == width and any(told(record[column]) for column in columns):
            return i
        if len(record) > 1 and all(map(told, record)):
            return i  # a row of another width
    return filled[0][0] + 1


def _is_numbered(sample: Sequence[Record], width: int, decimal: str) -> bool:
    """Whether the first of some records names columns by number.

    They are different whole numbers above columns that have fractions in most rows, but for one
    column, which may be the time and may have any name.
    """
    head, rows = sample[0], [record for record in sample[1:] if len(record) == width]
    tags = [str(cell or "").strip() for cell in head]
    if len(tags) != width or len(set(tags)) < width or not rows:
        return False
    whole = [
        2 * sum((number(row[i], decimal) or 0.0) % 1 != 0 for row in rows) <= len(rows)
        for i in range(width)
    ]
    named = [tag.isascii() and tag.isdecimal() for tag in tags]
    free = [
        w and (number(tag) is None and not is_date(tag)) for w, tag in zip(whole, tags, strict=True)
    ]
    return sum(whole) <= 1 < sum(named) and all(n or f for n, f in zip(named, free, strict=True))


def _header(found: Sequence[Record], before: Sequence[int], width: int) -> int | None:
    """Of the records before the rows, the first that fills most columns."""
    filled = {i: sum(not is_blank(cell) for cell in found[i]) for i in before}
    able = [i for i in before if len(found[i]) >= max(1, width - 1) and 2 * filled[i] >= width]
    return max(able, key=lambda i: filled[i], default=None)


def _heading(
    found: Sequence[Record], starts: Sequence[int], before: Sequence[int], names_at: int | None
) -> list[Finding]:
    findings = []
    for i in before:
        shown = some([show(cell) for cell in found[i] if not is_blank(cell)])
        if names_at is None or i < names_at:
            findings.append(Finding("title", f"line {starts[i]}", f"a title: {shown}", "skipped"))
        elif i > names_at:
            findings.append(Finding("units", f"line {starts[i]}", f"units: {shown}", "skipped"))
    if names_at is None:
        what = "numbers where names are expected"
        findings.append(Finding("no header", "header", what, "columns are named by their place"))
    return findings


def _rows(
    path: Path, found: Sequence[Record], starts: Sequence[int], rows_from: int, width: int
) -> tuple[list[Record], list[int], list[Finding]]:
    """Rows of one width; of a row that has another, no cell is believed."""
    rows: list[Record] = []
    lines: list[int] = []
    ragged: list[int] = []
    empty: list[int] = []
    for record, line in zip(found[rows_from:], starts[rows_from:], strict=True):
        if _is_empty(record) and len(record) < max(2, width):
            empty.append(line)
            continue
        fits = len(record) >= width and _is_empty(record[width:])
        rows.append(record[:width] if fits else [""] * width)
        lines.append(line)
        if not fits:
            ragged.append(line)
    if not rows:
        refuse(path, "has a header and no rows; give rows of normal operation")
    findings = []
    if empty:
        where = f"line {empty[0]}"
        findings.append(Finding("empty lines", where, f"between rows: {len(empty)}", "skipped"))
    if ragged and ragged[-1] == lines[-1] and len(found[-1]) < width:
        what = f"{len(found[-1])} fields where the others have {width}: the file is cut off"
        findings.append(Finding("cut off", f"line {ragged.pop()}", what, "no values are taken"))
    if ragged:
        what = f"rows with more or fewer than {width} fields: {len(ragged)}"
        where = some([f"line {line}" for line in ragged])
        findings.append(Finding("ragged", where, what, "no values are taken from them"))
    return rows, lines, findings


def named(
    names: list[str], columns: list[Sequence[object]]
) -> tuple[list[str], list[Sequence[object]], list[Finding]]:
    """Names that differ, one for each column that holds anything or has a name."""
    kept = [i for i, name in enumerate(names) if name or not all(map(is_blank, columns[i]))]
    findings = []
    for i in range(len(names)):
        if i not in kept:
            what = "neither a name nor a value"
            findings.append(Finding("empty column", f"column {i + 1}", what, "left out"))
    new: list[str] = []
    for i in kept:
        name = given = names[i] or f"column {i + 1}"
        count = 1
        while name in new or (not names[i] and name in names):
            count += 1
            name = f"{given} ({count})"
        if names[i] and count > 1:
            where = f"columns {names.index(given) + 1} and {i + 1}"
            done = f"the second is called {show(name)}"
            findings.append(
                Finding("duplicate name", where, f"both are called {show(given)}", done)
            )
        elif not names[i] and any(names):
            done = f"called {show(name)}"
            findings.append(Finding("no name", f"column {i + 1}", "has no name", done))
        new.append(name)
    return new, [columns[i] for i in kept], findings
