"""Windows of magnetic-field parameters as one tidy table: window, label, step, then parameters."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from causaldq.errors import DataError
from causaldq.types import Bools, Floats

KEYS = ("window", "label", "step")


def window_table(
    window: str, label: str, columns: dict[str, list[float]], steps: int
) -> pd.DataFrame:
    index = pd.MultiIndex.from_product([[window], [label], range(steps)], names=list(KEYS))
    return pd.DataFrame(columns, index=index, dtype=np.float64)


def joined_windows(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    if not frames:
        raise DataError("no window was asked for; give at least one")
    return pd.concat(frames).reset_index()


def parameters_of(table: pd.DataFrame) -> list[str]:
    """The parameters of a tidy table, in its order."""
    return [str(column) for column in table.columns if column not in KEYS]


@dataclass(frozen=True)
class Filled:
    """A tidy table without gaps, and what was done to get there."""

    table: pd.DataFrame
    gaps: pd.DataFrame
    """Columns window, parameter, count: the values that were interpolated."""
    dropped: tuple[str, ...]
    """Parameters that some window lacks altogether."""
    messages: tuple[str, ...]


def fill_gaps(table: pd.DataFrame) -> Filled:
    """Interpolate missing values within each window; at its edges take the nearest value.

    A parameter that a window lacks altogether is dropped from all of them. Give only the windows
    that are used: each can cost parameters.
    """
    parameters = parameters_of(table)
    filled = table.copy()
    lost: dict[str, str] = {}
    gaps = []
    for window, rows in table.groupby("window", sort=False):
        values = rows[parameters].to_numpy(np.float64, copy=True)
        known = np.isfinite(values)
        for column, name in enumerate(parameters):
            count = int((~known[:, column]).sum())
            if count == len(values):
                lost.setdefault(name, str(window))
            elif count:
                gaps.append((str(window), name, count))
                _interpolate(values[:, column], known[:, column])
        filled.loc[rows.index, parameters] = values
    dropped = tuple(name for name in parameters if name in lost)
    if len(dropped) == len(parameters):
        raise DataError(f"window {lost[parameters[0]]!r} has no values at all; give another")
    summary = pd.DataFrame(gaps, columns=["window", "parameter", "count"])
    summary = summary[~summary["parameter"].isin(dropped)].reset_index(drop=True)
    messages = [f"{name} dropped: window {lost[name]!r} has no value of it" for name in dropped]
    if len(summary):
        messages.append(
            f"{summary['count'].sum()} missing values interpolated in "
            f"{summary['window'].nunique()} windows"
        )
    return Filled(filled.drop(columns=list(dropped)), summary, dropped, tuple(messages))


def _interpolate(series: Floats, known: Bools) -> None:
    """Fill the unknown places of `series` (steps,) in place."""
    places = np.arange(len(series))
    series[~known] = np.interp(places[~known], places[known], series[known])


def window_values(table: pd.DataFrame, window: str) -> tuple[str, Floats]:
    """The label and the values (steps, p) of one window of a table without gaps."""
    rows = table[table["window"] == window].sort_values("step")
    if rows.empty:
        raise DataError(f"the table has no window {window!r}")
    values = rows[parameters_of(table)].to_numpy(np.float64, copy=True)
    if not np.isfinite(values).all():
        raise DataError(f"window {window!r} has gaps; fill them first")
    return str(rows["label"].iloc[0]), values
