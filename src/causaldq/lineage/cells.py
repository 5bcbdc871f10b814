"""One cell of a table: which rows it means, and the number from the runs behind it."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from causaldq.errors import DataError

NAMED = ("method", "protocol", "setting", "scenario", "table", "id")
"""Columns that a word alone can mean."""

ALIASES = {"case": "setting", "δ": "delta", "σ": "sigma"}
CELL = ["protocol", "setting", "sigma", "delta"]


def select(table: pd.DataFrame, cell: str) -> pd.DataFrame:
    """Rows meant by text such as "causal_dq, case_a, delta=0.25"; there may be several."""
    rows = table
    for part in filter(None, (part.strip() for part in cell.split(","))):
        key, has_key, value = (text.strip() for text in part.partition("="))
        if has_key:
            column = ALIASES.get(key, key)
            if column not in table:
                have = ", ".join(table.columns)
                raise DataError(f"--cell: there is no {key!r}; give one of {have}")
            known, chosen = table[column], rows[_equal(rows[column], value)]
        else:
            columns = [name for name in NAMED if name in table]
            known = pd.concat([table[name] for name in columns])
            meant = [name for name in columns if (table[name] == key).any()]
            chosen = rows[rows[meant[0]] == key] if meant else rows[:0]
        if chosen.empty:
            have = ", ".join(str(value) for value in known.drop_duplicates())
            raise DataError(f"--cell: no row with {part!r} among those chosen so far; have {have}")
        rows = chosen
    return rows


def _equal(column: "pd.Series[Any]", text: str) -> "pd.Series[bool]":
    if pd.api.types.is_numeric_dtype(column):
        try:
            return pd.Series(np.isclose(column, float(text)), index=column.index)
        except ValueError:
            raise DataError(f"--cell: {column.name} is a number, not {text!r}") from None
    return column.astype(str) == text


def described(row: "pd.Series[Any]") -> str:
    """A row's cell and number, for people."""
    if "add" not in row:
        return ", ".join(f"{key}={value}" for key, value in row.items() if not _is_long(value))
    name = ", ".join(str(row[key]) for key in ("scenario", "method", "protocol", "setting"))
    name += f", delta={row['delta']:g}"
    name += f", sigma={row['sigma']:g}" if row["sigma"] else ""
    text = f"{name}: delay {row['add']:.4g}, standard error {row['se']:.2g}"
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


def mean_delay(root: Path, row: "pd.Series[Any]", settings: Any) -> float | None:
    """The mean delay of a row's cell, straight from its runs; None if it is of another kind.

    The plain mean over all runs, but for those that a false alarm before the change has ended;
    where the scenario starts again after an alarm, none is. `settings`: those of the whole run.
    """
    files = run_files(row)
    if "add" not in row or not files or not all((root / name).is_file() for name in files):
        return None
    runs = pd.concat([pd.read_csv(root / name) for name in files])
    if not {*CELL, "delay", "false_alarm"} <= set(runs):
        return None
    scenario = settings["scenarios"][row["scenario"]]
    if "event" in runs:
        runs = runs[runs["event"].isna()]
    for column in CELL:
        # A table may name its one case after what it is published as.
        if column != "setting" or not scenario.get("setting"):
            runs = runs[_equal(runs[column], str(row[column]))]
    if not scenario.get("restart"):
        runs = runs[runs["false_alarm"] == 0]
    return float(runs["delay"].mean()) if runs["setting"].nunique() == 1 else None


def is_same(mean: float, row: "pd.Series[Any]") -> bool:
    """Whether a mean is the row's, up to the digits it is written with."""
    return bool(np.isclose(mean, row["add"], rtol=1e-8, equal_nan=True))
