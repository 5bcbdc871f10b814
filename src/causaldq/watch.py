"""Rows as text: a monitor on a CSV file or a pipe, a line at a time."""

import csv
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from causaldq.errors import DataError
from causaldq.monitor import Monitor, NamedCause, Reading


def watch(
    monitor: Monitor, lines: Iterable[str], place: str = "rows", time: str | None = None
) -> Iterator[Reading]:
    """Readings for a CSV with a header, one for each row as soon as it has arrived.

    Parameters
    ----------
    monitor : Monitor
        Takes in the rows.
    lines : text file
        Only the columns of the sensors asked for are looked at; an empty cell, or one that is no
        number, is a missing reading.
    place : str
        What the lines are called in messages.
    time : str, optional
        Column to keep as the time of a reading.

    Yields
    ------
    Reading

    Examples
    --------
    >>> import io
    >>> from causaldq import Monitor, example_plant
    >>> rows = example_plant()
    >>> monitor = Monitor.fit(rows[:700], sensors=3, arl0=100, method="greedy")
    >>> text = io.StringIO(rows[700:703].to_csv())
    >>> [reading.time for reading in watch(monitor, text, time="minute")]
    ['700', '701', '702']
    """
    reader = _records(lines, place)
    header = [name.strip() for name in next(reader, [])]
    if header:
        header[0] = header[0].removeprefix("\ufeff")
    for name in (*monitor.names, *([time] if time else [])):
        if name not in header:
            raise DataError(f"{place} has no column {name!r}; the monitor was made with it")
    columns = {name: header.index(name) for name in monitor.names}
    for row in reader:
        if not any(cell.strip() for cell in row):
            continue
        cells = dict(enumerate(row))
        when = cells.get(header.index(time)) if time else None
        yield monitor.update({name: cells.get(columns[name]) for name in monitor.next}, when)


def _records(lines: Iterable[str], place: str) -> Iterator[list[str]]:
    """Lines as cells; a file that is no text is named."""
    reader = csv.reader(lines)
    while True:
        try:
            yield next(reader)
        except StopIteration:
            return
        except (csv.Error, UnicodeDecodeError) as error:
            raise DataError(f"{place}, line {reader.line_num + 1}: no CSV ({error})") from None


def as_json(reading: Reading) -> dict[str, Any]:
    """A reading for machines; numbers that JSON has no word for become null."""
    found = asdict(reading)
    found["statistic"] = reading.statistic if math.isfinite(reading.statistic) else None
    return found


def as_text(reading: Reading) -> str:
    """One line for people, and one more for each suspected cause."""
    strongest = ", ".join(f"{name} {value:.1f}" for name, value in reading.contributions.items())
    when = "" if reading.time is None else f"  {reading.time}"
    alarm = "  ALARM" if reading.alarm else ""
    missing = f"  missing: {' '.join(reading.missing)}" if reading.missing else ""
    line = (
        f"{reading.step:6d}{when}  statistic {reading.statistic:8.2f}  limit {reading.limit:.2f}"
        f"{alarm}{missing}  most: {strongest}  next: {' '.join(reading.next)}"
    )
    return "\n".join([line, *(f"{'':8}cause: {_cause_text(cause)}" for cause in reading.causes)])


def _cause_text(cause: NamedCause) -> str:
    paths = "; ".join(" \N{RIGHTWARDS ARROW} ".join(path) for path in cause.paths)
    return (
        f"{cause.stream} {cause.probability:.0%}, shifted by {cause.shift:+.1f}"
        f" standard deviations{f', by {paths}' if paths else ''}"
    )
