"""What is shown: every table and figure of a config, with its caption and how it is made.

The workflow asks for names and categories; the jobs make what is listed, from tidy results.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from causaldq.config import Config
from causaldq.errors import DataError
from causaldq.files import read_json
from causaldq.plan import Plan
from causaldq.report import tables, theory


class Tidy:
    """Tidy results, by the names of their files; read when needed."""

    def __init__(self, config: Config, files: list[Path]) -> None:
        self.config = config
        self.files = {path.stem: path for path in files}

    def _path(self, name: str) -> Path:
        if name not in self.files:
            raise DataError(f"{name} is not among the results given: {', '.join(self.files)}")
        return self.files[name]

    @cached_property
    def add(self) -> pd.DataFrame:
        return pd.read_csv(self._path("add"))

    @cached_property
    def events(self) -> pd.DataFrame:
        return pd.read_csv(self._path("events"))

    @cached_property
    def training(self) -> pd.DataFrame:
        return pd.read_csv(self._path("training"))

    @cached_property
    def curves(self) -> pd.DataFrame:
        return pd.read_csv(self._path("curves"))

    @cached_property
    def theory(self) -> list[dict[str, Any]]:
        checks: list[dict[str, Any]] = read_json(self._path("theory"))
        return checks

    @cached_property
    def theory_curves(self) -> pd.DataFrame:
        return pd.read_csv(self._path("theory_curves"))

    def cells(self, scenario: str) -> pd.DataFrame:
        return self.add[self.add["scenario"] == scenario]

    def events_of(self, scenario: str) -> pd.DataFrame:
        return self.events[self.events["scenario"] == scenario]

    def curves_of(self, scenario: str) -> pd.DataFrame:
        return self.curves[self.curves["scenario"] == scenario]


@dataclass(frozen=True)
class Table:
    """A LaTeX table, with the rows behind it."""

    name: str
    rows: Callable[[Tidy], pd.DataFrame]
    latex: Callable[[Tidy], str]
    caption: Callable[[Tidy], str]


@dataclass(frozen=True)
class Figure:
    """A figure, for the document and the pages."""

    name: str
    category: str
    """Of the HTML report."""
    kind: str
    """Of the caption there."""
    draw: Callable[[Tidy], Any]
    caption: Callable[[Tidy], str]


@dataclass(frozen=True)
class Catalogue:
    """All that a config's report shows, in its order."""

    tables: list[Table]
    figures: list[Figure]
    notebooks: list[str]


def catalogue(config: Config) -> Catalogue:
    plan = Plan(config)
    shown = Catalogue([], [], ["detection"])
    for name in plan.evaluated():
        shown.tables.append(_delay_table(config, name))
        shown.figures.append(_delay_figure(name))
    for name in plan.with_events():
        shown.tables.append(_event_table(name))
        shown.figures.append(_event_figure(name))
    if plan.networks:
        shown.tables.append(
            Table(
                "training",
                lambda t: t.training,
                lambda t: tables.training_table(t.training),
                lambda _: tables.TRAINING_CAPTION,
            )
        )
    for name in sorted({network.scenario for network in plan.networks.values()}):
        shown.figures.append(_training_figure(name))
    if config.theory is not None:
        shown.notebooks.append("theory")
        for name in theory.PARTS:
            shown.tables.append(_theory_table(name))
        shown.figures.append(
            Figure(
                "theory",
                "Theory",
                "theory",
                lambda t: theory.theory_figure(t.theory_curves),
                lambda _: theory.FIGURE_CAPTION,
            )
        )
    return shown


def _delay_table(config: Config, scenario: str) -> Table:
    return Table(
        f"{config.scenarios[scenario].table}_{scenario}",
        lambda t: t.cells(scenario),
        lambda t: tables.delay_table(t.cells(scenario)),
        lambda t: tables.delay_caption(t.cells(scenario)),
    )


def _delay_figure(scenario: str) -> Figure:
    def draw(tidy: Tidy) -> Any:
        from causaldq.report import figures

        rows = tidy.cells(scenario)
        several = rows["delta"].nunique() > 1
        return figures.delay_figure(rows) if several else figures.bar_figure(rows)

    caption = (
        f"Average detection delay, scenario {scenario.replace('_', ' ')}, with 95\\% bootstrap"
        " intervals. Black: bounds, which know where the shift is."
    )
    return Figure(f"delay_{scenario}", "Delays", "delay", draw, lambda _: caption)


def _event_table(scenario: str) -> Table:
    return Table(
        f"events_{scenario}",
        lambda t: t.events_of(scenario),
        lambda t: tables.event_table(t.events_of(scenario)),
        lambda t: tables.event_caption(t.events_of(scenario)),
    )


def _event_figure(scenario: str) -> Figure:
    def draw(tidy: Tidy) -> Any:
        from causaldq.report.figures import event_figure

        return event_figure(tidy.events_of(scenario))

    return Figure(
        f"events_{scenario}",
        "Delays",
        "events",
        draw,
        lambda t: "Recorded faults at a glance. " + tables.event_caption(t.events_of(scenario)),
    )


def _training_figure(scenario: str) -> Figure:
    def draw(tidy: Tidy) -> Any:
        from causaldq.report.figures import training_figure

        return training_figure(tidy.curves_of(scenario))

    caption = (
        f"Training, scenario {scenario.replace('_', ' ')}: the paper's reward an episode, counted"
        " alike for all agents whatever they are themselves rewarded for; mean over training seeds"
        " with a 95\\% band. Dots: where each method reaches 95\\% of its final value."
    )
    return Figure(f"training_{scenario}", "Training", "training", draw, lambda _: caption)


def _theory_table(name: str) -> Table:
    def rows(tidy: Tidy) -> pd.DataFrame:
        return pd.DataFrame(theory.parts(tidy.theory)[name]).drop(columns="witness")

    return Table(
        name,
        rows,
        lambda t: theory.theory_table(theory.parts(t.theory)[name]),
        lambda _: theory.CAPTION,
    )
