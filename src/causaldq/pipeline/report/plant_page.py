"""The page of the user's own plant: what to watch it with, and what that says of its rows."""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from causaldq.files import by_name
from causaldq.live.session import Session
from causaldq.monitor import Monitor
from causaldq.pipeline.plan import Plan
from causaldq.pipeline.report.codes import CARDS
from causaldq.pipeline.report.labels import label
from causaldq.pipeline.report.palette import ALARM, BLUE
from causaldq.pipeline.report.tidy import Tidy
from causaldq.types import Floats

UNREAD = "#eeeeee"
NAMED = 40
"""Streams up to which each has its name at the picture."""


@dataclass(frozen=True)
class Candidate:
    """A method that could watch the plant."""

    method: str
    path: Path
    monitor: Monitor
    delays: dict[float, float]
    """Mean delay by the size of the shift that was injected."""

    @property
    def typical(self) -> float:
        """Geometric mean delay over the shifts; infinite if one was not measured."""
        found = np.array([delay for size, delay in self.delays.items() if size])
        known = len(found) and np.isfinite(found).all()
        return float(np.exp(np.log(np.maximum(found, 1.0)).mean())) if known else np.inf

    @property
    def reached(self) -> str:
        value = self.monitor.limit.reached.value
        return "no false alarm" if value is None else f"{value:.0f}"


def recommended(candidates: list[Candidate]) -> Candidate:
    """The earliest of those that keep their promise; the earliest of all if none does."""
    return min(candidates, key=lambda one: (one.monitor.falls_short, one.typical))


