"""One cell of a table: which rows it means, and what they say."""

import re
from typing import Any

import numpy as np
import pandas as pd

from causaldq.errors import DataError
from causaldq.pipeline.lineage.asked import meant_by
from causaldq.pipeline.report.labels import label

NAMED = ("method", "protocol", "setting", "scenario", "table", "id")
"""Columns that a word alone means first; after them, any other column of text."""

ALIASES = {"case": "setting", "δ": "delta", "σ": "sigma"}
NAMES = ("scenario", "method", "protocol", "setting", "event")
DELAY = {
    *("scenario", "method", "protocol", "setting", "sigma", "delta"),
    *("add", "se", "n_rep", "n_seeds", "published_add"),
}
"""Columns of a table of delays. Others may have some of them, and mean something else."""


def select(table: pd.DataFrame, cell: str) -> pd.DataFrame:
    """Rows meant by text such as "causal_dq, case_a, delta=0.25"; there may be several."""
    rows = table
    for part in filter(None, (part.strip() for part in in_ids(table, cell).split(","))):
        key, has_key, value = (text.strip() for text in part.partition("="))
        if has_key:
            column = ALIASES.get(key, key)
            if column not in table:
                have = ", ".join(table.columns)
                raise DataError(f"--cell: there is no {key!r}; give one of {have}")
            known, chosen = table[column], rows[_equal(rows[column], value)]
        else:
            columns = [name for name in NAMED if name in table]
            columns += [name for name in _texts(table) if name not in columns]
            if not columns:
                have = ", ".join(table.columns)
                raise DataError(f"--cell: {part!r} could be anything; give {have} as name=value")
            known = pd.concat([table[name] for name in columns])
            meant = [name for name in columns if (table[name] == key).any()]
            chosen = rows[rows[meant[0]] == key] if meant else rows[:0]
        if chosen.empty:
            have = _few(known.drop_duplicates())
            guess = meant_by(value if has_key else key, [str(v) for v in known.dropna().unique()])
            raise DataError(
                f"--cell: no row with {part!r} among those chosen so far; have {have}{guess}"
            )
        rows = chosen
    return rows


def in_ids(table: pd.DataFrame, cell: str) -> str:
    """A cell's text with the labels that tables print replaced by the names in their rows."""
    names = {str(v) for key in NAMED[:4] if key in table for v in table[key].dropna().unique()}
    # The longest first: a label can be part of another, and have commas of its own.
    for name in sorted(names, key=lambda name: -len(label(name))):
        whole = rf"(?<![\w(]){re.escape(label(name))}(?!\w)"
        cell = re.sub(whole, name, cell, flags=re.IGNORECASE)
    return cell


def _few(values: "pd.Series[Any]", most: int = 30) -> str:
    """Values to choose from, on a line that can be read."""
    short = [str(value) for value in values if not _is_long(value)]
    more = len(values) - len(short[:most])
    return ", ".join(short[:most]) + (f" and {more} more" if more else "")


def _texts(table: pd.DataFrame) -> list[str]:
    """Columns of text, but for the lists of files behind the rows."""
    kinds = {name: pd.api.types.is_numeric_dtype(table[name]) for name in table}
    return [str(name) for name, is_number in kinds.items() if not is_number and name != "files"]


def _equal(column: "pd.Series[Any]", text: str) -> "pd.Series[bool]":
    if pd.api.types.is_numeric_dtype(column):
        try:
            return pd.Series(np.isclose(column, float(text)), index=column.index)
        except ValueError:
            raise DataError(f"--cell: {column.name} is a number, not {text!r}") from None
    return column.astype(str) == text


def named(row: "pd.Series[Any]") -> str:
    """Which cell a row is, for people."""
    parts = [str(row[key]) for key in NAMES if key in row and not pd.isna(row[key])]
    parts += [f"delta={row['delta']:g}"] if "delta" in row else []
    parts += [f"sigma={row['sigma']:g}"] if row.get("sigma") else []
    return ", ".join(parts)


def described(row: "pd.Series[Any]") -> str:
    """A row's cell and number, for people."""
    if not set(row.index) >= DELAY:
        return ", ".join(f"{key}={value}" for key, value in row.items() if not _is_long(value))
    text = f"{named(row)}: delay {row['add']:.4g}, standard error {row['se']:.2g}"
    text += f", {row['n_rep']:.0f} replications"
    if row["n_seeds"]:
        text += f", {row['n_seeds']:.0f} training seed{'s' if row['n_seeds'] > 1 else ''}"
    if not pd.isna(row["published_add"]):
        text += f"; published {row['published_add']:g}"
    return text


def _is_long(value: object) -> bool:
    return pd.isna(value) or len(str(value)) > 40  # type: ignore[call-overload]


def run_files(row: "pd.Series[Any]") -> list[str]:
    """The runs that a row is the mean of; none if the table does not say."""
    files = row.get("files")
    return files.split(";") if isinstance(files, str) and files else []
