"""The measured cells that a claim is about, all methods of each side by side."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import pandas as pd

from causaldq.methods.registry import is_bound
from causaldq.pipeline.evaluation.published import CELL, agrees
from causaldq.pipeline.report.judges.evidence import NOT_BY_SEEDS, Outcome, Piece, Seeds
from causaldq.pipeline.report.labels import label
from causaldq.pipeline.report.tidy import Tidy, table_name

Row = dict[str, Any]
PAPER_METHODS = ("causal_dq", "non_causal", "tssrp", "asmp", "sdq")
TABLES = {
    "noise_free": "noise-free",
    "noise": "with noise",
    "train_test": "training against test shift",
    "extreme": "extreme",
    "graph_metrics": "graph metrics",
    "graph_quality": "graph quality",
    "tep": "Tennessee Eastman",
    "sfd": "solar flares",
}
"""The paper's result tables, in words."""


@dataclass(frozen=True)
class Seen:
    """One cell under one protocol."""

    cell: str
    protocol: str
    rows: dict[str, Row]
    """A row of add.csv for each method, by its id; empty if the cell was not run."""
    table: str
    """Name of the rows in results/<profile>/tables."""

    def has(self, *methods: str) -> bool:
        """Whether all of these were run and have a delay."""
        return all(m in self.rows and pd.notna(self.rows[m]["add"]) for m in methods)

    def rivals(self) -> dict[str, Row]:
        """Rows of all that compete: no bounds, and nobody whose every run alarmed too early."""
        return {m: row for m, row in self.rows.items() if not is_bound(m) and self.has(m)}

    def piece(self, outcome: Outcome, detail: str, seeds: Seeds = NOT_BY_SEEDS) -> Piece:
        return Piece(self.cell, outcome, detail, self.protocol, self.table, seeds)

    def absent(self, *methods: str) -> Piece:
        """Why there is nothing to compare."""
        gone = [m for m in methods if m not in self.rows]
        if gone:
            names = ", ".join(label(m) for m in gone)
            return self.piece("missing", f"not in this profile: {names}")
        return self.piece("open", "every run of a method alarmed before the change")


def published_cells(
    tidy: Tidy,
    tables: Iterable[str],
    deltas: list[float] | None = None,
    settings: list[str] | None = None,
    method: str = "causal_dq",
) -> pd.DataFrame:
    """What the paper printed of a method's delays in some tables, with a shift unless asked for."""
    rows = tidy.published
    rows = rows[(rows["metric"] == "add") & (rows["method"] == method)]
    rows = rows[rows["table"].isin(list(tables))]
    if settings is not None:
        rows = rows[rows["setting"].isin(settings)]
    return rows[rows["delta"] != 0] if deltas is None else rows[rows["delta"].isin(deltas)]


def beside(tidy: Tidy, cell: pd.Series, protocol: str) -> Seen:
    """Our cell beside a published one; what the paper leaves open agrees with anything.

    Two scenarios may measure the same cell: the first counts, they are not mixed.
    """
    for rows in _cells(tidy).get((str(cell["table"]), protocol), []):
        if agrees(cell, next(iter(rows.values()))):
            scenario = next(iter(rows.values()))["scenario"]
            name = table_name(str(cell["table"]), scenario)
            return Seen(cell_label(cell), protocol, rows, name)
    return Seen(cell_label(cell), protocol, {}, "")


@cache
def _cells(tidy: Tidy) -> dict[tuple[str, str], list[dict[str, Row]]]:
    """Our cells by table and protocol: the rows of their methods."""
    found: dict[tuple[str, str], list[dict[str, Row]]] = {}
    for group, rows in tidy.add.groupby(["table", "protocol", "scenario", *CELL], sort=False):
        table, protocol, *_ = group
        found.setdefault((str(table), str(protocol)), []).append(by_method(rows))
    return found


def by_method(rows: pd.DataFrame) -> dict[str, Row]:
    names = [str(column) for column in rows.columns]
    found = [dict(zip(names, row, strict=True)) for row in rows.itertuples(index=False)]
    return {row["method"]: row for row in found}


def all_beside(tidy: Tidy, cells: pd.DataFrame) -> list[Seen]:
    """Our cells beside all published ones, under every protocol."""
    return [
        beside(tidy, cell, protocol)
        for protocol in tidy.config.protocols
        for _, cell in cells.iterrows()
    ]


def cells_of(tidy: Tidy, scenarios: Iterable[str]) -> list[Seen]:
    """All our cells of some scenarios with a shift, whether or not the paper has them."""
    seen = []
    for name in scenarios:
        rows = tidy.cells(name)
        rows = rows[rows["delta"] > 0]
        for key, part in rows.groupby(["protocol", "setting", "sigma", "delta"], sort=False):
            first = part.iloc[0]
            shown = table_name(str(first["table"]), name)
            cell = f"{name}, {cell_label(first)}"
            seen.append(Seen(cell, str(key[0]), by_method(part), shown))
    return seen


def cell_label(row: pd.Series) -> str:
    """A cell in words."""
    table, setting = str(row["table"]), str(row["setting"])
    parts = [TABLES.get(table, table)]
    if setting not in ("extreme", "tep", "sfd"):
        parts.append(label(setting) if setting.startswith("case") else setting.replace("_", " "))
    # The flares that can be had have fewer parameters than the paper's.
    parts += [f"m = {row['m']}"] if table == "sfd" else [f"p = {row['p']}", f"m = {row['m']}"]
    if pd.notna(row["sigma"]) and row["sigma"] > 0:
        parts.append(f"σ = {row['sigma']:g}")
    if table != "sfd" and pd.notna(row["delta"]):
        parts.append(f"δ = {row['delta']:g}")
    if table == "train_test":
        parts.append(f"trained at δ = {row['delta_train']:g}")
    return ", ".join(parts)


def delay_text(row: Row) -> str:
    return f"{label(row['method'])} {row['add']:.1f} (ARL0 {run_length(row['arl0'])})"


def run_length(value: float) -> str:
    return "∞" if value == float("inf") else f"{value:.0f}"


def fewest_seeds(*rows: Row) -> float:
    """Of methods that are learned; none are."""
    return min((row["n_seeds"] for row in rows if row["n_seeds"]), default=0)


def span(values: list[float]) -> str:
    """Smallest and largest run length."""
    low, high = run_length(min(values)), run_length(max(values))
    return low if low == high else f"{low} to {high}"
