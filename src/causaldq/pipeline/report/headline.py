"""What a run ends with: one table of at most twelve rows, and three sentences."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from causaldq.methods.registry import is_bound
from causaldq.pipeline.report.claims import tally
from causaldq.pipeline.report.labels import label
from causaldq.pipeline.report.palette import foremost

ROWS = 12
SHIFTS = 3
"""Shifts of a protocol that the table has room for."""


def first_case(rows: pd.DataFrame) -> pd.DataFrame:
    """Of a scenario's cells those of its first table, case and noise, where something shifts."""
    for column in ("table", "setting", "sigma"):
        rows = rows[rows[column] == rows[column].iloc[0]]
    return rows[rows["delta"] > 0] if (rows["delta"] > 0).any() else rows


def short_table(rows: pd.DataFrame) -> str:
    """Methods by protocols and shifts, aligned, so that it can be read on a terminal as well.

    `rows`: cells of one scenario.
    """
    rows = first_case(rows)
    bounds = [method for method in rows["method"].unique() if is_bound(method)][:2]
    methods = [*foremost(rows["method"], ROWS - len(bounds)), *bounds]
    columns = [
        (protocol, delta)
        for protocol in rows["protocol"].unique()
        for delta in _some(rows["delta"])
    ]
    cells = {(r["method"], r["protocol"], r["delta"]): _cell(r) for _, r in rows.iterrows()}
    lines = [["", *(f"{protocol}, δ = {delta:g}" for protocol, delta in columns)]]
    lines += [[label(m), *(cells.get((m, *column), "") for column in columns)] for m in methods]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rule = [f":{'-' * (widths[0] - 1)}", *(f"{'-' * (width - 1)}:" for width in widths[1:])]
    texts = [
        [line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))]
        for line in (lines[0], rule, *lines[1:])
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in texts)


def _some(deltas: "pd.Series[float]") -> list[float]:
    """A few shifts from the middle up: the smallest take longest, and say least."""
    found = sorted(deltas.unique())[1:] if deltas.nunique() > SHIFTS else sorted(deltas.unique())
    return [found[i] for i in sorted({int(x) for x in np.linspace(0, len(found) - 1, SHIFTS)})]


def _cell(row: pd.Series) -> str:
    if pd.isna(row["add"]):
        return "–"
    text = f"**{row['add']:.1f}**" if row["among_best"] else f"{row['add']:.1f}"
    is_bare = pd.isna(row["published_add"]) or row["protocol"] != "paper"
    return text if is_bare else f"{text} ({row['published_add']:.1f})"


def sentences(rows: pd.DataFrame, claims: pd.DataFrame | None) -> Iterator[str]:
    """What was found: in each protocol, and of the claims."""
    by_method = {
        (str(protocol), str(method)): part.sort_values("delta")["add"].to_numpy(float)
        for (protocol, method), part in first_case(rows).groupby(["protocol", "method"])
    }
    causal, oracle = (by_method.get(("paper", name)) for name in ("causal_dq", "oracle_set"))
    if causal is not None and oracle is not None:
        yield (
            "Where the shift is always in the same streams (paper), Causal DQ takes"
            f" {_range(causal / oracle)} times as long as sensors that sit on them."
        )
    fair = {m: delays for (p, m), delays in by_method.items() if p == "fair" and not is_bound(m)}
    if fair:
        best = min(fair, key=lambda method: float(np.log(fair[method]).mean()))
        against = ""
        if "causal_dq" in fair and best != "causal_dq":
            against = f", {_range(fair[best] / fair['causal_dq'])} times Causal DQ's"
        yield (
            "Where it may be anywhere and all give equally many false alarms (fair),"
            f" {label(best)} has the shortest delay over all shifts{against}."
        )
    if claims is not None:
        measured = claims[claims["part"] != "theory"]
        yield f"Of {len(measured)} claims about measurements: {tally(measured['verdict'])}."


def _range(values: "np.ndarray[Any, np.dtype[np.float64]]") -> str:
    low, high = f"{values.min():.2f}", f"{values.max():.2f}"
    return low if low == high else f"{low} to {high}"


def headline_text(scenario: str, rows: pd.DataFrame, claims: pd.DataFrame | None) -> str:
    """The table with its title, and the sentences."""
    first = first_case(rows).iloc[0]
    title = (
        f"{scenario}: {first['p']} streams, {first['m']} sensors, {first['k']} streams shift."
        " Mean delay in steps (published); bold: none is shorter beyond noise."
    )
    return "\n".join([title, "", short_table(rows), "", *sentences(rows, claims), ""])
