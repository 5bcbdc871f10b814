"""Whom each method accuses of recorded faults, and whether the fault began there."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from causaldq.events import Events
from causaldq.files import read_json, write_rows
from causaldq.jobs.given import Given
from causaldq.jobs.method import build_method
from causaldq.jobs.settings.monitor import ShowcaseRun
from causaldq.jobs.settings.name_causes import NameCausesJob
from causaldq.methods.base import Method
from causaldq.root_cause import causes_at_alarm
from causaldq.seeds import generator
from causaldq.streams.model import StreamModel
from causaldq.types import Floats

NAMED = 3
COLUMNS = [
    *("scenario", "method", "event", "origin", "lead", "delay", "false_alarm", "missed"),
    *(f"named_{place}" for place in range(1, NAMED + 1)),
    *("near", "near_3", "later", "later_near"),
]
"""`near`: the first stream named is near the documented origin; `near_3`: one of three is."""


def run_name_causes(
    job: NameCausesJob,
    streams: Path,
    events: Path,
    origins: Path,
    limits: dict[str, Path],
    given: Given,
    output: Path,
) -> None:
    """Monitor every recorded fault whose origin is documented, from several rows before it."""
    model, recorded = StreamModel.load(streams), Events.load(events)
    known = {
        f"fault {number}": entry for number, entry in yaml.safe_load(origins.read_text()).items()
    }
    rows: list[dict[str, object]] = []
    for run in job.runs:
        name = run.method if run.seed is None else f"{run.method}.s{run.seed}"
        settings = job.model_copy(update={"method": run.method, "options": run.options})
        method = build_method(settings, "fair", model, given.get(name, {}))
        limit = read_json(limits[job.limits[name]])["fair"]["*"]["limit"]
        rows += _named(job, run, method, limit, model.names, recorded, known)
    write_rows(output, COLUMNS, rows)


def _named(
    job: NameCausesJob, run: ShowcaseRun, method: Method[Any], limit: float,
    names: tuple[str, ...], recorded: Events, known: dict[str, dict[str, Any]],
) -> Iterator[dict[str, object]]:  # fmt: skip
    rows = [row for row, name in enumerate(recorded.names) if name in known]
    for change in sorted({int(recorded.change[row]) for row in rows}):
        here = [row for row in rows if recorded.change[row] == change]
        for lead in job.leads:
            paths = recorded.values[here, change - lead :]
            rng = generator(job.seed, job.scenario, run.method, "causes", change, lead)
            seen = causes_at_alarm(
                method, paths, lead, np.zeros((len(here), len(names))), limit, job.later, rng
            )
            for place, row in enumerate(here):
                entry = known[recorded.names[row]]
                yield {
                    "scenario": job.scenario,
                    "method": run.method,
                    "event": recorded.names[row],
                    "origin": entry["origin"],
                    "lead": lead,
                    "delay": int(seen.outcome.delay[place]),
                    "false_alarm": int(seen.outcome.false_alarm[place]),
                    "missed": int(seen.outcome.censored[place]),
                    **_accused(seen.at_alarm[place], names, entry["streams"]),
                    **_accused_later(seen.later[place], names, entry["streams"]),
                }


def _accused(scores: Floats, names: tuple[str, ...], near: list[str]) -> dict[str, object]:
    if np.isnan(scores).any():
        return {}
    first = [names[i] for i in np.argsort(-scores, kind="stable")[:NAMED]]
    return {
        **{f"named_{place}": name for place, name in enumerate(first, 1)},
        "near": int(first[0] in near),
        "near_3": int(any(name in near for name in first)),
    }


def _accused_later(scores: Floats, names: tuple[str, ...], near: list[str]) -> dict[str, object]:
    if np.isnan(scores).any():
        return {}
    first = names[int(np.argmax(scores))]
    return {"later": first, "later_near": int(first in near)}
