"""How many rows there are in a span of time."""

import re
from collections.abc import Sequence

import numpy as np

from causaldq.errors import ConfigError
from causaldq.tables.cells import moments, number

SECONDS = {
    "second": 1.0,
    "minute": 60.0,
    "hour": 3600.0,
    "day": 86400.0,
    "week": 604800.0,
    "s": 1.0,
    "sec": 1.0,
    "min": 60.0,
    "h": 3600.0,
    "d": 86400.0,
}


def rows_in(span: str, column: str, times: Sequence[object] | None, decimal: str = ".") -> float:
    """Rows in a span such as `7 days`; a bare number is a number of rows.

    Parameters
    ----------
    span : str
        A number, or a number and seconds, minutes, hours, days or weeks; also s, min, h, d.
    column : str
        Name of the time column. Times that are numbers are in its unit, if it is called after one.
    times : sequence or None
        Its values, one per row: dates and times as `causaldq inspect` reads them, or numbers.
    decimal : str
        Decimal point or comma of times that are numbers.

    Examples
    --------
    >>> rows_in("500", "", None)
    500.0
    >>> rows_in("7 days", "minute", [0, 1, 2, 3])
    10080.0
    >>> rows_in("1 hour", "stamp", ["2026-01-01 00:00:00", "2026-01-01 00:00:30"])
    120.0
    """
    match = re.fullmatch(r"\s*([0-9.]+(?:e[0-9]+)?)\s*([a-z]*)\s*", span.lower())
    unit = _unit(match[2]) if match else None
    if not match or (match[2] and unit is None):
        raise ConfigError(
            f"--arl0 {span}: give a number of rows, or a span such as '7 days' or '12 hours'"
        )
    try:
        count = float(match[1])
    except ValueError:
        raise ConfigError(f"--arl0 {span}: {match[1]} is no number") from None
    if unit is None:
        return count
    if times is None:
        raise ConfigError(f"--arl0 {span} needs the column of the time: give --time COLUMN")
    return count * unit / _seconds_between(span, column, times, decimal)


def _unit(word: str) -> float | None:
    """Seconds in a unit, by its name or its plural."""
    word = word.strip().lower()
    return SECONDS.get(word, SECONDS.get(word.removesuffix("s")) if len(word) > 2 else None)


def _seconds_between(span: str, column: str, times: Sequence[object], decimal: str) -> float:
    """Median time between rows."""
    found = moments([str(value) for value in times], decimal)
    known = found[np.isfinite(found)]
    between = float(np.median(np.diff(known))) if len(known) > 1 else 0.0
    if between <= 0 or len(known) < len(found) / 2:
        raise ConfigError(
            f"--arl0 {span}: column {column!r} does not tell the time between rows; its values"
            " must be dates and times, or numbers, and grow"
        )
    if all(number(str(value), decimal) is not None for value in times):
        unit = _unit(column)
        if unit is None:
            raise ConfigError(
                f"--arl0 {span}: the unit of the numbers in column {column!r} is not known; call it"
                " second, minute, hour or day, or give --arl0 in rows"
            )
        return between * unit
    return between
