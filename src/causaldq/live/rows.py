"""Lines of a CSV as rows: what is short, doubled, late or no row is told, never swallowed."""

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from causaldq.errors import DataError
from causaldq.tables.cells import has_decimal_comma, seconds
from causaldq.tables.layout import LONGEST_LINE, named, spaced
from causaldq.tables.rows import spelling
from causaldq.tables.settings import TableSettings

CLOCK = 5
"""Rows in order, all before the latest time, after which the clock must have been set back."""


@dataclass(frozen=True)
class Row:
    """Cells by stream; None where the line had none."""

    time: str | None
    values: Mapping[str, str | None]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Skipped:
    """A line that is no new row, and why."""

    reason: str
    """doubled, late, header, unreadable, maintenance."""
    detail: str
    time: str | None = None


@dataclass
class Clock:
    """Whether a row is new, by its time."""

    every: float | None = None
    """Time between rows, if gaps are to be told."""
    last: float | None = None
    refused: float = -math.inf
    behind: int = 0
    """Rows refused in a row, each later than the one before."""
    form: str | None = None
    """Of dates; None for ISO 8601."""

    def judge(self, text: str) -> tuple[str, str]:
        """Why the row is skipped, or nothing; and a note."""
        now = seconds(text, self.form)
        if now is None:
            return "", f"time {text[:40]!r} cannot be read"
        if self.last is None or now > self.last:
            gap = "" if self.last is None or self.every is None else self._gap(now - self.last)
            self.last, self.behind = now, 0
            return "", gap
        if now == self.last:
            return "doubled", "a row of this time was taken already"
        self.behind = self.behind + 1 if now > self.refused or not self.behind else 1
        self.refused = now
        if self.behind < CLOCK:
            return "late", "later rows were taken already"
        self.last, self.behind = now, 0
        return "", f"the clock went back: {CLOCK} rows in order are before the latest"

    def _gap(self, passed: float) -> str:
        missed = round(passed / (self.every or passed)) - 1
        return f"{missed} rows did not come" if missed > 0 else ""


