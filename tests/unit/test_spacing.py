"""Rows in a span of time."""

import pytest

from causaldq.errors import ConfigError
from causaldq.spacing import rows_in

DATES = [f"2026-03-01T00:{k:02d}:00" for k in range(0, 60, 5)]


@pytest.mark.parametrize(
    ("span", "column", "times", "rows"),
    [
        ("500", "", None, 500.0),
        ("1e3", "minute", [1, 2], 1000.0),
        ("7 days", "minute", list(range(50)), 7 * 24 * 60.0),
        ("7 days", "minutes", [0, 10, 20], 7 * 24 * 6.0),
        ("1 week", "stamp", DATES, 7 * 24 * 12.0),
        ("90 Minutes", "stamp", DATES, 18.0),
        ("0.5 hours", "second", [0.0, 0.5, 1.0], 3600.0),
        ("3600 s", "second", [0, 10, 20], 360.0),
        ("3600 seconds", "s", [0, 10, 20], 360.0),
        ("90 min", "min", [0, 3, 6], 30.0),
        ("2 mins", "minute", [0, 1], 2.0),
        ("8 h", "minute", [0, 1, 2], 480.0),
        ("1 d", "hours", [0, 1, 2], 24.0),
        ("2 hours", "stamp", [f"{d:02d}.01.2026 00:00" for d in range(1, 20)], 2 / 24),
        ("1 day", "stamp", [f"01/13/2026 {h:02d}:00" for h in range(20)], 24.0),
        ("1 day", "stamp", [*DATES[:6], "gone", *DATES[6:]], 24 * 12.0),
    ],
)
def test_a_span_is_a_number_of_rows(span: str, column: str, times: list, rows: float) -> None:  # type: ignore[type-arg]
    assert rows_in(span, column, times) == pytest.approx(rows)


@pytest.mark.parametrize(
    ("span", "column", "times", "words"),
    [
        ("soon", "", None, "give a number of rows"),
        ("7 moons", "minute", [1, 2], "give a number of rows"),
        ("7 hs", "minute", [1, 2], "give a number of rows"),
        ("7 ss", "minute", [1, 2], "give a number of rows"),
        ("-5", "", None, "give a number of rows"),
        ("1.2.3 days", "minute", [1, 2], "no number"),
        ("7 days", "", None, "--time"),
        ("7 days", "t", [1, 2, 3], "unit .* not known"),
        ("7 days", "minute", [3, 2, 1], "does not tell"),
        ("7 days", "minute", [1], "does not tell"),
        ("7 days", "stamp", ["a", "b", "c", DATES[0], DATES[1]], "does not tell"),
    ],
)
def test_a_span_that_is_none_is_refused(span: str, column: str, times: list, words: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(ConfigError, match=words):
        rows_in(span, column, times)
