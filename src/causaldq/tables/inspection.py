"""All that is wrong or odd in a plant's file, and settings that deal with it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from causaldq.errors import DataError
from causaldq.tables import oddities
from causaldq.tables.cells import Column, column, format_of, is_blank, is_date, moments
from causaldq.tables.findings import Finding, show, some
from causaldq.tables.reader import Table, read_table
from causaldq.tables.settings import TableSettings, row_slice
from causaldq.types import Floats

SPARSE = 0.2
"""A column that lacks more of its values would cost more rows than it is worth."""
ROWS_A_STREAM = 10


@dataclass(frozen=True)
class Inspection:
    """What was found in a file, and the settings that deal with it."""

    path: Path
    rows: int
    columns: int
    findings: list[Finding]
    settings: TableSettings | None
    """None if fewer than two streams are left."""


class _Desk:
    """Findings of one inspection, and the columns that are left to be streams."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.findings: list[Finding] = []
        self.left = {column.name: column for column in columns}

    def add(self, kind: str, where: str, what: str, done: str) -> None:
        self.findings.append(Finding(kind, where, what, done))

    def leave_out(self, kind: str, name: str, what: str, done: str = "left out") -> None:
        self.add(kind, f"column {show(name)}", what, done)
        del self.left[name]


def inspect(path: Path, normal: str | None = None, time: str | None = None) -> Inspection:
    """Find all that is wrong or odd in a file.

    Parameters
    ----------
    path : Path
        CSV, Parquet or Excel, compressed by gzip or not.
    normal : str, optional
        Rows of normal operation, as '1:700'; all by default. Only their cells are judged.
    time : str, optional
        Column that is the time; by default one of dates, or one that rises all the time.

    Returns
    -------
    Inspection

    Examples
    --------
    >>> import tempfile
    >>> from causaldq import example_plant
    >>> path = Path(tempfile.mkdtemp()) / "plant.csv"
    >>> example_plant().to_csv(path)
    >>> found = inspect(path, normal="1:700")
    >>> [(finding.kind, finding.where) for finding in found.findings]
    [('clock', "column 'minute'")]
    >>> found.settings.time, len(found.settings.streams)
    ('minute', 8)
    """
    table = read_table(path)
    if time is not None and time not in table.names:
        raise DataError(f"{path} has no column {time!r}; there are {', '.join(table.names)}")
    part = row_slice(path, normal, len(table.places))
    decimal = table.form.decimal or "."
    columns = table.columns
    if part != slice(0, len(table.places)):
        columns = [column(c.name, c.cells[part], decimal) for c in columns]
    desk = _Desk(columns)
    time = _time(table, desk, time)
    missing = _cells(desk, decimal)
    _useless(desk)
    _one_way(table, desk)
    _copies(desk)
    spiky = _shapes(desk, table.places[part])
    gaps = _gaps(desk, part)
    streams = list(desk.left)
    enough = len(streams) >= 2
    if not enough:
        what = f"{len(streams)} columns are left to be streams, two are the least"
        desk.add("no streams", "file", what, "no settings can be given")
    settings = None if not enough else table.form.model_copy(
        update={
            "time": time,
            "time_format": None if time is None else format_of(table[time].cells, decimal),
            "streams": streams,
            "missing": missing,
            "gaps": "leave_out" if gaps else "refuse",
            "spikes": oddities.SPIKE if spiky else None,
            "normal": normal or None,
        }
    )  # fmt: skip
    findings = [*table.findings, *desk.findings]
    return Inspection(path, len(table.places), len(table.columns), findings, settings)


# --- time --------------------------------------------------------------------------------------


