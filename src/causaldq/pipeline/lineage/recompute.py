"""A number again: from its runs, its limits and the paper's numbers, and as its table shows it.

Computed with the code at hand; whether that is the recorded code, others check.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import ValidationError

from causaldq.errors import DataError
from causaldq.files import csv_text, read_csv
from causaldq.pipeline.config import Config
from causaldq.pipeline.evaluation.aggregate import aggregate, aggregate_events, gather
from causaldq.pipeline.lineage.records import Record
from causaldq.pipeline.plan import Plan
from causaldq.pipeline.report.catalogue import catalogue
from causaldq.pipeline.report.shown import Figure, Table
from causaldq.pipeline.report.tidy import Tidy

KEYS = {
    "add": ["table", "scenario", "protocol", "setting", "sigma", "delta", "method"],
    "in_control_steps": ["scenario", "event", "method"],
}
"""What tells cells apart, by a column that no other table has: injected shifts, recorded events."""

UNREADABLE = (KeyError, ValueError, TypeError, IndexError, OSError)
"""What reading damaged tidy results raises."""

COMPARED = ["among_best", "among_published", "way_to_oracle"]
"""What a cell says of other methods."""


def kind_of(row: "pd.Series[Any]") -> str | None:
    """Which tidy table a row is from, of those that the runs are gathered into."""
    return next((kind for kind, keys in KEYS.items() if {kind, *keys} <= set(row.index)), None)


def config_of(record: Record) -> Config:
    """The settings of a whole run, which a job that gathers it was given."""
    try:
        return Config.model_validate(record.settings)
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"]))
        commit = (record.code.commit or "no commit")[:7]
        raise DataError(
            f"{record.job}: its settings are of another version ({place}); check out {commit}"
        ) from None


@dataclass(frozen=True)
class Parts:
    """The files that a cell is computed from, by what they are and their name."""

    runs: dict[str, str]
    limits: dict[str, str]
    facts: dict[str, str]
    published: str

    @property
    def files(self) -> list[str]:
        return [*self.runs.values(), *self.limits.values(), *self.facts.values(), self.published]


def parts_of(row: "pd.Series[Any]", gatherer: Record, *, rivals: bool) -> Parts:
    """Files of a row's own method, or of all methods of its scenario."""
    config = config_of(gatherer)
    if row["scenario"] not in config.scenarios:
        raise DataError(f"{gatherer.job}: its settings have no scenario {row['scenario']!r}")
    inputs = {(Path(name).parent.name, Path(name).stem): name for name in gatherer.inputs}
    plan = Plan(config)
    runs = {
        name: run
        for name, run in plan.runs.items()
        if run.scenario == row["scenario"] and (rivals or run.method == row["method"])
    }
    try:
        return Parts(
            {name: inputs["runs", name] for name in runs},
            {name: inputs["limits", name] for name in map(plan.limits_of, runs.values())},
            {name: inputs["streams", name] for name in [plan.source_of(row["scenario"])]},
            inputs["reference", "published"],
        )
    except KeyError as error:
        raise DataError(f"{gatherer.job} was not made from {error.args[0][1]}") from None


def recompute(
    at: Path, root: Path, row: "pd.Series[Any]", gatherer: Record, parts: Parts, *, rivals: bool
) -> "pd.Series[Any]":
    """A row of the tidy table from files below `at`; the paper's numbers lie below `root`."""
    config = config_of(gatherer)
    scenario = config.scenarios[row["scenario"]]
    if not rivals:
        scenario = scenario.model_copy(update={"methods": [row["method"]]})
    alone = config.model_copy(update={"scenarios": {row["scenario"]: scenario}})
    kind = str(kind_of(row))
    try:
        below = (
            {name: at / file for name, file in files.items()}
            for files in (parts.runs, parts.limits, parts.facts)
        )
        found = gather(alone, *below)
        named = replace(found, files={name: Path(file) for name, file in parts.runs.items()})
        table = (
            aggregate(named, read_csv(root / parts.published))
            if kind == "add"
            else aggregate_events(named)
        )
    except (KeyError, ValueError, TypeError) as error:
        raise DataError(f"{row['files']} cannot be gathered again ({error!r})") from None
    for _, again in table.iterrows():
        if all(spelt(again[key]) == spelt(row[key]) for key in KEYS[kind]):
            return again
    raise DataError(f"{row['files']} hold no such cell")


def differences(row: "pd.Series[Any]", again: "pd.Series[Any]", *, rivals: bool) -> list[str]:
    """What a row says that is not what it should say, to the digits it is written with."""
    return [
        f"{name}: the runs give {spelt(again[name]) or 'none'}, the table has"
        f" {spelt(row[name]) or 'none'}"
        for name in again.index
        if name in row.index
        and (rivals or name not in COMPARED)
        and spelt(again[name]) != spelt(row[name])
    ]


def spelt(value: Any) -> str:
    """A value as tables spell it."""
    if pd.isna(value):
        return ""
    return str(value) if isinstance(value, str) else f"{value:.10g}"


class _Read(Tidy):
    """Tidy results that lie below a folder; notes which ones are looked at."""

    def __init__(self, config: Config, root: Path, files: Iterable[str]) -> None:
        super().__init__(config, [Path(name) for name in files])
        self.root = root
        self.looked_at: set[str] = set()

    def _path(self, name: str) -> Path:
        path = super()._path(name)
        self.looked_at.add(path.as_posix())
        return self.root / path


def table_of(record: Record, name: str) -> Table | None:
    """The table that a file shows."""
    if record.rule != "tables":
        return None
    tables = catalogue(config_of(record)).tables
    return next((table for table in tables if table.name == Path(name).stem), None)


def figure_of(record: Record, name: str) -> Figure | None:
    figures = catalogue(config_of(record)).figures
    return next((figure for figure in figures if figure.name == Path(name).stem), None)


def shown_again(root: Path, record: Record, table: Table) -> tuple[dict[str, str], set[str]]:
    """A table's LaTeX and rows, by suffix, made again; and the tidy results they are made from."""
    tidy = _Read(config_of(record), root, record.inputs)
    try:
        made = {".tex": table.latex(tidy), ".csv": csv_text(table.twin(tidy))}
    except UNREADABLE as error:
        raise DataError(f"the table {table.name} cannot be shown again ({error!r})") from None
    return made, tidy.looked_at


def rows_of_figure(root: Path, record: Record, name: str) -> tuple[pd.DataFrame, str] | None:
    """The rows that a figure draws, and the tidy result they are from; None if it draws none."""
    figure = figure_of(record, name)
    if figure is None or figure.rows is None:
        return None
    tidy = _Read(config_of(record), root, record.inputs)
    try:
        rows = figure.rows(tidy)
    except UNREADABLE as error:
        raise DataError(f"the rows of {name} cannot be read ({error!r})") from None
    return rows, next(iter(tidy.looked_at))


def first_difference(old: str, new: str) -> str:
    """Where two texts part, for people."""
    for number, (a, b) in enumerate(zip(old.split("\n"), new.split("\n"), strict=False), 1):
        if a != b:
            same = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), 0)
            part = slice(max(same - 20, 0), same + 40)
            return f"line {number}: {a[part]!r}, should be {b[part]!r}"
    return "one is longer than the other"
