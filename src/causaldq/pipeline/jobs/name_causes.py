"""The stream that each method identifies as the root cause of recorded faults."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from causaldq.files import by_name, read_json, write_rows
from causaldq.methods.base import Method
from causaldq.models.streams import StreamModel
from causaldq.pipeline.method_files import MethodRun, MonitorSettings, build_method, by_run
from causaldq.rootcause import causes_at_alarm
from causaldq.seeds import generator
from causaldq.types import Floats
from causaldq.worlds.events import Events

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files, Plan


class NameCausesJob(MonitorSettings):
    """Which root causes each method identifies; method and options are set for each run."""

    scenario: str
    runs: list[MethodRun]
    leads: list[int]
    """Steps before a fault at which monitoring begins, one run each."""
    later: int
    """Steps after the alarm at which the cause is named again."""


def settings(plan: "Plan", scenario: str) -> NameCausesJob:
    runs, evaluation = plan.identifying_runs(scenario), plan.config.evaluation
    return NameCausesJob(
        **plan.monitoring(runs[0]) | {"protocols": ["fair"], "options": {}},
        scenario=scenario,
        runs=plan.listed(runs),
        leads=[
            evaluation.cause_lead + run * evaluation.cause_spacing
            for run in range(evaluation.event_runs)
        ],
        later=evaluation.cause_later,
    )


def inputs(plan: "Plan", scenario: str) -> "Files":
    runs = plan.identifying_runs(scenario)
    return {
        "streams": plan.streams_of(scenario),
        "events": plan.events_of(scenario),
        "origins": plan.recorded()[plan.source_of(scenario)].origins or [],
        "limits": [plan.limits_file(run) for run in runs],
        "given": plan.given_to_all(runs, ["fair"]),
    }


OUTPUTS = {"output": "results/{profile}/named_{scenario}.csv"}

NAMED = 3
COLUMNS = [
    *("scenario", "method", "event", "origin", "lead", "delay", "false_alarm", "missed"),
    *(f"named_{place}" for place in range(1, NAMED + 1)),
    *("near", "near_3", "later", "later_near"),
]
"""`near`: the first stream named is near the documented origin; `near_3`: one of three is."""


def run(
    job: NameCausesJob, *, streams: Path, events: Path, origins: Path, limits: list[Path],
    given: dict[str, Path], output: Path,
) -> None:  # fmt: skip
    """Let every method name the cause of recorded faults whose origin is documented.

    Monitoring begins several rows before each.
    """
    model, recorded = StreamModel.load(streams), Events.load(events)
    known = {
        f"fault {number}": entry for number, entry in yaml.safe_load(origins.read_text()).items()
    }
    rows: list[dict[str, object]] = []
    files, needed = by_name(limits), by_run(given)
    for run in job.runs:
        method = build_method(job.of(run), "fair", model, needed.get(run.name, {}))
        limit = read_json(files[str(run.limits)])["fair"]["*"]["limit"]
        rows += _named(job, run, method, limit, model.names, recorded, known)
    write_rows(output, COLUMNS, rows)


def _named(
    job: NameCausesJob, run: MethodRun, method: Method[Any], limit: float,
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
                    **_identified(seen.at_alarm[place], names, entry["streams"]),
                    **_identified_later(seen.later[place], names, entry["streams"]),
                }


def _identified(scores: Floats, names: tuple[str, ...], near: list[str]) -> dict[str, object]:
    if np.isnan(scores).any():
        return {}
    first = [names[i] for i in np.argsort(-scores, kind="stable")[:NAMED]]
    return {
        **{f"named_{place}": name for place, name in enumerate(first, 1)},
        "near": int(first[0] in near),
        "near_3": int(any(name in near for name in first)),
    }


def _identified_later(scores: Floats, names: tuple[str, ...], near: list[str]) -> dict[str, object]:
    if np.isnan(scores).any():
        return {}
    first = names[int(np.argmax(scores))]
    return {"later": first, "later_near": int(first in near)}