def _time(table: Table, desk: _Desk, given: str | None) -> str | None:
    """The column that is the time, if any; columns of dates and clocks are no streams."""
    dates = [c.name for c in table.columns if c.is_text and _is_dates(c.cells)]
    clocks = [
        c.name
        for c in table.columns
        if not c.is_text and oddities.goes_one_way(c.numbers) and oddities.is_clock(c.numbers)
    ]
    time = given or next(iter((*dates, *clocks)), None)
    for name in dates:
        done = "taken as the time" if name == time else "left out"
        desk.leave_out("dates", name, f"dates such as {show(_first(table[name].cells))}", done)
    if time is None:
        return None
    if time in clocks and given is None:
        done = "taken as the time; if it is a stream, add it to streams"
        desk.leave_out("clock", time, "goes one way only: is it the time?", done)
    desk.left.pop(time, None)
    _steps(table, desk, time)
    return time


def _first(cells: Sequence[object]) -> object:
    return next((str(cell) for cell in cells if not is_blank(cell)), "")


def _is_dates(cells: Sequence[object]) -> bool:
    """Whether most of the first cells that hold anything are dates."""
    sample = [cell for cell in cells if not is_blank(cell)][:50]
    return bool(sample) and 2 * sum(map(is_date, sample)) > len(sample)


def _steps(table: Table, desk: _Desk, name: str) -> None:
    """Times that cannot be read, stand still, run back, or go on by another step than usual."""
    times = moments(table[name].cells, table.form.decimal or ".")
    where = f"column {show(name)}"
    known = np.isfinite(times)
    if not known.all():
        cell = table[name].cells[int(np.argmin(known))]
        what = f"cells that are no times: {int((~known).sum())}, the first {show(cell)}"
        desk.add("no time", where, what, "rows are kept in the file's order")
    places = [place for place, told in zip(table.places, known, strict=True) if told]
    times = times[known]
    if oddities.usual_step(times) < 0:
        desk.add("falling times", where, "times run back throughout", "kept: turn the file round")
        return
    back, other = oddities.uneven(times)
    if back.any():
        first = places[int(np.argmax(back)) + 1]
        what = f"steps that stand still or run back: {int(back.sum())}, first at {first}"
        desk.add("falling times", where, what, "kept in the file's order: sort, drop repeated rows")
    if other.any():
        first, usual = places[int(np.argmax(other)) + 1], oddities.usual_step(times)
        what = f"steps other than the usual {usual:g}: {int(other.sum())}, first at {first}"
        desk.add("uneven times", where, what, "kept: rows are taken as evenly spaced")


# --- cells -------------------------------------------------------------------------------------


def _cells(desk: _Desk, decimal: str) -> list[str]:
    """Columns of text are left out; texts and codes among numbers mean no value."""
    missing: Counter[str] = Counter()
    for name, found in list(desk.left.items()):
        where = f"column {show(name)}"
        if found.is_text:
            words = some([show(word) for word, _ in found.texts.most_common()])
            desk.leave_out("text column", name, f"text: {words}")
            continue
        if found.texts:
            words = some([f"{show(word)} ({count})" for word, count in found.texts.most_common()])
            desk.add("text", where, f"text among numbers: {words}", "no value")
            missing += found.texts
        for code in oddities.codes(found.numbers):
            count = int((found.numbers == code).sum())
            what = f"{code:g} {count} times, far from all else: a logger's word for no value?"
            desk.add("code", where, what, "no value")
            missing[f"{code:g}".replace(".", decimal)] += count
        if found.infinite.any():
            large = Counter(
                str(found.cells[row]).strip() for row in np.flatnonzero(found.infinite).tolist()
            )
            words = some([f"{show(word)} ({count})" for word, count in large.most_common()])
            desk.add("infinite", where, f"too large or not finite: {words}", "no value")
            missing += large
    no_values = list(missing)
    if no_values:  # to read all cells again takes time
        again = ((name, c.cells) for name, c in desk.left.items())
        desk.left = {name: column(name, cells, decimal, no_values) for name, cells in again}
    return no_values


def _useless(desk: _Desk) -> None:
    """Columns without values, or with always the same."""
    for name, found in list(desk.left.items()):
        known = found.numbers[found.sound]
        lost = len(found.numbers) - len(known)
        share = lost / len(found.numbers)
        if lost:
            where, what = f"column {show(name)}", f"cells without a value: {lost} ({share:.1%})"
            if share > SPARSE:
                desk.leave_out("missing", name, what)
                continue
            desk.add("missing", where, what, "rows that lack a value are left out")
        if oddities.is_constant(known):
            desk.leave_out("constant", name, f"always {known[0]:g}")
        elif (usual := oddities.usual_share(known)) >= oddities.NEARLY:
            what = f"one value in {usual:.1%} of rows: its scale would rest on the others"
            desk.leave_out("nearly constant", name, what)