def plant_page(
    tidy: Tidy, provenance: str, monitors: Sequence[Path], rows: list[Path], figures: list[Path],
    notebooks: list[Path], template: Path,
) -> str:  # fmt: skip
    """HTML that needs nothing but itself; links are relative to the folder of results."""
    config, by_source, pictures = tidy.config, by_name(rows), by_name(figures)
    plants = []
    for scenario in Plan(config).evaluated():
        found = _candidates(tidy, scenario, monitors)
        if found:
            source = config.scenarios[scenario].source
            plants.append(_plant(tidy, scenario, found, by_source[source], pictures))
    pages = Environment(
        loader=FileSystemLoader(template.parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return pages.get_template(template.name).render(
        title=config.report.title,
        note=config.report.note,
        plants=plants,
        profile=config.profile,
        provenance=provenance,
        cards=CARDS,
        notebooks=[path.stem for path in notebooks],
    )


def _candidates(tidy: Tidy, scenario: str, monitors: Sequence[Path]) -> list[Candidate]:
    cells = tidy.cells(scenario)
    cells, files, found = cells[cells["protocol"] == "fair"], by_name(monitors), []
    for name, run in Plan(tidy.config).runs.items():
        if run.scenario == scenario and run.seed in (None, 0) and name in files:
            own = cells[cells["method"] == run.method]
            delays = dict(zip(own["delta"], own["add"], strict=True))
            found.append(Candidate(run.method, files[name], Monitor.load(files[name]), delays))
    return found


def _plant(
    tidy: Tidy, scenario: str, found: list[Candidate], rows: Path, pictures: dict[str, Path]
) -> dict[str, Any]:
    config, best = tidy.config, recommended(found)
    seen = Replay.of(best.monitor, pd.read_parquet(rows))
    source: Any = config.sources[config.scenarios[scenario].source]
    limit, time = best.monitor.limit, getattr(source, "time", None)
    graph = pictures.get(f"graph_{config.scenarios[scenario].source}")
    telling = seen.telling(source.first_fault)
    return {
        "scenario": scenario,
        "method": label(best.method),
        "falls_short": best.monitor.falls_short,
        "hold": sum(not one.monitor.falls_short for one in found),
        "typical": f"{best.typical:.1f}" if np.isfinite(best.typical) else "not measured",
        "p": len(best.monitor.names),
        "m": best.monitor.method.problem.m,
        "asked": f"{limit.asked:.0f}",
        "reached": best.reached,
        "low": f"{limit.reached.low:.0f}",
        "high": "no upper end" if limit.reached.high is None else f"{limit.reached.high:.0f}",
        "command": f"causaldq watch {best.path} {source.file}"
        + (f" --time {time}" if time else ""),
        "alarm": seen.raised[telling] if seen.raised else None,
        "alarms": _alarms(seen, source),
        "statistic": _png(statistic_figure(seen, source)),
        "sensors": _png(sensors_figure(seen, source)),
        "contributions": seen.spoke[telling],
        "graph": None if graph is None else base64.b64encode(graph.read_bytes()).decode(),
        "deltas": [f"{size:g}" for size in best.delays],
        "methods": [
            {
                "name": label(one.method),
                "best": one is best,
                "delays": ["–" if pd.isna(d) else f"{d:.1f}" for d in one.delays.values()],
                "reached": one.reached,
                "short": one.monitor.falls_short,
            }
            for one in sorted(found, key=lambda one: one.typical)
        ],
    }


@dataclass(frozen=True)
class Replay:
    """What a monitor says of recorded rows."""

    names: tuple[str, ...]
    limit: float
    statistic: Floats
    """(n,), NaN where nothing has been read."""
    shown: Floats
    """(n, p), readings in standard deviations, NaN where a stream was not read."""
    raised: list[int]
    """Rows, counted from 1, at which an alarm was raised."""
    spoke: list[dict[str, float]]
    """Streams that spoke for each alarm; without any, for a change at the last row."""

    @classmethod
    def of(cls, monitor: Monitor, rows: pd.DataFrame) -> "Replay":
        session, n = Session(monitor), len(rows)
        statistic, shown = np.full(n, np.nan), np.full((n, len(monitor.names)), np.nan)
        raised: list[int] = []
        spoke: list[dict[str, float]] = []
        last: dict[str, float] = {}
        place = {name: i for i, name in enumerate(monitor.names)}
        for number, row in enumerate(rows[list(monitor.names)].to_dict("records")):
            for record in session.row(row):
                if record["kind"] == "reading":
                    statistic[number] = (
                        np.nan if record["statistic"] is None else record["statistic"]
                    )
                    for name, value in record["values"].items():
                        i = place[name]
                        shown[number, i] = (value - monitor.mean[i]) / monitor.sd[i]
                    last = record["contributions"]
                elif record["event"] == "raised":
                    spoke.append(record["streams"])
                    raised.append(number + 1)
        return cls(monitor.names, monitor.limit.value, statistic, shown, raised, spoke or [last])

    def telling(self, fault: int | None) -> int:
        """Which alarm to look at: the first in the fault; else the first."""
        rows = [row >= fault for row in self.raised] if fault else []
        return rows.index(True) if True in rows else 0


def _alarms(seen: Replay, source: Any) -> str:
    """A sentence on the alarms over the recorded rows."""
    fault, last = source.first_fault, source.last_in_control
    normal = [row for row in seen.raised if source.first_in_control <= row <= last]
    parts = [f"{len(normal) or 'no'} alarm{'' if len(normal) == 1 else 's'} in normal operation"]
    if fault is not None:
        after = [row for row in seen.raised if row >= fault]
        between = [row for row in seen.raised if last < row < fault]
        if between:
            parts.append(f"{len(between)} between normal operation and the known fault")
        parts.append(
            f"an alarm {after[0] - fault + 1} rows into the known fault, at row {after[0]}"
            if after
            else "no alarm in the known fault"
        )
    return ", ".join(parts)


def _mark_rows(axis: Any, source: Any, look: str) -> None:
    """Name the rows, with what a look of the picture means, and mark the known fault."""
    if source.first_fault is not None:
        axis.axvline(source.first_fault, color="black", lw=1, linestyle=":")
        look += "; dotted: the known fault begins"
    axis.set_xlabel(f"row ({look})")


def statistic_figure(seen: Replay, source: Any) -> Any:
    """Statistic and limit over the recorded rows, alarms marked."""
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(9.0, 2.8))
    axis.plot(np.arange(1, len(seen.statistic) + 1), seen.statistic, color=BLUE, lw=0.9)
    axis.axhline(seen.limit, color="black", linestyle="--", lw=1)
    axis.text(0, seen.limit, " limit", va="bottom", fontsize=9)
    axis.axvspan(source.first_in_control, source.last_in_control, color="#000000", alpha=0.06, lw=0)
    _mark_rows(axis, source, "shaded: normal operation")
    raised = np.array(seen.raised, dtype=int)
    axis.plot(raised, seen.statistic[raised - 1], "v", color=ALARM, label="alarm raised")
    if len(raised):
        axis.legend(loc="upper left", fontsize=9)
    axis.set_xlim(0, len(seen.statistic) + 1)
    # A gross fault would leave nothing else to be seen.
    axis.set_ylim(top=min(np.nanmax([*seen.statistic, seen.limit]) * 1.1, 5 * seen.limit))
    axis.set_ylabel("statistic")
    return figure


def sensors_figure(seen: Replay, source: Any) -> Any:
    """Which streams were read when, and what they showed."""
    import matplotlib.pyplot as plt

    n, p = seen.shown.shape
    figure, axis = plt.subplots(figsize=(9.0, 1.2 + 0.24 * min(p, NAMED)))
    axis.set_facecolor(UNREAD)
    # With many rows a reading is narrower than a pixel: the latest of each pixel is drawn.
    width = -(-n // 900)
    drawn = np.full((p, -(-n // width)), np.nan)
    for column in range(width):
        part = seen.shown[column::width].T
        drawn[:, : part.shape[1]] = np.where(np.isnan(part), drawn[:, : part.shape[1]], part)
    image = axis.imshow(
        drawn, aspect="auto", cmap="RdBu_r", vmin=-4, vmax=4, interpolation="none",
        extent=(0.5, n + 0.5, p - 0.5, -0.5),
    )  # fmt: skip
    _mark_rows(axis, source, "grey: not read")
    if p <= NAMED:
        axis.set_yticks(np.arange(p), seen.names, fontsize=8)
    figure.colorbar(image, ax=axis, label="standard deviations", pad=0.01)
    return figure


def _png(figure: Any) -> str:
    import matplotlib.pyplot as plt

    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=130, bbox_inches="tight", metadata={"Software": None})
    plt.close(figure)
    return base64.b64encode(content.getvalue()).decode()
