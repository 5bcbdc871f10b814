"""What a measured number is called: in the address of its lineage card, and for `trace`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    import pandas as pd

    Row = Mapping[Any, Any] | pd.Series[Any]

CARDS = "cards.html"
"""The page of all cards, beside the other results of its profile."""
CELL = ("table", "scenario", "method", "protocol", "setting", "sigma", "delta")
"""What tells the cells of all tables of delays apart."""


def cell_code(row: "Row") -> str:
    """The code of a cell of delays.

    Examples
    --------
    >>> row = {"table": "noise_free", "scenario": "p10", "method": "greedy", "protocol": "fair"}
    >>> cell_code(row | {"setting": "case_a", "sigma": 0.0, "delta": 0.25})
    'noise_free/p10/greedy/fair/case_a/0/0.25'
    """
    return "/".join(_spelt(row[key]) for key in CELL)


def cell_of(code: str) -> dict[str, str] | None:
    """What a code of a cell says, by column; None if it is none.

    Examples
    --------
    >>> cell_of("noise_free/p10/greedy/fair/case_a/0/0.25")["method"]
    'greedy'
    >>> cell_of("noise_free_p10") is None
    True
    """
    parts = code.split("/")
    return dict(zip(CELL, parts, strict=True)) if len(parts) == len(CELL) else None


def _spelt(value: object) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def card(code: str, page: str = CARDS) -> str:
    """The address of a card.

    Examples
    --------
    >>> card("claim/shortest/fair")
    'cards.html#claim/shortest/fair'
    """
    return f"{page}#{quote(code, safe='/=.:')}"


def delay_code(row: "Row") -> str:
    return f"{cell_code(row)}/add"


def run_length_code(row: "Row") -> str:
    return f"{cell_code(row)}/arl0"


def claim_code(claim: str, protocol: str = "") -> str:
    return f"claim/{claim}/{protocol or 'together'}"


def tally_code(part: str) -> str:
    return f"verdicts/{part}"


def training_code(number: int) -> str:
    return f"training/{number}"


def file_code(name: str) -> str:
    """The code of a result as a whole, for numbers that have no card of their own."""
    return f"file/{name}"