def _one_way(table: Table, desk: _Desk) -> None:
    for name in list(desk.left):
        if oddities.goes_one_way(table[name].numbers):
            done = "left out; if it is a stream, add it to streams"
            desk.leave_out("one way", name, "goes one way only: is it a counter or a label?", done)


def _copies(desk: _Desk) -> None:
    names = list(desk.left)
    if not names:
        return
    rows = np.column_stack([_filled(desk.left[name].numbers) for name in names])
    for i, j in oddities.alike(rows):
        if names[i] not in desk.left or names[j] not in desk.left:
            continue
        first, second = desk.left[names[i]].numbers, desk.left[names[j]].numbers
        if np.array_equal(first, second, equal_nan=True):
            desk.leave_out("duplicate", names[j], f"the same as {show(names[i])}")
        else:
            what = f"the same as {show(names[i])}, up to unit, origin and rounding"
            desk.leave_out("rescaled", names[j], what)


def _filled(values: Floats) -> Floats:
    """Values (n,) with their mean where there is none."""
    known = np.isfinite(values)
    return np.where(known, values, values[known].mean())


# --- streams -----------------------------------------------------------------------------------


def _shapes(desk: _Desk, places: Sequence[str]) -> bool:
    """Spikes, held and stuck values, memory and drift; whether there are spikes."""
    spiky = False
    held, remembering = [], []
    for name, found in desk.left.items():
        values, where = found.numbers, f"column {show(name)}"
        high = oddities.spikes(values)
        if high.any():
            spiky = True
            first = int(np.argmax(high))
            what = f"spikes: {int(high.sum())}, the first {values[first]:g} at {places[first]}"
            done = "no value in normal rows; when watched, such a cell will look like a fault"
            desk.add("spikes", where, what, done)
        values = np.where(high, np.nan, values)
        start, length = oddities.longest_run(values)
        share = oddities.repeats(values)
        if share > oddities.HELD:
            held.append(f"{show(name)} {share:.0%}")
        elif length >= oddities.STUCK:
            what = f"the same value for {length} rows, from {places[start]} on"
            desk.add("stuck", where, what, "kept: choose other normal rows if the sensor failed")
        if (strength := oddities.autocorrelation(values)) > oddities.REMEMBERS:
            remembering.append(f"{show(name)} {strength:.2f}")
        if apart := oddities.drift(values):
            what = f"the second half's mean is {apart:+.1f} standard deviations from the first's"
            desk.add("drift", where, what, "kept: false alarms will be more frequent than promised")
    if held:
        what = f"values that repeat the one before: {some(held)}"
        desk.add("held", "streams", what, "kept: a repeat is taken as a new reading")
    if remembering:
        what = f"neighbouring rows are alike, autocorrelation: {some(remembering)}"
        done = "kept: alarm limits come from blocks of rows"
        desk.add("autocorrelation", "streams", what, done)
    return spiky


def _gaps(desk: _Desk, part: slice) -> bool:
    """Count rows that lack a value, and tell if too few are left."""
    rows = part.stop - part.start
    if not desk.left:
        return False
    lost = [~found.sound | oddities.spikes(found.numbers) for found in desk.left.values()]
    gaps = int(np.any(lost, axis=0).sum())
    if gaps:
        what = f"{gaps} of {rows} lack a value in some stream, or hold a spike"
        desk.add("gaps", "normal rows", what, "left out: nothing is made up in their place")
    if rows - gaps < ROWS_A_STREAM * len(desk.left):
        what = f"{rows - gaps} whole rows for {len(desk.left)} streams"
        desk.add("few rows", "normal rows", what, "kept: the covariance is shrunk")
    return bool(gaps)
