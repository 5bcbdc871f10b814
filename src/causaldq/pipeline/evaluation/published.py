"""The paper's numbers (data/reference/published.csv), and which of ours are of the same cell."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any

import pandas as pd

CELL = ("setting", "m", "k", "sigma", "delta", "delta_train")
"""What tells the cells of a table apart. p does not: the paper's flares have 33 parameters, those
that can be had offline 24."""
Row = Mapping[Any, Any] | pd.Series


def agrees(printed: Row, measured: Row) -> bool:
    """Whether a printed number is of a cell of ours, or of one of several that are given.

    What the paper leaves open (k, delta and delta_train of flares) agrees with anything, and so
    does what ours does not have, as the quality of a graph has no shift.
    """
    return all(
        _is_open(name, printed[name]) or _noise(name, printed[name]) in _listed(measured[name])
        for name in CELL
        if name in measured
    )


def _is_open(name: str, value: Any) -> bool:
    return name != "sigma" and pd.isna(value)


def _noise(name: str, value: Any) -> Any:
    """The paper leaves sigma empty where there is no noise."""
    return 0.0 if name == "sigma" and pd.isna(value) else value


def _listed(value: Any) -> Collection[Any]:
    return value if isinstance(value, list) else [value]


def by_table(rows: pd.DataFrame) -> dict[tuple[str, str], list[dict[Any, Any]]]:
    """Rows of each table and method."""
    found: dict[tuple[str, str], list[dict[Any, Any]]] = defaultdict(list)
    for row in rows.to_dict("records"):
        found[row["table"], row["method"]].append(row)
    return found
