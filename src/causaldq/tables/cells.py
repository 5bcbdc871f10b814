"""One cell: a number, no value, a moment, or text."""

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import islice

import numpy as np
import pandas as pd

from causaldq.types import Bools, Floats

NO_VALUE = {"", "na", "n/a", "nan", "null", "none", "-", "?", "#n/a", "."}
LARGEST = 1e100
"""Beyond it squares and products of values would overflow."""
COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")
FORMATS = [
    f"{day}{moment}"
    for day in ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%b-%Y", "%d-%b-%y")
    for moment in (" %H:%M:%S", " %H:%M", " %I:%M:%S %p", "")
]
"""Dates as loggers and spreadsheets print them, besides those of ISO 8601."""


def number(cell: object, decimal: str = ".") -> float | None:
    """A cell as a number; None if it is text. Python's underscores are text here."""
    if isinstance(cell, str):
        if "_" in cell or not cell.isascii():
            return None
        if decimal == ",":
            if "." in cell:
                return None
            cell = cell.replace(",", ".")
        try:
            return float(cell)
        except ValueError:
            return None
    if isinstance(cell, bool | int | float | Decimal):
        try:
            return float(cell)
        except (OverflowError, ValueError):
            return math.inf
    return None


def is_blank(cell: object) -> bool:
    """Whether a cell holds no value, or says so as spreadsheets do."""
    if isinstance(cell, str):
        return cell.strip().lower() in NO_VALUE
    if cell is None or cell is pd.NA or cell is pd.NaT:
        return True
    found = number(cell)
    return found is not None and math.isnan(found)


def has_decimal_comma(cell: object) -> bool:
    return isinstance(cell, str) and COMMA.fullmatch(cell.strip()) is not None


@dataclass(frozen=True)
class Column:
    """A column of cells, and the numbers in it."""

    name: str
    cells: Sequence[object]
    numbers: Floats
    """(n,), NaN where there is none."""
    texts: Counter[str]
    """Text where numbers should be, and numbers that stand for no value."""
    infinite: Bools
    """(n,), numbers too large to be used."""

    @property
    def sound(self) -> Bools:
        """(n,), where there is a number."""
        return np.isfinite(self.numbers)

    @property
    def is_text(self) -> bool:
        """Whether most of what it holds is text."""
        return sum(self.texts.values()) > int(self.sound.sum())


def column(
    name: str, cells: Sequence[object], decimal: str = ".", missing: Collection[str] = ()
) -> Column:
    """The numbers in some cells; those in `missing` are no values, even if they are numbers."""
    words = {word.strip().lower() for word in missing}
    codes = {code for word in missing if (code := number(word, decimal)) is not None}
    numbers = np.full(len(cells), np.nan)
    infinite = np.zeros(len(cells), np.bool_)
    texts: Counter[str] = Counter()
    for row, cell in enumerate(cells):
        found = number(cell, decimal)
        if found is None or found in codes or (words and str(cell).strip().lower() in words):
            if not is_blank(cell):
                texts[str(cell).strip()] += 1
        elif abs(found) <= LARGEST:
            numbers[row] = found
        elif not math.isnan(found):
            infinite[row] = True
    return Column(name, cells, numbers, texts, infinite)


# --- moments -----------------------------------------------------------------------------------


def seconds(cell: object, form: str | None = None) -> float | None:
    """A time as a number: itself, or the seconds of a date since 1970 as written.

    With a format, only dates that are printed in it.
    """
    if is_blank(cell):
        return None
    found = None if form else number(cell)
    try:
        if isinstance(cell, str) and found is None:
            text = cell.strip()
            cell = datetime.strptime(text, form) if form else datetime.fromisoformat(text)
        if isinstance(cell, date) and not isinstance(cell, datetime):
            cell = datetime(cell.year, cell.month, cell.day)
        if isinstance(cell, datetime):
            found = (cell if cell.tzinfo else cell.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
    return found if found is not None and abs(found) <= LARGEST else None


def is_date(cell: object) -> bool:
    """Whether a cell is a date, in whatever format."""
    if not isinstance(cell, str | date) or is_blank(cell) or number(cell) is not None:
        return False
    return any(seconds(cell, form) is not None for form in (None, *FORMATS))


def moments(cells: Sequence[object], decimal: str = ".") -> Floats:
    """(n,), times as numbers in the one format that reads most of them; NaN for the others."""
    return _best(cells, decimal)[1]


def format_of(cells: Sequence[object], decimal: str = ".") -> str | None:
    """The format that reads most of some times; None for ISO 8601, and for numbers."""
    return _best(cells, decimal)[0]


def _best(cells: Sequence[object], decimal: str) -> tuple[str | None, Floats]:
    """A format and what it reads.

    Of two formats that read as many (is 1/2/2024 in January?) the one with the more even steps.
    """
    dates = list(islice((cell for cell in cells if is_date(cell)), 5))
    forms = [f for f in FORMATS if any(seconds(cell, f) is not None for cell in dates)]
    found = [(form, _moments(cells, decimal, form)) for form in (None, *forms)]
    return max(found, key=lambda one: _rank(one[1]))


def _moments(cells: Sequence[object], decimal: str, form: str | None) -> Floats:
    found = (
        number(cell, ",") if decimal == "," and has_decimal_comma(cell) else seconds(cell, form)
        for cell in cells
    )
    return np.array([math.nan if moment is None else moment for moment in found])


def _rank(found: Floats) -> tuple[int, float]:
    """How many times were read, and the share of the usual step among their steps."""
    known = found[np.isfinite(found)]
    steps = np.diff(known)
    return len(known), float(np.mean(steps == np.median(steps))) if len(steps) else 0.0
