"""Tidy results: what a run measured, as those who show it and those who judge it read it."""

from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from causaldq.errors import DataError
from causaldq.files import read_json
from causaldq.pipeline.config import Config
from causaldq.pipeline.report import paper_tables, tables

TOGETHER = ("train_test", "graph_metrics", "graph_quality", "sensitivity")
"""Tables whose scenarios are shown together."""


def table_name(table: str, scenario: str) -> str:
    """Name of the table that shows a scenario's cells."""
    if table in TOGETHER:
        return table
    return scenario if scenario.startswith(table) else f"{table}_{scenario}"


def _rows(name: str) -> "cached_property[pd.DataFrame]":
    return cached_property(lambda tidy: tidy.rows(name))


class Tidy:
    """Tidy results, by the names of their files; read when needed."""

    def __init__(self, config: Config, files: list[Path]) -> None:
        self.config = config
        self.files = {path.stem: path for path in files}

    add = _rows("add")
    claims = _rows("claims")
    comparison = _rows("comparison")
    cross = _rows("cross")
    curves = _rows("curves")
    edges = _rows("edges")
    events = _rows("events")
    graphs = _rows("graphs")
    looks = _rows("looks")
    overall = _rows("overall")
    paths = _rows("paths")
    places = _rows("places")
    propagation = _rows("propagation")
    propagation_compared = _rows("propagation_compared")
    published = _rows("published")
    theory_curves = _rows("theory_curves")
    tradeoff = _rows("tradeoff")
    training = _rows("training")
    watch = _rows("watch")

    @cached_property
    def theory(self) -> list[dict[str, Any]]:
        checks: list[dict[str, Any]] = read_json(self._path("theory"))
        return checks

    @cached_property
    def root_cause(self) -> dict[str, Any]:
        told: dict[str, Any] = read_json(self._path("root_cause"))
        return told

    @cached_property
    def hyperparameters(self) -> pd.DataFrame:
        return paper_tables.hyperparameter_rows(self.config, self.rows("hyperparameters"))

    def rows(self, name: str) -> pd.DataFrame:
        return pd.read_csv(self._path(name))

    def _path(self, name: str) -> Path:
        if name not in self.files:
            raise DataError(f"{name} is not among the results given: {', '.join(self.files)}")
        return self.files[name]

    def named(self, scenario: str) -> pd.DataFrame:
        """Root causes that methods identify for recorded faults."""
        return self.rows(f"named_{scenario}")

    def table(self, name: str) -> pd.DataFrame:
        """Cells that belong to one of the paper's tables."""
        return self.add[self.add["table"] == name]

    def graph_table(self, name: str) -> pd.DataFrame:
        return self.graphs[self.graphs["table"] == name]

    def cells(self, scenario: str) -> pd.DataFrame:
        """Cells of a scenario in its own table."""
        own = self.table(self.config.scenarios[scenario].table)
        return own[own["scenario"] == scenario]

    def size(self, scenario: str) -> str:
        """How large a scenario is, in words; as set, if nothing was measured in it."""
        cells = self.cells(scenario)
        if cells.empty:
            wanted = self.config.scenarios[scenario]
            p = self.config.sources[wanted.source].p
            streams = "" if p is None else f"$p={p}$ streams, "
            return f"{streams}$m={wanted.m}$ sensors"
        return tables.size(cells.iloc[0])

    def events_of(self, scenario: str) -> pd.DataFrame:
        return self.events[self.events["scenario"] == scenario]

    def curves_of(self, scenario: str) -> pd.DataFrame:
        return self.curves[self.curves["scenario"] == scenario]


SHORT = 12
"""Digits of a hash that pages print."""


def short_hash(provenance: Path) -> str:
    """The hash over all jobs behind the tidy results, as pages print it."""
    return str(read_json(provenance)["hash"])[:SHORT]