@dataclass
class RowReader:
    """Turns lines into rows; `take` is called with one line after the other."""

    names: Sequence[str]
    """Streams that a header must have."""
    place: str = "rows"
    time: str | None = None
    clock: Clock = field(default_factory=Clock)
    form: TableSettings = field(default_factory=TableSettings)
    """How the lines are written; by default as plain CSV."""
    header: list[str] = field(default_factory=list)
    columns: dict[str, int] = field(default_factory=dict)
    """Place of each name in the header."""
    expects_header: bool = True
    lines: int = 0
    """Of the file at hand, so far."""
    resumed: bool = False
    """Whether the lines at hand go on where others ended, so that a header need not come."""

    def __post_init__(self) -> None:
        self._told = self.form != TableSettings()
        self._spelt = spelling(self.form)
        self._heading = self.form.header or 1
        self._first = self.form.first or self._heading + 1
        if self.form.header == 0:
            raise DataError("the settings name no line with a header, which watching needs")
        if (self.form.encoding or "utf-8").startswith(("utf-16", "utf-32")):
            raise DataError(
                f"lines in {self.form.encoding} cannot be watched; convert the rows to UTF-8, and"
                " take `encoding` out of the settings"
            )

    def begin(self, *, resumed: bool = False) -> None:
        """A new file, or a pipe that goes on, perhaps without its header."""
        self.expects_header, self.lines, self.resumed = True, 0, resumed and bool(self.header)

    def take(self, line: bytes) -> Row | Skipped | None:
        """A row, what is wrong with it, or None for the first header and for blank lines."""
        self.lines += 1
        before_rows = self.lines < self._heading or self._heading < self.lines < self._first
        follows = self.lines == 1 and self.expects_header and bool(self.header)
        if before_rows and not (self.resumed or follows):
            return None
        if len(line) > LONGEST_LINE:
            return Skipped("unreadable", f"a line of more than {LONGEST_LINE} bytes")
        encoding = self.form.encoding or "utf-8-sig"
        text = line.decode(encoding, errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
        separator = self.form.separator or ","
        try:
            parts = csv.reader(spaced([text.rstrip("\r\n")], separator), delimiter=separator)
            cells = [cell.strip().removeprefix("\ufeff") for cell in next(parts, [])]
        except csv.Error as error:
            return Skipped("unreadable", f"no CSV: {error}")
        if not any(cells):
            return None
        if self.resumed and self.expects_header and self._is_row(cells):
            self.expects_header, self.lines = False, max(self.lines, self._first)
            before_rows = False
        elif follows and self._follows(cells):
            self.expects_header, self.lines = False, max(self.lines, self._first)
            return self._row(cells, "a file without a header: its columns are taken as before")
        if before_rows:
            return None
        if self.expects_header or not self.columns.keys().isdisjoint(cells):
            titles = named(cells, [["x"]] * len(cells))[0] if self._told else cells
            if self.expects_header or set(self.names) <= set(titles):
                return self._heads(titles)
        return self._row(cells)

    def _is_row(self, cells: list[str]) -> bool:
        """Whether these can stand under the header that is known, and are none themselves."""
        if set(filter(None, cells)) & set(self.header):
            return False
        under = dict(zip(self.header, cells, strict=False))
        values = (self._spelt(under[name]) for name in self.names if name in under)
        return self._heading == 1 or any(seconds(value) is not None for value in values)

    def _follows(self, cells: list[str]) -> bool:
        """Whether the first line of a later file is a row: as many cells, mostly numbers."""
        if len(cells) != len(self.header) or set(filter(None, cells)) & set(self.header):
            return False
        told = [seconds(self._spelt(cells[self.columns[name]])) is not None for name in self.names]
        return 2 * sum(told) >= len(told)

    def _heads(self, cells: list[str]) -> Skipped | None:
        wanted = (*self.names, *([self.time] if self.time else []))
        lacking = [name for name in wanted if name not in cells]
        doubled = [name for name in wanted if cells.count(name) > 1]
        problem = (
            f"no column {lacking[0]!r}; the monitor was made with it"
            if lacking
            else f"two columns {doubled[0]!r}"
            if doubled
            else ""
        )
        if problem and not self.header:
            hint = "; if it is no plain CSV, give --table (`causaldq inspect FILE --write TOML`)"
            raise DataError(f"{self.place} has {problem}{'' if self._told else hint}")
        if problem:
            return Skipped("header", f"this file has {problem}")
        again = not self.expects_header
        self._use_header(cells)
        self.expects_header = False
        return Skipped("header", "the header came again") if again else None

    def _use_header(self, header: list[str]) -> None:
        self.header = header
        self.columns = {name: header.index(name) for name in header}

    def _row(self, cells: list[str], note: str = "") -> Row | Skipped:
        when = self._cell(cells, self.time) if self.time else None
        if any(cells[len(self.header) :]):
            detail = f"{len(cells)} cells under {len(self.header)} columns"
            return Skipped("unreadable", detail, when)
        notes = [note] if note else []
        if len(cells) < len(self.header):
            notes.append(f"a short row: {len(cells)} of {len(self.header)} cells")
        if self.time:
            told = when or ""
            if self.form.decimal == "," and has_decimal_comma(told):
                told = told.replace(",", ".")
            reason, note = self.clock.judge(told)
            if reason:
                return Skipped(reason, note, when)
            notes += [note] if note else []
        whole = [*cells, *[None] * (len(self.header) - len(cells))]
        values = {name: whole[self.columns[name]] for name in self.names}
        if self._told:
            values = {name: cell and self._spelt(cell) for name, cell in values.items()}
        return Row(when, values, tuple(notes))

    def _cell(self, cells: list[str], name: str) -> str | None:
        place = self.columns[name]
        return cells[place] if place < len(cells) else None

    def snapshot(self) -> dict[str, Any]:
        """What `restore` needs."""
        clock = self.clock
        refused = None if clock.refused == -math.inf else clock.refused
        return {
            "header": self.header,
            "expects_header": self.expects_header,
            "lines": self.lines,
            "clock": [clock.last, refused, clock.behind],
        }

    def restore(self, facts: Mapping[str, Any]) -> None:
        """Go on after the line at which a snapshot was taken."""
        self._use_header([str(name) for name in facts["header"]])
        self.expects_header, self.lines = bool(facts["expects_header"]), int(facts["lines"])
        last, refused, behind = facts["clock"]
        self.clock.last, self.clock.behind = last, behind
        self.clock.refused = -math.inf if refused is None else refused
